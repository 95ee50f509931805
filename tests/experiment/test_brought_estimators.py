"""What scikit-learn users bring runs, in a run and in `fb.technique`, or gets a sentence that works."""

import importlib.util
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairbench_cli as fb
from fairbench_cli.base.plugins import find_code, how_to_get
from fairbench_cli.experiment.trial import find_components

BROUGHT = """
import numpy as np
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

instance = LogisticRegression(C=0.5)
levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
names = make_pipeline(make_column_transformer((levels, ["edu", "income"])), BernoulliNB())
search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2)
calibrated = CalibratedClassifierCV(LinearSVC(), cv=2)
vote = VotingClassifier([("a", BernoulliNB()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft")
scaler = MinMaxScaler()
reduction = ExponentiatedGradient(LogisticRegression(), DemographicParity(), max_iter=3)
anonymous = lambda: BernoulliNB()
ridge = GridSearchCV(Ridge(), {"alpha": [1, 2]})
table = {"a": 1}


def whole_class():
    return BernoulliNB


def selected():
    categories = make_column_selector(dtype_include="category")
    return make_pipeline(make_column_transformer((levels, categories)), BernoulliNB())


class Mine:
    def fit(self, X, y):
        self.model = DecisionTreeClassifier(max_depth=2).fit(X, y)

    def predict(self, X):
        return self.model.predict(X)


mine = Mine()


class Floats(Mine):
    def predict(self, X):
        return super().predict(X).astype(float)


class Bools(Mine):
    def predict(self, X):
        return super().predict(X) == 1


class Texts(Mine):
    def predict(self, X):
        return np.where(super().predict(X) == 1, "yes", "no")


class Chances(Mine):
    def predict(self, X):
        return self.model.predict_proba(X)[:, 1]


class Unweighted(Mine):
    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None:
            raise ValueError("sample_weight is not supported")
        super().fit(X, y)


class Short:
    def fit(self, X): ...

    def predict(self, X): ...


cut = make_pipeline(make_column_transformer((MinMaxScaler(), ["age"])), BernoulliNB())


class Booster:
    def __init__(self, rounds=2, **kwargs):
        self.rounds, self.kwargs = rounds, kwargs

    def get_params(self, deep=True):
        return {"rounds": self.rounds, **self.kwargs}

    def set_params(self, **parameters):
        self.kwargs.update(parameters)

    def fit(self, X, y, sample_weight=None):
        self.model = DecisionTreeClassifier(max_depth=self.rounds).fit(X, y, sample_weight)

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


class Margins:
    def fit(self, X, y):
        self.model = LinearSVC().fit(X, y)

    def decision_function(self, X):
        return self.model.decision_function(X)


class Cutting(Mine):
    def __init__(self):
        self.estimator = Ridge()


class Likely:
    def fit(self, X, y): ...

    def predict_proba(self, X): ...


class Deep(Mine):
    def __init__(self, depth):
        self.depth = depth


class Sampler:
    def fit(self, X, y):
        return self

    def fit_resample(self, X, y):
        return X, y


class Sampling(Pipeline):
    def fit(self, X, y, **parameters):
        half = len(y) // 2
        self.steps[-1][1].fit(X[:half], y[:half])
        return self

    def predict(self, X):
        return self.steps[-1][1].predict(X)

    def predict_proba(self, X):
        return self.steps[-1][1].predict_proba(X)


sampled = Sampling([("sampler", Sampler()), ("model", BernoulliNB())])


class Dataset:
    def fit(self, dataset):
        return self

    def transform(self, dataset):
        return dataset


class Same:
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Half(Same):
    def transform(self, X):
        return X[:, ::2]
"""
CARD = """
name: people
files: [people.csv]
columns:
  {sex: nominal, age: {kind: integer, bins: {edges: [40], closed: left}}, edu: nominal, income: nominal,
   hired: nominal}
label: {column: hired, favourable: "yes"}
protected: {sex: {deprived: [f]}, age: {deprived: [<40]}}
"""
FRAME = {"encoding": "frame"}
RUNS = {  # what it becomes with a technique that weights rows
    "instance": "ok",
    "names": "ok",
    "selected": "ok",
    "search": "infeasible",
    "calibrated": "ok",
    "vote": "ok",
    "anonymous": "ok",
    "mine": "infeasible",
    "Mine": "infeasible",
    "Floats": "infeasible",
    "Bools": "infeasible",
    "Unweighted": "infeasible",
    "Cutting": "infeasible",
    "Booster": "ok",
    "sampled": "infeasible",
}
REFUSED = {
    "scaler": "is a transformer, not a classifier.*\n  fix: name it under `interventions`",
    "reduction": "takes the groups of the rows, so it is a technique\n  fix: name it under `interventions`",
    "Margins": r"has no predict\(X\)\n  fix: add it: def predict\(self, X\): return \(self.decision_function",
    "Likely": r"has no predict\(X\)\n  fix: add it: .*predict_proba\(X\)\[:, 1\] > 0.5",
    "ridge": "predicts numbers, as a regressor does.*\n  fix: name a classifier",
    "whole_class": r"returned the class BernoulliNB\n  fix: return an object of it: BernoulliNB\(\)",
    "Deep": 'needs the parameter "depth"\n  fix: give',
    "Sampler": r"changes the number of rows.*\n  fix: .* imblearn.pipeline.make_pipeline\(Sampler\(\)",
    "Dataset": "takes and gives a dataset, as AIF360 does.*\n  fix: wrap it in a technique",
    "names": "picks columns by name.*\n  fix: .*encoding",
    "selected": "picks columns by name.*\n  fix: .*encoding",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brought")
    rng = np.random.default_rng(1)
    n = 300
    people = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(20, 60, n),
            "edu": rng.choice(["low", "high"], n),
            "income": rng.choice(["a", "b", "c"], n),
        }
    )
    people["hired"] = np.where((people["edu"] == "high") ^ (rng.random(n) < 0.3), "yes", "no")
    people.to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(CARD)
    (folder / "brought.py").write_text(BROUGHT)
    return folder


