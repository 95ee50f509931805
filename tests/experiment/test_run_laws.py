"""Laws of a run: the same bytes for any number of workers, after any interruption, whatever grows around."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import (
    DERIVED,
    LEARNED,
    SMALL,
    Finished,
    bare_data,
    derived,
    environment,
    fairbench,
    journal_lines,
    loaded_by,
    nursery,
    write_config,
)
from forking import Forked

from fairbench_cli.experiment.cell import run_repeat
from fairbench_cli.experiment.running import worker
from fairbench_cli.experiment.running.pool import LocalPool

LONG = {
    "interventions": ["none", "slow"],
    "sample": SMALL["sample"] | {"beta": [0, 0.5, 1]},
    "repeats": 6,
    "predictions": True,
}

MANY = {"repeats": 150, "classifiers": ["c45"]}


@contextmanager
def running(
    *arguments: str | Path, cwd: Path | None = None, anew: bool = True
) -> Iterator[subprocess.Popen[str] | Forked]:
    """Start a command line as the leader of a process group, as a shell would, and see to its end.

    `anew`: from the start of Python on; else it is forked after the imports.
    """
    process: subprocess.Popen[str] | Forked
    if anew or sys.platform != "linux":
        command = [sys.executable, "-m", "fairbench_cli", *map(str, arguments)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, cwd=cwd, env=environment(), start_new_session=True, **streams)
    else:
        process = nursery().start([*map(str, arguments)], cwd, environment(), leads=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_lines(folder: Path, n: int, process: subprocess.Popen[str] | Forked) -> None:
    """Wait until the journal has `n` whole lines."""
    end = time.monotonic() + 60
    while len(journal_lines(folder)) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "no journal"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The results of `LONG`, never interrupted."""
    base = tmp_path_factory.mktemp("whole")
    config = write_config(base / "long.yaml", **LONG)
    assert fairbench("run", config, "-o", base / "out", "--jobs", "2").returncode == 0
    return base / "out"


