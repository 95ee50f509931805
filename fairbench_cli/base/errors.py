"""Errors for people: what is wrong and where, then what to do."""

import difflib
import json
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairbench_cli.base.safe_text import format_count, printable, shorten

MOST_SHOWN = 60  # characters of a value
MOST_SAID = 2000  # characters of a message between options
MOST_PASTED = 500  # characters of a value in a line to be pasted
MOST_NAMES = 30  # names in a suggestion
MOST_PROBLEMS = 20  # of one command


Surface = Literal["command line", "python", "file"]


@dataclass(frozen=True)
class Flag:
    """An option that a message names; the command line, Python and a file each spell it their way.

    Parameters
    ----------
    key : str
        As in a file: ``top-k``.
    value : str, number, (name, value) or numbers, optional
        What to give it; of a pair the value of one name, such as ``("age", 4)``; of numbers each.
    python : str
        What is written in Python, if that is something else.

    Examples
    --------
    >>> [Flag("top-k", 100).spell(surface) for surface in ("command line", "python", "file")]
    ['--top-k 100', 'top_k=100', 'top-k: 100']
    >>> [Flag("bins", ("age", 4)).spell(surface) for surface in ("command line", "python", "file")]
    ['--bins age=4', 'bins={"age": 4}', 'bins: {age: 4}']
    >>> [Flag("top-k", (5, 10)).spell(surface) for surface in ("command line", "python", "file")]
    ['--top-k 5 --top-k 10', 'top_k=[5, 10]', 'top-k: [5, 10]']
    """

    key: str
    value: str | float | tuple[str, str | float] | tuple[float, ...] | None = None
    python: str = ""

    def spell(self, surface: Surface = "command line") -> str:
        """Return it as somebody writes it there."""
        name = self.key
        value: Any = self.value
        if surface == "python" and self.python:
            return self.python
        if len(str(value)) > MOST_PASTED:  # left open: nobody pastes pages
            value = ("COLUMN", "VALUE") if isinstance(value, tuple) else "VALUE"
        is_pair = isinstance(value, tuple) and isinstance(value[0], str)
        if surface == "python":
            name = name.replace("-", "_")
            if value is None:
                return f"{name}="
            return f"{name}={json.dumps(dict([value]) if is_pair else value, ensure_ascii=False)}"
        if surface == "file":
            if value is None:
                return name
            if isinstance(value, tuple):
                value = f"{{{value[0]}: {value[1]}}}" if is_pair else list(value)
            return f"{name}: {value}"
        if value is None:
            return f"--{name}"
        if not isinstance(value, tuple):
            values = [value]
        else:
            values = [f"{value[0]}={value[1]}"] if is_pair else list(value)
        return " ".join(f"--{name} {shlex.quote(str(number))}" for number in values)


MessageText = str | Flag | tuple[str | Flag, ...]
"""What a message says: text, an option, or parts of both in a row."""


def spell(message: MessageText, surface: Surface = "command line") -> str:
    """Return words as text, with options as they are written there.

    >>> spell(("use ", Flag("ties", "include"), ", or name fewer"), "python")
    'use ties="include", or name fewer'
    """
    if isinstance(message, tuple):
        pieces = message
    else:
        pieces = (message,)
    return "".join(
        piece.spell(surface) if isinstance(piece, Flag) else shorten(piece, MOST_SAID) for piece in pieces
    )


@dataclass(frozen=True)
class Problem:
    """One mistake of the user; written out, it is two lines.

    Parameters
    ----------
    what : Words
        What is wrong.
    fix : Words
        What to do about it.
    where : str or Flag
        ``file:line``, an option, or empty.
    remedy : tuple of Flag
        The options that mend it, where some do; ``VALUE`` and ``COLUMN`` are left to whoever gives them.
    assumed : tuple of Flag
        What to go on with, to find what else is wrong, where the remedy leaves something open.
    """

    what: MessageText
    fix: MessageText
    where: str | Flag = ""
    remedy: tuple[Flag, ...] = ()
    assumed: tuple[Flag, ...] = ()

    def spell(self, surface: Surface) -> "Problem":
        """Return it as plain text, with options as they are written there."""
        return replace(
            self,
            what=spell(self.what, surface),
            fix=spell(self.fix, surface),
            where=spell(self.where, surface),
        )

    def __str__(self) -> str:
        where = _to_one_line(spell(self.where))
        if where:
            where = f"{where}: "
        return f"{where}error: {_to_one_line(spell(self.what))}\n  fix: {_to_one_line(spell(self.fix))}"


class UserError(Exception):
    """One or more mistakes of the user, to be printed without a traceback (exit code 2).

    Its text is for who calls from `surface`; the command line spells the problems itself. `remedies` are the
    options that mend all of them together.
    """

    def __init__(
        self, *problems: Problem, surface: Surface = "command line", remedies: Sequence[Flag] = ()
    ) -> None:
        self.problems = problems
        self.remedies = tuple(remedies)
        lines = join_problems([problem.spell(surface) for problem in problems])
        if remedies:
            lines.append(f"{self.remedies_heading}: {spell_together(remedies, surface)}")
        super().__init__("\n".join(lines))

    @property
    def remedies_heading(self) -> str:
        """What stands before the remedies: whether they mend everything."""
        if all(problem.remedy for problem in self.problems):
            return "all at once"
        return "what options mend, at once"

    def reported_at(self, where: str | Flag) -> list[Problem]:
        """Return its problems, said of another place: of the line or the option that led to them."""
        return [replace(problem, where=where) for problem in self.problems]


