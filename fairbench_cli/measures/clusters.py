"""Tests and intervals of two rates whose rows come in clusters: of people, schools, shops or households.

A cluster may have rows of one group or of both. The variance is CR2 of Bell & McCaffrey (2002), which for
rates needs the sums of each cluster alone and no matrix root; t has Satterthwaite's degrees of freedom, with
the likeness of rows of a cluster as estimated (Imbens & Kolesár 2016). The interval of a ratio is Fieller's:
it leaves out 1 exactly where the test rejects equal rates. Clusters by two columns at once: the largest of
three variances (MacKinnon, Nielsen & Webb 2024). Needs numpy, and scipy.special for Student's t.

Signs weigh the sides: the contrast of a group's rate r₁ and its reference's r₀ at τ is r₁ − τ r₀, with the
signs (−τ, 1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide

Bools = NDArray[np.bool_]

EQUAL = 1e-9  # sums that differ by less than this part of them are equal
DRIFT = 1e-4  # of what counts change by, beyond rounding: a group's rows do not cancel out
UNEVEN_POWER = (
    1.5  # of how uneven clusters are: with it 40 worlds, most of few heavy clusters, reject in .054 at most
)
LEAST_CLUSTERS = 2  # with rows of a group, and among these with and without somebody who is selected
LEAST_DEGREES = 1.0
OTHER_TAUS_OF_RATIO = (0.0, 2.0)  # besides 1: a quadratic in τ is known from three


class Variance(NamedTuple):
    """The variance of a contrast, and the degrees of freedom of its t; arrays of one shape."""

    variance: Floats
    degrees: Floats


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """What the rows of each cluster add to an estimate; arrays of shape (..., sides, clusters).

    Parameters
    ----------
    weight, square : array
        Their weights, and squared weights.
    residual : array
        Each row's weight times how far it is from the mean of its side; of another statistic than a mean,
        times its influence. They add up to 0 over the clusters of a side.
    residual_square : array
        The squares of these products.
    """

    weight: Floats
    square: Floats
    residual: Floats
    residual_square: Floats

    @cached_property
    def total(self) -> Floats:
        """The weight of each side, shape (..., sides, 1)."""
        total: Floats = self.weight.sum(-1, keepdims=True)
        return total

    @cached_property
    def adjustment(self) -> Floats:
        """What a residual is multiplied by, so that its square has the right mean for independent rows.

        A large cluster pulls the mean of its side towards itself.
        """
        share = divide(self.weight, self.total)
        mean_square = self.square - 2 * share * self.square
        mean_square = mean_square + share**2 * self.square.sum(-1, keepdims=True)
        has_rows = self.square > 0
        is_alone = has_rows & (mean_square <= EQUAL * self.square)  # all rows of the side
        with np.errstate(invalid="ignore"):
            factor = np.sqrt(divide(self.square, mean_square))
        return np.where(is_alone, 1.0, np.where(has_rows, factor, 0.0))

    @cached_property
    def covariance(self) -> Floats:
        """CR2 of the sides' means, shape (..., sides, sides).

        Where clusters are of one side each, a few heavy ones that agree by chance leave no trace in it. So a
        variance is no less than a part of `expected_variance`: none of it where all clusters weigh the same,
        nearly all of it where a few weigh as much as all others.
        """
        influence = np.where(self.square > 0, divide(self.adjustment * self.residual, self.total), 0.0)
        covariance: Floats = influence @ np.swapaxes(influence, -1, -2)
        sides = covariance.shape[-1]
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        is_apart = ((self.square > 0).sum(-2) <= 1).all(-1)[..., None] & (sides > 1)
        if not is_apart.any():
            return covariance
        least = self.unevenness**UNEVEN_POWER * self.expected_variance
        missing = np.where(is_apart, np.maximum(least - variance, 0.0), 0.0)
        return covariance + missing[..., None] * np.eye(sides)

    @cached_property
    def unevenness(self) -> Floats:
        """How much the clusters of each side differ in weight, from 0 (not at all) to 1, shape (..., sides).

        It is 1 less the number of equal clusters that would say as much, over the number there is.
        """
        n_clusters = (self.square > 0).sum(-1)
        equal = divide(self.total[..., 0] ** 2, (self.weight**2).sum(-1))
        return np.clip(1.0 - np.nan_to_num(divide(equal, n_clusters), nan=1.0), 0.0, 1.0)

    @cached_property
    def expected_variance(self) -> Floats:
        """The variance of each side's mean by the sizes of its clusters, shape (..., sides).

        Rows are as alike as the mean over clusters says, each cluster alike: those of the side itself, or of
        all, where these are more alike.
        """
        pairs = self.weight**2 - self.square
        several = pairs > EQUAL * self.weight**2
        products = np.where(several, divide(self.residual**2 - self.residual_square, pairs), 0.0).sum(-1)
        square = self.square.sum(-1)
        of_row = divide(self.residual_square.sum(-1), square)
        largest = several.sum(-1) * of_row
        of_side = np.nan_to_num(divide(products, largest))
        of_all = np.nan_to_num(divide(products.sum(-1), largest.sum(-1)))[..., None]
        likeness = np.clip(np.maximum(of_side, of_all), 0.0, 1.0)
        size = likeness * (self.weight**2).sum(-1) + (1 - likeness) * square
        return np.nan_to_num(divide(of_row * size, self.total[..., 0] ** 2))

    @cached_property
    def likeness(self) -> Floats:
        """The correlation of two rows of a cluster, from 0 to 1, shape (...)."""
        total_square = self.residual_square.sum((-1, -2))
        together = (self.residual.sum(-2) ** 2).sum(-1)
        weight = self.weight.sum(-2)
        square = self.square.sum(-2)
        pairs = (weight**2 - square).sum(-1)  # Σ over pairs of rows of the products of their weights
        per_pair = divide(together - total_square, pairs)
        likeness = divide(per_pair, divide(total_square, square.sum(-1)))
        has_pairs = (pairs > EQUAL * square.sum(-1)) & (total_square > 0)
        return np.where(has_pairs, np.clip(likeness, 0.0, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class RateSums:
    """The rows of each cluster that two rates count; arrays of shape (..., 2, clusters), the reference first.

    Parameters
    ----------
    weight, square : array
        Sums of weights and squared weights of the rows below the bar of the rate. Of a share of a list: of
        the whole list, twice.
    selected, selected_square : array
        The same of those above it.
    """

    weight: Floats
    square: Floats
    selected: Floats
    selected_square: Floats

    @cached_property
    def rates(self) -> Floats:
        """The two rates, shape (..., 2)."""
        return divide(self.selected.sum(-1), self.weight.sum(-1))

    @cached_property
    def deviations(self) -> ClusterSums:
        """The rows' distances from their rates."""
        rate = self.rates[..., None]
        missed_square = self.square - self.selected_square
        residual = np.where(self.square > 0, self.selected - self.weight * rate, 0.0)
        residual_square = (1 - rate) ** 2 * self.selected_square + rate**2 * missed_square
        return ClusterSums(
            self.weight, self.square, residual, np.where(self.square > 0, residual_square, 0.0)
        )

    def list_deviations(self, tau: Floats) -> ClusterSums:
        """Return the distances of the rows of a list from the mean of 1 in the group, −τ in its reference."""
        signs = _signs_at(tau)[..., None]
        mean = (self.rates * _signs_at(tau)).sum(-1)[..., None, None]
        weight = self.weight[..., :1, :]
        square = self.square[..., :1, :]
        missed_square = square - self.selected_square.sum(-2, keepdims=True)
        residual = (signs * self.selected).sum(-2, keepdims=True) - mean * weight
        residual_square = ((signs - mean) ** 2 * self.selected_square).sum(-2, keepdims=True)
        return ClusterSums(weight, square, residual, residual_square + mean**2 * missed_square)


