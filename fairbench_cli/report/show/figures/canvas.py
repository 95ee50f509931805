"""One look for all figures, pages of panels measured in inches, marks with intervals, and equal bytes.

Every figure is a `facet`: rows and columns of panels under one title, with a legend and notes.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend_handler import HandlerPatch
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

INK = "#1a1a1a"
GREY = "#5c5c5c"
PALE = "#e3e3e3"
SMALL = 7.5
NORMAL = 8.5
LARGE = 11.0
DOTS_PER_INCH = 150
# By the ending of a file, what says when and by what it was made.
UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
TITLE = "title"  # names the title and what stands under it
IDEAL: dict[str, Any] = {"color": GREY, "lw": 0.8, "ls": "--", "zorder": 1}

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": NORMAL,
    "text.hinting": "none",  # letters of a PNG are as wide as `text_width` says
    "text.parse_math": False,  # a dollar sign in a column's name is a dollar sign
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": NORMAL,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.frameon": False,
    "legend.fontsize": NORMAL,
    "svg.fonttype": "path",  # the same in every browser, whatever fonts it has
    "svg.hashsalt": "fairbench",
    "pdf.fonttype": 42,  # outlines, which printers and editors take
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house's style whatever the user's matplotlibrc says, and restore theirs afterwards."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def figure_bytes(figure: Figure, ending: str, *, titles: bool = True) -> bytes:
    """Render a figure as ``svg``, ``png`` or ``pdf``; equal figures give equal bytes.

    Without `titles` the title and what stands under it are cut off, down to the legend or the panels.
    """
    width, height = figure.get_size_inches()
    box = None
    title_texts = [text for text in figure.texts if text.get_gid() == TITLE and not titles]
    if title_texts:
        lower_ends = []
        for text in title_texts:
            text.set_visible(False)
            lower_ends.append(text.get_position()[1] * height - LINE[float(text.get_fontsize())])
        box = Bbox([(0, 0), (width, min(height, min(lower_ends) + EDGE))])
    buffer = BytesIO()
    figure.savefig(buffer, format=ending, dpi=DOTS_PER_INCH, metadata=UNDATED[ending], bbox_inches=box)
    return buffer.getvalue()


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in inches."""
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def wrap_text(text: str, room: float, size: float, weight: str = "normal") -> list[str]:
    """Break a text into lines no wider than `room` inches, at blanks where there are some."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, weight) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


EDGE = 0.12
LINE = {SMALL: 0.155, NORMAL: 0.175, LARGE: 0.225}
SPACE = 0.2


Row = TypeVar("Row")
Column = TypeVar("Column")
Look = dict[str, Any]  # how a line, a dot or an area is drawn, in matplotlib's words
APART = (0.0, 0.0, 0.68, 0.42)  # margins left of and below all panels, and left of and below each
TOGETHER = (0.46, 0.36, 0.17, 0.1)


@dataclass(frozen=True)
class Panel:
    """What is drawn into a panel, what stands above it, and what its axes are called."""

    draw: Callable[[Axes], None]
    title: str = ""
    x: str = ""
    y: str = ""


def facet(
    title: str,
    subtitle: str,
    panels: Sequence[Panel | None],
    columns: int,
    panel_size: tuple[float, float],
    legend: Sequence[tuple[Any, str]] = (),
    notes: Sequence[str] = (),
    *,
    share_axes: bool = False,
    margins: tuple[float, float, float, float] | None = None,
    handle_length: float = 0.32,
) -> Figure:
    """Draw panels in rows and columns, on a page that is as large as they need.

    Parameters
    ----------
    panels : sequence of (Panel or None)
        Row by row; None leaves a place empty.
    panel_size : pair of float
        Width and height of each panel's axes; all lengths are in inches.
    legend : sequence of (handle, label)
        Set in columns under what the figure is about; a handle is an artist or the `Look` of a line.
    notes : sequence of str
        Set below the panels.
    share_axes : bool
        Whether the axes are, so that numbers and names stand at the outer sides alone.
    margins : four floats, optional
        Left of the first column, below the last row, left of every panel and below it; for names and numbers.
    handle_length : float
        Length of the legend's handles.
    """
    page_left, page_bottom, panel_left, panel_bottom = margins or (TOGETHER if share_axes else APART)
    panel_width, panel_height = panel_size
    # 1. The page is as wide as its panels need; texts and the legend are broken at that.
    width = max(page_left + columns * (panel_left + panel_width) + 2 * EDGE, 6.0)
    text_room = width - 2 * EDGE
    title_lines = wrap_text(title, text_room, LARGE, "bold")
    subtitle_lines = wrap_text(subtitle, text_room, NORMAL)
    note_lines = []
    for note in notes:
        note_lines += wrap_text(note, text_room, SMALL)
    label_widths = [text_width(label, NORMAL) for _, label in legend]
    legend_columns = _legend_columns(label_widths, text_room, handle_length)
    legend_rows = -(-len(legend) // legend_columns)
    # 2. It is as high as all that and its rows of panels, each below the longest of its panels' titles.
    top = EDGE + LINE[LARGE] * len(title_lines) + LINE[NORMAL] * (len(subtitle_lines) + legend_rows)
    if legend:
        top += 0.12
    bottom = EDGE + LINE[SMALL] * len(note_lines)
    if note_lines:
        bottom += 0.05
    panel_titles = []
    for panel in panels:
        if panel is not None and panel.title:
            panel_titles.append(wrap_text(panel.title, panel_width, NORMAL, "bold"))
        else:
            panel_titles.append([])
    row_heights = []
    for i in range(0, len(panels), columns):
        n_lines = max(map(len, panel_titles[i : i + columns]))
        row_heights.append(0.12 + 0.165 * n_lines + panel_height + panel_bottom)
    row_ends = top + np.cumsum(row_heights)  # from the top of the page
    height = row_ends[-1] + page_bottom + bottom
    # 3. The texts and the legend.
    figure = Figure(figsize=(width, height))
    _write_lines(figure, title_lines, EDGE, LARGE, weight="bold", gid=TITLE)
    subtitle_top = EDGE + LINE[LARGE] * len(title_lines)
    _write_lines(figure, subtitle_lines, subtitle_top, NORMAL, color=GREY, gid=TITLE)
    _write_lines(figure, note_lines, height - bottom + 0.05, SMALL, color=GREY)
    if legend:
        handles = []
        for handle, _ in legend:
            handles.append(Line2D([], [], **handle) if isinstance(handle, dict) else handle)
        figure.legend(
            handles,
            [label for _, label in legend],
            loc="upper left",
            bbox_to_anchor=(EDGE / width, 1 - (top - LINE[NORMAL] * legend_rows - 0.06) / height),
            ncols=legend_columns,
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
            handler_map={FancyBboxPatch: HandlerPatch(_small_box)},
            columnspacing=SPACE * 72 / NORMAL,
            handlelength=handle_length * 72 / NORMAL,
            handletextpad=0.6,
        )
    # 4. The panels.
    for k, panel in enumerate(panels):
        if panel is None:
            continue
        i, j = divmod(k, columns)
        x_left = EDGE + page_left + j * (panel_left + panel_width) + panel_left
        lower_end = height - row_ends[i] + panel_bottom
        corner_and_size = (x_left / width, lower_end / height, panel_width / width, panel_height / height)
        ax = figure.add_axes(corner_and_size)
        at_left = j == 0 or not share_axes
        at_bottom = k + columns >= len(panels) or not share_axes
        ax.tick_params(length=2, labelleft=at_left, labelbottom=at_bottom)
        ax.set_title("\n".join(panel_titles[k]), loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        ax.set_xlabel(panel.x if at_bottom else "")
        ax.set_ylabel(panel.y if at_left else "")
        panel.draw(ax)
    return figure


def lay_out_panels(
    rows: Sequence[Row], columns: Sequence[Column], across: int, panel: Callable[[Row, Column], Panel]
) -> list[Panel | None]:
    """Return the panels of rows and columns for `facet`: all rows of the first `across` columns, then on.

    Where fewer than `across` columns are left, the rows end with None.
    """
    panels: list[Panel | None] = []
    for start in range(0, len(columns), across):
        columns_of_block = columns[start : start + across]
        for row in rows:
            panels += [panel(row, column) for column in columns_of_block]
            panels += [None] * (across - len(columns_of_block))
    return panels


MeanAndEnds = Mapping[str, Any]  # mean, low and high, each a number or an array


def dot_look(colour: str, marker: str, size: float) -> Look:
    """Return how a filled mark is drawn, with a white edge that tells it from those below it."""
    return {"color": colour, "marker": marker, "ms": size, "mec": "white", "mew": 0.4}


def without_interval(values: Any) -> MeanAndEnds:
    """Return values that have no interval."""
    return {"mean": values, "low": values, "high": values}


def plot_dots(
    ax: Axes, x: MeanAndEnds, y: MeanAndEnds, gid: str, look: Look, line: str = "", **extra: Any
) -> None:
    """Draw marks at means, with their intervals in both directions; perhaps joined by a line."""
    interval_look: Look = {"color": look["color"], "lw": 1.1, "zorder": 3.5} | extra
    ax.hlines(y["mean"], x["low"], x["high"], **interval_look)
    ax.vlines(x["mean"], y["low"], y["high"], **interval_look)
    mark_look: Look = {"zorder": 4} | look | extra | {"ls": line, "gid": gid}
    ax.plot(np.atleast_1d(x["mean"]), np.atleast_1d(y["mean"]), **mark_look)


def plot_band(ax: Axes, x: Any, y: MeanAndEnds, gid: str, look: Look, alpha: float = 0.2) -> None:
    """Draw a line of means in a band of intervals."""
    ax.fill_between(x, y["low"], y["high"], color=look["color"], alpha=alpha, lw=0, zorder=1.5)
    ax.plot(x, y["mean"], **look | {"gid": gid, "zorder": 3})


def axis_limits(values: Any, room: float, least: float = 0.01) -> tuple[float, float]:
    """Return the ends of an axis with room around all finite values, as a share of their span.

    >>> axis_limits([1.0, 2.0, float("nan")], 0.5), axis_limits([], 0.1)
    ((0.5, 2.5), (-0.1, 1.1))
    """
    finite = np.array([value for value in np.ravel(values) if np.isfinite(value)] or [0.0, 1.0])
    low = float(finite.min())
    high = float(finite.max())
    margin = room * max(high - low, least)
    return low - margin, high + margin


def _legend_columns(widths: Sequence[float], room: float, handle: float) -> int:
    """Return the most columns (filled downwards, as matplotlib does) that fit."""
    for n in range(len(widths), 1, -1):
        column_widths = [max(column) for column in np.array_split(np.array(widths), n)]
        if sum(column_widths) + n * (handle + 0.07) + (n - 1) * SPACE <= room:
            return n
    return 1


def _small_box(orig_handle: FancyBboxPatch, width: float, height: float, **_: Any) -> FancyBboxPatch:
    """Make a legend's handle for a box, in its own shape (matplotlib would take a rectangle)."""
    return FancyBboxPatch(
        (0, 0), width, height, boxstyle=orig_handle.get_boxstyle(), mutation_scale=72 * height / 30
    )


def _write_lines(figure: Figure, lines: Sequence[str], top: float, size: float, **look: Any) -> None:
    width, height = figure.get_size_inches()
    for i, line in enumerate(lines):
        y = 1 - (top + LINE[size] * i) / height
        figure.text(EDGE / width, y, line, fontsize=size, va="top", ha="left", **look)
