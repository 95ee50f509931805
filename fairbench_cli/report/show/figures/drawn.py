"""Which figures of a run are in its folder already: those whose numbers have not changed stay.

A file next to the other results says of which numbers each figure is, and which bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairbench_cli.base.checksums import canonical_json
from fairbench_cli.base.files import shipped_folder
from fairbench_cli.experiment.journal.journal import repeat_line
from fairbench_cli.experiment.versions import PACKAGES, versions_of
from fairbench_cli.report.ledger.results import RunResults

INDEX = "figures.json"
WITHOUT_EFFECT = ("name", "figures", "tables", "predictions", "limits")
"""The keys of a config that no figure which is drawn depends on."""
NOT_DRAWN = ("seconds", "controls", "predictions")
"""What of a repeat is in no figure: how long it took, its controls, and where its rows are kept."""


def figure_key(run: RunResults) -> str:
    """Return the checksum of all that figures are drawn from: equal keys, equal bytes.

    These are the repeats of the run, its plan and networks, the formats, this package and its libraries.
    """
    plan = run.plan
    settings = plan.config.to_config()
    for name in WITHOUT_EFFECT:
        settings.pop(name, None)
    files = list(Path(__file__).parents[3].rglob("*.py"))
    files += [run.folder / "worlds.json", *(run.folder / "networks").glob("*.json")]
    files += [shipped_folder("datasets") / str(source.get("network", "")) for source in plan.datasets]
    described = {
        "settings": settings,
        "plugins": {name: origin.version for name, origin in plan.config.plugins},
        "datasets": plan.datasets,
        "cells": plan.cells,
        "attributes": run.attributes,
        "versions": versions_of((*PACKAGES, "pandas", "matplotlib")),
        "files": sorted([path.name, _sha256(path.read_bytes())] for path in files if path.is_file()),
    }
    checksum = hashlib.sha256(canonical_json(described).encode())
    for cell in plan.cells:
        for number in range(plan.config.repeats):
            repeat = run.records.get((cell["key"], number))
            if repeat is not None:
                checksum.update(repeat_line(repeat, NOT_DRAWN))
    return checksum.hexdigest()


def read_index(folder: Path) -> dict[str, Any]:
    """Return the entries of a folder's index, by the names of figures; none if it is damaged."""
    try:
        index = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return index if isinstance(index, dict) else {}


def describe_files(key: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the entry of a figure in the index."""
    return {"key": key, "files": {name: _sha256(content) for name, content in files.items()}}


def is_drawn(folder: Path, entry: Any, key: str) -> bool:
    """Return whether the files of an entry are of this key, are all there, and as they were written."""
    match entry:
        case {"key": str(entry_key), "files": dict(files)} if entry_key == key:
            return all(_is_file(folder, name, checksum) for name, checksum in files.items())
    return False


def _is_file(folder: Path, name: str, checksum: Any) -> bool:
    path = folder / name
    try:
        return path.parent == folder and path.is_file() and _sha256(path.read_bytes()) == checksum
    except (OSError, ValueError):
        return False


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
