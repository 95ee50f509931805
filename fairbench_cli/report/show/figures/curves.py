"""Measures over the level of bias β, and over a parameter that is tuned; a dot or a line for every repeat."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fairbench_cli.experiment.config.outputs import FIGURES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS, find_metric
from fairbench_cli.report.ledger.journal_arrays import CellKey, cell_key, mean_and_interval
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.ledger.tuning import TunedCell, tuned_cells
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.canvas import (
    GREY,
    IDEAL,
    SMALL,
    Look,
    Panel,
    axis_limits,
    facet,
    plot_dots,
    without_interval,
)
from fairbench_cli.report.show.figures.pages import PAGE, Page

CURVE_METRICS = FIGURES["curves"].metrics
AXES = FIGURES["discrimination-accuracy"].metrics
SPREAD = 0.36
"""How far apart the techniques of one β stand, as a share of the distance between two β."""


def draw_clouds(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per technique.

    Discrimination against accuracy, one dot per repeat, as in Cardoso et al. (2019), Figure 1. Hollow dots
    are repeats whose technique could do its work in part only (``degraded``).
    """
    return pages.plot_pages(run, PAGE, pages.pages_with_results(run), _clouds)


def _clouds(run: RunResults, title: str, page: Page) -> Figure:
    # 1. The dots, and limits around all of them.
    clouds: dict[CellKey, Floats] = {}
    clouds_of_technique = {}
    for technique in page.techniques:
        keys = [page.key(technique, beta) for beta in page.betas]
        clouds |= {key: _cloud(key, run) for key in keys}
        clouds_of_technique[technique] = [clouds[key] for key in keys]
    no_dots = np.empty((0, 3))  # for a page without any
    x, y, degraded = np.concatenate([no_dots, *clouds.values()]).T
    x_limits = axis_limits(np.append(x, 0.0), 0.05, 0.1)
    y_limits = axis_limits(y, 0.05, 0.1)
    # 2. The legend.
    look: Look = {"ls": "", "marker": "o", "ms": 5}
    colours = zip(page.betas, beta_colours(len(page.betas)), strict=True)
    legend: list[tuple[Look, str]] = []
    per_beta = ""
    if run.plan.has_betas:
        per_beta = f", {run.repeats_done()} per β"
        legend += [(look | {"color": colour}, f"β = {beta:g}") for beta, colour in colours]
    if degraded.any():
        legend.append((look | {"color": GREY, "mfc": "none"}, "hollow: could do its work in part only"))
    # 3. A panel for each technique.
    x_name, y_name = AXES
    panels = []
    for k, (technique, own_clouds) in enumerate(clouds_of_technique.items()):
        draw = partial(_cloud_panel, k, own_clouds, x_limits, y_limits)
        panels.append(Panel(draw, technique.label, x_name, y_name))
    columns = min(len(panels), 3 if len(panels) <= 9 else 4)
    width = {1: 5.2, 2: 3.9, 3: 2.65}.get(columns, 1.98)
    return facet(
        f"Discrimination and accuracy: {title}",
        f"One dot per repeat{per_beta}. {pages.describe_test_rows(run.plan)} Dashed: no discrimination.",
        panels,
        columns,
        (width, min(width * 0.8, 3.4)),
        legend,
        pages.page_notes(page, run, {key: len(cloud) for key, cloud in clouds.items()}),
        share_axes=True,
        handle_length=0.12,
    )


def _cloud(key: CellKey, run: RunResults) -> Floats:
    """Return the dots of a cell, shape (dots, 3): x, y, and whether the repeat is degraded."""
    x, y = (run.cell_metric(key, name) for name in AXES)
    dots: Floats = np.stack([x.values, y.values, x.status == "degraded"], axis=1)
    finite: Floats = dots[np.isfinite(dots).all(axis=1)]
    return finite


def beta_colours(n: int) -> list[str]:
    """Return `n` colours from dark to light, in an order that colour-blind readers and paper keep."""
    return [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0, 0.88, n))]


