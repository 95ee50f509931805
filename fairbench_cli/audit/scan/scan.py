"""The rows as they are counted: what each is selected as, its groups, and the cells of rows that are alike.

The rows become known in three steps, each a type that has what the one before has, and more:

* `OpenedRows`: what each column is, and how its cells are read. They write the keys of a row in SQL, under
  names such as ``model``, ``level_0``, ``label`` and ``attribute_0``, and `group_by` counts rows by keys.
* `CountedRows`: counts by few keys, the `Cells`, of which slices are made. Where people have several rows,
  `cluster_slices` counts by person, too.
* `Scan`: the slices and what a reader should know of them, the `Tally`. This is what parts of an audit get.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan import readings, sql
from fairbench_cli.audit.scan.input_errors import refuse_if
from fairbench_cli.audit.scan.readings import Cut, CutsByModel, Ints, NumberBins, count_selected, scores_of
from fairbench_cli.audit.scan.roles import MOST_CHECKED, MOST_GROUPS, ColumnRoles
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Clusters, Ones, Slice, Tally
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.groups import CROSS

MOST_CELLS = 1000  # of attributes that are counted together, as far as the first rows show
MOST_FOUND = 200_000  # cells of one query; beyond, an attribute has too many values
SUMS_OF_WEIGHTS = ("weight", "square", "cube")
_WEIGHTS = ("weight", "square")  # sums of the weights of rows that are alike, and of their squares


@dataclass(frozen=True)
class Attempt:
    """What an audit is tried with.

    Parameters
    ----------
    config : AuditConfig
        With the remedies of what was found so far.
    without_scores : bool
        Whether everybody counts as selected, as nothing is known of the column of scores.
    first_copies : bool
        Whether a name that several columns have is that of the first of them.
    """

    config: AuditConfig
    without_scores: bool = False
    first_copies: bool = False


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows that are alike in all that counts.

    Parameters
    ----------
    models : list of str
    level : int array, shape (scores, cells)
        Of each score among its cuts, or the position of a class; -1 for a score that is none.
    label : int array
        0 or 1, or the position of a class; `ColumnRoles.bad_label` for a label that is none.
    rows, weighing : int arrays
        How many rows, and how many of them have a weight above 0.
    weight, square : arrays
        The sums of their weights and squared weights.
    bad_weights, word_counts : int
        Rows with a weight that is none; cells of supposed quantities that are not numbers.
    values : dict of attribute to list of str or None
        As in the file; the names of bins for binned ones.
    """

    models: list[str]
    level: Ints
    label: Ints
    rows: Ints
    weighing: Ints
    weight: Floats
    square: Floats
    bad_weights: int
    word_counts: tuple[int, ...]
    values: dict[str, list[str | None]]


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """The rows of an audit while they can be read, and how they are.

    Parameters
    ----------
    source : Source
        The rows.
    config : AuditConfig
    roles : ColumnRoles
        What each column is.
    classes : tuple of str
        Of the scores and labels, where several are audited, each against the rest.
    cuts : tuple of dicts of model to list of Cut
        The decisions, by column of scores; under None when they are the same for all models.
    bins : dict of attribute to NumberBins
    binary : bool
        Whether scores are 0 or 1.
    notes : tuple of str
        What a reader should know of the columns.
    ones : Ones
    """

    source: Source
    config: AuditConfig
    roles: ColumnRoles
    classes: tuple[str, ...]
    cuts: tuple[CutsByModel, ...]
    bins: dict[str, NumberBins]
    binary: bool
    notes: tuple[str, ...]
    ones: Ones

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.roles.weight is not None

    @property
    def bad_label(self) -> int:
        """The code of a label that is none: one more than the highest."""
        return max(1, len(self.classes)) + 1

    @property
    def drawn(self) -> list[float]:
        """Scores whose ties are drawn, which needs all attributes of a row together."""
        cuts = chain.from_iterable(self.cuts[0].values())
        return sorted({cut.score for cut in cuts if isinstance(cut.tied, int)})

    def cuts_of(self, model: str) -> list[Cut]:
        """Return the decisions of a model by the first column of scores."""
        by_model = self.cuts[0]
        return by_model[model if model in by_model else None]

    @property
    def key_names(self) -> tuple[str, ...]:
        """The keys of a row other than its groups, in the order in which cells are sorted."""
        levels = (f"level_{i}" for i in reversed(range(len(self.roles.scores))))
        return ("model", *levels, "label")

    def group_sql(self, name: str) -> str:
        """Write what rows of one group of an attribute share in SQL."""
        column = self.roles.attributes[name]
        if name in self.bins:
            return readings.bin_sql(column, self.bins[name])
        return f"group_{column}"

    def keys(
        self, attributes: Iterable[str], table: str = "predictions", more_keys: Sequence[str] = ()
    ) -> str:
        """Write a query of the keys of each row: `key_names`, attribute_0, …, score, weight, tie."""
        roles = self.roles
        label = "0"
        if roles.label is not None:
            label = sql.code(roles.label, self.bad_label)
        keys = [f"{roles.model_sql} AS model", f"{label} AS label"]
        keys += [f"{self.group_sql(name)} AS attribute_{i}" for i, name in enumerate(attributes)]
        if roles.weight is not None:
            keys.append(f"number_{roles.weight} AS weight")
        keys += [f"{sql.word(column)} AS word_{column}" for column in _columns_checked_for_words(roles)]
        keys += more_keys
        if self.binary:
            levels = [f"{sql.code(column, -1)} AS level_{i}" for i, column in enumerate(roles.scores)]
            return f"SELECT {', '.join(keys + levels)} FROM {table}"
        keys += [f"number_{column} AS score_{i}" for i, column in enumerate(roles.scores)]
        columns = ["*", *self._levels_sql()]
        if self.drawn and roles.weight is not None:  # tied rows of different weight are not alike
            columns.append(
                f"CASE WHEN score_0 IN ({', '.join(map(sql.literal, self.drawn))}) THEN weight END AS tie"
            )
        return f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(keys)} FROM {table})"

    def _levels_sql(self) -> Iterator[str]:
        for i, by_model in enumerate(self.cuts):
            score = f"score_{i}"
            cases = f"CASE WHEN {sql.not_finite(score)} THEN -1"
            for model, cuts in by_model.items():
                if model is None:
                    cases += " ELSE"
                else:
                    cases += f" WHEN model = {sql.quoted(model)} THEN"
                cases += f" {readings.level_sql(score, scores_of(cuts))}"
            yield f"{cases} END AS level_{i}"


