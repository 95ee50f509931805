"""A pool runs tasks on workers that have a pipe each; what befalls one worker befalls its task alone."""

import ast
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import environment, fairbench, journal_lines, write_config

import fairbench_cli
from fairbench_cli.experiment.cell import Repeat, run_repeat
from fairbench_cli.experiment.config.config import Limits
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running import pool, worker
from fairbench_cli.experiment.running.inline import InlinePool, needs_workers
from fairbench_cli.experiment.running.pool import MOST_PRINTED, LocalPool
from fairbench_cli.experiment.running.processes import ONE_THREAD, launch, memory_of
from fairbench_cli.experiment.running.run import prepare
from fairbench_cli.experiment.running.server import ForkServer
from fairbench_cli.experiment.running.worker import Task, one_line, run_task, run_within

SLOW = "import time\n\n\nclass Slow:\n    def fit(self, train, classifier, rng):\n        time.sleep(20)\n"
MINE = '''
import os
import signal
import subprocess
import time
from dataclasses import dataclass

from fairbench_cli import Fitted


@dataclass(frozen=True)
class Prints:
    """Prints more than is kept, in bytes that are no text."""

    def fit(self, train, classifier, rng):
        os.write(1, "één\\n".encode() + b"\\xff\\n" + b"x" * 30_000)
        return Fitted(classifier.fit(train))


@dataclass(frozen=True)
class Dies:
    """Says so, and ends its process when nobody holds it back."""

    def fit(self, train, classifier, rng):
        os.write(2, b"last words\\n")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class DiesOnce:
    """Ends its process the first time."""

    def fit(self, train, classifier, rng):
        try:
            os.close(os.open("died", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return Fitted(classifier.fit(train))
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Holds:
    """Leaves a process that holds the pipe of its worker open, and ends."""

    def fit(self, train, classifier, rng):
        if os.fork() == 0:
            os.setsid()
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Leaves:
    """Leaves a program that inherits what is open, and ends."""

    def fit(self, train, classifier, rng):
        os.system("setsid sleep 30 &")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Parent:
    """Starts a program, notes its number, and ends or waits."""

    then: str = "KILL"

    def fit(self, train, classifier, rng):
        child = subprocess.Popen(["sleep", "300"])
        with open("children", "a") as file:
            file.write(f"{child.pid}\\n")
        if self.then != "waits":
            os.kill(os.getpid(), getattr(signal, f"SIG{self.then}"))
        time.sleep(300)


@dataclass(frozen=True)
class Server:
    """Ends the process that forked its own."""

    def fit(self, train, classifier, rng):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)
'''


def prepared_run(folder: Path, *techniques: str, repeats: int = 1, **changes):
    (folder / "mine.py").write_text(MINE)
    (folder / "slow.py").write_text(SLOW)
    sample = {"from": "shipped", "beta": [0.5], "size": 300}
    named = [one if one.islower() else f"./mine.py:{one}" for one in techniques]
    config = write_config(folder / "run.yaml", repeats=repeats, sample=sample, interventions=named, **changes)
    return prepare(config, folder=folder / "out")


def tasks_of(prepared) -> list[Task]:
    population = populate(prepared.datasets[0], prepared.config, prepared.folder)
    return [Task(cell, repeat, population) for cell, repeat in prepared.todo()]


def by_technique(found, tasks) -> dict[str, list]:
    found = list(found)
    names = {task.cell.key: task.cell.technique.spec.name.rpartition(":")[2] for task in tasks}
    return {name: [one for one in found if names[one.key] == name] for name in names.values()}


