"""Rows of two groups called group and reference anew by chance: how far apart means then are.

The values that a small group of a skewed outcome has missed leave no trace in its variance; a split sees
them in the other group. The difference of each split is divided by its own standard error (Janssen 1997;
Chung and Romano 2013), so that groups with unequal spreads do not break the test. Of each split a few sums
are kept; they test any hypothesis that the group's values less a shift have the law of the reference's times
a scale.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.moments import Moments

SEED = 20261128
MOST_EXACT = 20_000
EQUAL = 1e-9  # t that differ by less than this part of them are equal
ROUNDING = 1e-12  # of the sum of squares of all rows: less is none
DRAWN = 1999
MORE_DRAWN = 19_999  # the first are the same: where few would leave Holm's method no digits
MOST_DRAWN = 199_999
SMALL_P = 0.02  # below it more are drawn
MANY_LEVEL = 0.05 / 40  # below it 1,999 splits have too few digits; of ten times as many below a tenth of it
SMALL_SIDE = 2000  # rows, up to which splits are always drawn
LARGEST_SIDE = 20_000  # rows of the smaller side, above which they never are
SKEWED_MEAN = 0.1  # of the mean of the smaller side: up to it the t of many rows is right
DOUBLINGS = 30
HALVINGS = 40
FARTHEST = 12.0  # of the logarithm of a ratio


@dataclass(frozen=True, eq=False)
class Splits:
    """Sums of the rows that each split calls group.

    With y = x − centre and weights w the five sums are those of w, wy, w², w²y and w²y²; w is 1 without
    weights.

    Parameters
    ----------
    n_group, n_reference : int
        Rows, two of each at least.
    centre : float
        The mean of all values.
    group, reference : array, shape (5, splits)
        Over the group's own rows among them, and over those of the reference.
    group_total, reference_total : array, shape (5, 1)
        Over all rows of both.
    is_exact : bool
        Whether these are all splits, and not some that were drawn.
    """

    n_group: int
    n_reference: int
    centre: float
    group: Floats
    reference: Floats
    group_total: Floats
    reference_total: Floats
    is_exact: bool

    def __len__(self) -> int:
        return int(self.group.shape[-1])


def draw_splits(
    group: Floats,
    reference: Floats,
    n_splits: int,
    seed: int = SEED,
    most_exact: int = MOST_EXACT,
    weights: tuple[Floats, Floats] | None = None,
) -> Splits:
    """Return all splits of the rows of two groups if they are few, else some that are drawn.

    Parameters
    ----------
    group, reference : array, shape (rows,)
        In any order, which changes nothing.
    n_splits : int
        To be drawn; fewer are the first ones of more.
    seed : int
    most_exact : int
        Up to so many splits, all of them are taken.
    weights : pair of arrays, optional
        Of the rows. Each side's are divided by their median: a group that is weighted in other units is no
        other group.

    Examples
    --------
    >>> splits = draw_splits(np.array([1.0, 2, 4, 8]), np.array([3.0, 5, 5, 6, 7, 9, 12, 20]), 1999)
    >>> len(splits), splits.is_exact
    (495, True)
    >>> t, t_of_splits = studentised(splits)
    >>> round(t, 4), round(float(t_of_splits[1]), 4)
    (-1.8714, -3.4452)
    """
    sides = [group, reference]
    side_weights = [np.ones(0), np.ones(0)]
    for i, values in enumerate(sides):
        if weights is None:
            sides[i] = np.sort(values)
            continue
        order = np.lexsort((weights[i], values))
        sides[i] = values[order]
        side_weights[i] = weights[i][order] / np.median(weights[i])
    n_group = len(group)
    n_reference = len(reference)
    y = np.concatenate(sides)
    centre = float(y.mean())
    y -= centre
    w = np.concatenate(side_weights)
    n_drawn = min(n_group, n_reference)
    # Of k rows among twice as many or more there are over 2ᵏ splits.
    is_few = n_drawn <= most_exact.bit_length()
    is_exact = is_few and math.comb(len(y), n_drawn) <= most_exact
    if is_exact:
        drawn = _sum_all(_terms(y, w), n_group, n_drawn)
    else:
        from fairbench_cli.measures.split_sums import sum_drawn

        drawn = sum_drawn(y, w, n_group, n_drawn, n_splits, seed)
    totals = np.stack([_sum_terms(y[:n_group], w[:n_group]), _sum_terms(y[n_group:], w[n_group:])])[..., None]
    if n_reference < n_group:  # the drawn rows play the reference
        drawn = totals - drawn
    return Splits(n_group, n_reference, centre, drawn[0], drawn[1], totals[0], totals[1], is_exact)


def _terms(y: Floats, w: Floats) -> Floats:
    """Return the terms of each row's five sums, shape (5, rows)."""
    if not len(w):
        w = np.ones(len(y))
    return np.stack([w, w * y, w**2, w**2 * y, w**2 * y**2])


