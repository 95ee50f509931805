import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.special import expit
from scipy.stats import norm
from sklearn import linear_model
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairbench_cli.classifiers import c45 as estimator
from fairbench_cli.classifiers.builders import (
    HistGradientBoosting,
    LogisticRegression,
    NaiveBayes,
    RandomForest,
    Svm,
    Tree,
)
from fairbench_cli.classifiers.encode import one_hot
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.registry import CLASSIFIERS
from fairbench_cli.data.table import Column, Sample, Table

QUICK = {
    "tree": Tree(min_leaf=2),
    "random-forest": RandomForest(trees=5),
    "hist-gradient-boosting": HistGradientBoosting(iterations=5, min_leaf=5),
    "logistic-regression-liblinear": LogisticRegression(solver="liblinear", scale=False),
    "svm-auto": Svm(gamma="auto", scale=False),
}
SPECS = {name: entry.load()() for name, entry in CLASSIFIERS.items()} | QUICK
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def sample(n=200, seed=0, weights=None):
    """Sex, which nearly decides the outcome; a job related to it; a random colour with an unseen level."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    job = np.where(rng.random(n) < 0.6, s, 2)
    y = np.where(rng.random(n) < 0.9, s, 1 - s)
    columns = (
        Column("job", ("a", "b", "c")),
        Column("sex", ("f", "m")),
        Column("colour", ("red", "green", "blue", "unseen")),
    )
    codes = np.asfortranarray(np.stack([job, s, rng.integers(0, 3, n)], axis=1).astype(np.int16))
    return Sample(Table(columns, codes), "sex", y.astype(np.int8), s.astype(np.int8), weights)


def test_every_classifier_says_what_it_is():
    assert all(entry.summary.endswith(".") for entry in CLASSIFIERS.values())


def test_one_hot_has_every_declared_level():
    features = sample().features
    dense = one_hot(features.codes, features.level_counts).toarray()
    assert dense.shape == (200, 9)
    assert (dense.sum(1) == 3).all()
    assert (dense[:, -1] == 0).all()
    assert (dense[:, :3].argmax(1) == features["job"]).all()


@every_spec
def test_predicts_better_with_the_protected_attribute(spec):
    train, test = sample(seed=1), sample(seed=2)
    with_s = Classifier(spec, include_protected=True, seed=0).fit(train)
    without = Classifier(spec, include_protected=False, seed=0).fit(train)
    assert [column.name for column in with_s.encoder.columns] == ["job", "sex", "colour"]
    assert [column.name for column in without.encoder.columns] == ["job", "colour"]
    right_with, right_without = ((model.predict(test) == test.y).mean() for model in (with_s, without))
    assert right_with > 0.85 > right_without > 0.6


@every_spec
def test_without_the_protected_attribute_it_changes_nothing(spec):
    train = sample()
    other = replace(train, features=Table(train.features.columns, train.features.codes * [1, 0, 1]))
    classifier = Classifier(spec, include_protected=False, seed=0)
    model = classifier.fit(train)
    assert (model.predict_proba(train) == classifier.fit(other).predict_proba(train)).all()
    assert (model.predict_proba(train) == model.predict_proba(other)).all()


@every_spec
def test_output(spec):
    train = sample()
    model = Classifier(spec, include_protected=True, seed=0).fit(train)
    labels, scores = model.predict(train), model.predict_proba(train)
    assert labels.dtype == np.int8
    assert labels.shape == scores.shape == (200,)
    assert set(labels) == {0, 1}
    assert scores.dtype == np.float64
    clear = np.abs(scores - 0.5) > 1e-9
    assert (labels[clear] == (scores > 0.5)[clear]).all()


@every_spec
def test_the_seed_decides(spec):
    train = sample()
    models = [Classifier(spec, include_protected=True, seed=3).fit(train) for _ in range(2)]
    assert (models[0].predict_proba(train) == models[1].predict_proba(train)).all()


@every_spec
def test_columns_are_found_by_name(spec):
    train = sample()
    table = train.features
    order = [2, 0, 1]
    moved = replace(
        train,
        features=Table(tuple(table.columns[j] for j in order), np.asfortranarray(table.codes[:, order])),
    )
    model = Classifier(spec, include_protected=True, seed=0).fit(train)
    assert (model.predict(train) == model.predict(moved)).all()


@every_spec
def test_other_columns_at_prediction_are_an_error(spec):
    train = sample()
    model = Classifier(spec, include_protected=False, seed=0).fit(train)
    with pytest.raises(KeyError, match="job"):
        model.predict(replace(train, features=train.features.without("job")))
    job, *others = train.features.columns
    relevelled = Table((replace(job, levels=("a", "c", "b")), *others), train.features.codes)
    with pytest.raises(ValueError, match="other levels"):
        model.predict_proba(replace(train, features=relevelled))


# Leaves of a tree count rows, so a limit on them would make the two differ; so would a gamma taken from rows.
WEIGHED = {
    "tree": Tree(min_leaf=1),
    "logistic-regression": LogisticRegression(),
    "naive-bayes": NaiveBayes(),
    "hist-gradient-boosting": HistGradientBoosting(iterations=5, min_leaf=1),
    "svm": Svm(gamma=0.5),
}


@pytest.mark.parametrize("spec", WEIGHED.values(), ids=WEIGHED)
def test_weight_is_repetition(spec):
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 4, 200)
    weighted = sample(weights=weights.astype(np.float64))
    repeated = sample().take(np.repeat(np.arange(200), weights))
    classifier = Classifier(spec, include_protected=True, seed=0)
    ours, theirs = classifier.fit(weighted), classifier.fit(repeated)
    close = 2e-3 if isinstance(spec, Svm) else 1e-6  # libsvm stops at 1e-3
    np.testing.assert_allclose(ours.predict_proba(repeated), theirs.predict_proba(repeated), atol=close)


def test_levels_are_categories_to_gradient_boosting_and_too_many_are_a_number():
    rng = np.random.default_rng(0)
    few, many, s = rng.integers(0, 40, 3000), rng.integers(0, 300, 3000), rng.integers(0, 2, 3000)
    y = (few % 2).astype(np.int8)  # no order of the levels tells
    columns = (Column("few", tuple(map(str, range(40)))), Column("many", tuple(map(str, range(300)))))
    table = Table((*columns, Column("s", ("a", "b"))), np.stack([few, many, s], axis=1).astype(np.int16))
    train = Sample(table, "s", y, s.astype(np.int8))
    model = Classifier(HistGradientBoosting(iterations=3), include_protected=False, seed=0).fit(train)
    assert model.estimator.is_categorical_.tolist() == [True, False]
    assert (model.predict(train) == y).all()


def test_the_score_of_the_svm_ranks_as_its_decision_function():
    train = sample()
    model = Classifier(Svm(), include_protected=True, seed=0).fit(train)
    machine = model.estimator.machine
    distance = machine.decision_function(model.encoder.transform(train.features))
    np.testing.assert_allclose(model.predict_proba(train), expit(distance))
    assert (model.predict(train) == machine.predict(model.encoder.transform(train.features))).all()


@every_spec
@pytest.mark.parametrize("outcome", [0, 1])
def test_one_outcome_is_predicted_always(spec, outcome):
    train = sample()
    train = replace(train, y=np.full(200, outcome, dtype=np.int8))
    model = Classifier(spec, include_protected=False, seed=0).fit(train)
    assert (model.predict(train) == outcome).all()
    assert (model.predict_proba(train) == outcome).all()


@every_spec
def test_one_outcome_by_weight_is_predicted_always(spec):
    train = sample()
    train = replace(train, weights=train.y.astype(np.float64))
    model = Classifier(spec, include_protected=False, seed=0).fit(train)
    assert (model.predict(train) == 1).all()


@every_spec
def test_no_features_give_the_majority(spec):
    train = sample()
    alone = replace(train, features=train.features.without("job", "colour"))
    model = Classifier(spec, include_protected=False, seed=0).fit(alone)
    assert (model.predict(alone) == (train.y.mean() > 0.5)).all()
    assert (model.predict_proba(alone) == train.y.mean()).all()


@every_spec
def test_nothing_to_train_on(spec):
    classifier = Classifier(spec, include_protected=False, seed=0)
    with pytest.raises(ValueError, match="nothing to train on"):
        classifier.fit(sample().take(np.arange(0)))
    with pytest.raises(ValueError, match="nothing to train on"):
        classifier.fit(sample(weights=np.zeros(200)))


@every_spec
@law(15)
@given(n=st.integers(1, 40), seed=st.integers(0, 10_000), protected=st.booleans())
def test_small_samples_neither_fail_nor_warn(spec, n, seed, protected):
    train = sample(n, seed)
    scores = Classifier(spec, protected, seed=0).fit(train).predict_proba(sample(50))
    assert ((scores >= 0) & (scores <= 1)).all()


def test_naive_bayes_is_laplace_by_hand():
    train = sample()
    model = Classifier(NaiveBayes(), include_protected=False, seed=0).fit(train)
    odds = np.full(200, train.y.sum() / (1 - train.y).sum())
    for name in ("job", "colour"):
        codes, levels = train.features[name], len(train.features.columns[train.features.index(name)].levels)
        seen = np.array([np.bincount(codes[train.y == outcome], minlength=levels) + 1 for outcome in (0, 1)])
        share = seen / seen.sum(1, keepdims=True)
        odds *= share[1, codes] / share[0, codes]
    np.testing.assert_allclose(model.predict_proba(train), odds / (1 + odds))


def test_logistic_regression_is_at_its_optimum():
    train = sample(weights=np.random.default_rng(0).random(200))
    model = Classifier(LogisticRegression(C=2.0), include_protected=True, seed=0).fit(train)
    x = one_hot(train.features.codes, train.features.level_counts)
    w, b = model.estimator.coef_[0], model.estimator.intercept_[0]
    wrong = train.weights * (expit(x @ w + b) - train.y)
    np.testing.assert_allclose(2.0 * (x.T @ wrong) + w, 0, atol=1e-4)
    assert wrong.sum() == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("tree", {"min_leaf": 0}),
        ("tree", {"max_depth": 0}),
        ("tree", {"pruning": -1}),
        ("random-forest", {"trees": 0}),
        ("random-forest", {"min_leaf": 1.5}),
        ("logistic-regression", {"C": 0}),
        ("naive-bayes", {"laplace": 0}),
        ("hist-gradient-boosting", {"max_leaves": 1}),
        ("hist-gradient-boosting", {"learning_rate": 0}),
        ("svm", {"C": 0}),
        ("svm", {"gamma": "automatic"}),
        ("logistic-regression", {"solver": "lbfgs"}),
        ("tree", {"criterion": "gain"}),
    ],
)
def test_bad_parameters_are_refused(name, bad):
    adapter = TypeAdapter(CLASSIFIERS[name].load())
    assert adapter.validate_python({}) == CLASSIFIERS[name].load()()
    with pytest.raises(ValidationError):
        adapter.validate_python(bad)


def test_tree_parameters_are_used():
    train = sample()
    for spec in (Tree(min_leaf=100), Tree(max_depth=1), Tree(pruning=0.01)):
        small = Classifier(spec, include_protected=True, seed=0).fit(train).estimator
        full = Classifier(Tree(min_leaf=1), include_protected=True, seed=0).fit(train).estimator
        assert small.get_n_leaves() < full.get_n_leaves()


def test_listing_loads_no_learner():
    code = (
        "import sys\n"
        "from fairbench_cli.classifiers.registry import CLASSIFIERS\n"
        "from fairbench_cli.interventions.registry import INTERVENTIONS\n"
        "from fairbench_cli.measures.registry import COUNT_METRICS, measure\n"
        "[entry.summary for entry in (*CLASSIFIERS.values(), *INTERVENTIONS.values())]\n"
        "print([name for name in ('sklearn', 'torch', 'pomegranate') if name in sys.modules])\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("first", [False, True])
def test_ties_of_c45_go_to_the_class_that_the_label_declares_first(first):
    """As in Weka, whose class order is the data's: COMPAS declares its favourable 0 before 1."""
    features = Table((Column("a", ("x",)), Column("sex", ("f", "m"))), np.zeros((2, 2), dtype=np.int16))
    marks = np.array([0, 1], dtype=np.int8)
    tied = Sample(features, "sex", marks, marks, favourable_first=first)
    model = Classifier(CLASSIFIERS["c45"].load()(), False, 0).fit(tied)
    assert model.predict(tied).tolist() == [int(first)] * 2
    assert model.predict_proba(tied).tolist() == [0.5, 0.5]


