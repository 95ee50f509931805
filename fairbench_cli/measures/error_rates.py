"""Measures of how differently a model errs on two groups, the deprived one first in the counts."""

from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide


def false_positive_rate(counts: Counts) -> Floats:
    """P(ŷ=+|y=−) of each group, shape (..., groups)."""
    return divide(counts.n[..., 0, 1], counts.labelled[..., 0])


def false_negative_rate(counts: Counts) -> Floats:
    """P(ŷ=−|y=+) of each group, shape (..., groups)."""
    return divide(counts.n[..., 1, 0], counts.labelled[..., 1])


def overestimation(counts: Counts) -> Floats:
    """P(ŷ=+|ḡ,y=−) − P(ŷ=+|g,y=−): the favoured are given more than they merit (Cardoso et al. 2019, eq. 2).

    >>> import numpy as np
    >>> float(overestimation(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))))
    0.25
    """
    deprived, favoured = deprived_and_favoured(counts, false_positive_rate(counts))
    return favoured - deprived


def underestimation(counts: Counts) -> Floats:
    """P(ŷ=−|g,y=+) − P(ŷ=−|ḡ,y=+): the deprived are given less than they merit (Cardoso et al. 2019, eq. 3).

    >>> import numpy as np
    >>> float(underestimation(Counts(("g", "f"), np.array([[[3.0, 1], [1, 1]], [[1, 1], [1, 3]]]))))
    0.25
    """
    deprived, favoured = deprived_and_favoured(counts, false_negative_rate(counts))
    return deprived - favoured
