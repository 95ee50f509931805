"""The append-only record of finished repeats; everything else is derived from it.

A run writes one file of its own, ``journal/*.jsonl``: a header, then one line per finished repeat, each JSON
with a checksum as its last field. The work of several machines is merged by copying files into one folder.
"""

import codecs
import json
import math
import os
import re
import socket
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.safe_text import format_count
from fairbench_cli.experiment.cell import Curve, Repeat, Status
from fairbench_cli.experiment.controls import TWINS, ControlCounts
from fairbench_cli.experiment.decisions import ROWS, RowsPlace, crc_of_rows
from fairbench_cli.experiment.journal.packed_scores import pack_scores, unpack_scores
from fairbench_cli.experiment.versions import Versions
from fairbench_cli.measures.counts import Counts

FORMAT = 1
HEAD = b'{"journal": '
_SEAL = b', "crc": "'
_SEALED = len(_SEAL) + 8 + len(b'"}')


class JournalHeader(BaseModel):
    """The first line of a journal: who wrote it, and with which versions of what decides numbers.

    Parameters
    ----------
    started : str
        In UTC.
    shard : str or None
        Which part of the matrix, such as ``2/4``.
    versions, code : dict
        As in `Versions`.
    mixed : bool
        Whether it went on from results of other versions, as it was told to.
    reused_from : str or None
        The folder of results that its repeats were copied from, and that this header is of.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    journal: Literal[1] = 1
    started: str
    host: str
    pid: int
    shard: str | None = None
    versions: dict[str, str]
    code: dict[str, str] = {}
    mixed: bool = False
    reused_from: str | None = None

    @property
    def written_fields(self) -> dict[str, Any]:
        """Its fields as they are written; one that was not copied has nothing to say of that."""
        fields = self.model_dump()
        if self.reused_from is None:
            del fields["reused_from"]
        return fields

    @property
    def name(self) -> str:
        """Return a name for the file that no other process anywhere gives; by time of its start."""
        started = re.sub(r"[^0-9T]", "", self.started)
        shard = ""
        if self.shard is not None:
            shard = f"-shard-{self.shard.replace('/', '-of-')}"
        return f"{started}-{self.host}-{self.pid}-{time.time_ns() % 10**9:09d}{shard}.jsonl"


def new_header(versions: Versions, shard: str | None = None, *, mixed: bool = False) -> JournalHeader:
    """Return the header of a journal that this process begins now; `versions` are those of this process."""
    return JournalHeader(
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        host=host_name(),
        pid=os.getpid(),
        shard=shard,
        versions=dict(versions.packages),
        code=dict(versions.code),
        mixed=mixed,
    )


def host_name() -> str:
    """Return the name of this machine, in letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:40].strip("-") or "unnamed"


def header_line(header: JournalHeader) -> bytes:
    """Return a header as a line, without its end."""
    return sealed(json.dumps(header.written_fields, ensure_ascii=False))


def parse_header(line: bytes, checked: bool, where: str) -> JournalHeader:
    """Return the header of a line without its checksum.

    Raises
    ------
    pydantic.ValidationError, ValueError
        When the line is no header, or had no checksum.
    UserError
        When a later version of fairbench wrote it; `where` is named.
    """
    if not checked:
        raise ValueError("it has no checksum")
    number = json.loads(line).get("journal")
    if number != FORMAT:
        problem = f"a journal of format {number}, and this version reads {FORMAT}"
        raise user_error(problem, "update fairbench", where)
    return JournalHeader.model_validate_json(line)


def sealed(text: str) -> bytes:
    """Return a JSON object with the CRC-32 of its bytes as the last field.

    >>> sealed('{"a": 1}')
    b'{"a": 1, "crc": "fba18e97"}'
    """
    body = text.encode()
    return body[:-1] + _SEAL + b'%08x"}' % zlib.crc32(body)


def opened(line: bytes) -> tuple[bytes, bool]:
    """Return the line without its checksum, and whether it had one: lines of old journals have none.

    Raises
    ------
    ValueError
        When the checksum is not that of the line. It is compared as text: a letter in the other case is a
        fault too.

    >>> opened(b'{"a": 1, "crc": "fba18e97"}'), opened(b'{"a": 1}')
    ((b'{"a": 1}', True), (b'{"a": 1}', False))
    """
    if line[-_SEALED : len(_SEAL) - _SEALED] != _SEAL:
        return line, False
    body = line[:-_SEALED] + b"}"
    if line[len(_SEAL) - _SEALED :] != b'%08x"}' % zlib.crc32(body):
        raise ValueError("its checksum is another")
    return body, True


