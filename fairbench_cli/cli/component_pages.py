"""``fairbench list interventions NAME``: what one component does, and every parameter of it."""

import inspect
import re
import textwrap
from typing import Any

from fairbench_cli.base.parameters import parameters_of
from fairbench_cli.cli.console import out, say
from fairbench_cli.experiment.config.components import word

WIDEST = 80  # columns that read well
_FIELD = re.compile(r"^([A-Za-z_][\w, ]*?) : ")
INCLUDE = "Whether the classifier sees the protected attribute."


def print_component(name: str, thing: Any, *, technique: bool, foreign: Any = None) -> None:
    """Print what a component does, and each parameter with type, range or choices, default and meaning.

    `foreign` is the adapter of one that is not registered: it gives parameters, and has some of its own.
    """
    from pydantic import TypeAdapter

    width = min(WIDEST, out().width)
    summary, about, meanings = docstring(thing)
    say(name, "bold")
    for paragraph in filter(None, (summary, *about)):
        say(textwrap.fill(paragraph, width, initial_indent="  ", subsequent_indent="  "))
    parameters = described(thing)
    if foreign is not None:
        parameters |= dict.fromkeys(foreign.filled(thing) & set(parameters), "given, if the config does not")
        parameters |= {
            key: f"{in_words(TypeAdapter(of).json_schema())}; default {word(default)}"
            for key, (of, default) in foreign.options_of(thing).items()
        }
    if technique:
        parameters["include_protected"] = f"{in_words({'type': 'boolean'})}; default: the config's"
        meanings = {**meanings, "include_protected": INCLUDE}
    say("\n  parameters" if parameters else "\n  no parameters")
    for key, kind in parameters.items():
        say(textwrap.fill(f"{key}: {kind}", width, initial_indent="    ", subsequent_indent="      "))
        if text := meanings.get(key):
            say(textwrap.fill(text, width, initial_indent="      ", subsequent_indent="      "))


def described(thing: Any) -> dict[str, str]:
    """Return type, range or choices, and default of every parameter of a class or function, by name.

    >>> from fairbench_cli.classifiers.builders import Tree
    >>> described(Tree)["max_depth"], described(Tree)["pruning"]
    ('whole number of 1 or more, or null; default null', 'number of 0 or more; default 0.0')
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    types = parameters_of(thing).types
    found = {}
    for key, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        try:
            kind = in_words(TypeAdapter(types[key]).json_schema())
        except (KeyError, PydanticSchemaGenerationError, PydanticUserError):
            kind = "any value"
        required = parameter.default is parameter.empty
        found[key] = f"{kind}; {'must be given' if required else f'default {word(parameter.default)}'}"
    return found


def in_words(schema: dict[str, Any]) -> str:
    """Return what a JSON Schema allows.

    >>> in_words({"enum": ["a", "b"]}), in_words({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5})
    ('a or b', 'number above 0 and at most 0.5')
    >>> in_words({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'whole number of 1 or more, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(in_words(one) for one in schema["anyOf"])
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        *first, last = map(str, schema["enum"])
        return f"{', '.join(first)} or {last}" if first else last
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {in_words(schema.get('items', {}))}"
    words = {"number": "number", "integer": "whole number", "boolean": "true or false", "null": "null"}
    return f"{words.get(str(kind), 'text' if kind == 'string' else 'any value')}{_range(schema)}"


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None and below is None:
        return f" of {low:g} or more"
    said = [
        f"{word} {bound:g}"
        for word, bound in (("at least", low), ("above", above), ("at most", high), ("below", below))
        if bound is not None
    ]
    return f" {' and '.join(said)}" if said else ""


def docstring(thing: Any) -> tuple[str, list[str], dict[str, str]]:
    """Return the summary, further paragraphs, and the meaning of each parameter of a numpy docstring.

    >>> from fairbench_cli.classifiers.builders import Tree
    >>> docstring(Tree)[2]["min_leaf"]
    'Fewest rows (not weights) in a leaf.'
    """
    text = inspect.cleandoc(thing.__doc__ or "")
    head, *sections = re.split(r"\n(?=\w[^\n]*\n---+\n)", text)
    paragraphs = [" ".join(part.split()) for part in head.split("\n\n") if part.strip()]
    meanings: dict[str, str] = {}
    for section in sections:
        title, _, *lines = section.splitlines()
        names: list[str] = []
        for line in lines if title == "Parameters" else ():
            if match := _FIELD.match(line):
                names = [name.strip() for name in match[1].split(",")]
            elif line.startswith(" "):
                for name in names:
                    meanings[name] = f"{meanings.get(name, '')} {line.strip()}".strip()
    plain = [paragraph.replace("``", "`") for paragraph in paragraphs]
    return (plain or [""])[0], plain[1:], meanings
