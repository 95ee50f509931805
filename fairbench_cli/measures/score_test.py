"""Closed forms for proportions: intervals of a rate, a difference and a ratio, and the ratio's test.

The difference (Newcombe 1998, method 10) recovers its variance from the two Wilson intervals, so that neither
has width zero at 0 or n.

The test of a ratio of rates, R = (above/below) / (ref_above/ref_below), is the score test of Miettinen &
Nurminen (1985): the difference above/below − θ·ref_above/ref_below over its standard error, the rates in it
estimated as if R were θ. At θ = 1 it is the "N − 1" chi-squared test of equal rates. The ratios that it does
not reject are the interval, so that the two never contradict each other. Counts may be fractions: what
weighted rows are worth. Only numpy is needed.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, as_floats, divide
from fairbench_cli.measures.significance import fisher, normal_p, normal_quantiles

# Of bisection, on a logarithm within ±EDGE, or on standard errors up to it.
STEPS = 60
EDGE = 40.0

Bools = NDArray[np.bool_]


def wilson_interval(
    above: ArrayLike, below: ArrayLike, confidence: ArrayLike = 0.95
) -> tuple[Floats, Floats]:
    """Interval of the rate above / below (Wilson 1927); NaN for 0/0.

    >>> [round(float(limit), 4) for limit in wilson_interval(0, 20)]
    [0.0, 0.1611]
    """
    return _wilson_limits(above, below, normal_quantiles(confidence))


def _wilson_limits(above: ArrayLike, below: ArrayLike, z: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's limits that are `z` standard errors away."""
    x = np.asarray(above, dtype=np.float64)
    n = np.asarray(below, dtype=np.float64)
    z2 = z**2
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.sqrt(z2 * (x * (n - x) / n + z2 / 4)) / (n + z2)
        middle = (x + z2 / 2) / (n + z2)
    # Exactly 0 and 1 at the ends, where rounding would leave 1e-17.
    low = np.where(x <= 0, np.where(n > 0, 0.0, np.nan), middle - half)
    high = np.where(x >= n, np.where(n > 0, 1.0, np.nan), middle + half)
    return low, high


