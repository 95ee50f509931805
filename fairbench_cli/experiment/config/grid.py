"""Read lists of interventions or classifiers: parameters checked, lists of values multiplied out."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairbench_cli.base.errors import Problem, UserError, shown, suggest
from fairbench_cli.base.parameters import Parameters, checked, parameters_of
from fairbench_cli.base.plugins import CodeOrigin, find, is_plugin, named_in_packages, short
from fairbench_cli.base.registry import Registry
from fairbench_cli.base.strict_yaml import Place, YamlDocument
from fairbench_cli.base.validation import wording
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.config.components import ComponentSpec, named
from fairbench_cli.experiment.config.tune import OF_CLASSIFIER, Tuning, own_parameters, read_tunings

Combination = tuple[ComponentSpec, dict[str, Any]]
Extra = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class ParameterGrid:
    """Reads a list of names or ``{name: {parameter: value or list}}``, with the lists multiplied out.

    A value that is itself a list is a list in a list.

    Parameters
    ----------
    document : YamlDocument
        The config.
    kind : Registry
        What is listed.
    extra : mapping
        Parameters that every one takes in addition to its own: their type and default values by name.
    base : Path or None
        The folder that the paths of files are relative to. None takes names that are not registered, and
        their parameters, as they stand: nobody's code is run.
    tuned_with : sequence of ComponentSpec or None
        The classifiers, whose parameters may be tuned too. None where nothing may be tuned.
    """

    document: YamlDocument
    kind: Registry
    extra: Mapping[str, tuple[Any, Any]]
    base: Path | None = None
    tuned_with: Sequence[ComponentSpec] | None = None

    def read(self, items: list[Any], problems: list[Problem]) -> list[Combination]:
        """Return a spec and extra parameters per combination; what is wrong is added to `problems`."""
        found = _Found()
        kind = self.kind.name
        for i, item in enumerate(items):
            place: Place = (f"{kind}s", i)
            where = self.document.where(place)
            name, options = named(item)
            if name is None or not isinstance(options, dict):
                what = f"{kind} must be a name or `name: {{parameter: value}}`, not {shown(item)}"
                problems.append(Problem(what, f"use any of: {', '.join(sorted(self.kind))}", where))
                continue
            try:
                origin, takes, ours = self._known(name, where)
            except UserError as error:
                problems += error.problems
                continue
            place = (*place, name)
            wrong: list[Problem] = []
            tunings = self._tunings(place, options, takes, wrong)
            combinations: list[Combination] = []
            for tuning in tunings:
                values, more = self._values(place, options, takes, ours, tuning)
                wrong += more
                if not wrong:
                    combinations += self._combinations(short(name), values, origin, ours, tuning)
            problems += [*wrong, *self._refused(combinations, where)]
            for one in combinations:
                conflict = found.add(one)
                if conflict is not None:
                    what, fix = conflict
                    problems.append(Problem(f"{kind} {what}", fix, where))
        return found.combinations

    def _known(self, name: str, where: str) -> tuple[CodeOrigin | None, Parameters, Extra]:
        """Return where a component is from, its own parameters, and those of its adapter.

        Raises
        ------
        UserError
            When there is no such component, or it is no such thing.
        """
        registry, origin = self.kind, None
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

    def _tunings(
        self, place: Place, options: dict[str, Any], takes: Parameters, problems: list[Problem]
    ) -> list[Tuning | None]:
        """Read what stands under `tune`; without it there is one way to run, and that is untuned."""
        if self.tuned_with is None or "tune" not in options:
            return [None]

        def check(at: Place, value: Any) -> tuple[list[Any], list[Problem]]:
            key = str(at[-1])
            if not key.startswith(OF_CLASSIFIER):
                return self._checked(place[2], key, at, value, takes)
            values = value if isinstance(value, list) else [value]
            wrong = []
            known = self.base is not None and place[2] in self.kind
            if known and not ComponentSpec(str(place[2])).uses("classifier", self.kind):
                what = f"tune: {key} has no effect on {place[2]}, which has a model of its own"
                return values, [Problem(what, "tune its own parameters", self.document.where(at))]
            for spec in self.tuned_with or ():
                if self.base is not None or spec.name in CLASSIFIERS:
                    own = key.removeprefix(OF_CLASSIFIER)
                    wrong += self._checked(spec.name, own, at, value, spec.takes(CLASSIFIERS))[1]
            return values, wrong

        here = (*place, "tune")
        found = read_tunings(self.document, here, options["tune"], check, self.base, problems)
        given = [name for tuning in found for name in tuning.names if name in options]
        for name in dict.fromkeys(given):
            what = f"{short(str(place[2]))}: {name} is given and tuned"
            problems.append(Problem(what, "keep one of the two", self.document.where((*place, name))))
        return list(found) or [None]

    def _checked(
        self, name: Any, key: str, place: Place, value: Any, takes: Parameters
    ) -> tuple[list[Any], list[Problem]]:
        """Check each value of a parameter that stands at a place."""
        name = short(str(name))
        where = self.document.where(place)
        if key not in takes.types and not takes.open:
            return [], [Problem(f'{name} has no parameter "{key}"', suggest(key, takes.types), where)]
        if value == []:
            return [], [Problem(f"{name}: {key} must not be empty", "give at least one value", where)]
        values, problems = [], []
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            try:
                values.append(checked(takes.types.get(key, Any), one))
            except ValidationError as error:
                what, fix = wording(error.errors()[0])
                problems.append(Problem(f"{name}: {key} {what}", fix, self.document.where((*place, i))))
        return values, problems

    def _values(
        self, place: Place, given: dict[str, Any], takes: Parameters, ours: Extra, tuning: Tuning | None
    ) -> tuple[dict[str, list[Any]], list[Problem]]:
        """Check each value of each parameter that is not tuned; return them by parameter, with defaults."""
        problems: list[Problem] = []
        name, tuned = short(str(place[-1])), () if tuning is None else tuning.names
        more = {**ours, **self.extra}
        types = {**takes.types, **{key: of for key, (of, _) in more.items()}}
        values = {key: [default] for key, default in takes.defaults.items() if key not in tuned}
        values |= {key: [default] for key, (_, default) in ours.items()}
        values |= {key: list(defaults) for key, (_, defaults) in self.extra.items()}
        for key, value in given.items():
            if key != "tune" or self.tuned_with is None:
                known = replace(takes, types=types)
                values[key], wrong = self._checked(name, key, (*place, key), value, known)
                problems += wrong
        where = self.document.where(place)
        needed = [key for key in takes.required if key not in (*values, *tuned)]
        problems += [Problem(f'{name} needs the parameter "{key}"', "add it", where) for key in needed]
        return values, problems

    def _combinations(
        self,
        name: str,
        values: dict[str, list[Any]],
        origin: CodeOrigin | None,
        ours: Extra,
        tuning: Tuning | None,
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
                tune = {} if tuning is None else {"tune": tuning}
                yield spec, dict(zip(self.extra, more, strict=True)) | tune

    def _built(self, combination: Combination) -> list[ComponentSpec]:
        """Return what a combination will build: each candidate, where parameters are tuned."""
        spec, more = combination
        candidates = more["tune"].candidates if "tune" in more else [{}]
        if self.base is None and spec.name not in self.kind:
            return []
        return [spec.having(own_parameters(values), self.kind) for values in candidates]

    def _refused(self, combinations: list[Combination], where: str) -> list[Problem]:
        """Find combinations of parameters that the component itself refuses."""
        found = {}
        for spec in (one for combination in combinations for one in self._built(combination)):
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


@dataclass
class _Found:
    """The combinations found so far, which may be tens of thousands: what is the same is looked up."""

    combinations: list[Combination] = field(default_factory=list)
    known: set[Any] = field(default_factory=set)
    tuned: set[Any] = field(default_factory=set)
    files: dict[str, set[Path | None]] = field(default_factory=dict)

    def add(self, combination: Combination) -> tuple[str, str] | None:
        """Take in a combination; return what is wrong with it next to the others, and what to do."""
        spec, more = combination
        same, conflict = _hashable(combination), None
        files = self.files.setdefault(spec.name, set())
        named = _hashable((spec, more | {"tune": str(more["tune"])})) if "tune" in more else None
        if files - {_file(combination)}:
            conflict = f"{spec.name} is in two files of one name", "rename one of the files"
        elif same in self.known:
            conflict = f"{spec} is listed twice", "keep one"
        elif named in self.tuned:  # people know what is tuned by its name, and nothing else by that alone
            conflict = f"{spec}: {more['tune']} is listed twice, over other values", "keep one"
        self.combinations.append(combination)
        self.known.add(same)
        self.tuned |= set() if named is None else {named}
        files.add(_file(combination))
        return conflict


def _hashable(value: Any) -> Any:
    """Return a value as one that can be in a set; equal values stay equal, and others different.

    >>> _hashable({"a": [1, {}]}) == _hashable({"a": [1.0, {}]}), _hashable([1]) == _hashable((1,))
    (True, False)
    """
    if isinstance(value, dict):
        return dict, frozenset((key, _hashable(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return list, tuple(map(_hashable, value))
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, ComponentSpec):
        return value.name, _hashable(value.parameters), value.origin
    if isinstance(value, Tuning):
        return value.metric, _hashable(value.over), value.on, value.fraction, value.own
    return value if isinstance(value, Hashable) else repr(value)


def _file(combination: Combination) -> Path | None:
    origin = combination[0].origin
    return None if origin is None else origin.path
