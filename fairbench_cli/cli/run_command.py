"""``fairbench run``: compute what is missing and write the results."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairbench_cli.base.errors import Problem, refuse, user_error
from fairbench_cli.cli.console import print_report, talk
from fairbench_cli.cli.options import AllTables, Config, DataDir, NoCode, Only, Output, Reuse, Set, ShardOf

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.experiment.running.pool import Pool
    from fairbench_cli.experiment.running.run import PreparedRun

LOG = "log.txt"
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that ask a run to end."""


def run(
    config: Config,
    output: Output = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes.", show_default="all cores")
    ] = None,
    set_: Set = None,
    only: Only = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No answer and no progress.")] = False,
    mix_versions: Annotated[
        bool, typer.Option("--mix-versions", help="Go on from results of other versions of NumPy and so on.")
    ] = False,
    backend: Annotated[
        Literal["local", "dask"], typer.Option(help="Where repeats run: here, or on a cluster of dask.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Of --backend dask: tcp://HOST:8786, or a scheduler file.", show_default=False),
    ] = None,
    shard: ShardOf = None,
    reuse: Reuse = None,
    study: Annotated[
        Path | None,
        typer.Option(
            "--beside",
            help="Then judge its techniques beside those of a table of published repeats.",
            show_default=False,
        ),
    ] = None,
    all_: AllTables = False,
    no_code: NoCode = False,
) -> int:
    """Run an experiment; finished repeats are kept, so the same command goes on where it stopped.

    A simulation (`zliobaite2017`) is computed anew.
    """
    from fairbench_cli.base.plugins import refusing_code
    from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
    from fairbench_cli.base.safe_text import format_count
    from fairbench_cli.cli.activity import Activity
    from fairbench_cli.cli.plan import list_worlds
    from fairbench_cli.cli.progress import in_words
    from fairbench_cli.experiment.config.read import read_config
    from fairbench_cli.experiment.datasets import list_warnings
    from fairbench_cli.experiment.running.inline import InlinePool
    from fairbench_cli.experiment.running.processes import default_jobs
    from fairbench_cli.experiment.running.reuse import describe_done_elsewhere, reuse_repeats
    from fairbench_cli.experiment.running.run import prepare, read_shard, working_in, write_manifest
    from fairbench_cli.simulate.config import is_simulation

    if is_simulation(config):
        from fairbench_cli.cli.simulate import run_simulation

        flags = {"--jobs": jobs, "--only": only, "--data-dir": data_dir, "--shard": shard, "--all": all_}
        flags |= {"--mix-versions": mix_versions, "--scheduler": scheduler, "--backend": backend != "local"}
        flags |= {"--beside": study}
        _refuse_flags(flags)
        run_simulation(config, output, set_ or (), quiet=quiet)
        return 0
    if study is not None:
        from fairbench_cli.studies.table import read_study

        read_study(study)  # what is wrong with it is said before the run, not after it
    start = time.monotonic()
    shard_part = None
    if shard is not None:
        shard_part = read_shard(shard)
    address = _address(backend, scheduler, jobs)
    with refusing_code(no_code):
        config_read = read_config(config, tuple(set_ or ()))
    pool: Pool
    with stoppable() as stopped, ExitStack() as stack:
        if address is not None:
            from fairbench_cli.experiment.cluster import cluster_at

            pool = stack.enter_context(cluster_at(address, config_read, talk))
        with ExitStack() as reading:
            if quiet:
                tell: ProgressCallback = ignore_progress
            else:
                tell = reading.enter_context(Activity("reading")).tell
            filters = tuple(only or ())
            checked = prepare(
                config_read, folder=output, data_dir=data_dir, filters=filters, shard=shard_part, tell=tell
            )
        prepared = stack.enter_context(working_in(checked, mix_versions=mix_versions, warn=talk))
        if reuse:
            reused = reuse_repeats(prepared, reuse, mix_versions=mix_versions)
            prepared = reused.prepared
            if not quiet:
                for line in reused.lines:
                    talk(line)
        todo = prepared.n_left
        if address is None:
            pool = stack.enter_context(_local_pool(prepared, jobs))
        if not isinstance(pool, InlinePool):
            import_module("fairbench_cli.report.write")  # pandas, while the workers load what they need
        if not quiet:
            in_shard = ""
            if shard_part is not None:
                in_shard = f" in shard {shard_part}"
            where = ""
            if not isinstance(pool, InlinePool):
                where = f", {format_count(pool.jobs, 'worker')}"
            talk(f"{prepared.size} repeats{in_shard}: {prepared.size - todo} done, {todo} to do{where}")
            for line in describe_done_elsewhere(prepared):
                talk(line)
            if config_read.plugins:
                names = dict.fromkeys(name for name, _ in config_read.plugins)
                talk(f"runs code of others: {', '.join(names)} (--no-code refuses it)")
            for line in list_warnings(prepared.datasets):
                talk(f"warning: {line}")
            worlds = list_worlds(prepared)
            if worlds:
                talk(f"worlds: {', '.join(worlds)}")
        finished, pace = _compute(prepared, pool, stopped, quiet)
        ignore_endings()  # what follows takes seconds, and no result should be without its files
        n_left = prepared.n_left
        stored_repeats = prepared.plan.count_finished(prepared.records)
        # Of a shard, or of nothing, tables and page would be incomplete.
        if shard_part is None and (finished or stored_repeats):
            from fairbench_cli.papers.pages import paper_section
            from fairbench_cli.papers.parts import PARTS
            from fairbench_cli.report.write import write_report

            write_manifest(prepared, jobs=pool.jobs, computed=todo - n_left, start=start, pace=pace)
            written = write_report(
                prepared.folder,
                prepared.plan,
                prepared.records,
                compared=paper_section,
                parts=PARTS,
                processes=jobs or default_jobs(),
            )
        if not finished:
            again = shlex.join(["fairbench"] + sys.argv[1:])
            talk(f"interrupted; {n_left} repeats left. Go on with:\n  {again}")
            return 128 + stopped[0]
        took = in_words(time.monotonic() - start)
        if not quiet and shard_part is not None:
            talk(f"{prepared.folder}/journal/: shard {shard_part} ({took})")
            talk(f"when all shards are done: fairbench report {shlex.quote(str(prepared.folder))}")
        elif not quiet:
            print_report(written, tables=all_, folder=prepared.folder, time=took)
        if study is not None and shard_part is None:
            from fairbench_cli.cli.studies import compare_table

            compare_table([study, prepared.folder], {"design": None}, {}, output=prepared.folder / "beside")
    if _say_failures(prepared):
        return 1
    return 0


