"""Whether two means differ, looked at month after month: evidence that may be read at every look.

As of rates (`sequential`), E is 1 on average in fair worlds at whatever month one stops, from the first month
on and with restarts. Of means there are two, and the smaller counts, as it holds wherever either does:

* By month: how likely the studentised difference is at a shift of θ standard deviations, over the mean of
  that in all splits of the month's rows into groups of these sizes. It is exactly 1 on average wherever rows
  of a month could be exchanged, whatever their law is and whatever months have in common.
* By sums: the differences of all months, by Welch's t or by Hall's transformation of it, whichever is nearer
  to 0. It holds for unlike laws with equal means, where splits do not. A month's own t is wrong by half its
  skewness, which would add up over months; the sums are not.

Both are against "the means are equal in each month"; `month_effects` has evidence beyond the months' scatter.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairbench_cli.measures.clusters import t_quantile
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import Contrast, wider_interval
from fairbench_cli.measures.moments import Moments
from fairbench_cli.measures.month_effects import (
    ALIKE,
    MIXING_OF_MEANS,
    SPREADS_OF_MEANS,
    compare_months,
    log_evidence_beyond_months,
)
from fairbench_cli.measures.sequential import TUNED_LOOKS, MonthsEvidence, exact_log_evidence, mix_starts
from fairbench_cli.measures.splits import SEED, draw_splits, studentised

SPREAD = 0.3  # of the differences, in standard deviations, that evidence is the mean over
SHIFTS = np.arange(-12, 13) / 10
LOG_WEIGHTS = -(SHIFTS**2) / (2 * SPREAD**2) - np.log(np.exp(-(SHIFTS**2) / (2 * SPREAD**2)).sum())
LARGEST_T = 20.0
SPLITS = 999  # that are drawn of a month, beside the true one
MOST_SPLIT_ROWS = 2_000  # of the smaller side; of more, t is normal unless a few values carry the mean
MOST_SKEWED_ROWS = 20_000
SKEWED = 0.1
LEAST_ROWS = 100  # of the smaller side, before sums say anything
LEAST_OF_SIDE = 2  # rows in a month, which has a variance then
LEAST_MONTHS = 3  # that limits may go by the scatter of
LARGEST_LOG_RATIO = 12.0
HALVINGS = 45
ROUNDING = 1e-9
MOST_DEVIATIONS = 37.0  # normal ones, beyond which a probability is 0


class Hypothesis(NamedTuple):
    """That a group's values less a shift have the law of the reference's times a scale."""

    shift: float = 0.0
    scale: float = 1.0


EQUAL = Hypothesis()


def margin_edges(margin: Margin, reference: Moments) -> tuple[Hypothesis, Hypothesis]:
    """Return the lower and the upper end of a margin, given the moments of the reference.

    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> margin_edges(Margin(5, "percent"), sum_powers_along([10.0, 30.0]))[0]
    Hypothesis(shift=0.0, scale=0.95)
    """
    if margin.unit == "percent":
        share = math.copysign(margin.value / 100, float(reference.mean))
        return Hypothesis(0.0, 1 - share), Hypothesis(0.0, 1 + share)
    units = float(margin.in_units(reference))
    return Hypothesis(-units, 1.0), Hypothesis(units, 1.0)


class SideSums(NamedTuple):
    """Of a side, sums over months with h, h², h³, h⁴ and h.

    Of its mean less the moments' shift, the mean's variance v, its third central moment, v²/(rows − 1), and
    of what its rows add to the pooled variance.
    """

    mean: Floats
    variance: Floats
    third: Floats
    quotient: Floats
    spread: Floats


@dataclass(frozen=True, eq=False)
class MeansSince:
    """Two sides over the months from each start to each look; arrays (starts, looks), 0 before the start.

    Parameters
    ----------
    weight : array
        Σ h, of h = n m/(n + m) of the n and m rows of a month; 0 where a side has fewer than two.
    rows : array
        Of the smaller side.
    group, reference : SideSums
    shift : float
        Of the moments.
    """

    weight: Floats
    rows: Floats
    group: SideSums
    reference: SideSums
    shift: float

    def contrast(self, hypothesis: Hypothesis = EQUAL) -> Contrast:
        """Return Σ h (m_g − shift − scale m_r)/Σ h, 0 on average by a hypothesis, with its moments."""
        c = hypothesis.scale
        group = self.group
        reference = self.reference
        # Both are less the moments' shift, so that a difference of large numbers keeps its digits.
        distance = divide(group.mean - c * reference.mean, self.weight)
        variance = group.variance + c**2 * reference.variance
        return Contrast(
            distance + self.shift * (1 - c) - hypothesis.shift,
            divide(variance, self.weight**2),
            divide(variance**2, group.quotient + c**4 * reference.quotient),
            divide(group.third - c**3 * reference.third, self.weight**3),
        )

    def spread(self, hypothesis: Hypothesis = EQUAL) -> Floats:
        """Return the variance of rows, pooled within both sides and over months."""
        return divide(self.group.spread + hypothesis.scale**2 * self.reference.spread, self.weight)

    def pick(self, index: Any) -> "MeansSince":
        """Return the sums of some starts and looks."""
        group = SideSums(*(terms[index] for terms in self.group))
        reference = SideSums(*(terms[index] for terms in self.reference))
        return MeansSince(self.weight[index], self.rows[index], group, reference, self.shift)

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The means of both sides over the months, each month with the same weight for both."""
        group, reference = (
            divide(side.mean, self.weight) + self.shift for side in (self.group, self.reference)
        )
        return group, reference


