"""What the post-processing techniques share: validation rows, and a model of group thresholds."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.cells import empty_cells, weight_sums
from fairbench_cli.interventions.fitted import Fitted, Infeasible, drawn
from fairbench_cli.interventions.validation import divide_rows
from fairbench_cli.measures.counts import PAIR
from fairbench_cli.measures.thresholds import BestThresholds, GroupPoints, Mixture, group_points


class Scorer(Protocol):
    """A model with scores."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        ...

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,)."""
        ...

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's score, shape (rows,), higher for the favourable outcome."""
        ...


def fit_and_hold_out(train: Sample, classifier: Classifier, validation: float) -> tuple[Model, Sample]:
    """Return the classifier fitted to a part of the rows, and the validation rows, the other part.

    Raises
    ------
    Infeasible
        When a group has no validation row with one of the labels, or no row is left to fit to.
    """
    rows, held_out = divide_rows(train, validation)
    empty = empty_cells(weight_sums(held_out), np.ones((2, 2)))
    if empty:
        raise Infeasible(f"{empty} among the validation rows")
    if not len(rows):
        raise Infeasible("all rows are validation rows, and none is left to fit to")
    return classifier.fit(rows), held_out


def scores_of(model: Any, sample: Sample) -> Floats:
    """Return a model's scores, shape (rows,); `Infeasible` if it has none."""
    scores = Fitted(model).scores(sample)
    if scores is None:
        raise Infeasible("the classifier gives no scores")
    return scores


def points_of(sample: Sample, scores: Floats) -> list[GroupPoints]:
    """Return what each threshold on the scores accepts of the deprived and of the favoured group."""
    of_group = [np.flatnonzero(sample.s == group) for group in (0, 1)]
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    return [group_points(scores[rows], sample.y[rows], weights[rows]) for rows in of_group]


@dataclass(frozen=True, eq=False)
class GroupThresholdModel:
    """Decides by thresholds on the score of a model, those of the group that a row is of.

    Parameters
    ----------
    model : Scorer
        Gives the scores.
    mixtures : tuple of Mixture
        The thresholds of the deprived and of the favoured group.
    seed : int
        Of the draws; the same rows get the same predictions.
    """

    model: Scorer
    mixtures: tuple[Mixture, ...]
    seed: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that its model was trained on."""
        return self.model.columns

    def decision_probability(self, sample: Sample) -> Floats:
        """Return the probability with which each row is accepted, shape (rows,)."""
        scores = scores_of(self.model, sample)
        deprived, favoured = (mixture.chance(scores) for mixture in self.mixtures)
        return np.where(sample.s == 1, favoured, deprived)

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return drawn(self.decision_probability(sample), self.seed)


def fitted_of(model: GroupThresholdModel, facts: dict[str, float | int]) -> Fitted:
    """Return a model with its facts; ``degraded`` where its decisions do not depend on the score."""
    if all(np.isinf(mixture.thresholds).all() for mixture in model.mixtures):
        return Fitted(model, "degraded", "the decisions do not depend on the score", facts)
    return Fitted(model, facts=facts)


def facts_of(solution: BestThresholds) -> dict[str, float | int]:
    """Return what a solution promises on the validation rows, and its thresholds, as facts.

    A group's thresholds are numbered from its highest; `share` is how often one is drawn. Those that accept
    nobody or everybody are infinite and so have a share alone.
    """
    facts: dict[str, float | int] = {
        "accuracy_validation": solution.accuracy,
        "cost_validation": solution.cost,
        "gap_validation": solution.violation,
    }
    for group, mixture in zip(PAIR, solution.mixtures, strict=True):
        for k, (threshold, share) in enumerate(zip(mixture.thresholds, mixture.weights, strict=True), 1):
            facts |= {f"threshold_{group}_{k}": float(threshold), f"share_{group}_{k}": float(share)}
    return {name: value for name, value in facts.items() if math.isfinite(value)}
