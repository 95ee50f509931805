"""Progress of a run: a live bar on a terminal, a line now and then in a pipe or a log."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.safe_text import printable
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import RETRIED
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.run import PreparedRun
from fairbench_cli.experiment.running.time_left import Kind, RunClock
from fairbench_cli.experiment.running.worker import Task

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_ESTIMATES = 0.5  # of the time left; one looks at every kind of cell
LONG = 10.0  # seconds; a repeat that runs for longer is named


def kinds_of(cells: Iterable[Cell]) -> dict[str, Kind]:
    """Return by key what cells of about the same cost share."""
    kinds: dict[str, Kind] = {}
    named: dict[tuple[int, int], Kind] = {}  # many cells share their technique and classifier
    for cell in cells:
        technique = cell.technique
        both = (id(cell.technique), id(cell.classifier))
        if both not in named:
            named[both] = technique.spec.name, str(technique.tune), str(cell.classifier)
        kinds[cell.key] = cell.dataset, *named[both]
    return kinds


def estimate_of(prepared: PreparedRun, kinds: Mapping[str, Kind], jobs: int) -> RunClock:
    """Return the clock of a run as known beforehand: the sizes of the data, and what earlier repeats took."""
    size = {one.spec.name: float(one.size * len(one.columns)) for one in prepared.datasets}
    found = RunClock(jobs, size, [kinds[cell.key] for cell in prepared.in_turn])
    for record in prepared.records.values():
        if record.key in kinds:
            found.known(kinds[record.key], record.seconds)
    return found


def to_do(prepared: PreparedRun, kinds: Mapping[str, Kind]) -> Counter[Kind]:
    """Return how many repeats of each kind are not done."""
    found: Counter[Kind] = Counter()
    for key, n in prepared.repeats_left.items():
        found[kinds[key]] += n
    return found


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
        self._kinds = kinds_of(prepared.distinct)
        self._estimate = estimate_of(prepared, self._kinds, jobs)
        self._left = to_do(prepared, self._kinds)
        self._total = self._left.total()
        self._running: list[tuple[Kind, float]] = []  # since when, on the monotonic clock
        self._limit = prepared.config.limits.seconds
        self._done = self._failed = 0
        self._start = self._spoke = time.monotonic()
        self._began: float | None = None  # when the first repeat was handed out
        self._estimated = -math.inf
        self._eta = ""
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
        self._bar.longest = ""
        if self._console.is_terminal:
            self._bar.stop()
        elif self._total:
            self._say()

    def note(self, outcome: Repeat) -> None:
        """Take in a finished repeat."""
        kind = self._kinds[outcome.key]
        self._done += 1
        self._failed += outcome.status in RETRIED
        self._estimate.note(kind, outcome.seconds)
        self._left[kind] -= 1
        if self._began is None:
            self._began = time.monotonic() - outcome.seconds
        alike = [one for one in self._running if one[0] == kind]
        if alike:
            self._running.remove(min(alike, key=lambda one: one[1]))
        self._show()

    def watch(self, running: Iterable[tuple[Task, float]]) -> None:
        """Take in the tasks under way and for how many seconds; the longest is shown once it is long.

        To be called now and then: that also shows the time that passes while no repeat ends.
        """
        now = time.monotonic()
        running = list(running)
        self._running = [(self._kinds[task.cell.key], now - seconds) for task, seconds in running]
        if self._began is None:
            self._began = min((since for _, since in self._running), default=None)
        if self._began is not None:
            self._estimate.look(now - self._began, self._under_way(now))
        late = [(task, seconds) for task, seconds in running if seconds > LONG]
        self._bar.longest = ""
        if late:
            task, seconds = max(late, key=lambda one: one[1])
            if self._limit is None:
                limit = ""
            else:
                limit = f" of {in_words(self._limit)}"
            self._bar.longest = f"longest: {printable(_task_in_words(task))}: {in_words(seconds)}{limit}"
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if self._console.is_terminal:
            if now - self._estimated >= SECONDS_BETWEEN_ESTIMATES or self._done == self._total:
                self._estimated, self._eta = now, self._time_left(now)
            if self._failed:
                failed = f"[red]{self._failed} failed[/] "
            else:
                failed = ""
            self._bar.update(
                self._task, completed=self._done, failed=failed, rate=self._rate(now), eta=self._eta
            )
        elif now - self._spoke >= SECONDS_BETWEEN_LINES:
            self._say()

    def _rate(self, now: float) -> str:
        return f"{self._done / max(now - self._start, 1e-9):.1f}/s"

    def _under_way(self, now: float) -> list[tuple[Kind, float]]:
        return [(kind, now - since) for kind, since in self._running]

    def _time_left(self, now: float) -> str:
        seconds = self._estimate.left(self._left, self._under_way(now))
        if seconds is None or self._done == self._total:
            return ""
        return f"{in_words(seconds)} left"

    def _say(self) -> None:
        self._spoke = time.monotonic()
        if self._failed:
            failed = f"{self._failed} failed"
        else:
            failed = ""
        parts = [failed, self._rate(self._spoke), self._time_left(self._spoke), self._bar.longest]
        line = ", ".join([f"{self._done}/{self._total} repeats", *filter(None, parts)])
        self._console.print(line, soft_wrap=True, markup=False)


def _task_in_words(task: Task) -> str:
    """Return the name of a repeat of a cell for people."""
    from fairbench_cli.report.tables import technique_label

    cell = task.cell
    technique = technique_label(
        cell.technique.spec.name, canonical_json(cell.technique.described), cell.technique.include_protected
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
