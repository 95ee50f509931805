"""People to try an audit with, without a file: drawn from a shipped network, and so invented."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

NETWORK = "compas"
COLUMNS = ("sex", "age_cat", "race", "priors_count", "c_charge_degree", "decile_score", "two_year_recid")
"""What is kept of the network's columns: groups, what may explain, the score and what came true."""


@dataclass(frozen=True, eq=False)
class ExamplePeople:
    """Invented people with a score, and what came true.

    Parameters
    ----------
    frame : DataFrame
        A row for each; its column ``people`` says that they are invented.
    name : str
        What its file is called.
    note : str
        Where they come from, in a sentence.
    options : dict
        Keywords of `audit` for them.
    """

    frame: "pd.DataFrame"
    name: str
    note: str
    options: dict[str, Any]

    def to_csv(self, path: "str | Path") -> None:
        """Write them to a file.

        Raises
        ------
        OSError
            When it cannot be written.
        """
        self.frame.to_csv(path, index=False)


def example_people(rows: int = 5000, seed: int = 1) -> ExamplePeople:
    """Return invented defendants: drawn from the network that was learned from COMPAS, so of nobody real.

    Parameters
    ----------
    rows, seed : int
        How many, and of which draw.

    Examples
    --------
    >>> people = example_people(100)
    >>> people.name, len(people.frame), people.options["label"]
    ('invented-defendants.csv', 100, 'two_year_recid')
    """
    from fairbench_cli.api.network import load_network

    frame = load_network(NETWORK).dataset(rows, seed=seed).to_pandas()
    people = frame[list(COLUMNS)].assign(people="invented")
    source = "drawn from a network that was learned from COMPAS: no row is a person"
    options = {"score": "decile_score", "threshold": 5, "label": "two_year_recid", "decision": "punitive"}
    return ExamplePeople(people, "invented-defendants.csv", f"{rows:,} invented people, {source}.", options)