@pytest.mark.usefixtures("warm_server")
@pytest.mark.parametrize("jobs", [1, 3])
def test_outcomes_are_what_tasks_do_here_and_a_pool_serves_twice(tmp_path, jobs):
    prepared = prepared_run(tmp_path, "none", "massaging", repeats=4)
    tasks = tasks_of(prepared)
    wanted = {(task.cell.key, task.repeat): run_task(task) for task in tasks}
    with LocalPool(prepared.config, jobs) as workers:
        for _ in range(2):
            found = list(workers.outcomes(iter(tasks)))
            assert len(found) == len(tasks)
            for one in found:
                assert one.status == "ok"
                assert (one.counts.n == wanted[one.key, one.repeat].counts.n).all()
        assert list(workers.outcomes([])) == []


@pytest.mark.usefixtures("warm_server")
def test_a_task_is_taken_when_a_worker_is_free_and_its_outcome_before_it_was_taken(tmp_path):
    prepared = prepared_run(tmp_path, "none", repeats=12)
    tasks, taken = tasks_of(prepared), []

    def given():
        for task in tasks:
            taken.append(task)
            yield task

    with LocalPool(prepared.config, 2) as workers:
        for n, _ in enumerate(workers.outcomes(given()), 1):
            time.sleep(0.1)  # workers would compute meanwhile
            assert len(taken) <= n + 2 + 2  # what runs, and what joblib looks ahead
            out = [worker.job for worker in workers._workers if worker.job]
            assert len(out) <= 2


@pytest.mark.usefixtures("warm_server")
def test_a_pool_that_is_left_early_has_no_workers_and_says_nothing(tmp_path, recwarn):
    prepared = prepared_run(tmp_path, "none", repeats=9)
    with LocalPool(prepared.config, 2) as workers:
        found = workers.outcomes(tasks_of(prepared))
        next(found)
        pids = [worker.pid for worker in workers._workers]
        found.close()
        again = list(workers.outcomes(tasks_of(prepared)))
        assert len(again) == 9
    assert not [str(one.message) for one in recwarn if "processed" in str(one.message)]
    end = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.usefixtures("warm_server")
def test_deaths_belong_to_one_task_and_prints_are_kept_under_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepared = prepared_run(tmp_path, "Dies", "DiesOnce", "Prints", "none")
    tasks, log = tasks_of(prepared), tmp_path / "log.txt"
    with LocalPool(prepared.config, 2, log=log) as workers:
        found = by_technique(workers.outcomes(tasks), tasks)
    assert [one.status for one in found["Dies"]] == ["killed"]
    assert found["Dies"][0].reason == pool.DIED
    for name in ("DiesOnce", "Prints", "none"):
        assert [one.status for one in found[name]] == ["ok"], name
    text = log.read_text()
    assert text.count("Dies, tree, repeat 0\nlast words\n") == 2  # as often as it was tried
    assert f"\néén\n�\n{'x' * (MOST_PRINTED - 8)}\n… and 10008 more bytes\n" in text


@pytest.mark.gate
@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server")
def test_a_pipe_that_somebody_holds_open_and_a_dead_server(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "ForkServer", ForkServer)
    prepared = prepared_run(tmp_path, "Holds", "none", repeats=2)
    tasks = tasks_of(prepared)
    start = time.monotonic()
    with LocalPool(prepared.config, 2) as workers:
        found = by_technique(workers.outcomes(tasks), tasks)
        assert [one.status for one in found["Holds"]] == ["killed"] * 2
        assert [one.status for one in found["none"]] == ["ok"] * 2
        assert time.monotonic() - start < 30
        server = workers._server._process
        server.kill()
        server.wait()
        assert len(list(workers.outcomes(tasks[1:2]))) == 1


@pytest.mark.gate
@pytest.mark.usefixtures("warm_server")
@pytest.mark.skipif(sys.platform != "linux", reason="there is no setsid")
@pytest.mark.parametrize("forks", [True, False])
def test_a_program_that_outlives_its_worker_does_not_hold_its_pipe(tmp_path, monkeypatch, forks):
    monkeypatch.setattr(pool, "FORKS", forks)
    prepared = prepared_run(tmp_path, "Leaves")
    tasks = tasks_of(prepared)
    start = time.monotonic()
    with LocalPool(prepared.config, 1) as workers:
        assert [one.status for one in workers.outcomes(tasks)] == ["killed"]
    assert time.monotonic() - start < 20


