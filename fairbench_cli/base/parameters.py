"""The parameters of a class or function: names, types and defaults; and the check of a value."""

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, Optional, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

UNWRITTEN = "unwritten"
"""Key of the metadata of a dataclass's field that came later, or had another default once.

Its value is what the default was, or what was done before there was the field: this value alone is not in
results and keys.
"""


@dataclass(frozen=True)
class Parameters:
    """What a class or function is called with.

    Parameters
    ----------
    types : dict
        The annotation of each parameter by name; `Any` where there is none.
    defaults : dict
        Defaults of a dataclass that can be written in a config. Those of other classes and functions are left
        to them.
    required : tuple of str
        The parameters without a default.
    open : bool
        Whether others are taken too (``**kwargs``).
    unwritten : dict
        Values by name that are not in results and keys, since they were the default before there was another.
    """

    types: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    open: bool = False
    unwritten: Mapping[str, Any] = field(default_factory=dict)


def inspect_parameters(thing: Callable[..., Any]) -> Parameters:
    """Return the parameters of a dataclass, of a class's ``__init__`` or of a function.

    >>> def make(depth: int, *, leaf=5, **more): ...
    >>> found = inspect_parameters(make)
    >>> found.types, found.required, found.open
    ({'depth': <class 'int'>, 'leaf': typing.Any}, ('depth',), True)
    """
    if is_dataclass(thing) and isinstance(thing, type):
        own_fields = {parameter.name: parameter for parameter in fields(thing) if parameter.init}
        hints = _hints(thing)
        return Parameters(
            {name: hints.get(name, Any) for name in own_fields},
            {
                name: parameter.default
                for name, parameter in own_fields.items()
                if _can_be_written(parameter.default)
            },
            tuple(
                n
                for n, parameter in own_fields.items()
                if parameter.default is MISSING and parameter.default_factory is MISSING
            ),
            unwritten=unwritten_values(thing),
        )
    hints = _hints(inspect.getattr_static(thing, "__init__") if isinstance(thing, type) else thing)
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except ValueError:  # compiled, and it does not say
        return Parameters({}, open=True)
    named_parameters = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return Parameters(
        {p.name: _parameter_type(hints.get(p.name, Any), p.default) for p in named_parameters},
        required=tuple(p.name for p in named_parameters if p.default is p.empty),
        open=any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


@cache
def unwritten_values(thing: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the values of a dataclass's parameters that results and keys do not name; none of others."""
    if not is_dataclass(thing):
        return {}
    values = {}
    for parameter in fields(thing):
        if UNWRITTEN in parameter.metadata:
            values[parameter.name] = parameter.metadata[UNWRITTEN]
    return values


def signature_parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor, a method or a function; none if it has no signature.

    >>> list(signature_parameters(lambda X, y, labels=None: None)), dict(signature_parameters(None))
    (['X', 'y', 'labels'], {})
    """
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def convert_value(annotation: Any, value: Any) -> Any:
    """Return a value of a config as the type that an annotation names; as it is where pydantic knows none.

    Raises
    ------
    pydantic.ValidationError
        When it is of another type.

    >>> convert_value(float, 1), convert_value(tuple[int, ...], [1, 2]), convert_value(Any, [1])
    (1.0, (1, 2), [1])
    """
    return value_converter(annotation)(value)


def value_converter(annotation: Any) -> Callable[[Any], Any]:
    """Return the check of many values against one annotation, as `convert_value` does it."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except PydanticUserError:  # a class of somebody's, which nothing in a config can be
        return lambda value: value

    def check(value: Any) -> Any:
        if isinstance(value, list | dict):  # as JSON, whose lists may be tuples
            return adapter.validate_json(json.dumps(value), strict=True)
        return adapter.validate_python(value, strict=True)

    return check


def _hints(thing: Any) -> dict[str, Any]:
    """Return the annotations; none where they name what is there for type checkers alone."""
    try:
        return get_type_hints(thing, include_extras=True)
    except Exception:
        return {}


def _parameter_type(hint: Any, default: Any) -> Any:
    """Return the type of a parameter; None is one of its values where it is its default."""
    return Optional[hint] if default is None and hint is not Any else hint  # noqa: UP045 - not a type yet


def _can_be_written(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)
