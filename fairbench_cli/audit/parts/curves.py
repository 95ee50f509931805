"""What the scores of each group are worth, and how many of each a threshold selects."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairbench_cli.audit.compare.effective_sizes import group_rate_rows
from fairbench_cli.audit.compare.references import (
    REST_NAME,
    Bools,
    excluded,
    usual_reference,
    without_excluded_groups,
)
from fairbench_cli.audit.compare.report import UNDEFINED, Interval, Report, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.parts import formatting
from fairbench_cli.audit.parts.part import BY_REFERENCE, SHORT, Part, Row, View
from fairbench_cli.audit.parts.requested_metrics import ENOUGH
from fairbench_cli.audit.scan.scores import read_scores
from fairbench_cli.audit.scan.slices import Scores, Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_percent
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartLine
from fairbench_cli.document.model import Chart, Section, TableCell, TextTable, table_of
from fairbench_cli.measures import scores as measures
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.score_test import wilson_interval
from fairbench_cli.measures.scores import Estimate

TO_REFERENCE = "ks-to-reference"  # a comparison already: it has no difference


@dataclass(frozen=True)
class CalibrationBin:
    """The rows of one group with scores from low to high, and how many of them have the label 1."""

    low: float
    high: float
    rows: int
    mean_score: float
    rate: Interval


@dataclass(frozen=True)
class ScoreRow:
    """What the scores of one group are worth, by name of the measure.

    Parameters
    ----------
    group : str
    rows : int
    small : bool
        Whether it has fewer rows than `min_group`.
    is_reference : bool
    values : dict of str to Interval
        ``auc``, ``ks-of-labels``, ``ks-to-reference``, ``brier``, ``calibration-slope``,
        ``calibration-intercept``, ``mean-score`` and ``base-rate``, as far as they are defined.
    differences : dict of str to Interval
        From the reference's, of all but the second distance; empty for the reference itself.
    bins : tuple of CalibrationBin
        Those with rows, lowest scores first; empty without labels.
    """

    group: str
    rows: int
    small: bool
    is_reference: bool
    values: dict[str, Interval]
    differences: dict[str, Interval]
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class ThresholdRow:
    """What one threshold selects: scores at or above it.

    Parameters
    ----------
    threshold : float
    decision : str
        The decision of the configuration that it is; empty for others.
    selected : float
        Share of all rows that are selected.
    rates : dict of str to float
        Selection rate by group.
    """

    threshold: float
    decision: str
    selected: float
    rates: dict[str, float]


@dataclass(frozen=True)
class ScoreCurves:
    """The scores of one attribute's groups under one model, whatever the decision.

    `reference` is the name of a group, `REST_NAME`, or empty where there is none.
    """

    model: str
    attribute: str
    reference: str
    groups: tuple[ScoreRow, ...]
    thresholds: tuple[ThresholdRow, ...]


def judge_curves(read: Sequence[Scores], base: Report) -> tuple[ScoreCurves, ...]:
    """Return the curves of every attribute under every model, those of a model together."""
    curves = []
    for model_scores in group_by(read, lambda scores: scores.part.model).values():
        curves += [_compute_curves(scores, base.config) for scores in model_scores]
    return tuple(curves)


def _select_ranges(scores: Scores, ranges: Floats, chosen: Bools) -> Slice:
    """Return the groups with the scores of some ranges selected."""
    cells = ranges[:3]
    return scores.part.with_cells(np.stack([cells[:, ~chosen].sum(1), cells[:, chosen].sum(1)], -1))


def _compute_thresholds(scores: Scores, config: AuditConfig) -> tuple[ThresholdRow, ...]:
    """Return the share that each threshold selects, of every group that is not left out."""
    rows = []
    for i, threshold in enumerate(scores.thresholds.tolist()):
        is_selected = np.arange(scores.cuts.shape[1]) > i
        counts = without_excluded_groups(_select_ranges(scores, scores.cuts, is_selected), config).counts
        selected = counts.predicted[:, 1]
        rates = divide(selected, counts.group_total).tolist()
        rows.append(
            ThresholdRow(
                threshold,
                scores.decisions.get(threshold, ""),
                float(divide(selected.sum(), counts.group_total.sum())),
                dict(zip(counts.groups, rates, strict=True)),
            )
        )
    return tuple(rows)


def _compute_curves(scores: Scores, config: AuditConfig) -> ScoreCurves:
    group_counts = scores.part
    reference = scores.reference
    groups = group_counts.counts.groups
    n_groups = len(groups)
    alone = bool((reference[:n_groups] == np.arange(n_groups)).all())
    if len(reference) > n_groups:
        name = REST_NAME
    elif alone:
        name = ""
    else:
        name = groups[reference[0]]
    estimates = _estimate_measures(scores, config.confidence)
    values = {}
    apart = {}
    for measure, (value, low, high) in estimates.items():
        values[measure] = intervals(value, low, high)
        if measure != TO_REFERENCE:
            of_reference = (value[reference], low[reference], high[reference])
            value, low, high = measures.subtract((value, low, high), of_reference)
            apart[measure] = intervals(value, low, high)
    if group_counts.labelled:
        bins = _compute_bins(scores, config.confidence)
    else:
        bins = [()] * n_groups
    rows = []
    for g in np.flatnonzero(~excluded(group_counts, config)).tolist():
        itself = bool(reference[g] == g)
        size = int(group_counts.rows[g])
        group_values = {measure: of_groups[g] for measure, of_groups in values.items()}
        differences = {measure: of_groups[g] for measure, of_groups in apart.items()}
        if itself:
            del group_values[TO_REFERENCE]
            differences = {}
        small = size < config.min_group
        is_reference = itself and not alone
        rows.append(ScoreRow(groups[g], size, small, is_reference, group_values, differences, bins[g]))
    return ScoreCurves(
        group_counts.model, group_counts.attribute, name, tuple(rows), _compute_thresholds(scores, config)
    )


def _estimate_measures(scores: Scores, confidence: float) -> dict[str, Estimate]:
    """Return each measure of all sets of rows, as far as labels and the range of the scores allow."""
    sums = scores.sums
    totals = scores.totals
    to_reference = measures.ks_from_reference(sums, totals, scores.reference, confidence)
    if not scores.part.labelled:
        return {TO_REFERENCE: to_reference}
    estimates = {
        "auc": measures.auc(sums, totals, confidence),
        "ks-of-labels": measures.ks_by_label(sums, totals, confidence),
        TO_REFERENCE: to_reference,
    }
    if scores.fit is None:
        return estimates
    slope, intercept = measures.slope_and_intercept(scores.fit, totals, confidence)
    mean = measures.mean_score(sums, totals)
    positive = totals.weight[:, 1]
    weight = totals.weight.sum(-1)
    worth = totals.kish_of_groups
    rate = divide(positive, weight)
    return estimates | {
        "brier": measures.brier_score(sums, totals, confidence),
        "calibration-slope": slope,
        "calibration-intercept": intercept,
        "mean-score": (mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)),
        "base-rate": (rate, *wilson_interval(rate * worth, worth, confidence)),
    }


def _compute_bins(scores: Scores, confidence: float) -> list[tuple[CalibrationBin, ...]]:
    """Return the bins of each group."""
    bins: list[list[CalibrationBin]] = [[] for _ in scores.part.counts.groups]
    lowest, highest = scores.ends
    for b in range(len(lowest)):
        bin_counts = _select_ranges(scores, scores.bins, np.arange(scores.bins.shape[1]) == b)
        rows = group_rate_rows(bin_counts, ("ppv",))  # of the rows of the bin, the positive
        weight, n_rows, _, scored = scores.bins[:, b].sum(-1)
        rate = divide(scores.bins[0, b, :, 1], weight)
        mean = divide(scored, weight)
        low, high = wilson_interval(rows.numerator[:, 0], rows.denominator[:, 0], confidence)
        observed = intervals(rate, low, high)
        ends = (float(lowest[b]), float(highest[b]))
        for g in np.flatnonzero(n_rows).tolist():
            bins[g].append(CalibrationBin(*ends, int(n_rows[g]), float(mean[g]), observed[g]))
    return [tuple(group_bins) for group_bins in bins]


MOST_LINES = 6  # groups in a figure; the tables have all
SHARES = Axis(0.0, 1.0, 10.0 + charts.PLOT, 10.0, percent=True)  # the vertical axis of a plot


def plot_rates(curves: ScoreCurves) -> str:
    """Draw the share of each group that is selected at each threshold."""
    edges = _edges([row.threshold for row in curves.thresholds])
    lines = []
    for group in _drawn_groups(curves):
        shares = [(row.threshold, row.rates[group.group]) for row in curves.thresholds]
        points = [
            (x, y, f"{group.group}: {format_percent(y)} at {x:.4g}") for x, y in shares if not math.isnan(y)
        ]
        lines.append(ChartLine(_line_name(group), points))
    x = Axis(edges[0], edges[-1], charts.LEFT)
    return _plot_lines("Selection rate by threshold", "threshold", curves, lines, x)


def plot_calibration(curves: ScoreCurves) -> str:
    """Draw the share of each group with label 1 by score, with intervals."""
    probabilities = any("calibration-slope" in row.values for row in curves.groups)
    lines = []
    scores = []
    for group in _drawn_groups(curves):
        points = []
        limits = []
        for score_bin in group.bins:
            if score_bin.rows >= ENOUGH:
                x = score_bin.mean_score
                rate = score_bin.rate
                rate_text = f"{formatting.with_interval(rate)} have label 1 where the mean score is {x:.4g}"
                points.append((x, rate.value, f"{group.group}: {rate_text}"))
                if not math.isnan(rate.low):
                    limits.append((x, rate.low, rate.high))
                scores.append(x)
        lines.append(ChartLine(_line_name(group), points, limits))
    if probabilities:
        low, high = (0.0, 1.0)
    else:
        low = min(scores, default=0.0)
        high = max(scores, default=0.0)
    if low == high:
        low = low - 0.5
        high = high + 0.5
    axis = Axis(low, high, charts.LEFT)
    equal = ""
    if probabilities:
        equal = charts.diagonal(axis, SHARES, "as many as the score says")
    axis_label = f"mean score, of ranges with {ENOUGH} rows and more"
    return _plot_lines("Calibration", axis_label, curves, lines, axis, equal)


def _plot_lines(
    title: str,
    axis_label: str,
    curves: ScoreCurves,
    lines: Sequence[ChartLine],
    x: Axis,
    background: str = "",
) -> str:
    """Draw a line for each group, in a plot with shares on its vertical axis."""
    left_out = len(curves.groups) - len(lines)
    key = ""
    if left_out:
        key = f"{left_out} more groups in the table"
    tooltip = f"{curves.attribute}: {title}; the numbers are in the table"
    return charts.plot_lines(tooltip, x, SHARES, lines, axis_label, key, background)


def _drawn_groups(curves: ScoreCurves) -> list[ScoreRow]:
    """Return the groups in a figure: the reference first, then the largest."""
    order = sorted(curves.groups, key=lambda row: (not row.is_reference, -row.rows))
    return order[:MOST_LINES]


def _line_name(row: ScoreRow) -> str:
    name = row.group
    if row.small:
        name += "*"
    if row.is_reference:
        name += " (reference)"
    return name


def _edges(thresholds: Sequence[float]) -> list[float]:
    """Return where the part of each threshold begins and ends: half way to the next.

    >>> _edges([1.0, 2.0, 4.0]), _edges([3.0])
    ([0.5, 1.5, 3.0, 5.0], [2.5, 3.5])
    """
    middles = [(a + b) / 2 for a, b in pairwise(thresholds)]
    if not middles:
        return [thresholds[0] - 0.5, thresholds[0] + 0.5]
    lowest = 2 * thresholds[0] - middles[0]
    highest = 2 * thresholds[-1] - middles[-1]
    return [lowest, *middles, highest]


# By the names in a report: what each is called, and what that means.
MEASURES = {
    "auc": (
        "AUC",
        "the chance that somebody with label 1 has a higher score than somebody with label 0, ties half; 0.5 "
        "by chance, 1 at best",
    ),
    "ks-of-labels": (
        "KS between labels",
        "Kolmogorov–Smirnov distance, the largest gap, over all scores, between the shares of label 1 and of "
        "label 0 that are not above a score; 1 at best",
    ),
    TO_REFERENCE: (
        "KS to reference",
        "Kolmogorov–Smirnov distance of the scores of the group and of the reference; 0 where they are alike",
    ),
    "brier": ("Brier score", "the mean of (score − label)²; 0 at best"),
    "calibration-slope": (
        "calibration slope",
        "of the logistic regression of the label on the logit of the score; 1 at best; below 1 scores are "
        "too extreme, above 1 not extreme enough",
    ),
    "calibration-intercept": ("calibration intercept", "of the same regression; 0 at best"),
    "mean-score": ("mean score", "what the scores say on average"),
    "base-rate": ("share with label 1", "what happened on average"),
}


def curve_sections(all_curves: Sequence[ScoreCurves], report: Report, view: View) -> tuple[Section, ...]:
    """Return the sections of the curves: one an attribute and model, and one on what the measures mean."""
    if not all_curves:
        return ()
    sections: list[Section] = []
    by_model = group_by(all_curves, lambda curves: curves.model)
    for model, curves in by_model.items():
        where = ""
        if len(by_model) > 1:
            where = f" (model {model})"
        sections += [_score_section(attribute_curves, where, report, view) for attribute_curves in curves]
    measured: set[str] = set()
    for attribute_curves in all_curves:
        for row in attribute_curves.groups:
            measured.update(row.values)
    meanings = (f"{label}: {meaning}." for name, (label, meaning) in MEASURES.items() if name in measured)
    return (*sections, Section("What the measures of scores mean", notes=tuple(meanings)))


def short_curves(all_curves: Sequence[ScoreCurves], _: Report) -> Sequence[Section]:
    """Return from which group to which the scores are worth least and most, an attribute in a line."""
    n_models = len({curves.model for curves in all_curves})
    name = (
        "auc" if any("auc" in row.values for curves in all_curves for row in curves.groups) else TO_REFERENCE
    )
    rows = []
    for curves in all_curves:
        values = [
            (row.values[name], row.group) for row in curves.groups if name in row.values and not row.small
        ]
        values.sort(key=lambda pair: pair[0].value)
        if values:
            rows.append((curves, values))
    columns: dict[str, Callable[[tuple[ScoreCurves, list[tuple[Interval, str]]]], TableCell]] = {
        "attribute": lambda row: TableCell(row[0].attribute, row[0].model if n_models > 1 else ""),
        "lowest in": lambda row: TableCell(row[1][0][1]),
        "lowest": lambda row: formatting.fine_cell(row[1][0][0]),
        "highest in": lambda row: TableCell(row[1][-1][1]),
        "highest": lambda row: formatting.fine_cell(row[1][-1][0]),
    }
    title = f"What the scores are worth: {MEASURES[name][0]}"
    return (Section(title, tables=(SHORT.table("", columns, rows),)),)


def format_span(low: float, high: float) -> str:
    """Write a range of scores.

    >>> format_span(2.0, 4.0), format_span(0.25, 0.25), format_span(0.12345678, 0.5)
    ('2 to 4', '0.25', '0.123457 to 0.5')
    """
    if low == high:
        return f"{low:.6g}"
    return f"{low:.6g} to {high:.6g}"


def _score_section(curves: ScoreCurves, where: str, report: Report, view: View) -> Section:
    """Return the section on the scores of an attribute's groups."""
    lines = []
    for name in MEASURES:
        lines += [(row, name) for row in curves.groups if name in row.values]
    columns: dict[str, Callable[[tuple[ScoreRow, str]], TableCell]] = {
        "group": lambda line: formatting.group_cell(line[0].group, line[0].small),
        "measure": lambda line: TableCell(MEASURES[line[1]][0]),
        "value": lambda line: formatting.fine_cell(line[0].values[line[1]]),
    }
    if curves.reference:
        columns["difference from the reference"] = lambda line: _difference_cell(line[0], line[1])
    shown_lines = lines[: view.max_rows]
    bins = []
    for row in curves.groups:
        bins += [(row, score_bin) for score_bin in row.bins]
    left_out = []
    if len(shown_lines) < len(lines):
        left_out.append(f"{len(lines) - len(shown_lines)} more")
    if bins and view.max_rows is not None:
        left_out.append("the calibration curve")
    remark = ""
    if left_out:
        remark = f"and {' and '.join(left_out)}: see --all"
    tables = [table_of("Scores by group", columns, shown_lines, remark)]
    if bins and view.max_rows is None:
        tables.append(_bin_table(bins))
    figures = [Chart("Selection rate by threshold", plot_rates(curves))]
    if bins:
        figures.append(Chart("Calibration: share with label 1 by score", plot_calibration(curves)))
    title = f"{curves.attribute}: what the scores are worth{where}"
    return Section(title, _describe_differences(curves, report), tuple(tables), charts=tuple(figures))


