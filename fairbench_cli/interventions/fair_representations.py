"""Fair representations: rows become mixtures of prototypes that keep the label and hide the group."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field
from scipy.sparse import csr_array

from fairbench_cli.classifiers.encode import BinEncoding, Design, fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.cells import NotNegative, require_both_groups
from fairbench_cli.interventions.fitted import Fitted, settled
from fairbench_cli.interventions.logistic import training_rows

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
        arrays = [self.w, self.v.ravel()]
        return np.concatenate(arrays if self.alpha is None else [*arrays, self.alpha.ravel()])

    def unflatten(self, flat: Floats) -> "Prototypes":
        """Return the prototypes that a vector stands for, of the shapes of these."""
        k, width = self.v.shape
        alpha = None
        if self.alpha is not None:
            alpha = flat[k * (1 + width) :].reshape(2, width)
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

    def evaluate(self, prototypes: Prototypes, smoothing: float = 0.0) -> tuple[Terms, Prototypes]:
        """Return the objective and its gradient, shaped as the prototypes are.

        Parameters
        ----------
        at : Prototypes
            Where.
        smoothing : float
            μ in √(δ² + μ²), which stands for |δ| in L_z; 0 for |δ| itself, whose slope at 0 is taken as 0.
        """
        k, width = prototypes.v.shape
        totals = [float(rows.r.sum()) for rows in self.groups]
        if self.reduction == "sum":
            per_y = 1.0
        else:
            per_y = 1 / sum(totals)
        per_z = 1.0
        if self.reduction == "aif360":
            per_z = 1 / k
        per_x = [1 / (total * width) if self.reduction == "aif360" else per_y for total in totals]
        near = [nearness(rows, prototypes, s, self.distance) for s, rows in enumerate(self.groups)]

        delta = near[1][0].T @ self.groups[1].r / totals[1] - near[0][0].T @ self.groups[0].r / totals[0]
        size = np.sqrt(delta**2 + smoothing**2)
        l_x = l_y = 0.0
        gram = prototypes.v @ prototypes.v.T
        g_w = np.zeros(k)
        g_v = np.zeros_like(prototypes.v)
        g_alpha = None
        if prototypes.alpha is not None:
            g_alpha = np.zeros_like(prototypes.alpha)
        slope_z = self.a_z * per_z * np.divide(delta, size, out=np.zeros(k), where=size > 0)
        for s, (rows, (m, d, products)) in enumerate(zip(self.groups, near, strict=True)):
            r = rows.r
            along = m @ gram
            l_x += per_x[s] * float(r @ (rows.squares + (m * (along - 2 * products)).sum(axis=1)))
            y_hat = m @ prototypes.w
            clipped = np.clip(y_hat, CLIP, 1 - CLIP)
            l_y -= per_y * float(r @ np.where(rows.y == 1, np.log(clipped), np.log1p(-clipped)))
            slope_y = np.where(clipped == y_hat, (1 - rows.y) / (1 - clipped) - rows.y / clipped, 0.0)
            slope_y *= self.a_y * per_y * r
            g_w += m.T @ slope_y

            c = 2 * self.a_x * per_x[s]
            t = c * r[:, None] * (along - products) + slope_y[:, None] * prototypes.w
            t += (1 if s else -1) / totals[s] * r[:, None] * slope_z
            q = -m * (t - (m * t).sum(axis=1, keepdims=True))  # by d
            if self.distance == "euclidean":
                q *= np.divide(0.5, d, out=np.zeros_like(q), where=d > 0)  # by d²
            weighted = r[:, None] * m
            products_by_column = np.asarray(rows.x.T @ np.hstack([weighted, q]))
            m_x = products_by_column[:, :k].T
            q_x = products_by_column[:, k:].T
            mass = q.sum(axis=0)
            toward = q_x - mass[:, None] * prototypes.v
            g_v += c * (weighted.T @ m @ prototypes.v - m_x)
            g_v -= 2 * (toward if prototypes.alpha is None else prototypes.alpha[s] * toward)
            if g_alpha is not None:
                squares = np.asarray(rows.squared.T @ q.sum(axis=1))
                g_alpha[s] = squares - 2 * (q_x * prototypes.v).sum(axis=0) + mass @ prototypes.v**2
        l_z = per_z * float(size.sum())
        value = self.a_x * l_x + self.a_y * l_y + self.a_z * l_z
        return Terms(l_x, l_y, l_z, value), Prototypes(g_w, g_v, g_alpha)


def nearness(
    rows: GroupRows, prototypes: Prototypes, s: int, distance: Distance
) -> tuple[Floats, Floats, Floats]:
    """Return how near a group's rows are to the prototypes: M, the distances d and the products x · v.

    Each of shape (rows, K). Never makes an array of rows × prototypes × columns.

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
    products = np.asarray(rows.x @ prototypes.v.T)
    if prototypes.alpha is None:
        d = rows.squares[:, None] - 2 * products + (prototypes.v**2).sum(axis=1)
    else:
        alpha = prototypes.alpha[s]
        cross = np.asarray(rows.x @ (alpha * prototypes.v).T)
        d = np.asarray(rows.squared @ alpha)[:, None] - 2 * cross + prototypes.v**2 @ alpha
    d = np.maximum(d, 0)
    if distance == "euclidean":
        d = np.sqrt(d)
    # The nearest prototype has exponent 0: not all of a row's terms vanish.
    m = np.exp(d.min(axis=1, keepdims=True) - d)
    return m / m.sum(axis=1, keepdims=True), d, products


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
    k, width = start.v.shape
    bounds: list[tuple[float | None, float | None]] = [(0.0, 1.0)] * k + [(None, None)] * (k * width)
    if start.alpha is not None:
        bounds += [(0.0, MOST_ALPHA)] * (2 * width)
    options: Any = {
        "maxiter": iterations,
        "maxfun": 100 * iterations,
        "maxcor": 20,
        "ftol": 1e-13,
        "gtol": 1e-8,
    }

    def value_and_gradient(flat: Floats, mu: float) -> tuple[float, Floats]:
        terms, gradient = objective.evaluate(start.unflatten(flat), mu)
        return terms.value, gradient.flat

    flat = start.flat
    for mu in smoothing:
        optimum: Any = scipy.optimize.minimize(
            value_and_gradient, flat, (mu,), "L-BFGS-B", jac=True, bounds=bounds, options=options
        )
        flat = optimum.x
    return start.unflatten(flat)


