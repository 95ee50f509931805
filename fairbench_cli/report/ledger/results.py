"""Every metric of every repeat as arrays, their means and intervals, and the results behind a report."""

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
from fairbench_cli.experiment.config.config import Family, margin_of
from fairbench_cli.experiment.config.outputs import TestLabels
from fairbench_cli.experiment.journal.journal import RETRIED, Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import PAIR, Counts, Floats
from fairbench_cli.measures.metric import OF_LABELS, Metric
from fairbench_cli.measures.registry import METRICS, SCORE_METRICS, find_metric, measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger import journal_arrays
from fairbench_cli.report.ledger.columns import column_metrics

COMPARED = journal_arrays.CELL_COLUMNS[:2] + ["compared"] + journal_arrays.CELL_COLUMNS[2:]
ROW_COLUMNS = COMPARED + ["metric"]
INTERVAL_COLUMNS = ["mean", "sd", "low", "high", "n_ok", "n"]
SWEEP_COLUMNS = COMPARED + ["rate", "metric"] + INTERVAL_COLUMNS
ATTRIBUTE = journal_arrays.CELL_COLUMNS.index("attribute")
NO_ROW = -1
"""The number of no row of the results."""


@dataclass(frozen=True)
class RowLayout:
    """Where the rows of a data set are: they go by cell, then by groups compared and metric.

    Parameters
    ----------
    first_row : int
        The number of the first.
    n_cells : int
        Of the data set.
    positions : dict of int
        The position of groups compared and a metric among the rows of a cell.
    """

    first_row: int
    n_cells: int
    positions: Mapping[tuple[str, str], int]

    @property
    def next_row(self) -> int:
        """The number of the first row of the next data set."""
        return self.first_row + self.n_cells * len(self.positions)


@dataclass(frozen=True)
class Results:
    """The values of metrics, repeat by repeat.

    Parameters
    ----------
    rows : DataFrame
        The columns of `ROW_COLUMNS`: one row per cell, groups compared and metric. The index has the numbers
        of the rows, which they keep when some are taken: all frames of tested numbers go by them.
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
    layouts : sequence of RowLayout
        Where the rows of each data set are, before some are taken.
    margins : dict
        Below which change a metric is said not to change, by its name; as `ExperimentConfig.margin` has it.
    family : {"metric", "run"}
        Over what p-values are adjusted together.
    """

    rows: pd.DataFrame
    values: Floats
    status: journal_arrays.Texts
    custom_metrics: Mapping[str, Metric] = field(default_factory=dict)
    datasets: Sequence[journal_arrays.DatasetRepeats] = ()
    cell_index: Rows = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    requested: tuple[str, ...] = ()
    layouts: Sequence[RowLayout] = ()
    margins: Mapping[str, float | None] = field(default_factory=dict)
    family: Family = "metric"

    def row_number(self, dataset: int, cell: int, compared: str, metric: str) -> int:
        """Return the number of a row; `NO_ROW` where there is none.

        Parameters
        ----------
        dataset, cell : int
            The index of the data set in `datasets`, and that of the cell in this one.
        """
        layout = self.layouts[dataset]
        position = layout.positions.get((compared, metric))
        if position is None:
            return NO_ROW
        return layout.first_row + cell * len(layout.positions) + position

    def take(self, selected: NDArray[Any]) -> "Results":
        """Return some of the rows, by a mask or by their indices."""
        cell_index = self.cell_index
        if len(cell_index):
            cell_index = cell_index[selected]
        return replace(
            self,
            rows=self.rows.iloc[selected],
            values=self.values[selected],
            status=self.status[selected],
            cell_index=cell_index,
        )

    def metric(self, name: str) -> Metric:
        """Return a metric, registered or not."""
        if name in self.custom_metrics:
            return self.custom_metrics[name]
        return find_metric(name)

    @cached_property
    def margins_by_row(self) -> Floats:
        """Below which change each row's metric is said not to change; NaN where that is never said."""
        margins = {}
        for name in self.rows["metric"].unique():
            margins[name] = margin_of(self.metric(name), self.margins)
        return np.array([margins[name] for name in self.rows["metric"]], dtype=float)

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
        n_constant_by_dataset = [data.n_constant for data in self.datasets]
        return np.array([n_constant_by_dataset[dataset][cell] for dataset, cell in self.cell_index])


