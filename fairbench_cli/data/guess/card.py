"""A card and a config for a table that has none: what its columns are, why, and how to change that."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairbench_cli.base.safe_text import format_percent, printable
from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import Card
from fairbench_cli.data.checks.columns import LEVELS, SOME, column_findings
from fairbench_cli.data.checks.leaks import leak_words, leaks
from fairbench_cli.data.checks.rows import RawRows
from fairbench_cli.data.columns import edge_word, kind_of
from fairbench_cli.data.guess.cells import RawCells
from fairbench_cli.data.guess.roles import GivenRoles, Group
from fairbench_cli.data.recognise import is_date, named_like_identifiers

FEW = 10  # different numbers that are kept as levels
QUANTILES = 5
DATES = 0.95  # of the cells
NOMINAL: dict[str, Any] = {"kind": "nominal"}  # what a card says of a column of categories
WIDTH = 100  # of a line of the card


@dataclass(frozen=True)
class ColumnGuess:
    """What a column is taken for.

    Parameters
    ----------
    name : str
        Its name.
    entry : dict
        What the card says of it.
    why : str
        What that follows from.
    change : str
        How to write it otherwise; empty where there is nothing else.
    """

    name: str
    entry: dict[str, Any]
    why: str
    change: str = ""


def guess_columns(table: RawCells, roles: GivenRoles) -> list[ColumnGuess]:
    """Return the guess for each column of a table, in order.

    Parameters
    ----------
    table : RawCells
        Decimals after a point.
    roles : GivenRoles
        Label and protected attributes.
    """
    kinds = {name: kind_of(table.known(name)) for name in table.cells.columns}
    given = {group.column: _given(table, group, "protected", kinds) for group in roles.attributes}
    given[roles.label.column] = _given(table, roles.label, "the label", kinds)
    out = _left_out(_raw(table, roles, kinds), kinds)
    guesses = []
    for name, kind in kinds.items():
        plain = _plain(table, name, kind)
        if name in given:
            guesses.append(given[name])
        elif name in out:
            why, when = out[name]
            guesses.append(ColumnGuess(name, {"kind": "drop"}, why, f"{when}: {_short(plain.entry)}"))
        else:
            guesses.append(plain)
    return guesses


def _left_out(rows: RawRows, kinds: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the columns to leave out: why, and when they may be used."""
    findings = {finding.column: finding.what for finding in column_findings(rows)}
    leaking = {leak.column: leak for leak in leaks(rows)}
    found = {}
    for name in kinds:
        cells = rows.cells[name]
        use = "To use it"
        values = cells.nunique()
        if name in leaking:
            found[name] = leak_words(rows, leaking[name]), "If it is known before the outcome"
        elif pd.Series(map(is_date, cells[~cells.isin(rows.gaps)]), dtype=float).mean() >= DATES:
            found[name] = "dates", "Make a number of it in the file (a year, an age); as it is"
        elif name in findings:
            if "one to one" in findings[name] or values == 1:
                known = ""
            else:
                known = ", perhaps an identifier"
            found[name] = findings[name] + known, use
        elif named_like_identifiers(name) and values > SOME * len(cells):
            found[name] = f"{values} different values, and named like an identifier", use
        elif kinds[name] == "nominal" and values > LEVELS:
            found[name] = f"{values} different texts are very many levels", "To use it, with recode"
    return found


def _raw(table: RawCells, roles: GivenRoles, kinds: Mapping[str, str]) -> RawRows:
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
    return RawRows(card, marked, np.ones(len(marked), dtype=bool), {}, table.cells)


def _given(table: RawCells, group: Group, what: str, kinds: Mapping[str, str]) -> ColumnGuess:
    """Return the guess for the column of the label or of a protected attribute."""
    known = table.known(group.column)
    missing = len(table.cells) - len(known)
    if missing:
        left_out = f"; {missing:,} rows have none and are left out"
    else:
        left_out = ""
    if group.cut is None:
        return ColumnGuess(group.column, NOMINAL, f"{what}, {known.nunique()} levels{left_out}")
    entry = {"kind": kinds[group.column], "bins": group.cut.model_dump(mode="json", exclude_defaults=True)}
    why = f"{what}, cut in two: the number itself is not used{left_out}"
    change = "With other edges, name other levels under label or protected"
    return ColumnGuess(group.column, entry, why, change)


