"""Whether groups have the same shares of several classes: the whole table, and levels in an order.

χ² of a table of groups × classes, on as many rows as its weights or clusters are worth, with Cohen's w
(1988), the root of χ² per row, as how much. Needs numpy, scipy.special, and scipy.stats where few are
expected.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.counts import Floats, divide, row_masses
from fairbench_cli.measures.significance import FEW_EXPECTED

Ints = NDArray[np.intp]

PERMUTATIONS = 9_999
BLOCK = 4_000_000  # cells of tables at a time
SMALL_W = 0.1  # Cohen's "small"
MORE_MARGIN = 0.056  # of P(more) − ½: what two normal groups have whose means are 0.2 sd apart
MOST_TIMES = 1e9  # the rows: more are never had
SAME = 1e-9  # part of a statistic by which it may differ for rounding alone


@dataclass(frozen=True, eq=False)
class EffectiveRows:
    """How many independent rows a table is worth.

    Parameters
    ----------
    rows : float
    degrees : float, optional
        Of the χ² that a table's on these rows is like: fewer than (groups − 1) × (classes − 1) where a row is
        worth more in some cells than in others. Just these where left out.
    clusters : float
        Clusters with rows; infinite where rows are independent.
    """

    rows: float
    degrees: float | None = None
    clusters: float = math.inf


@dataclass(frozen=True, eq=False)
class ClassComparison:
    """A table of groups × classes, tested as a whole.

    Parameters
    ----------
    rows : float
        That count: Kish's number of weighted rows, fewer where rows of a cluster are alike.
    statistic : float
        χ² on these rows.
    degrees : int
        (groups − 1) × (classes − 1) of those that have rows; 0 leaves all but `rows` NaN.
    smallest_expected : float
        The least expected count of these rows.
    p : float
        Of "all groups have the same shares".
    is_permuted : bool
        Whether `p` is by permutations, as few rows are expected somewhere.
    w, low, high : float
        Cohen's w and its limits; from 0, as it is at least 0 and above it by chance.
    cramers_v : float
        From 0 to 1: w over the most that it can be.
    chance_degrees : float
        Of the χ² that the statistic is like; see `EffectiveRows`.
    """

    rows: float
    statistic: float
    degrees: int
    smallest_expected: float
    p: float
    is_permuted: bool
    w: float
    low: float
    high: float
    cramers_v: float
    chance_degrees: float

    @property
    def unbiased_w(self) -> float:
        """Cohen's w without what chance adds to it: the root of w² less its mean at equal shares, or 0.

        By this it is decided on which side of a margin w is; Bergsma (2013) corrects Cramér's V so.
        """
        excess = self.w**2 - float(divide(self.degrees, self.rows))
        return math.sqrt(max(excess, 0.0)) if not math.isnan(excess) else math.nan

    @property
    def chance_rows(self) -> float:
        """The rows by which w² is like a χ² with `chance_degrees`."""
        return float(divide(self.rows * self.chance_degrees, self.degrees))

    def outside_p(self, margin: float = SMALL_W) -> float:
        """Return p of "w is not above a margin"; the limits of w are those where it is (1 − confidence)/2.

        >>> table = compare_classes([[30, 53, 135], [35, 7, 36]], np.random.default_rng(0))
        >>> round(table.outside_p(table.low), 6)
        0.025
        """
        from scipy.special import chndtr

        if math.isnan(self.w):
            return math.nan
        rows = self.chance_rows
        return 1.0 - float(chndtr(rows * self.w**2, self.chance_degrees, rows * margin**2))

    def verdict(self, is_rejected: bool, margin: float = SMALL_W) -> Literal["pass", "fail", "undecided"]:
        """Return whether shares differ by more than a margin of w.

        Parameters
        ----------
        is_rejected : bool
            Whether `p` rejects equal shares in its family of tests.
        margin : float
            Of w.
        """
        if self.high < margin:
            return "pass"
        if is_rejected and self.unbiased_w > margin:
            return "fail"
        return "undecided"

    def rows_needed(
        self, level: float, margin: float = SMALL_W, *, confidence: float = 0.95, power: float = 0.8
    ) -> float:
        """Return how many times the rows would decide, were w as `unbiased_w`.

        Parameters
        ----------
        level : float
            Below which p rejects equal shares, where w is above the margin.
        margin : float
            Of w, above the upper limit of which a smaller w passes.
        confidence : float
            Of the limits.
        power : float
            How likely the verdict is to be.

        Returns
        -------
        float
            NaN where w is the margin, or there is none.

        Examples
        --------
        >>> table = compare_classes([[30, 20], [20, 30]], np.random.default_rng(0))
        >>> round(table.rows_needed(0.05), 2)
        2.62
        """
        from scipy.special import chdtri, chndtr, chndtrinc, chndtrix

        w = self.unbiased_w
        if math.isnan(w) or math.isnan(self.p) or w == margin:
            return math.nan
        degrees = self.chance_degrees
        if w > margin:
            rejected_from = chdtri(degrees, level)
            rows = float(chndtrinc(rejected_from, degrees, 1 - power)) / w**2
            return rows / self.chance_rows

        def is_enough(rows: float) -> bool:
            """Return whether a table of so many rows passes often enough."""
            passes_below = chndtrix((1 - confidence) / 2, degrees, rows * margin**2)
            return bool(chndtr(passes_below, degrees, rows * w**2) >= power)

        high = self.chance_rows
        while not is_enough(high):
            high *= 2
            if high > MOST_TIMES * self.chance_rows:
                return math.nan
        low = 0.0
        while high - low > high * 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high / self.chance_rows


def compare_classes(
    counts: ArrayLike,
    rng: np.random.Generator,
    effective: EffectiveRows | None = None,
    *,
    confidence: float = 0.95,
    permutations: int = PERMUTATIONS,
) -> ClassComparison:
    """Compare the shares of classes of all groups at once.

    p is that of χ², with clusters of F (Thomas & Rao 1987); where fewer than 5 rows are expected in a cell,
    it is by permutations of the rows. The limits of w are those of the noncentral χ² that the statistic fits.

    Parameters
    ----------
    counts : array, shape (groups, classes)
        Rows, or their weights.
    rng : numpy Generator
        Of the permutations.
    effective : EffectiveRows, optional
        What the rows are worth: `weighted_rows`, `clustered_rows`. Rows of equal weight where left out.
    confidence : float
        Of the limits.
    permutations : int

    Examples
    --------
    >>> table = compare_classes([[30, 53, 135], [35, 7, 36]], np.random.default_rng(0))
    >>> round(table.statistic, 3), table.degrees, round(table.w, 3), round(table.low, 3), round(table.high, 3)
    (34.46, 2, 0.341, 0.221, 0.451)
    """
    table = _without_empty(np.asarray(counts, dtype=np.float64))
    total = float(table.sum())
    if effective is None:
        effective = EffectiveRows(total)
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    if min(table.shape) < 2:
        nan = math.nan
        return ClassComparison(effective.rows, nan, 0, nan, nan, False, nan, nan, nan, nan, nan)
    shares = table / total
    w = math.sqrt(float(_square_contingency(shares)))
    statistic = effective.rows * w**2
    smallest_expected = effective.rows * float(shares.sum(1).min() * shares.sum(0).min())
    chance_degrees = effective.degrees or degrees
    is_permuted = smallest_expected < FEW_EXPECTED
    if is_permuted:
        p = permutation_p(shares, effective.rows, _square_contingency, rng, permutations)
    else:
        p = _chi_squared_p(statistic / degrees, chance_degrees, effective.clusters)
    low, high = w_limits(w, effective.rows * chance_degrees / degrees, chance_degrees, confidence)
    return ClassComparison(
        rows=effective.rows,
        statistic=statistic,
        degrees=degrees,
        smallest_expected=smallest_expected,
        p=p,
        is_permuted=is_permuted,
        w=w,
        low=low,
        high=high,
        cramers_v=w / math.sqrt(min(table.shape) - 1),
        chance_degrees=chance_degrees,
    )


def _without_empty(table: Floats) -> Floats:
    """Return a table without groups and classes that have no rows."""
    filled: Floats = table[table.sum(1) > 0][:, table.sum(0) > 0]
    return filled


def _square_contingency(tables: Floats) -> Floats:
    """Return χ² per row of tables of shares, shape (..., groups, classes); none of their margins is 0."""
    expected = tables.sum(-1, keepdims=True) * tables.sum(-2, keepdims=True)
    squares: Floats = (np.square(tables - expected) / expected).sum((-2, -1))
    return squares


def permutation_p(
    shares: Floats,
    rows: float,
    statistic: Callable[[Floats], Floats],
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> float:
    """Return the share of tables with the same margins that are as far from independence as this one.

    Parameters
    ----------
    shares : array, shape (groups, classes)
        Of all rows.
    rows : float
        That the table is worth, rounded, and so are its margins, as only whole rows can be permuted.
    statistic : callable
        How far tables are from independence, from (..., groups, classes) to (...): times the rows.
    rng : numpy Generator
    permutations : int

    Returns
    -------
    float
        NaN where less than two groups or classes are left.
    """
    from scipy.stats import random_table

    n_rows = round(rows)
    of_group = _round_to_sum(shares.sum(1) * n_rows, n_rows)
    of_class = _round_to_sum(shares.sum(0) * n_rows, n_rows)
    if min(np.count_nonzero(of_group), np.count_nonzero(of_class)) < 2:
        return math.nan
    tables = random_table(of_group[of_group > 0], of_class[of_class > 0])
    least = rows / n_rows * float(statistic(shares)) * (1 - SAME)
    n_as_far = 0
    n_at_once = max(BLOCK // shares.size, 1)
    for start in range(0, permutations, n_at_once):
        n_tables = min(n_at_once, permutations - start)
        drawn = tables.rvs(size=n_tables, random_state=rng)
        n_as_far += int(np.count_nonzero(statistic(drawn / n_rows) >= least))
    return (1 + n_as_far) / (1 + permutations)


def _round_to_sum(numbers: Floats, total: int) -> Ints:
    """Return whole numbers that add up to a total: those with the largest fractions are rounded up."""
    whole = np.floor(numbers + SAME)
    n_missing = total - int(whole.sum())
    largest = np.argsort(whole - numbers, kind="stable")[: max(n_missing, 0)]
    whole[largest] += 1
    return whole.astype(np.intp)


def _chi_squared_p(per_degree: float, degrees: float, clusters: float) -> float:
    """P(χ² / degrees ≥ per_degree); of F where few clusters leave its variance uncertain."""
    from scipy.special import chdtrc, fdtrc

    if math.isinf(clusters):
        return float(chdtrc(degrees, degrees * per_degree))
    return float(fdtrc(degrees, degrees * (clusters - 1), per_degree))


def w_limits(w: float, rows: float, degrees: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the limits of Cohen's w, by inverting the noncentral χ².

    Both are 0 where the table is more even than chance nearly ever has it.

    >>> low, high = w_limits(0.2, 400, 3)
    >>> round(low, 4), round(high, 4)
    (0.0828, 0.2875)
    """
    from scipy.special import chdtr, chndtrinc

    statistic = rows * w**2
    limits = []
    for share in ((1 + confidence) / 2, (1 - confidence) / 2):
        noncentrality = 0.0
        if chdtr(degrees, statistic) > share:
            noncentrality = float(chndtrinc(statistic, degrees, share))
        limits.append(math.sqrt(noncentrality / rows))
    return limits[0], limits[1]


