"""An audit as data: a JSON document, a small one for CI, and tidy tables as CSV and in a database."""

import csv
import hashlib
import io
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.compare.baseline import CI_FORMAT
from fairbench_cli.audit.compare.report import (
    AttributeVerdict,
    Comparison,
    Disparity,
    GroupRow,
    Interval,
    NumberComparison,
    Report,
    WholeTable,
)
from fairbench_cli.audit.parts import PARTS, parts_of
from fairbench_cli.audit.parts.formatting import flat_columns, flatten
from fairbench_cli.audit.parts.part import Row, Value
from fairbench_cli.audit.parts.rates import RATES_OF_GROUPS
from fairbench_cli.audit.scan.row_checks import likely_mistakes
from fairbench_cli.audit.show.document import source_name
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.audit.show.whole_report import KEY, missing_fields, to_plain
from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.safe_text import disarm_formula, escape_unseen, format_path, printable

if TYPE_CHECKING:
    from sqlalchemy import URL, MetaData

FORMAT = 4
_PLACE = ("model", "decision", "attribute", "group", "reference", "metric", "value", "reference_value")
_RATIO = ("ratio", "ratio_low", "ratio_high")
_DIFFERENCE = ("difference", "difference_low", "difference_high")
_NUMBERS = (*_RATIO, *_DIFFERENCE, "tau", "margin", "p_holm", "shown_outside")
CI_COLUMNS = _PLACE + _NUMBERS
"""Of a comparison that fails; the margin in an audit that has margins."""

PREFIX = "fairbench_audit_"
ADDRESS_FIX = "check the address (such as sqlite:///audits.db)"
TABLES = tuple(RATES_OF_GROUPS.tables)  # of every audit


@cache
def optional_tables() -> tuple[str, ...]:
    """Return the tables that not every report has, for which all parts are loaded."""
    names = chain.from_iterable(part.load().tables for part in PARTS.values())
    return tuple(name for name in names if name not in TABLES)


def tables_of(report: Report) -> dict[str, Callable[[], Iterable[Row]]]:
    """Return the makers of a report's tables, by name: those of `TABLES`, and others that have rows.

    Where nothing passes or fails, the tables that say so are left out.
    """
    makers = {}
    for part, findings in parts_of(report):
        for name, make in part.tables.items():
            makers[name] = partial(make, findings, report)
    always = () if report.without_verdict else TABLES
    return {name: make for name, make in makers.items() if name in always or any(make())}


def columns_of(table: str) -> tuple[str, ...]:
    """Return the columns of a table that may be without rows."""
    if table == "groups":
        return flat_columns(GroupRow) + ("metric",) + flat_columns(Interval)
    return flat_columns({"numbers": NumberComparison}.get(table, Disparity))


def to_csv(report: Report, table: str) -> str:
    """Write a table of `tables_of` as CSV; of one without rows its columns."""
    rows = list(tables_of(report).get(table, list)())
    columns: Iterable[str] = columns_of(table)
    if rows:
        columns = rows[0]
    return csv_text(rows, columns, ("false", "true"))


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
            return disarm_formula(printable(cell, keep="\t\n"))
        if isinstance(cell, float) and math.isnan(cell):
            return None
        return cell

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([text(row[column]) for column in columns])
    return file.getvalue()


def to_document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "verdict": None if report.without_verdict else report.verdict,
        "headline": headline(report),
        "gate": _gate_fields(report),
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": report.config.resolved(),
        "metrics": report.decided_by,
        "family": report.family,
    }
    content |= {
        name: getattr(report, name) for name in ("overall", "groups", "disparities", "verdicts", "notes")
    }
    if report.n_named:
        content["named"] = report.n_named
    if report.without_verdict:
        del content["disparities"], content["verdicts"], content["metrics"]
    for part, findings in parts_of(report):
        if part.data:
            content |= part.data(findings)
        elif findings:
            content[part.key] = findings
    plain: dict[str, Any] = to_plain(content)
    return plain


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return _dump_json(to_document(report))


def to_finished_json(report: Report) -> str:
    """Write the document with all that a page needs, so that `read_audit` opens it without the rows."""
    document = to_document(report)
    return _dump_json({**document, KEY: missing_fields(report, document)})


def to_ci(report: Report) -> str:
    """Return a small JSON document; the same audit gives the same bytes.

    Of models or slices that are compared it is about the last, as the verdict and the gate are; of slices
    that have an order about all of them.
    """
    deciding = report.deciding_comparisons
    if report.without_verdict:
        deciding = []
    counts = Counter(row.verdict for row in deciding)
    comparisons = {verdict: counts[verdict] for verdict in ("fail", "pass", "undecided")}
    judged = () if report.without_verdict else report.judged
    content: dict[str, Any] = {
        "format": CI_FORMAT,
        "verdict": None if report.without_verdict else report.verdict,
        "headline": headline(report).sentence,
        "title": report.config.title,
        "source": source_name(report),
        "rows": report.rows,
        "gate": _gate_fields(report),
        "exit_code": int(report.gate.stops),
        "comparisons": None if report.without_verdict else comparisons,
        "attributes": [_ci_attribute(row, report) for row in judged],
        "failing": [_ci_comparison(row) for row in deciding if row.verdict == "fail"],
    }
    if notes := likely_mistakes(report.notes):
        content["notes"] = notes
    return json_text(content)


def _gate_fields(report: Report) -> dict[str, Any]:
    """Return the decision of the gate: its warning and what it accepts where these are asked for."""
    gate = report.gate
    fields: dict[str, Any] = {"stops": gate.stops, "reason": gate.reason}
    if report.config.has_gate:
        fields["undecided"] = list(gate.undecided)
    if report.config.warning_metrics:
        fields["warning"] = gate.warning
    if report.baseline:
        fields |= {"accepted": gate.accepted, "baseline": report.baseline.file}
    return fields


