"""The figures of worlds: which remedy for which world, recorded against true, and how strong a bias is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairbench_cli.report.ledger.bias_cost import Contrast, bias_cost_frame, bias_cost_metrics, contrast_frame
from fairbench_cli.report.ledger.cell_labels import NO_BIAS, TRAINED_ON_TRUTH, read_display_names
from fairbench_cli.report.ledger.columns import ACCURACY
from fairbench_cli.report.ledger.exact_worlds import (
    PANEL_COLUMNS,
    PanelKey,
    WorldKey,
    exact_world,
    middle_worlds,
    worlds_by_panel,
)
from fairbench_cli.report.ledger.journal_arrays import CELL_COLUMNS, TECHNIQUE, CellKey, is_baseline
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures import canvas, pages
from fairbench_cli.report.show.figures.canvas import (
    GREY,
    IDEAL,
    INK,
    SMALL,
    Look,
    Panel,
    axis_limits,
    text_width,
)
from fairbench_cli.report.show.figures.fronts import label_points
from fairbench_cli.report.show.figures.pages import COLOURS, DASHES, MARKERS, TechniqueLook

PALE = "#a6a6a6"
KIND_MARKS: dict[str, tuple[Look, str]] = {
    "better": ({"marker": "o", "color": COLOURS[1], "ms": 4.4}, "better than none"),
    "overshoots": ({"marker": "<", "color": COLOURS[2], "ms": 4.6}, "gap turned round"),
    "worse": ({"marker": "D", "color": COLOURS[2], "ms": 3.7}, "worse"),
    "higher": ({"marker": "^", "color": INK, "ms": 4.4}, "higher"),
    "lower": ({"marker": "v", "color": INK, "ms": 4.4}, "lower"),
    "constant": ({"marker": "x", "color": GREY, "ms": 4.2, "mew": 1.1}, "the same decision for everybody"),
}
"""How what became of a metric (`Kind`) is drawn, and its meaning."""
OPEN: Look = {"marker": "o", "color": PALE, "ms": 3.6, "mfc": "white", "mew": 0.9}
PLAIN: Look = {"color": INK, "lw": 1.0, "zorder": 2}
TARGET: Look = {"color": "#cfcfcf", "lw": 3.4, "solid_capstyle": "butt", "zorder": 1.4}
CUTS: Look = {"marker": "v", "color": INK, "ms": 4.2, "mfc": "white", "mew": 0.8, "ls": ""}
PITCH = 0.13
"""Inches between two techniques."""
NARROW = 0.66
WIDE = 1.1
"""Inches that a world's panel is wide at least, and at most where its name needs it."""
IN_THE_MIDDLE = "Behind a world: its strength, of those that were run the one in the middle."

Technique = tuple[str, str, bool]
Spot = tuple[PanelKey, WorldKey, str]  # a panel: where, in which world, and of which metric
PAGE_COLUMNS = ("dataset", "attribute", "representation", "classifier")


def world_title(world: WorldKey) -> str:
    """Return a world and its strength.

    >>> world_title(("label", 0.5)), world_title(("label + selection 0.5", 0.3)), world_title(("", 0.0))
    ('label 0.5', 'label + selection 0.5, first 0.3', 'no bias')
    """
    name, strength = world
    if not name:
        return NO_BIAS
    if " + " in name:
        return f"{name}, first {strength:g}"
    return f"{name} {strength:g}"


def blocks_by_page(run: RunResults) -> dict[tuple[Any, ...], tuple[PanelKey, Sequence[WorldKey]]]:
    """Return each panel of a run that has results, and its worlds, by its values of `PAGE_COLUMNS`."""
    blocks = {}
    for panel_key, worlds in worlds_by_panel(run).items():
        dataset, attribute, representation, classifier, parameters = panel_key
        names = (dataset, attribute, representation, (classifier, parameters))
        blocks[names] = (panel_key, worlds)
    return blocks


