"""Numbers of groups compared: means, quantiles, ranks, errors; their intervals and tests, and what decides.

* **Fails**: equal means are rejected after Holm, and the measured difference is larger than the margin.
* **Passes**: the whole interval of the difference lies within the margin.
* **Not decided**: anything else; always where a group's rows are worth fewer than `FEWEST_ROWS`, or have one
  value, and where several are of one person.

A margin that is estimated, in percent of the reference's mean or in its standard deviations, is tested by the
contrast of both means and the margin. Ordinal outcomes have no means: what decides is how likely one of the
group is at a higher level than one of the reference, with the margin that is .2 standard deviations of a
normal outcome.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fairbench_cli.audit.compare import number_remarks, references
from fairbench_cli.audit.compare.family import adjust_family, are_named, find_copies, named_rates
from fairbench_cli.audit.compare.number_estimates import (
    ABSOLUTE_ERROR,
    BRIER,
    EXCESS,
    MEDIAN,
    OUTCOME,
    RESIDUAL,
    SKILL,
    TRUTH,
    ChosenBy,
    NumbersOfGroups,
    QuantileEstimates,
    Shapes,
    compare_mean,
    compare_ranks,
    describe_quantiles,
    describe_shapes,
    equal_medians_p,
    estimate_means,
    mean_by_group,
    numbers_of_groups,
)
from fairbench_cli.audit.compare.references import REST, Bools
from fairbench_cli.audit.compare.report import (
    Interval,
    Intervals,
    NumberComparison,
    NumberLook,
    Place,
    Reason,
    intervals,
)
from fairbench_cli.audit.compare.streams import are_stream
from fairbench_cli.audit.config import DEFAULT, AuditConfig, Side
from fairbench_cli.audit.scan.numbers import MOST_CELLS, SliceNumbers
from fairbench_cli.audit.scan.slices import Slice
from fairbench_cli.base.errors import Flag, format_value, user_error
from fairbench_cli.base.grouping import group_by
from fairbench_cli.base.safe_text import format_amount
from fairbench_cli.data.recognise import named_like_amounts, named_like_scores
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.chance_gaps import chance_of_gap
from fairbench_cli.measures.classes import MORE_MARGIN
from fairbench_cli.measures.counts import Floats, divide
from fairbench_cli.measures.margin import Margin
from fairbench_cli.measures.means import FEW_SKEWED_ROWS, MeanComparison, mean_interval
from fairbench_cli.measures.moments import Moments
from fairbench_cli.measures.number_measures import NUMBER_MEASURES, SHARE_ABOVE
from fairbench_cli.measures.prediction_errors import explained_share, mean_square
from fairbench_cli.measures.regression import EstimateWithLimits
from fairbench_cli.measures.significance import normal_quantiles
from fairbench_cli.measures.value_ranks import RankComparison

Kind = Literal["number", "amount", "probability"]
MORE = "more"
DISTANCE = "distance"
POWER_QUANTILE = 0.8416  # of the normal distribution at a power of .8
SPREAD_MARGIN = 0.2  # standard deviations of the reference: "small" by Cohen (1988)
ERROR_MARGIN = 20.0  # per cent of the reference's mean absolute error
PROBABILITY_MARGIN = 0.05  # of its mean, and of its mean error
PAY_MARGIN = 5.0  # per cent; a default: Directive (EU) 2023/970, Art. 10, has it for categories of workers
SIGNIFICANT = 3  # digits of a standard deviation
MOST_DECIMALS = 6
LARGEST_RANK_MARGIN = 0.5
NO_SHORTAGE: tuple[Reason, ...] = ("",)
AMOUNTS = 0.99  # of the values of amounts are not below 0
SCALE = 100.0  # what goes no higher may be a scale of points


@dataclass(frozen=True)
class StatedMargin:
    """How far apart groups may be, in the three units in which it can be said.

    Parameters
    ----------
    units, percent, deviations : float
        In the column's units, in percent of the reference's mean (NaN where that says nothing), in the
        reference's standard deviations.
    stated : Margin
        As it was stated, or is by default.
    kind : {"number", "amount", "probability"}
        What values are taken for: amounts are such as pay.
    """

    units: float
    percent: float
    deviations: float
    stated: Margin
    kind: Kind

    @property
    def percent_of_pay(self) -> float:
        """The per cent of the reference's mean of which the chance is told: as stated, else `PAY_MARGIN`."""
        if self.stated.unit == "percent":
            return self.stated.value
        return PAY_MARGIN

    @property
    def deviation(self) -> float:
        """The reference's standard deviation; NaN where it has none."""
        return float(divide(np.asarray(self.units), np.asarray(self.deviations)))


