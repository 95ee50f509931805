"""Group thresholds: published optima, fairlearn's, and laws that any optimum keeps."""

import csv
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.interventions.post_processing import equal_odds
from fairbench_cli.measures.thresholds import (
    GroupPoints,
    Mixture,
    _constrained_rates,
    _errors,
    best_thresholds,
    convex_hull,
    group_points,
)

REFERENCE = Path(__file__).parent.parent / "reference/thresholds"
NAMES = {
    "none": ("none", "max"),
    "equalized_odds": ("equalised-odds", "max"),
    "equalized_odds_l1": ("equalised-odds", "sum"),
    "true_positive_rate_parity": ("tpr-parity", "max"),
    "false_positive_rate_parity": ("fpr-parity", "max"),
    "demographic_parity": ("demographic-parity", "max"),
}
DATASETS = ("adult", "compas")
CONSTRAINTS = ["demographic-parity", "tpr-parity", "fpr-parity", "equalised-odds"]


def rows_of(name, **only):
    with (REFERENCE / name).open(newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in only.items())]


def scored(rows, score):
    """Return score, label and weight of each kind of row, by group."""
    groups = defaultdict(lambda: ([], [], []))
    for row in rows:
        for y, label in enumerate(("neg", "pos")):
            for part, value in zip(groups[row["group"]], (row[score], y, row[label]), strict=True):
                part.append(float(value))
    return [[np.array(part) for part in groups[name]] for name in sorted(groups)]


@pytest.fixture(scope="module")
def scores():
    return {name: scored(rows_of("counts.csv", dataset=name), "score_milli") for name in DATASETS}


@pytest.fixture(scope="module")
def points(scores):
    return {name: [group_points(*group) for group in groups] for name, groups in scores.items()}


def check(solution, tolerance, shape):
    assert solution.violation <= tolerance + 1e-11
    assert solution.fpr.shape == solution.tpr.shape == solution.selection.shape == (shape,)
    for mixture in solution.mixtures:
        assert (mixture.weights > 0).all()
        assert mixture.weights.sum() == pytest.approx(1, abs=1e-15)
        assert (np.diff(mixture.thresholds) < 0).all()


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_optima(points, dataset):
    rows = rows_of("optima.csv", dataset=dataset)
    assert len(rows) == 62
    for row in rows:
        costs = (float(row["false_pos_cost"]), float(row["false_neg_cost"]))
        tolerance = float(row["tolerance"] or 0)
        constraint, norm = NAMES[row["constraint"]]
        solution = best_thresholds(points[dataset], constraint, tolerance, costs, norm)
        check(solution, tolerance, 2)
        assert solution.cost == pytest.approx(float(row["cost"]), abs=1e-11)
        assert solution.cost <= float(row["det_cost"]) + 1e-11
        if costs == (1, 1):
            assert solution.accuracy == pytest.approx(1 - solution.cost, abs=1e-12)
        if row["unique"] == "yes":
            found = [solution.fpr[0], solution.tpr[0], solution.fpr[1], solution.tpr[1]]
            expected = [float(row[name]) for name in ("fpr0", "tpr0", "fpr1", "tpr1")]
            assert found == pytest.approx(expected, abs=1e-11)
        if row["constraint"] == "none":
            assert [m.thresholds.tolist() for m in solution.mixtures] == [
                [float(row[name])] for name in ("det_t0", "det_t1")
            ]


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_frontier_of_demographic_parity(points, dataset):
    rows = rows_of("dp_frontier.csv", dataset=dataset)
    assert len(rows) == 50
    for row in rows:
        solution = best_thresholds(points[dataset], "demographic-parity", float(row["t"]))
        check(solution, float(row["t"]), 2)
        assert solution.accuracy == pytest.approx(float(row["best_accuracy_randomised"]), abs=1e-11)
        assert solution.accuracy >= float(row["best_accuracy_deterministic"]) - 1e-11


