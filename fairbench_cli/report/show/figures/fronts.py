"""Accuracy against fairness: which techniques no other beats in both, and what moving thresholds reaches."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import Held
from fairbench_cli.report.ledger.baselines import baselines_by_situation
from fairbench_cli.report.ledger.frontier import GAP_METRICS, TOLERANCES, moved_thresholds_of_run
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, CellKey, is_baseline, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import PARETO_METRICS, run_pareto_frame
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.canvas import (
    GREY,
    INK,
    SMALL,
    Look,
    MeanAndEnds,
    Panel,
    axis_limits,
    facet,
    plot_dots,
)
from fairbench_cli.report.show.figures.pages import PAGE, Page, TechniqueLook

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
    return pages.plot_pages(run, PAGE, pages.pages_with_results(run), partial(_pareto, mean_points(run)))


def fairea_lines(run: RunResults, page: Page, beta: float, gap: str) -> Floats:
    """Return the ends of Fairea's line of each ``none`` of a page: shape (lines, 2, 2), gap and accuracy.

    From the constant to ``none``, means over the repeats; `gap` is a metric of two groups in absolute value.
    """
    situation = page.dataset, page.attribute, page.attribute, page.world, page.representation
    baselines = baselines_by_situation(run).get((*situation, beta, *page.classifier))
    if baselines is None or not baselines.plain:
        return np.zeros((0, 2, 2))
    constant = baselines.constants[baselines.constant].pair
    values = []
    for decided in baselines.plain.values():
        gaps = [measure(gap, constant), measure(gap, decided.pair)]
        accuracies = [measure("accuracy", constant), measure("accuracy", decided.pair)]
        values.append([gaps, accuracies])
    means: Floats = mean_and_interval(np.array(values))["mean"]
    return means


def _draw_fairea(ax: Axes, run: RunResults, page: Page, beta: float, held: Held) -> None:
    for x, y in fairea_lines(run, page, beta, GAP_METRICS[held]):
        ax.plot(x, y, gid="fairea", scalex=False, scaley=False, **FAIREA)


Point = tuple[MeanAndEnds, MeanAndEnds, bool]
"""A cell's mean |discrimination|, its accuracy, and whether it is on the Pareto front."""


def mean_points(run: RunResults) -> dict[CellKey, Point]:
    """Return the cells that have both metrics in some repeat; keys are values of `CELL_COLUMNS`."""
    frame = run_pareto_frame(run.by_own_attribute)
    points = {}
    for *cell, free in frame[[*CELL_COLUMNS, "front"]].itertuples(index=False, name=None):
        gaps, accuracies = (run.metric_by_cell[*cell, name].values for name in PARETO_METRICS)
        points[tuple(cell)] = *means_of_both(np.abs(gaps), accuracies), bool(free)
    return points


def means_of_both(first: Floats, second: Floats) -> tuple[MeanAndEnds, MeanAndEnds]:
    """Return the means, with intervals, of two metrics over the repeats that have both."""
    both = np.stack([first, second])
    means = mean_and_interval(both[:, ~np.isnan(both).any(axis=0)])
    x = {end: values[0] for end, values in means.items()}
    y = {end: values[1] for end, values in means.items()}
    return x, y


def _pareto(points: Mapping[CellKey, Point], run: RunResults, title: str, page: Page) -> Figure:
    columns, size = (1, (6.4, 4.2)) if len(page.betas) == 1 else (2, (3.7, 2.6))
    return facet(
        f"Pareto front of |discrimination| and accuracy: {title}",
        f"{pages.describe_means(run.plan)} Upper left is better; no technique dominates those named and in "
        "full colour." + (" Every panel has its own scale." if columns > 1 else ""),
        [
            Panel(
                partial(_pareto_panel, page, run, beta, points),
                f"β = {beta:g}",
                "|discrimination|",
                "accuracy",
            )
            for beta in page.betas
        ],
        columns,
        size,
        [*((t.dot(6.5) | {"ls": ""}, t.label) for t in page.techniques), *_fairea_key(run, page)],
        pages.page_notes(page, run, {key: int(x["n_ok"]) for key, (x, _, _) in points.items()}),
        handle_length=0.12,
    )


