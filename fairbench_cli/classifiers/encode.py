"""From level codes to the arrays that learners take."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from fairbench_cli.classifiers.design import Design, fit_design, pick
from fairbench_cli.data.table import Codes, Column, Floats, Sample, Table

Encoding = Literal["levels", "codes", "one-hot"]

NUMBER = 0  # in place of a level count


@dataclass(frozen=True, eq=False)
class Encoder:
    """How a learner takes the features it was trained on.

    Parameters
    ----------
    columns : tuple of Column
        The features.
    encoding : {"levels", "codes", "one-hot"}
        ``levels`` and ``codes``: one column each, level codes as whole numbers or as floats. ``one-hot``: one
        0/1 column per level. Where there are numbers among the columns, the array holds the numbers
        themselves, standardised for ``one-hot``.
    design : Design or None
        The matrix of ``one-hot`` with numbers.
    """

    columns: tuple[Column, ...]
    encoding: Encoding
    design: Design | None

    @property
    def level_counts(self) -> tuple[int, ...]:
        """Levels of each column, `NUMBER` for a number."""
        return tuple(NUMBER if c.kind == "number" else len(c.levels) for c in self.columns)

    def transform(self, table: Table) -> Any:
        """Return the array of a table that has the columns; raises as `pick` does."""
        features = pick(table, self.columns)
        if self.design is not None:
            return self.design.transform(features)
        if self.encoding == "one-hot":
            return one_hot(features.codes, features.level_counts)
        if NUMBER in self.level_counts:
            return with_numbers(features)
        dtype = np.int16 if self.encoding == "levels" else np.float32  # the latter is what trees want
        return np.ascontiguousarray(features.codes, dtype=dtype)


def fit_encoder(sample: Sample, encoding: Encoding, *, include_protected: bool) -> Encoder:
    """Set out how the features of a training sample are encoded.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    features = sample.features if include_protected else sample.features.without(sample.attribute)
    design = None
    if encoding == "one-hot" and any(column.kind == "number" for column in features.columns):
        design = fit_design(sample, include_protected=include_protected, intercept=False)
    return Encoder(features.columns, encoding, design)


def with_numbers(table: Table) -> Floats:
    """Return level codes, but numbers as themselves, shape (rows, columns).

    >>> hours = Column("hours", ("20", "40"), "number", (20.0, 40.0))
    >>> sex = Column("sex", ("f", "m"))
    >>> with_numbers(Table((hours, sex), np.array([[1, 0], [0, 1]], dtype=np.int16))).tolist()
    [[40.0, 0.0], [20.0, 1.0]]
    """
    array = table.codes.astype(np.float64, order="C")
    for j, column in enumerate(table.columns):
        if column.kind == "number":
            array[:, j] = np.asarray(column.values)[table.codes[:, j]]
    return array


def one_hot(codes: Codes, level_counts: tuple[int, ...]) -> csr_array[np.float64]:
    """Return one 0/1 column per declared level, seen or not, as a sparse matrix of shape (rows, levels).

    Sparse, because a row has one 1 per attribute, and because its products are summed in one order whatever
    the number of threads.

    >>> one_hot(np.array([[1, 0], [0, 2]], dtype=np.int16), (2, 3)).toarray().tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
    """
    rows, columns = codes.shape
    starts = np.concatenate([[0], np.cumsum(level_counts)]).astype(np.int32)
    indices = (codes + starts[:-1]).ravel()
    steps = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    return csr_array((np.ones(rows * columns), indices, steps), shape=(rows, int(starts[-1])))
