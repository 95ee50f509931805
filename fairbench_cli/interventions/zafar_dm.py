"""Zafar et al. against disparate mistreatment: logistic regression with equal error rates."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairbench_cli.classifiers.encode import BinEncoding
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.zafar.logistic import (
    OPTIMAL,
    LinearModel,
    Logistic,
    Solution,
    minimise,
    prepared,
    quasi_separation,
    settled,
)
from fairbench_cli.interventions.zafar.mistreatment import ON_KINK, Constraint, Mistreatment, kkt, problem
from fairbench_cli.interventions.zafar.mistreatment_ccp import procedure
from fairbench_cli.interventions.zafar.mistreatment_direct import direct

ABOUT = {"fpr": "unfavourable", "fnr": "favourable"}


@dataclass(frozen=True)
class ZafarDM:
    """Hold false positive or false negative rates equal across groups, by a proxy.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2017), arXiv:1610.08452. The model is a logistic regression of
    its own, d = w·x: of the experiment's classifier only `include_protected` counts. It minimises the sum
    of losses and the penalty l2/2 Σ wⱼ² (intercept free) subject to |F| ≤ threshold. With y = ±1, over the
    n rows with the unfavourable outcome (fpr) or the favourable one (fnr), F = (n_g n_ḡ/n²) (mean of min(0,
    y d) in the favoured group − in the deprived group): errors are as grave on average, which draws the
    rates nearer without making them equal. A row is predicted favourable where d > −1e-9: optima often
    leave rows on d = 0, and those count as favourable whatever the rounding.

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
        procedure, which stops short of one.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    """

    uses_classifier: ClassVar[bool] = False

    constraint: Constraint = "both"
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    l2: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    solver: Literal["direct", "ccp"] = "direct"
    bins: BinEncoding = "one-hot"

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
        design, rows, constant = prepared(train, classifier, self.bins)
        if constant is not None:
            return constant
        weights = rows.share * rows.total
        stated, rates = problem(rows.matrix().toarray(), rows.y, rows.s, weights, self.constraint, self.l2)
        free = minimise(Logistic(rows, self.l2), np.zeros(rows.width)).w
        before = stated.disparities(stated.x @ free)
        needed = bool((np.abs(before) > self.threshold).any())
        if needed:
            solve = direct if self.solver == "direct" else procedure
            solution = solve(stated, free, self.threshold)
        else:
            residual = kkt(stated, free, self.threshold)
            solution = Solution(
                free, residual, 0, "" if residual <= OPTIMAL else "the optimum was not reached"
            )
        facts = _facts(stated, rows.total, free, solution)
        after = stated.disparities(stated.x @ solution.w)
        for rate, unconstrained, constrained in zip(rates, before, after, strict=True):
            facts |= {f"F_{rate}_unconstrained": float(unconstrained), f"F_{rate}": float(constrained)}
        model = LinearModel(design, solution.w, border=-ON_KINK)
        if len(set(rows.s.tolist())) == 1:
            return Fitted(model, "noop", "only one group has rows", facts)
        requested = ("fpr", "fnr") if self.constraint == "both" else (self.constraint,)
        troubles = [
            f"a group has no row with the {ABOUT[rate]} outcome, so nothing constrains {rate}"
            for rate in requested
            if rate not in rates
        ]
        troubles += filter(None, (solution.trouble, quasi_separation(facts["largest_decision"])))
        return settled(model, "; ".join(troubles), free=not needed, facts=facts)


def _facts(stated: Mistreatment, total: float, free: Floats, solution: Solution) -> dict[str, float | int]:
    """Return losses without and with the constraint, how optimal that is, and where the rows lie."""
    d = stated.x @ solution.w
    border = np.abs(d) <= ON_KINK
    return {
        "loss_unconstrained": stated.loss(free, stated.x @ free) * total,
        "loss": stated.loss(solution.w, d) * total,
        **solution.facts,
        "polishing_steps": solution.polishing,
        "largest_decision": float(np.abs(d).max()),
        "share_on_border": float((stated.negatives + stated.positives)[border].sum()),
    }