def _describe_differences(curves: ScoreCurves, report: Report) -> tuple[str, ...]:
    """Return which differences from the reference are larger than their intervals."""
    level = f"{100 * report.config.confidence:g} %"
    brackets = (
        f"Brackets hold {level} intervals, each for itself: they are not adjusted for how many there are."
    )
    if not curves.reference:
        return (brackets,)
    clauses = []
    for name, (label, _) in MEASURES.items():
        outside = []
        for row in curves.groups:
            if name == TO_REFERENCE:
                interval = row.values.get(name, UNDEFINED)
            else:
                interval = row.differences.get(name, UNDEFINED)
            if interval.low > 0 or interval.high < 0:
                outside.append(f"{row.group} {interval.value:+.3f}")
        if outside:
            clauses.append(f"{label} ({', '.join(outside)})")
    against = f"from {curves.reference}"
    sentence = f"No difference {against} has an interval that leaves out 0."
    if clauses:
        sentence = f"Differences {against} whose intervals leave out 0: {'; '.join(clauses)}."
    return (sentence, brackets)


def _bin_table(lines: Sequence[tuple[ScoreRow, CalibrationBin]]) -> TextTable:
    columns: dict[str, Callable[[tuple[ScoreRow, CalibrationBin]], TableCell]] = {
        "group": lambda line: formatting.group_cell(line[0].group, line[0].small),
        "scores": lambda line: TableCell(format_span(line[1].low, line[1].high)),
        "rows": lambda line: TableCell(str(line[1].rows), "", line[1].rows),
        "mean score": lambda line: formatting.number_cell(line[1].mean_score),
        "share with label 1": lambda line: formatting.fine_cell(line[1].rate),
    }
    return table_of("Calibration: what happened, by score", columns, lines)


