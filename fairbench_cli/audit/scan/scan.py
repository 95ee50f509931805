"""Count the rows by model, decision, label and groups in one pass, and make slices of the counts."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from fairbench_cli.audit.read.columns import MOST_GROUPS, ColumnRoles
from fairbench_cli.audit.read.cuts import (
    Cut,
    Ints,
    NumberBins,
    bin_sql,
    joint_level_sql,
    level_sql,
    literal,
    scores_of,
    selected,
)
from fairbench_cli.audit.read.defaults import MOST_CHECKED
from fairbench_cli.audit.read.predictions import BLANKS, Predictions, code_sql, in_parts, not_finite, quoted
from fairbench_cli.audit.read.ranks import model_sql
from fairbench_cli.audit.read.tally import MISSING, Slice
from fairbench_cli.base.errors import user_error
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS

KEYS = ("m", "level", "label", "single")
MOST_CELLS = 1000  # of attributes that are counted together, as far as the first rows show
MOST_FOUND = 200_000  # cells of one query; beyond, an attribute has too many values


@dataclass(frozen=True, eq=False)
class CountedCells:
    """Rows that are alike in all that counts.

    Parameters
    ----------
    models : list of str
    level : int array
        Of the score among the cuts, or the position of a class; -1 for a score that is none.
    label : int array
        0 or 1, or the position of a class; `ColumnRoles.bad_label` for a label that is none.
    rows, weighing : int arrays
        How many rows, and how many of them have a weight above 0.
    weight, square : arrays
        The sums of their weights and squared weights.
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
    weighing: Ints
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
    """Count the rows, in one scan as many sets of attributes as fit into the memory.

    Attributes that leave few cells are counted together (as race, sex and age); of many attributes several
    such sets are counted, by GROUPING SETS.

    Returns
    -------
    dict of attribute names to CountedCells
        Under the names that were counted together.

    Raises
    ------
    TooManyGroups
        When there are too many groups.
    UserError
        When there are too many cells to draw ties.
    """
    attributes = tuple(plan.roles.attributes)
    if plan.drawn:  # all together: a row is drawn once for all attributes
        return {attributes: _together(source, attributes, plan)}
    sets = _sets(_levels(source, plan), plan.roles.audited)
    try:
        return _counted(source, sets, plan)
    except _TooManyCells:  # the first rows misled
        _refuse_groups(source, plan)
        return _counted(source, plan.roles.audited, plan)


class _TooManyCells(Exception):  # noqa: N818
    """More cells than are worth fetching."""


class TooManyGroups(Exception):  # noqa: N818
    """Attributes, or one intersection of them, with too many groups, and how many in words."""

    def __init__(self, names: tuple[str, ...], count: str) -> None:
        super().__init__(names, count)
        self.names, self.count = names, count


def _together(source: Predictions, attributes: tuple[str, ...], plan: CountingPlan) -> CountedCells:
    table = keys_sql(plan, attributes)
    keys = ", ".join([*KEYS, *(f"k{i}" for i in range(len(attributes)))])
    tied = keys + (", tie" if plan.roles.weight is not None else "")
    sql = f"SELECT {keys}, {_sums(plan.roles)} FROM ({table}) GROUP BY {tied} LIMIT {MOST_FOUND + 1}"
    found = source.all(sql)
    if len(found) > MOST_FOUND:
        what = "the attributes have too many combinations to draw ties at random"
        raise user_error(what, "name fewer attributes, or use --ties include", "--ties")
    return _cells(found, attributes, plan)


def _levels(source: Predictions, plan: CountingPlan) -> dict[str, int]:
    """Return how many groups each attribute has in the first rows."""
    names = list(plan.roles.attributes)
    found: list[int] = []
    for some in in_parts(names, source.at_once):
        counts = ", ".join(f"count(DISTINCT {_group(plan, name)}) + 1" for name in some)
        found += source.one(f"SELECT {counts} FROM sample")
    return dict(zip(names, found, strict=True))


