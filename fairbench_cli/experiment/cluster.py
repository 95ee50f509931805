"""Run repeats on a cluster of dask.distributed: what travels, what a worker does with it, and who sends it.

A worker checks what it is itself, and a pool of its own runs the repeat: a worker of dask runs tasks in
threads, where nothing can be stopped; a pool's workers can be. It needs fairbench and what that depends on,
and no files: the rest comes with the task. A value travels as bytes that keep everything but the paths of the
user's code, which is written to a folder named by its sha256 where it arrives. Keys and seeds stay as they
are: they are made of names and sha256, not of paths.

Workers compute, the process that sends alone writes. Few tasks are out at any time: a dead worker costs
little, and results that wait for us do not pile up.
"""

import hashlib
import io
import json
import logging
import os
import pickle
import secrets
import shutil
import sys
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.plugins import CodeOrigin, code_version, digest_sources, read_sources
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.running.pool import BETWEEN_NEWS, DIED, LocalPool, Say
from fairbench_cli.experiment.running.worker import Task, Watch
from fairbench_cli.experiment.versions import PYTHON, versions_of, versions_of_numbers

if TYPE_CHECKING:
    from distributed import Client

Sources = Mapping[str, Mapping[str, bytes]]
"""The files of each version of somebody's code, by ``sha256:…`` and by their names."""

_SHA256 = "sha256:"


class _Packer(pickle.Pickler):
    """Writes where code is without the folder of its file."""

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        """Return the name and version that stand for a file of code; None for everything else."""
        if not isinstance(value, CodeOrigin) or value.path is None:
            return None
        return f"{value.path.name}:{value.target.rpartition(':')[2]}", value.version


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, folder: Path) -> None:
        super().__init__(stream)
        self._folder = folder

    def persistent_load(self, mark: tuple[str, str]) -> CodeOrigin:
        """Return where the code is here."""
        target, version = mark
        return CodeOrigin(f"{_source_folder(self._folder, version)}/{target}", version)


