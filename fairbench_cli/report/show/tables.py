"""The papers' tables, two metrics per technique and one column per β, and what all tables share."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.plan import RunPlan, arc_in_words, bias_in_words
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.ledger.cell_labels import (
    BLOCK,
    LABELS,
    NO_BIAS,
    NOT_RUN,
    label_counts,
    read_display_names,
    technique_label,
    why_no_value,
)
from fairbench_cli.report.ledger.journal_arrays import (
    TECHNIQUE,
    CellKey,
    cell_key,
    mean_and_interval,
)
from fairbench_cli.report.ledger.results import RunResults

DEGRADED = "*"

ABOUT_LABELS = (
    "labels: the labels of the test rows, taken for decisions. Their accuracy is 1 and their errors are 0 by "
    "definition; their discrimination is the difference between the groups that the data hold."
)


PAPER_COLUMNS = ("technique", "metric")

TableCells = dict[tuple[CellKey, tuple[str, ...], float], str | TableCell]

MARKS = {
    "-": "no repeat was feasible",
    "n/a": "the measure is undefined (0/0) in every repeat",
    "failed": "no repeat gave a result and some failed: see groups.csv",
    NOT_RUN: "not run yet",
}


def lay_out_blocks(
    run: RunResults,
    cells: TableCells,
    missing: str,
    columns: Sequence[str] = PAPER_COLUMNS,
    marks: Sequence[str] = (),
) -> tuple[Section, ...]:
    """Lay cells out in blocks, in the order in which they first occur; a technique's rows stand together.

    Parameters
    ----------
    cells : mapping
        Texts, or cells, by the values of `BLOCK`, those of the table's own columns (the technique first),
        and β.
    missing : str
        What stands where there is no cell.
    columns : sequence of str
        What the table's own columns are called.
    marks : sequence of str
        What the marks mean that cells have in print.
    """
    names = read_display_names(run.plan.config)
    in_world = group_by(run.plan.cells, lambda cell: (cell["dataset"], cell["attribute"], cell["world"]))
    lines = dict.fromkeys((place, labels) for place, labels, _ in cells)
    blocks = []
    for place, own in group_by(lines, lambda line: line[0]).items():
        dataset, attribute, compared, world, representation, name, parameters = place
        betas = sorted({cell["beta"] for cell in in_world[dataset, attribute, world]})
        heads = (*columns, *(f"β = {beta:g}" for beta in betas))
        keys = (*columns, *(f"beta={beta:g}" for beta in betas))
        title = f"{names.dataset(dataset)}, {attribute}, {names.classifier(name, parameters)}"
        if run.plan.has_worlds:
            title += f", {world or NO_BIAS}"
        if representation != "original":
            title += f", {representation}"
        if compared != attribute:
            title += f": groups of {compared}"
        texts = []
        for technique, same in group_by((labels for _, labels in own), lambda labels: labels[0]).items():
            called = names.techniques.get(technique, technique)
            for labels in same:
                numbers = (cells.get((place, labels, beta), missing) for beta in betas)
                texts.append([called, *labels[1:], *numbers])
        table = plain_table("", heads, texts, len(columns), keys=keys, grouped=True, marks=marks)
        blocks.append(Section(title, tables=(table,)))
    return tuple(blocks)


def block_technique_beta(row: Mapping[Any, Any]) -> tuple[CellKey, str, Any]:
    """Return block, technique and β of the row of a frame, or of a cell and the groups compared."""
    technique = technique_label(*(row[name] for name in TECHNIQUE))
    return tuple(row[name] for name in BLOCK), technique, row["beta"]


def group_rates_table(name: str, run: RunResults) -> Document:
    """Lay out the rows, selection rate and true positive rate of each group, means over the repeats.

    The groups are the joint levels of each attribute or intersection that the run's results compare.
    """
    texts: TableCells = {}
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            # Of each cell the labels of its test rows, then its decisions: (2, cells, repeats, groups, 2, 2).
            of_labels = [label_counts(run, data, cell).n for cell in data.cells]
            levels = data.levels(Counts(data.counts.groups, np.stack([of_labels, data.counts.n])), compared)
            shown = {name: rate_by_group(levels, name) for name in ("selection-rate", "tpr")}
            shown = {"rows": levels.group_total} | shown  # each (2, cells, repeats, groups)
            found = {metric: mean_and_interval(np.moveaxis(n, -2, -1)) for metric, n in shown.items()}
            for (row, i), (g, group) in product(np.ndindex(2, len(data.cells)), enumerate(levels.groups)):
                place, technique, beta = block_technique_beta(data.cells[i] | {"compared": compared})
                statuses = [status for status in data.status[i] if status and row]
                for metric, numbers in found.items():
                    mean = float(numbers["mean"][row, i, g])
                    n = int(numbers["n_ok"][row, i, g])
                    if metric == "rows":
                        form = ".6g"
                    else:
                        form = ".3f"
                    text = format_mean(mean, n, run.plan.config.repeats, statuses, form)
                    texts[place, (technique if row else LABELS, group, metric), beta] = text
    columns = ("technique", "group", "metric")
    facts = *caption(run.plan, {str(text) for text in texts.values()}), ABOUT_LABELS
    return Document(name, facts=facts, sections=lay_out_blocks(run, texts, NOT_RUN, columns))


def format_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> str:
    """Write what a run found of a metric in a cell of its plan, as `format_mean` does."""
    key = cell_key(cell)
    mean = run.cell_metric(key, metric).summary
    return format_mean(mean.mean, mean.n, run.plan.config.repeats, run.cell_counts(key).statuses)


def format_spread(values: Floats) -> str:
    """Return the standard deviation of the values of a cell as it is printed; empty where they are too few.

    >>> format_spread(np.array([0.5, 0.6, np.nan])), format_spread(np.array([0.5]))
    ('.071', '')
    """
    known = values[np.isfinite(values)]
    if len(known) > 1:
        return f"{np.std(known, ddof=1):.3f}".removeprefix("0")
    return ""


def describe_spread(run: RunResults) -> tuple[str, ...]:
    """Say what ± is in print; nothing of a run of one repeat."""
    n = run.plan.config.repeats
    if n > 1:
        return (f"±: standard deviation over {n} repeats.",)
    return ()


def mean_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return the mean of a metric in a cell of the plan, with its standard deviation for print."""
    return TableCell(
        format_cell(run, cell, metric), spread=format_spread(run.cell_metric(cell_key(cell), metric).values)
    )


