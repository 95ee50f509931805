"""The data sets of an experiment: found, checked, their networks learned; and what is drawn from."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic_core import to_jsonable_python

from fairbench_cli.base.checksums import FIELD, digest
from fairbench_cli.base.errors import Problem, UserError, refuse, suggest, user_error
from fairbench_cli.base.files import make_folder, read_text
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import Card, DataFile, find_card, read_card, shipped_network
from fairbench_cli.data.locate import (
    LocatedFiles,
    MissingFilesError,
    data_folders,
    describe_missing,
    file_sha256,
    has_network,
    locate_files,
)
from fairbench_cli.data.roles import resolve_roles
from fairbench_cli.data.table import (
    Column,
    Representation,
    Roles,
    Rows,
    Sample,
    Table,
    represent,
    to_sample,
    training_size,
)
from fairbench_cli.experiment.config.config import DatasetSpec, ExperimentConfig, SampleConfig
from fairbench_cli.experiment.config.metrics import RequestedRowMetrics
from fairbench_cli.experiment.config.read import unknown_attribute
from fairbench_cli.experiment.config.worlds import SOME, CellWorld, WorldSpec, worlds_at
from fairbench_cli.interventions.cells import CELLS
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.groups import JointAttribute, ProtectedAttribute, ProtectedAttributes
from fairbench_cli.network.bias import RELATIVES, BetaBias, BiasKind, Edit, Groups, bias_kind, edited_tables
from fairbench_cli.network.files import FORMAT, Meta, decisive_text
from fairbench_cli.network.files import load as load_network
from fairbench_cli.network.files import save as save_network
from fairbench_cli.network.fit_quality import FitQuality, describe_distortion
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.structure import LearnSettings, Structure, describe_source, learn_structure
from fairbench_cli.network.world import DataRoles, World, make_world

if TYPE_CHECKING:  # pandas comes with it, and workers need neither
    from fairbench_cli.data.load import Dataset


LoadedAs = tuple[str, str]  # the card as a config names it, and what unknown outcomes become


@dataclass(frozen=True)
class _Located:
    """The card of a data set, and where its files are; None where no rows are read."""

    spec: DatasetSpec
    path: Path
    card: Card
    files: LocatedFiles | None = None
    test_files: LocatedFiles | None = None


@dataclass(frozen=True, eq=False)
class PreparedDataset:
    """A data set of an experiment, found, loaded and checked; its CPTs are not yet fitted.

    Parameters
    ----------
    decisive : dict
        What of it decides numbers: the data's checksums, the card, the network's settings.
    facts : dict
        What the plan says about its data and network.
    columns : tuple of Column
        Of its rows.
    size : int
        Rows of a training set.
    dataset : Dataset or None
        None where neither the network nor the test rows need the data.
    network : Structure, BayesNet or None
        The structure that was learned from the data, or the network that came with the card; None where real
        rows are trained on.
    stand_in : FitQuality or None
        How good draws of the network that came with the card are, where that was measured.
    together : int array or None
        A number for each row; those with the same one are on one side of a split.
    doubts : tuple of str
        What makes its real rows no sample of independent people.
    """

    spec: DatasetSpec
    card: Card
    roles: Roles
    decisive: dict[str, Any]
    facts: dict[str, Any]
    columns: tuple[Column, ...]
    size: int
    dataset: "Dataset | None"
    network: Structure | BayesNet | None
    stand_in: FitQuality | None = None
    together: Rows | None = None
    doubts: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        """Return the data set's name in the results and the protected attribute."""
        return self.spec.name, self.roles.attribute

    @cached_property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Return the levels of each column."""
        return {column.name: column.levels for column in self.columns}

    @property
    def beta_on(self) -> dict[str, float]:
        """Return the attributes that β acts on, each with its share of β."""
        return self.spec.beta_on or {self.roles.attribute: 1.0}

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Return the groups that β acts on, by column, each with the share of β."""
        weighted_attributes = self.beta_on.items()
        return tuple((self.card.bias_groups(name, self.levels), share) for name, share in weighted_attributes)

    @property
    def beta_bias(self) -> BetaBias:
        """Return against whom β works, and how: nobody where an arc is missing."""
        edits = () if self.without_arc else self.edits
        return BetaBias(edits, self.spec.bias_direction == "both", self.spec.edit)

    @property
    def groups(self) -> Groups:
        """Return the deprived and the favoured levels of the protected attribute, or of each of its parts."""
        return self.card.groups(self.roles.attribute, self.levels)

    @property
    def edited(self) -> tuple[str, ...]:
        """Return the columns that β acts on."""
        return tuple(dict.fromkeys(chain.from_iterable(groups for groups, _ in self.edits)))

    @cached_property
    def tables(self) -> dict[str, str]:
        """Return by edited column the node whose table β edits; a column without such an arc is left out."""
        if self.network is None:
            return {}
        names = list(self.levels)
        return edited_tables(names, self.network.parents, self.roles.label, self.edited, self.spec.edit)

    @property
    def without_arc(self) -> list[str]:
        """Return those of the edited columns without an arc that `edit` may use: β has no axis to edit."""
        return [name for name in self.edited if name not in self.tables]

    @property
    def regrouped(self) -> tuple[str, ...]:
        """Return the columns whose own table β edits: some people are recorded as of another group."""
        if self.without_arc:
            return ()
        return tuple(name for name, table in self.tables.items() if name == table)

    @property
    def bias_kind(self) -> BiasKind | Literal[""]:
        """Return the kind of bias that β makes; empty where it changes nothing."""
        if self.network is None or self.without_arc:
            return ""
        names = list(self.levels)
        return bias_kind(names, self.network.parents, self.roles.label, self.edited, self.spec.edit)

    @property
    def protected(self) -> ProtectedAttributes:
        """Return the card's protected attributes whose groups fit the data, in the card's order.

        The one that the run works on always fits: it has been checked. Of the others, one that is no column
        of the data or has a level in neither group is left out: nothing is counted by it. Joint ones are
        named where all their parts are there.
        """
        protected_attributes = []
        for name, protected in self.card.protected.items():
            if name not in self.levels:
                continue
            levels = self.levels[name]
            roles = self.card.roles(name, self.levels)
            deprived = tuple(level for level in levels if level in roles.deprived)
            favoured = tuple(level for level in levels if level in roles.favoured)
            if deprived and favoured and len(deprived) + len(favoured) == len(levels):
                attribute = ProtectedAttribute(name, levels, deprived, favoured)
                if protected.called:
                    called = protected.called
                    attribute = replace(
                        attribute, deprived_called=called.deprived, favoured_called=called.favoured
                    )
                protected_attributes.append(attribute)
        names = {attribute.name for attribute in protected_attributes}
        joint = [
            JointAttribute(name, protected.of)
            for name, protected in self.card.protected.items()
            if protected.of and names.issuperset(protected.of)
        ]
        return ProtectedAttributes(tuple(protected_attributes), tuple(joint))

    def describe(self) -> dict[str, Any]:
        """Return the plan's entry about it."""
        return {
            **self.facts,
            "dataset": self.spec.name,
            "label": self.roles.label,
            "favourable": self.roles.favourable,
            **({"favourable_called": self.card.label.called} if self.card.label.called else {}),
            "attribute": self.roles.attribute,
            "protected": to_jsonable_python(self.protected.attributes),
            "joint": to_jsonable_python(self.protected.joint),
            "bias_direction": self.spec.bias_direction,
            "edited_column": self.edited[0] if len(self.edited) == 1 else list(self.edited),
            "arc_to_outcome": self.spec.bias is not None or not self.without_arc,  # mechanisms need none
            **({"bias_kind": self.bias_kind} if self.network is not None and self.spec.bias is None else {}),
            **({"edit": self.spec.edit} if self.spec.edit != "outcome" else {}),
            **({"regrouped": _describe_regrouping(self)} if self.regrouped else {}),
            "sample_size": self.size,
            **({"test_sha256": self.dataset.test_sha256} if self.dataset and self.dataset.test else {}),
            "inputs": {name: digest(value) for name, value in self.decisive.items()},
        }


