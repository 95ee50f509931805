"""What ``fairbench run`` does with a simulation: decisions of known discrimination, measured."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairbench_cli.cli import options
from fairbench_cli.cli.console import print_document, talk
from fairbench_cli.cli.options import Output


def simulate(
    config: Annotated[Path, options.config("The simulation")],
    output: Output = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Lay a value over the config: --set runs=5 --set 'accepted=[0.5]'"),
    ] = None,
) -> None:
    """Do what `fairbench run` does with a simulation: the name that it had before."""
    run_simulation(config, output, set_ or ())
    talk(f"`fairbench simulate` is `fairbench run {config}` now; from 0.3 on it is gone")


def run_simulation(
    config: Path, output: Path | None, settings: Sequence[str], *, quiet: bool = False
) -> None:
    """Simulate decisions of known discrimination, measure it, and draw the measures against the truth.

    Raises
    ------
    UserError
        When config or folder are not as they should be.
    """
    from datetime import UTC, datetime

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fairbench_cli.base.files import make_output_folder, write_json
    from fairbench_cli.cli.progress import in_words
    from fairbench_cli.experiment.versions import provenance
    from fairbench_cli.simulate.config import read_simulation
    from fairbench_cli.simulate.simulation import check_folder, summary_document, write_simulation
    from fairbench_cli.simulate.simulation import simulate as draw_and_measure

    start = time.monotonic()
    cpu = time.process_time()
    simulation = read_simulation(config, tuple(settings))
    folder = output or Path("results") / simulation.name
    check_folder(folder)
    make_output_folder(folder)
    columns = TextColumn("settings"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    is_silent = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_silent) as bar:
        task = bar.add_task("", total=None)
        frame = draw_and_measure(
            simulation, lambda n_done, n_total: bar.update(task, completed=n_done, total=n_total)
        )
    write_simulation(folder, simulation, frame)
    took = {"wall_seconds": time.monotonic() - start, "cpu_seconds": time.process_time() - cpu}
    rounded = {name: round(seconds, 2) for name, seconds in took.items()}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(folder / "manifest.json", {**provenance(), "finished": finished, **rounded})
    if quiet:
        return
    print_document(summary_document(simulation, frame, brief=True))
    files = "simulation.csv, summary.md, figures/, config.yaml, manifest.json"
    talk(f"{folder}/: {files} ({in_words(took['wall_seconds'])})")
