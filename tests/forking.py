"""Command lines in processes of their own that are forked, not executed: what they import was loaded once.

A `Nursery` is a process that has loaded fairbench and does nothing but fork. A command line in it has its own
process number, files, folder, environment and signals; its imports are given, and what Python takes apart at
its end stays whole. What is about the start itself (`python -m`, the path, light imports, closed streams,
kills while workers start) executes Python instead: `conftest.executed`.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

MOST = 1 << 20  # bytes of a request, an environment among them
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


class Forked:
    """A process that the nursery has forked, as `subprocess.Popen` shows one.

    Parameters
    ----------
    pid : int
    ends : int
        A file from which the status can be read once it has ended.
    outputs : tuple of int
        What it writes to standard output and error can be read here.
    """

    def __init__(self, pid: int, ends: int, outputs: Sequence[int]) -> None:
        self.pid, self._ends, self.returncode = pid, ends, None
        self.stdout, self.stderr = (os.fdopen(number, encoding="utf-8", newline="") for number in outputs)

    def poll(self) -> int | None:
        """Return the exit code, of a signal its negative number; None while it runs."""
        if self.returncode is None and select.select([self._ends], [], [], 0)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(os.read(self._ends, 20)))
            os.close(self._ends)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None and not select.select([self._ends], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a forked command line", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read all that it writes, and wait for its end."""
        end = None if timeout is None else time.monotonic() + timeout
        texts = {stream: b"" for stream in (self.stdout, self.stderr) if not stream.closed}
        waiting = list(texts)
        while waiting:
            left = None if end is None else max(0.0, end - time.monotonic())
            ready = select.select(waiting, [], [], left)[0]
            if not ready:
                raise subprocess.TimeoutExpired("a forked command line", timeout or 0)
            for stream in ready:
                read = os.read(stream.fileno(), 1 << 16)
                texts[stream] += read
                if not read:
                    waiting.remove(stream)
                    stream.close()
        self.wait(None if end is None else max(0.0, end - time.monotonic()))
        out, err = (texts.get(stream, b"").decode() for stream in (self.stdout, self.stderr))
        return out, err

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class Child:
    """A child of this process, as far as a run asks `subprocess.Popen` for one."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, None

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            time.sleep(0.002)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def launch(target: str, handle: int, *given: Any) -> Child:
    """Fork what a run would execute: a process that calls a function with an open file."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.closerange(3, handle)
            os.closerange(handle + 1, os.sysconf("SC_OPEN_MAX"))
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            os.environ.update(ONE_THREAD)
            resolve_name(target)(handle, parent, *given)
        finally:
            os._exit(1)
    return Child(pid)


class Nursery:
    """The process that forks, seen from the tests."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env={**environment, **ONE_THREAD}
            )

    def start(
        self,
        arguments: Sequence[str],
        cwd: Path | None,
        environment: Mapping[str, str],
        *,
        leads: bool = False,
    ) -> Forked:
        """Fork a command line; `leads`: as the leader of a session."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        pairs = [os.pipe() for _ in range(3)]
        request = {
            "arguments": list(arguments),
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(environment),
            "leads": leads,
        }
        handed = [nothing, *(write for _, write in pairs)]
        socket.send_fds(self._ours, [json.dumps(request).encode()], handed)
        for number in handed:
            os.close(number)
        out, err, ends = (read for read, _ in pairs)
        answer = b""
        while not answer.endswith(b"\n"):
            read = os.read(ends, 1)
            if not read:
                raise RuntimeError("the process that forks command lines has ended")
            answer += read
        return Forked(int(answer), ends, (out, err))

    def end(self) -> None:
        """End the process; what it has forked goes on."""
        self._ours.close()
        self._process.wait(60)


def serve(requests: socket.socket) -> list[str] | None:
    """Fork command lines until nobody asks any more; return their arguments in the processes forked."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    running: dict[int, int] = {}
    while True:
        ready = select.select([requests, wake], [], [])[0]
        if wake in ready:
            os.read(wake, 1000)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    place = running.pop(pid)
                    os.write(place, str(status).encode())
                    os.close(place)
        if requests in ready:
            content, handed, _, _ = socket.recv_fds(requests, MOST, 4)
            if not content:
                return None
            *streams, ends = handed
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                for number in (wake, woken, ends, requests.detach(), *running.values()):
                    os.close(number)
                return become(json.loads(content), streams)
            for number in streams:
                os.close(number)
            os.write(ends, f"{pid}\n".encode())
            running[pid] = ends


def become(request: Mapping[str, Any], streams: Sequence[int]) -> list[str]:
    """Make this process what a shell would have started; return its arguments."""
    if request["leads"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["cwd"]
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    arguments: list[str] = request["arguments"]
    return arguments


def load() -> None:
    """Load what command lines, runs and their workers need, most of it by a small fit of each technique."""
    import pandas  # noqa: ICN001
    import sklearn.tree  # noqa: F401
    import typer.rich_utils  # noqa: F401

    import fairbench_cli.cli.app
    import fairbench_cli.cli.progress
    import fairbench_cli.document.latex
    import fairbench_cli.experiment.running.run
    import fairbench_cli.experiment.running.worker
    import fairbench_cli.papers.pages
    import fairbench_cli.papers.parts
    import fairbench_cli.report.write
    from fairbench_cli.document.html import page_parts
    from fairbench_cli.experiment.running import server

    server.warm_up(["c45", "naive-bayes", "tree"], ["none", "massaging", "uniform-sampling"])
    fairbench_cli.cli.app.command_tree()
    page_parts()
    # What pandas loads when a small file is first written.
    pandas.DataFrame({"a": [1.5], "b": ["x"]}).to_csv()
    del fairbench_cli


if __name__ == "__main__":
    load()
    resolve_name("fairbench_cli.experiment.running.server").launch = launch
    gc.collect()
    gc.freeze()  # pages that are not written to are shared
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        from fairbench_cli.cli import main

        sys.argv, code = ["fairbench", *asked], 1
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)  # taking apart all that was loaded would take longer than most commands
