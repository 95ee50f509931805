"""Absolute measures of scores and other numbers of two groups, against numpy and scikit-learn."""

import numpy as np
import pytest
from numbers_tables import TABLES, each_table
from sklearn.metrics import normalized_mutual_info_score

from fairbench_cli.measures.moments import sum_powers
from fairbench_cli.measures.registry import measure
from fairbench_cli.measures.rows import Rows, cut_into_ranges
from fairbench_cli.measures.score_gaps import group_correlation


def rows_of(seed, n=80, **columns):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    y = rng.integers(0, 2, n)
    score = rng.random(n) ** (1 + s)
    return Rows(s, y, (score > 0.5).astype(int), score, **columns)


@pytest.mark.parametrize("seed", range(3))
def test_measures_of_scores_are_numpys(seed):
    rows = rows_of(seed)
    residuals = rows.y - rows.score
    means = [[column[rows.s == s].mean() for s in (0, 1)] for column in (rows.score, residuals)]
    assert measure("discrimination-of-scores", rows) == pytest.approx(means[0][1] - means[0][0])
    assert measure("balanced-residuals-of-scores", rows) == pytest.approx(means[1][0] - means[1][1])
    assert measure("phi-of-scores", rows) == pytest.approx(np.corrcoef(rows.s, rows.score)[0, 1])
    bins = cut_into_ranges(rows.score, 10)[0]
    theirs = normalized_mutual_info_score(rows.s, bins, average_method="geometric")
    assert measure("mutual-information-of-scores", rows) == pytest.approx(theirs)


def test_weights_are_repeated_rows():
    times = np.random.default_rng(4).integers(0, 4, 80)
    weighted = rows_of(4, weights=times.astype(float))
    repeated = Rows(
        *(np.repeat(column, times) for column in (weighted.s, weighted.y, weighted.predicted, weighted.score))
    )
    for name in ("discrimination", "phi", "mutual-information", "balanced-residuals"):
        theirs = measure(f"{name}-of-scores", repeated)
        assert measure(f"{name}-of-scores", weighted) == pytest.approx(theirs), name


def test_scores_that_are_no_probabilities_have_no_residuals():
    rows = rows_of(5)
    margins = Rows(rows.s, rows.y, rows.predicted, 6 * rows.score - 3)
    assert np.isnan(measure("balanced-residuals-of-scores", margins))
    assert measure("phi-of-scores", margins) == pytest.approx(float(measure("phi-of-scores", rows)))
    same = Rows(rows.s, rows.y, rows.predicted, np.full(80, 0.3))
    for name in ("phi", "mutual-information"):
        assert np.isnan(measure(f"{name}-of-scores", same))
    assert measure("discrimination-of-scores", same) == pytest.approx(0, abs=1e-15)


@each_table
def test_the_correlation_with_a_group_is_numpys(number):
    table = TABLES[number]
    reference = (~table["is_group"]).astype(int)
    moments = sum_powers(table["value"], reference, 2, shift=table["value"][0])
    correlation = float(group_correlation(moments[0], moments[1]))
    assert correlation == pytest.approx(np.corrcoef(table["is_group"], table["value"])[0, 1], rel=1e-9)
    assert float(group_correlation(moments[1], moments[0])) == pytest.approx(-correlation)