def test_three_groups():
    groups = [group_points(*group) for group in scored(rows_of("three_groups_counts.csv"), "score")]
    rows = rows_of("three_groups_optima.csv")
    assert len(rows) == 25
    for row in rows:
        constraint, norm = NAMES[row["constraint"]]
        solution = best_thresholds(groups, constraint, float(row["tolerance"]), norm=norm)
        check(solution, float(row["tolerance"]), 3)
        assert solution.cost * 350 == pytest.approx(float(row["errors"]), abs=1e-9)
        assert solution.cost * 350 <= float(row["det_errors"]) + 1e-9
        gaps = [np.abs(np.subtract.outer(rate, rate)) for rate in (solution.fpr, solution.tpr)]
        if constraint == "equalised-odds":
            between = sum(gaps) if norm == "sum" else np.maximum(*gaps)
            assert between.max() == pytest.approx(solution.violation, abs=1e-12)
        if row["unique"] == "yes":
            expected = [float(row[f"{rate}{k}"]) for rate in ("fpr", "tpr") for k in range(3)]
            assert [*solution.fpr, *solution.tpr] == pytest.approx(expected, abs=1e-9)


def test_equalised_odds_from_labels(scores):
    rows = rows_of("eqodds_from_labels.csv")
    assert len(rows) == 20
    for row in rows:
        labelled = [
            (score >= float(row["label_threshold_milli"]), y, w) for score, y, w in scores[row["dataset"]]
        ]
        solution = equal_odds([group_points(*group) for group in labelled], row["objective"].split()[0])
        check(solution, 0, 2)
        assert solution.accuracy == pytest.approx(float(row["accuracy"]), abs=1e-9)
        if row["objective"] != "accuracy":
            assert solution.cost == pytest.approx(1 - (float(row["tpr"]) - float(row["fpr"])), abs=1e-9)
        for k, mixture in enumerate(solution.mixtures):
            chance = [float(row[f"q{label}_{k}"]) for label in (0, 1)]
            assert mixture.chance([0, 1]) == pytest.approx(chance, abs=1e-9)
            assert solution.fpr[k] == pytest.approx(float(row["fpr"]), abs=1e-9)
            assert solution.tpr[k] == pytest.approx(float(row["tpr"]), abs=1e-9)


def test_no_grid_of_reject_options_is_better(points):
    """Its decisions are group thresholds; errors that cost 1/N and 1/P maximise its balanced accuracy."""
    rows = [row for row in rows_of("reject_option.csv", rule="grid sp") if row["dataset"] == "adult"]
    assert len(rows) == 2
    negatives, positives = (
        sum(getattr(group, label) for group in points["adult"]) for label in ("negatives", "positives")
    )
    n = negatives + positives
    for row in rows:
        costs = (n / negatives, n / positives)
        solution = best_thresholds(points["adult"], "demographic-parity", float(row["bound"]), costs)
        assert 1 - solution.cost / 2 >= float(row["balanced_accuracy"]) + 1e-4
        assert solution.violation <= float(row["bound"]) + 1e-12


FAIRLEARN = {
    "demographic-parity": "demographic_parity",
    "tpr-parity": "true_positive_rate_parity",
    "fpr-parity": "false_positive_rate_parity",
    "equalised-odds": "equalized_odds",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_fairlearn_is_never_better(scores, points, constraint):
    """Strict parity: fairlearn's grid costs it up to 2e-5 of accuracy (`library_check.csv`)."""
    post = pytest.importorskip("fairlearn.postprocessing")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Score(ClassifierMixin, BaseEstimator):
        """The score itself."""

        def fit(self, X, y):  # noqa: ARG002
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X):
            return np.asarray(X)[:, 0] >= 0.5

        def predict_proba(self, X):
            p = np.asarray(X)[:, 0]
            return np.stack([1 - p, p], axis=1)

    loses = []
    for dataset in DATASETS:
        parts = [(np.repeat(k, len(g[0])), *g) for k, g in enumerate(scores[dataset])]
        s, score, y, n = (np.concatenate(part) for part in zip(*parts, strict=True))
        s, score, y = (np.repeat(part, n.astype(int)) for part in (s, score, y))
        frame = pd.DataFrame({"score": score / 1000})
        theirs = post.ThresholdOptimizer(
            estimator=Score().fit(frame, y),
            constraints=FAIRLEARN[constraint],
            prefit=True,
            predict_method="predict_proba",
        ).fit(frame, y, sensitive_features=s)
        chance = theirs._pmf_predict(frame, sensitive_features=s)[:, 1]
        accuracy = np.where(y == 1, chance, 1 - chance).mean()
        loses.append(best_thresholds(points[dataset], constraint).accuracy - accuracy)
    assert min(loses) > -1e-9
    assert max(loses) < 2e-5


