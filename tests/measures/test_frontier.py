"""The best thresholds of two groups at every gap: golden optima, the linear programme, and laws."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.measures.counts import PAIR, Counts, count
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.thresholds import (
    HELD,
    GroupPoints,
    best_thresholds,
    convex_hull,
    frontier_of_hulls,
    group_points,
    points_of_counts,
    swept_counts,
)

GOLDENS = Path(__file__).parents[1] / "reference/thresholds"
COUNTS = pd.read_csv(GOLDENS / "counts.csv")
DATASETS = ("adult", "compas")
TOLERANCES = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.5, 1])
NAMES = {
    "demographic_parity": "demographic-parity",
    "true_positive_rate_parity": "tpr-parity",
    "false_positive_rate_parity": "fpr-parity",
    "equalized_odds": "equalised-odds",
}
METRICS = {
    "demographic-parity": "demographic-parity-difference",
    "tpr-parity": "tpr-spread",
    "fpr-parity": "fpr-spread",
    "equalised-odds": "equalised-odds",
}


def frontier(deprived, favoured, constraint, tolerances):
    """The frontier of two groups, from all their points."""
    return frontier_of_hulls((convex_hull(deprived), convex_hull(favoured)), constraint, tolerances)


def rows_of(dataset: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group, label and score of every row."""
    counts = COUNTS[COUNTS["dataset"] == dataset]
    group = (counts["group"] != counts["group"].min()).astype(int)
    times = np.concatenate([counts["neg"], counts["pos"]])
    columns = np.tile(group, 2), np.repeat([0, 1], len(counts)), np.tile(counts["score_milli"], 2)
    return tuple(np.repeat(column, times) for column in columns)


def both_points(s, y, score) -> tuple[GroupPoints, GroupPoints]:
    return tuple(group_points(score[s == group], y[s == group]) for group in (0, 1))


@pytest.fixture(scope="module", params=DATASETS)
def golden(request) -> tuple[str, tuple[GroupPoints, GroupPoints]]:
    return request.param, both_points(*rows_of(request.param))