@dataclass(frozen=True, eq=False)
class ClusteredComparison:
    """What clusters say of two rates; arrays of one shape.

    Parameters
    ----------
    p, outside_p : array
        Two-sided, of "the rates are equal", and of "their ratio lies from τ to 1/τ". Like all other numbers
        NaN where `is_tested` is false.
    ratio_low, ratio_high, difference_low, difference_high : array
        The ends of the intervals.
    variance, degrees : array
        Of the difference.
    has_clusters : bool array
        Whether both sides have rows in at least two clusters.
    is_tested : bool array
        Whether both, too, have two clusters with somebody who is selected and two with somebody who is not.
    """

    p: Floats
    outside_p: Floats
    ratio_low: Floats
    ratio_high: Floats
    difference_low: Floats
    difference_high: Floats
    variance: Floats
    degrees: Floats
    has_clusters: Bools
    is_tested: Bools


def compare_rates(
    ways: Sequence[RateSums], tau: ArrayLike, confidence: ArrayLike = 0.95, *, of_list: bool = False
) -> ClusteredComparison:
    """Compare rates whose rows come in clusters.

    Parameters
    ----------
    ways : sequence of RateSums
        By the clusters of one column; or by those of one, of another, and of both together.
    tau : array
        Ratios from τ to 1/τ are allowed.
    confidence : float, or array of one for each
        Of the intervals.
    of_list : bool
        Whether the rates are shares of one list.

    Examples
    --------
    >>> sums = np.array([[[12.0, 20, 3, 10], [8, 5, 17, 10]], [[5, 8, 2, 3], [2, 1, 6, 3]]])
    >>> found = compare_rates([RateSums(sums[0], sums[0], sums[1], sums[1])], 0.8)
    >>> [round(float(number), 4) for number in (found.p, found.ratio_low, found.ratio_high, found.degrees)]
    [0.0642, 0.5044, 1.0314, 2.9807]
    """
    rates = ways[0].rates
    tau = np.broadcast_to(np.asarray(tau, dtype=np.float64), rates.shape[:-1])
    at_one = contrast_variance(ways, np.ones(tau.shape), of_list=of_list)
    # The degrees of freedom of the others are used by nobody, and take as long as the variances.
    at_zero, at_two = (
        largest_variance(*_contrast(ways, np.full(tau.shape, value), of_list=of_list))
        for value in OTHER_TAUS_OF_RATIO
    )
    has_clusters = np.ones(tau.shape, dtype=bool)
    is_tested = at_one.variance > 0
    for way in ways:
        missed = way.weight - way.selected > EQUAL * way.weight
        has_clusters = has_clusters & _are_enough(way.square > 0)
        is_tested = is_tested & _are_enough(way.selected > 0) & _are_enough(missed)
    is_tested = is_tested & has_clusters

    def if_tested(values: Floats) -> Floats:
        return np.where(is_tested, values, np.nan)

    t = divide(rates[..., 1] - rates[..., 0], np.sqrt(at_one.variance))
    reach = t_quantile(at_one.degrees, confidence)
    half = reach * np.sqrt(at_one.variance)
    difference = rates[..., 1] - rates[..., 0]
    ratio_low, ratio_high = fieller_interval(rates, (at_zero, at_one.variance, at_two), reach)
    return ClusteredComparison(
        p=if_tested(t_test_p(t, at_one.degrees)),
        outside_p=if_tested(_outside_p(ways, tau, of_list=of_list)),
        ratio_low=if_tested(ratio_low),
        ratio_high=if_tested(ratio_high),
        difference_low=if_tested(difference - half),
        difference_high=if_tested(difference + half),
        variance=if_tested(at_one.variance),
        degrees=if_tested(at_one.degrees),
        has_clusters=has_clusters,
        is_tested=is_tested,
    )


