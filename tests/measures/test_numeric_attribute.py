"""A numeric attribute: slope, information, curve: against scikit-learn and definitions, and by simulation."""

import numpy as np
import pytest
from conftest import most_by_chance, worlds
from numbers_tables import TABLES, each_table, golden, permutation_p
from scipy.stats import kstest
from sklearn.metrics import mutual_info_score

from fairbench_cli.measures.counts import Counts
from fairbench_cli.measures.functions import mutual_information
from fairbench_cli.measures.numeric_attribute import (
    attribute_slope,
    binned_information,
    equal_means_p,
    examine_attribute,
    mean_curve,
)
from fairbench_cli.measures.regression import fit_line, spearman
from fairbench_cli.measures.rows import cut_into_ranges
from fairbench_cli.measures.score_test import wilson_interval


def rng(seed=0):
    return np.random.default_rng(seed)


@each_table
def test_the_line_of_golden_tables(number):
    table = TABLES[number]
    line = attribute_slope(table["column"], table["value"], step=2.0)
    assert line.per_step.value / 2 == golden(number, "slope_on_column")
    assert line.per_step.error / 2 == golden(number, "slope_hc3")
    points = np.quantile(table["column"], [0.1, 0.9])
    assert (line.low_point, line.high_point) == pytest.approx(tuple(points))
    assert line.effect.value == pytest.approx(line.per_step.value / 2 * (points[1] - points[0]))
    assert line.effect.p == line.per_step.p
    assert line.effect.low < line.effect.value < line.effect.high


def draw_people(seed, n=400, n_clusters=80):
    """Return age, pay, weights and clusters."""
    drawn = rng(seed)
    cluster = drawn.integers(0, n_clusters, n)
    age = drawn.integers(18, 70, n) + 0.0
    pay = 30 - 0.02 * (age - 43.5) ** 2 + drawn.lognormal(1, 0.8, n) + drawn.normal(size=n_clusters)[cluster]
    return age, pay, drawn.lognormal(0, 0.5, n), cluster


@pytest.mark.parametrize("bins", [4, 10])
def test_information_is_scikit_learns(bins):
    age, pay, weights, _ = draw_people(0)
    codes = [cut_into_ranges(column, bins)[0] for column in (age, pay)]
    information = binned_information(age, pay, rng(), bins=bins, permutations=19)
    assert information.bits == pytest.approx(mutual_info_score(*codes) / np.log(2), rel=1e-9)
    assert information.bins == (bins, bins)
    times = np.ceil(weights).astype(int)
    weighted = binned_information(age, pay, rng(), times, bins=bins, permutations=19)
    repeated = [np.repeat(cut_into_ranges(column, bins, times)[0], times) for column in (age, pay)]
    assert weighted.bits == pytest.approx(mutual_info_score(*repeated) / np.log(2), rel=1e-9)
    assert weighted.rows == pytest.approx(times.sum() ** 2 / (times**2).sum())


def test_information_of_yes_and_no_is_that_of_counts():
    drawn = rng(1)
    group, selected = drawn.integers(0, 2, (2, 300))
    information = binned_information(group, selected, drawn, permutations=19)
    n = np.zeros((2, 2, 2))
    np.add.at(n, (group, 0, selected), 1)
    assert information.bins == (2, 2)
    assert information.normalised == pytest.approx(float(mutual_information(Counts(("g", "r"), n))))


def test_permutations_are_those_of_rows():
    counts = np.array([[6, 5, 1], [3, 5, 7]])
    age, pay = (np.repeat(codes.ravel(), counts.ravel()) for codes in np.indices(counts.shape))
    information = binned_information(age, pay, rng(3), permutations=19_999)
    exact = permutation_p(counts, lambda dealt: mutual_info_score(None, None, contingency=dealt))
    assert information.p == pytest.approx(exact, abs=0.01)
    assert binned_information(age, pay, rng(5)).p == binned_information(age, pay, rng(5)).p


@pytest.mark.parametrize("kind", ["number", "yes or no", "weighted", "clustered"])
def test_p_of_information_is_uniform_where_nothing_is_shared(kind):
    drawn = rng(4)
    p = []
    for _ in worlds(2000):
        age = drawn.normal(size=120)
        pay = drawn.lognormal(size=120)
        weights = clusters = None
        if kind == "yes or no":
            pay = (pay > 1).astype(float)
        if kind == "weighted":
            weights = drawn.lognormal(0, 0.5, 120)
        if kind == "clustered":
            clusters = np.arange(120) // 3
            age = age[clusters]
            pay = (pay[clusters] > 1).astype(float)
        p.append(binned_information(age, pay, drawn, weights, clusters, bins=5, permutations=199).p)
    assert sum(one <= 0.05 for one in p) <= most_by_chance(len(p), 0.05)
    if kind in ("number", "yes or no"):
        assert kstest(p, "uniform").pvalue > 0.01


