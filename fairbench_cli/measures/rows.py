"""The rows themselves, where counts do not suffice, and strata of rows that are alike in something.

Alike by attributes, by clusters, or by how likely they are to be of the deprived group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Counts, Floats, count

GROUPS = ("deprived", "favoured")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of two groups with what is known of each.

    Parameters
    ----------
    s : array of int, shape (rows,)
        0 for the deprived, 1 for the favoured.
    y, predicted : array of int, shape (rows,)
        Label and prediction, 1 for the favourable outcome, else 0.
    score : array of float, shape (rows,), optional
        How strongly the favourable outcome is predicted.
    features : array of float, shape (rows, columns), optional
        What else describes a row, without the protected attribute: numbers, and codes of levels.
    nominal : tuple of bool
        Which columns of `features` are codes of levels.
    weights : array of float, shape (rows,), optional
        Row weights.
    strata : array of int, shape (rows,), optional
        Index of each row's stratum: a level of an explanatory attribute, or a cluster.
    stays : array of float, shape (rows,), optional
        The probability that a row's decision stays the same when it is put into the other group.

    Raises
    ------
    ValueError
        When lengths differ, something is missing (NaN), or a group, label or prediction is not 0 or 1.
    """

    s: NDArray[Any]
    y: NDArray[Any]
    predicted: NDArray[Any]
    score: Floats | None = None
    features: Floats | None = None
    nominal: tuple[bool, ...] = ()
    weights: Floats | None = None
    strata: NDArray[Any] | None = None
    stays: Floats | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.name != "nominal"):
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != len(self.s) or values.ndim != (2 if name == "features" else 1):
                raise ValueError(f"{name} of shape {values.shape} does not fit {len(self.s)} rows")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} is missing in some rows")
            if name in ("s", "y", "predicted") and not np.isin(values, (0, 1)).all():
                raise ValueError(f"{name} must be 0 or 1")
        if self.features is not None and len(self.nominal) != self.features.shape[1]:
            raise ValueError("nominal must say of every column of features whether it is one of levels")

    @property
    def mass(self) -> Floats:
        """The weights; one each where there are none."""
        if self.weights is None:
            return np.ones(len(self.s))
        return self.weights

    def of_labels(self) -> "Rows":
        """Return the rows with their labels for predictions, so that a measure speaks of the labels."""
        return replace(self, predicted=self.y, score=None)

    def counts(self) -> Counts:
        """Count the rows by group, label and prediction."""
        return count(self.s, self.y, self.predicted, GROUPS, self.weights)

    def covariates(self) -> Floats:
        """Return the features as numbers, shape (rows, columns): a column for each level but the first.

        Numbers are standardised: raw timestamps are so nearly constant that least squares would drop them.
        """
        columns = [np.empty((len(self.s), 0))]
        for j, nominal in enumerate(self.nominal):
            column = np.asarray(self.features)[:, [j]]
            columns.append(column == np.unique(column)[1:] if nominal else standardise(column))
        return np.concatenate(columns, axis=1, dtype=np.float64)


def standardise(column: ArrayLike) -> Floats:
    """Return numbers with mean 0 and standard deviation 1; zeros when all are the same.

    >>> standardise([1.7e12 + 1, 1.7e12 + 3]).tolist(), standardise([0.1, 0.1, 0.1]).tolist()
    ([-1.0, 1.0], [0.0, 0.0, 0.0])
    """
    numbers = np.asarray(column, dtype=np.float64)
    if not numbers.size or np.ptp(numbers) == 0:
        return np.zeros_like(numbers)
    away = numbers - numbers.mean()
    spread = away.std()
    return np.asarray(away / spread if spread > 0 else np.zeros_like(away))


Ints = NDArray[np.intp]

CLUSTERS = 10
SEED = 0  # of whatever a measure draws: the same rows always give the same value
DECIMALS = 9  # to which numbers are the same: equal rows may differ in the last bits of a product


def cross_columns(columns: Sequence[ArrayLike]) -> Ints:
    """Return a stratum for every combination of values that occurs, numbered in sorted order.

    >>> cross_columns([[0, 0, 1, 1], [5, 7, 5, 5]]).tolist()
    [0, 1, 2, 2]
    """
    strata = np.unique(np.asarray(columns[0]), return_inverse=True)[1]
    for column in columns[1:]:
        values, codes = np.unique(np.asarray(column), return_inverse=True)
        strata = np.unique(strata * len(values) + codes, return_inverse=True)[1]
    return strata


