"""Repair of a categorical column: some rows keep their category, the others draw a new one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Codes, Column, Floats, Labels
from fairbench_cli.interventions.repairing.ordering import Counts, cells_of, counts_of, shuffled_order

# A desired count is floored, and one that is whole must not be missed by a rounding error.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Plan:
    """Who keeps a category, and what the others draw.

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
        """Repair the very rows that the plan was made for: exactly `keep` of them, at random, keep theirs."""
        levels = self.counts.shape[1]
        cells = cells_of(codes, s, levels)
        order = shuffled_order(cells, rng)
        sizes = self.counts.ravel()
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        moving = np.zeros(len(order), dtype=np.bool_)
        moving[order] = rank >= np.repeat(self.keep.ravel(), sizes)
        return self._redrawn(codes, s, moving, rng)

    def follow(self, codes: Codes, s: Labels, rng: np.random.Generator) -> NDArray[np.intp]:
        """Repair other rows: each keeps its category with probability keep / n_cs."""
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


def make_plan(counts: Counts, level: float) -> Plan:
    """Plan the repair of a column with the given counts of each group, shape (2, levels); both have rows.

    With shares p_cs, their lower median over the groups m_c = min(p_c0, p_c1) and repair level λ, the number
    of rows that keep category c is ⌊(1−λ) n_cs + λ m_c n_s⌋, and all others draw from (1−λ) p_cs + λ m_c,
    normalised. If that is 0 everywhere (λ = 1, and no category in both groups), they draw from all
    categories alike.

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
    return Plan(counts, keep, 1 - level, law / law.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class CategoryMap:
    """What the repair of a categorical column learned.

    Parameters
    ----------
    source, column : Column
        The column before and after; its levels stay as they are.
    plan : Plan
        The plan of the training rows.
    """

    source: Column
    column: Column
    plan: Plan

    def apply(self, codes: Codes, s: Labels, rng: np.random.Generator) -> Codes:
        """Repair the same column of other rows, by their group."""
        return self.plan.follow(codes, s, rng).astype(np.int16)


def repair_by_category(
    column: Column, codes: Codes, s: Labels, level: float, rng: np.random.Generator
) -> tuple[CategoryMap, Codes]:
    """Repair a column as a category; return what was learned, and the repaired codes."""
    levels = len(column.levels)
    plan = make_plan(counts_of(cells_of(codes, s, levels), levels), level)
    return CategoryMap(column, column, plan), plan.carry_out(codes, s, rng).astype(np.int16)
