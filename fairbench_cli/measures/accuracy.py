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


def precision(counts: Counts) -> Floats:
    """P(y=+|ŷ=+), the share of the favourable predictions that are right."""
    n = counts.overall
    return divide(n[..., 1, 1], n[..., 1].sum(-1))


def f1(counts: Counts) -> Floats:
    """2 TP / (2 TP + FP + FN), the harmonic mean of precision and TPR (van Rijsbergen 1979).

    >>> float(f1(Counts(("all",), np.array([[[2.0, 1], [1, 1]]]))))
    0.5
    """
    n = counts.overall
    twice = 2 * n[..., 1, 1]
    return divide(twice, twice + n[..., 0, 1] + n[..., 1, 0])


def mcc(counts: Counts) -> Floats:
    """Correlation of label and prediction (Matthews 1975).

    >>> float(mcc(Counts(("all",), np.array([[[3.0, 1], [1, 3]]]))))
    0.5
    """
    n = counts.overall
    both = n[..., 0, 0] * n[..., 1, 1] - n[..., 0, 1] * n[..., 1, 0]
    # One root for each side: the product of four large counts would round.
    labels, predictions = n.sum(-1), n.sum(-2)
    spread = np.sqrt(labels[..., 0] * labels[..., 1]) * np.sqrt(predictions[..., 0] * predictions[..., 1])
    return divide(both, spread)
