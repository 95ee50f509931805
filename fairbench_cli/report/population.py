"""Paired tests of a run's metrics that speak of the population: test rows are a sample too."""

from collections.abc import Callable
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.report.inference import (
    Decided,
    PairedTest,
    RowVariance,
    decided,
    paired_test,
    row_variance,
    slopes,
)
from fairbench_cli.report.repeats import DatasetRepeats, Texts
from fairbench_cli.report.results import Results

FRESH, SPLITS = "fresh test rows", "random splits"
ROW_BY_ROW, FROM_COUNTS = "decisions row by row", "bound from counts"
ON_RECORD = "bound from recorded counts"
OTHER_ROWS = "none: other test rows"
OF_ROWS, OF_SIZE, NO_SLOPE = "none: not from counts", "none: a test statistic", "none: no derivative"

BASES = {
    FRESH: "Every repeat draws test rows of its own, so a paired t-test speaks of the population.",
    SPLITS: "The repeats are random splits of the same rows, which overlap: paired t-tests with the variance "
    "of Nadeau and Bengio (2003).",
    ROW_BY_ROW: "All repeats share their test rows: the variance between test rows is added to that between "
    "repeats, from what was decided on each.",
    FROM_COUNTS: "All repeats share their test rows, and decisions on them were not kept: the largest "
    "variance that the counts allow is added, so differences are harder to show.",
    ON_RECORD: "All repeats share their test rows, whose recorded labels each draws anew: the largest "
    "variance between test rows that the counts allow is added, so differences are harder to show.",
}
"""What the answer for the population rests on, as paired.csv names it, and in words."""

TestOf = Callable[..., PairedTest]

NOTHING = -1  # in the place of a row of the results
KEPT = 24  # cells whose decisions are in memory at a time


def over_population(
    results: Results,
    ours: Rows,
    theirs: Rows,
    differences: Floats,
    judged: NDArray[np.bool_],
    test: TestOf | None = None,
) -> tuple[PairedTest, Texts]:
    """Test whether mean paired differences are 0 in the population of rows and training sets.

    Parameters
    ----------
    ours, theirs : int array, shape (pairs,)
        Rows of the results: of one data set, groups compared and metric in each pair. `NOTHING` for theirs:
        what is tested are our values, less a constant.
    differences : float array, shape (pairs, repeats)
        What is tested; NaN and infinite ones are no pairs.
    judged : bool array, shape (pairs,)
        Whether the differences are of distances to the metric's ideal, else of values.
    test : callable, optional
        Tests some of the pairs, given which, the ratio of random splits and what test rows add; by default as
        `paired_test` does.

    Returns
    -------
    tests : PairedTest, shape (pairs,)
        NaN where nothing can be said.
    basis : array of str, shape (pairs,)
        What they rest on, or why there are none.
    """
    basis = np.full(len(ours), FRESH, dtype=object)
    test = test or (lambda at, ratio=0.0, rows=None: paired_test(differences[at], ratio, rows))
    found = test(np.arange(len(ours)))
    if not len(results.place):
        return found, basis
    of_dataset = results.place[ours, 0]
    for number, data in enumerate(results.datasets):
        at = np.flatnonzero(of_dataset == number)
        if not len(at) or data.design.kind == "drawn":
            continue
        if data.design.kind == "split":
            basis[at] = SPLITS
            own = test(at, data.design.ratio)
        elif data.design.kind == "apart":
            basis[at] = OTHER_ROWS
            own = test(at, rows=RowVariance(*np.full((2, len(at)), np.nan)))
        else:
            rows, basis[at] = _shared(results, data, ours[at], theirs[at], differences[at], judged[at])
            own = test(at, data.design.ratio, rows)
        for name, values in vars(own).items():
            getattr(found, name)[at] = values
    return found, basis