SMOOTHING = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class FairRepresentations:
    """Learn prototypes that keep the label and hide the group (LFR).

    Zemel, Wu, Swersky, Pitassi & Dwork (2013), "Learning fair representations". The model is its own: of the
    experiment's classifier only `include_protected` counts. A row is a mixture of `prototypes` places, by its
    distance to each; it is accepted if the mixture of their predictions is above a half. Minimises
    a_x L_x + a_y L_y + a_z L_z: what the mixture loses of the row, the log loss of the prediction, and the
    difference of the groups' mean mixtures. L_z = 0 gives both groups the same mean score, not the same share
    of accepted rows.

    L-BFGS-B from several starts, the best kept. The kink of L_z lies where the solution does, so that L_z is
    smoothed by less and less; a plain search stops early, often where all rows get one prediction.

    Parameters
    ----------
    prototypes : int, at least 1
        How many (K).
    a_x, a_y, a_z : float, at least 0
        Weights of the terms.
    distance : {"squared", "euclidean"}
        The paper has ``squared``, AIF360 its root.
    reduction : {"mean", "sum", "aif360"}
        Whether L_x and L_y are sums over the rows, as in the paper, or means, so that the weights do not
        depend on how many rows there are. ``aif360``: see `PrototypeObjective`.
    column_weights : bool
        Learn weights of the columns (α), between 0 and 10, for each group; the paper does.
    restarts : int, at least 1
        How many starts.
    iterations : int, at least 1
        Most iterations of each of the five searches of a start.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    """

    uses_classifier: ClassVar[bool] = False

    prototypes: Annotated[int, Field(ge=1)] = 10
    a_x: NotNegative = 0.01
    a_y: NotNegative = 1.0
    a_z: NotNegative = 1.0
    distance: Distance = "squared"
    reduction: Reduction = "mean"
    column_weights: bool = True
    restarts: Annotated[int, Field(ge=1)] = 3
    iterations: Annotated[int, Field(ge=1)] = 50
    bins: BinEncoding = "one-hot"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Learn the prototypes.

        ``degraded`` when all training rows get one prediction. ``noop`` when `a_z` is 0.

        Raises
        ------
        Infeasible
            When a group has no rows.
        """
        require_both_groups(train)
        design = fit_design(
            train, include_protected=classifier.include_protected, bins=self.bins, intercept=False
        )
        groups = (group_rows(train, design, 0), group_rows(train, design, 1))
        objective = PrototypeObjective(groups, self.a_x, self.a_y, self.a_z, self.distance, self.reduction)
        smoothing = SMOOTHING if self.a_z > 0 else (0.0,)
        ends = []
        for _ in range(self.restarts):
            beginning = start(groups, self.prototypes, self.column_weights, rng)
            ends.append(minimise(objective, beginning, self.iterations, smoothing))
        values = [objective.evaluate(end)[0].value for end in ends]
        best = ends[int(np.argmin(values))]
        terms = objective.evaluate(best)[0]
        model = Represented(design, best, self.distance)
        facts = {
            "objective": terms.value,
            "objective_of_worst_start": max(values),
            "l_x": terms.l_x,
            "l_y": terms.l_y,
            "l_z": terms.l_z,
        }
        if best.alpha is not None:
            facts["largest_column_weight"] = float(best.alpha.max(initial=0.0))
        alike = ""
        if np.ptp(model.predict(train)) == 0:
            alike = "all training rows get one prediction"
        noop = ""
        if self.a_z == 0:
            noop = "a_z is 0: nothing is asked of the groups"
        return settled(model, facts, degraded=alike, noop=noop)


def group_rows(train: Sample, design: Design, s: int) -> GroupRows:
    """Return the rows of a group as numbers, equal ones merged, in an order that is their own."""
    rows = training_rows(train.take(np.flatnonzero(train.s == s)), design)
    return GroupRows(rows.matrix(), rows.y.astype(np.float64), rows.share * rows.total)


def start(
    groups: tuple[GroupRows, GroupRows], k: int, column_weights: bool, rng: np.random.Generator
) -> Prototypes:
    """Return where a search starts: predictions at random, prototypes near rows drawn at random.

    The noise keeps them from lying on a row, or on each other, where the gradient has nothing to say.
    """
    everyone = scipy.sparse.vstack([rows.x for rows in groups], format="csr")
    rows, width = everyone.shape
    w = rng.random(k)
    v = everyone[rng.integers(0, rows, k)].toarray()
    v = v + 0.1 * rng.normal(size=(k, width))
    return Prototypes(w, v, np.full((2, width), 0.1) if column_weights else None)


@dataclass(frozen=True, eq=False)
class Represented:
    """Predicts from the mixture of prototypes that a row becomes.

    Parameters
    ----------
    design : Design
        Makes the features.
    at : Prototypes
        The prototypes.
    distance : {"squared", "euclidean"}
        See `PrototypeObjective`.
    """

    design: Design
    prototypes: Prototypes
    distance: Distance

    def mixtures(self, sample: Sample) -> Floats:
        """Return each row's probability of each prototype, shape (rows, K).

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        x = csr_array(self.design.transform(sample.features))
        mixtures = np.empty((len(sample), len(self.prototypes.w)))
        for s in (0, 1):
            rows_of_group = np.flatnonzero(sample.s == s)
            if len(rows_of_group):
                rows = GroupRows(x[rows_of_group], np.zeros(len(rows_of_group)), np.ones(len(rows_of_group)))
                mixtures[rows_of_group] = nearness(rows, self.prototypes, s, self.distance)[0]
        return mixtures

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for a score above ½; raises as `mixtures`."""
        return (self.predict_proba(sample) > 0.5).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's score, shape (rows,), the mixture of predictions; raises as `mixtures`."""
        return np.asarray(np.einsum("ij,j->i", self.mixtures(sample), self.prototypes.w))
