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


def from_plain(kind: Any, plain: Any, readers: Readers = types.MappingProxyType({})) -> Any:
    """Return a value of a type by plain data.

    Parameters
    ----------
    kind : type
        A data class, a tuple, mapping, array, union or literal of such, or a plain type.
    plain : object
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
        return readers[kind](plain)
    if is_dataclass(kind):
        return _read_fields(kind, plain, readers)
    if kind is float:
        return _read_float(plain)
    if kind in (int, str, bool):
        if type(plain) is not kind:
            raise _misfit(kind, plain)
        return plain
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, plain, readers)
    if origin is Literal:
        if plain not in arguments:
            raise _misfit(kind, plain)
        return plain
    if origin is tuple:
        return _read_tuple(arguments, plain, readers)
    if origin is np.ndarray:
        return _read_array(arguments[1], plain)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(plain, dict):
            raise _misfit(kind, plain)
        return {name: from_plain(arguments[1], value, readers) for name, value in plain.items()}
    raise TypeError(f"{kind} cannot be read")


def _read_fields(kind: Any, plain: Any, readers: Readers) -> Any:
    """Return a data class, or the subclass whose further fields the mapping has."""
    if not isinstance(plain, dict):
        raise _misfit(kind, plain)
    names = {field.name for field in fields(kind)}
    for subclass in kind.__subclasses__():
        if {field.name for field in fields(subclass)} - names <= plain.keys():
            return _read_fields(subclass, plain, readers)
    hints = _hints_of(kind)
    values = {}
    for field in fields(kind):
        if field.name in plain:
            values[field.name] = from_plain(hints[field.name], plain[field.name], readers)
        elif field.default is MISSING and field.default_factory is MISSING:
            if type(None) not in get_args(hints[field.name]):
                raise ValueError(f"{kind.__name__} lacks {field.name}")
            values[field.name] = None
    return kind(**values)


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read_float(plain: Any) -> float:
    """Return a number; a whole one stays an integer, as it was written."""
    if plain is None:
        return math.nan
    if isinstance(plain, str) and plain in INFINITE:
        return INFINITE[plain]
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise _misfit(float, plain)
    return plain


def _read_union(kinds: tuple[Any, ...], plain: Any, readers: Readers) -> Any:
    """Return a value of one of several types; null is NaN where numbers may be: None is left out there."""
    if plain is None and float not in kinds:
        if type(None) not in kinds:
            raise _misfit(kinds, plain)
        return None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return from_plain(kind, plain, readers)
        except ValueError:
            continue
    raise _misfit(kinds, plain)


def _read_tuple(kinds: tuple[Any, ...], plain: Any, readers: Readers) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise _misfit(tuple, plain)
    if kinds[-1] is Ellipsis:
        return tuple(from_plain(kinds[0], value, readers) for value in plain)
    if len(plain) != len(kinds):
        raise _misfit(tuple, plain)
    return tuple(from_plain(kind, value, readers) for kind, value in zip(kinds, plain, strict=True))


def _read_array(kind: Any, plain: Any) -> Any:
    """Return an array of a type of numpy's, such as ``numpy.dtype[numpy.float64]``, from lists in lists."""
    (number_type,) = get_args(kind)
    try:
        return np.array(plain, dtype=number_type)
    except (TypeError, ValueError):
        raise _misfit(np.ndarray, plain) from None


def _misfit(kind: Any, plain: Any) -> ValueError:
    name = getattr(kind, "__name__", str(kind))
    return ValueError(f"{type(plain).__name__} is no {name}")
