"""Hill-climbing and tabu search over directed acyclic graphs, one arc added, dropped or reversed at a time.

Many moves tie, so the order in which they are tried decides the result: additions, then deletions, then
reversals, each by the arc's tail and head in column order; the first of the best wins.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from fairbench_cli.network.model import is_ancestor
from fairbench_cli.network.scores import LocalScore, network_score

Arc = tuple[int, int]
Graph = tuple[frozenset[int], ...]

TOLERANCE = 2.0**-26
"""Score differences up to this (the square root of the double precision, 1.49e-8) are ties."""
Gains = list[list[float]]
"""``gains[i][j]``: what j's score gains when i joins (or, if it is one, leaves) the parents of j."""


@dataclass(frozen=True)
class Constraints:
    """Arcs as (from, to) column indices; the reverse of a required arc is forbidden."""

    required: frozenset[Arc]
    forbidden: frozenset[Arc]
    max_parents: int

    def start(self, nodes: int) -> Graph:
        """Return the graph of the required arcs alone, as one set of parents per node."""
        return tuple(frozenset(i for i, child in self.required if child == j) for j in range(nodes))


class Move(NamedTuple):
    """One change of the graph: the arc i -> j is added, dropped or reversed."""

    kind: Literal["add", "drop", "reverse"]
    i: int
    j: int
    gain: float


@dataclass(frozen=True)
class Search:
    """What a search needs: local scores, whether they are score-equivalent, and the constraints."""

    local: LocalScore
    equivalent: bool
    allowed: Constraints


def hill_climb(search: Search, graph: Graph) -> Graph:
    """Return the graph from which no move gains anything, taking the best move from `graph` on."""
    gains = _gains(search, graph)
    while True:
        move = _best_move(search, graph, gains, 0.0, lambda _: True, tiny_is_zero=True)
        if move is None:
            return graph
        graph = _apply(graph, move)
        _refresh(gains, search, graph, _changed(move))


def tabu_search(search: Search, graph: Graph, length: int, patience: int) -> Graph:
    """Return the best graph seen, going on through worse ones but never back to one of the last `length`.

    When no move gains anything the least bad one is taken, at most `patience` times before a graph better
    than all before it is found.
    """
    recent: deque[Graph] = deque(maxlen=length)
    gains = _gains(search, graph)
    best, best_score, losses = graph, _total(search, graph), 0
    while True:
        score = _total(search, graph)
        if score - best_score > TOLERANCE:
            best, best_score = graph, score
        recent.append(graph)
        move = _best_move(search, graph, gains, 0.0, lambda candidate: candidate not in recent)
        if move is None:
            if losses >= patience:
                return best
            losses += 1
            move = _best_move(search, graph, gains, float("-inf"), lambda candidate: candidate not in recent)
            if move is None:
                return best
        elif score + move.gain - best_score > TOLERANCE:
            losses = 0
        graph = _apply(graph, move)
        _refresh(gains, search, graph, _changed(move))


def _total(search: Search, graph: Graph) -> float:
    return network_score(search.local, tuple(tuple(sorted(own)) for own in graph))


def _best_move(
    search: Search,
    graph: Graph,
    gains: Gains,
    floor: float,
    permitted: Callable[[Graph], bool],
    tiny_is_zero: bool = False,
) -> Move | None:
    """Return the move that gains most, and more than `floor`; of moves that tie the first tried wins."""
    best, chosen = floor, None
    for move in _moves(search.allowed, graph, gains, tiny_is_zero):
        if move.gain - best > TOLERANCE:
            candidate = _apply(graph, move)
            if _is_acyclic_after(candidate, move) and permitted(candidate):
                best, chosen = move.gain, move
    return chosen


def _moves(allowed: Constraints, graph: Graph, gains: Gains, tiny_is_zero: bool) -> Iterator[Move]:
    nodes = range(len(graph))
    full = [len(own) >= allowed.max_parents for own in graph]
    for i in nodes:
        for j in nodes:
            adjacent = i == j or i in graph[j] or j in graph[i]
            if not adjacent and not full[j] and (i, j) not in allowed.forbidden:
                yield Move("add", i, j, gains[i][j])
    arcs = [(i, j) for i in nodes for j in nodes if i in graph[j] and (i, j) not in allowed.required]
    for i, j in arcs:
        yield Move("drop", i, j, gains[i][j])
    for i, j in arcs:
        if not full[i] and (j, i) not in allowed.forbidden:
            gain = gains[i][j] + gains[j][i]
            yield Move("reverse", i, j, 0.0 if tiny_is_zero and abs(gain) < TOLERANCE else gain)


def _apply(graph: Graph, move: Move) -> Graph:
    after = list(graph)
    after[move.j] ^= {move.i}
    if move.kind == "reverse":
        after[move.i] |= {move.j}
    return tuple(after)


def _is_acyclic_after(graph: Graph, move: Move) -> bool:
    if move.kind == "drop":
        return True
    older, younger = (move.i, move.j) if move.kind == "add" else (move.j, move.i)
    return not is_ancestor(graph, older=younger, younger=older)


def _changed(move: Move) -> tuple[int, ...]:
    return tuple(sorted((move.i, move.j))) if move.kind == "reverse" else (move.j,)


def _gains(search: Search, graph: Graph) -> Gains:
    gains = [[0.0] * len(graph) for _ in graph]
    _refresh(gains, search, graph, tuple(range(len(graph))))
    return gains


def _refresh(gains: Gains, search: Search, graph: Graph, children: tuple[int, ...]) -> None:
    """Compute the gains of the given children again, in place."""
    forbidden, limit = search.allowed.forbidden, search.allowed.max_parents
    now = {j: search.local(j, tuple(sorted(graph[j]))) for j in children}
    for i in range(len(graph)):
        for j in children:
            if i == j or (i, j) in forbidden or (i not in graph[j] and len(graph[j]) >= limit):
                continue
            if search.equivalent and i > j and not graph[i] and not graph[j] and (j, i) not in forbidden:
                gains[i][j] = gains[j][i]  # the same number, so that the two directions tie exactly
                continue
            gain = search.local(j, tuple(sorted(graph[j] ^ {i}))) - now[j]
            gains[i][j] = 0.0 if abs(gain) < TOLERANCE else gain
