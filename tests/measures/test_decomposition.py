"""Oaxaca–Blinder against golden tables, by its laws, and by simulation."""

import numpy as np
import pytest
from numbers_tables import TABLES, each_table, golden

from fairbench_cli.measures.decomposition import Decomposition, ExplainingColumn, decompose_difference

SCHOOLS = ("none", "school", "college", "doctorate")


@each_table
def test_parts_of_golden_tables(number):
    table = TABLES[number]
    predictor = ExplainingColumn("column", table["column"])
    parts = decompose_difference(table["value"], table["is_group"], [predictor])
    # The golden file has the reference less the group.
    assert -parts.difference == golden(number, "oaxaca_gap")
    assert -parts.explained.value == golden(number, "oaxaca_explained_by_reference")
    assert -parts.unexplained.value == golden(number, "oaxaca_unexplained_by_reference")
    back = decompose_difference(table["value"], ~table["is_group"], [predictor])
    assert back.explained.value == golden(number, "oaxaca_endowments")


def draw_pay(seed, n=300, n_households=120):
    """Return pay, groups, predictors, weights and clusters."""
    rng = np.random.default_rng(seed)
    is_group = rng.random(n) < 0.4
    years = rng.gamma(2, 5, n) - 2 * is_group
    school = np.minimum(rng.integers(0, 4, n), rng.integers(0, 4, n))
    household = rng.integers(0, n_households, n)
    pay = (
        20
        + years
        + 3 * school
        - 2 * is_group
        + rng.normal(size=n) * 4
        + rng.normal(size=n_households)[household]
    )
    predictors = [ExplainingColumn("years", years), ExplainingColumn("school", school, SCHOOLS)]
    return pay, is_group, predictors, rng.lognormal(0, 0.5, n), household


def by_hand(pay, is_group, matrix, weights):
    """Return what is explained and what is not by normal equations, and the variances written out."""
    coefficients, covariances, means, mean_covariances = [], [], [], []
    for side in (is_group, ~is_group):
        w = weights[side]
        design = np.column_stack([np.ones(side.sum()), matrix[side]])
        bread = np.linalg.inv(design.T @ (design * w[:, None]))
        b = bread @ design.T @ (w * pay[side])
        left = pay[side] - design @ b
        leverage = w * ((design @ bread) * design).sum(-1)
        influence = bread @ design.T * (w * left / (1 - leverage))
        mean = w @ design / w.sum()
        away = (w / w.sum() / (1 - w / w.sum()))[:, None] * (design - mean)
        coefficients.append(b)
        covariances.append(influence @ influence.T)
        means.append(mean)
        mean_covariances.append(away.T @ away)
    gap, change = means[0] - means[1], coefficients[0] - coefficients[1]
    explained = gap @ covariances[1] @ gap + coefficients[1] @ sum(mean_covariances) @ coefficients[1]
    unexplained = means[0] @ sum(covariances) @ means[0] + change @ mean_covariances[0] @ change
    return gap @ coefficients[1], explained, means[0] @ change, unexplained


@pytest.mark.parametrize("seed", range(3))
def test_parts_and_errors_are_those_of_matrices_written_out(seed):
    pay, is_group, predictors, weights, _ = draw_pay(seed)
    parts = decompose_difference(pay, is_group, predictors, weights)
    matrix = np.column_stack([predictors[0].values, predictors[1].values[:, None] == [1, 2, 3]])
    explained, explained_variance, unexplained, unexplained_variance = by_hand(pay, is_group, matrix, weights)
    assert parts.explained.value == pytest.approx(explained)
    assert parts.explained.error**2 == pytest.approx(explained_variance)
    assert parts.unexplained.value == pytest.approx(unexplained)
    assert parts.unexplained.error**2 == pytest.approx(unexplained_variance)
    assert parts.unexplained.degrees == pytest.approx(min(parts.rows) - 5)


@pytest.mark.gate
@pytest.mark.parametrize("is_clustered", [False, True])
def test_parts_add_up(is_clustered):
    pay, is_group, predictors, weights, household = draw_pay(4)
    parts = decompose_difference(pay, is_group, predictors, weights, household if is_clustered else None)
    means = [np.average(pay[side], weights=weights[side]) for side in (is_group, ~is_group)]
    assert parts.difference == pytest.approx(means[0] - means[1])
    assert parts.explained.value + parts.unexplained.value == pytest.approx(parts.difference)
    assert [column.name for column in parts.contributions] == ["years", "school"]
    explained = [column.explained.value for column in parts.contributions]
    assert sum(explained) == pytest.approx(parts.explained.value)
    left = [column.unexplained for column in parts.contributions]
    assert sum(left) + parts.constant == pytest.approx(parts.unexplained.value)
    assert parts.dropped == parts.too_few == ()
    for column in parts.contributions:
        assert column.explained.low < column.explained.value < column.explained.high


