"""What a command that takes long is doing: a live line on a terminal, one now and then in a pipe or a log."""

import time
from threading import Event, Thread
from typing import Self

from rich.console import Console
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
BETWEEN_LINES = 5.0  # in a pipe, also before the first one
BETWEEN_LOOKS = 0.2


class Activity:
    """Shows what is being done, how far it is and for how long, once that has taken more than a moment.

    Parameters
    ----------
    task : str
        What is done at first, as in "reading adult"; see `tell`.
    """

    def __init__(self, task: str) -> None:
        self._percent_done: PercentDone | None = None
        self._task = task
        self._console = Console(stderr=True, highlight=False)
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._start = time.monotonic()

    def tell(self, task: str, percent_done: PercentDone | None = None) -> None:
        """Say what is done from now on; `percent_done` says how far it is."""
        self._task = task
        self._percent_done = percent_done

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        if self._console.is_terminal:
            if not self._ended.wait(QUICK):
                self._show_bar()
            return
        while not self._ended.wait(BETWEEN_LINES):
            facts = [printable(self._task), f"{time.monotonic() - self._start:.0f} s"]
            percent = self._percent()
            if percent is not None:
                facts.insert(1, f"{percent:.0f} %")
            self._console.print(", ".join(facts), soft_wrap=True, markup=False)

    def _show_bar(self) -> None:
        percent_column = TaskProgressColumn("{task.percentage:.0f} %", markup=False)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            percent_column,
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        ) as bar:
            bar.add_task("", total=None)
            task = bar.tasks[0]
            while not self._ended.wait(BETWEEN_LOOKS):
                percent = self._percent()
                task.total = None  # how far the next thing is may not be known
                bar.update(
                    task.id,
                    description=printable(self._task),
                    total=None if percent is None else 100.0,
                    completed=percent or 0.0,
                )

    def _percent(self) -> float | None:
        percent_done = self._percent_done
        if percent_done is None:
            return None
        try:
            percent = percent_done()
        except Exception:  # what it looks at has just ended
            return None
        if percent is not None and 0 <= percent <= 100:
            return percent
        return None