def wait_for(ready, seconds: float = 30) -> bool:
    """Return whether something became true within some seconds."""
    end = time.monotonic() + seconds
    while not ready() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(ready())


def state_of(pid: int) -> str:
    """Return the letter that Linux has for what a process does; none where it has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return "" if state in "ZX" else state


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(folder: Path, n: int) -> list[int]:
    """Return the numbers of the first n programs that `Parent` has started."""
    noted = folder / "children"
    assert wait_for(lambda: noted.exists() and noted.read_text().count("\n") >= n)
    return list(map(int, noted.read_text().split()))


@pytest.mark.usefixtures("warm_server")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("how", ["KILL", "SEGV", "ABRT"])
def test_what_a_technique_started_ends_with_its_worker(tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    run = write_config(tmp_path / "run.yaml", repeats=1, interventions=[{"./mine.py:Parent": {"then": how}}])
    prepared = prepare(run, folder=tmp_path / "out")
    with LocalPool(prepared.config, 1) as workers:
        assert [one.status for one in workers.outcomes(tasks_of(prepared)[:1])] == ["killed"]
        assert wait_for(lambda: not any(map(state_of, children_of(tmp_path, 2))), 5)


@pytest.fixture
def waiting(tmp_path):
    """A run whose two workers have each started a program, and wait: the run, its server, the programs."""
    (tmp_path / "mine.py").write_text(MINE)
    techniques = [{"./mine.py:Parent": {"then": "waits"}}]
    write_config(tmp_path / "run.yaml", repeats=2, interventions=techniques)
    command = [sys.executable, "-m", "fairbench_cli", "run", "run.yaml", "-o", "out", "-j", "2"]
    with (tmp_path / "log").open("wb") as log:
        run = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=log, stderr=log)
    try:
        children = children_of(tmp_path, 2)
        workers = list(map(parent_of, children))
        (server,) = set(map(parent_of, workers))
        yield run, server, [*workers, *children]
    finally:
        run.kill()
        run.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize(("stopped", "number"), [(False, "KILL"), (True, "KILL"), (True, "TERM")])
def test_a_run_that_ends_leaves_nothing_also_where_its_server_is_stopped(waiting, stopped, number):
    run, server, others = waiting
    if stopped:
        os.kill(server, signal.SIGSTOP)
        assert wait_for(lambda: state_of(server) == "T", 5)
    run.send_signal(getattr(signal, f"SIG{number}"))
    assert run.wait(30) == (143 if number == "TERM" else -signal.SIGKILL)
    assert wait_for(lambda: not any(map(state_of, (server, *others))), 10)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_a_killed_server_leaves_nothing_also_where_the_run_cannot_see_to_it(waiting):
    run, server, others = waiting
    run.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: state_of(run.pid) == "T", 5)
    os.kill(server, signal.SIGKILL)
    assert wait_for(lambda: not any(map(state_of, (server, *others))), 10)
    assert state_of(run.pid) == "T"


@pytest.mark.gate
@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server")
def test_a_stopped_server_goes_on_when_a_worker_is_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "ForkServer", ForkServer)
    prepared = prepared_run(tmp_path, "none", repeats=3)
    tasks = tasks_of(prepared)
    with LocalPool(prepared.config, 1) as workers:
        assert len(list(workers.outcomes(tasks[:1]))) == 1
        os.kill(workers._server._process.pid, signal.SIGSTOP)
        os.kill(workers._workers[0].pid, signal.SIGKILL)
        assert [one.status for one in workers.outcomes(tasks[1:])] == ["ok", "ok"]


@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server")
def test_a_server_whose_warming_is_cut_off_starts_over_without(tmp_path, monkeypatch):
    """A library whose import was cut off is half there, and could not be imported by any worker."""
    text = "from fairbench_cli.experiment.running import server\n\n\ndef begin(*given):\n"
    text += "    server.LONGEST = 0.01\n    server.fork_workers(*given)\n"
    (tmp_path / "cut_off.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = launch("cut_off:begin", theirs.fileno(), ["tree"], ["threshold-optimizer"])
        line = Path(f"/proc/{process.pid}/cmdline")
        end = time.monotonic() + 60
        while b"server:fork_workers" not in line.read_bytes() and time.monotonic() < end:
            time.sleep(0.05)
        assert line.read_bytes().endswith(b'["tree"], []]]\0')
    assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server")
def test_workers_that_die_before_they_can_do_anything_end_the_run(tmp_path):
    path = prepared_run(tmp_path, "Server", "none").folder.parent / "run.yaml"
    done = fairbench("run", path, "-o", tmp_path / "out", "-j", "1")
    assert done.returncode == 2, done.stderr
    assert "error: workers die before they can do anything\n  fix: look for a limit of proc" in done.stderr
    assert done.stderr.count("Traceback") == 0


def test_where_no_worker_can_be_started_repeats_run_here_and_the_alarm_is_as_before(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "FORKS", False)
    monkeypatch.setattr(pool, "launch", refuse)
    prepared = prepared_run(tmp_path, "none", "massaging", limits={"seconds": 60})
    said: list[str] = []
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    try:
        with LocalPool(prepared.config, 2, said.append) as workers:
            found = list(workers.outcomes(tasks_of(prepared)))
        assert [one.status for one in found] == ["ok", "ok"]
        assert "repeats run in this process, one after the other" in said[0]
        signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
        (slow,) = tasks_of(prepared_run(tmp_path, "none"))
        slow = Task(slow.cell, slow.repeat, None)
        assert run_within(slow, Limits(seconds=5)).status == "failed"
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_overtime_in_this_process_leaves_the_alarm_as_it_was(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    prepared = prepare(
        write_config(tmp_path / "run.yaml", repeats=1, interventions=["./slow.py:Slow"]),
        folder=tmp_path / "o",
    )
    task, *_ = tasks_of(prepared)
    before = signal.getsignal(signal.SIGALRM)
    answer = run_within(task, Limits(seconds=0.3, memory=None))
    assert (answer.status, answer.key, answer.repeat) == ("overtime", task.cell.key, 0)
    assert "ran for longer than 0.3 s" in answer.reason
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    "how", ["script", *(pytest.param(way, marks=pytest.mark.nightly) for way in ("-c", "-m"))]
)
def test_a_main_module_without_a_guard_runs_once(tmp_path, how):
    """Nor does what lies in the working folder get into workers that the program keeps out."""
    prepared_run(tmp_path, "none", repeats=2, classifiers=["naive-bayes"])  # needs no library to be loaded
    code = (
        "import fairbench_cli as fb\n"
        "print('once', flush=True)\n"
        "found = fb.run('run.yaml', jobs=2, folder='kept')\n"
        "print(found.failures, len(found.results))\n"
    )
    (tmp_path / "script.py").write_text(code)
    given = {"-c": ["-c", code], "script": ["script.py"], "-m": ["-m", "script"]}[how]
    done = subprocess.run(
        [sys.executable, *given], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("once") == 1
    assert len(journal_lines(tmp_path / "kept")) == 2


def test_a_record_that_cannot_be_sent_is_a_failure(tmp_path, monkeypatch):
    (task,) = tasks_of(prepared_run(tmp_path, "none"))
    odd = Repeat(task.cell.key, 0, "ok", "", None, facts={"odd": lambda: 0}, seconds=2.0)
    monkeypatch.setattr(worker, "run_within", lambda *_: odd)
    answer = pickle.loads(worker._record(task, Limits()))  # noqa: S301
    assert (answer.status, answer.key, answer.repeat, answer.seconds) == ("failed", task.cell.key, 0, 2.0)
    assert "pickle" in answer.reason


def test_what_is_not_known_of_a_process_is_zero():
    assert memory_of(2**22 + 1) == 0
    assert memory_of(os.getpid()) > 10**6


def test_a_reason_is_one_line():
    assert one_line("a\n  b\udce9") == "a b?"
    assert len(one_line("x" * 1000)) == 500


def test_nothing_private_of_python_joblib_or_loky_is_used():
    """What begins with an underscore is a class's own, but for `os._exit`, which is documented."""
    rooms = Path(fairbench_cli.__file__).parent / "experiment"
    for path in [*rooms.glob("running/*.py"), *rooms.glob("cluster/*.py"), *rooms.glob("journal/*.py")]:
        code = path.read_text()
        assert "loky" not in code, path
        assert not re.findall(r"(?:from|import) (?:joblib|multiprocessing|concurrent)[\w.]*\._", code), path
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
                assert ast.unparse(node).startswith(("self._", "os._exit")), f"{path}: {ast.unparse(node)}"