def pack(value: Any) -> bytes:
    """Return a value as bytes, in which no path of a file of code is left."""
    stream = io.BytesIO()
    _Packer(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def unpack(data: bytes, folder: Path) -> Any:
    """Return the value that was packed; the files of its code are those below `folder`."""
    return _Unpacker(io.BytesIO(data), folder).load()


def read_code(origin: CodeOrigin) -> dict[str, bytes]:
    """Return a file of code and the modules next to it that it imports, by name.

    Raises
    ------
    UserError
        When it is no longer the one that the run was planned with, or cannot be read.
    """
    path = origin.path
    assert path is not None  # noqa: S101 - only files are packed
    try:
        files = read_sources(path, path.parent)
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    if _SHA256 + digest_sources(files) != origin.version:
        raise user_error(f"{path} has changed since the run began", "run it again")
    return files


def write_sources(sources: Sources, folder: Path) -> None:
    """Write code files to a folder of their own each, by their sha256; those that are there stay.

    Raises
    ------
    ValueError
        When the name of a file leads out of its folder.
    """
    for version, files in sources.items():
        source_folder = _source_folder(folder, version)
        if source_folder.is_dir():
            continue
        suffix = f"{os.getpid()}-{secrets.token_hex(4)}.part"
        unfinished = source_folder.with_name(f".{source_folder.name}.{suffix}")
        for name, text in files.items():
            path = (unfinished / name).resolve()
            if not path.is_relative_to(unfinished.resolve()):
                raise ValueError(f"{name!r} is outside the folder of the code")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        try:
            unfinished.rename(source_folder)
        except OSError:  # another worker was quicker
            shutil.rmtree(unfinished, ignore_errors=True)


def _source_folder(folder: Path, version: str) -> Path:
    return folder / version.removeprefix(_SHA256)


@dataclass(frozen=True)
class Fingerprint:
    """What decides numbers on one computer.

    Parameters
    ----------
    packages : mapping
        Versions by package, and Python's.
    modules : mapping
        The sha256 of the user's modules that are in no installed package. Code in files travels.
    code : str
        The sha256 of fairbench's own code.
    """

    packages: Mapping[str, str]
    modules: Mapping[str, str]
    code: str

    def differences(self) -> tuple[str, ...]:
        """Return in words what is different in this process."""
        installed = versions_of(name for name in self.packages if name != PYTHON)
        differing = {name: sent for name, sent in self.packages.items() if installed[name] != sent}
        differs = [f"{name} {installed[name]} instead of {sent}" for name, sent in differing.items()]
        for module, sent in self.modules.items():
            try:
                installed_version = code_version(module)
            except (ImportError, ValueError, OSError):
                installed_version = "none"
            if installed_version != sent:
                differs.append(f"{module} {installed_version[:20]} instead of {sent[:20]}")
        if code_of_fairbench() != self.code:
            differs.append("another state of fairbench's own code")
        return tuple(differs)


def fingerprint_of(config: ExperimentConfig) -> Fingerprint:
    """Return the fingerprint of this process: all that decides the numbers of an experiment."""
    # Distributed decides no number, but does not understand other versions of itself.
    packages = {**versions_of_numbers(config).packages, **versions_of(["distributed"])}
    modules = {}
    for origin in (origin for _, origin in config.plugins if origin.path is None):
        if origin.version.startswith("sha256:"):
            modules[origin.target.rpartition(":")[0]] = origin.version
        else:
            for requirement in origin.version.split(", "):
                name, _, version = requirement.rpartition(" ")
                if name != PYTHON:
                    packages[name] = version
    return Fingerprint(packages, modules, code_of_fairbench())


@cache
def code_of_fairbench() -> str:
    """Return the sha256 of the Python files of the package, by their names."""
    root = Path(__file__).parents[1]
    checksum = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        checksum.update(f"{path.relative_to(root).as_posix()} {len(text)}\n".encode())
        checksum.update(text)
    return checksum.hexdigest()


IDLE = 20.0
"""Seconds without work after which processes end."""
ENDS_WITHIN = 10.0
"""Seconds that a repeat has to be stopped; it looks once a second."""
_LOCK = threading.Lock()


@dataclass(frozen=True)
class SentRun:
    """What all repeats of a run share.

    Parameters
    ----------
    name : str
        No other run anywhere has it.
    expected : Fingerprint
        Of the computer that planned it.
    config : bytes
        The packed config, whose limits hold.
    sources : dict
        The files of the user's code that it names.
    """

    name: str
    expected: Fingerprint
    config: bytes
    sources: Sources


Answer = Repeat | tuple[str, tuple[str, ...]]
"""The record of a repeat; or the address of a worker that refused, and why."""


class Station:
    """The pools of a run on one worker of a cluster, each with one process: as many as threads are at work.

    Parameters
    ----------
    folder : Path
        For their files, and the user's code.
    run : SentRun
    """

    def __init__(self, folder: Path, run: SentRun) -> None:
        self._folder, self._config = folder, unpack(run.config, folder)
        write_sources(run.sources, folder)
        self._lock = threading.Lock()
        self._idle: list[LocalPool] = []
        self._populations: dict[str, Population] = {}
        self._timer: threading.Timer | None = None
        self._at_work = 0
        self._ended = False

    def repeat(self, task: bytes, name: str, population: bytes) -> Repeat:
        """Return the record of a repeat, of a packed cell and number on a packed population and its name.

        Raises
        ------
        OSError
            When no process can be started.
        RuntimeError
            When the run has ended meanwhile.
        """
        cell, number = unpack(task, self._folder)
        with self._lock:
            if name not in self._populations:
                self._populations[name] = unpack(population, self._folder)
            pool = None
            if self._idle:
                pool = self._idle.pop()
            self._at_work += 1
        try:
            if pool is None:
                log = Path(mkdtemp(dir=self._folder)) / "printed"
                pool = LocalPool(self._config, 1, log=log, scratch=self._folder).__enter__()
            outcome = self._run(pool, Task(cell, number, self._populations[name]))
        finally:
            with self._lock:
                self._at_work -= 1
        with self._lock:
            self._idle.append(pool)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE, self.stop_when_idle)
            self._timer.daemon = True
            self._timer.start()
        return outcome

    def _run(self, pool: LocalPool, task: Task) -> Repeat:
        """Run a task in a pool, which is left where that fails; show what was printed meanwhile."""
        if pool.fault is not None:
            pool.__exit__()
            raise pool.fault
        try:
            [outcome] = pool.outcomes([task], self._go_on)
        except BaseException:
            pool.__exit__()
            raise
        if pool.log is not None:
            with suppress(OSError):  # nothing was printed
                sys.stderr.write(pool.log.read_text(encoding="utf-8", errors="replace"))
                pool.log.unlink()
        return outcome

    def _go_on(self, _: object) -> None:
        """Refuse to go on where nobody waits for the outcome."""
        if self._ended:
            raise RuntimeError("the run has ended")

    def stop_when_idle(self) -> None:
        """End the processes that have nothing to do."""
        with self._lock:
            while self._idle:
                self._idle.pop().__exit__()

    def end(self) -> None:
        """End the processes, also those at work, and remove what they wrote."""
        self._ended = True
        until = time.monotonic() + ENDS_WITHIN
        while self._at_work and time.monotonic() < until:
            time.sleep(0.05)
        self.stop_when_idle()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def _stations() -> dict[str, Station]:
    """Return the station of each run on this worker."""
    return {}


