"""How well scores rank and predict, by group: AUC, Kolmogorov–Smirnov distances, Brier score, calibration.

All but the calibration are sums over rows that come in order of their score, so a file of any length is read
in ranges of scores: `empty_sums`, then `add_cells` for each range, lowest scores first; the sums of the last
range are those of the file.

Intervals: AUC and Brier score lie in [0, 1], so each takes Wilson's interval (1927) of a rate with its
variance, which never leaves [0, 1]. The variance of the AUC is that of DeLong, DeLong & Clarke-Pearson
(1988); where few rows are on the wrong side, it is too small more often than not, and is drawn up towards
that of Hanley & McNeil (1982). With weights a variance is the larger of two: that by Taylor's linearisation,
and that of as many rows as Kish's effective sample size (1965), (Σw)² / Σw². Without weights both are the
same.

A Kolmogorov–Smirnov distance D takes D ± c √(1/n + 1/m), c = √(ln(2/α) / 2), which leaves out 0 exactly when
the asymptotic test rejects; it is conservative: it holds the truth at least as often as it says. How often
all of these intervals hold the truth is simulated in docs/audit.md.

Cox's calibration of scores that are probabilities: logit P(label = 1) = intercept + slope × logit(score) (Cox
1958, *Two further applications of a model for binary regression*). A slope of 1 with an intercept of 0 is
perfect; a slope below 1 says that scores are too extreme, above 1 that they are not extreme enough. The
likelihood is maximised by Newton's method in passes over the rows, for all groups at once. Intervals are
Wald's; the variance is the larger of that of the model and the robust one ("sandwich", Huber 1967), which
also holds where the line does not fit and for weighted rows.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.group_scores import share_of_pairs, sum_at
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.measures.significance import normal_quantile

Ints = NDArray[np.int64]
Estimate = tuple[Floats, Floats, Floats]

WHOLE = 1e-12  # a variance as small, in units of the value squared, is that of rounding
FEW = 10  # rows: with fewer of a label, errors of that label say little of how they vary


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Rows that are alike in score, group and label, sorted by score; all arrays have the shape (cells,).

    Parameters
    ----------
    score : array of float
        Finite, from the lowest to the highest.
    group, label : arrays of int
        The place of the group, and 0 or 1.
    weight, square : arrays of float
        Sums of the weights of the rows and of their squares: of rows without weights, how many there are.
    """

    score: Floats
    group: Ints
    label: Ints
    weight: Floats
    square: Floats

    def select(self, selected: NDArray[np.bool_] | Ints) -> "ScoreCells":
        """Return some of the cells, by their places or by whether each is kept."""
        group = self.group[selected]
        label = self.label[selected]
        return ScoreCells(self.score[selected], group, label, self.weight[selected], self.square[selected])


@dataclass(frozen=True, eq=False)
class ScoreTotals:
    """Sums over all rows by group and label, each of shape (groups, 2): rows, weights, squared weights."""

    rows: Floats
    weight: Floats
    square: Floats

    @property
    def kish(self) -> Floats:
        """Rows that the weights are worth by group and label: (Σw)² / Σw², 0 without rows."""
        return np.where(self.weight > 0, divide(self.weight**2, self.square), 0.0)

    @property
    def kish_of_groups(self) -> Floats:
        """The same by group, shape (groups,)."""
        weight = self.weight.sum(-1)
        return np.where(weight > 0, divide(weight**2, self.square.sum(-1)), 0.0)


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """What has been summed up to some score.

    Parameters
    ----------
    seen : array, shape (groups, 2)
        Weights by label.
    wins : array, shape (groups,)
        Weights of pairs of a positive and a negative in which the positive has the higher score; ties half.
    losses : array, shape (groups, 2, 4)
        By label: Σwe, Σwe², Σw²e, Σw²e²; e is the share of the rows of the other label, from 0 to 1, that
        are on the wrong side of a row.
    errors : array, shape (groups, 4)
        The same sums of e = (score − label)².
    scored : array, shape (groups,)
        Σ w score.
    by_label, from_reference : arrays, shape (groups,)
        Largest distance so far of the distributions of the scores: between both labels of a group; between
        the group and its reference.
    """

    seen: Floats
    wins: Floats
    losses: Floats
    errors: Floats
    scored: Floats
    by_label: Floats
    from_reference: Floats


