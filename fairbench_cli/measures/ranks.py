"""Ranks of techniques over several data sets, and how far apart mean ranks are by chance.

As in Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", but the distribution of
the mean ranks is that of ranks dealt at random within each data set, not the large-sample one: that of three
data sets is another.
"""

import math
from dataclasses import dataclass

import numpy as np

from fairbench_cli.measures.counts import Floats

LEVEL = 0.05
DEALS = 10_000
BLOCK = 500  # deals at a time
SAME = 1e-9  # numbers that are equal but for rounding


@dataclass(frozen=True, eq=False)
class MeanRanks:
    """Mean ranks over data sets, 1 for the best.

    Parameters
    ----------
    mean : float array, shape (techniques,)
    p : float
        Of Friedman's test that all techniques rank alike.
    critical_difference : float
        Two mean ranks that are farther apart differ, at 5 % over all pairs (Nemenyi's test).
    """

    mean: Floats
    p: float
    critical_difference: float

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The ends of the interval of each mean rank: techniques differ whose intervals do not overlap."""
        half = self.critical_difference / 2
        return np.maximum(self.mean - half, 1.0), np.minimum(self.mean + half, float(len(self.mean)))


def rank_within(values: Floats) -> Floats:
    """Return ranks within each row, 1 for the smallest value; equal ones share their mean rank.

    >>> rank_within(np.array([[0.3, 0.1, 0.3], [0.0, 0.2, 0.1]])).tolist()
    [[2.5, 1.0, 2.5], [1.0, 3.0, 2.0]]
    """
    differences = values[:, :, None] - values[:, None, :]
    n_smaller = (differences > SAME).sum(axis=-1)
    n_equal = (np.abs(differences) <= SAME).sum(axis=-1)
    ranks: Floats = n_smaller + (n_equal + 1) / 2
    return ranks


def compare_ranks(values: Floats, seed: int = 0, deals: int = DEALS) -> MeanRanks:
    """Return the mean ranks of techniques over data sets, with Friedman's and Nemenyi's tests.

    Parameters
    ----------
    values : float array, shape (data sets, techniques)
        Small is good; none is NaN.
    seed : int
        Of the deals.
    deals : int
        How often the ranks of each data set are dealt at random.

    Examples
    --------
    >>> ranks = compare_ranks(np.array([[0.1, 0.2, 0.4], [0.0, 0.3, 0.5], [0.1, 0.2, 0.9], [0.2, 0.3, 0.4]]))
    >>> ranks.mean.tolist(), ranks.p < 0.01, ranks.critical_difference
    ([1.0, 2.0, 3.0], True, 1.5)
    """
    ranks = rank_within(values)
    mean = ranks.mean(axis=0)
    spread = np.square(mean - mean.mean()).sum()
    # 1. The mean ranks when each data set ranks at random.
    rng = np.random.default_rng(seed)
    ranges = np.empty(deals)
    n_as_large = 0
    for start in range(0, deals, BLOCK):
        n_deals = min(BLOCK, deals - start)
        dealt = rng.permuted(np.broadcast_to(ranks, (n_deals, *ranks.shape)), axis=-1)
        dealt_means = dealt.mean(axis=1)
        ranges[start : start + n_deals] = np.ptp(dealt_means, axis=-1)
        dealt_spread = np.square(dealt_means - mean.mean()).sum(axis=-1)
        n_as_large += int(np.count_nonzero(dealt_spread >= spread - SAME))
    # 2. A range that no more than 5 % exceed.
    ranges.sort()
    critical_difference = float(ranges[math.ceil((1 - LEVEL) * deals) - 1])
    return MeanRanks(mean, (1 + n_as_large) / (1 + deals), critical_difference)
