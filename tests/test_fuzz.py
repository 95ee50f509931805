"""Mutated files and random options end in a result or in two lines: the studies of benchmarks/, small."""

import subprocess
import sys

import pytest
from conftest import STUDIES, environment, seed_of_today, study_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and measures memory in /proc")


def test_mutated_files_give_no_traceback_and_take_neither_long_nor_much(finished):
    study, seed = study_of("fuzz"), seed_of_today()
    outcomes = list(study.cases(seed, 0, 150, finished.folder, None))
    assert len(outcomes) == 150
    assert [one for one in outcomes if one["trouble"]] == [], f"FAIRBENCH_SEED={seed}"
    assert {one["code"] for one in outcomes} <= {0, 1, 2}


def test_random_options_give_no_traceback(tmp_path):
    seed = seed_of_today()
    command = [sys.executable, str(STUDIES / "fuzz_options.py"), "--audits", "60", "--runs", "10"]
    done = subprocess.run(
        [*command, "--seed", str(seed)], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"FAIRBENCH_SEED={seed}\n{done.stdout}{done.stderr}"
    assert "60 of audit: exit codes " in done.stdout
    assert "10 of run: exit codes " in done.stdout


def test_random_options_are_the_same_every_time_and_two_folders_are_compared(tmp_path):
    study = [sys.executable, str(STUDIES / "fuzz_options.py")]
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        hashes = environment(PYTHONHASHSEED=str(len(folder.name)))
        subprocess.run(
            [*study, "--audits", "4", "--seed", "3", "--keep", str(folder)],
            env=hashes,
            check=True,
            timeout=300,
        )
    compared = [*study, "--compare", *map(str, folders)]
    same = subprocess.run(compared, capture_output=True, text=True, check=False)
    assert (same.returncode, same.stdout) == (
        0,
        "4 cases; 0 differences in exit codes, CSV files and audit.json\n",
    )
    table = next(folders[1].glob("*/case/out/*.csv"))
    table.write_text(f"{table.read_text()}x\n")
    (table.parents[2] / "stdout").write_text("other words\n")
    other = subprocess.run(compared, capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert f"{table.relative_to(folders[1])} differs\n" in other.stdout
    assert "  stdout: 1 cases differ (" in other.stdout
