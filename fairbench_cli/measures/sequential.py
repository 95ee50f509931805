"""Whether two rates differ, looked at month after month: evidence that may be read at every look.

A p-value of all rows so far, read every month, is below 5 % at some month far more often than in 5 % of fair
worlds. Evidence is not: E is 1 on average in every world in which both rates are the same in each month,
at whatever month one stops, so it ever comes to 20 in 5 % of them at most (Ville 1939; Ramdas et al. 2023).

Of a month with x of n selected in a group and y of m in its reference, x is looked at given k = x + y: at
odds that are e^θ times as high it follows Fisher's noncentral hypergeometric law, so the likelihood ratio
against θ = 0 depends on no rate, and a rate that both groups share may drift. These ratios multiply over
months. E is their mean over θ (Robbins 1970), from the first month on and from each later one, as a gap may
begin late (Shin, Ramdas & Rinaldo 2024). Where rows have weights, the likelihood is the normal one of the
score, as in Howard et al. (2021), given which rows there are.

Ratios have a sequence of limits which holds at all looks at once (the normal mixture of Howard et al., with
variances as they come: asymptotic).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, as_floats, divide

SPREAD = 0.6  # of the logarithms of odds ratios that evidence is the mean over
LOG_ODDS = np.arange(-24, 25) / 10
LOG_WEIGHTS = -(LOG_ODDS**2) / (2 * SPREAD**2) - np.log(np.exp(-(LOG_ODDS**2) / (2 * SPREAD**2)).sum())
DEVIATIONS = 12.0  # standard deviations, and terms, beyond which those of a law add nothing: below e^-70
MARGIN = 60
LONGEST_TABLE = 3000  # terms that are added for all odds at once
LONGEST_SUM = 1_000_000  # terms, of which logarithms are added up; of more they are differences of ln Γ
ROUNDING = 1e-4  # the most that those may be wrong by; so much is taken off
TUNED_LOOKS = 6  # looks after which the limits of a ratio are the narrowest that they can be
LEAST_SELECTED = 5  # in each group, before there are limits
EDGE = 12.0  # a logarithm: limits of ratios are within e^±12
STEPS = 40  # of bisection

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MonthsEvidence:
    """Evidence against equal rates at each look; arrays of shape (..., looks).

    Parameters
    ----------
    log_e : array
        ln E, from the first look on and with restarts.
    p : array
        1 / the largest E so far, 1 at most: below α in a share α of fair worlds at most, over all looks.
    start : int array
        The look, from 0, since which the months add most to E: since then the rates seem to differ.
    """

    log_e: Floats
    p: Floats
    start: Ints


def conditional_log_likelihood(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike
) -> Floats:
    """Return the log likelihood ratio of each of `LOG_ODDS` against equal odds, given all who are selected.

    Parameters
    ----------
    above, below, ref_above, ref_below : arrays of one shape (...)
        Selected, and rows, of a group and of its reference: whole numbers.

    Returns
    -------
    array, shape (..., 49)
        0 where a group has no rows, and where nobody or everybody is selected.

    Examples
    --------
    >>> found = conditional_log_likelihood(9, 40, 31, 90)  # of the odds ratios e^-0.4, 1 and e^0.4
    >>> found[[20, 24, 28]].round(4).tolist()
    [0.8582, 0.0, -1.8069]
    """
    x, n, y, m = np.broadcast_arrays(*as_floats(above, below, ref_above, ref_below))
    likelihood = np.zeros((*x.shape, len(LOG_ODDS)))
    for index in np.ndindex(x.shape):
        selected = x[index] + y[index]
        n_rows = n[index] + m[index]
        if min(n[index], m[index]) > 0 and 0 < selected < n_rows:
            normalisers = _log_normalisers(float(n[index]), float(m[index]), float(selected))
            likelihood[index] = LOG_ODDS * x[index] - normalisers
    return likelihood


@lru_cache(maxsize=10_000)
def _log_normalisers(n: float, m: float, selected: float) -> Floats:
    """Return ln of the mean of e^(θx) at equal odds, for each θ: x of n, where so many of n + m are selected.

    The terms of a sum rise and fall once. They are added around the largest of each θ alone, as those further
    away are below e^-70 of it; so a month of a million rows takes some thousands of terms.
    """
    fewest = max(0.0, selected - m)
    most = min(n, selected)
    n_terms = most - fewest + 1
    if n_terms > LONGEST_SUM:
        log_sums = _window_sums(n, m, selected, None)
    else:
        counts = np.arange(fewest, most + 1)
        log_law = _log_law(counts, n, m, selected)
        if n_terms <= LONGEST_TABLE:
            log_sums = _log_sum_exp(log_law + LOG_ODDS[:, None] * counts)
        else:
            log_sums = _window_sums(n, m, selected, log_law)
    normalisers = log_sums - log_sums[len(LOG_ODDS) // 2]
    if n_terms > LONGEST_SUM:
        normalisers = np.where(LOG_ODDS == 0, 0.0, normalisers + ROUNDING)
    return np.asarray(normalisers)


def _window_sums(n: float, m: float, selected: float, log_law: Floats | None) -> Floats:
    """Return ln Σ of the law times e^(θj) around its largest term, for each θ.

    Without `log_law`, the law of all counts j, that of the few that are added is computed.
    """
    fewest = max(0.0, selected - m)
    most = min(n, selected)
    log_sums = np.empty(len(LOG_ODDS))
    for i, theta in enumerate(LOG_ODDS.tolist()):
        mode = _most_likely_count(n, m, selected, theta)
        cells = np.maximum([mode, n - mode, selected - mode, m - selected + mode], 0.5)
        reach = DEVIATIONS / math.sqrt((1 / cells).sum()) + MARGIN
        low = max(fewest, math.floor(mode - reach))
        high = min(most, math.ceil(mode + reach))
        window = np.arange(low, high + 1)
        if log_law is None:
            terms = _log_law_by_gamma(window, n, m, selected)
        else:
            terms = log_law[int(low - fewest) : int(high - fewest) + 1]
        log_sums[i] = _log_sum_exp(terms + theta * window)
    return log_sums


def _log_law(counts: Floats, n: float, m: float, selected: float) -> Floats:
    """Return ln C(n, j) C(m, selected − j) of successive counts j, less that of the first."""
    j = counts[:-1]
    steps = np.log((n - j) / (j + 1)) + np.log((selected - j) / (m - selected + j + 1))
    return np.concatenate([[0.0], np.cumsum(steps)])


def _log_law_by_gamma(counts: Floats, n: float, m: float, selected: float) -> Floats:
    """Return ln C(n, j) C(m, selected − j), without what does not depend on j."""
    from scipy.special import gammaln

    cells = (counts, n - counts, selected - counts, m - selected + counts)
    return np.asarray(-np.sum([gammaln(cell + 1) for cell in cells], axis=0))


def _most_likely_count(n: float, m: float, selected: float, theta: float) -> float:
    """Return where the noncentral law has its mode: the root of a quadratic."""
    odds = math.exp(theta)
    a = 1 - odds
    b = m - selected + odds * (n + selected)
    c = odds * n * selected
    # The smaller root of a j² + b j − c, written so that nothing cancels.
    return 2 * c / (b + math.sqrt(b * b + 4 * a * c))


def exact_log_evidence(likelihood: Floats, log_weights: Floats = LOG_WEIGHTS) -> Floats:
    """Return ln E of the months from each start to each look, given their likelihoods.

    Parameters
    ----------
    likelihood : array, shape (..., looks, alternatives)
    log_weights : array, shape (alternatives,)
        Of those that E is the mean over: by default of `LOG_ODDS`.

    Returns
    -------
    array, shape (..., starts, looks)
        -inf where the start is after the look.
    """
    looks = likelihood.shape[-2]
    cumulated = np.cumsum(likelihood, axis=-2)
    log_e = np.full((*likelihood.shape[:-2], looks, looks), -np.inf)
    for start in range(looks):
        since = cumulated[..., start:, :]
        if start:
            since = since - cumulated[..., start - 1 : start, :]
        log_e[..., start, start:] = _log_sum_exp(since + log_weights)
    return log_e


def _log_sum_exp(values: Floats) -> Floats:
    """Return ln Σ e^v over the last axis."""
    most = values.max(-1)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - most[..., None]).sum(-1)) + most)


def score_and_variance(
    above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike
) -> tuple[Floats, Floats]:
    """Return x less what equal rates let one expect, given all who are selected, and its variance.

    Of whole numbers, or of what weighted rows are worth; both are 0 where a month says nothing.

    >>> [round(float(value), 6) for value in score_and_variance(9, 40, 31, 90)]
    [-3.307692, 5.944681]
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    n_rows = n + m
    selected = x + y
    score = x - divide(n * selected, n_rows)
    variance = divide(divide(n, n_rows) * divide(m, n_rows) * selected * (n_rows - selected), n_rows - 1)
    says = (n > 0) & (m > 0) & (selected > 0) & (selected < n_rows) & (n_rows > 1)
    return np.where(says, score, 0.0), np.where(says, variance, 0.0)


