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
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats

MIXING = 0.36  # variance of the logarithms of odds ratios that evidence is the mean over
MIXING_OF_MEANS = 0.09  # of differences of means, in standard deviations
SPREADS = np.array([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5])
SPREADS_OF_MEANS = SPREADS / 2
FEWEST_ALIKE = 6  # months, of which nothing can tell their effects from a gap
ALIKE = 0.2  # p-value: at a smaller one months count as not alike, from then on


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
    may_differ : bool array
        Up to the sixth month, and from the first look on at which p < .2.
    """

    q: Floats
    df: NDArray[np.intp]
    p: Floats
    may_differ: NDArray[np.bool_]


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
    may_differ = (df < FEWEST_ALIKE) | (np.minimum.accumulate(p, axis=-1) < ALIKE)
    return Homogeneity(q, df, p, may_differ)


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
