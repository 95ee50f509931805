"""What the rows of a slice of numbers say of each group: means, quantiles, ranks and errors, with limits."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.compare.references import REST, Bools
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.numbers import NumberCells, SliceNumbers
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.document.distributions import QUANTILES as DRAWN_QUANTILES
from fairbench_cli.document.distributions import choose_edges
from fairbench_cli.measures import value_ranks
from fairbench_cli.measures.clusters import ClusterSums
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import (
    MarginJudgement,
    MeanComparison,
    MeanInterval,
    Ways,
    add_split_tests,
    compare_means,
    judge_margin,
    mean_interval,
    rows_to_decide,
)
from fairbench_cli.measures.moments import (
    POWERS,
    UNWEIGHTED_POWERS,
    Moments,
    cluster_means,
    moments_from_sums,
    select_sides,
    sum_powers_of_groups,
)
from fairbench_cli.measures.number_measures import SHARE_ABOVE
from fairbench_cli.measures.prediction_errors import skill_by_row
from fairbench_cli.measures.quantiles import (
    QuantileLimits,
    divide_quantiles,
    equal_p,
    sorted_quantiles,
    subtract_quantiles,
    table_quantiles,
)
from fairbench_cli.measures.regression import Line, fit_line
from fairbench_cli.measures.splits import NO_SPLITS, draw_enough, evaluate_splits, needs_splits

MOST_VALUES = 100_000  # different ones in a table of values; of more, rows are sorted by group
FIRST = 1000  # values that are looked at before all of them are
OUTCOME = "mean"
RESIDUAL = "mean-residual"
ABSOLUTE_ERROR = "mae"
BRIER = "brier"
EXCESS = "excess"
SKILL = "skill"
TRUTH = "mean-truth"
ChosenBy = Literal["size", "chance", "better"]
MEDIAN = "median"
QUANTILES = {MEDIAN: 0.5, "p10": 0.1, "p90": 0.9}
ROUNDING = 1e-9
CHANCE_OF_DRAWS = 1.1  # times as wide, up to which limits of other splits may be
FEWEST_OTHERS = 10  # rows of a side with another value, where one value is that of most rows


@dataclass(frozen=True, eq=False)
class NumbersOfGroups:
    """The rows of a slice without the groups that are left out, and whom each group is compared with.

    Parameters
    ----------
    part : Slice
    cells : NumberCells
    reference : int
        The place of the reference, or `REST`.
    more_variables : mapping of str to array
        What means are of, beside the outcome and its errors.
    of_strata : bool
        Whether it is one of slices without an order.
    is_probability : bool
        Whether outcomes are chances of a label of 1, and labels 0 or 1.
    chosen_by : {"size", "chance", "better"}
        Why the reference is: it is named or larger; as large as another; better off than that.
    """

    part: Slice
    cells: NumberCells
    reference: int
    more_variables: Mapping[str, Floats] = field(default_factory=dict)
    of_strata: bool = False
    is_probability: bool = False
    chosen_by: ChosenBy = "size"

    def are_compared(self, config: AuditConfig) -> Bools:
        """Return which groups are compared: those that may be, but for the reference itself."""
        return references.are_compared(self.part, self.reference, config)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.part.counts.groups)

    @property
    def reference_name(self) -> str:
        """The name of whom groups are compared with."""
        return references.name_reference(self.reference, self.part.counts.groups)

    def reference_groups(self, group: int) -> list[int]:
        """Return the groups that one is compared with."""
        if self.reference == REST:
            return [other for other in range(self.n_groups) if other != group]
        return [self.reference]

    @cached_property
    def shift(self) -> float:
        """A number near the mean of all values."""
        value = self.cells.value
        if self.cells.values_by_group:
            return float(value.mean())
        return float(np.average(value, weights=self.cells.weight))

    @cached_property
    def variables(self) -> dict[str, Floats]:
        """What means are of, by the name of the measure: the outcome, and with labels its errors."""
        variables = {**variables_of(self.cells, self.is_probability), **self.more_variables}
        if BRIER in variables:
            variables[SKILL] = self._skill_by_cell(variables[BRIER], variables[TRUTH])
        return variables

    def _skill_by_cell(self, square: Floats, truth: Floats) -> Floats:
        group = self.cells.group
        weight = np.bincount(group, self.cells.weight, self.n_groups)
        mean_square, rate = (
            divide(np.bincount(group, self.cells.weight * values, self.n_groups), weight)[group]
            for values in (square, truth)
        )
        return skill_by_row(square, truth, mean_square, rate)

    @cached_property
    def moments(self) -> dict[str, Moments]:
        """The moments of each variable by group."""
        moments = {}
        for name, values in self.variables.items():
            if values is self.cells.value and self.cells.values_by_group:
                moments[name] = sum_powers_of_groups(self.cells.values_by_group, shift=self.shift)
            else:
                moments[name] = self.sum_powers(values, self.cells.group, self.n_groups)
        return moments

    def sum_powers(self, values: Floats, codes: Ints, n_codes: int) -> Moments:
        """Return the moments of values by code, of rows of which several may be alike."""
        cells = self.cells
        shift = self.shift if values is cells.value or values is cells.truth else 0.0
        distance = values - shift
        weights = {1: cells.weight, 2: cells.square, 3: cells.cube}
        powers = POWERS if cells.is_weighted else UNWEIGHTED_POWERS
        products: dict[tuple[int, int], Floats] = {}
        for a, b in powers:  # each is the one before times the distance: a power takes far longer
            products[a, b] = weights[a] if b == 0 else products[a, b - 1] * distance
        sums = [np.bincount(codes, products[a, b], n_codes) for a, b in powers]
        return moments_from_sums(np.bincount(codes, cells.rows, n_codes), np.stack(sums), shift)

    def of_reference(self, moments: Moments) -> Moments:
        """Return the moments that each group is compared with."""
        if self.reference != REST:
            return moments[np.full(self.n_groups, self.reference)]
        everybody = moments.merge()
        return Moments(everybody.rows - moments.rows, everybody.sums[:, None] - moments.sums, moments.shift)

    def ways(self, name: str, group: int) -> list[ClusterSums]:
        """Return how far the rows of each cluster are from the means of a group and of its reference."""
        return [
            cluster_means(select_sides(moments, group, self.reference_groups(group)))
            for moments in self._clustered_moments[name]
        ]

    def own_ways(self, name: str, group: int) -> list[ClusterSums]:
        """Return how far the rows of each cluster are from the mean of a group."""
        return [cluster_means(moments[np.array([group])]) for moments in self._clustered_moments[name]]

    @cached_property
    def _clustered_moments(self) -> dict[str, list[Moments]]:
        """The moments of each variable by group and cluster, by each way of clustering."""
        by_name: dict[str, list[Moments]] = {}
        for name, values in self.variables.items():
            by_name[name] = []
            for person in self.cells.persons:
                n_persons = int(person.max(initial=-1)) + 1
                moments = self.sum_powers(
                    values, self.cells.group * n_persons + person, self.n_groups * n_persons
                )
                by_name[name].append(moments.reshape(self.n_groups, n_persons))
        return by_name

    def rows_of_both(self) -> Floats:
        """Return the numbers of rows of each group and its reference together."""
        rows = self.moments[OUTCOME].rows
        if self.reference == REST:
            return np.full(self.n_groups, rows.sum())
        return np.asarray(rows + rows[self.reference])

    def rows_of(self, name: str, groups: Sequence[int]) -> tuple[Floats, Floats] | None:
        """Return the values and weights of a variable in the rows of some groups; no weights where all are 1.

        None where cells stand for rows of several weights.
        """
        cells = self.cells
        if len(groups) == 1 and cells.values_by_group and name == OUTCOME:
            return cells.values_by_group[groups[0]], np.zeros(0)
        is_inside = np.isin(cells.group, groups)
        values = self.variables[name][is_inside]
        rows = cells.rows[is_inside]
        weights = np.zeros(0)
        if cells.is_weighted:
            weight = cells.weight[is_inside]
            if (rows * cells.square[is_inside] > (1 + ROUNDING) * weight**2).any():
                return None
            weights = weight / rows
        if (rows != 1).any():
            counts = rows.astype(np.int64)
            values = np.repeat(values, counts)
            weights = np.repeat(weights, counts[: len(weights)])
        return values, weights

    def calibrate(self, group: int, confidence: float) -> Line:
        """Return the line of labels on predictions in a group."""
        cells = self.cells
        is_inside = cells.group == group
        rows = cells.rows[is_inside]
        prediction = cells.value[is_inside]
        truth = self.variables[TRUTH][is_inside]
        weights = cells.weight[is_inside] if cells.is_weighted else None
        clusters = cells.persons[0][is_inside] if cells.persons else None
        if (rows != 1).any():
            prediction = np.repeat(prediction, rows.astype(np.int64))
            truth = np.repeat(truth, rows.astype(np.int64))
        return fit_line(prediction, truth, weights, clusters, confidence)

    # -- ranks

    @cached_property
    def _is_first(self) -> NDArray[np.bool_]:
        """Which cells have a value that none before has."""
        value = self.cells.value
        is_first = np.ones(len(value), dtype=bool)
        is_first[1:] = value[1:] != value[:-1]
        return is_first

    @cached_property
    def values_and_codes(self) -> tuple[Floats, Ints]:
        """The values that differ, and the place of each cell among them."""
        return self.cells.value[self._is_first], np.cumsum(self._is_first) - 1

    @cached_property
    def table(self) -> value_ranks.ValueTable | None:
        """How often each value comes in each group; None where there are many different ones."""
        cells = self.cells
        if self._is_first.sum() > MOST_VALUES and not (cells.is_weighted and self._are_alike):
            return None
        values, _ = self.values_and_codes
        counts = self._sum_by_value(cells.weight)
        squares = self._sum_by_value(cells.square) if cells.is_weighted else counts
        rows = np.bincount(cells.group, cells.rows, self.n_groups).astype(np.float64)
        return value_ranks.ValueTable(values, rows, counts, squares)

    def _sum_by_value(self, terms: Floats) -> Floats:
        """Return sums over the rows of each group and value, shape (groups, values)."""
        values, codes = self.values_and_codes
        size = self.n_groups * len(values)
        group = self.cells.group.astype(np.int64)
        sums = np.bincount(group * len(values) + codes, terms, size)
        return sums.astype(np.float64).reshape(self.n_groups, -1)

    @cached_property
    def _values_by_group(self) -> list[value_ranks.SortedValues]:
        """The values of each group in order, each as often as it comes."""
        cells = self.cells
        if cells.values_by_group:
            return [value_ranks.SortedValues(values) for values in cells.values_by_group]
        codes = cells.group.astype(np.int16)  # sorted by counting
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=self.n_groups))
        values = []
        for rows_of_group in np.split(order, ends[:-1]):
            value = cells.value[rows_of_group]
            weights = None
            if cells.is_weighted:
                weights = cells.weight[rows_of_group]
            elif self._are_alike:
                value = np.repeat(value, cells.rows[rows_of_group].astype(np.int64))
            values.append(value_ranks.SortedValues(value, weights))
        return values

    @cached_property
    def _are_alike(self) -> bool:
        """Whether some cell stands for several rows."""
        return bool((self.cells.rows != 1).any())

    def sorted_values(self, groups: Sequence[int]) -> value_ranks.SortedValues:
        """Return the values of some groups in order, each as often as it comes."""
        if len(groups) == 1:
            return self._values_by_group[groups[0]]
        if self.cells.values_by_group:
            return value_ranks.SortedValues(self.cells.value[np.isin(self.cells.group, groups)])
        several = [self._values_by_group[group] for group in groups]
        value = np.concatenate([group.values for group in several])
        order = np.argsort(value, kind="stable")  # which merges what is sorted
        weights = None
        if self.cells.is_weighted:
            weights = np.concatenate([group.weights for group in several if group.weights is not None])[order]
        return value_ranks.SortedValues(value[order], weights)

    def quantiles(self, groups: Sequence[int], shares: Sequence[float], confidence: float) -> QuantileLimits:
        """Return quantiles of the rows of some groups together, with their limits."""
        if self.table is not None:
            return table_quantiles(self.table.select(groups), 0, shares, confidence)
        return sorted_quantiles(self.sorted_values(groups), shares, confidence)

    def placements(self, group: int) -> value_ranks.PlacementSums:
        """Return where the rows of a group stand among those of its reference."""
        reference_groups = self.reference_groups(group)
        if self.table is not None:
            return value_ranks.table_placements(self.table, group, reference_groups)
        if self.cells.values_by_group:
            reference = None if self.reference == REST else self.reference
            if self._is_first.all():
                return value_ranks.ordered_placements(self.cells.group, group, reference)
            return value_ranks.tied_placements(self.cells.value, self.cells.group, group, reference)
        return value_ranks.sorted_placements(
            self.sorted_values([group]), self.sorted_values(reference_groups)
        )

    def placement_ways(self, group: int) -> list[ClusterSums]:
        """Return how far the placements of the rows of each cluster are from their means."""
        cells = self.cells
        if not cells.persons:
            return []
        values, codes = self.values_and_codes
        table = self.table
        if table is None:  # of as many values as rows
            counts = self._sum_by_value(cells.weight)
            table = value_ranks.ValueTable(values, counts.sum(-1), counts, counts)
        reference_groups = self.reference_groups(group)
        counted = np.isin(cells.group, [group, *reference_groups])
        pair = value_ranks.pair_counts(table, group, reference_groups)
        return [
            value_ranks.cluster_placements(
                pair,
                person[counted],
                cells.group[counted] == group,
                codes[counted],
                cells.weight[counted],
                cells.square[counted],
            )
            for person in cells.persons
        ]


def variables_of(cells: NumberCells, is_probability: bool) -> dict[str, Floats]:
    """Return the outcome of each cell, and with labels its errors: of a probability those that are proper."""
    if cells.truth is None:
        return {OUTCOME: cells.value}
    residual = cells.value - cells.truth
    variables = {OUTCOME: cells.value, RESIDUAL: residual, TRUTH: cells.truth}
    if not is_probability:
        return variables | {ABSOLUTE_ERROR: np.abs(residual)}
    square = residual**2
    return variables | {BRIER: square, EXCESS: square - cells.value * (1 - cells.value)}


def numbers_of_groups(
    numbers: SliceNumbers, config: AuditConfig, *, of_strata: bool = False
) -> NumbersOfGroups:
    """Return the rows of a slice without the groups that are left out."""
    stays = ~references.excluded(numbers.part, config)
    part = references.without_groups(numbers.part, ~stays)
    cells = numbers.cells.select_groups(stays)
    more_variables = {}
    if config.above is not None:
        more_variables = {SHARE_ABOVE: (cells.value > config.above).astype(np.float64)}
    is_probability = config.outcome == "probability"
    reference, chosen_by = find_reference(part, cells, config)
    return NumbersOfGroups(
        part,
        cells,
        reference,
        more_variables,
        is_probability=is_probability,
        of_strata=of_strata,
        chosen_by=chosen_by,
    )


def find_reference(group_counts: Slice, cells: NumberCells, config: AuditConfig) -> tuple[int, ChosenBy]:
    """Return the group that others are compared with, or `REST`, and by what it was chosen.

    Of two groups alike in size it is who is better off, where that is known: a test of two groups does not
    change by it, and per cent are of those.
    """
    means = None
    if references.is_chosen_by_rate(group_counts, config):
        means = _means_of_groups(group_counts, cells)[:, None]
    reference = int(references.find_references(group_counts, (OUTCOME,), config, means)[0])
    effective_share = 1.0
    if cells.is_weighted:
        effective_share = float(cells.weight.sum() ** 2 / cells.square.sum() / cells.rows.sum())
    alike = references.find_alike(group_counts, effective_share, config)
    if not alike:
        return reference, "size"
    if config.better is None or references.comparable(group_counts, config).sum() != len(alike):
        return reference, "chance"
    best_first = sorted(
        alike, key=_means_of_groups(group_counts, cells).__getitem__, reverse=config.better == "higher"
    )
    return best_first[0], "better"


def _means_of_groups(group_counts: Slice, cells: NumberCells) -> Floats:
    if cells.values_by_group:
        return np.array([values.mean() for values in cells.values_by_group])
    n_groups = len(group_counts.counts.groups)
    sums = np.bincount(cells.group, cells.weight * cells.value, n_groups)
    return divide(sums, np.bincount(cells.group, cells.weight, n_groups))


Estimates = TypeVar("Estimates", MeanComparison, MeanInterval, MarginJudgement, value_ranks.RankComparison)


def compare_mean(numbers: NumbersOfGroups, name: str, confidence: float) -> MeanComparison:
    """Return the comparison of the mean of a variable in each group, arrays of shape (groups,)."""
    return _estimate_groups(
        numbers, name, lambda group, reference, ways: compare_means(group, reference, confidence, ways)
    )


def judge_mean(numbers: NumbersOfGroups, name: str, margin: Margin, confidence: float) -> MarginJudgement:
    """Return the judgement of a margin on the mean of a variable in each group, arrays of shape (groups,)."""
    return _estimate_groups(
        numbers, name, lambda group, reference, ways: judge_margin(group, reference, margin, confidence, ways)
    )


@dataclass(frozen=True, eq=False)
class MeanEstimates:
    """The means of a variable against their references', arrays of shape (groups,).

    Parameters
    ----------
    comparison : MeanComparison
    judgement : MarginJudgement
    rows_needed : array
        About how many rows of both would decide.
    few_others : dict of int to tuple
        Groups of which most rows, together with the reference's, have one value: which, whether it is the
        group that has too few others, how many, and of how many rows.
    """

    comparison: MeanComparison
    judgement: MarginJudgement
    rows_needed: Floats
    few_others: dict[int, tuple[float, bool, int, int]]


def estimate_means(
    numbers: NumbersOfGroups,
    name: str,
    margin: Margin,
    config: AuditConfig,
    *,
    least_p: float = 0.05,
    with_ratio: bool = False,
) -> MeanEstimates:
    """Return the means of a variable compared and judged, by splits of the rows, too, where they are needed.

    Parameters
    ----------
    least_p : float
        The smallest level that Holm's method may ask for.
    with_ratio : bool
        Whether the ratio of means says something.
    """
    comparison = compare_mean(numbers, name, config.confidence)
    judgement = judge_mean(numbers, name, margin, config.confidence)
    moments = numbers.moments[name]
    reference_moments = numbers.of_reference(moments)
    is_split = needs_splits(moments, reference_moments) & numbers.are_compared(config)
    is_split &= (comparison.difference.error > 0) & (not numbers.cells.persons)
    tests = [NO_SPLITS] * numbers.n_groups
    few_others: dict[int, tuple[float, bool, int, int]] = {}
    for g in np.flatnonzero(is_split).tolist():
        group_rows = numbers.rows_of(name, [g])
        reference_rows = numbers.rows_of(name, numbers.reference_groups(g))
        if group_rows is None or reference_rows is None:
            continue
        shortage = _count_others(group_rows[0], reference_rows[0])
        if shortage is not None:
            few_others[g] = shortage
        weights = None
        if numbers.cells.is_weighted:
            weights = (group_rows[1], reference_rows[1])
        splits = draw_enough(group_rows[0], reference_rows[0], weights, least_p)
        ratio_error = math.nan
        sides = (moments[g], reference_moments[g])
        if with_ratio and min(float(side.mean) for side in sides) > 0:
            ratio_error = math.sqrt(sum(float(side.variance_of_mean / side.mean**2) for side in sides))
        units = float(judgement.units[g])
        edges = ((-units, 1.0), (units, 1.0))
        if margin.unit == "percent":
            factor = margin.value / 100 * float(np.sign(reference_moments.mean[g]))
            edges = ((0.0, 1 - factor), (0.0, 1 + factor))
        tests[g] = evaluate_splits(
            splits, float(comparison.difference.error[g]), ratio_error, edges, config.confidence
        )
    widened, judgement = add_split_tests(comparison, judgement, tests, config.confidence)
    rows_needed = estimate_rows_needed(numbers, name, margin, config.confidence)
    if few_others or any(test is not NO_SPLITS for test in tests):
        rows_needed *= _widening(comparison.difference, widened.difference) ** 2
        # Those that are there already would: by how the rows fell, which more of them do not mend.
        rows_needed = np.where(rows_needed > numbers.rows_of_both(), rows_needed, np.nan)
    return MeanEstimates(widened, judgement, rows_needed, few_others)


def _widening(difference: MeanInterval, widened: MeanInterval) -> Floats:
    """Return how many times as far limits are from a difference by splits as without them."""
    low = divide(difference.value - widened.low, difference.value - difference.low)
    high = divide(widened.high - difference.value, difference.high - difference.value)
    times = np.fmax(low, high)
    return np.asarray(np.where(times > CHANCE_OF_DRAWS, times, 1.0))


def _count_others(group: Floats, reference: Floats) -> tuple[float, bool, int, int] | None:
    """Return which side has too few other values than most rows, as in `few_others`; None: neither."""
    values = np.concatenate([group, reference])
    middle = len(values) // 2
    commonest = float(np.partition(values, middle)[middle])  # a value of more than half of the rows is there
    if 2 * np.count_nonzero(values == commonest) <= len(values):
        return None
    for is_group, side in ((True, group), (False, reference)):
        n_others = int(np.count_nonzero(side != commonest))
        if n_others < FEWEST_OTHERS:
            return commonest, is_group, n_others, len(side)
    return None


def estimate_rows_needed(numbers: NumbersOfGroups, name: str, margin: Margin, confidence: float) -> Floats:
    """Return how many rows of each group and its reference would decide on a mean, shape (groups,)."""
    moments = numbers.moments[name]
    reference_moments = numbers.of_reference(moments)
    if not numbers.cells.persons:
        return rows_to_decide(moments, reference_moments, margin, confidence)
    by_group = []
    for g in range(numbers.n_groups):
        ways = numbers.ways(name, g)
        by_group.append(rows_to_decide(moments[g], reference_moments[g], margin, confidence, ways=ways))
    return np.stack(by_group)


def _estimate_groups(
    numbers: NumbersOfGroups, name: str, estimate: Callable[[Moments, Moments, Ways], Estimates]
) -> Estimates:
    """Return an estimate of each group's mean and its reference's; one by one where rows share clusters."""
    moments = numbers.moments[name]
    reference_moments = numbers.of_reference(moments)
    if not numbers.cells.persons:
        return estimate(moments, reference_moments, ())
    by_group = []
    for g in range(numbers.n_groups):
        by_group.append(estimate(moments[g], reference_moments[g], numbers.ways(name, g)))
    return stack_groups(by_group)


def compare_ranks(numbers: NumbersOfGroups, confidence: float) -> value_ranks.RankComparison:
    """Return which of each group and its reference has more, arrays of shape (groups,).

    Of the reference itself, which is not compared, it is that of another group.
    """
    by_group: dict[int, value_ranks.RankComparison] = {}
    for g in range(numbers.n_groups):
        if g != numbers.reference or numbers.n_groups == 1:
            by_group[g] = value_ranks.compare_placements(
                numbers.placements(g), confidence, numbers.placement_ways(g)
            )
    any_group = next(iter(by_group.values()))
    return stack_groups([by_group.get(g, any_group) for g in range(numbers.n_groups)])


@dataclass(frozen=True, eq=False)
class QuantileEstimates:
    """A quantile of each group with its limits, and its difference from, and ratio to, the reference's.

    Arrays of shape (groups,).
    """

    value: Floats
    low: Floats
    high: Floats
    reference_value: Floats
    difference: tuple[Floats, Floats, Floats]
    ratio: tuple[Floats, Floats, Floats]


def describe_quantiles(numbers: NumbersOfGroups, confidence: float) -> dict[str, QuantileEstimates]:
    """Return the quantiles of each group by name, each against its reference's."""
    shares = tuple(QUANTILES.values())
    limits = [numbers.quantiles([g], shares, confidence) for g in range(numbers.n_groups)]
    by_group = []
    for g, group_limits in enumerate(limits):
        if numbers.reference == REST:
            other_limits = numbers.quantiles(numbers.reference_groups(g), shares, confidence)
        else:
            other_limits = limits[numbers.reference]
        difference = subtract_quantiles(group_limits, other_limits)
        by_group.append(
            (group_limits, other_limits, difference, divide_quantiles(group_limits, other_limits))
        )
    quantiles, other_quantiles, differences, ratios = np.array(by_group, dtype=np.float64).transpose(
        1, 2, 3, 0
    )
    estimates = {}
    for i, name in enumerate(QUANTILES):
        value, low, high = quantiles[:, i]
        estimates[name] = QuantileEstimates(
            value, low, high, other_quantiles[0, i], tuple(differences[:, i]), tuple(ratios[:, i])
        )
    return estimates


