"""Tests that need the rows: given covariates and on scores; and the AUC between the groups.

Each returns one number. Where the name says "of scores" it is of the scores, else of the predictions. What
knows no row weights refuses them.
"""

import math

import numpy as np

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rows import Rows, standardised

SPANNED = 1e-10  # share of the variance of s below which the covariates give it away
EXACT = 1e-16  # share of the variance of what is explained below which nothing but rounding is left


def slope_t(rows: Rows) -> float:
    """Student's t of the coefficient of s when ŷ is regressed on s and the features by least squares.

    Student's t of the slope of s when the prediction is regressed on s and the features by least
    squares.

    Source: Žliobaitė 2017.

    NaN when the features alone determine s, or the predictions (also when these are all the same), or
    there are too few rows; infinite when the features and s leave no residual.

    Positive when the favoured are given more than their features explain. NaN when s, or the prediction, is
    a function of the features (a constant always is), or there are no more rows than coefficients; infinite
    when features and s together leave nothing.

    Without features it is `significance.difference_of_means_t`. By the theorem of Frisch, Waugh and
    Lovell, from what the features leave of prediction and s: a least-squares solver is all that is needed,
    not statsmodels, which takes a second to load.

    >>> rows = Rows(np.array([0, 0, 0, 0, 1, 1, 1, 1]), *2 * (np.array([0, 0, 0, 1, 1, 1, 1, 1]),))
    >>> round(slope_t(rows), 6)
    3.0
    """
    return _slope(rows, rows.predicted)[0]


def slope_p(rows: Rows) -> float:
    """P(|T| ≥ |t|) of slope-t, two-sided.

    Source: Žliobaitė 2017.

    NaN when the features alone determine s, or the predictions (also when these are all the same), or
    there are too few rows.
    """
    return _student_p(*_slope(rows, rows.predicted))


def slope_t_of_scores(rows: Rows) -> float:
    """As slope-t, with scores instead of ŷ.

    Source: Žliobaitė 2017.

    NaN when the model gives no scores, the features alone determine s, or the scores (also when these
    are all the same), or there are too few rows; infinite when the features and s leave no residual.
    """
    return math.nan if rows.score is None else _slope(rows, rows.score)[0]


def slope_p_of_scores(rows: Rows) -> float:
    """P(|T| ≥ |t|) of slope-t-of-scores, two-sided.

    Source: Žliobaitė 2017.

    NaN when the model gives no scores, the features alone determine s, or the scores (also when these
    are all the same), or there are too few rows.
    """
    return math.nan if rows.score is None else _student_p(*_slope(rows, rows.score))


def mann_whitney_u_of_scores(rows: Rows) -> float:
    """Pairs in which a favoured has a higher score than a deprived, ties half.

    Mann–Whitney U of the favoured: pairs in which a favoured has the higher score, ties half.

    Source: Mann & Whitney 1947; Žliobaitė 2017.

    NaN when the model gives no scores, a group is empty.

    NaN when a group is empty, or there are no scores.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> mann_whitney_u_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8])))
    3.5
    """
    return _ranks(rows)[0]


def mann_whitney_p_of_scores(rows: Rows) -> float:
    """Of mann-whitney-u-of-scores, two-sided: normal, corrected for ties and continuity.

    Source: Žliobaitė 2017.

    NaN when the model gives no scores, a group is empty or all scores are the same.
    """
    return _ranks(rows)[1]


def auc_between_groups_of_scores(rows: Rows) -> float:
    """P(a favoured scores above a deprived), ties half: U / (n(g) n(ḡ)) of mann-whitney-u-of-scores.

    P(a favoured scores above a deprived), ties half: U / (n(g) n(ḡ)). Weights are honoured.

    Source: Žliobaitė 2017.

    NaN when the model gives no scores, or a group is empty.

    Returns
    -------
    float
        In [0, 1], 0.5 when the scores do not separate the groups. NaN when a group is empty, or there are
        no scores.

    Examples
    --------
    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> auc_between_groups_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8])))
    0.875
    """
    if rows.score is None:
        return math.nan
    found, at = np.unique(rows.score, return_inverse=True)
    weights = np.ones(len(at)) if rows.weights is None else rows.weights
    deprived, favoured = (np.bincount(at, weights * (rows.s == group), len(found)) for group in (0, 1))
    below = np.cumsum(deprived) - deprived / 2
    return float(divide((favoured * below).sum(), favoured.sum() * deprived.sum()))


def _slope(rows: Rows, of: Floats) -> tuple[float, float]:
    """Return the t of the slope and its degrees of freedom."""
    _refuse_weights(rows)
    if not len(rows.s):
        return math.nan, math.nan
    others = np.column_stack([np.ones(len(rows.s)), rows.covariates()])
    both = np.column_stack([rows.s, standardised(of)]).astype(np.float64)
    found, _, rank, _ = np.linalg.lstsq(others, both, rcond=None)
    s, target = (both - others @ found).T
    degrees = len(rows.s) - int(rank) - 1
    # The target has variance 1, or 0 when it is constant.
    if degrees <= 0 or s @ s <= SPANNED * len(s) or target @ target <= EXACT * len(s):
        return math.nan, math.nan
    slope = (s @ target) / (s @ s)
    left = target - slope * s
    if left @ left <= EXACT * (target @ target):
        return math.copysign(math.inf, slope), degrees
    return float(slope / math.sqrt(left @ left / degrees / (s @ s))), degrees


def _student_p(t: float, degrees: float) -> float:
    from scipy.special import stdtr

    return float(2.0 * stdtr(degrees, -abs(t)))


def _ranks(rows: Rows) -> tuple[float, float]:
    from scipy.stats import mannwhitneyu

    _refuse_weights(rows)
    if rows.score is None:
        return math.nan, math.nan
    deprived, favoured = (rows.score[rows.s == group] for group in (0, 1))
    if not (len(deprived) and len(favoured)):
        return math.nan, math.nan
    u = mannwhitneyu(favoured, deprived, method="asymptotic")
    return float(u.statistic), float(u.pvalue) if np.ptp(rows.score) > 0 else math.nan


def _refuse_weights(rows: Rows) -> None:
    if rows.weights is not None:
        raise ValueError("this test takes every row for one; it knows no weights")