def test_a_bent_curve_is_seen_where_a_slope_is_not():
    age, pay, _, _ = draw_people(5, n=2000)
    bent = examine_attribute(age, pay, rng(), permutations=999)
    assert abs(bent.rank_correlation.value) < 0.1
    assert bent.information.p == 0.001
    assert bent.curve.p < 1e-6
    assert bent.line.per_step.value == attribute_slope(age, pay).per_step.value
    assert bent.rank_correlation == spearman(age, pay)


@pytest.mark.parametrize("is_clustered", [False, True])
def test_laws_of_an_attribute(is_clustered):
    age, pay, weights, cluster = draw_people(6)
    clusters = cluster if is_clustered else None
    line = attribute_slope(age, pay, weights, clusters)
    moved = attribute_slope(3 * age - 7, 100 - 2 * pay, 5 * weights, clusters, step=30)
    assert moved.effect.value == pytest.approx(-2 * line.effect.value)
    assert moved.per_step.low == pytest.approx(-2 * line.per_step.high)
    curve = mean_curve(age, pay, rng(), weights, clusters)
    same = mean_curve(age + 9, 4 * pay + 1e5, rng(), 7 * weights, clusters)
    for name in ("first", "last", "x"):
        assert getattr(same, name) == pytest.approx(getattr(curve, name) + 9)
    for name in ("mean", "low", "high"):
        assert getattr(same, name) == pytest.approx(4 * getattr(curve, name) + 1e5)
    assert same.p == pytest.approx(curve.p, rel=1e-5)
    order = rng(1).permutation(len(age))
    codes = None if clusters is None else 5 - clusters[order]
    shuffled = mean_curve(age[order], pay[order], rng(), weights[order], codes)
    assert shuffled.mean == pytest.approx(curve.mean)
    assert (shuffled.high, shuffled.p) == (pytest.approx(curve.high), pytest.approx(curve.p))
    ones = mean_curve(age, pay, rng(), np.ones(len(age)), clusters)
    plain = mean_curve(age, pay, rng(), None, clusters)
    assert (ones.low, ones.p) == (pytest.approx(plain.low), pytest.approx(plain.p))
    padded = mean_curve(
        np.append(age, 99),
        np.append(pay, 0),
        rng(),
        np.append(weights, 0),
        None if clusters is None else np.append(clusters, 999),
    )
    assert (padded.low, padded.p) == (pytest.approx(curve.low), pytest.approx(curve.p))


def test_a_curve_is_of_bins_of_equal_counts():
    age, pay, _, _ = draw_people(7, n=1000)
    curve = mean_curve(age, pay, rng())
    assert (curve.first[1:] > curve.last[:-1]).all()  # equal ages are of one bin
    for i in range(len(curve.x)):
        inside = (age >= curve.first[i]) & (age <= curve.last[i])
        assert curve.rows[i] == inside.sum()
        assert (curve.x[i], curve.mean[i]) == pytest.approx((age[inside].mean(), pay[inside].mean()))
    assert curve.rows.sum() == 1000
    even = mean_curve(np.arange(400.0), np.arange(400) % 7, rng())
    assert even.rows.tolist() == [20] * 20
    few = mean_curve(np.arange(55.0), np.arange(55) % 7, rng())
    assert few.rows.tolist() == [11] * 5
    tied = mean_curve(np.repeat([1, 2, 3], [60, 3, 40]), np.arange(103) % 7, rng())
    assert tied.rows.tolist() == [60, 43]  # three rows are no bin
    rest = mean_curve(np.repeat([1, 2, 3], [60, 40, 3]), np.arange(103) % 7, rng())
    assert rest.rows.tolist() == [60, 43]


def test_a_curve_of_yes_and_no_has_wilsons_limits():
    drawn = rng(8)
    age = drawn.normal(size=300)
    hired = (drawn.random(300) < 1 / (1 + np.exp(-age))).astype(int)
    curve = mean_curve(age, hired, rng())
    low, high = wilson_interval(curve.mean * curve.rows, curve.rows)
    assert (curve.low, curve.high) == (pytest.approx(low), pytest.approx(high))
    assert curve.p < 1e-4
    together = mean_curve(
        np.repeat(age, 3), np.repeat(hired, 3), rng(), None, np.repeat(np.arange(300), 3), bins=10
    )
    alone = mean_curve(age, hired, rng(), bins=10)
    inner = (alone.mean > 0) & (alone.mean < 1)
    assert together.low[inner] == pytest.approx(alone.low[inner], abs=0.01)
    rare = mean_curve(age, age > 2.4, rng())
    assert np.isfinite(rare.low).all()
    assert 0 < rare.p <= 1


