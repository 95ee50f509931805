"""Read the rows that explanations of numbers need: outcomes, groups, strata and the columns to explain by."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import MISSING
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.draws import drawn_rows
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.strata import (
    EXPLAIN,
    MOST_STRATA,
    explained_slices,
    find_stratum_columns,
    group_sql,
    number_to_sort_by,
)
from fairbench_cli.base.errors import user_error
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.decomposition import ExplainingColumn
from fairbench_cli.measures.groups import CROSS

MOST_EXPLAINED = 500_000  # rows that are read
IS_MISSING = " (missing)"


@dataclass(frozen=True, eq=False)
class RowStrata:
    """The strata of rows: what they are by, their names, and the place of each row's among them."""

    columns: str
    names: tuple[str, ...]
    codes: Ints


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """Rows of numbers with what may explain them; arrays of shape (rows,).

    Parameters
    ----------
    outcome : array
    groups : dict of attribute to array of str
    weights : array or None
    clusters : int array or None
        By the first column of clusters.
    strata : tuple of RowStrata
        By each set of columns to explain by.
    columns : tuple of ExplainingColumn
        Each column to explain by, once: numbers as they are, words as levels.
    notes : tuple of str
    """

    outcome: Floats
    groups: dict[str, NDArray[Any]]
    weights: Floats | None
    clusters: Ints | None
    strata: tuple[RowStrata, ...]
    columns: tuple[ExplainingColumn, ...]
    notes: tuple[str, ...]


def read_explained(scan: Scan, most: int = MOST_EXPLAINED) -> ExplainedRows:
    """Return all rows, or `most` of them drawn at random, with what may explain their numbers.

    Raises
    ------
    UserError
        For a column to explain by that is not there, has another role or too many values, for too many
        strata, and where several models are audited or no attribute is left.
    """
    import pandas as pd

    source = scan.source
    roles = scan.roles
    attributes = [group_counts.attribute for group_counts in explained_slices(scan)]
    stratum_columns, notes = find_stratum_columns(scan)
    positions = [source.column_index[name] for name in stratum_columns]
    expressions = [f"number_{roles.scores[-1]}::DOUBLE AS outcome"]
    if roles.weight is not None:
        expressions.append(f"number_{roles.weight}::DOUBLE AS weight")
    if roles.clusters:
        expressions.append(f"trimmed_{roles.clusters[0]} AS cluster")
    expressions += [f"{group_sql(scan, name)} AS of_{i}" for i, name in enumerate(attributes)]
    expressions += [f"{stratum} AS stratum_{i}" for i, stratum in enumerate(stratum_columns.values())]
    expressions += [f"coalesce(trimmed_{column}, '') AS text_{i}" for i, column in enumerate(positions)]
    expressions += [f"number_{column}::DOUBLE AS number_of_{i}" for i, column in enumerate(positions)]
    expressions += [f"{sql.word(column)} AS is_word_{i}" for i, column in enumerate(positions)]
    table, drawn = drawn_rows(scan, most)
    if drawn:
        notes.append(f"Explanations are of {drawn}.")
    with source.engine(ordered=True, threads=1):
        cells = source.execute(f"SELECT {', '.join(expressions)} FROM {table}").fetchdf()
    strata = []
    positions_of_columns = {name: i for i, name in enumerate(stratum_columns)}
    for names in scan.config.explained_by:
        texts = [cells[f"stratum_{positions_of_columns[name]}"].to_numpy(dtype=object) for name in names]
        strata.append(_make_strata(names, texts))
    columns: list[ExplainingColumn] = []
    for name, i in positions_of_columns.items():
        has_words = bool(cells[f"is_word_{i}"].fillna(False).any())
        text = cells[f"text_{i}"].to_numpy(dtype=object)
        columns += _make_columns(name, text, cells[f"number_of_{i}"].to_numpy(np.float64), has_words)
    if len(roles.clusters) > 1:
        notes.append(f"Explanations go by the clusters of {source.columns[roles.clusters[0]]} alone.")
    return ExplainedRows(
        outcome=cells["outcome"].to_numpy(np.float64),
        groups={name: cells[f"of_{i}"].to_numpy(dtype=object) for i, name in enumerate(attributes)},
        weights=None if roles.weight is None else cells["weight"].to_numpy(np.float64),
        clusters=pd.factorize(cells["cluster"])[0] if roles.clusters else None,
        strata=tuple(strata),
        columns=tuple(columns),
        notes=tuple(notes),
    )


def _make_strata(names: tuple[str, ...], texts: list[NDArray[Any]]) -> RowStrata:
    """Return the strata of some columns, numbers and ranges in their order.

    Raises
    ------
    UserError
        When there are too many.
    """
    keys = list(zip(*texts, strict=True))
    distinct = sorted(set(keys), key=lambda key: [(number_to_sort_by(name), name) for name in key])
    columns_text = CROSS.join(names)
    if len(distinct) > MOST_STRATA:
        problem = f"{columns_text} makes {len(distinct)} strata"
        raise user_error(problem, f"cross fewer columns; at most {MOST_STRATA} are compared", EXPLAIN)
    index = {key: i for i, key in enumerate(distinct)}
    codes = np.fromiter(map(index.__getitem__, keys), dtype=np.int64, count=len(keys))
    return RowStrata(columns_text, tuple(map(CROSS.join, distinct)), codes)


def _make_columns(name: str, text: NDArray[Any], numbers: Floats, has_words: bool) -> list[ExplainingColumn]:
    """Return a column as it explains: numbers, missing ones as their mean and marked; words as levels."""
    is_missing = text == ""
    if has_words or is_missing.all():
        filled = np.where(is_missing, MISSING, text)
        levels, codes = np.unique(filled.astype(str), return_inverse=True)
        return [ExplainingColumn(name, codes, tuple(levels.tolist()))]
    columns = [ExplainingColumn(name, np.where(is_missing, numbers[~is_missing].mean(), numbers))]
    if is_missing.any():
        columns.append(ExplainingColumn(f"{name}{IS_MISSING}", is_missing.astype(np.float64)))
    return columns


def names_of_columns(rows: ExplainedRows) -> tuple[str, ...]:
    """Return the names of the columns to explain by, without those that mark what is missing."""
    names = (column.name.removesuffix(IS_MISSING) for column in rows.columns)
    return tuple(dict.fromkeys(names))