def _fairea_key(run: RunResults, page: Page) -> list[tuple[Any, str]]:
    """Return the entry of Fairea's line in a legend; none where the page has no such line."""
    n_lines = [len(fairea_lines(run, page, beta, GAP_METRICS["demographic-parity"])) for beta in page.betas]
    if not any(n_lines):
        return []
    return [(FAIREA, "none with decisions replaced by a constant (Fairea)")]


def _pareto_panel(
    page: Page, run: RunResults, beta: float, points: Mapping[CellKey, Point], ax: Axes
) -> None:
    """Draw the techniques at one β, with room for labels; those of the front are named."""
    keys = {t: page.key(t, beta) for t in page.techniques}
    cloud = {t: points[key] for t, key in keys.items() if key in points}
    x_ends = []
    y_ends = []
    for x, y, _ in cloud.values():
        x_ends += [x["mean"], x["low"], x["high"]]
        y_ends += [y["mean"], y["low"], y["high"]]
    left, right = axis_limits(x_ends, 0.22)
    low, high = axis_limits(y_ends, 0.22)
    ax.set(xlim=(max(left, -0.03 * (right - left)), right), ylim=(low, high))
    ax.locator_params(nbins=6)
    front = [(x["mean"], y["mean"]) for x, y, free in cloud.values() if free]
    stairs = staircase([x for x, _ in front], [y for _, y in front], right, low)
    ax.plot(*stairs, color=GREY, lw=1.0, zorder=1.5, gid="front")
    _draw_fairea(ax, run, page, beta, "demographic-parity")
    points_of_front = []
    lines = [(*start, *end, 0.8) for start, end in pairwise(zip(*stairs, strict=True))]
    for t, (x, y, free) in cloud.items():
        x_mean, y_mean = x["mean"], y["mean"]
        if free:
            points_of_front.append((t.label, x_mean, y_mean))
        lines.append((x_mean, y_mean, x_mean, y_mean, 4.0))
        lines.append((x["low"], y_mean, x["high"], y_mean, 0.8))
        lines.append((x_mean, y["low"], x_mean, y["high"], 0.8))
        look: Look = {"alpha": 1.0 if free else FADED, "zorder": 4 if free else 3}
        plot_dots(ax, x, y, f"{'free' if free else 'dominated'}-{t.label}", t.dot(6.5), **look)
    label_points(ax, points_of_front, lines)


def label_points(
    ax: Axes, labelled: Sequence[tuple[str, float, float]], lines: Sequence[tuple[float, ...]]
) -> None:
    """Write names next to points, where they cover nothing; thin lines lead to those that had to move away.

    Parameters
    ----------
    labelled : sequence of (name, x, y)
    lines : sequence of (left, bottom, right, top, half width)
        Upright and level lines to keep clear of: their ends in data coordinates, their half width in points.
    """
    if not labelled:
        return
    unit = ax.figure.dpi / 72  # places are chosen in points, so that they are the same at every resolution
    points = ax.transData.transform([(x, y) for _, x, y in labelled]) / unit
    ends, wide = np.split(np.array(lines, dtype=float), [4], axis=1)
    clear = ax.transData.transform(ends.reshape(-1, 2)).reshape(-1, 4) / unit + wide * [-1, -1, 1, 1]
    boxes = place_labels(
        points,
        np.array([(72 * canvas.text_width(label, SMALL) + 2, 1.3 * SMALL) for label, _, _ in labelled]),
        clear[np.isfinite(clear).all(axis=1)],
        np.asarray(ax.bbox.extents) / unit,
    )
    low, high = np.split(boxes, 2, axis=1)
    nearest = np.clip(points, low, high)
    far = np.hypot(*(nearest - points).T) > FAR
    to_data = ax.transData.inverted()
    line_ends = to_data.transform(nearest * unit)
    middles = to_data.transform((low + high) / 2 * unit)
    for (label, x, y), away, end, (text_x, text_y) in zip(labelled, far, line_ends, middles, strict=True):
        if away:
            ax.plot([x, end[0]], [y, end[1]], color=GREY, lw=0.5, zorder=2)
        ax.text(text_x, text_y, label, ha="center", va="center", fontsize=SMALL, color=INK, zorder=5)


