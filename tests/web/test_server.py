"""A server in a process of its own: who gets in, what ends it, what it leaves."""

import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from web_server import started

PEOPLE = b"score,sex,race\n" + b"1,f,a\n0,m,b\n1,m,a\n0,f,b\n" * 50


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="module")
def trickled(server):
    """Begin a request that trickles in, while other tests run; its result is what `trickle` returns."""
    with ThreadPoolExecutor(1) as thread, socket.create_connection(("127.0.0.1", server.port), 30) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHo")
        yield thread.submit(trickle, slow)


def send(server, name, body, extra=()):
    return server.status(f"files?name={name}", "POST", [server.origin, *extra], body)


def test_the_first_page_has_a_strict_policy(server):
    answer = server.raw(
        f"GET /{server.key}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
    )
    head, _, page = answer.partition(b"\r\n\r\n")
    assert b"200 OK" in head
    policy = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-security-policy"))
    assert b"default-src 'none'" in policy
    assert b"unsafe" not in policy
    known = b"cache-control: no-store", b"referrer-policy: no-referrer", b"x-content-type-options: nosniff"
    assert all(header in head.lower() for header in known)
    assert b"access-control" not in head.lower()
    assert b"set-cookie" not in head.lower()
    assert b"Drop a table here" in page


def test_nobody_else_gets_in(server):
    assert server.status("/") == 404
    assert server.status(f"/?key={server.key}") == 404
    assert server.status("", host="evil.test") == 421
    assert server.status("", host=f"127.0.0.1:{server.port + 1}") == 421
    assert server.status("files?name=a.csv", "POST", body=PEOPLE) == 403
    assert server.status("files?name=a.csv", "POST", [("Origin", "null")], PEOPLE) == 403
    assert server.status("", "OPTIONS", [server.origin]) == 405
    absolute = f"GET http://127.0.0.1/{server.key}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    absolute += "Connection: close\r\n\r\n"
    assert b"404" in server.raw(absolute.encode()).split(b"\r\n")[0]
    assert server.status("", headers=[("Host", "127.0.0.1")]) == 400
    assert server.kept() == []


@pytest.mark.parametrize(
    "path",
    [
        "assets/../app.py",
        "assets/%2e%2e/app.py",
        "assets/%00",
        "assets/web.css%00",
        "../../etc/passwd",
        "files/nobody/",
    ],
)
def test_no_file_of_the_machine_can_be_named(server, path):
    assert server.status(path) == 404


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("..%2F..%2Fevil.csv", 200),
        ("C:%5Cx.csv", 200),
        ("a%00b.csv", 200),
        ("%F0%9F%98%80.csv", 200),
        ("%2Fetc%2Fpasswd", 200),
        ("x.html", 200),
        ("", 200),
    ],
)
def test_a_name_is_shown_and_never_opened(server, name, code):
    before = set(server.folder.rglob("*"))
    assert send(server, name, PEOPLE) == code
    written = {path for path in set(server.folder.rglob("*")) - before if path.is_file()}
    assert all(
        path.parent.name.startswith("fairbench-") and path.suffix in ("", ".csv", ".html") for path in written
    )
    assert all(path.stat().st_mode & 0o77 == 0 for path in written)


@pytest.mark.parametrize(
    ("body", "extra", "code"),
    [
        (b"", [("Content-Length", "0")], 400),
        (b"", [("Content-Length", str(3 * 2**30))], 413),
        (b"", [("Content-Length", "-1")], 400),
    ],
)
def test_nothing_and_too_much_are_refused(server, body, extra, code):
    kept = server.kept()
    assert send(server, "a.csv", body, extra) == code
    assert server.kept() == kept


@pytest.mark.parametrize(
    "body", [b"\x00\x01\x02" * 1000, b"%PDF-1.7\n\xe2\xe3\xcf\xd3\x00", b"PK\x03\x04", b"<html></html>"]
)
def test_what_is_no_table_is_refused_and_not_kept(server, body):
    kept = server.kept()
    assert send(server, "a.csv", body) == 422
    assert set(server.kept()) <= set(kept)  # a seventh file has closed the oldest


