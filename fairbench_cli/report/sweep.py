"""sweep.csv: every metric at every acceptance rate."""

import pandas as pd

from fairbench_cli.measures.registry import COUNT_METRICS, measure
from fairbench_cli.measures.sweep import RATES
from fairbench_cli.report.repeats import CELL_COLUMNS
from fairbench_cli.report.results import COMPARED, RunResults, mean_and_interval

SWEEP_COLUMNS = [*COMPARED, "rate", "metric", "mean", "sd", "low", "high", "n_ok", "n"]


def sweep_frame(run: RunResults) -> pd.DataFrame:
    """Return mean, sd and 95 % t-interval over the repeats of every cell, groups compared, rate and metric.

    Cells whose model has no scores, or no repeat, are left out, and so are metrics of rows.
    """
    parts = [pd.DataFrame(columns=SWEEP_COLUMNS)]
    for data in run.datasets:
        for cell, swept in zip(data.cells, data.swept, strict=True):
            for compared in data.asked(run.attributes) if len(swept.n) else ():
                levels = data.levels(swept, compared)
                own = {name: cell[name] for name in CELL_COLUMNS} | {"compared": compared}
                for name in run.plan.config.metrics:
                    if name in COUNT_METRICS:
                        numbers = mean_and_interval(measure(name, levels).T)
                        columns = {"rate": RATES, "metric": name, **numbers, "n": run.plan.config.repeats}
                        parts.append(pd.DataFrame(own | columns)[SWEEP_COLUMNS])
    return pd.concat(parts[1:] or parts, ignore_index=True)
