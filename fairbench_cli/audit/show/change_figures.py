"""Ratios before and after as inline SVG: an arrow a group on a log axis, with the τ band."""

import math
from collections.abc import Sequence

from fairbench_cli.audit.judge.report import Change
from fairbench_cli.audit.show.drawing import COLOURS, SIDE, WIDTH, axis_x, picture, short, svg_text
from fairbench_cli.audit.show.format import number

TOP, STEP = 4, 42
MOST_GROUPS = 20  # in a figure; the tables have all
MOST_NAME = 30
MOST_RATIO = 16.0  # ratios beyond it, or below its inverse, are drawn at the edge
TICKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
LOOKS = {"better": ("pass", "✓ better"), "worse": ("fail", "✗ worse"), "undecided": ("undecided", "?")}


def ratio_changes(rows: Sequence[Change]) -> str:
    """Draw the changes of one rate: a ring before, a disc after, an arrow between them, intervals thin."""
    rows = rows[:MOST_GROUPS]
    tau = rows[0].tau
    ends = [
        end
        for row in rows
        for of in (row.ratio_before, row.ratio_after)
        for end in (of.value, of.low, of.high)
    ]
    reach = max([1.25 / tau, 2.0, *(max(x, 1 / x) for x in ends if math.isfinite(x) and x > 0)])
    edge = math.log(min(MOST_RATIO, reach * 1.05))

    def at(value: float) -> float:
        log = -edge if value <= 0 else math.log(value) if math.isfinite(value) else edge
        return SIDE + (WIDTH - 2 * SIDE) * (max(-edge, min(edge, log)) + edge) / (2 * edge)

    parts, said = [], []
    for i, row in enumerate(rows):
        y = TOP + STEP * i + 29.0
        look, word = LOOKS[row.word]
        ratios = " → ".join(number(of.value, 2) for of in (row.ratio_before, row.ratio_after))
        name = row.group if len(row.group) <= MOST_NAME else f"{row.group[: MOST_NAME - 1]}…"
        parts.append(svg_text("name", SIDE, y - 15, name, "start", bold=True))
        parts.append(svg_text("said", WIDTH - SIDE, y - 15, f"{ratios} {word}", "end"))
        said.append(f"{row.group} {ratios} {row.word}")
        left, right = at(tau), at(1 / tau)
        band = f'x="{short(left)}" y="{short(y - 9)}" width="{short(max(1.0, right - left))}" height="18"'
        parts.append(f'<rect class="band" {band} fill="#cfe3f1"/>')
        one = short(at(1.0))
        parts.append(
            f'<line class="one" x1="{one}" x2="{one}" y1="{short(y - 9)}" y2="{short(y + 9)}" '
            'stroke="#222222" stroke-width="1.2"/>'
        )
        if not (math.isnan(row.ratio_before.value) or math.isnan(row.ratio_after.value)):
            parts += _arrow(row, y, look, at(row.ratio_before.value), at(row.ratio_after.value))
            for of, line in ((row.ratio_before, y - 5), (row.ratio_after, y + 5)):
                if not math.isnan(of.low):
                    d = f"M{short(at(of.low))} {short(line)}H{short(at(of.high))}"
                    parts.append(
                        f'<path class="whisker" d="{d}" stroke="#222222" stroke-width="1" fill="none"/>'
                    )
    bottom = TOP + STEP * len(rows)
    shown = [x for x in TICKS if abs(math.log(x)) <= edge]
    ticks = [(at(x), number(x, 2).rstrip("0").rstrip(".")) for x in shown[:: 1 if len(shown) <= 7 else 2]]
    parts.append(axis_x(ticks, bottom))
    key = "ring: before; mark: after; shaded: from τ to 1/τ"
    parts.append(svg_text("tick", SIDE, bottom + 31, key, "start"))
    return picture("; ".join(said), bottom + 38, parts)


def _arrow(row: Change, y: float, look: str, first: float, last: float) -> list[str]:
    """Return the ring before, the mark after, and a line between them."""
    colour = COLOURS[look]  # type: ignore[index]
    mark = (
        f'<path class="mark {look}" d="M{short(last)} {short(y)}l5 5l-5 5l-5 -5z"'
        if row.word == "worse"
        else f'<circle class="mark {look}" cx="{short(last)}" cy="{short(y + 5)}" r="4"'
    )
    return [
        f'<path class="{look}" d="M{short(first)} {short(y - 5)}L{short(last)} {short(y + 5)}" '
        f'stroke="{colour}" stroke-width="2"/>',
        f'<circle class="mark ring" cx="{short(first)}" cy="{short(y - 5)}" r="4" fill="#ffffff" '
        'stroke="#222222" stroke-width="1.2"/>',
        f'{mark} fill="{colour}" stroke="#222222" stroke-width="1.2"/>',
    ]
