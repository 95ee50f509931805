"""What a worker of a cluster does with a repeat: it checks what it is itself, and a pool of its own runs it.

A worker of dask runs tasks in threads, where nothing can be stopped; a pool's workers can be. Workers need
fairbench and what it depends on, and no files: the rest comes with the task.
"""

import shutil
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.cluster.parcel import Fingerprint, Sources, unpack, write_sources
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.running.pool import LocalPool
from fairbench_cli.experiment.running.worker import Task

IDLE = 20.0
"""Seconds without work after which processes end."""
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


@dataclass(frozen=True)
class ClusterAnswer:
    """What came of an order.

    Parameters
    ----------
    worker : str
        The address of the worker.
    repeat : Repeat or None
        None where the worker refused.
    differs : tuple of str
        Why the worker refused.
    """

    worker: str
    repeat: Repeat | None
    differs: tuple[str, ...] = ()


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

    def repeat(self, task: bytes, name: str, population: bytes) -> Repeat:
        """Return the record of a repeat, of a packed cell and number on a packed population and its name.

        Raises
        ------
        OSError
            When no process can be started.
        """
        with self._lock:
            if name not in self._populations:
                self._populations[name] = unpack(population, self._folder)
            pool = self._idle.pop() if self._idle else None
        if pool is None:
            log = Path(mkdtemp(dir=self._folder)) / "printed"
            pool = LocalPool(self._config, 1, log=log, place=self._folder).__enter__()
            if pool.fault is not None:
                raise pool.fault
        cell, number = unpack(task, self._folder)
        [outcome] = pool.outcomes([Task(cell, number, self._populations[name])])
        _show(pool.log)
        with self._lock:
            self._idle.append(pool)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE, self.rest)
            self._timer.daemon = True
            self._timer.start()
        return outcome

    def rest(self) -> None:
        """End the processes that have nothing to do."""
        with self._lock:
            while self._idle:
                self._idle.pop().__exit__()

    def end(self) -> None:
        """End the processes, and remove what they wrote."""
        self.rest()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def _stations() -> dict[str, Station]:
    """Return the station of each run on this worker."""
    return {}


def run_there(run: SentRun, task: bytes, name: str, population: bytes) -> ClusterAnswer:
    """Run a repeat on the worker of dask that this is called on."""
    from distributed import get_worker

    worker = get_worker()
    with _LOCK:
        if run.name not in _stations():  # the first of this run, perhaps on a worker that joined late
            differs = run.expected.differences()
            if differs:
                return ClusterAnswer(worker.address, None, differs)
            folder = mkdtemp(prefix="fairbench-", dir=worker.local_directory)
            _stations()[run.name] = Station(Path(folder), run)
        station = _stations()[run.name]
    return ClusterAnswer(worker.address, station.repeat(task, name, population))


def check_there(expected: Fingerprint) -> tuple[str, ...]:
    """Return in words what is different on the worker that this is called on."""
    return expected.differences()


def end_there(run: str) -> None:
    """End the processes of a run on the worker that this is called on, and remove its files."""
    station = _stations().pop(run, None)
    if station is not None:
        station.end()


def _show(log: Path | None) -> None:
    """Move what techniques printed to the log of the cluster's worker."""
    if log is not None:
        with suppress(OSError):
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
            log.unlink()
