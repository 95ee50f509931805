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
    name: Annotated[str | None, typer.Argument(help="A metric to explain, alias or not.")] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Of metrics, all there is to know: a small encyclopaedia.")
    ] = False,
) -> None:
    """List data sets, interventions, classifiers and metrics by name."""
    from fairbench_cli.cli.console import print_rows
    from fairbench_cli.errors import user_error

    if (long or name is not None) and kind is not Kind.metrics:
        what = "--long is for metrics" if long else "only metrics are explained one by one"
        raise user_error(what, f"write: fairbench list metrics {'--long' if long else name}")
    if kind is Kind.metrics or kind is None:
        from fairbench_cli.cli import metric_pages
    if name is not None:
        metric_pages.print_metric(name)
        return
    if long:
        metric_pages.print_metrics()
        return
    for one in [kind] if kind else list(Kind):
        if one is Kind.metrics:
            metric_pages.print_metric_tables()
            continue
        heads, rows = _rows(one)
        print_rows(heads, rows, title=one.value)


def _rows(kind: Kind) -> tuple[list[str], list[list[str]]]:
    if kind is Kind.datasets:
        from fairbench_cli.data.card import find_card, known_cards, read_card

        cards = [read_card(find_card(name)) for name in known_cards()]
        return ["name", "protected", "title"], [
            [card.name, ", ".join(card.protected), card.title] for card in cards
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

    from fairbench_cli.experiment.components import word

    return ", ".join(f"{field.name}={word(field.default)}" for field in fields(thing))
