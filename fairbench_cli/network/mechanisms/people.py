"""Whom a mechanism concerns, and what it moves a column towards; with the mistakes that both allow."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fairbench_cli.base.errors import Problem, suggest, user_error
from fairbench_cli.data.column_card import Levels
from fairbench_cli.data.table import Column, Floats
from fairbench_cli.network.world import DataRoles, World

Group = Literal["deprived", "favoured", "everybody"]
Given = dict[str, Levels]
"""Levels by column, of which a person has one in every column."""
Strength = Annotated[float, Field(ge=0, le=1)]
MARGINAL = "marginal"
LOWER = "lower"
SHIFTED = "shifted"
NUMBER = r"-?[0-9]+(\.[0-9]+)?"


def concerned(
    world: World,
    group: Group,
    condition: Mapping[str, Sequence[str]] | None = None,
    extra: Collection[str] = (),
) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Return the columns that decide whom a mechanism concerns, and at which of their levels it does.

    The columns are those of the record as it is so far.

    Parameters
    ----------
    world : World
        The world so far.
    group : {"deprived", "favoured", "everybody"}
        The group.
    condition : mapping of str to levels, optional
        Levels by column, of which somebody has one in every column.
    extra : collection of str
        Columns that have an axis too.

    Returns
    -------
    columns : tuple of str
        Those of the groups first; none where all people are concerned.
    mask : bool array
        With an axis for each column.
    """
    condition = condition or {}
    if group == "everybody":
        columns = tuple(dict.fromkeys(chain(condition, extra)))
        return columns, world.having(columns, condition)
    columns = tuple(dict.fromkeys(chain(world.groups, condition, extra)))
    in_group = world.of_group(group)
    # The groups' columns come first; the mask has an axis of length 1 for each of the others.
    in_group = np.expand_dims(in_group, tuple(range(in_group.ndim, len(columns))))
    return columns, world.having(columns, condition) & in_group


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.5), percent(1 / 3)
    ('50 %', '33.3333 %')
    """
    return f"{100 * share:.6g} %"


def in_words(group: Group, condition: Mapping[str, Sequence[str]] | None = None, outcome: str = "any") -> str:
    """Return whom a mechanism concerns as a phrase.

    >>> in_words("deprived", {"edu_level": ("5", "6"), "age": ("4",)}, "favourable")
    'the deprived with the favourable outcome whose edu_level is 5 or 6 and age is 4'
    >>> in_words("everybody")
    'all people'
    """
    if group == "everybody":
        who = "all people"
    else:
        who = f"the {group}"
    if outcome != "any":
        who += f" with the {outcome} outcome"
    if condition:
        return f"{who} whose {levels_in_words(condition)}"
    return who


def levels_in_words(condition: Mapping[str, Sequence[str]]) -> str:
    """Return levels by column as a phrase: ``edu_level is 5 or 6``."""
    return " and ".join(f"{name} is {' or '.join(levels)}" for name, levels in condition.items())


def check_somebody(world: World, columns: Sequence[str], mask: NDArray[np.bool_], who: str) -> None:
    """Check that some of the included have levels at which `mask` is true.

    Raises
    ------
    UserError
        When nobody has: the mechanism would change nothing.
    """
    if not mask.any() or (columns and not world.joint(columns)[mask].sum() > 0):
        raise user_error(f"there is nobody {who}, so nothing is changed", "change whom the bias concerns")


def group_problems(data: DataRoles, groups: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each of some groups that no level of the columns belongs to."""
    for i, group in enumerate(("deprived", "favoured")):
        if group not in groups:
            continue
        for name, group_levels in data.groups.items():
            if not set(group_levels[i]) & set(data.levels.get(name, ())):
                problem = f'no level of "{name}" is {group}'
                yield Problem(problem, "name the group's levels in the card, or choose another group in `of`")


def column_problems(
    name: str, data: DataRoles, alternatives: tuple[str, str] = ("", "")
) -> Iterator[Problem]:
    """Yield what keeps a mechanism from changing a column: it must be there, and be a feature.

    `alternatives` are the mechanisms that do to the outcome and to the groups what this one does to features.
    """
    usable = [column for column in data.levels if column != data.label and column not in data.groups]
    if name not in data.levels:
        yield Problem(f'column: there is no column "{name}"', suggest(name, usable))
    elif name not in usable:
        if name == data.label:
            role = "outcome"
            alternative = alternatives[0]
        else:
            role = "protected attribute"
            alternative = alternatives[1]
        instead = "use one of"
        if alternative:
            instead = f"use the mechanism `{alternative}`, or one of"
        yield Problem(f'column: "{name}" is the {role}', f"{instead}: {', '.join(usable)}")
    elif len(data.levels[name]) < 2:
        yield Problem(f'column: "{name}" has one level only, so nothing changes', "name another column")


def given_problems(
    condition: Mapping[str, Sequence[str]] | None, data: DataRoles, key: str = "given"
) -> Iterator[Problem]:
    """Yield what is wrong with levels by column."""
    usable = {name: levels for name, levels in data.levels.items() if name != data.label}
    if condition is not None and not condition:
        yield Problem(f"{key}: no column is named", f"name one with its levels, or leave out `{key}`")
    for name, levels in (condition or {}).items():
        if name == data.label:
            yield Problem(f'{key}: "{name}" is the outcome', f"use one of: {', '.join(usable)}")
        elif name not in usable:
            yield Problem(f'{key}: there is no column "{name}"', suggest(name, usable))
        elif not levels:
            yield Problem(f'{key}: no level of "{name}" is named', "name one, or leave the column out")
        else:
            for level in levels:
                if level not in usable[name]:
                    problem = f'{key}: column "{name}" has no level "{level}"'
                    yield Problem(problem, suggest(level, usable[name]))