def weighted_score(
    beyond: Floats, squares: Floats, weight: Floats, plain_variance: Floats, pairs: Floats
) -> tuple[Floats, Floats]:
    """Return the score of weighted rows and its variance, as `score_and_variance` of rows without weights.

    Given the rows of a month, with their weights and decisions, at equal rates it is chance which of them are
    the group's. So the mean of the score is 0 and its variance known, though weights go with decisions.

    Parameters
    ----------
    beyond : array
        Σ w (s − p) over the rows of the group, with p the weighted rate of both groups together.
    squares, weight : arrays
        Σ w² (s − p)² over the rows of both, and their mean weight.
    plain_variance : array
        Of the score of as many rows without weights.
    pairs : array
        n m / (N (N − 1)), with n of N rows in the group.

    Examples
    --------
    >>> x, n, y, m = 9.0, 40.0, 31.0, 90.0
    >>> p = (x + y) / (n + m)
    >>> squares = (x + y) * (1 - p) ** 2 + (n + m - x - y) * p**2
    >>> _, variance = score_and_variance(x, n, y, m)
    >>> weights = (3.0 * (x - n * p), 9.0 * squares, 3.0, variance, n * m / (n + m) / (n + m - 1))
    >>> [round(float(value), 6) for value in weighted_score(*(np.asarray(value) for value in weights))]
    [-3.307692, 5.944681]
    """
    variance = pairs * squares
    factor = np.where(variance > 0, divide(weight * plain_variance, variance), 0.0)
    return np.nan_to_num(beyond * factor), np.nan_to_num(variance * factor**2)


