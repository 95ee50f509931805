"""fairlearn's techniques: their numbers are those of fairlearn itself, and what it leaves out is said."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from conftest import derived, fairbench, write_config
from techniques_data import reads

from fairbench_cli.classifiers.builders import LogisticRegression, NaiveBayes, Tree
from fairbench_cli.classifiers.encode import one_hot
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions.adapters import adapt, missing_requirement
from fairbench_cli.interventions.cells import divide_rows
from fairbench_cli.interventions.fairlearn import (
    CorrelationRemover,
    ExponentiatedGradient,
    GridSearch,
    ThresholdOptimizer,
)
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.registry import INTERVENTIONS

pytest.importorskip("fairlearn")
# fairlearn 0.15 warns of pandas' next version when it is called directly.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

FOUR = [ExponentiatedGradient(max_iter=2), GridSearch(), ThresholdOptimizer(), CorrelationRemover()]
every = pytest.mark.parametrize("technique", FOUR, ids=lambda one: type(one).__name__)
LOGISTIC = Classifier(LogisticRegression(), include_protected=False, seed=0)


def sample(cells=(60, 20, 40, 50), seed=0) -> Sample:
    """Rows with the given numbers by group and label, in a random order."""
    rng = np.random.default_rng(seed)
    s, y = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], cells, axis=0)[rng.permutation(sum(cells))].T
    levels = {"job": "abcd", "race": "xyz", "wage": "0123456789"}
    columns = tuple(Column(name, tuple(values)) for name, values in levels.items())
    codes = [rng.integers(0, 3, len(s)) + s, s * 2 + (rng.random(len(s)) < 0.5) * (1 - s)]
    table = np.stack([*codes, rng.integers(0, 8, len(s)) + 2 * y], axis=1).astype(np.int16)
    return Sample(Table(columns, np.asfortranarray(table)), "race", y.astype(np.int8), s.astype(np.int8))


TRAIN, TEST = sample(), sample((50, 50, 50, 50), seed=1)


def fit(technique, train=TRAIN, classifier=LOGISTIC):
    return technique.fit(train, classifier, np.random.default_rng(0))


def matrix(rows: Sample) -> np.ndarray:
    features = rows.features.without("race")
    return one_hot(features.codes, features.level_counts).toarray()


def group(rows: Sample) -> np.ndarray:
    return np.array(["deprived", "favoured"])[rows.s]


def learner():
    return LogisticRegression().build((), 0)


@pytest.mark.gate
def test_exponentiated_gradient_is_fairlearns():
    from fairlearn.reductions import EqualizedOdds
    from fairlearn.reductions import ExponentiatedGradient as Theirs

    theirs = Theirs(learner(), EqualizedOdds(difference_bound=0.05), eps=0.02, max_iter=4)
    theirs.fit(matrix(TRAIN), TRAIN.y.astype(int), sensitive_features=group(TRAIN))
    ours = fit(ExponentiatedGradient("equalised-odds", bound=0.05, eps=0.02, max_iter=4))
    expected = theirs._pmf_predict(matrix(TEST))[:, 1]
    assert 0 < ((expected > 0.001) & (expected < 0.999)).sum() < len(TEST)
    np.testing.assert_allclose(ours.decision_probability(TEST), expected, atol=1e-9)
    facts = {"oracle_calls": theirs.n_oracle_calls_, "models": int((theirs.weights_ > 0).sum())}
    assert ours.facts.items() >= facts.items()
    predicted = ours.predict(TEST)
    assert (predicted == ours.predict(TEST)).all()
    assert (predicted[expected < 1e-9] == 0).all()
    assert (predicted[expected > 1 - 1e-9] == 1).all()


def test_grid_search_is_fairlearns():
    from fairlearn.reductions import DemographicParity
    from fairlearn.reductions import GridSearch as Theirs

    favoured_first = TRAIN.take(np.argsort(-TRAIN.s, kind="stable"))
    theirs = Theirs(learner(), DemographicParity(), grid_size=7, constraint_weight=0.8)
    theirs.fit(matrix(favoured_first), favoured_first.y.astype(int), sensitive_features=group(favoured_first))
    ours = fit(GridSearch(grid_size=7, constraint_weight=0.8))
    assert ours.facts == {"chosen": theirs.best_idx_, "models": 7}
    assert (ours.predict(TEST) == theirs.predict(matrix(TEST))).all()
    np.testing.assert_allclose(ours.scores(TEST), theirs.predict_proba(matrix(TEST))[:, 1], atol=1e-6)
    assert ours.decision_probability(TEST) is None


def test_the_grid_of_fairlearn_hangs_on_which_group_is_first():
    """Why a direct call may differ from ours: the multipliers of its refits are those of the other group."""
    from fairlearn.reductions import DemographicParity
    from fairlearn.reductions import GridSearch as Theirs

    refits = {}
    for first, order in (("deprived", TRAIN.s), ("favoured", -TRAIN.s)):
        rows = TRAIN.take(np.argsort(order, kind="stable"))
        theirs = Theirs(learner(), DemographicParity(), grid_size=7)
        theirs.fit(matrix(rows), rows.y.astype(int), sensitive_features=group(rows))
        refits[first] = theirs
    vectors = {first: theirs.lambda_vecs_.sort_index() for first, theirs in refits.items()}
    mirrored = vectors["deprived"].rename({"deprived": "favoured", "favoured": "deprived"}).sort_index()
    np.testing.assert_allclose(mirrored, vectors["favoured"])
    assert not np.allclose(vectors["deprived"], vectors["favoured"])
    assert fit(GridSearch(grid_size=7)).facts["chosen"] == refits["favoured"].best_idx_


@pytest.mark.parametrize("technique", [GridSearch(), ExponentiatedGradient(max_iter=2)])
def test_the_order_of_rows_does_not_change_a_reduction(technique):
    shuffled = TRAIN.take(np.random.default_rng(3).permutation(len(TRAIN)))
    ordered = TRAIN.take(np.argsort(TRAIN.s, kind="stable"))
    results = [fit(technique, train) for train in (TRAIN, shuffled, ordered)]
    for other in results[1:]:
        assert other.facts == pytest.approx(results[0].facts, abs=1e-6)
        assert (other.predict(TEST) == results[0].predict(TEST)).all()


@pytest.mark.parametrize("constraint", ["demographic-parity", "equalised-odds"])
def test_thresholds_are_fairlearns_on_validation_rows(constraint):
    from fairlearn.postprocessing import ThresholdOptimizer as Theirs

    others, validation = divide_rows(TRAIN, 0.4)
    name = {"equalised-odds": "equalized_odds"}.get(constraint, "demographic_parity")
    estimator = learner().fit(matrix(others), others.y.astype(int))
    theirs = Theirs(estimator=estimator, constraints=name, prefit=True, predict_method="predict_proba")
    theirs.fit(matrix(validation), validation.y.astype(int), sensitive_features=group(validation))
    ours = fit(ThresholdOptimizer(constraint, validation=0.4))
    expected = theirs._pmf_predict(matrix(TEST), sensitive_features=group(TEST))[:, 1]
    np.testing.assert_allclose(ours.decision_probability(TEST), expected, atol=1e-9)


def test_correlation_is_removed_as_fairlearn_does():
    from fairlearn.preprocessing import CorrelationRemover as Theirs

    X, X_test = (np.column_stack([matrix(rows), rows.s]) for rows in (TRAIN, TEST))
    theirs = Theirs(sensitive_feature_ids=[X.shape[1] - 1], alpha=0.7)
    made = theirs.fit_transform(X)
    estimator = learner().fit(made, TRAIN.y)
    ours = fit(CorrelationRemover(alpha=0.7))
    np.testing.assert_allclose(
        ours.scores(TEST), estimator.predict_proba(theirs.transform(X_test))[:, 1], atol=1e-6
    )
    left = fit(CorrelationRemover(groups="levels")).model.transformed(TRAIN)
    assert left.shape == matrix(TRAIN).shape
    race = np.eye(3)[TRAIN.features["race"]]
    assert np.abs((left - left.mean(0)).T @ race).max() < 1e-9


@pytest.mark.gate
def test_a_constraint_by_its_name_in_a_config_is_the_registered_technique():
    from fairlearn import reductions

    constraints = {"DemographicParity": {"difference_bound": 0.05}}
    named = adapt(reductions.ExponentiatedGradient, {"constraints": constraints, "max_iter": 2})
    fit(named, sample((9, 9, 9, 9)))  # leaves nothing behind, such as its nu
    expected = fit(ExponentiatedGradient(bound=0.05, max_iter=2)).decision_probability(TEST)
    assert (fit(named).decision_probability(TEST) == expected).all()
    plain = adapt(reductions.GridSearch, {"constraints": "DemographicParity"})
    assert fit(plain).facts == fit(GridSearch()).facts
    with pytest.raises(ValueError, match='did you mean "DemographicParity"'):
        adapt(reductions.ExponentiatedGradient, {"constraints": "DemographcParity"})


@every
def test_weights_are_refused(technique):
    with pytest.raises(Infeasible, match="weights"):
        fit(technique, replace(TRAIN, weights=np.ones(len(TRAIN))))


@every
@pytest.mark.parametrize("groups", ["pair", "levels"])
@pytest.mark.parametrize("four", [(9, 0, 9, 9), (0, 9, 9, 0), (1, 1, 1, 1), (12, 8, 9, 14)])
def test_any_sample_gives_a_model_or_a_reason(technique, groups, four):
    with suppress(Infeasible):
        fitted = fit(replace(technique, groups=groups), sample(four), Classifier(NaiveBayes(), False, 0))
        assert (fitted.reason == "") == (fitted.status == "ok")
        predicted = fitted.predict(TEST)
        assert predicted.dtype == np.int8
        assert set(predicted.tolist()) <= {0, 1}


@every
def test_the_same_rng_gives_the_same_model_and_the_sample_is_left_alone(technique):
    train = sample()
    one, two = (fit(technique, train, Classifier(Tree(min_leaf=5), False, 0)) for _ in range(2))
    assert one.facts == two.facts
    assert (one.predict(TEST) == two.predict(TEST)).all()
    assert (train.features.codes == TRAIN.features.codes).all()
    assert (train.y == TRAIN.y).all()


@every
@pytest.mark.parametrize("include_protected", [False, True])
def test_the_classifier_may_see_the_protected_attribute(technique, include_protected):
    fitted = fit(technique, classifier=Classifier(NaiveBayes(), include_protected, 0))
    if isinstance(technique, CorrelationRemover):  # it gets the group as one more column
        assert fitted.model.seen == include_protected
    else:
        assert reads(fitted.model, TEST, "race") == include_protected


def test_what_is_not_reached_is_said():
    short = fit(ExponentiatedGradient(max_iter=1))
    assert short.status == "degraded"
    assert short.reason.startswith("not converged in 1 iterations: the gap is ")
    unconstrained = fit(GridSearch("tpr-parity"), sample((20, 0, 10, 10)))
    assert unconstrained.status == "degraded"
    assert unconstrained.reason == "no constraint on the empty cell DP (deprived, favourable label)"
    with pytest.raises(Infeasible, match="validation rows of deprived have fewer than two labels"):
        fit(ThresholdOptimizer(), sample((20, 0, 10, 10)))


@pytest.mark.parametrize("wrong", [{"tol": 0.1}, {"objective": "tpr"}])
def test_equalised_odds_take_neither_a_tolerance_nor_any_objective(wrong):
    with pytest.raises(ValueError, match="equalised-odds"):
        ThresholdOptimizer("equalised-odds", **wrong)


def test_what_they_need_is_here():
    names = [name for name, entry in INTERVENTIONS.items() if hasattr(entry.load(), "requires")]
    assert names == ["exponentiated-gradient", "grid-search", "threshold-optimizer", "correlation-remover"]
    assert [missing_requirement(INTERVENTIONS[name].load()) for name in names] == [None] * 4


def test_a_run_gives_the_same_bytes_for_any_number_of_workers(say, tmp_path):
    techniques = [{"exponentiated-gradient": {"max_iter": 2}}, "threshold-optimizer"]
    rows = {"from": "shipped", "beta": [0.5], "size": 200}
    config = write_config(tmp_path / "c.yaml", interventions=techniques, sample=rows)
    assert say("run", config, "-o", "here", "--jobs", "1").code == 0
    done = fairbench("run", config, "-o", tmp_path / "workers", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert derived(tmp_path / "here") == derived(tmp_path / "workers")