def _describe_regrouping(prepared: PreparedDataset) -> dict[str, str]:
    """Say by column of which group β records a share wrongly, and what the recorded group decides."""
    attributes = {attribute.name: attribute for attribute in prepared.protected.attributes}
    outcome = f"{prepared.roles.label} is {prepared.roles.favourable}"
    texts = dict.fromkeys(prepared.regrouped, "")
    for groups, share in prepared.edits:
        for column in texts.keys() & groups.keys():
            who = f"people whose {column} is {' or '.join(groups[column][0])} and"
            becomes = f"with another {column}"
            attribute = attributes.get(column)
            if attribute and attribute.deprived_called and attribute.deprived == groups[column][0]:
                who = f"{attribute.deprived_called} whose"
                becomes = f"as {attribute.favoured_called}"
            texts[column] = f"the share of {who} {outcome} who are recorded {becomes}"
            if share != 1:
                texts[column] += f" ({share:g} β of them)"
            if prepared.spec.bias_direction == "both":
                texts[column] += ", and of the favoured with another outcome the other way round"
    for j, parents in enumerate(prepared.network.parents if prepared.network else ()):
        for column in texts.keys() & {prepared.columns[i].name for i in parents}:
            texts[column] += f" ({prepared.columns[j].name} follows from the recorded {column})"
    return texts


