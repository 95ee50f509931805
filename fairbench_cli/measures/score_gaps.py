"""Absolute measures of two groups whose outcome is a number instead of a decision (Žliobaitė 2017, §4.2).

Of numbers that are 0 and 1 they are the measures of the same names in `functions`. The AUC between groups is
in `significance`; the first line of a function is its formula.
"""

import math

import numpy as np

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.functions import shared_information
from fairbench_cli.measures.moments import Moments, sum_powers
from fairbench_cli.measures.rows import Rows, bin_numbers

BINS = 10


def discrimination_of_scores(rows: Rows) -> float:
    """mean(score|ḡ) − mean(score|g).

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> discrimination_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8])))
    0.35
    """
    deprived, favoured = _score_moments(rows).mean
    return float(favoured - deprived)


def phi_of_scores(rows: Rows) -> float:
    """Correlation of the score with s=ḡ.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> round(phi_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8]))), 6)
    0.703526
    """
    moments = _score_moments(rows)
    return float(group_correlation(moments[1], moments[0]))


def mutual_information_of_scores(rows: Rows) -> float:
    """I(score,s) / √(H(score) H(s)), the score in ten bins with equally many rows.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> round(mutual_information_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8]))), 6)
    0.408248
    """
    if rows.score is None or not len(rows.s):
        return math.nan
    codes = bin_numbers(rows.score, BINS, rows.weights)
    n_bins = int(codes.max()) + 1
    table = np.bincount(rows.s * n_bins + codes, rows.mass, 2 * n_bins).reshape(2, n_bins)
    information, root = shared_information(divide(table, table.sum()))
    if not table.sum(-1).all():
        return math.nan
    return float(divide(information, root))


def balanced_residuals_of_scores(rows: Rows) -> float:
    """mean(y − score|g) − mean(y − score|ḡ), of scores from 0 to 1.

    What scores that are probabilities add to the discrimination in the labels.

    >>> s, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> round(balanced_residuals_of_scores(Rows(s, y, y, score=np.array([0.1, 0.4, 0.4, 0.8]))), 6)
    0.35
    """
    if rows.score is None or not ((rows.score >= 0) & (rows.score <= 1)).all():
        return math.nan
    deprived, favoured = sum_powers(rows.y - rows.score, rows.s, 2, rows.weights).mean
    return float(deprived - favoured)


def _score_moments(rows: Rows) -> Moments:
    """Return the moments of the scores of the deprived and of the favoured; NaN without scores."""
    scores = np.full(len(rows.s), np.nan)
    if rows.score is not None:
        scores = rows.score
    shift = float(scores[0]) if len(scores) else 0.0
    return sum_powers(scores, rows.s, 2, rows.weights, shift=shift)


def group_correlation(group: Moments, reference: Moments) -> Floats:
    """Return the correlation of a number with being of the group, of a group and its reference alone.

    It is the difference of the means in standard deviations of all rows of both, times the root of the
    product of the groups' shares: 0 at best; NaN where a group is empty or all numbers are the same.

    >>> moments = sum_powers([1.0, 2, 6, 5, 7], [0, 0, 0, 1, 1], 2, shift=3.0)
    >>> round(float(group_correlation(moments[0], moments[1])), 6)
    -0.634811
    """
    total = group.weight + reference.weight
    share = divide(group.weight, total)
    difference = group.mean - reference.mean
    within = divide(group.central_sum(1, 2) + reference.central_sum(1, 2), total)
    between = share * (1 - share) * difference**2
    return divide(difference * np.sqrt(share * (1 - share)), np.sqrt(within + between))
