"""Classes, functions and estimators in a config: they become names and parameters, and the same cells."""

import linecache
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
from fairbench_cli.base.definitions import NoDefinition, definition_of
from fairbench_cli.base.plugins import find_code
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
CELL = '''
import json as js
from dataclasses import dataclass, replace
import numpy as np
import fairbench_cli as fb

NEW = 1
rows = train = np.zeros(3)  # and a parameter of that name is no use of it


def used(y, at):
    y = y.copy()
    y[at] = NEW
    return y


@dataclass(frozen=True)
class Promoting:
    """Promote a share."""

    share: float = 0.5

    def fit(self, train, classifier, rng):
        at = np.flatnonzero((train.s == 0) & (train.y == 0))
        y = used(train.y, at[: round(self.share * len(at))])
        return fb.Fitted(classifier.fit(replace(train, y=y)), facts={"n": len(js.dumps([]))})


def promoted(counts: fb.Counts):
    """P: of the deprived that are refused."""
    return counts.n[..., 0, 0, 1] * 1.0


class Using:
    def fit(self, train, classifier, rng):
        return fb.Fitted(classifier.fit(train), facts={"rows": len(rows)})


def outer():
    class Inner:
        def fit(self, train, classifier, rng): ...
    return Inner
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "my_own.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("my_own")
    del sys.modules["my_own"]


@pytest.fixture
def notebook(monkeypatch) -> dict:
    """What a cell of a notebook defines."""
    name = "<cell 1>"
    monkeypatch.setitem(linecache.cache, name, (len(CELL), None, CELL.splitlines(keepends=True), name))
    names = {"__name__": "__main__"}
    exec(compile(CELL, name, "exec"), names)  # noqa: S102 - as a notebook does
    return names


def keys_of(config: dict, folder: Path) -> list[str]:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(plain_config(SMALL | config, folder)))
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
            {
                "sklearn.ensemble:RandomForestClassifier": {
                    "n_estimators": 5,
                    "max_depth": [2, 3],
                    "encoding": "codes",
                }
            },
            {"./my_own.py:tree": {"depth": 3}},
        ],
    }
    assert keys_of(objects, tmp_path) == keys_of(texts, tmp_path)


def test_what_a_notebook_defines_is_kept_as_a_file_and_runs_again(tmp_path, notebook, warm_server, capsys):
    config = SMALL | {
        "interventions": ["none", notebook["Promoting"](0.25)],
        "metrics": ["accuracy", notebook["promoted"]],
    }
    small = {"repeats": 1, "sample.beta": [0.5]}
    ran = fb.run(config, folder=tmp_path / "out", changes=small)
    assert ran.failures == {}
    assert set(ran.summary["intervention"]) == {"none", "Promoting.py:Promoting"}
    kept = (tmp_path / "out/code/Promoting.py").read_text()
    assert "def used(y, at):" in kept
    assert "NEW = 1" in kept
    assert "import json as js" in kept
    assert "rows" not in kept
    found = find_code(f"{tmp_path}/out/code/Promoting.py:Promoting", "", Path())
    assert found.load()(0.25).share == 0.25
    # The resolved config runs as it is, and has nothing left to do.
    again = fb.run(tmp_path / "out/config.yaml", folder=tmp_path / "out", progress=True)
    assert capsys.readouterr().err == ""
    assert again.summary.equals(ran.summary)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (make_pipeline(LogisticRegression()), r"Pipeline\(steps=.*\n  fix: write a function that returns"),
        (BaggingClassifier(DecisionTreeClassifier(), max_samples=0.5), r"BaggingClassifier\(estimator=Dec"),
        (LogisticRegression(C=float("inf")), r"LogisticRegression\(C=inf\)"),
        (lambda: LogisticRegression(), "a lambda.*\n  fix: put it into a file"),
        (partial(DecisionTreeClassifier, "gini"), "arguments without a name"),
        (object(), "builtins:object is not a classifier"),
        (Reweighing, 'is a technique|unknown classifier "reweighing"|not a classifier'),
    ],
)
def test_what_a_config_cannot_say(entry, said):
    with pytest.raises(fb.UserError, match=said) as raised:
        fb.run(SMALL | {"classifiers": [entry]})
    assert len(str(raised.value).splitlines()) == 2


def test_what_cannot_be_had_of_a_notebook_or_an_object(notebook, mine):
    def run(thing: object) -> str:
        with pytest.raises(fb.UserError) as raised:
            fb.run(SMALL | {"interventions": [thing]})
        assert len(str(raised.value).splitlines()) == 2
        return str(raised.value)

    assert "is for scikit-learn" in run(fb.technique("reweighing"))
    assert "does not keep its parameter level" in run(mine.Forgetful())
    assert "Using uses rows, which is neither a plain value" in run(notebook["Using"])
    assert "defined within a function" in run(notebook["outer"]())
    linecache.cache.pop("<cell 1>")
    assert "the source of Promoting cannot be read\n  fix: put it into a file" in run(notebook["Promoting"])


def test_constants_and_functions_of_a_notebook_make_a_file_that_stands_alone(monkeypatch):
    text = (
        "import functools, collections\nimport numpy as np\n"
        "SHARE = np.float64(0.5)\nPoint = collections.namedtuple('Point', 'x')\nAT = Point(1)\n"
        "draw = np.random.default_rng(0).random\n"
        "@functools.lru_cache\ndef cached(x): return SHARE * x\n"
        "def mine(x): return cached(x)\n"
        "def at(): return AT\n"
        "def drawn(): return draw()\n"
        "class Base:\n    def other(self): return Sub()\n"
        "class Sub(Base):\n    all = [mine(x) for x in range(2)]\n    def own(self): return 1\n"
    )
    name, names = "<cell 2>", {"__name__": "__main__"}
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
    exec(compile(text, name, "exec"), names)  # noqa: S102 - as a notebook does
    alone: dict = {}
    exec(definition_of(names["mine"]), alone)  # noqa: S102
    assert alone["mine"](4) == 2.0
    for first in ("Base", "Sub"):  # each uses the other
        exec(definition_of(names[first]), alone)  # noqa: S102
        assert alone["Base"]().other().own() == 1
    for other, used in (("at", "AT"), ("drawn", "draw")):
        with pytest.raises(NoDefinition, match=f"uses {used}, which is neither a plain value"):
            definition_of(names[other])
