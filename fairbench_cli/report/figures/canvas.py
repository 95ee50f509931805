"""One look for all figures, pages of panels measured in inches, and equal bytes for equal figures."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend_handler import HandlerPatch
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

INK, GREY, PALE = "#1a1a1a", "#5c5c5c", "#e3e3e3"
SMALL, NORMAL, LARGE = 7.5, 8.5, 11.0
DOTS_PER_INCH = 150
UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}

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
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house's style whatever the user's matplotlibrc says, and restore theirs afterwards."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def figure_bytes(figure: Figure, ending: str) -> bytes:
    """Render a figure as ``svg`` or ``png``; equal figures give equal bytes."""
    buffer = BytesIO()
    figure.savefig(buffer, format=ending, dpi=DOTS_PER_INCH, metadata=UNDATED[ending])
    return buffer.getvalue()


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in inches."""
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def wrapped(text: str, room: float, size: float, weight: str = "normal") -> list[str]:
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


@dataclass(frozen=True)
class Grid:
    """How the panels stand.

    Parameters
    ----------
    n, columns : int
        Number of panels, and how many stand side by side.
    width, height : float
        Of one panel's axes, in inches.
    left, below, above : float
        Room around every panel for its tick labels, its axis' name and its title.
    """

    n: int
    columns: int
    width: float
    height: float
    left: float
    below: float
    above: float


def panel_page(
    title: str,
    subtitle: str,
    legend: Sequence[tuple[Any, str]],
    notes: Sequence[str],
    grid: Grid,
    first: float = 0.0,
    last: float = 0.0,
    handle: float = 0.32,
) -> tuple[Figure, list[Axes]]:
    """Make a figure with empty panels.

    Parameters
    ----------
    legend : sequence of (handle, label)
        Set in columns under the subtitle.
    notes : sequence of str
        Set below the panels.
    first, last : float
        More room (inches) left of the first column and below the last row.
    handle : float
        Length of the legend's handles.
    """
    width = max(first + grid.columns * (grid.left + grid.width) + 2 * EDGE, 6.0)
    room = width - 2 * EDGE
    head = wrapped(title, room, LARGE, "bold")
    about = wrapped(subtitle, room, NORMAL)
    foot = [line for note in notes for line in wrapped(note, room, SMALL)]
    columns = _legend_columns([text_width(label, NORMAL) for _, label in legend], room, handle)
    keys = -(-len(legend) // columns)
    top = EDGE + LINE[LARGE] * len(head) + LINE[NORMAL] * (len(about) + keys) + (0.12 if keys else 0.0)
    bottom = EDGE + LINE[SMALL] * len(foot) + (0.05 if foot else 0.0)
    row = grid.above + grid.height + grid.below
    height = top + -(-grid.n // grid.columns) * row + last + bottom
    figure = Figure(figsize=(width, height))
    _lines(figure, head, EDGE, LARGE, weight="bold")
    _lines(figure, about, EDGE + LINE[LARGE] * len(head), NORMAL, color=GREY)
    _lines(figure, foot, height - bottom + 0.05, SMALL, color=GREY)
    if legend:
        figure.legend(
            *zip(*legend, strict=True),
            loc="upper left",
            bbox_to_anchor=(EDGE / width, 1 - (top - LINE[NORMAL] * keys - 0.06) / height),
            ncols=columns,
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
            handler_map={FancyBboxPatch: HandlerPatch(_small_box)},
            columnspacing=SPACE * 72 / NORMAL,
            handlelength=handle * 72 / NORMAL,
            handletextpad=0.6,
        )
    panels = []
    for k in range(grid.n):
        i, j = divmod(k, grid.columns)
        left = EDGE + first + j * (grid.left + grid.width) + grid.left
        low = height - top - i * row - grid.above - grid.height
        panels.append(figure.add_axes((left / width, low / height, grid.width / width, grid.height / height)))
    return figure, panels


def _legend_columns(widths: Sequence[float], room: float, handle: float) -> int:
    """Return the most columns (filled downwards, as matplotlib does) that fit."""
    for n in range(len(widths), 1, -1):
        columns = [max(column) for column in np.array_split(np.array(widths), n)]
        if sum(columns) + n * (handle + 0.07) + (n - 1) * SPACE <= room:
            return n
    return 1


def _small_box(orig_handle: FancyBboxPatch, width: float, height: float, **_: Any) -> FancyBboxPatch:
    """Make a legend's handle for a box, in its own shape (matplotlib would take a rectangle)."""
    return FancyBboxPatch(
        (0, 0), width, height, boxstyle=orig_handle.get_boxstyle(), mutation_scale=72 * height / 30
    )


def _lines(figure: Figure, lines: Sequence[str], top: float, size: float, **look: Any) -> None:
    width, height = figure.get_size_inches()
    for i, line in enumerate(lines):
        y = 1 - (top + LINE[size] * i) / height
        figure.text(EDGE / width, y, line, fontsize=size, va="top", ha="left", **look)