def normal_log_evidence(score: Floats, variance: Floats) -> Floats:
    """Return ln E of the months from each start to each look by their scores, which are about normal.

    Parameters
    ----------
    score, variance : arrays, shape (..., looks)
        Of each month.

    Returns
    -------
    array, shape (..., starts, looks)
        -inf where the start is after the look.
    """
    looks = score.shape[-1]
    log_e = np.full((*score.shape, looks), -np.inf)
    for start in range(looks):
        total = np.cumsum(score[..., start:], axis=-1)
        scaled = 1 + SPREAD**2 * np.cumsum(variance[..., start:], axis=-1)
        log_e[..., start, start:] = SPREAD**2 * total**2 / (2 * scaled) - np.log(scaled) / 2
    return log_e


def clustered_log_evidence(score: Floats, variance: Floats, plain_variance: Floats) -> Floats:
    """Return ln E of all months by their scores, where rows share clusters: about normal, too.

    The spread of log odds is `SPREAD` by how many independent rows the rows are worth.

    Parameters
    ----------
    score, variance, plain_variance : arrays, shape (..., looks)
        Of all months until then; the variance between clusters, and that of as many independent rows.

    Examples
    --------
    >>> score = np.array([-25.6, -25.6])
    >>> clustered_log_evidence(score, np.array([32.8, 65.6]), np.array(32.8)).round(2).tolist()
    [7.94, 3.33]
    """
    scale = SPREAD**2 * np.asarray(plain_variance)
    z_square = np.where(variance > 0, divide(score**2, variance), 0.0)
    return np.asarray((scale * z_square / (1 + scale) - np.log1p(scale)) / 2)


def start_at_first(log_e: Floats) -> MonthsEvidence:
    """Return evidence without restarts, given ln E of all months at each look."""
    most = np.maximum.accumulate(log_e, axis=-1)
    return MonthsEvidence(log_e, np.exp(-np.maximum(most, 0.0)), np.zeros(log_e.shape, dtype=np.intp))