@dataclass(frozen=True, eq=False)
class CountedRows(OpenedRows):
    """The rows of an audit, counted.

    Parameters
    ----------
    cells : dict of attributes to Cells
        What was counted, under the names that were counted together.
    """

    cells: Mapping[tuple[str, ...], Cells]

    @property
    def together(self) -> Cells:
        """All rows, by some of the attributes."""
        return next(iter(self.cells.values()))

    def cells_with(self, names: Iterable[str]) -> Cells:
        """Return the cells in which some attributes were counted together."""
        return next(cells for counted, cells in self.cells.items() if set(names) <= set(counted))

    def side(self, i: int) -> "CountedRows":
        """Return the same rows under the column of scores at position i alone."""
        if len(self.roles.scores) == 1:
            return self
        cells = {
            names: replace(all_scores, level=all_scores.level[i : i + 1])
            for names, all_scores in self.cells.items()
        }
        roles = replace(self.roles, scores=self.roles.scores[i : i + 1])
        return replace(self, roles=roles, cuts=self.cuts[i : i + 1], cells=cells)


@dataclass(frozen=True, eq=False)
class Scan(CountedRows):
    """The rows of an audit, with all that is known of them; what the parts of an audit read from.

    Parameters
    ----------
    tally : Tally
        The counts of groups.
    """

    tally: Tally


def group_by(rows: str, keys: Sequence[str], sums: Sequence[str], sets: Sequence[Sequence[str]] = ()) -> str:
    """Write a query of keys and sums over rows, grouped by the keys, or by several sets of these at once."""
    keys_sql = ", ".join(keys)
    if sets:
        keys_sql = f"GROUPING SETS (({'), ('.join(', '.join(set_keys) for set_keys in sets)}))"
    columns = ", ".join(chain(keys, sums))
    return f"SELECT {columns} FROM ({rows}) GROUP BY {keys_sql}"


class _TooManyCells(Exception):  # noqa: N818
    """More cells than are worth fetching."""


class TooManyGroups(Exception):  # noqa: N818
    """Attributes, or one intersection of them, with too many groups, and how many in words."""

    def __init__(self, names: tuple[str, ...], count: str) -> None:
        super().__init__(names, count)
        self.names = names
        self.count = count


