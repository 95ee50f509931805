"""Tables of groups × classes, against golden tables and scipy, by their laws, and by simulation."""

import json

import numpy as np
import pytest
from conftest import most_by_chance, worlds
from numbers_tables import NUMBERS, permutation_p
from scipy.stats import chi2, chi2_contingency, kstest, ncx2

from fairbench_cli.measures.classes import (
    EffectiveRows,
    clustered_rows,
    compare_classes,
    w_limits,
    weighted_rows,
)
from fairbench_cli.measures.value_ranks import ValueTable, compare_placements, table_placements

GOLDEN = json.loads((NUMBERS / "ordinal_and_classes.json").read_text(encoding="utf-8"))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["id"])
def test_golden_tables(golden):
    counts = np.array(golden["counts"])
    table = compare_classes(counts, rng())
    assert table.statistic == pytest.approx(golden["chi2"], rel=1e-9)
    assert table.degrees == golden["df"]
    assert table.smallest_expected == pytest.approx(golden["smallest_expected"], rel=1e-9)
    assert table.cramers_v == pytest.approx(golden["cramers_v"], rel=1e-9)
    assert table.is_permuted == (golden["smallest_expected"] < 5)
    if not table.is_permuted:
        assert table.p == pytest.approx(golden["p"], rel=1e-9)
        assert table.p == pytest.approx(chi2_contingency(counts, correction=False).pvalue, rel=1e-9)
    assert table.w == pytest.approx(np.sqrt(golden["chi2"] / counts.sum()))
    assert table.low < table.w < table.high
    rows = counts.sum(axis=1)
    levels = np.arange(counts.shape[1], dtype=float)
    values = ValueTable(levels, rows.astype(float), counts.astype(float), counts.astype(float))
    placements = table_placements(values, 0, len(counts) - 1)
    assert float(placements.p_more) == pytest.approx(golden["p_more_than_last_group"][0], rel=1e-9)
    compared = compare_placements(placements)
    statistic, p = golden["brunner_munzel_first_against_last"]
    assert abs(float(compared.statistic)) == pytest.approx(abs(statistic), rel=1e-9)
    assert float(compared.p_t) == pytest.approx(p, rel=1e-9)


def test_few_expected_are_permuted():
    counts = np.array([[3, 2, 1], [1, 4, 6]])
    table = compare_classes(counts, rng(), permutations=99_999)
    assert table.is_permuted
    exact = permutation_p(counts, lambda dealt: chi2_contingency(dealt, correction=False).statistic)
    assert table.p == pytest.approx(exact, abs=0.005)
    assert compare_classes(counts, rng(1)).p == compare_classes(counts, rng(1)).p


def test_permutations_are_drawn_in_blocks(monkeypatch):
    counts = np.array([[3, 2, 1], [1, 4, 6]])
    p = compare_classes(counts, rng(3)).p
    monkeypatch.setattr("fairbench_cli.measures.classes.BLOCK", 600)
    assert compare_classes(counts, rng(3)).p == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("degrees", [1, 3, 12])