def prepare_datasets(
    config: ExperimentConfig, data_dir: Path | None, tell: ProgressCallback = ignore_progress
) -> list[PreparedDataset]:
    """Find, load and check every data set of an experiment and learn its structure. Writes nothing.

    It tells which one it reads or learns from.

    Raises
    ------
    UserError
        Listing the mistakes of all data sets.
    """
    prepared: list[PreparedDataset] = []
    problems: list[Problem] = []
    located: list[_Located] = []
    missing: list[tuple[DatasetSpec, MissingFilesError]] = []
    for spec in config.datasets:
        try:
            located.append(_locate(spec, config, data_dir))
        except MissingFilesError as error:
            missing.append((spec, error))
            problems.extend(error.problems[1:])
        except UserError as error:
            problems.extend(error.problems)
    if missing:
        problems.append(describe_missing([error for _, error in missing], _without_files(missing, config)))
    refuse(dict.fromkeys(problems))  # before anything is read, which takes longer
    rows: dict[LoadedAs, Dataset] = {}  # several entries may be of one card
    for dataset_files in located:
        try:
            tell(f"reading {dataset_files.spec.name}", None)
            prepared.append(_prepare(dataset_files, config, rows, tell))
        except UserError as error:
            problems.extend(error.problems)
    # Which groups fit the data is known only where all data sets could be read.
    refuse(dict.fromkeys(problems))
    for i, attribute in enumerate(config.attributes):
        unknown = unknown_attribute(attribute, [dataset.protected.all_names for dataset in prepared])
        if unknown is not None:
            problem = f"attributes: {unknown[0]} with groups that fit the data"
            problems.append(Problem(problem, "correct its card", config.where("attributes", i)))
    refuse(dict.fromkeys(problems))
    return prepared


def _locate(spec: DatasetSpec, config: ExperimentConfig, data_dir: Path | None) -> _Located:
    """Read the card of a data set and find what it needs."""
    path = find_card(spec.card)
    card = read_card(path).with_unknown_as(spec.unknown_as)
    source = config.source_of(spec)
    if source != "data":
        card = card.for_network()
    if source == "shipped" and not shipped_network(path).is_file():
        problem = f"no fitted network ships with {card.name} ({shipped_network(path).name} is missing)"
        raise user_error(problem, _learn(spec, card), config.where("sample", "from") or str(path))
    if source == "shipped" and config.tested == "network":
        return _Located(spec, path, card)
    folders = data_folders(data_dir, path)
    test_files = _test_file(config)
    tested_files: tuple[DataFile, ...] = ()
    if config.tested == "original":
        tested_files = card.tested_files
    located = locate_files(card, folders, tuple(dict.fromkeys(card.files + tested_files)))
    if tested_files:
        test_files = located.select(tested_files)
    return _Located(spec, path, card, located.select(card.files), test_files)


def _prepare(
    located: _Located, config: ExperimentConfig, rows: "dict[LoadedAs, Dataset]", tell: ProgressCallback
) -> PreparedDataset:
    spec = located.spec
    path = located.path
    card = located.card
    source = config.source_of(spec)
    loaded_as = spec.card, card.label.unknown_as
    dataset: Dataset | None = None
    if located.files is not None:
        from fairbench_cli.data.load import load

        if loaded_as not in rows:
            rows[loaded_as] = load(card, located.files, located.test_files)
        dataset = rows[loaded_as]
    if dataset is None or source == "shipped":
        prepared = _shipped(spec, card, path, dataset)
    elif source == "network":
        tell(f"learning the network of {spec.name}", None)
        prepared = _learned(spec, card, config.sample, dataset)
    else:
        prepared = _real(spec, card, config, dataset)
    _check_strata(prepared, config)
    _check_names(prepared, {technique.representation for technique in config.interventions})
    if source != "data":
        for attribute in spec.beta_on or ():
            resolve_roles(card, attribute, prepared.columns, prepared.levels.__getitem__, "network")
    if spec.bias is not None:
        _check_bias(prepared, spec.bias, config)
    elif spec.missing_arc == "error" and any(config.sample.beta) and prepared.without_arc:
        raise _no_arc(prepared, config.where("datasets") or str(path))
    return prepared


