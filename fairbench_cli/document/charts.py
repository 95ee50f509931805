"""Charts for pages, as inline SVG: axes, marks on them, and two layouts, rows and a plot.

Colours are given as attributes, for printers, and as classes, which a page's style may lay over them. A
verdict is told by its mark, and a line by its dashes and marks, not by colour alone. What
a mark shows is its title, which pages show to a pointer and say to those who cannot see it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, product
from pathlib import Path
from typing import Literal

from fairbench_cli.base.files import write_text
from fairbench_cli.base.safe_text import format_amount

# of a picture; left of a plot are the texts of its vertical axis
WIDTH = 360
SIDE = 12
LEFT = 44
STEP = 38  # the height of a row
PLOT = 200  # the height of a plot
APART = 44  # texts at an axis need as much
LETTER = 12  # and as much a letter, where they are long
WIDEST_LETTER = 7.0  # a digit in a wide font
SMALL_LETTER = 6.4  # the width of one of small print, at most
KEY_LETTERS = 60  # of a line of a key, about as wide as a chart
MOST_NAME = 34  # characters of a name
ENDING = 13  # of a name that is shortened
MOST_RATIO = 16.0  # ratios beyond it, or below its inverse, are drawn at the edge
MOST_MARKS = 10  # on a line
MILLIONS = 1e7  # from here on ticks are written in millions
# beyond, with an exponent
LARGEST = 1e13
SMALLEST = 1e-6

# What a technique changes against another one: the mark's form says it, and its colour again.
Form = Literal[
    "base", "better", "over", "worse", "open", "same", "moved", "up", "down", "constant", "labels", "known"
]
FORMS: dict[Form, str] = {
    "base": "M-4.5 -4.5h9v9h-9z",
    "better": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "over": "M-6 0l9.5 -5.5v11z",
    "worse": "M0 -6l6 6l-6 6l-6 -6z",
    "open": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "same": "M-5 -2.5h10M-5 2.5h10",
    "moved": "M-6 0h12M-2.5 -3.5l-3.5 3.5l3.5 3.5M2.5 -3.5l3.5 3.5l-3.5 3.5",
    "up": "M0 -5.5l5.5 9.5h-11z",
    "down": "M0 5.5l5.5 -9.5h-11z",
    "constant": "M-4.5 -4.5l9 9M-4.5 4.5l9 -9",
    "labels": "M0 -7v14",
    "known": "M-5 0h10M0 -5v10",
}

# How a mark looks: by its verdict; outside or inside of τ, where chance was not looked at; the reference.
Look = Literal["pass", "fail", "undecided", "outside", "inside", "reference"]
INK = "#222222"
SOFT = "#767676"
PAPER = "#ffffff"
COLOURS = {"pass": "#0072b2", "fail": "#c44e00", "band": "#cfe3f1", "track": "#ececec"}  # of others: SOFT
HOLLOW = ("outside", "inside", "reference")
DIAMOND = "M0 -6l6 6l-6 6l-6 -6z"
DISC = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"
LINES = (  # colour and dashes of lines, and the mark on them
    (INK, "", "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z"),
    ("#0072b2", "6 3", "M-3 -3h6v6h-6z"),
    ("#c44e00", "2 2", "M0 -4l4 7h-8z"),
    ("#009e73", "8 3 2 3", "M0 -4l4 4l-4 4l-4 -4z"),
    ("#b0559a", "1 3", "M0 4l4 -7h-8z"),
    ("#a87900", "10 4", "M-3 -3l6 6M-3 3l6 -6"),
    # The same colours again, with other dashes and marks.
    (INK, "8 2 2 2 2 2", "M0 -4.5l4.3 3.1l-1.6 5h-5.4l-1.6 -5z"),
    ("#0072b2", "1 1", "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"),
    ("#c44e00", "12 3", "M-5 0l8 -4v8z"),
    ("#009e73", "4 2", "M5 0l-8 -4v8z"),
    ("#b0559a", "6 2 1 2", "M-4 -4h8l-8 8h8z"),
    ("#a87900", "2 4", "M-4.5 0l2.2 -3.9h4.6l2.2 3.9l-2.2 3.9h-4.6z"),
)

Point = tuple[float, float, str]  # its values, or its place in a picture, and what it shows
Limits = tuple[float, float, float]  # a place on the horizontal axis, and two values there


@dataclass(frozen=True)
class Axis:
    """Where values stand in a picture.

    Parameters
    ----------
    low, high : float
        The values at its ends; what is beyond them stands there, too.
    start, end : float
        Where its ends are.
    log : bool
        Whether equal ratios are equally long; both ends are above 0 then.
    percent : bool
        Whether values are shares, and written in percent.
    amounts : bool
        Whether values are written in units: 250,000 and −0.5.
    step : float
        Between ticks; 0 for round values.
    names : tuple of str
        What 0, 1, 2 … are called, where values are places in an order.
    """

    low: float
    high: float
    start: float = SIDE
    end: float = WIDTH - SIDE
    log: bool = False
    percent: bool = False
    amounts: bool = False
    step: float = 0.0
    names: tuple[str, ...] = ()

    @property
    def digits(self) -> int:
        """Decimals by which amounts on it can be told apart.

        >>> Axis(0.0, 250000.0).digits, Axis(5.0, 45.0).digits
        (0, 2)
        """
        return max(0, 3 - math.floor(math.log10(self.high - self.low)))

    def position(self, value: float) -> float:
        """Return the place of a value.

        >>> Axis(0.0, 2.0, 10, 110).position(1.5), Axis(0.25, 4.0, 0, 100, log=True).position(0.5)
        (85.0, 25.0)
        """
        inside = max(self.low, min(self.high, value))
        low, high, inside = (math.log(x) if self.log else x for x in (self.low, self.high, inside))
        return self.start + (self.end - self.start) * (inside - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return places and texts of round values: about five, or powers of two as far as there is room.

        >>> [text for _, text in Axis(0.0, 1.0, percent=True).ticks()]
        ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %']
        >>> [text for _, text in Axis(0.3, 5.0, log=True).ticks()]
        ['0.5', '1', '2', '4']
        >>> [text for _, text in Axis(300.0, 20000.0, log=True).ticks()]
        ['1024', '4096', '16384']
        >>> [text for _, text in Axis(-120000.0, 250000.0, amounts=True).ticks()]
        ['−100,000', '0', '100,000', '200,000']
        """
        if self.names:
            wide = LETTER / 2 * max(map(len, self.names)) + LETTER
            stride = math.ceil(wide * (len(self.names) - 1) / abs(self.end - self.start)) or 1
            return [(self.position(i), shorten(name)) for i, name in enumerate(self.names) if i % stride == 0]
        if self.log:
            low = math.log2(self.low)
            high = math.log2(self.high)
            apart = max(APART, LETTER * len(f"{2.0 ** math.floor(high):.6g}"))
            stride = math.ceil(apart * (high - low) / abs(self.end - self.start))
            first_tick = math.ceil(low / stride)
            last_tick = math.floor(high / stride)
            values = [2.0 ** (stride * i) for i in range(first_tick, last_tick + 1)]
        else:
            step = self.step or self._find_step()
            first_tick = math.ceil(self.low / step - 1e-9)
            last_tick = math.floor(self.high / step + 1e-9)
            values = [i * step for i in range(first_tick, last_tick + 1)]
            if self.amounts:
                return [(self.position(x), format_tick(x, step, max(map(abs, values)))) for x in values]
        return [(self.position(x), f"{100 * x:.6g} %" if self.percent else f"{x + 0.0:.6g}") for x in values]

    def _find_step(self) -> float:
        """Return a round step between ticks: about five, or as many as there is room for long amounts."""
        span = self.high - self.low
        step = round_step(span / 5)
        if not self.amounts or self.end < self.start:
            return step
        farthest = max(abs(self.low), abs(self.high))
        widest = LETTER / 2 * len(format_tick(-farthest, step, farthest)) + LETTER
        return max(step, round_step(span * widest / (self.end - self.start)))


