"""A real ``fairbench web`` in a process of its own, and raw requests to it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Server:
    """A server that answers: its process, port, key, and the folder for its temporary files."""

    process: "subprocess.Popen[str]"
    port: int
    key: str
    folder: Path

    @property
    def address(self) -> str:
        """The address of the start page."""
        return f"http://127.0.0.1:{self.port}/{self.key}/"

    def raw(self, request: bytes, seconds: float = 30) -> bytes:
        """Return all that comes after some bytes are sent, until the server closes or is silent."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as connection:
            connection.sendall(request)
            with suppress(TimeoutError, ConnectionResetError):
                while chunk := connection.recv(65536):
                    received += chunk
        return received

    def status(self, *request: Any, **more: Any) -> int:
        """Return the status of a request, which `answer` describes."""
        return self.answer(*request, **more)[0]

    def answer(
        self,
        path: str,
        method: str = "GET",
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        host: str | None = None,
    ) -> tuple[int, bytes]:
        """Return the status and the body of an answer; `path` without a slash comes after the key."""
        if not path.startswith("/"):
            path = f"/{self.key}/{path}"
        lines = [f"{method} {path} HTTP/1.1"]
        if host != "":
            lines.append(f"Host: {host or f'127.0.0.1:{self.port}'}")
        lines += [f"{name}: {value}" for name, value in headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        lines.append("Connection: close")
        head, _, content = self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body).partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), content

    @property
    def origin(self) -> tuple[str, str]:
        """The header that this server's own pages send."""
        return ("Origin", f"http://127.0.0.1:{self.port}")

    def kept(self) -> list[Path]:
        """Return the files that the server keeps, without its own."""
        files = [path for path in self.folder.glob("fairbench-*/*") if path.is_file()]
        return [path for path in files if path.name not in ("held", "new", "open.html")]


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[Server]:
    """Start a server whose temporary files are in a folder, and end it as Ctrl-C does."""
    command = [sys.executable, "-m", "fairbench_cli", "web", "--no-browser", *arguments]
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", line)
    assert found, f"no address in {line!r}"
    try:
        yield Server(process, int(found[1]), found[2], folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stderr.close()


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds, twenty seconds at most."""
    for _time in range(400):
        if holds():
            return
        time.sleep(0.05)
    assert holds()
