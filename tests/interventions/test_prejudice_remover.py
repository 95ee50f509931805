"""The prejudice remover against autodiff and stored minima, and its laws."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from techniques_data import adult, doubled, golden, of_numbers, reordered

from fairbench_cli.classifiers.builders import NaiveBayes
from fairbench_cli.classifiers.encode import Design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.interventions.fitted import Infeasible
from fairbench_cli.interventions.prejudice_remover import (
    PrejudiceObjective,
    PrejudiceRemover,
    minimise,
    prejudice_objective,
)
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

CLASSIFIER = Classifier(NaiveBayes(), include_protected=False, seed=0)
WEIGHTS = [f"w{s}_{name}" for s in (0, 1) for name in ("x1", "x2", "x3", "const")]
ETAS = golden("pr_minima")["eta"].tolist()


def sample():
    return of_numbers(golden("pr_data"), ("x1", "x2", "x3"))


def raw_objective(eta):
    """The objective on the columns as they are, not standardised."""
    train = sample()
    columns = train.features.without("s").columns
    design = Design(columns, tuple(np.array(c.values)[:, np.newaxis] for c in columns), intercept=True)
    return prejudice_objective(train, design, eta, 1.0)


def fit(train, **parameters):
    return PrejudiceRemover(**parameters).fit(train, CLASSIFIER, np.random.default_rng(0))


def test_objective_and_gradient_agree_with_autodiff():
    for (_, eta), rows in golden("pr_points").groupby(["point", "eta"]):
        named = rows.set_index("name")
        w = named.loc[WEIGHTS, "value"].to_numpy().reshape(2, 4)
        objective = raw_objective(float(eta))
        loss, index, half = objective.terms(w)
        ours = [-loss, index, half, objective.value(w)]
        theirs = named.loc[["log_likelihood", "R", "half_l2", "objective"], "value"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            objective.gradient(w).ravel(), named.loc[WEIGHTS, "gradient"], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("eta", [0.0, 1.0, 30.0])
def test_the_hessian_is_the_gradients_slope(eta):
    objective, rng = raw_objective(eta), np.random.default_rng(1)
    w = rng.normal(size=(2, 4))
    hessian = objective.hessian(w, convex=False)
    for j, step in enumerate(1e-6 * np.eye(8).reshape(8, 2, 4)):
        slope = (objective.gradient(w + step) - objective.gradient(w - step)).ravel() / 2e-6
        np.testing.assert_allclose(hessian[j], slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("eta", ETAS)
def test_the_stored_minima(eta):
    row = golden("pr_minima").set_index("eta").loc[eta]
    objective = raw_objective(float(eta))
    w, _, _ = minimise(objective)
    assert objective.value(w) == pytest.approx(row["objective"], rel=1e-9)
    np.testing.assert_allclose(w.ravel(), row[WEIGHTS].astype(float), atol=1e-6)
    assert objective.value(w) <= row["original_code_objective"] + 1e-9
    found = fit(sample(), eta=float(eta), scale=False).facts["objective"]
    assert found == pytest.approx(row["objective"], rel=1e-9)


def test_eta_0_is_a_logistic_regression_per_group():
    train = sample()
    fitted = fit(train, eta=0.0)
    assert fitted.status == "noop"
    X = fitted.model.design.transform(train.features)
    for s in (0, 1):
        own = train.s == s
        theirs = LogisticRegression(fit_intercept=False, tol=1e-10).fit(X[own], train.y[own])
        np.testing.assert_allclose(fitted.model.w[s], theirs.coef_[0], atol=1e-6)


def test_a_larger_eta_leaves_less_to_be_seen_of_the_group():
    index = [fit(sample(), eta=float(eta)).facts["prejudice_index"] for eta in ETAS]
    assert (np.diff(index) < 0).all()


def test_the_prejudice_index_is_the_mutual_information_per_row():
    train = sample()
    fitted = fit(train, eta=1.0)
    p = fitted.model.predict_proba(train)
    joint = np.array([[(part * (train.s == s)).mean() for part in (1 - p, p)] for s in (0, 1)])
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    assert fitted.facts["prejudice_index"] == pytest.approx((joint * np.log(joint / apart)).sum())


def test_neither_order_nor_doubling_matters():
    train = sample()
    w = fit(train, eta=5.0).model.w
    assert (fit(reordered(train), eta=5.0).model.w == w).all()
    twice, heavy = (fit(some, eta=5.0).model.w for some in doubled(train))
    np.testing.assert_allclose(twice, heavy, atol=1e-9)
    assert np.abs(twice - w).max() > 1e-3, "the penalty weighs half as much"


def test_one_class_in_a_group_or_in_all():
    train = sample()
    for kept in ((train.s == 1) | (train.y == 1), train.y == 1):
        some = train.take(np.flatnonzero(kept))
        fitted = fit(some)
        assert fitted.status == "ok"
        assert (fitted.predict(some)[some.s == 0] == 1).all()


def test_a_group_without_rows_is_infeasible():
    train = sample()
    with pytest.raises(Infeasible, match="the deprived group has no training rows"):
        fit(train.take(np.flatnonzero(train.s == 1)))


def test_groups_of_equal_rates_have_no_prejudice():
    objective = raw_objective(7.0)
    assert isinstance(objective, PrejudiceObjective)
    assert objective.terms(np.zeros((2, 4)))[1] == 0
    assert objective.terms(np.full((2, 4), [0, 0, 0, 60.0]))[1] == 0


@pytest.mark.parametrize(
    ("eta", "objective", "accuracy", "discrimination"),
    [
        (0.0, 14635.589, 0.8500, 0.1850),
        (1.0, 15400.845, 0.8461, 0.1216),
        (5.0, 16132.771, 0.8400, 0.0615),
        (30.0, 16449.939, 0.8361, 0.0364),
    ],
)
def test_adult(adult_103, eta, objective, accuracy, discrimination):
    fitted = fit(adult_103, eta=eta)
    assert fitted.facts["objective"] == pytest.approx(objective, abs=5e-4)
    counts = count(adult_103.s, adult_103.y, fitted.predict(adult_103), ("deprived", "favoured"))
    assert float(measure("accuracy", counts)) == pytest.approx(accuracy, abs=5e-5)
    assert float(measure("discrimination", counts)) == pytest.approx(discrimination, abs=5e-5)


@pytest.fixture(scope="module")
def adult_103(tmp_path_factory):
    names = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
    numbers = {name: {"kind": "integer"} for name in names}
    return adult(tmp_path_factory.mktemp("adult"), without=["race"], **numbers)
