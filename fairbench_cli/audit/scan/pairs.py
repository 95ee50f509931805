"""Pair the rows of two files: by an identifier where both have one, else by their order.

The baseline, the file of ``--against``, becomes one more column of scores, the one that the scores of the
audited file are compared with; from there on it is the same as two columns of one file.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.read.columns import ColumnRoles, assign, find_column
from fairbench_cli.audit.read.mistakes import reading, refuse_codes, refuse_if, refuse_scores, rows_in_words
from fairbench_cli.audit.read.percent import read_percent
from fairbench_cli.audit.read.predictions import FRAME, ColumnSql, Predictions, blank, code_sql, not_finite
from fairbench_cli.audit.read.ranks import text_sql
from fairbench_cli.base.errors import UserError, shown, user_error

IDENTIFIERS = ("entity_id", "id")
# What is kept of the baseline's scores, and how they are read.
KEPT = 'b.s AS "baseline s", b.y AS "baseline y", b.v AS "baseline v"'
NOTHING = 'NULL::DOUBLE AS "baseline s", 0 AS "baseline y", \'\' AS "baseline v"'  # among the first rows
SCORES = ColumnSql('"baseline v"', '"baseline s"', '"baseline y"', '"baseline v"')


def names_of(source: Predictions, baseline: Predictions) -> tuple[str, str]:
    """Return what a file and its baseline are called, with as many of their folders as tells them apart."""
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


def pair_up(source: Predictions, baseline: Predictions, config: AuditConfig) -> Predictions:
    """Return the rows of a file with the scores of its baseline in one more column.

    Parameters
    ----------
    source, baseline : Predictions
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
    score = find_column(baseline, config.score or "score", "--score")
    with reading(baseline):
        baseline, _ = read_percent(baseline.with_first_rows(), [score])
        both = _identifiers(source, baseline, config)
        checked = _checked(source, baseline, roles, config)
        _keep(baseline, score, both, [there for _, _, there in checked], config)
    key = "" if both is None else f", t{both[0]} AS k"
    here = "".join(f", {sql} AS h{at}" for at, (_, sql, _) in enumerate(checked))
    joined = "POSITIONAL JOIN baseline b" if both is None else "FULL JOIN baseline b ON a.k = b.k"
    rows = f"(SELECT true AS here{key}{here} FROM predictions) a {joined}"
    _refuse_strangers(source, baseline, both, rows, [column for column, _, _ in checked])
    how = "in their order" if both is None else f"by {shown(source.columns[both[0]])}"
    notes = [f"Rows of both files are paired {how}."]
    if not checked:
        theirs = names_of(source, baseline)[1]
        notes.append(f"{theirs} has no label or group that could show that its rows are the same.")
    if both is None:
        table = f"(SELECT a.*, b.* FROM {source.table} a POSITIONAL JOIN (SELECT {KEPT} FROM baseline b) b)"
    else:
        keyed = f'(SELECT *, {source.sql[both[0]].of("t")} AS "baseline k" FROM {source.table})'
        table = f'(SELECT a.*, {KEPT} FROM {keyed} a JOIN baseline b ON a."baseline k" = b.k)'
    return replace(
        source,
        columns=(*source.columns, f"{baseline.columns[score]} in {names_of(source, baseline)[1]}"),
        notes=(*source.notes, *notes),
        table=table,
        first=f"(SELECT *, {NOTHING} FROM {source.first})",
        sql=(*source.sql, SCORES),
        alone=source,
    )


def _identifiers(source: Predictions, baseline: Predictions, config: AuditConfig) -> tuple[int, int] | None:
    """Return the columns of both files that say whose row it is; None when rows are paired by their order."""
    if config.identifier is not None:
        name = config.identifier
        return find_column(source, name, "--id"), find_column(baseline, name, "--id")
    for name in IDENTIFIERS:
        if name in source.places and name in baseline.places:
            return source.places[name], baseline.places[name]
    return None


def _checked(
    source: Predictions, baseline: Predictions, roles: ColumnRoles, config: AuditConfig
) -> list[tuple[int, str, str]]:
    """Return the columns in which paired rows have to agree: place, and its value in either file in SQL."""
    found = []
    columns: dict[int | None, str] = dict.fromkeys(roles.attributes.values(), "")
    columns |= {roles.label: "" if config.favourable else "label", roles.weight: "weight"}
    for column, kind in columns.items():
        there = None if column is None else baseline.places.get(source.columns[column])
        if column is not None and there is not None:
            here, other = (
                code_sql(at, 2) if kind == "label" else f"n{at}" if kind == "weight" else text_sql(at)
                for at in (column, there)
            )
            found.append((column, here, other))
    return found


