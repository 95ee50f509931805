"""A whole run: plan, resume, compute, and leave the folder of results in order.

It may be divided into shards, each computed by a command of its own, anywhere. What is to do is counted
without being listed, and found one repeat at a time.
"""

import re
import shlex
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from pathlib import Path

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.base.files import make_output_folder, write_text
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import PreparedDataset, damaged_networks, populate, prepare_datasets
from fairbench_cli.experiment.journal import folder as results
from fairbench_cli.experiment.journal import journal
from fairbench_cli.experiment.plan import (
    Cell,
    RunPlan,
    check_folder,
    describe_cells,
    make_all_cells,
    make_plan,
    read_plan,
    select,
    write_plan,
)
from fairbench_cli.experiment.running.worker import Task, Watch
from fairbench_cli.experiment.versions import provenance, versions_of_numbers

Run = Callable[[Iterable[Task], Watch], Generator[Repeat]]


TRIED_LAST = frozenset({"overtime", "memory"})
"""What took more than its limits, and may well do so again."""
WAITING = 5.0
"""Seconds of a worker that a second of work takes: repeats wait, as no busy machine makes them."""
FLAG = "--shard"


@dataclass(frozen=True)
class Shard:
    """A part of a run: of each cell every `of`-th repeat, from one that its key decides.

    What is done already does not matter, nor what else is in the config: a repeat stays in its shard.

    Parameters
    ----------
    index : int
        From 0 to `of` − 1.
    of : int
        How many shards there are.
    """

    index: int
    n_shards: int

    def has(self, key: str, repeat: int) -> bool:
        """Return whether a repeat of a cell, by its key in hexadecimal, is in this shard.

        >>> [[repeat for repeat in range(8) if Shard(i, 3).has("c0ffee", repeat)] for i in range(3)]
        [[2, 5], [0, 3, 6], [1, 4, 7]]
        """
        return (self._first_repeat(key) - repeat) % self.n_shards == 0

    def count(self, key: str, repeats: int) -> int:
        """Return how many of the first repeats of a cell are in this shard.

        >>> [Shard(i, 3).count("c0ffee", 8) for i in range(3)]
        [2, 3, 3]
        """
        return max(0, -((self._first_repeat(key) - repeats) // self.n_shards))

    def _first_repeat(self, key: str) -> int:
        return (self.index - int(key[:15], 16)) % self.n_shards

    def __str__(self) -> str:
        return f"{self.index}/{self.n_shards}"


def read_shard(text: str) -> Shard:
    """Return the shard that a command line names: ``0/16`` is the first of sixteen, ``15/16`` the last.

    Raises
    ------
    UserError
        When there is no such shard.

    >>> read_shard("0/16")
    Shard(index=0, n_shards=16)
    >>> read_shard("2/2")
    Traceback (most recent call last):
    fairbench_cli.base.errors.UserError: --shard: error: there is no shard 2 of 2: they are numbered from 0
      fix: write one of 0/2 to 1/2; for a job array of SLURM, --array=0-1
    """
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if match is None:
        problem = f'"{text}" is no shard: it is written as number/how many'
        fix = f"in a job array of SLURM, {FLAG} $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
        raise user_error(problem, f"write {FLAG} 0/4, 1/4, 2/4 and 3/4 for four; {fix}", FLAG)
    index = int(match[1])
    count = int(match[2])
    if count < 1:
        raise user_error("a run cannot be divided into 0 shards", f"write {FLAG} 0/1, or leave it out", FLAG)
    if index >= count:
        problem = f"there is no shard {index} of {count}: they are numbered from 0"
        top = count - 1
        fix = f"write one of 0/{count} to {top}/{count}; for a job array of SLURM, --array=0-{top}"
        if count == 1:
            fix = "write 0/1, or leave it out"
        raise user_error(problem, fix, FLAG)
    return Shard(index, count)


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """An experiment that has been checked, and what of it is done already.

    Parameters
    ----------
    shard : Shard or None
        The part that is meant, if not all.
    mixed : bool
        Whether it goes on from results of other versions, as it was told to.
    failures : dict
        The repeats that failed in this run; one that had a result before keeps it in `records`.
    """

    config: ExperimentConfig
    datasets: list[PreparedDataset]
    plan: RunPlan
    selected: list[Cell]
    reading: journal.Reading
    folder: Path
    shard: Shard | None = None
    mixed: bool = False
    failures: journal.Records = field(default_factory=dict)

    @property
    def records(self) -> journal.Records:
        """Return the records of what is done."""
        return self.reading.records

    @property
    def size(self) -> int:
        """Return how many repeats were asked for."""
        return sum(map(self.n_repeats_of, self.distinct))

    def n_repeats_of(self, cell: Cell) -> int:
        """Return how many repeats of a cell were asked for."""
        repeats = self.config.repeats
        if self.shard is None:
            return repeats
        return self.shard.count(cell.key, repeats)

    def asks_for(self, key: str, repeat: int) -> bool:
        """Return whether a repeat of a cell was asked for, by the cell's key."""
        return repeat < self.config.repeats and (self.shard is None or self.shard.has(key, repeat))

    @cached_property
    def distinct(self) -> list[Cell]:
        """Return the cells that are to be computed: the first of those that share a key."""
        return list({cell.key: cell for cell in reversed(self.selected)}.values())[::-1]

    @cached_property
    def in_turn(self) -> list[Cell]:
        """Return the distinct cells, those that train on the same rows together: a worker draws them once."""
        dataset_order = {dataset.name: i for i, dataset in enumerate(self.datasets)}
        return sorted(self.distinct, key=lambda cell: (dataset_order[cell.source],) + cell.trains_in)

    @cached_property
    def measured(self) -> frozenset[str]:
        """Return the names under which metrics of rows are kept."""
        return frozenset(self.config.row_metrics.recorded_as.values())

    @cached_property
    def controlled(self) -> frozenset[str]:
        """Return the keys of the plain models whose repeats have controls."""
        if not self.config.controls:
            return frozenset()
        return frozenset(cell.key for cell in self.distinct if cell.is_plain)

    @cached_property
    def trained_controls(self) -> frozenset[str]:
        """Return the keys of the trained controls, of which there are counts alone."""
        return frozenset(cell.key for cell in self.distinct if cell.control)

    def has_all(self, record: Repeat) -> bool:
        """Return whether a record has all that is asked for; failures are tried again."""
        if record.status in journal.RETRIED:
            return False
        if record.counts is None or record.key in self.trained_controls:
            return True
        if record.key in self.controlled and record.controls is None:
            return False
        swept = not self.config.sweep or record.swept is not None
        has_scores = not self.config.keeps_scores or record.scores is not None
        has_rows = not self.config.predictions or record.predictions is not None
        return swept and has_scores and has_rows and self.measured <= record.values.keys()

    @property
    def repeats_left(self) -> dict[str, int]:
        """Return how many repeats of each cell are to do; the time it takes depends on the records alone."""
        n_left = {cell.key: self.n_repeats_of(cell) for cell in self.in_turn}
        for (key, repeat), record in self.records.items():
            if key in n_left and self.asks_for(key, repeat) and self.has_all(record):
                n_left[key] -= 1
        return n_left

    @property
    def n_left(self) -> int:
        """Return how many repeats are to do."""
        return sum(self.repeats_left.values())

    def todo(self) -> Iterator[tuple[Cell, int]]:
        """Yield the repeats that are to do by what is recorded at that moment.

        All cells of the first repeat, then of the next; last what took more than its limits.
        """
        late = {repeat_key for repeat_key, record in self.records.items() if record.status in TRIED_LAST}
        tried_last: list[tuple[Cell, int]] = []
        for repeat in range(self.config.repeats):
            for cell in self.in_turn:
                repeat_key = cell.key, repeat
                if not self.asks_for(*repeat_key):
                    continue
                record = self.records.get(repeat_key)
                if repeat_key in late:
                    tried_last.append((cell, repeat))
                elif record is None or not self.has_all(record):
                    yield cell, repeat
        yield from tried_last


def prepare(
    config: Path | ExperimentConfig,
    *,
    folder: Path | None = None,
    data_dir: Path | None = None,
    filters: tuple[str, ...] = (),
    shard: Shard | None = None,
    tell: ProgressCallback = ignore_progress,
) -> PreparedRun:
    """Check everything that can be checked before any work, and read what is done. Writes nothing.

    It tells which data set it reads or learns from.

    Raises
    ------
    UserError
        Listing every mistake in config, cards and data.
    """
    if isinstance(config, ExperimentConfig):
        experiment = config
    else:
        experiment = read_config(config)
    # 1. What needs no data.
    target = folder or Path("results") / experiment.name
    check_folder(target)
    is_selected = select(describe_cells(experiment), filters) if filters else []
    # 2. The data.
    datasets = prepare_datasets(experiment, data_dir, tell)
    cells = selected = make_all_cells(experiment, datasets)
    plan = make_plan(experiment, datasets, cells)
    if filters:
        # Trained controls, the last of the cells, are of the whole run alone.
        selected = list(compress(cells, is_selected))
    reading = results.read_repeats(target, plan)
    return PreparedRun(experiment, datasets, plan, selected, reading, target, shard)


@contextmanager
def working_in(
    prepared: PreparedRun, *, mix_versions: bool = False, warn: Callable[[str], None] = print
) -> Iterator[PreparedRun]:
    """Hold the lock of the folder, write config and plan, and name the damage that will be made good.

    Gives the run back with what has been written to the folder since it was prepared. `warn` gets a line for
    every kind of damage.

    Raises
    ------
    UserError
        When another process works there, the folder cannot be written, or it has results of other versions
        or of ones that are not known, and `mix_versions` is False.
    """
    make_output_folder(prepared.folder)
    with results.locked(prepared.folder, None if prepared.shard is None else str(prepared.shard), warn):
        if journal.list_journals(prepared.folder / "journal") != list(prepared.reading.files):
            prepared = replace(prepared, reading=results.read_repeats(prepared.folder, prepared.plan))
        if prepared.n_left:
            keys = {cell.key for cell in prepared.distinct}
            ours = versions_of_numbers(prepared.config)
            mixed = results.mixes_versions(
                prepared.folder, prepared.reading, keys, ours, allowed=mix_versions
            )
            prepared = replace(prepared, mixed=mixed)
        networks = damaged_networks(prepared.datasets, prepared.folder / "networks")
        for line in list(journal.damage_in_words(prepared.reading.damages)) + list(networks):
            warn(line)
        for line in _replaced_report(prepared):
            warn(line)
        write_text(prepared.folder / "config.yaml", prepared.config.as_yaml())
        write_plan(prepared.folder, prepared.plan)
        yield prepared


def _replaced_report(prepared: PreparedRun) -> Iterator[str]:
    """Yield the line on a report in the folder that shares no cell with this run, and will be replaced."""
    if not (prepared.folder / "report.html").exists():
        return
    with suppress(UserError):  # a damaged plan is replaced
        earlier = read_plan(prepared.folder)
        keys = {cell["key"] for cell in earlier.cells}
        if keys.isdisjoint(cell["key"] for cell in prepared.plan.cells):
            folder = shlex.quote(f"{prepared.folder}-2")
            datasets = join_names(list(dict.fromkeys(cell["dataset"] for cell in earlier.cells)), 3)
            yield (
                f"{prepared.folder} has a report of other cells ({datasets}; none is in this run): it is "
                f"replaced, and its journal kept. To keep both: another `name`, or -o {folder}"
            )


def compute(
    prepared: PreparedRun, run: Run, listen: Callable[[Repeat], None], watch: Watch = lambda _: None
) -> None:
    """Run what is to do, one journal line per finished repeat, and call `listen` with each.

    Parameters
    ----------
    run : callable
        Yields the outcomes of tasks, in any order: `Pool.outcomes`.
    watch : callable
        Called about once a second, as `Pool.outcomes` calls it.

    Raises
    ------
    UserError
        When the journal cannot be written any more.
    KeyboardInterrupt
        After Ctrl-C; every finished repeat is in the journal by then.
    """
    n_left = prepared.repeats_left
    sources = {cell.source for cell in prepared.in_turn if n_left[cell.key]}
    networks = prepared.folder / "networks"
    datasets = [dataset for dataset in prepared.datasets if dataset.name in sources]
    populations = {dataset.name: populate(dataset, prepared.config, networks) for dataset in datasets}
    tasks = (Task(cell, repeat, populations[cell.source]) for cell, repeat in prepared.todo())
    shard = None
    if prepared.shard is not None:
        shard = str(prepared.shard)
    header = journal.new_header(versions_of_numbers(prepared.config), shard, mixed=prepared.mixed)
    records_file = journal.Journal(prepared.folder / "journal", header)

    def look(running: list[tuple[Task, float]]) -> None:
        records_file.check()  # a repeat may take hours
        watch(running)

    try:
        with records_file, closing(run(tasks, look)) as outcomes:
            for outcome in outcomes:
                outcome = records_file.append(outcome)
                repeat_key = outcome.key, outcome.repeat
                if outcome.status in journal.RETRIED:
                    prepared.failures[repeat_key] = outcome
                prepared.records[repeat_key] = journal.together(prepared.records.get(repeat_key), outcome)
                listen(outcome)
    except KeyboardInterrupt:  # perhaps between a line of the journal and its record
        prepared.records.update(results.read_repeats(prepared.folder, prepared.plan).records)
        raise


def write_manifest(
    prepared: PreparedRun, *, jobs: int, computed: int, start: float, pace: float = 1.0
) -> None:
    """Write where these results come from; `start` is the monotonic clock at the start.

    A `pace`, the seconds of a worker that a second of work took, is kept where repeats did little but wait.
    A run that computed nothing leaves what the manifest says about the one that did.
    """
    files = journal.list_journals(prepared.folder / "journal")
    if not computed and (prepared.folder / results.FILE).exists():
        with suppress(UserError):  # a damaged one is replaced
            results.update_manifest(prepared.folder, files)
            return
    results.write_run(
        prepared.folder,
        {
            **provenance(),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - start, 2),
            "cpu_seconds": round(sum(record.seconds for record in prepared.records.values()), 2),
            "jobs": jobs,
            **({"pace": round(pace, 1)} if pace > WAITING else {}),
            "repeats_computed": computed,
            "data": {dataset.spec.name: dataset.facts["sha256"] for dataset in prepared.datasets},
            "datasets": prepared.plan.datasets,
        },
        files,
    )
