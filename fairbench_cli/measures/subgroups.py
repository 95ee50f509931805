"""The subgroup that stands out: all combinations of levels are searched, and chance does the same.

A subgroup is the rows that share a level of one attribute, or of several at once. How far its rate is from
that of all other rows is measured by the likelihood ratio of two rates against one (Kulldorff 1997), which
weighs the size of a gap against the rows behind it. The largest of many ratios is large by chance, too: the
outcomes are dealt out again over the rows, which fixes how many there are of each, and the same search is
made of every deal (maximal statistics of a permutation test; Westfall & Young 1993).
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = NDArray[np.int64]

ANY = -1  # instead of a level: the attribute does not matter
AT_ONCE = 1_000_000  # numbers that are dealt or searched at a time
TIED = 1e-9  # likelihood ratios that differ by rounding alone


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Sets of cells, of which no two hold the same cells and none holds all.

    Parameters
    ----------
    levels : int array, shape (subgroups, attributes)
        Codes of levels, or `ANY`; of two descriptions of the same cells the one with fewer attributes.
    member : sparse array, shape (subgroups, cells)
        1 where a cell is in a subgroup.
    """

    levels: Ints
    member: "csr_array"

    def select(self, mask: NDArray[np.bool_]) -> "Subgroups":
        """Return some of the subgroups."""
        return Subgroups(self.levels[mask], self.member[np.flatnonzero(mask)])


@dataclass(frozen=True, eq=False)
class Extremes:
    """What was found among subgroups: the one whose rate is most clearly below that of all others, and above.

    Parameters
    ----------
    best : tuple of two int or None
        Their places; None where no rate is below, or above.
    ratios : tuple of two float
        Their likelihood ratios, on a logarithm.
    null : float array, shape (draws,)
        The largest of all likelihood ratios in each deal.
    """

    best: tuple[int | None, int | None]
    ratios: tuple[float, float]
    null: Floats

    def p(self, side: int) -> float:
        """Return how often chance finds a subgroup that stands out as much, below (0) or above (1)."""
        least = self.ratios[side] - TIED
        return float((1 + (self.null >= least).sum()) / (1 + len(self.null)))

    def limit(self, share: float) -> float:
        """Return the likelihood ratio that a share of deals exceeds at most; infinite where no deal tells."""
        rank = int(np.ceil((1 - share) * (1 + len(self.null)) - TIED))
        if rank <= len(self.null):
            return float(np.sort(self.null)[rank - 1])
        return np.inf


def enumerate_subgroups(codes: Ints) -> Subgroups:
    """Return all combinations of levels that cells have.

    Parameters
    ----------
    codes : int array, shape (cells, attributes)
        The level of each cell, from 0 on.

    Examples
    --------
    >>> found = enumerate_subgroups(np.array([[0, 0], [0, 1], [1, 0]]))
    >>> found.levels.tolist(), found.member.toarray().astype(int).tolist()
    ([[0, -1], [1, -1], [-1, 0], [-1, 1], [0, 0]], [[1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 0, 0]])
    """
    from scipy.sparse import csr_array

    cells, attributes = codes.shape
    levels_of_cells: dict[bytes, Ints] = {}
    for n_chosen in range(1, attributes + 1):
        for chosen in itertools.combinations(range(attributes), n_chosen):
            level = np.zeros(cells, dtype=np.int64)
            for column in chosen:  # renumbered by turns, so that no number outgrows its place
                level = np.unique(
                    level * (codes[:, column].max() + 1) + codes[:, column], return_inverse=True
                )[1]
            order = np.argsort(level, kind="stable")
            for inside in np.split(order, np.cumsum(np.bincount(level))[:-1]):
                if len(inside) < cells and inside.tobytes() not in levels_of_cells:
                    row = np.full(attributes, ANY, dtype=np.int64)
                    row[list(chosen)] = codes[inside[0], chosen]
                    levels_of_cells[inside.tobytes()] = row
    member_cells = [np.frombuffer(key, dtype=np.intp) for key in levels_of_cells]
    starts = np.cumsum([0, *map(len, member_cells)])
    member_indices = np.concatenate([*member_cells, np.empty(0, dtype=np.intp)])
    member = csr_array(
        (np.ones(len(member_indices)), member_indices, starts), shape=(len(member_cells), cells)
    )
    return Subgroups(np.array(list(levels_of_cells.values()), dtype=np.int64).reshape(-1, attributes), member)


