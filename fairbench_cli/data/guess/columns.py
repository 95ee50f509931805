"""What the columns of a table are, guessed from their cells: kind, bins, gaps, and what to leave out."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.text import percent_words
from fairbench_cli.data.card import Card
from fairbench_cli.data.checks.columns import LEVELS, SOME, column_findings
from fairbench_cli.data.checks.leaks import leak_words, leaks
from fairbench_cli.data.checks.rows import RawRows
from fairbench_cli.data.column_card import ColumnCard
from fairbench_cli.data.columns import GAPS, edge_word, is_number
from fairbench_cli.data.guess.roles import GivenRoles, Group, RawCells
from fairbench_cli.data.load import MOST_PEOPLE
from fairbench_cli.data.recognise import COUNTS, is_date, named_like_identifiers

# Cells that mean a missing value in a column that is otherwise numbers.
GAPS_AMONG_NUMBERS = ("-", "--", ".", "None", "none", "unknown", "Unknown", "missing", "Missing")
MOST_CELLS = 10_000  # of a table of counts
FEW = 10  # different numbers that are kept as levels
QUANTILES = 5
DATES = 0.95  # of the cells


@dataclass(frozen=True)
class ColumnGuess:
    """What a column is taken for.

    Parameters
    ----------
    name : str
        Its name.
    card : ColumnCard
        Its entry in the card.
    why : str
        What that follows from.
    change : str
        How to write it otherwise; empty where there is nothing else.
    """

    name: str
    card: ColumnCard
    why: str
    change: str = ""


def gaps_of(cells: pd.DataFrame, *, comma: bool) -> tuple[str, ...]:
    """Return the cells of a table that seem to mean a missing value, in their usual order."""
    found = {gap for gap in GAPS if (cells == gap).to_numpy().any()}
    for name in cells.columns:
        values = set(cells[name]) - set(GAPS)
        others = values & set(GAPS_AMONG_NUMBERS)
        if others and len(values) > len(others) and _numeric(values - others, comma=comma):
            found |= others
    return tuple(gap for gap in (*GAPS, *GAPS_AMONG_NUMBERS) if gap in found)


def counts_of(cells: pd.DataFrame) -> str | None:
    """Return the column that counts the people of each row, if the table is a cross of all others.

    >>> cells = pd.DataFrame({"sex": ["f", "f", "m"], "y": ["0", "1", "0"], "Freq": ["3", "0", "12"]})
    >>> counts_of(pd.concat([cells, cells.tail(1).assign(y="1")])), counts_of(cells)
    ('Freq', None)
    """
    if len(cells) > MOST_CELLS:
        return None
    named = [name for name in cells.columns if str(name).casefold() in (*COUNTS, "n")]
    others = cells.drop(columns=named)
    others = others.loc[:, others.nunique() < len(others)]  # less the names of rows
    if len(named) != 1 or others.shape[1] < 2 or others.duplicated().any():
        return None
    whole = all(is_number(cell, whole=True) and float(cell) >= 0 for cell in cells[named[0]])
    crossed = whole and math.prod(others.nunique()) == len(cells)
    return named[0] if crossed and 0 < cells[named[0]].astype(float).sum() <= MOST_PEOPLE else None


def has_decimal_commas(cells: pd.DataFrame, separator: str) -> bool:
    """Return whether numbers are written with a comma: a column has some, and none with a point."""
    if separator == ",":
        return False
    columns = [set(cells[name]) - set(GAPS) for name in cells.columns]
    comma = any(
        any("," in value for value in values) and _numeric(values, comma=True) for values in columns if values
    )
    point = any(
        any("." in value for value in values) and _numeric(values, comma=False)
        for values in columns
        if values
    )
    return comma and not point


def with_points(cells: pd.DataFrame, gaps: tuple[str, ...]) -> pd.DataFrame:
    """Return a table whose columns of numbers have a point before the decimals in place of a comma."""
    numbers = [name for name in cells.columns if _numeric(set(cells[name]) - set(gaps), comma=True)]
    return cells.assign(**{name: cells[name].str.replace(",", ".") for name in numbers})


def _numeric(values: set[str], *, comma: bool) -> bool:
    return all(is_number(value.replace(",", ".", 1) if comma else value) for value in values)


def guess_columns(table: RawCells, roles: GivenRoles) -> list[ColumnGuess]:
    """Return what each column of a table is taken for, in order.

    Parameters
    ----------
    table : RawCells
        Decimals after a point.
    roles : GivenRoles
        Label and protected attributes.
    """
    kinds = {name: _kind(table.known(name)) for name in table.cells.columns}
    given = {group.column: _given(table, group, roles, kinds) for group in (*roles.attributes, roles.label)}
    out = _left_out(_raw(table, roles, kinds), kinds)
    guesses = []
    for name, kind in kinds.items():
        plain = _plain(table, name, kind)
        if name in given:
            guesses.append(given[name])
        elif name in out:
            why, when = out[name]
            guesses.append(ColumnGuess(name, ColumnCard(kind="drop"), why, f"{when}: {_short(plain.card)}"))
        else:
            guesses.append(plain)
    return guesses


def _left_out(rows: RawRows, kinds: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the columns to leave out: why, and when they may be used."""
    findings = {finding.column: finding.what for finding in column_findings(rows)}
    leaking = {leak.column: leak for leak in leaks(rows)}
    found = {}
    for name in kinds:
        cells, use = rows.cells[name], "To use it"
        values = cells.nunique()
        if name in leaking:
            found[name] = leak_words(rows, leaking[name]), "If it is known before the outcome"
        elif _dates(cells, rows.gaps):
            found[name] = "dates", "Make a number of it in the file (a year, an age); as it is"
        elif name in findings:
            known = "" if "one to one" in findings[name] or values == 1 else ", perhaps an identifier"
            found[name] = findings[name] + known, use
        elif named_like_identifiers(name) and values > SOME * len(cells):
            found[name] = f"{values} different values, and named like an identifier", use
        elif kinds[name] == "nominal" and values > LEVELS:
            found[name] = f"{values} different texts are very many levels", "To use it, with recode"
    return found


