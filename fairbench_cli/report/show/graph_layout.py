"""Where the nodes and arcs of a directed acyclic graph stand: layers, order within them, coordinates.

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
    def layer_of(self) -> dict[int, int]:
        """Layer of every node and bend; 0 is the top."""
        layer_of: dict[int, int] = {}
        for i, nodes in enumerate(self.layers):
            layer_of |= dict.fromkeys(nodes, i)
        return layer_of


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
    layer_of = find_layers(parents)
    node_widths = [float(width) for width in widths]
    # 1. An arc that spans several layers gets a bend, a node without a width, in each layer that it passes.
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    for child, node_parents in enumerate(parents):
        for parent in node_parents:
            bends = []
            for layer in range(layer_of[parent] + 1, layer_of[child]):
                bends.append(len(node_widths))
                node_widths.append(0.0)
                layer_of.append(layer)
            routes[parent, child] = (parent, *bends, child)
    pieces: list[tuple[int, int]] = []
    for route in routes.values():
        pieces += pairwise(route)
    # 2. Order the layers, then find the coordinates in them.
    layers = _order_layers(layer_of, pieces)
    x = _coordinates(layers, pieces, node_widths, len(parents), gap)
    return Layout(tuple(map(tuple, layers)), x, routes)


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
    children: list[list[int]] = [[] for _ in parents]
    for child, node_parents in enumerate(parents):
        for parent in node_parents:
            children[parent].append(child)
    layer_of = [0] * len(parents)
    for node in order:
        layer_of[node] = max((layer_of[parent] + 1 for parent in parents[node]), default=0)
    for node in reversed(order):
        if len(children[node]) > len(parents[node]):
            layer_of[node] = min(layer_of[child] for child in children[node]) - 1
    top = min(layer_of, default=0)
    return [layer - top for layer in layer_of]


def count_crossings(layers: Sequence[Sequence[int]], pieces: Sequence[tuple[int, int]]) -> int:
    """Count the pairs of pieces between neighbouring layers that cross.

    >>> pieces = [(0, 3), (1, 2)]
    >>> count_crossings([[0, 1], [2, 3]], pieces), count_crossings([[0, 1], [3, 2]], pieces)
    (1, 0)
    """
    # Positions are numbered through all layers, so that pieces between different layers do not cross.
    position = {node: k for k, node in enumerate(chain(*layers))}
    ends = np.array([(position[upper], position[lower]) for upper, lower in pieces], dtype=np.intp)
    upper_ends, lower_ends = ends.reshape(-1, 2).T
    # Two pieces cross where the one that begins further left ends further right.
    upper_order = upper_ends[:, np.newaxis] - upper_ends
    lower_order = lower_ends[:, np.newaxis] - lower_ends
    return int((upper_order * lower_order < 0).sum()) // 2


def _order_layers(layer_of: Sequence[int], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order every layer by the mean position of its neighbours, down and up in turn; keep the best order."""
    layers: list[list[int]] = [[] for _ in range(max(layer_of, default=-1) + 1)]
    for node, layer in enumerate(layer_of):
        layers[layer].append(node)
    above: list[list[int]] = [[] for _ in layer_of]
    below: list[list[int]] = [[] for _ in layer_of]
    for upper, lower in pieces:
        above[lower].append(upper)
        below[upper].append(lower)
    best = [list(nodes) for nodes in layers]
    fewest = count_crossings(layers, pieces)
    for sweep in range(SWEEPS):
        if sweep % 2 == 0:
            _sort_by_neighbours(layers, layers, above)
        else:
            _sort_by_neighbours(layers[::-1], layers, below)
        n_crossings = count_crossings(layers, pieces)
        if n_crossings < fewest:
            best = [list(nodes) for nodes in layers]
            fewest = n_crossings
    return _swap_neighbours(best, pieces)


def _sort_by_neighbours(
    sorted_layers: Sequence[list[int]], layers: Sequence[list[int]], neighbours: Sequence[Sequence[int]]
) -> None:
    """Sort layers in place, in turn, by the mean position of each node's neighbours; those without stay."""
    position: dict[int, float] = {}

    def mean_position(node: int) -> float:
        positions = [position[neighbour] for neighbour in neighbours[node]]
        if not positions:
            return position[node]
        return sum(positions) / len(positions)

    for sorted_nodes in sorted_layers:
        # Layers differ in length, so positions are fractions of it; the last layer sorted has new ones.
        for nodes in layers:
            position |= {node: (k + 0.5) / len(nodes) for k, node in enumerate(nodes)}
        means = {node: mean_position(node) for node in sorted_nodes}
        sorted_nodes.sort(key=means.__getitem__)