def compute_results(
    datasets: Sequence[journal_arrays.DatasetRepeats],
    metrics: Sequence[str],
    attributes: Sequence[str] = (),
    custom_metrics: Mapping[str, Metric] | None = None,
) -> Results:
    """Compute metrics of every repeat, of the cells' own attributes and of others that are requested.

    Metrics of rows compare the groups of a cell's own attribute alone. The rows go by data set, then by
    cell, then by groups compared and metric.
    """
    if not datasets:
        return Results(pd.DataFrame(columns=ROW_COLUMNS), np.zeros((0, 0)), np.zeros((0, 0), dtype=object))
    custom_metrics = custom_metrics or {}
    frames = []
    values = []
    statuses = []
    cell_indices = []
    layouts = []
    next_row = 0
    for dataset_index, data in enumerate(datasets):
        # 1. Compute every metric of every group of groups compared, for all cells of the data set at once.
        has_counts = data.has_counts
        counts = Counts(data.counts.groups, data.counts.n[has_counts])
        row_keys: list[tuple[str, str]] = []  # groups compared and metric
        values_by_row: list[Floats] = []
        for compared in dict.fromkeys((data.attribute,) + data.compared_attributes(attributes)):
            levels = data.levels(counts, compared)
            values_by_metric = {}
            score_metrics = [name for name in metrics if name in SCORE_METRICS]
            if score_metrics:
                scores = data.score_levels(compared)
            for name in metrics:
                if name in score_metrics:
                    values_by_metric[name] = measure(name, scores)
                elif name not in data.row_values:
                    values_by_metric[name] = np.full(has_counts.shape, np.nan)
                    values_by_metric[name][has_counts] = measure(custom_metrics.get(name, name), levels)
                elif compared == data.attribute:
                    values_by_metric[name] = data.row_values[name]
            row_keys += [(compared, name) for name in values_by_metric]
            values_by_row += values_by_metric.values()
        # 2. Lay them out: the rows of the first cell, then those of the second.
        n_cells, n_repeats = data.status.shape
        n_rows = len(row_keys)  # of a cell
        cells = np.repeat(np.arange(n_cells), n_rows)
        frame = data.frame.loc[cells]
        frame[["compared", "metric"]] = row_keys * n_cells
        frames.append(frame[ROW_COLUMNS])
        # From (cells, rows of a cell, repeats) to (rows, repeats).
        values.append(np.stack(values_by_row, axis=1).reshape(-1, n_repeats))
        statuses.append(np.repeat(data.status, n_rows, axis=0))
        cell_indices.append(np.stack([np.full_like(cells, dataset_index), cells], axis=1))
        positions = {row_key: position for position, row_key in enumerate(row_keys)}
        layouts.append(RowLayout(next_row, n_cells, positions))
        next_row = layouts[-1].next_row
    return Results(
        rows=pd.concat(frames, ignore_index=True),
        values=np.concatenate(values),
        status=np.concatenate(statuses),
        custom_metrics=custom_metrics,
        datasets=datasets,
        cell_index=np.concatenate(cell_indices),
        requested=tuple(metrics),
        layouts=layouts,
    )


def compute_label_metric(name: str, levels: Counts) -> Floats:
    """Return a metric of labels, repeat by repeat; one NaN where labels have no such metric.

    Parameters
    ----------
    levels : Counts
        Of the labels of the test rows, as `DatasetRepeats.label_counts` has them, by the groups compared.
    """
    metric = METRICS.get(name + OF_LABELS)
    if metric is not None and metric.needs == "counts":
        return measure(metric, levels)
    return np.full(1, np.nan)


