"""Months with an effect of their own: numbers of another implementation, and worlds in which they differ."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairbench_cli.measures import month_effects
from fairbench_cli.measures.counts import divide
from fairbench_cli.measures.month_effects import compare_months, log_evidence_beyond_months
from fairbench_cli.measures.sequential import mix_starts, score_and_variance

REFERENCE = Path(__file__).parents[1] / "reference" / "months"
STREAMS = json.loads((REFERENCE / "rate_months.json").read_text())["streams"]
OF_NUMBERS = json.loads((REFERENCE / "number_months_draws.json").read_text())["beyond_months"]
NUMBERS = (month_effects.MIXING_OF_MEANS, month_effects.SPREADS_OF_MEANS)


def of_rates(stream):
    """Return the estimates of the months of a stream and their variances."""
    names = ("above", "rows", "ref_above", "ref_rows")
    score, variance = score_and_variance(*(np.array(stream[name]) for name in names))
    return divide(score, variance), divide(1, variance)


@pytest.mark.parametrize(
    ("months", "golden", "of_means"),
    [
        *((of_rates(stream), stream, ()) for stream in STREAMS),
        ((OF_NUMBERS["y"], OF_NUMBERS["v"]), OF_NUMBERS, NUMBERS),
    ],
    ids=[*(stream["name"] for stream in STREAMS), "numbers"],
)
def test_months_are_those_of_another_implementation(months, golden, of_means):
    estimate, variance = map(np.asarray, months)
    found = compare_months(estimate, variance)
    np.testing.assert_allclose(found.q, golden["Q"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.p, golden["p_same"], rtol=1e-9)
    evidence = mix_starts(log_evidence_beyond_months(estimate, variance, *of_means))
    np.testing.assert_allclose(evidence.log_e, golden["log_e_months"], rtol=1e-9)
    assert (evidence.start + 1).tolist() == golden["start"]


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.7, 1.5])
def test_the_evidence_is_1_on_average_at_most_however_months_scatter(spread):
    rng = np.random.default_rng(1)
    variance = rng.uniform(0.02, 0.2, (2000, 8))
    estimate = rng.normal(0, np.sqrt(variance + spread**2))
    log_e = mix_starts(log_evidence_beyond_months(estimate, variance)).log_e
    error = np.exp(log_e[:, -1]).std() / np.sqrt(2000)
    assert np.exp(log_e[:, -1]).mean() < 1 + 3 * error
    assert (log_e.max(-1) > np.log(20)).mean() < 0.05


def test_months_may_differ_at_first_and_once_they_did():
    estimate = np.array([0.1, 0.0, -0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.9, *[0.05] * 9])
    found = compare_months(estimate, np.full(18, 0.06))
    assert found.may_differ.tolist() == [True] * 6 + [False] * 2 + [True] * 10
    assert found.p[-1] > month_effects.ALIKE
