"""Measures of how people are treated who are alike: situation testing and consistency.

Neighbours are near by `rows.distance_matrix`, and nobody is a neighbour of their own. Where more rows are
equally far than fit among the k, each of them counts in part, which is the mean over all ways to choose: the
order of the rows does not matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rows import SEED, Ints, Rows, distance_matrix

NEIGHBOURS = 8
MARGIN = 0.3
MOST_PAIRS = 400_000_000  # of a row looked up and a row that may be near: 20,000 rows among themselves
MEGABYTES = 64  # of distances at a time
SAME = 1e-9  # squared distances, and rates, that are equal but for rounding


@dataclass(frozen=True, eq=False)
class Neighbours:
    """What became of the neighbours of the rows that were looked up, those of the deprived first.

    Parameters
    ----------
    row_indices : array of int, shape (looked_up,)
        Rows that were looked up: all, or a random part of them.
    outcomes : array of float, shape (looked_up, outcomes)
        What became of these.
    neighbour_rates : array of float, shape (looked_up, outcomes)
        Positive rates of their k nearest neighbours; NaN when there are fewer than k.
    near_deprived, near_favoured : array of float, shape (deprived looked up, outcomes)
        Positive rates of the k nearest neighbours within either group, of the deprived that were looked up.
    """

    row_indices: Ints
    outcomes: Floats
    neighbour_rates: Floats
    near_deprived: Floats
    near_favoured: Floats

    @property
    def excess(self) -> Floats:
        """How much more often the favoured near a deprived person are accepted than the deprived near it."""
        return self.near_favoured - self.near_deprived


def find_neighbours(
    rows: Rows, k: int = NEIGHBOURS, outcomes: NDArray[np.int_] | None = None, most: int = MOST_PAIRS
) -> Neighbours:
    """Find the neighbours of every row, or of as many drawn at random (fixed seed) as `most` pairs allow.

    Parameters
    ----------
    rows : Rows
        With features.
    k : int
        How many neighbours, from 1.
    outcomes : array of 0 and 1, shape (rows, outcomes), optional
        What may become of a row; by default the prediction.
    most : int
        How many distances are computed at most.

    Raises
    ------
    ValueError
        When the rows have no features, or have weights: neighbours are counted.
    """
    if rows.weights is not None:
        raise ValueError("neighbours are counted one by one; they know no weights")
    if k < 1:
        raise ValueError(f"{k} neighbours are none")
    # 1. Sort the rows: the deprived come first.
    if outcomes is None:
        outcomes = rows.predicted[:, None]
    order = np.argsort(rows.s, kind="stable")
    n_rows = len(order)
    n_deprived = int(np.sum(rows.s == 0))
    sorted_features = distance_matrix(rows)[order]
    sorted_outcomes = outcomes[order].astype(np.float64)
    # 2. Choose the rows to look up: all, or so many that the pairs are no more than `most`.
    row_indices = np.arange(n_rows)
    n_looked_up = max(1, most // max(1, n_rows))
    if n_looked_up < n_rows:
        row_indices = np.sort(np.random.default_rng(SEED).choice(n_rows, n_looked_up, replace=False))
    n_deprived_looked_up = int(np.searchsorted(row_indices, n_deprived))
    # 3. The rates among their neighbours, a part of the rows at a time: of all rows among all, of the
    # deprived also within either group.
    no_rates = np.zeros((0, outcomes.shape[1]))
    rates_among_all = [no_rates]
    rates_among_deprived = [no_rates]
    rates_among_favoured = [no_rates]
    for start, distances in _distances(sorted_features, row_indices):
        rates_among_all.append(_rates(distances, sorted_outcomes, k))
        of_deprived = distances[: max(0, n_deprived_looked_up - start)]
        to_deprived = of_deprived[:, :n_deprived]
        to_favoured = of_deprived[:, n_deprived:]
        rates_among_deprived.append(_rates(to_deprived, sorted_outcomes[:n_deprived], k))
        rates_among_favoured.append(_rates(to_favoured, sorted_outcomes[n_deprived:], k))
    return Neighbours(
        row_indices=order[row_indices],
        outcomes=sorted_outcomes[row_indices],
        neighbour_rates=np.concatenate(rates_among_all),
        near_deprived=np.concatenate(rates_among_deprived),
        near_favoured=np.concatenate(rates_among_favoured),
    )


def share_treated_worse(near: Neighbours, margin: float = MARGIN) -> Floats:
    """Share of the deprived looked up who are treated worse by `margin` or more, shape (outcomes,).

    NaN when there are none of them, or either group has too few neighbours.
    """
    return _share(near.excess, near.excess >= margin - SAME)


def share_treated_better(near: Neighbours, margin: float = MARGIN) -> Floats:
    """Share of the deprived looked up who are treated better by `margin` or more, shape (outcomes,)."""
    return _share(near.excess, near.excess <= SAME - margin)


def neighbour_agreement(near: Neighbours) -> Floats:
    """1 − |ŷᵢ − ŷⱼ|, the mean over the k neighbours j of each row i looked up, shape (rows, outcomes)."""
    # ŷ is 0 or 1: the mean distance is that from the mean.
    return 1.0 - np.abs(near.outcomes - near.neighbour_rates)


def mean_agreement(near: Neighbours) -> Floats:
    """Return the mean of `neighbour_agreement` over the rows, shape (outcomes,); NaN when there are none."""
    # Contiguous, so that each outcome is summed as it would be alone.
    by_outcome = np.ascontiguousarray(neighbour_agreement(near).T)
    if not by_outcome.size:
        return np.full(len(by_outcome), np.nan)
    means: Floats = by_outcome.mean(-1)
    return means


def situation_testing(rows: Rows, k: int = NEIGHBOURS, margin: float = MARGIN) -> float:
    """Share of the deprived whose k nearest favoured are accepted more often than their k nearest deprived.

    Share of the deprived who are treated worse than favoured people like them (Luong et al. 2011).

    That is, whose k nearest favoured neighbours are accepted more often than their k nearest deprived ones,
    by `margin` or more. See `find_neighbours` for what happens above 20,000 rows, and what is raised.

    Returns
    -------
    float
        In [0, 1]; NaN when either group has fewer than k neighbours to offer.

    Examples
    --------
    >>> s = np.array([0, 0, 0, 1, 1, 1])
    >>> rows = Rows(s, s, s, features=np.array([[1.0], [2], [3], [1], [2], [3]]), nominal=(False,))
    >>> situation_testing(rows, k=2), situation_testing_reverse(rows, k=2), consistency(rows, k=2)
    (1.0, 0.0, 0.25)
    """
    return float(share_treated_worse(find_neighbours(rows, k), margin)[0])


def situation_testing_reverse(rows: Rows, k: int = NEIGHBOURS, margin: float = MARGIN) -> float:
    """Share of the deprived whose k nearest favoured are accepted less often than their k nearest deprived.

    Share of the deprived who are treated better than favoured people like them by `margin` or more.
    """
    return float(share_treated_better(find_neighbours(rows, k), margin)[0])


def consistency(rows: Rows, k: int = NEIGHBOURS) -> float:
    """1 − 1/(Nk) Σᵢ Σⱼ |ŷᵢ − ŷⱼ| over the k nearest j of each row i but itself.

    1 − (1/Nk) Σᵢ Σⱼ |ŷᵢ − ŷⱼ| over the k nearest neighbours j of each row i (Zemel et al. 2013).

    The original counts a row among its own neighbours; here it does not. Of the rows that `find_neighbours`
    looks up.

    Returns
    -------
    float
        In [0, 1], 1 when all are treated as their neighbours; NaN when there are no k others.
    """
    return float(mean_agreement(find_neighbours(rows, k))[0])


def twin_test(rows: Rows) -> float:
    """Share of the rows whose decision is that of their twin: the same row, put into the other group.

    Of a model that draws its decisions, the mean probability that both are the same for the same draw.

    Returns
    -------
    float
        In [0, 1], 1 for whatever does not look at s; NaN when nothing is known of the twins.
    """
    if rows.stays is None:
        return np.nan
    return float(divide((rows.stays * rows.mass).sum(), rows.mass.sum()))


def _distances(matrix: Floats, row_indices: Ints) -> Iterator[tuple[int, Floats]]:
    """Yield the distances of some rows to all, a part at a time: infinite to themselves."""
    from sklearn import config_context
    from sklearn.metrics import pairwise_distances_chunked

    start = 0
    if not len(row_indices):
        return
    with config_context(working_memory=MEGABYTES):
        for distances in pairwise_distances_chunked(matrix[row_indices], matrix, metric="euclidean"):
            rows = np.arange(len(distances))
            distances[rows, row_indices[start + rows]] = np.inf
            yield start, distances
            start += len(distances)


def _rates(distances: Floats, outcomes: Floats, k: int) -> Floats:
    """Positive rates of the k nearest columns of each row, shape (rows, outcomes); NaN for fewer."""
    if distances.shape[1] < k or not len(distances):
        return np.full((len(distances), outcomes.shape[1]), np.nan)
    squared = np.square(np.partition(distances, k - 1, axis=1)[:, k - 1])
    limit = np.sqrt(squared + SAME)
    row, column = np.nonzero(distances <= limit[:, None])
    closer = distances[row, column] < np.sqrt(np.maximum(squared - SAME, 0.0))[row]
    n_rows = len(distances)
    inside = np.bincount(row, closer, n_rows)
    tied = np.bincount(row, ~closer, n_rows)
    weight = np.where(closer, 1.0, ((k - inside) / tied)[row])
    sums = [np.bincount(row, weight * outcomes[column, j], n_rows) for j in range(outcomes.shape[1])]
    return np.where(np.isinf(squared)[:, None], np.nan, np.stack(sums, 1) / k)


def _share(excess: Floats, where: NDArray[np.bool_]) -> Floats:
    """Share of the rows; NaN when there are none, or one has no excess."""
    if not len(excess):
        return np.full(excess.shape[1], np.nan)
    return np.where(np.isnan(excess).any(0), np.nan, where.mean(0))
