"""Measures against a known degree of discrimination: a panel for every P(s=g) and P(+)."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.report.show.figures.canvas import Look, Panel, axis_limits, facet, lay_out_panels
from fairbench_cli.report.show.figures.pages import COLOURS, DASHES

SIDE = 1.3  # of a panel, in inches
ENDS = ((0.0, "v", 0.04, 0.075), (math.inf, "^", 0.96, -0.075))
"""Values that no logarithmic axis has: the marker, how high the first line's is, the step to the next."""


def draw_against_truth(frame: pd.DataFrame, metrics: Sequence[str], subtitle: str) -> Figure:
    """Draw the means of measures over the truth.

    Ratios stand on a logarithmic axis; 0 and ∞ have no place there and are triangles at its ends.

    Parameters
    ----------
    frame : DataFrame
        Columns deprived, accepted, truth, metric, mean.
    metrics : sequence of str
        The lines: all of them ratios, or none.
    subtitle : str
        What the numbers are.
    """
    are_ratios = METRICS[metrics[0]].ratio
    lines = frame[frame["metric"].isin(metrics)].sort_values("truth", kind="stable")
    deprived_shares = sorted(lines["deprived"].unique())
    accepted_shares = sorted(lines["accepted"].unique())
    limits = _limits(lines["mean"].to_numpy(), are_ratios=are_ratios)

    def panel(deprived: float, accepted: float) -> Panel:
        is_in_panel = (lines["deprived"] == deprived) & (lines["accepted"] == accepted)
        draw = partial(_panel, metrics, limits, are_ratios, lines[is_in_panel])
        title = f"P(+) = {accepted:.4g}" if deprived == deprived_shares[0] else ""
        return Panel(draw, title, "true degree", f"P(s=g) = {deprived:.4g}")

    legend: list[tuple[Any, str]] = [(_look(i), metric) for i, metric in enumerate(metrics)]
    legend.append((TARGET, "no discrimination (1)" if are_ratios else "the truth"))
    notes = []
    if are_ratios:
        notes.append("▼ 0 and ▲ infinite: these have no place on a logarithmic axis.")
    return facet(
        "Measures against the true degree of discrimination",
        subtitle,
        lay_out_panels(deprived_shares, accepted_shares, len(accepted_shares), panel),
        len(accepted_shares),
        (SIDE, SIDE),
        legend,
        notes,
        share_axes=True,
    )


# Wide, to be seen next to a line on it.
TARGET: Look = {"color": "#c4c4c4", "lw": 3.6, "solid_capstyle": "butt", "zorder": 2}


def _look(i: int) -> Look:
    """Return how line `i` is drawn; dashes differ, for lines that lie on one another."""
    return {"color": COLOURS[(i + 1) % len(COLOURS)], "ls": DASHES[i % len(DASHES)], "lw": 1.5}


def _limits(means: Floats, *, are_ratios: bool) -> tuple[float, float]:
    """Return the ends of the value axis: whole powers of ten as far down as up, or what the lines need."""
    if not are_ratios:
        return axis_limits(np.concatenate([[-1.0, 1.0], means]), 0.04)
    positive = means[np.isfinite(means) & (means > 0)]
    decades = float(np.ceil(np.abs(np.log10(positive))).max(initial=1.0))
    return 10.0 ** -(decades + 0.5), 10.0 ** (decades + 0.5)


def _powers(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return ticks at every power of ten, and their labels: of the even ones, for 1 is one of them."""
    ticks = []
    labels = []
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        ticks.append(10.0**power)
        labels.append("" if power % 2 else f"{10.0**power:g}")
    return ticks, labels


def _panel(
    metrics: Sequence[str], limits: tuple[float, float], are_ratios: bool, lines: pd.DataFrame, ax: Axes
) -> None:
    """Draw a line for each metric over the truth, and the line that they should be on."""
    if are_ratios:
        ax.set_yscale("log")
        ticks, labels = _powers(*limits)
        ax.set_yticks(ticks, labels)
        ax.axhline(1, **TARGET | {"lw": 2.0})
    else:
        ax.plot([-1, 1], [-1, 1], **TARGET)
    for i, metric in enumerate(metrics):
        line = lines[lines["metric"] == metric]
        _plot_line(ax, i, line["truth"].to_numpy(), line["mean"].to_numpy(), are_ratios=are_ratios)
    ax.set(xlim=(-1.08, 1.08), ylim=limits)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "", "0", "", "1"])
    ax.minorticks_off()


def _plot_line(ax: Axes, i: int, x: Floats, y: Floats, *, are_ratios: bool) -> None:
    """Draw line `i`; a value that the axis does not have leaves a gap, and of ratios is a triangle."""
    on_axis = np.isfinite(y)
    if are_ratios:
        on_axis &= y > 0
    ax.plot(x, np.where(on_axis, y, np.nan), gid=f"line-{i}", zorder=3, **_look(i))
    if not are_ratios:
        return
    look: Look = {"s": 16, "color": _look(i)["color"], "linewidths": 0, "clip_on": False}
    for value, marker, start, step in ENDS:
        x_at_end = x[y == value]
        height = np.full(len(x_at_end), start + i * step)
        ax.scatter(x_at_end, height, marker=marker, transform=ax.get_xaxis_transform(), zorder=4, **look)
