"""Repeats in the process of the run itself, one after the other: no worker starts and loads libraries.

Workers are there for what may end its process or not end by itself: code that is not fairbench's or
scikit-learn's, and limits that a config sets. What is computed here keeps the limits that hold by default as
a worker does; but nobody ends from outside what stays in compiled code.
"""

import os
import signal
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig, Limits
from fairbench_cli.experiment.running.processes import ONE_THREAD
from fairbench_cli.experiment.running.run import PreparedRun
from fairbench_cli.experiment.running.worker import Task, Watch, run_within
from fairbench_cli.interventions.registry import INTERVENTIONS

FEW_ROWS = 250_000
"""Training rows of all repeats together for which a second worker does not pay."""
UNINTERRUPTED = frozenset({"svm"})
"""Classifiers whose fit stays in compiled code until it ends, however long that takes."""


class InlinePool:
    """A pool without workers, which has no processes to start or to end.

    Parameters
    ----------
    limits : Limits
        What a repeat may take.
    """

    jobs = 1

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def outcomes(self, tasks: Iterable[Task], watch: Watch | None = None) -> Generator[Repeat]:
        """Yield the outcome of one task after the other; a Ctrl-C ends them, not only the one under way."""
        with _as_in_worker():
            for task in tasks:
                if watch is not None:
                    watch([(task, 0.0)])
                yield run_within(task, self._limits, ends_all=KeyboardInterrupt)


@contextmanager
def _as_in_worker() -> Iterator[None]:
    """Compute with one thread, also in libraries that are loaded later, and with NumPy's own error states."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        with threadpool_limits(1), np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def needs_workers(config: ExperimentConfig) -> bool:
    """Return whether a repeat may have to be ended from outside, or may end its process.

    >>> from fairbench_cli.experiment.config.read import find_config, read_config
    >>> path = find_config("quickstart")
    >>> needs_workers(read_config(path)), needs_workers(read_config(path, ("limits.seconds=5",)))
    (False, True)
    """
    limits = config.limits
    has_limit = limits.seconds is not None or limits.memory is not None
    if has_limit and (limits != Limits() or not hasattr(signal, "setitimer")):
        return True
    if config.plugins or any(spec.name in UNINTERRUPTED for spec in config.classifiers):
        return True
    targets = [INTERVENTIONS[technique.spec.name].target for technique in config.interventions]
    return any(".fairlearn:" in target for target in targets)


def is_small(prepared: PreparedRun) -> bool:
    """Return whether what is to do takes no longer than workers take to start, by the rows to train on."""
    n_left = prepared.repeats_left
    sizes = {dataset.name: dataset.size for dataset in prepared.datasets}
    rows = 0
    for cell in prepared.distinct:
        tuning = cell.technique.tune
        n_fits = 1 if tuning is None else len(tuning.candidates)
        rows += n_left[cell.key] * n_fits * sizes[cell.source]
    return rows <= FEW_ROWS
