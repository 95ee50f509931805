"""Which remedy for which world: what each technique regains, and which gap it leaves, on one page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairbench_cli.base.text import slugs
from fairbench_cli.report.figures import pages
from fairbench_cli.report.figures.canvas import (
    GREY,
    IDEAL,
    INK,
    SMALL,
    Look,
    Panel,
    around,
    facet,
    text_width,
)
from fairbench_cli.report.figures.pages import COLOURS, TechniqueLook
from fairbench_cli.report.remedies import ACCURACY, remedies_of
from fairbench_cli.report.repeats import CELL_COLUMNS, CellKey, is_baseline
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS, TRUTH, names_of
from fairbench_cli.report.world_tables import (
    Place,
    World,
    exact_accuracy,
    in_the_middle,
    known_of,
    world_blocks,
)
from fairbench_cli.report.worlds import facts_of_run

PALE = "#a6a6a6"
SHOWN: dict[str, tuple[Look, str]] = {
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
NARROW, WIDE = 0.66, 1.1
"""Inches that a world's panel is wide at least, and at most where its name needs it."""
IN_THE_MIDDLE = "Behind a world: its strength, of those that were run the one in the middle."

Own = tuple[str, str, bool]


def title_of(world: World) -> str:
    """Return a world and its strength.

    >>> title_of(("label", 0.5)), title_of(("label + selection 0.5", 0.3)), title_of(("", 0.0))
    ('label 0.5', 'label + selection 0.5, first 0.3', 'no bias')
    """
    several = ", first" * (" + " in world[0])
    return f"{world[0]}{several} {world[1]:g}" if world[0] else NO_BIAS


def place_title(run: RunResults, place: Place) -> str:
    """Return data set, attribute and classifier, for people."""
    called, (dataset, attribute, how, *classifier) = names_of(run.plan.config), place
    own = called.dataset(dataset), attribute, called.classifier(*classifier), *pages.representation_name(how)
    return ", ".join(own)


def by_place(run: RunResults) -> dict[str, tuple[Place, Sequence[World]]]:
    """Return the worlds of each data set, attribute, representation and classifier by file name."""
    blocks = world_blocks(run)
    names = slugs((*place[:2], *pages.representation_name(place[2]), place[3]) for place in blocks)
    return dict(zip(names, blocks.items(), strict=True))


@dataclass(frozen=True, eq=False)
class Remedies:
    """What figures draw of a run: rows of remedies.csv, on true labels and for each cell's own attribute.

    Parameters
    ----------
    run : RunResults
    """

    run: RunResults

    @cached_property
    def _rows(self) -> dict[tuple[Any, ...], Any]:
        frame = remedies_of(self.run)
        own = frame[(frame["compared"] == frame["attribute"]) & (frame["labels"] == "true")]
        keys = own[[*CELL_COLUMNS, "metric"]].itertuples(index=False, name=None)
        return dict(zip(keys, own.itertuples(index=False), strict=True))

    @cached_property
    def every_look(self) -> tuple[TechniqueLook, ...]:
        """How all techniques are drawn, but for the classifier that is trained on the truth."""
        looks = pages.technique_looks(self.run.plan).values()
        return tuple(one for one in looks if one.own[0] != TRUTH)

    @property
    def looks(self) -> tuple[TechniqueLook, ...]:
        """How techniques are drawn; ``none`` is a line."""
        return tuple(one for one in self.every_look if not is_baseline(*one.own[:2]))

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The gaps that remedies.csv has, in its order."""
        return tuple(dict.fromkeys(metric for *_, metric in self._rows if metric != ACCURACY))

    @staticmethod
    def key(place: Place, world: World, own: Own) -> CellKey:
        """Return the values of `CELL_COLUMNS` of a cell."""
        dataset, attribute, representation, *classifier = place
        return (dataset, attribute, world[0], representation, world[1], *own, *classifier)

    def row(self, place: Place, world: World, own: Own, metric: str) -> Any:
        """Return what is known of a technique; None where it has no mean."""
        row = self._rows.get((*self.key(place, world, own), metric))
        return None if row is None or np.isnan(row.mean) else row

    def every(self, place: Place, worlds: Iterable[World], metric: str) -> list[Any]:
        """Return the rows of all techniques, ``none`` among them, that have a mean in some worlds."""
        found = (self.row(place, world, one.own, metric) for world in worlds for one in self.every_look)
        return [row for row in found if row is not None]

    def thresholds(self, place: Place, world: World) -> float:
        """Return the accuracy of the best thresholds known the truth; NaN where it is not known."""
        return exact_accuracy(known_of(self.run, place, world), "oracle-thresholds")

    def lacking(self, place: Place, world: World, own: Own) -> str:
        """Say why not all repeats of a cell are drawn; nothing where they are."""
        row = self.row(place, world, own, ACCURACY)
        return pages.shortfall(self.run, self.key(place, world, own), 0 if row is None else int(row.n))


Blocks = Mapping[Place, Sequence[World]]
"""What stands on a page: by place its worlds, each at one strength."""


def draw_remedies(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, classifier and gap: which remedy for which world.

    A row of panels per data set and measure, a column per world at the strength in the middle, in each a row
    per technique. What is not shown by tests is pale. Without a technique other than ``none`` there is none.
    """
    if not run.plan.has_worlds:
        return {}
    remedies, sheets = Remedies(run), dict[Place, dict[Place, Sequence[World]]]()
    if not remedies.looks:
        return {}
    for place, worlds in world_blocks(run).items():
        sheets.setdefault(place[2:], {})[place] = in_the_middle(worlds)
    pairs = [(own, gap) for own in sheets for gap in remedies.gaps]
    names = slugs((*pages.representation_name(own[0]), own[1], gap) for own, gap in pairs)
    return {
        name: _remedies(remedies, sheets[own], gap) for name, (own, gap) in zip(names, pairs, strict=True)
    }