def _sum_terms(y: Floats, w: Floats) -> Floats:
    """Return the sums over rows, shape (5,), without an array of the terms of many."""
    if len(w):
        return np.asarray(_terms(y, w).sum(-1))
    n_rows = float(len(y))
    total = float(y.sum())
    return np.array([n_rows, total, n_rows, total, float(y @ y)])


def _sum_all(terms: Floats, n_group: int, n_drawn: int) -> Floats:
    """Return the sums of all splits, shape (2, 5, splits)."""
    n_rows = terms.shape[-1]
    chosen = itertools.chain.from_iterable(itertools.combinations(range(n_rows), n_drawn))
    rows = np.fromiter(chosen, dtype=np.int64).reshape(-1, n_drawn)
    is_group = rows < n_group
    of_rows = terms[:, rows]
    return np.stack([(of_rows * is_group).sum(-1), (of_rows * ~is_group).sum(-1)])


def studentised(splits: Splits, shift: float = 0.0, scale: float = 1.0) -> tuple[float, Floats]:
    """Return t of the true groups and of each split, shape (splits,), of a hypothesis.

    That the group's values less `shift` have the law of the reference's times `scale`. 0 where neither the
    values of a side differ nor the sides do.
    """
    moved = shift + (scale - 1) * splits.centre
    group_total = _shifted(splits.group_total, moved)
    reference_total = _scaled(splits.reference_total, scale)
    total = group_total + reference_total
    called = _shifted(splits.group, moved) + _scaled(splits.reference, scale)
    of_splits = _t_of(called, total, splits)
    return float(_t_of(group_total, total, splits)[0]), of_splits


def _shifted(sums: Floats, moved: float) -> Floats:
    """Return the five sums of values less a number."""
    weight, linear, square, square_first, square_second = sums
    return np.stack(
        [
            weight,
            linear - moved * weight,
            square,
            square_first - moved * square,
            square_second - 2 * moved * square_first + moved**2 * square,
        ]
    )


def _scaled(sums: Floats, scale: float) -> Floats:
    """Return the five sums of values times a number."""
    return np.asarray(sums * np.array([1.0, scale, 1.0, scale, scale**2])[:, None])


def _t_of(called: Floats, total: Floats, splits: Splits) -> Floats:
    """Return the difference of means divided by its standard error, shape (splits,)."""
    _, all_squares = _mean_and_squares(total)
    mean, squares = _mean_and_squares(called)
    other_mean, other_squares = _mean_and_squares(total - called)
    n, m = splits.n_group, splits.n_reference
    difference = mean - other_mean
    variance = np.zeros(len(difference))
    for of_side, weight, rows in ((squares, called[0], n), (other_squares, total[0] - called[0], m)):
        variance += np.where(of_side > ROUNDING * all_squares, of_side, 0.0) / weight**2 * (rows / (rows - 1))
    is_equal = np.abs(difference) <= ROUNDING * np.sqrt(all_squares / (n + m))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt(variance)
    return np.where((variance == 0) & is_equal, 0.0, t)


def _mean_and_squares(sums: Floats) -> tuple[Floats, Floats]:
    """Return the mean, and the sum of squares of weighted distances from it."""
    weight, linear, square, square_first, square_second = sums
    mean = linear / weight
    return mean, square_second - 2 * mean * square_first + mean**2 * square


def tail_shares(splits: Splits, shift: float = 0.0, scale: float = 1.0) -> tuple[float, float]:
    """Return the one-sided p of a hypothesis: the shares of splits with a t as small, and as large.

    Of drawn splits the true one counts as one more.

    >>> splits = draw_splits(np.array([1.0, 2, 4, 8]), np.array([3.0, 5, 5, 6, 7, 9, 12, 20]), 1999)
    >>> [round(share, 4) for share in tail_shares(splits)]
    [0.0626, 0.9394]
    """
    t, t_of_splits = studentised(splits, shift, scale)
    tolerance = EQUAL * max(1.0, abs(t)) if math.isfinite(t) else 0.0
    n_lower = int(np.count_nonzero(t_of_splits <= t + tolerance))
    n_higher = int(np.count_nonzero(t_of_splits >= t - tolerance))
    if splits.is_exact:
        return n_lower / len(splits), n_higher / len(splits)
    return (1 + n_lower) / (1 + len(splits)), (1 + n_higher) / (1 + len(splits))


def needs_splits(group: Moments, reference: Moments) -> NDArray[np.bool_]:
    """Return whether a small or skewed side may have missed values that its variance then does not hold.

    Parameters
    ----------
    group, reference : Moments, shape (...)
        Around one shift.
    """
    rows = np.minimum(group.rows, reference.rows)
    is_skewed = skewness_of_both(group, reference) >= SKEWED_MEAN
    return np.asarray((rows >= 2) & ((rows <= SMALL_SIDE) | ((rows <= LARGEST_SIDE) & is_skewed)))


def skewness_of_both(group: Moments, reference: Moments) -> Floats:
    """Return how skewed the mean of the smaller side is, either way, if both have one law."""
    pooled = group + reference
    second = divide(pooled.central_sum(1, 2), pooled.weight)
    skewness = divide(divide(pooled.central_sum(1, 3), pooled.weight), second**1.5)
    return divide(np.abs(skewness), np.sqrt(np.minimum(group.rows, reference.rows)))