def sum_since(group: Moments, reference: Moments) -> MeansSince:
    """Return the sums of months from each start to each look.

    Parameters
    ----------
    group, reference : Moments, shape (months,)
        Around one shift.

    Examples
    --------
    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> since = sum_since(sum_powers_along([[1.0, 2, 6], [2, 4, 6]]), sum_powers_along([[5.0, 7], [6, 8]]))
    >>> since.contrast().value.round(3).tolist(), since.spread()[0].round(3).tolist()
    ([[-3.0, -3.0], [nan, -3.0]], [5.333, 4.333])
    """
    n = group.effective_rows
    m = reference.effective_rows
    says = np.minimum(group.rows, reference.rows) >= LEAST_OF_SIDE
    is_since = np.triu(np.ones((len(says), len(says)), dtype=bool)) & says

    def since(terms: Floats) -> Floats:
        """Add up from each start: differences of sums from the first on would lose digits."""
        return np.cumsum(np.where(is_since, np.nan_to_num(terms), 0.0), axis=-1)

    h = divide(n * m, n + m)
    sides = []
    for side, rows in ((group, n), (reference, m)):
        variance = side.variance_of_mean
        sides.append(
            SideSums(
                since(h * (side.mean - side.shift)),
                since(h**2 * variance),
                since(h**3 * side.third_of_mean),
                since(h**4 * divide(variance**2, rows - 1)),
                since(h * divide((rows - 1) * side.variance, n + m - 2)),
            )
        )
    return MeansSince(since(h), since(np.minimum(n, m)), sides[0], sides[1], group.shift)


# -- evidence by sums


def normal_deviations(contrast: Contrast) -> Floats:
    """Return how many standard deviations of a normal estimate say as much, with the sign of the value.

    By Welch's test or by Hall's, whichever is nearer to 0; 0 without a variance.
    """
    from scipy.special import ndtri

    p = np.nan_to_num(wider_interval(contrast).p, nan=1.0)
    deviations = np.minimum(np.abs(ndtri(p / 2)), MOST_DEVIATIONS)
    return np.asarray(np.copysign(deviations, np.nan_to_num(contrast.value)))


def sums_log_evidence(since: MeansSince, hypothesis: Hypothesis = EQUAL) -> Floats:
    """Return ln E against a hypothesis by sums, (starts, looks); -inf before the start.

    0 while the smaller side has fewer than `LEAST_ROWS` rows since the start.
    """
    contrast = since.contrast(hypothesis)
    scale = SPREAD**2 * divide(since.spread(hypothesis), contrast.variance)
    says = (since.rows >= LEAST_ROWS) & (contrast.variance > 0)
    scale = np.where(says, scale, 0.0)
    log_e = (scale * normal_deviations(contrast) ** 2 / (1 + scale) - np.log1p(scale)) / 2
    return np.where(np.triu(np.ones(log_e.shape, dtype=bool)), log_e, -np.inf)


