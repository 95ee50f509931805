"""The label and the protected attributes of a table without a card, as a person names them."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import Problem, UserError, suggest, user_error
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.column_card import BinsCard
from fairbench_cli.data.columns import Cells, as_numbers, bin_numbers, edge_word, is_number
from fairbench_cli.data.guess.cells import Mask, RawCells
from fairbench_cli.data.recognise import named_like_protected, words_of

LABEL = "--label"
FAVOURABLE = "--favourable"
PROTECTED = "--protected"

_CUT = re.compile(r"(<=|>=|<|>)\s*(\S+)")
# What a word of a column's name begins with, or is ($).
_LABELS = re.compile(
    r"label|target|class|outcome|approv|accept|grant|hired|default|y$|income|result|decision|response|recid|admit"
)
_GOOD = ("yes", "true", "1", "good", "approved", "accepted", "granted", "hired", "pass", "positive", "y", "+")
MOST_SHOWN = 6  # values or columns in a message


@dataclass(frozen=True)
class Group:
    """The levels of a column that a person means.

    Parameters
    ----------
    column : str
        Its name.
    levels : tuple of str
        Its values, or of numbers that are cut one side; empty where nothing has been said yet.
    cut : BinsCard or None
        The two sides of its numbers.
    """

    column: str
    levels: tuple[str, ...] = ()
    cut: BinsCard | None = None

    def known(self, table: RawCells) -> Cells:
        """Return the column's levels in the rows in which it has a value."""
        cells = table.known(self.column)
        if self.cut is None:
            return cells
        numbers = as_numbers(self.column, cells, whole=False)
        sides, codes = bin_numbers(self.column, numbers, self.cut, whole=False)
        return pd.Series(np.array(sides.levels, dtype=object)[codes], cells.index)

    def members(self, table: RawCells) -> Mask:
        """Return which rows belong to it; those with a missing cell do not."""
        known = self.known(table)
        return table.cells.index.isin(known.index[known.isin(self.levels)])


@dataclass(frozen=True)
class GivenRoles:
    """Label and protected attributes: the favourable outcome, and each attribute's deprived group."""

    label: Group
    attributes: tuple[Group, ...]


def group_of(text: str, table: RawCells, flag: str) -> Group:
    """Return the group that ``sex``, ``sex=f``, ``race=a,b`` or ``age<25`` stands for.

    Raises
    ------
    UserError
        When there is no such column or value, or it would be everybody or nobody.

    >>> table = RawCells(pd.DataFrame({"age": ["20", "30"], "sex": ["f", "m"]}), ())
    >>> [group_of(text, table, "--protected").levels for text in ("age<25", "sex=f", "sex")]
    [('<25',), ('f',), ()]
    """
    names = list(table.cells.columns)
    text = text.strip()
    begun = [name for name in names if text.startswith(name)]
    known = [name for name in begun if re.match(r"\s*([=<>]|$)", text.removeprefix(name))]
    if not known:
        stem = re.split(r"[=<>]", text)[0].strip()
        raise user_error(f'no column is called "{stem}"', suggest(stem, names), flag)
    column = max(known, key=len)
    rest = text.removeprefix(column).strip()
    if not rest:
        return Group(column)
    return members_of(rest.removeprefix("="), column, table, flag)


def members_of(text: str, column: str, table: RawCells, flag: str) -> Group:
    """Return the group that values, listed with commas, or a side such as ``<25`` make of a column.

    Raises
    ------
    UserError
        As `group_of`.
    """
    known = table.known(column)
    every = set(known)
    whole = text.strip()
    if whole not in every and (match := _CUT.fullmatch(whole)):
        return _side(column, match[1], match[2], table, flag)
    values = (whole,) if whole in every else tuple(dict.fromkeys(one.strip() for one in text.split(",")))
    for value in values:
        if value not in every:
            fix = suggest(value, every)
            if _is_quantity(known):
                example = shlex.quote(f"{column}<{_middle(known)}")
                fix = f"it holds numbers: name a side of one, such as {example}"
            raise user_error(f'column "{column}" has no value "{value}"', fix, flag)
    if set(values) == every:
        raise user_error(f'that is every value of "{column}"', "name fewer values", flag)
    return Group(column, values)