def results_frame(results: Results) -> pd.DataFrame:
    """Return results.csv: one row per cell, groups compared, repeat and metric."""
    keys = results.rows[COMPARED]
    is_next_key = keys.ne(keys.shift()).any(axis=1)
    key_number = is_next_key.cumsum().to_numpy()
    rows, repeats = np.nonzero(results.status != "")
    order = np.lexsort((repeats, key_number[rows]))  # stable: metrics stay in their order
    rows = rows[order]
    repeats = repeats[order]
    frame = results.rows.iloc[rows].assign(repeat=repeats, status=results.status[rows, repeats])
    frame = frame[COMPARED + ["repeat", "status", "metric"]]
    return frame.assign(value=results.values[rows, repeats])


def summary_frame(results: Results, repeats: int) -> pd.DataFrame:
    """Return summary.csv: mean, sd and 95 % t-interval over the repeats of every row of the results.

    ``n_ok`` counts the repeats that gave a value, ``n`` those that were requested. The sd needs two values
    and so does the interval; both are empty with fewer.
    """
    # All rows of the first repeat, then all of the second.
    row_indices = np.tile(np.arange(len(results.rows)), results.values.shape[1])
    values = pd.Series(results.values.T.ravel())
    numbers = values.groupby(row_indices).agg(mean="mean", sd="std", n_ok="count")
    low, high = journal_arrays.t_interval(
        numbers["mean"].to_numpy(), numbers["sd"].to_numpy(), numbers["n_ok"].to_numpy()
    )
    numbers = numbers.assign(low=low, high=high, n=repeats)
    return results.rows.reset_index(drop=True).join(numbers[INTERVAL_COLUMNS])


@dataclass(frozen=True)
class Estimate:
    """A mean over the repeats with its 95 % interval; NaN where there is none.

    Parameters
    ----------
    kind : str
        Of a difference its `change_kinds.Kind`; empty where there is none.
    n : int
        How many repeats have a value.
    """

    mean: float = np.nan
    low: float = np.nan
    high: float = np.nan
    kind: str = ""
    n: int = 0


NO_ESTIMATE = Estimate()


@dataclass(frozen=True)
class CellMetric:
    """A metric of a cell: its values and statuses, repeat by repeat, and the mean."""

    values: Floats
    status: journal_arrays.Texts
    summary: Estimate


NO_REPEATS: journal_arrays.Texts = np.empty(0, dtype=object)
NO_VALUES = CellMetric(np.empty(0), NO_REPEATS, NO_ESTIMATE)


@dataclass(frozen=True)
class CellCounts:
    """The counts of a cell: the status of each repeat that was run, and counts of those that have them.

    The counts are of the deprived and the favoured group, shape (repeats, 2, 2, 2); at every acceptance rate
    (repeats, rates, 2, 2, 2).
    """

    statuses: list[str]
    counts: Counts
    swept: Counts


NO_COUNTS = CellCounts([], Counts(PAIR, np.zeros((0, 2, 2, 2))), Counts(PAIR, np.zeros((0, 0, 2, 2, 2))))


