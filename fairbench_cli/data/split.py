"""Real rows divided into those to train on and those to test on, as a run without a network divides them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairbench_cli.base.checksums import seed_of
from fairbench_cli.data.table import Roles, Rows

if TYPE_CHECKING:  # workers divide rows, and need it for nothing else
    import pandas as pd


def split_seed(seed: int, dataset: str, repeat: int) -> int:
    """Return the seed of a repeat's split: the same for every technique, classifier and attribute."""
    return seed_of(seed, dataset, repeat, "split")


def training_size(rows: int, fraction: float) -> int:
    """Return how many of some rows are trained on, rounded down.

    >>> training_size(30, 2 / 3), training_size(31, 0.5)
    (20, 15)
    """
    return math.floor(fraction * rows + 1e-9)


def divided_rows(rows: int, size: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the numbers of the rows to train on, `size` drawn at random, and of the others, ascending."""
    shuffled = rng.permutation(rows)
    train, rest = (np.sort(part) for part in np.split(shuffled, [size]))
    return train, rest


@dataclass(frozen=True, eq=False, repr=False)
class TrainTestSplit:
    """Training and test rows of one repeat, and what their columns are.

    Parameters
    ----------
    train, test : DataFrame
        All columns, the label and the protected attribute too.
    roles : Roles
        Which column is what.
    seed : int
        What the run draws all random choices of the repeat from: the `random_state` of a `technique`.
    """

    train: "pd.DataFrame"
    test: "pd.DataFrame"
    roles: Roles
    seed: int

    def __iter__(self) -> Iterator["pd.DataFrame"]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        train, test = len(self.train), len(self.test)
        return f"<Split: {train} rows to train on, {test} to test on; label {self.roles.label}>"

    @property
    def X_train(self) -> "pd.DataFrame":  # noqa: N802 - as scikit-learn's users write it
        """The training rows without the label."""
        return self.train.drop(columns=self.roles.label)

    @property
    def X_test(self) -> "pd.DataFrame":  # noqa: N802
        """The test rows without the label."""
        return self.test.drop(columns=self.roles.label)

    @property
    def y_train(self) -> "pd.Series":
        """The labels of the training rows."""
        return self.train[self.roles.label]

    @property
    def y_test(self) -> "pd.Series":
        """The labels of the test rows."""
        return self.test[self.roles.label]
