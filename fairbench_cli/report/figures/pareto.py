"""Which techniques no other beats in both |discrimination| and accuracy, at each β."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.figures.canvas import GREY, INK, NORMAL, SMALL, text_width
from fairbench_cli.report.figures.front import staircase
from fairbench_cli.report.figures.labels import place_labels
from fairbench_cli.report.figures.parts import (
    Mean,
    Part,
    Technique,
    by_cell,
    idle_beta,
    means_text,
    missing_lines,
    part_slugs,
    parts_of,
    statuses_of,
)
from fairbench_cli.report.figures.sheet import Grid, sheet
from fairbench_cli.report.pareto import pareto_frame
from fairbench_cli.report.results import CELL_COLUMNS, mean_and_interval
from fairbench_cli.report.tables import Key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = ("discrimination", "accuracy")
FADED = 0.45
FAR = 12.0
"""Points between a marker and its label from which on a line joins them."""


def draw(_: Path, study: Study, results: pd.DataFrame, __: pd.DataFrame) -> "dict[str, Figure]":
    """Draw one figure per data set, protected attribute and classifier: a panel per β.

    Who is on the front is what `pareto_frame` says: means over repeats of |discrimination|, not absolute
    values of means.
    """
    points, statuses = points_of(results), statuses_of(results, MEASURES[0])
    parts = parts_of(study)
    return {
        slug: _figure(part, study, points, statuses)
        for slug, part in zip(part_slugs(parts), parts, strict=True)
    }


@dataclass(frozen=True)
class Point:
    """A cell's mean |discrimination| (x) and accuracy (y), and whether it is on the Pareto front."""

    x: Mean
    y: Mean
    free: bool


def points_of(results: pd.DataFrame) -> dict[Key, Point]:
    """Return the cells that have both measures in some repeat; keys are values of `CELL_COLUMNS`."""
    frame = pareto_frame(results, MEASURES)
    free = {key[:-1]: key[-1] for key in frame[[*CELL_COLUMNS, "front"]].itertuples(index=False, name=None)}
    cells = by_cell(results, MEASURES, ["repeat", "value"])
    points = {}
    for key, is_free in free.items():
        both = cells[*key, MEASURES[0]].merge(cells[*key, MEASURES[1]], on="repeat").dropna()
        found = mean_and_interval(np.stack([both["value_x"].abs(), both["value_y"]]))
        x, y = (
            Mean(float(found["mean"][k]), float(found["low"][k]), float(found["high"][k]), len(both))
            for k in (0, 1)
        )
        points[key] = Point(x, y, bool(is_free))
    return points


def _figure(part: Part, study: Study, points: dict[Key, Point], statuses: dict[Key, list[str]]) -> "Figure":
    from matplotlib.lines import Line2D

    n = len(part.betas)
    legend: list[tuple[Any, str]] = [(Line2D([], [], **_look(t), ls=""), t.label) for t in part.techniques]
    size = (1, 6.4, 4.2) if n == 1 else (2, 3.7, 2.6)
    drawn = {key: point.x.n for key, point in points.items()}
    figure, panels = sheet(
        f"Pareto front of |discrimination| and accuracy: {part.title}",
        f"{means_text(study)} Upper left is better; no technique dominates those named and in full colour."
        + (" Every panel has its own scale." if n > 1 else ""),
        legend,
        idle_beta(study, part) + missing_lines(part, study, drawn, statuses),
        Grid(n, *size, left=0.68, below=0.42, above=0.32),
        handle=0.12,
    )
    for ax, beta in zip(panels, part.betas, strict=True):
        cloud = {t: points[key] for t in part.techniques if (key := part.key(t, beta)) in points}
        left, right, low, high = _limits(list(cloud.values()))
        ax.set(xlim=(left, right), ylim=(low, high))
        ax.locator_params(nbins=6)
        front = [point for point in cloud.values() if point.free]
        stairs = staircase([p.x.mean for p in front], [p.y.mean for p in front], right, low)
        ax.plot(*stairs, color=GREY, lw=1.0, zorder=1.5, gid="front")
        _points(ax, cloud)
        _labels(figure, ax, cloud, np.transpose(stairs))
        ax.set_title(f"β = {beta:g}", loc="left", fontsize=NORMAL, fontweight="bold", pad=5)
        ax.set_xlabel("|discrimination|")
        ax.set_ylabel("accuracy")
        ax.tick_params(length=2)
    return figure


