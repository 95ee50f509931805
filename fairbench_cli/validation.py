"""Turn pydantic's findings into errors for people, with line numbers and "did you mean"."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from fairbench_cli.errors import Problem, suggest
from fairbench_cli.strict_yaml import Document, Place

_PLAIN = {
    "missing": ("key is missing", "add it"),
    "int_type": ("must be a whole number", "write a number such as 30"),
    "int_from_float": ("must be a whole number", "write a number such as 30"),
    "int_parsing": ("must be a whole number", "write a number such as 30"),
    "float_type": ("must be a number", "write a number such as 0.5"),
    "float_parsing": ("must be a number", "write a number such as 0.5"),
    "bool_type": ("must be true or false", "write true or false, unquoted"),
    "bool_parsing": ("must be true or false", "write true or false, unquoted"),
    "string_type": ("must be text", "write a word, in quotes if it looks like a number"),
    "tuple_type": ("must be a list", "write a list such as [a, b]"),
    "list_type": ("must be a list", "write a list such as [a, b]"),
    "dict_type": ("must be a mapping", "write `key: value` pairs"),
    "model_type": ("must be a mapping", "write `key: value` pairs"),
    "too_short": ("must not be empty", "give at least one value"),
}


def problems_of(
    error: ValidationError, model: type[BaseModel] | None, document: Document, prefix: Place = ()
) -> Iterator[Problem]:
    """Yield one problem per finding, in the order of the file."""
    found = [(document.where((*prefix, *finding["loc"])), finding) for finding in error.errors()]
    for where, finding in found:
        place: Place = finding["loc"]
        yield _problem(finding, (*prefix, *place), _fields(model, place), where)


def _problem(finding: Any, place: Place, fields: list[str], where: str) -> Problem:
    name = ".".join(str(part) for part in place)
    kind, given = finding["type"], finding.get("input")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return Problem(f'unknown key "{place[-1]}"', suggest(str(place[-1]), fields), where)
    if kind == "literal_error":
        known = [word.strip("'") for word in finding["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        return Problem(f"{name}: unknown value {given!r}", suggest(str(given), known), where)
    if kind in _PLAIN:
        what, fix = _PLAIN[kind]
        shown = "" if kind in ("missing", "too_short") else f", not {given!r}"
        return Problem(f"{name} {what}{shown}" if kind != "missing" else f'key "{name}" is missing', fix, where)
    message = finding["msg"].removeprefix("Value error, ").removeprefix("Input ")
    short = f" ({given!r} given)" if isinstance(given, str | int | float) else ""
    return Problem(f"{name or 'the file'}: {message}{short}", "correct the value", where)


def _fields(model: type[BaseModel] | None, place: Place) -> list[str]:
    """Return the keys that the mapping around the unknown key at `place` may have."""
    current: Any = model
    for part in place[:-1]:
        if current is None or not hasattr(current, "model_fields"):
            return []
        if isinstance(part, int):
            continue
        if part in current.model_fields:
            current = _model_in(current.model_fields[part].annotation)
    return [] if current is None else list(current.model_fields)


def _model_in(annotation: Any) -> Any:
    """Find the model inside an annotation such as ``dict[str, Model] | None``."""
    if hasattr(annotation, "model_fields"):
        return annotation
    for inner in get_args(annotation):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
