"""The rows that C4.5 works on, read from data frames and arrays: level codes and numbers, or missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.encode import NUMBER, distinct_rows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows as level codes and numbers.

    Parameters
    ----------
    levels : tuple of int
        Declared levels of each nominal column, `NUMBER` for a number.
    codes : int32 array, shape (rows, columns)
        Level codes; -1 is missing. Unused in numeric columns.
    numbers : float64 array, shape (rows, columns), or None
        Numbers; NaN is missing. Unused in nominal columns; None when all are nominal.
    """

    levels: tuple[int, ...]
    codes: NDArray[np.int32]
    numbers: Floats | None

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @cached_property
    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first of each group of equal rows of codes, and which group each row is of: `distinct_rows`."""
        return distinct_rows(self.codes)

    def take(self, rows: Ints) -> "TreeRows":
        """Return the given rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return TreeRows(self.levels, self.codes[rows], numbers)

    def values(self, feature: int) -> Floats:
        """Return the numbers of a numeric column."""
        assert self.numbers is not None  # noqa: S101 - a numeric column has numbers
        return self.numbers[:, feature]

    @property
    def all_nominal_and_known(self) -> bool:
        """Return whether the fast path applies: nothing numeric, nothing missing."""
        return self.numbers is None and not bool((self.codes < 0).any())

    def branch(self, row: Ints, feature: Ints, threshold: Floats) -> Ints:
        """Return the branch that each row takes at a split of its own; -1 where the value is missing."""
        code = self.codes[row, feature].astype(np.int64)
        if self.numbers is None:
            return code
        numeric = np.array(self.levels, dtype=np.int64)[feature] == NUMBER
        if numeric.any():
            number = self.numbers[row[numeric], feature[numeric]]
            side = (number > threshold[numeric]).astype(np.int64)
            code[numeric] = np.where(np.isnan(number), -1, side)
        return code


@dataclass(frozen=True)
class Levels:
    """What each column was when the tree was fitted: its name, and its levels (None: a number)."""

    names: tuple[str, ...]
    levels: tuple[tuple[object, ...] | None, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of levels per column, `NUMBER` for numbers."""
        return tuple(NUMBER if own is None else len(own) for own in self.levels)


def from_frame(frame: "pd.DataFrame", known: Levels | None) -> tuple[TreeRows, Levels]:
    """Return a data frame's rows: categorical columns are nominal, others must be numbers.

    Raises
    ------
    ValueError
        A text column that is not categorical, or a level or kind of column that `known` does not have.
    """
    import pandas as pd

    names = tuple(str(name) for name in frame.columns)
    if not names or not len(frame):
        raise ValueError(
            f"Found array with shape={frame.shape} while a minimum of 1 row and 1 column is required."
        )
    codes = np.zeros(frame.shape, dtype=np.int32)
    numbers = np.zeros(frame.shape)
    found: list[tuple[object, ...] | None] = []
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        declared = None if known is None else known.levels[j]
        nominal = isinstance(column.dtype, pd.CategoricalDtype)
        if known is not None and nominal != (declared is not None):
            was, now = ("numeric", "categorical") if nominal else ("categorical", "numeric")
            raise ValueError(f'Column "{name}" was {was} when the tree was fitted and is {now} now.')
        if nominal:
            levels = tuple(column.cat.categories) if declared is None else declared
            codes[:, j] = _codes(name, column, levels)
            found.append(levels)
        else:
            numbers[:, j] = _numbers(name, column)
            found.append(None)
    levels_found = Levels(names, tuple(found))
    return _columns(levels_found, codes, None if None not in found else numbers), levels_found


def from_codes(array: NDArray[Any], known: Levels | Sequence[int] | None) -> tuple[TreeRows, Levels]:
    """Return an array's rows: columns with a level count hold codes from 0, others numbers; NaN is missing.

    Raises
    ------
    ValueError
        A wrong number of level counts, or a value that is no code below its column's level count.
    """
    if isinstance(known, Levels):
        counts, names = known.counts, known.names
    else:
        counts = (NUMBER,) * array.shape[1] if known is None else tuple(int(n) for n in known)
        names = tuple(f"x{j}" for j in range(array.shape[1]))
    if len(counts) != array.shape[1]:
        raise ValueError(f"levels has {len(counts)} entries, but X has {array.shape[1]} columns.")
    nominal = np.array(counts) != NUMBER
    own = tuple(None if n == NUMBER else tuple(range(n)) for n in counts)
    found = known if isinstance(known, Levels) else Levels(names, own)
    if array.dtype.kind in "iu" and nominal.all() and ((array >= 0) & (array < np.array(counts))).all():
        return _columns(found, array.astype(np.int32), None), found
    numbers = np.asarray(array, dtype=np.float64)
    codes = np.where(np.isnan(numbers), -1.0, numbers)
    wrong = nominal & ((codes != np.floor(codes)) | (codes >= np.array(counts)) | (codes < -1.0))
    wrong |= nominal & (numbers == -1.0)
    if wrong.any():
        row, j = (int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f'Row {row} of column "{names[j]}" has {numbers[row, j]:g}, which is not a declared level: '
            f"codes go from 0 to {counts[j] - 1}."
        )
    kept = None if nominal.all() else numbers
    return _columns(found, np.where(nominal, codes, 0).astype(np.int32), kept), found


def _columns(levels: Levels, codes: NDArray[np.int32], numbers: Floats | None) -> TreeRows:
    return TreeRows(levels.counts, np.ascontiguousarray(codes), numbers)


def _codes(name: str, column: "pd.Series[str]", levels: tuple[object, ...]) -> NDArray[np.int32]:
    """Return codes into `levels`, whatever the order of the column's own categories; -1 is missing."""
    import pandas as pd

    place = pd.Index(levels).get_indexer(column.cat.categories)
    codes = np.append(place, -1)[column.cat.codes]
    unknown = (codes < 0) & (column.cat.codes.to_numpy() >= 0)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f'Row {row} of column "{name}" has "{column.iloc[row]}", a level that was not declared '
            "when the tree was fitted."
        )
    return codes.astype(np.int32)


def _numbers(name: str, column: "pd.Series[float]") -> Floats:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise ValueError(
            f'Column "{name}" is neither categorical nor a number; '
            'declare its levels with astype("category").'
        )
    numbers: Floats = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(numbers).any():
        raise ValueError(f'Column "{name}" contains infinity.')
    return numbers
