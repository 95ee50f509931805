"""How things look: results to stdout, talk to stderr, no colour in a pipe."""

import sys
import textwrap
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fairbench_cli.base.text import ascii_json, printable
from fairbench_cli.cli.streams import has_unicode, in_its_encoding

if TYPE_CHECKING:  # pandas comes with it
    from collections.abc import Sequence

    from fairbench_cli.experiment.journal.journal import Damage
    from fairbench_cli.report.tables import Block, PaperTable

GAP = 3  # characters between two columns
NARROWEST = 13  # of the techniques' column, which folds


def out() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


def plain(text: str, keep: str = "") -> str:
    """Return a text as the console can show it, before columns are measured; `keep` as in `printable`."""
    return in_its_encoding(printable(text, keep))


def say(line: str, style: str = "") -> None:
    """Print one paragraph of results; lines are folded on a terminal only."""
    console = out()
    console.print(Text(plain(line, "\n"), style=style), soft_wrap=not console.is_terminal)


def talk(message: str) -> None:
    """Print a line about the work to stderr."""
    console = Console(stderr=True, highlight=False)
    console.print(printable(message, "\n"), markup=False, soft_wrap=True)


def print_document(text: str, format_: str) -> None:
    """Print a document as it is; without Unicode JSON and HTML in ASCII, which says the same."""
    if not has_unicode() and format_ == "json":
        text = ascii_json(text)
    elif not has_unicode() and format_ == "html":
        text = text.encode("ascii", "xmlcharrefreplace").decode()
    sys.stdout.write(text)


def talk_of_damage(damages: "Sequence[Damage]", then: str = "their repeats are left out") -> None:
    """Print which lines of a journal are damaged, if any, and what becomes of their repeats."""
    if damages:  # else nothing heavy is loaded
        from fairbench_cli.experiment.journal.journal import damage_in_words

        talk(*damage_in_words(damages, then))


def print_rows(
    heads: list[str], rows: list[list[str]], *, right: int = 0, whole: int = 0, title: str | None = None
) -> None:
    """Print a plain table; its names and last `whole` columns are not folded, `right` are numbers."""
    console = out()
    table = RichTable(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False
    )
    for j, head in enumerate(heads):
        number = j >= len(heads) - right
        firm = j == 0 or j >= len(heads) - max(right, whole)
        table.add_column(head, justify="right" if number else "left", no_wrap=firm, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell, "\n")) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines() if line.strip()]
    console.print(Text("\n".join([*lines, ""])), soft_wrap=True)


def print_paper_tables(tables: "list[PaperTable]") -> None:
    """Print the tables of a report, and once what stands in them."""
    for table in tables:
        say(table.name, "bold")
        for block in table.blocks:
            _print_block(block, table.columns)
    for line in dict.fromkeys(line for table in tables for line in table.caption):
        out().print(Text(textwrap.fill(line, out().width), style="dim"))


def _print_block(block: "Block", columns: tuple[str, ...]) -> None:
    """Print a block, in several parts where its β do not fit side by side."""
    heads = block.heads("β={:g}")
    number = max(len(text) for *_, cells in block.rows for cell in cells for text in cell.split(" "))
    number = max(number, *map(len, heads)) + GAP
    texts = zip(*(row[1:-1] for row in block.rows), strict=True)
    free = out().width - 1 - sum(GAP + max(map(len, column)) for column in texts)
    fit = max(1, (free - NARROWEST - GAP) // number)
    for start in range(0, len(heads), fit):
        part = slice(start, start + fit)
        width = max(NARROWEST, free - number * len(heads[part]) - GAP)
        rows: list[list[str]] = []
        last = None
        for label, *names, cells in block.rows:
            lines = _lines(names, cells[part])
            if label == last:
                rows[-1] = [f"{above}\n{below}" for above, below in zip(rows[-1], ["", *lines], strict=True)]
            else:
                rows.append(["\n".join(textwrap.wrap(label, width)), *lines])
            last = label
        right = len(heads[part])
        whole = right + len(columns) - 1
        print_rows([*columns, *heads[part]], rows, right=right, whole=whole, title=block.title)


def _lines(names: list[str], cells: tuple[str, ...]) -> list[str]:
    """Return cells of two lines, the counts of "0.123 (28/30)" under their means; of one if none has any."""
    if not any(" " in cell for cell in cells):
        return [*names, *cells]
    return [
        *(f"{name}\n" for name in names),
        *(cell.replace(" ", "\n") if " " in cell else f"{cell}\n" for cell in cells),
    ]
