"""Tests of whether two groups, or many, are accepted alike, from counts of rows or from the rows.

Weighted counts are taken for numbers of rows. All p-values are two-sided. Each test is a statistic and a
p-value, vectorised over leading axes where scipy and statsmodels take one table at a time; they agree.
scipy.special is imported inside, as it is slow to load.

Tests that need the rows, given covariates and on scores, return one number. Where the name says "of scores"
it is of the scores, else of the predictions. What knows no row weights refuses them.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Counts, Floats, as_floats, deprived_and_favoured, divide
from fairbench_cli.measures.functions import discrimination
from fairbench_cli.measures.rows import Rows, standardise

FEW_EXPECTED = 5  # below this expected count, Fisher's test instead of z


def difference_of_means_t(counts: Counts) -> Floats:
    """Student's t = d / (s √(1/n(g) + 1/n(ḡ))), s² the pooled variance, n(g) + n(ḡ) − 2 degrees of freedom.

    Equally the t of the least-squares slope of ŷ on s. Infinite when the groups are of one class
    each and differ.

    >>> some = Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))
    >>> round(float(difference_of_means_t(some)), 6)
    3.0
    """
    deprived, favoured = deprived_and_favoured(counts, counts.group_total)
    within = divide(counts.predicted[..., 0] * counts.predicted[..., 1], counts.group_total).sum(-1)
    variance = divide(within, _degrees(counts)) * (divide(1.0, deprived) + divide(1.0, favoured))
    return divide(discrimination(counts), np.sqrt(variance))


def difference_of_means_p(counts: Counts) -> Floats:
    """P(|T| ≥ |t|) of difference-of-means-t, two-sided."""
    from scipy.special import stdtr

    p: Floats = 2.0 * stdtr(_degrees(counts), -np.abs(difference_of_means_t(counts)))
    return p


_erfc = np.vectorize(math.erfc, otypes=[np.float64])  # an audit does without scipy, which is slow to load


def normal_p(z: ArrayLike) -> Floats:
    """Return the two-sided p-values of standard normal statistics, without scipy.

    >>> normal_p([0.0, -1.96]).round(3).tolist()
    [1.0, 0.05]
    """
    p: Floats = _erfc(np.abs(z) / math.sqrt(2.0))
    return p


def normal_quantile(confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


_inv_cdf = np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])


def normal_quantiles(confidence: ArrayLike) -> Floats:
    """Return how many standard errors each of some intervals reaches to each side.

    >>> normal_quantiles([0.95, 0.99]).round(3).tolist()
    [1.96, 2.576]
    """
    quantiles: Floats = _inv_cdf((1 + np.asarray(confidence, dtype=np.float64)) / 2)
    return quantiles


def two_proportions(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike
) -> tuple[Floats, Floats]:
    """Return z and the two-sided p-value of the test that two proportions are equal.

    z is (above/below − ref_above/ref_below) over its error with pooled variance. Where a cell expects fewer
    than 5, p is that of Fisher's exact test. `score_test` has the test that goes with
    an interval of the ratio.

    Parameters
    ----------
    above, below, ref_above, ref_below : arrays of one shape
        Numerators and denominators; weighted counts are worth fractions of rows.

    Returns
    -------
    tuple of two arrays
        NaN for a denominator of 0; z is NaN too where both proportions are 0, or 1.

    Examples
    --------
    >>> z, p = two_proportions(805, 1795, 349, 1488)
    >>> f"{z:.2f} {p:.1e}"
    '12.78 2.1e-37'
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    total = n + m
    hits = x + y
    pooled = divide(hits, total)
    with np.errstate(invalid="ignore"):  # 0 × ∞ where a denominator is 0
        error = np.sqrt(np.maximum(pooled * (1 - pooled), 0.0) * (divide(1.0, n) + divide(1.0, m)))
    z = divide(divide(x, n) - divide(y, m), error)
    p = normal_p(z)
    is_small = np.minimum(hits, total - hits) * np.minimum(n, m) < FEW_EXPECTED * total
    for index in map(tuple, np.argwhere(is_small & (n > 0) & (m > 0))):
        p[index] = fisher(*(round(float(v[index])) for v in (x, n, y, m)))
    return z, p


def fisher(above: int, below: int, ref_above: int, ref_below: int) -> float:
    """Return the p-value of Fisher's exact test: the probability of all tables no likelier than this one.

    >>> round(fisher(1, 10, 8, 10), 6)
    0.005477
    """
    hits = above + ref_above
    total = below + ref_below
    least = max(0, hits - ref_below)
    k = np.arange(least, min(hits, below) + 1, dtype=np.float64)
    steps = np.log((below - k[:-1]) * (hits - k[:-1]) / ((k[:-1] + 1) * (total - below - hits + k[:-1] + 1)))
    log_p = np.concatenate([[0.0], np.cumsum(steps)])
    p = np.exp(log_p - log_p.max())
    seen = p[above - least]
    return float(p[p <= seen * (1 + 1e-7)].sum() / p.sum())


