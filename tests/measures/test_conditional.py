"""What strata leave of a difference; propensity, clusters, redlining."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbench_cli.measures.conditional import (
    belift,
    belift_by_stratum,
    comparable_share,
    explained_difference,
    mean_within,
    redlining_potential,
    unexplained_difference,
)
from fairbench_cli.measures.counts import Counts, count
from fairbench_cli.measures.functions import discrimination
from fairbench_cli.measures.registry import ROW_METRICS, measure, measure_rows
from fairbench_cli.measures.rows import (
    GROUPS,
    Rows,
    cluster_strata,
    count_by_stratum,
    cross_columns,
    cut_into_ranges,
    distance_matrix,
    estimate_propensity,
    find_clusters,
    propensity_strata,
)

STRATA = arrays(
    np.int64, st.tuples(st.integers(1, 5), st.just(2), st.just(2), st.just(2)), elements=st.integers(0, 9)
)


def stratum(deprived: tuple[int, int], favoured: tuple[int, int]) -> list[list[list[float]]]:
    """Refused and accepted of either group; all labels are 0."""
    return [[list(map(float, deprived)), [0, 0]], [list(map(float, favoured)), [0, 0]]]


# Women apply where few are admitted; each department admits both alike: 240 of 1000 women, 660 of 1000 men.
ADMISSION = np.array([stratum((40, 160), (160, 640)), stratum((720, 80), (180, 20))])


def by_loop(n: np.ndarray) -> tuple[float, float, float]:
    """The printed formulas, a stratum at a time: d, d_e and d_u."""
    accepted, size = n[..., 1].sum(-1), n.sum((-2, -1))
    of = size.sum(0)
    d = accepted[:, 1].sum() / of[1] - accepted[:, 0].sum() / of[0]
    explained = 0.0
    for (a0, a1), (n0, n1) in zip(accepted, size, strict=True):
        rates = [a / m for a, m in ((a0, n0), (a1, n1)) if m]
        if rates:
            explained += sum(rates) / len(rates) * (n1 / of[1] - n0 / of[0])
    return d, explained, d - explained


def test_admissions_that_are_alike_in_every_department_leave_nothing_unexplained():
    strata = Counts(GROUPS, ADMISSION)
    assert discrimination(Counts(GROUPS, ADMISSION.sum(0))) == pytest.approx(660 / 1000 - 240 / 1000)
    assert unexplained_difference(strata) == pytest.approx(0, abs=1e-15)
    assert explained_difference(strata) == pytest.approx(0.42)
    assert belift_by_stratum(strata) == pytest.approx([0.8 / 0.45, 0.1 / 0.45])
    assert belift(strata) == pytest.approx(0.1 / 0.45)


@given(STRATA)
def test_the_parts_are_those_of_the_printed_formula(n):
    strata = Counts(GROUPS, n.astype(float))
    found = float(explained_difference(strata)), float(unexplained_difference(strata))
    if not n.sum((0, 2, 3)).all():
        assert np.isnan(found).all()
        return
    d, explained, unexplained = by_loop(n)
    assert found == pytest.approx((explained, unexplained), abs=1e-12)
    assert sum(found) == pytest.approx(d, abs=1e-12)
    assert -1 - 1e-12 <= found[1] <= 1 + 1e-12
    swapped = Counts(GROUPS, n[:, ::-1].astype(float))
    assert float(unexplained_difference(swapped)) == pytest.approx(-found[1], abs=1e-12)


@given(arrays(np.int64, (3, 4, 2, 2, 2), elements=st.integers(0, 9)))
def test_leading_axes_are_kept(n):
    strata = Counts(GROUPS, n.astype(float))
    for of in (unexplained_difference, explained_difference, belift, comparable_share):
        each = [of(Counts(GROUPS, case.astype(float))) for case in n]
        assert np.array_equal(of(strata), each, equal_nan=True)


@given(STRATA)
def test_strata_that_are_split_evenly_change_nothing(n):
    whole = unexplained_difference(Counts(GROUPS, n.astype(float)))
    halves = unexplained_difference(Counts(GROUPS, np.concatenate([n, n, 0 * n]) / 2))
    assert whole == pytest.approx(halves, abs=1e-12, nan_ok=True)


def test_one_stratum_explains_nothing():
    one = Counts(GROUPS, ADMISSION.sum(0)[None])
    assert explained_difference(one) == pytest.approx(0, abs=1e-15)
    assert unexplained_difference(one) == pytest.approx(0.42)


@pytest.mark.parametrize(("deprived", "favoured", "value"), [((9, 0), (0, 5), 1), ((0, 9), (5, 0), -1)])
def test_limits_at_most_and_reverse_discrimination(deprived, favoured, value):
    strata = Counts(GROUPS, np.array([stratum(deprived, favoured)] * 3))
    assert unexplained_difference(strata) == pytest.approx(value)
    assert belift(strata) == pytest.approx(0 if value == 1 else 14 / 9)


def test_groups_that_never_meet_are_explained_entirely():
    strata = Counts(GROUPS, np.array([stratum((5, 5), (0, 0)), stratum((0, 0), (0, 4))]))
    assert unexplained_difference(strata) == 0
    assert explained_difference(strata) == 0.5
    assert comparable_share(strata) == 0


def test_nothing_to_divide_by_is_nan():
    empty = Counts(GROUPS, np.zeros((2, 2, 2, 2)))
    for of in (unexplained_difference, explained_difference, belift, comparable_share):
        assert np.isnan(of(empty))
    nobody = Counts(GROUPS, np.array([stratum((3, 0), (4, 0))]))
    assert np.isnan(belift(nobody))
    assert unexplained_difference(nobody) == 0


def test_strata_are_asked_for():
    with pytest.raises(ValueError, match="axis of strata"):
        unexplained_difference(Counts(GROUPS, np.zeros((2, 2, 2))))
    y = np.array([0, 1])
    with pytest.raises(ValueError, match="needs strata"):
        measure("unexplained-difference", Rows(y, y, y))
    with pytest.raises(ValueError, match="needs features"):
        measure("propensity-difference", Rows(y, y, y))


def some_rows(seed: int = 0, size: int = 300, **more: object) -> Rows:
    rng = np.random.default_rng(seed)
    s, y, predicted = rng.integers(0, 2, (3, size))
    features = np.column_stack([rng.normal(s, 2.0), rng.integers(0, 4, size), rng.normal(size=size)])
    return Rows(
        s,
        y,
        predicted,
        features=features,
        nominal=(False, True, False),
        strata=rng.integers(0, 5, size),
        **more,
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30))
def test_crossing_gives_every_combination_a_stratum(pairs):
    codes = cross_columns(list(zip(*pairs, strict=True)))
    for a, i in zip(pairs, codes, strict=True):
        for b, j in zip(pairs, codes, strict=True):
            assert (a == b) == (i == j)
    assert sorted(set(codes.tolist())) == list(range(len(set(pairs))))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 6))
def test_ranges_hold_equal_shares_but_keep_ties_together(values, parts):
    codes, tops = cut_into_ranges(values, parts)
    assert len(tops) <= parts
    for code, top in enumerate(tops):
        inside = np.array(values)[codes == code]
        assert inside.max() == top
        assert code == 0 or inside.min() > tops[code - 1]
    if len(set(values)) == len(values) and len(values) % parts == 0:
        assert set(np.bincount(codes)) == {len(values) // parts}


def test_ranges_of_weights():
    codes, _ = cut_into_ranges([1, 2, 3, 4], 2, np.array([3.0, 1, 1, 1]))
    assert codes.tolist() == [0, 1, 1, 1]


def test_clusters_find_what_is_apart():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    found = find_clusters(rng.normal(10.0 * truth[:, None], 0.1, (200, 2)), 3)
    assert len({*zip(truth.tolist(), found.tolist(), strict=True)}) == 3
    assert set(find_clusters(np.ones((5, 2)), 3).tolist()) == {0}


def test_counted_strata_are_those_of_the_rows():
    weights = np.random.default_rng(1).random(300)
    rows = some_rows(weights=weights)
    each = [rows.strata == stratum for stratum in np.unique(rows.strata)]
    parts = [count(rows.s[of], rows.y[of], rows.predicted[of], GROUPS, weights[of]).n for of in each]
    assert count_by_stratum(rows).n == pytest.approx(np.stack(parts))
    _, explained, unexplained = by_loop(np.stack(parts))
    assert measure("explained-difference", rows) == pytest.approx(explained, abs=1e-12)
    assert measure("unexplained-difference", rows) == pytest.approx(unexplained, abs=1e-12)


# --- propensity, with a known truth -------------------------------------------------------------------------


def confounded(effect: float, size: int = 20_000) -> tuple[Rows, np.ndarray]:
    """People whose x says both how likely they are to be deprived and how often they are accepted."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=size)
    chance = 1 / (1 + np.exp(1.2 * x))  # of being deprived
    s = (rng.random(size) >= chance).astype(int)
    y = (rng.random(size) < 0.3 + 0.3 / (1 + np.exp(-2 * x)) + effect * s).astype(int)
    noise = rng.integers(0, 3, size)
    return Rows(s, y, y, features=np.column_stack([x, noise]), nominal=(False, True)), chance


