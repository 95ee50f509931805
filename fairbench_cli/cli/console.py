"""How things look: results to stdout, talk to stderr, no colour in a pipe."""

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fairbench_cli.report.tables import PaperTable


def out() -> Console:
    """Return the console for results."""
    return Console(highlight=False, soft_wrap=False)


def talk(message: str) -> None:
    """Say something about the work, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


def print_rows(heads: list[str], rows: list[list[str]], *, right: int = 0, title: str | None = None) -> None:
    """Print a plain table; the last `right` columns are numbers."""
    table = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for j, head in enumerate(heads):
        number = j >= len(heads) - right
        table.add_column(head, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out().print(table)


def print_paper_table(table: PaperTable) -> None:
    """Print a table of the report."""
    console = out()
    console.print(Text(table.name, style="bold"))
    console.print(Text(" ".join(table.caption), style="dim"))
    for block in table.blocks:
        heads = ["technique", "measure", *(f"β={beta:g}" for beta in block.betas)]
        rows = []
        last = ""
        for label, metric, cells in block.rows:
            rows.append(["" if label == last else label, metric, *cells])
            last = label
        print_rows(heads, rows, right=len(block.betas), title=block.title)
