"""What is left of a difference between two groups within strata (Žliobaitė 2017, §4.3); redlining.

All but redlining take counts whose last leading axis is that of the strata, ``n`` of shape (...,
strata, 2, 2, 2), the deprived group first, and return one value per axis before it. For the same measure of
the labels give ``counts.of_labels()``.

A stratum with one group only has nobody to compare with: the rate of the group that is there stands for both,
so all of the difference that it makes counts as explained. What is explained and what is not then add up to
the discrimination whatever the strata; `comparable_share` says how many rows can be compared at all.
"""

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Counts, Floats, count, deprived_and_favoured, divide
from fairbench_cli.measures.functions import acceptance_by_group
from fairbench_cli.measures.rows import (
    GROUPS,
    SEED,
    STEPS,
    Rows,
    cluster_strata,
    count_by_stratum,
    distance_matrix,
    propensity_strata,
)


def unexplained_difference(strata: Counts) -> Floats:
    """Difference d − dₑ = Σᵢ (P(ŷ=+|zᵢ,ḡ) − P(ŷ=+|zᵢ,g)) (P(zᵢ|ḡ) + P(zᵢ|g)) / 2 over the strata zᵢ.

    d_u = d − d_e: what the strata leave of the discrimination (Kamiran, Žliobaitė & Calders 2013).

    It is Σᵢ (P(+|zᵢ,ḡ) − P(+|zᵢ,g)) (P(zᵢ|ḡ) + P(zᵢ|g)) / 2, the mean difference within strata.

    Returns
    -------
    array, shape (...)
        In [−1, 1], 0 at best; NaN when a group is empty.

    Examples
    --------
    Both departments accept men and women alike, so that nothing is left of a difference of 0.4:

    >>> one, other = [[[8.0, 0], [0, 2]], [[2, 0], [0, 0.5]]], [[[0.5, 0], [0, 2]], [[2, 0], [0, 8]]]
    >>> strata = Counts(("g", "f"), np.array([one, other]))
    >>> abs(round(float(unexplained_difference(strata)), 12))
    0.0
    """
    within = _rates_within(strata)
    return _sum_over_strata((within[..., 1] - within[..., 0]) * _shares(strata).sum(-1) / 2, strata)


def explained_difference(strata: Counts) -> Floats:
    """Explained part dₑ = Σᵢ P*(ŷ=+|zᵢ) (P(zᵢ|ḡ) − P(zᵢ|g)), P* the mean of both groups' rates in stratum i.

    d_e = Σᵢ P*(+|zᵢ) (P(zᵢ|ḡ) − P(zᵢ|g)), P* the mean of both groups' rates in a stratum.

    >>> one, other = [[[8.0, 0], [0, 2]], [[2, 0], [0, 0.5]]], [[[0.5, 0], [0, 2]], [[2, 0], [0, 8]]]
    >>> strata = Counts(("g", "f"), np.array([one, other]))
    >>> round(float(explained_difference(strata)), 12)
    0.36
    """
    shares = _shares(strata)
    return _sum_over_strata(_rates_within(strata).mean(-1) * (shares[..., 1] - shares[..., 0]), strata)


def propensity_difference(rows: Rows) -> float:
    """Unexplained-difference over five ranges of P(s=g|X), by logistic regression, equally large."""
    return float(unexplained_difference(count_by_stratum(rows, propensity_strata(rows))))


def cluster_difference(rows: Rows) -> float:
    """Unexplained-difference over ten clusters of X, by k-means (fixed seed)."""
    return float(unexplained_difference(count_by_stratum(rows, cluster_strata(rows))))


def mean_within(values: Floats, strata: Counts) -> Floats:
    """Return the mean of a measure over the strata that have one, weighted as in `unexplained_difference`.

    Parameters
    ----------
    values : array, shape (..., strata)
        The measure in each stratum; NaN where it has none, such as where there is one group only.

    Returns
    -------
    array, shape (...)
        NaN when a group is empty or no stratum has a value.
    """
    weights = np.where(np.isnan(values), 0.0, _shares(strata).sum(-1))
    # Not 0 × ∞: a stratum that counts nothing must not undo the mean.
    return divide((np.where(weights > 0, values, 0.0) * weights).sum(-1), weights.sum(-1))


