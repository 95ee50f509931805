"""From level codes to the arrays that learners take: codes, 0/1 columns, or a matrix of numbers."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from fairbench_cli.data.table import (
    Codes,
    Column,
    Floats,
    Labels,
    Rows,
    Sample,
    SharedArray,
    Table,
    lock_array,
)

BinEncoding = Literal["one-hot", "number"]
Encoding = Literal["levels", "codes", "one-hot", "dense", "unscaled", "frame"]
ONE_HOT: tuple[Encoding, ...] = ("one-hot", "dense", "unscaled")
NUMBER = 0  # in place of a level count


@dataclass(frozen=True, eq=False)
class Design:
    """How every level of every training column becomes numbers.

    Parameters
    ----------
    columns : tuple of Column
        The features it was fitted on.
    tables : tuple of float64 array, each of shape (levels, width)
        ``tables[j][code]`` is what a code of column j becomes: the number, mostly standardised (width 1), or
        one 0/1 entry per declared level, none dropped.
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
        features = pick(table, self.columns, numbers=True)
        matrix = np.ones((len(features), self.width))
        start = 0
        for j, numbers in enumerate(self.tables):
            if features.columns[j] != self.columns[j]:
                numbers = on_line(self.columns[j], numbers, features.columns[j])
            end = start + numbers.shape[1]
            matrix[:, start:end] = numbers[features.codes[:, j]]
            start = end
        return matrix


def fit_design(
    sample: Sample,
    *,
    include_protected: bool,
    bins: BinEncoding = "one-hot",
    intercept: bool = True,
    scale: bool = True,
) -> Design:
    """Return the design of a sample's features, by its weights if it has any.

    Parameters
    ----------
    sample : Sample
        The training rows.
    include_protected : bool
        Whether the protected columns are features.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    intercept : bool
        Whether the matrix ends with a column of ones.
    scale : bool
        Standardise numbers to mean 0 and variance 1 over the training rows (a constant one becomes 0), or
        leave them as they are.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    weights = training_weights(sample)
    features = sample.visible(include_protected=include_protected)
    tables = []
    for column in features.columns:
        if column.kind == "number" or (column.kind == "bins" and bins == "number"):
            values = np.asarray(column.values, dtype=np.float64)
            if scale:
                mass = np.bincount(features[column.name], weights, len(column.levels)).astype(np.float64)
                values = standardised(values, mass)
            tables.append(values[:, np.newaxis])
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
    weights = sample.row_weights
    if weights.sum() <= 0:
        raise ValueError("there is nothing to train on: no rows, or no row with a weight")
    return weights


def standardised(values: Floats, mass: Floats) -> Floats:
    """Return values shifted and scaled to mean 0 and variance 1 under their mass; zeros if only one has any.

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


def pick(table: Table, columns: tuple[Column, ...], *, numbers: bool = False) -> Table:
    """Return the given columns of a table, in the given order.

    Parameters
    ----------
    numbers : bool
        Whether a column of numbers may have others; the table that comes back then has these.

    Raises
    ------
    KeyError, ValueError
        When a column is missing, or has other levels.
    """
    index_of = {name: j for j, name in enumerate(table.names)}
    indices = [index_of[column.name] for column in columns]
    picked = list(columns)
    for j, (index, column) in enumerate(zip(indices, columns, strict=True)):
        table_column = table.columns[index]
        if table_column == column:
            continue
        if not (numbers and table_column.kind == column.kind == "number"):
            raise ValueError(f'column "{column.name}" has other levels than in training')
        picked[j] = table_column
    return Table(tuple(picked), table.codes[:, indices])


