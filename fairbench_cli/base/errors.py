"""Errors for people: what is wrong and where, then what to do."""

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbench_cli.base.text import printable

MOST_SHOWN = 60  # characters of a value
MOST_NAMES = 30  # names in a suggestion


@dataclass(frozen=True)
class Problem:
    """One mistake of the user; written out, it is two lines.

    Parameters
    ----------
    what : str
        What is wrong.
    fix : str
        What to do about it.
    where : str
        ``file:line``, a flag, or empty.
    """

    what: str
    fix: str
    where: str = ""

    def __str__(self) -> str:
        place = f"{_one_line(self.where)}: " if self.where else ""
        return f"{place}error: {_one_line(self.what)}\n  fix: {_one_line(self.fix)}"


class UserError(Exception):
    """One or more mistakes of the user, to be printed without a traceback (exit code 2)."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class ArgumentError(UserError, TypeError):
    """A call from Python with an argument that is not known, or does not fit the others."""


def user_error(what: str, fix: str, where: str = "") -> UserError:
    """Return the error for a single mistake.

    >>> print(user_error("no such file: x.yaml", "check the path"))
    error: no such file: x.yaml
      fix: check the path
    """
    return UserError(Problem(what, fix, where))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a word, in any case.

    >>> nearest("Nmae", ["name", "seed"]), nearest("xyz", ["name", "seed"])
    ('name', None)
    """
    by_lower = {name.lower(): name for name in sorted(known, reverse=True)}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


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
    near = nearest(word, names)
    if near is not None:
        return f'did you mean "{near}"?'
    more = f", … ({len(names)} in all)" if len(names) > MOST_NAMES else ""
    return f"use one of: {', '.join(names[:MOST_NAMES])}{more}"


def shown(value: Any) -> str:
    """Return a value as it looks in a YAML file, on one line and not too long.

    >>> print(shown(None), shown(True), shown("x"), shown([1, {"a": 0.5}]))
    null true "x" [1, {"a": 0.5}]
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def _one_line(text: str) -> str:
    return printable(" ".join(text.splitlines()))
