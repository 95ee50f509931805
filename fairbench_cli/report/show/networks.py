"""The networks that a run drew from, as it left them, what drawings of them point out, and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.document.charts import element, format_numbers, picture, stroke, text_element
from fairbench_cli.document.model import Chart, Section
from fairbench_cli.experiment.config.worlds import read_worlds
from fairbench_cli.experiment.plan import edited_columns, network_origin
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.network.bias import BetaEdit, Groups, edited_tables
from fairbench_cli.network.files import load
from fairbench_cli.network.mechanisms.registry import MECHANISMS
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.world import World, make_world
from fairbench_cli.report.ledger.cell_labels import read_display_names
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.graph_layout import BOX_HEIGHT, arc_lines, box_top, lay_out

INCH = 78.0  # of a layout, in a picture
LETTER_WIDTH = 0.078  # inches of a letter, about
EDGE = 6.0
Position = tuple[float, float]

ARC_LOOKS = {"edited": ("#b3261e", 2.0), "arc": ("#767676", 1.0)}
"""Colour and width of the arcs that a bias edits or adds, and of the others."""
MOST_LEVELS = 12
"""Levels of a node that its tooltip lists."""


def read_network(folder: Path, source: dict[str, Any]) -> BayesNet:
    """Return the network that a run drew a data set from.

    Parameters
    ----------
    folder : Path
        The results of the run.
    source : dict
        What its plan says about the data set.

    Raises
    ------
    UserError
        When it is not where the run left it.
    """
    if "network" in source:
        return load(shipped_cards() / source["network"])[0]
    prefix = f"{source['dataset']}-{source['attribute']}-"
    for path in sorted((folder / "networks").glob("*.json")):
        if not path.name.startswith(prefix):
            continue
        net = _read_if_fitting(path, source)
        if net is not None:
            return net
    raise user_error(
        f"the network of {source['dataset']}, {source['attribute']} is not in {folder / 'networks'}",
        "run the experiment again (finished repeats are kept), or take `network` out of its figures",
    )


def _read_if_fitting(path: Path, source: dict[str, Any]) -> BayesNet | None:
    """Read a network if its data, settings and score are those of the plan; None if they are not.

    Earlier runs, of another config or an older fairbench, leave theirs in the folder.
    """
    try:
        net, meta = load(path)
    except UserError:
        return None
    # The network's file has the card's name, the plan the name that the config gives the data set.
    facts = {key: value for key, value in meta.source.items() if key != "dataset"}
    for key, value in facts.items():
        if canonical_json(source.get(key)) != canonical_json(value):
            return None
    return net


def describe_network(net: BayesNet, source: dict[str, Any]) -> str:
    """Return in words how large a network is and where it is from."""
    size = f"{len(net.columns)} nodes, {len(net.arcs)} arcs"
    return f"{size}, {network_origin(source)} (BIC {source['bic']:,.0f})."


@dataclass(frozen=True)
class Marks:
    """The columns that a drawing points out; None or empty where that is not known."""

    outcome: str | None
    protected: str | None
    edited: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    """Of a world: by node, what it is, such as what is recorded of a column."""
    edit: BetaEdit = "outcome"


def network_marks(source: Mapping[str, Any]) -> Marks:
    """Return the marks of the network of a data set, by the plan of a run."""
    edited = () if source.get("worlds") else edited_columns(source)
    return Marks(source.get("label"), source["attribute"], edited, edit=source.get("edit", "outcome"))


BIASED = ("recorded", "recorded before", "inclusion")
"""The roles of a world's nodes (`Marks.added`) that its mechanisms decide."""


def stored_networks(run: RunResults) -> Iterator[tuple[dict[str, Any], BayesNet]]:
    """Yield what the plan says of each data set with results, and its network, where that is still there."""
    if run.plan.config.sample.source == "data":  # real rows have no network
        return
    for source in run.plan.datasets:
        if (source["dataset"], source["attribute"]) in run.datasets_with_results:
            with suppress(UserError):
                yield source, read_network(run.folder, source)


