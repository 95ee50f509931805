"""Which cells of a run are compared: filters ``key=value`` and ``key!=value``."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairbench_cli.errors import UserError, suggest, user_error
from fairbench_cli.experiment.choices import word
from fairbench_cli.experiment.plan import ONLY_KEYS

Facts = dict[str, Any]


def facts_of(cell: Mapping[str, Any]) -> Facts:
    """Return what tells a cell from others by name.

    These are its columns, the parameters of its intervention, and those of its classifier as
    ``classifier.NAME``.
    """
    columns = {key: cell[key] for key in ONLY_KEYS}
    of_classifier = {f"classifier.{key}": v for key, v in json.loads(cell["classifier_parameters"]).items()}
    return columns | {**of_classifier, **json.loads(cell["parameters"])} | columns


def choose(cells: Sequence[Facts], filters: tuple[str, ...]) -> list[bool]:
    """Tell which cells match every filter.

    As for ``fairbench run --only``, a key given twice with ``=`` means either value. ``!=`` leaves a value
    out. Cells without a parameter match every filter on it.

    Raises
    ------
    UserError
        For an unknown key, a filter without "=", a value that no cell has, or when no cell is left.

    Examples
    --------
    >>> cells = [{"classifier": "c45", "ranker": "logistic"}, {"classifier": "c45"}, {"classifier": "tree"}]
    >>> choose(cells, ("classifier!=tree", "ranker=logistic"))
    [True, True, False]
    """
    wanted: dict[tuple[str, bool], list[str]] = {}
    for item in (part for text in filters for part in text.split(",")):
        left, equals, value = item.partition("=")
        key, out = left.removesuffix("!"), left.endswith("!")
        if not equals:
            fix = "write KEY=VALUE, such as classifier=c45, or KEY!=VALUE"
            raise user_error(f'cannot read the filter "{item}"', fix, "--only")
        having = [facts[key] for facts in cells if key in facts]
        if not having:
            known = {name for facts in cells for name in facts}
            raise user_error(f'unknown key "{key}"', suggest(key, known), "--only")
        if not any(_is(one, value) for one in having):
            fix = suggest(value, {text_of(one) for one in having})
            raise user_error(f'no cell has {key} "{value}"', fix, "--only")
        wanted.setdefault((key, out), []).append(value)
    kept = [
        all(
            key not in facts or any(_is(facts[key], value) for value in values) != out
            for (key, out), values in wanted.items()
        )
        for facts in cells
    ]
    if not any(kept):
        raise user_error("no cell matches all filters", "drop one of them", "--only")
    return kept


def ambiguous(what: str, cells: Sequence[Facts], run: str) -> UserError:
    """Say in what the cells that fit one published value differ, and how to choose."""
    parts, filters = [], []
    for key in dict.fromkeys(key for facts in cells for key in facts):
        found = list(dict.fromkeys(text_of(facts[key]) for facts in cells if key in facts))
        if len(found) < 2:
            continue
        parts.append(f"{key} ({', '.join(found)})")
        # Naming the one data set or intervention to keep would leave out those of all other values.
        keeps = key not in ("dataset", "intervention")
        filters += [f"{key}={found[0]}"] if keeps else [f"{key}!={one}" for one in found[1:]]
    return user_error(
        f"{len(cells)} cells of the run fit {what}; they differ in {' and '.join(parts)}",
        f"choose, such as --only {','.join(filters)}",
        run,
    )


def text_of(value: Any) -> str:
    """Write a value as a filter names it.

    >>> text_of(0.5), text_of(0.0), text_of(True), text_of("tree")
    ('0.5', '0', 'true', 'tree')
    """
    return f"{value:.12g}" if isinstance(value, float) else word(value)


def _is(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return text_of(float(text)) == text_of(float(value))
        except ValueError:
            return False
    return text_of(value) == text
