"""The chance that equal groups show a gap: figures of an independent program, and simulated employers."""

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import levene

from fairbench_cli.measures import chance_gaps
from fairbench_cli.measures.chance_gaps import chance_of_gap, chances_by_spread

GOLDEN = json.loads((Path(__file__).parents[1] / "reference/pay/pay_categories.json").read_text("utf-8"))


@pytest.mark.parametrize("case", GOLDEN)
def test_the_formula_meets_the_golden_figures(case):
    chances = []
    for n_women, n_men, *own in zip(case["women"], case["men"], *own_spreads(case), strict=True):
        squares = [math.expm1(spread**2) for spread in own]
        chances.append(chances_by_spread((n_women, n_men), squares, 0.05))
    less, more = np.transpose(chances)
    assert less == pytest.approx(case["women_less"], rel=1e-9)
    assert more == pytest.approx(case["women_more"], rel=1e-9)
    assert 1 - np.prod(1 - less - more) == pytest.approx(case["at_least_one"], rel=1e-9)
    assert (less + more).sum() == pytest.approx(case["expected"], rel=1e-9)


def own_spreads(case):
    """Return the spreads of women and of men in each category."""
    one = [case.get("log_sd")] * len(case["women"])
    return case.get("log_sd_women", one), case.get("log_sd_men", one)


@pytest.mark.gate
def test_splits_have_the_chance_of_the_law():
    rng = np.random.default_rng(5)
    chances = [
        chance_of_gap(rng.lognormal(10, 0.16, 27), rng.lognormal(10, 0.16, 40), 0.05) for _ in range(30)
    ]
    assert np.mean(chances) == pytest.approx(0.212, abs=0.04)  # as the formula, with the true spread


def test_all_splits_of_a_few_rows_are_counted():
    group, reference = np.array([9.0, 10.0, 12.0]), np.array([8.0, 10.0, 11.0, 15.0])
    both = np.concatenate([group, reference])
    far = 0
    for chosen in combinations(range(7), 3):
        ratio = both[list(chosen)].mean() / np.delete(both, chosen).mean()
        far += not 0.9 < ratio < 1.1
    assert chance_of_gap(group, reference, 0.1) == pytest.approx(far / 35)


def test_equal_spreads_are_rejected_as_by_scipy(monkeypatch):
    rng = np.random.default_rng(8)
    group, reference = rng.normal(0, 1.3, 25), rng.normal(0, 1, 40)
    p = levene(group, reference, center="median").pvalue
    for level, is_rejected in ((p * 1.0001, True), (p * 0.9999, False)):
        monkeypatch.setattr(chance_gaps, "UNLIKE", level)
        assert chance_gaps._have_unlike_spreads(group, reference) == is_rejected
    assert not chance_gaps._have_unlike_spreads(np.ones(20), np.ones(30))


def test_unlike_spreads_are_not_pooled():
    rng = np.random.default_rng(6)
    group, reference = rng.lognormal(10, 0.4, 30), rng.lognormal(10, 0.1, 300)
    assert levene(np.log(group), np.log(reference), center="median").pvalue < 0.05
    squares = [math.expm1(np.log(side).var(ddof=1)) for side in (group, reference)]
    expected = sum(chances_by_spread((30, 300), squares, 0.05))
    assert chance_of_gap(group, reference, 0.05) == pytest.approx(expected)
    assert expected > 0.4  # pooled it would be .2


def test_very_many_rows_take_no_splits_and_equal_values_have_no_gap(monkeypatch):
    monkeypatch.setattr(chance_gaps, "MOST_DRAWN", 50)
    monkeypatch.setattr(chance_gaps, "draw_splits", lambda *_: pytest.fail("splits were drawn"))
    rng = np.random.default_rng(7)
    pay = rng.lognormal(10, 0.3, 160) * (rng.random(160) < 0.9)  # some have none, and no logarithm
    squares = [side.var(ddof=1) / side.mean() ** 2 for side in (pay[:60], pay[60:])]
    expected = sum(chances_by_spread((60, 100), squares, 0.05))
    assert chance_of_gap(pay[:60], pay[60:], 0.05) == pytest.approx(expected)
    assert chance_of_gap(np.ones(60), np.ones(100), 0.05) == 0
