"""Interventions and classifiers as a config names them: a name with parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairbench_cli.base.errors import shown
from fairbench_cli.base.parameters import Parameters, checked, parameters_of
from fairbench_cli.base.plugins import CodeOrigin
from fairbench_cli.base.registry import Registry
from fairbench_cli.data.represent import Representation
from fairbench_cli.experiment.config.tune import Tuning


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
        return parameters_of(kind[self.name].load() if self.origin is None else self.origin.load())

    def uses(self, what: Literal["groups", "classifier"], kind: Registry) -> bool:
        """Return whether a technique's model depends on the groups, or on the classifier.

        One that is not registered may.
        """
        return self.origin is not None or getattr(kind[self.name].load(), f"uses_{what}", True)

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
        new = {key: checked(types.get(key, Any), value) for key, value in values.items()}
        return replace(self, parameters=tuple(sorted((dict(self.parameters) | new).items())))

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
    """An intervention, whether its classifier sees the protected attribute, and how it gets the features.

    Parameters that are tuned are not among those of `spec`.
    """

    spec: ComponentSpec
    include_protected: bool
    representation: Representation = "original"
    tune: Tuning | None = None

    @property
    def described(self) -> dict[str, Any]:
        """Its parameters as results have them, with what is tuned under `tune`."""
        tune = {} if self.tune is None else {"tune": self.tune.described}
        return dict(self.spec.parameters) | tune

    def plain(self) -> Any:
        """Return it as it is written in a config."""
        tune = {} if self.tune is None else {"tune": self.tune.plain()}
        return self.spec.plain(
            include_protected=self.include_protected, representation=self.representation, **tune
        )


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