@pytest.fixture(scope="module")
def brought(folder):
    spec = importlib.util.spec_from_file_location("brought", folder / "brought.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return SimpleNamespace(people=pd.read_csv(folder / "people.csv"), **vars(module))


def run(folder, classifiers, interventions=("none", "reweighing")):
    return fb.run(
        {
            "name": "brought",
            "repeats": 1,
            "datasets": [{str(folder / "people.yaml"): {"attribute": "sex"}}],
            "sample": {"from": "data", "train_fraction": 0.7},
            "interventions": list(interventions),
            "classifiers": [
                {f"{folder}/brought.py:{name}": options} for name, options in classifiers.items()
            ],
        }
    )


def options_of(name):
    return FRAME if name in ("names", "selected") else {}


@pytest.mark.gate
def test_a_run_takes_them(folder):
    found = run(folder, {name: options_of(name) for name in RUNS})
    status = found.results.groupby(["intervention", "classifier"])["status"].first()
    for name, weighted in RUNS.items():
        assert status["none", f"brought.py:{name}"] == "ok"
        assert status["reweighing", f"brought.py:{name}"] == weighted
    failing = run(folder, {"Texts": {}, "Chances": {}, "cut": FRAME}, ["none"])
    assert sorted(reason[:64].strip() for reason in failing.failures) == [
        "ValueError: could not convert string to float: '<40'; its column",
        "WrongOutput: predict returns other values than 0 and 1, such as",
        "WrongOutput: predict returns text; return 0 or 1, the labels tha",
    ]


@pytest.mark.gate
def test_objects_are_techniques_and_take_parameters(folder, brought):
    found = run(folder, {"instance": {"C": [0.1, 1]}}, [f"{folder}/brought.py:reduction", "none"])
    assert set(found.results["status"]) == {"ok"}
    people = brought.people
    for technique in (brought.reduction, brought.scaler):
        fair = fb.technique(technique, estimator="naive-bayes", deprived="f", favourable="yes")
        X = people[["edu", "income"]].astype("category")
        fair.fit(X, people["hired"], sensitive_features=people["sex"])
        assert len(fair.predict(X, sensitive_features=people["sex"])) == len(X)
    with pytest.raises(fb.UserError, match=r"changes the number of rows"):
        fair.set_params(technique=brought.Sampler()).fit(X, people["hired"], sensitive_features=people["sex"])


def fitted(brought, name, technique):
    X = brought.people[["edu", "income"]].astype("category")
    fair = fb.technique(
        technique, estimator=getattr(brought, name), deprived="f", favourable="yes", **options_of(name)
    )
    return fair.fit(X, brought.people["hired"], sensitive_features=brought.people["sex"]).predict(X)


@pytest.mark.gate
@pytest.mark.parametrize("name", RUNS)
def test_a_technique_in_python_takes_them(brought, name):
    assert set(fitted(brought, name, "none")) <= {"yes", "no"}
    if RUNS[name] == "ok":
        fitted(brought, name, "reweighing")
        return
    with pytest.raises(fb.Infeasible, match=r"takes no sample weights|changes the number of rows"):
        fitted(brought, name, "reweighing")


@pytest.mark.gate
@pytest.mark.parametrize(("name", "said"), REFUSED.items())
def test_what_is_no_classifier_gets_two_lines(folder, brought, name, said, monkeypatch):
    with pytest.raises(fb.UserError, match=said):
        run(folder, {name: {}})
    monkeypatch.setattr(f"{__name__}.options_of", lambda _: {})
    with pytest.raises(fb.UserError, match=said):
        fitted(brought, name, "none")
    with pytest.raises(fb.UserError, match="is no class, function or estimator"):
        run(folder, {"table": {}})


@pytest.mark.gate
def test_a_pre_processor_that_changes_nothing_is_remarked_on(folder):
    remarks = {name: find_components(f"{folder}/brought.py:{name}")[0].remark() for name in ("Same", "Half")}
    assert remarks.pop("Same").startswith("It changes nothing: every row of compas and adult comes out as it")
    assert set(remarks.values()) == {""}


def test_a_line_is_named_of_the_user_s_file_alone(folder):
    mend = find_components(f"{folder}/brought.py:Short")[0].findings()[0].mend
    assert mend.startswith("It raises TypeError: Short.fit() takes 2 positional arguments but 3 were given. ")


def test_a_lambda_of_a_file_can_be_pickled(folder):
    thing = find_code(f"{folder}/brought.py:anonymous", "", Path()).load()
    assert pickle.loads(pickle.dumps(thing)) is thing  # noqa: S301 - made a moment ago


def test_no_message_installs_what_is_not_known():
    package = Path(fb.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"pip install (?:-U )?[\"']?([\w{-]+)", text)}
    assert named == {"fairbench-cli", "{KNOWN_PACKAGES", "imbalanced-learn"}


