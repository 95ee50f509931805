"""Outcomes that are numbers, or levels in an order: groups compared by means, quantiles, ranks and errors."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from fairbench_cli.audit.compare.numbers import (
    NumberComparison,
    NumberGroup,
    NumberSlice,
    SliceEstimates,
    compare_numbers,
    estimate_slice,
)
from fairbench_cli.audit.compare.report import Interval, Place, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.findings import format_verdict
from fairbench_cli.audit.parts.part import SHORT, Part, Row, View
from fairbench_cli.audit.scan.numbers import read_numbers
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.document.model import Section, TableCell, TextTable, Verdict
from fairbench_cli.measures.number_measures import NUMBER_MEASURES

DIGITS = 4  # significant ones of numbers in tables and sentences
KEY = "numbers"


def read_estimates(scan: Scan) -> tuple[SliceEstimates, ...]:
    """Return what the rows of each slice say."""
    column = scan.source.columns[scan.roles.scores[-1]] or "score"
    estimates = []
    for numbers in read_numbers(scan):
        is_column = numbers.part.model in scan.source.columns and len(scan.roles.scores) > 1
        name = numbers.part.model if is_column else column
        estimates.append(estimate_slice(numbers, name, scan.config))
    return tuple(estimates)


def judge_numbers(estimates: Sequence[SliceEstimates], base: Report) -> tuple[NumberSlice, ...]:
    """Return the comparisons of every slice, with their verdicts."""
    return compare_numbers(estimates, base.decided_by, base.config)


def verdicts_of_numbers(slices: Sequence[NumberSlice]) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdict on each comparison that has a margin."""
    for part in slices:
        for row in part.comparisons:
            if row.verdict is not None:
                yield Place(*part.place), row.metric, row.verdict


# -- how numbers are written


def format_number(value: float) -> str:
    """Write a number of any size: whole ones as they are, others to `DIGITS` significant digits.

    >>> [format_number(value) for value in (115090.419, 1240.0, 13.8896, 0.37119, 0.0, 1234567.8, -7902.1)]
    ['115,090', '1,240', '13.89', '0.3712', '0', '1,234,568', '−7,902']
    >>> format_number(math.nan)
    '–'
    """
    if math.isnan(value):
        return formatting.DASH
    if math.isinf(value):
        return formatting.number(value)
    size = abs(value)
    n_before = 1
    if size > 0:
        n_before = math.floor(math.log10(size)) + 1
    text = f"{size:,.{max(0, DIGITS - max(n_before, 0))}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    sign = ""
    if value < 0 and text.strip("0.,"):
        sign = "−"
    return sign + text


def format_measure(name: str, value: float) -> str:
    """Write the value of a measure: shares with three decimals, others as numbers."""
    if NUMBER_MEASURES[name].unit == "outcome":
        return format_number(value)
    return formatting.number(value)


def format_limits(name: str, estimate: Interval) -> str:
    """Write the interval of a measure alone; empty where it has none."""
    if math.isnan(estimate.low) and math.isnan(estimate.high):
        return ""
    low = "open" if math.isnan(estimate.low) else format_measure(name, estimate.low)
    high = "open" if math.isnan(estimate.high) else format_measure(name, estimate.high)
    return f"[{low}, {high}]"


def _measure_cell(name: str, estimate: Interval) -> TableCell:
    return TableCell(format_measure(name, estimate.value), format_limits(name, estimate), estimate.value)


def describe_margin(part: NumberSlice) -> str:
    """Return the margin of means in its three units: "5,755, 5 % of the mean of Male or 0.19 of …"."""
    margin = part.margin
    reference = formatting.format_group(part.reference)
    clauses = []
    if not math.isnan(margin.percent):
        clauses.append(f"{margin.percent:.3g} % of the mean of {reference}")
    if math.isfinite(margin.deviations):
        clauses.append(f"{margin.deviations:.2g} of its standard deviations")
    text = format_number(margin.units)
    if clauses:
        text += f", {' or '.join(clauses)}"
    return text


def describe_kind(part: NumberSlice, report: Report) -> str:
    """Return what the column is taken for, and how to say otherwise, in a sentence."""
    name = part.column
    if report.config.outcome == "ordinal":
        return f"{name} has levels in an order: groups are compared by their ranks."
    if part.margin.is_amount:
        kind = "amounts"
    else:
        kind = "numbers"
    return f"{name} holds {kind}, compared as they are."


# -- tables


def number_group_rows(slices: Sequence[NumberSlice], _: Report) -> Iterable[Row]:
    """Yield each measure of each group."""
    for part in slices:
        for group in part.groups:
            key_cells = formatting.flatten(group)
            for name, estimate in group.values.items():
                yield {**key_cells, "metric": name, **vars(estimate)}


def number_comparison_rows(slices: Sequence[NumberSlice], _: Report) -> Iterable[Row]:
    """Yield each comparison; an interval takes three columns."""
    for part in slices:
        for row in part.comparisons:
            yield formatting.flatten(row) | {"verdict": row.verdict or ""}


# -- sections


def number_sections(slices: Sequence[NumberSlice], report: Report, view: View) -> Sequence[Section]:
    """Return a section an attribute: its groups, and how they compare."""
    return [_section(f"n{i}", part, report, view) for i, part in enumerate(slices, start=1)]