@dataclass(frozen=True)
class NumberGroup(Place):
    """The numbers of one group.

    Parameters
    ----------
    group : str
    rows : int
    small, is_reference : bool
    values : dict of str to Interval
        By the name of the measure.
    """

    group: str
    rows: int
    small: bool
    is_reference: bool
    values: dict[str, Interval]


@dataclass(frozen=True)
class NumberSlice(Place):
    """The numbers of one attribute's groups under one model, and how they compare.

    Parameters
    ----------
    column : str
        What the numbers are called.
    digits : int
        Decimals in which they are written, by how far they are spread.
    reference : str
        The group that others are compared with.
    margin : StatedMargin
        Of means.
    stated : dict of str to Margin
        The margin of each measure that has one.
    groups : tuple of NumberGroup
    comparisons : tuple of NumberComparison
    shapes : Shapes
    remarks : tuple of str
        What a reader should know of these numbers.
    better : {"higher", "lower"} or None
        Which numbers are better for people, where that is known.
    chosen_by : {"size", "chance", "better"}
        Why the reference is one (`NumbersOfGroups`).
    is_last_look : bool
        Whether it is the last of slices in an order: the verdict then is of all of them, not of this one.
    chances : dict of str to float
        Of amounts by slices without an order: by the group the chance that its mean is the margin in per cent
        or more from its reference's where both are equal (`measures.chance_gaps`).
    above : float or None
        Of which value the share above it is a measure.
    """

    column: str
    digits: int
    reference: str
    margin: StatedMargin
    stated: dict[str, Margin]
    groups: tuple[NumberGroup, ...]
    comparisons: tuple[NumberComparison, ...]
    shapes: Shapes
    remarks: tuple[str, ...]
    better: Side | None = None
    chosen_by: ChosenBy = "size"
    is_last_look: bool = False
    chances: dict[str, float] = field(default_factory=dict)
    above: float | None = None


@dataclass(frozen=True, eq=False)
class VariableEstimates:
    """What decides on one measure of a slice: arrays of shape (groups,).

    Parameters
    ----------
    metric : str
    value, reference_value : arrays
    difference : Intervals
    ratio : Intervals
    p : array
        NaN where nothing is tested.
    margin : array
        In the units of the difference.
    is_beyond, is_within, is_outside : bool arrays
        Whether the measured difference is beyond the margin; shown to be within; shown to be beyond.
    shortage : tuple of str
        Why the rows of each group decide nothing, if so.
    rows_needed : array
    looks : dict of int to NumberLook
        Of each group, where slices are looks at a stream.
    remarks : tuple of str
        What is to be known of the rows.
    few_skewed : frozenset of int
        The groups whose rows are few and skewed, or their reference's.
    missed : dict of int to str
        Of groups what may be missing by chance, which is said where the gap may be chance, too.
    """

    metric: str
    value: Floats
    reference_value: Floats
    difference: Intervals
    ratio: Intervals
    p: Floats
    margin: Floats
    is_beyond: Bools
    is_within: Bools
    is_outside: Bools
    shortage: tuple[Reason, ...]
    rows_needed: Floats
    looks: dict[int, NumberLook] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    few_skewed: frozenset[int] = frozenset()
    missed: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SliceEstimates:
    """What the rows of a slice say, before anything is judged.

    Parameters
    ----------
    part : Slice
        Without the groups that are left out.
    column : str
    reference : int
        The place of the reference, or `REST`.
    margin : StatedMargin
    stated : dict of str to Margin
        As of `NumberSlice`.
    values : dict of str to Intervals
        Of each group, by the name of the measure.
    judged, described : tuple of VariableEstimates
        What has a margin, and what has none.
    shapes : Shapes
    remarks : tuple of str
    chosen_by : {"size", "chance", "better"}
        As of `NumberSlice`.
    """

    part: Slice
    column: str
    reference: int
    margin: StatedMargin
    stated: dict[str, Margin]
    values: dict[str, Intervals]
    judged: tuple[VariableEstimates, ...]
    described: tuple[VariableEstimates, ...]
    shapes: Shapes
    remarks: tuple[str, ...]
    chances: dict[str, float] = field(default_factory=dict)
    chosen_by: ChosenBy = "size"


