"""Repair: columns are changed until their distribution says nothing about the group."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fairbench_cli.classifiers.fit import Classifier, Model
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.cells import require_no_weights
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.repairing.features import (
    Bins,
    ColumnMap,
    How,
    apply_maps,
    largest_distance,
    on_levels,
    repair_features,
)
from fairbench_cli.interventions.repairing.numeric import Method

Level = Annotated[float, Field(ge=0, le=1)]
TestRepair = Literal["train_map", "own", "none"]


@dataclass(frozen=True)
class Repair:
    """Move each column's distributions in the two groups towards a common one.

    Feldman et al. (2015). Columns are repaired one by one, numbers by their rank within the group, with ties
    ranked at random (`repair_by_rank`), categories by keeping some and drawing the others anew
    (`make_plan`). Only marginal distributions become equal: columns together may still tell the group. The
    outcome is not repaired, nor is the protected attribute, which the classifier sees as it is or not at all.

    Parameters
    ----------
    level : float
        λ, from 0 (nothing is repaired) to 1 (both groups have the same distribution).
    test_repair : {"train_map", "own", "none"}
        Rows to predict are repaired by what was learned on the training rows, as a set of their own, or not
        at all. The first two use each row's group.
    method : {"combinatorial", "geometric"}
        Whether numbers go a part λ of the way in steps from one value of the training rows to the next, or
        to (1−λ) x + λ t. The latter gives new numbers, which often occur in one group only and so give the
        group away; columns of bins get the nearest bin.
    bins : {"number", "nominal"}
        Whether columns of bins are repaired by rank, or as categories.
    """

    level: Level = 1.0
    test_repair: TestRepair = "train_map"
    method: Method = "combinatorial"
    bins: Bins = "number"

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Repair the training rows and fit the classifier.

        ``noop`` at level 0, without a column to repair, and if a group has no rows.

        Raises
        ------
        Infeasible
            When the rows have weights, or a column cannot hold the numbers of a geometric repair.
        """
        require_no_weights(train)
        seed = int(rng.integers(2**63))
        reason = _nothing_to_do(train, self.level)
        if reason:
            return Fitted(classifier.fit(train), "noop", reason)
        how = How(self.level, self.method, self.bins)
        repaired, learned = repair_features(train, how, seed)
        facts = {
            "distance_before": largest_distance(train, self.bins),
            "distance_after": largest_distance(repaired, self.bins),
        }
        model = classifier.fit(repaired)
        return Fitted(RepairedModel(model, self.test_repair, how, learned, seed), facts=facts)


@dataclass(frozen=True, eq=False)
class RepairedModel:
    """A classifier that was trained on repaired rows, and repairs the rows it is to predict.

    Its random choices come from `seed` alone: the same rows get the same predictions.
    """

    model: Model
    test_repair: TestRepair
    how: How
    learned: dict[str, ColumnMap]
    seed: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features that the classifier was trained on."""
        return self.model.columns

    def predict(self, sample: Sample) -> Labels:
        """Predict each row's outcome: int8, shape (rows,), 1 for the favourable one."""
        return self.model.predict(self.repaired(sample))

    def predict_proba(self, sample: Sample) -> Floats:
        """Predict each row's probability of the favourable outcome, shape (rows,)."""
        return self.model.predict_proba(self.repaired(sample))

    def repaired(self, sample: Sample) -> Sample:
        """Repair rows as `test_repair` says. A set with one group only is its own common distribution."""
        if self.test_repair == "train_map":
            return apply_maps(sample, self.learned, self.seed)
        if self.test_repair == "own" and len(np.unique(sample.s)) == 2:
            sample, _ = repair_features(sample, self.how, self.seed)
        return on_levels(sample, self.learned)


def _nothing_to_do(train: Sample, level: float) -> str:
    if level == 0:
        return "level 0 repairs nothing"
    if len(np.unique(train.s)) < 2:
        return "all rows are of one group"
    return "" if len(train.features.columns) > 1 else "there is no column to repair"
