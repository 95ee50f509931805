"""From a config to its cells, their keys and seeds; and the plan that is kept next to the results."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Json, TypeAdapter, ValidationError

from fairbench_cli.base.checksums import (
    add_checksum,
    canonical_json,
    derive_seed,
    digest_of_parts,
    matches_checksum,
)
from fairbench_cli.base.errors import Problem, UserError, suggest, user_error
from fairbench_cli.base.files import write_json
from fairbench_cli.base.parameters import unwritten_values
from fairbench_cli.base.yaml_document import YamlDocument
from fairbench_cli.data.table import Representation, split_seed
from fairbench_cli.experiment.config.components import OF_CLASSIFIER, ComponentSpec, TechniqueSpec, word
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.config.outputs import TestLabels
from fairbench_cli.experiment.config.read import parse
from fairbench_cli.experiment.config.worlds import CellWorld
from fairbench_cli.experiment.controls import BOOTSTRAP, SHUFFLED
from fairbench_cli.experiment.datasets import PreparedDataset, count_labels, rows_to_test
from fairbench_cli.experiment.versions import CELL_VERSION
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.groups import JointAttribute, ProtectedAttribute, ProtectedAttributes
from fairbench_cli.network.bias import RELATIVES, BetaEdit

CELL_COLUMNS = (
    "dataset",
    "attribute",
    "world",
    "representation",
    "beta",
    "intervention",
    "include_protected",
    "classifier",
)
"""What names a cell on a command line."""

FILE = "plan.json"

MOST_BOOTSTRAP = 10
"""Per cent of the fits of a run that its bootstrap twins may take."""

UNBIASED = CellWorld("", 0.0, ())


@dataclass(frozen=True)
class Cell:
    """One cell of the job matrix: everything that decides its numbers, and the key made from it.

    Cells whose numbers cannot differ have the same key and are computed once: a technique with a model of its
    own under several classifiers; one that does not look at the groups, of several attributes of the same
    rows that it sees none of.

    Parameters
    ----------
    world : CellWorld
        Which bias its training rows have, and how strong it is: without mechanisms that of eq. (4).
    real : bool
        Whether it trains on real rows, so that cells of one data set share the same splits.
    control : str
        Of a trained control, what becomes of its training rows (`controls.make_training_rows`); else empty.
    """

    dataset: str
    attribute: str
    world: CellWorld
    technique: TechniqueSpec
    classifier: ComponentSpec
    seed: int
    real: bool
    key: str
    control: str = ""

    @property
    def beta(self) -> float:
        """How strong the bias of its training rows is."""
        return self.world.beta

    @property
    def computed(self) -> "Cell":
        """The cell that is computed in its place: without bias where the technique trains on the truth."""
        technique = self.technique.computed
        if technique is self.technique:
            return self
        return replace(self, technique=technique, world=UNBIASED)

    @property
    def is_plain(self) -> bool:
        """Whether what is computed is the plain model, whose decisions have controls."""
        return self.computed.technique.is_plain and not self.control

    @property
    def in_world(self) -> str:
        """By what populations hold the world that it trains in; empty without one, where β acts."""
        return self.world.in_world

    @property
    def trains_in(self) -> tuple[str, float]:
        """What tells cells that train on other rows of the same network: the world, and β."""
        computed = self.computed
        return computed.in_world, computed.beta

    @property
    def source(self) -> tuple[str, str]:
        """Return the data set and attribute that the cell draws from."""
        return self.dataset, self.attribute

    def describe(self) -> dict[str, Any]:
        """Return the cell's key and its columns in every result file; of a control also which it is."""
        description = {
            "key": self.key,
            "dataset": self.dataset,
            "attribute": self.attribute,
            "world": self.world.name,
            "representation": self.technique.representation,
            "beta": self.beta,
            "intervention": self.technique.spec.name,
            "parameters": canonical_json(self.technique.described),
            "include_protected": self.technique.include_protected,
            "classifier": self.classifier.name,
            "classifier_parameters": canonical_json(dict(self.classifier.parameters)),
        }
        if self.control:
            description["control"] = self.control
        return description

    def sample_seed(self, repeat: int) -> int:
        """Seed of the training set: the same for every technique and classifier, so repeats are paired.

        β is no part of it either: across β only what it edits and the descendants of that change. Nor is the
        attribute where real rows are divided.
        """
        if self.real:
            return split_seed(self.seed, self.dataset, repeat)
        return derive_seed(self.seed, self.dataset, self.attribute, repeat, "train")

    def test_seed(self, repeat: int) -> int:
        """Seed of the test rows, where they are drawn from the network."""
        return derive_seed(self.seed, self.dataset, self.attribute, repeat, "test")

    def technique_seed(self, repeat: int) -> int:
        """Seed of the intervention's own random choices: the same at every β, as the training set's."""
        return component_seed(self.sample_seed(repeat), self.technique.spec)

    def classifier_seed(self, repeat: int) -> int:
        """Seed of the classifier's own random choices, in 32 bits; the same for every technique."""
        return component_seed(self.sample_seed(repeat), self.classifier) % 2**32


