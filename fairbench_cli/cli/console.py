"""How things look: results to stdout, talk to stderr, no colour in a pipe; a document on a console."""

import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fairbench_cli.base.safe_text import ascii_json, printable
from fairbench_cli.cli.streams import has_unicode, in_its_encoding
from fairbench_cli.document.model import (
    Document,
    Section,
    TableCell,
    TextTable,
    Verdict,
    plain_table,
    with_symbol,
)

if TYPE_CHECKING:  # pandas comes with it
    from fairbench_cli.experiment.journal.journal import Damage
    from fairbench_cli.report.write import WrittenReport

GAP = 2  # characters between two columns
KEPT = "\u00a0"  # a space that no line ends at
SHORT = 16  # of a column that need not
WORTH = 1.1  # times as many lines as with first cells on lines of their own make these worth it

# The symbol and the style of each verdict.
Marks = dict[Verdict | None, tuple[str, str]]
STYLES: dict[Verdict | None, str] = {"pass": "green", "fail": "bold red", "undecided": "yellow"}


def out() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


def plain_text(text: str, keep: str = "") -> str:
    """Return a text as the console can show it, before columns are measured; `keep` as in `printable`."""
    return in_its_encoding(printable(text, keep))


def say(line: str, style: str = "") -> None:
    """Print one paragraph of results; lines are folded on a terminal only."""
    console = out()
    console.print(Text(plain_text(line, "\n"), style=style), soft_wrap=not console.is_terminal)


