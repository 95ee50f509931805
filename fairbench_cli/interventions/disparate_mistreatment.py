"""Zafar et al.: logistic regression whose errors are alike in both groups, solved directly or as published.

Directly: to a local minimum, by Newton steps on ever less rounded kinks of F, then along them. `smooth` ends
near it, `restored` moves its end onto the threshold, and `polish` takes trust-region steps from there that
follow the kinks exactly. As published: by the penalty convex-concave procedure.
"""

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fairbench_cli.base.parameters import UNWRITTEN
from fairbench_cli.classifiers.encode import BinEncoding
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Rows, Sample
from fairbench_cli.interventions import logistic, mistreatment
from fairbench_cli.interventions.cells import NotNegative
from fairbench_cli.interventions.fitted import Fitted, settled
from fairbench_cli.interventions.logistic import FREE, OPTIMAL, LinearModel, Logistic, Solution
from fairbench_cli.interventions.mistreatment import EXACT, Mistreatment, constant, kkt, side_of

# Wide rounding first: it looks past the kinks nearby, and ends in lower minima than narrow rounding alone.
ROUNDINGS = (0.5, 0.1, 0.02, 0.004, 0.001)
NEAR = 1e-5
MOST_STEPS = 12
STEPS = 150
PATIENCE = 30  # how often a walk may change sides without moving, where many kinks meet
FEW = 8  # steps after which rounding once more is the better bet
FAR = 0.02  # first trust region when the start is not known to be near a minimum


def _rounded(problem: Mistreatment, d: Floats, h: float) -> tuple[Floats, Floats, Floats]:
    """Return F at d with max(0, d) made a parabola where |d| < h, its slopes in each d, and their bends."""
    kinks = problem.up - problem.down
    within = np.abs(d) < h
    positive = np.where(within, (d + h) ** 2 / (4 * h), np.maximum(d, 0.0))
    slopes = problem.down + kinks * np.clip((d + h) / (2 * h), 0.0, 1.0)
    return kinks @ positive + problem.down @ d, slopes, kinks * within / (2 * h)


def smooth(
    problem: Mistreatment, start: Floats, threshold: float, roundings: tuple[float, ...] = ROUNDINGS
) -> tuple[Floats, int]:
    """Return weights near a local minimum, and the number of steps; start at the unconstrained optimum.

    For each width of rounding, steps of sequential quadratic programming: ℓ and the constraints' bends the
    right way are followed to second order, bends the wrong way, which would spoil convexity, to first. The
    line search is on ℓ + Σ μ_j (|F_j| − threshold)⁺; a step that fails for F's bends alone is corrected once
    before it is halved.
    """
    w = start
    d = problem.x @ start
    steps = 0
    multipliers = np.zeros(len(problem.up))
    for h in roundings:
        penalty = np.zeros(len(multipliers))
        for _ in range(MOST_STEPS):
            f, slopes, bends = _rounded(problem, d, h)
            rows = slopes @ problem.x
            g = problem.gradient(w, d)
            # The p of least g·p + p·H p/2 with |F + rows p| ≤ threshold; `back` turns an excess of F into the
            # step that removes it.
            solve = logistic.solver(problem.hessian(d, np.maximum(multipliers @ bends, 0.0)))
            toward = solve(np.column_stack([g, rows.T]))
            p = -toward[:, 0]
            across = toward[:, 1:]
            s = rows @ across
            multipliers = _multipliers(s, f + rows @ p, threshold)
            step = p - across @ multipliers
            back = -across @ np.linalg.pinv(s, rcond=1e-12)
            excess = np.abs(_excess(f, threshold))
            if np.abs(g + multipliers @ rows).max() <= NEAR and excess.max(initial=0.0) <= NEAR:
                break
            penalty = np.maximum(penalty, 1.5 * np.abs(multipliers) + 1e-6)
            cost = problem.loss(w, d) + penalty @ excess
            fall = min(float(g @ step - penalty @ excess), 0.0)
            size = 1.0
            steps = steps + 1
            while size > 1e-6:
                enough = cost + 1e-4 * size * fall + 1e-14
                trial = w + size * step
                reached, trial_excess = _cost(problem, trial, h, threshold, penalty)
                if reached > enough:
                    trial = trial + back @ trial_excess
                    reached, _ = _cost(problem, trial, h, threshold, penalty)
                if reached <= enough:
                    break
                size /= 2
            else:
                break
            w = trial
            d = problem.x @ trial
    return w, steps


