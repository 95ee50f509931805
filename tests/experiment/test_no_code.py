"""With --no-code nothing that somebody else wrote is imported, whichever command names it."""

import os

import pytest
from conftest import two_lines

NAMES = ("./mine.py:Tree", "theirs:Tree", "their-tree")
TREE = """from pathlib import Path
from sklearn.tree import DecisionTreeClassifier
Path("imported").touch()
class Tree(DecisionTreeClassifier):
    pass
def gap(counts):
    return counts.total
"""
CONFIG = """name: own
repeats: 1
datasets: [dutch]
sample: {{from: shipped, size: 300}}
test: network
interventions: [none]
classifiers: ['{name}']
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a file, a module, and an installed package that has an entry point."""
    (tmp_path / "mine.py").write_text(TREE)
    (tmp_path / "theirs.py").write_text(TREE)
    installed = tmp_path / "their_trees-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-trees\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[fairbench.classifiers]\ntheir-tree = theirs:Tree\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.gate
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_code_that_is_named_is_refused_and_not_imported(own, say, monkeypatch, name, by):
    (own / "own.yaml").write_text(CONFIG.format(name=name))
    option = ["--no-code"]
    if by == "variable":
        option = []
        monkeypatch.setenv("FAIRBENCH_NO_CODE", "1")
    for command in (["plan", "own.yaml"], ["run", "own.yaml", "-o", "out"], ["check", name]):
        refused = say(*command, *option)
        two_lines(refused, f"{name} is code that is not fairbench's, and none is to run")
    assert not (own / "imported").exists()
    assert not (own / "out").exists()


@pytest.mark.gate
def test_without_the_option_a_run_says_whose_code_it_runs(own, say):
    (own / "own.yaml").write_text(CONFIG.format(name=NAMES[0]))
    assert say("plan", "own.yaml", "--no-code").code == 2  # which ends with the command
    assert "FAIRBENCH_NO_CODE" not in os.environ
    done = say("run", "own.yaml", "-o", "out", "-j", "1")
    assert done.code == 0
    assert "runs code of others: mine.py:Tree (--no-code refuses it)" in done.err
    assert (own / "imported").exists()


def test_a_config_without_code_is_planned_all_the_same(own, say):
    (own / "own.yaml").write_text(CONFIG.format(name="c45"))
    planned = say("plan", "own.yaml", "--no-code")
    assert (planned.code, planned.err) == (0, "")
    assert "runs code of others" not in say("plan", "own.yaml").err


@pytest.mark.gate
def test_a_metric_is_refused_too(own, say):
    (own / "own.yaml").write_text(CONFIG.format(name="c45") + "metrics: [./mine.py:gap]\n")
    two_lines(say("plan", "own.yaml", "--no-code"), "./mine.py:gap is code that is not fairbench's")
    assert not (own / "imported").exists()
