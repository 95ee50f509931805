"""Rates of rows in clusters: published numbers, a dense textbook version, Welch, HC2, statsmodels, laws."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import fractional_matrix_power
from scipy.stats import ttest_ind
from statsmodels.genmod.cov_struct import Independence
from statsmodels.genmod.generalized_estimating_equations import GEE
from statsmodels.regression.linear_model import OLS

from fairbench_cli.measures.clusters import (
    ClusteredComparison,
    ClusterSums,
    RateSums,
    compare_rates,
    contrast_variance,
    degrees_of_freedom,
    fieller_interval,
    gradient_sums,
    linear_variance,
)

REFERENCE = Path(__file__).parents[1] / "reference" / "clusters"
EXPECTED = json.loads((REFERENCE / "clusters.json").read_text())
SIGNS = np.array([-1.0, 1.0])


def sums_of(frame: pd.DataFrame) -> RateSums:
    """Return the sums of a frame of cluster, group, weight, squares, selected, squares_selected."""
    n_clusters = frame["cluster"].max() + 1
    columns = ["weight", "squares", "selected", "squares_selected"]
    sums = np.zeros((4, 2, n_clusters))
    for values, column in zip(sums, columns, strict=True):
        values[frame["group"], frame["cluster"]] = frame[column]
    return RateSums(*sums)


def counted(cluster, group, rows, selected) -> RateSums:
    """Return the sums of rows without weights."""
    frame = pd.DataFrame({"cluster": cluster, "group": group, "weight": rows, "selected": selected})
    return sums_of(frame.assign(squares=frame["weight"], squares_selected=frame["selected"]))


def parts_of(sums: RateSums) -> list[np.ndarray]:
    return [sums.weight, sums.square, sums.selected, sums.selected_square]


def by_name() -> RateSums:
    names = pd.read_csv(REFERENCE / "resumes-names.csv")
    return counted(range(len(names)), (names["race"] == "b").astype(int), names["rows"], names["calls"])


def by_ad() -> RateSums:
    ads = pd.read_csv(REFERENCE / "resumes-ads.csv")
    ads = ads.loc[ads.index.repeat(ads["ads"])]
    sides = [(0, "w"), (1, "b")]
    frames = [
        pd.DataFrame(
            {"cluster": range(len(ads)), "group": g, "rows": ads[f"rows_{s}"], "calls": ads[f"calls_{s}"]}
        )
        for g, s in sides
    ]
    frame = pd.concat(frames, ignore_index=True)
    return counted(frame["cluster"], frame["group"], frame["rows"], frame["calls"])


def cases() -> dict[str, RateSums]:
    sums = pd.read_csv(REFERENCE / "cluster-sums.csv")
    made_up = {case: sums_of(frame) for case, frame in sums.groupby("case")}
    return {"resumes by first name": by_name(), "resumes by ad": by_ad(), **made_up}


@pytest.mark.parametrize("case", list(cases()))
def test_all_numbers_of_another_implementation(case: str) -> None:
    sums = cases()[case]
    expected = EXPECTED[case]
    comparison = compare_rates([sums], 0.8)
    deviations = sums.deviations
    plain = (deviations.residual / deviations.total).T @ SIGNS
    numbers = {
        "rate_reference": sums.rates[0],
        "rate_group": sums.rates[1],
        "difference": sums.rates[1] - sums.rates[0],
        "se_cr0": np.sqrt((plain**2).sum()),
        "se_cr2": np.sqrt(comparison.variance),
        "rho": deviations.likeness,
        "df_bell_mccaffrey": degrees_of_freedom(deviations, SIGNS, 0.0),
        "df": comparison.degrees,
        "t": (sums.rates[1] - sums.rates[0]) / np.sqrt(comparison.variance),
        "p": comparison.p,
        "difference_low": comparison.difference_low,
        "difference_high": comparison.difference_high,
        "ratio_low": comparison.ratio_low,
        "ratio_high": comparison.ratio_high,
        "at_0_8_difference": sums.rates[1] - 0.8 * sums.rates[0],
        "at_0_8_se_cr2": np.sqrt(contrast_variance([sums], np.array(0.8)).variance),
    }
    for name, number in numbers.items():
        assert float(number) == pytest.approx(expected[name], rel=6e-6, abs=1e-9), name


def test_the_degrees_of_freedom_that_dfadjust_publishes() -> None:
    expected = [numbers["published"] for key, numbers in EXPECTED["published"].items() if key != "source"]
    assert expected == [2.7, 2.42, 2.01]
    cluster = np.arange(11)
    rows = np.where(cluster < 10, 50, 500)
    uneven = counted(cluster, (cluster < 3).astype(int), rows, rows // 2).deviations
    assert round(float(degrees_of_freedom(uneven, SIGNS, 0.0)), 2) == expected[0]
    of_reference = [uneven.weight, uneven.square, uneven.residual, uneven.residual_square]
    reference = ClusterSums(*(values[:1] for values in of_reference))
    assert round(float(degrees_of_freedom(reference, np.array([1.0]), 0.0)), 2) == expected[1]
    ones = np.ones(1000)
    rare = counted(range(1000), (np.arange(1000) < 3).astype(int), ones, np.arange(1000) % 2).deviations
    assert round(float(degrees_of_freedom(rare, SIGNS, 0.0)), 2) == expected[2]


def dense(sums: RateSums, tau: float, rho: float) -> tuple[float, float]:
    """Return CR2's variance and the degrees of freedom row by row, by matrices, of rows without weights."""
    clusters = []
    groups = []
    outcomes = []
    for g, c in np.ndindex(sums.weight.shape):
        n = int(sums.weight[g, c])
        clusters += [c] * n
        groups += [g] * n
        outcomes += [1.0] * int(sums.selected[g, c]) + [0.0] * (n - int(sums.selected[g, c]))
    cluster = np.array(clusters)
    design = np.eye(2)[groups]
    inverse = np.linalg.inv(design.T @ design)
    residual = np.array(outcomes) - design @ (inverse @ design.T @ np.array(outcomes))
    annihilator = np.eye(len(cluster)) - design @ inverse @ design.T
    likeness = (1 - rho) * np.eye(len(cluster)) + rho * (cluster[:, None] == cluster)
    terms = []
    vectors = []
    for c in np.unique(cluster):
        inside = cluster == c
        of_cluster = annihilator[np.ix_(inside, inside)]
        root = np.real(fractional_matrix_power(np.linalg.pinv(of_cluster), 0.5))
        weights = root @ design[inside] @ inverse @ np.array([-tau, 1.0])
        terms.append(residual[inside] @ weights)
        vectors.append(annihilator[:, inside] @ weights)
    g = np.array(vectors) @ likeness @ np.array(vectors).T
    return float(np.sum(np.square(terms))), float(np.trace(g) ** 2 / np.trace(g @ g))


