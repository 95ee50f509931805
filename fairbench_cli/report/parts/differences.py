"""What each technique changes: its differences to none, and which techniques others dominate."""

import pandas as pd

from fairbench_cli.report.ledger.paired_differences import (
    paired_table,
    pareto_table,
    run_paired_frame,
    run_pareto_frame,
)
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart


def paired_of_metrics(run: RunResults) -> pd.DataFrame:
    """Return paired.csv: the differences to none in the metrics of the config."""
    paired = run_paired_frame(run)
    return paired[paired["metric"].isin(run.plan.config.at_hand)]


DIFFERENCES = RunPart(
    "differences",
    frames={"paired": paired_of_metrics, "pareto": run_pareto_frame},
    tables={"difference-to-none": paired_table, "pareto": pareto_table},
    figures={"pareto": "report.show.figures.fronts:draw_pareto"},
)