def _side(column: str, sign: str, number: str, table: RawCells, flag: str) -> Group:
    known = table.known(column)
    example = next((value for value in known.unique() if not is_number(value)), None)
    if example is not None:
        what = f'column "{column}" holds text such as "{example}", not numbers'
        if flag == "--protected":
            named = f"{column}={example}"
        else:
            named = example
        raise user_error(what, f"name a value, such as {shlex.quote(named)}", flag)
    if not is_number(number):
        fix = f"write one, such as {column}{sign}{_middle(known)}"
        raise user_error(f'"{number}" is not a number', fix, flag)
    cut = BinsCard(edges=(float(number),), closed="left" if sign in ("<", ">=") else "right")
    group = Group(column, (f"{sign}{edge_word(float(number))}",), cut)
    there = int(group.members(table).sum())
    if there in (0, len(known)):
        numbers = known.to_numpy(dtype=np.float64)
        what = f"{'every' if there else 'no'} row has {column}{group.levels[0]}"
        raise user_error(what, f"it goes from {numbers.min():g} to {numbers.max():g}", flag)
    return group


def _is_quantity(known: "pd.Series[str]") -> bool:
    """Return whether cells are numbers, and more than one would list."""
    return known.nunique() > MOST_SHOWN and all(map(is_number, set(known)))


def _middle(known: "pd.Series[str]") -> str:
    return f"{float(np.median(known.astype(np.float64))):.4g}"


def label_candidates(table: RawCells) -> list[str]:
    """Return the columns that may be the outcome: those of two values, the likeliest names first."""
    two = [name for name in table.cells.columns if table.known(name).nunique() == 2]
    last = table.cells.columns[-1]

    def rank(name: str) -> tuple[bool, bool]:
        return not any(map(_LABELS.match, words_of(name))), name != last

    return sorted(two, key=rank)


def protected_candidates(table: RawCells, label: str | None) -> list[str]:
    """Return the columns that may be protected attributes: by name, otherwise those with few values."""
    names = [name for name in table.cells.columns if name != label]
    named = [name for name in names if named_like_protected(name)]
    few = [name for name in names if 2 <= table.known(name).nunique() <= MOST_SHOWN]
    return named or few


def favourable_guess(values: Iterable[str]) -> str | None:
    """Return the value that is probably the favourable one, if any looks like it.

    >>> favourable_guess(["no", "Yes"]), favourable_guess(["a", "b"])
    ('Yes', None)
    """
    lower = {value.lower(): value for value in values}
    return next((lower[good] for good in _GOOD if good in lower), None)


def shares(table: RawCells, name: str, favourable: Mask | None = None) -> str:
    """Return the values of a column with their shares, or with the rates of the favourable outcome.

    >>> shares(RawCells(pd.DataFrame({"sex": ["f", "m", "f", ""]}), ("",)), "sex")
    'f (66.7 %), m (33.3 %)'
    """
    known = table.known(name)
    if _is_quantity(known):
        numbers = known.astype(np.float64)
        return f"numbers from {numbers.min():g} to {numbers.max():g}"
    counts = known.value_counts()
    said = []
    for value, count in counts.items():
        words = format_percent(count / len(known))
        if favourable is not None:
            rate = favourable[(table.cells[name] == value).to_numpy()].mean()
            words += f", {format_percent(rate)} favourable"
        said.append(f"{value} ({words})")
    if len(said) > MOST_SHOWN:
        more = f", … {len(said) - MOST_SHOWN} more"
    else:
        more = ""
    return ", ".join(said[:MOST_SHOWN]) + more


