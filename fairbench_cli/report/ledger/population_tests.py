"""Paired tests of a run's metrics that speak of the population: test rows are a sample too."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.base.grouping import group_by
from fairbench_cli.data.table import Rows
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.metric import Metric
from fairbench_cli.report.ledger import inference
from fairbench_cli.report.ledger.changed_rows import RowChanges, count_net_changes, count_row_changes
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
    changes : RowChanges
        The rows that are decided otherwise: in the mean over the repeats where the basis is `ROW_BY_ROW`,
        else the fewest that counts allow.
    n_rows : array
        How many test rows there are: of all repeats together where each draws its own, and all rows of
        random splits.
    """

    on_rows: inference.PairedTest
    population: inference.PairedTest
    basis: Texts
    changes: RowChanges
    n_rows: Floats

    def p_within(self, margins: Floats, pairs: Rows) -> Floats:
        """Return p of the test whether the means of some pairs are a margin or more from 0, as `same` needs.

        From the rows that change; by two one-sided t-tests too, if there is one and those rows are not
        all known. NaN where nothing can be said, or the margin is NaN.
        """
        test = self.population.select(pairs)
        p_of_rows = self.changes.select(pairs).p_within(test.mean, margins)
        p_of_repeats = test.p_within(margins)
        p_of_both = np.fmax(p_of_rows, p_of_repeats)
        is_enough = ~np.isnan(p_of_rows) & self._rests_on_rows[pairs]
        return np.where(np.isnan(test.p), np.nan, np.where(is_enough, p_of_rows, p_of_both))

    def rows_to_show_same(self, margins: Floats, pairs: Rows) -> Floats:
        """Return with how many rows, about, pairs that do not differ are shown to be within a margin.

        In 80 % of runs, with as many repeats; of the rows that `n_rows` counts. NaN where there are as many.
        """
        changes = self.changes.select(pairs)
        error = np.where(self._rests_on_rows[pairs], 0.0, self.population.error[pairs])
        variance = np.maximum(changes.variance, error**2)
        rows = changes.rows_to_show_same(self.n_rows[pairs], variance, margins)
        is_out_of_reach = ~np.isnan(self.population.p[pairs]) & (rows > self.n_rows[pairs])
        return np.where(is_out_of_reach, rows, np.nan)

    @property
    def _rests_on_rows(self) -> NDArray[np.bool_]:
        """Of which pairs the rows that change say all: each is known, or nothing else varies."""
        rests_on_rows: NDArray[np.bool_] = (self.basis == ROW_BY_ROW) | (
            self.population.error <= inference.EQUAL
        )
        return rests_on_rows


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of rows of the results, all of one data set; parameters as of `compute_population_tests`."""

    results: Results
    data: DatasetRepeats
    ours: Rows
    theirs: Rows
    differences: Floats
    judged: NDArray[np.bool_]

    def select(self, indices: Rows) -> "_Pairs":
        """Return some of the pairs."""
        return _Pairs(
            self.results,
            self.data,
            self.ours[indices],
            self.theirs[indices],
            self.differences[indices],
            self.judged[indices],
        )

    @cached_property
    def keys(self) -> list[Hashable]:
        """What tells a pair of the data set from others, but not from its opposite."""
        cells = map(tuple, np.sort(np.stack([self.cells, self.their_cells], axis=1)).tolist())
        repeats = [row.tobytes() for row in self.is_finite]
        return list(zip(cells, self.compared, self.names, self.judged.tolist(), repeats, strict=True))

    @cached_property
    def is_finite(self) -> NDArray[np.bool_]:
        """Which repeats are pairs, shape (pairs, repeats)."""
        is_finite: NDArray[np.bool_] = np.isfinite(self.differences)
        return is_finite

    @cached_property
    def compared(self) -> Texts:
        """The groups compared, shape (pairs,)."""
        compared: Texts = self.results.rows["compared"].to_numpy(dtype=object)[self.ours]
        return compared

    @cached_property
    def names(self) -> Texts:
        """The metrics' names, shape (pairs,)."""
        names: Texts = self.results.rows["metric"].to_numpy(dtype=object)[self.ours]
        return names

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics by name."""
        return {name: self.results.metric(name) for name in dict.fromkeys(self.names)}

    @cached_property
    def cells(self) -> Rows:
        """The index of each pair's first cell in the data set."""
        cells: Rows = self.results.cell_index[self.ours, 1]
        return cells

    @cached_property
    def their_cells(self) -> Rows:
        """The index of each pair's second cell; `NO_ROW` where there is none."""
        cells: Rows = np.where(self.theirs == NO_ROW, NO_ROW, self.results.cell_index[self.theirs, 1])
        return cells

    def reason_without_counts(self, name: str) -> str:
        """Return the basis of a metric that is no function of counts that rows could move; else nothing."""
        if self.metrics[name].is_test:
            return TEST_STATISTIC
        if self.metrics[name].needs != "counts":
            return ROW_METRIC
        return ""

    def distance_signs(self, rows: Rows, pairs: Any, repeats: Any) -> Floats:
        """Return -1 where what is judged is a distance and falls as the metric rises, else 1."""
        values = self.results.values[rows[pairs]][:, repeats]
        below_ideal = values < self.results.ideals[rows[pairs], None]
        return np.where(self.judged[pairs, None] & below_ideal, -1.0, 1.0)


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

    def compute_tests(
        pairs: Any, ratio: float = 0.0, rows: inference.RowVariance | None = None
    ) -> inference.PairedTest:
        if paired:
            return inference.paired_test(differences[pairs], ratio, rows)
        return inference.welch_test(values[0][pairs], values[1][pairs], ratio, rows)

    on_rows = compute_tests(slice(None))
    population = on_rows.copy()
    basis = np.full(len(ours), FRESH, dtype=object)
    changes = RowChanges.unknown(len(ours), _n_strata(results))
    n_rows = np.full(len(ours), np.nan)
    dataset_of_pair = np.zeros(0)
    if len(results.cell_index):
        dataset_of_pair = results.cell_index[ours, 0]
    for number, data in enumerate(results.datasets):
        indices = np.flatnonzero(dataset_of_pair == number)
        if not len(indices):
            continue
        pairs = _Pairs(results, data, ours[indices], theirs[indices], differences[indices], judged[indices])
        # 2. What of a data set's repeats that have test rows in common is said of the population.
        weights = _decision_weights(pairs)
        between = test = compute_tests(indices, data.design.ratio)
        row_changes = None
        if data.design.kind == "split":
            basis[indices] = SPLITS
        elif data.design.kind == "apart":
            basis[indices] = OTHER_ROWS
            test = compute_tests(indices, data.design.ratio, inference.RowVariance.unknown(len(indices)))
        elif data.design.kind == "shared":
            shared = _compare_shared_rows(pairs, weights)
            row_changes, basis[indices] = shared.changes, shared.basis
            test = compute_tests(indices, data.design.ratio, shared.rows)
        # 3. What rows that were not seen may do: where few change, variances say too little.
        net_changes = _count_net_changes(pairs, weights, _share_of_repeats(data, test.n))
        test = _with_least_width(test, net_changes)
        if row_changes is not None:
            row_changes = replace(row_changes, error=between.error, freedom=between.freedom)
            is_known = row_changes.is_known
            test = _with_limits(test, row_changes, is_known)
            net_changes = row_changes.where(is_known, net_changes)
        population.put(indices, test)
        changes.put(indices, net_changes)
        n_rows[indices] = _count_rows(pairs, test.n)
        # 4. The same on these test rows, where nothing varies. Rows of a repeat's own are the population.
        if data.design.kind == "drawn":
            on_rows.put(indices, test)
        else:
            test = on_rows.select(indices)
            constant = np.where((test.error <= inference.EQUAL)[:, None, None], weights, 0.0)
            net_changes = _count_net_changes(pairs, constant, 1 / np.maximum(test.n, 1))
            on_rows.put(indices, _with_least_width(test, net_changes))
    return PopulationTests(on_rows, population, basis, changes, n_rows)


