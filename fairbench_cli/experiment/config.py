"""From a YAML file to an `Experiment`; every mistake in it is reported at once, with its line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import Card, find_card, known_cards, read_card
from fairbench_cli.errors import Problem, UserError, shown
from fairbench_cli.experiment.checks import in_list, without_effect
from fairbench_cli.experiment.choices import Axis, Choice, named, read_choices
from fairbench_cli.experiment.overrides import laid_over
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import MEASURES
from fairbench_cli.strict_yaml import Document, Place, read_yaml
from fairbench_cli.validation import NAME, in_file_order, problems_of

TABLES = ("discrimination-accuracy", "over-underestimation")

Beta = Annotated[float, Field(ge=0, le=1)]


def _one_or_more(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


class Bias(BaseModel):
    """How the outcome's CPT is edited; may be given per data set."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    shift: Literal["deprived", "both"] = Field(
        default="deprived", description="deprived: eq. (4). both: also lowers P(-) of the favoured value."
    )
    require_arc: bool = Field(
        default=False, description="Whitelist the arc from the edited column to the outcome."
    )
    outcome_sink: bool = Field(default=False, description="Let the outcome have no children.")
    missing_arc: Literal["error", "leave"] = Field(
        default="error", description="leave: run without any bias where there is no CPT axis to edit."
    )
    size: int | None = Field(
        default=None, ge=1, description="Rows of a training set; default: as many as the data have."
    )


class SampleConfig(Bias):
    """Where training sets come from and how biased they are."""

    source: Literal["network", "shipped"] = Field(
        default="network",
        alias="from",
        description="network: learn it from the data file. shipped: the fitted network beside the card.",
    )
    learner: Literal["hill-climbing", "tabu"] = "hill-climbing"
    score: Literal["bic", "aic", "bde", "k2"] = "bic"
    max_parents: int | None = Field(default=None, ge=1)
    beta: Annotated[tuple[Beta, ...], BeforeValidator(_one_or_more), Field(min_length=1)] = (
        *(0.0, 0.25, 0.5, 0.75, 1.0),
    )


class DatasetOptions(Bias):
    """What a data set's entry may say after its name."""

    attribute: str | None = Field(default=None, description="The protected attribute; default: the card's.")


