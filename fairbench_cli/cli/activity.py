"""What a command that takes long is doing: a live line, on a terminal alone.

A pipe or a log gets results and errors, which are the same however busy the machine is; what `fairbench run`
has done is said there by `progress`.
"""

from threading import Timer
from typing import TYPE_CHECKING, Self

from rich.console import Console

from fairbench_cli.base.progress_callbacks import PercentDone

if TYPE_CHECKING:  # loaded on a terminal alone
    from fairbench_cli.cli.live_line import LiveLine

QUICK = 1.0  # seconds; a command that takes less says nothing


class Activity:
    """Shows what is being done, how far it is and for how long, once that has taken more than a moment.

    Parameters
    ----------
    task : str
        What is done at first, as in "reading adult"; see `tell`.
    """

    _line: "LiveLine | None" = None

    def __init__(self, task: str) -> None:
        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            from fairbench_cli.cli.live_line import LiveLine

            self._line = LiveLine(console, task)
            self._timer = Timer(QUICK, self._line.start)
            self._timer.daemon = True

    def tell(self, task: str, percent_done: PercentDone | None = None) -> None:
        """Say what is done from now on; `percent_done` says how far it is."""
        if self._line is not None:
            self._line.tell(task, percent_done)

    def __enter__(self) -> Self:
        if self._line is not None:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._line is None:
            return
        self._timer.cancel()
        if self._timer.ident is not None:  # it may be starting the line just now
            self._timer.join()
        if self._line.live.is_started:
            self._line.stop()