def _n_strata(results: Results) -> int:
    """Return the largest number of strata of a data set: joint groups by label."""
    return max((2 * len(data.counts.groups) for data in results.datasets), default=1)


def _share_of_repeats(data: DatasetRepeats, n: Floats) -> Floats:
    """Return in which share of n repeats a row of the data set is tested, shape (pairs,)."""
    if data.design.kind == "shared":
        return np.ones(len(n))
    return np.maximum(_tested_share(data), 1 / np.maximum(n, 1))


def _tested_share(data: DatasetRepeats) -> float:
    """Return the share of rows that a random split tests on; 0 where repeats draw test rows."""
    if data.design.kind == "split":
        return data.design.ratio / (1 + data.design.ratio)
    return 0.0


def _count_rows(pairs: _Pairs, n: Floats) -> Floats:
    """Return how many test rows there are, as `PopulationTests` counts them."""
    with np.errstate(invalid="ignore"):
        totals = pairs.data.counts.total[pairs.cells]
    n_tested: Floats = np.where(pairs.is_finite, totals, 0.0).sum(axis=1)
    if pairs.data.design.kind == "drawn":
        return n_tested
    n_of_repeat = n_tested / np.maximum(n, 1)
    if pairs.data.design.kind == "split":
        n_of_repeat = n_of_repeat / _tested_share(pairs.data)
    return n_of_repeat


