"""One part of several that a run is divided into, each computed by a command of its own, anywhere."""

import re
from dataclasses import dataclass

from fairbench_cli.base.errors import user_error

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
