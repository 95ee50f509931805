"""Any scikit-learn estimator as it is: encodings, seeds, weights, scores, and what it may not return."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairbench_cli.classifiers.fit import Classifier, Infeasible
from fairbench_cli.classifiers.foreign import ForeignEstimator, WrappedEstimator, fault, make, weight_name
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions.fitted import Fitted


def sample(n=200, seed=0, weights=None) -> Sample:
    """Sex, a job and a colour with an unseen level; the job nearly decides the outcome."""
    rng = np.random.default_rng(seed)
    codes = np.asfortranarray(rng.integers(0, (3, 2, 3), (n, 3)).astype(np.int16))
    columns = (
        Column("job", ("a", "b", "c")),
        Column("sex", ("f", "m")),
        Column("colour", ("red", "green", "blue", "unseen")),
    )
    y = np.where(rng.random(n) < 0.9, codes[:, 0] > 0, codes[:, 2] > 1).astype(np.int8)
    return Sample(Table(columns, codes), "sex", y, codes[:, 1].astype(np.int8), weights)


WEIGHTS = np.random.default_rng(3).random(200)


def mixed(n=200, seed=0, weights=None) -> Sample:
    """Sex, an age in bins and hours as numbers."""
    rng = np.random.default_rng(seed)
    codes = np.asfortranarray(rng.integers(0, (2, 3, 5), (n, 3)).astype(np.int16))
    columns = (
        Column("sex", ("f", "m")),
        Column("age", ("young", "middle", "old"), "bins", (20.0, 40.0, 60.0)),
        Column("hours", tuple("abcde"), "number", (10.0, 20.0, 25.0, 40.0, 80.0)),
    )
    y = (codes[:, 2] + codes[:, 1] > 3).astype(np.int8)
    return Sample(Table(columns, codes), "sex", y, codes[:, 0].astype(np.int8), weights)


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was fitted with."""

    def __init__(self, random_state=None, n_jobs=None, level=1):
        self.random_state, self.n_jobs, self.level = random_state, n_jobs, level

    def fit(self, X, y, sample_weight=None):
        self.X, self.y, self.weights = X, y, sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(len(X))


def fitted(thing, train=None, seed=7, **parameters):
    train = sample() if train is None else train
    return Classifier(make(thing, parameters), include_protected=False, seed=seed).fit(train)


def inner(model):
    return model.estimator.estimator


def test_what_an_estimator_is_fitted_with():
    recorder = inner(fitted(Recorder, sample(weights=WEIGHTS)))
    assert recorder.X.shape == (200, 7)  # dense, a column for each level, without the protected attribute
    assert isinstance(recorder.X, np.ndarray)
    assert recorder.y.dtype == np.int64
    assert recorder.weights is WEIGHTS
    assert inner(fitted(Recorder, sample())).weights is None
    assert inner(fitted(Recorder, encoding="codes")).X.shape == (200, 2)


def test_a_frame_has_categories_bins_in_order_and_numbers():
    train = mixed()
    spec = make(Recorder, {"encoding": "frame"})
    model = Classifier(spec, include_protected=True, seed=0).fit(train)
    frame = inner(model).X
    assert frame.dtypes.astype(str).tolist() == ["category", "category", "float64"]
    assert [frame[name].cat.ordered for name in ("sex", "age")] == [False, True]
    few = model.encoder.transform(train.take(np.array([0])).features)
    assert (few.dtypes == frame.dtypes).all()
    assert frame["hours"][:2].tolist() == [
        [10.0, 20.0, 25.0, 40.0, 80.0][code] for code in train.features.codes[:2, 2]
    ]


@pytest.mark.parametrize("encoding", ["one-hot", "codes", "frame"])
def test_estimators_of_all_kinds_learn(encoding):
    def pipeline():
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
            remainder=StandardScaler(),
        )
        return make_pipeline(encode, LogisticRegression())

    things = [HistGradientBoostingClassifier, GaussianNB, KNeighborsClassifier, SVC, DecisionTreeClassifier]
    for thing in [HistGradientBoostingClassifier, pipeline] if encoding == "frame" else things:
        model = fitted(thing, mixed(), encoding=encoding)
        test = mixed(seed=1)
        predicted = model.predict(test)
        assert predicted.dtype == np.int8
        assert (predicted == test.y).mean() > 0.8, thing


def test_seeds_and_jobs_are_given_where_the_user_gave_none():
    given = inner(fitted(Recorder, seed=2**32 - 1)).get_params()
    assert (given["random_state"], given["n_jobs"]) == (1, 1)
    given = inner(fitted(Recorder, random_state=3, n_jobs=2)).get_params()
    assert (given["random_state"], given["n_jobs"]) == (3, 2)
    forest = RandomForestClassifier(3)
    steps = inner(fitted(lambda: VotingClassifier([("forest", forest), ("own", Recorder())]))).get_params()
    assert steps["forest__random_state"] == steps["own__random_state"] == 7
    assert steps["forest__n_jobs"] is None  # one job; some of theirs warn of the parameter
    assert steps["own__n_jobs"] == 1
    fixed = inner(fitted(lambda: RandomForestClassifier(3, random_state=5, n_jobs=2))).get_params()
    assert (fixed["random_state"], fixed["n_jobs"]) == (5, 2)
    assert inner(fitted(lambda random_state: Recorder(random_state, level=2))).random_state == 7


def test_the_same_seed_gives_the_same_model():
    def predict(seed):
        return fitted(RandomForestClassifier, seed=seed, n_estimators=3).predict_proba(sample(seed=1))

    assert (predict(1) == predict(1)).all()
    assert (predict(1) != predict(2)).any()


