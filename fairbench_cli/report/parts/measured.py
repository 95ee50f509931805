"""What every run has: its counts, its metrics repeat by repeat, and their means."""

from collections.abc import Callable

import pandas as pd

from fairbench_cli.report.ledger.journal_arrays import groups_frame
from fairbench_cli.report.ledger.results import RunResults, results_frame, summary_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.paper_table import paper_table
from fairbench_cli.report.show.tables import group_rates_table


def groups_on_all_labels(run: RunResults) -> pd.DataFrame:
    """Return groups.csv: the counts of each group, on true labels and on recorded ones."""
    return _on_all_labels(run, lambda on_labels: groups_frame(on_labels.datasets))


def results_on_all_labels(run: RunResults) -> pd.DataFrame:
    """Return results.csv: the metrics of the config in each repeat, on true labels and on recorded ones."""
    metrics = run.plan.config.at_hand
    return _on_all_labels(run, lambda on_labels: results_frame(on_labels.select(metrics)))


def summary_of_metrics(run: RunResults) -> pd.DataFrame:
    """Return summary.csv: means, deviations and intervals of the metrics of the config."""
    config = run.plan.config
    return summary_frame(run.select(config.at_hand), config.repeats)


def _on_all_labels(run: RunResults, frame_of: Callable[[RunResults], pd.DataFrame]) -> pd.DataFrame:
    """Return a frame of the true labels and one of the recorded ones, one below the other."""
    frames = [frame_of(on_labels).assign(labels=on_labels.labels) for on_labels in run.on_all_labels]
    return pd.concat(frames, ignore_index=True)


MEASURED = RunPart(
    "measured",
    frames={
        "groups": groups_on_all_labels,
        "results": results_on_all_labels,
        "summary": summary_of_metrics,
    },
    tables={
        "discrimination-accuracy": paper_table,
        "over-underestimation": paper_table,
        "group-rates": group_rates_table,
    },
    figures={
        "discrimination-accuracy": "report.show.figures.curves:draw_clouds",
        "curves": "report.show.figures.curves:draw_curves",
    },
)
