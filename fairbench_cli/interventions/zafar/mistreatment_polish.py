"""From nearly optimal to optimal: trust-region steps that follow the kinks of F exactly."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fairbench_cli.data.table import Floats, Labels
from fairbench_cli.interventions.zafar.mistreatment import Problem, side_of, whitener

EXACT = 1e-12
STEPS = 150
PATIENCE = 30  # how often a walk may change sides without moving, where many kinks meet


def restored(problem: Problem, w: Floats, threshold: float) -> Floats | None:
    """Return weights near w with |F_j| ≤ threshold, by Newton steps on F; None if they do not get there."""
    d = problem.x @ w
    t = whitener(problem, d)
    for _ in range(100):
        f = problem.disparities(d)
        excess = f - np.clip(f, -threshold, threshold)
        broken = np.abs(excess) > EXACT * 1e-2
        if not broken.any():
            return w
        side = side_of(d)
        rows = (problem.slopes(side)[broken] @ problem.x) @ t
        step = t @ np.linalg.lstsq(rows, -excess[broken], rcond=None)[0]
        worst = float(np.abs(excess).max())
        for halving in range(30):
            trial = w + step * 0.5**halving
            d_trial = problem.x @ trial
            f_trial = problem.disparities(d_trial)
            if np.abs(f_trial - np.clip(f_trial, -threshold, threshold)).max() < worst:
                break
        else:
            return w if worst <= EXACT else None
        w, d = trial, d_trial
    return w if worst <= EXACT else None


def polish(
    problem: Problem, w: Floats, threshold: float, radius: float = 1e-3, most: int = STEPS
) -> tuple[Floats, int]:
    """Lower ℓ from weights with |F_j| ≤ threshold to a local minimum, without ever leaving |F_j| ≤ threshold.

    Returns where the steps came to rest, or at worst the last, and their number. `radius` is the first trust
    region's, `most` bounds the number.

    Near a kink the side of every pattern is followed, so that only ℓ is approximated, by its second-order
    expansion; a step that does not lower ℓ as foretold is tried again within a quarter of the radius.
    """
    d = problem.x @ w
    side = side_of(d)
    value = problem.loss(w, d)
    fresh: bool = True
    for step in range(most):
        if fresh:
            t = whitener(problem, d)
            z = problem.x @ t
            reach = np.sqrt(np.einsum("ij,ij->i", z, z))
            g = t.T @ problem.gradient(w, d)
        near = np.flatnonzero((np.abs(d) <= radius * reach) | (side == 0))
        far = side.copy()
        far[near] = 0
        walk = _Walk(
            z[near],
            reach[near],
            problem.up[:, near],
            problem.down[:, near],
            p=np.zeros(len(w)),
            d=d[near],
            side=side[near],
            rows=problem.slopes(side) @ z,
            f=problem.disparities(d),
        )
        end, inside = _walked(walk, g, radius, threshold)
        foretold = -(g @ end.p + 0.5 * end.p @ end.p)
        length = float(np.linalg.norm(end.p))
        w_trial = w + t @ end.p
        d_trial = problem.x @ w_trial
        value_trial = problem.loss(w_trial, d_trial)
        if foretold <= 1e-15 * max(1.0, value):
            return w, step
        # Where the Hessian is nearly singular, rounding alone can leave the threshold.
        kept = bool(np.abs(problem.disparities(d_trial)).max() <= threshold + 1e-9)
        fresh = kept and float(foretold) > 0 and value - value_trial >= 0.1 * float(foretold)
        if not fresh:
            if radius < 1e-10:
                return w, step
            radius = 0.25 * min(radius, length)
            continue
        side = far
        side[near] = end.side
        w, d, value = w_trial, d_trial, value_trial
        if not inside and value - value_trial <= 1.5 * foretold:
            radius = min(2 * radius, 0.2)
    return w, most


@dataclass(frozen=True, eq=False)
class _Walk:
    """Where a walk within the trust region has got to, in whitened coordinates.

    `z`, its norm `reach`, `up`, `down`, `d` and `side` are of the near patterns, side 0 being held at d = 0;
    `p` is the way so far; `rows` are the gradients of F_j, and `f` their values.
    """

    z: Floats
    reach: Floats
    up: Floats
    down: Floats
    p: Floats
    d: Floats
    side: Labels
    rows: Floats
    f: Floats

    def moved(self, i: int, to: int) -> "_Walk":
        """Put pattern i on another side."""
        slope = {1: self.up[:, i], -1: self.down[:, i], 0: np.zeros(len(self.f))}
        change = slope[to] - slope[int(self.side[i])]
        side = self.side.copy()
        side[i] = to
        return replace(self, side=side, rows=self.rows + np.outer(change, self.z[i]))


def _walked(walk: _Walk, g: Floats, radius: float, threshold: float) -> tuple[_Walk, bool]:
    """Minimise g·p + ‖p‖²/2 within |F_j| ≤ threshold and ‖p‖ ≤ radius; tell whether it came to rest."""
    active = np.abs(walk.f) >= threshold - EXACT
    kinked = (walk.up != 0).any(axis=0) | (walk.down != 0).any(axis=0)
    idle = 0
    for _ in range(3 * (PATIENCE + len(g))):
        held = np.flatnonzero(walk.side == 0)
        fixed = np.vstack([walk.rows[active], walk.z[held]])
        slope = g + walk.p
        multipliers, e = _projected(fixed, slope)
        if np.linalg.norm(e) <= 1e-11 * max(1.0, float(np.linalg.norm(slope))):
            lam = np.zeros(len(walk.f))
            lam[active] = multipliers[: active.sum()]
            wrong = active & (lam * np.sign(walk.f) < -1e-12) if threshold > 0 else active & False
            if wrong.any():
                active = active & ~wrong
                continue
            nu = multipliers[active.sum() :]
            over, under = nu - lam @ walk.up[:, held], lam @ walk.down[:, held] - nu
            worst = np.maximum(over, under)
            if not len(worst) or worst.max() <= 1e-12:
                return walk, True
            i = int(np.argmax(worst))
            walk = walk.moved(int(held[i]), 1 if over[i] >= under[i] else -1)
            continue
        change = walk.z @ e
        # Patterns in the span of those held stay where they are, whatever the rounding says.
        towards = kinked & (walk.side * change < -1e-10 * float(np.linalg.norm(e)) * walk.reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(towards, np.maximum(walk.d * walk.side, 0.0) / np.abs(change), np.inf)
        i = int(np.argmin(until)) if len(until) else -1
        slide = walk.rows @ e
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                active | (slide == 0), np.inf, (threshold - np.sign(slide) * walk.f) / np.abs(slide)
            )
        j = int(np.argmin(room))
        a, b, c = float(e @ e), float(walk.p @ e), float(walk.p @ walk.p) - radius**2
        edge = (-b + math.sqrt(max(b * b - a * c, 0.0))) / a
        t = min(1.0, float(until[i]) if i >= 0 else np.inf, max(float(room[j]), 0.0), edge)
        # Where many kinks meet, the walk can go round them on the spot; `kkt` says whether that was the end.
        idle = idle + 1 if t * float(np.linalg.norm(e)) <= 1e-12 else 0
        if idle > PATIENCE:
            return walk, True
        walk = replace(walk, p=walk.p + t * e, d=walk.d + t * change, f=walk.f + t * slide)
        if i >= 0 and t == until[i]:
            walk = walk.moved(i, 0)
        elif t == max(room[j], 0.0):
            active = active.copy()
            active[j] = True
        elif t == edge:
            return walk, False
    return walk, False


def _projected(fixed: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Return the multipliers m of least ‖slope + m·fixed‖, and minus what then remains of the slope."""
    if len(fixed) > fixed.shape[1]:
        values, vectors = np.linalg.eigh(fixed.T @ fixed)
        kept = values > 1e-12 * values[-1]
        basis = vectors[:, kept]
        solve = fixed @ (basis / values[kept])
        multipliers = np.zeros(len(fixed))
        for _ in range(3):  # normal equations square the condition number: refine
            multipliers = multipliers - solve @ (basis.T @ (slope + multipliers @ fixed))
        rest: Floats = slope - basis @ (basis.T @ slope)
        return multipliers, -(rest - basis @ (basis.T @ rest))
    try:
        factor = cho_factor(fixed @ fixed.T)
        multipliers = np.zeros(len(fixed))
        for _ in range(3):
            multipliers = multipliers - cho_solve(factor, fixed @ (slope + multipliers @ fixed))
        if np.abs(multipliers).max(initial=0.0) < 1e6:
            return multipliers, -(slope + multipliers @ fixed)
    except LinAlgError:
        pass
    least: Floats = np.linalg.lstsq(fixed.T, -slope, rcond=1e-12)[0].astype(np.float64)
    return least, -(slope + least @ fixed)
