"""Outcomes that are numbers, or levels in an order: groups compared by means, quantiles, ranks and errors."""

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace

from fairbench_cli.audit.compare.number_remarks import describe_small
from fairbench_cli.audit.compare.numbers import (
    NumberGroup,
    NumberSlice,
    SliceEstimates,
    compare_numbers,
    estimate_slice,
)
from fairbench_cli.audit.compare.references import common_references, without_excluded_groups
from fairbench_cli.audit.compare.report import (
    UNDEFINED,
    Interval,
    NumberComparison,
    NumberLook,
    Place,
    Report,
)
from fairbench_cli.audit.compare.slice_order import are_strata
from fairbench_cli.audit.compare.streams import are_stream
from fairbench_cli.audit.compare.verdict import combine_verdicts
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.findings import format_verdict
from fairbench_cli.audit.parts.part import BY_ESTIMATE, SHORT, Part, Row, View
from fairbench_cli.audit.parts.rates import bracketed_place, mark_verdict
from fairbench_cli.audit.scan.numbers import read_numbers
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount
from fairbench_cli.document.distributions import Distributions, GroupDistribution, plot_distributions
from fairbench_cli.document.model import Chart, Section, TableCell, TextTable, Verdict
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE

KEY = "numbers"
SEVERITY: dict[Verdict, int] = {"fail": 0, "undecided": 1, "pass": 2}
SHARE_DECIMALS = 3  # of shares, and of what has no unit
POINTS = " points"
LEAST_DEVIATIONS = 0.005  # of a margin: fewer would be written as none
BETTER = {
    "higher": "; more is better",
    "lower": "; less is better",
    None: "; --better higher or --better lower says who is worse off",
}


def read_estimates(scan: Scan) -> tuple[SliceEstimates, ...]:
    """Return the estimates of each slice."""
    config = compared_by(scan)
    of_strata = are_strata(scan.tally.slices, config)
    estimates = []
    for numbers in read_numbers(scan):
        column = column_name(scan)
        if len(scan.roles.scores) > 1 and numbers.part.model in scan.source.columns:
            column = numbers.part.model
        n_slices = len(scan.tally.slices)
        person = scan.tally.person
        estimates.append(estimate_slice(numbers, column, config, n_slices, person, of_strata=of_strata))
    return tuple(estimates)


def column_name(scan: Scan) -> str:
    """Return the name of the numbers."""
    return scan.source.columns[scan.roles.scores[-1]] or "score"


def compared_by(scan: Scan) -> AuditConfig:
    """Return the configuration with one reference of all models or slices, where they are compared."""
    if not scan.tally.last:
        return scan.config
    slices = [without_excluded_groups(group_counts, scan.config) for group_counts in scan.tally.slices]
    return common_references(slices, scan.config)


def judge_numbers(estimates: Sequence[SliceEstimates], base: Report) -> tuple[NumberSlice, ...]:
    """Return the comparisons of every slice, with their verdicts."""
    slices = compare_numbers(estimates, base.decided_by, base.config)
    if not are_stream(base.slices, base.config):
        return slices
    return tuple(replace(numbers, is_last_look=numbers.model == base.last) for numbers in slices)


def label_measure(name: str, numbers: NumberSlice) -> str:
    """Return the name of a measure for people: "median", "share above 50,000"."""
    label = NUMBER_MEASURES[name].label
    if name == SHARE_ABOVE and numbers.above is not None:
        label += f" {numbers.above:,.15g}"
    return label


def verdicts_of_numbers(slices: Sequence[NumberSlice]) -> Iterator[tuple[Place, str, Verdict]]:
    """Yield the verdict on each comparison that has a margin."""
    for numbers in slices:
        if numbers.is_last_look:
            continue
        for row in numbers.comparisons:
            if row.verdict is not None:
                yield Place(*numbers.place), row.metric, row.verdict


# -- how numbers are written


def format_measure(name: str, value: float, digits: int) -> str:
    """Write the value of a measure: of the outcome with so many decimals, of shares and others with three."""
    if NUMBER_MEASURES[name].unit == "outcome":
        return format_amount(value, digits)
    return format_amount(value, SHARE_DECIMALS)


