"""Directed acyclic graphs as one tuple of parent indices per node."""

from collections.abc import Collection, Sequence


def topological_order(parents: Sequence[Collection[int]]) -> tuple[int, ...] | None:
    """Order the nodes so that parents come before children; of the nodes that are ready the first goes next.

    Parameters
    ----------
    parents : sequence, one collection of node indices per node
        ``parents[j]`` are the nodes with an arc into node j.

    Returns
    -------
    tuple of int, or None
        None when the graph has a cycle.

    >>> topological_order([(1,), (), (0, 1)])
    (1, 0, 2)
    >>> topological_order([(1,), (0,)]) is None
    True
    """
    order: list[int] = []
    placed: set[int] = set()
    waiting = list(range(len(parents)))
    while waiting:
        ready = next((j for j in waiting if placed.issuperset(parents[j])), None)
        if ready is None:
            return None
        order.append(ready)
        placed.add(ready)
        waiting.remove(ready)
    return tuple(order)


def is_ancestor(parents: Sequence[Collection[int]], older: int, younger: int) -> bool:
    """Say whether a directed path leads from node `older` to node `younger`.

    >>> is_ancestor([(), (0,), (1,)], older=0, younger=2)
    True
    >>> is_ancestor([(), (0,), (1,)], older=2, younger=0)
    False
    """
    seen: set[int] = set()
    frontier = [younger]
    while frontier:
        for parent in parents[frontier.pop()]:
            if parent == older:
                return True
            if parent not in seen:
                seen.add(parent)
                frontier.append(parent)
    return False


def named_arcs(names: Sequence[str], parents: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    """List the arcs as (from, to) pairs of names: children in column order, then their parents in order.

    >>> named_arcs(["sex", "job", "pay"], [(), (0,), (0, 1)])
    [('sex', 'job'), ('sex', 'pay'), ('job', 'pay')]
    """
    return [(names[i], names[j]) for j in range(len(names)) for i in parents[j]]
