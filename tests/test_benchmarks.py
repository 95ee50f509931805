"""Every script of benchmarks/ runs: small here, or in the test of what it measures."""

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import STUDIES, environment, study_of

from fairbench_cli.cli.app import run as run_command

SHARED = {"costs", "predictions", "rows"}
"""What scripts import of each other."""

ELSEWHERE = {
    "baumann2023": "papers/test_baumann2023.py",
    "families": "audit/test_family.py",
    "fetch_studies": "studies/test_fetch.py",
    "friedler_correlations": "papers/test_friedler2019.py",
    "controls": "report/test_controls.py",
    "fuzz": "test_fuzz.py",
    "fuzz_options": "test_fuzz.py",
    "headlines": "report/test_headlines.py",
    "kills": "experiment/test_kills.py",
    "levels_clusters": "audit/test_levels_clusters.py",
    "levels_months": "audit/test_streams.py",
    "levels_numbers": "measures/test_levels_numbers.py",
    "messy": "audit/test_cleaning.py",
    "metamorphic": "audit/test_attacks.py",
    "paired": "report/test_population.py",
    "recovery": "network/test_recovery.py",
    "shipped": "network/test_standins.py",
    "studies": "studies/test_levels.py",
    "web": "web/test_pages.py",
    "verdicts": "audit/test_verdicts_simulated.py",
    "worlds": "network/test_exact.py",
}
"""Scripts that the test of a room imports or starts, small."""


class Small:
    """Scripts of benchmarks/ in one process: to start Python for each would cost more than what they do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def study(self, name: str, **constants: Any) -> ModuleType:
        """Return a script with other sizes, which starts no process."""
        study = study_of(name)
        for constant, value in constants.items():
            assert hasattr(study, constant)
            self.monkeypatch.setattr(study, constant, value)
        for function in ("inside", "whole", "write"):
            if hasattr(study, function):
                self.monkeypatch.setattr(study, function, getattr(self, function))
        self.current = study
        return study

    def main(self, name: str, *arguments: str, **constants: Any) -> None:
        """Run a script by its command line."""
        study = self.study(name, **constants)
        self.monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        study.main()

    def inside(self, _python: str, script: str, *arguments: object) -> Any:
        """Run a script here, and return what its last line says as JSON."""
        return json.loads(self.output([script, *map(str, arguments)]).splitlines()[-1])

    def whole(self, command: list[str]) -> Any:
        """Run a command here; what it costs is made up."""
        from costs import Cost

        self.output(command[1:])
        return Cost(0.5, 100.0)

    @staticmethod
    def write(path: Path, select: str) -> None:
        """Write the rows of a query as CSV."""
        from predictions import _write

        _write(str(path), select)

    def output(self, command: list[str]) -> str:
        """Return what Python prints where it is given a command line."""
        first, *arguments = command
        printed = io.StringIO()
        with self.monkeypatch.context() as patch, contextlib.redirect_stdout(printed):
            if first == "-m":
                assert arguments[0] == "fairbench_cli"
                assert run_command(arguments[1:]) == 0
                return printed.getvalue()
            patch.setattr(sys, "argv", [first, *(arguments[1:] if first == "-c" else arguments)])
            with contextlib.suppress(SystemExit):
                if first == "-c":
                    exec(arguments[0], {"__name__": "__main__"})  # noqa: S102 - our own code
                else:
                    self.current.main()  # the script itself, with the sizes of this test
        return printed.getvalue()


@pytest.fixture
def small(monkeypatch, tmp_path) -> Small:
    """Run scripts of benchmarks/ in this process, in an empty folder."""
    monkeypatch.syspath_prepend(STUDIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAIRBENCH_PEERS", raising=False)
    return Small(monkeypatch)


def rows_of(text: str) -> list[str]:
    """Return the lines of Markdown tables, heads and rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rules = [index for index, line in enumerate(lines) if set(line) <= {*"|-:"}]
    heads = [index - 1 for index in rules]
    return [line for index, line in enumerate(lines) if index not in rules and index not in heads]


def run_audit_libraries(small: Small) -> None:
    small.main("audit_libraries", "--rounds", "1", "--rows", "1000")


def run_audit_numbers(small: Small) -> None:
    small.main("audit_numbers", "2000", "1")


def run_audit_scan(small: Small) -> None:
    small.main("audit_scan", "1000", "1")


def run_c45(small: Small) -> None:
    small.main("c45", "--rounds", "1", "--weka", "none.jar", CARDS=("compas",), FITS=1)


