"""How a mean or a share changes with a number, as a chart for pages: a line through ranges, with its band."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import wrap

from fairbench_cli.base.safe_text import format_amount, format_count, format_percent
from fairbench_cli.document import charts

TOP = 22.0  # above it stands what the vertical axis shows
BOTTOM = 172.0
FOOT = 26.0  # of the bars of rows, below
TALLEST = 20.0  # of these bars
MOST_LETTERS = 48  # of a line of the key
WIDE = 0.15  # times the axis without it: a range that reaches farther beyond its mean ends with the axis
AROUND = 0.6  # times the range of means there is room for bands at either side
LONGER = 1.5  # and so many times the median interval; what is longer ends with the axis
DASHES = "4 3"
STRAIGHT = "#0072b2"


@dataclass(frozen=True)
class CurveRange:
    """The rows with numbers from low to high.

    Parameters
    ----------
    low, high : float
        Where the range begins and ends: the ends of the next one, or the smallest and largest number in it.
    middle : float
        Where its point stands: the mean of its numbers.
    mean, mean_low, mean_high : float
        The mean, or share, of what is looked at, with its interval; NaN where there is none.
    n_rows : int
    """

    low: float
    high: float
    middle: float
    mean: float
    mean_low: float
    mean_high: float
    n_rows: int


@dataclass(frozen=True)
class StraightLine:
    """A straight line through two points, and what is said of it: its slope."""

    x_start: float
    y_start: float
    x_end: float
    y_end: float
    label: str


@dataclass(frozen=True)
class BinnedCurve:
    """How a mean changes with a number.

    Parameters
    ----------
    ranges : tuple of CurveRange
        In their order.
    x_title, y_title : str
        What the number is, and of what means are.
    overall : float
        The mean of all rows; NaN for none.
    straight : StraightLine or None
    percent : bool
        Whether means are shares.
    """

    ranges: tuple[CurveRange, ...]
    x_title: str
    y_title: str
    overall: float = math.nan
    straight: StraightLine | None = None
    percent: bool = False


def plot_curve(title: str, curve: BinnedCurve) -> str:
    """Draw means over a number as a line with a band, above bars of how many rows there are.

    The mean of all rows is a dashed line; bars are as high as there are rows for each unit of the number.
    """
    drawn = [
        curve_range
        for curve_range in curve.ranges
        if math.isfinite(curve_range.mean) and math.isfinite(curve_range.middle)
    ]
    y = _vertical_axis(drawn, curve)
    edges = _edges(drawn)
    x = _horizontal_axis(drawn, edges, y)
    points = []
    limits = []
    for curve_range in drawn:
        points.append((curve_range.middle, curve_range.mean, _describe_range(curve_range, curve, y)))
        if math.isfinite(curve_range.mean_low) and math.isfinite(curve_range.mean_high):
            limits.append((curve_range.middle, curve_range.mean_low, curve_range.mean_high))
    kind = "mean"
    if curve.percent:
        kind = "share"
    name = f"{kind} in {format_count(len(drawn), 'range')}, with interval"
    underlay = [charts.text_element("tick", charts.SIDE, 10, charts.shorten(curve.y_title, 54))]
    bars = list(_draw_bars(drawn, edges, curve, x, y))
    underlay += bars
    legend = []
    if math.isfinite(curve.overall):
        text = f"all rows: {_format_mean(curve.overall, curve, y)}"
        height = y.position(curve.overall)
        d = f"M{charts.format_numbers(x.start, height)}H{charts.format_numbers(x.end)}"
        underlay.append(charts.stroke("ref", d, text, charts.INK, 1.2, DASHES))
        legend += _legend_lines(charts.stroke("ref", SAMPLE, "", charts.INK, 1.2, DASHES), text)
    if curve.straight is not None:
        underlay.append(_draw_straight(curve.straight, x, y))
        legend += _legend_lines(charts.stroke("l1", SAMPLE, "", STRAIGHT, 1.5), curve.straight.label)
    if bars:
        look = {"fill": charts.COLOURS["track"], "stroke": charts.SOFT}
        sample = charts.element(
            "path", "shape", d=f"M{charts.SIDE:g} 0v-7h11v-3h12v5h11v5z", stroke_width=0.8, **look
        )
        legend += _legend_lines(sample, "where the rows are")
    spoken = f"{title}. {_describe_curve(drawn, curve, y)}"
    line = charts.ChartLine(name, points, limits)
    x_title = charts.shorten(curve.x_title, 54)
    return charts.plot_lines(spoken, x, y, [line], x_title, "", "".join(underlay), foot=FOOT, legend=legend)


SAMPLE = f"M{charts.SIDE} -4h34"


def _legend_lines(sample: str, text: str) -> list[str]:
    """Return a mark and what it means, which may take several lines."""
    lines = [
        charts.text_element("name", charts.SIDE + 42, 0, line) for line in wrap(text, MOST_LETTERS) or [""]
    ]
    lines[0] = sample + lines[0]
    return lines


def _vertical_axis(drawn: Sequence[CurveRange], curve: BinnedCurve) -> charts.Axis:
    """Return an axis for means and their intervals; very long intervals end with it."""
    values = [curve_range.mean for curve_range in drawn]
    if math.isfinite(curve.overall):
        values.append(curve.overall)
    if curve.straight is not None:
        values += [curve.straight.y_start, curve.straight.y_end]
    values = [value for value in values if math.isfinite(value)] or [0.0]
    low = min(values)
    high = max(values)
    if not charts.can_be_told_apart(low, high):
        apart = max(0.5, abs(low) / 10)
        low -= apart
        high += apart
    ends = [low, high]
    lengths = [0.0]
    for curve_range in drawn:
        if math.isfinite(curve_range.mean_low) and math.isfinite(curve_range.mean_high):
            ends += [curve_range.mean_low, curve_range.mean_high]
            lengths.append(curve_range.mean_high - curve_range.mean_low)
    room = max(AROUND * (high - low), LONGER * median(lengths))
    lowest = max(low - room, min(ends))
    highest = min(high + room, max(ends))
    if curve.percent:
        lowest = max(0.0, lowest)
        highest = min(1.0, highest)
    return charts.Axis(lowest, highest, BOTTOM, TOP, percent=curve.percent, amounts=not curve.percent)


def _edges(drawn: Sequence[CurveRange]) -> list[float]:
    """Return where ranges begin and end: half way where two do not touch."""
    if not drawn:
        return []
    edges = [drawn[0].low]
    for i in range(len(drawn) - 1):
        edges.append((drawn[i].high + drawn[i + 1].low) / 2)
    edges.append(drawn[-1].high)
    if len(drawn) > 1:
        # As far from the first number as the next edge is from the last one of the range.
        edges[0] -= edges[1] - drawn[0].high
        edges[-1] += drawn[-1].low - edges[-2]
    return edges


def _horizontal_axis(drawn: Sequence[CurveRange], edges: Sequence[float], y: charts.Axis) -> charts.Axis:
    """Return an axis from range to range; wide ones at its ends end with it."""
    low = 0.0
    high = 1.0
    if drawn:
        low = edges[0]
        high = edges[-1]
        # A few far numbers do not press all others together.
        if len(drawn) > 1:
            room = max(WIDE, 1 / (len(drawn) - 1)) * (drawn[-1].middle - drawn[0].middle)
            low = max(low, drawn[0].middle - room)
            high = min(high, drawn[-1].middle + room)
    if not charts.can_be_told_apart(low, high):
        apart = max(0.5, abs(low) / 10)
        low -= apart
        high += apart
    n_letters = max([len(label) for _, label in y.ticks()], default=0)
    start = max(charts.LEFT, charts.SMALL_LETTER * n_letters + 8)
    return charts.Axis(low, high, start, amounts=True)


def _draw_bars(
    drawn: Sequence[CurveRange], edges: Sequence[float], curve: BinnedCurve, x: charts.Axis, y: charts.Axis
) -> Iterator[str]:
    """Yield a bar for each range: as high as it has rows for each unit."""
    ground = BOTTOM + FOOT
    densities = []
    for i, curve_range in enumerate(drawn):
        width = edges[i + 1] - edges[i]
        densities.append(curve_range.n_rows / width if width > 0 else 0.0)
    highest = max(densities, default=0.0)
    for i, density in enumerate(densities):
        if density > 0:
            height = max(0.5, TALLEST * density / highest)
            x_left = x.position(edges[i])
            width = max(0.5, x.position(edges[i + 1]) - x_left)
            tooltip = _describe_range(drawn[i], curve, y)
            yield charts.element(
                "rect",
                "shape",
                tooltip,
                x=x_left,
                y=ground - height,
                width=width,
                height=height,
                fill=charts.COLOURS["track"],
                stroke=charts.SOFT,
                stroke_width=0.6,
            )


def _draw_straight(straight: StraightLine, x: charts.Axis, y: charts.Axis) -> str:
    """Return the part of a straight line that is within the axes."""
    rise = 0.0
    if straight.x_end != straight.x_start:
        rise = (straight.y_end - straight.y_start) / (straight.x_end - straight.x_start)
    ends = []
    for value in (max(straight.x_start, x.low), min(straight.x_end, x.high)):
        height = straight.y_start + rise * (value - straight.x_start)
        if not math.isfinite(height):
            return ""
        ends.append(charts.format_numbers(x.position(value), y.position(height)))
    return charts.stroke("l1", f"M{ends[0]}L{ends[1]}", straight.label, STRAIGHT, 1.5)


def _format_mean(value: float, curve: BinnedCurve, y: charts.Axis) -> str:
    if curve.percent:
        return format_percent(max(0.0, min(1.0, value)))  # some intervals of shares end beyond
    return format_amount(value, y.digits)


def _describe_range(curve_range: CurveRange, curve: BinnedCurve, y: charts.Axis) -> str:
    """Return a range in words: its numbers, its mean with the interval, its rows."""
    text = f"{_format_ends(curve_range)}: {_format_mean(curve_range.mean, curve, y)}"
    if math.isfinite(curve_range.mean_low) and math.isfinite(curve_range.mean_high):
        low = _format_mean(curve_range.mean_low, curve, y)
        text += f" ({low} to {_format_mean(curve_range.mean_high, curve, y)})"
    return f"{text}, {format_count(curve_range.n_rows, 'row')}"


def _format_ends(curve_range: CurveRange) -> str:
    low = f"{curve_range.low:,.6g}".replace("-", "−")
    high = f"{curve_range.high:,.6g}".replace("-", "−")
    if low == high:
        return low
    return f"{low} to {high}"


def _describe_curve(drawn: Sequence[CurveRange], curve: BinnedCurve, y: charts.Axis) -> str:
    """Return the curve in words: its lowest and its highest range, all rows, and the slope."""
    clauses = []
    if drawn:
        lowest = min(drawn, key=lambda curve_range: curve_range.mean)
        highest = max(drawn, key=lambda curve_range: curve_range.mean)
        clauses.append(f"lowest at {_describe_range(lowest, curve, y)}")
        clauses.append(f"highest at {_describe_range(highest, curve, y)}")
    if math.isfinite(curve.overall):
        clauses.append(f"all rows: {_format_mean(curve.overall, curve, y)}")
    if curve.straight is not None:
        clauses.append(curve.straight.label)
    return "; ".join(clauses)