# Small groups: scores from few values, so that they tie; both labels in each.
a_row = st.tuples(st.integers(0, 6), st.integers(0, 1))
a_group = st.lists(a_row, min_size=2, max_size=30).filter(lambda rows: len({y for _, y in rows}) == 2)
some_groups = st.lists(a_group, min_size=1, max_size=3)
constraints = st.sampled_from([("none", "max"), ("equalised-odds", "sum"), *product(CONSTRAINTS, ["max"])])
some_costs = st.sampled_from([(1.0, 1.0), (1.0, 3.0), (2.5, 1.0), (0.0, 1.0), (1.0, 0.0)])
tolerances = st.sampled_from([0.0, 0.01, 0.1, 0.25, 1.0])


def points_of(group, weights=None):
    score, y = np.array(group).T
    return group_points(score, y, weights)


@law(30)
@given(group=a_group, weighted=st.booleans(), seed=st.integers(0, 99))
def test_the_hull_holds_all_points_and_has_no_point_too_many(group, weighted, seed):
    weights = np.random.default_rng(seed).random(len(group)) + 0.01 if weighted else None
    points = points_of(group, weights)
    corners = convex_hull(points)
    assert (np.interp(points.fp, *upper(corners)) >= points.tp - 1e-9).all()
    assert set(zip(corners.fp, corners.tp, strict=True)) <= set(zip(points.fp, points.tp, strict=True))
    assert (corners.fp[-1], corners.tp[-1]) == (points.negatives, points.positives)
    right, up = np.diff(corners.fp), np.diff(corners.tp)
    assert (right[:-1] * up[1:] < up[:-1] * right[1:]).all()  # each side is less steep than the one before
    again = convex_hull(corners)
    assert (again.thresholds == corners.thresholds).all()


def upper(corners):
    """Return the hull as a function of FP: of two points with one FP, the higher."""
    start = 1 if corners.fp[1] == corners.fp[0] else 0
    return corners.fp[start:], corners.tp[start:]


@law(30)
@given(groups=some_groups, held=constraints, tolerance=tolerances, costs=some_costs)
def test_no_thresholds_without_draws_are_better(groups, held, tolerance, costs):
    (constraint, norm), points = held, [points_of(group) for group in groups]
    solution = best_thresholds(points, constraint, tolerance, costs, norm)
    check(solution, tolerance, len(groups))
    best, total = np.inf, sum(map(len, groups))
    n, p = (np.array([getattr(g, label) for g in points]) for label in ("negatives", "positives"))
    for chosen in product(*(range(len(group.fp)) for group in points)):
        pairs = [(g.fp[k], g.tp[k]) for g, k in zip(points, chosen, strict=True)]
        fp, tp = np.array(pairs).T
        rates = {
            "none": np.zeros((1, len(points))),
            "demographic-parity": [(fp + tp) / (n + p)],
            "tpr-parity": [tp / p],
            "fpr-parity": [fp / n],
            "equalised-odds": [fp / n, tp / p],
        }[constraint]
        gaps = [np.abs(np.subtract.outer(rate, rate)) for rate in rates]
        if (sum(gaps) if norm == "sum" else np.max(gaps, axis=0)).max() <= tolerance + 1e-12:
            best = min(best, (costs[0] * fp.sum() + costs[1] * (p - tp).sum()) / total)
    assert solution.cost <= best + 1e-10


@law(30)
@given(groups=some_groups, held=constraints, costs=some_costs)
def test_more_tolerance_never_costs_more(groups, held, costs):
    points = [points_of(group) for group in groups]
    cost = [best_thresholds(points, held[0], t, costs, held[1]).cost for t in (0, 0.02, 0.1, 0.3, 2)]
    assert (np.diff(cost) <= 1e-10).all()
    assert cost[-1] == pytest.approx(best_thresholds(points, "none", 0, costs).cost, abs=1e-12)


