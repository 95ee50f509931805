"""Which tests run when: a test's tier follows from what it uses, and a budget of CPU seconds holds it there.

inner (`pytest`)
    Laws, goldens, units, one example of each kind of run and audit, in this process.
gate (`pytest -m gate`)
    What starts a process or a browser, reads a data file, makes a whole run, or needs all of the extra `dev`.
nightly (`pytest -m nightly`)
    Every test; simulated worlds, and pages of docs that did not change, run by night alone.

What a test uses is read off its code: the names in it, in its fixtures, and in what these call of the
tests' own functions. What it does is seen while it runs: a test that does more than its tier allows, or
takes longer, fails with the name of the tier it belongs to. `pytest.mark.gate` and `pytest.mark.nightly` put
a test that takes long higher up; nothing puts one lower.
"""

import ast
import functools
import inspect
import io
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from forking import load

TESTS = Path(__file__).parent
ROOT = TESTS.parent
STUDIES = ROOT / "benchmarks"
TIERS = ("inner", "gate", "nightly")
SECONDS = {"inner": 0.5, "gate": 10.0}
"""The most CPU seconds that a test may take, those of its fixtures and children among them."""
TIER_OF = {
    "a process": "gate",
    "a browser": "gate",
    "a data file": "gate",
    "a whole run": "gate",
    "a dear fixture": "gate",
    "a page that changed": "gate",
    "examples of a page": "gate",
    "a study": "gate",
    "a library of dev": "gate",
    "a page of docs": "nightly",
    "simulated worlds": "nightly",
}
MODULES = {
    "subprocess": "a process",
    "multiprocessing": "a process",
    "sphinx": "a page of docs",
    "distributed": "a process",
}
NAMES = {"fork": "a process", "posix_spawn": "a process", "chromium": "a browser", "launch": "a process"}
EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}


Function = TypeVar("Function", bound=Callable[..., Any])

# -- what a test does, seen while it runs

seen: set[str] = set()
"""What the test that runs at this moment has done, as far as a tier looks at it."""


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what Python reports of the test that runs: processes that start, data files that are opened."""
    if event in EVENTS:
        seen.add("a process")
    elif event == "open" and isinstance(arguments[0], str):
        folder = os.environ.get("FAIRBENCH_DATA")
        if folder and arguments[0].startswith(folder) and Path(folder, "SHA256SUMS").exists():
            seen.add("a data file")


def uses(what: str) -> Callable[[Function], Function]:
    """Say of a function of the tests what whoever calls it uses: a key of `TIER_OF`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def noted(*arguments: Any, **named: Any) -> Any:
            seen.add(what)
            return function(*arguments, **named)

        noted.used = {what}  # type: ignore[attr-defined]
        return cast("Function", noted)

    return decorate


# -- what a test uses, read off its code


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code, and that of the functions, lambdas and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner_codes(constant)


def texts(constants: Iterable[object]) -> Iterator[str]:
    """Yield the texts among the constants of a code, those in tuples among them."""
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from texts(constant)


