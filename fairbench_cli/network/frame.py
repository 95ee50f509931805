"""A bare CSV as a table: every column nominal, every cell text."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fairbench_cli.data.table import Codes, Column, Table
from fairbench_cli.errors import user_error

MOST_LEVELS = int(np.iinfo(np.int16).max) + 1


def table_from_csv(path: str | Path) -> Table:
    """Read a CSV whose first line names the columns.

    Nothing is a missing value: ``?``, ``NA`` and the empty cell are levels like any other. The levels of a
    column are those that occur, ordered by their UTF-8 bytes; columns keep the order of the file.

    Parameters
    ----------
    path : str or Path
        Comma-separated UTF-8 text, with or without a byte order mark.

    Raises
    ------
    UserError
        No such file, not UTF-8, no rows, a row of another length than the header, a column name that is empty
        or comes twice, or a column with more than 32,768 levels.
    """
    header, rows = _read(Path(path))
    columns, codes = [], np.empty((len(rows), len(header)), dtype=np.int16, order="F")
    for j, (name, cells) in enumerate(zip(header, zip(*rows, strict=True), strict=True)):
        column, codes[:, j] = _encode(name, cells, path)
        columns.append(column)
    return Table(tuple(columns), codes)


def _encode(name: str, cells: tuple[str, ...], path: str | Path) -> tuple[Column, Codes]:
    levels = sorted(set(cells), key=str.encode)
    if len(levels) > MOST_LEVELS:
        raise user_error(
            f'column "{name}" has {len(levels)} levels, more than {MOST_LEVELS}',
            "drop it (an identifier?) or put its values into bins",
            str(path),
        )
    code = {level: k for k, level in enumerate(levels)}
    return Column(name, tuple(levels)), np.array([code[cell] for cell in cells], dtype=np.int16)


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _rows(file, str(path))
    except FileNotFoundError:
        raise user_error(f"no such file: {path}", "check the path") from None
    except OSError as error:
        raise user_error(
            f"cannot read {path}: {error.strerror}", "check the path and its permissions"
        ) from None
    except UnicodeDecodeError:
        raise user_error("the file is not UTF-8 text", "save it as UTF-8", str(path)) from None


def _rows(lines: Iterable[str], path: str) -> tuple[list[str], list[list[str]]]:
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, None)
        if not header:
            raise user_error("the file is empty", "give a CSV with a line of column names", f"{path}:1")
        _check_header(header, f"{path}:{reader.line_num}")
        rows = []
        for row in reader:
            if not row:
                if len(header) > 1:
                    continue  # a blank line
                row = [""]
            if len(row) != len(header):
                raise user_error(
                    f"the row has {len(row)} cells, the header {len(header)}",
                    'give every row one cell a column; quote cells that contain commas ("a, b")',
                    f"{path}:{reader.line_num}",
                )
            rows.append(row)
    except csv.Error as error:
        raise user_error(f"not a CSV row: {error}", "check the quotes", f"{path}:{reader.line_num}") from None
    if not rows:
        raise user_error("the file has column names but no rows", "give at least one row", path)
    return header, rows


def _check_header(header: list[str], where: str) -> None:
    for j, name in enumerate(header):
        if name == "":
            raise user_error(f"column {j + 1} has no name", "name every column in the first line", where)
        if name in header[:j]:
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
