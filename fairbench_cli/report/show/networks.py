"""The networks that a run drew from, as it left them, what drawings of them point out, and pictures."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.document.charts import element, format_numbers, picture, stroke, text_element
from fairbench_cli.document.model import Chart, Section
from fairbench_cli.experiment.config.worlds import read_worlds
from fairbench_cli.experiment.plan import edited_columns
from fairbench_cli.measures.groups import ProtectedAttributes
from fairbench_cli.network.bias import Groups
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
    same = all(canonical_json(source.get(key)) == canonical_json(value) for key, value in facts.items())
    if same:
        return net
    return None


def describe_network(net: BayesNet, source: dict[str, Any]) -> str:
    """Return in words how large a network is and where it is from."""
    if "network" in source:
        how = "shipped with fairbench"
    else:
        how = "learned from the data"
    return f"{len(net.columns)} nodes, {len(net.arcs)} arcs, {how} (BIC {source['bic']:,.0f})."


@dataclass(frozen=True)
class Marks:
    """Columns that the drawing points out; None or empty where that is not known."""

    outcome: str | None
    protected: str | None
    edited: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    """Of a world: by node, what it is, such as what is recorded of a column."""


def network_marks(source: Mapping[str, Any]) -> Marks:
    """Return the marks of the network of a data set, by the plan of a run."""
    edited = () if source.get("worlds") else edited_columns(source)
    return Marks(source.get("label"), source["attribute"], edited)


BIASED = ("recorded", "recorded before", "inclusion")
"""What of a world's nodes (`Marks.added`) its mechanisms decide."""


def stored_networks(run: RunResults) -> Iterator[tuple[dict[str, Any], BayesNet]]:
    """Yield what the plan says of each data set with results, and its network, where that is still there."""
    for source in run.plan.datasets if run.plan.config.sample.source != "data" else ():
        if (source["dataset"], source["attribute"]) in run.datasets_with_results:
            with suppress(UserError):
                yield source, read_network(run.folder, source)


def stored_worlds(run: RunResults) -> Iterator[tuple[dict[str, Any], str, World, Marks]]:
    """Yield what the plan says of a data set, the name of each of its worlds, the world, and what to mark.

    Nodes and arcs of a world are the same at every strength above 0: it is that of the last one.
    """
    for source, net in stored_networks(run):
        groups = _groups_of(run.plan.protected(source["dataset"], source["attribute"]), source["attribute"])
        whole = {one["world"]: one for one in source.get("worlds", ()) if one["beta"] and one["mechanisms"]}
        for name, one in whole.items():
            (spec,) = read_worlds([one["mechanisms"]])
            mechanisms = [each.build(MECHANISMS) for each in spec.mechanisms]
            with suppress(UserError):
                world = make_world(net, source["label"], source["favourable"], groups, mechanisms)
                yield (
                    source,
                    name,
                    world,
                    Marks(source["label"], source["attribute"], (), added_node_roles(world)),
                )


def describe_world(world: World) -> list[str]:
    """Return in words what a world has more than the truth, and less."""
    more = len(world.network.columns) - len(world.base.columns)
    about = []
    if more == 1:
        about.append("1 node more than the network")
    elif more:
        about.append(f"{more} nodes more than the network")
    if world.omitted:
        about.append(f"not recorded: {', '.join(world.omitted)}")
    return about


def _groups_of(protected: ProtectedAttributes, attribute: str) -> Groups:
    """Return the deprived and the favoured levels of an attribute, or of each part of a joint one."""
    parts = next((joint.of for joint in protected.joint if joint.name == attribute), (attribute,))
    return {one.name: (one.deprived, one.favoured) for one in protected.attributes if one.name in parts}


def added_node_roles(world: World) -> dict[str, str]:
    """Return the roles of the nodes that a world adds to its network, alters or leaves out."""
    found = dict.fromkeys(world.included, "inclusion") | dict.fromkeys(world.omitted, "not recorded")
    for column in world.altered:
        nodes = {name for name in world.network.names if name.rpartition(".")[0] == column}
        found |= dict.fromkeys(nodes, "recorded before") | {
            world.true_name(column): "truth",
            column: "recorded",
        }
    return found


def network_charts(run: RunResults) -> Iterator[Chart]:
    """Yield a picture of each network that the run drew from and that is still where it left it."""
    for source, net in stored_networks(run):
        title = f"{source['dataset']}, {source['attribute']}"
        yield Chart(title, draw_network(net, network_marks(source), title), describe_network(net, source))


