"""What share of people each technique accepts, and how far apart the levels of an attribute are.

Gap and accuracy both move with the share that is accepted, so two techniques are compared at the same one, or
by δ and κ (Žliobaitė 2015, "On the relation between accuracy and fairness in binary classification").
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.measures.counts import Counts, divide
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.columns import ACCURACY, FAIRNESS
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import BASELINE_ROW, LEVEL, paired_frame
from fairbench_cli.report.ledger.results import COMPARED, RunResults, compute_results

METRICS = {"acceptance-rate": "share", "normalised-discrimination": "delta", "kappa": "kappa"}
"""The metrics by their columns."""
LEAST_ROWS = 30  # test rows of a level whose share is compared


@lru_cache(maxsize=2)  # the CSV and the answer are of one run
def shares_frame(run: RunResults) -> pd.DataFrame:
    """Return shares.csv: a row per cell and groups compared.

    ``share`` of the people accepted, ``delta`` (δ, the gap over the largest possible at that share) and
    ``kappa`` are means over the repeats; those that end in ``_difference``, ``_low``, ``_high`` and
    ``_p_holm`` are of the difference to ``none`` in the population, as in `paired_frame`. ``differs``: the
    share is shown to be another one, by more than the metric's margin. ``gap_at_share`` and
    ``accuracy_at_share`` are those of one threshold on the model's scores that accepts as many as ``none``,
    from the sweep; of ``none`` its own. ``levels_gap`` is the largest difference in acceptance between two
    of three ``levels`` or more with `LEAST_ROWS` test rows a repeat, those of ``lowest`` and ``highest``.
    """
    config = run.plan.config
    if not run.datasets:
        return pd.DataFrame(columns=COMPARED)
    results = compute_results(run.datasets, tuple(METRICS), run.attributes)
    results = replace(results, margins=config.margin, family=config.family)
    results = replace(run, results=results).select(tuple(METRICS))
    columns: dict[str, Any] = {}
    for metric, name in METRICS.items():
        of_metric = results.take((results.rows["metric"] == metric).to_numpy())
        tested = paired_frame(of_metric).droplevel(BASELINE_ROW).reindex(of_metric.rows.index)
        columns[name] = mean_and_interval(of_metric.values)["mean"]
        columns[f"{name}_difference"] = tested["difference"].to_numpy()
        for column in ("low", "high", "p_holm"):
            columns[f"{name}_{column}"] = tested[f"population_{column}"].to_numpy()
        if name == "share":
            margins = np.nan_to_num(of_metric.margins_by_row)
            is_large = np.abs(columns["share_difference"]) > margins
            columns["differs"] = is_large & (columns["share_p_holm"] < LEVEL)
    frame = of_metric.rows[COMPARED].assign(**columns)
    with_levels = []
    for dataset_repeats in run.datasets:
        for compared in dataset_repeats.compared_attributes(run.attributes):
            with_levels.append(
                dataset_repeats.frame.assign(compared=compared, **_level_columns(dataset_repeats, compared))
            )
    return frame.merge(pd.concat(with_levels), on=COMPARED)


def _level_columns(data: DatasetRepeats, compared: str) -> dict[str, Any]:
    """Return the columns from the levels of an attribute or intersection, one value a cell."""
    levels = data.levels(data.counts, compared)
    at_share = _at_share_of_none(data, levels, compared)
    n = np.nansum(levels.predicted, axis=1)  # (cells, levels, refused and accepted)
    n_rows = n.sum(-1)
    is_large = n_rows >= LEAST_ROWS * np.maximum(data.has_counts.sum(axis=1, keepdims=True), 1)
    share = divide(n[..., 1], n_rows)
    lowest = np.where(is_large, share, np.inf).argmin(-1)
    highest = np.where(is_large, share, -np.inf).argmax(-1)
    has_gap = is_large.sum(-1) > 2
    cells = np.arange(len(n))
    names = np.array(levels.groups, dtype=object)
    return {
        "gap_at_share": mean_and_interval(measure(FAIRNESS, at_share))["mean"],
        "accuracy_at_share": mean_and_interval(measure(ACCURACY, at_share))["mean"],
        "levels": is_large.sum(-1),
        "levels_gap": np.where(has_gap, share[cells, highest] - share[cells, lowest], np.nan),
        "lowest": np.where(has_gap, names[lowest], ""),
        "highest": np.where(has_gap, names[highest], ""),
    }


def _at_share_of_none(data: DatasetRepeats, levels: Counts, compared: str) -> Counts:
    """Return the counts of each cell where it accepts as many as ``none``; NaN where the sweep has none."""
    n = np.full(levels.n.shape, np.nan)
    shares = measure("acceptance-rate", levels)
    for cell, baseline in enumerate(data.baseline_indices()):
        repeats, swept = data.sweep_counts(cell, compared)
        if baseline == cell and len(repeats):
            n[cell, repeats] = levels.n[cell, repeats]
        elif baseline is not None and len(repeats):
            # Between two rates one of the two thresholds is drawn.
            rate = shares[baseline, repeats] * (len(RATES) - 1)
            below = np.minimum(np.nan_to_num(rate).astype(int), len(RATES) - 2)
            part = (rate - below)[:, None, None, None]
            of_repeat = np.arange(len(repeats))
            n[cell, repeats] = (1 - part) * swept.n[of_repeat, below] + part * swept.n[of_repeat, below + 1]
    return replace(levels, n=n)
