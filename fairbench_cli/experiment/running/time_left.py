"""How long a run will still take: from what like repeats took, and from the clock on the wall."""

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Kind = tuple[str, ...]
"""What repeats of about the same cost share: the data set first, then technique, tuning and classifier."""

UNFINISHED = 1.5
"""How many times as long as so far a repeat takes, of a kind of which none is finished."""
RIDGE = 0.1
"""How strongly effects are drawn to 0, in repeats that show none."""
HANDLING = 0.004
"""Seconds that a repeat takes beside its own: it is handed out, counted and written down."""
LEAST = 1e-3
"""Seconds; shorter repeats, which were refused, say nothing of others."""
AT_THE_END = 20
"""How many repeats a worker has left when it matters which of them is whose."""
LATEST = 101
"""Repeats of a kind, and looks at the clock, that are kept."""
RECENT = 0.3
"""The share of the work, the latest, by which the pace goes: others may have come to use the machine."""


class Look(NamedTuple):
    """A look at the clock.

    Parameters
    ----------
    spent : float
        Seconds that all workers together have had so far, without those of repeats under way.
    worked : float
        Seconds that the finished repeats took by their own account, in which waiting for a processor does not
        count, each with `HANDLING`.
    """

    spent: float
    worked: float


def pace_of(looks: Sequence[Look]) -> float:
    """Return how many seconds of a worker a second of work takes, over the latest part of the work.

    1 on an idle machine, about 2 where other programs take half of it; 1 where nothing is known.

    >>> pace_of([Look(0, 0), Look(10, 10), Look(30, 20), Look(40, 25)])
    2.0
    """
    if len(looks) < 2:
        return 1.0
    last = looks[-1]
    from_here = last.worked - RECENT * (last.worked - looks[0].worked)
    first = max((look for look in looks[:-1] if look.worked <= from_here), key=lambda look: look.worked)
    worked = last.worked - first.worked
    if worked > 0:
        return max((last.spent - first.spent) / worked, 0.5)
    return 1.0


