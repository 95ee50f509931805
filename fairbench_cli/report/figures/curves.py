"""Measures over β, one line per technique, with 95 % intervals."""

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.measures.registry import MEASURES as KNOWN
from fairbench_cli.report.figures.canvas import GREY
from fairbench_cli.report.figures.parts import (
    Mean,
    Part,
    Technique,
    idle_beta,
    means_of,
    means_text,
    missing_lines,
    part_slugs,
    parts_of,
    statuses_of,
)
from fairbench_cli.report.figures.sheet import Grid, sheet
from fairbench_cli.report.tables import Key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = ("discrimination", "accuracy", "overestimation", "underestimation")
SPREAD = 0.36
"""How far apart the techniques of one β stand, as a share of the distance between two β."""


def draw(_: Path, study: Study, results: pd.DataFrame, summary: pd.DataFrame) -> "dict[str, Figure]":
    """Draw one figure per data set, protected attribute and classifier: a panel per measure."""
    means, statuses = means_of(summary, MEASURES), statuses_of(results, MEASURES[0])
    parts = parts_of(study)
    return {
        slug: _figure(part, study, means, statuses)
        for slug, part in zip(part_slugs(parts), parts, strict=True)
    }


def _figure(part: Part, study: Study, means: dict[Key, Mean], statuses: dict[Key, list[str]]) -> "Figure":
    from matplotlib.lines import Line2D

    legend = [(Line2D([], [], **look(t)), t.label) for t in part.techniques]
    drawn = {key[:-1]: mean.n for key, mean in means.items() if key[-1] == MEASURES[0]}
    figure, panels = sheet(
        f"Measures over the bias level β: {part.title}",
        f"{means_text(study)} Techniques are set slightly apart at each β.",
        legend,
        idle_beta(study, part) + missing_lines(part, study, drawn, statuses),
        Grid(len(MEASURES), 2, 3.7, 2.45, 0.68, 0.42, 0.12),
    )
    for ax, metric in zip(panels, MEASURES, strict=True):
        if KNOWN[metric].ideal == 0:
            ax.axhline(0, color=GREY, lw=0.8, ls="--", zorder=1)
        _lines(ax, part, means, metric)
        ax.set_xlabel("β")
        ax.set_ylabel(metric)
        ax.set_xticks(part.betas, [f"{beta:g}" for beta in part.betas])
        ax.tick_params(length=2)
    return figure


def look(technique: Technique) -> dict[str, Any]:
    """Return how a technique's line is drawn."""
    return {
        "color": technique.colour,
        "marker": technique.marker,
        "ls": technique.dash,
        "ms": 4.5,
        "lw": 1.2,
        "mew": 0.3,
        "mec": "white",
    }


NOTHING = Mean(math.nan, math.nan, math.nan, 0)


def _lines(ax: "Axes", part: Part, means: dict[Key, Mean], metric: str) -> None:
    step = min((b - a for a, b in pairwise(part.betas)), default=1.0)
    n = len(part.techniques)
    spread = (SPREAD if len(part.betas) > 1 else 0.7) * step
    for i, t in enumerate(part.techniques):
        aside = spread * ((i + 0.5) / n - 0.5)
        found = {beta: means.get((*part.key(t, beta), metric)) for beta in part.betas}
        own = [found[beta] or NOTHING for beta in part.betas]  # NaN leaves a gap in the line
        x = [beta + aside for beta in part.betas]
        ax.plot(x, [one.mean for one in own], gid=f"{metric}-{i}", zorder=3, **look(t))
        ax.vlines(x, [one.low for one in own], [one.high for one in own], color=t.colour, lw=1.1, zorder=4)
    ax.set_xlim(part.betas[0] - 0.4 * step, part.betas[-1] + 0.4 * step)
