"""Structure learning: what is requested and allowed, and a search for the best structure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.table import Table
from fairbench_cli.network.model import topological_order
from fairbench_cli.network.scores import EQUIVALENT, ScoreName, local_scores, network_score
from fairbench_cli.network.search import Arc, Constraints, Search, hill_climb, tabu_search

LearnerName = Literal["hill-climbing", "tabu"]

NamedArcs = Iterable[tuple[str, str]]

TABU = 10
"""Default length of the tabu list."""


@dataclass(frozen=True)
class LearnSettings:
    """Everything but the data that decides the network.

    Plain values only, so that ``dataclasses.asdict`` can go into a cell's key and a network's file.

    Parameters
    ----------
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


def source_facts(name: str, sha256: Mapping[str, str], rows: int, settings: LearnSettings) -> dict[str, Any]:
    """Return which data and settings a network comes from, for its file."""
    return {"dataset": name, "sha256": dict(sha256), "rows": rows, "settings": asdict(settings)}


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


def learn_structure(table: Table, settings: LearnSettings) -> Structure:
    """Return which columns depend on which, arc for arc what R's bnlearn 5.2.1 finds.

    Moves tie often and the first one tried wins, so the column order of the table is part of the data;
    declared levels that do not occur count in the penalties.

    Raises
    ------
    UserError
        A table without rows or with numbers, settings that contradict each other or the table, or a setting
        that this learner or score does not have.

    Notes
    -----
    Scutari (2010), "Learning Bayesian networks with the bnlearn R package", J. Stat. Softw. 35(3).
    """
    learner, score, tabu, patience = settings.learner, settings.score, settings.tabu, settings.patience
    if learner not in get_args(LearnerName):
        raise user_error(f'unknown learner "{learner}"', suggest(learner, get_args(LearnerName)))
    numbers = [column.name for column in table.columns if column.kind == "number"]
    if numbers:
        what = f"{', '.join(numbers)}: a network takes levels, not numbers"
        fix = "in the card cut them: bins: {quantiles: 5}; or in the config write sample: {from: data}"
        raise user_error(what, fix)
    local = local_scores(table, score, settings.iss)
    if settings.iss != 1.0 and score != "bde":
        raise user_error(f"iss is set, but the score is {score}", "leave iss out, or use the score bde")
    if learner != "tabu" and (tabu != TABU or patience is not None):
        what = f"tabu or patience is set, but the learner is {learner}"
        raise user_error(what, "leave both out, or use the learner tabu")
    if tabu < 1 or (patience is not None and patience < 0):
        what = f"tabu is {tabu} and patience is {patience}"
        raise user_error(what, "give tabu 1 or more and patience 0 or more")
    allowed = _constraints(table.names, settings)
    search = Search(local, score in EQUIVALENT, allowed)
    start = allowed.start(len(table.columns))
    if learner == "tabu":
        graph = tabu_search(search, start, tabu, tabu if patience is None else patience)
    else:
        graph = hill_climb(search, start)
    parents = tuple(tuple(sorted(own)) for own in graph)
    bic = local if score == "bic" else local_scores(table, "bic")
    return Structure(parents, network_score(local, parents), network_score(bic, parents))


def _constraints(names: Sequence[str], settings: LearnSettings) -> Constraints:
    """Return the constraints with indices for names, checked against the columns and each other."""
    limit = len(names) if settings.max_parents is None else settings.max_parents
    if limit < 0:
        raise user_error(f"max_parents is {limit}", "give 0 or more, or leave it out for no limit")
    required = _indices(names, settings.whitelist, "whitelist")
    forbidden = _indices(names, settings.blacklist, "blacklist")
    for i, j in sorted(required & forbidden):
        what = f"the arc {names[i]} -> {names[j]} is both in the whitelist and in the blacklist"
        raise user_error(what, "take it out of one of them")
    if settings.outcome_sink is not None:
        sink = _index(names, settings.outcome_sink, "outcome_sink")
        for i, j in sorted(required):
            if i == sink:
                arc = f"{names[i]} -> {names[j]}"
                what = f"the whitelist has {arc}, but outcome_sink says that {names[i]} has no children"
                raise user_error(what, "drop the arc from the whitelist, or leave outcome_sink out")
        forbidden |= {(sink, j) for j in range(len(names)) if j != sink}
    allowed = Constraints(required, forbidden | {(j, i) for i, j in required}, limit)
    start = allowed.start(len(names))
    if topological_order(start) is None:
        raise user_error("the arcs of the whitelist form a cycle", "take out one arc of the cycle")
    for name, parents in zip(names, start, strict=True):
        if len(parents) > limit:
            what = f"the whitelist gives {name} {len(parents)} parents, but max_parents is {limit}"
            raise user_error(what, f"shorten the whitelist, or set max_parents to {len(parents)} or more")
    return allowed


def _indices(names: Sequence[str], arcs: NamedArcs, where: str) -> frozenset[Arc]:
    found = set()
    for pair in arcs:
        if isinstance(pair, str) or len(pair) != 2:
            raise user_error(f"{pair!r} is not an arc", "write an arc as [from, to]", where)
        i, j = (_index(names, name, where) for name in pair)
        if i == j:
            raise user_error(f"the arc {pair[0]} -> {pair[1]} is a loop", "take it out", where)
        found.add((i, j))
    return frozenset(found)


def _index(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise user_error(f'no column is called "{name}"', suggest(name, names), where)
    return names.index(name)
