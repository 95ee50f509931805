"""From a table to a network: learn the structure, then fit the tables."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairbench_cli.data.table import Table
from fairbench_cli.network.fit import fit
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.scores import ScoreName
from fairbench_cli.network.structure import TABU, LearnerName, Structure, learn_structure


@dataclass(frozen=True)
class LearnSettings:
    """Everything besides the data that decides the network; see `learn_structure` for the meanings.

    Plain values only, so that ``dataclasses.asdict`` can go into a cell's key and a network's file.
    """

    learner: LearnerName = "hill-climbing"
    score: ScoreName = "bic"
    max_parents: int | None = None
    whitelist: tuple[tuple[str, str], ...] = ()
    blacklist: tuple[tuple[str, str], ...] = ()
    outcome_sink: str | None = None
    tabu: int = TABU
    patience: int | None = None
    iss: float = 1.0


def learn_network(table: Table, settings: LearnSettings | None = None) -> tuple[BayesNet, Structure]:
    """Learn the structure and fit its tables by maximum likelihood.

    Parameters
    ----------
    table : Table
        At least one row. Column order and declared levels are part of the data.
    settings : LearnSettings or None
        None means hill-climbing on BIC without constraints.

    Raises
    ------
    UserError
        See `learn_structure`.
    """
    chosen = settings or LearnSettings()
    structure = learn_structure(table, **asdict(chosen))
    return fit(table, structure.parents), structure


def source_facts(name: str, sha256: Mapping[str, str], rows: int, settings: LearnSettings) -> dict[str, Any]:
    """Say which data and settings a network comes from, for its file."""
    return {"dataset": name, "sha256": dict(sha256), "rows": rows, "settings": asdict(settings)}
