"""The best accuracy that thresholds of two groups reach at every level of a difference between the groups.

The same optimum as `thresholds.best_thresholds` finds with a linear programme, for many tolerances at once
and fast enough for every model of a run. Only errors of equal cost, and two groups.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.thresholds import GroupPoints, hull

Held = Literal["demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"]
HELD: tuple[Held, ...] = get_args(Held)

TIED = 1e-9  # rows: what sums of counts may be off
ROUNDING = 1e-12  # what sums of rates may be off


@dataclass(frozen=True, eq=False)
class Draw:
    """One group's thresholds, at each tolerance: two, of which one is drawn.

    Parameters
    ----------
    first, second : float64 array, shape (tolerances,)
        Thresholds of the group's points.
    share : float64 array in [0, 1], shape (tolerances,)
        How often the second one is used.
    """

    first: Floats
    second: Floats
    share: Floats


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best that group thresholds reach at some tolerances.

    Parameters
    ----------
    accuracy : float64 array, shape (tolerances,)
        Share of rows decided as labelled, in expectation.
    gap : float64 array, shape (tolerances,)
        The difference between the groups that the best thresholds have; no larger than the tolerance.
    draws : tuple of Draw
        Of the deprived and the favoured group; empty for equalised odds, which may need three thresholds.
    """

    accuracy: Floats
    gap: Floats
    draws: tuple[Draw, ...] = ()


def points_of_counts(swept: Counts) -> tuple[GroupPoints, GroupPoints]:
    """Return the points of the deprived and the favoured group, from counts of several decisions on them.

    Parameters
    ----------
    swept : Counts
        Of two groups, shape (decisions, 2, 2, 2); decisions that accept nobody and everybody are among them.

    Returns
    -------
    pair of GroupPoints
        In place of a threshold stands the index of the decision. Decisions that accept more negatives than
        another one but fewer positives are left out, as they are on no hull.

    Examples
    --------
    >>> n = np.zeros((3, 2, 2, 2))
    >>> n[1, 0] = [[4, 1], [2, 3]]
    >>> n[:, 1], n[0, 0, :, 0], n[2, 0, :, 1] = [[2, 0], [0, 2]], 5, 5
    >>> points, _ = points_of_counts(Counts(PAIR, n))
    >>> points.fp.tolist(), points.tp.tolist(), points.thresholds.tolist()
    ([0.0, 1.0, 5.0], [0.0, 3.0, 5.0], [0.0, 1.0, 2.0])
    """
    deprived, favoured = (_points(swept.n[:, group]) for group in range(len(PAIR)))
    return deprived, favoured


def _points(n: Floats) -> GroupPoints:
    negatives, positives = n[0].sum(-1)
    # Sums of rounded counts may be a little larger than the group.
    fp, tp = np.minimum(n[:, 0, 1], negatives), np.minimum(n[:, 1, 1], positives)
    nobody, everybody = np.argmin(fp + tp), np.argmax(fp + tp)
    order = np.lexsort((tp, fp))
    order = order[tp[order] >= np.maximum.accumulate(tp[order])]
    order = np.concatenate([[nobody], order[(order != nobody) & (order != everybody)], [everybody]])
    fp, tp = fp[order], tp[order]
    fp[0] = tp[0] = 0.0
    fp[-1], tp[-1] = negatives, positives
    return GroupPoints(fp, tp, float(negatives), float(positives), order.astype(np.float64))


def frontier(
    deprived: GroupPoints, favoured: GroupPoints, constraint: Held, tolerances: ArrayLike
) -> Frontier:
    """Return the best accuracy of thresholds for two groups whose rates differ by no more than a tolerance.

    Parameters
    ----------
    deprived, favoured : GroupPoints
        Their hulls or all their points.
    constraint : {"demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"}
        Which rates may not differ by more: selection rates, TPR, FPR, or neither TPR nor FPR.
    tolerances : array of float, shape (tolerances,)
        At least 0, or NaN.

    Returns
    -------
    Frontier
        NaN where the tolerance is, and where a group has no row with a label that the rates need.

    Examples
    --------
    >>> from fairbench_cli.measures.thresholds import group_points
    >>> women = group_points([1, 2, 2, 3, 4], [0, 0, 1, 0, 1])
    >>> men = group_points([1, 2, 3, 3, 4, 4], [0, 0, 1, 1, 1, 1])
    >>> best = frontier(women, men, "demographic-parity", [0, 0.1, 1])
    >>> best.accuracy.round(6).tolist(), best.gap.round(6).tolist()
    ([0.838384, 0.853535, 0.909091], [0.0, 0.1, 0.466667])
    """
    return frontier_of_hulls((hull(deprived), hull(favoured)), constraint, tolerances)


