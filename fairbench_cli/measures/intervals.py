"""Closed forms for proportions: intervals of a rate and of a difference; `score_test` has that of a ratio.

The difference (Newcombe 1998, method 10) recovers its variance from the two Wilson intervals, so that neither
has width zero at 0 or n.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats, divide


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


def _estimate(above: ArrayLike, below: ArrayLike, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return a rate and its Wilson limits."""
    return (divide(above, below), *wilson(above, below, confidence))


def _hypotenuse(one: Floats, other: Floats, rho: Floats) -> Floats:
    """Length of one − other when they are correlated."""
    return np.sqrt(np.maximum(one**2 - 2 * rho * one * other + other**2, 0))