def alpha_level(confidence: float) -> float:
    """Return the level below which p-values are significant: 0.05, where 1 - 0.95 is a little more.

    >>> 1 - 0.95 > 0.05, alpha_level(0.95)
    (True, 0.05)
    """
    return round(1 - confidence, 12)


def holm(p: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return Holm's step-down adjustment of p-values, of one family; NaN are no tests and stay NaN.

    Parameters
    ----------
    p : array
    weights : array of the same shape, optional
        Above 0; a test with twice the weight is rejected at twice the level (Holm 1979, section 4). All equal
        where it is not said.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    >>> holm([0.02, 0.01], weights=[4, 1]).round(3).tolist()
    [0.025, 0.025]
    """
    values = np.asarray(p, dtype=np.float64)
    shares = np.ones_like(values)
    if weights is not None:
        shares = np.asarray(weights, dtype=np.float64)
    adjusted = np.full_like(values, np.nan)
    tests = np.flatnonzero(~np.isnan(values))
    order = tests[np.argsort(values[tests] / shares[tests], kind="stable")]
    left = np.cumsum(shares[order][::-1])[::-1]  # the weights of a test and of those that come after it
    factors = left / shares[order]
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted


def chi_squared(counts: Counts) -> Floats:
    """Σ (observed − expected)² / expected over s and ŷ, for any number of groups.

    Without continuity correction.

    >>> round(float(chi_squared(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]])))), 6)
    4.8
    """
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    # Σ n_s (p_s − p)² / p(1−p): with two classes each group has one free cell.
    rate = divide(counts.predicted[..., 1], counts.group_total) - divide(accepted, counts.total)[..., None]
    between = (counts.group_total * np.square(rate)).sum(-1)
    return divide(between * np.square(counts.total), refused * accepted)


def chi_squared_p(counts: Counts) -> Floats:
    """P(X² ≥ χ²) of chi-squared, degrees of freedom: groups − 1."""
    return chi_squared_tail(chi_squared(counts), len(counts.groups) - 1)


def mann_whitney_u(counts: Counts) -> Floats:
    """Pairs in which a favoured is above a deprived, ties half; n(g) n(ḡ) (d + 1) / 2.

    >>> float(mann_whitney_u(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    14.0
    """
    deprived, favoured = deprived_and_favoured(counts, counts.predicted[..., 1])
    deprived_refused, favoured_refused = deprived_and_favoured(counts, counts.predicted[..., 0])
    ties = favoured * deprived + favoured_refused * deprived_refused
    u = favoured * deprived_refused + ties / 2
    return np.where((counts.group_total > 0).all(-1), u, np.nan)


def mann_whitney_p(counts: Counts) -> Floats:
    """Of mann-whitney-u, two-sided: normal, corrected for ties and continuity."""
    pairs = counts.group_total.prod(-1)
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    # N³ − N − Σ(t³ − t) is 3 N t₀ t₁ for two blocks of ties.
    degrees = np.where(counts.total > 1, counts.total - 1, np.nan)
    spread = np.sqrt(divide(pairs * refused * accepted, 4 * degrees))
    away = np.abs(mann_whitney_u(counts) - pairs / 2) - 0.5
    z = divide(np.where(spread > 0, away, np.nan), spread)
    return normal_p(np.maximum(z, 0.0))


def cochran_mantel_haenszel(strata: Counts) -> Floats:
    """(Σᵢ aᵢ − E(aᵢ))² / Σᵢ var(aᵢ), aᵢ the favoured with ŷ=+ in stratum i.

    χ² of whether the groups are accepted alike in every stratum, without continuity correction.

    Parameters
    ----------
    strata : Counts
        ``n`` has shape (..., strata, 2, 2, 2): the strata are the last leading axis.

    Returns
    -------
    array, shape (...)
        Strata without either group or class say nothing. NaN when all are such.

    Examples
    --------
    >>> stratum = [[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]
    >>> round(float(cochran_mantel_haenszel(Counts(("g", "f"), np.array([stratum, stratum])))), 6)
    8.4
    """
    if strata.n.ndim < 4:
        raise ValueError("needs counts with an axis of strata before the groups")
    deprived, favoured = deprived_and_favoured(strata, strata.group_total)
    refused, accepted = np.moveaxis(strata.predicted.sum(-2), -1, 0)
    total = strata.total
    # A stratum that is empty or one row large has no variance and no excess.
    usable_total = np.where(total > 1, total, np.inf)
    excess = np.where(total > 1, strata.predicted[..., 1, 1] - favoured * accepted / usable_total, 0.0)
    variance = deprived * favoured * accepted / usable_total * refused / usable_total / (usable_total - 1)
    return divide(np.square(excess.sum(-1)), variance.sum(-1))


def cochran_mantel_haenszel_p(strata: Counts) -> Floats:
    """P(X² ≥ χ²) of cochran-mantel-haenszel, one degree of freedom."""
    return chi_squared_tail(cochran_mantel_haenszel(strata), 1)


def chi_squared_tail(statistic: Floats, degrees: int) -> Floats:
    """P(χ² ≥ statistic); with one degree of freedom by the normal, which is faster."""
    if degrees == 1:
        return normal_p(np.sqrt(statistic))
    from scipy.special import chdtrc

    tail: Floats = chdtrc(degrees, statistic)
    return tail


def _degrees(counts: Counts) -> Floats:
    """n₀ + n₁ − 2, NaN where that is not above 0."""
    degrees: Floats = counts.total - 2.0
    return np.where(degrees > 0, degrees, np.nan)


SPANNED = 1e-10  # share of the variance of s below which the covariates give it away
EXACT = 1e-16  # share of the variance of what is explained below which nothing but rounding is left


def slope_t(rows: Rows) -> float:
    """Student's t of the coefficient of s when ŷ is regressed on s and the features by least squares.

    Positive when the favoured are given more than their features explain.

    Without features it is `difference_of_means_t`. By the theorem of Frisch, Waugh and
    Lovell, from what the features leave of prediction and s: a least-squares solver is all that is needed,
    not statsmodels, which takes a second to load.

    >>> rows = Rows(np.array([0, 0, 0, 0, 1, 1, 1, 1]), *2 * (np.array([0, 0, 0, 1, 1, 1, 1, 1]),))
    >>> round(slope_t(rows), 6)
    3.0
    """
    return _slope(rows, rows.predicted)[0]


def slope_p(rows: Rows) -> float:
    """P(|T| ≥ |t|) of slope-t, two-sided."""
    return _student_p(*_slope(rows, rows.predicted))


def slope_t_of_scores(rows: Rows) -> float:
    """As slope-t, with scores instead of ŷ."""
    if rows.score is None:
        return math.nan
    return _slope(rows, rows.score)[0]


def slope_p_of_scores(rows: Rows) -> float:
    """P(|T| ≥ |t|) of slope-t-of-scores, two-sided."""
    if rows.score is None:
        return math.nan
    return _student_p(*_slope(rows, rows.score))


def mann_whitney_u_of_scores(rows: Rows) -> float:
    """Pairs in which a favoured has a higher score than a deprived, ties half.

    Mann–Whitney U of the favoured: pairs in which a favoured has the higher score, ties half.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> mann_whitney_u_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8])))
    3.5
    """
    return _ranks(rows)[0]


def mann_whitney_p_of_scores(rows: Rows) -> float:
    """Of mann-whitney-u-of-scores, two-sided: normal, corrected for ties and continuity."""
    return _ranks(rows)[1]


def auc_between_groups_of_scores(rows: Rows) -> float:
    """P(a favoured scores above a deprived), ties half: U / (n(g) n(ḡ)) of mann-whitney-u-of-scores.

    P(a favoured scores above a deprived), ties half: U / (n(g) n(ḡ)). Weights are honoured.

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
    distinct_scores, score_index = np.unique(rows.score, return_inverse=True)
    deprived, favoured = (
        np.bincount(score_index, rows.mass * (rows.s == group), len(distinct_scores)) for group in (0, 1)
    )
    below = np.cumsum(deprived) - deprived / 2
    return float(divide((favoured * below).sum(), favoured.sum() * deprived.sum()))


def _slope(rows: Rows, outcome: Floats) -> tuple[float, float]:
    """Return the t of the slope and its degrees of freedom."""
    _refuse_weights(rows)
    if not len(rows.s):
        return math.nan, math.nan
    covariates = np.column_stack([np.ones(len(rows.s)), rows.covariates()])
    columns = np.column_stack([rows.s, standardise(outcome)]).astype(np.float64)
    coefficients, _, rank, _ = np.linalg.lstsq(covariates, columns, rcond=None)
    s, target = (columns - covariates @ coefficients).T
    degrees = len(rows.s) - int(rank) - 1
    # The target has variance 1, or 0 when it is constant.
    if degrees <= 0 or s @ s <= SPANNED * len(s) or target @ target <= EXACT * len(s):
        return math.nan, math.nan
    slope = (s @ target) / (s @ s)
    residual = target - slope * s
    if residual @ residual <= EXACT * (target @ target):
        return math.copysign(math.inf, slope), degrees
    return float(slope / math.sqrt(residual @ residual / degrees / (s @ s))), degrees


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
