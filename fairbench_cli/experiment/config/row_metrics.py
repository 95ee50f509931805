"""The metrics that need rows: computed where the rows are, inside a repeat, and kept next to the counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.experiment.config.own_metrics import OwnMetric
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.registry import METRICS, measure, measure_rows
from fairbench_cli.measures.rows import Rows, crossed


@dataclass(frozen=True)
class RequestedRowMetrics:
    """The metrics asked for that need rows.

    Parameters
    ----------
    registered : tuple of str
        Names in `ROW_METRICS`.
    strata : tuple of str
        Attributes whose levels, crossed, are the strata of those that compare groups within strata.
    own : tuple of OwnMetric
        Those that are not registered.
    """

    registered: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    own: tuple[OwnMetric, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What results call them."""
        return (*self.registered, *(metric.name for metric in self.own))

    def record(self, name: str) -> str:
        """Return the name under which a value is kept: with the attributes that it depends on.

        >>> RequestedRowMetrics(strata=("education",)).record("belift")
        'belift by education'
        """
        for metric in self.own:
            if metric.name == name:
                return metric.record
        return f"{name} by {CROSS.join(self.strata)}" if METRICS[name].needs == "strata" else name

    @cached_property  # asked for once per repeat of a plan
    def records(self) -> frozenset[str]:
        """Every name under which a value is kept."""
        return frozenset(map(self.record, self.names))

    def measure(self, test: Sample, predicted: Labels, scores: Floats | None) -> dict[str, float]:
        """Measure the test rows of a repeat: values by the name under which they are kept.

        Raises
        ------
        ValueError
            When a measure cannot honour the rows' weights.
        """
        if not self.names:
            return {}
        rows = rows_of(test, predicted, scores, self.strata)
        values = measure_rows(self.registered, rows)
        values |= {metric.name: float(measure(metric.entry, rows)) for metric in self.own}
        return {self.record(name): value for name, value in values.items()}


def rows_of(test: Sample, predicted: Labels, scores: Floats | None, strata: tuple[str, ...]) -> Rows:
    """Return test rows as measures take them: every column but the protected ones; crossed strata."""
    features = test.features.without(*test.protected)
    columns = [
        np.asarray(column.values)[features.codes[:, j]] if column.kind == "number" else features.codes[:, j]
        for j, column in enumerate(features.columns)
    ]
    return Rows(
        test.s,
        test.y,
        predicted,
        score=scores,
        features=np.column_stack(columns).astype(np.float64) if columns else None,
        nominal=tuple(column.kind != "number" for column in features.columns),
        weights=test.weights,
        strata=crossed([test.features[name] for name in strata]) if strata else None,
    )