@cache
def libraries_of_dev() -> set[str]:
    """Return the modules that tests ask for and that the extra `test` does not bring."""
    names = {
        "distributed",
        "hatchling",
        "jsonschema",
        "mlcroissant",
        "playwright",
        "polars",
        "pyarrow",
        "sphinx",
        "torch",
        "weasyprint",
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = set(re.findall(r"\w+", " ".join(extras["optional-dependencies"]["test"])))
    return names - brought


@dataclass
class Uses:
    """What was found that a test uses, and the code that has been read for it."""

    found: set[str] = field(default_factory=set)
    codes: set[CodeType] = field(default_factory=set)

    def read(self, function: object) -> None:
        """Read a function, and the functions of the tests that it names."""
        self.found |= getattr(function, "used", set())
        function = inspect.unwrap(cast("Any", function))
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
        if not isinstance(inner, FunctionType) or inner.__code__ in self.codes:
            return
        self.codes.add(inner.__code__)
        names: set[str] = set()
        said: set[str] = set()
        for code in inner_codes(inner.__code__):
            names |= {*code.co_names, *code.co_freevars}
            said |= set(texts(code.co_consts))
        self.found |= {MODULES[name] for name in names & set(MODULES)}
        self.found |= {NAMES[name] for name in names & set(NAMES)}
        asked = {text.partition(".")[0] for text in said} if "importorskip" in names else set()
        if (names | asked) & libraries_of_dev():
            self.found.add("a library of dev")
        says = "say" in {*names, *inner.__code__.co_varnames}
        if says and {"run", "verify"} & said and "two_lines" not in names:
            self.found.add("a whole run")
        if {"fb", "run"} <= names:
            self.found.add("a whole run")
        if "FAIRBENCH_DATA" in said and "environ" in names:
            self.found.add("a data file")
        for value in [
            *map(inner.__globals__.get, names),
            *(cell.cell_contents for cell in inner.__closure__ or ()),
        ]:
            self._read_value(value)

    def _read_value(self, value: object) -> None:
        if isinstance(value, ModuleType) and Path(getattr(value, "__file__", None) or ".").parent == STUDIES:
            self.found.add("a study")
        elif isinstance(value, type) and of_tests(value):
            for method in vars(value).values():
                self.read(method)
        elif callable(value) and of_tests(value):
            self.read(value)


def of_tests(value: object) -> bool:
    """Return whether a function or class is one of the tests' own."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return getattr(module, "__file__", None) is not None and Path(module.__file__).is_relative_to(TESTS)  # type: ignore[union-attr, arg-type]


EVERYWHERE = {"one_thread", "warm_database", "warm_server"}
"""Fixtures that start nothing until somebody needs it, and end it."""


@cache
def needed_by_file(path: Path) -> frozenset[str]:
    """Return what a whole file of tests asks for at its top."""
    top = re.findall(
        r"^(?:\w+ = )?pytest\.importorskip\(\"(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return frozenset({"a library of dev"} if set(top) & libraries_of_dev() else ())


def used_by(item: pytest.Item) -> set[str]:
    """Return what a test uses, by its code, its fixtures, and what these call of the tests' own functions."""
    if not isinstance(item, pytest.Function):  # a doctest: of the package, or of a page
        return set()
    reading = Uses(set(needed_by_file(item.path)))
    for mark in item.iter_markers("usefixtures"):
        reading.found |= {"a process"} if "warm_server" in mark.args else set()
    for mark in item.iter_markers("skipif"):
        reason = str(mark.kwargs.get("reason", ""))
        reading.found |= {"a data file"} if "FAIRBENCH_DATA" in reason else set()
        reading.found |= {"a library of dev"} if re.match(r"needs (torch|dask)", reason) else set()
    reading.read(item.function)
    definitions = item._fixtureinfo.name2fixturedefs
    for name in set(item.fixturenames) - EVERYWHERE:
        for definition in definitions.get(name, ()):
            reading.read(definition.func)
            reading.found |= {NAMES[name]} if name in NAMES else set()
    return reading.found


def highest(tiers: Iterable[str]) -> str:
    """Return the highest of some tiers."""
    return max(tiers, key=TIERS.index, default="inner")


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: of what it uses and of its marks, the highest."""
    marked = [name for name in TIERS[1:] if item.get_closest_marker(name)]
    used = used_by(item)
    page = getattr(item, "callspec", None) and item.callspec.params.get("page")
    if "a page of docs" in used and isinstance(page, Path) and page_changed(page):
        used = used - {"a page of docs"} | {"a page that changed"}
        item.stash[CHANGED] = True
    if item.path.suffix == ".md":
        used = {"examples of a page"}
    return highest(["inner", *marked, *(TIER_OF[what] for what in used)])


TIER = pytest.StashKey[str]()
CHANGED = pytest.StashKey[bool]()
"""Whether a test runs a page that changed of late."""


# -- what changed


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints in this checkout; none where there is no git."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


@cache
def changed_files(since: str) -> frozenset[str]:
    """Return the files that differ from a commit, those that git does not know yet among them."""
    return frozenset([*git("diff", "--name-only", since), *git("ls-files", "-o", "--exclude-standard")])


@cache
def changed_of_late() -> frozenset[str]:
    """Return the files that differ from `FAIRBENCH_BASE`, or the last commit half a day before this one."""
    base = os.environ.get("FAIRBENCH_BASE")
    if not base:
        last = git("log", "-1", "--format=%ct") or ["0"]
        older = git("rev-list", "-1", f"--before={int(last[0]) - 12 * 3600}", "HEAD")
        base = older[0] if older else "HEAD"
    return changed_files(base)


def page_changed(page: Path) -> bool:
    """Return whether a page changed of late, or a config, card, script or command that it names."""
    text = page.read_text(encoding="utf-8")
    named = {f"configs/{name}" for name in re.findall(r"configs/([\w/.-]+\.yaml)", text)}
    named |= {f"fairbench_cli/cli/{name}.py" for name in re.findall(r"^fairbench (\w+)", text, re.MULTILINE)}
    named |= {
        f"fairbench_cli/cli/{name}_command.py" for name in re.findall(r"^fairbench (\w+)", text, re.MULTILINE)
    }
    named |= set(re.findall(r"(?:benchmarks|fairbench_cli)/[\w/]+\.py", text))
    return bool({page.relative_to(ROOT).as_posix(), *named} & changed_of_late())


ALWAYS = {"test_architecture.py", "test_style.py"}


def imported_by_test(path: Path) -> set[str]:
    """Return the files of the package that a file of tests imports anywhere."""
    from test_architecture import path_of

    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {path_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                path_of(f"{node.module}.{alias.name}") or path_of(str(node.module)) for alias in node.names
            }
    return {file for file in found if file}


def touched_tests(since: str) -> set[Path]:
    """Return the files of tests that changes since a commit touch.

    A file of the package touches the tests of its room, and in the rooms above it those that import what
    needs it, or a command line; a file of tests touches itself, and those that import it.
    """
    from test_architecture import FLOORS, arrows

    changed = {Path(name) for name in changed_files(since)}
    package = {
        path.relative_to("fairbench_cli").as_posix() for path in changed if path.parts[0] == "fairbench_cli"
    }
    rooms = {name.partition("/")[0] for name in package if "/" in name}
    needing = set(package)
    waiting = list(package)
    while waiting:
        file = waiting.pop()
        new = {other for other, needed in arrows().items() if file in needed} - needing
        needing |= new
        waiting += new
    helpers = {
        path.stem for path in changed if path.parts[0] == "tests" and not path.name.startswith("test_")
    }
    touched = {ROOT / path for path in changed if path.parts[0] == "tests"}
    for path in TESTS.rglob("test_*.py"):
        room = path.relative_to(TESTS).parts[0]
        text = path.read_text(encoding="utf-8")
        above = any(FLOORS.get(room, 99) > FLOORS[own] for own in rooms)
        reaches = bool(imported_by_test(path) & needing) or re.search(r"\b(say|fairbench)\(", text)
        uses_helper = any(
            re.search(rf"^from {name} import", text, re.MULTILINE) for name in helpers - {"conftest"}
        )
        if path.name in ALWAYS or room in rooms or (above and reaches) or uses_helper:
            touched.add(path)
    return touched


# -- hooks


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--changed`."""
    parser.addoption(
        "--changed",
        nargs="?",
        const="HEAD",
        metavar="COMMIT",
        help="run the tests of the rooms that changes since a commit (HEAD) touch, and of those above",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch what tests do; a test that is named alone runs whatever its tier."""
    for name in TIERS:
        config.addinivalue_line("markers", f"{name}: a tier of tests (tests/tiers.py)")
    asked = config.invocation_params.args
    if "-m" not in asked and config.args and all("::" in str(name) for name in config.args):
        config.option.markexpr = ""
    sys.addaudithook(watch)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what changes do not touch, where only what they touch is asked for."""
    since = config.getoption("--changed")
    if since is None or collection_path.is_dir():
        return None
    if collection_path.is_relative_to(TESTS):
        return None if collection_path in touched(since) else True
    changed = collection_path.relative_to(ROOT).as_posix() in changed_files(since)
    return None if changed else True


@cache
def touched(since: str) -> set[Path]:
    """Return the files of tests that changes touch, looked for once."""
    return touched_tests(since)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test the mark of its tier alone, and that of the night, which runs all."""
    for item in items:
        item.stash[TIER] = tier_of(item)
    for item in items:
        for node in item.listchain():
            node.own_markers = [mark for mark in node.own_markers if mark.name not in TIERS]
    for item in items:
        item.add_marker(item.stash[TIER])
        item.add_marker("nightly")


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


@dataclass
class Clock:
    """When a test began, in CPU seconds; what fixtures that others share took of it."""

    began: float = 0.0
    shared: float = 0.0
    dearest: tuple[float, str] = (0.0, "")


CLOCK = Clock()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Begin to look at what a test does."""
    warm(item.session)
    seen.clear()
    CLOCK.began, CLOCK.shared, CLOCK.dearest = cpu_seconds(), 0.0, (0.0, "")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Tell what a fixture takes that tests share; those of a session are nobody's."""
    began, before = cpu_seconds(), CLOCK.shared
    made = yield
    if fixturedef.scope != "function":
        taken = cpu_seconds() - began
        CLOCK.shared = before + taken
        if fixturedef.scope != "session":
            CLOCK.dearest = max(CLOCK.dearest, (taken, fixturedef.argname))
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that did what its tier does not allow, or took longer."""
    yield
    taken = cpu_seconds() - CLOCK.began - CLOCK.shared
    if CHANGED in item.stash:  # however long the page is
        seen.discard("a page of docs")
    room = 1 if is_warm(item.session) else COLD
    wrong = excess(item.stash[TIER], 0.0 if CHANGED in item.stash else taken, room)
    if wrong:
        pytest.fail(wrong, pytrace=False)


def excess(tier: str, taken: float, room: float) -> str:
    """Return what a test did that is above its tier, and where it belongs; nothing where all is well."""
    for what in sorted(seen):
        if TIERS.index(TIER_OF[what]) > TIERS.index(tier):
            return f"uses {what}, which is of the tier {TIER_OF[what]}, not {tier}"
    allowed = SECONDS.get(tier, float("inf")) * room * float(os.environ.get("FAIRBENCH_SLOWNESS") or 1)
    for seconds, name in ((taken, "the test"), CLOCK.dearest):
        if seconds > allowed:
            above = next((one for one in SECONDS if seconds <= SECONDS[one]), "nightly")
            return (
                f"{name} took {seconds:.2f} CPU seconds, more than the {allowed:.2g} of the tier {tier}: "
                f"make it cheaper, or mark it @pytest.mark.{above}"
            )
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that lacks what is there: with FAIRBENCH_ALL_THERE, nothing may be missing."""
    report = yield
    if report.skipped and os.environ.get("FAIRBENCH_ALL_THERE") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        is_there = "FAIRBENCH_DATA" not in reason or os.environ.get("FAIRBENCH_DATA")
        if LACKS.match(reason) and is_there:
            report.outcome = "failed"
            report.longrepr = f"skipped, though all that it needs was installed: {reason}"
    return report


LACKS = re.compile(r"needs |could not import")
"""How a reason begins where a test is skipped for want of something that can be installed."""


@cache
def warm(session: pytest.Session) -> None:
    """Load what the first test of each kind would pay for, before tests are timed."""
    if is_warm(session):
        import scipy.stats  # noqa: F401
        from hypothesis import strategies
        from matplotlib.figure import Figure

        from fairbench_cli.measures.splits import draw_splits

        rows = np.arange(40.0)
        draw_splits(rows, rows, 2)  # which is compiled
        load()
        strategies.text().validate()  # in a fresh checkout it makes a table of all characters
        Figure().savefig(io.BytesIO(), format="svg")


def is_warm(session: pytest.Session) -> bool:
    """Return whether there are so many tests that what the first of a kind would pay for is loaded before."""
    return len(session.items) >= FEW


FEW = 50
COLD = 4
"""How many times the seconds a test may take among few tests, where it may be the one that loads all."""
