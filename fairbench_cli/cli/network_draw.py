"""``fairbench network draw``: a network as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench_cli.cli.options import Attribute, Net, NetCard

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.network.files import Meta
    from fairbench_cli.network.model import BayesNet
    from fairbench_cli.report.figures.network import Marks


def draw(
    net: Net,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Picture to write: .svg or .png.", show_default=False)
    ],
    card: NetCard = None,
    attribute: Attribute = None,
) -> None:
    """Draw a network, with the outcome, the protected attribute and what β edits marked."""
    from fairbench_cli.cli.console import say
    from fairbench_cli.cli.network_inputs import load_net
    from fairbench_cli.errors import user_error
    from fairbench_cli.files import make_folder, write_bytes
    from fairbench_cli.report.figures.canvas import figure_bytes, house_style
    from fairbench_cli.report.figures.network import draw_network

    ending = output.suffix.lower().removeprefix(".")
    if ending not in ("svg", "png"):
        raise user_error(
            f'cannot draw a picture of the kind "{output.suffix}"', "name a .svg or .png file", "--output"
        )
    network, meta = load_net(net)
    marks = _marks(network, meta, card, attribute)
    title = f"Bayesian network: {meta.source.get('dataset', Path(net).stem)}"
    about = f"{len(network.columns)} nodes, {len(network.arcs)} arcs, {meta.learner}, BIC {meta.bic:,.0f}."
    with house_style():
        content = figure_bytes(draw_network(network, marks, title, about), ending)
    make_folder(output.parent)
    write_bytes(output, content)
    say(f"{output}: {len(network.columns)} nodes, {len(network.arcs)} arcs")


def _marks(network: "BayesNet", meta: "Meta", card: str | None, attribute: str | None) -> "Marks":
    """Return what the card given, or that of the network's data, says; nothing is marked without one."""
    from fairbench_cli.data.card import find_card, known_cards, read_card
    from fairbench_cli.errors import user_error
    from fairbench_cli.report.figures.network import Marks

    name = card or str(meta.source.get("dataset", ""))
    if not card and name not in known_cards():
        if attribute:
            raise user_error("--attribute needs a card", "name it: --card CARD.yaml", "--attribute")
        return Marks(None, None, None)
    described = read_card(find_card(name))
    chosen = described.attribute(attribute)
    for column in (chosen, described.label.column):
        if column not in network.names:
            raise user_error(f'the network has no node "{column}"', "give the card of its data", "--card")
    roles = described.roles(chosen, network.columns[network.index(chosen)].levels)
    return Marks(roles.label, chosen, described.bias_target(roles).column)
