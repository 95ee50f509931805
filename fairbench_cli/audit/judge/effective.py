"""How many rows weighted, or clustered, rows are worth: for each group and rate.

Source: the linearised variance of a ratio of weighted sums (Särndal, Swensson & Wretman 1992, 5.7) and
Kish's effective sample size (1965). Each alone is too bold somewhere: the linearised variance misses the
heavy rows that a small group did not happen to have, Kish's number does not see weights that go with the
outcome. The smaller of both is taken, with a variance that also looks at the spread of weights over all
groups. Simulated in docs/verdicts.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.judge.references import REST, Ints
from fairbench_cli.audit.read.tally import Slice
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.rates import RATES, parts

Bools = NDArray[np.bool_]

MANY = 1e12  # a share of a list is a count without a limit: a rate of very many rows
EQUAL = 1e-9  # weights of which Kish's number is the rows within this are equal


@dataclass(frozen=True, eq=False)
class RateRows:
    """The numerators and denominators of rates in rows, each of shape (groups, rates).

    Parameters
    ----------
    above, below : arrays
        What is over and under the bar of each group's rates, in rows that the weights are worth.
    ref_above, ref_below : arrays
        The same of its reference.
    weighted : bool array
        Whether either was scaled down; then these are no whole numbers, and no exact test is.
    rows_above, rows_below, ref_rows_above, ref_rows_below : arrays
        Plain rows.
    """

    above: Floats
    below: Floats
    ref_above: Floats
    ref_below: Floats
    weighted: Bools
    rows_above: Floats
    rows_below: Floats
    ref_rows_above: Floats
    ref_rows_below: Floats


def rate_rows(part: Slice, names: Sequence[str], at: Ints) -> RateRows:
    """Return the rows behind the rates of each group and of its reference.

    Parameters
    ----------
    part : Slice
        Of G groups.
    names : sequence of str
        Rates.
    at : array of int, shape (rates,)
        Reference groups, see `audit.references`.
    """
    groups = np.arange(len(part.counts.groups))
    members = np.eye(len(groups))
    own = _worth(part, names, members)
    if (at == REST).all():
        ref = _worth(part, names, 1 - members)
        return RateRows(*own[:2], *ref[:2], own[2] | ref[2], *own[3:], *ref[3:])
    columns = np.arange(len(names))
    above, below, weighted, rows_above, rows_below = own
    ref = [np.broadcast_to(each[at, columns], each.shape) for each in own]  # type: ignore[assignment]
    return RateRows(above, below, ref[0], ref[1], weighted | ref[2], rows_above, rows_below, ref[3], ref[4])


def rows_per_weight(part: Slice, groups: Sequence[int] | None = None) -> Floats:
    """Return what a unit of weight is worth in rows, Σw / Σw²: of each group, or of all in `groups`.

    Kish (1965), *Survey Sampling*: unequal weights say less than as many rows of equal weight. For counts
    that are no rate of one group; those have `rate_rows`.
    """
    sums, squares = part.counts.n.sum((1, 2)), part.squares.sum((1, 2))
    if groups is not None:
        sums, squares = sums[list(groups)].sum(), squares[list(groups)].sum()
    return np.where(squares > 0, divide(sums, squares), 1.0)


def _worth(
    part: Slice, names: Sequence[str], members: Floats
) -> tuple[Floats, Floats, Bools, Floats, Floats]:
    """Return effective and plain rows above and below the bar of sets of groups: shape (sets, rates)."""
    sums, squares, rows = (
        _two_sides(np.tensordot(members, cells.astype(np.float64), 1), names)
        for cells in (part.counts.n, part.squares, part.cell_rows)
    )
    of_all = np.array([RATES[name].of_all for name in names])
    plain_above, plain_below = rows[0], np.where(of_all, MANY, rows[0] + rows[1])
    weight, rate = sums[0] + sums[1], divide(sums[0], sums[0] + sums[1])
    kish = divide(weight**2, squares[0] + squares[1])
    count = rows[0] + rows[1]
    worth = kish
    inside = (rate > 0) & (rate < 1)
    linear = ((1 - rate) ** 2 * squares[0] + rate**2 * squares[1]) / np.where(weight > 0, weight, np.nan) ** 2
    variance = np.fmax(linear, _pooled(part, names, sums, rows))
    worth = np.where(inside, np.fmin(worth, divide(rate * (1 - rate), variance)), worth)
    equal = ~(kish < count * (1 - EQUAL))
    above = np.where(equal, rows[0], rate * np.fmin(worth, count))
    below = np.where(equal, count, np.fmin(worth, count))
    # Of a share of all selected: what the group's own selected rows are worth.
    above = np.where(of_all, np.where(equal, rows[0], divide(sums[0] ** 2, squares[0])), above)
    return above, np.where(of_all, MANY, below), ~equal & (count > 0), plain_above, plain_below


def _two_sides(cells: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the sums above the bar of each rate, and those below it that are not above."""
    above, below = parts(cells, names)
    own = np.array([RATES[name].of_all for name in names])
    return above, np.where(own, 0.0, below - above)


def _pooled(
    part: Slice, names: Sequence[str], sums: tuple[Floats, Floats], rows: tuple[Floats, Floats]
) -> Floats:
    """Return the variance of each rate with the spread of weights that all groups together show."""
    cells = [each.astype(np.float64) for each in (part.counts.n, part.squares, part.cell_rows)]
    each_sums, each_squares, each_rows = (_two_sides(of, names) for of in cells)
    mean_one = divide(each_rows[0] + each_rows[1], each_sums[0] + each_sums[1])
    weight = sums[0] + sums[1]
    rate = divide(sums[0], weight)
    total = np.zeros_like(rate)
    for side, share in ((0, (1 - rate) ** 2), (1, rate**2)):
        scaled, scaled_squares = mean_one * each_sums[side], mean_one**2 * each_squares[side]
        spread = divide(
            np.nansum(scaled_squares, axis=0) * each_rows[side].sum(0), np.nansum(scaled, axis=0) ** 2
        )
        term = share * spread * divide(sums[side] ** 2, rows[side])
        total = total + np.where(rows[side] > 0, term, 0.0)
    return divide(total, weight**2)