def _without_files(missing: Sequence[tuple[DatasetSpec, MissingFilesError]], config: ExperimentConfig) -> str:
    """Say how data sets are run without their files; where one has no network, what runs without any."""
    if any(error.card.reference != error.card.name for _, error in missing):
        return ""  # of somebody's own card
    if not all(has_network(error.card) for _, error in missing):
        return "; `fairbench run quickstart` needs none: its networks ship with fairbench"
    lines = []
    if config.sample.source == "data":
        lines.append("`sample: {from: shipped}`")
    entries = []
    for spec, error in missing:
        if config.source_of(spec) == "network":
            entries.append(f"`{_entry(spec, error.card, 'shipped')}`")
    if entries:
        lines.append(f"{', '.join(entries)} under `datasets`")
    if config.tested != "network":
        lines.append("`test: network`")
    pronoun = "it" if len(missing) == 1 else "them"
    return f"; or run without {pronoun}: {' and '.join(lines)}"


def _test_file(config: ExperimentConfig) -> LocatedFiles | None:
    """Return the file of the test rows that the config names; None without such a file."""
    if config.test is None or config.tested != "file":
        return None
    path = Path(config.test)
    try:
        return LocatedFiles((path,), {path.name: file_sha256(path)})
    except OSError as error:
        fix = "check the path, which is looked for next to the config"
        raise user_error(f"cannot read {path}: {error.strerror}", fix, config.where("test")) from None


def _check_strata(prepared: PreparedDataset, config: ExperimentConfig) -> None:
    """Check that strata are columns, and neither the outcome nor the protected attribute."""
    name = prepared.card.name
    roles = prepared.roles
    usable = [column for column in prepared.levels if column not in (roles.label, roles.attribute)]
    for i, column in enumerate(config.strata):
        where = config.where("strata", i)
        if column not in prepared.levels:
            raise user_error(f'strata: {name} has no column "{column}"', suggest(column, usable), where)
        if column not in usable:
            problem = f'strata: "{column}" is the outcome or the protected attribute of {name}'
            raise user_error(problem, f"use any of: {', '.join(usable)}", where)


def _check_bias(prepared: PreparedDataset, worlds: Iterable[WorldSpec], config: ExperimentConfig) -> None:
    """Check that mechanisms fit the data and their network, and what they leave out is not asked for.

    Raises
    ------
    UserError
        Listing what is wrong with the mechanisms of all worlds.
    """
    roles = prepared.roles
    problems = list[Problem]()
    data = DataRoles(prepared.columns, roles.label, roles.favourable, prepared.groups)
    counted = {roles.attribute}.union(prepared.protected.names, roles.of)
    network = network_of(prepared)
    betas = [beta for beta in config.sample.beta if beta]
    for world in worlds:
        before = len(problems)
        for mechanism, key_path in zip(world.cell_world(SOME).mechanisms, world.key_paths, strict=True):
            built = mechanism.build(MECHANISMS)
            mechanism_problems = list(built.check(data))
            left_out = None
            if mechanism.name == "omission":
                left_out = built.column
            if not mechanism_problems and left_out in counted:
                problem = f'"{left_out}" is a protected attribute, by which rows are counted'
                mechanism_problems.append(Problem(problem, "leave out another column"))
            if not mechanism_problems and left_out in config.strata:
                problem = f'strata: "{left_out}" is left out of what is recorded'
                mechanism_problems.append(
                    Problem(problem, "measure within other strata, or leave out another column")
                )
            called = f"{prepared.card.name}: {mechanism.name}"
            problems += [
                Problem(f"{called}: {p.what}", p.fix, config.where(*key_path)) for p in mechanism_problems
            ]
        if len(problems) > before:
            continue
        for cell_world in worlds_at([world], betas or [SOME]):
            try:
                built_world(prepared, cell_world, network)
            except UserError as error:
                where = config.where(*world.key_paths[0])
                called = f"{prepared.card.name}: {cell_world}"
                problems += [Problem(f"{called}: {p.what}", p.fix, where) for p in error.problems]
    refuse(dict.fromkeys(problems))


