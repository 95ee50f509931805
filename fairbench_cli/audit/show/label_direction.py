"""Whether the label runs against the score: the first thing to know of an audit with labels.

A file whose label 1 is the bad outcome, and whose score selects for the good one, has every error rate upside
down. Decisions then agree with the label less often than a coin would.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairbench_cli.audit.compare.report import GroupRow, Interval, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.base.safe_text import format_percent

if TYPE_CHECKING:
    from fairbench_cli.audit.parts.curves import ScoreCurves
    from fairbench_cli.measures.scores import Estimate

HALF = 0.5
ADVICE = "Check which value of each is the favourable one; --favourable-label names the label's."


def label_warning(report: Report) -> str:
    """Return that the label runs against the score, or that most decisions disagree with it; else "".

    Both are said only where the interval leaves out one half. Of slices all rows together are looked at; of
    models, decisions and scores each.

    Returns
    -------
    str
        Sentences, the first that holds for the first decision of which one does.
    """
    all_rows = report
    if "slices" in report.found:
        all_rows = report.found["slices"].report
    with_labels = [row for row in all_rows.overall if "tp" in row.counts]
    # A list of the highest scores is as long as it was asked for, and may well disagree with most labels.
    has_lists = not {decision.kind for decision in report.config.decisions} <= {"binary", "threshold"}
    against = [row for row in with_labels if decision_auc(row).high < HALF]
    if against:
        where = _place_text(against, with_labels, all_rows)
        selected, not_selected = (format_percent(against[0].metrics[name].value) for name in ("ppv", "for"))
        shares = f"of those selected {selected} should be, of those not selected {not_selected}"
        return f"The label runs against the score{where}: {shares}. {ADVICE}"
    if curves := next(_models_with_scores_against(report), None):
        where = ""
        if curves.model:
            where = f" (model {curves.model})"
        highest = max(group.values["auc"].value for group in curves.groups if "auc" in group.values)
        return f"The label runs against the score{where}: the AUC is at most {highest:.2f}. {ADVICE}"
    disagreeing = [
        row for row in with_labels if row.metrics["accuracy"].high < HALF and not decision_auc(row).low > HALF
    ]
    if disagreeing and not has_lists:
        agree = format_percent(disagreeing[0].metrics["accuracy"].value)
        where = _place_text(disagreeing, with_labels, all_rows)
        return f"Most decisions disagree with the label{where}: {agree} agree. {ADVICE}"
    return ""


def decision_auc(row: GroupRow) -> Interval:
    """Return the AUC of decisions, (1 + TPR − FPR) / 2, with an interval; NaN where a label has no rows.

    The interval of the difference is Newcombe's (`subtract`).
    """
    from fairbench_cli.measures.scores import subtract

    value, low, high = subtract(_estimate(row.metrics["tpr"]), _estimate(row.metrics["fpr"]))
    return Interval((1 + float(value)) / 2, (1 + float(low)) / 2, (1 + float(high)) / 2)


def _estimate(rate: Interval) -> "Estimate":
    return np.asarray(rate.value), np.asarray(rate.low), np.asarray(rate.high)


def _models_with_scores_against(report: Report) -> "Iterator[ScoreCurves]":
    """Yield the curves in which the AUC of every group that is not small is shown to be below one half."""
    for attribute_curves in report.found.get("curves", ()):
        groups = [group for group in attribute_curves.groups if not group.small and "auc" in group.values]
        if groups and all(group.values["auc"].high < HALF for group in groups):
            yield attribute_curves


def _place_text(rows: Sequence[GroupRow], all_rows: Sequence[GroupRow], report: Report) -> str:
    """Return of which model and decision something is said, where it is not said of all."""
    if len(rows) == len(all_rows):
        return ""
    first_row = rows[0]
    model = ""
    if len({row.model for row in all_rows}) > 1:
        model = first_row.model
    decision = ""
    if len({row.decision for row in all_rows}) > 1:
        decision = first_row.decision
    return f" ({formatting.format_place(model, decision, report.config.slice_name)})"
