"""Read data files as text cells: CSV, ARFF and Parquet, nothing guessed."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from fairbench_cli.base.encodings import ADVICE, WINDOWS
from fairbench_cli.base.errors import format_value, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.stored_files import HEAD, PARQUET, is_arff, refuse_kind
from fairbench_cli.data.columns import relabel_cells, to_categories

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']+'|\"[^\"]+\"|\S+)\s+(.*)", re.IGNORECASE)

_ARFF_CELL = re.compile(
    r"""(?P<cell>\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*|))\s*)(?=,|$)"""
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_UNIX_LINE = re.compile(r".*\n|.+")  # the same without a \r, faster
_ESCAPE = re.compile(r"\\(.)")
UTF8 = "utf-8-sig"  # with a byte order mark or without
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
        One column of text per column, as `to_categories` makes them; names may repeat or be empty.
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


FileFormat = Literal["csv", "arff", "parquet"]


def find_file_format(path: Path) -> FileFormat:
    """Return the format of a file by its ending or what it begins with.

    Raises
    ------
    UserError
        When there is no such file, or it is of another program.
    """
    if not path.is_file():
        raise user_error(f"no such file: {path}", "check the path")
    with path.open("rb") as file:
        head = file.read(HEAD)
    if path.suffix.lower() == ".parquet" or head.startswith(PARQUET):
        return "parquet"
    if path.suffix.lower() == ".arff" or is_arff(head):
        return "arff"
    refuse_kind(head, str(path))
    return "csv"


def read_cells(
    path: Path,
    kind: str = "csv",
    *,
    header: bool = True,
    separator: str = ",",
    comment: str | None = None,
    encoding: str = UTF8,
    is_wanted: Callable[[str], bool] | None = None,
) -> TextCells:
    """Return a file as stripped text cells; without a header, columns are called 0, 1 and so on.

    Blank lines are left out, unless the file has one column only: there, each is an empty cell. Columns whose
    name is not wanted are left out too, unless none is.

    Raises
    ------
    UserError
        For an empty file, a row of another length than the first, or bytes that are no text in the encoding.
    """
    if kind == "parquet":
        return _read_parquet(path, is_wanted)
    with suppress(OSError), path.open("rb") as file:
        refuse_kind(file.read(HEAD), str(path))
    fix = f"write its encoding in the card, likely encoding: {WINDOWS}; else {ADVICE}"
    text = read_text(path, encoding, newline="", encoding_fix=fix)
    declared: dict[str, tuple[str, ...]] = {}
    if kind == "arff":
        lines = list(_lines(text))
        start, names, declared = _arff_header(lines, path)
        selected = _select_columns(names, is_wanted)
        numbers, columns = _read_columns(
            _arff_rows(lines, start, path), len(names), path, "the header", selected
        )
    else:
        rows = _csv_rows(_lines(text, separator), separator, comment, path)
        first_row = next((row for row in rows if row[1] not in _BLANK), None)
        if first_row is None:
            raise user_error("the file is empty", "give a file with rows", f"{path}:1")
        names = [name.strip() if header else str(j) for j, name in enumerate(first_row[1])]
        selected = _select_columns(names, is_wanted)
        reference, remaining_rows = (
            ("the header", rows) if header else ("the first row", chain([first_row], rows))
        )
        fix = _row_fix(list(islice(_lines(text), 100)), names)
        numbers, columns = _read_columns(remaining_rows, len(names), path, reference, selected, fix)
    if not numbers:
        raise user_error("the file has column names but no rows", "give at least one row", str(path))
    return TextCells(path, _frame(columns, [names[j] for j in selected]), numbers, declared, tuple(names))


def _lines(text: str, separator: str = "") -> Iterator[str]:
    """Yield the lines of a text with their ends, one at a time: a list takes as much memory as the text."""
    for match in (_LINE if "\r" in text else _UNIX_LINE).finditer(text):
        # Blanks at the end are no empty cell.
        yield match[0].rstrip(" \r\n") + "\n" if separator == " " else match[0]


def _row_fix(lines: list[str], names: list[str]) -> str:
    """Return the fix for a row of another length; where a semicolon, say, cuts all, it names that."""
    fitting = " "
    if len(names) == 1:
        fitting = guess_separator([line for line in lines if line.strip()])
    if fitting in names[0] and fitting != " ":
        return f"write separator: {format_value(fitting)}"
    return _EVERY_ROW


def _select_columns(names: list[str], is_wanted: Callable[[str], bool] | None) -> list[int]:
    """Return which columns are wanted; all, if none is."""
    indices = range(len(names))
    return [j for j in indices if is_wanted is None or is_wanted(names[j])] or list(indices)


def _frame(columns: Iterable[Sequence[str]], names: list[str]) -> pd.DataFrame:
    """Return columns of cells, stripped."""
    stripped = (relabel_cells(to_categories(cells), str.strip) for cells in columns)
    frame = pd.DataFrame(dict(enumerate(stripped)))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def has_different_cells(frame: pd.DataFrame, name: str) -> bool:
    """Return whether the columns called `name` have different cells."""
    columns = frame.loc[:, frame.columns == name]
    return not all(columns.iloc[:, 0].equals(columns.iloc[:, j]) for j in range(1, columns.shape[1]))


def _read_parquet(path: Path, is_wanted: Callable[[str], bool] | None) -> TextCells:
    """Return a Parquet file as text cells; a null is an empty cell, and a row's line its number."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar=false")
            empty_query = connection.execute("SELECT * FROM read_parquet($path) LIMIT 0", {"path": str(path)})
            names = [str(column[0]) for column in empty_query.description or ()]
            selected = [names[j] for j in _select_columns(names, is_wanted)]
            frame = _frame((_parquet_column(connection, path, name) for name in selected), selected)
    except (duckdb.Error, OSError) as error:
        first_line = str(error).splitlines()[0]
        raise user_error(
            f"not a Parquet file: {first_line}", "check the path and the format", str(path)
        ) from None
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


