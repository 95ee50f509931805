"""Tuning: the metric over the parameter, and accuracy against fairness."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.report.figures.canvas import GREY, NORMAL, SMALL, Grid, panel_page, wrapped
from fairbench_cli.report.figures.parts import Part, parts_by_slug
from fairbench_cli.report.repeats import key_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tuning import TunedCell, tuned_cells

MEAN: dict[str, Any] = {"color": "#0072B2", "lw": 1.6, "zorder": 3}
ONE: dict[str, Any] = {"color": "#9cc3dd", "lw": 0.6, "zorder": 2}
CHOSEN: dict[str, Any] = {"color": "#D55E00", "marker": "o", "ms": 4, "ls": "", "mec": "white", "mew": 0.4}
PLAIN: dict[str, Any] = {"color": GREY, "lw": 0.8, "ls": "--", "zorder": 1}
FAIR = "impact-ratio"
WIDE = 100  # a grid that spans more than this is drawn on a log scale
MOST_TICKS = 6
COLUMNS = 4


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, classifier and β: a column for each tuned technique.

    Above, the metric that was tuned for over the parameter, on the rows that the best value was chosen on;
    below, accuracy against the impact ratio of the same candidates. Techniques of which more than one
    parameter is tuned, or one that is no number, are left out.
    """
    tuned = {key_of(one.cell): one for one in tuned_cells(run) if numbers_of(one)}
    figures = {}
    for slug, part in parts_by_slug(run).items():
        for beta in part.betas:
            own = {t.label: tuned.get(part.key(t, beta)) for t in part.techniques}
            shown = {label: one for label, one in own.items() if one is not None}
            if shown:
                name = f"{slug}-beta-{beta:g}" if len(part.betas) > 1 else slug
                figures[name] = _figure(part, beta, shown)
    return figures


def numbers_of(tuned: TunedCell) -> tuple[float, ...]:
    """Return the values of the one parameter that is tuned; nothing where they are several or no numbers."""
    over = tuned.tuning.over
    values = over[0][1] if len(over) == 1 else ()
    right = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return values if right else ()


def _figure(part: Part, beta: float, shown: dict[str, TunedCell]) -> Figure:
    columns = min(len(shown), COLUMNS)
    rows = -(-len(shown) // columns)
    width = {1: 4.6, 2: 3.0}.get(columns, 2.2)
    titles = [wrapped(label, width, NORMAL, "bold") for label in shown]
    title = f"Tuning: {part.title}"
    several = len(part.betas) > 1
    figure, panels = panel_page(
        f"{title}, β = {beta:g}" if several else title,
        "On the rows that the best value was chosen on. Upper panels: the metric that was tuned for. Lower "
        "panels: accuracy against the impact ratio of the same candidates, from the first to the last value.",
        [
            (Line2D([], [], **ONE), "one repeat"),
            (Line2D([], [], **MEAN), "mean"),
            (Line2D([], [], **CHOSEN), "chosen in a repeat"),
            (Line2D([], [], **PLAIN), "ideal"),
        ],
        [],
        Grid(2 * rows * columns, columns, width, 1.7, 0.62, 0.45, 0.1 + 0.165 * max(map(len, titles))),
    )
    cells = list(shown.values())
    for place, ax in enumerate(panels):
        row, column = divmod(place, columns)
        at = row // 2 * columns + column
        if at >= len(cells):
            ax.set_axis_off()
            continue
        ax.tick_params(length=2)
        if row % 2:
            _trade(ax, cells[at])
        else:
            ax.set_title("\n".join(titles[at]), loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
            _over_parameter(ax, cells[at])
    return figure


def _over_parameter(ax: Axes, tuned: TunedCell) -> None:
    x, values = np.array(numbers_of(tuned), dtype=float), _finite(tuned.values(tuned.tuning.metric))
    metric = METRICS.get(tuned.tuning.metric)
    if metric is not None and metric.ideal is not None and metric.direction == "nearer":
        ax.axhline(metric.ideal, **PLAIN)
    ax.plot(x, values.T, **ONE)
    ax.plot(x, _means(values), gid="mean", **MEAN)
    for line, curve in zip(values, tuned.curves.values(), strict=True):
        ax.plot(x[curve.chosen], line[curve.chosen], zorder=4, **CHOSEN)
    positive = x[x > 0]
    if len(positive) and x.min() >= 0 and x.max() / positive.min() >= WIDE:
        scale = {"linthresh": positive.min()} if x.min() == 0 else {}
        ax.set_xscale("symlog" if scale else "log", **scale)
        shown = np.sort(x)[:: -(-len(x) // MOST_TICKS)]
        ax.set_xticks(shown, [f"{one:g}" for one in shown])
        ax.set_xticks([], minor=True)
    ax.set_xlabel(tuned.tuning.names[0])
    ax.set_ylabel(tuned.tuning.metric)


def _trade(ax: Axes, tuned: TunedCell) -> None:
    accuracy, fair = _finite(tuned.values("accuracy")), _finite(tuned.values(FAIR))
    x, y = _means(fair), _means(accuracy)
    ax.axvline(1, **PLAIN)
    ax.plot(x, y, marker=".", ms=4, gid="trade", **MEAN)
    for i, curve in enumerate(tuned.curves.values()):
        ax.plot(fair[i, curve.chosen], accuracy[i, curve.chosen], zorder=4, **CHOSEN)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    for i in dict.fromkeys([*known[:1], *known[-1:]]):
        text = f"{numbers_of(tuned)[i]:g}"
        ax.annotate(text, (x[i], y[i]), xytext=(3, 3), textcoords="offset points", fontsize=SMALL, color=GREY)
    ax.set_xlabel(FAIR)
    ax.set_ylabel("accuracy")


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _means(values: Floats) -> Floats:
    """Return means over the repeats, without NaN; NaN where there is nothing else."""
    there = np.isfinite(values)
    means: Floats = np.where(there, values, 0.0).sum(0) / np.where(there.any(0), there.sum(0), np.nan)
    return means
