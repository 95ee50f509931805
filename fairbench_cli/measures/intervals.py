"""Closed forms for proportions: intervals of a rate, a difference and a ratio, tests of two rates, Holm.

All intervals build on Wilson's: the difference (Newcombe 1998, method 10) and the ratio (Donner & Zou 2012)
recover their variances from the two Wilson intervals ("MOVER"), so none has width zero at 0 or n.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats

FEW_EXPECTED = 5  # below this expected count, Fisher's test instead of z


def wilson(above: ArrayLike, below: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Interval of the rate above / below (Wilson 1927); NaN for 0/0.

    >>> [round(float(limit), 4) for limit in wilson(0, 20)]
    [0.0, 0.1611]
    """
    x, n = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
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
    confidence: float = 0.95,
    correlation: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Interval of above/below − ref_above/ref_below (Newcombe 1998); NaN when a rate is 0/0.

    `correlation` is that of the two estimates: 0 for separate groups, negative for two shares of one list.

    >>> [round(float(limit), 4) for limit in difference_interval(56, 70, 48, 80)]
    [0.0524, 0.3339]
    """
    p, p_low, p_high = _estimate(above, below, confidence)
    q, q_low, q_high = _estimate(ref_above, ref_below, confidence)
    rho = np.asarray(correlation)
    down = _hypotenuse(p - p_low, q_high - q, rho)
    up = _hypotenuse(p_high - p, q - q_low, rho)
    return p - q - down, p - q + up


def ratio_interval(
    above: ArrayLike,
    below: ArrayLike,
    ref_above: ArrayLike,
    ref_below: ArrayLike,
    confidence: float = 0.95,
    correlation: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Interval of (above/below) / (ref_above/ref_below) (Donner & Zou 2012).

    Infinite above when the reference rate is 0; NaN when a rate is 0/0, or both are 0.

    >>> [round(float(limit), 3) for limit in ratio_interval(24, 36, 29, 60)]
    [0.961, 1.937]
    """
    p, p_low, p_high = _estimate(above, below, confidence)
    q, q_low, q_high = _estimate(ref_above, ref_below, confidence)
    rho = np.asarray(correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The lower root, written with the sum so that nothing cancels.
        middle = p * q - rho * (p - p_low) * (q_high - q)
        top, bottom = p_low * (2 * p - p_low), q_high * (2 * q - q_high)
        low = top / (middle + np.sqrt(np.maximum(middle**2 - top * bottom, 0)))
        middle = p * q - rho * (p_high - p) * (q - q_low)
        top, bottom = p_high * (2 * p - p_high), q_low * (2 * q - q_low)
        high = (middle + np.sqrt(np.maximum(middle**2 - top * bottom, 0))) / bottom
    undefined = np.isnan(p) | np.isnan(q) | ((p == 0) & (q == 0))
    low = np.where(p == 0, 0.0, low)
    high = np.where(q == 0, np.inf, high)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def _estimate(above: ArrayLike, below: ArrayLike, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return a rate and its Wilson limits."""
    return (_rate(above, below), *wilson(above, below, confidence))


def two_proportions(above: float, below: float, ref_above: float, ref_below: float) -> float:
    """Test two rates for equality: the two-sided p-value.

    By z with pooled variance, or by Fisher's test when a cell expects fewer than 5; NaN for
    a denominator of 0.

    >>> f"{two_proportions(805, 1795, 349, 1488):.1e}"
    '2.1e-37'
    """
    if not (below > 0 and ref_below > 0):
        return math.nan
    total, hits = below + ref_below, above + ref_above
    if min(hits, total - hits) * min(below, ref_below) < FEW_EXPECTED * total:
        # Weighted counts are worth fractions of rows; Fisher's test takes whole ones.
        return fisher(round(above), round(below), round(ref_above), round(ref_below))
    pooled = hits / total
    z = (above / below - ref_above / ref_below) / math.sqrt(
        pooled * (1 - pooled) * (1 / below + 1 / ref_below)
    )
    return math.erfc(abs(z) / math.sqrt(2))


def fisher(above: float, below: float, ref_above: float, ref_below: float) -> float:
    """Fisher's exact test, two-sided: the probability of all tables no likelier than this one.

    >>> round(fisher(1, 10, 8, 10), 6)
    0.005477
    """
    hits, total = above + ref_above, below + ref_below
    first = max(0.0, hits - ref_below)
    k = np.arange(first, min(hits, below) + 1)
    steps = np.log((below - k[:-1]) * (hits - k[:-1]) / ((k[:-1] + 1) * (total - below - hits + k[:-1] + 1)))
    log_p = np.concatenate([[0.0], np.cumsum(steps)])
    p = np.exp(log_p - log_p.max())
    seen = p[round(above - first)]
    return float(p[p <= seen * (1 + 1e-7)].sum() / p.sum())


def holm(p: ArrayLike) -> Floats:
    """Holm's step-down adjustment of p-values (Holm 1979); NaN are no tests and stay NaN.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    adjusted = np.full_like(values, np.nan)
    tests = np.flatnonzero(~np.isnan(values))
    order = tests[np.argsort(values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted


def _rate(above: ArrayLike, below: ArrayLike) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.true_divide(above, below), dtype=np.float64)


def _hypotenuse(one: Floats, other: Floats, rho: Floats) -> Floats:
    """Length of one − other when they are correlated."""
    return np.sqrt(np.maximum(one**2 - 2 * rho * one * other + other**2, 0))
