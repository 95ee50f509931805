"""Measures of how strongly predictions and groups go together, from the survey (Žliobaitė 2017).

All take counts of two groups, the deprived one first, and return one value per leading axis. For the same
measure of the labels give ``counts.of_labels()``.
"""

import numpy as np

from fairbench_cli.measures.absolute import (
    acceptance_by_group,
    acceptance_rate,
    discrimination,
    impact_ratio,
)
from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide


def likelihood_ratio(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ) / P(ŷ=+|g), the inverse of the impact ratio.

    >>> float(likelihood_ratio(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    4.0
    """
    return impact_ratio(Counts(counts.groups[::-1], counts.n[..., ::-1, :, :]))


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
    group, label = joint.sum(-1), joint.sum(-2)
    h_group, h_label = _entropy(group), _entropy(label)
    information = h_group + h_label - _entropy(joint.reshape(*joint.shape[:-2], 4))
    # Rounding may leave independent counts a hair below 0.
    return divide(np.maximum(information, 0.0), np.sqrt(h_group * h_label))


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


def _entropy(shares: Floats) -> Floats:
    """Entropy in bits over the last axis; 0 log 0 is 0."""
    bits: Floats = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(-1)
    return bits
