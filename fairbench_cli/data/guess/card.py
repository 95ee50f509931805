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
from fairbench_cli.data.checks.columns import LEVELS, WEIGHTS, check_columns, fix_for_weights
from fairbench_cli.data.checks.copies import SOME, find_later_rows, find_repeated_people
from fairbench_cli.data.checks.leaks import describe_leak, find_leaks
from fairbench_cli.data.checks.rows import RawRows
from fairbench_cli.data.columns import find_kind, format_edge
from fairbench_cli.data.guess.read_raw import RawCells
from fairbench_cli.data.guess.roles import GivenRoles, Group
from fairbench_cli.data.recognise import is_date, named_like_identifiers, named_like_survey_weights
from fairbench_cli.data.table import Floats

FEW = 10  # different numbers that are kept as levels
QUANTILES = 5
DATES = 0.95  # of the cells
MOSTLY_LOW = 0.95  # of the rows
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
    kinds = {name: find_kind(table.present_cells(name)) for name in table.cells.columns}
    role_guesses = {
        group.column: _guess_for_role(table, group, "protected", kinds) for group in roles.attributes
    }
    role_guesses[roles.label.column] = _guess_for_role(table, roles.label, "the label", kinds)
    out = _find_left_out(_rows_to_check(table, roles, kinds), kinds)
    for name, doubt in table.doubts.items():
        if name in out or table.cells[name].nunique() > LEVELS:
            out[name] = (f"{doubt}", "To use it, as numbers with `decimal` or recode, or as texts")
    guesses = []
    for name, kind in kinds.items():
        guess = _guess_by_cells(table, name, kind)
        if name in role_guesses:
            guesses.append(role_guesses[name])
        elif name in out:
            why, when = out[name]
            guesses.append(ColumnGuess(name, {"kind": "drop"}, why, f"{when}: {_format_entry(guess.entry)}"))
        else:
            guesses.append(guess)
    return guesses


