"""Whether months have an effect of their own on a gap, and evidence for a gap beyond their scatter.

A campaign or a holiday may move one group's rate for a month. Evidence against "the rates are equal in each
month" (`sequential`) then grows though nothing lasts. Evidence beyond the scatter of months is against
"months have independent normal effects around 0, of any spread τ": the likelihood of a gap, over the largest
that any τ gives without one (universal inference: Wasserman, Ramdas & Balakrishnan 2020). It is 1 on average
at most, whenever one stops, and needs no estimate of τ. Effects that last for months are a gap to it.

A month has an estimate of the gap and its variance: of rates the logarithm of the odds ratio in one step,
score / variance, and 1 / variance (`sequential.score_and_variance`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide

MIXING = 0.36  # variance of the logarithms of odds ratios that evidence is the mean over
MIXING_OF_MEANS = 0.09  # of differences of means, in standard deviations
SPREADS = np.array([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5])
SPREADS_OF_MEANS = SPREADS / 2
FEWEST_ALIKE = 6  # months, of which nothing can tell their effects from a gap
ALIKE = 0.2  # p-value: at a smaller one months count as not alike, from then on
STEPS = 100  # of Newton's method, at most


@dataclass(frozen=True, eq=False)
class Homogeneity:
    """Whether the gap is the same in all months so far; arrays of shape (..., looks).

    Parameters
    ----------
    q : array
        Σ (estimate − their mean)² / variance, months weighted by 1 / variance.
    df : int array
        Months that say something, less one; -1 where there are none.
    p : array
        Of `q` as χ² with `df` degrees; 1 where there are fewer than two months.
    differ : bool array
        From the first look on at which p < .2.
    """

    q: Floats
    df: NDArray[np.intp]
    p: Floats
    differ: NDArray[np.bool_]

    @property
    def may_differ(self) -> NDArray[np.bool_]:
        """Where they differ, and up to the sixth month."""
        return np.asarray(self.differ | (self.df < FEWEST_ALIKE))


def compare_months(estimate: Floats, variance: Floats) -> Homogeneity:
    """Return whether months are alike, at each look.

    Parameters
    ----------
    estimate, variance : arrays, shape (..., looks)
        Of each month; a variance that is infinite, or no number, leaves the month out.

    Examples
    --------
    >>> found = compare_months(np.array([0.0, -0.4, 0.4]), np.array([0.07, 0.07, 0.08]))
    >>> found.q.round(3).tolist(), found.p.round(3).tolist()
    ([0.0, 1.143, 4.273], [1.0, 0.285, 0.118])
    """
    from scipy.special import chdtrc

    y, v = _leave_out_silent(estimate, variance)
    weight = 1 / v
    total = np.cumsum(weight, axis=-1)
    earlier = total - weight
    says = np.isfinite(v)
    means = np.cumsum(weight * y, axis=-1) / np.where(total > 0, total, 1.0)
    before = np.concatenate([np.zeros_like(means[..., :1]), means[..., :-1]], axis=-1)
    q = np.cumsum(weight * earlier / np.where(total > 0, total, 1.0) * (y - before) ** 2, axis=-1)
    df = np.cumsum(says, axis=-1) - 1
    p = np.where(df > 0, chdtrc(np.maximum(df, 1), q), 1.0)
    return Homogeneity(q, df, p, np.minimum.accumulate(p, axis=-1) < ALIKE)


def log_evidence_beyond_months(
    estimate: Floats, variance: Floats, mixing: float = MIXING, spreads: Floats = SPREADS
) -> Floats:
    """Return ln E of the months from each start to each look, beyond the scatter of months.

    Parameters
    ----------
    estimate, variance : arrays, shape (..., looks)
        Of each month, as `compare_months` takes them.
    mixing : float
        The variance of the gaps that E is the mean over.
    spreads : array
        The τ that the largest likelihood without a gap is taken over; 0 first, then rising.

    Returns
    -------
    array, shape (..., starts, looks)
        -inf where the start is after the look; `sequential.mix_starts` takes it.

    Examples
    --------
    >>> estimate, variance = np.array([-0.8, -1.0, -0.9]), np.full(3, 0.04)
    >>> log_evidence_beyond_months(estimate, variance)[0].round(2).tolist()
    [-0.05, 1.13, 2.79]
    """
    y, v = _leave_out_silent(estimate, variance)
    looks = y.shape[-1]
    total_variance = v[..., None] + spreads**2
    weight = 1 / total_variance
    says = np.isfinite(total_variance)
    likelihood = np.where(says, -(y[..., None] ** 2) * weight - np.log(np.where(says, total_variance, 1)), 0)
    without_gap = np.cumsum(likelihood / 2, axis=-2)
    weighted = np.log(_spread_weights(spreads)) + without_gap - without_gap.max(-1, keepdims=True)
    log_e = np.full((*y.shape, looks), -np.inf)
    for start in range(looks):
        a = 1 + mixing * np.cumsum(weight[..., start:, :], axis=-2)
        b = np.cumsum((weight * y[..., None])[..., start:, :], axis=-2)
        gain = mixing * b**2 / (2 * a) - np.log(a) / 2
        log_e[..., start, start:] = np.logaddexp.reduce(weighted[..., start:, :] + gain, axis=-1)
    return log_e


def _leave_out_silent(estimate: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the estimates and variances, of months that say nothing 0 and infinity."""
    says = np.isfinite(estimate) & np.isfinite(variance) & (variance > 0)
    return np.where(says, estimate, 0.0), np.where(says, variance, np.inf)


