"""How much rates and their ratios changed between two decisions on the same rows, or two sets of rows.

Each rate is the ratio of two sums over rows, so the logarithm of a rate, and a difference of such, is a sum
over rows to first order: row i adds above_i/A − below_i/B to log(A/B). The variance is the sum of the
squares (the delta method, or infinitesimal jackknife: Efron 1982, *The Jackknife, the Bootstrap and Other
Resampling Plans*, 6.3). A row that both decisions treat alike adds nearly the same to both and cancels: that
is what pairing is worth. Rows of one kind (label and both decisions) add the same, so counts of kinds are all
that is needed. Only numpy is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.clusters import t_test_p
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import RATES, selection_matrix
from fairbench_cli.measures.significance import normal_p

KINDS = 8  # of rows: label × two decisions; or side × label × decision where the rows are not the same
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Rows of each group under two decisions, before and after.

    Parameters
    ----------
    n, rows, squares : arrays, shape (groups, 8)
        Weights, rows and squared weights by kind of row. Of paired rows kind 4y + 2d + e has the label y,
        the decision d before and e after; else kind 2y + d is of the rows before, 4 + 2y + d of those after.
    paired : bool
        Whether both decisions are about the same rows.
    """

    n: Floats
    rows: Floats
    squares: Floats
    paired: bool

    def merge_groups(self, members: Floats) -> "TwoSides":
        """Return sets of groups: `members`, shape (sets, groups), is 1 where a group belongs to the set."""
        return TwoSides(members @ self.n, members @ self.rows, members @ self.squares, self.paired)

    def halves(self, cells: Floats) -> tuple[Floats, Floats]:
        """Return `n`, `rows` or `squares` before and after: each of shape (groups, label, decision)."""
        by_side = cells.reshape(-1, 2, 2, 2)
        if self.paired:
            return (by_side.sum(3), by_side.sum(2))
        return (by_side[:, 0], by_side[:, 1])


@dataclass(frozen=True, eq=False)
class RateChanges:
    """Rates before and after, and the variances of what is made of them; arrays of shape (groups, rates).

    Parameters
    ----------
    before, after : arrays
        In [0, 1]; NaN without rows.
    change, total : arrays
        Variances of log after − log before, and of log after + log before.
    points : array
        Variance of after − before; NaN for shares of all selected.
    fewest : array
        The smallest number of rows over the bar, before or after; effective ones.
    moved : array
        How many rows are counted differently before and after; effective ones.
    """

    before: Floats
    after: Floats
    change: Floats
    total: Floats
    points: Floats
    fewest: Floats
    moved: Floats


@dataclass(frozen=True, eq=False)
class RowInfluences:
    """What a row of each kind adds to what is made of rates, shape (groups, kinds, rates); NaN without rows.

    Parameters
    ----------
    before, after : arrays, shape (groups, rates)
        The rates.
    change, total : arrays
        To log after − log before, and to log after + log before.
    points : array
        To after − before; NaN for shares of all selected.
    counted, moved : bool arrays, shape (kinds, rates)
        Which rows are below the bar, before or after; and which are counted differently before and after.
    """

    before: Floats
    after: Floats
    change: Floats
    total: Floats
    points: Floats
    counted: Bools
    moved: Bools


def apart(before: Sequence[Floats], after: Sequence[Floats]) -> TwoSides:
    """Return different rows before and after: their n, rows and squares, each of shape (groups, 2, 2).

    >>> sides = apart([np.ones((1, 2, 2))] * 3, [np.ones((1, 2, 2))] * 3)
    >>> sides.n.shape, sides.paired
    ((1, 8), False)
    """
    joined = []
    for cells_before, cells_after in zip(before, after, strict=True):
        cells = (np.asarray(cells_before, dtype=np.float64), np.asarray(cells_after, dtype=np.float64))
        joined.append(np.concatenate([side.reshape(-1, 4) for side in cells], axis=1))
    n, rows, squares = joined
    return TwoSides(n, rows, squares, paired=False)


def rate_changes(sides: TwoSides, names: Sequence[str]) -> RateChanges:
    """Return the rates of each group before and after, with variances.

    Parameters
    ----------
    sides : TwoSides
        Of G groups.
    names : sequence of str
        Of `RATES`, none that is a mean of others.

    Examples
    --------
    Ten rows without the event; of six flagged before, four still are, and no other:

    >>> cells = np.array([[4.0, 0, 2, 4, 0, 0, 0, 0]])
    >>> found = rate_changes(TwoSides(cells, cells, cells, True), ["fpr"])
    >>> found.before.item(), found.after.item(), found.moved.item()
    (0.6, 0.4, 2.0)
    >>> round(found.change.item(), 4), round(1 / 4 - 1 / 6, 4)
    (0.0833, 0.0833)
    """
    numerator_kinds, denominator_kinds = _counted_kinds(names, sides.paired)
    influences = row_influences(sides, names)
    squares = _squared_weights(sides, np.maximum(denominator_kinds[0], denominator_kinds[1]))
    effective_rows = divide(sides.n[..., None] ** 2, np.max(squares, axis=0))

    def variance(added: Floats) -> Floats:
        return np.asarray(
            np.max([(squared_weights * added**2).sum(1) for squared_weights in squares], axis=0)
        )

    def rows(kinds: Bools) -> Floats:
        return np.asarray(np.nansum(np.where(kinds, effective_rows, 0.0), axis=1))

    return RateChanges(
        before=influences.before,
        after=influences.after,
        change=variance(influences.change),
        total=variance(influences.total),
        points=variance(influences.points),
        fewest=np.minimum(rows(numerator_kinds[0] > 0), rows(numerator_kinds[1] > 0)),
        moved=rows(influences.moved),
    )