@dataclass(frozen=True, eq=False)
class RunResults:
    """The results of a run, from which the files of a report are written.

    Parameters
    ----------
    folder : Path
        The results of the run.
    plan : RunPlan
        Its cells and how often each is repeated.
    datasets : list of DatasetRepeats
        The repeats in its journal.
    results : Results
        With the metrics of the config and of all tables and figures.
    attributes : tuple of str
        The attributes and intersections whose groups are compared; empty: those that the cells work on.
    records : dict, optional
        The journal that `datasets` were collected from.
    """

    folder: Path
    plan: RunPlan
    datasets: list[journal_arrays.DatasetRepeats]
    results: Results
    attributes: tuple[str, ...] = ()
    records: Records = field(default_factory=dict)

    @cached_property
    def n_done(self) -> range:
        """From how many repeats to how many the cells have that were run; as planned where none was."""
        n_planned = self.plan.config.repeats
        n_done = {0}
        for data in self.datasets:
            is_done = ~np.isin(data.status[:, :n_planned], ["", *RETRIED])
            n_done.update(is_done.sum(axis=1).tolist())
        n_done = n_done - {0} or {n_planned}
        return range(min(n_done), max(n_done) + 1)

    @property
    def lacks_repeats(self) -> bool:
        """Whether some cell that was run lacks a repeat, which was not run yet or failed."""
        return self.n_done[0] < self.plan.config.repeats

    def repeats_done(self, noun: str = "") -> str:
        """Return how many repeats there are, of those that are planned: "12", "9 to 10 of 10 splits"."""
        n_planned = self.plan.config.repeats
        plural = f" {noun}{'' if n_planned == 1 else 's'}" if noun else ""
        if not self.lacks_repeats:
            return f"{n_planned}{plural}"
        ends = dict.fromkeys((self.n_done[0], self.n_done[-1]))
        return f"{' to '.join(map(str, ends))} of {n_planned}{plural}"

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
        rows = self.results.rows
        is_compared = np.zeros(len(rows), dtype=bool)
        for data in self.datasets:
            of_data = (rows["dataset"] == data.dataset) & (rows["attribute"] == data.attribute)
            compared = data.compared_attributes(self.attributes)
            is_compared |= (of_data & rows["compared"].isin(compared)).to_numpy()
        return self.results.take(is_compared & rows["metric"].isin(metrics).to_numpy())

    @cached_property
    def by_own_attribute(self) -> "RunResults":
        """The same run on the groups of each cell's own attribute, whatever groups are requested."""
        if self.attributes:
            return replace(self, attributes=())
        return self

    @cached_property
    def _cell_indices(self) -> dict[journal_arrays.CellKey, tuple[int, int]]:
        """The index of the data set of each cell, and that of the cell in this one."""
        indices = {}
        for dataset, data in enumerate(self.datasets):
            for cell_index, cell in enumerate(data.cells):
                indices[journal_arrays.cell_key(cell)] = (dataset, cell_index)
        return indices

    @property
    def cell_keys(self) -> list[journal_arrays.CellKey]:
        """The values of `CELL_COLUMNS` of each cell of which some repeat has been run."""
        return list(self._cell_indices)

    def row_number(self, cell: journal_arrays.CellKey, compared: str, metric: str) -> int:
        """Return the number of a row of the results, by the values of `CELL_COLUMNS` of its cell.

        It is `NO_ROW` where no repeat of the cell has been run, or the run has not compared these groups.
        """
        indices = self._cell_indices.get(cell)
        if indices is None:
            return NO_ROW
        return self.results.row_number(*indices, compared, metric)

    def cell_failures(
        self, cell: journal_arrays.CellKey
    ) -> tuple[journal_arrays.Texts, journal_arrays.Texts]:
        """Return the status of each repeat of a cell, and the reason why it gave no value, if any."""
        indices = self._cell_indices.get(cell)
        if indices is None:
            return NO_REPEATS, NO_REPEATS
        dataset, cell_index = indices
        data = self.datasets[dataset]
        return data.status[cell_index], data.reason[cell_index]

    @property
    def datasets_with_results(self) -> set[tuple[str, str]]:
        """The data sets, each with its attribute, of which some repeat has been run."""
        return {(data.dataset, data.attribute) for data in self.datasets}

    @cached_property
    def own_attribute_results(self) -> Results:
        """The results of the groups of each cell's own attribute."""
        return self.results.take((self.results.rows["compared"] == self.results.rows["attribute"]).to_numpy())

    def own_attribute_values(self, data: journal_arrays.DatasetRepeats, metric: str) -> Floats:
        """Return a metric of the groups of a data set's own attribute, shape (cells, repeats)."""
        return np.stack(
            [self.cell_metric(journal_arrays.cell_key(cell), metric).values for cell in data.cells]
        )

    @cached_property
    def _summaries(self) -> NDArray[Any]:
        """Mean, low, high and number of values of every row of the results, shape (rows, 4)."""
        frame = summary_frame(self.results, self.plan.config.repeats)
        return frame[["mean", "low", "high", "n_ok"]].to_numpy()

    def cell_metric(self, cell: journal_arrays.CellKey, metric: str) -> CellMetric:
        """Return a metric of a cell, of the groups of its own attribute. Maybe `NO_VALUES`.

        Parameters
        ----------
        cell : tuple
            Its values of `CELL_COLUMNS`.
        """
        row = self.row_number(cell, cell[ATTRIBUTE], metric)
        if row == NO_ROW:
            return NO_VALUES
        mean, low, high, n = self._summaries[row].tolist()
        return CellMetric(
            self.results.values[row], self.results.status[row], Estimate(mean, low, high, n=int(n))
        )

    def cell_counts(self, key: journal_arrays.CellKey) -> CellCounts:
        """Return the statuses and counts of a cell, by its values of `CELL_COLUMNS`. Maybe `NO_COUNTS`."""
        return self.counts_by_cell.get(key, NO_COUNTS)

    @cached_property
    def counts_by_cell(self) -> dict[journal_arrays.CellKey, CellCounts]:
        """The counts of the groups of each cell's own attribute, by `CELL_COLUMNS`."""
        counts_by_cell = {}
        for data in self.datasets:
            has_counts = data.has_counts
            for i, cell in enumerate(data.cells):
                joint_counts = Counts(data.counts.groups, data.counts.n[i][has_counts[i]])
                _, swept = data.sweep_counts(i, data.attribute)
                counts_by_cell[journal_arrays.cell_key(cell)] = CellCounts(
                    statuses=[status for status in data.status[i] if status],
                    counts=data.pair(joint_counts, data.attribute),
                    swept=swept.pair,
                )
        return counts_by_cell


