"""What removing discrimination costs an oracle, against closed forms: Žliobaitė (2015), Figure 3."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.figures import closed_forms as forms
from fairbench_cli.report.figures.canvas import GREY, NORMAL, Grid, panel_page
from fairbench_cli.report.figures.parts import COLOURS, slugs
from fairbench_cli.report.repeats import key_of
from fairbench_cli.report.results import RunResults, mean_and_interval

Points = Mapping[tuple[str, float], Counts]  # of the test rows, by strategy and share removed

STRATEGIES = {
    "increase-deprived": (COLOURS[3], "^"),
    "both": (COLOURS[0], "o"),
    "decrease-favoured": (COLOURS[2], "v"),
}
"""Colour and marker per strategy, the cheapest first."""

PANELS = (("discrimination", "accuracy"), ("normalised-discrimination", "kappa"))
BOUND: dict[str, Any] = {"color": "#bdbdbd", "lw": 3.6, "solid_capstyle": "butt", "zorder": 2}
STEPS = np.linspace(0, 1, 101)


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and protected attribute on which the oracle ran.

    It has one classifier and β (test rows and the oracle depend on neither), the first that have counts.
    """
    sets: dict[tuple[str, str], dict[tuple[str, float], Counts]] = {}
    for cell in run.plan.cells:
        found = run.cell(key_of(cell))
        if cell["intervention"] != "oracle" or not len(found.counts.n):
            continue
        own = {"strategy": "both", "remove": 1.0} | json.loads(cell["parameters"])
        points = sets.setdefault((cell["dataset"], cell["attribute"]), {})
        points.setdefault((own["strategy"], float(own["remove"])), found.counts)
    figures = [_figure(run.plan, name, points) for name, points in sets.items()]
    return dict(zip(slugs(sets), figures, strict=True))


def _figure(plan: RunPlan, name: tuple[str, str], points: Points) -> Figure:
    labels = forms.labels_of(next(iter(points.values())))
    repeats = {len(counts.n) for counts in points.values()}
    shown = f"{min(repeats)}" if len(repeats) == 1 else f"{min(repeats)} to {max(repeats)}"
    figure, panels = panel_page(
        f"The oracle that removes discrimination: {', '.join(name)}",
        f"Markers: means of {shown} repeats with 95 % intervals, from the labels themselves (top right) to "
        f"none of their discrimination. Thin lines: closed forms, with α = {labels.alpha:.3f} favoured and "
        f"π₀ = {labels.base:.3f} favourable labels.",
        _legend(points, labels),
        [] if set(repeats) == {plan.config.repeats} else [f"{plan.config.repeats} repeats were asked for."],
        Grid(2, 2, 3.15, 2.6, 0.62, 0.42, 0.26),
    )
    for ax, (x, y) in zip(panels, PANELS, strict=True):
        _lines(ax, points, labels, (x, y))
        for strategy in STRATEGIES:
            _points(ax, points, strategy, (x, y))
        ax.set_xlabel({"discrimination": "discrimination d"}.get(x, "normalised discrimination δ"))
        ax.set_ylabel({"accuracy": "accuracy A", "kappa": "kappa κ"}[y])
        ax.tick_params(length=2)
        ax.locator_params(nbins=6)
    panels[0].set_title("as they are", loc="left", fontsize=NORMAL, fontweight="bold", pad=5)
    panels[1].set_title("normalised", loc="left", fontsize=NORMAL, fontweight="bold", pad=5)
    return figure


def _legend(points: Points, labels: forms.LabelShares) -> list[tuple[Any, str]]:
    formula = {"increase-deprived": "1 − α", "both": "2α(1 − α)", "decrease-favoured": "α"}
    keys: list[tuple[Any, str]] = [
        (
            Line2D([], [], color=colour, marker=marker, ms=5, lw=0.9, mec="white", mew=0.4),
            f"{strategy}: A falls by {formula[strategy]} = {forms.cost(strategy, labels.alpha):.3f} per d",
        )
        for strategy, (colour, marker) in STRATEGIES.items()
        if any(own == strategy for own, _ in points)
    ]
    bound = (
        f"left: the paper's bound min(α, 1 − α) = {min(labels.alpha, 1 - labels.alpha):.3f} per d; "
        f"right: its line at a fixed π, {forms.fixed_rate_cost(labels):.3f} per δ"
    )
    return [*keys, (Line2D([], [], **BOUND), bound)]


def _lines(ax: Axes, points: Points, labels: forms.LabelShares, axes: tuple[str, str]) -> None:
    """Draw the closed forms from the labels to d = 0."""
    if not labels.d > 0:  # the oracle leaves such labels as they are
        return
    for strategy in STRATEGIES:
        d, height = (forms.oracle_path(strategy, STEPS, labels)[axis] for axis in axes)
        if strategy == "both":
            plain = 1 - min(labels.alpha, 1 - labels.alpha) * (labels.d - d)
            bound = plain if axes == PANELS[0] else forms.fixed_rate_kappa(d, labels)
            ax.plot(d, bound, gid="bound", **BOUND)
        if any(own == strategy for own, _ in points):
            ax.plot(d, height, color=STRATEGIES[strategy][0], lw=0.9, zorder=3, gid=f"form-{strategy}")
    ax.axvline(0, color=GREY, lw=0.8, ls="--", zorder=1)


def _points(ax: Axes, points: Points, strategy: str, axes: tuple[str, str]) -> None:
    """Draw what the run found of a strategy, in order of what is removed."""
    colour, marker = STRATEGIES[strategy]
    own = [counts for (name, _), counts in sorted(points.items(), key=lambda at: at[0]) if name == strategy]
    if not own:
        return
    numbers = [[mean_and_interval(measure(axis, counts)) for counts in own] for axis in axes]
    x, y = ({end: [one[end] for one in found] for end in ("mean", "low", "high")} for found in numbers)
    ax.hlines(y["mean"], x["low"], x["high"], color=colour, lw=1.0, zorder=4)
    ax.vlines(x["mean"], y["low"], y["high"], color=colour, lw=1.0, zorder=4)
    look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "mec": "white", "mew": 0.4}
    ax.plot(x["mean"], y["mean"], ls="", zorder=5, gid=f"oracle-{strategy}", **look)
