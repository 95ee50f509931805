"""A whole run: plan, resume, compute, and leave the folder of results in order."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from pathlib import Path

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config import ExperimentConfig
from fairbench_cli.experiment.datasets import PreparedDataset, populate, prepare_datasets
from fairbench_cli.experiment.journal import RETRIED, Damage, Journal, Records, read_journals, together
from fairbench_cli.experiment.plan import CELL_COLUMNS, Cell, RunPlan, make_cells, make_plan, write_plan
from fairbench_cli.experiment.read import read_config
from fairbench_cli.experiment.records import new_header
from fairbench_cli.experiment.select import select
from fairbench_cli.experiment.shard import Shard
from fairbench_cli.experiment.task import Task
from fairbench_cli.experiment.todo import Todo
from fairbench_cli.experiment.versions import versions_of_numbers
from fairbench_cli.files import write_json, write_text
from fairbench_cli.provenance import provenance

Run = Callable[[Iterable[Task]], Generator[Repeat]]


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """An experiment that has been checked, and what of it is done already.

    `failures` are the repeats that failed in this run; one that had a result before keeps it in `records`.
    """

    config: ExperimentConfig
    datasets: list[PreparedDataset]
    plan: RunPlan
    selected: list[Cell]
    records: Records
    damages: tuple[Damage, ...]
    folder: Path
    shard: Shard | None = None
    failures: Records = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many repeats were asked for."""
        return sum(map(self.asked, self.distinct))

    def asked(self, cell: Cell) -> int:
        """Return how many repeats of a cell were asked for."""
        repeats = self.config.repeats
        return repeats if self.shard is None else self.shard.count(cell.key, repeats)

    @cached_property
    def distinct(self) -> list[Cell]:
        """Return the cells that are to be computed: the first of those that share a key."""
        return list({cell.key: cell for cell in reversed(self.selected)}.values())[::-1]

    @property
    def todo(self) -> Todo:
        """Return the repeats that still have to run: all cells of the first repeat, then of the next."""
        return Todo(self.in_turn, self.config.repeats, self.records, self.has_all, self.shard)

    @cached_property
    def in_turn(self) -> list[Cell]:
        """Return the distinct cells, those that train on the same rows together: a worker draws them once."""
        places = {dataset.name: i for i, dataset in enumerate(self.datasets)}
        return sorted(self.distinct, key=lambda cell: (places[cell.source], cell.beta))

    def has_all(self, record: Repeat) -> bool:
        """Return whether a record has all that is asked for; failures are tried again."""
        if record.status in RETRIED:
            return False
        swept = not self.config.sweep or record.swept is not None
        return record.counts is None or (swept and self.config.row_metrics.records <= record.values.keys())


def prepare(
    config: Path | ExperimentConfig,
    *,
    folder: Path | None = None,
    data_dir: Path | None = None,
    overrides: tuple[str, ...] = (),
    filters: tuple[str, ...] = (),
    shard: Shard | None = None,
) -> PreparedRun:
    """Check everything that can be checked before any work, and read what is done. Writes nothing.

    Raises
    ------
    UserError
        Listing every mistake in config, cards and data.
    """
    given = config if isinstance(config, ExperimentConfig) else read_config(config, overrides)
    datasets = prepare_datasets(given, data_dir)
    cells = selected = make_cells(given, datasets)
    plan = make_plan(given, datasets, cells)
    if filters:
        columns = [{key: cell[key] for key in CELL_COLUMNS} for cell in plan.cells]
        selected = list(compress(cells, select(columns, filters)))
    target = folder or Path("results") / given.name
    reading = read_journals(target / "journal")
    return PreparedRun(given, datasets, plan, selected, reading.records, reading.damages, target, shard)


def compute(prepared: PreparedRun, run: Run, listen: Callable[[Repeat], None]) -> None:
    """Run what is to do, one journal line per finished repeat, and call `listen` with each.

    Parameters
    ----------
    run : callable
        Yields the outcomes of tasks, in any order: `runner.run_tasks` with its workers.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; every finished repeat is in the journal by then.
    """
    todo = prepared.todo
    left = todo.by_key()
    wanted = {cell.source for cell in todo.cells if left[cell.key]}
    networks = prepared.folder / "networks"
    populations = {
        dataset.name: populate(dataset, prepared.config, networks)
        for dataset in prepared.datasets
        if dataset.name in wanted
    }
    tasks = (Task(cell, repeat, populations[cell.source]) for cell, repeat in todo)
    journals = prepared.folder / "journal"
    shard = None if prepared.shard is None else str(prepared.shard)
    header = new_header(versions_of_numbers(prepared.config), shard)
    try:
        with Journal(journals, header) as journal, closing(run(tasks)) as outcomes:
            for outcome in outcomes:
                journal.append(outcome)
                place = outcome.key, outcome.repeat
                if outcome.status in RETRIED:
                    prepared.failures[place] = outcome
                prepared.records[place] = together(prepared.records.get(place), outcome)
                listen(outcome)
    except KeyboardInterrupt:  # perhaps between a line of the journal and its record
        prepared.records.update(read_journals(journals).records)
        raise


def write_head(prepared: PreparedRun) -> None:
    """Write the resolved config and the plan."""
    write_text(prepared.folder / "config.yaml", prepared.config.as_yaml())
    write_plan(prepared.folder, prepared.plan)


def write_manifest(prepared: PreparedRun, *, jobs: int, computed: int, start: float) -> None:
    """Write where these results come from; `start` is the monotonic clock at the start.

    A run that computed nothing leaves the manifest of the one that did.
    """
    path = prepared.folder / "manifest.json"
    if not computed and path.exists():
        return
    write_json(
        path,
        {
            **provenance(),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - start, 2),
            "cpu_seconds": round(sum(record.seconds for record in prepared.records.values()), 2),
            "jobs": jobs,
            "repeats_computed": computed,
            "data": {dataset.spec.name: dataset.facts["sha256"] for dataset in prepared.datasets},
            "datasets": prepared.plan.datasets,
        },
    )
