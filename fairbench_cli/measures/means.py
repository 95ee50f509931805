"""Differences and ratios of two groups' means, and what a margin makes of them; vectorised over leading axes.

Welch's interval is too narrow where a small group has a skewed outcome, as pay has; Hall's (1992), which
transforms t by the skewness of the difference, is too narrow where Welch's is right. The wider of both, to
each side, holds what it says in both cases, and p is the larger of both. Neither knows of the values that a
small group has missed: where rows are at hand, tests by their splits (`splits`) are the third. Rows may have
weights (degrees of freedom by Kish's effective rows) or come in clusters (`clusters`: CR2 and Satterthwaite;
then there are no splits). scipy.special is imported inside, as it is slow to load.

A margin that is itself estimated, in per cent of the reference's mean or in its standard deviations, is
tested by a contrast: comparing a limit with an estimate would pass too often, however many rows there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures import clusters
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.moments import Moments
from fairbench_cli.measures.significance import normal_quantiles
from fairbench_cli.measures.splits import SplitTests, least_tail

Bools = NDArray[np.bool_]
Ways = Sequence[clusters.ClusterSums]

NO_SKEWNESS = 1e-6  # below it Hall's transformation is its limit
FEWEST_ROWS = 10  # a mean of fewer decides nothing
FEWEST_UNSPLIT_ROWS = 30  # nor one of fewer whose rows are not split: of clusters, of changes
MANY_ROWS = 100  # of fewer, a skewed mean is said to be one
SKEWED = 0.2
ENOUGH_ROWS = ""
FEW_ROWS = "few rows"
FEW_SKEWED_ROWS = "few rows, skewed"
MOST_ROWS = 1e12
HALVINGS = 60
SIGNS = (-1.0, 1.0)  # of the reference's mean and of the group's in their difference


class Contrast(NamedTuple):
    """An estimate that adds means with signs, its variance, degrees of freedom and third central moment."""

    value: Floats
    variance: Floats
    degrees: Floats
    third: Floats


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """An estimate that is 0 under the hypothesis, its limits and tests; arrays of one shape.

    Parameters
    ----------
    value, error, degrees, t : array
        The estimate, its standard error, degrees of freedom, and their quotient.
    p_welch, welch_low, welch_high : array
        By Student's t. NaN without a variance.
    skewness : array
        Of the estimate; NaN where a group has fewer than three rows.
    p_hall, hall_low, hall_high : array
        By Hall's transformation; Welch's where there is no skewness.
    p_splits, splits_low, splits_high : array
        By splits of the rows; NaN without them (`add_split_tests`).
    """

    value: Floats
    error: Floats
    degrees: Floats
    t: Floats
    p_welch: Floats
    welch_low: Floats
    welch_high: Floats
    skewness: Floats
    p_hall: Floats
    hall_low: Floats
    hall_high: Floats
    p_splits: Floats
    splits_low: Floats
    splits_high: Floats

    @property
    def low(self) -> Floats:
        """The lower limit, the smallest."""
        return np.asarray(np.fmin(np.minimum(self.welch_low, self.hall_low), self.splits_low))

    @property
    def high(self) -> Floats:
        """The upper limit, the largest."""
        return np.asarray(np.fmax(np.maximum(self.welch_high, self.hall_high), self.splits_high))

    @property
    def p(self) -> Floats:
        """Two-sided p of "it is 0", the largest."""
        return np.asarray(np.fmax(np.maximum(self.p_welch, self.p_hall), self.p_splits))


@dataclass(frozen=True, eq=False)
class MeanComparison:
    """Two means compared; arrays of one shape.

    Parameters
    ----------
    difference : MeanInterval
        The group's mean less its reference's.
    ratio, ratio_low, ratio_high : array
        Of the means, limits on the log scale, or by splits; NaN unless both means are above 0.
    hedges_g : array
        The difference in pooled standard deviations, corrected for few rows.
    bonett_d, bonett_low, bonett_high : array
        The difference in the mean of both standard deviations, with limits that need no equal ones.
    """

    difference: MeanInterval
    ratio: Floats
    ratio_low: Floats
    ratio_high: Floats
    hedges_g: Floats
    bonett_d: Floats
    bonett_low: Floats
    bonett_high: Floats


def mean_interval(moments: Moments, confidence: ArrayLike = 0.95, ways: Ways = ()) -> MeanInterval:
    """Return the mean of each group with its interval, and the test that it is 0.

    For the same people under two models: moments of the changes, x₂ − x₁.

    Parameters
    ----------
    moments : Moments, shape (...)
    confidence : float, or array of one for each
    ways : sequence of ClusterSums, shape (..., 1, clusters)
        By the clusters of one column; or by those of one, of another, and of both together.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> change = mean_interval(sum_powers_along([0.2, 0.1, -0.1, 0.4, 0.0, 0.3]))
    >>> [round(float(limit), 3) for limit in (change.value, change.low, change.high, change.p)]
    [0.15, -0.046, 0.346, 0.107]
    """
    if ways:
        variance, degrees, third = _clustered_parts(ways, np.ones((*np.shape(moments.rows), 1)))
    else:
        variance = moments.variance_of_mean
        degrees = moments.effective_rows - 1
        third = moments.third_of_mean
    return wider_interval(Contrast(moments.mean, variance, degrees, third), confidence)


def compare_means(
    group: Moments, reference: Moments, confidence: ArrayLike = 0.95, ways: Ways = ()
) -> MeanComparison:
    """Compare two groups' means.

    Parameters
    ----------
    group, reference : Moments, shape (...)
        Around one shift.
    confidence : float, or array of one for each
    ways : sequence of ClusterSums, shape (..., 2, clusters)
        Of rows in clusters, the reference first (`moments.cluster_means`): by the clusters of one column; or
        by those of one, of another, and of both together.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers
    >>> moments = sum_powers([1.0, 2, 2, 3, 5, 4, 5, 6, 6, 8, 9, 9], [0] * 5 + [1] * 7, 2, shift=5.0)
    >>> comparison = compare_means(moments[0], moments[1])
    >>> difference = comparison.difference
    >>> [round(float(number), 3) for number in (difference.value, difference.low, difference.high)]
    [-4.114, -6.366, -1.516]
    >>> round(float(difference.p), 3), round(float(comparison.ratio), 3), round(float(comparison.hedges_g), 3)
    (0.008, 0.387, -2.102)
    """
    difference = _contrast(group, reference, SIGNS, ways)
    # The ratio, on the log scale: d log m = dm / m.
    is_positive = (group.mean > 0) & (reference.mean > 0)
    ratio = divide(group.mean, reference.mean)
    group_scale = divide(1.0, np.where(is_positive, group.mean, np.nan))
    reference_scale = divide(1.0, np.where(is_positive, reference.mean, np.nan))
    relative = _contrast(group, reference, (-reference_scale, group_scale), ways)
    reach = clusters.t_quantile(relative.degrees, confidence) * np.sqrt(relative.variance)
    reach = np.where(relative.variance > 0, reach, np.nan)
    with np.errstate(over="ignore"):  # a mean that is as good as 0
        factor = np.exp(reach)
    d, d_error = _bonett(group, reference)
    d_reach = normal_quantiles(confidence) * d_error
    return MeanComparison(
        difference=wider_interval(difference, confidence),
        ratio=ratio,
        ratio_low=divide(ratio, factor),
        ratio_high=ratio * factor,
        hedges_g=hedges_g(group, reference),
        bonett_d=d,
        bonett_low=d - d_reach,
        bonett_high=d + d_reach,
    )


def combine_means(
    sides: Moments, signs: ArrayLike, confidence: ArrayLike = 0.95, ways: Ways = ()
) -> MeanInterval:
    """Return a sum of several groups' means times signs, with its interval and the test that it is 0.

    Parameters
    ----------
    sides : Moments, shape (..., sides)
        Each of two rows or more.
    signs : array, shape (..., sides)
        They do not depend on the outcome.
    confidence : float, or array of one for each
    ways : sequence of ClusterSums, shape (..., sides, clusters)
        As in `compare_means`.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers
    >>> moments = sum_powers([1.0, 2, 3, 5, 6, 7], [0] * 3 + [1] * 3, 2)
    >>> difference = combine_means(moments, [-1.0, 1.0])
    >>> round(float(difference.value), 3), round(float(difference.degrees), 3)
    (4.0, 4.0)
    """
    weights = np.broadcast_to(np.asarray(signs, dtype=np.float64), np.shape(sides.rows))
    distance = (weights * (sides.mean - sides.shift)).sum(-1)
    value = distance + sides.shift * weights.sum(-1)
    if ways:
        return wider_interval(Contrast(value, *_clustered_parts(ways, weights)), confidence)
    variances = weights**2 * sides.variance_of_mean
    degrees = divide(variances.sum(-1) ** 2, divide(variances**2, sides.effective_rows - 1).sum(-1))
    third = np.nan_to_num(weights**3 * sides.third_of_mean).sum(-1)
    return wider_interval(Contrast(value, variances.sum(-1), degrees, third), confidence)


def wider_interval(contrast: Contrast, confidence: ArrayLike = 0.95) -> MeanInterval:
    """Return the limits and tests of an estimate by Student's t and by Hall's transformation of it.

    Without a variance above 0 there is no test: limits and p are NaN, t is infinite or NaN.
    """
    value, variance, degrees, third = contrast
    error = np.sqrt(variance)
    has_spread = error > 0
    degrees = np.where(has_spread, degrees, np.nan)
    t = divide(value, error)
    t_if_tested = np.where(has_spread, t, np.nan)
    skewness = np.where(has_spread, divide(third, error**3), np.nan)
    gamma = np.nan_to_num(skewness)
    quantile = clusters.t_quantile(degrees, confidence)
    unknown = np.full(np.shape(value), np.nan)
    skewed_t = t_if_tested + gamma * t_if_tested**2 / 3 + gamma**2 * t_if_tested**3 / 27 + gamma / 6
    return MeanInterval(
        value=np.asarray(value),
        error=error,
        degrees=degrees,
        t=t,
        p_welch=clusters.t_test_p(t_if_tested, degrees),
        welch_low=value - quantile * error,
        welch_high=value + quantile * error,
        skewness=skewness,
        p_hall=clusters.t_test_p(skewed_t, degrees),
        hall_low=value - _hall(quantile, gamma) * error,
        hall_high=value - _hall(-quantile, gamma) * error,
        p_splits=unknown,
        splits_low=unknown,
        splits_high=unknown,
    )


def _hall(quantile: Floats, gamma: Floats) -> Floats:
    """Return the quantile of a t of an estimate with skewness gamma (Hall 1992)."""
    inner = quantile - gamma / 6
    is_skewed = np.abs(gamma) >= NO_SKEWNESS
    safe_gamma = np.where(is_skewed, gamma, 1.0)
    return np.where(is_skewed, 3 / safe_gamma * (np.cbrt(1 + safe_gamma * inner) - 1), inner)


def _contrast(
    group: Moments, reference: Moments, signs: tuple[ArrayLike, ArrayLike], ways: Ways = ()
) -> Contrast:
    """Return the sum of both means times their signs, the reference's first."""
    reference_sign, group_sign = (np.asarray(sign, dtype=np.float64) for sign in signs)
    # Both less the shift, so that a difference of large numbers keeps its digits.
    distance = (group.mean - group.shift) * group_sign + (reference.mean - reference.shift) * reference_sign
    value = distance + group.shift * (group_sign + reference_sign)
    if ways:
        shape = np.shape(value)
        sides = np.stack([np.broadcast_to(sign, shape) for sign in (reference_sign, group_sign)], axis=-1)
        return Contrast(value, *_clustered_parts(ways, sides))
    group_variance = group_sign**2 * group.variance_of_mean
    reference_variance = reference_sign**2 * reference.variance_of_mean
    return Contrast(
        value,
        group_variance + reference_variance,
        welch_degrees(group_variance, group.effective_rows, reference_variance, reference.effective_rows),
        group_sign**3 * group.third_of_mean + reference_sign**3 * reference.third_of_mean,
    )


