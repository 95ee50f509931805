"""Zafar et al. against disparate impact: laws, independent solvers, and figures on real data."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from techniques_data import of_numbers
from zafar_data import adult_58, compas_9, sample_of

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.encode import fit_design
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.experiment.config.components import ReadContext, read_entries
from fairbench_cli.interventions.disparate_impact import ZafarDI, limits, tradeoff
from fairbench_cli.interventions.logistic import Logistic, training_rows
from fairbench_cli.interventions.registry import INTERVENTIONS
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

BLIND = Classifier(Tree(), include_protected=False, seed=0)
RNG = np.random.default_rng(0)

COLUMNS = (
    Column("sex", ("f", "m")),
    Column("job", ("a", "b", "c")),
    Column("age", tuple("12345"), "number", (1.0, 2.0, 3.0, 4.0, 10.0)),
    Column("pay", ("low", "mid", "high"), "bins", (5.0, 15.0, 40.0)),
)


def drawn(seed, n=60, weighted=True):
    """Draw rows in which s, x and y hang together."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    job = (rng.integers(0, 3, n) + s * rng.integers(0, 2, n)) % 3
    age = np.minimum(rng.integers(0, 4, n) + s, 4)
    pay = rng.integers(0, 3, n)
    y = rng.random(n) < expit(0.7 * age - 1.5 + 0.8 * (job == 2) - 0.5 * pay)
    y[:2] = (0, 1)
    s[:2] = (0, 1)
    codes = np.asfortranarray(np.stack([s, job, age, pay], axis=1).astype(np.int16))
    weights = rng.uniform(0.1, 3, n) if weighted else None
    return Sample(Table(COLUMNS, codes), "sex", y.astype(np.int8), s.astype(np.int8), weights)


def parts(sample, bins="one-hot"):
    """X, y in −1 and 1, shares, a."""
    x = fit_design(sample, include_protected=False, bins=bins).transform(sample.features)
    r = np.ones(len(sample)) if sample.weights is None else sample.weights
    a = x.T @ (r * (sample.s - np.average(sample.s, weights=r))) / r.sum()
    return x, 2.0 * sample.y - 1, r, a


def objective(sample, l2):
    x, y, r, _ = parts(sample)
    free = np.append(np.ones(x.shape[1] - 1), 0)

    def value(w):
        return float(r @ np.logaddexp(0, -y * (x @ w)) + l2 / 2 * (free * w) @ w) / r.sum()

    def gradient(w):
        return (x.T @ (-r * y * expit(-y * (x @ w))) + l2 * free * w) / r.sum()

    return value, gradient


def fit(sample, **parameters):
    return ZafarDI(**parameters).fit(sample, BLIND, RNG)


seeds = st.integers(0, 10_000)
few = law(15, suppress_health_check=[HealthCheck.too_slow])


@few
@given(seeds, st.sampled_from([0.0, 0.01, 0.05]))
def test_fairness_equals_an_independent_solver(seed, c):
    sample = drawn(seed)
    value, gradient = objective(sample, 1.0)
    *_, r, a = parts(sample)
    fitted = fit(sample, c=c)
    other = minimize(
        value,
        np.zeros(len(a)),
        jac=gradient,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda w: c - a @ w, "jac": lambda _: -a},
            {"type": "ineq", "fun": lambda w: c + a @ w, "jac": lambda _: a},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert fitted.facts["kkt"] <= 1e-8
    assert abs(fitted.facts["covariance"]) <= c + 1e-10
    assert fitted.facts["loss"] / r.sum() == pytest.approx(other.fun, rel=1e-6)
    assert fitted.facts["loss"] / r.sum() <= other.fun * (1 + 1e-8) or abs(a @ other.x) > c
    assert value(fitted.model.w) * r.sum() == pytest.approx(fitted.facts["loss"])
    assert a @ fitted.model.w == pytest.approx(fitted.facts["covariance"], abs=1e-12)


