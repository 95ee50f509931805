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
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, CellKey, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import PARETO_METRICS, run_pareto_frame
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.pages import PAGE, Page, TechniqueLook

FADED = 0.45
FAIREA: canvas.Look = {"color": canvas.GREY, "ls": (0, (1, 1.5)), "lw": 1.3, "zorder": 1.4}
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
    # The groups compared are those of the cell's own attribute.
    situation = (page.dataset, page.attribute, page.attribute, page.world, page.representation)
    classifier, parameters = page.classifier
    baselines = baselines_by_situation(run).get((*situation, beta, classifier, parameters))
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


def _draw_fairea(ax: Axes, run: RunResults, page: Page, beta: float, constraint: Held) -> None:
    for x, y in fairea_lines(run, page, beta, GAP_METRICS[constraint]):
        ax.plot(x, y, gid="fairea", scalex=False, scaley=False, **FAIREA)


Box = tuple[float, float, float, float, float]
"""A line to keep clear of: left, bottom, right, top, half width."""

Point = tuple[canvas.MeanAndEnds, canvas.MeanAndEnds, bool]
"""A cell's mean |discrimination|, its accuracy, and whether it is on the Pareto front."""


def mean_points(run: RunResults) -> dict[CellKey, Point]:
    """Return the cells that have both metrics in some repeat; keys are values of `CELL_COLUMNS`."""
    frame = run_pareto_frame(run.by_own_attribute)
    points = {}
    keys = frame[CELL_COLUMNS].itertuples(index=False, name=None)
    for key, is_on_front in zip(keys, frame["front"], strict=True):
        gaps = run.cell_metric(key, PARETO_METRICS[0]).values
        accuracies = run.cell_metric(key, PARETO_METRICS[1]).values
        x, y = means_of_both(np.abs(gaps), accuracies)
        points[key] = (x, y, bool(is_on_front))
    return points


def means_of_both(x_values: Floats, y_values: Floats) -> tuple[canvas.MeanAndEnds, canvas.MeanAndEnds]:
    """Return the means, with intervals, of two metrics over the repeats that have both."""
    pair = np.stack([x_values, y_values])
    means = mean_and_interval(pair[:, ~np.isnan(pair).any(axis=0)])
    x = {end: values[0] for end, values in means.items()}
    y = {end: values[1] for end, values in means.items()}
    return x, y


def _pareto(points: Mapping[CellKey, Point], run: RunResults, title: str, page: Page) -> Figure:
    is_alone = len(page.betas) == 1
    about_scales = "" if is_alone else " Every panel has its own scale."
    panels = []
    for beta in page.betas:
        draw = partial(_pareto_panel, page, run, beta, points)
        panels.append(canvas.Panel(draw, pages.beta_title(run.plan, beta), "|discrimination|", "accuracy"))
    return canvas.facet(
        f"Pareto front of |discrimination| and accuracy: {title}",
        f"{pages.describe_means(run)} Upper left is better; by means, which may be chance, no technique "
        f"dominates those named and in full colour.{about_scales}",
        panels,
        1 if is_alone else 2,
        (6.4, 4.2) if is_alone else (3.7, 2.6),
        _dots_key(page, 6.5) + _fairea_key(run, page),
        pages.page_notes(page, run, {key: int(x["n_ok"]) for key, (x, _, _) in points.items()}),
        handle_length=0.12,
    )


