"""Sums of powers of an outcome by group: all that comparisons of means need, from one pass over the rows.

Values are shifted by a constant near their mean before they are squared: of a billion ± 1 the plain sums of
squares would lose every digit. With one shift for all groups of a column, sums of slices and parts add.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import EllipsisType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.clusters import ClusterSums
from fairbench_cli.measures.counts import Floats, divide

Ints = NDArray[np.intp]
Index = int | slice | EllipsisType | Ints | list[int]

UNWEIGHTED_POWERS = ((1, 0), (1, 1), (1, 2), (1, 3), (1, 4))
POWERS = (*UNWEIGHTED_POWERS, (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3))
"""Of each sum Σ wᵃ zᵇ a and b; z is the value less the shift. Without weights those with a = 1 will do."""
BLOCK = 1 << 15  # rows that are summed at a time
ROUNDING = 4 * float(np.finfo(np.float64).eps)  # times the rows: what adding them up may lose of a sum


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of powers of weights and values; arrays of one shape (...), usually with the groups as last axis.

    Parameters
    ----------
    rows : array, shape (...)
        Numbers of rows whose weight is not 0.
    sums : array, shape (len(POWERS), ...)
        Σ wᵃ (x − shift)ᵇ for each of `POWERS`.
    shift : float
        The same for all that is to be compared or added.

    Examples
    --------
    >>> moments = sum_powers([1.0, 2, 6, 5, 7], [0, 0, 0, 1, 1], 2, shift=3.0)
    >>> moments.mean.tolist(), moments.variance.tolist(), moments.merge().mean.tolist()
    ([3.0, 6.0], [7.0, 2.0], 4.2)
    """

    rows: Floats
    sums: Floats
    shift: float = 0.0

    def __add__(self, addend: "Moments") -> "Moments":
        """Add moments around the same shift: the moments of the rows of both."""
        if self.shift != addend.shift:
            raise ValueError(f"moments around {self.shift} and around {addend.shift} cannot be added")
        return Moments(self.rows + addend.rows, self.sums + addend.sums, self.shift)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> "Moments":
        """Return the moments of some groups, as numpy indexes an array of their shape."""
        indices = index if isinstance(index, tuple) else (index,)
        return replace(self, rows=np.asarray(self.rows[indices]), sums=self.sums[slice(None), *indices])

    def reshape(self, *shape: int) -> "Moments":
        """Return the same moments in another shape."""
        return Moments(self.rows.reshape(shape), self.sums.reshape(len(self.sums), *shape), self.shift)

    def merge(self, axis: int = -1) -> "Moments":
        """Return the moments of all rows along an axis that is counted from the last."""
        return replace(self, rows=np.asarray(self.rows.sum(axis)), sums=self.sums.sum(axis))

    def power_sum(self, weight: int, value: int) -> Floats:
        """Return Σ wᵃ (x − shift)ᵇ for one of `POWERS`."""
        power_sum: Floats = self.sums[POWERS.index((weight, value))]
        return power_sum

    def central_sum(self, weight: int, value: int) -> Floats:
        """Return Σ wᵃ (x − mean)ᵇ for one of `POWERS`; even ones are 0 where all values are equal."""
        distance = self._distance
        central = np.zeros(np.shape(self.rows))
        for power in range(value + 1):
            factor = math.comb(value, power) * (-distance) ** (value - power)
            central = central + factor * self.power_sum(weight, power)
        if value % 2 == 0:
            # Rounding is no spread: what adding up may have lost counts as 0.
            lost = ROUNDING * self.rows * self.power_sum(weight, value)
            central = np.where(central <= lost, 0.0, central)
        return np.where(self._is_constant, 0.0, central) if value else central

    @property
    def _distance(self) -> Floats:
        """How far the mean is from the shift."""
        return divide(self.power_sum(1, 1), self.power_sum(1, 0))

    @property
    def _is_constant(self) -> NDArray[np.bool_]:
        square = self.power_sum(1, 2)
        spread = square - self._distance * self.power_sum(1, 1)
        is_constant: NDArray[np.bool_] = spread <= ROUNDING * self.rows * square
        return is_constant

    @property
    def weight(self) -> Floats:
        """Sums of weights."""
        return self.power_sum(1, 0)

    @property
    def effective_rows(self) -> Floats:
        """How many rows of equal weight say as much (Kish); without weights the rows."""
        return divide(self.weight**2, self.power_sum(2, 0))

    @property
    def mean(self) -> Floats:
        """Means; NaN without rows."""
        return np.asarray(self.shift + self._distance)

    @property
    def variance(self) -> Floats:
        """Variances of the population that the rows are drawn from: n − 1 below; NaN of one row."""
        below = self.weight - divide(self.power_sum(2, 0), self.weight)
        return divide(self.central_sum(1, 2), np.where(self.rows > 1, below, 0.0))

    @property
    def deviation(self) -> Floats:
        """Standard deviations."""
        return np.sqrt(self.variance)

    @property
    def variance_of_mean(self) -> Floats:
        """Variances of means, n/(n − 1) Σ (w(x − mean)/W)²: variance/n without weights, NaN of one row."""
        return divide(self.rows * self.central_sum(2, 2), (self.rows - 1) * self.weight**2)

    @property
    def third_of_mean(self) -> Floats:
        """Third central moments of the means, unbiased without weights; NaN of fewer than three rows."""
        below = (self.rows - 1) * (self.rows - 2) * self.weight**3
        return divide(self.rows**2 * self.central_sum(3, 3), np.where(self.rows > 2, below, np.nan))

    @property
    def third(self) -> Floats:
        """Third central moments of the population, unbiased without weights; NaN of fewer than three rows."""
        n = self.effective_rows
        below = (n - 1) * (n - 2) * self.weight
        return divide(n**2 * self.central_sum(1, 3), np.where(self.rows > 2, below, np.nan))

    @property
    def fourth(self) -> Floats:
        """Fourth central moments of the rows, Σ w(x − mean)⁴ / W."""
        return divide(self.central_sum(1, 4), self.weight)


