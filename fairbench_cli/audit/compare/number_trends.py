"""Numbers of all slices of the rows together, and whether groups' differences change over slices in an order.

Slices in an order, such as months, may be looked at after each. Means are judged by evidence
(`number_looks`); levels in an order, and rows that share clusters, as one table, at look t at the level
α/(t(t + 1)). These add up to less than α, however many looks there are. A slice alone is a description.

The trend of a difference is the slope of a line through the slices' differences. Each is weighted by the rows
behind it, n m/(n + m) of n and m rows, and not by its measured variance: in skewed numbers that depends on
the mean. What all groups have in common in a slice, such as a season, cancels out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairbench_cli.audit.compare import references, slice_order
from fairbench_cli.audit.compare.number_estimates import NumbersOfGroups, numbers_of_groups
from fairbench_cli.audit.compare.number_looks import SlicedNumbers, look_at_slices
from fairbench_cli.audit.compare.numbers import (
    NumberSlice,
    SliceEstimates,
    compare_numbers,
    estimate_slice,
    margin_of,
)
from fairbench_cli.audit.compare.references import Bools
from fairbench_cli.audit.compare.report import Interval
from fairbench_cli.audit.compare.streams import are_stream
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.numbers import NumberCells, SliceNumbers
from fairbench_cli.audit.scan.readings import Ints
from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.clusters import ClusterSums
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.means import FEWEST_UNSPLIT_ROWS, combine_means
from fairbench_cli.measures.moments import Moments, cluster_means

MEASURES = ("mean", "mean-residual", "mae")
LEAST_OF_SIDE = 2  # rows of a group in a slice, which has a variance then
MOST_CLUSTER_CELLS = 5_000_000  # clusters × groups × slices of a trend


@dataclass(frozen=True)
class NumberTrend(slice_order.FittedTrend):
    """What becomes of one difference over the slices.

    Parameters
    ----------
    metric : str
    difference_first, difference_last : float
        In the first and in the last slice, on the fitted line.
    change : Interval
        difference_last − difference_first.
    p, p_holm : float
        Of "the difference is the same in all slices", two-sided; and adjusted over all trends. NaN without
        test.
    margin : float
    word : {"rises", "falls", "steady", "undecided"}
        Steady: a change by less than the margin is all that fits the data.
    reason : {"few", "clusters", "chance", ""}
        Why it is not decided.
    """

    metric: str
    difference_first: float
    difference_last: float
    change: Interval
    p: float
    p_holm: float
    margin: float
    word: slice_order.TrendWord
    reason: slice_order.NoTrend


@dataclass(frozen=True, eq=False)
class WholeEstimates:
    """What all slices of an attribute say together, at the confidence of `config`; and their trends."""

    estimates: SliceEstimates
    trends: tuple[NumberTrend, ...]
    config: AuditConfig
    is_stream: bool


@dataclass(frozen=True, eq=False)
class NumberSlices:
    """All slices together, their names, and trends.

    Parameters
    ----------
    together : tuple of NumberSlice
        Of each attribute, all slices as one.
    names : tuple of str
    trends : tuple of NumberTrend
        None where slices have no order.
    confidence : float
        Of the intervals and tests of all slices together, whose verdicts hold at all looks.
    is_stream : bool
        Whether slices are looks, and all of them together are what the verdict goes by.
    last_slice : str
    """

    together: tuple[NumberSlice, ...]
    names: tuple[str, ...]
    trends: tuple[NumberTrend, ...]
    confidence: float
    is_stream: bool
    last_slice: str


def estimate_whole(
    slices: Sequence[SliceNumbers], column: str, config: AuditConfig, person: str
) -> Iterator[WholeEstimates]:
    """Yield what all slices say together, by attribute; `person` as of `estimate_slice`."""
    names = list(dict.fromkeys(numbers.part.model for numbers in slices))
    times = slice_order.parse_times(names)
    is_stream = are_stream([numbers.part for numbers in slices], config)
    whole_config = config.model_copy(update={"sliced_by": None})
    has_evidence = is_stream and config.outcome != "ordinal" and not config.cluster
    if is_stream and not has_evidence:
        level = config.alpha / (len(names) * (len(names) + 1))
        whole_config = whole_config.model_copy(update={"confidence": 1 - level})
    for of_attribute in group_by(slices, lambda numbers: numbers.part.attribute).values():
        together, slice_codes = merge_numbers(of_attribute, names)
        estimates = estimate_slice(together, column, whole_config, person=person)
        trends: tuple[NumberTrend, ...] = ()
        if times is not None and config.outcome != "ordinal":
            stays = ~references.excluded(together.part, config)
            codes = slice_codes[stays[together.cells.group]]
            sliced = SlicedNumbers(numbers_of_groups(together, config), codes, names)
            if len(names) >= slice_order.LEAST:
                trends = tuple(_compute_trends(sliced, times, config))
            if has_evidence:
                judged = [look_at_slices(variable, sliced, config) for variable in estimates.judged]
                estimates = replace(estimates, judged=tuple(judged))
        yield WholeEstimates(estimates, trends, whole_config, is_stream)


def judge_whole(
    estimates: Sequence[WholeEstimates], names: tuple[str, ...], deciding: Sequence[str], config: AuditConfig
) -> NumberSlices:
    """Return the comparisons of all slices together, and the trends, adjusted for each other."""
    whole_config = estimates[0].config
    together = compare_numbers([of_attribute.estimates for of_attribute in estimates], deciding, whole_config)
    if slice_order.parse_times(names) is None:
        together = tuple(map(_without_verdicts, together))
    trends: list[NumberTrend] = []
    for of_attribute in estimates:
        trends += [row for row in of_attribute.trends if row.metric in deciding]
    return NumberSlices(
        together,
        names,
        tuple(slice_order.add_trend_words(trends, config.alpha, lambda row: (0.0, -row.margin, row.margin))),
        whole_config.confidence,
        estimates[0].is_stream,
        names[-1],
    )


def _without_verdicts(numbers: NumberSlice) -> NumberSlice:
    """Return all slices without an order together as they are shown: what is judged is each."""
    rows = [
        replace(row, verdict=None, shown_outside=False, reason="", rows_needed=np.nan)
        for row in numbers.comparisons
    ]
    return replace(numbers, comparisons=tuple(rows))


def merge_numbers(slices: Sequence[SliceNumbers], names: Sequence[str]) -> tuple[SliceNumbers, Ints]:
    """Return the rows of several slices of an attribute as one, and the place of each cell's slice."""
    merged = slice_order.merge_slices([numbers.part for numbers in slices], slices[0].part.decision)
    index = {group: g for g, group in enumerate(merged.counts.groups)}
    groups = []
    codes = []
    for numbers in slices:
        positions = np.array([index[group] for group in numbers.part.counts.groups], dtype=np.int64)
        groups.append(positions[numbers.cells.group])
        codes.append(np.full(len(numbers.cells.group), names.index(numbers.part.model)))
    value = np.concatenate([numbers.cells.value for numbers in slices])
    order = np.argsort(value, kind="stable")

    def join(arrays: Sequence[Floats]) -> Floats:
        joined: Floats = np.concatenate(arrays)[order]
        return joined

    rows = join([numbers.cells.rows for numbers in slices])
    weight = square = cube = rows
    if slices[0].cells.is_weighted:
        weight = join([numbers.cells.weight for numbers in slices])
        square = join([numbers.cells.square for numbers in slices])
        cube = join([numbers.cells.cube for numbers in slices])
    truth = None
    truths = [numbers.cells.truth for numbers in slices if numbers.cells.truth is not None]
    if truths:
        truth = join(truths)
    persons = []
    for of_column in zip(*(numbers.cells.persons for numbers in slices), strict=True):
        persons.append(np.concatenate(of_column)[order])
    cells = NumberCells(
        value[order], truth, np.concatenate(groups)[order], rows, weight, square, cube, tuple(persons)
    )
    rounded = any(numbers.rounded for numbers in slices)
    return SliceNumbers(merged, cells, rounded), np.concatenate(codes)[order]


