"""Zafar et al.: logistic regression constrained to treat groups alike, in decisions or in error rates."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from fairbench_cli.base.parameters import LATER
from fairbench_cli.classifiers.encode import BinEncoding
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.cells import NotNegative
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.zafar.covariance import (
    Tradeoff,
    least_covariance,
    least_loss,
    nearest_without_covariance,
    separate,
    tradeoff,
)
from fairbench_cli.interventions.zafar.logistic import (
    OPTIMAL,
    LinearModel,
    Logistic,
    Solution,
    as_unscaled,
    minimise,
    prepared,
    quasi_separation,
    settled,
)
from fairbench_cli.interventions.zafar.mistreatment import (
    ON_KINK,
    Average,
    Constraint,
    Mistreatment,
    kkt,
    problem,
)
from fairbench_cli.interventions.zafar.mistreatment_ccp import procedure
from fairbench_cli.interventions.zafar.mistreatment_direct import direct

Mode = Literal["none", "fairness", "accuracy", "misclassification"]
Optimum = Literal["least-loss", "nearest"]


@dataclass(frozen=True)
class ZafarDI:
    """Limit the covariance between group and signed distance from the border.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2017), arXiv:1507.05259. The model is a logistic regression of
    its own, d = w·x: of the experiment's classifier only `include_protected` counts. Let L(w) be the sum of
    its losses and the penalty l2/2 Σ wⱼ² (intercept free), w* its minimum, and cov(w) the covariance of s and
    d over the training rows.

    * ``none``: w* itself.
    * ``fairness``: min L(w) subject to |cov(w)| ≤ c.
    * ``accuracy``: min |cov(w)| subject to L(w) ≤ (1 + γ) L(w*). Among all w without covariance, the one of
      least loss.
    * ``misclassification``: min |cov(w)| such that no favoured row that w* accepts is rejected and any other
      row's loss ℓᵢ(w) ≤ (1 + γ) ℓᵢ(w*). Among the w that come within 1e-5 (or a thousandth) of the least
      covariance, the one of least L.

    The original minimises by SLSQP, without penalty and from random starts; here each is solved to
    optimality.

    Parameters
    ----------
    mode : {"none", "fairness", "accuracy", "misclassification"}
        What is minimised, and what is bounded.
    c : float, at least 0, or None
        Bound on the covariance, mode ``fairness``; None is 0.
    gamma : float, at least 0, or None
        Loss that may be added, as a share; None is 0.5 in mode ``accuracy``, 1000 in ``misclassification``.
    relative : bool
        Count `c` in |cov(w*)|, and `gamma` of mode ``accuracy`` in what no covariance at all costs: both then
        do all that they can between 0 and 1.
    l2 : float, at least 0
        Weight of the penalty. Without one, the weight of a rare level can run off and meet the bound on the
        covariance by a few rows.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    scale : bool
        Whether the penalty is on the weights of standardised numbers, or of numbers as they are. Nothing
        else depends on it.
    optimum : {"least-loss", "nearest"}
        Where many w are optimal, which is taken: that of least loss, the default; or the one nearest to
        weights drawn from U(0, 1), where the original starts. Modes ``accuracy`` and ``misclassification``.

    Raises
    ------
    ValueError
        When a parameter is given that the mode does not have.
    """

    uses_classifier: ClassVar[bool] = False

    mode: Mode = "fairness"
    c: NotNegative | None = None
    gamma: NotNegative | None = None
    relative: bool = False
    l2: NotNegative = 1.0
    bins: BinEncoding = "one-hot"
    scale: bool = True
    optimum: Optimum = field(default="least-loss", metadata=LATER)

    def __post_init__(self) -> None:
        if self.optimum == "nearest" and self.mode in ("none", "fairness"):
            raise ValueError(f"optimum has no effect in mode {self.mode}: there is one alone")
        if self.c is not None and self.mode != "fairness":
            raise ValueError(f"c has no effect in mode {self.mode}")
        if self.gamma is not None and self.mode in ("none", "fairness"):
            raise ValueError(f"gamma has no effect in mode {self.mode}")
        if self.relative and self.mode in ("none", "misclassification"):
            raise ValueError(f"relative has no effect in mode {self.mode}")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the constrained logistic regression.

        ``noop`` when there is one outcome or one group only, or w* itself is the answer. ``degraded`` when a
        row is further out than 50 (quasi-separation), or the optimum was not reached.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        design, rows, constant = prepared(train, classifier, self.bins)
        if constant is not None:
            return constant
        trade = tradeoff(rows, self.l2, None if self.scale else as_unscaled(design))
        if len(set(rows.s.tolist())) == 1:
            facts = _di_facts(trade, trade.free.w) | trade.free.facts
            return Fitted(LinearModel(design, trade.free.w), "noop", "only one group has rows", facts)
        solution, more = self._solve(trade, rng)
        facts = _di_facts(trade, solution.w) | more
        trouble = quasi_separation(facts["largest_decision"]) or solution.trouble
        if not trouble and solution.residual > OPTIMAL:
            trouble = "the optimum was not reached"
        free = self.mode != "none" and solution.w is trade.free.w
        return settled(LinearModel(design, solution.w), trouble, free=free, facts=facts)

    def _solve(self, trade: Tradeoff, rng: np.random.Generator) -> tuple[Solution, dict[str, float | int]]:
        """Return the solution and the numbers of this mode."""
        if self.mode == "none":
            return trade.free, trade.free.facts
        if self.mode == "fairness":
            c = (self.c or 0.0) * (abs(trade.covariance) if self.relative else 1.0)
            solution = least_loss(trade, c)
            return solution, {"c": c, **solution.facts}
        gamma = self.gamma if self.gamma is not None else 0.5 if self.mode == "accuracy" else 1000.0
        start = rng.uniform(size=trade.problem.rows.width) if self.optimum == "nearest" else None
        if self.mode == "accuracy":
            solution, c, gamma = least_covariance(trade, gamma, relative=self.relative)
            if start is not None and c == 0 and solution is not trade.free:
                solution = nearest_without_covariance(trade, gamma, start)
            return solution, {"gamma": gamma, "c": c, **solution.facts}
        solution, least = separate(trade, gamma, start)
        before, after = (trade.problem.rows.times(w) > 0 for w in (trade.free.w, solution.w))
        mass = trade.problem.rows.share * trade.problem.rows.s * trade.problem.rows.total
        facts = {
            "gamma": gamma,
            "least_covariance": least,
            **solution.facts,
            "favoured_accepted_before": float(mass @ before),
            "favoured_accepted": float(mass @ after),
            "favoured_newly_rejected": float(mass @ (before & ~after)),
        }
        return solution, facts


def _di_facts(trade: Tradeoff, w: Floats) -> dict[str, float | int]:
    """Return loss and covariance without and with the constraint, and how far out the furthest row is."""
    problem, total = trade.problem, trade.problem.rows.total
    before, decisions = problem.rows.times(trade.free.w), problem.rows.times(w)
    return {
        "loss_unconstrained": problem.value(trade.free.w, before) * total,
        "loss": problem.value(w, decisions) * total,
        "covariance_unconstrained": trade.covariance,
        "covariance": float(trade.a @ w),
        "largest_decision": float(np.abs(decisions).max()),
    }


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
        procedure, which stops short of one, with the authors' τ = 5 and μ = 1.2.
    bins : {"one-hot", "number"}
        Take bins as levels, or as the numbers in their middles.
    average : {"label", "group"}
        Over which rows a group's errors are averaged: n, n_g and n_ḡ count those with the outcome that the
        rate is about, the default; or all of them, as in an early version of the authors' code, which holds
        errors per person alike, and leaves a group with fewer such rows the higher rate.
    """

    uses_classifier: ClassVar[bool] = False

    constraint: Constraint = "both"
    threshold: NotNegative = 0.0
    l2: NotNegative = 1.0
    solver: Literal["direct", "ccp"] = "direct"
    bins: BinEncoding = "one-hot"
    average: Average = field(default="label", metadata=LATER)

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
        stated, rates = problem(
            rows.matrix().toarray(), rows.y, rows.s, weights, self.constraint, self.l2, self.average
        )
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
        facts = _dm_facts(stated, rows.total, free, solution)
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


def _dm_facts(stated: Mistreatment, total: float, free: Floats, solution: Solution) -> dict[str, float | int]:
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