def _decision_weights(pairs: _Pairs) -> Floats:
    """Return by how much a row that is accepted in a repeat raises mean differences.

    Shape (pairs, repeats, strata); the mean of what it does to both models' metrics. 0 where that is not
    known: of metrics that are no function of counts, of a model alone, and where one row makes a metric
    infinite.
    """
    data = pairs.data
    weights = np.zeros(pairs.differences.shape + (2 * len(data.counts.groups),))
    has_pairs = pairs.is_finite.any(axis=1) & (pairs.theirs != NO_ROW)
    keys = list(zip(pairs.compared, pairs.names, strict=True))
    for compared, name in dict.fromkeys(compress(keys, has_pairs)):
        if pairs.reason_without_counts(name):
            continue
        effects = data.decision_effects(compared, pairs.metrics[name])
        indices = np.flatnonzero(has_pairs & (pairs.compared == compared) & (pairs.names == name))
        everywhere = slice(None)
        signs = pairs.distance_signs(pairs.ours, indices, everywhere)[..., None]
        their_signs = pairs.distance_signs(pairs.theirs, indices, everywhere)[..., None]
        ours = signs * effects[pairs.cells[indices]]
        theirs = their_signs * effects[pairs.their_cells[indices]]
        is_averaged = pairs.is_finite[indices][..., None]
        with np.errstate(invalid="ignore"):
            weight = np.where(is_averaged, (ours + theirs) / 2, 0.0) / is_averaged.sum(axis=1, keepdims=True)
        has_weights = np.isfinite(weight).all(axis=(1, 2))
        weights[indices[has_weights]] = weight[has_weights]
    return weights


def _count_net_changes(pairs: _Pairs, weights: Floats, share: Floats) -> RowChanges:
    """Return the fewest rows of each pair that change, as `count_net_changes` does."""
    n_accepted = pairs.data.counts.n[..., 1]  # (cells, repeats, groups, labels)
    accepted = n_accepted.reshape(n_accepted.shape[:2] + (-1,))
    net = accepted[pairs.cells] - accepted[np.maximum(pairs.their_cells, 0)]
    net = np.where(weights != 0, net, 0.0)
    return count_net_changes(weights, net, share).merge_kinds()


def _with_least_width(test: inference.PairedTest, changes: RowChanges) -> inference.PairedTest:
    """Return tests whose p and intervals are at least those of the rows that change.

    Where nothing varies there is no test but that of these rows.
    """
    p = changes.p_of_changed_rows(test.mean)
    is_constant = test.error <= inference.EQUAL
    p = np.where(np.isnan(p), test.p, np.where(is_constant, p, np.fmax(p, test.p)))
    below, above = changes.half_widths(0.025)
    low = np.minimum(test.low, test.mean - below)
    high = np.maximum(test.high, test.mean + above)
    p = np.where(np.isnan(test.p), np.nan, p)
    return replace(test, low=low, high=high, p=p)


def _with_limits(
    test: inference.PairedTest, changes: RowChanges, is_known: NDArray[np.bool_]
) -> inference.PairedTest:
    """Return tests with intervals from the rows that change, where all are known."""
    below, above = changes.half_widths(0.025)
    has_limits = is_known & ~np.isnan(test.p)
    low = np.where(has_limits, test.mean - below, test.low)
    high = np.where(has_limits, test.mean + above, test.high)
    return replace(test, low=low, high=high)


@dataclass(frozen=True)
class _SharedRows:
    """What test rows that the repeats share say of pairs.

    Parameters
    ----------
    rows : RowVariance
        What they add to the variance; NaN where nothing can be said.
    changes : RowChanges
        Those that change; unknown where decisions were not kept.
    basis : array of str
        What both rest on.
    """

    rows: inference.RowVariance
    changes: RowChanges
    basis: Texts

    def put(self, entries: Rows, other: "_SharedRows", their_entries: Rows, *, swapped: bool) -> None:
        """Write some entries of another into the places of some of these; swapped: of the opposite pairs."""
        changes = other.changes.select(their_entries)
        if swapped:
            changes = changes.opposite()
        self.rows.put(entries, other.rows.select(their_entries))
        self.changes.put(entries, changes)
        self.basis[entries] = other.basis[their_entries]


def _compare_shared_rows(pairs: _Pairs, weights: Floats) -> _SharedRows:
    """Return the variances and changed rows of pairs; of one that was asked for before, those found then.

    Tables, ranks, the front and the page are about the same pairs, in either order of the two cells.
    """
    known = pairs.data.compared_pairs
    keys, swapped = pairs.keys, pairs.cells > pairs.their_cells
    new = [i for i, key in enumerate(keys) if key not in known]
    if new:
        compared = _compare_decisions(pairs.select(np.array(new)), weights[new])
        for position, i in enumerate(new):
            known[keys[i]] = (compared, position, bool(swapped[i]))
    shared = _SharedRows(
        inference.RowVariance.unknown(len(keys)),
        RowChanges.unknown(len(keys), weights.shape[-1]),
        np.full(len(keys), ROW_BY_ROW, dtype=object),
    )
    # Those that were found together are taken together.
    found = [known[key] for key in keys]
    together = group_by(range(len(keys)), lambda i: (id(found[i][0]), found[i][2] != swapped[i]))
    for (_, is_opposite), entries in together.items():
        positions = np.array([found[i][1] for i in entries])
        shared.put(np.array(entries), found[entries[0]][0], positions, swapped=is_opposite)
    return shared


