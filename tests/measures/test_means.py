"""Moments and means: reference numbers, scipy and statsmodels, hopeless cases, laws."""

import math

import numpy as np
import pytest
from for_each import for_each
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numbers_data import EDGES, EXPECTED, GROUP, assert_as_expected, moments_of, table, values_of
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.weightstats import DescrStatsW

from fairbench_cli.measures.clusters import ClusterSums, linear_variance
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import (
    ENOUGH_ROWS,
    FEW_ROWS,
    FEW_SKEWED_ROWS,
    compare_means,
    hedges_factor,
    judge_margin,
    mean_interval,
    row_shortage,
    rows_to_decide,
)
from fairbench_cli.measures.moments import (
    POWERS,
    Moments,
    cluster_means,
    moments_from_sums,
    select_sides,
    sum_powers,
    sum_powers_along,
)
from fairbench_cli.measures.prediction_errors import explained_share, mean_square

NUMBERS = st.floats(-100, 100, allow_nan=False).map(lambda number: round(number, 3))
SAMPLES = st.lists(NUMBERS, min_size=3, max_size=30)


def means_by_name(group: Moments, reference: Moments) -> dict[str, float]:
    """Return the numbers of a comparison by the names of the reference file."""
    comparison = compare_means(group, reference)
    difference = comparison.difference
    return {
        "difference": difference.value,
        "df": difference.degrees,
        "t": difference.t,
        "p_welch": difference.p_welch,
        "welch_low": difference.welch_low,
        "welch_high": difference.welch_high,
        "skew_of_difference": difference.skewness,
        "hall_low": difference.hall_low,
        "hall_high": difference.hall_high,
        "low": difference.low,
        "high": difference.high,
        "ratio": comparison.ratio,
        "log_low": comparison.ratio_low,
        "log_high": comparison.ratio_high,
    }


@for_each("number", EXPECTED.index)
def test_means_are_those_of_the_reference_numbers(number):
    rows = table(number)
    moments = moments_of(rows)
    numbers = means_by_name(moments[0], moments[1])
    comparison = compare_means(moments[0], moments[1])
    weighted = moments_of(rows, weight="weight")
    for i, name in enumerate("gr"):
        numbers[f"mean_{name}"] = moments.mean[i]
        numbers[f"wmean_{name}"] = weighted.mean[i]
        numbers[f"wse_{name}"] = np.sqrt(weighted.variance_of_mean[i])
    numbers |= {
        "se": comparison.difference.error,
        "hedges_g": comparison.hedges_g,
        "hedges_j": hedges_factor(len(rows) - 2),
        "bonett_d": comparison.bonett_d,
        "bonett_low": comparison.bonett_low,
        "bonett_high": comparison.bonett_high,
    }
    assert_as_expected(numbers, EXPECTED.loc[number])


@for_each("number", EXPECTED.index)
def test_errors_of_predictions_are_those_of_the_reference_numbers(number):
    rows = table(number)
    rows = rows.assign(residual=rows["prediction"] - rows["value"])
    rows = rows.assign(absolute=rows["residual"].abs())
    residuals = moments_of(rows, "residual")
    numbers = {}
    for i, name in enumerate("gr"):
        numbers[f"residual_{name}"] = residuals.mean[i]
        numbers[f"mae_{name}"] = moments_of(rows, "absolute").mean[i]
        numbers[f"rmse_{name}"] = math.sqrt(mean_square(residuals)[i])
        numbers[f"r2_{name}"] = explained_share(residuals, moments_of(rows))[i]
    assert_as_expected(numbers, EXPECTED.loc[number])


@for_each("name", EDGES)
def test_hopeless_cases_have_the_numbers_that_they_can_have(name):
    case = EDGES[name]
    shift = case["r"][0]
    group, reference = (sum_powers_along(case[side], shift=shift) for side in "gr")
    expected = {key: float(answer) for key, answer in case.items() if key not in "gr"}
    assert_as_expected(means_by_name(group, reference), expected)


