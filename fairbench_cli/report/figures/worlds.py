"""Runs with worlds: which remedy for which world, recorded against true, and the strength of a bias."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.base.text import slugs
from fairbench_cli.report.contrasts import Contrast, own_contrasts
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
from fairbench_cli.report.figures.fronts import label_points
from fairbench_cli.report.figures.pages import COLOURS, DASHES, MARKERS, TechniqueLook
from fairbench_cli.report.remedies import ACCURACY, remedies_of
from fairbench_cli.report.repeats import CELL_COLUMNS, TECHNIQUE, CellKey, is_baseline
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS, TRUTH, names_of
from fairbench_cli.report.world_tables import PLACE, Place, World, exact_accuracy, world_blocks
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


def middle(betas: Iterable[float]) -> float:
    """Return the strength in the middle, 0 left out where there are others; of two the smaller.

    >>> middle([0.0, 0.25, 0.5, 0.75]), middle([0.5, 1.0]), middle([0.0])
    (0.5, 0.5, 0.0)
    """
    own = sorted(betas)
    some = [beta for beta in own if beta > 0] or own
    return some[(len(some) - 1) // 2]


def strengths(worlds: Iterable[World]) -> dict[str, list[float]]:
    """Return the strengths of each world in ascending order."""
    found: dict[str, list[float]] = {}
    for world, beta in worlds:
        found.setdefault(world, []).append(beta)
    return {world: sorted(betas) for world, betas in found.items()}


def in_the_middle(worlds: Iterable[World]) -> list[World]:
    """Return each world once, at the strength in the middle."""
    return [(world, middle(betas)) for world, betas in strengths(worlds).items()]


def title_of(world: World) -> str:
    """Return a world and its strength.

    >>> title_of(("label", 0.5)), title_of(("", 0.0))
    ('label 0.5', 'no bias')
    """
    return f"{world[0]} {world[1]:g}" if world[0] else NO_BIAS


@dataclass(frozen=True, eq=False)
class Remedies:
    """What the figures draw of a run: the rows of remedies.csv on true labels, found by their cell.

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
    def looks(self) -> tuple[TechniqueLook, ...]:
        """How techniques are drawn; ``none`` and the classifier that is trained on the truth are lines."""
        every = pages.technique_looks(self.run.plan).values()
        return tuple(one for one in every if not is_baseline(*one.own[:2]) and one.own[0] != TRUTH)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The gaps in their order: the config's metric of fairness, and others that remedies.csv has."""
        return tuple(dict.fromkeys(metric for *_, metric in self._rows if metric != ACCURACY))

    @staticmethod
    def key(place: Place, world: World, own: tuple[str, str, bool]) -> CellKey:
        """Return the values of `CELL_COLUMNS` of a cell."""
        dataset, attribute, representation, *classifier = place
        return (dataset, attribute, world[0], representation, world[1], *own, *classifier)

    def row(self, place: Place, world: World, own: tuple[str, str, bool], metric: str) -> Any:
        """Return what is known of a technique; None where it has not been run."""
        return self._rows.get((*self.key(place, world, own), metric))

    def every(self, place: Place, worlds: Iterable[World], metric: str) -> list[Any]:
        """Return the rows of all techniques, ``none`` among them, that have a mean in some worlds."""
        owns = pages.technique_looks(self.run.plan)
        found = (self.row(place, world, own, metric) for world in worlds for own in owns)
        return [row for row in found if row is not None and np.isfinite(row.mean)]

    def thresholds(self, place: Place, world: World) -> float:
        """Return the accuracy of the best thresholds known the truth; NaN where it is not known."""
        known = facts_of_run(self.run).at(*place[:2], *world)
        return exact_accuracy(self.run, known, "oracle-thresholds")


