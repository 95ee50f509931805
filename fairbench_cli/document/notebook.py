"""A document as a part of a notebook: HTML without a style sheet, so that nothing around it changes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fairbench_cli.base.files import write_text
from fairbench_cli.base.safe_text import printable
from fairbench_cli.document.model import Chart, Document, Section, TableCell, TextTable, Verdict, with_symbol

COLOURS: dict[Verdict, str] = {"pass": "#0072b2", "fail": "#c44e00", "undecided": "#767676"}

Marks = Mapping[Verdict | None, str]  # by verdict, a symbol in its colour


def notebook(document: Document) -> str:
    """Return the answer with its first chart, the facts and all tables; other charts are for pages."""
    if document.tested:
        colours = COLOURS
    else:
        colours = dict.fromkeys(COLOURS, COLOURS["undecided"])
    marks: dict[Verdict | None, str] = {}
    for verdict, mark in document.marks.items():
        marks[verdict] = ""
        if verdict:
            marks[verdict] = f'<strong style="color: {colours[verdict]}">{mark}</strong>'
    blocks = []
    if answer := document.answer:
        headline = (
            f"<strong>{escape(answer.headline.text)}</strong> {escape(answer.headline.detail)}".rstrip()
        )
        blocks.append(_lines([with_symbol(headline, marks[answer.headline.verdict])]))
        blocks.append(
            _lines(
                with_symbol(escape(statement.text), marks[statement.verdict])
                for statement in answer.statements
            )
        )
        statements = (answer.headline, *answer.statements)
        charts = [statement.chart for statement in statements if statement.chart is not None]
        if charts:
            blocks.append(figure(charts[0]))
        if answer.open:
            undecided = [with_symbol(escape(text), marks["undecided"]) for text in answer.open]
            blocks.append(_lines(["Not decided:", *undecided]))
        if answer.consequence:
            blocks.append(_small([answer.consequence.text]))
    blocks.append(_small(document.facts))
    blocks += [_section(section, marks) for section in document.sections]
    blocks.append(_list(document.notes))
    return printable(f"<div>{''.join(blocks)}</div>", keep="\n")


def figure(chart: Chart) -> str:
    """Return a chart with its title, on white: its ink is dark, and a notebook may be, too."""
    fine = ""
    if chart.caption:
        fine = f"<br><small>{escape(chart.caption)}</small>"
    title = f"<figcaption><strong>{escape(chart.title)}</strong>{fine}</figcaption>"
    look = "margin: 0; padding: 8px; max-width: 420px; background: #fff; color: #222"
    bare = re.sub(r' class="[^"]*"', "", chart.svg)  # which a notebook's own style may know
    return f'<figure style="{look}">{title}{bare}</figure>'


@dataclass(frozen=True)
class ShownChart:
    """A chart that shows itself in a notebook, and can be kept.

    Parameters
    ----------
    chart : Chart
        Its title, picture and caption.
    """

    chart: Chart

    @property
    def svg(self) -> str:
        """The picture, an SVG that needs nothing from elsewhere."""
        return self.chart.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file of SVG.

        Raises
        ------
        UserError
            When the file cannot be written.
        """
        write_text(Path(path), f"{self.chart.svg}\n")

    def _repr_html_(self) -> str:
        return printable(figure(self.chart), keep="\n")

    def __repr__(self) -> str:
        return f"<Chart: {printable(self.chart.title)}>"


def _lines(texts: Iterable[str]) -> str:
    joined = "<br>".join(texts)
    if joined:
        return f"<p>{joined}</p>"
    return ""


def _small(texts: Iterable[str]) -> str:
    return "".join(f"<p><small>{escape(text)}</small></p>" for text in texts if text)


def _list(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    if items:
        return f"<ul>{items}</ul>"
    return ""


def _section(section: Section, marks: Marks) -> str:
    title = with_symbol(f"<strong>{escape(section.title)}</strong>", marks[section.verdict])
    blocks = []
    if section.title:
        blocks.append(f"<p>{title}</p>")
    blocks += [f"<p>{escape(sentence)}</p>" for sentence in section.sentences]
    blocks += [_table(table, marks, section.title) for table in section.tables]
    blocks.append(_list(section.notes))
    blocks += [_section(subsection, marks) for subsection in section.sections]
    return "".join(blocks)


def _table(table: TextTable, marks: Marks, above: str) -> str:
    below = _small([table.below.replace("see --all", "see to_html()")])
    if not table.rows:
        return below
    sides = ["right" if number else "left" for number in table.numeric]
    heads = "".join(
        f'<th style="text-align: {side}">{escape(head)}</th>'
        for head, side in zip(table.heads, sides, strict=True)
    )
    rows = "".join(f"<tr>{''.join(_cells(row, sides, marks))}</tr>" for row in table.rows)
    title = ""
    if table.title not in ("", above):
        title = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}"


def _cells(row: Iterable[TableCell], sides: Iterable[str], marks: Marks) -> Iterator[str]:
    for cell, side in zip(row, sides, strict=True):
        fine = ""
        if cell.fine:
            fine = f" <small>{escape(cell.fine)}</small>"
        text = with_symbol(f"{escape(cell.text)}{fine}", marks[cell.verdict])
        yield f'<td style="text-align: {side}">{text}</td>'
