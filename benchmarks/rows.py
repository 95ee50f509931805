"""The data that the benchmarks share: shipped cards on the official files in $FAIRBENCH_DATA."""

from pathlib import Path

import numpy as np

from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Sample

ADULT_TRAIN = 30_000


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
