"""How well the protected attribute can be predicted from everything else: what a model could redline by."""

import math

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Counts, Floats, count, divide
from fairbench_cli.measures.intervals import difference_interval
from fairbench_cli.measures.propensity import STEPS
from fairbench_cli.measures.rows import GROUPS, Rows
from fairbench_cli.measures.strata import SEED, distance_matrix

FOLDS = 5


def redlining_potential(rows: Rows) -> float:
    """Mean of P(ŝ≠s|s) over both groups, ŝ predicted from X by logistic regression in five folds.

    Balanced error rate of predicting s from X (Feldman et al. 2015; Žliobaitė 2017).

    Source: Feldman et al. 2015; Žliobaitė 2017.

    NaN when a group has fewer than five rows.

    The mean of both groups' error rates, by logistic regression with balanced classes, of rows it was not
    trained on (five folds, fixed seed). Weights are honoured in training and counting.

    Returns
    -------
    float
        0.5 when the features do not separate the groups, 0 when they give it away. NaN when a group has fewer
        than five rows, or no weight.

    Raises
    ------
    ValueError
        When the rows have no features.
    """
    return balanced_error(predicted_groups(rows))


def predicted_groups(rows: Rows) -> Counts:
    """Count the two groups as they are (label) and as predicted from the features (prediction).

    Returns
    -------
    Counts
        Empty when a group has fewer than five rows.
    """
    matrix = distance_matrix(rows)
    if min(np.sum(rows.s == 0), np.sum(rows.s == 1)) < FOLDS:
        return Counts(GROUPS, np.zeros((2, 2, 2)))
    return count(rows.s, rows.s, _predicted(matrix, rows), GROUPS, rows.weights)


def balanced_error(counts: Counts) -> float:
    """Return the mean of both groups' error rates; NaN when a group is empty."""
    return float(_errors(counts).mean())


def balanced_error_interval(counts: Counts, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of `balanced_error` by Newcombe's method 10, for what was trained as it was."""
    wrong = counts.n[[0, 1], [0, 1], [1, 0]]
    of = counts.group_total
    # e₀ + e₁ is one more than the difference of e₀ and 1 − e₁.
    low, high = difference_interval(wrong[0], of[0], of[1] - wrong[1], of[1], confidence)
    return (float(low) + 1) / 2, (float(high) + 1) / 2


def _predicted(matrix: Floats, rows: Rows) -> NDArray[np.intp]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    found = np.zeros(len(rows.s), dtype=np.intp)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(matrix, rows.s):
        weights = np.ones(len(train)) if rows.weights is None else rows.weights[train]
        mass = np.bincount(rows.s[train], weights, 2)
        if not mass.all():
            raise ValueError("a group has no weight in a part of the rows")
        # As class_weight="balanced", which does not look at row weights.
        balanced = weights / mass[rows.s[train]] * mass.sum() / 2
        model = LogisticRegression(max_iter=STEPS, solver="newton-cholesky")
        found[test] = model.fit(matrix[train], rows.s[train], sample_weight=balanced).predict(matrix[test])
    return found


def _errors(counts: Counts) -> Floats:
    if not math.isclose(counts.n[0, 1].sum() + counts.n[1, 0].sum(), 0.0):
        raise ValueError("needs counts of groups by what they are predicted to be")
    return divide(counts.n[[0, 1], [0, 1], [1, 0]], counts.group_total)
