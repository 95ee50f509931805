"""Rates pooled in part, next to numerical integration by another route, and laws of theirs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import leggauss
from scipy.special import betainc, betaln

from fairbench_cli.measures.pooling import pooled_rates
from fairbench_cli.measures.score_test import wilson_interval


def by_definition(above, below, group: int, upto: float) -> tuple[float, float]:
    """Return the posterior mean of a group's rate, and its probability up to a value, by Gauss and Legendre.

    Over the mean and the shrinkage themselves, on which both priors are uniform.
    """
    k, n = np.array(above, dtype=float), np.array(below, dtype=float)
    at, width = leggauss(200)
    shrinkage = mean = (1 + at) / 2
    size = shrinkage / (1 - shrinkage) / (8 * np.mean(1 / n))
    a, b = mean[:, None] * size, (1 - mean[:, None]) * size
    density = sum(betaln(a + x, b + m - x) - betaln(a, b) for x, m in zip(k, n, strict=True))
    weight = width[:, None] * width * np.exp(density - density.max())
    a, b = a + k[group], b + n[group] - k[group]
    parts = (weight * a / (a + b)).sum(), (weight * betainc(a, b, upto)).sum()
    return float(parts[0] / weight.sum()), float(parts[1] / weight.sum())


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ([2, 30, 45, 61], [4, 100, 150, 200]),
        ([0, 3, 9], [10, 20, 30]),
        ([1.4, 20.6], [7.3, 55.2]),
        ([5, 5, 5, 5, 40, 5], [50] * 6),
    ],
)
def test_pooled_rates_are_the_integrals_that_define_them(above, below):
    value, low, high = pooled_rates(above, below)
    for g in range(len(above)):
        mean, under = by_definition(above, below, g, low[g])
        assert mean == pytest.approx(value[g], abs=5e-4)
        assert under == pytest.approx(0.025, abs=5e-4)
        assert by_definition(above, below, g, high[g])[1] == pytest.approx(0.975, abs=5e-4)


counts = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=5)


@settings(max_examples=40)
@given(counts)
def test_laws(pairs):
    k, n = (np.array(side, dtype=float) for side in zip(*((a, a + b) for a, b in pairs), strict=True))
    value, low, high = pooled_rates(k, n)
    if (n > 0).sum() < 2:
        assert np.isnan([value, low, high]).all()
        return
    some = n > 0
    assert (np.isnan(value) == ~some).all()
    assert (low[some] >= 0).all()
    assert (low <= value)[some].all()
    assert (value <= high)[some].all()
    assert (high[some] <= 1).all()
    other = pooled_rates(n - k, n)
    np.testing.assert_allclose([1 - value, 1 - high, 1 - low], other, atol=1e-3)  # of the complement
    mirrored = pooled_rates(k[::-1], n[::-1])
    np.testing.assert_allclose([each[::-1] for each in mirrored], [value, low, high], atol=1e-6)


def test_few_rows_are_drawn_and_many_are_not():
    value, low, high = pooled_rates([3, 300, 20_000], [4, 1000, 100_000])
    assert value[0] < 0.6
    assert value[1:].tolist() == pytest.approx([0.3, 0.2], abs=0.005)
    np.testing.assert_allclose([low[2], high[2]], wilson_interval(20_000, 100_000), atol=1e-4)
    # Groups that are alike are drawn together; millions of rows are no trouble.
    alike = pooled_rates([30] * 20, [100] * 20)
    assert (alike[2] - alike[1]).max() < 0.7 * np.subtract(*wilson_interval(30, 100)[::-1])
    far = pooled_rates([0, 4e6, 9e6], [1e7, 1e7, 1e7])
    assert far[0].tolist() == pytest.approx([0, 0.4, 0.9], abs=1e-4)
    assert pooled_rates([0, 0, 0], [5, 9, 400])[2][2] < 0.02
