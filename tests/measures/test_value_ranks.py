"""Ranks and quantiles of values: reference numbers, scipy and numpy, hopeless cases, laws."""

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from for_each import for_each
from hypothesis import example, given
from hypothesis import strategies as st
from numbers_data import EDGES, EXPECTED, REFERENCE, assert_as_expected, table, values_of
from scipy import stats

from fairbench_cli.measures.clusters import linear_variance
from fairbench_cli.measures.means import compare_means
from fairbench_cli.measures.moments import sum_powers_along
from fairbench_cli.measures.quantiles import (
    limit_positions,
    row_quantiles,
    sorted_quantiles,
    subtract_quantiles,
    table_quantiles,
)
from fairbench_cli.measures.value_ranks import (
    BLOCK,
    PlacementSums,
    RankComparison,
    SortedValues,
    cluster_placements,
    compare_placements,
    count_values,
    pair_counts,
    row_placements,
    sorted_placements,
    table_placements,
)

SAMPLES = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=20)
LARGER_SAMPLES = st.lists(st.integers(-5, 5).map(float), min_size=6, max_size=20)
SHARES = [0.1, 0.5, 0.9]
SHOULDER_PAIN = (
    [3, 3, 4, 3, 1, 2, 3, 1, 1, 5, 4],
    [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 1, 1],
)  # Brunner and Munzel (2000): patients who were treated, and who were not


def from_table(group, reference) -> PlacementSums:
    codes = np.repeat([0, 1], [len(group), len(reference)])
    return table_placements(count_values([*group, *reference], codes, 2), 0, 1)


def from_sorted(group, reference) -> PlacementSums:
    return sorted_placements(SortedValues(np.sort(group)), SortedValues(np.sort(reference)))


FEEDERS = pytest.mark.parametrize("feed", [from_table, from_sorted, row_placements])


def ranks_by_name(comparison: RankComparison) -> dict[str, float]:
    """Return the numbers of a comparison by the names of the reference file."""
    return {
        "p_more": comparison.p_more,
        "bm_df": comparison.degrees,
        "bm_statistic": comparison.statistic,
        "p_bm": comparison.p_t,
        "logit_low": comparison.low,
        "logit_high": comparison.high,
        "ks": comparison.largest_distance,
    }


@FEEDERS
@for_each("number", EXPECTED.index)
def test_ranks_are_those_of_the_reference_numbers(number, feed):
    comparison = compare_placements(feed(*values_of(number)))
    numbers = ranks_by_name(comparison) | {"se_p_more": comparison.error}
    assert_as_expected(numbers, EXPECTED.loc[number])


@FEEDERS
@for_each("name", EDGES)
def test_hopeless_cases_have_the_ranks_that_they_can_have(name, feed):
    case = EDGES[name]
    comparison = compare_placements(feed(np.array(case["g"]), np.array(case["r"])))
    numbers = ranks_by_name(comparison)
    if len(case["g"]) > 1:
        numbers["se"] = comparison.error
    assert_as_expected(numbers, {key: float(case[key]) for key in numbers})


@FEEDERS
def test_the_example_of_brunner_and_munzel(feed):
    comparison = compare_placements(feed(*SHOULDER_PAIN))
    assert round(float(comparison.statistic), 4) == 3.1375
    assert round(float(comparison.p_t), 6) == 0.005786


@FEEDERS
def test_salaries_of_professors_are_compared_as_scipy_does(feed):
    salaries = pd.read_csv(REFERENCE / "salaries.csv")
    expected = json.loads((REFERENCE / "salaries.json").read_text())
    women, men = (salaries["salary"][salaries["sex"] == sex].to_numpy() for sex in ("Female", "Male"))
    comparison = compare_placements(feed(women, men))
    means = compare_means(sum_powers_along(women, shift=1e5), sum_powers_along(men, shift=1e5))
    numbers = {
        "p_superiority": comparison.p_more,
        "p_brunner_munzel": comparison.p_t,
        "difference": means.difference.value,
        "low": means.difference.welch_low,
        "high": means.difference.welch_high,
        "p_welch": means.difference.p_welch,
        "ratio_of_means": means.ratio,
    }
    assert_as_expected(numbers, expected)
    assert float(means.hedges_g) == pytest.approx(expected["hedges_g"], rel=1e-4)


@FEEDERS
@for_each("number", range(0, 40, 3))
def test_ranks_are_those_of_scipy(number, feed):
    group, reference = values_of(number)
    comparison = compare_placements(feed(group, reference))
    expected = stats.brunnermunzel(reference, group)  # its sign is that of the second
    np.testing.assert_allclose((comparison.statistic, comparison.p_t), expected, rtol=1e-9)
    np.testing.assert_allclose(comparison.largest_distance, stats.ks_2samp(group, reference).statistic)


