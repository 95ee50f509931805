"""Lines, planes and rank correlation: against golden tables, scipy, matrices written out, and simulation."""

import numpy as np
import pytest
from numbers_tables import TABLES, each_table, golden
from scipy.stats import linregress, spearmanr

from fairbench_cli.measures.clusters import ClusterSums, degrees_of_freedom, linear_variance
from fairbench_cli.measures.means import Contrast, wider_interval
from fairbench_cli.measures.regression import (
    estimate_contrast,
    fit_line,
    fit_linear,
    independent_columns,
    spearman,
    sum_coefficients,
    weighted_ranks,
)


@each_table
def test_lines_of_golden_tables(number):
    table = TABLES[number]
    for side, mask in (("g", table["is_group"]), ("r", ~table["is_group"])):
        line = fit_line(table["prediction"][mask], table["value"][mask])
        assert line.slope.value == golden(number, f"slope_{side}")
        assert line.intercept.value == golden(number, f"intercept_{side}")
        assert line.slope.error == golden(number, f"slope_se_{side}")
    line = fit_line(table["column"], table["value"])
    assert line.slope.value == golden(number, "slope_on_column")
    assert line.slope.error == golden(number, "slope_hc3")
    assert line.slope.value == pytest.approx(linregress(table["column"], table["value"]).slope, rel=1e-9)
    rho = spearman(table["column"], table["value"])
    assert rho.value == golden(number, "spearman")
    assert rho.value == pytest.approx(spearmanr(table["column"], table["value"]).statistic, abs=1e-12)