def _are_enough(mask: Bools) -> Bools:
    """Return whether both sides have clusters enough for which `mask` is true, shape (...)."""
    are_enough: Bools = (mask.sum(-1) >= LEAST_CLUSTERS).all(-1)
    return are_enough


def _outside_p(ways: Sequence[RateSums], tau: Floats, *, of_list: bool) -> Floats:
    """Return two-sided p-values of "the ratio lies from τ to 1/τ": the smaller of both ends."""
    rates = ways[0].rates
    p = np.ones(tau.shape)
    # Below the band the contrast at τ is far below 0, above it that at 1/τ is far above 0.
    for limit, side in ((tau, -1.0), (divide(1.0, tau), 1.0)):
        variance, degrees = contrast_variance(ways, limit, of_list=of_list)
        t = side * divide((rates * _signs_at(limit)).sum(-1), np.sqrt(variance))
        p = np.fmin(p, t_test_p(np.maximum(t, 0.0), degrees))
    return p


def _signs_at(tau: Floats) -> Floats:
    """Return the signs of the reference's rate and of the group's at τ, shape (..., 2)."""
    return np.stack([-tau, np.ones_like(tau)], axis=-1)


def contrast_variance(ways: Sequence[RateSums], tau: Floats, *, of_list: bool = False) -> Variance:
    """Return the variance of r₁ − τ r₀, and the degrees of freedom of its t."""
    return linear_variance(*_contrast(ways, tau, of_list=of_list))


def _contrast(ways: Sequence[RateSums], tau: Floats, *, of_list: bool) -> tuple[list[ClusterSums], Floats]:
    """Return the sums of clusters behind r₁ − τ r₀, and the signs of their sides."""
    if of_list:
        return [way.list_deviations(tau) for way in ways], np.ones((*tau.shape, 1))
    return [way.deviations for way in ways], _signs_at(tau)