def _plain(table: RawCells, name: str, kind: str) -> ColumnGuess:
    """Return the guess for a column by its cells alone."""
    known = table.known(name)
    values = known.unique()
    missing = len(table.cells) - len(known)
    entry = dict(NOMINAL)
    change = []
    if kind == "nominal":
        why = f"{len(values)} levels"
    elif len(values) <= FEW:
        if len(values) > 1:
            why = f"{len(values)} different numbers, each a level"
        else:
            why = "one number alone"
        if len(values) > 2 and not missing:
            change.append(f"In order, where the config says `from: data`: {{kind: {kind}}}")
    else:
        numbers = values.astype(np.float64)
        entry = {"kind": kind, "bins": {"quantiles": QUANTILES}}
        span = f"from {_written(numbers.min())} to {_written(numbers.max())}"
        why = f"{len(values)} different numbers {span}, cut into bins of about as many rows each"
        change.append(f"Equal widths: bins: {{count: {QUANTILES}}}")
        change.append(f"Edges of your own: bins: {{edges: [{_edges(numbers)}]}}")
    if missing:
        entry["if_missing"] = "level"
        share = format_percent(missing / len(table.cells))
        why += f"; {missing:,} cells ({share}) are missing: a level of their own"
        change.append(f"Filled in: if_missing: {'mode' if entry['kind'] == 'nominal' else 'median'}")
        change.append("Rows left out: no if_missing, and missing_rows: drop")
    return ColumnGuess(name, entry, why, ". ".join(change))


