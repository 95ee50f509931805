"""The tidy files: groups.csv (counts), results.csv (measures), summary.csv (means and intervals)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairbench_cli.experiment.journal import Records
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import PAIR as GROUPS
from fairbench_cli.measures.registry import measure

CELL_COLUMNS = [
    "dataset",
    "attribute",
    "beta",
    "intervention",
    "parameters",
    "include_protected",
    "classifier",
    "classifier_parameters",
]
COUNT_COLUMNS = ["tn", "fp", "fn", "tp"]  # label and prediction: --, -+, +-, ++


def groups_frame(study: Study, records: Records) -> pd.DataFrame:
    """Return the counts: one row per cell, repeat and group; empty counts where there is no result.

    ``tn fp fn tp`` take the favourable outcome as positive.
    """
    rows: list[dict[str, Any]] = []
    for cell in study.cells:
        protected = study.protected(cell["dataset"], cell["attribute"])
        for repeat in range(study.repeats):
            record = records.get((cell["key"], repeat))
            if record is None:
                continue
            n = None if record.counts is None else protected.pair(record.counts, (cell["attribute"],)).n
            shared = {name: cell[name] for name in CELL_COLUMNS} | {
                "repeat": repeat,
                "status": record.status,
                "reason": record.reason,
            }
            for g, group in enumerate(GROUPS):
                counts = [np.nan] * 4 if n is None else n[g].ravel().tolist()
                rows.append(shared | {"group": group} | dict(zip(COUNT_COLUMNS, counts, strict=True)))
    columns = [*CELL_COLUMNS, "repeat", "status", "reason", "group", *COUNT_COLUMNS]
    frame = pd.DataFrame(rows, columns=columns)
    whole = (frame[COUNT_COLUMNS].dropna() % 1 == 0).all(axis=None)
    return frame.astype(dict.fromkeys(COUNT_COLUMNS, "Int64")) if whole else frame


def row_values(study: Study, records: Records) -> dict[str, Floats]:
    """Return the study's measures of rows: by name, one value per cell and repeat, as in `groups_frame`."""
    wishes = study.config.row_metrics
    found = [
        record.values
        for cell in study.cells
        for repeat in range(study.repeats)
        if (record := records.get((cell["key"], repeat))) is not None
    ]
    return {
        name: np.array([values.get(wishes.record(name), np.nan) for values in found], dtype=float)
        for name in wishes.names
    }


def results_frame(
    groups: pd.DataFrame, metrics: tuple[str, ...], of_rows: Mapping[str, Floats] | None = None
) -> pd.DataFrame:
    """Return every measure of every repeat: one row per cell, repeat and metric.

    Parameters
    ----------
    groups : DataFrame
        As `groups_frame` makes it.
    metrics : tuple of str
        Measures of counts, and of rows those that `of_rows` has.
    of_rows : mapping, optional
        As `row_values` makes it.
    """
    of_rows = of_rows or {}
    head = groups.iloc[:: len(GROUPS)].drop(columns=["group", "reason", *COUNT_COLUMNS])
    shape = (len(head), len(GROUPS), 2, 2)
    counts = Counts(GROUPS, groups[COUNT_COLUMNS].to_numpy(dtype=float, na_value=np.nan).reshape(shape))
    done = ~np.isnan(counts.n).any(axis=(1, 2, 3))
    found = np.full((len(head), len(metrics)), np.nan)
    known = Counts(GROUPS, counts.n[done])
    for j, name in enumerate(metrics):
        if name in of_rows:
            found[:, j] = of_rows[name]
        else:
            found[done, j] = measure(name, known)
    tidy = head.loc[head.index.repeat(len(metrics))].reset_index(drop=True)
    return tidy.assign(metric=np.tile(np.array(metrics, dtype=object), len(head)), value=found.ravel())


def summary_frame(results: pd.DataFrame, repeats: int) -> pd.DataFrame:
    """Return mean, sd and 95 % t-interval over the repeats of every cell and metric.

    ``n_ok`` counts the repeats that gave a value, ``n`` those that were asked for. The sd needs two values
    and so does the interval; both are empty with fewer.
    """
    grouped = results.groupby([*CELL_COLUMNS, "metric"], sort=False, dropna=False)["value"]
    summary = grouped.agg(mean="mean", sd="std", n_ok="count").reset_index()
    low, high = t_interval(summary["mean"].to_numpy(), summary["sd"].to_numpy(), summary["n_ok"].to_numpy())
    summary = summary.assign(low=low, high=high, n=repeats)
    return summary[[*CELL_COLUMNS, "metric", "mean", "sd", "low", "high", "n_ok", "n"]]


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
