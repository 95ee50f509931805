"""Interventions and classifiers as a config names them: a name with parameters, some of which are tuned.

A config lists names or ``{name: {parameter: value or list}}``; the lists are multiplied out. A value that is
itself a list is a list in a list.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetPydanticSchema, ValidationError, ValidationInfo, WithJsonSchema

from fairbench_cli.base import plugins
from fairbench_cli.base.errors import ArgumentError, Problem, UserError, format_value, spell, suggest
from fairbench_cli.base.parameters import Parameters, convert_value, inspect_parameters, value_converter
from fairbench_cli.base.registry import Registry
from fairbench_cli.base.validation import (
    Findings,
    Fraction,
    Several,
    StrictModel,
    describe_finding,
    refusal,
    to_findings,
)
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Representation
from fairbench_cli.experiment.config.metrics import MetricSpec, find_metric
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.registry import METRICS

PLAIN = "none"  # the technique that is none

On = Literal["validation", "test"]

FRACTION = 0.3
OF_CLASSIFIER = "classifier."  # begins the name of a parameter that is the classifier's
# the key of what tables, figures and pages call a component
ALIAS = "as"
LONGEST_ALIAS = 60
RESERVED_ALIAS = "labels"  # a row of tables
PLUGIN = {"type": "string", "pattern": ":", "description": "./mine.py:Thing or package.module:Thing"}
"""The JSON Schema of code that is named where a registered name may stand."""


@dataclass(frozen=True)
class ReadContext:
    """What a config is read with, which its validators see, and what they find out.

    Parameters
    ----------
    base : Path or None
        The folder that the paths of cards and plug-ins are relative to. None takes names that are not
        registered, and their parameters, as they stand: nobody's code is run.
    right : dict
        The keys that are right by themselves, with their values.
    wrong : set of str
        Those that are not.
    cards : dict
        The path and card of each data set, by the name that it is listed with.
    """

    base: Path | None = None
    valid: dict[str, Any] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    cards: dict[str, tuple[Path, Any]] = field(default_factory=dict)


def context_of(info: ValidationInfo) -> ReadContext:
    """Return the context that a config is read with, in one of its validators."""
    return info.context or ReadContext()


def _metric(name: str, info: ValidationInfo) -> MetricSpec:
    """Return a metric as `find_metric` does, in a validator.

    Raises
    ------
    pydantic.ValidationError
        When there is no such metric, or its code is no metric's.
    """
    try:
        return find_metric(name, context_of(info).base)
    except UserError as error:
        raise refusal(*(((), problem) for problem in error.problems)) from None


def _tunable(metric: MetricSpec) -> MetricSpec:
    """Check that candidates can be compared by a metric."""
    entry = None
    if metric.is_at_hand:
        entry = metric.entry
    aspect = ""
    if entry is not None and entry.needs != "counts":
        aspect = f"{entry.name} needs more than counts, and candidates have counts alone"
    elif entry is not None and entry.ideal is None:
        aspect = f"no value of {entry.name} is better than another"
    elif entry is not None and entry.on == "labels":
        aspect = f"{entry.name} is the same whatever is predicted"
    if aspect:
        fix = "tune for a metric such as accuracy or impact-ratio"
        raise refusal(((), Problem(f"tune: {aspect}", fix)))
    return metric


MetricByName = Annotated[
    MetricSpec,
    GetPydanticSchema(lambda _, handler: handler(Annotated[str, AfterValidator(_metric)])),
    WithJsonSchema({"anyOf": [{"enum": list(METRICS)}, PLUGIN]}),
]
"""A metric that is named by a text."""


class TuneOptions(StrictModel):
    """What an intervention's entry may say under `tune`."""

    metric: Annotated[
        tuple[Annotated[MetricByName, AfterValidator(_tunable)], ...], Field(min_length=1), Several()
    ] = Field(
        alias="for", description="A metric of counts that has an ideal value; of several, each is a cell."
    )
    over: Annotated[dict[str, Any], Field(min_length=1)] = Field(
        description="The values to choose from, by parameter of the technique, or `classifier.NAME`; of "
        "several parameters every combination."
    )
    on: Annotated[tuple[On, ...], Field(min_length=1), Several()] = Field(
        default=("validation",),
        description="`validation`: part of the training rows. `test`: the test rows themselves, as in "
        "Friedler et al. 2019; what comes out is then too good, and results say so.",
    )
    fraction: Annotated[tuple[Fraction, ...], Field(min_length=1), Several()] = Field(
        default=(FRACTION,), description="Share of the training rows that validation takes."
    )