def drawn(seed: int, *, n_clusters: int = 9) -> RateSums:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 7, (2, n_clusters))
    rows[:, 0] = 3
    rows[:, 1] = 2
    selected = rng.binomial(rows, rng.beta(1, 2, n_clusters)).astype(float)
    return RateSums(rows.astype(float), rows.astype(float), selected, selected)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_a_dense_textbook_version(seed: int, rho: float) -> None:
    sums = drawn(seed)
    for tau in (0.0, 0.8, 1.0):
        variance, degrees = dense(sums, tau, rho)
        assert float(contrast_variance([sums], np.array(tau)).variance) == pytest.approx(variance, rel=1e-10)
        signs = np.array([-tau, 1.0])
        assert float(degrees_of_freedom(sums.deviations, signs, rho)) == pytest.approx(degrees, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_with_weights_each_sum_is_unbiased_for_independent_rows(seed: int) -> None:
    """The adjusted residual of a cluster has the variance that its rows have, whatever the weights."""
    rng = np.random.default_rng(seed)
    cluster = np.sort(rng.integers(0, 6, 40))
    weight = rng.lognormal(0, 1, 40)
    residuals = np.eye(40) - np.outer(np.ones(40), weight) / weight.sum()
    by_cluster = np.array([weight * (cluster == c) for c in range(6)])
    variance = np.square(by_cluster @ residuals).sum(1)
    square = np.array([np.square(weight[cluster == c]).sum() for c in range(6)])
    sums = ClusterSums(by_cluster.sum(1)[None], square[None], np.zeros((1, 6)), np.zeros((1, 6)))
    np.testing.assert_allclose(sums.adjustment[0] ** 2 * variance, square)


@pytest.mark.parametrize("seed", range(4))
def test_equal_clusters_of_a_group_each_are_welchs_test_of_their_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], [5, 8])
    selected = rng.integers(1, 10, 13)
    sums = counted(range(13), group, np.full(13, 10), selected)
    welch = ttest_ind(selected[group == 1] / 10, selected[group == 0] / 10, equal_var=False)
    comparison = compare_rates([sums], 0.8)
    t = (sums.rates[1] - sums.rates[0]) / np.sqrt(comparison.variance)
    assert float(t) == pytest.approx(welch.statistic)
    bell_mccaffrey = degrees_of_freedom(sums.deviations, SIGNS, 0.0)
    # Welch's degrees of freedom estimate the variances of both groups; these take them for equal.
    share = np.array([1 / 5, 1 / 8])
    assert float(bell_mccaffrey) == pytest.approx(share.sum() ** 2 / (share**2 / [4, 7]).sum())