@dataclass(frozen=True, eq=False)
class Remedies:
    """Rows of remedies.csv for figures: on true labels, for the attribute that each cell works on.

    Parameters
    ----------
    run : RunResults
    """

    run: RunResults

    @cached_property
    def _row_by_key(self) -> dict[tuple[Any, ...], Any]:
        frame = bias_cost_frame(self.run.by_own_attribute)
        rows = frame[(frame["labels"] == "true") & frame["mean"].notna()]
        rows = rows.assign(base=rows["mean"] - rows["change"])
        rows = rows.assign(start=rows["base"] + rows["change_low"], end=rows["base"] + rows["change_high"])
        keys = rows[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None)
        return dict(zip(keys, rows.itertuples(index=False), strict=True))

    @cached_property
    def all_looks(self) -> tuple[TechniqueLook, ...]:
        """How all techniques are drawn, but for the classifier that is trained on the truth."""
        looks = pages.technique_looks(self.run.plan).values()
        return tuple(look for look in looks if look.technique[0] != TRAINED_ON_TRUTH)

    @property
    def looks(self) -> tuple[TechniqueLook, ...]:
        """How techniques are drawn; ``none`` is a line."""
        return tuple(look for look in self.all_looks if not look.is_baseline)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The metrics that remedies are judged by, but for accuracy, in the order of remedies.csv."""
        return tuple(metric for metric in bias_cost_metrics(self.run.plan.config) if metric != ACCURACY)

    def row(self, panel_key: PanelKey, world: WorldKey, technique: Technique, metric: str) -> Any:
        """Return the row of a technique. None where it has no mean."""
        return self._row_by_key.get((*cell_key(panel_key, world, technique), metric))

    def rows(self, panel_key: PanelKey, worlds: Iterable[WorldKey], metric: str) -> list[Any]:
        """Return the rows of all techniques, ``none`` among them, that have a mean in some worlds."""
        rows = []
        for world in worlds:
            for look in self.all_looks:
                row = self.row(panel_key, world, look.technique, metric)
                if row is not None:
                    rows.append(row)
        return rows

    def thresholds(self, panel_key: PanelKey, world: WorldKey) -> float:
        """Return the accuracy of the best thresholds known the truth; NaN where it is not known."""
        return exact_world(self.run, panel_key, world).accuracy("oracle-thresholds")

    def describe_shortfall(self, panel_key: PanelKey, world: WorldKey, technique: Technique) -> str:
        """Say why not all repeats of a cell are drawn; nothing where they are."""
        row = self.row(panel_key, world, technique, ACCURACY)
        n_drawn = 0 if row is None else int(row.n)
        return pages.describe_shortfall(self.run, cell_key(panel_key, world, technique), n_drawn)


def cell_key(panel_key: PanelKey, world: WorldKey, technique: Technique) -> CellKey:
    """Return the values of `CELL_COLUMNS` of a technique in a world."""
    dataset, attribute, representation, classifier, parameters = panel_key
    name, strength = world
    return (dataset, attribute, name, representation, strength, *technique, classifier, parameters)


Blocks = Mapping[PanelKey, Sequence[WorldKey]]
"""The panels of a page, and the worlds of each, at one strength."""


def draw_remedies(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, classifier and gap: which remedy for which world.

    A row of panels per data set and measure, a column per world at the strength in the middle, in each a row
    per technique. What is not shown by tests is pale. Without a technique other than ``none`` there is none.
    """
    remedies = Remedies(run)
    if not run.plan.has_worlds or not remedies.looks:
        return {}
    sheets: dict[tuple[Any, ...], dict[PanelKey, Sequence[WorldKey]]] = {}
    for names, (panel_key, worlds) in blocks_by_page(run).items():
        _, _, representation, classifier = names
        for gap in remedies.gaps:
            blocks = sheets.setdefault((representation, classifier, gap), {})
            blocks[panel_key] = middle_worlds(worlds)
    return pages.plot_pages(run, (*PAGE_COLUMNS[2:], "gap"), sheets, partial(_remedies, remedies))