def largest_deviations(so_far: MeansSince, hypothesis: Hypothesis, alpha: float) -> Floats:
    """Return how many deviations the sums from the first month to each look may have by chance at any look.

    The normal mixture of Howard et al. (2021), which is narrowest after `TUNED_LOOKS` months. Infinite before
    the first look that has `LEAST_ROWS` rows of the smaller side.
    """
    variance = so_far.contrast(hypothesis).variance * so_far.weight**2
    months = np.cumsum(np.diff(so_far.weight, prepend=0.0) > 0)
    has_limits = (so_far.rows >= LEAST_ROWS) & (variance > 0)
    if not has_limits.any():
        return np.full(len(variance), np.inf)
    first = int(np.argmax(has_limits))
    twice = 2 * math.log(1 / alpha)
    q = variance[first] * TUNED_LOOKS / months[first] / (twice + math.log1p(twice))
    with np.errstate(divide="ignore"):
        deviations = np.sqrt((q + variance) / variance * (np.log((q + variance) / q) + twice))
    return np.where(has_limits, deviations, np.inf)


# -- evidence by splits


def split_log_likelihoods(
    group: Floats, reference: Floats, seed: int, hypotheses: Sequence[Hypothesis]
) -> Floats:
    """Return ln of how likely a month is at each of `SHIFTS` against each hypothesis.

    Parameters
    ----------
    group, reference : array, shape (rows,)
        The values of the month.
    seed : int
        Its place, from 1: with one seed for all months the errors of draws would add up.
    hypotheses : sequence of Hypothesis

    Returns
    -------
    array, shape (hypotheses, 25)
        0 where a side has fewer than two rows.

    Examples
    --------
    >>> months = split_log_likelihoods(np.array([1.0, 2, 4]), np.array([3.0, 5, 5, 6]), 1, [EQUAL])
    >>> months[0, [6, 18]].round(3).tolist()
    [1.041, -2.417]
    """
    likelihood = np.zeros((len(hypotheses), len(SHIFTS)))
    n = len(group)
    m = len(reference)
    if min(n, m) < LEAST_OF_SIDE:
        return likelihood
    h = n * m / (n + m)
    if _is_normal(group, reference):
        for i, (shift, scale) in enumerate(hypotheses):
            error = math.sqrt(group.var(ddof=1) / n + scale**2 * reference.var(ddof=1) / m)
            if error > 0:
                t = (group.mean() - shift - scale * reference.mean()) / error
                likelihood[i] = SHIFTS * math.sqrt(h) * t - SHIFTS**2 * h / 2
        return likelihood
    splits = draw_splits(group, reference, SPLITS, SEED + seed)
    for i, (shift, scale) in enumerate(hypotheses):
        t, of_splits = studentised(splits, shift, scale)
        if not splits.is_exact:
            of_splits = np.append(of_splits, t)
        of_shifts = np.multiply.outer(math.sqrt(h) * SHIFTS, np.clip(of_splits, -LARGEST_T, LARGEST_T))
        most = of_shifts.max(-1)
        log_mean = most + np.log(np.exp(of_shifts - most[:, None]).mean(-1))
        likelihood[i] = math.sqrt(h) * SHIFTS * np.clip(t, -LARGEST_T, LARGEST_T) - log_mean
    return likelihood


def _is_normal(group: Floats, reference: Floats) -> bool:
    """Return whether a month has so many rows that its t is normal: it needs no splits."""
    fewest = min(len(group), len(reference))
    if fewest <= MOST_SPLIT_ROWS:
        return False
    if fewest > MOST_SKEWED_ROWS:
        return True
    distance = np.concatenate([group, reference])
    distance = distance - distance.mean()
    skewed = abs((distance**3).mean())
    return bool(skewed < SKEWED * math.sqrt(fewest) * (distance**2).mean() ** 1.5)


