"""What a check finds, and what it looks at: all columns of a card's files in the rows that the card keeps."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.card import Card
from fairbench_cli.data.load import complete_rows, level_texts, load, read_parts
from fairbench_cli.data.locate import LocatedFiles
from fairbench_cli.data.table import Roles

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Finding:
    """Something about one column.

    Parameters
    ----------
    column : str
        Its name.
    what : str
        What is wrong, with the number that shows it.
    fix : str
        What to do about it.
    where : str
        ``file:line`` of the card.
    """

    column: str
    what: str
    fix: str
    where: str


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away.

    Parameters
    ----------
    column : str
        Its name.
    how : str
        In what way.
    accuracy : float
        Share of rows whose label is predicted correctly from this column alone.
    explained : float
        Share of the label's entropy that it explains, at most 1 (below 0 when it misleads).
    """

    column: str
    how: str
    accuracy: float
    explained: float


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
    """

    card: Card
    cells: pd.DataFrame
    complete: Mask
    roles: tuple[Roles, ...]

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
    cells = read_parts(card, found)[1].reset_index(drop=True)
    single = (name for name, own in card.protected.items() if own.of is None)
    named = dict.fromkeys([card.label.column, *single, *card.made])
    cells = cells.assign(**{name: level_texts(card, cells, name) for name in named})
    return RawRows(card, cells, complete_rows(card, cells), roles)
