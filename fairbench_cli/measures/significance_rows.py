"""Tests that need the rows: on scores, given covariates, and within strata.

Each returns one number. The first two know no row weights and refuse them.
"""

import math

import numpy as np

from fairbench_cli.measures import significance
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rows import Rows

SPANNED = 1e-10  # share of the variance of s below which the covariates give it away


def slope_t(rows: Rows) -> float:
    """Student's t of the slope of s when the target is regressed on s and the features by least squares.

    Positive when the favoured are given more than their features explain. NaN when s is a function of the
    features, or there are no more rows than coefficients.

    Without features it is `significance.difference_of_means_t`. By the theorem of Frisch, Waugh and
    Lovell, from what the features leave of target and s: a least-squares solver is all that is needed, not
    statsmodels, which takes a second to load.

    >>> rows = Rows(np.array([0, 0, 0, 0, 1, 1, 1, 1]), *2 * (np.array([0, 0, 0, 1, 1, 1, 1, 1]),))
    >>> round(slope_t(rows), 6)
    3.0
    """
    return _slope(rows)[0]


def slope_p(rows: Rows) -> float:
    """p-value of `slope_t`, two-sided."""
    from scipy.special import stdtr

    t, degrees = _slope(rows)
    return float(2.0 * stdtr(degrees, -abs(t)))


def rank_u(rows: Rows) -> float:
    """Mann–Whitney U of the favoured: pairs in which a favoured has the higher target, ties half.

    NaN when a group is empty.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> rank_u(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8])))
    3.5
    """
    return _ranks(rows)[0]


def rank_p(rows: Rows) -> float:
    """p-value of `rank_u`: normal, corrected for ties and continuity."""
    return _ranks(rows)[1]


def cochran_mantel_haenszel(rows: Rows) -> Floats:
    """χ² of whether the groups are accepted alike in every stratum; see the one of counts."""
    return significance.cochran_mantel_haenszel(rows.stratified())


def cochran_mantel_haenszel_p(rows: Rows) -> Floats:
    """p-value of `cochran_mantel_haenszel`."""
    return significance.cochran_mantel_haenszel_p(rows.stratified())


def _slope(rows: Rows) -> tuple[float, float]:
    """Return the t of the slope and its degrees of freedom."""
    _refuse_weights(rows)
    others = np.column_stack([np.ones(len(rows.s)), rows.covariates()])
    both = np.column_stack([rows.s, rows.target]).astype(np.float64)
    found, _, rank, _ = np.linalg.lstsq(others, both, rcond=None)
    s, target = (both - others @ found).T
    degrees = len(rows.s) - int(rank) - 1
    if degrees <= 0 or s @ s <= SPANNED * len(s):
        return math.nan, math.nan
    slope = (s @ target) / (s @ s)
    left = target - slope * s
    error = math.sqrt(left @ left / degrees / (s @ s))
    if error == 0:
        return (math.copysign(math.inf, slope) if slope else math.nan), degrees
    return float(slope / error), degrees


def _ranks(rows: Rows) -> tuple[float, float]:
    from scipy.stats import mannwhitneyu

    _refuse_weights(rows)
    deprived, favoured = (rows.target[rows.s == group] for group in (0, 1))
    if not (len(deprived) and len(favoured)):
        return math.nan, math.nan
    u = mannwhitneyu(favoured, deprived, method="asymptotic")
    return float(u.statistic), float(u.pvalue) if np.ptp(rows.target) > 0 else math.nan


def _refuse_weights(rows: Rows) -> None:
    if rows.weights is not None:
        raise ValueError("this test takes every row for one; it knows no weights")
