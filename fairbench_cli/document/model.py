"""The parts of a document: an answer in words, then sections of sentences, tables, charts and notes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, TypeVar

Row = TypeVar("Row")

Side = Literal["", "better", "worse"]
SIDES: dict[str, Side] = {"better": "better", "worse": "worse"}

# What a verdict says; None for what has none.
Verdict = Literal["pass", "fail", "undecided"]
VERDICT_VERBS: dict[Verdict, tuple[str, str]] = {
    "fail": ("fails", "fail"),
    "undecided": ("is not decided", "are not decided"),
    "pass": ("passes", "pass"),
}
"""Of one thing and of several, in sentences: the worst first."""
VERDICTS: dict[Verdict, str] = {"pass": "passes", "fail": "fails", "undecided": "not decided"}
SYMBOLS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "undecided": "?"}
_VALUE = re.compile(r"([-+]?\d[\d.]*)(\*?)( ?)(.*)", re.DOTALL)
UNTESTED: dict[Verdict, str] = {"pass": "(✓)", "fail": "(✗)", "undecided": "?"}


def with_symbol(text: str, mark: str) -> str:
    """Return a text after a symbol, if there is one.

    >>> with_symbol("fails", "✗"), with_symbol("fails", "")
    ('✗ fails', 'fails')
    """
    if mark:
        return f"{mark} {text}"
    return text


@dataclass(frozen=True)
class TableCell:
    """A cell of a table.

    Parameters
    ----------
    text, fine : str
        Its text, and what is in small print next to it or below.
    value : float or None
        The number that it shows, to sort by; None for words.
    verdict : {"pass", "fail", "undecided"} or None
        What a verdict says.
    link : str
        The anchor of the section that says more.
    spread : str
        In print and Markdown, what the number is ±.
    best : bool
        In print and Markdown, whether it is set in bold: the best of its column.
    against : {"", "better", "worse"}
        There, whether it has the sign of a difference to what the table compares with.
    muted : bool
        Of the first cell of a row: whether the row stands in the background.
    """

    text: str
    fine: str = ""
    value: float | None = None
    verdict: Verdict | None = None
    link: str = ""
    spread: str = ""
    best: bool = False
    against: Side = ""
    muted: bool = False

    @property
    def full_text(self) -> str:
        """Its text with the small print in brackets.

        >>> TableCell("0.5", "[0.4, 0.6]").full_text, TableCell("0.5", "2/4").full_text
        ('0.5 [0.4, 0.6]', '0.5 (2/4)')
        """
        if self.fine and not self.fine.startswith(("[", "(")):
            fine = f"({self.fine})"
        else:
            fine = self.fine
        if fine:
            return f"{self.text} {fine}"
        return self.text

    @property
    def unsigned_text(self) -> str:
        """Its text and small print, without the word that its sign takes the place of."""
        if self.against:
            return self.full_text.removesuffix(f" {self.against}")
        return self.full_text

    def with_signs(
        self, write: Callable[[str], str], bold: str, spread: str, signs: Mapping[Side, str]
    ) -> str:
        """Return its number in bold where it is the best, with what it is ±, and the sign of a difference.

        `bold` and `spread` are how these look, with ``{}`` for the number; `write` escapes a text.
        """
        match = _VALUE.fullmatch(self.unsigned_text)
        if not match or not (self.spread or self.best or self.against):
            return write(self.full_text)
        number, star, space, remainder = match.groups()
        text = write(number)
        if self.best:
            text = bold.format(number)
        text += write(star)
        if self.spread:
            text += spread.format(write(self.spread))
        return f"{text}{space}{write(remainder)}{signs[self.against]}"


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Parameters
    ----------
    title : str
        What stands above it; empty for the only table of a section.
    heads : tuple of str
        A head per column. What stands before a line break is of several columns, side by side.
    rows : tuple of tuple of TableCell
        The rows, of as many cells as there are heads.
    omitted : str
        What is left out, in words; empty when nothing is. It stands for a table without rows.
    words : int or None
        How many columns, from the left, hold words. None: those without a cell that has a value.
    keys : tuple of str
        What the columns are called in CSV; empty where the heads serve.
    grouped : bool
        Whether rows with the same first cell stand together, so that it need be said only once.
    key : str
        By which a page's script fills it; empty for one that stays as it is. Without rows all of the table is
        the script's.
    marks : tuple of str
        What in print and Markdown its ±, its bold numbers and its signs mean.
    led : bool
        Whether on a console the first cell of rows stands on a line above those that have the same.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    omitted: str = ""
    words: int | None = None
    keys: tuple[str, ...] = ()
    grouped: bool = False
    key: str = ""
    marks: tuple[str, ...] = ()
    led: bool = False

    @property
    def below(self) -> str:
        """What stands below it: what is left out, or that there is nothing."""
        if self.omitted or self.rows or self.key:
            return self.omitted
        return "None."

    @cached_property
    def is_signed(self) -> bool:
        """Whether in print and Markdown it has numbers with a ± or in bold, and what these mean below it."""
        return any(cell.spread or cell.best for cell in chain.from_iterable(self.rows))

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        if self.words is not None:
            return tuple(j >= self.words for j in range(len(self.heads)))
        numeric = []
        for j in range(len(self.heads)):
            numeric.append(any(row[j].value is not None for row in self.rows))
        return tuple(numeric)


def table_of(
    title: str, columns: dict[str, Callable[[Row], TableCell]], rows: Sequence[Row], omitted: str = ""
) -> TextTable:
    """Return a table of rows, given by its head how to write the cell of each column."""
    cells = []
    for row in rows:
        cells.append(tuple(write_cell(row) for write_cell in columns.values()))
    return TextTable(title, tuple(columns), tuple(cells), omitted)


def plain_table(
    title: str,
    heads: Iterable[str],
    rows: Iterable[Iterable[str | TableCell]],
    words: int | None = None,
    *,
    omitted: str = "",
    keys: Iterable[str] = (),
    grouped: bool = False,
    marks: Iterable[str] = (),
) -> TextTable:
    """Return a table of texts or cells, whose first `words` columns are words; None as in `TextTable`."""
    cells = []
    for row in rows:
        cells.append(tuple(cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row))
    return TextTable(
        title, tuple(heads), tuple(cells), omitted, words, tuple(keys), grouped, marks=tuple(marks)
    )


@dataclass(frozen=True)
class Chart:
    """A picture with its title.

    Parameters
    ----------
    svg : str
        Trusted: it stands in a page as it is. Empty where the page's script draws it.
    caption : str
        In small print after the title.
    key : str
        By which a page's script draws it; empty for a picture that stays as it is.
    folded : tuple of Chart
        What belongs to it, each behind its title.
    """

    title: str
    svg: str
    caption: str = ""
    key: str = ""
    folded: "tuple[Chart, ...]" = ()


@dataclass(frozen=True)
class Section:
    """A title, then sentences, charts, tables, notes and further sections, in this order.

    Parameters
    ----------
    title : str
        What it is about; empty for what needs none.
    sentences : tuple of str
        A paragraph each.
    verdict : {"pass", "fail", "undecided"} or None
        On what the section is about, if there is one.
    charts : tuple of Chart
        For pages alone: all that they show is in the tables, too.
    sections : tuple of Section
        What belongs to it.
    anchor : str
        What links name it by; empty where nothing links to it.
    about : tuple of (str, str)
        What it is about by the names of a page's switches, which show it or hide it: ("dataset", "adult").
    fine : str
        In small print behind the title.
    tiled : bool
        Whether a page shows its sections side by side.
    folded : bool
        Whether a page shows no more than its title and verdict until it is opened.
    """

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None
    charts: tuple[Chart, ...] = ()
    sections: "tuple[Section, ...]" = ()
    anchor: str = ""
    about: tuple[tuple[str, str], ...] = ()
    fine: str = ""
    tiled: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, with the verdict that it gives, if it gives one; pages show its chart, too.

    `detail` is what follows on the message of a headline: it stands after it, less loud.
    """

    text: str
    verdict: Verdict | None = None
    chart: Chart | None = None
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer in words: over all, its sentences (the worst first), what is open, what follows of it."""

    headline: Statement
    statements: tuple[Statement, ...] = ()
    open: tuple[str, ...] = ()
    consequence: Statement | None = None


@dataclass(frozen=True)
class Switch:
    """What the reader of a page can choose: a name, a title, and texts by value, of which one is chosen."""

    name: str
    title: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True)
class Document:
    """Everything that is said of something.

    Parameters
    ----------
    title : str
        What it is about.
    answer : Answer or None
        What it says in words.
    facts : tuple of str
        What was looked at and how, a paragraph each.
    sections : tuple of Section
        The rest, in its order.
    notes : tuple of str
        What holds for all sections, said once at the end.
    tested : bool
        Whether verdicts look at chance; else their symbols are in brackets and without a colour.
    switches : tuple of Switch
        What the reader of a page can choose.
    data : str
        JSON from which a page's script draws charts and tables with a key, by what is chosen.
    """

    title: str
    answer: Answer | None = None
    facts: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    tested: bool = True
    switches: tuple[Switch, ...] = ()
    data: str = ""

    @property
    def marks(self) -> dict[Verdict | None, str]:
        """The symbol of each verdict, and none for no verdict."""
        if self.tested:
            marks = SYMBOLS
        else:
            marks = UNTESTED
        return {None: "", "pass": marks["pass"], "fail": marks["fail"], "undecided": marks["undecided"]}