def _find_left_out(rows: RawRows, kinds: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the columns to leave out: why, and when they may be used."""
    findings = {finding.column: finding.what for finding in check_columns(rows)}
    distinct = rows.without(find_later_rows(rows.cells, rows.gaps))
    leaking = {leak.column: leak for leak in find_leaks(distinct)}
    repeated = {people.column: people for people in find_repeated_people(rows.file, rows.gaps)}
    reasons = {}
    for name in kinds:
        cells = rows.cells[name]
        use = "To use it"
        values = cells.nunique()
        if name in leaking:
            reasons[name] = describe_leak(rows, leaking[name]), "If it is known before the outcome"
        elif pd.Series(map(is_date, cells[~cells.isin(rows.gaps)]), dtype=float).mean() >= DATES:
            reasons[name] = "dates", "Make a number of it in the file (a year, an age); as it is"
        elif name in findings:
            suffix = ", perhaps an identifier"
            if "one to one" in findings[name] or values == 1:
                suffix = ""
            reasons[name] = findings[name] + suffix, use
        elif kinds[name] != "nominal" and named_like_survey_weights(name):
            reasons[name] = (
                f"{WEIGHTS}: {fix_for_weights(name, cells[~cells.isin(rows.gaps)], 'leave it out')}",
                use,
            )
        elif name in repeated:
            people = repeated[name]
            reasons[name] = f"names {people.people:,} in {people.rows:,} rows, which belong together", use
        elif named_like_identifiers(name) and values > SOME * len(cells):
            reasons[name] = f"{values} different values, and named like an identifier", use
        elif kinds[name] == "nominal" and values > LEVELS:
            reasons[name] = f"{values} different texts are very many levels", "To use it, with recode"
    return reasons


def _rows_to_check(table: RawCells, roles: GivenRoles, kinds: Mapping[str, str]) -> RawRows:
    """Return the rows that the checks of a card look at: those with a label and groups."""
    label = roles.label.column
    attributes = [group.column for group in roles.attributes]
    has_roles = table.has_values(label, *attributes)
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
    marked = table.cells.assign(**{label: outcome})[has_roles].reset_index(drop=True)
    return RawRows(card, marked, np.ones(len(marked), dtype=bool), {}, table.cells)


def _guess_for_role(table: RawCells, group: Group, role: str, kinds: Mapping[str, str]) -> ColumnGuess:
    """Return the guess for the column of the label or of a protected attribute."""
    present = table.present_cells(group.column)
    missing = len(table.cells) - len(present)
    left_out = ""
    if missing:
        left_out = f"; {missing:,} rows have none and are left out"
    if group.cut is None:
        return ColumnGuess(group.column, NOMINAL, f"{role}, {present.nunique()} levels{left_out}")
    entry = {"kind": kinds[group.column], "bins": group.cut.model_dump(mode="json", exclude_defaults=True)}
    why = f"{role}, cut in two: the number itself is not used{left_out}"
    change = "With other edges, name other levels under label or protected"
    return ColumnGuess(group.column, entry, why, change)


def _guess_by_cells(table: RawCells, name: str, kind: str) -> ColumnGuess:
    """Return the guess for a column by its cells alone."""
    present = table.present_cells(name)
    values = present.unique()
    missing = len(table.cells) - len(present)
    entry = dict(NOMINAL)
    change = []
    if kind == "nominal":
        why = f"{len(values)} levels"
    elif len(values) <= FEW:
        why = "one number alone"
        if len(values) > 1:
            why = f"{len(values)} different numbers, each a level"
        if len(values) > 2 and not missing:
            change.append(f"In order, where the config says `from: data`: {{kind: {kind}}}")
    else:
        numbers = values.astype(np.float64)
        entry = {"kind": kind, "bins": {"quantiles": QUANTILES}}
        span = f"from {_format_number(numbers.min())} to {_format_number(numbers.max())}"
        why = f"{len(values)} different numbers {span}, cut into bins of about as many rows each"
        change.append(f"Equal widths: bins: {{count: {QUANTILES}}}")
        change.append(
            f"Edges of your own: bins: {{edges: [{_example_edges(present.to_numpy().astype(np.float64))}]}}"
        )
        if kind == "integer" and len(values) == len(table.cells):
            change.append("No two rows have the same: does it only name the row? Then: drop")
    if missing:
        entry["if_missing"] = "level"
        share = format_percent(missing / len(table.cells))
        why += f"; {missing:,} cells ({share}) are missing: a level of their own"
        change.append(f"Filled in: if_missing: {'mode' if entry['kind'] == 'nominal' else 'median'}")
        change.append("Rows left out: no if_missing, and missing_rows: drop")
    return ColumnGuess(name, entry, why, ". ".join(change))


def _example_edges(numbers: Floats) -> str:
    """Return round numbers within, as an example of edges that leave rows on both sides of each.

    Where nearly all rows are below the first, those are the median and the median of what is above it.

    >>> columns = [0.0, 90], [1950.0, 1999], [0.0] * 90 + [5, 10, 999]
    >>> [_example_edges(np.array(numbers)) for numbers in columns]
    ['30, 60', '1970, 1980', '0, 10']
    """
    low = float(numbers.min())
    high = float(numbers.max())
    edges: list[float] = []
    for digits in range(1, 17):
        edges = [float(f"{low + (high - low) * share:.{digits}g}") for share in (1 / 3, 2 / 3)]
        if low <= edges[0] and edges[1] < high:
            break
    if (numbers <= edges[0]).mean() > MOSTLY_LOW:
        middle = float(np.median(numbers))
        edges = [edge for edge in (middle, float(np.median(numbers[numbers > middle]))) if edge < high]
    return ", ".join(format_edge(edge) for edge in dict.fromkeys(edges))


def _format_number(number: float) -> str:
    return format_edge(float(f"{number:.6g}"))


def _format_entry(entry: Mapping[str, Any]) -> str:
    """Return a column's entry as YAML: its kind alone, or a mapping on one line."""
    if len(entry) > 1:
        return format_yaml(entry)
    return str(entry["kind"])


def format_yaml(value: object) -> str:
    """Return plain data as YAML on one line.

    >>> print(format_yaml({"kind": "real", "bins": {"edges": [25.0, 0.5]}}), format_yaml(["", "NA", "no"]))
    {kind: real, bins: {edges: [25, 0.5]}} ['', NA, 'no']
    """
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(
                f"{yaml_word(str(key))}: {format_yaml(inner_value)}" for key, inner_value in value.items()
            )
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(format_yaml, value)) + "]"
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


