"""Whether the ratio of two rates rises or falls over the parts of the rows, such as quarters.

In part t of T the rates are p_t and q_t; log(p_t / q_t) = a + b·t, the q_t are free. Tested is b: Rao's score
test, a and all q_t by maximum likelihood. Each part's score of the log ratio and its information are those of
one 2 × 2 table (Gart & Nam 1988); at b = 0 a is Gart's common ratio (1985), and the test for the ratio what
the test for trend of Cochran (1954) and Armitage (1955) is for one proportion. The slopes that the test does
not reject are the interval. Rates of 0 need no correction; a part where nobody, or everybody, is counted
says nothing of the ratio. Only numpy is needed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, as_floats, divide
from fairbench_cli.measures.significance import normal_p, normal_quantile

STEPS = 36  # of bisection
EDGE = 12.0  # a logarithm: ratios, and changes of them from the first part to the last, are within e^±12
SURE = 1e-9  # rates are at least so far from 1


class RatioTrend(NamedTuple):
    """A trend of a ratio; arrays of one shape.

    Parameters
    ----------
    first_ratio, last_ratio : array
        The ratio at the first and at the last time, on the fitted line.
    change, low, high : array
        last_ratio / first_ratio, with its interval; from 0, or to infinity, where nothing bounds it.
    p : array
        Two-sided, of "the ratio is the same at all times".
    """

    first_ratio: Floats
    last_ratio: Floats
    change: Floats
    low: Floats
    high: Floats
    p: Floats


def ratio_trend(
    above: ArrayLike,
    below: ArrayLike,
    ref_above: ArrayLike,
    ref_below: ArrayLike,
    times: ArrayLike,
    confidence: float = 0.95,
) -> RatioTrend:
    """Return the trend of (above/below) / (ref_above/ref_below) over times.

    Parameters
    ----------
    above, below, ref_above, ref_below : arrays, shape (..., T)
        Numerators and denominators; they may be fractions: what weighted rows are worth.
    times : array, shape (T,)
        In rising order.
    confidence : float
        In (0, 1).

    Returns
    -------
    RatioTrend
        Of arrays of shape (...); NaN where fewer than two parts say something of the ratio.

    Examples
    --------
    >>> found = ratio_trend([10, 15, 20, 25], [50] * 4, [20, 21, 19, 20], [50] * 4, [1, 2, 3, 4])
    >>> [round(float(each), 4) for each in found]
    [0.5262, 1.3094, 2.4884, 1.2325, 5.1269, 0.0106]
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    time = np.asarray(times, dtype=np.float64)
    time = (time - time[0]) / (time[-1] - time[0])
    informative = _is_informative(x, n, y, m).sum(-1) > 1
    z = normal_quantile(confidence)
    level = np.multiply.outer(np.array([0.0, z, -z]), np.ones(x.shape[:-1]))
    low = np.full(level.shape, -EDGE)
    high = np.full(level.shape, EDGE)
    for _ in range(STEPS):
        middle = (low + high) / 2
        beyond = _score(x, n, y, m, time, middle)[0] > level
        low = np.where(beyond, middle, low)
        high = np.where(beyond, high, middle)
    slope, lower, upper = (low + high) / 2
    statistic, _ = _score(x, n, y, m, time, np.zeros(x.shape[:-1]))
    _, start = _score(x, n, y, m, time, slope)

    def if_informative(values: Floats) -> Floats:
        return np.where(informative, values, np.nan)

    return RatioTrend(
        first_ratio=if_informative(_ratio(start)),
        last_ratio=if_informative(_ratio(start + slope)),
        change=if_informative(np.exp(slope)),
        low=if_informative(_ratio(lower)),
        high=if_informative(_ratio(upper)),
        p=if_informative(normal_p(statistic)),
    )


def _ratio(logarithm: Floats) -> Floats:
    """Return a ratio; 0 or infinity where its logarithm is at an edge."""
    logarithm = np.where(logarithm < SURE - EDGE, -np.inf, logarithm)
    return np.exp(np.where(logarithm > EDGE - SURE, np.inf, logarithm))


def _score(x: Floats, n: Floats, y: Floats, m: Floats, time: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Return the score statistic of a slope, which falls as the slope grows, and the log ratio at time 0."""
    low = np.full(slope.shape, -EDGE)
    high = np.full(slope.shape, EDGE)
    low = low - np.maximum(slope, 0)
    high = high - np.minimum(slope, 0)
    for _ in range(STEPS):
        start = (low + high) / 2
        beyond = _score_and_information(x, n, y, m, start[..., None] + slope[..., None] * time)[0].sum(-1) > 0
        low = np.where(beyond, start, low)
        high = np.where(beyond, high, start)
    scores, information = _score_and_information(x, n, y, m, start[..., None] + slope[..., None] * time)
    center = divide((information * time).sum(-1), information.sum(-1))[..., None]
    spread = (information * (time - center) ** 2).sum(-1)
    return divide((scores * (time - center)).sum(-1), np.sqrt(spread)), start


def _is_informative(x: Floats, n: Floats, y: Floats, m: Floats) -> NDArray[np.bool_]:
    """Return the parts with rows of both, where neither nobody nor everybody is counted."""
    is_informative: NDArray[np.bool_] = (n > 0) & (m > 0) & (x + y > 0) & (x + y < n + m)
    return is_informative


def _score_and_information(
    x: Floats, n: Floats, y: Floats, m: Floats, log_ratio: Floats
) -> tuple[Floats, Floats]:
    """Return the score of the log ratio in each part, and its information; 0 of a part that says nothing."""
    ratio = np.exp(log_ratio)
    # The reference's rate by maximum likelihood, given the ratio: the smaller root of a quadratic.
    a = (n + m) * ratio
    b = n * ratio + x + m + y * ratio
    c = x + y
    with np.errstate(divide="ignore", invalid="ignore"):
        q = 2 * c / (b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)))
        p = np.minimum(ratio * q, 1 - SURE)
        q = np.minimum(q, 1 - SURE)
        score = np.where(p <= q, (x - n * p) / (1 - p), (m * q - y) / (1 - q))  # both are; none is 0 / 0
        information = 1 / ((1 - p) / (n * p) + (1 - q) / (m * q))
    is_informative = _is_informative(x, n, y, m)
    return np.where(is_informative, score, 0.0), np.where(is_informative, information, 0.0)
