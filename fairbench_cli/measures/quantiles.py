"""Quantiles of a group's values and of differences between groups, with limits that need no shape of a curve.

Every quantile and every limit is a position among the values in order, from 0 to n − 1: 2.25 lies a quarter
of the way from the third value to the fourth. Quantiles are those of numpy and of DuckDB's ``quantile_cont``,
limits those of Nyblom (1992); limits of a difference come from those of both sides (MOVER, Zou and Donner
2008). With weights n is how many rows of equal weight say as much (Kish), and a value is the mean over one
such row's weight: with equal weights the same.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.value_ranks import SortedValues, ValueTable

SMALLEST_P = 1e-12  # of a difference of quantiles; smaller ones are not told apart
STEPS = 30


class QuantileLimits(NamedTuple):
    """Quantiles and their limits, which are infinite where there are too few rows; arrays of one shape."""

    value: Floats
    low: Floats
    high: Floats


def table_quantiles(
    table: ValueTable, group: int, shares: ArrayLike, confidence: float = 0.95
) -> QuantileLimits:
    """Return the quantiles of a group of a table, one for each share.

    Examples
    --------
    >>> from fairbench_cli.measures.value_ranks import count_values
    >>> table = count_values([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [0] * 10, 1)
    >>> value, low, high = table_quantiles(table, 0, [0.5, 0.9])
    >>> value.round(3).tolist(), low.round(3).tolist(), high.round(3).tolist()
    ([3.5, 6.3], [1.658, 5.0], [5.342, inf])
    """
    weights = table.counts[group]
    return weighted_quantiles(
        table.values, weights, shares, divide(weights.sum() ** 2, table.squares[group].sum()), confidence
    )


def sorted_quantiles(group: SortedValues, shares: ArrayLike, confidence: float = 0.95) -> QuantileLimits:
    """Return the quantiles of sorted values, one for each share."""
    if group.weights is None:
        return row_quantiles(group.values, shares, confidence)
    rows = group.totals.effective_rows
    return weighted_quantiles(group.values, group.weights, shares, rows, confidence)


def row_quantiles(values: Floats, shares: ArrayLike, confidence: float = 0.95) -> QuantileLimits:
    """Return the quantiles of rows without weights that are sorted along the last axis, shape (..., shares).

    >>> [limit.round(3).tolist() for limit in row_quantiles(np.arange(101.0), [0.5])]
    [[50.0], [40.203], [59.797]]
    """
    share = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    n = values.shape[-1]
    low, high = limit_positions(np.asarray(float(n)), share, confidence)
    limits = []
    for position in ((n - 1) * share, low, high):
        position = np.asarray(position)
        inside = np.clip(position, 0, max(n - 1, 0))
        below = np.floor(inside).astype(np.intp)
        above = np.minimum(below + 1, max(n - 1, 0))
        if n:
            part = inside - below
            value = values[..., below] * (1 - part) + values[..., above] * part
        else:
            value = np.full((*values.shape[:-1], len(share)), np.nan)
        limits.append(np.where(np.isfinite(position), value, position))
    return _around(*limits)


def weighted_quantiles(
    values: Floats, weights: Floats, shares: ArrayLike, rows: ArrayLike, confidence: float = 0.95
) -> QuantileLimits:
    """Return the quantiles of sorted values with weights, one for each share; NaN without weight.

    Parameters
    ----------
    values, weights : array, shape (values,)
    shares : array, shape (shares,)
    rows : float
        How many rows of equal weight say as much; without weights, where `weights` count rows, their number.
    confidence : float
    """
    share = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    n = np.asarray(rows, dtype=np.float64)
    if not n > 0:
        missing = np.full(len(share), np.nan)
        return QuantileLimits(missing, missing, missing)
    low, high = limit_positions(n, share, confidence)
    cumulated = np.cumsum(weights)
    limits = []
    for positions in ((n - 1) * share, low, high):
        at_positions = [_value_at(values, cumulated, float(position), float(n)) for position in positions]
        limits.append(np.array(at_positions, dtype=np.float64))
    return _around(*limits)


def _around(value: Floats, low: Floats, high: Floats) -> QuantileLimits:
    """Return limits that hold the value: of two or three rows, one near an end may lie outside."""
    return QuantileLimits(value, np.minimum(low, value), np.maximum(high, value))


def _value_at(values: Floats, cumulated: Floats, position: float, n: float) -> float:
    """Return the mean of the values over one row's weight from a position on."""
    if not np.isfinite(position):
        return position
    # In rows of equal weight; whole numbers stay whole where they are rows.
    ends = cumulated if cumulated[-1] == n else cumulated * (n / cumulated[-1])
    start = min(max(position, 0.0), n - 1)
    stop = start + 1
    begin = int(np.searchsorted(ends, start, "right"))
    end = min(int(np.searchsorted(ends, stop, "left")), len(values) - 1)
    if begin >= end:
        return float(values[min(begin, len(values) - 1)])
    covered = np.diff(np.concatenate([[start], ends[begin:end], [stop]]))
    origin = values[begin]
    return float(origin + ((values[begin : end + 1] - origin) * covered).sum())


def limit_positions(rows: Floats, shares: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the positions of the lower and upper limits of quantiles; infinite where rows are too few.

    >>> low, high = limit_positions(np.array(40.0), np.array([0.5, 0.05]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([13.411, -inf], [25.589, 4.433])
    """
    tail = (1 - confidence) / 2
    low = _lower_position(rows, shares, tail)
    high = rows - 1 - _lower_position(rows, 1 - shares, tail)
    return low, high


def _lower_position(rows: Floats, shares: Floats, tail: float) -> Floats:
    """Return the position of Nyblom's lower limit, interpolated between two values in order."""
    from scipy.special import betainc, ndtri

    n, share = np.broadcast_arrays(rows, shares)

    def chance_at_most(count: Floats) -> Floats:
        """Return the chance of so many rows below the quantile; n need not be whole."""
        inside = np.clip(count, 0.0, np.maximum(n - 1e-9, 0.0))
        chance = betainc(np.maximum(n - inside, 1e-9), inside + 1, 1 - share)
        return np.asarray(np.where(count < 0, 0.0, np.where(count >= n, 1.0, chance)))

    # The rank r with B(r − 1) ≤ tail < B(r).
    rank = np.floor(n * share + float(ndtri(tail)) * np.sqrt(n * share * (1 - share)))
    rank = np.clip(rank, 0, n)
    for _ in range(int(np.max(n, initial=0)) + 1):
        is_low = chance_at_most(rank) <= tail
        is_high = (chance_at_most(rank - 1) > tail) & ~is_low
        if not (is_low | is_high).any():
            break
        rank = rank + is_low - is_high
    above = rank * (1 - share) * (chance_at_most(rank) - tail)
    below = (n - rank) * share * (tail - chance_at_most(rank - 1))
    weight = divide(1.0, 1 + divide(above, below))
    return np.where((rank >= 1) & (rank < n), rank - 1 + weight, -np.inf)


def subtract_quantiles(group: QuantileLimits, reference: QuantileLimits) -> QuantileLimits:
    """Return the differences of two groups' quantiles; a limit that needs one that is missing is infinite.

    >>> group = QuantileLimits(np.array(5.0), np.array(4.0), np.array(7.0))
    >>> [float(limit) for limit in subtract_quantiles(group, group)]
    [0.0, -2.23606797749979, 2.23606797749979]
    """
    difference = group.value - reference.value
    down = np.hypot(group.value - group.low, reference.high - reference.value)
    up = np.hypot(group.high - group.value, reference.value - reference.low)
    return QuantileLimits(difference, difference - down, difference + up)


def divide_quantiles(group: QuantileLimits, reference: QuantileLimits) -> QuantileLimits:
    """Return the ratios of two groups' quantiles, by limits of their logarithms; NaN of what is not above 0.

    >>> group = QuantileLimits(np.array(6.0), np.array(4.0), np.array(9.0))
    >>> [round(float(limit), 3) for limit in divide_quantiles(group, group)]
    [1.0, 0.564, 1.774]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        group, reference = (QuantileLimits(*map(np.log, limits)) for limits in (group, reference))
        logs = subtract_quantiles(group, reference)
        ratios = [np.where(np.isfinite(logs.value), np.exp(limit), np.nan) for limit in logs]
    return QuantileLimits(*ratios)


def equal_p(limits_at: Callable[[float], QuantileLimits]) -> float:
    """Return the p-value of no difference: 1 − the confidence at which the limits of the difference reach 0.

    Parameters
    ----------
    limits_at : callable
        The difference and its limits at a confidence.

    Examples
    --------
    >>> def limits_at(confidence):
    ...     limits = row_quantiles(np.arange(40.0), [0.5], confidence)
    ...     return subtract_quantiles(QuantileLimits(*(limit + 10 for limit in limits)), limits)
    >>> round(equal_p(limits_at), 3)
    0.022
    """
    if np.isnan(limits_at(0.5).value):
        return math.nan
    low = math.log(SMALLEST_P)
    high = 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        limits = limits_at(-math.expm1(middle))
        if limits.low <= 0 <= limits.high:
            low = middle
        else:
            high = middle
    return math.exp(high)
