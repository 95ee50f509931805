"""The solution of a mistreatment problem as published: the penalty convex-concave procedure."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbench_cli.data.table import Floats, Labels
from fairbench_cli.interventions.zafar.logistic import Solution
from fairbench_cli.interventions.zafar.mistreatment import Mistreatment, constant, kkt, side_of, whitener
from fairbench_cli.interventions.zafar.mistreatment_direct import restored

# The values of the authors' demonstrations, and the stopping rules of the procedure they call.
TAU, MU, TAU_MAX, ROUNDS = 5.0, 1.2, 1e10, 50
SLACK, CHANGE = 1e-3, 1e-5
FTOL, MOST_STEPS = 1e-7, 200  # of a round; a tighter one costs much and moves the end by less than CHANGE

Slopes = tuple[Floats, Floats]  # slopes above and below d = 0


@dataclass(eq=False)
class Whitened:
    """A problem in coordinates v, w = T v, in which the Hessian at the start is the identity.

    SLSQP requests values and gradients at a point one by one; the last point is kept.
    """

    problem: Mistreatment
    t: Floats
    _last: tuple[bytes, Floats, Floats] = field(default=(b"", np.empty(0), np.empty(0)), init=False)

    def at(self, v: Floats) -> tuple[Floats, Floats]:
        """Return w and d = x·w at v."""
        key = v.tobytes()
        if key != self._last[0]:
            w = self.t @ v
            self._last = (key, w, self.problem.x @ w)
        return self._last[1:]

    def back(self, w: Floats) -> Floats:
        """Return v at w."""
        return np.linalg.solve(self.t, w).astype(np.float64)

    def loss(self, v: Floats) -> float:
        """Return ℓ at v."""
        return self.problem.loss(*self.at(v))

    def gradient(self, v: Floats) -> Floats:
        """Return the gradient of ℓ in v."""
        return self.problem.gradient(*self.at(v)) @ self.t

    def rows(self, slopes: Floats) -> Floats:
        """Return gradients in v, shape (constraints, width), from slopes in each pattern's d."""
        return slopes @ self.problem.x @ self.t


def procedure(problem: Mistreatment, start: Floats, threshold: float) -> Solution:
    """Return the end of the convex-concave procedure, moved to the threshold where slacks were left."""
    w, rounds, converged = ccp(problem, start, threshold)
    near = restored(problem, w, threshold)
    trouble = "" if converged else "the convex-concave procedure did not converge"
    if near is None:
        near, trouble = constant(problem), "the convex-concave procedure kept no constraint: a constant model"
    return Solution(near, kkt(problem, near, threshold), rounds, trouble)


def ccp(problem: Mistreatment, start: Floats, threshold: float) -> tuple[Floats, int, bool]:
    """Return weights of a solution by rounds of convex problems, the rounds and whether it converged.

    F_j is a convex part plus a concave one. In each round the concave side of F_j ≤ threshold and of
    −F_j ≤ threshold is replaced by its tangent; both sides being of degree 1 in w, that is its slope times w.
    Each inequality may be broken by a slack, whose sum costs τ; τ grows by the factor μ from round to round.
    It ends when slacks sum to at most 1e-3 and the cost changes by at most 1e-5, or after 50 rounds.
    """
    white = Whitened(problem, whitener(problem, problem.x @ start))
    convex = np.maximum(problem.up, 0), np.minimum(problem.down, 0)
    concave = np.minimum(problem.up, 0), np.maximum(problem.down, 0)
    v, tau, before, slack = white.back(start), TAU, np.inf, np.inf
    for rounds in range(1, ROUNDS + 1):
        side = side_of(white.at(v)[1])
        tangents = white.rows(np.vstack([_slopes(concave, side), -_slopes(convex, side)]))
        v, slack = _convex(white, v, threshold, tau, tangents, (convex, concave))
        cost = white.loss(v) + tau * slack
        if slack <= SLACK and abs(before - cost) <= CHANGE:
            return white.t @ v, rounds, True
        before, tau = cost, min(tau * MU, TAU_MAX)
    return white.t @ v, ROUNDS, False


def _slopes(part: Slopes, side: Labels) -> Floats:
    return np.where(side > 0, part[0], part[1])


def _convex(
    white: Whitened, v: Floats, threshold: float, tau: float, tangents: Floats, parts: tuple[Slopes, Slopes]
) -> tuple[Floats, float]:
    """Return the v of least ℓ + τ Σ slack in one round, and the sum of slacks that v needs."""
    from scipy.optimize import minimize

    convex, concave = parts
    width, count = len(v), len(tangents)

    def excess(v: Floats) -> Floats:
        d = white.at(v)[1]
        above, below = np.maximum(d, 0.0), np.minimum(d, 0.0)
        curved = np.concatenate(
            [convex[0] @ above + convex[1] @ below, -concave[0] @ above - concave[1] @ below]
        )
        return curved + tangents @ v - threshold

    def excess_rows(v: Floats) -> Floats:
        side = side_of(white.at(v)[1])
        return white.rows(np.vstack([_slopes(convex, side), -_slopes(concave, side)])) + tangents

    limits: Any = {
        "type": "ineq",
        "fun": lambda both: both[width:] - excess(both[:width]),
        "jac": lambda both: np.hstack([-excess_rows(both[:width]), np.eye(count)]),
    }

    def cost(both: Floats) -> float:
        return white.loss(both[:width]) + tau * float(both[width:].sum())

    def slope(both: Floats) -> Floats:
        return np.concatenate([white.gradient(both[:width]), np.full(count, tau)])

    found = minimize(
        cost,
        np.concatenate([v, np.maximum(excess(v), 0.0)]),
        jac=slope,
        method="SLSQP",
        bounds=[(-np.inf, np.inf)] * width + [(0.0, np.inf)] * count,
        constraints=[limits],
        options={"ftol": FTOL, "maxiter": MOST_STEPS},
    )
    end = np.asarray(found.x[:width])
    if not np.isfinite(end).all():
        end = v
    return end, float(np.maximum(excess(end), 0.0).sum())
