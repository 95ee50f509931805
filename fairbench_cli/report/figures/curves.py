"""Measures over the level of bias β, and over a parameter that is tuned; a dot or a line for every repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fairbench_cli.experiment.config.outputs import FIGURES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS, find
from fairbench_cli.report.figures.canvas import GREY, IDEAL, SMALL, Look, Panel, around, dots, exactly, facet
from fairbench_cli.report.figures.pages import (
    TESTED_ON,
    Page,
    idle_beta,
    means_text,
    missing,
    notes_of,
    pages_by_name,
    shortfall,
)
from fairbench_cli.report.repeats import CellKey, key_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tuning import TunedCell, tuned_cells

SHOWN = FIGURES["curves"].metrics
SPREAD = 0.36
"""How far apart the techniques of one β stand, as a share of the distance between two β."""


def draw_clouds(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per technique.

    Discrimination against accuracy, one dot per repeat, as in Cardoso et al. (2019), Figure 1. Hollow dots
    are repeats whose technique could do its work in part only (``degraded``).
    """
    return {name: _clouds(page, run) for name, page in pages_by_name(run).items()}


def _clouds(page: Page, run: RunResults) -> Figure:
    plan, n = run.plan, len(page.techniques)
    clouds = [[_cloud(page.key(t, beta), run) for beta in page.betas] for t in page.techniques]
    every = [cloud.dots for own in clouds for cloud in own]
    x, y = np.concatenate([*every, np.empty((0, 2))]).T
    limits = (*around([*x, 0.0], 0.05, 0.1), *around(y, 0.05, 0.1))
    colours = beta_colours(len(page.betas))
    look: Look = {"ls": "", "marker": "o", "ms": 5}
    legend = [
        (look | {"color": colour}, f"β = {beta:g}") for beta, colour in zip(page.betas, colours, strict=True)
    ]
    if any(cloud.degraded.any() for own in clouds for cloud in own):
        legend.append((look | {"color": GREY, "mfc": "none"}, "hollow: could do its work in part only"))
    columns = min(n, 3 if n <= 9 else 4)
    width = {1: 5.2, 2: 3.9, 3: 2.65}.get(columns, 1.98)
    panels = []
    for k, (t, own) in enumerate(zip(page.techniques, clouds, strict=True)):
        lacking = [("", f"{beta:g}", cloud.lacking) for beta, cloud in zip(page.betas, own, strict=True)]
        note = missing(lacking, " at β = {}")
        draw = partial(_cloud_panel, k=k, clouds=own, colours=colours, limits=limits, note=note)
        panels.append(Panel(draw, t.label, "discrimination", "accuracy"))
    return facet(
        f"Discrimination and accuracy: {page.title}",
        f"One dot per repeat, {plan.config.repeats} per β. {TESTED_ON[plan.config.test]} Dashed: no "
        "discrimination.",
        panels,
        columns,
        (width, min(width * 0.8, 3.4)),
        legend,
        idle_beta(plan, page),
        alike=True,
        handle=0.12,
    )


@dataclass(frozen=True)
class _Cloud:
    """The dots (n, 2) of a cell, which of them are degraded, and why some are missing."""

    dots: Floats
    degraded: NDArray[np.bool_]
    lacking: str


def _cloud(key: CellKey, run: RunResults) -> _Cloud:
    x, y = (run.get(key, name) for name in FIGURES["discrimination-accuracy"].metrics)
    both = np.stack([x.values, y.values], axis=1)
    known = np.isfinite(both).all(axis=1)
    return _Cloud(both[known], (x.status == "degraded")[known], shortfall(run, key, int(known.sum())))


def beta_colours(n: int) -> list[str]:
    """Return `n` colours from dark to light, in an order that colour-blind readers and paper keep."""
    return [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0, 0.88, n))]


