"""Processes of our own, which end with the one that starts them. Loads little: they do this first."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_ROUNDS = 100
_ROUND = 0.01
"""Seconds until one more look at whether a session is empty: what is killed may have started something."""
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
    _ask_for_signal(number or signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _ask_for_signal(number: int) -> None:
    """Let Linux send this process a signal when its parent ends."""
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, number)


def end_session_after(leader: int) -> NoReturn:
    """Wait until the parent of this process, which leads its session, has ended; then end the whole session.

    A session holds what a process starts, also in groups of its own, unless it starts a session itself. Its
    number is nobody else's while this process is in it. Linux only.
    """
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))  # an end of a pipe here would keep others waiting
    woken = {signal.SIGCONT}  # reaches this process also where it is stopped
    signal.pthread_sigmask(signal.SIG_BLOCK, woken)
    _ask_for_signal(signal.SIGCONT)
    while os.getppid() == leader:
        signal.sigwait(woken)
    for _ in range(_ROUNDS):
        members = [pid for pid in _session_members(leader) if pid != os.getpid()]
        if not members:
            break
        for pid in members:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_ROUND)
    os._exit(0)


def _session_members(session: int) -> list[int]:
    """Return the numbers of the processes in a session, without those that have ended."""
    members = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has ended just now
            continue
        state = words[0]
        if int(words[3]) == session and state not in (b"Z", b"X"):
            members.append(int(folder.name))
    return members


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


def limit_memory(memory: int | None) -> tuple[int, int] | None:
    """Set the soft limit of address space to what this process has now and so much more; Linux only.

    Returns
    -------
    The limits before, or None where nothing was set.
    """
    if memory is None or sys.platform != "linux":
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    bytes_allowed = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize() + memory
    if before[0] != resource.RLIM_INFINITY and before[0] <= bytes_allowed:
        return None
    resource.setrlimit(resource.RLIMIT_AS, (bytes_allowed, before[1]))
    return before


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
