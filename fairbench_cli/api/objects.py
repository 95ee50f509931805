"""Classes, functions and estimators as a config says them: a dotted name, and parameters of plain values."""

import inspect
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fairbench_cli.base.definitions import NoDefinition, definition_of, is_installed, is_plain, public_name
from fairbench_cli.base.errors import ArgumentError, Problem, format_value
from fairbench_cli.base.files import make_folder, write_text
from fairbench_cli.base.parameters import inspect_parameters
from fairbench_cli.base.registry import Registry
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.experiment.plan import check_folder
from fairbench_cli.interventions.registry import INTERVENTIONS

COMPONENTS = {"classifiers": CLASSIFIERS, "interventions": INTERVENTIONS}
CODE = "code"
"""The folder, within the results, of what a notebook or script defined."""


def plain_config(config: Mapping[Any, Any], folder: Path) -> dict[str, Any]:
    """Return a config whose objects are written as a YAML file would have them.

    Parameters
    ----------
    config : mapping
        What stands in a config, or parts of it. Under `classifiers` and `interventions` there may be classes,
        functions and estimators, alone or as ``{object: parameters}``; elsewhere functions, such as metrics.
    folder : Path
        Of the results: the source of what a notebook or script defines is kept in its `CODE`.

    Raises
    ------
    ArgumentError
        For an object that a config cannot say; the message names it and its parameters.
    """

    def of(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {of(key) if _is_code(key) else str(key): of(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [of(inner) for inner in value]
        if _is_code(value):
            return name_of(value, folder)
        return plain_value(value)

    def entry(item: Any, kind: Registry) -> Any:
        if isinstance(item, Mapping) and len(item) == 1:
            thing, options = next(iter(item.items()))
            if isinstance(thing, str) or not _is_object(thing):
                return of(item)
            name, given = component_of(thing, kind, folder)
            return {name: in_lists(given) | of(options or {})}
        if not _is_object(item):
            return of(item)
        name, given = component_of(item, kind, folder)
        if given:
            return {name: in_lists(given)}
        return name

    return {
        str(key): [entry(item, COMPONENTS[key]) for item in value]
        if key in COMPONENTS and isinstance(value, list | tuple)
        else of(value)
        for key, value in config.items()
    }


def plain_value(value: Any) -> Any:
    """Return a value as YAML has it: lists for tuples, text for paths, numbers for NumPy's."""
    if isinstance(value, Mapping):
        return {key: plain_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def component_of(thing: Any, kind: Registry, folder: Path | None) -> tuple[str, dict[str, Any]]:
    """Return the name of a class, function or object, and the parameters that are not as by default.

    Raises
    ------
    ArgumentError
        When a config cannot say it.
    """
    if type(thing).__module__ == f"{__package__}.technique":
        what = f"{_short(thing)} is for scikit-learn, with an estimator and groups of its own"
        fix = "write its name, and its parameters: {NAME: {PARAMETER: VALUE}}"
        raise ArgumentError(Problem(what, fix))
    if isinstance(thing, partial):
        called = thing.func
    elif _is_code(thing):
        called = thing
    else:
        called = type(thing)
    given = parameters_given(thing)
    odd = [name for name, value in given.items() if not is_plain(value)]
    if odd:
        listed = ", ".join(f"{name}={_short(given[name])}" for name in odd)
        what = f"{called.__name__}({listed}): a config holds texts, numbers, lists and dicts of these"
        raise ArgumentError(Problem(what, "write a function that returns the object, and list the function"))
    own = f"{called.__module__}:{called.__qualname__}"
    known = {entry.target: name for name, entry in kind.items()}
    return known.get(own) or name_of(called, folder), given


def parameters_given(thing: Any) -> dict[str, Any]:
    """Return the parameters of an object that differ from their defaults; none of a class or function.

    Raises
    ------
    ArgumentError
        When it does not keep one of them, so that nobody can say what it was.
    """
    if isinstance(thing, partial):
        if thing.args:
            what = f"a partial of {thing.func.__name__} has arguments without a name"
            raise ArgumentError(Problem(what, "give them by name"))
        return {name: plain_value(value) for name, value in thing.keywords.items()}
    if _is_code(thing):
        return {}
    made: Any = type(thing)
    signature = inspect.signature(made).parameters
    defaults = {name: one.default for name, one in signature.items()}
    if hasattr(thing, "get_params"):
        values = thing.get_params(deep=False)
        if any(one.kind is one.VAR_KEYWORD for one in signature.values()):  # of others, as in xgboost
            defaults |= made().get_params(deep=False)
    else:
        values = {}
        for name in inspect_parameters(made).types:
            if not hasattr(thing, name):
                what = f"an object of {made.__name__} does not keep its parameter {name}"
                fix = f"give the class and its parameters: {{{made.__name__}: {{{format_value(name)}: …}}}}"
                raise ArgumentError(Problem(what, fix))
            values[name] = getattr(thing, name)
    return {
        name: plain_value(value)
        for name, value in values.items()
        if not _same(value, defaults.get(name, inspect.Parameter.empty))
    }


def name_of(thing: Any, folder: Path | None) -> str:
    """Return the name of a class or function in a config: ``package:Name`` or ``/path/mine.py:Name``.

    The source of what a notebook or script defines is written to `CODE` in a folder, a file for each.

    Raises
    ------
    ArgumentError
        When its source cannot be had.
    """
    module = str(thing.__module__)
    name = str(thing.__qualname__)
    file = getattr(sys.modules.get(module), "__file__", None)
    where = "put it into a file, such as mine.py, and import it from there"
    if "<" in name:
        if "lambda" in name:
            kind = "a lambda"
        else:
            kind = f"{thing.__name__} is defined within a function"
        raise ArgumentError(Problem(f"{kind}, which a config cannot name", where))
    if is_installed(module) or (module != "__main__" and "." in module):
        return public_name(thing)
    if module != "__main__" and file is not None:
        return f"{Path(file).resolve()}:{name}"
    try:
        text = definition_of(thing)
    except NoDefinition as error:
        raise ArgumentError(Problem(str(error), where)) from None
    if folder is None:
        return f"{name}.py:{name}"
    check_folder(folder)
    path = folder.resolve() / CODE / f"{name}.py"
    make_folder(path.parent)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return f"{path}:{name}"


def in_lists(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a config writes them: a list as one value is a list in a list."""
    return {name: [value] if isinstance(value, list) else value for name, value in given.items()}


def _is_code(value: Any) -> bool:
    return isinstance(value, type) or inspect.isroutine(value)


def _is_object(value: Any) -> bool:
    """Return whether a value is no text, number, list or dict."""
    return not (
        isinstance(value, str | Path | Mapping | list | tuple | int | float | type(None)) or is_plain(value)
    )


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    if len(text) <= 40:
        return text
    return f"{text[:39]}…"
