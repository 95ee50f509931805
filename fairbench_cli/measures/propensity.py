"""Strata of rows that are as likely to be of the deprived group, judged by their features."""

import numpy as np

from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.rows import Rows
from fairbench_cli.measures.strata import DECIMALS, Ints, distance_matrix, ranges

RANGES = 5
STEPS = 1000  # enough for any fit that has a least loss; penalised ones have


def propensity(rows: Rows) -> Floats:
    """P(s=g|X) of every row, by logistic regression (Rosenbaum & Rubin 1983; Calders et al. 2013).

    Numbers are standardised, levels one-hot, and coefficients penalised by their squares (C = 1), so that
    features which give the group away do not take them to infinity. Weights are honoured.

    Returns
    -------
    array, shape (rows,)
        NaN everywhere when a group is empty.

    Raises
    ------
    ValueError
        When the rows have no features.
    """
    matrix = distance_matrix(rows)
    if not _both_groups(rows):
        return np.full(len(rows.s), np.nan)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=STEPS, solver="newton-cholesky")
    model.fit(matrix, rows.s, sample_weight=rows.weights)
    return np.asarray(model.predict_proba(matrix)[:, 0])


def propensity_strata(rows: Rows, parts: int = RANGES) -> Ints:
    """Cut rows into `parts` ranges of their propensity with equally many rows, shape (rows,).

    Five ranges take away nine tenths of the bias of what the propensity sums up (Rosenbaum & Rubin 1984).
    Rows with the same features stay together. All rows are one stratum when a group is empty.
    """
    chances = propensity(rows)
    if np.isnan(chances).any():
        return np.zeros(len(chances), dtype=np.intp)
    return ranges(chances.round(DECIMALS), parts, rows.weights)[0]


def _both_groups(rows: Rows) -> bool:
    weights = np.ones(len(rows.s)) if rows.weights is None else rows.weights
    return all(weights[rows.s == group].sum() > 0 for group in (0, 1))