def run_growth_rows(small: Small) -> None:
    small.main("growth", "rows", "--most", "1000", "--rounds", "1", ROWS=(300, 1000))


def run_growth_repeats(small: Small) -> None:
    small.main("growth", "repeats", "--rounds", "1", REPEATS=(2,))


def run_libraries(small: Small) -> None:
    small.main("libraries", "reweighing", "--rounds", "1")


def run_networks(small: Small) -> None:
    # pomegranate, which would be imported with torch, is left out as a library that is not there.
    small.main("networks", "--rounds", "1", CARDS=("compas",), ROWS=(100,), OWN=("fairbench",))


def run_planning(small: Small) -> None:
    small.main("planning", "2")


def run_region_picture(small: Small) -> None:
    small.main(
        "region_picture",
        "region.svg",
        SHARES=(0.2,),
        ERRORS=(0.1,),
        STEPS=np.linspace(0, 0.95, 3),
        FINE=np.linspace(0, 0.975, 9),
    )
    assert Path("region.svg").read_text().startswith("<?xml")


def run_results(small: Small) -> None:
    study = small.study("results")
    two_repeats = ["--set", "repeats=2", "--set", "datasets=[compas]", "--set", "sample.size=300"]
    call = ["quickstart", "--found", "found", "--work", "work", *two_repeats]
    assert study.main(call) == 0
    assert study.main([*call, "--check"]) == 0
    answer = Path("found/quickstart/answer.md")
    answer.write_text(answer.read_text().replace("compas", "moved", 1))
    assert study.main([*call, "--check"]) == 1


def run_techniques(small: Small) -> None:
    small.main("techniques", "reweighing", ADULT_TRAIN=500)


def run_words(small: Small) -> None:
    points = (("always", 2), ("data", 2))
    small.main("words", "2", POINTS=points, ROWS=(50,), MANY_ROWS=(50,), MANY_REPEATS=(2,))


RUNS: dict[str, tuple[Callable[[Small], None], int]] = {
    "audit_libraries": (run_audit_libraries, 8),
    "audit_numbers": (run_audit_numbers, 5),
    "audit_scan": (run_audit_scan, 6),
    "c45": (run_c45, 3),
    "growth rows": (run_growth_rows, 5),
    "growth repeats": (run_growth_repeats, 1),
    "libraries": (run_libraries, 1),
    "networks": (run_networks, 2),
    "planning": (run_planning, 86),
    "region_picture": (run_region_picture, 0),
    "results": (run_results, 0),
    "techniques": (run_techniques, 1),
    "words": (run_words, 36),
}
"""What runs a script, and the rows of its tables."""

SLOW = {
    "flips": (["--flips", "3", "--headers", "2"], "starts runs and reports"),
    "kills_dask": (["1"], "starts a scheduler and workers of dask"),
    "mutation": (["document", "-n", "1"], "runs the tests of a room under coverage"),
}
"""Scripts that have to start processes: their arguments, and what makes them slow."""


def test_every_script_is_run_by_a_test():
    scripts = {path.stem for path in STUDIES.glob("*.py")}
    assert scripts == SHARED | {*ELSEWHERE} | {name.partition(" ")[0] for name in RUNS} | {*SLOW}
    for name, file in ELSEWHERE.items():
        assert name in (Path(__file__).parent / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs_small(name, small, data_folder, capsys):
    run, n_rows = RUNS[name]
    run(small)
    printed = capsys.readouterr().out
    assert printed
    assert len(rows_of(printed)) == n_rows


def test_what_scripts_share_is_checked(small, capsys):
    costs = study_of("costs")
    with pytest.raises(SystemExit, match="set FAIRBENCH_PEERS"):
        costs.main([])
    assert costs.peer("pgmpy") is None
    assert "skipped pgmpy" in capsys.readouterr().err
    cost = costs.whole([sys.executable, "-c", ""])
    assert cost.cpu > 0
    assert costs.inside(sys.executable, "-c", "print([1])") == [1]
    with pytest.raises(SystemExit, match="failed"):
        costs.inside(sys.executable, "-c", "raise ValueError")


def test_mutants_change_one_place_each():
    study = study_of("mutation")
    source = b"def least(a, b):\n    return a if a < b else b\n"
    changed = set()
    for mutant in study.mutants("least.py", source):
        changed.add(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    assert len(changed) > 2
    assert source not in changed


@pytest.mark.slow
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