def count_cells(scan: OpenedRows) -> dict[tuple[str, ...], Cells]:
    """Count the rows, in one scan as many sets of attributes as fit into the memory.

    Attributes that leave few cells are counted together (as race, sex and age); of many attributes several
    such sets are counted, by GROUPING SETS.

    Returns
    -------
    dict of attribute names to Cells
        Under the names that were counted together.

    Raises
    ------
    TooManyGroups
        When there are too many groups.
    UserError
        When there are too many cells to draw ties, or of too many models.
    """
    attributes = tuple(scan.roles.attributes)
    audited = scan.roles.audited
    single_attributes = [(name,) for name in attributes]
    try:
        if scan.drawn:  # all together: a row is drawn once for all attributes
            return _count_sets(scan, [attributes])
        in_sample = _count_groups(scan, "count(DISTINCT {}) + 1", "sample", single_attributes)
        levels = {name: n_levels for (name,), n_levels in in_sample}
        return _count_in_batches(scan, _sets_to_count(levels, audited))
    except _TooManyCells:
        if scan.drawn:
            problem = "the attributes have too many combinations to draw ties at random"
            fix = ("name fewer attributes, or use ", Flag("ties", "include"))
            raise user_error(problem, fix, Flag("ties")) from None
    # The first rows misled.
    all_sets = dict.fromkeys(chain(single_attributes, audited))
    for names, n_groups in _count_groups(scan, "approx_count_distinct({})", "predictions", all_sets):
        if n_groups > 2 * MOST_GROUPS:
            raise TooManyGroups(names, f"about {n_groups}")
    try:
        return _count_in_batches(scan, audited)
    except _TooManyCells:
        problem = f"models, decisions and groups make over {MOST_FOUND:,} combinations"
        where = scan.source.name if scan.roles.model is None else Flag("model-column")
        raise user_error(problem, "audit fewer models or decisions at a time", where) from None


