"""``fairbench list``: what can stand in a config."""

from dataclasses import fields
from typing import Annotated, Literal, get_args

import typer

from fairbench_cli.cli.console import print_rows
from fairbench_cli.errors import user_error

Listed = Literal["datasets", "interventions", "classifiers", "metrics"]


def list_names(
    kind: Annotated[Listed | None, typer.Argument(help="What to list; everything by default.")] = None,
    name: Annotated[str | None, typer.Argument(help="A metric to explain, alias or not.")] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Of metrics, all there is to know: a small encyclopaedia.")
    ] = False,
) -> None:
    """List data sets, interventions, classifiers and metrics by name."""
    if (long or name is not None) and kind != "metrics":
        what = "--long is for metrics" if long else "only metrics are explained one by one"
        raise user_error(what, f"write: fairbench list metrics {'--long' if long else name}")
    for one in (kind,) if kind else get_args(Listed):
        if one != "metrics":
            print_rows(*_rows(one), title=one)
            continue
        from fairbench_cli.cli import metric_pages

        if name is not None:
            metric_pages.print_metric(name)
        elif long:
            metric_pages.print_metrics()
        else:
            metric_pages.print_metric_tables()


def _rows(kind: str) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of one kind of thing."""
    if kind == "datasets":
        from fairbench_cli.data.card import find_card, known_cards, read_card

        cards = [read_card(find_card(name)) for name in known_cards()]
        rows = [[card.name, ", ".join(card.protected), card.title] for card in cards]
        return ["name", "protected", "title"], rows
    from fairbench_cli.classifiers.registry import CLASSIFIERS
    from fairbench_cli.experiment.components import word
    from fairbench_cli.interventions.registry import INTERVENTIONS

    entries, last = (
        (INTERVENTIONS, "what it does") if kind == "interventions" else (CLASSIFIERS, "what it is")
    )
    rows = []
    for name, entry in entries.items():
        parameters = ", ".join(f"{field.name}={word(field.default)}" for field in fields(entry.load()))
        rows.append([name, parameters, entry.summary])
    return ["name", "parameters", last], rows
