"""``fairbench run``: compute what is missing and write the results."""

import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.run import PreparedRun

REASONS_SHOWN = 5


def run(
    config: Config,
    output: Output = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes.", show_default="all cores")
    ] = None,
    set_: Set = None,
    only: Only = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No tables and no progress.")] = False,
) -> int:
    """Run an experiment; finished repeats are kept, so the same command goes on where it stopped."""
    from fairbench_cli.cli.console import print_paper_tables, talk, talk_of_damage
    from fairbench_cli.cli.progress import in_words
    from fairbench_cli.experiment.run import prepare, write_head, write_manifest
    from fairbench_cli.experiment.runner import default_jobs
    from fairbench_cli.files import open_folder
    from fairbench_cli.report.write import write_report

    start = time.monotonic()
    prepared = prepare(
        config, folder=output, data_dir=data_dir, overrides=tuple(set_ or ()), filters=tuple(only or ())
    )
    open_folder(prepared.folder)
    write_head(prepared)
    workers, todo = jobs or default_jobs(), len(prepared.todo)
    if not quiet:
        talk_of_damage(prepared.damages, "their repeats are computed again")
        talk(f"{prepared.size} repeats: {prepared.size - todo} done, {todo} to do, {workers} worker(s)")
    with _one_interrupt():
        finished = _compute(prepared, workers, quiet)
        tables = write_report(prepared.folder, prepared.plan, prepared.records)
        left = len(prepared.todo)
        write_manifest(prepared, jobs=workers, computed=todo - left, start=start)
        if not finished:
            again = shlex.join(["fairbench", *sys.argv[1:]])
            talk(f"interrupted; {left} repeats left. Go on with:\n  {again}")
            return 130
    if not quiet:
        print_paper_tables(tables)
        files = "groups, results, summary, paired and pareto.csv, tables/, manifest.json"
        talk(f"{prepared.folder}/: {files} ({in_words(time.monotonic() - start)})")
    return 1 if _say_failures(prepared) else 0


def _compute(prepared: "PreparedRun", workers: int, quiet: bool) -> bool:
    """Run what is to do; return whether it came to its end (Ctrl-C: no)."""
    from fairbench_cli.cli.progress import RunProgress
    from fairbench_cli.experiment.run import compute

    try:
        if prepared.todo and quiet:
            compute(prepared, workers, lambda _: None)
        elif prepared.todo:
            with RunProgress(prepared, workers) as progress:
                compute(prepared, workers, progress.note)
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def _one_interrupt() -> Iterator[None]:
    """Stop at the first Ctrl-C; further ones must not break into stopping workers and writing results."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say_failures(prepared: "PreparedRun") -> bool:
    """Print the reasons of failures, most frequent first; return whether there were any."""
    from fairbench_cli.cli.console import talk

    reasons = Counter((record.status, record.reason) for record in prepared.failures.values())
    for (status, reason), n in reasons.most_common(REASONS_SHOWN):
        talk(f"{n} repeat(s) {status}: {reason}")
    if len(reasons) > REASONS_SHOWN:
        talk(f"and {len(reasons) - REASONS_SHOWN} more reasons: see groups.csv")
    return bool(reasons)
