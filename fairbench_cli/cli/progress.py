"""Progress of a run: a live bar on a terminal, a line now and then in a pipe or a log."""

import time
from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal import RETRIED
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.run import PreparedRun

SECONDS_BETWEEN_LINES = 10.0


class Clock:
    """Estimates the time left from the median seconds of like cells.

    The median, because the first repeat of every worker pays for loading libraries.
    """

    def __init__(self, prepared: PreparedRun) -> None:
        self.kinds = {cell.key: kind_of(cell) for cell in prepared.distinct}
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for record in prepared.records.values():
            self.note(record)

    def note(self, record: Repeat) -> None:
        """Take in a finished repeat."""
        if record.key in self.kinds:
            self._seconds.setdefault(self.kinds[record.key], []).append(record.seconds)

    def left(self, todo: Mapping[tuple[str, ...], int], jobs: int) -> float | None:
        """Return the seconds left for `todo` repeats per kind of cell; None while nothing is known."""
        medians = {kind: median(seconds) for kind, seconds in self._seconds.items()}
        if not medians:
            return None
        typical = median(medians.values())
        return sum(n * medians.get(kind, typical) for kind, n in todo.items()) / jobs


def kind_of(cell: Cell) -> tuple[str, ...]:
    """Return what cells of about the same cost share."""
    technique = cell.technique
    return cell.dataset, technique.spec.name, str(technique.tune), str(cell.classifier)


class RunProgress:
    """Shows repeats done and failed, and the time left."""

    def __init__(self, prepared: PreparedRun, jobs: int) -> None:
        self._left = Counter(kind_of(cell) for cell, _ in prepared.todo)
        self._clock = Clock(prepared)
        self._total = self._left.total()
        self._jobs = jobs
        self._done = self._failed = 0
        self._start = self._spoke = time.monotonic()
        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[eta]}"),
            console=self._console,
        )
        self._task = self._bar.add_task("repeats", total=self._total, failed="", rate="", eta="")

    def __enter__(self) -> Self:
        if self._console.is_terminal and self._total:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()
        elif self._total:
            self._say()

    def note(self, outcome: Repeat) -> None:
        """Take in a finished repeat."""
        self._done += 1
        self._failed += outcome.status in RETRIED
        self._clock.note(outcome)
        self._left[self._clock.kinds[outcome.key]] -= 1
        if self._console.is_terminal:
            failed = f"[red]{self._failed} failed[/] " if self._failed else ""
            self._bar.update(
                self._task, completed=self._done, failed=failed, rate=f"{self._rate():.1f}/s", eta=self._eta()
            )
        elif time.monotonic() - self._spoke >= SECONDS_BETWEEN_LINES:
            self._say()

    def _rate(self) -> float:
        return self._done / max(time.monotonic() - self._start, 1e-9)

    def _eta(self) -> str:
        seconds = self._clock.left(self._left, self._jobs)
        return "" if seconds is None or self._done == self._total else f"{in_words(seconds)} left"

    def _say(self) -> None:
        self._spoke = time.monotonic()
        failed = f", {self._failed} failed" if self._failed else ""
        eta = self._eta()
        self._console.print(
            f"{self._done}/{self._total} repeats{failed}, {self._rate():.1f}/s{', ' if eta else ''}{eta}",
            soft_wrap=True,
        )


def in_words(seconds: float) -> str:
    """Return a duration in words.

    >>> in_words(42.4), in_words(100), in_words(7300)
    ('42 s', '1 min 40 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