def test_the_golden_frontier_of_demographic_parity(golden):
    dataset, points = golden
    wanted = pd.read_csv(GOLDENS / "dp_frontier.csv").set_index("dataset").loc[dataset]
    found = frontier(*points, "demographic-parity", wanted["t"])
    assert np.allclose(found.accuracy, wanted["best_accuracy_randomised"], rtol=0, atol=1e-9)
    assert (found.accuracy >= wanted["best_accuracy_deterministic"] - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_optima(golden, name):
    dataset, points = golden
    wanted = (
        pd.read_csv(GOLDENS / "optima.csv")
        .set_index(["dataset", "constraint"])
        .sort_index()
        .loc[dataset, name]
    )
    wanted = wanted.query("false_pos_cost == 1 and false_neg_cost == 1")
    assert len(wanted) >= 6
    found = frontier(*points, NAMES[name], wanted["tolerance"])
    assert np.allclose(found.accuracy, 1 - wanted["cost"], rtol=0, atol=1e-9)
    assert (found.gap <= wanted["tolerance"] + 1e-12).all()


@pytest.mark.parametrize(("dataset", "missed"), [("adult", 0.0011), ("compas", 0.0033)])
def test_a_sweep_of_51_rates_misses_little(dataset, missed):
    s, y, score = rows_of(dataset)
    swept = points_of_counts(swept_counts(s, y, score, PAIR))
    for constraint in HELD:
        exact = frontier(*both_points(s, y, score), constraint, TOLERANCES).accuracy
        found = frontier(*swept, constraint, TOLERANCES).accuracy
        assert (found <= exact + 1e-9).all()
        assert (found >= exact - missed).all()


def draw_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of both groups and labels with few distinct scores, at times worse than a coin."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 120))
    s, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    s[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    score = rng.integers(0, rng.integers(1, 12), n) + rng.integers(-2, 4) * y
    return s, y, score / 16


cases = st.integers(0, 2**32 - 1).map(draw_rows)


@given(cases, st.sampled_from(HELD), st.sampled_from([0.0, 0.01, 0.05, 0.1, 1 / 3]))
@law(100)
def test_it_is_the_linear_programmes(rows, constraint, tolerance):
    points = both_points(*rows)
    found = frontier(*points, constraint, [tolerance])
    best = best_thresholds(points, constraint, tolerance)
    assert found.accuracy[0] == pytest.approx(best.accuracy, abs=1e-9)
    assert found.gap[0] <= tolerance + 1e-12


@given(cases, st.sampled_from(HELD))
@law(60)
def test_laws(rows, constraint):
    s, y, score = rows
    points = both_points(*rows)
    tolerances = np.linspace(0, 1, 41)
    found = frontier(*points, constraint, tolerances)
    # More freedom is never worse, and pays less and less.
    steps = np.diff(found.accuracy)
    assert (steps >= -1e-12).all()
    assert all(b <= a + 1e-12 for a, b in pairwise(steps))
    # Without a bound: each group at its best.
    best = sum((own.negatives + own.tp - own.fp).max() for own in points) / len(y)
    assert found.accuracy[-1] == pytest.approx(best)
    # No pair of thresholds is above the line at its own gap.
    cuts = [np.inf, *np.unique(score)]
    pairs = [count(s, y, (score >= np.where(s == 0, a, b)).astype(int), PAIR) for a, b in product(cuts, cuts)]
    pairs = Counts(PAIR, np.array([one.n for one in pairs]))
    reached = frontier(*points, constraint, measure(METRICS[constraint], pairs)).accuracy
    assert (measure("accuracy", pairs) <= reached + 1e-12).all()
    # Neither the order of the groups nor points inside the hull matter.
    for other in (points[::-1], [convex_hull(own) for own in points]):
        assert np.allclose(frontier(*other, constraint, tolerances).accuracy, found.accuracy, atol=1e-12)


@given(cases, st.sampled_from(HELD[:-1]), st.floats(0, 1))
@law(60)
def test_the_draws_reach_what_is_promised(rows, constraint, tolerance):
    points = both_points(*rows)
    found = frontier(*points, constraint, [tolerance])
    n = []
    for own, draw in zip(points, found.draws, strict=True):
        (first,), (second,), (share,) = draw.first, draw.second, draw.share
        at = [own.thresholds.tolist().index(one) for one in (first, second)]
        fp, tp = ((1 - share) * one[at[0]] + share * one[at[1]] for one in (own.fp, own.tp))
        n.append([[own.negatives - fp, fp], [own.positives - tp, tp]])
    reached = Counts(PAIR, np.array(n))
    assert measure("accuracy", reached) == pytest.approx(found.accuracy[0], abs=1e-9)
    assert measure(METRICS[constraint], reached) == pytest.approx(found.gap[0], abs=1e-9)
    assert found.gap[0] <= tolerance + 1e-12


@given(cases)
@law(30)
def test_the_order_of_decisions_does_not_matter_and_bad_ones_are_left_out(rows):
    s, y, score = rows
    swept = swept_counts(s, y, score, PAIR)
    wrong = count(s, y, 1 - y, PAIR)
    wanted = points_of_counts(swept)
    shuffled = np.random.default_rng(0).permutation(len(swept.n) + 1)
    found = points_of_counts(Counts(PAIR, np.concatenate([swept.n, wrong.n[None]])[shuffled]))
    for own, other in zip(wanted, found, strict=True):
        assert np.array_equal(convex_hull(own).fp, convex_hull(other).fp)
        assert np.array_equal(convex_hull(own).tp, convex_hull(other).tp)


def test_sums_of_rounded_counts_are_points_too():
    """Over joint levels whose counts are rounded, acceptances may exceed the group by a billionth."""
    n = np.zeros((4, 2, 2, 2))
    n[1:, ..., 1] = [[[0.5, 1], [0.5, 1]], [[2 + 1e-9, 3], [2, 3 + 1e-9]], [[2, 3], [2, 3]]]
    n[..., 0] = [2, 3] - n[..., 1]
    for own in points_of_counts(Counts(PAIR, n)):
        assert (own.fp[-1], own.tp[-1]) == (2, 3)


def test_a_constant_score_leaves_the_choice_of_one_rate_for_each_group():
    s, y = np.repeat([0, 1], 10), np.tile([0, 0, 0, 0, 0, 0, 0, 1, 1, 1], 2)
    y[:6] = 1  # 9 of 10 are favourable in one group, 3 of 10 in the other
    points = points_of_counts(swept_counts(s, y, np.zeros(20), PAIR))
    assert [len(convex_hull(own).fp) for own in points] == [2, 2]
    for constraint in HELD:
        found = frontier(*points, constraint, [0, 0.5, 1])
        # At 0 both groups are accepted, 12 right; each at its best, 9 + 7 right.
        assert found.accuracy == pytest.approx([0.6, 0.7, 0.8])
        assert found.gap == pytest.approx([0, 0.5, 1])


def test_unknown_gaps_and_rates_without_rows_have_no_value():
    s, y = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1])
    points = both_points(s, y, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    for constraint in ("tpr-parity", "equalised-odds"):
        found = frontier(*points, constraint, [0.0, 1.0])
        assert np.isnan([found.accuracy, found.gap]).all()
    for constraint in ("demographic-parity", "fpr-parity"):
        assert not np.isnan(frontier(*points, constraint, [0.0, 1.0]).accuracy).any()
    complete = both_points(*draw_rows(0))
    for constraint in HELD:
        found = frontier(*complete, constraint, [np.nan, 1.0])
        assert np.isnan(found.accuracy).tolist() == np.isnan(found.gap).tolist() == [True, False]