def mix_starts(log_e: Floats) -> MonthsEvidence:
    """Return the evidence at each look, given ln E from each start: half of all months, half of restarts.

    A restart at month s has the weight 1 / (s (s + 1)); those that are still to come count as E = 1.

    >>> log_e = normal_log_evidence(np.array([-3.307692, -1.129033]), np.array([5.944681, 5.991219]))
    >>> mix_starts(log_e).log_e.round(3).tolist()
    [0.042, -0.159]
    """
    looks = log_e.shape[-1]
    months = np.arange(1.0, looks + 1)
    log_weights = -np.log(2 * months * (months + 1))
    log_weights[0] = math.log(0.75)
    weighted = log_e + log_weights[:, None]
    still_to_come = np.broadcast_to(-np.log(2 * (months + 1)), (*log_e.shape[:-2], 1, looks))
    mixed = _log_sum_exp(np.swapaxes(np.concatenate([weighted, still_to_come], axis=-2), -1, -2))
    most = np.maximum.accumulate(mixed, axis=-1)
    return MonthsEvidence(mixed, np.exp(-np.maximum(most, 0.0)), np.argmax(weighted, axis=-2))


@dataclass(frozen=True, eq=False)
class RatioLooks:
    """What is known of the ratio of two rates at each look; arrays of shape (..., looks).

    The score of a ratio τ is Σ h (x/n − τ y/m) over the months, with h = nm / (n + m).

    Parameters
    ----------
    group_sum, reference_sum : array
        Σ h x/n and Σ h y/m.
    group_variance, reference_variance : array
        Of these sums; the rates of all rows so far, as if one more row were selected and one more were not.
    covariance : array
        Of both: 0 but for clusters with rows of both.
    tuning : array
        Times the variance at the first look that has limits, in which a look's variance is counted.
    start_look : int array, shape (...)
        That look, or none where it is the number of looks.
    weight_sum : array
        Σ h, by which the score of a difference d is Σ h (x/n − y/m − d).
    """

    group_sum: Floats
    reference_sum: Floats
    group_variance: Floats
    reference_variance: Floats
    covariance: Floats
    tuning: Floats
    start_look: Ints
    weight_sum: Floats

    def log_evidence(self, ratio: ArrayLike, alpha: float = 0.05) -> Floats:
        """Return ln of the evidence against a ratio, with the sign of whether the true one is larger.

        Parameters
        ----------
        ratio : array
            That fits the shape of looks.
        alpha : float
            The level at which limits are narrowest after `TUNED_LOOKS` looks.

        Returns
        -------
        array, shape (..., looks)
            The ratio is outside the limits where it is above ln(1/α) or below −ln(1/α). 0 before the first
            look that has limits, and where there is no evidence.
        """
        tau = np.asarray(ratio, dtype=np.float64)
        score = self.group_sum - tau * self.reference_sum
        return self._signed_evidence(score, self._variance(tau), self._mixing_variance(tau, alpha))

    def _variance(self, tau: ArrayLike) -> Floats:
        """Return the variance of the score of a ratio; at 1 that of a difference."""
        tau = np.asarray(tau)
        return np.asarray(self.group_variance - 2 * tau * self.covariance + tau**2 * self.reference_variance)

    def _signed_evidence(self, score: Floats, variance: Floats, q: Floats) -> Floats:
        """Return the evidence by a score, with its sign; 0 where there are no limits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = (score**2 / (q + variance) - np.log((q + variance) / q)) / 2
        evidence = np.where(self.has_limits & (q > 0), np.maximum(evidence, 0.0), 0.0)
        return np.copysign(evidence, score)

    def _mixing_variance(self, tau: Floats, alpha: float) -> Floats:
        """Return the variance, at a ratio, with which limits are narrowest after `TUNED_LOOKS` looks."""
        start = np.minimum(self.start_look, self.group_sum.shape[-1] - 1)[..., None]
        twice = 2 * math.log(1 / alpha)
        first_group = np.take_along_axis(self.group_variance, start, -1)
        first_reference = np.take_along_axis(self.reference_variance, start, -1)
        first_covariance = np.take_along_axis(self.covariance, start, -1)
        first_variance = first_group - 2 * tau * first_covariance + tau**2 * first_reference
        tuned = first_variance * self.tuning[..., None]
        return np.asarray(tuned / (twice + math.log1p(twice)))

    @property
    def has_limits(self) -> NDArray[np.bool_]:
        """Which looks have limits."""
        return np.asarray(np.arange(self.group_sum.shape[-1]) >= self.start_look[..., None])

    def log_difference_evidence(self, difference: ArrayLike, alpha: float = 0.05) -> Floats:
        """Return ln of the evidence against a difference of the rates, as `log_evidence` does of a ratio."""
        score = self.group_sum - self.reference_sum - np.asarray(difference) * self.weight_sum
        return self._signed_evidence(score, self._variance(1.0), self._mixing_variance(np.ones(1), alpha))

    def difference_limits(self, alpha: float = 0.05) -> tuple[Floats, Floats]:
        """Return the limits of the difference at each look: -1 and 1 where there are none.

        >>> looks = ratio_looks([70, 60, 65], [200] * 3, [100, 110, 105], [200] * 3)
        >>> [limit.round(2).tolist() for limit in looks.difference_limits()]
        [[-0.32, -0.31, -0.29], [0.02, -0.09, -0.11]]
        """
        variance = self._variance(1.0)
        q = self._mixing_variance(np.ones(1), alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.sqrt((q + variance) * (2 * math.log(1 / alpha) + np.log((q + variance) / q)))
        has_limits = self.has_limits & (q > 0) & (self.weight_sum > 0)
        middle = divide(self.group_sum - self.reference_sum, self.weight_sum)
        half = divide(reach, self.weight_sum)
        low = np.where(has_limits, np.maximum(middle - half, -1.0), -1.0)
        high = np.where(has_limits, np.minimum(middle + half, 1.0), 1.0)
        return low, high

    def limits(self, alpha: float = 0.05) -> tuple[Floats, Floats]:
        """Return the limits of the ratio at each look: 0 and infinity where there are none."""
        shape = self.group_sum.shape
        limit = math.log(1 / alpha)
        # The larger a ratio, the less says that the true one is larger still: from `limit` to its negative.
        ends = []
        for target in (limit, -limit):
            low = np.full(shape, -EDGE)
            high = np.full(shape, EDGE)
            for _ in range(STEPS):
                middle = (low + high) / 2
                is_below = self.log_evidence(np.exp(middle), alpha) > target
                low = np.where(is_below, middle, low)
                high = np.where(is_below, high, middle)
            ends.append((low + high) / 2)
        lower = np.where(ends[0] < 1e-6 - EDGE, 0.0, np.exp(ends[0]))
        upper = np.where(ends[1] > EDGE - 1e-6, np.inf, np.exp(ends[1]))
        return lower, upper


def ratio_looks(above: ArrayLike, below: ArrayLike, ref_above: ArrayLike, ref_below: ArrayLike) -> RatioLooks:
    """Return the sums behind the limits of the ratio of two rates, after each month.

    Parameters
    ----------
    above, below, ref_above, ref_below : arrays, shape (..., months)
        They may be fractions: what weighted rows are worth.

    Examples
    --------
    >>> looks = ratio_looks([70, 60, 65], [200] * 3, [100, 110, 105], [200] * 3)
    >>> [limit.round(2).tolist() for limit in looks.limits()]
    [[0.44, 0.46, 0.49], [1.05, 0.81, 0.76]]
    """
    x, n, y, m = as_floats(above, below, ref_above, ref_below)
    counts = (n > 0) & (m > 0)
    x, n, y, m = (np.where(counts, numbers, 0.0) for numbers in (x, n, y, m))
    h = np.where(counts, divide(n * m, n + m), 0.0)
    sums = []
    variances = []
    selected = []
    for numerator, denominator in ((x, n), (y, m)):
        sums.append(np.cumsum(np.where(counts, h * divide(numerator, denominator), 0.0), axis=-1))
        all_selected = np.cumsum(numerator, axis=-1)
        rate = (all_selected + 1) / (np.cumsum(denominator, axis=-1) + 2)
        spread = np.cumsum(np.where(counts, h**2 / np.maximum(denominator - 1, 1.0), 0.0), axis=-1)
        variances.append(rate * (1 - rate) * spread)
        selected.append(all_selected)
    has_limits = (selected[0] >= LEAST_SELECTED) & (selected[1] >= LEAST_SELECTED)
    start_look = np.where(has_limits.any(-1), np.argmax(has_limits, axis=-1), has_limits.shape[-1])
    until_first = np.arange(counts.shape[-1]) <= start_look[..., None]
    n_months = np.maximum((counts & until_first).sum(-1), 1)
    tuning = np.maximum(TUNED_LOOKS / n_months, 1.0)
    return RatioLooks(
        group_sum=sums[0],
        reference_sum=sums[1],
        group_variance=variances[0],
        reference_variance=variances[1],
        covariance=np.zeros_like(variances[0]),
        tuning=tuning,
        start_look=start_look,
        weight_sum=np.cumsum(h, axis=-1),
    )


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Sums of the weights of rows, their squares, and how many rows these are; arrays (..., months)."""

    selected: Floats
    total: Floats
    selected_square: Floats
    square: Floats
    n_selected: Floats
    n_rows: Floats


