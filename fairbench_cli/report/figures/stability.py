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
from fairbench_cli.report.figures.marks import Mark, legend_of, marks_of, missing_of
from fairbench_cli.report.figures.parts import TESTED_ON, slugs
from fairbench_cli.report.repeats import CELL_COLUMNS
from fairbench_cli.report.results import RunResults, mean_and_interval
from fairbench_cli.report.stability import two_metrics

Marked = list[tuple[Mapping[str, Any], Mark]]


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and β: a panel per attribute, a rectangle per technique and classifier."""
    pages: dict[tuple[str, float], dict[str, list[dict[str, Any]]]] = {}
    for data in run.datasets:
        for cell in data.cells:
            page = pages.setdefault((data.dataset, cell["beta"]), {})
            page.setdefault(data.attribute, []).append(cell)
    several = len({beta for _, beta in pages}) > 1
    names = slugs((name, f"beta-{beta:g}") if several else (name,) for name, beta in pages)
    return {
        slug: _figure(run, f"{name}, β = {beta:g}" if several else name, panels)
        for slug, ((name, beta), panels) in zip(names, pages.items(), strict=True)
    }


def _figure(run: RunResults, title: str, cells: dict[str, list[dict[str, Any]]]) -> Figure:
    panels = {name: marks_of(run.plan, own) for name, own in cells.items()}
    x, y = two_metrics(run.plan.config)
    ideal = find(x).ideal
    columns = min(len(panels), 3)
    width = {1: 5.2, 2: 3.7, 3: 3.1}[columns]
    drawn = {}
    for name, own in panels.items():
        for cell, mark in own:
            key = tuple(cell[column] for column in CELL_COLUMNS)
            n = int((~np.isnan(_values(run, cell, (x, y))).any(axis=0)).sum())
            drawn[key] = (name if len(panels) > 1 else "", mark.label, n)
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
    key = tuple(cell[column] for column in CELL_COLUMNS)
    return np.stack([run.get(key, name).values for name in metrics])


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
