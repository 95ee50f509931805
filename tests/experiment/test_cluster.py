"""A cluster of dask computes the same bytes as this machine, whatever dies. Real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import SMALL, derived, environment, fairbench, journal_lines, write_config

from fairbench_cli.experiment.cluster import read_code
from fairbench_cli.experiment.datasets import populate
from fairbench_cli.experiment.running.run import prepare

pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None, reason="needs dask: pip install 'fairbench-cli[dask]'"
)

MINE = """
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from fairbench_cli.interventions.fitted import Fitted

import beside


@dataclass(frozen=True)
class Mine:
    def fit(self, train, classifier, rng):
        import late

        return Fitted(classifier.fit(train), facts={"sum": beside.ONE + late.TWO})


@dataclass(frozen=True)
class Raises:
    def fit(self, train, classifier, rng):
        raise ValueError("no")


@dataclass(frozen=True)
class Kills:
    def fit(self, train, classifier, rng):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Sleeps:
    def fit(self, train, classifier, rng):
        time.sleep(60)


@dataclass(frozen=True)
class Waits:
    def fit(self, train, classifier, rng):
        while not Path("GATE").exists():
            time.sleep(0.05)
        return Fitted(classifier.fit(train))
"""


def config(folder: Path, *techniques: str, **changes) -> Path:
    """Write a config, the user's code next to it, and the files that this imports."""
    (folder / "mine.py").write_text(MINE.replace("GATE", str(folder / "gate")))
    (folder / "beside.py").write_text("ONE = 1\n")
    (folder / "late.py").write_text("TWO = 2\n")
    return write_config(
        folder / "mine.yaml",
        interventions=["none", *(f"./mine.py:{one}" for one in techniques)],
        predictions=True,
        **changes,
    )


