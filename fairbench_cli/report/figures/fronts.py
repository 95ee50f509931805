"""Accuracy against fairness: which techniques no other beats in both, and what moving thresholds reaches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import Held
from fairbench_cli.report.baselines import baselines_of
from fairbench_cli.report.figures import canvas, pages
from fairbench_cli.report.figures.canvas import GREY, INK, SMALL, Look, Numbers, Panel, around, dots, facet
from fairbench_cli.report.figures.pages import Page, TechniqueLook
from fairbench_cli.report.frontier import GAPS, TOLERANCES, MovedThresholds, moved_of
from fairbench_cli.report.paired import PARETO_METRICS, own_pareto_of
from fairbench_cli.report.repeats import CELL_COLUMNS, CellKey, is_baseline, mean_and_interval
from fairbench_cli.report.results import RunResults

FADED = 0.45
FAIREA: Look = {"color": GREY, "ls": (0, (1, 1.5)), "lw": 1.3, "zorder": 1.4}
FAR = 12.0
"""Points between a marker and its label from which on a line joins them."""
RADII = (8.0, 14.0, 22.0, 32.0, 44.0, 58.0)
ANGLES = 16
ROUNDS = 6
"""Where labels may stand: distances from the point, directions, and how often all labels choose again."""


def draw_pareto(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a panel per β.

    Who is on the front is what `pareto_frame` says: means over repeats of |discrimination|, not absolute
    values of means.
    """
    points = points_of(run)
    return {name: _pareto(page, run, points) for name, page in pages.drawn_pages(run).items()}


def fairea_lines(run: RunResults, page: Page, beta: float, gap: str) -> Floats:
    """Return the ends of Fairea's line of each ``none`` of a page: shape (lines, 2, 2), gap and accuracy.

    From the constant to ``none``, means over the repeats; `gap` is a metric of two groups in absolute value.
    """
    place = page.dataset, page.attribute, page.attribute, page.world, page.representation
    own = baselines_of(run).get((*place, beta, *page.classifier))
    if own is None or not own.plain:
        return np.zeros((0, 2, 2))
    ends = [(own.constants[own.constant], decided) for decided in own.plain.values()]
    values = [[[measure(name, one.pair) for one in pair] for name in (gap, "accuracy")] for pair in ends]
    means: Floats = mean_and_interval(np.array(values))["mean"]
    return means


def _draw_fairea(ax: Axes, run: RunResults, page: Page, beta: float, held: Held) -> None:
    for x, y in fairea_lines(run, page, beta, GAPS[held]):
        ax.plot(x, y, gid="fairea", scalex=False, scaley=False, **FAIREA)


@dataclass(frozen=True)
class Point:
    """A cell's mean |discrimination| (x) and accuracy (y), and whether it is on the Pareto front."""

    x: Numbers
    y: Numbers
    free: bool


def points_of(run: RunResults) -> dict[CellKey, Point]:
    """Return the cells that have both metrics in some repeat; keys are values of `CELL_COLUMNS`."""
    points = {}
    frame = own_pareto_of(run)
    for *cell, free in frame[[*CELL_COLUMNS, "front"]].itertuples(index=False, name=None):
        key = tuple(cell)
        both = np.stack([run.found[*key, name].values for name in PARETO_METRICS])
        both = both[:, ~np.isnan(both).any(axis=0)]
        both[0] = np.abs(both[0])
        found = mean_and_interval(both)
        x, y = ({end: float(values[i]) for end, values in found.items()} for i in (0, 1))
        points[key] = Point(x, y, bool(free))
    return points


def _pareto(page: Page, run: RunResults, points: dict[CellKey, Point]) -> Figure:
    n = len(page.betas)
    columns, size = (1, (6.4, 4.2)) if n == 1 else (2, (3.7, 2.6))
    drawn = {beta: partial(_pareto_panel, page, run, beta, points) for beta in page.betas}
    return facet(
        f"Pareto front of |discrimination| and accuracy: {page.title}",
        f"{pages.means_text(run.plan)} Upper left is better; no technique dominates those named and in full "
        "colour." + (" Every panel has its own scale." if n > 1 else ""),
        [Panel(draw, f"β = {beta:g}", "|discrimination|", "accuracy") for beta, draw in drawn.items()],
        columns,
        size,
        [*((t.dot(6.5) | {"ls": ""}, t.label) for t in page.techniques), *_fairea_key(run, page)],
        pages.notes_of(page, run, {key: int(point.x["n_ok"]) for key, point in points.items()}),
        handle=0.12,
    )


