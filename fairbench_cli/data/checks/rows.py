"""The rows that the checks of a card look at, and what they find."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import Card, TrapKind
from fairbench_cli.data.columns import relabel_cells
from fairbench_cli.data.load import Dataset, find_complete_rows, load, read_card_files, to_level_texts
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.number_writing import NO_VALUE
from fairbench_cli.data.table import Roles, Rows

Mask = NDArray[np.bool_]
Kind = TrapKind | Literal["expected"]

BINS = 50  # numbers with more values than this are cut into as many quantiles,
ROWS = 20  # or into fewer, so that each has this many rows


@dataclass(frozen=True)
class Finding:
    """Something about one column.

    Parameters
    ----------
    kind : str
        What kind of trap it is (`TrapKind`), or ``"expected"``: the rows are not as the card says.
    column : str
        Its name; "" of all rows.
    what : str
        What is wrong, with the number that shows it.
    fix : str
        What to do about it.
    where : str
        ``file:line`` of the card.
    used : bool
        Whether it is about what the card uses.
    """

    kind: Kind
    column: str
    what: str
    fix: str
    where: str
    used: bool = True

    def __str__(self) -> str:
        if self.column:
            return f'column "{self.column}" {self.what}'
        return f"the data set {self.what}"


def format_drop(name: str) -> str:
    """Return how a card leaves a column out, for a fix."""
    return f"write `{yaml_word(name)}: drop` under `columns`"


@dataclass(frozen=True, eq=False)
class RawRows:
    """Text cells and what the card says about them.

    Parameters
    ----------
    card : Card
        Their card.
    cells : DataFrame
        Every column of the files, recoded, in the rows that `keep` leaves. The label, the protected
        attributes and columns made of others are levels, where they are cut numbers.
    complete : bool array, shape (rows,)
        Rows that an experiment sees: all, or with ``missing_rows: drop`` those without a missing value.
    roles : dict of str to Roles
        The groups by protected attribute.
    file : DataFrame
        The cells of all rows and columns as the files have them, neither recoded nor left out.
    header : tuple of str
        The names of the columns as the first file has them, of which two may be the same.
    dataset : Dataset, optional
        The rows that an experiment sees, coded; None of a table that has no card yet.
    """

    card: Card
    cells: pd.DataFrame
    complete: Mask
    roles: dict[str, Roles]
    file: pd.DataFrame
    header: tuple[str, ...] = ()
    dataset: Dataset | None = None

    def finding(
        self, kind: Kind, column: str, problem: str, fix: str, *key_path: str | int, used: bool | None = None
    ) -> Finding:
        """Return a finding about a column, at its line in the card or another `key_path`.

        It is about what the card uses unless the column is left out; at another place it always is.
        """
        if used is None:
            used = bool(key_path) or not self.card.drops(column)
        where = self.card.where(*(key_path or ("columns", column)))
        return Finding(kind, column, problem, fix, where, used)

    @property
    def features(self) -> list[str]:
        """The columns that the card uses, less the label."""
        label = self.card.label.column
        return [name for name in self.cells.columns if name != label and not self.card.drops(name)]

    @property
    def gaps(self) -> tuple[str, ...]:
        """Cells that are no value: empty ones and those that the card lists as missing."""
        return ("", *self.card.missing)

    @cached_property
    def codes(self) -> dict[str, Rows]:
        """The values of each column but the label as codes (`to_codes`), in the complete rows."""
        names = [name for name in self.cells.columns if name != self.card.label.column]
        return {name: to_codes(self.cells[name][self.complete], self.gaps) for name in names}

    @property
    def label_source(self) -> str:
        """The column of the file that has the label."""
        return self.card.sources.get(self.card.label.column, self.card.label.column)

    @cached_property
    def unknown(self) -> Mask:
        """Whether each row of the file has a label that means that it is not known."""
        unknown_cells = {"unknown"} | set(chain(NO_VALUE, self.card.missing, self.card.label.unknown))
        cells = self.recoded(self.card.label.column)
        meant = [cell for cell in cells.unique() if {cell, cell.lower()} & unknown_cells]
        return cells.isin(meant).to_numpy(dtype=bool)

    def recoded(self, name: str) -> "pd.Series[str]":
        """Return a column of the file, recoded, in all its rows."""
        recode = self.card.column(name).recode
        cells = self.file[name]
        if recode:
            return relabel_cells(cells, lambda cell: recode.get(cell, cell))
        return cells

    @property
    def favourable(self) -> Mask:
        """Whether each row's label is the favourable one."""
        return (self.cells[self.card.label.column] == self.card.label.favourable).to_numpy(dtype=bool)

    def without(self, again: Mask) -> "RawRows":
        """Return the same less some of the complete rows, which are marked."""
        if not again.any():
            return self
        complete = self.complete.copy()
        complete[complete] = ~again
        return replace(self, complete=complete)

    def sides(self, roles: Roles) -> tuple[Mask, Mask]:
        """Return who is deprived and who is favoured, each of shape (rows,)."""
        first_column, *other_columns = roles.of or (roles.attribute,)
        levels = self.cells[first_column]
        for name in other_columns:
            levels = levels.astype(object) + "-" + self.cells[name].astype(object)
        deprived, favoured = (
            levels.isin(group).to_numpy(dtype=bool) for group in (roles.deprived, roles.favoured)
        )
        return deprived, favoured

    def is_gap(self, name: str) -> Mask:
        """Return in which rows a column has no value."""
        return self.cells[name].isin(self.gaps).to_numpy(dtype=bool)


def read_raw_rows(card: Card, located: LocatedFiles) -> RawRows:
    """Return the rows of the files that were found for a card.

    Raises
    ------
    UserError
        When the files do not fit the card: what cannot be loaded cannot be checked.
    """
    read = read_card_files(card, located)
    dataset = load(card, located, read=read)
    roles = {attribute: dataset.roles(attribute) for attribute in card.protected}
    cells = read.frame.reset_index(drop=True)
    single = (name for name, protected in card.protected.items() if protected.of is None)
    level_columns = dict.fromkeys(chain([card.label.column], single, card.sources))
    cells = cells.assign(**{name: to_level_texts(card, cells, name) for name in level_columns})
    return RawRows(
        card, cells, find_complete_rows(card, cells), roles, read.cells, read.files[0].names, dataset
    )


def to_codes(cells: "pd.Series[str]", gaps: tuple[str, ...] = ("",)) -> Rows:
    """Return the values of a column as codes: gaps are one value, many numbers are cut into quantiles.

    >>> to_codes(pd.Series(["b", "a", "", "?"]), ("", "?")).tolist()
    [0, 1, 2, 2]
    """
    codes, values = pd.factorize(cells)
    distinct = np.asarray(values, dtype=object)
    gap = np.isin(distinct.astype(str), gaps)
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy(dtype=np.float64)
    bins = min(BINS, max(2, len(cells) // ROWS))
    if (~gap).sum() > bins and np.isfinite(numbers[~gap]).all():
        present = numbers[codes][~gap[codes]]
        edges = np.unique(np.quantile(present, np.linspace(0, 1, bins + 1)[1:-1]))
        of_value = np.where(gap, len(edges) + 1, np.searchsorted(edges, numbers))
    else:
        of_value = np.where(gap, len(distinct), np.arange(len(distinct)))
    return np.unique(of_value[codes], return_inverse=True)[1].astype(np.intp)