class SplitTests(NamedTuple):
    """What splits say of two means; NaN throughout where none are drawn.

    Parameters
    ----------
    p : float
        Two-sided p of equal laws: twice the smaller tail.
    limits : pair of float
        Of the shift; infinite without an end.
    ratio_limits : pair of float
        Of the scale; NaN unless both means are above 0.
    at_low, at_high : pairs of float
        One-sided p of a t as small, and as large, at the margin's lower edge, and at its upper one.
    """

    p: float
    limits: tuple[float, float]
    ratio_limits: tuple[float, float]
    at_low: tuple[float, float]
    at_high: tuple[float, float]


_UNKNOWN = (math.nan, math.nan)
NO_SPLITS = SplitTests(math.nan, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN)
Hypothesis = tuple[float, float]


def draw_enough(
    group: Floats, reference: Floats, weights: tuple[Floats, Floats] | None = None, least_p: float = 0.05
) -> Splits:
    """Return splits whose p has enough digits: the smaller it is, and is asked to be, the more.

    Parameters
    ----------
    group, reference, weights
        As in `draw_splits`.
    least_p : float
        The smallest level that p may have to be below, as Holm's method asks.
    """
    splits = draw_splits(group, reference, DRAWN, weights=weights)
    is_costly = min(len(group), len(reference)) > SMALL_SIDE
    for n_splits, small_p in ((MORE_DRAWN, SMALL_P), (MOST_DRAWN, SMALL_P / 10)):
        p = two_sided_p(splits)
        is_enough = least_p >= MANY_LEVEL * DRAWN / len(splits)
        if splits.is_exact or p >= small_p or (is_enough and (is_costly or n_splits == MOST_DRAWN)):
            return splits
        splits = draw_splits(group, reference, n_splits, weights=weights)
    return splits


def two_sided_p(splits: Splits) -> float:
    """Return p of equal laws, equal-tailed as the limits are."""
    return min(1.0, 2 * min(tail_shares(splits)))


def least_tail(confidence: float) -> float:
    """Return the one-sided p below which a hypothesis is rejected; a p that is equal to it is not below."""
    return (1 - confidence) / 2 * (1 - EQUAL)


def evaluate_splits(
    splits: Splits, error: float, ratio_error: float, edges: tuple[Hypothesis, Hypothesis], confidence: float
) -> SplitTests:
    """Return tests and limits of two means by their splits.

    Parameters
    ----------
    splits : Splits
    error, ratio_error : float
        Standard errors of the difference and of the logarithm of the ratio, about: where limits are looked
        for. NaN where there is no ratio.
    edges : pair of (shift, scale)
        The margin's lower and upper edge.
    confidence : float

    Examples
    --------
    >>> splits = draw_splits(np.array([1.0, 2, 4, 8]), np.array([3.0, 5, 5, 6, 7, 9, 12, 20]), 1999)
    >>> tests = evaluate_splits(splits, 2.5, 0.5, ((0.0, 0.95), (0.0, 1.05)), 0.95)
    >>> round(tests.p, 3), [round(limit, 2) for limit in tests.limits]
    (0.125, [-10.46, 1.19])
    """
    tail = least_tail(confidence)
    group_mean = float((splits.group_total[1] / splits.group_total[0])[0]) + splits.centre
    reference_mean = float((splits.reference_total[1] / splits.reference_total[0])[0]) + splits.centre

    def shift_limit(sign: int) -> float:
        return _find_end(lambda shift: (shift, 1.0), group_mean - reference_mean, error, sign, splits, tail)

    def scale_limit(sign: int) -> float:
        start = math.log(group_mean / reference_mean)
        logarithm = _find_end(
            lambda log_scale: (0.0, math.exp(min(max(log_scale, -FARTHEST), FARTHEST))),
            start,
            ratio_error,
            sign,
            splits,
            tail,
        )
        return math.exp(logarithm)

    ratio_limits = _UNKNOWN
    if group_mean > 0 and reference_mean > 0 and ratio_error > 0:
        ratio_limits = (scale_limit(-1), scale_limit(1))
    return SplitTests(
        two_sided_p(splits),
        (shift_limit(-1), shift_limit(1)),
        ratio_limits,
        tail_shares(splits, *edges[0]),
        tail_shares(splits, *edges[1]),
    )


def _find_end(
    hypothesis: Callable[[float], Hypothesis],
    start: float,
    step: float,
    sign: int,
    splits: Splits,
    tail: float,
) -> float:
    """Return the last hypothesis to one side that the splits do not reject; infinite if there is none."""
    side = int(sign < 0)  # of lower limits a t as large is looked at
    inside = start
    for doubling in range(DOUBLINGS):
        outside = start + sign * step * 2.0**doubling
        if tail_shares(splits, *hypothesis(outside))[side] < tail:
            break
        inside = outside
    else:
        return sign * math.inf
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if tail_shares(splits, *hypothesis(middle))[side] < tail:
            outside = middle
        else:
            inside = middle
    return inside
