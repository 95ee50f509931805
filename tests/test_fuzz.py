"""Mutated configs, cards, tables and results end in a result or in two lines: benchmarks/fuzz.py, small."""

import sys

import pytest
from conftest import study_of


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in /proc")
def test_mutated_files_give_no_traceback_and_take_neither_long_nor_much(finished):
    study = study_of("fuzz")
    outcomes = list(study.cases(14, 0, 500, finished.folder, None))
    assert len(outcomes) == 500
    assert [one for one in outcomes if one["trouble"]] == []
    assert {one["code"] for one in outcomes} <= {0, 1, 2}