@dataclass(frozen=True)
class Tuning:
    """How some parameters of a technique and of its classifier are chosen.

    Parameters
    ----------
    metric : MetricSpec
        The best candidate is the one whose value is nearest to this metric's ideal.
    over : tuple of (str, tuple of values)
        The values to choose from by parameter, sorted by name.
    on : {"validation", "test"}
        The rows that the candidates are measured on.
    fraction : float or None
        Share of the training rows that are kept for validation; None with `on` test.
    """

    metric: MetricSpec
    over: tuple[tuple[str, tuple[Any, ...]], ...]
    on: On = "validation"
    fraction: float | None = FRACTION

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that are chosen."""
        return tuple(name for name, _ in self.over)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """Every combination of the values, the last parameter changing fastest.

        >>> Tuning(MetricSpec("accuracy"), (("classifier.C", (1, 10)), ("level", (0, 1)))).candidates[:2]
        [{'classifier.C': 1, 'level': 0}, {'classifier.C': 1, 'level': 1}]
        """
        combinations = product(*(values for _, values in self.over))
        return [dict(zip(self.names, values, strict=True)) for values in combinations]

    @property
    def described(self) -> dict[str, Any]:
        """Its part of the `parameters` of results."""
        over = {name: list(values) for name, values in self.over}
        written = {"for": self.metric.name, "over": over, "on": self.on}
        if self.fraction is None:
            return written
        return written | {"fraction": self.fraction}

    @property
    def decisive(self) -> dict[str, Any]:
        """Its part of a cell's key."""
        origin = self.metric.origin
        if origin is None:
            return self.described
        return self.described | {"code": origin.version}

    def to_config(self) -> dict[str, Any]:
        """Return it as it is written in a config, from wherever that is read."""
        return self.described | {"for": self.metric.to_config}

    def __str__(self) -> str:
        """Say what is tuned, for what, and on which rows where these are not the usual ones.

        >>> str(Tuning(MetricSpec("accuracy"), (("level", (0.0, 1.0)),)))
        'level tuned for accuracy'
        >>> str(Tuning(MetricSpec("impact-ratio"), (("level", (0.0, 1.0)),), "test", None))
        'level tuned on test for impact-ratio'
        """
        rows_clause = ""
        if self.fraction is None:
            rows_clause = " on test"
        elif self.fraction != FRACTION:
            rows_clause = f" on {self.fraction:g} of the training rows"
        return f"{' and '.join(self.names)} tuned{rows_clause} for {self.metric.name}"


def tuning_of(described: dict[str, Any]) -> Tuning:
    """Return the tuning that results describe, without the code of a metric.

    >>> given = Tuning(MetricSpec("accuracy"), (("level", (0.0, 1.0)),))
    >>> tuning_of(given.described) == given
    True
    """
    over = tuple((name, tuple(values)) for name, values in described["over"].items())
    return Tuning(MetricSpec(described["for"]), over, described["on"], described.get("fraction"))


def own_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return those of some parameters that are the technique's own."""
    return {name: value for name, value in values.items() if not name.startswith(OF_CLASSIFIER)}


