"""An audit as tidy tables: one flat row per group and measure, per comparison, per attribute and measure."""

import csv
import io
import math
from collections.abc import Iterable, Sequence

from fairbench_cli.audit.judge.report import Report

Cell = str | float | int | bool | None
Rows = list[tuple[Cell, ...]]

GROUP_HEADS = ("model", "decision", "attribute", "group", "rows", "small", "measure", "value", "low", "high")
DISPARITY_HEADS = (
    *("model", "decision", "attribute", "group", "reference", "measure", "value", "reference_value"),
    *("ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"),
    *("p", "p_holm", "tau", "parity", "evidence", "is_reference"),
)
VERDICT_HEADS = ("model", "decision", "attribute", "measure", "parity")


def group_rows(report: Report) -> Rows:
    """Return counts and metrics of every group, the overall rows first; counts have no interval."""
    rows: Rows = []
    for row in (*report.audit.overall, *report.audit.groups):
        place = (row.model, row.decision, row.attribute, row.group, row.rows, row.small)
        rows += [(*place, name, value, math.nan, math.nan) for name, value in row.counts.items()]
        rows += [(*place, name, of.value, of.low, of.high) for name, of in row.metrics.items()]
    return rows


def disparity_rows(report: Report) -> Rows:
    """Return every comparison."""
    return [
        (
            *(row.model, row.decision, row.attribute, row.group, row.reference, row.measure),
            *(row.value, row.reference_value),
            *(row.ratio.value, row.ratio.low, row.ratio.high),
            *(row.difference.value, row.difference.low, row.difference.high),
            *(row.p, row.p_holm, row.tau, row.parity, row.evidence, row.is_reference),
        )
        for row in report.audit.disparities
    ]


def verdict_rows(report: Report) -> Rows:
    """Return the verdict of every attribute by measure and roll-up, then the one over all."""
    rows: Rows = [
        (row.model, row.decision, row.attribute, measure, parity)
        for row in report.audit.verdicts
        for measure, parity in row.parity.items()
    ]
    return [*rows, ("", "", "(all)", "(all)", report.audit.verdict)]


def groups_csv(report: Report) -> str:
    """Write `group_rows` as CSV."""
    return _csv(GROUP_HEADS, group_rows(report))


def disparities_csv(report: Report) -> str:
    """Write `disparity_rows` as CSV."""
    return _csv(DISPARITY_HEADS, disparity_rows(report))


def verdicts_csv(report: Report) -> str:
    """Write `verdict_rows` as CSV."""
    return _csv(VERDICT_HEADS, verdict_rows(report))


def _csv(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(float(cell)) if isinstance(cell, float) else str(cell)
