"""Tests of whether two groups, or many, are accepted alike, from counts of rows.

Weighted counts are taken for numbers of rows. All p-values are two-sided. Each test is a statistic and a
p-value, vectorised over leading axes where scipy and statsmodels take one table at a time; they agree.
scipy.special is imported inside, as it is slow to load.
"""

import numpy as np

from fairbench_cli.measures.absolute import discrimination
from fairbench_cli.measures.counts import Counts, Floats, deprived_and_favoured, divide


def difference_of_means_t(counts: Counts) -> Floats:
    """Student's t of P(ŷ=+|ḡ) − P(ŷ=+|g), with pooled variance and n₀ + n₁ − 2 degrees of freedom.

    It is also the t of the slope when ŷ is regressed on s by least squares. Infinite when the groups are
    of one class each and differ.

    >>> some = Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))
    >>> round(float(difference_of_means_t(some)), 6)
    3.0
    """
    deprived, favoured = deprived_and_favoured(counts, counts.group_total)
    within = divide(counts.predicted[..., 0] * counts.predicted[..., 1], counts.group_total).sum(-1)
    variance = divide(within, _degrees(counts)) * (divide(1.0, deprived) + divide(1.0, favoured))
    return divide(discrimination(counts), np.sqrt(variance))


def difference_of_means_p(counts: Counts) -> Floats:
    """p-value of `difference_of_means_t`."""
    from scipy.special import stdtr

    p: Floats = 2.0 * stdtr(_degrees(counts), -np.abs(difference_of_means_t(counts)))
    return p


def two_proportions_z(counts: Counts) -> Floats:
    """Difference P(ŷ=+|ḡ) − P(ŷ=+|g) over its error, each group with its own variance p(1−p)/n.

    >>> some = Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))
    >>> round(float(two_proportions_z(some)), 6)
    3.464102
    """
    deprived_and_favoured(counts, counts.group_total)
    within = counts.predicted[..., 0] * counts.predicted[..., 1]
    variance = divide(within, counts.group_total**3).sum(-1)
    return divide(discrimination(counts), np.sqrt(variance))


def two_proportions_p(counts: Counts) -> Floats:
    """p-value of `two_proportions_z`."""
    return _normal_p(two_proportions_z(counts))


def chi_squared(counts: Counts) -> Floats:
    """Pearson's χ² of group and prediction, for any number of groups; no continuity correction.

    >>> round(float(chi_squared(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]])))), 6)
    4.8
    """
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    # Σ n_s (p_s − p)² / p(1−p): with two classes each group has one free cell.
    rate = divide(counts.predicted[..., 1], counts.group_total) - divide(accepted, counts.total)[..., None]
    between = (counts.group_total * np.square(rate)).sum(-1)
    return divide(between * np.square(counts.total), refused * accepted)


def chi_squared_p(counts: Counts) -> Floats:
    """p-value of `chi_squared`, with one degree of freedom fewer than groups."""
    return chi_squared_tail(chi_squared(counts), len(counts.groups) - 1)


def mann_whitney_u(counts: Counts) -> Floats:
    """U of the favoured: the pairs in which a favoured is predicted above a deprived, ties half.

    >>> float(mann_whitney_u(Counts(("g", "f"), np.array([[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]))))
    14.0
    """
    deprived, favoured = deprived_and_favoured(counts, counts.predicted[..., 1])
    deprived_refused, favoured_refused = deprived_and_favoured(counts, counts.predicted[..., 0])
    ties = favoured * deprived + favoured_refused * deprived_refused
    u = favoured * deprived_refused + ties / 2
    return np.where((counts.group_total > 0).all(-1), u, np.nan)


def mann_whitney_p(counts: Counts) -> Floats:
    """p-value of `mann_whitney_u`: normal, corrected for ties and continuity."""
    pairs = counts.group_total.prod(-1)
    refused, accepted = np.moveaxis(counts.predicted.sum(-2), -1, 0)
    # N³ − N − Σ(t³ − t) is 3 N t₀ t₁ for two blocks of ties.
    degrees = np.where(counts.total > 1, counts.total - 1, np.nan)
    spread = np.sqrt(divide(pairs * refused * accepted, 4 * degrees))
    away = np.abs(mann_whitney_u(counts) - pairs / 2) - 0.5
    z = divide(np.where(spread > 0, away, np.nan), spread)
    return _normal_p(np.maximum(z, 0.0))


def cochran_mantel_haenszel(strata: Counts) -> Floats:
    """χ² of whether the groups are accepted alike in every stratum, without continuity correction.

    Parameters
    ----------
    strata : Counts
        ``n`` has shape (..., strata, 2, 2, 2): the strata are the last leading axis.

    Returns
    -------
    array, shape (...)
        Strata without either group or class say nothing. NaN when all are such.

    Examples
    --------
    >>> stratum = [[[3.0, 0], [0, 1]], [[0, 0], [0, 4]]]
    >>> round(float(cochran_mantel_haenszel(Counts(("g", "f"), np.array([stratum, stratum])))), 6)
    8.4
    """
    if strata.n.ndim < 4:
        raise ValueError("needs counts with an axis of strata before the groups")
    deprived, favoured = deprived_and_favoured(strata, strata.group_total)
    refused, accepted = np.moveaxis(strata.predicted.sum(-2), -1, 0)
    total = strata.total
    # A stratum that is empty or one row large has no variance and no excess.
    some = np.where(total > 1, total, np.inf)
    excess = np.where(total > 1, strata.predicted[..., 1, 1] - favoured * accepted / some, 0.0)
    variance = deprived * favoured * accepted / some * refused / some / (some - 1)
    return divide(np.square(excess.sum(-1)), variance.sum(-1))


def cochran_mantel_haenszel_p(strata: Counts) -> Floats:
    """p-value of `cochran_mantel_haenszel`, with one degree of freedom."""
    return chi_squared_tail(cochran_mantel_haenszel(strata), 1)


def chi_squared_tail(statistic: Floats, degrees: int) -> Floats:
    """P(χ² ≥ statistic); with one degree of freedom by the normal, which is a hundred times as fast."""
    from scipy.special import chdtrc

    if degrees == 1:
        return _normal_p(np.sqrt(statistic))
    tail: Floats = chdtrc(degrees, statistic)
    return tail


def _degrees(counts: Counts) -> Floats:
    """n₀ + n₁ − 2, NaN where that is not above 0."""
    degrees: Floats = counts.total - 2.0
    return np.where(degrees > 0, degrees, np.nan)


def _normal_p(z: Floats) -> Floats:
    from scipy.special import ndtr

    p: Floats = 2.0 * ndtr(-np.abs(z))
    return p
