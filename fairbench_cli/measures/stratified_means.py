"""A difference of two means taken apart by strata: what these explain, and what is left within them.

Left is the mean, over the group's rows, of how far each is from its reference's mean in the same stratum:
differences within strata, weighted by the group's own. Explained is the rest: that the group is in other
strata. Rows of strata without a reference have nobody to be compared with, and are left out of what is left.

The variance is that of what each row adds to an estimate; with Student's t or Hall's transformation of it,
the wider of both. With clusters what their rows add is summed first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide, row_masses
from fairbench_cli.measures.means import Contrast, MeanInterval, welch_degrees, wider_interval

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class StratifiedMeans:
    """A difference of means by strata; a group less its reference.

    Parameters
    ----------
    difference, explained, unexplained : MeanInterval
        Of all rows; by the strata; within them. The first is the sum of the others.
    compared : float
        The share of the group's weight in strata that its reference has, too.
    rows, reference_rows : array, shape (strata,)
        Sums of weights.
    means, reference_means : array, shape (strata,)
        NaN where there are no rows.
    """

    difference: MeanInterval
    explained: MeanInterval
    unexplained: MeanInterval
    compared: float
    rows: Floats
    reference_rows: Floats
    means: Floats
    reference_means: Floats


@dataclass(frozen=True, eq=False)
class _StratifiedRows:
    """Rows of a group and its reference, with their strata, weights and clusters."""

    outcome: Floats
    is_group: NDArray[np.bool_]
    stratum: Ints
    weight: Floats
    cluster: Ints | None
    n_strata: int

    def sum_by_stratum(self, terms: Floats, side: NDArray[np.bool_]) -> Floats:
        sums = np.bincount(self.stratum[side], terms[side], self.n_strata)
        return sums.astype(np.float64)


def stratify_means(
    outcome: ArrayLike,
    is_group: ArrayLike,
    strata: ArrayLike,
    n_strata: int,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> StratifiedMeans:
    """Return the difference of two means taken apart by strata.

    Parameters
    ----------
    outcome : array of float, shape (rows,)
        Of the rows of both.
    is_group : array of bool, shape (rows,)
        Whether a row is of the group; else of its reference.
    strata : array of int, shape (rows,)
        From 0.
    n_strata : int
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    confidence : float
        Of the limits.

    Examples
    --------
    Pay depends on the rank alone, of which the group has the lower one more often:

    >>> pay = [1.0, 1.2, 0.8, 2.1, 1.1, 0.9, 2.0, 2.1, 1.9, 2.0]
    >>> rank = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1]
    >>> parts = stratify_means(pay, [True] * 4 + [False] * 6, rank, 2)
    >>> [round(float(part.value), 3) for part in (parts.difference, parts.explained, parts.unexplained)]
    [-0.392, -0.417, 0.025]
    """
    target = np.asarray(outcome, dtype=np.float64)
    mask = np.asarray(is_group, dtype=bool)
    mass = row_masses(weights, len(target))
    codes = None if clusters is None else np.asarray(clusters, dtype=np.intp)
    # Less their mean, so that large numbers keep their digits.
    target = target - divide(mass @ target, mass.sum())
    rows = _StratifiedRows(target, mask, np.asarray(strata, dtype=np.intp), mass, codes, n_strata)
    group_weight = rows.sum_by_stratum(mass, mask)
    reference_weight = rows.sum_by_stratum(mass, ~mask)
    group_means = divide(rows.sum_by_stratum(mass * target, mask), group_weight)
    reference_means = divide(rows.sum_by_stratum(mass * target, ~mask), reference_weight)
    # 1. All rows.
    overall = [divide(mass[side] @ target[side], mass[side].sum()) for side in (mask, ~mask)]
    totals = np.where(mask, mass[mask].sum(), -mass[~mask].sum())
    of_difference = mass * (target - np.where(mask, overall[0], overall[1])) / totals
    difference = float(overall[0] - overall[1])
    # 2. Within strata that both have.
    has_both = (group_weight > 0) & (reference_weight > 0)
    is_compared = mask & has_both[rows.stratum]
    compared_weight = mass[is_compared].sum()
    share = divide(np.where(has_both, group_weight, 0.0), compared_weight)
    unexplained = float((share * np.where(has_both, group_means - reference_means, 0.0)).sum())
    expected = np.where(has_both, reference_means, 0.0)[rows.stratum]
    of_left = np.where(is_compared, divide(mass, compared_weight) * (target - expected - unexplained), 0.0)
    pull = divide(np.where(has_both, share, 0.0), reference_weight)[rows.stratum]
    of_left = np.where(~mask & has_both[rows.stratum], -pull * mass * (target - expected), of_left)
    if not has_both.any():
        unexplained = np.nan
    # A stratum with one row of the reference has no spread of its own: that of all strata stands for it.
    n_reference = np.bincount(rows.stratum[~mask & (mass > 0)], minlength=n_strata)
    is_apart = ~mask & (n_reference > 1)[rows.stratum]
    spread = mass[is_apart] @ (target - expected)[is_apart] ** 2
    degrees = np.maximum(n_reference - 1, 0).sum()
    within_spread = divide(spread, mass[is_apart].sum() / max(is_apart.sum(), 1) * degrees)
    is_alone = ~mask & (n_reference == 1)[rows.stratum]
    alone = float(np.nan_to_num(within_spread) * ((pull * mass)[is_alone] ** 2).sum())
    mean = divide(mass @ np.asarray(outcome, dtype=np.float64), mass.sum())
    return StratifiedMeans(
        difference=_to_interval(difference, of_difference, rows, ~mask, confidence),
        explained=_to_interval(difference - unexplained, of_difference - of_left, rows, ~mask, confidence),
        unexplained=_to_interval(unexplained, of_left, rows, ~mask, confidence, is_within=True, alone=alone),
        compared=float(divide(compared_weight, mass[mask].sum())),
        rows=group_weight,
        reference_rows=reference_weight,
        means=group_means + mean,
        reference_means=reference_means + mean,
    )


def _to_interval(
    value: float,
    influence: Floats,
    rows: _StratifiedRows,
    reference: NDArray[np.bool_],
    confidence: float,
    *,
    is_within: bool = False,
    alone: float = 0.0,
) -> MeanInterval:
    """Return an estimate with limits, given what each row adds to it.

    Residuals of a mean of n rows are too small by n/(n − 1): of the reference's strata where an estimate is
    within these, else of each side. `alone` is the variance of what strata of one row add, which have none.
    """
    counted = rows.weight > 0
    if rows.cluster is not None:
        sums = np.bincount(rows.cluster, influence, int(rows.cluster.max()) + 1)
        fewest = np.inf
        for side in (rows.is_group & counted, reference & counted):
            fewest = min(fewest, len(np.unique(rows.cluster[side])))
        n_clusters = len(np.unique(rows.cluster[counted]))
        variance = divide(n_clusters, n_clusters - 1) * (sums @ sums)
        variance = np.where(fewest > 1, variance, np.nan)
        return _interval(value, variance, fewest - 1, (sums**3).sum(), confidence)
    variances = []
    degrees = []
    third = 0.0
    for side in (rows.is_group & counted, reference & counted):
        n_rows = float(side.sum())
        if is_within and (side & reference).any():  # of the reference each stratum has a mean of its own
            n = np.bincount(rows.stratum[side], minlength=rows.n_strata)
            squares = rows.sum_by_stratum(influence**2, side)
            variances.append(float((n / np.maximum(n - 1, 1) * squares).sum()) + alone)
            degrees.append(float(np.maximum(n - 1, 0).sum()))
        else:
            effective = divide(rows.weight[side].sum() ** 2, rows.weight[side] @ rows.weight[side])
            variances.append(float(divide(n_rows, n_rows - 1) * (influence[side] @ influence[side])))
            degrees.append(float(effective) - 1)
        factor = divide(n_rows**2, (n_rows - 1) * max(n_rows - 2, 1))
        third += float(factor * (influence[side] ** 3).sum())
    satterthwaite = welch_degrees(
        np.asarray(variances[0]),
        np.asarray(degrees[0] + 1),
        np.asarray(variances[1]),
        np.asarray(degrees[1] + 1),
    )
    return _interval(value, sum(variances), satterthwaite, third, confidence)


def _interval(
    value: float, variance: ArrayLike, degrees: ArrayLike, third: ArrayLike, confidence: float
) -> MeanInterval:
    contrast = Contrast(
        np.asarray(value, dtype=np.float64),
        np.asarray(variance, dtype=np.float64),
        np.asarray(degrees, dtype=np.float64),
        np.asarray(third, dtype=np.float64),
    )
    return wider_interval(contrast, confidence)