def typical_seconds(
    seen: Mapping[Kind, float], kinds: Collection[Kind], size: Mapping[str, float]
) -> dict[Kind, float]:
    """Return the seconds that a repeat of each kind takes: as seen, else by what it shares with those seen.

    Logarithms of the seconds are a sum of effects: of the data set, the technique, the tuning and the
    classifier. Seconds grow with the size of the data. Effects are drawn to 0 (ridge regression), the more so
    the less is known of them.

    Parameters
    ----------
    seen : mapping
        Mean seconds of the kinds of which some are finished, at least one.
    kinds : collection
        Those that are asked for.
    size : mapping
        How large each data set is, in any unit.

    >>> seen = {("a", "none"): 1.0, ("a", "slow"): 10.0, ("b", "none"): 2.0}
    >>> round(typical_seconds(seen, [("b", "slow")], {"a": 1000, "b": 2000})["b", "slow"])
    16
    """
    unseen = [kind for kind in kinds if kind not in seen]
    found = {kind: seen[kind] for kind in kinds if kind in seen}
    if not unseen:
        return found
    known = [kind for kind, seconds in seen.items() if seconds > LEAST] or list(seen)
    values = sorted({(i, value) for kind in known for i, value in enumerate(kind)})
    column = {value: at for at, value in enumerate(values, start=1)}

    def features(some: Sequence[Kind]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        rows = np.zeros((len(some), len(values) + 1))
        rows[:, 0] = 1
        for row, kind in enumerate(some):
            rows[row, [column[one] for one in enumerate(kind) if one in column]] = 1
        return rows

    def sizes(some: Sequence[Kind]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.log([size.get(kind[0], 1.0) for kind in some])

    X = features(known)
    y = np.log([max(seen[kind], LEAST) for kind in known]) - sizes(known)
    penalty = np.diag([1e-6, *[RIDGE] * len(values)])
    effects = np.linalg.solve(X.T @ X + penalty, X.T @ y)
    guesses = np.exp(features(unseen) @ effects + sizes(unseen))
    return found | dict(zip(unseen, guesses.tolist(), strict=True))


def tail(lasts: Iterable[float], jobs: int) -> float:
    """Return how long the last repeats keep some workers busy beyond what an even division would take.

    >>> tail([1.0, 1.0, 4.0], 2)
    2.0
    """
    busy = [0.0] * jobs
    for seconds in lasts:
        heapq.heapreplace(busy, busy[0] + seconds)
    return max(busy) - sum(busy) / jobs


def time_left(
    typical: Mapping[Kind, float],
    todo: Mapping[Kind, int],
    running: Iterable[tuple[Kind, float]],
    pace: float,
    jobs: int,
    turn: Sequence[Kind] = (),
) -> float:
    """Return the seconds until all is done.

    Parameters
    ----------
    typical : mapping
        Seconds that a repeat of each kind takes by its own account.
    todo : mapping
        How many repeats of each kind are not finished.
    running : iterable of (kind, seconds)
        Those under way, and since when.
    pace : float
        Of `pace_of`.
    jobs : int
        How many workers there are.
    turn : sequence of Kind
        The kinds of all cells in the order in which each repeat goes through them.

    >>> time_left({("a",): 10.0}, {("a",): 4}, [(("a",), 4.0), (("a",), 0.0)], 1.0, 2)
    18.008
    """
    takes = {kind: pace * (typical[kind] + HANDLING) for kind, n in todo.items() if n > 0}
    under_way = [(kind, seconds) for kind, seconds in running if kind in takes]
    spent = sum(min(seconds, takes[kind]) for kind, seconds in under_way)
    everything = sum(n * takes[kind] for kind, n in todo.items() if n > 0) - spent
    longest = max((takes[kind] - seconds for kind, seconds in under_way), default=0.0)
    still = sum(n for n in todo.values() if n > 0)
    lasts = [takes[kind] for kind in turn[-min(still, AT_THE_END * jobs) :] if kind in takes] if turn else []
    return max(everything / jobs + tail(lasts, jobs), longest, 0.0)


@dataclass(eq=False)
class RunClock:
    """What a run has shown of its repeats' costs and of its pace.

    Parameters
    ----------
    jobs : int
        How many workers there are. The first repeat of each loads libraries: it counts where no other is
        known.
    size : mapping
        How large each data set is.
    turn : sequence of Kind
        The kinds of all cells in the order in which each repeat goes through them.
    """

    jobs: int
    size: Mapping[str, float] = field(default_factory=dict)
    turn: Sequence[Kind] = ()
    _seconds: dict[Kind, deque[float]] = field(default_factory=dict)
    _first: set[Kind] = field(default_factory=set)
    _looks: list[Look] = field(default_factory=list)
    _worked: float = 0.0
    _notes: int = 0

    def known(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat of an earlier run."""
        self._seconds.setdefault(kind, deque(maxlen=LATEST)).append(seconds)

    def note(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat that has just finished, and what it took by its own account."""
        self._notes += 1
        self._worked += seconds + HANDLING
        if self._notes <= self.jobs and kind not in self._seconds:
            self._first.add(kind)
        elif kind in self._first:
            self._first.remove(kind)
            self._seconds[kind].clear()
        self.known(kind, seconds)

    def look(self, elapsed: float, running: Iterable[tuple[Kind, float]] = ()) -> None:
        """Take in the time since the first repeat was handed out, and what is under way for how long."""
        spent = self.jobs * elapsed - sum(seconds for _, seconds in running)
        self._looks.append(Look(spent, self._worked))
        if len(self._looks) > 2 * LATEST:  # half as many, as far apart
            self._looks = self._looks[::2]

    def left(self, todo: Mapping[Kind, int], running: Sequence[tuple[Kind, float]] = ()) -> float | None:
        """Return the seconds until all is done; None while nothing is known."""
        if not self._seconds:
            return None
        sure = [kind for kind in self._seconds if kind not in self._first] or self._seconds
        seen = {kind: sum(self._seconds[kind]) / len(self._seconds[kind]) for kind in sure}
        typical = typical_seconds(seen, [kind for kind, n in todo.items() if n > 0], self.size)
        pace = pace_of(self._looks)
        for kind, seconds in running:
            if kind in typical and kind not in seen:
                typical[kind] = max(typical[kind], UNFINISHED * seconds / pace)
        return time_left(typical, todo, running, pace, self.jobs, self.turn)
