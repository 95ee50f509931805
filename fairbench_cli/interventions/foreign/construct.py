"""Make a library's object from parameters as a config writes them."""

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fairbench_cli.base.errors import nearest


def accepts(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor, a method or a function; none if it has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def fits(function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that a function has a parameter for.

    >>> fits(lambda X, y, labels=None: None, {"labels": [0, 1], "pos_label": 1})
    {'labels': [0, 1]}
    """
    return {name: value for name, value in values.items() if name in accepts(function)}


def construct(thing: Callable[..., Any], parameters: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """Return a new object: with the user's parameters, and what we know of its other parameters.

    Parameters
    ----------
    thing : type or function
        A class, or a function that returns an object.
    parameters : mapping
        As a config writes them; those of a class may name classes of its library (`resolved`).
    known : mapping
        What a parameter of some name is given unless the user gave it: ``estimator``, ``random_state`` …
    """
    given = {name: resolved(thing, copy.deepcopy(value)) for name, value in parameters.items()}
    return thing(**(fits(thing, known) | given))


def resolved(thing: Any, value: Any) -> Any:
    """Return the object that a value names: ``Name`` or ``{Name: {parameter: value}}`` of a class's library.

    Anything else is returned as it is.

    Raises
    ------
    ValueError
        When the library has no such class but one of a similar name.
    """
    name: Any = value
    arguments: Any = {}
    if isinstance(value, Mapping) and len(value) == 1:
        name, arguments = next(iter(value.items()))
    capital = isinstance(name, str) and name.isidentifier() and name[0].isupper()
    if not (inspect.isclass(thing) and capital and isinstance(arguments or {}, Mapping)):
        return value
    classes = dict(_classes(thing))
    if name in classes:
        return classes[name](**(arguments or {}))
    near = nearest(name, classes)
    if near is not None:
        public = thing.__module__.partition("._")[0]
        raise ValueError(f'no class "{name}" in {public}; did you mean "{near}"?')
    return value


def _classes(thing: type) -> Iterator[tuple[str, type]]:
    """Yield the public classes of a class's module and of the packages around it, its own the last."""
    parts = thing.__module__.split(".")
    for end in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:end]))
        for name, value in list(vars(module).items()) if module is not None else []:
            if inspect.isclass(value) and not name.startswith("_"):
                yield name, value
