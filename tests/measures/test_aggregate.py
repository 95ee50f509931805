"""More than two groups: pairs and what is made of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rates import rate_by_group
from fairbench_cli.measures.registry import METRICS, aggregate, measure, pair_groups

NAMES = ("a", "b", "c", "d")
full = arrays(np.float64, (4, 2, 2), elements=st.integers(1, 30))
AGAINST = ("pairs", "rest", "reference")


def pair(n, i, j):
    """Counts of group i (or groups) as the deprived and j as the favoured."""
    return Counts(("g", "f"), np.stack([n[np.atleast_1d(k)].sum(0) for k in (i, j)]))


@given(full)
def test_aggregates_are_loops_over_pairs(n):
    counts = Counts(NAMES, n, ("c",))
    others = {k: [i for i in range(4) if i != k] for k in range(4)}
    for against, chosen in (
        ("pairs", [(i, j) for i in range(4) for j in range(i + 1, 4)]),
        ("rest", [(i, others[i]) for i in range(4)]),
        ("reference", [(i, 2) for i in others[2]]),
    ):
        for name in ("discrimination", "overestimation", "equalised-odds", "comparative-sensitive-tpr"):
            values = [float(measure(name, pair(n, i, j))) for i, j in chosen]
            sizes = [n[i].sum() + (n[j].sum() if against == "pairs" else 0) for i, j in chosen]
            ideal = METRICS[name].ideal

            def found(how, name=name, against=against):
                return aggregate(name, counts, against, how)

            worst = max(abs(value - ideal) for value in values)
            assert abs(found("maximum") - ideal) == pytest.approx(worst)
            assert found("mean") == pytest.approx(sum(values) / len(values))
            assert found("weighted-mean") == pytest.approx(np.average(values, weights=sizes))


@given(full)
def test_two_groups_need_no_aggregate(n):
    two = Counts(NAMES[:2], n[:2])
    for name in ("discrimination", "impact-ratio", "mutual-information", "tpr-difference"):
        for how in ("maximum", "weighted-mean", "mean"):
            value = pytest.approx(measure(name, two))
            assert aggregate(name, two, "pairs", how) == value
            assert aggregate(name, two, "reference", how) == value


@given(full)
def test_the_pairwise_maximum_of_discrimination_is_the_spread_of_the_rates(n):
    counts = Counts(NAMES, n)
    spread = np.ptp(rate_by_group(counts, "selection-rate"))
    assert abs(aggregate("discrimination", counts)) == pytest.approx(spread)
    assert abs(aggregate("discrimination", counts, "rest")) <= spread + 1e-12


def test_ratios_are_compared_on_a_log_scale():
    rates = np.array([[[10.0, 0], [0, 30]], [[20, 0], [0, 20]], [[30, 0], [0, 10]]])  # .75, .5, .25
    counts = Counts(NAMES[:3], rates)
    # 3 and 1/3 are equally far from 1; the first stays.
    assert aggregate("impact-ratio", counts) == pytest.approx(3)
    assert aggregate("impact-ratio", replace(counts, reference=("a",)), "reference") == pytest.approx(1 / 3)
    nobody = Counts(NAMES[:3], np.array([*rates[:2], [[40.0, 0], [0, 0]]]))
    assert aggregate("impact-ratio", nobody) == math.inf


def test_friedlers_binary_and_average():
    rates = np.array([[[10.0, 0], [0, 30]], [[45, 0], [0, 15]], [[10, 0], [0, 30]]])
    counts = Counts(NAMES[:3], rates, ("c",))  # .75, .25, and .75 of the favoured
    assert measure("DIbinary", counts) == pytest.approx(0.45 / 0.75)
    assert measure("DIavgall", counts) == pytest.approx((1 + 1 / 3) / 2)
    assert measure("DIavgall", counts) == aggregate("impact-ratio", counts, "reference", "mean")
    assert measure("CV", counts) == pytest.approx(1 - 0.3)


@pytest.mark.parametrize("against", AGAINST)
def test_an_empty_group_is_left_out_and_all_empty_is_nan(against):
    n = np.random.default_rng(3).integers(1, 9, (4, 2, 2)).astype(float)
    n[1] = 0
    counts, without = Counts(NAMES, n, ("c",)), Counts(("a", "c", "d"), n[[0, 2, 3]], ("c",))
    for how in ("maximum", "weighted-mean", "mean"):
        for name in ("discrimination", "impact-ratio"):
            value = aggregate(name, counts, against, how)
            rest = aggregate(name, without, against, how)
            assert value == pytest.approx(rest)
            nothing = Counts(NAMES, np.zeros((4, 2, 2)), ("c",))
            assert np.isnan(aggregate(name, nothing, against, how))


@pytest.mark.parametrize("against", AGAINST)
def test_leading_axes_are_a_loop(against):
    n = np.random.default_rng(4).integers(0, 6, (3, 5, 4, 2, 2)).astype(float)
    for name in ("discrimination", "impact-ratio", "fdr-ratio"):
        for how in ("maximum", "weighted-mean", "mean"):

            def of(part, name=name, how=how):
                return aggregate(name, Counts(NAMES, part, ("c",)), against, how)

            np.testing.assert_allclose(of(n), [[of(part) for part in row] for row in n], rtol=1e-12)


def test_pairs_are_weighed_by_their_rows():
    n = np.arange(16.0).reshape(4, 2, 2)
    counts, sizes = Counts(NAMES, n, ("c",)), n.sum((1, 2))
    by = {against: pair_groups(counts, against) for against in AGAINST}
    assert len(by["pairs"][1]) == 6
    assert by["pairs"][1][0] == sizes[0] + sizes[1]
    assert (by["rest"][1] == sizes).all()
    assert (by["rest"][0].overall == n.sum(0)).all()
    assert by["reference"][1].tolist() == sizes[[0, 1, 3]].tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("discrimination", "reference"), "name of the reference"),
        (("acceptance-rate", "pairs", "maximum"), "no ideal value"),
        (("difference-of-means-p",), "no ideal value"),
    ],
)
def test_mistakes(arguments, message):
    name, *rest = arguments
    with pytest.raises(ValueError, match=message):
        aggregate(name, Counts(NAMES, np.ones((4, 2, 2))), *rest)
    with pytest.raises(ValueError, match="not among the groups"):
        Counts(NAMES, np.ones((4, 2, 2)), ("z",))


def test_one_group_has_no_pair():
    with pytest.raises(ValueError, match="two groups or more"):
        aggregate("discrimination", Counts(("all",), np.ones((1, 2, 2))))


@given(full)
def test_weighted_measures_are_means_over_the_other_groups_by_their_rows(n):
    counts = Counts(NAMES, n, ("c",))
    others = [i for i in range(4) if i != 2]
    for name in ("normalised-discrimination", "impact-ratio", "odds-ratio", "mutual-information"):
        values = [float(measure(name, pair(n, i, 2))) for i in others]
        expected = np.average(values, weights=[n[i].sum() for i in others])
        assert measure(f"{name}-weighted", counts) == pytest.approx(expected)
    # A mean of rates by rows is the rate of all these rows.
    assert measure("discrimination-weighted", counts) == pytest.approx(measure("discrimination", counts))


def test_weighted_measures_leave_groups_without_a_value_out():
    n = np.array([[[6.0, 0], [0, 2]], [[0, 0], [0, 0]], [[3, 0], [0, 1]], [[0, 0], [0, 4]]])
    counts = Counts(NAMES, n, ("d",))
    assert measure("impact-ratio-weighted", counts) == 0.25  # two groups of .25, one empty
    assert measure("odds-ratio-weighted", counts) == 0
    assert np.isnan(measure("discrimination-weighted", Counts(NAMES[:2], n[[1, 3]], ("b",))))