def find_extremes(subgroups: Subgroups, above: Floats, below: Floats, deals: Iterator[Floats]) -> Extremes:
    """Return the subgroups that stand out most, and what chance finds.

    Parameters
    ----------
    subgroups : Subgroups
        At least one; each, and all other cells, with rows.
    above, below : arrays, shape (cells,)
        Rows over and under the bar of the rate.
    deals : iterator of arrays, shape (deals, cells)
        What is over the bar in deals of the outcomes; see `deal_rows` and `deal_people`.
    """
    rows = subgroups.member @ below
    hits = subgroups.member @ above
    all_rows = float(below.sum())
    total = float(above.sum())
    likelihoods = likelihood_ratio(hits, rows, total, all_rows)
    higher = hits * all_rows > total * rows
    best: list[int | None] = []
    ratios = []
    for side in (~higher & (likelihoods > TIED), higher & (likelihoods > TIED)):
        index = None
        if side.any():
            index = _first_of_largest(np.where(side, likelihoods, -np.inf), subgroups, rows)
        best.append(index)
        ratios.append(0.0 if index is None else float(likelihoods[index]))
    most = [np.empty(0)]
    step = max(1, AT_ONCE // len(rows))
    for block in deals:
        for start in range(0, len(block), step):
            dealt = subgroups.member @ block[start : start + step].T
            most.append(likelihood_ratio(dealt, rows[:, None], total, all_rows).max(0))
    return Extremes((best[0], best[1]), (ratios[0], ratios[1]), np.concatenate(most))


def _first_of_largest(likelihoods: Floats, subgroups: Subgroups, rows: Floats) -> int:
    """Return the place of the largest; of equal ones that with fewest attributes, then with fewest rows."""
    tied = np.flatnonzero(likelihoods >= likelihoods.max() - TIED)
    attributes = (subgroups.levels[tied] != ANY).sum(1)
    return int(tied[np.lexsort((rows[tied], attributes))[0]])


def likelihood_ratio(hits: Floats, rows: Floats, total: float, all_rows: float) -> Floats:
    """Return the logarithm of the likelihood ratio of two rates, within and outside, against one of all.

    Parameters
    ----------
    hits, rows : arrays
        Over and under the bar of the rate, of subgroups.
    total, all_rows : float
        The same of all rows.

    Examples
    --------
    >>> likelihood_ratio(np.array([5.0, 9.0]), np.array([10.0, 10.0]), 50, 100).round(3).tolist()
    [0.0, 4.037]
    """
    from scipy.special import xlogy

    def fit(hits: Floats | float, rows: Floats | float) -> Floats:
        missed = np.asarray(rows) - np.asarray(hits)
        log_likelihood: Floats = xlogy(hits, hits) + xlogy(missed, missed) - xlogy(rows, rows)
        return log_likelihood

    return np.maximum(fit(hits, rows) + fit(total - hits, all_rows - rows) - fit(total, all_rows), 0.0)


def deal_rows(above: Floats, below: Floats, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield deals of the outcomes over the rows: how many of each cell are over the bar.

    Each row gets the outcome of another one, so that these, of shape (deals, cells), are hypergeometric.
    """
    step = max(1, AT_ONCE // len(below))
    rows = np.rint(below).astype(np.int64)
    total = int(np.rint(above.sum()))
    for start in range(0, draws, step):
        n_deals = min(step, draws - start)
        yield rng.multivariate_hypergeometric(rows, total, size=n_deals, method="marginals").astype(
            np.float64
        )


def deal_people(
    cell: Ints, above: Floats, below: Floats, cells: int, draws: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield deals of the outcomes over people, who change places with those of as many rows.

    Parameters
    ----------
    cell : int array, shape (people,)
        The cell of each person.
    above, below : arrays, shape (people,)
        The rows of each over and under the bar.
    cells : int
        How many there are.
    """
    step = max(1, AT_ONCE // max(cells, len(cell)))
    sizes = [np.flatnonzero(below == size) for size in np.unique(below[below > 0])]
    for start in range(0, draws, step):
        n_deals = min(step, draws - start)
        dealt = np.zeros((n_deals, cells))
        for people in sizes:
            people = people[np.argsort(cell[people], kind="stable")]
            occupied, starts = np.unique(cell[people], return_index=True)
            mixed = rng.permuted(np.tile(above[people], (n_deals, 1)), axis=1)
            dealt[:, occupied] += np.add.reduceat(mixed, starts, axis=1)
        yield dealt