def _shared(
    results: Results,
    data: DatasetRepeats,
    ours: Rows,
    theirs: Rows,
    differences: Floats,
    judged: NDArray[np.bool_],
) -> tuple[RowVariance, Texts]:
    """Return what shared test rows add to the variance of each pair, and what that rests on."""
    there, basis = np.isfinite(differences), np.full(len(ours), ROW_BY_ROW, dtype=object)
    names = results.rows[["compared", "metric"]].to_numpy()
    found = np.full((2, len(ours)), np.nan)
    slopes_of, decided_of = _slopes_of(results, data), decisions_of(data)
    against = np.where(theirs == NOTHING, NOTHING, results.place[theirs, 1])
    cells = np.stack([against, results.place[ours, 1]], axis=1)
    for their_cell, cell in np.unique(cells, axis=0):
        at = np.flatnonzero((cells == (their_cell, cell)).all(axis=1) & there.any(axis=1))
        known = []
        for i in at:
            entry = results.metric(names[ours[i], 1])
            reason = OF_SIZE if entry.is_test else OF_ROWS if entry.name in data.row_values else ""
            if reason:
                basis[i] = reason
            else:
                known.append(i)
        if not known:
            continue
        repeats = np.flatnonzero(there[known].any(axis=0))
        alone = their_cell == NOTHING
        other_cell = cell if alone else their_cell
        both = []
        for rows, own_cell in ((ours, cell), (ours if alone else theirs, other_cell)):
            each = []
            for i in known:
                slope = slopes_of(*names[rows[i]])[own_cell, repeats]
                ideal = results.ideal(names[rows[i], 1])
                if judged[i] and ideal is not None:
                    slope = slope * np.where(results.values[rows[i], repeats] < ideal, -1, 1)[:, None, None]
                pairs = there[i, repeats]
                each.append(np.where(pairs[:, None, None], slope, 0.0) / pairs.sum())
            both.append(np.array(each))
        if alone:
            both[1] = np.zeros_like(both[1])
        model, other = (some_of(decided_of(int(own)), data.done[own], repeats) for own in (cell, other_cell))
        own_variance = row_variance(model, other, *both)
        found[:, known] = own_variance.variance, own_variance.freedom
        if model.rows is None or other.rows is None:
            on_record = data.recorded is not None and bool(data.recorded[cell])
            basis[known] = ON_RECORD if on_record else FROM_COUNTS
    known_bases = [ROW_BY_ROW, FROM_COUNTS, ON_RECORD]
    basis[np.isnan(found[0]) & there.any(axis=1) & np.isin(basis, known_bases)] = NO_SLOPE
    return RowVariance(*found), basis


def _slopes_of(results: Results, data: DatasetRepeats) -> Callable[[str, str], Floats]:
    """Return a function of groups compared and metric: its slopes, shape (cells, repeats, strata, 2)."""
    done = data.done

    @cache
    def of(compared: str, metric: str) -> Floats:
        counts = data.levels(Counts(data.counts.groups, data.counts.n[done]), compared)
        found = np.full((*done.shape, *counts.n.shape[1:]), np.nan)
        found[done] = slopes(results.metric(metric), counts)
        return by_stratum(data, found, partial(data.levels, compared=compared))

    return of


def of_two_models(
    data: DatasetRepeats,
    compared: str,
    decided_of: Callable[[int], Decided],
    cells: tuple[int, int],
    repeats: Rows,
    slope: tuple[Floats, Floats],
) -> RowVariance:
    """Return what shared test rows add to the variance of means over repeats that depend on two models.

    Parameters
    ----------
    decided_of : callable
        As `decisions_of` returns it.
    cells : pair of int
        The places of the two cells in `data`.
    repeats : int array
        Over which the means are taken.
    slope : pair of float arrays, shape (means, repeats, 2, 2, 2)
        How each mean rises with the counts of the first model's deprived and favoured group, and falls with
        those of the second's.
    """
    one, other = (some_of(decided_of(cell), data.done[cell], repeats) for cell in cells)
    summed = partial(data.pair, compared=compared)
    return row_variance(one, other, *(by_stratum(data, own, summed) for own in slope))


def values_over_population(results: Results, rows: Rows, constant: Floats) -> PairedTest:
    """Test whether the mean values of some rows of the results are constants in the population.

    The same tests as of differences, of one model alone. Mean and interval are those of value − constant.

    Parameters
    ----------
    rows : int array, shape (rows,)
    constant : float array, shape (rows,)
        Such as the metrics' ideals.
    """
    with np.errstate(invalid="ignore"):
        apart = results.values[rows] - constant[:, None]
    nothing = np.full_like(rows, NOTHING)
    return over_population(results, rows, nothing, apart, np.zeros(len(rows), dtype=bool))[0]


def by_stratum(data: DatasetRepeats, slope: Floats, summed: Callable[[Counts], Counts]) -> Floats:
    """Return slopes of sums of groups as those of the strata that are summed, shape (..., strata, 2).

    Parameters
    ----------
    slope : float array, shape (..., sums, 2, 2)
    summed : callable
        Returns the sums of counts of the joint levels, in the order of `slope`.
    """
    groups = data.counts.groups
    ones = np.zeros((len(groups), len(groups), 2, 2))
    ones[np.arange(len(groups)), np.arange(len(groups))] = 1
    level = summed(Counts(groups, ones)).n[..., 0, 0].argmax(axis=1)
    return slope[..., level, :, :].reshape(*slope.shape[:-3], 2 * len(groups), 2)


def decisions_of(data: DatasetRepeats) -> Callable[[int], Decided]:
    """Return a function of a cell: what its models decided, in the repeats that are done."""

    @lru_cache(maxsize=KEPT)
    def of(cell: int) -> Decided:
        repeats = np.flatnonzero(data.done[cell])
        kept = data.decisions[cell] if data.decisions else {}
        return decided(data.counts.n[cell, repeats], [kept.get(int(repeat)) for repeat in repeats])

    return of


def some_of(model: Decided, done: NDArray[np.bool_], repeats: Rows) -> Decided:
    """Return what was decided in some of the repeats that are done."""
    at = (np.cumsum(done) - 1)[repeats]
    if len(at) == len(model.n):
        return model
    return Decided(model.n[at], None if model.rows is None else model.rows[at])