def estimate_slice(
    numbers: SliceNumbers,
    column: str,
    config: AuditConfig,
    n_slices: int = 1,
    person: str = "",
    *,
    of_strata: bool = False,
) -> SliceEstimates:
    """Return the estimates of a slice of rows, one of `n_slices` that are adjusted together.

    Rows of which several are of one `person`, by the column of that name, decide nothing, and have no limits.
    Of amounts by slices without an order the chance of a gap between equal groups is estimated, too.

    Raises
    ------
    UserError
        For a margin that says nothing about this column.
    """
    of_groups = numbers_of_groups(numbers, config, of_strata=of_strata)
    is_ordinal = config.outcome == "ordinal"
    least_p = config.alpha / (n_slices * of_groups.n_groups)
    moments = of_groups.moments[OUTCOME]
    margin = state_margin(of_groups, config)
    values: dict[str, Intervals] = {}
    judged: list[VariableEstimates] = []
    described: list[VariableEstimates] = []
    more, distance = estimate_ranks(of_groups, config, decides=is_ordinal)
    if is_ordinal:
        judged.append(more)
    else:
        values[OUTCOME] = mean_intervals(of_groups, OUTCOME, config.confidence)
        values["sd"] = without_limits(moments.deviation)
        mean, comparison = estimate_mean(of_groups, OUTCOME, config, least_p)
        if of_groups.is_probability and OUTCOME not in config.names_asked_for:
            mean = replace(mean, margin=np.full(of_groups.n_groups, np.nan))  # as base rates differ
        judged.append(mean)
    for name, quantiles in describe_quantiles(of_groups, config.confidence).items():
        values[name] = intervals(quantiles.value, quantiles.low, quantiles.high)
        if not is_ordinal:
            described.append(_compare_quantiles(name, quantiles, of_groups, config))
    if not is_ordinal and of_groups.cells.truth is not None:
        for name in (RESIDUAL, ABSOLUTE_ERROR, BRIER, SKILL, EXCESS):
            if name not in of_groups.variables:
                continue
            values[name] = mean_intervals(of_groups, name, config.confidence)
            if NUMBER_MEASURES[name].has_margin:
                of_error, _ = estimate_mean(of_groups, name, config, least_p)
                judged.append(of_error)
            elif name != SKILL or of_groups.reference != REST:  # of several groups it is no mean of theirs
                described.append(_describe_error(name, of_groups, config))
        values |= error_values(of_groups, config.confidence)
    if not is_ordinal:
        described += [more, estimate_effect(comparison, of_groups)]
    described.append(distance)
    if config.above is not None:
        values[SHARE_ABOVE], share = estimate_share_above(of_groups, config)
        if SHARE_ABOVE in config.margin:
            judged.append(share)
        else:
            described.append(share)
    remarks: list[str] = []
    if person:
        judged, described = ([_without_tests(row) for row in rows] for rows in (judged, described))
        text = f"{person} says that several rows are of one person: they are no independent rows."
        remarks.append(f"{text} Compare people, to decide: --cluster {person}.")
    for variable in judged:
        remarks += variable.remarks
    chances: dict[str, float] = {}
    if of_strata and margin.kind == "amount" and not is_ordinal:
        chances = dict(_list_chances(of_groups, judged[0], margin, config))
    if margin.kind == "amount":
        remarks += number_remarks.describe_top(of_groups, column) + number_remarks.describe_cut(
            of_groups, column
        )
    if numbers.rounded:
        text = f"{column}: of more than {MOST_CELLS:,} different rows values are rounded to six digits."
        remarks.append(text)
    return SliceEstimates(
        of_groups.part,
        column,
        of_groups.reference,
        margin,
        {variable.metric: margin_of(variable.metric, of_groups, config) for variable in judged},
        values,
        tuple(judged),
        tuple(described),
        describe_shapes(of_groups),
        tuple(remarks),
        chances,
        of_groups.chosen_by,
    )


def _without_tests(variable: VariableEstimates) -> VariableEstimates:
    """Return a measure without its limits and tests, which are of independent rows."""
    persons: Reason = "persons"
    n_groups = len(variable.p)
    return replace(
        variable,
        difference=without_limits(np.array([estimate.value for estimate in variable.difference])),
        ratio=without_limits(np.array([estimate.value for estimate in variable.ratio])),
        p=np.full(n_groups, np.nan),
        shortage=(persons,) * n_groups,
        rows_needed=np.full(n_groups, np.nan),
    )


def _list_chances(
    numbers: NumbersOfGroups, means: VariableEstimates, margin: StatedMargin, config: AuditConfig
) -> Iterator[tuple[str, float]]:
    """Yield the groups that are tested, with the chance of such a gap between equal ones.

    None where rows are weighted or share clusters: what they are worth is no row that could be split.
    """
    for g in np.flatnonzero(numbers.are_compared(config)).tolist():
        sides = [numbers.rows_of(OUTCOME, groups) for groups in ([g], numbers.reference_groups(g))]
        if means.shortage[g] or numbers.cells.is_weighted or numbers.cells.persons or None in sides:
            continue
        (group, _), (reference, _) = filter(None, sides)
        yield numbers.part.counts.groups[g], chance_of_gap(group, reference, margin.percent_of_pay / 100)


