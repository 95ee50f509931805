"""The values of a study's repeats, read from whatever table its authors publish."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.input_errors import position_of_row, refuse_if
from fairbench_cli.audit.scan.open import LOOK_MISSING, open_cells
from fairbench_cli.audit.scan.readings import read_percent
from fairbench_cli.audit.scan.roles import find_column
from fairbench_cli.base.errors import Flag, MessageText, UserError, format_value, suggest, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.data.recognise import split_words
from fairbench_cli.measures.registry import METRICS, normalise_name

if TYPE_CHECKING:
    from fairbench_cli.audit.scan.source import Frame, Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "data": ("data", "dataset data_set", "task problem domain corpus"),
    "technique": (
        "technique",
        "method algorithm approach mitigation intervention treatment debiaser solver framework",
        "model system",
        "classifier estimator learner",
    ),
    "repeat": (
        "repeat",
        "repetition replicate replication rep idx_rep repeat_id",
        "run run_id trial iteration",
        "fold split",
        "seed random_state random_seed",
    ),
    "metric": ("metric", "measure criterion indicator"),
    "value": ("value", "result score objective_value metric_value"),
}
"""What columns of each role are called, without ``_name``; an earlier line goes before a later one."""
METRIC_WORDS = set(
    "acc accuracy balacc bacc auc auroc auprc roc f mcc precision recall spd dpd dp dem di eod eo eq eop aod "
    "erd logloss brier kappa gmean".split()
)
"""With what word names of metrics begin, next to those that fairbench knows."""
SPREAD_WORDS = set("std sd se sem stderr var count n ci low high lower upper min max".split())
"""What a column is that ends so: said of a metric, and none of its values."""
NOTE_WORDS = SPREAD_WORDS | set(
    "time date datetime timestamp utc start end started finished duration elapsed runtime seconds version "
    "host hostname machine node worker pid user path file filename url commit hash uuid index info error "
    "warning message memory".split()
)
"""What a column is called that notes how a run went."""
MOST_ENTRIES = 50_000_000  # cells × repeats


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The values of a study's repeats, by cell.

    Parameters
    ----------
    keys : DataFrame, shape (cells,)
        What each cell is, as text, in the order of their first rows: ``technique``, ``metric``, ``data`` if there
        is such a column, and under their own names the other columns that tell cells apart.
    values : float array, shape (cells, repeats)
        NaN where a cell has no value in a repeat.
    repeats : tuple of str
        Their labels; numbers in their order.
    roles : mapping of str to str
        The column of each role (data, technique, repeat, metric, value) that one has; columns that are read
        together are joined by ``+``, those of a wide table's values by commas.
    notes : tuple of str
        What was taken for what, and what was left out and why.
    """

    keys: pd.DataFrame
    values: Floats
    repeats: tuple[str, ...]
    roles: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Cells:
    """A table with a row per value: the code of each column's text by row, the texts, and the values."""

    codes: dict[str, Ints]
    labels: dict[str, NDArray[np.object_]]
    values: Floats
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

    Roles that `columns` leaves out are guessed by usual names (`USUAL_NAMES`). Without a metric, columns that
    are called like metrics are read as one each. Of the other columns, one says which cell a row is of

    * where rows that are alike in all roles have different values, and it tells them apart: of texts first, of
      whole numbers then, of fractions if these tell all apart; never one that has more different texts than
      half of the rows, and one that is called like a note of a run (time, version, host) last;
    * where it differs neither within a cell nor between its techniques, or is shared by the techniques of a
      repeat and has at most half as many texts as there are repeats.

    The others are left out: notes of a run, what is said of a technique, numbers next to the values. Without a
    column of repeats, the rows of a cell are its repeats in their order. A row that comes twice counts once.
    Empty cells, NaN, NA and the like are missing values.

    Parameters
    ----------
    source : str, Path or frame
        A CSV, TSV, NDJSON (each perhaps gzip), Parquet, Excel or SQLite file, or a pandas or Polars frame or an
        Arrow table; a named index of a pandas frame is read as columns.
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
    frame: Any = source
    n_levels = getattr(getattr(frame, "columns", None), "nlevels", 1)
    if n_levels > 1:
        levels = list(range(n_levels))
        fix = f'make a row of each value: frame.stack({levels}).rename("value").reset_index()'
        raise user_error(f"the names of the columns have {n_levels} levels", fix, "data frame")
    if any(name is not None for name in getattr(getattr(frame, "index", None), "names", ())):
        frame = frame.reset_index(allow_duplicates=True)
    with open_cells(frame, table=table, encoding=encoding) as rows:
        roles, value_names = _assign_roles(rows, columns or {}, values)
        rows, percent_notes = read_percent(rows, [rows.column_index[name] for name in value_names])
        cells = _read_cells(rows, roles, value_names)
        keys, left_out = _select_keys(cells)
        if "repeat" not in (columns or {}):
            _refuse_second_repeat(cells, keys, roles)
        study = _arrange(rows, cells, keys, left_out)
    listed = ", ".join(f"{role} = {name}" for role, name in roles.items())
    notes = [*rows.notes, *percent_notes, f"Columns: {listed}."]
    if keys_beside := [name for name in keys if name not in USUAL_NAMES]:
        notes.append(f"Cells are told apart by {join_names(keys_beside)} as well.")
    if left_out:
        notes.append(f"Left out, as they tell no cells apart: {join_names(left_out)}.")
    return replace(study, roles=roles, notes=(*notes, *study.notes))


