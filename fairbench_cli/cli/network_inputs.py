"""What the network commands are given: a network, arcs, and a card that says what β edits."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # light when asked for --help
    from fairbench_cli.network.files import Meta
    from fairbench_cli.network.model import BayesNet


def tilted(
    network: "BayesNet", meta: "Meta", beta: float, card: str | None, attribute: str | None, *, both: bool
) -> "BayesNet":
    """Return the network at β, with label and groups from a card: the one named, or its data set's."""
    from fairbench_cli.data.card import find_card, known_cards, read_card
    from fairbench_cli.errors import user_error
    from fairbench_cli.network.bias import shift

    name = card or str(meta.source.get("dataset", ""))
    if not card and (not name or name.lower().endswith(".csv")):
        raise user_error(
            "a network of a bare CSV does not say which column is the outcome and who is deprived",
            "give a card with --card CARD.yaml",
            "--beta",
        )
    if not card and name not in known_cards():
        raise user_error(
            f"the network is of {name}, whose card does not ship with fairbench",
            "name its card: --card CARD.yaml",
            "--beta",
        )
    described = read_card(find_card(name))
    chosen = described.attribute(attribute)
    if chosen not in network.names:
        raise user_error(f'the network has no node "{chosen}"', "give the card of its data", "--card")
    roles = described.roles(chosen, network.columns[network.index(chosen)].levels)
    target = described.bias_target(roles)
    if target.column not in network.parents_of(roles.label):
        arc = f"{target.column}>{roles.label}"
        raise user_error(
            f"{target.column} is no parent of the outcome {roles.label}, so β has nothing to edit",
            f'learn one with it: fairbench network learn {name} --require-arc "{arc}" -o NET.json',
            "--beta",
        )
    return shift(
        network,
        roles.label,
        roles.favourable,
        target.column,
        target.deprived,
        target.favoured,
        beta,
        both=both,
    )


def read_arcs(given: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Read FROM>TO; -> and → mean the same."""
    from fairbench_cli.errors import user_error

    arcs = []
    for text in given or []:
        start, arrow, end = text.replace("→", ">").replace("->", ">").partition(">")
        if not (start.strip() and arrow and end.strip()):
            raise user_error(f"cannot read the arc {text!r}", "write FROM>TO, in quotes")
        arcs.append((start.strip(), end.strip()))
    return tuple(arcs)


def load_net(net: str) -> "tuple[BayesNet, Meta]":
    """Read a network file, or the shipped network of a data set."""
    from fairbench_cli.data.card import known_cards, shipped_cards
    from fairbench_cli.errors import suggest, user_error
    from fairbench_cli.network.files import load

    if net in known_cards():
        path = shipped_cards() / f"{net}.network.json"
        if not path.is_file():
            fix = f"learn it: fairbench network learn {net} -o {net}.network.json"
            raise user_error(f"no fitted network ships with {net}", fix)
        return load(path)
    if not Path(net).suffix and not Path(net).exists():
        shipped = [path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json")]
        raise user_error(f'no network "{net}"', suggest(net, shipped))
    return load(Path(net))
