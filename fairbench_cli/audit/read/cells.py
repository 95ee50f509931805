"""Count the rows of a file by model, decision, label and groups: the one pass, and what is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.read import decisions as decide
from fairbench_cli.audit.read.columns import MOST_GROUPS, Roles, too_many_groups
from fairbench_cli.audit.read.cuts import Bins, bin_sql, model_name, not_finite, number, trimmed
from fairbench_cli.audit.read.source import Source
from fairbench_cli.errors import user_error

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Ints = NDArray[np.int64]
KEYS = ("m", "level", "label", "single")
MOST_CELLS = 20_000  # of all attributes together; beyond, each is counted apart
MOST_DRAWN = 200_000  # the same, when ties are drawn


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows that are alike in all that counts.

    Parameters
    ----------
    models : list of str
    level : int array
        Of the score among the cuts, -1 for a score that is none.
    label : int array
        0 or 1; 2 for a label that is none.
    rows, weight, square : arrays
        How many rows, and the sums of their weights and squared weights.
    bad_weights, words : int
        Rows with a weight that is none; cells of supposed quantities that are not numbers.
    values : dict of attribute to list of str or None
        As in the file; the names of bins for binned ones.
    single : set of str or None
        Values of a model column that nobody named.
    """

    models: list[str]
    level: Ints
    label: Ints
    rows: Ints
    weight: NDArray[np.float64]
    square: NDArray[np.float64]
    bad_weights: int
    words: tuple[int, ...]
    values: dict[str, list[str | None]]
    single: frozenset[str | None]


@dataclass(frozen=True)
class Plan:
    """How rows become cells."""

    roles: Roles
    cuts: dict[str | None, list[decide.Cut]]
    binary_only: bool
    binary: bool  # whether scores must be 0 or 1
    bins: dict[str, Bins]

    @property
    def drawn(self) -> bool:
        """Whether ties are drawn, which needs all attributes of a row together."""
        return any(isinstance(cut.tied, int) for cuts in self.cuts.values() for cut in cuts)


def scores_of(cuts: list[decide.Cut]) -> list[float]:
    """Return the scores at which there is a cut, sorted."""
    return sorted({cut.score for cut in cuts})


def code_sql(source: Source, column: int, bad: int) -> str:
    """Write a 0/1 cell in SQL: 0, 1, or `bad`."""
    if column in source.numbers:
        return f"CASE n{column} WHEN 0 THEN 0 WHEN 1 THEN 1 ELSE {bad} END"
    cell, plain = f"c{column}", trimmed(column)
    value = f"TRY_CAST({plain} AS DOUBLE)"
    return (
        f"CASE WHEN {cell} = '0' OR {cell} = '0.0' THEN 0 WHEN {cell} = '1' OR {cell} = '1.0' THEN 1 "
        f"WHEN lower({plain}) = 'true' THEN 1 WHEN lower({plain}) = 'false' THEN 0 "
        f"WHEN {value} = 1 THEN 1 WHEN {value} = 0 THEN 0 ELSE {bad} END"
    )


def _level_sql(source: Source, plan: Plan) -> str:
    if plan.binary_only:
        return code_sql(source, plan.roles.score, -1)
    bad = not_finite("s") + (" OR s NOT IN (0, 1)" if plan.binary else "")
    cases = f"CASE WHEN {bad} THEN -1"
    for model, cuts in plan.cuts.items():
        level = decide.level_sql("s", scores_of(cuts))
        if model is None:
            return f"{cases} ELSE {level} END"
        cases += f" WHEN m = '{model.replace(chr(39), chr(39) * 2)}' THEN {level}"
    return f"{cases} END"


def _keys(source: Source, plan: Plan, table: str) -> str:
    """Write a query of the keys of each row: m, level, label, the attributes k0, k1, …, single and drawn."""
    roles = plan.roles
    keys = [f"{model_name(roles)} AS m"]
    if not plan.binary_only:
        keys.append(f"{number(source, roles.score)} AS s")
    keys.append("0 AS label" if roles.label is None else f"{code_sql(source, roles.label, 2)} AS label")
    for at, (name, column) in enumerate(roles.all_attributes.items()):
        bins = plan.bins.get(name)
        keys.append(f"{bin_sql(source, column, bins)} AS k{at}" if bins else f"c{column} AS k{at}")
    if roles.weight is not None:
        keys.append(f"{number(source, roles.weight)} AS w")
    keys += [f"c{column}" for column in roles.quantities]
    keys.append(
        "NULL AS single" if roles.single_model is None else f"{trimmed(roles.single_model)} AS single"
    )
    if plan.binary_only:
        keys.append(f"{_level_sql(source, plan)} AS level")
        return f"SELECT {', '.join(keys)} FROM {table}"  # noqa: S608
    inner = f"SELECT {', '.join(keys)} FROM {table}"  # noqa: S608
    more = f"{_level_sql(source, plan)} AS level"
    if plan.drawn and roles.weight is not None:  # tied rows of different weight are not alike
        ties = {cut.score for cuts in plan.cuts.values() for cut in cuts if isinstance(cut.tied, int)}
        more += (
            f", CASE WHEN s IN ({', '.join(decide.literal(tie) for tie in sorted(ties))}) THEN w END AS tie"
        )
    return f"SELECT *, {more} FROM ({inner})"  # noqa: S608


