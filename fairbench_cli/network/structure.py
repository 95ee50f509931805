"""Structure learning by hill-climbing and tabu search, arc for arc what R's bnlearn 5.2.1 finds.

Moves tie often and the first one tried wins, so the column order of the table is part of the data.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from fairbench_cli.data.table import Table
from fairbench_cli.errors import suggest, user_error
from fairbench_cli.network.constraints import NamedArcs, constraints
from fairbench_cli.network.scores import EQUIVALENT, ScoreName, local_scores, network_score
from fairbench_cli.network.search import Search, hill_climb, tabu_search

LearnerName = Literal["hill-climbing", "tabu"]

TABU = 10
"""Default length of the tabu list."""


@dataclass(frozen=True)
class Structure:
    """A learned structure.

    Parameters
    ----------
    parents : tuple of tuple of int
        Sorted column indices of each column's parents.
    score : float
        The network's score under the score it was learned with.
    bic : float
        The network's BIC.
    """

    parents: tuple[tuple[int, ...], ...]
    score: float
    bic: float


def learn_structure(
    table: Table,
    *,
    learner: LearnerName = "hill-climbing",
    score: ScoreName = "bic",
    max_parents: int | None = None,
    whitelist: NamedArcs = (),
    blacklist: NamedArcs = (),
    outcome_sink: str | None = None,
    tabu: int = TABU,
    patience: int | None = None,
    iss: float = 1.0,
) -> Structure:
    """Learn which columns depend on which.

    Parameters
    ----------
    table : Table
        At least one row; declared levels that do not occur count in the penalties.
    learner : {"hill-climbing", "tabu"}
        Hill-climbing stops at the first local optimum; tabu goes on through worse graphs.
    score : {"bic", "aic", "bde", "k2"}
        See `fairbench_cli.network.scores.local_scores`.
    max_parents : int or None
        The most parents a column may have; None means no limit.
    whitelist, blacklist : pairs of names (from, to)
        Arcs that must be in the network, and arcs that must not.
    outcome_sink : str or None
        A column that may have no children.
    tabu : int
        Tabu only: how many of the last graphs may not be visited again.
    patience : int or None
        Tabu only: how many moves may make things worse before the search ends; None means `tabu`.
    iss : float
        BDe only: imaginary sample size.

    Raises
    ------
    UserError
        Wishes that contradict each other or the table, or a setting that this learner or score does not have.

    Notes
    -----
    Scutari (2010), "Learning Bayesian networks with the bnlearn R package", J. Stat. Softw. 35(3).
    """
    if learner not in get_args(LearnerName):
        raise user_error(f'unknown learner "{learner}"', suggest(learner, get_args(LearnerName)))
    numbers = [column.name for column in table.columns if column.kind == "number"]
    if numbers:
        raise user_error(
            f"{', '.join(numbers)}: a network takes levels, not numbers", "give bins or cap in the card"
        )
    local = local_scores(table, score, iss)
    if iss != 1.0 and score != "bde":
        raise user_error(f"iss is set, but the score is {score}", "leave iss out, or use the score bde")
    if learner != "tabu" and (tabu != TABU or patience is not None):
        raise user_error(
            f"tabu or patience is set, but the learner is {learner}",
            "leave both out, or use the learner tabu",
        )
    if tabu < 1 or (patience is not None and patience < 0):
        raise user_error(
            f"tabu is {tabu} and patience is {patience}", "give tabu 1 or more and patience 0 or more"
        )
    wishes = constraints(table.names, whitelist, blacklist, max_parents, outcome_sink)
    search = Search(local, score in EQUIVALENT, wishes)
    start = wishes.start(len(table.columns))
    if learner == "tabu":
        graph = tabu_search(search, start, tabu, tabu if patience is None else patience)
    else:
        graph = hill_climb(search, start)
    parents = tuple(tuple(sorted(own)) for own in graph)
    bic = local if score == "bic" else local_scores(table, "bic")
    return Structure(parents, network_score(local, parents), network_score(bic, parents))
