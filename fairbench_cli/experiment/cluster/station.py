"""What a worker of a cluster does with a repeat, and what travels to it.

It checks what it is itself, and a pool of its own runs the repeat: a worker of dask runs tasks in threads,
where nothing can be stopped; a pool's workers can be. It needs fairbench and what that depends on, and no
files: the rest comes with the task. A value travels as bytes that keep everything but the paths of the user's
code, which is written to a folder named by its sha256 where it arrives. Keys and seeds stay as they are: they
are made of names and sha256, not of paths.
"""

import hashlib
import io
import os
import pickle
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.plugins import CodeOrigin, digest_of, read_sources, version_of
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.running.pool import LocalPool
from fairbench_cli.experiment.running.worker import Task
from fairbench_cli.experiment.versions import PYTHON, versions_of, versions_of_numbers

if TYPE_CHECKING:
    from fairbench_cli.experiment.config.config import ExperimentConfig

Sources = Mapping[str, Mapping[str, bytes]]
"""The files of each version of somebody's code, by ``sha256:…`` and by their names."""

_SHA256 = "sha256:"


class _Packer(pickle.Pickler):
    """Writes where code is without the folder of its file."""

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        """Return what stands for a file of code; None for everything else."""
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
        return CodeOrigin(f"{_place(self._folder, version)}/{target}", version)


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
    if _SHA256 + digest_of(files) != origin.version:
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
        place = _place(folder, version)
        if place.is_dir():
            continue
        part = place.with_name(f".{place.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        for name, text in files.items():
            path = (part / name).resolve()
            if not path.is_relative_to(part.resolve()):
                raise ValueError(f"{name!r} is outside the folder of the code")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        try:
            part.rename(place)
        except OSError:  # another worker was quicker
            shutil.rmtree(part, ignore_errors=True)


def _place(folder: Path, version: str) -> Path:
    return folder / version.removeprefix(_SHA256)


LIKE_THERE = ("distributed",)
"""What decides no number, but does not understand other versions of itself."""


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
        own = versions_of(name for name in self.packages if name != PYTHON)
        differs = [
            f"{name} {own[name]} instead of {given}"
            for name, given in self.packages.items()
            if own[name] != given
        ]
        for module, given in self.modules.items():
            try:
                here = version_of(module)
            except (ImportError, ValueError, OSError):
                here = "none"
            if here != given:
                differs.append(f"{module} {here[:20]} instead of {given[:20]}")
        if code_of_fairbench() != self.code:
            differs.append("another state of fairbench's own code")
        return tuple(differs)


def fingerprint_of(config: "ExperimentConfig") -> Fingerprint:
    """Return what decides the numbers of an experiment in this process."""
    packages = {**versions_of_numbers(config).packages, **versions_of(LIKE_THERE)}
    modules = {}
    for origin in (origin for _, origin in config.plugins if origin.path is None):
        if origin.version.startswith("sha256:"):
            modules[origin.target.rpartition(":")[0]] = origin.version
        else:
            named = (one.rpartition(" ") for one in origin.version.split(", "))
            packages |= {name: version for name, _, version in named if name != PYTHON}
    return Fingerprint(packages, modules, code_of_fairbench())


@cache
def code_of_fairbench() -> str:
    """Return the sha256 of the Python files of the package, by their names."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(text)}\n".encode())
        found.update(text)
    return found.hexdigest()


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
        self._at_work, self._ended = 0, False

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
            pool = self._idle.pop() if self._idle else None
            self._at_work += 1
        try:
            outcome, pool = self._run(pool, Task(cell, number, self._populations[name]))
        finally:
            with self._lock:
                self._at_work -= 1
        with self._lock:
            self._idle.append(pool)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE, self.rest)
            self._timer.daemon = True
            self._timer.start()
        return outcome

    def _run(self, pool: LocalPool | None, task: Task) -> tuple[Repeat, LocalPool]:
        """Run a task in a pool, by default a new one, which is left where that fails."""
        if pool is None:
            log = Path(mkdtemp(dir=self._folder)) / "printed"
            pool = LocalPool(self._config, 1, log=log, place=self._folder).__enter__()
        if pool.fault is not None:
            pool.__exit__()
            raise pool.fault
        try:
            [outcome] = pool.outcomes([task], self._go_on)
        except BaseException:
            pool.__exit__()
            raise
        _show(pool.log)
        return outcome, pool

    def _go_on(self, _: object) -> None:
        """Refuse to go on where nobody waits for the outcome."""
        if self._ended:
            raise RuntimeError("the run has ended")

    def rest(self) -> None:
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
        self.rest()
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


def _show(log: Path | None) -> None:
    """Move what techniques printed to the log of the cluster's worker."""
    if log is not None:
        with suppress(OSError):
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
            log.unlink()
