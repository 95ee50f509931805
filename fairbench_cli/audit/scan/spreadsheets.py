"""A sheet of an Excel or OpenDocument workbook, copied into DuckDB as text; read by calamine."""

import datetime as dt
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.base.errors import Flag, format_value, suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import format_count, join_names, printable
from fairbench_cli.data import table_edges

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_UNPACKED = 2**30  # bytes of all parts; ordinary files are 5 to 10 times as large as packed
LARGE_PART = 100_000_000  # bytes; parts that are larger are looked at
MOST_TIMES = 200  # that a large part may grow
MOST_PARTS = 1_000
LOOKED_AT = 300  # rows, to tell units from people
MOST_NAMED = 5  # sheets or columns, in a note
WHOLE = 2.0**53  # from here on not every whole number is a float
CELLS = 500_000  # that are copied at once

Cell = Any


@dataclass(frozen=True)
class CopiedSheet:
    """A sheet as it was copied.

    Parameters
    ----------
    table : str
        What the copy is called.
    names : list of str
        Of its columns; the copy's are ``x0``, ``x1``, …
    notes : tuple of str
        What a reader should know of how it was read.
    rows_above : int or None
        How many rows of the sheet stand above the first person's; None where rows between are left out.
    unread : tuple of str
        Other sheets that can be seen and have cells.
    """

    table: str
    names: list[str]
    notes: tuple[str, ...]
    rows_above: int | None
    unread: tuple[str, ...]


def copy_sheet(
    database: "DuckDBPyConnection",
    path: Path,
    name: str,
    sheet_name: str | None,
    tell: ProgressCallback = ignore_progress,
) -> CopiedSheet:
    """Copy a sheet, every cell as text: the one that is named, else the largest of those that can be seen.

    The names are in the first row whose cells are mostly words, all different and without a gap. A value of
    merged cells is that of all their rows, as one sees it.

    Parameters
    ----------
    database : DuckDBPyConnection
        What it is copied to.
    path : Path
        The file.
    name : str
        What messages call it.
    sheet_name : str or None
    tell : callable
        Called with what is being done.

    Raises
    ------
    UserError
        When the file cannot be read, unpacks to something huge or has a password;
        when there is no such sheet, or none that can be seen and has rows.
    """
    import python_calamine

    _refuse_bombs(path, name)
    tell(f"reading {name}", None)
    try:
        workbook = python_calamine.CalamineWorkbook.from_path(str(path))
        chosen, unread, notes = _choose_sheet(workbook, sheet_name, name)
        sheet = workbook.get_sheet_by_name(chosen)
        rows: list[list[Cell]] = sheet.to_python(skip_empty_area=True)
        merged = sheet.merged_cell_ranges or ()
    except python_calamine.PasswordError:
        raise user_error("the workbook has a password", "save it without one, or as CSV", name) from None
    except (python_calamine.CalamineError, OSError) as error:
        problem = f"cannot be read as a workbook: {printable(str(error))}"
        raise user_error(problem, "open it and save it again, or save the sheet as CSV", name) from None
    first_row, first_column = sheet.start or (0, 0)
    fill_of_row = list(map(table_edges.count_filled, rows))  # of its own, before merged cells are filled
    filled = _fill_merged(rows, merged, first_row, first_column)
    header = table_edges.find_header(rows)
    if header is None:
        problem = f"sheet {format_value(chosen)} has no rows"
        raise user_error(problem, ("name another with ", Flag("table")), name)
    names, columns = _read_names(rows[header])
    notes += table_edges.describe_above(first_row + header + 1, _texts(rows[:header]))
    units = rows[header + 1] if header + 1 < len(rows) else []
    if table_edges.is_units(units, rows[header], rows[header + 2 : header + 2 + LOOKED_AT]):
        notes.append(table_edges.describe_units(units))
        header += 1
    end = table_edges.find_end(rows, fill_of_row, header + 1)
    body = rows[header + 1 : end]
    data_rows = [row for row, n_filled in zip(body, fill_of_row[header + 1 : end], strict=True) if n_filled]
    if len(data_rows) < len(body):
        notes.append(f"{format_count(len(body) - len(data_rows), 'blank row')} between others left out.")
    notes += table_edges.describe_below(_texts(rows[end:]))
    inside = [column for column in filled if column in columns]
    if inside:
        called = join_names([names[columns.index(column)] for column in inside], MOST_NAMED)
        notes.append(f"Merged cells of {called}: the value is that of all their rows.")
    _copy_rows(database, data_rows, columns, tell)
    above = first_row + header + 1 if len(data_rows) == len(body) else None
    return CopiedSheet("copied", names, tuple(notes), above, unread)


