"""Prejudice remover: a logistic regression per group, penalised by what predictions say about the group."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, xlogy

from fairbench_cli.classifiers.encode import BinEncoding, Design, fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.cells import NotNegative, Positive, require_both_groups
from fairbench_cli.interventions.fitted import Fitted, settled
from fairbench_cli.interventions.logistic import LinearModel, TrainingRows, armijo, training_rows

TOLERANCE = 1e-10  # of the gradient, per unit of weight
MOST_STEPS = 200
CLIP = 1e-10  # of the rates in the logarithms


@dataclass(frozen=True)
class PrejudiceRemover:
    """Penalise the mutual information of prediction and group.

    Kamishima, Akaho, Asoh & Sakuma (2012), "Fairness-aware classifier with prejudice remover regularizer".
    The model is its own, a logistic regression per group: of the experiment's classifier only
    `include_protected` counts. It minimises

        Σᵢ loss(yᵢ, pᵢ) + eta R + l2/2 Σₛ ‖wₛ‖²,  R = Σₛ nₛ KL(qₛ ‖ r) = n I(Ŷ; S) in nats,

    where pᵢ = 1/(1 + exp(−wₛ·xᵢ)), qₛ is the mean of p in group s, nₛ its weight, r the mean of all. The
    constant is the last of the weights and is penalised as they are. Newton's method with the exact
    gradient, from the minimum at eta = 0; the objective need not be convex.

    Parameters
    ----------
    eta : float, at least 0
        Weight of R.
    l2 : float above 0
        Weight of the penalty; the original's C.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    scale : bool
        Whether numbers are standardised, which the penalty depends on; the original's are not.
    """

    uses_classifier: ClassVar[bool] = False

    eta: NotNegative = 1.0
    l2: Positive = 1.0
    bins: BinEncoding = "one-hot"
    scale: bool = True

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit both regressions; `rng` is not used.

        ``noop`` when eta is 0. ``degraded`` when the minimum was not reached. Of the facts,
        `prejudice_index` is the paper's I(Ŷ; S) = R/n; `probability_gap` is the gap in the groups' mean p.

        Raises
        ------
        Infeasible
            When a group has no rows.
        """
        require_both_groups(train)
        protected = classifier.include_protected
        design = fit_design(train, include_protected=protected, bins=self.bins, scale=self.scale)
        objective = prejudice_objective(train, design, self.eta, self.l2)
        w, residual, steps = minimise(objective)
        loss, index, _ = objective.terms(w)
        deprived, favoured = objective.rates(w).tolist()
        facts = {
            "objective": objective.value(w),
            "loss": loss,
            "prejudice_index": index / float(objective.totals.sum()),
            "probability_gap": favoured - deprived,
            "gradient": residual,
            "steps": steps,
        }
        missed = ""
        if residual > 1e-6:
            missed = "the minimum was not reached"
        noop = ""
        if self.eta == 0:
            noop = "eta is 0: a logistic regression per group"
        return settled(LinearModel(design, w), facts, degraded=missed, noop=noop)


