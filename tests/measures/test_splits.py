"""Splits of rows by chance: another program's answers, and laws."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import add_split_tests, compare_means, judge_margin
from fairbench_cli.measures.moments import sum_powers_along
from fairbench_cli.measures.split_sums import draw_word
from fairbench_cli.measures.splits import (
    SEED,
    Splits,
    draw_enough,
    draw_splits,
    evaluate_splits,
    studentised,
    tail_shares,
)

REFERENCE = Path(__file__).parents[1] / "reference" / "splits"
AT = {"perm_at_low": (0, 0.95), "perm_at_high": (0, 1.05)}
AT_FEWER = {"perm_shift_1": (1, 1), "perm_scale_0.8": (0, 0.8), "perm_shift_1_scale_1.25": (1, 1.25)}


def read(name: str) -> Any:
    return json.loads((REFERENCE / f"{name}.json").read_text())


CASES = {case["name"]: case for case in read("means")}


def splits_of(case: dict[str, Any], n_splits: int, **options: Any) -> Splits:
    return draw_splits(
        np.array(case["group"], float), np.array(case["reference"], float), n_splits, **options
    )


def test_words_are_those_of_splitmix64():
    state = SEED
    for expected in read("draws")["first_words"]:
        state, word = draw_word(np.uint64(state))
        assert int(word) == int(expected)


@pytest.mark.parametrize("end", ["", "_2"])
def test_drawn_rows(end):
    drawn = read("draws")
    n_drawn, n_rows = drawn[f"drawn{end}"], drawn[f"n_rows{end}"]
    subsets = np.array(drawn[f"subsets{end}"])
    places = np.arange(n_rows, dtype=np.float64)
    case = {"group": places[:n_drawn], "reference": places[n_drawn:]}
    splits = splits_of(case, len(subsets), most_exact=0)
    rows, sums = (splits.group + splits.reference)[:2]
    np.testing.assert_allclose(rows, n_drawn)
    np.testing.assert_allclose(sums, (subsets - places.mean()).sum(1))
    np.testing.assert_allclose(splits.group[0], (subsets < n_drawn).sum(1))


def test_t_of_all_splits():
    case = read("splits_4_v_8")
    splits = splits_of(case, 1999)
    for shift, end in ((0.0, ""), (-2.0, "_shift_minus_2")):
        t, t_of_splits = studentised(splits, shift)
        assert t == pytest.approx(case[f"t_observed{end}"], rel=1e-9)
        np.testing.assert_allclose(t_of_splits, case[f"t{end}"], rtol=1e-9)


def test_weighted_rows():
    case = read("weighted")
    weights = np.array(case["group_weights"]), np.array(case["reference_weights"])
    splits = splits_of(case, 1999, weights=weights)
    for name, at in {"equal": (0, 1), "shift_half": (0.5, 1), "scale_95": (0, 0.95)}.items():
        assert studentised(splits, *at)[0] == pytest.approx(case[name]["t"], rel=1e-9)
        assert tail_shares(splits, *at) == pytest.approx((case[name]["less"], case[name]["more"]), rel=1e-9)
    equal = splits_of(case, 1999, weights=(np.full(5, 3.0), np.full(7, 0.2)))
    unweighted = splits_of(case, 1999)
    np.testing.assert_allclose(studentised(equal, 0.5, 0.9)[1], studentised(unweighted, 0.5, 0.9)[1])


@pytest.mark.parametrize("name", CASES)
def test_one_sided_p(name):
    case = CASES[name]
    splits = splits_of(case, case["splits"])
    assert (len(splits), splits.is_exact) == (case["splits"], case["exact"])
    assert tail_shares(splits) == pytest.approx((case["perm_less"], case["perm_more"]), rel=1e-9)
    for of_key, n_splits in ((AT, case["splits"]), (AT_FEWER, 1999)):
        splits = splits_of(case, n_splits)
        for key, at in of_key.items():
            assert tail_shares(splits, *at) == pytest.approx(case[key], rel=1e-9), key


def number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


@pytest.mark.parametrize("name", CASES)
def test_p_limits_and_a_margin_of_five_percent(name):
    case = CASES[name]
    sides = [np.array(case[side], dtype=np.float64) for side in ("group", "reference")]
    shift = float(np.concatenate(sides).mean())
    group, reference = (sum_powers_along(side, shift=shift) for side in sides)
    comparison = compare_means(group, reference)
    judgement = judge_margin(group, reference, Margin(5, "percent"))
    ratio_error = math.sqrt(
        sum(float(divide(side.variance_of_mean, side.mean**2)) for side in (group, reference))
    )
    splits = splits_of(case, case["splits"])
    assert len(splits) == len(draw_enough(*sides))
    edges = (0.0, 0.95), (0.0, 1.05)
    tests = evaluate_splits(splits, float(comparison.difference.error), ratio_error, edges, 0.95)
    assert tests.limits == pytest.approx(tuple(map(number, case["perm"])), rel=1e-6)
    ratio_limits = tuple(map(number, case["ratio_perm"]))
    assert tests.ratio_limits == pytest.approx(ratio_limits, rel=1e-6, nan_ok=True)
    assert tests.p == pytest.approx(number(case["p_perm"]), rel=1e-9)
    comparison, judgement = add_split_tests(comparison, judgement, [tests])
    difference = comparison.difference
    assert difference.p.item() == pytest.approx(number(case["p"]), rel=1e-6 if shift > 1e6 else 1e-9)
    limits = tuple(map(number, case["interval"]))
    assert (difference.low.item(), difference.high.item()) == pytest.approx(limits, rel=1e-6)
    assert bool(judgement.is_within) == case["passes"]
    assert bool(judgement.is_outside) == (case["shown_below"] or case["shown_above"])


VALUES = st.lists(st.integers(-3, 3), min_size=6, max_size=9)


@settings(max_examples=20)
@given(VALUES, st.randoms(), st.floats(-2, 2), st.floats(0.5, 2))
def test_order_and_swapped_sides_change_nothing(values, random, shift, scale):
    group, reference = values[:3], values[3:]
    splits = draw_splits(np.array(group, float), np.array(reference, float), 1)
    tails = tail_shares(splits, shift, scale)
    random.shuffle(group)
    random.shuffle(reference)
    sides = np.array(group, float), np.array(reference, float)
    assert tail_shares(draw_splits(*sides, 1), shift, scale) == tails
    # x − d like c·z is z + d/c like x/c.
    swapped = draw_splits(*sides[::-1], 1)
    assert tail_shares(swapped, -shift / scale, 1 / scale)[::-1] == pytest.approx(tails)
