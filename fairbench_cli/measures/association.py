"""Measures of how strongly predictions and groups go together, from the survey (Žliobaitė 2017).

All take counts of two groups, the deprived one first, and return one value per leading axis. For the same
measure of the labels give ``counts.of_labels()``.
"""

import numpy as np

from fairbench_cli.measures.absolute import (
    acceptance_by_group,
    acceptance_rate,
    discrimination,
)
from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide


def likelihood_ratio(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ) / P(ŷ=+|g), the inverse of the impact ratio.

    >>> float(likelihood_ratio(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    4.0
    """
    deprived, favoured = acceptance_by_group(counts)
    return divide(favoured, deprived)


def elift(counts: Counts) -> Floats:
    """P(ŷ=+|g) / P(ŷ=+): 0 at most, 1 at no discrimination.

    >>> float(elift(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.4
    """
    return divide(acceptance_by_group(counts)[0], acceptance_rate(counts))


def elift_as_printed(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ) / P(ŷ=+), as the survey prints it; its limits are those of `elift`.

    >>> float(elift_as_printed(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    1.6
    """
    return divide(acceptance_by_group(counts)[1], acceptance_rate(counts))


def odds_ratio(counts: Counts) -> Floats:
    """Odds of the favourable prediction of the deprived over those of the favoured.

    >>> float(odds_ratio(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[2, 0], [0, 2]]]))))
    0.3333333333333333
    """
    refused, accepted = np.moveaxis(counts.predicted, -1, 0)
    (g_refused, f_refused), (g_accepted, f_accepted) = (
        deprived_and_favoured(counts, each) for each in (refused, accepted)
    )
    return divide(g_accepted * f_refused, g_refused * f_accepted)


def mutual_information(counts: Counts) -> Floats:
    """I(ŷ, s) / √(H(ŷ) H(s)), entropies in bits: 0 at no discrimination, 1 at most and at most reverse.

    >>> float(mutual_information(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    deprived_and_favoured(counts, counts.group_total)
    joint = divide(counts.predicted, counts.total[..., None, None])
    h_group, h_label = -_bits(joint.sum(-1)).sum(-1), -_bits(joint.sum(-2)).sum(-1)
    bits = _bits(joint)
    h_joint = -(bits[..., 0, 0] + bits[..., 0, 1] + bits[..., 1, 0] + bits[..., 1, 1])
    # Rounding may leave an entropy a hair below 0, and the information outside of what the entropies allow.
    root = np.sqrt(np.maximum(h_group, 0.0) * np.maximum(h_label, 0.0))
    information = np.clip(h_group + h_label - h_joint, 0.0, root)
    several = (counts.group_total > 0).all(-1) & (counts.predicted.sum(-2) > 0).all(-1)
    return divide(np.where(several, information, np.nan), root)


def phi(counts: Counts) -> Floats:
    """Correlation of the favourable prediction with the favoured group.

    >>> float(phi(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    d = discrimination(counts)
    deprived, favoured = deprived_and_favoured(counts, counts.group_total)
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    return divide(d * np.sqrt(deprived * favoured), np.sqrt(refused * accepted))


def auc_between_groups(counts: Counts) -> Floats:
    """P(a favoured is predicted above a deprived), ties half: (d + 1) / 2 on two classes.

    >>> float(auc_between_groups(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.875
    """
    half: Floats = (discrimination(counts) + 1.0) / 2.0
    return half


def one_class_accuracy(counts: Counts) -> Floats:
    """Accuracy of predicting ŷ from s alone, each group given the one class most frequent in it.

    Predicting ŷ from nothing gives max(π, 1 − π); what s adds to that is what the two have in common.
    Takes any number of groups.

    >>> float(one_class_accuracy(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.875
    """
    refused, accepted = np.moveaxis(counts.predicted, -1, 0)
    return divide(np.maximum(refused, accepted).sum(-1), counts.total)


def eta_neutrality(counts: Counts) -> Floats:
    """Return the least η such that |P(ŷ,s) / (P(ŷ) P(s)) − 1| ≤ η for every ŷ and s (Fukuchi et al. 2013).

    Takes any number of groups.

    >>> float(eta_neutrality(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    of_class = counts.predicted.sum(-2)
    expected = counts.group_total[..., None] * of_class[..., None, :]
    lift = divide(counts.predicted * counts.total[..., None, None], expected)
    eta: Floats = np.abs(lift - 1.0).max((-2, -1))
    return eta


def _bits(shares: Floats) -> Floats:
    """Return p log₂ p of shares; 0 log 0 is 0."""
    bits: Floats = np.log2(np.maximum(shares, np.finfo(np.float64).tiny))
    bits *= shares
    return bits