@dataclass(frozen=True, eq=False)
class PrejudiceObjective:
    """The objective of the prejudice remover, over w of shape (groups, width).

    Parameters
    ----------
    groups : tuple of TrainingRows
        The rows of each group.
    eta, l2 : float
        See `PrejudiceRemover`.
    """

    groups: tuple[TrainingRows, ...]
    eta: float
    l2: float

    @property
    def totals(self) -> Floats:
        """Weight of each group, shape (groups,)."""
        return np.array([rows.total for rows in self.groups])

    def rates(self, w: Floats) -> Floats:
        """Return each group's mean p, shape (groups,)."""
        pairs = zip(self.groups, w, strict=True)
        return np.array([rows.share @ expit(rows.times(weights)) for rows, weights in pairs])

    def terms(self, w: Floats) -> tuple[float, float, float]:
        """Return the sum of losses, R and Σ‖w‖²/2."""
        loss = sum(
            rows.total * float(rows.share @ np.logaddexp(0, (1.0 - 2.0 * rows.y) * rows.times(weights)))
            for rows, weights in zip(self.groups, w, strict=True)
        )
        q = self.rates(w)
        r = float(self.totals @ q / self.totals.sum())
        index = 0.0
        if 0 < r < 1:
            index = float(self.totals @ (xlogy(q, q / r) + xlogy(1 - q, (1 - q) / (1 - r))))
        return loss, index, 0.5 * float((w**2).sum())

    def value(self, w: Floats) -> float:
        """Return the objective."""
        loss, index, half = self.terms(w)
        return loss + self.eta * index + self.l2 * half

    def slopes(self, q: Floats) -> Floats:
        """Return ∂R/∂qₛ / nₛ = log(qₛ/r) − log((1 − qₛ)/(1 − r)), shape (groups,).

        What R changes through r is 0, as r is the mean of q.
        """
        r = float(self.totals @ q / self.totals.sum())
        q = np.clip(q, CLIP, 1 - CLIP)
        r = min(max(r, CLIP), 1 - CLIP)
        return np.asarray(np.log(q / r) - np.log((1 - q) / (1 - r)))

    def gradient(self, w: Floats) -> Floats:
        """Return ∂/∂w, shape (groups, width)."""
        slopes = self.slopes(self.rates(w))
        gradient = np.empty_like(w)
        for s, (rows, weights) in enumerate(zip(self.groups, w, strict=True)):
            p = expit(rows.times(weights))
            pull = p - rows.y + self.eta * slopes[s] * p * (1 - p)
            gradient[s] = rows.total * rows.transposed_times(rows.share * pull) + self.l2 * weights
        return gradient

    def hessian(self, w: Floats, *, convex: bool) -> Floats:
        """Return the second derivatives, shape (groups · width, groups · width).

        Parameters
        ----------
        w : float64 array, shape (groups, width)
            Where.
        convex : bool
            Raise the curvature of rows on which it is negative, so that the matrix is positive definite.
        """
        q = self.rates(w)
        slopes = self.slopes(q)
        width = w.shape[1]
        totals = self.totals
        hessian = np.zeros((w.size, w.size))
        toward = np.zeros((len(w), w.size))  # ∂q/∂w
        for s, (rows, weights) in enumerate(zip(self.groups, w, strict=True)):
            p = expit(rows.times(weights))
            bend = 1 + self.eta * slopes[s] * (1 - 2 * p)
            if convex:
                bend = np.maximum(bend, 0.05)
            block = slice(s * width, (s + 1) * width)
            hessian[block, block] = rows.total * rows.gram(rows.share * p * (1 - p) * bend)
            toward[s, block] = rows.transposed_times(rows.share * p * (1 - p))
        q = np.clip(q, CLIP, 1 - CLIP)
        r = float(totals @ q / totals.sum())
        between = np.diag(totals / (q * (1 - q))) - np.outer(totals, totals) / (totals.sum() * r * (1 - r))
        return np.asarray(hessian + self.eta * toward.T @ between @ toward + self.l2 * np.eye(w.size))


def prejudice_objective(train: Sample, design: Design, eta: float, l2: float) -> PrejudiceObjective:
    """Return the objective of a sample; each group's equal rows are merged."""
    groups = (train.take(np.flatnonzero(train.s == s)) for s in (0, 1))
    return PrejudiceObjective(tuple(training_rows(group, design) for group in groups), eta, l2)


def minimise(objective: PrejudiceObjective) -> tuple[Floats, float, int]:
    """Return a minimum, shape (groups, width), its largest slope per unit of weight, and the Newton steps.

    Starts at the minimum at eta = 0, where the objective is convex.
    """
    w = np.zeros((len(objective.groups), objective.groups[0].width))
    steps = 0
    for eta in dict.fromkeys((0.0, objective.eta)):
        w, residual, eta_steps = _newton(replace(objective, eta=eta), w)
        steps += eta_steps
    return w, residual, steps


def _newton(objective: PrejudiceObjective, w: Floats) -> tuple[Floats, float, int]:
    value = objective.value(w)
    total = float(objective.totals.sum())
    for steps in range(MOST_STEPS):
        gradient = objective.gradient(w)
        residual = float(np.abs(gradient).max()) / total
        if residual <= TOLERANCE:
            return w, residual, steps
        try:
            factor = cho_factor(objective.hessian(w, convex=False))
        except LinAlgError:  # not positive definite
            factor = cho_factor(objective.hessian(w, convex=True))
        step: Floats = -cho_solve(factor, gradient.ravel()).reshape(w.shape)
        fall = float((gradient * step).sum())
        moved = armijo(objective.value, (w,), (step,), value, fall, 1e-14 * abs(value))
        if moved is None:
            return w, residual, steps
        (w,), value = moved
    return w, float(np.abs(objective.gradient(w)).max()) / total, MOST_STEPS
