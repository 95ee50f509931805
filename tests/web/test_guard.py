"""Who is let in, as a pure function of a request."""

import pytest

from fairbench_cli.web.guard import find_refusal

HOST = "127.0.0.1:8000"
HOSTS = (HOST, "localhost:8000")
KEY = "ppy_bypuA1OmkDycygc1YkUt4gj9_4pd"
START = f"/{KEY}/"
OWN = (b"origin", f"http://{HOST}".encode())
TOP = [(b"sec-fetch-mode", b"navigate"), (b"sec-fetch-dest", b"document")]


def status(path=START, method="GET", host=HOST, extra=()):
    headers = [(b"host", host.encode())] if host else []
    refusal = find_refusal(method, path, [*headers, *extra], KEY, HOSTS)
    return refusal and refusal.status


def test_own_pages_are_let_in():
    assert status() is None
    assert status(method="HEAD") is None
    assert status(f"{START}files", "POST", extra=[OWN, (b"sec-fetch-site", b"same-origin")]) is None
    assert status(extra=[(b"sec-fetch-site", b"none")]) is None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/wrong/",
        f"/x{KEY}/",
        f"/{KEY[:-1]}/",
        f"/?k={KEY}",
        f"/{KEY.upper()}x/",
        f"//{KEY}/",
        "/%00/",
        "/é/",
    ],
)
def test_without_the_key_there_is_nothing(path):
    assert status(path) == 404


@pytest.mark.parametrize(
    "host", ["evil.test:8000", "127.0.0.1:8001", "127.0.0.1", "", "127.0.0.1:8000.evil.test", "[::1]:8000"]
)
def test_another_name_is_another_server(host):
    assert status(host=host) == 421


def test_two_hosts_and_two_lengths_are_refused():
    assert status(extra=[(b"host", HOST.encode())]) == 400
    assert status(extra=[(b"content-length", b"1"), (b"transfer-encoding", b"chunked")]) == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"])
def test_other_methods_are_refused(method):
    assert status(method=method, extra=[OWN]) == 405


@pytest.mark.parametrize(
    "origin",
    [
        None,
        b"null",
        b"http://evil.test",
        b"http://127.0.0.1:8001",
        b"https://127.0.0.1:8000",
        b"http://127.0.0.1:8000.evil.test",
    ],
)
def test_what_is_sent_comes_from_an_own_page(origin):
    extra = [] if origin is None else [(b"origin", origin)]
    assert status(f"{START}files", "POST", extra=extra) == 403


def test_other_sites_may_only_open_the_first_page():
    cross_site = (b"sec-fetch-site", b"cross-site")
    assert status(extra=[cross_site, *TOP]) is None
    assert status(extra=[cross_site]) == 403
    assert status(f"{START}files/x/", extra=[cross_site, *TOP]) == 403
    assert status(extra=[(b"sec-fetch-site", b"same-site"), *TOP]) == 403
    assert status(f"{START}files", "POST", extra=[OWN, cross_site]) == 403
    frame = [(b"sec-fetch-mode", b"navigate"), (b"sec-fetch-dest", b"iframe")]
    assert status(extra=[cross_site, *frame]) == 403
