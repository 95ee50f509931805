"""A run that is killed at random moments loses nothing: the study of benchmarks/kills.py, small."""

import sys
from types import ModuleType

import pytest
from conftest import study_of


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("kills")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a run in /proc")
def test_twenty_kills_lose_nothing_and_leave_nothing(study, tmp_path):
    chains = list(study.chains(20, 20, 14, 2, tmp_path, private=False))
    assert sum(chain.hits.total() for chain in chains) == 20
    assert [one for chain in chains for one in chain.wrong] == []