def _compare_decisions(pairs: _Pairs, weights: Floats) -> _SharedRows:
    """Return the variance and the changed rows of each pair, from the decisions on shared test rows."""
    data = pairs.data
    rows = inference.RowVariance.unknown(len(pairs.ours))
    changes = RowChanges.unknown(len(pairs.ours), weights.shape[-1])
    basis = np.full(len(pairs.ours), ROW_BY_ROW, dtype=object)
    # 1. The metrics that have a variance: only of functions of counts can it be said what a row does to them.
    for name in pairs.metrics:
        reason = pairs.reason_without_counts(name)
        if reason:
            basis[pairs.names == name] = reason
    has_variance = pairs.is_finite.any(axis=1) & (basis == ROW_BY_ROW)
    slope_keys = list(zip(pairs.compared, pairs.names, strict=True))
    slopes = {}
    for groups_compared, name in set(compress(slope_keys, has_variance)):
        slopes[groups_compared, name] = data.slopes(groups_compared, pairs.metrics[name])

    def mean_slopes(rows: Rows, indices: Rows, cell: int, repeats: Rows) -> Floats:
        """Return how means over repeats change with a cell's counts, shape (pairs, repeats, strata, 2)."""
        slope = np.stack([slopes[slope_keys[index]][cell, repeats] for index in indices])
        # Below its ideal a metric that rises comes nearer: the distance has the opposite slope.
        slope *= pairs.distance_signs(rows, indices, repeats)[..., None, None]
        is_averaged = pairs.is_finite[indices][:, repeats, None, None]
        mean_slope: Floats = np.where(is_averaged, slope, 0.0) / is_averaged.sum(axis=1, keepdims=True)
        return mean_slope

    # 2. The metrics of two cells, and those of one alone, are taken together: they share their decisions.
    cell_pair = pairs.their_cells * len(data.cells) + pairs.cells
    for number in np.unique(cell_pair[has_variance]):
        indices = np.flatnonzero(has_variance & (cell_pair == number))
        cell = int(pairs.cells[indices[0]])
        their_cell = int(pairs.their_cells[indices[0]])
        repeats = np.flatnonzero(pairs.is_finite[indices].any(axis=0))
        slope = mean_slopes(pairs.ours, indices, cell, repeats)
        is_alone = their_cell == NO_ROW
        if is_alone:
            their_cell = cell
            their_slope = np.zeros_like(slope)
        else:
            their_slope = mean_slopes(pairs.theirs, indices, their_cell, repeats)
        model = data.decisions(cell, repeats)
        their_model = data.decisions(their_cell, repeats)
        decisions = inference.pair_decisions(model, their_model)
        if decisions is None:
            rows.put(indices, inference.bound_variance(model.n, their_model.n, slope, their_slope))
            basis[indices] = FROM_COUNTS
            if data.recorded is not None and data.recorded[cell]:
                basis[indices] = ON_RECORD
            continue
        # 3. What each row does, and which of them change.
        variance = inference.variance_of_rows(decisions, slope, their_slope)
        rows.put(indices, variance)
        row_changes = RowChanges.unknown(len(indices), weights.shape[-1])
        if not is_alone:
            row_changes = count_row_changes(weights[indices][:, repeats], decisions).merge_kinds()
        n = decisions.lengths.sum()
        other_variance = np.maximum(variance.variance * max(n - 1, 1) / n - row_changes.variance, 0.0)
        changes.put(indices, replace(row_changes, other_variance=np.nan_to_num(other_variance)))
    basis[has_variance & np.isnan(rows.variance)] = NO_SLOPE
    return _SharedRows(rows, changes, basis)


def two_model_variance(
    data: DatasetRepeats,
    compared: str,
    cells: Sequence[tuple[int, int]],
    is_averaged: NDArray[np.bool_],
    rising: Floats,
    falling: Floats,
) -> tuple[inference.RowVariance, Texts]:
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
        rows = inference.row_variance(model, their_model, slope, their_slope)
        variance[:, :, pair] = rows.variance, rows.freedom
        basis[pair] = ROW_BY_ROW
        if model.rows is None or their_model.rows is None:
            basis[pair] = FROM_COUNTS
    return inference.RowVariance(*variance), basis