@law(30)
@given(groups=some_groups, held=constraints, tolerance=tolerances, seed=st.integers(0, 99))
def test_order_copies_and_whole_weights_change_nothing(groups, held, tolerance, seed):
    rng = np.random.default_rng(seed)
    solutions = [
        best_thresholds(points, held[0], tolerance, norm=held[1])
        for points in (
            [points_of(group) for group in groups],
            [points_of(np.array(group)[rng.permutation(len(group))]) for group in groups],
            [points_of(group + group) for group in groups],
            [points_of(group, np.full(len(group), 2.0)) for group in groups],
        )
    ]
    first = solutions[0]
    for other in solutions[1:]:
        assert other.cost == pytest.approx(first.cost, abs=1e-12)
        for a, b in zip(first.mixtures, other.mixtures, strict=True):
            assert (a.thresholds == b.thresholds).all()
            assert b.weights == pytest.approx(a.weights, abs=1e-12)


def test_the_unit_of_costs_does_not_matter():
    points = [group_points([1, 2, 2, 3, 4], [0, 0, 1, 0, 1]), group_points([1, 2, 3, 3, 4], [0, 1, 0, 1, 1])]
    one, many = (best_thresholds(points, "equalised-odds", 0.1, (c, 3 * c)) for c in (1.0, 1e9))
    assert many.cost == pytest.approx(1e9 * one.cost)
    assert many.fpr == pytest.approx(one.fpr)


@law(30)
@given(groups=some_groups, held=constraints, tolerance=tolerances)
def test_the_mixtures_give_the_rates(groups, held, tolerance):
    solution = best_thresholds([points_of(group) for group in groups], held[0], tolerance, norm=held[1])
    for k, (group, mixture) in enumerate(zip(groups, solution.mixtures, strict=True)):
        score, y = np.array(group).T
        chance = mixture.chance(score)
        rates = [chance[y == 0].mean(), chance[y == 1].mean(), chance.mean()]
        expected = [solution.fpr[k], solution.tpr[k], solution.selection[k]]
        assert rates == pytest.approx(expected, abs=1e-11)


def test_weights_are_honoured():
    rng = np.random.default_rng(3)
    score, y, w = rng.integers(0, 9, (2, 60)), rng.integers(0, 2, (2, 60)), rng.random((2, 60)) + 0.1
    points = [group_points(*group) for group in zip(score, y, w, strict=True)]
    solution = best_thresholds(points, "demographic-parity", 0.02)
    chance = [m.chance(own) for m, own in zip(solution.mixtures, score, strict=True)]
    right = sum((own * np.where(y[k] == 1, chance[k], 1 - chance[k])).sum() for k, own in enumerate(w))
    assert solution.accuracy == pytest.approx(right / w.sum(), abs=1e-12)
    selected = [(own * chance[k]).sum() / own.sum() for k, own in enumerate(w)]
    assert solution.selection == pytest.approx(selected, abs=1e-12)
    assert abs(selected[0] - selected[1]) <= 0.02 + 1e-12


def test_of_equally_good_thresholds_those_that_need_no_draw_then_the_fairest():
    # Group 0: accepting the tied block costs nothing and gains nothing. Group 1 accepts half of its rows.
    ties = group_points([1, 2, 2, 3], [0, 0, 1, 1])
    half = group_points([1, 1, 2, 2], [0, 0, 1, 1])
    first, second = best_thresholds([ties, half], "tpr-parity", 1.0).mixtures
    assert (first.thresholds.tolist(), first.weights.tolist()) == ([2.0], [1.0])  # TPR 1 as the other group
    assert second.thresholds.tolist() == [2.0]
    assert best_thresholds([ties], "none").mixtures[0].thresholds.tolist() == [3.0]  # the highest


def test_many_groups_with_ties_are_quick():
    ties = group_points([1, 2, 2, 3], [0, 0, 1, 1])
    unlike = group_points([1, 1, 2, 2], [0, 1, 0, 1])
    for constraint in CONSTRAINTS:
        solution = best_thresholds([ties] * 14 + [unlike], constraint)
        assert solution.violation < 1e-11
        assert solution.cost >= (14 + 2) / 60 - 1e-12


