"""What a worker is: a function of a pipe, which runs one repeat after the other within its limits.

Whatever a technique does, a record comes back, or the process ends, which its parent sees.
"""

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import TextIOWrapper
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from threadpoolctl import threadpool_limits

from fairbench_cli.experiment.cell import Repeat, Status, run_repeat
from fairbench_cli.experiment.config.config import Limits
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.processes import die_with_parent, end_group, limit_memory

AGAIN = 0.5
"""Seconds after which a technique that caught the first `Overtime` gets another one."""

LONGEST_REASON = 500


class Overtime(BaseException):
    """The repeat has run for longer than it may."""


@dataclass(frozen=True, eq=False)
class Task:
    """One repeat of one cell, with all that it needs."""

    cell: Cell
    repeat: int
    population: Population

    def ended(self, status: Status, reason: str, seconds: float = 0.0) -> Repeat:
        """Return the record of a repeat without a result."""
        return Repeat(self.cell.key, self.repeat, status, one_line(reason), None, seconds=seconds)

    def __str__(self) -> str:
        """Return the cell and the repeat in words."""
        cell = self.cell
        where = ", ".join(filter(None, (cell.dataset, cell.attribute, cell.world.name, f"β {cell.beta:g}")))
        return f"{where}, {cell.technique.spec}, {cell.classifier.name}, repeat {self.repeat}"


Watch = Callable[[list[tuple[Task, float]]], None]
"""Called now and then with the tasks that are running, and for how many seconds they have been."""


def work(handle: int, parent: int) -> NoReturn:
    """Be a worker until the pipe behind an open file is closed by `parent`, which started this process.

    First come the path of modules, the working folder, the file for what is printed, and the limits of a
    repeat, which are answered by the number of the process. A population by a number is answered by None; a
    cell, a repeat and the number of its population by the record. A thread receives, so that the end of the
    pipe is seen while a repeat runs.
    """
    die_with_parent(parent)
    pipe = _opened(handle)
    path, folder, printed, limits = pipe.recv()
    _set_up(path, folder, printed)
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, messages), daemon=True).start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pipe.close)  # its end is that of this process
    populations: dict[int, Population] = {}
    pipe.send(os.getpid())
    while True:
        message = pickle.loads(messages.get())  # noqa: S301 - from the process that started this one
        if isinstance(message, dict):
            populations |= message
            pipe.send(None)
        else:
            cell, repeat, population = message
            pipe.send_bytes(_record(Task(cell, repeat, populations[population]), limits))


def _opened(handle: int) -> "Connection[Any, Any]":
    """Return the pipe behind an open file, which no program that a technique starts holds open."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        os.set_handle_inheritable(handle, False)
        return PipeConnection(handle)
    os.set_inheritable(handle, False)
    return Connection(handle)


def _receive(pipe: "Connection[Any, Any]", messages: "SimpleQueue[bytes]") -> None:
    with suppress(EOFError, OSError):
        while True:
            messages.put(pipe.recv_bytes())
    end_group(os.getpid())
    os._exit(1)


def _set_up(path: list[str], folder: str, printed: Path) -> None:
    """Prepare this process: no signals of the terminal, one thread, prints into a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    threadpool_limits(1)  # of what is loaded; what comes later asks the environment
    if hasattr(os, "setpgid"):
        with suppress(OSError):  # it leads a session
            os.setpgid(0, 0)  # so that it can be ended with processes that a technique starts
    sys.path[:] = path
    with suppress(OSError):
        os.chdir(folder)
    file = os.open(printed, os.O_WRONLY | os.O_APPEND)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        os.dup2(file, number)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # in turn with what compiled code prints


def _record(task: Task, limits: Limits) -> bytes:
    """Return the pickled record of a repeat; one that cannot be pickled is a failure."""
    record = run_within(task, limits)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a technique closed it
            stream.flush()
    try:
        return pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps(task.ended("failed", _described(error), record.seconds))


def run_within(task: Task, limits: Limits, ends_all: type[BaseException] = Overtime) -> Repeat:
    """Run one repeat in the main thread of this process, within its limits.

    Parameters
    ----------
    ends_all : type
        What is raised here, too, as it is not about this repeat alone.
    """
    start = time.process_time()
    try:
        with limited(limits):
            return run_task(task, ends_all)
    except Overtime:
        stop_clock()  # it may have come while the limits were lifted
        return task.ended("overtime", overtime(limits), time.process_time() - start)


def overtime(limits: Limits) -> str:
    """Return why a repeat without a result has none."""
    seconds = limits.seconds or 0
    return f"ran for longer than {seconds:g} s by the clock; raise it: --set limits.seconds={10 * seconds:g}"


def run_task(task: Task, ends_all: type[BaseException] = Overtime) -> Repeat:
    """Run one repeat; an exception becomes a record without a result, and a warning its reason.

    `Overtime` is raised, and so is `ends_all`.
    """
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Deprecations come once per process, at imports: they would differ with the number of workers.
            warnings.simplefilter("ignore")
            for warning_kind in (UserWarning, RuntimeWarning):
                warnings.simplefilter("always", warning_kind)
            outcome = run_repeat(task.cell, task.population, task.repeat)
    except (Overtime, ends_all):
        raise
    except BaseException as error:
        cause = error.__cause__
        while cause is not None:  # compiled code puts its own in its place, perhaps more than once
            if isinstance(cause, Overtime | ends_all):
                raise cause from None
            cause = cause.__cause__
        status: Status = "memory" if isinstance(error, MemoryError) else "failed"
        return task.ended(status, _described(error), time.process_time() - start)
    reason = outcome.reason
    if caught and not reason:
        reason = f"{caught[0].category.__name__}: {caught[0].message}"
    return replace(outcome, reason=one_line(reason))


def _described(error: BaseException) -> str:
    """Return the name and message of an error, even if its message cannot be read."""
    try:
        message = str(error)
    except BaseException:
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}".removesuffix(": ")


def one_line(text: str) -> str:
    r"""Return text as one line of proper Unicode, cut where it is very long.

    >>> one_line("a\n  b")
    'a b'
    """
    line = " ".join(str(text).split()).encode("utf-8", "replace").decode("utf-8")
    if len(line) <= LONGEST_REASON:
        return line
    return f"{line[: LONGEST_REASON - 1]}…"


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Raise `Overtime` or MemoryError in a block that takes more than it may; in a main thread.

    Compiled code is not interrupted: it has to end first. The limit of memory is one of address space, on top
    of what the process has now, so that libraries that are loaded already do not count. Whoever had the alarm
    before has it again afterwards.
    """
    armed = True
    handler = None

    def ring(*_: object) -> None:
        if armed:
            raise Overtime

    if hasattr(signal, "setitimer"):
        handler = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds or 0, AGAIN)
    before = limit_memory(limits.memory)
    try:
        yield
    finally:
        armed = False
        stop_clock()
        if handler is not None:
            signal.signal(signal.SIGALRM, handler)
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, before)


def stop_clock() -> None:
    """Let no more alarms come."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
