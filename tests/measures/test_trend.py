"""The trend of a ratio over slices: against maximum likelihood by scipy, and in fair worlds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from fairbench_cli.measures.score_test import equal_rates, ratio_interval
from fairbench_cli.measures.trend import ratio_trend


def minus_log_likelihood(start, slope, logits, counted, time):
    x, n, y, m = counted
    q = 1 / (1 + np.exp(-logits))
    p = np.exp(start + slope * time) * q
    if (p >= 1).any():
        return 1e9
    return -(x * np.log(p) + (n - x) * np.log1p(-p) + y * np.log(q) + (m - y) * np.log1p(-q)).sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_line_is_that_of_maximum_likelihood_and_the_test_agrees(seed):
    rng, slices = np.random.default_rng(seed), 4
    n, m = rng.integers(100, 400, slices), rng.integers(100, 400, slices)
    q = rng.uniform(0.15, 0.4, slices)
    counted = (rng.binomial(n, q * np.exp(-0.3 + 0.1 * np.arange(slices))), n, rng.binomial(m, q), m)
    when = np.cumsum(rng.integers(1, 4, slices)).astype(float)
    time = (when - when[0]) / (when[-1] - when[0])
    options = {"maxiter": 40000, "maxfev": 40000, "xatol": 1e-9, "fatol": 1e-11}
    logits = np.log(q / (1 - q)) - 0.3
    free, fixed = (
        minimize(target, [*begin, *logits], method="Nelder-Mead", options=options)
        for begin, target in (
            ([0.0, 0.0], lambda at: minus_log_likelihood(at[0], at[1], at[2:], counted, time)),
            ([0.0], lambda at: minus_log_likelihood(at[0], 0.0, at[1:], counted, time)),
        )
    )
    found = ratio_trend(*counted, when)
    assert float(found.first_ratio) == pytest.approx(np.exp(free.x[0]), rel=1e-3)
    assert float(found.change) == pytest.approx(np.exp(free.x[1]), rel=1e-3)
    assert float(found.last_ratio) == pytest.approx(float(found.first_ratio * found.change))
    assert float(found.p) == pytest.approx(chi2.sf(2 * (fixed.fun - free.fun), 1), abs=0.01)


@pytest.mark.gate
def test_laws():
    rng = np.random.default_rng(5)
    n, m = rng.integers(30, 200, (2, 6, 5))
    x, y = rng.binomial(n, 0.3), rng.binomial(m, 0.4)
    x[0] = 0  # nobody of the group
    when = np.array([1, 2, 4, 5, 9.0])
    found = ratio_trend(x, n, y, m, when)
    back = ratio_trend(*(side[:, ::-1] for side in (x, n, y, m)), -when[::-1])
    np.testing.assert_allclose(found.p, back.p, rtol=1e-4)
    np.testing.assert_allclose(found.change[1:], 1 / back.change[1:], rtol=1e-4)
    other = ratio_trend(y[1:], m[1:], x[1:], n[1:], 10 + 3 * when)  # the reference as the group
    np.testing.assert_allclose(other.change, 1 / found.change[1:], rtol=1e-4)
    np.testing.assert_allclose(other.low, 1 / found.high[1:], rtol=1e-4)
    inside = (found.low <= 1) & (found.high >= 1)
    np.testing.assert_array_equal(inside[1:], found.p[1:] >= 0.05)
    sides = zip((x, n, y, m), (0, 0, 7, 9), strict=True)  # nobody of the group in one more part
    more = [np.insert(side, 2, value, axis=1) for side, value in sides]
    np.testing.assert_allclose(ratio_trend(*more, np.insert(when, 2, 3.0)).p, found.p)
    assert np.isnan(ratio_trend([0, 5], [9, 9], [0, 5], [9, 9], [0, 1]).p)  # one part says something
    two = ratio_trend([5, 9], [9, 9], [6, 8], [9, 9], [0, 1])
    three = ratio_trend([5, 9, 20], [9, 9, 20], [6, 8, 30], [9, 9, 30], [0, 1, 2])  # everybody in the last
    assert three.change == pytest.approx(two.change**2, rel=1e-3)


def test_a_ratio_to_nobody_is_infinite():
    found = ratio_trend([5, 6, 7], [50] * 3, [0] * 3, [50] * 3, [1, 2, 3])
    assert (found.first_ratio, found.last_ratio, found.low, found.high) == (np.inf, np.inf, 0, np.inf)
    found = ratio_trend([0] * 3, [50] * 3, [5, 6, 7], [50] * 3, [1, 2, 3])
    assert (found.first_ratio, found.last_ratio, found.low, found.high) == (0, 0, 0, np.inf)


def test_of_two_slices_it_is_the_change_between_them():
    found = ratio_trend([300, 240], [1000, 1000], [400, 400], [1000, 1000], [0, 1])
    assert float(found.change) == pytest.approx(240 / 300, rel=1e-6)
    apart = np.log([*ratio_interval(300, 1000, 240, 1000)])
    assert np.log(found.high / found.low) > apart[1] - apart[0]  # the references vary, too
    assert float(found.p) > equal_rates(300, 1000, 240, 1000)[0]


@pytest.mark.gate
@pytest.mark.parametrize(("rate", "rows", "share"), [(0.05, 400, 0.5), (0.3, 100, 0.3), (0.8, 300, 0.1)])
def test_in_fair_worlds_it_seldom_finds_a_trend(rate, rows, share):
    """The base rates drift, the ratio does not; 600 worlds, so that 0.05 is found between 0.03 and 0.075."""
    rng, worlds, slices = np.random.default_rng(8), 600, 6
    n = round(rows * share)
    q = rate * np.linspace(0.9, 1.1, slices)
    x, y = rng.binomial(n, 0.8 * q, (worlds, slices)), rng.binomial(rows - n, q, (worlds, slices))
    found = ratio_trend(x, n, y, rows - n, range(slices))
    assert 0.02 < (found.p < 0.05).mean() < 0.08
    assert 0.92 < ((found.low <= 1) & (found.high >= 1)).mean() < 0.98
