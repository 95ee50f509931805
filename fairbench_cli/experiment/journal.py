"""The append-only record of finished repeats; everything else is derived from it.

A run writes one file of its own, ``journal/*.jsonl``, one line per finished repeat. Merging the work of
several machines is copying their files into one folder.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from fairbench_cli.experiment.cell import GROUPS, Repeat
from fairbench_cli.measures.counts import Counts

Records = dict[tuple[str, int], Repeat]

RETRIED = frozenset({"failed", "killed"})  # tried again by the next run; an infeasible repeat is a result


class Journal:
    """Appends repeats to a file of its own; flushed at once, on disk within a second."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}-{time.time_ns() % 10**9:09d}"
        self.path = folder / f"{name}.jsonl"
        self._file: IO[str] | None = None
        self._synced = 0.0

    def append(self, repeat: Repeat) -> None:
        """Write one line."""
        if self._file is None:
            self._file = self.path.open("a", encoding="utf-8")
        self._file.write(_line(repeat) + "\n")
        self._file.flush()
        if time.monotonic() - self._synced >= 1.0:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


@dataclass(frozen=True)
class Reading:
    """What a folder of journals holds, and how many lines could not be read."""

    records: Records
    damaged: int


def read_journals(folder: Path) -> Reading:
    """Read every journal of a folder.

    A torn line (a kill in the middle of writing) is left out and counted. Where a repeat was recorded
    more than once, a result beats a failure and the later failure beats the earlier.
    """
    records: Records = {}
    damaged = 0
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            try:
                repeat = _parse(line)
            except (ValueError, KeyError, TypeError):
                damaged += 1
                continue
            known = records.get((repeat.key, repeat.repeat))
            if known is None or known.status in RETRIED:
                records[repeat.key, repeat.repeat] = repeat
    return Reading(records, damaged)


def _line(repeat: Repeat) -> str:
    counts = None if repeat.counts is None else repeat.counts.n.tolist()
    row = {
        "key": repeat.key,
        "repeat": repeat.repeat,
        "status": repeat.status,
        "reason": repeat.reason,
        "counts": counts,
        "facts": {key: value if isinstance(value, int) else float(value) for key, value in repeat.facts.items()},
        "seconds": round(repeat.seconds, 4),
    }
    return json.dumps(row, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Let NumPy's numbers into JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _parse(line: bytes) -> Repeat:
    row = json.loads(line)
    counts = None if row["counts"] is None else Counts(GROUPS, np.array(row["counts"], dtype=float))
    return Repeat(
        row["key"], row["repeat"], row["status"], row["reason"], counts, row["facts"], row["seconds"]
    )