def format_card(guessed: Guessed) -> str:
    """Return the card as YAML with comments."""
    table = guessed.table
    label = guessed.roles.label
    attributes = guessed.roles.attributes
    lines = [
        f"# A card that `fairbench init` guessed from {len(table.cells):,} rows. Go through it: only you",
        "# know what the columns mean.",
        f"name: {format_yaml(guessed.name)}",
        f"files: {format_yaml([guessed.file])}",
    ]
    lines += _layout_lines(table)
    if table.gaps:
        how = "keep"
        why = "leave out the rows with a missing cell in a column that says no `if_missing`"
        if table.has_values(label.column, *(group.column for group in attributes)).all():
            why = f"or drop: {why}"
        else:
            how = "drop"
            why = f"{why}: the label's and the groups' here"
        lines += _comment("cells that mean a missing value; a text that means something: remove it here")
        lines.append(f"missing: {format_yaml(table.gaps)}")
        lines += _comment(why)
        lines.append(f"missing_rows: {how}")
    if table.counts is not None:
        why = "rows are a cross of all other columns, so each stands for as many people as this one counts; "
        lines += _comment(f"{why}if not, list it under `columns`")
        lines.append(f"counts: {format_yaml(table.counts)}")
    if table.copies:
        why = (
            f"{table.copies:,} more rows are copies of others, more than people are alike by chance; they are"
        )
        lines += _comment(f"{why} left out, or models would be tested on rows that they were trained on")
        lines.append("copies: drop")
    if "" in table.cells.columns:
        lines += _comment("of columns not listed here: one has no name")
        lines.append("other_columns: drop")
    lines.append("columns:")
    for column in guessed.columns:
        comment = column.why
        if column.change:
            comment += f". {column.change}"
        comment = _one_line(comment)
        line = f"  {yaml_word(column.name)}: {_format_entry(column.entry)}"
        with_comment = f"{line}  # {comment}"
        if len(with_comment) <= WIDTH:
            lines.append(with_comment)
        else:
            lines += _comment(comment, "  ")
            lines.append(line)
    lines += _comment(_describe_label(guessed))
    label_entry = {"column": label.column, "favourable": label.levels[0]}
    if label.called:
        label_entry["called"] = label.called
    lines.append(f"label: {format_yaml(label_entry)}")
    names = "`called: {deprived: women, favoured: men}` names both in answers"
    lines += _comment(
        f"favoured: all other levels, unless listed; {names}; `bias` would name a proxy for β to act on"
    )
    lines.append("protected:")
    for group in attributes:
        lines += _comment(_describe_groups(guessed, group), "  ")
        entry: dict[str, Any] = {"deprived": list(group.levels)}
        if group.called:
            entry["called"] = {"deprived": group.called, "favoured": group.others_called}
        lines.append(f"  {yaml_word(group.column)}: {format_yaml(entry)}")
    return "\n".join(lines) + "\n"


def format_config(guessed: Guessed, card: str) -> str:
    """Return a config that runs on the card at a path relative to it."""
    names = [group.column for group in guessed.roles.attributes]
    split_by = ""
    for people in find_repeated_people(guessed.table.cells, guessed.table.gaps):
        split_by = split_by or f", split_by: {yaml_word(people.column)}"
    lines = [
        "# Techniques compared on random splits of the real rows. Every key: docs/config.md",
        f"name: {format_yaml(guessed.name)}",
        "seed: 1",
        "# Random splits; 30 make narrower intervals. Another run computes only what is new.",
        "repeats: 10",
        "# The run says how often its own words are wrong, of models that differ by chance alone.",
        "controls: true",
        "datasets:",
        f"  - {yaml_word(card)}: {{attribute: {yaml_word(names[0])}}}",
        f"sample: {{from: data, train_fraction: 0.7{split_by}}}",
        "# In its place, training sets drawn from a Bayesian network of the data, "
        "more biased by β, tested on",
        "# the real rows:",
        "# sample: {from: network, beta: [0, 0.5, 1], require_arc: true}",
        "# `fairbench list interventions` and `fairbench list classifiers` show what there is.",
        "interventions:",
        "  - none",
        "  - massaging",
        "  - reweighing",
        "  - preferential-sampling",
        "classifiers: [c45, logistic-regression]",
    ]
    if len(names) > 1:
        comment = "What results are about; techniques work on one attribute, here the first one."
        lines += _comment(f"{comment} An intersection: {format_yaml('×'.join(names[:2]))}")
        lines.append(f"attributes: {format_yaml(names)}")
    return "\n".join(lines) + "\n"


def _layout_lines(table: RawCells) -> list[str]:
    layout = table.layout
    lines = []
    if layout.format != "csv":
        lines.append(f"format: {layout.format}")
    if layout.separator != ",":
        lines.append(f"separator: {json.dumps(layout.separator)}")
    if layout.encoding is not None:
        lines.append(f"encoding: {layout.encoding}")
    if not layout.header:
        lines += _comment("the first row is data; `columns` names every column in the file's order")
        lines.append("header: false")
    return lines


def _describe_label(guessed: Guessed) -> str:
    label = guessed.roles.label
    members = label.members(guessed.table)
    has_label = guessed.table.has_values(label.column)
    values = guessed.table.cells[label.column][has_label].nunique()
    if label.cut or values == 2:
        suffix = ""
    else:
        suffix = f"; the other {values - 1} values are unfavourable"
    return f"{format_percent(members[has_label].mean())} of the rows have the favourable outcome{suffix}"


def _describe_groups(guessed: Guessed, group: Group) -> str:
    deprived = group.members(guessed.table)
    has_both = guessed.table.has_values(group.column, guessed.roles.label.column)
    good = guessed.roles.label.members(guessed.table)
    sides = (deprived & has_both, ~deprived & has_both)
    rates = [float(np.mean(good[side])) if side.any() else float("nan") for side in sides]
    deprived_words, other_words = (
        f"{side.sum():,} rows, {format_percent(rate)} favourable"
        for side, rate in zip(sides, rates, strict=True)
    )
    doubt = ""
    if rates[0] > rates[1]:
        doubt = ": are these the deprived?"
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