def _remedies(remedies: Remedies, run: RunResults, title: str, blocks: Blocks) -> Figure:
    subject, _, gap = title.rpartition(", ")  # the representation and the classifier; last the gap
    n_columns = max(map(len, blocks.values()))
    # 1. Heads on the left: the data set, and the gap below.
    names = read_display_names(run.plan.config)
    heads = {}
    for panel_key in blocks:
        dataset, attribute = panel_key[:2]
        heads[panel_key] = f"{names.dataset(dataset)}, {attribute}: {ACCURACY}"
    labels = [look.label for look in remedies.looks]
    text_widths = [text_width(label, SMALL) for label in labels]
    text_widths += [text_width(head, SMALL, "bold") for head in heads.values()]
    # 2. Rows of panels: accuracy and the gap of each data set. Worlds are named where others stand above.
    panels: list[Panel | None] = []
    titles: list[list[str]] = [[]]
    for panel_key, worlds in blocks.items():
        titles.append([world_title(world) for world in worlds])
        for metric in (ACCURACY, gap):
            limits = _limits(remedies, panel_key, worlds, metric)
            is_named = titles[-1] != titles[-2] and metric == ACCURACY
            for j, world in enumerate(worlds):
                head = None
                if j == 0:
                    head = heads[panel_key] if metric == ACCURACY else gap
                draw = partial(_remedies_panel, remedies, (panel_key, world, metric), limits, head)
                panels.append(Panel(draw, titles[-1][j] if is_named else ""))
            panels += [None] * (n_columns - len(worlds))
    # 3. Panels are as wide as the longest word of a title.
    widest = 0.0
    for row_titles in titles:
        for panel_title in row_titles:
            for word in panel_title.split():
                widest = max(widest, text_width(word, SMALL, "bold"))
    return canvas.facet(
        f"Which remedy for which world: accuracy regained, {gap} left",
        f"{subject}. {pages.describe_means(run, 'true')} Intervals are of the difference to none of the "
        f"same world, in the population. {IN_THE_MIDDLE} Every row of panels has its own scale.",
        panels,
        n_columns,
        (float(np.clip(widest - 0.06, NARROW, WIDE)), PITCH * len(labels) + 0.04),
        _legend(remedies, blocks, gap),
        _notes(remedies, blocks),
        margins=(max(text_widths) + 0.06, 0.0, 0.08, 0.2),
        handle_length=0.16,
        title_size=SMALL,
    )


def _limits(
    remedies: Remedies, panel_key: PanelKey, worlds: Iterable[WorldKey], metric: str
) -> tuple[float, float]:
    """Return the ends of an axis: around all that does not decide the same for everybody, and no gap."""
    rows = remedies.rows(panel_key, worlds, metric)
    values = []
    for row in rows:
        if not row.constant:
            values += [row.mean, row.start, row.end]
    if metric == ACCURACY:
        values += [remedies.thresholds(panel_key, world) for world in worlds]
    else:
        values += [0.0]
    return axis_limits(values, 0.06)


def few_ticks(limits: tuple[float, float], width: float) -> tuple[list[float], list[str]]:
    """Return ticks of a narrow axis and how they are written: up to three that do not touch.

    Parameters
    ----------
    width : float
        Of the axis, in inches.

    >>> few_ticks((0.82, 0.88), 0.8)[1], few_ticks((-0.01, 0.2), 0.8)[1], few_ticks((0.7, 0.95), 1.0)[1]
    (['.84', '.86'], ['0.1'], ['0.8', '0.9'])
    """
    low, high = limits
    for most in (3, 2, 1):
        ticks = [float(tick) for tick in MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)]
        digits = max(len(f"{tick:.6g}".partition(".")[2]) for tick in ticks)
        # The width of a number, in units of the axis.
        room = text_width(f"{ticks[-1]:.{digits}f}", SMALL) / width * (high - low)
        inside = [tick for tick in ticks if low + 0.35 * room <= tick <= high - 0.35 * room]
        if inside and (len(inside) == 1 or ticks[1] - ticks[0] > 1.3 * room):
            break
    labels = [f"{tick:.{digits}f}" for tick in inside]
    if len(inside) > 1 and ticks[1] - ticks[0] <= 1.3 * room:
        labels = [label.replace("0.", ".", 1) for label in labels]
    return inside, labels


