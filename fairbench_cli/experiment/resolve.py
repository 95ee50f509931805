"""Write an experiment back as a config with every default spelled out; it runs as it is."""

from typing import Any

import yaml

from fairbench_cli.experiment.choices import Choice
from fairbench_cli.experiment.config import Bias, DatasetChoice, Experiment, SampleConfig, Technique

NETWORK_SETTINGS = frozenset({"learner", "score", "max_parents", "require_arc", "outcome_sink"})


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
        "tables": list(experiment.tables),
    }


def resolved_yaml(experiment: Experiment) -> str:
    """Return the config as YAML text."""
    head = "# The config of these results with every default spelled out. It runs as it is.\n"
    return head + yaml.safe_dump(resolved(experiment), sort_keys=False, allow_unicode=True, width=100)


def _sample(sample: SampleConfig) -> dict[str, Any]:
    hidden = NETWORK_SETTINGS if sample.source == "shipped" else frozenset()
    plain: dict[str, Any] = sample.model_dump(mode="json", by_alias=True, exclude=set(hidden))
    return plain


def _dataset(choice: DatasetChoice, sample: SampleConfig) -> dict[str, Any]:
    shipped = choice.card_path.stem == choice.card.name and choice.card_path.suffix == ".yaml"
    name = choice.card.name if shipped and _is_shipped(choice) else str(choice.card_path.resolve())
    hidden = NETWORK_SETTINGS if sample.source == "shipped" else frozenset()
    options = choice.bias.model_dump(mode="json", include=set(Bias.model_fields) - hidden)
    return {name: {"attribute": choice.attribute, **options}}


def _is_shipped(choice: DatasetChoice) -> bool:
    from fairbench_cli.data.card import shipped_cards

    return choice.card_path.parent.resolve() == shipped_cards().resolve()


def _technique(technique: Technique) -> dict[str, Any]:
    parameters = {**dict(technique.choice.parameters), "include_protected": technique.include_protected}
    return {technique.choice.name: parameters}


def _choice(choice: Choice) -> Any:
    return {choice.name: dict(choice.parameters)} if choice.parameters else choice.name
