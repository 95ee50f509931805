"""From a card and its files, or a bare CSV, to a coded table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from fairbench_cli.data.card import Card, ColumnCard
from fairbench_cli.data.columns import (
    Misfit,
    as_numbers,
    bin_numbers,
    cap_numbers,
    coded,
    keep_numbers,
    occurring,
)
from fairbench_cli.data.files import TextCells, read_cells
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Codes, Column, Roles, Sample, Table, table_of, to_sample
from fairbench_cli.errors import Problem, UserError, suggest, user_error
from fairbench_cli.strict_yaml import Place

FilePart = tuple[Path, TextCells]
MANY = 50  # levels; a column of more, all numbers, is a number


def read_parts(card: Card, found: LocatedFiles) -> tuple[list[FilePart], pd.DataFrame]:
    """Return the files of a card one by one, and joined: all columns, recoded, the rows that are kept.

    Raises
    ------
    UserError
        When the files do not fit the card.
    """
    parts = []
    for path in found.paths:
        cells = read_cells(
            path, card.format, header=card.header, separator=card.separator, comment=card.comment
        )
        parts.append((path, _named(card, path, cells)))
    return parts, _kept(card, _joined(card, parts))


def _named(card: Card, path: Path, cells: TextCells) -> TextCells:
    """Return the cells with their columns named; every column that is used must have a name of its own."""
    frame = cells.frame
    if not card.header and card.format == "csv":
        if len(frame.columns) != len(card.columns):
            what = f"the file has {len(frame.columns)} columns, but the card names {len(card.columns)}"
            fix = "without a header, the card must name every column in file order"
            raise user_error(what, fix, str(path))
        frame = frame.set_axis(list(card.columns), axis=1)
    repeated = frame.columns.duplicated()
    used = {name for name in frame.columns if not card.drops(name)} | set(card.keep)
    if "" in used:
        number = list(frame.columns).index("") + 1
        fix = "name it in the first line, or write other_columns: drop in the card"
        raise user_error(f"column {number} has no name", fix, f"{path}:1")
    for name in sorted(set(frame.columns[repeated]) & used):
        # COMPAS gives two columns twice; as long as they say the same, the name is clear.
        same = frame.loc[:, frame.columns == name]
        if not all(same.iloc[:, 0].equals(same.iloc[:, j]) for j in range(1, same.shape[1])):
            fix = "give every column a name of its own, or drop it in the card"
            raise user_error(f'two different columns are called "{name}"', fix, f"{path}:1")
    return TextCells(frame.loc[:, ~repeated], cells.lines, cells.declared)


def _joined(card: Card, parts: list[FilePart]) -> pd.DataFrame:
    """Return the files joined row by row, recoded; they must have every column that the card names."""
    (first_path, first), *others = parts
    for path, part in others:
        differing = set(part.frame.columns) ^ set(first.frame.columns)
        if differing:
            what = f'column "{min(differing)}" is in one of {first_path.name} and {path.name} only'
            raise user_error(what, "give files with the same columns", str(path))
    frame = pd.concat([part.frame for _, part in parts], ignore_index=True)
    missing: dict[str, Place] = {}
    for name, place in card.mentions():
        if name not in frame.columns:
            missing.setdefault(name, place)
    if missing:
        files = " and ".join(path.name for path, _ in parts)
        known = list(frame.columns)
        problems = []
        for name, place in missing.items():
            single = "check `separator`: every row of the file is a single cell"
            fix = suggest(name, known) if len(known) > 1 else single
            problems.append(Problem(f'{files} has no column "{name}"', fix, card.where(*place)))
        raise UserError(*problems)
    recoded = {
        name: frame[name].map(lambda cell, table=column.recode: table.get(cell, cell))
        for name, column in card.columns.items()
        if column.recode
    }
    return frame.assign(**recoded)


def _absent(
    card: Card, column: str, values: Iterable[str], present: Collection[str], place: Place, of: str = "data"
) -> Iterator[Problem]:
    for value in values:
        if value not in present:
            what = f'value "{value}" of column "{column}" is not in the {of}'
            yield Problem(what, suggest(value, present), card.where(*place))


def _kept(card: Card, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the card keeps."""
    problems: list[Problem] = []
    for name, values in card.keep.items():
        problems += _absent(card, name, values, set(frame[name].unique()), ("keep", name))
    if problems:
        raise UserError(*problems)
    for name, values in card.keep.items():
        frame = frame[frame[name].isin(values)]
    return frame


