"""The label and the protected attributes of a table without a card, as a person names them."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from fairbench_cli.base.errors import Problem, UserError, refuse, suggest, user_error
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.data.column_card import BinsCard
from fairbench_cli.data.columns import Cells, bin_numbers, format_edge, is_number, parse_numbers
from fairbench_cli.data.guess.read_raw import Mask, RawCells
from fairbench_cli.data.recognise import guess_favourable, named_like_labels, named_like_protected

LABEL = "--label"
FAVOURABLE = "--favourable"
PROTECTED = "--protected"

_CUT = re.compile(r"(<=|>=|<|>)\s*(\S+)")
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
    called, others_called : str
        What people call those in the group, such as women, and the others; of the label, what people with the
        favourable outcome are, such as hired. Empty where nobody has said so.
    """

    column: str
    levels: tuple[str, ...] = ()
    cut: BinsCard | None = None
    called: str = ""
    others_called: str = ""

    def present_levels(self, table: RawCells) -> Cells:
        """Return the column's levels in the rows in which it has a value."""
        cells = table.present_cells(self.column)
        if self.cut is None:
            return cells
        numbers = parse_numbers(self.column, cells, whole=False)
        sides, codes = bin_numbers(self.column, numbers, self.cut, whole=False)
        return pd.Series(np.array(sides.levels, dtype=object)[codes], cells.index)

    def other_levels(self, table: RawCells) -> tuple[str, ...]:
        """Return the column's other levels, the most frequent first."""
        counts = self.present_levels(table).value_counts()
        return tuple(str(level) for level in counts.index if level not in self.levels)

    def members(self, table: RawCells) -> Mask:
        """Return which rows belong to it; those with a missing cell do not."""
        levels = self.present_levels(table)
        return table.cells.index.isin(levels.index[levels.isin(self.levels)])


SELECTED = "selected"  # what people with the favourable outcome are, unless the card has a word
_PEOPLE = {"f": "women", "female": "women", "woman": "women", "w": "women", "women": "women"}
_PEOPLE |= {"m": "men", "male": "men", "man": "men", "men": "men"}
"""What people of a sex are called, by how tables write it."""


def guess_called(levels: Sequence[str]) -> str:
    """Return the likely word for people of some levels: of a sex women or men, else the levels.

    >>> guess_called(["Female"]), guess_called(["b", "o"])
    ('women', 'b or o')
    """
    words = " or ".join(levels)
    return _PEOPLE.get(words.lower(), words)


@dataclass(frozen=True)
class GivenRoles:
    """Label and protected attributes: the favourable outcome, and each attribute's deprived group."""

    label: Group
    attributes: tuple[Group, ...]


def parse_group(text: str, table: RawCells, flag: str) -> Group:
    """Return the group that ``sex``, ``sex=f``, ``race=a,b`` or ``age<25`` stands for.

    Raises
    ------
    UserError
        When there is no such column or value, or it would be everybody or nobody.

    >>> table = RawCells(pd.DataFrame({"age": ["20", "30"], "sex": ["f", "m"]}), ())
    >>> [parse_group(text, table, "--protected").levels for text in ("age<25", "sex=f", "sex")]
    [('<25',), ('f',), ()]
    """
    names = list(table.cells.columns)
    text = text.strip()
    begun = [name for name in names if text.startswith(name)]
    matches = [name for name in begun if re.match(r"\s*([=<>]|$)", text.removeprefix(name))]
    if not matches:
        stem = re.split(r"[=<>]", text)[0].strip()
        raise user_error(f'no column is called "{stem}"', suggest(stem, names), flag)
    column = max(matches, key=len)
    suffix = text.removeprefix(column).strip()
    if not suffix:
        return Group(column)
    return parse_levels(suffix.removeprefix("="), column, table, flag)