def weighted_rows(counts: ArrayLike, squares: ArrayLike) -> EffectiveRows:
    """Return how many independent rows weighted ones are worth in a table: see `clustered_rows`.

    Parameters
    ----------
    counts, squares : array, shape (groups, classes)
        Sums of weights and of squared weights.

    Examples
    --------
    >>> effective = weighted_rows([[20, 10], [30, 20]], [[40, 20], [60, 40]])
    >>> round(effective.rows, 6), round(effective.degrees, 6)
    (40.0, 1.0)
    """
    table = np.asarray(counts, dtype=np.float64)
    filled = np.ix_(table.any(1), table.any(0))
    square = np.asarray(squares, dtype=np.float64)[filled]
    table = table[filled]
    if min(table.shape) < 2:
        return EffectiveRows(math.nan)
    kish = float(divide(table.sum() ** 2, square.sum()))
    shares = table / table.sum()
    of_cells = _independence_residuals(np.eye(table.size).reshape(-1, *table.shape), shares)
    covariance = (of_cells.T * square.ravel()) @ of_cells / table.sum() ** 2
    return _effective_rows(shares, covariance, kish)


def clustered_rows(
    clusters: ArrayLike, groups: ArrayLike, classes: ArrayLike, weights: ArrayLike | None = None
) -> EffectiveRows:
    """Return how many independent rows clusters are worth in a table of groups × classes.

    That is the correction of Rao & Scott (1981, 1984) to the second order: χ² is divided by the mean of its
    design effects, and has the fewer degrees of freedom the more these differ. They are of the departures
    P(g, c) − P(g) P(c) of all cells: the covariance of these by clusters, over P(g) P(c). At most Kish's
    number of rows.

    Parameters
    ----------
    clusters, groups, classes : array of int, shape (rows,)
        Codes; of groups and classes from 0.
    weights : array of float, shape (rows,), optional

    Examples
    --------
    Twenty rows, each four times:

    >>> groups, classes = np.repeat([0, 0, 1, 1], 20), np.repeat([0, 1] * 10, 4)
    >>> round(clustered_rows(np.repeat(np.arange(20), 4), groups, classes).rows, 6)
    19.0
    """
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    code = codes[order]
    mass = row_masses(weights, len(code))[order]
    group = np.unique(np.asarray(groups)[order], return_inverse=True)[1]
    class_ = np.unique(np.asarray(classes)[order], return_inverse=True)[1]
    shape = (int(group.max(initial=-1)) + 1, int(class_.max(initial=-1)) + 1)
    n_clusters = int(code.max(initial=-1)) + 1
    if min(shape) < 2 or n_clusters < 2:
        return EffectiveRows(math.nan, None, float(n_clusters))
    cells = ClusterCells(code, group, class_, mass)
    shares = np.bincount(group * shape[1] + class_, mass, shape[0] * shape[1]).reshape(shape) / mass.sum()
    kish = float(divide(mass.sum() ** 2, mass @ mass))
    return _effective_rows(shares, _cluster_covariance(cells, shares), kish, float(n_clusters))


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """Weights in a table of groups × classes by cluster; arrays of shape (cells,).

    Parameters
    ----------
    cluster, group, class_ : int arrays
        Codes, of groups and classes from 0. A cluster may have several entries in a cell, which add up.
    weight : float array
    """

    cluster: Ints
    group: Ints
    class_: Ints
    weight: Floats