@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_propensity_strata_take_away_what_x_explains(effect):
    rows, chance = confounded(effect)
    assert float(measure("discrimination", rows)) > effect + 0.08
    assert float(measure("propensity-difference", rows)) == pytest.approx(effect, abs=0.03)
    assert np.abs(estimate_propensity(rows) - chance).max() < 0.05
    codes = propensity_strata(rows)
    assert np.bincount(codes) == pytest.approx(4000, abs=1)


def test_propensity_is_scikit_learn_s():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = some_rows(weights=np.random.default_rng(2).random(300) + 0.5)
    numbers = StandardScaler().fit_transform(rows.features[:, [0, 2]])
    levels = OneHotEncoder(sparse_output=False).fit_transform(rows.features[:, [1]]) / np.sqrt(2)
    matrix = np.hstack([numbers, levels])
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(matrix, rows.s, sample_weight=rows.weights)
    assert estimate_propensity(rows) == pytest.approx(model.predict_proba(matrix)[:, 0], abs=1e-5)


def test_rows_of_weight_two_count_twice():
    rows = some_rows()
    twice = np.repeat(np.arange(300), 1 + rows.y)
    many = Rows(
        rows.s[twice],
        rows.y[twice],
        rows.predicted[twice],
        features=rows.features[twice],
        nominal=rows.nominal,
        strata=rows.strata[twice],
    )
    heavy = replace(rows, weights=1.0 + rows.y)
    for name in ("unexplained-difference", "explained-difference-of-labels", "belift"):
        assert measure(name, many) == pytest.approx(float(measure(name, heavy)))


