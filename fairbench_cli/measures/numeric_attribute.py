"""What an outcome has to do with an attribute that is a number, as age is: no groups are cut.

A line and a rank correlation say how much higher the outcome is where the attribute is; mutual information
and means in bins see what goes up and down again. Equal numbers are always of one bin. The outcome is a
number, or 0 and 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures import classes, regression
from fairbench_cli.measures.counts import Floats, divide, row_masses
from fairbench_cli.measures.functions import shared_information
from fairbench_cli.measures.means import mean_interval
from fairbench_cli.measures.moments import Moments, sum_powers
from fairbench_cli.measures.quantiles import weighted_quantiles
from fairbench_cli.measures.rows import bin_numbers, cut_into_ranges
from fairbench_cli.measures.score_test import wilson_interval

Ints = NDArray[np.intp]

STEP = 10.0  # of the attribute: ten years
SPAN = (0.1, 0.9)  # shares of the rows below the two points of the attribute whose outcomes are compared
INFORMATION_BINS = 10
CURVE_BINS = 20
LEAST_IN_BIN = 10  # rows
MEAN = (1.0,)  # the contrast of a fit without columns


@dataclass(frozen=True, eq=False)
class AttributeSlope:
    """The line of an outcome on a numeric attribute.

    Parameters
    ----------
    per_step : EstimateWithLimits
        How much higher the outcome is, `step` of the attribute further up.
    step : float
    low_point, high_point : float
        Of the attribute: a tenth of the rows are below the one, and above the other.
    effect : EstimateWithLimits
        How much higher the outcome is at the high point than at the low one; the points are taken as known.
    """

    per_step: regression.EstimateWithLimits
    step: float
    low_point: float
    high_point: float
    effect: regression.EstimateWithLimits


def attribute_slope(
    x: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    step: float = STEP,
    confidence: float = 0.95,
) -> AttributeSlope:
    """Return the line of an outcome on a numeric attribute.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
        The attribute and the outcome.
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    step : float
        Of the attribute.
    confidence : float
        Of the limits.

    Examples
    --------
    >>> age, pay = np.arange(20, 60, 2), np.arange(20, 60, 2) * 100 + [0, 50] * 10
    >>> line = attribute_slope(age, pay)
    >>> round(line.per_step.value, 1), line.low_point, line.high_point, round(line.effect.value, 1)
    (1001.9, 23.8, 54.2, 3045.7)
    """
    numbers = np.asarray(x, dtype=np.float64)
    slope = regression.fit_line(numbers, y, weights, clusters, confidence).slope
    order = np.argsort(numbers, kind="stable")
    mass = row_masses(weights, len(numbers))
    rows = _kish_rows(mass)
    low_point, high_point = weighted_quantiles(numbers[order], mass[order], SPAN, rows).value
    return AttributeSlope(
        per_step=_scale(slope, step),
        step=step,
        low_point=float(low_point),
        high_point=float(high_point),
        effect=_scale(slope, float(high_point - low_point)),
    )


def _scale(estimate: regression.EstimateWithLimits, factor: float) -> regression.EstimateWithLimits:
    """Return an estimate in other units; the factor is not below 0."""
    return estimate._replace(
        value=estimate.value * factor,
        error=estimate.error * factor,
        low=estimate.low * factor,
        high=estimate.high * factor,
    )


@dataclass(frozen=True, eq=False)
class BinnedInformation:
    """The mutual information of an attribute and an outcome in bins.

    Parameters
    ----------
    bits : float
        Above 0 by chance alone.
    normalised : float
        From 0 to 1: over the root of the product of both entropies, as `functions.mutual_information` is.
    p : float
        The share of permutations of the rows with as much.
    bins : tuple of two ints
        Of the attribute and of the outcome.
    rows : float
        What the rows are worth, of which the permutations are.
    """

    bits: float
    normalised: float
    p: float
    bins: tuple[int, int]
    rows: float


def binned_information(
    x: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    bins: int = INFORMATION_BINS,
    permutations: int = classes.PERMUTATIONS,
) -> BinnedInformation:
    """Return the mutual information of an attribute and an outcome in bins of equally many rows.

    Where no more values differ than there are bins, each is a bin of its own.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
    rng : numpy Generator
        Of the permutations.
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    bins : int
        Of either.
    permutations : int

    Returns
    -------
    BinnedInformation
        NaN where there is one bin.

    Examples
    --------
    >>> age = np.arange(100.0)
    >>> bent = binned_information(age, np.abs(age - 49.5), np.random.default_rng(0), permutations=999)
    >>> round(bent.bits, 3), round(bent.normalised, 3), bent.p, bent.bins
    (2.322, 0.699, 0.001, (10, 10))
    """
    mass = None
    if weights is not None:
        mass = np.asarray(weights, dtype=np.float64)
    x_codes = bin_numbers(x, bins, mass)
    y_codes = bin_numbers(y, bins, mass)
    shape = (int(x_codes.max(initial=-1)) + 1, int(y_codes.max(initial=-1)) + 1)
    effective = _effective_rows(x_codes, y_codes, mass, clusters)
    if min(shape) < 2:
        return BinnedInformation(math.nan, math.nan, math.nan, shape, effective.rows)
    table = np.bincount(x_codes * shape[1] + y_codes, mass, shape[0] * shape[1]).astype(np.float64)
    shares = table.reshape(shape) / table.sum()
    bits, root = shared_information(shares)
    p = math.nan
    if not math.isnan(effective.rows):
        p = classes.permutation_p(shares, effective.rows, _bits_of_tables, rng, permutations)
    return BinnedInformation(float(bits), float(divide(bits, root)), p, shape, effective.rows)


def _bits_of_tables(tables: Floats) -> Floats:
    return shared_information(tables)[0]


def _effective_rows(
    x_codes: ArrayLike, y_codes: ArrayLike, mass: Floats | None, clusters: ArrayLike | None
) -> classes.EffectiveRows:
    """Return the independent rows that a table is worth."""
    if clusters is not None:
        return classes.clustered_rows(clusters, x_codes, y_codes, mass)
    if mass is not None:
        return classes.EffectiveRows(_kish_rows(mass))
    return classes.EffectiveRows(float(np.size(x_codes)))


def _kish_rows(mass: Floats) -> float:
    """Return how many rows of equal weight say as much."""
    return float(divide(mass.sum() ** 2, mass @ mass))


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """Means of an outcome in bins of a numeric attribute; arrays of shape (bins,), lowest first.

    Parameters
    ----------
    first, last : array
        The least and the largest number of the attribute in each bin.
    x : array
        The mean of the attribute.
    mean, low, high : array
        The mean of the outcome with its limits: of numbers the wider of Student's and Hall's, of 0 and 1
        Wilson's; NaN where a bin has no spread.
    rows : array
        Kish's numbers of rows.
    p : float
        Of "all bins have the same mean".
    """

    first: Floats
    last: Floats
    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    rows: Floats
    p: float


def mean_curve(
    x: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    bins: int = CURVE_BINS,
    confidence: float = 0.95,
) -> MeanCurve:
    """Return the means of an outcome in bins of equally many rows, at least 10 in each.

    The test is of a table of bins × 0 and 1 (`classes.compare_classes`), of numbers that of `equal_means_p`.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
        The attribute and the outcome.
    rng : numpy Generator
        Of permutations, where few rows are expected.
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    bins : int
        At most.
    confidence : float
        Of the limits.

    Examples
    --------
    >>> age = np.arange(40.0)
    >>> curve = mean_curve(age, (age - 19.5) ** 2 + 9 * (age % 2), np.random.default_rng(0))
    >>> curve.x.tolist(), curve.mean.round(1).tolist(), round(curve.p, 6)
    ([4.5, 14.5, 24.5, 34.5], [237.8, 37.8, 37.8, 237.8], 1e-06)
    """
    rows = _bin_rows(x, y, weights, clusters, bins)
    moments = sum_powers(rows.y, rows.codes, rows.n_bins, rows.mass, shift=rows.mean_y)
    if rows.clusters is None:
        means = _means_of_rows(moments, confidence)
    else:
        means = _means_of_clusters(moments, rows, confidence)
    if np.isin(rows.y, (0, 1)).all():
        low, high = wilson_interval(moments.mean * means.rows, means.rows, confidence)
        selected = np.bincount(rows.codes, rows.mass * rows.y, rows.n_bins)
        effective = _effective_rows(rows.codes, rows.y, rows.mass, rows.clusters)
        p = classes.compare_classes(np.stack([moments.weight - selected, selected], axis=1), rng, effective).p
    else:
        low = means.low
        high = means.high
        p = equal_means_p(moments.mean, means.covariance, moments.weight, means.degrees)
    starts = np.searchsorted(rows.codes, np.arange(rows.n_bins), side="left")
    ends = np.searchsorted(rows.codes, np.arange(rows.n_bins), side="right") - 1
    return MeanCurve(
        first=rows.x[starts],
        last=rows.x[ends],
        x=divide(np.bincount(rows.codes, rows.mass * rows.x, rows.n_bins), moments.weight),
        mean=moments.mean,
        low=low,
        high=high,
        rows=moments.effective_rows,
        p=p,
    )


@dataclass(frozen=True, eq=False)
class _BinnedRows:
    """Rows with weight, ordered by the attribute, and the bin of each."""

    x: Floats
    y: Floats
    mass: Floats
    clusters: Ints | None
    codes: Ints

    @property
    def n_bins(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    @property
    def mean_y(self) -> float:
        return float(divide(self.mass @ self.y, self.mass.sum()))

    def bin_slice(self, code: int) -> slice:
        """Return where the rows of a bin are."""
        first, end = np.searchsorted(self.codes, (code, code + 1))
        return slice(int(first), int(end))


def _bin_rows(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None, clusters: ArrayLike | None, bins: int
) -> _BinnedRows:
    """Return the rows in bins of equally many, at most `bins` and each of at least `LEAST_IN_BIN`."""
    numbers = np.asarray(x, dtype=np.float64)
    mass = row_masses(weights, len(numbers))
    order = np.argsort(numbers, kind="stable")
    order = order[mass[order] > 0]
    numbers = numbers[order]
    cluster = None
    if clusters is not None:
        cluster = np.unique(np.asarray(clusters)[order], return_inverse=True)[1].astype(np.intp)
    n_bins = int(np.clip(len(numbers) // LEAST_IN_BIN, 1, bins))
    codes = _join_small(cut_into_ranges(numbers, n_bins, mass[order])[0])
    return _BinnedRows(numbers, np.asarray(y, dtype=np.float64)[order], mass[order], cluster, codes)


def _join_small(codes: Ints) -> Ints:
    """Return bins of at least `LEAST_IN_BIN` rows: a smaller one joins the next, the last the one before."""
    joined = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.intp)
    bin_code = 0
    n_rows = 0
    for code, size in enumerate(np.bincount(codes)):
        if n_rows >= LEAST_IN_BIN:
            bin_code += 1
            n_rows = 0
        joined[code] = bin_code
        n_rows += int(size)
    if n_rows < LEAST_IN_BIN:
        joined = np.minimum(joined, max(bin_code - 1, 0))
    return joined[codes]


@dataclass(frozen=True, eq=False)
class _BinMeans:
    """Limits of the bins' means, their covariance, degrees of freedom, and rows that they are worth."""

    low: Floats
    high: Floats
    covariance: Floats
    degrees: float
    rows: Floats


