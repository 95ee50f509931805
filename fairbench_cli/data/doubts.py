"""Columns that a card leaves to the defaults and that are hardly meant that way."""

from collections.abc import Iterator

import pandas as pd

from fairbench_cli.data.descriptor import Card
from fairbench_cli.errors import Problem

MANY = 50  # levels; more, and all numbers: the column was meant as a number


def doubts(card: Card, frame: pd.DataFrame) -> Iterator[Problem]:
    """Yield a problem per unlisted column of very many levels, and for rows without a label.

    A column that the card lists as nominal is taken at its word.
    """
    for name in frame.columns:
        if name not in card.columns and name != card.label.column:
            yield from _too_many(card, str(name), frame[name])
    label = frame[card.label.column]
    missing = int(label.isin(["", *card.missing]).sum())
    if missing:
        yield Problem(
            f'{missing} rows have no label in column "{card.label.column}"',
            'leave them out with missing: [""] and missing_rows: drop, or give them a value with recode',
            card.where("label", "column"),
        )


def _too_many(card: Card, name: str, cells: "pd.Series[str]") -> Iterator[Problem]:
    levels = cells.nunique()
    if levels <= MANY:
        return
    known = pd.Series(cells[cells != ""].unique())
    numbers = bool(pd.to_numeric(known, errors="coerce").notna().all())
    if numbers:
        yield Problem(
            f'column "{name}" has {levels} different numbers, each of which would be a level',
            f"list it under `columns`: {name}: {{kind: integer, bins: {{count: 5}}}}, or as nominal or drop",
            card.where("columns"),
        )
    elif levels > len(cells) / 2:
        yield Problem(
            f'column "{name}" has {levels} different values in {len(cells)} rows',
            f"list it under `columns`: {name}: drop, or as nominal if it is meant so",
            card.where("columns"),
        )
