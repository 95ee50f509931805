"""The metrics asked for by name, of each group against its reference."""

import math
from collections.abc import Callable

from fairbench_cli.audit.judge.report import Report, RequestedRow
from fairbench_cli.audit.judge.uncertainty import ENOUGH
from fairbench_cli.audit.show.format import DASH, VERDICTS
from fairbench_cli.audit.show.layout import group_cell, interval_cell, p_cell, place
from fairbench_cli.document.model import Section, TableCell, TextTable, Verdict, table_of
from fairbench_cli.measures.registry import find


def requested_sections(report: Report, shown: int | None = None) -> tuple[Section, ...]:
    """Return a section of the metrics asked for by name, if any: a table for each attribute."""
    slices: dict[tuple[str, str, str, str], list[RequestedRow]] = {}
    for row in report.requested:
        slices.setdefault((row.model, row.decision, row.attribute, row.reference), []).append(row)
    if not slices:
        return ()
    sentences = (
        "The group is taken for the deprived, its reference for the favoured and being selected for the "
        "favourable outcome: where that hurts, read them the other way.",
        f"Brackets hold {100 * report.config.confidence:g} % bootstrap intervals. Tests have none, and a "
        f"metric has none when one of the counts behind it is below {ENOUGH}. These verdicts count with "
        "--fail-on alone.",
    )
    tables = tuple(_requested_table(key, rows, report, shown) for key, rows in slices.items())
    return (Section("Metrics asked for by name", sentences, tables),)


def _requested_table(
    key: tuple[str, str, str, str], rows: list[RequestedRow], report: Report, shown: int | None
) -> TextTable:
    model, decision, attribute, reference = key
    where = f" ({place(model, decision)})" if report.several else ""
    small = {row.group for row in report.groups if row.small and row.attribute == attribute}
    lines = [(row, name) for row in rows for name in row.values]

    def value(row: RequestedRow, name: str) -> TableCell:
        of = row.values[name]
        return p_cell(of.value) if find(name).p_value else interval_cell(of)

    def ideal(name: str) -> TableCell:
        best = find(name).ideal
        return TableCell("" if best is None else f"{best:g}", "", math.nan if best is None else best)

    def verdict(found: Verdict | None) -> TableCell:
        return TableCell(VERDICTS[found] if found else DASH, verdict=found)

    columns: dict[str, Callable[[tuple[RequestedRow, str]], TableCell]] = {
        "group": lambda line: group_cell(line[0].group, line[0].group in small),
        "metric": lambda line: TableCell(line[1]),
        "value": lambda line: value(*line),
        "at best": lambda line: ideal(line[1]),
        "verdict": lambda line: verdict(line[0].verdicts.get(line[1])),
    }
    more = len(lines) - len(lines[:shown])
    left_out = f"and {more} more: see --all" if more else ""
    return table_of(f"{attribute}, against {reference}{where}", columns, lines[:shown], left_out)
