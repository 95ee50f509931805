"""The measures by name. A new one is a function of `Counts` or `Rows` and an entry in a table.

``MEASURES`` need counts alone, so a run computes them from what it has stored; ``ROW_MEASURES`` need rows.
A measure that is defined on predictions and on labels stands there twice: under its name, of the predictions,
and under its name with ``-of-labels``.
"""

from collections.abc import Iterable

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.entry import Measure
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.table_absolute import ABSOLUTE
from fairbench_cli.measures.table_accuracy import ACCURACY
from fairbench_cli.measures.table_error_rates import ERROR_RATES
from fairbench_cli.measures.table_rows import SURVEY_ROWS
from fairbench_cli.measures.table_tests import ROW_TESTS, TESTS

__all__ = ["DEFAULT_METRICS", "MEASURES", "ROW_MEASURES", "Measure", "find", "measure"]


def _by_name(entries: Iterable[Measure]) -> dict[str, Measure]:
    """Return entries by name, those of labels after those of predictions."""
    written = tuple(entries)
    labels = (entry.of_labels() for entry in written if entry.on == "both")
    return {entry.name: entry for entry in (*written, *labels)}


MEASURES = _by_name((*ACCURACY, *ABSOLUTE, *ERROR_RATES, *TESTS))
ROW_MEASURES = _by_name((*SURVEY_ROWS, *ROW_TESTS))

# What a run computes when its config does not say.
DEFAULT_METRICS = (
    "accuracy",
    "tpr",
    "tnr",
    "bcr",
    "kappa",
    "acceptance-rate",
    "discrimination",
    "normalised-discrimination",
    "impact-ratio",
    "likelihood-ratio",
    "elift",
    "elift-as-printed",
    "odds-ratio",
    "mutual-information",
    "phi",
    "auc-between-groups",
    "overestimation",
    "underestimation",
)


def find(name: str) -> Measure:
    """Return the entry of a measure; `KeyError` when there is none."""
    return MEASURES[name] if name in MEASURES else ROW_MEASURES[name]


def measure(name: str, data: Counts | Rows) -> Floats:
    """Compute the measure called `name`: shape (...) for counts of shape (..., groups, 2, 2), () for rows.

    Raises
    ------
    KeyError
        When there is no such measure.
    ValueError
        When it compares two groups and there are more or fewer, or it needs rows and is given counts.

    Examples
    --------
    >>> some = Counts(("g", "f"), np.array([[[3.0, 1], [2, 4]], [[1, 0], [1, 4]]]))
    >>> float(measure("accuracy", some)), float(measure("discrimination-of-labels", some))
    (0.75, 0.2333333333333334)
    """
    entry = find(name)
    given: Counts | Rows = data.counts() if entry.needs == "counts" and isinstance(data, Rows) else data
    if entry.needs == "rows" and isinstance(given, Counts):
        raise ValueError(f"{name} needs rows, not counts")
    return np.asarray(entry.function(given.of_labels() if entry.on == "labels" else given), dtype=np.float64)
