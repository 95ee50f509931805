"""Where the nodes and arcs of a directed acyclic graph stand: layers, order within them, places.

The layout is Sugiyama's et al. (1981).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import Floats
from fairbench_cli.network.model import topological_order

BOX_HEIGHT = 0.4
LAYER_GAP = 0.52
"""Inches: a box's height, and the room between two layers."""

SWEEPS = 24
TOLERANCE = 1e-9
SMALL = 250
"""Limits of a linear program that is solved without scipy.optimize."""
PIVOTS = 10  # for each limit; a rule that takes the largest violation may go in circles
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
    level = find_layers(parents)
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


def find_layers(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return each node's layer: one below its lowest parent, or lower where that shortens arcs.

    Raises
    ------
    ValueError
        When the arcs form a cycle.

    >>> find_layers([(), (0,), (1,), (), (2, 3)])  # node 3 would be at the top
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


def count_crossings(layers: Sequence[Sequence[int]], pieces: Sequence[tuple[int, int]]) -> int:
    """Count the pairs of pieces between neighbouring layers that cross.

    >>> pieces = [(0, 3), (1, 2)]
    >>> count_crossings([[0, 1], [2, 3]], pieces), count_crossings([[0, 1], [3, 2]], pieces)
    (1, 0)
    """
    # Places are numbered through all layers, so that pieces between different layers do not cross.
    place = {node: k for k, node in enumerate(chain(*layers))}
    ends = np.array([(place[a], place[b]) for a, b in pieces], dtype=np.intp).reshape(-1, 2)
    above, below = (side[:, np.newaxis] - side for side in ends.T)
    return int((above * below < 0).sum()) // 2


def _ordered(level: Sequence[int], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order every layer by the mean place of its neighbours, down and up in turn; keep the best order."""
    nodes = range(len(level))
    layers = [[node for node in nodes if level[node] == i] for i in range(max(level, default=-1) + 1)]
    above = [[a for a, b in pieces if b == node] for node in nodes]
    below = [[b for a, b in pieces if a == node] for node in nodes]
    best = [layer[:] for layer in layers]
    least = count_crossings(layers, pieces)
    for sweep in range(SWEEPS):
        near, order = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
        for layer in order:
            # Layers differ in length, so places are compared as fractions of them.
            place = {node: (k + 0.5) / len(one) for one in layers for k, node in enumerate(one)}
            middle = {node: [place[other] for other in near[node]] or [place[node]] for node in layer}
            layer.sort(key=lambda node: sum(middle[node]) / len(middle[node]))
        count = count_crossings(layers, pieces)
        if count < least:
            best = [layer[:] for layer in layers]
            least = count
    return _swapped(best, pieces)


def _swapped(layers: list[list[int]], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Swap neighbours as long as that removes crossings."""
    least = count_crossings(layers, pieces)
    before = -1
    while least not in (0, before):
        before = least
        for layer in layers:
            for k in range(len(layer) - 1):
                layer[k], layer[k + 1] = layer[k + 1], layer[k]
                count = count_crossings(layers, pieces)
                if count >= least:
                    layer[k], layer[k + 1] = layer[k + 1], layer[k]
                least = min(least, count)
    return layers


def _places(
    layers: Sequence[Sequence[int]],
    pieces: Sequence[tuple[int, int]],
    widths: Sequence[float],
    nodes: int,
    gap: float,
) -> tuple[float, ...]:
    """Find the places with the least weighted sideways length of all pieces: a linear program."""
    n = len(widths)
    m = len(pieces)
    apart = [pair for layer in layers for pair in pairwise(layer)]
    # Between the places of both ends of each piece, and of each two neighbours, from left to right.
    across, beside = (np.eye(n)[np.array(pairs, dtype=np.intp).reshape(-1, 2)] for pairs in (pieces, apart))
    across = across[:, 0] - across[:, 1]
    beside = beside[:, 0] - beside[:, 1]
    # Variable n + k is how far the ends of piece k are apart, whatever its side.
    matrix = np.block([[across, -np.eye(m)], [-across, -np.eye(m)], [beside, np.zeros((len(apart), m))]])
    limits = [0.0] * (2 * m) + [-((widths[a] + widths[b]) / 2 + gap) for a, b in apart]
    # A touch of weight to the left gives parts without arcs between them one answer.
    cost = np.full(n + m, 1e-4)
    cost[n:] = [STRAIGHT[(a >= nodes) + (b >= nodes)] for a, b in pieces]
    # No box begins left of 0: what is sought is by how much the middles are beyond half a width.
    halves = np.append(np.array(widths) / 2, np.zeros(m))
    limits_beyond = np.array(limits) - matrix @ halves
    beyond = None
    if len(limits) <= SMALL:
        beyond = dual_simplex(cost, matrix, limits_beyond)
    if beyond is None:
        from scipy.optimize import linprog

        solution = linprog(cost, A_ub=matrix, b_ub=limits_beyond, method="highs-ds")
        assert solution.x is not None  # noqa: S101 - boxes far enough apart always fit
        beyond = solution.x
    return tuple((halves + beyond)[:n].round(6).tolist())


def dual_simplex(cost: Floats, matrix: Floats, limits: Floats) -> Floats | None:
    """Return the x ≥ 0 of least cost with ``matrix @ x <= limits``; None where it is not found soon.

    Lemke (1954), "The dual method of solving the linear programming problem", on a dense tableau. Most
    networks are small, and importing scipy.optimize takes ten times as long as this.

    Parameters
    ----------
    cost : float array, shape (variables,)
        All positive: at x = 0 nothing could be cheaper, and only limits are not kept.
    matrix : float array, shape (limits, variables)
    limits : float array, shape (limits,)
        Which some x keeps.

    >>> matrix = np.array([[-1.0, -1.0], [1.0, 0.0]])
    >>> dual_simplex(np.array([1.0, 2.0]), matrix, np.array([-3.0, 2.0])).tolist()
    [2.0, 1.0]
    """
    n_limits, n = matrix.shape
    # The last row has what each variable adds to the cost, the last column the values of those in the basis.
    tableau = np.block([[matrix, limits[:, None]], [cost, 0.0]])
    nonbasic = np.arange(n)
    basic = n + np.arange(n_limits)  # the slack of each limit
    for _ in range(PIVOTS * n_limits + 1):
        if tableau[:-1, -1].min(initial=0.0) >= -TOLERANCE:
            values = np.zeros(n + n_limits)
            values[basic] = tableau[:-1, -1]
            return values[:n]
        row = int(tableau[:-1, -1].argmin())
        candidates = np.flatnonzero(tableau[row, :-1] < -TOLERANCE)
        ratios = tableau[-1, candidates] / -tableau[row, candidates]
        column = candidates[ratios.argmin()]
        # Exchange the two variables: solve the row for the new one, and put that into all other rows.
        pivot = tableau[row, column]
        of_column = tableau[:, column].copy()
        tableau[row] /= pivot
        others = np.arange(n_limits + 1) != row
        tableau[others] -= np.outer(of_column[others], tableau[row])
        tableau[others, column] = -of_column[others] / pivot
        tableau[row, column] = 1 / pivot
        entering = nonbasic[column]
        nonbasic[column] = basic[row]
        basic[row] = entering
    return None


def box_top(layer: int) -> float:
    """Return where the boxes of a layer begin; y rises upwards from the top layer's 0."""
    return -layer * (BOX_HEIGHT + LAYER_GAP)


def arc_lines(
    layout: Layout, widths: Sequence[float]
) -> dict[tuple[int, int], list[tuple[tuple[float, float], tuple[float, float]]]]:
    """Return each arc as a chain of (start, end) between neighbouring layers.

    A chain passes the boxes of the layers on its way upright, between them. The arcs of one box leave and
    enter it side by side, in the order of where they lead.
    """

    def ports(end: int, near: int) -> dict[tuple[int, ...], float]:
        """Return where each route meets the box at one of its ends, by where it leads from there."""
        found = {}
        for node, own in group_by(layout.routes.values(), lambda route: route[end]).items():
            step = min(0.16, 0.7 * widths[node] / len(own))
            for k, route in enumerate(sorted(own, key=lambda route: (layout.x[route[near]], route))):
                found[route] = layout.x[node] + step * (k - (len(own) - 1) / 2)
        return found

    layer = layout.layer
    start = ports(0, 1)
    end = ports(-1, -2)
    lines = {}
    for arc, route in layout.routes.items():
        x = [start[route], *(layout.x[bend] for bend in route[1:-1]), end[route]]
        lines[arc] = [
            ((x[k], box_top(layer[a]) - BOX_HEIGHT), (x[k + 1], box_top(layer[b])))
            for k, (a, b) in enumerate(pairwise(route))
        ]
    return lines