def equal_medians_p(numbers: NumbersOfGroups, group: int) -> float:
    """Return the p-value of equal medians of a group and its reference: by the interval of their difference.

    NaN where rows share clusters, which the interval does not know.
    """
    if numbers.cells.persons:
        return math.nan
    median = (QUANTILES[MEDIAN],)
    sides = ([group], numbers.reference_groups(group))
    if numbers.table is None:
        in_order = [numbers.sorted_values(groups) for groups in sides]
        return equal_p(
            lambda confidence: subtract_quantiles(
                *(sorted_quantiles(values, median, confidence) for values in in_order)
            )
        )
    return equal_p(
        lambda confidence: subtract_quantiles(
            *(numbers.quantiles(groups, median, confidence) for groups in sides)
        )
    )


@dataclass(frozen=True, eq=False)
class Shapes:
    """How the numbers of groups are spread.

    Parameters
    ----------
    edges : tuple of float
        Of the bins, equally far apart.
    shares : array, shape (groups, bins)
        Of the group's rows.
    quantiles : array, shape (groups, quantiles)
        At each of the chart's `QUANTILES`.
    n_below, n_above : int
        Rows below the first edge and beyond the last one.
    """

    edges: tuple[float, ...]
    shares: Floats
    quantiles: Floats
    n_below: int
    n_above: int


