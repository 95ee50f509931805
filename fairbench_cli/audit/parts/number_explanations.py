"""What columns explain of the differences of numbers: by strata, by column, and what is left."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.compare.number_explanations import (
    ColumnPart,
    NumberExplanation,
    NumberStratum,
    StratifiedNumbers,
    explain_pair,
)
from fairbench_cli.audit.compare.report import Interval, Report
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.explanations import find_pairs, refuse_many
from fairbench_cli.audit.parts.numbers import KEY as NUMBERS_KEY
from fairbench_cli.audit.parts.numbers import format_interval, format_measure
from fairbench_cli.audit.parts.part import BY_ESTIMATE, SHORT, Part, Row, View
from fairbench_cli.audit.scan.explained_numbers import ExplainedRows, read_explained
from fairbench_cli.base.safe_text import format_percent, join_names
from fairbench_cli.document.model import Section, TableCell, TextTable

KEY = "number_explanations"
NOT_JUSTIFIED = "Explained is not justified: what a column is worth, and who has it, may itself be unfair."
FEW_COMPARED = 0.9  # of the group's rows are in strata that its reference has: fewer is said first


def explain_numbers(rows: ExplainedRows, base: Report) -> tuple[NumberExplanation, ...]:
    """Return the explanation of the difference of every group with rows enough from its reference.

    Raises
    ------
    UserError
        When there are too many groups.
    """
    config = base.config
    slices = []
    for group_counts in base.slices:
        if group_counts.attribute in rows.groups:
            slices.append((group_counts, find_pairs(group_counts, config)))
    refuse_many([pairs for _, pairs in slices], config)
    explanations = []
    for group_counts, pairs in slices:
        names = group_counts.counts.groups
        small = [names[g] for (g, _), n_rows in pairs.items() if min(n_rows) < config.min_group]
        notes: tuple[str, ...] = ()
        if small:
            notes = (f"{join_names(small)}: fewer than {config.min_group} rows, not explained.",)
        for pair, n_rows in pairs.items():
            if min(n_rows) >= config.min_group:
                explanation = explain_pair(rows, group_counts, pair, n_rows, config)
                explanations.append(replace(explanation, notes=notes + explanation.notes))
                notes = ()
    return tuple(explanations)


# -- in words


def _digits(report: Report) -> int:
    digits: int = report.found[NUMBERS_KEY][0].digits
    return digits


def _column(report: Report) -> str:
    column: str = report.found[NUMBERS_KEY][0].column
    return column


def _number(value: float, digits: int) -> str:
    return format_measure("mean", value, digits)


def _limits_text(estimate: Interval, digits: int, sign: float = 1.0) -> str:
    """Return the limits in brackets, lowest first, after a sign: " (1,200 to 3,400)"."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    low, high = sorted((sign * estimate.low, sign * estimate.high))
    return f" ({_number(low, digits)} to {_number(high, digits)})"


def _join_columns(names: Sequence[str]) -> str:
    """Return names in a sentence.

    >>> _join_columns(["rank"]), _join_columns(["rank", "discipline", "years"])
    ('rank', 'rank, discipline and years')
    """
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def describe_explanation(explanation: NumberExplanation, report: Report) -> str:
    """Return the sentences on a gap: its explained part, the rest, and the gap where columns are the same."""
    digits = _digits(report)
    group = formatting.format_group(explanation.group)
    reference = formatting.format_group(explanation.reference)
    gap = explanation.difference.value
    sign = -1.0 if gap < 0 else 1.0
    columns = _join_columns(explanation.columns)
    verb = "explains" if len(explanation.columns) == 1 else "explain"
    size = _number(abs(gap), digits)
    text = f"Of the gap in mean {_column(report)} between {group} and {reference} of {size}"
    if math.isnan(explanation.explained.value):
        return f"{text} nothing is taken apart: too few rows for so many columns."
    explained = _number(sign * explanation.explained.value, digits)
    left_text = _number(sign * explanation.unexplained.value, digits)
    text += (
        f", {columns} {verb} {explained}{_limits_text(explanation.explained, digits, sign)}, and {left_text}"
        f"{_limits_text(explanation.unexplained, digits, sign)} are left (Oaxaca–Blinder)."
    )
    if not math.isnan(explanation.adjusted.value):
        side = "less" if explanation.adjusted.value < 0 else "more"
        adjusted = _number(abs(explanation.adjusted.value), digits)
        limits = _sided_limits(explanation.adjusted, digits)
        condition = "Where they are" if len(explanation.columns) > 1 else "Where it is"
        clause = f"{group} average {adjusted} {side} than {reference}{limits}"
        text += f" {condition} the same, {clause}, by a straight line."
    return text


