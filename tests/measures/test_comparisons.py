"""Rates and their comparisons: against loops over groups, over any number of groups."""

import itertools
import math

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from measures.swaps import MIRRORS

from fairbench_cli.measures.comparisons import COMPARISONS
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rates import CELLS, RATES, numerators_and_denominators, rate_by_group
from fairbench_cli.measures.registry import COUNT_METRICS, METRICS, measure

NAMES = ("a", "b", "c", "d")
four = arrays(np.float64, (4, 2, 2), elements=st.integers(0, 9))
RATED = [rate.name for rate in RATES.values() if not rate.of_all]


def by_hand(n, name):
    """The rate of one group from the definition of its cells, None where it has none."""
    rate = RATES[name]
    if rate.mean_of:
        each = [by_hand(n, one) for one in rate.mean_of]
        return None if None in each else sum(each) / len(each)
    cells = dict(zip(CELLS, n.ravel(), strict=True))
    denominator = sum(cells[cell] for cell in rate.denominator)
    return sum(cells[cell] for cell in rate.numerator) / denominator if denominator else None


def over(a, b):
    return None if None in (a, b) or a == b == 0 else math.inf if b == 0 else a / b


@law(60)
@given(four)
def test_comparisons_are_loops_over_groups(n):
    """c and d together are the reference."""
    counts = Counts(NAMES, n, ("c", "d"))
    for name in RATED:
        each = [by_hand(group, name) for group in n]
        known = [rate for rate in each if rate is not None]
        group, reference = by_hand(n[0] + n[1], name), by_hand(n[2] + n[3], name)
        both = None not in (group, reference)
        pairs = [abs(a - b) for a, b in itertools.combinations(known, 2)]
        quotients = [over(a, b) for a, b in itertools.permutations(known, 2)]
        apart = [rate - reference for rate in each[:2] if None not in (rate, reference)]
        ratios = [q for q in (over(rate, reference) for rate in each[:2]) if q is not None]
        logs = [abs(math.log(q)) if 0 < q < math.inf else math.inf for q in ratios]
        expected = {
            "difference": group - reference if both else None,
            "ratio": over(group, reference),
            "of-group": group,
            "of-reference": reference,
            "spread": max(pairs, default=None),
            "worst-ratio": min((q for q in quotients if q is not None), default=None),
            "mean-of-groups": sum(known) / len(known) if known else None,
            "mean-difference": sum(apart) / len(apart) if apart else None,
            "mean-ratio": sum(ratios) / len(ratios) if ratios else None,
            "farthest-difference": max(apart, key=abs, default=None),
            "farthest-ratio": ratios[logs.index(max(logs))] if ratios else None,
        }
        assert expected.keys() == COMPARISONS.keys() - {"z", "p"}
        for kind, value in expected.items():
            found = float(measure(f"{name}-{kind}", counts))
            want = math.nan if value is None else float(value)
            if kind.startswith("farthest") and not math.isnan(want):  # of equals any may be first
                assert abs(found) == pytest.approx(abs(want)) or found == pytest.approx(1 / want)
            else:
                assert found == pytest.approx(want, nan_ok=True, abs=1e-12), (name, kind)


@law(60)
@given(four)
def test_exact_parts_are_the_rates(n):
    names = [name for name in RATES if not RATES[name].mean_of]
    numerator, denominator = numerators_and_denominators(n, names)
    with np.errstate(invalid="ignore"):
        quotients = numerator / denominator
    for column, name in enumerate(names):
        np.testing.assert_array_equal(quotients[:, column], rate_by_group(Counts(NAMES, n), name), name)


def test_of_two_groups_the_comparisons_agree():
    n = np.random.default_rng(0).integers(1, 30, (50, 2, 2, 2)).astype(float)
    counts = Counts(("g", "r"), n)
    for rate in RATED:
        gap = measure(f"{rate}-difference", counts)
        np.testing.assert_array_equal(measure(f"{rate}-mean-difference", counts), gap)
        np.testing.assert_array_equal(measure(f"{rate}-farthest-difference", counts), gap)
        np.testing.assert_array_equal(measure(f"{rate}-spread", counts), np.abs(gap))
        quotient = measure(f"{rate}-ratio", counts)
        np.testing.assert_array_equal(measure(f"{rate}-mean-ratio", counts), quotient)
        np.testing.assert_allclose(measure(f"{rate}-worst-ratio", counts), np.minimum(quotient, 1 / quotient))


def test_the_order_of_the_groups_does_not_matter():
    n = np.random.default_rng(1).integers(1, 30, (4, 2, 2)).astype(float)
    order = [2, 0, 3, 1]
    one = Counts(NAMES, n, ("c",))
    other = Counts(tuple(NAMES[g] for g in order), n[order], ("c",))
    for name in COUNT_METRICS:
        assert measure(name, one) == pytest.approx(measure(name, other), nan_ok=True), name


@pytest.mark.parametrize("name", ["selection-rate", "ppr", "share"])
def test_what_needs_no_labels_says_so(name):
    n = np.random.default_rng(2).integers(1, 30, (2, 2, 2)).astype(float)
    moved = np.stack([n.sum(-2), np.zeros((2, 2))], axis=-2)  # all labels unfavourable
    for metric in METRICS.values():
        if metric.needs == "counts" and metric.on == "both":
            same = [measure(metric.name, Counts(("g", "r"), cells)) for cells in (n, moved)]
            assert same[0] == pytest.approx(same[1]), metric.name


def test_complements_and_mirrors_are_each_others():
    for rate in RATES.values():
        if rate.complement:
            assert RATES[rate.complement].complement == rate.name
            n = np.array([[3.0, 1], [2, 4]])
            assert by_hand(n, rate.name) + by_hand(n, rate.complement) == pytest.approx(1)
        if rate.name in MIRRORS:
            assert MIRRORS[MIRRORS[rate.name]] == rate.name