def component_seed(seed: int, spec: ComponentSpec) -> int:
    """Return the seed of a technique's or a classifier's own random choices, by that of the rows."""
    return derive_seed(seed, spec.name, list(spec.written.items()))


def make_all_cells(config: ExperimentConfig, datasets: list[PreparedDataset]) -> list[Cell]:
    """Return the cells of an experiment, then its trained controls."""
    cells = make_cells(config, datasets)
    return cells + make_controls(config, datasets, cells)


def make_cells(config: ExperimentConfig, datasets: list[PreparedDataset]) -> list[Cell]:
    """Return every combination of data set, classifier, technique and world, in the order of the config."""
    cells = []
    for dataset in datasets:
        source = canonical_json(dataset.decisive)  # long, and the same for all of its cells
        worlds = [(world, _of_world(config, world)) for world in config.worlds(dataset.spec)]
        for classifier, technique in product(config.classifiers, config.interventions):
            if dataset.spec.takes(technique.spec.name, classifier.name):
                cells += _cells_in_worlds(config, dataset, technique, classifier, source, worlds)
    return cells


def describe_cells(config: ExperimentConfig) -> list[dict[str, Any]]:
    """Return the columns of the cells that `make_cells` makes, which no data decide, in its order."""
    columns = []
    for spec in config.datasets:
        worlds = config.worlds(spec)
        for classifier, technique in product(config.classifiers, config.interventions):
            if spec.takes(technique.spec.name, classifier.name):
                for world in worlds:
                    cell = Cell(spec.name, spec.works_on, world, technique, classifier, 0, real=False, key="")
                    columns.append({column: cell.describe()[column] for column in CELL_COLUMNS})
    return columns


def make_controls(
    config: ExperimentConfig, datasets: Sequence[PreparedDataset], cells: Sequence[Cell]
) -> list[Cell]:
    """Return the trained controls of an experiment, none where it asks for none.

    They are of the last β, or world, and the first classifier of each data set. Bootstrap twins are of as
    many data sets as take at most `MOST_BOOTSTRAP` per cent of the fits of the cells; the seed draws which.

    Parameters
    ----------
    cells : sequence of Cell
        Those of the experiment, by `make_cells`.
    """
    if not config.controls:
        return []
    # 1. The plain model of each data set, and the techniques next to it.
    plain_models: list[tuple[PreparedDataset, TechniqueSpec, ComponentSpec]] = []
    techniques: list[tuple[PreparedDataset, TechniqueSpec, ComponentSpec]] = []
    for dataset in datasets:
        classifier = next(filter(dataset.spec.takes_classifier, config.classifiers))
        for technique in config.interventions:
            if not dataset.spec.takes(technique.spec.name, classifier.name):
                continue
            if technique.is_plain and (not plain_models or plain_models[-1][0] is not dataset):
                plain_models.append((dataset, technique, classifier))
            elif not technique.computed.is_plain:
                techniques.append((dataset, technique, classifier))
    # 2. As many bootstrap twins as cost little, by the number of fits.
    fits_by_key = {cell.key: cell.technique.n_fits for cell in cells}
    n_blocks = MOST_BOOTSTRAP * sum(fits_by_key.values()) // (100 * len(BOOTSTRAP))
    drawn = sorted(plain_models, key=lambda model: derive_seed(config.seed, "bootstrap", *model[0].name))
    chosen = {dataset.name for dataset, _, _ in drawn[:n_blocks]}
    models = [model + (name,) for model in plain_models if model[0].name in chosen for name in BOOTSTRAP]
    # 3. What the protected column is shuffled for.
    if config.controls == "placebo":
        models += [model + (SHUFFLED,) for model in techniques]
    controls = []
    for dataset, technique, classifier, control in models:
        world = config.worlds(dataset.spec)[-1]
        source = canonical_json(dataset.decisive)
        worlds = [(world, _of_world(config, world))]
        controls += _cells_in_worlds(config, dataset, technique, classifier, source, worlds, control)
    return controls