def empty_sums(groups: int) -> ScoreSums:
    """Return the sums over no rows."""
    shapes = (2,), (), (2, 4), (4,), (), (), ()
    return ScoreSums(*(np.zeros((groups, *shape)) for shape in shapes))


def add_cells(sums: ScoreSums, cells: ScoreCells, totals: ScoreTotals, reference: Ints) -> ScoreSums:
    """Return the sums after more cells, all of which have higher scores than those before.

    Parameters
    ----------
    sums : ScoreSums
        Of all lower scores.
    cells : ScoreCells
        Every cell of each score that is in them.
    totals : ScoreTotals
        Of all rows, also of those still to come.
    reference : array of int, shape (groups,)
        The place of each group's reference; its own where it has none.
    """
    groups = len(sums.wins)
    if not len(cells.score):
        return sums
    score_index = np.cumsum(np.diff(cells.score, prepend=cells.score[0]) > 0)
    n_scores = int(score_index[-1]) + 1
    key = cells.group * n_scores + score_index
    order = np.argsort(key, kind="stable")
    is_first = np.diff(key[order], prepend=-1) > 0
    rows = key[order][is_first]  # a line for each score in a group, one group after the other
    slot = 2 * (np.cumsum(is_first) - 1) + cells.label[order]
    shape = (len(rows), 2)
    weight = sum_at(slot, cells.weight[order], 2 * len(rows)).reshape(shape)
    square = sum_at(slot, cells.square[order], 2 * len(rows)).reshape(shape)
    group = rows // n_scores
    upto = _running_sums(weight, group, sums.seen)
    below = upto - weight
    with np.errstate(divide="ignore", invalid="ignore"):
        # A positive loses to the negatives above it, a negative to the positives below it; ties count half.
        mine = np.stack([below[:, 1] + weight[:, 1] / 2, below[:, 0] + weight[:, 0] / 2], -1)
        lost = mine / totals.weight[group][:, ::-1]
        lost[:, 1] = 1 - lost[:, 1]
        by_label = np.abs(np.diff(upto / totals.weight[group], axis=-1))[:, 0]
        group_weight = totals.weight.sum(-1)
        theirs, before = _reference_sums(
            rows, n_scores, group, rows % n_scores, upto.sum(-1), sums.seen.sum(-1), reference
        )
        reference_weight = group_weight[reference[group]]
        from_reference = np.maximum(
            np.abs(upto.sum(-1) / group_weight[group] - theirs / reference_weight),
            np.abs(below.sum(-1) / group_weight[group] - before / reference_weight),
        )
    e = (cells.score - cells.label) ** 2
    return ScoreSums(
        sums.seen + _sum_by_group(group, weight, groups),
        sums.wins + sum_at(group, weight[:, 1] * mine[:, 1], groups),
        sums.losses + _moments(group, lost, weight, square, groups),
        sums.errors + _moments(cells.group, e, cells.weight, cells.square, groups),
        sums.scored + sum_at(cells.group, cells.weight * cells.score, groups),
        _largest(sums.by_label, group, by_label),
        _largest(sums.from_reference, group, from_reference),
    )


def _running_sums(weight: Floats, group: Ints, seen: Floats) -> Floats:
    """Return running sums within groups, shape (rows, 2), that go on from what has been seen."""
    total = np.cumsum(weight, axis=0)
    begin = np.flatnonzero(np.diff(group, prepend=-1))
    run = np.cumsum(np.diff(group, prepend=-1) > 0) - 1
    before: Floats = (total - weight)[begin]
    return np.asarray(total - before[run] + seen[group], dtype=np.float64)


def _reference_sums(
    rows: Ints, n_scores: int, group: Ints, score_index: Ints, upto: Floats, seen: Floats, reference: Ints
) -> tuple[Floats, Floats]:
    """Return the sums of the reference of each row's group up to the row's score, and below it."""
    reference_group = reference[group]

    def sums_at(side: str) -> Floats:
        position = np.searchsorted(rows, reference_group * n_scores + score_index, side=side) - 1  # type: ignore[call-overload]
        inside = (position >= 0) & (group[position] == reference_group)
        return np.where(inside, upto[position], seen[reference_group])

    return sums_at("right"), sums_at("left")