def roles_given(
    table: RawCells, label: str | None, favourable: str | None, protected: Iterable[str]
) -> tuple[Group | None, list[Group]]:
    """Return the label and the protected attributes that flags name; what they do not say is left open.

    Raises
    ------
    UserError
        Listing all that is wrong.
    """
    problems: list[Problem] = []

    def read(reader: Callable[[], Group]) -> Group | None:
        try:
            return reader()
        except UserError as error:
            problems.extend(error.problems)
            return None

    if label:
        outcome = read(partial(label_group, table, favourable, label))
    else:
        outcome = None
    if favourable and not label:
        problems.append(Problem("--favourable is a value of the outcome", "add --label COLUMN", FAVOURABLE))
    named = [read(partial(group_of, text, table, PROTECTED)) for text in protected]
    groups = [group for group in named if group is not None]
    problems += clashes(outcome, groups)
    if problems:
        raise UserError(*problems)
    return outcome, groups


def left_open(table: RawCells, outcome: Group | None, groups: Sequence[Group]) -> list[Problem]:
    """Return the problems of what has not been said of label and groups, with likely answers."""
    problems = []
    if outcome and outcome.levels:
        good = outcome.members(table)
    else:
        good = None

    def likely(names: list[str]) -> str:
        said = [f"{name}: {shares(table, name, good)}" for name in names[:MOST_SHOWN]]
        return "; ".join(said) or "none"

    if outcome is None:
        fix = f"add --label COLUMN; columns of two values: {likely(label_candidates(table))}"
        problems.append(Problem("the column of the outcome is missing", fix))
    if outcome is None or not outcome.levels:
        what = "the favourable value of the outcome is missing"
        fix = "add --favourable VALUE"
        if outcome:
            values = shares(table, outcome.column)
            fix = f"add {_favourable_flag(table, outcome.column)}, or another; it has {values}"
        problems.append(Problem(what, fix))
    if not groups:
        names = protected_candidates(table, outcome.column if outcome else None)
        fix = f"add --protected COLUMN=DEPRIVED (of numbers 'COLUMN<25'); likely: {likely(names)}"
        problems.append(Problem("no protected attribute is named", fix))
    for group in groups:
        if not group.levels:
            values = shares(table, group.column, good)
            fix = f"add it: {_protected_flag(table, group.column, good)}; it has {values}"
            problems.append(Problem(f"the deprived group of {group.column} is missing", fix, PROTECTED))
    return problems


def _protected_flag(table: RawCells, column: str, good: Mask | None) -> str:
    """Return a flag that names a deprived group: the value with the lowest rate, or the rarest one."""
    known = table.known(column)
    if _is_quantity(known):
        return f"--protected {shlex.quote(f'{column}<{known.astype(float).median():g}')}"
    values = list(known.value_counts().index[::-1])
    if good is not None:
        own = table.cells[column]
        values = sorted(values, key=lambda value: float(good[(own == value).to_numpy()].mean()))
    return f"--protected {shlex.quote(f'{column}={values[0]}')}"


def _favourable_flag(table: RawCells, column: str) -> str:
    known = table.known(column)
    guess = favourable_guess(known.unique()) or str(known.value_counts().index[-1])
    if _is_quantity(known):
        guess = f">={known.astype(float).median():g}"
    return f"--favourable {shlex.quote(guess)}"


def clashes(outcome: Group | None, groups: Sequence[Group]) -> list[Problem]:
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


def label_group(table: RawCells, favourable: str | None, column: str) -> Group:
    """Return the outcome's column and its favourable value, which may still be missing."""
    column = column.strip()
    if column not in table.cells.columns:
        raise user_error(f'no column is called "{column}"', suggest(column, table.cells.columns), LABEL)
    if table.known(column).nunique() < 2:
        raise user_error(f'column "{column}" has one value only', "name another column", LABEL)
    if favourable is None:
        return Group(column)
    group = members_of(favourable, column, table, FAVOURABLE)
    if len(group.levels) > 1:
        fix = "name one; merge others into it with recode in the card"
        raise user_error("more than one value is named", fix, FAVOURABLE)
    return group
