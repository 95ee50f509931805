"""Bayesian networks, nodes in layers, and those that a run drew from: Cardoso et al. (2019), Figure 2.

The layout of a directed acyclic graph is Sugiyama's et al. (1981): layers, order within them, places.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.experiment.plan import edited_columns
from fairbench_cli.network.files import load
from fairbench_cli.network.model import BayesNet, topological_order
from fairbench_cli.report.figures.canvas import GREY, INK, NORMAL, SMALL, Panel, facet, text_width
from fairbench_cli.report.figures.pages import by_name
from fairbench_cli.report.results import RunResults

HEIGHT, BETWEEN, GAP, PADDING = 0.4, 0.52, 0.24, 0.2
"""Inches: a box's height, the room between two layers and between two boxes, a box's text and its edge."""

EDITED_ARC = "#B3261E"

SWEEPS = 24
STRAIGHT = (1.0, 2.0, 8.0)
"""How much an arc's piece should stand upright, by how many of its ends are bends (Gansner et al. 1993)."""


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and protected attribute of which there are results.

    Raises
    ------
    UserError
        When a network is not where the run left it.
    """
    sources = {(one["dataset"], one["attribute"]): one for one in run.plan.datasets}
    found = by_name({name: one for name, one in sources.items() if name in run.with_results})
    return {name: _figure(run.folder, source) for name, (_, source) in found.items()}


def _figure(folder: Path, source: dict[str, Any]) -> Figure:
    net = _network(folder, source)
    how = "shipped with fairbench" if "network" in source else "learned from the data"
    about = f"{len(net.columns)} nodes, {len(net.arcs)} arcs, {how} (BIC {source['bic']:,.0f})."
    marks = Marks(source.get("label"), source["attribute"], edited_columns(source))
    return draw_network(net, marks, f"Bayesian network: {source['dataset']}, {source['attribute']}", about)


def _network(folder: Path, source: dict[str, Any]) -> BayesNet:
    if "network" in source:
        return load(shipped_cards() / source["network"])[0]
    start = f"{source['dataset']}-{source['attribute']}-"
    for path in sorted((folder / "networks").glob("*.json")):
        if path.name.startswith(start) and (net := _fitting(path, source)):
            return net
    raise user_error(
        f"the network of {source['dataset']}, {source['attribute']} is not in {folder / 'networks'}",
        "run the experiment again (finished repeats are kept), or take `network` out of its figures",
    )


def _fitting(path: Path, source: dict[str, Any]) -> BayesNet | None:
    """Read a network if its data, settings and score are those of the plan.

    Earlier runs, of another config or an older fairbench, leave theirs in the folder.
    """
    try:
        net, meta = load(path)
    except UserError:
        return None
    # The network's file has the card's name, the plan the name that the config gives the data set.
    facts = {key: value for key, value in meta.source.items() if key != "dataset"}
    same = all(_plain(source.get(key)) == _plain(value) for key, value in facts.items())
    return net if same else None


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True)
class Marks:
    """Columns that the drawing points out; None or empty where that is not known."""

    outcome: str | None
    protected: str | None
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class BoxLook:
    """How a role's box looks, in colour and in shape."""

    name: str
    face: str
    edge: str
    shape: str
    width: float


OUTCOME = BoxLook("outcome", "#FBD9A5", "#8A4B00", "square,pad=0", 2.4)
PROTECTED = BoxLook("protected attribute", "#BFDDF2", "#00476E", "roundtooth,pad=0,tooth_size=0.035", 1.4)
EDITED = BoxLook("column that β edits", "#CDEBDD", "#00614A", "round,pad=0,rounding_size=0.19", 1.4)
PLAIN = BoxLook("", "#FFFFFF", GREY, "round,pad=0,rounding_size=0.06", 0.9)


def roles(name: str, marks: Marks) -> tuple[BoxLook, str]:
    """Return how a column's box looks and what stands under its name.

    >>> roles("sex", Marks("income", "sex", ("sex",)))[1]
    'protected · edited by β'
    """
    if name == marks.outcome:
        return OUTCOME, "outcome"
    if name == marks.protected:
        return PROTECTED, "protected · edited by β" if name in marks.edited else "protected"
    if name in marks.edited:
        return EDITED, "edited by β"
    return PLAIN, ""


