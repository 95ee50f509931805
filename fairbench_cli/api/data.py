"""Data sets: of a card, and the rows of any frame as a table of levels."""

from pathlib import Path
from typing import Any

import pandas as pd

from fairbench_cli.base.errors import ArgumentError, Problem, user_error
from fairbench_cli.data.card import Card
from fairbench_cli.data.columns import Misfit, by_byte_value, coded
from fairbench_cli.data.load import MANY, Dataset
from fairbench_cli.data.load import load as load_files
from fairbench_cli.data.locate import find_files
from fairbench_cli.data.table import Roles, Table, table_of


def load(name: str | Path, *, data_dir: str | Path | None = None) -> Dataset:
    """Return a data set: its rows, its card, and who is deprived.

    Parameters
    ----------
    name : str or Path
        Of a shipped data set such as "adult", or the path of a card.
    data_dir : str or Path, optional
        Where its files are; by default ``$FAIRBENCH_DATA``, the card's folder and the cache.

    Raises
    ------
    UserError
        When there is no such card, a file is missing or another one, or the two do not fit.
    """
    return load_files(*find_files(str(name), None if data_dir is None else Path(data_dir)))


def to_pandas(frame: Any) -> pd.DataFrame:
    """Return a pandas or Polars frame or an Arrow table as a pandas frame.

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if isinstance(frame, pd.DataFrame):
        return frame
    if hasattr(frame, "to_pydict"):  # an Arrow table
        return pd.DataFrame(frame.to_pydict())
    if type(frame).__module__.partition(".")[0] == "polars" and hasattr(frame, "to_dict"):
        return pd.DataFrame(frame.to_dict(as_series=False))
    what = f"an object of type {type(frame).__name__} is no data set"
    raise ArgumentError(Problem(what, "give what load() returns, or a pandas, Polars or Arrow table"))


def to_table(frame: Any) -> Table:
    """Return the rows of a frame as levels.

    Values are levels by their text, in the order of their bytes, as `fairbench network learn` reads a CSV;
    those of a pandas categorical keep its order. A missing value is the level "".

    Raises
    ------
    UserError
        For a column of more than 50 different numbers, which would each be a level, and for no rows.
    ArgumentError
        When it is no frame.

    Examples
    --------
    >>> age = pd.Categorical(["old", "young"], ["young", "old"])
    >>> table = to_table(pd.DataFrame({"sex": ["m", "f"], "age": age}))
    >>> [column.levels for column in table.columns], table.codes.tolist()
    ([('f', 'm'), ('young', 'old')], [[1, 1], [0, 0]])
    """
    rows = to_pandas(frame)
    if rows.empty:
        raise user_error("the frame has no rows, or no columns", "give one row per person")
    columns = []
    for name, cells in zip(
        map(str, rows.columns), (rows.iloc[:, j] for j in range(rows.shape[1])), strict=True
    ):
        levels = None
        if isinstance(cells.dtype, pd.CategoricalDtype):
            levels = tuple(str(level) for level in cells.cat.remove_unused_categories().cat.categories)
        elif pd.api.types.is_numeric_dtype(cells) and cells.nunique() > MANY:
            what = f'column "{name}" has {cells.nunique()} different numbers, each of which would be a level'
            raise user_error(what, f'cut it into bins, as in pd.cut(frame["{name}"], 5), or leave it out')
        text = cells.astype(object).where(cells.notna(), "").map(str)
        if levels is not None and (text == "").any():
            levels = tuple(dict.fromkeys(("", *levels)))
        try:
            columns.append(coded(name, text, levels or by_byte_value(text)))
        except Misfit as misfit:
            raise user_error(misfit.what, misfit.fix) from None
    names = [column.name for column, _ in columns]
    if len(set(names)) < len(names):
        raise user_error("two columns have the same name", "give every column a name of its own")
    return table_of(columns)


def card_of(roles: Roles, name: str) -> Card:
    """Return a card that says of a frame what `roles` say."""
    return Card.model_validate(
        {
            "name": name,
            "files": [{"name": name}],
            "label": {"column": roles.label, "favourable": roles.favourable},
            "protected": {
                roles.attribute: {"deprived": list(roles.deprived), "favoured": list(roles.favoured)}
            },
        }
    )
