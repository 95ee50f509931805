"""Whether the tests of some rooms notice that their code is wrong: mutants, and which of them survive.

``python benchmarks/mutation.py audit report [-n 50] [--seed 1] > drawn.csv`` draws small changes to the code
(a comparison, an operator, a number, a condition, a branch, an argument), as many of each room and of each
file its share. It makes one at a time in a copy of the repository, and runs the doctests of the file and the
tests that import the module, name the function or share a word with the file's name: cheap ones first, until
one fails that passes without the change. It prints a row for each, and what the score is.
``--again drawn.csv`` tries those once more that survived, and prints what becomes of them.

A test that takes `EACH` CPU seconds without the change is left out, and a mutant is given up after ``--most``
of them. A room is a folder of fairbench_cli.
"""

import argparse
import ast
import csv
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # forks must have no threads

import numpy as np
import pytest

from fairbench_cli.measures.score_test import wilson_interval

ROOT = Path(__file__).parents[1]
LEFT_OUT = "__pycache__", ".git", ".venv", ".*_cache"
MOST_FILES = 12
"""How many test files are tried at most: those that import the module before those that name a function."""
WORD = 6
"""Letters by which words are the same: number, numbers."""
EACH = 1.5
"""CPU seconds that a test may take; ten times as much by the clock."""
TIERS = "inner", "gate"
"""Of the tests that are tried, see tests/tiers.py."""
OPTIONS = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=1", "-m", " or ".join(TIERS)]
OPTIONS += ["-W", "ignore::pytest.PytestCollectionWarning"]
HEADS = "file", "line", "change", "killed_by", "tier", "seconds"

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
    """One change to one file: of its bytes from `start` to `end`, in functions or classes of some `names`."""

    file: str
    line: int
    start: int
    end: int
    new: str
    change: str
    names: tuple[str, ...]


def mutants(file: str, source: bytes) -> list[Mutant]:
    """Return every mutant of a file, in the order of its text."""
    tree = ast.parse(source)
    ends = np.cumsum([0, *map(len, source.splitlines(keepends=True))])
    definitions = ast.FunctionDef, ast.ClassDef
    named = [(n.lineno, n.end_lineno, n.name) for n in ast.walk(tree) if isinstance(n, definitions)]
    found = []
    for node, new in _changes(tree):
        start = int(ends[node.lineno - 1]) + node.col_offset
        end = int(ends[node.end_lineno - 1]) + node.end_col_offset
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        change = f"{' '.join(source[start:end].decode().split())} → {text}"
        around = tuple(name for first, last, name in named if first <= node.lineno <= last)
        found.append(Mutant(file, node.lineno, start, end, text, change, around))
    return sorted(set(found), key=lambda one: (one.start, one.end, one.new))


def _changes(tree: ast.AST) -> Iterator[tuple[Any, ast.AST | str]]:
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
            yield ast.unparse(ast.Slice(upper and lower, None, step))
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


def of_rooms(rooms: Sequence[str]) -> list[dict[str, list[Mutant]]]:
    """Return every mutant of some rooms: of each, those of its files."""
    found = []
    for room in rooms:
        paths = {
            path.relative_to(ROOT).as_posix(): path for path in (ROOT / "fairbench_cli" / room).rglob("*.py")
        }
        found.append({name: mutants(name, paths[name].read_bytes()) for name in sorted(paths)})
    return found


def tests_of(mutant: Mutant, texts: dict[str, str]) -> list[str]:
    """Return the doctests of a mutant's file, and its test files: the closest first, then the smallest."""
    module = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, stem = module.rpartition(".")
    imports = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    names = re.compile("|".join(rf"\b{name}\b" for name in mutant.names if len(name) > 3) or "(?!)")
    words = {word[:WORD] for word in stem.split("_")}
    room = mutant.file.split("/")[1]
    closeness = {}
    for file, text in texts.items():
        same = words & {word[:WORD] for word in Path(file).stem.split("_")}
        is_named_alike = bool(same) and f"tests/{room}/" in file
        closeness[file] = 4 * bool(imports.search(text)) + 2 * is_named_alike + bool(names.search(text))
    order = sorted(filter(closeness.get, texts), key=lambda file: (-closeness[file], len(texts[file])))
    return [mutant.file, *order[:MOST_FILES]]


