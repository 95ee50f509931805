"""Lines and planes by weighted least squares, with errors that need no equal variances; rank correlation.

The variance is HC3 (MacKinnon & White 1985), t has rows − columns degrees of freedom; of weighted rows Kish's
number counts. Where rows come in clusters it is CR2 of Bell & McCaffrey (2002) with Satterthwaite's degrees
of freedom. Limits are the wider of Student's and of Hall's with the skewness of what rows or clusters add, as
of means. Both are taken of one contrast of coefficients at a time: of one fit, or of fits to several groups
that may share clusters. Weighted rows are taken for rows of variance 1 / weight in CR2's correction, which is
a choice of how to correct alone. Needs numpy, and scipy.special for Student's t and ranks.

A number has no error (NaN) where it hangs on a single row or cluster, or where nothing is left to vary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.clusters import LEAST_CLUSTERS, LEAST_DEGREES, t_quantile, t_test_p
from fairbench_cli.measures.counts import Floats, divide, row_masses
from fairbench_cli.measures.means import Contrast, wider_interval
from fairbench_cli.measures.significance import EXACT, SPANNED, normal_p, normal_quantile

Ints = NDArray[np.intp]

ALONE = 1e-9  # of a leverage: a row or cluster with no less than 1 − this decides a coefficient by itself
BLOCK = 4_000_000  # numbers at a time in sums of products by cluster
LEAST_RANKS = 4  # rows: Fisher's error divides by rows − 3


class EstimateWithLimits(NamedTuple):
    """A number with its error and limits; `p` is two-sided, of "it is 0".

    All but `value` are NaN where the rows do not tell how far off it may be.
    """

    value: float
    error: float
    degrees: float
    low: float
    high: float
    p: float


NO_ESTIMATE = EstimateWithLimits(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Least squares of numbers on a constant and columns.

    Parameters
    ----------
    coefficients : array, shape (1 + columns,)
        The constant's first.
    means : array, shape (1 + columns,)
        1, and the mean of each column.
    basis : array, shape (rows, 1 + columns)
        Orthonormal columns that span those of the weighted rows.
    triangle : array, shape (1 + columns, 1 + columns)
        The weighted rows of the constant and the columns less their means are basis @ triangle.
    residuals : array, shape (rows,)
        What is left of the numbers, times the roots of the weights.
    clusters : array of int, shape (rows,), optional
        From 0.
    effective_rows : float
        Kish's number of rows.
    """

    coefficients: Floats
    means: Floats
    basis: Floats
    triangle: Floats
    residuals: Floats
    clusters: Ints | None
    effective_rows: float

    @property
    def degrees(self) -> float:
        """Rows less coefficients."""
        return self.effective_rows - len(self.coefficients)

    def coordinates(self, contrast: Floats) -> Floats:
        """Return the coordinates in the basis of a sum of coefficients."""
        # The constant of the centred columns is the fit at their means.
        centred = contrast - contrast[0] * self.means
        centred[0] = contrast[0]
        return np.asarray(np.linalg.solve(self.triangle.T, centred), dtype=np.float64)

    def is_exact(self) -> bool:
        """Return whether nothing but rounding is left, as where all numbers are the same."""
        fitted = self.basis @ (self.triangle @ _constant_and_slopes(self))
        left = self.residuals @ self.residuals
        return bool(left <= EXACT * len(self.residuals) * (left + fitted @ fitted))


def _constant_and_slopes(fit: LinearFit) -> Floats:
    """Return the mean of the fit, and its slopes."""
    centred = fit.coefficients.copy()
    centred[0] = fit.coefficients @ fit.means
    return centred


