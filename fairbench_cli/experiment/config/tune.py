"""What a config says about tuning: which parameters, for which metric, and on which rows."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from fairbench_cli.base.errors import Problem, UserError, suggest
from fairbench_cli.base.plugins import is_plugin, short
from fairbench_cli.base.strict_yaml import Place, YamlDocument
from fairbench_cli.base.validation import Fraction, StrictModel, one_or_more, problems_of
from fairbench_cli.experiment.config.own_metrics import OwnMetric, find_metric, known_names
from fairbench_cli.measures.metric import Metric
from fairbench_cli.measures.registry import METRICS

On = Literal["validation", "test"]

FRACTION = 0.3
OF_CLASSIFIER = "classifier."  # begins the name of a parameter that is the classifier's


class TuneOptions(StrictModel):
    """What an intervention's entry may say under `tune`."""

    metric: Annotated[tuple[str, ...], BeforeValidator(one_or_more), Field(min_length=1)] = Field(
        alias="for", description="A metric of counts that has an ideal value; of several, each is a cell."
    )
    over: Annotated[dict[str, Any], Field(min_length=1)] = Field(
        description="The values to choose from, by parameter of the technique, or `classifier.NAME`; of "
        "several parameters every combination."
    )
    on: Annotated[tuple[On, ...], BeforeValidator(one_or_more), Field(min_length=1)] = Field(
        default=("validation",),
        description="`validation`: part of the training rows. `test`: the test rows themselves, as in "
        "Friedler et al. 2019; what comes out is then too good, and results say so.",
    )
    fraction: Annotated[tuple[Fraction, ...], BeforeValidator(one_or_more), Field(min_length=1)] = Field(
        default=(FRACTION,), description="Share of the training rows that validation takes."
    )


@dataclass(frozen=True)
class Tuning:
    """How some parameters of a technique and of its classifier are chosen.

    Parameters
    ----------
    metric : str
        The best candidate is the one whose value is nearest to this metric's ideal.
    over : tuple of (str, tuple of values)
        The values to choose from by parameter, sorted by name.
    on : {"validation", "test"}
        The rows that the candidates are measured on.
    fraction : float or None
        Share of the training rows that are kept for validation; None with `on` test.
    own : OwnMetric or None
        The metric's code, where it is not registered.
    """

    metric: str
    over: tuple[tuple[str, tuple[Any, ...]], ...]
    on: On = "validation"
    fraction: float | None = FRACTION
    own: OwnMetric | None = None

    @property
    def entry(self) -> Metric:
        """The metric itself."""
        return METRICS[self.metric] if self.own is None else self.own.entry

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that are chosen."""
        return tuple(name for name, _ in self.over)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """Every combination of the values, the last parameter changing fastest.

        >>> Tuning("accuracy", (("classifier.C", (1, 10)), ("level", (0, 1)))).candidates[:2]
        [{'classifier.C': 1, 'level': 0}, {'classifier.C': 1, 'level': 1}]
        """
        combinations = product(*(values for _, values in self.over))
        return [dict(zip(self.names, values, strict=True)) for values in combinations]

    @property
    def described(self) -> dict[str, Any]:
        """Its part of the `parameters` of results."""
        own = {"for": self.metric, "over": {name: list(values) for name, values in self.over}, "on": self.on}
        return own if self.fraction is None else own | {"fraction": self.fraction}

    @property
    def decisive(self) -> dict[str, Any]:
        """Its part of a cell's key."""
        return self.described if self.own is None else self.described | {"code": self.own.origin.version}

    def plain(self) -> dict[str, Any]:
        """Return it as it is written in a config, from wherever that is read."""
        return self.described if self.own is None else self.described | {"for": self.own.plain}

    def __str__(self) -> str:
        """Say what is tuned, for what, and on which rows where these are not the usual ones.

        >>> str(Tuning("accuracy", (("level", (0.0, 1.0)),)))
        'level tuned for accuracy'
        >>> str(Tuning("impact-ratio", (("level", (0.0, 1.0)),), "test", None))
        'level tuned on test for impact-ratio'
        """
        on = " on test" if self.fraction is None else f" on {self.fraction:g} of the training rows"
        on = "" if self.fraction == FRACTION else on
        return f"{' and '.join(self.names)} tuned{on} for {self.metric}"