def _fairea_key(run: RunResults, page: Page) -> list[tuple[Any, str]]:
    """Return the entry of Fairea's line in a legend; none where the page has no such line."""
    found = [len(fairea_lines(run, page, beta, GAPS["demographic-parity"])) for beta in page.betas]
    return [(FAIREA, "none with decisions replaced by a constant (Fairea)")] * any(found)


def _pareto_panel(
    page: Page, run: RunResults, beta: float, points: Mapping[CellKey, Point], ax: Axes
) -> None:
    """Draw the techniques at one β, with room for labels; those of the front are named."""
    found = {t: points.get(page.key(t, beta)) for t in page.techniques}
    cloud = {t: point for t, point in found.items() if point is not None}
    ends = ("mean", "low", "high")
    left, right = around([point.x[end] for point in cloud.values() for end in ends], 0.22)
    low, high = around([point.y[end] for point in cloud.values() for end in ends], 0.22)
    ax.set(xlim=(max(left, -0.03 * (right - left)), right), ylim=(low, high))
    ax.locator_params(nbins=6)
    front = [point for point in cloud.values() if point.free]
    stairs = staircase([p.x["mean"] for p in front], [p.y["mean"] for p in front], right, low)
    ax.plot(*stairs, color=GREY, lw=1.0, zorder=1.5, gid="front")
    _draw_fairea(ax, run, page, beta, "demographic-parity")
    named, lines = [], [(np.transpose(stairs), 0.8)]
    for t, point in cloud.items():
        x, y = point.x["mean"], point.y["mean"]
        named += [(t.label, x, y)] * point.free
        lines.append((np.array([(x, y)] * 2), 4.0))
        lines.append((np.array([(point.x["low"], y), (point.x["high"], y)]), 0.8))
        lines.append((np.array([(x, point.y["low"]), (x, point.y["high"])]), 0.8))
        own: Look = {"alpha": 1.0 if point.free else FADED, "zorder": 4 if point.free else 3}
        dots(ax, point.x, point.y, f"{'free' if point.free else 'dominated'}-{t.label}", t.dot(6.5), **own)
    label_points(ax, named, lines)


def label_points(
    ax: Axes, named: Sequence[tuple[str, float, float]], lines: Sequence[tuple[Floats, float]]
) -> None:
    """Write names next to points, where they cover nothing; thin lines lead to those that had to move away.

    Parameters
    ----------
    named : sequence of (name, x, y)
    lines : sequence of (array, float)
        What to keep clear of: upright and level pieces of a line, shape (points, 2), and half its width in
        points.
    """
    if not named:
        return
    unit = ax.figure.dpi / 72  # places are chosen in points, so that they are the same at every resolution

    def in_points(at: ArrayLike) -> Floats:
        return np.asarray(ax.transData.transform(at)) / unit

    x0, y0, x1, y1 = np.asarray(ax.bbox.extents) / unit
    boxes = place_labels(
        in_points([(x, y) for _, x, y in named]),
        np.array([(72 * canvas.text_width(label, SMALL) + 2, 1.3 * SMALL) for label, _, _ in named]),
        np.concatenate([_boxes(in_points(line), wide) for line, wide in lines]),
        (x0, y0, x1, y1),
    )
    back = ax.transData.inverted()
    for (label, x, y), box in zip(named, boxes, strict=True):
        near = np.clip(in_points((x, y)), box[:2], box[2:])
        (end_x, end_y), (text_x, text_y) = back.transform([near * unit, (box[:2] + box[2:]) / 2 * unit])
        if np.hypot(*(near - in_points((x, y)))) > FAR:
            ax.plot([x, end_x], [y, end_y], color=GREY, lw=0.5, zorder=2)
        ax.text(text_x, text_y, label, ha="center", va="center", fontsize=SMALL, color=INK, zorder=5)


def _boxes(line: Floats, wide: float) -> Floats:
    """Boxes around the pieces of a line of upright and level pieces; none where its ends are unknown."""
    low = np.minimum(line[:-1], line[1:]) - wide
    high = np.maximum(line[:-1], line[1:]) + wide
    boxes: Floats = np.concatenate([low, high], axis=1)
    return boxes[np.isfinite(boxes).all(axis=1)]


