"""From a YAML file to a `Simulation`; every mistake in it is reported at once, with its line.

What makes a file a simulation's is its key ``truth``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from fairbench_cli.base.errors import Problem, UserError, user_error
from fairbench_cli.base.strict_yaml import Place, YamlDocument, dump_yaml, laid_over, read_mapping
from fairbench_cli.base.validation import NAME, StrictModel, in_file_order, in_list, mistake, problems_of
from fairbench_cli.measures.registry import COUNT_METRICS

EXAMPLE = "see configs/zliobaite2017.yaml"
MOST_LINES = 8  # of a figure: more look alike

METRICS = tuple(name for name, entry in COUNT_METRICS.items() if entry.on == "both")
"""The measures that need nothing but groups and decisions."""

Fraction = Annotated[float, Field(gt=0, lt=1)]
Degree = Annotated[float, Field(ge=-1, le=1)]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class Range(StrictModel):
    """Equally spaced numbers, both ends among them."""

    start: Degree = Field(alias="from")
    to: Degree
    steps: int = Field(ge=2, le=10_001)

    @model_validator(mode="after")
    def _rises(self) -> "Range":
        if self.start >= self.to:
            raise mistake(f"from {self.start:g} is not below to {self.to:g}", "swap them")
        return self

    def numbers(self) -> list[float]:
        """Return them, rounded so that they look as they would be written."""
        spread = np.linspace(self.start, self.to, self.steps).round(10) + 0.0  # -0.0 becomes 0.0
        return list(map(float, spread))


class Simulation(StrictModel):
    """A simulation with everything spelled out; for the meaning of numbers see `draw.Setting`."""

    name: str = Field(pattern=NAME, description="Results land in results/NAME.")
    seed: int = Field(default=0, ge=0, description="Base of every other seed.")
    rows: int = Field(default=10_000, ge=2, le=100_000_000, description="Individuals of a run.")
    runs: int = Field(default=100, ge=1, le=100_000)
    deprived: tuple[Fraction, ...] = Field(strict=False, min_length=1, description="P(s=g).")
    accepted: tuple[Fraction, ...] = Field(strict=False, min_length=1, description="P(+).")
    truth: tuple[Degree, ...] = Field(
        strict=False, min_length=1, description="d; or {from: -1, to: 1, steps: 21}."
    )
    metrics: Names = Field(min_length=1)
    figures: dict[Annotated[str, Field(pattern=NAME)], Names] = Field(default={})

    def as_yaml(self) -> str:
        """Return a file that `read_simulation` reads back the same."""
        return dump_yaml(self.model_dump(mode="json"))


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
    document, problems = laid_over(document, overrides)
    data, found = _spread_out(document)
    problems += found
    try:
        simulation = Simulation.model_validate(data)
    except ValidationError as error:
        problems += problems_of(error, Simulation, document)
    for key in ("deprived", "accepted", "truth"):
        problems += in_list(document, (key,), "value")
    wrong = list(_metric_problems(document, ("metrics",)))
    problems += wrong
    listed = None if wrong else document.data.get("metrics")  # what follows from a wrong name is not said
    figures = document.data.get("figures")
    for name, own in figures.items() if isinstance(figures, dict) else ():
        problems += _metric_problems(document, ("figures", name))
        problems += _figure_problems(document, name, own, listed)
    if problems:
        raise UserError(*in_file_order(problems, document.name))
    return simulation


def _spread_out(document: YamlDocument) -> tuple[dict[str, Any], list[Problem]]:
    """Write a range of truths out as a list."""
    data = document.data
    if not isinstance(data.get("truth"), dict):
        return data, []
    try:
        return data | {"truth": Range.model_validate(data["truth"]).numbers()}, []
    except ValidationError as error:
        problems = list(problems_of(error, Range, document, ("truth",)))
        return data | {"truth": [0.0]}, problems


def _metric_problems(document: YamlDocument, place: Place) -> Iterator[Problem]:
    """Find metrics that are unknown, listed twice, or need labels."""
    labelled = {f'unknown metric "{name}"': name for name in COUNT_METRICS if name not in METRICS}
    for problem in in_list(document, place, "metric", METRICS):
        if problem.what in labelled:
            what = f'metric "{labelled[problem.what]}" speaks of labels, and simulated decisions have none'
            yield Problem(what, f"use one of: {', '.join(METRICS)}", problem.where)
        else:
            yield problem


def _figure_problems(document: YamlDocument, name: str, own: Any, metrics: Any) -> Iterator[Problem]:
    """Find what cannot be drawn in one figure; `metrics` is None when they are not to be compared with."""
    where, of = document.where(("figures", name)), f'figure "{name}"'
    listed = [metric for metric in own if isinstance(metric, str)] if isinstance(own, list) else []
    for metric in listed:
        if metric in METRICS and isinstance(metrics, list) and metric not in metrics:
            yield Problem(f"{of} draws {metric}, which the metrics do not list", "list it there", where)
    if isinstance(own, list) and not own:
        yield Problem(f"{of} draws nothing", "list some of the metrics", where)
    if len(listed) > MOST_LINES:
        yield Problem(f"{of} has {len(listed)} lines", f"split it: {MOST_LINES} at most", where)
    if len({COUNT_METRICS[metric].ratio for metric in listed if metric in COUNT_METRICS}) > 1:
        what = f"{of} has ratios and other measures, which share no axis"
        yield Problem(what, "give the ratios a figure of their own", where)
