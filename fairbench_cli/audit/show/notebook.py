"""An audit as a part of a notebook: HTML without a style sheet, so that nothing around it changes."""

from collections.abc import Mapping
from html import escape

from fairbench_cli.audit.config import Rule
from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.format import symbols
from fairbench_cli.audit.show.layout import facts
from fairbench_cli.audit.show.sections import sections
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.base.text import printable
from fairbench_cli.document.model import Section, TableCell, TextTable, Verdict

COLOURS: dict[Verdict, str] = {"pass": "#0072b2", "fail": "#c44e00", "undecided": "#767676"}
UNTESTED = dict.fromkeys(COLOURS, "#767676")  # where chance was not looked at

Marks = Mapping[Verdict | None, str]  # by verdict, a symbol in its colour


def to_notebook(report: Report) -> str:
    """Write the answer in words and the worst comparisons of every attribute; `to_html` has everything."""
    answer, marks = headline(report), _marks(report.config.rule)
    said, still = answer.lines()
    parts = [f"<p>{marks[answer.verdict]} <strong>{escape(answer.sentence)}</strong></p>"]
    parts += [f"<p>{'<br>'.join(f'{marks[verdict]} {escape(text)}' for verdict, text in said)}</p>"]
    rest = [f"{marks['undecided']} {escape(text)}" for text in still]
    parts += [f"<p>{'<br>'.join(('Not decided:', *rest))}</p>"] if rest else []
    small = " ".join(filter(None, (gate_words(report), f"{facts(report)}.")))
    parts += [f"<p><small>{escape(small)}</small></p>"]
    parts += [_section(section, marks) for section in sections(report, everything=False, brief=True)]
    return printable(f"<div>{''.join(parts)}</div>", keep="\n")


def _marks(rule: Rule) -> Marks:
    colours = UNTESTED if rule == "point" else COLOURS
    return {
        verdict: f'<strong style="color: {colours[verdict]}">{mark}</strong>' if verdict else ""
        for verdict, mark in symbols(rule).items()
    }


def _section(section: Section, marks: Marks) -> str:
    mark = f"{marks[section.verdict]} " if section.verdict else ""
    parts = [f"<p>{mark}<strong>{escape(section.title)}</strong></p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in section.sentences]
    parts += [_table(table, marks, section.title) for table in section.tables]
    if section.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in section.notes)}</ul>")
    return "".join(parts)


def _table(table: TextTable, marks: Marks, above: str) -> str:
    numeric = table.numeric
    heads = "".join(
        f'<th style="text-align: {"right" if number else "left"}">{escape(head)}</th>'
        for head, number in zip(table.heads, numeric, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell, number, marks) for cell, number in zip(row, numeric, strict=True))}</tr>"
        for row in table.rows
    )
    title = f"<caption>{escape(table.title)}</caption>" if table.title not in ("", above) else ""
    more = table.more.replace("see --all", "see to_html()")
    more = f"<p><small>{escape(more)}</small></p>" if more else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(cell: TableCell, number: bool, marks: Marks) -> str:
    mark = f"{marks[cell.verdict]} " if cell.verdict else ""
    fine = f" <small>{escape(cell.fine)}</small>" if cell.fine else ""
    return f'<td style="text-align: {"right" if number else "left"}">{mark}{escape(cell.text)}{fine}</td>'