def _remedies(remedies: Remedies, blocks: Blocks, gap: str) -> Figure:
    run, across = remedies.run, max(map(len, blocks.values()))
    called, labels = names_of(run.plan.config), [look.label for look in remedies.looks]
    heads = {place: f"{called.dataset(place[0])}, {place[1]}: {ACCURACY}" for place in blocks}
    left = max(
        *(text_width(label, SMALL) for label in labels),
        *(text_width(head, SMALL, "bold") for head in heads.values()),
    )
    panels: list[Panel | None] = []
    titles: list[list[str]] = [[]]
    for place, worlds in blocks.items():
        titles.append([title_of(world) for world in worlds])
        for metric in (ACCURACY, gap):
            limits = _limits(remedies, place, worlds, metric)
            named = titles[-1] if titles[-1] != titles[-2] and metric == ACCURACY else [""] * len(worlds)
            for j, (world, title) in enumerate(zip(worlds, named, strict=True)):
                head = (heads[place] if metric == ACCURACY else gap) if j == 0 else None
                draw = partial(_panel, remedies, place, world, metric, limits, head)
                panels.append(Panel(draw, title))
            panels += [None] * (across - len(worlds))
    words = {word for own in titles for title in own for word in title.split()}
    widest = max(text_width(word, SMALL, "bold") for word in words)
    how, *classifier = next(iter(blocks))[2:]
    with_it = ", ".join([called.classifier(*classifier), *pages.representation_name(how)])
    return facet(
        f"Which remedy for which world: accuracy regained, {gap} left",
        f"{with_it}. {pages.means_text(run.plan, 'true')} Intervals are of the difference to none of the "
        f"same world, in the population. {IN_THE_MIDDLE} Every row of panels has its own scale.",
        panels,
        across,
        (float(np.clip(widest - 0.06, NARROW, WIDE)), PITCH * len(labels) + 0.04),
        _keys(remedies, blocks, gap),
        _notes(remedies, blocks),
        room=(left + 0.06, 0.0, 0.08, 0.2),
        handle=0.16,
        named=SMALL,
    )


def _limits(remedies: Remedies, place: Place, worlds: Iterable[World], metric: str) -> tuple[float, float]:
    """Return the ends of an axis: around all that does not decide the same for everybody, and no gap."""
    values = [0.0] * (metric != ACCURACY)
    for world in worlds:
        for row in remedies.every(place, [world], metric):
            if not row.constant:
                base = row.mean - row.change
                values += [row.mean, base + row.change_low, base + row.change_high]
        values += [remedies.thresholds(place, world)] * (metric == ACCURACY)
    return around(values, 0.06)


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
        places = [float(x) for x in MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)]
        digits = max(len(f"{x:.6g}".partition(".")[2]) for x in places)
        room = text_width(f"{places[-1]:.{digits}f}", SMALL) / wide * (high - low)
        inside = [x for x in places if low + 0.35 * room <= x <= high - 0.35 * room]
        if inside and (len(inside) == 1 or places[1] - places[0] > 1.3 * room):
            break
    touch = len(inside) > 1 and places[1] - places[0] <= 1.3 * room
    written = [f"{x:.{digits}f}" for x in inside]
    return inside, [text.replace("0.", ".", 1) for text in written] if touch else written