def _difference_cell(row: ScoreRow, name: str) -> TableCell:
    if row.is_reference:
        return TableCell("reference")
    if name in row.differences:
        return formatting.fine_cell(row.differences[name])
    return TableCell(formatting.DASH)


def score_rows(all_curves: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield each measure of the scores of every group, with its difference from the reference's."""
    for curves, row, key_cells in _rows_of_groups(all_curves):
        key_cells |= {"reference": curves.reference, "rows": row.rows, "small": row.small}
        for measure, estimate in row.values.items():
            off = row.differences.get(measure, UNDEFINED)
            ends: Row = {"difference_low": off.low, "difference_high": off.high}
            yield {**key_cells, "measure": measure, **vars(estimate), "difference": off.value, **ends}


def calibration_rows(all_curves: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the share of label 1 in each range of scores, by group."""
    for _curves, row, key_cells in _rows_of_groups(all_curves):
        for score_bin in row.bins:
            ends: Row = {"lowest": score_bin.low, "highest": score_bin.high, "rows": score_bin.rows}
            yield {**key_cells, **ends, "mean_score": score_bin.mean_score, **vars(score_bin.rate)}


def _rows_of_groups(all_curves: Sequence[ScoreCurves]) -> Iterator[tuple[ScoreCurves, ScoreRow, Row]]:
    """Yield all groups with their curves, and the columns that name them."""
    for curves in all_curves:
        for row in curves.groups:
            yield curves, row, {"model": curves.model, "attribute": curves.attribute, "group": row.group}


def threshold_rows(all_curves: Sequence[ScoreCurves], _: Report) -> Iterable[Row]:
    """Yield the selection rate of every group at every threshold."""
    for curves in all_curves:
        for row in curves.thresholds:
            key_cells: Row = {"model": curves.model, "attribute": curves.attribute}
            key_cells |= formatting.flatten(row)
            for group, rate in row.rates.items():
                yield {**key_cells, "group": group, "selection_rate": rate}


CURVES = Part[Sequence[Scores], tuple[ScoreCurves, ...]](
    "curves",
    read=lambda scan: read_scores(scan, lambda group_counts: usual_reference(group_counts, scan.config)),
    read_by=BY_REFERENCE,
    judge=judge_curves,
    found_type=tuple[ScoreCurves, ...],
    tables={"scores": score_rows, "calibration": calibration_rows, "thresholds": threshold_rows},
    sections=curve_sections,
    short=short_curves,
)