def _keep(
    baseline: Predictions,
    score: int,
    both: tuple[int, int] | None,
    checked: Sequence[str],
    config: AuditConfig,
) -> None:
    """Keep what is needed of the baseline in a table, in the order of its rows; refuse what is no score."""
    baseline.engine.execute("SET preserve_insertion_order=true")
    text = f"t{score}" if config.favourable else "NULL::VARCHAR"
    parts = [f"n{score} AS s", f"y{score} AS y", f"{text} AS v", "true AS there"]
    parts += [f"t{both[1]} AS k"] if both else []
    parts += [f"{sql} AS x{at}" for at, sql in enumerate(checked)]
    baseline.execute(f"CREATE TABLE baseline AS SELECT {', '.join(parts)} FROM predictions")
    binary = all(decision.kind == "binary" for decision in config.decisions)
    words = binary and config.favourable
    bad = "coalesce(v, '') = ''" if words else "y IS NULL" if binary else not_finite("s")
    if baseline.one(f"SELECT 1 FROM baseline WHERE {bad} LIMIT 1"):
        if binary:
            refuse_codes(baseline, score, "score")
        refuse_scores(baseline, score)


def _refuse_strangers(
    source: Predictions,
    baseline: Predictions,
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
        ours, theirs = names_of(source, baseline)
        what = f"{ours} has {rows_in_words(here)}, {theirs} {there}: they cannot be paired in their order"
        raise user_error(what, "name a column of persons that both have with --id", baseline.name)
    if both is not None:
        _refuse_identifiers(source, baseline, both, rows, (here, pairs, bool(more[-1])))
    for at, (column, many) in enumerate(zip(checked, more, strict=False)):
        if many:
            raise _difference(source, baseline, both, rows, at, column)


def _refuse_identifiers(
    source: Predictions, baseline: Predictions, both: tuple[int, int], rows: str, found: tuple[int, int, bool]
) -> None:
    """Refuse rows without a partner, or with several.

    `found` are the rows here, the pairs, and whether a row here has no identifier.
    """
    ours, theirs = names_of(source, baseline)
    here, pairs, unnamed = found
    name, fill = shown(source.columns[both[0]]), "fill it in, or leave those rows out of the file"
    (nameless,) = source.one("SELECT count(*) FROM baseline WHERE coalesce(k, '') = ''")
    for each, column, some in ((source, both[0], unnamed), (baseline, both[1], nameless)):
        if some:
            refuse_if(each, column, blank(column), "{column} is missing in {count}, first here", fill)
    known, distinct = source.one("SELECT count(*), count(DISTINCT k) FROM baseline")
    fix = "name a column in which each row has a value of its own with --id"
    if distinct < known:
        what = f"{name} repeats in {theirs}: {known - distinct} rows have that of an earlier one"
        raise user_error(what, fix, baseline.name)
    if here == pairs == known:
        return
    (met,) = source.one(f"SELECT count(DISTINCT b.k) FROM {rows} WHERE here AND there")
    if pairs > met:
        what = f"{name} repeats in {ours}: {rows_in_words(pairs - met)} have that of an earlier one"
        raise user_error(what, fix, source.name)
    what = f"{here - pairs} of {here} rows of {ours} have no partner in {theirs} with their {name}, "
    what += f"and {known - met} of {known} the other way"
    raise user_error(what, "give both files the same rows, or name another column with --id", baseline.name)


def _difference(
    source: Predictions, baseline: Predictions, both: tuple[int, int] | None, rows: str, at: int, column: int
) -> UserError:
    """Return the error for pairs of rows that differ in a column, the one checked at place `at`."""
    source.engine.execute("SET threads=1; SET preserve_insertion_order=true")
    key = "row_number() OVER ()" if both is None else "a.k"
    values = f"SELECT {key} AS whose, h{at} AS mine, x{at} AS theirs FROM {rows}"
    count, whose, mine, theirs = source.one(
        "SELECT count(*), min(whose), arg_min(mine, whose), arg_min(theirs, whose) "
        f"FROM ({values}) WHERE mine IS DISTINCT FROM theirs"
    )
    ours, others = names_of(source, baseline)
    where = f"row {whose}" if both is None else f"{source.columns[both[0]]} {shown(str(whose))}"
    what = (
        f"{shown(source.columns[column])} differs in {rows_in_words(count)}, first of {where}: "
        f"{shown(str(mine))} in {ours}, {shown(str(theirs))} in {others}"
    )
    fix = "pair them by a column of persons with --id" if both is None else "correct one of the files"
    return user_error(what, fix, baseline.name)
