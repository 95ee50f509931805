"""An audit as tidy tables: one flat row per group and metric, per comparison, per attribute and metric."""

import csv
import io
import math
from collections.abc import Callable, Iterable

from fairbench_cli.audit.judge.report import Report

Value = str | float | int | bool | None
Row = dict[str, Value]


def group_rows(report: Report) -> Iterable[Row]:
    """Yield counts and metrics of every group, the overall rows first; counts have no interval."""
    for row in (*report.overall, *report.groups):
        place: Row = {"model": row.model, "decision": row.decision, "attribute": row.attribute}
        place |= {"group": row.group, "rows": row.rows, "small": row.small}
        for name, value in row.counts.items():
            yield {**place, "metric": name, "value": value, "low": math.nan, "high": math.nan}
        for name, of in row.metrics.items():
            yield {**place, "metric": name, "value": of.value, "low": of.low, "high": of.high}


def disparity_rows(report: Report) -> Iterable[Row]:
    """Yield every comparison."""
    for row in report.disparities:
        yield {
            "model": row.model,
            "decision": row.decision,
            "attribute": row.attribute,
            "group": row.group,
            "reference": row.reference,
            "metric": row.metric,
            "value": row.value,
            "reference_value": row.reference_value,
            "ratio": row.ratio.value,
            "ratio_low": row.ratio.low,
            "ratio_high": row.ratio.high,
            "difference": row.difference.value,
            "difference_low": row.difference.low,
            "difference_high": row.difference.high,
            "p": row.p,
            "p_holm": row.p_holm,
            "tau": row.tau,
            "parity": row.parity,
            "evidence": row.evidence,
            "is_reference": row.is_reference,
        }


def verdict_rows(report: Report) -> Iterable[Row]:
    """Yield the verdict of every attribute by metric and roll-up, then the one over all."""
    for row in report.verdicts:
        for metric, parity in row.parity.items():
            yield {
                "model": row.model,
                "decision": row.decision,
                "attribute": row.attribute,
                "metric": metric,
                "parity": parity,
            }
    place = {"model": "", "decision": "", "attribute": "(all)"}
    yield {**place, "metric": "(all)", "parity": report.verdict}


TABLES: dict[str, Callable[[Report], Iterable[Row]]] = {
    "groups": group_rows,
    "disparities": disparity_rows,
    "verdicts": verdict_rows,
}


def groups_csv(report: Report) -> str:
    """Write `group_rows` as CSV."""
    return _csv(group_rows(report))


def disparities_csv(report: Report) -> str:
    """Write `disparity_rows` as CSV."""
    return _csv(disparity_rows(report))


def verdicts_csv(report: Report) -> str:
    """Write `verdict_rows` as CSV."""
    return _csv(verdict_rows(report))


def _csv(rows: Iterable[Row]) -> str:
    found = list(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found[0])
    writer.writerows([_plain(cell) for cell in row.values()] for row in found)
    return text.getvalue()


def _plain(cell: Value) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(float(cell)) if isinstance(cell, float) else str(cell)
