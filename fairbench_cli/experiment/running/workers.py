"""The worker processes of this machine: joblib's loky keeps them, a warm fork server starts them.

A fork server is a process that has loaded what repeats need and does nothing but fork: a worker is there in
some milliseconds, also in the place of one that died, and shares the memory of the libraries.
"""

import json
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any, Self

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.externals.loky.process_executor import ShutdownExecutorError

from fairbench_cli.base.scratch import WORKERS, scratch_folder
from fairbench_cli.experiment.cell import Status
from fairbench_cli.experiment.config.config import ExperimentConfig, Limits, size_in_words
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.running.task import Task
from fairbench_cli.experiment.running.warm import MARK, NOTHING
from fairbench_cli.experiment.running.worker import (
    PRINTED,
    Order,
    WorkerState,
    keep_prints,
    memory_of,
    overtime,
    read_state,
    serve,
    start,
)

ENDED = ".ended"
GRACE = 1.5
"""Seconds after its limit that a repeat has to end by itself."""
SHORT = Path("/tmp")  # noqa: S108 - for a folder of our own
MOST_OF_PATH = 80
WARM = "fairbench_cli.experiment.running.warm"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class NoWorkersError(Exception):
    """No worker process can be started on this system."""


@dataclass(frozen=True, eq=False)
class HandedOut:
    """A task that a worker has, and whether no other worker has any."""

    task: Task
    ticket: int
    alone: bool


@dataclass(frozen=True)
class Busy:
    """A worker that is running a repeat."""

    pid: int
    state: WorkerState

    @property
    def seconds(self) -> float:
        """Return for how long it has been running."""
        return (time.monotonic_ns() - self.state.start) / 1e9

    def excess(self, limits: Limits) -> tuple[Status, str] | None:
        """Return the status and the reason where it takes more than it may, else None."""
        if limits.seconds is not None and self.seconds > limits.seconds + GRACE:
            return "overtime", overtime(limits)
        if limits.memory is not None and memory_of(self.pid) - self.state.memory > limits.memory:
            return "memory", f"took more than {size_in_words(limits.memory)}; raise limits.memory"
        return None


class Workers:
    """Workers that can be ended and started anew; on leaving it no process and no file is left.

    Parameters
    ----------
    config : ExperimentConfig
        Whose classifiers and techniques are loaded before the first repeat.
    jobs : int
        How many there are.
    log : Path or None
        Where what techniques print is kept.
    """

    def __init__(self, config: ExperimentConfig, jobs: int, log: Path | None = None) -> None:
        self.jobs, self.limits, self.log = jobs, config.limits, log
        techniques = [technique.spec for technique in config.interventions]
        self._used = [
            sorted({one.name for one in specs if one.origin is None})
            for specs in (config.classifiers, techniques)
        ]
        self._stack = ExitStack()
        self._executor: ProcessPoolExecutor | None = None
        self._populations: dict[int, tuple[Population, Path]] = {}
        self._tickets = 0

    def __enter__(self) -> Self:
        self._scratch = self._stack.enter_context(scratch_folder())
        self._stack.enter_context(_safe_path())
        (self._scratch / WORKERS).mkdir()
        if METHOD == "forkserver":
            self._stack.enter_context(fork_server(self._scratch, self._used))
        self._stack.enter_context(_quiet())
        self._stack.callback(self.end)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def submit(self, task: Task, *, alone: bool) -> tuple[HandedOut, "Future[bytes]"]:
        """Hand out a task; the future brings what `result` reads.

        Raises
        ------
        NoWorkersError
            When this system lets nobody start a worker.
        BrokenProcessPool
            When a worker, or the fork server, has died.
        """
        self._tickets += 1
        place = self._place(task.population)
        order = Order(self._tickets, task.cell, task.repeat, place, self.limits, self._scratch, self.log)
        with no_interrupts() if self._executor is None else nullcontext():
            try:
                if self._executor is None:
                    how = {"context": _Context(), "initializer": start, "initargs": (self._scratch,)}
                    self._executor = ProcessPoolExecutor(self.jobs, timeout=None, **how)
                future = self._executor.submit(serve, order)
            except EOFError:  # the fork server has died; the next one loads nothing in advance
                os.environ[MARK] = NOTHING
                raise BrokenProcessPool from None
            except (OSError, NotImplementedError) as error:  # no semaphores: /dev/shm cannot be written
                raise NoWorkersError(str(error)) from None
        return HandedOut(task, self._tickets, alone), future

    def busy(self) -> list[Busy]:
        """Return the workers that are running a repeat."""
        found = []
        for path in (self._scratch / WORKERS).iterdir():
            if not path.suffix:
                state = read_state(path)
                if state.ticket:
                    found.append(Busy(int(path.name), state))
        return found

    def kill(self, pid: int) -> None:
        """End a worker and the processes that it has started."""
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL) if hasattr(os, "killpg") else os.kill(pid, signal.SIGTERM)

    def end(self) -> None:
        """End every worker; the next task starts new ones."""
        executor, self._executor = self._executor, None
        if executor is not None:
            _forget_waiting(executor)
            executor.shutdown(wait=True, kill_workers=True)
            for path in (self._scratch / WORKERS).iterdir():
                if path.suffix == PRINTED:
                    _keep_last_words(path, self.log)
                    path.unlink()
                elif path.suffix != ENDED:
                    path.rename(path.with_suffix(ENDED))

    def _place(self, population: Population) -> Path:
        """Return the file of a population, written when it is first used."""
        known = self._populations.get(id(population))
        if known is None:
            path = self._scratch / f"population-{len(self._populations)}"
            path.write_bytes(pickle.dumps(population, pickle.HIGHEST_PROTOCOL))
            known = self._populations[id(population)] = population, path
        return known[1]


