"""Which of two groups has more: ranks of an outcome, from tables of its values or from sorted values.

The placement of a row is the share of the other group's rows below its value, those with the same value
counted half. The mean placement is the chance that a row of the group has more than one of the reference.
Its variance is Brunner and Munzel's (2000), which needs no equal spread, as Mann and Whitney's test does.
On the logit scale limits stay within 0 and 1, agree with p and hold what they say with few rows, too.

Values that repeat come as a table of them; those that nearly all differ sorted by group, and are merged in
blocks. Both end in the same sums.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbench_cli.measures.clusters import LEAST_CLUSTERS, ClusterSums, linear_variance, t_quantile, t_test_p
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.means import SIGNS, welch_degrees

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

BLOCK = 1 << 15  # rows of the larger group that are merged at a time
ROUNDING = 8 * float(np.finfo(np.float64).eps)  # placements that differ by less are equal


@dataclass(frozen=True, eq=False)
class ValueTable:
    """How often each value comes in each group.

    Parameters
    ----------
    values : array, shape (values,)
        All that differ, in order.
    rows : array, shape (groups,)
        Numbers of rows whose weight is not 0.
    counts, squares : array, shape (groups, values)
        Sums of weights and of squared weights; without weights both are numbers of rows.
    """

    values: Floats
    rows: Floats
    counts: Floats
    squares: Floats

    def select(self, groups: Sequence[int] | int) -> "ValueTable":
        """Return the table of all rows of some groups, as of one group."""
        indices = np.atleast_1d(np.asarray(groups, dtype=np.intp))
        return ValueTable(
            self.values,
            self.rows[indices].sum(keepdims=True),
            self.counts[indices].sum(0, keepdims=True),
            self.squares[indices].sum(0, keepdims=True),
        )


def count_values(
    values: ArrayLike, groups: ArrayLike, n_groups: int, weights: ArrayLike | None = None
) -> ValueTable:
    """Return the table of values of rows.

    >>> table = count_values([3.0, 1, 3, 2], [0, 0, 1, 1], 2)
    >>> table.values.tolist(), table.counts.tolist()
    ([1.0, 2.0, 3.0], [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    """
    distinct, codes = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    cells = np.asarray(groups, dtype=np.intp) * len(distinct) + codes
    shape = (n_groups, len(distinct))

    def add_up(terms: Floats | None) -> Floats:
        return np.bincount(cells, terms, n_groups * len(distinct)).astype(np.float64).reshape(shape)

    if weights is None:
        counts = add_up(None)
        return ValueTable(distinct, counts.sum(-1), counts, counts)
    w = np.asarray(weights, dtype=np.float64)
    rows = add_up((w > 0).astype(np.float64)).sum(-1)
    return ValueTable(distinct, rows, add_up(w), add_up(w**2))


class GroupTotals(NamedTuple):
    """Numbers of rows, sums of weights and of squared weights; arrays of shape (...)."""

    rows: Floats
    weight: Floats
    square: Floats

    @property
    def effective_rows(self) -> Floats:
        """How many rows of equal weight say as much (Kish)."""
        return divide(self.weight**2, self.square)


@dataclass(frozen=True, eq=False)
class SortedValues:
    """The values of a group in order, with the rows' weights if there are any."""

    values: Floats
    weights: Floats | None = None

    @property
    def totals(self) -> GroupTotals:
        """Rows, weights and squared weights of all values."""
        if self.weights is None:
            n = np.asarray(float(len(self.values)))
            return GroupTotals(n, n, n)
        rows = np.asarray(float(np.count_nonzero(self.weights)))
        return GroupTotals(rows, np.asarray(self.weights.sum()), np.asarray((self.weights**2).sum()))

    def weights_of(self, rows: slice) -> Floats:
        """Return the weights of some rows, 1 each without weights."""
        if self.weights is None:
            return np.ones(len(self.values[rows]))
        return self.weights[rows]


class PairedCounts(NamedTuple):
    """Weights of two groups' rows by value, in the order of the values; arrays of shape (..., values)."""

    group: Floats
    reference: Floats
    group_square: Floats
    reference_square: Floats


@dataclass(frozen=True, eq=False)
class PlacementSums:
    """What the placements of two groups' rows add up to; arrays of shape (...).

    Parameters
    ----------
    group, reference : GroupTotals
    p_more : array
        The chance that a row of the group has more than one of the reference, plus half that of as much.
    p_equal : array
        The chance that both have as much. Of values in bins `p_more` is right to ± half of it.
    group_variance, reference_variance : array
        Of the mean placements, n/(n − 1) Σ (w(placement − mean)/W)².
    largest_distance : array
        Of the two distributions (Kolmogorov and Smirnov).
    is_separate : bool array
        Whether all rows of one group have more than all of the other.
    """

    group: GroupTotals
    reference: GroupTotals
    p_more: Floats
    p_equal: Floats
    group_variance: Floats
    reference_variance: Floats
    largest_distance: Floats
    is_separate: Bools


def _sum_products(factors: Floats, others: Floats) -> Floats:
    """Return sums of products along the last axis, in one pass without an array of them."""
    return np.asarray(np.einsum("...i,...i->...", factors, others))


class _Spread(NamedTuple):
    """A sum of weights, the weighted mean of placements, and their squared distances from it."""

    weight: Floats
    mean: Floats
    squares: Floats

    def add(self, weights: Floats, placements: Floats) -> "_Spread":
        """Return the spread with more rows: no digit is lost where the placements are nearly equal."""
        weight = weights.sum(-1)
        mean = np.where(weight > 0, divide(_sum_products(weights, placements), weight), 0.0)
        distance = placements - mean[..., None]
        squares = _sum_products(weights * distance, distance)
        total = self.weight + weight
        share = np.where(total > 0, divide(weight, total), 0.0)
        step = mean - self.mean
        return _Spread(
            total, self.mean + share * step, self.squares + squares + self.weight * share * step**2
        )

    def around(self, center: Floats) -> Floats:
        """Return the squared distances from another centre; 0 where they are rounding."""
        squares = np.where(self.squares > ROUNDING**2 * self.weight, self.squares, 0.0)
        step = np.where(np.abs(center - self.mean) > ROUNDING, center - self.mean, 0.0)
        return np.asarray(squares + self.weight * step**2)


class _Range(NamedTuple):
    """The indices of the smallest and of the largest value that a group has."""

    start: Floats
    end: Floats

    def add(self, has_rows: Bools, offset: int) -> "_Range":
        """Return the range with the values of another block, which begin at an index."""
        is_inside = has_rows.any(-1)
        last_index = offset + has_rows.shape[-1] - 1
        start = np.where(is_inside, offset + np.argmax(has_rows, axis=-1), np.inf)
        end = np.where(is_inside, last_index - np.argmax(has_rows[..., ::-1], axis=-1), -np.inf)
        return _Range(np.minimum(self.start, start), np.maximum(self.end, end))


def sum_placements(
    blocks: Iterable[PairedCounts], group: GroupTotals, reference: GroupTotals
) -> PlacementSums:
    """Return the sums of placements from counts by value.

    Parameters
    ----------
    blocks : iterable of PairedCounts
        From the smallest values to the largest; no value is in two blocks.
    group, reference : GroupTotals
        Of all blocks.
    """
    shape = np.shape(group.weight)
    zeros = np.zeros(shape)
    group_seen = reference_seen = zeros
    group_spread = reference_spread = _Spread(zeros, zeros, zeros)
    more_sum = equal_sum = distance = zeros
    group_range = reference_range = _Range(np.full(shape, np.inf), np.full(shape, -np.inf))
    half_group = divide(0.5, np.where(group.weight > 0, group.weight, np.nan))[..., None]
    half_reference = divide(0.5, np.where(reference.weight > 0, reference.weight, np.nan))[..., None]
    offset = 0
    for block in blocks:
        # 1. Each group's share at or below a value, and the same with half of what is equal.
        group_sums = group_seen[..., None] + np.cumsum(block.group, axis=-1)
        reference_sums = reference_seen[..., None] + np.cumsum(block.reference, axis=-1)
        group_share = divide(group_sums, group.weight[..., None])
        reference_share = divide(reference_sums, reference.weight[..., None])
        group_middle = group_share - block.group * half_group
        reference_middle = reference_share - block.reference * half_reference
        # 2. The placements of the rows of one group are the middles of the other.
        more_sum = more_sum + _sum_products(block.group, reference_middle)
        equal_sum = equal_sum + _sum_products(block.group, block.reference)
        group_spread = group_spread.add(block.group_square, reference_middle)
        reference_spread = reference_spread.add(block.reference_square, group_middle)
        distance = np.maximum(distance, np.abs(group_share - reference_share).max(-1, initial=0.0))
        # 3. On to the next values.
        group_range = group_range.add(block.group > 0, offset)
        reference_range = reference_range.add(block.reference > 0, offset)
        offset += block.group.shape[-1]
        group_seen = group_sums[..., -1]
        reference_seen = reference_sums[..., -1]
    is_above = reference_range.end < group_range.start
    is_below = group_range.end < reference_range.start
    has_rows = (group.weight > 0) & (reference.weight > 0)
    is_separate = has_rows & (is_above | is_below)
    # Exactly 0 or 1, whatever weights add up to.
    p_more = np.where(is_separate, np.where(is_above, 1.0, 0.0), divide(more_sum, group.weight))
    p_more = np.where(has_rows, p_more, np.nan)
    group_squares = np.where(is_separate, 0.0, group_spread.around(p_more))
    reference_squares = np.where(is_separate, 0.0, reference_spread.around(1 - p_more))
    return PlacementSums(
        group,
        reference,
        p_more=p_more,
        p_equal=divide(equal_sum, group.weight * reference.weight),
        group_variance=_variance_of_mean(group_squares, group),
        reference_variance=_variance_of_mean(reference_squares, reference),
        largest_distance=np.where(has_rows, distance, np.nan),
        is_separate=is_separate,
    )


def _variance_of_mean(squares: Floats, total: GroupTotals) -> Floats:
    return divide(total.rows * squares, (total.rows - 1) * total.weight**2)


def table_placements(
    table: ValueTable, group: Sequence[int] | int, reference: Sequence[int] | int
) -> PlacementSums:
    """Return the sums of placements of some groups of a table against others.

    >>> sums = table_placements(count_values([3.0, 1, 3, 2], [0, 0, 1, 1], 2), 0, 1)
    >>> float(sums.p_more), float(sums.p_equal), float(sums.largest_distance)
    (0.375, 0.25, 0.5)
    """
    counts = pair_counts(table, group, reference)
    totals = [_totals(table.select(side)) for side in (group, reference)]
    return sum_placements([counts], totals[0], totals[1])


def pair_counts(
    table: ValueTable, group: Sequence[int] | int, reference: Sequence[int] | int
) -> PairedCounts:
    """Return the counts of some groups of a table and of others, each taken together."""
    side = table.select(group)
    reference_side = table.select(reference)
    return PairedCounts(side.counts[0], reference_side.counts[0], side.squares[0], reference_side.squares[0])


def _totals(table: ValueTable) -> GroupTotals:
    return GroupTotals(table.rows[0], table.counts[0].sum(), table.squares[0].sum())


def _equal_totals(n_rows: float, shape: tuple[int, ...] = ()) -> GroupTotals:
    """Return the totals of rows without weights, each an array of a shape."""
    n = np.full(shape, n_rows)
    return GroupTotals(n, n, n)


def row_placements(group: ArrayLike, reference: ArrayLike) -> PlacementSums:
    """Return the sums of placements of rows without weights along the last axis, one group in each array."""
    values = np.concatenate([group, reference], axis=-1, dtype=np.float64)
    n_group = np.shape(group)[-1]
    order = np.argsort(values, axis=-1, kind="stable")
    is_group = (order < n_group).astype(np.float64)
    counts = _count_in_order(np.take_along_axis(values, order, axis=-1), is_group, 1 - is_group)
    shape = values.shape[:-1]
    totals = _equal_totals(n_group, shape)
    reference_totals = _equal_totals(values.shape[-1] - n_group, shape)
    return sum_placements([PairedCounts(*counts, *counts)], totals, reference_totals)


def _count_in_order(values: Floats, *columns: Floats) -> list[Floats]:
    """Return the sums of columns over equal values, in the place of the last of them, where others are 0."""
    is_last = np.ones(values.shape, dtype=bool)
    is_last[..., :-1] = values[..., 1:] != values[..., :-1]
    if is_last.all():
        return list(columns)
    counts = []
    for column in columns:
        ends = np.where(is_last, np.cumsum(column, axis=-1), 0.0)
        before = np.zeros_like(ends)
        before[..., 1:] = np.maximum.accumulate(ends, axis=-1)[..., :-1]
        counts.append(np.where(is_last, ends - before, 0.0))
    return counts


def sorted_placements(group: SortedValues, reference: SortedValues) -> PlacementSums:
    """Return the sums of placements from the sorted values of two groups, without a table of them.

    >>> sums = sorted_placements(SortedValues(np.array([1.0, 3])), SortedValues(np.array([2.0, 3])))
    >>> float(sums.p_more), float(sums.p_equal), float(sums.largest_distance)
    (0.375, 0.25, 0.5)
    """
    return sum_placements(_merge(group, reference), group.totals, reference.totals)


def ordered_placements(groups: Ints, group: int, reference: int | None = None) -> PlacementSums:
    """Return the sums of placements of rows without weights from the order of their values, which all differ.

    Parameters
    ----------
    groups : int array, shape (rows,)
        The group of each row, the lowest value first.
    group : int
    reference : int or None
        None for all other groups.

    Examples
    --------
    >>> sums = ordered_placements(np.array([0, 1, 2, 0]), 0, 1)
    >>> float(sums.p_more), float(sums.largest_distance)
    (0.5, 0.5)
    """
    n_group = int(np.count_nonzero(groups == group))
    if reference is None:
        n_reference = len(groups) - n_group
    else:
        n_reference = int(np.count_nonzero(groups == reference))
    group_blocks: list[_BlockOfSide] = []
    reference_blocks: list[_BlockOfSide] = []
    group_seen = 0
    reference_seen = 0
    distance = 0.0
    for start in range(0, len(groups), BLOCK):
        block = groups[start : start + BLOCK]
        if reference is not None:
            block = block[(block == group) | (block == reference)]
        is_group = block == group
        # How many rows of the other side are below each row.
        index = np.flatnonzero(is_group)
        rank = np.arange(len(index))
        below = index - rank + reference_seen
        other_index = np.flatnonzero(~is_group)
        other_below = other_index - np.arange(len(other_index)) + group_seen
        if len(index):
            # Shares differ most just below a row of the group, or at it.
            difference = (rank + group_seen) * (1 / n_group) - below * (1 / max(n_reference, 1))
            distance = max(distance, -float(difference.min()), float(difference.max()) + 1 / n_group)
        group_blocks.append(_sum_block(below))
        reference_blocks.append(_sum_block(other_below))
        group_seen += len(index)
        reference_seen += len(other_index)
    group_totals = GroupTotals(*(np.asarray(float(n_group)) for _ in range(3)))
    reference_totals = GroupTotals(*(np.asarray(float(n_reference)) for _ in range(3)))
    mean_below, squares = _add_blocks(group_blocks)
    _, other_squares = _add_blocks(reference_blocks)
    p_more = divide(mean_below, reference_totals.rows)
    has_rows = n_group > 0 and n_reference > 0
    return PlacementSums(
        group_totals,
        reference_totals,
        p_more=np.where(has_rows, p_more, np.nan),
        p_equal=divide(np.asarray(0.0), group_totals.rows * reference_totals.rows),
        # Placements are shares of the other side.
        group_variance=_variance_of_mean(squares / max(n_reference, 1) ** 2, group_totals),
        reference_variance=_variance_of_mean(other_squares / max(n_group, 1) ** 2, reference_totals),
        largest_distance=np.where(has_rows, distance, np.nan),
        is_separate=has_rows & np.isin(p_more, (0.0, 1.0)),
    )


def tied_placements(values: Floats, groups: Ints, group: int, reference: int | None = None) -> PlacementSums:
    """Return the sums of placements of rows without weights in the order of their values, which may be equal.

    Parameters
    ----------
    values : array, shape (rows,)
    groups, group, reference
        As in `ordered_placements`.

    Examples
    --------
    >>> sums = tied_placements(np.array([1.0, 2, 3, 3]), np.array([0, 1, 0, 1]), 0, 1)
    >>> float(sums.p_more), float(sums.p_equal), float(sums.largest_distance)
    (0.375, 0.25, 0.5)
    """
    n_group = np.count_nonzero(groups == group)
    if reference is None:
        n_reference = len(groups) - n_group
    else:
        n_reference = np.count_nonzero(groups == reference)
    runs = _count_runs(values, groups, group, reference)
    return sum_placements(runs, _equal_totals(float(n_group)), _equal_totals(float(n_reference)))


def _count_runs(values: Floats, groups: Ints, group: int, reference: int | None) -> Iterator[PairedCounts]:
    """Yield the counts of two groups by value, of a block of rows at a time."""
    start = 0
    while start < len(values):
        stop = min(start + BLOCK, len(values))
        stop = int(np.searchsorted(values, values[stop - 1], "right"))  # equal values stay together
        block_values = values[start:stop]
        block = groups[start:stop]
        is_first = np.ones(len(block), dtype=bool)
        is_first[1:] = block_values[1:] != block_values[:-1]
        is_group = block == group
        is_reference = ~is_group if reference is None else block == reference
        begins = np.flatnonzero(is_first)
        counts = [np.add.reduceat(is_side, begins, dtype=np.float64) for is_side in (is_group, is_reference)]
        yield PairedCounts(*counts, *counts)
        start = stop


class _BlockOfSide(NamedTuple):
    """Rows of one side: how many; of the other how many are below on average; squared distances from that."""

    rows: int
    mean: float
    squares: float


def _sum_block(below: Ints) -> _BlockOfSide:
    if not len(below):
        return _BlockOfSide(0, 0.0, 0.0)
    mean = float(below.mean())
    distance = (below - mean).astype(np.float64, copy=False)
    return _BlockOfSide(len(below), mean, float(_sum_products(distance, distance)))


def _add_blocks(blocks: Sequence[_BlockOfSide]) -> tuple[Floats, Floats]:
    """Return the mean of all rows, and their squared distances from it."""
    rows, means, squares = np.array(blocks, dtype=np.float64).reshape(-1, 3).T
    mean = divide(_sum_products(rows, means), rows.sum())
    return mean, squares.sum() + _sum_products(rows, (means - mean) ** 2)


def _merge(group: SortedValues, reference: SortedValues) -> Iterator[PairedCounts]:
    """Yield the counts of two groups by value, of a block of the larger group at a time."""
    is_larger = len(group.values) >= len(reference.values)
    larger = group.values if is_larger else reference.values
    smaller = reference.values if is_larger else group.values
    start = other_start = 0
    while start < len(larger) or other_start < len(smaller):
        stop = start + BLOCK
        other_stop = len(smaller)
        if stop < len(larger):
            # Equal values stay together.
            value = larger[stop - 1]
            stop = int(np.searchsorted(larger, value, "right"))
            other_stop = int(np.searchsorted(smaller, value, "right"))
        slices = [slice(start, stop), slice(other_start, other_stop)]
        if not is_larger:
            slices.reverse()
        yield _merge_block(group, slices[0], reference, slices[1])
        start = stop
        other_start = other_stop


def _merge_block(
    group: SortedValues, group_rows: slice, reference: SortedValues, reference_rows: slice
) -> PairedCounts:
    sides = (group.values[group_rows], reference.values[reference_rows])
    values = np.concatenate(sides)
    # Sorting two runs that are sorted is merging them.
    order = np.argsort(values, kind="stable")
    is_group = order < len(sides[0])
    in_order = values[order]
    if group.weights is None and reference.weights is None:
        of_group = is_group.astype(np.float64)
        counts = _count_in_order(in_order, of_group, 1 - of_group)
        return PairedCounts(*counts, *counts)
    weights = np.concatenate([group.weights_of(group_rows), reference.weights_of(reference_rows)])[order]
    of_group = np.where(is_group, weights, 0.0)
    of_reference = np.where(is_group, 0.0, weights)
    return PairedCounts(*_count_in_order(in_order, of_group, of_reference, of_group**2, of_reference**2))


@dataclass(frozen=True, eq=False)
class RankComparison:
    """Which of two groups has more; arrays of one shape.

    Parameters
    ----------
    p_more, p_equal, error, degrees : array
        The chance that a row of the group has more than one of the reference, plus half that of as much; the
        chance of as much; the standard error of the first, and its degrees of freedom.
    low, high : array
        Limits on the logit scale; NaN where one group has more throughout.
    p : array
        Two-sided p of "as likely more as less" that agrees with the limits; where one group has more
        throughout that of all orders of the rows, of which two are like this one.
    statistic, p_t : array
        Brunner and Munzel's test with Student's t.
    largest_distance : array
        Of the two distributions.
    """

    p_more: Floats
    p_equal: Floats
    error: Floats
    degrees: Floats
    low: Floats
    high: Floats
    p: Floats
    statistic: Floats
    p_t: Floats
    largest_distance: Floats


def compare_placements(
    sums: PlacementSums, confidence: ArrayLike = 0.95, ways: Sequence[ClusterSums] = ()
) -> RankComparison:
    """Compare two groups by the placements of their rows.

    Parameters
    ----------
    sums : PlacementSums
    confidence : float, or array of one for each
    ways : sequence of ClusterSums, shape (..., 2, clusters)
        Of rows in clusters, the reference first (`cluster_placements`): by the clusters of one column; or by
        those of one, of another, and of both together.

    Examples
    --------
    >>> placebo = [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 1, 1]
    >>> drug = [3, 3, 4, 3, 1, 2, 3, 1, 1, 5, 4]
    >>> comparison = compare_placements(row_placements(drug, placebo))
    >>> round(float(comparison.p_more), 4), round(float(comparison.statistic), 4)
    (0.789, 3.1375)
    >>> round(float(comparison.p_t), 6), round(float(comparison.p), 6)
    (0.005786, 0.028561)
    """
    variance = sums.group_variance + sums.reference_variance
    degrees = welch_degrees(
        sums.group_variance,
        sums.group.effective_rows,
        sums.reference_variance,
        sums.reference.effective_rows,
    )
    if ways:
        signs = np.broadcast_to(np.array(SIGNS), (*np.shape(variance), 2))
        clustered, degrees = linear_variance(ways, signs)
        enough = [((way.square > 0).sum(-1) >= LEAST_CLUSTERS).all(-1) for way in ways]
        variance = np.where(np.all(enough, axis=0), clustered, np.nan)
    error = np.sqrt(variance)
    has_spread = error > 0
    degrees = np.where(has_spread, degrees, np.nan)
    statistic = divide(sums.p_more - 0.5, error)
    quantile = t_quantile(degrees, confidence)
    # On the logit scale: d log(P / (1 − P)) = dP / (P(1 − P)).
    odds = divide(sums.p_more, 1 - sums.p_more)
    step = divide(error, sums.p_more * (1 - sums.p_more))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_odds = np.log(odds)
        limits = [1 / (1 + np.exp(-(log_odds + side * quantile * step))) for side in (-1, 1)]
        p = t_test_p(divide(log_odds, step), degrees)
    p = np.where(sums.is_separate, _separation_p(sums, is_clustered=bool(ways)), p)
    return RankComparison(
        p_more=sums.p_more,
        p_equal=sums.p_equal,
        error=error,
        degrees=degrees,
        low=limits[0],
        high=limits[1],
        p=p,
        statistic=statistic,
        p_t=t_test_p(np.where(has_spread, statistic, np.nan), degrees),
        largest_distance=sums.largest_distance,
    )


def _separation_p(sums: PlacementSums, *, is_clustered: bool) -> Floats:
    """Return the chance of complete separation, to either side, if all orders of the rows are as likely."""
    from scipy.special import gammaln

    if is_clustered:  # rows of a cluster are not exchanged one by one
        return np.full(np.shape(sums.p_more), np.nan)
    n = sums.group.rows
    m = sums.reference.rows
    log_orders = gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1)
    return np.asarray(np.minimum(2 * np.exp(-log_orders), 1.0))


def cluster_placements(
    counts: PairedCounts,
    cluster: ArrayLike,
    is_group: ArrayLike,
    value_index: ArrayLike,
    weight: ArrayLike,
    square: ArrayLike,
) -> ClusterSums:
    """Return how far the placements of the rows of each cluster are from the mean of their side.

    Parameters
    ----------
    counts : PairedCounts, shape (values,)
        Of both groups (`pair_counts`).
    cluster, is_group, value_index, weight, square : arrays, shape (entries,)
        Codes of clusters; whether rows are of the group, not of its reference; the index of their value;
        sums of weights and of squared weights of the rows that are alike in these.

    Returns
    -------
    ClusterSums, shape (2, clusters)
        The reference first. Its placements are those among the group, so that rows of a cluster that have
        more are alike in both.
    """
    codes = np.asarray(cluster, dtype=np.intp)
    in_group = np.asarray(is_group, dtype=bool)
    w = np.asarray(weight, dtype=np.float64)
    w2 = np.asarray(square, dtype=np.float64)
    of_reference = divide(np.cumsum(counts.group) - counts.group / 2, counts.group.sum())
    of_group = divide(np.cumsum(counts.reference) - counts.reference / 2, counts.reference.sum())
    indices = np.asarray(value_index, dtype=np.intp)
    placement = np.where(in_group, of_group[indices], of_reference[indices])
    p_more = divide((counts.group * of_group).sum(), counts.group.sum())
    distance = placement - np.where(in_group, p_more, 1 - p_more)
    n_clusters = int(codes.max(initial=-1)) + 1
    cells = in_group * n_clusters + codes

    def add_up(terms: Floats) -> Floats:
        return np.bincount(cells, terms, 2 * n_clusters).astype(np.float64).reshape(2, n_clusters)

    return ClusterSums(add_up(w), add_up(w2), add_up(w * distance), add_up(w2 * distance**2))
