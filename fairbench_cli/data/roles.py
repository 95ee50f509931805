"""The groups and labels that a card names, checked against data or a network, and values that it may mean."""

import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from fairbench_cli.base.errors import Problem, UserError, format_value, suggest
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.base.spelling_variants import MOST_NAMED, NO_VALUE, find_spelling_variants
from fairbench_cli.base.strict_yaml import KeyPath, yaml_word
from fairbench_cli.data.card import Card
from fairbench_cli.data.columns import Misfit
from fairbench_cli.data.table import Column, Roles

if TYPE_CHECKING:  # workers check groups of networks without it
    import pandas as pd


def absent(
    card: Card, column: str, values: Iterable[str], present: Collection[str], place: KeyPath, of: str = "data"
) -> Iterator[Problem]:
    """Yield a problem for each value of a column that is not there, as a card names it at `place`."""
    for value in values:
        if value not in present:
            what = f'value "{value}" of column "{column}" is not in the {of}'
            yield Problem(what, suggest(value, present), card.where(*place))


def checked_roles(
    card: Card,
    attribute: str,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    of: Literal["data", "network"],
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
    problems = _role_problems(card, attribute, columns, occurring, of)
    if problems:
        raise UserError(*dict.fromkeys(problems))
    return card.roles(attribute, {column.name: column.levels for column in columns})


def _role_problems(
    card: Card,
    attribute: str,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    of: Literal["data", "network"],
) -> list[Problem]:
    """Return the problems of the label and the groups of an attribute, and of the parts of a joint one."""
    levels = {column.name: column.levels for column in columns}
    roles = card.roles(attribute, levels)
    problems = list[Problem]()
    group = ("protected", attribute)
    target = ("protected", attribute, "bias")
    if roles.of:
        for part in roles.of:
            problems += _role_problems(card, part, columns, occurring, of)
        problems += joint_as_column(card, levels, of)
        every = (*roles.deprived, *roles.favoured)
        if not problems and len(set(every)) < len(every):
            what = f"two joint levels of {attribute} are spelt alike"
            problems.append(Problem(what, "recode one of their parts", card.where(*group)))
        return problems
    named: list[tuple[str, tuple[str, ...], KeyPath]] = [
        (roles.label, (roles.favourable,), ("label", "favourable")),
        (attribute, roles.deprived, (*group, "deprived")),
        (attribute, roles.favoured, (*group, "favoured")),
    ]
    if bias := card.protected[attribute].bias:
        named.append((bias.column, bias.deprived, (*target, "deprived")))
        named.append((bias.column, bias.favoured, (*target, "favoured")))
    for column, values, place in named:
        if column in levels:
            problems += absent(card, column, values, occurring(column), place, of)
        else:
            what = f'the {of} has no column "{column}"'
            problems.append(Problem(what, suggest(column, levels), card.where(*place[:-1])))
    if not problems:  # a misspelt value leaves its level in neither group: that is one mistake
        problems += _badly_shared(card, roles, levels[attribute])
    if len(levels.get(roles.label, "ab")) < 2:
        what = f'the label "{roles.label}" has one value only'
        problems.append(Problem(what, "give rows with both outcomes", card.where("label", "column")))
    return problems


def joint_as_column(card: Card, columns: Collection[str], of: str = "data") -> Iterator[Problem]:
    """Yield a problem for each joint attribute of a card that has the name of a column."""
    for name, protected in card.protected.items():
        if protected.of and name in columns:
            what = f'"{name}" is a column of the {of}'
            fix = "give the joint attribute another name"
            yield Problem(what, fix, card.where("protected", name))


def _badly_shared(card: Card, roles: Roles, levels: Iterable[str]) -> Iterator[Problem]:
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


def doubtful_values(card: Card, frame: "pd.DataFrame") -> Iterator[Misfit]:
    """Yield the doubtful values of the label, of protected attributes and of what β edits.

    It is about those that the card does not name, as a group or among the `levels` of the column. A label
    must not be a twin of the favourable one or mean no value, such as ``inf``: it would be unfavourable.
    Levels of an attribute must not be twins: each would be a group, favoured where the card does not say.

    Parameters
    ----------
    frame : DataFrame
        Cells as text, recoded, in the rows that are used.
    """
    for name, named in _named(card).items():
        own = card.column(name)
        if name not in frame.columns or own.kind != "nominal":
            continue
        rows = {str(value): int(n) for value, n in frame[name].astype(object).value_counts().items()}
        known = named | set(own.levels or ())
        label = name == card.label.column
        for twins in find_spelling_variants(rows):
            new = [value for value in twins.values if value not in known]
            if not new or not (known & set(twins.values) or name in card.protected):
                continue
            kept = next((value for value in twins.values if value in known), twins.values[0])
            others = [value for value in twins.values if value != kept]
            if label:
                which = "the favourable "
            else:
                which = ""
            what = f"has {counted(others, rows)} next to {which}{counted([kept], rows)}"
            if name in card.protected:
                meant = "name each of them in the card"
            else:
                meant = f"list all: {_levels(rows)}"
            fix = f"{recoding(name, others, kept)}; if they are meant to differ, {meant}"
            cell = next(value for value in others if value in new)
            yield Misfit(name, f"{what}: they {twins.how}", fix, cell)
        if label:
            yield from _no_outcomes(card, name, rows, known)


def _no_outcomes(card: Card, name: str, rows: Mapping[str, int], known: set[str]) -> Iterator[Misfit]:
    """Yield the labels that mean no value; those that the card calls missing are found elsewhere."""
    found = [v for v in rows if v.lower() in NO_VALUE and v not in known and v not in ("", *card.missing)]
    if found:
        what = f"has {counted(found, rows)}, which would count as unfavourable"
        listed = format_value([*found, *card.missing])
        fix = f"leave the rows out with missing: {listed} and missing_rows: drop; or, if it is an outcome"
        yield Misfit(name, what, f"{fix}, list {_levels(rows)}", found[0])


def _named(card: Card) -> dict[str, set[str]]:
    """Return the values that a card gives a meaning, by column."""
    named: dict[str, set[str]] = defaultdict(set)
    named[card.label.column].add(card.label.favourable)
    for name, protected in card.protected.items():
        if protected.of is None:
            named[name] |= {*protected.deprived, *(protected.favoured or ())}
        if protected.bias is not None:
            named[protected.bias.column] |= {*protected.bias.deprived, *protected.bias.favoured}
    return named


def recoding(column: str, values: Iterable[str], into: str) -> str:
    r"""Return the text to write in a card so that values become another one.

    >>> print(recoding("sex", ["m", "M."], "M"))
    recode under `columns`: sex: {recode: {"m": "M", "M.": "M"}}
    """
    pairs = ", ".join(f"{_written(value)}: {_written(into)}" for value in values)
    return f"recode under `columns`: {yaml_word(column)}: {{recode: {{{pairs}}}}}"


def counted(values: Iterable[str], rows: Mapping[str, int]) -> str:
    r"""Return values with their number of rows, in words.

    >>> print(counted(["yes", "yes\u200b"], {"yes": 3, "yes\u200b": 1}))
    "yes" (3 rows) and "yes\u200b" (1 row)
    """
    words = [f"{_written(value)} ({rows[value]:,} row{'' if rows[value] == 1 else 's'})" for value in values]
    if len(words) > MOST_NAMED:
        return join_names(words, MOST_NAMED)
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _levels(rows: Mapping[str, int]) -> str:
    some = ", ".join(map(_written, list(rows)[:MOST_NAMED]))
    if len(rows) > MOST_NAMED:
        more = ", …"
    else:
        more = ""
    return f"all that there are in the card, levels: [{some}{more}]"


def _written(value: str) -> str:
    """Return a value in quotes, with escapes where it is not what it looks like; JSON and YAML read both."""
    plain = value.isprintable() and unicodedata.is_normalized("NFKC", value)
    return json.dumps(value, ensure_ascii=not plain)
