"""Techniques with classifiers in one picture: a technique's colour and dash, a classifier's marker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.report.figures.canvas import GREY
from fairbench_cli.report.figures.parts import MARKERS, TechniqueLook, shortfall, technique_looks
from fairbench_cli.report.repeats import TECHNIQUE
from fairbench_cli.report.results import CellKey, RunResults
from fairbench_cli.report.tables import classifier_label

ANY = "no classifier of the config"


@dataclass(frozen=True)
class Mark:
    """How a cell is drawn; `classifier` is empty where the model is the same with every classifier."""

    technique: TechniqueLook
    classifier: str
    marker: str

    @property
    def label(self) -> str:
        """Return technique and classifier, for people."""
        return self.technique.label + (f" with {self.classifier}" if self.classifier else "")


def marks_of(plan: RunPlan, cells: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mark]]:
    """Return cells and their marks; of cells that share a model, which differ in the classifier, the first.

    Parameters
    ----------
    cells : sequence of dict
        Of one data set, attribute and β, as the plan describes them.
    """
    looks = technique_looks(plan)
    known = list(dict.fromkeys((cell["classifier"], cell["classifier_parameters"]) for cell in plan.cells))
    users: dict[str, set[tuple[str, str]]] = {}
    for cell in cells:
        users.setdefault(cell["key"], set()).add((cell["classifier"], cell["classifier_parameters"]))
    first = {cell["key"]: cell for cell in reversed(cells)}
    found = []
    for key, used in users.items():
        cell = first[key]
        classifier = cell["classifier"], cell["classifier_parameters"]
        label, marker = classifier_label(*classifier), MARKERS[known.index(classifier) % (len(MARKERS) - 1)]
        if len(used) > 1:
            label, marker = "", MARKERS[-1]
        found.append((cell, Mark(looks[tuple(cell[name] for name in TECHNIQUE)], label, marker)))
    return found


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


def missing_of(run: RunResults, drawn: Mapping[CellKey, tuple[str, str, int]]) -> list[str]:
    """Say which cells lack values of some repeats, and where.

    Parameters
    ----------
    drawn : mapping
        By values of `CELL_COLUMNS`: where the cell is drawn, its label and how many repeats have values.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for key, (where, label, n) in drawn.items():
        reason = shortfall(run.cell(key).statuses, n, run.plan.config.repeats)
        if reason:
            places.setdefault((label, reason), []).append(where)
    lines: dict[tuple[str, str], list[str]] = {}
    for (label, reason), names in places.items():
        lines.setdefault((reason, "; ".join(filter(None, names))), []).append(label)
    return [
        f"{', '.join(labels)}: {reason}{f' ({names})' if names else ''}."
        for (reason, names), labels in lines.items()
    ]
