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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures import month_effects
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import Contrast, MeanInterval, wider_interval
from fairbench_cli.measures.moments import Moments
from fairbench_cli.measures.sequential import TUNED_LOOKS, MonthsEvidence, exact_log_evidence, mix_starts
from fairbench_cli.measures.splits import SEED, draw_splits, studentised

SPREAD = 0.3  # of the differences, in standard deviations, that evidence is the mean over
SHIFTS = np.arange(-12, 13) / 10
LOG_WEIGHTS = -(SHIFTS**2) / (2 * SPREAD**2) - np.log(np.exp(-(SHIFTS**2) / (2 * SPREAD**2)).sum())
LARGEST_T = 20.0
SPLITS = 999  # that are drawn of a month, beside the true one
LEAST_ROWS = 100  # of the smaller side, before sums say anything
LEAST_OF_SIDE = 2  # rows in a month, which has a variance then
FARTHEST = 12.0  # of the logarithm of a ratio
HALVINGS = 45
MOST_DEVIATIONS = 37.0  # normal ones, beyond which a probability is 0

Index = int | slice | NDArray[np.intp]


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


@dataclass(frozen=True, eq=False)
class MeansSince:
    """Two sides over the months from each start to each look; arrays (starts, looks), 0 before the start.

    Parameters
    ----------
    weight : array
        Σ h, of h = n m/(n + m) of the n and m rows of a month; 0 where a side has fewer than two.
    rows : array
        Of the smaller side.
    group, reference : array, shape (5, starts, looks)
        Sums over months, with h, h², h³, h⁴ and h: of a side's mean less the moments' shift, that mean's
        variance v, its third central moment, v²/(rows − 1), and what its rows add to the pooled variance.
    shift : float
        Of the moments.
    """

    weight: Floats
    rows: Floats
    group: Floats
    reference: Floats
    shift: float

    def contrast(self, hypothesis: Hypothesis = EQUAL) -> tuple[Contrast, Floats]:
        """Return Σ h (m_g − shift − scale m_r)/Σ h, 0 on average by the hypothesis, and rows' variance."""
        c = hypothesis.scale
        signs = np.array([-c, c**2, -(c**3), c**4, c**2]).reshape(5, *[1] * self.weight.ndim)
        # Both are less the moments' shift, so that a difference of large numbers keeps its digits.
        distance, variance, third, quotient, spread = self.group + signs * self.reference
        contrast = Contrast(
            divide(distance, self.weight) + self.shift * (1 - c) - hypothesis.shift,
            divide(variance, self.weight**2),
            divide(variance**2, quotient),
            divide(third, self.weight**3),
        )
        return contrast, divide(spread, self.weight)

    def pick(self, start: Index, look: Index) -> "MeansSince":
        """Return the sums of some starts and looks."""
        group = self.group[:, start, look]
        reference = self.reference[:, start, look]
        return MeansSince(self.weight[start, look], self.rows[start, look], group, reference, self.shift)

    def pick_months(self) -> "MeansSince":
        """Return the sums of each month alone."""
        months = np.arange(len(self.weight))
        return self.pick(months, months)

    @property
    def means(self) -> Floats:
        """The means of both sides over the months, each month with the same weight for both."""
        return divide(np.stack([self.group[0], self.reference[0]]), self.weight) + self.shift


def sum_since(group: Moments, reference: Moments) -> MeansSince:
    """Return the sums of months from each start to each look, of moments of shape (months,).

    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> since = sum_since(sum_powers_along([[1.0, 2, 6], [2, 4, 6]]), sum_powers_along([[5.0, 7], [6, 8]]))
    >>> contrast, spread = since.contrast()
    >>> contrast.value.round(3).tolist(), spread[0].round(3).tolist()
    ([[-3.0, -3.0], [nan, -3.0]], [5.333, 4.333])
    """
    n = group.effective_rows
    m = reference.effective_rows
    says = np.minimum(group.rows, reference.rows) >= LEAST_OF_SIDE
    is_since = np.triu(np.ones((len(says), len(says)), dtype=bool)) & says
    h = divide(n * m, n + m)

    def since(terms: Sequence[Floats]) -> Floats:
        """Add up from each start: differences of sums from the first on would lose digits."""
        return np.cumsum(np.where(is_since, np.nan_to_num(np.stack(terms))[:, None], 0.0), axis=-1)

    sides = []
    for side, rows in ((group, n), (reference, m)):
        variance = side.variance_of_mean
        quotient = divide(variance**2, rows - 1)
        spread = divide((rows - 1) * side.variance, n + m - 2)
        terms = [h * (side.mean - side.shift), h**2 * variance, h**3 * side.third_of_mean, h**4 * quotient]
        terms.append(h * spread)
        sides.append(since(terms))
    weight, n_rows = since([h, np.minimum(n, m)])
    return MeansSince(weight, n_rows, sides[0], sides[1], group.shift)


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
    contrast, spread = since.contrast(hypothesis)
    says = (since.rows >= LEAST_ROWS) & (contrast.variance > 0)
    scale = np.where(says, SPREAD**2 * divide(spread, contrast.variance), 0.0)
    log_e = (scale * normal_deviations(contrast) ** 2 / (1 + scale) - np.log1p(scale)) / 2
    return np.where(np.triu(np.ones(log_e.shape, dtype=bool)), log_e, -np.inf)


