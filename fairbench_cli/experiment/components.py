"""Interventions and classifiers as a config names them: a name with parameters, lists multiplied out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairbench_cli.classifiers.registry import Kind
from fairbench_cli.data.represent import Representation
from fairbench_cli.errors import Problem, UserError, shown, suggest
from fairbench_cli.parameters import Parameters, checked, parameters_of
from fairbench_cli.plugins import CodeOrigin, find, is_plugin, named_in_packages, short
from fairbench_cli.strict_yaml import Document, Place
from fairbench_cli.validation import wording


@dataclass(frozen=True)
class ComponentSpec:
    """An intervention or a classifier with its parameters, sorted by name.

    Parameters
    ----------
    name : str
        What results call it.
    parameters : tuple of (str, value)
        Of a dataclass every one is spelled out; of another class or function those that are given.
    origin : CodeOrigin or None
        Where its code is; None for a registered one.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    origin: CodeOrigin | None = None

    def build(self, kind: Kind) -> Any:
        """Return the component itself.

        Raises
        ------
        SourceChanged
            When its code is no longer that of the plan.
        """
        if self.origin is None:
            return kind.registry[self.name].load()(**dict(self.parameters))
        return kind.foreign.make(self.origin.load(), dict(self.parameters))

    @property
    def decisive(self) -> list[Any]:
        """Its part of a cell's key: where the code is says nothing, which code it is does."""
        version = [] if self.origin is None else [self.origin.version]
        return [self.name, dict(self.parameters), *version]

    def plain(self, **more: Any) -> Any:
        """Return it as it is written in a config, from wherever that is read."""
        name = self.name if self.origin is None or self.origin.path is None else self.origin.target
        parameters = {
            key: [value] if isinstance(value, list | tuple) else value for key, value in self.parameters
        }
        parameters |= more
        return {name: parameters} if parameters else name

    def __str__(self) -> str:
        listed = ", ".join(f"{key}={word(value)}" for key, value in self.parameters)
        return f"{self.name}({listed})" if listed else self.name


