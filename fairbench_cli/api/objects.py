"""Classes, functions and estimators as a config says them: a dotted name, and parameters of plain values."""

import inspect
import math
import sys
from collections.abc import Iterator, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import ArgumentError, Problem, format_value
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.base.plugins import is_installed, public_name
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.interventions.registry import INTERVENTIONS

COMPONENTS = {"classifiers": CLASSIFIERS, "interventions": INTERVENTIONS}


def plain_config(config: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a config whose objects are written as a YAML file would have them.

    Parameters
    ----------
    config : mapping
        What stands in a config, or parts of it. Under `classifiers` and `interventions` there may be classes,
        functions and estimators, alone or as ``{object: parameters}``; elsewhere functions, such as metrics.

    Raises
    ------
    ArgumentError
        For an object that a config cannot say; the message names it and its parameters.
    """

    def config_value(value: Any, key_path: str = "config") -> Any:
        if isinstance(value, Mapping):
            keys = [name_of(key) if _is_code(key) else str(key) for key in value]
            key_paths = [f"{key_path}.{key}".removeprefix("config.") for key in keys]
            return dict(zip(keys, map(config_value, value.values(), key_paths), strict=True))
        if isinstance(value, list | tuple):
            return [config_value(inner, key_path) for inner in value]
        if _is_code(value):
            return name_of(value)
        if isinstance(value, Set | Iterator) or getattr(value, "ndim", 0) > 1:
            problem = (
                f"{key_path} is {type(value).__name__}, and a config holds texts, numbers, lists and dicts"
            )
            raise ArgumentError(Problem(problem, f"write a list: list({key_path.rpartition('.')[2]})"))
        return plain_value(value)

    def entry(item: Any, kind: Registry) -> Any:
        if isinstance(item, Mapping) and len(item) == 1:
            thing, options = next(iter(item.items()))
            if isinstance(thing, str) or not _is_object(thing):
                return config_value(item)
            name, parameters = component_of(thing, kind)
            return {name: in_lists(parameters) | config_value(options or {})}
        if not _is_object(item):
            return config_value(item)
        name, parameters = component_of(item, kind)
        if parameters:
            return {name: in_lists(parameters)}
        return name

    plain_entries: dict[str, Any] = {}
    for key, value in config.items():
        if key in COMPONENTS and isinstance(value, list | tuple):
            plain_entries[str(key)] = [entry(item, COMPONENTS[key]) for item in value]
        else:
            plain_entries[str(key)] = config_value(value, str(key))
    return plain_entries


def is_plain(value: Any) -> bool:
    """Return whether a value is text, a finite number, true, false, None, or a list, tuple or dict of these.

    >>> is_plain({"a": [1, "b", None]}), is_plain(float("nan")), is_plain({1: 2}), is_plain(len)
    (True, False, False, False)
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(inner) for key, inner in value.items())
    return value is None or type(value) in (bool, int, str)


def plain_value(value: Any) -> Any:
    """Return a value as YAML has it: lists for tuples and arrays, text for paths, numbers for NumPy's.

    >>> import numpy as np
    >>> plain_value({"beta": np.linspace(0, 1, 3)}), plain_value(range(2))
    ({'beta': [0.0, 0.5, 1.0]}, [0, 1])
    """
    if isinstance(value, Mapping):
        return {key: plain_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain_value(inner) for inner in value]
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def component_of(thing: Any, kind: Registry, *, for_workers: bool = True) -> tuple[str, dict[str, Any]]:
    """Return the name of a class, function or object, and the parameters that are not as by default.

    `for_workers` refuses what other processes cannot import.

    Raises
    ------
    ArgumentError
        When a config cannot say it.
    """
    if type(thing).__module__ == f"{__package__}.technique":
        problem = f"{_short(thing)} is for scikit-learn, with an estimator and groups of its own"
        fix = "write its name, and its parameters: {NAME: {PARAMETER: VALUE}}"
        raise ArgumentError(Problem(problem, fix))
    if isinstance(thing, partial):
        called = thing.func
    elif _is_code(thing):
        called = thing
    else:
        called = type(thing)
    parameters = parameters_given(thing)
    odd = [name for name, value in parameters.items() if not is_plain(value)]
    if odd:
        listed = ", ".join(f"{name}={_short(parameters[name])}" for name in odd)
        problem = f"{called.__name__}({listed}): a config holds texts, numbers, lists and dicts of these"
        raise ArgumentError(
            Problem(problem, "write a function that returns the object, and list the function")
        )
    target = f"{called.__module__}:{called.__qualname__}"
    registered = {entry.target: name for name, entry in kind.items()}
    return registered.get(target) or name_of(called, for_workers=for_workers), parameters


