"""Intervals of rates, ratios and differences in closed forms; and what a bootstrap of other metrics needs.

The multinomial bootstrap of the counts is the bootstrap of the rows: a drawn table is what counting resampled
rows would give. Percentile intervals are too narrow where few rows are on one side of a rate (at 0 or n
their width is zero), so metrics with fewer than `ENOUGH` there have none.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.judge.effective import RateRows
from fairbench_cli.audit.judge.report import Interval
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.intervals import difference_interval, wilson
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.score_test import ratio_interval

ENOUGH = 10  # rows in each count behind a metric that is bootstrapped
MOST_GROUPS = 200  # of one slice are bootstrapped; with more, none is

Limits = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Lower and upper limits, each of shape (groups, metrics); NaN where undefined."""

    ratio: Limits
    difference: Limits


def rate_limits(names: Sequence[str], rows: RateRows, confidence: float) -> Limits:
    """Return Wilson's intervals of the rates of each group."""
    return wilson(rows.above, _below(names, rows, rows.above.sum(0)), confidence)


def uncertainty(names: Sequence[str], rows: RateRows, ref: RateRows, confidence: float) -> Uncertainty:
    """Return intervals of each difference and ratio: Newcombe's, Miettinen and Nurminen's.

    Parameters
    ----------
    names : sequence of str
        Rates.
    rows, ref : RateRows
        Their numerators and denominators, and those of the references.
    confidence : float
        In (0, 1).
    """
    ratio = ratio_interval(rows.above, rows.below, ref.above, ref.below, confidence)
    # A share of a list is a proportion of the list; of two shares, what one group gets, another does not.
    of_all, total = _of_all(names), rows.above.sum(0)
    below, ref_below = _below(names, rows, total), _below(names, ref, total)
    p, q = divide(rows.above, below), divide(ref.above, ref_below)
    rho = np.where(of_all, -np.sqrt(np.minimum(divide(p * q, (1 - p) * (1 - q)), 1)), 0.0)
    rho = np.where(np.isnan(rho), 0.0, rho)
    return Uncertainty(ratio, difference_interval(rows.above, below, ref.above, ref_below, confidence, rho))


def _of_all(names: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([RATES[name].of_all for name in names])


def _below(names: Sequence[str], rows: RateRows, total: Floats) -> Floats:
    """Return what is under the bar; of a share of a list, the list."""
    return np.where(_of_all(names) & (rows.below > 0), total, rows.below)


def with_limits(values: Floats, limits: Limits, g: int, m: int, known: bool) -> Interval:
    """Return the value of group g and column m with its limits, or as its own limits when it is `known`."""
    value = float(values[g, m])
    if known:  # no estimate, as that of a group against itself is none
        return Interval(value, value, value)
    return Interval(value, float(limits[0][g, m]), float(limits[1][g, m]))


def percentiles(values: Floats, tail: float) -> Limits:
    """Return order statistics at both tails of the defined draws, outward: (..., draws) becomes (...)."""
    ordered = np.sort(values, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(-1) - 1, 0)
    ends = np.stack([np.floor(tail * last), np.ceil((1 - tail) * last)], axis=-1).astype(np.intp)
    low, high = np.moveaxis(np.take_along_axis(ordered, ends, axis=-1), -1, 0)
    return low, high


def stream(seed: int, *place: str) -> np.random.Generator:
    """Return random numbers of a place's own: one more attribute changes no other's intervals."""
    key = "\x1f".join([str(seed), *place])
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))