@few
@given(seeds, st.sampled_from([0.01, 0.03, 0.1]))
def test_accuracy_has_the_least_covariance_that_its_loss_allows(seed, gamma):
    sample = drawn(seed)
    value, gradient = objective(sample, 1.0)
    *_, r, a = parts(sample)
    fitted = fit(sample, mode="accuracy", gamma=gamma)
    bound = (1 + gamma) * fitted.facts["loss_unconstrained"] / r.sum()
    assert value(fitted.model.w) <= bound * (1 + 1e-8)
    sign = np.sign(fitted.facts["covariance_unconstrained"])
    other = minimize(
        lambda w: sign * (a @ w),
        np.zeros(len(a)),
        jac=lambda _: sign * a,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda w: bound - value(w), "jac": lambda w: -gradient(w)},
            {"type": "ineq", "fun": lambda w: sign * (a @ w), "jac": lambda _: sign * a},
        ],
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert abs(fitted.facts["covariance"]) <= other.fun + 1e-5
    if fitted.facts["covariance"] > 1e-6 and other.success:
        assert abs(fitted.facts["covariance"]) == pytest.approx(other.fun, abs=1e-5)


@few
@given(seeds, st.sampled_from([1.0, 5.0, 1000.0]))
def test_misclassification_keeps_its_limits_and_is_optimal_within_them(seed, gamma):
    sample = drawn(seed, n=40)
    value, gradient = objective(sample, 1.0)
    x, y, r, a = parts(sample)
    fitted = fit(sample, mode="misclassification", gamma=gamma)
    w, free = fitted.model.w, fit(sample, c=100.0).model.w
    kept = (x @ free > 0) & (sample.s == 1)
    assert ((x @ w > 0) | ~kept).all()
    before, after = (np.logaddexp(0, -y * (x @ v)) for v in (free, w))
    assert (after[~kept] <= (1 + gamma) * before[~kept] + 2e-6).all()
    rows = training_rows(sample, fit_design(sample, include_protected=False))
    turned, bounds = limits(tradeoff(rows, 1.0), gamma)
    level = max(abs(fitted.facts["covariance"]), 1e-5)
    other = minimize(
        value,
        w,
        jac=gradient,
        method="SLSQP",
        constraints=[
            {
                "type": "ineq",
                "fun": lambda v: turned * rows.times(v) - bounds,
                "jac": lambda _: turned[:, np.newaxis] * rows.matrix().toarray(),
            },
            {"type": "ineq", "fun": lambda v: level - a @ v, "jac": lambda _: -a},
            {"type": "ineq", "fun": lambda v: level + a @ v, "jac": lambda _: a},
        ],
        options={"ftol": 1e-12, "maxiter": 300},
    )
    assert fitted.facts["loss"] / r.sum() <= other.fun * (1 + 1e-5)
    assert fitted.facts["kkt"] <= 1e-6