def difference_interval(
    above: ArrayLike,
    below: ArrayLike,
    ref_above: ArrayLike,
    ref_below: ArrayLike,
    confidence: ArrayLike = 0.95,
    correlation: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Interval of above/below − ref_above/ref_below (Newcombe 1998); NaN when a rate is 0/0.

    `correlation` is that of the two estimates: 0 for separate groups, negative for two shares of one list.

    >>> [round(float(limit), 4) for limit in difference_interval(56, 70, 48, 80)]
    [0.0524, 0.3339]
    """
    z = normal_quantiles(confidence)
    return _difference_limits(above, below, ref_above, ref_below, z, np.asarray(correlation))


def difference_outside_p(
    above: ArrayLike,
    below: ArrayLike,
    ref_above: ArrayLike,
    ref_below: ArrayLike,
    margin: ArrayLike,
    correlation: ArrayLike = 0.0,
) -> Floats:
    """Return two-sided p-values of "the difference is no larger than `margin`, either way".

    They are below 1 − confidence where the whole interval of that confidence is beyond the margin. NaN for a
    denominator of 0.

    >>> difference_outside_p([45, 45], [150, 1500], [90, 900], [200, 2000], 0.1).round(4).tolist()
    [0.3364, 0.0]
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    limit, rho = np.broadcast_arrays(*as_floats(margin, correlation))
    difference = divide(x, n) - divide(y, m)
    is_below = difference < 0
    # The limits move away from the difference as z grows: halve until the nearer one is at the margin.
    low = np.zeros(difference.shape)
    high = np.full(difference.shape, EDGE)
    for _ in range(STEPS):
        middle = (low + high) / 2
        lower, upper = _difference_limits(x, n, y, m, middle, rho)
        is_beyond = np.where(is_below, upper < -limit, lower > limit)
        low = np.where(is_beyond, middle, low)
        high = np.where(is_beyond, high, middle)
    outside = np.where(np.abs(difference) > limit, normal_p(low), 1.0)
    return np.where(np.isnan(difference), np.nan, outside)


def _difference_limits(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike, z: Floats, rho: Floats
) -> tuple[Floats, Floats]:
    """Return Newcombe's limits of a difference that are `z` standard errors away."""
    p_low, p_high = _wilson_limits(above, below, z)
    q_low, q_high = _wilson_limits(ref_above, ref_below, z)
    p = divide(above, below)
    q = divide(ref_above, ref_below)
    down = _hypotenuse(p - p_low, q_high - q, rho)
    up = _hypotenuse(p_high - p, q - q_low, rho)
    return p - q - down, p - q + up


def _hypotenuse(first_side: Floats, second_side: Floats, rho: Floats) -> Floats:
    """Length of one − other when they are correlated."""
    return np.sqrt(np.maximum(first_side**2 - 2 * rho * first_side * second_side + second_side**2, 0))


FEW_EXPECTED = 5  # where one cell of the table expects fewer rows, Fisher's test is taken
CLOSE = 1e-6  # a discriminant smaller than this part of what it is the difference of has lost digits


def score_z(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike, ratio: ArrayLike
) -> Floats:
    """Return the score statistic of "the ratio of the two rates is `ratio`"; it falls as `ratio` grows.

    Parameters
    ----------
    above, below, ref_above, ref_below : arrays of one shape
        Numerators and denominators.
    ratio : array
        In (0, ∞).

    Returns
    -------
    array
        Standard normal where the ratio is right. NaN for a denominator of 0.

    Examples
    --------
    >>> [round(float(score_z(12, 40, 20, 50, ratio)), 6) for ratio in (1, 0.8, 1.25)]
    [-0.979312, -0.216727, -1.763931]
    """
    counts_and_ratio = (above, below, ref_above, ref_below, ratio)
    x, n, y, m, theta = (np.asarray(numbers, dtype=np.float64) for numbers in counts_and_ratio)
    total = n + m
    hits = x + y
    # The reference's rate as if the ratio were θ, by maximum likelihood: the smaller root of a quadratic,
    # written so that nothing cancels.
    a = total * theta
    b = n * theta + x + m + y * theta
    discriminant = b * b - 4 * a * hits
    close = discriminant < CLOSE * b * b
    if close.any():
        missed = n - x
        ref_missed = m - y
        beyond = theta - 1
        slope = (n + y) * beyond + missed - ref_missed
        discriminant = np.where(close, slope**2 + 4 * theta * missed * ref_missed, discriminant)
    root = np.sqrt(np.maximum(discriminant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        q = 2 * hits / (b + root)
        p = np.clip(theta * q, 0.0, 1.0)
        q = np.clip(q, 0.0, 1.0)
        p_left = 1 - p
        q_left = 1 - q
        away = x / n - theta * y / m
        if close.any():  # the larger roots of two other quadratics
            p_left = np.where(
                close,
                _larger_root(total, missed + ref_missed - (n + y) * beyond, -missed * beyond, root),
                p_left,
            )
            q_left = np.where(
                close,
                _larger_root(a, missed + ref_missed * theta + total * beyond, ref_missed * beyond, root),
                q_left,
            )
            away = np.where(close, (x * m - y * n) / (n * m) - beyond * y / m, away)
        variance = (p * p_left / n + theta**2 * q * q_left / m) * total / (total - 1)
        z = away / np.sqrt(variance)
    none = ~(variance > 0) & (n > 0) & (m > 0)
    return np.where(none, np.where(away == 0, 0.0, np.copysign(np.inf, away)), z)


def _larger_root(a: Floats, b: Floats, c: Floats, root: Floats) -> Floats:
    """Return the larger root of ax² - bx + c, in [0, 1]; `root` is that of its discriminant."""
    return np.clip(np.where(b >= 0, (b + root) / (2 * a), 2 * c / (b - root)), 0.0, 1.0)


def ratio_interval(
    above: ArrayLike,
    below: ArrayLike,
    ref_above: ArrayLike,
    ref_below: ArrayLike,
    confidence: ArrayLike = 0.95,
) -> tuple[Floats, Floats]:
    """Return the interval of the ratio of two rates (Miettinen & Nurminen 1985).

    From 0 where the rate is 0, to infinity where the reference's is; NaN for a denominator of 0.

    >>> [round(float(limit), 6) for limit in ratio_interval(12, 40, 20, 50)]
    [0.412734, 1.320362]
    >>> [round(float(limit), 6) for limit in ratio_interval(20, 20, 30, 30)]
    [0.836125, 1.130662]
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    z = normal_quantiles(confidence)

    level = np.stack([z * np.ones(x.shape), -z * np.ones(x.shape)])
    low_log = np.full(level.shape, -EDGE)
    high_log = np.full(level.shape, EDGE)
    for _ in range(STEPS):
        middle = (low_log + high_log) / 2
        beyond = score_z(x, n, y, m, np.exp(middle)) > level
        low_log = np.where(beyond, middle, low_log)
        high_log = np.where(beyond, high_log, middle)
    root = np.exp((low_log + high_log) / 2)
    undefined = (n <= 0) | (m <= 0)
    low = np.where(x <= 0, 0.0, root[0])
    high = np.where(y <= 0, np.inf, root[1])
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def equal_rates(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike
) -> tuple[Floats, Bools]:
    """Return two-sided p-values of "the rates are equal", and which of them are of Fisher's exact test.

    Fisher's test is taken for whole numbers of which one cell expects fewer than `FEW_EXPECTED`; else the
    score test. NaN for a denominator of 0.

    >>> p, exact = equal_rates([12, 1], [40, 15], [20, 14], [50, 60])
    >>> p.round(6).tolist(), exact.tolist()
    ([0.327426, 0.277629], [False, True])
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    p = normal_p(score_z(x, n, y, m, 1.0))
    is_whole = (x == np.rint(x)) & (n == np.rint(n)) & (y == np.rint(y)) & (m == np.rint(m))
    exact = is_whole & (n > 0) & (m > 0) & (smallest_expected_count(x, n, y, m) < FEW_EXPECTED)
    for index in map(tuple, np.argwhere(exact)):
        p[index] = fisher(*(round(float(column[index])) for column in (x, n, y, m)))
    return p, exact


def smallest_expected_count(above: Floats, below: Floats, ref_above: Floats, ref_below: Floats) -> Floats:
    """Return the count that the emptiest cell of the 2 × 2 table expects at equal rates; NaN without rows.

    >>> float(smallest_expected_count(*map(np.asarray, (3.0, 20.0, 9.0, 25.0))).round(3))
    5.333
    """
    hits = above + ref_above
    total = below + ref_below
    return divide(np.minimum(hits, total - hits) * np.minimum(below, ref_below), total)


def outside_band_p(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike, tau: ArrayLike
) -> Floats:
    """Return two-sided p-values of "the ratio lies from tau to 1/tau"; NaN for a denominator of 0.

    >>> outside_band_p([45, 45], [150, 1500], [90, 900], [200, 2000], 0.8).round(4).tolist()
    [0.2092, 0.0]
    """
    low = score_z(above, below, ref_above, ref_below, tau)
    high = score_z(above, below, ref_above, ref_below, divide(1.0, tau))
    # Below the band z(τ) is far below 0, above it z(1/τ) is far above 0.
    return normal_p(np.maximum(np.maximum(-low, high), 0.0))
