"""An audit in a database: three tables, and an audit's rows stand under the hash of its content."""

import hashlib
import math
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show import tables
from fairbench_cli.audit.show.document import to_json
from fairbench_cli.errors import UserError, user_error

if TYPE_CHECKING:
    from sqlalchemy import MetaData

INTEGERS = {"rows"}
TRUTHS = {"small", "is_reference"}
TEXTS = {"model", "decision", "attribute", "group", "reference", "measure", "parity", "evidence"}
TABLES = {
    "fairbench_audit_groups": (tables.GROUP_HEADS, tables.group_rows),
    "fairbench_audit_disparities": (tables.DISPARITY_HEADS, tables.disparity_rows),
    "fairbench_audit_verdicts": (tables.VERDICT_HEADS, tables.verdict_rows),
}


def audit_id(report: Report) -> str:
    """Return the SHA-256 of the audit's JSON document.

    Settings, file name and numbers are in it; when and where it ran are not.
    """
    return hashlib.sha256(to_json(report).encode()).hexdigest()


def to_database(report: Report, url: str) -> str:
    """Write an audit in one transaction and return its id; writing it again changes nothing.

    The tables ``fairbench_audit_groups``, ``fairbench_audit_disparities`` and ``fairbench_audit_verdicts``
    are made when they are not there. Columns are those of the CSV files after `audit_id` and `position`.

    Parameters
    ----------
    audit : Audit
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
        raise _missing("SQLAlchemy") from None
    shown = url
    name = audit_id(report)
    try:
        parsed = sql.make_url(url)
        shown = parsed.render_as_string(hide_password=True)
        engine = sql.create_engine(parsed)
        try:
            metadata = _metadata()
            with engine.begin() as connection:
                metadata.create_all(connection)
                for table in metadata.sorted_tables:
                    heads, rows_of = TABLES[table.name]
                    connection.execute(table.delete().where(table.c.audit_id == name))
                    rows = [
                        {"audit_id": name, "position": i, **dict(zip(heads, map(_null, row), strict=True))}
                        for i, row in enumerate(rows_of(report))
                    ]
                    if rows:
                        connection.execute(table.insert(), rows)
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise _missing(str(error.name)) from None
    except sql.exc.SQLAlchemyError as error:
        raise _failed(error, shown) from None
    return name


def _metadata() -> "MetaData":
    import sqlalchemy as sql

    metadata = sql.MetaData()
    for name, (heads, _) in TABLES.items():
        sql.Table(
            name,
            metadata,
            sql.Column("audit_id", sql.String(64), primary_key=True),
            sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
            *(sql.Column(head, _type(head)) for head in heads),
        )
    return metadata


def _type(head: str) -> Any:
    import sqlalchemy as sql

    if head in TEXTS:
        return sql.Text()
    if head in TRUTHS:
        return sql.Boolean()
    return sql.BigInteger() if head in INTEGERS else sql.Double()


def _null(cell: tables.Cell) -> tables.Cell:
    """Return a cell as the driver takes it: NaN is NULL, NUL characters become visible."""
    if isinstance(cell, bool) or cell is None:
        return cell
    if isinstance(cell, str):
        return cell.replace("\0", "␀")
    if isinstance(cell, int):
        return cell
    return None if math.isnan(cell) else float(cell)


def _missing(library: str) -> UserError:
    return user_error(
        f"--to-db needs {library}, which is not installed", "pip install 'fairbench-cli[db]'", "--to-db"
    )


def _failed(error: Exception, url: str) -> UserError:
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()
    said = reason[0] if reason else type(error).__name__
    return user_error(
        f"cannot write to the database {url}: {said}",
        "check the address (such as sqlite:///audits.db), its server, user and permissions",
        "--to-db",
    )
