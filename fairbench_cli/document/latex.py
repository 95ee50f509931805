r"""The tables of a document as LaTeX, escaped and as wide as the text (needs booktabs and tabularx).

Widths are reckoned for ``\footnotesize`` in Computer Modern and a text of 345 pt, the article class's: names
wrap, and columns that do not fit stand below each other.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TypeVar

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import make_slugs, printable
from fairbench_cli.document.model import Document, Section, TableCell, TextTable

_TEX = {letter: f"\\{letter}" for letter in "{}$&%#_"} | {letter: f"${letter}$" for letter in "<>|"}
_TEX |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "β": r"$\beta$",
    "τ": r"$\tau$",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "−": "$-$",
    "–": r"\textendash{}",
    "∞": r"$\infty$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
}
Row = tuple[TableCell, ...]
_NUMBER = re.compile(r"-\d[\d.]*")
_EQUAL = re.compile(r"\$(\\beta|\\tau)\$ = (\d[\d.]*)")  # a formula, not three words
_VALUE = re.compile(r"([-+]?\d[\d.]*)(\*?)(.*)", re.DOTALL)

HEAD = "% Needs \\usepackage{booktabs,tabularx} in the preamble.\n"
TEXT = 345.0
PAGE = 530.0
LEAST_NAME = 84.0
GAP = 6.0
"""In points: width and height of the text, least width of a column of names, room between columns."""
# heights: a row, a line of the caption, one of the facts
LINE = 9.5
CAPTION = 12.0
FINE = 8.0
RULES = 36.0
NARROW = frozenset("iljtfrI.,:;'!|()[]- ")
WIDE = frozenset("mwMW±×−=+<>%&@…")
SIGNS_TO_BREAK = "=_,/:."  # after which a long name may break
SIGNS = {"": "", "better": r"\rlap{$^{\dagger}$}", "worse": r"\rlap{$^{\ddagger}$}"}


def latex(document: Document) -> str:
    """Return a float per table, with its caption, its label, and the document's facts below it.

    A table that is longer than a page is several. Of tables whose rows stand together by their first cell,
    the last column of words becomes the heads of parts.
    """
    titled_tables = list(chain.from_iterable(map(_tables, document.sections)))
    labels = make_slugs((*filter(None, [document.title]), title) for title, _ in titled_tables)
    floats = []
    for (title, table), label in zip(titled_tables, labels, strict=True):
        pages = _split_pages(_Layout.of_table(table), title, label, document.facts)
        floats += [
            _write_float(page, page_title, f"tab:{page_label}", document.facts)
            for page, page_title, page_label in pages
        ]
    return HEAD + "\n" + "\n".join(floats)


def _tables(section: Section) -> Iterator[tuple[str, TextTable]]:
    for table in section.tables:
        yield ": ".join(dict.fromkeys(filter(None, (section.title, table.title)))), table
    for within in section.sections:
        yield from _tables(within)


@dataclass(frozen=True)
class _Layout:
    """How a table is laid out.

    Parameters
    ----------
    table : TextTable
    rows : dict of str to rows
        By the head of each part; the only one of a table without parts has no head.
    names : list of int
        The columns of words that are shown as such.
    pieces : list of lists of int
        The columns of numbers; each piece has the names again.
    """

    table: TextTable
    rows: dict[str, list[Row]]
    names: list[int]
    pieces: list[list[int]]

    @classmethod
    def of_table(cls, table: TextTable) -> "_Layout":
        """Lay a table out."""
        names = [j for j, number in enumerate(table.numeric) if not number]
        numbers = [j for j, number in enumerate(table.numeric) if number]
        if table.grouped and len(names) > 1:
            head_column = names.pop()
            rows = group_by(table.rows, lambda row: row[head_column].full_text)
        else:
            rows = group_by(table.rows, lambda _: "")
        one_piece = cls(table, rows, names, [numbers])
        room = TEXT - sum(GAP + one_piece.name_width(j) for j in names)
        wide = [GAP + column_width(table, j) for j in numbers]
        count = 1
        while count < len(numbers) and max(map(sum, _split_evenly(wide, count))) > room:
            count += 1
        return replace(one_piece, pieces=_split_evenly(numbers, count))

    def name_width(self, column: int) -> float:
        """Return the least width of a column of names: what it needs, up to `LEAST_NAME`."""
        widths = [width(self.table.heads[column])]
        for rows in self.rows.values():
            widths += [width(row[column].full_text) for row in rows]
        return min(LEAST_NAME, max(widths))

    def wraps(self, column: int) -> bool:
        """Return whether a column of names wraps: the first, which takes what is left, and wide ones."""
        return column == self.names[0] or self.name_width(column) == LEAST_NAME

    def height(self, row: Row) -> float:
        """Reckon the height of a row in points, of all pieces together."""
        lines = max((math.ceil(width(row[j].full_text) / LEAST_NAME) for j in self.names), default=1)
        lines = max(lines, 1)  # an empty name, too, has a line
        return LINE * lines * len(self.pieces)


Item = TypeVar("Item")


def _split_evenly(items: list[Item], count: int) -> list[list[Item]]:
    """Return items in so many pieces, as even as they can be."""
    ends = [round(i * len(items) / count) for i in range(count + 1)]
    return [items[low:high] for low, high in pairwise(ends)]


def _split_pages(
    layout: _Layout, title: str, label: str, facts: Sequence[str]
) -> Iterator[tuple[_Layout, str, str]]:
    """Yield the parts of a table that fit a page, each with its title and label; best between its parts."""
    caption = " ".join(["Table 10:", f"{title}, part 1 of 2", *layout.table.marks])
    below = " ".join([*facts, layout.table.omitted])
    room = PAGE - CAPTION * math.ceil(1.2 * width(caption) / TEXT)
    room -= FINE * math.ceil(0.9 * width(below) / TEXT)
    room -= RULES * len(layout.pieces)
    pages: list[dict[str, list[Row]]] = [{}]
    # what the head of a part takes
    used_height = 0.0
    head_height = (LINE + 5) * len(layout.pieces)
    for head, rows in layout.rows.items():
        heights = [layout.height(row) for row in rows]
        # The first row of a part looks for room for all of it, the others for themselves.
        for k, (row, height) in enumerate(zip(rows, heights, strict=True)):
            if pages[-1] and used_height + head_height + (height if k else sum(heights)) > room:
                pages.append({})
                used_height = 0.0
            used_height += height + head_height * (head not in pages[-1])
            pages[-1].setdefault(head, []).append(row)
    for i, page in enumerate(pages, start=1):
        suffix = ""
        if len(pages) > 1:
            suffix = f", part {i} of {len(pages)}"
        yield replace(layout, rows=page), title + suffix, label + (f"-{i}" if i > 1 else "")


def _write_float(layout: _Layout, title: str, label: str, facts: tuple[str, ...]) -> str:
    caption = " ".join([f"{title}.", *layout.table.marks])
    if layout.table.omitted:
        facts = (*facts, layout.table.omitted)
    below = " ".join(facts)
    small = f"\\par\\smallskip\n\\parbox{{\\linewidth}}{{\\scriptsize\\raggedright {escaped(below)}}}\n"
    pieces = "\\par\\medskip\n".join(_write_piece(layout, columns) for columns in layout.pieces)
    return (
        f"\\begin{{table}}\n\\centering\n\\caption{{{escaped(caption)}}}\n\\label{{{label}}}\n"
        f"\\footnotesize\\setlength{{\\tabcolsep}}{{{GAP / 2:g}pt}}\n{pieces}{small if below else ''}"
        "\\end{table}\n"
    )


def _write_piece(layout: _Layout, columns: Sequence[int]) -> str:
    table = layout.table
    names = layout.names
    sides = [r">{\raggedright\arraybackslash}X" if layout.wraps(j) else "l" for j in names]
    heads = [escaped(table.heads[j]) for j in names]
    heads += [_head(table.heads[j], column_width(table, j)) for j in columns]
    lines = [f"{_row(heads)}\n\\midrule"]
    once = table.grouped and len(names) > 1  # what stands in the first column
    for i, (head, rows) in enumerate(layout.rows.items()):
        if i > 0:
            lines.append("\\addlinespace")
        if head:
            across = f"\\multicolumn{{{len(heads)}}}{{@{{}}l}}{{\\emph{{{escaped(head)}}}}}"
            lines.append(_row([across]))
        for k, row in enumerate(rows):
            texts = [breakable(row[j].full_text) for j in names]
            if once and k and row[names[0]].full_text == rows[k - 1][names[0]].full_text:
                texts[0] = ""
            lines.append(_row(texts + [_cell(row[j]) for j in columns]))
    body = "\n".join(lines)
    return (
        f"\\begin{{tabularx}}{{\\linewidth}}{{@{{}}{''.join(sides)}{'r' * len(columns)}@{{}}}}\n\\toprule\n"
        f"{body}\n\\bottomrule\n\\end{{tabularx}}\n"
    )


def _row(cells: Sequence[str]) -> str:
    row = " & ".join(cells)
    # A bracket or a star after \\ would be its argument.
    if row.startswith(("[", "*")):
        row = f"{{}}{row}"
    return f"{row} \\\\"


def _head(text: str, room: float) -> str:
    """Return the head of a column of numbers, in several lines where it is wider than they are."""
    if width(text.replace(" = ", "=")) <= room:
        return escaped(text)
    return f"\\parbox[b]{{{room:.0f}pt}}{{\\raggedleft {breakable(text, room)}}}"


def _cell(cell: TableCell) -> str:
    """Return a number with what it is ±, in bold where it is the best, and with the sign of a difference."""
    match = _VALUE.fullmatch(_without_sign(cell))
    if not match or not (cell.spread or cell.best or cell.against):
        return escaped(cell.full_text)
    number, star, remainder = match.groups()
    if cell.best:
        bold_number = f"$\\mathbf{{{number}}}$"
    else:
        bold_number = escaped(number)
    spread = ""
    if cell.spread:
        spread = f"\\,{{\\scriptsize$\\pm${escaped(cell.spread)}}}"
    return f"{bold_number}{star}{spread}{escaped(remainder)}{SIGNS[cell.against]}"


def _without_sign(cell: TableCell) -> str:
    """Return the text of a cell, without the word that its sign takes the place of."""
    if cell.against:
        return cell.full_text.removesuffix(f" {cell.against}")
    return cell.full_text


def column_width(table: TextTable, column: int) -> float:
    """Reckon the width of a column of numbers in points; its head may wrap between words."""
    words_of_head = re.split(r"[ -]", table.heads[column].replace(" = ", "="))
    widths = [width(word) for word in words_of_head]
    for row in table.rows:
        cell = row[column]
        widths.append(width(_without_sign(cell)) + 0.9 * width(cell.spread))
    return max(widths)


def width(text: str) -> float:
    """Reckon the width of a text in points, as small as tables are; rather too wide than too narrow.

    >>> width("0.125") < width("preferential-sampling") < 100
    True
    """
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in NARROW:
        return 2.9
    if letter in WIDE:
        return 6.9
    if letter.isupper():
        return 5.9
    return 4.5


def breakable(text: str, room: float = LEAST_NAME) -> str:
    r"""Escape a name that may have to wrap: also within words, after signs or where nothing else helps.

    >>> print(breakable("zafar-dm (constraint=fpr)"), breakable("a_very_long_name_of_a_technique"))
    zafar-dm (constraint=fpr) a\_very\_long\_name\_\allowbreak{}of\_a\_technique
    """
    words_with_ends = re.split(r"(?<=[ -])", text.replace("\n", " "))
    if max(map(width, words_with_ends)) <= room:
        return escaped(text)
    pieces = []
    for word in words_with_ends:
        remaining = word
        while width(remaining) > room:
            fits = max(i for i in range(1, len(remaining) + 1) if i == 1 or width(remaining[:i]) <= room)
            end = max((i for i in range(1, fits + 1) if remaining[i - 1] in SIGNS_TO_BREAK), default=fits)
            pieces += [escaped(remaining[:end]), r"\allowbreak{}"]
            remaining = remaining[end:]
        pieces.append(escaped(remaining))
    return re.sub("-(?=-)", "-{}", "".join(pieces))


def escaped(text: str) -> str:
    r"""Return a text without what LaTeX would read as its own.

    A minus sign before a number is a minus; a lone "-" stays, as papers print it for "infeasible".

    >>> print(escaped('-0.125 of "a_b" & 50 %, β = 0.5'))
    $-0.125$ of ``a\_b'' \& 50 \%, $\beta=0.5$
    """
    number = _NUMBER.match(text)
    if number:
        return f"${number[0]}${escaped(text[number.end() :])}"
    letters = "".join(_TEX.get(letter, letter) for letter in printable(text.replace("\n", " ")))
    quoted = re.sub(r'"([^"]*)"', r"``\1''", letters).replace('"', "''")
    return re.sub("-(?=-)", "-{}", _EQUAL.sub(r"$\1=\2$", quoted))
