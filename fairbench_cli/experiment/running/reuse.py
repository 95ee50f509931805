"""Repeats that another folder of results has already: copied into a run's own journal, or said to be there.

A cell's key is made of all that decides its numbers, the data's checksums and the code among them, so a
record of the same key and number is the repeat that would be computed. Versions of packages are no part of
keys; they stand in the headers of journals, which are copied, too, and only records of the same versions are
taken. A record is checked as those of the run's own journals are, and has afterwards what the run asks for
and nothing else: all files of a report are the same bytes as if it had been computed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.datasets import network_of
from fairbench_cli.experiment.decisions import RowsPlace, crc_of_rows
from fairbench_cli.experiment.journal import folder as results
from fairbench_cli.experiment.journal import journal
from fairbench_cli.experiment.running.run import PreparedRun
from fairbench_cli.experiment.versions import Versions, versions_of_numbers

FLAG = "--reuse"
MOST_FOLDERS = 20  # next to the run's own that are looked into, those that were written last
MOST_BYTES = 50_000_000  # of a folder's plan and journals that are read for a hint
_KEY = re.compile(rb'"key": ?"([0-9a-f]{64})"')
_RECORD = re.compile(rb'^\{"key": "([0-9a-f]{64})", "repeat": (\d+), "status": "(\w+)"', re.MULTILINE)


@dataclass(frozen=True)
class Reused:
    """A run with the repeats that were copied into its journal, and what is to be said of them.

    Parameters
    ----------
    prepared : PreparedRun
    lines : tuple of str
        How many repeats are from which folder, and why others are not.
    """

    prepared: PreparedRun
    lines: tuple[str, ...]


def reuse_repeats(prepared: PreparedRun, folders: Sequence[Path], *, mix_versions: bool = False) -> Reused:
    """Copy the repeats that a run has still to do, and other folders have, into its own journal.

    Parameters
    ----------
    prepared : PreparedRun
        A run whose folder is locked by this process.
    folders : sequence of Path
        Folders of results; what several have is taken from the first.
    mix_versions : bool
        Whether repeats of other versions of packages are taken, too.

    Raises
    ------
    UserError
        When a folder holds no journal, is the run's own, or cannot be read, or a journal cannot be written.
    """
    _check_folders(prepared.folder, folders)
    lines: list[str] = []
    for folder in folders:
        reading = results.read_repeats(folder, prepared.plan)
        lines += journal.damage_in_words(reading.damages, "they are not reused")
        n_reused, n_other_versions = _copy_repeats(prepared, folder, reading, mix_versions=mix_versions)
        lines.append(f"{format_count(n_reused, 'repeat')} copied from {folder}")
        if n_other_versions:
            repeats = format_count(n_other_versions, "repeat")
            lines.append(f"{repeats} of {folder} not copied: of other or unknown versions of packages")
        prepared = replace(prepared, reading=results.read_repeats(prepared.folder, prepared.plan))
    # A run in which nothing is left to compute has the networks, too.
    for dataset in prepared.datasets:
        if dataset.network is not None:
            network_of(dataset, prepared.folder / "networks")
    keys = {cell.key for cell in prepared.distinct}
    versions = versions_of_numbers(prepared.config)
    mixed = results.mixes_versions(
        prepared.folder, prepared.reading, keys, versions, allowed=mix_versions or prepared.mixed
    )
    return Reused(replace(prepared, mixed=mixed), tuple(lines))


def _check_folders(own_folder: Path, folders: Sequence[Path]) -> None:
    """Refuse folders that have nothing to reuse.

    Raises
    ------
    UserError
        Naming the first of them.
    """
    for folder in folders:
        if folder.resolve() == own_folder.resolve():
            problem = f"{folder} is the folder of this run, which goes on from what is there anyway"
            raise user_error(problem, "leave it out", FLAG)
        if not any((folder / "journal").glob("*.jsonl")):
            problem = f"{folder} holds no journal of a run"
            raise user_error(problem, "give a folder that `fairbench run` wrote", FLAG)


def _copy_repeats(
    prepared: PreparedRun, folder: Path, reading: journal.Reading, *, mix_versions: bool
) -> tuple[int, int]:
    """Copy repeats of one folder, those under one header into a journal of their own.

    Returns
    -------
    n_reused, n_other_versions : int
        How many were copied, and how many were not because of their versions.
    """
    versions = versions_of_numbers(prepared.config)
    repeats_by_file: dict[int, list[Repeat]] = {}
    n_other_versions = 0
    for repeat_key, record in wanted_repeats(prepared, reading.records):
        file_number = reading.file_number(repeat_key)
        header = reading.files[file_number].header
        if header is None or (not mix_versions and not _has_same_versions(header, versions)):
            n_other_versions += 1
            continue
        trimmed = trim_record(prepared, record, folder / "journal")
        if trimmed is not None:
            repeats_by_file.setdefault(file_number, []).append(trimmed)
    n_reused = 0
    for file_number, repeats in repeats_by_file.items():
        header = reading.files[file_number].header
        assert header is not None  # noqa: S101 - those without are left out above
        shard = None
        if prepared.shard is not None:
            shard = str(prepared.shard)
        is_mixed = header.mixed or not _has_same_versions(header, versions)
        copied_header = header.model_copy(
            update={"shard": shard, "mixed": is_mixed, "reused_from": str(folder)}
        )
        with journal.Journal(prepared.folder / "journal", copied_header) as records_file:
            for repeat in repeats:
                records_file.append(repeat)
                n_reused += 1
    return n_reused, n_other_versions


def _has_same_versions(header: journal.JournalHeader, versions: Versions) -> bool:
    return not versions.differences(header.versions)


def wanted_repeats(prepared: PreparedRun, records: journal.Records) -> Iterator[tuple[journal.Place, Repeat]]:
    """Yield the records of repeats that a run has still to do, with all that it asks for."""
    keys = {cell.key for cell in prepared.distinct}
    for repeat_key, record in records.items():
        key, repeat = repeat_key
        if key not in keys or not prepared.asks_for(key, repeat) or not prepared.has_all(record):
            continue
        stored = prepared.records.get(repeat_key)
        if stored is None or not prepared.has_all(stored):
            yield repeat_key, record


def trim_record(prepared: PreparedRun, record: Repeat, journals: Path) -> Repeat | None:
    """Return a record with what a run asks for alone, its rows as bytes; None where these are damaged.

    Parameters
    ----------
    journals : Path
        The folder of the journal that the record is from.
    """
    config = prepared.config
    values = {name: value for name, value in record.values.items() if name in prepared.measured}
    trimmed: dict[str, Any] = {"values": values}
    if not config.sweep:
        trimmed["swept"] = None
    if not config.keeps_scores:
        trimmed |= {"scores": None, "recorded_scores": None}
    if not config.controls:
        trimmed["controls"] = None
    if not config.predictions:
        trimmed["predictions"] = None
    elif record.predictions is not None:
        trimmed["predictions"] = _read_packed_rows(record.predictions, journals)
        if trimmed["predictions"] is None:
            return None
    return replace(record, **trimmed)


def _read_packed_rows(stored_rows: RowsPlace | bytes, journals: Path) -> bytes | None:
    """Return the rows of a repeat as they are packed; None where they are not those that were kept."""
    if isinstance(stored_rows, bytes):
        return stored_rows
    try:
        with (journals / stored_rows.file).open("rb") as file:
            file.seek(stored_rows.at)
            packed = file.read(stored_rows.bytes)
    except OSError:
        return None
    if crc_of_rows(packed) != stored_rows.crc:
        return None
    return packed


def count_done_elsewhere(prepared: PreparedRun) -> dict[Path, int]:
    """Return how many of the repeats that a run has still to do folders next to its own have.

    Their plans and journals are looked through, not read: of a hint nothing has to be checked.
    """
    n_left = prepared.repeats_left
    keys_left = {key.encode() for key, n in n_left.items() if n}
    if not keys_left:
        return {}
    n_done_by_folder = {}
    for folder in _sibling_folders(prepared.folder):
        n_done = _count_done(prepared, folder, keys_left)
        if n_done:
            n_done_by_folder[folder] = n_done
    return n_done_by_folder


def _sibling_folders(folder: Path) -> list[Path]:
    """Return the folders of results next to one, those that were written last; few and not too large."""
    siblings: list[tuple[float, Path]] = []
    try:
        for plan_file in folder.parent.glob("*/plan.json"):
            sibling = plan_file.parent
            if sibling.resolve() != folder.resolve():
                siblings.append((plan_file.stat().st_mtime, sibling))
    except OSError:
        return []
    siblings.sort(reverse=True)
    return [sibling for _, sibling in siblings[:MOST_FOLDERS]]


def _count_done(prepared: PreparedRun, folder: Path, keys_left: set[bytes]) -> int:
    """Count the repeats that a run has still to do and a folder has; 0 for one that cannot be read."""
    files = [folder / "plan.json", *sorted(folder.glob("journal/*.jsonl"))]
    found_repeats: set[tuple[str, int]] = set()
    try:
        if sum(path.stat().st_size for path in files) > MOST_BYTES:
            return 0
        if not keys_left.intersection(_KEY.findall(files[0].read_bytes())):
            return 0
        for path in files[1:]:
            for key, number, status in _RECORD.findall(path.read_bytes()):
                if key in keys_left and status.decode() not in journal.RETRIED:
                    found_repeats.add((key.decode(), int(number)))
    except OSError:
        return 0
    n_done = 0
    for key, number in found_repeats:
        record = prepared.records.get((key, number))
        is_left = record is None or not prepared.has_all(record)
        n_done += prepared.asks_for(key, number) and is_left
    return n_done


def describe_done_elsewhere(prepared: PreparedRun) -> list[str]:
    """Return a line for each folder next to a run's own that has repeats which it has still to do."""
    lines = []
    for folder, n_done in count_done_elsewhere(prepared).items():
        lines.append(f"{n_done} of these are done in {folder}: {FLAG} {folder} copies them")
    return lines
