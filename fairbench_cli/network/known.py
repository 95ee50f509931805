"""Networks by name or path, and what their columns mean."""

from pathlib import Path

from fairbench_cli.base.errors import suggest, user_error
from fairbench_cli.data.card import Card, find_card, known_cards, read_card, shipped_cards
from fairbench_cli.network.files import Meta, load
from fairbench_cli.network.model import BayesNet


def open_network(name: str) -> tuple[BayesNet, Meta]:
    """Return a network file read, the shipped network of a data set, or the only network of a run's results.

    Raises
    ------
    UserError
        When there is none, and as `load`.
    """
    if name in known_cards():
        path = shipped_cards() / f"{name}.network.json"
        if not path.is_file():
            fix = f"learn it: fairbench network learn {name} -o {name}.network.json"
            raise user_error(f"no fitted network ships with {name}", fix)
        return load(path)
    if not Path(name).suffix and not Path(name).exists():
        shipped = [path.name.removesuffix(".network.json") for path in shipped_cards().glob("*.network.json")]
        raise user_error(f'no network "{name}"', suggest(name, shipped))
    fitted = sorted(Path(name, "networks").glob("*.json"))
    if len(fitted) > 1:
        what = f"{name} has {len(fitted)} networks"
        raise user_error(what, f"name one of: {', '.join(map(str, fitted))}")
    return load(fitted[0] if fitted else Path(name))


def card_of_network(meta: Meta, named: str | None = None) -> Card | None:
    """Return the card that is named, or that of the network's data set if it is a shipped one.

    Raises
    ------
    UserError
        When the card that is named does not exist, or is no card.
    """
    name = named or str(meta.source.get("dataset", ""))
    return read_card(find_card(name)) if named or name in known_cards() else None
