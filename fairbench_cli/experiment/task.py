"""One repeat of one cell as a worker runs it: whatever a technique does, a record comes back."""

import time
import warnings
from dataclasses import dataclass, replace

from fairbench_cli.experiment.cell import Repeat, run_repeat
from fairbench_cli.experiment.datasets import Population
from fairbench_cli.experiment.plan import Cell

LONGEST_REASON = 500


@dataclass(frozen=True, eq=False)
class Task:
    """One repeat of one cell, with all that it needs."""

    cell: Cell
    repeat: int
    population: Population

    @property
    def mark(self) -> str:
        """Return the name of the file that marks this task as running."""
        return f"{self.cell.key}-{self.repeat}"


def run_task(task: Task) -> Repeat:
    """Run one repeat; an exception becomes a failed repeat, and a warning its reason."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Deprecations come once per process, at imports: they would differ with the number of workers.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            outcome = run_repeat(task.cell, task.population, task.repeat)
    except (Exception, SystemExit) as error:  # whatever a technique raises is one failed row
        reason = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - start
        return Repeat(task.cell.key, task.repeat, "failed", one_line(reason), None, seconds=seconds)
    reason = outcome.reason
    if caught and not reason:
        reason = f"{caught[0].category.__name__}: {caught[0].message}"
    return replace(outcome, reason=one_line(reason))


def one_line(text: str) -> str:
    r"""Return text as one line of proper Unicode, cut where it is very long.

    >>> one_line("a\n  b")
    'a b'
    """
    line = " ".join(str(text).split()).encode("utf-8", "replace").decode("utf-8")
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