def run_results(
    folder: Path, plan: RunPlan, records: Records, metrics: Sequence[str], attributes: Sequence[str] = ()
) -> RunResults:
    """Collect the repeats of a run and compute metrics of them, and those that its columns need.

    Raises
    ------
    UserError
        When no data set of the run has one of the attributes.
    """
    datasets = journal_arrays.collect_datasets(plan, records)
    journal_arrays.check_attributes(attributes, datasets)
    metrics = tuple(dict.fromkeys(tuple(metrics) + column_metrics(plan.config)))
    results = compute_results(datasets, metrics, attributes, plan.config.own_metrics)
    results = replace(results, margins=plan.config.margin, family=plan.config.family)
    return RunResults(folder, plan, datasets, results, tuple(attributes), records)


def sweep_frame(run: RunResults) -> pd.DataFrame:
    """Return mean, sd and 95 % t-interval over the repeats of every cell, groups compared, rate and metric.

    Cells whose model has no scores, or no repeat, are left out, and so are metrics of rows.
    """
    config = run.plan.config
    names = [name for name in config.at_hand if config.metric(name).needs == "counts"]
    if not names:
        return pd.DataFrame(columns=SWEEP_COLUMNS)
    frames = []
    for data in run.datasets:
        for (i, cell), compared in product(enumerate(data.cells), data.compared_attributes(run.attributes)):
            _, levels = data.sweep_counts(i, compared)
            if len(levels.n):
                # One frame a cell: frames take longer to make than numbers.
                columns: dict[str, Any] = {name: cell[name] for name in journal_arrays.CELL_COLUMNS}
                columns["compared"] = compared
                columns["rate"] = np.tile(RATES, len(names))
                columns["metric"] = np.repeat(names, len(RATES))
                intervals = [
                    journal_arrays.mean_and_interval(measure(config.metric(name), levels).T) for name in names
                ]
                for statistic in intervals[0]:
                    columns[statistic] = np.concatenate([interval[statistic] for interval in intervals])
                columns["n"] = config.repeats
                frames.append(pd.DataFrame(columns)[SWEEP_COLUMNS])
    return journal_arrays.join_frames(frames, SWEEP_COLUMNS)
