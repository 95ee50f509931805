"""Rows as numbers: the matrix that linear models take."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairbench_cli.data.table import Column, Floats, Sample, Table

Bins = Literal["one-hot", "number"]


@dataclass(frozen=True, eq=False)
class Design:
    """How every level of every training column becomes numbers.

    Parameters
    ----------
    columns : tuple of Column
        The features it was fitted on.
    tables : tuple of float64 array, each of shape (levels, width)
        ``tables[j][code]`` is what a code of column j becomes: the standardised number (width 1), or one 0/1
        entry per declared level, none dropped.
    intercept : bool
        Whether a column of ones comes last.
    """

    columns: tuple[Column, ...]
    tables: tuple[Floats, ...]
    intercept: bool

    @property
    def width(self) -> int:
        """Number of columns of the matrix."""
        return sum(int(table.shape[1]) for table in self.tables) + self.intercept

    def transform(self, table: Table) -> Floats:
        """Return the matrix, row-major, shape (rows, width): training columns in their order, then the ones.

        Raises
        ------
        KeyError, ValueError
            When a column is missing, or has other levels than in training.
        """
        features = pick(table, self.columns)
        matrix = np.ones((len(features), self.width))
        start = 0
        for j, numbers in enumerate(self.tables):
            end = start + numbers.shape[1]
            matrix[:, start:end] = numbers[features.codes[:, j]]
            start = end
        return matrix


def fit_design(
    sample: Sample, *, include_protected: bool, bins: Bins = "one-hot", intercept: bool = True
) -> Design:
    """Fit a design to the features of a sample, by its weights if it has any.

    Numbers are standardised to mean 0 and variance 1 over the training rows; a constant one becomes 0.

    Parameters
    ----------
    sample : Sample
        The training rows.
    include_protected : bool
        Whether the protected attribute is one of the features.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    intercept : bool
        Whether the matrix ends with a column of ones.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    weights = training_weights(sample)
    features = sample.features if include_protected else sample.features.without(sample.attribute)
    tables = []
    for column in features.columns:
        if column.kind == "number" or (column.kind == "bins" and bins == "number"):
            mass = np.bincount(features[column.name], weights, len(column.levels)).astype(np.float64)
            tables.append(standardised(np.asarray(column.values), mass)[:, np.newaxis])
        else:
            tables.append(np.eye(len(column.levels)))
    return Design(features.columns, tuple(tables), intercept)


def training_weights(sample: Sample) -> Floats:
    """Return the rows' weights, one each if they have none.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    if weights.sum() <= 0:
        raise ValueError("there is nothing to train on: no rows, or no row with a weight")
    return weights


def standardised(values: Floats, mass: Floats) -> Floats:
    """Shift and scale values to mean 0 and variance 1 under their mass; to zeros if only one has any.

    >>> standardised(np.array([1.0, 3.0, 9.0]), np.array([2.0, 2.0, 0.0])).round(12).tolist()
    [-1.0, 1.0, 7.0]
    >>> standardised(np.array([1.0, 3.0]), np.array([0.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    values = values / max(float(np.abs(values).max()), 1e-300)  # squares of what is left cannot overflow
    share = mass / mass.sum()
    away = values - float(share @ values)
    spread = float(np.abs(away[mass > 0]).max())
    if np.count_nonzero(mass) == 1 or spread == 0:
        return np.zeros(len(values))
    away = away / spread
    return np.asarray(away / np.sqrt(share @ away**2))


def pick(table: Table, columns: tuple[Column, ...]) -> Table:
    """Return the given columns of a table, in the given order.

    Raises
    ------
    KeyError, ValueError
        When a column is missing, or has other levels.
    """
    places = [table.index(column.name) for column in columns]
    for place, column in zip(places, columns, strict=True):
        if table.columns[place] != column:
            raise ValueError(f'column "{column.name}" has other levels than in training')
    return Table(columns, table.codes[:, places])
