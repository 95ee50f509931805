"""Worlds as a config names them: mechanisms of bias in order, whose strengths may be left to β."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationError
from pydantic_core import to_jsonable_python

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.errors import Problem, UserError, suggest, user_error
from fairbench_cli.base.validation import Findings, refusal, to_findings
from fairbench_cli.base.yaml_document import KeyPath
from fairbench_cli.experiment.config.components import (
    ComponentSpec,
    ReadContext,
    in_list,
    read_entries,
    split_name,
    word,
)
from fairbench_cli.network.mechanisms.registry import MECHANISMS

ALL = 1.0
"""The strength of a mechanism that has none, such as omission: it works on everything."""

SOME = 0.5
"""A strength that every mechanism takes, where one that is left to β is to be checked."""


@dataclass(frozen=True)
class CellWorld:
    """A world of some cells: what results call it, and its mechanisms with every number.

    Parameters
    ----------
    name : str
        The mechanisms and their options without the first strength; empty without a mechanism.
    beta : float
        The strength of the first mechanism that has one, in [0, 1]; 1 where none has, 0 without mechanisms.
    mechanisms : tuple of ComponentSpec
        In the order in which they work.
    """

    name: str
    beta: float
    mechanisms: tuple[ComponentSpec, ...]

    @property
    def decisive(self) -> list[Any]:
        """Its part of a cell's key: the mechanisms that change something."""
        return [spec.decisive for spec in self.mechanisms if changes_something(spec)]

    @property
    def in_world(self) -> str:
        """By what populations hold it: what decides numbers, as canonical JSON; empty where nothing does."""
        if self.decisive:
            return canonical_json(self.decisive)
        return ""

    @property
    def features(self) -> bool:
        """Whether features are recorded otherwise than they are."""
        return any(_class_of(spec.name).features for spec in self.mechanisms if changes_something(spec))

    def __str__(self) -> str:
        """Say its name and strength.

        >>> str(CellWorld("label", 0.5, ()))
        'label of strength 0.5'
        """
        return f"{self.name} of strength {self.beta:g}"

    @property
    def described(self) -> dict[str, Any]:
        """What the plan says of it: the mechanisms with every number, as a config has them and in words."""
        return {
            "world": self.name,
            "beta": self.beta,
            "mechanisms": to_jsonable_python([spec.to_config() for spec in self.mechanisms]),
            "words": "; then ".join(spec.build(MECHANISMS).words for spec in self.mechanisms),
        }


@dataclass(frozen=True)
class WorldSpec:
    """A list of mechanisms; those without a strength take that of β.

    Parameters
    ----------
    mechanisms : tuple of ComponentSpec
        In order; the strength is not among the parameters of one that leaves it to β.
    places : tuple of tuple
        Where each was given: of one that was read from a file its place there.
    """

    mechanisms: tuple[ComponentSpec, ...] = ()
    key_paths: tuple[KeyPath, ...] = field(default=(), compare=False)

    @property
    def takes_beta(self) -> bool:
        """Whether a mechanism leaves its strength to β."""
        return any(_left_to_beta(spec) for spec in self.mechanisms)

    def cell_world(self, beta: float) -> CellWorld:
        """Return the world with every strength that is left to β at `beta`."""
        filled = tuple(
            spec.having({_class_of(spec.name).strength: beta}, MECHANISMS) if _left_to_beta(spec) else spec
            for spec in self.mechanisms
        )
        strengths = [strength for strength in map(_strength, filled) if strength is not None]
        usual = 0.0
        if filled:
            usual = ALL
        return CellWorld(str(self), next(iter(strengths), usual) + 0.0, filled)

    def __str__(self) -> str:
        """Return the name in results: strengths that are given, but for the first, are part of it.

        >>> flips = ComponentSpec("label", (("flip", 0.5), ("to", "favourable")))
        >>> str(WorldSpec((ComponentSpec("label"), flips))), str(WorldSpec((flips,))), str(WorldSpec())
        ('label + label to favourable 0.5', 'label to favourable', '')
        """
        clauses = []
        later = False
        for spec in self.mechanisms:
            clause = _name(spec)
            strength = _strength(spec) if later else None
            if strength is not None:
                clause += f" {strength:g}"
            clauses.append(clause)
            later = later or _class_of(spec.name).strength is not None
        return " + ".join(clauses)

    def within(self, key_path: KeyPath) -> "WorldSpec":
        """Return it with the place in the whole config, of which its `bias` is at `key_path`."""
        return replace(self, key_paths=tuple(key_path + inner for inner in self.key_paths))

    def to_config(self) -> list[Any]:
        """Return it as it is written in a config."""
        return [spec.to_config() for spec in self.mechanisms]


def changes_something(spec: ComponentSpec) -> bool:
    """Return whether a mechanism of this strength changes anything: not a label flipped with probability 0.

    >>> changes_something(ComponentSpec("label", (("flip", 0.0),)))
    False
    """
    return not (_class_of(spec.name).neutral and _strength(spec) == 0)


def worlds_at(worlds: Iterable[WorldSpec], betas: Iterable[float]) -> Iterator[CellWorld]:
    """Yield worlds with their numbers: one that leaves a strength to β at each β, any other once."""
    levels = list(betas)
    for world in worlds:
        world_levels = levels
        if not world.takes_beta:
            world_levels = levels[:1]
        for beta in world_levels:
            yield world.cell_world(beta)


