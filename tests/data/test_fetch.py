"""Downloads from a real server: verified, resumed, and nothing wrong is ever kept."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import two_lines

from fairbench_cli.base.errors import UserError
from fairbench_cli.data import locate
from fairbench_cli.data.card import read_card
from fairbench_cli.data.locate import fetch_files

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT, all of it or `cut`, or an error's `status`; it knows `ranges` or not."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        self.content, self.cut, self.ranges, self.status = CONTENT, None, True, 200


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.requests.append(asked)
        content, start = self.server.content, 0
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        if asked and self.server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:] if self.server.cut is None else content[start : self.server.cut])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def get(server, tmp_path):
    """Fetch a card's file from the server; return what was said."""

    def run(sha=SHA, url=None):
        text = "name: mine\nlabel: {column: y, favourable: 1}\nprotected: {sex: {deprived: f}}\n"
        url = url or f"http://127.0.0.1:{server.server_port}/a.csv"
        known = f", sha256: {sha}" if sha else ""
        (tmp_path / "mine.yaml").write_text(f"{text}files: [{{name: a.csv, url: '{url}'{known}}}]\n")
        said = []
        assert fetch_files(read_card(tmp_path / "mine.yaml"), said.append, tmp_path / "cache") == [
            tmp_path / "cache" / "a.csv"
        ]
        return said

    return run


def kept(tmp_path):
    return {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}


def test_a_download_is_verified(get, server, tmp_path):
    said = get()
    assert kept(tmp_path) == {"a.csv": CONTENT}
    assert said[0].startswith("a.csv: from http://127.0.0.1")
    assert said[1].endswith("a.csv: verified")
    assert server.requests == [None]


def test_what_is_there_is_not_asked_for(get, server, tmp_path):
    get()
    assert get() == [f"{tmp_path}/cache/a.csv: there already"]
    assert len(server.requests) == 1


