"""Measures at every acceptance rate: Žliobaitė (2015), Figures 1, 2 and 4."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.registry import COUNT_METRICS, measure
from fairbench_cli.measures.sweep import RATES
from fairbench_cli.report.figures.canvas import GREY, NORMAL, SMALL, Grid, panel_page, wrapped
from fairbench_cli.report.figures.closed_forms import MOST, labels_of, random_counts
from fairbench_cli.report.figures.parts import Part, TechniqueLook, parts_of, shortfall, slugs
from fairbench_cli.report.results import RunResults, mean_and_interval
from fairbench_cli.report.tables import classifier_label

SHOWN = ("accuracy", "discrimination", "kappa", "normalised-discrimination")
"""Shown where the config lists some of them; otherwise all metrics of counts."""

BASELINES = frozenset({"oracle", "random"})
"""Interventions that ignore the classifier: the oracle has no scores, the random classifier its own line."""

RANDOM: dict[str, Any] = {"color": GREY, "ls": (0, (5, 3)), "lw": 1.0, "zorder": 2}
BOUND: dict[str, Any] = {"color": "#a6a6a6", "ls": ":", "lw": 1.3, "zorder": 2}
BASE: dict[str, Any] = {"color": "#c4c4c4", "lw": 0.8, "zorder": 1.5}
LABELS: dict[str, Any] = {"marker": "*", "ms": 8, "mfc": GREY, "mec": "white", "mew": 0.5}


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, protected attribute and β: rows are metrics, columns classifiers.

    Lines are means of sweep.csv, dots where the classifiers themselves decide. A data set on which only the
    oracle or the random classifier ran gets no figure, and neither does a run without a sweep.
    """
    if not run.plan.config.sweep:
        return {}
    sets: dict[tuple[str, str], list[Part]] = {}
    for part in parts_of(run.plan):
        own = tuple(t for t in part.techniques if t.own[0] not in BASELINES)
        if own:
            sets.setdefault((part.dataset, part.attribute), []).append(replace(part, techniques=own))
    pages = [
        (name, beta, parts)
        for name, parts in sets.items()
        for beta in sorted({beta for part in parts for beta in part.betas})
    ]
    several = len({beta for _, beta, _ in pages}) > 1
    names = slugs((*name, f"beta-{beta:g}") if several else name for name, beta, _ in pages)
    return {
        slug: _figure(run, parts, beta, several=several)
        for slug, (_, beta, parts) in zip(names, pages, strict=True)
    }


