"""Structure learning: what is requested and allowed, and the search for the best structure.

Hill-climbing and tabu search change one arc at a time: they add, drop or reverse it. Many moves tie, so the
order in which they are tried decides the result: additions, then deletions, then reversals, each by the arc's
tail and head in column order; the first of the best wins. Chow-Liu trees and the exact search are
pomegranate's.
"""

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count, product
from typing import Any, Literal, get_args

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.base.progress_callbacks import ProgressCallback, ignore_progress
from fairbench_cli.data.table import Table
from fairbench_cli.network.family_counts import (
    EQUIVALENT,
    LocalScore,
    ScoreName,
    compute_network_score,
    make_local_score,
)
from fairbench_cli.network.model import is_ancestor, topological_order
from fairbench_cli.network.pomegranate import chow_liu, exact_search

LearnerName = Literal["hill-climbing", "tabu", "chow-liu", "exact"]

NamedArcs = Iterable[tuple[str, str]]
Arc = tuple[int, int]
Graph = tuple[frozenset[int], ...]

TABU = 10
"""Default length of the tabu list."""
TOLERANCE = 2.0**-26
"""Score differences up to this (the square root of the double precision, 1.49e-8) are ties."""
Gains = list[list[float]]
"""``gains[i][j]``: what j's score gains when i joins (or, if it is one, leaves) the parents of j."""


@dataclass(frozen=True)
class LearnSettings:
    """Everything but the data that decides the network.

    Plain values only, so that ``dataclasses.asdict`` can go into a cell's key and a network's file.

    Parameters
    ----------
    learner : {"hill-climbing", "tabu", "chow-liu", "exact"}
        Hill-climbing stops at the first local optimum; tabu goes on through worse graphs. Chow-Liu: the tree
        of the largest mutual information, and the arcs of the whitelist that it lacks. Exact: the best of all
        networks, of few columns. The last two are pomegranate's.
    score : {"bic", "aic", "bde", "k2"}
        See `fairbench_cli.network.family_counts.make_local_score`; pomegranate's learners take BIC alone.
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


def describe_source(
    name: str, sha256: Mapping[str, str], rows: int, settings: LearnSettings
) -> dict[str, Any]:
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


def _graph_of(arcs: Collection[Arc], n_nodes: int) -> Graph:
    """Return the graph of some arcs, as one set of parents per node."""
    parents: list[set[int]] = [set() for _ in range(n_nodes)]
    for tail, head in arcs:
        parents[head].add(tail)
    return tuple(map(frozenset, parents))


def _sorted_parents(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each node in column order."""
    return tuple(tuple(sorted(parents)) for parents in graph)


@dataclass(frozen=True)
class Constraints:
    """Arcs as (from, to) column indices; the reverse of a required arc is forbidden."""

    required: frozenset[Arc]
    forbidden: frozenset[Arc]
    max_parents: int

    def start(self, nodes: int) -> Graph:
        """Return the graph of the required arcs alone, as one set of parents per node."""
        return _graph_of(self.required, nodes)


@dataclass(frozen=True)
class Search:
    """What a search needs: local scores, whether they are score-equivalent, and the constraints."""

    local: LocalScore
    equivalent: bool
    allowed: Constraints

    def score(self, graph: Graph) -> float:
        """Return the score of a graph."""
        return compute_network_score(self.local, _sorted_parents(graph))

    def refresh(self, gains: Gains, graph: Graph, children: Collection[int]) -> None:
        """Compute again, in place, what the given children gain by one parent more or less."""
        forbidden = self.allowed.forbidden
        limit = self.allowed.max_parents
        now = {j: self.local(j, tuple(sorted(graph[j]))) for j in children}
        for i in range(len(graph)):
            for j in children:
                if i == j or (i, j) in forbidden or (i not in graph[j] and len(graph[j]) >= limit):
                    continue
                if self.equivalent and i > j and not graph[i] and not graph[j] and (j, i) not in forbidden:
                    gains[i][j] = gains[j][i]  # the same number, so that the two directions tie exactly
                    continue
                gain = self.local(j, tuple(sorted(graph[j] ^ {i}))) - now[j]
                if abs(gain) < TOLERANCE:
                    gain = 0.0
                gains[i][j] = gain

    def moves(self, graph: Graph, gains: Gains) -> Iterator[tuple[float, tuple[Arc, ...]]]:
        """Yield what each move gains that adds, drops or reverses an arc, and the arcs that it changes."""
        forbidden = self.allowed.forbidden
        nodes = range(len(graph))
        full = [len(parents) >= self.allowed.max_parents for parents in graph]
        for i in nodes:
            for j in nodes:
                adjacent = i == j or i in graph[j] or j in graph[i]
                if not adjacent and not full[j] and (i, j) not in forbidden:
                    yield gains[i][j], ((i, j),)
        arcs = [(i, j) for i, j in product(nodes, nodes) if i in graph[j]]
        arcs = [arc for arc in arcs if arc not in self.allowed.required]
        for i, j in arcs:
            yield gains[i][j], ((i, j),)
        for i, j in arcs:
            if not full[i] and (j, i) not in forbidden:
                yield gains[i][j] + gains[j][i], ((i, j), (j, i))