# -- what both make of a margin


@dataclass(frozen=True)
class MeansLook:
    """What the months up to the last show of two means, however often they were looked at.

    Parameters
    ----------
    means : two floats
        Of the group and of its reference over the months, with the same weights for both.
    difference, ratio : three floats
        With limits that hold at all looks; where months differ, by their scatter. NaN where there are none.
    p : float
        Of "the means are equal", which holds at all looks.
    log_evidence : three floats
        ln E of this look; the largest so far, by which p goes; and against "equal means in each month".
    start : int
        The month, from 0, since which the months add most to E.
    means_since : two floats
        Since then.
    may_differ : bool
        Whether E is beyond the scatter of months.
    p_alike : float
        Of "the difference is the same in all months".
    is_beyond, is_within, is_outside : bool
        Whether the difference since the start is beyond the margin; that of all months is shown to be within;
        and that since some start is shown to be beyond.
    """

    means: tuple[float, float]
    difference: tuple[float, float, float]
    ratio: tuple[float, float, float]
    p: float
    log_evidence: tuple[float, float, float]
    start: int
    means_since: tuple[float, float]
    may_differ: bool
    p_alike: float
    is_beyond: bool
    is_within: bool
    is_outside: bool


def look_at_means(
    since: MeansSince,
    likelihoods: Floats | None,
    edges: tuple[Hypothesis, Hypothesis],
    alpha: float,
    months: str | None,
) -> MeansLook:
    """Return the evidence, limits and verdict of months on two means, at the last look.

    Parameters
    ----------
    since : MeansSince
    likelihoods : array, shape (3, months, 25), or None
        Of `split_log_likelihoods` against equal means and both edges; None of rows with weights.
    edges : two Hypothesis
        The lower and the upper end of the margin.
    alpha : float
    months : {"alike", "differ"} or None
        Whether months have effects of their own; None: as far as they scatter.
    """
    looks = len(since.weight)
    alone = since.pick(np.diag_indices(looks))
    homogeneity = compare_months(*_standardise(alone, EQUAL))
    are_alike = bool((homogeneity.p >= ALIKE).all()) if months is None else months == "alike"
    may_differ = bool(homogeneity.may_differ[-1]) if months is None else months == "differ"
    hypotheses = (EQUAL, *edges)
    evidence_by_hypothesis = []
    for i, hypothesis in enumerate(hypotheses):
        evidence = mix_starts(sums_log_evidence(since, hypothesis))
        if likelihoods is not None:
            evidence = _smaller(evidence, mix_starts(exact_log_evidence(likelihoods[i], LOG_WEIGHTS)))
        if i == 0:
            log_e_alike = float(evidence.log_e[-1])
        if may_differ:
            of_months = _standardise(alone, hypothesis)
            beyond = log_evidence_beyond_months(*of_months, MIXING_OF_MEANS, SPREADS_OF_MEANS)
            evidence = _smaller(mix_starts(beyond), evidence)
        evidence_by_hypothesis.append(evidence)
    of_equal, *of_edges = evidence_by_hypothesis
    start = int(of_equal.start[-1])
    is_beyond = False
    is_outside = False
    for sign, edge, evidence in zip((-1, 1), edges, of_edges, strict=True):
        past_edge = sign * since.contrast(edge).value[:, -1]
        is_beyond |= bool(past_edge[start] > 0)
        is_outside |= bool(evidence.p[-1] < alpha and past_edge[evidence.start[-1]] > 0)
    so_far = since.pick(0)

    def bound(hypothesis: Hypothesis) -> tuple[float, float, float]:
        if are_alike:
            return _bound_sums(so_far, hypothesis, alpha)
        return _bound_months(alone, hypothesis, alpha)

    p = float(of_equal.p[-1])
    _, low, high = bound(EQUAL)
    if p >= alpha:  # limits of sums are too narrow for a few large values
        low, high = min(low, 0.0), max(high, 0.0)
    group_since, reference_since = (float(mean[start, -1]) for mean in since.means)
    group_mean, reference_mean = (float(mean[-1]) for mean in so_far.means)
    return MeansLook(
        means=(group_mean, reference_mean),
        difference=(group_mean - reference_mean, low, high),
        ratio=_bound_ratio(bound, group_mean, reference_mean, includes_one=p >= alpha),
        p=p,
        log_evidence=(float(of_equal.log_e[-1]), float(of_equal.log_e.max()), log_e_alike),
        start=start,
        means_since=(group_since, reference_since),
        may_differ=may_differ,
        p_alike=float(homogeneity.p[-1]),
        is_beyond=is_beyond,
        is_within=bound(edges[0])[1] > 0 > bound(edges[1])[2],
        is_outside=is_outside,
    )