class Overtime(BaseException):
    """A test takes too long."""


class Watch:
    """Orders tests, stops the long ones, and writes down what happens to each."""

    def __init__(self, tree: "Tree", files: list[str], each: float, most: float) -> None:
        self.tree, self.files, self.each, self.most = tree, files, each, most
        self.start = time.process_time()
        self.log = tree.log.open("w")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put costly tests last, and leave out those that take too long."""

        def place(item: pytest.Item) -> tuple[bool, int]:
            seconds = self.tree.seconds.get(item.nodeid, EACH * (tier_of(item) == "gate"))
            return seconds > EACH / 8, self.files.index(item.nodeid.partition("::")[0])

        items[:] = sorted((item for item in items if item.nodeid not in self.tree.left_out), key=place)

    def note(self, what: str, test: str) -> None:
        """Write down what happens to a test, at once."""
        print(what, test, sep="\t", file=self.log, flush=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what a test takes, and stop all when the mutant takes too long."""
        self.note(tier_of(item), item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.note(f"{time.process_time() - start:.3f}", item.nodeid)
            if time.process_time() - self.start > self.most:
                item.session.shouldstop = "too long"
                self.note("given up", item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Stop what takes too long before the test."""
        return (yield from self.stopped(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Stop a test that takes too long."""
        return (yield from self.stopped(item))

    def stopped(self, item: pytest.Item) -> Iterator[None]:
        """Skip a test after its CPU seconds, or ten times as many by the clock."""
        signal.setitimer(signal.ITIMER_PROF, self.each)
        signal.setitimer(signal.ITIMER_REAL, 10 * self.each)
        try:
            return (yield)
        except Overtime:
            self.note("slow", item.nodeid)
            pytest.skip("too long")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.note("failed", report.nodeid)


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test."""
    return TIERS[item.get_closest_marker("gate") is not None]


def too_long(_number: int, _frame: object) -> None:
    """Stop the test that runs."""
    raise Overtime


class Tree:
    """A copy of the repository in which files are changed and tests run.

    What the tests load from elsewhere is loaded once, by this process; each mutant is tried in a fork.
    """

    def __init__(self, folder: Path, most: float) -> None:
        self.root, self.most, self.log = folder / "tree", most, folder / "log"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))
        paths = sorted((self.root / "tests").rglob("test_*.py"))
        self.texts = {path.relative_to(self.root).as_posix(): path.read_text() for path in paths}
        self.seconds: dict[str, float] = {}
        self.tiers: dict[str, str] = {}
        self.left_out: set[str] = set()

    def warm_up(self) -> None:
        """Load what the tests do, and forget what is of the repository."""
        os.chdir(self.root)
        os.environ |= {"PYTHONPATH": str(self.root), "FAIRBENCH_SLOWNESS": "100"}
        sys.path[0] = str(self.root)  # and not benchmarks, whose names are those of tests
        for name in [name for name in sys.modules if name.startswith("fairbench_cli")]:
            del sys.modules[name]
        said = io.StringIO()
        with redirect_stdout(said):
            code = pytest.main([*OPTIONS, "--collect-only", "tests", "fairbench_cli"])
        if code:
            sys.exit(said.getvalue()[-2000:])
        sys.dont_write_bytecode = True
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if file.startswith(str(self.root)) or name.startswith("fairbench_cli"):
                del sys.modules[name]

    def fails(self, tests: list[str], share: float = 1.0, most: float | None = None) -> tuple[str, list[str]]:
        """Return the first test that fails in a fork, "import" if none begins, ""; and the slow ones."""
        self.log.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            self._run(tests, share, self.most if most is None else most)
        code = self._code(child)
        lines = [line.split("\t") for line in self.log.read_text().splitlines()] if self.log.exists() else []
        self.tiers |= {test: what for what, test in lines if what in TIERS}
        self.seconds |= {test: float(what) for what, test in lines if what[0].isdigit()}
        found = {
            kind: [test for what, test in lines if what == kind] for kind in ("failed", "slow", "given up")
        }
        if found["failed"]:
            return found["failed"][0], []
        if code in (0, 5) or found["given up"]:
            return "", found["slow"]
        return lines[-1][1] if lines else "import", []

    def _run(self, tests: list[str], share: float, most: float) -> None:
        """Run tests in this process, and end it."""
        code = 1
        try:
            os.setsid()
            limit = int(1.5 * self.most)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            for number in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(number, too_long)
            files = [test.partition("::")[0] for test in tests]
            code = int(pytest.main([*OPTIONS, *tests], plugins=[Watch(self, files, EACH * share, most)]))
        finally:
            os._exit(code)

    def _code(self, child: int) -> int:
        """Return how a fork ends; it and what it started end within the time."""
        end = time.monotonic() + 20 * self.most
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(done[1])

    def killer(self, mutant: Mutant) -> str:
        """Return the test that fails with a mutant in its place and passes without, or ""."""
        path = self.root / mutant.file
        source = path.read_bytes()
        changed = source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        tests = tests_of(mutant, self.texts)
        while True:
            path.write_bytes(changed)
            try:
                failed, slow = self.fails(tests, 1.5)
            finally:
                path.write_bytes(source)
            if failed == "import":
                return failed if self.fails(tests, most=0)[0] != "import" else ""
            if failed and self.fails([failed]) == ("", []):
                return failed
            for test in slow[:2]:  # or it waits for ever
                if self.fails([test]) == ("", []):
                    return test
            self.left_out |= {*slow, *filter(None, [failed])}
            if not failed:
                return ""


def drawn_again(rows: list[dict[str, str]]) -> list[Mutant]:
    """Return the mutants of rows that nothing killed, where their text still stands."""
    chosen = []
    for row in rows:
        path = ROOT / row["file"]
        if not row["killed_by"] and path.exists():
            same = [one for one in mutants(row["file"], path.read_bytes()) if one.change == row["change"]]
            chosen += sorted(same, key=lambda one: abs(one.line - int(row["line"])))[:1]
    return chosen


def main() -> None:
    """Print what becomes of some mutants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*")
    parser.add_argument("-n", type=int, default=50, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=25, help="CPU seconds of a mutant")
    parser.add_argument("--again", type=Path, help="what this has printed: try the survivors once more")
    given = parser.parse_args()
    if given.again:
        with given.again.open(newline="") as file:
            chosen = drawn_again(list(csv.DictReader(file)))
    else:
        shares = np.diff(np.linspace(0, given.n, len(given.rooms) + 1).astype(int))
        found = of_rooms(given.rooms)
        chosen = [one for i in range(len(found)) for one in sample(found[i], int(shares[i]), given.seed)]
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEADS)
    killed = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Tree(Path(folder), given.most)
        tree.warm_up()
        for mutant in chosen:
            start = sum(os.times()[:4])
            killer = tree.killer(mutant)
            killed += bool(killer)
            seconds = f"{sum(os.times()[:4]) - start:.1f}"
            tier = tree.tiers.get(killer, "")
            table.writerow((mutant.file, mutant.line, mutant.change, killer, tier, seconds))
            sys.stdout.flush()
    low, high = wilson_interval(killed, len(chosen))
    said = f"{killed} of {len(chosen)} mutants killed: {killed / len(chosen):.0%}"
    print(f"{said} (95 % interval {low:.0%} to {high:.0%})", file=sys.stderr)


if __name__ == "__main__":
    main()