def crossed_rows(ways: Sequence[ClusterCells], counts: ArrayLike, squares: ArrayLike) -> EffectiveRows:
    """Return how many independent rows a table is worth, as `clustered_rows`, where its sums are known.

    Rows that share either of two things are counted by each of the two, less what they share by both
    (Cameron, Gelbach & Miller 2011): at least as the one by which they vary more.

    Parameters
    ----------
    ways : sequence of ClusterCells
        By the one kind of clusters; or by one, by the other, and by both together.
    counts, squares : array, shape (groups, classes)
        Sums of weights and of squared weights.
    """
    table = np.asarray(counts, dtype=np.float64)
    rows = table.sum(1) > 0
    columns = table.sum(0) > 0
    n_clusters = min(len(np.unique(way.cluster)) for way in ways[:2])
    if min(rows.sum(), columns.sum()) < 2 or n_clusters < 2:
        return EffectiveRows(math.nan, None, float(n_clusters))
    table = table[rows][:, columns]
    shares = table / table.sum()
    row_of = np.cumsum(rows) - 1
    column_of = np.cumsum(columns) - 1
    covariances = []
    for way in ways:
        inside = np.logical_and(rows[way.group], columns[way.class_])
        cluster = np.unique(way.cluster[inside], return_inverse=True)[1]
        order = np.argsort(cluster, kind="stable")
        cells = ClusterCells(
            cluster[order],
            row_of[way.group[inside]][order],
            column_of[way.class_[inside]][order],
            way.weight[inside][order],
        )
        covariances.append(_cluster_covariance(cells, shares))
    covariance = max(covariances[:2], key=lambda single: float(np.trace(single)))
    if len(covariances) > 1:
        first, second, both = covariances
        covariance = max((first + second - both, covariance), key=lambda single: float(np.trace(single)))
    kish = float(divide(table.sum() ** 2, np.sum(squares)))
    return _effective_rows(shares, covariance, kish, float(n_clusters))