Weight = Annotated[FiniteFloat, Field(ge=0)]
Pair = Annotated[list[Weight], Field(min_length=2, max_length=2)]
OfGroup = Annotated[list[Pair], Field(min_length=2, max_length=2)]
ByGroup = Annotated[list[OfGroup], Field(min_length=2)]
Number = FiniteFloat | Literal["inf", "-inf"] | None
"""A number that may be infinite or undefined, for which JSON has no word."""


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    if math.isfinite(value):
        return value
    return str(value)


def _float(value: Number) -> float:
    if value is None:
        return math.nan
    return float(value)


_COUNTS = "counts", "swept", "recorded"  # the fields of a repeat that are `Counts`
_SCORES = "scores", "recorded_scores"  # and those that are `GroupScores`


def _counts(n: Any, groups: int) -> Counts | None:
    """Return counts of a line, of so many groups, which are numbered."""
    if n is None:
        return None
    array = np.array(n, dtype=float)
    return Counts(tuple(map(str, range(groups))), array if len(n) else array.reshape(0, groups, 2, 2))


class _Tuning(BaseModel):
    """A curve as it stands in a line."""

    model_config = ConfigDict(strict=True, extra="forbid")

    chosen: int = Field(ge=0)
    values: list[Number]
    counts: list[ByGroup | None]

    @model_validator(mode="after")
    def _same_candidates(self) -> Self:
        if self.chosen >= len(self.values) or len(self.values) != len(self.counts):
            raise ValueError("values and counts of other candidates")
        if self.counts[self.chosen] is None or len({len(table) for table in self.counts if table}) > 1:
            raise ValueError("counts of other groups")
        return self

    def curve(self) -> Curve:
        """Return it as it was."""
        size = len(self.counts[self.chosen] or ())
        nothing = np.full((size, 2, 2), np.nan)
        counts = _counts([nothing if table is None else table for table in self.counts], size)
        assert counts is not None  # noqa: S101 - the chosen candidate has some
        return Curve(self.chosen, tuple(map(_float, self.values)), counts)


class _Controls(BaseModel):
    """The controls of a repeat of the plain model as they stand in a line."""

    model_config = ConfigDict(strict=True, extra="forbid")

    seed: int = Field(ge=0)
    twins: Annotated[list[ByGroup], Field(min_length=len(TWINS), max_length=len(TWINS))]
    planted: dict[str, ByGroup]

    def controls(self, size: int) -> ControlCounts:
        """Return them as they were, of so many groups."""
        twins = _counts(self.twins, size)
        planted = {name: _counts(table, size) for name, table in self.planted.items()}
        assert twins is not None  # noqa: S101 - both are there
        return ControlCounts(
            self.seed, twins, {name: counts for name, counts in planted.items() if counts is not None}
        )


class RepeatLine(BaseModel):
    """A repeat as it stands in a line; NaN and Infinity are no JSON.

    The groups of its counts are numbered; their names are the plan's (`RunPlan.protected`).
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    key: str
    repeat: int = Field(ge=0)
    status: Status
    reason: str
    counts: ByGroup | None
    facts: dict[str, int | FiniteFloat]
    seconds: FiniteFloat
    values: dict[str, Number] = {}
    swept: list[ByGroup] | None = None
    scores: str | None = None
    recorded_scores: str | None = None
    tuning: _Tuning | None = None
    decisions: str | None = None
    predictions: RowsPlace | None = None
    recorded: ByGroup | None = None
    controls: _Controls | None = None

    @model_validator(mode="after")
    def _same_groups(self) -> Self:
        other_counts = list(self.swept or ())
        if self.recorded is not None:
            other_counts.append(self.recorded)
        if self.controls is not None:
            other_counts += self.controls.twins
            other_counts += self.controls.planted.values()
        if any(len(table) != len(self.counts or ()) for table in other_counts):
            raise ValueError("counts of other groups")
        return self

    def record(self) -> Repeat:
        """Return the repeat."""
        row = vars(self)
        size = len(self.counts or ())
        counts = {name: _counts(row[name], size) for name in _COUNTS}
        values = {name: _float(value) for name, value in self.values.items()}
        tuning = None
        if self.tuning is not None:
            tuning = self.tuning.curve()
        controls = None
        if self.controls is not None:
            controls = self.controls.controls(size)
        parsed: dict[str, Any] = {"values": values, "tuning": tuning, "controls": controls}
        for name in _SCORES:
            parsed[name] = None
            if row[name] is not None:
                parsed[name] = unpack_scores(row[name], size)
        return Repeat(**row | counts | parsed)


def fields_of(repeat: Repeat) -> dict[str, Any]:
    """Return the fields of a `RepeatLine`, which have the names of a repeat's, as plain data."""
    row = vars(repeat)
    curve = repeat.tuning
    stored = repeat.predictions
    controls = repeat.controls and {
        "seed": repeat.controls.seed,
        "twins": repeat.controls.twins.n.tolist(),
        "planted": {name: counts.n.tolist() for name, counts in repeat.controls.planted.items()},
    }
    tuning = curve and {
        "chosen": curve.chosen,
        "values": list(map(_number, curve.values)),
        "counts": [None if np.isnan(n).any() else n.tolist() for n in curve.counts.n],
    }
    return {
        **row,
        **{name: None if row[name] is None else row[name].n.tolist() for name in _COUNTS},
        **{name: None if row[name] is None else pack_scores(row[name]) for name in _SCORES},
        "seconds": round(repeat.seconds, 4),
        "values": {name: _number(value) for name, value in repeat.values.items()},
        "tuning": tuning,
        "predictions": vars(stored) if isinstance(stored, RowsPlace) else None,
        "controls": controls,
    }


