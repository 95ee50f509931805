"""What cells, techniques, classifiers and data sets are called in every file, table and figure."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.config.components import ComponentSpec, tuning_of
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.journal.journal import RETRIED
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.report.ledger.journal_arrays import (
    DatasetRepeats,
)
from fairbench_cli.report.ledger.results import RunResults

BLOCK = ["dataset", "attribute", "compared", "world", "representation", "classifier", "classifier_parameters"]

NOT_RUN = "…"

OWN_MODEL = "model of its own"

LABELS = "labels"

NO_BIAS = "no bias"
"""What the world without a mechanism is called where there are others."""

TRAINED_ON_TRUTH = "trained-on-truth"
"""The model of the same classifier that was trained without the bias: a reference line, and no remedy."""


def label_counts(run: RunResults, data: DatasetRepeats, cell: Mapping[str, Any]) -> Counts:
    """Return the labels of the test rows of a cell, taken for decisions; recorded ones are of its world."""
    if run.labels == "true":
        return data.label_counts
    return data.label_counts_in_world(cell["world"], cell["beta"])


def why_no_value(statuses: Sequence[str], n: int) -> str:
    """Return why none of `n` repeats gave a value, by the statuses of those that were run."""
    if RETRIED & set(statuses):
        return "failed"
    if set(statuses) == {"infeasible"}:
        return "infeasible"
    if len(statuses) < n:
        return "not run yet"
    return "undefined (0/0)"


def technique_label(intervention: str, parameters: str, seen: bool) -> str:
    """Name a technique by what differs from its defaults.

    >>> technique_label("massaging", '{"ranker":"naive-bayes"}', True)
    'massaging + s'
    >>> tune = '{"for":"accuracy","fraction":0.3,"on":"validation","over":{"level":[0,1]}}'
    >>> technique_label("repair", f'{{"quantiles":50,"tune":{tune}}}', False)
    'repair (quantiles=50, level tuned for accuracy)'
    """
    return component_label(intervention, parameters, INTERVENTIONS) + (" + s" if seen else "")


def classifier_label(name: str, parameters: str) -> str:
    """Name a classifier by what differs from its defaults."""
    return component_label(name, parameters, CLASSIFIERS)


@dataclass(frozen=True)
class DisplayNames:
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


def read_display_names(config: ExperimentConfig) -> DisplayNames:
    """Return the names that a config gives by `as` and `title`; all different, as the labels are."""
    techniques = [
        (one.spec, technique_label(one.spec.name, canonical_json(one.described), one.include_protected))
        for one in config.interventions
    ]
    classifiers = [
        (one, classifier_label(one.name, canonical_json(dict(one.parameters)))) for one in config.classifiers
    ]
    titles = {spec.name: spec.title for spec in config.datasets if spec.title}
    return DisplayNames(_aliases(techniques), _aliases(classifiers), titles)


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
    aliases = read_display_names(plan.config).classifiers
    labels = {one: aliases.get(classifier_label(*one), label) for one, label in plain.items()}
    shared = group_by(cells, lambda cell: (cell["key"], cell["attribute"], cell["representation"]))
    found = []
    for own in shared.values():
        first, *others = dict.fromkeys((cell["classifier"], cell["classifier_parameters"]) for cell in own)
        found.append((own[0], OWN_MODEL if others else labels[first]))
    return found


def component_label(name: str, parameters: str, registry: Registry) -> str:
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
