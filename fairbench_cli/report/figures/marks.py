"""Techniques with classifiers in one picture: a technique's colour and dash, a classifier's marker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.figures.canvas import GREY
from fairbench_cli.report.figures.parts import MARKERS, TechniqueLook, shortfall, slugs, technique_looks
from fairbench_cli.report.repeats import CELL_COLUMNS, TECHNIQUE
from fairbench_cli.report.results import CellKey, RunResults
from fairbench_cli.report.tables import classifier_label

ANY = "no classifier of the config"


@dataclass(frozen=True)
class Mark:
    """How a cell is drawn; `classifier` is empty where it makes no difference."""

    technique: TechniqueLook
    classifier: str
    marker: str

    @property
    def label(self) -> str:
        """Return technique and classifier, for people."""
        return self.technique.label + (f" with {self.classifier}" if self.classifier else "")


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


def key_of(cell: Mapping[str, Any]) -> CellKey:
    """Return the values of `CELL_COLUMNS` of a cell."""
    return tuple(cell[column] for column in CELL_COLUMNS)


def marks_of(plan: RunPlan, cells: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Mark]]:
    """Return cells and their marks; of cells that share a model and differ in the classifier, the first."""
    looks = technique_looks(plan)
    classifiers = list(dict.fromkeys(map(_classifier, plan.cells)))
    shared: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        shared.setdefault((cell["key"], cell["attribute"], cell["representation"]), []).append(cell)
    found = []
    for own in shared.values():
        of = _classifier(own[0])
        label, marker = classifier_label(*of), MARKERS[classifiers.index(of) % (len(MARKERS) - 1)]
        if len(set(map(_classifier, own))) > 1:
            label, marker = "", MARKERS[-1]
        if len(classifiers) == 1:
            label = ""
        found.append((own[0], Mark(looks[tuple(own[0][name] for name in TECHNIQUE)], label, marker)))
    return found


def _classifier(cell: Mapping[str, Any]) -> tuple[str, str]:
    return cell["classifier"], cell["classifier_parameters"]


def legend_of(marks: Iterable[Mark]) -> list[tuple[Any, str]]:
    """Return the legend's handles and labels: techniques, then classifiers if there are several."""
    marks = list(marks)
    techniques = dict.fromkeys(mark.technique for mark in marks)
    legend = [(Line2D([], [], color=t.colour, ls=t.dash, lw=2), t.label) for t in techniques]
    classifiers = {mark.marker: mark.classifier or ANY for mark in marks}
    if len(classifiers) > 1:
        look: dict[str, Any] = {"ls": "", "ms": 5, "color": GREY}
        legend += [(Line2D([], [], marker=marker, **look), label) for marker, label in classifiers.items()]
    return legend


def missing_of(run: RunResults, drawn: Iterable[tuple[str, Mapping[str, Any], Mark, int]]) -> list[str]:
    """Say which cells lack values of some repeats, and in which panels if not in all of theirs.

    Parameters
    ----------
    drawn : iterable of (panel, cell, mark, n)
        Where each cell is drawn and how many of its repeats have values.
    """
    panels: dict[str, list[str]] = {}
    places: dict[tuple[str, str], list[str]] = {}
    for panel, cell, mark, n in drawn:
        panels.setdefault(mark.label, []).append(panel)
        reason = shortfall(run.cell(key_of(cell)).statuses, n, run.plan.config.repeats)
        if reason:
            places.setdefault((mark.label, reason), []).append(panel)
    lines: dict[str, list[str]] = {}
    for (label, reason), own in places.items():
        where = "" if own == panels[label] else f" ({'; '.join(own)})"
        lines.setdefault(f"{reason}{where}", []).append(label)
    return [f"{', '.join(labels)}: {what}." for what, labels in lines.items()]
