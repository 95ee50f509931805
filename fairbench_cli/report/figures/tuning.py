"""Tuning: the metric over the parameter, and accuracy against fairness."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import METRICS
from fairbench_cli.report.figures.canvas import GREY, IDEAL, SMALL, Look, Panel, facet
from fairbench_cli.report.figures.pages import Page, pages_by_name
from fairbench_cli.report.repeats import key_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tuning import TunedCell, tuned_cells

MEAN: Look = {"color": "#0072B2", "lw": 1.6, "zorder": 3}
ONE: Look = {"color": "#9cc3dd", "lw": 0.6, "zorder": 2}
CHOSEN: Look = {"color": "#D55E00", "marker": "o", "ms": 4, "ls": "", "mec": "white", "mew": 0.4}
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
    for name, page in pages_by_name(run).items():
        for beta in page.betas:
            own = {t.label: tuned.get(page.key(t, beta)) for t in page.techniques}
            shown = {label: one for label, one in own.items() if one is not None}
            if shown:
                slug = f"{name}-beta-{beta:g}" if len(page.betas) > 1 else name
                figures[slug] = _figure(page, beta, shown)
    return figures


def numbers_of(tuned: TunedCell) -> tuple[float, ...]:
    """Return the values of the one parameter that is tuned; nothing where they are several or no numbers."""
    over = tuned.tuning.over
    values = over[0][1] if len(over) == 1 else ()
    right = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return values if right else ()


def _figure(page: Page, beta: float, shown: dict[str, TunedCell]) -> Figure:
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