def _sum_by_group(group: Ints, values: Floats, groups: int) -> Floats:
    return np.stack([sum_at(group, column, groups) for column in values.T], -1)


def _moments(group: Ints, e: Floats, weight: Floats, square: Floats, groups: int) -> Floats:
    """Return Σwe, Σwe², Σw²e, Σw²e² by group; of each column of `e`, if it has columns."""
    moments = np.stack([weight * e, weight * e**2, square * e, square * e**2], -1)
    moments = np.where(np.stack([weight] * 4, -1) > 0, moments, 0.0)  # where nobody is, e may be undefined
    return _sum_by_group(group, moments.reshape(len(group), -1), groups).reshape(groups, *moments.shape[1:])


def _largest(largest: Floats, group: Ints, values: Floats) -> Floats:
    updated = largest.copy()
    np.fmax.at(updated, group, values)
    return updated


def auc(sums: ScoreSums, totals: ScoreTotals, confidence: float = 0.95) -> Estimate:
    """Return the area under each group's ROC curve with its interval; NaN without both labels.

    The chance that a random positive has a higher score than a random negative, ties half.
    """
    value = share_of_pairs(sums.wins, totals.weight[:, 0], totals.weight[:, 1])
    losses = np.moveaxis(sums.losses, -1, 0)
    variance = _variance(losses, totals.weight, totals.square, totals.rows).sum(-1)
    fewest = totals.kish.min(-1)
    wrong = 2 * fewest * np.minimum(value, 1 - value)
    drawn = (wrong * variance + FEW * _hanley_mcneil(value, totals.kish)) / (wrong + FEW)
    return _bounded(value, np.fmax(variance, drawn), fewest, confidence)


def _hanley_mcneil(value: Floats, rows: Floats) -> Floats:
    """Return the variance of an AUC from it and the rows of each label alone, by exponential scores."""
    above = np.maximum(value, 1 - value)
    q1 = above / (2 - above) - above**2
    q2 = 2 * above**2 / (1 + above) - above**2
    negatives, positives = rows.T
    return divide(above * (1 - above) + (positives - 1) * q1 + (negatives - 1) * q2, positives * negatives)


def brier_score(sums: ScoreSums, totals: ScoreTotals, confidence: float = 0.95) -> Estimate:
    """Return each group's mean of (score − label)² with its interval; scores are in [0, 1]. 0 is best."""
    weight = totals.weight.sum(-1)
    square = totals.square.sum(-1)
    rows = totals.rows.sum(-1)
    errors = np.moveaxis(sums.errors, -1, 0)
    variance = np.where(totals.rows.min(-1) < FEW, 0.0, _variance(errors, weight, square, rows))
    return _bounded(divide(errors[0], weight), variance, totals.kish_of_groups, confidence)


def ks_by_label(sums: ScoreSums, totals: ScoreTotals, confidence: float = 0.95) -> Estimate:
    """Return the largest distance of the distributions of scores of each group's positives and negatives."""
    has_both = (totals.weight > 0).all(-1)
    reach = _interval_reach(totals.kish[:, 0], totals.kish[:, 1], confidence)
    return _interval_around(np.where(has_both, sums.by_label, np.nan), reach)


def ks_from_reference(
    sums: ScoreSums, totals: ScoreTotals, reference: Ints, confidence: float = 0.95
) -> Estimate:
    """Return the largest distance of the distributions of scores of each group and of its reference."""
    rows = totals.kish_of_groups
    has_rows = (rows > 0) & (rows[reference] > 0)
    reach = _interval_reach(rows, rows[reference], confidence)
    return _interval_around(np.where(has_rows, sums.from_reference, np.nan), reach)


def mean_score(sums: ScoreSums, totals: ScoreTotals) -> Floats:
    """Return the mean score of each group."""
    return divide(sums.scored, totals.weight.sum(-1))


