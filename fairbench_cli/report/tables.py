"""The papers' tables, two metrics per technique and one column per β, and what all tables share."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.document.model import Document, Section, TableCell, plain_table
from fairbench_cli.experiment.config.components import ComponentSpec, tuning_of
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.journal.journal import RETRIED
from fairbench_cli.experiment.plan import RunPlan, arc_in_words, bias_in_words
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.measures.registry import measure
from fairbench_cli.report.repeats import TECHNIQUE, CellKey, DatasetRepeats, key_of, mean_and_interval
from fairbench_cli.report.results import RunResults

BLOCK = ["dataset", "attribute", "compared", "world", "representation", "classifier", "classifier_parameters"]
DEGRADED = "*"
NOT_RUN = "…"
OWN_MODEL = "model of its own"

LABELS = "labels"
ABOUT_LABELS = (
    "labels: the labels of the test rows, taken for decisions. Their accuracy is 1 and their errors are 0 by "
    "definition; their discrimination is the difference between the groups that the data hold."
)

NO_BIAS = "no bias"
"""What the world without a mechanism is called where there are others."""

TRUTH = "trained-on-truth"
"""The model of the same classifier that was trained without the bias: a reference line, and no remedy."""

PAPER_COLUMNS = ("technique", "metric")

Cells = dict[tuple[CellKey, tuple[str, ...], float], str | TableCell]

MARKS = {
    "-": "no repeat was feasible",
    "n/a": "the measure is undefined (0/0) in every repeat",
    "failed": "no repeat gave a result and some failed: see groups.csv",
    NOT_RUN: "not run yet",
}


def blocks_of(
    run: RunResults,
    cells: Cells,
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
    names = names_of(run.plan.config)
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


def place_of(row: Mapping[Any, Any]) -> tuple[CellKey, str, Any]:
    """Return block, technique and β of the row of a frame, or of a cell and the groups compared."""
    technique = technique_label(*(row[name] for name in TECHNIQUE))
    return tuple(row[name] for name in BLOCK), technique, row["beta"]


def group_rates_table(name: str, run: RunResults) -> Document:
    """Lay out the rows, selection rate and true positive rate of each group, means over the repeats.

    The groups are the joint levels of each attribute or intersection that the run's results compare.
    """
    texts: Cells = {}
    for data in run.datasets:
        for compared in data.asked(run.attributes):
            # Of each cell the labels of its test rows, then its decisions: (2, cells, repeats, groups, 2, 2).
            of_labels = [labels_of(run, data, cell).n for cell in data.cells]
            levels = data.levels(Counts(data.counts.groups, np.stack([of_labels, data.counts.n])), compared)
            shown = {name: rate_by_group(levels, name) for name in ("selection-rate", "tpr")}
            shown = {"rows": levels.group_total} | shown  # each (2, cells, repeats, groups)
            found = {metric: mean_and_interval(np.moveaxis(n, -2, -1)) for metric, n in shown.items()}
            for (row, i), (g, group) in product(np.ndindex(2, len(data.cells)), enumerate(levels.groups)):
                place, technique, beta = place_of(data.cells[i] | {"compared": compared})
                statuses = [status for status in data.status[i] if status and row]
                for metric, numbers in found.items():
                    mean = float(numbers["mean"][row, i, g])
                    n = int(numbers["n_ok"][row, i, g])
                    if metric == "rows":
                        form = ".6g"
                    else:
                        form = ".3f"
                    text = show_cell(mean, n, run.plan.config.repeats, statuses, form)
                    texts[place, (technique if row else LABELS, group, metric), beta] = text
    columns = ("technique", "group", "metric")
    facts = *caption(run.plan, {str(text) for text in texts.values()}), ABOUT_LABELS
    return Document(name, facts=facts, sections=blocks_of(run, texts, NOT_RUN, columns))


def shown(run: RunResults, cell: Mapping[str, Any], metric: str) -> str:
    """Write what a run found of a metric in a cell of its plan, as `show_cell` does."""
    key = key_of(cell)
    mean = run.get(key, metric).mean
    return show_cell(mean.mean, mean.n, run.plan.config.repeats, run.cell(key).statuses)


def spread_of(values: Floats) -> str:
    """Return the standard deviation of the values of a cell as it is printed; empty where they are too few.

    >>> spread_of(np.array([0.5, 0.6, np.nan])), spread_of(np.array([0.5]))
    ('.071', '')
    """
    known = values[np.isfinite(values)]
    if len(known) > 1:
        return f"{np.std(known, ddof=1):.3f}".removeprefix("0")
    return ""


def spread_mark(run: RunResults) -> tuple[str, ...]:
    """Say what ± is in print; nothing of a run of one repeat."""
    n = run.plan.config.repeats
    if n > 1:
        return (f"±: standard deviation over {n} repeats.",)
    return ()


def mean_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return the mean of a metric in a cell of the plan, with its standard deviation for print."""
    return TableCell(shown(run, cell, metric), spread=spread_of(run.get(key_of(cell), metric).values))


