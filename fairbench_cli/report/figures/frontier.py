"""What moving thresholds reaches at each gap between the groups, and where the techniques stand."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.figures.canvas import GREY, Panel, around, band, dots, facet
from fairbench_cli.report.figures.pages import TESTED_ON, Page, TechniqueLook, notes_of, pages_by_name
from fairbench_cli.report.moved import TOLERANCES, MovedThresholds
from fairbench_cli.report.repeats import CELL_COLUMNS, CellKey, is_baseline
from fairbench_cli.report.results import RunResults, mean_and_interval

ROWS = {
    "demographic-parity": "|discrimination|",
    "tpr-parity": "|difference in TPR|",
    "equalised-odds": "equalised odds: the larger of\nthe differences in TPR and FPR",
}

Places = Mapping[CellKey, tuple[MovedThresholds, int]]
"""By the key of a cell and a constraint: the numbers under it, and the place of the cell among them."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and classifier: a row per constraint, a column per β.

    Lines are the means of frontier.csv, markers the techniques' own mean gaps and accuracies. Pages without
    any model that has scores are left out.
    """
    places = {
        (*key, moved.held): (moved, place)
        for moved in run.moved
        if moved.compared == moved.data.attribute
        for place, key in enumerate(moved.data.frame[CELL_COLUMNS].itertuples(index=False, name=None))
    }
    return {
        name: _figure(page, run, places)
        for name, page in pages_by_name(run).items()
        if any(_line(places, page.key(t, beta)) is not None for t in page.techniques for beta in page.betas)
    }


def _line(places: Places, key: CellKey, held: str = "demographic-parity") -> dict[str, Any] | None:
    """Return mean and interval of a model's frontier over its tolerances; None for a model without scores."""
    moved, place = places.get((*key, held), (None, 0))
    if moved is None or np.isnan(moved.accuracy[place]).all():
        return None
    return mean_and_interval(moved.accuracy[place].T)


def _figure(page: Page, run: RunResults, places: Places) -> Figure:
    columns, n = len(page.betas), run.plan.config.repeats
    means = f"Means of {n} repeats with 95 % intervals" if n > 1 else "One repeat"
    plain = [t for t in page.techniques if _is_baseline(t)]
    legend: list[tuple[Any, str]] = [(t.line(2.0), f"thresholds of {t.label} moved") for t in plain]
    if len(plain) < len(page.techniques):
        legend.append(({"color": GREY, "lw": 0.7}, "of a technique's own model"))
    return facet(
        f"Did the techniques beat moving the thresholds? {page.title}",
        f"{means}. {TESTED_ON[run.plan.config.test]} Lines: the best accuracy of thresholds for each group, "
        "chosen on the test rows, with no larger gap. A technique above the thick line does what moving "
        "thresholds cannot; one below it may lose to hindsight alone. Every panel has its own scale.",
        [
            Panel(
                partial(_panel, page=page, beta=beta, held=held, places=places),
                f"β = {beta:g}" if held == "demographic-parity" else "",
                name if j == columns // 2 else "",
                "accuracy" if j == 0 else "",
            )
            for held, name in ROWS.items()
            for j, beta in enumerate(page.betas)
        ],
        columns,
        ({1: 5.0, 2: 3.2, 3: 2.35}.get(columns, 1.9), 1.75),
        [*legend, *((t.dot(6.0) | {"ls": ""}, t.label) for t in page.techniques)],
        _notes(page, run, places),
        room=(0.2, 0.12, 0.47, 0.47),
    )


def _is_baseline(technique: TechniqueLook) -> bool:
    return is_baseline(*technique.own[:2])


def _panel(ax: Axes, *, page: Page, beta: float, held: str, places: Places) -> None:
    for i, t in enumerate(page.techniques):
        key = page.key(t, beta)
        line = _line(places, key, held)
        if line is not None and _is_baseline(t):
            band(ax, TOLERANCES, line, f"frontier-{i}", t.line(2.0), alpha=0.15)
        elif line is not None:
            ax.plot(TOLERANCES, line["mean"], gid=f"frontier-{i}", zorder=2, **t.line(0.7))
        if (*key, held) not in places:
            continue
        moved, place = places[*key, held]
        both = np.stack([moved.own_gap[place], moved.own_accuracy[place]])
        both = both[:, ~np.isnan(both).any(axis=0)]
        if both.shape[1]:
            found = mean_and_interval(both)
            x, y = ({end: values[i] for end, values in found.items()} for i in (0, 1))
            dots(ax, x, y, f"own-{i}", t.dot(6.0) | {"clip_on": False})
    _set_limits(ax)


def _set_limits(ax: Axes) -> None:
    """Show all markers, and the lines as far as the markers go."""
    points, lines = _of(ax, "own-"), _of(ax, "frontier-")
    if not lines.size and not points.size:
        return
    right = min(1.0, 1.12 * max(float(points[0].max(initial=0.0)), 0.05))
    seen = [*points[1], *lines[1][lines[0] <= right]]
    ax.set(xlim=(-0.03 * right, right), ylim=around(seen, 0.08))
    ax.locator_params(nbins=5)


def _of(ax: Axes, gid: str) -> Floats:
    """Return the points of all lines of a kind, shape (2, points)."""
    lines = [line for line in ax.lines if str(line.get_gid()).startswith(gid)]
    return np.concatenate([np.empty((2, 0)), *(np.asarray(line.get_data()) for line in lines)], axis=1)


def _notes(page: Page, run: RunResults, places: Places) -> list[str]:
    """Say which techniques lack values of some repeats, and which have no line."""
    drawn, silent = {}, []
    for t in page.techniques:
        keys = [key for beta in page.betas if (*(key := page.key(t, beta)), "demographic-parity") in places]
        for key in keys:
            moved, place = places[*key, "demographic-parity"]
            drawn[key] = int((~np.isnan(moved.own_accuracy[place])).sum())
        if any(drawn[key] and _line(places, key) is None for key in keys):
            silent.append(t.label)
    scoreless = f"{', '.join(silent)}: some models have no scores, so there is no line of theirs."
    return notes_of(page, run, drawn) + ([scoreless] if silent else [])
