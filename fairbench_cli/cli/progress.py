"""Progress of a run: a live bar on a terminal, a line now and then in a pipe or a log."""

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

SECONDS_BETWEEN_LINES = 60.0
ENOUGH = 0.05  # the share of the repeats after which it is said how long the rest takes
SECONDS_BETWEEN_ESTIMATES = 0.5  # of the time left; one looks at every kind of cell
LONG = 10.0  # seconds; a repeat that runs for longer is named


def kinds_of(cells: Iterable[Cell]) -> dict[str, Kind]:
    """Return by key what cells of about the same cost share."""
    kinds: dict[str, Kind] = {}
    names: dict[tuple[int, int], Kind] = {}  # many cells share their technique and classifier
    for cell in cells:
        technique = cell.technique
        components = (id(technique), id(cell.classifier))
        if components not in names:
            names[components] = (technique.spec.name, str(technique.tune), str(cell.classifier))
        kinds[cell.key] = (cell.dataset, *names[components])
    return kinds


def estimate_of(prepared: PreparedRun, kinds: Mapping[str, Kind], jobs: int) -> RunClock:
    """Return the clock of a run as known beforehand: the sizes of the data, and what earlier repeats took."""
    sizes = {dataset.spec.name: float(dataset.size * len(dataset.columns)) for dataset in prepared.datasets}
    clock = RunClock(jobs, sizes)
    for record in prepared.records.values():
        if record.key in kinds:
            clock.known(kinds[record.key], record.seconds)
    return clock


def to_do(prepared: PreparedRun, kinds: Mapping[str, Kind]) -> Counter[Kind]:
    """Return how many repeats of each kind are not done."""
    n_left: Counter[Kind] = Counter()
    for key, n in prepared.repeats_left.items():
        n_left[kinds[key]] += n
    return n_left


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
        self._clock = estimate_of(prepared, self._kinds, jobs)
        self._left = to_do(prepared, self._kinds)
        self._total = self._left.total()
        self._limit = prepared.config.limits.seconds
        self._done = 0
        self._failed = 0
        self._start = time.monotonic()
        self._shown = self._start
        self._began: float | None = None  # when the first repeat was handed out
        self._console = Console(stderr=True, highlight=False)
        self._bar = _Bar(
            TextColumn("repeats"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=self._console,
        )
        self._task = self._bar.add_task("", total=self._total)

    def __enter__(self) -> Self:
        if self._console.is_terminal and self._total:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.longest = ""
        if self._console.is_terminal:
            self._bar.update(self._task, completed=self._done, description=self._facts())
            self._bar.stop()
        elif self._total:
            self._print_line()

    @property
    def pace(self) -> float:
        """How many seconds of a worker a second of work takes: many where repeats wait."""
        return self._clock.pace

    def note(self, outcome: Repeat) -> None:
        """Take in a finished repeat."""
        kind = self._kinds[outcome.key]
        self._done += 1
        self._failed += outcome.status in RETRIED
        self._clock.note(kind, outcome.seconds)
        self._left[kind] -= 1
        if self._began is None:
            self._began = time.monotonic() - outcome.seconds
        self._show()

    def watch(self, running: Iterable[tuple[Task, float]]) -> None:
        """Take in the tasks under way and for how many seconds; the longest is shown once it is long.

        To be called now and then: that also shows the time that passes while no repeat ends.
        """
        now = time.monotonic()
        running = list(running)
        task, longest = max(running, key=lambda under_way: under_way[1], default=(None, 0.0))
        if self._began is None and task is not None:
            self._began = now - longest
        if self._began is not None:
            self._clock.look(now - self._began, sum(seconds for _, seconds in running))
        self._bar.longest = ""
        if task is not None and longest > LONG:
            limit = ""
            if self._limit is not None:
                limit = f" of {in_words(self._limit)}"
            self._bar.longest = f"longest: {printable(_task_in_words(task))}: {in_words(longest)}{limit}"
        self._show()

    def _show(self) -> None:
        """Bring the bar up to date, or print a line, if that is not too soon after the last time."""
        now = time.monotonic()
        if self._bar.live.is_started:
            self._bar.update(self._task, completed=self._done)
            if now - self._shown >= SECONDS_BETWEEN_ESTIMATES:
                self._shown = now
                self._bar.update(self._task, description=self._facts())
        elif now - self._shown >= SECONDS_BETWEEN_LINES:
            self._print_line()

    def _print_line(self) -> None:
        if self._done or self._bar.longest:  # else nothing is known
            self._shown = time.monotonic()
            facts = filter(None, [f"{self._done}/{self._total} repeats", self._facts(), self._bar.longest])
            self._console.print(", ".join(facts), soft_wrap=True, markup=False)

    def _facts(self) -> str:
        """Return how many repeats failed, how many are done in a second, and how long the rest will take."""
        facts = []
        if self._failed:
            facts.append(f"{self._failed} failed")
        if self._done:
            facts.append(f"{self._done / max(time.monotonic() - self._start, 1e-9):.1f}/s")
        seconds = self._clock.left(self._left)
        if seconds is not None and ENOUGH * self._total <= self._done < self._total:
            facts.append(f"{in_words(seconds)} left")
        return ", ".join(facts)


def _task_in_words(task: Task) -> str:
    """Return the name of a repeat of a cell for people."""
    from fairbench_cli.report.ledger.cell_labels import technique_label

    cell = task.cell
    technique = technique_label(
        cell.technique.spec.name, canonical_json(cell.technique.described), cell.technique.include_protected
    )
    names = [cell.dataset, cell.attribute]
    if not cell.real:
        names.append(f"β {cell.beta:g}")
    names += [technique, cell.classifier.name, f"repeat {task.repeat}"]
    return ", ".join(names)


def in_words(seconds: float) -> str:
    """Return a duration in words.

    >>> in_words(42.4), in_words(100), in_words(7300)
    ('42 s', '1 min 40 s', '2 h 2 min')
    """
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60} min {whole_seconds % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"