def labels_of(run: RunResults, data: DatasetRepeats, cell: Mapping[str, Any]) -> Counts:
    """Return the labels of the test rows of a cell, taken for decisions; recorded ones are of its world."""
    if run.labels == "true":
        return data.labels
    return data.labels_at(cell["world"], cell["beta"])


def labels_cell(run: RunResults, cell: Mapping[str, Any], metric: str) -> TableCell:
    """Return a metric of the labels of the test rows that a cell of the plan was measured on."""
    place = cell["dataset"], cell["attribute"]
    found = [data for data in run.datasets if (data.dataset, data.attribute) == place]
    if not found:
        return TableCell(NOT_RUN)
    (data,) = found
    labels = labels_of(run, data, cell)
    values = measure(run.results.metric(metric), data.levels(labels, data.attribute))
    mean = mean_and_interval(values)
    statuses = [] if mean["n_ok"] else [status for status in data.status.ravel() if status]
    text = show_cell(float(mean["mean"]), int(mean["n_ok"]), run.plan.config.repeats, statuses)
    return TableCell(text, spread=spread_of(values) if mean["sd"] > 0 else "")


def show_cell(mean: float, n_ok: int, n: int, statuses: Sequence[str], form: str = ".3f") -> str:
    """Write a mean and how many of the `n` repeats that were asked for gave a value, or why none did.

    >>> show_cell(0.25, 30, 30, ["ok"] * 30), show_cell(-0.25, 28, 30, ["ok"] * 28 + ["infeasible"] * 2)
    ('0.250', '-0.250 (28/30)')
    >>> show_cell(0.02, 2, 2, ["ok", "degraded"])
    '0.020*'
    >>> [show_cell(np.nan, 0, 2, found) for found in (["infeasible"] * 2, ["failed", "infeasible"], [])]
    ['-', 'failed', '…']
    """
    if not n_ok:
        return _MARK_OF[why_nothing(statuses, n)]
    shown = f"{mean:{form}}".replace("-0.000", "0.000") + (DEGRADED if "degraded" in statuses else "")
    if n_ok == n:
        return shown
    return f"{shown} ({n_ok}/{n})"


_MARK_OF = {"infeasible": "-", "undefined (0/0)": "n/a", "failed": "failed", "not run yet": NOT_RUN}


def why_nothing(statuses: Sequence[str], n: int) -> str:
    """Return why none of `n` repeats gave a value, by the statuses of those that were run."""
    if RETRIED & set(statuses):
        return "failed"
    if set(statuses) == {"infeasible"}:
        return "infeasible"
    if len(statuses) < n:
        return "not run yet"
    return "undefined (0/0)"


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
    called = names_of(plan.config).dataset
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
        lines.append(f"Their labels: {LABELS_MEANT[plan.config.test_labels]}.")
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