def format_tick(value: float, step: float, farthest: float) -> str:
    """Write an amount with the decimals of the step between ticks; in millions where some are very large.

    >>> format_tick(-2500.0, 500.0, 3000.0), format_tick(0.5, 0.25, 1.0), format_tick(25e6, 5e6, 30e6)
    ('−2,500', '0.50', '25M')
    """
    if value == 0:
        return "0"
    if farthest >= LARGEST or step < SMALLEST:
        return f"{value:.6g}".replace("-", "−").replace("e+", "e")
    ending = ""
    if farthest >= MILLIONS and step >= MILLIONS / 1000:
        value = value / 1e6
        step = step / 1e6
        ending = "M"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if round(step * 10**digits, 6) % 1:
        digits += 1
    return format_amount(value, digits) + ending


def round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the least that is not below a step.

    >>> round_step(0.03), round_step(7.0)
    (0.05, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(rough))
    return next(times for times in (1, 2, 5, 10) if times * power >= rough * 0.99) * power


def can_be_told_apart(low: float, high: float) -> bool:
    """Return whether an axis may reach from one value to a larger one: they differ by more than rounding.

    >>> can_be_told_apart(1e9, 1e9 + 1), can_be_told_apart(0.1 + 0.2, 0.3), can_be_told_apart(0.0, 5e-324)
    (True, False, False)
    """
    return high - low > max(1e-12 * max(abs(low), abs(high)), 1e-300)


