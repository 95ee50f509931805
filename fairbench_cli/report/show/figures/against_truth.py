"""Measures against a known degree of discrimination: a panel for every P(s=g) and P(+)."""

import math
from collections.abc import Sequence
from functools import partial

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
"""What no logarithmic axis has: its marker, how high the first line's is, the step to the next."""


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
    ratios = METRICS[metrics[0]].ratio
    own = frame[frame["metric"].isin(metrics)].sort_values("truth", kind="stable")
    rows, columns = (sorted(own[axis].unique()) for axis in ("deprived", "accepted"))
    limits = _limits(own["mean"].to_numpy(), ratios=ratios)

    def panel(deprived: float, accepted: float) -> Panel:
        here = own[(own["deprived"] == deprived) & (own["accepted"] == accepted)]
        if deprived == rows[0]:
            title = f"P(+) = {accepted:.4g}"
        else:
            title = ""
        draw = partial(_panel, metrics, limits, ratios, here)
        return Panel(draw, title, "true degree", f"P(s=g) = {deprived:.4g}")

    return facet(
        "Measures against the true degree of discrimination",
        subtitle,
        lay_out_panels(rows, columns, len(columns), panel),
        len(columns),
        (SIDE, SIDE),
        [
            *((_look(i), metric) for i, metric in enumerate(metrics)),
            (TARGET, "no discrimination (1)" if ratios else "the truth"),
        ],
        ["▼ 0 and ▲ infinite: these have no place on a logarithmic axis."] if ratios else [],
        share_axes=True,
    )


# Wide, to be seen next to a line on it.
TARGET: Look = {"color": "#c4c4c4", "lw": 3.6, "solid_capstyle": "butt", "zorder": 2}


def _look(i: int) -> Look:
    """Return how line `i` is drawn; dashes differ, for lines that lie on one another."""
    return {"color": COLOURS[(i + 1) % len(COLOURS)], "ls": DASHES[i % len(DASHES)], "lw": 1.5}


def _limits(means: Floats, *, ratios: bool) -> tuple[float, float]:
    """Return the ends of the value axis: whole powers of ten as far down as up, or what the lines need."""
    if not ratios:
        return axis_limits([-1.0, 1.0, *means], 0.04)
    drawn = means[np.isfinite(means) & (means > 0)]
    decades = max([1, *np.ceil(np.abs(np.log10(drawn)))])
    return 10.0 ** -(decades + 0.5), 10.0 ** (decades + 0.5)


def _powers(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return ticks at every power of ten, the even ones named, for 1 is one of them."""
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**power for power in powers], ["" if power % 2 else f"{10.0**power:g}" for power in powers]


def _panel(
    metrics: Sequence[str], limits: tuple[float, float], ratios: bool, panel: pd.DataFrame, ax: Axes
) -> None:
    if ratios:
        ax.set_yscale("log")
        ax.set_yticks(*_powers(*limits))
        ax.axhline(1, **TARGET | {"lw": 2.0})
    else:
        ax.plot([-1, 1], [-1, 1], **TARGET)
    for i, metric in enumerate(metrics):
        line = panel[panel["metric"] == metric]
        _line(ax, i, line["truth"].to_numpy(), line["mean"].to_numpy(), ratios=ratios)
    ax.set(xlim=(-1.08, 1.08), ylim=limits)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "", "0", "", "1"])
    ax.minorticks_off()


def _line(ax: Axes, i: int, x: Floats, y: Floats, *, ratios: bool) -> None:
    there = np.isfinite(y) & ((y > 0) | (not ratios))
    ax.plot(x, np.where(there, y, np.nan), gid=f"line-{i}", zorder=3, **_look(i))
    look: Look = {"s": 16, "color": _look(i)["color"], "linewidths": 0, "clip_on": False}
    for value, marker, first, step in ENDS if ratios else ():
        at = x[y == value]
        height = np.full(len(at), first + i * step)
        ax.scatter(at, height, marker=marker, transform=ax.get_xaxis_transform(), zorder=4, **look)
