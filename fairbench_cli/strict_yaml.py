"""Strict YAML: text stays text, a key given twice is an error, and every value knows its line."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairbench_cli.errors import Problem, UserError, user_error

Place = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True)
class Document:
    """A YAML document: its plain data, and the line of every value (1 is the first)."""

    data: Any
    lines: dict[Place, int]
    name: str

    def where(self, place: Place) -> str:
        """Return ``file:line`` of a value, or of the nearest thing around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.name}:{self.lines.get(place, 1)}"


def read_yaml(path: Path) -> Document:
    """Read a strict YAML file; `UserError` lists everything wrong with its form."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise user_error(f"no such file: {path}", "check the path") from None
    except IsADirectoryError:
        raise user_error(f"{path} is a folder", "give a YAML file in it") from None
    except UnicodeDecodeError as error:
        raise user_error(
            f"not UTF-8 text (byte {error.start})", "give a YAML file, saved as UTF-8", str(path)
        ) from None
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Document:
    """Parse strict YAML.

    Unquoted ``true false null`` and numbers are what they look like; everything else stays text.

    >>> parse_yaml("a: no\\nb: 10:30\\nc: 1e-3\\nd: '5'", "x.yaml").data
    {'a': 'no', 'b': '10:30', 'c': 0.001, 'd': '5'}
    """
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise UserError(_syntax_problem(error, name)) from None
    if root is None:
        raise user_error("the file is empty", "see configs/quickstart.yaml for an example", f"{name}:1")
    lines: dict[Place, int] = {}
    problems: list[Problem] = []
    data = _plain(root, (), lines, problems, name, ())
    if problems:
        raise UserError(*problems)
    return Document(data, lines, name)


def scalar(text: str) -> Any:
    """Give the value that an unquoted YAML word stands for.

    >>> [scalar(word) for word in ("5", ".25", "no", "true")]
    [5, 0.25, 'no', True]
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


def _plain(
    node: yaml.Node,
    place: Place,
    lines: dict[Place, int],
    problems: list[Problem],
    name: str,
    above: tuple[yaml.Node, ...],
) -> Any:
    """Turn a node into plain data, noting lines and problems on the way."""
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if any(node is ancestor for ancestor in above):
        problems.append(Problem("an alias that contains itself", "write the value out", f"{name}:{line}"))
        return None
    above = (*above, node)
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(child, (*place, i), lines, problems, name, above) for i, child in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = f"{name}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                problems.append(Problem("a key must be a word", "quote it, or check the indentation", where))
                continue
            key = str(key_node.value)
            if key in mapping:
                first = lines[(*place, key)]
                problems.append(
                    Problem(
                        f'key "{key}" is given twice (first on line {first})', "keep one of the two", where
                    )
                )
                continue
            lines[(*place, key)] = key_node.start_mark.line + 1
            mapping[key] = _plain(value_node, (*place, key), lines, problems, name, above)
        return mapping
    text = str(node.value)
    return scalar(text) if node.style is None else text


def _syntax_problem(error: yaml.YAMLError, name: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    where = f"{name}:{mark.line + 1}" if mark is not None else name
    return Problem(f"not YAML: {what}", "check indentation, colons and quotes on this line", where)
