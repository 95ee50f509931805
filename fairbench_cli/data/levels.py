"""Text cells to levels and codes."""

import math
import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from fairbench_cli.data.table import Codes, Column, Floats

MOST_LEVELS = int(np.iinfo(np.int16).max) + 1

_WHOLE = re.compile(r"[-+]?[0-9]+(\.0*)?")
_REAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class Misfit(Exception):  # noqa: N818 - becomes the user's error once file and line are known
    """A column that does not fit what is said about it.

    Parameters
    ----------
    what, fix : str
        What is wrong, and what to do.
    cell : str or None
        The cell that shows it.
    """

    def __init__(self, what: str, fix: str, cell: str | None = None) -> None:
        super().__init__(what)
        self.what, self.fix, self.cell = what, fix, cell


def by_byte_value(cells: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct values sorted by their UTF-8 bytes, as R sorts in the C locale.

    >>> by_byte_value(["b", "é", "Z", "b", "10", "9"])
    ('10', '9', 'Z', 'b', 'é')
    """
    return tuple(sorted(set(cells), key=str.encode))


def coded(name: str, cells: "pd.Series[str]", levels: tuple[str, ...] | None = None) -> tuple[Column, Codes]:
    """Turn cells into codes of the given levels, or of those that occur, by byte value.

    Raises
    ------
    Misfit
        A cell that is no level, or too many levels.

    >>> column, codes = coded("sex", pd.Series(["m", "f", "m"]))
    >>> column.levels, codes.tolist()
    (('f', 'm'), [1, 0, 1])
    """
    first_seen, distinct = pd.factorize(cells.to_numpy(dtype=object))
    levels = by_byte_value(distinct) if levels is None else levels
    if len(levels) > MOST_LEVELS:
        raise Misfit(
            f'column "{name}" has {len(levels)} levels, more than {MOST_LEVELS}',
            "drop it (an identifier?) or put its values into bins",
        )
    code = {level: k for k, level in enumerate(levels)}
    for value in distinct:
        if value not in code:
            known = ", ".join(levels[:10]) + (", …" if len(levels) > 10 else "")
            raise Misfit(
                f'column "{name}" has "{value}", which is not one of its levels',
                f"add it to `levels`, or `recode` it to one of: {known}",
                str(value),
            )
    codes: Codes = np.array([code[value] for value in distinct], dtype=np.int16)[first_seen]
    return Column(name, levels), codes


def occurring(column: Column, codes: Codes) -> tuple[Column, Codes]:
    """Leave out the levels without a row: bins that nobody is in, what an ARFF file only declares.

    An empty level would only weigh on a network's score, whose penalty counts levels.

    >>> column, codes = occurring(Column("x", ("a", "b", "c")), np.array([2, 0, 2], dtype=np.int16))
    >>> column.levels, codes.tolist()
    (('a', 'c'), [1, 0, 1])
    """
    present, renumbered = np.unique(codes, return_inverse=True)
    levels = tuple(column.levels[code] for code in present)
    values = tuple(column.values[code] for code in present) if column.values else ()
    return Column(column.name, levels, column.kind, values), renumbered.astype(np.int16)


def as_numbers(name: str, cells: "pd.Series[str]", *, whole: bool) -> Floats:
    """Read cells as numbers; whole ones may end in ``.0``.

    Raises
    ------
    Misfit
        A cell that is no (whole) number.

    >>> as_numbers("age", pd.Series(["17", "90.0"]), whole=True).tolist()
    [17.0, 90.0]
    """
    pattern, kind = (_WHOLE, "whole numbers") if whole else (_REAL, "numbers")
    seen, distinct = pd.factorize(cells.to_numpy(dtype=object))
    for cell in distinct:
        if not pattern.fullmatch(cell) or not math.isfinite(float(cell)):
            raise Misfit(
                f'column "{name}" should hold {kind} but has "{cell}"',
                "`recode` it to a number, or list it under `missing` with `missing_rows: drop`",
                str(cell),
            )
    numbers: Floats = np.array([float(cell) for cell in distinct], dtype=np.float64)[seen]
    return numbers