def test_one_group_has_no_propensity():
    rows = some_rows()
    alone = replace(rows, s=np.zeros_like(rows.s))
    assert np.isnan(estimate_propensity(alone)).all()
    assert set(propensity_strata(alone).tolist()) == {0}
    assert np.isnan(measure("propensity-difference", alone))
    assert np.isnan(measure("cluster-difference", alone))
    assert np.isnan(measure("redlining-potential", alone))


# --- redlining ----------------------------------------------------------------------------------------------


def test_redlining_potential_runs_from_no_clue_to_a_giveaway():
    rows = some_rows(size=2000)
    blind = replace(rows, features=np.random.default_rng(9).normal(size=(2000, 3)), nominal=(False,) * 3)
    given_away = replace(rows, features=rows.s[:, None].astype(float), nominal=(True,))
    assert redlining_potential(blind) == pytest.approx(0.5, abs=0.04)
    assert redlining_potential(given_away) == 0
    assert 0.3 < redlining_potential(rows) < 0.45


def test_redlining_potential_is_the_balanced_error_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rows = some_rows(size=900)
    some = np.flatnonzero((rows.s == 1) | (np.arange(900) % 4 == 0))  # unequal groups
    rows = Rows(rows.s[some], rows.y[some], rows.y[some], features=rows.features[some], nominal=rows.nominal)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(class_weight="balanced", tol=1e-8)
    told_by = cross_val_predict(model, distance_matrix(rows), rows.s, cv=folds)
    assert redlining_potential(rows) == pytest.approx(1 - balanced_accuracy_score(rows.s, told_by))
    weighty = replace(rows, weights=np.full(len(some), 2.5))
    assert redlining_potential(weighty) == pytest.approx(redlining_potential(rows), abs=0.01)


def test_measures_within_strata_are_means_by_hand():
    """Žliobaitė's two departments, and a third with men alone, who have nobody to compare with."""
    n = np.array(
        [
            [[[80.0, 0], [0, 20]], [[20, 0], [0, 5]]],  # both 20 %
            [[[30, 0], [0, 10]], [[20, 0], [0, 20]]],  # 25 and 50 %
            [[[0, 0], [0, 0]], [[10, 0], [0, 25]]],
        ]
    )
    strata = Counts(("g", "f"), n)
    s, z, y = (part.ravel() for part in np.meshgrid([0, 1], [0, 1, 2], [0, 1], indexing="ij"))
    weights = np.array([n[b, a, c, c] for a, b, c in zip(s, z, y, strict=True)])
    rows = Rows(s, y, y, weights=weights, strata=z)
    shares = np.array([100 / 140 + 25 / 100, 40 / 140 + 40 / 100])
    for name, values in {
        "discrimination": [0, 0.25],
        "impact-ratio": [1, 0.5],
        "odds-ratio": [1, 1 / 3],
        "elift": [1, 0.25 / (30 / 80)],
        "auc-between-groups": [0.5, 0.625],
    }.items():
        expected = np.average(values, weights=shares)
        assert measure(f"{name}-within", rows) == pytest.approx(expected), name
        assert measure(f"{name}-within-of-labels", rows) == pytest.approx(expected), name
        assert measure(name, strata)[:2] == pytest.approx(values)
    # Where every stratum has both groups, it is the unexplained difference.
    both = Counts(("g", "f"), n[:2])
    found = mean_within(measure("discrimination", both), both)
    assert found == pytest.approx(unexplained_difference(both))


