"""Frames and arrays as tables: the columns are learned from training rows, and later rows fitted to them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.errors import ArgumentError, Problem, user_error
from fairbench_cli.data.columns import MISSING, Misfit, encode_levels, format_levels, keep_numbers
from fairbench_cli.data.load import MANY_LEVELS
from fairbench_cli.data.table import VALUES, Coded, Column, Table, make_table


def learned(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns of a frame of training rows, to which other rows are `fitted`.

    Numbers are numbers, and may be others in other rows. All else are levels by their text: of a pandas
    categorical those that it declares, in its order, and bins where it is ordered; otherwise those that
    occur, by their bytes. A missing value is the level "".

    Raises
    ------
    UserError
        When two columns have one name, or one of texts has more than 32,768 levels.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20.0, 40.0], "sex": ["m", "f"]})
    >>> age, sex = learned(frame)
    >>> fitted(age, pd.Series([25]))[0].levels, sex.levels
    (('25',), ('f', 'm'))
    """
    values = frame.attrs.get(VALUES, {})
    return tuple(
        _learned(name, cells, tuple(values.get(name, ()))) for name, cells in _columns_by_name(frame).items()
    )


def _columns_by_name(frame: pd.DataFrame) -> dict[str, "pd.Series[Any]"]:
    """Return the columns of a frame by name; refuse a name that comes twice."""
    columns = {str(name): frame.iloc[:, j] for j, name in enumerate(frame.columns)}
    if len(columns) < frame.shape[1]:
        raise user_error("two columns have the same name", "give every column a name of its own")
    return columns


def texts_of(cells: "pd.Series[Any]") -> "pd.Series[str]":
    """Return cells as text; a missing one is "".

    >>> texts_of(pd.Series([1, 0.5, None], dtype=object)).tolist()
    ['1', '0.5', '']
    """
    return cells.astype(object).where(cells.notna(), "").map(str)


def is_number_column(cells: "pd.Series[Any]") -> bool:
    """Return whether cells are numbers by their type; true and false are levels."""
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)


def _learned(name: str, cells: "pd.Series[Any]", values: tuple[float, ...]) -> Column:
    if is_number_column(cells):
        return keep_numbers(name, np.concatenate([_numbers(cells), np.asarray(values, dtype=np.float64)]))[0]
    if not isinstance(cells.dtype, pd.CategoricalDtype):
        return encode_levels(name, texts_of(cells))[0]
    levels = tuple(map(str, cells.cat.categories))
    if cells.isna().any() and "" not in levels:
        levels = ("", *levels)
    elif cells.cat.ordered:
        if len(values) != len(levels):
            values = tuple(map(float, range(len(levels))))
        return Column(name, levels, "bins", values)
    return Column(name, levels)


def fitted(column: Column, cells: "pd.Series[Any]") -> Coded:
    """Return a learned column with the codes of cells; of numbers that are new a column of their own.

    Raises
    ------
    UserError
        When a value is no level of the column, or no number.
    """
    if column.kind == "number":
        if not is_number_column(cells):
            problem = f'column "{column.name}" holds numbers in training, and here {cells.dtype}'
            raise user_error(problem, "give the same kind of values")
        numbers = _numbers(cells)
        trained_values = np.asarray(column.values)
        codes = np.minimum(np.searchsorted(trained_values, numbers), len(trained_values) - 1)
        if (trained_values[codes] == numbers).all():
            return column, codes.astype(np.int16)
        return keep_numbers(column.name, numbers)
    try:
        _, codes = encode_levels(column.name, texts_of(cells), column.levels)
    except Misfit as misfit:
        listed = format_levels(column.levels)
        problem = f'column "{column.name}" has "{misfit.cell}", which no training row has ({listed})'
        fix = f'let it be a category before rows are divided: X["{column.name}"].astype("category")'
        raise user_error(problem, fix) from None
    return column, codes


def _numbers(cells: "pd.Series[Any]") -> NDArray[np.float64]:
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)


def is_one_of(cells: "pd.Series[Any]", values: Iterable[Any]) -> NDArray[np.bool_]:
    """Return which cells are one of some values, or have the text of one.

    >>> is_one_of(pd.Series([0.0, 1.0]), ["0"]).tolist(), is_one_of(pd.Series(["f", "m"]), ["f"]).tolist()
    ([True, False], [True, False])
    """
    numbers_as_text = set(map(str, values))
    if is_number_column(cells):
        column, codes = keep_numbers("", _numbers(cells))
        numbers_as_text = {text.removesuffix(".0") for text in numbers_as_text}
        return np.isin(codes, [code for code, level in enumerate(column.levels) if level in numbers_as_text])
    return texts_of(cells).isin(numbers_as_text).to_numpy(dtype=bool)


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
    problem = f"an object of type {type(frame).__name__} is no data set"
    raise ArgumentError(Problem(problem, "give what load() returns, or a pandas, Polars or Arrow table"))


def to_table(frame: Any) -> Table:
    """Return the rows of a frame as levels.

    Values are levels by their text, in the order of their bytes, as `fairbench network learn` reads a CSV;
    those of a pandas categorical keep its order. A missing value is the level "missing".

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
    for name, cells in _columns_by_name(rows).items():
        levels = None
        if isinstance(cells.dtype, pd.CategoricalDtype):
            levels = tuple(str(level) for level in cells.cat.remove_unused_categories().cat.categories)
        elif pd.api.types.is_numeric_dtype(cells) and cells.nunique() > MANY_LEVELS:
            problem = (
                f'column "{name}" has {cells.nunique()} different numbers, each of which would be a level'
            )
            raise user_error(problem, f'cut it into bins, as in pd.cut(frame["{name}"], 5), or leave it out')
        text = texts_of(cells)
        if (text == "").any():
            text = text.mask(text == "", MISSING)
            levels = levels and tuple(dict.fromkeys((*levels, MISSING)))
        columns.append(encode_levels(name, text, levels or None))
    return make_table(columns)
