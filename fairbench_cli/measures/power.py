"""How likely a verdict on two rates is before there are any rows, and how many rows it takes.

A group of n rows has the rate p, its reference of m rows the rate q; ratio = p / q. A verdict is that of an
audit: it fails where the measured ratio is outside [τ, 1/τ] and equal rates are rejected (score test, or
Fisher's where a cell expects few) at (1 − confidence) / family, Holm's first step; it passes where the score
interval lies within. With few rows all tables are gone through. With more, the limits of the group's rate
beyond which it fails, and between which it passes, are found for what the reference may show, and the two
rates taken for normal, with Edgeworth's term for their skewness. No formula for the log ratio enters, as its
variance would be another than that of the test.

With a margin a verdict goes by the difference p − q: it fails where the measured one is larger than the
margin, and passes where Newcombe's interval lies within.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures import score_test
from fairbench_cli.measures.counts import Floats, as_floats, divide
from fairbench_cli.measures.significance import normal_p, normal_quantile

MOST_TABLES = 50_000  # that are gone through; with more rows the normal approximation is as good
TAIL = 7.5  # standard deviations of the reference's count that are looked at
NODES = 31  # of what the reference may show, in the approximation
ROUNDS = 4  # until a limit of the interval is found; each brings two digits
HALVINGS = 18
HALVINGS_OF_RATES = 24
FEW_DESIGNS = 12  # of so many, the limits of this and of the next two halvings are tried at once
AT_ONCE = 3
MOST_ROWS = 1e12
LEAST = 1e-4  # of ratios that are looked at
# ratios at a time, and how often those next to the one sought are looked at
TRIED = 14
ZOOMS = 5
SAME = 1e-9  # logarithms of ratios that differ by rounding alone

Verdicts = Literal["fails", "passes", "both"]


def round_up_count(value: float) -> float:
    """Round up to two digits; NaN stays.

    >>> round_up_count(1511.2), round_up_count(31.0), round_up_count(213)
    (1600.0, 31.0, 220.0)
    """
    if not (math.isfinite(value) and value > 0):
        return value
    step = 10.0 ** max(0, math.floor(math.log10(value)) - 1)
    return math.ceil(value / step * (1 - 1e-12)) * step


@dataclass(frozen=True)
class Criterion:
    """What an audit goes by.

    Parameters
    ----------
    tau : float
        Ratios from tau to 1/tau are allowed.
    family : float
        How many comparisons decide: Holm's first step is at (1 − confidence) / family. With weights, the
        inverse of a comparison's share.
    confidence : float
        Of tests and intervals.
    margin : float or None
        Differences from −margin to margin are allowed, in the place of ratios.
    """

    tau: float = 0.8
    family: float = 1
    confidence: float = 0.95
    margin: float | None = None

    @property
    def alpha(self) -> float:
        """The level at which equal rates are rejected."""
        return (1 - self.confidence) / self.family

    @property
    def limit(self) -> float:
        """The score at which an interval ends."""
        return normal_quantile(self.confidence)

    def allowed_rates(self, reference: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest rate of a group that is allowed, given the reference's."""
        if self.margin is None:
            return self.tau * reference, reference / self.tau
        return reference - self.margin, reference + self.margin

    def allowed_logs(self, rate: float) -> tuple[float, float]:
        """Return the logarithms of the lowest and the highest ratio that is allowed to a reference's rate."""
        if self.margin is None:
            return math.log(self.tau), -math.log(self.tau)
        return math.log(max(1 - self.margin / rate, LEAST)), math.log(1 + self.margin / rate)

    def distance(self, rate: Floats, ratio: Floats) -> tuple[Floats, float]:
        """Return how far ratios are from 1, on the log scale, or differences from 0; and what is allowed."""
        # A reference's rate of 0 has no finite ratio.
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.margin is None:
                return np.abs(np.log(ratio)), -math.log(self.tau)
            return np.abs(rate * ratio - rate), self.margin


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely a comparison fails with a ratio below 1, fails with one above, or passes."""

    below: Floats
    above: Floats
    passes: Floats

    @property
    def fails(self) -> Floats:
        """How likely it fails."""
        return self.below + self.above


@dataclass(frozen=True, eq=False)
class TwoGroups:
    """A group and its reference before there are decisions.

    Parameters
    ----------
    n, m : int
        Rows of the group and of its reference.
    rate : float
        Of the reference, in (0, 1).
    rule : Criterion
    """

    n: int
    m: int
    rate: float
    rule: Criterion

    def chances(self, ratios: ArrayLike, verdicts: Verdicts = "both") -> Chances:
        """Return how likely each verdict is, of several true ratios; NaN where a rate would be above 1.

        `verdicts` is "fails", "passes" or "both"; what is not wanted may be 0.

        >>> found = TwoGroups(500, 500, 0.3, Criterion()).chances([0.7, 1.0])
        >>> found.fails.round(3).tolist(), found.passes.round(3).tolist()
        ([0.889, 0.022], [0.0, 0.272])
        """
        true_ratios = np.asarray(ratios, dtype=np.float64)
        if (self.n + 1) * len(self._seen) > MOST_TABLES:
            return approximate_chances(self.n, self.m, self.rate, true_ratios, self.rule, verdicts)
        p = self.rate * true_ratios
        mine = _binomial(range(self.n + 1), self.n, np.where((p >= 0) & (p <= 1), p, np.nan))
        below, above, passes = self._each_count
        return Chances(mine @ below, mine @ above, mine @ passes)

    def detectable_ratios(self, power: float = 0.8) -> tuple[float, float]:
        """Return the largest ratio below 1, and the smallest above, that fails with a probability of `power`.

        NaN where there is none: even a rate of 0, or of 1, would not fail so often.

        >>> [round(ratio, 3) for ratio in TwoGroups(200, 1000, 0.3, Criterion()).detectable_ratios()]
        [0.683, 1.362]
        """
        return self._nearest(math.log(LEAST), "below", power), self._nearest(
            -math.log(self.rate), "above", power
        )

    def passing_ratios(self, power: float = 0.8) -> tuple[float, float]:
        """Return between which true ratios it passes with a probability of `power`; NaN where nowhere.

        >>> [round(ratio, 2) for ratio in TwoGroups(2000, 2000, 0.3, Criterion()).passing_ratios()]
        [0.92, 1.1]
        """
        low, high = self.rule.allowed_logs(self.rate)
        logs = np.linspace(low, min(high, -math.log(self.rate)), 400)
        enough = np.flatnonzero(self.chances(np.exp(logs) * (1 - SAME), "passes").passes >= power)
        if not len(enough):
            return math.nan, math.nan
        return math.exp(logs[enough[0]]), math.exp(logs[enough[-1]])

    @cached_property
    def _seen(self) -> range:
        """The counts that the reference may show."""
        middle = self.m * self.rate
        spread = TAIL * math.sqrt(self.m * self.rate * (1 - self.rate)) + 3
        return range(max(0, math.floor(middle - spread)), min(self.m, math.ceil(middle + spread)) + 1)

    @cached_property
    def _each_count(self) -> tuple[Floats, Floats, Floats]:
        """The chances, given each count of the group; all tables are gone through."""
        x, y = np.meshgrid(np.arange(self.n + 1.0), np.array(self._seen, np.float64), indexing="ij")
        n = np.full(x.shape, float(self.n))
        m = np.full(x.shape, float(self.m))
        group_rate = x / n
        reference_rate = y / m
        lowest, highest = self.rule.allowed_rates(reference_rate)
        below = group_rate < lowest - SAME * reference_rate
        above = group_rate > highest + SAME * reference_rate
        differ = np.zeros(x.shape, dtype=bool)
        outside = below | above
        p, _ = score_test.equal_rates(x[outside], n[outside], y[outside], m[outside])
        differ[outside] = p < self.rule.alpha
        passes = self._lies_within(x, n, y, m)
        weights = _binomial(self._seen, self.m, np.array(self.rate))
        return (differ & below) @ weights, (differ & above) @ weights, passes @ weights

    def _lies_within(self, x: Floats, n: Floats, y: Floats, m: Floats) -> NDArray[np.bool_]:
        """Return for which tables the whole interval is allowed."""
        margin = self.rule.margin
        if margin is not None:
            low, high = score_test.difference_interval(x, n, y, m, self.rule.confidence)
            return np.asarray((low > -margin) & (high < margin))
        tau = self.rule.tau
        z = self.rule.limit
        return np.asarray(
            (score_test.score_z(x, n, y, m, tau) > z) & (score_test.score_z(x, n, y, m, 1 / tau) < -z)
        )

    def _nearest(self, far: float, side: str, power: float) -> float:
        """Return the ratio nearest to 1, up to exp(far), at which the chance of a side is `power`."""
        near = 0.0
        ratio = math.nan
        for _ in range(ZOOMS):
            logs = np.linspace(near, far, TRIED)
            enough = getattr(self.chances(np.exp(logs) * (1 - SAME), "fails"), side) >= power
            if not enough.any():
                break
            i = max(1, int(np.argmax(enough)))
            near = float(logs[i - 1])
            far = float(logs[i])
            ratio = math.exp(far)
        return ratio


def _binomial(counts: range, n: int, p: Floats) -> Floats:
    """Return the probabilities of counts among n, of each p; NaN for NaN."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.array(counts), n, p[..., None]), dtype=np.float64)