def _check_names(prepared: PreparedDataset, representations: Iterable[Representation]) -> None:
    """Check that columns of numbers get different names, on a sample without rows."""
    columns = tuple(column for column in prepared.columns if column.name != prepared.roles.label)
    if prepared.roles.of:
        columns += (Column(prepared.roles.attribute, ()),)
    none = np.zeros(0, np.int8)
    features = Table(columns, np.zeros((0, len(columns)), np.int16))
    empty = Sample(features, prepared.roles.attribute, none, none)
    for how in representations:
        represent(empty, how, _favoured(prepared))


def _real(spec: DatasetSpec, card: Card, config: ExperimentConfig, dataset: "Dataset") -> PreparedDataset:
    rows = len(dataset.table)
    sample = config.sample
    size = training_size(rows, sample.train_fraction)
    if not 0 < size < rows:
        problem = f"a train_fraction of {sample.train_fraction:g} of {rows} rows leaves nothing"
        raise user_error(problem, "change `train_fraction`", config.where("sample", "train_fraction"))
    if sample.balanced is not None and min(_balanced(sample.balanced, size, rows)) < len(CELLS):
        train, test = _balanced(sample.balanced, size, rows)
        problem = f"{sample.balanced} balanced rows are {train} to train on and {test} to test on, and four"
        raise user_error(f"{problem} are needed", "raise `balanced`", config.where("sample", "balanced"))
    for name, test_digest in dataset.test_sha256.items():
        if config.tested == "file" and test_digest in dataset.sha256.values():
            problem = f"{name} is the data of {card.name}: rows that are trained on would be tested"
            raise user_error(problem, "give other rows, or write test: holdout", config.where("test"))
    facts = {"dataset": card.name, "sha256": dict(dataset.sha256), "rows": rows}
    roles = dataset.roles(spec.works_on)
    try:
        together = number_groups(dataset, sample.split_by)
    except UserError as error:
        raise UserError(*error.reported_at(config.where("sample", "split_by"))) from None
    return PreparedDataset(
        spec,
        card,
        roles,
        _decisive(card, dataset),
        facts,
        dataset.table.columns,
        size,
        dataset,
        None,
        together=together,
        doubts=find_doubts(dataset, sample.split_by),
    )


@lru_cache(maxsize=4)
def number_groups(dataset: "Dataset", column: str | None) -> Rows | None:
    """Return `Dataset.number_groups`, read once for all attributes of a data set."""
    if column is None:
        return None
    return dataset.number_groups(column)


@lru_cache(maxsize=4)
def find_doubts(dataset: "Dataset", split_by: str | None) -> tuple[str, ...]:
    """Return why rows are no independent people, where nobody has looked: a checksum says that one has."""
    from fairbench_cli.data.checks.copies import find_copies, find_repeated_people

    card = dataset.card
    is_known = card.counts is not None or all(file.sha256 for file in card.files)
    if is_known or dataset.files is None or dataset.test is not None:
        return ()
    rows = dataset.read_rows()
    lines = []
    copies = find_copies(rows.drop(columns=list(card.sources)))
    if copies.any():
        problem = (
            f"{copies.sum():,} of {len(rows):,} rows are copies, and models are tested on what they were"
        )
        lines.append(f"{card.name}: {problem} trained on; `copies: drop` in the card leaves them out")
    for people in find_repeated_people(rows, ("", *card.missing)):
        if split_by is None and not copies.any():
            problem = f"{people.column} names {people.people:,} in {people.rows:,} rows; to keep each on one"
            setting = shlex.quote(f"sample.split_by={people.column}")
            lines.append(f"{card.name}: {problem} side of a split: --set {setting}")
    return tuple(lines)


def _balanced(balanced: int, size: int, rows: int) -> tuple[int, int]:
    """Divide balanced rows into those to train on and to test on, in proportion to the real ones."""
    train = round(balanced * size / rows)
    return train, balanced - train


def _learned(spec: DatasetSpec, card: Card, sample: SampleConfig, dataset: "Dataset") -> PreparedDataset:
    roles = dataset.roles(spec.works_on)
    columns = dataset.table.columns
    levels = {column.name: column.levels for column in columns}
    if roles.of:  # a network draws combinations that the data do not have
        roles = card.roles(spec.works_on, levels)
    beta_attributes = spec.beta_on or (roles.attribute,)
    edited = dict.fromkeys(chain.from_iterable(card.bias_groups(name, levels) for name in beta_attributes))
    settings = LearnSettings(
        learner=sample.learner,
        score=sample.score,
        max_parents=sample.max_parents,
        whitelist=tuple((column, roles.label) for column in edited) if spec.require_arc else (),
        outcome_sink=roles.label if spec.outcome_sink else None,
    )
    structure = learn_structure(dataset.table, settings)
    facts = describe_source(card.name, dataset.sha256, len(dataset.table), settings)
    facts |= {"score": structure.score, "bic": structure.bic}
    if spec.require_arc or spec.outcome_sink:
        free = learn_structure(dataset.table, replace(settings, whitelist=(), outcome_sink=None))
        facts["bic_unconstrained"] = free.bic
    decisive = {**_decisive(card, dataset), "network": asdict(settings)}
    size = spec.size or len(dataset.table)
    return PreparedDataset(spec, card, roles, decisive, facts, columns, size, dataset, structure)


