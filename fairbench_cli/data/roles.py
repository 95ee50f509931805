"""The groups and labels that a card names, checked against data or a network, and values that it may mean."""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from fairbench_cli.base.errors import Problem, format_value, refuse, suggest
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.base.spelling_variants import MOST_NAMED, find_spelling_variants
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.base.yaml_document import KeyPath
from fairbench_cli.data.card import Card
from fairbench_cli.data.columns import Misfit
from fairbench_cli.data.number_writing import NO_VALUE
from fairbench_cli.data.table import Column, Roles

if TYPE_CHECKING:  # workers check groups of networks without it
    import pandas as pd


def check_named_values(
    card: Card,
    column: str,
    values: Iterable[str],
    present: Collection[str],
    key_path: KeyPath,
    source: str = "data",
) -> Iterator[Problem]:
    """Yield a problem for each value of a column that is not there, as a card names it at `key_path`."""
    for value in values:
        if value not in present:
            problem = f'value "{value}" of column "{column}" is not in the {source}'
            yield Problem(problem, suggest(value, present), card.where(*key_path))


def resolve_roles(
    card: Card,
    attribute: str,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    source: Literal["data", "network"],
) -> Roles:
    """Return label and groups, checked against the columns of data or of a network.

    Parameters
    ----------
    occurring : callable
        Gives the levels of a column that occur.

    Raises
    ------
    UserError
        As `Dataset.roles`, and when there is no such column.
    """
    problems = _check_roles(card, attribute, columns, occurring, source)
    refuse(dict.fromkeys(problems))
    return card.roles(attribute, {column.name: column.levels for column in columns})


def _check_roles(
    card: Card,
    attribute: str,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    source: Literal["data", "network"],
) -> list[Problem]:
    """Return the problems of the label and the groups of an attribute, and of the parts of a joint one."""
    levels = {column.name: column.levels for column in columns}
    roles = card.roles(attribute, levels)
    problems = list[Problem]()
    if roles.of:
        for part_name in roles.of:
            problems += _check_roles(card, part_name, columns, occurring, source)
        problems += check_joint_names(card, levels, source)
        joint = roles.deprived + roles.favoured
        if not problems and len(set(joint)) < len(joint):
            problem = f"two joint levels of {attribute} are spelt alike"
            problems.append(Problem(problem, "recode one of their parts", card.where("protected", attribute)))
        return problems
    meanings: list[tuple[str, tuple[str, ...], KeyPath]] = [
        (roles.label, (roles.favourable,), ("label", "favourable")),
        (attribute, roles.deprived, ("protected", attribute, "deprived")),
        (attribute, roles.favoured, ("protected", attribute, "favoured")),
    ]
    if bias := card.protected[attribute].bias:
        target = ("protected", attribute, "bias")
        meanings.append((bias.column, bias.deprived, (*target, "deprived")))
        meanings.append((bias.column, bias.favoured, (*target, "favoured")))
    for column, values, key_path in meanings:
        if column in levels:
            problems += check_named_values(card, column, values, occurring(column), key_path, source)
        else:
            problem = f'the {source} has no column "{column}"'
            problems.append(Problem(problem, suggest(column, levels), card.where(*key_path[:-1])))
    if not problems:  # a misspelt value leaves its level in neither group: that is one mistake
        problems += _check_groups(card, roles, levels[attribute])
    if len(levels.get(roles.label, "ab")) < 2:
        problem = f'the label "{roles.label}" has one value only'
        problems.append(Problem(problem, "give rows with both outcomes", card.where("label", "column")))
    return problems


def check_joint_names(card: Card, columns: Collection[str], source: str = "data") -> Iterator[Problem]:
    """Yield a problem for each joint attribute of a card that has the name of a column."""
    for name, protected in card.protected.items():
        if protected.of and name in columns:
            problem = f'"{name}" is a column of the {source}'
            fix = "give the joint attribute another name"
            yield Problem(problem, fix, card.where("protected", name))


def _check_groups(card: Card, roles: Roles, levels: Iterable[str]) -> Iterator[Problem]:
    name = roles.attribute
    where = card.where("protected", roles.attribute)
    fix = "let `deprived` and `favoured` share out the levels, or `keep` fewer rows in the card"
    deprived = set(roles.deprived)
    favoured = set(roles.favoured)
    for level in sorted(deprived & favoured):
        yield Problem(f'"{level}" of {name} is in both groups', fix, where)
    for level in sorted(set(levels) - deprived - favoured):
        yield Problem(f'"{level}" of {name} is in neither group', fix, where)
    if not favoured:
        yield Problem(f"nobody is left to be favoured: every level of {name} is deprived", fix, where)


