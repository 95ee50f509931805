"""The command line and the file of options that an audit gives make the same audit."""

import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import fairbench

import fairbench_cli as fb
from fairbench_cli.audit.command import OPTIONS_FILE

ROWS = pd.DataFrame(
    {
        "score": [0.9, 0.2, 0.7, 0.4, 0.6, 0.1, 0.8, 0.3] * 20,
        "score two": [0.8, 0.3, 0.6, 0.5, 0.7, 0.2, 0.9, 0.4] * 20,
        "label_value": [1, 0, 0, 1, 1, 0, 1, 0] * 20,
        "race": ["a b", "-c", "a b", "d;e", "d;e", "-c", "a b", "d;e"] * 20,
        "sex": ["f", "m", "m", "f"] * 40,
        "age": [20, 30, 40, 50, 60] * 32,
        "hours": [10, 20, 30, 40] * 40,
        "kind": ["yes", "no", "Yes", "no"] * 40,
        "w": [1, 2] * 80,
    }
)
CUT: dict[str, Any] = {"threshold": 0.5, "draws": 20}
OPTIONS: list[dict[str, Any]] = [
    CUT,
    {**CUT, "ref": {"race": "-c"}, "tau": 0.7},
    {**CUT, "tau": {"default": 0.7, "fpr": 0.9}, "exclude": ["race=-c"], "metric": ["fpr", "tpr"]},
    {**CUT, "margin": {"default": 0.1, "fpr": 0.05}},
    {**CUT, "attributes": ["age<40", "sex"], "intersect": ["sex,age<40"]},
    {**CUT, "attributes": ["age<=40"], "ref": "age>40"},
    {**CUT, "bins": {"age": {"edges": [25, 45], "closed": "right"}}, "attributes": ["sex"]},
    {**CUT, "bins": {"age": [25, 45.5]}, "attributes": ["sex", "race"], "seed": 3},
    {**CUT, "bins": {"age": [40]}, "intersect": "race,sex"},
    {**CUT, "bins": {"age": 3}, "ref_method": "rest", "rule": "point", "confidence": 0.9},
    {**CUT, "recode": {"race": {"new": ["-c", "a b"]}}},
    {**CUT, "recode": {"race": {"d,e": ["d;e"]}}},
    {**CUT, "explain": ["hours", "hours,age"], "attributes": ["sex"], "min_group": 5},
    {**CUT, "weight": "w", "title": "It's Monday's", "decision": "punitive"},
    {"score": "kind", "favourable": ["yes|Yes"], "draws": 20},
    {"score": "kind", "favourable": "yes", "spellings": {"kind": "merge"}, "attributes": ["sex"]},
    {"score": ["score", "score two"], "threshold": 0.5, "least_change": {"fpr": 0.01}, "draws": 20},
    {"top_k": [40, 80], "ties": "exclude", "draws": 20},
    {"top_share": 0.25, "preset": "eeoc", "exclude": ["race=-c"], "draws": 20},
    {**CUT, "preset": "aequitas", "spellings": "keep"},
    {"score": "hours", "outcome": "number", "margin": "0.2sd", "attributes": ["sex"]},
    {"score": "kind", "outcome": "ordinal", "order": "no,yes,Yes", "label": "kind", "attributes": ["sex"]},
    {**CUT, "fail": True, "warn_on": ["race:fnr"]},
    {**CUT, "curves": True, "scan": True, "attributes": ["sex"]},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a b's.csv"
    ROWS.to_csv(path, index=False)
    return path


@pytest.mark.gate
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_command_line_makes_the_same_audit(say, file: Path, options: dict[str, Any]):
    result = fb.audit(file, **options)
    program, *words = shlex.split(result.command)
    Path(OPTIONS_FILE).write_text(result.config_yaml)
    said = say(*words, "--format", "json")
    assert program == "fairbench"
    assert said.out == result.to_json(), said.err
    assert fb.audit(file, config=OPTIONS_FILE).to_json() == result.to_json()


def test_a_process_makes_the_same_audit(file: Path):
    for options in (OPTIONS[3], OPTIONS[5]):
        with fb.opened(file, **options) as people:
            result = people.audit(rule="point")
        Path(file.parent, OPTIONS_FILE).write_text(result.config_yaml)
        words = shlex.split(result.command)[1:]
        done = fairbench(*words, "--format", "json", cwd=file.parent)
        assert json.loads(done.stdout) == json.loads(result.to_json())


@pytest.mark.gate
def test_only_what_differs_is_written(file: Path):
    result = fb.audit(file, **CUT, attributes=["sex"], tau=0.8, ref_method="majority")
    assert result.command.endswith("--attribute sex --threshold 0.5 --draws 20")
    assert result.config_yaml == "attribute:\n- sex\nthreshold:\n- 0.5\ndraws: 20\n"
    assert fb.audit(ROWS, **CUT).command == "fairbench audit FILE --threshold 0.5 --draws 20"
    with fb.opened(file, "-people.csv", **CUT) as people:
        assert people.audit().command == "fairbench audit ./-people.csv --threshold 0.5 --draws 20"
    plain = pd.DataFrame({"score": [1, 0], "sex": ["f", "m"]})
    assert fb.audit(plain).command == "fairbench audit FILE"
    assert fb.audit(plain).config_yaml == ""
