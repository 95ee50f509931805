"""How people are treated who are alike, against naive loops."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.measures.individual_fairness import (
    consistency,
    find_neighbours,
    mean_agreement,
    neighbour_agreement,
    share_treated_better,
    share_treated_worse,
    situation_testing,
    situation_testing_reverse,
)
from fairbench_cli.measures.rows import Rows


def naive_rate(
    me: int, among: list[int], place: list[Fraction], outcome: list[int], k: int
) -> Fraction | None:
    """Positive rate of the k nearest, the mean over all ways to break ties."""
    others = sorted((abs(place[j] - place[me]), j) for j in among if j != me)
    if len(others) < k:
        return None
    kth = others[k - 1][0]
    closer = [j for far, j in others if far < kth]
    tied = [j for far, j in others if far == kth]
    share = Fraction(k - len(closer), len(tied))
    return (sum(Fraction(outcome[j]) for j in closer) + share * sum(outcome[j] for j in tied)) / k


CROWD = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 6)), min_size=2, max_size=25
).filter(lambda crowd: len({x for _, _, x in crowd}) > 1)


def rows_of(crowd: list[tuple[int, int, int]]) -> Rows:
    s, y, x = np.array(crowd).T
    return Rows(s, y, y, features=x[:, None].astype(float), nominal=(False,))


@given(CROWD, st.integers(1, 5))
def test_neighbours_are_those_of_a_naive_loop(crowd, k):
    s, y, x = (list(column) for column in zip(*crowd, strict=True))
    place = [Fraction(each) for each in x]
    near = find_neighbours(rows_of(crowd), k)
    deprived, favoured = ([i for i in range(len(s)) if s[i] == group] for group in (0, 1))
    assert near.row_indices.tolist() == deprived + favoured
    for at, me in enumerate(near.row_indices.tolist()):
        rate = naive_rate(me, deprived + favoured, place, y, k)
        expected = np.nan if rate is None else float(rate)
        assert near.neighbour_rates[at, 0] == pytest.approx(expected, nan_ok=True)
    for at, me in enumerate(deprived):
        for found, among in ((near.near_deprived, deprived), (near.near_favoured, favoured)):
            rate = naive_rate(me, among, place, y, k)
            assert found[at, 0] == pytest.approx(np.nan if rate is None else float(rate), nan_ok=True)


@given(CROWD, st.integers(1, 3), st.sampled_from([0.1, 0.3, 0.5, 1.0]))
def test_shares_are_those_of_a_naive_loop(crowd, k, margin):
    s, y, x = (list(column) for column in zip(*crowd, strict=True))
    place, t = [Fraction(each) for each in x], Fraction(str(margin))
    deprived, favoured = ([i for i in range(len(s)) if s[i] == group] for group in (0, 1))
    rows = rows_of(crowd)
    rates = [(naive_rate(i, deprived, place, y, k), naive_rate(i, favoured, place, y, k)) for i in deprived]
    found = situation_testing(rows, k, margin), situation_testing_reverse(rows, k, margin)
    if not rates or any(rate is None for pair in rates for rate in pair):
        assert np.isnan(found).all()
    else:
        worse = sum(f - g >= t for g, f in rates) / len(rates)
        better = sum(g - f >= t for g, f in rates) / len(rates)
        assert found == pytest.approx((worse, better))
    each = [naive_rate(i, deprived + favoured, place, y, k) for i in range(len(s))]
    if any(rate is None for rate in each):
        assert np.isnan(consistency(rows, k))
    else:
        apart = [abs(y[i] - rate) for i, rate in enumerate(each)]
        assert consistency(rows, k) == pytest.approx(float(1 - sum(apart) / len(apart)))


def test_neighbours_are_scikit_learn_s_where_none_are_tied():
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    s, y = rng.integers(0, 2, (2, 400))
    features = rng.normal(size=(400, 3)) * [1, 10, 0.1]
    rows = Rows(s, y, y, features=features, nominal=(False,) * 3)
    scaled = StandardScaler().fit_transform(features)
    near = find_neighbours(rows, 7)
    for found, among in (
        (near.near_deprived, np.flatnonzero(s == 0)),
        (near.near_favoured, np.flatnonzero(s == 1)),
    ):
        index = (
            NearestNeighbors(n_neighbors=8)
            .fit(scaled[among])
            .kneighbors(scaled[s == 0], return_distance=False)
        )
        index = among[index]
        own = np.flatnonzero(s == 0)[:, None]
        rates = [
            y[[j for j in some if j != me][:7]].mean()
            for (me,), some in zip(own, index.tolist(), strict=True)
        ]
        assert found[:, 0] == pytest.approx(rates)


def test_levels_are_as_far_apart_as_they_differ_in():
    # The first is nearest to the second (one level differs), then to the third (two).
    features = np.array([[0.0, 0], [0, 1], [2, 2], [0, 0]])
    outcome = np.array([0, 1, 0, 1])
    rows = Rows(np.array([0, 1, 1, 1]), outcome, outcome, features=features, nominal=(True, True))
    assert find_neighbours(rows, 1).neighbour_rates[0, 0] == 1  # its double
    assert find_neighbours(rows, 2).neighbour_rates[0, 0] == 1
    assert find_neighbours(rows, 3).neighbour_rates[0, 0] == pytest.approx(2 / 3)


def twins(worse: int, better: int, alike: int) -> Rows:
    """Places with eleven of each group: the deprived are refused, or the favoured, or nobody."""
    kinds = [(0, 1)] * worse + [(1, 0)] * better + [(1, 1)] * alike
    cells = [(g, y[g], 100.0 * at) for at, y in enumerate(kinds) for g in (0, 1) for _ in range(11)]
    s, y, x = (np.array(column) for column in zip(*cells, strict=True))
    return Rows(s, y, y, features=x[:, None], nominal=(False,))


def test_twins_by_hand():
    rows = twins(2, 1, 5)
    assert situation_testing(rows) == 2 / 8
    assert situation_testing_reverse(rows) == 1 / 8
    # Of 21 neighbours at the same place, 11 are treated the other way: at 3 places of 8.
    assert consistency(rows) == pytest.approx(1 - 3 / 8 * 11 / 21)


def test_several_outcomes_share_the_search():
    rows = twins(1, 0, 1)
    both = find_neighbours(rows, outcomes=np.stack([rows.y, 1 - rows.y], 1))
    assert share_treated_worse(both).tolist() == [0.5, 0]
    assert share_treated_better(both).tolist() == [0, 0.5]
    assert mean_agreement(both)[0] == pytest.approx(mean_agreement(both)[1])


def test_a_margin_is_reached_exactly():
    # 7 of 10 favoured, 4 of 10 deprived: 0.7 − 0.4 is a hair below 0.3 in binary.
    g, f = [0] + [1] * 4 + [0] * 6, [1] * 7 + [0] * 3
    s, y = np.array([0] * 11 + [1] * 10), np.array(g + f)
    rows = Rows(s, y, y, features=np.array([[0.0]] * 20 + [[1.0]]), nominal=(False,))
    near = find_neighbours(rows, 9)
    assert near.near_deprived[0, 0] == pytest.approx(0.4)
    exact = near.near_favoured[0, 0] - near.near_deprived[0, 0]
    assert share_treated_worse(near, exact)[0] > 0


def test_above_the_limit_rows_are_drawn_and_are_always_the_same():
    rng = np.random.default_rng(0)
    s, y = rng.integers(0, 2, (2, 1000))
    rows = Rows(s, y, y, features=rng.normal(size=(1000, 2)), nominal=(False, False))
    every, some = find_neighbours(rows), find_neighbours(rows, most=200_000)
    assert len(every.row_indices) == 1000
    assert len(some.row_indices) == 200
    assert np.array_equal(some.row_indices, find_neighbours(rows, most=200_000).row_indices)
    place = {row: at for at, row in enumerate(every.row_indices.tolist())}
    same = [place[row] for row in some.row_indices.tolist()]
    assert neighbour_agreement(some) == pytest.approx(neighbour_agreement(every)[same])
    deprived = [at for at in same if at < (s == 0).sum()]
    assert some.excess == pytest.approx(every.excess[deprived])
    assert mean_agreement(some) == pytest.approx(mean_agreement(every), abs=0.05)


def test_too_few_neighbours_are_nan_and_weights_are_refused():
    s = np.array([0, 0, 1, 1])
    rows = Rows(s, s, s, features=np.arange(4.0)[:, None], nominal=(False,))
    assert np.isnan([situation_testing(rows), situation_testing_reverse(rows), consistency(rows)]).all()
    assert situation_testing(rows, k=1) == 1
    with pytest.raises(ValueError, match="no weights"):
        consistency(Rows(s, s, s, features=np.ones((4, 1)), nominal=(False,), weights=np.ones(4)))
    with pytest.raises(ValueError, match="needs features"):
        consistency(Rows(s, s, s))
    with pytest.raises(ValueError, match="none"):
        find_neighbours(rows, 0)
    nobody = Rows(*3 * (np.zeros(0, dtype=int),), features=np.zeros((0, 1)), nominal=(False,))
    assert np.isnan([situation_testing(nobody), consistency(nobody)]).all()
