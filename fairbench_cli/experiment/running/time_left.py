"""How long a run will still take: from what like repeats took, and from the clock on the wall."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median

Kind = tuple[str, ...]
"""What repeats of about the same cost share: the data set first, then technique, tuning and classifier."""

HANDLING = 0.004
"""Seconds that a repeat takes beside its own: it is handed out, counted and written down."""
LATEST = 101
"""Repeats of a kind, and looks at the clock, that are kept."""


@dataclass(eq=False)
class RunClock:
    """What a run has shown of its repeats' costs and of its pace.

    Parameters
    ----------
    jobs : int
        How many workers there are.
    size : mapping
        How large each data set is, in any unit: the seconds of kinds that were not seen go by it.
    pace : float
        How many seconds of a worker a second of work takes. Repeats' own seconds do not count waiting for a
        processor: it is 1 on an idle machine, about 2 where other programs take half of it.
    """

    jobs: int
    size: Mapping[str, float] = field(default_factory=dict)
    pace: float = 1.0
    _seconds: dict[Kind, deque[float]] = field(
        default_factory=lambda: defaultdict(partial(deque, maxlen=LATEST))
    )
    _worked: float = 0.0
    _looks: deque[tuple[float, float]] = field(default_factory=partial(deque, maxlen=LATEST))

    def known(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat of an earlier run."""
        self._seconds[kind].append(seconds)

    def note(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat that has just finished, and what it took by its own account."""
        self._worked += seconds + HANDLING
        self.known(kind, seconds)

    def look(self, elapsed: float, under_way: float = 0.0) -> None:
        """Take in the seconds since the first repeat was handed out, and those of all that are under way."""
        spent = self.jobs * elapsed - under_way
        if not self._looks or self._worked > self._looks[-1][0]:
            self._looks.append((self._worked, spent))
        # By the later half: the first repeats of workers load libraries, and others come to use the machine.
        worked_before, spent_before = self._looks[(len(self._looks) - 1) // 2]
        if self._worked > worked_before:
            self.pace = max((spent - spent_before) / (self._worked - worked_before), 0.5)

    def left(self, todo: Mapping[Kind, int]) -> float | None:
        """Return the seconds until all is done; None while nothing is known.

        Parameters
        ----------
        todo : mapping
            How many repeats of each kind are not finished.

        >>> clock = RunClock(jobs=2, size={"a": 100, "b": 300})
        >>> clock.known(("a",), 10.0)
        >>> clock.left({("a",): 4}), clock.left({("b",): 4})
        (20.008, 60.008)
        """
        if not self._seconds:
            return None
        typical = {kind: median(seconds) for kind, seconds in self._seconds.items()}
        by_size = sum(typical.values()) / sum(self.size.get(kind[0], 1.0) for kind in typical)
        total = 0.0
        for kind, n in todo.items():
            total += n * (typical.get(kind, by_size * self.size.get(kind[0], 1.0)) + HANDLING)
        return self.pace * total / self.jobs