def _bound_sums(so_far: MeansSince, hypothesis: Hypothesis, alpha: float) -> MeanInterval:
    """Return the contrast of all months at the last look with limits that hold at all looks.

    The normal mixture of Howard et al. (2021), narrowest after `TUNED_LOOKS` months. No limits before the
    first look that has `LEAST_ROWS` rows of the smaller side.
    """
    from scipy.special import ndtr

    contrast, _ = so_far.contrast(hypothesis)
    variance = contrast.variance * so_far.weight**2
    has_limits = (so_far.rows >= LEAST_ROWS) & (variance > 0)
    deviations = math.inf
    if has_limits.any():
        first = int(np.argmax(has_limits))
        months = np.count_nonzero(np.diff(so_far.weight[: first + 1], prepend=0.0))
        twice = 2 * math.log(1 / alpha)
        q = variance[first] * TUNED_LOOKS / months / (twice + math.log1p(twice))
        scale = (q + variance[-1]) / q
        deviations = math.sqrt(scale / (scale - 1) * (math.log(scale) + twice))
    return wider_interval(Contrast(*(terms[-1] for terms in contrast)), 1 - 2 * ndtr(-deviations))


# -- evidence by splits


def split_log_likelihoods(
    months: Sequence[tuple[Floats, Floats]],
    since: MeansSince,
    are_split: NDArray[np.bool_],
    hypotheses: Sequence[Hypothesis],
) -> Floats:
    """Return ln of how likely each month is at each of `SHIFTS` against each hypothesis.

    Parameters
    ----------
    months : sequence of two arrays, shape (rows,)
        The values of the group and of the reference. The place of a month, from 1, is added to the seed: with
        one seed for all months the errors of draws would add up.
    since : MeansSince
    are_split : bool array, shape (months,)
        Which months need splits (`needs_splits`); the t of others is normal.
    hypotheses : sequence of Hypothesis

    Returns
    -------
    array, shape (hypotheses, months, 25)
        0 where a side has fewer than two rows.
    """
    alone = since.pick_months()
    alternatives = np.multiply.outer(np.sqrt(alone.weight), SHIFTS)
    likelihoods = np.zeros((len(hypotheses), *alternatives.shape))
    for i, hypothesis in enumerate(hypotheses):
        contrast, _ = alone.contrast(hypothesis)
        t = np.nan_to_num(divide(contrast.value, np.sqrt(contrast.variance)), posinf=0.0, neginf=0.0)
        likelihoods[i] = alternatives * t[:, None] - alternatives**2 / 2 * (contrast.variance > 0)[:, None]
    for month in np.flatnonzero(are_split & (alone.weight > 0)).tolist():
        splits = draw_splits(months[month][0], months[month][1], SPLITS, SEED + month + 1)
        for i, hypothesis in enumerate(hypotheses):
            t_of_month, t_of_splits = studentised(splits, hypothesis.shift, hypothesis.scale)
            if not splits.is_exact:
                t_of_splits = np.append(t_of_splits, t_of_month)
            exponents = np.multiply.outer(alternatives[month], np.clip(t_of_splits, -LARGEST_T, LARGEST_T))
            most = exponents.max(-1)
            log_mean = most + np.log(np.exp(exponents - most[:, None]).mean(-1))
            likelihoods[i, month] = (
                alternatives[month] * np.clip(t_of_month, -LARGEST_T, LARGEST_T) - log_mean
            )
    return likelihoods


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
    log_evidence : two pairs of floats
        ln E of this look and the largest so far: against equal means in each month, and beyond their scatter.
    start : int
        The month, from 0, since which the months add most to E.
    means_since : two floats
        Since then.
    by_months : bool
        Whether p goes by the second.
    p_same, month_spread : float
        Of "the difference is the same in all months"; and how far it scatters, a standard deviation.
    is_beyond, is_within, is_outside : bool
        Whether the difference since the start is beyond the margin; that of all months is shown to be within;
        and that since some start is shown to be beyond.
    """

    means: tuple[float, float]
    difference: tuple[float, float, float]
    ratio: tuple[float, float, float]
    p: float
    log_evidence: tuple[tuple[float, float], ...]
    start: int
    means_since: tuple[float, float]
    by_months: bool
    p_same: float
    month_spread: float
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
    alone = since.pick_months()
    homogeneity = month_effects.compare_months(*_standardise(alone, EQUAL))
    may_differ = months == "differ"
    are_alike = months == "alike"
    if months is None:
        may_differ = bool(homogeneity.may_differ[-1])
        are_alike = bool((homogeneity.p >= month_effects.ALIKE).all())
    judged = []
    for i, hypothesis in enumerate((EQUAL, *edges)):
        alike = mix_starts(sums_log_evidence(since, hypothesis))
        if likelihoods is not None:
            alike = _smaller(alike, mix_starts(exact_log_evidence(likelihoods[i], LOG_WEIGHTS)))
        of_months = _standardise(alone, hypothesis)
        beyond = month_effects.log_evidence_beyond_months(
            *of_months, month_effects.MIXING_OF_MEANS, month_effects.SPREADS_OF_MEANS
        )
        pair = (alike, _smaller(mix_starts(beyond), alike))
        judged.append(pair[may_differ])
        if hypothesis is EQUAL:
            log_evidence = tuple(
                (float(evidence.log_e[-1]), float(evidence.log_e.max())) for evidence in pair
            )
    start = int(judged[0].start[-1])
    is_beyond = False
    is_outside = False
    for sign, edge, evidence in zip((-1, 1), edges, judged[1:], strict=True):
        past_edge = sign * since.contrast(edge)[0].value[:, -1]
        is_beyond |= bool(past_edge[start] > 0)
        is_outside |= bool(evidence.p[-1] < alpha and past_edge[evidence.start[-1]] > 0)

    def bound(hypothesis: Hypothesis) -> tuple[float, float]:
        """Return the limits of the contrast of all months."""
        if are_alike:
            interval = _bound_sums(since.pick(0, slice(None)), hypothesis, alpha)
            return float(interval.low), float(interval.high)
        contrast, _ = alone.contrast(hypothesis)
        level = alpha / (looks * (looks + 1))  # these add up to less than α over all looks
        low, high = month_effects.pool_months(contrast.value, contrast.variance).limits(np.asarray(level))
        return float(low), float(high)

    p = float(judged[0].p[-1])
    # Limits hold what is not rejected, as those of sums are narrow for rare large values.
    is_open = p >= alpha
    low, high = bound(EQUAL)
    contrast, _ = alone.contrast()
    spread = month_effects.pool_months(contrast.value, contrast.variance).spread
    weight = alone.weight
    if not are_alike:
        weight = np.nan_to_num(divide(1.0, contrast.variance + spread**2))
    mine, theirs = divide(np.nan_to_num(alone.means) @ weight, weight.sum()).tolist()
    ratio = (math.nan, math.nan, math.nan)
    if mine > 0 and theirs > 0 and not math.isnan(low):
        limits = _widen(_find_ratio(bound, 0), _find_ratio(bound, 1), 1.0, is_open=is_open)
        ratio = (mine / theirs, *limits)
    return MeansLook(
        means=(mine, theirs),
        difference=(mine - theirs, *_widen(low, high, 0.0, is_open=is_open)),
        ratio=ratio,
        p=p,
        log_evidence=log_evidence,
        start=start,
        means_since=tuple(since.means[:, start, -1].tolist()),
        by_months=may_differ,
        p_same=float(homogeneity.p[-1]),
        month_spread=float(spread),
        is_beyond=is_beyond,
        is_within=bound(edges[0])[0] > 0 > bound(edges[1])[1],
        is_outside=is_outside,
    )


def _standardise(alone: MeansSince, hypothesis: Hypothesis) -> tuple[Floats, Floats]:
    """Return the contrast of each month in standard deviations of its rows, and the variance of that."""
    contrast, spread = alone.contrast(hypothesis)
    return divide(contrast.value, np.sqrt(spread)), divide(contrast.variance, spread)


def _smaller(first: MonthsEvidence, second: MonthsEvidence) -> MonthsEvidence:
    """Return the smaller of two evidences at each look, with the starts of the first."""
    log_e = np.minimum(first.log_e, second.log_e)
    most = np.maximum.accumulate(log_e, axis=-1)
    return MonthsEvidence(log_e, np.exp(-np.maximum(most, 0.0)), first.start)


def _widen(low: float, high: float, value: float, *, is_open: bool) -> tuple[float, float]:
    """Return limits that hold a value, if it is open whether it is the true one."""
    if is_open:
        return min(low, value), max(high, value)
    return low, high


def _find_ratio(bound: Callable[[Hypothesis], tuple[float, float]], side: int) -> float:
    """Return the ratio of means at which a limit of the contrast is 0; 0 or infinite where there is none."""
    low = -FARTHEST
    high = FARTHEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if bound(Hypothesis(0.0, math.exp(middle)))[side] > 0:
            low = middle
        else:
            high = middle
    if low == -FARTHEST:
        return 0.0
    return math.exp(low) if high < FARTHEST else math.inf
