"""Metrics of counts that are no comparison of one rate.

Each takes counts, of two groups with the deprived one first unless it says so, and returns one value per
leading axis. The first line of a function is its formula. For the same metric of the labels give
``counts.of_labels()``.
"""

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide
from fairbench_cli.measures.rates import rate_by_group


def acceptance_by_group(counts: Counts) -> tuple[Floats, Floats]:
    """Return P(ŷ=+|g) and P(ŷ=+|ḡ)."""
    return deprived_and_favoured(counts, rate_by_group(counts, "selection-rate"))


def discrimination(counts: Counts) -> Floats:
    """Return d = P(ŷ=+|ḡ) − P(ŷ=+|g) (Cardoso et al. 2019, eq. 1)."""
    deprived, favoured = acceptance_by_group(counts)
    return favoured - deprived


def kappa(counts: Counts) -> Floats:
    """κ = (A − R) / (1 − R), R = π₀π + (1−π₀)(1−π).

    R is the accuracy of a random prediction with the same acceptance rate π where a share π₀ of the labels is
    favourable. Any number of groups.

    >>> round(float(kappa(Counts(("all",), np.array([[[3.0, 1], [2, 4]]])))), 12)
    0.4
    """
    n = counts.overall
    correct = n[..., 0, 0] + n[..., 1, 1]
    # A and R times the square of the total: 1 − R is exactly zero when it should be.
    chance = (n.sum(-1) * n.sum(-2)).sum(-1)
    square = np.square(counts.total)
    return divide(correct * counts.total - chance, square - chance)


def f1(counts: Counts) -> Floats:
    """2 TP / (2 TP + FP + FN).

    The harmonic mean of PPV and TPR. Any number of groups.

    >>> float(f1(Counts(("all",), np.array([[[2.0, 1], [1, 1]]]))))
    0.5
    """
    n = counts.overall
    twice = 2 * n[..., 1, 1]
    return divide(twice, twice + n[..., 0, 1] + n[..., 1, 0])


def mcc(counts: Counts) -> Floats:
    """(TP TN − FP FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)).

    The correlation of label and prediction. Any number of groups.

    >>> float(mcc(Counts(("all",), np.array([[[3.0, 1], [1, 3]]]))))
    0.5
    """
    n = counts.overall
    determinant = n[..., 0, 0] * n[..., 1, 1] - n[..., 0, 1] * n[..., 1, 0]
    # One root for each side: the product of four large counts would round.
    labels = n.sum(-1)
    predictions = n.sum(-2)
    spread = np.sqrt(labels[..., 0] * labels[..., 1]) * np.sqrt(predictions[..., 0] * predictions[..., 1])
    return divide(determinant, spread)