def label_problems(data: DataRoles) -> Iterator[Problem]:
    """Yield what keeps a mechanism from looking at the outcome: it has two levels or more."""
    levels = data.levels.get(data.label)
    if levels is None:
        yield Problem(f'there is no column "{data.label}"', suggest(data.label, data.levels))
    elif data.favourable not in levels:
        problem = f'column "{data.label}" has no level "{data.favourable}"'
        yield Problem(problem, suggest(data.favourable, levels))
    elif len(levels) < 2:
        yield Problem(f'the outcome "{data.label}" has one level only', "give data with both outcomes")


def order_of(column: Column, *, is_ordered: bool = False) -> list[int] | None:
    """Return the codes of a column's levels from the lowest to the highest; None where they have no order.

    Bins and numbers rise as they are declared. Levels of a nominal column that are all written as numbers may
    be codes: they have their order where `is_ordered` says so.

    >>> level = Column("level", ("2", "10", "1"))
    >>> order_of(level), order_of(level, is_ordered=True), order_of(Column("town", ("a", "b")))
    (None, [2, 0, 1], None)
    """
    levels = column.levels
    if column.kind != "nominal":
        return list(range(len(levels)))
    if not (is_ordered and all(re.fullmatch(NUMBER, level) for level in levels)):
        return None
    return sorted(range(len(levels)), key=lambda code: float(levels[code]))


def towards_problems(
    towards: str, name: str, data: DataRoles, extra: Sequence[str] = (), *, is_ordered: bool = False
) -> Iterator[Problem]:
    """Yield what is wrong with what a column is moved towards; `extra` are words that are right too."""
    (column,) = [column for column in data.columns if column.name == name]
    choices = [MARGINAL, LOWER, *extra, *column.levels]
    order = order_of(column, is_ordered=is_ordered)
    needs_order = towards in (LOWER, SHIFTED) and towards in choices
    if is_ordered and not (needs_order and column.kind == "nominal"):
        problem = "ordered says of a nominal column that one of its levels may be lower than another"
        yield Problem(problem, "leave ordered out, or write towards: lower")
    elif needs_order and order is None and order_of(column, is_ordered=True) is not None:
        problem = f'towards: the levels of "{name}" may be codes, and nothing says that they have an order'
        fix = f"write ordered: true if they rise as numbers, or name a level: {', '.join(column.levels)}"
        yield Problem(problem, fix)
    elif needs_order and order is None:
        problem = f'towards: the levels of "{name}" have no order, so none is lower'
        yield Problem(problem, f"name a level: {', '.join(column.levels)}")
    elif towards not in choices:
        yield Problem(f'towards: column "{name}" has no level "{towards}"', suggest(towards, choices))


def goal(towards: str) -> str:
    """Return the phrase for what a column is moved towards.

    >>> goal("marginal"), goal("lower"), goal("5")
    ("a draw from everybody's", 'the next lower level', '5')
    """
    return {MARGINAL: "a draw from everybody's", LOWER: "the next lower level"}.get(towards, towards)


def numbers_of(column: Column, *, is_ordered: bool = False) -> Floats | None:
    """Return the number that each level stands for, shape (levels,); None where levels have no order."""
    if order_of(column, is_ordered=is_ordered) is None:
        return None
    if column.kind != "nominal":
        return np.array(column.values, dtype=np.float64)
    return np.array([float(level) for level in column.levels])


def shifted(column: Column, shift: float, spread: float, *, is_ordered: bool = False) -> Floats:
    """Return P(level of number − shift + a normal error | level), an axis for each; the level is the nearest.

    Parameters
    ----------
    column : Column
        A column whose levels have an order.
    shift, spread : float
        How much lower, and the standard deviation of the error.
    is_ordered : bool
        Whether levels of a nominal column that are written as numbers have their order.

    >>> shifted(Column("level", ("1", "2", "3")), 1.0, 0.0, is_ordered=True).tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    numbers = numbers_of(column, is_ordered=is_ordered)
    if numbers is None:
        raise ValueError(f"the levels of {column.name} have no order")
    order = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[order]
    borders = (sorted_numbers[:-1] + sorted_numbers[1:]) / 2
    means = numbers - shift
    table = np.zeros((len(numbers), len(numbers)))
    if spread == 0:
        ranks = np.searchsorted(borders, means, side="right")
        table[np.arange(len(numbers)), order[ranks]] = 1.0
        return table
    from scipy.special import ndtr  # nothing else of a world needs scipy

    below = ndtr((borders - means[:, np.newaxis]) / spread)
    table[:, order] = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return table


def moves(column: Column, towards: str, marginal: Floats, *, is_ordered: bool = False) -> Floats:
    """Return P(new level | level) of a column that is moved with certainty, an axis for each.

    Parameters
    ----------
    column : Column
        The column.
    towards : str
        ``marginal``: a draw from the column's marginal. ``lower``: the next lower level, if there is one.
        Else a level.
    marginal : float64 array, shape (levels,)
        The column's marginal.
    is_ordered : bool
        Whether levels of a nominal column that are written as numbers have their order.
    """
    n_levels = len(column.levels)
    table = np.zeros((n_levels, n_levels))
    if towards == MARGINAL:
        table[:] = marginal
    elif towards == LOWER:
        order = order_of(column, is_ordered=is_ordered) or []
        for rank, code in enumerate(order):
            table[code, order[max(rank - 1, 0)]] = 1  # below the lowest there is none: it stays
    else:
        table[:, column.levels.index(towards)] = 1
    return table
