"""``fairbench report``: every derived file again, from the journal."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[Path, typer.Argument(help="A folder that `fairbench run` wrote.", show_default=False)],
) -> None:
    """Write groups.csv, results.csv, summary.csv and tables/ again. No training."""
    from fairbench_cli.cli.console import print_paper_tables
    from fairbench_cli.report.write import redo_report

    print_paper_tables(redo_report(results))
