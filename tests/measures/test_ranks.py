"""Mean ranks: scipy's ranks, and Friedman's and Nemenyi's tests where data sets are many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench_cli.measures.ranks import compare_ranks, rank_within

tables = st.tuples(st.integers(3, 8), st.integers(2, 6), st.integers(0, 2**32 - 1))


@given(tables)
def test_ranks_are_those_of_scipy(table: tuple[int, int, int]) -> None:
    n_cases, n_techniques, seed = table
    values = np.random.default_rng(seed).integers(0, 4, (n_cases, n_techniques)) / 10
    np.testing.assert_allclose(rank_within(values), stats.rankdata(values, axis=1))


@given(tables)
def test_the_order_of_techniques_and_of_data_sets_does_not_matter(table: tuple[int, int, int]) -> None:
    n_cases, n_techniques, seed = table
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_cases, n_techniques))
    ranks = compare_ranks(values, deals=200)
    columns = rng.permutation(n_techniques)
    np.testing.assert_allclose(compare_ranks(values[:, columns], deals=200).mean, ranks.mean[columns])
    np.testing.assert_allclose(compare_ranks(values[rng.permutation(n_cases)], deals=200).mean, ranks.mean)
    assert ranks.mean.sum() == pytest.approx(n_techniques * (n_techniques + 1) / 2)
    low, high = ranks.limits
    assert (low >= 1).all()
    assert (high <= n_techniques).all()
    assert 0 < ranks.p <= 1


@pytest.mark.parametrize(("n_cases", "n_techniques"), [(40, 6), (100, 10), (60, 3)])
def test_of_many_data_sets_the_tests_are_friedmans_and_nemenyis(n_cases: int, n_techniques: int) -> None:
    rng = np.random.default_rng(n_cases)
    values = rng.normal(size=(n_cases, n_techniques)) + 0.1 * np.arange(n_techniques)
    ranks = compare_ranks(values)
    friedman = stats.friedmanchisquare(*values.T)
    assert ranks.p == pytest.approx(friedman.pvalue, abs=0.02)
    # Demšar (2006), section 3.2.2.
    quantile = stats.studentized_range.ppf(0.95, n_techniques, np.inf) / np.sqrt(2)
    nemenyi = quantile * np.sqrt(n_techniques * (n_techniques + 1) / (6 * n_cases))
    assert ranks.critical_difference == pytest.approx(nemenyi, rel=0.04)


def test_of_few_data_sets_they_are_exact() -> None:
    """Three data sets that agree in the order of three: one of 36 deals of the two others does."""
    ranks = compare_ranks(np.tile([0.1, 0.2, 0.3], (3, 1)))
    assert ranks.p == pytest.approx(1 / 36, abs=0.006)
    assert ranks.critical_difference == pytest.approx(5 / 3)


def test_techniques_that_are_alike_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(8)
    n_runs = 400
    n_rejected = 0
    n_apart = 0
    for seed in range(n_runs):
        ranks = compare_ranks(rng.normal(size=(5, 4)), seed, deals=500)
        n_rejected += ranks.p < 0.05
        n_apart += np.ptp(ranks.mean) > ranks.critical_difference
    assert n_rejected / n_runs < 0.08
    assert n_apart / n_runs < 0.08
