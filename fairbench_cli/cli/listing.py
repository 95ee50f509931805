"""``fairbench list``: what can stand in a config."""

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """What can be listed."""

    datasets = "datasets"
    interventions = "interventions"
    classifiers = "classifiers"
    metrics = "metrics"


def list_names(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; everything by default.")] = None,
) -> None:
    """List data sets, interventions, classifiers and metrics by name."""
    from fairbench_cli.cli.console import print_rows

    for one in [kind] if kind else list(Kind):
        heads, rows = _rows(one)
        print_rows(heads, rows, title=one.value)


def _rows(kind: Kind) -> tuple[list[str], list[list[str]]]:
    if kind is Kind.datasets:
        from fairbench_cli.data.card import find_card, known_cards, read_card

        cards = [read_card(find_card(name)) for name in known_cards()]
        return ["name", "protected", "title"], [
            [card.name, ", ".join(card.protected), card.title] for card in cards
        ]
    if kind is Kind.metrics:
        from fairbench_cli.measures.registry import MEASURES

        return ["name", "range", "ideal", "formula"], [
            [m.name, f"{m.low:g} to {m.high:g}", "" if m.ideal is None else f"{m.ideal:g}", m.formula]
            for m in MEASURES.values()
        ]
    from fairbench_cli.classifiers.registry import CLASSIFIERS
    from fairbench_cli.interventions.registry import INTERVENTIONS

    if kind is Kind.interventions:
        return ["name", "parameters", "what it does"], [
            [name, _parameters(entry.load()), entry.summary] for name, entry in INTERVENTIONS.items()
        ]
    return ["name", "parameters", "what it is"], [
        [name, _parameters(entry.load()), entry.summary] for name, entry in CLASSIFIERS.items()
    ]


def _parameters(thing: type) -> str:
    from dataclasses import fields

    from fairbench_cli.experiment.choices import word

    return ", ".join(f"{field.name}={word(field.default)}" for field in fields(thing))
