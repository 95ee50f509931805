"""Where the nodes and arcs of a directed acyclic graph stand: layers, order within them, places.

The layout is Sugiyama's et al. (1981).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairbench_cli.network.model import topological_order

HEIGHT, BETWEEN = 0.4, 0.52
"""Inches: a box's height, and the room between two layers."""

SWEEPS = 24
STRAIGHT = (1.0, 2.0, 8.0)
"""How much an arc's piece should stand upright, by how many of its ends are bends (Gansner et al. 1993)."""


@dataclass(frozen=True)
class Layout:
    """Where nodes and bends are.

    Nodes are 0, 1, ...; the bends of arcs that span several layers follow them.

    Parameters
    ----------
    layers : tuple of tuple of int
        Nodes and bends of each layer from left to right, the top layer first.
    x : tuple of float
        Middle of every node and bend, in the unit of the widths; the leftmost box begins at 0.
    routes : dict of (int, int) to tuple of int
        Per arc (from, to): its start, its bends, its end, one per layer downwards.
    """

    layers: tuple[tuple[int, ...], ...]
    x: tuple[float, ...]
    routes: dict[tuple[int, int], tuple[int, ...]]

    @property
    def layer(self) -> dict[int, int]:
        """Layer of every node and bend; 0 is the top."""
        return {node: i for i, layer in enumerate(self.layers) for node in layer}


def lay_out(parents: Sequence[Sequence[int]], widths: Sequence[float], gap: float) -> Layout:
    """Place the nodes so that every arc points downwards and no two of a layer are nearer than `gap`.

    Parameters
    ----------
    parents : sequence, one sequence of node indices per node
        ``parents[j]`` are the nodes with an arc into node j.
    widths : sequence of float
        Width of every node's box; a bend has none.

    Raises
    ------
    ValueError
        When the arcs form a cycle.

    >>> layout = lay_out([(), (0,), (0, 1)], [1.0, 1.0, 1.0], gap=0.5)
    >>> layout.layers[0], layout.routes[0, 2]
    ((0,), (0, 3, 2))
    """
    level = levels(parents)
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    own = [float(width) for width in widths]
    for j, above in enumerate(parents):
        for i in above:
            bends = range(len(own), len(own) + level[j] - level[i] - 1)
            own += [0.0] * len(bends)
            level += [level[i] + 1 + k for k in range(len(bends))]
            routes[i, j] = (i, *bends, j)
    pieces = [piece for route in routes.values() for piece in pairwise(route)]
    layers = _ordered(level, pieces)
    return Layout(tuple(map(tuple, layers)), _places(layers, pieces, own, len(parents), gap), routes)


