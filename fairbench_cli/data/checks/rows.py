"""The rows that the checks of a card look at, and what they find."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.base.strict_yaml import yaml_word
from fairbench_cli.data.card import Card, TrapKind
from fairbench_cli.data.load import Dataset, complete_rows, level_texts, load, read_parts
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Roles

Mask = NDArray[np.bool_]


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

    kind: TrapKind | Literal["expected"]
    column: str
    what: str
    fix: str
    where: str
    used: bool = True

    def __str__(self) -> str:
        return f'column "{self.column}" {self.what}' if self.column else f"the data set {self.what}"


def drop(name: str) -> str:
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
    roles : tuple of Roles
        The groups, one per protected attribute.
    dataset : Dataset, optional
        The rows that an experiment sees, coded; None of a table that has no card yet.
    """

    card: Card
    cells: pd.DataFrame
    complete: Mask
    roles: tuple[Roles, ...]
    dataset: Dataset | None = None

    @property
    def features(self) -> list[str]:
        """The columns that the card uses, less the label."""
        label = self.card.label.column
        return [name for name in self.cells.columns if name != label and not self.card.drops(name)]

    @property
    def gaps(self) -> tuple[str, ...]:
        """Cells that are no value: empty ones and those that the card lists as missing."""
        return ("", *self.card.missing)

    @property
    def favourable(self) -> Mask:
        """Whether each row's label is the favourable one."""
        return (self.cells[self.card.label.column] == self.card.label.favourable).to_numpy(dtype=bool)

    def sides(self, roles: Roles) -> tuple[Mask, Mask]:
        """Return who is deprived and who is favoured, each of shape (rows,)."""
        first, *others = roles.of or (roles.attribute,)
        levels = self.cells[first]
        for name in others:
            levels = levels + "-" + self.cells[name]
        deprived, favoured = (
            levels.isin(group).to_numpy(dtype=bool) for group in (roles.deprived, roles.favoured)
        )
        return deprived, favoured

    def is_gap(self, name: str) -> Mask:
        """Return in which rows a column has no value."""
        return self.cells[name].isin(self.gaps).to_numpy(dtype=bool)


def raw_rows(card: Card, found: LocatedFiles) -> RawRows:
    """Return the rows of the files that were found for a card.

    Raises
    ------
    UserError
        When the files do not fit the card: what cannot be loaded cannot be checked.
    """
    dataset = load(card, found)
    roles = tuple(dataset.roles(attribute) for attribute in card.protected)
    cells = read_parts(card, found)[1].reset_index(drop=True).astype(object)
    single = (name for name, own in card.protected.items() if own.of is None)
    named = dict.fromkeys([card.label.column, *single, *card.made])
    cells = cells.assign(**{name: level_texts(card, cells, name) for name in named})
    return RawRows(card, cells, complete_rows(card, cells), roles, dataset)
