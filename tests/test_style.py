"""How the code reads: figures with ceilings, which only fall; lower one when the code has become plainer.

`python tests/test_style.py` prints each figure, and the names that are most used of those that say nothing.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import fairbench_cli

ROOT = Path(fairbench_cli.__file__).parent
WORDS = """
    one own found some each both known others other said told more of there at given kept shown named about
    held many few wanted place places whole words part parts every first last left right what asked plain
    needed made done used taken here them these those whose which so as is to on in by under over beside
    besides further rest same like
"""
SAY_NOTHING = set(WORDS.split())
"""Pronouns, participles and adverbs: the noun of what is held says more."""
SYNONYMS = {"data", "item", "items", "result", "results", "info", "thing", "obj", "tmp", "res", "val"}
"""What is written where a noun was not looked for; `results` and `data` are right in some places."""
CEILINGS = {
    "names that say nothing, % of all that are bound": 0.7,
    "their synonyms, % of all that are bound": 0.7,
    "comprehensions within comprehensions, per 1,000 lines": 0.5,
    "conditional expressions, per 1,000 lines": 14.0,
    "a, b = x, y, per 1,000 lines": 0.7,
    "unpackings, per 1,000 lines": 11.5,
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds: of a function, a parameter, a variable or a field; else None."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name.lstrip("_")
    if isinstance(node, ast.arg):
        return node.arg.lstrip("_")
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id.lstrip("_")
    return None


def is_nested(node: ast.AST) -> bool:
    """Return whether a node is a comprehension with two `for`, or one with another inside."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    inside = [inner for inner in ast.walk(node) if inner is not node and isinstance(inner, COMPREHENSIONS)]
    return len(node.generators) > 1 or bool(inside)


def is_double_assignment(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def lines_of_code(source: str, tree: ast.Module) -> int:
    """Return how many lines have code: no comment, blank line or docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {token.start[0] for token in tokens if token.type not in skipped | {tokenize.ENDMARKER}}
    return len(lines - docstrings)


@cache
def counts() -> tuple[Counter[str], Counter[str]]:
    """Return how often each kind of node comes in the package, and each name that is bound."""
    n: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        n["lines"] += lines_of_code(source, tree)
        for node in ast.walk(tree):
            name = bound_name(node)
            if name is not None:
                names[name] += 1
            n["comprehensions within comprehensions"] += is_nested(node)
            n["conditional expressions"] += isinstance(node, ast.IfExp)
            n["a, b = x, y"] += is_double_assignment(node)
            n["unpackings"] += isinstance(node, ast.Starred)
    return n, names


def figure(title: str) -> float:
    """Return the figure of a title in `CEILINGS`."""
    n, names = counts()
    if title.endswith("per 1,000 lines"):
        return 1000 * n[title.removesuffix(", per 1,000 lines")] / n["lines"]
    words = SAY_NOTHING if title.startswith("names") else SYNONYMS
    return 100 * sum(names[word] for word in words) / names.total()


@pytest.mark.gate
@pytest.mark.parametrize(("title", "ceiling"), CEILINGS.items())
def test_the_code_reads_no_worse(title, ceiling):
    assert figure(title) <= ceiling


MANY_WORLDS = re.compile(r"for (?:_|seed|run|world) in range\((?:\d+, )?\d[\d_]{2,}\)")


def test_loops_over_many_worlds_go_by_worlds_or_scaled():
    """So that a night has all of them and the gate few; rows have another name than worlds and seeds."""
    paths = Path(__file__).parent.rglob("*.py")
    assert [path for path in paths if MANY_WORLDS.search(path.read_text(encoding="utf-8"))] == []


if __name__ == "__main__":
    for title, ceiling in CEILINGS.items():
        print(f"{figure(title):5.1f} of at most {ceiling:4.1f}: {title}")  # noqa: T201
    worst = [f"{name} {n}" for name, n in counts()[1].most_common() if name in SAY_NOTHING | SYNONYMS]
    print(", ".join(worst[:40]))  # noqa: T201