def find_doubtful_values(card: Card, frame: "pd.DataFrame") -> Iterator[Misfit]:
    """Yield the doubtful values of the label, of protected attributes and of what β edits.

    It is about those that the card does not name, as a group or among the `levels` of the column. A label
    must not be a twin of the favourable one or mean no value, such as ``inf``: it would be unfavourable.
    Levels of an attribute must not be twins: each would be a group, favoured where the card does not say.

    Parameters
    ----------
    frame : DataFrame
        Cells as text, recoded, in the rows that are used.
    """
    for name, meanings in list_named_values(card).items():
        entry = card.column(name)
        if name not in frame.columns or entry.kind != "nominal":
            continue
        rows = {str(value): int(n) for value, n in frame[name].astype(object).value_counts().items()}
        accepted = meanings | set(entry.levels or ())
        label = name == card.label.column
        for twins in find_spelling_variants(rows):
            new = [value for value in twins.values if value not in accepted]
            if not new or not (accepted & set(twins.values) or name in card.protected):
                continue
            kept_value = next((value for value in twins.values if value in accepted), twins.values[0])
            other_values = [value for value in twins.values if value != kept_value]
            favourable_clause = ""
            if label:
                favourable_clause = "the favourable "
            problem = f"has {format_counts(other_values, rows)} next to "
            problem += favourable_clause + format_counts([kept_value], rows)
            if name in card.protected:
                meant = "name each of them in the card"
            else:
                meant = f"list all: {_format_levels(rows)}"
            fix = f"{format_recode(name, other_values, kept_value)}; if they are meant to differ, {meant}"
            cell = next(value for value in other_values if value in new)
            yield Misfit(name, f"{problem}: they {twins.how}", fix, cell)
        if label:
            yield from _find_no_outcomes(card, name, rows, accepted)


def _find_no_outcomes(card: Card, name: str, rows: Mapping[str, int], accepted: set[str]) -> Iterator[Misfit]:
    """Yield the labels that mean no value; those that the card calls missing are found elsewhere."""
    no_outcomes = [
        v for v in rows if v.lower() in NO_VALUE and v not in accepted and v != "" and v not in card.missing
    ]
    if no_outcomes:
        problem = f"has {format_counts(no_outcomes, rows)}, which would count as unfavourable"
        listed = format_value(no_outcomes + list(card.missing))
        fix = f"leave the rows out with missing: {listed} and missing_rows: drop; or, if it is an outcome"
        yield Misfit(name, problem, f"{fix}, list {_format_levels(rows)}", no_outcomes[0])


def list_named_values(card: Card) -> dict[str, set[str]]:
    """Return the values that a card gives a meaning, by column."""
    meanings: dict[str, set[str]] = defaultdict(set)
    meanings[card.label.column].add(card.label.favourable)
    for name, protected in card.protected.items():
        if protected.of is None:
            meanings[name] |= set(protected.deprived) | set(protected.favoured or ())
        if protected.bias is not None:
            meanings[protected.bias.column] |= set(protected.bias.deprived) | set(protected.bias.favoured)
    return meanings


def format_recode(column: str, values: Iterable[str], into: str) -> str:
    r"""Return the text to write in a card so that values become another one.

    >>> print(format_recode("sex", ["m", "M."], "M"))
    recode under `columns`: sex: {recode: {"m": "M", "M.": "M"}}
    """
    pairs = ", ".join(f"{_quote(value)}: {_quote(into)}" for value in values)
    return f"recode under `columns`: {yaml_word(column)}: {{recode: {{{pairs}}}}}"


def format_counts(values: Iterable[str], rows: Mapping[str, int]) -> str:
    r"""Return values with their number of rows, in words.

    >>> print(format_counts(["yes", "yes\u200b"], {"yes": 3, "yes\u200b": 1}))
    "yes" (3 rows) and "yes\u200b" (1 row)
    """
    clauses = [f"{_quote(value)} ({format_count(rows[value], 'row')})" for value in values]
    if len(clauses) > MOST_NAMED:
        return join_names(clauses, MOST_NAMED)
    return " and ".join(filter(None, [", ".join(clauses[:-1]), clauses[-1]]))


def _format_levels(rows: Mapping[str, int]) -> str:
    levels_text = ", ".join(map(_quote, list(rows)[:MOST_NAMED]))
    ellipsis = ""
    if len(rows) > MOST_NAMED:
        ellipsis = ", …"
    return f"all that there are in the card, levels: [{levels_text}{ellipsis}]"


def _quote(value: str) -> str:
    """Return a value in quotes, with escapes where it is not what it looks like; JSON and YAML read both."""
    looks_plain = value.isprintable() and unicodedata.is_normalized("NFKC", value)
    return json.dumps(value, ensure_ascii=not looks_plain)
