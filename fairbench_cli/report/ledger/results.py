"""Every metric of every repeat as arrays, their means and intervals, and what a report is written from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.outputs import TestLabels
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.metric import OF_LABELS, Metric
from fairbench_cli.measures.registry import METRICS, find_metric, measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.columns import column_metrics
from fairbench_cli.report.ledger.journal_arrays import (
    CELL_COLUMNS,
    CellKey,
    DatasetRepeats,
    Texts,
    cell_key,
    check_attributes,
    collect_datasets,
    mean_and_interval,
    t_interval,
)

COMPARED = [*CELL_COLUMNS[:2], "compared", *CELL_COLUMNS[2:]]
ROW_COLUMNS = [*COMPARED, "metric"]
SWEEP_COLUMNS = [*COMPARED, "rate", "metric", "mean", "sd", "low", "high", "n_ok", "n"]


@dataclass(frozen=True)
class Results:
    """The values of metrics, repeat by repeat.

    Parameters
    ----------
    rows : DataFrame
        The columns of `ROW_COLUMNS`: one row per cell, groups compared and metric.
    values : array, shape (rows, repeats)
        NaN where a repeat has no value.
    status : array of str, shape (rows, repeats)
        Empty where a repeat has not been run.
    custom_metrics : dict
        The metrics that are not registered, by name.
    datasets : sequence of DatasetRepeats
        Where the values are from.
    cell_index : int array, shape (rows, 2)
        Of each row the index of its data set in `datasets`, and that of its cell in this one.
    requested : tuple of str
        The metrics that were to be computed, whether or not there are rows of them.
    """

    rows: pd.DataFrame
    values: Floats
    status: Texts
    custom_metrics: Mapping[str, Metric] = field(default_factory=dict)
    datasets: Sequence[DatasetRepeats] = ()
    cell_index: Rows = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    requested: tuple[str, ...] = ()

    def take(self, at: NDArray[Any]) -> "Results":
        """Return some of the rows, by a mask or by their places."""
        if len(self.cell_index):
            place = self.cell_index[at]
        else:
            place = self.cell_index
        rows, values, status = self.rows.iloc[at], self.values[at], self.status[at]
        return replace(self, rows=rows, values=values, status=status, cell_index=place)

    def metric(self, name: str) -> Metric:
        """Return a metric, registered or not."""
        if name in self.custom_metrics:
            return self.custom_metrics[name]
        return find_metric(name)

    @cached_property
    def ideals(self) -> Floats:
        """The best value of each row's metric, shape (rows,); NaN of a metric without one."""
        ideals = {name: self.metric(name).ideal for name in self.rows["metric"].unique()}
        return np.array([ideals[name] for name in self.rows["metric"]], dtype=float)

    @property
    def distances(self) -> Floats:
        """How far the values are from their metrics' ideals; NaN of metrics without one."""
        return np.abs(self.values - self.ideals[:, None])

    @cached_property
    def n_constant(self) -> Rows:
        """In how many repeats each row's models accept nobody, and everybody; shape (rows, 2)."""
        if not len(self.cell_index):
            return np.zeros((len(self.rows), 2), dtype=np.intp)
        by_cell = [data.n_constant for data in self.datasets]
        return np.array([by_cell[data][cell] for data, cell in self.cell_index])