def state_margin(numbers: NumbersOfGroups, config: AuditConfig) -> StatedMargin:
    """Return the margin of means, as it is stated or by default.

    By default that of `_default_margin`.
    """
    moments = numbers.moments[OUTCOME]
    reference = numbers.of_reference(moments)[0]
    kind = tell_kind(numbers, config)
    stated = config.margin.get(OUTCOME) or config.margin.get(DEFAULT)
    if config.outcome == "ordinal":
        stated = Margin(SPREAD_MARGIN, "sd")  # of codes, which decides nothing
    elif stated is not None:
        _check_margin(stated, numbers, config)
    if stated is None:
        stated = _default_margin(OUTCOME, numbers, config)
    units = margin_units(stated, reference)
    percent_of_mean = math.nan
    if has_percent(numbers) or stated.unit == "percent":
        percent_of_mean = 100 * units / abs(float(reference.mean))
    deviations = float(divide(np.asarray(units), reference.deviation))
    return StatedMargin(units, percent_of_mean, deviations, stated, kind)


def _default_margin(name: str, numbers: NumbersOfGroups, config: AuditConfig) -> Margin:
    """Return the margin of means where none is stated: `SPREAD_MARGIN` standard deviations of the reference.

    Of amounts it is `PAY_MARGIN` per cent of its mean, where that is less: .2 standard deviations of incomes
    are a quarter of them. By slices without an order, such as categories, it is always per cent of amounts.
    Of probabilities it is `PROBABILITY_MARGIN`.
    """
    kind = tell_kind(numbers, config)
    if kind == "probability":
        return Margin(PROBABILITY_MARGIN)
    spread = Margin(SPREAD_MARGIN, "sd")
    percent = Margin(PAY_MARGIN, "percent")
    reference = numbers.of_reference(numbers.moments[name])[0]
    is_less = margin_units(percent, reference) < margin_units(spread, reference)
    if kind == "amount" and (numbers.of_strata or is_less) and has_mean(name, numbers, config):
        return percent
    return spread


def _check_margin(stated: Margin, numbers: NumbersOfGroups, config: AuditConfig) -> None:
    """Refuse a margin in percent of a mean that says nothing, and one that no two values differ by."""
    name = format_value(config.score or "score")
    value = numbers.cells.value
    flag = Flag("margin")
    if stated.unit == "percent" and not has_mean(OUTCOME, numbers, config):
        problem = f"the mean of {name} is near 0, so that {stated} of it says nothing"
        raise user_error(problem, "give the margin in units, 1500, or in standard deviations, 0.2sd", flag)
    span = float(value[-1] - value[0])
    reference = numbers.of_reference(numbers.moments[OUTCOME])[0]
    units = margin_units(stated, reference)
    if 0 < span <= units:
        ends = f"{format_amount(float(value[0]))} to {format_amount(float(value[-1]))}"
        problem = f"a margin of {stated} is larger than everything in {name}, which goes from {ends}"
        raise user_error(problem, "say it in the units of the column, or as 5% or 0.2sd", flag)


def _rank_margin(config: AuditConfig) -> float:
    """Return how far P(more) may be from one half."""
    stated = config.margin.get(MORE)
    if stated is None and config.outcome == "ordinal":
        stated = config.margin.get(DEFAULT)
    if stated is None:
        return MORE_MARGIN
    if stated.unit != "units" or stated.value >= LARGEST_RANK_MARGIN:
        problem = f"levels are compared by the chance of the higher one, and {stated} is no distance from 0.5"
        raise user_error(problem, "say it as a share below 0.5: 0.056", Flag("margin"))
    return stated.value


def margin_units(margin: Margin, reference: Moments) -> float:
    """Return a margin in the units of the outcome."""
    return float(margin.in_units(reference))


def has_mean(name: str, numbers: NumbersOfGroups, config: AuditConfig) -> bool:
    """Return whether the reference's mean is shown not to be 0, so that a share of it is a margin."""
    limits = mean_interval(numbers.of_reference(numbers.moments[name]), config.confidence)
    return bool(((limits.low > 0) | (limits.high < 0)).all())


def has_percent(numbers: NumbersOfGroups) -> bool:
    """Return whether a ratio of means says something: no value, but one in a hundred, is below 0."""
    cells = numbers.cells
    below = cells.weight[: np.searchsorted(cells.value, 0.0)].sum()
    return bool(below <= (1 - AMOUNTS) * cells.weight.sum()) and numbers.shift > 0


