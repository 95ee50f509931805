"""What accuracy and discrimination can be at an acceptance rate, as formulas: Žliobaitė (2015)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, divide


@dataclass(frozen=True)
class LabelShares:
    """What the formulas know of test rows, all in [0, 1] but d in [-1, 1].

    Parameters
    ----------
    alpha : float
        Share of the favoured, α = P(s=ḡ).
    base : float
        Share of favourable labels, π₀ = P(y=+).
    d : float
        Discrimination of the labels, d₀.
    """

    alpha: float
    base: float
    d: float


def labels_of(counts: Counts) -> LabelShares:
    """Return the means over the repeats of counts of shape (repeats, groups, 2, 2), the deprived first."""
    labelled = counts.labelled
    rows, positive = counts.total, labelled[..., 1]
    deprived, favoured = np.moveaxis(divide(positive, counts.group_total), -1, 0)
    shares = (divide(counts.group_total[..., 1], rows), divide(positive.sum(-1), rows), favoured - deprived)
    return LabelShares(*(float(np.mean(share)) for share in shares))


def random_counts(counts: Counts, rates: Floats) -> Counts:
    """Return the expected counts of the random classifier at acceptance rates of shape (points,).

    It accepts each row with the probability π, whatever its group and label: its accuracy is
    R = π₀π + (1−π₀)(1−π), its discrimination 0.

    >>> both = random_counts(Counts(("g", "f"), np.ones((2, 2, 2))), np.array([0.25]))
    >>> both.n[0, 0].tolist()
    [[1.5, 0.5], [1.5, 0.5]]
    """
    share = np.stack([1 - rates, rates], axis=-1)  # refused, accepted
    shape = (len(rates), *(1,) * counts.labelled.ndim, 2)
    return Counts(counts.groups, counts.labelled[..., np.newaxis] * share.reshape(shape))


def most_accuracy(rates: Floats, labels: LabelShares) -> Floats:
    """Return 1 − |π − π₀|: those with favourable labels are accepted before all others."""
    return 1 - np.abs(rates - labels.base)


def most_kappa(rates: Floats, labels: LabelShares) -> Floats:
    """Return κ of the most accuracy."""
    return kappa_of(most_accuracy(rates, labels), rates, labels)


def most_discrimination(rates: Floats, labels: LabelShares) -> Floats:
    """Return d_max = min(π/α, (1−π)/(1−α)): the favoured are accepted before all others."""
    most: Floats = np.minimum(divide(rates, labels.alpha), divide(1 - rates, 1 - labels.alpha))
    return most


MOST: dict[str, Callable[[Floats, LabelShares], Floats]] = {
    "accuracy": most_accuracy,
    "kappa": most_kappa,
    "discrimination": most_discrimination,
}
"""The most a measure can be at an acceptance rate; δ has the same most, 1, at every rate."""


def kappa_of(accuracy: Floats, rates: Floats, labels: LabelShares) -> Floats:
    """Return (A − R) / (1 − R), R = π₀π + (1−π₀)(1−π)."""
    chance = labels.base * rates + (1 - labels.base) * (1 - rates)
    return divide(accuracy - chance, 1 - chance)


def cost(strategy: str, alpha: float) -> float:
    """Accuracy that the oracle pays for discrimination, (A₀ − A) / (d₀ − d), per strategy.

    Rejecting a share x of the favoured lowers d by x and accuracy by αx; accepting a share z of the deprived
    lowers d by z and accuracy by (1−α)z. Both at a fixed acceptance rate means αx = (1−α)z. No strategy is
    cheaper than min(α, 1−α).

    >>> [round(cost(strategy, 0.7), 2) for strategy in ("decrease-favoured", "increase-deprived", "both")]
    [0.7, 0.3, 0.42]
    """
    costs = {"decrease-favoured": alpha, "increase-deprived": 1 - alpha, "both": 2 * alpha * (1 - alpha)}
    return costs[strategy]


def oracle_path(strategy: str, remove: Floats, labels: LabelShares) -> dict[str, Floats]:
    """Return by metric where the oracle is when it has removed shares of the labels' discrimination.

    With ``both`` it moves on the line κ₀ − κ = min(α/π₀, (1−α)/(1−π₀)) (δ₀ − δ). The other strategies move
    the acceptance rate, so that κ and δ follow from A, d and π instead.

    Parameters
    ----------
    remove : array of float in [0, 1]
        Shares removed.
    """
    removed = remove * labels.d
    accuracy = 1 - cost(strategy, labels.alpha) * removed
    moved = {"decrease-favoured": -labels.alpha, "increase-deprived": 1 - labels.alpha, "both": 0.0}
    rates = labels.base + moved[strategy] * removed
    d = labels.d - removed
    return {
        "discrimination": d,
        "accuracy": accuracy,
        "normalised-discrimination": divide(d, most_discrimination(rates, labels)),
        "kappa": kappa_of(accuracy, rates, labels),
    }


def fixed_rate_kappa(normalised: Floats, labels: LabelShares) -> Floats:
    """Return 1 − min(α/π₀, (1−α)/(1−π₀)) (δ₀ − δ), the oracle's κ at the labels' own acceptance rate."""
    start = divide(labels.d, most_discrimination(np.array(labels.base), labels))
    line: Floats = 1 - fixed_rate_cost(labels) * (start - normalised)
    return line


def fixed_rate_cost(labels: LabelShares) -> float:
    """Return (κ₀ − κ) / (δ₀ − δ) = min(α/π₀, (1−α)/(1−π₀)) of the oracle at a fixed acceptance rate."""
    alpha, base = labels.alpha, labels.base
    return float(np.minimum(divide(alpha, base), divide(1 - alpha, 1 - base)))
