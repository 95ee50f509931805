"""Results folders of somebody else, and damaged ones: nothing outside is touched, nothing wrong is said."""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from conftest import Finished, derived, edit_lines, two_lines, write_config

from fairbench_cli.base.errors import UserError
from fairbench_cli.base.files import write_text
from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.folder import locked
from fairbench_cli.experiment.journal.journal import JournalHeader, header_line, read_journals
from fairbench_cli.experiment.running.run import compute, prepare

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and locks of POSIX")
COMMANDS = ("report",), ("verify", "--cells", "1"), ("compare", "--paper", "cardoso2019"), ("run",)


@pytest.fixture
def out(finished: Finished, tmp_path) -> Path:
    """A copy of a folder of results, in the working folder."""
    return Path(shutil.copytree(finished.folder, tmp_path / "out")).relative_to(tmp_path)


def journal_of(out: Path) -> Path:
    (path,) = out.glob("journal/*.jsonl")
    return path


def given(command: tuple[str, ...], config: Path, out: Path) -> tuple[str | Path, ...]:
    name, *more = command
    if name == "run":
        return name, config, "-o", out, "--jobs", "1"
    return name, out, *more


@POSIX
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "name",
    ["groups.csv", "plan.json", "log.txt", "tables", "networks", "compare", "journal", "journal/z.jsonl"],
)
def test_nothing_is_read_or_written_through_a_link(finished, out, say, name, command):
    victim = Path("victim")
    if name in ("tables", "networks", "compare", "journal"):
        victim.mkdir()
    else:
        victim.write_text("mine")
    place = out / name
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    place.symlink_to(os.path.relpath(victim, place.parent))
    two_lines(say(*given(command, finished.config, out)), f"{place} is a link", "move the link away")
    assert list(victim.iterdir()) == [] if victim.is_dir() else victim.read_text() == "mine"


@POSIX
@pytest.mark.parametrize("kind", ["link", "file", "pipe", "dangling"])
@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[-1]], ids=lambda command: command[0])
def test_what_is_no_lock_is_not_written_over(finished, out, say, kind, command):
    lock, victim = out / ".lock", Path("victim")
    lock.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(lock)
    elif kind == "file":
        lock.write_text("mine")
    else:
        lock.symlink_to("../victim")
        if kind == "link":
            victim.write_text("mine")
    two_lines(say(*given(command, finished.config, out)), str(lock), "move ")
    assert victim.exists() == (kind == "link")
    assert not victim.exists() or victim.read_text() == "mine"
    assert kind != "file" or lock.read_text() == "mine"


@POSIX
@pytest.mark.parametrize(
    "text", [b"", b"\0" * 80, b'{"pid": 1, "host": "h", "since": "2026-01-01 00:00:00"}\n']
)
def test_the_lock_of_a_run_that_ended_is_taken_also_after_a_power_cut(out, tmp_path, text):
    lock = tmp_path / out / ".lock"
    lock.write_bytes(text)
    with locked(lock.parent):
        assert json.loads(lock.read_text())["pid"] == os.getpid()


@POSIX
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["journal/z.jsonl", "plan.json", "manifest.json"])
def test_a_pipe_in_place_of_a_file_is_refused(finished, out, say, name, command):
    (out / name).unlink(missing_ok=True)
    os.mkfifo(out / name)
    two_lines(
        say(*given(command, finished.config, out)), f"{out / name} is a device or a pipe", "move it away"
    )


def spoil(journal: Path, how: str) -> None:
    """Damage the first line of a journal, which names other versions, in one of several ways."""
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    row = json.loads(header)
    del row["crc"]
    row["versions"]["scipy"] = "1.0.0"
    header = header_line(JournalHeader.model_validate(row)) + b"\n"
    first = {
        "flipped": header.replace(b"1.0.0", b"1.0.1"),
        "lost": b"",
        "garbage": b"\xff\xfe\n",
        "one line": header[:-1],
        "two lines": header[:30] + b"\n" + header[30:],
        "torn line before": lines[0][:40] + header.replace(b"1.0.0", b"1.0.1"),
    }[how]
    journal.write_bytes(first + b"".join(lines[:-1]))


@pytest.mark.parametrize("how", ["flipped", "lost", "garbage", "one line", "two lines", "torn line before"])
def test_results_that_have_lost_their_header_are_not_mixed_unasked(finished, out, say, how):
    spoil(journal_of(out), how)
    name = f"journal/{journal_of(out).name}"
    damages = [damage for damage in read_journals(out / "journal").damages if damage.header]
    assert {damage.where.rpartition(":")[0] for damage in damages} == {name}
    run = "run", finished.config, "-o", out, "--jobs", "1"
    two_lines(say(*run), f"the header of {name} is damaged", "--mix-versions")