def _dots_key(page: Page, size: float) -> list[tuple[Any, str]]:
    """Return the entries of the techniques of a page in a legend of dots."""
    return [(technique.dot(size) | {"ls": ""}, technique.label) for technique in page.techniques]


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
    # 1. The axes, around all intervals.
    drawn: dict[TechniqueLook, Point] = {}
    x_ends = []
    y_ends = []
    for technique in page.techniques:
        key = page.key(technique, beta)
        if key not in points:
            continue
        drawn[technique] = points[key]
        x, y, _ = points[key]
        x_ends += [x["mean"], x["low"], x["high"]]
        y_ends += [y["mean"], y["low"], y["high"]]
    x_low, x_high = canvas.axis_limits(x_ends, 0.22)
    y_low, y_high = canvas.axis_limits(y_ends, 0.22)
    ax.set(xlim=(max(x_low, -0.03 * (x_high - x_low)), x_high), ylim=(y_low, y_high))
    ax.locator_params(nbins=6)
    # 2. The front and Fairea's line.
    front_x = [x["mean"] for x, _, is_on_front in drawn.values() if is_on_front]
    front_y = [y["mean"] for _, y, is_on_front in drawn.values() if is_on_front]
    stairs_x, stairs_y = staircase(front_x, front_y, x_high, y_low)
    ax.plot(stairs_x, stairs_y, color=canvas.GREY, lw=1.0, zorder=1.5, gid="front")
    _draw_fairea(ax, run, page, beta, "demographic-parity")
    # 3. The dots, and names that keep clear of these, of their intervals and of the front.
    labelled = []
    lines: list[Box] = []
    for (start_x, end_x), (start_y, end_y) in zip(pairwise(stairs_x), pairwise(stairs_y), strict=True):
        lines.append((start_x, start_y, end_x, end_y, 0.8))
    for technique, (x, y, is_on_front) in drawn.items():
        x_mean = x["mean"]
        y_mean = y["mean"]
        lines.append((x_mean, y_mean, x_mean, y_mean, 4.0))
        lines.append((x["low"], y_mean, x["high"], y_mean, 0.8))
        lines.append((x_mean, y["low"], x_mean, y["high"], 0.8))
        if is_on_front:
            labelled.append((technique.label, x_mean, y_mean))
            gid = f"free-{technique.label}"
            look: canvas.Look = {"alpha": 1.0, "zorder": 4}
        else:
            gid = f"dominated-{technique.label}"
            look = {"alpha": FADED, "zorder": 3}
        canvas.plot_dots(ax, x, y, gid, technique.dot(6.5), **look)
    label_points(ax, labelled, lines)


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
    unit = ax.figure.dpi / 72  # positions are chosen in points, so that they are the same at every resolution
    # 1. From data coordinates to points: the labelled points, and boxes around the lines.
    points = ax.transData.transform([(x, y) for _, x, y in labelled]) / unit
    ends, half_widths = np.split(np.array(lines, dtype=float), [4], axis=1)
    corners = ax.transData.transform(ends.reshape(-1, 2)).reshape(-1, 4) / unit
    obstacles = corners + half_widths * [-1, -1, 1, 1]
    obstacles = obstacles[np.isfinite(obstacles).all(axis=1)]
    # 2. Choose where the labels stand.
    sizes = np.array(
        [(72 * canvas.text_width(label, canvas.SMALL) + 2, 1.3 * canvas.SMALL) for label, _, _ in labelled]
    )
    boxes = place_labels(points, sizes, obstacles, np.asarray(ax.bbox.extents) / unit)
    # 3. Write them; where one is far, a line leads from the point to the nearest side of its box.
    low, high = np.split(boxes, 2, axis=1)
    nearest = np.clip(points, low, high)
    is_far = np.hypot(*(nearest - points).T) > FAR
    to_data = ax.transData.inverted()
    line_ends = to_data.transform(nearest * unit)
    middles = to_data.transform((low + high) / 2 * unit)
    for i, (label, x, y) in enumerate(labelled):
        if is_far[i]:
            ax.plot([x, line_ends[i, 0]], [y, line_ends[i, 1]], color=canvas.GREY, lw=0.5, zorder=2)
        text_x, text_y = middles[i]
        ax.text(
            text_x, text_y, label, ha="center", va="center", fontsize=canvas.SMALL, color=canvas.INK, zorder=5
        )


def staircase(
    x: Sequence[float], y: Sequence[float], x_right: float, y_bottom: float
) -> tuple[list[float], list[float]]:
    """Return the corners of the line through the points of a front, low x and high y being good.

    It comes up from `y_bottom` at the point of lowest x and leaves to `x_right` at the point of highest y.

    >>> staircase([0.3, 0.1], [0.8, 0.6], x_right=1.0, y_bottom=0.0)
    ([0.1, 0.1, 0.3, 0.3, 1.0], [0.0, 0.6, 0.6, 0.8, 0.8])
    """
    corners_x = []
    corners_y = [y_bottom]
    for point_x, point_y in sorted(set(zip(x, y, strict=True))):
        corners_x += [point_x, point_x]
        corners_y += [point_y, point_y]
    corners_x.append(x_right)
    return corners_x, corners_y


