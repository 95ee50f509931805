"""Errors for people: what is wrong and where, then what to do."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One mistake of the user.

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
        place = f"{self.where}: " if self.where else ""
        return f"{place}error: {self.what}\n  fix: {self.fix}"


class UserError(Exception):
    """One or more mistakes of the user, to be printed without a traceback (exit code 2)."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def user_error(what: str, fix: str, where: str = "") -> UserError:
    """Build the error for a single mistake.

    >>> print(user_error("no such file: x.yaml", "check the path"))
    error: no such file: x.yaml
      fix: check the path
    """
    return UserError(Problem(what, fix, where))


def suggest(word: str, known: Iterable[str]) -> str:
    """Say how to fix an unknown name: the nearest known one, or all of them.

    >>> suggest("masaging", ["none", "massaging"])
    'did you mean "massaging"?'
    >>> suggest("xyz", ["none", "massaging"])
    'use one of: massaging, none'
    """
    names = sorted(known)
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"use one of: {', '.join(names)}"
