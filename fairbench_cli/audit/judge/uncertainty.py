"""Intervals of rates, ratios and differences in closed forms; and what a bootstrap of other metrics needs.

The multinomial bootstrap of the counts is the bootstrap of the rows: a drawn table is what counting resampled
rows would give. Percentile intervals are too narrow where few rows are on one side of a rate (at 0 or n
their width is zero), so metrics with fewer than `ENOUGH` there have none.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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

    rate: Limits
    ratio: Limits
    difference: Limits


def uncertainty(names: Sequence[str], rows: RateRows, confidence: float) -> Uncertainty:
    """Return intervals of each rate, difference and ratio: Wilson's, Newcombe's, Miettinen and Nurminen's.

    Parameters
    ----------
    names : sequence of str
        Rates.
    rows : RateRows
        Their numerators and denominators.
    confidence : float
        In (0, 1).
    """
    ratio = ratio_interval(rows.above, rows.below, rows.ref_above, rows.ref_below, confidence)
    # A share of a list is a proportion of the list; of two shares, what one group gets, another does not.
    of_all = np.array([RATES[name].of_all for name in names])
    total = rows.above.sum(0)
    below, ref_below = (np.where(of_all, total, side) for side in (rows.below, rows.ref_below))
    p, q = divide(rows.above, below), divide(rows.ref_above, ref_below)
    rho = np.where(of_all, -np.sqrt(np.minimum(divide(p * q, (1 - p) * (1 - q)), 1)), 0.0)
    rho = np.where(np.isnan(rho), 0.0, rho)
    return Uncertainty(
        wilson(rows.above, below, confidence),
        ratio,
        difference_interval(rows.above, below, rows.ref_above, ref_below, confidence, rho),
    )


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
