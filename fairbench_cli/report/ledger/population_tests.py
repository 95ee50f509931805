"""Paired tests of a run's metrics that speak of the population: test rows are a sample too."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Counts, Floats
from fairbench_cli.report.ledger.inference import (
    EQUAL,
    PairedTest,
    RowVariance,
    paired_test,
    row_effects,
    row_variance,
    welch_test,
    with_unseen_rows,
)
from fairbench_cli.report.ledger.journal_arrays import DatasetRepeats, Texts
from fairbench_cli.report.ledger.results import NO_ROW, Results

FRESH = "fresh test rows"
SPLITS = "random splits"
ROW_BY_ROW = "decisions row by row"
FROM_COUNTS = "bound from counts"
ON_RECORD = "bound from recorded counts"
OTHER_ROWS = "none: other test rows"
ROW_METRIC = "none: not from counts"
TEST_STATISTIC = "none: a test statistic"
NO_SLOPE = "none: no derivative"

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


@dataclass(frozen=True)
class PopulationTests:
    """Tests whether mean differences are 0, one a pair.

    Parameters
    ----------
    on_rows : PairedTest
        With other training sets, on these test rows.
    population : PairedTest
        With other test rows too; NaN where nothing can be said.
    basis : array of str
        What `population` rests on, or why there is none.
    """

    on_rows: PairedTest
    population: PairedTest
    basis: Texts


def compute_population_tests(
    results: Results,
    ours: Rows,
    theirs: Rows,
    values: Sequence[Floats],
    judged: NDArray[np.bool_],
    *,
    paired: bool = True,
) -> PopulationTests:
    """Test whether mean differences are 0, on these test rows and in the population.

    Parameters
    ----------
    ours, theirs : int array, shape (pairs,)
        Rows of the results: of one data set, groups compared and metric in each pair. `NO_ROW` for theirs:
        what is tested are our values, less a constant.
    values : two float arrays, shape (pairs, repeats)
        Whose differences are tested; NaN and infinite ones are no pairs.
    judged : bool array, shape (pairs,)
        Whether the values are distances to the metric's ideal.
    paired : bool
        Whether equal numbers of repeats belong together; else Welch's test takes the place of the paired one.
    """
    # 1. Tests of all pairs as if every repeat drew test rows of its own: one test answers both questions.
    with np.errstate(invalid="ignore"):  # infinite ratios are no pairs
        differences = values[0] - values[1]

    def compute_tests(pairs: Any, ratio: float = 0.0, rows: RowVariance | None = None) -> PairedTest:
        if paired:
            return paired_test(differences[pairs], ratio, rows)
        return welch_test(values[0][pairs], values[1][pairs], ratio, rows)

    population = compute_tests(slice(None))
    basis = np.full(len(ours), FRESH, dtype=object)
    on_rows = PairedTest(**{name: numbers.copy() for name, numbers in vars(population).items()})
    # 2. For the population, tests again of data sets whose repeats have test rows in common.
    dataset_of_pair = np.zeros(0)
    if len(results.cell_index):
        dataset_of_pair = results.cell_index[ours, 0]
    for number, data in enumerate(results.datasets):
        pairs = np.flatnonzero(dataset_of_pair == number)
        rows = None
        if not len(pairs) or data.design.kind == "drawn":
            continue
        if data.design.kind == "split":
            basis[pairs] = SPLITS
        elif data.design.kind == "apart":
            basis[pairs] = OTHER_ROWS
            rows = RowVariance(*np.full((2, len(pairs)), np.nan))
        else:
            rows, basis[pairs] = _shared_row_variance(
                results, data, ours[pairs], theirs[pairs], differences[pairs], judged[pairs]
            )
        for name, numbers in vars(compute_tests(pairs, data.design.ratio, rows)).items():
            getattr(population, name)[pairs] = numbers
    # 3. What rows that were not seen may do, where nothing varies.
    tests = PopulationTests(on_rows, population, basis)
    for number, data in enumerate(results.datasets):
        _add_unseen_rows(tests, results, data, dataset_of_pair == number, ours, theirs, differences)
    return tests


def _share_of_repeats(data: DatasetRepeats, n: Floats) -> Floats:
    """Return in which share of n repeats a row of the data set is tested, shape (pairs,)."""
    if data.design.kind == "shared":
        return np.ones(len(n))
    if data.design.kind == "split":
        left_out = data.design.ratio / (1 + data.design.ratio)
    else:
        left_out = 0.0
    return np.maximum(left_out, 1 / np.maximum(n, 1))


def _add_unseen_rows(
    tests: PopulationTests,
    results: Results,
    data: DatasetRepeats,
    is_of_data: NDArray[np.bool_],
    ours: Rows,
    theirs: Rows,
    differences: Floats,
) -> None:
    """Put what rows that were not seen may do into tests of a data set of which nothing varies.

    Metrics that are no function of counts, and a model alone, keep what `paired_test` says of them.
    """
    # 1. The pairs of which nothing varies. What does not in the population does not on these rows.
    shares = {
        "on_rows": 1 / np.maximum(tests.on_rows.n, 1),
        "population": _share_of_repeats(data, tests.population.n),
    }
    metrics = results.rows["metric"].to_numpy(dtype=object)
    nothing_varies = is_of_data & (tests.on_rows.error <= EQUAL) & (tests.on_rows.n >= 2) & (theirs != NO_ROW)

    def count_levels(row: int, repeats: Rows, compared: str) -> Counts:
        cell = results.cell_index[row, 1]
        return data.levels(Counts(data.counts.groups, data.counts.n[cell, repeats]), compared)

    for index in np.flatnonzero(nothing_varies):
        metric = results.metric(metrics[ours[index]])
        if metric.is_test or metrics[ours[index]] in data.row_values:
            continue
        # 2. By how much one row would move the metric, and how many rows are decided otherwise.
        repeats = np.flatnonzero(np.isfinite(differences[index]))
        compared = str(results.rows["compared"].iloc[ours[index]])
        our_counts = count_levels(ours[index], repeats, compared)
        their_counts = count_levels(theirs[index], repeats, compared)
        effects = row_effects(metric, our_counts).mean(axis=0)
        # One row makes some ratios infinite, and none moves a metric that does not look at decisions.
        if not np.isfinite(effects).all() or not effects.any():
            continue
        n_changed = np.abs((our_counts.n - their_counts.n)[..., 1].mean(axis=0)).sum(axis=-1)
        # 3. The test of the pair, on these rows and in the population.
        entry = slice(index, index + 1)
        for scope, share in shares.items():
            test: PairedTest = getattr(tests, scope)
            if test.error[index] > EQUAL:
                continue
            pair_test = PairedTest(**{name: numbers[entry] for name, numbers in vars(test).items()})
            pair_test = with_unseen_rows(pair_test, effects[None], n_changed[None], share[entry])
            for name, numbers in vars(pair_test).items():
                getattr(test, name)[entry] = numbers


def _shared_row_variance(
    results: Results,
    data: DatasetRepeats,
    ours: Rows,
    theirs: Rows,
    differences: Floats,
    judged: NDArray[np.bool_],
) -> tuple[RowVariance, Texts]:
    """Return the variance that shared test rows add to each pair's, and the basis that it rests on."""
    variance = np.full((2, len(ours)), np.nan)  # and its degrees of freedom
    basis = np.full(len(ours), ROW_BY_ROW, dtype=object)
    is_finite = np.isfinite(differences)
    # 1. The metrics that have a variance: only of functions of counts can it be said what a row does to them.
    compared, names = results.rows[["compared", "metric"]].to_numpy(dtype=object)[ours].T
    metrics = {name: results.metric(name) for name in dict.fromkeys(names)}
    for name, metric in metrics.items():
        if metric.is_test:
            basis[names == name] = TEST_STATISTIC
        elif name in data.row_values:
            basis[names == name] = ROW_METRIC
    has_variance = is_finite.any(axis=1) & (basis == ROW_BY_ROW)
    slope_keys = list(zip(compared, names, strict=True))
    slopes = {}
    for groups_compared, name in set(compress(slope_keys, has_variance)):
        slopes[groups_compared, name] = data.slopes(groups_compared, metrics[name])

    def mean_slopes(rows: Rows, pairs: Rows, cell: int, repeats: Rows) -> Floats:
        """Return how means over repeats change with a cell's counts, shape (pairs, repeats, strata, 2)."""
        slope = np.stack([slopes[slope_keys[pair]][cell, repeats] for pair in pairs])
        # Below its ideal a metric that rises comes nearer: the distance has the opposite slope.
        below_ideal = results.values[rows[pairs]][:, repeats] < results.ideals[rows[pairs], None]
        slope *= np.where(judged[pairs, None] & below_ideal, -1, 1)[..., None, None]
        is_averaged = is_finite[pairs][:, repeats, None, None]
        mean_slope: Floats = np.where(is_averaged, slope, 0.0) / is_averaged.sum(axis=1, keepdims=True)
        return mean_slope

    # 2. The metrics of two cells, and those of one alone, are taken together: they share their decisions.
    cells = results.cell_index[ours, 1]
    their_cells = np.where(theirs == NO_ROW, NO_ROW, results.cell_index[theirs, 1])
    cell_pair = their_cells * len(data.cells) + cells
    for number in np.unique(cell_pair[has_variance]):
        pairs = np.flatnonzero(has_variance & (cell_pair == number))
        cell = int(cells[pairs[0]])
        their_cell = int(their_cells[pairs[0]])
        repeats = np.flatnonzero(is_finite[pairs].any(axis=0))
        slope = mean_slopes(ours, pairs, cell, repeats)
        if their_cell == NO_ROW:
            their_cell = cell
            their_slope = np.zeros_like(slope)
        else:
            their_slope = mean_slopes(theirs, pairs, their_cell, repeats)
        model = data.decisions(cell, repeats)
        their_model = data.decisions(their_cell, repeats)
        rows = row_variance(model, their_model, slope, their_slope)
        variance[:, pairs] = rows.variance, rows.freedom
        if model.rows is None or their_model.rows is None:
            basis[pairs] = FROM_COUNTS
            if data.recorded is not None and data.recorded[cell]:
                basis[pairs] = ON_RECORD
    basis[has_variance & np.isnan(variance[0])] = NO_SLOPE
    return RowVariance(*variance), basis


