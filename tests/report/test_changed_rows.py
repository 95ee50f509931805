"""Limits of a change from the rows that are decided otherwise: by another implementation, and their laws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import law, most_by_chance, worlds
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbench_cli.report.ledger.changed_rows import RowChanges

REFERENCE = Path(__file__).parents[1] / "reference" / "inference" / "same.csv"
MARGIN = 0.01


def two_groups(rows, accepted, refused, accepted_squares=None, refused_squares=None, error=0.0, repeats=5):
    """A difference of rates, the group's less the reference's: every array of shape (entries, 2)."""
    n_entries = len(rows)
    return RowChanges(
        effects=np.array([1.0, -1.0]) / rows,
        accepted=accepted,
        refused=refused,
        accepted_squares=accepted if accepted_squares is None else accepted_squares,
        refused_squares=refused if refused_squares is None else refused_squares,
        error=np.broadcast_to(np.asarray(error, dtype=float), n_entries),
        freedom=np.broadcast_to(np.asarray(repeats - 1, dtype=float), n_entries),
        other_variance=np.zeros(n_entries),
    )


def columns(frame: pd.DataFrame, name: str) -> np.ndarray:
    return frame[[f"{name}_group", f"{name}_reference"]].to_numpy(dtype=float)


def test_limits_and_p_of_another_implementation():
    frame = pd.read_csv(REFERENCE)
    changes = two_groups(
        columns(frame, "rows"),
        columns(frame, "up"),
        columns(frame, "down"),
        columns(frame, "squares_up"),
        columns(frame, "squares_down"),
        frame["error_between"],
        frame["repeats"],
    )
    difference = frame["difference"].to_numpy()
    below, above = changes.half_widths(0.05)
    assert (difference - below).round(6).tolist() == frame["low"].tolist()
    assert (difference + above).round(6).tolist() == frame["high"].tolist()
    p = changes.p_within(difference, np.full(len(frame), MARGIN))
    assert p.round(6).tolist() == frame["p_same"].tolist()


def test_the_rule_of_three():
    for rows in (100, 300, 1000):
        changes = two_groups(np.array([[rows, 1e12]]), np.zeros((1, 2)), np.zeros((1, 2)))
        none = np.zeros(1)
        assert changes.p_within(none, none + MARGIN) == pytest.approx(stats.poisson.pmf(0, MARGIN * rows))
        assert changes.half_widths(0.025)[1] == pytest.approx(stats.gamma.ppf(0.975, 1) / rows)
        assert changes.p_of_changed_rows(none).tolist() == [1.0]


def test_rows_that_show_no_change_are_those_of_two_one_sided_tests():
    """In 80 % of runs: 1.645 and 1.282 standard errors within the margin, of a small group a fifth more."""
    quantile = stats.norm.ppf(0.95) + stats.norm.ppf(0.9)
    for share, more in ((0.01, 1.0), (0.004, 1.2)):
        changed = np.full((1, 2), 1000 * share)
        variance = np.array([4 * share / 1000])
        changes = two_groups(np.full((1, 2), 1000.0), changed, changed)
        found = changes.rows_to_show_same(np.array([2000.0]), variance, np.array([MARGIN]))
        assert found == np.ceil(more * 2000 * variance * (quantile / MARGIN) ** 2)
    none = two_groups(np.full((1, 2), 300.0), np.zeros((1, 2)), np.zeros((1, 2)))
    found = none.rows_to_show_same(np.array([600.0]), np.zeros(1), np.array([MARGIN]))
    assert found == np.ceil(600 * -np.log(0.05) * 2**0.5 / 300 / MARGIN)


GROUPS = st.tuples(*[st.integers(0, 12)] * 4, st.integers(50, 20000), st.integers(50, 20000))


def changes_of(numbers, error=0.001, times=1):
    up, down, up_reference, down_reference, rows, reference_rows = numbers
    return two_groups(
        np.array([[rows, reference_rows]]) * float(times),
        np.array([[up, up_reference]], dtype=float),
        np.array([[down, down_reference]], dtype=float),
        error=error,
    )


def mean_of(changes: RowChanges) -> np.ndarray:
    return (changes.effects * (changes.accepted - changes.refused)).sum(axis=1)


@law(60)
@given(GROUPS, st.floats(1e-6, 0.5))
def test_what_is_turned_round_has_the_limits_turned_round(numbers, alpha):
    changes = changes_of(numbers)
    up, down, up_reference, down_reference, *rows = numbers
    turned = changes_of((down, up, down_reference, up_reference, *rows))
    assert mean_of(turned) == pytest.approx(-mean_of(changes))
    assert np.stack(turned.half_widths(alpha)) == pytest.approx(np.stack(changes.half_widths(alpha)[::-1]))
    margin = np.array([MARGIN])
    assert turned.p_within(mean_of(turned), margin) == pytest.approx(
        changes.p_within(mean_of(changes), margin)
    )


@law(60)
@given(GROUPS, st.integers(2, 10))
def test_as_many_changes_of_more_rows_are_shown_to_be_less(numbers, times):
    few, many = changes_of(numbers), changes_of(numbers, times=times)
    for few_side, many_side in zip(few.half_widths(0.025), many.half_widths(0.025), strict=True):
        assert (many_side <= few_side).all()
    margin = np.array([MARGIN])
    assert many.p_within(mean_of(many), margin) <= few.p_within(mean_of(few), margin) + 1e-9


@law(60)
@given(GROUPS, st.floats(0.001, 0.1), st.floats(1, 3))
def test_a_wider_margin_is_easier_to_show(numbers, margin, times):
    changes = changes_of(numbers)
    p, p_of_wider = (changes.p_within(mean_of(changes), np.array([m])) for m in (margin, margin * times))
    assert p_of_wider <= p + 1e-9
    below, above = changes.half_widths(p)
    is_within = np.maximum(above + mean_of(changes), below - mean_of(changes)) <= margin * (1 + 1e-6)
    assert is_within | (p == 1)


@law(60)
@given(GROUPS, st.floats(1e-6, 0.4))
def test_a_lower_level_has_wider_limits_and_repeats_add_to_them(numbers, alpha):
    changes = changes_of(numbers)
    for narrow, wide in zip(changes.half_widths(alpha), changes.half_widths(alpha / 2), strict=True):
        assert (wide >= narrow).all()
    for without, with_error in zip(
        changes_of(numbers, error=0.0).half_widths(alpha), changes.half_widths(alpha), strict=True
    ):
        assert with_error == pytest.approx(np.hypot(without, stats.t.ppf(1 - alpha, 4) * 0.001))


def test_other_variance_adds_what_a_normal_law_says():
    changes = replace(changes_of((3, 2, 4, 1, 500, 800), error=0.0), other_variance=np.array([1e-4]))
    for alpha in (0.01, 0.3, 0.45, 0.7):
        alone = changes_of((3, 2, 4, 1, 500, 800), error=0.0).half_widths(alpha)
        expected = np.hypot(alone, max(stats.norm.isf(alpha), 0) * 0.01)
        assert np.array(changes.half_widths(alpha)) == pytest.approx(expected)


def test_kinds_with_one_effect_are_one_number():
    effects = np.array([[0.01, 0.01, -0.01, 0.02]])
    ones = np.array([[1.0, 2.0, 4.0, 8.0]])
    merged = RowChanges.from_rows(effects, ones, 2 * ones, 3 * ones, 4 * ones).merge_kinds()
    assert merged.effects.tolist() == [[0.01, 0, -0.01, 0.02]]
    assert merged.accepted.tolist() == [[3, 0, 4, 8]]
    assert merged.refused_squares.tolist() == [[12, 0, 16, 32]]


def called_same(rng, rows: int, repeats: int, change: float, *, is_fixed: bool, runs: int) -> float:
    """How often a true change of the group's rate is called none; the reference has twice the rows."""
    n = np.array([rows, 2 * rows])
    chance = np.array([change, 0.0])
    if is_fixed:
        # The same rows in all repeats: their number is binomial, and nothing varies between repeats.
        accepted = rng.binomial(n, chance, (runs, 2)).astype(float)
        squares = accepted
        error = np.zeros(runs)
    else:
        # Each row changes in some of the repeats.
        times = rng.binomial(repeats, chance[0], (runs, rows)) / repeats
        accepted = np.stack([times.sum(axis=1), np.zeros(runs)], axis=1)
        squares = np.stack([(times**2).sum(axis=1), np.zeros(runs)], axis=1)
        error = np.sqrt(rows * change * (1 - change) / repeats) / rows * np.ones(runs)
    changes = two_groups(np.tile(n, (runs, 1)), accepted, np.zeros((runs, 2)), squares, None, error, repeats)
    p = changes.p_within(mean_of(changes), np.full(runs, MARGIN))
    return float(np.mean(p < 0.05))


