"""Rates of groups as bars, and their ratios to the reference on a log axis with the τ band."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.document.charts import Axis, ChartRow, Look, box, dot, ratio_axis, row_chart, rule, whisker
from fairbench_cli.document.model import Verdict

UNTESTED: dict[Verdict, Look] = {"pass": "inside", "fail": "outside", "undecided": "undecided"}


@dataclass(frozen=True)
class Bar:
    """One group in a panel.

    Parameters
    ----------
    name, said : str
        The group; and what is written at its right end.
    known : Interval
        Value and interval.
    look : {"pass", "fail", "undecided", "outside", "inside", "reference"}
        Picks colour and mark; the reference, and what chance was not looked at for, is hollow.
    symbol : str
        Before the name.
    """

    name: str
    said: str
    known: Interval
    look: Look
    symbol: str = ""

    @property
    def title(self) -> str:
        """Group and value in words."""
        return f"{self.name}: {self.said}"


def value_panel(title: str, bars: Sequence[Bar], reference: float) -> str:
    """Draw values from 0 on, with a dashed line at the reference's."""
    ends = [x for bar in bars for x in (bar.known.value, bar.known.high) if math.isfinite(x)]
    axis = Axis(0.0, _round_up(max([*ends, 0.0 if math.isnan(reference) else reference])))
    rows = []
    for bar in bars:
        marks = [box("track", axis, axis.low, axis.high, 8, bar.title)]
        if math.isfinite(bar.known.value):
            marks.append(box(f"bar {bar.look}", axis, 0, bar.known.value, 8, bar.title))
            marks.append(whisker(axis, bar.known.low, bar.known.high, bar.title))
        if math.isfinite(reference):
            marks.append(rule("ref", axis, reference, 16, f"reference: {reference:.3f}", "3 2"))
        rows.append(ChartRow(f"{bar.symbol} {bar.name}".strip(), bar.said, marks))
    return row_chart(_all(title, bars), axis, rows)


def ratio_panel(title: str, bars: Sequence[Bar], tau: float) -> str:
    """Draw ratios from 1 on, on a log axis with the band [τ, 1/τ]."""
    axis = ratio_axis(
        [bar.known.value for bar in bars], [x for bar in bars for x in (bar.known.low, bar.known.high)], tau
    )
    rows = []
    for bar in bars:
        marks = [band(axis, tau), rule("one", axis, 1.0, 16, "equal to the reference")]
        if not math.isnan(bar.known.value):
            marks.append(box(f"bar {bar.look}", axis, 1.0, bar.known.value, 8, bar.title))
            marks.append(whisker(axis, bar.known.low, bar.known.high, bar.title))
            marks.append(dot(axis, bar.known.value, bar.look, bar.title))
        rows.append(ChartRow(f"{bar.symbol} {bar.name}".strip(), bar.said, marks))
    return row_chart(_all(title, bars), axis, rows)


def band(axis: Axis, tau: float) -> str:
    """Draw the ratios that are allowed."""
    return box("band", axis, tau, 1 / tau, 18, f"allowed: {tau:.4g} to {1 / tau:.4g}")


def _all(title: str, bars: Sequence[Bar]) -> str:
    return f"{title}: {'; '.join(f'{bar.name} {bar.said}' for bar in bars)}"


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 6, 8 or 10 tenths of a power of ten.

    >>> _round_up(0.31), _round_up(0.0)
    (0.4, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))
    return float(f"{step * power:g}")