def _sets(levels: dict[str, int], audited: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return sets of attributes to count together, such that each of `audited` is within one of them.

    >>> _sets({"a": 9, "b": 900, "c": 8, "d": 7}, [("a",), ("b",), ("c",), ("d",), ("b", "d")])
    [('b', 'd'), ('a', 'c')]
    """
    sets: list[tuple[str, ...]] = []
    for names in sorted(audited, key=len, reverse=True):
        if any(set(names) <= set(known) for known in sets):
            continue
        last = tuple(dict.fromkeys((*(sets[-1] if sets else ()), *names)))
        if sets and math.prod(levels[name] for name in last) <= MOST_CELLS:
            sets[-1] = last
        else:
            sets.append(names)
    return sets


def _refuse_groups(source: Predictions, plan: CountingPlan) -> None:
    """Refuse attributes of too many groups, by an estimate."""
    for some in in_parts(list(plan.roles.attributes), source.at_once):
        estimates = ", ".join(f"approx_count_distinct({_group(plan, name)})" for name in some)
        for name, distinct in zip(some, source.one(f"SELECT {estimates} FROM predictions"), strict=True):
            if distinct > 2 * MOST_GROUPS:
                raise TooManyGroups((name,), f"about {distinct}")


def _group(plan: CountingPlan, name: str) -> str:
    """Write what rows of one group share in SQL."""
    column = plan.roles.attributes[name]
    return bin_sql(column, plan.bins[name]) if name in plan.bins else f"g{column}"


def keys_sql(
    plan: CountingPlan, attributes: Iterable[str], table: str = "predictions", more: Sequence[str] = ()
) -> str:
    """Write a query of the keys of each row: m, level, label, the attributes k0, k1, …, single and tie."""
    roles = plan.roles
    keys = [f"{model_sql(roles)} AS m"]
    keys.append("0 AS label" if roles.label is None else f"{code_sql(roles.label, roles.bad_label)} AS label")
    keys += [f"{_group(plan, name)} AS k{at}" for at, name in enumerate(attributes)]
    if roles.weight is not None:
        keys.append(f"n{roles.weight} AS w")
    keys += [f"(t{column} <> '' AND n{column} IS NULL) AS word{column}" for column in _checked(roles)]
    keys.append("NULL AS single" if roles.single_model is None else f"t{roles.single_model} AS single")
    keys += more
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
        parts += ["count(*)", "count(*)", "count(*)", "0"]
    else:
        bad = f"{not_finite('w')} OR w < 0"
        parts += [
            "count(*) FILTER (w > 0)",
            "coalesce(sum(w), 0)",
            "coalesce(sum(w * w), 0)",
            f"count(*) FILTER ({bad})",
        ]
    parts += [f"count(*) FILTER (word{column})" for column in _checked(roles)]
    return ", ".join(parts)


def _checked(roles: ColumnRoles) -> tuple[int, ...]:
    return roles.quantities if len(roles.quantities) <= MOST_CHECKED else ()


def _counted(
    source: Predictions, sets: Sequence[tuple[str, ...]], plan: CountingPlan
) -> dict[tuple[str, ...], CountedCells]:
    result: dict[tuple[str, ...], CountedCells] = {}
    for some in in_parts(sets, source.at_once):
        result |= _count_sets(source, some, plan)
    return result


def _count_sets(
    source: Predictions, sets: Sequence[tuple[str, ...]], plan: CountingPlan
) -> dict[tuple[str, ...], CountedCells]:
    """Count some sets of attributes, each for itself, in one scan."""
    used = {name: at for at, name in enumerate(dict.fromkeys(chain.from_iterable(sets)))}
    table, places = keys_sql(plan, used), [[used[name] for name in names] for names in sets]
    grouping = ", ".join(f"({', '.join([*KEYS, *(f'k{i}' for i in part)])})" for part in places)
    which = [f"grouping(k{i})" for i in used.values()]
    columns = ", ".join([*KEYS, *(f"k{i}" for i in used.values()), _sums(plan.roles), *which])
    sql = f"SELECT {columns} FROM ({table}) GROUP BY GROUPING SETS ({grouping}) LIMIT {MOST_FOUND + 1}"
    found = source.all(sql)
    if len(found) > MOST_FOUND:
        raise _TooManyCells
    first, after = len(KEYS), len(KEYS) + len(used)
    by_set: dict[tuple[int, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in found:
        by_set[row[-len(used) :]].append(row)
    result = {}
    for names, part in zip(sets, places, strict=True):
        mark = tuple(int(i not in part) for i in used.values())
        where = [first + i for i in part]
        rows = [(*row[:first], *(row[i] for i in where), *row[after : -len(used)]) for row in by_set[mark]]
        result[names] = _cells(rows, names, plan)
    return result


def _cells(found: Sequence[tuple[Any, ...]], names: Sequence[str], plan: CountingPlan) -> CountedCells:
    after = len(KEYS) + len(names)
    found = sorted(found, key=lambda row: (*((part is None, part) for part in row[:after]), *row[after:]))
    columns = [list(column) for column in zip(*found, strict=True)]
    model, level, label, single = columns[: len(KEYS)]
    rows, weighing, weight, square, bad_weights, *words = columns[after:]
    values = dict(zip(names, columns[len(KEYS) : after], strict=True))
    for name, bins in plan.bins.items():
        if name in values:
            values[name] = [None if at is None else bins.labels[at] for at in values[name]]
    return CountedCells(
        model,
        np.array(level, dtype=np.int64),
        np.array(label, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        np.array(weighing, dtype=np.int64),
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
    cells: dict[tuple[str, ...], CountedCells], plan: CountingPlan, seed: int
) -> tuple[Slice, ...]:
    """Return the slices: by model, decision, attribute, intersection.

    Raises
    ------
    TooManyGroups
        When an attribute or intersection has too many groups.
    """
    within = {names: cells_with(names, cells) for names in plan.roles.audited}
    models = sorted({model for found in cells.values() for model in found.models}, key=_missing_last)
    slices = tuple(
        _slice(within[names], model, cut, names, plan, seed)
        for model in models
        for cut in plan.cuts[model if model in plan.cuts else None]
        for names in plan.roles.audited
    )
    for part in slices:
        many = len(part.counts.groups)
        if many > MOST_GROUPS:
            raise TooManyGroups(tuple(part.attribute.split(CROSS)), str(many))
    return slices


def cells_with(names: tuple[str, ...], cells: dict[tuple[str, ...], CountedCells]) -> CountedCells:
    """Return the cells in which some attributes were counted together."""
    return next(found for known, found in cells.items() if set(names) <= set(known))


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
    label, level = cells.label[at], cells.level[at]
    if cut.outcome is not None:
        label, level = (label == cut.outcome).astype(np.int64), (level == cut.outcome).astype(np.int64)
    code = 2 * np.array([index[key] for key in keys], dtype=np.int64) + label
    rows, weight = cells.rows[at], cells.weight[at]
    scores = scores_of(plan.cuts[model if model in plan.cuts else None])
    picked = selected(cut, scores, level, rows, seed, model)

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
        cell_rows=by_group(cells.weighing[at].astype(np.float64)).astype(np.int64),
        squares=by_group(cells.square[at]),
        labelled=plan.roles.label is not None,
        intersection=len(names) > 1,
    )
