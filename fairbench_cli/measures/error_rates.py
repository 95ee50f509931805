"""Measures of how differently a model errs on two groups, the deprived one first in the counts.

Differences are positive where the favoured are given more than they merit or the deprived less: FPR, TPR, FDR
and NPV are taken favoured − deprived, FNR, TNR, FOR and PPV deprived − favoured. Ratios are always
deprived / favoured, like the impact ratio.
"""

import numpy as np

from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide
from fairbench_cli.measures.rates import (
    Rate,
    false_negative_rate,
    false_positive_rate,
    true_positive_rate,
)


def favoured_over_deprived(counts: Counts, rate: Rate) -> Floats:
    """X(ḡ) − X(g), for rates X that are higher where people are given more."""
    deprived, favoured = deprived_and_favoured(counts, rate(counts))
    return favoured - deprived


def deprived_over_favoured(counts: Counts, rate: Rate) -> Floats:
    """X(g) − X(ḡ), for rates X that are higher where people are given less."""
    deprived, favoured = deprived_and_favoured(counts, rate(counts))
    return deprived - favoured


def ratio(counts: Counts, rate: Rate) -> Floats:
    """X(g) / X(ḡ) of a rate X; infinite if only that of the favoured is 0.

    >>> some = Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))
    >>> float(ratio(some, false_positive_rate))
    0.5
    """
    deprived, favoured = deprived_and_favoured(counts, rate(counts))
    return divide(deprived, favoured)


def overestimation(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ,y=−) − P(ŷ=+|g,y=−): the favoured are given more than they merit (Cardoso et al. 2019, eq. 2).

    >>> float(overestimation(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))))
    0.25
    """
    return favoured_over_deprived(counts, false_positive_rate)


def underestimation(counts: Counts) -> Floats:
    """P(ŷ=−|g,y=+) − P(ŷ=−|ḡ,y=+): the deprived are given less than they merit (Cardoso et al. 2019, eq. 3).

    >>> float(underestimation(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))))
    0.25
    """
    return deprived_over_favoured(counts, false_negative_rate)


def equal_opportunity(counts: Counts) -> Floats:
    """|TPR(ḡ) − TPR(g)|, how far from equal opportunity (Hardt et al. 2016).

    >>> float(equal_opportunity(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))))
    0.25
    """
    return np.abs(favoured_over_deprived(counts, true_positive_rate))


def equalised_odds(counts: Counts) -> Floats:
    """max(|TPR(ḡ) − TPR(g)|, |FPR(ḡ) − FPR(g)|), how far from equalised odds (Hardt et al. 2016).

    >>> float(equalised_odds(Counts(("g", "f"), np.array([[[4.0, 0], [1, 1]], [[1, 1], [1, 3]]]))))
    0.5
    """
    return np.maximum(equal_opportunity(counts), np.abs(overestimation(counts)))