def _cells_in_worlds(
    config: ExperimentConfig,
    dataset: PreparedDataset,
    technique: TechniqueSpec,
    classifier: ComponentSpec,
    source: str,
    worlds: Sequence[tuple[CellWorld, dict[str, str]]],
    control: str = "",
) -> list[Cell]:
    """Return the cells of a technique and a classifier on a data set, one a world.

    Parameters
    ----------
    source : str
        The canonical JSON of what decides the data set's numbers.
    worlds : sequence of (CellWorld, mapping)
        Each with the canonical JSON of what decides a cell's numbers in it.
    control : str
        As `Cell` has it; without one it is no part of the keys.
    """
    real = config.sample.source == "data"
    computed = technique.computed
    decisive = _decisive(config, dataset, computed, classifier)
    key_parts = {key: canonical_json(value) for key, value in decisive.items()} | {"source": source}
    if control:
        key_parts["control"] = canonical_json(control)
    cells = []
    for world, world_parts in worlds:
        parts_in_world = world_parts if computed is technique else _of_world(config, UNBIASED)
        key = digest_of_parts(key_parts | parts_in_world)
        cells.append(Cell(*dataset.name, world, technique, classifier, config.seed, real, key, control))
    return cells


def _of_world(config: ExperimentConfig, world: CellWorld) -> dict[str, str]:
    """Return the canonical JSON of what decides a cell's numbers in a world; without mechanisms that is β."""
    decisive = world.decisive
    if not decisive:
        return {"beta": canonical_json(0.0 if world.mechanisms else world.beta)}
    world_parts = {"beta": canonical_json(0.0), "world": canonical_json(decisive)}
    if config.test_features == "recorded" and world.features:
        world_parts["test_features"] = canonical_json(config.test_features)
    return world_parts


def _decisive(
    config: ExperimentConfig, dataset: PreparedDataset, technique: TechniqueSpec, classifier: ComponentSpec
) -> dict[str, Any]:
    """Return all that decides the numbers of some cells but β and the data set's own part.

    What a technique ignores is left out: the attribute that its cells work on, the classifier or, of this,
    the parameters that are tuned.
    """
    (name, attribute), sample, tune = dataset.name, config.sample, technique.tune
    seen = technique.include_protected
    hidden = config.protected_columns == "all" and not seen
    blind = (
        not technique.spec.uses("groups", INTERVENTIONS)
        and (hidden or (seen and not dataset.roles.of))
        and tune is None
        and not config.row_metrics.metrics
    )
    groups = not (blind and sample.source == "data" and sample.balanced is None)  # whether they decide
    parameters = None
    if technique.spec.uses("classifier", INTERVENTIONS):
        parameters = classifier.decisive
        if tune is not None:
            values = parameters[1].items()
            parameters[1] = {key: value for key, value in values if f"{OF_CLASSIFIER}{key}" not in tune.names}
    decisive = {
        "cell_version": CELL_VERSION,
        "dataset": name,
        "roles": [dataset.roles.label, attribute] if groups else [dataset.roles.label],
        "size": dataset.size,
        "bias_direction": dataset.spec.bias_direction,
        "test": config.tested,
        "intervention": technique.spec.decisive,
        "include_protected": seen,
        "classifier": parameters,
        "seed": config.seed,
    }
    if sample.source == "data":
        decisive["split"] = "by data set"
    if sample.balanced is not None:
        decisive["balanced"] = sample.balanced
    if sample.split_by is not None:
        decisive["split_by"] = sample.split_by
    if config.protected_columns != "attribute":
        decisive["protected_columns"] = config.protected_columns
    if technique.representation != "original":
        # The two differ in columns that a technique that sees none of the protected ones does not have.
        decisive["representation"] = "numerical" if hidden and not groups else technique.representation
    if tune is not None:
        decisive["tune"] = tune.decisive
    if dataset.beta_on != {attribute: 1.0}:
        decisive["beta_on"] = [list(share_of_attribute) for share_of_attribute in dataset.beta_on.items()]
    if dataset.regrouped:
        decisive["edit"] = list(dataset.regrouped)
    return decisive