def _section(anchor: str, part: NumberSlice, report: Report, view: View) -> Section:
    verdict = verdict_of(part, report)
    place = formatting.format_place(part.model, "", report.config.slice_name)
    name = part.attribute
    if place:
        name += f" ({place})"
    title = f"{name}: {part.column} {format_verdict(verdict, clearly=fails_clearly(part))}"
    tables = (
        group_table("" if view.brief else f"{name}: groups", part, view),
        comparison_table(f"{name}: compared with {part.reference}", part, view),
    )
    return Section(title, (), tables, part.remarks, verdict, anchor=anchor)


def verdict_of(part: NumberSlice, report: Report) -> Verdict:
    """Return the verdict on the attribute of a slice."""
    return next(row.verdict for row in report.verdicts if row.place == part.place)


def fails_clearly(part: NumberSlice) -> bool:
    """Return whether a comparison is shown to be beyond its margin."""
    return any(row.shown_outside and row.deciding for row in part.comparisons)


def group_table(title: str, part: NumberSlice, view: View) -> TextTable:
    """Return the measures of each group."""
    names: dict[str, None] = {}
    for group in part.groups:
        names |= dict.fromkeys(group.values)
    shown = [name for name in names if not (view.brief and name not in SHORT_MEASURES)]

    def group_cell(group: NumberGroup) -> TableCell:
        fine = "reference" if group.is_reference else ""
        return formatting.group_cell(group.group, group.small, fine)

    columns: dict[str, Callable[[NumberGroup], TableCell]] = {
        "group": group_cell,
        "rows": lambda group: formatting.count_cell(group.rows),
    }
    for name in shown:
        columns[NUMBER_MEASURES[name].label] = (
            lambda group, name=name: _measure_cell(name, group.values[name])  # type: ignore[misc]
        )
    return view.table(title, columns, part.groups)


def comparison_table(title: str, part: NumberSlice, view: View) -> TextTable:
    """Return the comparisons: what decides first, the largest differences first."""
    rows = sorted_comparisons(part)
    columns: dict[str, Callable[[NumberComparison], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "measure": lambda row: TableCell(NUMBER_MEASURES[row.metric].label),
        "difference": lambda row: _measure_cell(row.metric, row.difference),
        "ratio": lambda row: formatting.fine_cell(row.ratio),
        "p": lambda row: formatting.both_p_cell(row.p, row.p_holm),
        "margin": lambda row: TableCell(format_measure(row.metric, row.margin), "", row.margin),
        "verdict": verdict_cell,
    }
    return view.table(title, columns, rows)


def verdict_cell(row: NumberComparison) -> TableCell:
    """Return the verdict on a comparison; why it is not decided in small print."""
    if row.verdict is None:
        return TableCell("")
    text = format_verdict(row.verdict, clearly=row.shown_outside)
    return TableCell(text, formatting.REASONS[row.reason], verdict=row.verdict)


def sorted_comparisons(part: NumberSlice) -> list[NumberComparison]:
    """Return comparisons, what decides first, and of each group together."""
    return sorted(part.comparisons, key=lambda row: (not row.deciding,))


SHORT_MEASURES = ("mean", "median", "mean-residual", "mae")
"""Of the table of groups on a console."""


def short_sections(slices: Sequence[NumberSlice], report: Report) -> Iterator[Section]:
    """Yield the numbers of each attribute as they fit a console: of models compared those of the last."""
    for part in slices:
        if report.last not in ("", part.model):
            continue
        yield Section(
            f"{part.attribute}: {part.column} by group, against {formatting.format_group(part.reference)}",
            tables=(_short_table(part),),
        )


def _short_table(part: NumberSlice) -> TextTable:
    """Return each group with its mean, and what decides on it."""
    by_group: dict[str, list[NumberComparison]] = {}
    for row in part.comparisons:
        if row.deciding:
            by_group.setdefault(row.group, []).append(row)
    names = [name for name in SHORT_MEASURES if name in part.groups[0].values]

    def first(group: NumberGroup) -> NumberComparison | None:
        rows = by_group.get(group.group, [])
        return rows[0] if rows else None

    def difference(group: NumberGroup) -> TableCell:
        row = first(group)
        if row is None:
            return TableCell("reference" if group.is_reference else formatting.DASH)
        return _measure_cell(row.metric, row.difference)

    def verdict(group: NumberGroup) -> TableCell:
        row = first(group)
        return TableCell("") if row is None else verdict_cell(row)

    columns: dict[str, Callable[[NumberGroup], TableCell]] = {
        "group": lambda group: formatting.group_cell(group.group, group.small),
        "rows": lambda group: formatting.count_cell(group.rows),
    }
    for name in names[:2]:
        columns[NUMBER_MEASURES[name].label] = lambda group, name=name: TableCell(  # type: ignore[misc]
            format_measure(name, group.values[name].value), "", group.values[name].value
        )
    columns["difference"] = difference
    columns["verdict"] = verdict
    return SHORT.table("", columns, part.groups)


NUMBERS = Part(
    KEY,
    is_requested=lambda config: config.of_numbers,
    read=read_estimates,
    judge=judge_numbers,
    tables={"numbers": number_comparison_rows, "number_groups": number_group_rows},
    sections=number_sections,
    short=lambda slices, report: tuple(short_sections(slices, report)),
    verdicts=verdicts_of_numbers,
)
