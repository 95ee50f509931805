"""Equalised odds by post-processing: equal TPR and FPR, from scores or from decisions alone."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.post_processing import (
    GroupThresholdModel,
    Scorer,
    facts_of,
    fit_and_hold_out,
    fitted_of,
    points_of,
    scores_of,
)
from fairbench_cli.interventions.validation import Share
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.measures.thresholds import BestThresholds, GroupPoints, best_thresholds

Objective = Literal["accuracy", "youden"]


@dataclass(frozen=True)
class EqualisedOdds:
    """Draw decisions so that TPR and FPR are the same in both groups, on the validation rows in expectation.

    Hardt, Price & Srebro (2016). From scores, rows are accepted by thresholds of their group, some of them
    drawn at random; this is `group-thresholds` without a tolerance. From labels, only the decision ŷ of the
    classifier and the group count: P(ỹ=1 | ŷ, group) are the four numbers of the paper's linear programme.
    Scores reach more. A group whose decisions are worse than chance may have
    them reversed, as in the paper; its scores are not reversed. Needs the group of the rows to predict.

    Parameters
    ----------
    based_on : {"scores", "labels"}
        What is post-processed.
    objective : {"accuracy", "youden"}
        What to maximise: accuracy, or TPR − FPR, as AIF360's EqOddsPostprocessing does.
    validation : float in (0, 1)
        Share of validation rows.
    """

    based_on: Literal["scores", "labels"] = "scores"
    objective: Objective = "accuracy"
    validation: Share = 0.3

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier and the probabilities of its decisions.

        ``degraded`` when the best decisions are one coin for everybody, whatever the classifier says.

        Raises
        ------
        Infeasible
            When a group has no validation row with one of the labels, or the classifier gives no scores
            where they are asked for.
        """
        model, rows = fit_and_hold_out(train, classifier, self.validation)
        scorer: Scorer = model if self.based_on == "scores" else as_scorer(model, rows)
        solution = equal_odds(points_of(rows, scores_of(scorer, rows)), self.objective)
        fitted = GroupThresholdModel(scorer, solution.mixtures, int(rng.integers(2**63)))
        facts = facts_of(solution)
        if isinstance(scorer, LabelScorer):
            about = {name: value for name, value in facts.items() if name.endswith("_validation")}
            facts = about | chances(scorer, solution)
        return fitted_of(fitted, facts)


def equal_odds(points: list[GroupPoints], objective: Objective) -> BestThresholds:
    """Return the best mixtures with equal TPR and FPR, for accuracy or for Youden's J = TPR − FPR.

    Where the groups' rates are the same, 1 − J is the cost of errors that cost n/N on each of N unfavourable
    labels and n/P on each of P favourable ones, n = N + P.
    """
    if objective == "accuracy":
        return best_thresholds(points, "equalised-odds")
    negatives, positives = sum(g.negatives for g in points), sum(g.positives for g in points)
    n = negatives + positives
    return best_thresholds(points, "equalised-odds", costs=(n / negatives, n / positives))


@dataclass(frozen=True, eq=False)
class LabelScorer:
    """A model whose score is its own decision, or the reverse of it in groups where it is worse than chance.

    Parameters
    ----------
    model : Model
        Decides.
    reversed : tuple of bool
        Whether the decisions on the deprived and on the favoured group are reversed.
    """

    model: Model
    reversed: tuple[bool, bool]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that its model was trained on."""
        return self.model.columns

    def predict(self, sample: Sample) -> Labels:
        """Return each row's decision, reversed in the groups named: int8, shape (rows,)."""
        return self.model.predict(sample) ^ np.array(self.reversed, dtype=np.int8)[sample.s]

    def predict_proba(self, sample: Sample) -> Floats:
        """Return the same as a score of 0 or 1, shape (rows,)."""
        return self.predict(sample).astype(np.float64)


def as_scorer(model: Model, rows: Sample) -> LabelScorer:
    """Return a model's decisions as scores, reversed in the groups where TPR < FPR on the rows given."""
    points = points_of(rows, LabelScorer(model, (False, False)).predict_proba(rows))
    # The middle point of three accepts ŷ = 1; with one decision only, there are no more than the two ends.
    deprived, favoured = (g.tp[-2] * g.negatives < g.fp[-2] * g.positives for g in points)
    return LabelScorer(model, (bool(deprived), bool(favoured)))


def chances(scorer: LabelScorer, solution: BestThresholds) -> dict[str, float | int]:
    """Return the four probabilities P(ỹ=1 | ŷ, group), as facts: `q1_deprived` is that of ŷ = 1."""
    facts: dict[str, float | int] = {}
    for group, mixture, turned in zip(PAIR, solution.mixtures, scorer.reversed, strict=True):
        refused, accepted = mixture.chance([0.0, 1.0])[:: -1 if turned else 1]
        facts |= {f"q0_{group}": float(refused), f"q1_{group}": float(accepted)}
    return facts
