"""Repair of one column, of numbers or of categories.

Numbers move towards the value that both groups have at their rank; of the rows of a category some keep it and
the others draw a new one.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.columns import Misfit, keep_numbers
from fairbench_cli.data.table import Codes, Column, Floats, Labels, Rows
from fairbench_cli.interventions.fitted import Infeasible

Counts = NDArray[np.int64]
Method = Literal["combinatorial", "geometric"]
# A desired count is floored, and one that is whole must not be missed by a rounding error.
ROUNDING = 1e-9


def _cells(codes: Codes | Labels, s: Labels, levels: int) -> NDArray[np.uint16]:
    """Return the number of each row's cell, ``s * levels + code``, shape (rows,).

    A column has at most 2¹⁵ levels, so 16 bits are enough, and numpy sorts those by radix.
    """
    return s.astype(np.uint16) * np.uint16(levels) + codes.astype(np.uint16)


def group_counts(codes: Codes | Labels, s: Labels, levels: int) -> Counts:
    """Return the number of rows of each group at each level, shape (2, levels)."""
    return np.bincount(_cells(codes, s, levels), minlength=2 * levels).reshape(2, levels).astype(np.int64)


def _shuffled_order(cells: NDArray[np.uint16], rng: np.random.Generator) -> Rows:
    """Return the rows ordered by their cell, those of one cell at random."""
    shuffled = rng.permutation(len(cells))
    return shuffled[np.argsort(cells[shuffled], kind="stable")]


@dataclass(frozen=True, eq=False)
class RankMap:
    """How rows of a numeric column are repaired, as learned from the training rows.

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
        """Return the same column of other rows, repaired by rank among the training rows of their group.

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
    """Return what was learned from a numeric column in which both groups have rows, and its repaired codes.

    Equal values of a group are ranked at random. A row of rank r = 0, 1, … of its group's n_s stands at
    u = (r + ½) / n_s, and its goal is the lower median over the groups of their quantiles at u; of two
    groups that is the smaller one.

    Raises
    ------
    Infeasible
        When a geometric repair gives more different numbers than a column can hold.
    """
    order = _shuffled_order(_cells(codes, s, len(column.levels)), rng)
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
    """Return the lower median of both groups' quantiles at u = twice / (2 n_s), for one group; exact."""
    size = len(ordered[group])
    first, second = (some[(twice * len(some) - 1) // (2 * size)] for some in ordered)
    return np.minimum(first, second)


def _stepped(codes: Codes, goals: Codes, seen: Codes, level: float) -> Codes:
    here, there = np.searchsorted(seen, codes), np.searchsorted(seen, goals)
    return np.asarray(seen[here + np.rint(level * (there - here)).astype(np.intp)])


def _between(column: Column, codes: Codes, goals: Codes, level: float) -> Floats:
    values = np.array(column.values)
    # A value that is its own goal must not become another one by a rounding error.
    return np.where(codes == goals, values[codes], (1 - level) * values[codes] + level * values[goals])


@dataclass(frozen=True, eq=False)
class CategoryPlan:
    """Which rows keep a category, and what the others draw.

    Parameters
    ----------
    counts : int array, shape (2, levels)
        n_cs, rows of each group in each category.
    keep : int array, shape (2, levels)
        How many of them keep it, at most n_cs.
    unseen : float
        Probability with which a row keeps a category that its group did not have.
    law : float array, shape (2, levels)
        Probabilities of the categories that the other rows of each group draw from.
    """

    counts: Counts
    keep: Counts
    unseen: float
    law: Floats

    def carry_out(self, codes: Codes | Labels, s: Labels, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the rows that the plan was made for, repaired: exactly `keep`, at random, keep theirs."""
        levels = self.counts.shape[1]
        cells = _cells(codes, s, levels)
        order = _shuffled_order(cells, rng)
        sizes = self.counts.ravel()
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        moving = np.zeros(len(order), dtype=np.bool_)
        moving[order] = rank >= np.repeat(self.keep.ravel(), sizes)
        return self._redrawn(codes, s, moving, rng)

    def follow(self, codes: Codes, s: Labels, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return other rows, repaired: each keeps its category with probability keep / n_cs."""
        share = np.full(self.counts.shape, self.unseen)
        np.divide(self.keep, self.counts, out=share, where=self.counts > 0)
        return self._redrawn(codes, s, rng.random(len(codes)) >= share[s, codes], rng)

    def _redrawn(
        self, codes: Codes | Labels, s: Labels, moving: NDArray[np.bool_], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        repaired = codes.astype(np.intp)
        for group in (0, 1):
            rows = np.flatnonzero(moving & (s == group))
            ends = np.cumsum(self.law[group])
            drawn = np.searchsorted(ends, rng.random(len(rows)) * ends[-1], side="right")
            repaired[rows] = np.minimum(drawn, np.flatnonzero(self.law[group])[-1])
        return repaired


def make_plan(counts: Counts, level: float) -> CategoryPlan:
    """Return the plan that repairs a column with counts of each group, shape (2, levels); both have rows.

    With shares p_cs, their lower median over the groups m_c = min(p_c0, p_c1) and repair level λ, the number
    of rows that keep category c is ⌊(1−λ) n_cs + λ m_c n_s⌋, and all others draw from (1−λ) p_cs + λ m_c,
    normalised. If that is 0 everywhere (λ = 1, and no category in both groups), they draw from all
    categories with the same probability.

    >>> plan = make_plan(np.array([[90, 10], [30, 30]]), 1.0)
    >>> plan.keep.tolist(), plan.law[0].round(3).tolist()
    ([[50, 10], [30, 6]], [0.833, 0.167])
    """
    sizes = counts.sum(axis=1)
    common = np.min(counts[None, :, :] * sizes[:, None, None] / sizes[None, :, None], axis=1)  # m_c n_s
    keep = np.floor(counts - level * (counts - common) + ROUNDING).astype(np.int64)
    law = (1 - level) * counts + level * common
    if not law.any():
        law = np.tile(counts.any(axis=0).astype(np.float64), (2, 1))
    return CategoryPlan(counts, keep, 1 - level, law / law.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class CategoryMap:
    """How rows of a categorical column are repaired, as learned from the training rows.

    Parameters
    ----------
    source, column : Column
        The column before and after; its levels stay as they are.
    plan : Plan
        The plan of the training rows.
    """

    source: Column
    column: Column
    plan: CategoryPlan

    def apply(self, codes: Codes, s: Labels, rng: np.random.Generator) -> Codes:
        """Return the same column of other rows, repaired by their group."""
        return self.plan.follow(codes, s, rng).astype(np.int16)


def repair_by_category(
    column: Column, codes: Codes, s: Labels, level: float, rng: np.random.Generator
) -> tuple[CategoryMap, Codes]:
    """Return what was learned from a column taken as a category, and its repaired codes."""
    plan = make_plan(group_counts(codes, s, len(column.levels)), level)
    return CategoryMap(column, column, plan), plan.carry_out(codes, s, rng).astype(np.int16)
