"""The numbers of a technique that the answer, the page and findings.csv have: a column each.

One more line in `COLUMNS` is one more column of all three; metrics that a config names are columns, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.outputs import TestLabels
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import DEFAULT_METRICS, find_metric

FAIRNESS = "discrimination"
ACCURACY = "accuracy"
FAIRNESS_METRIC = "the metric of fairness"
"""Stands for the metric of fairness of a run, which differs between runs."""

Unit = Literal["gap", "points", "%", ""]
"""How numbers are written: "gap" as the answer writes its metric of fairness, differences of rates in points,
rates in per cent, anything else as it is."""


@dataclass(frozen=True)
class FindingColumn:
    """A number of a technique in a setting.

    Parameters
    ----------
    key : str
        Its name in findings.csv.
    head : str
        Its heading in tables.
    metric : str
        The name of its metric; maybe `FAIRNESS_METRIC`.
    quantity : {"value", "change"}
        Whether it is the metric's mean, or that less the mean of the plain model.
    unit : {"gap", "points", "%", ""}
        How it is written.
    labels : {"", "true", "recorded"}
        On which labels of the test rows: empty for those that the run is about. Runs with worlds have others.
    is_named : bool
        Whether it is there because the config names its metric.
    """

    key: str
    head: str
    metric: str
    quantity: Literal["value", "change"] = "value"
    unit: Unit = "%"
    labels: TestLabels | Literal[""] = ""
    is_named: bool = False

    @property
    def scale(self) -> int:
        """How many of its unit are 1."""
        if self.unit in ("points", "%"):
            return 100
        return 1


COLUMNS = (
    FindingColumn("value", "gap", FAIRNESS_METRIC, unit="gap"),
    FindingColumn("change", "change", FAIRNESS_METRIC, "change", unit="gap"),
    FindingColumn("accuracy", "accuracy, %", ACCURACY),
    FindingColumn("cost", "its change", ACCURACY, "change"),
    FindingColumn("recorded", "on recorded labels", ACCURACY, "change", labels="recorded"),
    FindingColumn("true", "on true labels", ACCURACY, "change", labels="true"),
)
"""The columns of every run, in this order."""


def run_columns(config: ExperimentConfig, fairness: str, *, has_worlds: bool) -> tuple[FindingColumn, ...]:
    """Return the columns of a run: `COLUMNS`, then the metrics that its config names.

    Parameters
    ----------
    fairness : str
        The metric of fairness that the answer is about.
    has_worlds : bool
        Whether the run has true and recorded labels.
    """
    columns = []
    for column in COLUMNS:
        if column.metric == FAIRNESS_METRIC:
            columns.append(replace(column, metric=fairness))
        elif has_worlds or not column.labels:
            columns.append(column)
    columns.extend(named_columns(config, {column.metric for column in columns}))
    return tuple(columns)


def named_columns(config: ExperimentConfig, metrics_with_columns: set[str]) -> Iterator[FindingColumn]:
    """Yield the columns of the metrics that a config names and that have no columns yet.

    A config that names none has many metrics by default; they are in summary.csv alone.
    """
    if config.at_hand == DEFAULT_METRICS:
        return
    keys_of_every_run = {column.key for column in COLUMNS}
    for name in config.at_hand:
        if name in metrics_with_columns:
            continue
        unit = metric_unit(config.metric(name))
        head = name
        if unit:
            head = f"{name}, {unit}"
        key = name
        if name in keys_of_every_run:
            key = f"metric {name}"
        yield FindingColumn(key, head, name, unit=unit, is_named=True)
        yield FindingColumn(f"{key} change", f"{head}: change", name, "change", unit=unit, is_named=True)


def column_metrics(config: ExperimentConfig) -> tuple[str, ...]:
    """Return the metrics that a run has to compute for its columns, each once."""
    fairness = fairness_metric(config).name
    metrics = [fairness, FAIRNESS]  # discrimination stands in where the metric of fairness has no value
    for column in run_columns(config, fairness, has_worlds=True):
        metrics.append(column.metric)
    return tuple(dict.fromkeys(metrics))


def label_column_metrics() -> list[str]:
    """Return the metrics of columns that are on true or on recorded labels, but for that of fairness."""
    return [column.metric for column in COLUMNS if column.labels and column.metric != FAIRNESS_METRIC]


def fairness_metric(config: ExperimentConfig) -> Metric:
    """Return the first metric of a config that compares groups and has an ideal; else discrimination.

    Such as a difference or ratio of a rate; not accuracies, rates of one group and statistics of tests.
    """
    for name in config.at_hand:
        metric = config.metric(name)
        compares_groups = metric.tested in ("parts", "rate", "ideal") and not metric.is_test
        if compares_groups and metric.section not in ("rate", "redlining"):
            return metric
    return find_metric(FAIRNESS)


def metric_unit(metric: Metric) -> Literal["points", "%", ""]:
    """Return the unit of a metric: points for differences of rates, % for rates, else nothing, as of scores.

    >>> names = ("discrimination", "accuracy", "acceptance-rate", "impact-ratio")
    >>> [metric_unit(find_metric(name)) for name in names]
    ['points', '%', '%', '']
    """
    is_in_per_cent = metric.needs != "score-sums" and metric.high == 1 and metric.low in (0, -1)
    if metric.is_test or not is_in_per_cent:
        return ""
    base = metric.alias_of or metric.name
    if "difference" in base or "spread" in base:
        return "points"
    if metric.section == "rate" or base == "selection-rate":
        return "%"
    return ""
