"""Mutated files and random options end in a result or in two lines: the studies of benchmarks/, small."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import STUDIES, environment, scaled, seed_of_today, study_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and measures memory in /proc")


def test_mutated_files_give_no_traceback_and_take_neither_long_nor_much(finished):
    study, seed = study_of("fuzz"), seed_of_today()
    outcomes = list(study.cases(seed, 0, scaled(60), finished.folder, None))
    assert len(outcomes) == scaled(60)
    assert [one for one in outcomes if one["trouble"]] == [], f"FAIRBENCH_SEED={seed}"
    assert {one["code"] for one in outcomes} <= {0, 1, 2}


def options(*arguments: str | int | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the study of options."""
    command = [sys.executable, str(STUDIES / "fuzz_options.py"), *map(str, arguments)]
    return subprocess.run(
        command, env=environment(**env), capture_output=True, text=True, check=False, timeout=3_600
    )


def test_random_options_give_no_traceback():
    seed = seed_of_today()
    n_audits, n_runs = scaled(24), scaled(4)
    done = options("--audits", n_audits, "--runs", n_runs, "--seed", seed)
    assert done.returncode == 0, f"FAIRBENCH_SEED={seed}\n{done.stdout}{done.stderr}"
    assert f"{n_audits} of audit: exit codes " in done.stdout
    assert f"{n_runs} of run: exit codes " in done.stdout


def test_options_that_go_together_have_a_result_and_one_given_twice_is_refused():
    """A refusal of the former is wrong, and so is a value of a list that says another thing when repeated."""
    seed = seed_of_today()
    n_audits, n_doubled = scaled(8), scaled(40)
    done = options("--tame", n_audits, "--pairs", n_audits, "--doubled", n_doubled, "--seed", seed)
    assert done.returncode == 0, f"FAIRBENCH_SEED={seed}\n{done.stdout}{done.stderr}"
    for kind in ("tame", "pair"):
        assert f"{n_audits} of {kind}: exit codes " in done.stdout
    assert f"{n_doubled} of doubled: exit codes {{'2': {n_doubled}}}" in done.stdout


def test_random_options_are_the_same_every_time():
    lists = []
    for kind in ("audit", "tame", "pair", "doubled", "run"):
        lists += ["--list", kind, "40"]
    first, second = (options(*lists, PYTHONHASHSEED=seed).stdout for seed in ("1", "2"))
    assert first == second
    assert len(set(first.splitlines())) == 200


def test_two_versions_are_compared(tmp_path):
    files = {
        "exit": "0\n",
        "stdout": "well\n",
        "case/out/groups.csv": "a\n",
        "case/out/audit.json": "{}",
        "case/out/audit.md": "#\n",
    }
    for version in ("before", "after"):
        for name, text in files.items():
            for case in ("audit-00000", "audit-00001"):
                path = tmp_path / version / case / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    both = "--compare", tmp_path / "before", tmp_path / "after"
    same = options(*both)
    assert same.stdout == "2 cases; 0 differences in exit codes, CSV files and audit.json\n"
    assert same.returncode == 0
    first, second = (tmp_path / "after" / case for case in ("audit-00000", "audit-00001"))
    (first / "stdout").write_text("otherwise\n")
    (first / "case/out/audit.md").unlink()
    assert options(*both).returncode == 0
    (second / "case/out/groups.csv").write_text("b\n")
    (first / "exit").write_text("2\n")
    other = options(*both)
    assert other.returncode == 1
    assert other.stdout.splitlines() == [
        "audit-00000: exit ['0'] became ['2']",
        "audit-00001/case/out/groups.csv differs",
        "2 cases; 2 differences in exit codes, CSV files and audit.json",
        "  audit.md only before: 1 cases differ (audit-00000)",
        "  stdout: 1 cases differ (audit-00000)",
    ]
    (tmp_path / "before/audit-00000/exit").write_text("ValueError: no\n")
    assert "  crashed before, 1 times: ValueError: no → 2\n" in options(*both).stdout