def largest_variance(ways: Sequence[ClusterSums], signs: Floats) -> Floats:
    """Return the variance of `linear_variance`, without its degrees of freedom."""
    variances = _variances_by_way(ways, signs)
    return select_way(variances, variances)


def _variances_by_way(ways: Sequence[ClusterSums], signs: Floats) -> list[Floats]:
    """Return the variance of the sides' estimates times `signs` by each column of clusters."""
    return [(signs * (way.covariance @ signs[..., None])[..., 0]).sum(-1) for way in ways]


def linear_variance(ways: Sequence[ClusterSums], signs: Floats) -> Variance:
    """Return the variance of the sides' estimates times `signs`, and its degrees of freedom.

    Of clusters by two columns it is the largest of three: by one column, by the other, and the sum of both
    less that by both together. The degrees of freedom are those of its column; of the sum the fewer of both.
    """
    variances = _variances_by_way(ways, signs)
    degrees = [degrees_of_freedom(way, signs) for way in ways[:2]]
    if len(ways) == 1:
        return Variance(variances[0], degrees[0])
    candidates = _three_ways(variances)
    candidate_degrees = np.stack([*degrees, np.minimum(*degrees)])
    return Variance(_take_largest(candidates, candidates), _take_largest(candidate_degrees, candidates))


def select_way(values: Sequence[Floats], variances: Sequence[Floats]) -> Floats:
    """Return the value by the columns of clusters that have the largest of some variances.

    Parameters
    ----------
    values, variances : sequence of arrays
        By one column; or by one, by another, and by both together.
    """
    if len(values) == 1:
        return values[0]
    return _take_largest(_three_ways(values), _three_ways(variances))


def _three_ways(values: Sequence[Floats]) -> Floats:
    """Return values by one column, by the other, and of both less what is counted twice, (3, ...)."""
    by_first, by_second, by_both = values
    return np.stack([by_first, by_second, by_first + by_second - by_both])


def _take_largest(candidates: Floats, variances: Floats) -> Floats:
    """Return the candidates with the largest variances, along the first axis."""
    largest = np.argmax(variances, axis=0)[None]
    taken: Floats = np.take_along_axis(candidates, largest, axis=0)[0]
    return taken


def degrees_of_freedom(sums: ClusterSums, signs: Floats, likeness: Floats | None = None) -> Floats:
    """Return Satterthwaite's degrees of freedom of the variance of a contrast, at least 1.

    It is (tr G)² / tr(G²), where G is the covariance of the clusters' terms if two rows of a cluster are as
    alike as `likeness` says, by default as estimated. G is diagonal but for a matrix of rank 2 × sides, so
    that no matrix of all clusters is needed.
    """
    rho = sums.likeness if likeness is None else likeness
    rho = np.asarray(rho, dtype=np.float64)[..., None, None]
    total = sums.total
    b = np.where(sums.square > 0, divide(signs[..., None] * sums.adjustment, total), 0.0)
    shared = (sums.weight * b).sum(-2, keepdims=True)
    kappa = rho * sums.weight * shared + (1 - rho) * sums.square * b
    k = (b * kappa).sum(-2)
    pull = b * divide(sums.weight, total)
    pull = np.where(sums.square > 0, pull, 0.0)
    # The covariance of the sides' sums.
    between = rho * (sums.weight @ np.swapaxes(sums.weight, -1, -2))
    sides = b.shape[-2]
    identity = np.eye(sides)
    sides_covariance = between + (1 - rho) * identity * sums.square.sum(-1)[..., None, :]
    # G = diag(k) + U' M U, with the rows of U those of kappa and pull.
    u = np.concatenate([kappa, pull], axis=-2)
    m = np.zeros((*sides_covariance.shape[:-2], 2 * sides, 2 * sides))
    m[..., :sides, sides:] = -identity
    m[..., sides:, :sides] = -identity
    m[..., sides:, sides:] = sides_covariance
    transposed = np.swapaxes(u, -1, -2)
    ml = m @ (u @ transposed)
    weighted = m @ ((u * k[..., None, :]) @ transposed)
    trace = k.sum(-1) + np.trace(ml, axis1=-2, axis2=-1)
    trace_of_square = (k**2).sum(-1) + np.trace(2 * weighted + ml @ ml, axis1=-2, axis2=-1)
    return np.fmax(divide(trace**2, trace_of_square), LEAST_DEGREES)


