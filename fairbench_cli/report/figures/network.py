"""The Bayesian network that a run drew its training sets from: Cardoso et al. (2019), Figure 2."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairbench_cli.data.card import find_card, known_cards, read_card, shipped_cards
from fairbench_cli.errors import UserError, user_error
from fairbench_cli.experiment.plan import RunPlan as Study
from fairbench_cli.network.files import load
from fairbench_cli.network.model import BayesNet
from fairbench_cli.report.figures.network_drawing import Marks, draw_network
from fairbench_cli.report.figures.parts import slugs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(folder: Path, study: Study, _: pd.DataFrame, __: pd.DataFrame) -> "dict[str, Figure]":
    """Draw one figure per data set and protected attribute.

    Raises
    ------
    UserError
        When a network is not where the run left it.
    """
    names = slugs((source["dataset"], source["attribute"]) for source in study.sources)
    return {name: _figure(folder, source) for name, source in zip(names, study.sources, strict=True)}


def _figure(folder: Path, source: dict[str, Any]) -> "Figure":
    net = _network(folder, source)
    how = "shipped with fairbench" if "network" in source else "learned from the data"
    about = f"{len(net.columns)} nodes, {len(net.arcs)} arcs, {how} (BIC {source['bic']:,.0f})."
    marks = Marks(outcome_of(source), source["attribute"], source["edited_column"])
    return draw_network(net, marks, f"Bayesian network: {source['dataset']}, {source['attribute']}", about)


def outcome_of(source: dict[str, Any]) -> str | None:
    """Return the label's column where the plan names it or the data set's card ships with fairbench."""
    if "label" in source:
        return str(source["label"])
    if source["dataset"] in known_cards():
        return read_card(find_card(source["dataset"])).label.column
    return None


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
