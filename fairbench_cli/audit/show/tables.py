"""An audit as data: one JSON document, and the tidy tables of its parts."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import partial
from typing import Any

from fairbench_cli.audit.compare.report import Disparity, Report
from fairbench_cli.audit.parts import PARTS, parts_of
from fairbench_cli.audit.parts.part import Row, Value
from fairbench_cli.audit.parts.rates import RATES_OF_GROUPS
from fairbench_cli.audit.parts.writing import columns_of
from fairbench_cli.audit.show.document import source_name
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.base.text import escaped, inert, printable

FORMAT = 3
TABLES = tuple(RATES_OF_GROUPS.tables)  # of every audit
OPTIONAL = tuple(name for part in PARTS for name in part.tables if name not in TABLES)


def tables_of(report: Report) -> dict[str, Callable[[], Iterable[Row]]]:
    """Return what makes the tables that a report has, by name: those of `TABLES`, and others that have rows.

    Where nothing passes or fails, the tables that say so are left out.
    """
    found = {
        name: partial(make, of_part, report)
        for part, of_part in parts_of(report)
        for name, make in part.tables.items()
    }
    always = () if report.without_verdict else TABLES
    return {name: make for name, make in found.items() if name in always or any(make())}


def to_csv(report: Report, table: str) -> str:
    """Write a table of `tables_of` as CSV."""
    rows = list(tables_of(report)[table]())
    return csv_text(rows, rows[0] if rows else columns_of(Disparity), ("false", "true"))


def groups_csv(report: Report) -> str:
    """Write counts and rates of groups."""
    return to_csv(report, "groups")


def disparities_csv(report: Report) -> str:
    """Write the comparisons; where nothing passes or fails, the impact ratios."""
    return to_csv(report, "impact" if report.without_verdict else "disparities")


def verdicts_csv(report: Report) -> str:
    """Write the verdicts."""
    return to_csv(report, "verdicts")


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
        "verdict": None if report.without_verdict else report.verdict,
        "headline": headline(report),
        "gate": report.gate,
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": report.config.resolved(),
        "metrics": report.decided_by,
        "family": report.family,
    }
    found |= {
        name: getattr(report, name) for name in ("overall", "groups", "disparities", "verdicts", "notes")
    }
    if report.without_verdict:
        del found["disparities"], found["verdicts"], found["metrics"]
    for part, of_part in parts_of(report):
        found |= part.data(of_part) if part.data else {part.key: of_part} if of_part else {}
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
