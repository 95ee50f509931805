"""How often groups that are equal in law show a gap of means all the same, by the rows that there are."""

import math

import numpy as np

from fairbench_cli.measures.clusters import t_test_p
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.splits import draw_splits

N_SPLITS = 399
MOST_DRAWN = 20_000  # rows of the smaller side: means of more are normal, and take no splits
UNLIKE = 0.05  # p of equal spreads, below which each side has its own


def chance_of_gap(group: Floats, reference: Floats, share: float) -> float:
    """Return the chance of means that are a share of the reference's or more apart, though they are equal.

    It is that of random splits of the rows of both. Where the spreads of their logarithms differ by more than
    chance (Brown and Forsythe 1974) each side keeps its own, and means are taken as lognormal.

    Parameters
    ----------
    group, reference : array, shape (rows,)
        Amounts, not below 0.
    share : float
        Above 0 and below 1.

    Examples
    --------
    >>> chance_of_gap(np.array([90.0, 110, 120]), np.array([100.0, 105, 115]), 0.05)
    0.6
    """
    sides = (group, reference)
    if min(map(len, sides)) > MOST_DRAWN:
        squares = [float(side.var(ddof=1) / side.mean() ** 2) for side in sides]
        return sum(chances_by_spread((len(group), len(reference)), squares, share))
    if all((side > 0).all() for side in sides):
        logs = [np.log(side) for side in sides]
        if _have_unlike_spreads(*logs):
            squares = [math.expm1(float(log.var(ddof=1))) for log in logs]
            return sum(chances_by_spread((len(group), len(reference)), squares, share))
    splits = draw_splits(group, reference, N_SPLITS)
    called = splits.group + splits.reference
    others = splits.group_total + splits.reference_total - called
    with np.errstate(divide="ignore", invalid="ignore"):  # where all of a side are 0
        mean, other_mean = (sums[1] / sums[0] + splits.centre for sums in (called, others))
        ratio = mean / other_mean
    return float(np.mean((ratio <= 1 - share) | (ratio >= 1 + share)))


def chances_by_spread(rows: tuple[float, float], squares: list[float], share: float) -> tuple[float, float]:
    """Return the chances that a mean is a share of the other's or more below it, and above it.

    Parameters
    ----------
    rows : pair of floats
        Of the group and of its reference.
    squares : list of two floats
        The squared coefficient of variation of each: e^{s²} − 1 of lognormal amounts.
    share : float

    Examples
    --------
    >>> squares = [math.expm1(0.16**2)] * 2
    >>> [round(chance, 3) for chance in chances_by_spread((27, 40), squares, 0.05)]
    [0.101, 0.111]
    """
    from scipy.special import ndtr

    of_group, of_reference = (math.log1p(square / n) for square, n in zip(squares, rows, strict=True))
    middle = (of_reference - of_group) / 2
    deviation = math.sqrt(of_group + of_reference)
    if deviation == 0:
        return 0.0, 0.0
    below = ndtr((math.log1p(-share) - middle) / deviation)
    above = ndtr(-(math.log1p(share) - middle) / deviation)
    return float(below), float(above)


def _have_unlike_spreads(group: Floats, reference: Floats) -> bool:
    """Return whether equal spreads are rejected: by Student's t of the distances from each side's median.

    It is scipy's `levene` with ``center="median"``; `scipy.stats` takes a second or two to load.
    """
    far, far_reference = (np.abs(side - np.median(side)) for side in (group, reference))
    degrees = len(far) + len(far_reference) - 2
    squares = far.var() * len(far) + far_reference.var() * len(far_reference)
    variance = squares / degrees * (1 / len(far) + 1 / len(far_reference))
    difference = far.mean() - far_reference.mean()
    if variance == 0:
        return bool(difference != 0)
    return bool(t_test_p(difference / np.sqrt(variance), np.asarray(degrees)) < UNLIKE)