def ratio_axis(ratios: Sequence[float], limits: Iterable[float], tau: float) -> Axis:
    """Return a log axis around 1 with room for the band [τ, 1/τ], ratios and their limits."""
    farthest = max(1.25 / tau, 2.0)
    for ratio in chain(ratios, limits):
        if math.isfinite(ratio) and ratio > 0:
            farthest = max(farthest, ratio, 1 / ratio)
    if any(x == 0 or math.isinf(x) for x in ratios):
        edge = MOST_RATIO
    else:
        edge = min(MOST_RATIO, 1.05 * farthest)
    return Axis(1 / edge, edge, log=True)


def element(tag: str, kind: str, tooltip: str = "", inside: str = "", **attributes: str | float) -> str:
    """Return an element of the class `kind`, with what it shows as its title, without empty attributes."""
    texts = {
        name: value if isinstance(value, str) else format_numbers(value) for name, value in attributes.items()
    }
    written = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in texts.items() if value)
    within = (f"<title>{escape(tooltip)}</title>" if tooltip else "") + inside
    return f'<{tag} class="{kind}"{written}' + (f">{within}</{tag}>" if within else "/>")


def format_numbers(*numbers: float) -> str:
    """Write places with at most two decimals.

    >>> format_numbers(12.0), format_numbers(0.126, 3.0)
    ('12', '0.13 3')
    """
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def text_element(
    kind: str, x: float, y: float, content: str, anchor: str = "start", *, bold: bool = False
) -> str:
    """Return a text."""
    weight = ""
    if bold:
        weight = "bold"
    return element("text", kind, "", escape(content), x=x, y=y, text_anchor=anchor, font_weight=weight)


def stroke(
    kind: str, d: str, tooltip: str = "", colour: str = SOFT, width: float = 1, dashes: str = ""
) -> str:
    """Return a line along a path."""
    look = {"stroke": colour, "stroke_dasharray": dashes, "fill": "none"}
    return element("path", kind, tooltip, d=d, stroke_width=width, **look)


def mark(kind: str, d: str, x: float, y: float, tooltip: str, colour: str = INK, fill: str = PAPER) -> str:
    """Return a small form at a place."""
    where = f"translate({format_numbers(x, y)})"
    return element("path", kind, tooltip, d=d, transform=where, stroke=colour, stroke_width=1.3, fill=fill)


def box(kind: str, axis: Axis, low: float, high: float, height: float, tooltip: str, fill: str = "") -> str:
    """Return a bar, a band or a track: from one value to another, around a height of 0."""
    x_left, x_right = sorted((axis.position(low), axis.position(high)))
    width = max(1.0, x_right - x_left)
    fill = fill or COLOURS.get(kind.split()[-1], SOFT)
    return element("rect", kind, tooltip, x=x_left, y=-height / 2, width=width, height=height, fill=fill)


def rule(kind: str, axis: Axis, value: float, height: float, tooltip: str, dashes: str = "") -> str:
    """Return a vertical line at a value, around a height of 0."""
    return stroke(
        kind,
        f"M{format_numbers(axis.position(value), -height / 2)}v{format_numbers(height)}",
        tooltip,
        INK,
        1.4,
        dashes,
    )


