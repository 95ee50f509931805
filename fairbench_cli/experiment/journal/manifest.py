"""``manifest.json``: where all that stands in a folder of results comes from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairbench_cli.base.checksums import is_whole, signed
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text, write_json
from fairbench_cli.experiment.journal.checked import mixed_versions
from fairbench_cli.experiment.journal.journal import JournalFile, list_journals

FILE = "manifest.json"


def write_run(folder: Path, run: Mapping[str, Any], files: list[JournalFile]) -> None:
    """Write the manifest: what the last run was, and every journal of the folder."""
    write_json(folder / FILE, signed({**run, **_stock(files)}))


def update_manifest(folder: Path, files: list[JournalFile]) -> None:
    """Write what stands in the folder now; what the last run was stays.

    Equal content leaves the file alone; a folder that has none gets none.
    """
    known = _read(folder)
    if known is None:
        return
    new = signed({key: value for key, value in known.items() if key != "sha256"} | _stock(files))
    if new != known:
        write_json(folder / FILE, new)


def refuse_lost(folder: Path, files: list[JournalFile]) -> None:
    """Refuse to go on where journals that results were made from are gone, or hold less than they did.

    Raises
    ------
    UserError
        Naming the first of them, or the manifest where it is damaged.
    """
    fix = "put it back, or run the experiment again, which computes its repeats again"
    held: dict[str, int] = {}
    for file in files:
        held[file.name] = held.get(file.name, 0) + file.lines
    known = _read(folder) or {}
    for entry in known.get("journals", []):
        name, before = entry["file"], entry["lines"]
        if name not in held:
            raise user_error(f"{folder / name} is gone, and results were made from it", fix)
        if held[name] < before:
            what = f"{folder / name} holds {held[name]} lines; results were made from {before}"
            raise user_error(what, fix)
    if not sum(held.values()) and (folder / "groups.csv").exists():
        what = f"{folder / 'journal'} holds no repeats, and there are results that were made from some"
        raise user_error(what, "put the journals back, or run the experiment again")


def _stock(files: list[JournalFile]) -> dict[str, Any]:
    """Return what the manifest says about the journals of a folder."""
    heads = [None if file.header is None else file.header.model_dump() for file in files]
    known = [head for head in heads if head is not None]
    journals = []
    for file, head in zip(files, heads, strict=True):
        told = {} if head is None else {key: value for key, value in head.items() if key != "journal"}
        journals.append({"file": file.name, "lines": file.lines, **told})
    held = [head["versions"] for head, file in zip(heads, files, strict=True) if head and file.lines]
    return {
        "journals": journals,
        "mixed_versions": mixed_versions(held),
        "told_to_mix_versions": any(head["mixed"] for head in known),
    }


def _read(folder: Path) -> dict[str, Any] | None:
    """Return the manifest; None where there is none.

    Raises
    ------
    UserError
        When it is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        content = json.loads(read_text(path))
        whole = isinstance(content, dict) and is_whole(content) is not False
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        what = "the manifest was changed or damaged since it was written"
        raise user_error(what, "run the experiment again; finished repeats are kept", str(path))
    found: dict[str, Any] = content
    return found


def mixture_in_words(folder: Path) -> list[str]:
    """Return a line that says which versions the results of a folder mix, if they do.

    Raises
    ------
    UserError
        When a journal cannot be read.
    """
    files = list_journals(folder / "journal")
    mixed = mixed_versions(file.header.versions for file in files if file.header and file.lines)
    listed = "; ".join(f"{name} {', '.join(versions)}" for name, versions in mixed.items())
    return [f"these results mix versions: {listed}"] if mixed else []
