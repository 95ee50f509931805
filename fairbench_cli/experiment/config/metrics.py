"""The metrics of a config: those that are not registered, and those that need the test rows themselves."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from fairbench_cli.base import plugins
from fairbench_cli.base.errors import Problem, UserError, find_nearest, refuse, user_error
from fairbench_cli.data.table import Floats, Labels, Sample
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.number_measures import NUMBER_MEASURES
from fairbench_cli.measures.registry import METRICS, custom_metric, measure, measure_rows
from fairbench_cli.measures.rows import Rows, cross_columns

GROUP = "fairbench.measures"


@dataclass(frozen=True)
class MetricSpec:
    """A metric as a config names it.

    Parameters
    ----------
    name : str
        What results call it.
    origin : CodeOrigin or None
        Where its code is; None for a registered one, and in a config that results hold.
    """

    name: str
    origin: plugins.CodeOrigin | None = None

    @property
    def is_at_hand(self) -> bool:
        """Whether it is registered or has been imported."""
        return self.origin is not None or self.name in METRICS

    @property
    def entry(self) -> Metric:
        """The metric, which is at hand; a worker imports it when it is first asked for."""
        if self.origin is None:
            return METRICS[self.name]
        return _entry(self.name, self.origin)

    @property
    def to_config(self) -> str:
        """The name as it is written in a config, from wherever that is read."""
        if self.origin is None or self.origin.path is None:
            return self.name
        return self.origin.target


@cache
def _entry(name: str, origin: plugins.CodeOrigin) -> Metric:
    return custom_metric(name, origin.load())


def suggest_metric(name: str) -> str:
    """Return how to fix the name of a metric: the nearest one, else those that most papers report."""
    names = known_names()
    if find_nearest(name, names) is None:
        names = [metric.name for metric in METRICS.values() if metric.usual]
    return plugins.suggest_name(name, names)


def find_metric(name: str, base: Path | None) -> MetricSpec:
    """Return a registered metric, or one that is not registered, imported and tried out.

    Parameters
    ----------
    base : Path or None
        The folder that paths are relative to. None: nobody's code is run, and its place is not known.

    Raises
    ------
    UserError
        When there is no such metric, or its code is no metric's.
    """
    if name in METRICS or (base is None and (plugins.is_plugin(name) or name in known_names())):
        return MetricSpec(plugins.short_name(name))
    origin = None
    if base is not None:
        origin = plugins.find_code(name, GROUP, base)
    if origin is None and name in NUMBER_MEASURES:
        fix = "audit the numbers: `fairbench audit FILE --outcome number`; or name another metric"
        raise user_error(f"{name} is of outcomes that are numbers, which a run does not have", fix)
    if origin is None:
        raise user_error(f'unknown metric "{name}"', suggest_metric(name))
    specs = MetricSpec(plugins.short_name(name), origin)
    try:
        _ = specs.entry
    except ValueError as error:
        fix = "a metric is a function of Counts or Rows: see docs/extending.md"
        raise user_error(f"{specs.name}: {error}", fix) from None
    return specs


def find_metrics(names: Iterable[str], base: Path, flag: str) -> list[MetricSpec]:
    """Return metrics by name, registered or not.

    Raises
    ------
    UserError
        Listing all that are wrong, with the flag that named them.
    """
    specs: list[MetricSpec] = []
    wrong: list[Problem] = []
    for name in names:
        try:
            specs.append(find_metric(name, base))
        except UserError as error:
            wrong += error.reported_at(flag)
    refuse(wrong)
    return specs


def known_names() -> list[str]:
    """Return the names of all metrics that need no path."""
    return list(METRICS) + list(plugins.entry_points_by_name(GROUP))


@dataclass(frozen=True)
class RequestedRowMetrics:
    """The metrics asked for that need rows.

    Parameters
    ----------
    metrics : tuple of MetricSpec
    strata : tuple of str
        Attributes whose levels, crossed, are the strata of those that compare groups within strata.
    """

    metrics: tuple[MetricSpec, ...] = ()
    strata: tuple[str, ...] = ()

    @cached_property  # asked for once per repeat of a plan
    def recorded_as(self) -> dict[str, str]:
        """The name under which a value of each is kept: with the attributes or the code that decide it.

        >>> RequestedRowMetrics((MetricSpec("belift"),), ("education",)).recorded_as
        {'belift': 'belift by education'}
        """
        return {metric.name: self._recorded_as(metric) for metric in self.metrics}

    def _recorded_as(self, metric: MetricSpec) -> str:
        if metric.origin is not None:
            return f"{metric.name} {metric.origin.version}"
        if metric.entry.needs == "strata":
            return f"{metric.name} by {CROSS.join(self.strata)}"
        return metric.name

    @property
    def of_twins(self) -> bool:
        """Whether some look at the decisions that rows would get in the other group."""
        return any(metric.entry.needs == "twins" for metric in self.metrics)

    def measure(
        self, test: Sample, predicted: Labels, scores: Floats | None, stays: Floats | None = None
    ) -> dict[str, float]:
        """Measure the test rows of a repeat: values by the name under which they are kept.

        Parameters
        ----------
        stays : array, shape (rows,), optional
            The probability that each decision stays the same in the other group.

        Raises
        ------
        ValueError
            When a measure cannot honour the rows' weights.
        """
        if not self.metrics:
            return {}
        rows = replace(rows_of(test, predicted, scores, self.strata), stays=stays)
        values = measure_rows([metric.name for metric in self.metrics if metric.origin is None], rows)
        custom_metrics = [metric for metric in self.metrics if metric.origin is not None]
        values |= {metric.name: float(measure(metric.entry, rows)) for metric in custom_metrics}
        return {self.recorded_as[name]: value for name, value in values.items()}


def on_record(name: str) -> str:
    """Return the name under which the value of a metric of recorded rows is kept."""
    return f"{name} on record"


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
        strata=cross_columns([test.features[name] for name in strata]) if strata else None,
    )