@given(SAMPLES, SAMPLES)
def test_all_feeders_give_the_same_sums(group, reference):
    expected = from_table(group, reference)
    for feed in (from_sorted, row_placements):
        sums = feed(group, reference)
        for name in vars(expected).keys() - {"group", "reference"}:
            np.testing.assert_allclose(getattr(sums, name), getattr(expected, name), rtol=1e-9, err_msg=name)


@given(SAMPLES, SAMPLES)
def test_a_swap_of_the_groups_mirrors_all(group, reference):
    there = compare_placements(from_table(group, reference))
    back = compare_placements(from_table(reference, group))
    np.testing.assert_allclose(back.p_more, 1 - there.p_more)
    np.testing.assert_allclose(back.low, 1 - there.high, atol=1e-12)
    np.testing.assert_allclose(back.p, there.p, rtol=1e-9)
    np.testing.assert_allclose(back.largest_distance, there.largest_distance)


@given(SAMPLES, SAMPLES)
def test_more_less_and_as_much_are_all_there_is(group, reference):
    differences = np.subtract.outer(group, reference)
    sums = from_table(group, reference)
    more = float(sums.p_more - sums.p_equal / 2)
    less = float(from_table(reference, group).p_more - sums.p_equal / 2)
    np.testing.assert_allclose((more, less), ((differences > 0).mean(), (differences < 0).mean()), atol=1e-12)
    assert more + less + float(sums.p_equal) == pytest.approx(1)


@given(SAMPLES, SAMPLES)
def test_only_the_order_of_the_values_counts(group, reference):
    before = compare_placements(from_table(group, reference))
    after = compare_placements(from_table(np.exp(group), np.exp(reference)))
    np.testing.assert_allclose(after.low, before.low)
    np.testing.assert_allclose(after.p, before.p)


@given(SAMPLES, SAMPLES)
def test_limits_leave_out_a_half_where_the_test_rejects(group, reference):
    sums = from_table(group, reference)
    comparison = compare_placements(sums)
    if sums.is_separate or math.isnan(comparison.p) or abs(comparison.p - 0.05) < 1e-9:
        return
    leaves_out = comparison.low > 0.5 or comparison.high < 0.5
    assert leaves_out == (comparison.p < 0.05)
    assert 0 <= comparison.low <= comparison.high <= 1


def test_groups_are_taken_together():
    values = np.array([1.0, 5, 2, 4, 3, 6, 7, 2])
    codes = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    together = table_placements(count_values(values, codes, 3), 0, [1, 2])
    expected = from_table(values[codes == 0], values[codes != 0])
    np.testing.assert_allclose(together.p_more, expected.p_more)
    np.testing.assert_allclose(together.reference_variance, expected.reference_variance)


def test_samples_are_compared_at_once():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 8, (5, 30))
    reference = rng.integers(0, 9, (5, 40))
    together = compare_placements(row_placements(group, reference))
    for i in range(5):
        alone = compare_placements(from_table(group[i], reference[i]))
        np.testing.assert_allclose(together.low[i], alone.low)


@pytest.mark.parametrize("sizes", [(3 * BLOCK, 2 * BLOCK + 5), (40, 3 * BLOCK), (3 * BLOCK, 40)])
def test_blocks_make_no_difference(sizes):
    rng = np.random.default_rng(2)
    for decimals in (0, 2, 12):
        group = np.round(rng.lognormal(0.1, 1, sizes[0]), decimals)
        reference = np.round(rng.lognormal(0, 1, sizes[1]), decimals)
        sums = from_sorted(group, reference)
        expected = from_table(group, reference)
        np.testing.assert_allclose(sums.p_more, expected.p_more, rtol=1e-12)
        np.testing.assert_allclose(sums.group_variance, expected.group_variance, rtol=1e-11)
        np.testing.assert_allclose(sums.largest_distance, expected.largest_distance, rtol=1e-11)


# -- one group above the other throughout


@pytest.mark.parametrize(("n", "m"), [(1, 3), (3, 4), (5, 2)])
def test_complete_separation_is_tested_by_all_orders_of_the_rows(n, m):
    values = np.arange(n + m)
    extreme = 0
    orders = list(combinations(values, n))
    for group in orders:
        reference = np.setdiff1d(values, group)
        extreme += float(from_table(group, reference).p_more) in (0.0, 1.0)
    for group, reference in ((values[m:], values[:m]), (values[:n], values[n:])):
        comparison = compare_placements(from_table(group, reference))
        assert float(comparison.p) == pytest.approx(extreme / len(orders))
        assert math.isnan(comparison.low)
        exact = stats.mannwhitneyu(group, reference, method="exact").pvalue
        assert float(comparison.p) == pytest.approx(exact)