def _compute_trends(
    sliced: SlicedNumbers, times: Sequence[float], config: AuditConfig
) -> Iterator[NumberTrend]:
    """Yield the trend of each measure of each group that is compared, none of them adjusted."""
    numbers = sliced.numbers
    is_compared = numbers.are_compared(config)
    when = np.asarray(times)
    when = (when - when[0]) / (when[-1] - when[0])
    groups = numbers.part.counts.groups
    for name in MEASURES:
        if name not in numbers.variables:
            continue
        moments = sliced.moments(name)
        margins = margin_of(name, numbers, config).in_units(numbers.of_reference(numbers.moments[name]))
        for g in np.flatnonzero(is_compared).tolist():
            reference_groups = numbers.reference_groups(g)
            sides = _stack_sides(moments[np.array(reference_groups)].merge(-2), moments[g])
            trend = _fit_trend(sides, when, numbers, sliced.codes, name, g, config)
            yield replace(
                trend,
                attribute=numbers.part.attribute,
                decision=numbers.part.decision,
                group=groups[g],
                reference=numbers.reference_name,
                margin=float(margins[g]),
            )


def _stack_sides(reference: Moments, group: Moments) -> Moments:
    """Return the moments of both by slice, shape (2, slices), the reference first."""
    rows = np.stack([reference.rows, group.rows])
    return Moments(rows, np.stack([reference.sums, group.sums], axis=1), group.shift)