def run_there(run: SentRun, task: bytes, name: str, population: bytes) -> Answer:
    """Run a repeat on the worker of dask that this is called on."""
    from distributed import get_worker

    worker = get_worker()
    with _LOCK:
        if run.name not in _stations():  # the first of this run, perhaps on a worker that joined late
            differs = run.expected.differences()
            if differs:
                return worker.address, differs
            folder = mkdtemp(prefix="fairbench-", dir=worker.local_directory)
            _stations()[run.name] = Station(Path(folder), run)
        station = _stations()[run.name]
    return station.repeat(task, name, population)


def end_there(run: str) -> None:
    """End the processes of a run on the worker that this is called on, and remove its files."""
    station = _stations().pop(run, None)
    if station is not None:
        station.end()


CONNECTS_WITHIN = 10  # seconds
PER_THREAD = 2  # tasks that are out: one that runs, and the next
RIDES_ALONG = 100_000  # bytes of a population that goes with every task; a larger one once to each worker
ATTEMPTS = 3  # of a task that gets lost, before it is tried when nothing else is out
ALONE = ATTEMPTS + 1
SCATTERS_WITHIN = 10  # seconds, for the first worker to be there
BETWEEN_LOOKS = 0.02  # seconds
BETWEEN_COUNTS = 2.0  # seconds


Sent = tuple[Task, int, float]  # how often it was sent, and when the last time, on the monotonic clock


