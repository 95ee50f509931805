"""How things look: results to stdout, talk to stderr, no colour in a pipe; a document on a console."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fairbench_cli.base.text import ascii_json, printable
from fairbench_cli.cli.streams import has_unicode, in_its_encoding
from fairbench_cli.document.model import Document, Section, TableCell, TextTable, Verdict, plain_table

if TYPE_CHECKING:  # pandas comes with it
    from fairbench_cli.experiment.journal.journal import Damage

GAP = 2  # characters between two columns
NARROWEST = 13  # of a column that folds, where there is room

# The symbol and the style of each verdict.
Marks = dict[Verdict | None, tuple[str, str]]
STYLES: dict[Verdict | None, str] = {"pass": "green", "fail": "bold red", "undecided": "yellow"}


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


def fold(text: str, style: str = "", indent: str = "", first: str = "") -> None:
    """Print a paragraph, folded to the console's width in a pipe too; a number and its % stay on a line."""
    console = out()
    folded = textwrap.fill(
        plain(text).replace(" %", "\u00a0%"),
        console.width,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    console.print(Text(folded.replace("\u00a0%", " %"), style=style), soft_wrap=True)


def talk(message: str) -> None:
    """Print a line about the work to stderr."""
    console = Console(stderr=True, highlight=False)
    console.print(printable(message, "\n"), markup=False, soft_wrap=True)


def print_text(text: str, format_: str) -> None:
    """Print a file's text as it is; without Unicode JSON and HTML in ASCII, which says the same."""
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


def print_document(document: Document) -> None:
    """Print the answer in words, or the title where there is none, then facts, sections and notes."""
    marks = _marks(document)
    if answer := document.answer:
        _marked(answer.headline.text, *marks[answer.headline.verdict], bold=True)
        for i, one in enumerate(answer.statements):
            if i == 0:
                say("")
            _marked(one.text, *marks[one.verdict])
        if answer.open:
            say("")
            fold("Not decided:")
        for text in answer.open:
            _marked(text, *marks["undecided"])
        say("")
        if answer.consequence:
            fold(answer.consequence.text, "bold" if answer.consequence.verdict else "")
    elif document.title:
        fold(document.title, "bold")
    for fact in document.facts:
        fold(fact, "dim")
    for i, section in enumerate(document.sections):
        if i or document.title or document.facts:
            say("")
        _print_section(section, marks)
    for note in document.notes:
        fold(note)


def print_tables(documents: Iterable[Document]) -> None:
    """Print several documents, and once what stands in them."""
    facts: dict[str, None] = {}
    for document in documents:
        print_document(replace(document, facts=()))
        say("")
        facts |= dict.fromkeys(document.facts)
    for fact in facts:
        fold(fact, "dim")


def print_table(table: TextTable) -> None:
    """Print a table with its title."""
    print_document(Document("", sections=(Section(table.title, tables=(table,)),)))


def print_rows(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0, title: str | None = None
) -> None:
    """Print a table of texts, whose last `right` columns are numbers."""
    print_table(plain_table(title or "", heads, rows, len(heads) - right))


def _marks(document: Document) -> Marks:
    """Return how verdicts look; those that chance was not looked at for have no colour."""
    return {
        verdict: (plain(mark), STYLES.get(verdict, "bold") if document.tested or not verdict else "")
        for verdict, mark in document.marks.items()
    }


def _marked(text: str, mark: str, style: str, *, bold: bool = False) -> None:
    """Print a paragraph after a symbol, which stands out."""
    indent = " " * (len(mark) + 1) if mark else ""
    fold(f"{mark} {text}".lstrip(), style if bold or mark == "?" else "", indent)


def _print_section(section: Section, marks: Marks) -> None:
    mark, style = marks[section.verdict]
    if section.title:
        fold(f"{mark} {section.title}".strip(), style)
    for sentence in section.sentences:
        fold(sentence, "dim")
    for table in section.tables:
        if table.title not in ("", section.title):
            say("")
            fold(table.title)
        if table.rows:
            _print_table(table, marks)
        if more := table.more or ("" if table.rows else "none"):
            fold(more, "dim")
    for note in section.notes:
        fold(f"* {note}", "dim", "  ")
    for within in section.sections:
        say("")
        _print_section(within, marks)


def _print_table(table: TextTable, marks: Marks) -> None:
    """Print a table, a row in a line if the console is wide enough, else small print below numbers.

    Numbers that do not fit side by side follow in further tables, whose words are the same.
    """
    width = out().width
    heads = [plain(head) for head in table.heads]
    rows = [[_in_line(cell, marks) for cell in row] for row in table.rows]
    if _total(_widths(heads, rows)) > width:
        sides = table.numeric
        rows = [[_stacked(cell, n, marks) for cell, n in zip(row, sides, strict=True)] for row in table.rows]
        heads = [head.replace(" = ", "=") if n else head for head, n in zip(heads, sides, strict=True)]
    for part in _parts(table.numeric, _widths(heads, rows), width):
        cells = [[row[j] for j in part] for row in rows]
        if table.grouped:
            cells = list(_grouped(cells))
        _draw([heads[j] for j in part], cells, [table.numeric[j] for j in part])


def _in_line(cell: TableCell, marks: Marks) -> Text:
    mark, style = marks[cell.verdict] if cell.verdict else ("", "")
    return Text(f"{mark} {plain(cell.whole, chr(10))}".lstrip(), style=style)


def _stacked(cell: TableCell, number: bool, marks: Marks) -> Text:
    """Return a cell with its small print below; of numbers also what stands behind them."""
    mark, style = marks[cell.verdict] if cell.verdict else ("", "")
    text = plain(cell.text, "\n")
    text = text.replace(" ", "\n") if number else f"{mark} {text}".lstrip()
    return Text(f"{text}\n{plain(cell.fine)}" if cell.fine else text, style=style)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[int]:
    lines = (
        [head, *(line for row in rows for line in row[j].plain.split("\n"))] for j, head in enumerate(heads)
    )
    return [max(map(cell_len, column)) for column in lines]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _parts(numeric: Sequence[bool], widths: Sequence[int], width: int) -> Iterator[list[int]]:
    """Return the columns of each table that a table is cut into: all words, and numbers as they fit."""
    words = [j for j, number in enumerate(numeric) if not number]
    numbers = [j for j, number in enumerate(numeric) if number]
    free = width - sum(min(widths[j], NARROWEST if i == 0 else widths[j]) + GAP for i, j in enumerate(words))
    if not numbers or words != list(range(len(words))):
        yield [*range(len(numeric))]
        return
    fit = max(1, (free + GAP) // (max(widths[j] for j in numbers) + GAP))
    for start in range(0, len(numbers), fit):
        yield [*words, *numbers[start : start + fit]]


def _grouped(rows: Sequence[Sequence[Text]]) -> Iterator[list[Text]]:
    """Put rows with the same first cell into one, so that this is said once and folds next to the others."""
    for first, same in groupby(rows, lambda row: row[0]):
        columns: list[list[Text]] = [[] for _ in rows[0][1:]]
        for row in same:
            lines = [cell.split("\n", allow_blank=True) for cell in row[1:]]
            for column, own in zip(columns, lines, strict=True):
                column += [*own, *[Text()] * (max(map(len, lines)) - len(own))]
        yield [first, *(Text("\n").join(column) for column in columns)]


def _draw(heads: Sequence[str], rows: Sequence[Sequence[Text]], numeric: Sequence[bool]) -> None:
    """Print a table without blanks at the ends of its lines."""
    console = out()
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    whole = _whole(_widths(heads, rows), numeric, console.width)
    for head, number, uncut in zip(heads, numeric, whole, strict=True):
        drawn.add_column(Text(head), justify="right" if number else "left", overflow="fold", no_wrap=uncut)
    for row in rows:
        drawn.add_row(*row)
    with console.capture() as capture:
        console.print(drawn)
    for text in capture.get().splitlines():
        if text.strip():
            console.print(Text.from_ansi(text.rstrip()), soft_wrap=True)


def _whole(widths: Sequence[int], numeric: Sequence[bool], width: int) -> list[bool]:
    """Return which columns are not folded: names and short ones if there is room, else numbers, else none."""
    for limit in (width // 3, NARROWEST, 0):
        found = [
            number or of <= (max(limit, width // 2) if j == 0 and limit > NARROWEST else limit)
            for j, (of, number) in enumerate(zip(widths, numeric, strict=True))
        ]
        least = [of if uncut else min(of, NARROWEST + 3) for of, uncut in zip(widths, found, strict=True)]
        if _total(least) <= width:
            return found
    return [False] * len(widths)
