"""What a long piece of work says of itself, to whoever listens."""

from collections.abc import Callable

Far = Callable[[], float | None]
"""Returns how far it is, per cent; None where nobody knows."""

Tell = Callable[[str, Far | None], None]
"""Called with what is being done from now on, and how far it is."""


def to_nobody(what: str, far: Far | None = None) -> None:
    """Say nothing."""
