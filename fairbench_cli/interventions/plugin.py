"""Interventions that are not registered: anybody's technique, and what the adapters make one of."""

import inspect
from collections.abc import Mapping
from typing import Any

from fairbench_cli.interventions import adapters


def options_of(thing: Any) -> Mapping[str, tuple[Any, Any]]:
    """Return the parameters that are an adapter's and not the class's: type and default by name."""
    return adapters.options_of(thing) if _is_adapted(thing) else {}


def filled(thing: Any) -> frozenset[str]:
    """Return the parameters that an adapter gives, such as the cell's classifier, if a config does not."""
    return adapters.FILLED if _is_adapted(thing) else frozenset()


def fault(thing: Any) -> tuple[str, str] | None:
    """Return why a class cannot be an intervention, and what to do; None where it can, or is a function."""
    missing = adapters.missing_requirement(thing)
    if missing is not None:
        return missing[0].removeprefix("it "), missing[1]
    if not isinstance(thing, type) or is_technique(thing) or _is_adapted(thing):
        return None
    if callable(getattr(thing, "predict", None)) or callable(getattr(thing, "build", None)):
        return "is a classifier, not a technique", "name it under `classifiers`"
    what = "is neither a technique, with fit(train, classifier, rng), nor of a library that is known"
    return what, "see docs/extending.md"


def make(thing: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the technique.

    Raises
    ------
    Exception
        Whatever the class or function raises, and `TypeError` for a function that returns no technique.
    """
    if is_technique(thing):
        return thing(**parameters)
    options = {name: value for name, value in parameters.items() if name in options_of(thing)}
    own = {name: value for name, value in parameters.items() if name not in options}
    if not isinstance(thing, type) and not options and not _needs_more(thing, own):
        made = thing(**own)
        if is_technique(made):
            return made
        if not _is_adapted(type(made)):
            raise TypeError(f"returned {type(made).__name__}, which has no fit(train, classifier, rng)")
    return adapters.adapt(thing, own, options)


def is_technique(thing: Any) -> bool:
    """Return whether a class or an object has our ``fit(train, classifier, rng)``."""
    try:
        return {"classifier", "rng"} <= set(inspect.signature(thing.fit).parameters)
    except (AttributeError, TypeError, ValueError):
        return False


def _needs_more(function: Any, given: Mapping[str, Any]) -> bool:
    """Return whether a function has a parameter that an adapter gives, such as the cell's classifier."""
    return bool(filled(function) & set(inspect.signature(function).parameters) - set(given))


def _is_adapted(thing: Any) -> bool:
    return not is_technique(thing) and adapters.takes(thing)
