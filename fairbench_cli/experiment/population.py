"""What the training sets of a data set are drawn from: its network, its groups and its test rows.

Made once per data set by the parent process; workers get it as plain arrays.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fairbench_cli.data.card import BiasTarget, Card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Roles, Sample, Table, to_sample
from fairbench_cli.errors import UserError, user_error
from fairbench_cli.experiment.config import DatasetChoice, Experiment, SampleConfig
from fairbench_cli.experiment.seeds import digest
from fairbench_cli.network.files import Meta
from fairbench_cli.network.files import load as load_network
from fairbench_cli.network.files import save as save_network
from fairbench_cli.network.learn import LearnSettings, source_facts
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.structure import Structure, learn_structure


@dataclass(frozen=True, eq=False)
class Source:
    """A data set as the plan sees it: checked, its structure known, its CPTs not yet fitted.

    `decisive` is what of it decides numbers: the data's checksums, the card, the network's settings.
    """

    choice: DatasetChoice
    roles: Roles
    target: BiasTarget
    decisive: dict[str, Any]
    facts: dict[str, Any]
    size: int
    dataset: Dataset | None
    structure: Structure | None
    network: BayesNet | None

    @property
    def network_key(self) -> str:
        """Return the name under which the fitted network is cached."""
        return digest(self.decisive)[:16]


@dataclass(frozen=True, eq=False)
class Population:
    """What a worker needs to draw, train and test one repeat.

    `biased` is False where the edited column is no parent of the outcome and the config says ``leave``;
    `test` is None where test rows are drawn from the network.
    """

    network: BayesNet
    roles: Roles
    target: BiasTarget
    both: bool
    biased: bool
    size: int
    test: Sample | None


def inspect(experiment: Experiment, data_dir: Path | None) -> list[Source]:
    """Find, load and check every data set of an experiment and learn its structure.

    Raises
    ------
    UserError
        Listing the mistakes of all data sets.
    """
    sources, problems = [], []
    for choice in experiment.datasets:
        try:
            sources.append(_source(choice, experiment, data_dir))
        except UserError as error:
            problems.extend(error.problems)
    if problems:
        raise UserError(*problems)
    return sources


def _source(choice: DatasetChoice, experiment: Experiment, data_dir: Path | None) -> Source:
    sample, bias = experiment.sample, choice.bias
    dataset: Dataset | None = None
    if sample.source == "network" or experiment.test == "original":
        found = locate(choice.card, folders(data_dir, choice.card_path))
        dataset = load(choice.card, found)
    if sample.source == "shipped":
        source = _shipped(choice, dataset)
    else:
        assert dataset is not None  # noqa: S101 - loaded just above
        source = _learned(choice, sample, dataset)
    if bias.missing_arc == "error" and any(beta > 0 for beta in sample.beta):
        _check_arc(source)
    return source


def _shipped(choice: DatasetChoice, dataset: Dataset | None) -> Source:
    path = network_beside(choice.card_path)
    if not path.is_file():
        raise user_error(
            f"no fitted network ships with {choice.card.name} ({path.name} is missing)",
            "write `sample: {from: network}` to learn it from the data",
            str(choice.card_path),
        )
    network, meta = load_network(path)
    if dataset is None:
        column = network.columns[network.index(choice.attribute)]
        roles = choice.card.roles(choice.attribute, column.levels)
    else:
        roles = dataset.roles(choice.attribute)
    facts = {**meta.source, "network": path.name, "score": meta.score, "bic": meta.bic}
    decisive = {"shipped": digest(path.read_text(encoding="utf-8"))}
    if dataset is not None:
        decisive |= _data_key(choice.card, dataset.sha256)
    size = choice.bias.size or int(meta.source["rows"])
    target = choice.card.bias_target(roles)
    return Source(choice, roles, target, decisive, facts, size, dataset, None, network)


def _learned(choice: DatasetChoice, sample: SampleConfig, dataset: Dataset) -> Source:
    roles = dataset.roles(choice.attribute)
    target = choice.card.bias_target(roles)
    settings = LearnSettings(
        learner=sample.learner,
        score=sample.score,
        max_parents=sample.max_parents,
        whitelist=((target.column, roles.label),) if choice.bias.require_arc else (),
        outcome_sink=roles.label if choice.bias.outcome_sink else None,
    )
    structure = learn_structure(dataset.table, **asdict(settings))
    facts = source_facts(choice.card.name, dataset.sha256, len(dataset.table), settings) | {"score": structure.score, "bic": structure.bic}
    if choice.bias.require_arc or choice.bias.outcome_sink:
        free = learn_structure(dataset.table, **asdict(replace(settings, whitelist=(), outcome_sink=None)))
        facts["bic_unconstrained"] = free.bic
    decisive = {**_data_key(choice.card, dataset.sha256), "network": asdict(settings)}
    size = choice.bias.size or len(dataset.table)
    return Source(choice, roles, target, decisive, facts, size, dataset, structure, None)


def _data_key(card: Card, sha256: dict[str, str]) -> dict[str, Any]:
    return {"sha256": sha256, "card": card.decisive()}


def network_beside(card_path: Path) -> Path:
    """Return where the fitted network of a card is kept."""
    return card_path.with_name(f"{card_path.stem}.network.json")


def _parents_of_label(source: Source) -> list[str]:
    if source.network is not None:
        label = source.network.names.index(source.roles.label)
        return [source.network.names[parent] for parent in source.network.parents[label]]
    assert source.structure is not None  # noqa: S101 - one of the two is always there
    assert source.dataset is not None  # noqa: S101
    names = source.dataset.table.names
    return [names[parent] for parent in source.structure.parents[names.index(source.roles.label)]]


def has_arc(source: Source) -> bool:
    """Tell whether β has a CPT axis to edit: the edited column is a parent of the outcome."""
    return source.target.column in _parents_of_label(source)


def _check_arc(source: Source) -> None:
    if has_arc(source):
        return
    name, column, label = source.choice.card.name, source.target.column, source.roles.label
    raise user_error(
        f"{name}: {column} is no parent of the outcome {label} in the network, so β has nothing to edit",
        f"write `{name}: {{require_arc: true}}` (the arc {column} → {label} is put in) or "
        "`{outcome_sink: true}` (no arcs leave the outcome, so they may point at it); "
        "`{missing_arc: leave}` runs without bias",
        str(source.choice.card_path),
    )


def populate(source: Source, experiment: Experiment, networks: Path) -> Population:
    """Fit the CPTs of a source, or read them from the folder of networks, and set out its test rows."""
    network = source.network or _fitted(source, networks)
    test = None
    if experiment.test == "original":
        assert source.dataset is not None  # noqa: S101 - loaded by `inspect` for this very case
        test = to_sample(_in_network_levels(source.dataset.table, network), source.roles)
    return Population(
        network=network,
        roles=source.roles,
        target=source.target,
        both=source.choice.bias.shift == "both",
        biased=has_arc(source),
        size=source.size,
        test=test,
    )


def _fitted(source: Source, networks: Path) -> BayesNet:
    from fairbench_cli.network.fit import fit

    path = networks / f"{source.choice.card.name}-{source.roles.attribute}-{source.network_key}.json"
    if path.is_file():
        return load_network(path)[0]
    assert source.structure is not None  # noqa: S101 - a source without network has a structure
    assert source.dataset is not None  # noqa: S101
    network = fit(source.dataset.table, source.structure.parents)
    networks.mkdir(parents=True, exist_ok=True)
    settings = source.decisive["network"]
    structure = source.structure
    meta = Meta(settings["learner"], settings["score"], structure.score, structure.bic, source.facts)
    save_network(network, path, meta)
    return network


def _in_network_levels(table: Table, network: BayesNet) -> Table:
    if table.columns != network.columns:
        raise user_error(
            "the data's columns or levels are not those of the fitted network",
            "write `sample: {from: network}` to learn it from these data",
        )
    return table
