"""One line of a journal: a repeat or a header as JSON, with a checksum as its last field."""

import json
import math
import os
import re
import socket
import time
import zlib
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from fairbench_cli.base.errors import user_error
from fairbench_cli.experiment.cell import Repeat, Status
from fairbench_cli.experiment.tuning import Curve
from fairbench_cli.experiment.versions import Versions, versions_of_numbers
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

    @property
    def name(self) -> str:
        """Return a name for the file that no other process anywhere gives; by time of its start."""
        started = re.sub(r"[^0-9T]", "", self.started)
        shard = "" if self.shard is None else f"-shard-{self.shard.replace('/', '-of-')}"
        return f"{started}-{self.host}-{self.pid}-{time.time_ns() % 10**9:09d}{shard}.jsonl"


def new_header(
    versions: Versions | None = None, shard: str | None = None, *, mixed: bool = False
) -> JournalHeader:
    """Return the header of a journal that this process begins now; `versions` are those of this process."""
    versions = versions or versions_of_numbers()
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
    return sealed(json.dumps(header.model_dump(), ensure_ascii=False))


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
        raise user_error(
            f"a journal of format {number}, and this version reads {FORMAT}", "update fairbench", where
        )
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
    return value if math.isfinite(value) else str(value)


def _float(value: Number) -> float:
    return math.nan if value is None else float(value)


def _numbered(groups: int) -> tuple[str, ...]:
    return tuple(map(str, range(groups)))


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
        if self.counts[self.chosen] is None or len({len(one) for one in self.counts if one}) > 1:
            raise ValueError("counts of other groups")
        return self

    def curve(self) -> Curve:
        """Return it as it was."""
        size = len(self.counts[self.chosen] or ())
        nothing = np.full((size, 2, 2), np.nan)
        n = np.array([nothing if one is None else one for one in self.counts], dtype=float)
        return Curve(self.chosen, tuple(map(_float, self.values)), Counts(_numbered(size), n))


class RepeatLine(BaseModel):
    """A repeat as it stands in a line, read or to be written; NaN and Infinity are no JSON.

    What was not measured is not set. The groups of its counts are numbered; their names are the plan's
    (`RunPlan.protected`).
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
    tuning: _Tuning | None = None

    @model_validator(mode="after")
    def _same_groups(self) -> Self:
        if any(len(point) != len(self.counts or ()) for point in self.swept or ()):
            raise ValueError("counts of other groups")
        return self

    @classmethod
    def of(cls, repeat: Repeat) -> "RepeatLine":
        """Return a repeat as a line, unchecked."""
        more: dict[str, Any] = {}
        if repeat.values:
            more["values"] = {name: _number(value) for name, value in repeat.values.items()}
        if repeat.swept is not None:
            more["swept"] = repeat.swept.n.tolist()
        if repeat.tuning is not None:
            curve = repeat.tuning
            counts = [None if np.isnan(n).any() else n.tolist() for n in curve.counts.n]
            values = [_number(value) for value in curve.values]
            more["tuning"] = {"chosen": curve.chosen, "values": values, "counts": counts}
        return cls.model_construct(
            key=repeat.key,
            repeat=repeat.repeat,
            status=repeat.status,
            reason=repeat.reason,
            counts=None if repeat.counts is None else repeat.counts.n.tolist(),
            facts=dict(repeat.facts),
            seconds=round(repeat.seconds, 4),
            **more,
        )

    def record(self) -> Repeat:
        """Return the repeat."""
        groups = _numbered(len(self.counts or ()))
        counts = None if self.counts is None else Counts(groups, np.array(self.counts, dtype=float))
        swept = None
        if self.swept is not None:
            swept = Counts(groups, np.array(self.swept, dtype=float).reshape(-1, len(groups), 2, 2))
        values = {name: _float(value) for name, value in self.values.items()}
        tuning = None if self.tuning is None else self.tuning.curve()
        so_far = self.key, self.repeat, self.status, self.reason, counts, self.facts, self.seconds
        return Repeat(*so_far, values, swept, tuning)


def repeat_line(repeat: Repeat) -> bytes:
    """Return a repeat as a line, without its end."""
    row = RepeatLine.of(repeat).model_dump(exclude_unset=True, warnings=False)
    return sealed(json.dumps(row, ensure_ascii=False, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
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
