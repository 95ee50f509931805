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
    Correlations,
    Names,
    Observations,
    Rows,
    columns_of,
    two_metrics,
)
from fairbench_cli.report.ledger.cell_labels import OWN_MODEL, read_display_names
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, CellKey, key_of, mean_and_interval
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


Cells = Mapping[Names, dict[str, Any]]  # of a technique and a classifier, by the names of a column


def draw_correlations(run: RunResults) -> dict[str, Figure]:
    """Draw one figure of all cells and, where there are several, one of each representation.

    There is none where no two metrics have a correlation.
    """
    parts = {name: (analyses.correlate(seen.values), seen) for name, seen in analyses.every_part(run).items()}
    return {name: _heat_map(found, seen, name) for name, (found, seen) in parts.items() if found.clustered}


def _heat_map(found: Correlations, seen: Observations, name: str) -> Figure:
    names = list(found.matrix.index)
    n = len(names)
    if n > 8:
        side = n * (0.31 if n <= MOST_NUMBERS else 0.2)
    else:
        side = n * 0.45
    label = max(text_width(name, SMALL) for name in names) + 0.1
    notes = [
        "Tree: average linkage; two clusters join at the mean r between them. Frames: clusters that join at "
        f"{analyses.LEAST:g} (dotted) or more."
    ]
    if found.matrix.isna().any(axis=None):
        notes.append("Grey: a metric is constant or undefined, or fewer than three results have both.")
    figure = facet(
        "Correlations of metrics" + ("" if name == analyses.ALL else f": {name}"),
        _about(seen),
        [Panel(partial(_squares, found))],
        1,
        (side + 0.1 + TREE, side),
        notes=notes,
        margins=(0.0, 0.0, max(label, 1.6), max(label, 0.65)),
    )
    (ax,), (width, height) = figure.axes, figure.get_size_inches()
    x, y = ax.get_position().min
    ax.set_position((x, y, side / width, side / height))
    _tree(figure.add_axes((x + (side + 0.1) / width, y, TREE / width, side / height)), found, n)
    _key(figure.add_axes((x - 1.45 / width, y - 0.35 / height, 1.2 / width, 0.11 / height)))
    return figure


def _about(seen: Observations) -> str:
    """Say what is correlated and what is left out."""
    left_out = []
    if seen.constant:
        left_out.append(f"{seen.constant} repeats that accept everybody or nobody")
    if seen.joint:
        left_out.append(f"groups of joint attributes ({', '.join(seen.joint)})")
    text = (
        f"Pearson's r over {len(seen.values)} results: every repeat of {seen.cells} cells, for the groups of "
        "the attribute that each works on. Cells that always decide the same count once; undefined and "
        "infinite values are left out pair by pair."
    )
    return text + (f" Left out: {'; '.join(left_out)}." if left_out else "")


def _squares(found: Correlations, ax: Axes) -> None:
    matrix: Floats = found.matrix.to_numpy(dtype=float)
    n = len(matrix)
    colours = colormaps[RED_TO_BLUE].with_extremes(bad=UNKNOWN)
    where: Look = {"extent": (0, n, n, 0), "aspect": "auto", "interpolation": "nearest", "gid": "squares"}
    ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1, **where)
    ax.grid(visible=False)
    names = list(found.matrix.index)
    ax.set_xticks(np.arange(n) + 0.5, names, rotation=90)
    ax.set_yticks(np.arange(n) + 0.5, names)
    ax.tick_params(length=0, pad=3)
    ax.spines[:].set_visible(False)
    if n <= MOST_NUMBERS:
        for i, j in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            look: Look = {"color": "white" if abs(matrix[i, j]) > 0.65 else INK, "fontsize": 6}
            ax.text(j + 0.5, i + 0.5, _short(matrix[i, j]), ha="center", va="center", **look)
    clusters = found.clusters()
    for k in range(1, clusters.max(initial=0) + 1):
        own = np.flatnonzero(clusters == k)
        frame: Look = {"fill": False, "ec": INK, "lw": 1.4, "clip_on": False, "gid": f"cluster-{k}"}
        ax.add_patch(Rectangle((own[0], own[0]), len(own), len(own), **frame))


