"""The ratio of Nadeau and Bengio: with it a mean over random splits of the same rows has its level."""

import numpy as np
from conftest import most_by_chance, worlds

from fairbench_cli.report.ledger.inference import paired_test, welch_test

ROWS, TESTED, REPEATS = 60, 18, 8
RATIO = TESTED / (ROWS - TESTED)


def splits(rng: np.random.Generator, studies: int) -> np.ndarray:
    """Return what two equal techniques differ by on the test rows of each split, (studies, repeats).

    What a row adds to the difference hangs on the row alone: two splits are as correlated as the ratio says.
    """
    rows = rng.standard_normal((studies, ROWS))
    tested = rng.random((studies, REPEATS, ROWS)).argsort(axis=2) < TESTED
    return (rows[:, None] * tested).sum(axis=2) / TESTED


def test_equal_techniques_on_splits_of_the_same_rows_are_seldom_told_apart():
    rng, n = np.random.default_rng(1), len(worlds(2000))
    differences, others = splits(rng, n), splits(rng, n)
    corrected = (paired_test(differences, RATIO).p < 0.05).sum()
    assert 0.6 * 0.05 * n < corrected <= most_by_chance(n, 0.05)
    assert (paired_test(differences).p < 0.05).mean() > 0.25
    unpaired = (welch_test(others, differences, RATIO).p < 0.05).sum()
    assert unpaired <= most_by_chance(n, 0.05)
    assert (welch_test(others, differences).p < 0.05).mean() > 0.25