def test_separation_with_weights_is_exact_whatever_they_add_up_to():
    weights = np.full(30, 0.1)
    weights[::3] = 0.7
    codes = np.repeat([0, 1], 15)
    sums = table_placements(count_values(np.arange(30.0), codes, 2, weights), 0, 1)
    assert sums.is_separate
    assert float(sums.p_more) == 0
    assert float(sums.group_variance + sums.reference_variance) == 0


def test_one_value_in_all_rows_is_no_evidence():
    codes = np.repeat([0, 1], 15)
    weights = np.linspace(0.1, 0.7, 30)
    for w in (None, weights):
        comparison = compare_placements(table_placements(count_values(np.full(30, 4.2), codes, 2, w), 0, 1))
        assert float(comparison.p_more) == pytest.approx(0.5)
        assert math.isnan(comparison.p)
        assert math.isnan(comparison.low)


def test_a_group_without_rows_has_no_ranks():
    comparison = compare_placements(from_table([], [1.0, 2, 3]))
    assert np.isnan([comparison.p_more, comparison.p, comparison.largest_distance]).all()


# -- weights and clusters


@given(SAMPLES, SAMPLES, st.floats(0.1, 20))
def test_equal_weights_are_no_weights(group, reference, weight):
    values = np.array([*group, *reference])
    codes = np.repeat([0, 1], [len(group), len(reference)])
    plain = compare_placements(from_table(group, reference))
    weighted = count_values(values, codes, 2, np.full(len(values), weight))
    comparison = compare_placements(table_placements(weighted, 0, 1))
    for name in ("p_more", "error", "degrees", "low", "high", "p", "largest_distance"):
        np.testing.assert_allclose(getattr(comparison, name), getattr(plain, name), rtol=1e-6, atol=1e-9)


def test_weighted_placements_are_sums_over_pairs():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 10, 60).astype(float)
    codes = np.repeat([0, 1], [25, 35])
    weights = rng.lognormal(size=60)
    sums = table_placements(count_values(values, codes, 2, weights), 0, 1)
    group, reference = (codes == side for side in (0, 1))
    pairs = np.subtract.outer(values[group], values[reference])
    wins = (pairs > 0) + (pairs == 0) / 2
    products = np.multiply.outer(weights[group], weights[reference])
    np.testing.assert_allclose(sums.p_more, (wins * products).sum() / products.sum())
    placements = wins @ weights[reference] / weights[reference].sum()
    influence = weights[group] * (placements - sums.p_more) / weights[group].sum()
    np.testing.assert_allclose(sums.group_variance, 25 / 24 * (influence**2).sum())
    in_order = [np.argsort(values[side]) for side in (group, reference)]
    merged = sorted_placements(
        SortedValues(values[group][in_order[0]], weights[group][in_order[0]]),
        SortedValues(values[reference][in_order[1]], weights[reference][in_order[1]]),
    )
    for name in ("p_more", "p_equal", "group_variance", "reference_variance", "largest_distance"):
        np.testing.assert_allclose(getattr(merged, name), getattr(sums, name))


def clusters_of(values, codes, cluster, weights=None):
    """Return the table, its sums of placements, and those by cluster."""
    if weights is None:
        w = np.ones(len(values))
    else:
        w = weights
    counted = count_values(values, codes, 2, weights)
    index = np.searchsorted(counted.values, values)
    sums = cluster_placements(pair_counts(counted, 0, 1), cluster, codes == 0, index, w, w**2)
    return table_placements(counted, 0, 1), sums


def test_placements_of_a_cluster_add_up_to_none():
    rows = table(32)
    placements, sums = clusters_of(rows["value"], rows["code"], rows["cluster"], rows["weight"].to_numpy())
    np.testing.assert_allclose(sums.residual.sum(-1), 0, atol=1e-9)
    np.testing.assert_allclose(sums.weight.sum(-1), [placements.reference.weight, placements.group.weight])


def test_clusters_of_one_row_are_rows():
    rows = table(8)
    placements, sums = clusters_of(rows["value"], rows["code"], np.arange(len(rows)))
    clustered = compare_placements(placements, ways=[sums])
    expected = compare_placements(placements)
    np.testing.assert_allclose(clustered.error, expected.error)
    np.testing.assert_allclose(clustered.degrees, expected.degrees, rtol=0.2)