_OPTIONAL = {name for name, field in RepeatLine.model_fields.items() if not field.is_required()}


def repeat_line(repeat: Repeat, without: Sequence[str] = ()) -> bytes:
    """Return a repeat as a line, without its end and some fields; what was not measured is not in it."""
    fields_kept = {
        name: value
        for name, value in fields_of(repeat).items()
        if name not in without and (name not in _OPTIONAL or value not in (None, {}))
    }
    return sealed(json.dumps(fields_kept, ensure_ascii=False, allow_nan=False, default=_to_json))


def _to_json(value: Any) -> Any:
    """Let NumPy's numbers into JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def parse_repeat(line: bytes) -> Repeat:
    """Return the repeat of a line without its checksum.

    Raises
    ------
    pydantic.ValidationError
        When the line is no repeat.
    """
    return RepeatLine.model_validate_json(line).record()


Place = tuple[str, int]
Records = dict[Place, Repeat]
Line = tuple[int, int]  # the index of a file, and the number of a line in it
_Entry = tuple[Line, Repeat]

RETRIED = frozenset({"failed", "killed", "overtime", "memory"})
"""What the next run tries again; an infeasible repeat is a result."""


class Journal:
    """Appends repeats to a file of its own.

    Each line is handed to the system at once, so that a killed run loses nothing, and forced to the disk
    about once a second, for power cuts. Nobody else may write to the file or delete it meanwhile. Rows that a
    repeat has kept go to a file of the same name that ends in `ROWS`, before the line that says where they
    are: what a kill leaves there without a line is never read.

    Parameters
    ----------
    header : JournalHeader
        The first line.
    """

    def __init__(self, folder: Path, header: JournalHeader) -> None:
        self.header = header
        self.path = folder / header.name
        self._file: IO[bytes] | None = None
        self._rows: IO[bytes] | None = None
        self._synced = 0.0
        self._size = self._rows_size = 0

    def append(self, repeat: Repeat) -> Repeat:
        """Write one line; return the repeat as the journal has it, its rows as their place.

        Raises
        ------
        UserError
            When it cannot be written; what was written before stays. As `check` raises.
        """
        try:
            if self._file is None:
                self.path.parent.mkdir(exist_ok=True)
            self.check()
            if isinstance(repeat.predictions, bytes):
                repeat = replace(repeat, predictions=self._keep(repeat.predictions))
            line = repeat_line(repeat) + b"\n"
            if self._file is None:
                self._file = open(self.path, "xb", opener=_appending)  # noqa: SIM115 - as it has no opener
                line = header_line(self.header) + b"\n" + line
            self._size += self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced >= 1.0:
                if self._rows is not None:
                    os.fsync(self._rows.fileno())
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            problem = f"cannot write {self.path}: {error.strerror}"
            raise user_error(problem, "make room and run again; finished repeats are kept") from None
        return repeat

    def _keep(self, packed: bytes) -> RowsPlace:
        """Write rows to the file next to this one; return where they are."""
        path = self.path.with_suffix(ROWS)
        if self._rows is None:
            self._rows = open(path, "xb", opener=_appending)  # noqa: SIM115 - as it has no opener
        repeat_key = RowsPlace(path.name, self._rows_size, len(packed), crc_of_rows(packed))
        self._rows_size += self._rows.write(packed)
        self._rows.flush()
        return repeat_key

    def check(self) -> None:
        """Check that the file is still there, as this process left it.

        Raises
        ------
        UserError
            When it was deleted or changed, so that what would be written is lost.
        """
        for file, size in ((self._rows, self._rows_size), (self._file, self._size)):
            if file is None:
                continue
            entry = os.fstat(file.fileno())
            if not entry.st_nlink:
                problem = "deleted"
                lost = "the repeats in it are computed again"
            elif entry.st_size != size:
                problem = "changed by another program"
                lost = "repeats that are lost are computed again"
            else:
                continue
            fix = f"leave the folder alone and run again; {lost}"
            path = self.path.with_name(Path(file.name).name)
            raise user_error(f"{path} was {problem} while the run was writing to it", fix)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._rows, self._file):
            if file is not None:
                with suppress(OSError):  # of a line that `append` could not write, and said so
                    file.close()


def _appending(path: str, flags: int) -> int:
    """Open a file in which a line goes to the end, whatever was done to it."""
    return os.open(path, flags | os.O_APPEND, 0o666)


@dataclass(frozen=True)
class Damage:
    """A line of a journal that is not used, or the place where one is missing.

    Parameters
    ----------
    where : str
        ``journal/x.jsonl:12``.
    what : str
        What is wrong with it.
    header : bool
        Whether it is a header: the repeats under it are used, and their versions are not known.
    """

    where: str
    what: str
    header: bool = False

    def __str__(self) -> str:
        return f"{self.where} ({self.what})"


DAMAGES_SHOWN = 5


def damage_in_words(damages: Sequence[Damage], then: str = "their repeats are computed again") -> list[str]:
    """Return which lines are damaged and what becomes of their repeats: a line for headers, one for others.

    >>> damage_in_words([Damage("journal/x.jsonl:12", "it is no record")])
    ['1 damaged line: journal/x.jsonl:12 (it is no record); their repeats are computed again']
    >>> damage_in_words([Damage("x.jsonl:1", "its checksum is another", header=True)])[0].partition("; ")[2]
    'the versions of the repeats under it are not known'
    """
    unknown = "the versions of the repeats under it are not known"
    lines = []
    for noun, after, header in (("line", then, False), ("header", unknown, True)):
        damages_of_kind = [str(damage) for damage in damages if damage.header == header]
        if damages_of_kind:
            listing = damages_of_kind[:DAMAGES_SHOWN]
            if len(damages_of_kind) > DAMAGES_SHOWN:
                listing.append("…")
            n_damaged = format_count(len(damages_of_kind), f"damaged {noun}")
            lines.append(f"{n_damaged}: {', '.join(listing)}; {after}")
    return lines


@dataclass(frozen=True)
class JournalFile:
    """A file of journals, or the part of it under one header.

    Parameters
    ----------
    header : JournalHeader or None
        None for a file from before there were headers, or where it cannot be read.
    lines : int
        How many lines it holds besides, whatever these are worth.
    headless : bool
        Whether there was a header that is damaged or gone, so that nobody knows the versions.
    """

    name: str
    header: JournalHeader | None
    lines: int
    headless: bool = False


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

    def file_number(self, repeat_key: Place) -> int:
        """Return which of the files a record stands in."""
        return self.lines[repeat_key][0]

    def damage(self, repeat_key: Place, problem: str) -> Damage:
        """Return a record as one that is not used."""
        number, line = self.lines[repeat_key]
        return Damage(f"{self.files[number].name}:{line}", problem)


def list_journals(folder: Path) -> list[JournalFile]:
    """Return the files of journals with the number of lines that each holds, whatever these are worth."""
    files: list[JournalFile] = []
    deque(_walk(folder, files, brief=True), maxlen=0)
    return files


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
    files: list[JournalFile] = []
    records: Records = {}
    lines: dict[Place, Line] = {}
    several: dict[Place, list[_Entry]] = {}
    damages: list[Damage] = []
    sizes = {path.name: path.stat().st_size for path in folder.glob(f"*{ROWS}")}
    for line, entry in _walk(folder, files):
        if isinstance(entry, Damage):
            damages.append(entry)
            continue
        stored = entry.predictions
        if isinstance(stored, RowsPlace) and stored.at + stored.bytes > sizes.get(stored.file, 0):
            entry = replace(entry, predictions=None)  # the file is gone: the next run keeps them again
        repeat_key = entry.key, entry.repeat
        if lines.setdefault(repeat_key, line) is line:
            records[repeat_key] = entry
        else:
            several.setdefault(repeat_key, [(lines[repeat_key], records[repeat_key])]).append((line, entry))
    for repeat_key, entries in several.items():
        agreed, disagreeing = _agreed(entries)
        for (file, number), _ in disagreeing:
            where = f"{files[file].name}:{number}"
            damages.append(Damage(where, "another record of this repeat has other counts"))
        if agreed:
            records[repeat_key], lines[repeat_key] = (
                reduce(together, (repeat for _, repeat in agreed)),
                agreed[0][0],
            )
        else:
            del records[repeat_key], lines[repeat_key]
    return Reading(records, tuple(damages), tuple(files), lines)


def _walk(
    folder: Path, files: list[JournalFile], *, brief: bool = False
) -> Iterator[tuple[Line, Repeat | Damage]]:
    """Yield what every line of every journal of a folder holds, but for headers; add the files to a list.

    In brief: nothing of the lines under a header, which are counted.
    """
    for path in sorted(folder.glob("*.jsonl")):
        name = f"{folder.name}/{path.name}"
        header = None
        headless = False
        n_records = 0
        for number, line in enumerate(_lines(path), 1):
            headed = headless or header is not None
            if not line:
                continue
            if brief and headed and not _is_like_header(line):
                n_records += 1
                continue
            for entry in _read_line(line, headed, folder, f"{name}:{number}"):
                if isinstance(entry, Repeat) or (isinstance(entry, Damage) and not entry.header):
                    n_records += 1
                else:
                    if n_records or headed:  # another one, where files were copied into one
                        files.append(JournalFile(name, header, n_records, headless))
                    header = None
                    if isinstance(entry, JournalHeader):
                        header = entry
                    headless = header is None
                    n_records = 0
                if not isinstance(entry, JournalHeader):
                    yield (len(files), number), entry
        files.append(JournalFile(name, header, n_records, headless))


_RECORD = b'{"key": "'
_MARKS = b'"journal": ', b'"started": ', b'"versions": ', b'"code": '


def _is_like_header(line: bytes) -> bool:
    """Return whether a line is a header, perhaps a damaged one, or one that follows a torn line."""
    if line.startswith(_RECORD):
        return HEAD in line
    return line.startswith(HEAD) or sum(mark in line for mark in _MARKS) > 1


def _read_line(
    line: bytes, headed: bool, folder: Path, where: str
) -> Iterator[Repeat | JournalHeader | Damage]:
    """Yield what a line of a folder of journals holds; before that, what is missing."""
    try:
        body, checked = opened(line)
        if body.startswith(HEAD):
            yield parse_header(body, checked, f"{folder.parent / where}")
            return
        repeat = parse_repeat(body)
    except ValidationError:
        fault = "it is no record"
    except ValueError as error:
        fault = str(error)
    else:
        if checked and not headed:
            yield Damage(where, "the header before it is missing", header=True)
        if checked or not headed:
            yield repeat
        else:
            yield Damage(where, "it has no checksum")
        return
    yield Damage(where, fault, header=_is_like_header(line))


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file; a BOM and the line ends of Windows are none of its contents."""
    try:
        text = path.read_bytes()
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise user_error(problem, "check its permissions, or move it away") from None
    lines = text.split(b"\n")
    if b"\r\n" in text or codecs.BOM_UTF8 in text:
        return [line.removeprefix(codecs.BOM_UTF8).removesuffix(b"\r") for line in lines]
    return lines


