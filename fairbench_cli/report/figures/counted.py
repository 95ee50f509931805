"""What a results folder holds of every cell, read back from its tidy files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.groups import PAIR as GROUPS
from fairbench_cli.report.results import CELL_COLUMNS, COUNT_COLUMNS
from fairbench_cli.report.sweep import RATE
from fairbench_cli.report.tables import Key

SWEPT = [RATE, "mean", "low", "high", "n_ok"]


def counts_by_cell(folder: Path) -> dict[Key, Counts]:
    """Return the counts of every cell in groups.csv, shape (repeats, groups, 2, 2).

    Repeats without counts (infeasible, failed) are left out.
    """
    frame = _read(folder / "groups.csv", [*CELL_COLUMNS, *COUNT_COLUMNS], COUNT_COLUMNS)
    found = {}
    for key, part in frame.groupby(CELL_COLUMNS, sort=False):
        n = part[COUNT_COLUMNS].to_numpy(dtype=float).reshape(-1, len(GROUPS), 2, 2)
        found[key] = Counts(GROUPS, n[~np.isnan(n).any(axis=(1, 2, 3))])
    return found


def swept_by_cell(folder: Path) -> dict[Key, pd.DataFrame]:
    """Return the rows of sweep.csv by ``(*CELL_COLUMNS, metric)``, with the columns of `SWEPT`."""
    frame = _read(folder / "sweep.csv", [*CELL_COLUMNS, "metric", *SWEPT], SWEPT)
    return {key: part[SWEPT] for key, part in frame.groupby([*CELL_COLUMNS, "metric"], sort=False)}


def _read(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """Read a file of ours; only numbers can be missing, so that a data set may be called NA."""
    frame: pd.DataFrame = pd.read_csv(
        path,
        usecols=list(columns),
        keep_default_na=False,
        na_values={name: [""] for name in numbers},
        dtype={"dataset": str, "attribute": str},
        converters={"beta": float},  # exact, for it is part of the key
    )
    return frame