def learn_structure(
    table: Table, settings: LearnSettings, tell: ProgressCallback = ignore_progress
) -> Structure:
    """Return which columns depend on which; by hill-climbing and tabu what R's bnlearn 5.2.1 finds.

    Moves tie often and the first one tried wins, so the column order of the table is part of the data;
    declared levels that do not occur count in the penalties. `tell` is called with what is being done.

    Raises
    ------
    UserError
        A table without rows or with numbers, settings that contradict each other or the table, a setting
        that this learner or score does not have, or where pomegranate is needed and is not installed, or
        cannot keep to the constraints or take so large a table.

    Notes
    -----
    Scutari (2010), "Learning Bayesian networks with the bnlearn R package", J. Stat. Softw. 35(3).
    """
    learner = settings.learner
    score = settings.score
    tabu = settings.tabu
    patience = settings.patience
    if learner not in get_args(LearnerName):
        raise user_error(f'unknown learner "{learner}"', suggest(learner, get_args(LearnerName)))
    numbers = [column.name for column in table.columns if column.kind == "number"]
    if numbers:
        problem = f"{', '.join(numbers)}: a network takes levels, not numbers"
        fix = "in the card write network_bins: {quantiles: 5} of each; or in the config sample: {from: data}"
        raise user_error(problem, fix)
    local = make_local_score(table, score, settings.iss)
    if settings.iss != 1.0 and score != "bde":
        raise user_error(f"iss is set, but the score is {score}", "leave iss out, or use the score bde")
    if learner != "tabu" and (tabu != TABU or patience is not None):
        problem = f"tabu or patience is set, but the learner is {learner}"
        raise user_error(problem, "leave both out, or use the learner tabu")
    if learner in ("chow-liu", "exact") and score != "bic":
        problem = f"the score is {score}, which the learner {learner} does not have"
        raise user_error(problem, "leave the score out, or use the learner hill-climbing or tabu")
    if tabu < 1 or (patience is not None and patience < 0):
        problem = f"tabu is {tabu} and patience is {patience}"
        raise user_error(problem, "give tabu 1 or more and patience 0 or more")
    allowed = _read_constraints(table.names, settings)
    search = Search(local, score in EQUIVALENT, allowed)
    start = allowed.start(len(table.columns))
    if learner == "chow-liu":
        graph = _chow_liu_graph(table, allowed)
    elif learner == "exact":
        graph = _exact_graph(table, allowed)
    elif learner == "tabu":
        if patience is None:
            patience = tabu
        graph = best_graph(search, start, tabu, patience, tell)
    else:
        graph = best_graph(search, start, 1, 0, tell)
    parents = _sorted_parents(graph)
    if score == "bic":
        bic = local
    else:
        bic = make_local_score(table, "bic")
    return Structure(parents, compute_network_score(local, parents), compute_network_score(bic, parents))


def _chow_liu_graph(table: Table, allowed: Constraints) -> Graph:
    """Return the Chow-Liu tree and the required arcs that it lacks.

    Its root is the first column with which the constraints hold.
    """
    tree = chow_liu(table)
    n_nodes = len(table.columns)
    for root in range(n_nodes):
        arcs = set(allowed.required)
        for j, tree_parents in enumerate(_root_at(tree, root)):
            arcs |= {(i, j) for i in tree_parents}
        graph = _graph_of(arcs, n_nodes)
        small = max(map(len, graph)) <= allowed.max_parents
        if small and not arcs & allowed.forbidden and topological_order(graph) is not None:
            return graph
    problem = (
        "the Chow-Liu tree of these data does not keep, with any root, to the arcs that are required and"
    )
    fix = "loosen them, or use the learner hill-climbing"
    raise user_error(f"{problem} forbidden, to outcome_sink and to max_parents", fix)


def _root_at(tree: Sequence[tuple[int, ...]], root: int) -> list[tuple[int, ...]]:
    """Return the parents in a tree once its arcs point away from another root.

    >>> _root_at([(), (0,), (1,), (0,)], 2)
    [(1,), (2,), (), (0,)]
    """
    turned = list(tree)
    child = root
    turned[root] = ()
    while tree[child]:
        (parent,) = tree[child]
        turned[parent] = (child,)
        child = parent
    return turned


