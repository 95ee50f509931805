"""A run that is killed at random moments loses nothing: the study of benchmarks/kills.py, small."""

import random
import sys
from types import ModuleType

import pytest
from conftest import study_of


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return study_of("kills")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a run in /proc")
def test_twenty_kills_lose_nothing_and_leave_nothing(study, tmp_path):
    good = study.undisturbed(tmp_path / "good", 2)
    chain = study.prepare(tmp_path / "chain", 2, private=False)
    study.run_chain(chain, 20, random.Random(14), good)  # noqa: S311
    assert chain.wrong == []
    assert chain.hits.total() >= 15  # the rest of the run may end before the last one
