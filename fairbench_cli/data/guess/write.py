"""A card and a config for a table, with comments that say why and how to change them."""

import json
import textwrap
from dataclasses import dataclass

import numpy as np

from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.base.text import percent_words, printable
from fairbench_cli.data.guess.columns import ColumnGuess, entry, flow
from fairbench_cli.data.guess.layout import FileLayout
from fairbench_cli.data.guess.roles import GivenRoles, Group, RawCells

WIDTH = 100


@dataclass(frozen=True, eq=False)
class Guessed:
    """A table and what it was taken for.

    Parameters
    ----------
    name : str
        Of the card and of the config.
    file : str
        The data file, as the card names it.
    layout : FileLayout
        How the file is laid out.
    decimal_comma : bool
        Whether numbers are written with a comma.
    table : RawCells
        Decimals after a point.
    roles : GivenRoles
        Label and protected attributes.
    columns : list of ColumnGuess
        In the file's order.
    counts : str or None
        The column that counts the people of each row; the table has a row for each of them.
    """

    name: str
    file: str
    layout: FileLayout
    decimal_comma: bool
    table: RawCells
    roles: GivenRoles
    columns: list[ColumnGuess]
    counts: str | None = None

    @property
    def drops_rows(self) -> bool:
        """Whether some rows have no label or no group, and must be left out."""
        given = [group.column for group in (self.roles.label, *self.roles.attributes)]
        return not self.table.filled(*given).all()


def card_text(guessed: Guessed) -> str:
    """Return the card as YAML with comments."""
    rows = len(guessed.table.cells)
    lines = [
        f"# A card that `fairbench init` guessed from {rows:,} rows. Go through it: only you",
        "# know what the columns mean.",
        f"name: {flow(guessed.name)}",
        f"files: {flow([guessed.file])}",
        *_layout_lines(guessed),
    ]
    if guessed.table.gaps:
        how = "drop" if guessed.drops_rows else "keep"
        why = "or drop: leave out the rows with a missing cell in a column that says no `if_missing`"
        if guessed.drops_rows:
            why = "leave out the rows with a missing cell in a column that says no `if_missing`: the label's "
            why += "and the groups' here"
        lines += _comment("cells that mean a missing value; a text that means something: remove it here")
        lines += [f"missing: {flow(guessed.table.gaps)}", *_comment(why), f"missing_rows: {how}"]
    if guessed.counts is not None:
        why = "rows are a cross of all other columns, so each stands for as many people as this one counts; "
        lines += [*_comment(f"{why}if not, list it under `columns`"), f"counts: {flow(guessed.counts)}"]
    if "" in guessed.table.cells.columns:
        lines += [*_comment("of columns not listed here: one has no name"), "other_columns: drop"]
    lines.append("columns:")
    for column in guessed.columns:
        said = _one_line(column.why + (f". {column.change}" if column.change else ""))
        written = entry(column.card)
        value = flow(written) if len(written) > 1 else column.card.kind
        line = f"  {yaml_word(column.name)}: {value}"
        short = f"{line}  # {said}"
        lines += [short] if len(short) <= WIDTH else [*_comment(said, "  "), line]
    label = guessed.roles.label
    lines += _comment(_about_label(guessed))
    lines.append(f"label: {flow({'column': label.column, 'favourable': label.levels[0]})}")
    lines += _comment("favoured: all other levels, unless listed; `bias` would name a proxy for β to act on")
    lines.append("protected:")
    for group in guessed.roles.attributes:
        lines += _comment(_about_groups(guessed, group), "  ")
        lines.append(f"  {yaml_word(group.column)}: {flow({'deprived': list(group.levels)})}")
    return "\n".join(lines) + "\n"


def config_text(guessed: Guessed, card: str) -> str:
    """Return a config that runs on the card at a path relative to it."""
    first = yaml_word(guessed.roles.attributes[0].column)
    several = len(guessed.roles.attributes) > 1
    listed = flow([group.column for group in guessed.roles.attributes])
    attributes = (
        [
            *_comment(
                "What results are about; techniques work on one attribute, here the first one. An "
                f"intersection: {flow('×'.join(group.column for group in guessed.roles.attributes[:2]))}"
            ),
            f"attributes: {listed}",
        ]
        if several
        else []
    )
    return "\n".join(
        [
            "# Techniques compared on random splits of the real rows. Every key: docs/config.md",
            f"name: {flow(guessed.name)}",
            "seed: 1",
            *_comment("Random splits; 30 make narrower intervals. Another run computes only what is new."),
            "repeats: 10",
            "datasets:",
            f"  - {yaml_word(card)}: {{attribute: {first}}}",
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
            *attributes,
            "",
        ]
    )


def _layout_lines(guessed: Guessed) -> list[str]:
    layout = guessed.layout
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
    if guessed.decimal_comma:
        lines.append('decimal: ","')
    return lines


def _about_label(guessed: Guessed) -> str:
    label = guessed.roles.label
    members = label.members(guessed.table)
    there = guessed.table.filled(label.column)
    values = guessed.table.cells[label.column][there].nunique()
    rest = "" if label.cut or values == 2 else f"; the other {values - 1} values are unfavourable"
    return f"{percent_words(members[there].mean())} of the rows have the favourable outcome{rest}"


def _about_groups(guessed: Guessed, group: Group) -> str:
    deprived = group.members(guessed.table)
    known = guessed.table.filled(group.column, guessed.roles.label.column)
    good = guessed.roles.label.members(guessed.table)
    sides = (deprived & known, ~deprived & known)
    rates = [float(np.mean(good[side])) if side.any() else float("nan") for side in sides]
    counts = [
        f"{side.sum():,} rows, {percent_words(rate)} favourable"
        for side, rate in zip(sides, rates, strict=True)
    ]
    said = f"deprived: {counts[0]}; the others: {counts[1]}"
    return said + (": are these the deprived?" if rates[0] > rates[1] else "")


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