def compute_results(
    datasets: Sequence[DatasetRepeats],
    metrics: Sequence[str],
    attributes: Sequence[str] = (),
    own: Mapping[str, Metric] | None = None,
) -> Results:
    """Compute metrics of every repeat, of the cells' own attributes and of others that are asked for.

    Metrics of rows compare the groups of a cell's own attribute alone.
    """
    own = own or {}
    rows = []
    values = []
    status = []
    place = []
    for at, data in enumerate(datasets):
        names: list[tuple[str, str]] = []
        columns: list[Floats] = []
        for compared in dict.fromkeys((data.attribute, *data.compared_attributes(attributes))):
            done = data.has_counts
            found = {}
            levels = data.levels(Counts(data.counts.groups, data.counts.n[done]), compared)
            for name in metrics:
                if name not in data.row_values:
                    found[name] = np.full(done.shape, np.nan)
                    found[name][done] = measure(own.get(name, name), levels)
                elif compared == data.attribute:
                    found[name] = data.row_values[name]
            names += [(compared, name) for name in found]
            columns += found.values()
        frame = data.frame.loc[np.repeat(np.arange(len(data.cells)), len(names))]
        frame[["compared", "metric"]] = names * len(data.cells)
        rows.append(frame[ROW_COLUMNS])
        values.append(np.stack(columns, axis=1).reshape(-1, data.status.shape[1]))
        status.append(np.repeat(data.status, len(names), axis=0))
        own_cells = np.repeat(np.arange(len(data.cells)), len(names))
        place.append(np.stack([np.full_like(own_cells, at), own_cells], axis=1))
    if not rows:
        return Results(pd.DataFrame(columns=ROW_COLUMNS), np.zeros((0, 0)), np.zeros((0, 0), dtype=object))
    arrays = np.concatenate(values), np.concatenate(status), own, datasets, np.concatenate(place)
    return Results(pd.concat(rows, ignore_index=True), *arrays, requested=tuple(metrics))


def compute_label_metric(name: str, levels: Counts) -> Floats:
    """Return a metric of labels, repeat by repeat; one NaN where labels have no such metric.

    Parameters
    ----------
    levels : Counts
        Of the labels of the test rows, as `DatasetRepeats.labels` has them, by the groups compared.
    """
    own = METRICS.get(name + OF_LABELS)
    if own is not None and own.needs == "counts":
        return measure(own, levels)
    return np.full(1, np.nan)


def results_frame(results: Results) -> pd.DataFrame:
    """Return results.csv: one row per cell, groups compared, repeat and metric."""
    keys = results.rows[COMPARED]
    cell = keys.ne(keys.shift()).any(axis=1).cumsum().to_numpy()
    at, repeat = np.nonzero(results.status != "")
    order = np.lexsort((repeat, cell[at]))  # stable: metrics stay in their order
    at = at[order]
    repeat = repeat[order]
    frame = results.rows.iloc[at].assign(repeat=repeat, status=results.status[at, repeat])
    return frame[[*COMPARED, "repeat", "status", "metric"]].assign(value=results.values[at, repeat])


def summary_frame(results: Results, repeats: int) -> pd.DataFrame:
    """Return summary.csv: mean, sd and 95 % t-interval over the repeats of every row of the results.

    ``n_ok`` counts the repeats that gave a value, ``n`` those that were asked for. The sd needs two values
    and so does the interval; both are empty with fewer.
    """
    row = np.tile(np.arange(len(results.rows)), results.values.shape[1])
    numbers = pd.Series(results.values.T.ravel()).groupby(row).agg(mean="mean", sd="std", n_ok="count")
    low, high = t_interval(*(numbers[name].to_numpy() for name in ("mean", "sd", "n_ok")))
    numbers = numbers.assign(low=low, high=high, n=repeats)
    return results.rows.reset_index(drop=True).join(numbers[["mean", "sd", "low", "high", "n_ok", "n"]])


