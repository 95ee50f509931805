"""More than two groups: pairs and what is made of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbench_cli.measures.aggregate import aggregate, pairs_of
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rates import selection_rate
from fairbench_cli.measures.registry import MEASURES, measure

NAMES = ("a", "b", "c", "d")
full = arrays(np.float64, (4, 2, 2), elements=st.integers(1, 30))
SCHEMES = ("pairwise", "one-against-rest", "reference", "binary")


def reference_of(scheme):
    return {"reference": "c"} if scheme in ("reference", "binary") else {}


def pair(n, i, j):
    """Counts of group i (or groups) as the deprived and j as the favoured."""
    return Counts(("g", "f"), np.stack([n[np.atleast_1d(k)].sum(0) for k in (i, j)]))


@settings(deadline=None)
@given(full)
def test_aggregates_are_loops_over_pairs(n):
    counts = Counts(NAMES, n)
    others = {k: [i for i in range(4) if i != k] for k in range(4)}
    for scheme, chosen in (
        ("pairwise", [(i, j) for i in range(4) for j in range(i + 1, 4)]),
        ("one-against-rest", [(i, others[i]) for i in range(4)]),
        ("reference", [(i, 2) for i in others[2]]),
        ("binary", [(others[2], 2)]),
    ):
        for name in ("discrimination", "overestimation", "equalised-odds", "tpr-comparison"):
            values = [float(measure(name, pair(n, i, j))) for i, j in chosen]
            sizes = [n[i].sum() + (n[j].sum() if scheme == "pairwise" else 0) for i, j in chosen]
            ideal = MEASURES[name].ideal

            def found(how, name=name, scheme=scheme):
                return aggregate(name, counts, scheme, how, **reference_of(scheme))

            worst = max(abs(value - ideal) for value in values)
            assert abs(found("maximum") - ideal) == pytest.approx(worst)
            assert found("mean") == pytest.approx(sum(values) / len(values))
            assert found("weighted-mean") == pytest.approx(np.average(values, weights=sizes))


@settings(deadline=None)
@given(full)
def test_two_groups_need_no_aggregate(n):
    two = Counts(NAMES[:2], n[:2])
    for name in ("discrimination", "impact-ratio", "mutual-information", "tpr-difference"):
        for how in ("maximum", "weighted-mean", "mean"):
            value = pytest.approx(measure(name, two))
            assert aggregate(name, two, "pairwise", how) == value
            assert aggregate(name, two, "reference", how, reference="b") == value
            assert aggregate(name, two, "binary", how, reference="b") == value


@settings(deadline=None)
@given(full)
def test_the_pairwise_maximum_of_discrimination_is_the_spread_of_the_rates(n):
    counts = Counts(NAMES, n)
    spread = np.ptp(selection_rate(counts))
    assert abs(aggregate("discrimination", counts)) == pytest.approx(spread)
    assert abs(aggregate("discrimination", counts, "one-against-rest")) <= spread + 1e-12


def test_ratios_are_compared_on_a_log_scale():
    rates = np.array([[[10.0, 0], [0, 30]], [[20, 0], [0, 20]], [[30, 0], [0, 10]]])  # .75, .5, .25
    counts = Counts(NAMES[:3], rates)
    # 3 and 1/3 are equally far from 1; the first stays.
    assert aggregate("impact-ratio", counts) == pytest.approx(3)
    assert aggregate("impact-ratio", counts, "reference", reference="a") == pytest.approx(1 / 3)
    nobody = Counts(NAMES[:3], np.array([*rates[:2], [[40.0, 0], [0, 0]]]))
    assert aggregate("impact-ratio", nobody) == math.inf


def test_friedlers_binary_and_average():
    rates = np.array([[[10.0, 0], [0, 30]], [[45, 0], [0, 15]], [[10, 0], [0, 30]]])
    counts = Counts(NAMES[:3], rates)  # .75, .25, and .75 of the favoured
    assert aggregate("impact-ratio", counts, "binary", reference="c") == pytest.approx(0.45 / 0.75)
    assert aggregate("impact-ratio", counts, "reference", "mean", "c") == pytest.approx((1 + 1 / 3) / 2)
    assert aggregate("cv", counts, "binary", reference="c") == pytest.approx(1 - 0.3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_empty_group_is_left_out_and_all_empty_is_nan(scheme):
    n = np.random.default_rng(3).integers(1, 9, (4, 2, 2)).astype(float)
    n[1] = 0
    counts, without = Counts(NAMES, n), Counts(("a", "c", "d"), n[[0, 2, 3]])
    for how in ("maximum", "weighted-mean", "mean"):
        for name in ("discrimination", "impact-ratio"):
            value = aggregate(name, counts, scheme, how, **reference_of(scheme))
            rest = aggregate(name, without, scheme, how, **reference_of(scheme))
            assert value == pytest.approx(rest)
            nothing = Counts(NAMES, np.zeros((4, 2, 2)))
            assert np.isnan(aggregate(name, nothing, scheme, how, **reference_of(scheme)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_leading_axes_are_a_loop(scheme):
    n = np.random.default_rng(4).integers(0, 6, (3, 5, 4, 2, 2)).astype(float)
    for name in ("discrimination", "impact-ratio", "fdr-ratio"):
        for how in ("maximum", "weighted-mean", "mean"):

            def of(part, name=name, how=how):
                return aggregate(name, Counts(NAMES, part), scheme, how, **reference_of(scheme))

            np.testing.assert_allclose(of(n), [[of(part) for part in row] for row in n], rtol=1e-12)


def test_pairs_are_named_and_weighed():
    n = np.arange(16.0).reshape(4, 2, 2)
    counts = Counts(NAMES, n)
    sizes = n.sum((1, 2))
    by = {scheme: pairs_of(counts, scheme, **reference_of(scheme)) for scheme in SCHEMES}
    assert by["pairwise"].names[0] == ("a", "b")
    assert len(by["pairwise"].names) == 6
    assert by["pairwise"].weights[0] == sizes[0] + sizes[1]
    assert by["one-against-rest"].names == tuple((name, "rest") for name in NAMES)
    assert (by["one-against-rest"].weights == sizes).all()
    assert by["reference"].names == (("a", "c"), ("b", "c"), ("d", "c"))
    assert by["binary"].names == (("rest", "c"),)
    for name in ("one-against-rest", "binary"):
        assert (by[name].counts.overall == n.sum(0)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("discrimination", "reference"), "need a reference"),
        (("discrimination", "pairwise", "maximum", "a"), "the others none"),
        (("discrimination", "binary", "maximum", "z"), 'no group "z"'),
        (("acceptance-rate", "pairwise", "maximum"), "no ideal value"),
        (("difference-of-means-p",), "no ideal value"),
    ],
)
def test_mistakes(arguments, message):
    name, *rest = arguments
    with pytest.raises(ValueError, match=message):
        aggregate(name, Counts(NAMES, np.ones((4, 2, 2))), *rest)


def test_one_group_has_no_pair():
    with pytest.raises(ValueError, match="two groups or more"):
        aggregate("discrimination", Counts(("all",), np.ones((1, 2, 2))))