def _fit_trend(
    sides: Moments,
    when: Floats,
    numbers: NumbersOfGroups,
    codes: Ints,
    name: str,
    g: int,
    config: AuditConfig,
) -> NumberTrend:
    """Return the line through a group's differences, with its test; the names are filled in later."""
    has_both = np.asarray((sides.rows >= LEAST_OF_SIDE).all(0), dtype=bool)
    reason: slice_order.NoTrend = ""
    trend = NumberTrend(
        "", "", "", "", "", name, np.nan, np.nan, Interval(np.nan, np.nan, np.nan), np.nan, np.nan, np.nan,
        "undecided", "few",
    )  # fmt: skip
    few_rows = sides[..., np.flatnonzero(has_both)].effective_rows.sum(-1).min() < FEWEST_UNSPLIT_ROWS
    if has_both.sum() < slice_order.LEAST or few_rows:
        return trend
    informative = sides[:, np.flatnonzero(has_both)]
    time = when[has_both]
    reference_rows, group_rows = informative.effective_rows
    weight = group_rows * reference_rows / (group_rows + reference_rows)
    weight = weight / weight.sum()
    away = time - weight @ time
    slope = weight * away / (weight @ away**2)
    flat = informative.reshape(-1)
    ways: list[ClusterSums] = []
    if numbers.cells.persons:
        clustered = _cluster_ways(numbers, codes, name, g, has_both)
        if clustered is None:
            return replace(trend, reason="clusters")
        ways = clustered
    change = combine_means(flat, np.concatenate([-slope, slope]), config.confidence, ways)
    difference = informative.mean[1] - informative.mean[0]
    level = float(weight @ difference) - float(change.value) * float(weight @ time)
    if np.isnan(change.p):
        reason = "clusters" if ways else "few"
    return replace(
        trend,
        difference_first=level,
        difference_last=level + float(change.value),
        change=Interval(float(change.value), float(change.low), float(change.high)),
        p=float(change.p),
        reason=reason,
    )


def _cluster_ways(
    numbers: NumbersOfGroups, codes: Ints, name: str, g: int, has_both: Bools
) -> list[ClusterSums] | None:
    """Return how far the rows of each cluster are from the means of both sides in each slice.

    None where clusters and slices are too many to be held in memory.
    """
    n_slices = len(has_both)
    cells = numbers.cells
    is_group = cells.group == g
    side = np.where(is_group, 1, 0)
    is_counted = is_group | np.isin(cells.group, numbers.reference_groups(g))
    ways = []
    for person in cells.persons:
        n_persons = int(person.max(initial=-1)) + 1
        n_cells = 2 * n_slices * n_persons
        if n_cells > MOST_CLUSTER_CELLS:
            return None
        codes_of_cells = (side * n_slices + codes) * n_persons + person
        codes_of_cells = np.where(is_counted, codes_of_cells, n_cells)  # a last cell of all that do not count
        moments = numbers.sum_powers(numbers.variables[name], codes_of_cells, n_cells + 1)
        counted = moments[np.arange(n_cells)]
        by_side = counted.reshape(2 * n_slices, n_persons)
        ways.append(cluster_means(by_side[np.flatnonzero(np.tile(has_both, 2))]))
    return ways
