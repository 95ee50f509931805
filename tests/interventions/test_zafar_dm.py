"""Zafar et al.'s disparate mistreatment: feasible, optimal, and what was measured before."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.optimize import brentq, minimize, minimize_scalar
from techniques_data import reads
from zafar_data import adult_58, sample_of

from fairbench_cli.classifiers.builders import Tree
from fairbench_cli.classifiers.fit import Classifier
from fairbench_cli.data.table import Column, Sample, Table
from fairbench_cli.interventions.disparate_mistreatment import ZafarDM, direct, procedure
from fairbench_cli.interventions.mistreatment import constant, kkt, problem
from fairbench_cli.measures.counts import count
from fairbench_cli.measures.registry import measure

CLASSIFIER = Classifier(Tree(), include_protected=False, seed=0)
constraints = st.sampled_from(["fpr", "fnr", "both"])


def arrays(seed, n=150, features=3, grid=False):
    """Rows whose outcome and features follow the group; on a grid many rows are the same."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x = rng.integers(0, 3, (n, features)) + 0.0 if grid else rng.normal(size=(n, features))
    x[:, 0] += 0.8 * s
    score = x @ rng.normal(size=features) + s
    y = rng.random(n) < 1 / (1 + np.exp(np.median(score) - score))
    y[:4], s[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    return np.column_stack([x, np.ones(n)]), y.astype(np.int8), s.astype(np.int8)


PROBLEMS = {"seed": st.integers(0, 9999), "constraint": constraints, "grid": st.booleans()}
PROBLEMS["average"] = st.sampled_from(["label", "group"])


def loss(x, y, w, l2):
    """Mean loss, written out again."""
    return np.mean(np.log1p(np.exp(-(2 * y - 1) * (x @ w)))) + l2 * (w[:-1] @ w[:-1]) / (2 * len(y))


def disparity(x, y, s, w, rate, average="label"):
    """F of funcs_disp_mist.py, written out again: its last version, or the paper's."""
    rows = y == (rate == "fnr")
    favoured, g = s[rows] == 1, np.minimum(0, ((2 * y - 1) * (x @ w))[rows])
    of = s[rows] if average == "label" else s
    n, n0, n1 = len(of), (of == 0).sum(), (of == 1).sum()
    return (n0 / n * g[favoured].sum() - n1 / n * g[~favoured].sum()) / n


def rates(constraint):
    return ("fpr", "fnr") if constraint == "both" else (constraint,)


def stated(x, y, s, constraint, l2=1.0, weights=None, average="label"):
    weights = np.ones(len(y)) if weights is None else weights
    return problem(x, y, s, weights, constraint, l2, average)[0]


def unconstrained(made):
    """Minimise the loss by a method of scipy's."""
    found = minimize(
        lambda w: made.loss(w, made.x @ w),
        np.zeros(made.x.shape[1]),
        jac=lambda w: made.gradient(w, made.x @ w),
        hess=lambda w: made.hessian(made.x @ w),
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    return found.x


@law(40)
@given(**PROBLEMS, l2=st.sampled_from([0.01, 1, 5]))
def test_a_problem_states_what_the_paper_does(seed, constraint, grid, l2, average):
    x, y, s = arrays(seed, grid=grid)
    made = stated(x, y, s, constraint, l2, average=average)
    w = np.random.default_rng(seed).normal(size=4)
    d = made.x @ w
    assert made.loss(w, d) == pytest.approx(loss(x, y, w, l2))
    assert made.disparities(d) == pytest.approx(
        [disparity(x, y, s, w, rate, average) for rate in rates(constraint)], abs=1e-12
    )
    step = 1e-6 * np.eye(4)
    numeric = [(loss(x, y, w + e, l2) - loss(x, y, w - e, l2)) / 2e-6 for e in step]
    assert made.gradient(w, d) == pytest.approx(numeric, abs=1e-7)


@law(40)
@given(**PROBLEMS, threshold=st.sampled_from([0, 0.001, 0.01]))
def test_the_direct_solution_is_feasible_and_optimal(seed, constraint, grid, threshold, average):
    x, y, s = arrays(seed, grid=grid)
    made = stated(x, y, s, constraint, average=average)
    free = unconstrained(made)
    solution = direct(made, free, threshold)
    assert solution.trouble == ""
    assert solution.residual <= 1e-6
    for rate in rates(constraint):
        assert abs(disparity(x, y, s, solution.w, rate, average)) <= threshold + 1e-8
    most = loss(x, y, constant(made, threshold), 1)
    assert loss(x, y, free, 1) - 1e-9 <= loss(x, y, solution.w, 1) <= most + 1e-9


@law(40)
@given(seed=st.integers(0, 9999), rate=st.sampled_from(["fpr", "fnr"]), grid=st.booleans())
def test_with_one_feature_it_is_one_of_the_minima_that_all_directions_have(seed, rate, grid):
    """F is of degree 1 in w, so F = 0 is a bundle of rays in the plane: try them all."""
    x, y, s = arrays(seed, n=40, features=1, grid=grid)
    made = stated(x, y, s, rate)
    solution = direct(made, unconstrained(made), 0.0)

    def f(angle):
        return disparity(x, y, s, np.array([np.cos(angle), np.sin(angle)]), rate)

    kinks = np.arctan2(-x[:, 0], x[:, 1])
    angles = np.unique(np.concatenate([np.linspace(-np.pi, np.pi, 30), kinks, kinks + np.pi]))
    values = np.array([f(angle) for angle in angles])
    if np.sum(np.abs(values) < 1e-15) > 4:
        return  # F = 0 in whole sectors, as where nobody is predicted wrongly: more rays than can be tried
    rays = list(angles[np.abs(values) < 1e-15])
    rays += [
        brentq(f, angles[i], angles[i + 1], xtol=1e-15) for i in np.flatnonzero(values[:-1] * values[1:] < 0)
    ]
    minima = []
    for angle in rays:
        ray = np.array([np.cos(angle), np.sin(angle)])
        minima.append(minimize_scalar(lambda t, ray=ray: loss(x, y, t * ray, 1), bounds=(0, 60)).fun)
    mine = loss(x, y, solution.w, 1)
    assert mine >= min(minima) - 1e-6
    assert min(abs(mine - one) for one in minima) < 1e-6


@law(40)
@given(seed=st.integers(0, 9999), constraint=constraints)
def test_every_end_is_stationary_or_says_that_it_is_not(seed, constraint):
    # On a grid many kinks meet, where a stationary point need not be a minimum.
    made = stated(*arrays(seed, grid=True), constraint)
    end = direct(made, unconstrained(made), 0.0)
    assert (end.residual <= 1e-6) == (end.trouble == "")
    assert end.residual == kkt(made, end.w, 0.0)


@law(40)
@given(seed=st.integers(0, 9999), constraint=st.sampled_from(["fpr", "fnr"]))
def test_no_feasible_point_nearby_is_better(seed, constraint):
    x, y, s = arrays(seed, grid=False)
    made = stated(x, y, s, constraint)
    w = direct(made, unconstrained(made), 0.0).w
    mine, rng = loss(x, y, w, 1), np.random.default_rng(seed)
    for scale in (1e-5, 1e-6):  # further off, across other kinks, there may be another minimum
        for _ in range(20):
            near, way = w + scale * rng.normal(size=4), rng.normal(size=4)

            def f(t, near=near, way=way):
                return disparity(x, y, s, near + t * way, constraint)

            if f(-5 * scale) * f(5 * scale) < 0:
                there = near + brentq(f, -5 * scale, 5 * scale, xtol=1e-14) * way
                assert loss(x, y, there, 1) >= mine - 1e-10


@pytest.mark.gate
@law(40)
@given(seed=st.integers(0, 9999), constraint=constraints)
def test_weights_are_repeated_rows_and_groups_can_be_swapped(seed, constraint):
    x, y, s = arrays(seed, n=80)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    weighted = stated(x, y, s, constraint, weights=times + 0.0)
    repeated = stated(*(np.repeat(a, times, axis=0) for a in (x, y, s)), constraint)
    assert weighted.ridge == repeated.ridge
    for name in ("negatives", "positives", "up", "down"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-15)
    swapped = stated(x, y, 1 - s, constraint, weights=times + 0.0)
    assert swapped.up == pytest.approx(-weighted.up, abs=1e-15)
    ends = [direct(made, unconstrained(made), 0.0) for made in (weighted, swapped)]
    losses = [weighted.loss(end.w, weighted.x @ end.w) for end in ends]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


@pytest.mark.gate
@pytest.mark.parametrize("constraint", ["fpr", "fnr", "both"])
def test_the_procedure_keeps_the_constraint_and_seldom_ends_better(constraint):
    # F has many minima: neither way finds the best of them always.
    gaps = []
    for seed in range(20):
        x, y, s = arrays(seed, n=400)
        made = stated(x, y, s, constraint)
        free = unconstrained(made)
        end, best = procedure(made, free, 0.0), direct(made, free, 0.0)
        assert np.abs(made.disparities(made.x @ end.w)).max() <= 1e-8
        gaps.append(loss(x, y, end.w, 1) - loss(x, y, best.w, 1))
    assert np.mean(np.array(gaps) > -1e-4) >= 0.8
    assert np.mean(gaps) > 0


def test_the_residual_tells_optimal_from_nearly_optimal():
    x, y, s = arrays(1)
    made = stated(x, y, s, "both")
    w = direct(made, unconstrained(made), 0.0).w
    assert kkt(made, w, 0.0) <= 1e-8
    assert kkt(made, w + 1e-3, 0.0) > 1e-5
    assert kkt(made, unconstrained(made), 0.0) == pytest.approx(0, abs=1e-7)  # all multipliers 0
    assert kkt(made, constant(made), 0.0) > 1e-3
    flat = replace(made, up=0 * made.up, down=0 * made.down)  # where no multiplier has an effect
    assert kkt(flat, w, 0.0) == pytest.approx(np.abs(made.gradient(w, made.x @ w)).max())


def sample(cells, seed=0, weights=None):
    """Rows with the given cell sizes (s, y) = 00, 01, 10, 11; features follow the label and the group."""
    rng = np.random.default_rng(seed)
    s, y = np.repeat(np.array([(0, 0), (0, 1), (1, 0), (1, 1)]), cells, axis=0)[rng.permutation(sum(cells))].T
    wage = tuple(float(v) for v in range(10))
    columns = (
        Column("job", tuple("abcd")),
        Column("sex", ("f", "m")),
        Column("wage", tuple(map(str, range(10))), "bins", wage),
        Column("age", tuple(map(str, range(10))), "number", wage),
    )
    codes = [rng.integers(0, 3, len(s)) + s, s, rng.integers(0, 8, len(s)) + 2 * y]
    codes.append(rng.integers(0, 9, len(s)) + s)
    table = Table(columns, np.asfortranarray(np.stack(codes, axis=1).astype(np.int16)))
    return Sample(table, "sex", y.astype(np.int8), s.astype(np.int8), weights)


def fitted(train, classifier=CLASSIFIER, **fields):
    return ZafarDM(**fields).fit(train, classifier, np.random.default_rng(0))


@law(40)
@given(
    cells=st.tuples(*[st.integers(0, 25)] * 4).filter(lambda four: sum(four) > 0),
    constraint=constraints,
    threshold=st.sampled_from([0, 0.005]),
    l2=st.sampled_from([0, 1]),
    solver=st.sampled_from(["direct", "direct", "ccp"]),
    seed=st.integers(0, 99),
)
def test_any_sample_gives_a_model(cells, constraint, threshold, l2, solver, seed):
    train = sample(cells, seed)
    fit = fitted(train, constraint=constraint, threshold=threshold, l2=l2, solver=solver)
    assert (fit.reason == "") == (fit.status == "ok")
    assert all(math.isfinite(value) and type(value) in (int, float) for value in fit.facts.values())
    assert set(fit.predict(sample((5, 5, 5, 5))).tolist()) <= {0, 1}
    for name in ("F_fpr", "F_fnr"):
        assert abs(fit.facts.get(name, 0)) <= threshold + 1e-8
    if fit.facts and l2:
        assert fit.facts["loss"] >= fit.facts["loss_unconstrained"] - 1e-6
        assert solver == "ccp" or fit.facts["kkt"] <= 1e-6


def test_a_wide_threshold_changes_nothing():
    train = sample((40, 20, 30, 60))
    wide, tight = fitted(train, threshold=9.0), fitted(train)
    assert (wide.status, wide.reason) == ("noop", "the model without constraint is the answer")
    assert wide.facts["loss"] == wide.facts["loss_unconstrained"] == tight.facts["loss_unconstrained"]
    assert tight.status == "ok"
    assert tight.facts["loss"] > wide.facts["loss"] + 1e-3


def test_what_nothing_constrains_is_said():
    for cells, constraint, status, reason in (
        ((0, 20, 20, 20), "fpr", "degraded", "a group has no row with the unfavourable outcome, so nothing"),
        ((20, 0, 20, 20), "both", "degraded", "a group has no row with the favourable outcome, so nothing"),
        ((20, 20, 0, 0), "both", "noop", "only one group has rows"),
        ((20, 0, 20, 0), "both", "noop", "every training row has the same outcome"),
    ):
        fit = fitted(sample(cells), constraint=constraint)
        assert fit.status == status
        assert fit.reason.startswith(reason)
    assert "F_fnr" not in fitted(sample((20, 0, 20, 20))).facts
    assert fitted(sample((20, 0, 20, 0))).predict(sample((2, 2, 2, 2))).sum() == 0
    assert fitted(sample((0, 20, 0, 20))).predict(sample((2, 2, 2, 2))).sum() == 8


def test_the_default_is_the_covariance_of_the_paper():
    """Equation 9 of arXiv:1610.08452: the mean of (z - mean z) g over all rows."""
    x, y, s = arrays(7)
    w = np.random.default_rng(7).normal(size=x.shape[1])
    signed = (2 * y - 1) * (x @ w)
    for rate in ("fpr", "fnr"):
        g = np.where(y == (rate == "fnr"), np.minimum(0, signed), 0)
        covariance = np.mean((s - s.mean()) * g)
        assert disparity(x, y, s, w, rate, ZafarDM().average) == pytest.approx(covariance, abs=1e-12)


def test_rows_on_the_border_are_favourable():
    model = fitted(sample((20, 20, 20, 20))).model
    rows = sample((3, 3, 3, 3))
    assert (replace(model, w=0 * model.w).predict(rows) == 1).all()
    far = np.zeros_like(model.w)
    far[-1] = -1e-8
    assert (replace(model, w=far).predict(rows) == 0).all()


def test_the_classifier_decides_who_sees_the_protected_attribute():
    train = sample((40, 20, 30, 60))
    for seen in (False, True):
        model = fitted(train, Classifier(Tree(), seen, 0)).model
        assert reads(model, train, "sex") == seen


def test_order_and_weights_of_rows():
    train, twice = sample((40, 20, 30, 60)), np.arange(150) % 2 + 1
    back = train.take(np.arange(150)[::-1])
    assert fitted(train).facts == fitted(back).facts
    weighted = replace(train, weights=twice + 0.0)
    repeated = train.take(np.repeat(np.arange(150), twice))
    assert fitted(weighted).facts == pytest.approx(fitted(repeated).facts, rel=1e-6, abs=1e-8)


def test_quasi_separation_is_said():
    train = sample((400, 200, 300, 600))
    codes = train.features.codes.copy()
    codes[:, 0] = np.where(train.y == 1, 0, 1)
    apart = replace(train, features=Table(train.features.columns, codes))
    fit = fitted(apart, l2=1e-18, threshold=9.0)
    assert fit.facts["largest_decision"] > 10
    assert ("quasi-separation" in fit.reason) == (fit.facts["largest_decision"] > 50)


@pytest.mark.parametrize(
    "wrong", [{"constraint": "all"}, {"threshold": -1}, {"l2": -1}, {"l2": math.inf}, {"solver": "dccp"}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValidationError):
        TypeAdapter(ZafarDM).validate_python(wrong)


@pytest.fixture(scope="module")
def adult58(tmp_path_factory):
    """All complete rows of Adult: five numbers, 52 levels (one country against all others), the intercept."""
    return adult_58(tmp_path_factory.mktemp("adult"))


@pytest.mark.parametrize(
    ("constraint", "mean_loss", "figures"),
    [
        ("fpr", 0.33241, (0.8436, 0.0272, -0.104)),
        ("fnr", 0.33209, (0.8453, 0.0394, -0.057)),
        ("both", 0.33390, (0.8437, 0.0207, -0.124)),
    ],
)
def test_adult(adult58, constraint, mean_loss, figures):
    """Measured before by another implementation, which penalised the intercept too."""
    fit = fitted(adult58, constraint=constraint, average="label")
    assert fit.status == "ok"
    assert fit.facts["kkt"] <= 1e-6
    model, n = fit.model, len(adult58)
    assert (n, model.design.width) == (45_222, 58)
    penalty = 0.5 * model.w[:-1] @ model.w[:-1]
    assert (fit.facts["loss"] - penalty) / n == pytest.approx(mean_loss, abs=2e-5)
    assert fit.facts["loss_unconstrained"] / n == pytest.approx(0.327124, abs=1e-6)
    counts = count(adult58.s, adult58.y, fit.predict(adult58), ("Female", "Male"))
    got = [measure(name, counts) for name in ("accuracy", "overestimation", "underestimation")]
    assert got[:2] == pytest.approx(figures[:2], abs=3e-4)
    assert got[2] == pytest.approx(figures[2], abs=3e-3)


@pytest.mark.nightly
@pytest.mark.parametrize("constraint", ["fpr", "fnr", "both"])
def test_compas(constraint):
    train = sample_of("compas", "race")
    ends = {solver: fitted(train, constraint=constraint, solver=solver) for solver in ("direct", "ccp")}
    assert [fit.status for fit in ends.values()] == ["ok", "ok"]
    assert ends["direct"].facts["kkt"] <= 1e-6
    direct_loss, published_loss = (fit.facts["loss"] / len(train) for fit in ends.values())
    assert direct_loss < published_loss < direct_loss * 1.01
    losses = [fitted(train, constraint=constraint, threshold=t).facts["loss"] for t in (0, 0.005, 0.01, 0.02)]
    assert losses == sorted(losses, reverse=True)
