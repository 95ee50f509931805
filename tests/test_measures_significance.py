"""The tests against scipy and statsmodels, one table or set of rows at a time."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.api import OLS, add_constant
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import test_proportions_2indep as proportions_of_two

from fairbench_cli.measures import significance
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.registry import ROW_MEASURES, measure
from fairbench_cli.measures.rows import Rows

GROUPS = ("deprived", "favoured")
cells = arrays(np.float64, (2, 2, 2), elements=st.integers(0, 30))


def counts_of(n):
    counts = Counts(GROUPS, n)
    assume((counts.group_total > 0).all() and (counts.predicted.sum(0) > 0).all())
    return counts


def predictions(counts):
    """Predictions of the deprived and of the favoured, row by row."""
    return [np.repeat([0.0, 1.0], counts.predicted[group].astype(int)) for group in (0, 1)]


@settings(deadline=None)
@given(cells)
def test_difference_of_means_is_scipys_t_test(n):
    counts = counts_of(n)
    assume(counts.total > 2)
    assume(all((counts.predicted[group] > 0).all() for group in (0, 1)))
    deprived, favoured = predictions(counts)
    theirs = stats.ttest_ind(favoured, deprived)
    assert measure("difference-of-means-t", counts) == pytest.approx(theirs.statistic, abs=1e-9)
    assert measure("difference-of-means-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@settings(deadline=None)
@given(cells)
def test_two_proportions_is_statsmodels_wald_test(n):
    counts = counts_of(n)
    assume((counts.predicted > 0).all())  # statsmodels warns of rates of 0 and 1
    (a, b), (m, n_f) = counts.predicted[:, 1], counts.group_total
    theirs = proportions_of_two(b, n_f, a, m, compare="diff", method="wald", correction=False)
    assert measure("two-proportions-z", counts) == pytest.approx(theirs.statistic, abs=1e-9)
    assert measure("two-proportions-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@settings(deadline=None)
@given(st.integers(2, 5), st.data())
def test_chi_squared_is_scipys_for_any_number_of_groups(groups, data):
    n = data.draw(arrays(np.float64, (groups, 2, 2), elements=st.integers(0, 30)))
    counts = Counts(tuple(map(str, range(groups))), n)
    table = counts.predicted
    assume((table.sum(0) > 0).all() and (table.sum(1) > 0).all())
    theirs = stats.chi2_contingency(table, correction=False)
    assert measure("chi-squared", counts) == pytest.approx(theirs.statistic, abs=1e-9)
    assert measure("chi-squared-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@settings(deadline=None)
@given(cells)
def test_mann_whitney_is_scipys(n):
    counts = counts_of(n)
    deprived, favoured = predictions(counts)
    theirs = stats.mannwhitneyu(favoured, deprived, method="asymptotic")
    assert measure("mann-whitney-u", counts) == theirs.statistic
    assert measure("mann-whitney-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@settings(deadline=None)
@given(arrays(np.float64, (3, 2, 2, 2), elements=st.integers(0, 20)))
def test_cochran_mantel_haenszel_is_statsmodels(n):
    strata = Counts(GROUPS, n)
    assume((strata.total > 1).all())  # statsmodels divides by n − 1
    assume(((strata.group_total > 0).all(-1) & (strata.predicted.sum(-2) > 0).all(-1)).any())
    theirs = StratifiedTable([table[::-1, ::-1] for table in strata.predicted]).test_null_odds()
    assert significance.cochran_mantel_haenszel(strata) == pytest.approx(theirs.statistic, abs=1e-9)
    assert significance.cochran_mantel_haenszel_p(strata) == pytest.approx(theirs.pvalue, rel=1e-8)


def test_strata_that_say_nothing_change_nothing():
    told = np.array([[[3.0, 1], [2, 4]], [[1, 2], [3, 9]]])
    empty, one_row, one_group = np.zeros((3, 2, 2, 2))
    one_row[0, 0, 1] = 1
    one_group[1] = 5
    alone = significance.cochran_mantel_haenszel(Counts(GROUPS, told[None]))
    among = Counts(GROUPS, np.stack([empty, told, one_row, one_group]))
    assert significance.cochran_mantel_haenszel(among) == pytest.approx(alone)
    silent = Counts(GROUPS, np.stack([empty, one_row, one_group]))
    assert np.isnan(significance.cochran_mantel_haenszel(silent))
    assert np.isnan(significance.cochran_mantel_haenszel_p(silent))
    with pytest.raises(ValueError, match="axis of strata"):
        significance.cochran_mantel_haenszel(Counts(GROUPS, told))


def test_strata_are_the_last_leading_axis():
    n = np.random.default_rng(2).integers(0, 9, (4, 5, 2, 2, 2)).astype(float)
    together = significance.cochran_mantel_haenszel(Counts(GROUPS, n))
    loop = [significance.cochran_mantel_haenszel(Counts(GROUPS, strata)) for strata in n]
    np.testing.assert_array_equal(together, loop)


def rows_of(seed, size=60, **more):
    rng = np.random.default_rng(seed)
    s, y = rng.integers(0, 2, (2, size))
    features = np.column_stack([rng.normal(size=size) + s, rng.integers(0, 3, size), rng.normal(size=size)])
    score = np.round(0.3 * s + features[:, 0] + rng.normal(size=size), 1)
    return Rows(s, y, (score > 0.5).astype(int), score, features, (False, True, False), **more)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_slope_given_covariates_is_statsmodels(seed):
    rows = rows_of(seed)
    assume(0 < rows.s.sum() < len(rows.s))
    design = add_constant(np.column_stack([rows.s, rows.covariates()]))
    theirs = OLS(rows.target, design).fit()
    assert measure("slope-t", rows) == pytest.approx(theirs.tvalues[1], abs=1e-8)
    assert measure("slope-p", rows) == pytest.approx(theirs.pvalues[1], rel=1e-6)


@settings(deadline=None)
@given(cells)
def test_slope_without_covariates_is_the_difference_of_means(n):
    counts = counts_of(n)
    assume((counts.predicted > 0).all(-1).any() and counts.total > 2)
    deprived, favoured = predictions(counts)
    s = np.repeat([0, 1], [len(deprived), len(favoured)])
    predicted = np.concatenate([deprived, favoured])
    rows = Rows(s, predicted, predicted)
    assert measure("slope-t", rows) == pytest.approx(
        measure("difference-of-means-t", counts), rel=1e-7, abs=1e-9
    )
    assert measure("rank-u", rows) == measure("mann-whitney-u", counts)
    assert measure("rank-p", rows) == pytest.approx(measure("mann-whitney-p", counts), nan_ok=True)


def test_every_level_but_the_first_is_a_covariate():
    mark = np.array([0, 1, 0, 1])
    features = np.array([[0.5, 2.0], [1.5, 0.0], [2.5, 5.0], [3.5, 2.0]])
    covariates = Rows(mark, mark, mark, None, features, (False, True)).covariates()
    assert covariates.tolist() == [[0.5, 1, 0], [1.5, 0, 0], [2.5, 0, 1], [3.5, 1, 0]]
    assert Rows(mark, mark, mark).covariates().shape == (4, 0)


def test_a_redundant_covariate_changes_nothing_and_one_that_is_s_leaves_nan():
    rows = rows_of(3)
    twice = Rows(rows.s, rows.y, rows.predicted, rows.score, rows.features[:, [0, 0]], (False, False))
    once = Rows(rows.s, rows.y, rows.predicted, rows.score, rows.features[:, [0]], (False,))
    assert measure("slope-t", twice) == pytest.approx(measure("slope-t", once))
    given_away = Rows(rows.s, rows.y, rows.predicted, None, 1000.0 - rows.s[:, None], (False,))
    assert np.isnan(measure("slope-t", given_away))
    assert np.isnan(measure("slope-p", given_away))


def test_slope_of_one_group_few_rows_and_no_residual():
    ones = np.ones(5, dtype=int)
    assert np.isnan(measure("slope-t", Rows(ones, ones, np.array([0, 1, 0, 1, 1]))))
    two = np.array([0, 1])
    assert np.isnan(measure("slope-p", Rows(two, two, two)))
    four = np.array([0, 0, 1, 1])
    assert measure("slope-t", Rows(four, four, four)) > 1e6
    assert np.isnan(measure("slope-t", Rows(four, four, np.zeros(4, dtype=int))))


def test_ranks_of_scores_are_scipys():
    rows = rows_of(4)
    theirs = stats.mannwhitneyu(rows.score[rows.s == 1], rows.score[rows.s == 0], method="asymptotic")
    assert measure("rank-u", rows) == theirs.statistic
    assert measure("rank-p", rows) == theirs.pvalue
    of_labels = Rows(rows.s, rows.y, rows.y)
    assert measure("rank-u-of-labels", rows) == measure("rank-u", of_labels)
    one_group = Rows(np.zeros(3, dtype=int), np.array([0, 1, 1]), np.array([0, 1, 1]))
    assert np.isnan(measure("rank-u", one_group))
    assert np.isnan(measure("rank-p", one_group))


def test_cochran_mantel_haenszel_of_rows_counts_them_by_stratum():
    strata = np.random.default_rng(8).integers(0, 3, 60)
    rows = rows_of(5, strata=strata)
    by_stratum = rows.stratified()
    assert by_stratum.n.shape == (3, 2, 2, 2)
    assert (by_stratum.n.sum(0) == rows.counts().n).all()
    expected = significance.cochran_mantel_haenszel_p(by_stratum)
    assert measure("cochran-mantel-haenszel-p", rows) == expected
    weighted = rows_of(5, strata=strata, weights=np.full(60, 2.0))
    assert (weighted.stratified().n == 2 * by_stratum.n).all()
    with pytest.raises(ValueError, match="needs strata"):
        measure("cochran-mantel-haenszel", rows_of(5))


@pytest.mark.parametrize("name", ["slope-t", "slope-p", "rank-u", "rank-p"])
def test_tests_that_know_no_weights_refuse_them(name):
    assert name in ROW_MEASURES
    with pytest.raises(ValueError, match="weights"):
        measure(name, rows_of(1, weights=np.ones(60)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0.0, math.nan, 1.0]}, "y is missing"),
        ({"predicted": [0.0, math.nan, 1.0]}, "predicted is missing"),
        ({"score": [0.0, math.inf, 1.0]}, "score is missing"),
        ({"weights": [1.0, math.nan, 1.0]}, "weights is missing"),
        ({"s": [0, 2, 1]}, "s must be 0 or 1"),
        ({"y": [0, 0.5, 1]}, "y must be 0 or 1"),
        ({"y": [0, 1]}, "does not fit 3 rows"),
        ({"features": [1.0, 2.0, 3.0]}, "does not fit 3 rows"),
        ({"features": [[1.0], [2.0], [3.0]]}, "nominal must say"),
    ],
)
def test_rows_refuse_what_is_missing_or_does_not_fit(change, message):
    parts = {"s": [0, 0, 1], "y": [0, 1, 1], "predicted": [1, 1, 1]} | change
    with pytest.raises(ValueError, match=message):
        Rows(**{name: np.array(part) for name, part in parts.items()})