def _look(technique: Technique) -> dict[str, Any]:
    return {"color": technique.colour, "marker": technique.marker, "ms": 6.5, "mec": "white", "mew": 0.4}


def _limits(points: list[Point]) -> tuple[float, float, float, float]:
    """Return limits around markers and intervals, with room for labels."""
    if not points:
        return 0.0, 1.0, 0.0, 1.0
    x = [end for point in points for end in (point.x.mean, point.x.low, point.x.high)]
    y = [end for point in points for end in (point.y.mean, point.y.low, point.y.high)]
    left, right, low, high = np.nanmin(x), np.nanmax(x), np.nanmin(y), np.nanmax(y)
    wide, tall = max(right - left, 0.01), max(high - low, 0.01)
    return (
        float(max(left - 0.35 * wide, -0.05 * wide)),
        float(right + 0.22 * wide),
        float(low - 0.2 * tall),
        float(high + 0.25 * tall),
    )


def _points(ax: "Axes", cloud: dict[Technique, Point]) -> None:
    for t, point in cloud.items():
        x, y = point.x, point.y
        own: dict[str, Any] = {"alpha": 1.0 if point.free else FADED, "zorder": 4 if point.free else 3}
        ax.hlines(y.mean, x.low, x.high, color=t.colour, lw=1.1, **own)
        ax.vlines(x.mean, y.low, y.high, color=t.colour, lw=1.1, **own)
        gid = f"{'free' if point.free else 'dominated'}-{t.label}"
        ax.plot([x.mean], [y.mean], **_look(t), **own, ls="", gid=gid)


def _labels(figure: "Figure", ax: "Axes", cloud: dict[Technique, Point], stairs: Floats) -> None:
    """Name the points of the front beside them; a thin line leads to a label that had to move away."""
    named = [(t.label, point.x.mean, point.y.mean) for t, point in cloud.items() if point.free]
    if not named:
        return
    unit = figure.dpi / 72  # places are chosen in points, so that they are the same at every resolution

    def in_points(at: ArrayLike) -> Floats:
        return np.asarray(ax.transData.transform(at)) / unit

    lines = [(stairs, 0.8)]
    for p in cloud.values():
        lines.append((np.array([(p.x.mean, p.y.mean)] * 2), 4.0))
        lines.append((np.array([(p.x.low, p.y.mean), (p.x.high, p.y.mean)]), 0.8))
        lines.append((np.array([(p.x.mean, p.y.low), (p.x.mean, p.y.high)]), 0.8))
    x0, y0, x1, y1 = np.asarray(ax.bbox.extents) / unit
    boxes = place_labels(
        in_points([(x, y) for _, x, y in named]),
        np.array([(72 * text_width(label, SMALL) + 2, 1.3 * SMALL) for label, _, _ in named]),
        np.concatenate([_boxes(in_points(line), around) for line, around in lines]),
        (x0, y0, x1, y1),
    )
    back = ax.transData.inverted()
    for (label, x, y), box in zip(named, boxes, strict=True):
        near = np.clip(in_points((x, y)), box[:2], box[2:])
        (end_x, end_y), (text_x, text_y) = back.transform([near * unit, (box[:2] + box[2:]) / 2 * unit])
        if np.hypot(*(near - in_points((x, y)))) > FAR:
            ax.plot([x, end_x], [y, end_y], color=GREY, lw=0.5, zorder=2)
        ax.text(text_x, text_y, label, ha="center", va="center", fontsize=SMALL, color=INK, zorder=5)


def _boxes(line: Floats, around: float) -> Floats:
    """Boxes around the pieces of a line of upright and level pieces; none where its ends are unknown."""
    low = np.minimum(line[:-1], line[1:]) - around
    high = np.maximum(line[:-1], line[1:]) + around
    boxes: Floats = np.concatenate([low, high], axis=1)
    return boxes[np.isfinite(boxes).all(axis=1)]