def _sums(source: Source, roles: Roles) -> str:
    bad = "w IS NULL OR NOT isfinite(w) OR w < 0"
    parts = ["count(*)"]
    if roles.weight is None:
        parts += ["0.0", "0.0", "0"]
    else:
        parts += ["coalesce(sum(w), 0)", "coalesce(sum(w * w), 0)", f"count(*) FILTER ({bad})"]
    parts += [
        f"count(*) FILTER (trim(c{i}) <> '' AND TRY_CAST(c{i} AS DOUBLE) IS NULL)"
        for i in roles.quantities
        if i not in source.numbers
    ]
    return ", ".join(parts)


def count_cells(engine: "DuckDBPyConnection", source: Source, plan: Plan) -> dict[tuple[str, ...], Cells]:
    """Count the rows of the file in one scan.

    All attributes together when that leaves few cells (as for race, sex and age), else each attribute and
    intersection apart, by GROUPING SETS.

    Returns
    -------
    dict of attribute names to Cells
        Under the names that were counted together.
    """
    roles = plan.roles
    attributes = list(roles.all_attributes)
    table = _keys(source, plan, source.relation)
    sums = _sums(source, roles)
    keys = ", ".join([*KEYS, *(f"k{i}" for i in range(len(attributes)))])
    tied = keys + (", tie" if plan.drawn and roles.weight is not None else "")
    most = MOST_DRAWN if plan.drawn else MOST_CELLS
    sample = f"SELECT DISTINCT {tied} FROM ({_keys(source, plan, 'sample')})"  # noqa: S608
    if (engine.execute(f"SELECT count(*) FROM ({sample})").fetchone() or (0,))[0] <= most:  # noqa: S608
        sql = f"SELECT {keys}, {sums} FROM ({table}) GROUP BY {tied} LIMIT {most + 1}"  # noqa: S608
        found = engine.execute(sql).fetchall()
        if len(found) <= most:
            return {tuple(attributes): _cells(found, attributes, plan)}
    if plan.drawn:
        raise user_error(
            "the attributes have too many combinations to draw ties at random",
            "name fewer attributes, or use --ties include",
            "--ties",
        )
    _refuse_wide(engine, source, plan, table)
    sets = [*((name,) for name in roles.attributes), *roles.intersections]
    result: dict[tuple[str, ...], Cells] = {}
    for start in range(0, len(sets), 50):
        result |= _apart(engine, table, sums, sets[start : start + 50], plan)
    return result


def _apart(
    engine: "DuckDBPyConnection", table: str, sums: str, sets: Sequence[tuple[str, ...]], plan: Plan
) -> dict[tuple[str, ...], Cells]:
    """Count some attributes and intersections, each for itself, in one scan."""
    attributes = list(plan.roles.all_attributes)
    places = [[attributes.index(name) for name in names] for names in sets]
    used = sorted({place for part in places for place in part})
    grouping = ", ".join(f"({', '.join([*KEYS, *(f'k{i}' for i in part)])})" for part in places)
    columns = ", ".join([*KEYS, *(f"k{i}" for i in used), sums, *(f"grouping(k{i})" for i in used)])
    sql = f"SELECT {columns} FROM ({table}) GROUP BY GROUPING SETS ({grouping})"  # noqa: S608
    found = engine.execute(sql).fetchall()
    first, after = len(KEYS), len(KEYS) + len(used)
    result = {}
    for names, part in zip(sets, places, strict=True):
        inside = tuple(0 if i in part else 1 for i in used)
        where = [first + used.index(i) for i in part]
        rows = [
            (*row[:first], *(row[i] for i in where), *row[after : -len(used)])
            for row in found
            if row[-len(used) :] == inside
        ]
        result[names] = _cells(rows, names, plan)
    return result


def _refuse_wide(engine: "DuckDBPyConnection", source: Source, plan: Plan, table: str) -> None:
    """Refuse an attribute with far too many groups before they are counted."""
    names = list(plan.roles.all_attributes)
    parts = ", ".join(f"approx_count_distinct(k{i})" for i in range(len(names)))
    found = engine.execute(f"SELECT {parts} FROM ({table})").fetchone() or ()  # noqa: S608
    for name, distinct in zip(names, found, strict=True):
        if distinct > 2 * MOST_GROUPS:
            raise too_many_groups(source, name, f"about {distinct}")


def _cells(found: Sequence[tuple[Any, ...]], names: Sequence[str], plan: Plan) -> Cells:
    size = len(names)
    found = sorted(
        found, key=lambda row: tuple((part is None, part) for part in row[: 4 + size]) + row[4 + size :]
    )
    values: dict[str, list[str | None]] = {}
    for at, name in enumerate(names, 4):
        bins = plan.bins.get(name)
        values[name] = [bins.labels[row[at]] if bins and row[at] is not None else row[at] for row in found]
    sums = [row[4 + size :] for row in found]
    rows = np.array([part[0] for part in sums], dtype=np.int64)
    weighted = plan.roles.weight is not None
    return Cells(
        models=[row[0] for row in found],
        level=np.array([row[1] for row in found], dtype=np.int64),
        label=np.array([row[2] for row in found], dtype=np.int64),
        rows=rows,
        weight=np.array([part[1] for part in sums], dtype=np.float64)
        if weighted
        else rows.astype(np.float64),
        square=np.array([part[2] for part in sums], dtype=np.float64)
        if weighted
        else rows.astype(np.float64),
        bad_weights=sum(part[3] for part in sums),
        words=tuple(sum(column) for column in zip(*(part[4:] for part in sums), strict=True)),
        values=values,
        single=frozenset(row[3] for row in found),
    )
