"""Intervals cover, tests are statsmodels' and scipy's, and the family is that of the whole audit."""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from audit_counts import compas, one, slice_of, tally_of
from conftest import law, worlds
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from fairbench_cli.audit.build_report import judge
from fairbench_cli.audit.compare.compare_rates import difference_limits, rate_limits
from fairbench_cli.audit.compare.effective_sizes import rate_rows
from fairbench_cli.audit.compare.random_numbers import stream
from fairbench_cli.audit.compare.references import REST, rates_and_references
from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import SHOWN
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.score_test import difference_interval, ratio_interval, wilson_interval
from fairbench_cli.measures.significance import fisher, holm, two_proportions

NAMES = SHOWN

table = st.tuples(st.integers(1, 400), st.integers(1, 400)).flatmap(
    lambda denominator: st.tuples(
        st.integers(0, denominator[0]),
        st.just(denominator[0]),
        st.integers(0, denominator[1]),
        st.just(denominator[1]),
    )
)


def simulated_audit(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw three groups of about 50 to 300 rows with rates of .1 to .9: their probabilities, and counts."""
    size = rng.uniform(50, 300, 3)
    prev, tpr, fpr = rng.uniform(0.1, 0.9, (3, 3))
    p = np.array([[(1 - prev) * (1 - fpr), (1 - prev) * fpr], [prev * (1 - tpr), prev * tpr]])
    p = p.transpose(2, 0, 1) * (size / size.sum())[:, None, None]
    n = rng.multinomial(round(size.sum()), p.ravel()).reshape(p.shape).astype(np.float64)
    return p, n


def coverage(reference: int, audits: Iterable[int]) -> dict[tuple[str, str], float]:
    """Share of intervals that hold the truth, by kind and metric, over some audits."""
    rng = np.random.default_rng(2018)
    at = np.full(len(NAMES), reference)
    hits: dict[tuple[str, str], list[float]] = defaultdict(list)
    others = [g for g in range(3) if g != reference]
    empty = slice_of(dict.fromkeys("abc", (0, 0, 0, 0)))
    for _ in audits:
        p, n = simulated_audit(rng)
        part = replace(empty, counts=replace(empty.counts, n=n), cell_rows=n.astype(np.int64), squares=n)
        rows, ref = rate_rows(part, NAMES, at)
        found = {
            "rate": rate_limits(NAMES, rows, 0.95),
            "ratio": ratio_interval(rows.numerator, rows.denominator, ref.numerator, ref.denominator, 0.95),
            "difference": difference_limits(NAMES, rows, ref, 0.95),
        }
        numerator, denominator, ref_numerator, ref_denominator = rates_and_references(p, NAMES, at)
        rate, ref = divide(numerator, denominator), divide(ref_numerator, ref_denominator)
        truths = {"rate": rate, "ratio": rate / ref, "difference": rate - ref}
        for kind, truth in truths.items():
            low, high = found[kind]
            held = np.where(np.isnan(low), np.nan, (low <= truth + 1e-12) & (truth - 1e-12 <= high))
            for m, name in enumerate(NAMES):
                hits[kind, name] += held[:, m].tolist() if kind == "rate" else held[others, m].tolist()
    return {key: float(np.nanmean(values)) for key, values in hits.items()}


@pytest.mark.parametrize("reference", [0, REST])
def test_95_percent_intervals_cover_95_percent(reference: int) -> None:
    audits = worlds(2000)
    covered, error = coverage(reference, audits), 3 * (0.05 * 0.95 / len(audits)) ** 0.5
    worst, best = min(covered.values()), max(covered.values())
    assert 0.945 - error <= worst <= best <= 0.955 + error, covered


# The closed forms and tests are those of others.


@given(table)
def test_closed_forms_are_statsmodels(found: tuple[int, int, int, int]) -> None:
    numerator, denominator, ref_numerator, ref_denominator = found
    expected = proportion_confint(numerator, denominator, method="wilson")
    assert [float(limit) for limit in wilson_interval(numerator, denominator)] == pytest.approx(
        expected, abs=1e-12
    )
    expected = confint_proportions_2indep(
        numerator, denominator, ref_numerator, ref_denominator, compare="diff", method="newcomb"
    )
    assert [float(limit) for limit in difference_interval(*found)] == pytest.approx(expected, abs=1e-9)


def test_shares_of_a_list_that_one_group_has_alone_are_as_if_independent() -> None:
    part = slice_of({"a": (30, 0, 0, 10), "b": (0, 0, 0, 20)}, labelled=False)
    rows, ref = rate_rows(part, ("selected-share",), np.array([0]))
    low, high = difference_limits(("selected-share",), rows, ref, 0.95)
    expected = confint_proportions_2indep(0, 30, 30, 30, compare="diff", method="newcomb")
    assert (low[1, 0], high[1, 0]) == pytest.approx(expected, abs=1e-9)


@given(table)
def test_the_z_and_fisher_tests_are_statsmodels_and_scipys(found: tuple[int, int, int, int]) -> None:
    numerator, denominator, ref_numerator, ref_denominator = found
    exact = fisher_exact(
        [[numerator, denominator - numerator], [ref_numerator, ref_denominator - ref_numerator]]
    ).pvalue
    assert fisher(*found) == pytest.approx(exact, rel=1e-6)
    hits, total = numerator + ref_numerator, denominator + ref_denominator
    if min(hits, total - hits) * min(denominator, ref_denominator) >= 5 * total:
        expected = proportions_ztest([numerator, ref_numerator], [denominator, ref_denominator])[1]
        assert float(two_proportions(*found)[1]) == pytest.approx(expected, rel=1e-9)
    else:
        assert float(two_proportions(*found)[1]) == fisher(*found)


@pytest.mark.gate
@law(20)  # statsmodels takes 40 ms each
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


# The family.


def p_values(audit: Report, measure: str) -> list[tuple[float, float]]:
    return [(one.p, one.p_holm) for one in audit.disparities if one.metric == measure]


def test_complements_share_one_test_and_count_once() -> None:
    audit = judge(compas(), AuditConfig(draws=0))
    np.testing.assert_equal(p_values(audit, "fpr"), p_values(audit, "tnr"))
    decide = [found for found in audit.disparities if found.deciding]
    assert {found.metric for found in decide} == {"selection-rate", "fpr", "fnr", "fdr", "for"}
    assert audit.family == len(decide) == 5 * 8  # five groups of race, one of sex, two of age
    adjusted = multipletests([found.p for found in decide], method="holm")[1]
    np.testing.assert_allclose([found.p_holm for found in decide], adjusted)


@pytest.mark.gate
def test_the_family_is_what_decides() -> None:
    tally = compas()
    assert judge(tally, AuditConfig(metrics=("fpr",))).family == 8
    assert judge(tally, AuditConfig(metrics=("fpr", "tnr"))).family == 8
    assert judge(tally, AuditConfig(metrics=("fpr", "phi"), failing_metrics=("sex:tpr",))).family == 8 + 1
    assert judge(tally, AuditConfig(metrics=("fpr",), ref_method="rest")).family == 6 + 2 + 3
    # The reference is chosen from the data: every pair of groups.
    audit = judge(tally, AuditConfig(metrics=("fpr",), ref_method="maximum"))
    assert audit.family == 15 + 1 + 3
    part = tally.slices[0]
    both = judge(tally_of(part, replace(part, model="other")), AuditConfig(metrics=("fpr",)))
    assert both.family == 2 * 5


def test_what_does_not_decide_is_adjusted_too_and_changes_nothing() -> None:
    tally = compas()
    every = {row: row.p_holm for row in judge(tally, AuditConfig()).disparities if row.metric == "accuracy"}
    p = [found.p for found in judge(tally, AuditConfig()).disparities if not found.is_reference]
    assert all(np.isnan(one.p) or adjusted >= one.p for one, adjusted in every.items())
    assert len(p) == 8 * 11
    one_metric = judge(tally, AuditConfig(metrics=("accuracy",)))
    decide = [found for found in one_metric.disparities if found.deciding]
    adjusted = multipletests([found.p for found in decide], method="holm")[1]
    np.testing.assert_allclose([found.p_holm for found in decide], adjusted)


def test_streams_are_their_own() -> None:
    drawn = [stream(*place).random() for place in ((0, "a"), (0, "a"), (1, "a"), (0, "a", ""))]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_no_width_is_zero_at_zero_and_at_all() -> None:
    audit = judge(one({"a": (60, 20, 30, 50), "b": (40, 0, 0, 40)}), AuditConfig())
    b = next(row for row in audit.groups if row.group == "b")
    for name in ("fpr", "fdr", "tpr", "ppv"):
        assert 0.05 < b.metrics[name].high - b.metrics[name].low < 0.15
    found = next(row for row in audit.disparities if (row.group, row.metric) == ("b", "tpr"))
    assert found.ratio.low < found.ratio.value < found.ratio.high


def test_compas_is_judged_quickly() -> None:
    tally = compas()
    judge(tally, AuditConfig())
    start = time.process_time()
    judge(tally, AuditConfig())
    assert time.process_time() - start < 0.3  # 0.03 s on an idle core
