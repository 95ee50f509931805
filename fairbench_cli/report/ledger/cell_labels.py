"""What cells, techniques, classifiers and data sets are called in every file, table and figure."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.parameters import unwritten_values
from fairbench_cli.base.registry import Registry
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.config.components import ComponentSpec, tuning_of
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.journal.journal import RETRIED, Records
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts

if TYPE_CHECKING:  # a plan names cells, and needs no arrays of results
    from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats
    from fairbench_cli.report.ledger.results import RunResults

BLOCK = ["dataset", "attribute", "compared", "world", "representation", "classifier", "classifier_parameters"]
"""The columns that the cells of one block of a table have in common: techniques and β stand in it."""

NOT_RUN = "…"

OWN_MODEL = "model of its own"
"""What stands in the place of a classifier where a technique brings its own."""

LABELS = "labels"
"""What stands in the place of a technique where labels are taken for decisions."""

NO_BIAS = "no bias"
"""What the world without a mechanism is called where there are others."""

TRAINED_ON_TRUTH = "trained-on-truth"
"""The model of the same classifier that was trained without the bias: a reference line, and no remedy."""


def label_counts(run: "RunResults", data: "DatasetRepeats", cell: Mapping[str, Any]) -> Counts:
    """Return the labels of the test rows of a cell, taken for decisions; recorded ones are of its world."""
    if run.labels == "true":
        return data.label_counts
    return data.label_counts_in_world(cell["world"], cell["beta"])


def labels_beside(
    run: "RunResults", data: "DatasetRepeats", cell: Mapping[str, Any]
) -> tuple[Literal["the data themselves", "the test rows"], Counts]:
    """Return the labels that the decisions of a cell stand beside, and which rows these are the labels of.

    Where real rows are divided, they are all of them; else they are the test rows, which may be the data.
    """
    source = run.plan.dataset(cell["dataset"], cell["attribute"])
    labelled = np.array(source.get("labels", ()), dtype=float)
    if len(labelled):
        n = np.stack([0 * labelled, labelled], axis=-1)[np.newaxis]
        return "the data themselves", Counts(data.protected.groups, n).of_labels()
    is_all = run.plan.config.tested == "original" and run.labels == "true" and not source.get("test_sha256")
    return "the data themselves" if is_all else "the test rows", label_counts(run, data, cell)


def why_no_value(statuses: Sequence[str]) -> str:
    """Return why no repeat gave a value, by the statuses of those that were run."""
    if RETRIED & set(statuses):
        return "failed"
    if set(statuses) == {"infeasible"}:
        return "infeasible"
    if not statuses:
        return "not run yet"
    return "undefined (0/0)"


REASONS_SHOWN = 5


def describe_failures(plan: RunPlan, records: Records) -> list[str]:
    """Return whose repeats gave no result and why, the most frequent reasons first; nothing where all did."""
    names = read_display_names(plan.config)
    cells = {cell["key"]: cell for cell in reversed(plan.all_cells)}
    n_datasets = len({cell["dataset"] for cell in plan.cells})
    failed_by_reason: dict[tuple[str, str], list[str]] = {}
    for (key, repeat), record in sorted(records.items()):
        if key in cells and repeat < plan.config.repeats and record.status in RETRIED:
            cell = cells[key]
            name = names.technique(*(cell[c] for c in ("intervention", "parameters", "include_protected")))
            on_dataset = f" on {names.dataset(cell['dataset'])}" if n_datasets > 1 else ""
            failed_by_reason.setdefault((record.status, record.reason), []).append(f"{name}{on_dataset}")
    lines = []
    by_size = sorted(failed_by_reason.items(), key=lambda item: -len(item[1]))
    for (status, reason), techniques in by_size[:REASONS_SHOWN]:
        owners = join_names(list(dict.fromkeys(techniques)), 3)
        lines.append(f"{format_count(len(techniques), 'repeat')} of {owners} {status}: {reason}")
    if len(by_size) > REASONS_SHOWN:
        lines.append(f"and {len(by_size) - REASONS_SHOWN} more reasons: see groups.csv")
    return lines


def technique_label(intervention: str, parameters: str, include_protected: bool) -> str:
    """Name a technique by what differs from its defaults.

    >>> technique_label("massaging", '{"ranker":"naive-bayes"}', True)
    'massaging + s'
    >>> tune = '{"for":"accuracy","fraction":0.3,"on":"validation","over":{"level":[0,1]}}'
    >>> technique_label("repair", f'{{"quantiles":50,"tune":{tune}}}', False)
    'repair (quantiles=50, level tuned for accuracy)'
    >>> technique_label("zafar-dm", '{"average":"group"}', False), technique_label("zafar-dm", "{}", False)
    ('zafar-dm (average=group)', 'zafar-dm')
    """
    label = component_label(intervention, parameters, INTERVENTIONS)
    if include_protected:
        label += " + s"
    return label


def classifier_label(name: str, parameters: str) -> str:
    """Name a classifier by what differs from its defaults."""
    return component_label(name, parameters, CLASSIFIERS)


@dataclass(frozen=True)
class DisplayNames:
    """The names of techniques, classifiers and data sets in tables and figures, where a config gives any.

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

    def technique(self, intervention: str, parameters: str, include_protected: bool) -> str:
        """Return the name that a technique is shown by."""
        label = technique_label(intervention, parameters, include_protected)
        return self.techniques.get(label, label)

    def classifier(self, name: str, parameters: str) -> str:
        """Return the name that a classifier is shown by."""
        label = classifier_label(name, parameters)
        return self.classifiers.get(label, label)

    def dataset(self, name: str) -> str:
        """Return the name that a data set is shown by."""
        return self.datasets.get(name, name)


