"""The cost of the bias of each world, and how much of it techniques give back, on true and recorded labels.

The bias costs what the plain model that was trained in the world lacks to the one that was trained without
it (`TRAINED_ON_TRUTH`); both are judged on true labels. A technique gives back what it has more than the
plain model of the same world. On recorded labels it may lose what it gains on true ones: the same decisions,
counted twice (`contrast_frame`).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairbench_cli.data.table import Rows
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.outputs import TestLabels
from fairbench_cli.report.ledger import paired_differences
from fairbench_cli.report.ledger.cell_labels import BLOCK, TRAINED_ON_TRUTH
from fairbench_cli.report.ledger.change_kinds import classify_changes, technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY, fairness_metric, label_column_metrics
from fairbench_cli.report.ledger.journal_arrays import is_baseline
from fairbench_cli.report.ledger.results import COMPARED, Results, RunResults

TPR_DIFFERENCE = "tpr-difference"

# By the names of remedies.csv, the columns of `differences_frame`.
CHANGE_COLUMNS = {
    "change": "difference",
    "change_low": "population_low",
    "change_high": "population_high",
    "far_change": "distance_difference",
    "far_low": "population_distance_low",
    "far_high": "population_distance_high",
    "p": "population_p",
    "kind": "kind",
}
LOSS_COLUMNS = {
    "lost": "difference",
    "lost_low": "population_low",
    "lost_high": "population_high",
    "lost_kind": "kind",
}
BIAS_COST_COLUMNS = COMPARED + ["labels", "metric", "n", "mean", "low", "high", "constant"]
BIAS_COST_COLUMNS += list(CHANGE_COLUMNS) + list(LOSS_COLUMNS)
"""The columns of remedies.csv."""


def bias_cost_metrics(config: ExperimentConfig) -> tuple[str, ...]:
    """Return the metrics that remedies are judged by: accuracy, the metric of fairness and the gap in TPR.

    Further ones are those of columns that are on true or on recorded labels.
    """
    metrics = [ACCURACY, fairness_metric(config).name, TPR_DIFFERENCE] + label_column_metrics()
    return tuple(dict.fromkeys(metrics))


def bias_cost_frame(run: RunResults) -> pd.DataFrame:
    """Return remedies.csv of a run with worlds: the gain of each technique, a row per cell and number.

    A row is one cell, groups compared, labels (``true`` or ``recorded``) and metric (`bias_cost_metrics`).
    ``mean``, with the 95 % interval in the population in ``low`` and ``high``, is over ``n`` repeats;
    ``constant`` says whether some repeat decides the same for everybody. ``change`` is the difference to
    ``none`` of the same world, as in paired.csv, ``far_change`` that of the distances to the metric's ideal,
    ``p`` that of the test before Holm's adjustment, and ``kind`` its verdict (`change_kinds.Kind`).
    ``lost``, on true labels, is the difference to the plain model that was trained without the bias, of the
    same repeats: `TRAINED_ON_TRUTH` in the same world where the run has it, else ``none`` at β = 0. For
    ``none`` that is the cost of the bias. The index has the numbers of the results' rows.
    """
    return _bias_cost_frame(run.on_labels("true") or run)


@lru_cache(maxsize=2)  # the CSV, the answer, the figures and the page are of one run, some by own groups
def _bias_cost_frame(run: RunResults) -> pd.DataFrame:
    # The gap in TPR where a table or figure of the run asks for it.
    metrics = [name for name in bias_cost_metrics(run.plan.config) if name in run.results.requested]
    frames = [_cost_on_labels(labelled.select(metrics), labelled.labels) for labelled in run.on_all_labels]
    if not frames:
        return pd.DataFrame(columns=BIAS_COST_COLUMNS)
    return pd.concat(frames)[BIAS_COST_COLUMNS]


def _cost_on_labels(results: Results, labels: TestLabels) -> pd.DataFrame:
    """Return the rows of `bias_cost_frame` of some results, which are counted on some labels."""
    # 1. The numbers of each technique, and its differences to none of the same world.
    techniques = technique_frame(results)
    changes = paired_differences.paired_frame(results)
    changes = changes.assign(kind=classify_changes(changes, techniques))
    frame = _join_differences(techniques, changes, CHANGE_COLUMNS)
    # 2. On true labels also the differences to the plain model without the bias.
    if labels == "true":
        biased, unbiased = _pair_with_unbiased(results.rows.reset_index(drop=True))
    else:
        biased, unbiased = _pair_with_unbiased(techniques.iloc[:0])
    losses = paired_differences.differences_frame(results, biased, unbiased, {})
    losses = losses.assign(kind=classify_changes(losses, techniques))
    frame = _join_differences(frame, losses, LOSS_COLUMNS)
    return frame.assign(labels=labels).fillna({"kind": "", "lost_kind": ""})


def _join_differences(
    frame: pd.DataFrame, differences: pd.DataFrame, columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return a frame with columns of differences, under other names; empty where there is no difference."""
    renamed = differences[list(columns.values())].set_axis(list(columns), axis=1)
    return frame.join(renamed.droplevel(paired_differences.BASELINE_ROW), validate="one_to_one")


