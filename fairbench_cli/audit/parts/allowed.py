"""How large a gap is, and what is allowed: a ratio and its τ, or a difference and its margin."""

import math
from collections.abc import Iterable
from typing import Any, TypeGuard

from fairbench_cli.audit.compare.report import Disparity, Interval
from fairbench_cli.audit.parts import formatting
from fairbench_cli.document.charts import Axis, box, ratio_axis, rule
from fairbench_cli.document.model import TableCell

ROOM = 1.05  # of an axis of differences, beyond what is farthest out


def has_margin(margin: float | None) -> TypeGuard[float]:
    """Return whether it is a margin: NaN is of a rate that goes by τ, None of an audit without margins."""
    return margin is not None and not math.isnan(margin)


def gap_of(row: Disparity) -> Interval:
    """Return the number that a comparison is judged by: its ratio, or its difference."""
    if has_margin(row.margin):
        return row.difference
    return row.ratio


def name_gaps(rows: Iterable[Any]) -> str:
    """Return the name of the number that comparisons are judged by: a ratio, a difference, or either."""
    kinds = {has_margin(row.margin) for row in rows}
    if kinds == {True}:
        return "difference"
    if kinds == {True, False}:
        return "ratio or difference"
    return "ratio"


def describe_against(rows: Iterable[Disparity]) -> str:
    """Return the name of that number, and of what it is to: "ratio to the reference"."""
    name = name_gaps(rows)
    if name == "ratio":
        return "ratio to the reference"
    return f"{name} from the reference"


def gap_cell(row: Disparity, digits: int = 3) -> TableCell:
    """Return the number that a comparison is judged by, with its interval in small print."""
    if has_margin(row.margin):
        text = formatting.difference(row.difference.value, row.margin)
        return TableCell(text, formatting.interval(row.difference, digits), row.difference.value)
    return formatting.ratio_cell(row.ratio, row.tau, digits)


def describe_gap_briefly(row: Disparity, estimate: Interval | None = None) -> str:
    """Return the number in a few words: "1.92 times", "+13.4 points"; empty where there is none.

    `estimate` is another one than that of the row, such as of one slice.
    """
    shown = estimate or gap_of(row)
    if math.isnan(shown.value):
        return ""
    if has_margin(row.margin):
        return f"{formatting.points(shown.value, row.margin)} points"
    return f"{formatting.ratio(shown.value, row.tau, 2)} times"


def format_limits(tau: float) -> str:
    """Return the limits of a ratio.

    >>> format_limits(0.8), format_limits(0.9)
    ('0.8 to 1.25', '0.9 to 1.11')
    """
    return f"{tau:g} to {1 / tau:.3g}"


def format_margin(margin: float) -> str:
    """Return a margin of rates in points.

    >>> format_margin(0.05), format_margin(0.01)
    ('5 points', '1 point')
    """
    text = f"{100 * margin:.6g}"
    if text == "1":
        return "1 point"
    return f"{text} points"


def format_allowed(tau: float, margin: float | None) -> str:
    """Return the limits of a ratio, or the margin, as the end of "within the …".

    >>> format_allowed(0.8, None), format_allowed(math.nan, 0.05)
    ('0.8 to 1.25', '5 points')
    """
    if has_margin(margin):
        return format_margin(margin)
    return format_limits(tau)


def is_measured_within(row: Disparity) -> bool:
    """Return whether the gap of all rows, as measured, is allowed."""
    if has_margin(row.margin):
        return abs(row.difference.value) <= row.margin
    return row.tau <= row.ratio.value <= 1 / row.tau


def allowed_rates(row: Disparity) -> tuple[float, float]:
    """Return from which rate to which a group is allowed, given its reference's."""
    reference = row.reference_value
    if has_margin(row.margin):
        return max(0.0, reference - row.margin), min(1.0, reference + row.margin)
    return row.tau * reference, min(1.0, reference / row.tau)


def gap_axis(rows: Iterable[Interval], tau: float, margin: float | None) -> Axis:
    """Return an axis with room for what is allowed, for gaps and their limits; ratios have a log scale."""
    estimates = list(rows)
    values = [estimate.value for estimate in estimates]
    limits = [estimate.low for estimate in estimates] + [estimate.high for estimate in estimates]
    if not has_margin(margin):
        return ratio_axis(values, limits, tau)
    farthest = 1.25 * margin
    for value in values + limits:
        if math.isfinite(value):
            farthest = max(farthest, abs(value))
    return Axis(-ROOM * farthest, ROOM * farthest)


def equal_gap(margin: float | None) -> float:
    """Return the gap of equal rates: a difference of 0, a ratio of 1."""
    if has_margin(margin):
        return 0.0
    return 1.0


def draw_allowed(axis: Axis, tau: float, margin: float | None, height: float) -> list[str]:
    """Draw the band of what is allowed, and equal rates."""
    if has_margin(margin):
        text = f"allowed: {format_margin(margin)} either way"
        drawn = box("band", axis, -margin, margin, 18, text)
    else:
        drawn = box("band", axis, tau, 1 / tau, 18, f"allowed: {tau:.4g} to {1 / tau:.4g}")
    return [drawn, rule("one", axis, equal_gap(margin), height, "equal to the reference")]
