"""The columns that C4.5 works on: level codes and numbers, with missing values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUMERIC = 0  # in place of a level count


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows as level codes and numbers.

    Parameters
    ----------
    names : tuple of str
        Column names, for the printed tree.
    levels : tuple of int
        Declared levels of each nominal column, `NUMERIC` for a number.
    codes : int32 array, shape (rows, columns)
        Level codes; -1 is missing. Unused in numeric columns.
    numbers : float64 array, shape (rows, columns), or None
        Numbers; NaN is missing. Unused in nominal columns; None when all are nominal.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    codes: NDArray[np.int32]
    numbers: Floats | None

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    def take(self, rows: Ints) -> "Columns":
        """Return the given rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Columns(self.names, self.levels, self.codes[rows], numbers)

    def values(self, feature: int) -> Floats:
        """Return the numbers of a numeric column."""
        assert self.numbers is not None  # noqa: S101 - a numeric column has numbers
        column: Floats = self.numbers[:, feature]
        return column

    @property
    def all_nominal_and_known(self) -> bool:
        """Tell whether the fast path applies: nothing numeric, nothing missing."""
        return self.numbers is None and not bool((self.codes < 0).any())

    def branch(self, row: Ints, feature: Ints, threshold: Floats) -> Ints:
        """Return the branch that each row takes at a split of its own; -1 where the value is missing."""
        code = self.codes[row, feature].astype(np.int64)
        if self.numbers is None:
            return code
        numeric = np.array(self.levels, dtype=np.int64)[feature] == NUMERIC
        if numeric.any():
            number = self.numbers[row[numeric], feature[numeric]]
            side = (number > threshold[numeric]).astype(np.int64)
            code[numeric] = np.where(np.isnan(number), -1, side)
        return code
