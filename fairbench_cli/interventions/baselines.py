"""What techniques are compared with: no intervention, training on the truth, an oracle, and chance."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fairbench_cli.classifiers.encode import training_weights
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.cells import Proportion, label_discrimination, rows_of
from fairbench_cli.interventions.fitted import Fitted, drawn

Strategy = Literal["decrease-favoured", "increase-deprived", "both"]


@dataclass(frozen=True)
class NoIntervention:
    """Train the classifier on the data as they are."""

    uses_groups: ClassVar[bool] = False

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the classifier; `rng` is not used."""
        return Fitted(classifier.fit(train))


@dataclass(frozen=True)
class TrainedOnTruth:
    """Train the classifier on rows without bias: what it could do if the record were true.

    A reference line, not a technique, which nobody who has the biased rows alone can train. A run computes it
    as ``none`` at β = 0 without a world, and shares the numbers of that cell. By itself it is ``none``.
    """

    uses_groups: ClassVar[bool] = False
    uses_bias: ClassVar[bool] = False

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:
        """Fit the classifier; `rng` is not used."""
        return NoIntervention().fit(train, classifier, rng)


@dataclass(frozen=True)
class Oracle:
    """Predict the true labels, less a share of their discrimination: a bound, not a technique.

    Žliobaitė (2015), Section 4. Labels are changed at random within a group until a share `remove` of the
    discrimination d of the rows to predict is gone: favoured rows are rejected, deprived ones accepted, or
    half of it either way, as massaging does. Trains nothing, and ignores the classifier.

    Parameters
    ----------
    strategy : {"decrease-favoured", "increase-deprived", "both"}
        Whose labels change. ``both`` keeps the acceptance rate.
    remove : float
        Share of the discrimination to remove, from 0 (the labels themselves) to 1.
    """

    uses_classifier: ClassVar[bool] = False
    uses_test_labels: ClassVar[bool] = True

    strategy: Strategy = "both"
    remove: Proportion = 1.0

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Return the oracle; training rows and classifier are not used."""
        return Fitted(OracleModel(self.strategy, self.remove, int(rng.integers(2**63))))


@dataclass(frozen=True)
class OracleModel:
    """Predicts labels from the labels; the same rows get the same predictions."""

    strategy: Strategy
    remove: float
    seed: int

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        predicted = sample.y.copy()
        d = label_discrimination(sample)
        if not d > 0:  # no discrimination against the deprived group, or a group without rows
            return predicted
        rng = np.random.default_rng(self.seed)
        n_deprived, n_favoured = np.bincount(sample.s, minlength=2)
        # A share x of the favoured rejected and a share z of the deprived accepted lowers d by x + z. That
        # the acceptance rate stays means x n_ḡ = z n_g.
        x, z = {
            "decrease-favoured": (1.0, 0.0),
            "increase-deprived": (0.0, 1.0),
            "both": (n_deprived / len(sample), n_favoured / len(sample)),
        }[self.strategy]
        for cell, share, n in (((1, 1), x, n_favoured), ((0, 0), z, n_deprived)):
            rows = rows_of(sample, cell)
            changed = min(round(self.remove * d * share * n), len(rows))
            predicted[rng.choice(rows, changed, replace=False)] = 1 - cell[1]
        return predicted


@dataclass(frozen=True)
class RandomGuess:
    """Accept rows at random, as many as the training labels do: a baseline, not a technique.

    Žliobaitė (2015), Section 3: its accuracy at acceptance rate π is R = π₀π + (1−π₀)(1−π), its
    discrimination 0. A sweep gives those expected values. Ignores the classifier.
    """

    uses_groups: ClassVar[bool] = False
    uses_classifier: ClassVar[bool] = False

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Compute the share of favourable training labels, by weight.

        Raises
        ------
        ValueError
            When there are no rows, or their weights sum to 0.
        """
        weights = training_weights(train)
        share = float(weights @ train.y / weights.sum())
        return Fitted(RandomModel(share, int(rng.integers(2**63))), facts={"share": share})


@dataclass(frozen=True)
class RandomModel:
    """Accepts each row with the same probability; the same rows get the same predictions."""

    share: float
    seed: int

    def predict(self, sample: Sample) -> Labels:
        """Return each row's predicted outcome: int8, shape (rows,), 1 for the favourable one."""
        return drawn(self.predict_proba(sample), self.seed)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return the share for every row, shape (rows,)."""
        return np.full(len(sample), self.share)
