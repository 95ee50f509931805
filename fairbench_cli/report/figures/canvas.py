"""One look for all figures, and files that depend on nothing but what is drawn."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY, PALE = "#1a1a1a", "#5c5c5c", "#e3e3e3"
SMALL, NORMAL, LARGE = 7.5, 8.5, 11.0
DOTS_PER_INCH = 150
UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": NORMAL,
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
    """Draw in the house's style whatever the user's matplotlibrc says, and put theirs back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def figure_bytes(figure: "Figure", ending: str) -> bytes:
    """Render a figure as ``svg`` or ``png``; equal figures give equal bytes."""
    buffer = BytesIO()
    figure.savefig(buffer, format=ending, dpi=DOTS_PER_INCH, metadata=UNDATED[ending])
    return buffer.getvalue()


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

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
