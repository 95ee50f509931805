"""The direct solution of a mistreatment problem: SLSQP in whitened coordinates."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fairbench_cli.data.table import Floats, Labels
from fairbench_cli.interventions.zafar.mistreatment import Problem, whitener

FTOL = 1e-9
MOST_STEPS = 2000


@dataclass(eq=False)
class Whitened:
    """A problem in coordinates v, w = T v, in which the Hessian at the start is the identity.

    SLSQP asks for values and gradients at a point one by one; the point it asked for last is kept.
    """

    problem: Problem
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
        v: Floats = np.linalg.solve(self.t, w).astype(np.float64)
        return v

    def loss(self, v: Floats) -> float:
        """Return ℓ at v."""
        return self.problem.loss(*self.at(v))

    def gradient(self, v: Floats) -> Floats:
        """Return the gradient of ℓ in v."""
        g: Floats = self.problem.gradient(*self.at(v)) @ self.t
        return g

    def rows(self, slopes: Floats) -> Floats:
        """Return gradients in v, shape (constraints, width), from slopes in each pattern's d."""
        gradients: Floats = slopes @ self.problem.x @ self.t
        return gradients


def side_of(d: Floats) -> Labels:
    """Which side of d = 0 patterns are on; at 0 they count as above."""
    return np.where(d < 0, -1, 1).astype(np.int8)


def slsqp(problem: Problem, start: Floats, threshold: float) -> tuple[Floats, int]:
    """Return the weights where SLSQP stops, and its number of steps; start at the unconstrained optimum.

    F_j = 0 is an equality, |F_j| ≤ threshold two inequalities. Where F_j has a kink its slope above is taken.
    """
    white = Whitened(problem, whitener(problem, problem.x @ start))

    def disparities(v: Floats) -> Floats:
        f = problem.disparities(white.at(v)[1])
        return f if threshold == 0 else np.concatenate([threshold - f, threshold + f])

    def slopes(v: Floats) -> Floats:
        rows = white.rows(problem.slopes(side_of(white.at(v)[1])))
        return rows if threshold == 0 else np.vstack([-rows, rows])

    constraint: Any = {
        "type": "eq" if threshold == 0 else "ineq",
        "fun": disparities,
        "jac": slopes,
    }
    found = minimize(
        white.loss,
        white.back(start),
        jac=white.gradient,
        method="SLSQP",
        constraints=[constraint],
        options={"ftol": FTOL, "maxiter": MOST_STEPS},
    )
    w = white.t @ found.x
    return (w if np.isfinite(w).all() else start), int(found.nit)
