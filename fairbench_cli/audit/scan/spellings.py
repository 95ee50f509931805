"""One value written in several ways: a stop, until it is said whether these are one value or several.

"Accepted" next to "accepted" would count as refused, and "Female" next to "female" as two groups: a wrong
answer without a word. What differs in that way, and in no other, is told by `base.twins`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

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
    looked_at = set(roles.attributes)
    looked_at.update(source.columns[column] for column in roles.scores)
    if roles.label is not None:
        looked_at.add(source.columns[roles.label])
    for name in config.columns_with_spellings:
        if name not in looked_at:
            problem = f"{format_value(name)} is neither audited nor the score or label"
            raise user_error(problem, "name a column that is, or none", Flag("spellings"))
    notes: list[str] = []
    in_sql = list(source.in_sql)
    for name, column in roles.attributes.items():
        if config.spelling(name) != "merge" or name in config.bins:
            continue
        rows = count_rows_of_values(source, column)
        merged: dict[str, list[str]] = {}
        for twins in find_spelling_variants(rows):  # the commonest first
            spelling = next(filter(has_plain_letters, twins.values), twins.values[0])
            merged[spelling] = [value for value in twins.values if value != spelling]
        if merged:
            in_sql[column] = merge_values(in_sql[column], merged)
            for spelling, other_spellings in merged.items():
                notes.append(f"{name}: {describe_merge(spelling, other_spellings, rows)}.")
    return replace(source, in_sql=tuple(in_sql)), tuple(notes)


def count_rows_of_values(source: Source, column: int) -> dict[str, int]:
    """Return how many rows each value of a column has, the commonest first."""
    values = f"SELECT trimmed_{column} AS value, count(*) FROM predictions WHERE value <> ''"
    return dict(source.rows(f"{values} GROUP BY value ORDER BY 2 DESC, 1 LIMIT {MOST_VALUES}"))


def merge_values(column: sql.ColumnSql, merged: Mapping[str, Sequence[str]]) -> sql.ColumnSql:
    """Return a column in which some values are written as another."""
    value = column.expression("trimmed")
    cases = "".join(
        f" WHEN {value} IN ({', '.join(map(sql.quoted, other_spellings))}) THEN {sql.quoted(spelling)}"
        for spelling, other_spellings in merged.items()
    )
    text = f"CASE{cases} ELSE {column.text} END"
    return replace(column, text=text, group=text)


def describe_merge(spelling: str, other_spellings: Sequence[str], rows: Mapping[str, int]) -> str:
    """Return the clause on values that count as another, with their rows."""
    counted = join_names(
        [f"{format_value(value)} ({format_count(rows[value], 'row')})" for value in other_spellings]
    )
    return f"{format_value(spelling)} counts {counted}, too"


def check_alike_groups_of_rows(source: Source, roles: ColumnRoles, config: AuditConfig) -> list[Problem]:
    """Return the problems with all groups, as `check_alike_groups`, before they are counted."""
    columns = roles.attributes.items()
    return check_alike_groups(
        {name: count_rows_of_values(source, column) for name, column in columns}, config
    )


def check_alike_groups(groups: Mapping[str, Mapping[str, int]], config: AuditConfig) -> list[Problem]:
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
            problem = (
                f"{name}: {twins}, and would be {len(twins.values)} groups ({_list_row_counts(twins, rows)})"
            )
            merge, keep = (Flag("spellings", (name, choice)) for choice in ("merge", "keep"))
            fix = ("count them as one group: ", merge, "; or apart: ", keep)
            problems.append(Problem(problem, fix, remedy=(merge,)))
    return problems


def _list_row_counts(twins: SpellingVariants, rows: Mapping[str, int]) -> str:
    return " and ".join(format_count(rows[value], "row") for value in twins.values)


def is_spelled_otherwise(favourable: Sequence[str], values: Iterable[str]) -> bool:
    """Return whether a favourable value is among others in another spelling."""
    unfavourable = set(values) - set(favourable)
    return any(
        set(favourable) & set(twins.values) and unfavourable & set(twins.values)
        for twins in find_spelling_variants(chain(favourable, sorted(unfavourable)))
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
    named_columns = set(chain.from_iterable(outcomes))
    for outcome in outcomes:
        missed: list[str] = []
        for twins in find_spelling_variants(chain(outcome, rows)):
            of_outcome = [value for value in twins.values if value in outcome]
            written = named_columns if config.outcome == "class" and spelling != "merge" else outcome
            other_spellings = [value for value in twins.values if value not in written]
            if not of_outcome or not other_spellings or spelling == "keep":
                continue
            if spelling == "merge":
                notes.append(f"{name}: {describe_merge(of_outcome[0], other_spellings, rows)}.")
                missed += other_spellings
                continue
            counted = join_names(
                [f"{format_value(value)} in {format_count(rows[value], 'row')}" for value in other_spellings]
            )
            problem = f"{name} is {counted}, which would not count as {format_value(of_outcome[0])}: {twins}"
            named_together = Flag("favourable", "|".join(chain(outcome, other_spellings)))
            merge, keep = (Flag("spellings", (key, choice)) for choice in ("merge", "keep"))
            # Nobody can type what is not seen, and a bar that is part of a value would divide it.
            is_typed = "look alike" not in twins.how and not any("|" in value for value in twins.values)
            is_typed = is_typed and config.outcome != "class"  # the line names one outcome alone
            fix = (
                "count them as one outcome: ",
                named_together if is_typed else merge,
                "; or keep them apart: ",
                keep,
            )
            problems.append(Problem(problem, fix, remedy=(merge,)))
        complete.append(outcome + tuple(missed))
    if problems:
        raise AlikeValuesError(*problems)
    all_values = list(chain.from_iterable(complete))
    for value in all_values:
        if all_values.count(value) > 1:
            problem = f"{format_value(value)} is named, and is merged with another value that is"
            raise user_error(problem, "name one of them", Flag("favourable"))
    return tuple(complete), tuple(notes)