def describe_shapes(numbers: NumbersOfGroups) -> Shapes:
    """Return how the numbers of groups are spread, in bins that all have in common."""
    cells = numbers.cells
    value = cells.value
    if not len(value):
        return Shapes((0.0, 1.0), np.zeros((0, 1)), np.zeros((0, len(DRAWN_QUANTILES))), 0, 0)
    # Of most numbers the first few say that they are not whole.
    whole = all(bool((values == np.round(values)).all()) for values in (value[:FIRST], value))
    shares_below = np.array([0.01, 0.99])
    if cells.values_by_group:
        index = np.maximum(np.ceil(len(value) * shares_below) - 1, 0).astype(np.int64)
    else:
        below = np.cumsum(cells.rows)
        index = np.searchsorted(below, below[-1] * shares_below)
    low, high = value[index].tolist()
    n_rows = int(np.median(numbers.part.rows))
    edges = choose_edges(float(value[0]), low, high, float(value[-1]), n_rows=n_rows, whole=whole)
    shares = []
    for g in range(numbers.n_groups):
        shares.append(_bin_shares(numbers.sorted_values([g]), edges))
    first_index = np.searchsorted(value, edges[0])
    after_last = np.searchsorted(value, edges[-1], side="right")
    points = [point / 100 for point in DRAWN_QUANTILES]
    quantiles = [numbers.quantiles([g], points, 0.95).value for g in range(numbers.n_groups)]
    return Shapes(
        edges,
        np.array(shares, dtype=np.float64),
        np.array(quantiles, dtype=np.float64),
        int(cells.rows[:first_index].sum()),
        int(cells.rows[after_last:].sum()),
    )


