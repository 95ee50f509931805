"""A row of the results keeps its number, and every tested number is looked up by it."""

import math

import numpy as np
import pytest
from report.worlds_run import GOOD, Rule, invented

from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.ledger.change_kinds import run_technique_frame
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS
from fairbench_cli.report.ledger.paired_differences import BASELINE_ROW, ROW, pareto_frame, run_paired_frame
from fairbench_cli.report.ledger.results import COMPARED, NO_ROW, RunResults
from fairbench_cli.report.ledger.run_ledger import run_ledger

RULES = {
    "none": {("", 0.0): GOOD, ("label", 0.5): Rule((0.6, 0.85))},
    "massaging": {("", 0.0): GOOD, ("label", 0.5): GOOD},
}
KEYS = [*COMPARED, "metric"]


@pytest.fixture(scope="module")
def run() -> RunResults:
    return invented(RULES, datasets=("bank", "shop"), repeats=3)


def test_the_number_of_a_row_is_that_of_its_cell_groups_and_metric(run: RunResults):
    rows = run.results.rows
    assert rows.index.tolist() == list(range(len(rows)))
    for row in rows.to_dict("index"):
        cell = tuple(rows[CELL_COLUMNS].loc[row])
        assert run.row_number(cell, rows["compared"][row], rows["metric"][row]) == row
    first_cell = tuple(rows[CELL_COLUMNS].loc[0])
    assert run.row_number(first_cell, "sex", "unheard-of") == NO_ROW
    assert run.row_number(("nowhere", *first_cell[1:]), "sex", "accuracy") == NO_ROW


def test_frames_of_tested_numbers_go_by_the_numbers_of_rows(run: RunResults):
    rows = run.results.rows
    paired = run_paired_frame(run)
    frames = [
        run_technique_frame(run.by_own_attribute),
        paired.droplevel(BASELINE_ROW),
        bias_cost_frame(run),
        contrast_frame(run),
    ]
    for frame in frames:
        assert len(frame) > 0
        assert (frame[KEYS] == rows[KEYS].loc[frame.index]).all(axis=None)
    front = pareto_frame(run.select(("discrimination", "accuracy")))
    assert set(rows["metric"][front.index]) == {"discrimination"}
    assert (front[COMPARED] == rows[COMPARED].loc[front.index]).all(axis=None)
    # Differences go by two rows: `none` in the same cell but for the technique.
    baselines = rows.loc[paired.index.get_level_values(BASELINE_ROW)]
    assert set(baselines["intervention"]) == {"none"}
    assert (baselines[["dataset", "beta", "metric"]].to_numpy() == paired[["dataset", "beta", "metric"]]).all(
        axis=None
    )
    values = run.results.values
    ours = values[paired.index.get_level_values(ROW)]
    theirs = values[paired.index.get_level_values(BASELINE_ROW)]
    assert paired["difference"].to_numpy() == pytest.approx(np.nanmean(ours - theirs, axis=1), nan_ok=True)


def test_the_ledger_has_the_numbers_of_the_frames(run: RunResults):
    ledger = run_ledger(run, {"accuracy", "discrimination"}, "discrimination")
    by_labels = bias_cost_frame(run).query("metric == 'accuracy' and labels == 'recorded'")
    assert len(by_labels) == 8
    for row, record in by_labels.to_dict("index").items():
        assert ledger.remedies["recorded"][row]["mean"] == record["mean"]
        technique = ledger.techniques[row]
        assert technique["intervention"] == record["intervention"]
        assert math.isfinite(technique["mean"])
