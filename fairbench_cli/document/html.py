"""A document as one HTML page that needs nothing from elsewhere, and as that page printed: a PDF."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import write_bytes
from fairbench_cli.base.text import printable
from fairbench_cli.document.model import (
    VERDICTS,
    Answer,
    Chart,
    Document,
    Section,
    Statement,
    Switch,
    TableCell,
    TextTable,
    Verdict,
    marked,
)

WIDE = 12  # columns; a table of more has smaller letters in print
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="fairbench">
<link rel="icon" href="data:,">"""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})


def html(document: Document, *, printed: bool = False) -> str:
    """Return the page; the same document gives the same bytes.

    Parameters
    ----------
    document : Document
        What to show.
    printed : bool
        Whether to leave out what needs a screen.
    """
    page, answer, title = _Page(document, printed), document.answer, escaped(document.title)
    verdict = answer.headline.verdict if answer else None
    lines = [
        HEAD,
        f"<title>{title}{f': {VERDICTS[verdict]}' if verdict else ''}</title>",
        f"<style>\n{_file('page.css')}</style>\n</head>\n<body>",
        '<a class="skip" href="#main">Skip to the results</a>\n<header>',
        f"<h1>{title}{page.badge(verdict)}</h1>",
        *_paragraphs(document.facts, "facts"),
        *(page.answer(answer) if answer else ()),
        *(() if printed else _switches(document.switches)),
        *_contents(document.sections),
        '</header>\n<main id="main" tabindex="-1">',
        *(line for i, one in enumerate(document.sections, 1) for line in page.section(one, _anchor(one, i))),
        *_notes(document.notes),
        '</main>\n<p id="said" class="unseen" role="status"></p>',
        *(() if printed else _scripts(document.data)),
        "</body>\n</html>",
    ]
    return printable("\n".join(lines), keep="\n") + "\n"


def escaped(text: str) -> str:
    """Return a text without what HTML would read as its own, also between quotes.

    >>> escaped('a "b" <c>')
    'a &#34;b&#34; &lt;c&gt;'
    """
    return text.translate(_ESCAPES)


@dataclass(frozen=True)
class _Page:
    """What is written by how a document marks its verdicts, and for a screen or for print."""

    document: Document
    printed: bool

    def look(self, verdict: Verdict | None) -> str:
        """Return the class of a verdict, after a space; none where chance was not looked at."""
        return f" {verdict}" if verdict and self.document.tested else ""

    def badge(self, verdict: Verdict | None) -> str:
        if not verdict:
            return ""
        words = f"{self.document.marks[verdict]} {VERDICTS[verdict]}"
        return f' <span class="badge{self.look(verdict)}">{words}</span>'

    def answer(self, answer: Answer) -> Iterator[str]:
        headline, statements = answer.headline, answer.statements
        yield f'<p class="lead{self.look(headline.verdict)}">{escaped(headline.text)}</p>'
        if statements:
            yield f'<ul class="found{" charts" if statements[0].chart else ""}">'
            yield from (*map(self.statement, statements), "</ul>")
        if answer.open:
            head = f"Not decided, by group, and how many rows would decide ({len(answer.open)})"
            yield f'<details class="still"><summary>{head}</summary>\n<ul class="found">'
            yield from (self.statement(Statement(text, "undecided")) for text in answer.open)
            yield "</ul>\n</details>"
        if answer.consequence:
            yield f"<p><strong>{escaped(answer.consequence.text)}</strong></p>"

    def statement(self, one: Statement) -> str:
        first, colon, rest = escaped(one.text.replace(" %", "\u00a0%")).partition(": ")
        text = f"<strong>{first}</strong>: {rest}" if colon else first
        look, drawn = self.look(one.verdict).strip(), ""
        if one.chart:
            look, drawn = f"{look} drawn", f"{_figure(one.chart)}\n"
        sign = self.document.marks[one.verdict]
        return f'<li class="{look}">{drawn}<span class="sign">{sign}</span> <span>{text}</span></li>'

    def section(self, section: Section, anchor: str, level: int = 2) -> Iterator[str]:
        name = f' aria-labelledby="{escaped(anchor)}"' * bool(section.title and level == 2)
        if section.about:
            values = (f' data-{escaped(name)}="{escaped(value)}"' for name, value in section.about)
            name = f' class="of"{"".join(values)}'
        yield f"<section{name}>"
        if section.folded:
            yield "<details><summary>"
        if section.title:
            title = f"{escaped(section.title)}{self.badge(section.verdict)}{_fine(section.fine)}"
            yield f'<h{level} id="{escaped(anchor)}">{title}</h{level}>'
        if section.folded:
            yield "</summary>"
        yield from _paragraphs(section.sentences)
        if section.charts:
            yield from ('<div class="figures">', *map(_figure, section.charts), "</div>")
        for table in section.tables:
            yield from self.table(table, section)
        yield from _notes(section.notes)
        if section.tiled:
            yield '<div class="tiles">'
        for i, one in enumerate(section.sections, 1):
            yield from self.section(one, one.anchor or f"{anchor}-{i}", min(level + 1, 6))
        yield "</div>\n" * section.tiled + "</details>\n" * section.folded + "</section>"

    def table(self, table: TextTable, section: Section) -> Iterator[str]:
        title = table.title or section.title
        if table.rows:
            apart = section.title and table.title != section.title
            about = f": {section.title}{f', {section.fine}' if section.fine else ''}" if apart else ""
            yield f'<div class="box" role="region" aria-label="Table: {escaped(title + about)}" tabindex="0">'
            look = ' class="wide"' * (len(table.heads) > WIDE) + _key(table.key)
            unseen = ' class="unseen"' * (table.title in ("", section.title))
            yield f"<table{look}>\n<caption{unseen}>{escaped(title)}</caption>\n<thead><tr>"
            yield from map(self.head, table.heads, table.numeric)
            yield "</tr></thead>\n<tbody>"
            yield from (self.row(row, table.numeric) for row in table.rows)
            yield "</tbody>\n</table>\n</div>"
        if table.below:
            yield from _paragraphs([table.below], "fine")

    def head(self, head: str, number: bool) -> str:
        kind = ' class="n" data-kind="number"' if number else ""
        text = escaped(head) if self.printed else f'<button type="button">{escaped(head)}</button>'
        return f'<th scope="col"{kind}>{text}</th>'

    def row(self, row: Iterable[TableCell], numeric: Iterable[bool]) -> str:
        first, *others = row
        _, *numbers = numeric
        cells = "".join(map(self.cell, others, numbers))
        muted = ' class="muted"' if first.muted else ""
        return f'<tr{muted}><th scope="row">{self.inside(first)}</th>{cells}</tr>'

    def cell(self, cell: TableCell, number: bool) -> str:
        kind = f"v{self.look(cell.verdict)}" if cell.verdict else "n" * number
        look = f' class="{kind}"' if kind else ""
        if cell.value is not None:
            look += f' data-v="{"" if math.isnan(cell.value) else cell.value}"'
        return f"<td{look}>{self.inside(cell)}</td>"

    def inside(self, cell: TableCell) -> str:
        text = escaped(cell.text)
        shown = f'<a href="#{escaped(cell.link)}">{text}</a>' if cell.link else text
        return marked(shown, self.document.marks[cell.verdict]) + _fine(cell.fine)