def place_labels(points: Floats, sizes: Floats, obstacles: Floats, frame: ArrayLike) -> Floats:
    """Choose for each label the nearest box around its point that is free.

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
    # 1. The candidates: boxes in each direction, at each radius. The corner or side that faces the point is a
    # radius away, whatever the direction.
    angles = 2 * np.pi * np.arange(ANGLES) / ANGLES
    directions = np.tile(np.stack([np.cos(angles), np.sin(angles)], axis=1), (len(RADII), 1))
    radii = np.repeat(RADII, ANGLES)[:, np.newaxis]
    size = sizes[:, np.newaxis]
    middle = points[:, np.newaxis] + directions * radii + np.clip(directions * 1.5, -1, 1) * size / 2
    boxes = np.concatenate([middle - size / 2, middle + size / 2], axis=2)  # (labels, candidates, 4)
    # 2. What each costs: covering an obstacle, leaving the frame, being far.
    outside = np.prod(boxes[..., 2:] - boxes[..., :2], axis=2) - _overlap(boxes, np.array([frame]))
    cost = 6.0 * _overlap(boxes, obstacles) + 20.0 * outside + radii[:, 0] * sizes[:, 1:] / 8
    # 3. All choose in turn, also by the overlap with the boxes that others have now, until none moves.
    labels = np.arange(len(points))
    chosen = np.zeros(len(points), dtype=np.intp)
    for _ in range(ROUNDS):
        previous = chosen.copy()
        for i in labels:
            other_boxes = np.delete(boxes[labels, chosen], i, axis=0)
            chosen[i] = np.argmin(cost[i] + 10.0 * _overlap(boxes[i], other_boxes))
        if np.array_equal(chosen, previous):
            break
    return boxes[labels, chosen]


def _overlap(boxes: Floats, other_boxes: Floats) -> Floats:
    """Return the areas that boxes share with all others together: (..., 4) and (m, 4) to (...)."""
    low = np.maximum(boxes[..., np.newaxis, :2], other_boxes[:, :2])
    high = np.minimum(boxes[..., np.newaxis, 2:], other_boxes[:, 2:])
    area: Floats = np.prod(np.clip(high - low, 0, None), axis=-1).sum(axis=-1)
    return area


ROWS: dict[Held, str] = {
    "demographic-parity": "|discrimination|",
    "tpr-parity": "|difference in TPR|",
    "equalised-odds": "equalised odds: the larger of\nthe differences in TPR and FPR",
}

CellFrontier = tuple[canvas.MeanAndEnds | None, canvas.MeanAndEnds, canvas.MeanAndEnds]
"""The frontier of a cell's model, None without scores, and its own gap and accuracy."""

Frontiers = Mapping[tuple[CellKey, Held], CellFrontier]
"""By cell and constraint."""