def _bin_shares(values: value_ranks.SortedValues, edges: Sequence[float]) -> Floats:
    """Return the share of the rows in each bin, which holds its lower edge, and the last one both."""
    begins = np.searchsorted(values.values, edges)
    begins[-1] = np.searchsorted(values.values, edges[-1], side="right")
    if values.weights is None:
        return divide(np.diff(begins), float(len(values.values)))
    below = np.concatenate([[0.0], np.cumsum(values.weights)])
    return divide(np.diff(below[begins]), below[-1])


def mean_by_group(numbers: NumbersOfGroups, name: str, confidence: float) -> MeanInterval:
    """Return the mean of a variable in each group with its interval, arrays of shape (groups,)."""
    moments = numbers.moments[name]
    if not numbers.cells.persons:
        return mean_interval(moments, confidence)
    by_group = []
    for g in range(numbers.n_groups):
        by_group.append(mean_interval(moments[g], confidence, numbers.own_ways(name, g)))
    return stack_groups(by_group)


def stack_groups(by_group: Sequence[Estimates]) -> Estimates:
    """Return estimates of groups, one after the other, as those of all."""
    first_group = by_group[0]
    stacked: dict[str, Any] = {}
    for name in (member.name for member in fields(first_group)):
        values = [getattr(estimates, name) for estimates in by_group]
        if is_dataclass(values[0]):
            stacked[name] = stack_groups(values)
        else:
            stacked[name] = np.stack(values)
    return replace(first_group, **stacked)
