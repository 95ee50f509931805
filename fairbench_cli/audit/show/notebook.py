"""An audit as a part of a notebook: HTML without a style sheet, so that nothing around it changes."""

from html import escape

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.format import SYMBOLS
from fairbench_cli.audit.show.layout import ReportSection, TableCell, TextTable, facts, headline, sections
from fairbench_cli.text import printable

COLOURS = {"pass": "#0072b2", "fail": "#c44e00", "undecided": "#767676"}


def to_notebook(report: Report) -> str:
    """Write headline, facts and the worst comparisons of every attribute; `to_html` has everything."""
    sentence = headline(report)
    parts = [
        f'<p><strong style="color: {COLOURS[report.verdict]}">{SYMBOLS[report.verdict]} '
        f"{escape(sentence[0].upper() + sentence[1:])}</strong><br><small>{escape(facts(report))}</small></p>"
    ]
    parts += [_section(section) for section in sections(report, everything=False, brief=True)]
    return printable(f"<div>{''.join(parts)}</div>", keep="\n")


def _section(section: ReportSection) -> str:
    symbol = f"{SYMBOLS[section.verdict]} " if section.verdict else ""
    parts = [f"<p><strong>{symbol}{escape(section.title)}</strong></p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in section.sentences]
    parts += [_table(table) for table in section.tables]
    if section.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in section.notes)}</ul>")
    return "".join(parts)


def _table(table: TextTable) -> str:
    numeric = table.numeric
    heads = "".join(
        f'<th style="text-align: {"right" if number else "left"}">{escape(head)}</th>'
        for head, number in zip(table.heads, numeric, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell, number) for cell, number in zip(row, numeric, strict=True))}</tr>"
        for row in table.rows
    )
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    more = table.more.replace("see --all", "see to_html()")
    more = f"<p><small>{escape(more)}</small></p>" if more else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(cell: TableCell, number: bool) -> str:
    style = f"text-align: {'right' if number else 'left'}"
    text = escape(cell.text)
    if cell.verdict:
        style += f"; color: {COLOURS[cell.verdict]}"
        text = f"{SYMBOLS[cell.verdict]} {text}"
    fine = f" <small>{escape(cell.fine)}</small>" if cell.fine else ""
    return f'<td style="{style}">{text}{fine}</td>'
