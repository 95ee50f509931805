"""A process that runs repeats for a thread of a cluster's worker: ``python -m`` this module, and a folder.

A worker of dask runs tasks in threads, where nothing can be stopped, and may not have children of its own by
Python's means. This process may: it runs repeats as a run on one machine does, with one worker.
"""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, NoReturn

from fairbench_cli.experiment.cluster.parcel import Sources, unpack, write_sources

IDLE = 20.0
"""Seconds without work after which the process ends."""


@dataclass(frozen=True)
class Errand:
    """One repeat to run.

    Parameters
    ----------
    config : bytes
        The packed config, whose limits hold.
    data : bytes
        The packed cell and the number of the repeat.
    name : str
        What names the population.
    population : bytes or None
        The packed population; None where the process has it already.
    sources : dict
        The files of the user's code that they name.
    """

    config: bytes
    data: bytes
    name: str
    population: bytes | None
    sources: Sources


def main() -> None:
    """Run what comes on standard input until it ends; an answer is a pickled repeat, or why there is none."""
    from fairbench_cli.experiment.running.runner import run_tasks
    from fairbench_cli.experiment.running.task import Task
    from fairbench_cli.experiment.running.workers import Workers

    folder = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _leave)
    errands: SimpleQueue[Errand] = SimpleQueue()
    threading.Thread(target=_receive, args=(errands,), daemon=True).start()
    first, log = errands.get(), folder / f"printed-{os.getpid()}.txt"

    def tasks() -> Iterator[Task]:
        populations, errand = {}, first
        while True:
            write_sources(errand.sources, folder)
            if errand.population is not None:
                populations[errand.name] = unpack(errand.population, folder)
            cell, repeat = unpack(errand.data, folder)
            yield Task(cell, repeat, populations[errand.name])
            try:
                errand = errands.get(timeout=IDLE)
            except Empty:
                return

    try:
        with (
            Workers(unpack(first.config, folder), 1, log) as workers,
            closing(run_tasks(tasks(), workers)) as outcomes,
        ):
            for outcome in outcomes:
                _show(log)
                _answer(answers, pickle.dumps(outcome))
    except Exception as error:
        _answer(answers, f"{type(error).__name__}: {error}")


def _leave(*_: object) -> NoReturn:
    raise SystemExit


def _receive(errands: "SimpleQueue[Errand]") -> None:
    """Take errands in; when nobody can send any more, leave, whatever is running."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            errands.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from the process that started this one
    os.kill(os.getpid(), signal.SIGTERM)


def _show(log: Path) -> None:
    """Move what techniques printed to the log of the cluster's worker."""
    with suppress(OSError):
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
        log.unlink()


def _answer(answers: IO[bytes], answer: bytes | str) -> None:
    pickle.dump(answer, answers)
    answers.flush()


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)  # not waiting for the thread that listens