def numbers_of(parts):
    """Return the numbers that do not depend on where 0 is, or on the level that is left out."""
    columns = [number for column in parts.contributions for number in column.explained]
    return [parts.difference, *parts.explained, *parts.unexplained, *columns, *parts.rows]


@pytest.mark.parametrize("is_clustered", [False, True])
def test_laws_of_parts(is_clustered):
    pay, is_group, predictors, weights, household = draw_pay(5)
    clusters = household if is_clustered else None
    years, school = predictors
    parts = decompose_difference(pay, is_group, predictors, weights, clusters)
    moved = [ExplainingColumn("years", 1e5 - 12 * years.values), school]
    same = decompose_difference(pay + 1e4, is_group, moved, 9 * weights, clusters)
    assert numbers_of(same) == pytest.approx(numbers_of(parts), rel=1e-6)
    reordered = [years, ExplainingColumn("school", 3 - school.values, SCHOOLS[::-1])]
    same = decompose_difference(pay, is_group, reordered, weights, clusters)
    assert numbers_of(same) == pytest.approx(numbers_of(parts))
    order = np.random.default_rng(0).permutation(len(pay))
    shuffled = [ExplainingColumn(p.name, p.values[order], p.levels) for p in predictors]
    codes = clusters if clusters is None else clusters[order]
    same = decompose_difference(pay[order], is_group[order], shuffled, weights[order], codes)
    assert numbers_of(same) == pytest.approx(numbers_of(parts))
    plain = decompose_difference(pay, is_group, predictors, None, clusters)
    ones = decompose_difference(pay, is_group, predictors, np.ones(len(pay)), clusters)
    assert numbers_of(ones) == pytest.approx(numbers_of(plain))
    back = decompose_difference(pay, ~is_group, predictors, weights, clusters)
    assert back.difference == pytest.approx(-parts.difference)


def test_columns_that_say_nothing_new_are_dropped_and_named():
    pay, is_group, (years, school), _, _ = draw_pay(6)
    rare = np.where(np.arange(len(pay)) == np.flatnonzero(is_group)[0], 3, np.minimum(school.values, 2))
    twice = ExplainingColumn("months", 12 * years.values)
    constant = ExplainingColumn("country", np.zeros(len(pay), int), ("here", "there"))
    of_group = ExplainingColumn("sex", is_group.astype(int), ("m", "f"))
    predictors = [years, ExplainingColumn("school", rare, SCHOOLS), twice, constant, of_group]
    parts = decompose_difference(pay, is_group, predictors)
    assert parts.dropped == ("school=doctorate", "months", "country", "sex")
    assert [column.name for column in parts.contributions] == ["years", "school"]
    fewer = decompose_difference(
        pay, is_group, [years, ExplainingColumn("school", np.where(rare == 3, 0, rare), SCHOOLS[:3])]
    )
    assert numbers_of(parts) == pytest.approx(numbers_of(fewer))


def test_what_is_collinear_in_one_group_is_dropped_in_both():
    pay, is_group, (years, _), _, _ = draw_pay(7)
    other = np.where(is_group, 3 * years.values + 1, pay**0.5)
    parts = decompose_difference(pay, is_group, [years, ExplainingColumn("other", other)])
    assert parts.dropped == ("other",)
    assert parts.explained.value == pytest.approx(
        decompose_difference(pay, is_group, [years]).explained.value
    )


def test_nothing_left_to_explain_with():
    pay, is_group, _, _, _ = draw_pay(7)
    parts = decompose_difference(pay, is_group, [ExplainingColumn("same", np.ones(len(pay)))])
    assert parts.dropped == ("same",)
    assert parts.explained.value == 0
    assert np.isnan(parts.explained.error)
    assert parts.unexplained.value == pytest.approx(parts.difference)


@pytest.mark.parametrize(("n_group", "too_few"), [(5, ("group",)), (6, ()), (0, ("group",))])
def test_too_few_rows_give_no_numbers(n_group, too_few):
    rng = np.random.default_rng(1)
    is_group = np.arange(n_group + 30) < n_group
    columns = [ExplainingColumn(name, rng.normal(size=len(is_group))) for name in "abc"]
    parts = decompose_difference(rng.normal(size=len(is_group)), is_group, columns)
    assert parts.too_few == too_few
    assert np.isnan(parts.explained.value) == bool(too_few)
    assert np.isnan(parts.difference) == (n_group == 0)
    weights = np.where(np.arange(len(is_group)) == 0, 0.0, 1.0)  # a row of no weight is none
    if n_group == 6:
        parts = decompose_difference(rng.normal(size=len(is_group)), is_group, columns, weights)
        assert parts.too_few == ("group",)
    assert isinstance(parts, Decomposition)