def _agreed(entries: list[_Entry]) -> tuple[list[_Entry], list[_Entry]]:
    """Return those of several records of one repeat that decide, and those that contradict them."""
    results = [entry for entry in entries if entry[1].status not in RETRIED]
    if not results:
        return entries, []
    votes = []
    for _, record in results:
        tables = [table for table in (record.counts, record.recorded) if table is not None]
        votes.append(b"".join((table.n.round(6) + 0.0).tobytes() for table in tables))
    (first_vote, most), *fewer_votes = Counter(votes).most_common()
    if fewer_votes and fewer_votes[0][1] == most and len(results) == 2:
        return [], results
    agreed = [entry for entry, vote in zip(results, votes, strict=True) if vote == first_vote]
    return agreed, [entry for entry, vote in zip(results, votes, strict=True) if vote != first_vote]


def together(earlier: Repeat | None, later: Repeat) -> Repeat:
    """Choose between two records of a repeat; what only the later one measured is added to the first."""
    if earlier is None or earlier.status in RETRIED:
        return later
    if later.status in RETRIED or earlier.counts is None:
        return earlier
    return replace(
        earlier,
        swept=earlier.swept or later.swept,
        scores=earlier.scores or later.scores,
        recorded_scores=earlier.recorded_scores or later.recorded_scores,
        values={**later.values, **earlier.values},
        decisions=earlier.decisions or later.decisions,
        controls=earlier.controls or later.controls,
        predictions=earlier.predictions or later.predictions,
    )
