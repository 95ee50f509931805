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
) -> None:
    """Write every CSV, table and figure of a run again from its journal. No training."""
    from fairbench_cli.cli.console import print_paper_tables, talk_of_damage
    from fairbench_cli.report.write import redo_report

    tables, damaged = redo_report(results, attribute or ())
    talk_of_damage(damaged)
    print_paper_tables(tables)