def draw_rows(seed, n=60, n_clusters=12):
    """Return columns, numbers, weights and clusters."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, n_clusters, n)
    columns = rng.normal(size=(n, 2)) + 0.5 * clusters[:, None]
    noise = rng.normal(size=n) * np.exp(0.3 * columns[:, 0]) + rng.normal(size=n_clusters)[clusters]
    return columns, columns @ [1.0, -0.5] + noise, rng.lognormal(size=n), clusters


def sandwich(columns, numbers, weights, clusters, contrast):
    """Return the value, variance and degrees of a contrast by matrices of all rows; HC3 without clusters."""
    root = np.sqrt(weights)
    design = np.column_stack([np.ones(len(columns)), columns]) * root[:, None]
    bread = np.linalg.inv(design.T @ design)
    coefficients = bread @ design.T @ (numbers * root)
    left = numbers * root - design @ coefficients
    hat = design @ bread @ design.T
    if clusters is None:
        influence = bread @ design.T * (left / (1 - np.diag(hat)))
        return coefficients @ contrast, contrast @ influence @ influence.T @ contrast, None
    centring = np.eye(len(hat)) - hat
    terms, vectors = [], []
    for code in np.unique(clusters):
        inside = clusters == code
        values, sides = np.linalg.eigh(np.eye(inside.sum()) - hat[np.ix_(inside, inside)])
        adjusted = sides @ np.diag(values**-0.5) @ sides.T @ design[inside] @ bread @ contrast
        terms.append(adjusted @ left[inside])
        vectors.append(centring[:, inside] @ adjusted)
    products = np.array(vectors) @ np.array(vectors).T
    return (
        coefficients @ contrast,
        np.square(terms).sum(),
        np.trace(products) ** 2 / np.square(products).sum(),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_clustered", [False, True])
def test_a_contrast_is_that_of_matrices_written_out(seed, is_clustered):
    columns, numbers, weights, clusters = draw_rows(seed)
    codes = clusters if is_clustered else None
    fit = fit_linear(columns + 1000, numbers, weights, codes)
    contrast = np.array([0.3, 1.0, -2.0])
    value, variance, degrees = sandwich(columns + 1000, numbers, weights, codes, contrast)
    estimate = estimate_contrast([fit], [contrast])
    assert estimate.value == pytest.approx(value, rel=1e-8)
    assert estimate.error**2 == pytest.approx(variance, rel=1e-6)
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert estimate.degrees == pytest.approx(degrees if is_clustered else kish - 3, rel=1e-6)
    assert estimate.low < estimate.value < estimate.high


def test_two_groups_that_share_clusters_are_one_regression():
    columns, numbers, weights, clusters = draw_rows(5)
    mask = np.arange(len(numbers)) % 3 == 0
    x = columns[:, :1]
    fits = [fit_linear(x[side], numbers[side], weights[side], clusters[side]) for side in (mask, ~mask)]
    difference = estimate_contrast(fits, [np.array([0, 1.0]), np.array([0, -1.0])])
    both = np.column_stack([mask, columns[:, 0], columns[:, 0] * mask]).astype(float)
    value, variance, degrees = sandwich(both, numbers, weights, clusters, np.array([0, 0, 0, 1.0]))
    assert difference.value == pytest.approx(value)
    assert difference.error**2 == pytest.approx(variance)
    assert difference.degrees == pytest.approx(degrees)


def test_the_difference_of_two_means_is_that_of_rates_by_cluster():
    _, numbers, _, clusters = draw_rows(7)
    mask = np.arange(len(numbers)) % 2 == 0
    fits = [
        fit_linear(np.empty((side.sum(), 0)), numbers[side], None, clusters[side]) for side in (~mask, mask)
    ]
    contrast = sum_coefficients(fits, [[-1.0], [1.0]])
    sums = np.zeros((4, 2, clusters.max() + 1))
    for i, side in enumerate((~mask, mask)):
        left = numbers[side] - numbers[side].mean()
        for j, terms in enumerate((np.ones(len(left)), np.ones(len(left)), left, left**2)):
            sums[j, i] = np.bincount(clusters[side], terms, sums.shape[-1])
    by_cluster = ClusterSums(*sums)
    assert contrast.variance == pytest.approx(
        float(linear_variance([by_cluster], np.array([-1.0, 1.0])).variance)
    )
    independent = degrees_of_freedom(by_cluster, np.array([-1.0, 1.0]), np.array(0.0))
    assert contrast.degrees == pytest.approx(float(independent))


def test_limits_are_the_wider_of_students_and_halls():
    rng = np.random.default_rng(3)
    x = rng.random(40)
    y = x + x * rng.lognormal(size=40)
    slope = fit_line(x, y).slope
    away = x - x.mean()
    left = y - y.mean() - slope.value * away
    room = 1 - 1 / 40 - away**2 / (away @ away)
    terms = away * left / room / (away @ away)
    third = np.asarray((terms**3).sum())
    limits = wider_interval(
        Contrast(np.asarray(slope.value), np.asarray(slope.error**2), np.asarray(38.0), third)
    )
    assert slope.low == pytest.approx(float(limits.low))
    assert slope.high == pytest.approx(float(limits.high))
    assert slope.p == pytest.approx(float(limits.p))
    assert slope.high > float(limits.welch_high)


def test_laws_of_lines():
    columns, numbers, weights, clusters = draw_rows(1)
    x = columns[:, 0]
    for codes in (None, clusters):
        line = fit_line(x, numbers, weights, codes)
        scaled = fit_line(7 - 2 * x, 100 + 6 * numbers, 3 * weights, codes)
        assert scaled.slope.value == pytest.approx(-3 * line.slope.value)
        assert scaled.slope.error == pytest.approx(3 * line.slope.error)
        assert (scaled.slope.p, scaled.slope.degrees) == pytest.approx((line.slope.p, line.slope.degrees))
        assert scaled.intercept.value == pytest.approx(100 + 6 * line.intercept.value + 21 * line.slope.value)
        plain = fit_line(x, numbers, np.ones(len(x)), codes)
        assert plain.slope == pytest.approx(fit_line(x, numbers, None, codes).slope)
        far = fit_line(x + 1e9, numbers, weights, codes)
        assert far.slope.value == pytest.approx(line.slope.value, rel=1e-6)
        assert far.slope.error == pytest.approx(line.slope.error, rel=1e-6)
        extended = fit_line(
            np.append(x, 99),
            np.append(numbers, 0),
            np.append(weights, 0),
            None if codes is None else np.append(codes, 99),
        )
        assert extended.slope == pytest.approx(line.slope)
    renamed = fit_line(x, numbers, weights, 1000 - 7 * clusters)
    assert renamed.slope == pytest.approx(fit_line(x, numbers, weights, clusters).slope)


def test_many_clusters_are_read_in_blocks(monkeypatch):
    columns, numbers, weights, clusters = draw_rows(3)
    line = fit_line(columns[:, 0], numbers, weights, clusters)
    monkeypatch.setattr("fairbench_cli.measures.regression.BLOCK", 24)
    assert fit_line(columns[:, 0], numbers, weights, clusters).slope == pytest.approx(line.slope)


def is_without_limits(estimate):
    return np.isnan([estimate.error, estimate.low, estimate.high, estimate.p]).all()


def test_hopeless_lines():
    assert np.isnan(fit_line([1, 2], [1, 2]).slope.value)  # a line through both
    assert np.isnan(fit_line([3, 3, 3, 3], [1, 2, 3, 4]).slope.value)
    constant = fit_line([1, 2, 3, 4], [5, 5, 5, 5]).slope
    assert constant.value == 0
    assert is_without_limits(constant)
    exact = fit_line(np.arange(9) + 0.1, 3 * np.arange(9) + 1e6).slope
    assert exact.value == pytest.approx(3)
    assert is_without_limits(exact)
    assert is_without_limits(fit_line([0, 0, 0, 1], [1, 2, 4, 9]).slope)  # one row has all of the slope
    assert is_without_limits(fit_line([1, 2, 3, 4], [1, 3, 2, 5], None, [7, 7, 7, 7]).slope)
    assert is_without_limits(fit_line([0, 0, 0, 1, 1], [1, 2, 4, 9, 8], None, [0, 1, 2, 3, 3]).slope)
    assert is_without_limits(fit_line([1, 2, 3, 4], [1, 3, 2, 5], [100, 100, 0.001, 0.001]).slope)
    with pytest.raises(ValueError, match="too few"):
        fit_linear(np.ones((2, 1)), [1, 2])
    with pytest.raises(ValueError, match="sum of others"):
        fit_linear(np.array([[1, 2.0], [2, 4], [3, 6], [4, 8], [5, 10]]), [1, 2, 3, 1, 2])


def test_independent_columns_are_those_of_the_rank():
    rng = np.random.default_rng(2)
    first = rng.normal(size=(30, 3))
    levels = np.eye(3)[rng.integers(0, 3, 30)]
    columns = np.column_stack([1e6 + first, first @ [1, 2, 3], np.full(30, 7.1), levels])
    is_independent = independent_columns(columns)
    assert is_independent.tolist() == [True, True, True, False, False, True, True, False]
    assert independent_columns(columns, rng.uniform(1, 2, 30)).tolist() == is_independent.tolist()
    assert independent_columns(columns[:0]).tolist() == [False] * 8


@pytest.mark.parametrize("seed", range(3))
def test_spearman_is_scipys(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, 40)
    y = x + rng.integers(0, 9, 40)
    rho = spearman(x, y)
    assert rho.value == pytest.approx(spearmanr(x, y).statistic)
    assert spearman(np.exp(x), -(y**3)).value == pytest.approx(-rho.value)
    z = np.arctanh(rho.value) + np.array([-1, 1]) * 1.959964 * np.sqrt((1 + rho.value**2 / 2) / 37)
    assert (rho.low, rho.high) == pytest.approx(tuple(np.tanh(z)), rel=1e-6)
    assert (rho.p < 0.05) == (not rho.low <= 0 <= rho.high)
    assert spearman(x, y, np.full(40, 2.5)).value == pytest.approx(rho.value)
    assert spearman(x, y, np.full(40, 2.5)).low == pytest.approx(rho.low)
    repeated = spearman(np.tile(x, 3), np.tile(y, 3), None, np.tile(np.arange(40), 3))
    assert repeated.value == pytest.approx(rho.value)
    assert repeated.error == pytest.approx(rho.error, rel=0.15)  # three times the rows are no more people


def test_ranks_of_weighted_rows_are_those_of_repeated_rows():
    values, times = np.array([5, 3, 5, 9]), np.array([2, 1, 1, 3])
    repeated = weighted_ranks(np.repeat(values, times))
    assert np.repeat(weighted_ranks(values, times), times) == pytest.approx(repeated)
    x = np.array([1, 4, 2, 2])
    weighted = spearman(x, values, times).value
    assert weighted == pytest.approx(spearmanr(np.repeat(x, times), np.repeat(values, times)).statistic)


def test_hopeless_correlations():
    assert np.isnan(spearman([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]).value)
    perfect = spearman(np.arange(9), np.arange(9) ** 3)
    assert perfect.value == pytest.approx(1)
    assert is_without_limits(perfect)
    assert is_without_limits(spearman([1, 2, 3], [1, 3, 2]))