@dataclass(frozen=True)
class RunPlan:
    """What was asked for: enough to derive every file of results from the journal alone.

    Parameters
    ----------
    config : ExperimentConfig
        With every default spelled out.
    datasets : list of dict
        Per prepared data set: its name, protected attributes, network, BIC, whether β had something to edit.
    cells : list of dict
        `Cell.describe` of each, in the order of the config.
    controls : list of dict
        That of each trained control. They are apart from the cells, so that nothing ranks them.
    """

    config: ExperimentConfig
    datasets: list[dict[str, Any]]
    cells: list[dict[str, Any]]
    controls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def all_cells(self) -> list[dict[str, Any]]:
        """The cells and the trained controls."""
        return self.cells + self.controls

    def dataset(self, name: str, attribute: str) -> dict[str, Any]:
        """Return the entry of a data set and attribute in `datasets`."""
        for dataset in self.datasets:
            if (dataset["dataset"], dataset["attribute"]) == (name, attribute):
                return dataset
        raise KeyError((name, attribute))

    @property
    def has_worlds(self) -> bool:
        """Return whether some cell trains in a world of its own, which a column of the results names."""
        return any(cell["world"] for cell in self.cells)

    @property
    def has_betas(self) -> bool:
        """Whether β is above 0 in some cell; else nothing that people read is about it."""
        return any(cell["beta"] for cell in self.cells)

    def counted_by(self, labels: TestLabels) -> "RunPlan":
        """Return the plan with everything about true or about recorded labels of the test rows."""
        return replace(self, config=self.config.model_copy(update={"test_labels": labels}))

    @property
    def test_rows(self) -> str:
        """Return in words where test rows come from that all repeats share."""
        files: dict[str, None] = {}
        for dataset in self.datasets:
            for name in dataset.get("test_sha256", ()):
                if name in dataset.get("sha256", ()):
                    files[f"{name} that the card keeps for tests"] = None
                else:
                    files[name] = None
        if files:
            return f"the rows of {', '.join(files)}"
        return "the original data"

    def count_finished(self, repeat_keys: Iterable[tuple[str, int]]) -> int:
        """Return how many of some keys and numbers of repeats are of this plan."""
        keys = {cell["key"] for cell in self.cells}
        return sum(key in keys and repeat < self.config.repeats for key, repeat in repeat_keys)

    @property
    def size(self) -> int:
        """Return how many repeats there are."""
        return len({cell["key"] for cell in self.cells}) * self.config.repeats

    def protected(self, dataset: str, attribute: str) -> ProtectedAttributes:
        """Return the attributes by whose joint levels the repeats of a data set are counted."""
        dataset_facts = self.dataset(dataset, attribute)
        joint_facts = {"attributes": dataset_facts["protected"], "joint": dataset_facts.get("joint", ())}
        return TypeAdapter(ProtectedAttributes).validate_python(joint_facts)