@pytest.mark.gate
@pytest.mark.parametrize("name", ["Margins", "Likely", "ridge"])
def test_check_says_of_them_what_a_run_does(folder, say, name):
    refused = say("check", f"{folder}/brought.py:{name}")
    assert refused.code == 2
    assert re.search(REFUSED[name], refused.err)


@pytest.mark.gate
def test_columns_by_name_are_tried_on_a_card(folder, say):
    entry = f"{folder}/brought.py:names"
    refused = say("check", entry)
    assert refused.code == 2
    assert f"fix: fairbench check '{entry}: {{encoding: frame}}'" in refused.err
    elsewhere = say("check", f"{entry}: {{encoding: frame}}")
    assert elsewhere.code == 1
    assert "other people's columns: try it with yours, --data CARD" in " ".join(elsewhere.out.split())
    assert say("check", f"{entry}: {{encoding: frame}}", "--data", str(folder / "people.yaml")).code == 0


def test_a_stranger_s_package_is_never_installed(tmp_path):
    (tmp_path / "beside.py").write_text("class Mine: ...\n")
    (tmp_path / "own.py").write_text("import helpers\n")
    for name, said in {
        "beside:Mine": r"the package beside is not installed\n  fix: write ./beside.py:Mine",
        "besides:Mine": r"fix: write ./beside.py:Mine",
        "nowhere:Mine": r"fix: correct the name, or write the path of a file, as in ./nowhere.py:NAME",
        "imblearn.over_sampling:SMOTE": r"fix: pip install imbalanced-learn$",
        "./own.py:Mine": rf"own.py:1: ModuleNotFoundError.*\n  fix: put helpers.py into {tmp_path}, or",
    }.items():
        with pytest.raises(fb.UserError, match=said) as raised:
            find_code(name, "fairbench.classifiers", tmp_path)
        assert ("pip install" in str(raised.value)) == ("imblearn" in name)
    assert how_to_get("xgboost.sklearn") == "pip install xgboost"
