"""The mean over data sets: by brute force, and how often its interval holds."""

import numpy as np
import pytest
from conftest import most_by_chance, worlds
from scipy import integrate, stats
from studies.made_up import study

import fairbench_cli as fb
from fairbench_cli.studies.over_data_sets import mean_over_data_sets


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(3))
def test_the_posterior_is_that_of_numerical_integration(seed):
    rng = np.random.default_rng(seed)
    means = rng.normal(0.01, 0.02, 5)
    errors = rng.uniform(0.005, 0.02, 5)

    spread = np.linspace(0, 4, 16_001)[:, None]
    grid = np.linspace(-0.25, 0.25, 501)
    likelihood = np.ones((len(spread), len(grid)))
    for mean, error in zip(means, errors, strict=True):
        likelihood *= stats.norm.pdf(mean, grid, np.hypot(error, spread))
    posterior = integrate.trapezoid(likelihood, spread[:, 0], axis=0)
    cumulative = integrate.cumulative_trapezoid(posterior, grid, initial=0)
    cumulative /= cumulative[-1]
    found = mean_over_data_sets(means, errors, 0.01)
    low, high = np.interp([0.025, 0.975], cumulative, grid)
    assert found.low == pytest.approx(low, abs=2e-3)
    assert found.high == pytest.approx(high, abs=2e-3)
    assert found.below + found.within + found.above == pytest.approx(1)


def test_its_interval_holds():
    rng = np.random.default_rng(1)
    for n_data_sets, spread in ((4, 0.0), (4, 0.03), (8, 0.02)):
        held, runs = 0, worlds(2000)
        for _ in runs:
            errors = rng.uniform(0.005, 0.02, n_data_sets)
            means = rng.normal(rng.normal(0.02, spread, n_data_sets), errors)
            posterior = mean_over_data_sets(means, errors, 0.01)
            held += posterior.low <= 0.02 <= posterior.high
        assert len(runs) - held <= most_by_chance(len(runs), 0.05), (n_data_sets, spread)


def test_wins_and_losses_are_those_of_the_comparisons():
    result = fb.compare(study(), "splits", train_share=0.7)
    frame = result.to_pandas()
    over = result.over_data_sets.set_index(["technique", "metric"])
    for (technique, metric), part in frame.groupby(["technique", "metric"]):
        row = over.loc[technique, metric]
        assert row["wins"] == (part["holm"] == "better").sum()
        assert row["losses"] == (part["holm"] == "worse").sum()
        assert row["data_sets"] == 4
        assert row["low"] < row["change"] < row["high"]
    assert over.loc[("rw", "spd"), "high"] < 0 < over.loc[("lfr", "spd"), "low"]
    assert over.loc[("rw", "spd"), "better_next"] > 0.8
    few = fb.compare(study(data=("a", "b")), "fresh").over_data_sets
    assert "change" not in few
    assert (few["data_sets"] == 2).all()


def test_seeds_speak_of_no_other_data_set_and_both_families_are_said():
    result = fb.compare(study(), "seeds")
    assert "change" not in result.over_data_sets
    text = result.to_markdown()
    assert "Nothing can be said of other rows" in text
    assert "next" not in text.split()
    assert "another data set" not in text
    for design, family in (("seeds", "metric"), ("fresh", "all")):
        text = fb.compare(study(), design, family=family).to_markdown()
        over = {"all": "all comparisons", "metric": "the techniques of a cell and metric"}[family]
        assert f"of 5 % at most, and a wrong same another 5 %, over {over}." in text
        assert "the steadier one is better" in text


def test_each_p_is_of_the_interval_that_its_column_names():
    frame = fb.compare(study(), "fresh").to_pandas()
    for p, low, high in (("difference_p", "low", "high"), ("p", "distance_low", "distance_high")):
        assert ((frame[p] < 0.05) == ((frame[low] > 0) | (frame[high] < 0))).all()
