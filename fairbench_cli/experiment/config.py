"""From a YAML file to an `Experiment`; every mistake in it is reported at once, with its line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.card import Card, find_card, known_cards, read_card
from fairbench_cli.errors import Problem, UserError, suggest
from fairbench_cli.experiment.choices import Axis, Choice, read_choices
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import MEASURES
from fairbench_cli.strict_yaml import Document, Place, read_yaml, scalar
from fairbench_cli.validation import problems_of

TABLES = ("discrimination-accuracy", "over-underestimation")

Beta = Annotated[float, Field(ge=0, le=1)]


def _one_or_more(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


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
    beta: Annotated[tuple[Beta, ...], BeforeValidator(_one_or_more), Field(min_length=1, strict=False)] = (
        0.0,
        0.25,
        0.5,
        0.75,
        1.0,
    )


class DatasetOptions(Bias):
    """What a data set's entry may say after its name."""

    attribute: str | None = Field(default=None, description="The protected attribute; default: the card's.")


class ExperimentFile(BaseModel):
    """The keys of a config file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Results land in results/NAME.")
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
    interventions: list[Any]
    classifiers: list[Any] = Field(default=["tree"])
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
        Listing every mistake.
    """
    document = read_yaml(path)
    if not isinstance(document.data, dict):
        problem = Problem("a config is a mapping of keys to values", "see configs/quickstart.yaml", str(path))
        raise UserError(problem)
    document, problems = _override(document, overrides)
    parsed: ExperimentFile | None = None
    try:
        parsed = ExperimentFile.model_validate(document.data)
    except ValidationError as error:
        problems += problems_of(error, ExperimentFile, document)
    data = document.data
    seen = data.get("include_protected", False)
    techniques, wrong = _techniques(document, data.get("interventions"), seen is True)
    problems += wrong if "interventions" in data else []
    classifiers, wrong = read_choices(
        Axis(document, ("classifiers",), "classifier", CLASSIFIERS, {}), data.get("classifiers", ["tree"])
    )
    problems += wrong
    problems += _unknown(document, "metrics", "metric", tuple(MEASURES))
    problems += _unknown(document, "tables", "table", TABLES)
    sample = parsed.sample if parsed else SampleConfig()
    datasets, wrong = _datasets(document, data.get("datasets"), sample, path.parent)
    problems += wrong
    if problems or parsed is None:
        raise UserError(*dict.fromkeys(problems))
    return Experiment(
        name=parsed.name,
        seed=parsed.seed,
        repeats=parsed.repeats,
        datasets=datasets,
        sample=sample,
        test=parsed.test,
        techniques=techniques,
        classifiers=tuple(choice for choice, _ in classifiers),
        metrics=tuple(parsed.metrics),
        tables=tuple(parsed.tables),
    )


def _techniques(document: Document, value: Any, seen: bool) -> tuple[tuple[Technique, ...], list[Problem]]:
    axis = Axis(document, ("interventions",), "intervention", INTERVENTIONS, {"include_protected": bool})
    found, problems = read_choices(axis, value)
    return tuple(Technique(choice, extra.get("include_protected", seen)) for choice, extra in found), problems


def _datasets(
    document: Document, value: Any, sample: SampleConfig, base: Path
) -> tuple[tuple[DatasetChoice, ...], list[Problem]]:
    found: list[DatasetChoice] = []
    problems: list[Problem] = []
    for i, item in enumerate(value if isinstance(value, list) else []):
        place: Place = ("datasets", i)
        name, options = (item, {}) if isinstance(item, str) else (None, None)
        if isinstance(item, dict) and len(item) == 1:
            name, options = next(iter(item.items()))
        if name is None:
            problems.append(
                Problem(
                    f"a dataset must be a name or `name: {{option: value}}`, not {item!r}",
                    f"use any of: {', '.join(known_cards())}",
                    document.where(place),
                )
            )
            continue
        try:
            given = DatasetOptions.model_validate(options or {})
        except ValidationError as error:
            problems += problems_of(error, DatasetOptions, document, (*place, name))
            continue
        try:
            card_path = find_card(name, base)
            card = read_card(card_path)
            attribute = card.attribute(given.attribute)
        except UserError as error:
            where = document.where(place)
            problems += [Problem(p.what, p.fix, p.where or where) for p in error.problems]
            continue
        general = {key: getattr(sample, key) for key in Bias.model_fields}
        own = {key: getattr(given, key) for key in given.model_fields_set if key != "attribute"}
        if any((other.card.name, other.attribute) == (card.name, attribute) for other in found):
            problems.append(
                Problem(
                    f"{card.name} with {attribute} is listed twice",
                    "keep one, or write two configs",
                    document.where(place),
                )
            )
        found.append(DatasetChoice(card, card_path, attribute, Bias.model_validate(general | own)))
    return tuple(found), problems


def _unknown(document: Document, key: str, kind: str, known: tuple[str, ...]) -> list[Problem]:
    value = document.data.get(key)
    problems = []
    for i, name in enumerate(value if isinstance(value, list) else []):
        if isinstance(name, str) and name not in known:
            problems.append(
                Problem(f'unknown {kind} "{name}"', suggest(name, known), document.where((key, i)))
            )
        elif name in value[:i]:
            problems.append(
                Problem(f'{kind} "{name}" is listed twice', "keep one", document.where((key, i)))
            )
    return problems


def _override(document: Document, overrides: tuple[str, ...]) -> tuple[Document, list[Problem]]:
    """Lay ``a.b=value`` settings over the file's data."""
    data: dict[str, Any] = document.data
    problems = []
    for setting in overrides:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            fix = "write KEY=VALUE, for example --set repeats=5"
            problems.append(Problem(f"cannot read the setting {setting!r}", fix, "--set"))
            continue
        try:
            node = yaml.safe_load(text) if text[:1] in "[{" else scalar(text)
        except yaml.YAMLError:
            problems.append(
                Problem(f"cannot read the value of {setting!r}", "write a YAML value, such as [0, 0.5]", "--set")
            )
            continue
        data = _with(data, key.split("."), node)
    return Document(data, document.lines, document.name), problems


def _with(data: Any, keys: list[str], value: Any) -> dict[str, Any]:
    inner = data if isinstance(data, dict) else {}
    if len(keys) == 1:
        return inner | {keys[0]: value}
    return inner | {keys[0]: _with(inner.get(keys[0]), keys[1:], value)}