@for_each("number", range(0, 40, 3))
def test_welch_is_that_of_scipy(number):
    group, reference = values_of(number)
    expected = stats.ttest_ind(group, reference, equal_var=False)
    difference = compare_means(sum_powers_along(group), sum_powers_along(reference)).difference
    interval = expected.confidence_interval()
    numbers = (difference.t, difference.p_welch, difference.welch_low, difference.welch_high)
    np.testing.assert_allclose(numbers, (expected.statistic, expected.pvalue, interval.low, interval.high))


def test_a_mean_alone_is_that_of_scipy_and_of_statsmodels():
    group, _ = values_of(1)
    interval = mean_interval(sum_powers_along(group))
    assert float(interval.p_welch) == pytest.approx(stats.ttest_1samp(group, 0).pvalue)
    limits = DescrStatsW(group).tconfint_mean()
    np.testing.assert_allclose((interval.welch_low, interval.welch_high), limits)
    k3 = stats.kstat(group, 3)
    np.testing.assert_allclose(interval.skewness, k3 / len(group) ** 2 / interval.error**3)


# -- moments


def test_values_far_from_zero_keep_their_digits():
    """A billion ± 1: the plain sums of squares have lost the variance."""
    rng = np.random.default_rng(1)
    deviations = rng.normal(size=100_000)
    values = 1e9 + deviations
    shifted = sum_powers_along(values, shift=values[:1000].mean())
    exact = values - 1e9
    assert float(shifted.variance) == pytest.approx(exact.var(ddof=1), rel=1e-12)
    assert float(shifted.third) == pytest.approx(stats.kstat(exact, 3), rel=1e-9)
    assert float(shifted.fourth) == pytest.approx(stats.moment(exact, 4), rel=1e-12)


@pytest.mark.parametrize("n", [10, 1_000, 1_000_000])
def test_equal_values_have_no_variance_however_many_they_are(n):
    moments = sum_powers(np.full(n, 3.1), np.zeros(n, dtype=int), 1, shift=4.7)
    assert moments.variance.tolist() == [0.0]
    assert moments.variance_of_mean.tolist() == [0.0]
    assert moments.fourth.tolist() == [0.0]


