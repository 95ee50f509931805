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
    what : str
        What is done at first; see `tell`.
    """

    def __init__(self, what: str) -> None:
        self._far: PercentDone | None = None
        self._what = what
        self._console = Console(stderr=True, highlight=False)
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._start = time.monotonic()

    def tell(self, what: str, far: PercentDone | None = None) -> None:
        """Say what is done from now on; `far` says how far it is, per cent."""
        self._what = what
        self._far = far

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
            facts = [printable(self._what), f"{time.monotonic() - self._start:.0f} s"]
            percent = self._percent()
            if percent is not None:
                facts.insert(1, f"{percent:.0f} %")
            self._console.print(", ".join(facts), soft_wrap=True, markup=False)

    def _show_bar(self) -> None:
        percent_column = TaskProgressColumn("{task.percentage:.0f} %", markup=False)
        columns = [TextColumn("{task.description}", markup=False), BarColumn(20), percent_column]
        with Progress(
            SpinnerColumn(), *columns, TimeElapsedColumn(), console=self._console, transient=True
        ) as bar:
            bar.add_task("", total=None)
            task = bar.tasks[0]
            while not self._ended.wait(BETWEEN_LOOKS):
                percent = self._percent()
                task.total = None  # how far the next thing is may not be known
                bar.update(
                    task.id,
                    description=printable(self._what),
                    total=None if percent is None else 100.0,
                    completed=percent or 0.0,
                )

    def _percent(self) -> float | None:
        far = self._far
        if far is None:
            return None
        try:
            percent = far()
        except Exception:  # what it looks at has just ended
            return None
        if percent is not None and 0 <= percent <= 100:
            return percent
        return None
