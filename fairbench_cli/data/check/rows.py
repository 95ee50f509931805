"""All columns of a card's files, also those that the card leaves out, in the rows that it keeps."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbench_cli.data.card import Card
from fairbench_cli.data.load import load
from fairbench_cli.data.locate import Found
from fairbench_cli.data.parts import all_columns
from fairbench_cli.data.table import Roles

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RawRows:
    """Text cells and what the card says about them.

    Parameters
    ----------
    card : Card
        Their card.
    cells : DataFrame
        Every column of the files, recoded, in the rows that `keep` leaves.
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
        found: Mask = (self.cells[self.card.label.column] == self.card.label.favourable).to_numpy(dtype=bool)
        return found

    def is_gap(self, name: str) -> Mask:
        """Tell in which rows a column has no value."""
        found: Mask = self.cells[name].isin(self.gaps).to_numpy(dtype=bool)
        return found


def raw_rows(card: Card, found: Found) -> RawRows:
    """Read the files that were found for a card.

    Raises
    ------
    UserError
        When the files do not fit the card: what cannot be loaded cannot be checked.
    """
    dataset = load(card, found)
    roles = tuple(dataset.roles(attribute) for attribute in card.protected)
    cells = all_columns(card, found).reset_index(drop=True)
    complete = np.ones(len(cells), dtype=bool)
    if card.missing_rows == "drop":
        used = [name for name in cells.columns if not card.drops(name)]
        complete = ~cells[used].isin(list(card.missing)).any(axis=1).to_numpy(dtype=bool)
    return RawRows(card, cells, complete, roles)
