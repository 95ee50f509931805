"""The values of a study's repeats, read from whatever table its authors publish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.input_errors import position_of_row, refuse_if
from fairbench_cli.audit.scan.open import open_cells
from fairbench_cli.audit.scan.readings import read_percent
from fairbench_cli.audit.scan.source import FRAME
from fairbench_cli.base.errors import Flag, UserError, format_value, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.data.number_writing import GAP_WORDS
from fairbench_cli.studies import cell_keys
from fairbench_cli.studies.column_roles import USUAL_NAMES, assign_roles, columns_of, is_repeat_name

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.source import Frame, Source

MOST_ENTRIES = 20_000_000  # cells × repeats


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The values of a study's repeats, by cell.

    Parameters
    ----------
    keys : DataFrame, shape (cells,)
        What each cell is, as text, in the order of their first rows: ``technique``, ``metric``, ``data`` if
        there is such a column, and under their own names the other columns that tell cells apart.
    values : float array, shape (cells, repeats)
        NaN where a cell has no value in a repeat.
    repeats : tuple of str
        Their labels; numbers in their order, others in that of their first rows.
    roles : mapping of str to str
        The column of each role (data, technique, repeat, metric, value) that has one; columns that are read
        as one are joined by ``+``, those of a wide table's values by commas.
    notes : tuple of str
        What was taken for what, and what was left out and why.
    """

    keys: pd.DataFrame
    values: cell_keys.Floats
    repeats: tuple[str, ...]
    roles: Mapping[str, str]
    notes: tuple[str, ...]

    @cached_property
    def cells(self) -> list[dict[str, str]]:
        """What each cell is, by column."""
        columns = {str(name): self.keys[name].tolist() for name in self.keys}
        return [dict(zip(columns, cell, strict=True)) for cell in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of a table, a wide one's row by row, with what each column says of each.

    `codes` are by column, shape (values,); `texts` has the text of each code, in the order of first rows.
    """

    codes: dict[str, cell_keys.Ints]
    texts: dict[str, list[str]]
    values: cell_keys.Floats
    n_rows: int


def read_study(
    source: "str | Path | Frame",
    columns: Mapping[str, str] | None = None,
    values: Sequence[str] = (),
    *,
    table: str | None = None,
    encoding: str | None = None,
) -> StudyTable:
    """Read the values of a study's repeats from a file or a frame, tidy or with a column per metric.

    Roles that `columns` leaves out are guessed by usual names (`USUAL_NAMES`); without a metric, columns that
    are called like metrics are read as one each. Another column says which cell a row is of in two cases:

    * It is needed: rows that are alike in all roles have different values, and it tells them apart. Texts
      are tried first, then whole numbers, then fractions (taken only if these tell all apart), what is called
      like a note of a run (time, version, host) last; a column that has more different texts than half of the
      rows never, nor a note of a run where there is no column of repeats.
    * It is shared: the same for all techniques of a cell and whole numbers or texts; or for all techniques of
      a repeat, if it has at most half as many texts as there are repeats and is no note of a run.

    The others are left out: notes of a run, what is said of a technique, numbers next to the values. Without
    a column of repeats, the rows of a cell are its repeats in their order. A row that comes twice counts
    once. Empty cells, NaN, NA and the like are missing values.

    Parameters
    ----------
    source : str, Path or frame
        A CSV, TSV, NDJSON (each perhaps gzip), Parquet, Excel or SQLite file, or a pandas or Polars frame or
        an Arrow table; a named index of a pandas frame is read as columns.
    columns : mapping of str to str, optional
        Columns by role; ``a+b`` reads two columns as one.
    values : sequence of str
        The columns of a wide table's metrics.
    table, encoding : str, optional
        The sheet or table of the file; the encoding of a text.

    Raises
    ------
    UserError
        When the table cannot be read, a role is missing or may be of several columns, a value is no finite
        number, or rows of one cell and repeat have different values.

    Examples
    --------
    >>> rows = {"method": ["none", "none", "rw", "rw"], "seed": [1, 2, 1, 2], "acc": [0.8, 0.7, 0.75, None]}
    >>> study = read_study(pd.DataFrame(rows))
    >>> study.keys.to_dict("list"), study.repeats, study.values.tolist()
    ({'technique': ['none', 'rw'], 'metric': ['acc', 'acc']}, ('1', '2'), [[0.8, 0.7], [0.75, nan]])
    """
    with open_cells(_with_plain_names(source), table=table, encoding=encoding) as rows:
        roles, value_names = assign_roles(rows, columns or {}, values)
        rows, percent_notes = read_percent(rows, [rows.column_index[name] for name in value_names])
        read = _read_values(rows, roles, value_names)
        role_columns = [role for role in ("data", "technique", "metric", "repeat") if role in read.codes]
        extra_keys = cell_keys.select_keys(read.codes, read.texts, read.values, read.n_rows, role_columns)
        if "repeat" in roles and "repeat" not in (columns or {}):
            _refuse_second_repeat(read, roles["repeat"], extra_keys)
        keys = [role for role in role_columns if role != "repeat"] + extra_keys
        left_out = [name for name in read.codes if name not in keys and name != "repeat"]
        notes = list(rows.notes + percent_notes)
        notes.append(f"Columns: {', '.join(f'{role} = {name}' for role, name in roles.items())}.")
        if extra_keys:
            notes.append(f"Cells are told apart by {join_names(extra_keys)} as well.")
        if parameters := cell_keys.columns_of_few_techniques(read.codes, read.texts, extra_keys):
            joined = Flag("columns", ("technique", "+".join([roles["technique"], *parameters])))
            empty = f"Empty for some techniques: {join_names(parameters)}"
            notes.append(f"{empty}; to read it as a part of the technique: {joined.spell()}.")
        if left_out:
            notes.append(f"Left out, as they tell no cells apart: {join_names(left_out)}.")
        cell = pd.factorize(cell_keys.combine_codes([read.codes[name] for name in keys]))[0]
        repeat, labels = _number_repeats(read, cell)
        if "repeat" not in roles and len(labels) > 1:
            notes.append("No column of repeats: the rows of a cell are its repeats, in their order.")
        first = cell_keys.first_rows(cell)
        if len(first) * len(labels) > MOST_ENTRIES:
            problem = (
                f"{len(labels):,} repeats of {len(first):,} cells: most cells have no value in most of them"
            )
            raise user_error(
                problem, ("name another column, ", Flag("columns", ("repeat", "COLUMN"))), rows.name
            )
        n_doubled = _check_doubled_rows(rows, read, left_out, cell * len(labels) + repeat)
    if n_doubled:
        notes.append(f"Rows that come twice count once: {format_count(n_doubled, 'value')}.")
    study_values = np.full((len(first), len(labels)), np.nan)
    study_values[cell, repeat] = read.values
    texts = {name: np.array(read.texts[name], dtype=object)[read.codes[name][first]] for name in keys}
    return StudyTable(pd.DataFrame(texts), study_values, tuple(labels), roles, tuple(notes))


def _with_plain_names(source: Any) -> Any:
    """Return a pandas frame with its named index as columns, and refuse columns of several levels."""
    if not isinstance(source, pd.DataFrame):
        return source
    n_levels = source.columns.nlevels
    if n_levels > 1:
        fix = f'give a row per value: frame.stack({list(range(n_levels))}).rename("value").reset_index()'
        raise user_error(f"the names of the columns have {n_levels} levels", fix, FRAME)
    if all(name is None for name in source.index.names):
        return source
    return source.reset_index(allow_duplicates=True)


def _read_values(rows: "Source", roles: Mapping[str, str], value_names: Sequence[str]) -> _Values:
    """Read the values as numbers and all other columns as codes of their texts."""
    value_columns = [rows.column_index[name] for name in value_names]
    columns_by_key = {role: columns_of(rows, name) for role, name in roles.items() if role != "value"}
    used_columns = set(chain(value_columns, *columns_by_key.values()))
    for name, column in rows.column_index.items():
        if column not in used_columns and name in USUAL_NAMES:
            columns_by_key[f"{name} (column)"] = [column]
        elif column not in used_columns:
            columns_by_key[name] = [column]
    selected = []
    for i, columns in enumerate(columns_by_key.values()):
        parts = " || '+' || ".join(f"coalesce(trimmed_{column}, '')" for column in columns)
        if len(columns) == 1:  # trimmed later, each text once
            selected.append(f"coalesce(text_{columns[0]}, '') AS text{i}")
        else:
            selected.append(f"rtrim({parts}, '+') AS text{i}")
    for i, column in enumerate(value_columns):
        is_finite = f"NOT {sql.not_finite(f'number_{column}')}"
        selected.append(f"CASE WHEN {is_finite} THEN number_{column} END AS value{i}")
        selected.append(f"CASE WHEN {is_finite} THEN false ELSE {_no_value(column)} END AS bad{i}")
    # Read once and kept, as each column is fetched alone: all texts at once would take ten times the memory.
    rows.execute(f"CREATE TEMP TABLE study AS SELECT {', '.join(selected)} FROM predictions")
    for i, column in enumerate(value_columns):
        (has_bad,) = rows.row(f"SELECT bool_or(bad{i}) FROM study")
        if has_bad:
            problem = "{column} has {value}, not a finite number, in {count}"
            fix = "write finite numbers with a decimal point; leave the cell empty where there is no value"
            refuse_if(rows, column, _no_value(column), problem, fix)
    fetched = [np.ma.filled(_fetch(rows, f"value{i}"), np.nan) for i in range(len(value_columns))]
    values = np.stack(fetched, axis=1)
    if not values.size:
        raise user_error("there are no rows below the header", "give a row per value", rows.name)
    codes = {}
    texts = {}
    for i, name in enumerate(columns_by_key):
        by_first_row = f"SELECT text{i} FROM study GROUP BY text{i} ORDER BY min(rowid)"
        rows.database.execute(f"CREATE TYPE texts AS ENUM ({by_first_row})")
        (untrimmed,) = rows.row("SELECT enum_range(NULL::texts)")
        trimmed = np.array([text.strip(sql.BLANKS) for text in untrimmed], dtype=object)
        code_of_text, unique_texts = pd.factorize(trimmed)
        row_codes = code_of_text[_fetch(rows, f"enum_code(text{i}::texts)")]
        rows.execute("DROP TYPE texts")
        codes[name] = np.repeat(row_codes, len(fetched))
        texts[name] = unique_texts.tolist()
    if "metric" not in roles:
        codes["metric"] = np.tile(np.arange(len(fetched)), len(values))
        texts["metric"] = list(value_names)
    return _Values(codes, texts, values.ravel(), len(values))


def _no_value(column: int) -> str:
    """Write in SQL that a cell is no finite number, and does not say that there is none."""
    missing = ", ".join(map(sql.quoted, sorted(GAP_WORDS)))
    return f"{sql.no_number(column)} AND lower(trimmed_{column}) NOT IN ({missing})"


def _fetch(rows: "Source", column: str) -> Any:
    return rows.database.execute(f"SELECT {column} AS cells FROM study").fetchnumpy()["cells"]


def _refuse_second_repeat(read: _Values, repeat_name: str, extra_keys: Sequence[str]) -> None:
    """Refuse a guessed column of repeats next to another that is called like one and tells rows apart."""
    for name in extra_keys:
        if is_repeat_name(name) and len(read.texts[name]) > 1:
            problem = f"{format_value(repeat_name)} and {format_value(name)} may both tell repeats apart"
            flags = [Flag("columns", ("repeat", text)) for text in (repeat_name, f"{repeat_name}+{name}")]
            raise user_error(problem, ("name one, ", flags[0], ", or both, ", flags[1]))


def _number_repeats(read: _Values, cell: cell_keys.Ints) -> tuple[cell_keys.Ints, list[str]]:
    """Return the repeat of each value, and the labels; without a column, rows are counted by cell."""
    if "repeat" not in read.codes:
        by_cell = np.argsort(cell, kind="stable")
        n_values = np.bincount(cell)
        starts = np.cumsum(n_values) - n_values
        repeat = np.empty_like(cell)
        repeat[by_cell] = np.arange(len(cell)) - starts[cell[by_cell]]
        return repeat, [str(number + 1) for number in range(int(n_values.max()))]
    labels = read.texts["repeat"]
    if not cell_keys.is_numbers(labels):
        return read.codes["repeat"], labels
    order = sorted(
        range(len(labels)), key=lambda code: np.nan_to_num(float(labels[code] or "nan"), nan=np.inf)
    )
    return np.argsort(order)[read.codes["repeat"]], [labels[code] for code in order]


def _check_doubled_rows(rows: "Source", read: _Values, left_out: Sequence[str], entry: cell_keys.Ints) -> int:
    """Count values of rows that come twice (`entry` is cell and repeat); refuse those that differ."""
    values = read.values
    first_row_of = cell_keys.first_rows(entry)[entry]
    differs = (values != values[first_row_of]) & ~(np.isnan(values) & np.isnan(values[first_row_of]))
    if differs.any():
        second_value = int(differs.argmax())
        raise _doubled_rows(rows, read, left_out, int(first_row_of[second_value]), second_value)
    return int((first_row_of != np.arange(len(first_row_of))).sum())


def _doubled_rows(
    rows: "Source", read: _Values, left_out: Sequence[str], first: int, second: int
) -> UserError:
    """Return the error for two values of one cell and repeat."""
    n_metrics = len(read.values) // read.n_rows
    where = [position_of_row(rows, value // n_metrics + 1) for value in (first, second)]
    values = f"{read.values[first]:g} and {read.values[second]:g}"
    problem = f"{values} are both of one cell and repeat, the first in {where[0]}"
    differing = [name for name in left_out if read.codes[name][first] != read.codes[name][second]]
    if differing:
        problem += f"; these rows differ in {join_names(differing)}"
    fix = ("leave one out, or name what tells repeats apart, ", Flag("columns", ("repeat", "COLUMN")))
    return user_error(problem, fix, where[1])
