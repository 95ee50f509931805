"""Zafar et al. against disparate mistreatment: logistic regression that errs alike in both groups."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.special import expit

from fairbench_cli.classifiers.design import Bins, Design, fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted, defined
from fairbench_cli.interventions.zafar.logistic import Logistic, minimise
from fairbench_cli.interventions.zafar.mistreatment import Constraint, Problem, constant, problem
from fairbench_cli.interventions.zafar.mistreatment_kkt import ON_KINK, kkt
from fairbench_cli.interventions.zafar.mistreatment_solve import OPTIMAL, Solution, direct, procedure
from fairbench_cli.interventions.zafar.rows import training_rows

FAR_OUT = 50.0
ABOUT = {"fpr": "unfavourable", "fnr": "favourable"}


@dataclass(frozen=True)
class ZafarDM:
    """Hold false positive or false negative rates alike across groups, by a proxy.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2017), arXiv:1610.08452. The model is a logistic regression of
    its own, d = w·x: of the experiment's classifier only `include_protected` counts. It minimises the sum
    of losses and the penalty l2/2 Σ wⱼ² (intercept free) subject to |F| ≤ threshold. With y = ±1, over the
    n rows with the unfavourable outcome (fpr) or the favourable one (fnr), F = (n_g n_ḡ/n²) (mean of min(0,
    y d) in the favoured group − in the deprived group): errors are as grave on average, which draws the
    rates nearer without making them equal. A row is predicted favourable where d ≥ −1e-9: optima like to
    put rows on d = 0, and those count as favourable whatever the rounding.

    Parameters
    ----------
    constraint : {"fpr", "fnr", "both"}
        Which error rates to hold alike.
    threshold : float, at least 0
        Bound on each |F|.
    l2 : float, at least 0
        Weight of the penalty.
    solver : {"slsqp", "ccp"}
        Directly to a local minimum, or by the published convex-concave procedure, which stops short of one.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    """

    constraint: Constraint = "both"
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    l2: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    solver: Literal["slsqp", "ccp"] = "slsqp"
    bins: Bins = "one-hot"

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
        design = fit_design(train, include_protected=classifier.include_protected, bins=self.bins)
        rows = training_rows(train, design)
        weights = rows.share * rows.total
        stated, rates = problem(rows.matrix().toarray(), rows.y, rows.s, weights, self.constraint, self.l2)
        if len(set(rows.y.tolist())) == 1:
            return Fitted(
                LinearModel(design, constant(stated)), "noop", "every training row has the same outcome"
            )
        free = minimise(Logistic(rows, self.l2), np.zeros(rows.width)).w
        before = stated.disparities(stated.x @ free)
        solution = Solution(free, kkt(stated, free, self.threshold), 0, 0, "")
        needed = bool((np.abs(before) > self.threshold).any())
        if needed:
            solve = direct if self.solver == "slsqp" else procedure
            solution = solve(stated, free, self.threshold)
        elif solution.kkt > OPTIMAL:
            solution = Solution(free, solution.kkt, 0, 0, "the optimum was not reached")
        facts = _facts(stated, rows.total, free, solution)
        after = stated.disparities(stated.x @ solution.w)
        for rate, unconstrained, constrained in zip(rates, before, after, strict=True):
            facts |= {f"F_{rate}_unconstrained": float(unconstrained), f"F_{rate}": float(constrained)}
        model = LinearModel(design, solution.w)
        if len(set(rows.s.tolist())) == 1:
            return Fitted(model, "noop", "only one group has rows", defined(facts))
        asked = ("fpr", "fnr") if self.constraint == "both" else (self.constraint,)
        trouble = [
            f"a group has no row with the {ABOUT[rate]} outcome, so nothing constrains {rate}"
            for rate in asked
            if rate not in rates
        ]
        if solution.trouble:
            trouble.append(solution.trouble)
        if facts["largest_decision"] > FAR_OUT:
            far = facts["largest_decision"]
            trouble.append(
                f"quasi-separation: a training row's decision value is {far:.0f}, beyond {FAR_OUT:.0f}"
            )
        if trouble:
            return Fitted(model, "degraded", "; ".join(trouble), defined(facts))
        if not needed:
            return Fitted(model, "noop", "the model without constraint is the answer", defined(facts))
        return Fitted(model, facts=defined(facts))


def _facts(stated: Problem, total: float, free: Floats, solution: Solution) -> dict[str, float | int]:
    """Losses without and with the constraint, how optimal that is, and where the rows lie."""
    d = stated.x @ solution.w
    border = np.abs(d) <= ON_KINK
    return {
        "loss_unconstrained": stated.loss(free, stated.x @ free) * total,
        "loss": stated.loss(solution.w, d) * total,
        "kkt": solution.kkt,
        "steps": solution.steps,
        "polishing_steps": solution.polishing,
        "largest_decision": float(np.abs(d).max()),
        "share_on_border": float((stated.negatives + stated.positives)[border].sum()),
    }


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Predicts the favourable outcome where d = X w ≥ −1e-9.

    Parameters
    ----------
    design : Design
        Makes X, the intercept last.
    w : float64 array, shape (width,)
        The coefficients.
    """

    design: Design
    w: Floats

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.design.columns

    def decisions(self, sample: Sample) -> Floats:
        """X w, shape (rows,).

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        return np.asarray(np.einsum("ij,j->i", self.design.transform(sample.features), self.w))

    def predict(self, sample: Sample) -> Labels:
        """Predict each row's outcome: int8, shape (rows,), 1 if favourable; raises as `decisions`."""
        return (self.decisions(sample) >= -ON_KINK).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Predict each row's probability of the favourable outcome, shape (rows,); raises as `decisions`."""
        return np.asarray(expit(self.decisions(sample)))