def _assign_roles(
    rows: "Source", columns: Mapping[str, str], values: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role, and the columns of values: several of a wide table."""
    for role in columns:
        if role not in USUAL_NAMES:
            raise user_error(f"no role is called {role}", suggest(role, USUAL_NAMES), Flag("columns"))
    roles = dict(columns)
    used = set(values)
    for name in columns.values():
        used.update(rows.columns[column] for column in _columns_of(rows, name))
    for name in values:
        find_column(rows, name, "values")
    for role in USUAL_NAMES:
        is_given = role in roles or (role == "value" and values) or (role == "metric" and len(values) > 1)
        guess = None
        if not is_given:
            guess = _guess_column(role, [name for name in rows.column_index if name not in used])
        if guess is not None:
            roles[role] = guess
            used.add(guess)
    if "technique" not in roles:
        fix = '; columns that are techniques become rows by frame.melt(…, var_name="technique")'
        raise _missing_role(rows, "technique", fix)
    if values and ("value" in columns or ("metric" in columns and len(values) > 1)):
        problem = "values are in one column next to one of metrics, or in a column per metric"
        raise user_error(problem, ("leave out one of ", Flag("values"), " and ", Flag("columns")), rows.name)
    if not values and "value" in roles:
        values = (roles["value"],)
    if "metric" not in roles and "value" not in columns and not values[1:]:
        free = [name for name in rows.column_index if name not in used]
        if not values or "value" in roles:
            values = (*values, *filter(_named_like_metric, free))
    if not values:
        raise _missing_role(
            rows, "value", ("; or name the columns of metrics, ", Flag("values", "NAME,NAME"))
        )
    return {**roles, "value": ",".join(values)}, tuple(values)


def _columns_of(rows: "Source", name: str) -> list[int]:
    """Return the column of a name, or those of several joined by ``+``, which are read as one."""
    names = [name] if name in rows.column_index else name.split("+")
    return [find_column(rows, name, "columns") for name in names]


def _stem(name: str) -> str:
    """Return a column's name in small letters, with _ between its words and without "name"."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").removesuffix("_name")


def _guess_column(role: str, names: Sequence[str]) -> str | None:
    """Return the column that is usually called as a role is; refuse two that are as likely."""
    for usual in USUAL_NAMES[role]:
        likely = [name for name in names if _stem(name) in usual.split()]
        if len(likely) > 1:
            problem = f"the column of the {role} may be {' or '.join(map(format_value, likely))}"
            raise user_error(problem, ("say which, ", Flag("columns", (role, likely[0]))))
        if likely:
            return likely[0]
    return None


def _named_like_metric(name: str) -> bool:
    stem = re.sub("^(test|objective|mean|avg|metric)_|_(mean|avg|test)$", "", _stem(name.rpartition("/")[2]))
    words = split_words(stem)
    if not words or words[-1] in SPREAD_WORDS or stem == "cv":
        return False
    return words[0] in METRIC_WORDS or normalise_name(stem) in METRICS


def _missing_role(rows: "Source", role: str, also: MessageText) -> UserError:
    listed = join_names([format_value(name) for name in rows.column_index], 20)
    if rows.doubled:
        listed += f"; several are called {join_names([format_value(name) for name in rows.doubled])}"
    fix: MessageText = (
        "name it, ",
        Flag("columns", (role, "COLUMN")),
        *(also if isinstance(also, tuple) else (also,)),
    )
    return user_error(f"no column is called like a {role}: {listed}", fix, rows.name)


def _read_cells(rows: "Source", roles: Mapping[str, str], value_names: Sequence[str]) -> _Cells:
    """Read texts as codes and values as numbers; a row of a wide table becomes one per metric."""
    value_columns = [rows.column_index[name] for name in value_names]
    missing = ", ".join(map(sql.quoted, sorted(LOOK_MISSING)))
    texts = {role: _columns_of(rows, name) for role, name in roles.items() if role != "value"}
    used = {*value_columns, *chain.from_iterable(texts.values())}
    for name, column in rows.column_index.items():
        if column not in used:
            texts[f"{name} (column)" if name in USUAL_NAMES else name] = [column]
    selected = []
    for i, (name, columns) in enumerate(texts.items()):
        parts = " || '+' || ".join(f"coalesce(trimmed_{column}, '')" for column in columns)
        selected.append(f"{parts} AS t{i}")
    for i, column in enumerate(value_columns):
        bad = f"{sql.no_number(column)} AND lower(trimmed_{column}) NOT IN ({missing})"
        fix = "write finite numbers with a decimal point; leave the cell empty where there is no value"
        refuse_if(rows, column, bad, "{column} has {value}, not a finite number, in {count}", fix)
        number = f"number_{column}"
        selected.append(f"CASE WHEN abs({number}) <= {sql.LARGEST} THEN {number} END AS v{i}")
    rows.execute(f"CREATE TEMP TABLE study AS SELECT {', '.join(selected)} FROM predictions")
    fetched = [_fetch(rows, f"v{i}") for i in range(len(value_columns))]
    n_metrics = len(fetched)
    codes = {}
    labels = {}
    for i, name in enumerate(texts):
        row_codes, labels[name] = pd.factorize(_fetch(rows, f"t{i}"))
        codes[name] = np.repeat(row_codes, n_metrics)
    values = np.stack(fetched, axis=1)
    if not values.size:
        raise user_error("there are no rows below the names of columns", "give a row per value", rows.name)
    if "metric" not in roles:
        codes["metric"] = np.tile(np.arange(n_metrics), len(values))
        labels["metric"] = np.array(value_names, dtype=object)
    return _Cells(codes, labels, values.ravel(), len(values))


def _fetch(rows: "Source", column: str) -> Any:
    """Return a column of the study's table; a number that is missing is NaN."""
    fetched = rows.database.execute(f"SELECT {column} FROM study").fetchnumpy()[column]
    return np.ma.filled(fetched, np.nan) if fetched.dtype == np.float64 else np.asarray(fetched)


def _combine(*columns: Ints) -> Ints:
    """Return codes of the combinations that occur, from 0, in the order of their first rows."""
    combined = columns[0]
    for codes in columns[1:]:
        combined = pd.factorize(combined * (codes.max() + 1) + codes)[0]
    return combined


def _count(codes: Ints) -> int:
    return int(codes.max()) + 1


def _is_fractions(labels: NDArray[np.object_]) -> bool:
    """Return whether texts are numbers (or empty) and not all whole."""
    return _is_numbers(labels) and any("." in text or "e" in text.lower() for text in labels)


def _is_numbers(labels: NDArray[np.object_]) -> bool:
    texts = [text for text in labels if text]
    try:
        list(map(float, texts))
    except ValueError:
        return False
    return bool(texts)


def _is_note(name: str) -> bool:
    return not NOTE_WORDS.isdisjoint(split_words(name))


def _select_keys(cells: _Cells) -> tuple[list[str], list[str]]:
    """Return the columns that say which cell a row is of, and those that are left out; see `read_study`."""
    codes = cells.codes
    labels = cells.labels
    roles = [role for role in ("data", "technique", "metric") if role in codes]
    base = _combine(*(codes[role] for role in roles))
    has_repeats = "repeat" in codes
    within = base
    if has_repeats:
        within = _combine(base, codes["repeat"])
    value_codes = pd.factorize(cells.values, use_na_sentinel=False)[0]

    def n_conflicts(names: Sequence[str]) -> int:
        """Count values beyond the first of rows that are alike in these columns."""
        groups = _combine(within, *(codes[name] for name in names))
        return _count(_combine(groups, value_codes)) - _count(groups)

    extra = [name for name in codes if name not in USUAL_NAMES]
    telling = [
        name
        for name in extra
        if 1 < len(labels[name]) <= cells.n_rows / 2 and (has_repeats or not _is_note(name))
    ]
    is_fractions = {name: _is_fractions(labels[name]) for name in telling}
    telling.sort(
        key=lambda name: (_is_note(name), is_fractions[name], _is_numbers(labels[name]), len(labels[name]))
    )
    needed: list[str] = []
    conflicts = n_conflicts(needed)
    for name in telling:
        fewer = n_conflicts([*needed, name]) if conflicts else conflicts
        if fewer < conflicts:
            needed.append(name)
            conflicts = fewer
    if conflicts:
        needed = [name for name in needed if not is_fractions[name]]
        conflicts = n_conflicts(needed)
    for name in list(needed):
        others = [other for other in needed if other != name]
        if n_conflicts(others) == conflicts:
            needed = others
    kept = _shared_columns(cells, needed, [name for name in extra if name not in needed])
    keys = [name for name in extra if name in {*needed, *kept}]
    return [*roles, *keys], [name for name in extra if name not in keys]


def _shared_columns(cells: _Cells, needed: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those columns that are the same for all techniques of a cell or, if of few texts, of a repeat."""
    codes = cells.codes
    columns = [codes[name] for name in ("metric", "data", *needed) if name in codes]
    block = _combine(*columns)
    groups = [block]
    if "repeat" in codes:
        groups.append(_combine(block, codes["repeat"]))
    shared = []
    for name in names:
        labels = cells.labels[name]
        is_same = [_count(_combine(group, codes[name])) == _count(group) for group in groups]
        has_few = len(groups) > 1 and 2 * len(labels) <= len(cells.labels["repeat"]) and not _is_note(name)
        is_empty = len(labels) == 1 and not labels[0]
        is_kept = is_same[0] or (has_few and is_same[-1])
        if is_kept and not is_empty and (len(labels) == 1 or not _is_fractions(labels)):
            shared.append(name)
    return shared


def _refuse_second_repeat(cells: _Cells, keys: Sequence[str], roles: Mapping[str, str]) -> None:
    """Refuse a guessed column of repeats next to another that is called like one and differs within cells."""
    usual = " ".join(USUAL_NAMES["repeat"]).split()
    for name in keys:
        if "repeat" in roles and _stem(name) in usual and len(cells.labels[name]) > 1:
            first = roles["repeat"]
            problem = f"{format_value(first)} and {format_value(name)} may both tell repeats apart"
            both = Flag("columns", ("repeat", f"{first}+{name}"))
            raise user_error(
                problem, ("say which, ", Flag("columns", ("repeat", first)), ", or read both, ", both)
            )


def _arrange(rows: "Source", cells: _Cells, keys: Sequence[str], left_out: Sequence[str]) -> StudyTable:
    """Return the values by cell and repeat, with notes on rows without a repeat and on doubled ones."""
    cell = _combine(*(cells.codes[name] for name in keys))
    first_rows = _first_rows(cell)
    notes = []
    if "repeat" in cells.codes:
        repeat = cells.codes["repeat"]
        labels = cells.labels["repeat"]
        if _is_numbers(labels):
            order = np.argsort(labels.astype(np.float64), kind="stable")
            repeat = np.argsort(order)[repeat]
            labels = labels[order]
    else:
        by_cell = np.argsort(cell, kind="stable")
        starts = np.cumsum(np.bincount(cell)) - np.bincount(cell)
        repeat = np.empty_like(cell)
        repeat[by_cell] = np.arange(len(cell)) - starts[cell[by_cell]]
        labels = np.array([str(number + 1) for number in range(repeat.max() + 1)])
        if len(labels) > 1:
            notes.append("No column of repeats: the rows of a cell are its repeats, in their order.")
    shape = (len(first_rows), len(labels))
    if shape[0] * shape[1] > MOST_ENTRIES:
        problem = f"{shape[1]:,} repeats of {shape[0]:,} cells: hardly any cell has a value in a repeat"
        raise user_error(problem, ("name another column, ", Flag("columns", ("repeat", "COLUMN"))), rows.name)
    entry = pd.factorize(cell * shape[1] + repeat)[0]
    first_of_entry = _first_rows(entry)[entry]
    before = cells.values[first_of_entry]
    differs = (before != cells.values) & ~(np.isnan(before) & np.isnan(cells.values))
    if differs.any():
        raise _doubled_rows(
            rows, cells, left_out, int(first_of_entry[differs.argmax()]), int(differs.argmax())
        )
    n_doubled = len(entry) - _count(entry)
    if n_doubled:
        notes.append(f"{format_count(n_doubled, 'value')} of rows that come twice counted once.")
    values = np.full(shape, np.nan)
    values[cell, repeat] = cells.values
    frame = pd.DataFrame({name: cells.labels[name][cells.codes[name][first_rows]] for name in keys})
    return StudyTable(frame, values, tuple(map(str, labels)), {}, tuple(notes))


def _first_rows(codes: Ints) -> Ints:
    """Return the first row of each code."""
    first = np.empty(_count(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of rows with one code the last that is written stays
    return first


def _doubled_rows(
    rows: "Source", cells: _Cells, left_out: Sequence[str], first: int, second: int
) -> UserError:
    """Return the error for two rows of one cell and repeat with different values."""
    n_metrics = len(cells.values) // cells.n_rows
    values = " and ".join(f"{cells.values[row]:g}" for row in (first, second))
    where = position_of_row(rows, first // n_metrics + 1)
    problem = f"the row has the cell and the repeat of {where}, and another value: {values}"
    differing = [name for name in left_out if cells.codes[name][first] != cells.codes[name][second]]
    if differing:
        problem += f"; they differ in {join_names(differing)}"
    fix = ("leave one of them out, or name what tells repeats apart, ", Flag("columns", ("repeat", "COLUMN")))
    return user_error(problem, fix, position_of_row(rows, second // n_metrics + 1))