def _exact_graph(table: Table, allowed: Constraints) -> Graph:
    """Return the network of the best BIC, which has the required arcs of itself or is refused."""
    forbidden_parents = _graph_of(allowed.forbidden, len(table.columns))
    excluded = [sorted(parents) for parents in forbidden_parents]
    graph = tuple(map(frozenset, exact_search(table, excluded, allowed.max_parents)))
    for i, j in sorted(allowed.required):
        if i not in graph[j]:
            arc = f"{table.names[i]} -> {table.names[j]}"
            problem = f"the best network has no arc {arc}, and the exact search cannot require one"
            raise user_error(problem, "do not require it, or use the learner hill-climbing, tabu or chow-liu")
    return graph


def _read_constraints(names: Sequence[str], settings: LearnSettings) -> Constraints:
    """Return the constraints with indices for names, checked against the columns and each other."""
    if settings.max_parents is None:
        limit = len(names)
    else:
        limit = settings.max_parents
    if limit < 0:
        raise user_error(f"max_parents is {limit}", "give 0 or more, or leave it out for no limit")
    required = _arc_indices(names, settings.whitelist, "whitelist")
    forbidden = _arc_indices(names, settings.blacklist, "blacklist")
    for i, j in sorted(required & forbidden):
        problem = f"the arc {names[i]} -> {names[j]} is both in the whitelist and in the blacklist"
        raise user_error(problem, "take it out of one of them")
    if settings.outcome_sink is not None:
        sink = _index(names, settings.outcome_sink, "outcome_sink")
        for i, j in sorted(required):
            if i == sink:
                arc = f"{names[i]} -> {names[j]}"
                problem = f"the whitelist has {arc}, but outcome_sink says that {names[i]} has no children"
                raise user_error(problem, "drop the arc from the whitelist, or leave outcome_sink out")
        forbidden |= {(sink, j) for j in range(len(names)) if j != sink}
    allowed = Constraints(required, forbidden | {(j, i) for i, j in required}, limit)
    start = allowed.start(len(names))
    if topological_order(start) is None:
        raise user_error("the arcs of the whitelist form a cycle", "take out one arc of the cycle")
    for name, parents in zip(names, start, strict=True):
        if len(parents) > limit:
            problem = f"the whitelist gives {name} {len(parents)} parents, but max_parents is {limit}"
            raise user_error(problem, f"shorten the whitelist, or set max_parents to {len(parents)} or more")
    return allowed


def _arc_indices(names: Sequence[str], arcs: NamedArcs, where: str) -> frozenset[Arc]:
    indices = set()
    for pair in arcs:
        if isinstance(pair, str) or len(pair) != 2:
            raise user_error(f"{pair!r} is not an arc", "write an arc as [from, to]", where)
        i = _index(names, pair[0], where)
        j = _index(names, pair[1], where)
        if i == j:
            raise user_error(f"the arc {pair[0]} -> {pair[1]} is a loop", "take it out", where)
        indices.add((i, j))
    return frozenset(indices)


def _index(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise user_error(f'no column is called "{name}"', suggest(name, names), where)
    return names.index(name)


def best_graph(
    search: Search, graph: Graph, length: int, patience: int, tell: ProgressCallback = ignore_progress
) -> Graph:
    """Return the best graph on a walk that takes the best move each time.

    Where no move gains anything, the least bad one is taken, at most `patience` times before a graph better
    than all before it is found, and never back to one of the last `length` graphs. Without patience this is
    hill-climbing.
    """
    recent: deque[Graph] = deque(maxlen=length)
    gains = [[0.0] * len(graph) for _ in graph]
    changed = list(range(len(graph)))
    best = graph
    best_score = -math.inf
    losses = 0
    for step in count():  # how many moves there are left nobody knows
        tell(f"looking for the structure: {sum(map(len, graph))} arcs after {step} moves", None)
        score = search.score(graph)
        if score - best_score > TOLERANCE:
            best = graph
            best_score = score
            losses = 0
        recent.append(graph)
        search.refresh(gains, graph, changed)
        after = _after_best_move(search, graph, gains, recent, floor=0.0)
        if after is None and losses < patience:
            losses += 1
            after = _after_best_move(search, graph, gains, recent, floor=-math.inf)
        if after is None:
            break
        changed = [j for j in range(len(graph)) if after[j] != graph[j]]
        graph = after
    return best


def _after_best_move(
    search: Search, graph: Graph, gains: Gains, barred: Collection[Graph], floor: float
) -> Graph | None:
    """Return the graph after the move that gains most, more than `floor`; of ties the first wins."""
    best = floor
    chosen = None
    for gain, arcs in search.moves(graph, gains):
        if gain - best > TOLERANCE:
            after = list(graph)
            for i, j in arcs:
                after[j] ^= {i}
            tail, head = arcs[-1]  # of a move that drops an arc, no path leads from its head to its tail
            if not is_ancestor(after, older=head, younger=tail) and tuple(after) not in barred:
                best = gain
                chosen = tuple(after)
    return chosen
