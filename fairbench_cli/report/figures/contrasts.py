"""Recorded against true: which trade-offs are artefacts of recorded labels, and which are real."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.report.contrasts import Contrast, own_contrasts
from fairbench_cli.report.figures import pages
from fairbench_cli.report.figures.canvas import GREY, INK, SMALL, Look, Panel, around, facet
from fairbench_cli.report.figures.fronts import label_points
from fairbench_cli.report.figures.pages import COLOURS
from fairbench_cli.report.figures.remedies import IN_THE_MIDDLE, OPEN, TARGET, by_place, place_title, title_of
from fairbench_cli.report.remedies import ACCURACY
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import NO_BIAS
from fairbench_cli.report.world_tables import PLACE, Place, World, in_the_middle

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
MOST_ACROSS = 5
"""Worlds next to each other."""
SIDES = {1: 2.6, 2: 2.1, 3: 1.7}
"""Inches that panels are wide and high, where few worlds stand next to each other."""
ENDS = [f"{labels}{end}" for labels in ("recorded", "true") for end in ("", "_low", "_high")]


def draw_recorded_true(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, attribute, representation and classifier: recorded against true.

    A panel per measure and world, at the strength in the middle, in which labels, groups or who is recorded
    differ from the truth. In each a line per technique leads from ``none`` to what it gains on recorded
    labels (across) and on true ones (upwards); up and to the right is nearer to the ideal.
    """
    frame, figures = own_contrasts(run), {}
    frame = frame[frame[["recorded", "true"]].notna().all(axis=1)]
    for name, (place, worlds) in by_place(run).items():
        rows = frame[(frame[PLACE] == list(place)).all(axis=1)]
        differ = rows["world"].isin(set(rows["world"][rows["recorded"] != rows["true"]]))
        shown = [world for world in in_the_middle(worlds) if len(_of(rows[differ], world))]
        if shown:
            figures[name] = _figure(run, place, shown, rows[differ], rows[~differ])
    return figures


def _of(frame: pd.DataFrame, world: World) -> pd.DataFrame:
    return frame[(frame["world"] == world[0]) & (frame["beta"] == world[1])]


def _figure(
    run: RunResults, place: Place, worlds: Sequence[World], rows: pd.DataFrame, same: pd.DataFrame
) -> Figure:
    """Draw what became of techniques in some worlds; `same` are those in which record and truth are one."""
    owns = set(rows[TECHNIQUE].itertuples(index=False, name=None))
    looks = [one for one in pages.technique_looks(run.plan).values() if one.own in owns]
    numbers = {look.own: str(i) for i, look in enumerate(looks, start=1)}
    metrics, across = list(dict.fromkeys(rows["metric"])), min(len(worlds), MOST_ACROSS)
    seen = pd.concat([_of(rows, world) for world in worlds])
    panels: list[Panel | None] = []
    for at in range(0, len(worlds), across):
        now = worlds[at : at + across]
        for metric in metrics:
            for world in now:
                draw = partial(_panel, _of(rows[rows["metric"] == metric], world), numbers)
                title = title_of(world) if metric == metrics[0] else ""
                right = "gained on record" if metric == metrics[-1] and at + across >= len(worlds) else ""
                up = f"{metric if metric == ACCURACY else f'|{metric}|'},\ngained on truth"
                panels.append(Panel(draw, title, right, up if world == now[0] else ""))
            panels += [None] * (across - len(now))
    kinds, side = set(seen["contrast"]), SIDES.get(across, 1.4)
    keys = [
        (look | {"ls": ""}, f"{kind}: {words}") for kind, (look, words) in CONTRASTS.items() if kind in kinds
    ]
    return facet(
        f"Recorded against true: {place_title(run, place)}",
        "A line leads from none to a technique: what it gains, nearer to the ideal, on recorded labels "
        f"(across) and on true ones (upwards). {pages.means_text(run.plan, '')} {IN_THE_MIDDLE} Every panel "
        "has its own scale. Shaded: a loss on the record that is none on the truth.",
        panels,
        across,
        (side, side),
        [*keys, DIAGONAL],
        [
            f"Techniques: {', '.join(f'{numbers[look.own]} {look.label}' for look in looks)}.",
            *(f"{metric}: {counted(seen, rows, metric)}" for metric in metrics),
            *_the_same(same),
        ],
        room=(0.36, 0.12, 0.4, 0.2),
        handle=0.16,
        named=SMALL,
    )


def counted(seen: pd.DataFrame, every: pd.DataFrame, metric: str) -> str:
    """Say how many techniques in how many worlds are which contrast: those that are drawn, and all.

    >>> frame = pd.DataFrame({"metric": "accuracy", "contrast": ["real", "artefact", "real"]})
    >>> counted(frame[1:], frame, "accuracy")
    '2 techniques in worlds: 1 artefact, 1 real; at all strengths 3: 1 artefact, 2 real.'
    """
    here, everywhere = (frame[frame["metric"] == metric]["contrast"] for frame in (seen, every))
    counts = [(len(one), Counter(one)) for one in (here, everywhere)]
    (n, found), (of_all, more) = (
        (n, ", ".join(f"{own[kind]} {kind}" for kind in CONTRASTS if own[kind])) for n, own in counts
    )
    return f"{n} techniques in worlds: {found}" + f"; at all strengths {of_all}: {more}" * (of_all > n) + "."


def _the_same(same: pd.DataFrame) -> list[str]:
    """Say in which worlds nothing can be an artefact, and what is shown there of accuracy."""
    worlds = [world or NO_BIAS for world in dict.fromkeys(same["world"])]
    if not worlds:
        return []
    return [
        f"Not drawn: {', '.join(worlds)}: labels, groups and people on record are the true ones there; "
        f"{ACCURACY}: {counted(same, same, ACCURACY)}"
    ]


def _panel(own: pd.DataFrame, numbers: Mapping[Any, str], ax: Axes) -> None:
    """Draw lines from ``none`` to the techniques of a world; constants have no say in the limits."""
    some = own[own["contrast"] != "constant"]
    limits = around([0.0, *-some[ENDS].to_numpy(dtype=float).ravel()], 0.1)
    ax.set(xlim=limits, ylim=limits)
    ax.locator_params(nbins=4)
    ax.tick_params(pad=1.5)
    ax.fill_between([limits[0], 0], 0, limits[1], **ARTEFACT)
    ax.plot(limits, limits, **DIAGONAL[0])
    for line in (ax.axhline, ax.axvline):
        line(0, color=GREY, lw=0.8, zorder=1.6)
    named, marks = [], []
    techniques = own[TECHNIQUE].itertuples(index=False, name=None)
    for technique, contrast, ends in zip(
        techniques, own["contrast"], -own[ENDS].to_numpy(dtype=float), strict=True
    ):
        look, number = CONTRASTS[contrast][0], numbers[technique]
        x, y = (float(value) for value in np.clip(ends[[0, 3]], *limits))
        thin: Look = {"color": look["color"], "zorder": 3}
        ax.plot([0, x], [0, y], lw=0.6, alpha=0.7, **thin)
        ax.hlines(y, ends[2], ends[1], lw=1.1, **thin)
        ax.vlines(x, ends[5], ends[4], lw=1.1, **thin)
        mark: Look = look | {"ls": "", "zorder": 4, "gid": f"{contrast}-{number}"}
        ax.plot([x], [y], **mark)
        named.append((number, x, y))
        marks.append((np.array([(x, y)] * 2), 3.0))
    label_points(ax, named, marks)