def _means_of_rows(moments: Moments, confidence: float) -> _BinMeans:
    """Return the means of independent rows; the degrees of freedom are those of `equal_means_p`."""
    limits = mean_interval(moments, confidence)
    variance = moments.variance_of_mean
    # Of a sum of variances, each with the rows of its bin (Box 1954; Brunner, Dette & Munk 1997).
    parts = moments.weight * (1 - moments.weight / moments.weight.sum()) * variance
    degrees = float(divide(parts.sum() ** 2, divide(parts**2, moments.effective_rows - 1).sum()))
    return _BinMeans(limits.low, limits.high, np.diag(variance), degrees, moments.effective_rows)


def _means_of_clusters(moments: Moments, rows: _BinnedRows, confidence: float) -> _BinMeans:
    """Return the means of rows in clusters, which may have rows in several bins."""
    from scipy.sparse import coo_array

    estimates = []
    terms = []
    cells = []
    for code in range(rows.n_bins):
        inside = rows.bin_slice(code)
        nothing = np.empty((inside.stop - inside.start, 0))
        fit = regression.fit_linear(
            nothing, rows.y[inside], rows.mass[inside], np.asarray(rows.clusters)[inside]
        )
        estimates.append(regression.estimate_contrast([fit], [MEAN], confidence))
        bin_clusters, bin_terms = regression.cluster_terms(fit, MEAN)
        terms.append(bin_terms)
        cells.append(np.stack([bin_clusters, np.full(len(bin_clusters), code)]))
    matrix = coo_array((np.concatenate(terms), np.concatenate(cells, axis=1))).tocsc()
    covariance = (matrix.T @ matrix).toarray()
    variance = np.diagonal(covariance)
    worth = divide(moments.mean * (1 - moments.mean), variance)
    n_clusters = np.array([bin_cells.shape[1] for bin_cells in cells], dtype=np.float64)
    return _BinMeans(
        low=np.array([estimate.low for estimate in estimates]),
        high=np.array([estimate.high for estimate in estimates]),
        covariance=covariance,
        degrees=float(matrix.shape[0] - 1),
        rows=np.where(variance > 0, np.minimum(worth, moments.effective_rows), n_clusters),
    )


