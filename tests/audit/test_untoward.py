"""Ctrl-C, output that cannot be written, odd encodings, names and cells: an answer, never a traceback."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import environment, two_lines

from fairbench_cli.audit import audit
from fairbench_cli.audit.show.aequitas import compat_files
from fairbench_cli.audit.show.formats import FORMATS
from fairbench_cli.base.errors import UserError
from fairbench_cli.base.files import write_bytes
from fairbench_cli.base.safe_text import printable
from fairbench_cli.cli.app import run
from fairbench_cli.cli.streams import SUBSTITUTE

ROWS = [(s, y, race, sex) for s in (0, 1) for y in (0, 1) for race in ("a", "ähm") for sex in ("f", "m")]
UNFAIR = [(1, 1, "a", "f")] * 60 + [(0, 1, "ähm", "m")] * 60
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="shells, signals and limits of POSIX")
ODD = "a\udce9.csv"  # how Python holds the byte E9


@pytest.fixture
def preds(tmp_path: Path) -> Path:
    """Write a small unfair file."""
    path = tmp_path / "preds.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("score", "label", "race", "sex"), *ROWS, *UNFAIR])
    return path


def shell(line: str, folder: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash, in which `$fairbench` is the command."""
    given = environment(fairbench=f"{sys.executable} -m fairbench_cli", **env)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=given, capture_output=True, check=False, timeout=60
    )


# -- Ctrl-C


@POSIX
def test_an_interrupt_while_it_counts_ends_in_one_line(tmp_path):
    """Standard input has come to its end, and the temporary folder holds it, when counting begins."""
    rows = "".join(f"{i / 1e6:.6f},{'abcd'[i % 4]}\n" for i in range(200_000))
    (tmp_path / "big.csv").write_text("score,race\n" + rows * 12)
    (tmp_path / "temporary").mkdir()
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", f"{start}from fairbench_cli.cli import main; main()"]
    with (tmp_path / "big.csv").open("rb") as source:
        process = subprocess.Popen(
            [*command, "audit", "-", "--top-k", "1000"],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(TMPDIR=str(tmp_path / "temporary")),
        )
    size = (tmp_path / "big.csv").stat().st_size
    while not any(path.stat().st_size == size for path in tmp_path.glob("temporary/*/input")):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert not list((tmp_path / "temporary").iterdir())


# -- encodings


@pytest.mark.gate
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_any_encoding_is_written(preds, monkeypatch, encoding):
    def said(name: str) -> str:
        written = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding, SUBSTITUTE, newline=""))
        assert run(["audit", str(preds), "--draws", "0", "-f", name]) == 0
        sys.stdout.flush()
        return written.getvalue().decode(encoding)

    name = "\\u00e4hm" if encoding == "ascii" else "ähm"
    console = said("console")
    assert console.startswith("x Fails")
    assert name in console
    assert not set("τ–─…×✗�") & set(console)
    if encoding != "ascii":
        return
    document = said("json")
    assert document.isascii()
    assert {"a", "ähm"} <= {row["group"] for row in json.loads(document)["groups"]}
    page = said("html")
    assert page.isascii()
    assert "&#228;hm" in page
    assert ",\\u00e4hm," in said("csv")
    assert "| \\u00e4hm" in said("markdown")


# -- outputs that are closed, full, or read by nobody


@POSIX
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_outputs_that_are_closed_or_full_in_the_plainest_locale(preds):
    unknown = b'--ref: error: attribute "race" has no group "b"\n  fix: use one of: a, \\u00e4hm\n'
    full = b"error: cannot write the output: No space left on device\n  fix: send it elsewhere\n"
    lines = {
        "<&- >&- 2>&-": (1, b"", b""),
        "> /dev/full": (2, b"", full),
        "--ref race=b": (2, b"", unknown),
        "-f json | head -1": (1, b"{\n", b"Gate: stops, exit code 1: race, sex fail.\n"),
    }
    plainest = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for end, said in lines.items():
        line = f"set -o pipefail; $fairbench audit preds.csv --fail --draws 0 {end}"
        done = shell(line, preds.parent, **plainest)
        assert (done.returncode, done.stdout, done.stderr) == said, end


# -- names


@POSIX
@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_names_that_are_not_utf8(preds, say):
    Path(ODD).write_bytes(preds.read_bytes())
    said = say("audit", ODD, "-o", "o\udcff", "--draws", "0")
    assert said.code == 0
    assert said.err.startswith("o\ufffd/: disparities.csv, ")
    assert "a�.csv" in said.out
    texts = {file: Path("o\udcff", file).read_text(encoding="utf-8") for file, _ in FORMATS.values() if file}
    assert json.loads(texts["audit.json"])["source"] == "a�.csv"
    missing = say("audit", "b\udce9.csv")
    assert (missing.code, missing.err.splitlines()[0]) == (2, "b�.csv: error: no such file")
    pytest.importorskip("sqlalchemy")
    said = say("audit", ODD, "--to-db", "sqlite:///\udce9.db")
    assert (said.code, said.err.splitlines()[0]) == (
        2,
        "--to-db: error: the address sqlite:///�.db is not UTF-8",
    )