def _ci_attribute(verdict: AttributeVerdict, report: Report) -> dict[str, Any]:
    return {
        "model": verdict.model,
        "decision": verdict.decision,
        "attribute": verdict.attribute,
        "verdict": verdict.verdict,
        "failing": [name for name in report.deciding_metrics if verdict.by_metric.get(name) == "fail"],
    }


def _ci_comparison(row: Comparison) -> Row:
    cells = flatten(row)
    if isinstance(row, WholeTable):
        cells |= {"difference": row.w.value, "difference_low": row.w.low, "difference_high": row.w.high}
    columns = [name for name in CI_COLUMNS if name in cells]
    return {name: cells[name] for name in columns}


def json_text(content: Mapping[str, Any]) -> str:
    """Write data as JSON, NaN as null."""
    return _dump_json(to_plain(content))


def _dump_json(plain: Mapping[str, Any]) -> str:
    """Write what `to_plain` has returned as JSON."""
    return escape_unseen(json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def audit_id(report: Report) -> str:
    """Return the SHA-256 of the audit's JSON document.

    Settings, file name and numbers are in it; when and where it ran are not.
    """
    return hashlib.sha256(to_json(report).encode()).hexdigest()


def to_database(report: Report, url: str) -> str:
    """Write an audit in one transaction and return its id; writing it again changes nothing.

    There is a table for each of `tables_of`, such as ``fairbench_audit_groups``, made when it is not there.
    Columns are those of the CSV files after `audit_id` and `position`.

    Parameters
    ----------
    report : Report
        What to write.
    url : str
        SQLAlchemy's, such as ``sqlite:///audits.db`` or ``postgresql+psycopg://me@host/base``.

    Raises
    ------
    UserError
        When SQLAlchemy or the driver is not installed, or the database does not take the rows.
    """
    try:
        import sqlalchemy as sql
    except ModuleNotFoundError:
        raise _missing_error("SQLAlchemy") from None
    name = audit_id(report)
    address = ""
    tables = {PREFIX + table: list(make()) for table, make in tables_of(report).items()}
    filled_tables = {table: table_rows for table, table_rows in tables.items() if table_rows}
    try:
        parsed = sql.make_url(url)
        if "@" in (parsed.host or ""):
            raise user_error("the address has two @", "write an @ of the password as %40", "--to-db")
        if _is_in_memory(parsed):
            problem = "a database in memory is gone when the audit ends"
            raise user_error(problem, "name a file, such as sqlite:///audits.db", "--to-db")
        address = (
            f" {parsed.set(query={}).render_as_string(hide_password=True)}"  # what follows may be secret
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", sql.exc.SAWarning)  # of options that the driver would ignore
            engine = sql.create_engine(parsed)
        try:
            metadata = _metadata(filled_tables)
            with engine.begin() as connection:
                metadata.create_all(connection)
                for table in metadata.sorted_tables:
                    connection.execute(table.delete().where(table.c.audit_id == name))
                    numbered = []
                    for i, row in enumerate(filled_tables[table.name]):
                        cells = {head: _to_null(cell) for head, cell in row.items()}
                        numbered.append({"audit_id": name, "position": i, **cells})
                    connection.execute(table.insert(), numbered)
        finally:
            engine.dispose()
    except UnicodeEncodeError:
        problem = f"the address {format_path(url)} is not UTF-8"
        raise user_error(problem, "name another database", "--to-db") from None
    except ModuleNotFoundError as error:
        raise _missing_error(str(error.name)) from None
    except (ValueError, TypeError):  # whose text may hold the password
        problem = (
            f"the address of the database{address} cannot be read: its port or an option may be no number"
        )
        raise user_error(
            problem, f"{ADDRESS_FIX}; write a : or @ of the password as %3A or %40", "--to-db"
        ) from None
    except (sql.exc.SQLAlchemyError, sql.exc.SAWarning) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()
        problem = f"cannot write to the database{address}: {reason[0] if reason else type(error).__name__}"
        raise user_error(problem, f"{ADDRESS_FIX}, its server, user and permissions", "--to-db") from None
    return name


def _is_in_memory(url: "URL") -> bool:
    """Return whether the address is that of an SQLite database without a file."""
    if url.get_backend_name() != "sqlite":
        return False
    name = url.database or ""
    return name in ("", ":memory:") or url.query.get("mode") == "memory" or name.startswith("file::memory:")


def _metadata(tables: dict[str, list[Row]]) -> "MetaData":
    """Return the tables, each column of the type of its first value."""
    import sqlalchemy as sql

    types: dict[type, Any] = {bool: sql.Boolean, int: sql.BigInteger, float: sql.Double, str: sql.Text}
    metadata = sql.MetaData()
    for name, rows in tables.items():
        first_values = {head: _first_value(rows, head) for head in rows[0]}
        sql.Table(
            name,
            metadata,
            sql.Column("audit_id", sql.String(64), primary_key=True),
            sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
            *(sql.Column(head, types[type(cell)]()) for head, cell in first_values.items()),
        )
    return metadata


def _first_value(rows: Sequence[Row], column: str) -> Value:
    """Return the first value of a column that is not None, or an empty text."""
    return next((row[column] for row in rows if row[column] is not None), "")


def _to_null(cell: Value) -> Value:
    """Return a cell as the driver takes it: NaN is NULL, NUL characters become visible."""
    if isinstance(cell, str):
        return cell.replace("\0", "␀")
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return cell


def _missing_error(library: str) -> UserError:
    problem = f"--to-db needs {library}, which is not installed"
    return user_error(problem, "pip install 'fairbench-cli[db]'", "--to-db")