def test_a_few_heavy_clusters_that_agree_by_chance_have_a_variance() -> None:
    """Two of twelve have most rows of the group, and both its rate; those of the reference weigh the same."""
    rows = np.concatenate([np.full(12, 10), np.full(10, 4), [100, 100]])
    selected = np.concatenate([[1, 9] * 6, [0, 4] * 5, [50, 50]])
    sums = counted(range(24), np.repeat([0, 1], 12), rows, selected).deviations
    residual = sums.adjustment * sums.residual / sums.total
    plain = (residual**2).sum(-1)
    reference, group = np.diagonal(sums.covariance)
    assert reference == pytest.approx(plain[0])
    assert sums.unevenness == pytest.approx([0.0, 1 - 240**2 / 12 / (2 * 100**2 + 10 * 4**2)])
    assert group > 2 * plain[1]
    assert group == pytest.approx(sums.unevenness[1] ** 1.5 * sums.expected_variance[1])


def test_one_row_a_cluster_is_hc2() -> None:
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 50)
    selected = rng.integers(0, 2, 50)
    sums = counted(range(50), group, np.ones(50), selected)
    fit = OLS(selected, np.column_stack([np.ones(50), group])).fit(cov_type="HC2")
    assert np.sqrt(float(compare_rates([sums], 0.8).variance)) == pytest.approx(fit.bse[1])


def test_without_adjustment_it_is_the_gee_of_statsmodels() -> None:
    names = pd.read_csv(REFERENCE / "resumes-names.csv")
    rows = names.loc[names.index.repeat(names["rows"])]
    is_called = rows.groupby("name").cumcount() < rows["calls"]
    design = np.column_stack([np.ones(len(rows)), rows["race"] == "b"]).astype(float)
    fit = GEE(is_called.astype(float), design, groups=rows["name"], cov_struct=Independence()).fit()
    expected = EXPECTED["resumes by first name"]["se_cr0"]
    assert fit.bse.iloc[1] == pytest.approx(expected, rel=6e-6)
    deviations = by_name().deviations
    plain = (deviations.residual / deviations.total).T @ SIGNS
    assert np.sqrt((plain**2).sum()) == pytest.approx(fit.bse.iloc[1])


def crossed(seed: int, *, share: float = 1.0) -> list[RateSums]:
    """Return rows by prompt, by name and by both: each name has one group."""
    rng = np.random.default_rng(seed)
    prompt, name = (values.ravel() for values in np.indices((8, 10)))
    kept = rng.random(80) < share
    prompt, name = prompt[kept], name[kept]
    rate = np.clip(0.4 + 0.2 * rng.standard_normal(8)[prompt] + 0.2 * rng.standard_normal(10)[name], 0, 1)
    rows = pd.DataFrame({"prompt": prompt, "name": name, "group": name % 2, "weight": 1.0})
    rows["selected"] = rng.binomial(1, rate).astype(float)
    ways = []
    for keys in (["prompt"], ["name"], ["prompt", "name"]):
        cluster = rows.groupby(keys).ngroup()
        sums = rows.assign(cluster=cluster).groupby(["cluster", "group"], as_index=False)[
            ["weight", "selected"]
        ]
        frame = sums.sum()
        ways.append(sums_of(frame.assign(squares=frame["weight"], squares_selected=frame["selected"])))
    return ways


