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
"""How what is shown is drawn and said, by what became of a metric (`Kind`)."""
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

Own = tuple[str, str, bool]
Spot = tuple[PanelKey, WorldKey, str]  # a panel: where, in which world, and of which metric
PLACE = ("dataset", "attribute", "representation", "classifier")


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
    """Return each place of a run that has results, and its worlds, by its values of `PLACE`."""
    return {(*place[:3], place[3:]): (place, worlds) for place, worlds in worlds_by_panel(run).items()}


@dataclass(frozen=True, eq=False)
class Remedies:
    """What figures draw of a run: rows of remedies.csv, on true labels and for each cell's own attribute.

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
        return tuple(look for look in self.all_looks if not is_baseline(*look.technique[:2]))

    @property
    def gaps(self) -> tuple[str, ...]:
        """What remedies are judged by, but for accuracy, in the order of remedies.csv."""
        return tuple(metric for metric in bias_cost_metrics(self.run.plan.config) if metric != ACCURACY)

    def row(self, place: PanelKey, world: WorldKey, own: Own, metric: str) -> Any:
        """Return the row of a technique. None where it has no mean."""
        return self._row_by_key.get((*cell_key(place, world, own), metric))

    def rows(self, place: PanelKey, worlds: Iterable[WorldKey], metric: str) -> list[Any]:
        """Return the rows of all techniques, ``none`` among them, that have a mean in some worlds."""
        rows = []
        for world in worlds:
            for look in self.all_looks:
                row = self.row(place, world, look.technique, metric)
                if row is not None:
                    rows.append(row)
        return rows

    def thresholds(self, place: PanelKey, world: WorldKey) -> float:
        """Return the accuracy of the best thresholds known the truth; NaN where it is not known."""
        return exact_world(self.run, place, world).accuracy("oracle-thresholds")

    def describe_shortfall(self, place: PanelKey, world: WorldKey, own: Own) -> str:
        """Say why not all repeats of a cell are drawn; nothing where they are."""
        row = self.row(place, world, own, ACCURACY)
        return pages.describe_shortfall(
            self.run, cell_key(place, world, own), 0 if row is None else int(row.n)
        )


def cell_key(place: PanelKey, world: WorldKey, own: Own) -> CellKey:
    """Return the values of `CELL_COLUMNS` of a technique in a world."""
    dataset, attribute, representation, *classifier = place
    return (dataset, attribute, world[0], representation, world[1], *own, *classifier)


Blocks = Mapping[PanelKey, Sequence[WorldKey]]
"""What stands on a page: by place its worlds, each at one strength."""


def draw_remedies(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, classifier and gap: which remedy for which world.

    A row of panels per data set and measure, a column per world at the strength in the middle, in each a row
    per technique. What is not shown by tests is pale. Without a technique other than ``none`` there is none.
    """
    remedies = Remedies(run)
    if not run.plan.has_worlds or not remedies.looks:
        return {}
    sheets: dict[tuple[Any, ...], dict[PanelKey, Sequence[WorldKey]]] = {}
    for names, (place, worlds) in blocks_by_page(run).items():
        for gap in remedies.gaps:
            sheets.setdefault((*names[2:], gap), {})[place] = middle_worlds(worlds)
    return pages.plot_pages(run, (*PLACE[2:], "gap"), sheets, partial(_remedies, remedies))


