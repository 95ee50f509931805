"""How much accuracy and fairness vary from repeat to repeat, as rectangles (Friedler et al. 2019)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import find
from fairbench_cli.report.figures.canvas import GREY, NORMAL, Grid, panel_page
from fairbench_cli.report.figures.marks import Mark, legend_of, marks_of, missing_of, pages_of
from fairbench_cli.report.figures.parts import TESTED_ON
from fairbench_cli.report.repeats import key_of
from fairbench_cli.report.results import RunResults, mean_and_interval
from fairbench_cli.report.stability import two_metrics

Marked = list[tuple[dict[str, Any], Mark]]


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and β: a panel per representation and attribute.

    A rectangle is a technique with a classifier; those that share a model are one.
    """
    return {slug: _figure(run, title, cells) for slug, (title, cells) in pages_of(run).items()}


def _figure(run: RunResults, title: str, cells: list[dict[str, Any]]) -> Figure:
    by_panel: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        by_panel.setdefault((cell["representation"], cell["attribute"]), []).append(cell)
    attributes = list(dict.fromkeys(attribute for _, attribute in by_panel))
    order = list(dict.fromkeys(how for how, _ in by_panel))
    panels = {
        attribute if how == "original" else f"{attribute}, {how}": marks_of(run.plan, own)
        for (how, attribute), own in sorted(by_panel.items(), key=lambda one: order.index(one[0][0]))
    }
    x, y = two_metrics(run.plan.config)
    ideal = find(x).ideal
    columns = min(len(attributes) if len(attributes) > 1 else len(panels), 3)
    width = {1: 5.2, 2: 3.7, 3: 3.1}[columns]
    drawn = [
        (name, cell, mark.label, int((~np.isnan(_values(run, cell, (x, y)))).all(axis=0).sum()))
        for name, own in panels.items()
        for cell, mark in own
    ]
    figure, axes = panel_page(
        f"Stability: {title}",
        f"A rectangle stands at the means of {run.plan.config.repeats} repeats and is one standard deviation "
        f"wide and high. {TESTED_ON[run.plan.config.test]} Dashed line: the ideal.",
        legend_of(mark for own in panels.values() for _, mark in own),
        missing_of(run, drawn),
        Grid(len(panels), columns, width, width * 0.85, 0.62, 0.42, 0.32),
    )
    for ax, (name, own) in zip(axes, panels.items(), strict=True):
        if ideal is not None:
            ax.axvline(ideal, color=GREY, lw=0.8, ls="--", zorder=1)
        _rectangles(ax, run, own, (x, y))
        ax.set_title(name, loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        ax.tick_params(length=2)
    return figure


def _values(run: RunResults, cell: Mapping[str, Any], metrics: Sequence[str]) -> Floats:
    """Return two metrics of a cell, shape (2, repeats)."""
    return np.stack([run.get(key_of(cell), name).values for name in metrics])


def _rectangles(ax: Axes, run: RunResults, marked: Marked, metrics: Sequence[str]) -> None:
    for i, (cell, mark) in enumerate(marked):
        both = mean_and_interval(_values(run, cell, metrics))
        (x, y), (wide, high) = both["mean"], np.nan_to_num(both["sd"])
        look: dict[str, Any] = {"color": mark.technique.colour}
        if np.isnan(x) or np.isnan(y):
            continue
        box = Rectangle((x - wide / 2, y - high / 2), wide, high, lw=1.1, ls=mark.technique.dash)
        box.set(ec=mark.technique.colour, fc=f"{mark.technique.colour}22", gid=f"rectangle-{i}", zorder=3)
        ax.add_patch(box)
        ax.plot([x], [y], marker=mark.marker, ms=4, mec="white", mew=0.4, zorder=4, gid=f"mean-{i}", **look)
    ax.margins(0.06)
    ax.autoscale_view()
    ax.locator_params(nbins=5)
