"""Evidence that is read at every look: its laws, numbers of another implementation, and fair worlds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law, most_by_chance, worlds
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import hypergeom, nchypergeom_fisher

from fairbench_cli.measures import sequential
from fairbench_cli.measures.sequential import (
    LOG_ODDS,
    WeightedRows,
    conditional_log_likelihood,
    exact_log_evidence,
    mix_starts,
    normal_log_evidence,
    ratio_looks,
    score_and_variance,
    weighted_ratio_looks,
)

GOLDEN = pd.read_csv(Path(__file__).parents[1] / "reference" / "inference" / "months.csv")
COUNTS = [
    GOLDEN[name].to_numpy()
    for name in ("selected_group", "rows_group", "selected_reference", "rows_reference")
]


def months_evidence(*counts, exact=True):
    if exact:
        return mix_starts(exact_log_evidence(conditional_log_likelihood(*counts)))
    return mix_starts(normal_log_evidence(*score_and_variance(*counts)))


def test_ten_months_are_those_of_another_implementation():
    evidence = months_evidence(*COUNTS)
    np.testing.assert_allclose(evidence.log_e, GOLDEN.log_e, atol=1e-6)
    from_each_start = exact_log_evidence(conditional_log_likelihood(*COUNTS))
    np.testing.assert_allclose(from_each_start[0], GOLDEN.log_e_from_first, atol=1e-6)
    np.testing.assert_allclose(evidence.p, GOLDEN.p, atol=1e-6)
    score, variance = score_and_variance(*COUNTS)
    np.testing.assert_allclose(np.cumsum(score), GOLDEN.score, atol=1e-6)
    np.testing.assert_allclose(np.cumsum(variance), GOLDEN.variance, atol=1e-6)
    np.testing.assert_allclose(normal_log_evidence(score, variance)[0], GOLDEN.log_e_normal, atol=1e-6)


@pytest.mark.parametrize(("n", "m", "selected"), [(10, 20, 9), (40, 90, 40), (150, 350, 150), (5, 300, 280)])
def test_the_likelihood_ratio_is_1_on_average_at_equal_odds(n, m, selected):
    x = np.arange(max(0, selected - m), min(n, selected) + 1)
    likelihood = conditional_log_likelihood(x, n, selected - x, m)
    law = hypergeom.pmf(x, n + m, n, selected)
    np.testing.assert_allclose(law @ np.exp(likelihood), 1.0, rtol=1e-11)


def test_the_likelihood_is_that_of_fishers_noncentral_law():
    theirs = [
        nchypergeom_fisher.logpmf(12, 130, 40, 45, odds) - hypergeom.logpmf(12, 130, 40, 45)
        for odds in np.exp(LOG_ODDS)
    ]
    np.testing.assert_allclose(conditional_log_likelihood(12, 40, 33, 90), theirs, atol=1e-8)


def whole_sum(x, n, y, m):
    """Return the same from all terms of the sum."""
    selected = x + y
    j = np.arange(max(0, selected - m), min(n, selected) + 1)
    law = hypergeom.logpmf(j, n + m, n, selected)
    return LOG_ODDS * x - logsumexp(law[None] + LOG_ODDS[:, None] * j, axis=1) + logsumexp(law)


@pytest.mark.parametrize(
    "counts",
    [(3000, 10_000, 9600, 30_000), (2, 40, 9000, 20_000), (19_900, 20_000, 300, 500), (0, 9000, 40, 9000)],
)
def test_terms_that_are_left_out_are_nothing(counts, monkeypatch):
    found = conditional_log_likelihood(*counts)
    np.testing.assert_allclose(found, whole_sum(*counts), rtol=1e-9, atol=1e-6)
    monkeypatch.setattr(sequential, "LONGEST_SUM", 0)
    sequential._log_normalisers.cache_clear()
    large = conditional_log_likelihood(*counts)
    sequential._log_normalisers.cache_clear()
    assert (large <= found + 1e-9).all()  # rounding never helps an alarm
    np.testing.assert_allclose(large, found, atol=2e-4)


def test_months_that_say_nothing_add_nothing():
    likelihood = conditional_log_likelihood([0, 0, 40, 3], [0, 40, 40, 5], [2, 0, 90, 0], [9, 90, 90, 0])
    assert not likelihood.any()
    score, variance = score_and_variance([0, 0, 40, 3], [0, 40, 40, 5], [2, 0, 90, 0], [9, 90, 90, 0])
    assert not score.any()
    assert not variance.any()
    evidence = mix_starts(exact_log_evidence(likelihood))
    np.testing.assert_allclose(evidence.log_e, 0.0, atol=1e-12)


months = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40), st.integers(0, 40)),
    min_size=1,
    max_size=8,
)


@law(60)
@given(months)
def test_a_look_is_not_changed_by_what_comes_later_and_p_never_rises(counts):
    selected, passed, ref_selected, ref_passed = np.array(counts, dtype=float).T
    columns = (selected, selected + passed, ref_selected, ref_selected + ref_passed)
    whole = months_evidence(*columns)
    half = months_evidence(*(column[: len(counts) // 2 + 1] for column in columns))
    np.testing.assert_allclose(whole.log_e[: len(half.log_e)], half.log_e, atol=1e-9)
    assert (np.diff(whole.p) <= 0).all()
    assert (whole.p <= 1).all()
    swapped = months_evidence(*(columns[side] for side in (2, 3, 0, 1)))
    np.testing.assert_allclose(swapped.log_e, whole.log_e, atol=1e-6)
    others = months_evidence(passed, columns[1], ref_passed, columns[3])
    np.testing.assert_allclose(others.log_e, whole.log_e, atol=1e-6)


def fair_months(rng, runs, n, m, rate, looks=24):
    rates = np.broadcast_to(rate, (runs, looks))
    return rng.binomial(n, rates), np.full(rates.shape, n), rng.binomial(m, rates), np.full(rates.shape, m)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("n", "m", "rate"), [(60, 140, 0.2), (15, 15, 0.5), (30, 270, np.linspace(0.05, 0.3, 24))]
)
def test_of_fair_worlds_at_most_one_in_twenty_ever_has_an_alarm(n, m, rate, exact):
    rng = np.random.default_rng(11)
    runs = len(worlds(2000))
    evidence = months_evidence(*fair_months(rng, runs, n, m, rate), exact=exact)
    assert (evidence.p[:, -1] <= 0.05).sum() <= most_by_chance(runs, 0.026)  # docs/verdicts.md
    assert np.exp(evidence.log_e[:, -1]).mean() <= 1.6  # 1, and its largest values are seldom drawn


def test_a_gap_that_begins_late_is_found_and_its_month_is_named():
    rng = np.random.default_rng(5)
    rate = np.where(np.arange(24) < 12, 0.3, 0.18)
    x, n, y, m = fair_months(rng, 200, 150, 350, 0.3)
    x = rng.binomial(n, np.broadcast_to(rate, n.shape))
    evidence = months_evidence(x, n, y, m)
    assert (evidence.p[:, 17] <= 0.05).mean() > 0.95
    assert np.median(evidence.start[:, 17]) == 12
    assert abs(evidence.start[:, 17] - 12).mean() < 1.5


def test_the_limits_of_a_ratio_hold_at_all_looks_and_shrink():
    rng = np.random.default_rng(8)
    for ratio in (0.7, 1.0):
        x, n, y, m = fair_months(rng, len(worlds(2000)), 150, 350, 0.3, 36)
        x = rng.binomial(n, 0.3 * ratio)
        looks = ratio_looks(x, n, y, m)
        missed = (np.abs(looks.log_evidence(ratio)) > np.log(20)).any(-1)
        assert missed.sum() <= most_by_chance(len(missed), 0.037)  # docs/verdicts.md
    low, high = looks.limits()
    assert (low < high).all()
    for limit in (low, high):
        evidence = np.abs(looks.log_evidence(limit))
        is_bounded = (limit > 0) & np.isfinite(limit)
        np.testing.assert_allclose(evidence[is_bounded], np.log(20), rtol=1e-4)
    assert ((high / low)[:, -1] < (high / low)[:, 5]).all()


def test_there_are_no_limits_before_five_are_selected_in_each_group():
    low, high = ratio_looks([2, 2, 9], [50] * 3, [20, 20, 20], [50] * 3).limits()
    assert low[:2].tolist() == [0, 0]
    assert np.isinf(high[:2]).all()
    assert 0 < low[2] < high[2] < np.inf


def test_limits_of_a_group_that_begins_at_the_last_look_stay_those_of_this_look():
    counts = np.array([[0, 0, 40, 60], [0, 0, 90, 120], [9, 9, 35, 50], [30, 30, 70, 90]])
    ended, went_on = ratio_looks(*counts[:, :3]), ratio_looks(*counts)
    assert ended.start_look.tolist() == 2
    np.testing.assert_allclose(ended.log_evidence(2.0), went_on.log_evidence(2.0)[:3], rtol=1e-12)
    assert ended.log_evidence(2.0)[-1] != 0


def heavy_months(rng, worlds: int, n: int, rate: float) -> WeightedRows:
    """Rows without weights, but for one of twenty selected, which weighs 20."""
    shape = (worlds, 60)
    n_selected = rng.binomial(n, np.full(shape, rate)).astype(float)
    heavy = rng.binomial(n_selected.astype(int), 0.05)
    selected = n_selected + 19 * heavy
    square = n_selected + 399 * heavy
    n_others = n - n_selected
    n_rows = np.full(shape, float(n))
    return WeightedRows(selected, selected + n_others, square, square + n_others, n_selected, n_rows)


def test_limits_hold_where_a_few_who_are_selected_are_heavy():
    rng = np.random.default_rng(9)
    for n, m, rate in ((50, 450, 0.1), (60, 140, 0.2)):
        runs = len(worlds(2000))
        rows = heavy_months(rng, runs, n, rate)
        ref_rows = heavy_months(rng, runs, m, rate)
        counts = (rows.n_selected, rows.n_rows, ref_rows.n_selected, ref_rows.n_rows)
        looks = weighted_ratio_looks(ratio_looks(*counts), rows, ref_rows)
        missed = (np.abs(looks.log_evidence(1.0)) > np.log(20)).any(-1)
        assert missed.sum() <= most_by_chance(runs, 0.045)  # docs/verdicts.md


def test_limits_of_weighted_rows_are_those_of_rows_where_weights_are_equal():
    looks = ratio_looks(*COUNTS)
    sides = []
    for selected, n_rows in (COUNTS[:2], COUNTS[2:]):
        sides.append(WeightedRows(3 * selected, 3 * n_rows, 9 * selected, 9 * n_rows, selected, n_rows))
    weighted = weighted_ratio_looks(looks, sides[0], sides[1])
    for limit, weighted_limit in zip(looks.limits(), weighted.limits(), strict=True):
        np.testing.assert_allclose(weighted_limit[-3:], limit[-3:], rtol=0.02)