def whisker(axis: Axis, low: float, high: float, tooltip: str, y: float = 0.0) -> str:
    """Return an interval; nothing where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    x_left = axis.position(low)
    x_right = axis.position(high)
    ends = f"M{format_numbers(x_left, y - 3)}v6M{format_numbers(x_right, y - 3)}v6"
    return stroke(
        "whisker", f"M{format_numbers(x_left, y)}H{format_numbers(x_right)}{ends}", tooltip, INK, 1.3
    )


def dot(axis: Axis, value: float, look: Look, tooltip: str, y: float = 0.0) -> str:
    """Return the mark of a value: a diamond where it fails, else a disc; hollow where nothing was tested."""
    kind, fill = ("ring", PAPER) if look in HOLLOW else (look, COLOURS.get(look, SOFT))
    if look in ("fail", "outside"):
        d = DIAMOND
    else:
        d = DISC
    return mark(f"mark {kind}", d, axis.position(value), y, tooltip, fill=fill)


def arrow(axis: Axis, start: float, end: float, look: Look, tooltip: str, drop: float) -> str:
    """Return a line from a value, above a height of 0, to another, below it."""
    d = f"M{format_numbers(axis.position(start), -drop)}L{format_numbers(axis.position(end), drop)}"
    return stroke(f"arrow {look}", d, tooltip, COLOURS.get(look, SOFT), 2)


def scatter(points: Iterable[Point], look: int) -> str:
    """Return a mark at each place of a picture, of the look of a line."""
    colour, _, d = LINES[look % len(LINES)]
    return "".join(
        mark(f"line l{look % len(LINES)} dot", d, x, y, tooltip, colour) for x, y, tooltip in points
    )


def line(points: Sequence[Point], look: int, tooltip: str) -> str:
    """Return a line through places of a picture."""
    colour, dashes, _ = LINES[look % len(LINES)]
    if points:
        return stroke(f"line l{look % len(LINES)}", _path_through(points), tooltip, colour, 1.8, dashes)
    return ""


def area(x: Axis, y: Axis, limits: Sequence[Limits], look: int, tooltip: str) -> str:
    """Return the band of a line: from a lower to an upper value at each place."""
    way = [(a, low, "") for a, low, _ in limits] + [(a, high, "") for a, _, high in reversed(limits)]
    d = _path_through(_place_points(x, y, way))
    i = look % len(LINES)
    if way:
        return element("path", f"area a{i}", tooltip, d=f"{d}z", fill=LINES[i][0], fill_opacity=0.13)
    return ""


def _place_points(x: Axis, y: Axis, points: Iterable[Point]) -> list[Point]:
    """Return points with their places in a picture for their values."""
    return [(x.position(a), y.position(b), tooltip) for a, b, tooltip in points]


def _path_through(points: Iterable[Point]) -> str:
    """Return the path through some places of a picture."""
    return "M" + "L".join(format_numbers(x, y) for x, y, _ in points)


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    """Yield a line and a text at each tick of the vertical axis."""
    for y_tick, label in y.ticks():
        yield stroke("grid", f"M{format_numbers(x.start, y_tick)}H{format_numbers(x.end)}", colour="#d5d5d5")
        yield text_element("tick", x.start - 5, y_tick + 4, label, "end")


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart: what is written left and right above its marks, which lie around a height of 0.

    The name of one that is `muted` stands in the background.
    """

    name: str
    value_text: str
    marks: Sequence[str]
    muted: bool = False


def row_chart(title: str, axis: Axis, rows: Sequence[ChartRow], key: str = "") -> str:
    """Return a picture of rows over an axis."""
    bottom = 4.0 + STEP * len(rows)
    elements = []
    for i, row in enumerate(rows):
        y = STEP * i + 17
        kind = "said" if row.muted else "name"
        elements.append(text_element(kind, SIDE, y, shorten(row.name), bold=not row.muted))
        if row.value_text:
            elements.append(text_element("said", WIDTH - SIDE, y, row.value_text, "end"))
        elements.append(move_down(y + 13, *row.marks))
    elements.append(horizontal_axis(axis, bottom))
    height = bottom + 20
    for line in _break_key(key):
        elements.append(text_element("tick", SIDE, height + 12, line))
        height += 18
    return picture(title, height, elements)


def _break_key(key: str) -> list[str]:
    """Return a key in one line, or in one for each of its parts where it is wider than a chart.

    >>> _break_key("line: men 5 %; shaded: allowed"), _break_key(f"line: {'m' * KEY_LETTERS}; shaded: so")[1:]
    (['line: men 5 %; shaded: allowed'], ['shaded: so'])
    """
    if len(key) > KEY_LETTERS:
        return key.split("; ")
    return [key] if key else []


@dataclass(frozen=True)
class ChartLine:
    """A line of a plot, or the way of a technique through a plane: its name, its points, and its band."""

    name: str
    points: Sequence[Point]
    limits: Sequence[Limits] = ()


def diagonal(x: Axis, y: Axis, tooltip: str) -> str:
    """Return a dotted line on which both coordinates are equal, from 0 to 1."""
    start = format_numbers(x.position(0), y.position(0))
    end = format_numbers(x.position(1), y.position(1))
    return stroke("axis", f"M{start}L{end}", tooltip, dashes="1 4")