def subtract(minuend: Estimate, subtrahend: Estimate) -> Estimate:
    """Return the difference of two independent estimates with its interval.

    Limits by squares of the distances from each estimate to its limits (Zou & Donner 2008, "MOVER"; for two
    Wilson intervals this is Newcombe 1998, method 10).

    >>> [round(float(x), 3) for x in subtract((0.8, 0.7, 0.88), (0.6, 0.5, 0.69))]
    [0.2, 0.065, 0.328]
    """
    p, p_low, p_high = map(np.asarray, minuend)
    q, q_low, q_high = map(np.asarray, subtrahend)
    value = np.asarray(p - q)
    down = np.hypot(p - p_low, q_high - q)
    up = np.hypot(p_high - p, q - q_low)
    return value, np.asarray(value - down), np.asarray(value + up)


def _variance(moments: Floats, weight: Floats, square: Floats, rows: Floats) -> Floats:
    """Return the variance of a weighted mean from Σwe, Σwe², Σw²e, Σw²e² (first axis); NaN below two rows."""
    sum_we, sum_we2, sum_w2e, sum_w2e2 = moments
    mean = divide(sum_we, weight)
    linear = divide(sum_w2e2 - 2 * mean * sum_w2e + mean**2 * square, weight**2)
    kish = divide(sum_we2, weight) - mean**2
    variance = np.maximum(linear, kish * divide(square, weight**2))
    variance = np.where(variance > WHOLE * mean**2 * divide(square, weight**2), variance, 0.0)
    return np.where(rows > 1, variance * rows / np.maximum(rows - 1, 1), np.nan)


def _bounded(value: Floats, variance: Floats, fewest: Floats, confidence: float) -> Estimate:
    """Return a value in [0, 1] with Wilson's interval on as many rows as its variance is worth.

    Where the variance is 0 (all pairs are in order, say) or unknown, `fewest` rows are taken.
    """
    effective_rows = np.where(variance > 0, divide(value * (1 - value), variance), fewest)
    effective_rows = np.where(effective_rows > 0, effective_rows, fewest)
    low, high = wilson_interval(value * effective_rows, effective_rows, confidence)
    return value, low, high


def _interval_reach(n: Floats, m: Floats, confidence: float) -> Floats:
    """Return how far a Kolmogorov–Smirnov distance may be from the truth."""
    return math.sqrt(math.log(2 / (1 - confidence)) / 2) * np.sqrt(divide(1, n) + divide(1, m))


def _interval_around(value: Floats, reach: Floats) -> Estimate:
    """Return a distance with an interval, which does not leave [0, 1].

    >>> [part.tolist() for part in _interval_around(np.array([0.5, 0.125, 0.875]), np.array(0.25))]
    [[0.5, 0.125, 0.875], [0.25, 0.0, 0.625], [0.75, 0.375, 1.0]]
    """
    return value, np.maximum(value - reach, 0.0), np.minimum(value + reach, 1.0)


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


VALUE = 0
INFORMATION = [[3, 4], [4, 5]]
MEAT = [[6, 7], [7, 8]]
"""Where `_likelihood` has its logarithm, and the two sums of a fit; the gradient is next to the former."""


def logit(score: ArrayLike) -> Floats:
    """Return log(score / (1 − score)) of scores in [0, 1], which are kept `EDGE` away from both ends.

    >>> logit([0.5, 0.75]).round(4).tolist()
    [0.0, 1.0986]
    """
    inside = np.clip(np.asarray(score, dtype=np.float64), EDGE, 1 - EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside), dtype=np.float64)