def levels(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return each node's layer: one below its lowest parent, or lower where that shortens arcs.

    Raises
    ------
    ValueError
        When the arcs form a cycle.

    >>> levels([(), (0,), (1,), (), (2, 3)])  # node 3 would be at the top
    [0, 1, 2, 2, 3]
    """
    order = topological_order(parents)
    if order is None:
        raise ValueError("the arcs form a cycle")
    children = [[j for j, above in enumerate(parents) if i in above] for i in range(len(parents))]
    level = [0] * len(parents)
    for j in order:
        level[j] = max((level[i] + 1 for i in parents[j]), default=0)
    for j in reversed(order):
        if len(children[j]) > len(parents[j]):
            level[j] = min(level[k] for k in children[j]) - 1
    top = min(level, default=0)
    return [own - top for own in level]


def crossings(layers: Sequence[Sequence[int]], pieces: Sequence[tuple[int, int]]) -> int:
    """Count the pairs of pieces between neighbouring layers that cross.

    >>> crossings([[0, 1], [2, 3]], [(0, 3), (1, 2)]), crossings([[0, 1], [3, 2]], [(0, 3), (1, 2)])
    (1, 0)
    """
    place = {node: (i, k) for i, layer in enumerate(layers) for k, node in enumerate(layer)}
    ends: list[list[tuple[int, int]]] = [[] for _ in layers]
    for a, b in pieces:
        ends[place[a][0]].append((place[a][1], place[b][1]))
    return sum(
        (a - c) * (b - d) < 0
        for between in ends
        for k, (a, b) in enumerate(between)
        for c, d in between[k + 1 :]
    )


def _ordered(level: Sequence[int], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order every layer by the mean place of its neighbours, down and up in turn; keep the best order."""
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, own in enumerate(level):
        layers[own].append(node)
    above: list[list[int]] = [[] for _ in level]
    below: list[list[int]] = [[] for _ in level]
    for a, b in pieces:
        above[b].append(a)
        below[a].append(b)
    best, least = [layer[:] for layer in layers], crossings(layers, pieces)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _sort_layer(layer, layers, above if down else below)
        count = crossings(layers, pieces)
        if count < least:
            best, least = [layer[:] for layer in layers], count
    return _swapped(best, pieces)


def _sort_layer(layer: list[int], layers: Sequence[Sequence[int]], near: Sequence[Sequence[int]]) -> None:
    # Layers differ in length, so places are compared as fractions of them.
    place = {node: (k + 0.5) / len(one) for one in layers for k, node in enumerate(one)}
    middle = {
        node: sum(place[other] for other in near[node]) / len(near[node]) if near[node] else place[node]
        for node in layer
    }
    layer.sort(key=middle.__getitem__)


def _swapped(layers: list[list[int]], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Swap neighbours as long as that removes crossings."""
    least = crossings(layers, pieces)
    better = least > 0
    while better:
        better = False
        for layer in layers:
            for k in range(len(layer) - 1):
                layer[k], layer[k + 1] = layer[k + 1], layer[k]
                count = crossings(layers, pieces)
                if count < least:
                    least, better = count, True
                else:
                    layer[k], layer[k + 1] = layer[k + 1], layer[k]
    return layers


def _places(
    layers: Sequence[Sequence[int]],
    pieces: Sequence[tuple[int, int]],
    widths: Sequence[float],
    nodes: int,
    gap: float,
) -> tuple[float, ...]:
    """Find the places with the least weighted sideways length of all pieces: a linear program."""
    from scipy.optimize import linprog

    n, m = len(widths), len(pieces)
    apart = [pair for layer in layers for pair in pairwise(layer)]
    matrix, limits = np.zeros((2 * m + len(apart), n + m)), np.zeros(2 * m + len(apart))
    for k, (a, b) in enumerate(pieces):  # variable n + k is |x of a - x of b|
        matrix[2 * k, [a, b, n + k]] = 1, -1, -1
        matrix[2 * k + 1, [a, b, n + k]] = -1, 1, -1
    for k, (a, b) in enumerate(apart, start=2 * m):
        matrix[k, [a, b]] = 1, -1
        limits[k] = -((widths[a] + widths[b]) / 2 + gap)
    # A touch of weight to the left gives parts without arcs between them one answer.
    cost = np.full(n + m, 1e-4)
    cost[n:] = [STRAIGHT[(a >= nodes) + (b >= nodes)] for a, b in pieces]
    low = np.append(np.array(widths) / 2, np.zeros(m))
    found = linprog(cost, A_ub=matrix, b_ub=limits, bounds=[(at, None) for at in low], method="highs-ds")
    assert found.x is not None  # noqa: S101 - boxes far enough apart always fit
    return tuple(found.x[:n].round(6).tolist())


def box_top(layer: int) -> float:
    """Return where the boxes of a layer begin; y rises upwards from the top layer's 0."""
    return -layer * (HEIGHT + BETWEEN)


def arc_lines(
    layout: Layout, widths: Sequence[float]
) -> dict[tuple[int, int], list[tuple[tuple[float, float], tuple[float, float]]]]:
    """Return each arc as a chain of (start, end) between neighbouring layers.

    A chain passes the boxes of the layers on its way upright, between them. The arcs of one box leave and
    enter it side by side, in the order of where they lead.
    """
    layer = layout.layer
    leaving, entering = defaultdict(list), defaultdict(list)
    for route in layout.routes.values():
        leaving[route[0]].append(route)
        entering[route[-1]].append(route)
    start: dict[tuple[int, ...], float] = {}
    end: dict[tuple[int, ...], float] = {}
    for ports, routes, near in ((start, leaving, 1), (end, entering, -2)):
        for node, own in routes.items():
            own.sort(key=lambda route: (layout.x[route[near]], route))
            step = min(0.16, 0.7 * widths[node] / len(own))
            for k, route in enumerate(own):
                ports[route] = layout.x[node] + step * (k - (len(own) - 1) / 2)
    lines = {}
    for arc, route in layout.routes.items():
        x = [start[route], *(layout.x[bend] for bend in route[1:-1]), end[route]]
        lines[arc] = [
            ((x[k], box_top(layer[a]) - HEIGHT), (x[k + 1], box_top(layer[b])))
            for k, (a, b) in enumerate(pairwise(route))
        ]
    return lines
