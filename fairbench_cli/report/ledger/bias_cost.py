"""What the bias of each world costs, and what each technique gives back: on true labels and on recorded ones.

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
from fairbench_cli.report.ledger.cell_labels import BLOCK, TRAINED_ON_TRUTH
from fairbench_cli.report.ledger.change_kinds import classify_changes, classify_differences, technique_frame
from fairbench_cli.report.ledger.columns import ACCURACY, fairness_metric, label_column_metrics
from fairbench_cli.report.ledger.journal_arrays import is_baseline
from fairbench_cli.report.ledger.paired_differences import (
    LEVEL,
    adjust_by_family,
    differences_frame,
    paired_frame,
)
from fairbench_cli.report.ledger.results import COMPARED, Results, RunResults

TPR_DIFFERENCE = "tpr-difference"

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
BIAS_COST_COLUMNS = [
    *COMPARED, "labels", "metric", "n", "mean", "low", "high", "constant", *CHANGE_COLUMNS, *LOSS_COLUMNS,
]  # fmt: skip
"""The columns of remedies.csv: of the last, by theirs, those of `differences_frame` that they are."""


def bias_cost_metrics(config: ExperimentConfig) -> tuple[str, ...]:
    """Return the metrics that remedies are judged by: accuracy, the metric of fairness and the gap in TPR.

    Further ones are those of columns that are on true or on recorded labels.
    """
    metrics = [ACCURACY, fairness_metric(config).name, TPR_DIFFERENCE, *label_column_metrics()]
    return tuple(dict.fromkeys(metrics))


def bias_cost_frame(run: RunResults) -> pd.DataFrame:
    """Return remedies.csv of a run with worlds: what each technique gives back, a row per cell and number.

    A row is one cell, groups compared, labels (``true`` or ``recorded``) and metric (`bias_cost_metrics`).
    ``mean``, with the 95 % interval in the population in ``low`` and ``high``, is over ``n`` repeats;
    ``constant`` says whether some repeat decides the same for everybody. ``change`` is the difference to
    ``none`` of the same world, as in paired.csv, ``far_change`` that of the distances to the metric's ideal,
    ``p`` that of the test before Holm's adjustment, and ``kind`` what became of it (`change_kinds.Kind`).
    ``lost``, on true labels, is the difference to the plain model that was trained without the bias, of the
    same repeats: `TRAINED_ON_TRUTH` in the same world where the run has it, else ``none`` at β = 0. For
    ``none`` that is what the bias costs.
    """
    return _bias_cost_frame(run.on_labels("true") or run)


@lru_cache(maxsize=2)  # the CSV, the answer, the figures and the page are of one run, some by own groups
def _bias_cost_frame(run: RunResults) -> pd.DataFrame:
    # The gap in TPR where a table or figure of the run asks for it.
    metrics = [name for name in bias_cost_metrics(run.plan.config) if name in run.results.requested]
    parts = [pd.DataFrame(columns=BIAS_COST_COLUMNS)]
    parts += [_remedies(one.select(metrics), one.labels) for one in run.on_all_labels]
    return pd.concat(parts[1:] or parts, ignore_index=True)[BIAS_COST_COLUMNS]


def _remedies(results: Results, labels: TestLabels) -> pd.DataFrame:
    """Return the rows of `bias_cost_frame` of some results, which are counted on some labels."""
    own = technique_frame(results)
    paired = paired_frame(results)
    frame = _joined(own, paired.assign(kind=classify_changes(paired, own)), CHANGE_COLUMNS)
    ours, theirs = _with_truth(results.rows.reset_index(drop=True) if labels == "true" else own.iloc[:0])
    apart = differences_frame(results, ours, theirs, {})
    mine, truth = (own.iloc[at].reset_index(drop=True) for at in (ours, theirs))
    apart = apart.assign(kind=classify_differences(apart, mine, truth))
    return _joined(frame, apart, LOSS_COLUMNS).assign(labels=labels).fillna({"kind": "", "lost_kind": ""})


def _joined(frame: pd.DataFrame, differences: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with columns of differences, under other names; empty where there is no difference."""
    keys = [*COMPARED, "metric"]
    found = differences[[*keys, *columns.values()]].set_axis([*keys, *columns], axis=1)
    return frame.merge(found, on=keys, how="left", validate="one_to_one")