class Cluster:
    """A connection to a cluster whose workers compute what this computer would.

    Parameters
    ----------
    client : distributed.Client
    address : str
        What the user calls it.
    config : ExperimentConfig
        Whose repeats are run, within its limits.
    say : function
        Takes what the user should know while a run goes on.
    """

    def __init__(self, client: "Client", address: str, config: ExperimentConfig, say: Say) -> None:
        from distributed import as_completed

        self._client = client
        self._address = address
        self._say = say
        code = {origin.version: read_code(origin) for _, origin in config.plugins if origin.path is not None}
        self._run = SentRun(uuid.uuid4().hex, fingerprint_of(config), pack(config), code)
        self._window = as_completed(loop=client.loop)
        self._out: dict[str, Sent] = {}
        self._packed: dict[int, tuple[Any, str, bytes]] = {}
        self._scattered: dict[str, Any] = {}
        self._refused: set[str] = set()
        self._counted = 0.0
        self._threads = 0
        self._looked = 0.0
        self._watch: Watch = lambda _: None

    @property
    def jobs(self) -> int:
        """Return how many tasks the workers run at once."""
        if time.monotonic() - self._counted > BETWEEN_COUNTS:
            self._threads = sum(self._workers().values())
            self._counted = time.monotonic()
        return self._threads

    def check(self) -> None:
        """Wait for the first worker, and check all that are there.

        Raises
        ------
        UserError
            Listing the workers that would not compute the same numbers, and why.
        """
        self._wait("has no workers yet: waiting for the first")
        differences = self._client.run(self._run.expected.differences, on_error="return")
        unlike = {
            worker: (_in_words(differs),) if isinstance(differs, Exception) else differs
            for worker, differs in differences.items()
            if differs
        }
        if unlike:
            raise _unlike(unlike, len(differences))

    def outcomes(self, tasks: Iterable[Task], watch: Watch | None = None) -> Generator[Repeat]:
        """Yield the outcome of every task as it finishes, in any order.

        A task whose worker dies is sent again by dask, as often as its scheduler is set up to. One that dask
        gives up is tried once more when nothing else is out; if a worker dies then too, it is ``killed``.

        Parameters
        ----------
        watch : callable, optional
            Called now and then with the tasks that are out, and for how many seconds they have been.

        Raises
        ------
        UserError
            When the scheduler is lost, or no worker is left that computes the same numbers.
        """
        waiting = iter(tasks)
        suspects = deque[Task]()
        self._watch = watch or (lambda _: None)
        while True:
            while len(self._out) < max(1, PER_THREAD * self.jobs) and (task := next(waiting, None)):
                self._send(task, 1)
            if not self._out:
                if not suspects:
                    return
                self._send(suspects.popleft(), ALONE)
            if not self._comes():
                continue
            task, attempts, answer = self._next()
            if isinstance(answer, Repeat):
                yield answer
            elif answer is not None:
                self._refuse(*answer)
                self._send(task, attempts)
            elif attempts < ATTEMPTS:
                self._send(task, attempts + 1)
            elif attempts < ALONE:
                suspects.append(task)
            else:
                yield task.ended("killed", DIED)

    def stop(self) -> None:
        """Cancel what is out, and end the processes of this run on the workers."""
        if self._client.status == "running":
            with suppress(Exception):  # they end by themselves when nobody has work for them
                self._client.cancel(list(self._window.futures), force=True)
                self._client.run(end_there, self._run.name, on_error="ignore")

    def _wait(self, why: str) -> None:
        """Wait until there is a worker, and say so once."""
        if not self.jobs:
            self._say(f"{self._address} {why}")
        while not self.jobs:
            time.sleep(BETWEEN_COUNTS)

    def _workers(self) -> dict[str, int]:
        """Return the threads of each worker that may be used."""
        try:
            threads = self._client.nthreads()
        except Exception:
            raise self._lost() from None
        return {worker: n for worker, n in threads.items() if worker not in self._refused}

    def _send(self, task: Task, attempts: int) -> None:
        name, population = self._population(task.population)
        # Others may be used where none of these is left: a new one is asked what it is like before it runs.
        only = {"workers": list(self._workers()), "allow_other_workers": True} if self._refused else {}
        key = f"fairbench-{uuid.uuid4().hex}"
        sent = self._run, pack((task.cell, task.repeat)), name, population
        future = self._client.submit(run_there, *sent, key=key, pure=False, retries=0, **only)
        self._out[key] = task, attempts, time.monotonic()
        self._window.add(future)

    def _population(self, population: Any) -> tuple[str, Any]:
        """Return the name of a population, and its bytes or what stands for them on the workers."""
        if id(population) not in self._packed:
            packed = pack(population)
            self._packed[id(population)] = population, hashlib.sha256(packed).hexdigest(), packed
        _, name, packed = self._packed[id(population)]
        if len(packed) <= RIDES_ALONG:
            return name, packed
        while name not in self._scattered:
            self._wait("has no workers any more: waiting for one")
            with suppress(OSError):  # the last worker went away just now
                how = {"broadcast": True, "hash": False, "timeout": SCATTERS_WITHIN}
                self._scattered[name] = self._client.scatter(packed, **how)
        return name, self._scattered[name]

    def _comes(self) -> bool:
        """Return whether a task comes back within some time, in which workers may join."""
        while not self._window.has_ready():
            time.sleep(BETWEEN_LOOKS)
            now = time.monotonic()
            if now - self._looked > BETWEEN_NEWS:
                self._looked = now
                self._watch([(task, now - since) for task, _, since in self._out.values()])
                self._wait("has no workers any more: waiting for one")
                return False
        return True

    def _next(self) -> tuple[Task, int, Answer | None]:
        """Return a task that came back and its answer: None where its worker died or it was lost."""
        from distributed.scheduler import KilledWorker

        future = next(self._window)
        task, attempts, _ = self._out.pop(future.key)
        answer = None
        status = future.status
        if status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                problem = f"a worker of {self._address} cannot run a repeat: {_in_words(error)}"
                raise user_error(problem, "install there what is installed here; its log says more")
            attempts = max(attempts, ATTEMPTS)  # dask has sent it again already
        elif status == "finished":
            with suppress(Exception):  # its worker is gone, and the result with it
                answer = future.result(timeout=60)
        if answer is None and self._client.status != "running":
            raise self._lost()
        if answer is None:
            self._scattered.clear()  # what was lost may be what it needs: send it again
        future.release()
        return task, attempts, answer

    def _refuse(self, worker: str, differs: tuple[str, ...]) -> None:
        """Note that a worker that joined late is of no use."""
        if worker not in self._refused:
            self._refused.add(worker)
            self._say(f"worker {worker} is left out: {'; '.join(differs)}")
        else:  # none of the others is there at the moment
            time.sleep(BETWEEN_COUNTS)
        if not self._workers():
            raise _unlike({worker: differs}, 1)

    def _lost(self) -> UserError:
        problem = f"the scheduler at {self._address} does not answer any more"
        return user_error(problem, "start it and run the same command again: finished repeats are kept")


