"""Read data files as text cells: CSV and ARFF, nothing guessed."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairbench_cli.errors import user_error

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']+'|\"[^\"]+\"|\S+)\s+(.*)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Cells:
    """A file's cells as text, and the levels that the file itself declares (ARFF), by column."""

    frame: pd.DataFrame
    declared: dict[str, tuple[str, ...]]


def read_cells(
    path: Path, kind: str, *, header: bool = True, separator: str = ",", comment: str | None = None
) -> Cells:
    """Read a file into stripped text cells; columns of a file without header are called 0, 1, …

    Raises
    ------
    UserError
        For an empty file, a row of another length than the first, or bytes that are not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(stream)
    except UnicodeDecodeError as error:
        raise user_error(
            f"{path} is not UTF-8 text (byte {error.start})", "convert it: iconv -f latin1 -t utf-8"
        ) from None
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check the path and permissions") from None
    first, names, declared = 0, None, dict[str, tuple[str, ...]]()
    if kind == "arff":
        first, names, declared = _arff_header(lines, path)
        comment = "%"
    rows = list(_rows(lines[first:], separator, comment, first))
    if header and kind != "arff" and rows:
        names = rows.pop(0)[1]
    if not rows:
        raise user_error(f"{path} has no rows", "give a file with at least one row of data")
    names = names or [str(j) for j in range(len(rows[0][1]))]
    for line, row in rows:
        if len(row) != len(names):
            raise user_error(
                f"{len(row)} cells where {len(names)} are expected",
                "check the separator, quotes and missing cells of this row",
                f"{path}:{line}",
            )
    columns = list(zip(*(row for _, row in rows), strict=True))
    frame = pd.DataFrame({j: pd.Series(column, dtype=object) for j, column in enumerate(columns)})
    frame.columns = pd.Index(names)
    return Cells(frame, declared)


def _rows(
    lines: list[str], separator: str, comment: str | None, offset: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row that is neither blank nor a comment."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    for row in reader:
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        if comment is not None and row[0].startswith(comment):
            continue
        yield reader.line_num + offset, [cell.strip() for cell in row]


def _arff_header(lines: list[str], path: Path) -> tuple[int, list[str], dict[str, tuple[str, ...]]]:
    """Return the index of the first line after @data, the column names and the declared levels."""
    names: list[str] = []
    declared: dict[str, tuple[str, ...]] = {}
    for i, line in enumerate(lines):
        text = line.strip()
        if text.lower() == "@data":
            return i + 1, names, declared
        match = _ATTRIBUTE.fullmatch(text)
        if match:
            name, domain = match[1].strip("'\""), match[2].strip()
            names.append(name)
            if domain.startswith("{"):
                inner = next(csv.reader([domain.strip("{}")], quotechar="'", skipinitialspace=True))
                declared[name] = tuple(level.strip() for level in inner)
    raise user_error(f"{path} has no @data line", "give an ARFF file, or write format: csv in the card")