def _with_truth(rows: pd.DataFrame) -> tuple[Rows, Rows]:
    """Return the rows of results in a biased world, and for each that of the plain model without the bias."""
    known: dict[tuple[Any, ...], int] = {}
    for i, row in enumerate(rows.to_dict("records")):
        plain = is_baseline(row["intervention"], row["parameters"])
        if row["intervention"] == TRAINED_ON_TRUTH:
            known[(*_elsewhere(row), row["world"], row["beta"])] = i
        elif plain and row["beta"] == 0:
            # Without a world where there is one; of strength 0 all of them are the same.
            known[_elsewhere(row)] = i if not row["world"] else known.get(_elsewhere(row), i)
    pairs = []
    for i, row in enumerate(rows.to_dict("records")):
        if row["world"] and row["beta"] > 0 and row["intervention"] != TRAINED_ON_TRUTH:
            place = _elsewhere(row)
            truth = known.get((*place, row["world"], row["beta"]), known.get(place))
            if truth is not None:
                pairs.append((i, truth))
    ours, theirs = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return ours, theirs


_ELSEWHERE = [
    "dataset", "attribute", "compared", "representation", "include_protected", "classifier",
    "classifier_parameters", "metric",
]  # fmt: skip


def _elsewhere(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Return the values that a row has in common with those of other worlds and techniques."""
    return tuple(row[name] for name in _ELSEWHERE)


Contrast = Literal["artefact", "real", "gain", "hidden loss", "constant", "not shown"]
"""What becomes of a metric with a technique, against ``none`` of the same world.

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

_ENDS = ("far_change", "far_low", "far_high", "p", "constant")
CONTRAST_COLUMNS = [
    *(*COMPARED, "metric"),
    *(f"{labels}{end}" for labels in ("recorded", "true") for end in ("", "_low", "_high")),
    *("p_holm", "contrast"),
]


@lru_cache(maxsize=2)  # the CSV, the figure and the answer are of one run
def contrast_frame(run: RunResults) -> pd.DataFrame:
    """Return recorded_true.csv: each technique against ``none`` on recorded and on true labels.

    A row is one cell, groups compared and metric of remedies.csv. ``recorded`` and ``true`` say how much
    farther from its ideal the metric is than with ``none``, below 0 nearer, with the 95 % interval in the
    population; ``contrast`` is what that is (`Contrast`). Both differences have to be shown: the p-value is
    the larger of the two, Holm-adjusted over the techniques and β of a data set, attribute, groups compared,
    world, classifier and metric. Empty where record and truth are the same in all worlds.
    """
    frame = bias_cost_frame(run)
    keys = [*COMPARED, "metric"]
    tested = frame[frame["far_change"].notna() & (frame["intervention"] != TRAINED_ON_TRUTH)]
    sides = [
        tested[tested["labels"] == labels][[*keys, *_ENDS]].set_axis(
            [*keys, labels, f"{labels}_low", f"{labels}_high", f"{labels}_p", f"{labels}_constant"], axis=1
        )
        for labels in ("recorded", "true")
    ]
    both = sides[0].merge(sides[1], on=keys, how="inner", validate="one_to_one")
    if not len(both):
        return pd.DataFrame(columns=CONTRAST_COLUMNS)
    p = np.maximum(both["recorded_p"].to_numpy(dtype=float), both["true_p"].to_numpy(dtype=float))
    p_holm = adjust_by_family(both, p, [*BLOCK, "metric"])["p_holm"]
    constant = (both["recorded_constant"] | both["true_constant"]).to_numpy(dtype=bool)
    words = [
        "constant" if same else CONTRASTS[on_record, on_truth] if shown else "not shown"
        for on_record, on_truth, shown, same in zip(
            both["recorded"] < 0, both["true"] < 0, p_holm < LEVEL, constant, strict=True
        )
    ]
    return both.assign(p_holm=p_holm, contrast=words)[CONTRAST_COLUMNS]
