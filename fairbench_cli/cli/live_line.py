"""The live line on a terminal: what a command is doing, how far it is and for how long."""

from collections.abc import Iterable

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

LOOKS_A_SECOND = 5.0


class LiveLine(Progress):
    """A line that looks how far its task is each time it is drawn."""

    percent_done: PercentDone | None = None

    def __init__(self, console: Console, task: str) -> None:
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TaskProgressColumn("{task.percentage:.0f} %", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            refresh_per_second=LOOKS_A_SECOND,
        )
        self._task = self.add_task(printable(task), total=None)

    def tell(self, task: str, percent_done: PercentDone | None) -> None:
        """Say what is done from now on; `percent_done` says how far it is."""
        self.percent_done = percent_done
        self.update(self._task, description=printable(task))

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
