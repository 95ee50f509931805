"""From a card and its files to a coded table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairbench_cli.data.bins import bin_numbers, cap_numbers, keep_numbers
from fairbench_cli.data.card import Card
from fairbench_cli.data.descriptor import ColumnCard
from fairbench_cli.data.doubts import doubts
from fairbench_cli.data.levels import Misfit, as_numbers, coded, occurring
from fairbench_cli.data.locate import Found
from fairbench_cli.data.parts import Part, read_parts
from fairbench_cli.data.table import Codes, Column, Roles, Table
from fairbench_cli.errors import Problem, UserError, suggest, user_error
from fairbench_cli.strict_yaml import Place


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
            When a named value is not in the data, a level is in neither group or in both, a group is empty,
            or the label has one value only.
        """
        roles = self.card.roles(attribute, self._levels(attribute))
        bias = self.card.protected[attribute].bias
        group, target = ("protected", attribute), ("protected", attribute, "bias")
        named: list[tuple[str, tuple[str, ...], Place]] = [
            (roles.label, (roles.favourable,), ("label", "favourable")),
            (attribute, roles.deprived, (*group, "deprived")),
            (attribute, roles.favoured, (*group, "favoured")),
        ]
        if bias:
            named.append((bias.column, bias.deprived, (*target, "deprived")))
            named.append((bias.column, bias.favoured, (*target, "favoured")))
        problems = [p for column, values, place in named for p in self._absent(column, values, place)]
        if not problems:  # a misspelt value leaves its level in neither group: that is one mistake
            problems += self._badly_shared(roles)
        if len(self._levels(roles.label)) < 2:
            what = f'the label "{roles.label}" has one value only'
            problems.append(Problem(what, "give rows with both outcomes", self.card.where("label", "column")))
        if problems:
            raise UserError(*dict.fromkeys(problems))
        return roles

    def _levels(self, column: str) -> tuple[str, ...]:
        return self.table.columns[self.table.index(column)].levels

    def _absent(self, column: str, values: tuple[str, ...], place: Place) -> Iterator[Problem]:
        levels = self._levels(column)
        present = {levels[code] for code in np.unique(self.table[column])}
        for value in values:
            if value not in present:
                what = f'value "{value}" of column "{column}" is not in the data'
                yield Problem(what, suggest(value, present), self.card.where(*place))

    def _badly_shared(self, roles: Roles) -> Iterator[Problem]:
        name, where = roles.attribute, self.card.where("protected", roles.attribute)
        fix = "let `deprived` and `favoured` share out the levels, or `keep` fewer rows in the card"
        deprived, favoured = set(roles.deprived), set(roles.favoured)
        for level in sorted(deprived & favoured):
            yield Problem(f'"{level}" of {name} is in both groups', fix, where)
        for level in sorted(set(self._levels(name)) - deprived - favoured):
            yield Problem(f'"{level}" of {name} is in neither group', fix, where)
        if not favoured:
            yield Problem(f"nobody is left to be favoured: every level of {name} is deprived", fix, where)


def load(card: Card, found: Found) -> Dataset:
    """Read the files that were found for a card into a coded table.

    Raises
    ------
    UserError
        When the files do not fit the card; the messages name file, line, column and value.
    """
    parts, frame = read_parts(card, found)
    frame = frame[[name for name in _order(card, frame) if not card.drops(name)]]
    if card.missing_rows == "drop":
        frame = frame[~frame.isin(list(card.missing)).any(axis=1)]
    if frame.empty:
        fix = "check `keep`, `missing` and `missing_rows`"
        raise user_error("no rows are left", fix, card.where("keep" if card.keep else "missing_rows"))
    problems = list(doubts(card, frame))
    columns, codes = [], []
    for name in frame.columns:
        try:
            column, code = _encode(card.columns.get(name, ColumnCard()), frame[name], _declared(parts, name))
        except Misfit as misfit:
            problems.append(Problem(misfit.what, misfit.fix, _spot(card, parts, name, misfit.cell)))
            continue
        columns.append(column)
        codes.append(code)
    if problems:
        raise UserError(*problems)
    return Dataset(card, Table(tuple(columns), np.asfortranarray(np.column_stack(codes))), found.sha256)


def _order(card: Card, frame: pd.DataFrame) -> list[str]:
    """Return the order of the columns: the card's where it lists all that are wanted, else the file's."""
    return list(card.columns) if card.other_columns == "drop" else list(frame.columns)


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


def _declared(parts: list[Part], name: str) -> tuple[str, ...] | None:
    """Return the levels that the files declare for a column, the first file's first."""
    declared = [part.declared[name] for _, part in parts if name in part.declared]
    return tuple(dict.fromkeys(level for levels in declared for level in levels)) if declared else None


def _spot(card: Card, parts: list[Part], name: str, cell: str | None) -> str:
    """Return ``file:line`` of the first cell that shows a problem, or the card's line for the column."""
    recode = card.columns.get(name, ColumnCard()).recode
    for path, part in parts if cell is not None else []:
        for line, value in zip(part.lines, part.frame[name], strict=True):
            if recode.get(value, value) == cell:
                return f"{path}:{line}"
    return card.where("columns", name)