def _standardise(alone: MeansSince, hypothesis: Hypothesis) -> tuple[Floats, Floats]:
    """Return the contrast of each month in standard deviations of its rows, and the variance of that."""
    contrast = alone.contrast(hypothesis)
    spread = alone.spread(hypothesis)
    return divide(contrast.value, np.sqrt(spread)), divide(contrast.variance, spread)


def _smaller(first: MonthsEvidence, second: MonthsEvidence) -> MonthsEvidence:
    """Return the smaller of two evidences at each look, with the starts of the first."""
    log_e = np.minimum(first.log_e, second.log_e)
    most = np.maximum.accumulate(log_e, axis=-1)
    return MonthsEvidence(log_e, np.exp(-np.maximum(most, 0.0)), first.start)


def _bound_sums(so_far: MeansSince, hypothesis: Hypothesis, alpha: float) -> tuple[float, float, float]:
    """Return the contrast of all months with limits that hold at all looks."""
    from scipy.special import ndtr

    contrast = Contrast(*(terms[-1:] for terms in so_far.contrast(hypothesis)))
    confidence = 1 - 2 * ndtr(-largest_deviations(so_far, hypothesis, alpha)[-1])
    interval = wider_interval(contrast, confidence)
    return float(interval.value[0]), float(interval.low[0]), float(interval.high[0])


def _bound_months(alone: MeansSince, hypothesis: Hypothesis, alpha: float) -> tuple[float, float, float]:
    """Return the contrast of all months with limits by how months scatter, at the level of this look.

    The levels α/(t(t + 1)) add up to less than α.
    """
    looks = len(alone.weight)
    says = alone.weight > 0
    if says.sum() < LEAST_MONTHS:
        return math.nan, -math.inf, math.inf
    values = alone.contrast(hypothesis).value[says]
    share = alone.weight[says] / alone.weight.sum()
    mean = float(share @ values)
    error = math.sqrt(float((share**2 / (1 - share)) @ (values - mean) ** 2))
    degrees = np.asarray(1 / (share @ share) - 1)  # equal weights: one less than months
    reach = float(t_quantile(degrees, 1 - alpha / (looks * (looks + 1)))) * error
    return mean, mean - reach, mean + reach


def _bound_ratio(
    bound: Callable[[Hypothesis], tuple[float, float, float]],
    group_mean: float,
    reference_mean: float,
    *,
    includes_one: bool,
) -> tuple[float, float, float]:
    """Return the ratio of two means above 0 with the limits at which it would be rejected."""
    if not (group_mean > 0 and reference_mean > 0) or math.isnan(bound(EQUAL)[1]):
        return math.nan, math.nan, math.nan
    ends = []
    for side in (1, 2):  # the smallest ratio at which the lower limit is 0, the largest at which the upper is
        low, high = -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if bound(Hypothesis(0.0, math.exp(middle)))[side] > 0:
                low = middle
            else:
                high = middle
        ends.append(low)
    lowest = math.exp(ends[0]) if ends[0] > -LARGEST_LOG_RATIO else 0.0
    highest = math.exp(ends[1]) if ends[1] < LARGEST_LOG_RATIO - ROUNDING else math.inf
    if includes_one:
        lowest, highest = min(lowest, 1.0), max(highest, 1.0)
    return group_mean / reference_mean, lowest, highest
