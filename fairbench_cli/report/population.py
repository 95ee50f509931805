"""Paired tests of a run's metrics that speak of the population: test rows are a sample too."""

from collections.abc import Callable
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Floats
from fairbench_cli.report.inference import PairedTest, RowVariance, paired_test, row_variance
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
        at, rows = np.flatnonzero(of_dataset == number), None
        if not len(at) or data.design.kind == "drawn":
            continue
        if data.design.kind == "split":
            basis[at] = SPLITS
        elif data.design.kind == "apart":
            basis[at], rows = OTHER_ROWS, RowVariance(*np.full((2, len(at)), np.nan))
        else:
            rows, basis[at] = _shared(results, data, ours[at], theirs[at], differences[at], judged[at])
        for name, values in vars(test(at, data.design.ratio, rows)).items():
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
    found, basis = np.full((2, len(ours)), np.nan), np.full(len(ours), ROW_BY_ROW, dtype=object)
    there = np.isfinite(differences)
    compared, names = results.rows[["compared", "metric"]].to_numpy(dtype=object)[ours].T
    metrics = {name: results.metric(name) for name in dict.fromkeys(names)}
    for name, metric in metrics.items():
        if metric.is_test or name in data.row_values:
            basis[names == name] = OF_SIZE if metric.is_test else OF_ROWS
    known = there.any(axis=1) & (basis == ROW_BY_ROW)
    which = list(zip(compared, names, strict=True))
    slopes = {
        (groups, name): data.slopes(groups, metrics[name]) for groups, name in {*compress(which, known)}
    }

    def slopes_of(rows: Rows, at: Rows, cell: int, repeats: Rows) -> Floats:
        """Return how means over repeats change with a cell's counts, shape (pairs, repeats, strata, 2)."""
        each = np.stack([slopes[which[i]][cell, repeats] for i in at])
        below = results.values[rows[at]][:, repeats] < results.ideals[rows[at], None]
        each *= np.where(judged[at, None] & below, -1, 1)[..., None, None]
        pairs = there[at][:, repeats, None, None]
        found: Floats = np.where(pairs, each, 0.0) / pairs.sum(axis=1, keepdims=True)
        return found

    cells = results.place[ours, 1]
    their_cells = np.where(theirs == NOTHING, NOTHING, results.place[theirs, 1])
    pair = their_cells * len(data.cells) + cells
    for number in np.unique(pair[known]):
        at = np.flatnonzero(known & (pair == number))
        cell, other = int(cells[at[0]]), int(their_cells[at[0]])
        repeats = np.flatnonzero(there[at].any(axis=0))
        slope = slopes_of(ours, at, cell, repeats)
        if other == NOTHING:
            other, their_slope = cell, np.zeros_like(slope)
        else:
            their_slope = slopes_of(theirs, at, other, repeats)
        model, their_model = data.decided(cell, repeats), data.decided(other, repeats)
        from_rows = row_variance(model, their_model, slope, their_slope)
        found[:, at] = from_rows.variance, from_rows.freedom
        if model.rows is None or their_model.rows is None:
            on_record = data.recorded is not None and bool(data.recorded[cell])
            basis[at] = ON_RECORD if on_record else FROM_COUNTS
    basis[known & np.isnan(found[0])] = NO_SLOPE
    return RowVariance(*found), basis


def of_two_models(
    data: DatasetRepeats,
    compared: str,
    cells: tuple[int, int],
    repeats: Rows,
    slope: tuple[Floats, Floats],
) -> RowVariance:
    """Return what shared test rows add to the variance of means over repeats that depend on two models.

    Parameters
    ----------
    cells : pair of int
        The places of the two cells in `data`.
    repeats : int array
        Over which the means are taken.
    slope : pair of float arrays, shape (means, repeats, 2, 2, 2)
        How each mean rises with the counts of the first model's deprived and favoured group, and falls with
        those of the second's.
    """
    model, other = (data.decided(cell, repeats) for cell in cells)
    rising, falling = (data.by_stratum(own, partial(data.pair, compared=compared)) for own in slope)
    return row_variance(model, other, rising, falling)


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
