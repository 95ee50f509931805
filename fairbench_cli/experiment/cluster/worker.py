"""What a worker of a cluster does with a repeat: it checks what it is itself, and has a process run it.

Workers need fairbench and what it depends on, and no files: the rest comes with the task.
"""

import pickle
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fairbench_cli.experiment.cluster.child import IDLE, Errand
from fairbench_cli.experiment.cluster.fingerprint import Fingerprint

_CHILD = "fairbench_cli.experiment.cluster.child"
_LOCK = threading.Lock()


@dataclass(frozen=True)
class SentOrder:
    """A repeat as it is sent to a worker; its population is an argument of its own.

    Parameters
    ----------
    run : str
        What names the run.
    expected : Fingerprint
        Of the computer that planned it.
    errand : Errand
    """

    run: str
    expected: Fingerprint
    errand: Errand


@dataclass(frozen=True)
class ClusterAnswer:
    """What came of an order.

    Parameters
    ----------
    worker : str
        The address of the worker.
    repeat : bytes or None
        The pickled record; None where its process died of something else, or the worker refused.
    differs : tuple of str
        Why the worker refused.
    """

    worker: str
    repeat: bytes | None
    differs: tuple[str, ...] = ()


def run_there(order: SentOrder, population: bytes) -> ClusterAnswer:
    """Run a repeat on the worker of dask that this is called on.

    Raises
    ------
    RuntimeError
        When it can run none.
    """
    from distributed import get_worker

    worker = get_worker()
    if order.run not in _runs():  # the first of this run, perhaps on a worker that joined late
        differs = order.expected.differences()
        if differs:
            return ClusterAnswer(worker.address, None, differs)
    with _LOCK:
        if order.run not in _runs():
            folder = mkdtemp(prefix="fairbench-", dir=worker.local_directory)
            _runs()[order.run] = Children(Path(folder))
    return ClusterAnswer(worker.address, _runs()[order.run].run(order.errand, population))


def check_there(expected: Fingerprint) -> tuple[str, ...]:
    """Return in words what is different on the worker that this is called on."""
    return expected.differences()


def end_there(run: str) -> None:
    """End the processes of a run on the worker that this is called on, and remove its files."""
    children = _runs().pop(run, None)
    if children is not None:
        children.end()


class Children:
    """The processes of a run on one worker: as many as threads are at work.

    Parameters
    ----------
    folder : Path
        Where they keep the user's code.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._all: set[Child] = set()

    def run(self, errand: Errand, population: bytes) -> bytes | None:
        """Have a process run a repeat; raises as `Child.run`."""
        child = self._take()
        answer = None
        try:
            answer = child.run(errand, population)
        finally:
            with self._lock:
                if answer is None:
                    child.end()
                    self._all.discard(child)
                else:
                    self._idle.append(child)
        return answer

    def end(self) -> None:
        """End all of them."""
        with self._lock:
            for child in self._all:
                child.terminate()
            for child in self._all:
                child.end()
            self._idle.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _take(self) -> "Child":
        """Return a process that has nothing to do, or a new one."""
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if time.monotonic() - child.idle_since < IDLE / 2:  # else it may be about to end
                    return child
                child.end()
                self._all.discard(child)
            child = Child(self._folder)
            self._all.add(child)
            return child


class Child:
    """A process for repeats, seen from the thread that waits for them."""

    def __init__(self, folder: Path) -> None:
        # -P: what lies in the working folder is not ours. A session of its own: Ctrl-C is not for it.
        command = [sys.executable, "-P", "-m", _CHILD, str(folder)]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._has: set[str] = set()
        self.idle_since = time.monotonic()

    def run(self, errand: Errand, population: bytes) -> bytes | None:
        """Return the pickled record of a repeat; None where the process died.

        Raises
        ------
        RuntimeError
            When it cannot run any.
        """
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        if errand.name not in self._has:
            errand = replace(errand, population=population)
        try:
            pickle.dump(errand, self._process.stdin)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)  # noqa: S301 - from our own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None
        if isinstance(answer, str):
            raise RuntimeError(answer)  # noqa: TRY004 - it says what went wrong there
        self._has.add(errand.name)
        self.idle_since = time.monotonic()
        return bytes(answer)

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def end(self) -> None:
        """End the process, whatever it does; it ends its own, and removes what it wrote."""
        self.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                stream.close()  # type: ignore[union-attr]


@cache
def _runs() -> dict[str, Children]:
    """Return the processes of each run on this worker."""
    return {}
