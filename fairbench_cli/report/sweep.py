"""sweep.csv: every measure at every acceptance rate."""

from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.experiment.journal import Records
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import PAIR as GROUPS
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.sweep import RATES
from fairbench_cli.report.results import CELL_COLUMNS, mean_and_interval

RATE = "rate"


def sweep_frame(study: Study, records: Records, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Return mean, sd and 95 % t-interval over the repeats of every cell, acceptance rate and metric.

    Cells whose model has no scores, or no repeat, are left out.
    """
    parts = []
    for cell in study.cells:
        swept = _swept(study, records, cell)
        if not len(swept):
            continue
        counts = Counts(GROUPS, swept)  # (repeats, rates, groups, 2, 2)
        own = {name: cell[name] for name in CELL_COLUMNS}
        for name in metrics:
            numbers = mean_and_interval(measure(name, counts).T)
            parts.append(pd.DataFrame({**own, RATE: RATES, "metric": name, **numbers, "n": study.repeats}))
    columns = [*CELL_COLUMNS, RATE, "metric", "mean", "sd", "low", "high", "n_ok", "n"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _swept(study: Study, records: Records, cell: dict[str, Any]) -> Floats:
    """Return the counts of a cell's repeats, shape (repeats, rates, groups, 2, 2)."""
    found = [records.get((cell["key"], repeat)) for repeat in range(study.repeats)]
    protected = study.protected(cell["dataset"], cell["attribute"])
    swept = [r.swept for r in found if r is not None and r.swept is not None and len(r.swept.n)]
    return np.array([protected.pair(one, (cell["attribute"],)).n for one in swept])