def draw_frontier(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a row per constraint, a column per β.

    Lines are the means of frontier.csv, markers the techniques' own mean gaps and accuracies. Pages without
    any model that has scores are left out.
    """
    frontiers: dict[tuple[CellKey, Held], CellFrontier] = {}
    scored = set()
    for moved in moved_thresholds_of_run(run):
        if moved.compared != moved.data.attribute:
            continue
        keys = moved.data.frame[CELL_COLUMNS].itertuples(index=False, name=None)
        for i, key in enumerate(keys):
            line = None
            if not np.isnan(moved.accuracy[i]).all():
                line = mean_and_interval(moved.accuracy[i].T)
                scored.add(key)
            gap, accuracy = means_of_both(moved.technique_gap[i], moved.technique_accuracy[i])
            frontiers[key, moved.constraint] = (line, gap, accuracy)
    scored_pages = {}
    for names, page in pages.pages_with_results(run).items():
        page_keys = {page.key(technique, beta) for technique, beta in product(page.techniques, page.betas)}
        if page_keys & scored:
            scored_pages[names] = page
    return pages.plot_pages(run, PAGE, scored_pages, partial(_frontier, frontiers))


def _frontier(frontiers: Frontiers, run: RunResults, title: str, page: Page) -> Figure:
    columns = len(page.betas)
    baselines = [technique for technique in page.techniques if technique.is_baseline]
    legend: list[tuple[Any, str]] = []
    for technique in baselines:
        legend.append((technique.line(2.0), f"thresholds of {technique.label} moved"))
    if len(baselines) < len(page.techniques):
        legend.append(({"color": canvas.GREY, "lw": 0.7}, "of a technique's own model"))
    legend += _fairea_key(run, page) + _dots_key(page, 6.0)

    def panel(constraint: Held, beta: float) -> canvas.Panel:
        draw = partial(_frontier_panel, page, run, beta, constraint, frontiers)
        panel_title = ""
        if constraint == "demographic-parity":
            panel_title = pages.beta_title(run.plan, beta)
        x_label = ROWS[constraint] if beta == page.betas[columns // 2] else ""
        return canvas.Panel(draw, panel_title, x_label, "accuracy" if beta == page.betas[0] else "")

    return canvas.facet(
        f"Did the techniques beat moving the thresholds? {title}",
        f"{pages.describe_means(run)} Lines: the best accuracy of thresholds for each group, "
        "chosen on the test rows, with no larger gap. A technique above the thick line does what moving "
        "thresholds cannot; one below it may lose to hindsight alone. Every panel has its own scale.",
        canvas.lay_out_panels(list(ROWS), page.betas, columns, panel),
        columns,
        ({1: 5.0, 2: 3.2, 3: 2.35}.get(columns, 1.9), 1.75),
        legend,
        _notes(page, run, frontiers),
        margins=(0.2, 0.12, 0.47, 0.47),
    )


def _frontier_panel(
    page: Page, run: RunResults, beta: float, constraint: Held, frontiers: Frontiers, ax: Axes
) -> None:
    """Draw the frontiers of the models at one β, and where the techniques are themselves."""
    for i, technique in enumerate(page.techniques):
        key = (page.key(technique, beta), constraint)
        if key not in frontiers:
            continue
        line, x, y = frontiers[key]
        if line is not None and technique.is_baseline:
            canvas.plot_band(ax, TOLERANCES, line, f"frontier-{i}", technique.line(2.0), alpha=0.15)
        elif line is not None:
            ax.plot(TOLERANCES, line["mean"], gid=f"frontier-{i}", zorder=2, **technique.line(0.7))
        if x["n_ok"]:
            canvas.plot_dots(ax, x, y, f"own-{i}", technique.dot(6.0) | {"clip_on": False})
    # All markers are shown, and the lines as far as the markers go.
    marker_x, marker_y = _points_of_lines(ax, "own-")
    line_x, line_y = _points_of_lines(ax, "frontier-")
    if line_x.size or marker_x.size:
        x_right = min(1.0, 1.12 * max(float(marker_x.max(initial=0.0)), 0.05))
        accuracies = np.append(marker_y, line_y[line_x <= x_right])
        ax.set(xlim=(-0.03 * x_right, x_right), ylim=canvas.axis_limits(accuracies, 0.08))
        ax.locator_params(nbins=5)
    _draw_fairea(ax, run, page, beta, constraint)


def _points_of_lines(ax: Axes, prefix: str) -> Floats:
    """Return the points of all lines whose gid begins with a prefix, shape (2, points)."""
    points = [np.empty((2, 0))]
    for line in ax.lines:
        if str(line.get_gid()).startswith(prefix):
            points.append(np.asarray(line.get_data()))
    return np.concatenate(points, axis=1)


def _notes(page: Page, run: RunResults, frontiers: Frontiers) -> list[str]:
    """Say which techniques lack values of some repeats, and which have no line."""
    n_drawn = {}
    lineless = set()
    for (key, constraint), (line, _, accuracy) in frontiers.items():
        if constraint == "demographic-parity":
            n_drawn[key] = int(accuracy["n_ok"])
            if line is None and n_drawn[key]:
                lineless.add(key)
    lineless_labels = []
    for technique in page.techniques:
        keys = {page.key(technique, beta) for beta in page.betas}
        if keys & lineless:
            lineless_labels.append(technique.label)
    notes = pages.page_notes(page, run, n_drawn)
    if lineless_labels:
        labels = ", ".join(lineless_labels)
        notes.append(f"{labels}: some models have no scores, so there is no line of theirs.")
    return notes