def _remedies(remedies: Remedies, run: RunResults, title: str, blocks: Blocks) -> Figure:
    which, _, gap = title.rpartition(", ")  # the representation and the classifier; last the gap
    across = max(map(len, blocks.values()))
    called = read_display_names(run.plan.config)
    labels = [look.label for look in remedies.looks]
    heads = {place: f"{called.dataset(place[0])}, {place[1]}: {ACCURACY}" for place in blocks}
    left = max(
        *(text_width(label, SMALL) for label in labels),
        *(text_width(head, SMALL, "bold") for head in heads.values()),
    )
    panels: list[Panel | None] = []
    titles: list[list[str]] = [[]]
    for place, worlds in blocks.items():
        titles.append([world_title(world) for world in worlds])
        for metric in (ACCURACY, gap):
            limits = _limits(remedies, place, worlds, metric)
            if titles[-1] != titles[-2] and metric == ACCURACY:
                panel_titles = titles[-1]
            else:
                panel_titles = [""] * len(worlds)
            for j, (world, panel_title) in enumerate(zip(worlds, panel_titles, strict=True)):
                if j == 0:
                    head = heads[place] if metric == ACCURACY else gap
                else:
                    head = None
                draw = partial(_remedies_panel, remedies, (place, world, metric), limits, head)
                panels.append(Panel(draw, panel_title))
            panels += [None] * (across - len(worlds))
    widths = []
    for row_of_titles in titles:
        for panel_title in row_of_titles:
            widths += [text_width(word, SMALL, "bold") for word in panel_title.split()]
    widest = max(widths)
    return canvas.facet(
        f"Which remedy for which world: accuracy regained, {gap} left",
        f"{which}. {pages.describe_means(run.plan, 'true')} Intervals are of the difference to none of the "
        f"same world, in the population. {IN_THE_MIDDLE} Every row of panels has its own scale.",
        panels,
        across,
        (float(np.clip(widest - 0.06, NARROW, WIDE)), PITCH * len(labels) + 0.04),
        _keys(remedies, blocks, gap),
        _notes(remedies, blocks),
        margins=(left + 0.06, 0.0, 0.08, 0.2),
        handle_length=0.16,
        title_size=SMALL,
    )


def _limits(
    remedies: Remedies, place: PanelKey, worlds: Iterable[WorldKey], metric: str
) -> tuple[float, float]:
    """Return the ends of an axis: around all that does not decide the same for everybody, and no gap."""
    rows = remedies.rows(place, worlds, metric)
    values = []
    for row in rows:
        if not row.constant:
            values += [row.mean, row.start, row.end]
    if metric == ACCURACY:
        values += [remedies.thresholds(place, world) for world in worlds]
    else:
        values += [0.0]
    return axis_limits(values, 0.06)


def few_ticks(limits: tuple[float, float], wide: float) -> tuple[list[float], list[str]]:
    """Return ticks of a narrow axis and how they are written: up to three that do not touch.

    Parameters
    ----------
    wide : float
        Of the axis, in inches.

    >>> [few_ticks(*of)[1] for of in (((0.82, 0.88), 0.8), ((-0.01, 0.2), 0.8), ((0.7, 0.95), 1.0))]
    [['.84', '.86'], ['0.1'], ['0.8', '0.9']]
    """
    low, high = limits
    for most in (3, 2, 1):
        ticks = [float(x) for x in MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)]
        digits = max(len(f"{x:.6g}".partition(".")[2]) for x in ticks)
        room = text_width(f"{ticks[-1]:.{digits}f}", SMALL) / wide * (high - low)
        inside = [x for x in ticks if low + 0.35 * room <= x <= high - 0.35 * room]
        if inside and (len(inside) == 1 or ticks[1] - ticks[0] > 1.3 * room):
            break
    touch = len(inside) > 1 and ticks[1] - ticks[0] <= 1.3 * room
    written = [f"{x:.{digits}f}" for x in inside]
    return inside, [text.replace("0.", ".", 1) for text in written] if touch else written


def _remedies_panel(
    remedies: Remedies, spot: Spot, limits: tuple[float, float], head: str | None, ax: Axes
) -> None:
    """Draw the techniques in a world below each other; `head` stands above their names."""
    place, world, metric = spot
    looks = remedies.looks
    ax.set(xlim=limits, ylim=(len(looks) - 0.4, -0.6))
    ax.set_yticks(range(len(looks)), [look.label for look in looks] if head else [""] * len(looks))
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", pad=1.5)
    ax.set_xticks(*few_ticks(limits, ax.bbox.width / ax.figure.dpi))
    ax.spines["left"].set_visible(False)
    for row in remedies.rows(place, [world], metric):
        if world[0] and world[1]:
            lost = row.lost
        else:
            lost = 0.0
        if is_baseline(row.intervention, row.parameters) and np.isfinite(lost):
            ax.axvline(row.mean - lost, gid="truth", **TARGET)
    if metric == ACCURACY:
        cuts: Look = CUTS | {"clip_on": False, "zorder": 5, "gid": "thresholds"}
        ax.plot([remedies.thresholds(place, world)], [-0.6], **cuts)
    else:
        ax.axvline(0, **IDEAL)
    for i, look in enumerate(looks):
        row = remedies.row(place, world, look.technique, metric)
        if row is None:
            text_look: Look = {"ha": "center", "va": "center", "fontsize": SMALL, "style": "italic"}
            why = remedies.describe_shortfall(place, world, look.technique)
            ax.text(sum(limits) / 2, i, why, color=GREY, gid=f"why-{i}", **text_look)
            continue
        # The interval is that of the difference to ``none``, from where this is.
        ax.plot([row.base, row.base], [i - 0.5, i + 0.5], gid=f"none-{i}", **PLAIN)
        x = {"mean": np.clip(row.mean, *limits), "low": row.start, "high": row.end}
        mark, _ = KIND_MARKS.get(row.kind, (OPEN, ""))
        canvas.plot_dots(ax, x, canvas.without_interval(i), f"{row.kind}-{i}", mark | {"clip_on": False})
    if head:
        above: Look = {"xycoords": "axes fraction", "textcoords": "offset points", "fontweight": "bold"}
        ax.annotate(head, (0, 1), (-3, 2), ha="right", va="bottom", fontsize=SMALL, **above)