def _cloud_panel(
    ax: Axes,
    *,
    k: int,
    clouds: Sequence[_Cloud],
    colours: Sequence[str],
    limits: Sequence[float],
    note: Sequence[str],
) -> None:
    ax.axvline(0, **IDEAL)
    for b, (cloud, colour) in enumerate(zip(clouds, colours, strict=True)):
        faces = ["none" if hollow else f"{colour}cc" for hollow in cloud.degraded] or "none"
        look: Look = {"facecolors": faces, "edgecolors": colour, "lw": 0.5, "gid": f"dots-{k}-{b}"}
        ax.scatter(cloud.dots[:, 0], cloud.dots[:, 1], s=10, **look)
    ax.set(xlim=limits[:2], ylim=limits[2:])
    ax.locator_params(nbins=6)
    _note(ax, note, np.concatenate([cloud.dots for cloud in clouds]))


def _note(ax: Axes, lines: Sequence[str], drawn: Floats) -> None:
    """Write what is missing into the corner with the fewest dots."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    place = (drawn - [x0, y0]) / [x1 - x0, y1 - y0]
    depth = 0.12 * len(lines)

    def covered(corner: tuple[float, float]) -> int:
        near = np.abs(place - corner) < [0.75, depth]
        return int(near.all(axis=1).sum())

    x, y = min(((1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)), key=covered)
    look: Look = {"fontsize": SMALL, "style": "italic", "color": GREY, "transform": ax.transAxes}
    aligned: dict[str, Any] = {"ha": "right" if x else "left", "va": "top" if y else "bottom"}
    ax.text(0.97 if x else 0.03, 0.96 if y else 0.04, "\n".join(lines), **aligned, **look)


def draw_curves(run: RunResults) -> dict[str, Figure]:
    """Draw measures over β, one figure per data set, protected attribute and classifier: a panel each.

    There is a line per technique, with 95 % intervals.
    """
    return {name: _curves(page, run) for name, page in pages_by_name(run).items()}


def _curves(page: Page, run: RunResults) -> Figure:
    drawn = {key[:-1]: found.mean.n for key, found in run.found.items() if key[-1] == SHOWN[0]}
    return facet(
        f"Measures over the bias level β: {page.title}",
        f"{means_text(run.plan)} Techniques are set slightly apart at each β.",
        [Panel(partial(_lines, page=page, run=run, metric=name), "", "β", name) for name in SHOWN],
        2,
        (3.7, 2.45),
        [(t.line(1.2) | t.dot(4.5), t.label) for t in page.techniques],
        notes_of(page, run, drawn),
    )


def _lines(ax: Axes, *, page: Page, run: RunResults, metric: str) -> None:
    if find(metric).ideal == 0:
        ax.axhline(0, **IDEAL)
    step = min((b - a for a, b in pairwise(page.betas)), default=1.0)
    spread = (SPREAD if len(page.betas) > 1 else 0.7) * step
    for i, t in enumerate(page.techniques):
        x = np.array(page.betas) + spread * ((i + 0.5) / len(page.techniques) - 0.5)
        means = [run.get(page.key(t, beta), metric).mean for beta in page.betas]  # NaN leaves a gap
        y = {end: [getattr(mean, end) for mean in means] for end in ("mean", "low", "high")}
        dots(ax, exactly(x), y, f"{metric}-{i}", t.line(1.2) | t.dot(4.5), t.dash)
    ax.set_xlim(page.betas[0] - 0.4 * step, page.betas[-1] + 0.4 * step)
    ax.set_xticks(page.betas, [f"{beta:g}" for beta in page.betas])


MEAN: Look = {"color": "#0072B2", "lw": 1.6, "zorder": 3}
ONE: Look = {"color": "#9cc3dd", "lw": 0.6, "zorder": 2}
CHOSEN: Look = {"color": "#D55E00", "marker": "o", "ms": 4, "ls": "", "mec": "white", "mew": 0.4}
FAIR = "impact-ratio"
WIDE = 100  # a grid that spans more than this is drawn on a log scale
MOST_TICKS = 6
COLUMNS = 4


def draw_tuning(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, classifier and β: a column for each tuned technique.

    Above, the metric that was tuned for over the parameter, on the rows that the best value was chosen on;
    below, accuracy against the impact ratio of the same candidates. Techniques of which more than one
    parameter is tuned, or one that is no number, are left out.
    """
    tuned = {key_of(one.cell): one for one in tuned_cells(run) if numbers_of(one)}
    figures = {}
    for name, page in pages_by_name(run).items():
        for beta in page.betas:
            own = {t.label: tuned.get(page.key(t, beta)) for t in page.techniques}
            shown = {label: one for label, one in own.items() if one is not None}
            if shown:
                slug = f"{name}-beta-{beta:g}" if len(page.betas) > 1 else name
                figures[slug] = _tuning(page, beta, shown)
    return figures