def staircase(
    x: Sequence[float], y: Sequence[float], right: float, bottom: float
) -> tuple[list[float], list[float]]:
    """Return the corners of the line through the points of a front, low x and high y being good.

    It comes up from `bottom` at the point of lowest x and leaves to the `right` at the point of highest y.

    >>> staircase([0.3, 0.1], [0.8, 0.6], right=1.0, bottom=0.0)
    ([0.1, 0.1, 0.3, 0.3, 1.0], [0.0, 0.6, 0.6, 0.8, 0.8])
    """
    xs = []
    ys = [bottom]
    for a, b in sorted(set(zip(x, y, strict=True))):
        xs += [a, a]
        ys += [b, b]
    return [*xs, right], ys


def place_labels(points: Floats, sizes: Floats, obstacles: Floats, frame: ArrayLike) -> Floats:
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
    frame : four floats
        Left, bottom, right, top of the room there is.

    Returns
    -------
    (n, 4) float64 array
        The labels' boxes: left, bottom, right, top. All in the unit of the points.
    """
    turn = 2 * np.pi * np.arange(ANGLES) / ANGLES
    way = np.tile(np.stack([np.cos(turn), np.sin(turn)], axis=1), (len(RADII), 1))
    radius = np.repeat(RADII, ANGLES)[:, np.newaxis]
    # The box's corner or side that faces the point is a radius away, whatever the direction.
    size = sizes[:, np.newaxis]
    middle = points[:, np.newaxis] + way * radius + np.clip(way * 1.5, -1, 1) * size / 2
    boxes = np.concatenate([middle - size / 2, middle + size / 2], axis=2)  # (labels, places, 4)
    outside = np.prod(boxes[..., 2:] - boxes[..., :2], axis=2) - _overlap(boxes, np.array([frame]))
    cost = 6.0 * _overlap(boxes, obstacles) + 20.0 * outside + radius[:, 0] * sizes[:, 1:] / 8
    labels = np.arange(len(points))
    chosen = np.zeros(len(points), dtype=np.intp)
    for _ in range(ROUNDS):
        before = chosen.copy()
        for i in labels:
            others = np.delete(boxes[labels, chosen], i, axis=0)
            chosen[i] = np.argmin(cost[i] + 10.0 * _overlap(boxes[i], others))
        if np.array_equal(chosen, before):
            break
    return boxes[labels, chosen]


def _overlap(boxes: Floats, others: Floats) -> Floats:
    """Areas that boxes share with all others together: (..., 4) and (m, 4) to (...)."""
    low = np.maximum(boxes[..., np.newaxis, :2], others[:, :2])
    high = np.minimum(boxes[..., np.newaxis, 2:], others[:, 2:])
    area: Floats = np.prod(np.clip(high - low, 0, None), axis=-1).sum(axis=-1)
    return area


ROWS: dict[Held, str] = {
    "demographic-parity": "|discrimination|",
    "tpr-parity": "|difference in TPR|",
    "equalised-odds": "equalised odds: the larger of\nthe differences in TPR and FPR",
}

Reached = Mapping[tuple[CellKey, Held], tuple[MeanAndEnds | None, MeanAndEnds, MeanAndEnds]]
"""By cell and constraint: the frontier of its model, None without scores, and its own gap and accuracy."""


def draw_frontier(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a row per constraint, a column per β.

    Lines are the means of frontier.csv, markers the techniques' own mean gaps and accuracies. Pages without
    any model that has scores are left out.
    """
    reached: dict[tuple[CellKey, Held], tuple[MeanAndEnds | None, MeanAndEnds, MeanAndEnds]] = {}
    for moved in moved_thresholds_of_run(run):
        if moved.compared != moved.data.attribute:
            continue
        keys = moved.data.frame[CELL_COLUMNS].itertuples(index=False, name=None)
        for i, key in enumerate(keys):
            scoreless = np.isnan(moved.accuracy[i]).all()
            if scoreless:
                line = None
            else:
                line = mean_and_interval(moved.accuracy[i].T)
            reached[key, moved.constraint] = (
                line,
                *means_of_both(moved.technique_gap[i], moved.technique_accuracy[i]),
            )
    scored = {key for (key, _), (line, *_) in reached.items() if line is not None}
    scored_pages = {}
    for names, page in pages.pages_with_results(run).items():
        page_keys = {page.key(technique, beta) for technique, beta in product(page.techniques, page.betas)}
        if page_keys & scored:
            scored_pages[names] = page
    return pages.plot_pages(run, PAGE, scored_pages, partial(_frontier, reached))


