"""Rows of a number and a group and nothing more, which are sorted and ranked without a table of cells."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import fairbench_cli as fb
from fairbench_cli.audit.scan import numbers
from fairbench_cli.measures.moments import sum_powers, sum_powers_of_groups
from fairbench_cli.measures.value_ranks import (
    PlacementSums,
    SortedValues,
    ordered_placements,
    sorted_placements,
    tied_placements,
)

N_ROWS = 2_000
KINDS = ("normal", "below 0", "ties", "nearly equal", "zeros", "huge")


def draw_values(kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return values that are hard to sort in some way."""
    values = rng.normal(100, 20, N_ROWS)
    if kind == "below 0":
        values -= 200
        values[::3] *= -1
    elif kind == "ties":
        values = values.round(1)
    elif kind == "nearly equal":  # apart by the last bits alone
        values = 1 + rng.integers(0, 50, N_ROWS) * np.finfo(np.float64).eps
    elif kind == "zeros":
        values[::2] = 0
    elif kind == "huge":
        values = np.exp(rng.normal(0, 80, N_ROWS)) * rng.choice([-1, 1], N_ROWS)
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_groups", [1, 2, 5, 300])
def test_rows_are_sorted_with_their_groups(kind: str, n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    values = draw_values(kind, rng)
    groups = rng.integers(0, n_groups, N_ROWS).astype(np.int16)
    cells = numbers._sort_rows(values.copy(), groups, n_groups)
    assert (cells.value == np.sort(values)).all()
    expected_pairs = sorted(zip(values.tolist(), groups.tolist(), strict=True))
    assert sorted(zip(cells.value.tolist(), cells.group.tolist(), strict=True)) == expected_pairs
    for g in range(n_groups):
        assert (cells.values_by_group[g] == np.sort(values[groups == g])).all()
    stays = rng.random(n_groups) < 0.6
    kept = cells.select_groups(stays)
    assert len(kept.values_by_group) == stays.sum()
    assert len(kept.value) == sum(map(len, kept.values_by_group))


def test_no_rows_are_sorted() -> None:
    cells = numbers._sort_rows(np.zeros(0), np.zeros(0, np.int16), 2)
    assert len(cells.value) == 0


@pytest.mark.parametrize("n_rows", [2, 3, 50, 100_000])
@pytest.mark.parametrize("reference", [1, None])
def test_order_alone_has_the_placements_of_the_values(n_rows: int, reference: int | None) -> None:
    rng = np.random.default_rng(n_rows)
    for share in (0.01, 0.3, 0.9):
        values = rng.permutation(n_rows).astype(np.float64)
        groups = np.where(rng.random(n_rows) < share, 0, rng.integers(1, 3, n_rows))
        check_placements(values, groups, reference)
        check_placements(values, (values < share * n_rows).astype(np.int64), reference)
        check_placements(values // 7, groups, reference)
        check_placements((values * share) // n_rows, groups, reference)


def check_placements(values: NDArray[np.float64], groups: NDArray[np.int64], reference: int | None) -> None:
    """Compare every sum with that of values which are merged."""
    is_reference = groups != 0 if reference is None else groups == reference
    order = np.argsort(values)
    merged = sorted_placements(
        SortedValues(values[order][groups[order] == 0]), SortedValues(values[order][is_reference[order]])
    )
    sums_of_ways: list[PlacementSums] = [tied_placements(values[order], groups[order], 0, reference)]
    if len(np.unique(values)) == len(values):
        sums_of_ways.append(ordered_placements(groups[order], 0, reference))
    for sums in sums_of_ways:
        for name, expected in vars(merged).items():
            np.testing.assert_allclose(getattr(sums, name), expected, rtol=1e-11, err_msg=name)


def test_groups_apart_have_the_moments_of_rows() -> None:
    rng = np.random.default_rng(3)
    values = rng.lognormal(10, 1, 100_000)
    groups = rng.integers(0, 3, len(values))
    expected = sum_powers(values, groups, 3, shift=30_000.0)
    moments = sum_powers_of_groups([values[groups == g] for g in range(3)], shift=30_000.0)
    for name in ("rows", "mean", "variance", "third", "fourth"):
        np.testing.assert_allclose(getattr(moments, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.gate
@pytest.mark.parametrize("options", [{}, {"ref_method": "rest"}, {"exclude": ("c",)}, {"intersect": "g,h"}])
@pytest.mark.parametrize("decimals", [None, 0, 1])
def test_plain_rows_have_the_numbers_of_rows_in_a_table(
    options: dict[str, Any], decimals: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    n_rows = 150_000  # more than a table of values has
    frame = pd.DataFrame(
        {
            "pay": rng.lognormal(10, 0.4, n_rows),
            "g": rng.choice(["a", "b", "c"], n_rows),
            "h": rng.choice(["x", "y"], n_rows),
        }
    )
    if decimals is not None:
        frame["pay"] = frame["pay"].round(decimals)
    plain = fb.audit(frame, score="pay", attributes=("g", "h"), **options)
    monkeypatch.setattr(numbers, "_are_plain_rows", lambda *_: False)
    expected = fb.audit(frame, score="pay", attributes=("g", "h"), **options)
    for name in ("numbers", "number_groups"):
        pd.testing.assert_frame_equal(plain.to_pandas(name), expected.to_pandas(name), rtol=1e-10, atol=1e-13)
