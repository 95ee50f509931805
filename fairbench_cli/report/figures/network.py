"""Bayesian networks, nodes in layers, and those that a run drew from: Cardoso et al. (2019), Figure 2."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.world import World
from fairbench_cli.report import networks
from fairbench_cli.report.figures import pages
from fairbench_cli.report.figures.canvas import GREY, INK, NORMAL, SMALL, Panel, facet, text_width
from fairbench_cli.report.layers import BETWEEN, HEIGHT, arc_lines, box_top, lay_out
from fairbench_cli.report.networks import BIASED, Marks
from fairbench_cli.report.results import RunResults

GAP = 0.24
PADDING = 0.2
"""Inches: the room between two boxes, and between a box's text and its edge."""

EDITED_ARC = "#B3261E"


def draw(run: RunResults) -> dict[str, Figure]:
    """Draw one figure per data set and protected attribute of which there are results, and one per world.

    Raises
    ------
    UserError
        When a network is not where the run left it.
    """
    sources = {(one["dataset"], one["attribute"]): one for one in run.plan.datasets}
    shown = {name: one for name, one in sources.items() if name in run.with_results}
    figures = pages.drawn(run, ("dataset", "attribute"), shown, _of_plan)
    worlds = {
        (source["dataset"], source["attribute"], name): (world, marks)
        for source, name, world, marks in networks.worlds_of_run(run)
    }
    return figures | pages.drawn(run, ("dataset", "attribute", "world"), worlds, _of_world)


def _of_world(_run: RunResults, title: str, seen: tuple[World, Marks]) -> Figure:
    world, marks = seen
    about = ". ".join(text.capitalize() for text in networks.about_world(world)) + "."
    return draw_network(world.network, marks, f"A world as a network: {title}", about)


def _of_plan(run: RunResults, title: str, source: dict[str, Any]) -> Figure:
    net = networks.network_of(run.folder, source)
    about = networks.about_network(net, source)
    return draw_network(net, networks.marks_of(source), f"Bayesian network: {title}", about)


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
RECORDED = replace(EDITED, name="decided by the bias")
PLAIN = BoxLook("", "#FFFFFF", GREY, "round,pad=0,rounding_size=0.06", 0.9)


def look_of(name: str, marks: Marks) -> BoxLook:
    """Return how a column's box looks."""
    if name in (marks.outcome, marks.protected):
        if name == marks.outcome:
            return OUTCOME
        return PROTECTED
    if name in marks.edited:
        return EDITED
    if marks.added.get(name) in BIASED:
        return RECORDED
    return PLAIN


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
    biased = {arc for arc in net.arcs if marks.added.get(arc[1]) in BIASED}
    marks = replace(marks, edited=() if without else marks.edited)
    labels = [(name, look_of(name, marks), " · ".join(networks.role_of(name, marks))) for name in net.names]
    widths = [
        max(text_width(name, NORMAL, "bold" if role else "normal"), text_width(role, SMALL)) + PADDING
        for name, _, role in labels
    ]
    layout = lay_out(net.parents, widths, GAP)
    wide = max(x + width / 2 for x, width in zip(layout.x, [*widths, *[0.0] * len(layout.x)], strict=False))
    tall = len(layout.layers) * (HEIGHT + BETWEEN) - BETWEEN
    shown = {kind for _, kind, _ in labels}
    kinds = [kind for kind in (OUTCOME, PROTECTED, EDITED, RECORDED) if kind in shown]
    legend = _legend(kinds, bool(edited), bool(biased))

    def drawn(ax: Axes) -> None:
        ax.set(xlim=(-0.05, wide + 0.05), ylim=(-tall - 0.05, 0.05))
        ax.axis("off")
        for arc, line in arc_lines(layout, widths).items():
            start, end = (net.names[node] for node in arc)
            _arc(ax, line, (start, end) in {*edited, *biased}, f"arc-{start}-{end}")
        for node, (name, kind, role) in enumerate(labels):
            middle = (layout.x[node], box_top(layout.layer[node]) - HEIGHT / 2)
            _node(ax, middle, widths[node], name, kind, role)

    size = (wide + 0.1, tall + 0.1)
    room = (0.0, 0.0, 0.0, 0.0)
    return facet(title, about, [Panel(drawn)], 1, size, legend, room=room, handle=0.34)


def _arc(ax: Axes, line: Any, edited: bool, gid: str) -> None:
    points = [line[0][0]]
    codes = [Curve.MOVETO]
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
    if role:
        lift = 0.075
    else:
        lift = 0.0
    if role:
        weight = "bold"
    else:
        weight = "normal"
    text: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5}
    ax.text(middle[0], middle[1] + lift, name, fontsize=NORMAL, weight=weight, color=INK, **text)
    if role:
        ax.text(middle[0], middle[1] - 0.085, role, fontsize=SMALL, color=kind.edge, **text)


def _legend(kinds: Sequence[BoxLook], has_edited_arc: bool, has_biased_arc: bool) -> list[tuple[Any, str]]:
    legend: list[tuple[Any, str]] = [(_box((0, 0), 1, 1, kind), kind.name) for kind in kinds]
    if has_edited_arc or has_biased_arc:
        if has_edited_arc:
            words = "arc whose probabilities β edits"
        else:
            words = "arc of the bias"
        legend.append(({"color": EDITED_ARC, "lw": 1.9}, words))
    return legend