class ExperimentFile(BaseModel):
    """The keys of a config file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(pattern=NAME, description="Results land in results/NAME.")
    seed: int = Field(default=0, ge=0, description="Base of every other seed.")
    repeats: int = Field(default=30, ge=1, le=100_000)
    datasets: list[Any] = Field(min_length=1)
    sample: SampleConfig = SampleConfig()
    test: Literal["original", "network"] = Field(
        default="original", description="original: the real rows. network: rows sampled at β = 0."
    )
    include_protected: bool = Field(
        default=False, description="Whether the classifier sees the protected attribute."
    )
    interventions: list[Any] = Field(min_length=1)
    classifiers: list[Any] = Field(default=["c45"], min_length=1)
    metrics: list[str] = Field(default=list(MEASURES), min_length=1)
    tables: list[str] = Field(default=list(TABLES))


@dataclass(frozen=True)
class DatasetChoice:
    """A data set of the experiment with its own bias settings."""

    card: Card
    card_path: Path
    attribute: str
    bias: Bias


@dataclass(frozen=True)
class Technique:
    """An intervention, and whether its classifier sees the protected attribute."""

    choice: Choice
    include_protected: bool


@dataclass(frozen=True)
class Experiment:
    """A config with everything spelled out."""

    name: str
    seed: int
    repeats: int
    datasets: tuple[DatasetChoice, ...]
    sample: SampleConfig
    test: Literal["original", "network"]
    techniques: tuple[Technique, ...]
    classifiers: tuple[Choice, ...]
    metrics: tuple[str, ...]
    tables: tuple[str, ...]


def read_experiment(path: Path, overrides: tuple[str, ...] = ()) -> Experiment:
    """Read a config file, with ``key=value`` or ``key.key=value`` overrides laid over it.

    Raises
    ------
    UserError
        Listing every mistake, in the order of the file.
    """
    document = read_yaml(path)
    if not isinstance(document.data, dict):
        where = document.where(())
        raise UserError(
            Problem("a config is a mapping of keys to values", "see configs/quickstart.yaml", where)
        )
    document, problems = laid_over(document, overrides)
    parsed: ExperimentFile | None = None
    try:
        parsed = ExperimentFile.model_validate(document.data)
    except ValidationError as error:
        problems += problems_of(error, ExperimentFile, document)
    data = document.data
    seen = {"include_protected": (bool, data.get("include_protected") is True)}
    defaults = ExperimentFile.model_fields["classifiers"].default
    techniques = read_choices(
        Axis(document, "interventions", INTERVENTIONS, seen), data.get("interventions"), problems
    )
    classifiers = read_choices(
        Axis(document, "classifiers", CLASSIFIERS, {}), data.get("classifiers", defaults), problems
    )
    datasets = _datasets(document, parsed.sample if parsed else SampleConfig(), path.parent, problems)
    problems += in_list(document, ("metrics",), "metric", tuple(MEASURES))
    problems += in_list(document, ("tables",), "table", TABLES)
    problems += in_list(document, ("sample", "beta"), "β")
    problems += without_effect(document)
    if problems or parsed is None:
        raise UserError(*in_file_order(problems, document.name))
    return Experiment(
        name=parsed.name,
        seed=parsed.seed,
        repeats=parsed.repeats,
        datasets=datasets,
        sample=parsed.sample,
        test=parsed.test,
        techniques=tuple(Technique(choice, extra["include_protected"]) for choice, extra in techniques),
        classifiers=tuple(choice for choice, _ in classifiers),
        metrics=tuple(parsed.metrics),
        tables=tuple(parsed.tables),
    )


def _datasets(
    document: Document, sample: SampleConfig, base: Path, problems: list[Problem]
) -> tuple[DatasetChoice, ...]:
    """Read the list of data sets; what is wrong with it is added to `problems`."""
    found: list[DatasetChoice] = []
    value = document.data.get("datasets")
    for i, item in enumerate(value if isinstance(value, list) else []):
        place: Place = ("datasets", i)
        name, options = named(item)
        if name is None:
            what = f"a dataset must be a name or `name: {{option: value}}`, not {shown(item)}"
            fix = f"use any of: {', '.join(known_cards())}"
            problems.append(Problem(what, fix, document.where(place)))
            continue
        try:
            choice = _dataset(document, (*place, name), options, sample, base)
        except UserError as error:
            problems += error.problems
            continue
        if any((other.card.name, other.attribute) == (choice.card.name, choice.attribute) for other in found):
            what = f"{choice.card.name} with {choice.attribute} is listed twice"
            problems.append(Problem(what, "keep one, or write two configs", document.where(place)))
        found.append(choice)
    return tuple(found)


def _dataset(
    document: Document, place: Place, options: Any, sample: SampleConfig, base: Path
) -> DatasetChoice:
    """Read one data set; `place` ends with its name."""
    problems: list[Problem] = []
    given, card, attribute = DatasetOptions(), None, ""
    try:
        given = DatasetOptions.model_validate(options)
    except ValidationError as error:
        problems += problems_of(error, DatasetOptions, document, place)
    try:
        path = find_card(str(place[-1]), base)
        card = read_card(path)
        asked = options.get("attribute") if isinstance(options, dict) else None
        attribute = card.attribute(asked if isinstance(asked, str) else None)
    except UserError as error:
        where = document.where((*place, "attribute") if card else place)
        problems += [Problem(p.what, p.fix, p.where or where) for p in error.problems]
    own = {key: getattr(given, key) for key in given.model_fields_set if key != "attribute"}
    bias = Bias.model_validate({key: getattr(sample, key) for key in Bias.model_fields} | own)
    if card and attribute and bias.shift == "both":
        target = card.protected[attribute].bias
        if target and not target.favoured:
            what = f"shift: both needs to know whom β favours, and {card.name} does not say"
            fix = f"add `favoured` to the bias of {attribute} in the card, or write shift: deprived"
            problems.append(Problem(what, fix, document.where((*place, "shift"))))
    if problems or card is None:
        raise UserError(*problems)
    return DatasetChoice(card, path.resolve(), attribute, bias)
