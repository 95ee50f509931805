"""The search of subgroups next to brute force in plain Python, and deals next to all deals there are."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st

from fairbench_cli.measures.subgroups import ANY, deal_people, deal_rows, enumerate_subgroups, find_extremes


def log_likelihood(hits: float, rows: float) -> float:
    return sum(x * math.log(x / rows) for x in (hits, rows - hits) if x)


def brute(rows: list[tuple[int, ...]], hits: list[int]) -> dict[frozenset[int], tuple[float, bool]]:
    """Return likelihood ratio and whether the rate is higher, by the rows that are in a subgroup."""
    found = {}
    levels = [sorted({row[i] for row in rows}) for i in range(len(rows[0]))]
    for wanted in product(*([ANY, *known] for known in levels)):
        inside = frozenset(
            i
            for i, row in enumerate(rows)
            if all(want in (ANY, own) for want, own in zip(wanted, row, strict=True))
        )
        if 0 < len(inside) < len(rows):
            own, every = sum(hits[i] for i in inside), sum(hits)
            n, whole = len(inside), len(rows)
            ratio = (
                log_likelihood(own, n) + log_likelihood(every - own, whole - n) - log_likelihood(every, whole)
            )
            found[inside] = (ratio, own / n > (every - own) / (whole - n))
    return found


outcomes = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1))
rows_of = st.lists(outcomes, min_size=3)


@law(60)
@given(rows_of)
def test_the_search_is_that_of_brute_force(drawn):
    rows, hits = [row[:3] for row in drawn], [row[3] for row in drawn]
    known = brute(rows, hits)
    cells, place = np.unique(np.array(rows), axis=0, return_inverse=True)
    below = np.bincount(place.ravel()).astype(float)
    above = np.bincount(place.ravel(), hits)
    some = enumerate_subgroups(cells)
    assert len(some.levels) == len(known)  # each set of rows once
    if not known:
        return
    found = find_extremes(some, above, below, iter(()))
    for side, higher in enumerate((False, True)):
        best = [ratio for ratio, over in known.values() if over == higher and ratio > 1e-9]
        at = found.best[side]
        assert (at is None) == (not best)
        if at is not None:
            inside = frozenset(
                i
                for i, row in enumerate(rows)
                if all(want in (ANY, own) for want, own in zip(some.levels[at], row, strict=True))
            )
            assert known[inside][0] == pytest.approx(max(best), abs=1e-9)
            assert found.ratios[side] == pytest.approx(max(best), abs=1e-9)


def test_p_is_that_of_all_deals():
    rows = [(0, 0)] * 3 + [(0, 1)] * 2 + [(1, 0)] * 2 + [(1, 1)] * 2
    hits = [1, 1, 1, 0, 0, 1, 0, 0, 0]
    every = set(permutations(hits))
    most = [max(ratio for ratio, _ in brute(rows, list(each)).values()) for each in every]
    cells, place = np.unique(np.array(rows), axis=0, return_inverse=True)
    above, below = np.bincount(place.ravel(), hits), np.bincount(place.ravel()).astype(float)
    deals = deal_rows(above, below, 20_000, np.random.default_rng(1))
    found = find_extremes(enumerate_subgroups(cells), above, below, deals)
    exact = np.mean(np.array(most) >= max(found.ratios) - 1e-9)
    side = int(found.ratios[1] > found.ratios[0])
    assert 0.05 < exact < 0.9
    assert found.p(side) == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert np.mean(found.null > found.limit(0.1)) <= 0.1
    assert found.limit(1e-9) == math.inf


def test_people_change_places_with_those_of_as_many_rows():
    cell, below = np.array([0, 0, 1, 1, 2, 2]), np.array([1.0, 2, 1, 2, 2, 0])
    above = np.array([1.0, 2, 0, 0, 1, 0])
    (dealt,) = deal_people(cell, above, below, 3, 4000, np.random.default_rng(2))
    assert (dealt.sum(1) == above.sum()).all()
    seen = {tuple(row) for row in dealt.tolist()}
    singles, pairs = [(1, 0), (0, 1)], set(permutations((2, 0, 1)))
    assert seen == {(a[0] + b[0], a[1] + b[1], b[2]) for a, b in product(singles, pairs)}
    np.testing.assert_allclose(dealt.mean(0), [1.5, 1.5, 1.0], atol=0.05)
    # With one row each, they are rows.
    ones = np.ones(30)
    hits = (np.arange(30) % 3 == 0).astype(float)
    place = np.arange(30) % 4
    people = np.concatenate(list(deal_people(place, hits, ones, 4, 3000, np.random.default_rng(3))))
    counts = np.bincount(place, hits), np.bincount(place).astype(float)
    plain = deal_rows(*counts, 3000, np.random.default_rng(4))
    rows = np.concatenate(list(plain))
    np.testing.assert_allclose(people.mean(0), rows.mean(0), atol=0.1)
    np.testing.assert_allclose(people.var(0), rows.var(0), rtol=0.15)


def test_of_equal_sets_the_shortest_description_stays():
    codes = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1]])
    found = enumerate_subgroups(codes)
    assert found.levels.tolist() == [[0, ANY, ANY], [1, ANY, ANY], [ANY, ANY, 0], [ANY, ANY, 1], [1, ANY, 0]]
    assert len({tuple(row) for row in found.member.toarray()}) == 5
    assert all(len(set(pair)) for pair in combinations(found.levels[:, 0], 2))
