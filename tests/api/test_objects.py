"""Classes, functions and estimators in a config: they become names and parameters, and the same cells."""

import sys
from functools import partial
from pathlib import Path

import pytest
import yaml
from conftest import SMALL
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import fairbench_cli as fb
from fairbench_cli.api.objects import plain_config
from fairbench_cli.experiment.config.read import read_config
from fairbench_cli.experiment.datasets import prepare_datasets
from fairbench_cli.experiment.plan import make_cells
from fairbench_cli.interventions.disparate_impact import ZafarDI
from fairbench_cli.interventions.preprocessing import Massaging, Reweighing

FILE = '''
"""Mine."""

class Mine:
    def __init__(self, share=0.5, names=(), *, more=None):
        self.share, self.names = share, names
        self.more = more

    def fit(self, train, classifier, rng):
        import fairbench_cli as fb
        return fb.Fitted(classifier.fit(train), facts={"share": self.share})


class Forgetful(Mine):
    def __init__(self, level=1):
        super().__init__()


def tree(depth=2):
    from sklearn.tree import DecisionTreeClassifier
    return DecisionTreeClassifier(max_depth=depth)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "my_own.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("my_own")
    del sys.modules["my_own"]


@pytest.fixture
def notebook() -> dict:
    """What a cell of a notebook defines."""
    names = {"__name__": "__main__"}
    cell = """
class Promoting:
    def fit(self, train, classifier, rng): ...

def outer():
    class Inner(Promoting): ...
    return Inner
"""
    exec(cell, names)  # noqa: S102 - as a notebook does
    return names


def keys_of(config: dict, folder: Path) -> list[str]:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(plain_config(SMALL | config)))
    given = read_config(path)
    assert read_config_again(given, folder) == given
    return [cell.key for cell in make_cells(given, prepare_datasets(given, None))]


def read_config_again(given, folder: Path):
    again = folder / "again.yaml"
    again.write_text(given.as_yaml())
    return read_config(again)


def test_objects_are_the_cells_of_the_same_in_yaml(tmp_path, mine):
    objects = {
        "interventions": [
            Reweighing,
            ZafarDI(mode="accuracy", gamma=0.5),
            {Massaging: {"ranker": ["naive-bayes", "logistic"], "include_protected": True}},
            mine.Mine,
            mine.Mine(0.25, names=("a", "b")),
        ],
        "classifiers": [
            LogisticRegression(C=0.1),
            MLPClassifier((5, 2)),
            partial(DecisionTreeClassifier, max_depth=3),
            {RandomForestClassifier(5): {"max_depth": [2, 3], "encoding": "codes"}},
            {mine.tree: {"depth": 3}},
        ],
    }
    forest = {"n_estimators": 5, "max_depth": [2, 3], "encoding": "codes"}
    texts = {
        "interventions": [
            "reweighing",
            {"zafar-di": {"mode": "accuracy", "gamma": 0.5}},
            {"massaging": {"ranker": ["naive-bayes", "logistic"], "include_protected": True}},
            "./my_own.py:Mine",
            {"./my_own.py:Mine": {"share": 0.25, "names": [["a", "b"]]}},
        ],
        "classifiers": [
            {"sklearn.linear_model:LogisticRegression": {"C": 0.1}},
            {"sklearn.neural_network:MLPClassifier": {"hidden_layer_sizes": [[5, 2]]}},
            {"sklearn.tree:DecisionTreeClassifier": {"max_depth": 3}},
            {"sklearn.ensemble:RandomForestClassifier": forest},
            {"./my_own.py:tree": {"depth": 3}},
        ],
    }
    assert keys_of(objects, tmp_path) == keys_of(texts, tmp_path)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (make_pipeline(LogisticRegression()), r"Pipeline\(steps=.*\n  fix: write a function that returns"),
        (BaggingClassifier(DecisionTreeClassifier(), max_samples=0.5), r"BaggingClassifier\(estimator=Dec"),
        (LogisticRegression(C=float("inf")), r"LogisticRegression\(C=inf\)"),
        (lambda: LogisticRegression(), "lambda is defined where workers.*\n  fix: put it into a file"),
        (partial(DecisionTreeClassifier, "gini"), "arguments without a name"),
        (object(), "builtins:object is not a classifier"),
        (Reweighing, 'is a technique|unknown classifier "reweighing"|not a classifier'),
    ],
)
def test_what_a_config_cannot_say(entry, said):
    with pytest.raises(fb.UserError, match=said) as raised:
        fb.run(SMALL | {"classifiers": [entry]})
    assert len(str(raised.value).splitlines()) == 2


def test_what_workers_cannot_import_and_objects_that_forget_are_refused(notebook, mine):
    def run(thing: object) -> str:
        with pytest.raises(fb.UserError) as raised:
            fb.run(SMALL | {"interventions": [thing]})
        assert len(str(raised.value).splitlines()) == 2
        return str(raised.value)

    assert "is for scikit-learn" in run(fb.technique("reweighing"))
    assert "does not keep its parameter level" in run(mine.Forgetful())
    assert "Inner is defined where workers cannot" in run(notebook["outer"]())
    assert (
        'import it from\n  fix: put it into a file, such as mine.py, and name "./mine.py:Promoting"'
        in run(notebook["Promoting"])
    )
