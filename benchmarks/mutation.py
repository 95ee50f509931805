"""Whether the tests of a room notice that its code is wrong: mutants, and which of them survive.

``python benchmarks/mutation.py measures [-n 100] [--seed 1] [-o survivors.md]`` runs the room's tests once
under coverage, which says what test runs which line. Then it makes one small change at a time to the code of
the room (a comparison, an operator, a number, a condition, a branch, an argument), in a copy of the
repository, and runs the tests of that line, the quick ones first, until one fails. It prints the score with
its interval and every survivor.

The mutants are a random sample with the same share of every file. A run that takes too long counts as
noticed, a line that no test runs as not. A room is a folder of fairbench_cli with one of the same name in
tests.
"""

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # forks must have no threads

import numpy as np

from fairbench_cli.measures.score_test import wilson_interval

ROOT = Path(__file__).parents[1]
COPIED = "fairbench_cli", "tests", "configs", "datasets", "pyproject.toml"
MOST_TESTS = 250
"""How many tests of one line are run at most."""
MOST_SECONDS = 300
OPTIONS = "-q", "-x", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=1"

PLUGIN = """
import json, os, time
import coverage, pytest

seconds = {}

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    measured = coverage.Coverage.current()
    start = time.perf_counter()
    if measured is not None:
        measured.switch_context(item.nodeid)
    yield
    seconds[item.nodeid] = time.perf_counter() - start

def pytest_sessionfinish():
    with open(os.environ["MUTATION_SECONDS"], "w") as file:
        json.dump(seconds, file)
"""

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
NAMES |= {"nanmin": "nanmax", "nanmax": "nanmin", "argmin": "argmax", "argmax": "argmin", "floor": "ceil"}


@dataclass(frozen=True)
class Mutant:
    """One change to one file: the bytes of a line and those below it, from `start` to `end`."""

    file: str
    line: int
    last: int
    start: int
    end: int
    new: str
    what: str


def mutants(file: str, source: bytes) -> list[Mutant]:
    """Return every mutant of a file, in the order of its text."""
    tree = ast.parse(source)
    ends = np.cumsum([0, *map(len, source.splitlines(keepends=True))])
    found = []
    for node, new in _changes(tree):
        start = int(ends[node.lineno - 1]) + node.col_offset  # type: ignore[attr-defined]
        end = int(ends[node.end_lineno - 1]) + node.end_col_offset  # type: ignore[attr-defined]
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        old = " ".join(source[start:end].decode().split())
        what = f"{old} → {text}"
        found.append(Mutant(file, node.lineno, node.end_lineno, start, end, text, what))  # type: ignore[attr-defined]
    return sorted(set(found), key=lambda one: (one.start, one.end, one.new))


