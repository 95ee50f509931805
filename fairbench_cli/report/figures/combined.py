"""Single against combined protected attributes, a line per technique (Friedler et al. 2019)."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.measures.registry import find
from fairbench_cli.report.combined import Row, attributes_of, by_attribute
from fairbench_cli.report.figures.canvas import GREY, NORMAL, SMALL, Grid, panel_page, text_width
from fairbench_cli.report.figures.marks import missing_of
from fairbench_cli.report.figures.parts import COLOURS, MARKERS, means_text, slugs
from fairbench_cli.report.repeats import key_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.stability import two_metrics
from fairbench_cli.report.tables import OWN_MODEL

APART = 0.2
"""How far apart the attributes of a technique stand, as a share of the distance between techniques."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set with several attributes, representation and β: a panel per metric."""
    found = {
        key: rows
        for key, rows in by_attribute(run).items()
        if any((key[0], attribute) in run.with_results for attribute in attributes_of(rows))
    }
    several = len({beta for *_, beta in found}) > 1
    names = [
        (dataset, *([how] * (how != "original")), *([f"beta-{beta:g}"] * several))
        for dataset, how, beta in found
    ]
    return {
        slug: _figure(run, ", ".join(name).replace("beta-", "β = "), rows)
        for slug, name, rows in zip(slugs(names), names, found.values(), strict=True)
    }


def _figure(run: RunResults, title: str, rows: dict[Row, dict[str, Any]]) -> Figure:
    attributes, metrics = attributes_of(rows), two_metrics(run.plan.config)[::-1]
    several = len({classifier for _, classifier in rows}) > 1
    labels = [f"{one} with {other}" if several and other != OWN_MODEL else one for one, other in rows]
    drawn = [
        (attribute, cell, label, run.get(key_of(cell), metrics[1]).mean.n)
        for label, own in zip(labels, rows.values(), strict=True)
        for attribute, cell in own.items()
    ]
    legend = [(Line2D([], [], ls="", **_look(k)), name) for k, name in enumerate(attributes)]
    height = (0.13 * len(attributes) + 0.1) * len(rows) + 0.1
    figure, axes = panel_page(
        f"Single and combined attributes: {title}",
        f"{means_text(run.plan)} Each technique works on the attribute by whose groups "
        "it is measured. Dashed line: the ideal.",
        legend,
        missing_of(run, drawn),
        Grid(len(metrics), len(metrics), 3.0, height, 0.18, 0.4, 0.3),
        first=max(text_width(label, SMALL) for label in labels),
        handle=0.12,
    )
    for k, (ax, metric) in enumerate(zip(axes, metrics, strict=True)):
        _panel(ax, run, rows, metric)
        ax.set_yticks(range(len(rows)), labels if k == 0 else [""] * len(rows))
        ax.set_ylim(len(rows) - 0.45, -0.55)
        ax.tick_params(length=0)
        ax.set_title(metric, loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
    return figure


def _look(k: int) -> dict[str, Any]:
    """Return how the dots of the k-th attribute are drawn."""
    colour = COLOURS[(k + 1) % len(COLOURS)]
    return {"color": colour, "marker": MARKERS[k % len(MARKERS)], "ms": 5, "mec": "white", "mew": 0.4}


def _panel(ax: Axes, run: RunResults, rows: dict[Row, dict[str, Any]], metric: str) -> None:
    attributes = attributes_of(rows)
    ideal = find(metric).ideal
    for i, own in enumerate(rows.values()):
        for k, attribute in enumerate(attributes):
            if attribute in own:
                mean = run.get(key_of(own[attribute]), metric).mean
                y = i + APART * (k - (len(attributes) - 1) / 2)
                ax.hlines(y, mean.low, mean.high, color=_look(k)["color"], lw=1.1, zorder=3)
                ax.plot([mean.mean], [y], ls="", zorder=4, gid=f"{metric}-{i}-{attribute}", **_look(k))
    left, right = ax.get_xlim()
    if ideal is not None and left <= ideal <= right:
        ax.axvline(ideal, color=GREY, lw=0.8, ls="--", zorder=1)
    ax.locator_params(axis="x", nbins=5)
