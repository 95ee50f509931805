"""No intervention: the baseline."""

from dataclasses import dataclass

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Sample
from fairbench_cli.interventions.cells import label_discrimination
from fairbench_cli.interventions.fitted import Fitted, defined


@dataclass(frozen=True)
class NoIntervention:
    """Train the classifier on the data as they are."""

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Fit the classifier; `rng` is not used."""
        facts = defined({"discrimination_before": label_discrimination(train)})
        return Fitted(classifier.fit(train), facts=facts)
