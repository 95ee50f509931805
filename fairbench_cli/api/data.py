"""Data sets of a card."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench_cli.data.card import UnknownAs
from fairbench_cli.data.load import Dataset
from fairbench_cli.data.load import load as load_files
from fairbench_cli.data.locate import find_places, locate

if TYPE_CHECKING:  # learning a network is not needed to load rows
    from fairbench_cli.api.network import Network


class CardDataset(Dataset):
    """A data set of a card, whose rows a network with bias can be learned from."""

    def world(self, bias: Sequence[Any], attribute: str | None = None) -> "Network":
        """Return the world that mechanisms of bias make of the network that `learn` finds in the rows.

        Another network of the rows, such as one whose outcome has no children, is biased by `Network.world`:
        ``learn(data, outcome_sink="income").world(bias)``.

        Parameters
        ----------
        bias : list of mechanisms
            As a config has them: ``[{"label": {"flip": 0.5}}]``.
        attribute : str, optional
            The protected attribute; by default the card's first.

        Raises
        ------
        UserError
            As `Network.world`.
        """
        from fairbench_cli.api.network import learn

        return learn(self).world(bias, attribute)


def load(
    name: str | Path, *, data_dir: str | Path | None = None, unknown_as: UnknownAs | None = None
) -> CardDataset:
    """Return a data set: its rows, its card, and who is deprived.

    Parameters
    ----------
    name : str or Path
        Of a shipped data set such as "adult", or the path of a card.
    data_dir : str or Path, optional
        Where its files are; by default ``$FAIRBENCH_DATA``, the card's folder and the cache.
    unknown_as : {"leave-out", "level", "unfavourable"}, optional
        What becomes of rows whose outcome the card calls unknown; by default as the card says.

    Raises
    ------
    UserError
        When there is no such card, a file is missing or another one, or the two do not fit; or the card calls
        no outcome unknown.
    """
    card, folders = find_places(str(name), None if data_dir is None else Path(data_dir))
    card = card.with_unknown_as(unknown_as)
    return CardDataset(**vars(load_files(card, locate(card, folders))))
