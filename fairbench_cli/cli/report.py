"""``fairbench report``: every derived file again, from the journal."""

from pathlib import Path
from typing import Annotated

import typer

from fairbench_cli.cli import options


def report(
    results: Annotated[Path, options.results("A folder that `fairbench run` wrote")],
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            help="Compare the groups of this protected attribute or intersection: -a sex -a sex×race",
            show_default="the config's",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Add a metric to those of the run, by its name or by its code: -m phi -m ./mine.py:gap",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write every CSV, table and figure of a run again from its journal. No training."""
    from fairbench_cli.base.plugins import is_file
    from fairbench_cli.cli.console import print_tables, talk, talk_of_damage
    from fairbench_cli.experiment.journal.lock import locked_if_results
    from fairbench_cli.experiment.journal.manifest import mixture_in_words
    from fairbench_cli.report.write import redo_report

    with locked_if_results(results, talk):
        tables, damages, left_out, missing = redo_report(results, attribute or (), metric or ())
    for line in mixture_in_words(results):
        talk(line)
    talk_of_damage(damages)
    if missing:
        talk(
            f"{missing} repeats of the plan are in no journal: run them, or copy the journals of other shards"
        )
    for name in left_out:
        again = f"./{name}" if is_file(name) else name
        talk(f"{name} is left out, as a report runs no code that is not named: -m {again}")
    print_tables(tables)
