"""The figures of Friedler et al. (2019), of any run.

Correlations of metrics as a heat map, stability as rectangles, representations as a dot per repeat, and
single against combined protected attributes.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.registry import find_metric
from fairbench_cli.papers import friedler_analyses as analyses
from fairbench_cli.papers.friedler_analyses import (
    CellTable,
    Correlations,
    Names,
    Observations,
    column_names,
    two_metrics,
)
from fairbench_cli.report.ledger.cell_labels import OWN_MODEL, read_display_names
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, CellKey, cell_key, mean_and_interval
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.canvas import GREY, IDEAL, INK, SMALL, Look, Panel, facet, text_width
from fairbench_cli.report.show.figures.pages import Mark

RED_TO_BLUE = "RdBu"
"""From red over white to blue (ColorBrewer), which colour-blind readers tell apart."""
UNKNOWN = "#d0d0d0"
MOST_NUMBERS = 26
"""Values are printed for so many metrics at most; with more their squares are too small."""
TREE = 1.0
"""Width of the tree in inches."""
MOST_ACROSS = 7
"""Panels of an overview in a row."""
MOST_METRICS = 6
"""Metrics that are drawn against each other."""
APART = 0.2
"""How far apart the attributes of a technique stand, as a share of the distance between techniques."""


Cells = Mapping[Names, dict[str, Any]]
"""The cells of a technique and a classifier, by the names of a column."""
MarkedCell = tuple[dict[str, Any], Mark]
"""A cell and how it is drawn."""


def draw_correlations(run: RunResults) -> dict[str, Figure]:
    """Draw one figure of all cells and, where there are several, one of each representation.

    There is none where no two metrics have a correlation.
    """
    figures = {}
    for name, observed in analyses.observations_by_representation(run).items():
        correlations = analyses.correlate(observed.values)
        if correlations.n_clustered:
            figures[name] = _plot_heat_map(correlations, observed, name)
    return figures


def _plot_heat_map(correlations: Correlations, observed: Observations, representation: str) -> Figure:
    """Return the figure of a matrix with its tree; a representation of `ALL` is not in its title."""
    # 1. Its size, in inches: squares with numbers need room.
    metrics = list(correlations.matrix.index)
    n = len(metrics)
    if n <= 8:
        square = 0.45
    elif n <= MOST_NUMBERS:
        square = 0.31
    else:
        square = 0.2
    side = n * square
    label_width = max(text_width(metric, SMALL) for metric in metrics) + 0.1
    # 2. The squares, with what stands above and below.
    title = "Correlations of metrics"
    if representation != analyses.ALL:
        title += f": {representation}"
    notes = [
        "Tree: average linkage; two clusters join at the mean r between them. Frames: clusters that join at "
        f"{analyses.LEAST_CORRELATION:g} (dotted) or more."
    ]
    if correlations.matrix.isna().any(axis=None):
        notes.append("Grey: a metric is constant or undefined, or fewer than three results have both.")
    figure = facet(
        title,
        _describe_observations(observed),
        [Panel(partial(_draw_squares, correlations))],
        1,
        (side + 0.1 + TREE, side),
        notes=notes,
        margins=(0.0, 0.0, max(label_width, 1.6), max(label_width, 0.65)),
    )
    # 3. The tree to the right of the squares, and the key of the colours below their labels.
    (ax,) = figure.axes
    width, height = figure.get_size_inches()
    x, y = ax.get_position().min
    ax.set_position((x, y, side / width, side / height))
    tree_ax = figure.add_axes((x + (side + 0.1) / width, y, TREE / width, side / height))
    _draw_tree(tree_ax, correlations, n)
    _draw_colour_key(figure.add_axes((x - 1.45 / width, y - 0.35 / height, 1.2 / width, 0.11 / height)))
    return figure


def _describe_observations(observed: Observations) -> str:
    """Say what is correlated and what is left out."""
    text = (
        f"Pearson's r over {len(observed.values)} results: every repeat of {observed.n_cells} cells, for the "
        "groups of the attribute that each works on. Cells that always decide the same count once; undefined "
        "and infinite values are left out pair by pair."
    )
    left_out = []
    if observed.n_constant:
        left_out.append(f"{observed.n_constant} repeats that accept everybody or nobody")
    if observed.joint_attributes:
        left_out.append(f"groups of joint attributes ({', '.join(observed.joint_attributes)})")
    if left_out:
        text += f" Left out: {'; '.join(left_out)}."
    return text


def _draw_squares(correlations: Correlations, ax: Axes) -> None:
    """Draw the matrix in colours, with its numbers where they have room, and a frame around each cluster."""
    matrix: Floats = correlations.matrix.to_numpy(dtype=float)
    n = len(matrix)
    colours = colormaps[RED_TO_BLUE].with_extremes(bad=UNKNOWN)
    image: Look = {"extent": (0, n, n, 0), "aspect": "auto", "interpolation": "nearest", "gid": "squares"}
    ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1, **image)
    ax.grid(visible=False)
    names = list(correlations.matrix.index)
    ax.set_xticks(np.arange(n) + 0.5, names, rotation=90)
    ax.set_yticks(np.arange(n) + 0.5, names)
    ax.tick_params(length=0, pad=3)
    ax.spines[:].set_visible(False)
    if n <= MOST_NUMBERS:
        for i, j in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            look: Look = {"color": "white" if abs(matrix[i, j]) > 0.65 else INK, "fontsize": 6}
            ax.text(j + 0.5, i + 0.5, _short(matrix[i, j]), ha="center", va="center", **look)
    clusters = correlations.clusters()
    for k in range(1, clusters.max(initial=0) + 1):
        indices = np.flatnonzero(clusters == k)
        corner = (indices[0], indices[0])
        frame: Look = {"fill": False, "ec": INK, "lw": 1.4, "clip_on": False, "gid": f"cluster-{k}"}
        ax.add_patch(Rectangle(corner, len(indices), len(indices), **frame))


def _short(r: float) -> str:
    """Write a correlation in two digits.

    >>> [_short(r) for r in (0.123, -0.999, 0.004, 1.0)]
    ['.12', '-1', '0', '1']
    """
    text = f"{r:.2f}".replace("0.", ".")
    return {".00": "0", "-.00": "0", "1.00": "1", "-1.00": "-1"}.get(text, text)


def _draw_tree(ax: Axes, correlations: Correlations, n: int) -> None:
    """Draw the tree with its leaves at the rows of the squares."""
    farthest = max(1.0, correlations.tree[:, 2].max(), 1 - analyses.LEAST_CORRELATION)
    ax.set(xlim=(0, farthest * 1.02), ylim=(n, 0))
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xticks([0, 0.5, 1], ["1", "0.5", "0"])
    ax.set_xlabel("r", labelpad=1)
    ax.tick_params(length=2)
    # Where each cluster stands: its row and its distance. First metrics alone, then what the tree joins.
    rows = [i + 0.5 for i in range(correlations.n_clustered)]
    distances = [0.0] * correlations.n_clustered
    for first, second, distance, _ in correlations.tree:
        i, j = int(first), int(second)
        x = [distances[i], distance, distance, distances[j]]
        ax.plot(x, [rows[i], rows[i], rows[j], rows[j]], color=GREY, lw=0.9)
        rows.append((rows[i] + rows[j]) / 2)
        distances.append(distance)
    lowest = 1 - correlations.n_clustered / n
    ax.axvline(1 - analyses.LEAST_CORRELATION, color=GREY, lw=0.8, ls=":", ymin=lowest)


def _draw_colour_key(ax: Axes) -> None:
    """Draw what the colours mean."""
    ax.imshow(np.linspace(-1, 1, 101)[None], cmap=RED_TO_BLUE, aspect="auto", extent=(-1, 1, 0, 1))
    ax.grid(visible=False)
    ax.set_yticks([])
    ax.set_xticks([-1, 0, 1], ["-1", "0", "1"])
    ax.tick_params(length=2)
    ax.set_title("r", fontsize=SMALL, pad=2)


def draw_stability(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, world and β: a panel per representation and attribute.

    A rectangle is a technique with a classifier; those that share a model are one.
    """
    cells = list(chain.from_iterable(dataset_repeats.cells for dataset_repeats in run.datasets))
    cells_of_page = group_by(cells, lambda cell: (cell["dataset"], cell["world"], cell["beta"]))
    return pages.plot_pages(run, ("dataset", "world", "beta"), cells_of_page, _plot_stability)