def fit_linear(
    columns: ArrayLike,
    numbers: ArrayLike,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> LinearFit:
    """Return the least-squares fit of numbers on a constant and columns.

    Parameters
    ----------
    columns : array of float, shape (rows, columns)
    numbers : array of float, shape (rows,)
    weights : array of float, shape (rows,), optional
        Row weights, at least 0.
    clusters : array, shape (rows,), optional
        The cluster of each row. Of groups that are compared the codes must be of one coding: whole numbers.

    Raises
    ------
    ValueError
        When there are no more rows than coefficients, or the columns are collinear: see
        `independent_columns`.

    Examples
    --------
    >>> fit = fit_linear([[1.0], [2], [3], [4]], [1, 3, 2, 5])
    >>> fit.coefficients.round(3).tolist()
    [0.0, 1.1]
    """
    matrix = np.asarray(columns, dtype=np.float64)
    target = np.asarray(numbers, dtype=np.float64)
    codes = None
    if clusters is not None:
        codes = np.asarray(clusters).astype(np.intp)
    mass = np.ones(len(target))
    if weights is not None:
        mass = np.asarray(weights, dtype=np.float64)
        has_weight = mass > 0
        if not has_weight.all():  # rows that count nothing are no rows
            matrix = matrix[has_weight]
            target = target[has_weight]
            mass = mass[has_weight]
            codes = None if codes is None else codes[has_weight]
    n_coefficients = 1 + matrix.shape[1]
    if len(target) <= n_coefficients:
        raise ValueError(f"{len(target)} rows are too few for {n_coefficients} coefficients")
    total = mass.sum()
    means = np.concatenate([[1.0], mass @ matrix / total])
    centre = mass @ target / total
    # Centred, so that columns far from 0 lose no digits.
    centred = np.column_stack([np.ones(len(target)), matrix - means[1:]])
    root = np.sqrt(mass)
    basis, triangle = np.linalg.qr(centred * root[:, None])
    sizes = np.linalg.norm(triangle, axis=0)
    if (np.abs(np.diagonal(triangle)) <= math.sqrt(SPANNED) * sizes).any() or (sizes == 0).any():
        raise ValueError("a column is a sum of others")
    whitened = (target - centre) * root
    projections = basis.T @ whitened
    slopes = np.linalg.solve(triangle, projections)
    coefficients = slopes.copy()
    coefficients[0] = centre + slopes[0] - means[1:] @ slopes[1:]
    return LinearFit(
        coefficients=coefficients,
        means=means,
        basis=basis,
        triangle=triangle,
        residuals=whitened - basis @ projections,
        clusters=codes,
        effective_rows=float(total**2 / (mass @ mass)),
    )


def independent_columns(columns: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which columns are no sum of a constant and of columns before them, shape (columns,).

    >>> independent_columns([[1.0, 2, 5], [2, 4, 5], [5, 10, 5]]).tolist()
    [True, False, False]
    """
    matrix = np.asarray(columns, dtype=np.float64)
    root = np.sqrt(row_masses(weights, len(matrix)))
    total = root @ root
    directions = [divide(root, math.sqrt(total))]
    is_independent = np.zeros(matrix.shape[1], dtype=bool)
    for j, column in enumerate(matrix.T):
        centred = (column - divide(root**2 @ column, total)) * root
        size = np.linalg.norm(centred)
        largest = np.linalg.norm(column * root)
        if not size > EXACT**0.5 * largest:
            continue
        remainder = centred / size
        for _ in range(2):  # once more, as what is left of nearly equal columns is mostly rounding
            for direction in directions:
                remainder = remainder - (direction @ remainder) * direction
        left = np.linalg.norm(remainder)
        if left**2 > SPANNED:
            is_independent[j] = True
            directions.append(remainder / left)
    return is_independent


def estimate_contrast(
    fits: Sequence[LinearFit],
    contrasts: Sequence[ArrayLike],
    confidence: float = 0.95,
    *,
    of_factors: Contrast | None = None,
    degrees: float | None = None,
) -> EstimateWithLimits:
    """Return a sum of coefficients, of one fit or over fits to groups that share no rows.

    Parameters
    ----------
    fits : sequence of LinearFit
        With clusters all or none.
    contrasts : sequence of arrays, shape (1 + columns,)
        What the coefficients of each are multiplied by.
    confidence : float
        Of the limits.
    of_factors : Contrast, optional
        What is multiplied by them, where it is estimated, too: its variance and third moment are added.
    degrees : float, optional
        In the place of those of the fits: rows − columns, of several by Satterthwaite.

    Examples
    --------
    >>> fit = fit_linear([[1.0], [2], [3], [4]], [1, 3, 2, 5])
    >>> slope = estimate_contrast([fit], [[0.0, 1.0]])
    >>> round(slope.value, 3), round(slope.error, 3), slope.degrees
    (1.1, 0.646, 2.0)
    """
    contrast = sum_coefficients(fits, contrasts)
    if of_factors is not None:
        contrast = contrast._replace(
            variance=contrast.variance + of_factors.variance, third=contrast.third + of_factors.third
        )
    if degrees is not None:
        contrast = contrast._replace(degrees=np.asarray(degrees))
    if contrast.degrees < LEAST_DEGREES:
        contrast = contrast._replace(variance=np.asarray(math.nan))
    limits = wider_interval(contrast, confidence)
    if not contrast.variance > 0:
        return NO_ESTIMATE._replace(value=float(contrast.value))
    numbers = (limits.value, limits.error, limits.degrees, limits.low, limits.high, limits.p)
    return EstimateWithLimits(*map(float, numbers))


def sum_coefficients(fits: Sequence[LinearFit], contrasts: Sequence[ArrayLike]) -> Contrast:
    """Return a sum of coefficients, see `estimate_contrast`, with its variance and third moment.

    The variance is 0 where all numbers lie on the fit, and NaN where a row or cluster alone decides the sum.
    """
    value = 0.0
    coordinates = []
    for fit, factors in zip(fits, contrasts, strict=True):
        array = np.asarray(factors, dtype=np.float64)
        value += float(fit.coefficients @ array)
        coordinates.append(fit.coordinates(array))
    if all(fit.is_exact() for fit in fits):
        numbers = (value, 0.0, math.nan, 0.0)
    elif any(fit.clusters is not None for fit in fits):
        numbers = (value, *_sum_clustered_terms(fits, coordinates))
    else:
        terms = [_row_terms(fit, q) for fit, q in zip(fits, coordinates, strict=True)]
        variances = [float(term @ term) for term in terms]
        third = sum(float((term**3).sum()) for term in terms)
        degrees = satterthwaite(variances, [fit.degrees for fit in fits])
        numbers = (value, sum(variances), degrees, third)
    return Contrast(*map(np.asarray, numbers))


def satterthwaite(variances: Sequence[float], degrees: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of independent variances.

    >>> round(satterthwaite([1.0, 1.0], [10, 10]), 3)
    20.0
    """
    total = sum(variances)
    if min(degrees) <= 0 or not total > 0:
        return math.nan
    squares = sum(variance**2 / n for variance, n in zip(variances, degrees, strict=True))
    return float(total**2 / squares)


def _row_terms(fit: LinearFit, coordinates: Floats) -> Floats:
    """Return the terms of rows, whose squares add up to the HC3 variance.

    NaN where a row alone decides a part of the sum.
    """
    pull = fit.basis @ coordinates
    room = 1 - np.square(fit.basis).sum(-1)
    is_alone = room <= ALONE
    decides = is_alone & (np.square(pull) > ALONE * (coordinates @ coordinates))
    return np.where(decides, np.nan, np.where(is_alone, 0.0, divide(pull * fit.residuals, room)))


def cluster_terms(fit: LinearFit, contrast: ArrayLike) -> tuple[Ints, Floats]:
    """Return the codes of the clusters of a fit, and what each adds to a sum of coefficients.

    The sum of the squares of the terms is the CR2 variance, and of the products with those of another group's
    fit the covariance. NaN where a cluster alone decides a part of it.
    """
    codes, sums = _sum_clusters(fit, fit.coordinates(np.asarray(contrast, dtype=np.float64)))
    return codes, sums.term


def _sum_clusters(fit: LinearFit, coordinates: Floats) -> tuple[Ints, "_ClusterSums"]:
    """Return the codes of the clusters of a fit, and their sums."""
    code = np.asarray(fit.clusters)
    order = np.argsort(code, kind="stable")
    codes, start = np.unique(code[order], return_index=True)
    return codes, _cluster_sums(fit.basis[order], fit.residuals[order], start, coordinates)


def _sum_clustered_terms(
    fits: Sequence[LinearFit], coordinates: Sequence[Floats]
) -> tuple[float, float, float]:
    """Return the CR2 variance, Satterthwaite's degrees of freedom for independent rows, and third moment."""
    sums = [_sum_clusters(fit, q) for fit, q in zip(fits, coordinates, strict=True)]
    distinct = np.unique(np.concatenate([codes for codes, _ in sums]))
    terms = np.zeros(len(distinct))
    diagonal = np.zeros(len(distinct))
    overlaps = []
    for codes, fit_sums in sums:
        if len(codes) < LEAST_CLUSTERS or not np.isfinite(fit_sums.term).all():
            return math.nan, math.nan, math.nan
        position = np.searchsorted(distinct, codes)
        terms[position] += fit_sums.term
        diagonal[position] += fit_sums.diagonal
        overlap = np.zeros((len(distinct), fit_sums.overlap.shape[1]))
        overlap[position] = fit_sums.overlap
        overlaps.append(overlap)
    # With G the covariance of the clusters' terms, (tr G)² / tr(G²); off its diagonal G is −overlap overlap'.
    between = np.concatenate(overlaps, axis=1)
    lengths = np.square(between).sum(-1)
    trace_of_square = np.square(between.T @ between).sum() - lengths @ lengths + diagonal @ diagonal
    degrees = float(divide(diagonal.sum() ** 2, trace_of_square))
    return float(terms @ terms), max(degrees, LEAST_DEGREES), float((terms**3).sum())


class _ClusterSums(NamedTuple):
    """What clusters add to a contrast, (clusters,): their terms, the variances of these, what pulls them."""

    term: Floats
    diagonal: Floats
    overlap: Floats


def _cluster_sums(basis: Floats, residuals: Floats, start: Ints, coordinates: Floats) -> _ClusterSums:
    """Return the sums of clusters whose rows begin at `start`; terms are NaN where a cluster decides alone.

    CR2 multiplies the residuals of a cluster by the root of the inverse of I − H, where H is its part of the
    projection. In the coordinates of the basis that is a matrix of coefficients × coefficients, by the
    eigenvalues of the products of its columns.
    """
    n_rows, n_columns = basis.shape
    pulls = np.add.reduceat(basis * residuals[:, None], start)
    term = np.empty(len(start))
    diagonal = np.empty(len(start))
    overlap = np.empty((len(start), n_columns))
    ends = np.append(start[1:], n_rows)
    first_cluster = 0
    while first_cluster < len(start):
        reach = start[first_cluster] + BLOCK // n_columns**2
        end = max(int(np.searchsorted(ends, reach, side="right")), first_cluster + 1)
        rows = basis[start[first_cluster] : ends[end - 1]]
        products = np.add.reduceat(
            rows[:, :, None] * rows[:, None, :], start[first_cluster:end] - start[first_cluster]
        )
        values, vectors = np.linalg.eigh(products)
        along = coordinates @ vectors
        is_alone = values >= 1 - ALONE
        decides = (is_alone & (np.square(along) > ALONE * (coordinates @ coordinates))).any(-1)
        factor = np.where(is_alone, 0.0, 1 / np.sqrt(np.where(is_alone, 1.0, 1 - values)))
        adjusted = (vectors @ (factor * along)[..., None])[..., 0]
        block = slice(first_cluster, end)
        term[block] = np.where(decides, np.nan, (adjusted * pulls[block]).sum(-1))
        diagonal[block] = (values * np.square(along)).sum(-1)
        overlap[block] = (vectors @ (values * factor * along)[..., None])[..., 0]
        first_cluster = end
    return _ClusterSums(term, diagonal, overlap)


@dataclass(frozen=True, eq=False)
class Line:
    """A line through the rows of a group.

    Parameters
    ----------
    slope, intercept : EstimateWithLimits
        Of the slope `p` is of "it is 0".
    rows : float
        Kish's number of rows.
    """

    slope: EstimateWithLimits
    intercept: EstimateWithLimits
    rows: float


NO_LINE = Line(NO_ESTIMATE, NO_ESTIMATE, 0.0)
SLOPE = (0.0, 1.0)
INTERCEPT = (1.0, 0.0)


def fit_line(
    x: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Line:
    """Return the line of y on x.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    confidence : float
        Of the limits.

    Returns
    -------
    Line
        All NaN with fewer than three rows, or where x is the same in all.

    Examples
    --------
    >>> line = fit_line([1, 2, 3, 4, 5], [2, 1, 4, 3, 6])
    >>> round(line.slope.value, 3), round(line.slope.low, 3), round(line.slope.high, 3)
    (1.0, -0.959, 2.959)
    """
    try:
        fit = fit_linear(np.asarray(x, dtype=np.float64)[:, None], y, weights, clusters)
    except ValueError:
        return NO_LINE
    return Line(
        slope=estimate_contrast([fit], [SLOPE], confidence),
        intercept=estimate_contrast([fit], [INTERCEPT], confidence),
        rows=fit.effective_rows,
    )


def select_rows(values: ArrayLike | None, mask: NDArray[np.bool_]) -> NDArray[np.generic] | None:
    """Return the values of some rows; None where there are no values."""
    if values is None:
        return None
    selected: NDArray[np.generic] = np.asarray(values)[mask]
    return selected


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> EstimateWithLimits:
    """Return Spearman's rank correlation; equal numbers share their mean rank.

    Limits are those of Fisher's z with the error √((1 + r²/2) / (n − 3)) (Bonett & Wright 2000), n Kish's
    number of weighted rows. Clusters divide n by how much they raise the variance of the slope of the ranks,
    and t has the degrees of freedom of that slope. `error` is of z.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
    weights : array of float, shape (rows,), optional
        A rank is the weight of what is below, and half of what is equal.
    clusters : array of int, shape (rows,), optional
    confidence : float
        Of the limits.

    Returns
    -------
    EstimateWithLimits
        NaN where all x or all y are the same; without limits where ranks agree or disagree in all rows, and
        with fewer than four rows.

    Examples
    --------
    >>> rho = spearman([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5])
    >>> round(rho.value, 4), round(rho.low, 4), round(rho.high, 4)
    (0.8286, -0.1272, 0.9865)
    """
    mass = row_masses(weights, len(np.asarray(x)))
    rank_x = weighted_ranks(x, mass)
    rank_y = weighted_ranks(y, mass)
    correlation = _correlation(rank_x, rank_y, mass)
    rows = float(divide(mass.sum() ** 2, mass @ mass))
    reach = normal_quantile(confidence)
    degrees = math.inf
    if clusters is not None:
        alone = fit_line(rank_x, rank_y, mass).slope
        together = fit_line(rank_x, rank_y, mass, clusters).slope
        rows /= max((together.error / alone.error) ** 2, 1.0)
        degrees = together.degrees
        reach = float(t_quantile(np.asarray(degrees), confidence))
    is_perfect = abs(correlation) >= 1 - ALONE
    if is_perfect or not rows >= LEAST_RANKS or math.isnan(correlation) or math.isnan(degrees):
        return NO_ESTIMATE._replace(value=correlation)
    z = math.atanh(correlation)
    error = math.sqrt((1 + correlation**2 / 2) / (rows - 3))
    if clusters is None:
        p = float(normal_p(z / error))
    else:
        p = float(t_test_p(np.asarray(z / error), np.asarray(degrees)))
    low = math.tanh(z - reach * error)
    high = math.tanh(z + reach * error)
    return EstimateWithLimits(correlation, error, degrees, low, high, p)


def weighted_ranks(values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return the rank of each number, from 1; equal numbers share their mean rank.

    >>> weighted_ranks([7, 3, 7, 9]).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    distinct, position = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    mass = np.bincount(position, weights, minlength=len(distinct))
    below = np.cumsum(mass) - mass / 2
    ranks: Floats = below[position] + 0.5
    return ranks


def _correlation(x: Floats, y: Floats, mass: Floats) -> float:
    """Return the correlation of weighted numbers; NaN where one is constant."""
    x_away = x - mass @ x / mass.sum()
    y_away = y - mass @ y / mass.sum()
    spread = math.sqrt((mass @ x_away**2) * (mass @ y_away**2))
    correlation = float(divide(mass @ (x_away * y_away), spread))
    return float(np.clip(correlation, -1.0, 1.0))
