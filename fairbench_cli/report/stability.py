"""How much results vary from repeat to repeat: Friedler et al. (2019), for any run."""

import pandas as pd

from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.report.repeats import CELL_COLUMNS
from fairbench_cli.report.results import RunResults, summary_frame


def two_metrics(config: ExperimentConfig) -> tuple[str, str]:
    """Return what the analyses show of every cell: discrimination, or CV if the config lists it; accuracy."""
    return "cv" if "cv" in config.metrics else "discrimination", "accuracy"


def stability_frame(run: RunResults) -> pd.DataFrame:
    """Return stability.csv: mean and sd over the repeats of the `two_metrics` of every cell.

    ``n`` is the number of repeats with a value; the sd needs two. Cells of one data set, attribute and
    representation that share a model have one row, that of the first of them.
    """
    shown = run.own.take(run.own.rows["metric"].isin(two_metrics(run.plan.config)).to_numpy())
    frame = summary_frame(shown, run.plan.config.repeats)
    first = [data.frame[data.distinct] for data in run.datasets]
    columns = [*CELL_COLUMNS, "metric", "mean", "sd", "n"]
    if not first:
        return pd.DataFrame(columns=columns)
    return pd.concat(first).merge(frame.drop(columns="n").rename(columns={"n_ok": "n"}), on=CELL_COLUMNS)[
        columns
    ]