def _cost(
    problem: Mistreatment, w: Floats, h: float, threshold: float, penalty: Floats
) -> tuple[float, Floats]:
    """Return ℓ + Σ μ_j (|F_j| − threshold)⁺, and the excess."""
    d = problem.x @ w
    excess = _excess(_rounded(problem, d, h)[0], threshold)
    return problem.loss(w, d) + float(penalty @ np.abs(excess)), excess


def _excess(f: Floats, threshold: float) -> Floats:
    """Return by how much each F_j is above the threshold, or below minus the threshold."""
    return np.asarray(f - np.clip(f, -threshold, threshold))


def _multipliers(s: Floats, f: Floats, threshold: float) -> Floats:
    """Return the λ with |f − s λ| ≤ threshold where λ_j = 0 or has the sign of a bound that is met."""
    if threshold == 0:
        return np.asarray(np.linalg.lstsq(s, f, rcond=1e-12)[0])
    for chosen in product((0.0, 1.0, -1.0), repeat=len(f)):
        sides = np.array(chosen)
        met = sides != 0
        multipliers = np.zeros(len(f))
        multipliers[met] = np.linalg.lstsq(s[np.ix_(met, met)], (f - threshold * sides)[met], rcond=1e-12)[0]
        if (multipliers * sides >= 0).all() and (np.abs(f - s @ multipliers) <= threshold + 1e-12).all():
            return multipliers
    return np.asarray(np.linalg.lstsq(s, f - threshold * np.sign(f), rcond=1e-12)[0])


def restored(problem: Mistreatment, w: Floats, threshold: float) -> Floats | None:
    """Return weights near w with |F_j| ≤ threshold, by Newton steps on F; None if they do not get there."""
    d = problem.x @ w
    t = mistreatment.whitener(problem, d)
    for _ in range(100):
        excess = _excess(problem.disparities(d), threshold)
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
            if np.abs(_excess(problem.disparities(d_trial), threshold)).max() < worst:
                break
        else:
            if worst <= EXACT:
                return w
            return None
        w = trial
        d = d_trial
    if worst <= EXACT:
        return w
    return None


def polish(
    problem: Mistreatment, w: Floats, threshold: float, radius: float = 1e-3, most: int = STEPS
) -> tuple[Floats, int]:
    """Return a local minimum of ℓ, reached from weights with |F_j| ≤ threshold within it, and the steps.

    If the steps do not come to rest, the last weights. `radius` is the first trust
    region's, `most` bounds the number.

    Near a kink the side of every pattern is followed, so that only ℓ is approximated, by its second-order
    expansion; a step that does not lower ℓ as predicted is tried again within a quarter of the radius.
    """
    d = problem.x @ w
    side = side_of(d)
    value = problem.loss(w, d)
    fresh: bool = True
    for step in range(most):
        if fresh:
            t = mistreatment.whitener(problem, d)
            z = problem.x @ t
            reach = np.sqrt(np.einsum("ij,ij->i", z, z))
            g = t.T @ problem.gradient(w, d)
        near = np.flatnonzero((np.abs(d) <= radius * reach) | (side == 0))
        p, end, inside = active_set_step(problem, near, z, g, d, side, radius, threshold)
        predicted = -(g @ p + 0.5 * p @ p)
        length = float(np.linalg.norm(p))
        w_trial = w + t @ p
        d_trial = problem.x @ w_trial
        value_trial = problem.loss(w_trial, d_trial)
        if predicted <= 1e-15 * max(1.0, value):
            return w, step
        # Where the Hessian is nearly singular, rounding alone can leave the threshold.
        within = bool(np.abs(problem.disparities(d_trial)).max() <= threshold + 1e-9)
        fresh = within and float(predicted) > 0 and value - value_trial >= 0.1 * float(predicted)
        if not fresh:
            if radius < 1e-10:
                return w, step
            radius = 0.25 * min(radius, length)
            continue
        side[near] = end
        w = w_trial
        d = d_trial
        value = value_trial
        if not inside and value - value_trial <= 1.5 * predicted:
            radius = min(2 * radius, 0.2)
    return w, most


