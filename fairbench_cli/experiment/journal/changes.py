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
        sums_before, sums_after = (
            (facts.get("sha256") or {}) | (facts.get("test_sha256") or {}) for facts in (before, after)
        )
        yield from _changed_files(name, sums_before, sums_after)
        # Plans of earlier versions have no checksums of inputs.
        inputs_before = before.get("inputs", {})
        inputs_after = after.get("inputs", {})
        for input_name, message in _INPUTS.items():
            is_new = inputs_before.get(input_name) != inputs_after.get(input_name)
            if inputs_after and input_name in inputs_before and is_new:
                yield RunChange("data", message.format(name))
        if before["sample_size"] != after["sample_size"]:
            problem = f"size of {name} {before['sample_size']} → {after['sample_size']}"
            yield RunChange("config", problem)


def _changed_files(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[RunChange]:
    for file in dict.fromkeys(list(before) + list(after)):
        old, new = (sums.get(file, "none")[:SHOWN] for sums in (before, after))
        if old != new:
            yield RunChange("data", f"{file} of {name} has other contents (sha256 {old}… → {new}…)")


def changed_config(old: Any, new: Any, key_path: str = "") -> Iterator[RunChange]:
    """Yield what differs between two configs as plain data: of lists what only one of them has.

    >>> one, other = {"seed": 1, "sample": {"beta": [0, 1]}}, {"seed": 2, "sample": {"beta": [0]}}
    >>> [str(change) for change in changed_config(one, other)]
    ['config: seed 1 → 2', 'config: sample.beta without 1']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            yield from changed_config(old.get(key), new.get(key), f"{key_path}.{key}" if key_path else key)
    elif isinstance(old, list) and isinstance(new, list):
        gone = [entry for entry in old if entry not in new]
        come = [entry for entry in new if entry not in old]
        before = _entries_by_name(gone)
        after = _entries_by_name(come)
        in_both = [name for name in before if name in after]
        for name in in_both:  # of one entry the options that changed
            yield from changed_config(before[name], after[name], f"{key_path}.{name}")
        for word, items in (("without", gone), ("with", come)):
            remaining = [item for item in items if not (in_both and next(iter(item)) in in_both)]
            yield from (RunChange("config", f"{key_path} {word} {format_value(item)}") for item in remaining)
        if old != new and not gone and not come:
            yield RunChange("config", f"{key_path} in another order")
    elif old != new:
        yield RunChange("config", f"{key_path} {format_value(old)} → {format_value(new)}")


def _entries_by_name(items: list[Any]) -> dict[str, Any]:
    """Return entries of the form `{name: options}` by name; nothing where some are not, or share a name."""
    if not all(isinstance(item, dict) and len(item) == 1 for item in items):
        return {}
    entries: dict[str, Any] = {}
    for entry in items:
        entries |= entry
    if len(entries) == len(items):
        return entries
    return {}


def changed_versions(headers: Iterable[JournalHeader | None], now: Versions) -> Iterator[RunChange]:
    """Yield what the records under some headers were computed with and is of another version now."""
    versions: dict[tuple[str, str], tuple[str, str]] = {}
    for header in filter(None, headers):
        installed = {name: (old, now.code[name]) for name, old in header.code.items() if name in now.code}
        changed = {name: pair for name, pair in installed.items() if pair[0] != pair[1]}
        versions |= {("code", name): pair for name, pair in changed.items()}
        versions |= {("versions", name): pair for name, pair in now.differences(header.versions).items()}
    for (kind, name), pair in versions.items():
        old, new = (version.removeprefix("sha256:")[:SHOWN] for version in pair)
        yield RunChange("code" if kind == "code" else "versions", f"{name} {old} → {new}")
