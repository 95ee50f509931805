"""How far a point is from optimal where F has kinks."""

from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from fairbench_cli.data.table import Floats
from fairbench_cli.interventions.zafar.mistreatment import Problem

ON_KINK = 1e-9


def kkt(problem: Problem, w: Floats, threshold: float) -> float:
    """Return the least ‖∇ℓ + Σ λ_j h_j‖∞ over all multipliers λ_j and all h_j of F_j's generalised gradient.

    F_j's generalised gradient is Σ k_i x_i, where k_i is a pattern's slope on its side of d = 0, or, for a
    pattern with |d| ≤ 1e-9, any number between its slopes on both sides. λ_j is free if the threshold is 0;
    else it has the sign of F_j, and is 0 where |F_j| is below the threshold. The least is a linear program's
    for each pattern of signs.
    """
    d = problem.x @ w
    f, g = problem.disparities(d), problem.gradient(w, d)
    signs = [_signs(float(value), threshold) for value in f]
    return min(_residual(problem, d, g, np.array(chosen)) for chosen in product(*signs))


def _signs(f: float, threshold: float) -> tuple[int, ...]:
    """Which signs the multiplier of a constraint may have."""
    if threshold == 0:
        return (1, -1)
    if abs(f) < threshold - 1e-8:
        return (0,)
    return (1,) if f > 0 else (-1,)


def _residual(problem: Problem, d: Floats, g: Floats, signs: Floats) -> float:
    """Return the least residual with multipliers of the given signs, 1, −1 or 0 for none."""
    # The solver's tolerances are absolute: slopes are counted in the steepest, the gradient in its largest.
    size = float(np.abs(g).max())
    if size == 0:
        return 0.0
    steepest = np.maximum(np.abs(problem.up), np.abs(problem.down)).max(axis=1, keepdims=True)
    steepest[steepest == 0] = 1.0
    up, down = signs[:, np.newaxis] * problem.up / steepest, signs[:, np.newaxis] * problem.down / steepest
    j, i = np.nonzero((np.abs(d) <= ON_KINK) & (up != down))
    base = np.where(d > ON_KINK, up, down) @ problem.x
    kinks = (up - down)[j, i][:, np.newaxis] * problem.x[i]
    columns, ones = np.vstack([base, kinks]).T, np.ones((len(g), 1))
    # Sparse: many thousand rows may sit on d = 0, and each has a share of its own.
    share = hstack([csr_array(-np.eye(len(signs))[j]), eye_array(len(j)), csr_array((len(j), 1))])
    found = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        np.append(np.zeros(columns.shape[1]), 1.0),
        A_ub=vstack([csr_array(np.hstack([columns, -ones])), csr_array(np.hstack([-columns, -ones])), share]),
        b_ub=np.concatenate([-g / size, g / size, np.zeros(len(j))]),
        bounds=(0, None),
        method="highs",
    )
    if found.x is None:
        return size
    lam = np.maximum(found.x[: len(signs)], 0.0)
    tau = np.clip(found.x[len(signs) : -1], 0.0, lam[j])
    return float(np.abs(g + size * (columns @ np.concatenate([lam, tau]))).max())