def _remedies_panel(
    remedies: Remedies, spot: Spot, limits: tuple[float, float], head: str | None, ax: Axes
) -> None:
    """Draw the techniques in a world below each other; `head` stands above their names."""
    panel_key, world, metric = spot
    name, strength = world
    looks = remedies.looks
    # 1. The axes.
    ax.set(xlim=limits, ylim=(len(looks) - 0.4, -0.6))
    ax.set_yticks(range(len(looks)), [look.label if head else "" for look in looks])
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", pad=1.5)
    ticks, tick_labels = few_ticks(limits, ax.bbox.width / ax.figure.dpi)
    ax.set_xticks(ticks, tick_labels)
    ax.spines["left"].set_visible(False)
    # 2. What techniques are compared with: the classifier without the bias, and thresholds or no gap.
    for row in remedies.rows(panel_key, [world], metric):
        lost = row.lost if name and strength else 0.0
        if is_baseline(row.intervention, row.parameters) and np.isfinite(lost):
            ax.axvline(row.mean - lost, gid="truth", **TARGET)
    if metric == ACCURACY:
        cuts: Look = CUTS | {"clip_on": False, "zorder": 5, "gid": "thresholds"}
        ax.plot([remedies.thresholds(panel_key, world)], [-0.6], **cuts)
    else:
        ax.axvline(0, **IDEAL)
    # 3. The techniques.
    for i, look in enumerate(looks):
        row = remedies.row(panel_key, world, look.technique, metric)
        if row is None:
            text_look: Look = {"ha": "center", "va": "center", "fontsize": SMALL, "style": "italic"}
            why = remedies.describe_shortfall(panel_key, world, look.technique)
            ax.text(sum(limits) / 2, i, why, color=GREY, gid=f"why-{i}", **text_look)
            continue
        # The interval is that of the difference to ``none``, from where this is.
        ax.plot([row.base, row.base], [i - 0.5, i + 0.5], gid=f"none-{i}", **PLAIN)
        x = {"mean": np.clip(row.mean, *limits), "low": row.start, "high": row.end}
        mark, _ = KIND_MARKS.get(row.kind, (OPEN, ""))
        canvas.plot_dots(ax, x, canvas.without_interval(i), f"{row.kind}-{i}", mark | {"clip_on": False})
    if head:
        head_look: Look = {"xycoords": "axes fraction", "textcoords": "offset points", "fontweight": "bold"}
        ax.annotate(head, (0, 1), (-3, 2), ha="right", va="bottom", fontsize=SMALL, **head_look)


def _legend(remedies: Remedies, blocks: Blocks, gap: str) -> list[tuple[Any, str]]:
    """Return the legend: of the marks those that are drawn."""
    rows = []
    thresholds = []
    for panel_key, worlds in blocks.items():
        thresholds += [remedies.thresholds(panel_key, world) for world in worlds]
        for metric in (ACCURACY, gap):
            rows += remedies.rows(panel_key, worlds, metric)
    kinds = {row.kind for row in rows}
    legend = [(look | {"ls": ""}, meaning) for kind, (look, meaning) in KIND_MARKS.items() if kind in kinds]
    legend.append((OPEN | {"ls": ""}, "no difference shown"))
    legend.append((PLAIN, "none"))
    if any(np.isfinite(row.lost) for row in rows):
        legend.append((TARGET, "the classifier without the bias"))
    if np.isfinite(thresholds).any():
        legend.append((CUTS, "best thresholds known the truth"))
    legend.append((IDEAL, "no gap"))
    return legend


