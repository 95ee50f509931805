"""Logistic regression with a lower limit on every row's decision, by a primal-dual interior-point method."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.logistic import Logistic, Solution, solver

TOLERANCE = 1e-9  # of the conditions of optimality, per unit of weight
ENOUGH = 1e-7
PATIENCE = 5  # steps without halving what is missed
LEAST_SLACK = 1e-2  # at the start
MOST_STEPS = 150


@dataclass(frozen=True, eq=False)
class Limited:
    """min f(w) subject to turned ∘ (X w) ≥ limits and a·w = level.

    Parameters
    ----------
    problem : Logistic
        f and X.
    turned : float64 array, shape (rows,)
        1 where the decision is bounded from below, −1 where from above.
    limits : float64 array, shape (rows,)
        The bounds.
    a : float64 array, shape (width,)
        The equality's coefficients, not all 0.
    level : float
        Its right-hand side.
    """

    problem: Logistic
    turned: Floats
    limits: Floats
    a: Floats
    level: float


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, slacks of the limits, multipliers z of those and of the equality; or a step of them."""

    w: Floats
    slack: Floats
    z: Floats
    multiplier: float

    def plus(self, size: float, step: "_Point") -> "_Point":
        return _Point(
            self.w + size * step.w,
            self.slack + size * step.slack,
            self.z + size * step.z,
            self.multiplier + size * step.multiplier,
        )


def minimise_limited(limited: Limited, start: Solution) -> Solution:
    """Return the minimum, from any start.

    The residual is the largest breach of the conditions of optimality (gradient of the Lagrangian, limits,
    equality, duality gap), divided by f(w) where that is above 1.

    Mehrotra's predictor-corrector method (Nocedal & Wright, *Numerical Optimization*, 2006, chapters 16 and
    19) with slacks of their own: neither limits nor equality need be met on the way.
    """
    problem, rows = limited.problem, limited.problem.rows
    d = rows.times(start.w)
    slack = np.maximum(limited.turned * d - limited.limits, LEAST_SLACK)
    point = _Point(start.w, slack, problem.value(start.w, d) / len(d) / slack, 0.0)
    best, lowest, steps, since = point, np.inf, 0, 0
    while True:
        missed = _missed(limited, point)
        gap = float(point.slack @ point.z)
        size = max(1.0, problem.value(point.w, rows.times(point.w)))  # more if far-out rows or weights rule
        residual = max(*(float(np.abs(part).max()) for part in missed), gap) / size
        since += 1
        if residual < 0.5 * lowest:
            since = 0
        if residual < lowest:
            best, lowest = point, residual
        stuck = since >= PATIENCE and lowest <= ENOUGH  # all that rounding allows
        if residual <= TOLERANCE or stuck or steps == MOST_STEPS or not np.isfinite(residual):
            trouble = "" if lowest <= ENOUGH else "the optimum was not reached"
            return Solution(best.w, lowest, start.steps + steps, trouble)
        point = _moved(limited, point, missed, gap)
        steps += 1


def _missed(limited: Limited, point: _Point) -> tuple[Floats, Floats, Floats]:
    """Return by how much gradient, limits and equality are missed; optimal if slack × z = 0 too."""
    problem, rows = limited.problem, limited.problem.rows
    d = rows.times(point.w)
    pull = rows.transposed_times(limited.turned * point.z)
    gradient = problem.gradient(point.w, d) - pull + point.multiplier * limited.a
    equality = np.array([float(limited.a @ point.w) - limited.level])
    return gradient, limited.turned * d - point.slack - limited.limits, equality


def _moved(limited: Limited, point: _Point, missed: tuple[Floats, Floats, Floats], gap: float) -> _Point:
    """Return the next point: how far Newton's own step gets decides the slack × z to aim at."""
    problem, rows, a = limited.problem, limited.problem.rows, limited.a
    off_gradient, off_limits, off_equality = missed[0], missed[1], float(missed[2][0])
    ratio = np.minimum(point.z / point.slack, 1e30)
    h = rows.gram(problem.curvature(rows.times(point.w)) + ratio) + np.diag(problem.penalty)
    weight = float(h.diagonal().max() / (a @ a))
    solve = solver(h + weight * np.outer(a, a))
    toward = solve(a)

    def newton(product: Floats) -> _Point:
        """Return the step whose slack × z falls by `product`."""
        aim = limited.turned * (-product / point.slack - ratio * off_limits)
        step = solve(rows.transposed_times(aim) - off_gradient)
        multiplier = float((a @ step + off_equality) / (a @ toward))
        step = step - multiplier * toward
        slack = limited.turned * rows.times(step) + off_limits
        z = (-product - point.z * slack) / point.slack
        return _Point(step, slack, z, multiplier - weight * off_equality)

    product = point.slack * point.z
    plain = newton(product)
    tried = point.plus(_longest(point, plain), plain)
    mean = gap / len(product)
    centre = mean * (float(tried.slack @ tried.z) / max(gap, 1e-300)) ** 3
    step = newton(product - centre + plain.slack * plain.z)
    return point.plus(0.99 * _longest(point, step), step)


def _longest(point: _Point, step: _Point) -> float:
    """Return how far slack and z can go along a step, at most 1, before an entry is 0."""
    longest = 1.0
    for value, change in ((point.slack, step.slack), (point.z, step.z)):
        falling = change < 0
        longest = float((value[falling] / -change[falling]).min(initial=longest))
    return longest
