"""What a worker process is: it ends with its parent, obeys limits, and says what it is doing."""

import multiprocessing
import os
import pickle
import signal
import struct
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path

from threadpoolctl import threadpool_limits

from fairbench_cli.base.scratch import WORKERS
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import Limits
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.guard import Overtime, disarm, limited
from fairbench_cli.experiment.running.orphans import die_with_parent
from fairbench_cli.experiment.running.task import Task, run_task

PRINTED = ".out"
MOST_PRINTED = 20_000
"""Bytes of what one repeat prints that are kept."""

MOST_SENT = 4_000
"""Bytes of an answer through a pipe: the system takes as many in one piece."""

_STATE = struct.Struct("qqq")


@dataclass(frozen=True)
class WorkerState:
    """What a worker is doing.

    Parameters
    ----------
    ticket : int
        The number of its order; 0: none.
    start : int
        Its start on the monotonic clock, nanoseconds.
    memory : int
        What the process took then, bytes; 0 where the system does not say.
    """

    ticket: int
    start: int
    memory: int


@dataclass(frozen=True, eq=False)
class Order:
    """One repeat as it is sent to a worker; the population is a file, which a worker reads once.

    Parameters
    ----------
    ticket : int
        From 1; no two orders of a pool have the same.
    scratch : Path
        The folder for temporary files.
    log : Path or None
        Where what techniques print is kept.
    """

    ticket: int
    cell: Cell
    repeat: int
    population: Path
    limits: Limits
    scratch: Path
    log: Path | None


def serve(order: Order) -> bytes:
    """Run one repeat within its limits; return what `received` reads.

    A long answer is a file: a worker that is killed while it writes to a pipe would leave half of it there.
    """
    content = pickle.dumps(_run(order), pickle.HIGHEST_PROTOCOL)
    if len(content) <= MOST_SENT:
        return content
    path = order.scratch / f"result-{order.ticket}"
    path.write_bytes(content)
    return pickle.dumps(path)


def received(content: bytes) -> Repeat:
    """Return the record that a worker sent."""
    answer = pickle.loads(content)  # noqa: S301 - from a worker of this run
    if isinstance(answer, Path):
        path, answer = answer, pickle.loads(answer.read_bytes())  # noqa: S301
        path.unlink()
    record: Repeat = answer
    return record


def _run(order: Order) -> Repeat:
    state, printed = _files(order.scratch)
    task = Task(order.cell, order.repeat, _population(order.population))
    _say(state, WorkerState(order.ticket, time.monotonic_ns(), memory_of(os.getpid())))
    try:
        return run_within(task, order.limits)
    finally:
        _say(state, WorkerState(0, 0, 0))
        keep_prints(printed, str(task), order.log)


def run_within(task: Task, limits: Limits) -> Repeat:
    """Run one repeat in the main thread of this process, within its limits."""
    start = time.process_time()
    try:
        with limited(limits):
            return run_task(task)
    except Overtime:
        disarm()
        return task.ended("overtime", overtime(limits), time.process_time() - start)


def overtime(limits: Limits) -> str:
    """Return why a repeat without a result has none."""
    return f"ran for longer than {limits.seconds:g} s; raise limits.seconds"


def start(scratch: Path) -> None:
    """Prepare a worker: no signals of the terminal, an end with its parent, prints into a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where signals cannot be held back
    end_with_parent()
    disarm()
    threadpool_limits(1)  # of what is loaded; what comes later asks the environment
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # so that it can be ended with processes that a technique starts
    _, printed = _files(scratch)
    sys.stdout.flush()
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(printed, stream)


def end_with_parent() -> None:
    """End this process when its parent does, whatever it is doing."""
    die_with_parent()
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def memory_of(pid: int) -> int:
    """Return the resident memory of a process, bytes; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def read_state(path: Path) -> WorkerState:
    """Return what a worker last said of itself."""
    content = path.read_bytes()
    return WorkerState(*_STATE.unpack(content)) if len(content) == _STATE.size else WorkerState(0, 0, 0)


def _say(file: int, state: WorkerState) -> None:
    os.pwrite(file, _STATE.pack(state.ticket, state.start, state.memory), 0)


@cache
def _files(scratch: Path) -> tuple[int, int]:
    """Return the open files of this worker: what it is doing, and what is printed in it."""
    own = scratch / WORKERS / str(os.getpid())
    state = os.open(own, os.O_RDWR | os.O_CREAT, 0o600)
    return state, os.open(own.with_suffix(PRINTED), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)


@cache
def _population(path: Path) -> Population:
    population: Population = pickle.loads(path.read_bytes())  # noqa: S301 - the parent wrote it for this run
    return population


def keep_prints(printed: int, title: str, log: Path | None) -> None:
    """Move what was printed to the end of the log, under a title; in one step, as workers share it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # a technique closed it
            continue
    size = os.fstat(printed).st_size
    if not size:
        return
    text = os.pread(printed, min(size, MOST_PRINTED), 0).decode("utf-8", "replace").rstrip("\n")
    os.ftruncate(printed, 0)
    if log is None:
        return
    more = f"\n… and {size - MOST_PRINTED} more bytes" if size > MOST_PRINTED else ""
    with log.open("ab", buffering=0) as file:
        file.write(f"== {title}\n{text}{more}\n".encode())