def _read_columns(
    rows: Iterable[Row], width: int, path: Path, reference: str, selected: list[int], fix: str = _EVERY_ROW
) -> tuple[list[int], Iterator[list[str]]]:
    """Return the lines of the rows that are not blank, and some columns, checking that each row has `width`.

    Equal cells of a column are one text in memory, unless it has very many.
    """
    lines: list[int] = []
    block: list[list[str]] = []
    columns: list[list[str]] = [[] for _ in selected]
    shared_texts: list[dict[str, str]] = [{} for _ in selected]

    def turn() -> None:
        block_columns = list(zip(*block, strict=True))
        for j, cells, texts in zip(selected, columns, shared_texts, strict=True) if block else ():
            shared = len(texts) <= MOST_SHARED
            cells.extend(
                map(texts.setdefault, block_columns[j], block_columns[j]) if shared else block_columns[j]
            )
        block.clear()

    for line, row in rows:
        if len(row) < 2 and row in _BLANK:
            if width > 1:
                continue
            row = [""]  # in a single column a blank line is an empty cell
        if len(row) != width:
            raise user_error(f"the row has {len(row)} cells, {reference} {width}", fix, f"{path}:{line}")
        lines.append(line)
        block.append(row)
        if len(block) == BLOCK:
            turn()
    turn()
    shared_texts.clear()
    columns.reverse()
    return lines, (columns.pop() for _ in selected)  # each is freed as soon as it has been looked at


def _arff_rows(lines: list[str], start: int, path: Path) -> Iterator[Row]:
    """Yield the rows of an ARFF file, in which either quote may be used."""
    for line, text in enumerate(lines[start:], start + 1):
        row = text.strip()
        if not row or row.startswith("%"):
            continue
        if row.startswith("{"):
            raise user_error("sparse ARFF is not read", "write every cell out", f"{path}:{line}")
        yield line, _split_arff_line(row, f"{path}:{line}")


def _split_arff_line(text: str, where: str) -> list[str]:
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
                declared[name] = tuple(_split_arff_line(domain[1:-1], where))
        elif text and not word.startswith(("%", "@relation")):
            fix = "write @attribute NAME {level, level}; in a CSV's card, leave out format: arff"
            raise user_error(f'not a line of an ARFF header: "{text[:40]}"', fix, where)
    raise user_error("no @data line", "give an ARFF file, or leave out format: arff in the card", str(path))


def guess_separator(lines: list[str]) -> str:
    r"""Return the separator of the cells: what gives every line the same number of them, of two the most.

    Where nothing does, it is what gives the first line the most.

    >>> guess_separator(["a;b;c", "1,5;2;x"]), guess_separator(["A11 6 A34", "A12 48  A32"])
    (';', ' ')
    """
    n_columns: dict[str, int] = {}
    for separator in SEPARATORS:
        try:
            widths = {len(row) for row in split_lines(lines, separator)}
        except csv.Error:
            continue
        if len(widths) == 1 and (width := widths.pop()) > 1:
            n_columns[separator] = width
    if not n_columns:
        for separator in chain([","], SEPARATORS):
            n_columns[separator] = lines[0].count(separator)
    return max(n_columns, key=lambda separator: n_columns[separator])


def split_lines(lines: list[str], separator: str) -> list[list[str]]:
    """Return the stripped cells of lines; raises `csv.Error` where quotes are wrong."""
    if separator == " ":
        lines = [line.rstrip(" ") for line in lines]
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    return [[cell.strip() for cell in row] for row in reader]