def spell_together(flags: Iterable[Flag], surface: Surface = "command line") -> str:
    """Return options as they are written in one call or line; in Python those of one name are one keyword.

    >>> flags = [Flag("spellings", ("sex", "merge")), Flag("spellings", ("race", "merge"))]
    >>> spell_together([*flags, Flag("favourable", "yes"), Flag("favourable", "good")], "python")
    'spellings={"sex": "merge", "race": "merge"}, favourable=["yes", "good"]'
    >>> spell_together(flags)
    '--spellings sex=merge --spellings race=merge'
    """
    if surface != "python":
        return " ".join(flag.spell(surface) for flag in flags)
    by_key: dict[str, list[Flag]] = {}
    for flag in flags:
        by_key.setdefault(flag.key, []).append(flag)
    keywords = []
    for key, flags_of_key in by_key.items():
        values = [flag.value for flag in flags_of_key]
        pairs: list[Any] = [value for value in values if isinstance(value, tuple)]
        if len(flags_of_key) == 1:
            keywords.append(flags_of_key[0].spell(surface))
        elif len(pairs) == len(values):
            keywords.append(f"{key.replace('-', '_')}={json.dumps(dict(pairs), ensure_ascii=False)}")
        else:
            keywords.append(f"{key.replace('-', '_')}={json.dumps(values, ensure_ascii=False)}")
    return ", ".join(keywords)


class ArgumentError(UserError, TypeError):
    """A call from Python with an argument that is not known, or does not fit the others."""


def join_problems(problems: Sequence[Problem]) -> list[str]:
    """Return problems, two lines each, and of very many how many more there are.

    >>> wrong = [Problem(f"x{i} is no number", "write one") for i in range(MOST_PROBLEMS + 2)]
    >>> join_problems(wrong)[-1], len(join_problems(wrong))
    ('… and 2 more errors', 21)
    """
    lines = [str(problem) for problem in problems[:MOST_PROBLEMS]]
    n_more = len(problems) - len(lines)
    if n_more:
        lines.append(f"… and {format_count(n_more, 'more error')}")
    return lines


def user_error(
    message: MessageText,
    fix: MessageText,
    where: str | Flag = "",
    *,
    remedy: tuple[Flag, ...] = (),
    assumed: tuple[Flag, ...] = (),
) -> UserError:
    """Return the error for a single mistake; see `Problem`.

    >>> print(user_error("no such file: x.yaml", "check the path"))
    error: no such file: x.yaml
      fix: check the path
    """
    return UserError(Problem(message, fix, where, remedy, assumed))


def refuse(problems: Collection[Problem]) -> None:
    """Raise mistakes as one error, if there are any."""
    if problems:
        raise UserError(*problems)


def find_nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the known name that is meant by a word: by other programs' name for it, or nearest, in any case.

    >>> find_nearest("Nmae", ["name", "seed"]), find_nearest("xyz", ["name", "seed"])
    ('name', None)
    >>> find_nearest("random_state", ["name", "seed"])
    'seed'
    """
    return next(iter(_find_meant(word, choices)), None)


def _find_meant(word: str, choices: Iterable[str]) -> list[str]:
    from fairbench_cli.base.synonyms import find_synonyms  # of use where something is wrong

    by_lower = {name.lower(): name for name in sorted(choices, reverse=True)}
    if word.lower() in by_lower:
        return [by_lower[word.lower()]]
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return find_synonyms(word, by_lower.values()) or [by_lower[name] for name in near]


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return how to fix an unknown name: the one that is meant (`find_nearest`), or all of them.

    >>> suggest("masaging", ["none", "massaging"]), suggest("j48", ["c45", "svm"])
    ('did you mean "massaging"?', 'did you mean "c45"?')
    >>> suggest("xyz", ["none", "massaging"])
    'use one of: massaging, none'
    >>> suggest("xyz", [])
    'remove it'
    """
    names = sorted(choices)
    if not names:
        return "remove it"
    meant = _find_meant(word, names)
    if meant and max(map(len, meant)) <= MOST_PASTED:
        quoted = (f'"{name}"' for name in meant)
        return f"did you mean {' or '.join(quoted)}?"
    ellipsis = ""
    if len(names) > MOST_NAMES:
        ellipsis = f", … ({len(names)} in all)"
    return f"use one of: {', '.join(map(shorten, names[:MOST_NAMES]))}{ellipsis}"


def format_value(value: Any) -> str:
    """Return a value as it looks in a YAML file, on one line and not too long.

    >>> print(format_value(None), format_value(True), format_value("x"), format_value([1, {"a": 0.5}]))
    null true "x" [1, {"a": 0.5}]
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN - 1]}…"


def _to_one_line(text: str) -> str:
    return printable(" ".join(text.splitlines()))