def on_line(column: Column, numbers: Floats, values_of: Column) -> Floats:
    """Return the numbers that the values of another column of numbers become, shape (levels, 1).

    The values of the column itself lie on a line, whose ends these are; a single value is a constant.

    >>> ages = Column("age", ("20", "40"), "number", (20.0, 40.0))
    >>> on_line(ages, np.array([[-1.0], [1.0]]), Column("age", ("25",), "number", (25.0,))).tolist()
    [[-0.5]]
    """
    lowest = column.values[0]
    highest = column.values[-1]
    rise = numbers[-1, 0] - numbers[0, 0]
    slope = 0.0
    if highest > lowest:
        slope = rise / (highest - lowest)
    values = np.asarray(values_of.values, dtype=np.float64)
    return np.asarray(numbers[0, 0] + slope * (values - lowest))[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class Encoder:
    """How a learner takes the features it was trained on.

    Parameters
    ----------
    columns : tuple of Column
        The features.
    encoding : {"levels", "codes", "one-hot", "dense", "unscaled", "frame"}
        ``levels`` and ``codes``: one column each, level codes as whole numbers or as floats. ``one-hot``: one
        0/1 column per level, in a sparse matrix; ``dense``: the same in an array. Where there are numbers
        among the columns, the array holds the numbers themselves, standardised for ``one-hot`` and ``dense``;
        ``unscaled``: a sparse matrix as for ``one-hot``, with numbers as they are.
        ``frame``: a pandas DataFrame, see `Table.to_frame`.
    design : Design or None
        The matrix of ``one-hot``, ``dense`` and ``unscaled`` with numbers.
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
        if self.encoding == "levels" and NUMBER not in self.level_counts:
            if not table.codes.flags.writeable:
                return _shared_codes(SharedArray(table.codes), table.columns, self.columns)
            return _row_major(table, self.columns)
        features = pick(table, self.columns, numbers=True)
        if self.design is not None:
            matrix = self.design.transform(features)
            if self.encoding == "unscaled":
                return short_csr(matrix)
            return matrix
        if self.encoding == "frame":
            return features.to_frame(typed=True)
        if self.encoding in ONE_HOT:
            sparse = one_hot(features.codes, features.level_counts)
            if self.encoding == "dense":
                return sparse.toarray()
            return sparse
        if NUMBER in self.level_counts:
            return with_numbers(features)
        return np.ascontiguousarray(features.codes, dtype=np.float32)  # which is what trees want


def _row_major(table: Table, columns: tuple[Column, ...]) -> Codes:
    return np.ascontiguousarray(pick(table, columns).codes)


@lru_cache(maxsize=4)
def _shared_codes(
    codes: SharedArray, columns_of_codes: tuple[Column, ...], columns: tuple[Column, ...]
) -> Codes:
    """Return the codes of rows that nobody can write; techniques that share them get the same array."""
    return lock_array(_row_major(Table(columns_of_codes, codes.array), columns))


def fit_encoder(sample: Sample, encoding: Encoding, *, include_protected: bool) -> Encoder:
    """Return how the features of a training sample are encoded.

    Raises
    ------
    ValueError
        When there are no rows, or their weights sum to 0.
    """
    features = sample.visible(include_protected=include_protected)
    design = None
    if encoding in ONE_HOT and any(column.kind == "number" for column in features.columns):
        scale = encoding != "unscaled"
        design = fit_design(sample, include_protected=include_protected, intercept=False, scale=scale)
    return Encoder(features.columns, encoding, design)


def short_csr(matrix: Any) -> "scipy.sparse.csr_array[np.float64]":
    """Return a matrix as a sparse one with indices of 32 bits, which is all that liblinear and libsvm take.

    >>> short_csr(np.array([[0.0, 2.0], [0.0, 0.0]])).nnz
    1
    """
    sparse: scipy.sparse.csr_array[np.float64] = scipy.sparse.csr_array(matrix)
    indices = sparse.indices.astype(np.int32)
    steps = sparse.indptr.astype(np.int32)
    return scipy.sparse.csr_array((sparse.data, indices, steps), shape=sparse.shape)


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


def one_hot(codes: Codes, level_counts: tuple[int, ...]) -> "scipy.sparse.csr_array[np.float64]":
    """Return one 0/1 column per declared level, seen or not, as a sparse matrix of shape (rows, levels).

    Sparse, because a row has one 1 per attribute, and because its products are summed in one order whatever
    the number of threads.

    >>> one_hot(np.array([[1, 0], [0, 2]], dtype=np.int16), (2, 3)).toarray().tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
    """
    rows, columns = codes.shape
    starts = np.concatenate([[0], np.cumsum(level_counts)]).astype(np.int32)
    indices = (codes + starts[:-1]).ravel().astype(np.int32)
    steps = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    return scipy.sparse.csr_array((np.ones(rows * columns), indices, steps), shape=(rows, int(starts[-1])))


def distinct_rows(codes: NDArray[Any], cell: Labels | None = None) -> tuple[Rows, Rows]:
    """Return the distinct rows of level codes, or of (cell, codes).

    Returns
    -------
    first : int array, shape (distinct,)
        The first row of each, sorted by cell and then by the codes.
    group : int array, shape (rows,)
        Which of them each row is.

    >>> first, group = distinct_rows(np.array([[3], [1], [3]], dtype=np.int16))
    >>> first.tolist(), group.tolist()
    ([1, 0], [1, 0, 1])
    """
    if cell is None:
        key = np.zeros(len(codes), dtype=np.int64)
    else:
        key = cell.astype(np.int64)
    top = int(key.max(initial=0)) + 1
    for column in codes.T:
        levels = int(column.max(initial=0)) + 1
        if top * levels >= 2**62:
            ranks = np.unique(key, return_inverse=True)[1]
            key, top = ranks.astype(np.int64), len(key)
        key = key * levels + column
        top = top * levels
    _, first_rows, group = np.unique(key, return_index=True, return_inverse=True)
    return first_rows, group
