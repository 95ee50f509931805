"""Whom a mechanism concerns: the deprived, the favoured or everybody, and only those with given levels."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.base.errors import Problem, suggest, user_error
from fairbench_cli.data.column_card import Levels
from fairbench_cli.data.table import Column
from fairbench_cli.network.bias import Groups
from fairbench_cli.network.world import World

Group = Literal["deprived", "favoured", "everybody"]
Given = dict[str, Levels]
"""Levels by column, of which a person has one in every column."""
Strength = Annotated[float, Field(ge=0, le=1)]


def concerned(
    world: World, of: Group, given: Mapping[str, Sequence[str]] | None = None, more: Collection[str] = ()
) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Return the columns that decide whom a mechanism concerns, and at which of their levels it does.

    The columns are those of the record as it is so far.

    Parameters
    ----------
    world : World
        The world so far.
    of : {"deprived", "favoured", "everybody"}
        The group.
    given : mapping of str to levels, optional
        Levels by column, of which somebody has one in every column.
    more : collection of str
        Columns that have an axis too.

    Returns
    -------
    columns : tuple of str
        Those of the groups first; none where all people are concerned.
    mask : bool array
        With an axis for each column.
    """
    columns = tuple(dict.fromkeys((*(() if of == "everybody" else world.groups), *(given or ()), *more)))
    mask = world.having(columns, given or {})
    if of != "everybody":
        own = world.of_group(of)
        mask = mask & own.reshape(*own.shape, *(1 for _ in columns[own.ndim :]))
    return columns, mask


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.5), percent(1 / 3)
    ('50 %', '33.3333 %')
    """
    return f"{100 * share:.6g} %"


def in_words(of: Group, given: Mapping[str, Sequence[str]] | None = None, outcome: str = "any") -> str:
    """Return whom a mechanism concerns as a phrase.

    >>> in_words("deprived", {"edu_level": ("5", "6"), "age": ("4",)}, "favourable")
    'the deprived with the favourable outcome whose edu_level is 5 or 6 and age is 4'
    >>> in_words("everybody")
    'all people'
    """
    who = "all people" if of == "everybody" else f"the {of}"
    who += "" if outcome == "any" else f" with the {outcome} outcome"
    return f"{who} whose {levels_in_words(given)}" if given else who


def levels_in_words(given: Mapping[str, Sequence[str]]) -> str:
    """Return levels by column as a phrase: ``edu_level is 5 or 6``."""
    return " and ".join(f"{name} is {' or '.join(levels)}" for name, levels in given.items())


def check_somebody(world: World, columns: Sequence[str], mask: NDArray[np.bool_], who: str) -> None:
    """Check that some of the included have levels at which `mask` is true.

    Raises
    ------
    UserError
        When nobody has: the mechanism would change nothing.
    """
    if not mask.any() or (columns and not world.joint(columns)[mask].sum() > 0):
        raise user_error(f"there is nobody {who}, so nothing is changed", "change whom the bias concerns")


def group_problems(groups: Groups, columns: Sequence[Column], of: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each group of `of` that no level of the columns belongs to."""
    levels = {column.name: column.levels for column in columns}
    for i, group in enumerate(("deprived", "favoured")):
        for name, named in groups.items() if group in of else ():
            if not set(named[i]) & set(levels.get(name, ())):
                what = f'no level of "{name}" is {group}'
                yield Problem(what, "name the group's levels in the card, or choose another group in `of`")


def column_problems(
    name: str, columns: Sequence[Column], label: str, groups: Groups, others: tuple[str, str] = ("", "")
) -> Iterator[Problem]:
    """Yield what keeps a mechanism from changing a column: it must be there, and be a feature.

    `others` are the mechanisms that do to the outcome and to the groups what this one does to features.
    """
    usable = [one.name for one in columns if one.name != label and one.name not in groups]
    known = {one.name: one for one in columns}
    if name not in known:
        yield Problem(f'column: there is no column "{name}"', suggest(name, usable))
    elif name == label or name in groups:
        which, other = ("outcome", others[0]) if name == label else ("protected attribute", others[1])
        instead = f"use the mechanism `{other}`, or one of" if other else "use one of"
        yield Problem(f'column: "{name}" is the {which}', f"{instead}: {', '.join(usable)}")
    elif len(known[name].levels) < 2:
        yield Problem(f'column: "{name}" has one level only, so nothing changes', "name another column")


def given_problems(
    given: Mapping[str, Sequence[str]] | None, columns: Sequence[Column], label: str, key: str = "given"
) -> Iterator[Problem]:
    """Yield what is wrong with levels by column."""
    usable = {one.name: one.levels for one in columns if one.name != label}
    if given is not None and not given:
        yield Problem(f"{key}: no column is named", f"name one with its levels, or leave out `{key}`")
    for name, levels in (given or {}).items():
        if name == label:
            yield Problem(f'{key}: "{name}" is the outcome', f"use one of: {', '.join(usable)}")
        elif name not in usable:
            yield Problem(f'{key}: there is no column "{name}"', suggest(name, usable))
        else:
            for level in levels:
                if level not in usable[name]:
                    what = f'{key}: column "{name}" has no level "{level}"'
                    yield Problem(what, suggest(level, usable[name]))
            if not levels:
                yield Problem(f'{key}: no level of "{name}" is named', "name one, or leave the column out")


def label_problems(columns: Sequence[Column], label: str, favourable: str) -> Iterator[Problem]:
    """Yield what keeps a mechanism from looking at the outcome: it has two levels or more."""
    levels = {one.name: one.levels for one in columns}.get(label)
    if levels is None:
        yield Problem(f'there is no column "{label}"', suggest(label, [one.name for one in columns]))
    elif favourable not in levels:
        yield Problem(f'column "{label}" has no level "{favourable}"', suggest(favourable, levels))
    elif len(levels) < 2:
        yield Problem(f'the outcome "{label}" has one level only', "give data with both outcomes")