def two_model_variance(
    data: DatasetRepeats,
    compared: str,
    cells: Sequence[tuple[int, int]],
    is_averaged: NDArray[np.bool_],
    rising: Floats,
    falling: Floats,
) -> tuple[RowVariance, Texts]:
    """Return the variance that shared test rows add to means over repeats that depend on two models.

    Parameters
    ----------
    cells : sequence of (int, int), one a pair
        The indices of the two cells in `data`.
    is_averaged : bool array, shape (pairs, repeats)
        Over which repeats the means are taken.
    rising, falling : float arrays, shape (means, pairs, repeats, 2, 2, 2)
        How each number rises with the counts of the first model's deprived and favoured group, and falls with
        those of the second's.

    Returns
    -------
    rows : RowVariance, shape (means, pairs)
        NaN of means over no repeat.
    basis : array of str, shape (pairs,)
        What it rests on; empty where it is NaN.
    """
    variance = np.full((2, *rising.shape[:2]), np.nan)  # and its degrees of freedom
    basis = np.full(len(cells), "", dtype=object)
    sum_pair = partial(data.pair, compared=compared)
    for pair, (cell, their_cell) in enumerate(cells):
        repeats = np.flatnonzero(is_averaged[pair])
        if not len(repeats):
            continue
        model = data.decisions(cell, repeats)
        their_model = data.decisions(their_cell, repeats)
        slope = data.slopes_by_stratum(rising[:, pair, repeats] / len(repeats), sum_pair)
        their_slope = data.slopes_by_stratum(falling[:, pair, repeats] / len(repeats), sum_pair)
        rows = row_variance(model, their_model, slope, their_slope)
        variance[:, :, pair] = rows.variance, rows.freedom
        basis[pair] = ROW_BY_ROW
        if model.rows is None or their_model.rows is None:
            basis[pair] = FROM_COUNTS
    return RowVariance(*variance), basis
