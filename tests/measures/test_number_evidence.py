"""Means month after month: numbers of another implementation, and what units and signs must not change."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairbench_cli.measures import number_evidence
from fairbench_cli.measures.moments import sum_powers
from fairbench_cli.measures.number_evidence import (
    EQUAL,
    LOG_WEIGHTS,
    SHIFTS,
    Hypothesis,
    look_at_means,
    normal_deviations,
    split_log_likelihoods,
    sum_since,
    sums_log_evidence,
)
from fairbench_cli.measures.sequential import exact_log_evidence, mix_starts
from fairbench_cli.measures.splits import needs_splits

REFERENCE = Path(__file__).parents[1] / "reference" / "months"
GOLDENS = [
    json.loads((REFERENCE / f"{name}.json").read_text()) for name in ("number_months", "number_months_draws")
]
EDGES = (Hypothesis(0.0, 0.95), Hypothesis(0.0, 1.05))


def months_of(golden):
    """Return the values of each month, the group's and the reference's."""
    return [(np.array(month["group"]), np.array(month["reference"])) for month in golden["months"]]


def moments_of(months):
    """Return the moments of the months of both sides."""
    n = len(months)
    values = [side for month in zip(*months, strict=True) for side in month]
    codes = np.repeat(np.arange(2 * n), [len(side) for side in values])
    moments = sum_powers(np.concatenate(values), codes, 2 * n, shift=float(np.concatenate(values).mean()))
    return moments[np.arange(n)], moments[np.arange(n, 2 * n)]


def likelihoods_of(months, hypotheses=(EQUAL,)):
    """Return the log likelihoods of months against hypotheses."""
    sides = moments_of(months)
    return split_log_likelihoods(months, sum_since(*sides), needs_splits(*sides), hypotheses)


def look_at(months, edges=EDGES, how=None):
    """Return what months show at the last look."""
    likelihoods = likelihoods_of(months, (EQUAL, *edges))
    return look_at_means(sum_since(*moments_of(months)), likelihoods, edges, 0.05, how)


@pytest.mark.gate
@pytest.mark.parametrize("golden", GOLDENS, ids=("all splits", "drawn"))
def test_evidence_is_that_of_another_implementation(golden, monkeypatch):
    monkeypatch.setattr(number_evidence, "LEAST_ROWS", golden["least_rows"])
    months = months_of(golden)
    since = sum_since(*moments_of(months))
    if "z" in golden:
        zeta = np.array(golden["z"], dtype=float)
        is_since = ~np.isnan(zeta)
        np.testing.assert_allclose(
            np.abs(normal_deviations(since.contrast()[0]))[is_since], zeta[is_since], 1e-9
        )
        np.testing.assert_allclose(LOG_WEIGHTS, golden["log_weights"], 1e-9)
        np.testing.assert_allclose(SHIFTS, golden["thetas"], 1e-9, 1e-12)
    sums = mix_starts(sums_log_evidence(since))
    np.testing.assert_allclose(sums.log_e, golden["log_e_sums"], 1e-9, 1e-12)
    assert (sums.start + 1).tolist() == golden["start"]
    (likelihoods,) = likelihoods_of(months)
    expected = golden["l"] if "l" in golden else [golden["l_of_month_12"]]
    np.testing.assert_allclose(likelihoods[-len(expected) :], expected, 1e-9, 1e-12)
    splits = mix_starts(exact_log_evidence(likelihoods, LOG_WEIGHTS))
    np.testing.assert_allclose(splits.log_e, golden["log_e_perm"], 1e-9, 1e-12)
    for n in (1, len(months) // 2, len(months)):
        look = look_at(months[:n], how="alike")
        assert look.p == pytest.approx(golden["p"][n - 1], rel=1e-9)
        assert look.log_evidence[0][0] == pytest.approx(golden["log_e"][n - 1], rel=1e-9, abs=1e-12)
        gap = look.means_since[0] / look.means_since[1] - 1
        assert gap == pytest.approx(golden["gap_since_start"][n - 1], rel=1e-9)


def test_months_that_differ_need_evidence_beyond_their_scatter():
    golden = GOLDENS[1]
    look = look_at(months_of(golden))
    assert look.by_months
    assert look.p_same == pytest.approx(golden["beyond_months"]["p_same"][-1], rel=1e-9)
    assert look.log_evidence[1][0] == pytest.approx(golden["beyond_months"]["log_e_months"][-1], rel=1e-9)
    assert look.start + 1 == golden["beyond_months"]["start"][-1]
    assert look.log_evidence[0][0] == pytest.approx(golden["log_e"][-1], rel=1e-9)


def test_units_change_nothing_and_swapped_signs_swap_limits():
    months = months_of(GOLDENS[1])
    edges = (Hypothesis(-0.1, 1.0), Hypothesis(0.1, 1.0))
    look = look_at(months, edges)
    in_cents = [(1e9 + 100 * mine, 1e9 + 100 * theirs) for mine, theirs in months]
    other = look_at(in_cents, (Hypothesis(-10.0, 1.0), Hypothesis(10.0, 1.0)))
    np.testing.assert_allclose(other.log_evidence[1], look.log_evidence[1], 1e-5)
    np.testing.assert_allclose(other.difference, 100 * np.array(look.difference), 1e-5)
    swapped = look_at([(-mine, -theirs) for mine, theirs in months], edges)
    np.testing.assert_allclose(swapped.log_evidence[1], look.log_evidence[1], 1e-9)
    assert [-limit for limit in swapped.difference[:0:-1]] == pytest.approx(look.difference[1:], rel=1e-9)
    assert (swapped.is_beyond, swapped.is_within) == (look.is_beyond, look.is_within)


def test_a_margin_at_the_limits_of_the_ratio_is_as_wide_as_passes():
    look = look_at(months_of(GOLDENS[1]), how="alike")
    ratio, low, high = look.ratio
    assert low < ratio < high
    assert look.is_beyond
    assert look.is_outside
    assert not look.is_within
    wide = look_at(
        months_of(GOLDENS[1]), (Hypothesis(0.0, low - 1e-6), Hypothesis(0.0, high + 1e-6)), "alike"
    )
    assert wide.is_within
    narrow = look_at(
        months_of(GOLDENS[1]), (Hypothesis(0.0, low + 1e-6), Hypothesis(0.0, high + 1e-6)), "alike"
    )
    assert not narrow.is_within


def test_a_late_gap_is_found_and_when_it_began():
    rng = np.random.default_rng(4)
    months = [(rng.normal(10, 4, 100) - (t >= 36), rng.normal(10, 4, 230)) for t in range(48)]
    look = look_at(months)
    assert look.p < 0.05
    assert look.is_beyond
    assert abs(look.start - 36) <= 4


def test_months_without_rows_or_spread_say_nothing():
    flat = (np.full(60, 3.0), np.full(50, 3.0))
    nobody = (np.ones(0), np.arange(5.0))
    look = look_at([flat, nobody, flat])
    assert look.p == pytest.approx(1)
    assert not look.is_within
    assert look_at([nobody, nobody]).p == pytest.approx(1)


def test_many_rows_need_no_splits():
    rng = np.random.default_rng(0)
    mine, theirs = rng.normal(10, 2, 2200), rng.normal(10.2, 2, 2300)
    ((normal,),) = likelihoods_of([(mine, theirs)])
    half = len(SHIFTS) // 2
    t = (mine.mean() - theirs.mean()) / np.sqrt(mine.var(ddof=1) / 2200 + theirs.var(ddof=1) / 2300)
    h = 2200 * 2300 / 4500
    np.testing.assert_allclose(np.diff(normal, 2), -0.01 * h)
    assert normal[half - 1] == pytest.approx(-0.1 * np.sqrt(h) * t - 0.01 * h / 2)
    mine[0] = 1e6  # carries the mean, and t is not normal
    ((skewed,),) = likelihoods_of([(mine, theirs)])
    assert not np.allclose(np.diff(skewed, 2), -0.01 * h)