def _forget_waiting(executor: ProcessPoolExecutor) -> None:
    """Take back the numbers of tasks that no worker has been given.

    While it shuts down, loky drops such tasks and then looks them up: its thread would end in a traceback
    and leave semaphores behind.
    """
    with suppress(queue.Empty):
        while True:
            executor._work_ids.get_nowait()


def is_lost(future: "Future[bytes]") -> bool:
    """Return whether a task, which is no longer waited for, ended with its worker."""
    return not future.done() or isinstance(future.exception(), BrokenProcessPool | ShutdownExecutorError)


def _keep_last_words(path: Path, log: Path | None) -> None:
    """Move what a worker that was ended has printed to the log."""
    printed = os.open(path, os.O_RDWR)
    try:
        keep_prints(printed, f"worker {path.stem}, which was ended", log)
    finally:
        os.close(printed)


METHOD = "forkserver" if sys.platform == "linux" else "spawn"


_BASE: Any = multiprocessing.get_context(METHOD)


class _Process(_BASE.Process):  # type: ignore[misc]
    """A process that does not run the main script of this one first.

    A script without `if __name__ == "__main__"` would otherwise start its own run again in every worker.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - multiprocessing's name
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            return _BASE.Process._Popen(process_obj)
        finally:
            sys.modules["__main__"] = main


class _Context(type(_BASE)):  # type: ignore[misc]
    """How the workers' processes are started."""

    Process = _Process


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep new processes from importing what lies in the current folder, unless this process does so too.

    Python starts its helpers with that folder at the head of their path: a `json.py` next to somebody's data
    would run in each.
    """
    name = "PYTHONSAFEPATH"
    if name in os.environ or {"", os.getcwd()} & set(sys.path):
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name, None)


@contextmanager
def fork_server(scratch: Path, used: list[list[str]]) -> Iterator[None]:
    """Start the fork server, with one thread a library, and end it; one that somebody else started stays."""
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        yield
        return
    settings: Any = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before, environment = dict(settings), dict(os.environ)
    stack = ExitStack()
    # For its socket, whose path has room for little more than a hundred bytes.
    short = len(os.fsencode(scratch)) <= MOST_OF_PATH
    settings["tempdir"] = str(scratch if short else stack.enter_context(scratch_folder(SHORT)))
    os.environ |= dict.fromkeys(ONE_THREAD, "1") | {MARK: json.dumps([os.getpid(), *used])}
    server.set_forkserver_preload([WARM])
    try:
        with no_interrupts():
            server.ensure_running()
        yield
    finally:
        for name in (*ONE_THREAD, MARK):
            os.environ.pop(name, None)
        os.environ |= {name: environment[name] for name in (*ONE_THREAD, MARK) if name in environment}
        if server._forkserver_pid is not None:
            with suppress(OSError):
                os.kill(server._forkserver_pid, signal.SIGKILL)
            server._stop()
        settings.clear()
        settings |= before
        stack.close()
        server.set_forkserver_preload(["__main__"])


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what loky warns of while it ends workers; the run goes on, which is what matters."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        warnings.filterwarnings("ignore", "Failed to kill subprocesses", UserWarning)
        yield


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back while processes start; they inherit that for good, so it is the parent's alone.

    Another thread may take the signal all the same, so its handler is held back too: an executor whose
    threads are only half started cannot be ended.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    held = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    handlers = {which: signal.signal(which, lambda number, _frame: noted.append(number)) for which in held}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # They clear away what a killed run leaves, so no signal of a terminal may end them. They let Ctrl-C
        # through again once they have started, so that they have to be the first.
        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_SETMASK, before | {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for which, handler in handlers.items():
            signal.signal(which, handler or signal.SIG_DFL)
    for number in noted:
        signal.raise_signal(number)
