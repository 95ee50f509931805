"""Repair of a numeric column: every row moves towards the value that both groups have at its rank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.bins import keep_numbers
from fairbench_cli.data.levels import Misfit
from fairbench_cli.data.table import Codes, Column, Floats, Labels
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.repairing.ordering import cells_of, shuffled_order

Method = Literal["combinatorial", "geometric"]


@dataclass(frozen=True, eq=False)
class RankMap:
    """What the repair of a numeric column learned.

    Parameters
    ----------
    source, column : Column
        The column before and after. They differ only by a geometric repair of numbers.
    ordered : pair of int16 arrays
        Each group's training rows, as codes of `source`, in rising order.
    level : float
        λ: 0 moves nothing, 1 all the way.
    method : {"combinatorial", "geometric"}
        Whether a part of the way is counted in steps from one training value to the next, or measured.
    """

    source: Column
    column: Column
    ordered: tuple[Codes, Codes]
    level: float
    method: Method

    def apply(self, codes: Codes, s: Labels, rng: np.random.Generator) -> Codes:
        """Repair the same column of other rows, by their rank among the training rows of their group.

        Of the ranks that share a row's value one is drawn. A value that no training row has counts as the
        next lower one that a row has, or as the lowest.
        """
        seen = np.unique(np.concatenate(self.ordered))
        codes = seen[np.maximum(np.searchsorted(seen, codes, side="right") - 1, 0)]
        goals = np.empty_like(codes)
        for group in (0, 1):
            rows = np.flatnonzero(s == group)
            own = self.ordered[group]
            first = np.searchsorted(own, codes[rows], side="left")
            ties = np.searchsorted(own, codes[rows], side="right") - first
            rank = first + (rng.random(len(rows)) * ties).astype(np.intp)
            twice = np.where(ties > 0, 2 * rank + 1, np.clip(2 * first, 1, 2 * len(own) - 1))
            goals[rows] = _goals(self.ordered, group, twice)
        if self.method == "combinatorial":
            return _stepped(codes, goals, seen, self.level)
        return nearest(self.column, _between(self.source, codes, goals, self.level))


def repair_by_rank(
    column: Column, codes: Codes, s: Labels, level: float, method: Method, rng: np.random.Generator
) -> tuple[RankMap, Codes]:
    """Repair a numeric column in which both groups have rows; return what was learned, and the codes.

    Equal values of a group are ranked at random. A row of rank r = 0, 1, … of its group's n_s stands at
    u = (r + ½) / n_s, and its goal is the lower median over the groups of their quantiles at u; of two
    groups that is the smaller one.

    Raises
    ------
    Infeasible
        When a geometric repair gives more different numbers than a column can hold.
    """
    order = shuffled_order(cells_of(codes, s, len(column.levels)), rng)
    n0 = int(np.count_nonzero(s == 0))
    ordered = (codes[order[:n0]], codes[order[n0:]])
    goals = np.empty_like(codes)
    for group, rows in enumerate((order[:n0], order[n0:])):
        goals[rows] = _goals(ordered, group, 2 * np.arange(len(rows)) + 1)
    repaired, after = column, codes
    if method == "combinatorial":
        after = _stepped(codes, goals, np.unique(codes), level)
    elif column.kind == "bins":
        after = nearest(column, _between(column, codes, goals, level))
    else:
        try:
            repaired, after = keep_numbers(column.name, _between(column, codes, goals, level))
        except Misfit as misfit:
            reason = f"geometric repair: {misfit.what}; use the combinatorial one, or bins"
            raise Infeasible(reason) from None
    return RankMap(column, repaired, ordered, level, method), after


def nearest(column: Column, numbers: Floats) -> Codes:
    """Return the codes of the levels nearest to some numbers; half-way the lower one.

    >>> nearest(Column("age", ("20", "30"), "number", (20.0, 30.0)), np.array([1.0, 25, 26])).tolist()
    [0, 0, 1]
    """
    values = np.array(column.values)
    return np.searchsorted((values[:-1] + values[1:]) / 2, numbers, side="left").astype(np.int16)


def _goals(ordered: tuple[Codes, Codes], group: int, twice: NDArray[np.intp]) -> Codes:
    """Lower median of both groups' quantiles at u = twice / (2 n_s), for rows of one group; exact."""
    size = len(ordered[group])
    first, second = (some[(twice * len(some) - 1) // (2 * size)] for some in ordered)
    return np.minimum(first, second)


def _stepped(codes: Codes, goals: Codes, seen: Codes, level: float) -> Codes:
    here, there = np.searchsorted(seen, codes), np.searchsorted(seen, goals)
    stepped: Codes = seen[here + np.rint(level * (there - here)).astype(np.intp)]
    return stepped


def _between(column: Column, codes: Codes, goals: Codes, level: float) -> Floats:
    values = np.array(column.values)
    # A value that is its own goal must not become another one by a rounding error.
    return np.where(codes == goals, values[codes], (1 - level) * values[codes] + level * values[goals])
