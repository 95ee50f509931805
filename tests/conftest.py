"""What several tests share: small configs, command lines in this process and in one of their own."""

import atexit
import csv
import gc
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest
import yaml
from browser import browser_page, chromium, console  # noqa: F401
from forking import Nursery
from hypothesis import settings
from threadpoolctl import threadpool_limits
from tiers import uses

from fairbench_cli.audit.scan import open as scan_open
from fairbench_cli.audit.scan import source as scan_source
from fairbench_cli.cli.app import run as run_here
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.running import pool
from fairbench_cli.experiment.running.server import FORKS, ForkServer

if TYPE_CHECKING:
    from fairbench_cli.experiment.plan import RunPlan

collect_ignore = ["plugin"]  # the misbehaving techniques belong into processes of their own

PLUGIN = Path(__file__).parent / "plugin"

# Libraries that are loaded later ask these; `one_thread` sees to those that are here by now.
WITH_ONE_THREAD = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} - os.environ.keys()
os.environ.update(dict.fromkeys(WITH_ONE_THREAD, "1"))

SMALL = {
    "name": "small",
    "seed": 7,
    "repeats": 2,
    "datasets": ["compas"],
    "sample": {"from": "shipped", "beta": [0, 1], "size": 500},
    "test": "network",
    "interventions": ["none", "massaging", "uniform-sampling"],
    "classifiers": ["tree"],
    "metrics": ["discrimination", "accuracy", "overestimation", "underestimation"],
}


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Compute as workers do: on two busy cores, threads that wait for each other take minutes."""
    with threadpool_limits(1):
        yield
    if nursery.cache_info().currsize:
        nursery().end()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage among what tests make, and seldom: nothing that is imported and collected goes."""
    gc.disable()
    done = yield
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()
    atexit.register(gc.unfreeze)  # else libraries in C complain of what is left at the end
    return done


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell that runs the tests in the background does so
    signal.signal(signal.SIGINT, signal.default_int_handler)


def write_config(path: Path, **changes: object) -> Path:
    """Write a small experiment on a shipped network, with some keys changed."""
    path.write_text(yaml.safe_dump(SMALL | changes, sort_keys=False), encoding="utf-8")
    return path


def environment(**more: str) -> dict[str, str]:
    """This environment with the misbehaving techniques registered and nothing that forces colours."""
    not_theirs = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "COLUMNS", "CLICOLOR_FORCE", *WITH_ONE_THREAD}
    plain = {key: value for key, value in os.environ.items() if key not in not_theirs}
    path = os.pathsep.join(filter(None, [str(PLUGIN), os.environ.get("PYTHONPATH")]))
    return plain | {"PYTHONPATH": path} | more


