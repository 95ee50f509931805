"""A bare CSV as a table: every column nominal, every cell text."""

from pathlib import Path

import numpy as np

from fairbench_cli.data.files import read_cells
from fairbench_cli.data.levels import Misfit, coded
from fairbench_cli.data.table import Table
from fairbench_cli.errors import user_error


def table_from_csv(path: str | Path) -> Table:
    """Read a CSV whose first line names the columns, as `data.load.load` would by a card that says no more.

    Nothing is a missing value: ``?``, ``NA`` and the empty cell are levels like any other. Blanks around a
    cell are no part of it. The levels of a column are those that occur, ordered by their UTF-8 bytes; columns
    keep the order of the file.

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
    frame = read_cells(Path(path)).frame
    _check_names(list(frame.columns), f"{path}:1")
    columns, codes = [], []
    for j, name in enumerate(frame.columns):
        try:
            column, code = coded(name, frame.iloc[:, j])
        except Misfit as misfit:
            raise user_error(misfit.what, misfit.fix, str(path)) from None
        columns.append(column)
        codes.append(code)
    return Table(tuple(columns), np.asfortranarray(np.column_stack(codes)))


def _check_names(names: list[str], where: str) -> None:
    for j, name in enumerate(names):
        if name == "":
            raise user_error(f"column {j + 1} has no name", "name every column in the first line", where)
        if name in names[:j]:
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
