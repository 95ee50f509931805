"""Measures over the level of bias β, and over a parameter that is tuned; a dot or a line for every repeat."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fairbench_cli.experiment.config.outputs import FIGURES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS, find
from fairbench_cli.report.figures import pages
from fairbench_cli.report.figures.canvas import GREY, IDEAL, SMALL, Look, Panel, around, dots, exactly, facet
from fairbench_cli.report.figures.pages import Page
from fairbench_cli.report.repeats import CellKey, key_of, mean_and_interval
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
    return {name: _clouds(page, run) for name, page in pages.drawn_pages(run).items()}


def _clouds(page: Page, run: RunResults) -> Figure:
    keys = [[page.key(t, beta) for beta in page.betas] for t in page.techniques]
    clouds = {key: _cloud(key, run) for own in keys for key in own}
    x, y = np.concatenate([np.empty((0, 2)), *(found for found, _ in clouds.values())]).T
    limits = (*around([*x, 0.0], 0.05, 0.1), *around(y, 0.05, 0.1))
    look: Look = {"ls": "", "marker": "o", "ms": 5}
    colours = zip(page.betas, beta_colours(len(page.betas)), strict=True)
    legend = [(look | {"color": colour}, f"β = {beta:g}") for beta, colour in colours]
    if any(degraded.any() for _, degraded in clouds.values()):
        legend.append((look | {"color": GREY, "mfc": "none"}, "hollow: could do its work in part only"))
    n = len(page.techniques)
    columns = min(n, 3 if n <= 9 else 4)
    width = {1: 5.2, 2: 3.9, 3: 2.65}.get(columns, 1.98)
    drawn = [partial(_cloud_panel, k, [clouds[key] for key in own], limits) for k, own in enumerate(keys)]
    named = zip(drawn, page.techniques, strict=True)
    return facet(
        f"Discrimination and accuracy: {page.title}",
        f"One dot per repeat, {run.plan.config.repeats} per β. {pages.rows_tested(run.plan)} Dashed: no "
        "discrimination.",
        [Panel(draw, t.label, "discrimination", "accuracy") for draw, t in named],
        columns,
        (width, min(width * 0.8, 3.4)),
        legend,
        pages.notes_of(page, run, {key: len(found) for key, (found, _) in clouds.items()}),
        alike=True,
        handle=0.12,
    )


Cloud = tuple[Floats, NDArray[np.bool_]]  # the dots (n, 2) of a cell, and which of them are degraded


def _cloud(key: CellKey, run: RunResults) -> Cloud:
    x, y = (run.get(key, name) for name in FIGURES["discrimination-accuracy"].metrics)
    both = np.stack([x.values, y.values], axis=1)
    known = np.isfinite(both).all(axis=1)
    return both[known], (x.status == "degraded")[known]


def beta_colours(n: int) -> list[str]:
    """Return `n` colours from dark to light, in an order that colour-blind readers and paper keep."""
    return [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0, 0.88, n))]


def _cloud_panel(k: int, clouds: Sequence[Cloud], limits: Sequence[float], ax: Axes) -> None:
    ax.axvline(0, **IDEAL)
    for b, ((found, degraded), colour) in enumerate(zip(clouds, beta_colours(len(clouds)), strict=True)):
        faces = ["none" if hollow else f"{colour}cc" for hollow in degraded] or "none"
        look: Look = {"facecolors": faces, "edgecolors": colour, "lw": 0.5, "gid": f"dots-{k}-{b}"}
        ax.scatter(found[:, 0], found[:, 1], s=10, **look)
    ax.set(xlim=limits[:2], ylim=limits[2:])
    ax.locator_params(nbins=6)


def draw_curves(run: RunResults) -> dict[str, Figure]:
    """Draw measures over β, one figure per data set, protected attribute and classifier: a panel each.

    There is a line per technique, with 95 % intervals.
    """
    return {name: _curves(page, run) for name, page in pages.drawn_pages(run).items()}


def _curves(page: Page, run: RunResults) -> Figure:
    drawn = {key[:-1]: found.mean.n for key, found in run.found.items() if key[-1] == SHOWN[0]}
    return facet(
        f"Measures over the bias level β: {page.title}",
        f"{pages.means_text(run.plan)} Techniques are set slightly apart at each β.",
        [Panel(partial(_lines, page, run, name), "", "β", name) for name in SHOWN],
        2,
        (3.7, 2.45),
        [(t.line(1.2) | t.dot(4.5), t.label) for t in page.techniques],
        pages.notes_of(page, run, drawn),
    )


def _lines(page: Page, run: RunResults, metric: str, ax: Axes) -> None:
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
    for name, page in pages.drawn_pages(run).items():
        for beta in page.betas:
            keys = {t.label: page.key(t, beta) for t in page.techniques}
            shown = {label: tuned[key] for label, key in keys.items() if key in tuned}
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
        Panel(partial(_over_parameter, one), label, one.tuning.names[0], one.tuning.metric.name)
        for label, one in shown.items()
    ]
    lower = [Panel(partial(_trade, one), "", FAIR, "accuracy") for one in shown.values()]
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


def _over_parameter(tuned: TunedCell, ax: Axes) -> None:
    x, values = np.array(numbers_of(tuned), dtype=float), _finite(tuned.values(tuned.tuning.metric.name))
    metric = METRICS.get(tuned.tuning.metric.name)
    if metric is not None and metric.ideal is not None and metric.direction == "nearer":
        ax.axhline(metric.ideal, **IDEAL)
    ax.plot(x, values.T, **ONE)
    ax.plot(x, mean_and_interval(values.T)["mean"], gid="mean", **MEAN)
    for line, curve in zip(values, tuned.curves.values(), strict=True):
        ax.plot(x[curve.chosen], line[curve.chosen], zorder=4, **CHOSEN)
    positive = x[x > 0]
    if len(positive) and x.min() >= 0 and x.max() / positive.min() >= WIDE:
        scale = {"linthresh": positive.min()} if x.min() == 0 else {}
        ax.set_xscale("symlog" if scale else "log", **scale)
        shown = np.sort(x)[:: -(-len(x) // MOST_TICKS)]
        ax.set_xticks(shown, [f"{one:g}" for one in shown])
        ax.set_xticks([], minor=True)


def _trade(tuned: TunedCell, ax: Axes) -> None:
    accuracy, fair = _finite(tuned.values("accuracy")), _finite(tuned.values(FAIR))
    x, y = (mean_and_interval(values.T)["mean"] for values in (fair, accuracy))
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
