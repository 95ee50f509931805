"""Strict YAML: text stays text, a key given twice is an error, and every value has a line number."""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fairbench_cli.base.errors import Problem, UserError, refuse, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.yaml_document import KeyPath, YamlDocument, parse_scalar

DEEPEST = 50
MOST_VALUES = (
    100_000  # of a file with fewer characters than that: only aliases make more values than characters
)


def remove_spots(spots: dict[KeyPath, str], key_path: KeyPath) -> dict[KeyPath, str]:
    """Return the spots less those of the value at `key_path` and all within it.

    >>> remove_spots({(): "f:1", ("a",): "f:1", ("a", 0): "f:2", ("b",): "f:3"}, ("a",))
    {(): 'f:1', ('b',): 'f:3'}
    """
    return {key: spot for key, spot in spots.items() if key[: len(key_path)] != key_path}


def read_yaml(path: Path) -> YamlDocument:
    """Return a strict YAML file, read.

    Raises
    ------
    UserError
        Listing everything wrong with its form.
    """
    return parse_yaml(read_text(path), str(path))


def read_mapping(path: Path, noun: str, example: str) -> YamlDocument:
    """Return a strict YAML file that holds a mapping.

    Parameters
    ----------
    noun, example : str
        For the error: what the file should be, and what to do.

    Raises
    ------
    UserError
        When it holds something else, or listing everything wrong with its form.
    """
    document = read_yaml(path)
    if not isinstance(document.data, dict):
        raise user_error(f"{noun} is a mapping of keys to values", example, document.where(()))
    return document


def parse_yaml(text: str, name: str) -> YamlDocument:
    r"""Return strict YAML, parsed.

    Unquoted ``true false null`` and numbers are what they look like; everything else stays text.

    Raises
    ------
    UserError
        For what is not YAML, is empty, or is refused here: keys given twice, tags, merge keys (``<<``).

    >>> parse_yaml("a: no\nb: 10:30\nc: 1e-3\nd: '5'", "x.yaml").data
    {'a': 'no', 'b': '10:30', 'c': 0.001, 'd': '5'}
    """
    try:
        root, tags = _compose(text)
    except yaml.YAMLError as error:
        raise UserError(_syntax_problem(error, text, name)) from None
    except RecursionError:
        raise UserError(_too_large(name)) from None
    if root is None:
        raise user_error("the file is empty", "write `key: value` lines", f"{name}:1")
    reader = _Reader(name, max(MOST_VALUES, len(text)))
    for tag in tags:
        reader.refuse(
            f"the tag {tag.value[1]} is not used here", "remove it; quote text", tag.start_mark.line
        )
    data = reader.plain(root, (), ())
    refuse(reader.problems)
    return YamlDocument(data, reader.spots, name)


@lru_cache(maxsize=128)  # the same cards are read again and again, and nobody changes nodes
def _compose(text: str) -> tuple[yaml.Node | None, tuple[yaml.TagToken, ...]]:
    """Return the root of a text and the tags in it, for which it is scanned again if there may be any."""
    root = yaml.compose(text, Loader=yaml.BaseLoader)
    tokens = yaml.scan(text, Loader=yaml.BaseLoader) if "!" in text else ()
    return root, tuple(token for token in tokens if isinstance(token, yaml.TagToken))


def dump_yaml(data: Any) -> str:
    """Write plain data as YAML that `parse_yaml` reads back the same.

    >>> print(dump_yaml({"name": "1e3", "beta": [0.0, 1e-5]}), end="")
    name: '1e3'
    beta:
    - 0.0
    - 1.0e-05
    """
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def yaml_word(text: str) -> str:
    """Return text as one word of YAML, in quotes where it needs them, also within braces and brackets.

    >>> print(yaml_word("age"), yaml_word("no, never"), yaml_word("5"), yaml_word(">50K"), yaml_word(""))
    age 'no, never' '5' '>50K' ''
    """
    written = yaml.dump([text], Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=1_000_000)
    return written.strip()[1:-1]


def override_values(document: YamlDocument, settings: tuple[str, ...]) -> tuple[YamlDocument, list[Problem]]:
    r"""Return a document with ``key=value`` and ``key.key=value`` set; their spot is ``--set KEY``.

    >>> document = parse_yaml("name: x\nsample: {from: network}", "x.yaml")
    >>> document, problems = override_values(document, ("sample.beta=[0, 1]",))
    >>> document.data["sample"], document.where(("sample", "beta", 1))
    ({'from': 'network', 'beta': [0, 1]}, '--set sample.beta')
    """
    problems: list[Problem] = []
    times = Counter(setting.partition("=")[0].strip() for setting in settings)
    for key, n_times in times.items():
        if n_times > 1:  # only the last would count
            problem = f"given {n_times} times"
            problems.append(Problem(problem, "it takes one value: leave the others out", f"--set {key}"))
    for setting in settings:
        key, equals, text = setting.partition("=")
        keys = key.strip().split(".")
        if not equals or not all(keys):
            fix = "write KEY=VALUE, for example --set repeats=5"
            problems.append(Problem(f"cannot read the setting {setting!r}", fix, "--set"))
            continue
        flag = f"--set {key.strip()}"
        try:
            value = None
            if text.strip():
                value = parse_yaml(text, flag).data
            data = _set_value(document.data, keys, value)
        except UserError as error:
            problems += [Problem(p.what, p.fix, flag) for p in error.problems]
        except TypeError:
            fix = "set the whole list, in brackets: KEY=[a, b]"
            problems.append(Problem("a single item of a list cannot be set", fix, flag))
        else:
            document = YamlDocument(data, _spots_with_flag(document.spots, tuple(keys), flag), document.name)
    return document, problems


