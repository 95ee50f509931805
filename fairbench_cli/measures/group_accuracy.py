"""How well each group is predicted, the mean over groups and the comparison of two (Friedler et al. 2019).

The original averages take an absent group for 0 and a mean of 0 for 1; here what is undefined is NaN.
"""

from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured
from fairbench_cli.measures.rates import Rate, negative_predictive_value, positive_predictive_value


def of_deprived(counts: Counts, rate: Rate) -> Floats:
    """Rate of the deprived group."""
    return deprived_and_favoured(counts, rate(counts))[0]


def of_favoured(counts: Counts, rate: Rate) -> Floats:
    """Rate of the favoured group."""
    return deprived_and_favoured(counts, rate(counts))[1]


def mean_of_groups(counts: Counts, rate: Rate) -> Floats:
    """Mean of a rate over the groups, each counting once however large; any number of groups.

    >>> import numpy as np
    >>> from fairbench_cli.measures.rates import group_accuracy
    >>> some = Counts(("a", "b", "c"), np.array([[[3.0, 1], [0, 0]], [[1, 0], [1, 0]], [[0, 0], [0, 2]]]))
    >>> float(mean_of_groups(some, group_accuracy))
    0.75
    """
    rates = rate(counts)
    mean: Floats = rates.sum(-1) / rates.shape[-1]
    return mean


def comparison(counts: Counts, rate: Rate) -> Floats:
    """1 − (X(ḡ) − X(g)) of a rate X: 1 when both groups are alike, above when the deprived fare better."""
    deprived, favoured = deprived_and_favoured(counts, rate(counts))
    return 1.0 - (favoured - deprived)


def calibration_positive(counts: Counts) -> Floats:
    """Mean over the groups of P(y=+|ŷ=+,s), their calibration+."""
    return mean_of_groups(counts, positive_predictive_value)


def calibration_negative(counts: Counts) -> Floats:
    """Mean over the groups of P(y=−|ŷ=−,s), their calibration− with 1 for good as in the paper's text.

    The original code stores P(y=+|ŷ=−,s) under this name.
    """
    return mean_of_groups(counts, negative_predictive_value)