def tell_kind(numbers: NumbersOfGroups, config: AuditConfig) -> Kind:
    """Return the kind of numbers: amounts are not below 0, and on no scale of points.

    Predictions are what their labels are.
    """
    if numbers.is_probability:
        return "probability"
    name = config.score or "score"
    largest = float(numbers.cells.value[-1])
    truth = numbers.cells.truth
    if truth is not None:
        name = config.label or "label"
        largest = float(truth.max())
        weight = numbers.cells.weight
        if weight[truth < 0].sum() > (1 - AMOUNTS) * weight.sum():
            return "number"
    if not has_percent(numbers) or named_like_scores(name):
        return "number"
    if largest > SCALE or named_like_amounts(name):
        return "amount"
    return "number"


def estimate_mean(
    numbers: NumbersOfGroups,
    name: str,
    config: AuditConfig,
    least_p: float,
) -> tuple[VariableEstimates, MeanComparison]:
    """Return the mean of a variable in each group against its reference's."""
    moments = numbers.moments[name]
    reference_moments = numbers.of_reference(moments)
    limit = margin_of(name, numbers, config)
    with_ratio = name == ABSOLUTE_ERROR or (name == OUTCOME and has_percent(numbers))
    means = estimate_means(numbers, name, limit, config, least_p=least_p, with_ratio=with_ratio)
    comparison = means.comparison
    judgement = means.judgement
    difference = comparison.difference
    ratio = without_limits(np.full(numbers.n_groups, np.nan))
    if with_ratio:
        ratio = intervals(comparison.ratio, comparison.ratio_low, comparison.ratio_high)
    shortage, remarks, few_skewed = number_remarks.find_shortage(
        numbers, name, means, np.flatnonzero(numbers.are_compared(config))
    )
    missed: dict[int, str] = {}
    if name == OUTCOME and tell_kind(numbers, config) == "amount":
        for g in np.flatnonzero(numbers.are_compared(config)).tolist():
            if difference.p[g] >= config.alpha:
                missed[g] = number_remarks.describe_missed(numbers, g)
    estimates = VariableEstimates(
        metric=name,
        value=moments.mean,
        reference_value=reference_moments.mean,
        difference=intervals(difference.value, difference.low, difference.high),
        ratio=ratio,
        p=difference.p,
        margin=judgement.units,
        is_beyond=judgement.is_beyond,
        is_within=judgement.is_within,
        is_outside=judgement.is_outside,
        shortage=shortage,
        rows_needed=means.rows_needed,
        remarks=remarks,
        few_skewed=few_skewed,
        missed=missed,
    )
    return estimates, comparison


def margin_of(name: str, numbers: NumbersOfGroups, config: AuditConfig) -> Margin:
    """Return the margin of a measure.

    That of the mean absolute error is of errors, and never the one of the outcome: by this the better
    predictions are, the larger their errors may be in one group. A mean error is a shift of the outcome, so
    that its margin, in the units of the labels, is of these.

    Raises
    ------
    UserError
        For per cent of labels whose mean is not above 0.
    """
    if name == MORE:
        return Margin(_rank_margin(config))
    if name == OUTCOME:
        return state_margin(numbers, config).stated
    stated = config.margin.get(name)
    if name == SHARE_ABOVE and stated is not None:  # which has none by default
        return stated
    if name == ABSOLUTE_ERROR:
        return stated or Margin(ERROR_MARGIN, "percent")
    labels = numbers.of_reference(numbers.moments[TRUTH])[0]
    stated = stated or config.margin.get(DEFAULT)
    if stated is None:
        stated = _default_margin(TRUTH, numbers, config)
    if stated.unit == "percent" and not has_mean(TRUTH, numbers, config):
        problem = f"the mean of the labels is near 0, so that {stated} of it says nothing of the mean error"
        raise user_error(problem, "say it in units, mean-residual=1500, or as 0.2sd", Flag("margin"))
    return Margin(margin_units(stated, labels))


def mean_intervals(numbers: NumbersOfGroups, name: str, confidence: float) -> Intervals:
    """Return the mean of a variable in each group with its interval."""
    mean = mean_by_group(numbers, name, confidence)
    return intervals(mean.value, mean.low, mean.high)


def without_limits(values: Floats) -> Intervals:
    """Return values that have no interval."""
    unknown = np.full(np.shape(values), np.nan)
    return intervals(values, unknown, unknown)


def _describe_both(
    metric: str, estimate: Intervals, p: Floats, numbers: NumbersOfGroups
) -> VariableEstimates:
    """Return a measure of a group and its reference together, which has no margin."""
    unknown = np.full(numbers.n_groups, np.nan)
    never = np.zeros(numbers.n_groups, dtype=bool)
    return VariableEstimates(
        metric=metric,
        value=unknown,
        reference_value=unknown,
        difference=estimate,
        ratio=without_limits(unknown),
        p=p,
        margin=unknown,
        is_beyond=never,
        is_within=never,
        is_outside=never,
        shortage=NO_SHORTAGE * numbers.n_groups,
        rows_needed=unknown,
    )