def staircase(
    x: Sequence[float], y: Sequence[float], right: float, bottom: float
) -> tuple[list[float], list[float]]:
    """Return the corners of the line through the points of a front, low x and high y being good.

    It comes up from `bottom` at the point of lowest x and leaves to the `right` at the point of highest y.

    >>> staircase([0.3, 0.1], [0.8, 0.6], right=1.0, bottom=0.0)
    ([0.1, 0.1, 0.3, 0.3, 1.0], [0.0, 0.6, 0.6, 0.8, 0.8])
    """
    xs, ys = [], [bottom]
    for a, b in sorted(set(zip(x, y, strict=True))):
        xs += [a, a]
        ys += [b, b]
    return [*xs, right], ys


def place_labels(
    points: Floats, sizes: Floats, obstacles: Floats, frame: tuple[float, float, float, float]
) -> Floats:
    """Choose for each label the nearest place around its point that is free.

    Labels choose in turn, several times over, so that an early one can make way for a late one.

    Parameters
    ----------
    points : (n, 2) float64 array
        The labelled points.
    sizes : (n, 2) float64 array
        Width and height of every label.
    obstacles : (m, 4) float64 array
        Boxes (left, bottom, right, top) to keep clear of: markers and intervals.
    frame : tuple of float
        Left, bottom, right, top of the room there is.

    Returns
    -------
    (n, 4) float64 array
        The labels' boxes: left, bottom, right, top. All in the unit of the points.
    """
    choices = [_around(point, size) for point, size in zip(points, sizes, strict=True)]
    chosen = [boxes[0] for boxes in choices]
    own_cost = [
        6.0 * _overlap(boxes, obstacles).sum(axis=1)
        + 20.0 * _outside(boxes, frame)
        + np.repeat(RADII, ANGLES) * sizes[i, 1] / 8
        for i, boxes in enumerate(choices)
    ]
    for _ in range(ROUNDS):
        before = list(chosen)
        for i, boxes in enumerate(choices):
            others = np.array([box for k, box in enumerate(chosen) if k != i]).reshape(-1, 4)
            cost = own_cost[i] + 10.0 * _overlap(boxes, others).sum(axis=1)
            chosen[i] = boxes[int(np.argmin(cost))]
        if all(np.array_equal(a, b) for a, b in zip(before, chosen, strict=True)):
            break
    return np.array(chosen).reshape(-1, 4)


def _around(point: Floats, size: Floats) -> Floats:
    """Return boxes around a point, near ones first: next to it, above it, below it, aslant."""
    turn = 2 * np.pi * np.arange(ANGLES) / ANGLES
    way = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    # The box's corner or side that faces the point is a radius away, whatever the direction.
    centres = [point + way * radius + np.clip(way * 1.5, -1, 1) * size / 2 for radius in RADII]
    middle = np.concatenate(centres)
    return np.concatenate([middle - size / 2, middle + size / 2], axis=1)


def _overlap(boxes: Floats, others: Floats) -> Floats:
    """Areas that two lots of boxes share, (k, 4) and (m, 4) to (k, m)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    area: Floats = np.prod(np.clip(high - low, 0, None), axis=2)
    return area


def _outside(boxes: Floats, frame: tuple[float, float, float, float]) -> Floats:
    """Areas of the boxes that stick out of the frame."""
    room = np.array([frame])
    own: Floats = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    inside: Floats = _overlap(boxes, room)[:, 0]
    return own - inside


ROWS: dict[Held, str] = {
    "demographic-parity": "|discrimination|",
    "tpr-parity": "|difference in TPR|",
    "equalised-odds": "equalised odds: the larger of\nthe differences in TPR and FPR",
}

Places = Mapping[CellKey, tuple[MovedThresholds, int]]
"""By the key of a cell and a constraint: the numbers under it, and the place of the cell among them."""


def draw_frontier(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a row per constraint, a column per β.

    Lines are the means of frontier.csv, markers the techniques' own mean gaps and accuracies. Pages without
    any model that has scores are left out.
    """
    places = {
        (*key, moved.held): (moved, place)
        for moved in moved_of(run)
        if moved.compared == moved.data.attribute
        for place, key in enumerate(moved.data.frame[CELL_COLUMNS].itertuples(index=False, name=None))
    }
    return {
        name: _frontier(page, run, places)
        for name, page in pages.drawn_pages(run).items()
        if any(_line(places, page.key(t, beta)) is not None for t in page.techniques for beta in page.betas)
    }


def _line(places: Places, key: CellKey, held: str = "demographic-parity") -> dict[str, Any] | None:
    """Return mean and interval of a model's frontier over its tolerances; None for a model without scores."""
    moved, place = places.get((*key, held), (None, 0))
    if moved is None or np.isnan(moved.accuracy[place]).all():
        return None
    return mean_and_interval(moved.accuracy[place].T)