def test_a_body_that_stops_is_given_up(server, trickled):
    kept = server.kept()
    head = (
        f"POST /{server.key}/files?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Length: 100000\r\n\r\n"
    )
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        connection.sendall(head.encode() + b"score,sex\n1,f\n")
        time.sleep(1)
        assert len(server.kept()) == len(kept) + 1
        assert send(server, "b.csv", PEOPLE) == 409  # meanwhile
        answer = connection.recv(65536)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert time.monotonic() - began < 25
    assert server.kept() == kept


def test_a_browser_that_goes_away_leaves_nothing(server):
    kept = server.kept()
    head = (
        f"POST /{server.key}/files?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Length: 100000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        connection.sendall(head.encode() + b"score,sex\n1,f\n")
        time.sleep(0.5)
    for _time in range(100):
        if server.kept() == kept:
            break
        time.sleep(0.1)
    assert server.kept() == kept


def test_half_requests_hold_nobody_up(server, trickled):
    connections = [socket.create_connection(("127.0.0.1", server.port), 30) for _time in range(200)]
    for connection in connections:
        connection.sendall(b"GET / HTTP/1.1\r\nHo")
    began = time.monotonic()
    assert server.status("") == 200
    assert time.monotonic() - began < 5
    for connection in connections:
        connection.close()
    assert trickled.result() < 18  # the head as a whole has a deadline, however it trickles


def trickle(connection, seconds=25):
    """Send a byte a second, and return after how many seconds the other end closes."""
    for second in range(seconds):
        time.sleep(1)
        try:
            connection.sendall(b"s")
            if connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b"":
                return second
        except BlockingIOError:
            continue
        except OSError:
            return second
    return seconds


def test_two_hundred_at_once_are_answered(server):
    with ThreadPoolExecutor(50) as pool:
        codes = list(pool.map(lambda _: server.status(""), range(200)))
    assert codes == [200] * 200


def audit_a_file(server, selected):
    """Send a file in which some of 100 women and of 100 men are selected; return how many its audit says."""
    rows = [f"{int(row < n)},{sex}" for sex, n in selected.items() for row in range(100)]
    status, go = 409, b""
    while status == 409:  # another file is being sent
        body = "\n".join(["score,sex", *rows]).encode()
        status, go = server.answer("files?name=a.csv", "POST", [server.origin], body)
    file = json.loads(go)["go"]
    _, go = server.answer(f"{file}questions", "POST", [server.origin], b'{"do": "audit"}')
    status, text = server.answer(f"{json.loads(go)['go']}/download/json")
    assert status == 200
    server.status(f"{file}close", "POST", [server.origin], b"{}")
    return {group["group"]: group["counts"]["pp"] for group in json.loads(text)["groups"]}


def test_files_that_come_at_once_are_not_mixed_up(server):
    sent = [{"f": 1 + n, "m": 99 - n} for n in range(40)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(audit_a_file, [server] * 40, sent)) == sent


def test_huge_heads_are_refused(server):
    head = f"GET /{server.key}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    answer = server.raw(f"{head}X: {'a' * 2_000_000}\r\n\r\n".encode(), 5)
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert server.status("") == 200
    assert server.status(f"{'a' * 5000}") == 404


def test_ctrl_c_and_kill_leave_nothing(tmp_path):
    for number, last_signal in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with started(folder) as server:
            assert send(server, "a.csv", PEOPLE) == 200
            assert len(server.kept()) == 1
            with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
                head = (
                    f"POST /{server.key}/files?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                    f"Origin: http://127.0.0.1:{server.port}\r\nContent-Length: 100000\r\n\r\n"
                )
                connection.sendall(head.encode() + b"score,sex\n1,f\n")
                time.sleep(0.3)
                os.kill(server.process.pid, last_signal)
                server.process.wait(20)
        for _time in range(100):
            if not list(folder.glob("fairbench-*")):
                break
            time.sleep(0.1)
        assert not list(folder.glob("fairbench-*"))