def _short(r: float) -> str:
    """Write a correlation in two digits.

    >>> [_short(r) for r in (0.123, -0.999, 0.004, 1.0)]
    ['.12', '-1', '0', '1']
    """
    text = f"{r:.2f}".replace("0.", ".")
    return {".00": "0", "-.00": "0", "1.00": "1", "-1.00": "-1"}.get(text, text)


def _tree(ax: Axes, found: Correlations, n: int) -> None:
    """Draw the tree with its leaves at the rows of the squares."""
    ax.set(xlim=(0, max(1.0, *found.tree[:, 2], 1 - analyses.LEAST) * 1.02), ylim=(n, 0))
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xticks([0, 0.5, 1], ["1", "0.5", "0"])
    ax.set_xlabel("r", labelpad=1)
    ax.tick_params(length=2)
    places = [(i + 0.5, 0.0) for i in range(found.clustered)]
    for left, right, distance, _ in found.tree:
        (one, near), (other, far) = places[int(left)], places[int(right)]
        ax.plot([near, distance, distance, far], [one, one, other, other], color=GREY, lw=0.9)
        places.append(((one + other) / 2, distance))
    ax.axvline(1 - analyses.LEAST, color=GREY, lw=0.8, ls=":", ymin=1 - found.clustered / n)


def _key(ax: Axes) -> None:
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
    cells = list(chain.from_iterable(data.cells for data in run.datasets))
    found = group_by(cells, lambda cell: (cell["dataset"], cell["world"], cell["beta"]))
    return pages.plot_pages(run, ("dataset", "world", "beta"), found, _stability)


def _stability(run: RunResults, title: str, cells: list[dict[str, Any]]) -> Figure:
    by_panel = group_by(cells, lambda cell: (cell["representation"], cell["attribute"]))
    order = list(dict.fromkeys(how for how, _ in by_panel))
    panels = {
        f"{attribute}, {how}".removesuffix(", original"): pages.model_marks(
            run.plan, by_panel[how, attribute]
        )
        for how, attribute in sorted(by_panel, key=lambda names: order.index(names[0]))
    }
    x, y = metrics = two_metrics(run.plan.config)
    columns = min(len({attribute for _, attribute in by_panel}), 3)
    if columns == 1:
        columns = min(len(panels), 3)
    width = {1: 5.2, 2: 3.7, 3: 3.1}[columns]
    lacking = []
    marks = []
    for name, marked_cells in panels.items():
        for cell, mark in marked_cells:
            marks.append(mark)
            lacking.append((mark.label, name, _lacks(run, [key_of(cell)], metrics)))
    return facet(
        f"Stability: {title}",
        f"A rectangle stands at the means of {run.plan.config.repeats} repeats and is one standard deviation "
        f"wide and high. {pages.describe_test_rows(run.plan)} Dashed line: the ideal.",
        [Panel(partial(_rectangles, run, own), name, x, y) for name, own in panels.items()],
        columns,
        (width, width * 0.85),
        pages.technique_legend(marks),
        pages.describe_missing(lacking, " ({})", "; "),
    )


def _lacks(run: RunResults, keys: Sequence[CellKey], metrics: Sequence[str]) -> str:
    """Say why fewer than all repeats have values in all of some cells: of the cell with the fewest."""
    has_values = []
    for key in keys:
        values = [run.get(key, metric).values for metric in metrics]
        has_values.append(np.isfinite(values).all(axis=0))
    fewest = min(range(len(keys)), key=lambda i: has_values[i].sum())
    return pages.describe_shortfall(run, keys[fewest], int(np.logical_and.reduce(has_values).sum()))


