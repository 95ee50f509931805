"""Whether a folder of results holds what its plan says; and ``manifest.json``: where all of it comes from."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairbench_cli.base.checksums import is_whole, signed
from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import read_text, write_json
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import (
    RETRIED,
    JournalFile,
    Reading,
    list_journals,
    read_journals,
)
from fairbench_cli.experiment.plan import RunPlan, read_plan
from fairbench_cli.experiment.versions import Versions

SLACK = 1e-9  # of counts in expectation


def checked(reading: Reading, plan: RunPlan) -> Reading:
    """Return what was read without the records that cannot be of this plan, which are named as damaged.

    The counts of a repeat are those of the test rows, whose number the plan knows, by the joint levels of its
    protected attributes; and so are those at each acceptance rate.
    """
    sizes = {}
    for one in plan.datasets:
        source = one["dataset"], one["attribute"]
        sizes[source] = len(plan.protected(*source).groups), one.get("test_rows")
    expected = {cell["key"]: sizes[cell["dataset"], cell["attribute"]] for cell in plan.cells}
    wrong = {
        place: fault
        for place, record in reading.records.items()
        if place[0] in expected and (fault := _fault(record, *expected[place[0]]))
    }
    if not wrong:
        return reading
    damages = [reading.damage(place, what) for place, what in wrong.items()]
    records = {place: record for place, record in reading.records.items() if place not in wrong}
    return replace(reading, records=records, damages=(*reading.damages, *damages))


def read_results(folder: Path) -> tuple[RunPlan, Reading]:
    """Return the plan of a folder of results and the repeats that its journals hold.

    Raises
    ------
    UserError
        When the folder holds no results, a file cannot be read, or a journal that results were made from is
        gone.
    """
    plan = read_plan(folder)
    refuse_lost(folder, list_journals(folder / "journal"))
    return plan, checked(read_journals(folder / "journal"), plan)


def _fault(record: Repeat, groups: int, rows: int | None) -> str | None:
    """Return what is wrong with the counts of a repeat."""
    counts = record.counts
    if counts is None:
        return None
    if len(counts.n) != groups:
        return f"its counts are of {len(counts.n)} groups, not {groups}"
    total = float(counts.n.sum())
    if rows is not None and abs(total - rows) > SLACK * rows:
        return f"its counts sum to {total:.12g} rows, not {rows}"
    if record.recorded is not None and float(record.recorded.n.sum()) > (1 + SLACK) * total:
        return "its recorded counts sum to more rows than are tested"
    if record.swept is not None:
        sums = record.swept.n.sum(axis=(1, 2, 3))
        if (np.abs(sums - total) > SLACK * total).any():
            return "its counts at the acceptance rates sum to other numbers of rows"
    return None


def files_of(reading: Reading, keys: Iterable[str]) -> list[JournalFile]:
    """Return the files in which the results of some cells stand, in the order in which they were read."""
    wanted = set(keys)
    used = {
        reading.file_number(place)
        for place, record in reading.records.items()
        if place[0] in wanted and record.status not in RETRIED
    }
    return [reading.files[number] for number in sorted(used)]


def other_versions(
    files: Iterable[JournalFile], versions: Versions
) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the packages that the results in files were computed with in other versions: theirs, ours.

    Results from before journals said their versions are taken as they are; of those that have lost their
    header `unknown_versions` says so.
    """
    found: dict[str, set[str]] = {}
    for header in (file.header for file in files if file.header is not None):
        for name, (theirs, _) in versions.differences(header.versions).items():
            found.setdefault(name, set()).add(theirs)
    return {name: (tuple(sorted(theirs)), versions.packages[name]) for name, theirs in found.items()}


def unknown_versions(files: Iterable[JournalFile]) -> list[str]:
    """Return the names of files that hold results whose versions were lost with a header."""
    return list(dict.fromkeys(file.name for file in files if file.headless and file.lines))


def mixed_versions(files: Iterable[JournalFile]) -> dict[str, list[str]]:
    """Return the packages of which the results in files were computed with several versions, and these."""
    found: dict[str, set[str]] = {}
    for header in (file.header for file in files if file.header is not None and file.lines):
        for name, version in header.versions.items():
            found.setdefault(name, set()).add(version)
    return {name: sorted(versions) for name, versions in found.items() if len(versions) > 1}


FILE = "manifest.json"


def write_run(folder: Path, run: Mapping[str, Any], files: list[JournalFile]) -> None:
    """Write the manifest: what the last run was, and every journal of the folder."""
    write_json(folder / FILE, signed({**run, **_stock(files)}))


def update_manifest(folder: Path, files: list[JournalFile]) -> None:
    """Write what stands in the folder now; what the last run was stays.

    Equal content leaves the file alone; a folder that has none gets none.
    """
    known = read_manifest(folder)
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
    known = read_manifest(folder) or {}
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
    journals = []
    for file in files:
        told = {} if file.header is None else file.header.model_dump(exclude={"journal"})
        journals.append({"file": file.name, "lines": file.lines, **told})
    return {
        "journals": journals,
        "mixed_versions": mixed_versions(files),
        "unknown_versions": unknown_versions(files),
        "told_to_mix_versions": any(entry.get("mixed") for entry in journals),
    }


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder of results; None where there is none.

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
    mixed = mixed_versions(list_journals(folder / "journal"))
    listed = "; ".join(f"{name} {', '.join(versions)}" for name, versions in mixed.items())
    return [f"these results mix versions: {listed}"] if mixed else []