def _plot_stability(run: RunResults, title: str, cells: list[dict[str, Any]]) -> Figure:
    """Return the figure of a page: a panel per representation and attribute."""
    # 1. The cells of each panel, a representation's panels together.
    cells_of_panel = group_by(cells, lambda cell: (cell["representation"], cell["attribute"]))
    order = list(dict.fromkeys(representation for representation, _ in cells_of_panel))
    marked_cells_of: dict[str, Sequence[MarkedCell]] = {}
    for representation, attribute in sorted(cells_of_panel, key=lambda names: order.index(names[0])):
        panel_title = f"{attribute}, {representation}".removesuffix(", original")
        panel_cells = cells_of_panel[representation, attribute]
        marked_cells_of[panel_title] = pages.model_marks(run.plan, panel_cells)
    # 2. How many stand side by side.
    n_columns = min(len({attribute for _, attribute in cells_of_panel}), 3)
    if n_columns == 1:
        n_columns = min(len(marked_cells_of), 3)
    width = {1: 5.2, 2: 3.7, 3: 3.1}[n_columns]
    # 3. What is drawn, and what lacks values.
    metrics = two_metrics(run.plan.config)
    panels = []
    marks = []
    lacking = []
    for panel_title, marked_cells in marked_cells_of.items():
        panels.append(Panel(partial(_draw_rectangles, run, marked_cells), panel_title, *metrics))
        for cell, mark in marked_cells:
            marks.append(mark)
            lacking.append((mark.label, panel_title, _describe_lack(run, [cell_key(cell)], metrics)))
    return facet(
        f"Stability: {title}",
        f"A rectangle stands at the means of {run.repeats_done()} repeats and is one standard deviation "
        f"wide and high. {pages.describe_test_rows(run.plan)} Dashed line: the ideal.",
        panels,
        n_columns,
        (width, width * 0.85),
        pages.technique_legend(marks),
        pages.describe_missing(lacking, " ({})", "; "),
    )


