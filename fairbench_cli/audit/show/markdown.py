"""An audit as Markdown: the verdict, a table of comparisons and one of groups per attribute, notes."""

import re
from collections.abc import Mapping

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.format import symbols
from fairbench_cli.audit.show.layout import facts, source_name
from fairbench_cli.audit.show.sections import sections
from fairbench_cli.audit.show.words import gate_words, headline
from fairbench_cli.base.text import printable
from fairbench_cli.document.model import Section, TableCell, TextTable, Verdict

Marks = Mapping[Verdict | None, str]


def to_markdown(report: Report) -> str:
    """Write the page; the same audit gives the same bytes."""
    marks, answer = symbols(report.config.rule), headline(report)
    lines = [f"# Audit of {_safe(source_name(report))}", ""]
    lines += [f"**{marks[answer.verdict]} {_safe(answer.sentence)}**".replace("** ", "**"), ""]
    said, still = answer.lines(everything=True)
    lines += [f"* {marks[verdict]} {_safe(text)}" for verdict, text in said]
    lines += ["", "Not decided:", "", *(f"* {_safe(text)}" for text in still)] if still else []
    gate = gate_words(report)
    lines += ["", *([_safe(gate), ""] if gate else []), f"{_safe(facts(report))}.", ""]
    lines += [line for section in sections(report) for line in _section(section, marks)]
    return printable("\n".join(lines).rstrip("\n"), keep="\n") + "\n"


def _section(section: Section, marks: Marks) -> list[str]:
    lines = [f"## {_safe(section.title)}", ""]
    if section.sentences:
        lines += [" ".join(map(_safe, section.sentences)), ""]
    for table in section.tables:
        lines += [] if table.title == section.title else [f"{_safe(table.title)}:", ""]
        lines += [*_table(table, marks), ""]
    return lines + ([*(f"* {_safe(note)}" for note in section.notes), ""] if section.notes else [])


def _table(table: TextTable, marks: Marks) -> list[str]:
    rule = ["--:" if number else ":--" for number in table.numeric]
    rows = (table.heads, rule, *([_cell(cell, marks) for cell in row] for row in table.rows))
    return [f"| {' | '.join(row)} |" for row in rows]


def _cell(cell: TableCell, marks: Marks) -> str:
    fine = f"({cell.fine})" if cell.fine and not cell.fine.startswith("[") else cell.fine
    mark = f"{marks[cell.verdict]} " if cell.verdict else ""
    return mark + _safe(f"{cell.text} {fine}".rstrip())


def _safe(text: str) -> str:
    """Escape what Markdown or HTML would read as its own."""
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