@pytest.mark.gate
def test_two_columns_take_the_largest_of_three_variances() -> None:
    seen = set()
    for seed in range(40):
        ways = crossed(seed, share=0.7)
        for tau in (0.0, 0.8, 1.0, 2.0):
            by_prompt, by_name_, by_both = (contrast_variance([way], np.array(tau)) for way in ways)
            together = contrast_variance(ways, np.array(tau))
            candidates = [
                by_prompt.variance,
                by_name_.variance,
                by_prompt.variance + by_name_.variance - by_both.variance,
            ]
            degrees = [by_prompt.degrees, by_name_.degrees, min(by_prompt.degrees, by_name_.degrees)]
            largest = int(np.argmax(candidates))
            seen.add(largest)
            assert float(together.variance) == pytest.approx(float(candidates[largest]))
            assert float(together.degrees) == pytest.approx(float(degrees[largest]))
    assert seen == {0, 1, 2}


def test_two_columns_of_the_resumes() -> None:
    """Both columns at once have the variance by first name, which is the largest."""
    expected = EXPECTED["resumes by first name and ad"]
    three = [expected[key] for key in ("se_cameron_gelbach_miller", "se")]
    names = compare_rates([by_name()], 0.8)
    assert three[1] == pytest.approx(np.sqrt(float(names.variance)), rel=6e-6)
    assert three[0] < three[1]


def as_sums(cells: list[tuple[int, int]]) -> RateSums:
    """Return the sums of clusters with rows refused and selected, of each group in turn."""
    table = np.array(cells, dtype=float).reshape(-1, 2, 2)
    rows = table.sum(-1).T
    return RateSums(rows, rows, table[..., 1].T, table[..., 1].T)


CLUSTERS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=8, max_size=40).filter(
    lambda cells: len(cells) % 2 == 0
)


def one(comparison: ClusteredComparison) -> dict[str, float]:
    return {name: float(value) for name, value in vars(comparison).items()}


@law(150)
@given(CLUSTERS, st.floats(0.1, 9.0), st.randoms(use_true_random=False))
def test_laws(cells: list[tuple[int, int]], scale: float, shuffler) -> None:
    sums = as_sums(cells)
    comparison = one(compare_rates([sums], 0.8))
    assume(comparison["is_tested"])
    # 1. The unit of weights, and the order of clusters, say nothing.
    order = list(range(sums.weight.shape[1]))
    shuffler.shuffle(order)
    other = RateSums(
        scale * sums.weight[:, order],
        scale**2 * sums.square[:, order],
        scale * sums.selected[:, order],
        scale**2 * sums.selected_square[:, order],
    )
    for name, number in one(compare_rates([other], 0.8)).items():
        expected = comparison[name]
        assert number == pytest.approx(expected, rel=1e-6, abs=1e-9), name
    # 2. The words of the test and of both intervals are the same.
    rejects = comparison["p"] < 0.05
    if abs(comparison["p"] - 0.05) > 1e-9:
        assert rejects == (not comparison["ratio_low"] <= 1 <= comparison["ratio_high"])
        assert rejects == (not comparison["difference_low"] <= 0 <= comparison["difference_high"])
    # 3. Intervals hold what was measured.
    ratio = float(sums.rates[1] / sums.rates[0])
    assert comparison["ratio_low"] <= ratio * (1 + 1e-9)
    assert ratio <= comparison["ratio_high"] * (1 + 1e-9)
    assert 1 <= comparison["degrees"] <= len(order)
    # 4. Seen from the other side the ratio is the inverse.
    turned = RateSums(*(values[::-1] for values in parts_of(sums)))
    mirrored = one(compare_rates([turned], 0.8))
    assert mirrored["p"] == pytest.approx(comparison["p"])
    assert mirrored["degrees"] == pytest.approx(comparison["degrees"])
    assert mirrored["outside_p"] == pytest.approx(comparison["outside_p"])
    if comparison["ratio_low"] > 0 and comparison["ratio_high"] < np.inf:
        assert mirrored["ratio_low"] == pytest.approx(1 / comparison["ratio_high"])
        assert mirrored["ratio_high"] == pytest.approx(1 / comparison["ratio_low"])