def _cloud_panel(
    k: int, clouds: Sequence[Floats], x_limits: tuple[float, float], y_limits: tuple[float, float], ax: Axes
) -> None:
    """Draw the dots of technique `k`, a colour for each β; hollow ones are degraded."""
    ax.axvline(0, **IDEAL)
    for b, (cloud, colour) in enumerate(zip(clouds, beta_colours(len(clouds)), strict=True)):
        faces = ["none" if hollow else f"{colour}cc" for hollow in cloud[:, 2]] or "none"
        look: Look = {"facecolors": faces, "edgecolors": colour, "lw": 0.5, "gid": f"dots-{k}-{b}"}
        ax.scatter(cloud[:, 0], cloud[:, 1], s=10, **look)
    ax.set(xlim=x_limits, ylim=y_limits)
    ax.locator_params(nbins=6)


def draw_curves(run: RunResults) -> dict[str, Figure]:
    """Draw measures over β, one figure per data set, protected attribute and classifier: a panel each.

    There is a line per technique, with 95 % intervals.
    """
    return pages.plot_pages(run, PAGE, pages.pages_with_results(run), _curves)


def _curves(run: RunResults, title: str, page: Page) -> Figure:
    n_drawn = {key: run.cell_metric(key, CURVE_METRICS[0]).summary.n for key in run.cell_keys}
    figure_title = f"Measures: {title}"
    subtitle = pages.describe_means(run)
    x_name = ""
    if run.plan.has_betas:
        figure_title = f"Measures over the bias level β: {title}"
        subtitle += " Techniques are set slightly apart at each β."
        x_name = "β"
    return facet(
        figure_title,
        subtitle,
        [Panel(partial(_lines, page, run, name), "", x_name, name) for name in CURVE_METRICS],
        2,
        (3.7, 2.45),
        [(technique.line(1.2) | technique.dot(4.5), technique.label) for technique in page.techniques],
        pages.page_notes(page, run, n_drawn),
    )


def _lines(page: Page, run: RunResults, metric: str, ax: Axes) -> None:
    """Draw a metric over β, a line for each technique; those of one β stand side by side."""
    if find_metric(metric).ideal == 0:
        ax.axhline(0, **IDEAL)
    step = min((beta - previous for previous, beta in pairwise(page.betas)), default=1.0)
    spread = (SPREAD if len(page.betas) > 1 else 0.7) * step
    for i, technique in enumerate(page.techniques):
        x = np.array(page.betas) + spread * ((i + 0.5) / len(page.techniques) - 0.5)
        means = [
            run.cell_metric(page.key(technique, beta), metric).summary for beta in page.betas
        ]  # NaN leaves a gap
        y = {
            "mean": [mean.mean for mean in means],
            "low": [mean.low for mean in means],
            "high": [mean.high for mean in means],
        }
        look = technique.line(1.2) | technique.dot(4.5)
        plot_dots(ax, without_interval(x), y, f"{metric}-{i}", look, technique.dash)
    ax.set_xlim(page.betas[0] - 0.4 * step, page.betas[-1] + 0.4 * step)
    if run.plan.has_betas:
        ax.set_xticks(page.betas, [f"{beta:g}" for beta in page.betas])
    else:
        ax.set_xticks([])


MEAN: Look = {"color": "#0072B2", "lw": 1.6, "zorder": 3}
REPEAT: Look = {"color": "#9cc3dd", "lw": 0.6, "zorder": 2}
CHOSEN = canvas.dot_look("#D55E00", "o", 4) | {"ls": ""}
FAIR = "impact-ratio"
WIDE_GRID = 100  # the largest value over the smallest, from which on the axis is logarithmic
MOST_TICKS = 6
COLUMNS = 4