@few
@given(seeds, st.sampled_from(["accuracy", "misclassification"]))
def test_the_nearest_optimum_keeps_the_limits_and_none_is_nearer_to_where_it_starts(seed, mode):
    sample = drawn(seed, n=40)
    gamma = 50.0 if mode == "accuracy" else 1000.0
    technique = ZafarDI(mode=mode, gamma=gamma, optimum="nearest")
    fitted = technique.fit(sample, BLIND, np.random.default_rng(seed))
    start = np.random.default_rng(seed).uniform(size=len(fitted.model.w))
    value, gradient = objective(sample, 1.0)
    *_, r, a = parts(sample)
    rows = training_rows(sample, fit_design(sample, include_protected=False))
    trade = tradeoff(rows, 1.0)
    level = float(a @ fitted.model.w)
    assert abs(level) <= (1e-9 if mode == "accuracy" else max(1.1e-5, 1.1 * fitted.facts["least_covariance"]))
    if mode == "accuracy":
        bound = (1 + gamma) * fitted.facts["loss_unconstrained"] / r.sum()
        limit = {"fun": lambda w: bound - value(w), "jac": lambda w: -gradient(w)}
    else:
        turned, bounds = limits(trade, gamma)
        x = turned[:, np.newaxis] * rows.matrix().toarray()
        limit = {"fun": lambda w: x @ w - bounds, "jac": lambda _: x}
    assert np.min(limit["fun"](fitted.model.w)) >= -1e-6
    if fitted.status == "noop":
        return
    other = minimize(
        lambda w: 0.5 * np.sum((w - start) ** 2),
        fitted.model.w,
        jac=lambda w: w - start,
        method="SLSQP",
        constraints=[
            {"type": "ineq", **limit},
            {"type": "eq", "fun": lambda w: a @ w - level, "jac": lambda _: a},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert 0.5 * np.sum((fitted.model.w - start) ** 2) <= other.fun + 1e-5 * max(1.0, other.fun)
    assert fitted.facts["kkt"] <= 1e-6


def test_the_optimum_is_named_in_a_key_where_it_is_asked_for_alone():
    context = ReadContext(base=Path())
    (plain, _), (nearest, _) = read_entries(
        INTERVENTIONS,
        [{"zafar-di": {"mode": "accuracy"}}, {"zafar-di": {"mode": "accuracy", "optimum": "nearest"}}],
        {},
        context,
    )
    assert "optimum" not in plain.written
    assert nearest.written["optimum"] == "nearest"
    assert plain.build(INTERVENTIONS) == ZafarDI(mode="accuracy")


@few
@given(seeds)
def test_loss_falls_as_the_bound_on_covariance_rises(seed):
    sample = drawn(seed)
    most = abs(fit(sample).facts["covariance_unconstrained"])
    fits = [fit(sample, c=share, relative=True) for share in (0, 0.2, 0.5, 0.9, 1, 3)]
    losses = [fitted.facts["loss"] for fitted in fits]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(losses))
    assert [fitted.facts["c"] for fitted in fits[:3]] == pytest.approx([0, 0.2 * most, 0.5 * most])
    for slack in fits[4:]:
        assert slack.status == "noop"
        assert slack.facts["loss"] == slack.facts["loss_unconstrained"]


@few
@given(seeds)
def test_no_loss_to_give_leaves_the_model_without_constraint(seed):
    sample = drawn(seed)
    fitted = fit(sample, mode="accuracy", gamma=0.0)
    assert (fitted.status, fitted.facts["loss"]) == ("noop", fitted.facts["loss_unconstrained"])


def test_all_the_loss_to_give_means_no_covariance_at_the_least_loss():
    sample = drawn(1)
    accuracy, fairness = fit(sample, mode="accuracy", gamma=50.0), fit(sample, c=0.0)
    assert np.array_equal(accuracy.model.w, fairness.model.w)
    whole = fit(sample, mode="accuracy", gamma=1.0, relative=True)
    assert whole.facts["covariance"] == pytest.approx(0, abs=1e-9)
    half = fit(sample, mode="accuracy", relative=True)
    assert half.facts["loss"] == pytest.approx(
        (fairness.facts["loss"] + fairness.facts["loss_unconstrained"]) / 2, rel=1e-8
    )


@pytest.mark.parametrize("mode", ["fairness", "accuracy", "misclassification"])
@pytest.mark.parametrize("seed", range(3))
def test_twice_the_rows_at_half_the_weight_and_any_order_are_the_same(mode, seed):
    sample = drawn(seed, weighted=False)
    n = len(sample)
    plain = fit(sample, mode=mode).model.w
    twice = sample.take(np.tile(np.arange(n), 2))
    halved = fit(replace(twice, weights=np.full(2 * n, 0.5)), mode=mode).model.w
    turned = fit(sample.take(np.random.default_rng(seed).permutation(n)), mode=mode).model.w
    assert np.array_equal(plain, halved)
    assert np.array_equal(plain, turned)
    padded = replace(twice, weights=np.repeat([1.0, 0.0], n))
    assert np.array_equal(plain, fit(padded, mode=mode).model.w)


@pytest.mark.gate
@pytest.mark.parametrize("mode", ["fairness", "accuracy", "misclassification"])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_any_sample_has_a_finite_answer(mode, l2):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sample = drawn(seed, n=int(rng.integers(2, 12)))
        if seed % 4 == 0:  # separable: y follows from age
            sample = replace(sample, y=(sample.features["age"] > 1).astype(np.int8))
        if seed % 5 == 0:
            sample = replace(sample, weights=sample.weights * 10.0 ** rng.integers(-6, 7))
        nearest = {"optimum": "nearest"} if seed % 3 == 0 and mode != "fairness" else {}
        technique = ZafarDI(mode=mode, l2=l2, **nearest)
        fitted = technique.fit(sample, replace(BLIND, include_protected=seed % 2 == 0), RNG)
        assert np.isfinite(fitted.model.w).all()
        assert np.isfinite(list(fitted.facts.values())).all()
        assert set(fitted.predict(sample).tolist()) <= {0, 1}
        assert (fitted.status == "ok") == (fitted.reason == "")


@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_without_constraint_it_is_a_logistic_regression_on_numbers_as_they_are(l2):
    draw = np.random.default_rng(0)
    raw = np.stack([draw.integers(0, 900, 400), draw.integers(0, 2, 400)], axis=1).astype(float)
    y = (draw.random(400) < expit(raw[:, 0] / 200 - 2 + raw[:, 1])).astype(int)
    frame = pd.DataFrame(raw, columns=["wage", "b"]).assign(s=draw.integers(0, 2, 400), y=y)
    train = of_numbers(frame, ["wage", "b"])
    fitted = fit(train, mode="none", l2=l2, scale=False)
    assert (fitted.status, fitted.reason) == ("ok", "")
    theirs = LogisticRegression(C=1 / max(l2, 1e-12), solver="newton-cholesky", tol=1e-10).fit(raw, y)
    np.testing.assert_allclose(fitted.scores(train), theirs.predict_proba(raw)[:, 1], atol=1e-6)
    if l2:
        assert np.abs(fit(train, mode="none", l2=l2).scores(train) - fitted.scores(train)).max() > 1e-3


def test_one_outcome_or_one_group_leaves_nothing_to_do():
    sample = drawn(3)
    for y in (0, 1):
        constant = fit(replace(sample, y=np.full(len(sample), y, np.int8)))
        assert constant.status == "noop"
        assert "same outcome" in constant.reason
        assert (constant.predict(sample) == y).all()
    lone = fit(sample.take(np.flatnonzero(sample.s == 1)))
    assert (lone.status, lone.reason) == ("noop", "only one group has rows")


def test_without_features_every_row_is_the_majority():
    bare = replace(drawn(4), weights=None)
    bare = replace(bare, features=bare.features.without("job", "age", "pay"))
    fitted = fit(bare)
    assert (fitted.predict(bare) == (bare.y.mean() > 0.5)).all()


def test_a_pure_level_that_pays_the_covariance_is_told():
    n = 4000
    rng = np.random.default_rng(0)
    s = (rng.random(n) < 0.5).astype(np.int16)
    skill = np.where(rng.random(n) < 0.4 + 0.4 * s, 1, 0).astype(np.int16)
    y = (rng.random(n) < 0.2 + 0.5 * skill).astype(np.int8)
    rare = np.zeros(n, dtype=np.int16)
    rare[np.flatnonzero((s == 1) & (y == 0))[:5]] = 1
    columns = (Column("sex", ("f", "m")), Column("skill", ("0", "1")), Column("rare", ("0", "1")))
    table = Table(columns, np.asfortranarray(np.stack([s, skill, rare], axis=1)))
    sample = Sample(table, "sex", y, s.astype(np.int8))
    literal, penalised = fit(sample, l2=0.0), fit(sample)
    assert (literal.status, literal.reason[:16]) == ("degraded", "quasi-separation")
    assert literal.facts["largest_decision"] > 50
    assert literal.facts["loss"] < literal.facts["loss_unconstrained"] * 1.001
    assert penalised.status == "ok"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "accuracy", "c": 0.1}, "c has no effect in mode accuracy"),
        ({"mode": "fairness", "gamma": 0.1}, "gamma has no effect in mode fairness"),
        ({"mode": "misclassification", "relative": True}, "relative has no effect"),
        ({"mode": "fairness", "optimum": "nearest"}, "optimum has no effect in mode fairness"),
    ],
)
def test_a_parameter_of_another_mode_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ZafarDI(**parameters)


