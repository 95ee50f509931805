"""An audit as Markdown: the verdict, a table of comparisons and one of groups per attribute, notes."""

import re

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import GroupRow
from fairbench_cli.audit.judge.verdict import in_words
from fairbench_cli.audit.show import words
from fairbench_cli.audit.show.by_name import by_name_passages
from fairbench_cli.audit.show.console import facts, notes
from fairbench_cli.audit.show.explained import Passage, passages


def to_markdown(report: Report) -> str:
    """Write the page; the same audit gives the same bytes."""
    lines = [f"# Audit of {_safe(words.source_name(report))}", "", f"**{_safe(words.headline(report))}**", ""]
    lines += [f"{_safe(facts(report))}.", ""]
    groups = words.lookup(report)
    keys = list(dict.fromkeys((row.model, row.decision, row.attribute) for row in report.audit.groups))
    for key in keys:
        rows = [
            row
            for row in report.audit.disparities
            if (row.model, row.decision, row.attribute) == key
            and row.measure in report.deciding
            and not row.is_reference
        ]
        where = words.place(*key[:2]) if report.several else ""
        parity = report.attributes[key]
        title = f"{_safe(key[2])}{f' ({_safe(where)})' if where else ''}: {words.VERDICTS[parity]}"
        level = f"{100 * report.audit.spec.confidence:g} % interval"
        heads = ["group", "measure", "value", "reference", "reference value", "ratio", level, "p", "verdict"]
        body = []
        for row in words.worst_first(rows):
            own, other = groups.group(row, row.group), groups.group(row, row.reference)
            body.append(
                [
                    _name(own) if own else _safe(row.group),
                    row.measure,
                    _counted(words.number(row.value), groups.fraction(row.measure, own)),
                    _safe(row.reference),
                    _counted(words.number(row.reference_value), groups.fraction(row.measure, other)),
                    words.ratio(row.ratio.value, row.tau),
                    words.interval(row.ratio),
                    words.p_value(row.p_holm),
                    in_words(row),
                ]
            )
        lines += [f"## {title}", "", *_table(heads, body, left=(0, 1, 3, 8)), ""]
        lines += [
            *_groups(
                [row for row in report.audit.groups if (row.model, row.decision, row.attribute) == key],
                groups,
            )
        ]
    if report.audit.overall:
        lines += ["## All rows", "", *_groups(list(report.audit.overall), groups)]
    lines += [
        line for passage in (*by_name_passages(report), *passages(report)) for line in _explained(passage)
    ]
    said = notes(report)
    lines += ["## Notes", "", *(f"* {_safe(note)}" for note in said), ""] if said else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _explained(passage: Passage) -> list[str]:
    lines = [f"## {_safe(passage.title)}", "", " ".join(map(_safe, passage.said)), ""]
    for sheet in passage.sheets:
        body = [[_safe(cell) for cell in row] for row in sheet.rows]
        lines += [f"{_safe(sheet.title)}:", ""]
        lines += [*_table(list(sheet.heads), body, left=tuple(range(sheet.left))), ""]
    return lines + ([*(f"* {_safe(note)}" for note in passage.notes), ""] if passage.notes else [])


def _groups(rows: list[GroupRow], groups: words.Lookup) -> list[str]:
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    several = len({(row.model, row.decision) for row in rows}) > 1
    body = [
        [
            f"{_name(row)}{f' ({_safe(words.place(row.model, row.decision))})' if several else ''}",
            str(row.rows),
            *(
                _counted(words.number(row.metrics[name].value), groups.fraction(name, row))
                for name in metrics
            ),
        ]
        for row in rows
    ]
    return [*_table(["group", "rows", *metrics], body, left=(0,)), ""]


def _name(row: GroupRow) -> str:
    return _safe(row.group) + (" \\*" if row.small else "")


def _counted(value: str, behind: str) -> str:
    return f"{value} ({behind})" if behind else value


def _table(heads: list[str], rows: list[list[str]], left: tuple[int, ...]) -> list[str]:
    rule = [":--" if j in left else "--:" for j in range(len(heads))]
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]


def _safe(text: str) -> str:
    """Escape what Markdown or HTML would read as its own."""
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
