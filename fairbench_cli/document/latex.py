r"""The tables of a document as LaTeX, escaped and as wide as the text (needs booktabs and tabularx).

Widths are reckoned for ``\footnotesize`` in Computer Modern and a text of 345 pt, the article class's: names
wrap, and columns that do not fit stand below each other.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TypeVar

from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import make_slugs, printable
from fairbench_cli.document.model import Document, Section, Side, TableCell, TextTable

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
SPREAD = r"{{\scriptsize$\pm${}}}"
SIGNS: dict[Side, str] = {"": "", "better": r"\rlap{$^{\dagger}$}", "worse": r"\rlap{$^{\ddagger}$}"}


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
    is_stacked : bool
        Whether what numbers are ± stands below them: where side by side they would not fit below their heads.
    """

    table: TextTable
    rows: dict[str, list[Row]]
    names: list[int]
    pieces: list[list[int]]
    is_stacked: bool = False

    @classmethod
    def of_table(cls, table: TextTable) -> "_Layout":
        """Lay a table out."""
        names = [j for j, number in enumerate(table.numeric) if not number]
        numbers = [j for j, number in enumerate(table.numeric) if number]
        if table.grouped and len(names) > 1:
            head_column = names.pop(0 if _spans(table) else -1)
            rows = group_by(table.rows, lambda row: row[head_column].full_text)
        else:
            rows = group_by(table.rows, lambda _: "")
        one_piece = cls(table, rows, names, [numbers])
        room = TEXT - sum(GAP + one_piece.name_width(j) for j in names)
        # Columns below one head stay together.
        spans = _spans(table) or [[j] for j in numbers]
        is_stacked = bool(_spans(table)) and _span_width(table, numbers) > room
        widths = [_span_width(table, span, is_stacked=is_stacked) for span in spans]
        count = 1
        while count < len(spans) and max(map(sum, _split_evenly(widths, count))) > room:
            count += 1
        pieces = [list(chain.from_iterable(piece)) for piece in _split_evenly(spans, count)]
        return replace(one_piece, pieces=pieces, is_stacked=is_stacked)

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
        return LINE * (lines + self.is_stacked) * len(self.pieces)


def _spans(table: TextTable) -> list[list[int]]:
    """Return the columns of each head that is of several columns; none where no head is."""
    columns = [j for j, head in enumerate(table.heads) if "\n" in head]
    return list(group_by(columns, lambda j: table.heads[j].partition("\n")[0]).values())


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
    heads += [_head(_own_head(table, j), column_width(table, j)) for j in columns]
    lines = [f"{_row(heads)}\n\\midrule"]
    spans = [span for span in _spans(table) if span[0] in columns]
    if spans:
        lines.insert(0, _span_heads(layout, spans))
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
            if layout.is_stacked:
                numbers = [_cell(replace(row[j], spread="")) for j in columns]
                lines.append(f"{_row(texts + numbers)}[-2pt]")
                spreads = [SPREAD.format(escaped(row[j].spread)) if row[j].spread else "" for j in columns]
                lines.append(_row([""] * len(names) + spreads))
            else:
                lines.append(_row(texts + [_cell(row[j]) for j in columns]))
    body = "\n".join(lines)
    return (
        f"\\begin{{tabularx}}{{\\linewidth}}{{@{{}}{''.join(sides)}{'r' * len(columns)}@{{}}}}\n\\toprule\n"
        f"{body}\n\\bottomrule\n\\end{{tabularx}}\n"
    )


def _span_heads(layout: _Layout, spans: Sequence[Sequence[int]]) -> str:
    """Return the heads that are of several columns, each with a rule below it."""
    cells = [""] * len(layout.names)
    rules: list[str] = []
    for span in spans:
        room = _span_width(layout.table, span, is_stacked=layout.is_stacked) - GAP
        head = _head(layout.table.heads[span[0]].partition("\n")[0], room, "\\centering")
        first_column = len(cells) + len(rules) * (len(span) - 1) + 1
        cells.append(f"\\multicolumn{{{len(span)}}}{{c}}{{{head}}}")
        rules.append(f"\\cmidrule(lr){{{first_column}-{first_column + len(span) - 1}}}")
    return f"{_row(cells)}\n{''.join(rules)}"


def _row(cells: Sequence[str]) -> str:
    row = " & ".join(cells)
    # A bracket or a star after \\ would be its argument.
    if row.startswith(("[", "*")):
        row = f"{{}}{row}"
    return f"{row} \\\\"


def _own_head(table: TextTable, column: int) -> str:
    """Return the head of a column alone."""
    return table.heads[column].rpartition("\n")[2]


def _head(text: str, room: float, side: str = "\\raggedleft") -> str:
    """Return the head of columns of numbers, in several lines where it is wider than they are."""
    if width(text.replace(" = ", "=")) <= room:
        return escaped(text)
    return f"\\parbox[b]{{{room:.0f}pt}}{{{side} {breakable(text, room)}}}"


def _cell(cell: TableCell) -> str:
    """Return a number with what it is ±, in bold where it is the best, and with the sign of a difference."""
    return cell.with_signs(escaped, "$\\mathbf{{{}}}$", f"\\,{SPREAD}", SIGNS)


def column_width(table: TextTable, column: int, *, is_stacked: bool = False) -> float:
    """Reckon the width of a column of numbers in points; its head may wrap between words."""
    words_of_head = re.split(r"[ -]", _own_head(table, column).replace(" = ", "="))
    widths = [width(word) for word in words_of_head]
    for row in table.rows:
        cell = row[column]
        spread_width = 0.9 * width(f"±{cell.spread}") if cell.spread else 0.0
        cell_widths = (width(cell.unsigned_text), spread_width)
        widths.append(max(cell_widths) if is_stacked else sum(cell_widths))
    return max(widths)


def _span_width(table: TextTable, columns: Iterable[int], *, is_stacked: bool = False) -> float:
    """Reckon the width of columns of numbers with the room before each."""
    return sum(GAP + column_width(table, j, is_stacked=is_stacked) for j in columns)


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