@contextmanager
def cluster_at(address: str, config: ExperimentConfig, say: Say) -> Iterator[Cluster]:
    """Connect to the scheduler at an address, ``tcp://host:8786`` or a scheduler file, for a run.

    Raises
    ------
    UserError
        When distributed is not installed, nobody answers, or workers would not compute the same numbers.
    """
    try:
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        fix = 'pip install "fairbench-cli[dask]"'
        raise user_error("--backend dask needs distributed, which is not installed", fix, "") from None
    if address.endswith(".json"):
        scheduler = _in_file(Path(address))
    else:
        scheduler = address
    with _quiet(), ExitStack() as at_the_end:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VersionMismatchWarning)  # we look ourselves
                client = Client(scheduler, timeout=CONNECTS_WITHIN, set_as_default=False, name="fairbench")
        except (OSError, ValueError) as error:
            problem = f"no scheduler of dask answers at {address}: {_in_words(error)}"
            fix = "start one with `dask scheduler`, or correct the address: tcp://HOST:8786"
            raise user_error(problem, fix, "--scheduler") from None
        at_the_end.callback(client.close, timeout=2)
        cluster = Cluster(client, address, config, say)
        at_the_end.callback(cluster.stop)
        cluster.check()
        yield cluster


def _in_file(path: Path) -> str:
    """Return the address that a scheduler wrote to a file."""
    try:
        return str(json.loads(read_text(path))["address"])
    except (ValueError, KeyError, TypeError):
        fix = "name the file of `dask scheduler --scheduler-file`, or an address: tcp://HOST:8786"
        raise user_error("not the file of a scheduler", fix, f"{path}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what dask logs of a lost connection, which we say in two lines."""
    logs = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.comm")]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def _unlike(unlike: Mapping[str, tuple[str, ...]], workers: int) -> UserError:
    """Return the error for workers that would not compute the same numbers, those with one fault together."""
    by_fault = group_by(sorted(unlike), unlike.__getitem__)
    faults = [f"{', '.join(workers)}: {'; '.join(differs)}" for differs, workers in by_fault.items()]
    problem = f"{len(unlike)} of {workers} workers would not compute the same numbers: {' | '.join(faults)}"
    return user_error(problem, "install there what `pip freeze` lists here, and start them again")


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
