"""One repeat of one cell as a worker runs it: whatever a technique does, a record comes back."""

import time
import warnings
from dataclasses import dataclass, replace

from fairbench_cli.experiment.cell import Repeat, Status, run_repeat
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.guard import Overtime

LONGEST_REASON = 500


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
        where = f"{cell.dataset}, {cell.attribute}, β {cell.beta:g}"
        return f"{where}, {cell.technique.spec}, {cell.classifier.name}, repeat {self.repeat}"


def run_task(task: Task) -> Repeat:
    """Run one repeat; an exception becomes a record without a result, and a warning its reason."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Deprecations come once per process, at imports: they would differ with the number of workers.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            outcome = run_repeat(task.cell, task.population, task.repeat)
    except Overtime:
        raise
    except BaseException as error:
        seconds = time.process_time() - start
        status: Status = "memory" if isinstance(error, MemoryError) else "failed"
        return task.ended(status, _described(error), seconds)
    reason = outcome.reason
    if caught and not reason:
        reason = f"{caught[0].category.__name__}: {caught[0].message}"
    return replace(outcome, reason=one_line(reason))


def _described(error: BaseException) -> str:
    """Return what was raised, even if it cannot say so itself."""
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
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
