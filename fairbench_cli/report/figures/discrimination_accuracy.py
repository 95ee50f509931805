"""Discrimination against accuracy, one dot per repeat: Cardoso et al. (2019), Figure 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from fairbench_cli.experiment.config.outputs import FIGURES
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.figures.canvas import GREY, NORMAL, SMALL, Grid, panel_page, wrapped
from fairbench_cli.report.figures.parts import TESTED_ON, Part, gather, idle_beta, parts_by_slug, shortfall
from fairbench_cli.report.repeats import CellKey
from fairbench_cli.report.results import RunResults


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per technique.

    Hollow dots are repeats whose technique could do its work in part only (``degraded``).
    """
    return {slug: _figure(part, run) for slug, part in parts_by_slug(run).items()}


def _figure(part: Part, run: RunResults) -> Figure:
    plan = run.plan
    clouds = {(t, beta): _cloud(part.key(t, beta), run) for t in part.techniques for beta in part.betas}
    colours = beta_colours(len(part.betas))
    n = len(part.techniques)
    columns = min(n, 3 if n <= 9 else 4)
    width = {1: 5.2, 2: 3.9, 3: 2.65}.get(columns, 1.98)
    titles = [wrapped(t.label, width, NORMAL, "bold") for t in part.techniques]
    lines = max(map(len, titles))
    grid = Grid(n, columns, width, min(width * 0.8, 3.4), 0.14, 0.22, 0.12 + 0.165 * lines)
    figure, panels = panel_page(
        f"Discrimination and accuracy: {part.title}",
        f"One dot per repeat, {plan.config.repeats} per β. {TESTED_ON[plan.config.test]} Dashed: no "
        "discrimination.",
        _legend(part.betas, colours, any(cloud.degraded.any() for cloud in clouds.values())),
        idle_beta(plan, part),
        grid,
        first=0.48,
        last=0.22,
        handle=0.12,
    )
    limits = _limits(np.concatenate([cloud.dots for cloud in clouds.values()]))
    for k, (ax, t) in enumerate(zip(panels, part.techniques, strict=True)):
        ax.axvline(0, color=GREY, lw=0.8, ls="--", zorder=1)
        own = [clouds[t, beta] for beta in part.betas]
        for b, (cloud, colour) in enumerate(zip(own, colours, strict=True)):
            faces = ["none" if hollow else f"{colour}cc" for hollow in cloud.degraded] or "none"
            look: dict[str, Any] = {
                "facecolors": faces,
                "edgecolors": colour,
                "lw": 0.5,
                "gid": f"dots-{k}-{b}",
            }
            ax.scatter(cloud.dots[:, 0], cloud.dots[:, 1], s=10, **look)
        ax.set(xlim=limits[:2], ylim=limits[2:])
        ax.locator_params(nbins=6)
        ax.set_title("\n".join(titles[k]), loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        missing = gather({("", beta): cloud.missing for beta, cloud in zip(part.betas, own, strict=True)})
        _note(ax, list(missing), np.concatenate([cloud.dots for cloud in own]))
        ax.tick_params(length=2, labelleft=k % columns == 0, labelbottom=k + columns >= n)
        ax.set_xlabel("discrimination" if k + columns >= n else "")
        ax.set_ylabel("accuracy" if k % columns == 0 else "")
    return figure


@dataclass(frozen=True)
class _Cloud:
    """The dots (n, 2) of a cell, which of them are degraded, and why some are missing."""

    dots: Floats
    degraded: NDArray[np.bool_]
    missing: str


def _cloud(key: CellKey, run: RunResults) -> _Cloud:
    x, y = (run.get(key, name) for name in FIGURES["discrimination-accuracy"].metrics)
    dots = np.stack([x.values, y.values], axis=1)
    known = np.isfinite(dots).all(axis=1)
    missing = shortfall(run.cell(key).statuses, int(known.sum()), run.plan.config.repeats)
    return _Cloud(dots[known], (x.status == "degraded")[known], missing)


def beta_colours(n: int) -> list[str]:
    """Return `n` colours from dark to light, in an order that colour-blind readers and paper keep."""
    return [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0, 0.88, n))]


def _legend(betas: Sequence[float], colours: Sequence[str], hollow: bool) -> list[tuple[Any, str]]:
    look: dict[str, Any] = {"ls": "", "marker": "o", "ms": 5}
    legend = [
        (Line2D([], [], color=colour, **look), f"β = {beta:g}")
        for beta, colour in zip(betas, colours, strict=True)
    ]
    if hollow:
        legend.append(
            (Line2D([], [], color=GREY, mfc="none", **look), "hollow: could do its work in part only")
        )
    return legend


def _limits(dots: Floats) -> tuple[float, float, float, float]:
    """Return shared limits of both axes, with d = 0 in view."""
    if not len(dots):
        return -0.5, 0.5, 0.0, 1.0
    low, high = dots.min(axis=0), dots.max(axis=0)
    low[0], high[0] = min(low[0], 0.0), max(high[0], 0.0)
    margin = np.maximum(0.05 * (high - low), 0.005)
    (x0, y0), (x1, y1) = low - margin, high + margin
    return float(x0), float(x1), float(y0), float(y1)


def _note(ax: Axes, lines: list[str], dots: Floats) -> None:
    """Write what is missing into the corner with the fewest dots."""
    if not lines:
        return
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    place = (dots - [x0, y0]) / [x1 - x0, y1 - y0]
    depth = 0.12 * len(lines)

    def covered(corner: tuple[float, float]) -> int:
        near = np.abs(place - corner) < [0.75, depth]
        return int(near.all(axis=1).sum())

    x, y = min(((1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)), key=covered)
    look: dict[str, Any] = {"fontsize": SMALL, "style": "italic", "color": GREY, "transform": ax.transAxes}
    aligned: dict[str, Any] = {"ha": "right" if x else "left", "va": "top" if y else "bottom"}
    ax.text(0.97 if x else 0.03, 0.96 if y else 0.04, "\n".join(lines), **aligned, **look)