@dataclass(frozen=True)
class Summary:
    """A mean over the repeats with its 95 % interval; the ends are NaN with fewer than two values."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class CellMetric:
    """What a run found of a metric in a cell: values and statuses, repeat by repeat, and the mean."""

    values: Floats
    status: Texts
    summary: Summary


NO_VALUES = CellMetric(np.empty(0), np.empty(0, dtype=object), Summary(np.nan, np.nan, np.nan, 0))


@dataclass(frozen=True)
class CellCounts:
    """What a run found in a cell: the status of each repeat that was run, and counts of those that have them.

    The counts are of the deprived and the favoured group, shape (repeats, 2, 2, 2); at every acceptance rate
    (repeats, rates, 2, 2, 2).
    """

    statuses: list[str]
    counts: Counts
    swept: Counts


NO_COUNTS = CellCounts([], Counts(PAIR, np.zeros((0, 2, 2, 2))), Counts(PAIR, np.zeros((0, 0, 2, 2, 2))))


@dataclass(frozen=True, eq=False)
class RunResults:
    """What the files of a report are written from.

    Parameters
    ----------
    folder : Path
        The results of the run.
    plan : RunPlan
        What was asked for.
    datasets : list of DatasetRepeats
        What its journal holds.
    results : Results
        With the metrics of the config and of all tables and figures.
    attributes : tuple of str
        The attributes and intersections whose groups are compared; empty: those that the cells work on.
    records : dict, optional
        What `datasets` were collected from.
    """

    folder: Path
    plan: RunPlan
    datasets: list[DatasetRepeats]
    results: Results
    attributes: tuple[str, ...] = ()
    records: Records = field(default_factory=dict)

    @property
    def labels(self) -> TestLabels:
        """Which labels of the test rows all numbers are about."""
        return self.plan.config.test_labels

    def on_labels(self, labels: TestLabels) -> "RunResults | None":
        """Return the same run on true or on recorded labels; None where the two are the same ones."""
        if labels == self.labels:
            return self
        keys = {cell["key"] for cell in self.plan.cells}  # journals may have worlds of another config
        for (key, _), repeat in self.records.items():
            if key in keys and repeat.recorded is not None:
                return self._on_other_labels
        return None

    @property
    def on_all_labels(self) -> "list[RunResults]":
        """The same run on true labels and, where they differ, on recorded ones."""
        runs = []
        for labels in get_args(TestLabels):
            run = self.on_labels(labels)
            if run is not None:
                runs.append(run)
        return runs

    @cached_property
    def _on_other_labels(self) -> "RunResults":
        plan = self.plan.counted_by("true" if self.labels == "recorded" else "recorded")
        run = run_results(self.folder, plan, self.records, self.metrics, self.attributes)
        vars(run)["_on_other_labels"] = self  # else each would compute a third run
        return run

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Every metric of the results: those of the config, of tables and of figures."""
        return tuple(self.results.rows["metric"].unique())

    def select(self, metrics: Sequence[str]) -> Results:
        """Return the results of some metrics and of the groups that are to be compared.

        A metric of rows has none where the groups of another attribute are compared.

        Raises
        ------
        ValueError
            When the run computed none of the name: whoever needs a metric names it in `write.py`.
        """
        unknown = set(metrics) - set(self.results.requested)
        if unknown and self.results.requested:
            raise ValueError(f"this report has no metric called {', '.join(sorted(unknown))}")
        groups = {
            (data.dataset, data.attribute): data.compared_attributes(self.attributes)
            for data in self.datasets
        }
        columns = self.results.rows[["dataset", "attribute", "compared", "metric"]]
        wanted = [
            m in metrics and c in groups[d, a] for d, a, c, m in columns.itertuples(index=False, name=None)
        ]
        return self.results.take(np.array(wanted, dtype=bool))

    @cached_property
    def by_own_attribute(self) -> "RunResults":
        """The same run on the groups of each cell's own attribute, whatever groups are asked for."""
        if self.attributes:
            return replace(self, attributes=())
        return self

    @property
    def datasets_with_results(self) -> set[tuple[str, str]]:
        """The data sets, each with its attribute, of which some repeat has been run."""
        return {(data.dataset, data.attribute) for data in self.datasets}

    @cached_property
    def own_attribute_results(self) -> Results:
        """The results of the groups of each cell's own attribute."""
        return self.results.take((self.results.rows["compared"] == self.results.rows["attribute"]).to_numpy())

    def own_attribute_values(self, data: DatasetRepeats, metric: str) -> Floats:
        """Return a metric of the groups of a data set's own attribute, shape (cells, repeats)."""
        return np.stack([self.cell_metric(cell_key(cell), metric).values for cell in data.cells])

    @cached_property
    def metric_by_cell(self) -> dict[CellKey, CellMetric]:
        """What was found of the groups of each cell's own attribute, by ``(*CELL_COLUMNS, metric)``."""
        numbers = summary_frame(self.own_attribute_results, self.plan.config.repeats)[
            ["mean", "low", "high", "n_ok"]
        ]
        keys = self.own_attribute_results.rows[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None)
        means = (Summary(*row) for row in numbers.itertuples(index=False, name=None))
        parts = zip(
            keys, self.own_attribute_results.values, self.own_attribute_results.status, means, strict=True
        )
        return {key: CellMetric(values, status, mean) for key, values, status, mean in parts}

    def cell_metric(self, key: CellKey, metric: str) -> CellMetric:
        """Return the results of a metric in a cell, by its values of `CELL_COLUMNS`. Maybe `NO_VALUES`."""
        return self.metric_by_cell.get((*key, metric), NO_VALUES)

    def cell_counts(self, key: CellKey) -> CellCounts:
        """Return the statuses and counts of a cell, by its values of `CELL_COLUMNS`. Maybe `NO_COUNTS`."""
        return self.counts_by_cell.get(key, NO_COUNTS)

    @cached_property
    def counts_by_cell(self) -> dict[CellKey, CellCounts]:
        """What was counted of the groups of each cell's own attribute, by `CELL_COLUMNS`."""
        return {
            cell_key(cell): CellCounts(
                [text for text in status if text],
                data.pair(Counts(data.counts.groups, n[done]), data.attribute),
                data.sweep_counts(i, data.attribute)[1].pair,
            )
            for data in self.datasets
            for i, (cell, status, n, done) in enumerate(
                zip(data.cells, data.status, data.counts.n, data.has_counts, strict=True)
            )
        }


