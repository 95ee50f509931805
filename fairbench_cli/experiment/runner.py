"""Run repeats in parallel. Workers compute, the parent alone writes; a dead worker costs one repeat."""

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from fairbench_cli.experiment.cell import Repeat, run_repeat
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.population import Population


@dataclass(frozen=True, eq=False)
class Task:
    """One repeat of one cell, with all that it needs."""

    cell: Cell
    repeat: int
    population: Population

    @property
    def mark(self) -> str:
        """Return the name of the file that stands for this task while it runs."""
        return f"{self.cell.key}-{self.repeat}"


def run_tasks(tasks: list[Task], jobs: int) -> Iterator[Repeat]:
    """Yield the outcome of every task as it finishes, in any order.

    `jobs` = 1 runs in this process. One BLAS thread per task always, so that the numbers do not depend on
    the number of workers.
    """
    if jobs == 1:
        with threadpool_limits(1):
            yield from (run_task(task, None) for task in tasks)
        return
    todo = {task.mark: task for task in tasks}
    with tempfile.TemporaryDirectory(prefix="fairbench-") as folder:
        marks = Path(folder)
        while todo:
            try:
                for outcome in _parallel(list(todo.values()), jobs, marks):
                    del todo[f"{outcome.key}-{outcome.repeat}"]
                    yield outcome
            except TerminatedWorkerError:
                suspects = [todo[path.name] for path in sorted(marks.iterdir()) if path.name in todo]
                for suspect in suspects:
                    yield _alone(suspect, marks)
                    del todo[suspect.mark]
                for path in marks.iterdir():
                    path.unlink()


def _parallel(tasks: list[Task], jobs: int, marks: Path) -> Iterator[Repeat]:
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", max_nbytes="100K")
    with warnings.catch_warnings():
        # joblib warns when a worker is restarted for its memory; the run goes on, which is what matters.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield from pool(joblib.delayed(run_task)(task, marks) for task in tasks)


def _alone(task: Task, marks: Path) -> Repeat:
    """Run a task that was under way when a worker died by itself, to tell the culprit from bystanders."""
    try:
        return next(_parallel([task], 2, marks))
    except TerminatedWorkerError as error:
        first = str(error).splitlines()[0]
        return Repeat(task.cell.key, task.repeat, "killed", f"the worker died: {first}", None)


def run_task(task: Task, marks: Path | None) -> Repeat:
    """Run one repeat; an exception becomes a failed repeat, and a warning its reason."""
    if marks is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    mark = None if marks is None else marks / task.mark
    if mark is not None:
        mark.touch()
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            outcome = run_repeat(task.cell, task.population, task.repeat)
        if caught and not outcome.reason:
            text = " ".join(str(caught[0].message).split())
            outcome = replace(outcome, reason=f"{caught[0].category.__name__}: {text}")
    except Exception as error:  # noqa: BLE001 - whatever a technique raises is one failed row, not a stop
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        seconds = time.process_time() - start
        outcome = Repeat(task.cell.key, task.repeat, "failed", reason, None, seconds=seconds)
    if mark is not None:
        mark.unlink(missing_ok=True)
    return outcome


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
