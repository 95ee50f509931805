"""Processes of our own, which end with the one that starts them. Loads little: it is the first thing they do.

On Linux a fork server starts the workers: a process that has loaded what repeats need and does nothing but
fork. A worker is there in some milliseconds, also in the place of one that died, and shares the memory of the
libraries. Elsewhere each worker is a process that loads them itself.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

FORKS = sys.platform == "linux"
PATIENCE = 1.0
"""Seconds that a fork server has to end by itself."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_START = """import json, sys
path, target, given = json.loads(sys.argv[1])
sys.path[:] = path
from pkgutil import resolve_name
resolve_name(target)(*given)
"""


def launch(target: str, handle: int, *given: Any) -> "subprocess.Popen[bytes]":
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
    own: dict[str, Any] = {"pass_fds": [handle], "start_new_session": True}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        own = {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})}
    call = json.dumps([list(map(str, sys.path)), target, [handle, os.getpid(), *given]])
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
    command = [sys.executable, "-P", "-c", _START, call]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, **own)  # noqa: S603


def die_with_parent(parent: int) -> None:
    """Let Linux kill this process when `parent`, which started it, ends: also inside compiled code."""
    if sys.platform != "linux":
        return
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def end_group(leader: int) -> None:
    """End a worker and the processes that it has started, by its number."""
    with suppress(OSError):
        os.killpg(leader, signal.SIGKILL) if hasattr(os, "killpg") else os.kill(leader, signal.SIGTERM)


def memory_of(pid: int) -> int:
    """Return the resident memory of a process, bytes; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class ForkServer:
    """The process that forks workers, seen from the one that wants them.

    Parameters
    ----------
    classifiers, techniques : sequence of str
        Which are used, so that it loads what they need before the first worker is wanted.

    Raises
    ------
    OSError
        When this system starts no more processes.
    """

    def __init__(self, classifiers: Sequence[str] = (), techniques: Sequence[str] = ()) -> None:
        self._ours, theirs = socket.socketpair()
        self._has_forked = False
        with theirs:
            self._process = launch(f"{__name__}:fork_workers", theirs.fileno(), classifiers, techniques)

    def fork(self, handle: int) -> None:
        """Fork a worker, which gets an open file of this process; where it cannot, that file is closed there.

        Raises
        ------
        OSError
            When the server has ended.
        """
        self._has_forked = True
        socket.send_fds(self._ours, [b"fork"], [handle])

    def has_ended(self) -> bool:
        """Return whether the process is no longer there: it never says anything."""
        return bool(select.select([self._ours], [], [], 0)[0])

    def end(self) -> None:
        """End the process, and with it every worker."""
        self._ours.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE if self._has_forked else 0)  # it adds up what its workers took
        self._process.kill()
        self._process.wait()


def fork_workers(handle: int, parent: int, classifiers: list[str], techniques: list[str]) -> None:
    """Be a fork server until the other end of a socket is closed."""
    die_with_parent(parent)  # before anything is loaded, which takes a while
    from fairbench_cli.experiment.running.warm import warm_up

    with suppress(BaseException):  # a repeat says what is wrong
        warm_up(classifiers, techniques)
    signal.signal(signal.SIGCHLD, _reap)
    own = os.getpid()
    with socket.socket(fileno=handle) as orders:
        while handles := socket.recv_fds(orders, 4, 1)[1]:
            with suppress(OSError):  # too many processes
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    orders.close()
                    _be_worker(handles[0], own)
            os.close(handles[0])
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _reap(*_: object) -> None:
    """Let the workers that have ended go."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _be_worker(handle: int, parent: int) -> NoReturn:
    from fairbench_cli.experiment.running.worker import work

    try:
        work(handle, parent)
    finally:
        os._exit(1)