def run_results(
    folder: Path, plan: RunPlan, records: Records, metrics: Sequence[str], attributes: Sequence[str] = ()
) -> RunResults:
    """Collect the repeats of a run and compute metrics of them, and those that its columns need.

    Raises
    ------
    UserError
        When no data set of the run has one of the attributes.
    """
    datasets = collect_datasets(plan, records)
    check_attributes(attributes, datasets)
    metrics = tuple(dict.fromkeys([*metrics, *column_metrics(plan.config)]))
    results = compute_results(datasets, metrics, attributes, plan.config.own_metrics)
    return RunResults(folder, plan, datasets, results, tuple(attributes), records)


def sweep_frame(run: RunResults) -> pd.DataFrame:
    """Return mean, sd and 95 % t-interval over the repeats of every cell, groups compared, rate and metric.

    Cells whose model has no scores, or no repeat, are left out, and so are metrics of rows.
    """
    parts = [pd.DataFrame(columns=SWEEP_COLUMNS)]
    config = run.plan.config
    names = [name for name in config.at_hand if config.metric(name).needs == "counts"]
    metrics = [config.metric(name) for name in names]
    for data in run.datasets:
        for (i, cell), compared in product(enumerate(data.cells), data.compared_attributes(run.attributes)):
            _, levels = data.sweep_counts(i, compared)
            if names and len(levels.n):
                own = {name: cell[name] for name in CELL_COLUMNS} | {"compared": compared}
                # One frame a cell: frames take longer to make than numbers.
                numbers = [mean_and_interval(measure(metric, levels).T) for metric in metrics]
                columns = {"rate": np.tile(RATES, len(names)), "metric": np.repeat(names, len(RATES))}
                columns |= {key: np.concatenate([one[key] for one in numbers]) for key in numbers[0]}
                frame = pd.DataFrame(own | columns | {"n": config.repeats})
                parts.append(frame[SWEEP_COLUMNS])
    return pd.concat(parts[1:] or parts, ignore_index=True)