def _notes(remedies: Remedies, blocks: Blocks) -> list[str]:
    """Say which techniques lack values of some repeats, and in which worlds."""
    shortfalls = []
    for look in remedies.looks:
        for panel_key, worlds in blocks.items():
            dataset = panel_key[0]
            for world in worlds:
                why = remedies.describe_shortfall(panel_key, world, look.technique)
                shortfalls.append((look.label, f"{dataset}: {world_title(world)}", why))
    return pages.describe_missing(shortfalls, " ({})", "; ")


CONTRASTS: dict[Contrast, tuple[Look, str]] = {
    "artefact": ({"marker": "^", "color": COLOURS[1], "ms": 5.6}, "falls on record, rises on truth"),
    "real": ({"marker": "D", "color": COLOURS[2], "ms": 4.6}, "falls on both"),
    "gain": ({"marker": "o", "color": COLOURS[3], "ms": 5.4}, "rises on both"),
    "hidden loss": ({"marker": "v", "color": INK, "ms": 5.6}, "rises on record, falls on truth"),
    "constant": ({"marker": "x", "color": GREY, "ms": 4.6, "mew": 1.1}, "the same decision for everybody"),
    "not shown": (OPEN | {"ms": 4.2}, "one or both not shown"),
}
"""How what becomes of a metric on record and on truth is drawn, and its meaning."""
DIAGONAL: tuple[Look, str] = (TARGET | {"lw": 2.4}, "the same on both")
ARTEFACT: Look = {"color": "#eef3f8", "lw": 0, "zorder": 0.5}
MOST_WORLDS = 5
"""Worlds next to each other."""
SIDES = {1: 2.6, 2: 2.1, 3: 1.7}
"""Inches that panels are wide and high, where few worlds stand next to each other."""
ENDS = ["recorded", "recorded_low", "recorded_high", "true", "true_low", "true_high"]