def test_the_users_parameters_are_not_shared_between_fits():
    kept = {"level": [1]}
    spec = make(Recorder, kept)
    spec.build((), 0).estimator.level.append(2)
    assert spec.build((), 0).estimator.level == kept["level"] == [1]


def test_weights_reach_the_last_step_or_it_says_that_it_takes_none():
    twice = sample(weights=np.where(np.arange(200) < 100, 2.0, 0.0))
    rows = sample().take(np.repeat(np.arange(100), 2))

    def scaled(model):
        return lambda: Pipeline([("unit", "passthrough"), ("model", model)])

    for thing in (DecisionTreeClassifier, scaled(scaled(DecisionTreeClassifier())())):
        assert (fitted(thing, twice).predict(sample()) == fitted(thing, rows).predict(sample())).all()
    for thing in (KNeighborsClassifier, scaled(KNeighborsClassifier())):
        with pytest.raises(Infeasible, match=r"^KNeighborsClassifier takes no sample weights$"):
            fitted(thing, twice)
        fitted(thing, rows)
    assert weight_name(LogisticRegression()) == "sample_weight"


def test_weights_reach_the_estimators_within_an_estimator_or_it_says_which_takes_none():
    tree, neighbours = DecisionTreeClassifier(max_depth=2), KNeighborsClassifier()
    rows = sample(weights=WEIGHTS)
    for made in (
        CalibratedClassifierCV(tree),
        VotingClassifier([("tree", tree), ("none", "drop"), ("bayes", GaussianNB())], voting="soft"),
        StackingClassifier([("tree", tree)], cv=2),
        BaggingClassifier(neighbours, 3),  # draws rows by their weights
    ):
        plain, weighted = fitted(lambda made=made: made), fitted(lambda made=made: made, rows)
        assert (plain.predict_proba(sample()) != weighted.predict_proba(sample())).any()
    for made, refusing in (
        (CalibratedClassifierCV(neighbours), "KNeighborsClassifier"),
        (CalibratedClassifierCV(make_pipeline(tree)), "Pipeline"),  # it hands no weights to its step
        (make_pipeline(VotingClassifier([("tree", tree), ("near", neighbours)])), "KNeighborsClassifier"),
        (StackingClassifier([("tree", tree)], neighbours), "KNeighborsClassifier"),
        (BaggingClassifier(neighbours, 3, bootstrap=False), "KNeighborsClassifier"),
    ):
        with pytest.raises(Infeasible, match=rf"^{refusing} takes no sample weights$"):
            fitted(lambda made=made: made, rows)


def test_scores_are_probabilities_or_else_the_decision_function_or_none():
    test = sample(seed=1)
    proba = Fitted(fitted(LogisticRegression))
    assert (proba.scores(test) == proba.model.predict_proba(test)).all()
    assert ((proba.scores(test) > 0.5) == proba.predict(test)).all()
    for thing in (SVC, RidgeClassifier, Perceptron):
        model = fitted(thing)
        assert ((Fitted(model).scores(test) > 0) == model.predict(test)).all()
        with pytest.raises(Infeasible, match=rf"^{thing.__name__} gives no probabilities$"):
            model.predict_proba(test)
    assert Fitted(fitted(Recorder)).scores(test) is None


class OnlyProbabilities:
    """A model of a technique around a classifier's."""

    def __init__(self, model):
        self.model, self.predict_proba = model, model.predict_proba


def test_a_technique_around_a_classifier_without_probabilities_has_no_scores():
    assert Fitted(OnlyProbabilities(fitted(SVC))).scores(sample()) is None


def test_one_outcome_or_no_features_make_a_constant_model():
    train = sample()
    alone = train.take(np.flatnonzero(train.y == 1))
    model = fitted(SVC, alone)
    assert model.predict(train).all()
    assert (model.scores(train) == 1).all()


class Returns:
    """Returns what it is told to."""

    def __init__(self, what, proba=None):
        self.what, self.proba = what, proba

    def fit(self, X, y):
        self.columns, self.classes_ = X.shape[1], np.unique(y)[::-1]

    def predict(self, X):
        return np.resize(self.what, self.what.shape if self.what.ndim > 1 else len(X))

    def predict_proba(self, X):
        return (
            np.resize(self.proba, (len(X), 2)) if self.proba is None or len(self.proba) == 2 else self.proba
        )


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (np.array([0, 2]), r"predict returns other values than 0 and 1, such as 2; 1 is the favourable"),
        (np.array([0.5]), r"other values than 0 and 1, such as 0\.5"),
        (np.array([np.nan]), r"other values than 0 and 1, such as nan"),
        (np.array(["yes"]), r"predict returns text; return 0 or 1"),
        (np.zeros((200, 1)), r"predict returns shape \(200, 1\) for 200 rows; return \(200,\)"),
    ],
)
def test_predictions_are_checked(what, message):
    with pytest.raises(ValueError, match=message):
        fitted(Returns, what=what).predict(sample())


def test_probabilities_are_taken_by_class_and_checked():
    assert (
        fitted(Returns, what=np.array([1]), proba=np.array([0.9, 0.1])).predict_proba(sample()) == 0.9
    ).all()
    with pytest.raises(
        ValueError, match=r"predict_proba returns shape \(3,\) for 200 rows; return \(200, 2\)"
    ):
        fitted(Returns, what=np.array([1]), proba=np.zeros(3)).predict_proba(sample())


def test_what_is_no_estimator():
    assert fault(Recorder) is fault(lambda: None) is None
    assert "is a transformer, not a classifier" in fault(StandardScaler)[0]
    with pytest.raises(TypeError, match="returned dict, which is not a classifier"):
        make(dict, {})
    with pytest.raises(ValueError, match="max_depth"):
        make(DecisionTreeClassifier, {"max_depth": -1})
    assert isinstance(ForeignEstimator(SVC, {}).build((), 0), WrappedEstimator)