def _keys(remedies: Remedies, blocks: Blocks, gap: str) -> list[tuple[Any, str]]:
    """Return the legend: of the marks those that are drawn."""
    rows = []
    thresholds = []
    for place, worlds in blocks.items():
        thresholds += [remedies.thresholds(place, world) for world in worlds]
        for metric in (ACCURACY, gap):
            rows += remedies.rows(place, worlds, metric)
    kinds = {row.kind for row in rows}
    keys = [(look | {"ls": ""}, meaning) for kind, (look, meaning) in KIND_MARKS.items() if kind in kinds]
    keys += [(OPEN | {"ls": ""}, "no difference shown"), (PLAIN, "none")]
    if any(np.isfinite(row.lost) for row in rows):
        keys.append((TARGET, "the classifier without the bias"))
    if np.isfinite(thresholds).any():
        keys.append((CUTS, "best thresholds known the truth"))
    return [*keys, (IDEAL, "no gap")]


def _notes(remedies: Remedies, blocks: Blocks) -> list[str]:
    """Say which techniques lack values of some repeats, and in which worlds."""
    shortfalls = []
    for look in remedies.looks:
        for place, worlds in blocks.items():
            for world in worlds:
                why = remedies.describe_shortfall(place, world, look.technique)
                shortfalls.append((look.label, f"{place[0]}: {world_title(world)}", why))
    return pages.describe_missing(shortfalls, " ({})", "; ")


CONTRASTS: dict[Contrast, tuple[Look, str]] = {
    "artefact": ({"marker": "^", "color": COLOURS[1], "ms": 5.6}, "falls on record, rises on truth"),
    "real": ({"marker": "D", "color": COLOURS[2], "ms": 4.6}, "falls on both"),
    "gain": ({"marker": "o", "color": COLOURS[3], "ms": 5.4}, "rises on both"),
    "hidden loss": ({"marker": "v", "color": INK, "ms": 5.6}, "rises on record, falls on truth"),
    "constant": ({"marker": "x", "color": GREY, "ms": 4.6, "mew": 1.1}, "the same decision for everybody"),
    "not shown": (OPEN | {"ms": 4.2}, "one or both not shown"),
}
"""How what becomes of a metric on record and on truth is drawn and said."""
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
    pages_by_place = {}
    frame = frame[frame[["recorded", "true"]].notna().all(axis=1)]
    for names, (place, worlds) in blocks_by_page(run).items():
        rows = frame[(frame[PANEL_COLUMNS] == list(place)).all(axis=1)]
        rows = rows.assign(differs=rows["world"].isin(rows["world"][rows["recorded"] != rows["true"]]))
        differing = rows[rows["differs"]]
        drawn_worlds = [world for world in middle_worlds(worlds) if len(_in_world(differing, world))]
        if drawn_worlds:
            pages_by_place[names] = drawn_worlds, rows
    return pages.plot_pages(run, PLACE, pages_by_place, _recorded_true)


def _in_world(frame: pd.DataFrame, world: WorldKey) -> pd.DataFrame:
    return frame[(frame["world"] == world[0]) & (frame["beta"] == world[1])]