def normalised_discrimination(counts: Counts) -> Floats:
    """δ = d / d_max, d_max = min(π/α, (1−π)/(1−α)); for d < 0 with the groups swapped.

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


def elift(counts: Counts) -> Floats:
    """P(ŷ=+|g) / P(ŷ=+).

    >>> float(elift(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.4
    """
    return divide(acceptance_by_group(counts)[0], rate_by_group(counts.all_rows, "selection-rate")[..., 0])


def elift_as_printed(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ) / P(ŷ=+).

    As the survey prints it; its limits are those of `elift`.

    >>> float(elift_as_printed(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    1.6
    """
    return divide(acceptance_by_group(counts)[1], rate_by_group(counts.all_rows, "selection-rate")[..., 0])


def odds_ratio(counts: Counts) -> Floats:
    """odds(ŷ=+|g) / odds(ŷ=+|ḡ).

    >>> float(odds_ratio(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[2, 0], [0, 2]]]))))
    0.3333333333333333
    """
    refused, accepted = np.moveaxis(counts.predicted, -1, 0)
    g_refused, f_refused = deprived_and_favoured(counts, refused)
    g_accepted, f_accepted = deprived_and_favoured(counts, accepted)
    return divide(g_accepted * f_refused, g_refused * f_accepted)


def mutual_information(counts: Counts) -> Floats:
    """I(ŷ,s) / √(H(ŷ) H(s)), in bits.

    >>> float(mutual_information(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    deprived_and_favoured(counts, counts.group_total)
    information, root = shared_information(divide(counts.predicted, counts.total[..., None, None]))
    several = (counts.group_total > 0).all(-1) & (counts.predicted.sum(-2) > 0).all(-1)
    return divide(np.where(several, information, np.nan), root)


def shared_information(joint: Floats) -> tuple[Floats, Floats]:
    """Return the mutual information of two columns in bits, and the root of the product of their entropies.

    Parameters
    ----------
    joint : array, shape (..., levels of one, levels of the other)
        Shares of all rows.

    Examples
    --------
    >>> information, root = shared_information(np.array([[0.5, 0.0], [0.25, 0.25]]))
    >>> round(float(information), 4), round(float(root), 4)
    (0.3113, 0.9007)
    """
    h_first = -_bits(joint.sum(-1)).sum(-1)
    h_second = -_bits(joint.sum(-2)).sum(-1)
    bits = _bits(joint)
    h_joint = np.zeros(joint.shape[:-2])
    for cell in np.ndindex(joint.shape[-2:]):  # in one order whatever the array's is in memory
        h_joint = h_joint - bits[(..., *cell)]
    # Rounding may leave an entropy a hair below 0, and the information outside of what the entropies allow.
    root = np.sqrt(np.maximum(h_first, 0.0) * np.maximum(h_second, 0.0))
    return np.clip(h_first + h_second - h_joint, 0.0, root), root


def phi(counts: Counts) -> Floats:
    """Correlation of ŷ=+ with s=ḡ.

    >>> float(phi(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    d = discrimination(counts)
    deprived, favoured = deprived_and_favoured(counts, counts.group_total)
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    return divide(d * np.sqrt(deprived * favoured), np.sqrt(refused * accepted))


def auc_between_groups(counts: Counts) -> Floats:
    """P(a favoured is above a deprived), ties half; (d + 1) / 2 for two classes ŷ.

    >>> float(auc_between_groups(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.875
    """
    half: Floats = (discrimination(counts) + 1.0) / 2.0
    return half


def one_class_accuracy(counts: Counts) -> Floats:
    """Σ_s max(P(ŷ=+,s), P(ŷ=−,s)): accuracy of predicting ŷ from s alone; at least max(π, 1−π).

    Predicting ŷ from nothing gives max(π, 1 − π); what s adds to that is what the two have in common. Any
    number of groups.

    >>> float(one_class_accuracy(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    0.875
    """
    refused, accepted = np.moveaxis(counts.predicted, -1, 0)
    return divide(np.maximum(refused, accepted).sum(-1), counts.total)


def eta_neutrality(counts: Counts) -> Floats:
    """Largest over ŷ and s of |P(ŷ,s) / (P(ŷ) P(s)) − 1|.

    Any number of groups.

    >>> float(eta_neutrality(Counts(("g", "f"), np.array([[[4.0, 0], [0, 0]], [[0, 0], [0, 4]]]))))
    1.0
    """
    of_class = counts.predicted.sum(-2)
    expected = counts.group_total[..., None] * of_class[..., None, :]
    lift = divide(counts.predicted * counts.total[..., None, None], expected)
    eta: Floats = np.abs(lift - 1.0).max((-2, -1))
    return eta


def balanced_residuals(counts: Counts) -> Floats:
    """mean(y − ŷ|g) − mean(y − ŷ|ḡ) = d(ŷ) − d(y).

    What the predictions add to the discrimination in the labels.

    >>> float(balanced_residuals(Counts(("g", "f"), np.array([[[2.0, 0], [1, 1]], [[1, 1], [0, 2]]]))))
    0.5
    """
    return discrimination(counts) - discrimination(counts.of_labels())


def _bits(shares: Floats) -> Floats:
    """Return p log₂ p of shares; 0 log 0 is 0."""
    bits: Floats = np.log2(np.maximum(shares, np.finfo(np.float64).tiny))
    bits *= shares
    return bits
