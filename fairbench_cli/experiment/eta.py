"""How long a run will still take, from the seconds of cells like those that are left."""

from collections.abc import Iterable

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.plan import Cell


class Clock:
    """Estimates the time left from the mean seconds of like cells."""

    def __init__(self, records: Iterable[Repeat], kinds: dict[str, tuple[str, ...]]) -> None:
        self._kinds = kinds
        self._sums: dict[tuple[str, ...], tuple[float, int]] = {}
        for record in records:
            self.note(record)

    def note(self, record: Repeat) -> None:
        """Take in a finished repeat."""
        kind = self._kinds.get(record.key)
        if kind is not None:
            total, n = self._sums.get(kind, (0.0, 0))
            self._sums[kind] = (total + record.seconds, n + 1)

    def left(self, todo: dict[tuple[str, ...], int], jobs: int) -> float | None:
        """Return the seconds left for `todo` repeats per kind of cell; None while nothing is known."""
        known = [total / n for total, n in self._sums.values()]
        if not known:
            return None
        typical = sum(known) / len(known)
        means = {kind: total / n for kind, (total, n) in self._sums.items()}
        return sum(n * means.get(kind, typical) for kind, n in todo.items()) / max(jobs, 1)


def kind_of(cell: Cell) -> tuple[str, ...]:
    """Return what cells of about the same cost share."""
    return cell.dataset, cell.technique.choice.name, str(cell.classifier)
