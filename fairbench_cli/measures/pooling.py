"""Rates of groups pooled in part: each is drawn towards all others, the more so the fewer rows it has.

The model is a beta-binomial: the rate of group g is p_g ~ Beta(μs, (1 − μ)s), and k_g ~ Binomial(n_g, p_g)
rows are counted. Intervals that put estimates of μ and s in their place (empirical Bayes) are too narrow,
as they take these for known. Here both are integrated over: μ is uniform, and so is the shrinkage
s / (s + h), the prior of Christiansen & Morris (1997) and Daniels (1999), where h is an eighth of the
harmonic mean of the rows. With the whole mean, which draws rates nearer to each other, the intervals of few
groups that differ in truth were too narrow (docs/verdicts.md).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats

POINTS = 25  # of the grid on each axis
DEEP = 14.0  # the grid ends where the logarithm of the density is so much below its highest
LOGIT_OF_MEAN = 45.0
LOG_OF_PRIOR_ROWS = (-25.0, 12.0)  # of s / h: beyond the upper end the groups are one
ZOOMS = 20
LEAST = 1e-7  # weights of the grid below this part of the largest are left out
CAUTION = 8  # how many times as many rows as a group has the prior is not expected to be worth
LARGE = 1e3  # gamma functions of more are those of Stirling's series
STEPS = 60  # towards a limit, at most
CLOSE = 1e-7  # of two steps, on the logit


def pooled_rates(
    above: ArrayLike, below: ArrayLike, confidence: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """Return the posterior mean of each group's rate, and the limits of its interval with equal tails.

    Parameters
    ----------
    above, below : arrays, shape (groups,)
        Rows over and under the bar of the rates; fractions of rows where these are weighted.
    confidence : float
        In (0, 1).

    Returns
    -------
    tuple of three arrays, shape (groups,)
        NaN for groups without rows, and for all where only one has some.

    Examples
    --------
    >>> value, low, high = pooled_rates([2, 30, 45, 61], [4, 100, 150, 200])
    >>> value.round(3).tolist(), low.round(2).tolist(), high.round(2).tolist()
    ([0.349, 0.304, 0.303, 0.306], [0.18, 0.23, 0.24, 0.25], [0.64, 0.38, 0.37, 0.37])
    """
    k, n = (np.asarray(side, dtype=np.float64) for side in (above, below))
    estimates = np.full((3, len(n)), np.nan)
    has_rows = n > 0
    if has_rows.sum() > 1:
        estimates[:, has_rows] = _posterior(k[has_rows], n[has_rows] - k[has_rows], confidence)
    value, low, high = estimates
    return value, low, high


def _prior(above: Floats, missed: Floats) -> tuple[Floats, Floats, Floats]:
    """Return values of μs and (1 − μ)s, and how likely each is, sum 1, on a grid of logit μ and log s.

    Parameters
    ----------
    above, missed : arrays, shape (groups,)
        Rows that are counted, and the others; each group has some.
    """
    rows = above + missed
    scale = len(rows) / (1 / rows).sum() / CAUTION
    rates = (above + 0.5) / (rows + 1)

    def parameters(away: Floats, prior: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return μs, (1 − μ)s, and logit μ with its error given s, in which its distance is measured."""
        size = scale * np.exp(prior)
        worth = rows * (size[..., None] + 1) / (rows + size[..., None])
        middle = (worth * rates).sum(-1) / worth.sum(-1)
        error = 1 / np.sqrt(worth.sum(-1))
        logit = np.log(middle) - np.log1p(-middle) + away * error
        mean = np.clip(logit, -LOGIT_OF_MEAN, LOGIT_OF_MEAN)
        return size / (1 + np.exp(-mean)), size / (1 + np.exp(mean)), mean, error

    def log_density(away: Floats, prior: Floats) -> Floats:
        alpha, beta, mean, error = parameters(away, prior)
        fit = (
            _log_rising(alpha[..., None], above)
            + _log_rising(beta[..., None], missed)
            - _log_rising((alpha + beta)[..., None], rows)
        )
        # Both priors are uniform: of μ, and of s / (s + h).
        flat = np.logaddexp(0, mean) + np.logaddexp(0, -mean) + np.logaddexp(0, prior)
        density: Floats = fit.sum(-1) - flat - np.logaddexp(0, -prior) + np.log(error)
        return density

    widest = LOGIT_OF_MEAN * np.sqrt(rows.sum())
    away, prior, density = _zoom_grid(log_density, ((-widest, widest), LOG_OF_PRIOR_ROWS))
    weight = np.exp(density - density.max())
    likely = weight > LEAST
    alpha, beta, _, _ = parameters(away, prior)
    return alpha[likely], beta[likely], weight[likely] / weight[likely].sum()