def tuning_of(described: dict[str, Any]) -> Tuning:
    """Return the tuning that results describe, without the code of a metric.

    >>> given = Tuning("accuracy", (("level", (0.0, 1.0)),))
    >>> tuning_of(given.described) == given
    True
    """
    over = tuple((name, tuple(values)) for name, values in described["over"].items())
    return Tuning(described["for"], over, described["on"], described.get("fraction"))


def own_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return those of some parameters that are the technique's own."""
    return {name: value for name, value in values.items() if not name.startswith(OF_CLASSIFIER)}


def classifier_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return those of some parameters that are the classifier's, by its own names."""
    return {
        name.removeprefix(OF_CLASSIFIER): value
        for name, value in values.items()
        if name.startswith(OF_CLASSIFIER)
    }


Check = Callable[[Place, Any], tuple[list[Any], list[Problem]]]


def read_tunings(
    document: YamlDocument, place: Place, value: Any, check: Check, base: Path | None, problems: list[Problem]
) -> list[Tuning]:
    """Return the tunings of an intervention's entry; what is wrong with them is added to `problems`.

    Parameters
    ----------
    value : any
        What stands at `place`: options, or a list of them.
    check : callable
        Takes the place of a parameter and what stands there; returns its values and what is wrong with them.
    base : Path or None
        As in `ParameterGrid`.
    """
    found = []
    entries = [((*place, i), one) for i, one in enumerate(value)] if isinstance(value, list) else []
    for here, one in entries or [(place, value)]:
        try:
            options = TuneOptions.model_validate(one)
        except ValidationError as error:
            problems += problems_of(error, TuneOptions, document, here)
            continue
        wrong: list[Problem] = []
        if "fraction" in options.model_fields_set and "validation" not in options.on:
            fix = "remove it, or write on: validation"
            where = document.where((*here, "fraction"))
            wrong.append(Problem("tune: fraction has no effect with `on: test`", fix, where))
        over = {}
        for name, values in options.over.items():
            over[name], more = check((*here, "over", name), values)
            twice = [one for i, one in enumerate(over[name]) if one in over[name][:i]]
            where = document.where((*here, "over", name))
            wrong += [
                *more,
                *(Problem(f"{name} has the value {one} twice", "keep one", where) for one in twice),
            ]
        if not wrong and all(len(values) == 1 for values in over.values()):
            what, fix = "tune: over holds one candidate", "give several values, or make it a parameter"
            wrong.append(Problem(what, fix, document.where((*here, "over"))))
        metrics = [_metric(document, (*here, "for"), name, base, wrong) for name in options.metric]
        ordered = tuple((name, tuple(over[name])) for name in sorted(over))
        problems += wrong
        for own, on, fraction in product(metrics, options.on, options.fraction):
            if not wrong and own is not None:
                name, code = own
                one = Tuning(name, ordered, on, fraction if on == "validation" else None, code)
                found += [one] * (one not in found)
    return found


def _metric(
    document: YamlDocument, place: Place, name: str, base: Path | None, problems: list[Problem]
) -> tuple[str, OwnMetric | None] | None:
    """Return what results call a metric, and its code where it is not registered."""
    where = document.where(place)
    own = None
    if name not in METRICS:
        if base is None and (is_plugin(name) or name in known_names()):
            return short(name), None
        try:
            if base is None:
                problems.append(Problem(f'unknown metric "{name}"', suggest(name, known_names()), where))
                return None
            own = find_metric(name, base)
        except UserError as error:
            problems += [Problem(one.what, one.fix, where) for one in error.problems]
            return None
    entry = METRICS[name] if own is None else own.entry
    fix = "tune for a metric such as accuracy or impact-ratio"
    if entry.needs != "counts":
        problems.append(
            Problem(f"tune: {entry.name} needs rows, and candidates have counts alone", fix, where)
        )
    elif entry.ideal is None:
        problems.append(Problem(f"tune: no value of {entry.name} is better than another", fix, where))
    elif entry.on == "labels":
        problems.append(Problem(f"tune: {entry.name} is the same whatever is predicted", fix, where))
    return entry.name, own