def _kind(known: "pd.Series[str]") -> str:
    values = set(known)
    if not values or not all(map(is_number, values)):
        return "nominal"
    return "integer" if all(is_number(value, whole=True) for value in values) else "real"


def _dates(cells: "pd.Series[str]", gaps: tuple[str, ...]) -> bool:
    there = cells[~cells.isin(gaps)]
    return len(there) > 0 and float(np.mean([is_date(cell) for cell in there])) >= DATES


def _raw(table: RawCells, roles: GivenRoles, kinds: dict[str, str]) -> RawRows:
    """Return the rows that the checks of a card look at: those with a label and groups."""
    label = roles.label.column
    attributes = [group.column for group in roles.attributes]
    known = table.filled(label, *attributes)
    entries = {name: {"kind": "nominal" if name == label else kind} for name, kind in kinds.items()}
    card = Card.model_validate(
        {
            "name": "x",
            "files": ({"name": "x"},),
            "missing": table.gaps,
            "columns": entries,
            "label": {"column": label, "favourable": "+"},
            "protected": {name: {"deprived": "-"} for name in attributes},
        }
    )
    outcome = np.where(roles.label.members(table), "+", "-")
    marked = table.cells.assign(**{label: outcome})[known].reset_index(drop=True)
    return RawRows(card, marked, np.ones(len(marked), dtype=bool), (), table.cells)


def _given(table: RawCells, group: Group, roles: GivenRoles, kinds: dict[str, str]) -> ColumnGuess:
    """Return what the label or a protected attribute is."""
    known = table.known(group.column)
    what = "the label" if group == roles.label else "protected"
    missing = len(table.cells) - len(known)
    left_out = f"; {missing:,} rows have none and are left out" if missing else ""
    if group.cut is None:
        return ColumnGuess(group.column, ColumnCard(), f"{what}, {known.nunique()} levels{left_out}")
    card = ColumnCard.model_validate(
        {"kind": kinds[group.column], "bins": group.cut.bins.model_dump(exclude_defaults=True)}
    )
    why = f"{what}, cut in two: the number itself is not used{left_out}"
    change = "With other edges, name other levels under label or protected"
    return ColumnGuess(group.column, card, why, change)


def _plain(table: RawCells, name: str, kind: str) -> ColumnGuess:
    """Return what a column is by its cells alone."""
    known = table.known(name)
    values, missing = known.unique(), len(table.cells) - len(known)
    card: dict[str, Any] = {"kind": "nominal"}
    change = []
    if kind == "nominal":
        why = f"{len(values)} levels"
    elif len(values) <= FEW:
        why = f"{len(values)} different numbers, each a level" if len(values) > 1 else "one number alone"
        if len(values) > 2 and not missing:
            change.append(f"In order, where the config says `from: data`: {{kind: {kind}}}")
    else:
        numbers = values.astype(np.float64)
        card = {"kind": kind, "bins": {"quantiles": QUANTILES}}
        span = f"from {_written(numbers.min())} to {_written(numbers.max())}"
        why = f"{len(values)} different numbers {span}, cut into bins of about as many rows each"
        change.append(f"Equal widths: bins: {{count: {QUANTILES}}}")
        change.append(f"Edges of your own: bins: {{edges: [{_edges(numbers)}]}}")
    if missing:
        card["if_missing"] = "level"
        share = percent_words(missing / len(table.cells))
        why += f"; {missing:,} cells ({share}) are missing: a level of their own"
        change.append(f"Filled in: if_missing: {'mode' if card['kind'] == 'nominal' else 'median'}")
        change.append("Rows left out: no if_missing, and missing_rows: drop")
    return ColumnGuess(name, ColumnCard.model_validate(card), why, ". ".join(change))


def _edges(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    """Return two round numbers within, as an example of edges."""
    low, high = float(numbers.min()), float(numbers.max())
    found = [float(f"{low + (high - low) * part:.1g}") for part in (1 / 3, 2 / 3)]
    return ", ".join(edge_word(edge) for edge in dict.fromkeys(found))


def _written(number: float) -> str:
    return edge_word(float(f"{number:.6g}"))


def entry(card: ColumnCard) -> dict[str, object]:
    """Return a column's entry as plain data, without defaults but for the kind."""
    plain = card.model_dump(mode="json", exclude_defaults=True)
    return {"kind": card.kind, **plain}


def _short(card: ColumnCard) -> str:
    return flow(entry(card)) if len(entry(card)) > 1 else card.kind


def flow(value: object) -> str:
    """Return plain data as YAML on one line.

    >>> print(flow({"kind": "real", "bins": {"edges": [25.0, 0.5]}}), flow(["", "NA", "no"]))
    {kind: real, bins: {edges: [25, 0.5]}} ['', NA, 'no']
    """
    from fairbench_cli.base.strict_yaml import yaml_word

    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_word(str(key))}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return yaml_word(value) if isinstance(value, str) else str(value)