def _describe_error(name: str, numbers: NumbersOfGroups, config: AuditConfig) -> VariableEstimates:
    """Return a measure of a probability in each group against its reference's, which decides nothing.

    Of these the excess alone is 0 in every group of a perfect model, so that it is tested.
    """
    moments = numbers.moments[name]
    difference = compare_mean(numbers, name, config.confidence).difference
    p = np.where(name == EXCESS, difference.p, np.nan)
    estimates = _describe_both(name, intervals(difference.value, difference.low, difference.high), p, numbers)
    return replace(estimates, value=moments.mean, reference_value=numbers.of_reference(moments).mean)


def estimate_share_above(
    numbers: NumbersOfGroups, config: AuditConfig
) -> tuple[Intervals, VariableEstimates]:
    """Return the share of each group above a value, and how it compares: as a rate, by the same tests."""
    from fairbench_cli.audit.compare.compare_rates import decide_point, estimate_rows_needed, group_rows
    from fairbench_cli.audit.compare.share_above import RATE, compare_shares

    shares = compare_shares(numbers, config)
    tests = shares.tests
    is_compared = tests.compared
    rows = group_rows(shares.group_counts, config)
    values = np.array([row.metrics[RATE] for row in rows], dtype=object)
    points = (decide_point(shares.behind(g, 0), shares.allowed, 0) for g in range(numbers.n_groups))
    estimates = VariableEstimates(
        metric=SHARE_ABOVE,
        value=shares.value[:, 0],
        reference_value=shares.reference_value[:, 0],
        difference=shares.difference[:, 0],
        ratio=shares.ratio[:, 0],
        p=tests.p[:, 0],
        margin=np.full(numbers.n_groups, shares.allowed.margins[0]),
        is_beyond=np.array([point == "fail" for point in points]),
        is_within=tests.within[:, 0],
        is_outside=tests.outside[:, 0] < config.alpha,
        shortage=tuple(np.where(tests.too_few[:, 0], "few", "").tolist()),
        rows_needed=estimate_rows_needed(shares, is_compared, np.ones(is_compared.shape))[:, 0],
    )
    return values, estimates


def estimate_effect(comparison: MeanComparison, numbers: NumbersOfGroups) -> VariableEstimates:
    """Return the standardised difference: Hedges' g, with Bonett's limits, which need no equal spread."""
    # Bonett's d has the mean of both variances below it; its limits are moved onto g.
    with np.errstate(invalid="ignore"):  # without spread d is infinite, or there is none
        scale = divide(comparison.hedges_g, comparison.bonett_d)
        limits = (comparison.bonett_low * scale, comparison.bonett_high * scale)
    g = intervals(comparison.hedges_g, *limits)
    return _describe_both("hedges-g", g, np.full(numbers.n_groups, np.nan), numbers)


def estimate_ranks(
    numbers: NumbersOfGroups, config: AuditConfig, *, decides: bool
) -> list[VariableEstimates]:
    """Return how likely one of a group has more than one of its reference, and how far apart both are."""
    ranks = compare_ranks(numbers, config.confidence)
    p_more = intervals(ranks.p_more, ranks.low, ranks.high)
    distance = without_limits(ranks.largest_distance)
    unknown = np.full(numbers.n_groups, np.nan)
    margin = np.full(numbers.n_groups, _rank_margin(config))
    farther = np.abs(ranks.p_more - 0.5)
    estimates = VariableEstimates(
        metric=MORE,
        value=unknown,
        reference_value=unknown,
        difference=p_more,
        ratio=without_limits(unknown),
        p=ranks.p,
        margin=margin,
        is_beyond=farther > margin,
        is_within=(ranks.low > 0.5 - margin) & (ranks.high < 0.5 + margin),
        is_outside=(ranks.low > 0.5 + margin) | (ranks.high < 0.5 - margin),
        shortage=NO_SHORTAGE * numbers.n_groups,
        rows_needed=_rank_rows_needed(numbers, ranks, margin, config),
    )
    if not decides:
        estimates = replace(estimates, margin=unknown)
    return [estimates, _describe_both(DISTANCE, distance, unknown, numbers)]


def _rank_rows_needed(
    numbers: NumbersOfGroups, ranks: RankComparison, margin: Floats, config: AuditConfig
) -> Floats:
    """Return about how many rows of both groups would decide on P(more): the error falls with their root."""
    n_both = numbers.rows_of_both()
    distance = np.abs(np.abs(ranks.p_more - 0.5) - margin)
    z = float(normal_quantiles(config.confidence)) + POWER_QUANTILE
    return np.asarray(np.maximum(n_both, n_both * divide(z * ranks.error, distance) ** 2))


