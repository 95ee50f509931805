"""What a check found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something about one column.

    Parameters
    ----------
    column : str
        Its name.
    what : str
        What is the matter, with the number that shows it.
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
        Share of rows whose label is predicted rightly from this column alone.
    told : float
        Share of the label's entropy that it explains, at most 1 (below 0 when it misleads).
    used : bool
        Whether the card uses the column.
    """

    column: str
    how: str
    accuracy: float
    told: float
    used: bool