def list_warnings(datasets: Iterable[PreparedDataset]) -> list[str]:
    """Return a line for each network that came with a card and misleads, and for rows that come again."""
    lines: list[str] = []
    for prepared in datasets:
        lines += prepared.doubts
        if prepared.stand_in is not None:
            lines.append(describe_distortion(prepared.card.name, prepared.stand_in))
    return [line for line in dict.fromkeys(lines) if line]


def _learn(spec: DatasetSpec, card: Card) -> str:
    return f"write `{_entry(spec, card, 'network')}` under `datasets`, to learn it from the data"


def _shipped(spec: DatasetSpec, card: Card, card_path: Path, dataset: "Dataset | None") -> PreparedDataset:
    path = shipped_network(card_path)
    network, meta = load_network(path)
    if dataset is not None and dataset.table.columns != network.columns:
        problem = f"the columns or levels of {card.name} are not those of its fitted network"
        raise user_error(problem, _learn(spec, card), str(path))
    levels = {column.name: column.levels for column in network.columns}
    roles = resolve_roles(card, spec.works_on, network.columns, levels.__getitem__, "network")
    size = spec.size or meta.source.get("rows")
    if not isinstance(size, int) or size < 1:
        learn = shlex.join(["fairbench", "network", "learn", card.reference, "-o", str(path)])
        fix = f"give `size` under `sample`, or learn it again: `{learn}`"
        raise user_error("the network does not say how many rows it comes from", fix, str(path))
    sha256 = dataset.sha256 if dataset is not None else meta.source.get("sha256")
    facts = {**meta.source, "sha256": sha256, "network": path.name, "score": meta.score, "bic": meta.bic}
    decisive = {**_decisive(card, dataset), "shipped": digest(decisive_text(path))}
    return PreparedDataset(
        spec, card, roles, decisive, facts, network.columns, size, dataset, network, meta.stand_in
    )


def _decisive(card: Card, dataset: "Dataset | None") -> dict[str, Any]:
    """Return the card's part of the key and, where the data are used, their checksums and column order."""
    table_parts: dict[str, Any] = {"card": card.decisive()}
    if dataset is not None:
        table_parts |= {"sha256": dataset.sha256, "columns": list(dataset.table.names)}
        if dataset.test is not None:  # whatever the files are called
            table_parts["test"] = list(dataset.test_sha256.values())
    return table_parts


def _no_arc(prepared: PreparedDataset, where: str) -> UserError:
    name = prepared.card.name
    columns = prepared.without_arc
    label = prepared.roles.label
    listed = " and ".join(columns)
    edit = prepared.spec.edit
    none = f"are no {RELATIVES[edit][1]}"
    arc = "an arc from each"
    if len(columns) == 1:
        none = f"is no {RELATIVES[edit][0]}"
        arc = "the arc"
    problem = f"{name}: {listed} {none} of the outcome {label} in the network, so β has nothing to edit"
    options = ["edit: outcome"] if edit == "group" else []
    source = prepared.spec.source
    if isinstance(prepared.network, BayesNet):
        source = "network"
    entry = _entry(prepared.spec, prepared.card, source, *options, "require_arc: true")
    fix = f"under `datasets` write `{entry}`: {arc} {listed} → {label} is required"
    if edit != "group" and not isinstance(prepared.network, BayesNet):
        fix += ". Or outcome_sink: true: no arcs leave the outcome, so they may point at it"
    as_learned = prepared.spec.model_copy(update={"edit": "as-learned"})
    if not replace(prepared, spec=as_learned).without_arc:
        entry = _entry(prepared.spec, prepared.card, prepared.spec.source, "edit: as-learned")
        fix += f". Or `{entry}`: β edits the table that an arc of the network leads to"
    return user_error(problem, f"{fix}. Or missing_arc: leave, which runs without bias", where)


