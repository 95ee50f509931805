"""Measures over β, one line per technique, with 95 % intervals."""

from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.experiment.config.outputs import FIGURES
from fairbench_cli.measures.registry import find
from fairbench_cli.report.figures.canvas import GREY, Grid, panel_page
from fairbench_cli.report.figures.parts import Part, TechniqueLook, means_text, notes_of, parts_by_slug
from fairbench_cli.report.results import RunResults

SHOWN = FIGURES["curves"].metrics
SPREAD = 0.36
"""How far apart the techniques of one β stand, as a share of the distance between two β."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per metric."""
    return {slug: _figure(part, run) for slug, part in parts_by_slug(run).items()}


def _figure(part: Part, run: RunResults) -> Figure:
    legend = [(Line2D([], [], **look(t)), t.label) for t in part.techniques]
    drawn = {key[:-1]: found.mean.n for key, found in run.found.items() if key[-1] == SHOWN[0]}
    figure, panels = panel_page(
        f"Measures over the bias level β: {part.title}",
        f"{means_text(run.plan)} Techniques are set slightly apart at each β.",
        legend,
        notes_of(part, run, drawn),
        Grid(len(SHOWN), 2, 3.7, 2.45, 0.68, 0.42, 0.12),
    )
    for ax, metric in zip(panels, SHOWN, strict=True):
        if find(metric).ideal == 0:
            ax.axhline(0, color=GREY, lw=0.8, ls="--", zorder=1)
        _lines(ax, part, run, metric)
        ax.set_xlabel("β")
        ax.set_ylabel(metric)
        ax.set_xticks(part.betas, [f"{beta:g}" for beta in part.betas])
        ax.tick_params(length=2)
    return figure


def look(technique: TechniqueLook) -> dict[str, Any]:
    """Return how a technique's line is drawn."""
    own = {"color": technique.colour, "marker": technique.marker, "ls": technique.dash}
    return own | {"ms": 4.5, "lw": 1.2, "mew": 0.3, "mec": "white"}


def _lines(ax: Axes, part: Part, run: RunResults, metric: str) -> None:
    step = min((b - a for a, b in pairwise(part.betas)), default=1.0)
    n = len(part.techniques)
    spread = (SPREAD if len(part.betas) > 1 else 0.7) * step
    for i, t in enumerate(part.techniques):
        aside = spread * ((i + 0.5) / n - 0.5)
        own = [run.get(part.key(t, beta), metric).mean for beta in part.betas]  # NaN leaves a gap
        x = [beta + aside for beta in part.betas]
        ax.plot(x, [one.mean for one in own], gid=f"{metric}-{i}", zorder=3, **look(t))
        ax.vlines(x, [one.low for one in own], [one.high for one in own], color=t.colour, lw=1.1, zorder=4)
    ax.set_xlim(part.betas[0] - 0.4 * step, part.betas[-1] + 0.4 * step)