def test_the_test_of_the_bins_written_out():
    drawn = rng(9)
    samples = [drawn.normal(0, 1 + i, n) for i, n in enumerate((12, 20, 30))]
    means = np.array([sample.mean() for sample in samples])
    variances = np.array([sample.var(ddof=1) for sample in samples])
    n = np.array([12.0, 20, 30])
    shares = n / n.sum()
    # Brown & Forsythe's F with Mehrotra's (1997) degrees of freedom is the same for independent rows.
    expected = ((1 - shares) * variances).sum()
    statistic = (n * (means - shares @ means) ** 2).sum() / expected
    square = (variances**2).sum() + (shares @ variances) ** 2 - 2 * (shares * variances**2).sum()
    degrees = expected**2 / ((1 - shares) ** 2 * variances**2 / (n - 1)).sum()
    from scipy.stats import f

    p = f.sf(statistic, expected**2 / square, degrees)
    assert equal_means_p(means, np.diag(variances / n), n, degrees) == pytest.approx(p)
    x = np.repeat([1, 2, 3], [12, 20, 30])
    assert mean_curve(x, np.concatenate(samples), rng()).p == pytest.approx(p)


def test_hopeless_attributes():
    constant = examine_attribute(np.full(50, 3), np.arange(50), rng())
    assert np.isnan(
        [constant.line.effect.value, constant.rank_correlation.value, constant.information.bits]
    ).all()
    assert np.isnan(constant.curve.p)
    assert constant.curve.rows.tolist() == [50]
    same = examine_attribute(np.arange(50), np.full(50, 3.5), rng())
    assert np.isnan([same.line.effect.p, same.rank_correlation.value, same.information.p, same.curve.p]).all()
    assert same.curve.mean.tolist() == [3.5] * 5
    assert np.isnan(same.curve.low).all()
    few = examine_attribute([1, 2, 3, 4], [2, 1, 4, 3], rng())
    assert np.isnan(few.curve.p)
    nobody = mean_curve([], [], rng())
    assert nobody.rows.size == 0
    alone = mean_curve(np.arange(60), np.arange(60) % 7, rng(), None, np.arange(60) // 30)
    assert np.isnan(alone.p)  # bins of one cluster


DESIGNS = {
    "normal": lambda drawn, n: drawn.normal(size=n),
    "lognormal": lambda drawn, n: drawn.lognormal(size=n) - np.exp(0.5),
    "half zeros": lambda drawn, n: (
        drawn.integers(0, 2, n) * drawn.lognormal(0, 0.75, n) - 0.5 * np.exp(0.75**2 / 2)
    ),
    "0 to 10": lambda drawn, n: drawn.integers(0, 11, n) - 5,
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("is_wider", [False, True])
def test_levels_and_coverage(design, is_wider):
    drawn = rng(10)
    rejected, covered = [], []
    for _ in worlds(2000):
        age = drawn.uniform(20, 60, 200)
        noise = DESIGNS[design](drawn, 200)
        if is_wider:
            noise = noise * age / 20
        rejected.append(mean_curve(age, noise, drawn).p < 0.05)
        line = fit_line(age, noise + 0.1 * age).slope
        covered.append(line.low <= 0.1 <= line.high)
    assert sum(rejected) <= most_by_chance(len(rejected), 0.05)
    assert covered.count(False) <= most_by_chance(len(covered), 0.05)


def test_clustered_rows_keep_the_level_of_a_curve():
    drawn = rng(11)
    rejected = []
    for _ in worlds(2000):
        cluster = np.repeat(np.arange(60), drawn.integers(1, 8, 60))
        age = drawn.uniform(20, 60, 60)[cluster]
        pay = drawn.normal(size=60)[cluster] + drawn.normal(size=len(cluster))
        by_clusters = mean_curve(age, pay, drawn, None, cluster, bins=10).p
        rejected.append((by_clusters < 0.05, mean_curve(age, pay, drawn, bins=10).p < 0.05))
    by_clusters, by_rows = np.sum(rejected, axis=0)
    assert by_clusters <= most_by_chance(len(rejected), 0.05)
    assert by_rows > 0.15 * len(rejected)
