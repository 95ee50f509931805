"""The networks that a run drew from, as it left them, and what a drawing of them points out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.data.card import shipped_cards
from fairbench_cli.network.files import load
from fairbench_cli.network.model import BayesNet


def network_of(folder: Path, source: dict[str, Any]) -> BayesNet:
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
    same = all(_plain(source.get(key)) == _plain(value) for key, value in facts.items())
    return net if same else None


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def about_network(net: BayesNet, source: dict[str, Any]) -> str:
    """Return in words how large a network is and where it is from."""
    how = "shipped with fairbench" if "network" in source else "learned from the data"
    return f"{len(net.columns)} nodes, {len(net.arcs)} arcs, {how} (BIC {source['bic']:,.0f})."


@dataclass(frozen=True)
class Marks:
    """Columns that the drawing points out; None or empty where that is not known."""

    outcome: str | None
    protected: str | None
    edited: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    """Of a world: by node, what it is, such as what is recorded of a column."""