def comparable_share(strata: Counts) -> Floats:
    """Share of the rows that stand in a stratum with both groups; NaN when there are no rows."""
    has_both = (strata.group_total > 0).all(-1)
    return divide(np.where(has_both, strata.total, 0.0).sum(-1), strata.total.sum(-1))


def belift_by_stratum(strata: Counts) -> Floats:
    """P(+|g,zᵢ) / P(+), the simplified belift of each stratum (Mancuhan & Clifton 2014; Žliobaitė 2017).

    Returns
    -------
    array, shape (..., strata)
        1 when the deprived of a stratum are accepted as often as everybody; NaN where there are none of them,
        and where nobody is accepted at all.
    """
    rate = divide(strata.predicted[..., 1].sum((-2, -1)), strata.total.sum(-1))
    return divide(acceptance_by_group(strata)[0], rate[..., None])


def belift(strata: Counts) -> Floats:
    """Least over the strata zᵢ, whatever their size, of P(ŷ=+|g,zᵢ) / P(ŷ=+).

    Return the least `belift_by_stratum`; NaN when no stratum has one.

    The mean over the deprived would be P(+|g) / P(+) again, whatever the strata.

    >>> stratum = [[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]
    >>> float(belift(Counts(("g", "f"), np.array([stratum, stratum]))))
    0.4
    """
    belifts = belift_by_stratum(strata)
    least = np.where(np.isnan(belifts), np.inf, belifts).min(-1, initial=np.inf)
    return np.where(np.isinf(least), np.nan, least)


def _shares(strata: Counts) -> Floats:
    """P(zᵢ|s), shape (..., strata, 2)."""
    if strata.n.ndim < 4:
        raise ValueError("needs counts with an axis of strata before the groups")
    deprived_and_favoured(strata, strata.group_total)
    return divide(strata.group_total, strata.group_total.sum(-2, keepdims=True))


def _sum_over_strata(terms: Floats, strata: Counts) -> Floats:
    """Add up what each stratum makes of the difference; NaN when a group is empty, also without strata."""
    has_both = (strata.group_total.sum(-2) > 0).all(-1)
    return np.asarray(np.where(has_both, terms.sum(-1), np.nan))


def _rates_within(strata: Counts) -> Floats:
    """P(+|zᵢ,s), shape (..., strata, 2); that of the other group where one is empty, 0 where both are."""
    rates = np.stack(acceptance_by_group(strata), -1)
    rates = np.where(np.isnan(rates), rates[..., ::-1], rates)
    return np.where(np.isnan(rates), 0.0, rates)


FOLDS = 5


def redlining_potential(rows: Rows) -> float:
    """Mean of P(ŝ≠s|s) over both groups, ŝ predicted from X by logistic regression in five folds.

    Balanced error rate of predicting s from X (Feldman et al. 2015; Žliobaitė 2017).

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
    wrong_and_right = predicted_groups(rows)
    wrong = wrong_and_right.n[[0, 1], [0, 1], [1, 0]]
    return float(divide(wrong, wrong_and_right.group_total).mean())


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
    return count(rows.s, rows.s, _predict_groups(matrix, rows), GROUPS, rows.weights)


def _predict_groups(matrix: Floats, rows: Rows) -> NDArray[np.intp]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    predicted = np.zeros(len(rows.s), dtype=np.intp)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(matrix, rows.s):
        weights = rows.mass[train]
        mass = np.bincount(rows.s[train], weights, 2)
        if not mass.all():
            raise ValueError("a group has no weight in a part of the rows")
        # As class_weight="balanced", which does not look at row weights.
        balanced = weights / mass[rows.s[train]] * mass.sum() / 2
        model = LogisticRegression(max_iter=STEPS, solver="newton-cholesky")
        predicted[test] = model.fit(matrix[train], rows.s[train], sample_weight=balanced).predict(
            matrix[test]
        )
    return predicted
