"""How a data file is laid out: what separates its cells, and whether its first row names the columns."""

import csv
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Literal

import pandas as pd

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.data.columns import is_number
from fairbench_cli.data.files import read_cells, separator_of, split_lines

LINES = 1000  # of the file that are looked at
SEPARATOR_NAMES = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}


@dataclass(frozen=True)
class FileLayout:
    """How to read a data file, in the words of a card."""

    format: Literal["csv", "arff", "parquet"] = "csv"
    separator: str = ","
    header: bool = True


def layout_of(path: Path, separator: str | None = None, header: bool | None = None) -> FileLayout:
    """Return how a file is laid out; what is given is not guessed.

    Raises
    ------
    UserError
        When it cannot be read or is empty.
    """
    for format_ in ("arff", "parquet"):
        if path.suffix.lower() == f".{format_}":
            if not path.is_file():
                raise user_error(f"no such file: {path}", "check the path")
            return FileLayout(format_)
    text = read_text(path, "utf-8-sig", newline="")
    lines = [line.rstrip("\r\n") for line in islice(StringIO(text, newline=""), LINES) if line.strip()]
    if not lines:
        raise user_error("the file is empty", "give a file with rows", f"{path}:1")
    chosen = separator or separator_of(lines)
    try:
        rows = split_lines(lines, chosen)
    except csv.Error:
        rows = []  # whoever reads the file says where the quotes are wrong
    return FileLayout("csv", chosen, (not rows or has_header(rows)) if header is None else header)


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns.

    It does if none of its cells is a number and a number stands below one; or if they are different texts,
    most of which never occur again in their column.

    >>> has_header([["sex", "age"], ["f", "30"]]), has_header([["f"], ["m"], ["f"], ["m"]])
    (True, False)
    """
    first, *others = rows
    filled = [cell for cell in first if cell]
    if any(map(is_number, filled)) or len(filled) < len(first) - 1:
        return False
    columns = list(zip(*others, strict=False))
    if any(is_number(cell) for column in columns for cell in column[:5]):
        return True
    if len(set(filled)) < len(filled):
        return False
    return sum(cell not in column for cell, column in zip(first, columns, strict=False)) > len(first) / 2


def named_cells(path: Path, layout: FileLayout, names: list[str] | None) -> pd.DataFrame:
    """Return the cells of a file with their columns named: by `names`, the header, or ``column1`` and so on.

    Raises
    ------
    UserError
        When the file cannot be read, or names do not fit it, or two different columns have one.
    """
    header = layout.header
    frame = read_cells(path, layout.format, header=header, separator=layout.separator).frame.astype(object)
    width = frame.shape[1]
    if names is None and not header:
        names = [f"column{j + 1}" for j in range(width)]
    if names is not None:
        if len(names) != width:
            what = f"--columns names {len(names)} columns, but the file has {width}"
            raise user_error(what, "name every column, in the file's order", "--columns")
        frame.columns = pd.Index(names, dtype=object)
    again = frame.columns.duplicated()
    for name in frame.columns[again]:
        same = frame.loc[:, frame.columns == name]
        if names is not None or any(
            not same.iloc[:, 0].equals(same.iloc[:, j]) for j in range(same.shape[1])
        ):
            where = "--columns" if names is not None else f"{path}:1"
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
    return frame.loc[:, ~again]