def parse_levels(text: str, column: str, table: RawCells, flag: str) -> Group:
    """Return the group that values, listed with commas, or a side such as ``<25`` make of a column.

    Raises
    ------
    UserError
        As `parse_group`.
    """
    present = table.present_cells(column)
    all_values = set(present)
    stripped = text.strip()
    if stripped not in all_values and (match := _CUT.fullmatch(stripped)):
        return _parse_side(column, match[1], match[2], table, flag)
    values = (
        (stripped,)
        if stripped in all_values
        else tuple(dict.fromkeys(part_text.strip() for part_text in text.split(",")))
    )
    for value in values:
        if value not in all_values:
            fix = suggest(value, all_values)
            if _is_quantity(present):
                example = shlex.quote(f"{column}<{_format_middle(present)}")
                fix = f"it holds numbers: name a side of one, such as {example}"
            raise user_error(f'column "{column}" has no value "{value}"', fix, flag)
    if set(values) == all_values:
        raise user_error(f'that is every value of "{column}"', "name fewer values", flag)
    return Group(column, values)


def _parse_side(column: str, sign: str, number: str, table: RawCells, flag: str) -> Group:
    present = table.present_cells(column)
    example = next((value for value in present.unique() if not is_number(value)), None)
    if example is not None:
        problem = f'column "{column}" holds text such as "{example}", not numbers'
        if flag == "--protected":
            example_flag = f"{column}={example}"
        else:
            example_flag = example
        raise user_error(problem, f"name a value, such as {shlex.quote(example_flag)}", flag)
    if not is_number(number):
        fix = f"write one, such as {column}{sign}{_format_middle(present)}"
        raise user_error(f'"{number}" is not a number', fix, flag)
    cut = BinsCard(edges=(float(number),), closed="left" if sign in ("<", ">=") else "right")
    group = Group(column, (f"{sign}{format_edge(float(number))}",), cut)
    n_members = int(group.members(table).sum())
    if n_members in (0, len(present)):
        numbers = present.to_numpy(dtype=np.float64)
        problem = f"{'every' if n_members else 'no'} row has {column}{group.levels[0]}"
        raise user_error(problem, f"it goes from {numbers.min():g} to {numbers.max():g}", flag)
    return group


def _is_quantity(present: "pd.Series[str]") -> bool:
    """Return whether cells are numbers, and more than one would list."""
    return present.nunique() > MOST_SHOWN and all(map(is_number, set(present)))


def _format_middle(present: "pd.Series[str]") -> str:
    """Return a number of which some cells are below and some are not: the median, where it is one.

    >>> [_format_middle(pd.Series(cells)) for cells in (["1", "2", "4"], ["0"] * 9 + ["7"])]
    ['2', '7']
    """
    numbers = np.sort(present.astype(np.float64))
    candidates = (f"{np.median(numbers):g}", format_edge(np.median(numbers)))
    between = [text for text in candidates if numbers[0] < float(text) <= numbers[-1]]
    return (between or [format_edge(numbers[numbers > numbers[0]][0])])[0]


def label_candidates(table: RawCells) -> list[str]:
    """Return the columns that may be the outcome: those of two values, the likeliest names first."""
    two = [name for name in table.cells.columns if table.present_cells(name).nunique() == 2]
    last_column = table.cells.columns[-1]
    return sorted(two, key=lambda name: (not named_like_labels(name), name != last_column))


def protected_candidates(table: RawCells, label: str | None) -> list[str]:
    """Return the columns that may be protected attributes: by name, otherwise those with few values."""
    names = [name for name in table.cells.columns if name != label]
    likely = [name for name in names if named_like_protected(name)]
    with_few_levels = [name for name in names if 2 <= table.present_cells(name).nunique() <= MOST_SHOWN]
    return likely or with_few_levels


def describe_shares(table: RawCells, name: str, favourable: Mask | None = None) -> str:
    """Return the values of a column with their shares, or with the rates of the favourable outcome.

    >>> describe_shares(RawCells(pd.DataFrame({"sex": ["f", "m", "f", ""]}), ("",)), "sex")
    'f (66.7 %), m (33.3 %)'
    """
    present = table.present_cells(name)
    if _is_quantity(present):
        numbers = present.astype(np.float64)
        return f"numbers from {numbers.min():g} to {numbers.max():g}"
    counts = present.value_counts()
    clauses = []
    for value, count in counts.items():
        clause = format_percent(count / len(present))
        if favourable is not None:
            rate = favourable[(table.cells[name] == value).to_numpy()].mean()
            clause += f", {format_percent(rate)} favourable"
        clauses.append(f"{value} ({clause})")
    suffix = ""
    if len(clauses) > MOST_SHOWN:
        suffix = f", … {len(clauses) - MOST_SHOWN} more"
    return ", ".join(clauses[:MOST_SHOWN]) + suffix


