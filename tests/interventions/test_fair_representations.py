"""Fair representations against autodiff and stored optima, and its laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from techniques_data import adult, doubled, golden, of_numbers, reordered

from fairbench_cli.classifiers.builders import NaiveBayes
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.interventions.fair_representations import (
    FairRepresentations,
    GroupRows,
    PrototypeObjective,
    Prototypes,
    minimise,
)
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

CLASSIFIER = Classifier(NaiveBayes(), include_protected=False, seed=0)
VARIANTS = {
    "paper_alpha": ("squared", "sum", True, 50.0),
    "paper_plain": ("squared", "sum", False, 50.0),
    "mean_plain": ("squared", "mean", False, 1.0),
    "aif360": ("euclidean", "aif360", False, 50.0),
}
SMOOTHING = tuple(10.0**-i for i in range(1, 7))


def objective(variant):
    frame = golden("lfr_data")
    distance, reduction, _, a_z = VARIANTS[variant]
    groups = tuple(
        GroupRows(
            csr_array(own[["x1", "x2", "x3", "x4"]].to_numpy()), own["y"].to_numpy(float), np.ones(len(own))
        )
        for _, own in frame.groupby("s")
    )
    return PrototypeObjective(groups, 0.01, 1.0, a_z, distance, reduction)


def prototypes(named, variant):
    """Read prototypes from values by name."""
    w = np.array([named[f"w{k}"] for k in (1, 2, 3)])
    v = np.array([[named[f"v{k}_{i}"] for i in (1, 2, 3, 4)] for k in (1, 2, 3)])
    alpha = (
        np.array([[named[f"alpha{s}_{i}"] for i in (1, 2, 3, 4)] for s in (0, 1)])
        if VARIANTS[variant][2]
        else None
    )
    return Prototypes(w, v, alpha)


@pytest.mark.parametrize("variant", VARIANTS)
def test_objective_and_gradient_agree_with_autodiff(variant):
    for _, rows in golden("lfr_points").query("variant == @variant").groupby("point"):
        named = rows.set_index("name")
        at = prototypes(named["value"], variant)
        terms, gradient = objective(variant).evaluate(at)
        ours = [terms.l_x, terms.l_y, terms.l_z, terms.value]
        np.testing.assert_allclose(ours, named.loc[["L_x", "L_y", "L_z", "objective"], "value"], rtol=1e-9)
        theirs = prototypes(named["gradient"], variant)
        np.testing.assert_allclose(gradient.flat, theirs.flat, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", ["paper_plain", "mean_plain", "aif360"])
def test_smoothed_searches_are_as_good_as_the_stored_ones_from_the_same_start(variant):
    runs = golden("lfr_runs").query("variant == @variant and method == 'smoothed'").set_index("start")
    number = int(runs["objective"].argmin())
    own, start = objective(variant), prototypes(golden("lfr_starts").loc[number], variant)
    found = own.evaluate(minimise(own, start, 150, SMOOTHING))[0].value
    assert found <= runs.loc[number, "objective"] * (1 + 1e-6)
    if variant != "mean_plain":  # one start in 20 reaches the best known value there
        assert found <= best_known(variant) * (1 + 1e-4)


def best_known(variant):
    return golden("lfr_best").query("variant == @variant and name == 'objective'")["value"].iloc[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_stored_best_points_have_the_stored_objective(variant):
    named = golden("lfr_best").query("variant == @variant").set_index("name")["value"]
    assert objective(variant).evaluate(prototypes(named, variant))[0].value == pytest.approx(
        best_known(variant), rel=1e-9
    )


def test_the_smoothed_gradient_is_the_values_slope():
    own, rng = objective("paper_alpha"), np.random.default_rng(3)
    at = Prototypes(rng.random(3), rng.normal(size=(3, 4)), rng.random((2, 4)))
    gradient = own.evaluate(at, 0.1)[1].flat
    for j, step in enumerate(1e-6 * np.eye(len(gradient))):
        ahead, behind = (own.evaluate(at.unflatten(at.flat + some), 0.1)[0].value for some in (step, -step))
        assert gradient[j] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-5)


def test_far_prototypes_leave_no_row_without_a_mixture():
    at = Prototypes(np.array([0.2, 0.8]), np.full((2, 4), 1e4), np.full((2, 4), 1e3))
    terms = objective("paper_alpha").evaluate(at)[0]
    assert np.isfinite([terms.l_x, terms.l_y, terms.l_z]).all()


def test_a_prediction_on_its_bound_has_a_finite_loss_and_no_slope():
    at = Prototypes(np.array([0.0, 0.0]), np.zeros((2, 4)), None)
    terms, gradient = objective("mean_plain").evaluate(at)
    assert np.isfinite(terms.value)
    assert (gradient.w == 0).all()


def sample():
    return of_numbers(golden("lfr_data"), ("x1", "x2", "x3", "x4"))


def fit(train, seed=0, **parameters):
    quick = {"prototypes": 3, "restarts": 2, "column_weights": False, "iterations": 15} | parameters
    return FairRepresentations(**quick).fit(train, CLASSIFIER, np.random.default_rng(seed))


def test_without_parameters_the_terms_weigh_what_is_documented():
    plain = FairRepresentations()
    assert (plain.a_x, plain.a_y, plain.a_z, plain.prototypes) == (0.01, 1, 1, 10)


def test_a_z_buys_fairness():
    free, fair = fit(sample(), a_z=0.0), fit(sample(), a_z=2.0, iterations=60)
    assert (free.status, fair.status) == ("noop", "ok")
    assert fair.facts["l_z"] < 0.02 < 0.1 < free.facts["l_z"]
    train = sample()
    scores = fair.model.predict_proba(train)
    assert abs(scores[train.s == 1].mean() - scores[train.s == 0].mean()) <= fair.facts["l_z"] / 2 + 1e-12
    assert fair.facts["objective"] <= fair.facts["objective_of_worst_start"]


def test_without_a_x_and_a_z_only_the_label_counts():
    fitted = fit(sample(), a_x=0.0, a_z=0.0, column_weights=True)
    train = sample()
    assert (fitted.predict(train) == train.y).mean() > (train.y == train.y[0]).mean()
    assert fitted.facts["l_y"] == pytest.approx(fitted.facts["objective"])
    assert 0 < fitted.facts["largest_column_weight"] <= 10


def test_one_prototype_says_one_thing():
    fitted = fit(sample(), prototypes=1)
    assert (fitted.status, fitted.reason) == ("degraded", "all training rows get one prediction")
    assert fitted.facts["l_z"] == 0
    assert fitted.model.predict_proba(sample()) == pytest.approx(sample().y.mean(), abs=1e-4)


def test_the_order_of_rows_does_not_matter():
    train = sample()
    assert fit(train).facts == fit(reordered(train)).facts


@pytest.mark.parametrize("column_weights", [False, True])
def test_doubled_rows_are_doubled_weights(column_weights):
    twice, heavy = (fit(some, column_weights=column_weights, restarts=1).facts for some in doubled(sample()))
    assert twice == pytest.approx(heavy, rel=1e-9)


def test_sums_are_means_with_other_weights():
    means = objective("mean_plain")
    sums = replace(means, reduction="sum", a_z=means.a_z * 200)
    at = Prototypes(np.array([0.1, 0.7]), np.array([[0.1, 0.2, 0.3, 0.4], [1.0, -1.0, 0.5, 0.0]]), None)
    assert sums.evaluate(at)[0].value == pytest.approx(200 * means.evaluate(at)[0].value)


def test_one_group_is_refused_and_one_outcome_is_degraded():
    train = sample()
    with pytest.raises(Infeasible, match="favoured group has no"):
        fit(train.take(np.flatnonzero(train.s == 0)))
    fitted = fit(replace(train, y=np.ones_like(train.y)))
    assert fitted.status == "degraded"
    assert (fitted.predict(train) == 1).all()


def test_adult(tmp_path):
    """A slice of Adult with AIF360's objective: a plain search from its own starts predicts one class."""
    everybody = adult(tmp_path, without=["race"])
    train = everybody.take(np.random.default_rng(0).permutation(len(everybody))[:3000])
    theirs = {"distance": "euclidean", "reduction": "aif360", "a_z": 50.0, "prototypes": 5, "iterations": 30}
    fitted = fit(train, restarts=1, **theirs)
    counts = count(train.s, train.y, fitted.predict(train), ("deprived", "favoured"))
    assert fitted.status == "ok"
    assert float(measure("accuracy", counts)) > 0.79
    assert abs(float(measure("discrimination", counts))) < 0.1