def moments_from_sums(rows: ArrayLike, sums: ArrayLike, shift: float = 0.0) -> Moments:
    """Return the moments of sums that were made elsewhere, of all `POWERS` or `UNWEIGHTED_POWERS` alone.

    >>> moments_from_sums(3, [3, 6, 14, 36, 98]).variance.tolist()
    1.0
    """
    power_sums = np.asarray(sums, dtype=np.float64)
    if len(power_sums) == len(UNWEIGHTED_POWERS):
        power_sums = power_sums[[value for _, value in POWERS]]
    return Moments(np.asarray(rows, dtype=np.float64), power_sums, shift)


def sum_powers(
    values: ArrayLike,
    groups: ArrayLike,
    n_groups: int,
    weights: ArrayLike | None = None,
    *,
    shift: float = 0.0,
) -> Moments:
    """Return the moments of rows by group.

    Parameters
    ----------
    values : array of float, shape (rows,)
    groups : array of int, shape (rows,)
        The index of each row's group.
    n_groups : int
    weights : array of float, shape (rows,), optional
    shift : float
        Near the mean of all values.
    """
    codes = np.asarray(groups, dtype=np.intp)
    z = np.asarray(values, dtype=np.float64) - shift

    def add_up(terms: Floats | None) -> Floats:
        return np.bincount(codes, terms, n_groups).astype(np.float64)

    if weights is None:
        sums = [add_up(z**value) for _, value in UNWEIGHTED_POWERS]
        return moments_from_sums(sums[0], sums, shift)
    w = np.asarray(weights, dtype=np.float64)
    sums = [add_up(w**weight * z**value) for weight, value in POWERS]
    return Moments(add_up((w > 0).astype(np.float64)), np.stack(sums), shift)


def sum_powers_of_groups(values_by_group: Sequence[Floats], *, shift: float = 0.0) -> Moments:
    """Return the moments of rows without weights that are apart by group already.

    >>> moments = sum_powers_of_groups([np.array([1.0, 2, 6]), np.array([5.0, 7])], shift=3.0)
    >>> moments.mean.tolist(), moments.variance.tolist()
    ([3.0, 6.0], [7.0, 2.0])
    """
    sums = np.zeros((len(UNWEIGHTED_POWERS), len(values_by_group)))
    for g, values in enumerate(values_by_group):
        sums[0, g] = len(values)
        for start in range(0, len(values), BLOCK):  # which stays in the processor's cache
            z = values[start : start + BLOCK] - shift
            square = z * z
            sums[1, g] += z.sum()
            sums[2, g] += square.sum()
            sums[3, g] += np.einsum("i,i->", square, z)
            sums[4, g] += np.einsum("i,i->", square, square)
    return moments_from_sums(sums[0], sums, shift)


def sum_powers_along(values: ArrayLike, weights: ArrayLike | None = None, *, shift: float = 0.0) -> Moments:
    """Return the moments of rows along the last axis, which are of one group.

    >>> sum_powers_along([[1.0, 2, 3], [1, 1, 4]]).mean.tolist()
    [2.0, 2.0]
    """
    z = np.asarray(values, dtype=np.float64) - shift
    if weights is None:
        sums = [(z**value).sum(-1) for _, value in UNWEIGHTED_POWERS]
        return moments_from_sums(sums[0], np.stack(sums), shift)
    w = np.broadcast_to(np.asarray(weights, dtype=np.float64), z.shape)
    sums = [(w**weight * z**value).sum(-1) for weight, value in POWERS]
    return Moments((w > 0).sum(-1).astype(np.float64), np.stack(sums), shift)


def cluster_means(moments: Moments) -> ClusterSums:
    """Return how far the rows of each cluster are from the mean of their side.

    Parameters
    ----------
    moments : Moments, shape (..., sides, clusters)
        The reference first, where two groups are compared. Zeros where a side has no rows in a cluster.
    """
    distance = divide(moments.power_sum(1, 1).sum(-1), moments.weight.sum(-1))[..., None]
    square = moments.power_sum(2, 0)
    residual = moments.power_sum(1, 1) - distance * moments.weight
    residual_square = moments.power_sum(2, 2) - 2 * distance * moments.power_sum(2, 1) + distance**2 * square
    has_rows = square > 0
    return ClusterSums(
        moments.weight,
        square,
        np.where(has_rows, residual, 0.0),
        np.where(has_rows, np.maximum(residual_square, 0.0), 0.0),
    )


def select_sides(moments: Moments, group: Sequence[int] | int, reference: Sequence[int] | int) -> Moments:
    """Return moments of clusters of two sides, the reference first, from those of (groups, clusters)."""
    sides = [moments[np.atleast_1d(np.asarray(side))].merge(-2) for side in (reference, group)]
    rows = np.stack([side.rows for side in sides])
    return Moments(rows, np.stack([side.sums for side in sides], axis=1), moments.shift)
