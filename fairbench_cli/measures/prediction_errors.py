"""How far predictions are from labels, by group, from sums of one pass: no row is looked at again.

A residual is a prediction less its label. Its moments say how much a group is over- or underestimated; the
moments of its absolute value the mean absolute error (both with limits: `means.mean_interval`, differences:
`means.compare_means`); with those of the labels the share of their variance that is explained. Measures are
vectorised over the shape of the moments.
"""

import numpy as np

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.moments import Moments


def mean_square(residuals: Moments) -> Floats:
    """Return the mean squared errors.

    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> mean_square(sum_powers_along([1.0, -1, 3, 1], shift=1.0)).tolist()
    3.0
    """
    return divide(residuals.central_sum(1, 2), residuals.weight) + residuals.mean**2


def explained_share(residuals: Moments, labels: Moments) -> Floats:
    """Return R², 1 − Σ(prediction − label)² / Σ(label − mean)²: 0 of predicting the mean, it may be negative.

    NaN where all labels are equal.

    >>> from fairbench_cli.measures.moments import sum_powers_along
    >>> residuals, labels = sum_powers_along([1.0, -1, 0, 0]), sum_powers_along([1.0, 2, 3, 4])
    >>> explained_share(residuals, labels).tolist()
    0.6
    """
    spread = labels.central_sum(1, 2)
    share = 1 - divide(residuals.weight * mean_square(residuals), spread)
    return np.where(spread > 0, share, np.nan)


def skill_by_row(square: Floats, labels: Floats, mean_square: Floats, rate: Floats) -> Floats:
    """Return of each row what it makes of its group's skill, 1 − Brier / (ȳ(1 − ȳ)): their mean is the skill.

    The skill and the row's influence on it, so that the variance of these numbers is that of the skill.

    Parameters
    ----------
    square, labels : array, shape (rows,)
        (prediction − label)², and the label, 0 or 1.
    mean_square, rate : array, shape (rows,)
        The means of both in the row's group. NaN where all labels are alike.

    Examples
    --------
    >>> labels, square = np.array([0.0, 0, 1, 1]), np.array([0.04, 0.09, 0.16, 0.01])
    >>> skill_by_row(square, labels, np.full(4, 0.075), np.full(4, 0.5)).mean().round(6).tolist()
    0.7
    """
    spread = np.where((rate > 0) & (rate < 1), rate * (1 - rate), np.nan)
    by_label = mean_square / spread**2 * (1 - 2 * rate) * (labels - rate)
    return np.asarray(1 - square / spread + by_label)