def figures(sample, **parameters):
    """The loss, accuracy, disparity and the two error rates' differences on the training rows themselves."""
    fitted = fit(sample, **parameters)
    counts = count(sample.s, sample.y, fitted.predict(sample), ("deprived", "favoured"))
    names = ("accuracy", "discrimination", "overestimation", "underestimation")
    assert fitted.facts["kkt"] <= 1e-6
    return fitted, [round(float(measure(name, counts)), 4) for name in names]


def near(values, expected):
    assert values[: len(expected)] == pytest.approx(expected, abs=6e-5)


@pytest.mark.nightly
def test_adult_without_penalty(tmp_path):
    adult = adult_58(tmp_path)
    assert fit_design(adult, include_protected=False).width == 58
    blind, values = figures(adult, c=0.0, l2=0.0)
    assert blind.facts["loss_unconstrained"] == pytest.approx(14780.019, abs=1e-3)
    assert blind.facts["covariance_unconstrained"] == pytest.approx(0.381539, abs=1e-6)
    assert blind.facts["loss"] == pytest.approx(17335.629, abs=1e-3)
    assert blind.reason.startswith("quasi-separation")  # 72 rows of Preschool
    near(values, [0.8356, 0.0515, -0.0122, -0.2142])
    some, values = figures(adult, c=0.1, l2=0.0)
    assert some.facts["loss"] == pytest.approx(16098.102, abs=1e-3)
    near(values, [0.8409, 0.0768])
    for gamma, c, expected in ((0.05, 0.16439, [0.8440, 0.1041]), (0.1, 0.08516, [0.8396, 0.0697])):
        accuracy, values = figures(adult, mode="accuracy", gamma=gamma, l2=0.0)
        assert accuracy.facts["covariance"] == pytest.approx(c, abs=1e-5)
        assert accuracy.facts["loss"] == pytest.approx((1 + gamma) * 14780.019, abs=0.01)
        near(values, expected)
    degenerate, values = figures(adult, mode="accuracy", gamma=0.5, l2=0.0)
    assert np.array_equal(degenerate.model.w, blind.model.w)


