"""Every tested number of a run, by the number of its row in the results.

A row of the results is a cell, groups compared and a metric, and keeps its number (`Results.rows`): the mean
of a technique, its change, its contrast are all looked up by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.report.ledger import paired_differences
from fairbench_cli.report.ledger.baselines import Shortfall, find_shortfalls
from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.change_kinds import classify_changes, run_technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY, FAIRNESS, FindingColumn
from fairbench_cli.report.ledger.journal_arrays import CellKey
from fairbench_cli.report.ledger.results import Estimate, RunResults

Record = Mapping[Any, Any]
NO_RECORD: Record = {}


@dataclass(frozen=True)
class EstimateColumns:
    """The columns of a frame that hold an estimate: a mean, the ends of its interval and maybe a kind."""

    mean: str
    low: str
    high: str
    kind: str = ""

    def read(self, record: Record) -> Estimate:
        """Return the estimate in a row of the frame; NaN where it has none of the columns."""
        return Estimate(
            mean=float(record.get(self.mean, np.nan)),
            low=float(record.get(self.low, np.nan)),
            high=float(record.get(self.high, np.nan)),
            kind=record.get(self.kind, ""),
            n=record.get("n", 0),
        )


VALUE = EstimateColumns("mean", "low", "high")
DIFFERENCE = EstimateColumns("difference", "population_low", "population_high", "kind")
DISTANCE = EstimateColumns(
    "distance_difference", "population_distance_low", "population_distance_high", "kind"
)
CHANGE = EstimateColumns("change", "change_low", "change_high", "kind")
LOST = EstimateColumns("lost", "lost_low", "lost_high", "lost_kind")


@dataclass(frozen=True, eq=False)
class Ledger:
    """The tested numbers of a run; a number that it does not have is `NO_RECORD`.

    Parameters
    ----------
    run : RunResults
    techniques : dict by row number
        The rows of `technique_frame`.
    changes : dict by row number
        Those of `paired_frame`, with the ``kind`` of each change.
    fronts : dict by row number
        Those of `pareto_frame` of the metric of fairness and accuracy; the row is that of the former.
    remedies : dict of (dict by row number), by labels
        Those of `bias_cost_frame`; empty in a run without worlds.
    contrasts : dict by row number
        Those of `contrast_frame`; empty in a run without worlds.
    shortfalls : dict by row number
        What techniques are shown below, by their rows of discrimination.
    """

    run: RunResults
    techniques: Mapping[int, Record]
    changes: Mapping[int, Record]
    fronts: Mapping[int, Record]
    remedies: Mapping[str, Mapping[int, Record]] = field(default_factory=dict)
    contrasts: Mapping[int, Record] = field(default_factory=dict)
    shortfalls: Mapping[int, tuple[Shortfall, ...]] = field(default_factory=dict)

    def row(self, cell: CellKey, compared: str, metric: str) -> int:
        """Return the number of a row, by the values of `CELL_COLUMNS` of its cell; maybe `NO_ROW`."""
        return self.run.row_number(cell, compared, metric)

    def estimate(self, column: FindingColumn, cell: CellKey, compared: str) -> Estimate:
        """Return the number in a column of the answer, of a cell and the groups compared."""
        row = self.row(cell, compared, column.metric)
        if column.labels:
            record = self.remedies.get(column.labels, {}).get(row, NO_RECORD)
            if column.quantity == "change":
                return CHANGE.read(record)
            return VALUE.read(record)
        if column.quantity == "change":
            return DIFFERENCE.read(self.changes.get(row, NO_RECORD))
        return VALUE.read(self.techniques.get(row, NO_RECORD))


def run_ledger(run: RunResults, metrics: set[str], fairness: str) -> Ledger:
    """Return the tested numbers of some metrics of a run.

    Parameters
    ----------
    metrics : set of str
        With that of fairness and accuracy.
    fairness : str
        The metric of fairness: the front is of it and of accuracy.
    """
    techniques = run_technique_frame(run)
    techniques = techniques[techniques["metric"].isin(metrics)]
    paired = paired_differences.run_paired_frame(run)
    paired = paired[paired["metric"].isin(metrics)]
    paired = paired.assign(kind=classify_changes(paired, techniques)).droplevel(
        paired_differences.BASELINE_ROW
    )
    shortfalls: Mapping[int, tuple[Shortfall, ...]] = {}
    if fairness == FAIRNESS:
        pareto = paired_differences.run_pareto_frame(run)
        shortfalls = find_shortfalls(run)
    else:
        pareto = paired_differences.pareto_frame(run.select((fairness, ACCURACY)), (fairness, ACCURACY))
    remedies: dict[str, Mapping[int, Record]] = {}
    contrasts: Mapping[int, Record] = {}
    if run.plan.has_worlds:
        for labels, frame in bias_cost_frame(run).groupby("labels"):
            remedies[str(labels)] = records_by_row(frame)
        contrasts = records_by_row(contrast_frame(run))
    return Ledger(
        run=run,
        techniques=records_by_row(techniques),
        changes=records_by_row(paired),
        fronts=records_by_row(pareto),
        remedies=remedies,
        contrasts=contrasts,
        shortfalls=shortfalls,
    )


def records_by_row(frame: pd.DataFrame) -> dict[int, Record]:
    """Return the rows of a frame by its index, the numbers of rows of the results."""
    return dict(zip(frame.index.tolist(), frame.to_dict("records"), strict=True))
