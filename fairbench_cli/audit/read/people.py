"""Read what an explanation needs: counts by group and stratum of all rows, and the features of some."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.audit.read.cuts import number, trimmed
from fairbench_cli.audit.read.source import Source
from fairbench_cli.audit.read.strata_columns import Field
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Floats

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 100_000  # whose features are read
MOST_LEVELS = 100  # of a feature
MOST_STRATA = 1000
CROSSED = " × "


@dataclass(frozen=True, eq=False)
class Strata:
    """Weights by stratum, group and decision, shape (strata, groups, 2)."""

    names: tuple[str, ...]
    n: Floats


@dataclass(frozen=True, eq=False)
class People:
    """Rows with their features.

    Parameters
    ----------
    groups : dict of attribute to array of str, shape (rows,)
    decision : array of int, shape (rows,)
    weights : array of float, shape (rows,), or None
    features : array of float, shape (rows, columns)
    nominal : tuple of bool
        Which of these are codes of levels.
    names : tuple of str
        The column of the file that each of these comes from.
    of : int
        How many rows the file has.
    notes : tuple of str
        What a reader should know.
    """

    groups: dict[str, NDArray[Any]]
    decision: NDArray[np.int64]
    weights: Floats | None
    features: Floats
    nominal: tuple[bool, ...]
    names: tuple[str, ...]
    of: int
    notes: tuple[str, ...]


def count_strata(
    engine: "DuckDBPyConnection",
    source: Source,
    group: Field,
    by: tuple[Field, ...],
    decision: str,
    weight: int | None,
    groups: tuple[str, ...],
) -> Strata:
    """Count all rows of the file by stratum, group (in the order given) and decision.

    Raises
    ------
    UserError
        When there are too many strata.
    """
    mass = "1::DOUBLE" if weight is None else number(source, weight)
    keys = ", ".join(f"{field.sql} AS z{i}" for i, field in enumerate(by))
    names = ", ".join(f"z{i}" for i in range(len(by)))
    inner = f"SELECT {group.sql} AS g, {keys}, {decision} AS d, {mass} AS w FROM {source.relation}"  # noqa: S608
    sql = f"SELECT g, d, sum(w), {names} FROM ({inner}) GROUP BY g, d, {names}"  # noqa: S608
    found = engine.execute(sql).fetchall()
    strata = sorted({row[3:] for row in found}, key=_order)
    if len(strata) > MOST_STRATA:
        what = f"{CROSSED.join(field.name for field in by)} makes {len(strata)} strata"
        raise user_error(what, f"cross fewer columns; at most {MOST_STRATA} are compared", "--explain")
    place = {stratum: i for i, stratum in enumerate(strata)}
    index = {name: g for g, name in enumerate(groups)}
    n = np.zeros((len(strata), len(groups), 2))
    for row in found:
        n[place[row[3:]], index[row[0]], row[1]] += row[2]
    return Strata(tuple(CROSSED.join(stratum) for stratum in strata), n)


def read_people(
    engine: "DuckDBPyConnection",
    source: Source,
    groups: tuple[Field, ...],
    decision: str,
    weight: int | None,
    columns: dict[str, int],
    rows: int,
    seed: int,
    most: int = MOST_ROWS,
) -> People:
    """Read groups, decisions and features of all rows, or of `most` drawn at random.

    A column of numbers is a number, its empty cells the mean, with a column that marks them; any other is one
    of levels, with a level for empty cells. One with more than `MOST_LEVELS` levels is left out, and said.
    """
    parts = [f"{decision} AS d", f"{'1::DOUBLE' if weight is None else number(source, weight)} AS w"]
    parts += [f"{field.sql} AS g{i}" for i, field in enumerate(groups)]
    parts += [f"coalesce({trimmed(column)}, '') AS x{i}" for i, column in enumerate(columns.values())]
    notes, where = [], ""
    engine.execute("SET threads=1; SET preserve_insertion_order=true")
    if rows > most:
        lines = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False)) + 1
        engine.register("chosen", pd.DataFrame({"line": lines}))
        where = " WHERE line IN (SELECT line FROM chosen)"
        notes.append(f"Features are those of {most} of {rows} rows, drawn at random.")
    numbered = f"SELECT row_number() OVER () AS line, * FROM {source.relation}"  # noqa: S608
    found = engine.execute(f"SELECT {', '.join(parts)} FROM ({numbered}){where}").fetchnumpy()  # noqa: S608
    features: list[Floats] = []
    nominal: list[bool] = []
    names: list[str] = []
    for i, name in enumerate(columns):
        made, note = _feature(name, np.asarray(found[f"x{i}"], dtype=object))
        notes += [note] if note else []
        for values, of_levels in made:
            features.append(values)
            nominal.append(of_levels)
            names.append(name)
    many = len(found["d"])
    return People(
        {field.name: np.asarray(found[f"g{i}"], dtype=object) for i, field in enumerate(groups)},
        np.asarray(found["d"], dtype=np.int64),
        None if weight is None else np.asarray(found["w"], dtype=np.float64),
        np.stack(features, 1) if features else np.zeros((many, 0)),
        tuple(nominal),
        tuple(names),
        rows,
        tuple(notes),
    )


def _feature(name: str, cells: NDArray[Any]) -> tuple[list[tuple[Floats, bool]], str]:
    """Turn a column into features, each with whether it is one of levels; into none where all is the same."""
    empty = cells == ""
    numbers = np.asarray(pd.to_numeric(pd.Series(cells).where(~empty), errors="coerce"), dtype=np.float64)
    if not empty.all() and np.isfinite(numbers[~empty]).all():
        filled = np.where(empty, numbers[~empty].mean(), numbers)
        made = [(filled, False), (empty.astype(np.float64), True)]
    else:
        codes, levels = pd.factorize(cells, sort=True)
        if len(levels) > MOST_LEVELS:
            return [], f"{name} has {len(levels)} different values and is no feature."
        made = [(codes.astype(np.float64), True)]
    return [(values, of_levels) for values, of_levels in made if np.ptp(values) > 0], ""


def _order(stratum: tuple[str, ...]) -> tuple[tuple[float, str], ...]:
    """Sort numbers, and ranges by where they begin, before words; (missing) last."""
    return tuple((_begin(part), part) for part in stratum)


def _begin(text: str) -> float:
    if text == "(missing)":
        return float("inf")
    first = text.split(" to ")[0]
    for start in (first, first.split("-")[0]):
        try:
            return float(start)
        except ValueError:
            continue
    return 1e308
