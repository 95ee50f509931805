"""Nearly optimal weights of a mistreatment problem: Newton steps on ever less rounded kinks of F."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.logistic import solver
from fairbench_cli.interventions.zafar.mistreatment import Problem

# Wide rounding first: it looks past the kinks nearby, and ends in lower minima than narrow rounding alone.
ROUNDINGS = (0.5, 0.1, 0.02, 0.004, 0.001)
NEAR = 1e-5
MOST_STEPS = 12


@dataclass(frozen=True, eq=False)
class _Rounded:
    """F at d with max(0, d) made a parabola where |d| < h: values, slopes in each d, bends of each kink."""

    f: Floats
    slopes: Floats
    bends: Floats


def _rounded(problem: Problem, d: Floats, h: float) -> _Rounded:
    kinks, within = problem.up - problem.down, np.abs(d) < h
    positive = np.where(within, (d + h) ** 2 / (4 * h), np.maximum(d, 0.0))
    slopes = problem.down + kinks * np.clip((d + h) / (2 * h), 0.0, 1.0)
    return _Rounded(kinks @ positive + problem.down @ d, slopes, kinks * within / (2 * h))


def smooth(
    problem: Problem, start: Floats, threshold: float, roundings: tuple[float, ...] = ROUNDINGS
) -> tuple[Floats, int]:
    """Return weights near a local minimum, and the number of steps; start at the unconstrained optimum.

    For each width of rounding, steps of sequential quadratic programming: ℓ and the constraints' bends the
    right way are followed to second order, bends the wrong way, which would spoil convexity, to first. The
    line search is on ℓ + Σ μ_j (|F_j| − threshold)⁺; a step that fails for F's bends alone is corrected once
    before it is halved.
    """
    w, d, steps = start, problem.x @ start, 0
    multipliers = np.zeros(len(problem.up))
    for h in roundings:
        penalty = np.zeros(len(multipliers))
        for _ in range(MOST_STEPS):
            f = _rounded(problem, d, h)
            rows, g = f.slopes @ problem.x, problem.gradient(w, d)
            step, back, multipliers = _step(problem, d, g, f, rows, multipliers, threshold)
            excess = np.abs(_excess(f.f, threshold))
            if np.abs(g + multipliers @ rows).max() <= NEAR and excess.max(initial=0.0) <= NEAR:
                break
            penalty = np.maximum(penalty, 1.5 * np.abs(multipliers) + 1e-6)
            cost = problem.loss(w, d) + penalty @ excess
            fall = min(float(g @ step - penalty @ excess), 0.0)
            size, steps = 1.0, steps + 1
            while size > 1e-6:
                enough = cost + 1e-4 * size * fall + 1e-14
                trial = w + size * step
                reached, over = _cost(problem, trial, h, threshold, penalty)
                if reached > enough:
                    trial = trial + back @ over
                    reached, _ = _cost(problem, trial, h, threshold, penalty)
                if reached <= enough:
                    break
                size /= 2
            else:
                break
            w, d = trial, problem.x @ trial
    return w, steps


def _cost(problem: Problem, w: Floats, h: float, threshold: float, penalty: Floats) -> tuple[float, Floats]:
    """Return ℓ + Σ μ_j (|F_j| − threshold)⁺, and the excess."""
    d = problem.x @ w
    excess = _excess(_rounded(problem, d, h).f, threshold)
    return problem.loss(w, d) + float(penalty @ np.abs(excess)), excess


def _excess(f: Floats, threshold: float) -> Floats:
    """By how much each F_j is above the threshold, or below minus the threshold."""
    return np.asarray(f - np.clip(f, -threshold, threshold))


def _step(
    problem: Problem,
    d: Floats,
    g: Floats,
    f: _Rounded,
    rows: Floats,
    multipliers: Floats,
    threshold: float,
) -> tuple[Floats, Floats, Floats]:
    """Minimise g·p + p·H p/2 subject to |F + rows p| ≤ threshold.

    Returns p, the matrix that takes what F is off to the step that mends it, and the multipliers.
    """
    solve = solver(problem.hessian(d, np.maximum(multipliers @ f.bends, 0.0)))
    toward = solve(np.column_stack([g, rows.T]))
    p, across = -toward[:, 0], toward[:, 1:]
    s = rows @ across
    multipliers = _multipliers(s, f.f + rows @ p, threshold)
    return p - across @ multipliers, -across @ np.linalg.pinv(s, rcond=1e-12), multipliers


def _multipliers(s: Floats, f: Floats, threshold: float) -> Floats:
    """Return the λ with |f − s λ| ≤ threshold where λ_j = 0 or has the sign of a bound that is met."""
    if threshold == 0:
        return np.asarray(np.linalg.lstsq(s, f, rcond=1e-12)[0])
    for chosen in product((0.0, 1.0, -1.0), repeat=len(f)):
        sides = np.array(chosen)
        met = sides != 0
        found = np.zeros(len(f))
        found[met] = np.linalg.lstsq(s[np.ix_(met, met)], (f - threshold * sides)[met], rcond=1e-12)[0]
        if (found * sides >= 0).all() and (np.abs(f - s @ found) <= threshold + 1e-12).all():
            return found
    return np.asarray(np.linalg.lstsq(s, f - threshold * np.sign(f), rcond=1e-12)[0])
