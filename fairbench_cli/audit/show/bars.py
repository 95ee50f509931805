"""Bars as inline SVG: values of groups, and ratios to the reference on a log axis with the τ band.

Colours are given as attributes, for printers, and as classes, which a page's style may lay over them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from fairbench_cli.audit.judge.report import Interval
from fairbench_cli.audit.show.format import number
from fairbench_cli.document.model import Verdict

WIDTH, STEP, TOP, SIDE = 360, 38, 4, 8
INNER = WIDTH - 2 * SIDE
MOST = 16.0  # ratios beyond it, or below its inverse, are drawn at the edge
MOST_NAME = 34  # characters of a group's name
# How a group looks: by its verdict; outside or inside of τ, where chance was not looked at; the reference.
Look = Literal["pass", "fail", "undecided", "outside", "inside", "reference"]
UNTESTED: dict[Verdict, Look] = {"pass": "inside", "fail": "outside", "undecided": "undecided"}
COLOURS: dict[Look, str] = {
    "pass": "#0072b2",
    "fail": "#c44e00",
    **dict.fromkeys(("undecided", "outside", "inside", "reference"), "#767676"),
}
HOLLOW = ("outside", "inside", "reference")
TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Bar:
    """One group in a panel.

    Parameters
    ----------
    name, said : str
        The group; and what is written at its right end.
    of : Interval
        Value and interval.
    look : {"pass", "fail", "undecided", "outside", "inside", "reference"}
        Picks colour and mark; the reference, and what chance was not looked at for, is hollow.
    symbol : str
        Before the name.
    """

    name: str
    said: str
    of: Interval
    look: Look
    symbol: str = ""


def value_panel(title: str, bars: Sequence[Bar], reference: float) -> str:
    """Draw values from 0 on, with a dashed line at the reference's."""
    ends = [x for bar in bars for x in (bar.of.value, bar.of.high) if math.isfinite(x)]
    top = _round_up(max([*ends, 0.0 if math.isnan(reference) else reference]))
    parts = [_axis([(_place(x, top), f"{x:g}") for x in (0.0, top / 2, top)], len(bars))]
    for i, bar in enumerate(bars):
        y = _y(i)
        parts.append(_label(bar, i))
        parts.append(_rect("track", SIDE, y - 4, INNER, 8, "#ececec"))
        if math.isfinite(bar.of.value):
            x = _place(bar.of.value, top)
            parts.append(_rect(f"bar {bar.look}", SIDE, y - 4, x - SIDE, 8, COLOURS[bar.look]))
            parts.append(_whisker(bar.of, y, lambda value: _place(value, top)))
        if math.isfinite(reference):
            parts.append(_vertical("ref", _place(reference, top), y, "#222222", dashed=True))
    return _svg(title, bars, parts)


def ratio_panel(title: str, bars: Sequence[Bar], tau: float) -> str:
    """Draw ratios from 1 on, on a log axis with the band [τ, 1/τ]."""
    ratios = [x for bar in bars for x in (bar.of.value, bar.of.low, bar.of.high)]
    reach = max([1 / tau * 1.25, 2.0, *(max(x, 1 / x) for x in ratios if math.isfinite(x) and x > 0)])
    unbounded = any(bar.of.value == 0 or math.isinf(bar.of.value) for bar in bars)
    edge = math.log(MOST if unbounded else min(MOST, reach * 1.05))

    def at(value: float) -> float:
        log = -edge if value <= 0 else edge if math.isinf(value) else math.log(value)
        return SIDE + INNER * (max(-edge, min(edge, log)) + edge) / (2 * edge)

    ticks = [(at(x), number(x, 2).rstrip("0").rstrip(".")) for x in TICKS if abs(math.log(x)) <= edge]
    parts = [_axis(_spaced(ticks), len(bars))]
    for i, bar in enumerate(bars):
        y = _y(i)
        parts.append(_label(bar, i))
        parts.append(_rect("band", at(tau), y - 8, max(1.0, at(1 / tau) - at(tau)), 16, "#cfe3f1"))
        parts.append(_vertical("one", at(1.0), y, "#222222"))
        if not math.isnan(bar.of.value):
            x, one = at(bar.of.value), at(1.0)
            parts.append(_rect(f"bar {bar.look}", min(x, one), y - 4, abs(x - one), 8, COLOURS[bar.look]))
            parts.append(_whisker(bar.of, y, at))
            parts.append(_mark(bar, x, y))
    return _svg(title, bars, parts)


