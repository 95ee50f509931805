"""Draw an audit on a console: narrow ones stack counts and intervals under the numbers."""

import re
import textwrap

from rich import box
from rich.table import Table
from rich.text import Text

from fairbench_cli.audit.show.console import Line, Part, View
from fairbench_cli.audit.show.explained import Passage
from fairbench_cli.audit.show.words import printable
from fairbench_cli.cli.console import out, say

WIDE = 124  # from here on a comparison takes one line
STYLES = {"pass": "green", "fail": "bold red", "undecidable": "yellow"}


def print_audit(view: View) -> None:
    """Print the verdict, a table per attribute and the notes; colours on a terminal only."""
    _fold(view.headline, STYLES[view.parity])
    _fold(view.facts, "dim")
    for part in view.parts:
        _print_part(part)
    for passage in view.explained:
        _print_passage(passage)
    if view.notes:
        say("")
        say("notes", "bold")
        for note in view.notes:
            _fold(f"* {note}", "dim")


def _fold(text: str, style: str) -> None:
    """Print a paragraph, folded to the console's width in a pipe too."""
    console = out()
    console.print(Text(textwrap.fill(printable(text), console.width), style=style), soft_wrap=True)


def _print_passage(passage: Passage) -> None:
    """Print what is behind a difference."""
    say("")
    _fold(passage.title, "bold")
    for sentence in passage.said:
        _fold(sentence, "dim")
    for sheet in passage.sheets:
        say("")
        _fold(sheet.title, "")
        table = _table()
        for j, head in enumerate(sheet.heads):
            words = j < sheet.left
            table.add_column(head, justify="left" if words else "right", no_wrap=not words, overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        _print_table(table)
        if sheet.more:
            _fold(sheet.more, "dim")
    for note in passage.notes:
        _fold(f"* {note}", "dim")


def _print_part(part: Part) -> None:
    console = out()
    wide = console.width >= WIDE
    say("")
    _fold(part.title, STYLES[part.parity])
    if not part.lines:
        _fold("nothing to compare", "dim")
        return
    table = _table()
    for head in ("group", "measure"):
        table.add_column(head, overflow="fold", min_width=min(7, len(head)))
    for head in ("value", "reference", "ratio"):
        table.add_column(head, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for line in part.lines:
        table.add_row(*_cells(line, wide))
    _print_table(table)
    if part.more:
        _fold(part.more, "dim")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def _print_table(table: Table) -> None:
    """Print a table without blanks at the ends of its lines."""
    console = out()
    with console.capture() as capture:
        console.print(table)
    for text in capture.get().splitlines():
        if text.strip():
            console.print(Text.from_ansi(text.rstrip()), soft_wrap=True)


def _cells(line: Line, wide: bool) -> list[Text]:
    apart = " " if wide else "\n"

    def pair(big: str, fine: str) -> Text:
        fine = printable(fine)
        fine = f"({fine})" if wide and fine and not fine.startswith("[") else fine
        return Text(f"{printable(big)}{apart}{fine}".rstrip(" ") if fine else printable(big))

    narrow = re.sub(", (and |but )?", ",\n", line.verdict)
    return [
        pair(line.group, line.group_fine),
        Text(line.measure),
        pair(line.value, line.value_fine),
        pair(line.reference, line.reference_fine),
        pair(line.ratio, line.ratio_fine),
        Text(line.verdict if wide else narrow, style=STYLES[line.parity]),
    ]