def welch_degrees(
    group_variance: Floats, group_rows: Floats, reference_variance: Floats, reference_rows: Floats
) -> Floats:
    """Return Welch's and Satterthwaite's degrees of freedom of a sum of two variances.

    >>> welch_degrees(np.array(1.0), np.array(11.0), np.array(1.0), np.array(11.0)).tolist()
    20.0
    """
    total = (group_variance + reference_variance) ** 2
    return divide(
        total,
        divide(group_variance**2, group_rows - 1) + divide(reference_variance**2, reference_rows - 1),
    )


def _clustered_parts(ways: Ways, signs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return variance, degrees of freedom and third moment of the sides' means times their signs.

    NaN where a side has rows in fewer than two clusters.
    """
    variance, degrees = clusters.linear_variance(ways, signs)
    thirds = []
    variances = []
    has_clusters = np.ones(np.shape(variance), dtype=bool)
    for way in ways:
        has_rows = way.square > 0
        has_clusters &= (has_rows.sum(-1) >= clusters.LEAST_CLUSTERS).all(-1)
        influence = (signs[..., None] * np.where(has_rows, divide(way.residual, way.total), 0.0)).sum(-2)
        n_clusters = has_rows.any(-2).sum(-1)
        factor = n_clusters**2 / np.maximum((n_clusters - 1) * (n_clusters - 2), 1)
        thirds.append(factor * (influence**3).sum(-1))
        variances.append((influence**2).sum(-1))
    third = clusters.select_way(thirds, variances)
    return (
        np.where(has_clusters, variance, np.nan),
        np.where(has_clusters, degrees, np.nan),
        np.where(has_clusters, third, np.nan),
    )


def hedges_g(group: Moments, reference: Moments) -> Floats:
    """Return the difference of means in pooled standard deviations, corrected exactly for few rows."""
    group_degrees = group.effective_rows - 1
    reference_degrees = reference.effective_rows - 1
    degrees = group_degrees + reference_degrees
    pooled = divide(group_degrees * group.variance + reference_degrees * reference.variance, degrees)
    difference = (group.mean - group.shift) - (reference.mean - reference.shift)
    return hedges_factor(degrees) * divide(difference, np.sqrt(pooled))


def hedges_factor(degrees: ArrayLike) -> Floats:
    """Return Hedges' factor J that takes the bias from a standardised difference.

    >>> hedges_factor([10.0, 98.0]).round(4).tolist()
    [0.9227, 0.9923]
    """
    from scipy.special import gammaln

    nu = np.asarray(degrees, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_factor = gammaln(nu / 2) - gammaln((nu - 1) / 2) - np.log(nu / 2) / 2
        return np.asarray(np.where(nu > 1, np.exp(log_factor), np.nan))


def _bonett(group: Moments, reference: Moments) -> tuple[Floats, Floats]:
    """Return the difference in the mean of both standard deviations, and its standard error (Bonett 2008)."""
    group_degrees = group.effective_rows - 1
    reference_degrees = reference.effective_rows - 1
    mean_variance = (group.variance + reference.variance) / 2
    difference = (group.mean - group.shift) - (reference.mean - reference.shift)
    d = divide(difference, np.sqrt(mean_variance))
    of_squares = divide(group.variance**2, group_degrees) + divide(reference.variance**2, reference_degrees)
    of_means = divide(group.variance, group_degrees) + divide(reference.variance, reference_degrees)
    with np.errstate(invalid="ignore"):  # without spread d may be infinite
        variance = d**2 * divide(of_squares, 8 * mean_variance**2) + divide(of_means, mean_variance)
    return d, np.sqrt(variance)


def row_shortage(
    group: Moments, reference: Moments, skewness: ArrayLike, fewest: int = FEWEST_ROWS
) -> NDArray[np.str_]:
    """Return why the means of two groups say little, if so: `FEW_ROWS`, `FEW_SKEWED_ROWS` or `ENOUGH_ROWS`.

    Parameters
    ----------
    group, reference : Moments, shape (...)
    skewness : array
        Of the difference of the means.
    fewest : int
        Rows that are enough.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import moments_from_sums
    >>> one_group = moments_from_sums([9, 50, 50, 400], [[9, 50, 50, 400]] * 5)
    >>> row_shortage(one_group, one_group, [0.0, 0.1, -0.3, 0.3]).tolist()
    ['few rows', '', 'few rows, skewed', '']
    """
    rows = np.minimum(group.effective_rows, reference.effective_rows)
    is_skewed = (rows < MANY_ROWS) & (np.abs(skewness) >= SKEWED)
    shortage: NDArray[np.str_] = np.where(
        rows < fewest, FEW_ROWS, np.where(is_skewed, FEW_SKEWED_ROWS, ENOUGH_ROWS)
    )
    return shortage


# -- margins


@dataclass(frozen=True, eq=False)
class MarginJudgement:
    """What a margin makes of two means; arrays of one shape.

    Parameters
    ----------
    units, share, deviations : array
        The margin in units of the outcome, as a share of the reference's mean (NaN unless that is above 0),
        and in standard deviations of the reference.
    below, above : MeanInterval
        Of the difference plus the margin, and of the difference less the margin.
    is_within : bool array
        Whether the difference is shown to be within the margin: it passes.
    is_outside : bool array
        Whether it is shown to be beyond the margin.
    is_beyond : bool array
        Whether the measured difference is: it fails if equal means are rejected.
    """

    units: Floats
    share: Floats
    deviations: Floats
    below: MeanInterval
    above: MeanInterval
    is_within: Bools
    is_outside: Bools
    is_beyond: Bools


def judge_margin(
    group: Moments,
    reference: Moments,
    margin: Margin,
    confidence: ArrayLike = 0.95,
    ways: Ways = (),
) -> MarginJudgement:
    """Judge a difference of means by a margin, with the parameters of `compare_means`.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers
    >>> values = [*range(100), *range(1, 101), *range(0, 200, 2)]
    >>> moments = sum_powers(values, [0] * 100 + [1] * 100 + [2] * 100, 3, shift=50.0)
    >>> judgement = judge_margin(moments[:2], moments[2], Margin(20))
    >>> judgement.is_beyond.tolist(), judgement.is_within.tolist(), judgement.is_outside.tolist()
    ([True, True], [False, False], [True, True])
    >>> judge_margin(moments[0], moments[1], Margin(0.5, "sd")).is_within.tolist()
    True
    """
    plus, minus = _margin_contrasts(group, reference, margin, ways)
    below = wider_interval(plus, confidence)
    above = wider_interval(minus, confidence)
    units = np.broadcast_to(margin.in_units(reference), np.shape(plus.value))
    return MarginJudgement(
        units=units,
        share=divide(units, np.where(reference.mean > 0, reference.mean, np.nan)),
        deviations=divide(units, reference.deviation),
        below=below,
        above=above,
        is_within=(below.low > 0) & (above.high < 0),
        is_outside=(above.low > 0) | (below.high < 0),
        is_beyond=(minus.value > 0) | (plus.value < 0),
    )


def _margin_contrasts(
    group: Moments, reference: Moments, margin: Margin, ways: Ways
) -> tuple[Contrast, Contrast]:
    """Return the difference plus the margin, and less the margin; NaN where there is no margin."""
    units = margin.in_units(reference)
    if margin.unit == "percent":
        factor = margin.value / 100 * np.sign(reference.mean)  # below 0 more of it is less
        missing = np.where(np.isnan(units), np.nan, 0.0)
        plus = _contrast(group, reference, (missing - (1 - factor), 1.0), ways)
        minus = _contrast(group, reference, (missing - (1 + factor), 1.0), ways)
        return plus, minus
    difference = _contrast(group, reference, SIGNS, ways)
    if margin.unit == "sd":
        plus = _add_deviations(difference, group, reference, margin.value)
        return plus, _add_deviations(difference, group, reference, -margin.value)
    plus = difference._replace(value=difference.value + units)
    return plus, difference._replace(value=difference.value - units)


def _add_deviations(difference: Contrast, group: Moments, reference: Moments, size: float) -> Contrast:
    """Return a difference of means plus so many standard deviations of the reference.

    A row of the reference with y = x − mean adds −(y − size/(2s) (y² − s²)).
    """
    deviation = reference.deviation
    second = divide(reference.central_sum(1, 2), reference.weight)
    third = divide(reference.central_sum(1, 3), reference.weight)
    change = np.where(deviation > 0, divide(size, deviation), np.nan)
    extra = change**2 / 4 * (reference.fourth - second**2) - change * third
    extra = divide(extra, reference.effective_rows - 1)
    reference_variance = np.maximum(reference.variance_of_mean + extra, 0.0)
    # The square of y makes the estimate skewed; of its third moment the term that weighs most.
    skew = 3 * change / 2 * (reference.fourth - second**2) / reference.effective_rows**2
    plain = group.variance_of_mean + reference.variance_of_mean
    with_deviation = group.variance_of_mean + reference_variance
    # Of rows in clusters the standard deviation is as much less certain as the means are.
    less_certain = np.where(plain > 0, divide(with_deviation, plain), np.nan)
    return Contrast(
        difference.value + size * deviation,
        difference.variance * less_certain,
        difference.degrees,
        difference.third + skew,
    )


def add_split_limits(
    difference: MeanInterval, p: Floats, low: Floats, high: Floats, confidence: float = 0.95
) -> MeanInterval:
    """Return a difference of means with p and limits by splits, NaN where there are none."""
    with_p = replace(difference, p_splits=p)
    # So that p and limits agree, where rounding or a wave of p between two limits would part them.
    is_open = with_p.p >= 1 - confidence
    return replace(
        with_p,
        splits_low=np.where(is_open, np.minimum(low, 0.0), low),
        splits_high=np.where(is_open, np.maximum(high, 0.0), high),
    )


def add_split_tests(
    comparison: MeanComparison,
    judgement: MarginJudgement,
    tests: Sequence[SplitTests],
    confidence: float = 0.95,
) -> tuple[MeanComparison, MarginJudgement]:
    """Return a comparison and a judgement, shape (groups,), with what splits of the rows say.

    The larger p, the wider limits, and a margin is kept to, or left, where all tests say so. The limits of
    the ratio are those of the splits, which agree with the margins. Groups without splits stay as they are.
    """
    p = np.array([test.p for test in tests])
    low, high = np.array([test.limits for test in tests]).T
    ratio_low, ratio_high = np.array([test.ratio_limits for test in tests]).T
    is_split = ~np.isnan(p)
    difference = add_split_limits(comparison.difference, p, low, high, confidence)
    is_open = is_split & (difference.p >= 1 - confidence)
    ratio_low = np.where(is_open, np.minimum(ratio_low, 1.0), ratio_low)
    ratio_high = np.where(is_open, np.maximum(ratio_high, 1.0), ratio_high)
    tail = least_tail(confidence)
    is_lower, is_inside_low = tail > np.array([test.at_low for test in tests]).T
    is_inside_high, is_higher = tail > np.array([test.at_high for test in tests]).T
    is_inside = is_inside_low & is_inside_high
    below = (judgement.below.high < 0) & (~is_split | is_lower)
    above = (judgement.above.low > 0) & (~is_split | is_higher)
    return (
        replace(
            comparison,
            difference=difference,
            ratio_low=np.where(is_split, ratio_low, comparison.ratio_low),
            ratio_high=np.where(is_split, ratio_high, comparison.ratio_high),
        ),
        replace(judgement, is_within=judgement.is_within & (~is_split | is_inside), is_outside=below | above),
    )


def rows_to_decide(
    group: Moments,
    reference: Moments,
    margin: Margin,
    confidence: float = 0.95,
    power: float = 0.8,
    ways: Ways = (),
) -> Floats:
    """Return how many rows of both groups together would decide with a probability of `power`.

    If means, variances and the groups' shares of the rows are as measured: beyond the margin until it fails,
    within it until it passes. By the normal distribution, and at least `FEWEST_ROWS` of the smaller group;
    of rows in clusters `FEWEST_UNSPLIT_ROWS`.
    NaN where no number of rows would do, or there is no variance.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers
    >>> moments = sum_powers([1.0, 2, 3, 4, 5, 3, 4, 5, 6, 7], [0] * 5 + [1] * 5, 2, shift=4.0)
    >>> rows_to_decide(moments[0], moments[1], Margin(1.5)).round().tolist()
    28.0
    """
    from scipy.special import ndtr, ndtri

    plus, minus = _margin_contrasts(group, reference, margin, ways)
    difference = _contrast(group, reference, SIGNS, ways)
    n = group.rows + reference.rows
    shares = divide(np.minimum(group.rows, reference.rows), n)
    z = normal_quantiles(confidence)
    z_power = float(ndtri(power))
    # 1. Beyond: the estimate is beyond the margin, and equal means are rejected.
    nearest = np.where(minus.value > 0, minus.value, np.where(plus.value < 0, plus.value, np.nan))
    edge_variance = np.where(minus.value > 0, minus.variance, plus.variance) * n
    to_leave = divide(z_power**2 * edge_variance, nearest**2)
    to_reject = divide((z + z_power) ** 2 * difference.variance * n, difference.value**2)
    to_fail = np.maximum(to_leave, to_reject)
    # 2. Within: both limits are; more rows make it likelier, so the number is found by halving.
    is_inside = (plus.value > 0) & (minus.value < 0)
    low = np.zeros(np.shape(n))
    high = np.full(np.shape(n), np.log(MOST_ROWS))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rows = np.exp(middle)
        below = ndtr(divide(plus.value, np.sqrt(divide(plus.variance * n, rows))) - z)
        above = ndtr(divide(-minus.value, np.sqrt(divide(minus.variance * n, rows))) - z)
        is_enough = below + above - 1 >= power
        high = np.where(is_enough, middle, high)
        low = np.where(is_enough, low, middle)
    to_pass = np.where(high < np.log(MOST_ROWS), np.exp(high), np.nan)
    rows_wanted = np.where(is_inside, to_pass, to_fail)
    rows_wanted = np.where((difference.variance > 0) & (rows_wanted < MOST_ROWS), rows_wanted, np.nan)
    fewest = FEWEST_ROWS
    if ways:
        fewest = FEWEST_UNSPLIT_ROWS
    return np.asarray(np.maximum(rows_wanted, divide(fewest, shares)))