def t_test_p(t: Floats, degrees: Floats) -> Floats:
    """Return P(|T| ≥ |t|), two-sided.

    >>> t_test_p(np.array([0.0, 2.228]), np.array([10.0, 10.0])).round(3).tolist()
    [1.0, 0.05]
    """
    from scipy.special import stdtr

    p: Floats = 2.0 * np.asarray(stdtr(degrees, -np.abs(t)), dtype=np.float64)
    return p


def t_quantile(degrees: Floats, confidence: ArrayLike) -> Floats:
    """Return how many standard errors an interval reaches to each side.

    >>> t_quantile(np.array([10.0]), 0.95).round(3).tolist()
    [2.228]
    """
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, (1 + np.asarray(confidence)) / 2), dtype=np.float64)


def gradient_sums(
    n: Floats, squares: Floats, gradient: Floats, counted: Bools | None = None
) -> tuple[ClusterSums, Floats]:
    """Return the sums of clusters for a smooth function of the counts of groups, and the signs of its sides.

    Parameters
    ----------
    n, squares : array, shape (clusters, groups, cells)
        Weights and squared weights of each cluster.
    gradient : array, shape (groups, cells)
        How the function changes with each count.
    counted : bool array, shape (groups, cells), optional
        Which rows count; by default those of cells that change the function.

    Returns
    -------
    ClusterSums, array
        The sides are the groups, or all rows together where the function depends on how large the groups are.
        Residuals of all have one sign where rows are alike: what raises a difference in the group lowers it
        in the reference.
    """
    if counted is None:
        counted = gradient != 0
    signs = np.where((gradient[0] * gradient * n.sum((0, 1))).sum(-1) >= 0, 1.0, -1.0)
    weight = (n * counted).sum(-1).T
    square = (squares * counted).sum(-1).T
    change = (n * gradient).sum(-1).T
    change_square = (squares * gradient**2).sum(-1).T
    drift = np.abs(change.sum(-1))
    if (drift > DRIFT * np.abs(n * gradient).sum((0, 2))).any():
        weight = weight.sum(0, keepdims=True)
        square = square.sum(0, keepdims=True)
        change = change.sum(0, keepdims=True)
        change_square = change_square.sum(0, keepdims=True)
        signs = np.ones(1)
    total = weight.sum(-1, keepdims=True)
    residual = signs[:, None] * total * change
    return ClusterSums(weight, square, residual, total**2 * change_square), signs


def fieller_interval(
    rates: Floats, variances: tuple[Floats, Floats, Floats], reach: Floats
) -> tuple[Floats, Floats]:
    """Return Fieller's interval of r₁ / r₀: the ratios τ with (r₁ − τ r₀)² ≤ reach² V(τ).

    Parameters
    ----------
    rates : array, shape (..., 2)
        The reference's, then the group's.
    variances : tuple of three arrays
        V at τ = 0, 1 and 2.
    reach : array
        The quantile of Student's t.

    Returns
    -------
    tuple of two arrays
        No upper end (infinity) where the reference's rate itself may be 0. Where the ratios are two ranges,
        that of the measured ratio.

    Examples
    --------
    >>> rates = np.array([0.4, 0.3])
    >>> variances = np.array(0.001), np.array(0.003), np.array(0.009)
    >>> low, high = fieller_interval(rates, variances, np.array(2.0))
    >>> round(float(low), 4), round(float(high), 4)
    (0.5497, 1.0292)
    """
    at_zero, at_one, at_two = variances
    of_reference = (at_two - 2 * at_one + at_zero) / 2
    covariance = (at_zero + of_reference - at_one) / 2
    reference = rates[..., 0]
    rate = rates[..., 1]
    # a τ² − 2 b τ + c ≤ 0
    a = reference**2 - reach**2 * of_reference
    b = reference * rate - reach**2 * covariance
    c = rate**2 - reach**2 * at_zero
    has_roots = b**2 >= a * c
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    roots = np.stack([divide(b - root, a), divide(b + root, a)])
    lower = roots.min(0)
    upper = roots.max(0)
    is_bounded = a > 0
    ratio = divide(rate, reference)
    # Without a bound ratios are excluded between the roots, if at all.
    is_above = has_roots & (ratio >= upper)
    is_below = has_roots & (ratio <= lower)
    low = np.where(is_bounded, lower, np.where(is_above, upper, 0.0))
    high = np.where(is_bounded, upper, np.where(is_below, lower, np.inf))
    return np.maximum(low, 0.0), high