def _describe_lack(run: RunResults, keys: Sequence[CellKey], metrics: Sequence[str]) -> str:
    """Say why fewer than all repeats have values in all of some cells: of the cell with the fewest."""
    has_values = []
    for key in keys:
        values = [run.cell_metric(key, metric).values for metric in metrics]
        has_values.append(np.isfinite(values).all(axis=0))
    fewest = min(range(len(keys)), key=lambda i: has_values[i].sum())
    return pages.describe_shortfall(run, keys[fewest], int(np.logical_and.reduce(has_values).sum()))


def _draw_rectangles(run: RunResults, marked_cells: Sequence[MarkedCell], ax: Axes) -> None:
    """Draw a rectangle for each cell that has a mean of both metrics, and the ideal as a line."""
    metrics = two_metrics(run.plan.config)
    ideal = find_metric(metrics[0]).ideal
    if ideal is not None:
        ax.axvline(ideal, **IDEAL)
    for i, (cell, mark) in enumerate(marked_cells):
        values = np.stack([run.cell_metric(cell_key(cell), metric).values for metric in metrics])
        summary = mean_and_interval(values)
        x, y = summary["mean"]
        if np.isnan(x) or np.isnan(y):
            continue
        width, height = np.nan_to_num(summary["sd"])
        corner = (x - width / 2, y - height / 2)
        box = Rectangle(corner, width, height, lw=1.1, ls=mark.technique.dash)
        box.set(ec=mark.technique.colour, fc=f"{mark.technique.colour}22", gid=f"rectangle-{i}", zorder=3)
        ax.add_patch(box)
        look = mark.technique.dot(4) | {"marker": mark.marker, "gid": f"mean-{i}"}
        ax.plot([x], [y], zorder=4, **look)
    ax.margins(0.06)
    ax.autoscale_view()
    ax.locator_params(nbins=5)


class CellPair(NamedTuple):
    """Two cells that differ in the representation alone, and whether their model is the same in both."""

    attribute: str
    keys: tuple[CellKey, CellKey]
    mark: Mark
    same_model: bool


