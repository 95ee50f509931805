"""An audit in a database: its tables, each row with the hash of its audit's content."""

import hashlib
import math
from typing import TYPE_CHECKING, Any

from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.parts.part import Row, Value
from fairbench_cli.audit.show.tables import tables_of, to_json
from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.text import shown_path

if TYPE_CHECKING:
    from sqlalchemy import MetaData

PREFIX = "fairbench_audit_"


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
        raise _missing("SQLAlchemy") from None
    shown = url
    name = audit_id(report)
    try:
        parsed = sql.make_url(url)
        shown = parsed.render_as_string(hide_password=True)
        engine = sql.create_engine(parsed)
        try:
            tables = {PREFIX + table: list(make()) for table, make in tables_of(report).items()}
            rows = {table: found for table, found in tables.items() if found}
            metadata = _metadata({table: _typed(found) for table, found in rows.items()})
            with engine.begin() as connection:
                metadata.create_all(connection)
                for table in metadata.sorted_tables:
                    connection.execute(table.delete().where(table.c.audit_id == name))
                    numbered = [
                        {"audit_id": name, "position": i, **{head: _null(cell) for head, cell in row.items()}}
                        for i, row in enumerate(rows[table.name])
                    ]
                    connection.execute(table.insert(), numbered)
        finally:
            engine.dispose()
    except UnicodeEncodeError:
        what = f"the address {shown_path(url)} is not UTF-8"
        raise user_error(what, "name another database", "--to-db") from None
    except ModuleNotFoundError as error:
        raise _missing(str(error.name)) from None
    except sql.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()
        what = f"cannot write to the database {shown}: {reason[0] if reason else type(error).__name__}"
        fix = "check the address (such as sqlite:///audits.db), its server, user and permissions"
        raise user_error(what, fix, "--to-db") from None
    return name


def _typed(rows: list[Row]) -> Row:
    """Return a row with the first value of each column that is one."""
    return {head: next((row[head] for row in rows if row[head] is not None), "") for head in rows[0]}


def _metadata(first: dict[str, Row]) -> "MetaData":
    """Return the tables, with the columns and types of a row each."""
    import sqlalchemy as sql

    types: dict[type, Any] = {bool: sql.Boolean, int: sql.BigInteger, float: sql.Double, str: sql.Text}
    metadata = sql.MetaData()
    for name, row in first.items():
        sql.Table(
            name,
            metadata,
            sql.Column("audit_id", sql.String(64), primary_key=True),
            sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
            *(sql.Column(head, types[type(cell)]()) for head, cell in row.items()),
        )
    return metadata


def _null(cell: Value) -> Value:
    """Return a cell as the driver takes it: NaN is NULL, NUL characters become visible."""
    if isinstance(cell, str):
        return cell.replace("\0", "␀")
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _missing(library: str) -> UserError:
    what = f"--to-db needs {library}, which is not installed"
    return user_error(what, "pip install 'fairbench-cli[db]'", "--to-db")