def plot_lines(
    title: str,
    x: Axis,
    y: Axis,
    lines: Sequence[ChartLine],
    x_title: str,
    key: str = "",
    underlay: str = "",
    *,
    names_beside: bool = False,
    foot: float = 0.0,
    legend: Sequence[str] = (),
) -> str:
    """Return a picture of lines with their bands over `x_title`, then their names and what else is to say.

    With `names_beside` names stand beside the ends of their lines, where the horizontal axis leaves room for
    them, else below. There is room of a height of `foot` between the plot and the horizontal axis. What is in
    the `legend`, around the foot of a text, follows the names.
    """
    ground = y.start + foot
    elements = [
        *_grid(x, y),
        underlay,
        horizontal_axis(x, ground),
        text_element("tick", WIDTH / 2, ground + 30, x_title, "middle"),
    ]
    elements += [
        area(x, y, chart_line.limits, i, f"{chart_line.name}: interval") for i, chart_line in enumerate(lines)
    ]
    level = ground + 48
    ends = []
    for i, chart_line in enumerate(lines):
        points = _place_points(x, y, chart_line.points)
        stride = max(1, math.ceil(len(chart_line.points) / MOST_MARKS))
        elements += [line(points, i, chart_line.name), scatter(points[(stride - 1) // 2 :: stride], i)]
        if points:
            x_end, y_end, _ = points[-1]
            ends.append((x_end, y_end, chart_line.name))
        if not names_beside:
            sample = [
                (float(x_sample), level - 4, chart_line.name) for x_sample in (SIDE, SIDE + 17, SIDE + 34)
            ]
            elements += [line(sample, i, chart_line.name), scatter(sample[1:2], i)]
            elements.append(text_element("name", SIDE + 42, level, shorten(chart_line.name)))
            level += 16
    if names_beside:
        elements += _separate_names(ends, [], y.start)
        level -= 14
    for explained_mark in legend:
        elements.append(move_down(level, explained_mark))
        level += 16
    if not key:
        return picture(title, level - 4, elements)
    elements.append(text_element("tick", SIDE, level, key))
    return picture(title, level + 12, elements)


def form_list(meanings: Iterable[tuple[Form, str]]) -> str:
    """Return the meanings of the forms of marks, as a list."""
    items = "".join(
        f'<li><svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true"><path class="mark {form}" '
        f'd="{FORMS[form]}"/></svg>{escape(meaning)}</li>'
        for form, meaning in meanings
    )
    return f'<ul class="key">{items}</ul>'


def plot_paths(
    title: str,
    x: Axis,
    y: Axis,
    tracks: Sequence[ChartLine],
    x_title: str,
    above: str,
    *,
    zero: bool = False,
    lines_below: Sequence[ChartLine] = (),
) -> str:
    """Return a picture of the ways of techniques, from light to dark marks, each named at its end.

    Parameters
    ----------
    x_title, above : str
        What the horizontal and the vertical axis show.
    zero : bool
        Whether a line stands where the horizontal axis is 0.
    lines_below : sequence of ChartLine
        Lines that are drawn first.
    """
    elements = [text_element("tick", SIDE, 10, above), *_grid(x, y)]
    if zero and x.low <= 0 <= x.high:
        elements.append(
            stroke(
                "here",
                f"M{format_numbers(x.position(0), y.start)}V{format_numbers(y.end)}",
                "",
                INK,
                1,
                "3 3",
            )
        )
    elements += [
        horizontal_axis(x, y.start),
        text_element("tick", (x.start + x.end) / 2, y.start + 30, x_title, "middle"),
    ]
    elements += [
        line(_place_points(x, y, chart_line.points), i, chart_line.name)
        for i, chart_line in enumerate(lines_below)
    ]
    tracks = [track for track in tracks if track.points]
    ends: list[Point] = []
    marks: list[Point] = []
    for look, track in enumerate(tracks):
        points = _place_points(x, y, track.points)
        elements += _draw_path(points, look)
        x_end, y_end, _ = points[-1]
        ends.append((x_end, y_end, track.name))
        marks += points
    elements += _separate_names(ends, marks, y.start)
    return picture(title, y.start + 38, elements)


def _draw_path(points: Sequence[Point], look: int) -> Iterator[str]:
    """Yield the way of a technique with the look of a line, from light to dark marks."""
    i = look % len(LINES)
    colour, _, form = LINES[i]
    if len(points) > 1:
        yield stroke(f"way l{i}", _path_through(points), "", colour, 1)
    last_shade = len(SHADES) - 1
    for k, (x, y, tooltip) in enumerate(points):
        # From light to dark; a single point is where the way ends.
        shade = last_shade
        if len(points) > 1:
            shade = k * last_shade // (len(points) - 1)
        yield mark(f"point l{i} b{shade}", form, x, y, tooltip, colour, SHADES[shade])


SHADES = ("#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
LINE = 11.0  # between names that would stand on each other
MOST_ROWS = 12  # a name is so many lines from its point at most


def _separate_names(names: Sequence[Point], marks: Iterable[Point], bottom: float) -> Iterator[str]:
    """Yield names next to their points, where no mark and no other name is; else farther off, with a line.

    Names without such a place are left out.
    """
    taken_boxes = [(a - 5, b - 4, a + 5, b + 4) for a, b, _ in marks]
    rows = sorted(range(-MOST_ROWS, MOST_ROWS + 1), key=abs)
    for x, y, name in sorted(names, key=lambda point: point[1]):
        wide = 6.2 * len(shorten(name))
        for row, is_left in product(rows, (False, True)):
            if is_left:
                start = x - 7 - wide
            else:
                start = x + 7
            level = y + LINE * row
            box_of_name = start, level - LINE / 2, start + wide, level + LINE / 2
            inside = (
                start >= 2
                and box_of_name[2] <= WIDTH - 2
                and box_of_name[1] >= 12
                and box_of_name[3] <= bottom
            )
            if inside and not any(_overlap(box_of_name, taken_box) for taken_box in taken_boxes):
                taken_boxes.append(box_of_name)
                if is_left:
                    near = box_of_name[2]
                    anchor = "end"
                else:
                    near = start
                    anchor = "start"
                if row:
                    way = f"M{format_numbers(x, y)}L{format_numbers(near, level)}"
                    yield stroke("axis", way, width=0.6)
                yield text_element("name", near, level + 4, shorten(name), anchor)
                break


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@dataclass(frozen=True)
class Drawing:
    """A picture that shows itself in a notebook, and is saved as it is.

    Parameters
    ----------
    svg : str
        The picture, as SVG.
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file.

        Raises
        ------
        UserError
            When it cannot be written.
        """
        write_text(Path(path), self.svg)


def picture(title: str, height: float, elements: Iterable[str], width: float = WIDTH) -> str:
    """Return an SVG; the title is for those who cannot see it."""
    wide = format_numbers(width)
    high = format_numbers(height)
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    ink = f'font-family="system-ui, sans-serif" font-size="11" fill="{INK}"'
    role = f'role="graphics-document document" aria-label="{escape(title)}"'
    return f'<svg {role} {size} {ink} xmlns="http://www.w3.org/2000/svg">{"".join(elements)}</svg>'


def shorten(name: str, most: int = MOST_NAME) -> str:
    """Return a name that fits into a picture, with both of its ends: variants of a technique differ there.

    >>> shorten("mine.py:Technique_of_mine (strength=0.5)")
    'mine.py:Technique_of…strength=0.5)'
    >>> shorten("Associate professors", 14)
    'Associat…ssors'
    """
    if len(name) <= most:
        return name
    ending = min(ENDING, most * ENDING // MOST_NAME)
    return f"{name[: most - ending - 1]}…{name[-ending:]}"


def move_down(down: float, *elements: str) -> str:
    """Return elements that lie around a height of 0, lower down."""
    return f'<g transform="translate(0 {format_numbers(down)})">{"".join(elements)}</g>'


def horizontal_axis(axis: Axis, y: float) -> str:
    """Return a horizontal axis at a height, with texts at its ticks."""
    ticks = axis.ticks()
    marks = "".join(f"M{format_numbers(x, y)}v4" for x, _ in ticks)
    labels = ""
    for x, label in ticks:
        anchor = _text_anchor(x)
        half = WIDEST_LETTER / 2 * len(label)
        if axis.amounts and half <= x <= WIDTH - half:
            anchor = "middle"
        labels += text_element("tick", x, y + 15, label, anchor)
    return stroke("axis", f"M{format_numbers(axis.start, y)}H{format_numbers(axis.end)}{marks}") + labels


def _text_anchor(x: float) -> str:
    """Return the side of a text that is at x, such that it stays in the picture."""
    if x < SIDE + 14:
        return "start"
    if x > WIDTH - SIDE - 14:
        return "end"
    return "middle"
