"""The strength of a bias in one currency: accuracy and gaps over total variation, a line a world."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.report.figures import pages
from fairbench_cli.report.figures.canvas import IDEAL, SMALL, Look, Panel, around, facet
from fairbench_cli.report.figures.pages import COLOURS, DASHES, MARKERS, TechniqueLook
from fairbench_cli.report.figures.remedies import SHOWN, Remedies, by_place, place_title
from fairbench_cli.report.remedies import ACCURACY
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS
from fairbench_cli.report.world_tables import Place, World, known_of

CURRENCY = "total variation"
MOST_ACROSS = 6
"""Techniques next to each other."""

Lines = Mapping[str, Mapping[World, float]]
"""By world its total variation at each strength, no bias among them."""


def draw_strength(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: a column per technique.

    A line per world: accuracy and the gaps on true labels over the total variation between what the world
    records and the truth. Worlds of which this is not known are left out.
    """
    if not run.plan.has_worlds:
        return {}
    lines = {name: (place, lines_of(run, place, worlds)) for name, (place, worlds) in by_place(run).items()}
    return {name: _strength(Remedies(run), place, own) for name, (place, own) in lines.items() if own}


def lines_of(run: RunResults, place: Place, worlds: Sequence[World]) -> Lines:
    """Return the total variation of each world by strength, in ascending order."""
    known = {world: known_of(run, place, world) for world in worlds}
    values = {world: facts.value("total-variation") for world, facts in known.items() if facts is not None}
    values = {world: value for world, value in values.items() if np.isfinite(value)}
    without = {world: value for world, value in values.items() if not world[0]}
    lines = {name: dict(without) for name, _ in values if name} or ({"": without} if without else {})
    for world, value in values.items():
        lines[world[0] or next(iter(lines))][world] = value
    return {name: dict(sorted(own.items(), key=lambda one: one[1])) for name, own in lines.items()}


def _strength(remedies: Remedies, place: Place, lines: Lines) -> Figure:
    looks, run = remedies.every_look, remedies.run
    across = min(len(looks), MOST_ACROSS)
    worlds = {world for own in lines.values() for world in own}
    panels: list[Panel | None] = []
    for at in range(0, len(looks), across):
        now = looks[at : at + across]
        for metric in (ACCURACY, *remedies.gaps):
            rows = remedies.every(place, worlds, metric)
            means = [row.mean for row in rows if not row.constant]
            limits = around([*means, *[0.0] * (metric != ACCURACY)], 0.06)
            for look in now:
                draw = partial(_panel, remedies, place, look, lines, metric, limits)
                title = look.label if metric == ACCURACY else ""
                below = CURRENCY if metric == remedies.gaps[-1] else ""
                panels.append(Panel(draw, title, below, metric if look is now[0] else ""))
            panels += [None] * (across - len(now))
    keys: list[tuple[Any, str]] = [(world_look(i), name or NO_BIAS) for i, name in enumerate(lines)]
    if any(row.constant for row in remedies.every(place, worlds, ACCURACY)):
        mark, words = SHOWN["constant"]
        keys.append((mark | {"ls": ""}, words))
    return facet(
        f"The strength of a bias: {place_title(run, place)}",
        f"Over the {CURRENCY} between what a world records and the truth; a mark per strength. "
        f"{pages.means_text(run.plan, 'true')} Filled: shown to differ from none of the same world.",
        panels,
        across,
        (1.3, 1.1),
        [*keys, (IDEAL, "no gap")],
        _notes(lines),
        room=(0.42, 0.0, 0.12, 0.3),
        handle=0.36,
        named=SMALL,
    )


def _notes(lines: Lines) -> list[str]:
    """Name the worlds whose record is a part of the truth, such as one without a column."""
    without = [name for name, own in lines.items() if name and not any(own.values())]
    if not without:
        return []
    return [f"{', '.join(without)}: what is recorded is true, so the {CURRENCY} is 0."]


def world_look(i: int) -> Look:
    """Return how the line of the i-th world is drawn."""
    dash, marker = DASHES[i // len(COLOURS) % len(DASHES)], MARKERS[i % len(MARKERS)]
    return {"color": COLOURS[i % len(COLOURS)], "ls": dash, "lw": 1.0, "marker": marker, "ms": 4, "mew": 0.8}


def _panel(
    remedies: Remedies,
    place: Place,
    technique: TechniqueLook,
    lines: Lines,
    metric: str,
    limits: tuple[float, float],
    ax: Axes,
) -> None:
    most = max(x for own in lines.values() for x in own.values()) or 1.0
    ax.set(xlim=(-0.05 * most, 1.05 * most), ylim=limits)
    ax.tick_params(pad=1.5, labelleft=bool(ax.get_ylabel()))
    ax.locator_params(nbins=4)
    if metric != ACCURACY:
        ax.axhline(0, **IDEAL)
    for i, points in enumerate(lines.values()):
        found = [(x, remedies.row(place, world, technique.own, metric)) for world, x in points.items()]
        rows = [(x, row) for x, row in found if row is not None]
        able, look = [(x, row.mean) for x, row in rows if not row.constant], world_look(i)
        line: Look = look | {"marker": "", "gid": f"world-{i}", "zorder": 2}
        ax.plot([x for x, _ in able], [y for _, y in able], **line)
        for x, row in rows:
            ax.vlines(x, row.low, row.high, color=look["color"], lw=0.9, zorder=2.5)
            face = look["color"] if row.kind in SHOWN else "white"
            mark: Look = SHOWN["constant"][0] if row.constant else look | {"mfc": face}
            mark = mark | {"ls": "", "zorder": 3, "clip_on": False}
            ax.plot([x], [np.clip(row.mean, *limits)], **mark)