def frontier_of_hulls(
    corners: tuple[GroupPoints, GroupPoints], constraint: Held, tolerances: ArrayLike
) -> Frontier:
    """Return what `frontier` does, of groups whose points are the corners of their hulls already."""
    at = np.asarray(tolerances, dtype=np.float64)
    needed = [
        weight
        for g in corners
        for weight, spared in ((g.negatives, "tpr-parity"), (g.positives, "fpr-parity"))
        if constraint not in (spared, "demographic-parity")
    ] + [g.negatives + g.positives for g in corners]
    if min(needed) <= 0:
        return Frontier(np.full(at.shape, np.nan), np.full(at.shape, np.nan))
    correct, gap, draws = (_both if constraint == "equalised-odds" else _one)(corners, constraint, at)
    negatives = sum(g.negatives for g in corners)
    total = negatives + sum(g.positives for g in corners)
    return Frontier((negatives + correct) / total, gap, draws)


@dataclass(frozen=True, eq=False)
class _Curve:
    """A group's rate at each corner of its hull, rising, and the correct decisions there.

    Correct decisions are counted from "nobody": accepted positives less accepted negatives.
    """

    rate: Floats
    correct: Floats
    thresholds: Floats

    def draw(self, rate: Floats) -> Draw:
        """Return the thresholds that reach a rate."""
        after = np.searchsorted(self.rate, rate).clip(1, len(self.rate) - 1)
        low, high = self.rate[after - 1], self.rate[after]
        share = ((rate - low) / (high - low)).clip(0.0, 1.0)
        return Draw(self.thresholds[after - 1], self.thresholds[after], share)


def _curve(group: GroupPoints, constraint: Held) -> _Curve:
    """Return the best at every rate: of corners with equal rates the one with more correct decisions."""
    accepted, everybody = {
        "demographic-parity": (group.fp + group.tp, group.negatives + group.positives),
        "tpr-parity": (group.tp, group.positives),
        "fpr-parity": (group.fp, group.negatives),
    }[constraint]
    rate, correct = accepted / everybody, group.tp - group.fp
    rises, gains = np.diff(rate) > ROUNDING, np.diff(correct) >= 0
    kept = np.append(rises | ~gains, True) & np.append(True, rises | gains)
    return _Curve(rate[kept], correct[kept], group.thresholds[kept])


def _one(
    corners: tuple[GroupPoints, GroupPoints], constraint: Held, tolerances: Floats
) -> tuple[Floats, Floats, tuple[Draw, ...]]:
    """Return the best under a bound on the difference of one rate: correct decisions, gap, draws.

    The most correct decisions at a difference d = favoured − deprived are a concave function of d: the sum of
    two concave functions of one rate each, at rates d apart. Its pieces are those of both functions, the
    steepest first (the deprived group's are walked from everybody to nobody). So the best within ±t is at
    the overall best difference, or at the end of ±t next to it.
    """
    deprived, favoured = (_curve(group, constraint) for group in corners)
    steps = np.concatenate([np.diff(favoured.rate), np.diff(deprived.rate)[::-1]])
    gains = np.concatenate([np.diff(favoured.correct), -np.diff(deprived.correct)[::-1]])
    order = np.argsort(-gains / steps, kind="stable")
    of_favoured = order < len(favoured.rate) - 1
    steps, gains = steps[order], gains[order]
    rates = [
        np.concatenate([[0.0], np.cumsum(np.where(of_favoured, steps, 0.0))]),
        1.0 - np.concatenate([[0.0], np.cumsum(np.where(of_favoured, 0.0, steps))]),
    ]
    difference = rates[0] - rates[1]
    correct = favoured.correct[0] + deprived.correct[-1] + np.concatenate([[0.0], np.cumsum(gains)])
    best = difference[correct >= correct.max() - TIED]
    free = np.clip(0.0, best[0], best[-1])
    at = np.clip(free, -tolerances, tolerances)
    draws = tuple(
        curve.draw(np.interp(at, difference, rate))
        for curve, rate in ((deprived, rates[1]), (favoured, rates[0]))
    )
    return np.interp(at, difference, correct), np.abs(at), draws