def _entry(spec: DatasetSpec, card: Card, source: str | None, *options: str) -> str:
    """Return a data set's entry in a config with another source, as it can be pasted under `datasets`."""
    name = spec.card
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        name = path.relative_to(Path.cwd()).as_posix()
    written = []
    if spec.name != card.name:
        written.append(f"as: {yaml_word(spec.name)}")
    if spec.works_on != card.attribute(None):
        written.append(f"attribute: {yaml_word(spec.works_on)}")
    if spec.unknown_as is not None and source != "shipped":  # whose network is as the card says
        written.append(f"unknown_as: {spec.unknown_as}")
    if source is not None:
        written.append(f"from: {source}")
    return f"{{{yaml_word(name)}: {{{', '.join(written + list(options))}}}}}"


@dataclass(frozen=True, eq=False)
class Population:
    """What a worker needs to draw, train, test and count one repeat; plain arrays.

    Parameters
    ----------
    network : BayesNet or None
        None where real rows are trained on.
    beta_bias : BetaBias
        Against whom β works, and how; nobody where an arc is missing and the config says ``leave``.
    size : int
        Rows of a training set.
    rows : Sample or None
        The real rows; None where test rows are drawn from the network.
    favoured : dict
        The favoured levels of every protected attribute, also of those whose groups do not fit the data.
    hidden : tuple of str
        The columns that `include_protected` speaks of; empty: those that the attribute is made of.
    balanced : (int, int) or None
        How many training and test rows are drawn again, with replacement, as many of each group and outcome.
    sweep : bool
        Whether to count at every acceptance rate.
    row_metrics : RequestedRowMetrics
        Metrics that need the test rows.
    keeps_scores : bool
        Whether to keep sums of the models' scores by group.
    predictions : bool
        Whether to keep the test rows with what was decided.
    controls : bool
        Whether the plain model's repeats have controls that need no training.
    apart : Sample or None
        Test rows of files of their own.
    worlds : dict
        The worlds in which cells train, by `Cell.in_world`.
    together : int array or None
        A number for each real row; those with the same one are trained on, or all are tested on.
    people : Table or None
        Where there are worlds, the test rows that all repeats share with every column.
    shows_record : bool
        Whether models see of the test rows what the world records, else what is true.
    """

    network: BayesNet | None
    roles: Roles
    protected: ProtectedAttributes
    beta_bias: BetaBias
    size: int
    rows: Sample | None
    favoured: dict[str, tuple[str, ...]]
    hidden: tuple[str, ...]
    balanced: tuple[int, int] | None
    sweep: bool
    row_metrics: RequestedRowMetrics
    keeps_scores: bool = False
    predictions: bool = False
    controls: bool = False
    apart: Sample | None = None
    together: Rows | None = None
    worlds: Mapping[str, World] = field(default_factory=dict)
    people: Table | None = None
    shows_record: bool = False

    @property
    def shares_test_rows(self) -> bool:
        """Whether every repeat is tested on the same rows: the real ones, or those of a file."""
        return self.apart is not None or (self.network is not None and self.rows is not None)


def populate(prepared: PreparedDataset, config: ExperimentConfig, networks: Path) -> Population:
    """Fit the CPTs of a data set, or read them from the folder of networks; return it with its test rows.

    Raises
    ------
    UserError
        When a mechanism does not fit the network, nobody of a group is left, or test rows do not fit.
    """
    network = None
    if prepared.network is not None:
        network = network_of(prepared, networks)
    dataset = prepared.dataset
    balanced = config.sample.balanced
    real = test = None
    if dataset is not None:
        test = dataset.test
    if dataset is not None and config.test != "network":
        real = dataset.table
    worlds = {}
    if network is not None:
        worlds_in_use = [world for world in config.worlds(prepared.spec) if world.in_world]
        worlds = {world.in_world: built_world(prepared, world, network) for world in worlds_in_use}
    return Population(
        network=network,
        roles=prepared.roles,
        protected=prepared.protected,
        beta_bias=prepared.beta_bias,
        size=prepared.size,
        rows=None if real is None else to_sample(real, prepared.roles),
        favoured=_favoured(prepared),
        hidden=tuple(prepared.card.protected) if config.protected_columns == "all" else (),
        balanced=_balanced(balanced, prepared.size, len(dataset)) if balanced and dataset else None,
        sweep=config.sweep is not None,
        row_metrics=config.row_metrics,
        keeps_scores=config.keeps_scores,
        predictions=config.predictions,
        controls=bool(config.controls),
        apart=_tested_rows(prepared, config),
        together=prepared.together,
        worlds=worlds,
        people=(real if test is None else test) if prepared.spec.bias is not None else None,
        shows_record=config.test_features == "recorded",
    )