def edited_columns(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that β acts on, of what a plan says about a data set."""
    edited = source["edited_column"]
    if isinstance(edited, str):
        return (edited,)
    return tuple(edited)


def arc_in_words(source: Mapping[str, Any]) -> str:
    """Say whether what β acts on are parents of the outcome, of what a plan says about a data set.

    >>> arc_in_words({"edited_column": "sex", "arc_to_outcome": False})
    'sex is no parent of the outcome'
    >>> arc_in_words({"edited_column": ["race", "sex"], "arc_to_outcome": True})
    'race and sex are parents of the outcome'
    >>> arc_in_words({"edited_column": "sex", "arc_to_outcome": True, "regrouped": {"sex": "of women …"}})
    'sex is a child of the outcome'
    """
    columns = edited_columns(source)
    arc = source["arc_to_outcome"]
    edit: BetaEdit = source.get("edit", "outcome")
    n_children = len(source.get("regrouped", ()))
    if arc and n_children in (0, len(columns)):
        edit = "group" if n_children else "outcome"
    relative, relatives = RELATIVES[edit]
    if len(columns) == 1:
        return f"{columns[0]} is {'a' if arc else 'no'} {relative} of the outcome"
    return f"{' and '.join(columns)} are {'' if arc else 'not all '}{relatives} of the outcome"


def named_sources(
    sources: Sequence[Mapping[str, Any]],
    chosen: Callable[[Mapping[str, Any]], bool],
    called: Callable[[str], str] = str,
) -> list[str]:
    """Name data sets of a plan, with the attribute where it is not so of all of theirs.

    >>> sources = [{"dataset": "a", "attribute": "sex"}, {"dataset": "a", "attribute": "race"}]
    >>> named_sources(sources, lambda one: one["attribute"] == "sex"), named_sources(sources, bool)
    (['a (sex)'], ['a'])
    """
    excluded = {source["dataset"] for source in sources if not chosen(source)}
    selected = [(source["dataset"], source["attribute"]) for source in sources if chosen(source)]
    texts = []
    for name, attribute in selected:
        text = called(name)
        if name in excluded:
            text += f" ({attribute})"
        texts.append(text)
    return list(dict.fromkeys(texts))


def network_origin(source: Mapping[str, Any]) -> str:
    """Say where the network of a data set comes from, of what a plan says about it."""
    if "network" in source:
        return "shipped with fairbench"
    return "learned from the data"


LABEL_BIAS = "label bias"
_KINDS = {
    "prior shift": "prior shift",
    "mixture": f"a mixture of prior shift and {LABEL_BIAS}",
    LABEL_BIAS: LABEL_BIAS,
}


def _kind_in_words(source: Mapping[str, Any]) -> str:
    """Say which bias β is on a data set, of whom what is recorded wrongly."""
    clauses = list(source.get("regrouped", {}).values())
    if not clauses:
        return _KINDS[source["bias_kind"]]
    parents = [column for column in edited_columns(source) if column not in source["regrouped"]]
    if parents:
        deprived = f"the deprived by {' and '.join(parents)}"
        clauses.insert(0, f"the share of favourable outcomes that {deprived} lose")
    return " and ".join(clauses)


def bias_in_words(sources: Sequence[Mapping[str, Any]], called: Callable[[str], str] = str) -> str:
    """Say which bias β is, of what a plan says about data sets; empty where it is not known or is none.

    >>> one = {"dataset": "a", "attribute": "sex", "bias_kind": "prior shift"}
    >>> bias_in_words([one]), bias_in_words([one, one | {"dataset": "b", "bias_kind": "label bias"}])
    ('prior shift', 'prior shift on a, label bias on b')
    """
    with_kind = [source for source in sources if source.get("bias_kind")]
    present = list(dict.fromkeys(map(_kind_in_words, with_kind)))
    clauses = sorted(present, key=[*_KINDS.values(), *present].index)
    if len(clauses) == 1:
        return clauses[0]
    texts = []
    for clause in clauses:
        names = named_sources(with_kind, lambda source: _kind_in_words(source) == clause, called)  # noqa: B023 - used at once
        texts.append(f"{clause} on {', '.join(names)}")
    return ", ".join(texts)


def make_plan(config: ExperimentConfig, datasets: list[PreparedDataset], cells: list[Cell]) -> RunPlan:
    """Return the plan of an experiment; of the cells those that are controls are kept apart."""
    described = []
    for dataset in datasets:
        description = dataset.describe() | {"test_rows": rows_to_test(dataset, config)}
        if config.tested == "holdout" and dataset.dataset is not None and dataset.dataset.test is None:
            description["labels"] = count_labels(dataset.dataset.table, dataset.roles, dataset.protected)
        if dataset.spec.bias is not None:
            description["worlds"] = [world.described for world in config.worlds(dataset.spec)]
        described.append(description)
    cells_of_plan = [cell.describe() for cell in cells if not cell.control]
    controls = [cell.describe() for cell in cells if cell.control]
    return RunPlan(config, described, cells_of_plan, controls)


def write_plan(folder: Path, plan: RunPlan) -> None:
    """Write the plan next to the results."""
    cells = plan.cells
    controls = plan.controls
    if not plan.has_worlds:
        cells = [_without_world(cell) for cell in cells]
        controls = [_without_world(cell) for cell in controls]
    plan_json = {"config": plan.config.to_config(), "datasets": plan.datasets, "cells": cells}
    if controls:
        plan_json["controls"] = controls
    write_json(folder / FILE, add_checksum(plan_json))


class _Cell(BaseModel):
    key: str
    dataset: str
    attribute: str
    world: str = ""
    representation: Representation
    beta: float
    intervention: str
    parameters: Json[dict[str, Any]]
    include_protected: bool
    classifier: str
    classifier_parameters: Json[dict[str, Any]]


class _Control(_Cell):
    control: str


class _Dataset(BaseModel):
    dataset: str
    attribute: str
    edited_column: str | list[str]
    arc_to_outcome: bool
    protected: list[ProtectedAttribute]
    joint: list[JointAttribute] = []
    test_rows: int | None = None
    labels: list[list[int]] = []


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    config: dict[str, Any]
    datasets: list[_Dataset]
    cells: Annotated[list[_Cell], Field(min_length=1)]
    controls: list[_Control] = []
    sha256: str | None = None


ROOMS = "journal", "networks", "tables", "figures", "compare", "code", "predictions"
_OWN = re.compile(r"\.lock.*|.*\.csv|config\.yaml|plan\.json|manifest\.json|log\.txt|" + "|".join(ROOMS))


def check_folder(folder: Path) -> None:
    """Refuse a folder of results, which may be somebody else's, that leads out of itself.

    Raises
    ------
    UserError
        When a link, a device or a pipe stands where a file or a folder of results is read or written.
    """
    for needed_folder in [folder] + [folder / name for name in ROOMS]:
        try:
            with os.scandir(needed_folder) as listed:
                entries = [entry for entry in listed if needed_folder != folder or _OWN.fullmatch(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = f"cannot read {needed_folder}: {error.strerror}"
            raise user_error(problem, "check its permissions, or name another folder") from None
        for entry in entries:
            if entry.is_symlink():
                problem = f"{entry.path} is a link, and results are neither read nor written through links"
                raise user_error(problem, "put the file or folder itself there, or move the link away")
            if not (entry.is_file() or entry.is_dir()):
                problem = f"{entry.path} is a device or a pipe, and no file of results"
                raise user_error(problem, "move it away")


_LONE = re.compile(rb"\\ud[89a-f][0-9a-f]{2}")  # of a file's name that is not UTF-8; pydantic takes none


def read_plan(folder: Path) -> RunPlan:
    """Read the plan next to some results.

    Raises
    ------
    UserError
        When the folder holds no results of a run. As `check_folder` raises.
    """
    check_folder(folder)
    path = folder / FILE
    again = "run the experiment again; finished repeats are kept"
    try:
        text = path.read_bytes()
        _File.model_validate_json(_LONE.sub(rb"\\ufffd", text), strict=True)
    except (FileNotFoundError, NotADirectoryError):
        problem = f"{folder} holds no results ({FILE} is missing)"
        raise user_error(problem, "give the folder that `fairbench run` wrote") from None
    except OSError as error:
        raise user_error(f"cannot read {path}: {error.strerror}", "check its permissions") from None
    except ValidationError as error:
        first_error = error.errors()[0]
        problem = f"not the plan of a run: {'.'.join(map(str, first_error['loc']))} {first_error['msg']}"
        raise user_error(problem, again, str(path)) from None
    plan_json = json.loads(text)
    if matches_checksum(plan_json) is False:
        raise user_error("the plan was changed or damaged since it was written", again, str(path))
    config, _, problems = parse(YamlDocument(plan_json["config"], {}, str(path)), None)
    if problems:
        raise UserError(*(Problem(problem.what, again, str(path)) for problem in problems))
    if config.sample.source == "data":
        # The plan does not name β, whose default would edit a network; real rows are as biased as they are.
        config = config.model_copy(update={"sample": config.sample.model_copy(update={"beta": (0.0,)})})
    if len({canonical_json(cell) for cell in plan_json["cells"]}) < len(plan_json["cells"]):
        raise user_error("not the plan of a run (a cell is listed twice)", again, str(path))
    cells = [{"world": ""} | cell for cell in plan_json["cells"]]
    controls = [{"world": ""} | cell for cell in plan_json.get("controls", ())]
    return RunPlan(config, plan_json["datasets"], cells, controls)


Facts = Mapping[str, Any]


def split_filters(filters: Sequence[str]) -> list[str]:
    """Return filters one by one, of which an option may hold several with commas between them.

    Commas in parentheses are part of a technique's label.

    >>> split_filters(("dataset=adult,beta!=0", "classifier=c45")), split_filters(())
    (['dataset=adult', 'beta!=0', 'classifier=c45'], [])
    >>> split_filters(("technique=lfr (k=5, a_z=1),metric=spd",))
    ['technique=lfr (k=5, a_z=1)', 'metric=spd']
    """
    return list(chain.from_iterable(re.split(r",(?![^(]*\))", text) for text in filters))


def key_of_filter(condition: str) -> str:
    """Return the key that a filter is about.

    >>> key_of_filter("beta!=0")
    'beta'
    """
    return condition.partition("=")[0].removesuffix("!")


def select(cells: Sequence[Facts], filters: tuple[str, ...]) -> list[bool]:
    """Return which cells match every filter.

    A key given twice with ``=`` means either value; ``!=`` leaves a value out. A cell that does not have a
    key, such as a parameter of another intervention, matches every filter on it.

    Raises
    ------
    UserError
        For an unknown key, a filter without "=", a value that no cell has, or when no cell is left.

    Examples
    --------
    >>> cells = [{"classifier": "c45", "ranker": "logistic"}, {"classifier": "c45"}, {"classifier": "tree"}]
    >>> select(cells, ("classifier!=tree", "ranker=logistic"))
    [True, True, False]
    """
    if not any(facts.get("world") for facts in cells):
        cells = [_without_world(facts) for facts in cells]
    conditions: dict[tuple[str, bool], list[str]] = {}
    for condition in split_filters(filters):
        field_name, equals, value = condition.partition("=")
        key = key_of_filter(condition)
        out = field_name.endswith("!")
        if not equals:
            fix = "write KEY=VALUE, such as dataset=adult or classifier=c45, or KEY!=VALUE"
            raise user_error(f'cannot read the filter "{condition}"', fix, "--only")
        having = [facts[key] for facts in cells if key in facts]
        if not having:
            columns = set().union(*cells)
            raise user_error(f'unknown key "{key}"', suggest(key, columns), "--only")
        if not any(_equals_text(cell_value, value) for cell_value in having):
            fix = suggest(value, {text_of(cell_value) for cell_value in having})
            raise user_error(f'no cell has {key} "{value}"', fix, "--only")
        conditions.setdefault((key, out), []).append(value)
    is_selected = [True] * len(cells)
    for (key, out), values in conditions.items():
        for i, facts in enumerate(cells):
            if key in facts and any(_equals_text(facts[key], value) for value in values) == out:
                is_selected[i] = False
    if not any(is_selected):
        raise user_error("no cell matches all filters", "drop one of them", "--only")
    return is_selected


def facts_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that distinguish a cell from others, by name.

    These are its columns, the parameters of its intervention, and those of its classifier as
    ``classifier.NAME``; of one that is tuned also the metric (``tune``), the rows (``tune.on``) and the
    parameters (``tune.over``).
    """
    columns = {key: cell[key] for key in CELL_COLUMNS}
    of_classifier = {f"classifier.{key}": v for key, v in json.loads(cell["classifier_parameters"]).items()}
    parameters = json.loads(cell["parameters"])
    tune = parameters.pop("tune", None)
    if tune is not None:
        parameters |= {"tune": tune["for"], "tune.on": tune["on"], "tune.over": " and ".join(tune["over"])}
    technique = cell["intervention"]
    if technique in INTERVENTIONS:  # else a filter on such a parameter would take it, whatever its value
        parameters = {**unwritten_values(INTERVENTIONS[technique].load()), **parameters}
    return columns | {**of_classifier, **parameters} | columns


def text_of(value: Any) -> str:
    """Write a value as a filter names it.

    >>> text_of(0.5), text_of(0.0), text_of(True), text_of("tree")
    ('0.5', '0', 'true', 'tree')
    """
    if isinstance(value, float):
        return f"{value:.12g}"
    return word(value)


def _without_world(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a cell without the name of its world."""
    return {name: value for name, value in facts.items() if name != "world"}


def _equals_text(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return text_of(float(text)) == text_of(float(value))
        except ValueError:
            return False
    return text_of(value) == text
