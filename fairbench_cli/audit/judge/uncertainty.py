"""Intervals of rates, ratios and differences, and tests with Holm's correction.

The multinomial bootstrap of the counts is the bootstrap of the rows: a drawn table is what counting resampled
rows would give. Percentile intervals are too narrow where few rows are on one side of a rate (at 0 or n
their width is zero), so those with fewer than `ENOUGH` there take the closed forms of `measures.intervals`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.references import Ints, both_parts
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.intervals import difference_interval, ratio_interval, wilson
from fairbench_cli.measures.rates import RATES
from fairbench_cli.measures.significance import two_proportions

ENOUGH = 10  # rows above the bar, and rows below it that are not above
MOST_GROUPS = 200  # of one slice are bootstrapped; with more, closed forms throughout

Limits = tuple[Floats, Floats]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Lower and upper limits, each of shape (groups, metrics); NaN where undefined."""

    rate: Limits
    ratio: Limits
    difference: Limits


def closed_forms(n: Floats, names: Sequence[str], at: Ints, confidence: float) -> Uncertainty:
    """Return Wilson's interval of each rate, Newcombe's of each difference, Donner and Zou's of each ratio.

    Parameters
    ----------
    n : array, shape (groups, 2, 2)
        Rows, or what weights are worth in rows.
    names : sequence of str
        Metrics.
    at : array of int, shape (metrics,)
        Reference groups, see `audit.references`.
    confidence : float
        In (0, 1).
    """
    above, below, ref_above, ref_below = both_parts(n, names, at)
    p, q = divide(above, below), divide(ref_above, ref_below)
    # Shares of one list are correlated: what one group gets, another does not.
    of_all = np.array([RATES[name].of_all for name in names])
    rho = np.where(of_all, -np.sqrt(np.minimum(divide(p * q, (1 - p) * (1 - q)), 1)), 0.0)
    rho = np.where(np.isnan(rho), 0.0, rho)
    return Uncertainty(
        wilson(above, below, confidence),
        ratio_interval(above, below, ref_above, ref_below, confidence, rho),
        difference_interval(above, below, ref_above, ref_below, confidence, rho),
    )


def bootstrap(
    n: Floats, names: Sequence[str], at: Ints, draws: int, confidence: float, rng: np.random.Generator
) -> Uncertainty:
    """Return percentile intervals from a multinomial bootstrap; closed forms where counts are too small.

    Parameters are as in `closed_forms`; the reference groups stay those of the data in every draw.
    """
    closed = closed_forms(n, names, at, confidence)
    enough, both = _enough(n, names, at)
    drawn = np.flatnonzero(enough.any(axis=1))
    if draws <= 0 or not len(drawn) or len(drawn) > MOST_GROUPS:
        return closed
    # Groups without draws of their own go into one: a multinomial with cells summed is a multinomial.
    rest = np.delete(n, drawn, axis=0).sum(0)
    table = np.concatenate([n[drawn], rest[None]])
    total = round(float(table.sum()))
    resampled = rng.multinomial(total, table.ravel() / table.sum(), size=draws).astype(np.float64)
    resampled = resampled.reshape(draws, *table.shape)
    place = np.zeros(len(n) + 1, dtype=np.intp)  # the place of each group among the drawn; REST stays -1
    place[drawn] = np.arange(len(drawn))
    place[-1] = -1
    above, below, ref_above, ref_below = both_parts(resampled, names, place[at])
    rates, ref_rates = divide(above, below)[:, :-1], divide(ref_above, ref_below)[:, :-1]
    enough, both = enough[drawn], both[drawn]
    tail = (1 - confidence) / 2

    def limits(closed_limits: Limits, values: Floats, which: Bools) -> Limits:
        low, high = (side.copy() for side in closed_limits)
        g, m = np.nonzero(which)
        low[drawn[g], m], high[drawn[g], m] = percentiles(values[:, g, m].T, tail)
        return low, high

    return Uncertainty(
        limits(closed.rate, rates, enough),
        limits(closed.ratio, divide(rates, ref_rates), both),
        limits(closed.difference, rates - ref_rates, both),
    )


def uncertainty(part: Slice, names: Sequence[str], at: Ints, config: AuditConfig) -> Uncertainty:
    """Return the intervals of a slice: bootstrap, or closed forms when `config.draws` is 0.

    Weighted counts are taken for as many rows as they are worth: see `effective`.
    """
    rng = stream(config.seed, *part.place)
    return bootstrap(effective(part), names, at, config.draws, config.confidence, rng)


def effective(part: Slice) -> Floats:
    """Return the counts scaled to Kish's effective sample size, (Σw)² / Σw²; all rates stay the same.

    Kish (1965), *Survey Sampling*: unequal weights say less than as many rows of equal weight.
    """
    return part.counts.n * part.rows_per_weight


def p_values(part: Slice, names: Sequence[str], at: Ints) -> Floats:
    """Test each group's rate against its reference: p-values, shape (groups, metrics).

    NaN for the reference itself, for undefined rates, and for shares of a whole list,
    which are no proportions of the group. A reference that is the minimum or maximum was chosen by looking,
    so its p-values are too small.
    """
    n = effective(part)
    above, below, ref_above, ref_below = both_parts(n, names, at)
    _, p = two_proportions(above, below, ref_above, ref_below)
    p[:, [RATES[name].of_all for name in names]] = np.nan
    p[np.arange(len(p))[:, None] == at] = np.nan
    return p[:, distinct(names, at)]


def distinct(names: Sequence[str], at: Ints) -> Ints:
    """Which column holds each metric's test: complements with the same reference share one.

    >>> distinct(["fpr", "tpr", "tnr"], np.array([0, 0, 0])).tolist()
    [0, 1, 0]
    """
    columns = np.arange(len(names))
    for m, name in enumerate(names):
        complement = RATES[name].complement
        if complement in names[:m] and at[names.index(complement)] == at[m]:
            columns[m] = names.index(complement)
    return columns


def _enough(n: Floats, names: Sequence[str], at: Ints) -> tuple[Bools, Bools]:
    """Say whether a rate, and both a rate and its reference, have `ENOUGH` rows on either side."""
    above, below, ref_above, ref_below = both_parts(n, names, at)
    own = np.minimum(above, below - above) >= ENOUGH
    return own, own & (np.minimum(ref_above, ref_below - ref_above) >= ENOUGH)


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