def _changes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | str]]:
    """Yield nodes and what each becomes; types, docstrings and messages of errors are left alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it guards, and decides nothing
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield from ((node, new) for new in _mutated(node))
        if isinstance(node, ast.AnnAssign):
            yield from _changes(ast.Module([ast.Expr(node.value)], [])) if node.value else ()
        elif isinstance(node, ast.FunctionDef):
            defaults = [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
            yield from _changes(ast.Module([*map(ast.Expr, defaults), *node.body], []))
        elif not isinstance(node, ast.JoinedStr):
            yield from _changes(node)


def _mutated(node: ast.AST) -> Iterator[ast.AST | str]:
    match node:
        case ast.Compare(left, [operator], [right]):
            yield ast.Compare(left, [COMPARED[type(operator)]()], [right])
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
            yield ast.unparse(ast.AugAssign(target, OPERATORS[type(operator)](), value))
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.IfExp(test, body, other):
            yield ast.IfExp(test, other, body)
        case ast.Constant(value) if isinstance(value, bool):
            yield ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            yield ast.Constant(value + 1)
            if value == 1:
                yield ast.Constant(0)
        case ast.Slice(lower, upper, step) if lower is not None or upper is not None:
            yield ast.unparse(ast.Slice(upper and lower, None if lower is None else upper, step))
        case ast.Attribute(value, name) if name in NAMES:
            yield ast.Attribute(value, NAMES[name])
        case ast.Name(name) if name in NAMES:
            yield ast.Name(NAMES[name])
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Call(function, arguments, keywords) if keywords and keywords[-1].arg not in (None, "strict"):
            yield ast.Call(function, arguments, keywords[:-1])


def sample(found: dict[str, list[Mutant]], n: int, seed: int) -> list[Mutant]:
    """Return n mutants, of each file its share (rounded at random), in order."""
    rng = np.random.default_rng(seed)
    total = sum(map(len, found.values()))
    chosen, due, taken = [], rng.random(), 0
    for every in found.values():
        due += n * len(every) / total
        count = min(int(due) - taken, len(every))
        taken += count
        chosen += [every[i] for i in sorted(rng.choice(len(every), count, replace=False))]
    return chosen


class Tree:
    """A copy of the repository in which files are changed and tests run.

    What the tests load from elsewhere is loaded once, by this process; each mutant is tried in a fork.
    """

    def __init__(self, folder: Path, room: str, tests: list[str], kept: Path) -> None:
        self.root, self.room, self.tests = folder / "tree", room, tests
        self.root.mkdir()
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, self.root / name)
        self.overtime = 0
        self.plugin = folder / "plugin"
        self.plugin.mkdir()
        (self.plugin / "mutation_contexts.py").write_text(PLUGIN)
        kept.mkdir(parents=True, exist_ok=True)
        self.data, self.seconds = kept / "lines", kept / "seconds.json"
        self.settings = folder / "coverage.toml"
        source = json.dumps([f"*/fairbench_cli/{room}/*"])
        self.settings.write_text(f"[tool.coverage.run]\ninclude = {source}\n")

    def measure(self) -> None:
        """Run all tests, which have to pass, and note which ones run a line."""
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={self.settings}"]
        command += [
            f"--data-file={self.data}",
            "-m",
            "pytest",
            *OPTIONS,
            "-p",
            "mutation_contexts",
            *self.tests,
        ]
        path = os.pathsep.join([str(self.root), str(self.plugin)])
        more = {"PYTHONPATH": path, "MUTATION_SECONDS": str(self.seconds)}
        done = subprocess.run(command, cwd=self.root, env=os.environ | more, capture_output=True, check=False)
        if done.returncode:
            self.data.unlink(missing_ok=True)
            sys.exit(done.stdout.decode() + done.stderr.decode())

    def tests_by_line(self) -> dict[str, dict[int, list[str]]]:
        """Return which tests run a line, by file, quick ones first."""
        from coverage import CoverageData

        if not self.data.exists():
            self.measure()
        seconds = json.loads(self.seconds.read_text())
        data = CoverageData(str(self.data))
        data.read()
        found: dict[str, dict[int, list[str]]] = {}
        for path in data.measured_files():
            lines = data.contexts_by_lineno(path)
            order = {
                line: sorted(filter(None, tests), key=lambda test: seconds.get(test, 0.0))
                for line, tests in lines.items()
            }
            everything = sorted({test for tests in order.values() for test in tests}, key=seconds.__getitem__)
            # what runs when the file is imported is tested by whatever uses the file
            name = "fairbench_cli" + path.rpartition("fairbench_cli")[2]
            found.setdefault(name, {}).update({line: tests or everything for line, tests in order.items()})
        return found

    def warm_up(self) -> None:
        """Load what the tests do, and forget what is of the repository."""
        import pytest

        os.chdir(self.root)
        sys.path.insert(0, str(self.root))
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            pytest.main([*OPTIONS, "--collect-only", *self.tests])
        sys.dont_write_bytecode = True
        for name, module in list(sys.modules.items()):
            if str(self.root) in (getattr(module, "__file__", None) or "") or name.startswith(
                "fairbench_cli"
            ):
                del sys.modules[name]

    def passes(self, tests: list[str]) -> bool:
        """Return whether tests pass, in a fork of this process, within the time."""
        child = os.fork()
        if not child:
            code = 1
            try:
                nowhere = os.open(os.devnull, os.O_RDWR)
                for stream in (1, 2):
                    os.dup2(nowhere, stream)
                import pytest

                code = int(pytest.main([*OPTIONS, *tests]))
            finally:
                os._exit(code)
        end = time.monotonic() + MOST_SECONDS
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status == 0
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self.overtime += 1
                return False
            time.sleep(0.05)

    def survives(self, mutant: Mutant, tests: list[str]) -> bool:
        """Return whether all tests pass with a mutant in its place."""
        path = self.root / mutant.file
        source = path.read_bytes()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
        try:
            return self.passes(tests[:MOST_TESTS])
        finally:
            path.write_bytes(source)


def main() -> None:
    """Print the score of a room and its survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room")
    parser.add_argument("--tests", nargs="*", default=[], help="tests elsewhere that are of this room's code")
    parser.add_argument("--keep", type=Path, help="folder that keeps which tests run a line")
    parser.add_argument("-n", type=int, default=100, help="mutants, 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, help="Markdown with the survivors")
    given = parser.parse_args()
    files = sorted((ROOT / "fairbench_cli" / given.room).glob("*.py"))
    names = {path.relative_to(ROOT).as_posix(): path for path in files}
    every = {name: mutants(name, path.read_bytes()) for name, path in names.items()}
    total = sum(map(len, every.values()))
    chosen = sample(every, given.n or total, given.seed)
    print(f"{given.room}: {len(chosen)} of {total} mutants", flush=True)
    survivors, start = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tests = [f"tests/{given.room}", f"fairbench_cli/{given.room}", *given.tests]
        tree = Tree(
            Path(folder), given.room, tests, given.keep.resolve() if given.keep else Path(folder) / "kept"
        )
        by_line = tree.tests_by_line()
        tree.warm_up()
        print(f"the tests pass ({time.monotonic() - start:.0f} s)", flush=True)
        for mutant in chosen:
            lines = by_line.get(mutant.file, {})
            tests = next((lines[at] for at in range(mutant.line, mutant.last + 1) if lines.get(at)), [])
            survived = not tests or tree.survives(mutant, tests)
            if survived:
                reason = "" if tests else " (no test runs it)"
                survivors.append(f"| {mutant.file}:{mutant.line} | `{mutant.what}`{reason} |")
                print(survivors[-1], flush=True)
    killed = len(chosen) - len(survivors)
    low, high = wilson_interval(killed, len(chosen))
    said = f"{killed} of {len(chosen)} mutants of {given.room} noticed: {killed / len(chosen):.1%}"
    said += f" (95 % interval {low:.1%} to {high:.1%})"
    said += f", {tree.overtime} of them by taking longer than {MOST_SECONDS} s"
    print(said, f"in {time.monotonic() - start:.0f} s")
    if given.output:
        heads = ["| where | change that no test notices |", "|---|---|"]
        given.output.write_text("\n".join([said, "", *heads, *survivors]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
