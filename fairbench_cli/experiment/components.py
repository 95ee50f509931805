"""Interventions and classifiers as a config names them: a name with parameters, lists multiplied out."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import product
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from fairbench_cli.classifiers.registry import Entry
from fairbench_cli.errors import Problem, shown, suggest
from fairbench_cli.strict_yaml import Document, Place
from fairbench_cli.validation import wording


@dataclass(frozen=True)
class ComponentSpec:
    """An intervention or a classifier with every parameter spelled out, sorted by name."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def build(self, registry: Mapping[str, Entry]) -> Any:
        """Return the component itself."""
        return registry[self.name].load()(**dict(self.parameters))

    def plain(self, **more: Any) -> Any:
        """Return it as it is written in a config."""
        parameters = dict(self.parameters) | more
        return {self.name: parameters} if parameters else self.name

    def __str__(self) -> str:
        listed = ", ".join(f"{key}={word(value)}" for key, value in self.parameters)
        return f"{self.name}({listed})" if listed else self.name


@dataclass(frozen=True)
class TechniqueSpec:
    """An intervention, and whether its classifier sees the protected attribute."""

    spec: ComponentSpec
    include_protected: bool

    def plain(self) -> Any:
        """Return it as it is written in a config."""
        return self.spec.plain(include_protected=self.include_protected)


def word(value: Any) -> str:
    """Write a parameter as YAML would: true, false, null, or the value itself.

    >>> word(True), word(None), word(0.5), word("naive-bayes")
    ('true', 'null', '0.5', 'naive-bayes')
    """
    return shown(value) if value is None or isinstance(value, bool) else str(value)


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


Combination = tuple[ComponentSpec, dict[str, Any]]


@dataclass(frozen=True)
class ParameterGrid:
    """Reads a list of names or ``{name: {parameter: value or list}}``, with the lists multiplied out.

    Parameters
    ----------
    document : Document
        The config.
    key : str
        The list's key: ``interventions`` or ``classifiers``.
    registry : mapping
        The entries by name.
    extra : mapping
        Parameters that every entry takes in addition to its own: their type and default by name.
    """

    document: Document
    key: str
    registry: Mapping[str, Entry]
    extra: Mapping[str, tuple[Any, Any]]

    def read(self, items: list[Any], problems: list[Problem]) -> list[Combination]:
        """Return a spec and extra parameters per combination; what is wrong is added to `problems`."""
        found: list[Combination] = []
        kind = self.key.removesuffix("s")
        for i, item in enumerate(items):
            place: Place = (self.key, i)
            where = self.document.where(place)
            name, parameters = named(item)
            if name is None or not isinstance(parameters, dict):
                what = f"{kind} must be a name or `name: {{parameter: value}}`, not {shown(item)}"
                problems.append(Problem(what, f"use any of: {', '.join(sorted(self.registry))}", where))
            elif name not in self.registry:
                problems.append(Problem(f'unknown {kind} "{name}"', suggest(name, self.registry), where))
            else:
                values, wrong = self._values((*place, name), parameters)
                combinations = [] if wrong else list(self._combinations(name, values))
                problems += [*wrong, *self._refused(combinations, where)]
                for one in combinations:
                    if one in found:
                        problems.append(Problem(f"{kind} {one[0]} is listed twice", "keep one", where))
                    found.append(one)
        return found

    def _values(self, place: Place, parameters: dict[str, Any]) -> tuple[dict[str, list[Any]], list[Problem]]:
        """Check each value of each parameter; return the values by parameter, defaults included."""
        problems: list[Problem] = []
        name = str(place[-1])
        thing = self.registry[name].load()
        types = get_type_hints(thing, include_extras=True) | {key: of for key, (of, _) in self.extra.items()}
        own = {field.name: field for field in fields(thing) if field.init}
        values = {key: [field.default] for key, field in own.items() if field.default is not MISSING}
        values |= {key: [default] for key, (_, default) in self.extra.items()}
        for key, value in parameters.items():
            here = (*place, key)
            where = self.document.where(here)
            if key not in own and key not in self.extra:
                fix = suggest(key, [*own, *self.extra])
                problems.append(Problem(f'{name} has no parameter "{key}"', fix, where))
                continue
            if value == []:
                problems.append(Problem(f"{name}: {key} must not be empty", "give at least one value", where))
            adapter: TypeAdapter[Any] = TypeAdapter(types[key])
            values[key] = []
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                try:
                    values[key].append(adapter.validate_python(one, strict=True))
                except ValidationError as error:
                    what, fix = wording(error.errors()[0])
                    problems.append(Problem(f"{name}: {key} {what}", fix, self.document.where((*here, i))))
        where = self.document.where(place)
        needed = [key for key in own if key not in values]
        problems += [Problem(f'{name} needs the parameter "{key}"', "add it", where) for key in needed]
        return values, problems

    def _combinations(self, name: str, values: dict[str, list[Any]]) -> Iterator[Combination]:
        own = sorted(key for key in values if key not in self.extra)
        for chosen in product(*(values[key] for key in own)):
            for more in product(*(values[key] for key in self.extra)):
                spec = ComponentSpec(name, tuple(zip(own, chosen, strict=True)))
                yield spec, dict(zip(self.extra, more, strict=True))

    def _refused(self, combinations: list[Combination], where: str) -> list[Problem]:
        """Find combinations of parameters that the component itself refuses."""
        found = {}
        for spec, _ in combinations:
            try:
                spec.build(self.registry)
            except ValueError as error:
                found[str(error)] = Problem(f"{spec.name}: {error}", "change one of the two", where)
        return list(found.values())