def test_a_score_at_the_threshold_is_accepted_and_the_ends_accept_nobody_and_everybody():
    points = group_points([0.2, 0.4, 0.4], [0, 1, 0])
    assert points.thresholds.tolist() == [np.inf, 0.4, -np.inf]
    assert Mixture(points.thresholds[:1], np.ones(1)).chance([-9, 9]).tolist() == [0, 0]
    assert Mixture(points.thresholds[1:2], np.ones(1)).chance([0.4, 0.399]).tolist() == [1, 0]
    assert Mixture(points.thresholds[2:], np.ones(1)).chance([-9, 9]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("groups", "more", "message"),
    [
        ([], {}, "no group"),
        ([[(1, 0), (2, 0)]], {}, "no row with one of the labels"),
        ([[(1, 0), (2, 1)]], {"tolerance": -0.1}, "tolerance"),
        ([[(1, 0), (2, 1)]], {"tolerance": float("nan")}, "tolerance"),
        ([[(1, 0), (2, 1)]], {"costs": (0, 0)}, "costs"),
        ([[(1, 0), (2, 1)]], {"costs": (-1, 1)}, "costs"),
    ],
)
def test_what_is_refused(groups, more, message):
    with pytest.raises(ValueError, match=message):
        best_thresholds([points_of(group) for group in groups], **more)


@pytest.mark.parametrize(
    ("score", "message"), [([], "no rows"), ([1, np.nan], "finite"), ([1, np.inf], "finite")]
)
def test_scores_that_are_refused(score, message):
    with pytest.raises(ValueError, match=message):
        group_points(score, [0, 1][: len(score)])


@pytest.mark.parametrize(
    ("fp", "tp"), [([0, 1], [0, 2]), ([1, 2], [0, 1]), ([0, 2, 1, 2], [0, 1, 1, 1]), ([0, 2], [0, 0, 1])]
)
def test_points_out_of_order_are_refused(fp, tp):
    with pytest.raises(ValueError, match=r"points must|lower threshold|one length"):
        GroupPoints(np.array(fp, float), np.array(tp, float), 2.0, 1.0, -np.arange(len(fp), dtype=float))


# Without draws ---------------------------------------------------------------------------------------------


def two_groups(rng, n=40):
    return [
        group_points(rng.integers(0, 15, n) / 10, np.r_[0, 1, rng.integers(0, 2, n - 2)]) for _ in range(2)
    ]


@pytest.mark.parametrize("constraint", ["demographic-parity", "tpr-parity", "fpr-parity"])
def test_without_draws_the_cheapest_of_all_pairs_is_found(constraint):
    rng = np.random.default_rng(8)
    for tolerance in (0.01, 0.05, 0.2, 1.0):
        groups = two_groups(rng)
        found = best_thresholds(groups, constraint, tolerance, (1.0, 2.0), randomised=False)
        costs = [_errors(group, 1.0, 2.0) for group in groups]
        rates = [_constrained_rates(group, constraint, "max")[0] for group in groups]
        total = sum(group.negatives + group.positives for group in groups)
        fitting = np.abs(rates[0][:, None] - rates[1]) <= tolerance + 1e-12
        expected = (costs[0][:, None] + costs[1])[fitting].min() / total
        assert found.cost == pytest.approx(expected, abs=1e-9)
        assert found.violation <= tolerance + 1e-9
        assert [mixture.weights.tolist() for mixture in found.mixtures] == [[1.0], [1.0]]
        drawn = best_thresholds(groups, constraint, tolerance, (1.0, 2.0))
        assert drawn.cost <= found.cost + 1e-9


def test_without_draws_two_groups_are_held_at_one_rate():
    groups = two_groups(np.random.default_rng(9))
    for some, constraint in ((groups, "equalised-odds"), (groups + groups[:1], "tpr-parity")):
        with pytest.raises(ValueError, match="two groups are held at one rate"):
            best_thresholds(some, constraint, 0.0, randomised=False)