@pytest.fixture(scope="module")
def numbered():
    """Three hundred rows with two numbers, a level and the group; the outcome hangs on all but the group."""
    rng = np.random.default_rng(3)
    hours, age = rng.integers(0, 60, 300), rng.integers(18, 80, 300)
    job, s = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    y = (hours / 30 + (job == 1) + rng.normal(0, 0.5, 300) > 1.4).astype(np.int8)
    columns, codes = [], []
    for name, numbers in (("hours", hours), ("age", age)):
        values, code = np.unique(numbers.astype(float), return_inverse=True)
        columns.append(Column(name, tuple(map(str, values)), "number", tuple(values.tolist())))
        codes.append(code)
    columns += [Column("job", ("a", "b", "c")), Column("sex", ("f", "m"))]
    table = Table(tuple(columns), np.column_stack([*codes, job, s]).astype(np.int16))
    return Sample(table, "sex", y, s.astype(np.int8)), np.column_stack([hours, age, job]).astype(float)


def test_numbers_reach_c45_as_numbers(numbered):
    sample, rows = numbered
    frame = pd.DataFrame({"hours": rows[:, 0], "age": rows[:, 1]})
    frame["job"] = pd.Categorical.from_codes(rows[:, 2].astype(int), ["a", "b", "c"])
    tree = estimator.C45().fit(frame, sample.y)
    model = Classifier(CLASSIFIERS["c45"].load()(), include_protected=False, seed=0).fit(sample)
    assert (model.predict(sample) == tree.predict(frame)).all()
    assert " <= " in str(tree.export_text())


