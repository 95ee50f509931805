"""The shipped data sets, each loaded once a process."""

import os
from functools import cache

import numpy as np
import pytest

from fairbench_cli.data.card import find_card, read_card, shipped_cards
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import data_folders, locate_files
from fairbench_cli.network.family_counts import fit_network
from fairbench_cli.network.files import open_network

# Their files have no address and checksum, or not one: they are tested on invented rows.
NO_FILE = {"acs-employment", "acs-income-state", "baf"}


def shipped_dataset(name: str) -> Dataset:
    """Return a shipped data set; do not write into its table."""
    if not os.environ.get("FAIRBENCH_DATA"):
        pytest.skip(
            "needs the official files: set FAIRBENCH_DATA to their folder (`fairbench data fetch NAME`)"
        )
    return _loaded(name)


@cache
def _loaded(name: str) -> Dataset:
    path = find_card(name)
    card = read_card(path)
    return load(card, locate_files(card, data_folders(None, path)))


def network_differences(name: str, dataset: Dataset) -> list[str]:
    """Return the columns of which the network that ships with a data set has not what its rows say."""
    if not (shipped_cards() / f"{name}.network.json").exists():
        return []
    card, net = dataset.card.for_network(), open_network(name)[0]
    table = dataset.table if card is dataset.card else load(card, dataset.files).table
    if net.columns != table.columns:
        return ["columns"]
    pairs = zip(net.names, net.cpts, fit_network(table, net.parents).cpts, strict=True)
    return [column for column, own, other in pairs if not np.array_equal(own, other)]