def draw_tuning(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, classifier and β: a column for each tuned technique.

    Above, the metric that was tuned for over the parameter, on the rows that the best value was chosen on;
    below, accuracy against the impact ratio of the same candidates. Techniques of which more than one
    parameter is tuned, or one that is no number, are left out.
    """
    tuned = {
        cell_key(tuned_cell.cell): tuned_cell for tuned_cell in tuned_cells(run) if tuned_numbers(tuned_cell)
    }
    tuned_of_page = {}
    for names, page in pages.pages_with_results(run).items():
        for beta in page.betas:
            tuned_by_label = {}
            for technique in page.techniques:
                key = page.key(technique, beta)
                if key in tuned:
                    tuned_by_label[technique.label] = tuned[key]
            tuned_of_page[*names, beta] = tuned_by_label or None
    return pages.plot_pages(run, (*PAGE, "beta"), tuned_of_page, _tuning)


def tuned_numbers(tuned: TunedCell) -> tuple[float, ...]:
    """Return the values of the one parameter that is tuned; nothing where they are several or no numbers."""
    parameters = tuned.tuning.over
    if len(parameters) != 1:
        return ()
    _, values = parameters[0]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return values
    return ()


def _tuning(_run: RunResults, title: str, tuned_by_label: dict[str, TunedCell]) -> Figure:
    columns = min(len(tuned_by_label), COLUMNS)

    def panel(upper: bool, label: str) -> Panel:
        tuned = tuned_by_label[label]
        tuning = tuned.tuning
        if upper:
            return Panel(partial(_over_parameter, tuned), label, tuning.names[0], tuning.metric.name)
        return Panel(partial(_trade, tuned), "", FAIR, "accuracy")

    return facet(
        f"Tuning: {title}",
        "On the rows that the best value was chosen on. Upper panels: the metric that was tuned for. Lower "
        "panels: accuracy against the impact ratio of the same candidates, from the first to the last value.",
        canvas.lay_out_panels([True, False], list(tuned_by_label), columns, panel),
        columns,
        ({1: 4.6, 2: 3.0}.get(columns, 2.2), 1.7),
        [(REPEAT, "one repeat"), (MEAN, "mean"), (CHOSEN, "chosen in a repeat"), (IDEAL, "ideal")],
    )


def _over_parameter(tuned: TunedCell, ax: Axes) -> None:
    """Draw the metric that was tuned for over the parameter: each repeat, the means, and what was chosen."""
    x = np.array(tuned_numbers(tuned), dtype=float)
    values = _finite(tuned.values(tuned.tuning.metric.name))
    metric = METRICS.get(tuned.tuning.metric.name)
    if metric is not None and metric.ideal is not None and metric.direction == "nearer":
        ax.axhline(metric.ideal, **IDEAL)
    ax.plot(x, values.T, **REPEAT)
    ax.plot(x, mean_and_interval(values.T)["mean"], gid="mean", **MEAN)
    chosen = [curve.chosen for curve in tuned.curves.values()]
    ax.plot(x[chosen], values[range(len(chosen)), chosen], zorder=4, **CHOSEN)
    positive = x[x > 0]
    if len(positive) and x.min() >= 0 and x.max() / positive.min() >= WIDE_GRID:
        if x.min() == 0:  # a logarithmic axis has no 0
            ax.set_xscale("symlog", linthresh=positive.min())
        else:
            ax.set_xscale("log")
        ticks = np.sort(x)[:: -(-len(x) // MOST_TICKS)]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)


def _trade(tuned: TunedCell, ax: Axes) -> None:
    """Draw accuracy against the impact ratio of the candidates; the first and the last value are named."""
    accuracy = _finite(tuned.values("accuracy"))
    fair = _finite(tuned.values(FAIR))
    x = mean_and_interval(fair.T)["mean"]
    y = mean_and_interval(accuracy.T)["mean"]
    ax.axvline(1, **IDEAL)
    ax.plot(x, y, marker=".", ms=4, gid="trade", **MEAN)
    repeats = range(len(fair))
    chosen = [curve.chosen for curve in tuned.curves.values()]
    ax.plot(fair[repeats, chosen], accuracy[repeats, chosen], zorder=4, **CHOSEN)
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    for i in dict.fromkeys(finite[:1] + finite[-1:]):
        text = f"{tuned_numbers(tuned)[i]:g}"
        ax.annotate(text, (x[i], y[i]), xytext=(3, 3), textcoords="offset points", fontsize=SMALL, color=GREY)


def _finite(values: Floats) -> Floats:
    """Return values with NaN for the infinite ones."""
    return np.where(np.isfinite(values), values, np.nan)
