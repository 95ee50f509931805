"""A sheet of an Excel or OpenDocument workbook, copied into DuckDB as text; read by calamine."""

import datetime as dt
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench_cli.base.errors import Flag, format_value, suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import format_count, join_names, printable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, and what has a password
ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
MOST_UNPACKED = 2**30  # bytes of all parts; ordinary files are 5 to 10 times as large as packed
LARGE_PART = 100_000_000  # bytes; parts that are larger are looked at
MOST_TIMES = 200  # that a large part may grow
MOST_PARTS = 1_000
MOST_ABOVE = 100  # rows, in which the names are looked for
MOST_NAMED = 5  # sheets or columns, in a note
TOTALS = frozenset(
    "total totals sum subtotal mean average totaal gemiddelde summe gesamt mittelwert somme totale".split()  # noqa: SIM905
)
"""What the row below all others is called that sums them up, in small letters."""
WHOLE = 2.0**53  # from here on not every whole number is a float
CELLS = 500_000  # that are copied at once

Cell = Any
Row = Sequence[Cell]


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


def is_workbook(path: Path, head: bytes) -> bool:
    """Return whether a file is a workbook by what is in it, whatever it is called."""
    if head.startswith(OLE):
        return True
    if not head.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            entries = set(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return path.suffix.lower() in ENDINGS
    return "[Content_Types].xml" in entries or "content.xml" in entries


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
    fill_of_row = list(map(_count_filled, rows))  # of its own, before merged cells are filled
    filled = _fill_merged(rows, merged, first_row, first_column)
    header = _find_header(rows)
    if header is None:
        problem = f"sheet {format_value(chosen)} has no rows"
        raise user_error(problem, ("name another with ", Flag("table")), name)
    names, columns = _read_names(rows[header])
    end = _find_end(rows, fill_of_row, header + 1)
    body = rows[header + 1 : end]
    data_rows = [row for row, n_filled in zip(body, fill_of_row[header + 1 : end], strict=True) if n_filled]
    notes += _describe_rows(first_row + header, rows[:header], len(body) - len(data_rows))
    notes += _describe_below(rows[end:])
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
    visible = []
    hidden = []
    for sheet in workbook.sheets_metadata:
        if not str(sheet.typ).endswith("WorkSheet"):
            continue
        if str(sheet.visible).endswith(".Visible"):
            visible.append(sheet.name)
        else:
            hidden.append(sheet.name)
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
        if hidden:
            fix = f"hidden ones are {join_names(hidden, MOST_NAMED)}: name one with "
        else:
            fix = "write a table in one, or name "
        raise user_error(problem, (fix, Flag("table")), name)
    largest = max(with_cells, key=sizes.__getitem__)
    notes = []
    if len(with_cells) > 1:
        unread = [format_value(sheet_title) for sheet_title in with_cells if sheet_title != largest]
        named = join_names(unread, MOST_NAMED)
        notes.append(f"The largest sheet is read, {format_value(largest)}; not {named}.")
    if hidden:
        named = join_names([format_value(title) for title in hidden], MOST_NAMED)
        notes.append(f"Hidden sheets are not read: {named}.")
    return largest, tuple(title for title in with_cells if title != largest), notes


def _fill_merged(
    rows: list[list[Cell]], merged: Iterable[Any], first_row: int, first_column: int
) -> list[int]:
    """Give all rows of merged cells their value, and return the columns where there are such."""
    filled = {}
    for (top, left_column), (bottom, _right) in merged:
        column = left_column - first_column
        if bottom == top or not 0 <= top - first_row < len(rows) or not 0 <= column < len(rows[0]):
            continue
        value = rows[top - first_row][column]
        for row in rows[top - first_row + 1 : bottom - first_row + 1]:
            row[column] = value
        filled[column] = True
    return sorted(filled)


def _is_blank(row: Row) -> bool:
    return _count_filled(row) == 0


def _count_filled(row: Row) -> int:
    return sum(cell not in ("", None) for cell in row)


def _find_header(rows: Sequence[Row]) -> int | None:
    """Return which row has the names: the first of mostly words that differ, without a gap, as wide as half.

    Without such a row it is the first that is not blank.

    >>> _find_header([["Staff of 2024", "", ""], ["", "", ""], ["sex", "age", "hired"], ["f", 30.0, "yes"]])
    2
    """
    first_filled = None
    for number, row in enumerate(islice(rows, MOST_ABOVE)):
        if _is_blank(row):
            continue
        if first_filled is None:
            first_filled = number
        filled = [column for column, cell in enumerate(row) if cell not in ("", None)]
        cells = row[filled[0] : filled[-1] + 1]
        texts = [cell for cell in cells if isinstance(cell, str) and cell != ""]
        is_whole = len(cells) == len(filled) and len(set(texts)) == len(texts)
        if is_whole and 2 * len(texts) >= len(row) and 2 * len(texts) >= len(cells):
            return number
    return first_filled


def _find_end(rows: Sequence[Row], fill_of_row: Sequence[int], start: int) -> int:
    """Return where the rows of people end: above totals, and above remarks that stand apart.

    `fill_of_row` is how many cells each row has of its own.

    >>> rows = [["f", 30.0, 10.0], ["Total", "", 10.0], ["", "", ""], ["* a year", "", ""]]
    >>> _find_end(rows, [3, 2, 0, 1], 0)
    1
    """
    end = len(rows)
    while end > start:
        last = end - 1
        texts = [cell for cell in rows[last] if isinstance(cell, str)]
        is_total = any(text.strip(" :").casefold() in TOTALS for text in texts)
        sums_up = is_total and 0 < fill_of_row[last] < len(rows[last])
        stands_apart = fill_of_row[last] == 1 and last > start and fill_of_row[last - 1] == 0
        if fill_of_row[last] and not sums_up and not (stands_apart and texts and len(rows[last]) > 1):
            break
        end = last
    return end


def _describe_below(below: Sequence[Row]) -> list[str]:
    """Return a note on what stands below the rows of people, if something does."""
    texts = [to_text(cell) for cell in chain.from_iterable(below) if cell not in ("", None)]
    if not texts:
        return []
    return [f"What stands below the table is left out ({printable(str(texts[0]))[:60]})."]


def _read_names(row: Row) -> tuple[list[str], list[int]]:
    """Return the names of columns, and where they stand; columns without a name are left out."""
    names = []
    columns = []
    for column, cell in enumerate(row):
        text = to_text(cell)
        if text is not None and text.strip():
            names.append(text)
            columns.append(column)
    return names, columns


def _describe_rows(header: int, above: Sequence[Row], n_blank: int) -> list[str]:
    """Return notes on where the names are and what was left out."""
    notes = []
    if header:
        titles = [to_text(cell) for row in above for cell in row if cell not in ("", None)]
        title = f" ({printable(str(titles[0]))[:60]})" if titles else ""
        notes.append(f"The names of columns are in row {header + 1}; what stands above is left out{title}.")
    if n_blank:
        notes.append(f"{format_count(n_blank, 'blank row')} between others left out.")
    return notes


def _copy_rows(
    database: "DuckDBPyConnection", rows: Sequence[Row], columns: Sequence[int], tell: ProgressCallback
) -> None:
    kinds = ", ".join(f"x{i} VARCHAR" for i in range(len(columns)))
    database.execute(f"CREATE TEMP TABLE copied ({kinds})")
    at_once = max(1, CELLS // max(1, len(columns)))
    copied = 0
    for chunk in _chunks(rows, at_once):
        cells = {
            f"x{i}": np.array([to_text(row[column]) for row in chunk], dtype=object)
            for i, column in enumerate(columns)
        }
        database.register("part", cells)
        database.execute("INSERT INTO copied SELECT * FROM part")
        database.unregister("part")
        copied += len(chunk)
        tell(f"copying the sheet: {copied:,} rows", None)


def _chunks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


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
