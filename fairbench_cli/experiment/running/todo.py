"""What of a run is still to do: counted without being listed, and found one repeat at a time.

A run may be divided into shards, each computed by a command of its own, anywhere.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fairbench_cli.base.errors import user_error
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import Cell

TRIED_LAST = frozenset({"overtime", "memory"})
"""What took more than its limits, and may well do so again."""
FLAG = "--shard"


@dataclass(frozen=True)
class Shard:
    """A part of a run: of each cell every `of`-th repeat, from one that its key decides.

    What is done already does not matter, nor what else is in the config: a repeat stays in its shard.

    Parameters
    ----------
    index : int
        From 0 to `of` − 1.
    of : int
        How many shards there are.
    """

    index: int
    of: int

    def has(self, key: str, repeat: int) -> bool:
        """Return whether a repeat of a cell, by its key in hexadecimal, is in this shard.

        >>> [[repeat for repeat in range(8) if Shard(i, 3).has("c0ffee", repeat)] for i in range(3)]
        [[2, 5], [0, 3, 6], [1, 4, 7]]
        """
        return (self._first(key) - repeat) % self.of == 0

    def count(self, key: str, repeats: int) -> int:
        """Return how many of the first repeats of a cell are in this shard.

        >>> [Shard(i, 3).count("c0ffee", 8) for i in range(3)]
        [2, 3, 3]
        """
        return max(0, -((self._first(key) - repeats) // self.of))

    def _first(self, key: str) -> int:
        return (self.index - int(key[:15], 16)) % self.of

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def read_shard(text: str) -> Shard:
    """Return the shard that a command line names: ``0/16`` is the first of sixteen, ``15/16`` the last.

    Raises
    ------
    UserError
        When there is no such shard.

    >>> read_shard("0/16")
    Shard(index=0, of=16)
    >>> read_shard("2/2")
    Traceback (most recent call last):
    fairbench_cli.base.errors.UserError: --shard: error: there is no shard 2 of 2: they are numbered from 0
      fix: write one of 0/2 to 1/2; for a job array of SLURM, --array=0-1
    """
    parts = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if parts is None:
        what = f'"{text}" is no shard: it is written as number/how many'
        fix = f"in a job array of SLURM, {FLAG} $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
        raise user_error(what, f"write {FLAG} 0/4, 1/4, 2/4 and 3/4 for four; {fix}", FLAG)
    index, of = int(parts[1]), int(parts[2])
    if of < 1:
        raise user_error("a run cannot be divided into 0 shards", f"write {FLAG} 0/1, or leave it out", FLAG)
    if index >= of:
        what = f"there is no shard {index} of {of}: they are numbered from 0"
        last = of - 1
        fix = f"write one of 0/{of} to {last}/{of}; for a job array of SLURM, --array=0-{last}"
        fix = fix if of > 1 else "write 0/1, or leave it out"
        raise user_error(what, fix, FLAG)
    return Shard(index, of)


@dataclass(frozen=True, eq=False)
class Todo:
    """The repeats that still have to run; iterating goes by what is recorded at that moment.

    Parameters
    ----------
    cells : sequence of Cell
        With different keys.
    repeats : int
        How many each has.
    records : dict
        What is recorded, by key and repeat.
    has_all : callable
        Says whether a record has all that is asked for.
    shard : Shard or None
        The part that is meant, if not all.
    """

    cells: Sequence[Cell]
    repeats: int
    records: Records
    has_all: Callable[[Repeat], bool]
    shard: Shard | None = None

    def by_key(self) -> dict[str, int]:
        """Return how many repeats of each cell are to do; the time it takes depends on the records alone."""
        part = self.shard or Shard(0, 1)
        left = {cell.key: part.count(cell.key, self.repeats) for cell in self.cells}
        for (key, repeat), record in self.records.items():
            own = key in left and repeat < self.repeats and part.has(key, repeat)
            if own and self.has_all(record):
                left[key] -= 1
        return left

    def __len__(self) -> int:
        return sum(self.by_key().values())

    def __iter__(self) -> Iterator[tuple[Cell, int]]:
        """Yield all cells of the first repeat, then of the next; last what took more than its limits."""
        late = {place for place, record in self.records.items() if record.status in TRIED_LAST}
        last: list[tuple[Cell, int]] = []
        part = self.shard or Shard(0, 1)
        for repeat in range(self.repeats):
            for cell in self.cells:
                place = cell.key, repeat
                if not part.has(*place):
                    continue
                record = self.records.get(place)
                if place in late:
                    last.append((cell, repeat))
                elif record is None or not self.has_all(record):
                    yield cell, repeat
        yield from last