def fold(text: str, style: str = "", indent: str = "", first_indent: str = "") -> None:
    """Print a paragraph, folded to the console's width in a pipe too; "5 %" and "β = 1" stay on a line."""
    console = out()
    folded = textwrap.fill(
        plain_text(text).replace(" %", f"{KEPT}%").replace("β = ", f"β{KEPT}={KEPT}"),
        console.width,
        initial_indent=first_indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    console.print(Text(folded.replace(KEPT, " "), style=style), soft_wrap=True)


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


def talk_of_damage(damages: "Sequence[Damage]") -> None:
    """Print which lines of a journal are damaged, if any."""
    if damages:  # else nothing heavy is loaded
        from fairbench_cli.experiment.journal.journal import damage_in_words

        for line in damage_in_words(damages, "their repeats are left out"):
            talk(line)


def print_document(document: Document) -> None:
    """Print the answer in words, or the title where there is none, then facts, sections and notes."""
    marks = _marks(document)
    if answer := document.answer:
        mark, style = marks[answer.headline.verdict]
        _marked(answer.headline.text, mark, style, bold=True)
        if answer.headline.detail:
            indent = _hanging_indent(mark)
            fold(answer.headline.detail, "", indent, indent)
        for i, statement in enumerate(answer.statements):
            if i == 0:
                say("")
            _marked(statement.text, *marks[statement.verdict])
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
    if document.notes and (document.facts or document.sections):
        say("")
    for note in document.notes:
        fold(note)


def print_report(written: "WrittenReport", *, tables: bool, folder: Path, time: str = "") -> None:
    """Print the answer of a run, or its tables after it, and last where its files are."""
    print_document(written.answer)
    if tables:
        say("")
        print_tables(written.tables)
    page, *other_files = written.files
    took = ""
    if time:
        took = f" ({time})"
    talk(f"{folder / page}: the page; next to it {', '.join(other_files)}{took}")
    if written.own_technique:
        command = shlex.join(["fairbench", "report", str(folder), "--versus", written.own_technique])
        talk(f"yours against each of the others: {command}")


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
    say("")


def print_rows(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, n_right: int = 0, title: str | None = None
) -> None:
    """Print a table of texts, whose last `right` columns are numbers."""
    print_table(plain_table(title or "", heads, rows, len(heads) - n_right))


def _marks(document: Document) -> Marks:
    """Return how verdicts look; those that chance was not looked at for have no colour."""
    return {
        verdict: (plain_text(mark), STYLES.get(verdict, "bold") if document.tested or not verdict else "")
        for verdict, mark in document.marks.items()
    }


def _marked(text: str, mark: str, style: str, *, bold: bool = False) -> None:
    """Print a paragraph after a symbol, which stands out."""
    fold(with_symbol(text, mark), style if bold or mark == "?" else "", _hanging_indent(mark))


def _hanging_indent(mark: str) -> str:
    """Return the blanks below a symbol, by which the lines after it are indented."""
    if mark:
        return " " * (len(mark) + 1)
    return ""


def _print_section(section: Section, marks: Marks, within: str = "") -> None:
    """Print a section; the text of one that is `within` another is indented."""
    mark, style = marks[section.verdict]
    if section.title:
        fold(with_symbol(section.title, mark), style, within[2:], within[2:])
    for sentence in section.sentences:
        fold(sentence, "", f"{within}  " if within else "", within)
    for table in section.tables:
        if table.title not in ("", section.title):
            say("")
            fold(table.title)
        if table.rows:
            _print_table(table, marks)
        if table.below:
            fold(table.below, "dim")
    for note in section.notes:
        fold(f"* {note}", "dim", f"{within}  ", within)
    for i, inner_section in enumerate(section.sections):
        if i or section.title or section.sentences or section.tables:
            say("")
        _print_section(inner_section, marks, f"{within}  ")


class _Shown(NamedTuple):
    """A cell as it is printed: its lines, its style, and how far lines after a fold hang."""

    text: str
    style: str = ""
    hang: int = 0

    def folded(self, width: int) -> list[str]:
        """Return its lines in a column; only what is too long for it is cut at hyphens and kept blanks."""
        hang = " " * self.hang
        long = max(map(len, self.text.split()), default=0) > width
        lines = (
            textwrap.wrap(_unkept(line, width), width, subsequent_indent=hang, break_on_hyphens=long)
            for line in self.text.split("\n")
        )
        folded = []
        for wrapped in lines:
            folded += [line.replace(KEPT, " ") for line in wrapped] or [""]
        return folded


def _unkept(line: str, width: int) -> str:
    """Return a line whose kept blanks may be folded where what they keep together is wider."""
    if max(map(len, line.split(" "))) > width:
        return line.replace(KEPT, " ")
    return line


class _Column(NamedTuple):
    """A column of a table as it is printed; how wide its longest line is, and its longest word.

    Numbers that are stacked are as wide as their longest word.
    """

    head: str
    cells: list[_Shown]
    number: bool
    width: int
    word: int

    def least(self, longest: int) -> int:
        """Return how narrow it may be, if words of more than `longest` letters are cut."""
        if self.number and longest:
            return self.width
        return max(1, min(self.word, longest))


def _print_table(table: TextTable, marks: Marks) -> None:
    """Print a table, a row in a line if the console is wide enough, else small print below numbers.

    Numbers that do not fit side by side follow in further tables, whose words are the same.
    """
    width = out().width
    columns = _columns(table, marks, stacked=False)
    if table.led:
        _draw_led(columns, _fitted(columns[1:], width - GAP), width)
        return
    # Without small print there is nothing to put below numbers.
    small = any(cell.fine for cell in chain.from_iterable(table.rows))
    least = []
    for column in columns:
        if column.number:
            least.append(column.width)
        elif small:
            least.append(min(column.width, SHORT))
        else:
            least.append(column.least(SHORT))
    if sum(least) + GAP * (len(least) - 1) > width:
        columns = _columns(table, marks, stacked=True)
    for i, table_columns in enumerate(_split_columns(columns, width)):
        if i:
            say("")
        widths = _fitted(table_columns, width)
        led = _fitted(table_columns[1:], width - GAP)
        saves = WORTH * _height(table_columns[1:], led, table_columns[0]) <= _height(table_columns, widths)
        unfolded = _cuts(table_columns, widths) and not _cuts(table_columns[1:], led)
        if table.grouped or table_columns[0].number or not (saves or unfolded):
            _print_lines(_lines(table_columns, widths, table.grouped))
        else:
            _draw_led(table_columns, led, width)


def _columns(table: TextTable, marks: Marks, *, stacked: bool) -> list[_Column]:
    columns = []
    for j, (name, number) in enumerate(zip(table.heads, table.numeric, strict=True)):
        folds = stacked and number
        head = plain_text(name, "\n")
        if folds:
            head = head.replace(" = ", "=")
        cells = [_printed_cell(row[j], marks, stacked=stacked) for row in table.rows]
        lines = head.split("\n")
        for cell in cells:
            lines += cell.text.split("\n")
        hang = max((cell.hang for cell in cells), default=0)
        word = hang + max(map(cell_len, " ".join(lines).split(" ")))
        if folds:
            widest = word
        else:
            widest = max(map(cell_len, lines))
        columns.append(_Column(head, cells, number, widest, word))
    return columns


def _printed_cell(cell: TableCell, marks: Marks, *, stacked: bool) -> _Shown:
    text = cell.text if stacked else cell.full_text
    text = plain_text(text, "\n").replace(" %", f"{KEPT}%")
    style = ""
    hang = 0
    if cell.verdict:
        mark, style = marks[cell.verdict]
        text = with_symbol(text, mark)
        if mark:
            hang = len(mark) + 1
    if stacked and cell.fine:
        text += f"\n{plain_text(cell.fine)}".replace(" ", KEPT)
    return _Shown(text, style, hang)


def _split_columns(columns: list[_Column], width: int) -> Iterator[list[_Column]]:
    """Return the columns of each table that a table is cut into: all words, and numbers as they fit."""
    text_columns = [column for column in columns if not column.number]
    # What follows on numbers stays with them.
    if any(column.number for column in columns[: len(text_columns)]):
        yield columns
        return
    free = width
    for i, column in enumerate(text_columns):
        free -= GAP + (column.width if i else min(column.word, width // 3))
    table_columns: list[_Column] = []
    for column in columns[len(text_columns) :]:
        if table_columns and sum(placed.width + GAP for placed in table_columns + [column]) > free + GAP:
            yield text_columns + table_columns
            table_columns = []
        table_columns.append(column)
    yield text_columns + table_columns


def _fitted(columns: list[_Column], width: int) -> list[int]:
    """Return how wide columns are: numbers and words whole if there is room, the rest shared fairly."""
    room = width - GAP * (len(columns) - 1)
    for longest in (width, SHORT, SHORT // 2, 0):
        fitted = [column.least(longest) for column in columns]
        if sum(fitted) <= room:
            break
    free = max(0, room - sum(fitted))
    missing = sorted(
        (column.width - fitted_width, j)
        for j, (column, fitted_width) in enumerate(zip(columns, fitted, strict=True))
    )
    for i, (wanted_width, j) in enumerate(missing):
        share = min(wanted_width, free // (len(missing) - i))
        fitted[j] += share
        free -= share
    return fitted


def _cuts(columns: list[_Column], widths: list[int]) -> bool:
    """Return whether a word is longer than its column is wide."""
    return any(column.word > width for column, width in zip(columns, widths, strict=True))


def _height(columns: list[_Column], widths: list[int], above: _Column | None = None) -> int:
    """Return how many lines the rows of a table take, with what is on lines of its own above them."""
    rows = zip(*(column.cells for column in columns), strict=True)
    n_lines = 0
    for row in rows:
        n_lines += max(len(cell.folded(width)) for cell, width in zip(row, widths, strict=True))
    if above:
        n_lines += len(list(groupby(above.cells)))
    return n_lines


def _draw_led(columns: list[_Column], widths: list[int], width: int) -> None:
    """Print a table whose rows have their first cell on a line above them, once where it is the same."""
    title_column, *table_columns = columns
    lines = _lines(table_columns, widths, grouped=False)
    start = len(lines) - _height(table_columns, widths)
    if title_column.head:
        fold(title_column.head)
    _print_lines(lines[:start], GAP)
    for i, cell in enumerate(title_column.cells):
        if not i or cell != title_column.cells[i - 1]:
            unfolded = cell._replace(text=cell.text.replace("\n", ", "))
            _print_lines([Text(line, style=cell.style) for line in unfolded.folded(width)])
        end = start + _height(
            [column._replace(cells=column.cells[i : i + 1]) for column in table_columns], widths
        )
        _print_lines(lines[start:end], GAP)
        start = end


def _print_lines(lines: Iterable[Text], indent: int = 0) -> None:
    """Print lines without blanks at their ends, and those that are not empty."""
    for line in lines:
        line.rstrip()
        if line:
            out().print(Text(" " * indent) + line, soft_wrap=True)


def _lines(columns: list[_Column], widths: list[int], grouped: bool) -> list[Text]:
    """Return the lines of a table: its heads, a rule, its rows."""
    console = out()
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        side: Literal["left", "right"] = "right" if column.number else "left"
        drawn.add_column(Text(column.head), justify=side, overflow="fold", width=width)
    rows = enumerate(zip(*(column.cells for column in columns), strict=True))
    for _, same_rows in groupby(rows, lambda row: row[1][0] if grouped else row[0]):
        drawn.add_row(*_together([cells for _, cells in same_rows], widths))
    with console.capture() as capture:
        console.print(drawn)
    return [Text.from_ansi(text) for text in capture.get().splitlines()]


def _together(rows: list[tuple[_Shown, ...]], widths: list[int]) -> Iterator[Text]:
    """Return the cells of rows below one another, folded; what they have in common first is said once."""
    folded_columns = []
    for column, width in zip(zip(*rows, strict=True), widths, strict=True):
        folded_columns.append([cell.folded(width) for cell in column])
    first_column, *further_columns = folded_columns
    yield Text("\n".join(first_column[0]), style=rows[0][0].style)
    for j, cells in enumerate(further_columns, start=1):
        heights = (max(map(len, wrapped)) for wrapped in zip(*further_columns, strict=True))
        lines = []
        for cell, height in zip(cells, heights, strict=True):
            lines += cell + [""] * (height - len(cell))
        yield Text("\n".join(lines), style=rows[0][j].style)
