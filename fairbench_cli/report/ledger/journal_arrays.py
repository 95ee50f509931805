"""The repeats in a journal as arrays, one `DatasetRepeats` per data set and attribute, and their means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import attribute_names
from fairbench_cli.experiment.config.metrics import on_record
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS, ProtectedAttributes
from fairbench_cli.measures.metric import Metric
from fairbench_cli.report.ledger.inference import (
    ModelDecisions,
    RowDesign,
    compute_slopes,
    row_design,
    unpack_decisions,
)

SITUATION = ["dataset", "attribute", "world", "representation", "beta", "classifier", "classifier_parameters"]
TECHNIQUE = ["intervention", "parameters", "include_protected"]
CELL_COLUMNS = [*SITUATION[:5], *TECHNIQUE, *SITUATION[5:]]
COUNT_COLUMNS = ["tn", "fp", "fn", "tp"]  # label and prediction: --, -+, +-, ++
WORLD_COLUMNS = ["world", "labels", "features"]
"""The columns that no file of a run without worlds has."""
KEPT = 24  # cells of a data set whose decisions are in memory at a time; more where they take less than
KEPT_BYTES = 256 * 2**20

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
    """What a journal holds of the cells of one data set and protected attribute.

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
    design: RowDesign = field(default_factory=RowDesign)
    recorded: NDArray[np.bool_] | None = None

    @property
    def dataset(self) -> str:
        """What the results call the data set."""
        return str(self.cells[0]["dataset"])

    @property
    def has_counts(self) -> NDArray[np.bool_]:
        """Whether a repeat has counts, shape (cells, repeats)."""
        done: NDArray[np.bool_] = ~np.isnan(self.counts.n[..., 0, 0, 0])
        return done

    @cached_property
    def label_counts(self) -> Counts:
        """The labels of the test rows, taken for decisions, by joint level: shape (repeats, groups, 2, 2).

        All cells of a repeat share their test rows and these their true labels; NaN where none has a result.
        Recorded labels are those of one world: `label_counts_in_world`.
        """
        return self._labels_of(np.ones(len(self.cells), dtype=bool))

    def label_counts_in_world(self, world: str, beta: float) -> Counts:
        """Return the labels of the test rows as one world has them, in the shape of `label_counts`."""
        return self._labels_of(np.array([(one["world"], one["beta"]) == (world, beta) for one in self.cells]))

    def _labels_of(self, cells: NDArray[np.bool_]) -> Counts:
        done = self.has_counts[cells]
        own = self.counts.n[cells]
        nothing = np.full(own.shape[1:], np.nan)
        if len(own):
            n = own[done.argmax(axis=0), np.arange(done.shape[1])]
        else:
            n = nothing
        return Counts(self.counts.groups, n).of_labels()

    @property
    def n_constant(self) -> NDArray[np.intp]:
        """In how many repeats each cell accepts nobody, and in how many everybody; shape (cells, 2)."""
        taken = self.counts.n.sum(axis=(-3, -2))  # (cells, repeats, refused and accepted)
        found: NDArray[np.intp] = (taken[..., ::-1] == 0).sum(axis=1)
        return found

    @property
    def is_distinct(self) -> NDArray[np.bool_]:
        """Whether each cell is the first of its representation with its key, and so with its model."""
        names = [(cell["key"], cell["representation"]) for cell in self.cells]
        return np.array([name not in names[:i] for i, name in enumerate(names)], dtype=bool)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns of the cells, one row each."""
        return pd.DataFrame(
            [[cell[name] for name in CELL_COLUMNS] for cell in self.cells], columns=CELL_COLUMNS
        )

    def compared_attributes(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Return those of some attributes and intersections that the data set has; its own if it has none."""
        has = [name for name in attributes if set(attribute_names(name)) <= set(self.protected.all_names)]
        return tuple(dict.fromkeys(CROSS.join(attribute_names(name)) for name in has)) or (self.attribute,)

    def baseline_indices(self, *, sees_same: bool = False) -> list[int | None]:
        """Return for each cell the place of ``none`` with the same representation, β and classifier, if any.

        It is the one with the same ``include_protected``; where there is none such the other one, unless it
        has to be the `same`.
        """
        keys = [tuple(cell[name] for name in SITUATION) for cell in self.cells]
        seen = [cell["include_protected"] for cell in self.cells]
        known = {
            (key, s): place
            for place, (key, s, cell) in enumerate(zip(keys, seen, self.cells, strict=True))
            if is_baseline(cell["intervention"], cell["parameters"])
        }
        others = {} if sees_same else known
        return [known.get((key, s), others.get((key, not s))) for key, s in zip(keys, seen, strict=True)]

    def levels(self, counts: Counts, compared: str) -> Counts:
        """Return counts of the levels of an attribute or an intersection."""
        return self.protected.levels(counts, attribute_names(compared))

    def pair(self, counts: Counts, compared: str) -> Counts:
        """Return counts of the deprived and the favoured group of an attribute or an intersection."""
        return self.protected.pair(counts, attribute_names(compared))

    def sweep_counts(self, cell: int, compared: str) -> tuple[Rows, Counts]:
        """Return the repeats of a cell that have counts at every acceptance rate, and these counts.

        They are of the levels of an attribute or an intersection, shape (repeats, rates, groups, 2, 2).
        """
        found = {
            r: one.swept.n
            for r, one in self.records[cell].items()
            if one.swept is not None and len(one.swept.n)
        }
        if found:
            n = np.array([*found.values()])
        else:
            n = np.zeros((0, 0, *self.counts.n.shape[2:]))
        return np.array([*found], dtype=np.intp), self.levels(Counts(self.counts.groups, n), compared)

    @cached_property
    def slopes(self) -> Callable[[str, Metric], Floats]:
        """A function of groups compared and metric: its slopes, shape (cells, repeats, strata, 2)."""

        @cache
        def of(compared: str, metric: Metric) -> Floats:
            counts = self.levels(Counts(self.counts.groups, self.counts.n[self.has_counts]), compared)
            found = np.full((*self.has_counts.shape, *counts.n.shape[1:]), np.nan)
            found[self.has_counts] = compute_slopes(metric, counts)
            return self.slopes_by_stratum(found, partial(self.levels, compared=compared))

        return of

    def slopes_by_stratum(self, slope: Floats, summed: Callable[[Counts], Counts]) -> Floats:
        """Return slopes of sums of groups as those of the strata that are summed, shape (..., strata, 2).

        Parameters
        ----------
        slope : float array, shape (..., sums, 2, 2)
        summed : callable
            Returns the sums of counts of the joint levels, in the order of `slope`.
        """
        groups = self.counts.groups
        ones = np.zeros((len(groups), len(groups), 2, 2))
        ones[np.arange(len(groups)), np.arange(len(groups))] = 1
        level = summed(Counts(groups, ones)).n[..., 0, 0].argmax(axis=1)
        return slope[..., level, :, :].reshape(*slope.shape[:-3], 2 * len(groups), 2)

    def decisions(self, cell: int, repeats: Rows) -> ModelDecisions:
        """Return the decisions of a cell's models in some of the repeats that are done."""
        at = (np.cumsum(self.has_counts[cell]) - 1)[repeats]
        model = self._decided(cell)
        if len(at) == len(model.n):
            return model
        return model.select(at)

    @cached_property
    def _decided(self) -> Callable[[int], ModelDecisions]:
        """A function of a cell: what its models decided, in the repeats that are done."""
        most_bytes = int(
            np.nanmax(self.counts.total) * self.has_counts.shape[1]
        )  # of a cell: one a row and repeat

        @lru_cache(maxsize=max(KEPT, KEPT_BYTES // max(most_bytes, 1)))
        def of(cell: int) -> ModelDecisions:
            repeats = np.flatnonzero(self.has_counts[cell])
            kept = [self.records[cell][repeat].decisions for repeat in repeats.tolist()]
            return unpack_decisions(self.counts.n[cell, repeats], kept)

        return of


def collect_datasets(plan: RunPlan, records: Records) -> list[DatasetRepeats]:
    """Return the repeats of a run by data set, in the order of the plan; those without any are left out."""
    known = (cell for cell in plan.cells if has_repeats(plan, records, cell))
    found = group_by(known, lambda cell: (cell["dataset"], cell["attribute"]))
    return [collect_cells([(plan, records, cells)], row_design(plan.config)) for cells in found.values()]


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
    known = sorted({name for data in datasets for name in data.protected.all_names})
    for name in (part for attribute in attributes for part in attribute_names(attribute)):
        if datasets and name not in known:
            raise user_error(
                f'no protected attribute "{name}" in this run', suggest(name, known), "--attribute"
            )


def groups_frame(datasets: Sequence[DatasetRepeats]) -> pd.DataFrame:
    """Return groups.csv: one row per cell, repeat and joint level; empty counts where there is no result.

    ``tn fp fn tp`` take the favourable outcome as positive.
    """
    columns = [*CELL_COLUMNS, "repeat", "status", "reason", "protected", "group", *COUNT_COLUMNS]
    parts = []
    if not datasets:
        parts.append(pd.DataFrame(columns=columns))
    for data in datasets:
        groups = data.protected.groups
        repeats = data.status.shape[1]
        frame = data.frame.loc[np.repeat(np.arange(len(data.cells)), repeats * len(groups))]
        each = {
            "repeat": np.tile(np.arange(repeats), len(data.cells)),
            "status": data.status,
            "reason": data.reason,
        }
        frame = frame.assign(
            **{name: np.repeat(np.ravel(values), len(groups)) for name, values in each.items()},
            protected=CROSS.join(data.protected.names),
            group=groups * data.status.size,
            **dict(zip(COUNT_COLUMNS, data.counts.n.reshape(-1, 4).T, strict=True)),
        )
        parts.append(frame[frame["status"] != ""])
    frame = pd.concat(parts, ignore_index=True)
    whole = (frame[COUNT_COLUMNS].dropna() % 1 == 0).all(axis=None)
    if whole:
        return frame.astype(dict.fromkeys(COUNT_COLUMNS, "Int64"))
    return frame


def collect_cells(
    runs: Sequence[tuple[RunPlan, Records, list[dict[str, Any]]]], design: RowDesign
) -> DatasetRepeats:
    """Return the repeats of cells of one data set and attribute: those of one run, then of the next.

    Parameters
    ----------
    runs : sequence of (RunPlan, Records, list of dict)
        Each with the cells that are wanted, and the same groups. Metrics of rows are those of all runs.
    """
    of_cells: list[tuple[dict[str, Any], range, Records, dict[str, str]]] = []
    for plan, records, own in runs:
        asked = range(plan.config.repeats), records, plan.config.row_metrics.recorded_as
        of_cells += [(cell, *asked) for cell in own]
    cells, repeats, _, names = zip(*of_cells, strict=True)
    protected = runs[0][0].protected(cells[0]["dataset"], cells[0]["attribute"])
    shape = len(cells), max(map(len, repeats))
    status = np.full(shape, "", dtype=object)
    reason = np.full(shape, "", dtype=object)
    n = np.full((*shape, len(protected.groups), 2, 2), np.nan)
    row_values = {name: np.full(shape, np.nan) for name in names[0] if all(name in own for own in names)}
    recorded = np.concatenate([_recorded(*run) for run in runs])
    held: list[dict[int, Repeat]] = [{} for _ in cells]
    for i, (cell, own_repeats, records, recorded_as) in enumerate(of_cells):
        for repeat in own_repeats:
            record = records.get((cell["key"], repeat))
            if record is None:
                continue
            if recorded[i]:  # without what is of true labels alone
                record = replace(record, counts=record.recorded, swept=None, decisions=None)
            held[i][repeat] = record
            status[i, repeat], reason[i, repeat] = record.status, record.reason
            if record.counts is not None:
                n[i, repeat] = record.counts.n
            for name, values in row_values.items():
                if recorded[i]:
                    kept = on_record(recorded_as[name])
                else:
                    kept = recorded_as[name]
                values[i, repeat] = record.values.get(kept, np.nan)
    known = cells[0]["attribute"], protected, list(cells), status, reason, Counts(protected.groups, n)
    return DatasetRepeats(*known, row_values, held, design, recorded)


def _recorded(plan: RunPlan, records: Records, cells: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Return which cells are counted on recorded labels: those of worlds that change some, if asked for."""
    asked = range(plan.config.repeats if plan.config.test_labels == "recorded" else 0)
    changing = {
        (cell["world"], cell["beta"])
        for cell in cells
        if any((found := records.get((cell["key"], i))) is not None and found.recorded for i in asked)
    }
    return np.array([(cell["world"], cell["beta"]) in changing for cell in cells], dtype=bool)


def t_interval(mean: Floats, sd: Floats, n: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % t-interval of means of `n` values; NaN where n < 2.

    >>> [round(float(end), 3) for end in t_interval(np.array(0.5), np.array(0.1), np.array(4))]
    [0.341, 0.659]
    """
    enough = n >= 2
    quantile = np.where(
        enough, stdtrit(np.where(enough, n - 1, 1), 0.975), np.nan
    )  # scipy.stats loads slowly
    half = quantile * sd / np.sqrt(np.maximum(n, 1))
    return mean - half, mean + half


def mean_and_interval(values: Floats) -> dict[str, Any]:
    """Return mean, sd, low, high and n_ok of values of shape (..., repeats), leaving out NaN.

    >>> {name: float(number) for name, number in mean_and_interval(np.array([1.0, np.nan])).items()}
    {'mean': 1.0, 'sd': nan, 'low': nan, 'high': nan, 'n_ok': 1.0}
    """
    there = ~np.isnan(values)
    n = there.sum(-1)
    mean = np.where(there, values, 0.0).sum(-1) / np.where(n > 0, n, np.nan)
    with np.errstate(invalid="ignore"):  # the sd of infinite values is NaN
        squares = (np.where(there, values - mean[..., np.newaxis], 0.0) ** 2).sum(-1)
    sd = np.sqrt(squares / np.where(n > 1, n - 1, np.nan))
    low, high = t_interval(mean, sd, n)
    return {"mean": mean, "sd": sd, "low": low, "high": high, "n_ok": n}
