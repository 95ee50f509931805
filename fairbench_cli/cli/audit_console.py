"""Draw an audit on a console: narrow ones stack small print under the numbers."""

import re
import textwrap
from collections.abc import Mapping

from rich import box
from rich.table import Table
from rich.text import Text

from fairbench_cli.audit.config import Rule
from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.format import symbols
from fairbench_cli.audit.show.layout import facts
from fairbench_cli.audit.show.sections import sections
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.cli.console import out, plain, say
from fairbench_cli.document.model import Section, TableCell, TextTable, Verdict

WIDE = 124  # from here on a row takes one line
NUMBERS = 67  # columns that all but the name of a group take in a table of comparisons

# The symbol and the style of each verdict.
Marks = Mapping[Verdict | None, tuple[str, str]]


def print_audit(report: Report, *, everything: bool = False) -> None:
    """Print the answer in words, a table per attribute and the notes; colours on a terminal only."""
    answer, marks = headline(report), _marks(report.config.rule)
    said, still = answer.lines(everything=everything)
    _marked(answer.sentence, *marks[answer.verdict], bold=True)
    if said:
        say("")
    for verdict, text in said:
        _marked(text, *marks[verdict])
    if still:
        say("")
        _fold("Not decided:", "")
        for text in still:
            _marked(text, *marks["undecided"])
    say("")
    if gate := gate_words(report):
        _fold(gate, "bold" if report.gate.stops else "")
    _fold(f"{facts(report)}.", "dim")
    for section in sections(report, everything=everything, brief=True):
        _print_section(section, marks)


def _marks(rule: Rule) -> Marks:
    """Return how verdicts look; those that chance was not looked at for have no colour."""
    styles = {"pass": "green", "fail": "bold red", "undecided": "yellow", None: "bold"}
    return {
        verdict: (plain(mark), "" if rule == "point" and verdict else styles[verdict])
        for verdict, mark in symbols(rule).items()
    }


def _fold(text: str, style: str, indent: str = "") -> None:
    """Print a paragraph, folded to the console's width in a pipe too."""
    console = out()
    whole = plain(text).replace(" %", "\u00a0%")  # a number and its % stay on a line
    folded = textwrap.fill(whole, console.width, subsequent_indent=indent).replace("\u00a0%", " %")
    console.print(Text(folded, style=style), soft_wrap=True)


def _marked(text: str, mark: str, style: str, *, bold: bool = False) -> None:
    """Print a paragraph after a symbol, which stands out."""
    indent = " " * (len(mark) + 1) if mark else ""
    _fold(f"{mark} {text}".lstrip(), style if bold or mark == "?" else "", indent)


def _print_section(section: Section, marks: Marks) -> None:
    say("")
    mark, style = marks[section.verdict]
    _fold(f"{mark} {section.title}".strip(), style)
    for sentence in section.sentences:
        _fold(sentence, "dim")
    for table in section.tables:
        if table.title not in ("", section.title):
            say("")
            _fold(table.title, "")
        if table.rows:
            _print_table(table, marks)
        else:
            _fold("nothing to compare", "dim")
        if table.more:
            _fold(table.more, "dim")
    for note in section.notes:
        _fold(f"* {note}", "dim")


def _print_table(table: TextTable, marks: Marks) -> None:
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
        drawn.add_row(*(_text(cell, console.width, marks) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    for text in capture.get().splitlines():
        if text.strip():
            console.print(Text.from_ansi(text.rstrip()), soft_wrap=True)


def _text(cell: TableCell, width: int, marks: Marks) -> Text:
    text, fine, wide = plain(cell.text), plain(cell.fine), width >= WIDE
    mark, style = marks[cell.verdict] if cell.verdict else ("", "")
    if cell.verdict:
        text = f"{mark} {text}" if wide else f"{mark} {re.sub(', ', f',{chr(10)}  ', text)}"
    if fine and wide:
        text = f"{text} {fine}" if fine.startswith("[") else f"{text} ({fine})"
    elif fine:
        text = f"{textwrap.fill(text, max(8, width - NUMBERS))}\n{fine}"
    return Text(text, style=style)
