"""The cells of a file without a card: how it is laid out, its columns' names, what means a missing value."""

import csv
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.encodings import ADVICE, WINDOWS
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.data import files
from fairbench_cli.data.columns import is_number, relabel_cells
from fairbench_cli.data.load import MOST_PEOPLE
from fairbench_cli.data.number_writing import GAPS, GAPS_AMONG_NUMBERS, PLAIN, NumberDoubt, find_writing
from fairbench_cli.data.recognise import named_like_counts
from fairbench_cli.data.table_edges import find_cut, find_table, has_header

MOST_CELLS = 10_000  # of a table of counts
Mask = NDArray[np.bool_]
LINES = 1000  # of the file that are looked at
LOOKED_AT = 1 << 18  # characters, in which the names are looked for
SEPARATOR_NAMES = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}


@dataclass(frozen=True)
class FileLayout:
    """How to read a data file, in the words of a card."""

    format: Literal["csv", "arff", "parquet"] = "csv"
    separator: str = ","
    header: bool = True
    encoding: str | None = None


def guess_layout(
    path: Path, separator: str | None = None, header: bool | None = None, encoding: str | None = None
) -> FileLayout:
    """Return how a file is laid out; what is given is not guessed.

    Raises
    ------
    UserError
        When it cannot be read or is empty.
    """
    kind = files.find_file_format(path)
    if kind != "csv":
        return FileLayout(kind, encoding=encoding)
    fix = ("name its encoding, likely ", Flag("encoding", WINDOWS), f"; else {ADVICE}")
    text = read_text(path, encoding or files.UTF8, newline="", encoding_fix=fix)
    lines = [line.rstrip("\r\n") for line in islice(StringIO(text, newline=""), LINES) if line.strip()]
    if not lines:
        raise user_error("the file is empty", "give a file with rows", f"{path}:1")
    chosen = separator or files.guess_separator(lines)
    try:
        rows = files.split_lines(lines, chosen)
    except csv.Error:
        rows = []  # whoever reads the file says where the quotes are wrong
    if header is None and chosen == " " and len(set(map(len, rows))) > 1:
        _refuse_surroundings(path, text, lines[:1], ",")
    elif header is None and rows and chosen != " ":
        _refuse_surroundings(path, text, rows[0], chosen)
    if header is None:
        header = not rows or has_header(rows)
    return FileLayout("csv", chosen, header, encoding)


def _refuse_surroundings(path: Path, text: str, first_row: list[str], separator: str) -> None:
    """Refuse a text with something above the names or below the rows: a card names a whole file."""
    table = find_table(text[:LOOKED_AT], first_row, separator, str(path))
    line, above = (1, 1) if table is None else (table.names_line, table.lines_above)
    width = len(first_row if table is None else table.names)
    cut = find_cut(path, separator if table is None else table.separator, width) if width > 1 else None
    notes = (() if table is None else table.notes) + (() if cut is None else cut[1])
    if not notes:
        return
    last = "$" if cut is None else path.read_bytes()[: cut[0]].count(b"\n")
    lines = f"{line},{last}p" if line == above else f"{line}p;{above + 1},{last}p"
    paths = [shlex.quote(str(name)) for name in (path, path.with_stem(f"{path.stem}-table"))]
    fix = f"write those that are to a file, and name that: sed -n '{lines}' {paths[0]} > {paths[1]}"
    reasons = " ".join(notes).replace("is left out", "is none of it")
    raise user_error(f"not all lines are rows of the table. {reasons}", fix, f"{path}:{line}")


def read_named_cells(path: Path, layout: FileLayout, names: list[str] | None) -> pd.DataFrame:
    """Return the cells of a file with their columns named: by `names`, the header, or ``column1`` and so on.

    Raises
    ------
    UserError
        When the file cannot be read, or names do not fit it, or two different columns have one.
    """
    header = layout.header
    cells = files.read_cells(
        path, layout.format, header=header, separator=layout.separator, encoding=layout.encoding or files.UTF8
    )
    frame = cells.frame.astype(object)
    width = frame.shape[1]
    if names is None and not header:
        names = [f"column{j + 1}" for j in range(width)]
    if names is not None:
        if len(names) != width:
            problem = f"--columns names {len(names)} columns, but the file has {width}"
            raise user_error(problem, "name every column, in the file's order", "--columns")
        frame.columns = pd.Index(names, dtype=object)
    again = frame.columns.duplicated()
    for name in frame.columns[again]:
        if names is not None or files.has_different_cells(frame, name):
            if names is not None:
                where = "--columns"
            else:
                where = f"{path}:1"
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
    return frame.loc[:, ~again]


