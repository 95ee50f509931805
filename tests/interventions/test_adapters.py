# ruff: noqa: ARG002, ARG005, NPY002, S311 - other libraries' protocols, followed to the letter
"""Other libraries' estimators as techniques: what they are given and what is made of their answers."""

import random
from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import numpy as np
import pandas as pd
import pytest
from conftest import two_lines, write_config
from sklearn.base import BaseEstimator, clone
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC
from techniques_data import reads

from fairbench_cli.classifiers.builders import C45Settings, LogisticRegression, NaiveBayes, Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.classifiers.foreign import ForeignEstimator
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions import adapters
from fairbench_cli.interventions.adapters import adapt, missing_requirement, options_of, shape_of, takes
from fairbench_cli.interventions.cells import divide_rows
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.matrix_classifier import MatrixClassifier
from fairbench_cli.interventions.preprocessing import Reweighing

SIZES = (60, 20, 40, 50)


def sample(cells=SIZES, seed=0) -> Sample:
    """Rows with the given numbers by group and label, in a random order, and with three groups of people."""
    rng = np.random.default_rng(seed)
    s, y = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], cells, axis=0)[rng.permutation(sum(cells))].T
    race = np.where(s == 1, 2, rng.integers(0, 2, len(s)))
    columns = (
        Column("job", tuple("abcd")),
        Column("race", ("x", "y", "z")),
        Column("wage", tuple("0123456789")),
    )
    codes = [rng.integers(0, 3, len(s)) + s, race, rng.integers(0, 8, len(s)) + 2 * y]
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    return Sample(table, "race", y.astype(np.int8), s.astype(np.int8))


TRAIN, TEST = sample(), sample((50, 50, 50, 50), seed=1)
LOGISTIC = Classifier(LogisticRegression(), include_protected=False, seed=0)


def fit(thing, train=TRAIN, classifier=LOGISTIC, seed=0, options=None, **parameters):
    return adapt(thing, parameters, options or {}).fit(train, classifier, np.random.default_rng(seed))


def seed_of(seed=0) -> int:
    """The first number that a fit draws: the seed of the object."""
    return int(np.random.default_rng(seed).integers(2**32))


# Shapes of other libraries, in their own protocol.


class Flip:
    """As fairlearn: groups by name; its decisions are drawn, and it gives their probabilities."""

    def __init__(self, estimator, *, share=0.5, random_state=None):
        self.estimator, self.share, self.random_state = estimator, share, random_state

    def fit(self, X, y, *, sensitive_features):
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.groups_ = sorted(set(sensitive_features))
        return self

    def _pmf_predict(self, X, *, sensitive_features):
        labels = self.estimator_.predict(X)
        accepted = np.where(sensitive_features == self.groups_[0], self.share, labels)
        return np.column_stack([1 - accepted, accepted])

    def predict(self, X, *, sensitive_features, random_state=None):
        rng = np.random.RandomState(random_state)
        return (rng.rand(len(X)) < self._pmf_predict(X, sensitive_features=sensitive_features)[:, 1]) * 1


class Private(Flip):
    """The same without the probabilities."""

    _pmf_predict = None

    def predict(self, X, *, sensitive_features, random_state=None):
        return np.random.RandomState(random_state).randint(0, 2, len(X))


class Global:
    """Draws from the generators of the whole process, and has a model of its own."""

    def fit(self, X, y, sensitive_features=None):
        self.width_ = X.shape[1]

    def predict(self, X):
        return np.array([random.random() < np.random.rand() for _ in X]) * 1


class Weigh(BaseEstimator):
    """As AIF360's Reweighing: returns the rows and their weights, by the group in the index."""

    def __init__(self, prot_attr=None):
        self.prot_attr = prot_attr

    def fit(self, X, y, sample_weight=None):
        self.fit_transform(X, y, sample_weight=sample_weight)
        return self

    def fit_transform(self, X, y, sample_weight=None):
        group = X.index.get_level_values(self.prot_attr).to_numpy()
        assert (X.index == y.index).all()
        y = y.to_numpy()
        old = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        new = np.empty(len(y))
        for g in np.unique(group):
            for c in np.unique(y):
                here = (group == g) & (y == c)
                if here.any():
                    new[here] = old[group == g].sum() * old[y == c].sum() / old.sum() / old[here].sum()
        return X, new * old


