"""The groups that a card names, checked against the columns of data or of a network."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal

from fairbench_cli.base.errors import Problem, UserError, suggest
from fairbench_cli.base.strict_yaml import Place
from fairbench_cli.data.card import Card
from fairbench_cli.data.table import Column, Roles


def absent(
    card: Card, column: str, values: Iterable[str], present: Collection[str], place: Place, of: str = "data"
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
    levels = {column.name: column.levels for column in columns}
    roles = card.roles(attribute, levels)
    if roles.of:
        return _checked_joint(card, roles, columns, occurring, of)
    bias = card.protected[attribute].bias
    group, target = ("protected", attribute), ("protected", attribute, "bias")
    named: list[tuple[str, tuple[str, ...], Place]] = [
        (roles.label, (roles.favourable,), ("label", "favourable")),
        (attribute, roles.deprived, (*group, "deprived")),
        (attribute, roles.favoured, (*group, "favoured")),
    ]
    if bias:
        named.append((bias.column, bias.deprived, (*target, "deprived")))
        named.append((bias.column, bias.favoured, (*target, "favoured")))
    problems: list[Problem] = []
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
    if problems:
        raise UserError(*dict.fromkeys(problems))
    return roles


def _checked_joint(
    card: Card,
    roles: Roles,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    of: Literal["data", "network"],
) -> Roles:
    """Return the roles of a joint attribute, its parts checked as `checked_roles` does."""
    name = roles.attribute
    problems: list[Problem] = []
    for part in roles.of:
        try:
            checked_roles(card, part, columns, occurring, of)
        except UserError as error:
            problems += error.problems
    problems += joint_as_column(card, [column.name for column in columns], of)
    every = (*roles.deprived, *roles.favoured)
    if not problems and len(set(every)) < len(every):
        what = f"two joint levels of {name} are spelt alike"
        problems.append(Problem(what, "recode one of their parts", card.where("protected", name)))
    if problems:
        raise UserError(*dict.fromkeys(problems))
    return roles


def joint_as_column(card: Card, columns: Collection[str], of: str = "data") -> Iterator[Problem]:
    """Yield a problem for each joint attribute of a card that has the name of a column."""
    for name, protected in card.protected.items():
        if protected.of and name in columns:
            what, fix = f'"{name}" is a column of the {of}', "give the joint attribute another name"
            yield Problem(what, fix, card.where("protected", name))


def _badly_shared(card: Card, roles: Roles, levels: Iterable[str]) -> Iterator[Problem]:
    name, where = roles.attribute, card.where("protected", roles.attribute)
    fix = "let `deprived` and `favoured` share out the levels, or `keep` fewer rows in the card"
    deprived, favoured = set(roles.deprived), set(roles.favoured)
    for level in sorted(deprived & favoured):
        yield Problem(f'"{level}" of {name} is in both groups', fix, where)
    for level in sorted(set(levels) - deprived - favoured):
        yield Problem(f'"{level}" of {name} is in neither group', fix, where)
    if not favoured:
        yield Problem(f"nobody is left to be favoured: every level of {name} is deprived", fix, where)