@POSIX
@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_a_temporary_folder_that_cannot_be_used(preds, say, monkeypatch, tmp_path):
    (tmp_path / "t\udce9").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t\udce9"))
    said = say("audit", "preds.csv")
    assert (said.code, "TMPDIR" in said.err) == (2, True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert "no temporary folder can be made" in say("audit", "preds.csv").err


# -- widths


@pytest.mark.parametrize("columns", ["0", "1"])
def test_narrow_consoles(preds, say, monkeypatch, columns):
    for arguments in (("audit", "preds.csv", "--draws", "0"), ("audit", "--help")):
        monkeypatch.setenv("COLUMNS", columns)
        said = say(*arguments)
        assert (said.code, said.err) == (0, "")
        assert len(said.out) > 100


# -- texts that do harm

EVIL = {
    "run": "=cmd|' /C calc'!A0",
    "at": "@SUM(1)",
    "plus": "+1+1",
    "minus": "-2-3",
    "tab": "x\t=1",
    "escape": "\x1b]0;owned\x07\x1b[31mred",
    "back": "good\b\b\b\bevil",
    "return": "up\rdown",
    "bidi": "\u202eevil\u2066",
    "one byte": "\x9b31m",
    "number": "-5",
}
SEEN = {name: printable(text) for name, text in EVIL.items()}


@pytest.fixture(scope="module")
def evil():
    """Audit groups and a column whose names do harm."""
    groups = [group for group in EVIL.values() for _ in range(8)]
    score = [i % 2 for i in range(len(groups))]
    return audit(score, score, {"ra\x1b[2Jce\u202e": groups}, draws=0)


def unseen(text: str) -> set[str]:
    return {letter for letter in text if letter != "\n" and not letter.isprintable()} - {"\u00a0"}


@pytest.mark.gate
def test_nothing_raw_in_any_text(evil, preds, say):
    for name in ("markdown", "html", "json"):
        assert not unseen(evil.to(name)), name
    assert not unseen(evil._repr_html_())
    assert not unseen(repr(evil))
    exact = {row["group"] for row in json.loads(evil.to("json"))["groups"]}
    assert set(EVIL.values()) <= {" ".join(group.split(" ")) for group in exact}
    for name in ("csv", "groups", "verdicts"):
        assert unseen(evil.to(name)) <= {"\t"}
    text = ["score,label,ra\x1b[2Jce"]
    text += [f'{i % 2},1,"{group}"' for group in EVIL.values() for i in range(4)]
    Path("evil\x1b[31m.csv").write_text("\n".join(text), encoding="utf-8", newline="")
    assert not unseen(say("audit", "evil\x1b[31m.csv", "--all", "--draws", "0").out)
    for arguments in (
        ("--score", "x\x1b[31m"),
        ("--ref", f"ra\x1b[2Jce={EVIL['escape']}x"),
        ("--frob\x1b[31m",),
        ("-a", "\u202e"),
        ("-o", "evil\x1b[31m.csv"),
    ):
        said = say("audit", "evil\x1b[31m.csv", *arguments)
        assert (said.code, said.out) == (2, "")
        assert not unseen(said.err), arguments
    with pytest.raises(UserError) as caught:
        write_bytes(Path("no\x1b/x.pdf"), b"")
    assert not unseen(str(caught.value))


def test_no_spreadsheet_runs_a_cell(evil):
    tables = [evil.to(name) for name in ("csv", "groups", "verdicts")]
    tables += [text for name, text in compat_files(evil.report).items() if name.endswith(".csv")]
    for table in tables:
        rows = list(csv.reader(io.StringIO(table, newline="")))
        for column, head in enumerate(rows[0]):
            for row in rows[1:]:
                cell = row[column]
                if head in ("group", "reference", "attribute_value") or head.endswith("ref_group_value"):
                    assert cell == SEEN["number"] or not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    groups = {row[3] for row in csv.reader(io.StringIO(tables[0], newline=""))}
    assert {"'=cmd|' /C calc'!A0", "'@SUM(1)", "'+1+1", "'-2-3", "-5"} <= groups
    differences = [row["difference"] for row in csv.DictReader(io.StringIO(tables[0]))]
    assert all("'" not in cell for cell in differences)


# -- what is there stays


def test_no_output_overwrites_the_input(preds, say, tmp_path):
    before = preds.read_bytes()
    Path("out").mkdir()
    os.link(preds, "out/audit.csv")
    Path("link.pdf").symlink_to(preds)
    Path("other").mkdir()
    Path("other/changes.csv").symlink_to(preds)
    Path("conf.json").write_text('{"tau": 0.9}\n')
    Path("group.csv").symlink_to(preds)
    for arguments, words in {
        ("-o", "preds.csv"): "--output: error: preds.csv would overwrite the input preds.csv",
        ("-o", "out/../preds.csv"): "--output: error: out/../preds.csv would overwrite",
        ("-o", "link.pdf"): "--output: error: link.pdf would overwrite the input preds.csv",
        ("-o", "out/audit.csv"): "out/audit.csv would overwrite",
        ("-o", "other"): "--output: error: other/changes.csv would overwrite the input preds.csv",
        ("-o", "out"): "--output: error: out/audit.csv would overwrite the input preds.csv",
        ("--to-db", "sqlite:///preds.csv"): "--to-db: error: preds.csv would overwrite",
        ("--to-db", f"sqlite:///{tmp_path}/link.pdf"): "link.pdf would overwrite the input",
        ("-c", "conf.json", "-o", "conf.json"): "conf.json would overwrite the input conf.json",
    }.items():
        said = say("audit", "preds.csv", *arguments)
        assert (said.code, said.out) == (2, "")
        assert words in said.err
        assert said.err.count("\n") == 2
    assert say("network", "learn", "preds.csv", "-o", "preds.csv").code == 2
    assert preds.read_bytes() == before
    assert {path.name for path in Path("out").iterdir()} == {"audit.csv"}


@pytest.mark.gate
@POSIX
def test_a_full_disk_leaves_what_was_there(preds, say):
    """`ulimit -f` ends a file as a full disk does; audit.html is the largest, so others fit."""
    resource = pytest.importorskip("resource")
    assert say("audit", "preds.csv", "-o", "old", "--draws", "0").code == 0
    before = {path.name: path.read_bytes() for path in Path("old").iterdir()}
    sizes = sorted(map(len, before.values()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[-2] + 4096, hard))
    try:
        for folder in ("old", "new/folder"):
            said = say("audit", "preds.csv", "-o", folder, "--tau", "0.7", "--draws", "0")
            assert said.code == 2
            assert said.err.splitlines()[0].startswith(
                f"error: cannot write to {folder}: File too large; noth"
            )
        with pytest.raises(UserError, match=r"cannot write x\.pdf: File too large"):
            write_bytes(Path("x.pdf"), b"0" * (sizes[-1] + 8192))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in Path("old").iterdir()} == before
    assert not Path("new/folder").exists()
    assert not Path("x.pdf").exists()


