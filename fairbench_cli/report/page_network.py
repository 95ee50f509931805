"""The networks of a run as pictures for its page."""

from collections.abc import Iterator

from fairbench_cli.document.charts import element, picture, short, stroke, text
from fairbench_cli.document.model import Chart, Section
from fairbench_cli.experiment.plan import edited_columns
from fairbench_cli.network.model import BayesNet
from fairbench_cli.report.layers import HEIGHT, arc_lines, box_top, lay_out
from fairbench_cli.report.networks import (
    BIASED,
    Marks,
    about_network,
    about_world,
    networks_of,
    worlds_of_run,
)
from fairbench_cli.report.results import RunResults
from fairbench_cli.report.tables import names_of

INCH = 78.0  # of a layout, in a picture
LETTER = 0.078  # inches of a letter, about
EDGE = 6.0


def network_charts(run: RunResults) -> Iterator[Chart]:
    """Yield a picture of each network that the run drew from and that is still where it left it."""
    for source, net in networks_of(run):
        edited = () if source.get("worlds") else edited_columns(source)
        marks = Marks(source.get("label"), source["attribute"], edited)
        title = f"{source['dataset']}, {source['attribute']}"
        yield Chart(title, drawn_network(net, marks, title), about_network(net, source))


def world_networks(run: RunResults) -> Iterator[Section]:
    """Yield a picture of each world: the true columns, what is recorded of them, and who is included.

    Its nodes and arcs are the same at every strength above 0.
    """
    called = names_of(run.plan.config)
    for source, name, world, marks in worlds_of_run(run):
        dataset, title = (
            called.dataset(source["dataset"]),
            f"{source['dataset']}, {source['attribute']}: {name}",
        )
        yield Section(
            f"{dataset}: {name}",
            charts=(Chart("", drawn_network(world.network, marks, title)),),
            about=(("dataset", dataset), ("world", name)),
            fine=" · ".join(about_world(world)),
        )


def drawn_network(net: BayesNet, marks: Marks, title: str) -> str:
    """Return a picture of a network; the outcome, the protected attribute and what β edits are marked."""
    notes = {name: _role(name, marks) for name in net.names}
    widths = [max(len(name), len(notes[name])) * LETTER + 0.2 for name in net.names]
    layout = lay_out(net.parents, widths, 0.15)
    parts = []
    for (start, end), line in arc_lines(layout, widths).items():
        ends = net.names[start], net.names[end]
        edited = ends[0] in marks.edited and ends[1] == marks.outcome
        bias = marks.added.get(ends[1]) in BIASED
        said = f"{ends[0]} → {ends[1]}" + (": the probabilities that β edits" if edited else ": bias" * bias)
        places = [[(x * INCH + EDGE, -y * INCH + EDGE) for x, y in piece] for piece in line]
        d = f"M{short(*places[0][0])}" + "".join(_bent(*piece) for piece in places)
        kind, colour, width = ("edited", "#b3261e", 2.0) if edited or bias else ("arc", "#767676", 1.0)
        parts.append(stroke(f"way {kind}", d, said, colour, width))
        x, y = places[-1][1]
        parts.append(element("path", f"tip {kind}", d=f"M{short(x, y)}l-3 -6h6z", fill=colour))
    for node, name in enumerate(net.names):
        x, y = layout.x[node] * INCH + EDGE, -box_top(layout.layer[node]) * INCH + EDGE
        wide, high, note = widths[node] * INCH, HEIGHT * INCH, notes[name]
        levels = ", ".join(map(str, net.columns[node].levels[:12]))
        said = f"{name}{f' ({note})' if note else ''}: {levels}"
        corner = {"x": short(x - wide / 2), "y": short(y), "width": short(wide), "height": short(high)}
        look = {"rx": "4", "fill": "#ffffff", "stroke": "#222222"}
        added = " added" if marks.added.get(name) in BIASED else ""
        parts.append(element("rect", f"node{' marked' * bool(note)}{added}", said, "", **corner, **look))
        parts.append(text("name", x, y + high / 2 + (-1 if note else 4), name, "middle", bold=bool(note)))
        parts.append(text("tick", x, y + high / 2 + 11, note, "middle") if note else "")
    across = max(x * INCH + (widths[i] * INCH / 2 if i < len(widths) else 0) for i, x in enumerate(layout.x))
    down = -box_top(max(layout.layer.values())) * INCH + HEIGHT * INCH
    return picture(f"Bayesian network: {title}", down + 2 * EDGE, parts, across + 2 * EDGE)


def _role(name: str, marks: Marks) -> str:
    """Return what a node is, in a few words."""
    if name in marks.added:
        column = name.rpartition(".")[0] if name.endswith(".true") else name
        whose = "outcome" if column == marks.outcome else "protected" if column == marks.protected else ""
        return ", ".join(filter(None, (whose, marks.added[name])))
    edited = "edited by β" if name in marks.edited else ""
    if name == marks.outcome:
        return "outcome"
    if name == marks.protected:
        return f"protected, {edited}" if edited else "protected"
    return edited


def _bent(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (a, b) = start, end
    middle = (y + b) / 2
    return f"L{short(x, y)}C{short(x, middle)} {short(a, middle)} {short(a, b)}"
