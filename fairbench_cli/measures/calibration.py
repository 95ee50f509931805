"""Cox's calibration of scores that are probabilities: logit P(label = 1) = intercept + slope × logit(score).

Cox, D. R. (1958), *Two further applications of a model for binary regression*. A slope of 1 with an intercept
of 0 is perfect; a slope below 1 says that scores are too extreme, above 1 that they are not extreme enough.
The likelihood is maximised by Newton's method in passes over the rows, for all groups at once. Intervals are
Wald's; the variance is the larger of that of the model and the robust one ("sandwich", Huber 1967), which
also holds where the line does not fit and for weighted rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.scores import Estimate, ScoreCells, ScoreTotals, normal_quantile, summed

EDGE = 1e-6  # scores nearer to 0 or 1 count as this far from it: the logit of 0 is infinite
MOST_STEPS = 60
STEP = 1e-10  # the last step of Newton's method is smaller
HALVED = 30  # steps that do not help are halved so often at most


@dataclass(frozen=True, eq=False)
class CalibrationFit:
    """The fitted line of each group; NaN where the likelihood has no single maximum.

    Parameters
    ----------
    beta : array, shape (groups, 2)
        Intercept and slope.
    information, meat : arrays, shape (groups, 2, 2)
        Σ w p (1 − p) x xᵀ and Σ w² (label − p)² x xᵀ at `beta`, with x = (1, logit(score)).
    """

    beta: Floats
    information: Floats
    meat: Floats


VALUE, INFORMATION, MEAT = 0, [[3, 4], [4, 5]], [[6, 7], [7, 8]]
"""Where `_likelihood` has its logarithm, and the two sums of a fit; the gradient is next to the former."""


def logit(score: ArrayLike) -> Floats:
    """Return log(score / (1 − score)) of scores in [0, 1], which are kept `EDGE` away from both ends.

    >>> logit([0.5, 0.75]).round(4).tolist()
    [0.0, 1.0986]
    """
    inside = np.clip(np.asarray(score, dtype=np.float64), EDGE, 1 - EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside), dtype=np.float64)


def fit_calibration(blocks: Callable[[], Iterable[ScoreCells]], groups: int) -> CalibrationFit:
    """Fit the line of each group.

    Parameters
    ----------
    blocks : callable
        Gives all cells, in ranges; is called once for every step. Their groups are 0 … `groups` − 1.
    groups : int
        How many.

    Returns
    -------
    CalibrationFit
        NaN for a group with one label or one score, or whose labels a score separates.
    """
    fitted = _overlap(blocks(), groups)
    beta = np.tile([0.0, 1.0], (groups, 1))
    now = _likelihood(blocks(), beta)
    going, step, halved = fitted.copy(), _step(now, fitted), np.zeros(groups, dtype=np.int64)
    for _ in range(MOST_STEPS):
        going &= (np.abs(step) > STEP).any(-1)
        if not going.any():
            break
        trial = np.where(going[:, None], beta + step, beta)
        found = _likelihood(blocks(), trial)
        before = now[:, VALUE]
        worse = going & ~(found[:, VALUE] >= before - 1e-12 * np.abs(before)) & (halved < HALVED)
        better = (going & ~worse)[:, None]
        beta, now = np.where(better, trial, beta), np.where(better, found, now)
        halved = np.where(worse, halved + 1, 0)
        step = np.where(worse[:, None], step / 2, _step(now, fitted))
    keep = np.where(fitted & ~going, 1.0, np.nan)[:, None]
    beta, now = beta * keep, now * keep
    return CalibrationFit(beta, now[:, INFORMATION], now[:, MEAT])


def slope_and_intercept(
    fit: CalibrationFit, totals: ScoreTotals, confidence: float = 0.95
) -> tuple[Estimate, Estimate]:
    """Return slope and intercept of each group with Wald's intervals; NaN where there is no fit."""
    usable = np.isfinite(fit.beta).all(-1)
    inverse = np.full_like(fit.information, np.nan)
    inverse[usable] = np.linalg.inv(fit.information[usable])
    rows = totals.rows.sum(-1)
    few = np.where(rows > 2, divide(rows, rows - 2), np.nan)
    robust = np.diagonal(inverse @ fit.meat @ inverse, axis1=-2, axis2=-1) * few[:, None]
    worth = divide(totals.square.sum(-1), totals.weight.sum(-1))
    model = np.diagonal(inverse, axis1=-2, axis2=-1) * worth[:, None]
    reach = normal_quantile(confidence) * np.sqrt(np.maximum(robust, model))
    low, high = fit.beta - reach, fit.beta + reach
    return (fit.beta[:, 1], low[:, 1], high[:, 1]), (fit.beta[:, 0], low[:, 0], high[:, 0])


def _overlap(blocks: Iterable[ScoreCells], groups: int) -> NDArray[np.bool_]:
    """Return in which groups neither label has all of the higher scores, so that there is a maximum."""
    low, high = np.full((groups, 2), np.inf), np.full((groups, 2), -np.inf)
    for cells in blocks:
        x, some = logit(cells.score), cells.weight > 0
        at = (cells.group[some], cells.label[some])
        np.minimum.at(low, at, x[some])
        np.maximum.at(high, at, x[some])
    return np.asarray((low[:, 0] < high[:, 1]) & (low[:, 1] < high[:, 0]))


def _likelihood(blocks: Iterable[ScoreCells], beta: Floats) -> Floats:
    """Return nine sums over the rows of each group, shape (groups, 9); see `VALUE`."""
    groups = len(beta)
    sums = np.zeros((groups, 9))
    for cells in blocks:
        x, g, w = logit(cells.score), cells.group, cells.weight
        eta = beta[g, 0] + beta[g, 1] * x
        small = np.exp(-np.abs(eta))
        p = np.where(eta > 0, 1.0, small) / (1 + small)
        wrong = np.where((eta > 0) == (cells.label == 1), 0.0, np.abs(eta))
        left, bend = cells.label - p, w * p * (1 - p)
        meat = cells.square * left**2
        parts = [-w * (wrong + np.log1p(small)), w * left, w * left * x]
        parts += [bend, bend * x, bend * x * x, meat, meat * x, meat * x * x]
        sums += np.stack([summed(g, part, groups) for part in parts], -1)
    return sums


def _step(now: Floats, fitted: NDArray[np.bool_]) -> Floats:
    """Return Newton's step of each group; 0 where there is no maximum to go to."""
    u, v, a, b, d = now.T[1:6]
    determinant = a * d - b * b
    step = divide(np.stack([d * u - b * v, a * v - b * u], -1), determinant[:, None])
    return np.where(fitted[:, None] & np.isfinite(step), step, 0.0)