@pytest.mark.parametrize("w", [0.0, 0.02, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("rows", [20, 1000, 1e7])
def test_limits_of_w_are_those_of_the_noncentral_chi_squared(w, rows, degrees):
    low, high = w_limits(w, rows, degrees)
    assert 0 <= low <= high
    for limit, share in ((low, 0.975), (high, 0.025)):
        reached = ncx2.cdf(rows * w**2, degrees, rows * limit**2)
        if limit > 0:
            assert reached == pytest.approx(share, abs=1e-6)
        else:
            assert reached <= share + 1e-9


def test_laws_of_tables():
    counts = np.array(GOLDEN[2]["counts"], dtype=float)
    table = compare_classes(counts, rng())
    turned = compare_classes(counts.T[:, ::-1], rng())
    assert (turned.p, turned.w, turned.high) == pytest.approx((table.p, table.w, table.high))
    padded = compare_classes(np.pad(counts, ((0, 1), (1, 0))), rng())
    assert vars(padded) == pytest.approx(vars(table))
    heavier = compare_classes(7 * counts, rng(), EffectiveRows(counts.sum()))
    assert vars(heavier) == pytest.approx(vars(table))
    halved = compare_classes(counts, rng(), EffectiveRows(counts.sum() / 2))
    assert halved.w == pytest.approx(table.w)
    assert halved.statistic == pytest.approx(table.statistic / 2)
    assert halved.high > table.high
    few = compare_classes(np.array([[3, 2, 1], [1, 4, 6]]) * 0.3, rng(2), EffectiveRows(17))
    assert few.p == compare_classes(np.array([[3, 2, 1], [1, 4, 6]]), rng(2)).p


def test_hopeless_tables():
    for counts in ([[3, 4]], [[3, 0], [5, 0]], [[0, 0], [0, 0]]):
        table = compare_classes(counts, rng())
        assert table.degrees == 0
        assert np.isnan([table.p, table.w, table.low, table.high]).all()
        assert table.verdict(is_rejected=False) == "undecided"
    equal = compare_classes([[50, 50], [100, 100]], rng())
    assert (equal.w, equal.low, equal.high, equal.p) == (0, 0, 0, 1)
    assert equal.verdict(is_rejected=False) == "pass"
    apart = compare_classes([[50, 0], [0, 50]], rng())
    assert (apart.w, apart.cramers_v) == pytest.approx((1, 1))
    assert np.isnan(compare_classes([[2, 2], [2, 2]], rng(), EffectiveRows(0.5)).p)
    for empty in ([[0, 0], [0, 0]], [[3, 4]]):
        assert np.isnan(weighted_rows(empty, empty).rows)
    one_cluster = clustered_rows([7, 7, 7, 7], [0, 0, 1, 1], [0, 1, 0, 1])
    alone = compare_classes([[90, 10], [10, 90]], rng(), one_cluster)
    assert np.isnan([alone.p, alone.low, alone.high]).all()
    assert alone.w == pytest.approx(0.8)


def test_verdicts():
    thousands = compare_classes(np.array([[500, 300, 200], [510, 290, 200]]) * 10, rng())
    assert thousands.verdict(is_rejected=False) == "pass"
    assert thousands.verdict(is_rejected=True) == "pass"
    assert thousands.verdict(is_rejected=True, margin=0.001) == "fail"
    far = compare_classes([[80, 10, 10], [30, 30, 40]], rng())
    assert far.verdict(is_rejected=True) == "fail"
    assert far.verdict(is_rejected=False) == "undecided"


def test_planned_rows_decide_four_times_in_five():
    far = compare_classes([[60, 40], [40, 60]], rng())
    rows = far.rows * far.rows_needed(0.01)
    assert ncx2.sf(chi2.isf(0.01, 1), 1, rows * far.unbiased_w**2) == pytest.approx(0.8)
    near = compare_classes([[520, 480], [500, 500]], rng())
    rows = near.rows * near.rows_needed(0.01)
    highest = ncx2.isf(0.2, 1, rows * near.unbiased_w**2 + 1e-12)
    assert w_limits(np.sqrt(highest / rows), rows, 1)[1] == pytest.approx(0.1, abs=1e-4)
    assert near.outside_p(near.high) == pytest.approx(0.975)


def test_chance_alone_is_not_above_the_margin():
    counts = rng(3).multinomial(30, [0.3, 0.3, 0.4], 60)  # 60 groups of 30 rows
    table = compare_classes(counts, rng())
    assert table.w > 0.2
    assert table.unbiased_w < 0.1


def draw_clustered(seed, n_clusters, size=9):
    drawn = rng(seed)
    cluster = np.repeat(np.arange(n_clusters), drawn.integers(1, size, n_clusters))
    shares = drawn.dirichlet([1.0, 1, 1, 1], n_clusters).cumsum(axis=1)[cluster]
    classes = (drawn.random(len(cluster))[:, None] > shares).sum(axis=1)
    groups = drawn.integers(0, 2, n_clusters)[cluster]
    return cluster, groups, classes, drawn.lognormal(0, 0.5, len(cluster))


def to_table(groups, classes, weights):
    return np.bincount(groups * 4 + classes, weights, 8).reshape(2, 4)


def test_clustered_rows_are_by_the_delta_method():
    cluster, groups, classes, weights = draw_clustered(0, 60)
    total = weights.sum()
    shares = to_table(groups, classes, weights) / total

    def departures(by_cell):
        table = by_cell.reshape(2, 4) / by_cell.sum()
        return (table - np.outer(table.sum(1), table.sum(0))).ravel()

    by_cell = np.zeros((60, 8))
    np.add.at(by_cell, (cluster, groups * 4 + classes), weights)
    steps = np.eye(8) * 1e-4
    jacobian = [
        (departures(total * shares.ravel() + h) - departures(total * shares.ravel() - h)) / 2e-4
        for h in steps
    ]
    variance = 60 / 59 * np.square(by_cell @ np.array(jacobian)).sum(0)
    expected = np.outer(shares.sum(1), shares.sum(0)).ravel()
    effective = clustered_rows(cluster, groups, classes, weights)
    assert effective.rows == pytest.approx(3 / (variance / expected).sum(), rel=1e-5)
    assert effective.clusters == 60
    covariance = 60 / 59 * (by_cell @ np.array(jacobian)).T @ (by_cell @ np.array(jacobian))
    effects = np.linalg.eigvals(covariance / expected).real
    assert effective.degrees == pytest.approx(effects.sum() ** 2 / (effects**2).sum(), rel=1e-5)


def test_weighted_rows_are_clusters_of_one_row():
    _, groups, classes, weights = draw_clustered(2, 300)
    tables = to_table(groups, classes, weights), to_table(groups, classes, weights**2)
    by_tables = weighted_rows(*tables)
    n = len(groups)
    by_rows = clustered_rows(np.arange(n), groups, classes, weights)
    assert by_tables.rows == pytest.approx(by_rows.rows, rel=2 / n)
    assert by_tables.degrees == pytest.approx(by_rows.degrees)
    assert by_tables.clusters == np.inf
    padded = weighted_rows(*(np.pad(table, ((1, 0), (0, 1))) for table in tables))
    assert padded.rows == pytest.approx(by_tables.rows)
    independent = np.outer([10, 20], [1, 2, 3])
    same = weighted_rows(independent, independent)
    assert (same.rows, same.degrees) == pytest.approx((180, 2))


def test_laws_of_clusters(monkeypatch):
    cluster, groups, classes, weights = draw_clustered(1, 300)
    kish = weights.sum() ** 2 / (weights**2).sum()
    effective = clustered_rows(cluster, groups, classes, weights)
    assert effective.rows < kish < len(weights)
    assert clustered_rows(cluster, groups, classes, 5 * weights).rows == pytest.approx(effective.rows)
    order = rng(4).permutation(len(cluster))
    shuffled = clustered_rows(7 - cluster[order], groups[order], 3 - classes[order], weights[order])
    assert shuffled.rows == pytest.approx(effective.rows)
    monkeypatch.setattr("fairbench_cli.measures.classes.BLOCK", 100)
    assert clustered_rows(cluster, groups, classes, weights).rows == pytest.approx(effective.rows)
    alone = clustered_rows(np.arange(len(groups)), groups, rng(3).permutation(classes))
    assert alone.rows == pytest.approx(len(groups), rel=0.05)
    assert alone.rows <= len(groups)
    times_four = clustered_rows(
        *(np.repeat(column, 4) for column in (np.arange(len(groups)), groups, classes))
    )
    assert times_four.rows == pytest.approx(
        clustered_rows(np.arange(len(groups)), groups, classes).rows, rel=0.01
    )
    assert np.isnan(clustered_rows(np.zeros(9), [0, 1, 0] * 3, [0, 0, 1] * 3).rows)


@pytest.mark.parametrize(("n_rows", "margins"), [(12, (2, 3)), (300, (3, 4))])
def test_p_is_uniform_where_nothing_differs(n_rows, margins):
    drawn = rng(8)
    p = []
    for _ in worlds(2000):
        groups, classes = (drawn.integers(0, n, n_rows) for n in margins)
        counts = np.bincount(groups * margins[1] + classes, minlength=np.prod(margins)).reshape(margins)
        p.append(compare_classes(counts, drawn, permutations=199).p)
    assert sum(one <= 0.05 for one in p) <= most_by_chance(len(p), 0.05)
    assert n_rows == 12 or kstest(p, "uniform").pvalue > 0.01


def test_weights_of_one_group_keep_the_level():
    drawn = rng(12)
    rejected = []
    for _ in worlds(2000):
        groups, classes = drawn.integers(0, 3, 600), drawn.integers(0, 4, 600)
        weights = np.where(groups == 0, drawn.lognormal(0, 1, 600), 1)
        tables = [np.bincount(groups * 4 + classes, mass, 12).reshape(3, 4) for mass in (weights, weights**2)]
        kish = EffectiveRows(weights.sum() ** 2 / (weights**2).sum())
        by_tables = compare_classes(tables[0], drawn, weighted_rows(*tables), permutations=99).p
        rejected.append((by_tables < 0.05, compare_classes(tables[0], drawn, kish, permutations=99).p < 0.05))
    by_tables, by_kish = np.sum(rejected, axis=0)
    assert by_tables <= most_by_chance(len(rejected), 0.05)
    assert by_kish >= by_tables


def test_clusters_keep_the_level():
    rejected = []
    for seed in worlds(2000):
        cluster, groups, classes, _ = draw_clustered(100 + seed, 60)
        table = to_table(groups, classes, None)
        p = compare_classes(table, rng(), clustered_rows(cluster, groups, classes)).p
        rejected.append((p < 0.05, compare_classes(table, rng()).p < 0.05))
    by_clusters, by_rows = np.sum(rejected, axis=0)
    assert by_clusters <= most_by_chance(len(rejected), 0.05)
    assert by_rows > 0.1 * len(rejected)


def test_limits_of_w_cover():
    drawn = rng(11)
    shares = np.array([[0.1, 0.2, 0.1], [0.2, 0.2, 0.2]])
    expected = np.outer(shares.sum(1), shares.sum(0))
    w = np.sqrt((np.square(shares - expected) / expected).sum())
    covered = []
    for _ in worlds(2000):
        table = compare_classes(drawn.multinomial(400, shares.ravel()).reshape(2, 3), drawn)
        covered.append(table.low <= w <= table.high)
    assert covered.count(False) <= most_by_chance(len(covered), 0.05)