def format_interval(name: str, estimate: Interval, digits: int) -> str:
    """Write the interval of a measure alone; empty where it has none."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    low = "open" if math.isinf(estimate.low) else format_measure(name, estimate.low, digits)
    high = "open" if math.isinf(estimate.high) else format_measure(name, estimate.high, digits)
    return f"[{low}, {high}]"


def measure_cell(name: str, estimate: Interval, digits: int) -> TableCell:
    """Return a measure with its interval in small print."""
    text = format_measure(name, estimate.value, digits)
    return TableCell(text, format_interval(name, estimate, digits), estimate.value)


def format_size(name: str, value: float, numbers: NumberSlice) -> str:
    """Write a difference of a measure, or its margin: of probabilities and shares above a value in points."""
    is_probability = numbers.margin.kind == "probability" and NUMBER_MEASURES[name].unit == "outcome"
    if is_probability or name == SHARE_ABOVE:
        return f"{format_amount(100 * value, 1)}{POINTS}"
    return format_measure(name, value, numbers.digits)


def describe_allowed(numbers: NumberSlice, report: Report) -> str:
    """Return the margins of what decides in a sentence, each in the units in which it can be said."""
    margins = {row.metric: row.margin for row in numbers.comparisons if row.deciding}
    clauses = []
    for name in filter(margins.__contains__, report.decided_by):
        text = format_size(name, margins[name], numbers)
        is_percent = numbers.stated[name].unit == "percent"
        reference = formatting.format_group(numbers.reference)
        if is_percent:
            text = f"{numbers.stated[name]} of that of {reference} ({text})"
        label = f"{NUMBER_MEASURES[name].label} "
        if name == "mean":
            text = describe_margin(numbers)
        if report.of_strata and is_percent:
            text = f"{numbers.stated[name]} of the {label}of {reference} in each {report.config.slice_name}"
        if len(margins) == 1 and name == "mean":
            label = ""
        clauses.append(f"{label}{text}")
    by_default = ""
    if not report.config.margin:
        by_default = ", by default"
    return f"Allowed{by_default}: {'; '.join(clauses)}."


def describe_margin(numbers: NumberSlice) -> str:
    """Return the margin of means in its three units: "5,755 (5 % of the mean of Male, 0.19 of …)"."""
    margin = numbers.margin
    reference = formatting.format_group(numbers.reference)
    clauses = []
    if not math.isnan(margin.percent):
        clauses.append(f"{margin.percent:.3g} % of the mean of {reference}")
    if math.isfinite(margin.deviations) and not margin.deviations < LEAST_DEVIATIONS:
        deviations = f"{format_amount(margin.deviations, 2)} standard deviations"
        clauses.append(deviations if clauses else f"{deviations} of {reference}")
    text = format_size("mean", margin.units, numbers)
    if clauses and margin.kind != "probability":
        text += f" ({', '.join(clauses)})"
    return text


def describe_kind(numbers: NumberSlice, report: Report) -> str:
    """Return a sentence on what the column is taken for, and with labels on which sign an error has."""
    name = numbers.column
    if report.config.outcome == "ordinal":
        return f"{name} is read as levels in an order: groups are compared by their ranks."
    kind = numbers.margin.kind
    if kind == "probability":
        return f"{name} is read as the chance of a label of 1; a mean error above 0 overestimates it."
    article = {"amount": "an"}.get(kind, "a")
    text = f"{name} is read as {article} {kind}, and compared as it is{BETTER[numbers.better]}."
    if any(measure in numbers.groups[0].values for measure in ERRORS):
        text += " A mean error above 0 overestimates."
    return text


def describe_choice(numbers: NumberSlice) -> Iterator[str]:
    """Yield why the reference is one where no group is the largest beyond chance, and how to choose."""
    reference = formatting.format_group(numbers.reference)
    compared_groups = sorted((group.rows, group.group) for group in numbers.groups if not group.is_reference)
    if numbers.chosen_by == "size" or not compared_groups:
        return
    other = formatting.format_group(compared_groups[-1][1])
    clause = f"{other} is about as large as {reference}, the reference"
    if numbers.chosen_by == "better":
        clause = f"{reference} is the reference, better off and about as many"
    choice = shlex.quote(f"{numbers.attribute}={compared_groups[-1][1]}")
    yield f"{clause}: --ref {choice} compares the other way."


# -- tables


def number_group_rows(slices: Sequence[NumberSlice], _: Report) -> Iterable[Row]:
    """Yield each measure of each group."""
    for numbers in slices:
        for group in numbers.groups:
            key_cells = formatting.flatten(group)
            for name, estimate in group.values.items():
                yield {**key_cells, "metric": name, **vars(estimate)}


def number_comparison_rows(slices: Sequence[NumberSlice], _: Report) -> Iterable[Row]:
    """Yield each comparison; an interval takes three columns."""
    for numbers in slices:
        has_looks = any(row.look for row in numbers.comparisons)
        for row in numbers.comparisons:
            cells = formatting.flatten(row, "look") | {"verdict": row.verdict or ""}
            if has_looks:
                looks = vars(row.look) if row.look else {}
                cells |= {field.name: looks.get(field.name, "") for field in fields(NumberLook)}
            yield cells


# -- pictures


def plot_numbers(numbers: NumberSlice, report: Report) -> Chart:
    """Return the picture of a slice: how its numbers are spread by group, and how far apart they are."""
    shapes = numbers.shapes
    decisive = decisive_rows(numbers)
    reference_means = {row.group: row.reference_value for row in numbers.comparisons if row.metric == "mean"}
    groups = []
    for g, group in enumerate(numbers.groups):
        row = decisive.get(group.group)
        mean = group.values.get("mean", UNDEFINED)
        look, symbol = mark_verdict(row.verdict if row else None, report)
        groups.append(
            GroupDistribution(
                group.group,
                group.is_reference,
                group.rows,
                mean.value,
                mean.low,
                mean.high,
                tuple(shapes.quantiles[g].tolist()),
                tuple(shapes.shares[g].tolist()),
                difference_text=_difference_text(row, numbers.digits),
                look=look,
                symbol=symbol,
                reference_mean=reference_means.get(group.group, math.nan),
            )
        )
    margin = numbers.margin.units
    if "mean" not in report.decided_by:
        margin = math.nan
    level_names: tuple[str, ...] = ()
    if report.config.outcome == "ordinal":
        level_names = report.config.order
    distributions = Distributions(
        tuple(groups), shapes.edges, numbers.column, shapes.n_below, shapes.n_above, margin, level_names
    )
    title = f"{numbers.attribute}{bracketed_place(numbers, report)}: {numbers.column} by group"
    return Chart(title, plot_distributions(title, distributions))


def decisive_rows(numbers: NumberSlice) -> dict[str, NumberComparison]:
    """Return the comparison of each group that decides, by the first measure that does."""
    decisive: dict[str, NumberComparison] = {}
    for row in numbers.comparisons:
        if row.deciding and row.verdict is not None:
            decisive.setdefault(row.group, row)
    return decisive


def worst_first_numbers(comparisons: Iterable[NumberComparison]) -> list[NumberComparison]:
    """Return the comparisons that decide: failures first, the largest differences for their margins first."""
    rows = [row for row in comparisons if row.deciding and row.verdict is not None]
    return sorted(rows, key=lambda row: (SEVERITY[row.verdict or "pass"], -count_margins(row)))


def count_margins(row: NumberComparison) -> float:
    """Return how many margins the difference is at least, by its limit nearest to none."""
    none = 0.5 if row.metric == "more" else 0.0
    nearest = formatting.nearest_to(none, row.difference)
    if math.isnan(nearest) or not row.margin > 0:
        return 0.0
    return abs(nearest - none) / row.margin


def _worst_rows(numbers: NumberSlice) -> dict[str, NumberComparison]:
    """Return the comparison of each group that a headline is of."""
    by_group = group_by(worst_first_numbers(numbers.comparisons), lambda row: row.group)
    return {group: rows[0] for group, rows in by_group.items()}


def _difference_text(row: NumberComparison | None, digits: int) -> str:
    if row is None:
        return ""
    value = format_measure(row.metric, row.difference.value, digits)
    limits = format_interval(row.metric, row.difference, digits).strip("[]").replace(", ", " to ")
    return f"{value} ({limits})" if limits else value


# -- sections


def number_sections(slices: Sequence[NumberSlice], report: Report, view: View) -> Sequence[Section]:
    """Return a section an attribute: its groups, and how they compare."""
    return [_section(f"n{i}", numbers, report, view) for i, numbers in enumerate(slices, start=1)]


def _section(anchor: str, numbers: NumberSlice, report: Report, view: View) -> Section:
    verdict = verdict_of(numbers, report)
    model_name = formatting.format_place(numbers.model, "", report.config.slice_name)
    name = numbers.attribute
    if model_name:
        name += f" ({model_name})"
    title = f"{name}: {numbers.column}"
    tables = (
        group_table("" if view.brief else f"{name}: groups", numbers, view),
        comparison_table(f"{name}: compared with {numbers.reference}", numbers, view),
    )
    charts = () if view.brief else (plot_numbers(numbers, report),)
    small = describe_small((group.group, group.rows) for group in numbers.groups)
    notes = numbers.remarks + tuple(filter(None, [small]))
    return Section(title, (), tables, notes, verdict, charts, anchor=anchor)


def verdict_of(numbers: NumberSlice, report: Report) -> Verdict:
    """Return the verdict on the attribute of a slice, by its own comparisons."""
    by_metric: dict[str, list[Verdict]] = {}
    for row in numbers.comparisons:
        if row.verdict is not None:
            by_metric.setdefault(row.metric, []).append(row.verdict)
    return combine_verdicts(combine_verdicts(by_metric.get(name, ())) for name in report.decided_by)


def fails_clearly(numbers: NumberSlice) -> bool:
    """Return whether a comparison is shown to be beyond its margin."""
    return any(row.shown_outside and row.deciding for row in numbers.comparisons)


def group_table(title: str, numbers: NumberSlice, view: View) -> TextTable:
    """Return the measures of each group."""
    names: dict[str, None] = {}
    for group in numbers.groups:
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
        columns[label_measure(name, numbers)] = (
            lambda group, name=name: measure_cell(name, group.values[name], numbers.digits)  # type: ignore[misc]
        )
    return view.table(title, columns, numbers.groups)


def comparison_table(title: str, numbers: NumberSlice, view: View) -> TextTable:
    """Return the comparisons: what decides first, the largest differences first."""
    rows = sorted(numbers.comparisons, key=lambda row: not row.deciding)
    columns: dict[str, Callable[[NumberComparison], TableCell]] = {
        "group": lambda row: TableCell(row.group),
        "measure": lambda row: TableCell(label_measure(row.metric, numbers)),
        "difference": lambda row: measure_cell(row.metric, row.difference, numbers.digits),
        "ratio": lambda row: formatting.fine_cell(row.ratio),
        "p": lambda row: formatting.both_p_cell(row.p, row.p_holm),
        "margin": lambda row: TableCell(
            format_measure(row.metric, row.margin, numbers.digits), "", row.margin
        ),
        "verdict": verdict_cell,
    }
    if any(row.look for row in rows):
        columns["since"] = lambda row: _since_cell(row, numbers.digits)
    return view.table(title, columns, rows)


def _since_cell(row: NumberComparison, digits: int) -> TableCell:
    """Return the difference since the slice from which the evidence is largest."""
    if row.look is None:
        return TableCell("")
    gap = format_measure(row.metric, row.look.difference_since, digits)
    return TableCell(gap, row.look.since, row.look.difference_since)


def verdict_cell(row: NumberComparison) -> TableCell:
    """Return the verdict on a comparison; why it is not decided in small print."""
    if row.verdict is None:
        return TableCell("")
    text = format_verdict(row.verdict, clearly=row.shown_outside)
    remarks = filter(None, (formatting.REASONS[row.reason],) + row.cautions)
    return TableCell(text, "; ".join(remarks), verdict=row.verdict)


SHORT_MEASURES = ("mean", "median", "mean-residual", "mae", SHARE_ABOVE)
"""Of the table of groups on a console."""
ERRORS = ("mean-residual", "mae")
"""Measures of predictions against labels that are numbers."""


def short_sections(slices: Sequence[NumberSlice], report: Report) -> Iterator[Section]:
    """Yield the numbers of each attribute as they fit a console: of models compared those of the last.

    Of slices there is a table of its own.
    """
    for numbers in slices:
        if report.config.sliced_by or report.last not in ("", numbers.model):
            continue
        reference = formatting.format_group(numbers.reference)
        yield Section(
            f"{numbers.attribute}: {numbers.column} by group, against {reference}",
            tables=(_short_table(numbers),),
        )


def _short_table(numbers: NumberSlice) -> TextTable:
    """Return each group with its mean and errors, and the comparison that decides on it."""
    decisive = _worst_rows(numbers)
    names = [name for name in SHORT_MEASURES if name in numbers.groups[0].values]
    has_errors = any(name in names for name in ERRORS)
    if has_errors:
        names = [name for name in names if name != "median"]

    def difference(group: NumberGroup) -> TableCell:
        row = decisive.get(group.group)
        if row is None:
            return TableCell("reference" if group.is_reference else formatting.DASH)
        return measure_cell(row.metric, row.difference, numbers.digits)

    def of_row(write_cell: Callable[[NumberComparison], TableCell]) -> Callable[[NumberGroup], TableCell]:
        return lambda group: write_cell(decisive[group.group]) if group.group in decisive else TableCell("")

    columns: dict[str, Callable[[NumberGroup], TableCell]] = {
        "group": lambda group: formatting.group_cell(group.group, group.small),
        "rows": lambda group: formatting.count_cell(group.rows),
    }
    for name in names:
        columns[label_measure(name, numbers)] = lambda group, name=name: TableCell(  # type: ignore[misc]
            format_measure(name, group.values[name].value, numbers.digits), "", group.values[name].value
        )
    if has_errors and len({row.metric for row in numbers.comparisons if row.deciding}) > 1:
        columns["worst"] = of_row(lambda row: TableCell(label_measure(row.metric, numbers)))
    is_of_ranks = any(row.metric == "more" for row in decisive.values())
    columns["chance of more" if is_of_ranks else "difference"] = difference
    columns["verdict"] = of_row(verdict_cell)
    return SHORT.table("", columns, numbers.groups)


NUMBERS = Part(
    KEY,
    read=read_estimates,
    read_by=BY_ESTIMATE,
    judge=judge_numbers,
    found_type=tuple[NumberSlice, ...],
    tables={"numbers": number_comparison_rows, "number_groups": number_group_rows},
    sections=number_sections,
    short=lambda slices, report: tuple(short_sections(slices, report)),
    verdicts=verdicts_of_numbers,
)