def _warnings(card: Card, frame: pd.DataFrame) -> Iterator[Problem]:
    """Yield a problem per unlisted column of very many levels, and for rows without a label.

    A column that the card lists as nominal is left alone.
    """
    for name in frame.columns:
        if name in card.columns or name == card.label.column or (levels := frame[name].nunique()) <= MANY:
            continue
        known = pd.Series(frame[name][frame[name] != ""].unique())
        if pd.to_numeric(known, errors="coerce").notna().all():
            what = f'column "{name}" has {levels} different numbers, each of which would be a level'
            fix = f"{name}: {{kind: integer, bins: {{count: 5}}}}, or as nominal or drop"
            yield Problem(what, f"list it under `columns`: {fix}", card.where("columns"))
        elif levels > len(frame) / 2:
            what = f'column "{name}" has {levels} different values in {len(frame)} rows'
            fix = f"list it under `columns`: {name}: drop, or as nominal if it is meant so"
            yield Problem(what, fix, card.where("columns"))
    label = frame[card.label.column]
    missing = int(label.isin(["", *card.missing]).sum())
    if missing:
        what = f'{missing} rows have no label in column "{card.label.column}"'
        fix = 'leave them out with missing: [""] and missing_rows: drop, or give them a value with recode'
        yield Problem(what, fix, card.where("label", "column"))


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A loaded data set: its card, its rows, and the sha256 of each file."""

    card: Card
    table: Table
    sha256: dict[str, str]

    def __len__(self) -> int:
        return len(self.table)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows with their levels as text, one pandas categorical per column."""
        return self.table.to_pandas()

    def sample(self, attribute: str | None = None) -> Sample:
        """Return the rows as techniques take them: features, outcome and the groups of an attribute.

        Parameters
        ----------
        attribute : str, optional
            A protected attribute; by default the card's first.

        Raises
        ------
        UserError
            When the card has no such attribute, and as `roles`.
        """
        return to_sample(self.table, self.roles(self.card.attribute(attribute)))

    def base_rates(self, attribute: str | None = None) -> "pd.Series[float]":
        """Return the share of favourable outcomes by level of a protected attribute; raises as `sample`."""
        return self._base_rates(self.card.attribute(attribute))

    def _base_rates(self, attribute: str) -> "pd.Series[float]":
        label, frame = self.card.label, self.table.to_pandas()
        favourable = (frame[label.column] == label.favourable).astype(float).rename("base rate")
        return favourable.groupby(frame[attribute], observed=True).mean()

    def __repr__(self) -> str:
        label = self.card.label
        lines = [
            f"<{self.card.name}: {len(self)} rows, {len(self.table.columns)} columns",
            f"  {label.column} = {label.favourable} is favourable",
        ]
        for name, protected in self.card.protected.items():
            if name in self.table.names:
                groups = ", ".join(
                    f"{level}{' (deprived)' if level in protected.deprived else ''} {rate:.3f}"
                    for level, rate in self._base_rates(name).items()
                )
                lines.append(f"  by {name}: {groups}")
        return "\n".join(lines) + ">"

    def roles(self, attribute: str) -> Roles:
        """Return label and groups, checked against the data.

        Raises
        ------
        UserError
            When a named value is not in the data, a level is in neither group or in both, a group is empty,
            or the label has one value only.
        """
        return checked_roles(self.card, attribute, self.table.columns, self._occurring, "data")

    def _occurring(self, column: str) -> set[str]:
        levels = self.table.columns[self.table.index(column)].levels
        return {levels[code] for code in np.unique(self.table[column])}


def checked_roles(
    card: Card,
    attribute: str,
    columns: Sequence[Column],
    occurring: Callable[[str], Collection[str]],
    of: Literal["data", "network"],
) -> Roles:
    """Return label and groups, checked against the columns of data or of a network.

    Parameters
    ----------
    occurring : callable
        Gives the levels of a column that occur.

    Raises
    ------
    UserError
        As `Dataset.roles`, and when there is no such column.
    """
    levels = {column.name: column.levels for column in columns}
    roles = card.roles(attribute, levels.get(attribute, ()))
    bias = card.protected[attribute].bias
    group, target = ("protected", attribute), ("protected", attribute, "bias")
    named: list[tuple[str, tuple[str, ...], Place]] = [
        (roles.label, (roles.favourable,), ("label", "favourable")),
        (attribute, roles.deprived, (*group, "deprived")),
        (attribute, roles.favoured, (*group, "favoured")),
    ]
    if bias:
        named.append((bias.column, bias.deprived, (*target, "deprived")))
        named.append((bias.column, bias.favoured, (*target, "favoured")))
    problems: list[Problem] = []
    for column, values, place in named:
        if column in levels:
            problems += _absent(card, column, values, occurring(column), place, of)
        else:
            what = f'the {of} has no column "{column}"'
            problems.append(Problem(what, suggest(column, levels), card.where(*place[:-1])))
    if not problems:  # a misspelt value leaves its level in neither group: that is one mistake
        problems += _badly_shared(card, roles, levels[attribute])
    if len(levels.get(roles.label, "ab")) < 2:
        what = f'the label "{roles.label}" has one value only'
        problems.append(Problem(what, "give rows with both outcomes", card.where("label", "column")))
    if problems:
        raise UserError(*dict.fromkeys(problems))
    return roles