@dataclass(frozen=True, eq=False)
class RawCells:
    """The cells of a table without a card, and how to read them.

    Parameters
    ----------
    cells : DataFrame
        Text, numbers as plain ones.
    gaps : tuple of str
        Those that mean a missing value.
    layout : FileLayout
        How the file is laid out.
    doubts : dict of str to NumberDoubt
        Why numbers of a column cannot be read, by column.
    counts : str or None
        The column of the file that counts the people of each row; there is a row for each of them here.
    copies : int
        How many rows of the file were copies of others, which are not here.
    """

    cells: pd.DataFrame
    gaps: tuple[str, ...]
    layout: FileLayout = FileLayout()
    doubts: Mapping[str, NumberDoubt] = field(default_factory=dict)
    counts: str | None = None
    copies: int = 0

    @property
    def named_columns(self) -> "RawCells":
        """The same less a column without a name."""
        return replace(self, cells=self.cells.drop(columns="", errors="ignore"))

    def repeat_by_count(self, name: str) -> "RawCells":
        """Return each row as often as the column called `name` says, less that column."""
        people = self.cells[name].astype(float).astype(int)
        rows = self.cells.drop(columns=name).loc[self.cells.index.repeat(people)]
        return replace(self, cells=rows.reset_index(drop=True), counts=name)

    def without(self, copies: Mask) -> "RawCells":
        """Return the same less the rows that are copies."""
        return replace(self, cells=self.cells[~copies].reset_index(drop=True), copies=int(copies.sum()))

    def has_values(self, *names: str) -> Mask:
        """Return which rows have a value in each of some columns."""
        return ~self.cells[list(names)].isin(self.gaps).any(axis=1).to_numpy(dtype=bool)

    def present_cells(self, name: str) -> "pd.Series[str]":
        """Return the cells of a column that hold a value."""
        return self.cells[name][self.has_values(name)]


def to_raw_cells(cells: pd.DataFrame, layout: FileLayout) -> RawCells:
    """Return named cells with what they seem to mean: numbers as plain ones, and which are missing."""
    doubts: dict[str, NumberDoubt] = {}
    numbers: dict[str, pd.Series[str]] = {}
    for name in cells.columns:
        writing = find_writing(cells[name].unique())
        if isinstance(writing, NumberDoubt):
            doubts[name] = writing
        elif writing is not None and writing != PLAIN:
            numbers[name] = relabel_cells(cells[name], writing.to_plain)
    cells = cells.assign(**numbers)
    return RawCells(cells, _find_gaps(cells), layout, doubts)


def _find_gaps(cells: pd.DataFrame) -> tuple[str, ...]:
    """Return the cells of a table that seem to mean a missing value, in their usual order."""
    gaps = {gap for gap in GAPS if (cells == gap).to_numpy().any()}
    for name in cells.columns:
        values = set(cells[name]) - set(GAPS)
        numbers = values & set(GAPS_AMONG_NUMBERS)
        if numbers and len(values) > len(numbers) and all(map(is_number, values - numbers)):
            gaps |= numbers
    return tuple(gap for gap in GAPS + GAPS_AMONG_NUMBERS if gap in gaps)


def find_counts_column(cells: pd.DataFrame) -> str | None:
    """Return the column that counts the people of each row, if the table is a cross of all others.

    >>> cells = pd.DataFrame({"sex": ["f", "f", "m"], "y": ["0", "1", "0"], "Freq": ["3", "0", "12"]})
    >>> find_counts_column(pd.concat([cells, cells.tail(1).assign(y="1")])), find_counts_column(cells)
    ('Freq', None)
    """
    if len(cells) > MOST_CELLS:
        return None
    count_columns = [name for name in cells.columns if named_like_counts(str(name), in_full=True)]
    crossed_columns = cells.drop(columns=count_columns)
    crossed_columns = crossed_columns.loc[
        :, crossed_columns.nunique() < len(crossed_columns)
    ]  # less the names of rows
    if len(count_columns) != 1 or crossed_columns.shape[1] < 2 or crossed_columns.duplicated().any():
        return None
    are_counts = all(is_number(cell, whole=True) and float(cell) >= 0 for cell in cells[count_columns[0]])
    crossed = are_counts and math.prod(crossed_columns.nunique()) == len(cells)
    if crossed and 0 < cells[count_columns[0]].astype(float).sum() <= MOST_PEOPLE:
        return count_columns[0]
    return None
