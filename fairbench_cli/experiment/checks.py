"""What a config's keys say about each other, beyond each being right on its own."""

from collections.abc import Iterator
from typing import Any

from fairbench_cli.errors import Problem, shown, suggest
from fairbench_cli.experiment.choices import named
from fairbench_cli.strict_yaml import Document, Place

# What decides how a network is learned; a shipped network is learned already.
NETWORK_SETTINGS = frozenset({"learner", "score", "max_parents", "require_arc", "outcome_sink"})


def in_list(
    document: Document, place: Place, kind: str, known: tuple[str, ...] | None = None
) -> Iterator[Problem]:
    """Find what a list has twice and, where it holds names, those that are not `known`."""
    value = document.data
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    seen: list[Any] = []
    for i, one in enumerate(value if isinstance(value, list) else []):
        where = document.where((*place, i))
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            continue
        if known and isinstance(one, str) and one not in known:
            yield Problem(f'unknown {kind} "{one}"', suggest(one, known), where)
        elif one in seen:
            yield Problem(f"{kind} {shown(one)} is listed twice", "keep one", where)
        seen.append(one)


def without_effect(document: Document) -> Iterator[Problem]:
    """Find settings of the learner where a shipped network is used."""
    sample, datasets = document.data.get("sample"), document.data.get("datasets")
    if not isinstance(sample, dict) or sample.get("from") != "shipped":
        return
    places: list[tuple[Place, Any]] = [(("sample",), sample)]
    for i, item in enumerate(datasets if isinstance(datasets, list) else []):
        name, options = named(item)
        if name is not None:
            places.append((("datasets", i, name), options))
    for place, options in places:
        for key in NETWORK_SETTINGS & set(options if isinstance(options, dict) else ()):
            yield Problem(
                f"{key} has no effect on a shipped network, which is learned already",
                "remove it, or write `from: network` to learn one",
                document.where((*place, key)),
            )
