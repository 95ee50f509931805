"""Figures of scores as inline SVG: verdicts along thresholds, selection rates, calibration.

Colours are given as attributes, for printers, and as classes, which the page's style may lay over them. A
verdict is told by its symbol and pattern, and a group by its dashes and mark, not by colour alone.
"""

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from fairbench_cli.audit.judge.report import CalibrationBin, ScoreCurves, ScoreRow, ThresholdRow
from fairbench_cli.audit.judge.uncertainty import ENOUGH
from fairbench_cli.audit.show.drawing import (
    COLOURS,
    SIDE,
    WIDTH,
    Ticks,
    axis_x,
    picture,
    short,
    side_of,
    svg_text,
)
from fairbench_cli.audit.show.format import SYMBOLS, VERDICTS
from fairbench_cli.document.model import Verdict

STRIP = 22
LEFT, PLOT = 40, 200  # of plots with an axis of shares
MOST_LINES = 6  # groups in a figure; the tables have all
MOST_NAME = 40
SYMBOL = 12  # a symbol takes so much width
LOOKS = (  # colour and dashes of lines, and the mark on them
    ("#222222", "", "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z"),
    ("#0072b2", "6 3", "M-3 -3h6v6h-6z"),
    ("#c44e00", "2 2", "M0 -4l4 7h-8z"),
    ("#009e73", "8 3 2 3", "M0 -4l4 4l-4 4l-4 -4z"),
    ("#b0559a", "1 3", "M0 4l4 -7h-8z"),
    ("#a87900", "10 4", "M-3 -3l6 6M-3 3l6 -6"),
)


def strip_figure(curves: Sequence[ScoreCurves], name: str) -> str:
    """Draw the verdict on each attribute along the thresholds, a strip each; `name` is unique in a page."""
    rows = curves[0].thresholds
    edges = _edges([row.threshold for row in rows])
    low, high = edges[0], edges[-1]

    def at(value: float) -> float:
        return SIDE + (WIDTH - 2 * SIDE) * (value - low) / (high - low)

    parts = [_patterns(name)]
    y = 4.0
    for each in curves:
        label = each.attribute if len(each.attribute) <= MOST_NAME else f"{each.attribute[: MOST_NAME - 1]}…"
        parts.append(svg_text("name", SIDE, y + 11, label, "start", bold=True))
        y += 16
        first = 0
        for run in runs(each.thresholds):
            left, right = at(edges[first]), at(edges[first + len(run)])
            parts += _strip(run[0].verdict, left, right, y, name)
            first += len(run)
        y += STRIP + 8
    bottom = y - 4
    for row in rows:
        if row.decision:
            x = at(row.threshold)
            line = f'x1="{short(x)}" x2="{short(x)}" y1="4" y2="{short(bottom)}"'
            parts.append(f'<line class="here" {line} stroke="#222222" stroke-width="2"/>')
            parts.append(svg_text("tick", x, bottom + 26, f"{row.threshold:.4g}: this audit", side_of(x)))
    parts.append(axis_x([(at(value), text) for value, text in _ticks(low, high)], bottom))
    key = ", ".join(f"{SYMBOLS[verdict]} {VERDICTS[verdict]}" for verdict in COLOURS)
    parts.append(svg_text("tick", SIDE, bottom + 42, f"threshold; {key}", "start"))
    said = "; ".join(f"{each.attribute}: {_said(each.thresholds)}" for each in curves)
    return picture(f"Verdicts along thresholds. {said}", bottom + 50, parts)


