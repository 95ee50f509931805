"""The label and the protected attributes of ``fairbench init``: from flags, or asked for at a terminal."""

import shlex
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import typer

from fairbench_cli.base.errors import Problem, UserError, suggest, user_error

if TYPE_CHECKING:  # light when asked for --help
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from fairbench_cli.data.guess.roles import GivenRoles, Group

    Mask = NDArray[np.bool_]

T = TypeVar("T")
Gaps = tuple[str, ...]

LABEL, FAVOURABLE, PROTECTED = "--label", "--favourable", "--protected"


def roles_of(
    cells: "pd.DataFrame", gaps: Gaps, label: str | None, favourable: str | None, protected: list[str]
) -> "GivenRoles":
    """Return label and groups: from the flags, and at a terminal by questions for the rest.

    Raises
    ------
    UserError
        Listing all that is wrong; without a terminal also all that is missing, with likely answers.
    """
    from fairbench_cli.data.guess import roles

    problems: list[Problem] = []
    outcome = _said(problems, partial(_label, cells, gaps, favourable, label)) if label else None
    if favourable and not label:
        problems.append(Problem("--favourable is a value of the outcome", "add --label COLUMN", FAVOURABLE))
    read = [_said(problems, partial(roles.group_of, text, cells, gaps, PROTECTED)) for text in protected]
    groups = [group for group in read if group is not None]
    problems += _clashes(outcome, groups)
    if problems:
        raise UserError(*problems)
    if sys.stdin.isatty():
        return _asked(cells, gaps, outcome, groups)
    problems = _unsaid(cells, gaps, outcome, groups)
    if problems or outcome is None:
        raise UserError(*problems)
    return roles.GivenRoles(outcome, tuple(groups))


def _unsaid(
    cells: "pd.DataFrame", gaps: Gaps, outcome: "Group | None", groups: "list[Group]"
) -> list[Problem]:
    """Return what is missing as problems, with likely answers."""
    from fairbench_cli.data.guess import roles

    problems = []
    good = outcome.members(cells, gaps) if outcome and outcome.levels else None

    def likely(names: list[str]) -> str:
        said = [f"{name}: {roles.shares(cells[name], gaps, good)}" for name in names[: roles.MOST_SHOWN]]
        return "; ".join(said) or "none"

    if outcome is None:
        fix = f"add --label COLUMN; columns of two values: {likely(roles.label_candidates(cells, gaps))}"
        problems.append(Problem("the column of the outcome is missing", fix))
    if outcome is None or not outcome.levels:
        what = "the favourable value of the outcome is missing"
        fix = "add --favourable VALUE"
        if outcome:
            values = roles.shares(cells[outcome.column], gaps)
            fix = f"add {_favourable_flag(cells, gaps, outcome.column)}, or another; it has {values}"
        problems.append(Problem(what, fix))
    if not groups:
        names = roles.protected_candidates(cells, gaps, outcome.column if outcome else None)
        fix = f"add --protected COLUMN=DEPRIVED (of numbers 'COLUMN<25'); likely: {likely(names)}"
        problems.append(Problem("no protected attribute is named", fix))
    for group in groups:
        if not group.levels:
            values = roles.shares(cells[group.column], gaps, good)
            fix = f"add it: {_protected_flag(cells, gaps, group.column, good)}; it has {values}"
            problems.append(Problem(f"the deprived group of {group.column} is missing", fix, PROTECTED))
    return problems


def _protected_flag(cells: "pd.DataFrame", gaps: Gaps, column: str, good: "Mask | None") -> str:
    """Return a flag that names a deprived group: the value with the lowest rate, or the rarest one."""
    from fairbench_cli.data.guess import roles

    known = cells[column][~cells[column].isin(gaps)]
    if roles.is_numbers(known) and known.nunique() > roles.MOST_SHOWN:
        return f"--protected {shlex.quote(f'{column}<{known.astype(float).median():g}')}"
    values = list(known.value_counts().index[::-1])
    if good is not None:
        values = sorted(values, key=lambda value: float(good[(cells[column] == value).to_numpy()].mean()))
    return f"--protected {shlex.quote(f'{column}={values[0]}')}"


def _favourable_flag(cells: "pd.DataFrame", gaps: Gaps, column: str) -> str:
    from fairbench_cli.data.guess import roles

    known = cells[column][~cells[column].isin(gaps)]
    guess = roles.favourable_guess(known.unique()) or str(known.value_counts().index[-1])
    if roles.is_numbers(known) and known.nunique() > roles.MOST_SHOWN:
        guess = f">={known.astype(float).median():g}"
    return f"--favourable {shlex.quote(guess)}"


