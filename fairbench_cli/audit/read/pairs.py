"""Two columns of scores on the same rows, two files about the same rows, slices of rows: what is compared.

Rows of two files are paired by an identifier where both have one, else by their order. The second file
becomes one more column of scores; from there on it is the same as two columns of one file.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.cells import CountedCells, CountingPlan, cells_with, group_name, make_slices
from fairbench_cli.audit.read.columns import ColumnRoles, assign, find_column
from fairbench_cli.audit.read.cuts import Cut, level_of, scores_of, selected
from fairbench_cli.audit.read.mistakes import refuse_codes, refuse_if, refuse_scores, rows_in_words
from fairbench_cli.audit.read.predictions import FRAME, ColumnSql, Predictions, blank, code_sql, not_finite
from fairbench_cli.audit.read.ranks import text_sql
from fairbench_cli.audit.read.scales import read_percent
from fairbench_cli.audit.read.tally import MISSING, Joint, Slice
from fairbench_cli.errors import UserError, shown, user_error
from fairbench_cli.measures.change import KINDS, TwoSides, apart
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS

IDENTIFIERS = ("entity_id", "id")
MOST_SLICES = 60
# What is kept of the newer scores, and how they are read.
KEPT = 'b.s AS "newer s", b.y AS "newer y", b.v AS "newer v"'
NEWER = ColumnSql('"newer v"', '"newer s"', '"newer y"', '"newer v"')


def names_of(source: Predictions, newer: Predictions) -> tuple[str, str]:
    """Return what two files are called, with as many of their folders as it takes to tell them apart."""
    if source.format == newer.format == "frame":
        return FRAME, f"newer {FRAME}"
    names = ["standard input" if each.name == "-" else each.name for each in (source, newer)]
    first, second = (PurePath(name).parts for name in names)
    if first == second:
        return names[0], f"{names[0]} again"
    for many in range(1, max(len(first), len(second)) + 1):
        short = ["/".join(parts[-many:]) for parts in (first, second)]
        if short[0] != short[1]:
            return short[0], short[1]
    return names[0], names[1]


def pair_up(source: Predictions, newer: Predictions, config: AuditConfig) -> Predictions:
    """Return the rows of a file with the scores of another in one more column.

    Parameters
    ----------
    source, newer : Predictions
        Both in one database, each with views of its own.
    config : AuditConfig
        Its columns; the newer file has a column of scores of the same name.

    Raises
    ------
    UserError
        When rows have no partner, or partners differ in a label, weight or group that both files have.
    """
    source = source.with_first_rows()
    roles = assign(source, config.model_copy(update={"against": None}))
    score = find_column(newer, config.score or "score", "--score")
    newer = newer.with_first_rows()
    newer, _ = read_percent(newer, [score])
    both = _identifiers(source, newer, config)
    checked = _checked(source, newer, roles, config)
    _keep(newer, score, both, [there for _, _, there in checked], config)
    key = "" if both is None else f", t{both[0]} AS k"
    here = "".join(f", {sql} AS h{at}" for at, (_, sql, _) in enumerate(checked))
    joined = "POSITIONAL JOIN newer b" if both is None else "FULL JOIN newer b ON a.k = b.k"
    rows = f"(SELECT true AS here{key}{here} FROM predictions) a {joined}"
    _refuse_strangers(source, newer, both, rows, [column for column, _, _ in checked])
    how = "in their order" if both is None else f"by {shown(source.columns[both[0]])}"
    notes = [f"Rows of both files are paired {how}."]
    if not checked:
        notes.append("The newer file has no label or group that could show that its rows are the same.")
    if both is None:
        table = f"(SELECT a.*, b.* FROM {source.table} a POSITIONAL JOIN (SELECT {KEPT} FROM newer b) b)"
    else:
        keyed = f'(SELECT *, {source.sql[both[0]].of("t")} AS "newer k" FROM {source.table})'
        table = f'(SELECT a.*, {KEPT} FROM {keyed} a JOIN newer b ON a."newer k" = b.k)'
    return replace(
        source,
        columns=(*source.columns, f"{newer.columns[score]} in {names_of(source, newer)[1]}"),
        notes=(*source.notes, *notes),
        table=table,
        first=f'(SELECT *, NULL::DOUBLE AS "newer s", 0 AS "newer y", \'\' AS "newer v" FROM {source.first})',
        sql=(*source.sql, NEWER),
        alone=source,
    )


def _identifiers(source: Predictions, newer: Predictions, config: AuditConfig) -> tuple[int, int] | None:
    """Return the columns of both files that say whose row it is; None when rows are paired by their order."""
    if config.identifier is not None:
        name = config.identifier
        return find_column(source, name, "--id"), find_column(newer, name, "--id")
    for name in IDENTIFIERS:
        if name in source.places and name in newer.places:
            return source.places[name], newer.places[name]
    return None


def _checked(
    source: Predictions, newer: Predictions, roles: ColumnRoles, config: AuditConfig
) -> list[tuple[int, str, str]]:
    """Return the columns in which paired rows have to agree: place, and its value in either file in SQL."""
    found = []
    columns: dict[int | None, str] = dict.fromkeys(roles.attributes.values(), "")
    columns |= {roles.label: "" if config.favourable else "label", roles.weight: "weight"}
    for column, kind in columns.items():
        there = None if column is None else newer.places.get(source.columns[column])
        if column is not None and there is not None:
            here, other = (
                code_sql(at, 2) if kind == "label" else f"n{at}" if kind == "weight" else text_sql(at)
                for at in (column, there)
            )
            found.append((column, here, other))
    return found


def _keep(
    newer: Predictions, score: int, both: tuple[int, int] | None, checked: Sequence[str], config: AuditConfig
) -> None:
    """Keep what is needed of the newer file in a table, in the order of its rows; refuse what is no score."""
    newer.engine.execute("SET preserve_insertion_order=true")
    text = f"t{score}" if config.favourable else "NULL::VARCHAR"
    parts = [f"n{score} AS s", f"y{score} AS y", f"{text} AS v", "true AS there"]
    parts += [f"t{both[1]} AS k"] if both else []
    parts += [f"{sql} AS x{at}" for at, sql in enumerate(checked)]
    newer.execute(f"CREATE TABLE newer AS SELECT {', '.join(parts)} FROM predictions")
    binary = all(decision.kind == "binary" for decision in config.decisions)
    words = binary and config.favourable
    bad = "coalesce(v, '') = ''" if words else "y IS NULL" if binary else not_finite("s")
    if newer.one(f"SELECT 1 FROM newer WHERE {bad} LIMIT 1"):
        if binary:
            refuse_codes(newer, score, "score")
        refuse_scores(newer, score)


def _refuse_strangers(
    source: Predictions,
    newer: Predictions,
    both: tuple[int, int] | None,
    rows: str,
    checked: Sequence[int],
) -> None:
    """Refuse rows without a partner or with several, and pairs that differ in a column of both files."""
    nameless = "" if both is None else ", count(*) FILTER (here AND coalesce(a.k, '') = '')"
    differ = "".join(
        f", count(*) FILTER (here AND there AND h{at} IS DISTINCT FROM x{at})" for at in range(len(checked))
    )
    here, there, pairs, *more = source.one(  # in one scan
        "SELECT count(*) FILTER (here), count(*) FILTER (there), count(*) FILTER (here AND there)"
        f"{differ}{nameless} FROM {rows}"
    )
    if both is None and here != there:
        ours, theirs = names_of(source, newer)
        what = f"{ours} has {rows_in_words(here)}, {theirs} {there}: they cannot be paired in their order"
        raise user_error(what, "name a column of persons that both have with --id", newer.name)
    if both is not None:
        _refuse_identifiers(source, newer, both, rows, (here, pairs, bool(more[-1])))
    for at, (column, many) in enumerate(zip(checked, more, strict=False)):
        if many:
            raise _difference(source, newer, both, rows, at, column)


def _refuse_identifiers(
    source: Predictions, newer: Predictions, both: tuple[int, int], rows: str, found: tuple[int, int, bool]
) -> None:
    """Refuse rows without a partner, or with several.

    `found` are the rows here, the pairs, and whether a row here has no identifier.
    """
    ours, theirs = names_of(source, newer)
    here, pairs, unnamed = found
    name, fill = shown(source.columns[both[0]]), "fill it in, or leave those rows out of the file"
    (nameless,) = source.one("SELECT count(*) FROM newer WHERE coalesce(k, '') = ''")
    for each, column, some in ((source, both[0], unnamed), (newer, both[1], nameless)):
        if some:
            refuse_if(each, column, blank(column), "{column} is missing in {count}, first here", fill)
    known, distinct = source.one("SELECT count(*), count(DISTINCT k) FROM newer")
    fix = "name a column in which each row has a value of its own with --id"
    if distinct < known:
        what = f"{name} repeats in {theirs}: {known - distinct} rows have that of an earlier one"
        raise user_error(what, fix, newer.name)
    if here == pairs == known:
        return
    (met,) = source.one(f"SELECT count(DISTINCT b.k) FROM {rows} WHERE here AND there")
    if pairs > met:
        what = f"{name} repeats in {ours}: {rows_in_words(pairs - met)} have that of an earlier one"
        raise user_error(what, fix, source.name)
    what = f"{here - pairs} of {here} rows of {ours} have no partner in {theirs} with their {name}, "
    what += f"and {known - met} of {known} the other way"
    raise user_error(what, "give both files the same rows, or name another column with --id", newer.name)


def _difference(
    source: Predictions, newer: Predictions, both: tuple[int, int] | None, rows: str, at: int, column: int
) -> UserError:
    """Return the error for pairs of rows that differ in a column, the one checked at place `at`."""
    source.engine.execute("SET threads=1; SET preserve_insertion_order=true")
    key = "row_number() OVER ()" if both is None else "a.k"
    values = f"SELECT {key} AS whose, h{at} AS mine, x{at} AS theirs FROM {rows}"
    count, whose, mine, theirs = source.one(
        "SELECT count(*), min(whose), arg_min(mine, whose), arg_min(theirs, whose) "
        f"FROM ({values}) WHERE mine IS DISTINCT FROM theirs"
    )
    ours, others = names_of(source, newer)
    where = f"row {whose}" if both is None else f"{source.columns[both[0]]} {shown(str(whose))}"
    what = (
        f"{shown(source.columns[column])} differs in {rows_in_words(count)}, first of {where}: "
        f"{shown(str(mine))} in {ours}, {shown(str(theirs))} in {others}"
    )
    fix = "pair them by a column of persons with --id" if both is None else "correct one of the files"
    return user_error(what, fix, newer.name)


def compared_slices(
    source: Predictions,
    cells: dict[tuple[str, ...], CountedCells],
    plan: CountingPlan,
    config: AuditConfig,
    names: Sequence[str],
) -> tuple[tuple[Slice, ...], tuple[Joint, ...]]:
    """Return all slices; and what is compared with each other, where that is asked for.

    Parameters
    ----------
    source : Predictions
    cells, plan
        What was counted and how.
    config : AuditConfig
        Whether the models are slices of the rows.
    names : sequence of str
        Of the columns of scores, when they come from two files; else their own are taken.
    """
    roles = plan.roles
    if roles.classes and config.compares:
        what = "several classes are favourable, and one outcome can be compared at a time"
        raise user_error(what, "name one value", "--favourable")
    if not roles.others:
        slices = make_slices(cells, plan, config.seed)
        if not config.sliced_by:
            return slices, ()
        slices = _in_order(source, slices, config.sliced_by)
        return slices, _consecutive(slices)
    called = names or [source.columns[column] for column in (roles.score, *roles.others)]
    by_side = [_of_side(cells, plan, i, name, config.seed) for i, name in enumerate(called)]
    joints = [
        _joint(cells, plan, i, before, after)
        for i, side in enumerate(by_side[1:], start=1)
        for before, after in zip(by_side[0], side, strict=True)
    ]
    return tuple(part for side in by_side for part in side), tuple(joints)


def _of_side(
    cells: dict[tuple[str, ...], CountedCells],
    plan: CountingPlan,
    i: int,
    name: str,
    seed: int,
) -> tuple[Slice, ...]:
    """Return the slices of the column of scores at place i, under a name."""
    own = {names: replace(found, level=level_of(found.level, i)) for names, found in cells.items()}
    cuts: dict[str | None, list[Cut]] = plan.cuts if i == 0 else {None: [plan.other_cuts[i - 1]]}
    slices = make_slices(own, replace(plan, cuts=cuts), seed)
    return tuple(replace(part, model=name) for part in slices)


def _joint(
    cells: dict[tuple[str, ...], CountedCells], plan: CountingPlan, i: int, before: Slice, after: Slice
) -> Joint:
    """Return the rows of an attribute under the first column of scores and the one at place i."""
    names = next(names for names in plan.roles.audited if CROSS.join(names) == before.attribute)
    found = cells_with(names, cells)
    first = next(iter(plan.cuts.values()))[0]
    picked = [
        selected(cut, scores_of([cut]), level_of(found.level, at), found.rows, 0, "") > 0
        for cut, at in ((first, 0), (plan.other_cuts[i - 1], i))
    ]
    groups = {group: g for g, group in enumerate(before.counts.groups)}
    keys = zip(*(found.values[name] for name in names), strict=True)
    group = np.array([groups[CROSS.join(map(group_name, key))] for key in keys], dtype=np.int64)
    code = KINDS * group + 4 * found.label + 2 * picked[0] + picked[1]

    def by_kind(values: Floats) -> Floats:
        sums = np.bincount(code, values, minlength=KINDS * len(groups)).astype(np.float64)
        return sums.reshape(-1, KINDS)

    sides = TwoSides(
        by_kind(found.weight), by_kind(found.rows.astype(np.float64)), by_kind(found.square), paired=True
    )
    return _between(before, after, before.counts.groups, sides)


def _between(before: Slice, after: Slice, groups: tuple[str, ...], sides: TwoSides) -> Joint:
    return Joint(
        before=before.model,
        after=after.model,
        decisions=(before.decision, after.decision),
        attribute=before.attribute,
        groups=groups,
        sides=sides,
        labelled=before.labelled,
        intersection=before.intersection,
    )


def _in_order(source: Predictions, slices: tuple[Slice, ...], name: str) -> tuple[Slice, ...]:
    """Sort slices by the value that they have in common: as numbers where all are numbers, else as text."""
    values = list(dict.fromkeys(part.model for part in slices))
    if MISSING in values:
        rows = next(int(part.rows.sum()) for part in slices if part.model == MISSING)
        what = f"{shown(name)} is missing in {rows_in_words(rows)}"
        raise user_error(what, "fill it in, or leave those rows out of the file", source.name)
    if len(values) > MOST_SLICES:
        what = f"{shown(name)} has {len(values)} different values; at most {MOST_SLICES} slices are compared"
        raise user_error(what, "name a column of fewer, such as months instead of days", "--slice")
    if len(values) == 1:
        what = f"{shown(name)} has one value only, {shown(values[0])}: there is nothing to compare"
        raise user_error(what, "name another column", "--slice")
    try:
        place = {value: (float(value), value) for value in values}
    except ValueError:
        return slices
    return tuple(sorted(slices, key=lambda part: place[part.model]))


def _consecutive(slices: tuple[Slice, ...]) -> tuple[Joint, ...]:
    """Return each slice of the rows with the one before it."""
    by_model: dict[str, list[Slice]] = {}
    for part in slices:
        by_model.setdefault(part.model, []).append(part)
    return tuple(
        _apart(before, after)
        for earlier, later in pairwise(by_model.values())
        for before, after in zip(earlier, later, strict=True)
    )


def _apart(before: Slice, after: Slice) -> Joint:
    """Return two slices of different rows, with the groups that either has."""
    groups = tuple(dict.fromkeys((*before.counts.groups, *after.counts.groups)))

    def of(part: Slice) -> list[Floats]:
        at = [groups.index(group) for group in part.counts.groups]
        found = []
        for cells in (part.counts.n, part.cell_rows, part.squares):
            whole = np.zeros((len(groups), 2, 2))
            whole[at] = cells
            found.append(whole)
        return found

    return _between(before, after, groups, apart(of(before), of(after)))