def active_set_step(
    problem: Mistreatment,
    near: Rows,
    z: Floats,
    g: Floats,
    d: Floats,
    side: Labels,
    radius: float,
    threshold: float,
) -> tuple[Floats, Labels, bool]:
    """Return the least g·p + ‖p‖²/2 within |F_j| ≤ threshold and ‖p‖ ≤ radius, in whitened coordinates z.

    That is p, the sides on which the near patterns end (0: held at d = 0), and whether it rests there; `d`
    and `side` are those of all patterns before, and all but the near ones stay on their sides.
    """
    # gradients of F_j, and F_j
    rows = problem.slopes(side) @ z
    f = problem.disparities(d)
    z = z[near]
    d = d[near]
    side = side[near]
    up = problem.up[:, near]
    down = problem.down[:, near]
    reach = np.sqrt(np.einsum("ij,ij->i", z, z))
    p = np.zeros(len(g))
    slopes = {1: up, -1: down, 0: np.zeros_like(up)}

    def turn(i: int, new_side: int) -> None:
        """Put a pattern on another side."""
        nonlocal rows
        rows = rows + np.outer(slopes[new_side][:, i] - slopes[int(side[i])][:, i], z[i])
        side[i] = new_side

    active = np.abs(f) >= threshold - EXACT
    kinked = (up != 0).any(axis=0) | (down != 0).any(axis=0)
    idle = 0
    for _ in range(3 * (PATIENCE + len(g))):
        on_kink = np.flatnonzero(side == 0)
        fixed = np.vstack([rows[active], z[on_kink]])
        slope = g + p
        multipliers, e = _projected(fixed, slope)
        if np.linalg.norm(e) <= 1e-11 * max(1.0, float(np.linalg.norm(slope))):
            lam = np.zeros(len(f))
            lam[active] = multipliers[: active.sum()]
            if threshold > 0:
                wrong = active & (lam * np.sign(f) < -1e-12)
            else:
                wrong = active & False
            if wrong.any():
                active = active & ~wrong
                continue
            nu = multipliers[active.sum() :]
            above = nu - lam @ up[:, on_kink]
            below = lam @ down[:, on_kink] - nu
            worst = np.maximum(above, below)
            if not len(worst) or worst.max() <= 1e-12:
                return p, side, True
            i = int(np.argmax(worst))
            turn(int(on_kink[i]), 1 if above[i] >= below[i] else -1)
            continue
        change = z @ e
        # Patterns in the span of those held stay where they are, whatever the rounding says.
        towards = kinked & (side * change < -1e-10 * float(np.linalg.norm(e)) * reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(towards, np.maximum(d * side, 0.0) / np.abs(change), np.inf)
        i = -1
        if len(until):
            i = int(np.argmin(until))
        slide = rows @ e
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(active | (slide == 0), np.inf, (threshold - np.sign(slide) * f) / np.abs(slide))
        j = int(np.argmin(room))
        a = float(e @ e)
        b = float(p @ e)
        c = float(p @ p) - radius**2
        edge = (-b + math.sqrt(max(b * b - a * c, 0.0))) / a
        t = min(1.0, float(until[i]) if i >= 0 else np.inf, max(float(room[j]), 0.0), edge)
        # Where many kinks meet, the walk can go round them on the spot; `kkt` says whether that was the end.
        if t * float(np.linalg.norm(e)) <= 1e-12:
            idle = idle + 1
        else:
            idle = 0
        if idle > PATIENCE:
            return p, side, True
        p = p + t * e
        d = d + t * change
        f = f + t * slide
        if i >= 0 and t == until[i]:
            turn(i, 0)
        elif t == max(room[j], 0.0):
            active = active.copy()
            active[j] = True
        elif t == edge:
            return p, side, False
    return p, side, False


def _projected(fixed: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Return the multipliers m of least ‖slope + m·fixed‖, and minus what then remains of the slope."""
    if len(fixed) > fixed.shape[1]:
        values, vectors = np.linalg.eigh(fixed.T @ fixed)
        is_large = values > 1e-12 * values[-1]
        basis = vectors[:, is_large]
        solve = fixed @ (basis / values[is_large])
        multipliers = np.zeros(len(fixed))
        for _ in range(3):  # normal equations square the condition number: refine
            multipliers = multipliers - solve @ (basis.T @ (slope + multipliers @ fixed))
        residual: Floats = slope - basis @ (basis.T @ slope)
        return multipliers, -(residual - basis @ (basis.T @ residual))
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


def direct(problem: Mistreatment, start: Floats, threshold: float) -> Solution:
    """Return a local minimum, from the unconstrained optimum by way of rounded kinks.

    Where many kinks meet, the last steps can miss it: then kinks are rounded once more, from where they
    ended. The constant model is fair too: where it is better, the steps start again from there.
    """
    flat = constant(problem, threshold)
    stop, steps = smooth(problem, start, threshold)
    w, polish_steps = _polished(problem, stop, threshold)
    residual = kkt(problem, w, threshold)
    if residual > OPTIMAL:
        stop, extra_steps = smooth(problem, w, threshold, ROUNDINGS[1:])
        again, yet_further = _polished(problem, stop, threshold)
        new_residual = kkt(problem, again, threshold)
        steps = steps + extra_steps
        polish_steps = polish_steps + yet_further
        if new_residual < residual:
            w = again
            residual = new_residual
    if _loss(problem, w) > _loss(problem, flat):
        w, extra_steps = polish(problem, flat, threshold, FAR)
        residual = kkt(problem, w, threshold)
        polish_steps = polish_steps + extra_steps
    trouble = "no local minimum was reached"
    if residual <= OPTIMAL:
        trouble = ""
    return Solution(w, residual, steps, trouble, polishing=polish_steps)


def _polished(problem: Mistreatment, near: Floats, threshold: float) -> tuple[Floats, int]:
    """Return a polish of weights near a local minimum, or of the constant model where `restored` fails."""
    w = restored(problem, near, threshold)
    if w is None:
        return polish(problem, constant(problem, threshold), threshold, FAR)
    return polish(problem, w, threshold, most=FEW)


def _loss(problem: Mistreatment, w: Floats) -> float:
    return problem.loss(w, problem.x @ w)


# The values of the authors' demonstrations, and the stopping rules of the procedure they call.
TAU = 5.0
MU = 1.2
TAU_MAX = 1e10
ROUNDS = 50
SLACK = 1e-3
CHANGE = 1e-5
# of a round; a tighter one costs much and moves the end by less than CHANGE
FTOL = 1e-7
MOST_CCP_STEPS = 200

Slopes = tuple[Floats, Floats]  # slopes above and below d = 0


@dataclass(eq=False)
class Whitened:
    """A problem in coordinates v, w = T v, in which the Hessian at the start is the identity.

    SLSQP requests values and gradients at a point one by one; the last point is kept.
    """

    problem: Mistreatment
    t: Floats
    _last_point: tuple[bytes, Floats, Floats] = field(default=(b"", np.empty(0), np.empty(0)), init=False)

    def weights_and_decision(self, v: Floats) -> tuple[Floats, Floats]:
        """Return w and d = x·w at v."""
        key = v.tobytes()
        if key != self._last_point[0]:
            w = self.t @ v
            self._last_point = (key, w, self.problem.x @ w)
        return self._last_point[1:]

    def back(self, w: Floats) -> Floats:
        """Return v at w."""
        return np.linalg.solve(self.t, w).astype(np.float64)

    def loss(self, v: Floats) -> float:
        """Return ℓ at v."""
        return self.problem.loss(*self.weights_and_decision(v))

    def gradient(self, v: Floats) -> Floats:
        """Return the gradient of ℓ in v."""
        return self.problem.gradient(*self.weights_and_decision(v)) @ self.t

    def rows(self, slopes: Floats) -> Floats:
        """Return gradients in v, shape (constraints, width), from slopes in each pattern's d."""
        return slopes @ self.problem.x @ self.t


def procedure(problem: Mistreatment, start: Floats, threshold: float) -> Solution:
    """Return the end of the convex-concave procedure, moved to the threshold where slacks were left."""
    w, rounds, converged = ccp(problem, start, threshold)
    near = restored(problem, w, threshold)
    trouble = ""
    if not converged:
        trouble = "the convex-concave procedure did not converge"
    if near is None:
        near = constant(problem)
        trouble = "the convex-concave procedure kept no constraint: a constant model"
    return Solution(near, kkt(problem, near, threshold), rounds, trouble)


def ccp(problem: Mistreatment, start: Floats, threshold: float) -> tuple[Floats, int, bool]:
    """Return weights of a solution by rounds of convex problems, the rounds and whether it converged.

    F_j is a convex part plus a concave one. In each round the concave side of F_j ≤ threshold and of
    −F_j ≤ threshold is replaced by its tangent; both sides being of degree 1 in w, that is its slope times w.
    Each inequality may be broken by a slack, whose sum costs τ; τ grows by the factor μ from round to round.
    It ends when slacks sum to at most 1e-3 and the cost changes by at most 1e-5, or after 50 rounds.
    """
    white = Whitened(problem, mistreatment.whitener(problem, problem.x @ start))
    convex = np.maximum(problem.up, 0), np.minimum(problem.down, 0)
    concave = np.minimum(problem.up, 0), np.maximum(problem.down, 0)
    v = white.back(start)
    tau = TAU
    before = np.inf
    slack = np.inf
    for rounds in range(1, ROUNDS + 1):
        side = side_of(white.weights_and_decision(v)[1])
        tangents = white.rows(np.vstack([_slopes(concave, side), -_slopes(convex, side)]))
        v, slack = _convex(white, v, threshold, tau, tangents, (convex, concave))
        cost = white.loss(v) + tau * slack
        if slack <= SLACK and abs(before - cost) <= CHANGE:
            return white.t @ v, rounds, True
        before = cost
        tau = min(tau * MU, TAU_MAX)
    return white.t @ v, ROUNDS, False


def _slopes(slopes: Slopes, side: Labels) -> Floats:
    return np.where(side > 0, slopes[0], slopes[1])


def _convex(
    white: Whitened,
    v: Floats,
    threshold: float,
    tau: float,
    tangents: Floats,
    gradients: tuple[Slopes, Slopes],
) -> tuple[Floats, float]:
    """Return the v of least ℓ + τ Σ slack in one round, and the sum of slacks that v needs."""
    convex, concave = gradients
    width = len(v)
    count = len(tangents)

    def excess(v: Floats) -> Floats:
        d = white.weights_and_decision(v)[1]
        above = np.maximum(d, 0.0)
        below = np.minimum(d, 0.0)
        curved = np.concatenate(
            [convex[0] @ above + convex[1] @ below, -concave[0] @ above - concave[1] @ below]
        )
        return curved + tangents @ v - threshold

    def excess_rows(v: Floats) -> Floats:
        side = side_of(white.weights_and_decision(v)[1])
        return white.rows(np.vstack([_slopes(convex, side), -_slopes(concave, side)])) + tangents

    limits: Any = {
        "type": "ineq",
        "fun": lambda v_and_slack: v_and_slack[width:] - excess(v_and_slack[:width]),
        "jac": lambda v_and_slack: np.hstack([-excess_rows(v_and_slack[:width]), np.eye(count)]),
    }

    def cost(v_and_slack: Floats) -> float:
        return white.loss(v_and_slack[:width]) + tau * float(v_and_slack[width:].sum())

    def slope(v_and_slack: Floats) -> Floats:
        return np.concatenate([white.gradient(v_and_slack[:width]), np.full(count, tau)])

    optimum = scipy.optimize.minimize(
        cost,
        np.concatenate([v, np.maximum(excess(v), 0.0)]),
        jac=slope,
        method="SLSQP",
        bounds=[(-np.inf, np.inf)] * width + [(0.0, np.inf)] * count,
        constraints=[limits],
        options={"ftol": FTOL, "maxiter": MOST_CCP_STEPS},
    )
    end = np.asarray(optimum.x[:width])
    if not np.isfinite(end).all():
        end = v
    return end, float(np.maximum(excess(end), 0.0).sum())


ABOUT = {"fpr": "unfavourable", "fnr": "favourable"}


@dataclass(frozen=True)
class ZafarDM:
    """Hold false positive or false negative rates equal across groups, by a proxy.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2017), arXiv:1610.08452. The model is a logistic regression of
    its own, d = w·x: of the experiment's classifier only `include_protected` counts. It minimises the sum
    of losses and the penalty l2/2 Σ wⱼ² (intercept free) subject to |F| ≤ threshold. With y = ±1, and m =
    min(0, y d) in rows with the unfavourable outcome (fpr) or the favourable one (fnr), 0 in the others,
    F = (n_g n_ḡ/n²) (mean of m in the favoured group − in the deprived group), the paper's covariance of
    group and m: errors are as grave on average, which draws the rates nearer without making them equal. A
    row is predicted favourable where d > −1e-9: optima often leave rows on d = 0, and those count as
    favourable whatever the rounding.

    Parameters
    ----------
    constraint : {"fpr", "fnr", "both"}
        Which error rates to hold equal.
    threshold : float, at least 0
        Bound on each |F|.
    l2 : float, at least 0
        Weight of the penalty.
    solver : {"direct", "ccp"}
        Directly to a stationary point, nearly always a local minimum, or by the published convex-concave
        procedure, which stops short of one, with the authors' τ = 5 and μ = 1.2.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    average : {"group", "label"}
        Over which rows a group's errors are averaged: n, n_g and n_ḡ count all rows, as in the paper, which
        holds errors per person alike, and leaves a group with fewer rows of that outcome the higher rate; or
        those with the outcome that the rate is about, as the authors' code does since January 2018.
    """

    uses_classifier: ClassVar[bool] = False

    constraint: mistreatment.Constraint = "both"
    threshold: NotNegative = 0.0
    l2: NotNegative = 1.0
    solver: Literal["direct", "ccp"] = "direct"
    bins: BinEncoding = "one-hot"
    average: mistreatment.Average = field(default="group", metadata={UNWRITTEN: "label"})

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the constrained logistic regression.

        ``noop`` when there is one outcome or one group only, or the model without constraint keeps the
        threshold. ``degraded`` when a group has no row that a rate is about (nothing constrains it then), a
        row is further out than 50 (quasi-separation), or no local minimum was reached.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        design, rows, constant = logistic.prepared(train, classifier, self.bins)
        if constant is not None:
            return constant
        weights = rows.share * rows.total
        stated, rates = mistreatment.problem(
            rows.matrix().toarray(), rows.y, rows.s, weights, self.constraint, self.l2, self.average
        )
        free = logistic.minimise(Logistic(rows, self.l2), np.zeros(rows.width)).w
        before = stated.disparities(stated.x @ free)
        is_unfair = bool((np.abs(before) > self.threshold).any())
        if is_unfair:
            if self.solver == "direct":
                solve = direct
            else:
                solve = procedure
            solution = solve(stated, free, self.threshold)
        else:
            residual = kkt(stated, free, self.threshold)
            solution = Solution(
                free, residual, 0, "" if residual <= OPTIMAL else "the optimum was not reached"
            )
        facts = _dm_facts(stated, rows.total, free, solution)
        after = stated.disparities(stated.x @ solution.w)
        for rate, unconstrained, constrained in zip(rates, before, after, strict=True):
            facts |= {f"F_{rate}_unconstrained": float(unconstrained), f"F_{rate}": float(constrained)}
        model = LinearModel(design, solution.w, border=-mistreatment.ON_KINK)
        if len(set(rows.s.tolist())) == 1:
            return Fitted(model, "noop", "only one group has rows", facts)
        requested = ("fpr", "fnr") if self.constraint == "both" else (self.constraint,)
        troubles = [
            f"a group has no row with the {ABOUT[rate]} outcome, so nothing constrains {rate}"
            for rate in requested
            if rate not in rates
        ]
        troubles += filter(None, (solution.trouble, logistic.quasi_separation(facts["largest_decision"])))
        return settled(model, facts, degraded="; ".join(troubles), noop="" if is_unfair else FREE)


def _dm_facts(stated: Mistreatment, total: float, free: Floats, solution: Solution) -> dict[str, float | int]:
    """Return losses without and with the constraint, how optimal that is, and where the rows lie."""
    d = stated.x @ solution.w
    border = np.abs(d) <= mistreatment.ON_KINK
    return {
        "loss_unconstrained": stated.loss(free, stated.x @ free) * total,
        "loss": stated.loss(solution.w, d) * total,
        **solution.facts,
        "polishing_steps": solution.polishing,
        "largest_decision": float(np.abs(d).max()),
        "share_on_border": float((stated.negatives + stated.positives)[border].sum()),
    }