def test_what_is_there_but_wrong_is_replaced(get, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.csv").write_text("wrong")
    get()
    assert kept(tmp_path) == {"a.csv": CONTENT}


def test_a_broken_connection_goes_on_where_it_stopped(get, server, tmp_path):
    server.cut = 100_000
    with pytest.raises(UserError, match=r"the connection broke; [\d,]+ bytes are kept") as caught:
        get()
    part = tmp_path / "cache" / "a.csv.part"
    have = part.stat().st_size
    assert 90_000 < have <= 100_000
    assert f"fix: try again, or save that address as {tmp_path}/cache/a.csv by other means" in str(
        caught.value
    )
    assert kept(tmp_path) == {"a.csv.part": CONTENT[:have]}
    server.cut = None
    assert get()[1].endswith("verified")
    assert server.requests == [None, f"bytes={have}-"]
    assert kept(tmp_path) == {"a.csv": CONTENT}


def test_a_server_without_ranges_sends_it_all_again(get, server, tmp_path):
    server.cut, server.ranges = 100_000, False
    with pytest.raises(UserError):
        get()
    server.cut = None
    get()
    assert server.requests[0] is None
    assert server.requests[1].startswith("bytes=9")
    assert kept(tmp_path) == {"a.csv": CONTENT}


@pytest.mark.parametrize("part", [CONTENT, CONTENT + b"more"])
def test_a_part_that_is_too_long_is_thrown_away(get, server, tmp_path, part):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.csv.part").write_bytes(part)
    get()
    assert server.requests == [f"bytes={len(part)}-", None]
    assert kept(tmp_path) == {"a.csv": CONTENT}


def test_a_part_of_another_file_is_found_out_and_the_next_try_is_right(get, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.csv.part").write_bytes(b"wrong")
    with pytest.raises(UserError, match="not the file that card mine describes"):
        get()
    assert kept(tmp_path) == {}
    get()
    assert kept(tmp_path) == {"a.csv": CONTENT}


def test_a_wrong_file_is_refused_with_both_hashes_and_leaves_nothing(get, server, tmp_path):
    server.content = b"another file"
    with pytest.raises(UserError) as caught:
        get()
    assert SHA in str(caught.value)
    assert hashlib.sha256(b"another file").hexdigest() in str(caught.value)
    assert len(str(caught.value).splitlines()) == 2
    assert kept(tmp_path) == {}


def test_a_page_in_the_place_of_the_file_is_said_to_be_one(get, server, tmp_path):
    server.content = b"\n<!doctype html><title>Sign in</title>"
    with pytest.raises(
        UserError, match=r"38 bytes of a web page, sha256 .*\n  fix: a proxy or a page to log in"
    ):
        get()
    assert kept(tmp_path) == {}


@pytest.mark.parametrize("start", [b"<!DOCTYPE html>", b"\xef\xbb\xbf\n <HTML lang='en'>"])
def test_a_page_is_no_data_without_a_checksum_either(get, server, tmp_path, start):
    """It was once kept as the file, "not verified", and found out when the data were read."""
    server.content = start + b"<title>Sign in</title>"
    with pytest.raises(UserError, match=r"a.csv is no data: \d\d bytes of a web page\n  fix: a proxy"):
        get(sha=None)
    assert kept(tmp_path) == {}


@pytest.mark.parametrize("sha", [SHA, None])
def test_a_server_that_sends_without_end_does_not_fill_the_disk(get, tmp_path, monkeypatch, sha):
    monkeypatch.setattr(locate, "LARGEST_DOWNLOAD", len(CONTENT) - 1)
    with pytest.raises(UserError, match=r"a.csv gives more than .* GB\n  fix: look whether it is the file"):
        get(sha=sha)
    assert kept(tmp_path) == {}
    monkeypatch.setattr(locate, "LARGEST_DOWNLOAD", len(CONTENT))
    get(sha=sha)
    assert kept(tmp_path) == {"a.csv": CONTENT}


def test_a_folder_that_cannot_be_written_is_no_fault_of_the_network(get, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(
        UserError, match=r"cannot write a.csv into .*cache: .* exists\n  fix: make room there"
    ):
        get()


def test_what_can_be_had_of_several_data_sets_is_had_and_the_rest_said_at_once(
    get, say, tmp_path, monkeypatch
):
    get()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    said = say("data", "fetch", "baf", "nosuch", tmp_path / "mine.yaml", "acs-income-state")
    assert said.code == 2
    assert [line.split(":")[0] for line in said.err.splitlines() if line.startswith("error")] == ["error"] * 3
    for words in (
        "no address for Base.csv",
        'unknown dataset "nosuch"',
        "no address for psam_p06.csv",
        "verified",
    ):
        assert words in said.err
    assert (tmp_path / "user" / "fairbench" / "data" / "a.csv").read_bytes() == CONTENT


def test_files_without_an_address_do_not_fail_a_look_at_everything(data_folder, say):
    said = say("data", "verify", "--data-dir", data_folder)
    assert (said.code, said.err) == (0, "")
    assert "baf: Base.csv: not here, and without an address; see https://" in said.out
    assert "adult-split: " in said.out
    assert said.out.count("adult.test: sha256") == 4  # files to test on are files of the card, too
    assert "Base.csv of baf not found" in say("data", "verify", "baf").err


def test_without_a_checksum_nothing_is_verified_nor_resumed(get, server, tmp_path):
    server.cut = 1000
    with pytest.raises(UserError):
        get(sha=None)
    server.cut = None
    assert get(sha=None)[1].endswith("not verified, no sha256 on the card")
    assert server.requests == [None, None]
    assert kept(tmp_path) == {"a.csv": CONTENT}


@pytest.mark.parametrize(("status", "answer"), [(404, "404 Not Found"), (503, "503 Service Unavailable")])
def test_an_error_of_the_server(get, server, tmp_path, status, answer):
    server.status = status
    with pytest.raises(UserError, match=f"cannot download http.*: the server answers {answer}"):
        get()
    assert kept(tmp_path) == {}


def test_no_server(get, server):
    port = server.server_port
    server.server_close()
    with pytest.raises(
        UserError, match=r"cannot download http://127.0.0.1:\d+/a.csv: no connection\n  fix: try again"
    ):
        get(url=f"http://127.0.0.1:{port}/a.csv")
    with pytest.raises(UserError, match="cannot download http://"):
        get(url="http://[oops/a.csv")


def test_no_address(tmp_path):
    text = "name: mine\nlabel: {column: y, favourable: 1}\nprotected: {sex: {deprived: f}}\n"
    text += "files: [a.csv, b.csv]\n"
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(UserError) as caught:
        fetch_files(read_card(tmp_path / "mine.yaml"), print, tmp_path / "cache")
    assert [problem.what for problem in caught.value.problems] == [
        "card mine has no address for a.csv",
        "card mine has no address for b.csv",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a" * 300 + ".csv", "files.name: a file name of 304 bytes is longer than file systems allow"),
        ("é" * 130 + ".csv", "a file name of 264 bytes"),
        ('"a\\0.csv"', "a file name cannot hold a NUL character"),
    ],
)
def test_names_that_no_file_can_have_are_refused_by_the_card(tmp_path, say, name, words):
    text = "name: mine\ncolumns: {y: nominal, sex: nominal}\nlabel: {column: y, favourable: 1}\n"
    text += f"protected: {{sex: {{deprived: f}}}}\nfiles: [{{name: {name}, url: 'http://127.0.0.1:9/x'}}]\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    two_lines(say("data", "fetch", "./mine.yaml"), "mine.yaml:5", words)
