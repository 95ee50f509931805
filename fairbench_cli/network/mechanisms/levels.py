"""What a column is moved towards: its marginal, the next lower level or one level."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fairbench_cli.base.errors import Problem, suggest
from fairbench_cli.data.table import Column, Floats

MARGINAL, LOWER = "marginal", "lower"
NUMBER = r"-?[0-9]+(\.[0-9]+)?"


def order_of(column: Column) -> list[int] | None:
    """Return the codes of a column's levels from the lowest to the highest; None where they have no order.

    Bins and numbers rise as they are declared; levels that are all written as numbers have their order.

    >>> order_of(Column("level", ("2", "10", "1"))), order_of(Column("town", ("a", "b")))
    ([2, 0, 1], None)
    """
    levels = column.levels
    if column.kind != "nominal":
        return [*range(len(levels))]
    if not all(re.fullmatch(NUMBER, level) for level in levels):
        return None
    return sorted(range(len(levels)), key=lambda code: float(levels[code]))


def towards_problems(
    towards: str, name: str, columns: Sequence[Column], more: Sequence[str] = ()
) -> Iterator[Problem]:
    """Yield what is wrong with what a column is moved towards; `more` are words that are right too."""
    column = next((one for one in columns if one.name == name), None)
    if column is None:
        return
    if towards == LOWER and order_of(column) is None:
        what = f'towards: the levels of "{name}" have no order, so none is lower'
        yield Problem(what, f"name a level: {', '.join(column.levels)}")
    elif towards not in (MARGINAL, LOWER, *more, *column.levels):
        what = f'towards: column "{name}" has no level "{towards}"'
        yield Problem(what, suggest(towards, [MARGINAL, LOWER, *more, *column.levels]))


def goal(towards: str) -> str:
    """Return what a column is moved towards as a phrase.

    >>> goal("marginal"), goal("lower"), goal("5")
    ("a draw from everybody's", 'the next lower level', '5')
    """
    return {MARGINAL: "a draw from everybody's", LOWER: "the next lower level"}.get(towards, towards)


def moves(column: Column, towards: str, marginal: Floats) -> Floats:
    """Return P(new level | level) of a column that is moved with certainty, an axis for each.

    Parameters
    ----------
    column : Column
        The column.
    towards : str
        ``marginal``: a draw from the column's marginal. ``lower``: the next lower level, if there is one.
        Else a level.
    marginal : float64 array, shape (levels,)
        The column's marginal.
    """
    found = np.zeros((len(column.levels),) * 2)
    if towards == MARGINAL:
        found[:] = marginal
    elif towards == LOWER:
        order = order_of(column) or []
        for below, code in zip([*order[:1], *order], order, strict=False):
            found[code, below] = 1
    else:
        found[:, column.levels.index(towards)] = 1
    return found