def labels_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return a metric of the labels of the test rows that a cell of the plan was measured on."""
    place = cell["dataset"], cell["attribute"]
    found = [data for data in run.datasets if (data.dataset, data.attribute) == place]
    if not found:
        return TableCell(NOT_RUN)
    (data,) = found
    labels = label_counts(run, data, cell)
    values = measure(run.results.metric(metric), data.levels(labels, data.attribute))
    mean = mean_and_interval(values)
    statuses = [] if mean["n_ok"] else [status for status in data.status.ravel() if status]
    text = format_mean(float(mean["mean"]), int(mean["n_ok"]), run.plan.config.repeats, statuses)
    return TableCell(text, spread=format_spread(values) if mean["sd"] > 0 else "")


_MARK_OF = {"infeasible": "-", "undefined (0/0)": "n/a", "failed": "failed", "not run yet": NOT_RUN}


def format_mean(mean: float, n_ok: int, n: int, statuses: Sequence[str], form: str = ".3f") -> str:
    """Write a mean and how many of the `n` repeats that were asked for gave a value, or why none did.

    >>> format_mean(0.25, 30, 30, ["ok"] * 30), format_mean(-0.25, 28, 30, ["ok"] * 28 + ["infeasible"] * 2)
    ('0.250', '-0.250 (28/30)')
    >>> format_mean(0.02, 2, 2, ["ok", "degraded"])
    '0.020*'
    >>> [format_mean(np.nan, 0, 2, statuses) for statuses in (["infeasible"], ["failed", "infeasible"], [])]
    ['-', 'failed', '…']
    """
    if not n_ok:
        return _MARK_OF[why_no_value(statuses, n)]
    shown = f"{mean:{form}}".replace("-0.000", "0.000") + (DEGRADED if "degraded" in statuses else "")
    if n_ok == n:
        return shown
    return f"{shown} ({n_ok}/{n})"


def caption(plan: RunPlan, used: set[str]) -> tuple[str, ...]:
    """Say what the numbers are: repeats, where training and test rows come from, what β edits.

    `used` are the cells of the table; those of `MARKS` among them are explained.
    """
    n = plan.config.repeats
    source = plan.config.sample.source
    repeats = f"{n} repeat"
    splits = f"{n} random split"
    if n > 1:
        repeats += "s"
        splits += "s"
    if source == "data" and plan.config.tested != "holdout":
        drawn = f"Means of {repeats}. Training sets: random shares of the data."
        return (drawn, f"Test set: {plan.test_rows}.", *_legend(used))
    if source == "data":
        return (f"Means of {splits} into training and test rows.", *_legend(used))
    called = read_display_names(plan.config).dataset
    networks = ", ".join(dict.fromkeys(called(one["dataset"]) for one in plan.datasets))
    if source == "shipped":
        made = "shipped with fairbench"
    else:
        made = "learned from the data"
    bias = "at each β"
    if plan.has_worlds:
        bias = "with the bias that is named; β: the strength of its first mechanism"
    lines = [
        f"Means of {repeats}. Training sets: sampled from the Bayesian network of "
        f"{networks}, {made}, {bias}.",
    ]
    if plan.config.test == "network":
        lines.append("Test sets: sampled from the same network at β = 0, not the original data.")
    else:
        lines.append(f"Test set: {plan.test_rows}.")
    if plan.has_worlds:
        lines.append(f"Their labels: {LABELS_IN_WORDS[plan.config.test_labels]}.")
    biased = any(cell["beta"] for cell in plan.cells)
    if biased:
        kinds = bias_in_words(plan.datasets, called, shipped=source == "shipped")
    else:
        kinds = ""
    if kinds:
        lines.append(f"β: {kinds}.")
    idle = [one for one in plan.datasets if not one["arc_to_outcome"] and "worlds" not in one]
    lines += [f"{called(one['dataset'])}: {arc_in_words(one)}, so β changes nothing." for one in idle]
    return (*lines, *_legend(used))


LABELS_IN_WORDS = {
    "true": "the true ones",
    "recorded": "as the world records them and the groups, of the rows that it includes",
}


def _legend(used: set[str]) -> list[str]:
    """Explain what cells hold that is no plain mean."""
    lines = []
    if any(cell.endswith(")") for cell in used):
        lines.append("(a/b): only a of b repeats have a value.")
    if any(DEGRADED in cell for cell in used):
        lines.append(
            f"{DEGRADED}: in some repeats the technique could do its work in part only; groups.csv says why."
        )
    return [*lines, *(f'"{mark}": {meaning}.' for mark, meaning in MARKS.items() if mark in used)]