@contextmanager
def _local_pool(prepared: "PreparedRun", jobs: int | None) -> Iterator["Pool"]:
    """Give what computes repeats on this machine: workers where they are needed or pay, else this process."""
    from fairbench_cli.experiment.running.inline import InlinePool, is_small, needs_workers
    from fairbench_cli.experiment.running.processes import default_jobs

    config = prepared.config
    count = jobs or default_jobs()
    one_suffices = count == 1 or (jobs is None and is_small(prepared))
    if not prepared.n_left or (one_suffices and not needs_workers(config)):
        yield InlinePool(config.limits)
        return
    from fairbench_cli.experiment.running.pool import LocalPool

    with LocalPool(config, count, talk, log=prepared.folder / LOG) as pool:
        yield pool


def _refuse_flags(flags: Mapping[str, object]) -> None:
    """Raise an error that names the flags that were given and mean nothing to a simulation."""
    problems = []
    for flag, value in flags.items():
        if value:
            problems.append(Problem("a simulation has no such choice", "leave it out", flag))
    refuse(problems)


def _address(backend: str, scheduler: str | None, jobs: int | None) -> str | None:
    """Return the address of the scheduler of a cluster, None for this machine; check what goes together.

    Raises
    ------
    UserError
        When an option is missing, or would be of no use.
    """
    if backend == "local" and scheduler is not None:
        raise user_error("a scheduler is of use to --backend dask only", "add it", "--scheduler")
    if backend == "dask" and scheduler is None:
        fix = "add --scheduler tcp://HOST:8786; `dask scheduler` starts one and says where"
        raise user_error("no address of a scheduler", fix, "--backend dask")
    if backend == "dask" and jobs is not None:
        raise user_error("a cluster has workers of its own", "leave --jobs out", "--jobs")
    return scheduler


def _compute(
    prepared: "PreparedRun", pool: "Pool", stopped: Sequence[int], quiet: bool
) -> tuple[bool, float]:
    """Run what is to do; return whether it came to its end (Ctrl-C and other signals: no), and its pace."""
    from fairbench_cli.cli.progress import RunProgress
    from fairbench_cli.experiment.cell import Repeat
    from fairbench_cli.experiment.running.run import compute
    from fairbench_cli.experiment.worlds import write_worlds

    def note(outcome: Repeat) -> None:
        if progress is not None:
            progress.note(outcome)
        if stopped:  # a library has swallowed the interruption of a repeat in this process
            raise KeyboardInterrupt

    progress = None
    try:
        if prepared.n_left and quiet:
            compute(prepared, pool.outcomes, note)
        elif prepared.n_left:
            with RunProgress(prepared, max(1, pool.jobs)) as progress:
                compute(prepared, pool.outcomes, note, progress.watch)
        write_worlds(prepared.folder, prepared.config, prepared.datasets)
        finished = True
    except KeyboardInterrupt:
        finished = False
    return finished, progress.pace if progress is not None else 1.0


def ignore_endings() -> None:
    """Let nothing stop this process any more but SIGKILL: what it still has to do is done at once."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Stop at the first Ctrl-C, or request to end; further ones must not break into writing results.

    What stopped it, if anything did, is in the list. A signal that is ignored (nohup) stays so.
    """
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        ignore_endings()
        if number == getattr(signal, "SIGHUP", None):  # the terminal is gone
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    if stream.isatty():
                        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stopped.append(number)
        raise KeyboardInterrupt

    heard = [number for number in ENDINGS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_failures(prepared: "PreparedRun") -> bool:
    """Print whose repeats failed and why, most frequent first; return whether there were any."""
    if not prepared.failures:
        return False
    from fairbench_cli.report.ledger.cell_labels import describe_failures

    for line in describe_failures(prepared.plan, prepared.failures):
        talk(line)
    return True
