"""From a card and its files to a coded table."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fairbench_cli.data.bins import bin_numbers, cap_numbers
from fairbench_cli.data.card import Card, ColumnCard
from fairbench_cli.data.files import Cells, read_cells
from fairbench_cli.data.locate import Found
from fairbench_cli.data.table import Column, Roles, Table
from fairbench_cli.errors import suggest, user_error


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set: its card, its rows, and the sha256 of each file."""

    card: Card
    table: Table
    sha256: dict[str, str]

    def roles(self, attribute: str) -> Roles:
        """Tell label and groups, checking them against the data.

        Raises
        ------
        UserError
            When a named value is not in the data, or a level is in neither group or in both.
        """
        levels = self.table.columns[self.table.index(attribute)].levels
        roles = self.card.roles(attribute, levels)
        bias = self.card.bias_target(roles)
        _check_levels(self, roles.label, (roles.favourable,))
        _check_levels(self, roles.attribute, (*roles.deprived, *roles.favoured))
        _check_levels(self, bias.column, (*bias.deprived, *bias.favoured))
        both = set(roles.deprived) & set(roles.favoured)
        neither = set(levels) - set(roles.deprived) - set(roles.favoured)
        if both or neither:
            which = "both groups" if both else "neither group"
            raise user_error(
                f'"{min(both or neither)}" of {attribute} is in {which}',
                "let `deprived` and `favoured` share out the levels, or `keep` fewer rows in the card",
                self.card.name,
            )
        return roles


def load(card: Card, found: Found) -> Dataset:
    """Read the files that were found for a card into a coded table.

    Raises
    ------
    UserError
        When the files do not fit the card; the message names file, column and value.
    """
    cells = _select(card, [(path, _read(card, path)) for path in found.paths])
    frame = cells.frame
    for name, values in card.keep.items():
        frame = frame[frame[name].isin(values)]
    if card.missing_rows == "drop":
        frame = frame[~frame.isin(list(card.missing)).any(axis=1)]
    if frame.empty:
        raise user_error("no rows are left", "check `keep` and `missing_rows`", f"card {card.name}")
    columns, codes = [], []
    for name in frame.columns:
        try:
            column, code = _encode(
                frame[name], card.columns.get(name, ColumnCard()), cells.declared.get(name)
            )
        except ValueError as error:
            raise user_error(str(error), "correct the card or the file", f"card {card.name}") from None
        columns.append(column)
        codes.append(code)
    table = Table(tuple(columns), np.asfortranarray(np.column_stack(codes).astype(np.int16)))
    return Dataset(card, table, found.sha256)


def _read(card: Card, path: Path) -> Cells:
    return read_cells(
        path, card.format, header=card.header, separator=card.separator, comment=card.comment
    )


def _select(card: Card, parts: list[tuple[Path, Cells]]) -> Cells:
    """Join the files and keep the card's columns, in the card's order where it says which."""
    frames = []
    for path, part in parts:
        frame = part.frame
        if not card.header and card.format == "csv":
            if len(frame.columns) != len(card.columns):
                raise user_error(
                    f"{len(frame.columns)} columns, but the card names {len(card.columns)}",
                    "without a header, the card must name every column in file order",
                    str(path),
                )
            frame = frame.set_axis(list(card.columns), axis=1)
        # A name given twice by the file (COMPAS has two) means its first column.
        frames.append(frame.loc[:, ~frame.columns.duplicated()])
    frame = pd.concat(frames, ignore_index=True)
    wanted = {*card.columns, *card.keep, *card.protected, card.label.column}
    wanted |= {target.bias.column for target in card.protected.values() if target.bias}
    for name in sorted(wanted - set(frame.columns)):
        raise user_error(
            f'card {card.name} names a column "{name}" that the file does not have',
            suggest(name, map(str, frame.columns)),
            str(parts[0][0]),
        )
    dropped = {name for name, column in card.columns.items() if column.kind == "drop"}
    order = list(card.columns) if card.other_columns == "drop" else list(frame.columns)
    for name in sorted((wanted - set(card.keep)) & (dropped | (set(frame.columns) - set(order)))):
        if name not in card.columns or name in card.protected or name == card.label.column:
            raise user_error(
                f'column "{name}" is needed but dropped', "list it under `columns`", f"card {card.name}"
            )
    frame = frame[[name for name in order if name not in dropped]]
    for name, column in card.columns.items():
        if column.recode and name in frame:
            frame = frame.assign(**{name: frame[name].replace(column.recode)})
    return Cells(frame, parts[0][1].declared)


def _encode(
    cells: "pd.Series[str]", card: ColumnCard, declared: tuple[str, ...] | None
) -> tuple[Column, np.ndarray[tuple[int], np.dtype[np.int16]]]:
    """Turn a column of text into level codes; `ValueError` says what does not fit."""
    name = str(cells.name)
    if card.kind in ("integer", "real"):
        numbers = pd.to_numeric(cells, errors="coerce")
        if numbers.isna().any():
            bad = cells[numbers.isna()].iloc[0]
            raise ValueError(f'column "{name}" should hold numbers but has "{bad}"')
        cells = (
            bin_numbers(numbers, card.bins, whole=card.kind == "integer")
            if card.bins is not None
            else cap_numbers(numbers, card.cap or 1)
        )
        levels = _occurring(tuple(cells.cat.categories), cells)
    elif card.levels is None and declared is not None:
        levels = _occurring(tuple(card.recode.get(level, level) for level in declared), cells)
    else:
        levels = card.levels or by_byte_value(cells)
    codes = pd.Categorical(cells, categories=list(levels)).codes
    if (codes < 0).any():
        bad = cells[codes < 0].iloc[0]
        raise ValueError(f'column "{name}" has "{bad}", which is not one of its declared levels')
    return Column(name, levels), codes.astype(np.int16)


def _occurring(levels: tuple[str, ...], cells: "pd.Series[str]") -> tuple[str, ...]:
    """Return the bins or the ARFF file's own levels less those without a row.

    An empty one would only weigh on a network's score, whose penalty counts levels.
    """
    present = set(cells.unique())
    return tuple(level for level in levels if level in present)


def by_byte_value(cells: "pd.Series[str]") -> tuple[str, ...]:
    """Return the distinct values sorted by their UTF-8 bytes, as R sorts in the C locale."""
    return tuple(sorted(map(str, cells.unique()), key=lambda level: level.encode()))


def _check_levels(dataset: Dataset, column: str, values: tuple[str, ...]) -> None:
    levels = dataset.table.columns[dataset.table.index(column)].levels
    present = {levels[code] for code in np.unique(dataset.table[column])}
    for value in values:
        if value not in present:
            raise user_error(
                f'value "{value}" of column "{column}" is not in the data', suggest(value, present),
                f"card {dataset.card.name}",
            )
