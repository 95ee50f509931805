"""What comes with fairbench is found by its name: configs, results, and the pages of components."""

import re
from pathlib import Path

import pytest
from conftest import plain, two_lines

from fairbench_cli.base.errors import UserError
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.cli.pages import described, docstring
from fairbench_cli.experiment.config.read import (
    find_config,
    known_configs,
    read_config,
    shipped_configs,
    title,
)
from fairbench_cli.interventions.registry import INTERVENTIONS

ROOT = Path(__file__).parents[2]
SMALL = ["--set", "repeats=1", "--set", "sample.size=200", "--set", "datasets=[compas]"]
SMALL += ["--set", "interventions=[none]", "--set", "classifiers=[naive-bayes]", "--jobs", "1"]


@pytest.mark.gate
def test_a_shipped_config_runs_by_name_in_an_empty_folder(say, tmp_path):
    assert "45 cells and 4 controls × 5 repeats = 245" in say("plan", "quickstart").out
    done = say("run", "quickstart", *SMALL)
    assert done.code == 0, done.err
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert say("report", "quickstart").out == say("report", "results/quickstart").out
    two_lines(say("report", "quikstart"), "quikstart")
    two_lines(say("compare", "quickstart", "--paper", "cardoso2018"), "cardoso2019")


def test_a_simulation_by_name(say):
    two_lines(say("run", "zliobaite2017", "--set", "runs=0"), "runs")
    two_lines(say("plan", "zliobaite2017"), "this is a simulation", "fairbench run")


def test_the_config_with_the_printed_numbers_has_the_papers_name():
    assert find_config("cardoso2019-as-found") == find_config("cardoso2019")
    assert "makes the printed numbers come out" in title(find_config("cardoso2019"))
    assert "cardoso2019-as-found" not in known_configs()
    with pytest.raises(UserError, match="write cardoso2019 alone"):
        find_config("configs/cardoso2019-as-found.yaml")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("quikstart", ["neither a file nor a config", 'did you mean "quickstart"']),
        ("nothing", ["neither a file nor a config", "quickstart", "mine.yaml"]),
        ("configs/quickstart.yaml", ["no such file", "write quickstart alone"]),
        ("none.yaml", ["no such file"]),
    ],
)
def test_a_name_of_nothing(say, tmp_path, name, words):
    (tmp_path / "mine.yaml").touch()
    two_lines(say("plan", name), *words)


def test_a_file_of_ones_own_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quickstart").write_text("mine")
    assert find_config("quickstart") == Path("quickstart")
    assert find_config("cardoso2019").parent == shipped_configs()


def test_every_shipped_config_has_a_title_and_its_network_or_cards_are_there():
    for name in known_configs():
        assert 3 < len(title(find_config(name)).split()) < 20
        if name != "zliobaite2017":
            assert read_config(find_config(name)).name == name


def test_a_list_fits_80_columns_with_whole_summaries(say):
    done = say("list", "interventions", "--all")
    plain(done.out)
    text = " ".join(done.out.split())
    assert "optimum=least-loss" in text  # a default that came later
    assert not re.search("MISSING|factory", text)
    for name, entry in INTERVENTIONS.items():
        assert name in text
        assert " ".join(entry.summary.split()) in text


@pytest.mark.parametrize(
    ("kind", "name", "thing"),
    [
        (kind, name, entry.load())
        for kind, registry in (("interventions", INTERVENTIONS), ("classifiers", CLASSIFIERS))
        for name, entry in registry.items()
    ],
)
def test_a_page_has_every_parameter_with_type_and_meaning(say, kind, name, thing):
    page = say("list", kind, name).out
    assert max(map(len, page.splitlines())) <= 80
    for key, what in described(thing).items():
        assert re.search(rf"^    {key}: ", page, re.MULTILINE)
        assert not what.startswith("any value")
        assert "factory" not in what
        assert docstring(thing)[2].get(key), f"{name}: {key} is not explained in the docstring"
    assert ("include_protected" in page) == (kind == "interventions")


def test_pages_of_nothing(say):
    two_lines(say("list", "interventions", "masaging"), 'did you mean "massaging"')
    two_lines(say("list", "datasets", "adult"), "fairbench data show adult")
    two_lines(say("list", "--long"), "metrics")


def test_the_page_of_anybodys_code(say, tmp_path):
    text = '''def make(depth: int = 3):
    """Return a tree."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth)


class Thing:
    def __init__(self, share: float):
        self.share = share

    def fit(self, train, classifier, rng): ...
'''
    (tmp_path / "mine.py").write_text(text)
    page = say("list", "classifiers", "./mine.py:make").out
    assert "Return a tree." in page
    assert "depth: whole number; default 3" in page
    assert "encoding: one-hot, codes or frame; default one-hot" in page
    assert "share: number; must be given" in say("list", "interventions", "./mine.py:Thing").out
    assert "random_state: given, if" in say("list", "classifiers", "sklearn.svm:SVC").out
    two_lines(say("list", "classifiers", "./mine.py:Thing"), "name it under `interventions`")
    two_lines(say("list", "classifiers", "svn"), '"svm"')