def read_worlds(value: Any) -> Any:
    """Return the worlds that a value of ``bias`` names; None as it is.

    A list of mechanisms is one world, a list of such lists several; a parameter that is a list multiplies.

    Raises
    ------
    pydantic.ValidationError
        Listing everything wrong with them, each at its place.
    """
    if value is None or (isinstance(value, tuple) and all(isinstance(entry, WorldSpec) for entry in value)):
        return value
    items = in_list(value)
    are_lists = [isinstance(item, list) for item in items]
    if any(are_lists) and not all(are_lists):
        problem = Problem("bias has a mechanism next to a list of mechanisms", "put each world in brackets")
        raise refusal(((are_lists.index(False),), problem))
    worlds: list[WorldSpec] = []
    findings = Findings()
    mechanism_lists = items
    if not any(are_lists):
        mechanism_lists = [items]
    for i, mechanisms in enumerate(mechanism_lists):
        key_paths: list[KeyPath] = []
        combinations: list[list[ComponentSpec]] = []
        for j, mechanism in enumerate(mechanisms):
            key_paths.append((i, j) if any(are_lists) else (j,))
            with findings.within(*key_paths[-1]):
                combinations.append(_read_mechanism(mechanism))
        worlds += [WorldSpec(chosen, tuple(key_paths)) for chosen in product(*combinations)]
    findings.refuse()
    return tuple(worlds)


def read_world(value: Any) -> tuple[ComponentSpec, ...]:
    """Return the mechanisms of the one world that a value of ``bias`` names, each with its strength.

    Raises
    ------
    UserError
        Listing everything wrong with them; for several worlds, or a strength that is not said.
    """
    try:
        specs = read_worlds([] if value is None else value)
    except ValidationError as error:
        raise UserError(*(problem for _, problem in to_findings(error))) from None
    if len(specs) > 1:
        problem = f"bias names {len(specs)} worlds, and this is about one"
        raise user_error(problem, "give one list of mechanisms, and one value of each parameter")
    (world,) = specs
    for spec in filter(_left_to_beta, world.mechanisms):
        strength_name = _class_of(spec.name).strength
        raise user_error(
            f"{spec.name} needs its strength", f"write {spec.name}: {{{strength_name}: {SOME:g}}}"
        )
    mechanisms: tuple[ComponentSpec, ...] = world.mechanisms
    return mechanisms


def _read_mechanism(item: Any) -> list[ComponentSpec]:
    """Return a mechanism with each combination of its parameters, without a strength that is left to β.

    Raises
    ------
    pydantic.ValidationError
        Listing everything wrong with it, each at its place.
    """
    name, options = split_name(item)
    if name is not None and name not in MECHANISMS:
        raise refusal(((), Problem(f'unknown mechanism "{name}"', suggest(str(name), MECHANISMS))))
    strength_name = None if name is None else _class_of(name).strength
    is_left = strength_name is not None and isinstance(options, dict) and strength_name not in options
    if is_left:
        item = {name: options | {strength_name: SOME}}
    try:
        specs = [spec for spec, _ in read_entries(MECHANISMS, [item], {}, ReadContext())]
    except ValidationError as error:
        # It is the only item of that list.
        raise refusal(*((key_path[1:], problem) for key_path, problem in to_findings(error))) from None
    if is_left:
        for i, spec in enumerate(specs):
            without_strength = [(key, value) for key, value in spec.parameters if key != strength_name]
            specs[i] = replace(spec, parameters=tuple(without_strength))
    return specs


def _class_of(name: str) -> Any:
    return MECHANISMS[name].load()


def _strength(spec: ComponentSpec) -> float | None:
    """Return the strength of a mechanism; None where it has none, or leaves it to β."""
    value = dict(spec.parameters).get(_class_of(spec.name).strength or "")
    if value is None:
        return None
    return float(value)


def _left_to_beta(spec: ComponentSpec) -> bool:
    return _class_of(spec.name).strength is not None and _strength(spec) is None


def _name(spec: ComponentSpec) -> str:
    """Return the name of a mechanism in results: its alias, or its name and the options that are not usual.

    >>> _name(ComponentSpec("label", (("flip", 0.5), ("given", {"age": ("1", "2")}), ("of", None))))
    'label given age=1|2'
    """
    if spec.alias:
        return spec.alias
    mechanism = _class_of(spec.name)
    options = dict(spec.parameters)
    texts = [spec.name]
    for option in fields(mechanism):
        value = options.get(option.name, option.default)
        if option.name != mechanism.strength and value != option.default:
            if option.name == "column":
                texts += [_text(value)]
            else:
                texts += [option.name, _text(value)]
    return " ".join(texts)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " & ".join(f"{column}={_text(levels)}" for column, levels in value.items())
    if isinstance(value, list | tuple):
        return "|".join(map(word, value))
    return word(value)


Worlds = Annotated[
    tuple[WorldSpec, ...] | None,
    BeforeValidator(read_worlds, json_schema_input_type=list[Any] | None),
    PlainSerializer(lambda worlds: None if worlds is None else [world.to_config() for world in worlds]),
]
"""The worlds of a `bias`, or None without one."""