def _zoom_grid(
    log_density: Callable[[Floats, Floats], Floats], ends: tuple[tuple[float, float], tuple[float, float]]
) -> tuple[Floats, Floats, Floats]:
    """Return a grid where a density of two numbers is not negligible, and the logarithm of its values."""
    box = np.array(ends)
    for _ in range(ZOOMS):
        axes = np.linspace(box[:, 0], box[:, 1], POINTS)
        log_sizes, second = np.meshgrid(axes[:, 0], axes[:, 1], indexing="ij")
        log_densities = log_density(log_sizes, second)
        high = log_densities > log_densities.max() - DEEP
        closer = box.copy()
        for i in (0, 1):
            inside = np.flatnonzero(high.any(1 - i))
            closer[i] = axes[max(inside[0] - 1, 0), i], axes[min(inside[-1] + 1, POINTS - 1), i]
        if (np.ptp(closer, axis=1) > 0.8 * np.ptp(box, axis=1)).all():
            break
        box = closer
    return log_sizes, second, log_densities


def _log_rising(start: Floats, times: Floats) -> Floats:
    """Return log Γ(start + times) − log Γ(start), also where both are large and near each other."""
    from scipy.special import gammaln

    near = np.minimum(start, LARGE)
    far = np.maximum(start, LARGE)
    end = far + times
    series = (end - 0.5) * np.log1p(times / far) + times * (np.log(far) - 1) + (1 / end - 1 / far) / 12
    log_ratio: Floats = np.where(start > LARGE, series, gammaln(near + times) - gammaln(near))
    return log_ratio


def _posterior(above: Floats, missed: Floats, confidence: float) -> Floats:
    """Return mean, lower and upper limit of each group's rate: a mixture of beta distributions."""
    from scipy.special import betainc, betaincinv, betaln

    alpha, beta, weight = _prior(above, missed)
    # (groups, points)
    alpha = alpha + above[:, None]
    beta = beta + missed[:, None]
    norm = betaln(alpha, beta)
    total = alpha + beta
    mean = alpha / total @ weight
    square = alpha * (alpha + 1) / (total * (total + 1)) @ weight
    variance = np.maximum(square - mean**2, np.finfo(np.float64).tiny)
    size = mean * (1 - mean) / variance - 1  # a beta distribution with this mean and variance starts it

    def limit(share: float) -> Floats:
        start = np.clip(betaincinv(mean * size, (1 - mean) * size, share), 1e-300, 1 - 1e-16)
        x = np.log(start) - np.log1p(-start)
        least = np.full_like(x, -700.0)
        most = np.full_like(x, 40.0)
        unsettled = np.arange(len(x))
        for _ in range(STEPS):
            logit = x[unsettled]
            a = alpha[unsettled]
            b = beta[unsettled]
            reached = betainc(a, b, 1 / (1 + np.exp(-logit))[:, None]) @ weight
            reached = np.clip(reached, 1e-300, 1 - 1e-16)
            odds = -np.logaddexp(0, -logit)[:, None], -np.logaddexp(0, logit)[:, None]
            slope = np.exp(a * odds[0] + b * odds[1] - norm[unsettled]) @ weight
            low = reached < share
            least[unsettled], most[unsettled] = (
                np.where(low, logit, least[unsettled]),
                np.where(low, most[unsettled], logit),
            )
            # Newton's step on the log odds of the share that is reached, which are nearly a straight line.
            away = np.log(reached) - np.log1p(-reached) - np.log(share / (1 - share))
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                step = logit - away * reached * (1 - reached) / slope
            inside = (step >= least[unsettled]) & (step <= most[unsettled])
            x[unsettled] = np.where(inside, step, (least[unsettled] + most[unsettled]) / 2)
            unsettled = unsettled[~(np.abs(x[unsettled] - logit) < CLOSE)]
            if not len(unsettled):
                break
        limits: Floats = 1 / (1 + np.exp(-x))
        return limits

    tail = (1 - confidence) / 2
    return np.stack([mean, limit(tail), limit(1 - tail)])
