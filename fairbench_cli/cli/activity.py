"""What a command that takes long is doing: a live line on a terminal, one now and then in a pipe or a log."""

import time
from threading import Event, Thread
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
        self._what = what
        self._far = None
        self._console = Console(stderr=True, highlight=False)
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._start = time.monotonic()

    _far: PercentDone | None

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
                self._live()
            return
        while not self._ended.wait(BETWEEN_LINES):
            seconds = time.monotonic() - self._start
            far = self._per_cent()
            parts = [printable(self._what), *([] if far is None else [f"{far:.0f} %"]), f"{seconds:.0f} s"]
            self._console.print(", ".join(parts), soft_wrap=True, markup=False)

    def _live(self) -> None:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TextColumn("{task.fields[far]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task("", total=None, far="")
            while not self._ended.wait(BETWEEN_LOOKS):
                far = self._per_cent()
                if far is None:
                    text = ""
                else:
                    text = f"{far:.0f} %"
                if far is None:
                    total = None
                else:
                    total = 100.0
                bar.update(
                    task, description=printable(self._what), total=total, completed=far or 0.0, far=text
                )

    def _per_cent(self) -> float | None:
        far = self._far
        try:
            if far is None:
                found = None
            else:
                found = far()
        except Exception:  # what it looks at has just ended
            return None
        if found is not None and 0 <= found <= 100:
            return found
        return None
