"""Interventions and classifiers as a config names them: a name with parameters, lists multiplied out."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import product
from typing import Any, Protocol, get_type_hints

from pydantic import TypeAdapter, ValidationError

from fairbench_cli.errors import Problem, shown, suggest
from fairbench_cli.strict_yaml import Document, Place
from fairbench_cli.validation import wording


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
        listed = ", ".join(f"{key}={word(value)}" for key, value in self.parameters)
        return f"{self.name}({listed})" if listed else self.name


def word(value: Any) -> str:
    """Write a parameter as YAML would: true, false, null, or the value itself.

    >>> word(True), word(None), word(0.5), word("naive-bayes")
    ('true', 'null', '0.5', 'naive-bayes')
    """
    return shown(value) if value is None or isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Axis:
    """What the readers of one list in a config share.

    Parameters
    ----------
    document : Document
        The config.
    key : str
        The list's key: ``interventions`` or ``classifiers``.
    registry : mapping
        The entries by name.
    extra : mapping
        Parameters that every entry takes besides its own: their type and default by name.
    """

    document: Document
    key: str
    registry: Mapping[str, Entry]
    extra: Mapping[str, tuple[Any, Any]]

    @property
    def kind(self) -> str:
        """What one entry is called."""
        return self.key.removesuffix("s")


Chosen = tuple[Choice, dict[str, Any]]


def read_choices(axis: Axis, value: Any, problems: list[Problem]) -> list[Chosen]:
    """Read a list of names or ``{name: {parameter: value or list}}``.

    Anything but a list gives nothing: that it is none is for the config's own check to say.

    Returns
    -------
    list of (choice, extra parameters), one per combination; what is wrong is added to `problems`.
    """
    found: list[Chosen] = []
    for i, item in enumerate(value if isinstance(value, list) else []):
        place: Place = (axis.key, i)
        where = axis.document.where(place)
        name, parameters = named(item)
        if name is None or not isinstance(parameters, dict):
            what = f"{axis.kind} must be a name or `name: {{parameter: value}}`, not {shown(item)}"
            problems.append(Problem(what, f"use any of: {', '.join(sorted(axis.registry))}", where))
        elif name not in axis.registry:
            problems.append(Problem(f'unknown {axis.kind} "{name}"', suggest(name, axis.registry), where))
        else:
            grid, wrong = _grid(axis, (*place, name), parameters)
            problems += wrong
            chosen_ones = [] if wrong else list(_combinations(name, grid, axis))
            problems += _at_odds(axis, chosen_ones, where)
            for chosen in chosen_ones:
                if chosen in found:
                    problems.append(Problem(f"{axis.kind} {chosen[0]} is listed twice", "keep one", where))
                found.append(chosen)
    return found


def _at_odds(axis: Axis, chosen: list[Chosen], where: str) -> list[Problem]:
    """Find combinations of parameters that the thing itself refuses."""
    found = {}
    for choice, _ in chosen:
        try:
            choice.build(axis.registry)
        except ValueError as error:
            found[str(error)] = Problem(f"{choice.name}: {error}", "change one of the two", where)
    return list(found.values())


def named(item: Any) -> tuple[str | None, Any]:
    """Split ``name`` or ``{name: options}`` into the two; the name is None if it is neither.

    >>> named("none"), named({"tree": None}), named({"tree": {"min_leaf": 5}}), named(3)
    (('none', {}), ('tree', {}), ('tree', {'min_leaf': 5}), (None, None))
    """
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, options = next(iter(item.items()))
        return name, {} if options is None else options
    return None, None


def _grid(axis: Axis, place: Place, parameters: dict[str, Any]) -> tuple[dict[str, list[Any]], list[Problem]]:
    """Check each value of each parameter; return the values by parameter, defaults included."""
    problems: list[Problem] = []
    name = str(place[-1])
    thing = axis.registry[name].load()
    types = get_type_hints(thing, include_extras=True) | {key: kind for key, (kind, _) in axis.extra.items()}
    own = {field.name: field for field in fields(thing) if field.init}
    grid = {key: [field.default] for key, field in own.items() if field.default is not MISSING}
    grid |= {key: [default] for key, (_, default) in axis.extra.items()}
    for key, value in parameters.items():
        here = (*place, key)
        where = axis.document.where(here)
        if key not in own and key not in axis.extra:
            fix = suggest(key, [*own, *axis.extra])
            problems.append(Problem(f'{name} has no parameter "{key}"', fix, where))
            continue
        if value == []:
            problems.append(Problem(f"{name}: {key} must not be empty", "give at least one value", where))
        adapter: TypeAdapter[Any] = TypeAdapter(types[key])
        grid[key] = []
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            try:
                grid[key].append(adapter.validate_python(one, strict=True))
            except ValidationError as error:
                what, fix = wording(error.errors()[0])
                spot = axis.document.where((*here, i)) if isinstance(value, list) else where
                problems.append(Problem(f"{name}: {key} {what}", fix, spot))
    where = axis.document.where(place)
    problems += [
        Problem(f'{name} needs the parameter "{key}"', "add it", where) for key in own if key not in grid
    ]
    return grid, problems


def _combinations(name: str, grid: dict[str, list[Any]], axis: Axis) -> Iterator[Chosen]:
    """Multiply the grid out."""
    own = sorted(key for key in grid if key not in axis.extra)
    for values in product(*(grid[key] for key in own)):
        for more in product(*(grid[key] for key in axis.extra)):
            yield (
                Choice(name, tuple(zip(own, values, strict=True))),
                dict(zip(axis.extra, more, strict=True)),
            )