def _count_groups(
    scan: OpenedRows, count: str, table: str, sets: Iterable[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield sets of attributes, each with a count of its groups; `count` is SQL with a place for these."""
    for some_sets in scan.source.in_batches(list(sets)):
        keys = (", ".join(map(scan.group_sql, names)) for names in some_sets)
        counts = ", ".join(count.format(f"({key})") for key in keys)
        yield from zip(some_sets, scan.source.row(f"SELECT {counts} FROM {table}"), strict=True)


def _sets_to_count(levels: dict[str, int], audited: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return sets of attributes to count together, such that each of `audited` is within one of them.

    >>> _sets_to_count({"a": 9, "b": 900, "c": 8, "d": 7}, [("a",), ("b",), ("c",), ("d",), ("b", "d")])
    [('b', 'd'), ('a', 'c')]
    """
    sets: list[tuple[str, ...]] = []
    for names in sorted(audited, key=len, reverse=True):
        if any(set(names) <= set(counted) for counted in sets):
            continue
        # The last set takes these attributes, too, if that leaves few cells.
        extended = tuple(dict.fromkeys(sets[-1] + names)) if sets else ()
        if sets and math.prod(levels[name] for name in extended) <= MOST_CELLS:
            sets[-1] = extended
        else:
            sets.append(names)
    return sets


def _count_in_batches(scan: OpenedRows, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Cells]:
    cells: dict[tuple[str, ...], Cells] = {}
    for some_sets in scan.source.in_batches(sets):
        cells |= _count_sets(scan, some_sets)
    return cells


def _count_sets(scan: OpenedRows, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Cells]:
    """Count some sets of attributes, each for itself, in one scan."""
    key_of = {name: f"attribute_{i}" for i, name in enumerate(dict.fromkeys(chain.from_iterable(sets)))}
    tie = ("tie",) if scan.drawn and scan.weighted else ()
    sums = _sums_sql(scan.roles) + [f"grouping({key})" for key in key_of.values()]
    grouping_sets: list[tuple[str, ...]] = []
    for names in sets:
        attribute_keys = tuple(key_of[name] for name in names)
        grouping_sets.append(scan.key_names + attribute_keys + tie)
    keys = scan.key_names + tuple(key_of.values())
    query = group_by(scan.keys(key_of), keys, sums, grouping_sets)
    cell_rows = scan.source.rows(f"{query} LIMIT {MOST_FOUND + 1}")
    if len(cell_rows) > MOST_FOUND:
        raise _TooManyCells
    # DuckDB's grouping() marks a row by 1 for each key that its set does not have.
    by_marks: dict[tuple[int, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in cell_rows:
        by_marks[row[-len(key_of) :]].append(row[: -len(key_of)])
    cells: dict[tuple[str, ...], Cells] = {}
    for names in sets:
        marks = tuple(int(name not in names) for name in key_of)
        cells[names] = _make_cells(scan, by_marks[marks], key_of, names)
    return cells


def _sums_sql(roles: ColumnRoles) -> list[str]:
    """Write what is summed up of the rows of a cell in SQL, as `_make_cells` reads it."""
    sums = ["count(*)"] * 4 + ["0"]
    if roles.weight is not None:
        sums[1:] = [
            "count(*) FILTER (weight > 0)",
            "coalesce(sum(weight), 0)",
            "coalesce(sum(weight * weight), 0)",
            f"count(*) FILTER ({sql.not_weight('weight')})",
        ]
    return sums + [f"count(*) FILTER (word_{column})" for column in _columns_checked_for_words(roles)]


def _columns_checked_for_words(roles: ColumnRoles) -> tuple[int, ...]:
    return roles.quantities if len(roles.quantities) <= MOST_CHECKED else ()


def _make_cells(
    scan: OpenedRows, rows: Sequence[tuple[Any, ...]], attributes: Iterable[str], names: Sequence[str]
) -> Cells:
    """Return the cells of some attributes; the values of others among all `attributes` are NULL."""
    n_keys = len(scan.key_names)
    position = {name: n_keys + i for i, name in enumerate(attributes)}
    order = list(range(n_keys)) + [position[name] for name in names]
    after = range(n_keys + len(position), len(rows[0]))

    def sort_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        # None, which cannot be compared, comes last.
        return tuple((row[i] is None, row[i]) for i in order) + tuple(row[i] for i in after)

    columns = [list(column) for column in zip(*sorted(rows, key=sort_key), strict=True)]
    model, *levels, label = columns[:n_keys]
    count, weighing, weight, square, bad_weights, *word_counts = (columns[i] for i in after)
    values = {name: columns[position[name]] for name in names}
    for name, bins in scan.bins.items():
        if name in values:
            values[name] = [
                None if bin_index is None else bins.labels[bin_index] for bin_index in values[name]
            ]
    return Cells(
        model,
        np.array(levels[::-1], dtype=np.int64),
        np.array(label, dtype=np.int64),
        np.array(count, dtype=np.int64),
        np.array(weighing, dtype=np.int64),
        np.array(weight, dtype=np.float64),
        np.array(square, dtype=np.float64),
        sum(bad_weights),
        tuple(map(sum, word_counts)),
        values,
    )


def group_name(value: str | None) -> str:
    """Return the group of a cell's text.

    >>> group_name(" Asian"), group_name(" "), group_name(None)
    ('Asian', '(missing)', '(missing)')
    """
    return (value or "").strip(sql.BLANKS) or MISSING


def make_slices(scan: CountedRows) -> tuple[Slice, ...]:
    """Return the slices: by model, decision, attribute, intersection.

    Raises
    ------
    TooManyGroups
        When an attribute or intersection has too many groups.
    """
    slices = _unlimited_slices(scan) + tuple(_slices_of_all_classes(scan))
    for group_counts in slices:
        n_groups = len(group_counts.counts.groups)
        if n_groups > MOST_GROUPS:
            raise TooManyGroups(tuple(group_counts.attribute.split(CROSS)), str(n_groups))
    return slices


def counted_jointly(scan: Scan) -> Scan:
    """Return a scan in which all attributes are audited together, as one intersection, and nothing else.

    Its slices have as many groups as there are combinations.

    Raises
    ------
    TooManyGroups
        When there are too many to be counted.
    """
    names = tuple(scan.roles.attributes)
    joint = replace(scan, roles=replace(scan.roles, audited=(names,)))
    if not any(set(names) <= set(counted) for counted in scan.cells):
        try:
            joint = replace(joint, cells=_count_sets(joint, [names]))
        except _TooManyCells:
            raise TooManyGroups(names, f"over {MOST_FOUND // 4}") from None
    return replace(joint, tally=replace(scan.tally, slices=_unlimited_slices(joint)))


def groups_of(scan: CountedRows, names: Sequence[str]) -> tuple[list[tuple[str, ...]], Ints]:
    """Return the groups of some attributes, each as its parts, and the place of each cell's among them.

    They are in order of their names; those of an attribute that is cut at edges from low to high, a missing
    one last.
    """
    cells = scan.cells_with(names)
    keys = list(zip(*(map(group_name, cells.values[name]) for name in names), strict=True))
    cuts = [scan.bins.get(name) for name in names]
    rising = [cut.labels if cut is not None and cut.rising else () for cut in cuts]

    def sort_key(key: tuple[str, ...]) -> list[tuple[bool, int, str]]:
        return [
            (name == MISSING, labels.index(name) if name in labels else 0, name)
            for name, labels in zip(key, rising, strict=True)
        ]

    groups = sorted(set(keys), key=sort_key)
    index = {key: i for i, key in enumerate(groups)}
    return groups, np.array([index[key] for key in keys], dtype=np.int64)


def parts_of_groups(scan: CountedRows, group_counts: Slice, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the group of each attribute that each group of an intersection is made of."""
    groups, code = groups_of(scan, names)
    of_model = np.array(scan.cells_with(names).models) == group_counts.model
    return [groups[i] for i in np.unique(code[of_model])]


def _unlimited_slices(scan: CountedRows) -> tuple[Slice, ...]:
    groups_and_codes = {names: groups_of(scan, names) for names in scan.roles.audited}
    slices: list[Slice] = []
    for model in sorted(set(scan.together.models), key=lambda name: (name == MISSING, name)):
        for cut in scan.cuts_of(model):
            for names, (groups, codes) in groups_and_codes.items():
                slices.append(_make_slice(scan, model, cut, names, groups, codes))
    return tuple(slices)


def _slices_of_all_classes(scan: CountedRows) -> Iterator[Slice]:
    """Yield the rows of the right and of a wrong class, by model and attribute, where there are classes."""
    if not scan.classes or scan.roles.label is None:
        return
    for model in models_of(scan):
        for names in scan.roles.audited:
            yield _make_slice(scan, model, _RIGHT_CLASS, names, *groups_of(scan, names))


_RIGHT_CLASS = Cut(ALL_CLASSES, 1.0)


def _read_cut(cut: Cut, label: Ints, level: Ints) -> tuple[Ints, Ints]:
    """Return labels and levels as a cut takes them: of a class against the rest, or right among all."""
    if cut.text == ALL_CLASSES:
        return np.ones_like(label), np.equal(label, level).astype(np.int64)
    return against_rest(cut, label), against_rest(cut, level)


def _make_slice(
    scan: CountedRows, model: str, cut: Cut, names: tuple[str, ...], groups: list[tuple[str, ...]], code: Ints
) -> Slice:
    """Return the counts of an attribute or intersection under one model and decision."""
    cells = scan.cells_with(names)
    in_model = np.flatnonzero(np.array(cells.models) == model)
    present, group = np.unique(code[in_model], return_inverse=True)
    label, level = _read_cut(cut, cells.label[in_model], cells.level[0, in_model])
    rows = cells.rows[in_model]
    picked = count_selected(cut, scores_of(scan.cuts_of(model)), level, rows, scan.config.seed, model)

    def by_group(of_row: Floats) -> Floats:
        """Sum over the rows of each group, label and decision; where ties are drawn, rows count in part."""
        selected_share = np.where(picked == rows, of_row, of_row * picked / rows)
        sums = [
            np.bincount(2 * group + label, sums_of_rows, 2 * len(present))
            for sums_of_rows in (of_row - selected_share, selected_share)
        ]
        return np.stack(sums, axis=1).reshape(-1, 2, 2).astype(np.float64)

    return Slice(
        model=model,
        decision=cut.text,
        attribute=CROSS.join(names),
        counts=Counts(tuple(CROSS.join(groups[i]) for i in present), by_group(cells.weight[in_model])),
        cell_rows=by_group(cells.weighing[in_model].astype(np.float64)).astype(np.int64),
        squares=by_group(cells.square[in_model]),
        labelled=scan.roles.label is not None,
        intersection=len(names) > 1,
        class_name=None if cut.outcome is None else scan.classes[cut.outcome],
    )


def against_rest(cut: Cut, codes: Ints) -> Ints:
    """Return labels or levels as 0 and 1 where a cut is a class against the rest, else as they are."""
    if cut.outcome is None:
        return codes
    of_class: Ints = np.equal(codes, cut.outcome).astype(np.int64)
    return of_class


def group_finder(
    scan: CountedRows, group_counts: Slice, names: Sequence[str], kind: type[np.signedinteger[Any]] = np.int64
) -> Callable[[Sequence[Ints]], Ints]:
    """Return the function that finds the groups of rows by the codes of their attributes, see `coded_rows`.

    A group is its position in the slice `group_counts`, of a kind of integer; each row counted has one.
    """
    codes_by_attribute = [_code_names(_groups_by_value(scan, name).values()) for name in names]

    def as_number(codes: Sequence[Ints]) -> Ints:
        key = codes[0]
        for code, code_of in zip(codes[1:], codes_by_attribute[1:], strict=True):
            key = key.astype(np.int64) * len(code_of) + code
        return key

    columns = zip(*parts_of_groups(scan, group_counts, names), strict=True)
    codes: list[Ints] = []
    for code_of, column in zip(codes_by_attribute, columns, strict=True):
        codes.append(np.array([code_of[name] for name in column]))
    keys = as_number(codes)
    n_keys = math.prod(map(len, codes_by_attribute))
    if n_keys <= MOST_FOUND:  # looking a code up takes a tenth of searching for it
        index_of_key = np.zeros(n_keys, dtype=kind)  # of keys that no group has, too
        index_of_key[keys] = np.arange(len(keys))
        return lambda codes: index_of_key[as_number(codes)]
    order = np.argsort(keys)
    rising = keys[order]
    return lambda codes: order[np.searchsorted(rising, as_number(codes))].astype(kind)


def coded_rows(scan: CountedRows, rows: str, attributes: Sequence[str], columns: Sequence[str]) -> str:
    """Write rows of keys with codes in place of names, and make the tables that these are looked up in.

    The codes of a row are ``model``, its place among the models, and ``of_0``, ``of_1``, … for the groups of
    attributes, each a place among the attribute's groups. Of `columns` the rows keep these.
    """
    names_by_value: dict[str, dict[str | None, str]] = {"model": {name: name for name in models_of(scan)}}
    names_by_value |= {f"attribute_{i}": _groups_by_value(scan, name) for i, name in enumerate(attributes)}
    codes = []
    joins = []
    for key, groups in names_by_value.items():
        table = f"codes_of_{key}"
        code = _code_names(groups.values())
        scan.source.execute(f"CREATE OR REPLACE TEMP TABLE {table} (value VARCHAR, place SMALLINT)")
        scan.source.execute(
            f"INSERT INTO {table} SELECT unnest(?::VARCHAR[]), unnest(?::SMALLINT[])",
            [list(groups), [code[name] for name in groups.values()]],
        )
        joins.append(f"LEFT JOIN {table} ON CAST(each.{key} AS VARCHAR) IS NOT DISTINCT FROM {table}.value")
        codes.append(f"{table}.place AS {key.replace('attribute', 'of')}")
    return f"SELECT {', '.join(chain(codes, columns))} FROM ({rows}) AS each {' '.join(joins)}"


def models_of(scan: CountedRows) -> list[str]:
    """Return the models, or slices of the rows, in the order of their codes."""
    return sorted(set(scan.together.models))


def _code_names(names: Iterable[str]) -> dict[str, int]:
    return {name: code for code, name in enumerate(sorted(set(names)))}


def _groups_by_value(scan: CountedRows, name: str) -> dict[str | None, str]:
    """Return the group of each value that an attribute has among the keys."""
    if name in scan.bins:
        labels: dict[str | None, str] = {str(i): text for i, text in enumerate(scan.bins[name].labels)}
        return labels | {None: MISSING}
    values: set[str | None] = set()
    for cells in scan.cells.values():
        values.update(cells.values.get(name, ()))
    return {value: group_name(value) for value in values}


def with_clusters(scan: Scan) -> tuple[tuple[Slice, ...], str]:
    """Return the slices of a scan with their clusters, see `cluster_slices`."""
    return cluster_slices(scan, scan.tally.slices)


def cluster_slices(scan: CountedRows, slices: Sequence[Slice]) -> tuple[tuple[Slice, ...], str]:
    """Return the slices with their clusters, and a note that says how many of these there are.

    A slice holds one entry per person and group. Where two columns say what rows have in common, it has the
    entries by one, by the other and by both together.

    Parameters
    ----------
    scan : CountedRows
        The rows; no ties are drawn.
    slices : sequence of Slice
        Their counts, without clusters: those of one column of scores after the other.

    Raises
    ------
    UserError
        When rows do not say whose they are.
    """
    sums_by_attribute = sum_by_person(scan)
    n_of_side = len(slices) // len(scan.roles.scores)
    clustered: list[Slice] = []
    for position, group_counts in enumerate(slices):
        ways = sums_by_attribute[group_counts.attribute]
        clusters = [_make_clusters(scan, group_counts, sums, position // n_of_side) for sums in ways]
        clustered.append(group_counts.with_clusters(clusters))
    n_clusters = [int(sums.person.max(initial=-1)) + 1 for sums in next(iter(sums_by_attribute.values()))]
    names = [scan.source.columns[column] for column in scan.roles.clusters]
    counts = list(zip(names, n_clusters, strict=False))  # those of both together are no column's
    return tuple(clustered), _describe_clusters(counts, len(models_of(scan)))


def _describe_clusters(counts: Sequence[tuple[str, int]], n_models: int) -> str:
    """Return the note on how many people, schools or the like there are.

    >>> _describe_clusters([("school", 40)], 1)
    'school: the rows have 40 different values; intervals and tests go by these.'
    >>> _describe_clusters([("prompt", 30), ("name", 36)], 2)
    'prompt, name: the rows have 30 and 36 different values and 2 models; intervals and tests go by these.'
    """
    names = ", ".join(name for name, _ in counts)
    values = " and ".join(str(n) for _, n in counts)
    of_models = ""
    if n_models > 1:
        of_models = f" and {n_models} models"
    return f"{names}: the rows have {values} different values{of_models}; intervals and tests go by these."


@dataclass(frozen=True, eq=False)
class PersonSums:
    """Rows summed by person: arrays of one length.

    Parameters
    ----------
    names : sequence of str
        The attributes whose groups are told apart.
    model, label, person : int arrays
        Codes.
    levels : list of int arrays
        Of each column of scores among its cuts.
    codes : list of int arrays
        The codes of each attribute's groups.
    weights : list of float arrays
        `_WEIGHTS`, summed.
    """

    names: Sequence[str]
    model: Ints
    label: Ints
    person: Ints
    levels: list[Ints]
    codes: list[Ints]
    weights: list[Floats]


def sum_by_person(scan: CountedRows) -> dict[str, list[PersonSums]]:
    """Return the rows summed by person, score, label and the groups of each attribute or intersection.

    The rows are scanned once, into a table of these sums by all attributes, which DuckDB keeps on disk where
    it outgrows its memory.

    Returns
    -------
    dict of attribute to list of PersonSums
        By the clusters of each column, and of both together where there are two. The codes of clusters are
        those of all models and slices.

    Raises
    ------
    UserError
        When rows do not say whose they are.
    """
    source = scan.source
    attributes = list(scan.roles.attributes)
    columns = scan.roles.clusters
    people = [f"person_{i}" for i in range(len(columns))]
    levels = [f"level_{i}" for i in range(len(scan.roles.scores))]
    keys = ["model", *levels, "label", *(f"attribute_{i}" for i in range(len(attributes))), *people]
    sums = ("count(*)", "count(*)")
    if scan.weighted:
        sums = ("sum(weight)", "sum(weight * weight)")
    sums_sql = [f"{expression}::DOUBLE AS {name}" for expression, name in zip(sums, _WEIGHTS, strict=True)]
    names = (f"trimmed_{column} AS {person}" for column, person in zip(columns, people, strict=True))
    rows = scan.keys(attributes, more_keys=tuple(names))
    source.execute(f"CREATE OR REPLACE TEMP TABLE named AS {group_by(rows, keys, sums_sql)}")
    for column, person in zip(columns, people, strict=True):
        if source.row(f"SELECT count(*) FROM named WHERE coalesce({person}, '') = ''")[0]:
            problem = "{column} is empty in {count}: these do not say whose rows they are"
            fix = "fill them in, with a value for each person"
            refuse_if(source, column, sql.blank(column), problem, fix)
    orders = {person: person for person in people}
    if len(people) > 1:
        orders["person_of_both"] = ", ".join(people)
    ranks = [f"dense_rank() OVER (ORDER BY {order}) - 1 AS {person}" for person, order in orders.items()]
    ranked = f"SELECT * EXCLUDE ({', '.join(people)}), {', '.join(ranks)} FROM named"
    coded = coded_rows(scan, ranked, attributes, [*levels, "label", *orders, *_WEIGHTS])
    source.execute(f"CREATE OR REPLACE TEMP TABLE clustered AS {coded}; DROP TABLE named")
    sums_by_attribute = {}
    for attribute_names in scan.roles.audited:
        ways = [_read_sums(scan, attribute_names, person, levels) for person in orders]
        sums_by_attribute[CROSS.join(attribute_names)] = ways
    source.execute("DROP TABLE clustered")
    return sums_by_attribute


def _read_sums(scan: CountedRows, names: Sequence[str], person: str, levels: Sequence[str]) -> PersonSums:
    """Return the table of persons summed by model, levels, label, a code of persons and some attributes."""
    attributes = list(scan.roles.attributes)
    code_keys = [f"of_{attributes.index(name)}" for name in names]
    keys = ["model", *levels, "label", person, *code_keys]
    sums = group_by("SELECT * FROM clustered", keys, [f"sum({name}) AS {name}" for name in _WEIGHTS])
    people = scan.source.execute(f"{sums} ORDER BY {', '.join(keys)}").fetchnumpy()
    codes = {key: np.asarray(people[key]).astype(np.int64) for key in keys}
    return PersonSums(
        names,
        model=codes["model"],
        label=codes["label"],
        person=codes[person],
        levels=[codes[level] for level in levels],
        codes=[codes[key] for key in code_keys],
        weights=[np.asarray(people[name], dtype=np.float64) for name in _WEIGHTS],
    )


def _make_clusters(scan: CountedRows, group_counts: Slice, sums: PersonSums, score: int) -> Clusters:
    """Sum up by person and group, under one model and cut of one column of scores, by its position."""
    side = scan.side(score)
    model = group_counts.model
    if len(scan.roles.scores) > 1:
        model = ""  # what a slice is called by is the column of scores
    cuts = side.cuts_of(model)
    cut = next(cut for cut in (*cuts, _RIGHT_CLASS) if cut.text == group_counts.decision)
    in_model = np.flatnonzero(sums.model == models_of(scan).index(model))
    ones = np.ones(len(in_model), np.int64)
    label, level = _read_cut(cut, sums.label[in_model], sums.levels[score][in_model])
    picked = count_selected(cut, scores_of(cuts), level, ones, scan.config.seed, model)
    kind = 2 * label + picked
    person, group, (n, squares) = _sum_kinds(
        scan, replace(group_counts, model=model), sums, in_model, kind, 4
    )
    return Clusters(person, group, n.reshape(-1, 2, 2), squares.reshape(-1, 2, 2))


def pair_clusters(scan: CountedRows, before: Slice, sums: PersonSums, score: int) -> Clusters:
    """Sum up by person, group and kind of row: decided by the first column of scores, and by another."""
    from fairbench_cli.measures.paired_change import KINDS

    picked = []
    for position in (0, score):
        side = scan.side(position)
        (cut,) = side.cuts_of("")
        ones = np.ones(len(sums.person), np.int64)
        picked.append(count_selected(cut, scores_of([cut]), sums.levels[position], ones, 0, ""))
    kind = 4 * sums.label + 2 * picked[0] + picked[1]
    everybody = np.arange(len(kind))
    person, group, (n, squares) = _sum_kinds(scan, replace(before, model=""), sums, everybody, kind, KINDS)
    return Clusters(person, group, n, squares)


def _sum_kinds(
    scan: CountedRows, group_counts: Slice, sums: PersonSums, rows: Ints, kind: Ints, n_kinds: int
) -> tuple[Ints, Ints, list[Floats]]:
    """Return the persons and groups of some rows, and their weights by kind of row, (entries, kinds) each."""
    group = group_finder(scan, group_counts, sums.names)([codes[rows] for codes in sums.codes])
    n_groups = len(group_counts.counts.groups)
    entry, inverse = np.unique(sums.person[rows] * n_groups + group, return_inverse=True)
    cell = n_kinds * inverse + kind
    by_kind = []
    for weights in sums.weights:
        counted = np.bincount(cell, weights[rows], minlength=n_kinds * len(entry))
        by_kind.append(counted.reshape(-1, n_kinds).astype(np.float64))
    return entry // n_groups, entry % n_groups, by_kind


def alike_rows(
    scan: Scan,
    names: Sequence[str],
    labels: Sequence[str],
    columns: Sequence[str],
    *,
    powers: int,
    more_keys: Sequence[str] = (),
    where: str = "",
    is_apart: bool = False,
) -> str:
    """Write a query of rows that are alike: model, score, labels, codes of groups and of persons; and sums.

    The sums are ``n``, how many rows there are, and of weighted rows ``weight``, ``square`` and ``cube`` as
    far as `powers` go. Where the first rows are hardly alike, each row stands for itself.

    Parameters
    ----------
    scan : Scan
    names : sequence of str
        The attributes, whose codes are ``of_0``, ``of_1``, … as in `coded_rows`.
    labels, columns : sequences of str
        What labels and further scores are called, and how they are read from the keys of a row.
    powers : int
        Of weights that are summed.
    more_keys : sequence of str
        What the keys of a row lack for that.
    where : str
        What is asked of a row that counts.
    is_apart : bool
        Whether each row stands for itself in any case.
    """
    people = person_columns(scan)
    keys = ["model", "score", *labels, *(f"of_{i}" for i in range(len(names))), *people]
    people_names = [f"person_{i}" for i in range(len(scan.roles.clusters))]
    trimmed = zip(scan.roles.clusters, people_names, strict=True)
    people_sql = [f"trimmed_{column} AS {person}" for column, person in trimmed]
    kept = ["score_0 AS score", *columns]
    if scan.weighted:
        kept.append("weight")
    all_keys = [*more_keys, *people_sql]
    rows = coded_rows(scan, scan.keys(names, more_keys=all_keys), names, kept + people_names)
    if people:
        orders = [*people_names, ", ".join(people_names)]  # as in `sum_by_person`
        ranks = [
            f"dense_rank() OVER (ORDER BY {order}) - 1 AS {name}"
            for name, order in zip(people, orders, strict=False)
        ]
        rows = f"SELECT * EXCLUDE ({', '.join(people_names)}), {', '.join(ranks)} FROM ({rows})"
    if where:
        rows = f"SELECT * FROM ({rows}) WHERE {where}"
    products = ["weight", "weight * weight", "weight * weight * weight"][:powers]
    products_named = list(zip(products, SUMS_OF_WEIGHTS, strict=False))
    if is_apart or people or are_different_rows(scan, names, labels, more_keys):
        sums = ["1::DOUBLE AS n"]
        if scan.weighted:
            sums += [f"{product} AS {name}" for product, name in products_named]
        return f"SELECT {', '.join(keys + sums)} FROM ({rows})"
    sums = ["count(*)::DOUBLE AS n"]
    if scan.weighted:
        sums += [f"sum({product}) AS {name}" for product, name in products_named]
    return group_by(rows, keys, sums)


def are_different_rows(
    scan: Scan, names: Sequence[str], labels: Sequence[str], more_keys: Sequence[str] = ()
) -> bool:
    """Return whether the first rows are hardly alike: nearly every row would be a cell of its own."""
    told_apart = ["model", "score_0", *labels, *(f"attribute_{i}" for i in range(len(names)))]
    counts = f"count(*), count(DISTINCT ({', '.join(told_apart)}))"
    in_sample = scan.keys(names, "sample", more_keys=more_keys)
    n_rows, n_different = scan.source.row(f"SELECT {counts} FROM ({in_sample})")
    return bool(2 * n_different > n_rows)


def person_columns(scan: Scan) -> list[str]:
    """Return the columns of the table that hold codes of clusters: by each column, and by both together."""
    people = [f"person_{i}" for i in range(len(scan.roles.clusters))]
    if len(people) > 1:
        people.append("person_of_both")
    return people
