"""Parts of inline SVG: a picture, its texts, an axis.

Colours are given as attributes, for printers, and as classes, which the page's style may lay over them.
"""

from collections.abc import Sequence
from html import escape

from fairbench_cli.document.model import Verdict

WIDTH, SIDE = 360, 12
COLOURS: dict[Verdict, str] = {"pass": "#0072b2", "fail": "#c44e00", "undecided": "#767676"}

Ticks = Sequence[tuple[float, str]]


def picture(title: str, height: float, parts: Sequence[str]) -> str:
    """Return an SVG; the title is for those who cannot see it."""
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {short(height)}" width="{WIDTH}" '
        f'height="{short(height)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def axis_x(ticks: Ticks, bottom: float, left: float = SIDE) -> str:
    """Return an axis with texts at its ticks."""
    path = "".join(f"M{short(x)} {short(bottom)}v4" for x, _ in ticks)
    ends = f"M{short(left)} {short(bottom)}H{WIDTH - SIDE}"
    line = f'<path class="axis" d="{ends}{path}" stroke="#767676" fill="none"/>'
    return line + "".join(svg_text("tick", x, bottom + 15, text, side_of(x)) for x, text in ticks)


def side_of(x: float) -> str:
    """Return the side of a text that is at x, such that it stays in the picture."""
    return "start" if x < SIDE + 14 else "end" if x > WIDTH - SIDE - 14 else "middle"


def svg_text(kind: str, x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    """Return a text."""
    weight = "bold" if bold else "normal"
    return (
        f'<text class="{kind}" x="{short(x)}" y="{short(y)}" text-anchor="{anchor}" font-size="11" '
        f'font-weight="{weight}" font-family="system-ui, sans-serif" fill="#222222">{escape(text)}</text>'
    )


def short(value: float) -> str:
    """Write a place with at most two decimals.

    >>> short(12.0), short(0.126)
    ('12', '0.13')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
