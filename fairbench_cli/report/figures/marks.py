"""Techniques with classifiers in one picture: a technique's colour and dash, a classifier's marker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.figures.canvas import GREY
from fairbench_cli.report.figures.parts import (
    DASHES,
    MARKERS,
    TechniqueLook,
    shortfall,
    slugs,
    technique_looks,
)
from fairbench_cli.report.repeats import TECHNIQUE, key_of
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import OWN_MODEL, distinct_models


@dataclass(frozen=True)
class Mark:
    """How a cell is drawn; `classifier` is empty where it makes no difference."""

    technique: TechniqueLook
    classifier: str
    marker: str

    @property
    def label(self) -> str:
        """Return technique and classifier, for people."""
        more = f" with {self.classifier}" if self.classifier not in ("", OWN_MODEL) else ""
        return self.technique.label + more


def pages_of(run: RunResults) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return title and cells of every data set and β of a run, by file name."""
    pages: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for data in run.datasets:
        for cell in data.cells:
            pages.setdefault((data.dataset, cell["beta"]), []).append(cell)
    several = len({beta for _, beta in pages}) > 1
    names = slugs((name, f"beta-{beta:g}") if several else (name,) for name, beta in pages)
    titles = [f"{name}, β = {beta:g}" if several else name for name, beta in pages]
    return dict(zip(names, zip(titles, pages.values(), strict=True), strict=True))


def marks_of(plan: RunPlan, cells: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Mark]]:
    """Return cells and their marks; of cells that share a model and differ in the classifier, the first."""
    looks = technique_looks(plan)
    models = distinct_models(plan, plan.cells)
    names = list(dict.fromkeys(name for _, name in models if name != OWN_MODEL))
    markers = {name: MARKERS[i % (len(MARKERS) - 1)] for i, name in enumerate(names)}
    markers[OWN_MODEL] = MARKERS[-1]
    several = len(markers) > 2
    return [
        (cell, Mark(looks[tuple(cell[one] for one in TECHNIQUE)], name if several else "", markers[name]))
        for cell, name in distinct_models(plan, cells)
    ]


def legend_of(marks: Iterable[Mark], *, dots: bool = False) -> list[tuple[Any, str]]:
    """Return the legend's handles and labels: techniques, then classifiers if there are several.

    Parameters
    ----------
    dots : bool
        Whether dots are drawn, see `fill_of`, and not lines.
    """
    marks = list(marks)
    legend: list[tuple[Any, str]] = []
    for t in dict.fromkeys(mark.technique for mark in marks):
        own: dict[str, Any] = {"ls": t.dash, "lw": 2}
        if dots:
            own = {"ls": "", "marker": "s", "ms": 7, "mfc": fill_of(t), "mew": 1.2}
        legend.append((Line2D([], [], color=t.colour, **own), t.label))
    classifiers = {mark.marker: mark.classifier for mark in marks}
    if len(classifiers) > 1:
        look: dict[str, Any] = {"ls": "", "ms": 5, "color": GREY}
        legend += [(Line2D([], [], marker=marker, **look), label) for marker, label in classifiers.items()]
    return legend


def fill_of(technique: TechniqueLook) -> str:
    """Return how a technique's dots are filled: hollow where its lines are dashed."""
    return technique.colour if technique.dash == DASHES[0] else "none"


def missing_of(run: RunResults, drawn: Iterable[tuple[str, Mapping[str, Any], str, int]]) -> list[str]:
    """Say which cells lack values of some repeats, and in which panels if not in all of theirs.

    Parameters
    ----------
    drawn : iterable of (panel, cell, label, n)
        Where each cell is drawn, what it is called there and how many of its repeats have values.
    """
    panels: dict[str, list[str]] = {}
    places: dict[tuple[str, str], list[str]] = {}
    for panel, cell, label, n in drawn:
        panels.setdefault(label, []).append(panel)
        reason = shortfall(run.cell(key_of(cell)).statuses, n, run.plan.config.repeats)
        if reason:
            places.setdefault((label, reason), []).append(panel)
    lines: dict[str, list[str]] = {}
    for (label, reason), own in places.items():
        where = "" if own == panels[label] else f" ({'; '.join(own)})"
        lines.setdefault(f"{reason}{where}", []).append(label)
    return [f"{', '.join(labels)}: {what}." for what, labels in lines.items()]
