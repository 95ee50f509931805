"""The random classifier: a baseline that knows how many to accept, and nothing else."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.design import training_weights
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.interventions.fitted import Fitted


@dataclass(frozen=True)
class RandomGuess:
    """Accept rows at random, as many as the training labels do: a baseline, not a technique.

    Žliobaitė (2015), Section 3: its accuracy at acceptance rate π is R = π₀π + (1−π₀)(1−π), its
    discrimination 0. A sweep gives those expected values. Ignores the classifier.
    """

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Look up the share of favourable training labels, by weight.

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
        """Predict each row's outcome: int8, shape (rows,), 1 for the favourable one."""
        return (np.random.default_rng(self.seed).random(len(sample)) < self.share).astype(np.int8)

    def predict_proba(self, sample: Sample) -> Floats:
        """Return the share for every row, shape (rows,)."""
        return np.full(len(sample), self.share)