def draw_remedies(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per representation, classifier and gap: which remedy for which world.

    A row of panels per data set and measure, a column per world at the strength in the middle, in each a row
    per technique. What is not shown by tests is pale.
    """
    if not run.plan.has_worlds:
        return {}
    remedies, sheets = Remedies(run), dict[Place, dict[Place, Sequence[World]]]()
    for place, worlds in world_blocks(run).items():
        sheets.setdefault(place[2:], {})[place] = in_the_middle(worlds)
    pairs = [(own, gap) for own in sheets for gap in remedies.gaps]
    names = slugs((*pages.representation_name(own[0]), own[1], gap) for own, gap in pairs)
    return {
        name: _remedies(remedies, sheets[own], own, gap)
        for name, (own, gap) in zip(names, pairs, strict=True)
    }


def _remedies(remedies: Remedies, blocks: Mapping[Place, Sequence[World]], own: Place, gap: str) -> Figure:
    called, across = names_of(remedies.run.plan.config), max(map(len, blocks.values()))
    labels = [look.label for look in remedies.looks]
    heads = {place: f"{called.dataset(place[0])}, {place[1]}" for place in blocks}
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
                head = (heads[place], metric) if j == 0 else None
                panels.append(
                    Panel(partial(_remedy_panel, remedies, place, world, metric, limits, head), title)
                )
            panels += [None] * (across - len(worlds))
    words = {word for title in titles for text in title for word in text.split()}
    widest = max(text_width(word, SMALL, "bold") for word in words)
    classifier = called.classifier(*own[1:])
    return facet(
        f"Which remedy for which world: accuracy regained, {gap} left",
        f"{classifier}, on true labels. {pages.means_text(remedies.run.plan)} Intervals are of the difference "
        "to none of the same world, in the population. Behind a world: its strength, the one in the middle of "
        "those that were run. Every row of panels has its own scale.",
        panels,
        across,
        (float(np.clip(widest - 0.06, NARROW, WIDE)), PITCH * len(labels) + 0.04),
        _remedy_keys(remedies, blocks, gap),
        _lacking(remedies, blocks),
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


def _remedy_panel(
    remedies: Remedies,
    place: Place,
    world: World,
    metric: str,
    limits: tuple[float, float],
    head: tuple[str, str] | None,
    ax: Axes,
) -> None:
    looks = remedies.looks
    n = len(looks)
    ax.set(xlim=limits, ylim=(n - 0.4, -0.6))
    ax.set_yticks(range(n), [look.label for look in looks] if head else [""] * n)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", pad=1.5)
    ax.locator_params(axis="x", nbins=3)
    ax.spines["left"].set_visible(False)
    if metric != ACCURACY:
        ax.axvline(0, **IDEAL)
    for row in remedies.every(place, [world], metric):
        unbiased = 0.0 if not world[0] or world[1] == 0 else row.lost
        if is_baseline(row.intervention, row.parameters) and np.isfinite(unbiased):
            ax.axvline(row.mean - unbiased, gid="truth", **TARGET)
    if metric == ACCURACY:
        best = remedies.thresholds(place, world)
        ax.plot([best], [-0.6], clip_on=False, zorder=5, gid="thresholds", **CUTS)
    for i, look in enumerate(looks):
        row = remedies.row(place, world, look.own, metric)
        if row is not None and np.isfinite(row.mean):
            _draw_row(ax, i, row, limits)
        else:
            why = pages.shortfall(remedies.run, remedies.key(place, world, look.own), 0)
            own = {"ha": "center", "va": "center", "fontsize": SMALL, "style": "italic", "color": GREY}
            ax.text(float(np.mean(limits)), i, why, gid="why", **own)
    if head:
        for text, up, weight in ((head[0], 12, "bold"), (head[1], 2, "normal")):
            own: Look = {"xycoords": "axes fraction", "textcoords": "offset points", "fontweight": weight}
            ax.annotate(text, (0, 1), (-3, up), ha="right", va="bottom", fontsize=SMALL, **own)


def _draw_row(ax: Axes, i: int, row: Any, limits: tuple[float, float]) -> None:
    base = row.mean - row.change
    ax.plot([base, base], [i - 0.5, i + 0.5], gid=f"none-{i}", **PLAIN)
    mark, _ = SHOWN.get(row.kind, (OPEN, ""))
    ax.hlines(i, base + row.change_low, base + row.change_high, color=mark["color"], lw=1.1, zorder=3)
    own: Look = {"ls": "", "zorder": 4, "gid": f"{row.kind}-{i}", "clip_on": False}
    ax.plot([np.clip(row.mean, *limits)], [i], **own | mark)


def _remedy_keys(
    remedies: Remedies, blocks: Mapping[Place, Sequence[World]], gap: str
) -> list[tuple[Any, str]]:
    rows = [
        row for place, own in blocks.items() for m in (ACCURACY, gap) for row in remedies.every(place, own, m)
    ]
    kinds = {row.kind for row in rows}
    keys = [(look | {"ls": ""}, words) for kind, (look, words) in SHOWN.items() if kind in kinds]
    keys.append((OPEN | {"ls": ""}, "no difference shown"))
    keys.append((PLAIN, "none"))
    if any(np.isfinite(row.lost) for row in rows):
        keys.append((TARGET, "the classifier without the bias"))
    if facts_of_run(remedies.run):
        keys.append((CUTS, "best thresholds known the truth"))
    return [*keys, (IDEAL, "no gap")]


def _lacking(remedies: Remedies, blocks: Mapping[Place, Sequence[World]]) -> list[str]:
    """Say which techniques lack values of some repeats, and in which worlds."""
    run = remedies.run
    found = []
    for look in remedies.looks:
        for place, worlds in blocks.items():
            for world in worlds:
                row = remedies.row(place, world, look.own, ACCURACY)
                why = pages.shortfall(
                    run, remedies.key(place, world, look.own), 0 if row is None else int(row.n)
                )
                found.append((look.label, f"{place[0]}: {title_of(world)}", why))
    return pages.missing(found, " ({})", "; ")


CONTRASTS: dict[Contrast, tuple[Look, str]] = {
    "artefact": (
        {"marker": "^", "color": COLOURS[1], "ms": 5.6},
        "falls on record, rises on truth: an artefact",
    ),
    "real": ({"marker": "D", "color": COLOURS[2], "ms": 4.6}, "falls on both: real"),
    "gain": ({"marker": "o", "color": COLOURS[3], "ms": 5.4}, "rises on both"),
    "hidden loss": ({"marker": "v", "color": INK, "ms": 5.6}, "rises on record, falls on truth"),
    "constant": ({"marker": "x", "color": GREY, "ms": 4.6, "mew": 1.1}, "the same decision for everybody"),
    "not shown": (OPEN | {"ms": 4.2}, "not both shown"),
}
"""How what becomes of a metric on record and on truth is drawn and said."""
DIAGONAL: tuple[Look, str] = (TARGET | {"lw": 2.4}, "the same on both")
ARTEFACT: Look = {"color": "#eef3f8", "lw": 0, "zorder": 0.5}
SIDE = 1.4
"""Inches that a panel of recorded against true is wide and high."""
ACROSS = 5


def draw_recorded_true(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: recorded against true.

    A panel per measure and world, at the strength in the middle, in which labels, groups or who is recorded
    differ from the truth. In each a line per technique leads from ``none`` to what it gains on recorded
    labels (across) and on true ones (upwards); up and to the right is nearer to the ideal.
    """
    frame, figures = own_contrasts(run), {}
    frame = frame[frame[["recorded", "true"]].notna().all(axis=1)]
    for name, (place, worlds) in _by_place(run).items():
        rows = frame[(frame[PLACE] == list(place)).all(axis=1)]
        apart = rows["world"].isin(set(rows["world"][rows["recorded"] != rows["true"]]))
        shown = [one for one in in_the_middle(worlds) if len(_of_world(rows[apart], one))]
        if shown:
            figures[name] = _recorded_true(run, place, shown, rows[apart], rows[~apart])
    return figures


def _by_place(run: RunResults) -> dict[str, tuple[Place, Sequence[World]]]:
    """Return the worlds of each data set, attribute, representation and classifier by file name."""
    blocks = world_blocks(run)
    names = slugs((*place[:2], *pages.representation_name(place[2]), place[3]) for place in blocks)
    return dict(zip(names, blocks.items(), strict=True))


def _place_title(run: RunResults, place: Place) -> str:
    called = names_of(run.plan.config)
    how = pages.representation_name(place[2])
    return ", ".join([called.dataset(place[0]), place[1], called.classifier(*place[3:]), *how])


def _of_world(frame: pd.DataFrame, world: World) -> pd.DataFrame:
    return frame[(frame["world"] == world[0]) & (frame["beta"] == world[1])]


def _recorded_true(
    run: RunResults, place: Place, worlds: Sequence[World], rows: pd.DataFrame, same: pd.DataFrame
) -> Figure:
    looks = [one for one in pages.technique_looks(run.plan).values() if not is_baseline(*one.own[:2])]
    numbers = {look.own: str(i) for i, look in enumerate(looks, start=1)}
    metrics, across = list(dict.fromkeys(rows["metric"])), min(len(worlds), ACROSS)
    seen = pd.concat([_of_world(rows, world) for world in worlds])
    panels: list[Panel | None] = []
    for at in range(0, len(worlds), across):
        now = worlds[at : at + across]
        for metric in metrics:
            for world in now:
                own = _of_world(rows[rows["metric"] == metric], world)
                title = title_of(world) if metric == metrics[0] else ""
                right = "gained on record" if metric == metrics[-1] else ""
                up = f"{metric if metric == ACCURACY else f'|{metric}|'},\ngained on truth"
                draw = partial(_contrast_panel, own, numbers)
                panels.append(Panel(draw, title, right, up if world == now[0] else ""))
            panels += [None] * (across - len(now))
    found = set(seen["contrast"])
    named = [f"{numbers[look.own]} {look.label}" for look in looks]
    return facet(
        f"Recorded against true: {_place_title(run, place)}",
        "A line leads from none to a technique: what it gains on recorded labels (across) and on true ones "
        f"(upwards), nearer to the ideal. {pages.means_text(run.plan)} Behind a world: its strength, the one "
        "in the middle of those that were run. Every panel has its own scale. Shaded: worse on the record, "
        "better on the truth.",
        panels,
        across,
        (SIDE, SIDE),
        [
            *((look | {"ls": ""}, words) for kind, (look, words) in CONTRASTS.items() if kind in found),
            DIAGONAL,
        ],
        [
            f"Techniques: {', '.join(named)}.",
            *(f"{metric}: {_counted(seen, rows, metric)}" for metric in metrics),
            *_the_same(same),
        ],
        room=(0.12, 0.0, 0.4, 0.3),
        handle=0.16,
        named=SMALL,
    )


def _counted(seen: pd.DataFrame, every: pd.DataFrame, metric: str) -> str:
    """Say how many techniques in how many worlds are which contrast: those that are drawn, and all.

    >>> frame = pd.DataFrame({"metric": "accuracy", "contrast": ["real", "artefact", "real", "not shown"]})
    >>> _counted(frame[1:], frame, "accuracy")
    'of 3 techniques in worlds 1 artefact, 1 real, 1 not shown; of 4 at all strengths 1, 2, 1.'
    """
    here, everywhere = (frame[frame["metric"] == metric]["contrast"] for frame in (seen, every))
    found, more = Counter(here), Counter(everywhere)
    kinds = [kind for kind in CONTRASTS if more[kind]]
    text = f"of {len(here)} techniques in worlds {', '.join(f'{found[kind]} {kind}' for kind in kinds)}"
    if len(everywhere) > len(here):
        text += f"; of {len(everywhere)} at all strengths {', '.join(str(more[kind]) for kind in kinds)}"
    return f"{text}."


def _the_same(same: pd.DataFrame) -> list[str]:
    """Say in which worlds nothing can be an artefact, and what is shown there of accuracy."""
    worlds = [world or NO_BIAS for world in dict.fromkeys(same["world"])]
    if not worlds:
        return []
    return [
        f"Not drawn: {', '.join(worlds)}: labels, groups and people on record are the true ones there. "
        f"accuracy: {_counted(same, same, ACCURACY)}"
    ]


def _contrast_panel(own: pd.DataFrame, numbers: Mapping[Any, str], ax: Axes) -> None:
    """Draw lines from ``none`` to the techniques of a world; constants without a say in the limits."""
    some = own[own["contrast"] != "constant"]
    ends = [f"{name}{end}" for name in ("recorded", "true") for end in ("", "_low", "_high")]
    limits = around([0.0, *-some[ends].to_numpy(dtype=float).ravel()], 0.1)
    ax.set(xlim=limits, ylim=limits)
    ax.locator_params(nbins=4)
    ax.tick_params(pad=1.5)
    ax.fill_between([limits[0], 0], 0, limits[1], **ARTEFACT)
    ax.plot(limits, limits, **DIAGONAL[0])
    for line in (ax.axhline, ax.axvline):
        line(0, color=GREY, lw=0.8, zorder=1.6)
    named, marks = [], []
    for row in own.itertuples(index=False):
        look, _ = CONTRASTS[row.contrast]
        number = numbers[tuple(getattr(row, name) for name in TECHNIQUE)]
        x, y = (float(np.clip(-value, *limits)) for value in (row.recorded, row.true))
        thin: Look = {"color": look["color"], "zorder": 3}
        ax.plot([0, x], [0, y], lw=0.6, alpha=0.7, **thin)
        ax.hlines(y, -row.recorded_high, -row.recorded_low, lw=1.1, **thin)
        ax.vlines(x, -row.true_high, -row.true_low, lw=1.1, **thin)
        ax.plot([x], [y], **{"ls": "", "zorder": 4, "gid": f"{row.contrast}-{number}"} | look)
        named.append((number, x, y))
        marks.append((np.array([(x, y)] * 2), 3.0))
    label_points(ax, named, marks)


TICK = "total variation"
"""What the strength of a bias is measured in."""
MOST_ACROSS = 6


def draw_strength(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: a panel per technique.

    A line per world: accuracy and the gaps on true labels over the total variation between what the world
    records and the truth. Worlds of which it is not known are left out.
    """
    if not run.plan.has_worlds:
        return {}
    remedies = Remedies(run)
    figures = {}
    for name, (place, worlds) in _by_place(run).items():
        lines = {world: own for world, own in _varied(run, place, worlds).items() if own}
        if lines:
            figures[name] = _strength(remedies, place, lines)
    return figures


def _varied(run: RunResults, place: Place, worlds: Sequence[World]) -> dict[str, dict[float, float]]:
    """Return by world its total variation by strength, in ascending order; that of no bias first."""
    known, found = facts_of_run(run), dict[str, dict[float, float]]()
    for world, betas in strengths(worlds).items():
        for beta in betas:
            facts = known.at(*place[:2], world, beta)
            value = np.nan if facts is None else facts.value("total-variation")
            if np.isfinite(value):
                found.setdefault(world, {})[beta] = value
    return found


def _strength(remedies: Remedies, place: Place, lines: Mapping[str, Mapping[float, float]]) -> Figure:
    run = remedies.run
    looks = [one for one in pages.technique_looks(run.plan).values() if one.own[0] != TRUTH]
    across = min(len(looks), MOST_ACROSS)
    worlds = [world for world in lines if world] or [""]
    panels: list[Panel | None] = []
    for at in range(0, len(looks), across):
        now = looks[at : at + across]
        for metric in (ACCURACY, *remedies.gaps):
            every = remedies.every(place, [(w, beta) for w, own in lines.items() for beta in own], metric)
            means = [row.mean for row in every if not row.constant]
            limits = around([*means, *[0.0] * (metric != ACCURACY)], 0.06)
            for look in now:
                draw = partial(_strength_panel, remedies, place, look, lines, worlds, metric, limits)
                title = look.label if metric == ACCURACY else ""
                below = TICK if metric == remedies.gaps[-1] else ""
                panels.append(Panel(draw, title, below, metric if look is now[0] else ""))
            panels += [None] * (across - len(now))
    return facet(
        f"The strength of a bias: {_place_title(run, place)}",
        f"On true labels, over the {TICK} between what a world records and the truth; a mark per strength, "
        f"from no bias on. {pages.means_text(run.plan)} Filled: shown to differ from none of the same world.",
        panels,
        across,
        (1.3, 1.1),
        [*((_world_look(i), world or NO_BIAS) for i, world in enumerate(worlds)), (IDEAL, "no gap")],
        room=(0.42, 0.0, 0.12, 0.36),
        handle=0.36,
        named=SMALL,
    )


def _world_look(i: int) -> Look:
    """Return how the line of the i-th world is drawn."""
    dash, marker = DASHES[i // len(COLOURS) % len(DASHES)], MARKERS[i % len(MARKERS)]
    return {"color": COLOURS[i % len(COLOURS)], "ls": dash, "lw": 1.0, "marker": marker, "ms": 4, "mew": 0.8}


def _strength_panel(
    remedies: Remedies,
    place: Place,
    technique: TechniqueLook,
    lines: Mapping[str, Mapping[float, float]],
    worlds: Sequence[str],
    metric: str,
    limits: tuple[float, float],
    ax: Axes,
) -> None:
    most = max(value for own in lines.values() for value in own.values())
    ax.set(xlim=(-0.05 * most, 1.05 * most or 1.0), ylim=limits)
    ax.tick_params(pad=1.5, labelleft=bool(ax.get_ylabel()))
    ax.locator_params(nbins=4)
    if metric != ACCURACY:
        ax.axhline(0, **IDEAL)
    for i, world in enumerate(worlds):
        points = {(world, beta): x for beta, x in lines[world].items()}
        if 0 not in lines[world]:
            points = {("", beta): x for beta, x in lines.get("", {}).items()} | points
        rows = [(x, remedies.row(place, at, technique.own, metric)) for at, x in points.items()]
        known = [(x, row) for x, row in rows if row is not None and np.isfinite(row.mean)]
        look = _world_look(i)
        able = [(x, row) for x, row in known if not row.constant]
        line = look | {"marker": "", "gid": f"world-{i}"}
        ax.plot([x for x, _ in able], [row.mean for _, row in able], zorder=2, **line)
        for x, row in known:
            ax.vlines(x, row.low, row.high, color=look["color"], lw=0.9, zorder=2.5)
            face = look["color"] if row.kind in SHOWN else "white"
            own = SHOWN["constant"][0] if row.constant else look | {"mfc": face}
            ax.plot([x], [np.clip(row.mean, *limits)], zorder=3, clip_on=False, **own | {"ls": ""})