@POSIX
def test_devices_and_links_stay_what_they_are(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_bytes(tmp_path / "pipe", b"x")
    reader.join(10)
    assert read == [b"x"]
    assert not (tmp_path / "pipe").is_file()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_bytes(tmp_path / "link", b"y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"y"


def test_rows_that_weigh_nothing_are_audited_without_a_warning():
    labels, scores, groups = [1, 0] * 12, [0.1, 0.3, 0.6, 0.9] * 6, ["a"] * 8 + ["b"] * 16
    weights = [0, 1] * 4 + [1, 2] * 8  # nobody in a with a label of 1 counts
    found = audit(labels, scores, groups, weights=weights, draws=0, top_share=1.0, curves=True)
    assert found.verdict == "undecided"


WHOLE = "score,label,race\n9007199254740992,0,a\n9007199254740993,1,b\n5,0,b\n1e20,1,a\n"


@pytest.mark.parametrize("flags", [("--threshold", "9007199254740993"), ("--top-k", "2")])
def test_whole_scores_that_a_double_does_not_hold_are_refused(say, tmp_path, flags):
    """Everybody was selected: 9007199254740992 and 9007199254740993 are one number as a DOUBLE."""
    (tmp_path / "p.csv").write_text(WHOLE)
    two_lines(
        say("audit", "p.csv", *flags), "p.csv:2", '"9007199254740992", not a finite number', "in 2 rows"
    )
    (tmp_path / "old.csv").write_text(WHOLE.replace("9007199254740992", "1").replace("9007199254740993", "2"))
    two_lines(say("audit", "old.csv", "--against", "p.csv", *flags), "p.csv:2", "below 2^53")
    rows = pd.read_csv(tmp_path / "p.csv")[:3].assign(score=[2**53, 2**53 + 1, 5])
    with pytest.raises(UserError, match="a whole one below 2"):
        audit(rows, threshold=5.0)
    assert audit(rows.assign(score=[2.0**53, 2.0**60, 5.0]), threshold=5.0).verdict == "undecided"