@dataclass(frozen=True)
class TechniqueSpec:
    """An intervention, whether its classifier sees the protected attribute, and how it gets the features."""

    spec: ComponentSpec
    include_protected: bool
    representation: Representation = "original"

    def plain(self) -> Any:
        """Return it as it is written in a config."""
        return self.spec.plain(include_protected=self.include_protected, representation=self.representation)


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
Extra = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class ParameterGrid:
    """Reads a list of names or ``{name: {parameter: value or list}}``, with the lists multiplied out.

    A value that is itself a list is a list in a list.

    Parameters
    ----------
    document : Document
        The config.
    kind : Kind
        What is listed.
    extra : mapping
        Parameters that every one takes in addition to its own: their type and default values by name.
    base : Path or None
        The folder that the paths of files are relative to. None takes names that are not registered, and
        their parameters, as they stand: nobody's code is run.
    """

    document: Document
    kind: Kind
    extra: Mapping[str, tuple[Any, Any]]
    base: Path | None = None

    def read(self, items: list[Any], problems: list[Problem]) -> list[Combination]:
        """Return a spec and extra parameters per combination; what is wrong is added to `problems`."""
        found: list[Combination] = []
        kind = self.kind.name
        for i, item in enumerate(items):
            place: Place = (f"{kind}s", i)
            where = self.document.where(place)
            name, options = named(item)
            if name is None or not isinstance(options, dict):
                what = f"{kind} must be a name or `name: {{parameter: value}}`, not {shown(item)}"
                problems.append(Problem(what, f"use any of: {', '.join(sorted(self.kind.registry))}", where))
                continue
            try:
                origin, takes, ours = self._known(name, where)
            except UserError as error:
                problems += error.problems
                continue
            values, wrong = self._values((*place, name), options, takes, ours)
            combinations = [] if wrong else list(self._combinations(short(name), values, origin, ours))
            problems += [*wrong, *self._refused(combinations, where)]
            for one in combinations:
                twins = [other for other in found if other[0].name == one[0].name]
                if any(_file(other) != _file(one) for other in twins):
                    what = f"{kind} {one[0].name} is in two files of one name"
                    problems.append(Problem(what, "rename one of the files", where))
                elif one in twins:
                    problems.append(Problem(f"{kind} {one[0]} is listed twice", "keep one", where))
                found.append(one)
        return found

    def _known(self, name: str, where: str) -> tuple[CodeOrigin | None, Parameters, Extra]:
        """Return where a component is from, its own parameters, and those of its adapter.

        Raises
        ------
        UserError
            When there is no such component, or it is no such thing.
        """
        registry, origin = self.kind.registry, None
        if self.base is None and name not in registry:
            return CodeOrigin(name, "") if is_plugin(name) else None, Parameters({}, open=True), {}
        if name in registry:
            thing = registry[name].load()
            if self.base is None:
                return None, parameters_of(thing), {}
        else:
            try:
                origin = find(name, self.kind.group, self.base or Path())
            except UserError as error:
                raise UserError(*(Problem(one.what, one.fix, where) for one in error.problems)) from None
            if origin is None:
                known = [*registry, *named_in_packages(self.kind.group)]
                raise UserError(Problem(f'unknown {self.kind.name} "{name}"', suggest(name, known), where))
            thing = origin.load()
        fault = self.kind.foreign.fault(thing)
        if fault is not None:
            raise UserError(Problem(f"{short(name)} {fault[0]}", fault[1], where))
        takes = parameters_of(thing)
        if origin is None:
            return None, takes, {}
        required = tuple(key for key in takes.required if key not in self.kind.foreign.filled(thing))
        return origin, replace(takes, required=required), self.kind.foreign.options_of(thing)

    def _values(
        self, place: Place, given: dict[str, Any], takes: Parameters, ours: Extra
    ) -> tuple[dict[str, list[Any]], list[Problem]]:
        """Check each value of each parameter; return the values by parameter, defaults included."""
        problems: list[Problem] = []
        name = short(str(place[-1]))
        more = {**ours, **self.extra}
        types = {**takes.types, **{key: of for key, (of, _) in more.items()}}
        values = {key: [default] for key, default in takes.defaults.items()}
        values |= {key: [default] for key, (_, default) in ours.items()}
        values |= {key: list(defaults) for key, (_, defaults) in self.extra.items()}
        for key, value in given.items():
            here = (*place, key)
            where = self.document.where(here)
            if key not in types and not takes.open:
                problems.append(Problem(f'{name} has no parameter "{key}"', suggest(key, types), where))
                continue
            if value == []:
                problems.append(Problem(f"{name}: {key} must not be empty", "give at least one value", where))
            values[key] = []
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                try:
                    values[key].append(checked(types.get(key, Any), one))
                except ValidationError as error:
                    what, fix = wording(error.errors()[0])
                    problems.append(Problem(f"{name}: {key} {what}", fix, self.document.where((*here, i))))
        where = self.document.where(place)
        needed = [key for key in takes.required if key not in values]
        problems += [Problem(f'{name} needs the parameter "{key}"', "add it", where) for key in needed]
        return values, problems

    def _combinations(
        self, name: str, values: dict[str, list[Any]], origin: CodeOrigin | None, ours: Extra
    ) -> Iterator[Combination]:
        own = sorted(key for key in values if key not in self.extra)
        for chosen in product(*(values[key] for key in own)):
            given = tuple(
                (key, value)
                for key, value in zip(own, chosen, strict=True)
                if key not in ours or value != ours[key][1]
            )
            for more in product(*(values[key] for key in self.extra)):
                spec = ComponentSpec(name, given, origin)
                yield spec, dict(zip(self.extra, more, strict=True))

    def _refused(self, combinations: list[Combination], where: str) -> list[Problem]:
        """Find combinations of parameters that the component itself refuses."""
        found = {}
        for spec, _ in combinations:
            if self.base is None and spec.name not in self.kind.registry:
                continue
            try:
                spec.build(self.kind)
            except Exception as error:
                if spec.origin is None and not isinstance(error, ValueError):
                    raise
                what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
                fix = (
                    "change one of the two" if spec.origin is None else "correct the parameters, or its code"
                )
                found[what] = Problem(f"{spec.name}: {what}", fix, where)
        return list(found.values())


def _file(combination: Combination) -> Path | None:
    origin = combination[0].origin
    return None if origin is None else origin.path