@pytest.mark.parametrize("rows", [50, 100, 200, 300, 500, 1000, 2000, 5000])
def test_a_change_of_the_margin_is_seldom_called_none(rows):
    rng = np.random.default_rng(rows)
    runs = len(worlds(2000))
    for repeats, is_fixed in ((2, True), (2, False), (5, False), (30, False)):
        share = called_same(rng, rows, repeats, MARGIN, is_fixed=is_fixed, runs=runs)
        assert runs * share <= most_by_chance(runs, 0.065), repeats  # docs/verdicts.md


def test_no_change_is_called_none_on_many_rows():
    rng = np.random.default_rng(1)
    assert called_same(rng, 5000, 5, 0.001, is_fixed=True, runs=400) > 0.95


@pytest.mark.parametrize("rows", [50, 100, 300, 400, 700, 1000, 2000, 5000, 10000])
def test_the_exact_level_of_rows_that_always_change(rows):
    """The chance that a change of the margin is called none, all numbers of changed rows gone through."""
    n = np.arange(0, rows // 30 + 1, dtype=float)
    accepted = np.stack([n, np.zeros(len(n))], axis=1)
    changes = two_groups(np.tile([rows, 2 * rows], (len(n), 1)), accepted, np.zeros((len(n), 2)))
    p = changes.p_within(n / rows, np.full(len(n), MARGIN))
    assert stats.binom.pmf(n[p < 0.05], rows, MARGIN).sum() <= 0.047