def row_influences(sides: TwoSides, names: Sequence[str]) -> RowInfluences:
    """Return what a row of each kind adds to changes of the rates of its group."""
    numerator_kinds, denominator_kinds = _counted_kinds(names, sides.paired)
    of_all = np.array([RATES[name].of_all for name in names])
    numerators = [sides.n @ kinds for kinds in numerator_kinds]
    denominators = [sides.n @ kinds for kinds in denominator_kinds]
    rate = []
    for numerator, denominator in zip(numerators, denominators, strict=True):
        rate.append(divide(numerator, np.where(of_all, denominator.sum(0), denominator)))
    log = []
    rate_terms = []
    for s in (0, 1):
        share = np.where(of_all, 0.0, _added_share(denominator_kinds[s], denominators[s]))
        log.append(_added_share(numerator_kinds[s], numerators[s]) - share)
        rate_terms.append(_added_share(numerator_kinds[s], denominators[s]) - rate[s][:, None] * share)
    return RowInfluences(
        before=rate[0],
        after=rate[1],
        change=log[1] - log[0],
        total=log[1] + log[0],
        points=np.where(of_all, np.nan, rate_terms[1] - rate_terms[0]),
        counted=(denominator_kinds[0] > 0) | (denominator_kinds[1] > 0),
        moved=(numerator_kinds[0] != numerator_kinds[1]) | (denominator_kinds[0] != denominator_kinds[1]),
    )


def same_size_p(
    change: Floats,
    change_variance: Floats,
    total: Floats,
    total_variance: Floats,
    degrees: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Return two-sided p-values of "the log ratios before and after are equally far from 0".

    They are where after − before is 0, and where after + before is: where a ratio was turned around. Both
    have to be rejected, so the larger of the two p-values counts.

    Parameters
    ----------
    change, total : arrays
        log R after − log R before, and log R after + log R before.
    change_variance, total_variance : arrays
        Their variances.
    degrees : tuple of two arrays, optional
        Their degrees of freedom, of Student's t; without these the statistics are taken for normal.

    Examples
    --------
    A ratio of 0.5 that became 0.8, and one that became 2, with small variances:

    >>> change, total = np.log([0.8 / 0.5, 2 / 0.5]), np.log([0.8 * 0.5, 2 * 0.5])
    >>> same_size_p(change, np.full(2, 0.01), total, np.full(2, 0.01)).round(4).tolist()
    [0.0, 1.0]
    """
    p = []
    for i, (log_ratio, variance) in enumerate(((change, change_variance), (total, total_variance))):
        z = np.where(variance == 0, 0.0, divide(log_ratio, np.sqrt(variance)))  # nothing moved
        p.append(normal_p(z) if degrees is None else t_test_p(z, degrees[i]))
    return np.maximum(p[0], p[1])


def _counted_kinds(names: Sequence[str], paired: bool) -> tuple[list[Floats], list[Floats]]:
    """Return 1 where a rate counts a kind of row over, and under, the bar: (before, after) of (8, rates)."""
    numerator = selection_matrix([RATES[name].numerator for name in names])
    denominator = selection_matrix([RATES[name].denominator for name in names])
    if paired:
        label, before, after = np.indices((2, 2, 2)).reshape(3, KINDS)
        cell_before = 2 * label + before
        cell_after = 2 * label + after
        return [numerator[cell_before], numerator[cell_after]], [
            denominator[cell_before],
            denominator[cell_after],
        ]
    none = np.zeros_like(numerator)
    return (
        [np.vstack([numerator, none]), np.vstack([none, numerator])],
        [np.vstack([denominator, none]), np.vstack([none, denominator])],
    )


def _added_share(kinds: Floats, total: Floats) -> Floats:
    """Return the share of a sum that a row of each kind adds: (groups, kinds, rates); NaN where it is 0."""
    share: Floats = kinds[None] * divide(1.0, np.where(total > 0, total, np.nan))[:, None]
    return share


def _squared_weights(sides: TwoSides, counted: Floats) -> list[Floats]:
    """Return the sums of squared weights by kind of row, in three ways: arrays (groups, kinds, rates).

    As they are; as if weights had nothing to do with the kind of a row (Kish); and with the spread that the
    weights of the kind have over all groups. Equal weights give the same three times. The largest variance
    counts: the first misses heavy rows that a small group did not happen to have, the second does not see
    weights that go with the outcome.
    """
    if sides.paired:
        halves = [slice(None)]
    else:
        halves = [slice(0, 4), slice(4, 8)]
    alike = np.zeros((*sides.n.shape, counted.shape[1]))
    pooled = np.zeros_like(sides.n)
    for half in halves:
        n = sides.n[:, half]
        rows = sides.rows[:, half]
        squares = sides.squares[:, half]
        alike[:, half] = divide(squares @ counted[half], n @ counted[half])[:, None] * n[..., None]
        scale = divide(rows.sum(1), n.sum(1))[:, None]  # to weights of mean 1 in each group
        spread = divide(
            np.nansum(scale**2 * squares, axis=0) * rows.sum(0), np.nansum(scale * n, axis=0) ** 2
        )
        pooled[:, half] = np.where(rows > 0, spread * divide(n**2, rows), 0.0)
    return [
        np.broadcast_to(sides.squares[..., None], alike.shape),
        np.nan_to_num(alike),
        np.broadcast_to(np.nan_to_num(pooled)[..., None], alike.shape),
    ]