def parse_roles(
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

    outcome = None
    if label:
        outcome = read(partial(parse_label, table, favourable, label))
    if favourable and not label:
        problems.append(Problem("--favourable is a value of the outcome", "add --label COLUMN", FAVOURABLE))
    requested = [read(partial(parse_group, text, table, PROTECTED)) for text in protected]
    groups = [group for group in requested if group is not None]
    problems += find_clashes(outcome, groups)
    refuse(problems)
    return outcome, groups


def find_open_roles(table: RawCells, outcome: Group | None, groups: Sequence[Group]) -> list[Problem]:
    """Return the problems of what has not been said of label and groups, with likely answers."""
    problems = []
    good = None
    if outcome and outcome.levels:
        good = outcome.members(table)

    def likely(names: list[str]) -> str:
        clauses = [f"{name}: {describe_shares(table, name, good)}" for name in names[:MOST_SHOWN]]
        return "; ".join(clauses) or "none"

    if outcome is None:
        fix = f"add --label COLUMN; columns of two values: {likely(label_candidates(table))}"
        problems.append(Problem("the column of the outcome is missing", fix))
    if outcome is None or not outcome.levels:
        problem = "the favourable value of the outcome is missing"
        fix = "add --favourable VALUE"
        if outcome:
            values = describe_shares(table, outcome.column)
            fix = f"add {_favourable_flag(table, outcome.column)}, or another; it has {values}"
        problems.append(Problem(problem, fix))
    if not groups:
        names = protected_candidates(table, outcome.column if outcome else None)
        fix = f"add --protected COLUMN=DEPRIVED (of numbers 'COLUMN<25'); likely: {likely(names)}"
        problems.append(Problem("no protected attribute is named", fix))
    for group in groups:
        if not group.levels:
            values = describe_shares(table, group.column, good)
            fix = f"add it: {_protected_flag(table, group.column, good)}; it has {values}"
            problems.append(Problem(f"the deprived group of {group.column} is missing", fix, PROTECTED))
    return problems


def _protected_flag(table: RawCells, column: str, good: Mask | None) -> str:
    """Return a flag that names a deprived group: the value with the lowest rate, or the rarest one."""
    present = table.present_cells(column)
    if _is_quantity(present):
        return f"--protected {shlex.quote(f'{column}<{_format_middle(present)}')}"
    values = list(present.value_counts().index[::-1])
    if good is not None:
        column_cells = table.cells[column]
        values = sorted(values, key=lambda value: float(good[(column_cells == value).to_numpy()].mean()))
    return f"--protected {shlex.quote(f'{column}={values[0]}')}"


def _favourable_flag(table: RawCells, column: str) -> str:
    present = table.present_cells(column)
    guess = guess_favourable(present.unique()) or str(present.value_counts().index[-1])
    if _is_quantity(present):
        guess = f">={_format_middle(present)}"
    return f"--favourable {shlex.quote(guess)}"


def find_clashes(outcome: Group | None, groups: Sequence[Group]) -> list[Problem]:
    """Return the columns that are named for two things."""
    names = [group.column for group in groups]
    problems = []
    for i, name in enumerate(names):
        if outcome and name == outcome.column:
            problem = f"{name} cannot be the outcome and protected"
            problems.append(Problem(problem, "name another column", PROTECTED))
        if name in names[:i]:
            fix = f"name all its deprived values at once: {name}=a,b"
            problems.append(Problem(f"{name} is named twice", fix, PROTECTED))
    return problems


def parse_label(table: RawCells, favourable: str | None, column: str) -> Group:
    """Return the outcome's column and its favourable value, which may still be missing."""
    column = column.strip()
    if column not in table.cells.columns:
        raise user_error(f'no column is called "{column}"', suggest(column, table.cells.columns), LABEL)
    if table.present_cells(column).nunique() < 2:
        raise user_error(f'column "{column}" has one value only', "name another column", LABEL)
    if favourable is None:
        return Group(column)
    group = parse_levels(favourable, column, table, FAVOURABLE)
    if len(group.levels) > 1:
        fix = "name one; merge others into it with recode in the card"
        raise user_error("more than one value is named", fix, FAVOURABLE)
    return group
