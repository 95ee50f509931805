"""Write an experiment back as a config with every default spelled out; it runs as it is."""

from typing import Any

from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.checks import POINTLESS
from fairbench_cli.experiment.choices import Choice
from fairbench_cli.experiment.config import Experiment, Technique
from fairbench_cli.experiment.datasets import DatasetChoice
from fairbench_cli.experiment.keys import Bias, SampleConfig
from fairbench_cli.strict_yaml import dump_yaml


def resolved(experiment: Experiment) -> dict[str, Any]:
    """Return the config as plain data."""
    return {
        "name": experiment.name,
        "seed": experiment.seed,
        "repeats": experiment.repeats,
        "datasets": [_dataset(choice, experiment.sample) for choice in experiment.datasets],
        "sample": _sample(experiment.sample),
        "test": experiment.test,
        "interventions": [_technique(technique) for technique in experiment.techniques],
        "classifiers": [_choice(choice) for choice in experiment.classifiers],
        "metrics": list(experiment.metrics),
        "explain": list(experiment.explain),
        "sweep": "acceptance-rate" if experiment.sweep else None,
        "tables": list(experiment.tables),
        "figures": list(experiment.figures),
    }


def resolved_yaml(experiment: Experiment) -> str:
    """Return the config as YAML text."""
    head = "# The config of these results with every default spelled out. It runs as it is.\n"
    return head + dump_yaml(resolved(experiment))


def _hidden(sample: SampleConfig) -> frozenset[str]:
    """Return the settings that mean nothing for this source, and that would be refused."""
    return POINTLESS[sample.source][0]


def _sample(sample: SampleConfig) -> dict[str, Any]:
    plain: dict[str, Any] = sample.model_dump(mode="json", by_alias=True, exclude=set(_hidden(sample)))
    return plain


def _dataset(choice: DatasetChoice, sample: SampleConfig) -> dict[str, Any]:
    shipped = choice.card_path.parent == shipped_cards().resolve()
    name = choice.card_path.stem if shipped else str(choice.card_path)
    options = choice.bias.model_dump(mode="json", include=set(Bias.model_fields) - _hidden(sample))
    own: dict[str, Any] = {"attribute": choice.attribute, **options}
    if choice.name != choice.card.name:
        own["as"] = choice.name
    for axis, names in (("interventions", choice.interventions), ("classifiers", choice.classifiers)):
        if names is not None:
            own[axis] = list(names)
    return {name: own}


def _technique(technique: Technique) -> dict[str, Any]:
    parameters = {**dict(technique.choice.parameters), "include_protected": technique.include_protected}
    return {technique.choice.name: parameters}


def _choice(choice: Choice) -> Any:
    return {choice.name: dict(choice.parameters)} if choice.parameters else choice.name