def _recorded_true(
    run: RunResults, title: str, worlds_and_rows: tuple[Sequence[WorldKey], pd.DataFrame]
) -> Figure:
    """Draw what became of techniques in some worlds; the rows are those of all."""
    worlds, all_rows = worlds_and_rows
    rows = all_rows[all_rows["differs"]]
    undiffering = all_rows[~all_rows["differs"]]
    techniques = set(rows[TECHNIQUE].itertuples(index=False, name=None))
    looks = [look for look in pages.technique_looks(run.plan).values() if look.technique in techniques]
    numbers = {look.technique: str(i) for i, look in enumerate(looks, start=1)}
    metrics = list(dict.fromkeys(rows["metric"]))
    across = min(len(worlds), MOST_WORLDS)
    drawn_rows = pd.concat([_in_world(rows, world) for world in worlds])
    last_row_start = (len(worlds) - 1) // across * across

    def panel(metric: str, j: int) -> Panel:
        """Return the panel of a metric and of the j-th world."""
        draw = partial(_contrast_panel, _in_world(rows[rows["metric"] == metric], worlds[j]), numbers)
        if metric == metrics[0]:
            name = world_title(worlds[j])
        else:
            name = ""
        if metric == metrics[-1] and j >= last_row_start:
            across_label = "gained on record"
        else:
            across_label = ""
        up = f"{metric if metric == ACCURACY else f'|{metric}|'},\ngained on truth"
        return Panel(draw, name, across_label, "" if j % across else up)

    kinds = set(drawn_rows["contrast"])
    side = SIDES.get(across, 1.4)
    keys = [
        (look | {"ls": ""}, f"{kind}: {meaning}")
        for kind, (look, meaning) in CONTRASTS.items()
        if kind in kinds
    ]
    return canvas.facet(
        f"Recorded against true: {title}",
        "A line leads from none to a technique: what it gains, nearer to the ideal, on recorded labels "
        f"(across) and on true ones (upwards). {pages.describe_means(run.plan, '')} {IN_THE_MIDDLE} Every "
        "panel has its own scale. Shaded: a loss on the record that is none on the truth.",
        canvas.lay_out_panels(metrics, range(len(worlds)), across, panel),
        across,
        (side, side),
        [*keys, DIAGONAL],
        [
            f"Techniques: {', '.join(f'{numbers[look.technique]} {look.label}' for look in looks)}.",
            *(f"{metric}: {describe_contrasts(drawn_rows, rows, metric)}" for metric in metrics),
            *_the_same(undiffering),
        ],
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
    text = f"{len(drawn_contrasts)} techniques in worlds: {_counts_by_kind(drawn_contrasts)}"
    if len(all_contrasts) > len(drawn_contrasts):
        text += f"; at all strengths {len(all_contrasts)}: {_counts_by_kind(all_contrasts)}"
    return f"{text}."


def _counts_by_kind(contrasts: Iterable[str]) -> str:
    """Write how many of each contrast there are, in the order of `CONTRASTS`."""
    counts = Counter(contrasts)
    return ", ".join(f"{counts[kind]} {kind}" for kind in CONTRASTS if counts[kind])


def _the_same(rows: pd.DataFrame) -> list[str]:
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
    for line in (ax.axhline, ax.axvline):
        line(0, color=GREY, lw=0.8, zorder=1.6)
    points = []
    marks = []
    techniques = rows[TECHNIQUE].itertuples(index=False, name=None)
    # What is lost is the opposite of what is gained: the low end of a loss is the high end of a gain.
    gains = -rows[ENDS].to_numpy(dtype=float)
    for technique, contrast, (x, x_high, x_low, y, y_high, y_low) in zip(
        techniques, rows["contrast"], gains, strict=True
    ):
        look = CONTRASTS[contrast][0]
        number = numbers[technique]
        x, y = (float(np.clip(value, *limits)) for value in (x, y))
        ax.plot([0, x], [0, y], lw=0.6, alpha=0.7, color=look["color"], zorder=3)
        recorded = {"mean": x, "low": x_low, "high": x_high}
        true = {"mean": y, "low": y_low, "high": y_high}
        canvas.plot_dots(ax, recorded, true, f"{contrast}-{number}", look)
        points.append((number, x, y))
        marks.append((x, y, x, y, 3.0))
    label_points(ax, points, marks)


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
    lines_by_place = {}
    for names, (place, worlds) in blocks_by_page(run).items():
        lines = total_variation_lines(run, place, worlds)
        if lines:
            lines_by_place[names] = (place, lines)
    return pages.plot_pages(run, PLACE, lines_by_place, partial(_strength, Remedies(run)))


def total_variation_lines(run: RunResults, place: PanelKey, worlds: Sequence[WorldKey]) -> Lines:
    """Return the total variation of each world by strength, in ascending order."""
    values = {world: exact_world(run, place, world).value("total-variation") for world in worlds}
    finite = {world: value for world, value in values.items() if np.isfinite(value)}
    ascending = sorted(finite, key=lambda world: (finite[world], bool(world[0])))
    names = dict.fromkeys([name for name, _ in finite if name] or [name for name, _ in finite])
    lines = {}
    for name in names:
        lines[name] = {world: finite[world] for world in ascending if world[0] in ("", name)}
    return lines


def _strength(
    remedies: Remedies, run: RunResults, title: str, place_and_lines: tuple[PanelKey, Lines]
) -> Figure:
    place, lines = place_and_lines
    looks = remedies.all_looks
    gaps = remedies.gaps
    across = min(len(looks), MOST_TECHNIQUES)
    worlds: dict[WorldKey, float] = {}
    for line in lines.values():
        worlds |= line
    most = max(worlds.values()) or 1.0
    limits = {}
    for metric in (ACCURACY, *gaps):
        means = [row.mean for row in remedies.rows(place, worlds, metric) if not row.constant]
        if metric != ACCURACY:
            means.append(0.0)
        limits[metric] = axis_limits(means, 0.06)

    def panel(metric: str, j: int) -> Panel:
        """Return the panel of a metric and of the j-th technique."""
        panel_lines = []
        for line in lines.values():
            rows = [remedies.row(place, world, looks[j].technique, metric) for world in line]
            panel_lines.append(list(zip(line.values(), rows, strict=True)))
        draw = partial(_strength_panel, panel_lines, most, limits[metric], metric != ACCURACY)
        if metric == ACCURACY:
            name = looks[j].label
        else:
            name = ""
        if metric == gaps[-1]:
            below = CURRENCY
        else:
            below = ""
        return Panel(draw, name, below, "" if j % across else metric)

    keys: list[tuple[Any, str]] = [(world_look(i), name or NO_BIAS) for i, name in enumerate(lines)]
    if any(row.constant for row in remedies.rows(place, worlds, ACCURACY)):
        mark, meaning = KIND_MARKS["constant"]
        keys.append((mark | {"ls": ""}, meaning))
    return canvas.facet(
        f"The strength of a bias: {title}",
        f"Over the {CURRENCY} between what a world records and the truth; a mark per strength. "
        f"{pages.describe_means(run.plan, 'true')} Filled: shown to differ from none of the same world.",
        canvas.lay_out_panels([*limits], range(len(looks)), across, panel),
        across,
        (1.3, 1.1),
        [*keys, (IDEAL, "no gap")],
        _untouched(lines),
        margins=(0.42, 0.0, 0.12, 0.3),
        handle_length=0.36,
        title_size=SMALL,
    )


def _untouched(lines: Lines) -> list[str]:
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
    lines: Sequence[Line], most: float, limits: tuple[float, float], gap: bool, ax: Axes
) -> None:
    """Draw a line a world, through what it has of rows of remedies at their total variation."""
    ax.set(xlim=(-0.05 * most, 1.05 * most), ylim=limits)
    ax.tick_params(pad=1.5, labelleft=bool(ax.get_ylabel()))
    ax.locator_params(nbins=4)
    if gap:
        ax.axhline(0, **IDEAL)
    for i, points in enumerate(lines):
        rows = [(x, row) for x, row in points if row is not None]
        deciding = [(x, row.mean) for x, row in rows if not row.constant]
        look = world_look(i)
        line: Look = look | {"marker": "", "gid": f"world-{i}", "zorder": 2}
        ax.plot([x for x, _ in deciding], [y for _, y in deciding], **line)
        for x, row in rows:
            ax.vlines(x, row.low, row.high, color=look["color"], lw=0.9, zorder=2.5)
            if row.kind in KIND_MARKS:
                face = look["color"]
            else:
                face = "white"
            mark: Look = KIND_MARKS["constant"][0] if row.constant else look | {"mfc": face}
            mark = mark | {"ls": "", "zorder": 3, "clip_on": False}
            ax.plot([x], [np.clip(row.mean, *limits)], **mark)
