"""What is known of an experiment's worlds without training, kept next to its results as worlds.json."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench_cli.base.checksums import add_checksum, derive_seed, digest, matches_checksum
from fairbench_cli.base.errors import UserError
from fairbench_cli.base.files import read_text, write_text
from fairbench_cli.experiment.config.config import ExperimentConfig
from fairbench_cli.experiment.datasets import PreparedDataset, built_world, network_of
from fairbench_cli.experiment.plan import UNBIASED
from fairbench_cli.network.exact_measures import DRAWS, MOST_CELLS, Labels, compute_facts
from fairbench_cli.network.model import BayesNet
from fairbench_cli.network.world import World, make_beta_world

FILE = "worlds.json"
VERSION = 1
"""Of the numbers: another one where they are computed otherwise."""

PLACE = ("dataset", "attribute", "world", "beta", "include_protected", "features")
NUMBER = ("rule", "quantity", "labels", "group", "value", "error", "how")
"""Columns of worlds.json and worlds.csv."""

FEW_CELLS = 2**17
"""Combinations of levels that are summed over without a `bias`: what takes hundredths of a second."""

DIGITS = 12


@dataclass(frozen=True, eq=False)
class _Place:
    """A world, what rules see in it, and how results name both.

    Parameters
    ----------
    named : tuple
        The values of `PLACE`.
    hidden : tuple of str
        What rules do not see without protected columns.
    thorough : bool
        Whether people are drawn where there are too many levels to sum over.
    """

    key_columns: tuple[str, str, str, float, bool, Labels]
    world: World
    hidden: tuple[str, ...]
    thorough: bool
    seed: int

    @property
    def key(self) -> str:
        """The checksum of all that decides its numbers."""
        world = self.world
        groups = []
        for name, (deprived, favoured) in world.groups.items():
            groups.append([name, list(deprived), list(favoured)])
        roles = world.label, world.favourable, groups, world.included, world.omitted
        seen = self.key_columns[4:] + (self.hidden, self.thorough, self.seed)
        return digest([VERSION, _content(world.base), _content(world.network), roles, seen])

    def facts(self) -> list[list[Any]]:
        """Return its numbers; none where too much would have to be summed over."""
        *_, seen, features = self.key_columns
        try:
            facts = compute_facts(
                self.world,
                include_protected=seen,
                hidden=self.hidden,
                features=features,
                cells=MOST_CELLS if self.thorough else FEW_CELLS,
                draws=DRAWS if self.thorough else 0,
                seed=self.seed,
            )
        except UserError:
            return []
        rows = []
        for row in facts.rows():
            rows.append([_to_json(value) for value in row])
        return rows


def write_worlds(folder: Path, config: ExperimentConfig, datasets: Iterable[PreparedDataset]) -> None:
    """Write what is known of the worlds of an experiment; the numbers of worlds that a folder has stay.

    Known are the worlds of every data set with a network: those of its `bias`; else, where test rows are
    drawn from the network, those of β, if there are not too many levels to sum over.

    Parameters
    ----------
    folder : Path
        Of the results; its fitted networks are used.
    """
    path = folder / FILE
    world_places = list(_world_places(folder, config, datasets))
    if not world_places:
        path.unlink(missing_ok=True)
        return
    keys = [world_place.key for world_place in world_places]
    before, stored_rows = _read_stored(path)
    worlds = []
    for world_place, key in zip(world_places, keys, strict=True):
        worlds.append(list(world_place.key_columns) + [key])
    if worlds == before:
        return
    facts = []
    for world_place, key in zip(world_places, keys, strict=True):
        if key not in stored_rows:
            stored_rows[key] = world_place.facts()
        key_columns = list(world_place.key_columns)
        facts += [key_columns + row for row in stored_rows[key]]
    text = json.dumps(add_checksum({"worlds": worlds, "facts": facts}), ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _world_places(
    folder: Path, config: ExperimentConfig, datasets: Iterable[PreparedDataset]
) -> Iterator[_Place]:
    """Yield every world, that without bias first, with and without protected columns as techniques ask."""
    seen = sorted({technique.include_protected for technique in config.interventions})
    for prepared in datasets:
        thorough = prepared.spec.bias is not None
        if prepared.network is None or not (thorough or config.tested == "network"):
            continue
        network = network_of(prepared, folder / "networks")
        hidden = tuple(prepared.card.protected) if config.protected_columns == "all" else ()
        seed = derive_seed(config.seed, *prepared.name, "worlds")
        roles = prepared.roles.label, prepared.roles.favourable
        worlds = {(UNBIASED.name, UNBIASED.beta): UNBIASED}
        for world in config.worlds(prepared.spec):
            worlds[world.name, world.beta] = world
        for world in worlds.values():
            if thorough:
                built = built_world(prepared, world, network)
            else:
                built = make_beta_world(network, *roles, prepared.groups, prepared.beta_bias, world.beta)
            for include_protected in seen:
                key_columns = prepared.name + (
                    world.name,
                    world.beta,
                    include_protected,
                    config.test_features,
                )
                yield _Place(key_columns, built, hidden, thorough, seed)


def _read_stored(path: Path) -> tuple[list[Any], dict[str, list[list[Any]]]]:
    """Return the worlds of a file and their numbers by key; none of a file that is missing or damaged."""
    try:
        if not path.is_file():
            return [], {}
        stored: Mapping[str, Any] = json.loads(read_text(path))
        if not matches_checksum(stored):
            return [], {}
        keys = {tuple(name): key for *name, key in stored["worlds"]}
        of_place: dict[tuple[Any, ...], list[list[Any]]] = {name: [] for name in keys}
        for row in stored["facts"]:
            of_place[tuple(row[: len(PLACE)])].append(row[len(PLACE) :])
        rows_by_key = {key: of_place[name] for name, key in keys.items()}  # the same for all places of a key
    except (UserError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return [], {}
    return stored["worlds"], rows_by_key


def _content(net: BayesNet) -> list[Any]:
    """Return the content of a network, as JSON has it."""
    columns = [[column.name] + list(column.levels) for column in net.columns]
    return [columns, net.parents, [table.tolist() for table in net.cpts]]


def _to_json(value: str | float) -> str | float | None:
    """Return a value as JSON has it, numbers to `DIGITS` decimals; None for one that is no number."""
    if isinstance(value, str):
        return value
    if math.isfinite(value):
        return round(value, DIGITS) + 0.0
    return None
