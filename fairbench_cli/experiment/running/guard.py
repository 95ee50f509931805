"""Limits of one repeat, held inside its worker; what does not obey there is ended from outside."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairbench_cli.experiment.config.config import Limits

AGAIN = 0.5
"""Seconds after which a technique that caught the first `Overtime` gets another one."""


class Overtime(BaseException):
    """The repeat has run for longer than it may."""


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Raise `Overtime` or MemoryError in a block that takes more than it may; in a main thread.

    Compiled code is not interrupted: it has to end first. The limit of memory is one of address space, on top
    of what the process has now, so that libraries that are loaded already do not count.
    """
    armed = True

    def ring(*_: object) -> None:
        if armed:
            raise Overtime

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds or 0, AGAIN)
    before = _fence(limits.memory)
    try:
        yield
    finally:
        armed = False
        disarm()
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, before)


def disarm() -> None:
    """Stop the clock; an alarm that is on its way is ignored."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _fence(memory: int | None) -> tuple[int, int] | None:
    """Set the soft limit of address space; return the one before, or None where nothing was set."""
    if memory is None or sys.platform != "linux":
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    wanted = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize() + memory
    if before[0] != resource.RLIM_INFINITY and before[0] <= wanted:
        return None
    resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
    return before
