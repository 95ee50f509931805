"""The append-only record of finished repeats; everything else is derived from it.

A run writes one file of its own, ``journal/*.jsonl``: a header, then one line per finished repeat, each with
a checksum. Merging the work of several machines is copying their files into one folder.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import IO, Self

from pydantic import ValidationError

from fairbench_cli.base.errors import UserError, user_error
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.records import (
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
Line = tuple[int, int]  # the index of a file, and the number of a line in it
_Entry = tuple[Line, Repeat]
_Contents = Iterator[tuple[int, Repeat | JournalHeader | str]]  # by the number of each line

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
    """A line of a journal that is not used, or the place where one is missing.

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


DAMAGES_SHOWN = 5


def damage_in_words(damages: Sequence[Damage], then: str = "their repeats are computed again") -> list[str]:
    """Return a line that says which lines are damaged and what becomes of their repeats; none if none are.

    >>> damage_in_words([Damage("journal/x.jsonl:12", "it is no record")])
    ['1 damaged line: journal/x.jsonl:12 (it is no record); their repeats are computed again']
    """
    if not damages:
        return []
    some = [*map(str, damages[:DAMAGES_SHOWN]), *["…"] * (len(damages) > DAMAGES_SHOWN)]
    return [f"{len(damages)} damaged line{'s' * (len(damages) > 1)}: {', '.join(some)}; {then}"]


@dataclass(frozen=True)
class JournalFile:
    """A file of journals, or the part of it under one header.

    Parameters
    ----------
    header : JournalHeader or None
        None for a file from before there were headers, or where it cannot be read.
    lines : int
        How many lines it holds besides, whatever these are worth.
    """

    name: str
    header: JournalHeader | None
    lines: int


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
        Where each record stands: the index in `files` and the number of the line.
    """

    records: Records
    damages: tuple[Damage, ...]
    files: tuple[JournalFile, ...]
    lines: dict[Place, Line]

    def file_number(self, place: Place) -> int:
        """Return which of the files a record stands in."""
        return self.lines[place][0]

    def damage(self, place: Place, what: str) -> Damage:
        """Return a record as one that is not used."""
        return _damage(self.files, self.lines[place], what)


def _damage(files: Sequence[JournalFile], line: Line, what: str) -> Damage:
    return Damage(f"{files[line[0]].name}:{line[1]}", what)


def list_journals(folder: Path) -> list[JournalFile]:
    """Return the files of journals with the number of lines that each holds, whatever these are worth."""
    return _walk(folder, _headers, lambda *_: None)


def read_journals(folder: Path) -> Reading:
    """Read every journal of a folder.

    A line that is torn (a kill in the middle of writing), was changed since it was written or is otherwise no
    record is left out and named. Where a repeat was recorded more than once, a result beats a failure, the
    first result beats later ones and the later failure beats the earlier. Of results that contradict each
    other those decide that most records have, of equally many the ones that are read first, by the names of
    files; the others are named. Two alone are both left out, so that the next run decides.

    Raises
    ------
    UserError
        When a file cannot be read, or was written by a later version of fairbench.
    """
    records: Records = {}
    lines: dict[Place, Line] = {}
    several: dict[Place, list[_Entry]] = {}
    damages: list[tuple[Line, str]] = []

    def take(line: Line, found: Repeat | str) -> None:
        if isinstance(found, str):
            damages.append((line, found))
            return
        place = found.key, found.repeat
        if lines.setdefault(place, line) is line:
            records[place] = found
        else:
            several.setdefault(place, [(lines[place], records[place])]).append((line, found))

    files = _walk(folder, _contents, take)
    for place, entries in several.items():
        agreed, others = _agreed(entries)
        damages += [(line, "another record of this repeat has other counts") for line, _ in others]
        if agreed:
            records[place], lines[place] = reduce(together, (repeat for _, repeat in agreed)), agreed[0][0]
        else:
            del records[place], lines[place]
    named = tuple(_damage(files, line, what) for line, what in damages)
    return Reading(records, named, tuple(files), lines)


def _walk(
    folder: Path, read: Callable[[Path], _Contents], take: Callable[[Line, Repeat | str], None]
) -> list[JournalFile]:
    """Take in every line of every journal of a folder but the headers; return the files, or their parts."""
    files: list[JournalFile] = []
    for path in sorted(folder.glob("*.jsonl")):
        name, header, held = f"{folder.name}/{path.name}", None, 0
        for number, found in read(path):
            if isinstance(found, JournalHeader):  # another one where files were copied into one
                files += [JournalFile(name, header, held)] * bool(held or header)
                header, held = found, 0
            else:
                held += 1
                take((len(files), number), found)
        files.append(JournalFile(name, header, held))
    return files


def _headers(path: Path) -> _Contents:
    """Yield the headers of a file as far as they can be read, and nothing of its other lines."""
    for number, line in enumerate(filter(None, _lines(path)), 1):
        found: JournalHeader | str = ""
        if line.startswith(HEAD):
            with suppress(ValueError, UserError):
                found = parse_header(*opened(line), str(path))
        yield number, found


def _contents(path: Path) -> _Contents:
    """Yield what each line of a file holds: a repeat, a header, or what is wrong with it."""
    headed = False
    for number, line in enumerate(_lines(path), 1):
        if not line:
            continue
        try:
            body, checked = opened(line)
            if body.startswith(HEAD):
                yield number, parse_header(body, checked, f"{path}:{number}")
                headed = True
                continue
            if headed and not checked:
                yield number, "it has no checksum"
                continue
            repeat = parse_repeat(body)
        except ValidationError:
            yield number, "it is no record"
        except ValueError as error:
            yield number, str(error)
        else:
            if checked and number == 1:
                yield number, "the header before it is missing"
            yield number, repeat


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")
    except OSError as error:
        what = f"cannot read {path}: {error.strerror}"
        raise user_error(what, "check its permissions, or move it away") from None


def _agreed(entries: list[_Entry]) -> tuple[list[_Entry], list[_Entry]]:
    """Return those of several records of one repeat that decide, and those that contradict them."""
    results = [entry for entry in entries if entry[1].status not in RETRIED]
    if not results:
        return entries, []
    votes = [b"" if one.counts is None else (one.counts.n.round(6) + 0.0).tobytes() for _, one in results]
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
