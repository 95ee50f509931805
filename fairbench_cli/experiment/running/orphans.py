"""No process outlives the one that started it. Loads nothing, so that it can be the first thing done."""

import os
import signal
import sys


def die_with_parent(parent: int | None = None) -> None:
    """Let Linux kill this process when the one that started it ends: also inside compiled code.

    `parent` is the one that started it; if that has ended before this was called, this process ends too.
    """
    if sys.platform != "linux":
        return
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