def error_values(numbers: NumbersOfGroups, confidence: float) -> dict[str, Intervals]:
    """Return RMSE, R² and the calibration of each group: slope and intercept of labels on predictions.

    Of a probability Brier score and skill are the first two.
    """
    values: dict[str, Intervals] = {}
    if not numbers.is_probability:
        residuals = numbers.moments[RESIDUAL]
        # No limits of the root: they would rest on a few large errors, and hold the truth too seldom.
        values["rmse"] = without_limits(np.sqrt(mean_square(residuals)))
        values["r2"] = without_limits(explained_share(residuals, numbers.moments[TRUTH]))
    slopes = []
    intercepts = []
    for g in range(numbers.n_groups):
        line = numbers.calibrate(g, confidence)
        slopes.append(line.slope)
        intercepts.append(line.intercept)
    return values | {
        "calibration-slope": _to_intervals(slopes),
        "calibration-intercept": _to_intervals(intercepts),
    }


def _to_intervals(estimates: Sequence[EstimateWithLimits]) -> Intervals:
    values, _, _, low, high, _ = np.array(estimates, dtype=np.float64).T
    return intervals(values, low, high)


def _compare_quantiles(
    name: str, quantiles: QuantileEstimates, numbers: NumbersOfGroups, config: AuditConfig
) -> VariableEstimates:
    """Return a quantile of each group against its reference's; of the median with its p-value."""
    p = np.full(numbers.n_groups, np.nan)
    if name == MEDIAN:
        for g in np.flatnonzero(numbers.are_compared(config)).tolist():
            p[g] = equal_medians_p(numbers, g)
    estimates = _describe_both(name, intervals(*quantiles.difference), p, numbers)
    if has_percent(numbers):
        estimates = replace(estimates, ratio=intervals(*quantiles.ratio))
    return replace(estimates, value=quantiles.value, reference_value=quantiles.reference_value)


def compare_numbers(
    estimates: Sequence[SliceEstimates], deciding: Sequence[str], config: AuditConfig
) -> tuple[NumberSlice, ...]:
    """Return the comparisons of slices, adjusted together.

    Models that are compared, and slices in an order, are each a family.
    """
    judged: list[NumberSlice | None] = [None] * len(estimates)
    parts = [slice_estimates.part for slice_estimates in estimates]
    is_apart = config.compares_models or are_stream(parts, config)
    numbered = list(enumerate(estimates))
    families = group_by(numbered, lambda line: line[1].part.model if is_apart else "")
    for of_model in families.values():
        adjusted = _adjust([slice_estimates for _, slice_estimates in of_model], deciding, config)
        for (i, slice_estimates), p_holm in zip(of_model, adjusted, strict=True):
            judged[i] = _judge_slice(slice_estimates, p_holm, deciding, config)
    return tuple(slice_numbers for slice_numbers in judged if slice_numbers is not None)


def _adjust(
    estimates: Sequence[SliceEstimates], deciding: Sequence[str], config: AuditConfig
) -> list[Floats]:
    """Return the adjusted p-values of each slice, shape (groups, judged measures)."""
    tables = []
    decide = []
    named = []
    pairs = []
    parts = [slice_estimates.part for slice_estimates in estimates]
    references_of = [np.array([slice_estimates.reference]) for slice_estimates in estimates]
    values = []
    for slice_estimates in estimates:
        measured = np.stack(list(slice_estimates.values.values()), axis=1)
        of_groups = np.frompyfunc(lambda estimate: estimate.value, 1, 1)(measured).astype(np.float64)
        values.append(np.concatenate([of_groups, slice_estimates.shapes.shares], axis=1))
    copies = find_copies(parts, references_of, values)
    for slice_estimates, copied in zip(estimates, copies, strict=True):
        p = np.stack([variable.p for variable in slice_estimates.judged], axis=-1)
        is_compared = references.are_compared(slice_estimates.part, slice_estimates.reference, config)
        p[~is_compared] = np.nan
        # Of a reference that the data chose all pairs of groups count, as if no other two differed.
        n_pairs = 0
        if references.is_chosen_by_rate(slice_estimates.part, config) and not copied:
            n_pairs = math.comb(int(is_compared.sum()), 2)
        pairs.append(np.ones((n_pairs, p.shape[1])))
        p[list(copied)] = np.nan  # the same test as of an earlier column
        for m, variable in enumerate(slice_estimates.judged):
            p[[bool(reason) for reason in variable.shortage], m] = np.nan  # which cannot be rejected
        tables.append(p)
        names = [variable.metric for variable in slice_estimates.judged]
        decide.append(are_named(names, deciding))
        gate_names = named_rates(slice_estimates.part, names, deciding, config)
        named.append(are_named(names, gate_names))
    adjusted = adjust_family(tables, decide, pairs, named).adjusted
    for i, copied in enumerate(copies):
        for group, (first, original) in copied.items():
            adjusted[i][group] = adjusted[first][original]
    return adjusted