def _swap_neighbours(layers: list[list[int]], pieces: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Swap neighbours as long as that removes crossings."""
    fewest = count_crossings(layers, pieces)
    previous = -1
    while fewest not in (0, previous):
        previous = fewest
        for layer in layers:
            for k in range(len(layer) - 1):
                layer[k], layer[k + 1] = layer[k + 1], layer[k]
                n_crossings = count_crossings(layers, pieces)
                if n_crossings >= fewest:  # swap back
                    layer[k], layer[k + 1] = layer[k + 1], layer[k]
                fewest = min(fewest, n_crossings)
    return layers


def _coordinates(
    layers: Sequence[Sequence[int]],
    pieces: Sequence[tuple[int, int]],
    widths: Sequence[float],
    n_nodes: int,
    gap: float,
) -> tuple[float, ...]:
    """Find the x of nodes and bends with the least weighted sideways length of all pieces: a linear program.

    Nodes from `n_nodes` on are bends.
    """
    n = len(widths)
    m = len(pieces)
    neighbours: list[tuple[int, int]] = []
    for layer in layers:
        neighbours += pairwise(layer)
    # 1. The limits. Variable n + k is how far the ends of piece k are apart, whatever its side.
    across = _difference_rows(pieces, n)
    between = _difference_rows(neighbours, n)
    matrix = np.block(
        [[across, -np.eye(m)], [-across, -np.eye(m)], [between, np.zeros((len(neighbours), m))]]
    )
    limits = [0.0] * (2 * m)
    for left_node, right_node in neighbours:
        limits.append(-((widths[left_node] + widths[right_node]) / 2 + gap))
    # 2. The cost. A touch of weight to the left gives parts without arcs between them one answer.
    cost = np.full(n + m, 1e-4)
    for k, (upper, lower) in enumerate(pieces):
        n_bends = (upper >= n_nodes) + (lower >= n_nodes)
        cost[n + k] = STRAIGHT[n_bends]
    # 3. Solve it. No box begins left of 0: what is sought is by how much the middles are beyond half a width.
    half_widths = np.append(np.array(widths) / 2, np.zeros(m))
    limits_beyond = np.array(limits) - matrix @ half_widths
    beyond = None
    if len(limits) <= SMALL:
        beyond = dual_simplex(cost, matrix, limits_beyond)
    if beyond is None:
        from scipy.optimize import linprog

        solution = linprog(cost, A_ub=matrix, b_ub=limits_beyond, method="highs-ds")
        assert solution.x is not None  # noqa: S101 - boxes far enough apart always fit
        beyond = solution.x
    return tuple((half_widths + beyond)[:n].round(6).tolist())


def _difference_rows(pairs: Sequence[tuple[int, int]], n: int) -> Floats:
    """Return the matrix, shape (pairs, n), by which each pair of coordinates gives its difference."""
    ends = np.eye(n)[np.array(pairs, dtype=np.intp).reshape(-1, 2)]
    rows: Floats = ends[:, 0] - ends[:, 1]
    return rows


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
        old_column = tableau[:, column].copy()
        tableau[row] /= pivot
        other_rows = np.arange(n_limits + 1) != row
        tableau[other_rows] -= np.outer(old_column[other_rows], tableau[row])
        tableau[other_rows, column] = -old_column[other_rows] / pivot
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
    start = _ports(layout, widths, 0, 1)
    end = _ports(layout, widths, -1, -2)
    layer_of = layout.layer_of
    lines = {}
    for arc, route in layout.routes.items():
        x = [layout.x[node] for node in route]
        x[0] = start[route]
        x[-1] = end[route]
        line = []
        for k, (upper, lower) in enumerate(pairwise(route)):
            upper_bottom = box_top(layer_of[upper]) - BOX_HEIGHT
            line.append(((x[k], upper_bottom), (x[k + 1], box_top(layer_of[lower]))))
        lines[arc] = line
    return lines


def _ports(layout: Layout, widths: Sequence[float], end: int, neighbour: int) -> dict[tuple[int, ...], float]:
    """Return the x at which each route meets the box at one of its ends, by where it leads from there.

    `end` and `neighbour` are indices into the route, of the box and of the node or bend next to it.
    """

    def leads_to(route: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return layout.x[route[neighbour]], route

    ports = {}
    for node, routes in group_by(layout.routes.values(), lambda route: route[end]).items():
        step = min(0.16, 0.7 * widths[node] / len(routes))
        for k, route in enumerate(sorted(routes, key=leads_to)):
            ports[route] = layout.x[node] + step * (k - (len(routes) - 1) / 2)
    return ports