def numbers_of(tuned: TunedCell) -> tuple[float, ...]:
    """Return the values of the one parameter that is tuned; nothing where they are several or no numbers."""
    over = tuned.tuning.over
    values = over[0][1] if len(over) == 1 else ()
    right = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return values if right else ()


def _tuning(page: Page, beta: float, shown: dict[str, TunedCell]) -> Figure:
    columns = min(len(shown), COLUMNS)
    title = f"Tuning: {page.title}" + (f", β = {beta:g}" if len(page.betas) > 1 else "")
    upper = [
        Panel(partial(_over_parameter, tuned=one), label, one.tuning.names[0], one.tuning.metric)
        for label, one in shown.items()
    ]
    lower = [Panel(partial(_trade, tuned=one), "", FAIR, "accuracy") for one in shown.values()]
    rows = [
        [*own[i : i + columns], *[None] * (i + columns - len(own))]
        for i in range(0, len(shown), columns)
        for own in (upper, lower)
    ]
    return facet(
        title,
        "On the rows that the best value was chosen on. Upper panels: the metric that was tuned for. Lower "
        "panels: accuracy against the impact ratio of the same candidates, from the first to the last value.",
        [panel for row in rows for panel in row],
        columns,
        ({1: 4.6, 2: 3.0}.get(columns, 2.2), 1.7),
        [(ONE, "one repeat"), (MEAN, "mean"), (CHOSEN, "chosen in a repeat"), (IDEAL, "ideal")],
    )


def _over_parameter(ax: Axes, *, tuned: TunedCell) -> None:
    x, values = np.array(numbers_of(tuned), dtype=float), _finite(tuned.values(tuned.tuning.metric))
    metric = METRICS.get(tuned.tuning.metric)
    if metric is not None and metric.ideal is not None and metric.direction == "nearer":
        ax.axhline(metric.ideal, **IDEAL)
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


def _trade(ax: Axes, *, tuned: TunedCell) -> None:
    accuracy, fair = _finite(tuned.values("accuracy")), _finite(tuned.values(FAIR))
    x, y = _means(fair), _means(accuracy)
    ax.axvline(1, **IDEAL)
    ax.plot(x, y, marker=".", ms=4, gid="trade", **MEAN)
    for i, curve in enumerate(tuned.curves.values()):
        ax.plot(fair[i, curve.chosen], accuracy[i, curve.chosen], zorder=4, **CHOSEN)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    for i in dict.fromkeys([*known[:1], *known[-1:]]):
        text = f"{numbers_of(tuned)[i]:g}"
        ax.annotate(text, (x[i], y[i]), xytext=(3, 3), textcoords="offset points", fontsize=SMALL, color=GREY)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _means(values: Floats) -> Floats:
    """Return means over the repeats, without NaN; NaN where there is nothing else."""
    there = np.isfinite(values)
    means: Floats = np.where(there, values, 0.0).sum(0) / np.where(there.any(0), there.sum(0), np.nan)
    return means
