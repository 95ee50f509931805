"""Count the rows by model, decision, label and groups in one pass, and make slices of the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench_cli.audit.read.columns import MOST_GROUPS, ColumnRoles, too_many_groups
from fairbench_cli.audit.read.cuts import (
    Cut,
    Ints,
    NumberBins,
    bin_sql,
    joint_level_sql,
    level_sql,
    literal,
    model_sql,
    scores_of,
    selected,
)
from fairbench_cli.audit.read.predictions import BLANKS, Predictions, code_sql, not_finite, quoted
from fairbench_cli.audit.read.tally import MISSING, Slice
from fairbench_cli.errors import user_error
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS

KEYS = ("m", "level", "label", "single")
MOST_CELLS = 20_000  # of all attributes together; beyond, each is counted apart
MOST_DRAWN = 200_000  # the same, when ties are drawn
AT_ONCE = 50  # attributes and intersections counted apart in one scan


@dataclass(frozen=True, eq=False)
class CountedCells:
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
    weight: Floats
    square: Floats
    bad_weights: int
    words: tuple[int, ...]
    values: dict[str, list[str | None]]
    single: frozenset[str | None]


@dataclass(frozen=True)
class CountingPlan:
    """How rows become cells.

    `binary` says whether scores are 0 or 1; `other_cuts` are those of the other columns of scores, one each.
    """

    roles: ColumnRoles
    cuts: dict[str | None, list[Cut]]
    binary: bool
    bins: dict[str, NumberBins]
    other_cuts: tuple[Cut, ...] = ()

    @property
    def drawn(self) -> list[float]:
        """Scores whose ties are drawn, which needs all attributes of a row together."""
        return sorted({cut.score for cuts in self.cuts.values() for cut in cuts if isinstance(cut.tied, int)})


def count_cells(source: Predictions, plan: CountingPlan) -> dict[tuple[str, ...], CountedCells]:
    """Count the rows in one scan.

    All attributes together when that leaves few cells (as for race, sex and age), else each attribute and
    intersection apart, by GROUPING SETS.

    Returns
    -------
    dict of attribute names to CountedCells
        Under the names that were counted together.

    Raises
    ------
    UserError
        When there are too many groups, or too many cells to draw ties.
    """
    roles = plan.roles
    attributes = tuple(roles.attributes)
    sums, table = _sums(roles), _keys(plan, "predictions")
    keys = ", ".join([*KEYS, *(f"k{i}" for i in range(len(attributes)))])
    tied = keys + (", tie" if plan.drawn and roles.weight is not None else "")
    most = MOST_DRAWN if plan.drawn else MOST_CELLS
    sample = f"SELECT DISTINCT {tied} FROM ({_keys(plan, 'sample')})"
    if source.one(f"SELECT count(*) FROM ({sample})")[0] <= most:
        found = source.all(f"SELECT {keys}, {sums} FROM ({table}) GROUP BY {tied} LIMIT {most + 1}")
        if len(found) <= most:
            return {attributes: _cells(found, attributes, plan)}
    if plan.drawn:
        what = "the attributes have too many combinations to draw ties at random"
        raise user_error(what, "name fewer attributes, or use --ties include", "--ties")
    estimates = ", ".join(f"approx_count_distinct(k{i})" for i in range(len(attributes)))
    for name, distinct in zip(attributes, source.one(f"SELECT {estimates} FROM ({table})"), strict=True):
        if distinct > 2 * MOST_GROUPS:
            raise too_many_groups(source, name, f"about {distinct}")
    result: dict[tuple[str, ...], CountedCells] = {}
    for start in range(0, len(roles.audited), AT_ONCE):
        result |= _apart(source, table, sums, roles.audited[start : start + AT_ONCE], plan)
    return result


def _keys(plan: CountingPlan, table: str) -> str:
    """Write a query of the keys of each row: m, level, label, the attributes k0, k1, …, single and tie."""
    roles = plan.roles
    keys = [f"{model_sql(roles)} AS m"]
    keys.append("0 AS label" if roles.label is None else f"{code_sql(roles.label, 2)} AS label")
    for at, (name, column) in enumerate(roles.attributes.items()):
        keys.append(f"{bin_sql(column, plan.bins[name]) if name in plan.bins else f'g{column}'} AS k{at}")
    if roles.weight is not None:
        keys.append(f"n{roles.weight} AS w")
    keys += [f"(t{column} <> '' AND n{column} IS NULL) AS word{column}" for column in roles.quantities]
    keys.append("NULL AS single" if roles.single_model is None else f"t{roles.single_model} AS single")
    if plan.binary:
        codes = [code_sql(column, -1) for column in (roles.score, *roles.others)]
        keys.append(f"{joint_level_sql(codes)} AS level")
        return f"SELECT {', '.join(keys)} FROM {table}"
    keys += [f"n{roles.score} AS s", *(f"n{column} AS s{i}" for i, column in enumerate(roles.others))]
    more = f"{_level_sql(plan)} AS level"
    if plan.drawn and roles.weight is not None:  # tied rows of different weight are not alike
        more += f", CASE WHEN s IN ({', '.join(map(literal, plan.drawn))}) THEN w END AS tie"
    return f"SELECT *, {more} FROM (SELECT {', '.join(keys)} FROM {table})"


def _level_sql(plan: CountingPlan) -> str:
    levels = {model: level_sql("s", scores_of(cuts)) for model, cuts in plan.cuts.items()}
    cases = "".join(
        f" ELSE {level}" if model is None else f" WHEN m = {quoted(model)} THEN {level}"
        for model, level in levels.items()
    )
    others = {f"s{i}": f" ELSE {level_sql(f's{i}', [cut.score])}" for i, cut in enumerate(plan.other_cuts)}
    return joint_level_sql(
        [f"CASE WHEN {not_finite(s)} THEN -1{each} END" for s, each in {"s": cases, **others}.items()]
    )


def _sums(roles: ColumnRoles) -> str:
    parts = ["count(*)"]
    if roles.weight is None:
        parts += ["count(*)", "count(*)", "0"]
    else:
        bad = f"{not_finite('w')} OR w < 0"
        parts += ["coalesce(sum(w), 0)", "coalesce(sum(w * w), 0)", f"count(*) FILTER ({bad})"]
    parts += [f"count(*) FILTER (word{column})" for column in roles.quantities]
    return ", ".join(parts)


def _apart(
    source: Predictions, table: str, sums: str, sets: Sequence[tuple[str, ...]], plan: CountingPlan
) -> dict[tuple[str, ...], CountedCells]:
    """Count some attributes and intersections, each for itself, in one scan."""
    attributes = list(plan.roles.attributes)
    places = [[attributes.index(name) for name in names] for names in sets]
    used = sorted({place for part in places for place in part})
    grouping = ", ".join(f"({', '.join([*KEYS, *(f'k{i}' for i in part)])})" for part in places)
    columns = ", ".join([*KEYS, *(f"k{i}" for i in used), sums, *(f"grouping(k{i})" for i in used)])
    found = source.all(f"SELECT {columns} FROM ({table}) GROUP BY GROUPING SETS ({grouping})")
    first, after = len(KEYS), len(KEYS) + len(used)
    result = {}
    for names, part in zip(sets, places, strict=True):
        inside = tuple(int(i not in part) for i in used)
        where = [first + used.index(i) for i in part]
        own = [row for row in found if row[-len(used) :] == inside]
        rows = [(*row[:first], *(row[i] for i in where), *row[after : -len(used)]) for row in own]
        result[names] = _cells(rows, names, plan)
    return result


def _cells(found: Sequence[tuple[Any, ...]], names: Sequence[str], plan: CountingPlan) -> CountedCells:
    after = len(KEYS) + len(names)
    found = sorted(found, key=lambda row: (*((part is None, part) for part in row[:after]), *row[after:]))
    columns = [list(column) for column in zip(*found, strict=True)]
    model, level, label, single = columns[: len(KEYS)]
    rows, weight, square, bad_weights, *words = columns[after:]
    values = dict(zip(names, columns[len(KEYS) : after], strict=True))
    for name, bins in plan.bins.items():
        if name in values:
            values[name] = [None if at is None else bins.labels[at] for at in values[name]]
    return CountedCells(
        model,
        np.array(level, dtype=np.int64),
        np.array(label, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        np.array(weight, dtype=np.float64),
        np.array(square, dtype=np.float64),
        sum(bad_weights),
        tuple(map(sum, words)),
        values,
        frozenset(single),
    )


def group_name(value: str | None) -> str:
    """Return the group of a cell's text.

    >>> group_name(" Asian"), group_name(" "), group_name(None)
    ('Asian', '(missing)', '(missing)')
    """
    return (value or "").strip(BLANKS) or MISSING


def make_slices(
    source: Predictions, cells: dict[tuple[str, ...], CountedCells], plan: CountingPlan, seed: int
) -> tuple[Slice, ...]:
    """Return the slices: by model, decision, attribute, intersection.

    Raises
    ------
    UserError
        For too many groups.
    """
    together = next(iter(cells.values()))
    models = sorted({model for found in cells.values() for model in found.models}, key=_missing_last)
    slices = tuple(
        _slice(cells.get(names, together), model, cut, names, plan, seed)
        for model in models
        for cut in plan.cuts[model if model in plan.cuts else None]
        for names in plan.roles.audited
    )
    for part in slices:
        many = len(part.counts.groups)
        if many > MOST_GROUPS:
            raise too_many_groups(source, part.attribute, str(many), intersection=part.intersection)
    return slices


def _missing_last(name: str) -> tuple[bool, str]:
    return name == MISSING, name


def _slice(
    cells: CountedCells, model: str, cut: Cut, names: tuple[str, ...], plan: CountingPlan, seed: int
) -> Slice:
    """Return the counts of an attribute or intersection under one model and decision."""
    at = np.flatnonzero(np.array(cells.models) == model)
    parts = [[group_name(cells.values[name][i]) for i in at] for name in names]
    keys = list(zip(*parts, strict=True))
    groups = sorted(set(keys), key=lambda key: [_missing_last(part) for part in key])
    index = {key: i for i, key in enumerate(groups)}
    code = 2 * np.array([index[key] for key in keys], dtype=np.int64) + cells.label[at]
    rows, weight = cells.rows[at], cells.weight[at]
    scores = scores_of(plan.cuts[model if model in plan.cuts else None])
    picked = selected(cut, scores, cells.level[at], rows, seed, model)

    def by_group(of_row: Floats) -> Floats:
        """Sum over the rows of each group, label and decision; where ties are drawn, rows count in part."""
        part = np.where(picked == rows, of_row, of_row * picked / rows)
        sums = [np.bincount(code, each, minlength=2 * len(groups)) for each in (of_row - part, part)]
        return np.stack(sums, axis=1).reshape(-1, 2, 2).astype(np.float64)

    return Slice(
        model=model,
        decision=cut.text,
        attribute=CROSS.join(names),
        counts=Counts(tuple(CROSS.join(key) for key in groups), by_group(weight)),
        cell_rows=by_group(rows.astype(np.float64)).astype(np.int64),
        squares=by_group(cells.square[at]),
        labelled=plan.roles.label is not None,
        intersection=len(names) > 1,
    )
