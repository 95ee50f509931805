"""The test of equal medians rejects where the interval of the difference says so, and rarely by chance."""

import numpy as np
import pytest

from fairbench_cli.measures.quantiles import divide_quantiles, equal_p, row_quantiles, subtract_quantiles


def p_and_limits(group, reference):
    """Return the p-value of equal medians, and the limits of their difference at a confidence."""

    def limits_at(confidence):
        sides = (row_quantiles(np.sort(side), [0.5], confidence) for side in (group, reference))
        return subtract_quantiles(*sides)

    return equal_p(limits_at), limits_at


@pytest.mark.parametrize("seed", range(5))
def test_p_is_where_the_interval_reaches_none(seed):
    rng = np.random.default_rng(seed)
    group, reference = rng.lognormal(0.4, 1, 40), rng.lognormal(0, 1, 70)
    p, limits_at = p_and_limits(group, reference)
    for level, holds_none in ((0.999 * p, True), (1.001 * p, False)):
        limits = limits_at(1 - level)
        assert (limits.low <= 0 <= limits.high) == holds_none
    assert p_and_limits(3 * group + 7, 3 * reference + 7)[0] == pytest.approx(p)
    assert p_and_limits(reference, group)[0] == pytest.approx(p)


def test_equal_medians_and_none():
    assert p_and_limits(np.arange(30.0), np.arange(30.0))[0] == 1
    assert np.isnan(p_and_limits(np.ones(0), np.arange(9.0))[0])


def test_a_ratio_has_limits_around_it_and_none_of_what_is_not_above_none():
    rng = np.random.default_rng(1)
    group, reference = (row_quantiles(np.sort(rng.lognormal(0, 1, 90)), [0.5]) for _ in range(2))
    ratio = divide_quantiles(group, reference)
    assert ratio.value == pytest.approx(group.value / reference.value)
    assert ratio.low < ratio.value < ratio.high
    back = divide_quantiles(reference, group)
    assert back.low == pytest.approx(1 / ratio.high)
    zeros = row_quantiles(np.zeros(30), [0.5])
    assert np.isnan(np.array(divide_quantiles(zeros, group))).all()


@pytest.mark.gate
def test_equal_medians_are_rarely_rejected():
    rng = np.random.default_rng(2)
    p = [p_and_limits(rng.lognormal(0, 1, 30), rng.lognormal(0, 1, 90))[0] for _ in range(60)]
    assert np.mean(np.array(p) < 0.1) <= 0.2