@pytest.mark.skipif(sys.platform != "linux", reason="the fork server is Linux's")
def test_what_an_alarm_leaves_half_made_while_a_server_loads_is_not_reported():
    code = """if True:
    import os, socket
    from fairbench_cli.experiment.running.server import fork_workers

    class Half:
        def __del__(self):
            raise AttributeError("made by half")

    def names():
        Half()
        yield from ()

    ours, theirs = socket.socketpair()
    ours.close()
    fork_workers(theirs.detach(), os.getppid(), names(), [])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_only_what_ends_and_kills_nothing_is_computed_here(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from fairbench_cli.interventions.baselines import NoIntervention as Mine\n"
    )
    here = [
        {},
        {"classifiers": ["c45", "logistic-regression"]},
        {"limits": {"seconds": None, "memory": None}},
    ]
    there = [
        {"limits": {"seconds": 5}},
        {"limits": {"seconds": None}},  # memory has a limit that somebody may rely on
        {"classifiers": ["tree", "svm"]},
        {"interventions": ["none", "./mine.py:Mine"]},
        {"interventions": ["none", "threshold-optimizer"]},
    ]
    for changes in here + there:
        config = read_config(write_config(tmp_path / "a.yaml", **changes))
        assert needs_workers(config) == (changes in there), changes


def test_the_thread_the_environment_and_error_states_are_a_workers(tmp_path, monkeypatch):
    seen = []

    def look(cell, population, repeat):
        seen.append(([os.environ.get(name) for name in ONE_THREAD], np.geterr()["divide"]))
        return run_repeat(cell, population, repeat)

    monkeypatch.setattr(worker, "run_repeat", look)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    tasks = tasks_of(prepared_run(tmp_path, "none", "massaging"))
    with np.errstate(all="raise"):
        outcomes = list(InlinePool(Limits()).outcomes(tasks))
        assert np.geterr()["divide"] == "raise"
    assert [outcome.status for outcome in outcomes] == ["ok", "ok"]
    assert seen == [(["1"] * len(ONE_THREAD), "warn")] * 2
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_a_repeat_that_fails_here_is_a_row_and_an_interruption_ends_them_all(tmp_path, monkeypatch):
    errors = [ValueError("odd"), SystemExit(3), MemoryError()]

    def fail(cell, population, repeat):
        raise errors[repeat]

    monkeypatch.setattr(worker, "run_repeat", fail)
    tasks = tasks_of(prepared_run(tmp_path, "none", repeats=3))
    rows = [(outcome.status, outcome.reason) for outcome in InlinePool(Limits()).outcomes(tasks)]
    assert rows == [("failed", "ValueError: odd"), ("failed", "SystemExit: 3"), ("memory", "MemoryError")]
    errors[0] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        next(InlinePool(Limits()).outcomes(tasks))
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
