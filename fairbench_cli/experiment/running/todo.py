"""What of a run is still to do: counted without being listed, and found one repeat at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import Records
from fairbench_cli.experiment.plan import Cell
from fairbench_cli.experiment.running.shard import Shard

TRIED_LAST = frozenset({"overtime", "memory"})
"""What took more than its limits, and may well do so again."""


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