LABELS_MEANT = {
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


def technique_label(intervention: str, parameters: str, seen: bool) -> str:
    """Name a technique by what differs from its defaults.

    >>> technique_label("massaging", '{"ranker":"naive-bayes"}', True)
    'massaging + s'
    >>> tune = '{"for":"accuracy","fraction":0.3,"on":"validation","over":{"level":[0,1]}}'
    >>> technique_label("repair", f'{{"quantiles":50,"tune":{tune}}}', False)
    'repair (quantiles=50, level tuned for accuracy)'
    """
    return named(intervention, parameters, INTERVENTIONS) + (" + s" if seen else "")


def classifier_label(name: str, parameters: str) -> str:
    """Name a classifier by what differs from its defaults."""
    return named(name, parameters, CLASSIFIERS)


@dataclass(frozen=True)
class Names:
    """What tables, figures and pages call techniques, classifiers and data sets, where a config says so.

    Parameters
    ----------
    techniques, classifiers : dict
        By the label, as `technique_label` and `classifier_label` make it.
    datasets : dict
        By the name in results.
    """

    techniques: Mapping[str, str] = field(default_factory=dict)
    classifiers: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)

    def technique(self, intervention: str, parameters: str, seen: bool) -> str:
        """Return the name that a technique is shown by."""
        label = technique_label(intervention, parameters, seen)
        return self.techniques.get(label, label)

    def classifier(self, name: str, parameters: str) -> str:
        """Return the name that a classifier is shown by."""
        label = classifier_label(name, parameters)
        return self.classifiers.get(label, label)

    def dataset(self, name: str) -> str:
        """Return the name that a data set is shown by."""
        return self.datasets.get(name, name)


def names_of(config: ExperimentConfig) -> Names:
    """Return the names that a config gives by `as` and `title`; all different, as the labels are."""
    techniques = [
        (one.spec, technique_label(one.spec.name, canonical_json(one.described), one.include_protected))
        for one in config.interventions
    ]
    classifiers = [
        (one, classifier_label(one.name, canonical_json(dict(one.parameters)))) for one in config.classifiers
    ]
    titles = {spec.name: spec.title for spec in config.datasets if spec.title}
    return Names(_aliases(techniques), _aliases(classifiers), titles)


def _aliases(listed: Iterable[tuple[ComponentSpec, str]]) -> dict[str, str]:
    """Return names by label: where one stands for several, what their labels have besides is kept.

    >>> spec = ComponentSpec("massaging", alias="M")
    >>> _aliases([(spec, "massaging"), (spec, "massaging (ranker=logistic)")])
    {'massaging': 'M', 'massaging (ranker=logistic)': 'M (ranker=logistic)'}
    >>> _aliases([(spec, "massaging + s")])
    {'massaging + s': 'M'}
    """
    found = {label: spec for spec, label in listed if spec.alias}
    several = Counter(spec.alias for spec in found.values())
    return {
        label: spec.alias + (label.removeprefix(spec.name) if several[spec.alias] > 1 else "")
        for label, spec in found.items()
    }


def distinct_models(plan: RunPlan, cells: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return cells and what their classifiers are called, cells that differ in the classifier alone once.

    Where such cells share a model, which is the technique's own then, the first stands for all of them. A
    classifier is called by its name alone where the run has it with one set of parameters.
    """
    known = dict.fromkeys((cell["classifier"], cell["classifier_parameters"]) for cell in plan.cells)
    variants = Counter(name for name, _ in known)
    plain = {one: classifier_label(*one) if variants[one[0]] > 1 else one[0] for one in known}
    aliases = names_of(plan.config).classifiers
    labels = {one: aliases.get(classifier_label(*one), label) for one, label in plain.items()}
    shared = group_by(cells, lambda cell: (cell["key"], cell["attribute"], cell["representation"]))
    found = []
    for own in shared.values():
        first, *others = dict.fromkeys((cell["classifier"], cell["classifier_parameters"]) for cell in own)
        found.append((own[0], OWN_MODEL if others else labels[first]))
    return found


def named(name: str, parameters: str, registry: Registry) -> str:
    """Name a registry's entry by the parameters (JSON text) that differ from its defaults."""
    given: dict[str, Any] = json.loads(parameters)
    tune = given.pop("tune", None)
    if name in registry:
        default = registry[name].load()
    else:
        default = None
    odd = {
        key: value for key, value in given.items() if default is None or getattr(default, key, None) != value
    }
    said = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in odd.items()]
    inside = ", ".join([*said, *([] if tune is None else [str(tuning_of(tune))])])
    if inside:
        return f"{name} ({inside})"
    return name
