"""What is no longer as it was when some results were made: data, code, versions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fairbench_cli.base.errors import UserError, shown
from fairbench_cli.experiment.journal.records import JournalHeader
from fairbench_cli.experiment.plan import Cell, RunPlan
from fairbench_cli.experiment.versions import Versions
from fairbench_cli.network.files import load
from fairbench_cli.network.model import BayesNet

SHOWN = 12  # characters of a checksum


@dataclass(frozen=True)
class RunChange:
    """What is another than it was; a network that no longer is what its data give."""

    kind: Literal["config", "data", "network", "code", "versions"]
    what: str

    def __str__(self) -> str:
        return f"{'data' if self.kind == 'network' else self.kind}: {self.what}"


# The keys of a config that decide numbers and stand in no card.
_DECIDING = ("seed", "sample", "test", "protected_columns")

# What decides the numbers of a data set (`PreparedDataset.decisive`), in words.
_INPUTS = {
    "card": "the card of {} is another one than the run's",
    "columns": "the columns of {} are others than the run's",
    "shipped": "the network that comes with {} is another one than the run's",
    "network": "the network of {} is learned with other settings",
}


def changed_inputs(then: RunPlan, now: RunPlan, cells: Iterable[Cell]) -> Iterator[RunChange]:
    """Yield what of the config, cards and data of cells is another than it was."""
    old, new = then.config.plain(), now.config.plain()
    for key in _DECIDING:
        if old[key] != new[key]:
            yield RunChange("config", f"{key} {shown(old[key])} → {shown(new[key])}")
    for name, attribute in dict.fromkeys(cell.source for cell in cells):
        before, after = then.dataset(name, attribute), now.dataset(name, attribute)
        yield from _changed_files(name, before.get("sha256") or {}, after.get("sha256") or {})
        given, found = before.get("inputs", {}), after["inputs"]
        for part, words in _INPUTS.items():
            if part in given and given[part] != found.get(part):
                yield RunChange("data", words.format(name))
        if before["sample_size"] != after["sample_size"]:
            what = f"size of {name} {before['sample_size']} → {after['sample_size']}"
            yield RunChange("config", what)


def _changed_files(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[RunChange]:
    for file in [*before, *(file for file in after if file not in before)]:
        old, new = (sums.get(file, "none")[:SHOWN] for sums in (before, after))
        if old != new:
            yield RunChange("data", f"{file} of {name} has other contents (sha256 {old}… → {new}…)")


def changed_networks(theirs: Path, ours: Path) -> Iterator[RunChange]:
    """Yield the networks of some results that are not what their data give, as they were fitted anew."""
    for path in sorted(ours.glob("*.json")):
        kept = theirs / path.name
        if not kept.is_file():
            continue
        try:
            same = _equal(load(kept)[0], load(path)[0])
        except UserError:
            same = False
        if not same:
            what = f"{kept} is not the network that the data give: edited, or of other versions; delete it"
            yield RunChange("network", what)


def changed_versions(headers: Iterable[JournalHeader | None], now: Versions) -> Iterator[RunChange]:
    """Yield what the records under some headers were computed with and is of another version now."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for header in filter(None, headers):
        both = {name: (old, now.code[name]) for name, old in header.code.items() if name in now.code}
        changed = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
        found |= {("code", name): pair for name, pair in changed.items()}
        found |= {("versions", name): pair for name, pair in now.differences(header.versions).items()}
    for (kind, name), pair in found.items():
        old, new = (version.removeprefix("sha256:")[:SHOWN] for version in pair)
        yield RunChange("code" if kind == "code" else "versions", f"{name} {old} → {new}")


def _equal(one: BayesNet, other: BayesNet) -> bool:
    tables = zip(one.cpts, other.cpts, strict=False)
    alike = (one.columns, one.parents) == (other.columns, other.parents)
    return alike and all(np.array_equal(own, its) for own, its in tables)
