"""The server: one address of this machine, a key, and a browser that is told both."""

import asyncio
import html
import os
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairbench_cli.base.errors import user_error
from fairbench_cli.base.files import scratch_folder

LOOPBACK = "127.0.0.1"
HEAD_SECONDS = 10.0  # until the head of a request is there, or the next one
LONGEST_HEAD = 16_384  # bytes
REMOVE_AT_END = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one.

    Raises
    ------
    UserError
        When the address or the port cannot be had.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        problem = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise user_error(problem, "name another --port, or none") from None
    return listener


def serve(
    listener: socket.socket,
    names: tuple[str, ...],
    *,
    opens: bool,
    most_bytes: int,
    tell: Callable[[str], None],
) -> None:
    """Answer until Ctrl-C. Everything that was sent is removed at the end.

    Parameters
    ----------
    listener : socket
        Listens already.
    names : tuple of str
        What the server is called, without the port.
    opens : bool
        Whether the browser is opened.
    most_bytes : int
        Of a file that is sent.
    tell : callable
        Called with lines for the person who started it.
    """
    import uvicorn

    from fairbench_cli.web.app import Site, make_app
    from fairbench_cli.web.guard import new_key

    port = listener.getsockname()[1]
    key = new_key()
    hosts = tuple(f"{name}:{port}" for name in names)
    with scratch_folder() as folder, _process_that_removes(folder):
        folder.chmod(0o700)
        site = Site(key, hosts, folder, most_bytes)
        address = f"http://{hosts[0]}/{key}/"
        options = uvicorn.Config(
            make_app(site),
            access_log=False,
            log_level="error",
            lifespan="off",
            ws="none",
            http=_with_deadline(),
            h11_max_incomplete_event_size=LONGEST_HEAD,
            timeout_keep_alive=int(HEAD_SECONDS),
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(options)
        tell(f"fairbench web: {address}")
        tell("Only this machine's browser reaches it, and only with this address. Ctrl-C ends it.")
        try:
            if opens:
                _open_browser(address, folder)
            with suppress(KeyboardInterrupt):
                server.run([listener])
        finally:
            site.close()


def _process_that_removes(folder: Path) -> "subprocess.Popen[str]":
    """Start a process that removes a folder when the server has ended, however it did; `with` ends it.

    Its input is a pipe that the system closes then. It is another process than the workers, which load
    libraries for seconds before they could look.
    """
    command = [sys.executable, "-I", "-S", "-c", REMOVE_AT_END, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)  # noqa: S603


def _open_browser(address: str, folder: Path) -> None:
    """Open a file that leads to the address: among the arguments of a process everybody would see the key."""
    page = folder / "open.html"
    descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    target = html.escape(address)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            '<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">fairbench web</a>\n'
        )
    webbrowser.open(page.as_uri())


def _with_deadline() -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with a deadline for the head of a request, of which it has none."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class DeadlineProtocol(H11Protocol):
        """Closes a connection whose request does not come, however slowly its bytes trickle in."""

        deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.deadline = self.loop.call_later(HEAD_SECONDS, self._close_without_request)

        def _close_without_request(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return DeadlineProtocol
