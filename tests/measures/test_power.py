"""How likely a verdict is: against all tables one by one, draws, statsmodels, and laws."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import law
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from fairbench_cli.audit.compare.verdict import decide
from fairbench_cli.measures import power
from fairbench_cli.measures.power import Criterion, TwoGroups, approximate_chances, rows_needed
from fairbench_cli.measures.score_test import equal_rates, ratio_interval

REFERENCE = Path(__file__).parents[1] / "reference" / "verdicts"
RATIOS = np.array([0.3, 0.6, 0.7, 0.9, 1.0, 1.1, 1.4])


@pytest.mark.parametrize(
    ("n", "m", "rate", "rule"),
    [
        (12, 30, 0.3, Criterion()),  # Fisher's test decides most tables
        (40, 25, 0.5, Criterion(0.8, 3)),
        (60, 60, 0.65, Criterion(0.5, 1, 0.9)),
    ],
)
def test_the_chances_are_those_of_all_tables_one_by_one(n, m, rate, rule):
    ratios = RATIOS[rate * RATIOS <= 1]
    found = TwoGroups(n, m, rate, rule).chances(ratios)
    fails, passes = np.zeros(len(ratios)), np.zeros(len(ratios))
    x, y = (each.ravel() for each in np.indices((n + 1, m + 1)))
    ps = equal_rates(x, n, y, m)[0]
    ends = ratio_interval(x, n, y, m, rule.confidence)
    likely = binom.pmf(x[:, None], n, rate * ratios) * binom.pmf(y[:, None], m, rate)
    for i, (p, low, high) in enumerate(zip(ps, *ends, strict=True)):
        if decide(int(x[i]), n, int(y[i]), m, rule.tau) == "fail":
            fails += likely[i] * (p * rule.family < 1 - rule.confidence)
        elif low > rule.tau and high < 1 / rule.tau:
            passes += likely[i]
    assert found.fails == pytest.approx(fails, abs=1e-7)
    assert found.passes == pytest.approx(passes, abs=1e-7)


@pytest.mark.parametrize(
    ("n", "m", "rate", "family"),
    [(300, 300, 0.3, 1), (150, 900, 0.1, 5), (800, 400, 0.5, 1), (400, 400, 0.8, 2), (60, 2000, 0.4, 10)],
)
def test_the_approximation_is_as_good_as_all_tables(n, m, rate, family, monkeypatch):
    monkeypatch.setattr(power, "MOST_TABLES", 10**7)
    rule, ratios = Criterion(0.8, family), RATIOS[rate * RATIOS < 1]
    exact = TwoGroups(n, m, rate, rule).chances(ratios)
    near = approximate_chances(n, m, rate, ratios, rule)
    assert near.fails == pytest.approx(exact.fails, abs=0.01)
    assert near.passes == pytest.approx(exact.passes, abs=0.01)


@law(40)
@given(
    st.floats(0.02, 0.9), st.floats(0.2, 3.0), st.floats(0.05, 0.95), st.integers(1, 50), st.floats(0.5, 0.95)
)
def test_so_many_rows_decide_with_the_power_asked_for(rate, ratio, share, family, wanted):
    rule = Criterion(0.8, family)
    rows = float(rows_needed(rate, ratio, share, rule, wanted))
    if math.isnan(rows):
        assert rate * ratio >= 1 or min(abs(ratio - 0.8), abs(ratio - 1.25)) < 1e-3
        return
    found = approximate_chances(rows * share, rows * (1 - share), rate, ratio, rule)
    reached = found.passes if 0.8 < ratio < 1.25 else found.fails
    assert reached >= wanted - 1e-9
    fewer = rows * (1 - 2e-4)
    if fewer * min(share, 1 - share) > 2:  # else the least that there may be suffice
        found = approximate_chances(fewer * share, fewer * (1 - share), rate, ratio, rule)
        assert (found.passes if 0.8 < ratio < 1.25 else found.fails) < wanted
    more = float(rows_needed(rate, ratio, share, Criterion(0.8, family + 1), wanted))
    # A pass needs no correction. Of a dozen people in a group the normal approximation is off by more.
    tolerance = 0.001 if rows * min(share, 1 - share) >= 30 else 0.01
    assert more >= rows * (1 - tolerance)


def test_the_ratio_that_rows_show_takes_these_rows():
    for n, m, rate in ((2000, 2000, 0.3), (1000, 6000, 0.2)):
        design = TwoGroups(n, m, rate, Criterion(0.8, 4))
        low, high = design.detectable_ratios()
        for ratio in (low, high):
            assert float(rows_needed(rate, ratio, n / (n + m), design.rule)) == pytest.approx(
                n + m, rel=0.005
            )
        assert design.chances([low, high]).fails == pytest.approx([0.8, 0.8], abs=0.002)
        start, end = design.passing_ratios()
        assert 0.8 < start < 1 < end < 1.25
        assert design.chances([start, end]).passes == pytest.approx([0.8, 0.8], abs=0.01)
    tiny = TwoGroups(5, 100, 0.1, Criterion())
    assert math.isnan(tiny.detectable_ratios()[0])
    assert np.isnan(tiny.passing_ratios()).all()


def test_no_rows_decide_at_a_limit_nor_where_nobody_is_selected():
    assert np.isnan(rows_needed([0.0, 1.0, 0.3], [1.0, 1.0, 4.0], 0.5, Criterion())).all()
    almost = 1 - 1e-15  # as weights add up, in whatever order
    assert np.isnan(rows_needed([almost, 0.4], [1.0, almost / 0.4], 0.5, Criterion())).all()
    for at_the_limit in (0.8, 1.25, 0.8 + 1e-16, 0.24 / 0.3, 0.3 / 0.24):
        assert np.isnan(rows_needed(0.3, at_the_limit, 0.4, Criterion()))


def test_draws_fail_and_pass_as_often_as_planned():
    rng = np.random.default_rng(7)
    for rate, ratio, share, family in ((0.3, 0.7, 0.4, 1), (0.1, 0.6, 0.2, 10), (0.5, 1.0, 0.5, 1)):
        total = float(rows_needed(rate, ratio, share, Criterion(0.8, family)))
        n, m = math.ceil(total * share), math.ceil(total * (1 - share))
        x, y = rng.binomial(n, rate * ratio, 20_000), rng.binomial(m, rate, 20_000)
        if ratio < 0.8:
            decided = (equal_rates(x, n, y, m)[0] * family < 0.05) & (x * m < 0.8 * y * n)
        else:
            low, high = ratio_interval(x, n, y, m)
            decided = (low > 0.8) & (high < 1.25)
        assert decided.mean() == pytest.approx(0.8, abs=0.015)


def test_far_from_the_limits_it_is_statsmodels_power():
    for rate, ratio, share in ((0.3, 0.5, 0.5), (0.5, 0.5, 0.25), (0.6, 0.4, 0.5)):
        rows = float(rows_needed(rate, ratio, share, Criterion(0.8)))
        h = proportion_effectsize(rate, rate * ratio)
        theirs = NormalIndPower().solve_power(h, power=0.8, alpha=0.05, ratio=(1 - share) / share) / share
        assert rows == pytest.approx(theirs, rel=0.06)  # the arcsine is near the score test


def test_fewer_rows_are_needed_than_another_formula_says_just_where_its_rows_reach_more():
    """That of the log ratio; its table has the power that its rows reach, by simulation."""
    with (REFERENCE / "rows_needed.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rule"] in ("A", "pass")]
    for row in rows:
        rate, ratio, share, theirs, reached = (
            float(row[key]) for key in ("ref_rate", "R", "share_of_group", "rows_needed", "achieved")
        )
        ours = float(rows_needed(rate, ratio, share, Criterion(0.8, int(row["family"]))))
        assert 0.4 < ours / theirs < 1.2
        assert abs(ours / theirs - 1) < 0.06 or (ours < theirs) == (reached > 0.8)


def test_a_few_rows_next_to_very_many_are_planned_at_once():
    found = TwoGroups(4, 10**12, 1e-9, Criterion()).chances(1.0)
    assert found.fails == pytest.approx(0, abs=1e-6)  # one of four would have to be selected