@law(60)
@given(CLUSTERS)
def test_many_rates_at_once_are_each_alone(cells: list[tuple[int, int]]) -> None:
    sums = as_sums(cells)
    missed = RateSums(
        sums.weight, sums.square, sums.weight - sums.selected, sums.square - sums.selected_square
    )
    pairs = zip(parts_of(sums), parts_of(missed), strict=True)
    both = RateSums(*(np.stack(pair) for pair in pairs))
    together = compare_rates([both], np.array([0.8, 0.9]))
    for i, (alone, tau) in enumerate([(sums, 0.8), (missed, 0.9)]):
        for name, value in vars(compare_rates([alone], tau)).items():
            np.testing.assert_allclose(vars(together)[name][i], value, rtol=1e-9, err_msg=name)


def test_what_has_too_few_clusters_or_no_spread_is_not_tested() -> None:
    rows = np.array([[5.0, 5, 5, 0], [0, 0, 0, 9]])
    alone = RateSums(rows, rows, rows - 1 * (rows > 0), rows - 1 * (rows > 0))
    comparison = compare_rates([alone], 0.8)
    assert not comparison.has_clusters
    assert np.isnan(comparison.p)
    rows = np.full((2, 5), 4.0)
    for selected in (rows / 2, np.array([[1.0, 2, 0, 1, 3], [0, 0, 0, 0, 2]]), rows - [[0, 0, 0, 0, 1.0]]):
        comparison = compare_rates([RateSums(rows, rows, selected, selected)], 0.8)
        assert comparison.has_clusters
        assert not comparison.is_tested
        assert np.isnan([comparison.p, comparison.ratio_low, comparison.degrees]).all()


def test_shares_of_a_list_are_compared_within_the_list() -> None:
    """One row a cluster: the classical variance of the difference of two shares of a multinomial."""
    list_rows = np.ones((2, 40))
    selected = np.zeros((2, 40))
    selected[0, :20] = 1
    selected[1, 20:32] = 1
    sums = RateSums(list_rows, list_rows, selected, selected)
    comparison = compare_rates([sums], 0.8, of_list=True)
    expected = (0.5 + 0.3 - 0.2**2) / 39  # unbiased
    assert float(comparison.variance) == pytest.approx(expected)
    assert float(comparison.degrees) == pytest.approx(39)


def test_fieller_where_the_ratios_that_fit_are_two_ranges() -> None:
    """Both rates may be 0, but not equal: that side of 1 on which the measured ratio is."""
    rates = np.array([0.1, 0.2])
    reach = np.array(2.0)
    variances = np.array(0.0144), np.array(0.0009), np.array(0.009)
    low, high = fieller_interval(rates, variances, reach)
    assert 1 < low < 2
    assert np.isinf(high)


def test_the_gradient_of_a_difference_has_its_variance() -> None:
    """Of two rates by the derivatives of the difference: variance, likeness and degrees of freedom alike."""
    sums = drawn(3)
    refused = sums.weight - sums.selected
    n = np.stack([refused[::-1].T, sums.selected[::-1].T], axis=-1)  # the group comes first
    totals = n.sum(0)
    rate = totals[:, 1] / totals.sum(1)
    gradient = np.stack([-rate / totals.sum(1), (1 - rate) / totals.sum(1)], axis=-1)
    gradient[1] *= -1
    way, signs = gradient_sums(n, n, gradient)
    variance, degrees = linear_variance([way], signs)
    comparison = compare_rates([sums], 0.8)
    np.testing.assert_allclose(variance, comparison.variance)
    np.testing.assert_allclose(degrees, comparison.degrees)
    np.testing.assert_allclose(way.likeness, sums.deviations.likeness)
    # Where it goes by the sizes of the groups, too, all rows are one side.
    gradient[0, 1] += 0.01
    assert gradient_sums(n, n, gradient)[0].weight.shape == (1, sums.weight.shape[1])