def test_numbers_reach_cart_as_numbers(numbered):
    sample, rows = numbered
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=20, random_state=0)
    model = Classifier(CLASSIFIERS["tree"].load()(), include_protected=False, seed=0).fit(sample)
    assert (model.predict_proba(sample) == tree.fit(rows, sample.y).predict_proba(rows)[:, 1]).all()


def test_logistic_regression_standardises_numbers(numbered):
    sample, rows = numbered
    scaled = np.column_stack([StandardScaler().fit_transform(rows[:, :2]), np.eye(3)[rows[:, 2].astype(int)]])
    spec = CLASSIFIERS["logistic-regression"].load()()
    model = Classifier(spec, include_protected=False, seed=0).fit(sample)
    alone = spec.build((0, 0, 3), 0).fit(scaled, sample.y)
    assert np.allclose(model.predict_proba(sample), alone.predict_proba(scaled)[:, 1], atol=1e-9)


def test_naive_bayes_is_normal_on_numbers(numbered):
    sample, rows = numbered
    model = Classifier(CLASSIFIERS["naive-bayes"].load()(), include_protected=False, seed=0).fit(sample)
    joint = []
    for label in (0, 1):
        own = rows[sample.y == label]
        smooth = 1e-9 * rows[:, :2].var(axis=0).max()
        normal = norm.logpdf(rows[:, :2], own[:, :2].mean(axis=0), np.sqrt(own[:, :2].var(axis=0) + smooth))
        shares = (np.bincount(own[:, 2].astype(int), minlength=3) + 1) / (len(own) + 3)
        joint.append(np.log(len(own)) + normal.sum(axis=1) + np.log(shares)[rows[:, 2].astype(int)])
    expected = 1 / (1 + np.exp(joint[0] - joint[1]))
    assert np.allclose(model.predict_proba(sample), expected, atol=1e-9)
    assert (model.predict(sample) == (expected > 0.5)).all()


