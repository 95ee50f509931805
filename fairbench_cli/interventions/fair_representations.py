"""Fair representations: rows become mixtures of prototypes that keep the label and hide the group."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array

from fairbench_cli.classifiers.encode import BinEncoding, Design, fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Floats, Labels, Sample
from fairbench_cli.interventions.cells import require_both_groups
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.prototypes import (
    Distance,
    GroupRows,
    PrototypeObjective,
    Prototypes,
    Reduction,
    minimise,
    nearness,
)
from fairbench_cli.interventions.zafar.rows import training_rows

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
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
        found = [
            minimise(
                objective,
                start(groups, self.prototypes, self.column_weights, rng),
                self.iterations,
                smoothing,
            )
            for _ in range(self.restarts)
        ]
        values = [objective.terms(at).value for at in found]
        best = found[int(np.argmin(values))]
        terms, model = objective.terms(best), Represented(design, best, self.distance)
        facts = {
            "objective": terms.value,
            "objective_of_worst_start": max(values),
            "l_x": terms.l_x,
            "l_y": terms.l_y,
            "l_z": terms.l_z,
        }
        if best.alpha is not None:
            facts["largest_column_weight"] = float(best.alpha.max(initial=0.0))
        accepted = model.predict(train)
        if (accepted == accepted[0]).all():
            return Fitted(model, "degraded", "all training rows get one prediction", facts)
        if self.a_z == 0:
            return Fitted(model, "noop", "a_z is 0: nothing is asked of the groups", facts)
        return Fitted(model, facts=facts)


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
    width, sizes = groups[0].x.shape[1], [len(rows.y) for rows in groups]
    w = rng.random(k)
    drawn = rng.integers(0, sum(sizes), k)
    v = np.stack(
        [groups[n >= sizes[0]].x[[n - sizes[0] * (n >= sizes[0])]].toarray()[0] for n in drawn.tolist()]
    )
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
    at: Prototypes
    distance: Distance

    @property
    def columns(self) -> tuple[Column, ...]:
        """The features it was trained on."""
        return self.design.columns

    def mixtures(self, sample: Sample) -> Floats:
        """Return each row's probability of each prototype, shape (rows, K).

        Raises
        ------
        KeyError, ValueError
            When a feature is missing, or has other levels than in training.
        """
        x = csr_array(self.design.transform(sample.features))
        mixtures = np.empty((len(sample), len(self.at.w)))
        for s in (0, 1):
            own = np.flatnonzero(sample.s == s)
            if len(own):
                rows = GroupRows(x[own], np.zeros(len(own)), np.ones(len(own)))
                mixtures[own] = nearness(rows, self.at, s, self.distance).m
        return mixtures

    def predict(self, sample: Sample) -> Labels:
        """Return predicted outcomes: int8, shape (rows,), 1 for a score above ½; raises as `mixtures`."""
        return (self.predict_proba(sample) > 0.5).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return each row's score, shape (rows,), the mixture of predictions; raises as `mixtures`."""
        return np.asarray(np.einsum("ij,j->i", self.mixtures(sample), self.at.w))
