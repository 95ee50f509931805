"""Data classes from plain data, as JSON has it, by the types of their fields: nothing else is built of it."""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

INFINITE = {"inf": math.inf, "-inf": -math.inf}
"""How JSON, which has no infinity, says it; NaN is null."""
Readers = Mapping[Any, Callable[[Any], Any]]


def from_plain(kind: Any, json_value: Any, readers: Readers = types.MappingProxyType({})) -> Any:
    """Return a value of a type by plain data.

    Parameters
    ----------
    kind : type
        A data class, a tuple, mapping, array, union or literal of such, or a plain type.
    json_value : object
        What JSON has of it: a data class is a mapping of its fields. Of a class with subclasses it is the one
        whose further fields the mapping has. Fields that are not there have their default, or are None.
    readers : mapping
        Functions for types that are read in another way.

    Raises
    ------
    ValueError
        For what does not fit.

    Examples
    --------
    >>> from_plain(tuple[float, ...], [1.5, None, "inf"]), from_plain(dict[str, int], {"rows": 3})
    ((1.5, nan, inf), {'rows': 3})
    """
    if kind in readers:
        return readers[kind](json_value)
    if is_dataclass(kind):
        return _read_fields(kind, json_value, readers)
    if kind is float:
        return _read_float(json_value)
    if kind in (int, str, bool):
        if type(json_value) is not kind:
            raise _misfit(kind, json_value)
        return json_value
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, json_value, readers)
    if origin is Literal:
        if json_value not in arguments:
            raise _misfit(kind, json_value)
        return json_value
    if origin is tuple:
        return _read_tuple(arguments, json_value, readers)
    if origin is np.ndarray:
        return _read_array(arguments[1], json_value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(json_value, dict):
            raise _misfit(kind, json_value)
        return {name: from_plain(arguments[1], value, readers) for name, value in json_value.items()}
    raise TypeError(f"{kind} cannot be read")


def _read_fields(kind: Any, json_value: Any, readers: Readers) -> Any:
    """Return a data class, or the subclass whose further fields the mapping has."""
    if not isinstance(json_value, dict):
        raise _misfit(kind, json_value)
    names = {field.name for field in fields(kind)}
    for subclass in kind.__subclasses__():
        if {field.name for field in fields(subclass)} - names <= json_value.keys():
            return _read_fields(subclass, json_value, readers)
    hints = _hints_of(kind)
    values = {}
    for field in fields(kind):
        if field.name in json_value:
            values[field.name] = from_plain(hints[field.name], json_value[field.name], readers)
        elif field.default is MISSING and field.default_factory is MISSING:
            if type(None) not in get_args(hints[field.name]):
                raise ValueError(f"{kind.__name__} lacks {field.name}")
            values[field.name] = None
    return kind(**values)


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read_float(json_value: Any) -> float:
    """Return a number; a whole one stays an integer, as it was written."""
    if json_value is None:
        return math.nan
    if isinstance(json_value, str) and json_value in INFINITE:
        return INFINITE[json_value]
    if isinstance(json_value, bool) or not isinstance(json_value, int | float):
        raise _misfit(float, json_value)
    return json_value


def _read_union(kinds: tuple[Any, ...], json_value: Any, readers: Readers) -> Any:
    """Return a value of one of several types; null is NaN where numbers may be: None is left out there."""
    if json_value is None and float not in kinds:
        if type(None) not in kinds:
            raise _misfit(kinds, json_value)
        return None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return from_plain(kind, json_value, readers)
        except ValueError:
            continue
    raise _misfit(kinds, json_value)


def _read_tuple(kinds: tuple[Any, ...], json_value: Any, readers: Readers) -> tuple[Any, ...]:
    if not isinstance(json_value, list):
        raise _misfit(tuple, json_value)
    if kinds[-1] is Ellipsis:
        return tuple(from_plain(kinds[0], value, readers) for value in json_value)
    if len(json_value) != len(kinds):
        raise _misfit(tuple, json_value)
    return tuple(from_plain(kind, value, readers) for kind, value in zip(kinds, json_value, strict=True))


def _read_array(kind: Any, json_value: Any) -> Any:
    """Return an array of a type of numpy's, such as ``numpy.dtype[numpy.float64]``, from lists in lists."""
    (number_type,) = get_args(kind)
    try:
        return np.array(json_value, dtype=number_type)
    except (TypeError, ValueError):
        raise _misfit(np.ndarray, json_value) from None


def _misfit(kind: Any, json_value: Any) -> ValueError:
    name = getattr(kind, "__name__", str(kind))
    return ValueError(f"{type(json_value).__name__} is no {name}")
