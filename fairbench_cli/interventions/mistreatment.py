"""Disparate mistreatment as a problem in the coefficients of a linear model: its loss and its constraints."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import scipy
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array, eye_array, hstack, vstack
from scipy.special import expit

from fairbench_cli.data.table import Floats, Labels, Rows

Constraint = Literal["fpr", "fnr", "both"]
Average = Literal["label", "group"]
Rates = tuple[str, ...]  # of "fpr", "fnr"
LABEL = {"fpr": 0, "fnr": 1}  # of the rows that a rate is about
ON_KINK = 1e-9
EXACT = 1e-12


@dataclass(frozen=True, eq=False)
class Mistreatment:
    """The minimum of a mean logistic loss subject to equal errors of the groups.

    Rows with the same features are one pattern. With d = x·w per pattern, the loss is
    ℓ(w) = Σ negatives log(1 + exp d) + positives log(1 + exp −d) + ridge ‖w without intercept‖² / 2, and
    constraint j holds the piecewise linear F_j(w) = Σ up_j max(0, d) + down_j min(0, d).

    Parameters
    ----------
    x : float64 array, shape (patterns, width)
        Different rows; the last column is the intercept.
    negatives, positives : float64 array, shape (patterns,)
        Share of all weight that unfavourably and favourably labelled rows of the pattern have.
    up, down : float64 array, shape (constraints, patterns)
        Slope of F_j in d of the pattern where d > 0 and where d < 0.
    ridge : float
        Strength of the ridge penalty on the mean loss, at least 0.
    """

    x: Floats
    negatives: Floats
    positives: Floats
    up: Floats
    down: Floats
    ridge: float

    def slopes(self, side: Labels) -> Floats:
        """Return the slope of F_j in d of each pattern on the given side of d = 0: 1, −1, or 0 for none."""
        return self.up * (side > 0) + self.down * (side < 0)

    def disparities(self, d: Floats) -> Floats:
        """Return F_j, shape (constraints,)."""
        return self.up @ np.maximum(d, 0.0) + self.down @ np.minimum(d, 0.0)

    def loss(self, w: Floats, d: Floats) -> float:
        """Return ℓ at w, with d = x·w."""
        errors = self.negatives @ np.logaddexp(0.0, d) + self.positives @ np.logaddexp(0.0, -d)
        return float(errors + 0.5 * self.ridge * (w[:-1] @ w[:-1]))

    def gradient(self, w: Floats, d: Floats) -> Floats:
        """Return the gradient of ℓ, shape (width,)."""
        g: Floats = (self.negatives * expit(d) - self.positives * expit(-d)) @ self.x
        g[:-1] += self.ridge * w[:-1]
        return g

    def hessian(self, d: Floats, added_curvature: Floats | float = 0.0) -> Floats:
        """Return the Hessian of ℓ, shape (width, width), raised by a hair where the data say nothing.

        `more` is added to the second derivative in each pattern's d; at least 0.
        """
        curvature = (self.negatives + self.positives) * expit(d) * expit(-d) + added_curvature
        scaled = self.x * np.sqrt(curvature)[:, np.newaxis]
        h: Floats = scaled.T @ scaled
        free = np.full(len(h), self.ridge)
        free[-1] = 0.0
        h[np.diag_indices_from(h)] += free + 1e-10 * max(float(np.trace(h)) / len(h), 1e-10)
        return h


def problem(
    x: Floats, y: Labels, s: Labels, weights: Floats, constraint: Constraint, l2: float, average: Average
) -> tuple[Mistreatment, Rates]:
    """Return the problem of Zafar et al. (2017), and which rates it can constrain.

    Over the U rows with the label that the rate is about (negatives for fpr, positives for fnr),
    F = Σ k min(0, ±d), k = (U_0/U)/U in the favoured group and −(U_1/U)/U in the deprived one. A rate is left
    out if a group has no such row: F would be 0 whatever the model. With `average` "group" U, U_0 and U_1
    count all rows; the sum is over the same ones.

    Parameters
    ----------
    x : float64 array, shape (rows, width)
        Features; the last column is the intercept.
    y, s : int8 array, shape (rows,)
        Outcome and group, 0 or 1.
    weights : float64 array, shape (rows,)
        Row weights, at least 0, not all 0.
    constraint : {"fpr", "fnr", "both"}
        Which rates to hold equal.
    l2 : float
        Ridge penalty on the summed loss: l2 ‖w‖² / 2, intercept free.
    average : {"label", "group"}
        Whether U, U_0 and U_1 count the rows with the label that the rate is about, or all.
    """
    patterns, pattern = _distinct(x)
    sums = np.zeros((2, 2, len(patterns)))
    np.add.at(sums, (s, y, pattern), weights)
    total = float(weights.sum())
    by_label = [sums[:, label].sum(axis=1) for label in (0, 1)]  # weights of each group's rows with a label
    rates: Rates = tuple(
        rate for rate in LABEL if constraint in (rate, "both") and by_label[LABEL[rate]].min() > 0
    )
    up = np.zeros((len(rates), len(patterns)))
    down = np.zeros_like(up)
    for j, rate in enumerate(rates):
        label = LABEL[rate]
        if average == "group":
            of_group = sums.sum(axis=(1, 2))
        else:
            of_group = by_label[label]
        slope = (of_group[0] * sums[1, label] - of_group[1] * sums[0, label]) / of_group.sum() ** 2
        if rate == "fpr":
            up[j] = -slope
        else:
            down[j] = slope
    negatives, positives = sums.sum(axis=0) / total
    return Mistreatment(patterns, negatives, positives, up, down, l2 / total), rates


def _distinct(x: Floats) -> tuple[Floats, Rows]:
    """Return the different rows in order of first appearance, and which of them each row is."""
    import pandas as pd

    pattern, _ = pd.factorize(np.array([row.tobytes() for row in x], dtype=object))
    first_rows = np.unique(pattern, return_index=True)[1]
    return np.ascontiguousarray(x[first_rows]), pattern


def whitener(problem: Mistreatment, d: Floats) -> Floats:
    """Return T, shape (width, width), for which w = T v makes the Hessian at d the identity."""
    root = cholesky(problem.hessian(d), lower=True)
    inverse: Floats = solve_triangular(root, np.eye(len(root)), lower=True)
    return np.ascontiguousarray(inverse.T)


def side_of(d: Floats) -> Labels:
    """Return the side of d = 0 that patterns are on; at 0 they count as above."""
    return np.where(d < 0, -1, 1).astype(np.int8)


def constant(problem: Mistreatment, threshold: float = 0.0) -> Floats:
    """Return the constant model of least loss with |F_j| ≤ threshold.

    Every F_j of a constant model is 0 where errors are averaged by label. Averaged over groups it grows with
    the constant on one side of 0.
    """
    w = np.zeros(problem.x.shape[1])
    w[-1] = np.log(max(problem.positives.sum(), 1e-9) / max(problem.negatives.sum(), 1e-9))
    worst = np.abs(problem.disparities(problem.x @ w)).max()
    return w if worst <= threshold + EXACT else w * (threshold / worst)


def kkt(problem: Mistreatment, w: Floats, threshold: float) -> float:
    """Return the least ‖∇ℓ + Σ λ_j h_j‖∞ over all multipliers λ_j and all h_j of F_j's generalised gradient.

    F_j's generalised gradient is Σ k_i x_i, where k_i is a pattern's slope on its side of d = 0, or, for a
    pattern with |d| ≤ 1e-9, any number between its slopes on both sides. λ_j is free if the threshold is 0;
    else it has the sign of F_j, and is 0 where |F_j| is below the threshold. The least is a linear program's
    for each pattern of signs.
    """
    d = problem.x @ w
    f = problem.disparities(d)
    g = problem.gradient(w, d)
    signs = [_signs(float(value), threshold) for value in f]
    return min(_residual(problem, d, g, np.array(chosen)) for chosen in product(*signs))


def _signs(f: float, threshold: float) -> tuple[int, ...]:
    """Return the signs that the multiplier of a constraint may have."""
    if threshold == 0:
        return (1, -1)
    if abs(f) < threshold - 1e-8:
        return (0,)
    if f > 0:
        return (1,)
    return (-1,)


def _residual(problem: Mistreatment, d: Floats, g: Floats, signs: Floats) -> float:
    """Return the least residual with multipliers of the given signs, 1, −1 or 0 for none."""
    # The solver's tolerances are absolute: slopes are counted in the steepest, the gradient in its largest.
    size = float(np.abs(g).max())
    if size == 0:
        return 0.0
    steepest = np.maximum(np.abs(problem.up), np.abs(problem.down)).max(axis=1, keepdims=True)
    steepest[steepest == 0] = 1.0
    up = signs[:, np.newaxis] * problem.up / steepest
    down = signs[:, np.newaxis] * problem.down / steepest
    j, i = np.nonzero((np.abs(d) <= ON_KINK) & (up != down))
    base = np.where(d > ON_KINK, up, down) @ problem.x
    kinks = (up - down)[j, i][:, np.newaxis] * problem.x[i]
    columns = np.vstack([base, kinks]).T
    ones = np.ones((len(g), 1))
    # Sparse: many thousand rows may sit on d = 0, and each has a share of its own.
    share = hstack([csr_array(-np.eye(len(signs))[j]), eye_array(len(j)), csr_array((len(j), 1))])
    optimum = scipy.optimize.linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        np.append(np.zeros(columns.shape[1]), 1.0),
        A_ub=vstack([csr_array(np.hstack([columns, -ones])), csr_array(np.hstack([-columns, -ones])), share]),
        b_ub=np.concatenate([-g / size, g / size, np.zeros(len(j))]),
        bounds=(0, None),
        method="highs",
    )
    if optimum.x is None:
        return size
    lam = np.maximum(optimum.x[: len(signs)], 0.0)
    tau = np.clip(optimum.x[len(signs) : -1], 0.0, lam[j])
    return float(np.abs(g + size * (columns @ np.concatenate([lam, tau]))).max())