def _set_value(data: Any, keys: list[str], value: Any) -> dict[str, Any]:
    """Return the mapping with the value at ``key.key.…``; `TypeError` when a list stands in the way."""
    if isinstance(data, list):
        raise TypeError
    inner = data if isinstance(data, dict) else {}
    return inner | {keys[0]: _set_value(inner.get(keys[0]), keys[1:], value) if len(keys) > 1 else value}


def _spots_with_flag(spots: dict[KeyPath, str], key_path: KeyPath, flag: str) -> dict[KeyPath, str]:
    """Return the spots with the flag as that of the value at `key_path` and of what was made around it."""
    new_spots = {key_path[:n]: flag for n in range(1, len(key_path)) if key_path[:n] not in spots}
    return remove_spots(spots, key_path) | new_spots | {key_path: flag}


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the shape of PyYAML
        return True


def _quoted_where_needed(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return a text quoted if strict YAML would read it as something else; PyYAML knows the other cases."""
    if isinstance(parse_scalar(text), str) and text != "<<":
        style = None
    else:
        style = "'"
    # line ends, which escapes keep
    if set(text) & set("\n\r\x85\u2028\u2029"):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _quoted_where_needed)


@dataclass
class _Reader:
    """Turns nodes into plain data, noting where they stand and what is wrong with them."""

    name: str
    most: int
    spots: dict[KeyPath, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, problem: str, fix: str, line: int) -> None:
        self.problems.append(Problem(problem, fix, f"{self.name}:{line + 1}"))

    def plain(self, node: yaml.Node, key_path: KeyPath, above: tuple[yaml.Node, ...]) -> Any:
        line = node.start_mark.line
        self.spots.setdefault(key_path, f"{self.name}:{line + 1}")
        if any(node is ancestor for ancestor in above):
            self.refuse("an alias that contains itself", "write the value out", line)
            return None
        if len(above) > DEEPEST or len(self.spots) > self.most:
            raise UserError(_too_large(self.name))
        above = (*above, node)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(child, (*key_path, i), above) for i, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key_path, above)
        text = str(node.value)
        if getattr(node, "style", None) is None:
            return parse_scalar(text)
        return text

    def _mapping(
        self, node: yaml.MappingNode, key_path: KeyPath, above: tuple[yaml.Node, ...]
    ) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line
            if not isinstance(key_node, yaml.ScalarNode):
                self.refuse("a key must be a word", "quote it, or check the indentation", line)
                continue
            key = str(key_node.value)
            if key == "<<" and key_node.style is None:
                self.refuse("merge keys (<<) are not used here", "write the keys out", line)
            elif key in mapping:
                first_line = self.spots[(*key_path, key)].rpartition(":")[2]
                problem = f'key "{key}" is given twice (first on line {first_line})'
                self.refuse(problem, "keep one of the two", line)
            else:
                self.spots[(*key_path, key)] = f"{self.name}:{line + 1}"
                mapping[key] = self.plain(value_node, (*key_path, key), above)
        return mapping


def _too_large(name: str) -> Problem:
    return Problem("nested too deeply, or too many values", "write a simpler file, with fewer aliases", name)


# PyYAML's words for common slips: in ours, and what to do.
_SLIPS = {
    r"found character '\t' that cannot start any token": ("a tab stands here", "indent with spaces"),
    "found unexpected end of stream": ("a quote is opened here and never closed", "close it"),
    "but found another document": ("a second document begins here", "keep one; remove the `---` line"),
    "could not find expected ':'": ("a colon is missing", "write `key: value`, with a space after the colon"),
    "mapping values are not allowed here": (
        "a colon that does not belong here",
        "check the indentation and the line above; quote text that contains a colon and a space",
    ),
}


def _syntax_problem(error: yaml.YAMLError, text: str, name: str) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        message = f"not text: character {error.character:#x}"
        return Problem(message, "remove it, or check that this is a YAML file", f"{name}:{line}")
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error)
    if getattr(error, "context", None) == "while scanning a simple key" or problem.endswith(
        ("end of stream", "'<stream end>'")
    ):
        mark = getattr(error, "context_mark", None) or mark  # where it begins, not where it was noticed
    message, fix = _SLIPS.get(
        problem, (problem, "check indentation, colons, brackets and quotes around here")
    )
    where = name
    if mark is not None:
        where = f"{name}:{mark.line + 1}"
    return Problem(f"not YAML: {message}", fix, where)