@uses("a process")
def executed(*arguments: str | Path, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own, from the start of Python on."""
    command = [sys.executable, "-m", "fairbench_cli", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(**env), capture_output=True, text=True, check=False, timeout=240
    )


ONE_BIRTH = Lock()


@cache
def nursery() -> Nursery:
    """Return the process that forks the command lines of this session."""
    return Nursery(environment())


@uses("a process")
def fairbench(
    *arguments: str | Path, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own, which is forked after the imports."""
    if sys.platform != "linux":
        return executed(*arguments, cwd=cwd, **env)
    command = list(map(str, arguments))
    with ONE_BIRTH:  # of threads that start some at once, the first makes the nursery
        process = nursery().start(command, cwd, environment(**env))
    try:
        out, err = process.communicate(timeout=240)
    finally:
        process.kill()
    return subprocess.CompletedProcess(command, process.wait(), out, err)


STUDIES = Path(__file__).parents[1] / "benchmarks"


@uses("a study")
def study_of(name: str, folder: Path = STUDIES) -> ModuleType:
    """Return a study of benchmarks/ as a module; or another script."""
    spec = importlib.util.spec_from_file_location(f"{name}_study", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def seed_of_today() -> int:
    """Return the seed of random studies, which try other cases every day; FAIRBENCH_SEED repeats a day's."""
    given = os.environ.get("FAIRBENCH_SEED")
    return int(given) if given else datetime.now(UTC).toordinal()


DERIVED = ("groups.csv", "results.csv", "summary.csv")
SAID = ("answer.md", "report.html")


def derived(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file that is derived from the journal."""
    tables = sorted(path.relative_to(folder).as_posix() for path in (folder / "tables").iterdir())
    kept = sorted(path.relative_to(folder).as_posix() for path in folder.glob("predictions/*"))
    found = {name: (folder / name).read_bytes() for name in (*DERIVED, *SAID, *tables, *kept)}
    page = found["report.html"].decode()
    before, provenance, after = page.partition('<section aria-labelledby="provenance">')
    assert provenance
    return found | {"report.html": (before + after.partition("</section>")[2]).encode()}


def journal_lines(folder: Path) -> list[str]:
    """Return the lines of all journals of a results folder, without their headers."""
    lines = [
        line for path in sorted(folder.glob("journal/*.jsonl")) for line in path.read_text().splitlines()
    ]
    return [line for line in lines if not line.startswith('{"journal"')]


def edit_lines(folder: Path, change: Callable[[dict[str, Any]], object], number: int | None = None) -> None:
    """Change the repeats of a journal, or one line, as somebody who knows its checksums."""
    from fairbench_cli.experiment.journal.journal import sealed

    (path,) = folder.glob("journal/*.jsonl")
    lines = path.read_bytes().splitlines()
    for i in range(1, len(lines)) if number is None else [number]:
        row = json.loads(lines[i])
        del row["crc"]
        change(row)
        lines[i] = sealed(json.dumps(row))
    path.write_bytes(b"\n".join([*lines, b""]))


# How many examples of a law are tried, against what it says: .3 of them by day, ten times as many at night.
EXAMPLES = float(os.environ.get("FAIRBENCH_EXAMPLES") or 0.3)


def scaled(examples: int) -> int:
    """Return how many examples are tried of so many."""
    return max(1, round(examples * EXAMPLES))


settings.register_profile(  # by day the same examples each time
    "scaled", max_examples=scaled(100), deadline=None, derandomize=EXAMPLES <= 1
)
settings.load_profile("scaled")


def law(examples: int, **more: Any) -> settings:
    """Return how a law is tried: on so many examples, scaled, each of which may take its time."""
    return settings(max_examples=scaled(examples), deadline=None, **more)


def most_by_chance(n: int, level: float) -> int:
    """Return how many of `n` come with a probability of `level` each: more come once in 100, or in 1,000."""
    from scipy.stats import binom

    return int(binom.ppf(0.99 if n >= 1000 else 0.999, n, level))


@uses("simulated worlds")
def worlds(n: int) -> range:
    """Return the worlds that a test of a level simulates: `n` at night, when it runs, fewer by day."""
    return range(max(20, round(n * min(1.0, EXAMPLES))))


def some_of(cases: Sequence[Any], examples: int, start: int = 0) -> list[Any]:
    """Return so many of a law's cases, scaled, evenly; another `start` gives others, in the end all."""
    n_cases = min(len(cases), scaled(examples))
    return [cases[(start + len(cases) * i // n_cases) % len(cases)] for i in range(n_cases)]


@dataclass(frozen=True)
class Said:
    """What a command line printed, and its exit code."""

    code: int
    out: str
    err: str


class Shared(ForkServer):
    """A fork server that outlives the runs in this process."""

    def end(self) -> None:
        """Leave it for the next."""


@pytest.fixture(scope="session")
def warm_server() -> Iterator[None]:
    """Keep one fork server for the runs in this process, once one needs it: each would load numba again.

    What its workers see of the environment is what it was here; processes of `fairbench` have servers of
    their own.
    """
    if not FORKS:
        yield
        return
    servers: list[Shared] = []

    def shared(*_: object) -> Shared:
        if not servers:
            servers.append(Shared(["c45", "naive-bayes", "tree"]))
        return servers[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "ForkServer", shared)
        yield
    for server in servers:
        ForkServer.end(server)


@pytest.fixture(autouse=True, scope="session")
def warm_database() -> Iterator[None]:
    """Keep one DuckDB for the audits in this process, each with a connection of its own.

    To start one takes as long as a small audit, and what a connection makes and sets ends with it. What is of
    all connections is set anew for each audit: the limits, and the table of the file that it compares with.
    """
    databases: list[duckdb.DuckDBPyConnection] = []
    process = os.getpid()

    @contextmanager
    def connect(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        if os.getpid() != process:  # a fork has none of its threads
            with scan_source.start_database(folder) as database:
                yield database
            return
        if not databases:
            databases.append(scan_source.start_database(folder))
        with databases[0].cursor() as connection:
            connection.execute(f"SET memory_limit='{scan_source.MEMORY}MiB'")
            spill = str(folder / "spill").replace("'", "''")
            connection.execute(f"SET temp_directory='{spill}'")
            try:
                yield connection
            finally:
                connection.execute("DROP TABLE IF EXISTS baseline")
                if (folder / "spill").exists():  # written to: no other folder can be set any more
                    databases.pop().close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_open, "start_database", connect)
        yield
    for database in databases:
        database.close()


@pytest.fixture
def say(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    warm_server: None,
) -> Callable[..., Said]:
    """Run command lines in this process (quicker), inside an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Said:
        capsys.readouterr()
        code = run_here([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Said(code, printed.out, printed.err)

    return call


@dataclass(frozen=True)
class Finished:
    """A small run that is over; do not write into its folder."""

    config: Path
    folder: Path
    process: subprocess.CompletedProcess[str]


def plain_cell(**changes: Any) -> dict[str, Any]:
    """Return a cell of a plan: a tree without a technique, but for the changes."""
    return {
        "key": "k", "dataset": "d", "attribute": "s", "representation": "original", "beta": 0.0,
        "intervention": "none", "parameters": "{}", "include_protected": False, "classifier": "tree",
        "world": "", "classifier_parameters": "{}",
    } | changes  # fmt: skip


def run_plan(
    cells: list[dict[str, Any]], datasets: list[dict[str, Any]], source: str = "network", **keys: Any
) -> "RunPlan":
    """Return the plan of a run that never was: `keys` are those of the config that matter to its report."""
    from fairbench_cli.experiment.config.components import ComponentSpec, TechniqueSpec
    from fairbench_cli.experiment.config.config import DatasetSpec, ExperimentConfig, SampleConfig
    from fairbench_cli.experiment.plan import RunPlan
    from fairbench_cli.measures.counts import PAIR

    pairs = dict.fromkeys((cell["dataset"], cell["attribute"]) for cell in cells)
    given = {
        "name": "x",
        "datasets": tuple(
            DatasetSpec.model_validate({"card": name, "as": name, "attribute": (of,)})
            for name, of in pairs or [("x", "s")]
        ),
        "interventions": (TechniqueSpec(ComponentSpec("none"), include_protected=False),),
        "sample": SampleConfig.model_validate({"from": source}),
        "test": "holdout" if source == "data" else "original",
    }
    for dataset, attribute in pairs:
        levels = {"levels": PAIR, "deprived": PAIR[:1], "favoured": PAIR[1:]}
        made_up = {"dataset": dataset, "attribute": attribute, "edited_column": attribute}
        known = next((one for one in datasets if one["dataset"] == dataset), {})
        made_up |= {"arc_to_outcome": True, "protected": [{"name": attribute} | levels]} | known
        datasets = [made_up, *(one for one in datasets if one is not known)]
    return RunPlan(ExperimentConfig.model_validate(given | keys), datasets, cells)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One small run with one worker, shared by all who only read it."""
    base = tmp_path_factory.mktemp("finished")
    config = write_config(base / "small.yaml")
    process = fairbench("run", config, "-o", base / "out", "--jobs", "1")
    assert process.returncode == 0, process.stderr
    return Finished(config, base / "out", process)


@pytest.fixture(scope="session")
def pl() -> ModuleType:
    """Polars, or a visible skip."""
    return pytest.importorskip("polars", reason="needs Polars: pip install '.[dev]'")


@pytest.fixture(scope="session")
def pa() -> ModuleType:
    """Arrow, which pandas also writes Parquet with, or a visible skip."""
    return pytest.importorskip("pyarrow", reason="needs pyarrow: pip install '.[dev]'")


@pytest.fixture(scope="session")
def pdf() -> None:
    """What writes PDF, or a visible skip."""
    try:
        import weasyprint  # noqa: F401
    except (ImportError, OSError) as error:
        pytest.skip(f"needs WeasyPrint and Pango: pip install 'fairbench-cli[pdf]' ({error})")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data files, or a visible skip."""
    folder = os.environ.get("FAIRBENCH_DATA")
    if not folder:
        pytest.skip("needs the real data files: set FAIRBENCH_DATA")
    return Path(folder)


def write_parquet(frame: Any, path: Path) -> None:
    """Write a data frame without its index, by DuckDB."""
    with duckdb.connect() as connection:
        connection.from_df(frame).write_parquet(str(path))


def plain(text: str) -> None:
    """Check that text is fit for a pipe: no colours, 80 columns, no spaces at the end of lines."""
    assert "\x1b" not in text
    for line in text.splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip(), repr(line)


def two_lines(done, *words: str) -> None:
    """Check that the one mistake is reported, in words that hold all of `words`."""
    assert done.code == 2, done
    assert re.fullmatch(r"(.+: )?error: [^\n]+\n  fix: [^\n]+\n", done.err), done.err
    for word in words:
        assert word in done.err, done.err
    assert done.out == ""


def own_card(tmp_path: Path, name: str = "card.yaml", **changes) -> Path:
    """Copy a shipped card and its network, with some keys of the card changed."""
    path = tmp_path / name
    card = yaml.safe_load((shipped_cards() / "compas.yaml").read_text())
    del card["expected"]  # facts of the shipped card's groups
    path.write_text(yaml.safe_dump(card | changes, sort_keys=False))
    shutil.copy(shipped_cards() / "compas.network.json", tmp_path / f"{path.stem}.network.json")
    return path


def bare_data(tmp_path: Path, name: str, *, flip: bool = False, swap: bool = False) -> Path:
    """A card over a small CSV; `flip` changes one cell of the data, `swap` the order of the columns."""
    rng = np.random.default_rng(0)
    s, x = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    y = (rng.random(300) < 0.2 + 0.5 * s).astype(int)
    y[0] ^= flip
    (tmp_path / f"{name}.csv").write_text(
        "s,x,y\n" + "".join(f"{'fm'[a]},{b},{c}\n" for a, b, c in zip(s, x, y, strict=True))
    )
    columns = {"s": "nominal", "y": "nominal", "x": "nominal"}
    card = {
        "name": "toy",
        "files": [f"{name}.csv"],
        "other_columns": "drop",
        "columns": dict(reversed(columns.items())) if swap else columns,
        "label": {"column": "y", "favourable": "1"},
        "protected": {"s": {"deprived": "f"}},
    }
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(card, sort_keys=False))
    return path


LEARNED = {"from": "network", "beta": [0.5], "size": 200, "missing_arc": "leave"}


HEAVY = {"torch", "pomegranate", "sklearn", "numba", "matplotlib"}


def modules_after(*commands: Sequence[str | Path], cwd: Path) -> list[set[str]]:
    """Return which modules a new process has loaded after each of some command lines."""
    calls = [f"assert run({list(map(str, command))!r}) == 0" for command in commands]
    return loaded_by("from fairbench_cli.cli.app import run", *calls, cwd=cwd)[1:]


@uses("a process")
def loaded_by(*steps: str, cwd: Path | None = None) -> list[set[str]]:
    """Return which modules a new process has loaded after each of some pieces of code."""
    code = "\nprint('\\nMODULES', *sys.modules)\n".join(["import sys", *steps, ""])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment(), capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("MODULES ")]
    return [set(names) for _, *names in lines][1:]


@pytest.fixture(scope="module")
def compas_rows(data_folder, tmp_path_factory):
    """ProPublica's 6,172 rows."""
    path = tmp_path_factory.mktemp("compas") / "compas.csv"
    with (data_folder / "compas-scores-two-years.csv").open(newline="") as file:
        kept = [
            row
            for row in csv.DictReader(file)
            if row["days_b_screening_arrest"]
            and abs(float(row["days_b_screening_arrest"])) <= 30
            and row["is_recid"] != "-1"
            and row["c_charge_degree"] != "O"
            and row["score_text"] != "N/A"
        ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "label_value", "race", "sex", "age_cat"])
        for row in kept:
            high = int(int(row["decile_score"]) >= 5)
            writer.writerow([high, row["two_year_recid"], row["race"], row["sex"], row["age_cat"]])
    assert len(kept) == 6172
    return path
