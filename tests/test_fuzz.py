"""Mutated configs, cards, tables and results end in a result or in two lines: benchmarks/fuzz.py, small."""

import importlib.util
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in /proc")
def test_mutated_files_give_no_traceback_and_take_neither_long_nor_much(finished):
    spec = importlib.util.spec_from_file_location("fuzz_study", STUDY)
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = study  # its dataclasses look themselves up
    spec.loader.exec_module(study)
    outcomes = list(study.cases(14, 0, 500, finished.folder, None))
    assert len(outcomes) == 500
    assert [one for one in outcomes if one["trouble"]] == []
    assert {one["code"] for one in outcomes} <= {0, 1, 2}
