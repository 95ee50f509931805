"""Read data files as text cells: CSV, ARFF and Parquet, nothing guessed."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairbench_cli.base.errors import format_value, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.data.columns import categories_of, relabelled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']+'|\"[^\"]+\"|\S+)\s+(.*)", re.IGNORECASE)

_ARFF_CELL = re.compile(
    r"""(?P<cell>\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*|))\s*)(?=,|$)"""
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_UNIX_LINE = re.compile(r".*\n|.+")  # the same without a \r, faster
_ESCAPE = re.compile(r"\\(.)")
BLOCK = 500  # rows that are turned into columns at once: they fit a processor's cache
MOST_SHARED = 10_000  # texts of a column that equal cells are looked up among
SEPARATORS = ("\t", ";", ",", "|", " ")  # that are guessed
_EVERY_ROW = 'give every row one cell a column; quote cells that contain the separator ("a, b")'
_BLANK: tuple[list[str], ...] = ([], [""])

Row = tuple[int, list[str]]


@dataclass(frozen=True, eq=False)
class TextCells:
    """A file's cells as text.

    Parameters
    ----------
    path : Path
        The file.
    frame : DataFrame
        One column of text per column, as `categories_of` makes them; names may repeat or be empty.
    lines : sequence of int
        The line of each row.
    declared : dict
        The levels that the file itself declares (ARFF), by column.
    names : tuple of str
        All columns of the file; those that were not wanted are not in the frame.
    """

    path: Path
    frame: pd.DataFrame
    lines: Sequence[int]
    declared: dict[str, tuple[str, ...]]
    names: tuple[str, ...]


def read_cells(
    path: Path,
    kind: str = "csv",
    *,
    header: bool = True,
    separator: str = ",",
    comment: str | None = None,
    wanted: Callable[[str], bool] | None = None,
) -> TextCells:
    """Return a file as stripped text cells; without a header, columns are called 0, 1 and so on.

    Blank lines are left out, unless the file has one column only: there, each is an empty cell. Columns whose
    name is not `wanted` are left out too, unless none is.

    Raises
    ------
    UserError
        For an empty file, a row of another length than the first, or bytes that are not UTF-8.
    """
    if kind == "parquet":
        return _parquet(path, wanted)
    text = read_text(path, "utf-8-sig", newline="")
    declared: dict[str, tuple[str, ...]] = {}
    if kind == "arff":
        lines = list(_lines(text))
        start, names, declared = _arff_header(lines, path)
        some = _places(names, wanted)
        numbers, columns = _filled(_arff_rows(lines, start, path), len(names), path, "the header", some)
    else:
        found = _csv_rows(_lines(text, separator), separator, comment, path)
        first = next((row for row in found if row[1] not in _BLANK), None)
        if first is None:
            raise user_error("the file is empty", "give a file with rows", f"{path}:1")
        names = [name.strip() if header else str(j) for j, name in enumerate(first[1])]
        some = _places(names, wanted)
        like, rest = ("the header", found) if header else ("the first row", chain([first], found))
        fix = _row_fix(list(islice(_lines(text), 100)), names)
        numbers, columns = _filled(rest, len(names), path, like, some, fix)
    if not numbers:
        raise user_error("the file has column names but no rows", "give at least one row", str(path))
    return TextCells(path, _frame(columns, [names[j] for j in some]), numbers, declared, tuple(names))


def _lines(text: str, separator: str = "") -> Iterator[str]:
    """Yield the lines of a text with their ends, one at a time: a list takes as much memory as the text."""
    for found in (_LINE if "\r" in text else _UNIX_LINE).finditer(text):
        # Blanks at the end are no empty cell.
        yield found[0].rstrip(" \r\n") + "\n" if separator == " " else found[0]


def _row_fix(lines: list[str], names: list[str]) -> str:
    """Return the fix for a row of another length; where a semicolon, say, cuts all, it names that."""
    if len(names) == 1:
        fitting = separator_of([line for line in lines if line.strip()])
    else:
        fitting = " "
    if fitting in names[0] and fitting != " ":
        return f"write separator: {format_value(fitting)}"
    return _EVERY_ROW


def _places(names: list[str], wanted: Callable[[str], bool] | None) -> list[int]:
    """Return which columns are wanted; all, if none is."""
    every = range(len(names))
    return [j for j in every if wanted is None or wanted(names[j])] or list(every)


def _frame(columns: Iterable[Sequence[str]], names: list[str]) -> pd.DataFrame:
    """Return columns of cells, stripped."""
    stripped = (relabelled(categories_of(cells), str.strip) for cells in columns)
    frame = pd.DataFrame(dict(enumerate(stripped)))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def differ(frame: pd.DataFrame, name: str) -> bool:
    """Return whether the columns called `name` have different cells."""
    same = frame.loc[:, frame.columns == name]
    return not all(same.iloc[:, 0].equals(same.iloc[:, j]) for j in range(1, same.shape[1]))


def _parquet(path: Path, wanted: Callable[[str], bool] | None) -> TextCells:
    """Return a Parquet file as text cells; a null is an empty cell, and a row's line its number."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar=false")
            every = connection.execute("SELECT * FROM read_parquet($path) LIMIT 0", {"path": str(path)})
            names = [str(column[0]) for column in every.description or ()]
            some = [names[j] for j in _places(names, wanted)]
            frame = _frame((_parquet_column(connection, path, name) for name in some), some)
    except (duckdb.Error, OSError) as error:
        first = str(error).splitlines()[0]
        raise user_error(f"not a Parquet file: {first}", "check the path and the format", str(path)) from None
    if frame.empty:
        raise user_error("the file has column names but no rows", "give at least one row", str(path))
    return TextCells(path, frame, range(1, len(frame) + 1), {}, tuple(names))