def draw_representations(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, world, β and pair of representations: panels by metric and attribute."""
    pairs_by_names: dict[tuple[Any, ...], list[CellPair]] = {}
    marks = {cell_key(cell): mark for cell, mark in pages.model_marks(run.plan, run.plan.cells)}
    for data, same_model in product(run.datasets, (False, True)):
        for i, j in analyses.representation_pairs(data, same_model=same_model):
            cells = (data.cells[i], data.cells[j])
            first_key, second_key = (cell_key(cell) for cell in cells)
            first, second = (cell["representation"] for cell in cells)
            names = (data.dataset, cells[0]["world"], cells[0]["beta"], first, second)
            pair = CellPair(data.attribute, (first_key, second_key), marks[first_key], same_model)
            pairs_by_names.setdefault(names, []).append(pair)
    for names, pairs in list(pairs_by_names.items()):
        if all(pair.same_model for pair in pairs):
            del pairs_by_names[names]
    columns: tuple[str, ...] = ("dataset", "world", "beta")
    if len({names[-2:] for names in pairs_by_names}) > 1:
        columns += ("first", "second")
    contents = {names[: len(columns)]: (names[-2:], pairs) for names, pairs in pairs_by_names.items()}
    return pages.plot_pages(run, columns, contents, _plot_representations)


def _plot_representations(
    run: RunResults, title: str, content: tuple[Sequence[str], list[CellPair]]
) -> Figure:
    """Return the figure of two representations, by their names and all pairs of cells."""
    (first, second), pairs = content
    # 1. A panel per metric and attribute.
    different = [pair for pair in pairs if not pair.same_model]
    pairs_by_attribute = group_by(different, lambda pair: pair.attribute)
    metrics = two_metrics(run.plan.config)[::-1]
    panels = []
    for metric in metrics:
        for attribute, attribute_pairs in pairs_by_attribute.items():
            draw = partial(_draw_pairs, run, attribute_pairs, metric)
            panels.append(Panel(draw, f"{metric}, {attribute}", first, second))
    n_columns = len(pairs_by_attribute) if len(pairs_by_attribute) > 1 else len(metrics)
    width = 3.2 if n_columns == 2 else 2.7
    # 2. What is not drawn.
    notes = []
    labels_alike = dict.fromkeys(pair.mark.label for pair in pairs if pair.same_model)
    if labels_alike:
        notes.append(f"The same model in both, and not drawn: {', '.join(labels_alike)}.")
    lacking = []
    for pair in different:
        lacking.append((pair.mark.label, pair.attribute, _describe_lack(run, pair.keys, metrics)))
    return facet(
        f"{second} against {first}: {title}",
        f"One dot per repeat, {run.repeats_done()} of each technique. "
        f"{pages.describe_test_rows(run.plan)} Dashed: the representation makes no difference.",
        panels,
        n_columns,
        (width, width),
        pages.technique_legend((pair.mark for pair in different), dots=True),
        notes + pages.describe_missing(lacking, " ({})", "; "),
        handle_length=0.12,
    )


def _draw_pairs(run: RunResults, pairs: Sequence[CellPair], metric: str, ax: Axes) -> None:
    """Draw a dot for each repeat in which both cells of a pair have a finite value."""
    drawn_values: list[float] = []
    for i, pair in enumerate(pairs):
        values = np.stack([run.cell_metric(key, metric).values for key in pair.keys])
        values = values[:, np.isfinite(values).all(axis=0)]
        technique = pair.mark.technique
        look: Look = {"marker": pair.mark.marker, "s": 13, "lw": 0.6, "alpha": 0.75, "zorder": 3}
        look |= {"facecolors": pages.dot_fill(technique), "edgecolors": technique.colour}
        ax.scatter(values[0], values[1], gid=f"dots-{i}", **look)
        drawn_values += values.ravel().tolist()
    limits = canvas.axis_limits(drawn_values, 0.04, 0.125)
    ax.axline((0, 0), slope=1, **IDEAL)
    ax.set(xlim=limits, ylim=limits)
    ax.locator_params(nbins=5)


def draw_combined(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set with several attributes, representation, world and β.

    There is a panel per metric.
    """
    contents = {}
    for names, rows in analyses.cells_by_attribute(run).items():
        dataset = names[0]
        if any((dataset, attribute) in run.datasets_with_results for (attribute,) in column_names(rows)):
            contents[names] = rows
    return pages.plot_pages(run, ("dataset", "representation", "world", "beta"), contents, _plot_combined)


def _plot_combined(run: RunResults, title: str, rows: CellTable) -> Figure:
    """Return the figure of a page: a panel per metric, with all attributes in it."""
    attributes = [name for (name,) in column_names(rows)]
    metrics = two_metrics(run.plan.config)[::-1]
    labels = _labels(rows)
    return facet(
        f"Single and combined attributes: {title}",
        f"{pages.describe_means(run)} Each technique works on the attribute by whose groups "
        "it is measured. Dashed line: the ideal.",
        [Panel(partial(_draw_means, run, list(rows.values()), labels, name), name) for name in metrics],
        len(metrics),
        (3.0, (0.13 * len(attributes) + 0.1) * len(rows) + 0.1),
        [(_attribute_look(k) | {"ls": ""}, name) for k, name in enumerate(attributes)],
        _missing_notes(run, rows, metrics[1]),
        share_axes=True,
        margins=(max(text_width(label, SMALL) for label in labels), 0.0, 0.18, 0.4),
        handle_length=0.12,
    )


def _labels(rows: CellTable) -> list[str]:
    """Return techniques with their classifiers, where there are several."""
    has_several = len({classifier for _, classifier in rows}) > 1
    labels = []
    for technique, classifier in rows:
        if has_several and classifier != OWN_MODEL:
            labels.append(f"{technique} with {classifier}")
        else:
            labels.append(technique)
    return labels


def _missing_notes(run: RunResults, rows: CellTable, metric: str) -> list[str]:
    """Say which rows lack values of a metric, and in which columns."""
    lacking = []
    for label, cells in zip(_labels(rows), rows.values(), strict=True):
        for column, cell in cells.items():
            key = cell_key(cell)
            reason = pages.describe_shortfall(run, key, run.cell_metric(key, metric).summary.n)
            lacking.append((label, ", ".join(map(str, column)), reason))
    return pages.describe_missing(lacking, " ({})", "; ")


def draw_overview(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, world and β: panels per metric, and per data set and attribute.

    All techniques on all data sets, as Friedler et al. (2019) look at them.
    """
    contents = {}
    for (representation, world, beta), rows in analyses.cells_by_dataset(run).items():
        if not run.datasets_with_results.isdisjoint(column_names(rows)):
            name = "all" if representation == "original" else representation
            contents[name, world, beta] = rows
    return pages.plot_pages(run, ("representation", "world", "beta"), contents, _plot_overview)


def _plot_overview(run: RunResults, title: str, rows: CellTable) -> Figure:
    """Return the figure of a page: the panels of a metric together, one per data set and attribute."""
    columns = [column for column in column_names(rows) if column in run.datasets_with_results]
    metrics = two_metrics(run.plan.config)[::-1]
    labels = _labels(rows)
    display_name = read_display_names(run.plan.config).dataset
    n_across = min(len(columns), MOST_ACROSS)
    names = chain.from_iterable(columns)
    widths = [text_width(f"{display_name(name)},", canvas.NORMAL, "bold") for name in names]

    def panel(metric: str, k: int) -> Panel:
        """Return the panel of a metric and of the k-th data set and attribute."""
        column = columns[k]
        column_cells: list[Cells] = []
        for cells in rows.values():
            column_cells.append({column: cells[column]} if column in cells else {})
        # Of panels side by side the first has the labels.
        row_labels = [""] * len(labels) if k % n_across else labels
        draw = partial(_draw_means, run, column_cells, row_labels, metric)
        return Panel(draw, ", ".join(map(display_name, column)), metric)

    panels: list[Panel | None] = []
    for metric in metrics:
        panels += canvas.lay_out_panels([metric], range(len(columns)), n_across, panel)
    headline = "All techniques on all data sets"
    page_title = title.removeprefix("all").lstrip(", ")
    if page_title:
        headline += f": {page_title}"
    return facet(
        headline,
        f"{pages.describe_means(run)} By the groups of the attribute that each technique works on. "
        "Dashed line: the ideal.",
        panels,
        n_across,
        (max(1.6, max(widths)), 0.17 * len(rows) + 0.1),
        notes=_missing_notes(run, rows, metrics[1]),
        margins=(max(text_width(label, SMALL) for label in labels) + 0.05, 0.0, 0.18, 0.42),
    )


def draw_metric_pairs(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, world and β: a panel per pair of metrics, a dot per repeat of a cell."""
    contents: dict[Names, Observations | None] = {}
    for names, observed in analyses.observations_by_dataset(run).items():
        has_pairs = len(observed.values) > 0 and len(observed.values.columns) > 1
        contents[names] = observed if has_pairs else None
    return pages.plot_pages(run, ("dataset", "world", "beta"), contents, _plot_metric_pairs)


def _plot_metric_pairs(run: RunResults, title: str, observed: Observations) -> Figure:
    """Return the figure of a page: the first `MOST_METRICS` metrics against each other."""
    all_metrics = list(map(str, observed.values))
    metrics = all_metrics[:MOST_METRICS]
    rows_of_technique = observed.techniques.groupby(list(TECHNIQUE), sort=False).groups
    values_by_look = {}
    for technique, look in pages.technique_looks(run.plan).items():
        if technique in rows_of_technique:
            values_by_look[look] = observed.values.loc[rows_of_technique[technique]]
    # Below the diagonal alone: above it the same pairs would come again.
    panels: list[Panel | None] = []
    for i, y in enumerate(metrics[1:]):
        for j, x in enumerate(metrics[:-1]):
            if j <= i:
                panels.append(Panel(partial(_draw_dots, observed, values_by_look, x, y), "", x, y))
            else:
                panels.append(None)
    notes = []
    if len(all_metrics) > len(metrics):
        notes.append(
            f"Of {len(all_metrics)} metrics the first {len(metrics)}; metric_pairs.csv has all pairs."
        )
    return facet(
        f"Metric against metric: {title}",
        f"{_describe_observations(observed)} A dot is a repeat.",
        panels,
        len(metrics) - 1,
        (1.5, 1.5),
        pages.technique_legend((Mark(look, "", "o") for look in values_by_look), dots=True),
        notes,
        share_axes=True,
        handle_length=0.12,
    )


def _draw_dots(
    observed: Observations,
    values_by_look: Mapping[pages.TechniqueLook, pd.DataFrame],
    x: str,
    y: str,
    ax: Axes,
) -> None:
    """Draw the metric y against x, a dot per repeat in the look of its technique, with r above the panel."""
    for i, (look, values) in enumerate(values_by_look.items()):
        dot = look.dot(2.6) | {"mfc": pages.dot_fill(look), "mec": look.colour, "ls": "", "alpha": 0.6}
        ax.plot(values[x], values[y], gid=f"dots-{x}-{y}-{i}", **dot)
    rounded = observed.values[[x, y]].round(analyses.DIGITS)
    r = rounded.corr(min_periods=analyses.FEWEST_VALUES).to_numpy()[0, 1]
    if np.isfinite(r):
        ax.set_title(f"r = {_short(r)}", loc="right", fontsize=SMALL, pad=2)
    ax.set(
        xlim=canvas.axis_limits(observed.values[x], 0.06), ylim=canvas.axis_limits(observed.values[y], 0.06)
    )
    ax.locator_params(nbins=4)


def _attribute_look(k: int) -> Look:
    """Return how the dots of the k-th attribute are drawn."""
    colour = pages.COLOURS[(k + 1) % len(pages.COLOURS)]
    marker = pages.MARKERS[k % len(pages.MARKERS)]
    return canvas.dot_look(colour, marker, 5)


def _draw_means(run: RunResults, rows: Sequence[Cells], labels: Sequence[str], metric: str, ax: Axes) -> None:
    """Draw the means of a metric with their intervals, a row per technique and a dot per column in it."""
    columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
    for i, cells in enumerate(rows):
        for k, column in enumerate(columns):
            if column in cells:
                gid = f"{metric}-{i}-{'-'.join(map(str, column))}"
                y = i + APART * (k - (len(columns) - 1) / 2)
                mean = run.cell_metric(cell_key(cells[column]), metric).summary
                canvas.plot_dots(ax, vars(mean), canvas.without_interval(y), gid, _attribute_look(k))
    ideal = find_metric(metric).ideal
    x_left, x_right = ax.get_xlim()
    if ideal is not None and x_left <= ideal <= x_right:
        ax.axvline(ideal, **IDEAL)
    ax.locator_params(axis="x", nbins=5)
    ax.set_yticks(range(len(rows)), labels)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.tick_params(length=0)
