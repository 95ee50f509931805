"""How well predictions match labels, over all groups."""

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide


def accuracy(counts: Counts) -> Floats:
    """P(ŷ=y), the share of rows predicted rightly.

    >>> float(accuracy(Counts(("all",), np.array([[[3.0, 1], [2, 4]]]))))
    0.7
    """
    n = counts.overall
    return divide(n[..., 0, 0] + n[..., 1, 1], counts.total)


def tpr(counts: Counts) -> Floats:
    """P(ŷ=+|y=+), the true positive rate (recall)."""
    n = counts.overall
    return divide(n[..., 1, 1], n[..., 1, :].sum(-1))


def tnr(counts: Counts) -> Floats:
    """P(ŷ=−|y=−), the true negative rate (specificity)."""
    n = counts.overall
    return divide(n[..., 0, 0], n[..., 0, :].sum(-1))


def bcr(counts: Counts) -> Floats:
    """(TPR + TNR) / 2, the balanced classification rate (Friedler et al. 2019)."""
    return (tpr(counts) + tnr(counts)) / 2


def kappa(counts: Counts) -> Floats:
    """κ = (A − R) / (1 − R), R = π₀π + (1−π₀)(1−π): Cohen's κ, or normalised accuracy (Žliobaitė 2015).

    R is the accuracy of a random prediction with the same acceptance rate π where a share π₀ of the labels is
    favourable.

    >>> round(float(kappa(Counts(("all",), np.array([[[3.0, 1], [2, 4]]])))), 12)
    0.4
    """
    n = counts.overall
    right = n[..., 0, 0] + n[..., 1, 1]
    # A and R times the square of the total: 1 − R is exactly zero when it should be.
    chance = (n.sum(-1) * n.sum(-2)).sum(-1)
    square = np.square(counts.total)
    return divide(right * counts.total - chance, square - chance)
