"""From a YAML file to a `Simulation`; every mistake in it is reported at once, with its line.

What makes a file a simulation's is its key ``truth``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from fairbench_cli.base import validation
from fairbench_cli.base.errors import Problem, refuse, user_error
from fairbench_cli.base.strict_yaml import dump_yaml, override_values, read_mapping
from fairbench_cli.experiment.config.config import FigureFormats
from fairbench_cli.experiment.config.outputs import DEFAULT_FIGURE_FORMATS
from fairbench_cli.measures.registry import COUNT_METRICS

EXAMPLE = "see configs/zliobaite2017.yaml"
MOST_LINES = 8  # of a figure: more look alike

METRICS = tuple(name for name, entry in COUNT_METRICS.items() if entry.on == "both")
"""The measures that need nothing but groups and decisions."""


def _without_labels(name: str) -> str:
    """Refuse a metric that is known and needs labels."""
    if name in COUNT_METRICS and name not in METRICS:
        problem = f'metric "{name}" speaks of labels, and simulated decisions have none'
        raise validation.refusal(((), Problem(problem, f"use one of: {', '.join(METRICS)}")))
    return name


Degree = Annotated[float, Field(ge=-1, le=1)]
Fractions = Annotated[
    tuple[Annotated[float, Field(gt=0, lt=1)], ...],
    Field(min_length=1),
    validation.Several("value", alone=False),
]
MetricNames = Annotated[
    tuple[Annotated[str, AfterValidator(_without_labels), validation.Known("metric", METRICS)], ...],
    validation.Several("metric", alone=False),
]


class Range(validation.StrictModel):
    """Equally spaced numbers, both ends among them."""

    start: Degree = Field(alias="from")
    to: Degree
    steps: int = Field(ge=2, le=10_001)

    @model_validator(mode="after")
    def _rises(self) -> "Range":
        if self.start >= self.to:
            raise validation.mistake(f"from {self.start:g} is not below to {self.to:g}", "swap them")
        return self

    def numbers(self) -> list[float]:
        """Return them, rounded so that they look as they would be written."""
        spread = np.linspace(self.start, self.to, self.steps).round(10) + 0.0  # -0.0 becomes 0.0
        return list(map(float, spread))


def _read_range(value: Any) -> Any:
    """Return the numbers of a range; anything else as it is."""
    if isinstance(value, dict):
        return Range.model_validate(value).numbers()
    return value


class Simulation(validation.StrictModel):
    """A simulation with everything spelled out; for the meaning of numbers see `simulation.Setting`."""

    name: str = Field(pattern=validation.NAME, description="Results land in results/NAME.")
    seed: int = Field(default=0, ge=0, description="Base of every other seed.")
    rows: int = Field(default=10_000, ge=2, le=100_000_000, description="Individuals of a run.")
    runs: int = Field(default=100, ge=1, le=100_000)
    deprived: Fractions = Field(description="P(s=g).")
    accepted: Fractions = Field(description="P(+).")
    truth: Annotated[
        tuple[Degree, ...],
        Field(min_length=1),
        validation.Several("value", alone=False),
        BeforeValidator(_read_range),
    ] = Field(description="d; or {from: -1, to: 1, steps: 21}.")
    metrics: Annotated[MetricNames, Field(min_length=1)]
    figures: dict[Annotated[str, Field(pattern=validation.NAME)], MetricNames] = Field(default={})
    figure_formats: FigureFormats = Field(default=DEFAULT_FIGURE_FORMATS)

    @field_validator("figures")
    @classmethod
    def _drawn(cls, figures: dict[str, tuple[str, ...]], info: ValidationInfo) -> dict[str, tuple[str, ...]]:
        """Refuse what cannot be drawn in one figure."""
        listed = info.data.get("metrics")  # what follows from a wrong name is not said
        findings: list[validation.Finding] = []
        for name, metrics in figures.items():
            for problem, fix in _figure_problems(metrics, listed or metrics):
                findings.append(((name,), Problem(f'figure "{name}" {problem}', fix)))
        if findings:
            raise validation.refusal(*findings)
        return figures

    def as_yaml(self) -> str:
        """Return a file that `read_simulation` reads back the same."""
        unsaid = {"figure_formats"} if self.figure_formats == DEFAULT_FIGURE_FORMATS else set()
        return dump_yaml(self.model_dump(mode="json", exclude=unsaid))


def is_simulation(path: Path) -> bool:
    """Return whether a file describes a simulation, which has a truth, and not an experiment on data sets.

    Raises
    ------
    UserError
        When it cannot be read.
    """
    keys = read_mapping(path, "a config", EXAMPLE).data.keys()
    return "truth" in keys and "datasets" not in keys


def read_simulation(path: Path, overrides: tuple[str, ...] = ()) -> Simulation:
    """Read a simulation's file, with ``key=value`` overrides laid over it.

    Raises
    ------
    UserError
        Listing every mistake, in the order of the file.
    """
    document = read_mapping(path, "a simulation", EXAMPLE)
    if "datasets" in document.data and "truth" not in document.data:
        raise user_error("this is an experiment, not a simulation", f"fairbench run {path}", str(path))
    document, problems = override_values(document, overrides)
    try:
        simulation = Simulation.model_validate(document.data)
    except ValidationError as error:
        problems += validation.to_problems(error, document)
    refuse(validation.sort_by_line(problems, document.name))
    return simulation


def _figure_problems(drawn: tuple[str, ...], metrics: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield why metrics cannot be drawn in one figure, and what to do; `metrics` are the simulation's."""
    for metric in drawn:
        if metric not in metrics:
            yield f"draws {metric}, which the metrics do not list", "list it there"
    if not drawn:
        yield "draws nothing", "list some of the metrics"
    if len(drawn) > MOST_LINES:
        yield f"has {len(drawn)} lines", f"split it: {MOST_LINES} at most"
    if len({COUNT_METRICS[metric].ratio for metric in drawn}) > 1:
        yield "has ratios and other measures, which share no axis", "give the ratios a figure of their own"