def _spaced(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave ticks out that would run into another, from the middle outwards."""
    middle = WIDTH / 2
    kept: list[tuple[float, str]] = []
    for x, text in sorted(ticks, key=lambda tick: (abs(tick[0] - middle), tick[0])):
        if all(abs(x - other) >= 40 for other, _ in kept):
            kept.append((x, text))
    return sorted(kept)


def _round_up(value: float) -> float:
    """Round up to 1, 2 or 5 tenths of a power of ten.

    >>> _round_up(0.31), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))
    return float(f"{step * power:g}")


def _place(value: float, top: float) -> float:
    return SIDE + INNER * max(0.0, min(1.0, value / top))


def _y(i: int) -> float:
    return TOP + STEP * i + 26


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _rect(kind: str, x: float, y: float, width: float, height: float, fill: str) -> str:
    at = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<rect class="{kind}" {at} fill="{fill}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="11" '
        f'font-weight="{weight}" font-family="system-ui, sans-serif" fill="#222222">{escape(text)}</text>'
    )


def _label(bar: Bar, i: int) -> str:
    name = bar.name if len(bar.name) <= MOST_NAME else f"{bar.name[: MOST_NAME - 1]}…"
    y = TOP + STEP * i + 13
    return _text("name", SIDE, y, f"{bar.symbol} {name}".strip(), "start", "bold") + _text(
        "said", WIDTH - SIDE, y, bar.said, "end"
    )


def _vertical(kind: str, x: float, y: float, colour: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="3 2"' if dashed else ""
    return (
        f'<line class="{kind}" x1="{_n(x)}" x2="{_n(x)}" y1="{_n(y - 8)}" y2="{_n(y + 8)}" '
        f'stroke="{colour}" stroke-width="1.2"{dash}/>'
    )


def _whisker(of: Interval, y: float, at: Callable[[float], float]) -> str:
    if math.isnan(of.low) or math.isnan(of.high):
        return ""
    low, high = _n(at(of.low)), _n(at(of.high))
    path = f"M{low} {_n(y)}H{high}M{low} {_n(y - 4)}v8M{high} {_n(y - 4)}v8"
    return f'<path class="whisker" d="{path}" stroke="#222222" stroke-width="1.4" fill="none"/>'


def _mark(bar: Bar, x: float, y: float) -> str:
    if bar.look in ("fail", "outside"):
        shape = f'<path class="mark" d="M{_n(x)} {_n(y - 6)}l6 6l-6 6l-6 -6z"'
    else:
        shape = f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="4.5"'
    fill, kind = ("#ffffff", "ring") if bar.look in HOLLOW else (COLOURS[bar.look], bar.look)
    return f'{shape.replace("mark", f"mark {kind}", 1)} fill="{fill}" stroke="#222222" stroke-width="1.2"/>'


def _axis(ticks: Sequence[tuple[float, str]], n: int) -> str:
    bottom = TOP + STEP * n
    line = (
        f'<path class="axis" d="M{SIDE} {bottom}H{WIDTH - SIDE}'
        + "".join(f"M{_n(x)} {bottom}v4" for x, _ in ticks)
        + '" stroke="#767676" fill="none"/>'
    )
    return line + "".join(_text("tick", x, bottom + 15, text, _anchor(x)) for x, text in ticks)


def _anchor(x: float) -> str:
    return "start" if x < SIDE + 10 else "end" if x > WIDTH - SIDE - 10 else "middle"


def _svg(title: str, bars: Sequence[Bar], parts: Sequence[str]) -> str:
    height = TOP + STEP * len(bars) + 20
    each = "; ".join(f"{bar.name} {bar.said}" for bar in bars)
    return (
        f'<svg role="img" aria-label="{escape(f"{title}: {each}")}" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
