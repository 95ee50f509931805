"""What a long piece of work says of itself, to whoever listens."""

from collections.abc import Callable

PercentDone = Callable[[], float | None]
"""Returns how far it is, per cent; None where nobody knows."""

ProgressCallback = Callable[[str, PercentDone | None], None]
"""Called with what is being done from now on, and how far it is."""


def ignore_progress(activity: str, far: PercentDone | None = None) -> None:
    """Say nothing."""