def rate_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group that is selected at each threshold."""
    rows = curves.thresholds
    low, high = _edges([row.threshold for row in rows])[:: len(rows)]
    lines = [[(row.threshold, row.rates[group.group]) for row in rows] for group in _drawn(curves)]
    return _plot("Selection rate by threshold", "threshold", curves, lines, (low, high), _ticks(low, high))


def calibration_figure(curves: ScoreCurves) -> str:
    """Draw the share of each group with label 1 by score, with intervals."""
    drawn = _drawn(curves)
    probabilities = any("calibration-slope" in row.values for row in curves.groups)
    bins = [_large(row) for row in drawn]
    scores = [each.mean_score for own in bins for each in own] or [0.0]
    low, high = (0.0, 1.0) if probabilities else (min(scores), max(scores))
    if low == high:
        low, high = low - 0.5, high + 0.5
    lines = [[(each.mean_score, each.rate.value) for each in own] for own in bins]
    whiskers = [[(each.rate.low, each.rate.high) for each in own] for own in bins]
    axis = f"mean score, of ranges with {ENOUGH} rows and more"
    return _plot("Calibration", axis, curves, lines, (low, high), _ticks(low, high), whiskers, probabilities)


def _large(row: ScoreRow) -> list[CalibrationBin]:
    """Return the ranges of a group that are drawn."""
    return [each for each in row.bins if each.rows >= ENOUGH]


def _drawn(curves: ScoreCurves) -> list[ScoreRow]:
    """Return the groups in a figure: the reference first, then the largest."""
    order = sorted(curves.groups, key=lambda row: (not row.is_reference, -row.rows))
    return order[:MOST_LINES]


def _plot(
    title: str,
    axis: str,
    curves: ScoreCurves,
    lines: Sequence[Sequence[tuple[float, float]]],
    ends: tuple[float, float],
    ticks: Ticks,
    whiskers: Sequence[Sequence[tuple[float, float]]] = (),
    diagonal: bool = False,
) -> str:
    """Draw a line for each group, in a plot with shares from 0 to 1 on its vertical axis."""
    low, high = ends
    bottom = 10.0 + PLOT

    def x_of(value: float) -> float:
        return LEFT + (WIDTH - LEFT - SIDE) * (value - low) / (high - low)

    def y_of(share: float) -> float:
        return bottom - PLOT * share

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        path = f"M{LEFT} {short(y_of(share))}H{WIDTH - SIDE}"
        parts.append(f'<path class="grid" d="{path}" stroke="#d5d5d5" fill="none"/>')
        parts.append(svg_text("tick", LEFT - 5, y_of(share) + 4, f"{100 * share:g} %", "end"))
    if diagonal:
        path = f"M{short(x_of(0))} {short(y_of(0))}L{short(x_of(1))} {short(y_of(1))}"
        parts.append(f'<path class="axis" d="{path}" stroke="#767676" stroke-dasharray="1 4" fill="none"/>')
    drawn = _drawn(curves)
    for i, line in enumerate(lines):
        points = [(x_of(x), y_of(share)) for x, share in line if math.isfinite(share)]
        limits = [
            (x_of(x) + 1.5 * (i - len(lines) / 2), y_of(below), y_of(above))
            for (x, _), (below, above) in zip(line, whiskers[i] if whiskers else (), strict=False)
            if math.isfinite(below)
        ]
        parts += _line(i, points, limits)
    parts.append(axis_x([(x_of(value), text) for value, text in ticks], bottom, LEFT))
    parts.append(svg_text("tick", WIDTH / 2, bottom + 30, axis, "middle"))
    y = bottom + 48
    for i, row in enumerate(drawn):
        name = f"{row.group}*" if row.small else row.group
        name = (name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…") + (
            " (reference)" if row.is_reference else ""
        )
        parts += [
            *_line(i, [(SIDE, y - 4), (SIDE + 34, y - 4)], ()),
            svg_text("name", SIDE + 42, y, name, "start"),
        ]
        y += 16
    left_out = len(curves.groups) - len(drawn)
    if left_out:
        parts.append(svg_text("tick", SIDE, y, f"{left_out} more groups in the table", "start"))
        y += 16
    return picture(f"{curves.attribute}: {title}; the numbers are in the table", y - 4, parts)


def _line(
    i: int, points: Sequence[tuple[float, float]], limits: Sequence[tuple[float, float, float]]
) -> list[str]:
    """Draw the line of the i-th group with marks, and whiskers."""
    colour, dashes, mark = LOOKS[i % len(LOOKS)]
    if not points:
        return []
    kind, dash = f"line l{i % len(LOOKS)}", f' stroke-dasharray="{dashes}"' if dashes else ""
    path = "M" + "L".join(f"{short(x)} {short(y)}" for x, y in points)
    parts = [f'<path class="{kind}" d="{path}" stroke="{colour}" stroke-width="1.8"{dash} fill="none"/>']
    if limits:
        path = "".join(f"M{short(x)} {short(low)}V{short(high)}" for x, low, high in limits)
        parts.append(f'<path class="{kind}" d="{path}" stroke="{colour}" stroke-width="1" fill="none"/>')
    step = max(1, math.ceil(len(points) / 10))
    marked = points if len(points) <= 10 else points[step // 2 :: step]
    if len(points) == 2 and points[0][1] == points[1][1]:  # in the key
        marked = [((points[0][0] + points[1][0]) / 2, points[0][1])]
    parts += [
        f'<path class="{kind} dot" transform="translate({short(x)} {short(y)})" d="{mark}" stroke="{colour}" '
        f'stroke-width="1.4" fill="#ffffff"/>'
        for x, y in marked
    ]
    return parts


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


def _said(rows: Sequence[ThresholdRow]) -> str:
    return ", ".join(
        f"{VERDICTS[run[0].verdict]} from {run[0].threshold:.4g} to {run[-1].threshold:.4g}"
        for run in runs(rows)
    )


def _strip(verdict: Verdict, left: float, right: float, y: float, name: str) -> list[str]:
    """Draw a part of a strip: its colour, its pattern, and its symbol where there is room."""
    box = f'x="{short(left)}" y="{short(y)}" width="{short(right - left)}" height="{STRIP}"'
    parts = [f'<rect class="bar {verdict}" {box} fill="{COLOURS[verdict]}"/>']
    if verdict != "pass":
        parts.append(f'<rect {box} fill="url(#{name}-{verdict})"/>')
    if right - left >= SYMBOL:
        x, middle = (left + right) / 2, y + STRIP / 2
        parts.append(f'<circle class="disc" cx="{short(x)}" cy="{short(middle)}" r="7.5" fill="#ffffff"/>')
        parts.append(svg_text("name", x, middle + 4, SYMBOLS[verdict], "middle", bold=True))
    return parts


def _patterns(name: str) -> str:
    """Draw the pattern of what fails (lines) and of what is not decided (dots)."""
    lines = '<path class="hatch" d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="#ffffff" stroke-width="1.2"/>'
    dots = '<circle class="dotted" cx="3" cy="3" r="1.1" fill="#ffffff"/>'
    box = 'width="6" height="6" patternUnits="userSpaceOnUse"'
    return (
        f'<defs><pattern id="{name}-fail" {box}>{lines}</pattern>'
        f'<pattern id="{name}-undecided" {box}>{dots}</pattern></defs>'
    )


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round numbers from low to high, about five.

    >>> [text for _, text in _ticks(0.0, 1.0)], [text for _, text in _ticks(1.5, 10.5)]
    (['0', '0.2', '0.4', '0.6', '0.8', '1'], ['2', '4', '6', '8', '10'])
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (1, 2, 5, 10) if step * power >= rough * 0.99) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step + 0.0:.6g}") for i in range(first, last + 1)]
