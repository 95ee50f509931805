"""The papers' tables, two metrics per technique and one column per β, and what all tables share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.plan import RunPlan, arc_in_words, bias_in_words, network_origin
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
    DatasetRepeats,
    cell_key,
    mean_and_interval,
)
from fairbench_cli.report.ledger.results import RunResults

DEGRADED = "*"

ABOUT_LABELS = (
    "labels: the labels of the test rows, taken for decisions. Their accuracy is 1 and their errors are 0 by "
    "definition; their discrimination is the difference between the groups in these rows."
)


PAPER_COLUMNS = ("technique", "metric")

TableCells = dict[tuple[CellKey, tuple[str, ...], float], str | TableCell]
"""By block (values of `BLOCK`), labels of the row (the technique first) and β."""

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
    head_without_beta: str = "mean",
) -> tuple[Section, ...]:
    """Lay cells out in blocks, in the order in which they first occur; a technique's rows stand together.

    Parameters
    ----------
    cells : TableCells
    missing : str
        What stands where there is no cell.
    columns : sequence of str
        What the table's own columns are called.
    marks : sequence of str
        What the marks mean that cells have in print.
    head_without_beta : str
        What the only column of cells is called in a run without β.

    Returns
    -------
    tuple of Section
        One for each block, with a column for each β of the block's data set, attribute and world.
    """
    names = read_display_names(run.plan.config)
    cells_by_world = group_by(
        run.plan.cells, lambda cell: (cell["dataset"], cell["attribute"], cell["world"])
    )
    lines = dict.fromkeys((block, labels) for block, labels, _ in cells)
    sections = []
    for block, block_lines in group_by(lines, lambda line: line[0]).items():
        # 1. What stands over the block: only what tells it from others.
        dataset, attribute, compared, world, representation, classifier, classifier_parameters = block
        title = (
            f"{names.dataset(dataset)}, {attribute}, {names.classifier(classifier, classifier_parameters)}"
        )
        if run.plan.has_worlds:
            title += f", {world or NO_BIAS}"
        if representation != "original":
            title += f", {representation}"
        if compared != attribute:
            title += f": groups of {compared}"
        # 2. The columns.
        betas = sorted({cell["beta"] for cell in cells_by_world[dataset, attribute, world]})
        heads = list(columns)
        keys = list(columns)
        for beta in betas:
            if run.plan.has_betas:
                heads.append(f"β = {beta:g}")
            else:
                heads.append(head_without_beta)
            keys.append(f"beta={beta:g}")
        # 3. The rows.
        rows: list[list[str | TableCell]] = []
        labels_by_technique = group_by((labels for _, labels in block_lines), lambda labels: labels[0])
        for technique, labels_of_rows in labels_by_technique.items():
            for labels in labels_of_rows:
                row: list[str | TableCell] = [names.techniques.get(technique, technique)]
                row += labels[1:]
                row += [cells.get((block, labels, beta), missing) for beta in betas]
                rows.append(row)
        table = plain_table("", heads, rows, len(columns), keys=keys, grouped=True, marks=marks)
        sections.append(Section(title, tables=(table,)))
    return tuple(sections)


def means_in_words(run: RunResults) -> str:
    """Return the sentence on means and their intervals over the repeats, which are not the answer's."""
    repeats = run.repeats_done("repeat")
    if run.n_done[-1] == 1:
        return f"{repeats.replace('1 ', 'One ', 1)}, so there are no intervals."
    if run.plan.config.tested == "network":
        return f"Means of {repeats} with 95 % intervals."
    return (
        f"Means of {repeats} with 95 % intervals over the repeats, which share rows: narrower than the "
        "answer's, which are for other rows too."
    )


def tests_in_words(plan: RunPlan) -> str:
    """Return the tests of a table that Holm's adjustment is over, in words."""
    if plan.has_betas:
        return "all techniques and β of the table"
    return "all techniques of the table"


def block_technique_beta(row: Mapping[Any, Any]) -> tuple[CellKey, str, Any]:
    """Return block, technique and β of the row of a frame, or of a cell and the groups compared."""
    intervention, parameters, include_protected = (row[name] for name in TECHNIQUE)
    technique = technique_label(intervention, parameters, include_protected)
    return tuple(row[name] for name in BLOCK), technique, row["beta"]


