"""Levels, numbers and bins."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairbench_cli.data.column_card import BinsCard
from fairbench_cli.data.columns import (
    MOST_LEVELS,
    Misfit,
    bin_numbers,
    cap_numbers,
    encode_levels,
    keep_numbers,
    parse_numbers,
    sort_by_bytes,
)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_codes_and_levels_give_the_cells_back(cells):
    column, codes = encode_levels("x", pd.Series(cells, dtype=object))
    assert [column.levels[code] for code in codes] == cells
    assert column.levels == sort_by_bytes(cells) == tuple(sorted(set(cells), key=str.encode))
    assert codes.dtype == np.int16


def test_declared_levels_keep_their_order_even_those_that_never_occur():
    column, codes = encode_levels("x", pd.Series(["b", "a", "b"]), ("c", "b", "a"))
    assert (column.levels, codes.tolist()) == (("c", "b", "a"), [1, 2, 1])


def test_what_is_no_level():
    with pytest.raises(Misfit) as caught:
        encode_levels("x", pd.Series(["b", "z", "a"]), ("a", "b"))
    assert (caught.value.cell, caught.value.problems[0].what) == (
        "z",
        'column "x" has "z", which is not one of its levels',
    )


def test_the_most_levels_that_codes_can_hold():
    cells = pd.Series([str(i) for i in range(MOST_LEVELS)])
    assert encode_levels("x", cells)[1].max() == MOST_LEVELS - 1
    with pytest.raises(Misfit, match="32769 levels, more than"):
        encode_levels("x", pd.Series([*cells, "one more"]))


def test_more_numbers_than_codes_can_hold_share_a_level_with_their_neighbour():
    numbers = np.random.default_rng(0).lognormal(10, 1, 3 * MOST_LEVELS // 2)
    column, codes = keep_numbers("income", numbers)
    assert (len(column.levels), codes.min(), codes.max()) == (MOST_LEVELS, 0, MOST_LEVELS - 1)
    kept = np.array(column.values)[codes]
    assert np.isin(kept, numbers).all()
    assert (np.diff(kept[np.argsort(numbers)]) >= 0).all()  # no two change places
    rank_of = np.argsort(np.argsort(numbers))
    rank_kept = np.searchsorted(np.sort(numbers), kept)
    assert np.abs(rank_of - rank_kept).max() <= 1  # each is itself, or its neighbour
    assert np.unique(codes, return_counts=True)[1].max() == 2


@pytest.mark.parametrize(
    ("cell", "whole", "value"),
    [
        ("5", True, 5),
        ("-5", True, -5),
        ("+5", True, 5),
        ("5.0", True, 5),
        ("5.", True, 5),
        ("007", True, 7),
        ("1e3", False, 1000),
        (".5", False, 0.5),
        ("-0.25", False, -0.25),
        ("17", False, 17),
    ],
)
def test_numbers(cell, whole, value):
    assert parse_numbers("x", pd.Series(["1", cell]), whole=whole).tolist() == [1, value]


@pytest.mark.parametrize(
    "cell", ["", "?", "NA", "nan", "inf", "-inf", "1e999", "1_000", "1,5", "0x10", "True", "9" * 400, "٣"]
)
@pytest.mark.parametrize("whole", [True, False])
def test_no_numbers(cell, whole):
    with pytest.raises(Misfit) as caught:
        parse_numbers("x", pd.Series(["1", cell]), whole=whole)
    assert caught.value.cell == cell


def test_a_fraction_is_no_whole_number():
    with pytest.raises(Misfit, match="should hold whole numbers but has"):
        parse_numbers("x", pd.Series(["12.5"]), whole=True)


def span(label):
    """Return (low, high, whether low is in) of a bin's label."""
    if match := re.fullmatch(r"(-?\d+)-(-?\d+)", label):
        return int(match[1]), int(match[2]), True
    match = re.fullmatch(r"([\[(])(.+), (.+)\]", label)
    return float(match[2]), float(match[3]), match[1] == "["


@given(st.lists(st.integers(-500, 5000), min_size=2), st.integers(2, 30))
def test_every_whole_number_lands_in_the_bin_whose_label_holds_it(numbers, count):
    assume(max(numbers) - min(numbers) >= 2 * count)
    column, codes = bin_numbers("x", np.array(numbers, float), BinsCard(count=count), whole=True)
    assert len(column.levels) == count
    for number, code in zip(numbers, codes, strict=True):
        low, high, _ = span(column.levels[code])
        assert low <= number <= high
    ends = [span(label)[1] for label in column.levels]
    starts = [span(label)[0] for label in column.levels]
    assert starts[0] == min(numbers)
    assert ends[-1] == max(numbers)
    assert [end + 1 for end in ends[:-1]] == starts[1:]


@given(st.lists(st.floats(-1e3, 1e6, allow_subnormal=False), min_size=2), st.integers(2, 30))
def test_every_number_lands_in_the_bin_whose_label_holds_it(numbers, count):
    spread = max(numbers) - min(numbers)
    assume(spread > 1e-3 * max(map(abs, numbers)))
    column, codes = bin_numbers("x", np.array(numbers), BinsCard(count=count), whole=False)
    near = 1e-5 * max(map(abs, numbers))  # labels have six digits
    for number, code in zip(numbers, codes, strict=True):
        low, high, _ = span(column.levels[code])
        assert low - near <= number <= high + near


@given(st.lists(st.integers(-50, 500), min_size=2, unique=True), st.integers(2, 9), st.booleans())
def test_bins_are_those_of_pandas_which_are_those_of_r(numbers, count, whole):
    assume(max(numbers) - min(numbers) >= 2 * count)
    values = np.array(numbers, float)
    _, codes = bin_numbers("x", values, BinsCard(count=count), whole=whole)
    assert codes.tolist() == pd.cut(values, count, labels=False).tolist()


def test_bins_are_closed_on_the_right():
    edges = BinsCard(count=4, low=0, high=8)
    column, codes = bin_numbers("x", np.array([0, 2, 2.5, 4, 6, 8]), edges, whole=False)
    assert column.levels == ("[0, 2]", "(2, 4]", "(4, 6]", "(6, 8]")
    assert codes.tolist() == [0, 0, 1, 1, 2, 3]


def test_numbers_beyond_the_bounds_fall_into_the_end_bins():
    _, codes = bin_numbers("x", np.array([-9.0, 99]), BinsCard(count=2, low=0, high=8), whole=False)
    assert codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("numbers", "bins", "whole", "message"),
    [
        ([5.0, 5.0], BinsCard(count=2), True, "cannot be cut into bins"),
        ([1.0, 5.0], BinsCard(count=2, low=6), True, "cannot be cut into bins"),
        ([0.0, 5.0], BinsCard(count=10), True, "10 bins from 0 to 5 are too narrow"),
        ([0.0, 1e-12 + 1], BinsCard(count=1000, low=1), False, "too narrow"),
    ],
)
def test_bins_that_cannot_be(numbers, bins, whole, message):
    with pytest.raises(Misfit, match=message):
        bin_numbers("x", np.array(numbers), bins, whole=whole)


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(1, 20))
def test_cap(numbers, cap):
    column, codes = cap_numbers("x", np.array(numbers, float), cap)
    shown = [column.levels[code] for code in codes]
    assert shown == [str(n) if n < cap else f"{cap}+" for n in numbers]
    assert len(column.levels) == cap + 1


def test_cap_counts_from_zero():
    with pytest.raises(Misfit, match="has -1"):
        cap_numbers("x", np.array([-1.0]), 3)
