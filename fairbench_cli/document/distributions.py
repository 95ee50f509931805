"""How a number is spread in each group, as a chart for pages: small multiples over one axis.

Each group has the shape of its histogram, of the same area in all groups; beneath it a box of its quantiles,
and its mean with its interval. The reference's mean is a dashed line through all groups, and its shape a
dotted one, so that a difference is seen as a distance.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from fairbench_cli.base.safe_text import format_amount, format_count
from fairbench_cli.document.charts import (
    COLOURS,
    DISC,
    INK,
    MOST_NAME,
    PAPER,
    SIDE,
    SMALL_LETTER,
    SOFT,
    WIDTH,
    Axis,
    Look,
    box,
    can_be_told_apart,
    dot,
    element,
    format_numbers,
    horizontal_axis,
    mark,
    move_down,
    picture,
    round_step,
    shorten,
    stroke,
    text_element,
)
from fairbench_cli.document.model import VERDICTS

QUANTILES = (5, 10, 25, 50, 75, 90, 95)  # percent
MOST_GROUPS = 20  # in a chart; tables have all
MOST_WHOLE = 60  # whole numbers that have a bin each
HALF = 0.5
FEWEST_BINS = 12
MOST_BINS = 48
SPIKE = 4.0  # a bin with more than so many times the rows of its neighbours is one
CUT_ROOM = 1.5  # a spike is cut at so many times what else is highest: its share stands beside it
LEAST_LABEL = 0.05  # the share of rows in a spike that is written
WIDER = 0.5  # times its length the axis grows at most, for means beyond the bins
# heights of what a group has, from the top
TEXT = 15.0
TALLEST = 44.0
SMALLEST = 16.0
FEW_GROUPS = 8  # more stand closer together
DASHES = "4 3"
DOTS = "1.5 2"
LINE = 16.0  # of small print below
BOX = 7.0
INSET = 14.0  # of the axis: the texts at its ends are in the middle of their ticks
MOST_LETTERS = 56  # of a line
SHORTEST_NAME = 14


@dataclass(frozen=True)
class GroupDistribution:
    """How a number is spread in one group.

    Parameters
    ----------
    name : str
    is_reference : bool
        Whether others are compared with it.
    n_rows : int
    mean, low, high : float
        The mean and the ends of its interval; NaN where there is none.
    quantiles : tuple of float
        At each of `QUANTILES`; NaN where there is none.
    shares : tuple of float
        The share of the group's rows in each bin; below 1 in all where some rows are in no bin.
    difference_text : str
        What is written at the right: the difference to the reference with its interval.
    look : {"pass", "fail", "undecided", "outside", "inside", "reference"}
        Picks colour and mark of the mean.
    symbol : str
        Before the name: the sign of the verdict.
    reference_mean : float
        What its mean is compared with, where that is not the mean of a group that is drawn.
    """

    name: str
    is_reference: bool
    n_rows: int
    mean: float
    low: float
    high: float
    quantiles: tuple[float, ...]
    shares: tuple[float, ...]
    difference_text: str = ""
    look: Look = "undecided"
    symbol: str = ""
    reference_mean: float = math.nan

    @property
    def label(self) -> str:
        """Its name after the sign of its verdict."""
        return f"{self.symbol} {self.name}".strip()

    @property
    def side_text(self) -> str:
        """What is written at its right."""
        if self.is_reference:
            return self.difference_text or "reference"
        return self.difference_text


@dataclass(frozen=True)
class Distributions:
    """How a number is spread in groups.

    Parameters
    ----------
    groups : tuple of GroupDistribution
        In the order in which they are drawn, after the reference.
    edges : tuple of float
        The edges of the bins, equally far apart: one more than a group has shares.
    unit : str
        Under the axis: what the number is, and its unit.
    n_below, n_above : int
        Rows below the first edge and beyond the last one.
    margin : float
        How far a mean may be from the reference's; NaN where nothing is said of that.
    level_names : tuple of str
        What the whole numbers from 1 on are called, where they stand for levels in an order.
    """

    groups: tuple[GroupDistribution, ...]
    edges: tuple[float, ...]
    unit: str = ""
    n_below: int = 0
    n_above: int = 0
    margin: float = math.nan
    level_names: tuple[str, ...] = ()

    @property
    def has_whole_numbers(self) -> bool:
        """Whether each bin holds one whole number, and is a bar."""
        return self.edges[0] % 1 == HALF and self.edges[1] - self.edges[0] == 1


def choose_edges(
    lowest: float, low: float, high: float, highest: float, *, n_rows: int, whole: bool = False
) -> tuple[float, ...]:
    """Return the edges of bins of equal, round width; a bin holds its lower edge, and the last one both.

    Few whole numbers have a bin each. Else bins reach from the 1 % to the 99 % point, or to the smallest and
    the largest value where these are near.

    Parameters
    ----------
    lowest, low, high, highest : float
        The smallest value of all groups, the points at 1 % and 99 %, and the largest value.
    n_rows : int
        Rows of a typical group: the more, the narrower bins are.
    whole : bool
        Whether all values are whole numbers.

    >>> choose_edges(0.0, 0.0, 10.0, 10.0, n_rows=500, whole=True)[:3]
    (-0.5, 0.5, 1.5)
    >>> edges = choose_edges(1200.0, 15000.0, 250000.0, 9000000.0, n_rows=400)
    >>> edges[0], edges[1], edges[-1]
    (0.0, 20000.0, 260000.0)
    """
    if whole and highest - lowest < MOST_WHOLE:
        n_values = round(highest - lowest) + 1
        return tuple(lowest - HALF + i for i in range(n_values + 1))
    start = low
    end = high
    if not can_be_told_apart(low, high):
        # All but a few rows have one value.
        start = lowest
        end = highest
    if not can_be_told_apart(start, end):
        apart = max(1.0, abs(start) / 10)
        start -= apart
        end += apart
    near = 0.15 * (end - start)
    if start - lowest <= near:
        start = min(start, lowest)
    if highest - end <= near:
        end = max(end, highest)
    n_bins = max(FEWEST_BINS, min(MOST_BINS, round(2 * max(1, n_rows) ** (1 / 3))))
    width = round_step((end - start) / n_bins)
    narrower = round_step(width / 3)
    if (end - start) / narrower < n_bins**2 * width / (end - start):
        width = narrower
    if whole:
        width = max(1.0, width)
    # 1.1 / 0.1 is above 11 by rounding alone.
    first_bin = math.floor(start / width + 1e-12 * abs(start / width))
    last_bin = math.ceil(end / width - 1e-12 * abs(end / width))
    decimals = 1 - math.floor(math.log10(width))
    return tuple(round(i * width, decimals) for i in range(first_bin, last_bin + 1))


def plot_distributions(title: str, distributions: Distributions) -> str:
    """Draw how a number is spread in groups; those that are too many are counted below.

    Raises
    ------
    ValueError
        When a group has another number of shares than there are bins, or of quantiles.
    """
    groups = _drawn_groups(distributions.groups)
    n_bins = len(distributions.edges) - 1
    for group in groups:
        if len(group.shares) != n_bins or len(group.quantiles) != len(QUANTILES):
            raise ValueError(f"{group.name}: {n_bins} shares and {len(QUANTILES)} quantiles are needed")
    axis = _find_axis(distributions, groups)
    layout = _find_layout(axis, distributions, groups)
    elements = []
    for i, group in enumerate(groups):
        elements.append(move_down(4 + i * layout.row_height, *_draw_group(group, layout)))
    bottom = 4 + len(groups) * layout.row_height
    elements.append(horizontal_axis(axis, bottom))
    level = bottom + 31
    if distributions.unit:
        elements.append(text_element("tick", WIDTH / 2, level, shorten(distributions.unit, 50), "middle"))
        level += LINE
    for text in _notes(groups, layout):
        elements.append(text_element("tick", SIDE, level, text))
        level += LINE - 2
    level += 3
    for line in _key(layout):
        elements.append(move_down(level, *line))
        level += LINE
    spoken = "; ".join(_describe_group(group, layout) for group in groups)
    return picture(f"{title}. {spoken}", level - 8, elements)


@dataclass(frozen=True)
class GroupLayout:
    """What all groups of a chart share.

    Parameters
    ----------
    axis : Axis
    distributions : Distributions
    reference : GroupDistribution or None
        The one whose shape others have as a dotted line.
    reference_mean : float
        Its mean; NaN where there is none.
    peak : float
        The share of rows that is as high as a shape is.
    text_height : float
        Of the line or two with the name and the difference.
    shape_height : float
    box_drop, mean_drop, foot : float
        How far below the shape the middle of the box and the mean are, and where the group ends.
    """

    axis: Axis
    distributions: Distributions
    reference: GroupDistribution | None
    reference_mean: float
    peak: float
    text_height: float
    shape_height: float
    box_drop: float
    mean_drop: float
    foot: float

    @property
    def base(self) -> float:
        """Where the shape stands."""
        return self.text_height + self.shape_height

    @property
    def row_height(self) -> float:
        """How far a group is from the next one."""
        return self.base + self.foot

    def format(self, value: float) -> str:
        """Write an amount."""
        return format_amount(value, self.axis.digits)

    def mean_to_compare(self, group: GroupDistribution) -> float:
        """Return the mean that a group is compared with; NaN where there is none."""
        if math.isfinite(group.reference_mean):
            return group.reference_mean
        return self.reference_mean


def _drawn_groups(groups: Sequence[GroupDistribution]) -> list[GroupDistribution]:
    """Return the references, then the others, as many as a chart has."""
    ordered = sorted(groups, key=lambda group: not group.is_reference)
    return ordered[:MOST_GROUPS]


def _find_axis(distributions: Distributions, groups: Sequence[GroupDistribution]) -> Axis:
    """Return an axis over the bins that has room for means beyond them, unless these are very far."""
    low = distributions.edges[0]
    high = distributions.edges[-1]
    span = high - low
    values = [low, high]
    for group in groups:
        if math.isfinite(group.mean):
            values.append(group.mean)
    lowest = min(values)
    highest = max(values)
    if lowest < low:
        lowest = max(low - WIDER * span, lowest - span / 20)
    if highest > high:
        highest = min(high + WIDER * span, highest + span / 20)
    step = 0.0
    if distributions.has_whole_numbers:
        # As many whole numbers as there is room for.
        n_letters = len(format_amount(-max(abs(low), abs(high))))
        step = max(1.0, round_step((highest - lowest) * (n_letters + 1) * SMALL_LETTER / (WIDTH - 2 * SIDE)))
    axis = Axis(lowest, highest, SIDE + INSET, WIDTH - SIDE - INSET, amounts=True, step=step)
    if distributions.level_names and _names_fit(distributions, axis):
        # The names of an axis begin at 0.
        return replace(axis, names=("",) + distributions.level_names)
    return axis


def _names_fit(distributions: Distributions, axis: Axis) -> bool:
    """Return whether the names of levels stand beside each other under an axis; else they are listed."""
    n_letters = max(map(len, distributions.level_names)) + 1
    return n_letters * SMALL_LETTER < axis.position(axis.low + 1) - axis.start


def _find_layout(
    axis: Axis, distributions: Distributions, groups: Sequence[GroupDistribution]
) -> GroupLayout:
    reference = None
    reference_mean = math.nan
    references = [group for group in groups if group.is_reference]
    if len(references) == 1:
        reference = references[0]
        reference_mean = reference.mean
    text_height = TEXT
    if any(_room_for_name(group) < min(SHORTEST_NAME, len(group.label)) for group in groups):
        text_height += TEXT - 2
    drops = (5.5, 14.5, 24.0)
    if len(groups) <= FEW_GROUPS:
        drops = (BOX, 18.0, 32.0)
    box_drop, mean_drop, foot = drops
    return GroupLayout(
        axis,
        distributions,
        reference,
        reference_mean,
        peak=_find_peak(distributions, groups),
        text_height=text_height,
        shape_height=max(SMALLEST, min(TALLEST, TALLEST + 4 - 2 * len(groups))),
        box_drop=box_drop,
        mean_drop=mean_drop,
        foot=foot,
    )


def _room_for_name(group: GroupDistribution) -> int:
    """Return how many letters there is room for before what is written at the right."""
    return math.floor((WIDTH - 2 * SIDE - SMALL_LETTER * len(group.side_text)) / SMALL_LETTER) - 1


def _find_peak(distributions: Distributions, groups: Sequence[GroupDistribution]) -> float:
    """Return the share of rows that is as high as a shape is: spikes, which are cut there, may be far above.

    Next to a spike, as of a half of rows that are 0, nothing else would be seen.
    """
    highest = 0.0
    usual = 0.0
    for group in groups:
        shares = _finite_shares(group)
        for i, share in enumerate(shares):
            highest = max(highest, share)
            neighbours = shares[max(0, i - 2) : i] + shares[i + 1 : i + 3]
            if share <= SPIKE * max(neighbours, default=0.0):
                usual = max(usual, share)
    if usual == 0 or distributions.has_whole_numbers or highest <= 2 * usual:
        return highest
    return CUT_ROOM * usual


def _finite_shares(group: GroupDistribution) -> list[float]:
    """Return the shares of rows in bins, 0 where there is none."""
    return [share if math.isfinite(share) else 0.0 for share in group.shares]


def _draw_group(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield what is drawn of a group, from its top."""
    yield from _draw_shape(group, layout)
    yield move_down(layout.base + layout.mean_drop, *_draw_margin(group, layout))
    yield from _draw_reference_mean(group, layout)
    yield from _draw_cuts(group, layout)
    yield move_down(layout.base + layout.box_drop, *_draw_box(group, layout))
    yield move_down(layout.base + layout.mean_drop, *_draw_mean(group, layout))
    most_letters = MOST_NAME
    if layout.text_height > TEXT:
        yield text_element("said", SIDE, 2 * TEXT - 7, group.side_text)
    else:
        most_letters = min(MOST_NAME, max(SHORTEST_NAME, _room_for_name(group)))
        yield text_element("said", WIDTH - SIDE, TEXT - 5, group.side_text, "end")
    yield text_element("name", SIDE, TEXT - 5, shorten(group.label, most_letters), bold=True)


