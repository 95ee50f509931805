"""The repeats in a journal as arrays, one `DatasetRepeats` per data set and attribute, and their means."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import attribute_names
from fairbench_cli.experiment.config.metrics import on_record
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.group_scores import GroupScores, no_scores
from fairbench_cli.measures.groups import CROSS, ProtectedAttributes
from fairbench_cli.measures.metric import Metric
from fairbench_cli.report.ledger import inference
from fairbench_cli.report.ledger.changed_rows import decision_effects
from fairbench_cli.report.ledger.distributions import stdtrit

SITUATION = ["dataset", "attribute", "world", "representation", "beta", "classifier", "classifier_parameters"]
TECHNIQUE = ["intervention", "parameters", "include_protected"]
CELL_COLUMNS = SITUATION[:5] + TECHNIQUE + SITUATION[5:]
COUNT_COLUMNS = ["tn", "fp", "fn", "tp"]  # label and prediction: --, -+, +-, ++
WORLD_COLUMNS = ["world", "labels", "features"]
"""The columns that no file of a run without worlds has."""
CACHED_CELLS = 24
"""Of how many cells of a data set the decisions are in memory at a time; of more where they take less than
`CACHED_BYTES`."""
CACHED_BYTES = 256 * 2**20

Texts = NDArray[np.object_]
CellKey = tuple[Any, ...]


def cell_key(cell: Mapping[Any, Any]) -> CellKey:
    """Return the values of `CELL_COLUMNS` of a cell."""
    return tuple(cell[column] for column in CELL_COLUMNS)


def is_baseline(intervention: str, parameters: str) -> bool:
    """Return whether a technique is ``none``, with nothing tuned.

    >>> is_baseline("none", "{}"), is_baseline("none", '{"tune":{"for":"accuracy"}}')
    (True, False)
    """
    return (intervention, parameters) == ("none", "{}")


@dataclass(frozen=True)
class DatasetRepeats:
    """The repeats in a journal of the cells of one data set and protected attribute.

    Parameters
    ----------
    attribute : str
        The protected attribute that the cells work on.
    protected : ProtectedAttributes
        All protected attributes of the data set.
    cells : list of dict
        The cells of which there is some repeat, as the plan describes them.
    status, reason : arrays of str, shape (cells, repeats)
        Empty where a repeat has not been run.
    counts : Counts
        Of the joint levels of all protected attributes, shape (cells, repeats, groups, 2, 2); NaN where a
        repeat has none. On the labels that the plan's config asks for (`test_labels`), as all that follows.
    row_values : dict
        The metrics of rows by name, each of shape (cells, repeats).
    records : list of dict
        For each cell its repeats by number, as they are counted.
    design : RowDesign
        How the test rows of the repeats hang together.
    recorded : bool array, shape (cells,), or None
        Of which cells the counts are of recorded labels and groups that differ from the true ones; None: of
        none.
    """

    attribute: str
    protected: ProtectedAttributes
    cells: list[dict[str, Any]]
    status: Texts
    reason: Texts
    counts: Counts
    row_values: dict[str, Floats]
    records: list[dict[int, Repeat]]
    design: inference.RowDesign = field(default_factory=inference.RowDesign)
    recorded: NDArray[np.bool_] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: what is computed when it is used holds functions, which nothing can pickle."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def compared_pairs(self) -> dict[Hashable, tuple[Any, int, bool]]:
        """What `population_tests` has found of pairs of cells whose repeats share their test rows."""
        return {}

    @property
    def dataset(self) -> str:
        """The name of the data set in the results."""
        return str(self.cells[0]["dataset"])

    @property
    def has_counts(self) -> NDArray[np.bool_]:
        """Whether a repeat has counts, shape (cells, repeats)."""
        has_counts: NDArray[np.bool_] = ~np.isnan(self.counts.n[..., 0, 0, 0])
        return has_counts

    @cached_property
    def label_counts(self) -> Counts:
        """The labels of the test rows, taken for decisions, by joint level: shape (repeats, groups, 2, 2).

        All cells of a repeat share their test rows and these their true labels; NaN where none has a result.
        Recorded labels are those of one world: `label_counts_in_world`.
        """
        return self._count_labels(np.ones(len(self.cells), dtype=bool))

    def label_counts_in_world(self, world: str, beta: float) -> Counts:
        """Return the labels of the test rows as one world has them, in the shape of `label_counts`."""
        is_of_world = [cell["world"] == world and cell["beta"] == beta for cell in self.cells]
        return self._count_labels(np.array(is_of_world))

    def _count_labels(self, selected: NDArray[np.bool_]) -> Counts:
        """Return the labels of the test rows of the selected cells, repeat by repeat."""
        n = self.counts.n[selected]
        if not len(n):
            return Counts(self.counts.groups, np.full(n.shape[1:], np.nan)).of_labels()
        has_counts = self.has_counts[selected]
        # Of each repeat the first cell that has counts: all that have them have the same labels.
        first_cell = has_counts.argmax(axis=0)
        label_counts = n[first_cell, np.arange(has_counts.shape[1])]
        return Counts(self.counts.groups, label_counts).of_labels()

    @cached_property
    def scores(self) -> GroupScores:
        """Sums of the models' scores by joint level of each cell and repeat; NaN where none were kept."""
        scores = no_scores(self.counts.groups, self.status.shape)
        for cell, repeats in enumerate(self.records):
            for repeat, record in repeats.items():
                if record.scores is not None:
                    scores.rows[cell, repeat] = record.scores.rows
                    scores.wins[cell, repeat] = record.scores.wins
                    scores.errors[cell, repeat] = record.scores.errors
                    scores.bins[cell, repeat] = record.scores.bins
        return scores

    @property
    def n_constant(self) -> NDArray[np.intp]:
        """In how many repeats each cell accepts nobody, and in how many everybody; shape (cells, 2)."""
        n_by_decision = self.counts.n.sum(axis=(-3, -2))  # (cells, repeats, refused and accepted)
        # Who accepts nobody has no accepted rows, so the order is turned round.
        n_constant: NDArray[np.intp] = (n_by_decision[..., ::-1] == 0).sum(axis=1)
        return n_constant

    @property
    def is_distinct(self) -> NDArray[np.bool_]:
        """Whether each cell is the first of its representation with its key, and so with its model."""
        names = [(cell["key"], cell["representation"]) for cell in self.cells]
        return np.array([name not in names[:i] for i, name in enumerate(names)], dtype=bool)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns of the cells, one row each."""
        return pd.DataFrame([cell_key(cell) for cell in self.cells], columns=CELL_COLUMNS)

    def compared_attributes(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Return those of some attributes and intersections that the data set has; its own if it has none."""
        available = set(self.protected.all_names)
        compared = []
        for attribute in attributes:
            names = attribute_names(attribute)
            if set(names) <= available:
                compared.append(CROSS.join(names))
        return tuple(dict.fromkeys(compared)) or (self.attribute,)

    def baseline_indices(self, *, sees_same: bool = False) -> list[int | None]:
        """Return for each cell the index of ``none`` with the same representation, β and classifier, if any.

        It is the one with the same ``include_protected``; where there is none such the other one, unless it
        has to see the same (`sees_same`).
        """
        keys = []
        index_by_key = {}
        for i, cell in enumerate(self.cells):
            keys.append(tuple(cell[column] for column in SITUATION))
            if is_baseline(cell["intervention"], cell["parameters"]):
                index_by_key[keys[i], cell["include_protected"]] = i
        indices = []
        for key, cell in zip(keys, self.cells, strict=True):
            includes_protected = cell["include_protected"]
            index = index_by_key.get((key, includes_protected))
            if index is None and not sees_same:
                index = index_by_key.get((key, not includes_protected))
            indices.append(index)
        return indices

    def levels(self, counts: Counts, compared: str) -> Counts:
        """Return counts of the levels of an attribute or an intersection."""
        return self.protected.levels(counts, attribute_names(compared))

    def pair(self, counts: Counts, compared: str) -> Counts:
        """Return counts of the deprived and the favoured group of an attribute or an intersection."""
        return self.protected.pair(counts, attribute_names(compared))

    def score_levels(self, compared: str) -> GroupScores:
        """Return the sums of the models' scores by the levels of an attribute or an intersection."""
        levels = self.levels(self._unit_counts, compared)
        members = levels.n[..., 0, 0] > 0
        return self.scores.merge(members, levels.groups, levels.reference)

    @property
    def _unit_counts(self) -> Counts:
        """Counts of which the i-th has rows of the i-th joint level alone: sums that are not 0 have it."""
        groups = self.counts.groups
        n = np.zeros((len(groups), len(groups), 2, 2))
        n[np.arange(len(groups)), np.arange(len(groups))] = 1
        return Counts(groups, n)

    def sweep_counts(self, cell: int, compared: str) -> tuple[Rows, Counts]:
        """Return the repeats of a cell that have counts at every acceptance rate, and these counts.

        They are of the levels of an attribute or an intersection, shape (repeats, rates, groups, 2, 2).
        """
        repeats = []
        counts_by_repeat = []
        for repeat, record in self.records[cell].items():
            if record.swept is not None and len(record.swept.n):
                repeats.append(repeat)
                counts_by_repeat.append(record.swept.n)
        if repeats:
            n = np.array(counts_by_repeat)
        else:
            n = np.zeros((0, 0) + self.counts.n.shape[2:])
        return np.array(repeats, dtype=np.intp), self.levels(Counts(self.counts.groups, n), compared)

    @cached_property
    def slopes(self) -> Callable[[str, Metric], Floats]:
        """A function of groups compared and metric: its slopes, shape (cells, repeats, strata, 2)."""

        @cache
        def metric_slopes(compared: str, metric: Metric) -> Floats:
            has_counts = self.has_counts
            counts = self.levels(Counts(self.counts.groups, self.counts.n[has_counts]), compared)
            slopes = np.full(has_counts.shape + counts.n.shape[1:], np.nan)
            slopes[has_counts] = inference.compute_slopes(metric, counts)
            return self.slopes_by_stratum(slopes, partial(self.levels, compared=compared))

        return metric_slopes

    @cached_property
    def decision_effects(self) -> Callable[[str, Metric], Floats]:
        """A function of groups compared and metric: what one row that is accepted does to it.

        Of shape (cells, repeats, strata), as `changed_rows.decision_effects`.
        """

        @cache
        def metric_effects(compared: str, metric: Metric) -> Floats:
            has_counts = self.has_counts
            counts = self.levels(Counts(self.counts.groups, self.counts.n[has_counts]), compared)
            effects = np.full(has_counts.shape + counts.n.shape[1:], np.nan)
            # Of a slope the part that a decision has: what accepting a row adds.
            effects[has_counts] = np.stack(
                [np.zeros(counts.n.shape[:-1]), decision_effects(metric, counts)], axis=-1
            )
            return self.slopes_by_stratum(effects, partial(self.levels, compared=compared))[..., 1]

        return metric_effects

    def slopes_by_stratum(self, slope: Floats, sum_groups: Callable[[Counts], Counts]) -> Floats:
        """Return slopes of sums of groups as those of the strata that are summed, shape (..., strata, 2).

        Parameters
        ----------
        slope : float array, shape (..., sums, 2, 2)
        sum_groups : callable
            Returns the sums of counts of the joint levels, in the order of `slope`.
        """
        n_groups = len(self.counts.groups)
        sum_index = sum_groups(self._unit_counts).n[..., 0, 0].argmax(axis=1)
        return slope[..., sum_index, :, :].reshape(slope.shape[:-3] + (2 * n_groups, 2))

    def decisions(self, cell: int, repeats: Rows) -> inference.ModelDecisions:
        """Return the decisions of a cell's models in some of the repeats that have counts."""
        all_decisions = self._cell_decisions(cell)
        # The index of each repeat among those that have counts.
        indices = (np.cumsum(self.has_counts[cell]) - 1)[repeats]
        if len(indices) == len(all_decisions.n):
            return all_decisions
        return all_decisions.select(indices)

    @cached_property
    def _cell_decisions(self) -> Callable[[int], inference.ModelDecisions]:
        """A function of a cell: the decisions of its models, in the repeats that have counts."""
        # A decision of a row in a repeat is a byte.
        bytes_per_cell = int(np.nanmax(self.counts.total) * self.has_counts.shape[1])
        n_cached = max(CACHED_CELLS, CACHED_BYTES // max(bytes_per_cell, 1))

        @lru_cache(maxsize=n_cached)
        def unpack_cell(cell: int) -> inference.ModelDecisions:
            repeats = np.flatnonzero(self.has_counts[cell])
            stored = [self.records[cell][repeat].decisions for repeat in repeats.tolist()]
            return inference.unpack_decisions(self.counts.n[cell, repeats], stored)

        return unpack_cell


def collect_datasets(plan: RunPlan, records: Records) -> list[DatasetRepeats]:
    """Return the repeats of a run by data set, in the order of the plan; those without any are left out."""
    cells_with_repeats = [cell for cell in plan.cells if has_repeats(plan, records, cell)]
    cells_by_dataset = group_by(cells_with_repeats, lambda cell: (cell["dataset"], cell["attribute"]))
    design = inference.row_design(plan.config)
    return [collect_cells([(plan, records, cells)], design) for cells in cells_by_dataset.values()]


def has_repeats(plan: RunPlan, records: Records, cell: Mapping[str, Any]) -> bool:
    """Return whether there is some repeat of a cell."""
    return any((cell["key"], repeat) in records for repeat in range(plan.config.repeats))


def check_attributes(attributes: Sequence[str], datasets: Sequence[DatasetRepeats]) -> None:
    """Refuse attributes that no data set has.

    Raises
    ------
    UserError
        When there is one.
    """
    if not datasets:
        return
    available: set[str] = set()
    for data in datasets:
        available.update(data.protected.all_names)
    for attribute in attributes:
        for name in attribute_names(attribute):
            if name not in available:
                problem = f'no protected attribute "{name}" in this run'
                raise user_error(problem, suggest(name, sorted(available)), "--attribute")


def groups_frame(datasets: Sequence[DatasetRepeats]) -> pd.DataFrame:
    """Return groups.csv: one row per cell, repeat and joint level; empty counts where there is no result.

    ``tn fp fn tp`` take the favourable outcome as positive.
    """
    frames = []
    if not datasets:
        columns = ["repeat", "status", "reason", "protected", "group"]
        frames.append(pd.DataFrame(columns=CELL_COLUMNS + columns + COUNT_COLUMNS))
    for data in datasets:
        # Rows go by cell, repeat and joint level, as the counts do: (cells, repeats, groups, 2, 2).
        groups = data.protected.groups
        n_groups = len(groups)
        n_cells, n_repeats = data.status.shape
        frame = data.frame.loc[np.repeat(np.arange(n_cells), n_repeats * n_groups)]
        frame = frame.assign(
            repeat=np.repeat(np.tile(np.arange(n_repeats), n_cells), n_groups),
            status=np.repeat(np.ravel(data.status), n_groups),
            reason=np.repeat(np.ravel(data.reason), n_groups),
            protected=CROSS.join(data.protected.names),
            group=groups * data.status.size,
        )
        frame[COUNT_COLUMNS] = data.counts.n.reshape(-1, 4)
        frames.append(frame[frame["status"] != ""])
    frame = pd.concat(frames, ignore_index=True)
    is_integer = (frame[COUNT_COLUMNS].dropna() % 1 == 0).all(axis=None)
    if is_integer:
        return frame.astype(dict.fromkeys(COUNT_COLUMNS, "Int64"))
    return frame


@dataclass(frozen=True)
class _JournalCell:
    """A cell with the journal that its repeats are in.

    Parameters
    ----------
    cell : dict
        As the plan describes it.
    n_repeats : int
        How many repeats its run asks for.
    records : dict
        The journal of its run.
    row_metric_keys : dict
        The keys in the journal of the metrics of rows, by their names.
    on_recorded : bool
        Whether it is counted on recorded labels.
    """

    cell: dict[str, Any]
    n_repeats: int
    records: Records
    row_metric_keys: Mapping[str, str]
    on_recorded: bool


def collect_cells(
    runs: Sequence[tuple[RunPlan, Records, list[dict[str, Any]]]], design: inference.RowDesign
) -> DatasetRepeats:
    """Return the repeats of cells of one data set and attribute: those of one run, then of the next.

    Parameters
    ----------
    runs : sequence of (RunPlan, Records, list of dict)
        Each with the cells that are selected, and the same groups. Metrics of rows are those of all runs.
    """
    # 1. List the cells of all runs, each with the journal that it is in.
    journal_cells = []
    for plan, records, cells in runs:
        is_recorded = _is_on_recorded_labels(plan, records, cells)
        row_metric_keys = plan.config.row_metrics.recorded_as
        for cell, on_recorded in zip(cells, is_recorded, strict=True):
            journal_cells.append(
                _JournalCell(cell, plan.config.repeats, records, row_metric_keys, on_recorded)
            )
    dataset = journal_cells[0].cell["dataset"]
    attribute = journal_cells[0].cell["attribute"]
    first_plan, _, _ = runs[0]
    protected = first_plan.protected(dataset, attribute)
    # 2. Make the arrays, with nothing in them.
    shape = (len(journal_cells), max(journal_cell.n_repeats for journal_cell in journal_cells))
    status = np.full(shape, "", dtype=object)
    reason = np.full(shape, "", dtype=object)
    n = np.full(shape + (len(protected.groups), 2, 2), np.nan)
    row_values = {}
    for name in journal_cells[0].row_metric_keys:
        if all(name in journal_cell.row_metric_keys for journal_cell in journal_cells):
            row_values[name] = np.full(shape, np.nan)
    # 3. Fill in the repeats that are in the journals.
    repeats_by_cell: list[dict[int, Repeat]] = [{} for _ in journal_cells]
    for i, journal_cell in enumerate(journal_cells):
        for repeat in range(journal_cell.n_repeats):
            record = journal_cell.records.get((journal_cell.cell["key"], repeat))
            if record is None:
                continue
            if journal_cell.on_recorded:
                # Its decisions, and its counts at other acceptance rates, are of true labels alone.
                record = replace(
                    record, counts=record.recorded, scores=record.recorded_scores, swept=None, decisions=None
                )
            repeats_by_cell[i][repeat] = record
            status[i, repeat] = record.status
            reason[i, repeat] = record.reason
            if record.counts is not None:
                n[i, repeat] = record.counts.n
            for name, values in row_values.items():
                metric_key = journal_cell.row_metric_keys[name]
                if journal_cell.on_recorded:
                    metric_key = on_record(metric_key)
                values[i, repeat] = record.values.get(metric_key, np.nan)
    return DatasetRepeats(
        attribute=attribute,
        protected=protected,
        cells=[journal_cell.cell for journal_cell in journal_cells],
        status=status,
        reason=reason,
        counts=Counts(protected.groups, n),
        row_values=row_values,
        records=repeats_by_cell,
        design=design,
        recorded=np.array([journal_cell.on_recorded for journal_cell in journal_cells], dtype=bool),
    )


def _is_on_recorded_labels(plan: RunPlan, records: Records, cells: list[dict[str, Any]]) -> list[bool]:
    """Return whether each cell is counted on recorded labels: in worlds that change some, if requested."""
    if plan.config.test_labels != "recorded":
        return [False for _ in cells]
    changing_worlds = set()
    for cell in cells:
        for repeat in range(plan.config.repeats):
            record = records.get((cell["key"], repeat))
            if record is not None and record.recorded:
                changing_worlds.add((cell["world"], cell["beta"]))
                break
    return [(cell["world"], cell["beta"]) in changing_worlds for cell in cells]


def t_interval(mean: Floats, sd: Floats, n: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % t-interval of means of `n` values; NaN where n < 2.

    >>> [round(float(end), 3) for end in t_interval(np.array(0.5), np.array(0.1), np.array(4))]
    [0.341, 0.659]
    """
    has_interval = n >= 2
    degrees_of_freedom = np.where(has_interval, n - 1, 1)
    # From scipy.special: scipy.stats loads slowly.
    quantile = np.where(has_interval, stdtrit(degrees_of_freedom, 0.975), np.nan)
    half_width = quantile * sd / np.sqrt(np.maximum(n, 1))
    return mean - half_width, mean + half_width


def mean_and_interval(values: Floats) -> dict[str, Any]:
    """Return mean, sd, low, high and n_ok of values of shape (..., repeats), leaving out NaN.

    >>> {name: float(number) for name, number in mean_and_interval(np.array([1.0, np.nan])).items()}
    {'mean': 1.0, 'sd': nan, 'low': nan, 'high': nan, 'n_ok': 1.0}
    """
    has_value = ~np.isnan(values)
    n = has_value.sum(-1)
    mean = np.where(has_value, values, 0.0).sum(-1) / np.where(n > 0, n, np.nan)
    with np.errstate(invalid="ignore"):  # the sd of infinite values is NaN
        squares = (np.where(has_value, values - mean[..., np.newaxis], 0.0) ** 2).sum(-1)
    sd = np.sqrt(squares / np.where(n > 1, n - 1, np.nan))
    low, high = t_interval(mean, sd, n)
    return {"mean": mean, "sd": sd, "low": low, "high": high, "n_ok": n}


def join_frames(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Return frames one below the other; without any row an empty frame with these columns."""
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return pd.DataFrame(columns=list(columns))
    return pd.concat(frames, ignore_index=True)
