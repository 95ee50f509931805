"""An audit as Markdown: the verdict, a table of comparisons and one of groups per attribute, notes."""

import re

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.layout import (
    ReportSection,
    TableCell,
    TextTable,
    facts,
    headline,
    sections,
    source_name,
)
from fairbench_cli.text import printable


def to_markdown(report: Report) -> str:
    """Write the page; the same audit gives the same bytes."""
    lines = [f"# Audit of {_safe(source_name(report))}", "", f"**{_safe(headline(report))}**", ""]
    lines += [f"{_safe(facts(report))}.", ""]
    lines += [line for section in sections(report) for line in _section(section)]
    return printable("\n".join(lines).rstrip("\n"), keep="\n") + "\n"


def _section(section: ReportSection) -> list[str]:
    lines = [f"## {_safe(section.title)}", ""]
    if section.sentences:
        lines += [" ".join(map(_safe, section.sentences)), ""]
    for table in section.tables:
        lines += [] if table.title == section.title else [f"{_safe(table.title)}:", ""]
        lines += [*_table(table), ""]
    return lines + ([*(f"* {_safe(note)}" for note in section.notes), ""] if section.notes else [])


def _table(table: TextTable) -> list[str]:
    rule = ["--:" if number else ":--" for number in table.numeric]
    rows = (table.heads, rule, *([_cell(cell) for cell in row] for row in table.rows))
    return [f"| {' | '.join(row)} |" for row in rows]


def _cell(cell: TableCell) -> str:
    fine = f"({cell.fine})" if cell.fine and not cell.fine.startswith("[") else cell.fine
    return _safe(f"{cell.text} {fine}".rstrip())


def _safe(text: str) -> str:
    """Escape what Markdown or HTML would read as its own."""
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
