"""The rates of each group by itself, from its own table of labels and predictions.

All take counts of any number of groups and return one value per group, shape (..., groups). An empty
denominator gives NaN.
"""

from collections.abc import Callable

from fairbench_cli.measures.counts import Counts, Floats, divide

Rate = Callable[[Counts], Floats]


def selection_rate(counts: Counts) -> Floats:
    """P(ŷ=+|s), the share of favourable predictions."""
    return divide(counts.predicted[..., 1], counts.group_total)


def true_positive_rate(counts: Counts) -> Floats:
    """P(ŷ=+|y=+,s), the share of those who merit it that get the favourable prediction.

    >>> import numpy as np
    >>> true_positive_rate(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))).tolist()
    [0.5, 0.75]
    """
    return divide(counts.n[..., 1, 1], counts.labelled[..., 1])


def true_negative_rate(counts: Counts) -> Floats:
    """P(ŷ=−|y=−,s)."""
    return divide(counts.n[..., 0, 0], counts.labelled[..., 0])


def false_positive_rate(counts: Counts) -> Floats:
    """P(ŷ=+|y=−,s)."""
    return divide(counts.n[..., 0, 1], counts.labelled[..., 0])


def false_negative_rate(counts: Counts) -> Floats:
    """P(ŷ=−|y=+,s)."""
    return divide(counts.n[..., 1, 0], counts.labelled[..., 1])


def false_discovery_rate(counts: Counts) -> Floats:
    """P(y=−|ŷ=+,s), the share of the favourable predictions that are wrong."""
    return divide(counts.n[..., 0, 1], counts.predicted[..., 1])


def false_omission_rate(counts: Counts) -> Floats:
    """P(y=+|ŷ=−,s), the share of the unfavourable predictions that are wrong."""
    return divide(counts.n[..., 1, 0], counts.predicted[..., 0])


def positive_predictive_value(counts: Counts) -> Floats:
    """P(y=+|ŷ=+,s), which Friedler et al. (2019) call calibration+."""
    return divide(counts.n[..., 1, 1], counts.predicted[..., 1])


def negative_predictive_value(counts: Counts) -> Floats:
    """P(y=−|ŷ=−,s): calibration− of Friedler et al. (2019), turned so that 1 is good."""
    return divide(counts.n[..., 0, 0], counts.predicted[..., 0])


def group_accuracy(counts: Counts) -> Floats:
    """P(ŷ=y|s), the share predicted rightly."""
    return divide(counts.n[..., 0, 0] + counts.n[..., 1, 1], counts.group_total)


def group_bcr(counts: Counts) -> Floats:
    """(TPR + TNR) / 2, the balanced classification rate."""
    return (true_positive_rate(counts) + true_negative_rate(counts)) / 2
