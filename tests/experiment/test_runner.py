"""A technique that misbehaves costs its own repeats and nothing else. Real runs, real workers."""

import json

import numpy as np
import pytest
from conftest import SMALL, derived, fairbench, journal_lines, write_config

from fairbench_cli.experiment.cell import Repeat
from fairbench_cli.experiment.journal.journal import Journal, new_header
from fairbench_cli.experiment.running.run import compute, prepare
from fairbench_cli.experiment.versions import versions_of_numbers
from fairbench_cli.measures.counts import Counts

ONE_BETA = {"sample": SMALL["sample"] | {"beta": 0}, "metrics": ["accuracy"]}


def config(tmp_path, *techniques):
    return write_config(tmp_path / "rogue.yaml", **ONE_BETA, interventions=["none", *techniques])


def outcomes(folder) -> dict[str, list[dict]]:
    """Return the journal's rows by intervention."""
    names = {
        cell["key"]: cell["intervention"] for cell in json.loads((folder / "plan.json").read_text())["cells"]
    }
    found: dict[str, list[dict]] = {}
    for line in journal_lines(folder):
        row = json.loads(line)
        found.setdefault(names[row["key"]], []).append(row)
    return found


ODD = ("raises", "exits", "impossible", "warns", "oddfacts", "oddstatus")


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """One run of every technique that fails without taking its process along, with one worker."""
    base = tmp_path_factory.mktemp("odd")
    done = fairbench("run", config(base, *ODD), "-o", base / "out", "--jobs", "1")
    return base, done, outcomes(base / "out")


def test_what_raises_is_a_failed_row_with_one_line_of_reason(odd):
    base, done, found = odd
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    reason = "ValueError: first line second line, ?"
    for row in found["raises"]:
        assert (row["status"], row["reason"], row["counts"]) == ("failed", reason, None)
    assert f"2 repeats of raises failed: {reason}" in done.stderr
    assert [row["status"] for row in found["exits"]] == ["failed"] * 2
    assert found["exits"][0]["reason"] == "SystemExit: enough"
    assert "unknown status" in found["oddstatus"][0]["reason"]
    assert [row["status"] for row in found["none"]] == ["ok"] * 2
    quoted = f'"{reason}"'
    assert f",failed,{quoted}," in (base / "out/groups.csv").read_text()


def test_infeasible_is_a_result_with_its_reason(odd):
    _, _, found = odd
    for row in found["impossible"]:
        assert (row["status"], row["reason"]) == ("infeasible", "too few negatives")


def test_a_warning_is_the_reason_of_a_result_and_deprecations_are_not(odd):
    _, _, found = odd
    for row in found["warns"]:
        assert (row["status"], row["reason"]) == ("ok", "UserWarning: did not converge")


def test_facts_in_the_journal_are_finite_numbers(odd):
    _, _, found = odd
    for row in found["oddfacts"]:
        assert row["status"] == "ok"
        assert row["facts"] == {"a": 0.5, "c": 3}


def test_tables_tell_infeasible_from_failed(odd):
    base, _, _ = odd
    text = (base / "out/tables/discrimination-accuracy.csv").read_text()
    shown = {line.split(",")[-3]: line.split(",")[-1] for line in text.splitlines()[1:]}
    assert shown["raises"] == shown["exits"] == shown["oddstatus"] == "failed"
    assert shown["impossible"] == "-"
    assert float(shown["none"]) > 0.4


def test_failures_are_the_same_bytes_with_two_workers(odd, tmp_path):
    base, _, _ = odd
    done = fairbench("run", config(tmp_path, *ODD), "-o", tmp_path / "out", "--jobs", "2")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert derived(tmp_path / "out") == derived(base / "out")


def test_infeasible_alone_is_no_failure(tmp_path):
    done = fairbench("run", config(tmp_path, "impossible"), "-o", tmp_path / "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    again = fairbench("run", config(tmp_path, "impossible"), "-o", tmp_path / "out", "--jobs", "1")
    assert "4 done, 0 to do" in again.stderr


def test_a_technique_that_kills_its_worker_costs_its_own_repeats_only(tmp_path):
    path = write_config(
        tmp_path / "kills.yaml",
        **ONE_BETA | {"repeats": 2},
        interventions=["none", "kills", "slow", "massaging"],
    )
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "2")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "2 repeats of kills killed: its worker process died" in done.stderr
    found = outcomes(tmp_path / "out")
    assert [row["status"] for row in found["kills"]] == ["killed"] * 2
    for name in ("none", "slow", "massaging"):
        assert sorted(row["repeat"] for row in found[name]) == [0, 1]
        assert {row["counts"] is None for row in found[name]} == {False}


def test_failed_repeats_are_tried_again_by_the_next_run(tmp_path):
    path, cure = config(tmp_path, "heals"), tmp_path / "cure"
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "2", CURE=str(cure))
    assert done.returncode == 1
    assert "2 repeats of heals failed: RuntimeError: not yet" in done.stderr
    cure.touch()
    plan = fairbench("plan", path, "-o", tmp_path / "out", CURE=str(cure))
    assert "2 done, 2 to do" in plan.stdout
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1", CURE=str(cure))
    assert done.returncode == 0, done.stderr
    assert "2 done, 2 to do" in done.stderr
    assert "failed" not in (tmp_path / "out/groups.csv").read_text()


def test_a_failure_beyond_the_repeats_asked_for_does_not_count(tmp_path):
    path = config(tmp_path, "raises")
    assert fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1").returncode == 1
    done = fairbench("run", path, "-o", tmp_path / "out", "--jobs", "1", "--only", "intervention=none")
    assert done.returncode == 0


def test_a_record_that_cannot_be_is_none_after_ctrl_c_either(tmp_path):
    folder = tmp_path / "out"
    prepared = prepare(config(tmp_path), folder=folder)
    cell, number = next(iter(prepared.todo()))
    folder.mkdir()
    wrong = Repeat(cell.key, number, "ok", "", Counts(("0", "1"), np.ones((2, 2, 2))))
    with Journal(folder / "journal", new_header(versions_of_numbers())) as journal:
        journal.append(wrong)
    prepared = prepare(config(tmp_path), folder=folder)
    assert not prepared.records

    def interrupted(*_: object):
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        compute(prepared, interrupted, lambda _: None)
    assert not prepared.records
