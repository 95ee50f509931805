"""Where the package makes ``fix:`` lines that can be pasted, read off its code, and which a test came to."""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import fairbench_cli
from fairbench_cli.base.errors import Problem

PACKAGE = Path(fairbench_cli.__file__).parent
MAKERS = {"user_error": 1, "Problem": 1, "Misfit": 2, "refuse_if": 4}
"""Calls that make a message, by which argument of theirs the fix is."""
_NAMED = r"(--[a-z]|`?fairbench [a-z]|pip install)"
PASTED = re.compile(rf"""Flag\(|'[^']*{_NAMED}|"[^"]*{_NAMED}""")


class Place(NamedTuple):
    """A call that makes a message: its file, function, first and last line."""

    file: str
    function: str
    first_line: int
    last_line: int


@cache
def places() -> list[Place]:
    """Return the calls whose fix line names an option or a command."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if not any(f"{maker}(" in text for maker in MAKERS):
            continue
        tree = ast.parse(text)
        name = str(path.relative_to(PACKAGE))
        of_module = dict(_assigned(tree.body))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = [
                call for call in ast.walk(function) if isinstance(call, ast.Call) and _called(call) in MAKERS
            ]
            known = of_module | dict(_assigned(ast.walk(function))) if calls else {}
            for call in calls:
                if _names_an_option(call, known):
                    found.append(Place(name, function.name, call.lineno, call.end_lineno or call.lineno))
    return found


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield what names are given, all of it where they are given several things."""
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (name for target in targets for name in ast.walk(target)):
                if isinstance(name, ast.Name):
                    values.setdefault(name.id, []).append(node.value)
    yield from values.items()


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _names_an_option(call: ast.Call, known: Mapping[str, list[ast.expr]]) -> bool:
    position = MAKERS[_called(call)]
    parts = call.args[position : position + 1] + [
        k.value for k in call.keywords if k.arg in ("fix", "remedy")
    ]
    seen: set[str] = set()
    while parts:
        part = parts.pop()
        if PASTED.search(ast.unparse(part)):
            return True
        names = {name.id for name in ast.walk(part) if isinstance(name, ast.Name)} - seen
        seen |= names
        parts += [value for name in names for value in known.get(name, ())]
    return False


Line = tuple[str, int]
"""A file of the package and a line of it."""


@contextmanager
def reached() -> Iterator[set[Line]]:
    """Collect the lines that make a message while something runs, and those that called them."""
    seen: set[Line] = set()
    make = Problem.__init__

    def noted(self, *arguments, **keywords):
        frame = sys._getframe(1)
        for _ in range(5):
            if frame is None:
                break
            if frame.f_code.co_filename.startswith(f"{PACKAGE}{os.sep}"):
                seen.add((str(Path(frame.f_code.co_filename).relative_to(PACKAGE)), frame.f_lineno))
            frame = frame.f_back
        make(self, *arguments, **keywords)

    Problem.__init__ = noted
    try:
        yield seen
    finally:
        Problem.__init__ = make


def at(lines: Iterable[Line]) -> set[Place]:
    """Return the places that lines are in."""
    of_file: dict[str, list[Place]] = {}
    for place in places():
        of_file.setdefault(place.file, []).append(place)
    return {
        place
        for file, line in lines
        for place in of_file.get(file, ())
        if place.first_line <= line <= place.last_line
    }