def draw_recorded_true(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: recorded against true.

    A panel per measure and world, at the strength in the middle, in which labels, groups or who is recorded
    differ from the truth. In each a line per technique leads from ``none`` to what it gains on recorded
    labels (across) and on true ones (upwards); up and to the right is nearer to the ideal.
    """
    frame = contrast_frame(run.by_own_attribute)
    pages_by_names = {}
    frame = frame[frame[["recorded", "true"]].notna().all(axis=1)]
    for names, (panel_key, worlds) in blocks_by_page(run).items():
        rows = frame[(frame[PANEL_COLUMNS] == list(panel_key)).all(axis=1)]
        differing_worlds = rows["world"][rows["recorded"] != rows["true"]]
        rows = rows.assign(differs=rows["world"].isin(differing_worlds))
        differing = rows[rows["differs"]]
        drawn_worlds = [world for world in middle_worlds(worlds) if len(_in_world(differing, world))]
        if drawn_worlds:
            pages_by_names[names] = drawn_worlds, rows
    return pages.plot_pages(run, PAGE_COLUMNS, pages_by_names, _recorded_true)


def _in_world(frame: pd.DataFrame, world: WorldKey) -> pd.DataFrame:
    """Return the rows of a world at its strength."""
    name, strength = world
    return frame[(frame["world"] == name) & (frame["beta"] == strength)]


def _recorded_true(
    run: RunResults, title: str, worlds_and_rows: tuple[Sequence[WorldKey], pd.DataFrame]
) -> Figure:
    """Draw what became of techniques in some worlds; the rows are those of all."""
    # 1. The rows of worlds in which something differs on record; techniques are numbered.
    worlds, all_rows = worlds_and_rows
    rows = all_rows[all_rows["differs"]]
    undiffering = all_rows[~all_rows["differs"]]
    techniques = set(rows[TECHNIQUE].itertuples(index=False, name=None))
    looks = [look for look in pages.technique_looks(run.plan).values() if look.technique in techniques]
    numbers = {look.technique: str(i) for i, look in enumerate(looks, start=1)}
    metrics = list(dict.fromkeys(rows["metric"]))
    n_columns = min(len(worlds), MOST_WORLDS)
    drawn_rows = pd.concat([_in_world(rows, world) for world in worlds])
    last_row_start = (len(worlds) - 1) // n_columns * n_columns

    # 2. The panels.
    def panel(metric: str, j: int) -> Panel:
        """Return the panel of a metric and of the j-th world."""
        draw = partial(_contrast_panel, _in_world(rows[rows["metric"] == metric], worlds[j]), numbers)
        panel_title = world_title(worlds[j]) if metric == metrics[0] else ""
        x_label = ""
        if metric == metrics[-1] and j >= last_row_start:
            x_label = "gained on record"
        y_label = ""
        if j % n_columns == 0:
            size = ACCURACY if metric == ACCURACY else f"|{metric}|"
            y_label = f"{size},\ngained on truth"
        return Panel(draw, panel_title, x_label, y_label)

    # 3. The legend and the notes.
    contrasts = set(drawn_rows["contrast"])
    legend = []
    for contrast, (look, meaning) in CONTRASTS.items():
        if contrast in contrasts:
            legend.append((look | {"ls": ""}, f"{contrast}: {meaning}"))
    legend.append(DIAGONAL)
    numbered_labels = ", ".join(f"{numbers[look.technique]} {look.label}" for look in looks)
    notes = [f"Techniques: {numbered_labels}."]
    notes += [f"{metric}: {describe_contrasts(drawn_rows, rows, metric)}" for metric in metrics]
    notes += _describe_undiffering(undiffering)
    side = SIDES.get(n_columns, 1.4)
    return canvas.facet(
        f"Recorded against true: {title}",
        "A line leads from none to a technique: what it gains, nearer to the ideal, on recorded labels "
        f"(across) and on true ones (upwards). {pages.describe_means(run, '')} {IN_THE_MIDDLE} Every "
        "panel has its own scale. Shaded: a loss on the record that is none on the truth.",
        canvas.lay_out_panels(metrics, range(len(worlds)), n_columns, panel),
        n_columns,
        (side, side),
        legend,
        notes,
        margins=(0.36, 0.12, 0.4, 0.2),
        handle_length=0.16,
        title_size=SMALL,
    )


def describe_contrasts(drawn_rows: pd.DataFrame, all_rows: pd.DataFrame, metric: str) -> str:
    """Say how many techniques in how many worlds are which contrast: those that are drawn, and all.

    >>> frame = pd.DataFrame({"metric": "accuracy", "contrast": ["real", "artefact", "real"]})
    >>> describe_contrasts(frame[1:], frame, "accuracy")
    '2 techniques in worlds: 1 artefact, 1 real; at all strengths 3: 1 artefact, 2 real.'
    """
    drawn_contrasts = drawn_rows[drawn_rows["metric"] == metric]["contrast"]
    all_contrasts = all_rows[all_rows["metric"] == metric]["contrast"]
    text = f"{len(drawn_contrasts)} techniques in worlds: {_count_contrasts(drawn_contrasts)}"
    if len(all_contrasts) > len(drawn_contrasts):
        text += f"; at all strengths {len(all_contrasts)}: {_count_contrasts(all_contrasts)}"
    return f"{text}."


def _count_contrasts(contrasts: Iterable[str]) -> str:
    """Write how many of each contrast there are, in the order of `CONTRASTS`."""
    counts = Counter(contrasts)
    return ", ".join(f"{counts[contrast]} {contrast}" for contrast in CONTRASTS if counts[contrast])


def _describe_undiffering(rows: pd.DataFrame) -> list[str]:
    """Say in which worlds nothing can be an artefact, and what is shown there of accuracy."""
    worlds = [world or NO_BIAS for world in dict.fromkeys(rows["world"])]
    if not worlds:
        return []
    return [
        f"Not drawn: {', '.join(worlds)}: labels, groups and people on record are the true ones there; "
        f"{ACCURACY}: {describe_contrasts(rows, rows, ACCURACY)}"
    ]


def _contrast_panel(rows: pd.DataFrame, numbers: Mapping[Any, str], ax: Axes) -> None:
    """Draw lines from ``none`` to the techniques of a world; constants have no say in the limits."""
    deciding = rows[rows["contrast"] != "constant"]
    limits = axis_limits([0.0, *-deciding[ENDS].to_numpy(dtype=float).ravel()], 0.1)
    ax.set(xlim=limits, ylim=limits)
    ax.locator_params(nbins=4)
    ax.tick_params(pad=1.5)
    ax.fill_between([limits[0], 0], 0, limits[1], **ARTEFACT)
    ax.plot(limits, limits, **DIAGONAL[0])
    ax.axhline(0, color=GREY, lw=0.8, zorder=1.6)
    ax.axvline(0, color=GREY, lw=0.8, zorder=1.6)
    labelled = []
    marks = []
    techniques = rows[TECHNIQUE].itertuples(index=False, name=None)
    # What is lost is the opposite of what is gained: the low end of a loss is the high end of a gain.
    gains = -rows[ENDS].to_numpy(dtype=float)
    for technique, contrast, row_gains in zip(techniques, rows["contrast"], gains, strict=True):
        look, _ = CONTRASTS[contrast]
        number = numbers[technique]
        x, x_high, x_low, y, y_high, y_low = row_gains
        x = float(np.clip(x, *limits))
        y = float(np.clip(y, *limits))
        ax.plot([0, x], [0, y], lw=0.6, alpha=0.7, color=look["color"], zorder=3)
        recorded = {"mean": x, "low": x_low, "high": x_high}
        true = {"mean": y, "low": y_low, "high": y_high}
        canvas.plot_dots(ax, recorded, true, f"{contrast}-{number}", look)
        labelled.append((number, x, y))
        marks.append((x, y, x, y, 3.0))
    label_points(ax, labelled, marks)


CURRENCY = "total variation"
MOST_TECHNIQUES = 6
"""Techniques next to each other."""

Lines = Mapping[str, Mapping[WorldKey, float]]
"""By world its total variation at each strength, no bias among them."""


def draw_strength(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: a column per technique.

    A line per world: accuracy and the gaps on true labels over the total variation between what the world
    records and the truth. Worlds of which this is not known are left out.
    """
    if not run.plan.has_worlds:
        return {}
    lines_by_names = {}
    for names, (panel_key, worlds) in blocks_by_page(run).items():
        lines = total_variation_lines(run, panel_key, worlds)
        if lines:
            lines_by_names[names] = (panel_key, lines)
    return pages.plot_pages(run, PAGE_COLUMNS, lines_by_names, partial(_strength, Remedies(run)))


def total_variation_lines(run: RunResults, panel_key: PanelKey, worlds: Sequence[WorldKey]) -> Lines:
    """Return the total variation of each world by strength, in ascending order."""
    values = {world: exact_world(run, panel_key, world).value("total-variation") for world in worlds}
    finite = {world: value for world, value in values.items() if np.isfinite(value)}
    ascending = sorted(finite, key=lambda world: (finite[world], bool(world[0])))
    # Where there is no bias alone, it is a line of its own; else it is the start of all others.
    names = [name for name, _ in finite if name] or [name for name, _ in finite]
    lines = {}
    for name in dict.fromkeys(names):
        lines[name] = {world: finite[world] for world in ascending if world[0] in ("", name)}
    return lines


def _strength(
    remedies: Remedies, run: RunResults, title: str, key_and_lines: tuple[PanelKey, Lines]
) -> Figure:
    panel_key, lines = key_and_lines
    looks = remedies.all_looks
    metrics = [ACCURACY, *remedies.gaps]
    n_columns = min(len(looks), MOST_TECHNIQUES)
    # 1. The axes: the largest total variation, and the means of all that decide.
    worlds: dict[WorldKey, float] = {}
    for line in lines.values():
        worlds |= line
    largest = max(worlds.values()) or 1.0
    limits = {}
    for metric in metrics:
        means = [row.mean for row in remedies.rows(panel_key, worlds, metric) if not row.constant]
        if metric != ACCURACY:
            means.append(0.0)
        limits[metric] = axis_limits(means, 0.06)

    # 2. The panels.
    def panel(metric: str, j: int) -> Panel:
        """Return the panel of a metric and of the j-th technique."""
        panel_lines = []
        for line in lines.values():
            rows = [remedies.row(panel_key, world, looks[j].technique, metric) for world in line]
            panel_lines.append(list(zip(line.values(), rows, strict=True)))
        draw = partial(_strength_panel, panel_lines, largest, limits[metric], metric != ACCURACY)
        panel_title = looks[j].label if metric == ACCURACY else ""
        x_label = CURRENCY if metric == metrics[-1] else ""
        return Panel(draw, panel_title, x_label, "" if j % n_columns else metric)

    # 3. The legend.
    legend: list[tuple[Any, str]] = [(world_look(i), name or NO_BIAS) for i, name in enumerate(lines)]
    if any(row.constant for row in remedies.rows(panel_key, worlds, ACCURACY)):
        mark, meaning = KIND_MARKS["constant"]
        legend.append((mark | {"ls": ""}, meaning))
    legend.append((IDEAL, "no gap"))
    return canvas.facet(
        f"The strength of a bias: {title}",
        f"Over the {CURRENCY} between what a world records and the truth; a mark per strength. "
        f"{pages.describe_means(run, 'true')} Filled: shown to differ from none of the same world.",
        canvas.lay_out_panels(metrics, range(len(looks)), n_columns, panel),
        n_columns,
        (1.3, 1.1),
        legend,
        _describe_unbiased(lines),
        margins=(0.42, 0.0, 0.12, 0.3),
        handle_length=0.36,
        title_size=SMALL,
    )


def _describe_unbiased(lines: Lines) -> list[str]:
    """Name the worlds whose record is a part of the truth, such as one without a column."""
    without = [name for name, line in lines.items() if name and not any(line.values())]
    if not without:
        return []
    return [f"{', '.join(without)}: what is recorded is true, so the {CURRENCY} is 0."]


def world_look(i: int) -> Look:
    """Return how the line of the i-th world is drawn."""
    dash = DASHES[i // len(COLOURS) % len(DASHES)]
    marker = MARKERS[i % len(MARKERS)]
    return {"color": COLOURS[i % len(COLOURS)], "ls": dash, "lw": 1.0, "marker": marker, "ms": 4, "mew": 0.8}


Line = Sequence[tuple[float, Any]]  # over total variation the row of remedies, None where it has no mean


def _strength_panel(
    lines: Sequence[Line], largest: float, limits: tuple[float, float], is_gap: bool, ax: Axes
) -> None:
    """Draw a line for each world, through the means of its rows of remedies at their total variation."""
    ax.set(xlim=(-0.05 * largest, 1.05 * largest), ylim=limits)
    ax.tick_params(pad=1.5, labelleft=bool(ax.get_ylabel()))
    ax.locator_params(nbins=4)
    if is_gap:
        ax.axhline(0, **IDEAL)
    for i, points in enumerate(lines):
        look = world_look(i)
        rows = [(x, row) for x, row in points if row is not None]
        # The line leaves out what decides the same for everybody.
        line_x = [x for x, row in rows if not row.constant]
        line_y = [row.mean for _, row in rows if not row.constant]
        line_look: Look = look | {"marker": "", "gid": f"world-{i}", "zorder": 2}
        ax.plot(line_x, line_y, **line_look)
        for x, row in rows:
            ax.vlines(x, row.low, row.high, color=look["color"], lw=0.9, zorder=2.5)
            mark: Look
            if row.constant:
                mark, _ = KIND_MARKS["constant"]
            else:
                mark = look | {"mfc": look["color"] if row.kind in KIND_MARKS else "white"}
            mark = mark | {"ls": "", "zorder": 3, "clip_on": False}
            ax.plot([x], [np.clip(row.mean, *limits)], **mark)
