"""Techniques as scikit-learn classifiers: its checks, its tools, and the numbers of a run."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import fairbench_cli as fb
from fairbench_cli.data.table import VALUES, Column, Sample, Table
from fairbench_cli.interventions.cells import divide_rows
from fairbench_cli.interventions.fitted import Fitted
from fairbench_cli.interventions.preprocessing import Massaging
from fairbench_cli.interventions.registry import INTERVENTIONS

CARD = """
name: people
files: [people.csv]
columns:
  age: {kind: integer, bins: {quantiles: 4}}
  hours: integer
label: {column: hired, favourable: "yes"}
protected:
  sex: {deprived: f}
"""


def people(n: int = 240) -> pd.DataFrame:
    """Return rows with levels, bins-to-be and numbers, in which women are hired less often."""
    rng = np.random.default_rng(4)
    sex, job = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n)
    age, hours = rng.integers(18, 66, n), rng.integers(1, 41, n)
    chance = 0.15 + 0.4 * (sex == "m") + 0.3 * (hours > 25) - 0.1 * (job == "c")
    hired = np.where(rng.random(n) < chance, "yes", "no")
    return pd.DataFrame({"sex": sex, "job": job, "age": age, "hours": hours, "hired": hired})


X, y = people().drop(columns="hired"), people()["hired"]


def fair(name="reweighing", **more):
    return fb.technique(name, **({"sensitive_features": "sex", "deprived": "f", "estimator": "tree"} | more))


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people().to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(CARD)
    return folder / "people.yaml"


TECHNIQUES = """
none massaging reweighing uniform-sampling preferential-sampling repair two-naive-bayes leaf-relabelling
reject-option group-thresholds prejudice-remover
"""


@pytest.mark.usefixtures("warm_server")
def test_the_numbers_are_those_of_the_run(card):
    estimators = {
        "tree": "tree",
        "sklearn.linear_model:LogisticRegression": LogisticRegression(C=0.1),
    }
    techniques = TECHNIQUES.split()
    run = fb.run(
        {
            "name": "people",
            "seed": 3,
            "repeats": 2,
            "datasets": [str(card)],
            "sample": {"from": "data", "train_fraction": 0.6},
            "interventions": techniques,
            "classifiers": list(estimators.values()),
        }
    )
    counts = run.groups.set_index(["intervention", "classifier", "repeat", "group"]).sort_index()
    split = fb.load(card).split(repeat=1, seed=3, train_fraction=0.6)
    women, hired = (split.test[name].to_numpy() == value for name, value in (("sex", "f"), ("hired", "yes")))
    compared = 0
    for name in techniques:
        for called, estimator in estimators.items():
            own = fair(name, estimator=estimator, favourable="yes", random_state=split.seed)
            expected = counts.loc[name, called, 1]
            if expected["status"].iloc[0] == "infeasible":
                with pytest.raises(fb.Infeasible, match=expected["reason"].iloc[0]):
                    own.fit(split.X_train, split.y_train)
                continue
            own.fit(split.X_train, split.y_train)
            assert expected["status"].unique().tolist() == [own.status_]
            chance = (own.predict(split.X_test) == "yes").astype(float)
            if hasattr(own, "decision_probability"):
                chance = own.decision_probability(split.X_test)[:, 1]
            for group, rows in (("f", women), ("m", ~women)):
                found = [chance[rows & hired].sum(), chance[rows & ~hired].sum()]
                assert np.allclose(found, expected.loc[group, ["tp", "fp"]].tolist(), rtol=0, atol=1e-9)
                compared += 1
    assert compared == 42  # leaf-relabelling needs one tree


def test_splits_and_raw_columns(card, tmp_path):
    data = fb.load(card)
    train, test = data.split(repeat=0)
    again = data.split(repeat=0, raw=True)
    assert (len(train), len(test)) == (120, 120)
    assert again.train["sex"].tolist() == train["sex"].tolist()
    assert repr(again) == "<Split: 120 rows to train on, 120 to test on; label hired>"
    assert data.raw.equals(people())
    assert train["age"].cat.ordered
    assert (train["hours"].dtype, again.train["age"].dtype) == (float, np.int64)
    assert not data.split(repeat=1).train.equals(train)
    assert data.split(name="other").seed != data.split().seed == again.seed
    assert again.X_test.columns.tolist() == ["sex", "job", "age", "hours"]
    assert again.y_test.equals(again.test["hired"])
    for wrong in ({"repeat": -1}, {"seed": 0.5}, {"train_fraction": 1.0}, {"train_fraction": 0.001}):
        with pytest.raises(fb.UserError):
            data.split(**wrong)
    drawn = fb.load_network("compas").dataset(50)
    assert len(drawn.split(train_fraction=0.2).train) == 10
    with pytest.raises(fb.UserError, match="drawn from a network"):
        _ = drawn.raw
    (tmp_path / "people.yaml").write_text(CARD)
    people().to_csv(tmp_path / "people.csv", index=False)
    moved = fb.load(tmp_path / "people.yaml")
    (tmp_path / "people.csv").write_text("changed")
    with pytest.raises(fb.UserError, match="has changed since it was read"):
        _ = moved.raw


# Which of scikit-learn's own checks a technique fails, and why. Techniques that draw from every cell of group
# and label, or validate on it, are infeasible on most of the checks' few rows, and not among them.
KEYWORDS = {"check_no_attributes_set_in_init": "parameters of a technique are keywords, kept together"}
NO_WEIGHTS = dict.fromkeys(
    [
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_classifiers_one_label_sample_weights",
    ],
    "it moves whole rows, and is infeasible on rows with weights",
)
ONE_GROUP = dict.fromkeys(
    [
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_classifiers_classes",
        "check_fit2d_1sample",
    ],
    "the rows of this check are of one group, and it is infeasible",
)
AS_LEVELS = {
    "check_sample_weight_equivalence_on_dense_data": "it takes numbers as levels, and test rows have others",
    "check_classifiers_one_label_sample_weights": "it is infeasible on rows with one label",
}
OTHERWISE = {"check_classifiers_train": "it decides otherwise than its scores, or trades accuracy away"}


def every_second(values):
    """Return which numbers are of the deprived group: about half of any."""
    return np.sin(37 * np.asarray(values, dtype=float)) < 0


@pytest.mark.gate
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", {}),
        ("reweighing", {}),
        ("massaging", NO_WEIGHTS),
        ("two-naive-bayes", ONE_GROUP | AS_LEVELS),
        ("repair", NO_WEIGHTS | OTHERWISE),
        ("prejudice-remover", ONE_GROUP),
        ("leaf-relabelling", ONE_GROUP | OTHERWISE),
        ("zafar-di", OTHERWISE),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(name, expected):
    groups = {} if name == "none" else {"sensitive_features": 0, "deprived": every_second}
    own = fb.technique(name, estimator="tree", **groups)
    done = check_estimator(own, expected_failed_checks=expected | KEYWORDS, on_skip=None)
    passed = {one["check_name"] for one in done if one["status"] == "passed"}
    failed = {one["check_name"] for one in done if one["status"] == "xfail"}
    assert len(passed) >= 40
    assert failed == {*expected, *KEYWORDS}  # none is excused that passes


def test_validation_search_and_pipelines():
    assert cross_val_score(fair(), X, y, cv=3).mean() > 0.6
    search = GridSearchCV(
        fair("prejudice-remover"), {"eta": [0.0, 5.0], "include_protected": [False]}, cv=2
    ).fit(X, y)
    assert search.best_estimator_.get_params()["eta"] in (0.0, 5.0)
    nested = GridSearchCV(fair(estimator=LogisticRegression()), {"estimator__C": [0.01, 1.0]}, cv=2).fit(X, y)
    assert nested.best_estimator_.fitted_.model.estimator.estimator.C in (0.01, 1.0)
    one_hot = make_column_transformer(
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    piped = make_pipeline(one_hot, fair(sensitive_features="sex_f", deprived=1.0, estimator=GaussianNB()))
    assert (cross_val_score(piped, X, y, cv=2) > 0.5).all()
    # The pipeline within the technique, which hides the protected column from it.
    inner = make_pipeline(clone(one_hot), DecisionTreeClassifier(max_depth=3))
    seen = fair(estimator=inner, encoding="frame").fit(X, y).fitted_.model.estimator.estimator
    assert seen.feature_names_in_.tolist() == ["job", "age", "hours"]


def test_groups_by_metadata_routing():
    s = X["sex"].rename("who")
    routed = fb.technique("group-thresholds", deprived="f", estimator=GaussianNB())
    bare = X.drop(columns="sex")
    with sklearn.config_context(enable_metadata_routing=True):
        for method in ("fit", "predict", "score"):
            getattr(routed, f"set_{method}_request")(sensitive_features=True)
        found = cross_val_score(routed, bare, y, cv=2, params={"sensitive_features": s})
        piped = make_pipeline(
            make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), routed
        )
        again = cross_val_score(piped, bare, y, cv=2, params={"sensitive_features": s})
    assert found.shape == again.shape == (2,)
    by_column = fair("group-thresholds", estimator=GaussianNB())
    assert np.array_equal(found, cross_val_score(by_column, X, y, cv=2))


def test_a_column_of_x_or_groups_next_to_it_are_the_same():
    bare, s = X.drop(columns="sex"), X["sex"]
    by_column = fair().fit(X, y)
    for own, given in (
        (fb.technique("reweighing", estimator="tree", deprived="f").fit(bare, y, sensitive_features=s), bare),
        (fb.technique("reweighing", estimator="tree", deprived=["f"]).fit(X, y, sensitive_features=s), X),
        (fb.technique("reweighing", estimator="tree").fit(bare, y, sensitive_features=(s == "m")), bare),
        (fair(deprived=lambda groups: groups == "f").fit(X, y), X),
        (clone(by_column).fit(X, y), X),
        (pickle.loads(pickle.dumps(by_column)), X),  # noqa: S301
    ):
        assert np.array_equal(own.predict_proba(given), by_column.predict_proba(X))
    numbers = np.column_stack([X["sex"] == "m", X["hours"]]).astype(float)
    array = fb.technique("two-naive-bayes", sensitive_features=0).fit(numbers, y == "yes")
    assert array.predict(numbers[:5]).dtype == bool
    hours = pd.DataFrame({"hours": pd.cut(X["hours"], 2, labels=["few", "many"]), "job": X["sex"]})
    hours.attrs[VALUES] = {"hours": (20.0, 50.0)}  # as frames of a split say what bins stand for
    few = fb.technique("reweighing", estimator="tree", deprived="few")
    beside = clone(few).fit(hours[["job"]], y, sensitive_features=hours["hours"])
    inside = few.set_params(sensitive_features="hours").fit(hours, y)
    assert beside.columns_[-1] == inside.columns_[0]
    assert inside.columns_[0].values == (20.0, 50.0)
    turned = fair(favourable="no").fit(X, y)
    assert turned.classes_.tolist() == ["no", "yes"]
    assert turned.facts_ != by_column.facts_


def test_other_rows_may_have_other_numbers():
    few = X.iloc[:100][["sex", "hours"]].assign(hours=lambda rows: rows["hours"] + 0.5)
    for estimator in ("tree", "logistic-regression", "naive-bayes", "hist-gradient-boosting", "c45", "svm"):
        own = fair(estimator=estimator).fit(few, y[:100])
        later = pd.DataFrame({"sex": ["f", "m", "m"], "hours": [2.0, 30.25, 99.0]})
        together = pd.concat([later, few.iloc[:5]])  # what is known and what is new are one column
        assert np.allclose(own.predict_proba(together)[:3], own.predict_proba(later), rtol=1e-9), estimator
    # On a line: a logistic regression that was fitted to standardised numbers agrees with its own formula.
    own = fair("none", estimator="logistic-regression").fit(few, y[:100])
    log_odds = [np.log(p / (1 - p)) for _, p in own.predict_proba(later)]
    slopes = np.diff(log_odds) / np.diff(later["hours"])
    assert slopes[0] == pytest.approx(slopes[1])
    for name in ("two-naive-bayes", "repair"):
        with pytest.raises(fb.UserError, match=r"takes numbers as levels.*\n  fix: cut it into bins"):
            fair(name).fit(few, y[:100]).predict(later)


def test_objects_as_techniques():
    def own(technique, **more):
        return fair(technique, **more).fit(X, y).predict_proba(X)

    assert np.array_equal(own(Massaging), own("massaging"))
    assert np.array_equal(own(Massaging("logistic")), own("massaging", ranker="logistic"))
    plain = own("none")
    assert not np.array_equal(own("massaging"), plain)
    assert np.array_equal(
        fair("none", estimator={"tree": {"min_leaf": 5}}).fit(X, y).predict_proba(X).shape, (240, 2)
    )


class Returning:
    """A technique whose model returns what it is told to."""

    def __init__(self, **methods):
        self.methods = methods

    def fit(self, train, classifier, rng):  # noqa: ARG002
        model = type("Model", (), {name: staticmethod(method) for name, method in self.methods.items()})
        return Fitted(model())


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"predict_proba": lambda rows: np.full((len(rows), 2), 0.5)},
            r"predict_proba returns shape \(2, 2\)",
        ),
        ({"predict_proba": lambda rows: np.full(len(rows), -3.0)}, r"predict_proba leaves \[0, 1\]"),
        ({"predict": lambda rows: np.full(len(rows), 0.5)}, "other values than 0 and 1"),
        ({"decision_probability": lambda rows: ["0.5"] * len(rows)}, "decision_probability returns text"),
    ],
)
def test_what_a_technique_returns_is_checked_as_in_a_run(methods, message):
    methods = {"predict": lambda rows: np.zeros(len(rows))} | methods
    with pytest.raises(ValueError, match=message):
        fair(Returning(**methods)).fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fair().fit(X[:0], y[:0]), r"Found array with 0 sample\(s\) \(shape=\(0, 4\)\)"),
        (lambda: fair().fit(X, y).predict(X[:0]), r"Found array with 0 sample\(s\) \(shape=\(0, 4\)\)"),
        (
            lambda: fair("none", sensitive_features=None, deprived=None).fit(X[[]], y),
            r"Found array with 0 feature\(s\) \(shape=\(240, 0\)\) while a minimum of 1 is required by Tech",
        ),
    ],
)
def test_frames_without_rows_or_columns_are_refused_as_arrays_are(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fair("reweighin").fit(X, y), 'did you mean "reweighing"'),
        (lambda: fair(level=1).fit(X, y), 'has no parameter "level"'),
        (lambda: fair("massaging", ranker="none").fit(X, y), "ranker has the unknown value"),
        (lambda: fair(estimator="tre").fit(X, y), 'did you mean "tree"'),
        (lambda: fair(estimator="tree", encoding="codes").fit(X, y), "encoding is 'codes'"),
        (lambda: fair(deprived=None).fit(X, y), "deprived='f'"),
        (lambda: fair(deprived="w").fit(X, y), 'has no group "w"'),
        (lambda: fair(deprived=[]).fit(X, y), "deprived names no group"),
        (lambda: fair().fit(X.assign(sex=X["sex"].mask(X.index < 3)), y), '"sex" is missing in some rows'),
        (lambda: fair(sensitive_features="sx").fit(X, y), 'did you mean "sex"'),
        (lambda: fair(sensitive_features=9).fit(X, y), "X has 4"),
        (lambda: fair(sensitive_features=None).fit(X, y), "reweighing needs the group of each row"),
        (lambda: fair().fit(X, y, sensitive_features=X["sex"]), "leave one of the two out"),
        (lambda: fair(sensitive_features=None).fit(X, y, X["job"].rename("sex")), "given as other values"),
        (lambda: fair(sensitive_features=None).fit(X, y, X["sex"][:9].tolist()), "are 9, and X has 240 rows"),
        (lambda: fair(sensitive_features=None).fit(X, y, X[["sex", "job"]]), "has 2 columns"),
        (lambda: fair().fit(X, y).predict(X, sensitive_features=X["job"]), "given as other values"),
        (lambda: fair(favourable="maybe").fit(X, y), "use one of: no, yes"),
        (lambda: fair("oracle").fit(X, y), "looks at the labels"),
        (
            lambda: fair().fit(X, y).predict(X.replace({"job": {"a": "d"}})),
            r'"d", which no.*\n  fix: let it be',
        ),
        (lambda: fair().fit(X, y).predict(X.astype({"hours": str})), "holds numbers in training"),
    ],
)
def test_mistakes_are_two_lines(call, said):
    with pytest.raises(fb.UserError, match=said) as raised:
        call()
    assert len(str(raised.value).splitlines()) == 2


def test_a_missing_label_is_named():
    with pytest.raises(ValueError, match="contains NaN"):
        fair().fit(X, pd.Series(y).mask(X.index < 3))


def test_groups_that_are_needed_and_missing():
    own = fb.technique("reject-option", estimator="naive-bayes", deprived="f")
    own.fit(X.drop(columns="sex"), y, sensitive_features=X["sex"].tolist())
    with pytest.raises(fb.UserError, match=r"and no groups are given\n  fix: call predict\(X, sensitive_fea"):
        own.predict(X.drop(columns="sex"))
    assert len(own.predict(X.drop(columns="sex"), sensitive_features=X["sex"].tolist())) == 240
    seen = fb.technique("none", estimator="tree", deprived="f", include_protected=True)
    seen.fit(X.drop(columns="sex"), y, X["sex"])
    with pytest.raises(fb.UserError, match="no groups are given"):
        seen.predict(X.drop(columns="sex"))
    column = fb.technique("reweighing", estimator="tree", deprived="f").fit(X, y, X["sex"])
    assert np.array_equal(column.predict(X, X["sex"]), column.predict(X))
    with pytest.raises(ValueError, match="Invalid parameter 'ranke'"):
        fair("massaging").set_params(ranke="logistic")
    with pytest.raises(ValueError, match="multiclass"):
        fair().fit(X, X["job"])
    assert "uses_groups" not in vars(INTERVENTIONS["reweighing"].load())
    scorer = make_scorer(lambda y, predicted: float((y == predicted).mean()))
    assert scorer(fair().fit(X, y), X, y) == fair().fit(X, y).score(X, y)


# -- a model that is fitted already

FEATURES = ["hours", "job", "age"]
HIRED = (y == "yes").astype(int)


def hiring_model():
    levels = (OneHotEncoder(handle_unknown="ignore"), ["job"])
    return make_pipeline(
        make_column_transformer(levels, (StandardScaler(), ["age", "hours"])), LogisticRegression()
    )


def rows_of_validation() -> np.ndarray:
    """Return which rows a technique holds back to choose its thresholds by."""
    row = Table((Column("row", tuple(map(str, range(len(X))))),), np.arange(len(X), dtype=np.int16)[:, None])
    deprived = (X["sex"] == "m").to_numpy(np.int8)
    return divide_rows(Sample(row, "row", HIRED.to_numpy(np.int8), deprived), 0.3)[1].features.codes[:, 0]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("group-thresholds", {}),
        ("group-thresholds", {"constraint": "equalised-odds", "tolerance": 0.05}),
        ("equalised-odds", {}),
        ("equalised-odds", {"based_on": "labels"}),
        ("reject-option", {}),
        ("reject-option", {"theta": 0.7}),
    ],
)
def test_a_fitted_model_decides_as_the_same_model_that_the_technique_trains(name, parameters):
    trained = fair(name, estimator=hiring_model(), encoding="frame", **parameters).fit(X, HIRED)
    held_out = rows_of_validation()
    rest = np.setdiff1d(np.arange(len(X)), held_out)
    if "theta" in parameters:  # nothing is held back
        rest = np.arange(len(X))
    model = hiring_model().fit(X[FEATURES].iloc[rest], HIRED.iloc[rest])
    model.fit = None  # nobody is to call it
    fitted = fair(name, estimator=model, prefit=True, **parameters)
    fitted.fit(X.iloc[held_out], HIRED.iloc[held_out])
    assert fitted.facts_ == trained.facts_
    assert fitted.status_ == trained.status_
    assert np.array_equal(fitted.predict(X), trained.predict(X))
    if "theta" not in fitted.facts_:
        assert np.array_equal(fitted.decision_probability(X), trained.decision_probability(X))


def test_thresholds_of_a_fitted_model_draw_no_lots_where_that_is_asked_for():
    model = hiring_model().fit(X[FEATURES], HIRED)
    keywords = {"estimator": model, "prefit": True, "tolerance": 0.02}
    fixed = fair("group-thresholds", randomised=False, **keywords).fit(X, HIRED)
    assert set(np.unique(fixed.decision_probability(X))) <= {0.0, 1.0}
    assert fixed.facts_["gap_validation"] <= 0.02
    assert (
        fixed.facts_["cost_validation"]
        >= fair("group-thresholds", **keywords).fit(X, HIRED).facts_["cost_validation"]
    )
    for wrong, words in (
        ({"tolerance": 0.0}, "give a tolerance, such as 0.01"),
        ({"constraint": "equalised-odds"}, "equalised odds need draws"),
    ):
        with pytest.raises(fb.UserError, match=words):
            fair("group-thresholds", randomised=False, **{**keywords, **wrong}).fit(X, HIRED)


def test_a_frozen_model_needs_no_word_and_stays_fitted_in_copies():
    model = hiring_model().fit(X[FEATURES], HIRED)
    said = fair("group-thresholds", estimator=model, prefit=True).fit(X, HIRED)
    frozen = fair("group-thresholds", estimator=FrozenEstimator(model))
    assert np.array_equal(clone(frozen).fit(X, HIRED).predict(X), said.predict(X))
    assert len(cross_val_score(frozen, X, HIRED, cv=3)) == 3
    with pytest.raises(fb.UserError, match=r"not fitted, and prefit says .*\n  fix: .*FrozenEstimator"):
        clone(said).fit(X, HIRED)


def test_a_fitted_model_is_given_the_columns_that_it_was_fitted_to_as_they_are():
    model = hiring_model().fit(X[FEATURES], HIRED)
    of_columns = fair("group-thresholds", estimator=model, prefit=True).fit(X, HIRED)
    shuffled = X[["age", "sex", "job", "hours"]].assign(note="free text")
    assert np.array_equal(
        fair("group-thresholds", estimator=model, prefit=True).fit(shuffled, HIRED).predict(shuffled),
        of_columns.predict(X),
    )
    new_levels = X.assign(job="z", hours=X["hours"] + 0.5)  # the model knows what to do
    assert len(of_columns.predict(new_levels)) == len(X)
    beside = fair("group-thresholds", estimator=model, prefit=True, sensitive_features=None)
    beside.fit(X[FEATURES], HIRED, sensitive_features=X["sex"])
    assert np.array_equal(beside.predict(X[FEATURES], sensitive_features=X["sex"]), of_columns.predict(X))
    with pytest.raises(fb.UserError, match="no groups are given"):
        beside.predict(X[FEATURES])


def test_an_array_is_given_without_its_column_of_groups():
    array = np.column_stack([X["hours"], X["sex"] == "m", X["age"]]).astype(float)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    without = tree.fit(array[:, [0, 2]], HIRED)
    model = fb.technique("group-thresholds", estimator=without, prefit=True, sensitive_features=1)
    model.fit(array, HIRED)
    scores = model.fitted_.model.model.scores(model._rows(array, None))
    assert np.array_equal(scores, without.predict_proba(array[:, [0, 2]])[:, 1])
    seeing = clone(tree).fit(array, HIRED)
    model = fb.technique(
        "group-thresholds", estimator=seeing, prefit=True, sensitive_features=1, include_protected=True
    )
    assert len(model.fit(array, HIRED).predict(array)) == len(X)


def test_scores_are_those_of_the_favourable_label_also_of_a_decision_function():
    numbers = X[["hours", "age"]]
    margin = LinearSVC().fit(numbers, y)
    for favourable, sign in (("yes", 1), ("no", -1)):
        model = fair("group-thresholds", estimator=margin, prefit=True, favourable=favourable).fit(X, y)
        scores = model.fitted_.model.model.scores(model._rows(X, None))
        assert np.array_equal(scores, sign * margin.decision_function(numbers))
    with pytest.raises(fb.Infeasible, match="not probabilities"):
        fair("reject-option", estimator=margin, prefit=True).fit(X, y)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: fair(estimator=model, prefit=True), "reweighing trains the model"),
        (lambda model: fair("threshold-optimizer", estimator=model, prefit=True), "trains the model"),
        (lambda _: fair("group-thresholds", prefit=True), "estimator is 'tree'"),
        (lambda _: fair("group-thresholds", estimator=LogisticRegression(), prefit=True), "is not fitted"),
        (
            lambda model: fair("group-thresholds", estimator=model, prefit=True, validation=0.2),
            "validation has no effect",
        ),
        (lambda model: fair("group-thresholds", estimator=model, prefit=True), "fitted to the labels 0, 1"),
    ],
)
def test_mistakes_with_a_fitted_model(call, said):
    with pytest.raises(fb.UserError, match=said) as raised:
        call(hiring_model().fit(X[FEATURES], HIRED)).fit(X, y)
    assert len(str(raised.value).splitlines()) == 2


def test_a_column_that_a_fitted_model_misses_is_named():
    model = fair("group-thresholds", estimator=hiring_model().fit(X[FEATURES], HIRED), prefit=True)
    with pytest.raises(fb.UserError, match='X has no column "job", to which the model was fitted'):
        model.fit(X.drop(columns="job"), HIRED)
