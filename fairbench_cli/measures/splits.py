"""Rows of two groups called group and reference anew by chance: how far apart means then are.

The values that a small group of a skewed outcome has missed leave no trace in its variance; a split sees
them in the other group. The difference of each split is divided by its own standard error (Janssen 1997;
Chung and Romano 2013), so that groups with unequal spreads do not break the test. Of each split a few sums
are kept; they test any hypothesis that the group's values less a shift have the law of the reference's times
a scale.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from fairbench_cli.measures.counts import Floats

SEED = 20261128
MOST_EXACT = 20_000
EQUAL = 1e-9  # t that differ by less than this part of them are equal
ROUNDING = 1e-12  # of the sum of squares of all rows: less is none


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
    n_group, n_reference = len(group), len(reference)
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
    n, first, second = float(len(y)), float(y.sum()), float(y @ y)
    return np.array([n, first, n, first, second])


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
    weight, first, square, square_first, square_second = sums
    return np.stack(
        [
            weight,
            first - moved * weight,
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
    weight, first, square, square_first, square_second = sums
    mean = first / weight
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