def equal_means_p(means: Floats, covariance: Floats, weights: Floats, degrees: float) -> float:
    """Return p of "all means are equal", each with a variance of its own.

    The weighted squares of the means' distances from their mean, over what chance makes of them, are an F
    whose first degrees of freedom fit their variance, too: the ANOVA-type statistic of Brunner, Dette & Munk
    (1997). Unlike Welch's test it keeps its level with skewed outcomes, and takes bins that are constant.

    Parameters
    ----------
    means, weights : array, shape (bins,)
    covariance : array, shape (bins, bins)
        Of the means.
    degrees : float
        Of that covariance.

    Returns
    -------
    float
        NaN of one bin, and where nothing varies.

    Examples
    --------
    >>> round(equal_means_p(np.array([1.0, 2, 4]), np.eye(3), np.ones(3), 60.0), 3)
    0.106
    """
    from scipy.special import fdtrc

    shares = weights / weights.sum()
    centring = np.diag(shares) - np.outer(shares, shares)
    spread = centring @ covariance
    expected = np.trace(spread)
    if not (expected > 0 and degrees > 0):
        return math.nan
    statistic = means @ centring @ means / expected
    return float(fdtrc(expected**2 / np.trace(spread @ spread), degrees, statistic))


@dataclass(frozen=True, eq=False)
class AttributeDependence:
    """What an outcome has to do with a numeric attribute, in four ways.

    Parameters
    ----------
    line : AttributeSlope
    rank_correlation : EstimateWithLimits
        Spearman's.
    information : BinnedInformation
    curve : MeanCurve
    """

    line: AttributeSlope
    rank_correlation: regression.EstimateWithLimits
    information: BinnedInformation
    curve: MeanCurve


def examine_attribute(
    x: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    *,
    step: float = STEP,
    confidence: float = 0.95,
    permutations: int = classes.PERMUTATIONS,
) -> AttributeDependence:
    """Return the dependence of an outcome on a numeric attribute, in four ways.

    Parameters
    ----------
    x, y : array of float, shape (rows,)
        The attribute and the outcome.
    rng : numpy Generator
        Of the permutations.
    weights : array of float, shape (rows,), optional
    clusters : array of int, shape (rows,), optional
    step : float
        Of the attribute.
    confidence : float
        Of the limits.
    permutations : int
    """
    information = binned_information(x, y, rng, weights, clusters, permutations=permutations)
    return AttributeDependence(
        line=attribute_slope(x, y, weights, clusters, step=step, confidence=confidence),
        rank_correlation=regression.spearman(x, y, weights, clusters, confidence),
        information=information,
        curve=mean_curve(x, y, rng, weights, clusters, confidence=confidence),
    )
