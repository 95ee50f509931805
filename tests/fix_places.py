"""Where the package makes ``fix:`` lines that can be pasted, read off its code, and which a test came to."""

import ast
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
        tree = ast.parse(path.read_text())
        name = str(path.relative_to(PACKAGE))
        of_module = dict(_assigned(tree.body))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            known = of_module | dict(_assigned(ast.walk(function)))
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _names_an_option(call, known):
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


def _names_an_option(call: ast.Call, known: Mapping[str, list[ast.expr]]) -> bool:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    position = MAKERS.get(name)
    if position is None:
        return False
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


@contextmanager
def reached() -> Iterator[set[Place]]:
    """Collect the places that make a message while something runs."""
    by_file: dict[str, list[Place]] = {}
    for place in places():
        by_file.setdefault(str(PACKAGE / place[0]), []).append(place)
    seen: set[Place] = set()
    make = Problem.__init__

    def noted(self, *arguments, **keywords):
        frame = sys._getframe(1)
        for _ in range(5):
            if frame is None:
                break
            line = frame.f_lineno
            seen.update(
                p for p in by_file.get(frame.f_code.co_filename, ()) if p.first_line <= line <= p.last_line
            )
            frame = frame.f_back
        make(self, *arguments, **keywords)

    Problem.__init__ = noted
    try:
        yield seen
    finally:
        Problem.__init__ = make