def _frontier(reached: Reached, run: RunResults, title: str, page: Page) -> Figure:
    columns = len(page.betas)
    baselines = [t for t in page.techniques if _is_baseline(t)]
    legend: list[tuple[Any, str]] = [(t.line(2.0), f"thresholds of {t.label} moved") for t in baselines]
    if len(baselines) < len(page.techniques):
        legend.append(({"color": GREY, "lw": 0.7}, "of a technique's own model"))

    def panel(held: Held, beta: float) -> Panel:
        draw = partial(_frontier_panel, page, run, beta, held, reached)
        if held == "demographic-parity":
            title = f"β = {beta:g}"
        else:
            title = ""
        if beta == page.betas[columns // 2]:
            below = ROWS[held]
        else:
            below = ""
        return Panel(draw, title, below, "accuracy" if beta == page.betas[0] else "")

    return facet(
        f"Did the techniques beat moving the thresholds? {title}",
        f"{pages.describe_means(run.plan)} Lines: the best accuracy of thresholds for each group, "
        "chosen on the test rows, with no larger gap. A technique above the thick line does what moving "
        "thresholds cannot; one below it may lose to hindsight alone. Every panel has its own scale.",
        canvas.lay_out_panels([*ROWS], page.betas, columns, panel),
        columns,
        ({1: 5.0, 2: 3.2, 3: 2.35}.get(columns, 1.9), 1.75),
        [*legend, *_fairea_key(run, page), *((t.dot(6.0) | {"ls": ""}, t.label) for t in page.techniques)],
        _notes(page, run, reached),
        margins=(0.2, 0.12, 0.47, 0.47),
    )


def _is_baseline(technique: TechniqueLook) -> bool:
    return is_baseline(*technique.technique[:2])


def _frontier_panel(page: Page, run: RunResults, beta: float, held: Held, reached: Reached, ax: Axes) -> None:
    for i, t in enumerate(page.techniques):
        key = page.key(t, beta), held
        if key not in reached:
            continue
        line, x, y = reached[key]
        if line is not None and _is_baseline(t):
            canvas.plot_band(ax, TOLERANCES, line, f"frontier-{i}", t.line(2.0), alpha=0.15)
        elif line is not None:
            ax.plot(TOLERANCES, line["mean"], gid=f"frontier-{i}", zorder=2, **t.line(0.7))
        if x["n_ok"]:
            plot_dots(ax, x, y, f"own-{i}", t.dot(6.0) | {"clip_on": False})
    points = _of(ax, "own-")
    lines = _of(ax, "frontier-")
    if lines.size or points.size:  # all markers are shown, and the lines as far as the markers go
        right = min(1.0, 1.12 * max(float(points[0].max(initial=0.0)), 0.05))
        accuracies = [*points[1], *lines[1][lines[0] <= right]]
        ax.set(xlim=(-0.03 * right, right), ylim=axis_limits(accuracies, 0.08))
        ax.locator_params(nbins=5)
    _draw_fairea(ax, run, page, beta, held)


def _of(ax: Axes, gid: str) -> Floats:
    """Return the points of all lines of a kind, shape (2, points)."""
    lines = [line for line in ax.lines if str(line.get_gid()).startswith(gid)]
    return np.concatenate([np.empty((2, 0)), *(np.asarray(line.get_data()) for line in lines)], axis=1)


def _notes(page: Page, run: RunResults, reached: Reached) -> list[str]:
    """Say which techniques lack values of some repeats, and which have no line."""
    drawn = {}
    lineless = set()
    for (key, held), (line, _, accuracy) in reached.items():
        if held == "demographic-parity":
            drawn[key] = int(accuracy["n_ok"])
            if line is None and drawn[key]:
                lineless.add(key)
    silent = []
    for technique in page.techniques:
        keys = {page.key(technique, beta) for beta in page.betas}
        if keys & lineless:
            silent.append(technique.label)
    notes = pages.page_notes(page, run, drawn)
    if silent:
        notes.append(f"{', '.join(silent)}: some models have no scores, so there is no line of theirs.")
    return notes
