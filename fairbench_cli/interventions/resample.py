"""What uniform and preferential sampling share: how many rows each cell gets, and training on chosen rows."""

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Rows, Sample
from fairbench_cli.interventions.cells import (
    CELLS,
    NAMES,
    label_discrimination,
    require_no_weights,
    sizes,
    targets,
)
from fairbench_cli.interventions.fitted import Fitted, Infeasible, defined


def cell_targets(train: Sample) -> NDArray[np.int64]:
    """How many rows each cell is to have, shape (2, 2).

    Raises
    ------
    Infeasible
        When a cell is to get rows but has none to draw from, or the rows have weights.
    """
    require_no_weights(train)
    n = sizes(train)
    target = targets(n)
    empty = [NAMES[cell] for cell in CELLS if n[cell] == 0 and target[cell] > 0]
    if empty:
        raise Infeasible(f"empty cell {', '.join(empty)}")
    return target


def fit_rows(train: Sample, rows: Rows, classifier: Classifier) -> Fitted:
    """Fit the classifier to the given rows; ``noop`` if they are all rows, once each."""
    chosen = train.take(rows)
    n = sizes(chosen)
    facts = defined(
        {
            **{f"n{s}{y}": int(n[s, y]) for s, y in CELLS},
            "discrimination_before": label_discrimination(train),
            "discrimination_after": label_discrimination(chosen),
        }
    )
    model = classifier.fit(chosen)
    if np.array_equal(rows, np.arange(len(train))):
        return Fitted(model, "noop", "every cell has its expected size already", facts)
    return Fitted(model, facts=facts)