def _parquet_column(connection: "DuckDBPyConnection", path: Path, name: str) -> Any:
    """Return a column's cells as text; one at a time takes the memory of one."""
    quoted = name.replace('"', '""')
    query = f"SELECT coalesce(\"{quoted}\"::VARCHAR, '') AS cells FROM read_parquet($path)"  # noqa: S608
    return connection.execute(query, {"path": str(path)}).fetchnumpy()["cells"]


def _csv_rows(lines: Iterable[str], separator: str, comment: str | None, path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV but its comments, not stripped; a blank line has no cell, or an empty one."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if len(row) < 2:
                row = [cell.strip() for cell in row]
            if not (comment and row and row[0].startswith(comment)):
                yield reader.line_num, row
    except csv.Error as error:
        raise user_error(f"not a CSV row: {error}", "check the quotes", f"{path}:{reader.line_num}") from None


def _filled(
    rows: Iterable[Row], width: int, path: Path, like: str, some: list[int], fix: str = _EVERY_ROW
) -> tuple[list[int], Iterator[list[str]]]:
    """Return the lines of the rows that are not blank, and some columns, checking that each row has `width`.

    Equal cells of a column are one text in memory, unless it has very many.
    """
    lines: list[int] = []
    kept: list[list[str]] = []
    columns: list[list[str]] = [[] for _ in some]
    known: list[dict[str, str]] = [{} for _ in some]

    def turn() -> None:
        every = list(zip(*kept, strict=True))
        for j, cells, texts in zip(some, columns, known, strict=True) if kept else ():
            shared = len(texts) <= MOST_SHARED
            cells.extend(map(texts.setdefault, every[j], every[j]) if shared else every[j])
        kept.clear()

    for line, row in rows:
        if len(row) < 2 and row in _BLANK:
            if width > 1:
                continue
            row = [""]  # in a single column a blank line is an empty cell
        if len(row) != width:
            raise user_error(f"the row has {len(row)} cells, {like} {width}", fix, f"{path}:{line}")
        lines.append(line)
        kept.append(row)
        if len(kept) == BLOCK:
            turn()
    turn()
    known.clear()
    columns.reverse()
    return lines, (columns.pop() for _ in some)  # each is freed as soon as it has been looked at


def _arff_rows(lines: list[str], start: int, path: Path) -> Iterator[Row]:
    """Yield the rows of an ARFF file, in which either quote may be used."""
    for line, text in enumerate(lines[start:], start + 1):
        row = text.strip()
        if not row or row.startswith("%"):
            continue
        if row.startswith("{"):
            raise user_error("sparse ARFF is not read", "write every cell out", f"{path}:{line}")
        yield line, _split(row, f"{path}:{line}")


def _split(text: str, where: str) -> list[str]:
    """Return the cells of a line of ARFF; a cell may be in either quotes."""
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    cells = []
    end = -1
    while end < len(text):
        match = _ARFF_CELL.match(text, end + 1)
        if match is None:
            raise user_error("not an ARFF row", "check the quotes", where)
        cells.append(_ESCAPE.sub(r"\1", match[2] or match[3] or "") or (match[4] or "").strip())
        end = match.end("cell")
    return cells


def _arff_header(lines: list[str], path: Path) -> tuple[int, list[str], dict[str, tuple[str, ...]]]:
    """Return the index of the first line after @data, the column names and the declared levels."""
    names: list[str] = []
    declared: dict[str, tuple[str, ...]] = {}
    for i, line in enumerate(lines):
        text = line.strip()
        where = f"{path}:{i + 1}"
        word = text.lower()
        if word == "@data" and names:
            return i + 1, names, declared
        match = _ATTRIBUTE.fullmatch(text)
        if match:
            name = match[1].strip("'\"")
            domain = match[2].strip()
            names.append(name)
            if domain.startswith("{") and domain.endswith("}"):
                declared[name] = tuple(_split(domain[1:-1], where))
        elif text and not word.startswith(("%", "@relation")):
            fix = "write @attribute NAME {level, level}; in a CSV's card, leave out format: arff"
            raise user_error(f'not a line of an ARFF header: "{text[:40]}"', fix, where)
    raise user_error("no @data line", "give an ARFF file, or leave out format: arff in the card", str(path))


def separator_of(lines: list[str]) -> str:
    r"""Return the separator of the cells: what gives every line the same number of them, of two the most.

    Where nothing does, it is what gives the first line the most.

    >>> separator_of(["a;b;c", "1,5;2;x"]), separator_of(["A11 6 A34", "A12 48  A32"])
    (';', ' ')
    """
    found: dict[str, int] = {}
    for one in SEPARATORS:
        try:
            widths = {len(row) for row in split_lines(lines, one)}
        except csv.Error:
            continue
        if len(widths) == 1 and (width := widths.pop()) > 1:
            found[one] = width
    found = found or {one: lines[0].count(one) for one in (",", *SEPARATORS)}
    return max(found, key=lambda one: found[one])


def split_lines(lines: list[str], separator: str) -> list[list[str]]:
    """Return the stripped cells of lines; raises `csv.Error` where quotes are wrong."""
    if separator == " ":
        lines = [line.rstrip(" ") for line in lines]
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    return [[cell.strip() for cell in row] for row in reader]