def _anchor(section: Section, number: int) -> str:
    return section.anchor or f"s{number}"


def _fine(text: str) -> str:
    return f' <span class="fine">{escaped(text)}</span>' if text else ""


def _key(key: str) -> str:
    return f' data-key="{escaped(key)}"' if key else ""


def _figure(chart: Chart) -> str:
    caption = f"<strong>{escaped(chart.title)}</strong>{_fine(chart.caption)}"
    title = f"<figcaption>{caption}</figcaption>" if chart.title else ""
    folded = "".join(
        f"<details><summary>{escaped(one.title)}</summary>\n{one.svg}</details>\n" for one in chart.folded
    )
    return f"<figure{_key(chart.key)}>{title}\n{chart.svg}\n{folded}</figure>"


def _paragraphs(texts: Iterable[str], kind: str = "") -> Iterator[str]:
    look = f' class="{kind}"' if kind else ""
    return (f"<p{look}>{escaped(text)}</p>" for text in texts)


def _notes(notes: Iterable[str]) -> Iterator[str]:
    items = "".join(f"<li>{escaped(note)}</li>\n" for note in notes)
    yield f'<ul class="note">\n{items}</ul>\n' if items else ""


def _switches(switches: Iterable[Switch]) -> Iterator[str]:
    """Yield what the reader chooses by; nothing where there is nothing to choose."""
    lines = []
    for switch in switches:
        lines.append(f'<label>{escaped(switch.title)} <select name="{escaped(switch.name)}">')
        for value, text in switch.options:
            chosen = " selected" if value == switch.chosen else ""
            lines.append(f'<option value="{escaped(value)}"{chosen}>{escaped(text)}</option>')
        lines.append("</select></label>")
    if lines:
        yield from ('<form class="switches" aria-label="What is shown">', *lines, "</form>")


def _contents(sections: tuple[Section, ...]) -> Iterator[str]:
    """Yield links to the sections, where there are several."""
    if len(sections) > 1:
        yield '<nav aria-label="Parts of this page"><ul>'
        for i, one in enumerate(sections, 1):
            if one.title and not one.folded:
                yield f'<li><a href="#{escaped(_anchor(one, i))}">{escaped(one.title)}</a></li>'
        yield "</ul></nav>"


def _scripts(data: str) -> Iterator[str]:
    yield f"<script>\n{_file('page.js')}</script>"
    if data:
        inert = data.replace("<", "\\u003c")
        yield f'<script type="application/json" id="data">{inert}</script>'
        yield f"<script>\n{_file('redraw.js')}</script>"


@cache
def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def write_pdf(document: Document, path: Path) -> None:
    """Write the page as PDF, printed by WeasyPrint; the same document gives the same bytes.

    Raises
    ------
    UserError
        When WeasyPrint or the libraries it loads (Pango) are not there, or the file cannot be written.
    """
    try:
        weasyprint = import_module("weasyprint")  # it has no types
    except (ModuleNotFoundError, OSError) as error:
        missing = "WeasyPrint" if isinstance(error, ModuleNotFoundError) else "the library Pango"
        raise user_error(
            f"--pdf needs {missing}, which is not installed",
            "pip install 'fairbench-cli[pdf]'; on Debian also: apt install libpango-1.0-0 libpangoft2-1.0-0",
            "--pdf",
        ) from None
    write_bytes(path, weasyprint.HTML(string=html(document, printed=True)).write_pdf())