def _both(
    corners: tuple[GroupPoints, GroupPoints], _: Held, tolerances: Floats
) -> tuple[Floats, Floats, tuple[Draw, ...]]:
    """Return the best under one bound on the differences of FPR and of TPR: correct decisions and gap.

    Given both FPR, no more than t apart, each group's TPR is as high as its hull allows and no more than t
    above the other's. Correct decisions are then a concave, piecewise linear function of the two FPR. It is
    largest where two of three kinds of lines meet: an FPR at a corner of its hull; FPR that are t apart; TPR
    on the hulls that are t apart. All such places are tried; of two corners only the best ones of each group,
    as elsewhere it pays to go on to one of the other lines.
    """
    bound = tolerances[:, np.newaxis]
    by_fpr = [_curve(group, "fpr-parity") for group in corners]
    by_tpr = [_curve(group, "tpr-parity") for group in corners]
    sizes = [(group.negatives, group.positives) for group in corners]

    def tpr(group: int, fpr: Floats) -> Floats:
        own, (negatives, positives) = by_fpr[group], sizes[group]
        return np.interp(fpr, own.rate, (own.correct + own.rate * negatives) / positives)

    def fpr(group: int, rate: Floats) -> Floats:
        own, (negatives, positives) = by_tpr[group], sizes[group]
        return np.interp(rate, own.rate, (own.rate * positives - own.correct) / negatives)

    places: list[list[Floats]] = []  # FPR of the deprived and the favoured group, (tolerances, places)
    tops = [own.rate[own.correct >= own.correct.max() - TIED][[0, -1]] for own in by_fpr]
    places += [[np.full_like(bound, a), np.full_like(bound, b)] for a in tops[0] for b in tops[1]]
    for group in (0, 1):
        corner = by_fpr[group].rate + 0 * bound
        height = tpr(group, corner)
        for sign in (-1, 1):
            for other in (corner + sign * bound, fpr(1 - group, height + sign * bound)):
                places.append([corner, other] if group == 0 else [other, corner])
    for sign in (-1, 1):
        # Along FPR that are t apart: where do the hulls come t apart?
        start, end = np.maximum(0.0, -sign * bound), np.minimum(1.0, 1.0 - sign * bound)
        shifted = by_fpr[0].rate - sign * bound
        x = np.concatenate([shifted, by_fpr[1].rate + 0 * bound, start, end], axis=1)
        x = np.sort(np.clip(x, start, np.maximum(start, end)), axis=1)
        apart = tpr(0, x + sign * bound) - tpr(1, x)
        for other_sign in (-1, 1):
            past = apart - other_sign * bound
            with np.errstate(divide="ignore", invalid="ignore"):
                share = past[:, :-1] / (past[:, :-1] - past[:, 1:])
            share = np.where((share > 0) & (share < 1), share, 0.0)
            meets = x[:, :-1] + share * np.diff(x, axis=1)
            places.append([meets + sign * bound, meets])
    x0, x1 = (np.concatenate([pair[g] for pair in places], axis=1).clip(0.0, 1.0) for g in (0, 1))
    on_hull = tpr(0, x0), tpr(1, x1)
    y0, y1 = (np.minimum(on_hull[g], on_hull[1 - g] + bound) for g in (0, 1))
    correct = sum(y * p - x * n for x, y, (n, p) in zip((x0, x1), (y0, y1), sizes, strict=True))
    correct = np.where(np.abs(x0 - x1) <= bound + ROUNDING, correct, -np.inf)
    rows, best = np.arange(len(bound)), np.argmax(correct, axis=1)
    gap = np.maximum(np.abs(x0 - x1), np.abs(y0 - y1))[rows, best]
    known: NDArray[np.bool_] = ~np.isnan(tolerances)
    return np.where(known, correct[rows, best], np.nan), np.where(known, gap, np.nan), ()
