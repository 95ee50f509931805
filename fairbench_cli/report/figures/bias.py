"""What a run found at each level of bias β: a dot for every repeat, and means over β."""

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
from fairbench_cli.measures.registry import find
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
from fairbench_cli.report.repeats import CellKey
from fairbench_cli.report.results import RunResults

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