def approximate_chances(
    n: ArrayLike,
    m: ArrayLike,
    rate: ArrayLike,
    ratio: ArrayLike,
    rule: Criterion,
    verdicts: Verdicts = "both",
) -> Chances:
    """Return the chances by the normal approximation; arrays of one shape, also of many designs.

    `verdicts` is "fails", "passes" or "both"; what is not wanted is 0.
    """
    designs = [np.asarray(number, dtype=np.float64) for number in (n, m, rate, ratio)]
    shape = np.broadcast_shapes(*(numbers.shape for numbers in designs))
    # What the reference may show is the last axis.
    group_rows, reference_rows, q, r = (numbers[..., None] for numbers in designs)
    p = np.where(q * r <= 1, q * r, np.nan)
    u, weights = _nodes()
    deviation, skew = _normal(q, reference_rows)
    seen = np.clip(q + deviation * (u + skew * (u * u - 1) / 6), 0.0, 1.0)

    def expectation(values: Floats) -> Floats:
        return np.asarray(np.clip((values * weights).sum(-1) / weights.sum(), 0.0, 1.0))

    below = above = passes = np.zeros(shape)
    if verdicts != "passes":
        low, high = _rejection_limits(seen, group_rows, reference_rows, rule)
        lowest, highest = rule.allowed_rates(seen)
        below = expectation(_chance_at_most(np.minimum(low, lowest), p, group_rows))
        above = expectation(1 - _chance_at_most(np.maximum(high, highest), p, group_rows))
    if verdicts != "fails":
        if rule.margin is None:
            highest, lowest = _rates_at_scores(seen, group_rows, reference_rows, rule)
        else:
            highest, lowest = _rates_at_margin(seen, group_rows, reference_rows, rule.margin, rule.confidence)
        inside = _chance_at_most(highest, p, group_rows) - _chance_at_most(lowest, p, group_rows)
        passes = expectation(np.maximum(inside, 0.0))
    return Chances(below, above, passes)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return the nodes and the weights of Gauss and Hermite's quadrature."""
    return np.polynomial.hermite_e.hermegauss(NODES)


