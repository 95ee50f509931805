"""Reweighing: weight rows until the label does not depend on the group."""

from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Floats, Sample
from fairbench_cli.interventions.cells import CELLS, discriminations, empty_cells, expected, weight_sums
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.measures.counts import divide


@dataclass(frozen=True)
class Reweighing:
    """Weight rows by P(s)P(y)/P(s,y).

    Kamiran & Calders (2012). If rows have weights already, sums of weights take the place of counts, and the
    new weights multiply the old ones. Unless a cell is empty, the weights sum to what they did before, and
    weighted discrimination is 0.
    """

    def fit(self, train: Sample, classifier: Classifier, rng: np.random.Generator) -> Fitted:  # noqa: ARG002
        """Weight the rows and fit the classifier; ``degraded`` if a cell is empty. `rng` is not used."""
        before = weight_sums(train)
        w = cell_weights(before)
        # An empty cell has no weight, and no row that needs it.
        old = np.ones(len(train)) if train.weights is None else train.weights
        weighted = replace(train, weights=old * np.nan_to_num(w)[train.s, train.y])
        facts = {f"w{s}{y}": float(w[s, y]) for s, y in CELLS} | discriminations(train, weighted)
        model = classifier.fit(weighted)
        empty = empty_cells(before, expected(before))
        return Fitted(model, "degraded" if empty else "ok", empty, facts)


def cell_weights(sums: Floats) -> Floats:
    """Return w(s,y) = n_s n_y / (n n_sy), shape (2, 2); NaN for an empty cell.

    >>> cell_weights(np.array([[6.0, 2.0], [4.0, 4.0]])).round(4).tolist()
    [[0.8333, 1.5], [1.25, 0.75]]
    """
    return divide(expected(sums), np.where(sums > 0, sums, np.nan))