def _frontier(page: Page, run: RunResults, places: Places) -> Figure:
    columns, n = len(page.betas), run.plan.config.repeats
    means = f"Means of {n} repeats with 95 % intervals" if n > 1 else "One repeat"
    plain = [t for t in page.techniques if _is_baseline(t)]
    legend: list[tuple[Any, str]] = [(t.line(2.0), f"thresholds of {t.label} moved") for t in plain]
    if len(plain) < len(page.techniques):
        legend.append(({"color": GREY, "lw": 0.7}, "of a technique's own model"))
    return facet(
        f"Did the techniques beat moving the thresholds? {page.title}",
        f"{means}. {pages.rows_tested(run.plan)} Lines: the best accuracy of thresholds for each group, "
        "chosen on the test rows, with no larger gap. A technique above the thick line does what moving "
        "thresholds cannot; one below it may lose to hindsight alone. Every panel has its own scale.",
        [
            Panel(
                partial(_frontier_panel, page, run, beta, held, places),
                f"β = {beta:g}" if held == "demographic-parity" else "",
                name if j == columns // 2 else "",
                "accuracy" if j == 0 else "",
            )
            for held, name in ROWS.items()
            for j, beta in enumerate(page.betas)
        ],
        columns,
        ({1: 5.0, 2: 3.2, 3: 2.35}.get(columns, 1.9), 1.75),
        [*legend, *_fairea_key(run, page), *((t.dot(6.0) | {"ls": ""}, t.label) for t in page.techniques)],
        _notes(page, run, places),
        room=(0.2, 0.12, 0.47, 0.47),
    )


def _is_baseline(technique: TechniqueLook) -> bool:
    return is_baseline(*technique.own[:2])


def _frontier_panel(page: Page, run: RunResults, beta: float, held: Held, places: Places, ax: Axes) -> None:
    for i, t in enumerate(page.techniques):
        key = page.key(t, beta)
        line = _line(places, key, held)
        if line is not None and _is_baseline(t):
            canvas.band(ax, TOLERANCES, line, f"frontier-{i}", t.line(2.0), alpha=0.15)
        elif line is not None:
            ax.plot(TOLERANCES, line["mean"], gid=f"frontier-{i}", zorder=2, **t.line(0.7))
        if (*key, held) not in places:
            continue
        moved, place = places[*key, held]
        both = np.stack([moved.own_gap[place], moved.own_accuracy[place]])
        both = both[:, ~np.isnan(both).any(axis=0)]
        if both.shape[1]:
            found = mean_and_interval(both)
            x, y = ({end: values[i] for end, values in found.items()} for i in (0, 1))
            dots(ax, x, y, f"own-{i}", t.dot(6.0) | {"clip_on": False})
    points, lines = _of(ax, "own-"), _of(ax, "frontier-")
    if lines.size or points.size:  # all markers are shown, and the lines as far as the markers go
        right = min(1.0, 1.12 * max(float(points[0].max(initial=0.0)), 0.05))
        seen = [*points[1], *lines[1][lines[0] <= right]]
        ax.set(xlim=(-0.03 * right, right), ylim=around(seen, 0.08))
        ax.locator_params(nbins=5)
    _draw_fairea(ax, run, page, beta, held)


def _of(ax: Axes, gid: str) -> Floats:
    """Return the points of all lines of a kind, shape (2, points)."""
    lines = [line for line in ax.lines if str(line.get_gid()).startswith(gid)]
    return np.concatenate([np.empty((2, 0)), *(np.asarray(line.get_data()) for line in lines)], axis=1)


def _notes(page: Page, run: RunResults, places: Places) -> list[str]:
    """Say which techniques lack values of some repeats, and which have no line."""
    drawn, silent = {}, []
    for t in page.techniques:
        keys = [key for beta in page.betas if (*(key := page.key(t, beta)), "demographic-parity") in places]
        for key in keys:
            moved, place = places[*key, "demographic-parity"]
            drawn[key] = int((~np.isnan(moved.own_accuracy[place])).sum())
        if any(drawn[key] and _line(places, key) is None for key in keys):
            silent.append(t.label)
    scoreless = f"{', '.join(silent)}: some models have no scores, so there is no line of theirs."
    return pages.notes_of(page, run, drawn) + ([scoreless] if silent else [])
