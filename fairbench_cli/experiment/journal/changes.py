"""What is another between two runs, or between a run and now: config, data, code and versions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairbench_cli.base.errors import format_value
from fairbench_cli.experiment.journal.journal import JournalHeader
from fairbench_cli.experiment.plan import RunPlan
from fairbench_cli.experiment.versions import Versions

SHOWN = 12  # characters of a checksum


@dataclass(frozen=True)
class RunChange:
    """What is another than it was; a network that no longer is what its data give."""

    kind: Literal["config", "data", "network", "code", "versions"]
    what: str

    def __str__(self) -> str:
        return f"{'data' if self.kind == 'network' else self.kind}: {self.what}"


# The keys of a config that decide numbers and stand in no card.
_DECIDING = ("seed", "sample", "test", "test_features", "protected_columns")

# What decides the numbers of a data set (`PreparedDataset.decisive`), in words.
_INPUTS = {
    "card": "the card of {} is another one than the run's",
    "columns": "the columns of {} are others than the run's",
    "shipped": "the network that comes with {} is another one than the run's",
    "network": "the network of {} is learned with other settings",
}


def changed_inputs(then: RunPlan, now: RunPlan, sources: Iterable[tuple[str, str]]) -> Iterator[RunChange]:
    """Yield what of config, cards and data is another, for data sets, each with its attribute."""
    old = then.config.to_config()
    new = now.config.to_config()
    for key in _DECIDING:
        if old.get(key) != new.get(key):  # of what is in the one alone the other has the default
            yield RunChange("config", f"{key} {format_value(old.get(key))} → {format_value(new.get(key))}")
    for name, attribute in dict.fromkeys(sources):
        before = then.dataset(name, attribute)
        after = now.dataset(name, attribute)
        files = [(one.get("sha256") or {}) | (one.get("test_sha256") or {}) for one in (before, after)]
        yield from _changed_files(name, *files)
        given, found = (one.get("inputs", {}) for one in (before, after))  # old plans have none
        for part, words in _INPUTS.items():
            if found and part in given and given[part] != found.get(part):
                yield RunChange("data", words.format(name))
        if before["sample_size"] != after["sample_size"]:
            what = f"size of {name} {before['sample_size']} → {after['sample_size']}"
            yield RunChange("config", what)


def _changed_files(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[RunChange]:
    for file in [*before, *(file for file in after if file not in before)]:
        old, new = (sums.get(file, "none")[:SHOWN] for sums in (before, after))
        if old != new:
            yield RunChange("data", f"{file} of {name} has other contents (sha256 {old}… → {new}…)")


def changed_config(old: Any, new: Any, place: str = "") -> Iterator[RunChange]:
    """Yield what differs between two configs as plain data: of lists what only one of them has.

    >>> one, other = {"seed": 1, "sample": {"beta": [0, 1]}}, {"seed": 2, "sample": {"beta": [0]}}
    >>> [str(change) for change in changed_config(one, other)]
    ['config: seed 1 → 2', 'config: sample.beta without 1']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            yield from changed_config(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    elif isinstance(old, list) and isinstance(new, list):
        gone = [one for one in old if one not in new]
        come = [one for one in new if one not in old]
        before = _named(gone)
        after = _named(come)
        both = [name for name in before if name in after]
        for name in both:  # of one entry the options that changed
            yield from changed_config(before[name], after[name], f"{place}.{name}")
        for word, items in (("without", gone), ("with", come)):
            others = [item for item in items if not (both and next(iter(item)) in both)]
            yield from (RunChange("config", f"{place} {word} {format_value(item)}") for item in others)
        if old != new and not gone and not come:
            yield RunChange("config", f"{place} in another order")
    elif old != new:
        yield RunChange("config", f"{place} {format_value(old)} → {format_value(new)}")


def _named(items: list[Any]) -> dict[str, Any]:
    """Return entries of the form `{name: options}` by name; nothing where some are not, or share a name."""
    if not all(isinstance(item, dict) and len(item) == 1 for item in items):
        return {}
    found = {name: options for item in items for name, options in item.items()}
    if len(found) == len(items):
        return found
    return {}


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