class WeighMeta:
    """As AIF360's ReweighingMeta: fits an estimator; it predicts once it is fitted."""

    def __init__(self, estimator, reweigher):
        self.estimator, self.reweigher = estimator, reweigher

    def fit(self, X, y, sample_weight=None):
        X, weights = self.reweigher.fit_transform(X, y, sample_weight=sample_weight)
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=weights)
        return self

    def predict(self, X):
        return self.estimator_.predict(X)

    def predict_proba(self, X):
        return self.estimator_.predict_proba(X)


class Reject:
    """As AIF360's RejectOptionClassifier: a frame of probabilities, by the group in its index."""

    def __init__(self, prot_attr=None, margin=0.1):
        self.prot_attr, self.margin = prot_attr, margin

    def fit(self, X, y, labels=None, pos_label=1, priv_group=1, sample_weight=None):
        assert (labels, pos_label, priv_group) == ([0, 1], 1, 1)
        assert X.columns.tolist() == [0, 1]
        assert (X.index == y.index).all()
        self.rows_ = len(X)
        return self

    def predict(self, X):
        favoured = X.index.get_level_values(self.prot_attr) == 1
        return (X[1].to_numpy() > np.where(favoured, 0.5 + self.margin, 0.5 - self.margin)) * 1


class Mixed(Reject):
    """As AIF360's CalibratedEqualizedOdds, whose rates may be none."""

    def fit(self, X, y, labels=None, pos_label=1, priv_group=1):
        self.mix_rates_ = [2.68, 0]


class ByColumn:
    """As AIF360's ExponentiatedGradientReduction: the group in a column, which it drops."""

    def __init__(self, prot_attr, estimator, drop_prot_attr=True):
        self.prot_attr, self.estimator, self.drop_prot_attr = prot_attr, estimator, drop_prot_attr

    def fit(self, X, y):
        assert set(X[self.prot_attr]) == {0, 1}
        self.model_ = clone(self.estimator).fit(X.drop(columns=self.prot_attr), y)
        return self

    def predict(self, X):
        return self.model_.predict(X.drop(columns=self.prot_attr))


