"""Which cells of a run: filters ``key=value`` and ``key!=value``."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.experiment.config.components import word
from fairbench_cli.experiment.plan import CELL_COLUMNS

Facts = Mapping[str, Any]


def select(cells: Sequence[Facts], filters: tuple[str, ...]) -> list[bool]:
    """Return which cells match every filter.

    A key given twice with ``=`` means either value; ``!=`` leaves a value out. A cell that does not have a
    key, such as a parameter of another intervention, matches every filter on it.

    Raises
    ------
    UserError
        For an unknown key, a filter without "=", a value that no cell has, or when no cell is left.

    Examples
    --------
    >>> cells = [{"classifier": "c45", "ranker": "logistic"}, {"classifier": "c45"}, {"classifier": "tree"}]
    >>> select(cells, ("classifier!=tree", "ranker=logistic"))
    [True, True, False]
    """
    if not any(facts.get("world") for facts in cells):
        cells = [{key: value for key, value in facts.items() if key != "world"} for facts in cells]
    wanted: dict[tuple[str, bool], list[str]] = {}
    for item in (part for text in filters for part in text.split(",")):
        left, equals, value = item.partition("=")
        key, out = left.removesuffix("!"), left.endswith("!")
        if not equals:
            fix = "write KEY=VALUE, such as dataset=adult or classifier=c45, or KEY!=VALUE"
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


def facts_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return what distinguishes a cell from others, by name.

    These are its columns, the parameters of its intervention, and those of its classifier as
    ``classifier.NAME``; of one that is tuned also the metric (``tune``), the rows (``tune.on``) and the
    parameters (``tune.over``).
    """
    columns = {key: cell[key] for key in CELL_COLUMNS}
    of_classifier = {f"classifier.{key}": v for key, v in json.loads(cell["classifier_parameters"]).items()}
    parameters = json.loads(cell["parameters"])
    tune = parameters.pop("tune", None)
    if tune is not None:
        parameters |= {"tune": tune["for"], "tune.on": tune["on"], "tune.over": " and ".join(tune["over"])}
    return columns | {**of_classifier, **parameters} | columns


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