def test_results_that_have_lost_their_header_are_of_unknown_versions(finished, out, say):
    journal = journal_of(out)
    spoil(journal, "torn line before")
    (out / "manifest.json").unlink()
    name = f"journal/{journal.name}"
    done = say("run", finished.config, "-o", out, "--jobs", "1", "--mix-versions")
    assert done.code == 0, done.err
    assert re.search(r"damaged headers?: journal/.*; the versions of the repeats under it", done.err)
    assert derived(out) == derived(finished.folder)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["unknown_versions"] == [name]
    assert manifest["told_to_mix_versions"]
    done = say("report", out)
    assert done.code == 0
    assert "the versions of the repeats under it are not known" in done.err


def test_a_damaged_header_in_the_middle_of_a_file_counts_as_well(finished, out, say):
    journal = journal_of(out)
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    parts = [header, *lines[:4], header.replace(b'"host": "', b'"host": "x'), *lines[4:-1]]
    journal.write_bytes(b"".join(parts))
    reading = read_journals(out / "journal")
    assert [(file.lines, file.headless) for file in reading.files] == [(4, False), (len(lines) - 5, True)]
    assert [damage.header for damage in reading.damages] == [True]
    two_lines(say("run", finished.config, "-o", out), "results of unknown versions", "--mix-versions")


@pytest.mark.parametrize(("bom", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"\xef\xbb\xbf", b"\r\n")])
def test_what_editors_and_git_make_of_line_ends_costs_nothing(out, say, bom, end):
    """A BOM, and CR LF in every text file: the sums are of what stands in a line."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != ".lock"}
    for path, text in before.items():
        if path.suffix in (".jsonl", ".csv", ".md", ".tex"):
            path.write_bytes(bom * (path.suffix == ".jsonl") + text.replace(b"\n", end))
        elif path.suffix in (".json", ".yaml"):
            path.write_bytes(text.replace(b"\n", end))
    done = say("report", out)
    assert (done.code, done.err.count("\n")) == (0, 1)  # what was written
    assert all(path.read_bytes() == text for path, text in before.items() if path.suffix in (".csv", ".md"))
    assert read_journals(out / "journal").files[0].header is not None


@pytest.mark.parametrize("how", ["garbage", "another plan"])
def test_a_report_of_nothing_replaces_nothing(out, say, how):
    journal, before = journal_of(out), derived(out)
    if how == "garbage":
        lines = [line[:-3] for line in journal.read_bytes().splitlines()]
        journal.write_bytes(b"\n".join([*lines, b""]))
    else:
        edit_lines(out, lambda row: row.update(key="0" * 64))
    two_lines(say("report", out), "no repeat of the plan is in", "no file was replaced", "put its journals")
    assert derived(out) == before


@POSIX
def test_what_a_killed_report_left_goes_and_what_is_being_written_stays(out, say):
    left = [out / ".groups.csv.999999-0123abcd.part", out / "tables/.x.md.1-00000000.part"]
    kept = [out / ".groups.csv.part", out / "notes.part"]
    for path in (*left, *kept):
        path.write_text("half")
    assert say("report", out).code == 0
    assert [path.exists() for path in (*left, *kept)] == [False, False, True, True]
    fcntl = pytest.importorskip("fcntl")
    with left[0].open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write_text(out / "a", "b")
        assert left[0].exists()
    write_text(out / "a", "b")
    assert not left[0].exists()


@POSIX
@pytest.mark.parametrize("how", ["deleted", "folder deleted", "truncated", "appended"])
def test_a_run_stops_when_somebody_takes_its_journal_away(tmp_path, how):
    """Within a second, whether a repeat ends meanwhile or not."""
    said = "changed by another program" if how in ("truncated", "appended") else "deleted"
    for waits in (True, False):
        out = tmp_path / f"out-{waits}"
        out.mkdir()
        run = prepare(write_config(tmp_path / "c.yaml"), folder=out)

        def outcomes(tasks, watch, out=out, waits=waits):
            for number, task in enumerate(tasks):
                if number == 2:
                    take_away(journal_of(out), how)
                    if waits:
                        watch([])
                assert number < 3
                yield Repeat(task.cell.key, task.repeat, "infeasible", "no rows", None)

        with pytest.raises(UserError, match=f"was {said} while the run was writing to it\n  fix: leave"):
            compute(run, outcomes, lambda _: None)
        if how == "truncated":
            assert journal_of(out).read_bytes() == b""


def take_away(journal: Path, how: str) -> None:
    match how:
        case "deleted":
            journal.unlink()
        case "folder deleted":
            shutil.rmtree(journal.parents[1])
        case "truncated":
            journal.write_bytes(b"")
        case _:
            journal.write_bytes(journal.read_bytes() + b"{}\n")


def test_an_interrupted_run_without_a_repeat_replaces_nothing(finished, out, say, monkeypatch):
    before = derived(out)
    journal_of(out).write_bytes(b"")
    (out / "manifest.json").unlink()
    stopped = "fairbench_cli.experiment.running.run.compute"
    monkeypatch.setattr(stopped, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    done = say("run", finished.config, "-o", out, "--jobs", "1")
    assert (done.code, "interrupted; 12 repeats left" in done.err) == (130, True)
    assert derived(out) == before