def _badly_shared(card: Card, roles: Roles, levels: Iterable[str]) -> Iterator[Problem]:
    name, where = roles.attribute, card.where("protected", roles.attribute)
    fix = "let `deprived` and `favoured` share out the levels, or `keep` fewer rows in the card"
    deprived, favoured = set(roles.deprived), set(roles.favoured)
    for level in sorted(deprived & favoured):
        yield Problem(f'"{level}" of {name} is in both groups', fix, where)
    for level in sorted(set(levels) - deprived - favoured):
        yield Problem(f'"{level}" of {name} is in neither group', fix, where)
    if not favoured:
        yield Problem(f"nobody is left to be favoured: every level of {name} is deprived", fix, where)


def load(card: Card, found: LocatedFiles) -> Dataset:
    """Return the files that were found for a card as a coded table.

    Raises
    ------
    UserError
        When the files do not fit the card; the messages name file, line, column and value.
    """
    parts, frame = read_parts(card, found)
    # In the card's order where it lists all columns that are wanted, else in the file's.
    order = card.columns if card.other_columns == "drop" else frame.columns
    frame = frame[[name for name in order if not card.drops(name)]]
    if card.missing_rows == "drop":
        frame = frame[~frame.isin(list(card.missing)).any(axis=1)]
    if frame.empty:
        fix = "check `keep`, `missing` and `missing_rows`"
        raise user_error("no rows are left", fix, card.where("keep" if card.keep else "missing_rows"))
    problems = list(_warnings(card, frame))
    columns = []
    for name in frame.columns:
        own = card.columns.get(name, ColumnCard())
        try:
            columns.append(_encode(own, frame[name], _declared(parts, name)))
        except Misfit as misfit:
            problems.append(Problem(misfit.what, misfit.fix, _spot(card, parts, name, misfit.cell)))
    if problems:
        raise UserError(*problems)
    return Dataset(card, table_of(columns), found.sha256)


def _encode(
    card: ColumnCard, cells: "pd.Series[str]", declared: tuple[str, ...] | None
) -> tuple[Column, Codes]:
    name = str(cells.name)
    if card.kind in ("integer", "real"):
        whole = card.kind == "integer"
        numbers = as_numbers(name, cells, whole=whole)
        if card.bins is not None:
            return occurring(*bin_numbers(name, numbers, card.bins, whole=whole))
        if card.cap is not None:
            return occurring(*cap_numbers(name, numbers, card.cap))
        return keep_numbers(name, numbers)
    if card.levels is None and declared is not None:
        named = tuple(dict.fromkeys(card.recode.get(level, level) for level in declared))
        return occurring(*coded(name, cells, named))
    return coded(name, cells, card.levels)


def _declared(parts: list[FilePart], name: str) -> tuple[str, ...] | None:
    """Return the levels that the files declare for a column, the first file's first."""
    declared = [part.declared[name] for _, part in parts if name in part.declared]
    return tuple(dict.fromkeys(level for levels in declared for level in levels)) if declared else None


def _spot(card: Card, parts: list[FilePart], name: str, cell: str | None) -> str:
    """Return ``file:line`` of the first cell that shows a problem, or the card's line for the column."""
    recode = card.columns.get(name, ColumnCard()).recode
    for path, part in parts if cell is not None else []:
        for line, value in zip(part.lines, part.frame[name], strict=True):
            if recode.get(value, value) == cell:
                return f"{path}:{line}"
    return card.where("columns", name)


def table_from_csv(path: str | Path) -> Table:
    """Return a CSV whose first line names the columns, as `load` would by a card that says no more.

    Nothing is a missing value: ``?``, ``NA`` and the empty cell are levels like any other. Blanks around a
    cell are no part of it. The levels of a column are those that occur, ordered by their UTF-8 bytes; columns
    keep the order of the file.

    Parameters
    ----------
    path : str or Path
        Comma-separated UTF-8 text, with or without a byte order mark.

    Raises
    ------
    UserError
        No such file, not UTF-8, no rows, a row of another length than the header, a column name that is empty
        or comes twice, or a column with more than 32,768 levels.
    """
    frame = read_cells(Path(path)).frame
    where = f"{path}:1"
    for j, name in enumerate(frame.columns):
        if name == "":
            raise user_error(f"column {j + 1} has no name", "name every column in the first line", where)
        if name in frame.columns[:j]:
            raise user_error(f'two columns are called "{name}"', "give every column a name of its own", where)
    try:
        return table_of([coded(name, frame[name]) for name in frame.columns])
    except Misfit as misfit:
        raise user_error(misfit.what, misfit.fix, str(path)) from None
