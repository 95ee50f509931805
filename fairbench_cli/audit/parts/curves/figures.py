"""Figures of scores: verdicts along thresholds, selection rates, calibration."""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from fairbench_cli.audit.parts.by_name import ENOUGH
from fairbench_cli.audit.parts.curves.judge import CalibrationBin, ScoreCurves, ScoreRow, ThresholdRow
from fairbench_cli.audit.parts.writing import percent_words, with_interval
from fairbench_cli.document import charts
from fairbench_cli.document.charts import Axis, ChartLine, ChartRow
from fairbench_cli.document.model import SYMBOLS, VERDICTS

MOST_LINES = 6  # groups in a figure; the tables have all
SHARES = Axis(0.0, 1.0, 10.0 + charts.PLOT, 10.0, percent=True)  # the vertical axis of a plot


def strip_figure(curves: Sequence[ScoreCurves], name: str) -> str:
    """Draw the verdict on each attribute along the thresholds, a strip each; `name` is unique in a page."""
    rows = curves[0].thresholds
    edges = _edges([row.threshold for row in rows])
    axis = Axis(edges[0], edges[-1])
    strips: list[ChartRow] = []
    for each in curves:
        marks, first = [] if strips else [charts.patterns(name)], 0
        for run in runs(each.thresholds):
            low, high, said = edges[first], edges[first + len(run)], f"{each.attribute}: {_said(run)}"
            marks.append(charts.strip(axis, low, high, run[0].verdict, SYMBOLS[run[0].verdict], said, name))
            first += len(run)
        strips.append(ChartRow(each.attribute, "", marks))
    here = [(row.threshold, f"{row.threshold:.4g}: this audit") for row in rows if row.decision]
    key = ", ".join(f"{SYMBOLS[verdict]} {word}" for verdict, word in VERDICTS.items())
    found = "; ".join(f"{each.attribute}: {', '.join(map(_said, runs(each.thresholds)))}" for each in curves)
    return charts.row_chart(f"Verdicts along thresholds. {found}", axis, strips, f"threshold; {key}", here)


def rate_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group that is selected at each threshold."""
    edges = _edges([row.threshold for row in curves.thresholds])
    lines = []
    for group in _drawn(curves):
        shares = [(row.threshold, row.rates[group.group]) for row in curves.thresholds]
        points = [
            (x, y, f"{group.group}: {percent_words(y)} at {x:.4g}") for x, y in shares if not math.isnan(y)
        ]
        lines.append(ChartLine(_name(group), points))
    return _plot(
        "Selection rate by threshold", "threshold", curves, lines, Axis(edges[0], edges[-1], charts.LEFT)
    )


def calibration_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group with label 1 by score, with intervals."""
    probabilities = any("calibration-slope" in row.values for row in curves.groups)
    lines, scores = [], []
    for group in _drawn(curves):
        bins = [own for own in group.bins if own.rows >= ENOUGH]
        points = [(own.mean_score, own.rate.value, f"{group.group}: {_said_of(own)}") for own in bins]
        limits = [(own.mean_score, own.rate.low, own.rate.high) for own in bins]
        lines.append(ChartLine(_name(group), points, [of for of in limits if not math.isnan(of[1])]))
        scores += [own.mean_score for own in bins]
    low, high = (0.0, 1.0) if probabilities else (min(scores, default=0.0), max(scores, default=0.0))
    if low == high:
        low, high = low - 0.5, high + 0.5
    about = f"mean score, of ranges with {ENOUGH} rows and more"
    return _plot("Calibration", about, curves, lines, Axis(low, high, charts.LEFT), diagonal=probabilities)


def _plot(
    title: str,
    about: str,
    curves: ScoreCurves,
    lines: Sequence[ChartLine],
    x: Axis,
    *,
    diagonal: bool = False,
) -> str:
    """Draw a line for each group, in a plot with shares on its vertical axis."""
    left_out = len(curves.groups) - len(lines)
    key = f"{left_out} more groups in the table" if left_out else ""
    said = f"{curves.attribute}: {title}; the numbers are in the table"
    ends = f"M{charts.short(x.at(0), SHARES.at(0))}L{charts.short(x.at(1), SHARES.at(1))}"
    equal = charts.stroke("axis", ends, "as many as the score says", dashes="1 4") if diagonal else ""
    return charts.plot(said, x, SHARES, lines, about, key, equal)


def _drawn(curves: ScoreCurves) -> list[ScoreRow]:
    """Return the groups in a figure: the reference first, then the largest."""
    order = sorted(curves.groups, key=lambda row: (not row.is_reference, -row.rows))
    return order[:MOST_LINES]


def _name(row: ScoreRow) -> str:
    return f"{row.group}{'*' if row.small else ''}{' (reference)' if row.is_reference else ''}"


def _said_of(own: CalibrationBin) -> str:
    return f"{with_interval(own.rate)} have label 1 where the mean score is {own.mean_score:.4g}"


def runs(rows: Sequence[ThresholdRow]) -> list[list[ThresholdRow]]:
    """Return neighbouring thresholds with the same verdict together."""
    return [list(same) for _, same in groupby(rows, key=lambda row: row.verdict)]


def _edges(thresholds: Sequence[float]) -> list[float]:
    """Return where the part of each threshold begins and ends: half way to the next.

    >>> _edges([1.0, 2.0, 4.0]), _edges([3.0])
    ([0.5, 1.5, 3.0, 5.0], [2.5, 3.5])
    """
    middles = [(a + b) / 2 for a, b in pairwise(thresholds)]
    if not middles:
        return [thresholds[0] - 0.5, thresholds[0] + 0.5]
    first, last = 2 * thresholds[0] - middles[0], 2 * thresholds[-1] - middles[-1]
    return [first, *middles, last]


def _said(run: Sequence[ThresholdRow]) -> str:
    return f"{VERDICTS[run[0].verdict]} from {run[0].threshold:.4g} to {run[-1].threshold:.4g}"