def _cluster_covariance(cells: ClusterCells, shares: Floats) -> Floats:
    """Return the covariance of the departures of all cells between clusters, whose codes rise from 0."""
    n_cells = shares.size
    n_clusters = int(cells.cluster.max(initial=-1)) + 1
    cell = cells.group * shares.shape[1] + cells.class_
    covariance = np.zeros((n_cells, n_cells))
    n_at_once = max(BLOCK // n_cells, 1)
    for start in range(0, n_clusters, n_at_once):
        n_block = min(n_at_once, n_clusters - start)
        first, end = np.searchsorted(cells.cluster, [start, start + n_block])
        table_cell = (cells.cluster[first:end] - start) * n_cells + cell[first:end]
        tables = np.bincount(table_cell, cells.weight[first:end], n_block * n_cells).astype(np.float64)
        residuals = _independence_residuals(tables.reshape(n_block, *shares.shape), shares)
        covariance += residuals.T @ residuals
    covariance *= n_clusters / (n_clusters - 1) / cells.weight.sum() ** 2
    return covariance


def _effective_rows(
    shares: Floats, covariance: Floats, most: float, clusters: float = math.inf
) -> EffectiveRows:
    """Return the rows that a table is worth, by the covariance of its departures, (cells, cells)."""
    expected = np.outer(shares.sum(1), shares.sum(0)).ravel()
    effects = covariance / np.sqrt(np.outer(expected, expected))
    total = float(np.trace(effects))
    degrees = (shares.shape[0] - 1) * (shares.shape[1] - 1)
    rows = min(float(divide(degrees, total)), most)
    return EffectiveRows(rows, float(divide(total**2, np.square(effects).sum())), clusters)


def _independence_residuals(tables: Floats, shares: Floats) -> Floats:
    """Return the sums of some rows to P(g, c) − P(g) P(c), shape (tables, cells).

    Parameters
    ----------
    tables : array, shape (tables, groups, classes)
        The weights of the rows.
    shares : array, shape (groups, classes)
        Of all rows.
    """
    of_group = shares.sum(1)
    of_class = shares.sum(0)
    weight = tables.sum((1, 2))[:, None]
    group_excess = tables.sum(2) - of_group * weight
    class_excess = tables.sum(1) - of_class * weight
    residuals: Floats = tables - shares * weight[:, None]
    residuals -= group_excess[:, :, None] * of_class
    residuals -= class_excess[:, None, :] * of_group[:, None]
    return residuals.reshape(len(tables), -1)