def _clashes(outcome: "Group | None", groups: "list[Group]") -> list[Problem]:
    """Return the columns that are named for two things."""
    names = [group.column for group in groups]
    found = []
    for i, name in enumerate(names):
        if outcome and name == outcome.column:
            what = f"{name} cannot be the outcome and protected"
            found.append(Problem(what, "name another column", PROTECTED))
        if name in names[:i]:
            fix = f"name all its deprived values at once: {name}=a,b"
            found.append(Problem(f"{name} is named twice", fix, PROTECTED))
    return found


def _label(cells: "pd.DataFrame", gaps: Gaps, favourable: str | None, column: str) -> "Group":
    """Return the outcome's column and its favourable value, which may still be missing."""
    from fairbench_cli.data.guess import roles

    column = column.strip()
    if column not in cells.columns:
        raise user_error(f'no column is called "{column}"', suggest(column, cells.columns), LABEL)
    if cells[column][~cells[column].isin(gaps)].nunique() < 2:
        raise user_error(f'column "{column}" has one value only', "name another column", LABEL)
    if favourable is None:
        return roles.Group(column)
    group = roles.members_of(favourable, column, cells, gaps, FAVOURABLE)
    if len(group.levels) > 1:
        fix = "name one; merge others into it with recode in the card"
        raise user_error("more than one value is named", fix, FAVOURABLE)
    return group


def _asked(cells: "pd.DataFrame", gaps: Gaps, outcome: "Group | None", groups: "list[Group]") -> "GivenRoles":
    """Return label and groups; what is missing is asked for."""
    from fairbench_cli.cli.console import talk
    from fairbench_cli.data.guess import roles

    if outcome is None:
        known = roles.label_candidates(cells, gaps)
        question = "Which column is the outcome?"
        outcome = _ask(question, partial(_label, cells, gaps, None), known[0] if known else None)
    column = outcome.column
    if not outcome.levels:
        talk(f"{column}: {roles.shares(cells[column], gaps)}")
        guess = roles.favourable_guess(cells[column].unique())
        question = "Which value is favourable? (of numbers a side, such as >=600)"
        outcome = _ask(question, lambda text: _label(cells, gaps, text, column), guess)
    good = outcome.members(cells, gaps)
    if not groups:
        likely = roles.protected_candidates(cells, gaps, column)
        talk(f"Likely protected attributes: {', '.join(likely[: roles.MOST_SHOWN]) or 'none'}")
        question = "Which columns are protected? (separated by commas)"
        groups = _ask(question, partial(_columns, cells, gaps, outcome), likely[0] if likely else None)
    return roles.GivenRoles(outcome, tuple(_deprived(cells, gaps, group, good) for group in groups))


def _columns(cells: "pd.DataFrame", gaps: Gaps, outcome: "Group", text: str) -> "list[Group]":
    """Return the protected attributes that an answer names; their groups may still be missing."""
    from fairbench_cli.data.guess import roles

    found = [roles.group_of(one, cells, gaps, "") for one in text.split(",") if one.strip()]
    problems = _clashes(outcome, found)
    if problems or not found:
        raise UserError(*problems or [Problem("no column is named", "name at least one")])
    return found


def _deprived(cells: "pd.DataFrame", gaps: Gaps, group: "Group", good: "Mask") -> "Group":
    """Return a protected attribute with its deprived group, asked for if it is missing."""
    from fairbench_cli.cli.console import talk
    from fairbench_cli.data.guess import roles

    name = group.column
    if group.levels:
        return group
    talk(f"{name}: {roles.shares(cells[name], gaps, good)}")
    question = f"Who is deprived by {name}? (values separated by commas; of numbers a side, such as <25)"
    return _ask(question, lambda text: roles.members_of(text, name, cells, gaps, ""), None)


def _said(problems: list[Problem], read: Callable[[], T]) -> T | None:
    """Return what is read; a mistake is added to `problems`."""
    try:
        return read()
    except UserError as error:
        problems += error.problems
        return None


def _ask(question: str, read: Callable[[str], T], default: str | None) -> T:
    """Return the answer to a question, asked until it can be read."""
    from fairbench_cli.cli.console import talk

    while True:
        answer = typer.prompt(question, default=default, err=True)
        try:
            return read(str(answer))
        except UserError as error:
            talk(str(error))
