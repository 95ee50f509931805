"""How long a run will still take, from the seconds of cells like those that are left."""

from collections.abc import Iterable
from statistics import median

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.plan import Cell


class Clock:
    """Estimates the time left from the median seconds of like cells.

    The median, because the first repeat of every worker pays for loading libraries.
    """

    def __init__(self, records: Iterable[Repeat], kinds: dict[str, tuple[str, ...]]) -> None:
        self._kinds = kinds
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for record in records:
            self.note(record)

    def note(self, record: Repeat) -> None:
        """Take in a finished repeat."""
        kind = self._kinds.get(record.key)
        if kind is not None:
            self._seconds.setdefault(kind, []).append(record.seconds)

    def left(self, todo: dict[tuple[str, ...], int], jobs: int) -> float | None:
        """Return the seconds left for `todo` repeats per kind of cell; None while nothing is known."""
        medians = {kind: median(seconds) for kind, seconds in self._seconds.items()}
        if not medians:
            return None
        typical = median(medians.values())
        return sum(n * medians.get(kind, typical) for kind, n in todo.items()) / max(jobs, 1)


def kind_of(cell: Cell) -> tuple[str, ...]:
    """Return what cells of about the same cost share."""
    return cell.dataset, cell.technique.choice.name, str(cell.classifier)
