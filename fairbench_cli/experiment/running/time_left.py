"""How long a run will still take: from what like repeats took, and from the clock on the wall."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

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
LATEST = 101
"""Repeats of a kind, and looks at the clock, that are kept."""
RECENT = 0.3
"""The share of the work, the latest, by which the pace goes: others may have come to use the machine."""


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
    if not unseen:
        return dict(seen)
    fitted_to = [kind for kind, seconds in seen.items() if seconds > LEAST] or list(seen)
    effects = sorted({effect for kind in fitted_to for effect in enumerate(kind)})

    def features(kinds: Sequence[Kind]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return np.array([[1.0, *(effect in enumerate(kind) for effect in effects)] for kind in kinds])

    def log_sizes(kinds: Sequence[Kind]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.log([size.get(kind[0], 1.0) for kind in kinds])

    X = features(fitted_to)
    y = np.log([max(seen[kind], LEAST) for kind in fitted_to]) - log_sizes(fitted_to)
    penalty = np.diag([1e-6] + [RIDGE] * len(effects))
    coefficients = np.linalg.solve(X.T @ X + penalty, X.T @ y)
    estimates = np.exp(features(unseen) @ coefficients + log_sizes(unseen))
    return {**seen, **dict(zip(unseen, estimates.tolist(), strict=True))}


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
    """

    jobs: int
    size: Mapping[str, float] = field(default_factory=dict)
    _seconds: dict[Kind, deque[float]] = field(
        default_factory=lambda: defaultdict(partial(deque, maxlen=LATEST))
    )
    _loading: set[Kind] = field(default_factory=set)
    _looks: list[tuple[float, float]] = field(default_factory=list)
    _worked: float = 0.0
    _n_finished: int = 0

    def known(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat of an earlier run."""
        self._seconds[kind].append(seconds)

    def note(self, kind: Kind, seconds: float) -> None:
        """Take in a repeat that has just finished, and what it took by its own account."""
        self._n_finished += 1
        self._worked += seconds + HANDLING
        if self._n_finished <= self.jobs and kind not in self._seconds:
            self._loading.add(kind)
        elif kind in self._loading:
            self._loading.remove(kind)
            self._seconds[kind].clear()
        self.known(kind, seconds)

    def look(self, elapsed: float, running: Iterable[tuple[Kind, float]] = ()) -> None:
        """Take in the time since the first repeat was handed out, and what is under way for how long."""
        spent = self.jobs * elapsed - sum(seconds for _, seconds in running)
        self._looks.append((self._worked, spent))
        if len(self._looks) > 2 * LATEST:  # half as many, as far apart
            self._looks = self._looks[::2]

    @property
    def pace(self) -> float:
        """How many seconds of a worker a second of work takes, over the latest part of the work.

        Repeats' own seconds do not count waiting for a processor: it is 1 on an idle machine, about 2 where
        other programs take half of it; 1 where nothing is known.
        """
        if not self._looks:
            return 1.0
        worked, spent = self._looks[-1]
        recent = RECENT * (worked - self._looks[0][0])
        worked_before, spent_before = max(look for look in self._looks if look[0] <= worked - recent)
        if worked == worked_before:
            return 1.0
        return max((spent - spent_before) / (worked - worked_before), 0.5)

    def left(self, todo: Mapping[Kind, int], running: Sequence[tuple[Kind, float]] = ()) -> float | None:
        """Return the seconds until all is done; None while nothing is known.

        Parameters
        ----------
        todo : mapping
            How many repeats of each kind are not finished.
        running : sequence of (kind, seconds)
            Those under way, and since when.

        >>> clock = RunClock(jobs=2)
        >>> clock.known(("a",), 10.0)
        >>> clock.left({("a",): 4}, [(("a",), 4.0), (("a",), 0.0)])
        18.008
        """
        if not self._seconds:
            return None
        kinds = [kind for kind, n in todo.items() if n > 0]
        sure = [kind for kind in self._seconds if kind not in self._loading] or self._seconds
        seen = {kind: sum(self._seconds[kind]) / len(self._seconds[kind]) for kind in sure}
        typical = typical_seconds(seen, kinds, self.size)
        pace = self.pace
        for kind, seconds in running:
            if kind not in seen and kind in typical:
                typical[kind] = max(typical[kind], UNFINISHED * seconds / pace)
        takes = {kind: pace * (typical[kind] + HANDLING) for kind in kinds}
        # All that is to do is divided among the workers; none of them ends before its own repeat.
        under_way = [(takes[kind], seconds) for kind, seconds in running if kind in takes]
        everything = sum(todo[kind] * takes[kind] for kind in kinds)
        everything -= sum(min(expected, seconds) for expected, seconds in under_way)
        longest = max((expected - seconds for expected, seconds in under_way), default=0.0)
        return max(everything / self.jobs, longest, 0.0)