def weighted_ratio_looks(looks: RatioLooks, rows: WeightedRows, ref_rows: WeightedRows) -> RatioLooks:
    """Return the sums behind the limits of the ratio of two rates of weighted rows, after each month.

    Σ h (x/n − τ y/m) is of weights here: at equal rates its mean is 0 by symmetry, whatever weights go with
    decisions. By what rows of a month are worth, those with a heavy row would count for less than others.

    The squares of weights, of the selected and of others, are those of the side, or of both sides together
    where these are larger: a side with few rows may have missed its heavy ones by chance.

    Parameters
    ----------
    looks : RatioLooks
        By what the rows are worth: when limits begin is taken from it.
    rows, ref_rows : WeightedRows
    """
    both = rows.total + ref_rows.total
    sums = []
    variances = []
    scales = []
    for side in (rows, ref_rows):
        scales.append(divide(np.cumsum(side.n_rows, axis=-1), np.cumsum(side.total, axis=-1)))
    squares = _pool_squares((rows, ref_rows), scales)
    for side, other, scale in ((rows, ref_rows, scales[0]), (ref_rows, rows, scales[1])):
        factor = np.nan_to_num(divide(other.total, both))  # h over the weight of the side
        sums.append(np.cumsum(factor * side.selected, axis=-1))
        mean = divide(1.0, scale)
        rate = divide(np.cumsum(side.selected, axis=-1) + mean, np.cumsum(side.total, axis=-1) + 2 * mean)
        variance = np.zeros_like(rate)
        n_others = side.n_rows - side.n_selected
        other_square = side.square - side.selected_square
        parts = (
            (1 - rate, side.selected_square, side.n_selected, squares[0]),
            (rate, other_square, n_others, squares[1]),
        )
        for distance, side_square, n_counted, square in parts:
            side_sum = np.cumsum(factor**2 * side_square, axis=-1)
            pooled_sum = np.cumsum(factor**2 * n_counted, axis=-1) * divide(square, scale**2)
            variance = variance + distance**2 * np.fmax(side_sum, pooled_sum)
        variances.append(np.nan_to_num(variance))
    return replace(
        looks,
        group_sum=sums[0],
        reference_sum=sums[1],
        group_variance=variances[0],
        reference_variance=variances[1],
        covariance=np.zeros_like(variances[0]),
    )


def _pool_squares(sides: Sequence[WeightedRows], scales: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the mean squared weight of the selected and of others so far, of sides scaled to a mean of 1."""
    shape = np.shape(sides[0].total)
    selected_square, square, n_selected, n_rows = np.zeros((4, *shape))
    for side, scale in zip(sides, scales, strict=True):
        scale_square = np.nan_to_num(scale**2)
        selected_square = selected_square + scale_square * np.cumsum(side.selected_square, axis=-1)
        square = square + scale_square * np.cumsum(side.square, axis=-1)
        n_selected = n_selected + np.cumsum(side.n_selected, axis=-1)
        n_rows = n_rows + np.cumsum(side.n_rows, axis=-1)
    of_selected = divide(selected_square, n_selected)
    return of_selected, divide(square - selected_square, n_rows - n_selected)
