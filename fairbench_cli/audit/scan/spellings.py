"""One value written in several ways: a stop, until it is said whether these are one value or several.

"Accepted" next to "accepted" would count as refused, and "Female" next to "female" as two groups: a wrong
answer without a word. What differs in that way, and in no other, is told by `base.spelling_variants`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairbench_cli.audit.config import MISSING, AuditConfig
from fairbench_cli.audit.scan import sql
from fairbench_cli.audit.scan.roles import ColumnRoles
from fairbench_cli.audit.scan.source import Source
from fairbench_cli.base.errors import Flag, Problem, UserError, format_value, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.base.spelling_variants import SpellingVariants, find_spelling_variants, has_plain_letters

MOST_VALUES = 10_000  # of an attribute whose spellings are merged

Outcome = tuple[str, ...]
"""The values of a column that count as one outcome together."""


class AlikeValuesError(UserError):
    """Values that differ in their spelling only, of which nothing is said."""


def merge_groups(source: Source, roles: ColumnRoles, config: AuditConfig) -> tuple[Source, tuple[str, ...]]:
    """Return the predictions with each group under its commonest spelling where that is asked for, and notes.

    Raises
    ------
    UserError
        For spellings of a column that is not looked at.
    """
    used = {*roles.attributes, *(source.columns[i] for i in (*roles.scores, roles.label) if i is not None)}
    for name in config.columns_with_spellings:
        if name not in used:
            what = f"{format_value(name)} is neither audited nor the score or label"
            raise user_error(what, "name a column that is, or none", Flag("spellings"))
    notes: list[str] = []
    in_sql = list(source.in_sql)
    for name, column in roles.attributes.items():
        if config.spelling(name) != "merge" or name in config.bins:
            continue
        rows = _rows_of_values(source, column)
        merged: dict[str, list[str]] = {}
        for twins in find_spelling_variants(rows):  # the commonest first
            spelling = next(filter(has_plain_letters, twins.values), twins.values[0])
            merged[spelling] = [value for value in twins.values if value != spelling]
        if merged:
            in_sql[column] = _merged(in_sql[column], merged)
            for spelling, others in merged.items():
                notes.append(f"{name}: {_counted_too(spelling, others, rows)}.")
    return replace(source, in_sql=tuple(in_sql)), tuple(notes)


def _rows_of_values(source: Source, column: int) -> dict[str, int]:
    """Return how many rows each value of a column has, the commonest first."""
    values = f"SELECT trimmed_{column} AS value, count(*) FROM predictions WHERE value <> ''"
    return dict(source.all(f"{values} GROUP BY value ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}"))


def _merged(column: sql.ColumnSql, merged: Mapping[str, Sequence[str]]) -> sql.ColumnSql:
    """Return a column in which some values are written as another."""
    value = column.of("trimmed")
    cases = "".join(
        f" WHEN {value} IN ({', '.join(map(sql.quoted, others))}) THEN {sql.quoted(spelling)}"
        for spelling, others in merged.items()
    )
    text = f"CASE{cases} ELSE {column.text} END"
    return replace(column, text=text, group=text)


def _counted_too(spelling: str, others: Sequence[str], rows: Mapping[str, int]) -> str:
    counted = join_names([f"{format_value(value)} ({format_count(rows[value], 'row')})" for value in others])
    return f"{format_value(spelling)} counts {counted}, too"


def alike_groups_of_rows(source: Source, roles: ColumnRoles, config: AuditConfig) -> list[Problem]:
    """Return the problems with the groups of all attributes, as `alike_groups`, before they are counted."""
    columns = roles.attributes.items()
    return alike_groups({name: _rows_of_values(source, column) for name, column in columns}, config)


def alike_groups(groups: Mapping[str, Mapping[str, int]], config: AuditConfig) -> list[Problem]:
    """Return the groups of one attribute that are likely one, where it is not said that they are several.

    Parameters
    ----------
    groups : dict of attribute to dict of group to int
        Their rows.
    config : AuditConfig
        The groups that it leaves out are none.
    """
    problems = []
    for name, rows in groups.items():
        if config.spelling(name) is not None or name in config.bins:
            continue
        compared = (group for group in rows if group != MISSING and not config.leaves_out(name, group))
        for twins in find_spelling_variants(sorted(compared)):
            what = f"{name}: {twins}, and would be {len(twins.values)} groups ({_row_counts(twins, rows)})"
            merge, keep = (Flag("spellings", (name, choice)) for choice in ("merge", "keep"))
            problems.append(Problem(what, ("count them as one group: ", merge, "; or apart: ", keep)))
    return problems


def _row_counts(twins: SpellingVariants, rows: Mapping[str, int]) -> str:
    return " and ".join(format_count(rows[value], "row") for value in twins.values)


def spelled_otherwise(favourable: Sequence[str], values: Iterable[str]) -> bool:
    """Return whether a favourable value is among others in another spelling."""
    others = set(values) - set(favourable)
    return any(
        set(favourable) & set(twins.values) and others & set(twins.values)
        for twins in find_spelling_variants([*favourable, *sorted(others)])
    )


def with_spellings(
    name: str, key: str, rows: Mapping[str, int], outcomes: Sequence[Outcome], config: AuditConfig
) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """Return the outcomes of a column with all their spellings, and notes of those that were added.

    Parameters
    ----------
    name, key : str
        The column, and the name under which its spellings are said.
    rows : dict of value to int
        Of all its values.
    outcomes : sequence of tuples of values
        Those that count as 1, as they were given.
    config : AuditConfig
        Which says whether spellings are merged.

    Raises
    ------
    AlikeValuesError
        Where a value differs from one that counts as 1 in its spelling only, and nothing is said of that.
    UserError
        Where that makes one outcome of two.
    """
    spelling = config.spelling(key)
    complete: list[Outcome] = []
    notes: list[str] = []
    problems: list[Problem] = []
    for outcome in outcomes:
        missed: list[str] = []
        for twins in find_spelling_variants([*outcome, *rows]):
            of_outcome = [value for value in twins.values if value in outcome]
            others = [value for value in twins.values if value not in outcome]
            if not of_outcome or not others or spelling == "keep":
                continue
            if spelling == "merge":
                notes.append(f"{name}: {_counted_too(of_outcome[0], others, rows)}.")
                missed += others
                continue
            counted = join_names(
                [f"{format_value(value)} in {format_count(rows[value], 'row')}" for value in others]
            )
            what = f"{name} is {counted}, which would not count as {format_value(of_outcome[0])}: {twins}"
            given = Flag("favourable", "|".join((*outcome, *others)))
            merge, keep = (Flag("spellings", (key, choice)) for choice in ("merge", "keep"))
            # Nobody can type what is not seen, and a bar that is part of a value would divide it.
            is_typed = "look alike" not in twins.how and not any("|" in value for value in twins.values)
            if is_typed:
                first = given
            else:
                first = merge
            fix = ("count them as one outcome: ", first, "; or keep them apart: ", keep)
            problems.append(Problem(what, fix))
        complete.append((*outcome, *missed))
    if problems:
        raise AlikeValuesError(*problems)
    values = [value for outcome in complete for value in outcome]
    for value in values:
        if values.count(value) > 1:
            what = f"{format_value(value)} is named, and is merged with another value that is"
            raise user_error(what, "name one of them", Flag("favourable"))
    return tuple(complete), tuple(notes)
