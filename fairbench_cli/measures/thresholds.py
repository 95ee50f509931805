"""What the thresholds on a score decide, and the best of each group under a constraint of fairness.

A threshold on a score gives a group a pair of rates (FPR, TPR). Drawing the threshold at random reaches every
mixture of such pairs, and nothing else: their convex hull. Costs, selection rates and error rates are linear
in the pair, so the best mixtures are the solution of a linear programme over the vertices of the hulls.
Hardt, Price & Srebro (2016); Cruz & Hardt (2024). scipy.optimize is imported inside, as it is slow to load.

For two groups and errors of equal cost `frontier_of_hulls` finds the same optimum without the programme, for
many tolerances at once and fast enough for every model of a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import PAIR, Counts, Floats, count, row_masses

Constraint = Literal["none", "demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"]
Norm = Literal["max", "sum"]
Bound = tuple[float | None, float | None]

RATES: Floats = np.linspace(0, 1, 51)
"""Acceptance rates at which the decisions of a score are counted: every fiftieth."""

ROUNDING = 1e-12  # what sums of floats may be off, in rates and costs
TIED = 1e-9  # reduced costs up to this are no costs; rows: what sums of counts may be off
MOST_TIES = 1024  # combinations of equally cheap points that are compared
ON_CHORD = 1e-13  # points this near to a chord lie on it, in rates, where weights are not whole numbers


@dataclass(frozen=True, eq=False)
class GroupPoints:
    """What the thresholds on a score accept of one group.

    Parameters
    ----------
    fp, tp : float64 array, shape (points,)
        Weight of the accepted rows with the unfavourable label and with the favourable one. Neither falls
        from point to point; the first point accepts nobody, the last one everybody.
    negatives, positives : float
        Weight of all rows with the unfavourable label and with the favourable one.
    thresholds : float64 array, shape (points,)
        Accept scores that are at least so high. They fall; ``inf`` accepts nobody, ``-inf`` everybody.

    Raises
    ------
    ValueError
        When the points are not in this order or the shapes differ.
    """

    fp: Floats
    tp: Floats
    negatives: float
    positives: float
    thresholds: Floats

    def __post_init__(self) -> None:
        if not self.fp.shape == self.tp.shape == self.thresholds.shape or self.fp.ndim != 1:
            raise ValueError("fp, tp and thresholds must be three vectors of one length")
        for accepted, everybody in ((self.fp, self.negatives), (self.tp, self.positives)):
            if not (len(accepted) > 1 and accepted[0] == 0 and accepted[-1] == everybody):
                raise ValueError("the points must go from nobody to everybody")
            if not (np.diff(accepted) >= 0).all():
                raise ValueError("a lower threshold must accept all that a higher one accepts")

    def select(self, selected: Sequence[int] | NDArray[np.bool_]) -> "GroupPoints":
        """Return some of the points, the first and the last among them."""
        return replace(self, fp=self.fp[selected], tp=self.tp[selected], thresholds=self.thresholds[selected])


@dataclass(frozen=True, eq=False)
class Mixture:
    """Thresholds of one group, and how often each is drawn.

    Parameters
    ----------
    thresholds : float64 array, shape (thresholds,)
        Accept scores that are at least so high; falling.
    weights : float64 array, shape (thresholds,)
        Their probabilities: above 0, sum 1.
    """

    thresholds: Floats
    weights: Floats

    def chance(self, score: ArrayLike) -> Floats:
        """Return the probability with which each score is accepted, in [0, 1], in the shape of `score`.

        >>> Mixture(np.array([0.8, 0.5]), np.array([0.25, 0.75])).chance([0.9, 0.8, 0.5, 0.4]).tolist()
        [1.0, 1.0, 0.75, 0.0]
        """
        upto = np.concatenate([[0.0], np.cumsum(self.weights)])
        upto[-1] = 1.0
        # How many of the thresholds lie at or below the score, counted from the highest.
        above = np.searchsorted(self.thresholds[::-1], np.asarray(score, dtype=np.float64), side="right")
        return np.asarray((1.0 - upto)[len(self.thresholds) - above]).clip(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class BestThresholds:
    """The best mixtures of thresholds, one of each group, and what they reach on the rows given.

    Parameters
    ----------
    mixtures : tuple of Mixture
        One of each group.
    fpr, tpr, selection : float64 array, shape (groups,)
        Expected rates of each group.
    cost : float
        (cost of a false positive × their weight + cost of a false negative × their weight) / weight of all.
    accuracy : float
        Share of rows decided as labelled, in expectation.
    violation : float
        The largest difference between two groups, in the constraint's rates and norm; 0 without constraint.
    """

    mixtures: tuple[Mixture, ...]
    fpr: Floats
    tpr: Floats
    selection: Floats
    cost: float
    accuracy: float
    violation: float


def group_points(score: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> GroupPoints:
    """Return the points of one group, what each threshold on a score accepts: one for every distinct score.

    Parameters
    ----------
    score : array of float, shape (rows,)
        Higher is accepted earlier. Equal scores are accepted together.
    y : array of int, shape (rows,)
        Label, 1 for the favourable outcome, else 0.
    weights : array of float, shape (rows,), optional
        Row weights, at least 0; one each if left out.

    Raises
    ------
    ValueError
        When there are no rows, or a score is not finite.

    Examples
    --------
    >>> points = group_points([0.2, 0.5, 0.5, 0.9], [0, 0, 1, 1])
    >>> points.fp.tolist(), points.tp.tolist(), points.thresholds.tolist()
    ([0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 2.0], [inf, 0.9, 0.5, -inf])
    """
    score = np.asarray(score, dtype=np.float64)
    y = np.asarray(y)
    if not len(score):
        raise ValueError("a group has no rows")
    if not np.isfinite(score).all():
        raise ValueError("a score is not a finite number")
    mass = row_masses(weights, len(score))
    distinct, level = np.unique(score, return_inverse=True)
    # Summed by score first, so that the order of the rows matters to rounding alone.
    fp, tp = (
        np.concatenate([[0.0], np.cumsum(np.bincount(level, mass * (y == label), len(distinct))[::-1])])
        for label in (0, 1)
    )
    thresholds = np.concatenate([[np.inf], distinct[:0:-1], [-np.inf]])
    return GroupPoints(fp, tp, float(fp[-1]), float(tp[-1]), thresholds)


def convex_hull(points: GroupPoints) -> GroupPoints:
    """Return the points at the corners of the upper hull, from nobody to everybody.

    Points on the line between two others are left out: decided exactly where the counts are whole numbers,
    else up to rounding.

    Examples
    --------
    >>> corners = convex_hull(group_points([1, 2, 2, 3, 4, 4], [0, 0, 1, 0, 1, 1]))
    >>> corners.fp.tolist(), corners.tp.tolist(), corners.thresholds.tolist()
    ([0.0, 0.0, 2.0, 3.0], [0.0, 2.0, 3.0, 3.0], [inf, 4.0, 2.0, -inf])
    """
    fp = points.fp
    tp = points.tp
    if (fp == np.floor(fp)).all() and (tp == np.floor(tp)).all():
        # Python's whole numbers are exact, whatever their size.
        slack = 0.0
        x = fp.astype(np.int64).tolist()
        y = tp.astype(np.int64).tolist()
    else:
        slack = ON_CHORD
        x = (fp / (fp[-1] or 1.0)).tolist()
        y = (tp / (tp[-1] or 1.0)).tolist()
    corners: list[int] = []
    for b in range(len(fp)):
        while len(corners) > 1:
            o, a = corners[-2:]
            across = x[b] - x[o]
            up = y[b] - y[o]
            if (x[a] - x[o]) * up - (y[a] - y[o]) * across < -slack * (across + up):
                break  # a is above the line from o to b
            corners.pop()
        corners.append(b)
    return points.select(corners)


def best_thresholds(
    groups: Sequence[GroupPoints],
    constraint: Constraint = "none",
    tolerance: float = 0.0,
    costs: tuple[float, float] = (1.0, 1.0),
    norm: Norm = "max",
    *,
    randomised: bool = True,
) -> BestThresholds:
    """Return the mixtures of thresholds that cost least, of those that keep to a constraint.

    Of equally good mixtures: the cheapest thresholds of each group without any draw, if they keep to the
    constraint; otherwise those with the smallest differences between the groups.

    Parameters
    ----------
    groups : sequence of GroupPoints
        One or more groups, their hulls or all their points.
    constraint : {"none", "demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"}
        Which rates may differ by no more than `tolerance` between any two groups: selection rates, TPR, FPR,
        or both of these.
    tolerance : float, at least 0
        Largest difference allowed.
    costs : (float, float)
        Of a false positive and of a false negative, at least 0, not both 0.
    norm : {"max", "sum"}
        Of equalised odds: whether each of the differences in FPR and TPR is held, or their sum.
    randomised : bool
        Whether a threshold may be drawn; else each of two groups has one threshold, under a constraint on one
        rate.

    Raises
    ------
    ValueError
        When there is no group, a group has no row with one of the labels, or tolerance or costs are out of
        range; without draws for other than two groups and for a constraint on two rates.

    Examples
    --------
    >>> women = group_points([1, 2, 2, 3, 4], [0, 0, 1, 0, 1])
    >>> men = group_points([1, 2, 3, 3, 4, 4], [0, 0, 1, 1, 1, 1])
    >>> free, equal = (best_thresholds([women, men], c) for c in ("none", "demographic-parity"))
    >>> round(free.accuracy, 6), free.selection.round(6).tolist()
    (0.909091, [0.2, 0.666667])
    >>> round(equal.accuracy, 6), equal.selection.round(6).tolist()
    (0.838384, [0.666667, 0.666667])
    """
    if not len(groups):
        raise ValueError("there is no group")
    if not all(group.negatives > 0 and group.positives > 0 for group in groups):
        raise ValueError("a group has no row with one of the labels")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"the tolerance must be a number of at least 0, not {tolerance}")
    if not (min(costs) >= 0 and 0 < max(costs) < np.inf):
        raise ValueError(f"costs must be numbers of at least 0 and not both 0, not {costs}")
    hulls = [convex_hull(group) if randomised else group for group in groups]
    total = sum(group.negatives + group.positives for group in hulls)
    unit = max(costs)  # so that tolerances of the solver mean the same whatever costs are counted in
    cost = [_errors(group, costs[0] / unit, costs[1] / unit) / total for group in hulls]
    constrained = [_constrained_rates(group, constraint, norm) for group in hulls]
    shares = _cheapest(cost, constrained)
    if _violation(shares, constrained) > tolerance + ROUNDING:
        if randomised:
            shares = _solve_programme(cost, constrained, tolerance)
        else:
            shares = _cheapest_pair(cost, constrained, tolerance)
    return BestThresholds(
        tuple(
            Mixture(group.thresholds[share > 0], share[share > 0])
            for group, share in zip(hulls, shares, strict=True)
        ),
        *_rates(hulls, shares),
        cost=unit * _sum(shares, cost),
        accuracy=1.0 - _sum(shares, [_errors(group, 1.0, 1.0) / total for group in hulls]),
        violation=_violation(shares, constrained),
    )


def _rates(hulls: list[GroupPoints], shares: list[Floats]) -> tuple[Floats, Floats, Floats]:
    """Return FPR, TPR and selection rate of each group, each of shape (groups,)."""
    accepted = np.array(
        [(share @ group.fp, share @ group.tp) for group, share in zip(hulls, shares, strict=True)]
    )
    rows = np.array([(group.negatives, group.positives) for group in hulls])
    fpr, tpr = (accepted / rows).T
    return fpr, tpr, accepted.sum(1) / rows.sum(1)


def _errors(group: GroupPoints, false_positive: float, false_negative: float) -> Floats:
    """Return the cost of the errors of each point, shape (points,)."""
    return false_positive * group.fp + false_negative * (group.positives - group.tp)


def _constrained_rates(group: GroupPoints, constraint: Constraint, norm: Norm) -> Floats:
    """Return the rates that may not differ much, shape (rates, points).

    |a| + |b| is the larger of |a + b| and |a − b|: the sum of two differences is held by holding the
    differences in FPR + TPR and in FPR − TPR, for any number of groups.
    """
    fpr = group.fp / group.negatives
    tpr = group.tp / group.positives
    rates: dict[Constraint, list[Floats]] = {
        "none": [],
        "demographic-parity": [(group.fp + group.tp) / (group.negatives + group.positives)],
        "tpr-parity": [tpr],
        "fpr-parity": [fpr],
        "equalised-odds": [fpr, tpr] if norm == "max" else [fpr + tpr, fpr - tpr],
    }
    return np.array(rates[constraint]).reshape(-1, len(fpr))


def _violation(shares: list[Floats], constrained: list[Floats]) -> float:
    """Return the largest difference between two groups in any of the rates held."""
    rates = np.array([rate @ share for rate, share in zip(constrained, shares, strict=True)])
    return float(np.ptp(rates, axis=0).max(initial=0.0))


def _sum(shares: list[Floats], cost: list[Floats]) -> float:
    return float(sum(point_costs @ share for point_costs, share in zip(cost, shares, strict=True)))


def _cheapest(cost: list[Floats], constrained: list[Floats]) -> list[Floats]:
    """Return the cheapest point of each group, as shares of shape (points,).

    Of ties those with the smallest differences between the groups, then with the highest thresholds.
    """
    points = []
    for point_costs in cost:
        cheapest = np.flatnonzero(point_costs <= point_costs.min() + ROUNDING)
        points.append(list(np.eye(len(point_costs))[cheapest]))
    # Rounded, so that equal differences tie and the first, with the highest thresholds, is taken.
    combinations = map(list, islice(product(*points), MOST_TIES))
    return min(combinations, key=lambda shares: round(_violation(shares, constrained), 12))


def _cheapest_pair(cost: list[Floats], constrained: list[Floats], tolerance: float) -> list[Floats]:
    """Return the points of two groups that cost least together, of those whose rates differ by a tolerance.

    There are always some: nobody is accepted of either group. Of equally cheap ones the pair with the
    smallest difference is taken, then the one with the highest thresholds.
    """
    if len(cost) != 2 or len(constrained[0]) != 1:
        raise ValueError("without draws two groups are held at one rate")
    own_rates, other_rates = (rates[0] for rates in constrained)
    # Of the second group, the points in the window of each point of the first: both ends only rise.
    starts = np.searchsorted(other_rates, own_rates - tolerance - ROUNDING, side="left")
    ends = np.searchsorted(other_rates, own_rates + tolerance + ROUNDING, side="right")
    best: tuple[float, float, int, int] | None = None
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start == end:
            continue
        window = cost[1][start:end]
        cheapest = start + np.flatnonzero(window <= window.min() + ROUNDING)
        gaps = np.abs(other_rates[cheapest] - own_rates[i]).round(12)
        j = int(cheapest[np.argmin(gaps)])
        pair = (round(float(cost[0][i] + cost[1][j]), 12), float(gaps.min()), i, j)
        if best is None or pair < best:
            best = pair
    if best is None:
        raise ValueError("no two thresholds keep to the tolerance")
    _, _, i, j = best
    return [np.eye(len(cost[0]))[i], np.eye(len(cost[1]))[j]]


def _solve_programme(cost: list[Floats], constrained: list[Floats], tolerance: float) -> list[Floats]:
    """Return the cheapest mixtures that keep to the tolerance, each as shares of shape (points,).

    Variables: the shares of all groups; for each rate, its lowest value u over the groups and the range w
    above it that holds all of them, w ≤ tolerance.
    """
    from scipy.linalg import block_diag
    from scipy.optimize import linprog

    groups = len(cost)
    rates = len(constrained[0])
    price = np.concatenate(cost)
    rate = block_diag(*constrained)
    lowest = np.tile(np.eye(rates), (groups, 1))
    within = np.block([[rate, -lowest, -lowest], [-rate, lowest, np.zeros_like(lowest)]])
    # The shares of each group sum to 1.
    sums = block_diag(*(np.ones((1, len(point_costs))) for point_costs in cost))
    one = np.hstack([sums, np.zeros((groups, 2 * rates))])
    after: list[Bound] = [(None, None)] * rates + [(0.0, tolerance)] * rates

    def solve(objective: Floats, equal: Floats, targets: Floats, shares: list[Bound]) -> Any:
        return linprog(
            objective,
            A_ub=within,
            b_ub=np.zeros(len(within)),
            A_eq=equal,
            b_eq=targets,
            bounds=shares + after,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )

    nothing = np.zeros(2 * rates)
    best = solve(np.concatenate([price, nothing]), one, np.ones(groups), [(0.0, None)] * len(price))
    if best.status != 0:
        raise ArithmeticError(f"HiGHS did not solve the linear programme: {best.message}")
    share = best.x[: len(price)]
    free = best.lower.marginals[: len(price)] <= TIED
    if tolerance > 0 and (share[free] == 0).any():
        # Several mixtures may cost the same. Among those, narrow the ranges.
        ranges = np.concatenate([0 * price, nothing[:rates], np.ones(rates)])
        one_at_best_price = np.vstack([one, np.concatenate([price, nothing])])
        bounds: list[Bound] = [(0.0, None if is_free else 0.0) for is_free in free]
        narrow = solve(ranges, one_at_best_price, np.append(np.ones(groups), best.fun), bounds)
        if narrow.status == 0 and price @ narrow.x[: len(price)] <= best.fun + ROUNDING:
            share = narrow.x[: len(price)]
    ends = np.cumsum([len(point_costs) for point_costs in cost])
    shares = np.split(np.where(share < ROUNDING, 0.0, share), ends[:-1])
    return [group_shares / group_shares.sum() for group_shares in shares]


Held = Literal["demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"]
HELD: tuple[Held, ...] = get_args(Held)


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


def swept_counts(
    s: ArrayLike,
    y: ArrayLike,
    score: ArrayLike,
    groups: tuple[str, ...],
    rates: Floats = RATES,
) -> Counts:
    """Count rows when the share r with the highest scores is accepted, for every r.

    Rows that tie at the border are accepted in proportion, so counts need not be whole. A constant score is
    the random classifier of Žliobaitė (2015), and its counts are the expected ones.

    Parameters
    ----------
    s : array of int, shape (rows,)
        Index of each row's group in `groups`.
    y : array of int, shape (rows,)
        Label, 1 for the favourable outcome, else 0.
    score : array of float, shape (rows,)
        Higher is accepted earlier.
    groups : tuple of str
        Names of the groups.
    rates : array of float in [0, 1], shape (points,)
        Acceptance rates.

    Returns
    -------
    Counts
        Its ``n`` has shape (points, groups, 2, 2).

    Raises
    ------
    ValueError
        When a score is NaN, or groups and labels do not fit (see `count`).

    Examples
    --------
    >>> swept = swept_counts([0, 0, 1, 1], [0, 1, 0, 1], [0.1, 0.5, 0.5, 0.9], ("g", "f"), np.array([0.5]))
    >>> swept.n[0, :, :, 1].tolist()
    [[0.0, 0.5], [0.5, 1.0]]
    """
    score = np.asarray(score, dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError("a score is not a number")
    # Rounded, so that accepted and refused add up to the labels and records stay short; late enough for
    # sums over many groups.
    everybody = count(s, y, np.ones(len(score), dtype=np.int8), groups).labelled
    cell = np.asarray(s, dtype=np.intp) * 2 + np.asarray(y, dtype=np.intp)
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1) + 1  # of blocks of equal scores
    accepted = np.zeros((len(rates), 2 * len(groups)))
    for k in range(accepted.shape[1]):
        upto = np.concatenate([[0], np.cumsum(cell[order] == k)])
        accepted[:, k] = np.interp(rates * len(score), [0, *ends], upto[[0, *ends]])
    by_group = accepted.round(9).reshape(len(rates), len(groups), 2)
    return Counts(groups, np.stack([everybody - by_group, by_group], axis=-1))


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
    deprived, favoured = (_points_of_group(swept.n[:, group]) for group in range(len(PAIR)))
    return deprived, favoured


def _points_of_group(n: Floats) -> GroupPoints:
    negatives, positives = n[0].sum(-1)
    # Sums of rounded counts may be a little larger than the group.
    fp = np.minimum(n[:, 0, 1], negatives)
    tp = np.minimum(n[:, 1, 1], positives)
    nobody = np.argmin(fp + tp)
    everybody = np.argmax(fp + tp)
    order = np.lexsort((tp, fp))
    order = order[tp[order] >= np.maximum.accumulate(tp[order])]
    order = np.concatenate([[nobody], order[(order != nobody) & (order != everybody)], [everybody]])
    fp = fp[order]
    tp = tp[order]
    fp[0] = tp[0] = 0.0
    fp[-1] = negatives
    tp[-1] = positives
    return GroupPoints(fp, tp, float(negatives), float(positives), order.astype(np.float64))


def frontier_of_hulls(
    corners: tuple[GroupPoints, GroupPoints], constraint: Held, tolerances: ArrayLike
) -> Frontier:
    """Return the best accuracy of thresholds for two groups whose rates differ by no more than a tolerance.

    Parameters
    ----------
    corners : pair of GroupPoints
        The `convex_hull` of the deprived and of the favoured group.
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
    >>> women = group_points([1, 2, 2, 3, 4], [0, 0, 1, 0, 1])
    >>> men = group_points([1, 2, 3, 3, 4, 4], [0, 0, 1, 1, 1, 1])
    >>> best = frontier_of_hulls((convex_hull(women), convex_hull(men)), "demographic-parity", [0, 0.1, 1])
    >>> best.accuracy.round(6).tolist(), best.gap.round(6).tolist()
    ([0.838384, 0.853535, 0.909091], [0.0, 0.1, 0.466667])
    """
    bounds = np.asarray(tolerances, dtype=np.float64)
    # What a rate is a share of: all rows, the favourable labels (TPR), the unfavourable ones (FPR).
    required = []
    for group in corners:
        required.append(group.negatives + group.positives)
        if constraint in ("tpr-parity", "equalised-odds"):
            required.append(group.positives)
        if constraint in ("fpr-parity", "equalised-odds"):
            required.append(group.negatives)
    if min(required) <= 0:
        return Frontier(np.full(bounds.shape, np.nan), np.full(bounds.shape, np.nan))
    draws: tuple[Draw, ...] = ()
    if constraint == "equalised-odds":
        correct, gap = _best_under_two_rates(corners, bounds)
    else:
        correct, gap, draws = _best_under_one_rate(corners, constraint, bounds)
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
        low = self.rate[after - 1]
        high = self.rate[after]
        share = ((rate - low) / (high - low)).clip(0.0, 1.0)
        return Draw(self.thresholds[after - 1], self.thresholds[after], share)


def _curve(group: GroupPoints, constraint: Held) -> _Curve:
    """Return the best at every rate: of corners with equal rates the one with more correct decisions."""
    accepted, everybody = {
        "demographic-parity": (group.fp + group.tp, group.negatives + group.positives),
        "tpr-parity": (group.tp, group.positives),
        "fpr-parity": (group.fp, group.negatives),
    }[constraint]
    rate = accepted / everybody
    correct = group.tp - group.fp
    rises = np.diff(rate) > ROUNDING
    gains = np.diff(correct) >= 0
    keep = np.append(rises | ~gains, True) & np.append(True, rises | gains)
    return _Curve(rate[keep], correct[keep], group.thresholds[keep])


def _best_under_one_rate(
    corners: tuple[GroupPoints, GroupPoints], constraint: Held, tolerances: Floats
) -> tuple[Floats, Floats, tuple[Draw, ...]]:
    """Return the best under a bound on the difference of one rate: correct decisions, gap, draws.

    The most correct decisions at a difference d = favoured − deprived are a concave function of d: the sum of
    two concave functions of one rate each, at rates d apart. Its pieces are those of both functions, the
    steepest first (the deprived group's are walked from everybody to nobody). So the best within ±t is at
    the overall best difference, or at the end of ±t next to it.
    """
    deprived, favoured = (_curve(group, constraint) for group in corners)
    # Each step makes the difference larger: more of the favoured are accepted, or fewer of the deprived.
    steps = np.concatenate([np.diff(favoured.rate), np.diff(deprived.rate)[::-1]])
    gains = np.concatenate([np.diff(favoured.correct), -np.diff(deprived.correct)[::-1]])
    steepest_first = np.argsort(-gains / steps, kind="stable")
    is_favoured = steepest_first < len(favoured.rate) - 1
    steps = steps[steepest_first]
    gains = gains[steepest_first]
    # The corners of the sum, from where everybody deprived and nobody favoured is accepted.
    favoured_rate = np.concatenate([[0.0], np.cumsum(np.where(is_favoured, steps, 0.0))])
    deprived_rate = 1.0 - np.concatenate([[0.0], np.cumsum(np.where(is_favoured, 0.0, steps))])
    difference = favoured_rate - deprived_rate
    correct = favoured.correct[0] + deprived.correct[-1] + np.concatenate([[0.0], np.cumsum(gains)])
    # Of equally good differences the one nearest to 0, brought within ± tolerance.
    best = difference[correct >= correct.max() - TIED]
    bounded = np.clip(np.clip(0.0, best[0], best[-1]), -tolerances, tolerances)
    draws = (
        deprived.draw(np.interp(bounded, difference, deprived_rate)),
        favoured.draw(np.interp(bounded, difference, favoured_rate)),
    )
    return np.interp(bounded, difference, correct), np.abs(bounded), draws


def _best_under_two_rates(
    corners: tuple[GroupPoints, GroupPoints], tolerances: Floats
) -> tuple[Floats, Floats]:
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
        curve = by_fpr[group]
        negatives, positives = sizes[group]
        return np.interp(fpr, curve.rate, (curve.correct + curve.rate * negatives) / positives)

    def fpr(group: int, rate: Floats) -> Floats:
        curve = by_tpr[group]
        negatives, positives = sizes[group]
        return np.interp(rate, curve.rate, (curve.rate * positives - curve.correct) / negatives)

    candidates: list[list[Floats]] = []  # FPR of the deprived and the favoured group, (tolerances, places)
    # Two corners: the lowest and the highest FPR of the most correct decisions, of each group.
    tops = [curve.rate[curve.correct >= curve.correct.max() - TIED][[0, -1]] for curve in by_fpr]
    for deprived_fpr, favoured_fpr in product(*tops):
        candidates.append([np.full_like(bound, deprived_fpr), np.full_like(bound, favoured_fpr)])
    # A corner of one group, and FPR or TPR of the other that are t apart.
    for group in (0, 1):
        corner = by_fpr[group].rate + 0 * bound
        height = tpr(group, corner)
        for sign in (-1, 1):
            for other_fpr in (corner + sign * bound, fpr(1 - group, height + sign * bound)):
                candidates.append([corner, other_fpr] if group == 0 else [other_fpr, corner])
    for sign in (-1, 1):
        # Along FPR that are t apart: where do the hulls come t apart?
        start = np.maximum(0.0, -sign * bound)
        end = np.minimum(1.0, 1.0 - sign * bound)
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
            candidates.append([meets + sign * bound, meets])
    # The best of all candidates: x is the FPR of a group, y its TPR.
    x0 = np.concatenate([fpr_0 for fpr_0, _ in candidates], axis=1).clip(0.0, 1.0)
    x1 = np.concatenate([fpr_1 for _, fpr_1 in candidates], axis=1).clip(0.0, 1.0)
    hull_0 = tpr(0, x0)
    hull_1 = tpr(1, x1)
    y0 = np.minimum(hull_0, hull_1 + bound)
    y1 = np.minimum(hull_1, hull_0 + bound)
    correct = sum(y * p - x * n for x, y, (n, p) in zip((x0, x1), (y0, y1), sizes, strict=True))
    correct = np.where(np.abs(x0 - x1) <= bound + ROUNDING, correct, -np.inf)
    rows = np.arange(len(bound))
    best = np.argmax(correct, axis=1)
    gap = np.maximum(np.abs(x0 - x1), np.abs(y0 - y1))[rows, best]
    has_tolerance: NDArray[np.bool_] = ~np.isnan(tolerances)
    return np.where(has_tolerance, correct[rows, best], np.nan), np.where(has_tolerance, gap, np.nan)