def _pair_with_unbiased(rows: pd.DataFrame) -> tuple[Rows, Rows]:
    """Return the indices of rows in a biased world, and for each that of the plain model without the bias.

    Rows for which the run has no such model are left out.
    """
    # 1. The plain models without a bias: of a world by its name and β, else of all worlds.
    records = rows.to_dict("records")
    index_of: dict[tuple[Any, ...], int] = {}
    for i, row in enumerate(records):
        key = _key_across_worlds(row)
        if row["intervention"] == TRAINED_ON_TRUTH:
            index_of[key + (row["world"], row["beta"])] = i
        elif row["beta"] == 0 and is_baseline(row["intervention"], row["parameters"]):
            # Without a world where there is one; of strength 0 all of them are the same.
            if not row["world"] or key not in index_of:
                index_of[key] = i
    # 2. Its partner for each row in a biased world.
    biased = []
    unbiased = []
    for i, row in enumerate(records):
        if row["world"] and row["beta"] > 0 and row["intervention"] != TRAINED_ON_TRUTH:
            key = _key_across_worlds(row)
            unbiased_index = index_of.get(key + (row["world"], row["beta"]), index_of.get(key))
            if unbiased_index is not None:
                biased.append(i)
                unbiased.append(unbiased_index)
    return np.array(biased, dtype=np.intp), np.array(unbiased, dtype=np.intp)


_COMMON_COLUMNS = [
    "dataset", "attribute", "compared", "representation", "include_protected", "classifier",
    "classifier_parameters", "metric",
]  # fmt: skip


def _key_across_worlds(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Return the values that a row has in common with those of other worlds and techniques."""
    return tuple(row[name] for name in _COMMON_COLUMNS)


Contrast = Literal["artefact", "real", "gain", "hidden loss", "constant", "not shown"]
"""The change of a metric with a technique, against ``none`` of the same world.

artefact: worse on the record, better on the truth. real: worse on both. gain: better on both. hidden loss:
better on the record, worse on the truth. constant: it accepts nobody, or everybody, in some repeat. not
shown: none of these is shown.
"""
CONTRASTS: dict[tuple[bool, bool], Contrast] = {
    (False, True): "artefact",
    (False, False): "real",
    (True, True): "gain",
    (True, False): "hidden loss",
}
"""By whether it is better on the record, and whether on the truth."""

_TESTED_COLUMNS = ["far_change", "far_low", "far_high", "p", "constant"]
CONTRAST_COLUMNS = COMPARED + [
    "metric", "recorded", "recorded_low", "recorded_high", "true", "true_low", "true_high", "p_holm",
    "contrast",
]  # fmt: skip


@lru_cache(maxsize=2)  # the CSV, the figure and the answer are of one run
def contrast_frame(run: RunResults) -> pd.DataFrame:
    """Return recorded_true.csv: each technique against ``none`` on recorded and on true labels.

    A row is one cell, groups compared and metric of remedies.csv. ``recorded`` and ``true`` say how much
    farther from its ideal the metric is than with ``none``, below 0 nearer, with the 95 % interval in the
    population; ``contrast`` is their kind (`Contrast`). Both differences have to be shown: the p-value is
    the larger of the two, Holm-adjusted over the techniques and β of a data set, attribute, groups compared,
    world, classifier and metric. Empty where record and truth are the same in all worlds. The index has the
    numbers of the results' rows.
    """
    # 1. The differences to none on recorded labels, and next to them those on true labels.
    frame = bias_cost_frame(run)
    tested = frame[frame["far_change"].notna() & (frame["intervention"] != TRAINED_ON_TRUTH)]
    recorded = _columns_on_labels(tested, "recorded")
    on_truth = _columns_on_labels(tested, "true").drop(columns=COMPARED + ["metric"])
    joined = recorded.join(on_truth, how="inner", validate="one_to_one")
    if not len(joined):
        return pd.DataFrame(columns=CONTRAST_COLUMNS)
    # 2. Both differences have to be shown: the larger p-value counts.
    p = np.maximum(joined["recorded_p"].to_numpy(dtype=float), joined["true_p"].to_numpy(dtype=float))
    family = run.plan.config.family
    p_holm = paired_differences.adjust_by_family(joined, p, BLOCK + ["metric"], family)["p_holm"]
    # 3. Classify the two differences together.
    is_constant = (joined["recorded_constant"] | joined["true_constant"]).to_numpy(dtype=bool)
    is_better_on_record = (joined["recorded"] < 0).to_numpy(dtype=bool)
    is_better_on_truth = (joined["true"] < 0).to_numpy(dtype=bool)
    contrasts: list[Contrast] = []
    for i in range(len(joined)):
        if is_constant[i]:
            contrasts.append("constant")
        elif p_holm[i] < paired_differences.LEVEL:
            contrasts.append(CONTRASTS[bool(is_better_on_record[i]), bool(is_better_on_truth[i])])
        else:
            contrasts.append("not shown")
    return joined.assign(p_holm=p_holm, contrast=contrasts)[CONTRAST_COLUMNS]


def _columns_on_labels(frame: pd.DataFrame, labels: TestLabels) -> pd.DataFrame:
    """Return the keys and tested columns of the rows on some labels, under the names of `contrast_frame`."""
    keys = COMPARED + ["metric"]
    names = [labels, f"{labels}_low", f"{labels}_high", f"{labels}_p", f"{labels}_constant"]
    return frame[frame["labels"] == labels][keys + _TESTED_COLUMNS].set_axis(keys + names, axis=1)
