"""The append-only record of finished repeats; everything else is derived from it.

A run writes one file of its own, ``journal/*.jsonl``: a header, then one line per finished repeat, each with
a checksum. Merging the work of several machines is copying their files into one folder.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import IO, Self

from pydantic import ValidationError

from fairbench_cli.errors import user_error
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.records import (
    HEAD,
    JournalHeader,
    header_line,
    new_header,
    opened,
    parse_header,
    parse_repeat,
    repeat_line,
)

Place = tuple[str, int]
Records = dict[Place, Repeat]

RETRIED = frozenset({"failed", "killed", "overtime", "memory"})
"""What the next run tries again; an infeasible repeat is a result."""


class Journal:
    """Appends repeats to a file of its own.

    Each line is handed to the system at once, so that a killed run loses nothing, and forced to the disk
    about once a second, for power cuts.

    Parameters
    ----------
    header : JournalHeader, optional
        The first line; by default that of a run with no plug-ins on the whole matrix.
    """

    def __init__(self, folder: Path, header: JournalHeader | None = None) -> None:
        self.header = header or new_header()
        self.path = folder / self.header.name
        self._file: IO[bytes] | None = None
        self._synced = 0.0

    def append(self, repeat: Repeat) -> None:
        """Write one line.

        Raises
        ------
        UserError
            When it cannot be written; what was written before stays.
        """
        line = repeat_line(repeat) + b"\n"
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("xb")
                line = header_line(self.header) + b"\n" + line
            self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced >= 1.0:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise user_error(
                f"cannot write {self.path}: {error.strerror}",
                "make room and run again; finished repeats are kept",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # of a line that `append` could not write, and said so
                self._file.close()


@dataclass(frozen=True)
class Damage:
    """A line of a journal that is not used, or not all that it should be.

    Parameters
    ----------
    where : str
        ``journal/x.jsonl:12``.
    what : str
        What is wrong with it.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where} ({self.what})"


@dataclass(frozen=True)
class JournalFile:
    """A file of journals, or the part of it under one header.

    Parameters
    ----------
    header : JournalHeader or None
        None for a file from before there were headers, or where it cannot be read.
    records : int
        How many repeats it holds.
    """

    name: str
    header: JournalHeader | None
    records: int


@dataclass(frozen=True)
class Reading:
    """What a folder of journals holds.

    Parameters
    ----------
    records : dict
        By key and number of the repeat.
    damages : tuple of Damage
        The lines that are not used.
    files : tuple of JournalFile
        Where the records come from.
    lines : dict
        Where each record stands: the index in `files`, and the line.
    """

    records: Records
    damages: tuple[Damage, ...] = ()
    files: tuple[JournalFile, ...] = ()
    lines: Mapping[Place, tuple[int, int]] = field(default_factory=dict)

    @property
    def damaged(self) -> int:
        """Return how many lines are damaged."""
        return len(self.damages)


def read_journals(folder: Path) -> Reading:
    """Read every journal of a folder.

    A line that is torn (a kill in the middle of writing), was changed since it was written or is otherwise no
    record is left out and named. Where a repeat was recorded more than once, a result beats a failure, the
    first result beats later ones and the later failure beats the earlier. Of results that contradict each
    other most decide, and the others are named; two alone are both left out, so that the next run decides.

    Raises
    ------
    UserError
        When a file cannot be read, or was written by a later version of fairbench.
    """
    entries: dict[Place, list[_Entry]] = {}
    files: list[JournalFile] = []
    damages: list[Damage] = []
    for path in sorted(folder.glob("*.jsonl")):
        parts, unsound = _read_file(path, f"{folder.name}/{path.name}")
        damages += unsound
        for part in parts:
            for number, repeat in part.lines:
                entry = len(files), number, repeat
                entries.setdefault((repeat.key, repeat.repeat), []).append(entry)
            files.append(JournalFile(part.name, part.header, len(part.lines)))
    records: Records = {}
    lines: dict[Place, tuple[int, int]] = {}
    for place, found in entries.items():
        agreed, others = (found, []) if len(found) == 1 else _agreed(found)
        if agreed:
            records[place] = reduce(together, (repeat for *_, repeat in agreed))
            lines[place] = agreed[0][:2]
        what = "another record of the same repeat has other counts"
        damages += [Damage(f"{files[file].name}:{number}", what) for file, number, _ in others]
    return Reading(records, tuple(damages), tuple(files), lines)


_Entry = tuple[int, int, Repeat]  # the file, the line


@dataclass(frozen=True)
class _Part:
    """The records of a file that stand under one header, with the numbers of their lines."""

    name: str
    header: JournalHeader | None
    lines: list[tuple[int, Repeat]]


def _read_file(path: Path, name: str) -> tuple[list[_Part], list[Damage]]:
    """Return the parts of a file, and the lines that cannot be used.

    Files that were copied together into one have a header in the middle.
    """
    try:
        text = path.read_bytes().split(b"\n")
    except OSError as error:
        what = f"cannot read {path}: {error.strerror}"
        raise user_error(what, "check its permissions, or move it away") from None
    parts = [_Part(name, None, [])]
    damages: list[Damage] = []
    for number, line in enumerate(text, 1):
        if not line:
            continue
        try:
            body, checked = opened(line)
            if body.startswith(HEAD):
                parts.append(_Part(name, parse_header(body, checked, f"{path}:{number}"), []))
                continue
            repeat = parse_repeat(body)
        except ValidationError:
            damages.append(Damage(f"{name}:{number}", "it is no record"))
            continue
        except ValueError as error:
            damages.append(Damage(f"{name}:{number}", str(error)))
            continue
        if checked and parts[-1].header is None and not damages:
            damages.append(Damage(f"{name}:1", "the header that stood before it is missing"))
        if parts[-1].header is not None and not checked:
            damages.append(Damage(f"{name}:{number}", "it has no checksum"))
            continue
        parts[-1].lines.append((number, repeat))
    return [part for part in parts if part.lines or part.header is not None], damages


def _agreed(entries: list[_Entry]) -> tuple[list[_Entry], list[_Entry]]:
    """Return those of several records of one repeat that decide, and those that contradict them."""
    results = [entry for entry in entries if entry[2].status not in RETRIED]
    if not results:
        return entries, []
    votes = [b"" if one.counts is None else (one.counts.n.round(6) + 0.0).tobytes() for *_, one in results]
    (first, most), *others = Counter(votes).most_common()
    if others and others[0][1] == most and len(results) == 2:
        return [], results
    agreed = [entry for entry, vote in zip(results, votes, strict=True) if vote == first]
    return agreed, [entry for entry, vote in zip(results, votes, strict=True) if vote != first]


def together(known: Repeat | None, later: Repeat) -> Repeat:
    """Choose between two records of a repeat; what only the later one measured is added to the first."""
    if known is None or known.status in RETRIED:
        return later
    if later.status in RETRIED or known.counts is None:
        return known
    return replace(known, swept=known.swept or later.swept, values={**later.values, **known.values})
