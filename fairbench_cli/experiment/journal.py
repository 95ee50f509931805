"""The append-only record of finished repeats; everything else is derived from it.

A run writes one file of its own, ``journal/*.jsonl``, one line per finished repeat. Merging the work of
several machines is copying their files into one folder.
"""

import json
import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from fairbench_cli.errors import user_error
from fairbench_cli.experiment.cell import Repeat, Status
from fairbench_cli.experiment.tuning import Curve
from fairbench_cli.measures.counts import Counts

Records = dict[tuple[str, int], Repeat]

RETRIED = frozenset({"failed", "killed", "overtime", "memory"})
"""What the next run tries again; an infeasible repeat is a result."""


class Journal:
    """Appends repeats to a file of its own.

    Each line is handed to the system at once, so that a killed run loses nothing, and forced to the disk
    about once a second, for power cuts.
    """

    def __init__(self, folder: Path) -> None:
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}-{time.time_ns() % 10**9:09d}"
        self.path = folder / f"{name}.jsonl"
        self._file: IO[str] | None = None
        self._synced = 0.0

    def append(self, repeat: Repeat) -> None:
        """Write one line.

        Raises
        ------
        UserError
            When it cannot be written; what was written before stays.
        """
        line = _line(repeat) + "\n"
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a", encoding="utf-8", newline="\n")
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
            self._file.close()


@dataclass(frozen=True)
class Reading:
    """What a folder of journals holds, and how many lines could not be read."""

    records: Records
    damaged: int


def read_journals(folder: Path) -> Reading:
    """Read every journal of a folder.

    A line that is torn (a kill in the middle of writing) or otherwise no record is left out and counted.
    Where a repeat was recorded more than once, a result beats a failure, the first result beats later ones
    and the later failure beats the earlier.

    Raises
    ------
    UserError
        When a file cannot be read.
    """
    records: Records = {}
    damaged = 0
    for path in sorted(folder.glob("*.jsonl")):
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise user_error(
                f"cannot read {path}: {error.strerror}", "check its permissions, or move it away"
            ) from None
        for line in filter(None, lines):
            try:
                repeat = _parse(line)
            except ValidationError:
                damaged += 1
                continue
            place = repeat.key, repeat.repeat
            records[place] = together(records.get(place), repeat)
    return Reading(records, damaged)


def together(known: Repeat | None, later: Repeat) -> Repeat:
    """Choose between two records of a repeat; what only the later one measured is added to the first."""
    if known is None or known.status in RETRIED:
        return later
    if later.status in RETRIED or known.counts is None:
        return known
    return replace(known, swept=known.swept or later.swept, values={**later.values, **known.values})


def _line(repeat: Repeat) -> str:
    counts = None if repeat.counts is None else repeat.counts.n.tolist()
    row = {
        "key": repeat.key,
        "repeat": repeat.repeat,
        "status": repeat.status,
        "reason": repeat.reason,
        "counts": counts,
        "facts": dict(repeat.facts),
        "seconds": round(repeat.seconds, 4),
    }
    if repeat.values:
        row["values"] = {name: _number(value) for name, value in repeat.values.items()}
    if repeat.swept is not None:
        row["swept"] = repeat.swept.n.tolist()
    if repeat.tuning is not None:
        row["tuning"] = {
            "chosen": repeat.tuning.chosen,
            "values": [_number(value) for value in repeat.tuning.values],
            "counts": [None if np.isnan(n).any() else n.tolist() for n in repeat.tuning.counts.n],
        }
    return json.dumps(row, ensure_ascii=False, allow_nan=False, default=_plain)


def _number(value: float) -> float | str | None:
    """Write a number that may be undefined or infinite, for which JSON has no word."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _plain(value: Any) -> Any:
    """Let NumPy's numbers into JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


Weight = Annotated[FiniteFloat, Field(ge=0)]
Pair = Annotated[list[Weight], Field(min_length=2, max_length=2)]
OfGroup = Annotated[list[Pair], Field(min_length=2, max_length=2)]
ByGroup = Annotated[list[OfGroup], Field(min_length=2)]


Number = FiniteFloat | Literal["inf", "-inf"] | None


class _Tuning(BaseModel):
    """What a curve must look like."""

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


class _Line(BaseModel):
    """What a line must look like; NaN and Infinity are no JSON."""

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


def _parse(line: bytes) -> Repeat:
    """Read a line; the groups are numbered, their names are the plan's (`RunPlan.protected`)."""
    row = _Line.model_validate_json(line)
    groups = _numbered(len(row.counts or ()))
    counts = None if row.counts is None else Counts(groups, np.array(row.counts, dtype=float))
    swept = None
    if row.swept is not None:
        swept = Counts(groups, np.array(row.swept, dtype=float).reshape(-1, len(groups), 2, 2))
    values = {name: _float(value) for name, value in row.values.items()}
    tuning = None if row.tuning is None else row.tuning.curve()
    so_far = row.key, row.repeat, row.status, row.reason, counts, row.facts, row.seconds
    return Repeat(*so_far, values, swept, tuning)


def _numbered(groups: int) -> tuple[str, ...]:
    return tuple(map(str, range(groups)))


def _float(value: Number) -> float:
    return math.nan if value is None else float(value)
