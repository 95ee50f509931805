"""A whole run: plan, resume, compute, and leave the folder of results in order."""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairbench_cli.errors import user_error
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.config import Experiment, read_experiment
from fairbench_cli.experiment.journal import RETRIED, Journal, Records, read_journals, together
from fairbench_cli.experiment.plan import Cell, make_cells, only
from fairbench_cli.experiment.population import populate
from fairbench_cli.experiment.resolve import resolved_yaml
from fairbench_cli.experiment.row_measures import RowWishes, row_wishes
from fairbench_cli.experiment.source import Source, inspect
from fairbench_cli.experiment.study import Study, study_of, write_study
from fairbench_cli.files import write_json, write_text

Todo = list[tuple[Cell, int]]


@dataclass(frozen=True, eq=False)
class Prepared:
    """An experiment that has been checked, and what of it is done already.

    `failures` are the repeats that failed in this run; one that had a result before keeps it in `records`.
    """

    experiment: Experiment
    sources: list[Source]
    study: Study
    selected: list[Cell]
    records: Records
    damaged: int
    folder: Path
    wishes: RowWishes
    failures: Records = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many repeats were asked for."""
        return len(self.selected) * self.experiment.repeats

    @property
    def todo(self) -> Todo:
        """Return the repeats that still have to run: all cells of the first repeat, then of the next."""
        return [
            (cell, repeat)
            for repeat in range(self.experiment.repeats)
            for cell in self.selected
            if not self.is_done(cell, repeat)
        ]

    def is_done(self, cell: Cell, repeat: int) -> bool:
        """Tell whether a repeat has all that is asked for; failures are tried again."""
        record = self.records.get((cell.key, repeat))
        if record is None or record.status in RETRIED:
            return False
        swept = not self.experiment.sweep or record.swept is not None
        return record.counts is None or (swept and self.wishes.records <= record.values.keys())


def prepare(
    config: Path,
    *,
    folder: Path | None = None,
    data_dir: Path | None = None,
    overrides: tuple[str, ...] = (),
    filters: tuple[str, ...] = (),
) -> Prepared:
    """Check everything that can be checked before any work, and read what is done. Writes nothing.

    Raises
    ------
    UserError
        Listing every mistake in config, cards and data.
    """
    experiment = read_experiment(config, overrides)
    sources = inspect(experiment, data_dir)
    cells = make_cells(experiment, sources)
    selected = only(cells, filters) if filters else cells
    target = folder or Path("results") / experiment.name
    reading = read_journals(target / "journal")
    study = study_of(experiment, sources, cells)
    wishes = row_wishes(experiment.metrics, experiment.explain)
    return Prepared(experiment, sources, study, selected, reading.records, reading.damaged, target, wishes)


def open_folder(folder: Path) -> None:
    """Make the folder of results and check that it can be written, before any work.

    Raises
    ------
    UserError
        When it cannot be written.
    """
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise user_error(
            f"cannot write to {folder}: {error.strerror}", "name another folder with -o", "-o"
        ) from None


def compute(prepared: Prepared, jobs: int, listen: Callable[[Repeat], None]) -> None:
    """Run what is to do, one journal line per finished repeat, and tell `listen` of each.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; every finished repeat is in the journal by then.
    """
    from fairbench_cli.experiment.runner import Task, run_tasks

    todo = prepared.todo
    wanted = {cell.source for cell, _ in todo}
    networks = prepared.folder / "networks"
    populations = {
        source.name: populate(source, prepared.experiment, networks)
        for source in prepared.sources
        if source.name in wanted
    }
    tasks = [Task(cell, repeat, populations[cell.source]) for cell, repeat in todo]
    with Journal(prepared.folder / "journal") as journal, closing(run_tasks(tasks, jobs)) as outcomes:
        for outcome in outcomes:
            journal.append(outcome)
            place = outcome.key, outcome.repeat
            if outcome.status in RETRIED:
                prepared.failures[place] = outcome
            prepared.records[place] = together(prepared.records.get(place), outcome)
            listen(outcome)


def write_head(prepared: Prepared) -> None:
    """Write the resolved config and the plan."""
    write_text(prepared.folder / "config.yaml", resolved_yaml(prepared.experiment))
    write_study(prepared.folder, prepared.study)


def write_manifest(
    prepared: Prepared, *, provenance: dict[str, Any], jobs: int, computed: int, start: float
) -> None:
    """Write where these results come from; `start` is the monotonic clock at the start.

    A run that computed nothing leaves the manifest of the one that did.
    """
    path = prepared.folder / "manifest.json"
    if not computed and path.exists():
        return
    write_json(
        path,
        {
            **provenance,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - start, 2),
            "cpu_seconds": round(cpu_seconds(prepared.records.values()), 2),
            "jobs": jobs,
            "repeats_computed": computed,
            "data": {source.name[0]: source.facts["sha256"] for source in prepared.sources},
            "sources": prepared.study.sources,
        },
    )


def cpu_seconds(records: Iterable[Repeat]) -> float:
    """Add up the CPU time that the repeats took."""
    return sum(record.seconds for record in records)