def _panel(
    remedies: Remedies,
    place: Place,
    world: World,
    metric: str,
    limits: tuple[float, float],
    head: str | None,
    ax: Axes,
) -> None:
    """Draw the techniques in a world below each other; `head` stands above their names."""
    looks = remedies.looks
    ax.set(xlim=limits, ylim=(len(looks) - 0.4, -0.6))
    ax.set_yticks(range(len(looks)), [look.label for look in looks] if head else [""] * len(looks))
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", pad=1.5)
    ax.set_xticks(*few_ticks(limits, ax.bbox.width / ax.figure.dpi))
    ax.spines["left"].set_visible(False)
    for row in remedies.every(place, [world], metric):
        lost = row.lost if world[0] and world[1] else 0.0
        if is_baseline(row.intervention, row.parameters) and np.isfinite(lost):
            ax.axvline(row.mean - lost, gid="truth", **TARGET)
    if metric == ACCURACY:
        cuts: Look = CUTS | {"clip_on": False, "zorder": 5, "gid": "thresholds"}
        ax.plot([remedies.thresholds(place, world)], [-0.6], **cuts)
    else:
        ax.axvline(0, **IDEAL)
    for i, look in enumerate(looks):
        row = remedies.row(place, world, look.own, metric)
        if row is not None:
            _mark(ax, i, row, limits)
        else:
            words: Look = {"ha": "center", "va": "center", "fontsize": SMALL, "style": "italic"}
            why = remedies.lacking(place, world, look.own)
            ax.text(sum(limits) / 2, i, why, color=GREY, gid=f"why-{i}", **words)
    if head:
        at: Look = {"xycoords": "axes fraction", "textcoords": "offset points", "fontweight": "bold"}
        ax.annotate(head, (0, 1), (-3, 2), ha="right", va="bottom", fontsize=SMALL, **at)


def _mark(ax: Axes, i: int, row: Any, limits: tuple[float, float]) -> None:
    """Draw a technique at its mean, with the interval of its difference to ``none``, and where this is."""
    base = row.mean - row.change
    ax.plot([base, base], [i - 0.5, i + 0.5], gid=f"none-{i}", **PLAIN)
    look, _ = SHOWN.get(row.kind, (OPEN, ""))
    ax.hlines(i, base + row.change_low, base + row.change_high, color=look["color"], lw=1.1, zorder=3)
    own: Look = look | {"ls": "", "zorder": 4, "gid": f"{row.kind}-{i}", "clip_on": False}
    ax.plot([np.clip(row.mean, *limits)], [i], **own)


def _keys(remedies: Remedies, blocks: Blocks, gap: str) -> list[tuple[Any, str]]:
    """Return the legend: of the marks those that are drawn."""
    metrics = ACCURACY, gap
    rows = [row for place, own in blocks.items() for m in metrics for row in remedies.every(place, own, m)]
    kinds = {row.kind for row in rows}
    keys = [(look | {"ls": ""}, words) for kind, (look, words) in SHOWN.items() if kind in kinds]
    keys += [(OPEN | {"ls": ""}, "no difference shown"), (PLAIN, "none")]
    if any(np.isfinite(row.lost) for row in rows):
        keys.append((TARGET, "the classifier without the bias"))
    if facts_of_run(remedies.run):
        keys.append((CUTS, "best thresholds known the truth"))
    return [*keys, (IDEAL, "no gap")]


def _notes(remedies: Remedies, blocks: Blocks) -> list[str]:
    """Say which techniques lack values of some repeats, and in which worlds."""
    found = (
        (look.label, f"{place[0]}: {title_of(world)}", remedies.lacking(place, world, look.own))
        for look in remedies.looks
        for place, worlds in blocks.items()
        for world in worlds
    )
    return pages.missing(found, " ({})", "; ")
