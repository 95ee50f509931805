"""Draw an audit on a console: narrow ones stack small print under the numbers."""

import re
import textwrap

from rich import box
from rich.table import Table
from rich.text import Text

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.layout import ReportSection, TableCell, TextTable, facts, headline, sections
from fairbench_cli.cli.console import out, plain, say

WIDE = 124  # from here on a row takes one line
NUMBERS = 67  # columns that all but the name of a group take in a table of comparisons
STYLES = {"pass": "green", "fail": "bold red", "undecided": "yellow", None: ""}


def print_audit(report: Report, *, everything: bool = False) -> None:
    """Print the verdict, a table per attribute and the notes; colours on a terminal only."""
    _fold(headline(report), STYLES[report.verdict])
    _fold(facts(report), "dim")
    for section in sections(report, everything=everything, brief=True):
        _print_section(section)


def _fold(text: str, style: str) -> None:
    """Print a paragraph, folded to the console's width in a pipe too."""
    console = out()
    console.print(Text(textwrap.fill(plain(text), console.width), style=style), soft_wrap=True)


def _print_section(section: ReportSection) -> None:
    say("")
    _fold(section.title, STYLES[section.verdict] if section.verdict else "bold")
    for sentence in section.sentences:
        _fold(sentence, "dim")
    for table in section.tables:
        if table.title:
            say("")
            _fold(table.title, "")
        if table.rows:
            _print_table(table)
        else:
            _fold("nothing to compare", "dim")
        if table.more:
            _fold(table.more, "dim")
    for note in section.notes:
        _fold(f"* {note}", "dim")


def _print_table(table: TextTable) -> None:
    """Print a table without blanks at the ends of its lines."""
    console = out()
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for j, (head, numeric) in enumerate(zip(table.heads, table.numeric, strict=True)):
        whole = numeric and not any(row[j].fine for row in table.rows)
        whole = whole or (head == "metric" and console.width >= 80)
        drawn.add_column(
            head,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=whole,
            min_width=None if numeric else min(7, len(head)),
        )
    for row in table.rows:
        drawn.add_row(*(_text(cell, console.width) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    for text in capture.get().splitlines():
        if text.strip():
            console.print(Text.from_ansi(text.rstrip()), soft_wrap=True)


def _text(cell: TableCell, width: int) -> Text:
    text, fine, wide = plain(cell.text), plain(cell.fine), width >= WIDE
    if cell.verdict and not wide:
        text = re.sub(", (and |but )?", ",\n", text)
    if fine and wide:
        text = f"{text} {fine}" if fine.startswith("[") else f"{text} ({fine})"
    elif fine:
        text = f"{textwrap.fill(text, max(8, width - NUMBERS))}\n{fine}"
    return Text(text, style=STYLES[cell.verdict])
