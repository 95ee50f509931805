"""Processes of our own, which end with the one that starts them. Loads little: they do this first."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_START = """import json, sys
path, target, given = json.loads(sys.argv[1])
sys.path[:] = path
from pkgutil import resolve_name
resolve_name(target)(*given)
"""


def launch(target: str, handle: int, *arguments: Any) -> "subprocess.Popen[bytes]":
    """Start a process that calls a function with an open file of this one, the number of this one, and more.

    Whatever lies in the current folder, and the script that runs here, is not run there; what can be imported
    is the same. Signals of the terminal do not reach it, and its libraries compute with one thread.

    Parameters
    ----------
    target : str
        ``module:function``.
    handle : int
        The file, for the new process alone.

    Raises
    ------
    OSError
        When this system starts no more processes.
    """
    options: dict[str, Any] = {"pass_fds": [handle], "start_new_session": True}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        options = {
            "startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]}),
            "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP,
        }
    command = _calling(target, handle, os.getpid(), *arguments)
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, **options)  # noqa: S603


def start_over(target: str, handle: int, parent: int, *arguments: Any) -> NoReturn:
    """Become a new process that `launch` would start, with the same number, open file and parent."""
    os.execv(sys.executable, _calling(target, handle, parent, *arguments))  # noqa: S606


def _calling(target: str, *arguments: Any) -> list[str]:
    return [sys.executable, "-P", "-c", _START, json.dumps([list(map(str, sys.path)), target, arguments])]


def die_with_parent(parent: int, number: int | None = None) -> None:
    """Let Linux send this process a signal when `parent`, which started it, ends.

    Parameters
    ----------
    number : int
        By default SIGKILL, which ends it also inside compiled code.
    """
    if sys.platform != "linux":
        return
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL if number is None else number)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def end_group(leader: int) -> None:
    """End a worker and the processes that it has started, by its number."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(leader, signal.SIGKILL)
        else:
            os.kill(leader, signal.SIGTERM)


def memory_of(pid: int) -> int:
    """Return the resident memory of a process, bytes; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
