"""Tables as papers print them: a row a data set and β, the metrics of a technique side by side."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.config.outputs import TABLES
from fairbench_cli.report.ledger import cell_labels
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, cell_key
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.tables import caption, format_cell

SHORT_NAMES = {
    "discrimination": "Disc.",
    "accuracy": "Acc.",
    "overestimation": "Over.",
    "underestimation": "Under.",
}
BASELINE = "none"
MOST_TECHNIQUES = 4
"""Of a table: with two metrics each they are as wide as a page."""

Cell = Mapping[str, Any]
"""A cell of the plan."""


def table_by_technique(name: str, run: RunResults) -> Document:
    """Lay out two metrics per technique, for the groups of the attribute that each cell works on.

    A number is the mean, as `format_cell` writes it, with half its 95 % interval over the repeats. An
    accuracy is in bold where it is above that of ``none`` for the same data set, β and world, both to three
    decimals. Data sets of one title are one in this; where both have a row, it has the name too.
    """
    cells_by_setting = group_by(
        run.plan.cells,
        lambda cell: (cell["classifier"], cell["classifier_parameters"], cell["representation"]),
    )
    sections = []
    texts = set[str]()
    for cells in cells_by_setting.values():
        for labels in _divide_techniques(run, cells):
            section = _section(run, cells, labels, TABLES[name].metrics)
            sections.append(section)
            for row in section.tables[0].rows:
                texts |= {cell.text for cell in row}
    return Document(name, facts=caption(run, texts), sections=tuple(sections))


def _label(cell: Cell) -> str:
    return cell_labels.technique_label(*(cell[name] for name in TECHNIQUE))


def _divide_techniques(run: RunResults, cells: Iterable[Cell]) -> Iterator[list[str]]:
    """Yield the labels of the techniques of each table.

    Models that nothing was done to stand alone, and so does a technique with several parameters; those
    that the run has once stand together.
    """
    name_of = {_label(cell): cell["intervention"] for cell in cells}
    if run.labels == "recorded":  # it is no model of the world that records them
        name_of = {label: name for label, name in name_of.items() if name != cell_labels.TRAINED_ON_TRUTH}
    n_labels = Counter(name_of.values()) + Counter([BASELINE])
    families = group_by(name_of, lambda label: name_of[label] if n_labels[name_of[label]] > 1 else "")
    for labels in families.values():
        for table_labels in np.array_split(labels, math.ceil(len(labels) / MOST_TECHNIQUES)):
            yield table_labels.tolist()


def _section(
    run: RunResults, cells: Sequence[Cell], labels: Sequence[str], metrics: Sequence[str]
) -> Section:
    """Return the table of some techniques, given all cells of a classifier and representation."""
    config = run.plan.config
    names = cell_labels.read_display_names(config)
    titles = {spec.name: spec.title or spec.name for spec in config.datasets}
    # 1. The columns.
    n_words = 1 + run.plan.has_betas
    heads = ["data set", "β"][:n_words]
    keys = ["dataset", "beta"][:n_words]
    techniques = [names.techniques.get(label, label) for label in labels]
    for technique in techniques:
        heads += [f"{technique}\n{SHORT_NAMES[metric]}" for metric in metrics]
        keys += [f"{technique} {metric}" for metric in metrics]
    # 2. The cells of each row, and the accuracies of the models that nothing was done to.
    cells_by_row: dict[tuple[Any, ...], dict[str, Cell]] = {}
    baselines: dict[tuple[Any, ...], float] = {}
    for cell in cells:
        situation = (titles[cell["dataset"]], cell["attribute"], cell["world"], cell["beta"])
        if _label(cell) in labels:
            cells_by_row.setdefault((cell["dataset"], *situation), {})[_label(cell)] = cell
        if cell["intervention"] == BASELINE:
            accuracy = run.cell_metric(cell_key(cell), "accuracy").summary.mean
            baselines.setdefault((*situation, cell["include_protected"]), accuracy)
    # 3. The rows.
    rows = []
    n_rows = Counter((title, world, beta) for _, title, _, world, beta in cells_by_row)
    for (dataset, *row_situation), cell_of in cells_by_row.items():
        title, attribute, world, beta = row_situation
        if n_rows[title, world, beta] > 1 and title != dataset:
            title += f" ({dataset})"
        if len(config.datasets) > len(titles):
            title += f", {attribute}"
        if run.plan.has_worlds:
            title += f", {world or cell_labels.NO_BIAS}"
        row = [TableCell(title), TableCell(f"{beta:g}")][:n_words]
        for label in labels:
            if label not in cell_of:
                row += [TableCell("")] * len(metrics)
                continue
            baseline = baselines.get((*row_situation, cell_of[label]["include_protected"]), math.inf)
            row += [_number(run, cell_of[label], metric, baseline) for metric in metrics]
        rows.append(row)
    # 4. What stands over it, and what its marks mean.
    title = ", ".join(
        [*techniques, names.classifier(cells[0]["classifier"], cells[0]["classifier_parameters"])]
    )
    if cells[0]["representation"] != "original":
        title += f", {cells[0]['representation']}"
    marks = [f"{', '.join(f'{SHORT_NAMES[metric]}: {metric}' for metric in metrics)}."]
    if run.n_done[-1] > 1:
        marks.append(f"±: half the 95 % interval over {run.repeats_done('repeat')}.")
    if any(number.best for number in chain.from_iterable(rows)):
        marks.append("Bold: more accurate than the model that nothing is done to.")
    return Section(
        title, tables=(plain_table("", heads, rows, n_words, keys=keys, grouped=True, marks=marks),)
    )


def _number(run: RunResults, cell: Cell, metric: str, baseline: float) -> TableCell:
    """Return a mean with half its interval, in bold where it is an accuracy above that of the baseline."""
    estimate = run.cell_metric(cell_key(cell), metric).summary
    half = estimate.high - estimate.mean
    spread = ""
    if math.isfinite(half):
        spread = f"{half:.3f}".removeprefix("0")
    is_best = metric == "accuracy" and round(estimate.mean, 3) > round(baseline, 3)
    return TableCell(format_cell(run, cell, metric), spread=spread, best=is_best)