def draw_network(net: BayesNet, marks: Marks, title: str, about: str) -> Figure:
    """Draw a network with the outcome, the protected attribute and what β edits marked.

    Parameters
    ----------
    title, about : str
        Set above the drawing.
    """
    without = [name for name in marks.edited if marks.outcome and (name, marks.outcome) not in net.arcs]
    for name in without:
        about += f" {name} is no parent of {marks.outcome}: β has nothing to edit."
    edited = () if without else tuple((name, marks.outcome) for name in marks.edited)
    marks = replace(marks, edited=() if without else marks.edited)
    labels = [(name, *roles(name, marks)) for name in net.names]
    widths = [
        max(text_width(name, NORMAL, "bold" if kind is not PLAIN else "normal"), text_width(role, SMALL))
        + PADDING
        for name, kind, role in labels
    ]
    layout = lay_out(net.parents, widths, GAP)
    wide = max(x + width / 2 for x, width in zip(layout.x, [*widths, *[0.0] * len(layout.x)], strict=False))
    tall = len(layout.layers) * (HEIGHT + BETWEEN) - BETWEEN
    shown = {kind for _, kind, _ in labels}
    legend = _legend([k for k in (OUTCOME, PROTECTED, EDITED) if k in shown], bool(edited))

    def drawn(ax: Axes) -> None:
        ax.set(xlim=(-0.05, wide + 0.05), ylim=(-tall - 0.05, 0.05))
        ax.axis("off")
        for arc, line in arc_lines(layout, widths).items():
            start, end = (net.names[node] for node in arc)
            _arc(ax, line, (start, end) in edited, f"arc-{start}-{end}")
        for node, (name, kind, role) in enumerate(labels):
            middle = (layout.x[node], box_top(layout.layer[node]) - HEIGHT / 2)
            _node(ax, middle, widths[node], name, kind, role)

    size, room = (wide + 0.1, tall + 0.1), (0.0, 0.0, 0.0, 0.0)
    return facet(title, about, [Panel(drawn)], 1, size, legend, room=room, handle=0.34)


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


def _arc(ax: Axes, line: Any, edited: bool, gid: str) -> None:
    points, codes = [line[0][0]], [Curve.MOVETO]
    for (x0, y0), (x1, y1) in line:
        if points[-1] != (x0, y0):
            points.append((x0, y0))
            codes.append(Curve.LINETO)
        points += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
        codes += [Curve.CURVE4] * 3
    colour, width = (EDITED_ARC, 1.9) if edited else (GREY, 0.9)
    style = "-|>,head_length=4.2,head_width=1.9"
    # The line ends where the arrow's head begins to be wide, not at its tip.
    arrow = FancyArrowPatch(
        path=Curve(points, codes), arrowstyle=style, color=colour, lw=width, zorder=3 if edited else 2,
        shrinkA=0, shrinkB=0, mutation_scale=1.0, gid=gid, capstyle="butt", joinstyle="miter",
    )  # fmt: skip
    ax.add_patch(arrow)


def _box(
    corner: tuple[float, float], width: float, height: float, kind: BoxLook, **more: Any
) -> FancyBboxPatch:
    return FancyBboxPatch(
        corner, width, height, boxstyle=kind.shape, fc=kind.face, ec=kind.edge, lw=kind.width, **more
    )


def _node(ax: Axes, middle: tuple[float, float], width: float, name: str, kind: BoxLook, role: str) -> None:
    corner = (middle[0] - width / 2, middle[1] - HEIGHT / 2)
    ax.add_patch(_box(corner, width, HEIGHT, kind, zorder=4, gid=f"node-{name}"))
    lift = 0.075 if role else 0.0
    weight = "bold" if role else "normal"
    text: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5}
    ax.text(middle[0], middle[1] + lift, name, fontsize=NORMAL, weight=weight, color=INK, **text)
    if role:
        ax.text(middle[0], middle[1] - 0.085, role, fontsize=SMALL, color=kind.edge, **text)


def _legend(kinds: Sequence[BoxLook], has_edited_arc: bool) -> list[tuple[Any, str]]:
    legend: list[tuple[Any, str]] = [(_box((0, 0), 1, 1, kind), kind.name) for kind in kinds]
    if has_edited_arc:
        legend.append(({"color": EDITED_ARC, "lw": 1.9}, "arc whose probabilities β edits"))
    return legend