def classifier_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return those of some parameters that are the classifier's, by its own names."""
    theirs = [name for name in values if name.startswith(OF_CLASSIFIER)]
    return {name.removeprefix(OF_CLASSIFIER): values[name] for name in theirs}


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
    alias : str
        What tables, figures and pages call it, if not by its name; no part of what it is.
    unwritten : tuple of (str, value)
        What results and keys do not name where a parameter has this value.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    origin: plugins.CodeOrigin | None = None
    alias: str = field(default="", compare=False)
    unwritten: tuple[tuple[str, Any], ...] = field(default=(), compare=False)

    @property
    def written(self) -> dict[str, Any]:
        """Its parameters as results and keys have them."""
        return {name: value for name, value in self.parameters if (name, value) not in self.unwritten}

    def build(self, kind: Registry) -> Any:
        """Return the component itself.

        Raises
        ------
        SourceChanged
            When its code is no longer that of the plan.
        """
        if self.origin is None:
            return kind[self.name].load()(**dict(self.parameters))
        return kind.foreign.make(self.origin.load(), dict(self.parameters))

    def takes(self, kind: Registry) -> Parameters:
        """Return the parameters of its class or function."""
        return inspect_parameters(kind[self.name].load() if self.origin is None else self.origin.load())

    def uses(self, aspect: Literal["groups", "classifier", "bias"], kind: Registry) -> bool:
        """Return whether a technique's model depends on the groups, the classifier, or the bias of its rows.

        One that is not registered may.
        """
        return self.origin is not None or getattr(kind[self.name].load(), f"uses_{aspect}", True)

    def having(self, values: Mapping[str, Any], kind: Registry) -> "ComponentSpec":
        """Return the component with other values of some parameters.

        Raises
        ------
        pydantic.ValidationError
            When one is of another type.
        """
        if not values:
            return self
        types = self.takes(kind).types
        new = {key: convert_value(types.get(key, Any), value) for key, value in values.items()}
        return replace(self, parameters=tuple(sorted((dict(self.parameters) | new).items())))

    @property
    def decisive(self) -> list[Any]:
        """Its part of a cell's key: where the code is says nothing, which code it is does."""
        decisive = [self.name, self.written]
        if self.origin is not None:
            decisive.append(self.origin.version)
        return decisive

    def to_config(self, **extras: Any) -> Any:
        """Return it as it is written in a config, from wherever that is read."""
        if self.origin is None or self.origin.path is None:
            name = self.name
        else:
            name = self.origin.target
        listed = {key: [value] for key, value in self.parameters if isinstance(value, list | tuple)}
        parameters = dict(self.parameters) | listed
        parameters |= extras | ({"as": self.alias} if self.alias else {})
        if parameters:
            return {name: parameters}
        return name

    def __str__(self) -> str:
        listed = ", ".join(f"{key}={word(value)}" for key, value in self.written.items())
        if listed:
            return f"{self.name}({listed})"
        return self.name


@dataclass(frozen=True)
class TechniqueSpec:
    """An intervention, whether its classifier sees the protected attribute, and how it gets the features.

    Parameters that are tuned are not among those of `spec`.
    """

    spec: ComponentSpec
    include_protected: bool
    representation: Representation = "original"
    tune: Tuning | None = None

    @property
    def computed(self) -> "TechniqueSpec":
        """The technique that is computed in its place: of one without bias in its training rows, ``none``."""
        if self.spec.uses("bias", INTERVENTIONS):
            return self
        return replace(self, spec=ComponentSpec(PLAIN))

    @property
    def is_plain(self) -> bool:
        """Whether it is ``none``, with nothing tuned."""
        return self.spec.name == PLAIN and self.tune is None

    @property
    def n_fits(self) -> int:
        """How many models are trained for one: where it is tuned, one for each candidate too."""
        if self.tune is None:
            return 1
        return 1 + len(self.tune.candidates)

    @property
    def described(self) -> dict[str, Any]:
        """Its parameters as results have them, with what is tuned under `tune`."""
        described = self.spec.written
        if self.tune is not None:
            described["tune"] = self.tune.described
        return described

    def to_config(self) -> Any:
        """Return it as it is written in a config."""
        extras: dict[str, Any] = {
            "include_protected": self.include_protected,
            "representation": self.representation,
        }
        if self.tune is not None:
            extras["tune"] = self.tune.to_config()
        return self.spec.to_config(**extras)