def _figure(run: RunResults, parts: Sequence[Part], beta: float, *, several: bool) -> Figure:
    of_counts = [name for name in run.plan.config.metrics if name in COUNT_METRICS]
    metrics = [name for name in SHOWN if name in of_counts] or of_counts
    columns, rows = len(parts), len(metrics)
    width = {1: 5.4, 2: 3.2, 3: 2.35}.get(columns, 1.9)
    titles = [wrapped(classifier_label(*part.classifier), width, NORMAL, "bold") for part in parts]
    above = 0.08 + 0.165 * max(map(len, titles))
    title = f"At every acceptance rate: {parts[0].dataset}, {parts[0].attribute}"
    figure, panels = panel_page(
        f"{title}, β = {beta:g}" if several else title,
        _about(run.plan),
        _legend(list(dict.fromkeys(t for part in parts for t in part.techniques)), metrics),
        _missing(run, parts, beta, metrics[0]),
        Grid(rows * columns, columns, width, 1.5, 0.2, 0.0, above),
        first=0.43,
        last=0.42,
    )
    for k, ax in enumerate(panels):
        i, j = divmod(k, columns)
        _panel(ax, parts[j], beta, run, metrics[i])
        if i == 0:
            ax.set_title("\n".join(titles[j]), loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        ax.tick_params(length=2, labelleft=j == 0, labelbottom=i == rows - 1)
        ax.set_xlabel("acceptance rate π" if i == rows - 1 else "")
        ax.set_ylabel(metrics[i].replace("normalised-", "normalised\n") if j == 0 else "")
    for i in range(rows):
        _share_limits(panels[i * columns : (i + 1) * columns])
    return figure


def _about(plan: RunPlan) -> str:
    """Say what the lines and dots are."""
    rows: dict[str | None, str] = {"holdout": "rows held out", "network": "rows of the network at β = 0"}
    n, on = plan.config.repeats, rows.get(plan.config.test, "the original rows")
    lines = f"Means of {n} repeats with 95 % bands" if n > 1 else "One repeat"
    return (
        f"{lines}, on {on}. The share π with the highest scores is accepted; dots are where the classifiers "
        "themselves decide."
    )


def _legend(techniques: Sequence[TechniqueLook], metrics: Sequence[str]) -> list[tuple[Any, str]]:
    keys: list[tuple[Any, str]] = [
        (Line2D([], [], color=t.colour, ls=t.dash, lw=1.4, ms=5.5, **_dot(t)), t.label) for t in techniques
    ]
    keys.append((Line2D([], [], **RANDOM), "random classifier"))
    if MOST.keys() & set(metrics):
        keys.append((Line2D([], [], **BOUND), "the most that π allows"))
    return [*keys, (Line2D([], [], **BASE, **LABELS), "the labels themselves, at π₀")]


def _dot(technique: TechniqueLook) -> dict[str, Any]:
    return {"marker": technique.marker, "mec": "white", "mew": 0.6}


def _panel(ax: Axes, part: Part, beta: float, run: RunResults, metric: str) -> None:
    """Draw a metric of a classifier."""
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "0.2", "0.4", "0.6", "0.8", "1"])
    found = [run.cell(part.key(t, beta)) for t in part.techniques]
    for i, (t, own) in enumerate(zip(part.techniques, found, strict=True)):
        under = 1 - (i + 1) / len(found)  # earlier ones are larger, to be seen below later ones
        if len(own.swept.n):
            line = mean_and_interval(measure(metric, own.swept).T)
            ax.fill_between(RATES, line["low"], line["high"], color=t.colour, alpha=0.22, lw=0, zorder=2.5)
            look: dict[str, Any] = {"color": t.colour, "ls": t.dash, "lw": 1.1 + 1.4 * under}
            ax.plot(RATES, line["mean"], gid=f"sweep-{i}", zorder=3, **look)
        if len(own.counts.n):
            x, y = (
                mean_and_interval(measure(name, own.counts))["mean"] for name in ("acceptance-rate", metric)
            )
            look = {"ls": "", "ms": 5 + 3 * under, "color": t.colour, **_dot(t)}
            ax.plot([x], [y], gid=f"dot-{i}", zorder=4, clip_on=False, **look)
    if not any(len(own.swept.n) for own in found):
        look = {"ha": "center", "fontsize": SMALL, "style": "italic", "color": GREY, "gid": "no-scores"}
        ax.text(0.5, 0.5, "no scores", transform=ax.transAxes, **look)
    # Labels and groups are the same for all techniques: those of the one with the most repeats.
    most = max((own.counts for own in found), key=lambda counts: len(counts.n))
    if len(most.n):
        _references(ax, most, metric)


def _references(ax: Axes, counts: Counts, metric: str) -> None:
    """Draw the random classifier, what no classifier can exceed, and where π = π₀."""
    guess = mean_and_interval(measure(metric, random_counts(counts, RATES)))["mean"]
    ax.plot(RATES, guess, gid="random", **RANDOM)
    labels = labels_of(counts)
    ax.axvline(labels.base, gid="base", **BASE)
    own = mean_and_interval(measure(metric, counts.of_labels()))["mean"]
    ax.plot([labels.base], [own], gid="labels", ls="", zorder=3.5, **LABELS)
    if metric in MOST:
        rates: Floats = np.unique([*RATES, labels.base, labels.alpha])  # the corners of the bounds
        # Without a say in the limits: near π = ½ the most discrimination is far above all lines.
        ax.plot(rates, MOST[metric](rates, labels), gid="most", **BOUND, scaley=False)


def _share_limits(panels: Sequence[Axes]) -> None:
    """Give a row of panels the same limits, around everything but the bounds; d = 0 stays in view."""
    heights = [
        np.asarray(line.get_ydata(), dtype=float)
        for ax in panels
        for line in ax.lines
        if str(line.get_gid()).startswith(("sweep-", "dot-", "random", "labels"))
    ]
    finite = np.concatenate([*heights, np.zeros(0)])
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = 0.06 * max(high - low, 0.01)
    for ax in panels:
        ax.set_ylim(low - room, high + room)
        ax.locator_params(axis="y", nbins=5)


def _missing(run: RunResults, parts: Sequence[Part], beta: float, metric: str) -> list[str]:
    """Say which techniques have no line, or not of every repeat, with which classifier, and why."""
    why: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        for t in part.techniques:
            own = run.cell(part.key(t, beta))
            if len(own.counts.n) and not len(own.swept.n):
                reason = "the model has no scores, so there is its dot alone"
            else:
                known = ~np.isnan(measure(metric, own.swept))
                reason = shortfall(own.statuses, int(known.sum(0).max(initial=0)), run.plan.config.repeats)
            if reason:
                why.setdefault((classifier_label(*part.classifier), reason), []).append(t.label)
    where: dict[tuple[str, str], list[str]] = {}
    for (classifier, reason), who in why.items():
        where.setdefault((", ".join(who), reason), []).append(classifier)
    return [f"{who} with {', '.join(names)}: {reason}." for (who, reason), names in where.items()]
