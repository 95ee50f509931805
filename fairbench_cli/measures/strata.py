"""Strata of rows alike in something: by attributes, by clusters; and their counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Counts, Floats, count
from fairbench_cli.measures.rows import GROUPS, Rows, standardised

Ints = NDArray[np.intp]

CLUSTERS = 10
SEED = 0  # of whatever a measure draws: the same rows always give the same value
DECIMALS = 9  # to which numbers are the same: equal rows may differ in the last bits of a product


def crossed(columns: Sequence[ArrayLike]) -> Ints:
    """Return a stratum for every combination of values that occurs, numbered in sorted order.

    >>> crossed([[0, 0, 1, 1], [5, 7, 5, 5]]).tolist()
    [0, 1, 2, 2]
    """
    codes = [np.unique(np.asarray(column), return_inverse=True)[1] for column in columns]
    return np.unique(np.stack(codes, 1), axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def ranges(values: ArrayLike, parts: int, weights: Floats | None = None) -> tuple[Ints, Floats]:
    """Cut numbers into ranges of equal counts; equal numbers stay together, so ranges may be fewer.

    Parameters
    ----------
    values : array of float, shape (rows,)
    parts : int
        How many ranges, from 1.
    weights : array of float, shape (rows,), optional
        Row weights, not all 0: ranges are then of equal weight.

    Returns
    -------
    codes : array of int, shape (rows,)
        The range of each row, from 0, lowest first.
    tops : array of float, shape (ranges,)
        The highest number of each.

    Examples
    --------
    >>> codes, tops = ranges([1, 2, 2, 3, 9], 2)
    >>> codes.tolist(), tops.tolist()
    ([0, 0, 0, 1, 1], [2.0, 9.0])
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    at = np.arange(1, parts) / parts
    cuts = np.quantile(numbers, at, weights=weights, method="inverted_cdf") if parts > 1 else np.zeros(0)
    tops = np.unique(np.append(cuts, numbers.max()))
    return np.searchsorted(tops, numbers).astype(np.intp), tops


def clusters(matrix: Floats, k: int = CLUSTERS, weights: ArrayLike | None = None, seed: int = SEED) -> Ints:
    """Return the cluster of each row, of `k` found by k-means, or of fewer where fewer differ.

    Parameters
    ----------
    matrix : array of float, shape (rows, columns)
        See `distance_matrix`.
    k : int
        How many clusters.
    weights : array of float, shape (rows,), optional
        Row weights.
    seed : int
        Of the first centres.

    Returns
    -------
    array of int, shape (rows,)
    """
    from sklearn.cluster import KMeans

    heavy = matrix if weights is None else matrix[np.asarray(weights) > 0]
    different = len(np.unique(heavy.round(DECIMALS), axis=0))
    if not different:  # no rows, or none of any weight
        return np.zeros(len(matrix), dtype=np.intp)
    found = KMeans(min(k, different), n_init=3, random_state=seed).fit_predict(matrix, sample_weight=weights)
    return np.asarray(found, dtype=np.intp)


def cluster_strata(rows: Rows, k: int = CLUSTERS) -> Ints:
    """Cluster rows by their features, shape (rows,); `ValueError` without features."""
    return clusters(distance_matrix(rows), k, rows.weights)


def distance_matrix(rows: Rows) -> Floats:
    """Return features as coordinates in which distances mean something, shape (rows, coordinates).

    Numbers are standardised, and two levels of a column are a distance of 1 apart: a coordinate for each, at
    1/√2. Weights have no say.

    Raises
    ------
    ValueError
        When the rows have no features.

    Examples
    --------
    >>> y = np.array([0, 1, 1])
    >>> features = np.array([[1.0, 0], [3.0, 0], [5.0, 2]])
    >>> distance_matrix(Rows(y, y, y, features=features, nominal=(False, True))).round(3).tolist()
    [[-1.225, 0.707, 0.0], [0.0, 0.707, 0.0], [1.225, 0.0, 0.707]]
    """
    if rows.features is None or not rows.features.shape[1]:
        raise ValueError("needs features: columns other than the protected attribute")
    parts = []
    for column, nominal in zip(np.asarray(rows.features, dtype=np.float64).T, rows.nominal, strict=True):
        if nominal:
            parts.append((column[:, None] == np.unique(column)) / np.sqrt(2.0))
        else:
            parts.append(standardised(column)[:, None])
    return np.concatenate(parts, axis=1)


def counted(rows: Rows, strata: NDArray[Any] | None = None) -> Counts:
    """Count rows by stratum, group, label and prediction, ``n`` of shape (strata, 2, 2, 2).

    Parameters
    ----------
    rows : Rows
    strata : array of int, shape (rows,), optional
        From 0; by default those of the rows.

    Raises
    ------
    ValueError
        When there are no strata.
    """
    of = rows.strata if strata is None else strata
    if of is None:
        raise ValueError("needs strata")
    found, code = np.unique(of, return_inverse=True)
    names = tuple(map(str, range(2 * len(found))))
    both = count(2 * code + rows.s, rows.y, rows.predicted, names, rows.weights)
    return Counts(GROUPS, both.n.reshape(-1, 2, 2, 2))