def _normal(p: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviation of a measured rate, and its skewness."""
    spread = np.sqrt(np.maximum(p * (1 - p), 1e-12))
    return spread / np.sqrt(n), (1 - 2 * p) / (spread * np.sqrt(n))


def _chance_at_most(limit: Floats, p: Floats, n: Floats) -> Floats:
    """Return how likely a measured rate is at most a limit: normal, with Edgeworth's term."""
    deviation, skew = _normal(p, n)
    x = np.clip((limit - p) / deviation, -40.0, 40.0)
    tail = normal_p(x) / 2
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    probability: Floats = np.where(x > 0, 1 - tail, tail) - skew * (x * x - 1) * density / 6
    return np.asarray(np.clip(probability, 0.0, 1.0))


def _rejection_limits(seen: Floats, n: Floats, m: Floats, rule: Criterion) -> tuple[Floats, Floats]:
    """Return the rates of the group below and above which equal rates are rejected, given the reference's.

    The score test's are the roots of a quadratic. Where a cell expects few, they are as much farther away as
    Yates' correction takes, which is near Fisher's test.
    """
    z = -NormalDist().inv_cdf(rule.alpha / 2)
    total = n + m
    share = n / (n + m)
    factor = z * z * (1 / n + 1 / m) * total / (total - 1)
    a = 1 + factor * share**2
    b = factor * share * (1 - 2 * seen)
    c = -factor * seen * (1 - seen)
    root = np.sqrt(b * b - 4 * a * c)
    limits = []
    for sign in (-1, 1):
        limit = seen + (b + sign * root) / (2 * a)
        hits = np.clip(limit, 0.0, 1.0) * n
        is_small = score_test.smallest_expected_count(hits, n, seen * m, m) < score_test.FEW_EXPECTED
        limits.append(np.where(is_small, limit + sign * (1 / n + 1 / m) / 2, limit))
    return limits[0], limits[1]


def _rates_at_scores(seen: Floats, n: Floats, m: Floats, rule: Criterion) -> Floats:
    """Return the highest and the lowest rate of the group whose interval lies within the limits.

    At them "the ratio is 1/τ" and "the ratio is τ" have the scores at which an interval ends, given the
    reference's rate. Both are found at once, along the first axis.
    """
    shape = (2,) + (1,) * seen.ndim
    ratios = np.array([1 / rule.tau, rule.tau])
    squares = np.array([ratio**2 for ratio in ratios.tolist()]).reshape(shape)
    ratio = ratios.reshape(shape)
    z = np.array([-rule.limit, rule.limit]).reshape(shape)
    middle = ratio * seen
    variance = middle * (1 - np.minimum(middle, 1)) / n + squares * seen * (1 - seen) / m
    away = z * np.sqrt(np.maximum(variance, 1e-18))
    for _ in range(ROUNDS):
        measured = np.clip(middle + away, 0.0, 1.0)
        score = score_test.score_z(measured * n, n, seen * m, m, ratio)
        away = np.where((score * z > 0) & np.isfinite(score), divide((measured - middle) * z, score), away)
    return np.asarray(middle + away)


def _rates_at_margin(
    seen: Floats, n: Floats, m: Floats, margin: float, confidence: float
) -> tuple[Floats, Floats]:
    """Return the highest and the lowest rate of the group whose interval lies within the margin.

    Given the reference's rate; the wider the interval, the nearer they are to it.
    """
    limits = []
    for sign in (1.0, -1.0):
        near = np.broadcast_to(seen, np.broadcast_shapes(seen.shape, n.shape, m.shape))
        far = np.clip(near + sign * margin, 0.0, 1.0)
        for _ in range(HALVINGS_OF_RATES):
            middle = (near + far) / 2
            low, high = score_test.difference_interval(middle * n, n, seen * m, m, confidence)
            is_inside = (low > -margin) & (high < margin)
            near = np.where(is_inside, middle, near)
            far = np.where(is_inside, far, middle)
        # Where not even equal rates are near enough, none is.
        low, high = score_test.difference_interval(seen * n, n, seen * m, m, confidence)
        limits.append(np.where((low > -margin) & (high < margin), near, -sign * np.inf))
    return limits[0], limits[1]


def rows_needed(
    rate: ArrayLike, ratio: ArrayLike, share: ArrayLike, rule: Criterion, power: float = 0.8
) -> Floats:
    """Return how many rows both groups need together to decide with a probability of `power`.

    Outside of what is allowed: until it fails. Within: until it passes.

    Parameters
    ----------
    rate : array
        Of the reference, in (0, 1).
    ratio : array
        Of the group's rate to it.
    share : array
        Of the group among the rows of both, in (0, 1).
    rule : Criterion
    power : float
        In (0, 1).

    Returns
    -------
    array
        NaN where no number of rows would do: a ratio or a difference at its limit, rates of 0 or 1.

    Examples
    --------
    >>> rows_needed(0.3, [0.7, 1.0], 0.5, Criterion()).round().tolist()
    [732.0, 1981.0]
    >>> rows_needed(0.3, [0.7, 1.0], 0.5, Criterion(margin=0.05)).round().tolist()
    [732.0, 3523.0]
    """
    q, r, f = as_floats(rate, ratio, share)
    rows = np.full(q.shape, np.nan)
    away, edge = rule.distance(q, r)
    with np.errstate(invalid="ignore"):
        inside = (q > 0) & (r > 0) & (np.maximum(q, q * r) < 1 - SAME)  # weights add up to nearly 1, too
        solvable = inside & (f > 0) & (f < 1) & (np.abs(away - edge) >= SAME)
    verdicts: tuple[Verdicts, Verdicts] = ("fails", "passes")
    for verdict, selected in zip(verdicts, (solvable & (away > edge), solvable & (away < edge)), strict=True):
        if selected.any():
            rows[selected] = _least_rows(q[selected], r[selected], f[selected], rule, power, verdict)
    return rows


def _least_rows(q: Floats, r: Floats, f: Floats, rule: Criterion, power: float, verdict: Verdicts) -> Floats:
    """Halve the logarithm of how many rows there may be."""
    low = np.log(2 / np.minimum(f, 1 - f))
    high = np.full(q.shape, math.log(MOST_ROWS))
    if len(q) > FEW_DESIGNS:
        levels = 1
    else:
        levels = AT_ONCE  # the time goes by calls of numpy, not by designs
    designs = np.arange(len(q))
    for _ in range(HALVINGS // levels):
        limits = _halve(low, high, levels)
        middles = limits[:, 1:-1]
        rows = np.exp(middles)
        share = np.broadcast_to(f[:, None], rows.shape)
        rates = np.broadcast_to(q[:, None], rows.shape)
        ratios = np.broadcast_to(r[:, None], rows.shape)
        chances = approximate_chances(rows * share, rows * (1 - share), rates, ratios, rule, verdict)
        enough = (chances.fails if verdict == "fails" else chances.passes) >= power
        # Each halving looks at the middle of what the one before has left.
        start = np.zeros(len(q), dtype=np.intp)
        width = 2**levels
        while width > 1:
            width //= 2
            start = np.where(enough[designs, start + width - 1], start, start + width)
        low = limits[designs, start]
        high = limits[designs, start + 1]
    return np.asarray(np.where(high < math.log(MOST_ROWS), np.exp(high), np.nan))


def _halve(low: Floats, high: Floats, levels: int) -> Floats:
    """Return the limits of intervals halved so many times, in the shape (intervals, 2 ** levels + 1)."""
    limits = np.stack([low, high], axis=1)
    for _ in range(levels):
        halved = np.empty((len(low), 2 * limits.shape[1] - 1))
        halved[:, ::2] = limits
        halved[:, 1::2] = (limits[:, :-1] + limits[:, 1:]) / 2
        limits = halved
    return limits
