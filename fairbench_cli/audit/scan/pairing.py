"""What is compared with each other: rows of two files, columns of scores on the same rows, slices of rows.

Rows of two files are paired by an identifier where both have one, else by their order. The baseline, the file
of ``against``, becomes one more column of scores, the one that the scores of the audited file are compared
with; from there on it is the same as two columns of one file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.cleaning import clean_rows
from fairbench_cli.audit.scan.input_errors import reading_rows, refuse_codes, refuse_if, refuse_scores
from fairbench_cli.audit.scan.outcome_kind import settle_outcome, with_kind
from fairbench_cli.audit.scan.readings import count_selected, read_percent, scores_of, with_exact_scores
from fairbench_cli.audit.scan.roles import ColumnRoles, assign_roles, find_column
from fairbench_cli.audit.scan.scan import (
    CountedRows,
    Scan,
    groups_of,
    make_slices,
    models_of,
    pair_clusters,
    sum_by_person,
)
from fairbench_cli.audit.scan.slices import BeforeAfter, Clusters, Slice
from fairbench_cli.audit.scan.source import FRAME, Source
from fairbench_cli.base.errors import Flag, MessageText, UserError, format_value, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_count, format_percent
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.groups import CROSS
from fairbench_cli.measures.paired_change import KINDS, TwoSides, apart

IDENTIFIERS = ("entity_id", "id")
MOST_LISTED = 6  # groups of rows that are left out
MOST_TRIED = 50  # columns that may tell rows apart
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
    key_columns : pair of int, or None
        The columns of both that say whose row it is; None where the order of the rows says so.
    checked : tuple of (int, str, str)
        The columns of the source in which paired rows have to agree, and their values in either file in SQL.
    notes : tuple of str
        How rows were paired that did not fit at once.
    """

    source: Source
    baseline: Source
    key_columns: tuple[int, int] | None
    checked: tuple[tuple[int, str, str], ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What both are called in messages."""
        return names_of_files(self.source, self.baseline)

    @property
    def rows(self) -> str:
        """All rows of both in SQL: ``here``, ``there``, or both where they are a pair; what is checked."""
        key = ""
        if self.key_columns is not None:
            key = f", trimmed_{self.key_columns[0]} AS person"
        mine = "".join(f", {value} AS mine_{i}" for i, (_, value, _) in enumerate(self.checked))
        if self.key_columns is None:
            joined = "POSITIONAL"
            condition = ""
        else:
            joined = "FULL"
            condition = " ON a.person = b.person"
        return f"(SELECT true AS here{key}{mine} FROM predictions) a {joined} JOIN baseline b{condition}"


def names_of_files(source: Source, baseline: Source) -> tuple[str, str]:
    """Return the names of a file and its baseline, with as many of their folders as tells them apart."""
    if source.name == baseline.name == FRAME:
        return FRAME, f"baseline {FRAME}"
    names = ["standard input" if file.name == "-" else file.name for file in (source, baseline)]
    own_parts, baseline_parts = (PurePath(name).parts for name in names)
    if own_parts == baseline_parts:
        return names[0], f"baseline {names[0]}"
    for n_parts in range(1, max(len(own_parts), len(baseline_parts)) + 1):
        short = ["/".join(path_parts[-n_parts:]) for path_parts in (own_parts, baseline_parts)]
        if short[0] != short[1]:
            return short[0], short[1]
    return names[0], names[1]


def pair_rows(source: Source, baseline: Source, config: AuditConfig) -> Source:
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
    source = clean_rows(source, config)
    config = with_kind(source, config)
    roles = assign_roles(source, config.model_copy(update={"against": None}))
    score = find_column(baseline, config.score or "score", "score")
    with reading_rows(baseline):
        baseline, _ = read_percent(clean_rows(baseline, config, is_baseline=True), [score])
        if config.outcome == "ordinal":
            baseline, _ = settle_outcome(baseline, config)
        baseline = with_exact_scores(baseline, [score])
        key_columns = _find_identifiers(source, baseline, config)
        pairing = _Pairing(
            source, baseline, key_columns, _columns_to_compare(source, baseline, roles, config)
        )
        _keep_baseline(pairing, score, config)
    pairing = _with_partners(pairing)
    source = pairing.source
    how = "in their order"
    if key_columns is not None:
        how = f"by {format_value(source.columns[key_columns[0]])}"
    notes = [f"Rows of both files are paired {how}.", *pairing.notes]
    if not pairing.checked:
        name = pairing.names[1]
        notes.append(f"{name} has no label or group that could show that its rows are the same.")
    kept_columns = ", ".join(f'b.{name} AS "baseline {name}"' for name in KEPT)
    if key_columns is None:
        kept_rows = f"SELECT {kept_columns} FROM baseline b"
        table = f"(SELECT a.*, b.* FROM {source.table} a POSITIONAL JOIN ({kept_rows}) b)"
    else:
        person = source.in_sql[key_columns[0]].expression("trimmed")
        keyed = f'(SELECT *, {person} AS "baseline person" FROM {source.table})'
        table = (
            f'(SELECT a.*, {kept_columns} FROM {keyed} a JOIN baseline b ON a."baseline person" = b.person)'
        )
    missing_columns = ", ".join(
        f'{value} AS "baseline {name}"' for name, value in zip(KEPT, NOTHING, strict=True)
    )
    return replace(
        source,
        columns=(*source.columns, f"{baseline.columns[score]} in {pairing.names[1]}"),
        notes=source.notes + tuple(notes),
        table=table,
        first_table=f"(SELECT *, {missing_columns} FROM {source.first_table})",
        in_sql=source.in_sql + (SCORES,),
        alone=source,
    )


def _find_identifiers(source: Source, baseline: Source, config: AuditConfig) -> tuple[int, int] | None:
    """Return the columns of both files that say whose row it is; None when rows are paired by their order."""
    if config.identifier is not None:
        name = config.identifier
        return find_column(source, name, "id"), find_column(baseline, name, "id")
    for name in IDENTIFIERS:
        for rows in (source, baseline):
            if name in rows.doubled:
                find_column(rows, name, "id")  # which refuses it
        if name in source.column_index and name in baseline.column_index:
            return source.column_index[name], baseline.column_index[name]
    return None


def _columns_to_compare(
    source: Source, baseline: Source, roles: ColumnRoles, config: AuditConfig
) -> tuple[tuple[int, str, str], ...]:
    """Return the columns in which paired rows have to agree, and their values in either file in SQL."""

    def value_sql(column: int, i: int) -> str:
        if column in (roles.weight, roles.truth):
            return f"number_{i}"
        if column == roles.label and not config.favourable:
            return sql.code(i, 2)
        if config.spelling(source.columns[column]) == "merge":
            return f"rtrim(lower({sql.text(i)}), ' .')"
        return sql.text(i)

    columns = [*roles.attributes.values(), roles.label, roles.truth, roles.weight]
    baseline_column = {
        mine: baseline.column_index.get(source.columns[mine]) for mine in columns if mine is not None
    }
    return tuple(
        (mine, value_sql(mine, mine), value_sql(mine, theirs))
        for mine, theirs in baseline_column.items()
        if theirs is not None
    )


def _keep_baseline(pairing: _Pairing, score: int, config: AuditConfig) -> None:
    """Keep what is needed of the baseline in a table, in the order of its rows; refuse what is no score."""
    baseline = pairing.baseline
    text = "NULL::VARCHAR"
    if config.favourable:
        text = f"trimmed_{score}"
    columns = [f"number_{score} AS score", f"code_{score} AS code", f"{text} AS value", "true AS there"]
    if pairing.key_columns:
        columns += [f"trimmed_{pairing.key_columns[1]} AS person"]
    columns += [f"{value} AS theirs_{i}" for i, (_, _, value) in enumerate(pairing.checked)]
    with baseline.engine(ordered=True):
        baseline.execute(f"CREATE TABLE baseline AS SELECT {', '.join(columns)} FROM predictions")
    binary = all(decision.kind == "binary" for decision in config.decisions)
    has_words = binary and config.favourable
    if has_words:
        bad = "coalesce(value, '') = ''"
    elif binary:
        bad = "code IS NULL"
    else:
        bad = sql.not_finite("score")
    if baseline.row(f"SELECT 1 FROM baseline WHERE {bad} LIMIT 1"):
        if binary:
            refuse_codes(baseline, score, "score")
        refuse_scores(baseline, score)


def _with_partners(pairing: _Pairing) -> _Pairing:
    """Return pairs: copies read once, zeros in front passed over, rows of the larger file left out.

    Raises
    ------
    UserError
        For rows that are no pairs even so, and pairs that differ in a column of both files.
    """
    counts = ["count(*) FILTER (here)", "count(*) FILTER (there)", "count(*) FILTER (here AND there)"]
    counts += [
        f"count(*) FILTER (here AND there AND mine_{i} IS DISTINCT FROM theirs_{i})"
        for i in range(len(pairing.checked))
    ]
    n_rows, n_baseline_rows, n_pairs, *n_different = _count_pairs(pairing, counts)
    if pairing.key_columns is None and n_rows != n_baseline_rows:
        ours, theirs = pairing.names
        lengths = f"{ours} has {format_count(n_rows, 'row')}, {theirs} {n_baseline_rows}"
        problem = f"{lengths}: they cannot be paired in their order"
        raise user_error(problem, _advise_identifier(pairing), pairing.baseline.name)
    if pairing.key_columns is not None:
        mended = _mend_identifiers(pairing, pairing.key_columns, (n_rows, n_baseline_rows, n_pairs))
        if mended is not pairing:
            pairing = mended
            n_different = list(_count_pairs(pairing, counts)[3:])
    for i, n in enumerate(n_different):
        if n:
            raise _difference_error(pairing, i)
    return pairing


def _count_pairs(pairing: _Pairing, counts: Sequence[str]) -> tuple[int, ...]:
    """Count rows of both files, in one scan."""
    return pairing.source.row(f"SELECT {', '.join(counts)} FROM {pairing.rows}")


def _mend_identifiers(
    pairing: _Pairing, key_columns: tuple[int, int], counted: tuple[int, int, int]
) -> _Pairing:
    """Return pairs by identifiers; `counted` are the rows here, there, and of pairs.

    Raises
    ------
    UserError
        For rows without an identifier, for two that have one and differ, and where either file has rows that
        the other has not.
    """
    own_column, baseline_column = key_columns
    n_rows, n_baseline_rows, n_pairs = counted
    if n_rows == n_pairs == n_baseline_rows:
        query = "SELECT count(DISTINCT person), count(*) FILTER (coalesce(person, '') = '') FROM baseline"
        if pairing.baseline.row(query) == (n_rows, 0):
            return pairing
    blank = "SELECT count(*) FROM {} WHERE coalesce({}, '') = ''"
    fill = "fill it in, or leave those rows out of the file"
    for rows, column, query in (
        (pairing.source, own_column, blank.format("predictions", f"trimmed_{own_column}")),
        (pairing.baseline, baseline_column, blank.format("baseline", "person")),
    ):
        if rows.row(query)[0]:
            refuse_if(rows, column, sql.blank(column), "{column} is missing in {count}, first here", fill)
    pairing = _without_copies(pairing, own_column)
    pairing = _without_zeros(pairing, own_column)
    counts = ["count(*) FILTER (here)", "count(*) FILTER (there)", "count(*) FILTER (here AND there)"]
    n_rows, n_baseline_rows, n_pairs = _count_pairs(pairing, counts)
    ours, theirs = pairing.names
    if 0 < n_pairs == n_rows < n_baseline_rows:
        return replace(pairing, notes=(*pairing.notes, *_describe_strangers(pairing)))
    if 0 < n_pairs == n_baseline_rows < n_rows:
        person = pairing.source.in_sql[own_column].expression("trimmed")
        strangers = (
            f"(SELECT * FROM {pairing.source.table} WHERE {person} NOT IN (SELECT person FROM baseline))"
        )
        reason = f"without a partner in {theirs}; who they are may matter"
        source = replace(pairing.source, dropped=(*pairing.source.dropped, (reason, strangers)))
        return replace(pairing, source=source)
    if n_rows == n_pairs == n_baseline_rows:
        return pairing
    name = format_value(pairing.source.columns[own_column])
    problem = (
        f"{n_rows - n_pairs} of {n_rows} rows of {ours} have no partner in {theirs} with their {name}, "
        f"and {n_baseline_rows - n_pairs} of {n_baseline_rows} the other way"
    )
    raise user_error(problem, _advise_identifier(pairing), pairing.baseline.name)


def _without_copies(pairing: _Pairing, column: int) -> _Pairing:
    """Return pairs of rows that stand in their file once; copies, equal in all columns, are read once."""
    source = pairing.source
    whole_rows = f"(SELECT DISTINCT * FROM {source.table})"
    places = (
        (source, f"trimmed_{column}", "predictions", whole_rows),
        (pairing.baseline, "person", "baseline", "(SELECT DISTINCT * FROM baseline)"),
    )
    for (file, person, view, table), called in zip(places, pairing.names, strict=True):
        n_rows, n_persons = file.row(f"SELECT count(*), count(DISTINCT {person}) FROM {view}")
        if n_rows == n_persons:
            continue
        name = format_value(source.columns[column])
        (n_different,) = source.database.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        if n_different > n_persons:
            repeated = f"SELECT {person} AS person FROM {view} GROUP BY 1 HAVING count(*) > 1"
            (example,) = file.row(f"SELECT min(person) FROM ({repeated})")
            copies = format_count(n_rows - n_persons, "row")
            problem = (
                f"{name} repeats in {called}: {copies} with that of an earlier one, first "
                f"{format_value(example)}, and other cells"
            )
            raise user_error(problem, _advise_identifier(pairing, once=True), file.name)
        copies = format_count(n_rows - n_persons, "row")
        note = f"{copies} of {called} with the {name} of an earlier one and all else as there: read once."
        pairing = replace(pairing, notes=pairing.notes + (note,))
        if file is source:
            pairing = replace(pairing, source=replace(source, table=table, once=source.once or source.table))
        else:
            source.database.execute("CREATE OR REPLACE TABLE baseline AS SELECT DISTINCT * FROM baseline")
    return pairing


def _without_zeros(pairing: _Pairing, column: int) -> _Pairing:
    """Return pairs whose identifiers may differ in zeros in front, where these tell nobody apart."""
    short = "coalesce(nullif(ltrim({cell}, '0'), ''), '0')"
    facts = (
        "bool_and(regexp_full_match({cell}, '[0-9]+')), count(DISTINCT {short}) = count(DISTINCT {cell}), "
        "min({cell}) FILTER (starts_with({cell}, '0') AND {cell} <> '0')"
    )
    padded = []
    for rows, cell, view in (
        (pairing.source, f"trimmed_{column}", "predictions"),
        (pairing.baseline, "person", "baseline"),
    ):
        query = facts.format(cell=cell, short=short.format(cell=cell))
        are_digits, tells_apart, example = rows.row(f"SELECT {query} FROM {view}")
        if not are_digits or not tells_apart:
            return pairing
        padded.append(example)
    if padded == [None, None]:
        return pairing
    source = pairing.source
    key = sql.text_column(short.format(cell=source.in_sql[column].expression("trimmed")))
    source.database.execute(f"UPDATE baseline SET person = {short.format(cell='person')}")
    example = format_value(padded[0] or padded[1])
    note = f"{source.columns[column]}: zeros in front are passed over, as in {example}."
    in_sql = (*source.in_sql[:column], key, *source.in_sql[column + 1 :])
    return replace(pairing, source=replace(source, in_sql=in_sql), notes=pairing.notes + (note,))


def _describe_strangers(pairing: _Pairing) -> list[str]:
    """Return notes on the rows of the baseline that have no partner, with their share of each group."""
    ours, theirs = pairing.names
    strangers = f"{pairing.rows} WHERE there AND here IS NULL"
    (n_rows,) = pairing.source.row(f"SELECT count(*) FROM {strangers}")
    reason = f"of {theirs} without a partner in {ours}; who they are may matter"
    notes = [f"Left out: {format_count(n_rows, 'row')} {reason}."]
    for i, (column, _, _) in enumerate(pairing.checked):
        query = (
            f"SELECT theirs_{i}, count(*) FILTER (here IS NULL), count(*) FROM {pairing.rows} WHERE there "
            "GROUP BY 1 HAVING count(*) FILTER (here IS NULL) > 0 ORDER BY 2 DESC, 1"
        )
        groups = pairing.source.rows(query)
        if len(groups) <= MOST_LISTED:
            texts = [
                f"{group} {n:,} of {n_all:,} ({format_percent(n / n_all)})" for group, n, n_all in groups
            ]
            notes.append(f"{pairing.source.columns[column]}, left out: {', '.join(texts)}.")
    return notes


def _advise_identifier(pairing: _Pairing, *, once: bool = False) -> MessageText:
    """Return the advice to pair by a column that both have and that tells rows apart, where there is one."""
    source = pairing.source
    baseline = pairing.baseline
    paired_by = None if pairing.key_columns is None else source.columns[pairing.key_columns[0]]
    for name, column in list(source.column_index.items())[:MOST_TRIED]:
        if name != paired_by and name in baseline.column_index:
            distinct = "SELECT count(*) > 0 AND count(DISTINCT trimmed_{0}) = count(*) FROM predictions"
            tells_apart = source.row(distinct.format(column))[0]
            if tells_apart and baseline.row(distinct.format(baseline.column_index[name]))[0]:
                return ("pair them by another column: ", Flag("id", name))
    if once:
        return "leave one of those rows out of the file"
    return "give both files the same rows; neither has another column that tells rows apart"


def _difference_error(pairing: _Pairing, i: int) -> UserError:
    """Return the error for pairs of rows that differ in a column, the one checked at place `at`."""
    source = pairing.source
    key_columns = pairing.key_columns
    key = "a.person"
    if key_columns is None:
        key = "row_number() OVER ()"
    values = f"SELECT {key} AS whose, mine_{i} AS mine, theirs_{i} AS theirs FROM {pairing.rows}"
    first_difference = "count(*), min(whose), arg_min(mine, whose), arg_min(theirs, whose)"
    with source.engine(ordered=True, threads=1):
        count, person, mine, theirs = source.row(
            f"SELECT {first_difference} FROM ({values}) WHERE mine IS DISTINCT FROM theirs"
        )
    if key_columns is None:
        where = f"row {person}"
    else:
        where = f"{source.columns[key_columns[0]]} {format_value(str(person))}"
    column = format_value(source.columns[pairing.checked[i][0]])
    problem = (
        f"{column} differs in {format_count(count, 'row')}, first of {where}: "
        f"{format_value(str(mine))} in {pairing.names[0]}, {format_value(str(theirs))} in {pairing.names[1]}"
    )
    fix = _advise_identifier(pairing) if key_columns is None else "correct one of the files"
    return user_error(problem, fix, pairing.baseline.name)


def side_slices(scan: CountedRows, names: tuple[str, ...] = ()) -> tuple[Slice, ...]:
    """Return all slices: of each column of scores, the baseline first, or of each slice of the rows in order.

    Parameters
    ----------
    scan : CountedRows
    names : tuple of str
        Of the columns of scores, when they come from two files; else their own are taken.
    """
    roles = scan.roles
    if scan.classes and scan.config.compares:
        problem = "several classes are favourable, and one outcome can be compared at a time"
        raise user_error(problem, "name one value", Flag("favourable"))
    if len(roles.scores) > 1:
        called = names or [scan.source.columns[column] for column in roles.scores]
        slices_of_sides: list[Slice] = []
        for i, name in enumerate(called):
            for group_counts in make_slices(scan.side(i)):
                slices_of_sides.append(replace(group_counts, model=name))
        return tuple(slices_of_sides)
    if scan.config.sliced_by:
        # Before counts become slices: thousands take minutes.
        _refuse_many_slices(models_of(scan), scan.config.sliced_by)
        return _sort_slices(scan.source, make_slices(scan), scan.config.sliced_by)
    return make_slices(scan)


def read_sides(scan: Scan) -> tuple[BeforeAfter, ...]:
    """Return the pairs to compare, by pair of models, then attribute; empty unless asked for.

    Columns of scores are each compared with the first, slices of the rows each with the one before.
    """
    by_model = group_by(scan.tally.slices, lambda group_counts: group_counts.model)
    baseline_slices, *compared_slices = by_model.values()
    pairs: list[BeforeAfter] = []
    if len(scan.roles.scores) > 1:
        sums_by_attribute = sum_by_person(scan) if scan.roles.clusters else {}
        for i, side in enumerate(compared_slices, start=1):
            for before, after in zip(baseline_slices, side, strict=True):
                ways = sums_by_attribute.get(before.attribute, [])
                clusters = tuple(pair_clusters(scan, before, sums, i) for sums in ways)
                pairs.append(replace(_pair_scores(scan, i, before, after), clusters=clusters))
    elif scan.config.sliced_by:
        for earlier, later in pairwise(by_model.values()):
            for before, after in zip(earlier, later, strict=True):
                pairs.append(_join_slices(before, after))
    return tuple(pairs)


def _pair_scores(scan: Scan, i: int, before: Slice, after: Slice) -> BeforeAfter:
    """Return the rows of an attribute under the first column of scores and the one at place i."""
    names = next(names for names in scan.roles.audited if CROSS.join(names) == before.attribute)
    cells = scan.cells_with(names)
    picked = []
    for side in (scan.side(0), scan.side(i)):
        (cut,) = side.cuts_of("")
        level = side.cells_with(names).level[0]
        picked.append(count_selected(cut, scores_of([cut]), level, cells.rows, 0, "") > 0)
    groups, group = groups_of(scan, names)
    code = KINDS * group + 4 * cells.label + 2 * picked[0] + picked[1]

    def by_kind(values: Floats) -> Floats:
        sums = np.bincount(code, values, minlength=KINDS * len(groups)).astype(np.float64)
        return sums.reshape(-1, KINDS)

    rows = cells.weighing.astype(np.float64)
    sides = TwoSides(by_kind(cells.weight), by_kind(rows), by_kind(cells.square), paired=True)
    return _before_and_after(before, after, before.counts.groups, sides)


def _before_and_after(before: Slice, after: Slice, groups: tuple[str, ...], sides: TwoSides) -> BeforeAfter:
    labelled = before.labelled
    crossed = before.intersection
    return BeforeAfter(before.model, after.model, before.attribute, groups, sides, labelled, crossed)


def _refuse_many_slices(values: Sequence[str], name: str) -> None:
    """Raise a `UserError` where a column has more values than slices can be compared."""
    if len(values) > MOST_SLICES:
        count = f"{format_value(name)} has {len(values)} different values"
        problem = f"{count}; at most {MOST_SLICES} slices are compared"
        raise user_error(problem, "name a column of fewer, such as months instead of days", Flag("slice"))


def _sort_slices(source: Source, slices: tuple[Slice, ...], name: str) -> tuple[Slice, ...]:
    """Sort slices by the value that they have in common: as numbers, or as text with numbers: m2, m10."""
    values = list(dict.fromkeys(group_counts.model for group_counts in slices))
    if MISSING in values:
        rows = next(int(group_counts.rows.sum()) for group_counts in slices if group_counts.model == MISSING)
        problem = f"{format_value(name)} is missing in {format_count(rows, 'row')}"
        raise user_error(problem, "fill it in, or leave those rows out of the file", source.name)
    if len(values) == 1:
        problem = (
            f"{format_value(name)} has one value only, {format_value(values[0])}: there is nothing to compare"
        )
        raise user_error(problem, "name another column", Flag("slice"))
    try:
        number_of = {value: (float(value), value) for value in values}
    except ValueError:
        return tuple(sorted(slices, key=lambda group_counts: _numbers_in(group_counts.model)))
    return tuple(sorted(slices, key=lambda group_counts: number_of[group_counts.model]))


def _numbers_in(text: str) -> list[tuple[int, str]]:
    """Return a text cut where whole numbers begin and end, so that these sort as numbers, however long.

    >>> sorted(["m10", "m2", "m1"], key=_numbers_in)
    ['m1', 'm2', 'm10']
    """
    pieces = re.split(r"([0-9]+)", text)
    digits = (piece.lstrip("0") if i % 2 else "" for i, piece in enumerate(pieces))
    return [(len(number), number or piece) for piece, number in zip(pieces, digits, strict=True)]


def _join_slices(before: Slice, after: Slice) -> BeforeAfter:
    """Return two slices of different rows, with the groups that either has."""
    groups = tuple(dict.fromkeys(before.counts.groups + after.counts.groups))

    def cells_of(group_counts: Slice) -> list[Floats]:
        cells = np.zeros((3, len(groups), 2, 2))
        cells[:, [groups.index(group) for group in group_counts.counts.groups]] = group_counts.cells
        return list(cells)

    joint = _before_and_after(before, after, groups, apart(cells_of(before), cells_of(after)))
    clusters = []
    for ways in zip(before.cluster_ways, after.cluster_ways, strict=True):
        columns_of_sides = []
        for side, (group_counts, entries_of_side) in enumerate(zip((before, after), ways, strict=True)):
            new_indices = np.array(
                [groups.index(group) for group in group_counts.counts.groups], dtype=np.int64
            )
            kinds = np.zeros((2, len(entries_of_side.person), KINDS))
            kinds[0, :, 4 * side : 4 * side + 4] = entries_of_side.n.reshape(-1, 4)
            kinds[1, :, 4 * side : 4 * side + 4] = entries_of_side.squares.reshape(-1, 4)
            columns_of_sides.append(
                (entries_of_side.person, new_indices[entries_of_side.group], kinds[0], kinds[1])
            )
        columns = [np.concatenate(column) for column in zip(*columns_of_sides, strict=True)]
        every_group = np.arange(len(groups), dtype=np.int64)
        clusters.append(Clusters(*columns).map_groups(every_group))
    return replace(joint, clusters=tuple(clusters))
