"""Measures of how much more often one group gets the favourable prediction than another.

All take counts of two groups, the deprived one first, and return one value per leading axis. For the same
measure of the labels give ``counts.of_labels()``.
"""

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide
from fairbench_cli.measures.rates import selection_rate


def acceptance_rate(counts: Counts) -> Floats:
    """π = P(ŷ=+), the share of favourable predictions (Žliobaitė 2015).

    >>> float(acceptance_rate(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.625
    """
    return divide(counts.predicted[..., 1].sum(-1), counts.total)


def discrimination(counts: Counts) -> Floats:
    """D = P(ŷ=+|ḡ) − P(ŷ=+|g), the mean difference (Cardoso et al. 2019, eq. 1).

    >>> float(discrimination(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.75
    """
    deprived, favoured = acceptance_by_group(counts)
    return favoured - deprived


def normalised_discrimination(counts: Counts) -> Floats:
    """δ = d / d_max, d_max = min(π/α, (1−π)/(1−α)), α = P(ḡ) (Žliobaitė 2015).

    d_max is the most that d can be at this acceptance rate. For d < 0 it is the most that −d can be, which is
    the same formula with the groups swapped, so that −1 ≤ δ ≤ 1 and reverse discrimination reaches −1.

    >>> float(normalised_discrimination(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    1.0
    """
    d = discrimination(counts)
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    deprived, favoured = np.moveaxis(counts.group_total, -1, 0)
    # π/α is accepted/favoured and (1−π)/(1−α) is refused/deprived.
    most = np.minimum(divide(accepted, favoured), divide(refused, deprived))
    least = np.minimum(divide(accepted, deprived), divide(refused, favoured))
    return divide(d, np.where(d < 0, least, most))


def impact_ratio(counts: Counts) -> Floats:
    """P(ŷ=+|g) / P(ŷ=+|ḡ), the ratio of the "four fifths" rule (Žliobaitė 2017).

    Infinite if only the deprived are accepted.

    >>> float(impact_ratio(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.25
    """
    deprived, favoured = acceptance_by_group(counts)
    return divide(deprived, favoured)


def cv(counts: Counts) -> Floats:
    """1 − d: 1 when both groups are accepted alike, above when the deprived more (Friedler et al. 2019).

    >>> float(cv(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.25
    """
    return 1.0 - discrimination(counts)


def balanced_residuals(counts: Counts) -> Floats:
    """mean(y − ŷ | g) − mean(y − ŷ | ḡ) = d(ŷ) − d(y) (Calders et al. 2013).

    What the predictions add to the discrimination in the labels.

    >>> float(balanced_residuals(Counts(("g", "f"), np.array([[[2.0, 0], [1, 1]], [[1, 1], [0, 2]]]))))
    0.5
    """
    return discrimination(counts) - discrimination(counts.of_labels())


def acceptance_by_group(counts: Counts) -> tuple[Floats, Floats]:
    """Share of favourable predictions of the deprived and of the favoured."""
    return deprived_and_favoured(counts, selection_rate(counts))
