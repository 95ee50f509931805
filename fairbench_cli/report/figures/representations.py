"""The same technique under two representations, one dot per repeat (Friedler et al. 2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.figures.canvas import GREY, NORMAL, Grid, panel_page
from fairbench_cli.report.figures.marks import (
    Mark,
    fill_of,
    legend_of,
    marks_of,
    missing_of,
    pages_of,
)
from fairbench_cli.report.figures.parts import TESTED_ON, slugs
from fairbench_cli.report.repeats import CELL_COLUMNS, CellKey, key_of
from fairbench_cli.report.representations import pairs_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.stability import two_metrics


@dataclass
class _Page:
    """Two representations of a data set at a β: the pairs by attribute, and what is the same in both."""

    title: str
    names: tuple[str, str]
    pairs: dict[str, list[tuple[CellKey, CellKey, Mark]]] = field(default_factory=dict)
    same: dict[str, None] = field(default_factory=dict)


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set, β and pair of representations: a panel per metric and attribute."""
    pages: dict[tuple[str, ...], _Page] = {}
    marks = {key_of(cell): mark for cell, mark in marks_of(run.plan, run.plan.cells)}
    of = {key_of(cell): (slug, title) for slug, (title, cells) in pages_of(run).items() for cell in cells}
    for data in run.datasets:
        for same in (False, True):
            for one, other in pairs_of(data, same=same):
                first, second = data.cells[one], data.cells[other]
                names = first["representation"], second["representation"]
                slug, title = of[key_of(first)]
                page = pages.setdefault((slug, *names), _Page(title, names))
                mark = marks[key_of(first)]
                if same:
                    page.same[mark.label] = None
                else:
                    own = page.pairs.setdefault(data.attribute, [])
                    own.append((key_of(first), key_of(second), mark))
    pages = {name: page for name, page in pages.items() if page.pairs}
    several = len({page.names for page in pages.values()}) > 1
    names_of = slugs(name if several else name[:1] for name in pages)
    return {slug: _figure(run, page) for slug, page in zip(names_of, pages.values(), strict=True)}


def _figure(run: RunResults, page: _Page) -> Figure:
    metrics, n = two_metrics(run.plan.config)[::-1], len(page.pairs)
    columns = n if n > 1 else len(metrics)
    width = 3.2 if columns == 2 else 2.7
    notes = [f"The same model in both, and not drawn: {', '.join(page.same)}."] if page.same else []
    notes += missing_of(run, _drawn(run, page, metrics))
    figure, axes = panel_page(
        f"{page.names[1]} against {page.names[0]}: {page.title}",
        f"One dot per repeat, {run.plan.config.repeats} of each technique. {TESTED_ON[run.plan.config.test]} "
        "Dashed: the representation makes no difference.",
        legend_of((mark for pairs in page.pairs.values() for *_, mark in pairs), dots=True),
        notes,
        Grid(len(metrics) * n, columns, width, width, 0.62, 0.42, 0.32),
        handle=0.12,
    )
    panels = [(metric, attribute) for metric in metrics for attribute in page.pairs]
    for ax, (metric, attribute) in zip(axes, panels, strict=True):
        _dots(ax, run, page.pairs[attribute], metric)
        ax.set_title(f"{metric}, {attribute}", loc="left", fontsize=NORMAL, fontweight="bold", pad=4)
        ax.set_xlabel(page.names[0])
        ax.set_ylabel(page.names[1])
        ax.tick_params(length=2)
    return figure


def _drawn(
    run: RunResults, page: _Page, metrics: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any], str, int]]:
    """Yield for `missing_of` each pair's cell with the fewer values, and how many repeats both have."""
    for attribute, pairs in page.pairs.items():
        for *keys, mark in pairs:
            there = [
                np.isfinite([run.get(key, metric).values for metric in metrics]).all(axis=0) for key in keys
            ]
            fewer = keys[int(there[1].sum() < there[0].sum())]
            both = int((there[0] & there[1]).sum())
            yield attribute, dict(zip(CELL_COLUMNS, fewer, strict=True)), mark.label, both


def _dots(ax: Axes, run: RunResults, pairs: Sequence[tuple[CellKey, CellKey, Mark]], metric: str) -> None:
    clouds: list[Floats] = []
    for i, (one, other, mark) in enumerate(pairs):
        both = np.stack([run.get(key, metric).values for key in (one, other)])
        both = both[:, np.isfinite(both).all(axis=0)]
        look: dict[str, Any] = {"marker": mark.marker, "s": 13, "lw": 0.6, "alpha": 0.75, "zorder": 3}
        look |= {"facecolors": fill_of(mark.technique), "edgecolors": mark.technique.colour}
        ax.scatter(both[0], both[1], gid=f"dots-{i}", **look)
        clouds.append(both)
    every = np.concatenate([np.ravel(one) for one in clouds])
    low, high = (every.min(), every.max()) if len(every) else (0.0, 1.0)
    room = max(0.04 * (high - low), 0.005)
    ax.axline((0, 0), slope=1, color=GREY, lw=0.8, ls="--", zorder=1)
    ax.set(xlim=(low - room, high + room), ylim=(low - room, high + room))
    ax.locator_params(nbins=5)