def _rectangles(run: RunResults, marked: Sequence[tuple[Mapping[str, Any], Mark]], ax: Axes) -> None:
    metrics = two_metrics(run.plan.config)
    ideal = find_metric(metrics[0]).ideal
    if ideal is not None:
        ax.axvline(ideal, **IDEAL)
    for i, (cell, mark) in enumerate(marked):
        both = mean_and_interval(np.stack([run.get(key_of(cell), name).values for name in metrics]))
        (x, y), (wide, high) = both["mean"], np.nan_to_num(both["sd"])
        if np.isnan(x) or np.isnan(y):
            continue
        box = Rectangle((x - wide / 2, y - high / 2), wide, high, lw=1.1, ls=mark.technique.dash)
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
    same: bool


def draw_representations(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, world, β and pair of representations: panels by metric and attribute."""
    pairs_by_names: dict[tuple[Any, ...], list[CellPair]] = {}
    marks = {key_of(cell): mark for cell, mark in pages.model_marks(run.plan, run.plan.cells)}
    for data, same in product(run.datasets, (False, True)):
        for i, j in analyses.pairs_of(data, same=same):
            first, second = data.cells[i], data.cells[j]
            representations = first["representation"], second["representation"]
            names = data.dataset, first["world"], first["beta"], *representations
            pair = CellPair(data.attribute, (key_of(first), key_of(second)), marks[key_of(first)], same)
            pairs_by_names.setdefault(names, []).append(pair)
    for names, pairs in list(pairs_by_names.items()):
        if all(pair.same for pair in pairs):
            del pairs_by_names[names]
    columns: tuple[str, ...] = ("dataset", "world", "beta")
    if len({names[-2:] for names in pairs_by_names}) > 1:
        columns += ("first", "second")
    contents = {names[: len(columns)]: (names[-2:], pairs) for names, pairs in pairs_by_names.items()}
    return pages.plot_pages(run, columns, contents, _representations)


def _representations(run: RunResults, title: str, content: tuple[Sequence[str], list[CellPair]]) -> Figure:
    (first, second), pairs = content
    different = [pair for pair in pairs if not pair.same]
    pairs_by_attribute = group_by(different, lambda pair: pair.attribute)
    metrics = two_metrics(run.plan.config)[::-1]
    if len(pairs_by_attribute) > 1:
        columns = len(pairs_by_attribute)
    else:
        columns = len(metrics)
    if columns == 2:
        width = 3.2
    else:
        width = 2.7
    same = ", ".join(dict.fromkeys(pair.mark.label for pair in pairs if pair.same))
    notes = []
    if same:
        notes.append(f"The same model in both, and not drawn: {same}.")
    panels = []
    for metric in metrics:
        for attribute, own_pairs in pairs_by_attribute.items():
            draw = partial(_pairs, run, own_pairs, metric)
            panels.append(Panel(draw, f"{metric}, {attribute}", first, second))
    lacking = ((pair.mark.label, pair.attribute, _lacks(run, pair.keys, metrics)) for pair in different)
    return facet(
        f"{second} against {first}: {title}",
        f"One dot per repeat, {run.plan.config.repeats} of each technique. "
        f"{pages.describe_test_rows(run.plan)} Dashed: the representation makes no difference.",
        panels,
        columns,
        (width, width),
        pages.technique_legend((pair.mark for pair in different), dots=True),
        notes + pages.describe_missing(lacking, " ({})", "; "),
        handle_length=0.12,
    )


def _pairs(run: RunResults, pairs: Sequence[CellPair], metric: str, ax: Axes) -> None:
    every: list[float] = []
    for i, (_, keys, mark, _) in enumerate(pairs):
        both = np.stack([run.get(key, metric).values for key in keys])
        both = both[:, np.isfinite(both).all(axis=0)]
        look: Look = {"marker": mark.marker, "s": 13, "lw": 0.6, "alpha": 0.75, "zorder": 3}
        look |= {"facecolors": pages.dot_fill(mark.technique), "edgecolors": mark.technique.colour}
        ax.scatter(both[0], both[1], gid=f"dots-{i}", **look)
        every += both.ravel().tolist()
    limits = canvas.axis_limits(every, 0.04, 0.125)
    ax.axline((0, 0), slope=1, **IDEAL)
    ax.set(xlim=limits, ylim=limits)
    ax.locator_params(nbins=5)


def draw_combined(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set with several attributes, representation, world and β.

    There is a panel per metric.
    """
    contents = {}
    for names, rows in analyses.by_attribute(run).items():
        places = {(names[0], *column) for column in columns_of(rows)}
        if places & run.with_results:
            contents[names] = rows
    return pages.plot_pages(run, ("dataset", "representation", "world", "beta"), contents, _combined)


def _combined(run: RunResults, title: str, rows: Rows) -> Figure:
    attributes = [name for (name,) in columns_of(rows)]
    metrics = two_metrics(run.plan.config)[::-1]
    labels = _labels(rows)
    return facet(
        f"Single and combined attributes: {title}",
        f"{pages.describe_means(run.plan)} Each technique works on the attribute by whose groups "
        "it is measured. Dashed line: the ideal.",
        [Panel(partial(_levels, run, list(rows.values()), labels, name), name) for name in metrics],
        len(metrics),
        (3.0, (0.13 * len(attributes) + 0.1) * len(rows) + 0.1),
        [(_attribute_look(k) | {"ls": ""}, name) for k, name in enumerate(attributes)],
        _missing_in(run, rows, metrics[1]),
        share_axes=True,
        margins=(max(text_width(label, SMALL) for label in labels), 0.0, 0.18, 0.4),
        handle_length=0.12,
    )


def _labels(rows: Rows) -> list[str]:
    """Return techniques with their classifiers, where there are several."""
    has_several = len({classifier for _, classifier in rows}) > 1
    labels = []
    for technique, classifier in rows:
        if has_several and classifier != OWN_MODEL:
            labels.append(f"{technique} with {classifier}")
        else:
            labels.append(technique)
    return labels


def _missing_in(run: RunResults, rows: Rows, metric: str) -> list[str]:
    """Say which rows lack values of a metric, and in which columns."""
    lacking = []
    for label, cells in zip(_labels(rows), rows.values(), strict=True):
        for column, cell in cells.items():
            key = key_of(cell)
            why = pages.describe_shortfall(run, key, run.get(key, metric).mean.n)
            lacking.append((label, ", ".join(map(str, column)), why))
    return pages.describe_missing(lacking, " ({})", "; ")


def draw_overview(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, world and β: panels per metric, and per data set and attribute.

    All techniques on all data sets, as Friedler et al. (2019) look at them.
    """
    contents = {}
    for (representation, world, beta), rows in analyses.of_every_dataset(run).items():
        if not run.with_results.isdisjoint(columns_of(rows)):
            name = "all" if representation == "original" else representation
            contents[name, world, beta] = rows
    return pages.plot_pages(run, ("representation", "world", "beta"), contents, _overview)


def _overview(run: RunResults, title: str, rows: Rows) -> Figure:
    places = [column for column in columns_of(rows) if column in run.with_results]
    metrics = two_metrics(run.plan.config)[::-1]
    labels = _labels(rows)
    display_name = read_display_names(run.plan.config).dataset
    across = min(len(places), MOST_ACROSS)
    names = chain.from_iterable(places)
    widths = [text_width(f"{display_name(name)},", canvas.NORMAL, "bold") for name in names]

    def panel(metric: str, k: int) -> Panel:
        """Return the panel of a metric and of the k-th data set and attribute."""
        column = places[k]
        own_cells = [{column: cells[column]} if column in cells else {} for cells in rows.values()]
        draw = partial(_levels, run, own_cells, [""] * len(labels) if k % across else labels, metric)
        return Panel(draw, ", ".join(map(display_name, column)), metric)

    panels: list[Panel | None] = []
    for metric in metrics:
        panels += canvas.lay_out_panels([metric], range(len(places)), across, panel)
    return facet(
        ": ".join(filter(None, ("All techniques on all data sets", title.removeprefix("all").lstrip(", ")))),
        f"{pages.describe_means(run.plan)} By the groups of the attribute that each technique works on. "
        "Dashed line: the ideal.",
        panels,
        across,
        (max(1.6, *widths), 0.17 * len(rows) + 0.1),
        notes=_missing_in(run, rows, metrics[1]),
        margins=(max(text_width(label, SMALL) for label in labels) + 0.05, 0.0, 0.18, 0.42),
    )


def draw_metric_pairs(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, world and β: a panel per pair of metrics, a dot per repeat of a cell."""
    contents: dict[Names, Observations | None] = {}
    for names, observed in analyses.by_dataset(run).items():
        has_pairs = len(observed.values) > 0 and len(observed.values.columns) > 1
        contents[names] = observed if has_pairs else None
    return pages.plot_pages(run, ("dataset", "world", "beta"), contents, _metric_pairs)


def _metric_pairs(run: RunResults, title: str, observed: Observations) -> Figure:
    all_metrics = list(map(str, observed.values))
    metrics = all_metrics[:MOST_METRICS]
    rows_of_technique = observed.techniques.groupby(list(TECHNIQUE), sort=False).groups
    marks = {}
    for technique, look in pages.technique_looks(run.plan).items():
        if technique in rows_of_technique:
            marks[look] = observed.values.loc[rows_of_technique[technique]]
    # Below the diagonal alone: above it the same pairs would come again.
    panels: list[Panel | None] = []
    for i, y in enumerate(metrics[1:]):
        for j, x in enumerate(metrics[:-1]):
            panels.append(Panel(partial(_dots, observed, marks, x, y), "", x, y) if j <= i else None)
    notes = [f"Of {len(all_metrics)} metrics the first {len(metrics)}; metric_pairs.csv has all pairs."]
    return facet(
        f"Metric against metric: {title}",
        _about(observed) + " A dot is a repeat.",
        panels,
        len(metrics) - 1,
        (1.5, 1.5),
        pages.technique_legend((Mark(look, "", "o") for look in marks), dots=True),
        notes if len(all_metrics) > len(metrics) else (),
        share_axes=True,
        handle_length=0.12,
    )


def _dots(
    observed: Observations, marks: Mapping[pages.TechniqueLook, pd.DataFrame], x: str, y: str, ax: Axes
) -> None:
    for i, (look, values) in enumerate(marks.items()):
        dot = look.dot(2.6) | {"mfc": pages.dot_fill(look), "mec": look.colour, "ls": "", "alpha": 0.6}
        ax.plot(values[x], values[y], gid=f"dots-{x}-{y}-{i}", **dot)
    r = observed.values[[x, y]].round(analyses.DIGITS).corr(min_periods=analyses.FEWEST).to_numpy()[0, 1]
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


def _levels(run: RunResults, rows: Sequence[Cells], labels: Sequence[str], metric: str, ax: Axes) -> None:
    columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
    for i, cells in enumerate(rows):
        for k, column in enumerate(columns):
            if column in cells:
                gid = f"{metric}-{i}-{'-'.join(map(str, column))}"
                y = i + APART * (k - (len(columns) - 1) / 2)
                mean = run.get(key_of(cells[column]), metric).mean
                canvas.plot_dots(ax, vars(mean), canvas.without_interval(y), gid, _attribute_look(k))
    ideal = find_metric(metric).ideal
    left, right = ax.get_xlim()
    if ideal is not None and left <= ideal <= right:
        ax.axvline(ideal, **IDEAL)
    ax.locator_params(axis="x", nbins=5)
    ax.set_yticks(range(len(rows)), labels)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.tick_params(length=0)