def rows(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text().splitlines()


def test_two_workers_give_the_bytes_of_one(finished: Finished, tmp_path):
    out = tmp_path / "two"
    assert fairbench("run", finished.config, "-o", out, "--jobs", "2").returncode == 0
    assert derived(out) == derived(finished.folder)


def test_the_resolved_config_runs_and_gives_the_same_bytes(finished: Finished, tmp_path, say):
    out = tmp_path / "again"
    done = say("run", finished.folder / "config.yaml", "-o", out, "--jobs", "1", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert derived(out) == derived(finished.folder)


def test_a_finished_run_computes_nothing_and_changes_nothing(finished: Finished, tmp_path, say):
    out = tmp_path / "out"
    assert say("run", finished.config, "-o", out, "--jobs", "1").code == 0
    before, lines = derived(out) | {"m": (out / "manifest.json").read_bytes()}, journal_lines(out)
    done = say("run", finished.config, "-o", out, "--jobs", "1")
    assert done.code == 0
    assert "0 to do" in done.err
    assert derived(out) | {"m": (out / "manifest.json").read_bytes()} == before
    assert journal_lines(out) == lines


def test_a_run_has_its_folder_alone_and_run_and_kill_and_run_is_run(whole, tmp_path):
    config = write_config(tmp_path / "long.yaml", **LONG)
    cut = tmp_path / "cut"
    with running("run", config, "-o", cut, "--jobs", "1") as process:
        wait_for_lines(cut, 4, process)
        os.killpg(process.pid, signal.SIGSTOP)  # so that it does not end meanwhile
        second = fairbench("run", config, "-o", cut)
        assert second.returncode == 2
        assert f"is in use by process {process.pid} on " in second.stderr
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = journal_lines(cut)
    assert 4 <= len(kept) < 36
    assert not (cut / "groups.csv").exists()
    done = fairbench("run", config, "-o", cut, "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert f"36 repeats: {len(kept)} done, {36 - len(kept)} to do" in done.stderr
    lines = journal_lines(cut)
    assert len(lines) == 36
    assert len({(json.loads(line)["key"], json.loads(line)["repeat"]) for line in lines}) == 36
    assert derived(cut) == derived(whole)


def test_a_torn_line_is_computed_again(finished: Finished, tmp_path, say):
    out = tmp_path / "out"
    assert say("run", finished.config, "-o", out, "--jobs", "1").code == 0
    (journal,) = out.glob("journal/*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    done = say("run", finished.config, "-o", out, "--jobs", "1")
    assert done.code == 0
    assert "1 damaged line: journal/" in done.err
    assert "11 done, 1 to do" in done.err
    assert derived(out) == derived(finished.folder)


def interrupted(folder: Path, how: signal.Signals, jobs: str, *, anew: bool) -> list[str]:
    """Interrupt a run of `LONG`, check what it says and leaves, and return the lines of its journal."""
    write_config(folder / "long.yaml", **LONG)
    with running("run", "long.yaml", "-o", "out", "--jobs", jobs, cwd=folder, anew=anew) as process:
        wait_for_lines(folder / "out", 4, process)
        os.killpg(process.pid, how)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + how, err
    assert "Traceback" not in err + out
    assert out == ""
    left = re.search(r"interrupted; (\d+) repeats left. Go on with:\n  (.*)\n", err)
    assert left, err
    assert left[2] == f"fairbench run long.yaml -o out --jobs {jobs}"
    lines = journal_lines(folder / "out")
    assert len(lines) >= 36 - int(left[1]) >= 4
    assert len(rows(folder / "out", "groups.csv")) == 1 + 12 * (36 - int(left[1]))
    assert (folder / "out" / "manifest.json").exists()
    assert "…" in (folder / "out/tables/discrimination-accuracy.md").read_text()
    return lines


@pytest.mark.parametrize(("how", "jobs"), [(signal.SIGINT, "1"), (signal.SIGTERM, "2"), (signal.SIGHUP, "1")])
def test_a_signal_keeps_what_is_done_and_says_how_to_go_on(tmp_path, how, jobs):
    interrupted(tmp_path, how, jobs, anew=False)


def test_after_ctrl_c_the_run_goes_on_to_the_bytes_of_one_that_was_not_stopped(whole, tmp_path):
    lines = interrupted(tmp_path, signal.SIGINT, "2", anew=True)
    done = fairbench("run", "long.yaml", "-o", "out", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(lines)} done, {36 - len(lines)} to do" in done.stderr
    assert derived(tmp_path / "out") == derived(whole)


def test_ctrl_c_while_workers_start_shows_no_traceback(tmp_path):
    write_config(tmp_path / "long.yaml", **LONG)
    with running("run", "long.yaml", "-o", "out", "--jobs", "2", cwd=tmp_path) as process:
        end = time.monotonic() + 60
        while len(_members(tmp_path)) < 3 and time.monotonic() < end:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err + out


def _members(folder: Path) -> list[int]:
    """Return the processes that run in a folder: a run's, its workers' and theirs."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            inside = place.readlink() == folder
        except OSError:
            continue
        if inside:
            found.append(int(place.parent.name))
    return found


def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    write_config(tmp_path / "long.yaml", **LONG)
    with running("run", "long.yaml", "-o", "out", "--jobs", "2", cwd=tmp_path) as process:
        wait_for_lines(tmp_path / "out", 2, process)
        process.kill()
        process.wait()
        end = time.monotonic() + 5
        while _members(tmp_path) and time.monotonic() < end:
            time.sleep(0.05)
        left = _members(tmp_path)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == []


def test_more_repeats_compute_only_the_new_ones_and_keep_the_old_rows(finished: Finished, tmp_path, say):
    out = tmp_path / "grow"
    assert say("run", finished.config, "-o", out, "--jobs", "1").code == 0
    lines = journal_lines(out)
    done = say("run", finished.config, "-o", out, "--jobs", "1", "--set", "repeats=3")
    assert done.code == 0
    assert "18 repeats: 12 done, 6 to do" in done.err
    new = [json.loads(line) for line in journal_lines(out) if line not in lines]
    assert len(new) == 6
    assert {row["repeat"] for row in new} == {2}
    for name in ("groups.csv", "results.csv"):
        before = rows(finished.folder, name)
        assert [row for row in rows(out, name) if row in set(before)] == before
        assert len(rows(out, name)) == (len(before) - 1) * 3 // 2 + 1
    assert say("run", finished.config, "-o", out, "--jobs", "1").code == 0
    assert derived(out) == derived(finished.folder)  # back to fewer: the new ones are out of sight


def test_a_new_intervention_leaves_the_other_rows_alone(finished: Finished, tmp_path, say):
    out = tmp_path / "more"
    config = write_config(tmp_path / "more.yaml", interventions=["reweighing", *SMALL["interventions"]])
    assert say("run", config, "-o", out, "--jobs", "2").code == 0
    for name in DERIVED:
        before, after = rows(finished.folder, name), rows(out, name)
        assert [row for row in after if ",reweighing," not in row] == before
        assert len(after) > len(before)
    for table in (finished.folder / "tables").glob("*.csv"):
        after = rows(out, f"tables/{table.name}")
        assert [row for row in after if ",reweighing," not in row] == table.read_text().splitlines()


def test_two_folders_merge_by_copying_journals(finished: Finished, tmp_path, say):
    for beta, name in (("0", "a"), ("1", "b")):
        done = say("run", finished.config, "-o", tmp_path / name, "--only", f"beta={beta}", "-j", "1")
        assert done.code == 0
        assert "6 repeats: 0 done, 6 to do" in done.err
    for path in (tmp_path / "b" / "journal").iterdir():
        path.rename(tmp_path / "a" / "journal" / path.name)
    assert "12 done, 0 to do" in say("run", finished.config, "-o", tmp_path / "a", "--jobs", "1").err
    assert derived(tmp_path / "a") == derived(finished.folder)


def test_the_manifest_says_where_results_come_from(finished: Finished):
    manifest = json.loads((finished.folder / "manifest.json").read_text())
    assert manifest["repeats_computed"] == 12
    assert manifest["jobs"] == 1
    assert manifest["packages"]["numpy"]
    assert manifest["data"]["compas"]["compas-scores-two-years.csv"]
    assert manifest["cpu_seconds"] > 0
    assert manifest["command"].endswith("--jobs 1")


def test_a_learned_network_is_kept_and_serves_the_next_run(tmp_path, say):

    config = write_config(
        tmp_path / "toy.yaml",
        datasets=[str(bare_data(tmp_path, "a"))],
        sample=LEARNED | {"require_arc": True, "beta": [0, 1]},
        test="original",
    )
    out = tmp_path / "out"
    first = say("run", config, "-o", out, "--jobs", "2")
    assert first.code == 0, first.err
    (network,) = (out / "networks").iterdir()
    kept = network.stat().st_mtime_ns
    assert say("run", config, "-o", out, "--jobs", "1", "--set", "repeats=3").code == 0
    assert list((out / "networks").iterdir()) == [network]
    assert network.stat().st_mtime_ns == kept


def test_no_workers_are_started_where_none_are_needed(tmp_path, say, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("workers were wanted")

    monkeypatch.setattr(LocalPool, "__enter__", refuse)
    small = write_config(tmp_path / "small.yaml")
    assert say("run", small, "-o", "one", "--jobs", "1").code == 0
    assert say("run", small, "-o", "few").code == 0
    nothing = say("run", small, "-o", "few", "--jobs", "2")
    assert nothing.code == 0
    assert "12 repeats: 12 done, 0 to do\n" in nothing.err
    with pytest.raises(AssertionError, match="workers were wanted"):
        say("run", small, "-o", "two", "--jobs", "2")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_loses_what_was_under_way_and_goes_on(tmp_path, how):
    """To the bytes of workers, whatever ended it."""
    write_config(tmp_path / "many.yaml", **MANY)
    command = ("run", "many.yaml", "-o", "out", "--jobs", "1")
    with running(*command, cwd=tmp_path, anew=False) as process:
        wait_for_lines(tmp_path / "out", 5, process)
        os.kill(process.pid, how)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    kept = len(journal_lines(tmp_path / "out"))
    assert 5 <= kept < 900
    assert process.returncode == (-how if how == signal.SIGKILL else 128 + how)
    assert how == signal.SIGKILL or f"interrupted; {900 - kept} repeats left" in err
    done = fairbench(*command, "--set", "repeats=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    other = fairbench("run", "many.yaml", "-o", "other", "--jobs", "2", "--set", "repeats=2", cwd=tmp_path)
    assert other.returncode == 0, other.stderr
    assert derived(tmp_path / "out") == derived(tmp_path / "other")


def test_an_interruption_that_is_swallowed_ends_the_run_after_the_repeat(tmp_path, say, monkeypatch):
    def swallow(cell, population, repeat):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            return run_repeat(cell, population, repeat)

    monkeypatch.setattr(worker, "run_repeat", swallow)
    done = say("run", write_config(tmp_path / "small.yaml"), "-o", "out")
    assert done.code == 128 + signal.SIGTERM
    assert "interrupted; 11 repeats left" in done.err
    assert len(journal_lines(tmp_path / "out")) == 1


def test_a_run_loads_what_it_needs(finished: Finished, tmp_path):
    """No pool, no cluster, no plots; of scikit-learn's tree not what it never uses."""
    never = {"joblib", "distributed", "matplotlib", "torch", "scipy.stats", "sklearn.metrics"}
    never |= {"fairbench_cli.experiment.cluster", "fairbench_cli.experiment.running.pool"}
    for classifier, more in (("tree", {"numba"}), ("c45", {"sklearn"})):
        config = write_config(tmp_path / "small.yaml", classifiers=[classifier])
        command = ["run", str(config), "-o", classifier, "--jobs", "1"]
        (modules,) = loaded_by(
            "from fairbench_cli.cli.app import run", f"assert run({command!r}) == 0", cwd=tmp_path
        )[1:]
        expected = never | more
        if classifier == "tree":
            expected -= {"joblib"}  # scikit-learn's
        assert not expected & modules, classifier
