"""Every script of benchmarks/ runs: small here, or in the test of what it measures."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import STUDIES, environment, study_of

import fairbench_cli as fb
from fairbench_cli.cli.app import run as run_command
from fairbench_cli.data.card import find_card, read_card
from fairbench_cli.papers.registry import PAPERS, read_published

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


HERE = {"costs", "reproduce", "results"}
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
    costs = Path("found/costs.csv").read_text().splitlines()
    assert costs[1].startswith("quickstart,30,0,")  # five techniques at three strengths, twice


MADE = {
    "python": "3.11.7",
    "packages": dict.fromkeys(("numpy", "scipy", "scikit-learn", "numba", "pandas"), "1"),
}
ELSEWHERE_MADE = MADE | {"python": "3.12.1"}
ROWS = [f"adult,{technique},{value},better" for technique in range(50) for value in (0.125, -12.5)]


@pytest.mark.parametrize(
    ("before", "after", "here", "elsewhere"),
    [
        ("0.125", "0.125", True, True),
        ("0.125", "0.1299", False, True),
        ("0.125", "0.131", False, False),
        ("-12.5", "-12.7", False, True),
        ("-12.5", "12.5", False, False),
        ("-12.5,better", "-12.5,", False, False),
        (ROWS[7], f"{ROWS[7]}\n{ROWS[7]}", False, False),
        (ROWS[7] + "\n", ROWS[7].replace("better", "") + "\n", False, True),
    ],
)
def test_numbers_of_another_machine_may_differ_a_little(before, after, here, elsewhere, tmp_path):
    """Here all is compared to the letter; with another Python by numbers, but for few words."""
    study = study_of("results")
    text = "\n".join(ROWS) + "\n"
    study.write_texts(tmp_path / "found/run", {"findings.csv": text, study.PROVENANCE: json.dumps(MADE)})
    for made, same in ((MADE, here), (MADE | {"python": "3.11.9"}, here), (ELSEWHERE_MADE, elsewhere)):
        manifest = json.dumps(made | {"platform": "unknown"})
        now = {"findings.csv": text.replace(before, after), study.PROVENANCE: manifest, "config.yaml": "{}"}
        study.write_texts(tmp_path / "run", now)
        assert study.check("run", tmp_path / "found", tmp_path / "run") == same


WORKFLOWS = STUDIES.parent / ".github/workflows"
REPRODUCE, NIGHTLY = (
    yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8"))
    for name in ("reproduce", "nightly")
)
JOBS = study_of("reproduce").JOBS


def test_the_workflow_has_every_job_and_the_short_ones_on_each_push():
    (job,) = REPRODUCE["jobs"].values()
    pushed, weekly = map(json.loads, re.findall(r"'(\[[^']+\])'", job["strategy"]["matrix"]["name"]))
    assert sorted(weekly) == sorted(JOBS)
    assert sorted(pushed) == sorted(name for name, job in JOBS.items() if job.each_push)
    (step,) = (step["run"] for step in job["steps"] if "reproduce.py" in step.get("run", ""))
    assert step == "python benchmarks/reproduce.py ${{ matrix.name }}"
    for path in REPRODUCE[True]["push"]["paths"]:  # YAML 1.1 takes "on" for true
        assert any(STUDIES.parent.glob(path))


def test_every_night_the_files_are_read_that_are_needed_every_week():
    """GitHub keeps a cache for a week after it was read."""
    (weekly,) = REPRODUCE["jobs"].values()
    nightly = NIGHTLY["jobs"]["data"]
    assert nightly["strategy"]["matrix"]["name"] == [name for name, job in JOBS.items() if job.cards]
    caches = [
        step["with"]
        for job in (weekly, nightly)
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/cache")
    ]
    assert caches[0] == caches[1]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_its_data_and_asks_for_most_of_what_is_published(name):
    job = JOBS[name]
    shipped = job.config or name
    paper = study_of("results").PAPERS.get(shipped)
    config = yaml.safe_load((STUDIES.parent / "configs" / f"{shipped}.yaml").read_text(encoding="utf-8"))
    assert (paper is None) == (not job.published)
    fetched = {file.name for card in job.cards for file in read_card(find_card(card)).files}
    if config.get("sample", {}).get("from", "network") != "shipped" and "truth" not in config:
        for item in config["datasets"]:
            card = read_card(find_card(item if isinstance(item, str) else next(iter(item))))
            assert {file.name for file in card.files} <= fetched
    for published in job.published:
        assert published.least / published.of > (0.55 if published.within != 0.02 else 0.35)
        tables = published.tables.split(",")
        values = read_published(PAPERS[paper])
        if paper != "friedler2019":  # of which those without a flag count
            assert published.of == sum(tables == [""] or str(table) in tables for table in values["table"])


@pytest.mark.gate
def test_a_number_that_moved_fails_the_job(tmp_path, capsys):
    study, found = study_of("reproduce"), tmp_path / "found"
    shutil.copytree(STUDIES.parent / "results/found/zliobaite2017", found / "zliobaite2017")
    call = ["zliobaite2017", "--work", str(tmp_path), "--found", str(found)]
    assert study.main(call) == 0
    stored = found / "zliobaite2017/simulation.csv"
    stored.write_text(stored.read_text().replace("discrimination,-1.0", "discrimination,-0.9", 1))
    assert study.main(call) == 1
    assert "other results than found before" in capsys.readouterr().out


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