def stored_worlds(run: RunResults) -> Iterator[tuple[dict[str, Any], str, World, Marks]]:
    """Yield what the plan says of a data set, the name of each of its worlds, the world, and what to mark.

    Nodes and arcs of a world are the same at every strength above 0: it is that of the last one.
    """
    for source, net in stored_networks(run):
        groups = _groups_of(run.plan.protected(source["dataset"], source["attribute"]), source["attribute"])
        strongest = {}
        for world in source.get("worlds", ()):
            if world["beta"] and world["mechanisms"]:
                strongest[world["world"]] = world["mechanisms"]
        for name, written_mechanisms in strongest.items():
            (spec,) = read_worlds([written_mechanisms])
            mechanisms = [mechanism.build(MECHANISMS) for mechanism in spec.mechanisms]
            with suppress(UserError):
                world = make_world(net, source["label"], source["favourable"], groups, mechanisms)
                marks = Marks(source["label"], source["attribute"], (), added_node_roles(world))
                yield source, name, world, marks


def describe_world(world: World) -> list[str]:
    """Return in words what a world has more than the truth, and less."""
    n_added = len(world.network.columns) - len(world.base.columns)
    clauses = []
    if n_added == 1:
        clauses.append("1 node more than the network")
    elif n_added:
        clauses.append(f"{n_added} nodes more than the network")
    if world.omitted:
        clauses.append(f"not recorded: {', '.join(world.omitted)}")
    return clauses


def _groups_of(protected: ProtectedAttributes, attribute: str) -> Groups:
    """Return the deprived and the favoured levels of an attribute, or of each part of a joint one."""
    names = next((joint.of for joint in protected.joint if joint.name == attribute), (attribute,))
    groups = {}
    for single in protected.attributes:
        if single.name in names:
            groups[single.name] = (single.deprived, single.favoured)
    return groups


def added_node_roles(world: World) -> dict[str, str]:
    """Return the roles of the nodes that a world adds to its network, alters or leaves out."""
    roles = dict.fromkeys(world.included, "inclusion") | dict.fromkeys(world.omitted, "not recorded")
    for column in world.altered:
        # A column that several mechanisms record has a node for each, such as "column.1".
        nodes = {name for name in world.network.names if name.rpartition(".")[0] == column}
        roles |= dict.fromkeys(nodes, "recorded before")
        roles[world.true_name(column)] = "truth"
        roles[column] = "recorded"
    return roles


def network_charts(run: RunResults) -> Iterator[Chart]:
    """Yield a picture of each network that the run drew from and that is still where it left it."""
    for source, net in stored_networks(run):
        title = f"{source['dataset']}, {source['attribute']}"
        yield Chart(title, draw_network(net, network_marks(source), title), describe_network(net, source))


def world_networks(run: RunResults) -> Iterator[Section]:
    """Yield a picture of each world: the true columns, what is recorded of them, and who is included.

    Its nodes and arcs are the same at every strength above 0.
    """
    names = read_display_names(run.plan.config)
    for source, name, world, marks in stored_worlds(run):
        dataset = names.dataset(source["dataset"])
        title = f"{source['dataset']}, {source['attribute']}: {name}"
        yield Section(
            f"{dataset}: {name}",
            charts=(Chart("", draw_network(world.network, marks, title)),),
            about=(("dataset", dataset), ("world", name)),
            fine=" · ".join(describe_world(world)),
        )


