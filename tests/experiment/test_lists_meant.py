"""Where several values are meant and one is written: the list to write is in the fix, and works."""

import shlex

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.base.validation import several_meant

CONFIG = """
name: lists
repeats: 1
datasets: [compas]
sample: {{from: shipped, beta: {beta}, size: 300}}
test: network
interventions: [none]
classifiers: [tree]
"""
TENTHS = "[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]"


@pytest.mark.parametrize(
    ("beta", "listed"),
    [
        ('"0:1:0.1"', TENTHS),
        ("{start: 0, stop: 1, step: 0.1}", TENTHS),
        ("{from: 0, to: 1, num: 11}", TENTHS),
        ('"np.linspace(0, 1, 3)"', "[0, 0.5, 1]"),
        ('"0:0.25:1"', "[0, 0.25, 0.5, 0.75, 1]"),
        ("0; .5; 1", "[0, 0.5, 1]"),
        ("0..1", "[0, 0.5, 1]"),
        ("0.0 0.5", "[0, 0.5]"),
    ],
)
def test_the_fix_of_a_config_is_the_list(tmp_path, say, beta, listed):
    path = tmp_path / "lists.yaml"
    path.write_text(CONFIG.format(beta=beta))
    refused = say("plan", str(path))
    assert refused.code == 2
    assert refused.err.rstrip().endswith(f"fix: write a list: beta: {listed}")
    path.write_text(CONFIG.format(beta=listed))
    assert say("plan", str(path)).code == 0


@pytest.mark.parametrize(
    "setting",
    [
        "sample.beta=0,0.5",
        "sample.beta=0:1",
        "interventions=none,massaging",
        "classifiers=c45",
        "representation=original,numerical",
    ],
)
def test_the_fix_of_a_setting_is_the_setting(tmp_path, say, setting):
    path = tmp_path / "lists.yaml"
    path.write_text(CONFIG.format(beta=0))
    refused = say("plan", str(path), "--set", setting)
    assert refused.code == 2
    fix = refused.err.partition("fix: ")[2].strip()
    assert say("plan", str(path), *shlex.split(fix)).code == 0


@pytest.mark.parametrize("value", ["0.5x", "2/3", "2024-01-01", "1", "", "a,b", True, None, 0.5])
def test_what_is_no_list_is_none(value):
    assert several_meant(value) == ""


def test_an_option_of_an_audit_is_given_more_than_once(tmp_path, say):
    path = tmp_path / "rows.csv"
    path.write_text("score,sex\n" + "0.2,f\n0.7,m\n" * 20)
    refused = say("audit", str(path), "--threshold", "0.1,0.5")
    assert refused.err.endswith("--threshold 0.1 --threshold 0.5\n")
    assert say("audit", str(path), *refused.err.partition("fix: write ")[2].split(), "-a", "sex").code == 0


def test_arrays_are_lists_in_python_and_sets_say_so():
    from fairbench_cli.api.objects import plain_config

    for beta in (np.linspace(0, 1, 3), pd.Series([0, 0.5, 1]), (np.float64(0), 0.5, np.int64(1))):
        assert plain_config({"sample": {"beta": beta}}) == {"sample": {"beta": [0, 0.5, 1]}}
    for beta in ({0, 1}, iter([0, 1]), np.zeros((2, 2))):
        with pytest.raises(fb.UserError, match=r"sample.beta is .*\n  fix: write a list: list\(beta\)"):
            plain_config({"sample": {"beta": beta}})


def test_a_technique_has_one_number():
    X = pd.DataFrame({"sex": ["f", "m"] * 20, "x": range(40)})
    for eta in (np.linspace(0, 1, 3), "0:1"):
        technique = fb.technique("prejudice-remover", sensitive_features="sex", deprived="f", eta=eta)
        with pytest.raises(
            fb.UserError, match=r"fix: give one number; GridSearchCV tries each of \[0, 0.5, 1\]"
        ):
            technique.fit(X, [0, 1, 1, 1] * 10)
