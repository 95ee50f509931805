"""The fork server, which starts workers on Linux: it has loaded what repeats need, and does nothing but fork.

A worker is there in some milliseconds, also in the place of one that died, and shares the memory of the
libraries. What the techniques and classifiers of a run load is found out by using them on a few rows.

A worker leads a group of processes, in which is what its techniques start. The server ends that group when
the worker has ended, and all of them when the process that wants workers has ended, however that came about.
Where the server itself is killed, workers end with it, and its guard, which it has forked, ends those groups:
the process that wants workers does so too, but may be killed before it gets there.
"""

import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import NoReturn

from fairbench_cli.experiment.running.processes import (
    die_with_parent,
    end_group,
    end_session_after,
    launch,
    start_over,
)

FORKS = sys.platform == "linux"
PATIENCE = 1.0
"""Seconds that a fork server has to end by itself."""
LONGEST = 2.0
"""Seconds that all techniques together may take."""


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
        return bool(wait([self._ours], 0))

    def wake(self) -> None:
        """Let the process go on if somebody has stopped it."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGCONT)

    def end(self) -> None:
        """End the process, and with it every worker."""
        self._ours.close()
        self.wake()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE if self._has_forked else 0)  # it adds up what its workers took
        self._process.kill()
        self._process.wait()


def fork_workers(handle: int, parent: int, classifiers: list[str], techniques: list[str]) -> None:
    """Be a fork server until the other end of a socket is closed."""
    die_with_parent(parent)  # before anything is loaded, which takes a while
    # of what the alarm left half made
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    gc.disable()  # what is loaded stays
    with suppress(BaseException):  # a repeat says what is wrong
        if not warm_up(classifiers, techniques):
            # A library whose import was cut off cannot be imported again.
            start_over(f"{__name__}:fork_workers", handle, parent, classifiers, [])
    sys.unraisablehook = hook
    gc.freeze()  # workers share its memory, and copy what they look through
    gc.enable()
    die_with_parent(parent, signal.SIGCONT)  # it ends the workers before itself, also if it was stopped
    process = os.getpid()
    guards = _fork_guard(process)
    signal.signal(signal.SIGCHLD, _reap)
    workers = []
    with socket.socket(fileno=handle) as orders:
        while handles := socket.recv_fds(orders, 4, 1)[1]:
            with suppress(OSError):  # too many processes
                pid = os.fork()
                if pid == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    orders.close()
                    _be_worker(handles[0], process)
                workers.append(pid)
            os.close(handles[0])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in workers + guards:
        with suppress(ChildProcessError):  # it is another process by now
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            os.kill(pid, signal.SIGKILL)
            end_group(pid)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _fork_guard(server: int) -> list[int]:
    """Fork the process that ends what a killed server leaves; return its number, or an empty list."""
    if os.getsid(0) != server:  # the session has processes that are none of the server's
        return []
    try:
        guard = os.fork()
    except OSError:  # too many processes
        return []
    if guard == 0:
        try:
            end_session_after(server)
        finally:
            os._exit(1)
    return [guard]


def _reap(*_: object) -> None:
    """Let the workers that have ended go, with what their techniques have started."""
    with suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            end_group(ended.si_pid)  # its number is nobody else's yet
            os.waitpid(ended.si_pid, 0)


def _be_worker(handle: int, parent: int) -> NoReturn:
    from fairbench_cli.experiment.running.worker import work

    try:
        work(handle, parent)
    finally:
        os._exit(1)


def warm_up(classifiers: list[str], techniques: list[str]) -> bool:
    """Import what a repeat needs; fit each classifier to a few rows, then each technique.

    Returns
    -------
    bool
        Whether the techniques took no longer than `LONGEST`; else they were cut off.
    """
    import numpy as np

    from fairbench_cli.classifiers.fit import Classifier
    from fairbench_cli.classifiers.registry import CLASSIFIERS
    from fairbench_cli.data.table import Column, Sample, Table
    from fairbench_cli.experiment.config.config import Limits
    from fairbench_cli.experiment.running.worker import Overtime, limited
    from fairbench_cli.interventions.registry import INTERVENTIONS

    rng = np.random.default_rng(0)
    columns = (Column("a", ("x", "y")), Column("s", ("u", "v")))
    rows = Table(columns, rng.integers(0, 2, (40, 2)).astype(np.int16))
    y, s = (rng.integers(0, 2, 40).astype(np.int8) for _ in range(2))
    sample = Sample(rows, "s", y, s)
    fitted = None
    for name in classifiers:
        fitted = Classifier(CLASSIFIERS[name].load()(), include_protected=False, seed=0)
        fitted.fit(sample)
    entries = [INTERVENTIONS[name] for name in techniques if name in INTERVENTIONS]
    try:
        with limited(Limits(seconds=LONGEST, memory=None)):
            for entry in (entry for entry in entries if entry.target.startswith("fairbench_cli.")):
                with suppress(Exception):  # it needs parameters, or other rows
                    entry.load()().fit(sample, fitted, rng)
    except Overtime:
        return False
    return True
