"""Run repeats on a cluster of dask.distributed. Workers compute, this process alone writes.

Few tasks are out at any time: a dead worker costs little, and results that wait for us do not pile up.
"""

import json
import logging
import time
import uuid
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.files import read_text
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.cluster.station import (
    Answer,
    SentRun,
    end_there,
    fingerprint_of,
    pack,
    read_code,
    run_there,
)
from fairbench_cli.experiment.running.pool import BETWEEN_NEWS, DIED, Say
from fairbench_cli.experiment.running.worker import Task, Watch

if TYPE_CHECKING:
    from distributed import Client

    from fairbench_cli.experiment.config.config import ExperimentConfig

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

    def __init__(self, client: "Client", address: str, config: "ExperimentConfig", say: Say) -> None:
        from distributed import as_completed

        self._client, self._address, self._say = client, address, say
        files = [origin for _, origin in config.plugins if origin.path is not None]
        code = {origin.version: read_code(origin) for origin in files}
        self._run = SentRun(uuid.uuid4().hex, fingerprint_of(config), pack(config), code)
        self._window = as_completed(loop=client.loop)
        self._out: dict[str, Sent] = {}
        self._packed: dict[int, tuple[Any, str, bytes]] = {}
        self._scattered: dict[str, Any] = {}
        self._refused: set[str] = set()
        self._counted, self._threads, self._looked = 0.0, 0, 0.0
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
        found = self._client.run(self._run.expected.differences, on_error="return")
        unlike = {
            worker: (_in_words(differs),) if isinstance(differs, Exception) else differs
            for worker, differs in found.items()
            if differs
        }
        if unlike:
            raise _unlike(unlike, len(found))

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
        waiting, suspects = iter(tasks), deque[Task]()
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
        if self._client.status != "running":
            return
        futures = list(self._window.futures)
        with suppress(Exception):  # they end by themselves when nobody has work for them
            self._client.cancel(futures, force=True)
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
            known = self._client.nthreads()
        except Exception:
            raise self._lost() from None
        return {worker: n for worker, n in known.items() if worker not in self._refused}

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
            self._packed[id(population)] = population, sha256(packed).hexdigest(), packed
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
        answer, status = None, future.status
        if status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                what = f"a worker of {self._address} cannot run a repeat: {_in_words(error)}"
                raise user_error(what, "install there what is installed here; its log says more")
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
        what = f"the scheduler at {self._address} does not answer any more"
        return user_error(what, "start it and run the same command again: finished repeats are kept")


@contextmanager
def cluster_at(address: str, config: "ExperimentConfig", say: Say) -> Iterator[Cluster]:
    """Connect to the scheduler at an address, ``tcp://host:8786`` or a scheduler file, for a run.

    Raises
    ------
    UserError
        When distributed is not installed, nobody answers, or workers would not compute the same numbers.
    """
    with _connected(address) as client:
        cluster = Cluster(client, address, config, say)
        try:
            cluster.check()
            yield cluster
        finally:
            cluster.stop()


@contextmanager
def _connected(address: str) -> "Iterator[Client]":
    try:
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        fix = 'pip install "fairbench-cli[dask]"'
        raise user_error("--backend dask needs distributed, which is not installed", fix, "") from None
    place = _in_file(Path(address)) if address.endswith(".json") else address
    with _quiet():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VersionMismatchWarning)  # we look ourselves
                client = Client(place, timeout=CONNECTS_WITHIN, set_as_default=False, name="fairbench")
        except (OSError, ValueError) as error:
            what = f"no scheduler of dask answers at {address}: {_in_words(error)}"
            fix = "start one with `dask scheduler`, or correct the address: tcp://HOST:8786"
            raise user_error(what, fix, "--scheduler") from None
        try:
            yield client
        finally:
            client.close(timeout=2)


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
    by_fault: dict[tuple[str, ...], list[str]] = {}
    for worker, differs in sorted(unlike.items()):
        by_fault.setdefault(differs, []).append(worker)
    faults = [f"{', '.join(those)}: {'; '.join(differs)}" for differs, those in by_fault.items()]
    what = f"{len(unlike)} of {workers} workers would not compute the same numbers: {' | '.join(faults)}"
    return user_error(what, "install there what `pip freeze` lists here, and start them again")


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