def test_rows_that_are_there_twice_are_as_good_as_once():
    rows = table(8)
    once = compare_placements(from_table(*values_of(8)))
    twice = rows.loc[rows.index.repeat(2)]
    placements, sums = clusters_of(twice["value"], twice["code"], np.arange(len(rows)).repeat(2))
    clustered = compare_placements(placements, ways=[sums])
    np.testing.assert_allclose(clustered.p_more, once.p_more)
    np.testing.assert_allclose(clustered.error, once.error)
    variance, _ = linear_variance([sums], np.array([-1.0, 1.0]))
    np.testing.assert_allclose(clustered.error**2, variance)


# -- quantiles


@for_each("number", EXPECTED.index)
def test_quantiles_are_those_of_the_reference_numbers(number):
    rows = table(number)
    counted = count_values(rows["value"], rows["code"], 2)
    for i, name in enumerate("gr"):
        quantiles = table_quantiles(counted, i, SHARES)
        in_order = np.sort(values_of(number)[i])
        for other in (row_quantiles(in_order, SHARES), sorted_quantiles(SortedValues(in_order), SHARES)):
            np.testing.assert_allclose(other, quantiles, rtol=1e-9)
        for j, share in enumerate(SHARES):
            assert_as_expected({f"q{share}_{name}": quantiles.value[j]}, EXPECTED.loc[number])
            limits = {f"q{share}_r_low": quantiles.low[j], f"q{share}_r_high": quantiles.high[j]}
            if name == "r":
                finite = {key: limit for key, limit in limits.items() if np.isfinite(limit)}
                assert_as_expected(finite, EXPECTED.loc[number])


@example([0.0, 1.0], 1 / 64)
@given(SAMPLES, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values, share):
    counted = count_values(values, np.zeros(len(values), dtype=int), 1)
    quantiles = table_quantiles(counted, 0, share)
    np.testing.assert_allclose(quantiles.value[0], np.quantile(values, share), atol=1e-9)
    assert quantiles.low[0] <= quantiles.value[0] <= quantiles.high[0]


@given(SAMPLES, st.floats(0.1, 20), st.floats(0.05, 0.95))
def test_quantiles_with_equal_weights_are_those_without(values, weight, share):
    in_order = np.sort(values)
    plain = sorted_quantiles(SortedValues(in_order), share)
    weighted = sorted_quantiles(SortedValues(in_order, np.full(len(values), weight)), share)
    np.testing.assert_allclose(weighted, plain, rtol=1e-6, atol=1e-6)


def test_quantiles_with_weights_are_where_the_weight_is():
    values = np.arange(1000.0)
    weights = np.where(values < 500, 3.0, 1.0)
    quantiles = sorted_quantiles(SortedValues(values, weights), [0.25, 0.75, 0.9])
    np.testing.assert_allclose(quantiles.value, [166.2, 499.8, 799.1], atol=1.0)
    assert (quantiles.low < quantiles.value).all()
    assert (quantiles.value < quantiles.high).all()


def test_the_limits_of_a_median_hold_it_as_often_as_they_say():
    values = np.sort(np.random.default_rng(4).normal(size=(20_000, 41)), axis=-1)
    _, low, high = row_quantiles(values, [0.5])
    share = ((low <= 0) & (high >= 0)).mean()
    assert share == pytest.approx(0.95, abs=0.006)


def test_few_rows_have_no_limit_to_the_side_of_a_far_quantile():
    low, high = limit_positions(np.array(35.0), np.array([0.1, 0.9]))
    assert np.isneginf(low[0])
    assert np.isfinite(high[0])
    assert np.isposinf(high[1])
    low, _ = limit_positions(np.array(36.0), np.array([0.1]))
    assert np.isfinite(low[0])


@given(LARGER_SAMPLES, LARGER_SAMPLES, st.floats(0.2, 5), st.floats(-9, 9))
def test_differences_of_quantiles_move_and_mirror_with_the_values(group, reference, scale, shift):
    sides = [np.sort(side) for side in (group, reference)]
    quantiles = [row_quantiles(side, [0.5]) for side in sides]
    difference = subtract_quantiles(*quantiles)
    mirrored = subtract_quantiles(quantiles[1], quantiles[0])
    np.testing.assert_allclose(mirrored.low, -difference.high)
    moved = subtract_quantiles(*(row_quantiles(scale * side + shift, [0.5]) for side in sides))
    np.testing.assert_allclose(moved.low, scale * difference.low, atol=1e-9)
    np.testing.assert_allclose(moved.value, scale * difference.value, atol=1e-9)


def test_no_rows_have_no_quantiles():
    quantiles = table_quantiles(count_values([1.0, 2.0], [0, 0], 2), 1, [0.5])
    assert np.isnan(quantiles.value).all()
    assert np.isnan(row_quantiles(np.zeros(0), [0.5]).value).all()