def _edges(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    """Return two round numbers within, as an example of edges."""
    low = float(numbers.min())
    high = float(numbers.max())
    found = [float(f"{low + (high - low) * part:.1g}") for part in (1 / 3, 2 / 3)]
    return ", ".join(edge_word(edge) for edge in dict.fromkeys(found))


def _written(number: float) -> str:
    return edge_word(float(f"{number:.6g}"))


def _short(entry: Mapping[str, Any]) -> str:
    """Return a column's entry as YAML: its kind alone, or a mapping on one line."""
    if len(entry) > 1:
        return flow(entry)
    return str(entry["kind"])


def flow(value: object) -> str:
    """Return plain data as YAML on one line.

    >>> print(flow({"kind": "real", "bins": {"edges": [25.0, 0.5]}}), flow(["", "NA", "no"]))
    {kind: real, bins: {edges: [25, 0.5]}} ['', NA, 'no']
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_word(str(key))}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value)
    if isinstance(value, str):
        return yaml_word(value)
    return str(value)


@dataclass(frozen=True, eq=False)
class Guessed:
    """A table and what it was taken for.

    Parameters
    ----------
    name : str
        Of the card and of the config.
    file : str
        The data file, as the card names it.
    table : RawCells
        Its cells.
    roles : GivenRoles
        Label and protected attributes.
    columns : list of ColumnGuess
        In the file's order.
    """

    name: str
    file: str
    table: RawCells
    roles: GivenRoles
    columns: list[ColumnGuess]


def card_text(guessed: Guessed) -> str:
    """Return the card as YAML with comments."""
    table = guessed.table
    label = guessed.roles.label
    attributes = guessed.roles.attributes
    lines = [
        f"# A card that `fairbench init` guessed from {len(table.cells):,} rows. Go through it: only you",
        "# know what the columns mean.",
        f"name: {flow(guessed.name)}",
        f"files: {flow([guessed.file])}",
        *_layout_lines(table),
    ]
    if table.gaps:
        how = "keep"
        why = "leave out the rows with a missing cell in a column that says no `if_missing`"
        if table.filled(label.column, *(group.column for group in attributes)).all():
            why = f"or drop: {why}"
        else:
            how = "drop"
            why = f"{why}: the label's and the groups' here"
        lines += _comment("cells that mean a missing value; a text that means something: remove it here")
        lines += [f"missing: {flow(table.gaps)}", *_comment(why), f"missing_rows: {how}"]
    if table.counts is not None:
        why = "rows are a cross of all other columns, so each stands for as many people as this one counts; "
        lines += [*_comment(f"{why}if not, list it under `columns`"), f"counts: {flow(table.counts)}"]
    if "" in table.cells.columns:
        lines += [*_comment("of columns not listed here: one has no name"), "other_columns: drop"]
    lines.append("columns:")
    for column in guessed.columns:
        said = _one_line(column.why + (f". {column.change}" if column.change else ""))
        line = f"  {yaml_word(column.name)}: {_short(column.entry)}"
        short = f"{line}  # {said}"
        if len(short) <= WIDTH:
            lines += [short]
        else:
            lines += [*_comment(said, "  "), line]
    lines += _comment(_about_label(guessed))
    lines.append(f"label: {flow({'column': label.column, 'favourable': label.levels[0]})}")
    lines += _comment("favoured: all other levels, unless listed; `bias` would name a proxy for β to act on")
    lines.append("protected:")
    for group in attributes:
        lines += _comment(_about_groups(guessed, group), "  ")
        lines.append(f"  {yaml_word(group.column)}: {flow({'deprived': list(group.levels)})}")
    return "\n".join(lines) + "\n"


def config_text(guessed: Guessed, card: str) -> str:
    """Return a config that runs on the card at a path relative to it."""
    names = [group.column for group in guessed.roles.attributes]
    lines = [
        "# Techniques compared on random splits of the real rows. Every key: docs/config.md",
        f"name: {flow(guessed.name)}",
        "seed: 1",
        *_comment("Random splits; 30 make narrower intervals. Another run computes only what is new."),
        "repeats: 10",
        "datasets:",
        f"  - {yaml_word(card)}: {{attribute: {yaml_word(names[0])}}}",
        "sample: {from: data, train_fraction: 0.7}",
        *_comment(
            "In its place, training sets drawn from a Bayesian network of the data, more biased by β, "
            "tested on the real rows:"
        ),
        "# sample: {from: network, beta: [0, 0.5, 1], require_arc: true}",
        *_comment("`fairbench list interventions` and `fairbench list classifiers` show what there is."),
        "interventions:",
        "  - none",
        "  - massaging",
        "  - reweighing",
        "  - preferential-sampling",
        "classifiers: [c45, logistic-regression]",
    ]
    if len(names) > 1:
        what = "What results are about; techniques work on one attribute, here the first one."
        lines += _comment(f"{what} An intersection: {flow('×'.join(names[:2]))}")
        lines.append(f"attributes: {flow(names)}")
    return "\n".join(lines) + "\n"


def _layout_lines(table: RawCells) -> list[str]:
    layout = table.layout
    lines = []
    if layout.format != "csv":
        lines.append(f"format: {layout.format}")
    if layout.separator != ",":
        lines.append(f"separator: {json.dumps(layout.separator)}")
    if not layout.header:
        lines += [
            *_comment("the first row is data; `columns` names every column in the file's order"),
            "header: false",
        ]
    if table.decimal_comma:
        lines.append('decimal: ","')
    return lines


def _about_label(guessed: Guessed) -> str:
    label = guessed.roles.label
    members = label.members(guessed.table)
    there = guessed.table.filled(label.column)
    values = guessed.table.cells[label.column][there].nunique()
    if label.cut or values == 2:
        rest = ""
    else:
        rest = f"; the other {values - 1} values are unfavourable"
    return f"{format_percent(members[there].mean())} of the rows have the favourable outcome{rest}"


def _about_groups(guessed: Guessed, group: Group) -> str:
    deprived = group.members(guessed.table)
    known = guessed.table.filled(group.column, guessed.roles.label.column)
    good = guessed.roles.label.members(guessed.table)
    sides = (deprived & known, ~deprived & known)
    rates = [float(np.mean(good[side])) if side.any() else float("nan") for side in sides]
    deprived_words, other_words = (
        f"{side.sum():,} rows, {format_percent(rate)} favourable"
        for side, rate in zip(sides, rates, strict=True)
    )
    if rates[0] > rates[1]:
        doubt = ": are these the deprived?"
    else:
        doubt = ""
    return f"deprived: {deprived_words}; the others: {other_words}{doubt}"


def _one_line(text: str) -> str:
    """Return a text without line ends and other characters that YAML does not take in a comment."""
    return printable(" ".join(text.split()))


def _comment(text: str, indent: str = "") -> list[str]:
    begin = f"{indent}# "
    lines = textwrap.wrap(
        _one_line(text).replace(" %", "\u00a0%"),
        WIDTH,
        initial_indent=begin,
        subsequent_indent=begin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0%", " %") for line in lines]
