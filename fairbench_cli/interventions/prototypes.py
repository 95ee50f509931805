"""The objective of fair representations: how well prototypes keep rows and labels, and hide the group."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array, csr_array

from fairbench_cli.data.table import Floats

Distance = Literal["squared", "euclidean"]
Reduction = Literal["mean", "sum", "aif360"]

CLIP = 1e-12  # of the predictions in the logarithms
MOST_ALPHA = 10.0  # left alone, it grows until every row has one prototype


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Rows of a group.

    Parameters
    ----------
    x : sparse array, shape (rows, width)
        The features.
    y : float64 array, shape (rows,)
        1 for the favourable label, else 0.
    r : float64 array, shape (rows,)
        Their weights.
    """

    x: csr_array[np.float64]
    y: Floats
    r: Floats

    @cached_property
    def squared(self) -> csr_array[np.float64]:
        """Squares of the features, shape (rows, width)."""
        return csr_array(self.x.multiply(self.x))

    @cached_property
    def transposed(self) -> csc_array[np.float64]:
        """The features, shape (width, rows)."""
        return csc_array(self.x.T)

    @cached_property
    def squared_transposed(self) -> csc_array[np.float64]:
        """Squares of the features, shape (width, rows)."""
        return csc_array(self.squared.T)

    @cached_property
    def squares(self) -> Floats:
        """X · x, shape (rows,)."""
        return np.asarray(self.squared.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Prototypes:
    """What is learned: K prototypes.

    Parameters
    ----------
    w : float64 array, shape (K,)
        Prediction of each prototype, in [0, 1].
    v : float64 array, shape (K, width)
        Their places.
    alpha : float64 array, shape (2, width), or None
        Weights of the columns in each group's distances; None: 1 each.
    """

    w: Floats
    v: Floats
    alpha: Floats | None

    @property
    def flat(self) -> Floats:
        """All of it as one vector."""
        parts = [self.w, self.v.ravel()]
        return np.concatenate(parts if self.alpha is None else [*parts, self.alpha.ravel()])

    def unflatten(self, flat: Floats) -> "Prototypes":
        """Return the prototypes that a vector stands for, of the shapes of these."""
        k, width = self.v.shape
        alpha = None if self.alpha is None else flat[k * (1 + width) :].reshape(2, width)
        return Prototypes(flat[:k], flat[k : k * (1 + width)].reshape(k, width), alpha)


@dataclass(frozen=True, eq=False)
class Terms:
    """The objective at some prototypes: its three terms without their weights, and its value."""

    l_x: float
    l_y: float
    l_z: float
    value: float


@dataclass(frozen=True, eq=False)
class PrototypeObjective:
    """a_x L_x + a_y L_y + a_z L_z of Zemel, Wu, Swersky, Pitassi & Dwork (2013).

    M = softmax(−d) over the prototypes, x̂ = M v, ŷ = M w, and

    * L_x = Σ ‖x − x̂‖²,
    * L_y = −Σ y log ŷ + (1 − y) log(1 − ŷ),
    * L_z = Σₖ |mean of Mₖ in group 1 − mean of Mₖ in group 0|.

    Parameters
    ----------
    groups : pair of GroupRows
        The deprived and the favoured; both have rows.
    a_x, a_y, a_z : float
        Weights of the terms.
    distance : {"squared", "euclidean"}
        d = Σᵢ αᵢ (xᵢ − vᵢ)², or its root.
    reduction : {"mean", "sum", "aif360"}
        ``sum``: as above. ``mean``: L_x and L_y divided by the total weight. ``aif360``: L_y too, L_z divided
        by K, and L_x the mean over rows and columns of group 0 plus that of group 1.
    """

    groups: tuple[GroupRows, GroupRows]
    a_x: float
    a_y: float
    a_z: float
    distance: Distance = "squared"
    reduction: Reduction = "mean"

    def terms(self, at: Prototypes) -> Terms:
        """Return the objective's terms and its value."""
        return self._evaluate(at, 0.0)[0]

    def value_and_gradient(self, at: Prototypes, smoothing: float) -> tuple[float, Prototypes]:
        """Return the objective and its gradient, shaped as the prototypes are.

        Parameters
        ----------
        at : Prototypes
            Where.
        smoothing : float
            μ in √(δ² + μ²), which stands for |δ| in L_z; 0 for |δ| itself, whose slope at 0 is taken as 0.
        """
        terms, gradient = self._evaluate(at, smoothing)
        return terms.value, gradient

    def _evaluate(self, at: Prototypes, smoothing: float) -> tuple[Terms, Prototypes]:
        k, width = at.v.shape
        totals = [float(rows.r.sum()) for rows in self.groups]
        per_y = 1.0 if self.reduction == "sum" else 1 / sum(totals)
        per_z = 1 / k if self.reduction == "aif360" else 1.0
        per_x = [1 / (total * width) if self.reduction == "aif360" else per_y for total in totals]
        near = [nearness(rows, at, s, self.distance) for s, rows in enumerate(self.groups)]

        delta = near[1].m.T @ self.groups[1].r / totals[1] - near[0].m.T @ self.groups[0].r / totals[0]
        size = np.sqrt(delta**2 + smoothing**2)
        l_x = l_y = 0.0
        gram = at.v @ at.v.T
        g_w, g_v = np.zeros(k), np.zeros_like(at.v)
        g_alpha = None if at.alpha is None else np.zeros_like(at.alpha)
        slope_z = self.a_z * per_z * np.divide(delta, size, out=np.zeros(k), where=size > 0)
        for s, (rows, own) in enumerate(zip(self.groups, near, strict=True)):
            m, r = own.m, rows.r
            along = m @ gram
            l_x += per_x[s] * float(r @ (rows.squares + (m * (along - 2 * own.products)).sum(axis=1)))
            y_hat = m @ at.w
            kept = np.clip(y_hat, CLIP, 1 - CLIP)
            l_y -= per_y * float(r @ np.where(rows.y == 1, np.log(kept), np.log1p(-kept)))
            slope_y = np.where(kept == y_hat, (1 - rows.y) / (1 - kept) - rows.y / kept, 0.0)
            slope_y *= self.a_y * per_y * r
            g_w += m.T @ slope_y

            c = 2 * self.a_x * per_x[s]
            t = c * r[:, None] * (along - own.products) + slope_y[:, None] * at.w
            t += (1 if s else -1) / totals[s] * r[:, None] * slope_z
            q = -m * (t - (m * t).sum(axis=1, keepdims=True))  # by d
            if self.distance == "euclidean":
                q *= np.divide(0.5, own.d, out=np.zeros_like(q), where=own.d > 0)  # by d²
            weighted = r[:, None] * m
            both = np.asarray(rows.transposed @ np.hstack([weighted, q]))
            m_x, q_x = both[:, :k].T, both[:, k:].T
            mass = q.sum(axis=0)
            toward = q_x - mass[:, None] * at.v
            g_v += c * (weighted.T @ m @ at.v - m_x)
            g_v -= 2 * (toward if at.alpha is None else at.alpha[s] * toward)
            if g_alpha is not None:
                squares = np.asarray(rows.squared_transposed @ q.sum(axis=1))
                g_alpha[s] = squares - 2 * (q_x * at.v).sum(axis=0) + mass @ at.v**2
        l_z = per_z * float(size.sum())
        value = self.a_x * l_x + self.a_y * l_y + self.a_z * l_z
        return Terms(l_x, l_y, l_z, value), Prototypes(g_w, g_v, g_alpha)


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near rows are to prototypes.

    Parameters
    ----------
    m : float64 array, shape (rows, K)
        Probability of each prototype.
    d : float64 array, shape (rows, K)
        The distances.
    products : float64 array, shape (rows, K)
        x · v.
    """

    m: Floats
    d: Floats
    products: Floats


def nearness(rows: GroupRows, at: Prototypes, s: int, distance: Distance) -> Nearness:
    """Return how near a group's rows are to the prototypes.

    Never makes an array of rows × prototypes × columns.

    Parameters
    ----------
    rows : GroupRows
        The rows of group `s`; their labels and weights are not used.
    at : Prototypes
        The prototypes.
    s : {0, 1}
        The group, which decides the weights of the columns.
    distance : {"squared", "euclidean"}
        See `PrototypeObjective`.
    """
    products = np.asarray(rows.x @ at.v.T)
    if at.alpha is None:
        d = rows.squares[:, None] - 2 * products + (at.v**2).sum(axis=1)
    else:
        alpha = at.alpha[s]
        cross = np.asarray(rows.x @ (alpha * at.v).T)
        d = np.asarray(rows.squared @ alpha)[:, None] - 2 * cross + at.v**2 @ alpha
    d = np.maximum(d, 0)
    if distance == "euclidean":
        d = np.sqrt(d)
    # The nearest prototype has exponent 0: not all of a row's terms vanish.
    m = np.exp(d.min(axis=1, keepdims=True) - d)
    return Nearness(m / m.sum(axis=1, keepdims=True), d, products)


def minimise(
    objective: PrototypeObjective, start: Prototypes, iterations: int, smoothing: Sequence[float]
) -> Prototypes:
    """Return where L-BFGS-B ends from a start.

    |δ| in L_z has its kink where the solution lies, and a search on it stops there on the ridge. It is
    smoothed by less and less, each search starting where the last one ended.

    Parameters
    ----------
    objective : PrototypeObjective
        What to minimise, over w in [0, 1] and alpha in [0, 10].
    start : Prototypes
        Where to start.
    iterations : int
        Most iterations of each search.
    smoothing : sequence of float
        μ of each search.
    """
    from scipy.optimize import minimize

    k, width = start.v.shape
    bounds: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * k + [(None, None)] * (k * width)
    if start.alpha is not None:
        bounds += [(0.0, MOST_ALPHA)] * (2 * width)
    flat = start.flat
    for mu in smoothing:

        def value_and_gradient(flat: Floats, mu: float = mu) -> tuple[float, Floats]:
            value, gradient = objective.value_and_gradient(start.unflatten(flat), mu)
            return value, gradient.flat

        options: Any = {
            "maxiter": iterations,
            "maxfun": 100 * iterations,
            "maxcor": 20,
            "ftol": 1e-13,
            "gtol": 1e-8,
        }
        found: Any = minimize(
            value_and_gradient, flat, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        flat = found.x
    return start.unflatten(flat)
