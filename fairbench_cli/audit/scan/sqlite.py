"""A table of an SQLite file, copied into DuckDB: its own reader of SQLite would have to be downloaded."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from fairbench_cli.audit.scan import sql
from fairbench_cli.base.errors import Flag, format_value, suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    import sqlite3

    from duckdb import DuckDBPyConnection

CELLS = 500_000  # that are copied at once


def copy_table(
    database: "DuckDBPyConnection",
    path: Path,
    name: str,
    table: str | None,
    tell: ProgressCallback = ignore_progress,
) -> tuple[str, list[str]]:
    """Copy a table or view, every cell as text, and return what the copy and its columns are called.

    The columns of the copy are ``x0``, ``x1``, …; NULL stays NULL, and numbers are written as Python does, so
    that none loses a digit. Rows are read in parts, and the copy goes to disk where it outgrows the memory.

    Parameters
    ----------
    database : DuckDBPyConnection
        What it is copied to.
    path : Path
        The file, which is opened for reading alone.
    name : str
        What messages call it.
    table : str or None
        By default the only one that there is.
    tell : callable
        Called with what is being done.

    Raises
    ------
    UserError
        When there is no such table, or several, or the file cannot be read.
    """
    import sqlite3

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?{_mode(path)}", uri=True)) as file:
            return _copy_rows(database, file, _chosen(file, name, table), tell)
    except sqlite3.Error as error:
        if "UTF-8" in str(error):
            raise user_error("the text is not UTF-8", "save the table with UTF-8 texts", name) from None
        problem = f"cannot be read as SQLite: {error}"
        raise user_error(problem, "check the file, and that nobody has locked it", name) from None


def _mode(path: Path) -> str:
    """Return how a file is opened: one with a log of writes (WAL) needs a folder that can be written to.

    Where that cannot be, and nothing is left in a log, nobody writes, and the file is read as it is.
    """
    full_path = path.resolve()
    still = os.access(full_path.parent, os.W_OK) or full_path.with_name(f"{full_path.name}-wal").exists()
    if still:
        return "mode=ro"
    return "immutable=1"


def _chosen(file: "sqlite3.Connection", name: str, table: str | None) -> str:
    """Return the table that is meant: the one named, else the only one, else the only view."""
    listed = file.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid"
    )
    kinds: dict[str, str] = {
        table_name: kind for table_name, kind in listed if not table_name.startswith("sqlite_")
    }
    if table is not None:
        if table not in kinds:
            raise user_error(f"no table {format_value(table)}", suggest(table, kinds), name)
        return table
    tables = [table_name for table_name, kind in kinds.items() if kind == "table"] or list(kinds)
    if not tables:
        raise user_error("there is no table in it", "name a file with a table of predictions", name)
    if len(tables) > 1:
        problem = f"there are {len(tables)} tables in it: {', '.join(tables)}"
        raise user_error(problem, ("name one with ", Flag("table", tables[0])), name)
    return tables[0]


def _copy_rows(
    database: "DuckDBPyConnection", file: "sqlite3.Connection", table: str, tell: ProgressCallback
) -> tuple[str, list[str]]:
    rows = file.execute(f"SELECT * FROM {sql.identifier(table)}")
    names = [column for column, *_ in rows.description]
    columns = [f"x{i}" for i in range(len(names))]
    kinds = ", ".join(f"{column} VARCHAR" for column in columns)
    database.execute(f"CREATE TEMP TABLE copied ({kinds})")
    copied = 0
    while chunk := rows.fetchmany(max(1, CELLS // len(names))):
        cells = {
            column: np.array(list(map(_to_text, values)), dtype=object)
            for column, values in zip(columns, zip(*chunk, strict=True), strict=True)
        }
        database.register("part", cells)
        database.execute("INSERT INTO copied SELECT * FROM part")
        database.unregister("part")
        copied += len(chunk)
        tell(f"copying table {table}: {copied:,} rows", None)
    return "copied", names


def _to_text(value: Any) -> str | None:
    """Return a cell as text; bytes that are none as they can be seen."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, str):
        return value
    return repr(value)
