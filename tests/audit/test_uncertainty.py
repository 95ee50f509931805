"""Intervals cover, tests are statsmodels' and scipy's, and every stream is its own."""

import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from audit_counts import Cells, compas, one, slice_of, tally_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.judge import judge
from fairbench_cli.audit.judge.metrics import SHOWN
from fairbench_cli.audit.judge.references import REST, both_parts
from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.uncertainty import Uncertainty, bootstrap, closed_forms, uncertainty
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.intervals import difference_interval, ratio_interval, wilson
from fairbench_cli.measures.significance import fisher, holm, two_proportions

AUDITS = 1000
NAMES = SHOWN

table = st.tuples(st.integers(1, 400), st.integers(1, 400)).flatmap(
    lambda below: st.tuples(
        st.integers(0, below[0]), st.just(below[0]), st.integers(0, below[1]), st.just(below[1])
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


def coverage(method: str, reference: int) -> dict[tuple[str, str], float]:
    """Share of intervals that hold the truth, by kind and metric, over `AUDITS` audits."""
    rng = np.random.default_rng(2018)
    at = np.full(len(NAMES), reference)
    hits: dict[tuple[str, str], list[float]] = defaultdict(list)
    others = [g for g in range(3) if g != reference]
    for _ in range(AUDITS):
        p, n = simulated_audit(rng)
        if method == "bootstrap":
            found = bootstrap(n, NAMES, at, 400, 0.95, rng)
        else:
            found = closed_forms(n, NAMES, at, 0.95)
        above, below, ref_above, ref_below = both_parts(p, NAMES, at)
        rate, ref = divide(above, below), divide(ref_above, ref_below)
        truths = {"rate": rate, "ratio": rate / ref, "difference": rate - ref}
        for kind, truth in truths.items():
            low, high = getattr(found, kind)
            held = np.where(np.isnan(low), np.nan, (low <= truth + 1e-12) & (truth - 1e-12 <= high))
            for m, name in enumerate(NAMES):
                hits[kind, name] += held[:, m].tolist() if kind == "rate" else held[others, m].tolist()
    return {key: float(np.nanmean(values)) for key, values in hits.items()}


@pytest.mark.parametrize("reference", [0, REST])
@pytest.mark.parametrize("method", ["bootstrap", "closed forms"])
def test_95_percent_intervals_cover_95_percent(method: str, reference: int) -> None:
    covered = coverage(method, reference)
    worst, best = min(covered.values()), max(covered.values())
    assert 0.93 <= worst <= best <= 0.97, covered


# The closed forms and tests are those of others.


@given(table)
def test_closed_forms_are_statsmodels(found: tuple[int, int, int, int]) -> None:
    above, below, ref_above, ref_below = found
    expected = proportion_confint(above, below, method="wilson")
    assert [float(limit) for limit in wilson(above, below)] == pytest.approx(expected, abs=1e-12)
    expected = confint_proportions_2indep(
        above, below, ref_above, ref_below, compare="diff", method="newcomb"
    )
    assert [float(limit) for limit in difference_interval(*found)] == pytest.approx(expected, abs=1e-9)


@given(table)
def test_a_ratio_is_a_limit_when_the_difference_it_makes_has_the_limit_zero(
    found: tuple[int, int, int, int],
) -> None:
    # The definition (Donner and Zou 2012): p - ratio * q, with both variances recovered, has the limit 0.
    above, below, ref_above, ref_below = found
    if not above or not ref_above:
        return
    p, q = above / below, ref_above / ref_below
    (p_low, p_high), (q_low, q_high) = wilson(above, below), wilson(ref_above, ref_below)
    low, high = ratio_interval(*found)
    assert p - low * q == pytest.approx(np.hypot(p - p_low, low * (q_high - q)), rel=1e-6, abs=1e-9)
    assert high * q - p == pytest.approx(np.hypot(p_high - p, high * (q - q_low)), rel=1e-6, abs=1e-9)


@given(table)
def test_the_z_and_fisher_tests_are_statsmodels_and_scipys(found: tuple[int, int, int, int]) -> None:
    above, below, ref_above, ref_below = found
    exact = fisher_exact([[above, below - above], [ref_above, ref_below - ref_above]]).pvalue
    assert fisher(*found) == pytest.approx(exact, rel=1e-6)
    hits, total = above + ref_above, below + ref_below
    if min(hits, total - hits) * min(below, ref_below) >= 5 * total:
        expected = proportions_ztest([above, ref_above], [below, ref_below])[1]
        assert float(two_proportions(*found)[1]) == pytest.approx(expected, rel=1e-9)
    else:
        assert float(two_proportions(*found)[1]) == fisher(*found)


@settings(max_examples=20)  # statsmodels takes 40 ms each
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(p: list[float]) -> None:
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


# The family.


def p_values(audit: Report, measure: str) -> list[tuple[float, float]]:
    return [(one.p, one.p_holm) for one in audit.disparities if one.metric == measure]


def test_complements_share_one_test_and_count_once() -> None:
    audit = judge(compas(), AuditConfig(draws=0))
    np.testing.assert_equal(p_values(audit, "fpr"), p_values(audit, "tnr"))
    once = [
        one
        for one in audit.disparities
        if one.metric in ("selection-rate", "fpr", "fnr", "fdr", "for", "accuracy")
    ]
    tests = [(one.p, one.p_holm) for one in once if not one.is_reference]
    assert len(tests) == 6 * 8  # five groups of race, one of sex, two of age
    adjusted = multipletests([p for p, _ in tests], method="holm")[1]
    np.testing.assert_allclose([p_holm for _, p_holm in tests], adjusted)


def test_each_model_and_decision_is_a_family() -> None:
    part = compas().slices[0]
    alone = judge(tally_of(part), AuditConfig(draws=0))
    both = judge(tally_of(part, replace(part, model="other")), AuditConfig(draws=0))
    np.testing.assert_equal(p_values(both, "fpr")[: len(part.rows)], p_values(alone, "fpr"))


def test_shares_of_a_list_have_no_test() -> None:
    assert np.isnan(p_values(judge(compas(), AuditConfig(draws=0)), "selected-share")).all()


def test_evidence() -> None:
    groups: dict[str, Cells] = {"a": (900, 20, 80, 900), "b": (300, 2, 40, 8), "c": (9, 9, 2, 2)}
    audit = judge(one(groups), AuditConfig(draws=0))
    found = {(one.group, one.metric): one.evidence for one in audit.disparities}
    assert found["b", "selection-rate"] == "beyond chance"
    assert found["b", "tpr"] == "within chance"
    assert found["b", "fpr"] == "too few to tell"  # ten negatives
    assert found["c", "selection-rate"] == "too few to tell"  # 22 rows
    assert found["a", "selection-rate"] == ""


# The bootstrap itself.


def limits(found: Uncertainty) -> Floats:
    return np.array([found.rate, found.ratio, found.difference])


def test_same_seed_same_intervals_and_each_slice_its_own_stream() -> None:
    race, sex = compas().slices[:2]
    at = np.zeros(len(NAMES), dtype=np.intp)
    first = limits(uncertainty(race, NAMES, at, AuditConfig()))
    np.testing.assert_equal(first, limits(uncertainty(race, NAMES, at, AuditConfig())))
    assert not np.array_equal(
        first, limits(uncertainty(race, NAMES, at, AuditConfig(seed=1))), equal_nan=True
    )
    audits = [judge(tally_of(*parts), AuditConfig(draws=50)) for parts in ((race, sex), (sex,))]
    rows = [[row for row in audit.groups if row.attribute == "sex"] for audit in audits]
    assert rows[0] == rows[1]


def test_bootstrap_and_closed_forms_agree_on_many_rows() -> None:
    n = slice_of({"a": (3000, 2000, 2500, 4000), "b": (2000, 2500, 1500, 4000)}).counts.n
    at = np.zeros(len(NAMES), dtype=np.intp)
    drawn = limits(bootstrap(n, NAMES, at, 4000, 0.95, np.random.default_rng(5)))[:, :, 1]
    np.testing.assert_allclose(drawn, limits(closed_forms(n, NAMES, at, 0.95))[:, :, 1], atol=0.006)


def test_no_width_is_zero_at_zero_and_at_all() -> None:
    audit = judge(one({"a": (60, 20, 30, 50), "b": (40, 0, 0, 40)}), AuditConfig())
    b = next(row for row in audit.groups if row.group == "b")
    for name in ("fpr", "fdr", "tpr", "ppv"):
        assert 0.05 < b.metrics[name].high - b.metrics[name].low < 0.15


def test_small_groups_do_not_change_the_draws_of_others() -> None:
    n = slice_of(
        {"a": (60, 20, 30, 50), "b": (40, 30, 20, 40), "c": (1, 0, 0, 1), "d": (0, 1, 1, 0)}
    ).counts.n
    pooled = np.concatenate([n[:2], n[2:].sum(0, keepdims=True)])
    at = np.zeros(len(NAMES), dtype=np.intp)
    four, three = (
        limits(bootstrap(part, NAMES, at, 99, 0.95, np.random.default_rng(7))) for part in (n, pooled)
    )
    np.testing.assert_equal(four[:, :, :2], three[:, :, :2])


def test_very_many_groups_take_closed_forms() -> None:
    groups: dict[str, Cells] = {f"g{i:04}": (20, 20, 20, 20) for i in range(300)}
    n = slice_of(groups).counts.n
    at = np.zeros(len(NAMES), dtype=np.intp)
    found = limits(bootstrap(n, NAMES, at, 1000, 0.95, np.random.default_rng(7)))
    np.testing.assert_equal(found, limits(closed_forms(n, NAMES, at, 0.95)))


def test_compas_with_1000_draws_is_quick() -> None:
    tally = compas()
    judge(tally, AuditConfig())
    start = time.process_time()
    judge(tally, AuditConfig())
    assert time.process_time() - start < 0.3  # 0.02 s on an idle core