def test_a_stratum_with_an_infinite_ratio_makes_the_mean_infinite():
    n = np.array([[[[1.0, 0], [0, 1]], [[2, 0], [0, 0]]], [[[3, 0], [0, 1]], [[3, 0], [0, 1]]]])
    strata = Counts(("g", "f"), n)
    assert mean_within(measure("impact-ratio", strata), strata) == np.inf
    assert mean_within(np.array([np.nan, 0.5]), strata) == 0.5
    assert np.isnan(mean_within(np.array([np.nan, np.nan]), strata))


def test_the_twin_test_by_hand():
    s = np.array([0, 0, 1, 1])
    rows = Rows(s, s, s, stays=np.array([1.0, 0, 1, 0.5]))
    assert measure("twin-test", rows) == 0.625
    assert measure("twin-test", replace(rows, weights=np.array([1.0, 3, 0, 0]))) == 0.25
    assert np.isnan(measure("twin-test", replace(rows, stays=None)))


# --- by name ------------------------------------------------------------------------------------------------


def test_measures_together_are_those_one_at_a_time():
    rows = some_rows()
    names = list(ROW_METRICS)
    together = measure_rows(names, rows)
    assert list(together) == names
    for name in names:
        np.testing.assert_array_equal(together[name], measure(name, rows), name)  # to the last bit
    assert len({together[name] for name in names}) > 20


@pytest.mark.parametrize("size", [77, 150, 299])
def test_neighbours_looked_up_together_give_the_same_bits(size):
    rows = some_rows(7, size)
    names = [name for name, entry in ROW_METRICS.items() if entry.section == "situation"]
    together = measure_rows(names, rows)
    for name in names:
        np.testing.assert_array_equal(together[name], measure(name, rows), name)


@pytest.mark.parametrize("weights", [None, np.zeros(0)])
def test_measures_of_no_rows_are_nan(weights):
    none = np.zeros(0, dtype=int)
    rows = Rows(none, none, none, np.zeros(0), np.zeros((0, 2)), (False, True), weights, none)
    names = [name for name in ROW_METRICS if weights is None or not refuses(name)]
    assert len(names) > 15
    for name, value in measure_rows(names, rows).items():
        assert np.isnan(value), name
        assert np.isnan(measure(name, rows)), name


def refuses(name: str) -> bool:
    """Whether a measure knows no weights."""
    section = ROW_METRICS[name].section
    return (section == "situation" and name != "twin-test") or (section == "test" and "haenszel" not in name)


def test_clusters_of_rows_without_weight_are_one():
    s = np.array([0, 1, 0])
    rows = Rows(s, s, s, features=np.array([[1.0], [2], [3]]), nominal=(False,), weights=np.zeros(3))
    assert np.isnan(measure("cluster-difference", rows))


def test_every_value_is_in_its_range():
    for seed in range(5):
        for name, value in measure_rows(ROW_METRICS, some_rows(seed, 80)).items():
            entry = ROW_METRICS[name]
            assert np.isnan(value) or entry.low <= value <= entry.high, name


def test_the_order_of_the_rows_does_not_matter():
    rows = replace(some_rows(), score=np.random.default_rng(6).random(300).round(2))
    order = np.random.default_rng(5).permutation(300)
    mixed = Rows(
        rows.s[order],
        rows.y[order],
        rows.predicted[order],
        rows.score[order],
        features=rows.features[order],
        nominal=rows.nominal,
        strata=rows.strata[order],
    )
    folded = {"redlining-potential", "cluster-difference"}  # these draw rows at random
    names = [name for name in ROW_METRICS if not name.startswith(tuple(folded))]
    assert measure_rows(names, mixed) == pytest.approx(measure_rows(names, rows), nan_ok=True)
    assert set(np.bincount(cluster_strata(rows)) > 0) == {True}
