"""A run that is killed at random moments loses nothing: the study of benchmarks/kills.py, small."""

import sys
from types import ModuleType

import pytest
from conftest import fairbench, scaled, seed_of_today, study_of


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("kills")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a run in /proc")
def test_kills_lose_nothing_and_leave_nothing(study, tmp_path):
    seed = seed_of_today()
    calm = study.prepare(tmp_path / "good", 2, private=False)
    done = fairbench(*study.COMMAND, "2", cwd=calm.folder, TRACE=str(calm.folder / "trace"))
    assert done.returncode == 0, done.stderr
    n_kills = scaled(4)  # nightly the study itself has hundreds
    chains = list(
        study.chains(n_kills, n_kills, seed, 2, tmp_path, private=False, good=study.derived(calm.out))
    )
    assert sum(chain.hits.total() for chain in chains) == n_kills
    assert [one for chain in chains for one in chain.wrong] == [], f"FAIRBENCH_SEED={seed}"