def _sided_limits(estimate: Interval, digits: int) -> str:
    """Return the limits of a difference with their sides: " (3,000 more to 12,000 less)"."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    clauses = []
    for limit in sorted((estimate.low, estimate.high), key=abs):
        side = "less" if limit < 0 else "more"
        clauses.append(f"{_number(abs(limit), digits)} {side}")
    return f" ({' to '.join(clauses)})"


def describe_largest(explanations: Sequence[NumberExplanation], report: Report) -> str:
    """Return the sentences on the largest gap; empty where no group has rows enough."""
    if not explanations:
        return ""
    largest = max(explanations, key=lambda explanation: abs(np.nan_to_num(explanation.difference.value)))
    return f"{describe_explanation(largest, report)} {NOT_JUSTIFIED}"


# -- sections


def explanation_sections(
    explanations: Sequence[NumberExplanation], report: Report, view: View
) -> Sequence[Section]:
    """Return a section for each group that is explained."""
    return [_section(explanation, report, view) for explanation in explanations]


def _section(explanation: NumberExplanation, report: Report, view: View) -> Section:
    digits = _digits(report)
    group_text = f"{explanation.group} ({formatting.thousands(explanation.rows)} rows)"
    reference_text = f"{explanation.reference} ({formatting.thousands(explanation.reference_rows)})"
    title = f"{explanation.attribute}: what is behind the difference of {group_text} and {reference_text}"
    sentences = [describe_explanation(explanation, report), NOT_JUSTIFIED]
    tables = [_parts_table(explanation, digits)]
    if explanation.contributions:
        tables.append(_contributions_table(explanation, digits))
    notes = list(explanation.notes)
    for stratified in explanation.strata:
        tables.append(_strata_table(stratified, digits, view))
        if stratified.compared < 1:
            text = _describe_incomplete(stratified, explanation)
            if stratified.compared < FEW_COMPARED:
                sentences.append(text)
            else:
                notes.append(text)
    notes.append(
        "Strata: left is the mean difference within strata, by the rows of the group. Oaxaca–Blinder: "
        "explained is what the other values of the columns are worth among the reference. Regression: the "
        "coefficient of the group beside the columns."
    )
    return Section(title, tuple(sentences), tuple(tables), tuple(notes))


def _describe_incomplete(stratified: StratifiedNumbers, explanation: NumberExplanation) -> str:
    share = format_percent(1 - stratified.compared)
    return (
        f"{share} of {explanation.group} are in strata of {stratified.columns} without anybody of "
        f"{explanation.reference}: nothing that is left is of them."
    )


def _cell(estimate: Interval, digits: int) -> TableCell:
    text = _number(estimate.value, digits)
    return TableCell(text, format_interval("mean", estimate, digits), estimate.value)


PartRow = tuple[str, Interval | None, Interval, float]


def _part_rows(explanation: NumberExplanation) -> Iterator[PartRow]:
    """Yield how a difference is taken apart: what by, what is explained, what is left, and its p."""
    for stratified in explanation.strata:
        yield (
            f"strata of {stratified.columns}",
            stratified.explained,
            stratified.unexplained,
            stratified.unexplained_p,
        )
    yield "Oaxaca–Blinder", explanation.explained, explanation.unexplained, explanation.unexplained_p
    yield "regression", None, explanation.adjusted, explanation.adjusted_p


def _parts_table(explanation: NumberExplanation, digits: int) -> TextTable:
    columns: dict[str, Callable[[PartRow], TableCell]] = {
        "by": lambda row: TableCell(row[0]),
        "explained": lambda row: TableCell(formatting.DASH) if row[1] is None else _cell(row[1], digits),
        "left": lambda row: _cell(row[2], digits),
        "p": lambda row: formatting.p_cell(row[3]),
    }
    gap = _number(explanation.difference.value, digits)
    limits = format_interval("mean", explanation.difference, digits)
    title = f"The difference of {gap} {limits}: what is explained, and what is left".replace("  ", " ")
    return View().table(title, columns, list(_part_rows(explanation)))


def _contributions_table(explanation: NumberExplanation, digits: int) -> TextTable:
    columns: dict[str, Callable[[ColumnPart], TableCell]] = {
        "column": lambda row: TableCell(row.column),
        "explained": lambda row: _cell(row.explained, digits),
        "unexplained": lambda row: TableCell(_number(row.unexplained, digits), "", row.unexplained),
    }
    constant = ColumnPart("(constant)", Interval(0.0, math.nan, math.nan), explanation.constant)
    rows = list(explanation.contributions)
    rows.append(constant)
    title = "By column; the unexplained parts depend on the level that is left out, and on where 0 is"
    return View().table(title, columns, rows)


def _strata_table(stratified: StratifiedNumbers, digits: int, view: View) -> TextTable:
    def number(value: float) -> TableCell:
        return TableCell(_number(value, digits), "", value)

    columns: dict[str, Callable[[NumberStratum], TableCell]] = {
        "stratum": lambda stratum: TableCell(stratum.name),
        "rows": lambda stratum: formatting.count_cell(stratum.rows),
        "mean": lambda stratum: number(stratum.mean),
        "ref. rows": lambda stratum: formatting.count_cell(stratum.reference_rows),
        "ref. mean": lambda stratum: number(stratum.reference_mean),
        "difference": lambda stratum: number(stratum.difference),
    }
    return view.table(f"Strata of {stratified.columns}", columns, stratified.strata)


def short_explanations(explanations: Sequence[NumberExplanation], report: Report) -> Sequence[Section]:
    """Return each gap with what is explained and left."""
    digits = _digits(report)
    if not explanations:
        return (Section("Explanations", ("No group has rows enough to be explained.",)),)
    columns: dict[str, Callable[[NumberExplanation], TableCell]] = {}
    if len({explanation.attribute for explanation in explanations}) > 1:
        columns["attribute"] = lambda row: TableCell(row.attribute)
    columns |= {
        "group": lambda row: formatting.group_cell(row.group, small=False),
        "gap": lambda row: TableCell(_number(row.difference.value, digits), "", row.difference.value),
        "explained": lambda row: _cell(row.explained, digits),
        "left": lambda row: _cell(row.unexplained, digits),
        "adjusted": lambda row: _cell(row.adjusted, digits),
    }
    names = _join_columns(explanations[0].columns)
    verb = "explains" if len(explanations[0].columns) == 1 else "explain"
    title = f"Gaps in mean {_column(report)}: what {names} {verb}, and what is left"
    notes = ("adjusted: the difference where the columns are the same, by least squares.", NOT_JUSTIFIED)
    return (Section(title, tables=(SHORT.table("", columns, explanations),), notes=notes),)


def _pair_key(explanation: NumberExplanation) -> Row:
    return {
        "attribute": explanation.attribute,
        "group": explanation.group,
        "reference": explanation.reference,
    }


def contribution_rows(explanations: Sequence[NumberExplanation], _: Report) -> Iterator[Row]:
    """Yield what each column, and each set of strata, has to do with each difference."""
    for explanation in explanations:
        for column_part in explanation.contributions:
            yield {**_pair_key(explanation), **formatting.flatten(column_part)}


def stratum_rows(explanations: Sequence[NumberExplanation], _: Report) -> Iterator[Row]:
    """Yield each stratum."""
    for explanation in explanations:
        for stratified in explanation.strata:
            for stratum in stratified.strata:
                yield {**_pair_key(explanation), "by": stratified.columns, **formatting.flatten(stratum)}


NUMBERS_EXPLAINED = Part[ExplainedRows, tuple[NumberExplanation, ...]](
    KEY,
    read=read_explained,
    read_by=BY_ESTIMATE,
    judge=explain_numbers,
    found_type=tuple[NumberExplanation, ...],
    tables={
        "number_explanations": lambda explanations, _: map(formatting.flatten, explanations),
        "number_contributions": contribution_rows,
        "number_strata": stratum_rows,
    },
    sections=explanation_sections,
    short=short_explanations,
    line=describe_largest,
    data=lambda explanations: {KEY: explanations},
)
