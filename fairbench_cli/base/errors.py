"""Errors for people: what is wrong and where, then what to do."""

import difflib
import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairbench_cli.base.safe_text import printable

MOST_SHOWN = 60  # characters of a value
MOST_NAMES = 30  # names in a suggestion


Surface = Literal["command line", "python", "file"]


@dataclass(frozen=True)
class Flag:
    """An option that a message names; the command line, Python and a file each spell it their way.

    Parameters
    ----------
    key : str
        As in a file: ``top-k``.
    value : str, number, or (name, value), optional
        What to give it; of a pair the value of one name, such as ``("age", 4)``.
    python : str
        What is written in Python, if that is something else.

    Examples
    --------
    >>> [Flag("top-k", 100).spell(surface) for surface in ("command line", "python", "file")]
    ['--top-k 100', 'top_k=100', 'top-k: 100']
    >>> [Flag("bins", ("age", 4)).spell(surface) for surface in ("command line", "python", "file")]
    ['--bins age=4', 'bins={"age": 4}', 'bins: {age: 4}']
    """

    key: str
    value: str | float | tuple[str, str | float] | None = None
    python: str = ""

    def spell(self, surface: Surface = "command line") -> str:
        """Return it as somebody writes it there."""
        name = self.key
        value = self.value
        if surface == "python" and self.python:
            return self.python
        if surface == "python":
            given = dict([value]) if isinstance(value, tuple) else value
            if given is None:
                written = ""
            else:
                written = json.dumps(given, ensure_ascii=False)
            return f"{name.replace('-', '_')}={written}"
        if surface == "file":
            given = f"{{{value[0]}: {value[1]}}}" if isinstance(value, tuple) else value
            if given is None:
                return name
            return f"{name}: {given}"
        given = f"{value[0]}={value[1]}" if isinstance(value, tuple) else value
        if given is None:
            return f"--{name}"
        return f"--{name} {shlex.quote(str(given))}"


MessageText = str | Flag | tuple[str | Flag, ...]
"""What a message says: text, an option, or parts of both in a row."""


def spell(words: MessageText, surface: Surface = "command line") -> str:
    """Return words as text, with options as they are written there.

    >>> spell(("use ", Flag("ties", "include"), ", or name fewer"), "python")
    'use ties="include", or name fewer'
    """
    if isinstance(words, tuple):
        parts = words
    else:
        parts = (words,)
    return "".join(part.spell(surface) if isinstance(part, Flag) else part for part in parts)


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
    """

    what: MessageText
    fix: MessageText
    where: str | Flag = ""

    def spell(self, surface: Surface) -> "Problem":
        """Return it as plain text, with options as they are written there."""
        return Problem(*(spell(words, surface) for words in (self.what, self.fix, self.where)))

    def __str__(self) -> str:
        what, fix, where = (_one_line(spell(words)) for words in (self.what, self.fix, self.where))
        return f"{where}{': ' if where else ''}error: {what}\n  fix: {fix}"


class UserError(Exception):
    """One or more mistakes of the user, to be printed without a traceback (exit code 2).

    Its text is for who calls from `surface`; the command line spells the problems itself.
    """

    def __init__(self, *problems: Problem, surface: Surface = "command line") -> None:
        super().__init__("\n".join(str(problem.spell(surface)) for problem in problems))
        self.problems = problems

    def reported_at(self, where: str | Flag) -> list[Problem]:
        """Return its problems, said of another place: of the line or the option that led to them."""
        return [replace(problem, where=where) for problem in self.problems]


class ArgumentError(UserError, TypeError):
    """A call from Python with an argument that is not known, or does not fit the others."""


def user_error(what: MessageText, fix: MessageText, where: str | Flag = "") -> UserError:
    """Return the error for a single mistake.

    >>> print(user_error("no such file: x.yaml", "check the path"))
    error: no such file: x.yaml
      fix: check the path
    """
    return UserError(Problem(what, fix, where))


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a word, in any case.

    >>> find_nearest("Nmae", ["name", "seed"]), find_nearest("xyz", ["name", "seed"])
    ('name', None)
    """
    by_lower = {name.lower(): name for name in sorted(known, reverse=True)}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return by_lower[near[0]]
    return None


def suggest(word: str, known: Iterable[str]) -> str:
    """Return how to fix an unknown name: the nearest known one, or all of them.

    >>> suggest("masaging", ["none", "massaging"])
    'did you mean "massaging"?'
    >>> suggest("xyz", ["none", "massaging"])
    'use one of: massaging, none'
    >>> suggest("xyz", [])
    'remove it'
    """
    names = sorted(known)
    if not names:
        return "remove it"
    near = find_nearest(word, names)
    if near is not None:
        return f'did you mean "{near}"?'
    if len(names) > MOST_NAMES:
        more = f", … ({len(names)} in all)"
    else:
        more = ""
    return f"use one of: {', '.join(names[:MOST_NAMES])}{more}"


def format_value(value: Any) -> str:
    """Return a value as it looks in a YAML file, on one line and not too long.

    >>> print(format_value(None), format_value(True), format_value("x"), format_value([1, {"a": 0.5}]))
    null true "x" [1, {"a": 0.5}]
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN - 1]}…"


def _one_line(text: str) -> str:
    return printable(" ".join(text.splitlines()))
