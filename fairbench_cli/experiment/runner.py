"""Run repeats in parallel. Workers compute, the parent alone writes; a dead worker costs one repeat."""

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.task import Task, run_task

DIED = "its worker process died: killed, out of memory, or a crash in compiled code"


def run_tasks(tasks: Iterable[Task], jobs: int) -> Generator[Repeat]:
    """Yield the outcome of every task as it finishes, in any order.

    `jobs` = 1 runs in this process, where a crash in compiled code ends the run. One BLAS thread per task
    always, so that the numbers do not depend on the number of workers.
    """
    if jobs == 1:
        with threadpool_limits(1):
            yield from (run_task(task) for task in tasks)
        return
    todo = {task.mark: task for task in tasks}
    with tempfile.TemporaryDirectory(prefix="fairbench-", ignore_cleanup_errors=True) as folder:
        marks = Path(folder)
        while todo:
            try:
                with closing(_parallel(list(todo.values()), jobs, marks)) as outcomes:
                    for outcome in outcomes:
                        del todo[f"{outcome.key}-{outcome.repeat}"]
                        yield outcome
            except TerminatedWorkerError:
                # Some of the tasks that were under way killed the worker; the next one to come is tried
                # where none was, so that every turn gets on.
                under_way = [name for name in sorted(path.name for path in marks.iterdir()) if name in todo]
                for name in under_way or list(todo)[:1]:
                    yield _alone(todo.pop(name), marks)
                for path in marks.iterdir():
                    path.unlink(missing_ok=True)


def _parallel(tasks: list[Task], jobs: int, marks: Path) -> Generator[Repeat]:
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", max_nbytes="100K")
    with warnings.catch_warnings():
        # joblib warns when a worker is restarted for its memory; the run goes on, which is what matters.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        with _no_interrupts():
            outcomes = pool(joblib.delayed(_served)(task, marks) for task in tasks)
        with closing(outcomes):
            yield from outcomes


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back while workers start; they inherit that for good, so it is the parent's alone.

    Another thread may take the signal all the same, so its handler is held back too: joblib cannot end a pool
    whose threads are only half started.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
    if noted:
        raise KeyboardInterrupt


def _alone(task: Task, marks: Path) -> Repeat:
    """Run a task that was under way when a worker died alone, so that only the culprit is blamed."""
    try:
        with closing(_parallel([task], 2, marks)) as outcomes:
            (outcome,) = outcomes
            return outcome
    except TerminatedWorkerError:
        return Repeat(task.cell.key, task.repeat, "killed", DIED, None)


def _served(task: Task, marks: Path) -> Repeat:
    """Run one repeat in a worker, which marks it as under way."""
    _serve(os.getppid())
    mark = marks / task.mark
    mark.touch()
    outcome = run_task(task)
    mark.unlink(missing_ok=True)
    return outcome


@cache
def _serve(parent: int) -> None:
    """Make a worker leave Ctrl-C to its parent and end with it, once per process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # where signals cannot be held back: see _no_interrupts

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