def _judge_slice(
    estimates: SliceEstimates, p_holm: Floats, deciding: Sequence[str], config: AuditConfig
) -> NumberSlice:
    """Return the comparisons of a slice with their verdicts."""
    part = estimates.part
    groups = part.counts.groups
    attribute = Place(*part.place)
    reference = references.name_reference(estimates.reference, groups)
    is_compared = references.are_compared(part, estimates.reference, config)
    comparisons = []
    remarks = list(estimates.remarks)
    for g in np.flatnonzero(is_compared).tolist():
        for m, variable in enumerate(estimates.judged):
            comparison = _compare(
                variable, g, groups[g], reference, attribute, float(p_holm[g, m]), deciding, config
            )
            comparisons.append(comparison)
            if comparison.reason == "chance" and variable.missed.get(g):
                remarks.append(variable.missed[g])
        for variable in estimates.described:
            comparisons.append(
                _compare(variable, g, groups[g], reference, attribute, math.nan, deciding, config)
            )
    rows = []
    for g, group in enumerate(groups):
        n_rows = int(part.rows[g])
        values = {name: of_groups[g] for name, of_groups in estimates.values.items()}
        rows.append(
            NumberGroup(
                *part.place, group, n_rows, n_rows < config.min_group, g == estimates.reference, values
            )
        )
    return NumberSlice(
        *part.place,
        estimates.column,
        find_decimals(estimates.margin.deviation),
        reference,
        estimates.margin,
        estimates.stated,
        tuple(rows),
        tuple(comparisons),
        estimates.shapes,
        tuple(remarks),
        config.better,
        estimates.chosen_by,
        chances=estimates.chances,
        above=config.above,
    )


def find_decimals(deviation: float) -> int:
    """Return the decimals that tell numbers apart: those that a standard deviation has with three digits.

    >>> [find_decimals(deviation) for deviation in (30436.9, 7.089, 0.43)]
    [0, 2, 3]
    """
    if not (math.isfinite(deviation) and deviation > 0):
        return MOST_DECIMALS
    return min(max(SIGNIFICANT - 1 - math.floor(math.log10(deviation)), 0), MOST_DECIMALS)


def _compare(
    variable: VariableEstimates,
    g: int,
    group: str,
    reference: str,
    attribute: Place,
    p_holm: float,
    deciding: Sequence[str],
    config: AuditConfig,
) -> NumberComparison:
    verdict: Verdict | None = None
    reason: Reason = ""
    if not math.isnan(variable.margin[g]):
        verdict, reason = _decide(variable, g, p_holm, config)
    look = variable.looks.get(g)
    if look is not None and look.by_months and reason in ("chance", "wide"):
        reason = "months"
    rows_needed = math.nan
    if verdict == "undecided" and reason != "one value":
        rows_needed = float(variable.rows_needed[g])
    cautions: tuple[str, ...] = ()
    if g in variable.few_skewed and reason != "few":
        cautions = (FEW_SKEWED_ROWS,)
    return NumberComparison(
        *attribute.place,
        group,
        reference,
        metric=variable.metric,
        value=float(variable.value[g]),
        reference_value=float(variable.reference_value[g]),
        difference=variable.difference[g],
        ratio=variable.ratio[g],
        p=float(variable.p[g]),
        p_holm=p_holm,
        margin=float(variable.margin[g]),
        verdict=verdict,
        shown_outside=verdict == "fail" and config.rule != "point" and bool(variable.is_outside[g]),
        reason=reason,
        rows_needed=rows_needed,
        deciding=variable.metric in deciding,
        look=look,
        cautions=cautions,
    )


def _decide(
    variable: VariableEstimates, g: int, p_holm: float, config: AuditConfig
) -> tuple[Verdict, Reason]:
    """Return the verdict on a comparison, and why it is not decided."""
    if math.isnan(variable.difference[g].value):
        return "undecided", "no rows"
    if config.rule == "point":
        return ("fail" if variable.is_beyond[g] else "pass"), ""
    if variable.shortage[g]:
        return "undecided", variable.shortage[g]
    if math.isnan(variable.p[g]):
        return "undecided", "clusters" if config.cluster else "constant"
    if variable.is_beyond[g] and p_holm < config.alpha:
        return "fail", ""
    if variable.is_within[g]:
        return "pass", ""
    if variable.is_beyond[g]:
        return "undecided", "chance"
    if p_holm < config.alpha:
        return "undecided", "near"
    return "undecided", "wide"