def parameters_given(thing: Any) -> dict[str, Any]:
    """Return the parameters of an object that differ from their defaults; none of a class or function.

    Raises
    ------
    ArgumentError
        When it does not keep one of them, so that nobody can say what it was.
    """
    if isinstance(thing, partial):
        if thing.args:
            problem = f"a partial of {thing.func.__name__} has arguments without a name"
            raise ArgumentError(Problem(problem, "give them by name"))
        return {name: plain_value(value) for name, value in thing.keywords.items()}
    if _is_code(thing):
        return {}
    kind: Any = type(thing)
    signature = inspect.signature(kind).parameters
    defaults = {name: parameter.default for name, parameter in signature.items()}
    if hasattr(thing, "get_params"):
        values = thing.get_params(deep=False)
        if any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in signature.values()
        ):  # of others, as in xgboost
            defaults |= kind().get_params(deep=False)
    else:
        values = {}
        for name in inspect_parameters(kind).types:
            if not hasattr(thing, name):
                problem = f"an object of {kind.__name__} does not keep its parameter {name}"
                fix = f"give the class and its parameters: {{{kind.__name__}: {{{format_value(name)}: …}}}}"
                raise ArgumentError(Problem(problem, fix))
            values[name] = getattr(thing, name)
    return {
        name: plain_value(value)
        for name, value in values.items()
        if not _is_equal(value, defaults.get(name, inspect.Parameter.empty))
    }


def name_of(thing: Any, *, for_workers: bool = True) -> str:
    """Return the name of a class or function in a config: ``package:Name`` or ``/path/mine.py:Name``.

    Raises
    ------
    ArgumentError
        When workers cannot import it, as of a notebook, a script or within a function; no mistake unless
        `for_workers`.
    """
    module = str(thing.__module__)
    name = str(thing.__qualname__)
    file = getattr(sys.modules.get(module), "__file__", None)
    is_importable = "<" not in name and module != "__main__"
    if is_importable and (is_installed(module) or "." in module):
        return public_name(thing)
    if is_importable and file is not None:
        return f"{Path(file).resolve()}:{name}"
    name = str(thing.__name__).strip("<>")
    if for_workers:
        problem = f"{name} is defined where workers cannot import it from"
        in_file = thing.__name__.replace("<lambda>", "NAME")
        fix = f'put it into a file, such as mine.py, and name "./mine.py:{in_file}"'
        raise ArgumentError(Problem(problem, fix))
    return f"{name}.py:{name}"


def in_lists(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a config writes them: a list as one value is a list in a list."""
    return {name: [value] if isinstance(value, list) else value for name, value in parameters.items()}


def _is_code(value: Any) -> bool:
    return isinstance(value, type) or inspect.isroutine(value)


def _is_object(value: Any) -> bool:
    """Return whether a value is no text, number, list or dict."""
    return not (
        isinstance(value, str | Path | Mapping | list | tuple | int | float | type(None)) or is_plain(value)
    )


def _is_equal(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    if len(text) <= 40:
        return text
    return f"{text[:39]}…"