def group_rates_table(name: str, run: RunResults) -> Document:
    """Lay out the rows, selection rate and true positive rate of each group, means over the repeats.

    The groups are the joint levels of each attribute or intersection that the run's results compare.
    """
    texts: TableCells = {}
    for data in run.datasets:
        for compared in data.compared_attributes(run.attributes):
            texts |= _group_rates(run, data, compared)
    columns = ("technique", "group", "metric")
    facts = list(caption(run, {str(text) for text in texts.values()}))
    facts.append(ABOUT_LABELS)
    return Document(name, facts=tuple(facts), sections=lay_out_blocks(run, texts, NOT_RUN, columns))


def _group_rates(run: RunResults, data: DatasetRepeats, compared: str) -> TableCells:
    """Return the texts of `group_rates_table` for the groups of one attribute or intersection."""
    # 1. Of each cell the labels of its test rows, then its decisions: (2, cells, repeats, groups, 2, 2).
    label_n = [label_counts(run, data, cell).n for cell in data.cells]
    counts = data.levels(Counts(data.counts.groups, np.stack([label_n, data.counts.n])), compared)
    # 2. Values are (2, cells, repeats, groups); means are over the repeats, so these come last.
    values = {
        "rows": counts.group_total,
        "selection-rate": rate_by_group(counts, "selection-rate"),
        "tpr": rate_by_group(counts, "tpr"),
    }
    means = {metric: mean_and_interval(np.moveaxis(array, -2, -1)) for metric, array in values.items()}
    # 3. Write them, those of the labels first.
    texts: TableCells = {}
    for is_decided in (False, True):
        for i, cell in enumerate(data.cells):
            block, technique, beta = block_technique_beta(cell | {"compared": compared})
            if is_decided:
                label = technique
                statuses = [status for status in data.status[i] if status]
            else:
                label = LABELS
                statuses = []
            for g, group in enumerate(counts.groups):
                for metric, numbers in means.items():
                    position = (int(is_decided), i, g)
                    mean = float(numbers["mean"][position])
                    n_ok = int(numbers["n_ok"][position])
                    form = ".6g" if metric == "rows" else ".3f"
                    text = format_mean(mean, n_ok, run.plan.config.repeats, statuses, form)
                    texts[block, (label, group, metric), beta] = text
    return texts


def format_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> str:
    """Write the mean of a metric in a cell of a run's plan, as `format_mean` does."""
    key = cell_key(cell)
    mean = run.cell_metric(key, metric).summary
    return format_mean(mean.mean, mean.n, run.plan.config.repeats, run.cell_counts(key).statuses)


def format_spread(values: Floats) -> str:
    """Return the standard deviation of the values of a cell as it is printed; empty where they are too few.

    >>> format_spread(np.array([0.5, 0.6, np.nan])), format_spread(np.array([0.5]))
    ('.071', '')
    """
    finite = values[np.isfinite(values)]
    if len(finite) > 1:
        return f"{np.std(finite, ddof=1):.3f}".removeprefix("0")
    return ""


def describe_spread(run: RunResults) -> tuple[str, ...]:
    """Say what ± is in print; nothing of a run of one repeat."""
    if run.n_done[-1] > 1:
        return (f"±: standard deviation over {run.repeats_done('repeat')}.",)
    return ()


def mean_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return the mean of a metric in a cell of the plan, with its standard deviation for print."""
    return TableCell(
        format_cell(run, cell, metric), spread=format_spread(run.cell_metric(cell_key(cell), metric).values)
    )


def labels_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return a metric of the labels of the test rows that a cell of the plan was measured on."""
    source = cell["dataset"], cell["attribute"]
    matches = [data for data in run.datasets if (data.dataset, data.attribute) == source]
    if not matches:
        return TableCell(NOT_RUN)
    (data,) = matches
    labels = label_counts(run, data, cell)
    values = measure(run.results.metric(metric), data.levels(labels, data.attribute))
    mean = mean_and_interval(values)
    statuses = [status for status in data.status.ravel() if status and not mean["n_ok"]]
    text = format_mean(float(mean["mean"]), int(mean["n_ok"]), run.plan.config.repeats, statuses)
    # Labels of fixed test rows are the same in every repeat: a deviation of 0 says nothing.
    return TableCell(text, spread=format_spread(values) if mean["sd"] > 0 else "")


