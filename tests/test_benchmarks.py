"""Every script of benchmarks/ runs: small here, or in the test of what it measures."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import STUDIES, environment, study_of

import fairbench_cli as fb
from fairbench_cli.cli.app import run as run_command

ELSEWHERE = {
    "fetch_studies": "studies/test_fetch.py",
    "fuzz": "test_fuzz.py",
    "gates": "audit/test_gates.py",
    "fuzz_options": "test_fuzz.py",
    "kills": "experiment/test_kills.py",
    "levels_checks": "audit/test_direction.py",
    "levels_clusters": "audit/test_levels_clusters.py",
    "levels_months": "audit/test_streams.py",
    "levels_means": "measures/test_levels_numbers.py",
    "levels_moves": "report/test_moved.py",
    "levels_numbers": "measures/test_levels_numbers.py",
    "messy": "audit/test_cleaning.py",
    "metamorphic": "audit/test_attacks.py",
}
"""Scripts that the test of a room imports or starts, small."""


HERE = {"costs", "results"}
"""Scripts with a test below."""

SLOW = {
    "flips": (["--flips", "3", "--headers", "2"], "starts runs and reports"),
    "kills_dask": (["1"], "starts a scheduler and workers of dask"),
    "mutation": (["document", "-n", "1"], "reads every test, and runs some of them on a mutant"),
}
"""Scripts that have to start processes: their arguments, and what makes them slow."""


def test_every_script_is_run_by_a_test():
    scripts = {path.stem for path in STUDIES.glob("*.py")}
    assert scripts == HERE | {*ELSEWHERE} | {*SLOW}
    for name, file in ELSEWHERE.items():
        assert name in (Path(__file__).parent / file).read_text(encoding="utf-8")


def test_results_that_moved_are_found(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = study_of("results")
    two_repeats = ["--set", "repeats=2", "--set", "datasets=[compas]", "--set", "sample.size=300"]
    call = ["quickstart", "--found", "found", "--work", "work", *two_repeats]
    assert study.main(call) == 0
    assert study.main([*call, "--check"]) == 0
    answer = Path("found/quickstart/answer.md")
    answer.write_text(answer.read_text().replace("compas", "moved", 1))
    assert study.main([*call, "--check"]) == 1


FACTS = {"fairbench": fb.__version__, "commit": "0", "date": "d", "rounds": "5", "load": "0", "machine": "m"}


def test_the_table_of_costs_is_of_this_version_and_script(tmp_path):
    costs, path = study_of("costs"), tmp_path / "costs.csv"
    facts = FACTS | {"script": costs.script(), "versions": "v"}
    row = dict(zip(costs.COLUMNS, ("import", "-c", "0.50", "0.4", "0.6", "64"), strict=True))
    costs.write(path, facts, [row, row | {"what": "help", "cpu": "0.25"}])
    page = costs.with_costs(f"# Costs\n\n{costs.START}{costs.END}\nWords.\n", path)
    assert "| help | `-c` | 0.25 (0.4–0.6) | 0.5 | 64 |" in page
    assert page.endswith("\nWords.\n")
    assert costs.with_costs(page, path) == page
    for stale in ({"fairbench": "99.0.0"}, {"script": "0"}):
        costs.write(path, facts | stale, [row])
        with pytest.raises(ValueError, match="fix: python benchmarks"):
            costs.with_costs(page, path)


def test_what_costs_measure_is_what_fairbench_has(capsys):
    for said, arguments in study_of("costs").commands([400, 2000]).values():
        if said.startswith("fairbench "):
            assert run_command([*arguments[2:], "--help"]) == 0, said


def test_mutants_change_one_place_each():
    study = study_of("mutation")
    source = b"def least(a, b):\n    return a if a < b else b\n"
    changed = set()
    for mutant in study.mutants("least.py", source):
        changed.add(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    assert len(changed) > 2
    assert source not in changed


LEFT_BEHIND = """
import sys
import costs
burn = "import time\\nwhile time.process_time() < .3: pass"
left = f"import subprocess, sys\\nsubprocess.Popen([sys.executable, '-c', {burn!r}])"
costs.commands = lambda _: {"left behind": ("python", ["-c", left])}
print(costs.measure(1, [])[0]["cpu"])
"""


def test_costs_are_those_of_all_that_a_command_starts():
    """In a process of its own, as all that ends is waited for."""
    command = [sys.executable, "-c", LEFT_BEHIND]
    done = subprocess.run(command, cwd=STUDIES, env=environment(), capture_output=True, check=True)
    assert 0.3 <= float(done.stdout) < 3


@pytest.mark.nightly
@pytest.mark.parametrize("name", SLOW)
def test_a_script_of_many_processes_runs_small(name):
    arguments, _reason = SLOW[name]
    done = subprocess.run(
        [sys.executable, STUDIES / f"{name}.py", *arguments],
        cwd=STUDIES.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
