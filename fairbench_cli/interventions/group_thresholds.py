"""Group thresholds: each group's own, the cheapest whose rates differ by no more than a tolerance."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.post_processing import (
    GroupThresholdModel,
    facts_of,
    fit_and_hold_out,
    fitted_of,
    points_of,
    scores_of,
)
from fairbench_cli.interventions.validation import Share
from fairbench_cli.measures.thresholds import Constraint, Norm, best_thresholds

Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class GroupThresholds:
    """Give each group the thresholds that cost least while its rates differ by no more than a tolerance.

    Hardt, Price & Srebro (2016), relaxed as by Cruz & Hardt (2024). The classifier is fitted to a part of
    the rows; on its scores of the others, the validation rows, a linear programme over the hulls of the
    groups' ROC points finds the optimum exactly. A group may get two thresholds or more, one of which is
    drawn for each row; runs count such a model in expectation. Without a constraint each group gets its
    cheapest threshold: "unprocessing", which undoes what was done to a classifier for fairness. Needs the
    group of the rows to predict, whether or not the classifier sees it.

    Parameters
    ----------
    constraint : {"demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds", "none"}
        Which rates to hold: the selection rate, TPR (equal opportunity), FPR, or both of these.
    tolerance : float, at least 0
        Largest difference between the groups on the validation rows, in expectation.
    norm : {"max", "sum"}
        Of equalised odds: whether each of the differences in FPR and TPR is held, or their sum.
    cost_fp, cost_fn : float, at least 0
        Cost of a false positive and of a false negative. With one each, accuracy is maximised.
    validation : float in (0, 1)
        Share of validation rows.
    """

    constraint: Constraint = "demographic-parity"
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    norm: Norm = "max"
    cost_fp: Cost = 1.0
    cost_fn: Cost = 1.0
    validation: Share = 0.3

    def __post_init__(self) -> None:
        if self.cost_fp == self.cost_fn == 0:
            raise ValueError("cost_fp and cost_fn are both 0, so that all decisions are equally good")
        if self.constraint == "none" and self.tolerance > 0:
            raise ValueError("a tolerance is of a constraint, and there is none")
        if self.norm == "sum" and self.constraint != "equalised-odds":
            raise ValueError("norm: sum is about the two rates of equalised-odds alone")

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier and the thresholds.

        ``degraded`` when the best thresholds accept everybody or nobody, so that scores decide nothing.

        Raises
        ------
        Infeasible
            When the classifier gives no scores, or a group has no validation row with one of the labels.
        """
        model, rows = fit_and_hold_out(train, classifier, self.validation)
        costs = (self.cost_fp, self.cost_fn)
        points = points_of(rows, scores_of(model, rows))
        solution = best_thresholds(points, self.constraint, self.tolerance, costs, self.norm)
        drawing = GroupThresholdModel(model, solution.mixtures, int(rng.integers(2**63)))
        return fitted_of(drawing, facts_of(solution))