def cut_into_ranges(values: ArrayLike, n_ranges: int, weights: Floats | None = None) -> tuple[Ints, Floats]:
    """Cut numbers into ranges of equal counts; equal numbers stay together, so ranges may be fewer.

    Parameters
    ----------
    values : array of float, shape (rows,)
    n_ranges : int
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
    >>> codes, tops = cut_into_ranges([1, 2, 2, 3, 9], 2)
    >>> codes.tolist(), tops.tolist()
    ([0, 0, 0, 1, 1], [2.0, 9.0])
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    shares = np.arange(1, n_ranges) / n_ranges
    if n_ranges > 1:
        cuts = np.quantile(numbers, shares, weights=weights, method="inverted_cdf")
    else:
        cuts = np.zeros(0)
    tops = np.unique(np.append(cuts, numbers.max()))
    return np.searchsorted(tops, numbers).astype(np.intp), tops


def bin_numbers(values: ArrayLike, n_bins: int, weights: Floats | None = None) -> Ints:
    """Return the bin of each number: its own where no more differ than there are bins, else of equal counts.

    >>> bin_numbers([0, 1, 1, 1], 3).tolist(), bin_numbers([1, 2, 3, 9], 2).tolist()
    ([0, 1, 1, 1], [0, 0, 1, 1])
    """
    distinct, codes = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    if len(distinct) <= n_bins:
        return codes.astype(np.intp)
    return cut_into_ranges(values, n_bins, weights)[0]


def find_clusters(
    matrix: Floats, k: int = CLUSTERS, weights: ArrayLike | None = None, seed: int = SEED
) -> Ints:
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

    heavy = matrix
    if weights is not None:
        heavy = matrix[np.asarray(weights) > 0]
    different = len(np.unique(heavy.round(DECIMALS), axis=0))
    if not different:  # no rows, or none of any weight
        return np.zeros(len(matrix), dtype=np.intp)
    codes = KMeans(min(k, different), n_init=3, random_state=seed).fit_predict(matrix, sample_weight=weights)
    return np.asarray(codes, dtype=np.intp)


def cluster_strata(rows: Rows) -> Ints:
    """Cluster rows by their features, shape (rows,); `ValueError` without features."""
    return find_clusters(distance_matrix(rows), weights=rows.weights)


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
    coordinates = []
    for column, nominal in zip(np.asarray(rows.features, dtype=np.float64).T, rows.nominal, strict=True):
        if nominal:
            coordinates.append((column[:, None] == np.unique(column)) / np.sqrt(2.0))
        else:
            coordinates.append(standardise(column)[:, None])
    return np.concatenate(coordinates, axis=1)


def count_by_stratum(rows: Rows, strata: NDArray[Any] | None = None) -> Counts:
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
    if strata is None:
        strata = rows.strata
    if strata is None:
        raise ValueError("needs strata")
    distinct, code = np.unique(strata, return_inverse=True)
    names = tuple(map(str, range(2 * len(distinct))))
    all_counts = count(2 * code + rows.s, rows.y, rows.predicted, names, rows.weights)
    return Counts(GROUPS, all_counts.n.reshape(-1, 2, 2, 2))


RANGES = 5
STEPS = 1000  # enough for any fit that has a least loss; penalised ones have


def estimate_propensity(rows: Rows) -> Floats:
    """P(s=g|X) of every row, by logistic regression (Rosenbaum & Rubin 1983; Calders et al. 2013).

    Numbers are standardised, levels one-hot, and coefficients penalised by their squares (C = 1), so that
    features which give the group away do not take them to infinity. Weights are honoured.

    Returns
    -------
    array, shape (rows,)
        NaN everywhere when a group is empty.

    Raises
    ------
    ValueError
        When the rows have no features.
    """
    matrix = distance_matrix(rows)
    if not np.bincount(rows.s, rows.mass, 2).all():
        return np.full(len(rows.s), np.nan)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=STEPS, solver="newton-cholesky")
    model.fit(matrix, rows.s, sample_weight=rows.weights)
    return np.asarray(model.predict_proba(matrix)[:, 0])


def propensity_strata(rows: Rows) -> Ints:
    """Cut rows into five ranges of their propensity with equally many rows, shape (rows,).

    Five ranges take away nine tenths of the bias of what the propensity sums up (Rosenbaum & Rubin 1984).
    Rows with the same features stay together. All rows are one stratum when a group is empty.
    """
    chances = estimate_propensity(rows)
    if np.isnan(chances).any():
        return np.zeros(len(chances), dtype=np.intp)
    return cut_into_ranges(chances.round(DECIMALS), RANGES, rows.weights)[0]