def word(value: Any) -> str:
    """Write a parameter as YAML would: true, false, null, or the value itself.

    >>> word(True), word(None), word(0.5), word("naive-bayes")
    ('true', 'null', '0.5', 'naive-bayes')
    """
    if value is None or isinstance(value, bool):
        return format_value(value)
    return str(value)


def split_name(item: Any) -> tuple[str | None, Any]:
    """Split ``name`` or ``{name: options}`` into the two; the name is None if it is neither.

    >>> split_name("none"), split_name({"tree": None}), split_name({"tree": {"min_leaf": 5}}), split_name(3)
    (('none', {}), ('tree', {}), ('tree', {'min_leaf': 5}), (None, None))
    """
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        name, options = next(iter(item.items()))
        return name, {} if options is None else options
    return None, None


def in_list(value: Any) -> Any:
    """Return a value that may stand without brackets as a list; a list or a tuple as it is.

    >>> in_list(0.5), in_list([0, 1])
    ([0.5], [0, 1])
    """
    if isinstance(value, list | tuple):
        return value
    return [value]


def read_parameters(name: str, takes: Parameters, options: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of each parameter that is given, which has one value of its type, or a list of these.

    Raises
    ------
    pydantic.ValidationError
        Listing each value of another type, and what is no parameter.
    """
    findings = Findings()
    parameters: dict[str, list[Any]] = {}
    types = dict(takes.types)
    if takes.open:
        types = dict.fromkeys(options, Any) | types
    for key in (key for key in types if key in options):
        convert = value_converter(types[key])
        values = in_list(options[key])
        if not values:
            findings.add((key,), f"{name}: {key} must not be empty", "give at least one value")
        parameters[key] = []
        for i, value in enumerate(values):
            try:
                parameters[key].append(convert(value))
            except ValidationError as error:
                reason, fix = describe_finding(error.errors()[0])
                findings.add((key, i), f"{name}: {key} {reason}", fix)
    for key in options:
        if key not in types:
            is_threshold = key in ("threshold", "thresholds")
            fix = f"{GIVEN_THRESHOLDS.fix}" if is_threshold else suggest(str(key), types)
            findings.add((key,), f'{name} has no parameter "{key}"', fix)
    findings.refuse()
    return parameters


GIVEN_THRESHOLDS = Problem(
    "models of a run are given no thresholds",
    "the technique group-thresholds finds one for each group; to use given ones, make a column of who is "
    "selected by them: fairbench audit FILE --score COLUMN",
)
ONE_CANDIDATE = Problem("tune: over holds one candidate", "give several values, or make it a parameter")


def has_one_candidate(over: Mapping[str, Any]) -> bool:
    """Return whether what is tuned has one value each."""
    return all(len(in_list(values)) == 1 for values in over.values())


def _read_tuning(name: str, item: Any, takes: Parameters, context: ReadContext) -> list[Tuning]:
    """Return the tunings that one item under `tune` asks for.

    Parameters of the classifier are left as they are: `read` knows the classifiers.

    Raises
    ------
    pydantic.ValidationError
        Listing everything wrong with it, each at its place.
    """
    try:
        options = TuneOptions.model_validate(item, context=context)
    except ValidationError as error:
        raise refusal(*to_findings(error, "interventions", name, "tune")) from None
    findings = Findings()
    over = {key: in_list(values) for key, values in options.over.items() if key.startswith(OF_CLASSIFIER)}
    with findings.within("over"):
        over |= read_parameters(name, takes, own_parameters(options.over))
    for key, candidates in over.items():
        for i, candidate in enumerate(candidates):
            if candidate in candidates[:i]:
                findings.add(("over", key), f"{key} has the value {candidate} twice", "keep one")
    if not findings and not classifier_parameters(over) and has_one_candidate(over):
        findings.add(("over",), ONE_CANDIDATE.what, ONE_CANDIDATE.fix)
    if "fraction" in options.model_fields_set and "validation" not in options.on:
        fix = "remove it, or write on: validation"
        findings.add(("fraction",), "tune: fraction has no effect with `on: test`", fix)
    findings.refuse()
    candidates_by_name = tuple((key, tuple(over[key])) for key in sorted(over))
    tunings = []
    for metric, on, fraction in product(options.metric, options.on, options.fraction):
        tunings.append(Tuning(metric, candidates_by_name, on, fraction if on == "validation" else None))
    return tunings


ExtraParameters = Mapping[str, tuple[Any, list[Any]]]
"""Of parameters that are not the component's own: their types, and the values that they have by default."""
Combination = tuple[ComponentSpec, dict[str, Any]]
"""A component with its parameters, and the values of the extra ones."""


def _source(
    kind: Registry, name: str, base: Path | None
) -> tuple[plugins.CodeOrigin | None, Parameters, Mapping[str, tuple[Any, Any]]]:
    """Return where a component is from, its own parameters, and those of its adapter: type and default.

    Raises
    ------
    UserError
        When there is no such component, or it is no such thing.
    """
    origin = None
    if name in kind:
        thing = kind[name].load()
        if base is None:
            return None, inspect_parameters(thing), {}
    elif base is None:
        if plugins.is_plugin(name):
            origin = plugins.CodeOrigin(name, "")
        return origin, Parameters({}, open=True), {}
    else:
        origin = plugins.find_code(name, kind.group, base)
        if origin is None:
            choices = list(kind) + list(plugins.entry_points_by_name(kind.group))
            raise UserError(Problem(f'unknown {kind.name} "{name}"', plugins.suggest_name(name, choices)))
        thing = origin.load()
    fault = kind.foreign.fault(thing)
    if fault is not None:
        raise UserError(Problem(f"{plugins.short_name(name)} {fault[0]}", fault[1]))
    takes = inspect_parameters(thing)
    if origin is None:
        return None, takes, {}
    required = tuple(key for key in takes.required if key not in kind.foreign.filled(thing))
    return origin, replace(takes, required=required), kind.foreign.options_of(thing)


def _fix_of_entry(kind: Registry, item: Any) -> str:
    """Return the fix for an item that is no component: the text to write in its place."""
    if isinstance(item, dict) and len(item) > 1:
        return f"make each an item of its own: [{', '.join(f'{name}: …' for name in item)}]"
    name = str(next(iter(item), None)) if isinstance(item, dict) else ""
    if name in kind:
        takes = inspect_parameters(kind[name].load())
        examples = takes.required or list(takes.defaults)[:1]
        if examples:
            return f"name its parameters: {name}: {{{', '.join(f'{key}: VALUE' for key in examples)}}}"
    return f"use any of: {', '.join(sorted(kind))}"


def _read_entry(kind: Registry, item: Any, extra: ExtraParameters, context: ReadContext) -> list[Combination]:
    """Return the combinations of parameters that an item of the list asks for.

    Raises
    ------
    pydantic.ValidationError
        Listing everything wrong with it, each at its place.
    """
    # 1. Find the component.
    written, options = split_name(item)
    if written is None or not isinstance(options, dict):
        message = f"{kind.name} must be a name or `name: {{parameter: value}}`, not {format_value(item)}"
        raise refusal(((), Problem(message, _fix_of_entry(kind, item))))
    try:
        origin, takes, adapter = _source(kind, written, context.base)
    except UserError as error:
        raise refusal(*(((), problem) for problem in error.reported_at(""))) from None
    name = plugins.short_name(written)

    # 2. Read its alias, what is tuned, and the parameters.
    findings = Findings()
    given = dict(options)
    alias = given.pop(ALIAS, "")
    if ALIAS in options and not (isinstance(alias, str) and 0 < len(alias.strip()) <= LONGEST_ALIAS):
        limit = f"a text of at most {LONGEST_ALIAS} letters"
        message = f"{name}: {ALIAS} must be {limit}, not {format_value(alias)}"
        findings.add((written, ALIAS), message, "write what tables and figures should call it")
    tunings: list[Tuning] = []
    if kind is INTERVENTIONS and "tune" in given:
        for i, tune_options in enumerate(in_list(given.pop("tune"))):
            with findings.within(written, "tune", i):
                for tuning in _read_tuning(written, tune_options, takes, context):
                    if tuning not in tunings:
                        tunings.append(tuning)
    for key in given:
        if any(key in tuning.names for tuning in tunings):
            findings.add((written, key), f"{name}: {key} is given and tuned", "keep one of the two")
    types = {**takes.types, **{key: type_ for key, (type_, _) in {**adapter, **extra}.items()}}
    parameters: dict[str, list[Any]] = {}
    with findings.within(written):
        parameters = read_parameters(name, replace(takes, types=types), given)

    # 3. Combine the values; of one that is not given its default.
    usual = {key: [default] for key, (_, default) in adapter.items()}
    usual |= {key: defaults for key, (_, defaults) in extra.items()}
    combinations: list[Combination] = []
    for tune in tunings or (None,):
        tuned = () if tune is None else tune.names
        own_defaults = {key: [default] for key, default in takes.defaults.items() if key not in tuned}
        values_by_key = own_defaults | usual | parameters
        keys_with_values = values_by_key.keys() | given.keys() | set(tuned)
        missing = [key for key in takes.required if key not in keys_with_values]
        fix = f"give it a value: {written}: {{{', '.join(f'{key}: VALUE' for key in missing)}}}"
        for key in missing:
            findings.add((written,), f'{name} needs the parameter "{key}"', fix)
        if findings:
            continue
        keys = sorted(key for key in values_by_key if key not in extra) + list(extra)
        for values in product(*(values_by_key[key] for key in keys)):
            chosen = dict(zip(keys, values, strict=True))
            extras = {key: chosen.pop(key) for key in extra}
            if tune is not None:
                extras["tune"] = tune
            # A parameter of the adapter at its default is no part of a cell's key.
            for key, (_, default) in adapter.items():
                if chosen[key] == default:
                    del chosen[key]
            spec = ComponentSpec(name, tuple(chosen.items()), origin, alias, tuple(takes.unwritten.items()))
            combinations.append((spec, extras))
    for problem in _refusals(kind, combinations, context.base, written):
        findings.add((written,), problem.what, problem.fix)
    findings.refuse()
    return combinations


def _refusals(
    kind: Registry, combinations: list[Combination], base: Path | None, written: str
) -> list[Problem]:
    """Find combinations of parameters that the component itself refuses; of what is tuned each candidate."""
    problems: dict[Problem, None] = {}
    for spec, extras in combinations:
        if base is None and spec.name not in kind:
            continue
        candidates = extras["tune"].candidates if "tune" in extras else [{}]
        for values in candidates:
            try:
                spec.having(own_parameters(values), kind).build(kind)
            except ArgumentError as error:
                for problem in error.problems:
                    problems[_refused(problem, spec, written)] = None
            except Exception as error:
                if spec.origin is None and not isinstance(error, ValueError):
                    raise
                reason = str(error)
                if not isinstance(error, ValueError):
                    reason = f"{type(error).__name__}: {reason}"
                fix = "change one of the two"
                if spec.origin is not None:
                    fix = "correct the parameters, or its code"
                problems[Problem(f"{spec.name}: {reason}", fix)] = None
    return list(problems)


def _refused(problem: Problem, spec: ComponentSpec, written: str) -> Problem:
    """Return a problem of a component as a config has it: with the entry that mends it, where one does."""
    fix = spell(problem.fix, "file")
    if problem.remedy:
        parameters = [f"{key}: {word(value)}" for key, value in spec.parameters]
        parameters += [flag.spell("file") for flag in problem.remedy]
        fix = f"write {written}: {{{', '.join(parameters)}}}"
    return Problem(f"{spec.name} {spell(problem.what)}", fix)


def read_entries(
    kind: Registry, items: list[Any], extra: ExtraParameters, context: ReadContext
) -> list[Combination]:
    """Return a component and extra parameters per combination.

    Parameters
    ----------
    kind : Registry
        What is listed: interventions may be tuned.
    items : list
        Names or ``{name: {parameter: value or list}}``.
    extra : mapping
        Parameters that every one takes in addition to its own: their type and default values by name.

    Raises
    ------
    pydantic.ValidationError
        Listing everything wrong with them, each at its place.
    """
    findings = Findings()
    all_combinations: list[Combination] = []
    # there may be tens of thousands: what is the same is looked up
    listed = set[Any]()
    listed_tunings = set[Any]()
    files: dict[str, Path | None] = {}
    for i, entry in enumerate(items):
        combinations = []
        with findings.within(i):
            combinations = _read_entry(kind, entry, extra, context)
        for spec, extras in combinations:
            combination = _hashable((spec, extras))
            # People know what is tuned by its name, and nothing else by that alone.
            tuning = _hashable((spec, extras | {"tune": str(extras["tune"])})) if "tune" in extras else None
            path = None if spec.origin is None else spec.origin.path
            if files.setdefault(spec.name, path) != path:
                message = f"{kind.name} {spec.name} is in two files of one name"
                findings.add((i,), message, "rename one of the files")
            elif combination in listed:
                findings.add((i,), f"{kind.name} {spec} is listed twice", "keep one")
            elif tuning in listed_tunings:
                message = f"{kind.name} {spec}: {extras['tune']} is listed twice, over other values"
                findings.add((i,), message, "keep one")
            listed.add(combination)
            if tuning is not None:
                listed_tunings.add(tuning)
        all_combinations += combinations
    owners = {name: name for name in files} | {RESERVED_ALIAS: ""}
    for spec, _ in all_combinations:
        if spec.alias and owners.setdefault(spec.alias, spec.name) != spec.name:
            message = f"{kind.name} {spec.name}: {spec.alias} is what something else is called"
            findings.add((), message, f"choose another name after `{ALIAS}`")
    findings.refuse()
    return all_combinations


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
    if isinstance(value, ComponentSpec | Tuning):
        return tuple(_hashable(getattr(value, entry.name)) for entry in fields(value) if entry.compare)
    if isinstance(value, Hashable):
        return value
    return repr(value)


def read_classifiers(value: Any, info: ValidationInfo) -> Any:
    """Return the classifiers of a list; what is no list as it is."""
    if value == DEFAULT_CLASSIFIERS:
        value = [spec.name for spec in DEFAULT_CLASSIFIERS]
    if not isinstance(value, list):
        return value
    return tuple(spec for spec, _ in read_entries(CLASSIFIERS, value, {}, context_of(info)))


def read_interventions(value: Any, info: ValidationInfo) -> Any:
    """Return the techniques of a list; what is no list as it is."""
    if not isinstance(value, list):
        return value
    extra = {
        "include_protected": (bool, [info.data.get("include_protected", False)]),
        "representation": (Representation, list(info.data.get("representation", ["original"]))),
    }
    entries = read_entries(INTERVENTIONS, value, extra, context_of(info))
    return tuple(TechniqueSpec(spec, **extras) for spec, extras in entries)


DEFAULT_CLASSIFIERS = (ComponentSpec("c45", ()),)
