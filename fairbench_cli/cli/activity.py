"""What a command that takes long is doing: a live line, on a terminal alone.

A pipe or a log gets results and errors, which are the same however busy the machine is; what `fairbench run`
has done is said there by `progress`.
"""

from collections.abc import Iterable
from threading import Timer
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from fairbench_cli.base.progress_callbacks import PercentDone
from fairbench_cli.base.safe_text import printable

QUICK = 1.0  # seconds; a command that takes less says nothing
LOOKS_A_SECOND = 5.0


class _Line(Progress):
    """A line that looks how far its task is each time it is drawn."""

    percent_done: PercentDone | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the line; how far a task is may not be known."""
        percent = None
        if self.percent_done is not None:
            try:
                percent = self.percent_done()
            except Exception:  # what it looks at has just ended
                percent = None
        for task in self.tasks:
            task.total = None
            task.completed = 0.0
            if percent is not None and 0 <= percent <= 100:
                task.total = 100.0
                task.completed = percent
        yield from super().get_renderables()


class Activity:
    """Shows what is being done, how far it is and for how long, once that has taken more than a moment.

    Parameters
    ----------
    task : str
        What is done at first, as in "reading adult"; see `tell`.
    """

    def __init__(self, task: str) -> None:
        self._line = _Line(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TaskProgressColumn("{task.percentage:.0f} %", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
            refresh_per_second=LOOKS_A_SECOND,
        )
        self._task = self._line.add_task(printable(task), total=None)
        self._timer = Timer(QUICK, self._line.start)
        self._timer.daemon = True

    def tell(self, task: str, percent_done: PercentDone | None = None) -> None:
        """Say what is done from now on; `percent_done` says how far it is."""
        self._line.percent_done = percent_done
        self._line.update(self._task, description=printable(task))

    def __enter__(self) -> Self:
        if self._line.console.is_terminal:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:  # it may be starting the line just now
            self._timer.join()
        if self._line.live.is_started:
            self._line.stop()
