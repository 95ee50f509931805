"""Who is let in: requests of this machine's browser that know the key, and of nobody's else pages."""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

KEY_BYTES = 24
METHODS = ("GET", "HEAD", "POST")
LONGEST_PATH = 2000

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Refusal:
    """Why a request is not let in, as a status of HTTP and a sentence."""

    status: int
    reason: str


NO_PAGE = Refusal(404, "there is no such page")


def new_key() -> str:
    """Draw the key of a start: 192 bits, as text that an address can have.

    >>> len(new_key()), new_key() == new_key()
    (32, False)
    """
    return secrets.token_urlsafe(KEY_BYTES)


def find_refusal(
    method: str, path: str, headers: Sequence[tuple[bytes, bytes]], key: str, hosts: Sequence[str]
) -> Refusal | None:
    """Return why a request is refused, or None.

    Parameters
    ----------
    method : str
        Of HTTP.
    path : str
        What comes after the host; its first part is the key.
    headers : sequence of (bytes, bytes)
        Names in small letters, and values; one that was sent twice stands twice.
    key : str
        The key of this start.
    hosts : sequence of str
        What the server is called, with the port: another name is one that somebody made point to this
        machine.

    Examples
    --------
    >>> headers = [(b"host", b"127.0.0.1:8000")]
    >>> find_refusal("GET", "/k/", headers, "k", ["127.0.0.1:8000"])
    >>> find_refusal("GET", "/wrong/", headers, "k", ["127.0.0.1:8000"]).status
    404
    >>> find_refusal("GET", "/k/", [(b"host", b"evil.test:8000")], "k", ["127.0.0.1:8000"]).status
    421
    >>> find_refusal("POST", "/k/files", headers, "k", ["127.0.0.1:8000"]).status
    403
    """
    named_hosts = values_of(headers, b"host")
    if len(named_hosts) > 1:
        return Refusal(400, "the request names two hosts")
    if not named_hosts or named_hosts[0].lower() not in hosts:
        return Refusal(421, "this server has another name")
    if method not in METHODS:
        return Refusal(405, "only GET, HEAD and POST are answered")
    if values_of(headers, b"content-length") and values_of(headers, b"transfer-encoding"):
        return Refusal(400, "the request has two lengths")
    first_part, _, page_path = path.removeprefix("/").partition("/")
    if len(path) > LONGEST_PATH or not secrets.compare_digest(first_part.encode(), key.encode()):
        return NO_PAGE
    if method == "POST":
        origins = values_of(headers, b"origin")
        if origins != [f"http://{named_hosts[0]}"]:
            return Refusal(403, "the request comes from another page")
    return _refuse_site(method, page_path, headers)


def _refuse_site(method: str, page_path: str, headers: Sequence[tuple[bytes, bytes]]) -> Refusal | None:
    """Refuse what the browser says comes from another site; the start page may be opened by a link."""
    for site in values_of(headers, b"sec-fetch-site"):
        if site in ("same-origin", "none"):
            continue
        is_opened = (
            method == "GET"
            and page_path == ""
            and site == "cross-site"
            and values_of(headers, b"sec-fetch-mode") == ["navigate"]
            and values_of(headers, b"sec-fetch-dest") == ["document"]
        )
        if not is_opened:
            return Refusal(403, "the request comes from another site")
    return None


def values_of(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Return all values that were sent under a name.

    >>> values_of([(b"host", b"a"), (b"host", b"b")], b"host")
    ['a', 'b']
    """
    return [value.decode("latin-1") for header, value in headers if header.lower() == name]


def common_headers(style_hashes: Sequence[str], script_hashes: Sequence[str]) -> dict[str, str]:
    """Return the headers of every answer: nothing is loaded from elsewhere, kept, sent on or framed."""
    policy = (
        "default-src 'none'",
        " ".join(("style-src 'self'", *style_hashes)),
        " ".join(("script-src 'self'", *script_hashes)),
        "img-src data: 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def guarded(app: App, key: str, hosts: Sequence[str], headers: dict[str, str]) -> App:
    """Return an application that lets in what `find_refusal` does, and adds headers to each answer."""
    added = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                # An answer may have a stricter policy of its own.
                theirs = [name.lower() for name, _ in message["headers"]]
                extra = [(name, value) for name, value in added if name not in theirs]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        refusal = find_refusal(scope["method"], scope["path"], scope["headers"], key, hosts)
        if refusal is None:
            await app(scope, receive, send_with_headers)
            return
        body = f"{refusal.reason}\n".encode()
        content = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        await send_with_headers(
            {
                "type": "http.response.start",
                "status": refusal.status,
                "headers": [*content, (b"connection", b"close")],
            }
        )
        await send_with_headers({"type": "http.response.body", "body": body})

    return guard