class Centre:
    """A pre-processor of numbers."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return (X - self.mean_) * self.scale


class ByGroup(Centre):
    """A pre-processor that is given the groups; a frame comes out."""

    def fit(self, X, y=None, *, sensitive_features):
        self.means_ = {g: X[sensitive_features == g].mean(axis=0) for g in np.unique(sensitive_features)}
        return self

    def transform(self, X, *, sensitive_features):
        return pd.DataFrame(X - np.stack([self.means_[g] for g in sensitive_features]))


def test_shapes_are_known_by_their_methods():
    assert shape_of(Flip) == shape_of(Global) == "sensitive-features"
    assert shape_of(Weigh) == shape_of(Reject) == "group-index"
    assert shape_of(Centre) == shape_of(ByGroup(2)) == "transformer"
    assert shape_of(BernoulliNB) is None
    assert [takes(thing) for thing in (Flip, BernoulliNB, test_shapes_are_known_by_their_methods, 3)] == [
        *(True, False, True, False)
    ]


def test_options_are_those_with_an_effect():
    assert list(options_of(Flip)) == list(options_of(ByGroup)) == ["encoding", "groups"]
    assert list(options_of(Reject)) == ["encoding", "validation"]
    assert list(options_of(Weigh)) == list(options_of(Centre)) == ["encoding"]
    assert list(options_of(lambda estimator, groups: None)) == ["encoding", "validation"]


def test_what_cannot_be_adapted_is_refused_at_once():
    with pytest.raises(ValueError, match='"shar": did you mean "share"'):
        adapt(Flip, {"shar": 1})


@pytest.mark.parametrize("thing", [BernoulliNB, WeighMeta])
def test_a_class_of_no_known_shape_fits_nothing(thing):
    with pytest.raises(ValueError, match="none of the known shapes"):
        fit(thing)


def test_an_option_at_its_default_is_none():
    assert (
        adapt(Centre, {}, {"validation": 0.3}).fit(TRAIN, LOGISTIC, np.random.default_rng(0)).status == "ok"
    )


def test_decisions_that_are_drawn_are_counted_in_expectation():
    fitted = fit(Flip, share=0.25)
    chance = fitted.decision_probability(TEST)
    plain = LOGISTIC.fit(TRAIN).predict(TEST)
    assert (chance == np.where(TEST.s == 0, 0.25, plain)).all()
    predicted = fitted.predict(TEST)
    assert (predicted == fitted.predict(TEST)).all()
    assert 0 < predicted[TEST.s == 0].mean() < 0.5
    assert (predicted[TEST.s == 1] == plain[TEST.s == 1]).all()
    assert fitted.scores(TEST) is None


def test_decisions_without_probabilities_are_drawn_and_say_so():
    fitted = fit(Private)
    assert fitted.decision_probability(TEST) is None
    assert (fitted.status, "counted as drawn" in fitted.reason) == ("degraded", True)
    assert (fitted.predict(TEST) == fitted.predict(TEST)).all()


def test_generators_of_the_process_are_seeded_and_set_back():
    before = random.getstate(), np.random.get_state()[1].tolist()
    one, two, other = (fit(Global, seed=seed).predict(TEST) for seed in (0, 0, 1))
    assert (one == two).all()
    assert (one != other).any()
    assert before == (random.getstate(), np.random.get_state()[1].tolist())


def test_groups_are_a_pair_or_the_levels():
    seen = []

    class Spy(Global):
        def fit(self, X, y, sensitive_features=None):
            assert X.dtype == np.float64
            assert y.dtype.kind == "i"
            seen.append(sorted(set(sensitive_features)))

    fit(Spy)
    fit(Spy, options={"groups": "levels"})
    assert seen == [["deprived", "favoured"], ["x", "y", "z"]]


def test_a_group_without_training_rows_is_no_group_to_decide_on():
    train = TRAIN.take(np.flatnonzero(TRAIN.features["race"] != 1))
    fitted = fit(Flip, train, options={"groups": "levels"})
    with pytest.raises(Infeasible, match="no training rows of y"):
        fitted.predict(TEST)
    assert len(fitted.predict(train)) == len(train)


@pytest.mark.parametrize("thing", [Flip, Mixed, Centre, ByColumn])
def test_weights_that_it_cannot_honour_are_refused(thing):
    weighted = replace(TRAIN, weights=np.full(len(TRAIN), 2.0))
    with pytest.raises(Infeasible, match="takes none"):
        fit(thing, weighted)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, len(TRAIN))])
def test_weights_of_a_pre_processor_reach_the_classifier(weights):
    train = replace(TRAIN, weights=weights)
    ours = Reweighing().fit(train, LOGISTIC, np.random.default_rng(0))
    theirs = fit(Weigh, train)
    np.testing.assert_allclose(theirs.scores(TEST), ours.scores(TEST), rtol=1e-9)
    meta = fit(
        lambda estimator, prot_attr: WeighMeta(estimator, Weigh(prot_attr)), replace(TRAIN, weights=weights)
    )
    np.testing.assert_allclose(meta.scores(TEST), ours.scores(TEST), rtol=1e-6)


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan])
def test_weights_that_are_none_are_refused(weight):
    class Strange(Weigh):
        def fit_transform(self, X, y):
            return X, np.where(np.arange(len(y)) == 0, weight, 1.0)

    with pytest.raises(ValueError, match="negative or not finite"):
        fit(Strange)


def test_an_empty_cell_degrades_a_pre_processor_as_it_does_ours():
    train = sample((20, 0, 10, 10))
    assert (
        fit(Weigh, train).reason == Reweighing().fit(train, LOGISTIC, np.random.default_rng(0)).reason != ""
    )


def test_a_post_processor_is_fitted_to_validation_rows():
    fitted = fit(Reject, options={"validation": 0.5}, margin=0.2)
    model = LOGISTIC.fit(divide_rows(TRAIN, 0.5)[0])
    expected = model.predict_proba(TEST) > np.where(TEST.s == 1, 0.7, 0.3)
    assert (fitted.predict(TEST) == expected).all()


def test_an_object_without_a_solution_is_infeasible():
    with pytest.raises(Infeasible, match=r"its rates would be 2.68, 0"):
        fit(Mixed)


def test_the_group_may_be_a_column():
    assert (fit(ByColumn).predict(TEST) == LOGISTIC.fit(TRAIN).predict(TEST)).all()


def test_a_pre_processor_comes_before_the_classifier():
    fitted, plain = fit(Centre), LOGISTIC.fit(TRAIN)
    np.testing.assert_allclose(fitted.scores(TEST), plain.predict_proba(TEST), atol=1e-5)
    assert (fit(ByGroup).predict(TEST) != plain.predict(TEST)).any()


@pytest.mark.parametrize("spec", [C45Settings(), Tree(), NaiveBayes(), LogisticRegression()])
def test_every_classifier_takes_what_a_pre_processor_makes(spec):
    classifier = Classifier(spec, include_protected=True, seed=0)
    fitted = fit(Centre, classifier=classifier, scale=2.0)
    assert reads(fitted.model, TEST, "race")
    assert set(fitted.predict(TEST).tolist()) == {0, 1}


def test_columns_of_the_group_that_it_drops_are_centred_each():
    seen = []

    class Dropped(Centre):
        def __init__(self, sensitive_feature_ids):
            self.sensitive_feature_ids = sensitive_feature_ids

        def fit(self, X, y=None):
            seen.append(X[:, self.sensitive_feature_ids])
            return self

        def transform(self, X):
            return np.delete(X, self.sensitive_feature_ids, axis=1)

    fit(Dropped, options={"groups": "levels"})
    assert seen[0].shape[1] == 3
    assert seen[0].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_classifier_with_a_decision_function_alone_keeps_its_scores():
    svc = Classifier(ForeignEstimator(LinearSVC, {}), include_protected=False, seed=0)
    scores = fit(Centre, classifier=svc).scores(TRAIN)
    assert scores is not None
    assert ((scores > 0) == fit(Centre, classifier=svc).predict(TRAIN)).all()


def test_a_pre_processor_must_leave_every_row():
    class Half(Centre):
        def transform(self, X):
            return X[::2]

    with pytest.raises(ValueError, match="for each row"):
        fit(Half)


def test_other_labels_are_refused():
    class Signed(Global):
        def predict(self, X):
            return np.ones(len(X)) * -1

    with pytest.raises(ValueError, match=r"other values than 0 and 1, such as -1\.0"):
        fit(Signed).predict(TEST)


@pytest.mark.parametrize(("four", "what"), [((0, 0, 20, 20), "group"), ((20, 0, 20, 0), "outcome")])
@pytest.mark.parametrize("thing", [Flip, Weigh, Reject, Centre])
def test_with_one_group_or_outcome_there_is_nothing_to_do(thing, four, what):
    fitted = fit(thing, sample(four))
    assert (fitted.status, fitted.reason) == ("noop", f"only one {what} has rows")


def test_a_function_may_make_the_object():
    def make(estimator, random_state):
        assert random_state == seed_of()
        return Flip(estimator, share=1)

    assert (fit(make).decision_probability(TEST)[TEST.s == 0] == 1).all()
    with pytest.raises(ValueError, match="none of the known shapes"):
        fit(lambda: object())


@pytest.mark.parametrize("spec", [C45Settings(), Tree(), NaiveBayes(), LogisticRegression()])
def test_the_classifier_as_an_estimator_is_the_classifier(spec):
    classifier = Classifier(spec, include_protected=False, seed=3)
    model = classifier.fit(TRAIN)
    estimator = clone(MatrixClassifier(classifier, model.encoder.level_counts))
    X, X_test = (model.encoder.transform(some.features) for some in (TRAIN, TEST))
    estimator.fit(X, TRAIN.y, sample_weight=np.ones(len(TRAIN)))
    assert (estimator.predict(X_test) == model.predict(TEST)).all()
    np.testing.assert_allclose(estimator.predict_proba(X_test)[:, 1], model.predict_proba(TEST), rtol=1e-12)


def test_a_requirement_that_is_missing_is_named():
    class Elsewhere:
        requires = ("no-such-package", "1.0")

    class Newer:
        requires = ("scikit-learn", "999.0")

    assert missing_requirement(Elsewhere) == (
        "needs no-such-package",
        'pip install "fairbench-cli[no-such-package]"',
    )
    assert missing_requirement(Newer)[0].startswith("needs scikit-learn 999.0, this is ")


def test_a_library_that_is_not_installed_is_said_before_the_run(say, tmp_path, monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(adapters, "version", version)
    config = write_config(tmp_path / "c.yaml", interventions=["none", "grid-search"])
    said = say("plan", config)
    two_lines(said, "c.yaml:", "grid-search needs fairlearn", 'pip install "fairbench-cli[fairlearn]"')