def read_display_names(config: ExperimentConfig) -> DisplayNames:
    """Return the names that a config gives by `as` and `title`; all different, as the labels are."""
    techniques = []
    for technique in config.interventions:
        parameters = canonical_json(technique.described)
        label = technique_label(technique.spec.name, parameters, technique.include_protected)
        techniques.append((technique.spec, label))
    classifiers = []
    for classifier in config.classifiers:
        label = classifier_label(classifier.name, canonical_json(dict(classifier.parameters)))
        classifiers.append((classifier, label))
    titles = {spec.name: spec.title for spec in config.datasets if spec.title}
    n_of_title = Counter(titles.values())
    for name, title in titles.items():
        if n_of_title[title] > 1:
            titles[name] = f"{title} ({name})"
    return DisplayNames(_aliases(techniques), _aliases(classifiers), titles)


def _aliases(labelled_specs: Iterable[tuple[ComponentSpec, str]]) -> dict[str, str]:
    """Return aliases by label: one that stands for several keeps what their labels have after the name.

    >>> spec = ComponentSpec("massaging", alias="M")
    >>> _aliases([(spec, "massaging"), (spec, "massaging (ranker=logistic)")])
    {'massaging': 'M', 'massaging (ranker=logistic)': 'M (ranker=logistic)'}
    >>> _aliases([(spec, "massaging + s")])
    {'massaging + s': 'M'}
    """
    spec_of = {label: spec for spec, label in labelled_specs if spec.alias}
    n_labels = Counter(spec.alias for spec in spec_of.values())
    aliases = {}
    for label, spec in spec_of.items():
        aliases[label] = spec.alias
        if n_labels[spec.alias] > 1:
            aliases[label] += label.removeprefix(spec.name)
    return aliases


def distinct_models(plan: RunPlan, cells: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return cells and what their classifiers are called, cells that differ in the classifier alone once.

    Where such cells share a model, which is the technique's own then, the first stands for all of them. A
    classifier is called by its name alone where the run has it with one set of parameters.
    """
    # 1. Call each classifier by its alias, else by its name, with parameters where that has several.
    classifiers = dict.fromkeys(map(_classifier_of, plan.cells))
    n_variants = Counter(name for name, _ in classifiers)
    aliases = read_display_names(plan.config).classifiers
    labels = {}
    for name, parameters in classifiers:
        label = classifier_label(name, parameters)
        labels[name, parameters] = aliases.get(label, label if n_variants[name] > 1 else name)
    # 2. Cells of one key are one model: several classifiers among them had no part in it.
    cells_by_model = group_by(cells, lambda cell: (cell["key"], cell["attribute"], cell["representation"]))
    models = []
    for model_cells in cells_by_model.values():
        first_cell = model_cells[0]
        if len(set(map(_classifier_of, model_cells))) > 1:
            models.append((first_cell, OWN_MODEL))
        else:
            models.append((first_cell, labels[_classifier_of(first_cell)]))
    return models


def _classifier_of(cell: Mapping[str, Any]) -> tuple[str, str]:
    return cell["classifier"], cell["classifier_parameters"]


def component_label(name: str, parameters: str, registry: Registry) -> str:
    """Name a registry's entry by the parameters (JSON text) that differ from its defaults."""
    options: dict[str, Any] = json.loads(parameters)
    tune = options.pop("tune", None)
    if name in registry:
        default = registry[name].load()
        unwritten = unwritten_values(default)
    else:
        default = None
        unwritten = {}
    clauses = []
    for key, value in options.items():
        # Where an earlier default is not written, no value at all is that one: the present one must be named.
        if key not in unwritten and default is not None and getattr(default, key, None) == value:
            continue
        value_text = value if isinstance(value, str) else json.dumps(value)
        clauses.append(f"{key}={value_text}")
    if tune is not None:
        clauses.append(str(tuning_of(tune)))
    if clauses:
        return f"{name} ({', '.join(clauses)})"
    return name