RAW = {
    "tree": (Tree("gini", min_leaf=1), DecisionTreeClassifier(random_state=0)),
    "naive-bayes": (NaiveBayes(), GaussianNB(var_smoothing=1e-9)),
    "logistic-regression": (
        LogisticRegression(solver="liblinear", scale=False),
        linear_model.LogisticRegression(solver="liblinear", C=1.0, max_iter=100),
    ),
    "svm": (Svm(gamma="auto", scale=False), SVC(C=1.0, gamma=1 / 4)),
}


@pytest.mark.parametrize(("spec", "theirs"), RAW.values(), ids=RAW)
def test_raw_numbers_reach_the_estimators_of_friedler2019(numbered, spec, theirs):
    sample, rows = numbered
    job = rows[:, 2].astype(int)
    raw = np.column_stack([rows[:, :2], job == 1, job == 2]).astype(float)
    codes = [*sample.features.codes[:, :2].T, job == 1, job == 2, sample.s]
    columns = [*sample.features.columns[:2]]
    columns += [Column(name, ("0", "1"), "number", (0.0, 1.0)) for name in ("job_b", "job_c", "sex")]
    table = Table(tuple(columns), np.column_stack(codes).astype(np.int16))
    model = Classifier(spec, include_protected=False, seed=0).fit(replace(sample, features=table))
    theirs.fit(raw, sample.y)
    found = model.predict(replace(sample, features=table))
    assert (found == theirs.predict(raw)).all()
    if hasattr(theirs, "predict_proba"):
        chance = model.predict_proba(replace(sample, features=table))
        np.testing.assert_allclose(chance, theirs.predict_proba(raw)[:, 1], rtol=1e-9)