def draw_network(net: BayesNet, marks: Marks, title: str) -> str:
    """Return a picture of a network; the outcome, the protected attribute and what β edits are marked.

    Where one of the edited columns has no arc that β works along, nothing is marked.
    """
    # 1. Lay the nodes out, each as wide as its name or its roles.
    tables = {}
    if marks.outcome is not None:
        tables = edited_tables(net.names, net.parents, marks.outcome, marks.edited, marks.edit)
    if len(tables) < len(marks.edited):
        marks = replace(marks, edited=())
    roles = {name: ", ".join(node_roles(name, marks)) for name in net.names}
    widths = [max(len(name), len(roles[name])) * LETTER_WIDTH + 0.2 for name in net.names]
    layout = lay_out(net.parents, widths, 0.15)
    elements: list[str] = []
    # 2. The arcs, under the nodes.
    for (start, end), line in arc_lines(layout, widths).items():
        elements += _draw_arc(net.names[start], net.names[end], line, marks)
    # 3. The nodes.
    layer_of = layout.layer_of
    for node, column in enumerate(net.columns):
        role = roles[column.name]
        levels = ", ".join(map(str, column.levels[:MOST_LEVELS]))
        node_text = column.name
        node_class = "node"
        if role:
            node_text += f" ({role})"
            node_class += " marked"
        if marks.added.get(column.name) in BIASED:
            node_class += " added"
        x = layout.x[node] * INCH + EDGE
        y = -box_top(layer_of[node]) * INCH + EDGE
        width = widths[node] * INCH
        height = BOX_HEIGHT * INCH
        corner = {
            "x": format_numbers(x - width / 2),
            "y": format_numbers(y),
            "width": format_numbers(width),
            "height": format_numbers(height),
        }
        look = {"rx": "4", "fill": "#ffffff", "stroke": "#222222"}
        elements.append(element("rect", node_class, f"{node_text}: {levels}", "", **corner, **look))
        # A role stands below the name.
        name_y = y + height / 2 + (-1 if role else 4)
        elements.append(text_element("name", x, name_y, column.name, "middle", bold=bool(role)))
        if role:
            elements.append(text_element("tick", x, y + height / 2 + 11, role, "middle"))
    # 4. As large as what is drawn; bends have no width.
    n_bends = len(layout.x) - len(widths)
    right_ends = np.array(layout.x) * INCH + np.append(widths, np.zeros(n_bends)) * INCH / 2
    height = -box_top(max(layer_of.values())) * INCH + BOX_HEIGHT * INCH
    title = f"Bayesian network: {title}"
    return picture(title, height + 2 * EDGE, elements, float(right_ends.max()) + 2 * EDGE)


def _draw_arc(
    parent: str, child: str, line: Sequence[tuple[Position, Position]], marks: Marks
) -> tuple[str, str]:
    """Return the line and the tip of an arc, given its pieces; red where a bias edits or adds it."""
    is_edited = marks.outcome in (parent, child) and not {parent, child}.isdisjoint(marks.edited)
    is_bias = marks.added.get(child) in BIASED
    tooltip = f"{parent} → {child}"
    if is_edited:
        tooltip += ": the probabilities that β edits"
    elif is_bias:
        tooltip += ": bias"
    points = []
    for piece in line:
        points.append([(x * INCH + EDGE, -y * INCH + EDGE) for x, y in piece])
    d = f"M{format_numbers(*points[0][0])}"
    for start, end in points:
        d += _draw_bend(start, end)
    kind = "edited" if is_edited or is_bias else "arc"
    colour, width = ARC_LOOKS[kind]
    tip_x, tip_y = points[-1][1]
    tip = f"M{format_numbers(tip_x, tip_y)}l-3 -6h6z"
    return (
        stroke(f"way {kind}", d, tooltip, colour, width),
        element("path", f"tip {kind}", d=tip, fill=colour),
    )


def node_roles(name: str, marks: Marks) -> tuple[str, ...]:
    """Return the roles of a node, in a few words.

    >>> node_roles("sex", Marks("income", "sex", ("sex",)))
    ('protected', 'edited by β')
    """
    added_role = marks.added.get(name, "")
    column = name.removesuffix(".true") if added_role else name
    roles = []
    if column == marks.outcome:
        roles.append("outcome")
    elif column == marks.protected:
        roles.append("protected")
    if added_role:
        roles.append(added_role)
    elif name in marks.edited and column != marks.outcome:
        roles.append("edited by β")
    return tuple(roles)


def _draw_bend(start: Position, end: Position) -> str:
    """Return the path from the start to the end of a piece, upright at both."""
    start_x, start_y = start
    end_x, end_y = end
    middle_y = (start_y + end_y) / 2
    controls = (
        format_numbers(start_x, middle_y),
        format_numbers(end_x, middle_y),
        format_numbers(end_x, end_y),
    )
    return f"L{format_numbers(start_x, start_y)}C{' '.join(controls)}"