def built_world(prepared: PreparedDataset, world: CellWorld, network: BayesNet) -> World:
    """Return a world of a data set; raises as `make_world`."""
    roles = prepared.roles
    mechanisms = [spec.build(MECHANISMS) for spec in world.mechanisms]
    return make_world(network, roles.label, roles.favourable, prepared.groups, mechanisms)


def _tested_rows(prepared: PreparedDataset, config: ExperimentConfig) -> Sample | None:
    """Return the test rows that come from files of their own."""
    if prepared.dataset is None or prepared.dataset.test is None:
        return None
    try:
        return to_sample(prepared.dataset.test, prepared.roles)
    except ValueError as error:
        problem = f"the test rows of {prepared.card.name}: {error}, as no other row has it"
        raise user_error(problem, "leave such rows out of the file", config.where("test")) from None


def count_labels(rows: Table, roles: Roles, protected: ProtectedAttributes) -> list[list[int]]:
    """Return how many rows of each joint group have the other outcome and the favourable one."""
    groups = protected.codes([rows[name] for name in protected.names])
    labels = to_sample(rows, roles).y
    counted = count(groups, labels, labels, protected.groups).labelled.astype(int)
    return [[int(n) for n in of_group] for of_group in counted]


def rows_to_test(prepared: PreparedDataset, config: ExperimentConfig) -> int:
    """Return how many rows each repeat is tested on."""
    dataset = prepared.dataset
    balanced = config.sample.balanced
    if dataset is None or (config.test == "network" and prepared.network is not None):
        return prepared.size
    if dataset.test is not None:
        return len(dataset.test)
    if prepared.network is not None:
        return len(dataset)
    n_rest = len(dataset) - prepared.size
    if balanced is None:
        return n_rest
    return _balanced(balanced, prepared.size, len(dataset))[1]


def _favoured(prepared: PreparedDataset) -> dict[str, tuple[str, ...]]:
    single = [name for name in prepared.card.protected if name in prepared.levels]
    favoured_levels = {name: prepared.card.roles(name, prepared.levels).favoured for name in single}
    return favoured_levels | {prepared.roles.attribute: prepared.roles.favoured}


def cached_network(prepared: PreparedDataset, networks: Path) -> Path:
    """Return where the fitted network of a data set is kept."""
    return networks / f"{'-'.join(prepared.name)}-{digest([FORMAT, prepared.decisive])[:16]}.json"


def damage_of_network(prepared: PreparedDataset, path: Path) -> str | None:
    """Return the damage of the kept network of a data set whose structure was learned; None: no damage."""
    try:
        content = json.loads(read_text(path))
        network, _ = load_network(path)
    except (UserError, ValueError, RecursionError):
        return "it was changed or damaged since it was written"
    if content.get(FIELD) is None:
        return "it has no checksum"
    parents = getattr(prepared.network, "parents", None)
    if (network.columns, network.parents) == (prepared.columns, parents):
        return None
    return "it is the network of other data"


def damaged_networks(datasets: Iterable[PreparedDataset], networks: Path) -> Iterator[str]:
    """Yield a line for every kept network that cannot be used."""
    for dataset in datasets:
        path = cached_network(dataset, networks)
        if isinstance(dataset.network, Structure) and path.is_file():
            damage = damage_of_network(dataset, path)
            if damage is not None:
                yield f"{path}: {damage}; it is fitted again"


def network_of(prepared: PreparedDataset, networks: Path | None = None) -> BayesNet:
    """Return the network of a data set that has one: shipped, kept in the folder of networks, or fitted now.

    With a folder, one that is fitted is kept there.
    """
    structure = prepared.network
    dataset = prepared.dataset
    if isinstance(structure, BayesNet):
        return structure
    assert structure is not None  # noqa: S101 - asked of data sets with a network
    assert dataset is not None  # noqa: S101 - from which the structure was learned
    from fairbench_cli.network.family_counts import fit_network

    if networks is None:
        return fit_network(dataset.table, structure.parents)
    path = cached_network(prepared, networks)
    if path.is_file() and damage_of_network(prepared, path) is None:
        return load_network(path)[0]
    network = fit_network(dataset.table, structure.parents)
    settings = prepared.decisive["network"]
    make_folder(networks)
    meta = Meta(settings["learner"], settings["score"], structure.score, structure.bic, prepared.facts)
    save_network(network, path, meta)
    return network
