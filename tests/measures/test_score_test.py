"""The test and interval of a ratio of rates: reference values, laws, and others where these are right."""

import csv
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from fairbench_cli.measures.score_test import (
    equal_rates,
    outside_band_p,
    ratio_interval,
    score_z,
    smallest_expected_count,
)

REFERENCE = Path(__file__).parents[1] / "reference" / "verdicts"

Table = tuple[int, int, int, int]
tables = st.tuples(st.integers(1, 500), st.integers(1, 500)).flatmap(
    lambda below: st.tuples(
        st.integers(0, below[0]), st.just(below[0]), st.integers(0, below[1]), st.just(below[1])
    )
)


def read(name: str) -> list[dict[str, float]]:
    """Return a reference table as numbers; NaN where there is none."""
    with (REFERENCE / name).open(newline="") as file:
        return [{key: float(value or "nan") for key, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("row", read("golden_intervals.csv"))
def test_golden_intervals(row: dict[str, float]) -> None:
    found = tuple(row[key] for key in ("k1", "n1", "k2", "n2"))
    np.testing.assert_allclose(ratio_interval(*found), (row["mn_L"], row["mn_U"]), atol=1.01e-6)
    z = [float(score_z(*found, theta)) for theta in (1, 0.8, 1.25)]
    np.testing.assert_allclose(z, [row["z_theta1"], row["z_tau"], row["z_inv_tau"]], atol=1.01e-6)
    p, exact = equal_rates(*found)
    few = smallest_expected_count(*map(np.asarray, found)) < 5
    assert bool(exact) == few
    assert float(p) == pytest.approx(row["p_fisher" if few else "p_theta1"], abs=1.01e-6)


@given(tables)
def test_equality_is_the_n_minus_1_chi_squared_test_or_fishers(found: Table) -> None:
    above, below, ref_above, ref_below = found
    total, hits = below + ref_below, above + ref_above
    p, exact = equal_rates(*found)
    table = [[above, below - above], [ref_above, ref_below - ref_above]]
    assert bool(exact) == (min(hits, total - hits) * min(below, ref_below) < 5 * total)
    if exact:
        assert float(p) == pytest.approx(fisher_exact(table).pvalue, rel=1e-6)
    else:
        z = proportions_ztest([above, ref_above], [below, ref_below])[0] * np.sqrt((total - 1) / total)
        assert float(score_z(*found, 1.0)) == pytest.approx(z, rel=1e-9, abs=1e-9)


@given(tables)
def test_the_interval_is_what_the_test_does_not_reject(found: Table) -> None:
    above, below, ref_above, ref_below = found
    low, high = (float(limit) for limit in ratio_interval(*found))
    assert 0 <= low <= high
    if ref_above:
        assert low <= above / below / (ref_above / ref_below) <= high
    for limit, z in ((low, 1.959964), (high, -1.959964)):
        if 0 < limit < np.inf:
            assert float(score_z(*found, limit)) == pytest.approx(z, abs=1e-5)
    rejected = abs(float(score_z(*found, 1.0))) > 1.959964
    assert rejected == (not low <= 1 <= high)
    if 0 < above < below and 0 < ref_above < ref_below:  # elsewhere a limit of statsmodels' is wrong
        theirs = confint_proportions_2indep(*found, compare="ratio", method="score", correction=True)
        np.testing.assert_allclose((low, high), theirs, rtol=1e-6)


# 1 / ratio is rounded: nearer to 1 its distance from 1 has too few digits left to compare.
ratios = st.floats(0.3, 3).filter(lambda ratio: ratio == 1 or abs(ratio - 1) > 1e-9)


@given(tables, ratios)
@example((2, 2, 1, 1), 0.99999)
def test_groups_change_places_and_the_ratio_is_inverted(found: Table, ratio: float) -> None:
    back = (*found[2:], *found[:2])
    np.testing.assert_allclose(score_z(*found, ratio), -score_z(*back, 1 / ratio), rtol=1e-6, atol=1e-9)
    low, high = ratio_interval(*found)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ratio_interval(*back), (1 / high, 1 / low), rtol=1e-9)
    np.testing.assert_allclose(equal_rates(*found)[0], equal_rates(*back)[0], rtol=1e-9)
    np.testing.assert_allclose(outside_band_p(*found, 0.8), outside_band_p(*back, 0.8), rtol=1e-6)


def score_in_fractions(found: Table, ratio: float) -> float:
    """Return the statistic by whole fractions, with square roots of 60 digits."""
    x, n, y, m, theta = map(Fraction, (*found, ratio))
    a, b, hits = (n + m) * theta, n * theta + x + m + y * theta, x + y
    with localcontext(prec=60):

        def decimal(value: Fraction) -> Decimal:
            return Decimal(value.numerator) / Decimal(value.denominator)

        q = Fraction(2 * decimal(hits) / (decimal(b) + decimal(b * b - 4 * a * hits).sqrt()))
        p = theta * q
        variance = (p * (1 - p) / n + theta**2 * q * (1 - q) / m) * (n + m) / (n + m - 1)
        return float(decimal(x / n - theta * y / m) / decimal(variance).sqrt())


@given(tables, st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 1.0]), st.floats(-1, 1))
def test_no_digit_is_lost_near_a_ratio_of_1_nor_where_everybody_is_selected(found, small, part):
    ratio = float(np.exp(small * part))
    for counts in (found, (found[1], found[1], *found[2:]), (found[1], found[1], found[3], found[3])):
        if counts[0] + counts[2] > 0 and (ratio != 1 or counts[0] + counts[2] < counts[1] + counts[3]):
            exact = score_in_fractions(counts, ratio)
            assert float(score_z(*counts, ratio)) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@given(tables, st.lists(st.floats(0.05, 20), min_size=2, max_size=6, unique=True))
def test_z_falls_as_the_ratio_grows(found: Table, ratios: list[float]) -> None:
    z = score_z(*found, np.sort(ratios))
    assert (np.diff(z) <= 1e-9).all()


def test_no_rows_give_no_test_and_no_interval() -> None:
    for found in ((0, 0, 3, 9), (3, 9, 0, 0), (0, 0, 0, 0)):
        assert np.isnan([score_z(*found, 1.0), *ratio_interval(*found), equal_rates(*found)[0]]).all()


def test_many_rows_and_many_tests_keep_their_digits() -> None:
    counted = np.array([4_000_000_000, 10_000_000_000, 40_000, 100_000])
    low, high = ratio_interval(*counted)
    assert 0.99 < low < 1 < high < 1.01
    # Of so many rows, 2 against 7 is 2 heads of 9.
    assert float(equal_rates(2, 1e12, 7, 1e12)[0]) == pytest.approx(2 * 46 / 2**9, rel=1e-6)