_MARK_OF = {"infeasible": "-", "undefined (0/0)": "n/a", "failed": "failed", "not run yet": NOT_RUN}


def format_mean(mean: float, n_ok: int, n: int, statuses: Sequence[str], form: str = ".3f") -> str:
    """Write a mean and how many of the `n` repeats of the plan gave a value, or a mark for why none did.

    >>> format_mean(0.25, 30, 30, ["ok"] * 30), format_mean(-0.25, 28, 30, ["ok"] * 28 + ["infeasible"] * 2)
    ('0.250', '-0.250 (28/30)')
    >>> format_mean(0.02, 2, 2, ["ok", "degraded"])
    '0.020*'
    >>> [format_mean(np.nan, 0, 2, statuses) for statuses in (["infeasible"], ["failed", "infeasible"], [])]
    ['-', 'failed', '…']
    """
    if not n_ok:
        return _MARK_OF[why_no_value(statuses)]
    text = f"{mean:{form}}".replace("-0.000", "0.000")
    if "degraded" in statuses:
        text += DEGRADED
    if n_ok != n:
        text += f" ({n_ok}/{n})"
    return text


def caption(run: RunResults, texts: set[str]) -> tuple[str, ...]:
    """Describe the numbers of a table: repeats, where training and test rows come from, what β edits.

    `texts` are the cells of the table; those of `MARKS` among them are explained.
    """
    plan = run.plan
    source = plan.config.sample.source
    repeats = run.repeats_done("repeat")
    # 1. Real rows: no network, and no β.
    marks = _explain_marks(texts)
    if source == "data" and plan.config.tested != "holdout":
        training = f"Means of {repeats}. Training sets: random shares of the data."
        return (training, f"Test set: {plan.test_rows}.", *marks)
    if source == "data":
        return (f"Means of {run.repeats_done('random split')} into training and test rows.", *marks)
    # 2. Training rows that are sampled from a network.
    dataset_name = read_display_names(plan.config).dataset
    networks: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        networks.setdefault(network_origin(dataset), []).append(dataset_name(dataset["dataset"]))
    origins = [f"{', '.join(dict.fromkeys(names))}, {origin}" for origin, names in networks.items()]
    bias = ""
    if plan.has_betas:
        bias = ", at each β"
    if plan.has_worlds:
        bias = ", with the bias that is named; β: the strength of its first mechanism"
    network = f"the Bayesian network of {'; of '.join(origins)}"
    lines = [f"Means of {repeats}. Training sets: sampled from {network}{bias}."]
    # 3. Test rows.
    if plan.config.test == "network":
        unbiased = ""
        if plan.has_betas:
            unbiased = " at β = 0"
        lines.append(f"Test sets: sampled from the same network{unbiased}, not the original data.")
    else:
        lines.append(f"Test set: {plan.test_rows}.")
    if plan.has_worlds:
        lines.append(f"Their labels: {LABELS_IN_WORDS[plan.config.test_labels]}.")
    # 4. What β edits, and where it has nothing to edit.
    if plan.has_betas:
        edits = bias_in_words(plan.datasets, dataset_name)
        if edits:
            lines.append(f"β: {edits}.")
    for dataset in plan.datasets:
        if plan.has_betas and not dataset["arc_to_outcome"] and "worlds" not in dataset:
            title = dataset_name(dataset["dataset"])
            lines.append(f"{title}: {arc_in_words(dataset)}, so β changes nothing.")
    return tuple(lines + marks)


LABELS_IN_WORDS = {
    "true": "the true ones",
    "recorded": "as the world records them and the groups, of the rows that it includes",
}


def _explain_marks(texts: set[str]) -> list[str]:
    """Explain the texts of cells that are no plain means."""
    lines = []
    if any(text.endswith(")") for text in texts):
        lines.append("(a/b): only a of b repeats have a value.")
    if any(DEGRADED in text for text in texts):
        lines.append(
            f"{DEGRADED}: in some repeats the technique could do its work in part only; groups.csv says why."
        )
    lines += [f'"{mark}": {meaning}.' for mark, meaning in MARKS.items() if mark in texts]
    return lines
