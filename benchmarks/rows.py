"""The data that the benchmarks share: shipped cards on the official files in $FAIRBENCH_DATA."""

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Floats, Sample, Table

ADULT_TRAIN = 30_000
NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")


@cache
def dataset_of(card: str | Path) -> Dataset:
    """Return the data of a shipped card, by name, or of a card at a path."""
    path = find_card(str(card))
    read = read_card(path)
    return load(read, locate(read, folders(None, path)))


def sample_of(card: str | Path, attribute: str | None = None) -> Sample:
    """Return all rows of a card, with the card's first protected attribute or the one named."""
    return dataset_of(card).sample(attribute)


def adult_split() -> tuple[Sample, Sample]:
    """Return 30,000 rows of Adult to train on, and the other 15,222 complete ones; numbers are in bins."""
    sample = sample_of("adult-complete", "sex")
    order = np.random.default_rng(0).permutation(len(sample))
    return sample.take(order[:ADULT_TRAIN]), sample.take(order[ADULT_TRAIN:])


def adult_raw() -> Sample:
    """Return the 45,222 complete rows of Adult with numbers as they are, two columns more than in bins."""
    card = "extends: adult-complete\nname: adult-raw\ncolumns:\n"
    card += "".join(f"  {name}: {{kind: integer}}\n" for name in NUMBERS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult-raw.yaml"
        path.write_text(card)
        return sample_of(path, "sex")


def adult_numbers() -> Sample:
    """Return `adult_raw` with the six columns of numbers alone."""
    sample = adult_raw()
    features = sample.features
    for name in sample.features.names:
        if name not in NUMBERS:
            features = features.without(name)
    return replace(sample, features=features)


def numbers(table: Table) -> Floats:
    """Return the values of columns of numbers, shape (rows, columns)."""
    return np.column_stack([np.array(own.values)[table.codes[:, j]] for j, own in enumerate(table.columns)])
