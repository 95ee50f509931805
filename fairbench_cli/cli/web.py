"""``fairbench web``: an audit in the browser."""

from typing import Annotated

import typer

from fairbench_cli.base.errors import user_error
from fairbench_cli.cli import console

GIGABYTE = 2**30


def web(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser at its address.")
    ] = True,
    host: Annotated[
        str,
        typer.Option(
            help="Another address than this machine's own lets others in the network read what you do, "
            "without encryption; it needs --share as well."
        ),
    ] = "127.0.0.1",
    share: Annotated[
        bool, typer.Option("--share", help="Others in the network may use it: see --host.")
    ] = False,
    max_size: Annotated[float, typer.Option(min=0.001, max=64, help="Gigabytes that a file may have.")] = 2.0,
) -> None:
    """Audit a file in the browser, without a terminal: drop it, answer four questions, read.

    It runs on this machine alone. What is dropped is copied to a private folder, and removed when it ends.
    """
    from fairbench_cli.web.server import LOOPBACK, listen, serve

    is_loopback = host in (LOOPBACK, "localhost")
    if not is_loopback and not share:
        problem = (
            f"on {host} everybody in the network who has the address reads your data, without encryption"
        )
        raise user_error(problem, "add --share if that is what you want, or leave --host out", "--host")
    if share and is_loopback:
        raise user_error(
            "--share is given, and only this machine is reached",
            "name this machine's address: --host",
            "--share",
        )
    names = (LOOPBACK, "localhost") if is_loopback else (host,)
    listener = listen(host, port)
    if share:
        console.talk(
            "Everybody in the network who has the address reads what is done here; nothing is encrypted."
        )
    serve(listener, names, opens=browser, most_bytes=int(max_size * GIGABYTE), tell=console.talk)