def world_networks(run: RunResults) -> Iterator[Section]:
    """Yield a picture of each world: the true columns, what is recorded of them, and who is included.

    Its nodes and arcs are the same at every strength above 0.
    """
    called = read_display_names(run.plan.config)
    for source, name, world, marks in stored_worlds(run):
        dataset = called.dataset(source["dataset"])
        title = f"{source['dataset']}, {source['attribute']}: {name}"
        yield Section(
            f"{dataset}: {name}",
            charts=(Chart("", draw_network(world.network, marks, title)),),
            about=(("dataset", dataset), ("world", name)),
            fine=" · ".join(describe_world(world)),
        )


def draw_network(net: BayesNet, marks: Marks, title: str) -> str:
    """Return a picture of a network; the outcome, the protected attribute and what β edits are marked.

    Where one of the edited columns is no parent of the outcome β has nothing to edit, and nothing is marked.
    """
    if any((name, marks.outcome) not in net.arcs for name in marks.edited):
        marks = replace(marks, edited=())
    notes = {name: ", ".join(node_roles(name, marks)) for name in net.names}
    widths = [max(len(name), len(notes[name])) * LETTER_WIDTH + 0.2 for name in net.names]
    layout = lay_out(net.parents, widths, 0.15)
    parts = []
    for (start, end), line in arc_lines(layout, widths).items():
        ends = net.names[start], net.names[end]
        edited = ends[0] in marks.edited and ends[1] == marks.outcome
        bias = marks.added.get(ends[1]) in BIASED
        said = f"{ends[0]} → {ends[1]}"
        if edited:
            said += ": the probabilities that β edits"
        elif bias:
            said += ": bias"
        places = [[(x * INCH + EDGE, -y * INCH + EDGE) for x, y in piece] for piece in line]
        d = f"M{format_numbers(*places[0][0])}" + "".join(_bent(*piece) for piece in places)
        kind, colour, width = ("edited", "#b3261e", 2.0) if edited or bias else ("arc", "#767676", 1.0)
        parts.append(stroke(f"way {kind}", d, said, colour, width))
        x, y = places[-1][1]
        parts.append(element("path", f"tip {kind}", d=f"M{format_numbers(x, y)}l-3 -6h6z", fill=colour))
    for node, name in enumerate(net.names):
        x = layout.x[node] * INCH + EDGE
        y = -box_top(layout.layer[node]) * INCH + EDGE
        wide = widths[node] * INCH
        high = BOX_HEIGHT * INCH
        note = notes[name]
        levels = ", ".join(map(str, net.columns[node].levels[:12]))
        said = f"{name}{f' ({note})' if note else ''}: {levels}"
        corner = {
            "x": format_numbers(x - wide / 2),
            "y": format_numbers(y),
            "width": format_numbers(wide),
            "height": format_numbers(high),
        }
        look = {"rx": "4", "fill": "#ffffff", "stroke": "#222222"}
        node_class = "node"
        if note:
            node_class += " marked"
        if marks.added.get(name) in BIASED:
            node_class += " added"
        parts.append(element("rect", node_class, said, "", **corner, **look))
        parts.append(
            text_element("name", x, y + high / 2 + (-1 if note else 4), name, "middle", bold=bool(note))
        )
        parts.append(text_element("tick", x, y + high / 2 + 11, note, "middle") if note else "")
    across = max(x * INCH + (widths[i] * INCH / 2 if i < len(widths) else 0) for i, x in enumerate(layout.x))
    down = -box_top(max(layout.layer.values())) * INCH + BOX_HEIGHT * INCH
    return picture(f"Bayesian network: {title}", down + 2 * EDGE, parts, across + 2 * EDGE)


def node_roles(name: str, marks: Marks) -> tuple[str, ...]:
    """Return the roles of a node, in a few words.

    >>> node_roles("sex", Marks("income", "sex", ("sex",)))
    ('protected', 'edited by β')
    """
    added = marks.added.get(name, "")
    if added:
        column = name.removesuffix(".true")
    else:
        column = name
    if column == marks.outcome:
        whose = "outcome"
    elif column == marks.protected:
        whose = "protected"
    else:
        whose = ""
    if name in marks.edited and whose != "outcome":
        edited = "edited by β"
    else:
        edited = ""
    return tuple(filter(None, (whose, added or edited)))


def _bent(start: tuple[float, float], end: tuple[float, float]) -> str:
    x, y = start
    a, b = end
    middle = (y + b) / 2
    curve = " ".join((format_numbers(x, middle), format_numbers(a, middle), format_numbers(a, b)))
    return f"L{format_numbers(x, y)}C{curve}"
