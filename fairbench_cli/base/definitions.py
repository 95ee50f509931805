"""The source of a class or function that a notebook or a script defines, as a file that stands alone."""

import ast
import linecache
import math
import symtable
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import unwrap
from types import FunctionType, ModuleType
from typing import Any

from fairbench_cli.base.plugins import installed_packages

AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr", "lambda")
"""What the tables of symbols call functions that may run while their class is being defined."""


class NoDefinition(Exception):  # noqa: N818 - becomes the user's error once it is known what asked
    """Why the source of a class or function cannot be had, or does not stand alone."""


def definition_of(thing: Any) -> str:
    """Return Python text that defines a class or function, with all that it uses of its notebook or script.

    These are imports of installed packages, classes and functions that are defined there too, and constants
    of plain values. Nothing else of the notebook or script is in it, and nothing of it is run.

    Raises
    ------
    NoDefinition
        When the source of one of them is not known, or something else is used.
    """
    text = _Text()
    text.add(thing)
    parts = ["\n".join(sorted(text.imports)), "\n".join(sorted(text.constants)), *text.definitions]
    return "\n\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def is_plain(value: Any) -> bool:
    """Return whether a value is text, a finite number, true, false, None, or a list, tuple or dict of these.

    >>> is_plain({"a": [1, "b", None]}), is_plain(float("nan")), is_plain({1: 2}), is_plain(len)
    (True, False, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(inner) for key, inner in value.items())
    return value is None or type(value) in (bool, int, str)


def is_installed(module: str) -> bool:
    """Return whether a module is of the standard library or of an installed package.

    >>> is_installed("collections.abc"), is_installed("numpy"), is_installed("__main__")
    (True, True, False)
    """
    root = module.partition(".")[0]
    if root == "__main__":
        return False
    return (
        root in sys.stdlib_module_names
        or root == __name__.partition(".")[0]
        or bool(installed_packages(root))
    )


def public_name(thing: Any) -> str:
    """Return ``package.module:name`` of a class or function, by the outermost package that has it.

    >>> public_name(Mapping)
    'collections.abc:Mapping'
    """
    parts: list[str] = str(thing.__module__).split(".")
    name = str(thing.__name__)
    for n in range(1, len(parts)):
        outer = ".".join(parts[:n])
        if getattr(sys.modules.get(outer), name, None) is thing:
            return f"{outer}:{name}"
    return f"{thing.__module__}:{thing.__qualname__}"


@dataclass
class _Text:
    """The parts of a file, those that others need first."""

    imports: set[str] = field(default_factory=set)
    constants: set[str] = field(default_factory=set)
    definitions: list[str] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)

    def add(self, thing: Any) -> None:
        """Add a class or function, and before it what it uses."""
        name = thing.__name__
        code = _code(thing)
        source = _found(name, code)
        self.known[name] = thing
        self._add_names(_names(source, inside=False), code, name)
        self.definitions.append(source)
        self._add_names(_names(source), code, name)

    def _add_names(self, names: Iterator[str], code: FunctionType, user: str) -> None:
        """Add what stands behind names that are not known yet."""
        for used in sorted(names):
            if used not in self.known and used in code.__globals__:
                self._add_value(used, code.__globals__[used], user)

    def _add_value(self, name: str, value: Any, user: str) -> None:
        """Add what a name stands for in a notebook or script."""
        if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
            value = value.item()
        else:
            value = value
        home = getattr(value, "__module__", None)
        own = getattr(value, "__name__", None)
        known = isinstance(home, str) and own and is_installed(home)
        package, _, inner = public_name(value).rpartition(":") if known else ("", "", "")
        if isinstance(value, ModuleType) and is_installed(str(own)):
            self.imports.add(f"import {_renamed(str(own), name)}")
        elif inner and "." not in inner:  # no method
            self.imports.add(f"from {package} import {_renamed(inner, name)}")
        elif home == "__main__" and own == name and isinstance(unwrap(value), type | FunctionType):
            self.add(value)
            return
        elif _is_literal(value):
            self.constants.add(f"{name} = {value!r}")
        else:
            what = "neither a plain value nor of an installed package"
            raise NoDefinition(f"{user} uses {name}, which is {what}")
        self.known[name] = value


def _is_literal(value: Any) -> bool:
    """Return whether a plain value's text makes it again: that of a named tuple does not."""
    try:
        return is_plain(value) and bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False


def _renamed(name: str, own: str) -> str:
    if name == own:
        return name
    return f"{name} as {own}"


def _code(thing: Any) -> FunctionType:
    """Return a function with its source: the thing itself, or a method that its class defines."""
    own = vars(thing).values() if isinstance(thing, type) else [thing]
    for value in own:
        function = getattr(value, "__func__", getattr(value, "fget", value))
        function = unwrap(function)
        if isinstance(function, FunctionType) and linecache.getlines(function.__code__.co_filename):
            return function
    raise NoDefinition(f"the source of {thing.__name__} cannot be read")


def _found(name: str, function: FunctionType) -> str:
    """Return the statement that defines a name, with its decorators."""
    lines = linecache.getlines(function.__code__.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        raise NoDefinition(f"the source of {name} cannot be read") from None
    at = function.__code__.co_firstlineno
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if start <= at <= (node.end_lineno or at):
                return "".join(lines[start - 1 : node.end_lineno])
    raise NoDefinition(f"{name} is not defined at the top level")


def _names(source: str, *, inside: bool = True) -> Iterator[str]:
    r"""Yield the names that a definition looks up outside of itself, those of builtins too.

    Unless `inside` those that it needs before anything calls it: its bases, decorators and defaults.

    >>> sorted(_names("def f(x: int = N):\n    y = x\n    return [g(z) for z in y]"))
    ['N', 'g', 'int']
    """
    tables = [symtable.symtable(source, "", "exec")]
    while tables:
        table = tables.pop()
        tables += [
            each
            for each in table.get_children()
            if inside or each.get_type() != "function" or each.get_name() in AT_ONCE
        ]
        for symbol in table.get_symbols():
            outside = symbol.is_global() or table.get_type() == "module"
            if outside and symbol.is_referenced() and not symbol.get_name().startswith("__"):
                yield symbol.get_name()
