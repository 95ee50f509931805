"""A data set as the plan sees it: found, loaded, checked, its structure learned. Writes nothing."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fairbench_cli.data.card import BiasTarget, Card
from fairbench_cli.data.load import Dataset, load
from fairbench_cli.data.locate import folders, locate
from fairbench_cli.data.table import Roles
from fairbench_cli.errors import Problem, UserError, suggest, user_error
from fairbench_cli.experiment.config import Experiment
from fairbench_cli.experiment.datasets import DatasetChoice
from fairbench_cli.experiment.keys import SampleConfig
from fairbench_cli.experiment.seeds import digest
from fairbench_cli.network.files import FORMAT
from fairbench_cli.network.files import load as load_network
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.structure import LearnSettings, Structure, learn_structure, source_facts


@dataclass(frozen=True, eq=False)
class Source:
    """A data set of an experiment; its CPTs are not yet fitted.

    `decisive` is what of it decides numbers: the data's checksums, the card, the network's settings.
    `dataset` is None where neither network nor test rows need the data; there is either a `structure` that
    was learned from it or a `network` that came with the card, or neither where real rows are trained on.
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
    def name(self) -> tuple[str, str]:
        """Return the data set's name in the results and the protected attribute."""
        return self.choice.name, self.roles.attribute

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns of its rows."""
        if self.network is not None:
            return self.network.names
        assert self.dataset is not None  # noqa: S101 - where no network came with the card
        return self.dataset.table.names

    @property
    def network_key(self) -> str:
        """Return the name under which the fitted network is cached."""
        return digest([FORMAT, self.decisive])[:16]

    @property
    def has_arc(self) -> bool:
        """Tell whether β has a CPT axis to edit: the edited column is a parent of the outcome."""
        if self.network is not None:
            return self.target.column in self.network.parents_of(self.roles.label)
        if self.structure is None or self.dataset is None:
            return False  # real rows: there is no network
        names = self.dataset.table.names
        return names.index(self.target.column) in self.structure.parents[names.index(self.roles.label)]


def inspect(experiment: Experiment, data_dir: Path | None) -> list[Source]:
    """Find, load and check every data set of an experiment and learn its structure.

    Raises
    ------
    UserError
        Listing the mistakes of all data sets.
    """
    sources: list[Source] = []
    problems: list[Problem] = []
    for choice in experiment.datasets:
        try:
            sources.append(_source(choice, experiment, data_dir))
        except UserError as error:
            problems.extend(error.problems)
    if problems:
        raise UserError(*dict.fromkeys(problems))
    return sources


def _source(choice: DatasetChoice, experiment: Experiment, data_dir: Path | None) -> Source:
    sample, bias = experiment.sample, choice.bias
    dataset: Dataset | None = None
    if sample.source != "shipped" or experiment.test == "original":
        dataset = load(choice.card, locate(choice.card, folders(data_dir, choice.card_path)))
    if sample.source == "shipped":
        source = _shipped(choice, dataset)
    elif sample.source == "network":
        assert dataset is not None  # noqa: S101 - loaded just above
        source = _learned(choice, sample, dataset)
    else:
        assert dataset is not None  # noqa: S101
        source = _real(choice, sample, dataset)
    if experiment.explain:
        _check_strata(source, experiment.explain)
    if bias.missing_arc == "error" and any(beta > 0 for beta in sample.beta) and not source.has_arc:
        raise _no_arc(source)
    return source


def _check_strata(source: Source, explain: tuple[str, ...]) -> None:
    """See that explanatory attributes are columns, and neither the outcome nor the protected attribute."""
    columns = source.columns
    usable = [name for name in columns if name not in (source.roles.label, source.roles.attribute)]
    for name in explain:
        if name not in columns:
            what = f'explain: {source.choice.card.name} has no column "{name}"'
            raise user_error(what, suggest(name, usable))
        if name not in usable:
            what = f'explain: "{name}" is the outcome or the protected attribute of {source.choice.card.name}'
            raise user_error(what, f"use any of: {', '.join(usable)}")


def _real(choice: DatasetChoice, sample: SampleConfig, dataset: Dataset) -> Source:
    roles, rows = dataset.roles(choice.attribute), len(dataset.table)
    size = round(sample.share * rows)
    if not 0 < size < rows:
        where = str(choice.card_path)
        raise user_error(
            f"a share of {sample.share:g} of {rows} rows leaves nothing", "change `share`", where
        )
    facts = {"dataset": choice.card.name, "sha256": dict(dataset.sha256), "rows": rows}
    decisive = _decisive(choice.card, dataset)
    return Source(choice, roles, choice.card.bias_target(roles), decisive, facts, size, dataset, None, None)


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
    structure = learn_structure(dataset.table, settings)
    facts = source_facts(choice.card.name, dataset.sha256, len(dataset.table), settings)
    facts |= {"score": structure.score, "bic": structure.bic}
    if choice.bias.require_arc or choice.bias.outcome_sink:
        free = learn_structure(dataset.table, replace(settings, whitelist=(), outcome_sink=None))
        facts["bic_unconstrained"] = free.bic
    decisive = {**_decisive(choice.card, dataset), "network": asdict(settings)}
    size = choice.bias.size or len(dataset.table)
    return Source(choice, roles, target, decisive, facts, size, dataset, structure, None)


def _shipped(choice: DatasetChoice, dataset: Dataset | None) -> Source:
    card, path = choice.card, network_beside(choice.card_path)
    if not path.is_file():
        raise user_error(
            f"no fitted network ships with {card.name} ({path.name} is missing)",
            "write `sample: {from: network}` to learn it from the data",
            str(choice.card_path),
        )
    network, meta = load_network(path)
    if dataset is not None and dataset.table.columns != network.columns:
        raise user_error(
            f"the columns or levels of {card.name} are not those of its fitted network",
            "write `sample: {from: network}` to learn it from these data",
            str(path),
        )
    roles = _roles_in(network, choice)
    target = card.bias_target(roles)
    rows = meta.source.get("rows")
    size = choice.bias.size or rows
    if not isinstance(size, int) or size < 1:
        raise user_error(
            "the network does not say how many rows it comes from",
            "give `size` under `sample`, or learn it again with `fairbench network learn`",
            str(path),
        )
    sha256 = dataset.sha256 if dataset is not None else meta.source.get("sha256")
    facts = {**meta.source, "sha256": sha256, "network": path.name, "score": meta.score, "bic": meta.bic}
    decisive = {**_decisive(card, dataset), "shipped": digest(path.read_text(encoding="utf-8"))}
    return Source(choice, roles, target, decisive, facts, size, dataset, None, network)


def network_beside(card_path: Path) -> Path:
    """Return where the fitted network of a card is kept."""
    return card_path.with_name(f"{card_path.stem}.network.json")


def _roles_in(network: BayesNet, choice: DatasetChoice) -> Roles:
    """Tell the groups, and check that the network knows every column and level that the card names."""
    card = choice.card
    levels = {column.name: column.levels for column in network.columns}
    roles = card.roles(choice.attribute, levels.get(choice.attribute, ()))
    target = card.bias_target(roles)
    for column, named in (
        (roles.label, (roles.favourable,)),
        (roles.attribute, (*roles.deprived, *roles.favoured)),
        (target.column, (*target.deprived, *target.favoured)),
    ):
        if column not in levels:
            raise user_error(
                f'the network has no column "{column}"', suggest(column, levels), f"card {card.name}"
            )
        for value in named:
            if value not in levels[column]:
                raise user_error(
                    f'value "{value}" of column "{column}" is not in the network',
                    suggest(value, levels[column]),
                    f"card {card.name}",
                )
    groups = (*roles.deprived, *roles.favoured)
    for level in levels[roles.attribute]:
        if groups.count(level) != 1:
            which = "both groups" if level in groups else "neither group"
            raise user_error(
                f'"{level}" of {roles.attribute} is in {which}',
                "let `deprived` and `favoured` share out the levels",
                f"card {card.name}",
            )
    return roles


def _decisive(card: Card, dataset: Dataset | None) -> dict[str, Any]:
    """Return the card's part of the key and, where the data are used, their checksums and column order."""
    own: dict[str, Any] = {"card": card.decisive()}
    if dataset is not None:
        own |= {"sha256": dataset.sha256, "columns": list(dataset.table.names)}
    return own


def _no_arc(source: Source) -> UserError:
    name, column, label = source.choice.card.name, source.target.column, source.roles.label
    what = f"{name}: {column} is no parent of the outcome {label} in the network, so β has nothing to edit"
    if source.network is not None:
        fix = f"write `sample: {{from: network}}` and `{name}: {{require_arc: true}}` to learn one with it; "
    else:
        fix = (
            f"write `{name}: {{require_arc: true}}` (the arc {column} → {label} is put in) or "
            "`{outcome_sink: true}` (no arcs leave the outcome, so they may point at it); "
        )
    return user_error(what, fix + "`{missing_arc: leave}` runs without bias", str(source.choice.card_path))