def _spread_weights(spreads: Floats) -> Floats:
    """Return the weight of each τ: half on 0, the rest as half a normal law by the widths of the grid.

    >>> _spread_weights(SPREADS)[[0, 1, -2]].round(4).tolist()
    [0.5, 0.0694, 0.0019]
    """
    middle = 0.2 * spreads[-1]
    density = np.exp(-(spreads**2) / (2 * middle**2)) * np.gradient(spreads)
    density[0] = density[1:].sum()
    return np.asarray(density / density.sum())


@dataclass(frozen=True, eq=False)
class MonthsMean:
    """The mean gap of months that differ, its error, their standard deviation τ, and months less one."""

    mean: Floats
    error: Floats
    spread: Floats
    df: NDArray[np.intp]

    def limits(self, alpha: ArrayLike) -> tuple[Floats, Floats]:
        """Return the limits of the mean at a level, infinite where there are fewer than two months."""
        from scipy.special import stdtrit

        reach = -stdtrit(np.maximum(self.df, 1), np.asarray(alpha) / 2) * self.error
        reach = np.where(self.df > 0, reach, np.inf)
        return self.mean - reach, self.mean + reach

    def p_at(self, edge: Floats) -> Floats:
        """Return the two-sided p-value of a mean; 1 where there are fewer than two months."""
        from scipy.special import stdtr

        t = -np.abs(divide(self.mean - edge, self.error))
        return np.where(self.df > 0, 2 * stdtr(np.maximum(self.df, 1), t), 1.0)


def pool_months(estimate: Floats, variance: Floats) -> MonthsMean:
    """Return the mean of months of shape (..., months) that differ by τ: Paule & Mandel's, with Student's t.

    Its error is that of Hartung & Knapp, and no smaller than if months were alike.

    >>> pooled = pool_months(np.array([-0.8, 0.1, -0.4]), np.full(3, 0.04))
    >>> [round(float(value), 3) for value in (pooled.mean, pooled.error, pooled.spread)]
    [-0.367, 0.26, 0.404]
    """
    y, v = _leave_out_silent(estimate, variance)
    df = np.isfinite(v).sum(-1) - 1
    square = np.zeros(y.shape[:-1])
    for _ in range(STEPS):
        weight = 1 / (v + square[..., None])
        total = np.where(df >= 0, weight.sum(-1), 1.0)
        mean = (weight * y).sum(-1) / total
        distances = weight * (y - mean[..., None]) ** 2
        excess = distances.sum(-1) - df
        step = np.where((df > 0) & (excess > 0), divide(excess, (weight * distances).sum(-1)), 0.0)
        square = square + step
        if (step <= 1e-12 * square).all():
            break
    return MonthsMean(mean, 1 / np.sqrt(total), np.sqrt(square), df)


def pool_gaps(
    sides: tuple[Floats, Floats, Floats, Floats], shares: NDArray[np.bool_]
) -> tuple[MonthsMean, MonthsMean]:
    """Return the mean of the logarithms of ratios of the months until each look, and that of differences.

    Of the logarithm of a month's ratio it is the step from that of all these months; so are the variances
    by their rates, as those of a month say little where few are selected.

    Parameters
    ----------
    sides : four arrays, shape (..., looks)
        Selected, and rows, of a group and of its reference: what they are worth.
    shares : bool array, shape (..., 1)
        Which are shares of a list, whose rows are how long it is.
    """
    x, n, y, m = sides
    counts = (n > 0) & (m > 0)
    seen = np.tri(x.shape[-1], dtype=bool) & counts[..., None, :]
    gap, log_gap, variance, log_variance = np.zeros((4, *seen.shape))
    for sign, above, below in ((1.0, x, n), (-1.0, y, m)):
        pooled = divide(np.cumsum(above * counts, axis=-1), np.cumsum(below * counts, axis=-1))
        pooled = np.where(pooled > 0, pooled, np.nan)[..., None]
        others = np.where(shares[..., None], 1.0, 1 - pooled)
        n_rows = np.where(counts, below, np.nan)[..., None, :]
        rate = above[..., None, :] / n_rows
        gap += sign * rate
        log_gap += sign * (rate / pooled + np.log(pooled))
        variance += pooled * others / n_rows
        log_variance += others / (pooled * n_rows)
    ratio = pool_months(log_gap, np.where(seen, log_variance, np.inf))
    return ratio, pool_months(gap, np.where(seen, variance, np.inf))
