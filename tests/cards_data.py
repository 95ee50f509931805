"""The shipped data sets, each loaded once a process."""

import os
from functools import cache

import pytest

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import folders, locate


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
    return load(card, locate(card, folders(None, path)))
