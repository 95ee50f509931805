"""The tests against scipy and statsmodels, one table or set of rows at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import law
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.api import OLS, add_constant
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import proportions_ztest

from fairbench_cli.measures import significance
from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.rates import numerators_and_denominators
from fairbench_cli.measures.registry import ROW_METRICS, measure
from fairbench_cli.measures.rows import Rows, count_by_stratum

GROUPS = ("deprived", "favoured")
cells = arrays(np.float64, (2, 2, 2), elements=st.integers(0, 30))


def counts_of(n):
    counts = Counts(GROUPS, n)
    assume((counts.group_total > 0).all() and (counts.predicted.sum(0) > 0).all())
    return counts


def predictions(counts):
    """Predictions of the deprived and of the favoured, row by row."""
    return [np.repeat([0.0, 1.0], counts.predicted[group].astype(int)) for group in (0, 1)]


@given(cells)
def test_difference_of_means_is_scipys_t_test(n):
    counts = counts_of(n)
    assume(counts.total > 2)
    assume(all((counts.predicted[group] > 0).all() for group in (0, 1)))
    deprived, favoured = predictions(counts)
    theirs = stats.ttest_ind(favoured, deprived)
    assert measure("difference-of-means-t", counts) == pytest.approx(theirs.statistic, abs=1e-9)
    assert measure("difference-of-means-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@given(cells)
def test_two_proportions_is_statsmodels_score_test_and_scipys_fisher(n):
    counts = counts_of(n)
    (a, b), (m, n_f) = counts.predicted[:, 1], counts.group_total
    theirs = proportions_ztest([b, a], [n_f, m])[0]
    assert measure("two-proportions-z", counts) == pytest.approx(theirs, abs=1e-9)
    assert measure("selection-rate-z", counts) == pytest.approx(-theirs, abs=1e-9)
    few = stats.contingency.expected_freq(counts.predicted).min() < 5
    p = stats.fisher_exact(counts.predicted).pvalue if few else proportions_ztest([b, a], [n_f, m])[1]
    assert measure("two-proportions-p", counts) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("rate", ["fpr", "tpr", "ppv", "for", "accuracy", "base-rate"])
def test_every_rate_has_the_same_test(rate):
    n = np.random.default_rng(5).integers(20, 90, (6, 2, 2, 2)).astype(float)
    above, below = (side[..., 0] for side in numerators_and_denominators(n, [rate]))
    for k, (one, of) in enumerate(zip(above, below, strict=True)):
        z, p = proportions_ztest(one, of)
        counts = Counts(GROUPS, n[k])
        assert measure(f"{rate}-z", counts) == pytest.approx(z)
        assert measure(f"{rate}-p", counts) == pytest.approx(p)


@given(st.integers(2, 5), st.data())
def test_chi_squared_is_scipys_for_any_number_of_groups(groups, data):
    n = data.draw(arrays(np.float64, (groups, 2, 2), elements=st.integers(0, 30)))
    counts = Counts(tuple(map(str, range(groups))), n)
    table = counts.predicted
    assume((table.sum(0) > 0).all() and (table.sum(1) > 0).all())
    theirs = stats.chi2_contingency(table, correction=False)
    assert measure("chi-squared", counts) == pytest.approx(theirs.statistic, abs=1e-9)
    assert measure("chi-squared-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@given(cells)
def test_mann_whitney_is_scipys(n):
    counts = counts_of(n)
    deprived, favoured = predictions(counts)
    theirs = stats.mannwhitneyu(favoured, deprived, method="asymptotic")
    assert measure("mann-whitney-u", counts) == theirs.statistic
    assert measure("mann-whitney-p", counts) == pytest.approx(theirs.pvalue, rel=1e-8)


@given(arrays(np.float64, (3, 2, 2, 2), elements=st.integers(0, 20)))
def test_cochran_mantel_haenszel_is_statsmodels(n):
    strata = Counts(GROUPS, n)
    assume((strata.total > 1).all())  # statsmodels divides by n − 1
    assume(((strata.group_total > 0).all(-1) & (strata.predicted.sum(-2) > 0).all(-1)).any())
    theirs = StratifiedTable([table[::-1, ::-1] for table in strata.predicted]).test_null_odds()
    assert significance.cochran_mantel_haenszel(strata) == pytest.approx(theirs.statistic, abs=1e-9)
    assert significance.cochran_mantel_haenszel_p(strata) == pytest.approx(theirs.pvalue, rel=1e-8)


def test_strata_that_say_nothing_change_nothing():
    known = np.array([[[3.0, 1], [2, 4]], [[1, 2], [3, 9]]])
    empty, one_row, one_group = np.zeros((3, 2, 2, 2))
    one_row[0, 0, 1] = 1
    one_group[1] = 5
    alone = significance.cochran_mantel_haenszel(Counts(GROUPS, known[None]))
    among = Counts(GROUPS, np.stack([empty, known, one_row, one_group]))
    assert significance.cochran_mantel_haenszel(among) == pytest.approx(alone)
    silent = Counts(GROUPS, np.stack([empty, one_row, one_group]))
    assert np.isnan(significance.cochran_mantel_haenszel(silent))
    assert np.isnan(significance.cochran_mantel_haenszel_p(silent))
    with pytest.raises(ValueError, match="axis of strata"):
        significance.cochran_mantel_haenszel(Counts(GROUPS, known))


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


@law(30)
@given(st.integers(0, 2**32 - 1))
def test_slope_given_covariates_is_statsmodels(seed):
    rows = rows_of(seed)
    assume(0 < rows.s.sum() < len(rows.s))
    design = add_constant(np.column_stack([rows.s, rows.covariates()]))
    for target, of in ((rows.score, "-of-scores"), (rows.predicted, ""), (rows.y, "-of-labels")):
        theirs = OLS(target, design).fit()
        assert measure(f"slope-t{of}", rows) == pytest.approx(theirs.tvalues[1], abs=1e-8)
        assert measure(f"slope-p{of}", rows) == pytest.approx(theirs.pvalues[1], rel=1e-6)


@given(cells)
def test_slope_without_covariates_is_the_difference_of_means(n):
    counts = counts_of(n)
    assume((counts.predicted > 0).all(-1).any() and counts.total > 2)
    deprived, favoured = predictions(counts)
    s = np.repeat([0, 1], [len(deprived), len(favoured)])
    predicted = np.concatenate([deprived, favoured])
    rows = Rows(s, predicted, predicted, score=predicted)
    assert measure("slope-t", rows) == pytest.approx(
        measure("difference-of-means-t", counts), rel=1e-7, abs=1e-9
    )
    # Scores of two values say what predictions say.
    ranks = ("mann-whitney-u", "mann-whitney-p", "auc-between-groups")
    for name in (*ranks, "discrimination", "phi", "mutual-information", "balanced-residuals"):
        theirs = pytest.approx(measure(name, rows.counts()), rel=1e-7, abs=1e-9, nan_ok=True)
        assert measure(f"{name}-of-scores", rows) == theirs, name


def test_every_level_but_the_first_is_a_covariate():
    mark = np.array([0, 1, 0, 1])
    features = np.array([[0.5, 2.0], [1.5, 0.0], [2.5, 5.0], [3.5, 2.0]])
    covariates = Rows(mark, mark, mark, None, features, (False, True)).covariates()
    assert covariates[:, 0] == pytest.approx(np.array([-1.5, -0.5, 0.5, 1.5]) / math.sqrt(1.25))
    assert covariates[:, 1:].tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]
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
    none = np.zeros(0, dtype=int)
    assert np.isnan(measure("slope-t", Rows(none, none, none)))
    two = np.array([0, 1])
    assert np.isnan(measure("slope-p", Rows(two, two, two)))
    four = np.array([0, 0, 1, 1])
    assert measure("slope-t", Rows(four, four, four)) == math.inf
    assert measure("slope-t", Rows(four, four, 1 - four)) == -math.inf
    assert measure("slope-p", Rows(four, four, four)) == 0
    assert np.isnan(measure("slope-t", Rows(four, four, np.zeros(4, dtype=int))))


@pytest.mark.parametrize("seed", range(20))
def test_slope_of_what_the_features_determine_is_nan_and_with_s_infinite(seed):
    rng = np.random.default_rng(seed)
    s, x = rng.integers(0, 2, (2, 100))
    scale = 10 ** rng.uniform(-2, 4, 3)
    features = np.column_stack([x, rng.normal(size=(100, 3)) * scale + 1e3 * scale])
    nominal = (True, False, False, False)
    score = features @ [1.0, 2.0, -0.5, 0.1]
    rows = Rows(s, np.ones(100, dtype=int), x, score, features, nominal)
    for name in ("slope-t", "slope-p", "slope-t-of-labels", "slope-p-of-labels", "slope-t-of-scores"):
        assert np.isnan(measure(name, rows)), name
    with_s = Rows(s, s, s, score - 0.25 * np.ptp(score) * s, features, nominal)
    assert measure("slope-t", with_s) == math.inf
    assert measure("slope-t-of-scores", with_s) == -math.inf


def test_a_covariate_far_from_zero_is_not_taken_for_a_constant():
    rng = np.random.default_rng(1)
    s, year = rng.integers(0, 2, 2000), rng.random(2000)
    stamp = (1.7e12 + 3e10 * year + 1e10 * s).round()  # milliseconds
    y = (rng.random(2000) < 0.2 + 0.6 * (stamp - stamp.min()) / np.ptp(stamp)).astype(int)
    rows = Rows(s, y, y, features=stamp[:, None], nominal=(False,))
    near = (stamp - stamp.min()) / 1e10
    theirs = OLS(y, add_constant(np.column_stack([s, near]))).fit()
    assert measure("slope-t", rows) == pytest.approx(theirs.tvalues[1], abs=1e-8)
    assert abs(theirs.tvalues[1]) < 2 < measure("slope-t", Rows(s, y, y))


def test_ranks_of_scores_are_scipys():
    rows = rows_of(4)
    theirs = stats.mannwhitneyu(rows.score[rows.s == 1], rows.score[rows.s == 0], method="asymptotic")
    assert measure("mann-whitney-u-of-scores", rows) == theirs.statistic
    assert measure("mann-whitney-p-of-scores", rows) == theirs.pvalue
    pairs = np.bincount(rows.s).prod()
    assert measure("auc-between-groups-of-scores", rows) == pytest.approx(theirs.statistic / pairs)
    zeros = np.zeros(3, dtype=int)
    one_group = Rows(zeros, np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]))
    for name in OF_SCORES:
        assert np.isnan(measure(name, one_group)), name


def test_auc_between_groups_is_scikit_learns_of_the_group():
    rng = np.random.default_rng(6)
    weights = rng.random(60) * rng.integers(0, 2, 60)
    rows = rows_of(6, weights=weights)
    theirs = roc_auc_score(rows.s, rows.score, sample_weight=weights)
    assert measure("auc-between-groups-of-scores", rows) == pytest.approx(theirs)


OF_SCORES = [name for name in ROW_METRICS if name.endswith("-of-scores")]
TESTS_OF_SCORES = [name for name in OF_SCORES if ROW_METRICS[name].section == "test"]


def test_only_what_says_so_is_of_scores():
    assert len(OF_SCORES) == 9
    assert len(TESTS_OF_SCORES) == 4
    scored = rows_of(9, strata=np.random.default_rng(9).integers(0, 3, 60))
    probability = (scored.score - scored.score.min()) / np.ptp(scored.score)
    scored = replace(scored, score=probability)
    plain = replace(scored, score=None)
    for name in ROW_METRICS:
        if name in OF_SCORES:
            assert np.isnan(measure(name, plain))
            assert np.isfinite(measure(name, scored))
        else:
            np.testing.assert_array_equal(measure(name, plain), measure(name, scored))


def test_cochran_mantel_haenszel_of_rows_counts_them_by_stratum():
    strata = np.random.default_rng(8).integers(0, 3, 60)
    rows = rows_of(5, strata=strata)
    by_stratum = count_by_stratum(rows)
    assert by_stratum.n.shape == (3, 2, 2, 2)
    assert (by_stratum.n.sum(0) == rows.counts().n).all()
    expected = significance.cochran_mantel_haenszel_p(by_stratum)
    assert measure("cochran-mantel-haenszel-p", rows) == expected
    weighted = rows_of(5, strata=strata, weights=np.full(60, 2.0))
    assert (count_by_stratum(weighted).n == 2 * by_stratum.n).all()
    with pytest.raises(ValueError, match="needs strata"):
        measure("cochran-mantel-haenszel", rows_of(5))


@pytest.mark.parametrize("name", ["slope-t", "slope-p", *TESTS_OF_SCORES])
def test_tests_that_know_no_weights_refuse_them(name):
    assert name in ROW_METRICS
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
