"""A table with a row for each slice and a column for each attribute: when rates differ, and by how much."""

import math
from collections.abc import Sequence

from fairbench_cli.audit.compare.report import AttributeVerdict, Disparity, Report
from fairbench_cli.audit.parts import formatting, rates
from fairbench_cli.audit.parts.allowed import gap_of, has_margin, name_gaps
from fairbench_cli.document.model import TableCell, TextTable, plain_table
from fairbench_cli.measures.rates import RATES


def slice_grid(all_rows: Report, report: Report) -> tuple[TextTable, str]:
    """Return the table, and a note on its signs and numbers.

    The sign of a cell is the verdict on the attribute in the slice. The number is the gap of one comparison
    of the attribute, the same in all slices, so that a column can be read downwards: that which is the worst
    over all slices.

    Parameters
    ----------
    all_rows : Report
        The audit of all slices together.
    report : Report
        That of each slice.
    """
    leading = _find_leading(all_rows)
    disparities = {_grid_key(row, row.model): row for row in report.disparities}
    numbered = dict(enumerate(report.verdicts, start=1))
    number_of = {(row.model, row.decision, row.attribute): number for number, row in numbered.items()}
    rows = []
    for name in dict.fromkeys(row.model for row in report.verdicts):
        cells = [TableCell(name)]
        for verdict, comparison in leading:
            number = number_of.get((name, verdict.decision, verdict.attribute))
            if number is None:
                cells.append(TableCell(formatting.DASH))
                continue
            of_slice = disparities.get(_grid_key(comparison, name)) if comparison else None
            cells.append(_cell(numbered[number], of_slice, f"a{number}"))
        rows.append(cells)
    heads = [str(report.config.slice_name), *(verdict.attribute for verdict, _ in leading)]
    if len({verdict.decision for verdict, _ in leading}) > 1:
        heads[1:] = [f"{verdict.attribute}, {verdict.decision}" for verdict, _ in leading]
    return plain_table("", heads, rows, 1), _describe_grid([row for _, row in leading if row])


def _find_leading(all_rows: Report) -> list[tuple[AttributeVerdict, Disparity | None]]:
    """Return the verdicts over all slices, each with the comparison that is its worst, if it has one."""
    leading: list[tuple[AttributeVerdict, Disparity | None]] = []
    for verdict in all_rows.verdicts:
        rows = rates.deciding_rows(verdict, all_rows)
        minor = rates.minor_groups(rates.rows_of_attribute(verdict, all_rows)[1])
        ordered = rates.worst_first(rows, minor)
        leading.append((verdict, next(iter(ordered), None)))
    return leading


def _grid_key(row: Disparity, slice_name: str) -> tuple[str, ...]:
    return slice_name, row.decision, row.attribute, row.group, row.metric


def _cell(verdict: AttributeVerdict, row: Disparity | None, link: str) -> TableCell:
    """Return the gap under the sign of the verdict."""
    if row is None or row.is_reference or math.isnan(gap_of(row).value):
        return TableCell(formatting.DASH, verdict=verdict.verdict, link=link)
    text = formatting.ratio(row.ratio.value, row.tau, 2)
    if has_margin(row.margin):
        text = formatting.difference(row.difference.value, row.margin)
    return TableCell(text, value=gap_of(row).value, verdict=verdict.verdict, link=link)


def _describe_grid(rows: Sequence[Disparity]) -> str:
    """Return the note on signs and numbers."""
    comparisons = []
    for row in rows:
        group, reference = (formatting.format_group(name) for name in (row.group, row.reference))
        comparisons.append(f"{row.attribute}: {RATES[row.metric].label} of {group} against {reference}")
    signs = "Sign: the verdict on the attribute, over all its comparisons."
    if not comparisons:
        return signs
    return (
        f"Number: the {name_gaps(rows)} that is the worst over all slices ({'; '.join(comparisons)}). {signs}"
    )
