"""A document as Markdown in which no text is taken for markup."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from fairbench_cli.base.safe_text import printable
from fairbench_cli.document.model import (
    Answer,
    Document,
    Section,
    Side,
    TableCell,
    TextTable,
    Verdict,
    with_symbol,
)

Marks = dict[Verdict | None, str]

SIGNS: dict[Side, str] = {"": "", "better": "†", "worse": "‡"}
_MARKUP = re.compile(r"[\\`*\[\]|#~]|(?<![^\W_])_|_(?![^\W_])")  # "_" between letters is none
_FIRST = re.compile(r"^(\d*)([-+=.)])")  # what begins a list or underlines a title


def markdown(document: Document) -> str:
    """Return a page; the same document gives the same bytes."""
    blocks = []
    if document.title:
        blocks.append(f"# {_escaped(document.title)}")
    if document.answer:
        blocks += _answer(document.answer, document.marks)
    blocks += map(_paragraph, document.facts)
    for section in document.sections:
        blocks += _section(section, document.marks)
    blocks.append(_list(document.notes))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _answer(answer: Answer, marks: Marks) -> Iterator[str]:
    message = _escaped(with_symbol(answer.headline.text, marks[answer.headline.verdict]))
    yield f"**{message}** {_escaped(answer.headline.detail)}".rstrip()
    yield _list(with_symbol(statement.text, marks[statement.verdict]) for statement in answer.statements)
    if answer.open:
        yield "Not decided:"
        yield _list(answer.open)
    if answer.consequence:
        yield _paragraph(answer.consequence.text)


def _section(section: Section, marks: Marks, head: str = "##") -> Iterator[str]:
    if section.title:
        yield f"{head} {_escaped(with_symbol(section.title, marks[section.verdict]))}"
    yield from map(_paragraph, section.sentences)
    for table in section.tables:
        if table.title not in ("", section.title):
            yield f"{_paragraph(table.title)}:"
        if table.rows:
            yield _table(table, marks)
        if table.is_signed:
            yield _paragraph(" ".join(table.marks))
        yield _paragraph(table.below)
    yield _list(section.notes)
    for within in section.sections:
        yield from _section(within, marks, f"{head}#"[:6])


def _table(table: TextTable, marks: Marks) -> str:
    """Return a table whose columns are aligned in the source too."""
    rows = [[_escaped(head) for head in table.heads]]
    for cells in table.rows:
        if table.is_signed:
            rows.append([cell.with_signs(_escaped, "**{}**", " ±{}", SIGNS) for cell in cells])
        else:
            rows.append([_cell(cell, marks) for cell in cells])
    widths = [max(2, *map(_width, column)) for column in zip(*rows, strict=True)]
    rule = []
    for width, is_number in zip(widths, table.numeric, strict=True):
        rule.append("-" * (width - 1) + ":" if is_number else "-" * width)
    rows.insert(1, rule)
    lines = [f"| {' | '.join(map(_pad, row, widths, table.numeric))} |" for row in rows]
    return "\n".join(lines)


def _pad(cell: str, width: int, is_number: bool) -> str:
    space = " " * (width - _width(cell))
    if is_number:
        return space + cell
    return cell + space


def _width(text: str) -> int:
    """Count characters that take a place of their own: marks such as the bar of ḡ take none."""
    return sum(not unicodedata.combining(letter) for letter in text)


def _cell(cell: TableCell, marks: Marks) -> str:
    return _escaped(with_symbol(cell.full_text, marks[cell.verdict]))


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"* {_paragraph(item)}" for item in items)


def _paragraph(text: str) -> str:
    """Return a text that begins a line."""
    return _FIRST.sub(r"\1\\\2", _escaped(text))


def _escaped(text: str) -> str:
    r"""Return a text in a line, without what Markdown or HTML would read as its own.

    >>> print(_escaped("a|b* <b> snake_case _c_"))
    a\|b\* &lt;b&gt; snake_case \_c\_
    """
    escaped = _MARKUP.sub(r"\\\g<0>", printable(text.replace("\n", " ")).strip())
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