@contextmanager
def dask(what: str, *arguments: str | Path, cwd: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a part of a cluster; it knows neither the data folder nor the folder of the run."""
    plain = {key: value for key, value in environment(**env).items() if key != "FAIRBENCH_DATA"}
    command = [sys.executable, "-m", "dask", what, "--no-dashboard", *map(str, arguments)]
    with (cwd / f"{what}.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=cwd, env=plain, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory) -> Iterator[Path]:
    """The file of a scheduler with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    two = ("--nworkers", "2", "--nthreads", "1", "--local-directory", folder)
    with (
        dask("scheduler", "--port", "0", "--scheduler-file", file, cwd=folder),
        dask("worker", "--scheduler-file", file, *two, cwd=folder),
    ):
        started = time.monotonic()
        log = folder / "worker.log"
        while time.monotonic() < started + 60:  # a run takes the workers that are there when it starts
            if file.exists() and log.read_text(errors="replace").count("Registered to:") == 2:
                break
            time.sleep(0.05)
        yield file


def workers_of(scheduler: Path) -> list[int]:
    """Return the processes of the workers."""
    import psutil

    commands = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"]]
    (parent,) = [
        p for p in commands if str(scheduler) in p.info["cmdline"] and "--nworkers" in p.info["cmdline"]
    ]
    return [p.pid for p in parent.children() if "spawn_main" in " ".join(p.cmdline())]


def on(scheduler: Path) -> tuple[str, ...]:
    return "--backend", "dask", "--scheduler", str(scheduler)


def test_same_bytes_as_here_with_code_in_files_and_what_misbehaves(scheduler, tmp_path, say):
    one = {"sample": SMALL["sample"] | {"beta": 0}, "repeats": 1, "limits": {"seconds": 8}}
    path = config(tmp_path, "Mine", "Raises", "Kills", "Sleeps", **one)
    with ThreadPoolExecutor(1) as pool:  # both wait for what sleeps
        there = pool.submit(fairbench, "run", path, "-o", tmp_path / "dask", *on(scheduler))
        say("run", path, "-o", tmp_path / "here", "-j", "2")
        done = there.result()
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "5 repeats: 0 done, 5 to do, 2 workers" in done.stderr
    assert derived(tmp_path / "here") == derived(tmp_path / "dask")
    text = (tmp_path / "dask/groups.csv").read_text()
    assert all(f",{status}," in text for status in ("ok", "failed", "killed", "overtime"))
    assert '"sum": 3' in "".join(journal_lines(tmp_path / "dask"))


def test_a_dead_worker_costs_what_it_was_doing_and_a_stranger_is_left_out(scheduler, tmp_path, say):
    path = config(tmp_path, "Waits", repeats=5)
    fake = tmp_path / "fake/numpy-0.1.dist-info"
    fake.mkdir(parents=True)
    (fake / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.1\n")
    seen = f"{fake.parent}{os.pathsep}{environment()['PYTHONPATH']}"
    command = [sys.executable, "-m", "fairbench_cli", "run", path, "-o", tmp_path / "out", *on(scheduler)]
    said = tmp_path / "said"
    with (
        said.open("w") as stream,
        subprocess.Popen(command, env=environment(), stderr=stream) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        wait_for(lambda: len(journal_lines(tmp_path / "out")) >= 1, process)
        os.kill(workers_of(scheduler)[0], signal.SIGKILL)
        joins = ("--scheduler-file", scheduler, "--nthreads", "1", "--local-directory", tmp_path)
        with dask("worker", *joins, cwd=tmp_path, PYTHONPATH=seen):
            wait_for(lambda: "is left out: numpy 0.1 instead of" in said.read_text(), process)
            (tmp_path / "gate").touch()
            process.wait(200)
            refused = say("run", path, "-o", tmp_path / "not", *on(scheduler))
    assert process.returncode == 0, said.read_text()
    assert len(journal_lines(tmp_path / "out")) == 20
    say("run", path, "-o", tmp_path / "here", "-j", "2")
    assert derived(tmp_path / "here") == derived(tmp_path / "out")
    assert refused.code == 2
    assert "1 of 3 workers would not compute the same numbers: tcp://" in refused.err
    assert not journal_lines(tmp_path / "not")


def station_of(folder: Path, technique: str):
    """Return a station in a folder of its own, the run that it is sent, and what it draws from."""
    from fairbench_cli.experiment.cluster import SentRun, Station, fingerprint_of, pack

    prepared = prepare(config(folder, technique, repeats=1), folder=folder / "out")
    population = pack(populate(prepared.datasets[0], prepared.config, folder))
    code = {origin.version: read_code(origin) for _, origin in prepared.config.plugins}
    run = SentRun("a", fingerprint_of(prepared.config), pack(prepared.config), code)
    (folder / "there").mkdir()
    return Station(folder / "there", run), run, prepared, population


def test_a_station_keeps_its_process_until_it_rests_and_no_file_at_its_end(tmp_path):
    from fairbench_cli.experiment.cluster import pack

    station, run, prepared, population = station_of(tmp_path, "Mine")
    assert run.expected.differences() == ()
    pids = []
    for cell, repeat in prepared.todo():
        assert str(tmp_path).encode() not in pack((cell, repeat))
        found = station.repeat(pack((cell, repeat)), "p", population)
        assert (found.status, found.key) == ("ok", cell.key)
        (pool,) = station._idle
        pids += [worker.pid for worker in pool._workers]
    assert len(set(pids)) == 1
    station.stop_when_idle()
    end = time.monotonic() + 20
    while Path(f"/proc/{pids[0]}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{pids[0]}").exists()
    found = station.repeat(pack((cell, repeat)), "p", population)
    assert found.status == "ok"
    station.end()
    assert not (tmp_path / "there").exists()


def test_the_end_of_a_run_ends_what_is_at_work_on_a_station(tmp_path):
    from fairbench_cli.experiment.cluster import pack

    station, _, prepared, population = station_of(tmp_path, "Sleeps")
    task = next(pack(place) for place in prepared.todo() if "Sleeps" in place[0].technique.spec.name)
    with ThreadPoolExecutor() as threads:
        found = threads.submit(station.repeat, task, "p", population)
        time.sleep(3)
        start = time.monotonic()
        station.end()
        assert isinstance(found.exception(5), RuntimeError)
    assert time.monotonic() - start < 6
    assert not (tmp_path / "there").exists()
    assert not station._idle


def wait_for(happens, process: subprocess.Popen[bytes]) -> None:
    """Wait until something happens."""
    end = time.monotonic() + 100
    while not happens():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


TO = "--backend dask --scheduler"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--backend dask", "--backend dask: error: no address of a scheduler\n  fix: add --scheduler tcp://"),
        ("--scheduler tcp://a:1", "--scheduler: error: a scheduler is of use to --backend dask only\n"),
        (f"{TO} tcp://a:1 -j 2", "--jobs: error: a cluster has workers"),
        (f"{TO} abc://a:1", "no scheduler of dask answers at abc://a:1: ValueErr"),
        (f"{TO} tcp://127.0.0.1:9", "no scheduler of dask answers at tcp://127."),
        (f"{TO} none.json", "error: no such file: none.json"),
        (f"{TO} small.yaml.json", "small.yaml.json: error: not the file of a s"),
    ],
)
def test_what_is_wrong_with_an_address(say, tmp_path, monkeypatch, options, words):
    monkeypatch.setattr("fairbench_cli.experiment.cluster.CONNECTS_WITHIN", 0.5)
    (tmp_path / "small.yaml.json").write_text("{}")
    done = say("run", write_config(tmp_path / "small.yaml"), *options.split())
    assert done.code == 2
    assert words in done.err
    assert len(done.err.splitlines()) == 2


def test_without_distributed_the_error_says_what_to_install(say, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = say("run", write_config(tmp_path / "small.yaml"), "--backend", "dask", "--scheduler", "tcp://a:1")
    assert done.code == 2
    assert done.err.splitlines()[1] == '  fix: pip install "fairbench-cli[dask]"'