def fit_calibration(blocks: Callable[[], Iterable[ScoreCells]], groups: int) -> CalibrationFit:
    """Fit the line of each group: logistic regression of the label on the logit of the score.

    By Newton's method, in all groups at once: a step that makes the likelihood of a group smaller is halved
    and tried again.

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
    # 1. Begin at the line of calibrated scores, in the groups that have a maximum.
    has_maximum = _overlap(blocks(), groups)
    beta = np.tile([0.0, 1.0], (groups, 1))
    sums = _likelihood(blocks(), beta)
    step = _step(sums, has_maximum)
    is_moving = has_maximum.copy()
    n_halved = np.zeros(groups, dtype=np.int64)
    for _ in range(MOST_STEPS):
        # 2. Groups whose step has become tiny are there.
        is_moving &= (np.abs(step) > STEP).any(-1)
        if not is_moving.any():
            break
        # 3. Take the step of the others, unless it makes the likelihood smaller: then halve it.
        next_beta = np.where(is_moving[:, None], beta + step, beta)
        next_sums = _likelihood(blocks(), next_beta)
        log_likelihood = sums[:, VALUE]
        is_no_smaller = next_sums[:, VALUE] >= log_likelihood - 1e-12 * np.abs(log_likelihood)
        is_halved = is_moving & ~is_no_smaller & (n_halved < HALVED)
        is_taken = (is_moving & ~is_halved)[:, None]
        beta = np.where(is_taken, next_beta, beta)
        sums = np.where(is_taken, next_sums, sums)
        n_halved = np.where(is_halved, n_halved + 1, 0)
        step = np.where(is_halved[:, None], step / 2, _step(sums, has_maximum))
    # 4. A group that is still moving has no fit.
    is_fitted = has_maximum & ~is_moving
    beta = np.where(is_fitted[:, None], beta, np.nan)
    sums = np.where(is_fitted[:, None], sums, np.nan)
    return CalibrationFit(beta, sums[:, INFORMATION], sums[:, MEAT])


def slope_and_intercept(
    fit: CalibrationFit, totals: ScoreTotals, confidence: float = 0.95
) -> tuple[Estimate, Estimate]:
    """Return slope and intercept of each group with Wald's intervals; NaN where there is no fit."""
    usable = np.isfinite(fit.beta).all(-1)
    inverse = np.full_like(fit.information, np.nan)
    inverse[usable] = np.linalg.inv(fit.information[usable])
    rows = totals.rows.sum(-1)
    small_sample_factor = np.where(rows > 2, divide(rows, rows - 2), np.nan)
    robust = np.diagonal(inverse @ fit.meat @ inverse, axis1=-2, axis2=-1) * small_sample_factor[:, None]
    effective_rows = divide(totals.square.sum(-1), totals.weight.sum(-1))
    model = np.diagonal(inverse, axis1=-2, axis2=-1) * effective_rows[:, None]
    reach = normal_quantile(confidence) * np.sqrt(np.maximum(robust, model))
    low = fit.beta - reach
    high = fit.beta + reach
    return (fit.beta[:, 1], low[:, 1], high[:, 1]), (fit.beta[:, 0], low[:, 0], high[:, 0])


def _overlap(blocks: Iterable[ScoreCells], groups: int) -> NDArray[np.bool_]:
    """Return in which groups neither label has all of the higher scores, so that there is a maximum."""
    low = np.full((groups, 2), np.inf)
    high = np.full((groups, 2), -np.inf)
    for cells in blocks:
        x = logit(cells.score)
        has_weight = cells.weight > 0
        index = (cells.group[has_weight], cells.label[has_weight])
        np.minimum.at(low, index, x[has_weight])
        np.maximum.at(high, index, x[has_weight])
    return np.asarray((low[:, 0] < high[:, 1]) & (low[:, 1] < high[:, 0]))


def _likelihood(blocks: Iterable[ScoreCells], beta: Floats) -> Floats:
    """Return nine sums over the rows of each group, shape (groups, 9); see `VALUE`."""
    groups = len(beta)
    sums = np.zeros((groups, 9))
    for cells in blocks:
        x = logit(cells.score)
        g = cells.group
        w = cells.weight
        eta = beta[g, 0] + beta[g, 1] * x
        small = np.exp(-np.abs(eta))
        p = np.where(eta > 0, 1.0, small) / (1 + small)
        wrong = np.where((eta > 0) == (cells.label == 1), 0.0, np.abs(eta))
        residual = cells.label - p
        bend = w * p * (1 - p)
        meat = cells.square * residual**2
        terms = [-w * (wrong + np.log1p(small)), w * residual, w * residual * x]
        terms += [bend, bend * x, bend * x * x, meat, meat * x, meat * x * x]
        sums += np.stack([sum_at(g, term, groups) for term in terms], -1)
    return sums


def _step(sums: Floats, has_maximum: NDArray[np.bool_]) -> Floats:
    """Return Newton's step of each group, the inverse of `INFORMATION` times the gradient.

    It is 0 where there is no maximum to go to.
    """
    u, v, a, b, d = sums.T[1:6]  # the gradient (u, v), and the information ((a, b), (b, d))
    determinant = a * d - b * b
    step = divide(np.stack([d * u - b * v, a * v - b * u], -1), determinant[:, None])
    return np.where(has_maximum[:, None] & np.isfinite(step), step, 0.0)