def _draw_reference_mean(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield the part of the dashed line that is within a group: also beside its name, where there is room."""
    value = layout.mean_to_compare(group)
    if not math.isfinite(value):
        return
    x = layout.axis.position(value)
    start = 0.0
    name_end = SIDE + SMALL_LETTER * (len(group.label) + 2)
    difference_start = WIDTH - SIDE - SMALL_LETTER * (len(group.side_text) + 1)
    if layout.text_height > TEXT or not name_end < x < difference_start:
        start = layout.text_height
    tooltip = f"mean of the reference: {layout.format(value)}"
    d = f"M{format_numbers(x, start)}V{format_numbers(layout.base + layout.mean_drop + 7)}"
    yield stroke("ref", d, tooltip, INK, 1.2, DASHES)


def _draw_shape(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield the histogram of a group, and the reference's as a dotted line."""
    heights = _heights(group, layout)
    if any(heights):
        if layout.distributions.has_whole_numbers:
            d = _bar_path(heights, layout)
        else:
            d = _step_path(heights, layout)
        tooltip = f"{group.name}: how {format_count(group.n_rows, 'row')} are spread"
        yield element("path", "shape", tooltip, d=d, fill=COLOURS["track"], stroke=SOFT, stroke_width=0.8)
    if layout.reference is not None and not group.is_reference:
        heights = _heights(layout.reference, layout)
        if layout.distributions.has_whole_numbers:
            d = _cap_path(heights, layout)
        else:
            d = _step_path(heights, layout)
        yield stroke("ghost", d, "", SOFT, 1, DOTS)
    ground = f"M{format_numbers(layout.axis.start, layout.base)}H{format_numbers(layout.axis.end)}"
    yield stroke("axis", ground, width=0.6)


def _heights(group: GroupDistribution, layout: GroupLayout) -> list[float]:
    """Return the height of each bin, none above the shape's."""
    heights = []
    for share in _finite_shares(group):
        if layout.peak > 0:
            heights.append(layout.shape_height * min(1.0, share / layout.peak))
        else:
            heights.append(0.0)
    return heights


def _step_path(heights: Sequence[float], layout: GroupLayout) -> str:
    """Return the outline of bins that touch."""
    edges = layout.distributions.edges
    steps = [f"M{format_numbers(layout.axis.position(edges[0]), layout.base)}"]
    for i, height in enumerate(heights):
        x_right = layout.axis.position(edges[i + 1])
        steps.append(f"V{format_numbers(layout.base - height)}H{format_numbers(x_right)}")
    steps.append(f"V{format_numbers(layout.base)}")
    return "".join(steps)


def _bar_path(heights: Sequence[float], layout: GroupLayout) -> str:
    """Return bars with room between them."""
    edges = layout.distributions.edges
    bars = []
    for i, height in enumerate(heights):
        if height > 0:
            x_left = layout.axis.position(edges[i])
            wide = layout.axis.position(edges[i + 1]) - x_left
            start = format_numbers(x_left + 0.15 * wide, layout.base)
            top = f"v{format_numbers(-height)}h{format_numbers(0.7 * wide)}"
            bars.append(f"M{start}{top}V{format_numbers(layout.base)}z")
    return "".join(bars)


def _cap_path(heights: Sequence[float], layout: GroupLayout) -> str:
    """Return a line at the height of each bar."""
    edges = layout.distributions.edges
    caps = []
    for i, height in enumerate(heights):
        if height > 0:
            start = format_numbers(layout.axis.position(edges[i]), layout.base - height)
            caps.append(f"M{start}H{format_numbers(layout.axis.position(edges[i + 1]))}")
    return "".join(caps)


def _cut_bins(group: GroupDistribution, layout: GroupLayout) -> list[int]:
    """Return which bins have more rows than there is height for, the largest first."""
    shares = _finite_shares(group)
    bins = [i for i, share in enumerate(shares) if share > layout.peak * (1 + 1e-9)]
    return sorted(bins, key=lambda i: -shares[i])


def _draw_cuts(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield a gap in each bar that is cut, and the share of rows in the two largest of them."""
    edges = layout.distributions.edges
    for order, i in enumerate(_cut_bins(group, layout)):
        x_left = layout.axis.position(edges[i])
        x_right = layout.axis.position(edges[i + 1])
        y = layout.text_height + 6
        end = format_numbers(x_right + 2, y - 2)
        yield stroke("gap", f"M{format_numbers(x_left - 2, y + 2)}L{end}", "", PAPER, 2.5)
        share = group.shares[i]
        if order < 2 and share >= LEAST_LABEL:
            anchor = (x_right + 4, "start")
            if x_right > WIDTH * 0.85:
                anchor = (x_left - 4, "end")
            yield text_element("tick", anchor[0], layout.text_height + 9, f"{100 * share:.0f} %", anchor[1])


def _draw_box(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield the quantiles of a group, around a height of 0, as far as there are any."""
    _, tenth, quarter, median, three_quarters, ninetieth, _ = group.quantiles
    tooltip = f"{group.name}: {_describe_quantiles(group, layout)}"
    position = layout.axis.position
    if math.isfinite(tenth) and math.isfinite(ninetieth):
        yield _spread_line(position(tenth), position(ninetieth), tooltip)
    if math.isfinite(quarter) and math.isfinite(three_quarters):
        yield _quartile_box(position(quarter), position(three_quarters), tooltip)
    if math.isfinite(median):
        yield _median_tick(position(median), tooltip)


def _spread_line(x_left: float, x_right: float, tooltip: str = "") -> str:
    return stroke("soft", f"M{format_numbers(x_left, 0)}H{format_numbers(x_right)}", tooltip, SOFT, 1.2)


def _quartile_box(x_left: float, x_right: float, tooltip: str = "") -> str:
    look = {"fill": PAPER, "stroke": SOFT}
    width = max(1.0, x_right - x_left)
    return element("rect", "quartiles", tooltip, x=x_left, y=-BOX / 2, width=width, height=BOX, **look)


def _median_tick(x: float, tooltip: str = "") -> str:
    return stroke("median", f"M{format_numbers(x, -BOX / 2 - 1)}v{format_numbers(BOX + 2)}", tooltip, INK, 2)


def _draw_margin(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield what means are near enough to the one that a group's is compared with, around a height of 0."""
    compared = layout.mean_to_compare(group)
    margin = layout.distributions.margin
    if math.isfinite(compared) and math.isfinite(margin) and not group.is_reference:
        low = compared - margin
        high = compared + margin
        yield box(
            "band", layout.axis, low, high, 13, f"allowed: {layout.format(low)} to {layout.format(high)}"
        )


def _draw_mean(group: GroupDistribution, layout: GroupLayout) -> Iterator[str]:
    """Yield the mean of a group, around a height of 0, and how far it is from what it is compared with."""
    axis = layout.axis
    if not math.isfinite(group.mean):
        return
    tooltip = f"{group.name}: {_describe_mean(group, layout)}"
    compared = layout.mean_to_compare(group)
    look: Look = group.look
    if group.is_reference:
        look = "reference"
    elif math.isfinite(compared):
        yield box(f"bar {look}", axis, compared, group.mean, 3, tooltip, COLOURS.get(look, SOFT))
    yield _draw_interval(axis, group, tooltip)
    yield dot(axis, group.mean, look, tooltip)


def _draw_interval(axis: Axis, group: GroupDistribution, tooltip: str) -> str:
    """Return an interval, with an arrow where it ends beyond the axis; nothing where there is none."""
    if math.isnan(group.low) or math.isnan(group.high):
        return ""
    x_left = axis.position(group.low)
    x_right = axis.position(group.high)
    d = f"M{format_numbers(x_left, 0)}H{format_numbers(x_right)}"
    if group.low < axis.low:
        d += f"M{format_numbers(x_left + 4, -3)}l-4 3l4 3"
    else:
        d += f"M{format_numbers(x_left, -3)}v6"
    if group.high > axis.high:
        d += f"M{format_numbers(x_right - 4, -3)}l4 3l-4 3"
    else:
        d += f"M{format_numbers(x_right, -3)}v6"
    return stroke("whisker", d, tooltip, INK, 1.3)


def _notes(groups: Sequence[GroupDistribution], layout: GroupLayout) -> list[str]:
    """Return the lines that say where something is not drawn, or not whole."""
    distributions = layout.distributions
    clauses = []
    if distributions.n_below:
        clauses.append(f"{_lie(distributions.n_below)} below {_format_edge(distributions.edges[0])}")
    if distributions.n_above:
        clauses.append(f"{_lie(distributions.n_above)} beyond {_format_edge(distributions.edges[-1])}")
    sentences = []
    if clauses:
        sentences.append(f"{' and '.join(clauses)}.")
    if distributions.level_names and not layout.axis.names:
        levels = enumerate(distributions.level_names, start=1)
        sentences.append(f"{', '.join(f'{i}: {name}' for i, name in levels)}.")
    if any(_cut_bins(group, layout) for group in groups):
        sentences.append("Bars that are cut have their share of the rows beside them.")
    n_more = len(distributions.groups) - len(groups)
    if n_more:
        sentences.append(f"And {format_count(n_more, 'more group')}: see the table.")
    return wrap(" ".join(sentences), MOST_LETTERS)


def _lie(n_rows: int) -> str:
    """Return so many rows and the verb.

    >>> _lie(1), _lie(2000)
    ('1 row lies', '2,000 rows lie')
    """
    if n_rows == 1:
        return "1 row lies"
    return f"{format_count(n_rows, 'row')} lie"


def _format_edge(value: float) -> str:
    """Write an edge of a bin with the digits it has.

    >>> _format_edge(250000.0), _format_edge(-0.25)
    ('250,000', '−0.25')
    """
    return f"{value:,.12g}".replace("-", "−")


def _format_margin(margin: float, layout: GroupLayout) -> str:
    """Write a margin without the zeros at its end."""
    text = layout.format(margin)
    if "." in text:
        return text.rstrip("0").rstrip(".")
    return text


SAMPLE = 34.0  # the length of a mark in the key
SECOND = 180.0  # where the second half of a line of the key begins
HALF_LINE = 26  # letters of its text


def _key(layout: GroupLayout) -> Iterator[list[str]]:
    """Yield what the marks mean, line by line, each around the foot of its texts."""
    end = SIDE + SAMPLE
    middle = SIDE + SAMPLE / 2
    quantiles = [_spread_line(SIDE, end), _quartile_box(middle - 9, middle + 9), _median_tick(middle - 2)]
    text = "10 to 90 % of the rows, the middle half, the median"
    yield [move_down(-4, *quantiles), text_element("tick", end + 6, 0, text)]
    ends = f"M{format_numbers(SIDE, -3)}v6M{format_numbers(end, -3)}v6"
    interval = stroke("whisker", f"M{format_numbers(SIDE, 0)}H{format_numbers(end)}{ends}", "", INK, 1.3)
    means = []
    if any(math.isfinite(group.mean) for group in layout.distributions.groups):
        means.append(move_down(-4, interval, mark("mark ring", DISC, middle, 0, "")))
        means.append(text_element("tick", end + 6, 0, "mean, its interval"))
    margin = layout.distributions.margin
    if math.isfinite(margin):
        text = f"allowed: up to {_format_margin(margin, layout)} away"
        start = SECOND
        if means and len(text) > HALF_LINE:
            yield means
            means = []
            start = SIDE
        swatch = element("rect", "band", x=start, y=-9.5, width=22, height=11, fill=COLOURS["band"])
        means += [swatch, text_element("tick", start + 28, 0, text)]
    if means:
        yield means
    if layout.reference is not None and len(layout.distributions.groups) > 1:
        name = shorten(layout.reference.name, 14)
        line = []
        start = SIDE
        if math.isfinite(layout.reference_mean):
            start = SECOND
            d = f"M{format_numbers(SIDE, -4)}H{format_numbers(end)}"
            line.append(stroke("ref", d, "", INK, 1.2, DASHES))
            line.append(text_element("tick", end + 6, 0, f"mean of {name}"))
        line.append(stroke("ghost", f"M{format_numbers(start, -4)}h22", "", SOFT, 1, DOTS))
        line.append(text_element("tick", start + 28, 0, f"shape of {name}"))
        yield line


def _describe_mean(group: GroupDistribution, layout: GroupLayout) -> str:
    """Return the mean of a group with its interval, the difference to the reference and the verdict."""
    clauses = []
    if math.isfinite(group.mean):
        text = f"mean {layout.format(group.mean)}"
        if math.isfinite(group.low) and math.isfinite(group.high):
            text += f" ({layout.format(group.low)} to {layout.format(group.high)})"
        clauses.append(text)
    if group.side_text:
        clauses.append(group.side_text)
    if group.look in VERDICTS and not group.is_reference:
        clauses.append(VERDICTS[group.look])
    return ", ".join(clauses)


def _describe_quantiles(group: GroupDistribution, layout: GroupLayout) -> str:
    """Return the quantiles of a group in words, as far as there are any."""
    of_percent = dict(zip(QUANTILES, group.quantiles, strict=True))
    clauses = []
    if math.isfinite(of_percent[50]):
        clauses.append(f"median {layout.format(of_percent[50])}")
    for low, high, rows in ((25, 75, "half of the rows"), (10, 90, "80 %"), (5, 95, "90 %")):
        if math.isfinite(of_percent[low]) and math.isfinite(of_percent[high]):
            ends = f"{layout.format(of_percent[low])} to {layout.format(of_percent[high])}"
            clauses.append(f"{rows} {ends}")
    return ", ".join(clauses)


def _describe_group(group: GroupDistribution, layout: GroupLayout) -> str:
    """Return a group in words: for those who cannot see it."""
    texts = [_describe_mean(group, layout)]
    if math.isfinite(group.quantiles[3]):
        texts.append(f"median {layout.format(group.quantiles[3])}")
    texts.append(format_count(group.n_rows, "row"))
    return f"{group.name}: {', '.join(text for text in texts if text)}"