def _refuse_bombs(path: Path, name: str) -> None:
    """Refuse an archive that unpacks to far more than it is, before anything is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError):
        return  # an older workbook, or one that calamine refuses
    unpacked = sum(entry.file_size for entry in entries)
    grows = [
        entry
        for entry in entries
        if entry.file_size > LARGE_PART and entry.file_size > MOST_TIMES * max(1, entry.compress_size)
    ]
    if unpacked > MOST_UNPACKED or grows or len(entries) > MOST_PARTS:
        problem = f"the workbook unpacks to {unpacked / 1e6:,.0f} MB in {format_count(len(entries), 'part')}"
        raise user_error(problem, "save the sheet as CSV", name)


def _choose_sheet(workbook: Any, sheet_name: str | None, name: str) -> tuple[str, tuple[str, ...], list[str]]:
    """Return the sheet that is meant, the others that can be seen and have cells, and notes on all others."""
    sheets = [sheet for sheet in workbook.sheets_metadata if str(sheet.typ).endswith("WorkSheet")]
    visible = [sheet.name for sheet in sheets if str(sheet.visible).endswith(".Visible")]
    hidden = [sheet.name for sheet in sheets if sheet.name not in visible]
    if sheet_name is not None:
        if sheet_name not in visible + hidden:
            raise user_error(f"no sheet {format_value(sheet_name)}", suggest(sheet_name, visible), name)
        return sheet_name, tuple(title for title in visible if title != sheet_name), []
    sizes = {}
    for visible_name in visible:
        sheet = workbook.get_sheet_by_name(visible_name)
        sizes[visible_name] = sheet.height * sheet.width
    with_cells = [visible_name for visible_name in visible if sizes[visible_name]]
    if not with_cells:
        problem = "no sheet that can be seen has cells"
        fix = "write a table in one, or name "
        if hidden:
            fix = f"hidden ones are {join_names(hidden, MOST_NAMED)}: name one with "
        raise user_error(problem, (fix, Flag("table")), name)
    largest = max(with_cells, key=sizes.__getitem__)
    notes = []
    if len(with_cells) > 1:
        unread = [format_value(sheet_title) for sheet_title in with_cells if sheet_title != largest]
        named_sheets = join_names(unread, MOST_NAMED)
        notes.append(f"The largest sheet is read, {format_value(largest)}; not {named_sheets}.")
    if hidden:
        named_sheets = join_names([format_value(title) for title in hidden], MOST_NAMED)
        notes.append(f"Hidden sheets are not read: {named_sheets}.")
    return largest, tuple(title for title in with_cells if title != largest), notes


def _fill_merged(
    rows: list[list[Cell]], merged: Iterable[Any], first_row: int, first_column: int
) -> list[int]:
    """Give all rows of merged cells their value, and return the columns where there are such."""
    filled = set()
    for (top, left_column), (bottom, _right) in merged:
        column = left_column - first_column
        if bottom == top or not 0 <= top - first_row < len(rows) or not 0 <= column < len(rows[0]):
            continue
        value = rows[top - first_row][column]
        for row in rows[top - first_row + 1 : bottom - first_row + 1]:
            row[column] = value
        filled.add(column)
    return sorted(filled)


def _texts(rows: Sequence[table_edges.Row]) -> list[str]:
    """Return the cells of rows that hold something, as text."""
    return list(filter(None, map(to_text, chain.from_iterable(rows))))


def _read_names(row: table_edges.Row) -> tuple[list[str], list[int]]:
    """Return the names of columns, and where they stand; columns without a name are left out."""
    texts = [to_text(cell) or "" for cell in row]
    columns = [column for column, text in enumerate(texts) if text.strip()]
    return [texts[column] for column in columns], columns


def _copy_rows(
    database: "DuckDBPyConnection",
    rows: Sequence[table_edges.Row],
    columns: Sequence[int],
    tell: ProgressCallback,
) -> None:
    kinds = ", ".join(f"x{i} VARCHAR" for i in range(len(columns)))
    database.execute(f"CREATE TEMP TABLE copied ({kinds})")
    at_once = max(1, CELLS // max(1, len(columns)))
    copied = 0
    for start in range(0, len(rows), at_once):
        chunk = rows[start : start + at_once]
        cells = {
            f"x{i}": np.array([to_text(row[column]) for row in chunk], dtype=object)
            for i, column in enumerate(columns)
        }
        database.register("part", cells)
        database.execute("INSERT INTO copied SELECT * FROM part")
        database.unregister("part")
        copied += len(chunk)
        tell(f"copying the sheet: {copied:,} rows", None)


def to_text(cell: Cell) -> str | None:
    """Return a cell as it would stand in a CSV file: whole numbers without a point, dates as ISO 8601.

    >>> to_text(2.0), to_text(0.25), to_text(True), to_text("007"), to_text("")
    ('2', '0.25', 'true', '007', None)
    >>> to_text(dt.datetime(2024, 1, 2)), to_text(dt.date(2024, 1, 2)), to_text(1e20)
    ('2024-01-02', '2024-01-02', '1e+20')
    """
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < WHOLE:
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        if cell.time() == dt.time():
            return cell.date().isoformat()
        return cell.isoformat(" ")
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, float):
        return repr(cell)
    return str(cell)
