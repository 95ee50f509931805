"""What moving thresholds reaches at each gap between the groups, and where the techniques stand."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.figures.canvas import GREY, NORMAL, Grid, panel_page
from fairbench_cli.report.figures.parts import TESTED_ON, Part, TechniqueLook, notes_of, parts_by_slug
from fairbench_cli.report.moved import TOLERANCES, MovedThresholds
from fairbench_cli.report.repeats import CELL_COLUMNS, CellKey, is_baseline
from fairbench_cli.report.results import RunResults, mean_and_interval

ROWS = {
    "demographic-parity": "|discrimination|",
    "tpr-parity": "|difference in TPR|",
    "equalised-odds": "equalised odds: the larger of\nthe differences in TPR and FPR",
}

At = tuple[MovedThresholds, int]
"""Where the numbers of a cell stand: under one constraint, and in which place."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a row per constraint, a column per β.

    Lines are the means of frontier.csv, markers the techniques' own mean gaps and accuracies. Parts without
    any model that has scores get no figure.
    """
    places = {
        (*key, moved.held): (moved, place)
        for moved in run.moved
        if moved.compared == moved.data.attribute
        for place, key in enumerate(moved.data.frame[CELL_COLUMNS].itertuples(index=False, name=None))
    }
    return {
        slug: _figure(part, run, places)
        for slug, part in parts_by_slug(run).items()
        if any(_line(places, part.key(t, beta)) is not None for t in part.techniques for beta in part.betas)
    }


def _line(places: dict[CellKey, At], key: CellKey, held: str = "demographic-parity") -> dict[str, Any] | None:
    """Return mean and interval of a model's frontier over its tolerances; None for a model without scores."""
    moved, place = places.get((*key, held), (None, 0))
    if moved is None or np.isnan(moved.accuracy[place]).all():
        return None
    return mean_and_interval(moved.accuracy[place].T)


def _figure(part: Part, run: RunResults, places: dict[CellKey, At]) -> Figure:
    columns = len(part.betas)
    width = {1: 5.0, 2: 3.2, 3: 2.35}.get(columns, 1.9)
    figure, panels = panel_page(
        f"Did the techniques beat moving the thresholds? {part.title}",
        _about(run),
        _legend(part),
        _notes(part, run, places),
        Grid(len(ROWS) * columns, columns, width, 1.75, 0.47, 0.5, 0.1),
        first=0.2,
        last=0.12,
    )
    for k, ax in enumerate(panels):
        i, j = divmod(k, columns)
        held = list(ROWS)[i]
        _panel(ax, part, part.betas[j], held, places)
        if i == 0:
            ax.set_title(f"β = {part.betas[j]:g}", loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        ax.tick_params(length=2)
        ax.set_xlabel(ROWS[held] if j == columns // 2 else "")
        ax.set_ylabel("accuracy" if j == 0 else "")
        _set_limits(ax)
    return figure


def _about(run: RunResults) -> str:
    """Say what lines and markers are, and who knows the test labels."""
    n = run.plan.config.repeats
    means = f"Means of {n} repeats with 95 % intervals" if n > 1 else "One repeat"
    return (
        f"{means}. {TESTED_ON[run.plan.config.test]} Lines: the best accuracy of thresholds for each group, "
        "chosen on the test rows, with no larger gap. A technique above the thick line does what moving "
        "thresholds cannot; one below it may lose to hindsight alone. Every panel has its own scale."
    )


def _is_baseline(technique: TechniqueLook) -> bool:
    return is_baseline(*technique.own[:2])


def _legend(part: Part) -> list[tuple[Any, str]]:
    lines: list[tuple[Any, str]] = [
        (Line2D([], [], **_thick(t)), f"thresholds of {t.label} moved")
        for t in part.techniques
        if _is_baseline(t)
    ]
    if not all(_is_baseline(t) for t in part.techniques):
        lines.append((Line2D([], [], color=GREY, lw=0.7), "of a technique's own model"))
    return lines + [(Line2D([], [], ls="", **_marker(t)), t.label) for t in part.techniques]


def _thick(technique: TechniqueLook) -> dict[str, Any]:
    return {"color": technique.colour, "ls": technique.dash, "lw": 2.0}


def _marker(technique: TechniqueLook) -> dict[str, Any]:
    return {"color": technique.colour, "marker": technique.marker, "ms": 6.0, "mec": "white", "mew": 0.5}


def _panel(ax: Axes, part: Part, beta: float, held: str, places: dict[CellKey, At]) -> None:
    for i, t in enumerate(part.techniques):
        key = part.key(t, beta)
        line = _line(places, key, held)
        if line is not None:
            look = _thick(t) if _is_baseline(t) else {"color": t.colour, "ls": t.dash, "lw": 0.7}
            zorder = 3 if _is_baseline(t) else 2
            ax.plot(TOLERANCES, line["mean"], gid=f"frontier-{i}", zorder=zorder, **look)
            if _is_baseline(t):
                band: dict[str, Any] = {"color": t.colour, "alpha": 0.15, "lw": 0}
                ax.fill_between(TOLERANCES, line["low"], line["high"], zorder=1.5, **band)
        if (*key, held) not in places:
            continue
        moved, place = places[*key, held]
        both = np.stack([moved.own_gap[place], moved.own_accuracy[place]])
        both = both[:, ~np.isnan(both).any(axis=0)]
        if both.shape[1]:
            found = mean_and_interval(both)
            (x, y), low, high = found["mean"], found["low"], found["high"]
            for ends in (([low[0], high[0]], [y, y]), ([x, x], [low[1], high[1]])):
                ax.plot(*ends, color=t.colour, lw=1.0, zorder=3.5)
            ax.plot([x], [y], ls="", gid=f"own-{i}", zorder=4, clip_on=False, **_marker(t))


def _set_limits(ax: Axes) -> None:
    """Show all markers, and the lines as far as the markers go."""
    points, lines = _of(ax, "own-"), _of(ax, "frontier-")
    if not lines.size and not points.size:
        return
    right = min(1.0, 1.12 * max(float(points[0].max(initial=0.0)), 0.05))
    seen = np.concatenate([points[1], lines[1][lines[0] <= right]])
    low, high = float(seen.min()), float(seen.max())
    room = 0.08 * max(high - low, 0.01)
    ax.set_xlim(-0.03 * right, right)
    ax.set_ylim(low - room, high + room)
    ax.locator_params(nbins=5)


def _of(ax: Axes, gid: str) -> Floats:
    """Return the points of all lines of a kind, shape (2, points)."""
    lines = [line for line in ax.lines if str(line.get_gid()).startswith(gid)]
    return np.concatenate([np.empty((2, 0)), *(np.asarray(line.get_data()) for line in lines)], axis=1)


def _notes(part: Part, run: RunResults, places: dict[CellKey, At]) -> list[str]:
    """Say which techniques lack values of some repeats, and which have no line."""
    drawn, silent = {}, []
    for t in part.techniques:
        keys = [key for beta in part.betas if (*(key := part.key(t, beta)), "demographic-parity") in places]
        for key in keys:
            moved, place = places[*key, "demographic-parity"]
            drawn[key] = int((~np.isnan(moved.own_accuracy[place])).sum())
        if any(drawn[key] and _line(places, key) is None for key in keys):
            silent.append(t.label)
    scoreless = f"{', '.join(silent)}: some models have no scores, so there is no line of theirs."
    return notes_of(part, run, drawn) + ([scoreless] if silent else [])
