"""``fairbench run``: compute what is missing and write the results."""

import shlex
import sys
from typing import Annotated

import typer

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set

REASONS_SHOWN = 5


def run(
    config: Config,
    output: Output = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes.  [default: all cores]")
    ] = None,
    set_: Set = None,
    only: Only = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No tables and no progress.")] = False,
) -> int:
    """Run an experiment; finished repeats are kept, so the same command goes on where it stopped."""
    import time

    from fairbench_cli.cli.console import print_paper_table, talk
    from fairbench_cli.cli.progress import RunProgress, in_words
    from fairbench_cli.experiment.manifest import provenance
    from fairbench_cli.experiment.run import compute, open_folder, prepare, write_head, write_manifest
    from fairbench_cli.experiment.runner import default_jobs
    from fairbench_cli.report.write import write_report

    start = time.monotonic()
    prepared = prepare(
        config, folder=output, data_dir=data_dir, overrides=tuple(set_ or ()), filters=tuple(only or ())
    )
    open_folder(prepared.folder)
    write_head(prepared)
    workers = jobs or default_jobs()
    todo = prepared.todo
    whole = len(prepared.selected) * prepared.experiment.repeats
    if not quiet:
        if prepared.damaged:
            talk(f"{prepared.damaged} torn journal line(s) left out; those repeats run again")
        talk(f"{whole} repeats: {whole - len(todo)} done, {len(todo)} to do, {workers} worker(s)")
    interrupted = False
    progress = RunProgress(prepared, workers)
    try:
        if todo and quiet:
            compute(prepared, workers, lambda _: None)
        elif todo:
            with progress:
                compute(prepared, workers, progress.note)
    except KeyboardInterrupt:
        interrupted = True
    tables = write_report(prepared.folder, prepared.study, prepared.records)
    left = len(prepared.todo)
    write_manifest(
        prepared, provenance=provenance(), jobs=workers, computed=len(todo) - left, start=start
    )
    if interrupted:
        talk(f"interrupted; {left} repeats left. Go on with:\n  {shlex.join(['fairbench', *sys.argv[1:]])}")
        return 130
    if not quiet:
        for table in tables:
            print_paper_table(table)
        talk(f"{prepared.folder}/: groups.csv, results.csv, summary.csv, tables/, manifest.json "
             f"({in_words(time.monotonic() - start)})")
    return 1 if _say_failures(prepared.records, {cell.key for cell in prepared.selected}) else 0


def _say_failures(records: dict, keys: set[str]) -> bool:  # type: ignore[type-arg]
    """Print the reasons of failures, most frequent first; tell whether there were any."""
    from collections import Counter

    from fairbench_cli.cli.console import talk
    from fairbench_cli.experiment.journal import RETRIED

    reasons = Counter(
        (record.status, record.reason)
        for record in records.values()
        if record.key in keys and record.status in RETRIED
    )
    for (status, reason), n in reasons.most_common(REASONS_SHOWN):
        talk(f"{n} repeat(s) {status}: {reason}")
    if len(reasons) > REASONS_SHOWN:
        talk(f"and {len(reasons) - REASONS_SHOWN} more reasons: see groups.csv")
    return bool(reasons)
