"""What is compared with each other: rows of two files, columns of scores on the same rows, slices of rows.

Rows of two files are paired by an identifier where both have one, else by their order. The baseline, the file
of ``against``, becomes one more column of scores, the one that the scores of the audited file are compared
with; from there on it is the same as two columns of one file.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.readings import read_percent, scores_of, selected, with_exact_scores
from fairbench_cli.audit.scan.refusals import reading, refuse_codes, refuse_if, refuse_scores
from fairbench_cli.audit.scan.roles import ColumnRoles, assign, find_column
from fairbench_cli.audit.scan.scan import Scan, groups_of, make_slices
from fairbench_cli.audit.scan.source import FRAME, Source
from fairbench_cli.audit.scan.tally import BeforeAfter, Slice
from fairbench_cli.base.errors import Flag, UserError, format_value, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.paired_change import KINDS, TwoSides, apart

IDENTIFIERS = ("entity_id", "id")
MOST_SLICES = 60
# What is kept of the baseline's scores, and how they are read.
KEPT = ("score", "code", "value")
NOTHING = ("NULL::DOUBLE", "0", "''")  # of these, among the first rows
SCORES = sql.ColumnSql('"baseline value"', '"baseline score"', '"baseline code"', '"baseline value"')


@dataclass(frozen=True, eq=False)
class _Pairing:
    """Two files whose rows are about the same people.

    Parameters
    ----------
    source, baseline : Source
        The audited file, and the one that it is compared with; the table ``baseline`` holds what is needed of
        the latter.
    by : pair of int, or None
        The columns of both that say whose row it is; None where the order of the rows says so.
    checked : tuple of (int, str, str)
        The columns of the source in which paired rows have to agree, and their values in either file in SQL.
    """

    source: Source
    baseline: Source
    by: tuple[int, int] | None
    checked: tuple[tuple[int, str, str], ...]

    @property
    def names(self) -> tuple[str, str]:
        """What both are called in messages."""
        return names_of(self.source, self.baseline)

    @property
    def rows(self) -> str:
        """All rows of both in SQL: ``here``, ``there``, or both where they are a pair; what is checked."""
        if self.by is None:
            key = ""
        else:
            key = f", trimmed_{self.by[0]} AS person"
        mine = "".join(f", {value} AS mine_{at}" for at, (_, value, _) in enumerate(self.checked))
        if self.by is None:
            joined = "POSITIONAL"
        else:
            joined = "FULL"
        if self.by is None:
            on = ""
        else:
            on = " ON a.person = b.person"
        return f"(SELECT true AS here{key}{mine} FROM predictions) a {joined} JOIN baseline b{on}"


def names_of(source: Source, baseline: Source) -> tuple[str, str]:
    """Return the names of a file and its baseline, with as many of their folders as tells them apart."""
    if source.format == baseline.format == "frame":
        return FRAME, f"baseline {FRAME}"
    names = ["standard input" if each.name == "-" else each.name for each in (source, baseline)]
    first, second = (PurePath(name).parts for name in names)
    if first == second:
        return names[0], f"baseline {names[0]}"
    for many in range(1, max(len(first), len(second)) + 1):
        short = ["/".join(parts[-many:]) for parts in (first, second)]
        if short[0] != short[1]:
            return short[0], short[1]
    return names[0], names[1]


def pair_up(source: Source, baseline: Source, config: AuditConfig) -> Source:
    """Return the rows of a file with the scores of its baseline in one more column.

    Parameters
    ----------
    source, baseline : Source
        Both in one database, each with views of its own.
    config : AuditConfig
        Its columns; the baseline has a column of scores of the same name.

    Raises
    ------
    UserError
        When rows have no partner, or partners differ in a label, weight or group that both files have.
    """
    source = source.with_first_rows()
    roles = assign(source, config.model_copy(update={"against": None}))
    score = find_column(baseline, config.score or "score", "score")
    with reading(baseline):
        baseline, _ = read_percent(baseline.with_first_rows(), [score])
        baseline = with_exact_scores(baseline, [score])
        by = _identifiers(source, baseline, config)
        pairing = _Pairing(source, baseline, by, _checked(source, baseline, roles, config))
        _keep(pairing, score, config)
    _refuse_strangers(pairing)
    if by is None:
        how = "in their order"
    else:
        how = f"by {format_value(source.columns[by[0]])}"
    notes = [f"Rows of both files are paired {how}."]
    if not pairing.checked:
        what = "has no label or group that could show that its rows are the same"
        notes.append(f"{pairing.names[1]} {what}.")
    kept = ", ".join(f'b.{name} AS "baseline {name}"' for name in KEPT)
    if by is None:
        table = f"(SELECT a.*, b.* FROM {source.table} a POSITIONAL JOIN (SELECT {kept} FROM baseline b) b)"
    else:
        keyed = f'(SELECT *, {source.in_sql[by[0]].of("trimmed")} AS "baseline person" FROM {source.table})'
        table = f'(SELECT a.*, {kept} FROM {keyed} a JOIN baseline b ON a."baseline person" = b.person)'
    first = ", ".join(f'{value} AS "baseline {name}"' for name, value in zip(KEPT, NOTHING, strict=True))
    return replace(
        source,
        columns=(*source.columns, f"{baseline.columns[score]} in {pairing.names[1]}"),
        notes=(*source.notes, *notes),
        table=table,
        first=f"(SELECT *, {first} FROM {source.first})",
        in_sql=(*source.in_sql, SCORES),
        alone=source,
    )


def _identifiers(source: Source, baseline: Source, config: AuditConfig) -> tuple[int, int] | None:
    """Return the columns of both files that say whose row it is; None when rows are paired by their order."""
    if config.identifier is not None:
        name = config.identifier
        return find_column(source, name, "id"), find_column(baseline, name, "id")
    for name in IDENTIFIERS:
        for rows in (source, baseline):
            if name in rows.doubled:
                find_column(rows, name, "id")  # which refuses it
        if name in source.places and name in baseline.places:
            return source.places[name], baseline.places[name]
    return None


def _checked(
    source: Source, baseline: Source, roles: ColumnRoles, config: AuditConfig
) -> tuple[tuple[int, str, str], ...]:
    """Return the columns in which paired rows have to agree, and their values in either file in SQL."""

    def value_sql(column: int, at: int) -> str:
        if column == roles.weight:
            return f"number_{at}"
        if column == roles.label and not config.favourable:
            return sql.code(at, 2)
        if config.spelling(source.columns[column]) == "merge":
            return f"rtrim(lower({sql.text(at)}), ' .')"
        return sql.text(at)

    columns = [*roles.attributes.values(), roles.label, roles.weight]
    places = {mine: baseline.places.get(source.columns[mine]) for mine in columns if mine is not None}
    return tuple(
        (mine, value_sql(mine, mine), value_sql(mine, theirs))
        for mine, theirs in places.items()
        if theirs is not None
    )


def _keep(pairing: _Pairing, score: int, config: AuditConfig) -> None:
    """Keep what is needed of the baseline in a table, in the order of its rows; refuse what is no score."""
    baseline = pairing.baseline
    if config.favourable:
        text = f"trimmed_{score}"
    else:
        text = "NULL::VARCHAR"
    parts = [f"number_{score} AS score", f"code_{score} AS code", f"{text} AS value", "true AS there"]
    if pairing.by:
        parts += [f"trimmed_{pairing.by[1]} AS person"]
    parts += [f"{value} AS theirs_{at}" for at, (_, _, value) in enumerate(pairing.checked)]
    with baseline.engine(ordered=True):
        baseline.execute(f"CREATE TABLE baseline AS SELECT {', '.join(parts)} FROM predictions")
    binary = all(decision.kind == "binary" for decision in config.decisions)
    words = binary and config.favourable
    if words:
        bad = "coalesce(value, '') = ''"
    elif binary:
        bad = "code IS NULL"
    else:
        bad = sql.not_finite("score")
    if baseline.one(f"SELECT 1 FROM baseline WHERE {bad} LIMIT 1"):
        if binary:
            refuse_codes(baseline, score, "score")
        refuse_scores(baseline, score)


def _refuse_strangers(pairing: _Pairing) -> None:
    """Refuse rows without a partner or with several, and pairs that differ in a column of both files."""
    counts = ["count(*) FILTER (here)", "count(*) FILTER (there)", "count(*) FILTER (here AND there)"]
    counts += [
        f"count(*) FILTER (here AND there AND mine_{at} IS DISTINCT FROM theirs_{at})"
        for at in range(len(pairing.checked))
    ]
    if pairing.by:
        counts += ["count(*) FILTER (here AND coalesce(a.person, '') = '')"]
    found = pairing.source.one(f"SELECT {', '.join(counts)} FROM {pairing.rows}")  # in one scan
    here, there, pairs, *more = found
    if pairing.by is not None:
        _refuse_identifiers(pairing, pairing.by, here, pairs, unnamed=bool(more[-1]))
    elif here != there:
        ours, theirs = pairing.names
        what = (
            f"{ours} has {format_count(here, 'row')}, {theirs} {there}: they cannot be paired in their order"
        )
        fix = ("name a column of persons that both have with ", Flag("id"))
        raise user_error(what, fix, pairing.baseline.name)
    for at, many in enumerate(more[: len(pairing.checked)]):
        if many:
            raise _difference(pairing, at)


def _refuse_identifiers(
    pairing: _Pairing, by: tuple[int, int], here: int, pairs: int, *, unnamed: bool
) -> None:
    """Refuse rows without a partner, or with several: of the rows here, some make pairs, or are unnamed."""
    source = pairing.source
    baseline = pairing.baseline
    ours, theirs = pairing.names
    name = format_value(source.columns[by[0]])
    fill = "fill it in, or leave those rows out of the file"
    (nameless,) = source.one("SELECT count(*) FROM baseline WHERE coalesce(person, '') = ''")
    for each, column, some in ((source, by[0], unnamed), (baseline, by[1], nameless)):
        if some:
            refuse_if(each, column, sql.blank(column), "{column} is missing in {count}, first here", fill)
    known, distinct = source.one("SELECT count(*), count(DISTINCT person) FROM baseline")
    fix = ("name a column in which each row has a value of its own with ", Flag("id"))
    if distinct < known:
        what = f"{name} repeats in {theirs}: {known - distinct} rows have that of an earlier one"
        raise user_error(what, fix, baseline.name)
    if here == pairs == known:
        return
    (met,) = source.one(f"SELECT count(DISTINCT b.person) FROM {pairing.rows} WHERE here AND there")
    if pairs > met:
        what = f"{name} repeats in {ours}: {format_count(pairs - met, 'row')} have that of an earlier one"
        raise user_error(what, fix, source.name)
    what = f"{here - pairs} of {here} rows of {ours} have no partner in {theirs} with their {name}, "
    what += f"and {known - met} of {known} the other way"
    fix = ("give both files the same rows, or name another column with ", Flag("id"))
    raise user_error(what, fix, baseline.name)


def _difference(pairing: _Pairing, at: int) -> UserError:
    """Return the error for pairs of rows that differ in a column, the one checked at place `at`."""
    source = pairing.source
    by = pairing.by
    if by is None:
        key = "row_number() OVER ()"
    else:
        key = "a.person"
    values = f"SELECT {key} AS whose, mine_{at} AS mine, theirs_{at} AS theirs FROM {pairing.rows}"
    first = "count(*), min(whose), arg_min(mine, whose), arg_min(theirs, whose)"
    with source.engine(ordered=True, threads=1):
        count, whose, mine, theirs = source.one(
            f"SELECT {first} FROM ({values}) WHERE mine IS DISTINCT FROM theirs"
        )
    if by is None:
        where = f"row {whose}"
    else:
        where = f"{source.columns[by[0]]} {format_value(str(whose))}"
    column = format_value(source.columns[pairing.checked[at][0]])
    what = (
        f"{column} differs in {format_count(count, 'row')}, first of {where}: "
        f"{format_value(str(mine))} in {pairing.names[0]}, {format_value(str(theirs))} in {pairing.names[1]}"
    )
    by_persons = ("pair them by a column of persons with ", Flag("id"))
    return user_error(what, by_persons if by is None else "correct one of the files", pairing.baseline.name)


def side_slices(scan: Scan, names: tuple[str, ...] = ()) -> tuple[Slice, ...]:
    """Return all slices: of each column of scores, the baseline first, or of each slice of the rows in order.

    Parameters
    ----------
    scan : Scan
        The rows, counted.
    names : tuple of str
        Of the columns of scores, when they come from two files; else their own are taken.
    """
    roles = scan.roles
    if roles.classes and scan.config.compares:
        what = "several classes are favourable, and one outcome can be compared at a time"
        raise user_error(what, "name one value", Flag("favourable"))
    if len(roles.scores) > 1:
        called = names or [scan.source.columns[column] for column in roles.scores]
        return tuple(
            replace(part, model=name) for i, name in enumerate(called) for part in make_slices(scan.side(i))
        )
    slices = make_slices(scan)
    if scan.config.sliced_by:
        return _in_order(scan.source, slices, scan.config.sliced_by)
    return slices


def read_sides(scan: Scan) -> tuple[BeforeAfter, ...]:
    """Return the pairs to compare, by pair of models, then attribute; empty unless asked for.

    Columns of scores are each compared with the first, slices of the rows each with the one before.
    """
    by_model = group_by(scan.tally.slices, lambda part: part.model)
    first, *others = by_model.values()
    if len(scan.roles.scores) > 1:
        return tuple(
            _paired(scan, i, before, after)
            for i, side in enumerate(others, start=1)
            for before, after in zip(first, side, strict=True)
        )
    if not scan.config.sliced_by:
        return ()
    return tuple(
        _apart(before, after)
        for earlier, later in pairwise(by_model.values())
        for before, after in zip(earlier, later, strict=True)
    )


def _paired(scan: Scan, i: int, before: Slice, after: Slice) -> BeforeAfter:
    """Return the rows of an attribute under the first column of scores and the one at place i."""
    names = next(names for names in scan.roles.audited if CROSS.join(names) == before.attribute)
    found = scan.cells_with(names)
    picked = []
    for side in (scan.side(0), scan.side(i)):
        (cut,) = side.cuts_of("")
        level = side.cells_with(names).level[0]
        picked.append(selected(cut, scores_of([cut]), level, found.rows, 0, "") > 0)
    groups, group = groups_of(scan, names)
    code = KINDS * group + 4 * found.label + 2 * picked[0] + picked[1]

    def by_kind(values: Floats) -> Floats:
        sums = np.bincount(code, values, minlength=KINDS * len(groups)).astype(np.float64)
        return sums.reshape(-1, KINDS)

    rows = found.weighing.astype(np.float64)
    sides = TwoSides(by_kind(found.weight), by_kind(rows), by_kind(found.square), paired=True)
    return _between(before, after, before.counts.groups, sides)


def _between(before: Slice, after: Slice, groups: tuple[str, ...], sides: TwoSides) -> BeforeAfter:
    labelled = before.labelled
    crossed = before.intersection
    return BeforeAfter(before.model, after.model, before.attribute, groups, sides, labelled, crossed)


def _in_order(source: Source, slices: tuple[Slice, ...], name: str) -> tuple[Slice, ...]:
    """Sort slices by the value that they have in common: as numbers, or as text with numbers: m2, m10."""
    values = list(dict.fromkeys(part.model for part in slices))
    if MISSING in values:
        rows = next(int(part.rows.sum()) for part in slices if part.model == MISSING)
        what = f"{format_value(name)} is missing in {format_count(rows, 'row')}"
        raise user_error(what, "fill it in, or leave those rows out of the file", source.name)
    if len(values) > MOST_SLICES:
        count = f"{format_value(name)} has {len(values)} different values"
        what = f"{count}; at most {MOST_SLICES} slices are compared"
        raise user_error(what, "name a column of fewer, such as months instead of days", Flag("slice"))
    if len(values) == 1:
        what = (
            f"{format_value(name)} has one value only, {format_value(values[0])}: there is nothing to compare"
        )
        raise user_error(what, "name another column", Flag("slice"))
    try:
        place = {value: (float(value), value) for value in values}
    except ValueError:
        return tuple(sorted(slices, key=lambda part: _numbers_in(part.model)))
    return tuple(sorted(slices, key=lambda part: place[part.model]))


def _numbers_in(text: str) -> list[tuple[int, str]]:
    """Return a text cut where whole numbers begin and end, so that these sort as numbers, however long.

    >>> sorted(["m10", "m2", "m1"], key=_numbers_in)
    ['m1', 'm2', 'm10']
    """
    parts = re.split(r"([0-9]+)", text)
    digits = (part.lstrip("0") if at % 2 else "" for at, part in enumerate(parts))
    return [(len(own), own or part) for part, own in zip(parts, digits, strict=True)]


def _apart(before: Slice, after: Slice) -> BeforeAfter:
    """Return two slices of different rows, with the groups that either has."""
    groups = tuple(dict.fromkeys((*before.counts.groups, *after.counts.groups)))

    def cells_of(part: Slice) -> list[Floats]:
        cells = np.zeros((3, len(groups), 2, 2))
        cells[:, [groups.index(group) for group in part.counts.groups]] = part.cells
        return [*cells]

    return _between(before, after, groups, apart(cells_of(before), cells_of(after)))