@pytest.mark.nightly
def test_adult_misclassification(tmp_path):
    fitted, values = figures(adult_58(tmp_path), mode="misclassification", l2=0.01)
    assert fitted.facts["least_covariance"] == pytest.approx(0, abs=1e-7)
    assert fitted.facts["loss"] / fitted.facts["loss_unconstrained"] == pytest.approx(1.357, abs=1e-3)
    assert fitted.facts["favoured_accepted_before"] == pytest.approx(7933)
    assert fitted.facts["favoured_accepted"] == pytest.approx(8867)
    assert fitted.facts["favoured_newly_rejected"] == 0
    assert values[:2] == pytest.approx([0.813, 0.053], abs=6e-4)


def test_compas(tmp_path):
    fitted, _ = figures(compas_9(tmp_path), l2=0.0)
    assert fitted.facts["loss_unconstrained"] == pytest.approx(3259.186, abs=1e-3)
    assert fitted.facts["loss"] == pytest.approx(3626.988, abs=1e-3)
    _, values = figures(compas_9(tmp_path), mode="misclassification", l2=0.01)
    assert values[:2] == pytest.approx([0.544, 0.029], abs=6e-4)


def test_dutch():
    dutch = sample_of("dutch")
    fitted, values = figures(dutch, l2=0.0)
    assert fitted.facts["loss_unconstrained"] == pytest.approx(24834.344, abs=1e-3)
    assert fitted.facts["loss"] == pytest.approx(29204.885, abs=1e-3)
    near(values, [0.7731, 0.0308])
    _, values = figures(dutch, mode="accuracy", gamma=0.05, l2=0.0)
    near(values, [0.8126, 0.1299])
    _, values = figures(dutch, mode="misclassification", l2=0.01)
    assert values[:2] == pytest.approx([0.750, 0.025], abs=6e-4)


def test_the_slope_of_a_loss_that_pulls_is_that_of_its_value():
    sample = drawn(0)
    rows = training_rows(sample, fit_design(sample, include_protected=False))
    w, towards = np.random.default_rng(0).normal(size=(2, rows.width))
    loss = Logistic(rows, 0.5, towards=towards, pull=0.7)
    slope = approx_fprime(w, lambda at: loss.value(at, rows.times(at)), 1e-7)
    assert loss.gradient(w, rows.times(w)) == pytest.approx(slope, abs=1e-5)
