"""Progress of a run: a live bar on a terminal, a line now and then in a pipe or a log."""

import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from fairbench_cli.base.checksums import canonical
from fairbench_cli.base.text import printable
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import RETRIED
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.run import PreparedRun
from fairbench_cli.experiment.running.worker import Task

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_ESTIMATES = 0.5  # of the time left; one looks at every kind of cell
LATEST = 101  # repeats of a kind
LONG = 10.0  # seconds; a repeat that runs for longer is named

Kind = tuple[str, ...]


class Clock:
    """Estimates the time left from the median seconds of like cells.

    The median, because the first repeat of every worker pays for loading libraries; of the latest repeats of
    a kind, so that a note costs the same however many repeats there are.
    """

    def __init__(self, prepared: PreparedRun) -> None:
        self.kinds = kinds_of(prepared.distinct)
        self._seconds: dict[Kind, deque[float]] = {}
        for record in prepared.records.values():
            self.note(record)

    def note(self, record: Repeat) -> None:
        """Take in a finished repeat."""
        if record.key in self.kinds:
            self._seconds.setdefault(self.kinds[record.key], deque(maxlen=LATEST)).append(record.seconds)

    def left(self, todo: Mapping[Kind, int], jobs: int) -> float | None:
        """Return the seconds left for `todo` repeats per kind of cell; None while nothing is known."""
        medians = {kind: median(seconds) for kind, seconds in self._seconds.items()}
        if not medians:
            return None
        typical = median(medians.values())
        return sum(n * medians.get(kind, typical) for kind, n in todo.items()) / jobs

    def to_do(self, by_key: Mapping[str, int]) -> Counter[Kind]:
        """Return how many repeats of each kind are to do, given those of each cell."""
        found: Counter[Kind] = Counter()
        for key, n in by_key.items():
            found[self.kinds[key]] += n
        return found


def kinds_of(cells: Iterable[Cell]) -> dict[str, Kind]:
    """Return by key what cells of about the same cost share."""
    kinds: dict[str, Kind] = {}
    named: dict[tuple[int, int], Kind] = {}  # many cells share their technique and classifier
    for cell in cells:
        technique, both = cell.technique, (id(cell.technique), id(cell.classifier))
        if both not in named:
            named[both] = technique.spec.name, str(technique.tune), str(cell.classifier)
        kinds[cell.key] = cell.dataset, *named[both]
    return kinds


class _Bar(Progress):
    """A bar with a line below it, for what has run for long."""

    longest = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bar and, where there is one, the line."""
        yield from super().get_renderables()
        if self.longest:
            yield Text(self.longest, style="dim")


class RunProgress:
    """Shows repeats done and failed, the time left, and the repeat that has run for longest."""

    def __init__(self, prepared: PreparedRun, jobs: int) -> None:
        self._clock = Clock(prepared)
        self._left = self._clock.to_do(prepared.todo.by_key())
        self._total = self._left.total()
        self._jobs = jobs
        self._limit = prepared.config.limits.seconds
        self._done = self._failed = 0
        self._longest = ""
        self._start = self._spoke = time.monotonic()
        self._estimated, self._eta = -math.inf, ""
        self._console = Console(stderr=True, highlight=False)
        self._bar = _Bar(
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
            self._bar.longest = ""
            self._bar.stop()
        elif self._total:
            self._longest = ""
            self._say()

    def note(self, outcome: Repeat) -> None:
        """Take in a finished repeat."""
        self._done += 1
        self._failed += outcome.status in RETRIED
        self._clock.note(outcome)
        self._left[self._clock.kinds[outcome.key]] -= 1
        self._show()

    def watch(self, running: Iterable[tuple[Task, float]]) -> None:
        """Take in the tasks under way and for how many seconds; the longest is shown once it is long.

        To be called now and then: that also shows the time that passes while no repeat ends.
        """
        late = [(task, seconds) for task, seconds in running if seconds > LONG]
        self._longest = ""
        if late:
            task, seconds = max(late, key=lambda one: one[1])
            limit = "" if self._limit is None else f" of {in_words(self._limit)}"
            self._longest = f"longest: {printable(_task_in_words(task))}: {in_words(seconds)}{limit}"
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if self._console.is_terminal:
            if now - self._estimated >= SECONDS_BETWEEN_ESTIMATES or self._done == self._total:
                self._estimated, self._eta = now, self._time_left()
            failed = f"[red]{self._failed} failed[/] " if self._failed else ""
            self._bar.longest = self._longest
            self._bar.update(
                self._task, completed=self._done, failed=failed, rate=f"{self._rate():.1f}/s", eta=self._eta
            )
        elif now - self._spoke >= SECONDS_BETWEEN_LINES:
            self._say()

    def _rate(self) -> float:
        return self._done / max(time.monotonic() - self._start, 1e-9)

    def _time_left(self) -> str:
        seconds = self._clock.left(self._left, self._jobs)
        return "" if seconds is None or self._done == self._total else f"{in_words(seconds)} left"

    def _say(self) -> None:
        self._spoke = time.monotonic()
        failed = f"{self._failed} failed" if self._failed else ""
        parts = [failed, f"{self._rate():.1f}/s", self._time_left(), self._longest]
        line = ", ".join([f"{self._done}/{self._total} repeats", *filter(None, parts)])
        self._console.print(line, soft_wrap=True, markup=False)


def _task_in_words(task: Task) -> str:
    """Return what names a repeat of a cell for people."""
    from fairbench_cli.report.tables import technique_label

    cell = task.cell
    technique = technique_label(
        cell.technique.spec.name, canonical(cell.technique.described), cell.technique.include_protected
    )
    bias = [] if cell.real else [f"β {cell.beta:g}"]
    parts = [cell.dataset, cell.attribute, *bias, technique, cell.classifier.name]
    return ", ".join([*parts, f"repeat {task.repeat}"])


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
