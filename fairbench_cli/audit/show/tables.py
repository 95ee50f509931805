"""An audit as data: one JSON document, and tidy tables of groups, comparisons and verdicts."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from typing import Any

from fairbench_cli.audit.judge.report import ALL, Interval, Report
from fairbench_cli.audit.show.layout import headline, source_name
from fairbench_cli.text import escaped, inert, printable

FORMAT = 2
Value = str | float | int | bool | None
Row = dict[str, Value]


def group_rows(report: Report) -> Iterable[Row]:
    """Yield counts and metrics of every group, the overall rows first; counts have no interval."""
    for row in (*report.overall, *report.groups):
        place: Row = {"model": row.model, "decision": row.decision, "attribute": row.attribute}
        place |= {"group": row.group, "rows": row.rows, "small": row.small}
        counts = {name: Interval(value, math.nan, math.nan) for name, value in row.counts.items()}
        for name, of in (counts | row.metrics).items():
            yield {**place, "metric": name, **vars(of)}


def disparity_rows(report: Report) -> Iterable[Row]:
    """Yield every comparison; an interval takes three columns."""
    for row in report.disparities:
        found: Row = {}
        for name, value in vars(row).items():
            if isinstance(value, Interval):
                found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            elif not isinstance(value, tuple):
                found[name] = value
        yield found


def verdict_rows(report: Report) -> Iterable[Row]:
    """Yield the verdict of every attribute by metric and roll-up, then the one over all."""
    for row in report.verdicts:
        place: Row = {"model": row.model, "decision": row.decision, "attribute": row.attribute}
        for metric, parity in row.by_metric.items():
            yield {**place, "metric": metric, "parity": parity}
    yield {"model": "", "decision": "", "attribute": ALL, "metric": ALL, "parity": report.verdict}


TABLES: dict[str, Callable[[Report], Iterable[Row]]] = {
    "groups": group_rows,
    "disparities": disparity_rows,
    "verdicts": verdict_rows,
}


def to_csv(report: Report, table: str) -> str:
    """Write a table of `TABLES` as CSV."""
    rows = list(TABLES[table](report))
    return csv_text(rows, rows[0], ("false", "true"))


def csv_text(rows: Iterable[Row], columns: Iterable[str], truth: tuple[str, str] = ("False", "True")) -> str:
    """Write columns of rows as CSV: shortest floats, `truth` for false and true, nothing for undefined.

    Texts that a spreadsheet would run get an apostrophe in front; control characters are replaced.
    """

    def text(cell: Value) -> Value:
        if isinstance(cell, bool):
            return truth[cell]
        if isinstance(cell, str):
            return inert(printable(cell, keep="\t\n"))
        return None if isinstance(cell, float) and math.isnan(cell) else cell

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([text(row[column]) for column in columns] for row in rows)
    return file.getvalue()


def document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "verdict": report.verdict,
        "summary": headline(report),
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": report.config.resolved(),
        "metrics": report.decided_by,
    }
    found |= {
        name: getattr(report, name) for name in ("overall", "groups", "disparities", "verdicts", "notes")
    }
    if report.requested:
        found["requested"] = report.requested
    if report.config.explained_by:
        found["explanations"] = report.explanations
    return {key: _plain(value) for key, value in found.items()}


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return escaped(json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def _plain(value: Any) -> Any:
    """Return a value without NaN and infinity; tuples become lists, data classes mappings."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return float(value) if isinstance(value, float) else value
