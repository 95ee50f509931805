"""Interventions and classifiers as a config names them: a name with parameters, lists multiplied out."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import product
from typing import Any, Protocol, get_type_hints

from pydantic import TypeAdapter, ValidationError

from fairbench_cli.errors import Problem, suggest
from fairbench_cli.strict_yaml import Document, Place


class Entry(Protocol):
    """What a registry holds for a name."""

    def load(self) -> Any:
        """Return the dataclass of the parameters."""


@dataclass(frozen=True)
class Choice:
    """A technique or classifier with every parameter spelled out, sorted by name."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def build(self, registry: Mapping[str, Any]) -> Any:
        """Return the technique itself."""
        return registry[self.name].load()(**dict(self.parameters))

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={word(value)}" for key, value in self.parameters)
        return f"{self.name}({shown})" if shown else self.name


def word(value: Any) -> str:
    """Write a parameter as YAML would: true, false, null, or the value itself."""
    return {True: "true", False: "false", None: "null"}.get(value, str(value)) if (
        value is None or isinstance(value, bool)
    ) else str(value)


@dataclass(frozen=True)
class Axis:
    """What the readers of one list in a config share."""

    document: Document
    place: Place
    kind: str
    registry: Mapping[str, Entry]
    extra: Mapping[str, Any]  # parameters that every entry takes besides its own, with their types


def read_choices(axis: Axis, value: Any) -> tuple[list[tuple[Choice, dict[str, Any]]], list[Problem]]:
    """Read a list of names or ``{name: {parameter: value or list}}``.

    Returns
    -------
    list of (choice, extra parameters), one per combination, and the list of problems.
    """
    problems: list[Problem] = []
    found: list[tuple[Choice, dict[str, Any]]] = []
    where = axis.document.where(axis.place)
    if not isinstance(value, list) or not value:
        what = f"{axis.kind}s must be a list with at least one entry"
        return [], [Problem(what, f"use any of: {', '.join(sorted(axis.registry))}", where)]
    for i, item in enumerate(value):
        place = (*axis.place, i)
        name, parameters = (item, {}) if isinstance(item, str) else _pair(item)
        if name is None or not isinstance(parameters, dict):
            problems.append(
                Problem(
                    f"{axis.kind} must be a name or `name: {{parameter: value}}`, not {item!r}",
                    f"use any of: {', '.join(sorted(axis.registry))}",
                    axis.document.where(place),
                )
            )
            continue
        if name not in axis.registry:
            problems.append(
                Problem(
                    f'unknown {axis.kind} "{name}"', suggest(name, axis.registry), axis.document.where(place)
                )
            )
            continue
        grid, wrong = _grid(axis, place, name, parameters)
        problems.extend(wrong)
        for choice in [] if wrong else _combinations(name, grid, axis):
            if choice in found:
                problems.append(
                    Problem(f'{axis.kind} "{choice[0]}" is listed twice', "keep one", axis.document.where(place))
                )
            found.append(choice)
    return found, problems


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, dict) and len(item) == 1:
        name, parameters = next(iter(item.items()))
        return name, {} if parameters is None else parameters
    return None, None


def _grid(
    axis: Axis, place: Place, name: str, parameters: dict[str, Any]
) -> tuple[dict[str, list[Any]], list[Problem]]:
    """Check each value of each parameter; return the values by parameter, defaults included."""
    thing = axis.registry[name].load()
    types = get_type_hints(thing, include_extras=True)
    own = {field.name: field for field in fields(thing) if field.init}
    problems: list[Problem] = []
    grid: dict[str, list[Any]] = {
        key: [field.default] for key, field in own.items() if field.default is not MISSING
    }
    for key, value in parameters.items():
        here = (*place, name, key)
        if key not in own and key not in axis.extra:
            fix = suggest(key, [*own, *axis.extra])
            problems.append(Problem(f'{name} has no parameter "{key}"', fix, axis.document.where(here)))
            continue
        values = value if isinstance(value, list) else [value]
        if not values:
            problems.append(
                Problem(f"{name}: {key} is an empty list", "give at least one value", axis.document.where(here))
            )
        adapter: TypeAdapter[Any] = TypeAdapter(types.get(key, axis.extra.get(key)))
        grid[key] = []
        for i, one in enumerate(values):
            try:
                grid[key].append(adapter.validate_python(one, strict=not isinstance(one, int)))
            except ValidationError as error:
                message = error.errors()[0]["msg"].removeprefix("Input ")
                spot = (*here, i) if isinstance(value, list) else here
                problems.append(
                    Problem(f"{name}: {key} {message}, not {one!r}", "correct it", axis.document.where(spot))
                )
    problems += [
        Problem(f'{name} needs the parameter "{key}"', "add it", axis.document.where(place))
        for key in own
        if key not in grid and key not in parameters
    ]
    return grid, problems


def _combinations(
    name: str, grid: dict[str, list[Any]], axis: Axis
) -> Iterator[tuple[Choice, dict[str, Any]]]:
    own = sorted(key for key in grid if key not in axis.extra)
    extra = sorted(key for key in grid if key in axis.extra)
    for values in product(*(grid[key] for key in own)):
        for more in product(*(grid[key] for key in extra)):
            yield (
                Choice(name, tuple(zip(own, values, strict=True))),
                dict(zip(extra, more, strict=True)),
            )
