"""``fairbench run``: compute what is missing and write the results."""

import os
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.cli.options import Config, DataDir, Only, Output, Set

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.run import PreparedRun
    from fairbench_cli.experiment.workers import Workers

REASONS_SHOWN = 5
LOG = "log.txt"


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
    mix_versions: Annotated[
        bool,
        typer.Option("--mix-versions", help="Go on from results of other versions of NumPy and so on."),
    ] = False,
) -> int:
    """Run an experiment; finished repeats are kept, so the same command goes on where it stopped."""
    from fairbench_cli.cli.console import print_paper_tables, talk
    from fairbench_cli.cli.progress import in_words
    from fairbench_cli.experiment.read import read_config
    from fairbench_cli.experiment.run import prepare, working_in, write_manifest
    from fairbench_cli.experiment.runner import default_jobs
    from fairbench_cli.experiment.workers import Workers
    from fairbench_cli.report.write import write_report

    start = time.monotonic()
    given, count = read_config(config, tuple(set_ or ())), jobs or default_jobs()
    with _stoppable() as stopped, Workers(given, count) as workers:
        checked = prepare(given, folder=output, data_dir=data_dir, filters=tuple(only or ()))
        with working_in(checked, mix_versions=mix_versions, warn=talk) as prepared:
            workers.log = prepared.folder / LOG
            todo = len(prepared.todo)
            if not quiet:
                done = prepared.size - todo
                talk(f"{prepared.size} repeats: {done} done, {todo} to do, {count} worker(s)")
            finished = _compute(prepared, workers, quiet)
            tables = write_report(prepared.folder, prepared.plan, prepared.records)
            left = len(prepared.todo)
            write_manifest(prepared, jobs=count, computed=todo - left, start=start)
        if not finished:
            again = shlex.join(["fairbench", *sys.argv[1:]])
            talk(f"interrupted; {left} repeats left. Go on with:\n  {again}")
            return 128 + stopped[0]
    if not quiet:
        print_paper_tables(tables)
        files = "groups, results, summary, paired and pareto.csv, tables/, manifest.json"
        talk(f"{prepared.folder}/: {files} ({in_words(time.monotonic() - start)})")
    return 1 if _say_failures(prepared) else 0


def _compute(prepared: "PreparedRun", workers: "Workers", quiet: bool) -> bool:
    """Run what is to do; return whether it came to its end (Ctrl-C and other signals: no)."""
    from fairbench_cli.cli.progress import RunProgress
    from fairbench_cli.experiment.run import compute
    from fairbench_cli.experiment.runner import run_tasks

    try:
        if prepared.todo and quiet:
            compute(prepared, lambda tasks: run_tasks(tasks, workers), lambda _: None)
        elif prepared.todo:
            with RunProgress(prepared, workers.jobs) as progress:
                compute(prepared, lambda tasks: run_tasks(tasks, workers), progress.note)
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Stop at the first Ctrl-C, or request to end; further ones must not break into writing results.

    What stopped it, if anything did, is in the list. A signal that is ignored (nohup) stays so.
    """
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        if number == getattr(signal, "SIGHUP", None):  # the terminal is gone
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stopped.append(number)
        raise KeyboardInterrupt

    known = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    heard = [number for number in known if number and signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_failures(prepared: "PreparedRun") -> bool:
    """Print the reasons of failures, most frequent first; return whether there were any."""
    from fairbench_cli.cli.console import talk

    reasons = Counter((record.status, record.reason) for record in prepared.failures.values())
    for (status, reason), n in reasons.most_common(REASONS_SHOWN):
        talk(f"{n} repeat(s) {status}: {reason}")
    if len(reasons) > REASONS_SHOWN:
        talk(f"and {len(reasons) - REASONS_SHOWN} more reasons: see groups.csv")
    return bool(reasons)
