"""From a YAML file to an `Experiment`; every mistake in it is reported at once, with its line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.errors import Problem, UserError
from fairbench_cli.experiment.checks import (
    badly_tested,
    in_list,
    undrawable,
    unswept,
    without_effect,
    without_strata,
)
from fairbench_cli.experiment.choices import Axis, Choice, named, read_choices
from fairbench_cli.experiment.datasets import DatasetChoice, read_datasets
from fairbench_cli.experiment.keys import ExperimentFile, SampleConfig, TestRows
from fairbench_cli.experiment.outputs import FIGURES, TABLES
from fairbench_cli.experiment.overrides import laid_over
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import MEASURES, ROW_MEASURES
from fairbench_cli.strict_yaml import Document, read_yaml
from fairbench_cli.validation import in_file_order, problems_of


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
    test: TestRows
    techniques: tuple[Technique, ...]
    classifiers: tuple[Choice, ...]
    metrics: tuple[str, ...]
    explain: tuple[str, ...]
    sweep: bool
    tables: tuple[str, ...]
    figures: tuple[str, ...]


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
    if "truth" in document.data and "datasets" not in document.data:
        what = "this is a simulation, which has no data sets to run on"
        raise UserError(Problem(what, f"run `fairbench simulate {path}`", document.where(("truth",))))
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
    datasets = read_datasets(document, parsed.sample if parsed else SampleConfig(), path.parent, problems)
    problems += in_list(document, ("metrics",), "metric", (*MEASURES, *ROW_MEASURES))
    problems += in_list(document, ("tables",), "table", tuple(TABLES))
    problems += in_list(document, ("figures",), "figure", tuple(FIGURES))
    problems += in_list(document, ("sample", "beta"), "β")
    problems += [*without_effect(document), *badly_tested(document), *undrawable(document)]
    problems += [*in_list(document, ("explain",), "attribute"), *without_strata(document), *unswept(document)]
    if not problems:
        for axis, chosen in (("interventions", techniques), ("classifiers", classifiers)):
            problems += _taken_by_none(document, datasets, axis, [choice.name for choice, _ in chosen])
    if problems or parsed is None:
        raise UserError(*in_file_order(problems, document.name))
    return Experiment(
        name=parsed.name,
        seed=parsed.seed,
        repeats=parsed.repeats,
        datasets=datasets,
        sample=_without_bias(parsed.sample),
        test=parsed.test or ("holdout" if parsed.sample.source == "data" else "original"),
        techniques=tuple(Technique(choice, extra["include_protected"]) for choice, extra in techniques),
        classifiers=tuple(choice for choice, _ in classifiers),
        metrics=tuple(parsed.metrics),
        explain=tuple(parsed.explain),
        sweep=parsed.sweep is not None,
        tables=tuple(parsed.tables),
        figures=tuple(parsed.figures),
    )


def _without_bias(sample: SampleConfig) -> SampleConfig:
    """Real rows are as biased as they are: β is 0."""
    return sample.model_copy(update={"beta": (0.0,)}) if sample.source == "data" else sample


def _taken_by_none(
    document: Document, datasets: tuple[DatasetChoice, ...], axis: str, names: list[str]
) -> Iterator[Problem]:
    """Find what every data set leaves out."""
    places = [named(item)[0] for item in document.data.get(axis, [])]
    for name in dict.fromkeys(names):
        limits = [getattr(choice, axis) for choice in datasets]
        if all(limit is not None and name not in limit for limit in limits):
            where = document.where((axis, places.index(name)) if name in places else ())
            yield Problem(
                f"no data set takes {name}", f"remove it, or name it under a data set's {axis}", where
            )