@given(SAMPLES, SAMPLES)
def test_moments_of_parts_add_up_to_those_of_all_rows(first_part, second_part):
    first, second, together = (
        sum_powers_along(values, shift=1.5) for values in (first_part, second_part, first_part + second_part)
    )
    np.testing.assert_allclose((first + second).sums, together.sums, rtol=1e-9, atol=1e-9)
    groups = np.repeat([0, 1], [len(first_part), len(second_part)])
    by_group = sum_powers(first_part + second_part, groups, 2, shift=1.5)
    np.testing.assert_allclose(by_group.merge().sums, together.sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(together.mean, np.mean(first_part + second_part), atol=1e-9)
    assert together.variance == pytest.approx(np.var(first_part + second_part, ddof=1), rel=1e-9, abs=1e-9)


def test_moments_around_two_shifts_are_not_added():
    with pytest.raises(ValueError, match="cannot be added"):
        sum_powers_along([1.0, 2]) + sum_powers_along([1.0, 2], shift=1.0)


@given(SAMPLES, st.floats(0.1, 50))
def test_equal_weights_are_no_weights(values, weight):
    plain = sum_powers_along(values, shift=1.0)
    weighted = sum_powers_along(values, np.full(len(values), weight), shift=1.0)
    names = ("mean", "variance", "variance_of_mean", "third_of_mean", "third", "fourth", "effective_rows")
    for name in names:
        np.testing.assert_allclose(getattr(weighted, name), getattr(plain, name), rtol=1e-6, atol=1e-7)


@given(SAMPLES)
def test_a_row_twice_and_a_row_of_weight_two_have_one_mean(values):
    twice = sum_powers_along([*values, values[0]])
    weights = np.ones(len(values))
    weights[0] = 2
    np.testing.assert_allclose(sum_powers_along(values, weights).mean, twice.mean, atol=1e-9)


def test_rows_without_weight_do_not_count():
    weighted = sum_powers_along([1.0, 2, 4, 99], [1.0, 1, 1, 0])
    plain = sum_powers_along([1.0, 2, 4])
    assert float(weighted.rows) == 3
    assert float(weighted.variance_of_mean) == pytest.approx(float(plain.variance_of_mean))


# -- laws of comparisons


@given(SAMPLES, SAMPLES, st.floats(0.1, 10), st.floats(-50, 50))
def test_a_shift_and_a_scale_of_all_values_shift_and_scale_the_limits(group, reference, scale, shift):
    assume(np.std(group) + np.std(reference) > 0.01)
    before = compare_means(sum_powers_along(group), sum_powers_along(reference)).difference
    moved = [sum_powers_along(np.asarray(side) * scale + shift) for side in (group, reference)]
    after = compare_means(*moved).difference
    for name in ("value", "low", "high"):
        expected = scale * getattr(before, name)
        np.testing.assert_allclose(getattr(after, name), expected, rtol=1e-5, atol=1e-5 * scale)
    np.testing.assert_allclose(after.p, before.p, rtol=1e-4, atol=1e-6)


@given(SAMPLES, SAMPLES)
def test_groups_that_are_swapped_mirror_the_limits(group, reference):
    there = compare_means(sum_powers_along(group), sum_powers_along(reference))
    back = compare_means(sum_powers_along(reference), sum_powers_along(group))
    np.testing.assert_allclose(back.difference.value, -there.difference.value)
    np.testing.assert_allclose(back.difference.low, -there.difference.high)
    np.testing.assert_allclose(back.difference.p, there.difference.p)
    np.testing.assert_allclose(back.ratio_low, 1 / there.ratio_high)
    np.testing.assert_allclose(back.hedges_g, -there.hedges_g)


@given(SAMPLES, SAMPLES)
def test_an_interval_leaves_out_zero_where_its_test_rejects(group, reference):
    difference = compare_means(sum_powers_along(group), sum_powers_along(reference)).difference
    if math.isnan(difference.p) or abs(difference.p - 0.05) < 1e-9:
        return
    leaves_out = difference.low > 0 or difference.high < 0
    assert leaves_out == (difference.p < 0.05)


def test_comparisons_are_vectorised():
    values = np.random.default_rng(3).lognormal(size=(4, 2, 50))
    moments = sum_powers_along(values)
    together = compare_means(moments[:, 0], moments[:, 1])
    judgement = judge_margin(moments[:, 0], moments[:, 1], Margin(0.2, "sd"))
    for i in range(4):
        alone = compare_means(moments[i, 0], moments[i, 1])
        np.testing.assert_allclose(together.difference.low[i], alone.difference.low)
        np.testing.assert_allclose(together.bonett_high[i], alone.bonett_high)
        alone_judgement = judge_margin(moments[i, 0], moments[i, 1], Margin(0.2, "sd"))
        assert judgement.is_within[i] == alone_judgement.is_within


def test_many_groups_are_compared_with_one_reference():
    codes = np.arange(90) % 3
    moments = sum_powers(np.random.default_rng(4).lognormal(size=90), codes, 3, shift=1.0)
    together = compare_means(moments, moments[[2]])
    judgement = judge_margin(moments, moments[[2]], Margin(10, "percent"))
    needed = rows_to_decide(moments, moments[[2]], Margin(10, "percent"))
    for i in range(3):
        np.testing.assert_allclose(
            together.difference.high[i], compare_means(moments[i], moments[2]).difference.high
        )
        alone = judge_margin(moments[i], moments[2], Margin(10, "percent"))
        np.testing.assert_allclose(judgement.below.low[i], alone.below.low)
        expected = rows_to_decide(moments[i], moments[2], Margin(10, "percent"))
        np.testing.assert_allclose(needed[i], expected)
    assert together.hedges_g.shape == judgement.units.shape == needed.shape == (3,)


# -- clusters


def cluster_moments(rows) -> Moments:
    """Return the moments by group and cluster."""
    n_clusters = rows["cluster"].max() + 1
    cells = rows["code"] * n_clusters + rows["cluster"]
    moments = sum_powers(rows["value"], cells, 2 * n_clusters, shift=float(rows["value"].mean()))
    return Moments(moments.rows.reshape(2, -1), moments.sums.reshape(len(POWERS), 2, -1), moments.shift)


@for_each("number", EXPECTED.index)
def test_sums_by_cluster_make_the_cluster_errors_of_statsmodels(number):
    moments = cluster_moments(table(number))
    for i, name in enumerate("gr"):
        sums = cluster_means(moments[i : i + 1])
        n_clusters = (sums.weight > 0).sum()
        square = np.square(sums.residual / sums.total).sum() * n_clusters / (n_clusters - 1)
        assert_as_expected({f"cse_{name}": np.sqrt(square)}, EXPECTED.loc[number])


def test_clusters_of_one_row_are_rows():
    rows = table(1)
    rows = rows.assign(cluster=np.arange(len(rows)))
    moments = cluster_moments(rows)
    sums = cluster_means(select_sides(moments, GROUP, 1))
    plain = moments_of(rows)
    clustered = compare_means(plain[0], plain[1], ways=[sums]).difference
    expected = compare_means(plain[0], plain[1]).difference
    np.testing.assert_allclose(clustered.error, expected.error)
    np.testing.assert_allclose(clustered.degrees, expected.degrees, rtol=0.1)
    np.testing.assert_allclose(clustered.skewness, expected.skewness, rtol=0.1)


def test_clusters_of_one_size_in_one_group_each_are_means_of_clusters():
    rng = np.random.default_rng(5)
    means = rng.normal(size=(2, 12))
    values = means[..., None] + rng.normal(size=(2, 12, 6))
    codes = np.arange(24).repeat(6)
    moments = sum_powers(values.ravel(), codes, 24)
    sides = np.zeros((2, 24))
    sides[0, :12] = 1
    sides[1, 12:] = 1
    by_cluster = Moments(moments.rows * sides, moments.sums[:, None, :] * sides, moments.shift)
    sums = cluster_means(select_sides(by_cluster, 1, 0))
    both = by_cluster.merge()
    clustered = compare_means(both[1], both[0], ways=[sums]).difference
    expected = stats.ttest_ind(values[1].mean(-1), values[0].mean(-1), equal_var=False)
    np.testing.assert_allclose(clustered.t, expected.statistic)


def test_households_with_rows_of_both_groups_are_compared_within():
    """What a household has in common cancels out of the difference, as in a paired test."""
    rng = np.random.default_rng(6)
    common = rng.normal(0, 10, 200)
    pairs = common[:, None] + rng.normal(size=(200, 2))
    sums_by_side = sum_powers_along(pairs.T[..., None])
    sums = cluster_means(sums_by_side)
    both = sums_by_side.merge()
    difference = compare_means(both[1], both[0], ways=[sums]).difference
    expected = stats.ttest_rel(pairs[:, 1], pairs[:, 0])
    np.testing.assert_allclose(difference.t, expected.statistic, rtol=1e-9)
    model = OLS(pairs.ravel(), np.column_stack([np.ones(400), np.tile([0.0, 1], 200)]))
    groups = np.arange(200).repeat(2)
    robust = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    np.testing.assert_allclose(difference.error, robust.bse[1] * np.sqrt(200 / 199), rtol=1e-9)


def test_one_cluster_decides_nothing():
    sums = cluster_means(sum_powers_along(np.ones((2, 1, 4)) * np.arange(4)))
    moments = sum_powers_along(np.arange(4.0))
    assert math.isnan(compare_means(moments, moments, ways=[sums]).difference.p)


def test_clusters_by_two_columns_take_the_largest_variance():
    rows = table(32)
    moments = cluster_moments(rows)
    sums = cluster_means(select_sides(moments, GROUP, 1))
    plain = moments_of(rows)
    variance, _ = linear_variance([sums, sums, sums], np.array([-1.0, 1.0]))
    difference = compare_means(plain[0], plain[1], ways=[sums, sums, sums]).difference
    np.testing.assert_allclose(difference.error**2, variance)
    assert isinstance(sums, ClusterSums)


def test_changes_of_the_same_people_are_a_paired_test():
    rng = np.random.default_rng(7)
    before = rng.normal(size=40)
    after = before + rng.normal(0.3, 0.5, 40)
    change = mean_interval(sum_powers_along(after - before))
    expected = stats.ttest_rel(after, before)
    np.testing.assert_allclose((change.t, change.p_welch), (expected.statistic, expected.pvalue))


# -- margins


def shifted_sample(mean: float, n: int, spread: float = 1.0) -> Moments:
    """Return the moments of a sample that is as good as normal, with a given mean."""
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return sum_powers_along(mean + spread * quantiles, shift=mean)


def around_one_shift(*moments: Moments) -> list[Moments]:
    """Return moments of samples again, around 0."""
    n = int(moments[0].rows)
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return [sum_powers_along(sample.shift + quantiles) for sample in moments]


def test_a_margin_in_units_is_the_interval_of_the_difference():
    rng = np.random.default_rng(8)
    group = sum_powers_along(rng.lognormal(size=300))
    reference = sum_powers_along(rng.lognormal(size=300))
    difference = compare_means(group, reference).difference
    for size in (0.1, 0.4, 1.0):
        judgement = judge_margin(group, reference, Margin(size))
        assert judgement.is_within == (difference.low > -size and difference.high < size)
        assert judgement.is_outside == (difference.low > size or difference.high < -size)
        np.testing.assert_allclose(judgement.below.low - size, difference.low)
        np.testing.assert_allclose(judgement.above.high + size, difference.high)


def test_a_margin_is_said_in_all_units():
    reference = sum_powers_along([10.0, 20, 30, 40, 50])
    group = sum_powers_along([12.0, 22, 31, 41])
    for margin in (Margin(3), Margin(10, "percent"), Margin(3 / np.sqrt(250), "sd")):
        judgement = judge_margin(group, reference, margin)
        numbers = (judgement.units, judgement.share, judgement.deviations)
        np.testing.assert_allclose(numbers, (3, 0.1, 3 / np.sqrt(250)))


def test_a_margin_in_per_cent_is_tested_by_its_contrast():
    rng = np.random.default_rng(9)
    group = rng.lognormal(1, 0.5, 400)
    reference = rng.lognormal(1, 0.5, 500)
    judgement = judge_margin(sum_powers_along(group), sum_powers_along(reference), Margin(5, "percent"))
    np.testing.assert_allclose(judgement.below.value, group.mean() - 0.95 * reference.mean())
    variance = group.var(ddof=1) / 400 + 1.05**2 * reference.var(ddof=1) / 500
    np.testing.assert_allclose(judgement.above.error**2, variance)


def test_per_cent_of_a_mean_below_zero_are_those_of_its_mirror_image():
    values = np.array([1.0, 2, 4]), np.array([3.0, 3.5, 4, 5, 7])
    margin = Margin(5, "percent")
    judgement = judge_margin(*map(sum_powers_along, values), margin)
    mirrored = judge_margin(*(sum_powers_along(-side) for side in values), margin)
    assert mirrored.units == judgement.units
    for name in ("value", "welch_low", "hall_low"):
        opposite = name.replace("low", "high")
        np.testing.assert_allclose(getattr(mirrored.above, name), -getattr(judgement.below, opposite))
        np.testing.assert_allclose(getattr(mirrored.below, name), -getattr(judgement.above, opposite))


def test_no_per_cent_of_a_mean_of_zero():
    reference = sum_powers_along([-1.0, 1])
    judgement = judge_margin(reference, reference, Margin(5, "percent"))
    assert math.isnan(judgement.units)
    assert not (judgement.is_within | judgement.is_outside | judgement.is_beyond)
    assert math.isnan(rows_to_decide(reference, reference, Margin(5, "percent")))


def test_the_variance_with_the_references_deviation_is_that_of_resampling():
    rng = np.random.default_rng(10)
    group = rng.normal(1, 1, 400)
    reference = rng.gamma(2, 1, 500)
    judgement = judge_margin(sum_powers_along(group), sum_powers_along(reference), Margin(0.5, "sd"))
    group_means = rng.choice(group, (8_000, 400)).mean(-1)
    samples = rng.choice(reference, (8_000, 500))
    for interval, sign in ((judgement.below, 0.5), (judgement.above, -0.5)):
        contrasts = group_means - samples.mean(-1) + sign * samples.std(-1, ddof=1)
        assert float(interval.error) == pytest.approx(contrasts.std(), rel=0.03)


def test_equal_means_pass_and_far_ones_are_outside():
    equal, far = around_one_shift(shifted_sample(0, 2000), shifted_sample(3, 2000))
    judgement = judge_margin(equal, equal, Margin(0.2, "sd"))
    assert judgement.is_within
    assert not judgement.is_beyond
    judgement = judge_margin(far, equal, Margin(0.2, "sd"))
    assert judgement.is_outside
    assert judgement.is_beyond


@pytest.mark.parametrize(("gap", "unit"), [(0.0, "units"), (0.1, "sd"), (0.5, "units"), (0.5, "sd")])
def test_so_many_rows_decide_with_the_power_that_was_asked_for(gap, unit):
    margin = Margin(0.3, unit)
    group, reference = around_one_shift(shifted_sample(gap, 200), shifted_sample(0, 200))
    n = int(np.ceil(float(rows_to_decide(group, reference, margin)) / 2))
    rng = np.random.default_rng(11)
    simulated = sum_powers_along(rng.normal(gap, 1, (2000, n)))
    others = sum_powers_along(rng.normal(0, 1, (2000, n)))
    judgement = judge_margin(simulated, others, margin)
    fails = judgement.is_beyond & (compare_means(simulated, others).difference.p < 0.05)
    decided = judgement.is_within if gap < 0.3 else fails
    assert float(decided.mean()) == pytest.approx(0.8, abs=0.03)


def test_no_number_of_rows_decides_at_the_margin():
    group, reference = around_one_shift(shifted_sample(0.3, 100), shifted_sample(0, 100))
    at_margin = Margin(float(group.mean - reference.mean))
    assert math.isnan(rows_to_decide(group, reference, at_margin))
    constant = sum_powers_along([3.0, 3, 3])
    assert math.isnan(rows_to_decide(constant, constant, Margin(1)))


def test_what_is_few():
    counts = np.array([9.0, 10, 99, 99, 100])
    group = moments_from_sums(counts, np.stack([counts] * 5))
    shortage = row_shortage(group, group, [0, 0, -0.2, 0.1, 2])
    assert shortage.tolist() == [FEW_ROWS, ENOUGH_ROWS, FEW_SKEWED_ROWS, ENOUGH_ROWS, ENOUGH_ROWS]
    heavy = sum_powers_along(np.arange(60.0), np.where(np.arange(60) < 3, 60.0, 1.0))
    assert row_shortage(heavy, heavy, 0.0) == FEW_ROWS


# -- errors of predictions


@given(arrays(np.float64, 12, elements=NUMBERS), arrays(np.float64, 12, elements=st.floats(0.1, 5)))
def test_measures_of_errors_are_those_of_the_rows(residuals, weights):
    moments = sum_powers_along(residuals, weights, shift=2.0)
    expected = np.average(residuals**2, weights=weights)
    np.testing.assert_allclose(mean_square(moments), expected, rtol=1e-7, atol=1e-9)


def test_labels_that_are_equal_have_no_share_to_explain():
    constant = sum_powers_along([3.0, 3, 3])
    assert math.isnan(explained_share(sum_powers_along([0.0, 1, 0]), constant))
