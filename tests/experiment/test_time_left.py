"""The time left: by kinds, by the sizes of the data, by the clock on the wall."""

import numpy as np
import pytest

from fairbench_cli.experiment.running.time_left import RunClock

SIZES = {"tiny": 300.0, "small": 6_000.0, "large": 50_000.0}


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("slow", [1.0, 2.5])
@pytest.mark.parametrize("seen", [("tiny",), ("tiny", "small"), tuple(SIZES)])
def test_it_is_right_where_costs_grow_with_the_data(jobs, slow, seen):
    """On a machine that takes `slow` seconds for one, with the first repeats of some data sets done."""
    rng = np.random.default_rng(5)
    clock = RunClock(jobs, SIZES)
    elapsed = 0.0
    for name in seen:
        for seconds in SIZES[name] / 1e4 * rng.lognormal(0, 0.2, 40):
            clock.note((name, "tree"), seconds)
            elapsed += slow * (seconds + 0.004) / jobs
            clock.look(elapsed)
    truth = slow * sum(20 * (size / 1e4 + 0.004) for size in SIZES.values()) / jobs
    assert clock.left({(name, "tree"): 20 for name in SIZES}) == pytest.approx(truth, rel=0.15)


def test_the_seconds_of_processors_are_not_those_of_the_clock():
    """The repeats' own seconds do not count waiting for a processor; people wait by the clock."""
    estimate = RunClock(2)
    for at in range(1, 11):
        estimate.note(("a",), 1.0)
        estimate.note(("a",), 1.0)
        estimate.look(3.0 * at + 0.5, under_way=1.0)
    assert estimate.left({("a",): 20}) == pytest.approx(30, rel=0.01)
    assert RunClock(2).left({("a",): 20}) is None
