"""What every audit finds: rates, comparisons, verdicts; and what its parts find, by their keys.

A difference is always group − reference, a ratio group / reference.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairbench_cli.audit.config import WITHOUT_VERDICT, AuditConfig
from fairbench_cli.audit.metrics import COMPARED, RIGHT, ROLL_UPS, WHOLE_TABLE
from fairbench_cli.audit.scan.direction import Direction, find_direction
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Ones, Slice
from fairbench_cli.document.model import Verdict
from fairbench_cli.measures.counts import Floats

ALL = "(all)"  # the attribute and the group of everybody

# Why a comparison is not decided: a rate has no rows; the gap is larger than allowed, and chance may be why;
# it is, and weights leave too few rows to test it; its rows are of too few clusters to test it; or it is
# allowed, and not all of its interval is. "months": slices may move it each, and are too few. Of numbers also
# "near": not all of its interval is allowed, and they are shown to differ; "constant": no value differs from
# another; "one value": of one side alone; "few values": one is that of most rows, and a side has too few
# others; "persons": rows are of fewer people, and no cluster says of whom.
Reason = Literal[
    "no rows", "chance", "few", "clusters", "wide", "months", "near", "constant", "one value", "few values",
    "persons", "",
]  # fmt: skip
Test = Literal["score", "fisher", "clusters", ""]

WHOLE_DECISION = "the whole table"
"""What it is called in the place of a decision."""

# Fields of a row that are None, and in no table, of an audit without margins, stream of numbers or value; and
# what changes of rates alone have, or of numbers.
LEFT_OUT = frozenset(
    ("margin", "difference", "difference_since", "look", "above")
    + ("ratio_before", "ratio_after", "ratio_change", "tau", "least_change", "rate_changes", "mean_changes")
)


@dataclass(frozen=True)
class Interval:
    """A number with its interval; NaN where undefined."""

    value: float
    low: float
    high: float


Intervals = NDArray[np.object_]  # of `Interval`
UNDEFINED = Interval(math.nan, math.nan, math.nan)


def shown_fields(row: Any) -> dict[str, Any]:
    """Return the fields of a row by name, without those of `LEFT_OUT` where these are None."""
    return {name: value for name, value in vars(row).items() if value is not None or name not in LEFT_OUT}


def intervals(values: Floats, low: Floats, high: Floats) -> Intervals:
    """Return numbers with their intervals, each an `Interval`; arrays of one shape.

    >>> intervals(np.array([0.5]), np.array([0.25]), np.array([0.75]))[0]
    Interval(value=0.5, low=0.25, high=0.75)
    """
    return np.asarray(np.frompyfunc(Interval, 3, 1)(values, low, high))


@dataclass(frozen=True)
class Place:
    """An attribute, or an intersection, under a model and a decision; as of a `Slice`."""

    model: str
    decision: str
    attribute: str

    @property
    def place(self) -> tuple[str, str, str]:
        """Model, decision and attribute."""
        return self.model, self.decision, self.attribute


@dataclass(frozen=True)
class Pair(Place):
    """A group and the one that it is compared with, by name."""

    group: str
    reference: str


@dataclass(frozen=True)
class GroupRow(Place):
    """Counts and rates of one group."""

    group: str
    rows: int
    small: bool  # fewer rows than min_group
    counts: dict[str, float]  # tp fp fn tn pp pn size label_pos label_neg (tp … only with labels)
    metrics: dict[str, Interval]  # by name of the rate
    behind: dict[str, tuple[float, float]]  # over and under the bar of each rate


@dataclass(frozen=True)
class Disparity(Pair):
    """One rate of one group against its reference.

    Parameters
    ----------
    metric : str
        The rate.
    value, reference_value : float
        The rates, in [0, 1].
    ratio, difference : Interval
        value / reference_value (Miettinen and Nurminen's interval), value − reference_value (Newcombe's);
        where rows share clusters, Fieller's interval and Student's.
    p, p_holm : float
        Of the hypothesis that the rates are equal, two-sided; and adjusted over the `Report.family`. NaN
        where nothing is tested.
    test : {"score", "fisher", "clusters", ""}
        Which test that is.
    tau : float
        The ratio passes from tau to 1/tau; NaN of a rate that goes by a margin.
    margin : float or None
        The difference passes from −margin to margin; NaN of a rate that goes by tau. None in an audit
        without margins.
    point : {"pass", "fail", "undecided"}
        Whether the ratio itself lies within τ, or the difference within its margin, whatever chance does.
    verdict : {"pass", "fail", "undecided"}
        See `compare.compare_rates`; under ``rule="point"`` the same as `point`.
    shown_outside : bool
        Of a failure: whether the gap is larger than allowed by more than chance, not only there.
    reason : {"no rows", "chance", "few", "clusters", "wide", "months", "constant", ""}
        Why it is not decided.
    rows_needed : float
        About how many rows of both groups would decide it, were the rates as they were measured; NaN where it
        is decided, or no number of rows would.
    is_reference : bool
        Whether the group is the reference itself, which decides nothing.
    deciding : bool
        Whether the verdict on the attribute depends on it.
    behind, reference_behind : tuple of two floats
        Over and under the bar of the value and of the reference's.
    """

    metric: str
    value: float
    reference_value: float
    ratio: Interval
    difference: Interval
    p: float
    p_holm: float
    test: Test
    tau: float
    margin: float | None
    point: Verdict
    verdict: Verdict
    shown_outside: bool
    reason: Reason
    rows_needed: float
    is_reference: bool
    deciding: bool
    behind: tuple[float, float]
    reference_behind: tuple[float, float]


@dataclass(frozen=True)
class ClusteredDisparity(Disparity):
    """A comparison of an audit in which rows share a person, a school or the like.

    Parameters
    ----------
    degrees : float
        Of freedom, of its test: as if of so many independent clusters. NaN where there is no test by these.
    """

    degrees: float


@dataclass(frozen=True)
class NumberLook:
    """What slices in an order show of a difference at the last of them, as a `StreamLook` of a rate.

    Parameters
    ----------
    looks : int
    evidence, most_evidence : float
        E, 1 on average where means are equal in each slice, whenever one stops; and the largest so far.
    p_same : float
        Of "the difference is the same in all slices".
    months_evidence, most_months_evidence : float
        Evidence beyond the scatter of slices, and the largest so far.
    by_months : bool
        Whether it is judged by that.
    month_spread : float
        How far the difference scatters from slice to slice, a standard deviation.
    since : str
        The slice from which on the evidence by which it is judged is largest.
    value_since, reference_value_since, difference_since : float
        Of the slices from `since` on, with the same weights for both groups.
    """

    looks: int
    evidence: float
    most_evidence: float
    p_same: float
    months_evidence: float
    most_months_evidence: float
    by_months: bool
    month_spread: float
    since: str
    value_since: float
    reference_value_since: float
    difference_since: float

    @property
    def largest_evidence(self) -> float:
        """The largest of that by which it is judged."""
        return (self.most_evidence, self.most_months_evidence)[self.by_months]


@dataclass(frozen=True)
class NumberComparison(Pair):
    """One measure of the numbers of a group against its reference.

    Parameters
    ----------
    metric : str
    value, reference_value : float
        NaN where the measure is of both together.
    difference : Interval
        value − reference_value; of a measure of both together that itself.
    ratio : Interval
        Of two means above 0.
    p, p_holm : float
        Of "there is no difference", two-sided, and adjusted over what decides; NaN where nothing is tested.
    margin : float
        How large a difference may be; NaN where none is stated.
    verdict : {"pass", "fail", "undecided"} or None
        None of what has no margin.
    shown_outside : bool
        Whether the difference is shown to be larger than the margin.
    reason : str
        Why it is not decided.
    rows_needed : float
        About how many rows of both groups would decide; NaN where it is decided, or no number would.
    deciding : bool
    look : NumberLook or None
        Of all slices together, where these are looks at a stream: value, limits and p hold at all looks then.
    cautions : tuple of str
        What a reader should have in mind, whatever the verdict: "few rows, skewed".
    """

    metric: str
    value: float
    reference_value: float
    difference: Interval
    ratio: Interval
    p: float
    p_holm: float
    margin: float
    verdict: Verdict | None
    shown_outside: bool
    reason: Reason
    rows_needed: float
    deciding: bool
    look: NumberLook | None = None
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class WholeTable(Pair):
    """The shares of several classes in all groups of an attribute, compared at once.

    Its decision is `WHOLE_DECISION`, and its group and reference are all.

    Parameters
    ----------
    metric : str
        `WHOLE_TABLE`.
    classes, groups : tuple of str
    counts : array, shape (groups, classes)
        Rows, or their weights.
    rows : int
        Behind them.
    statistic, degrees : float, int
        χ² on the rows that weights and clusters are worth.
    is_permuted : bool
        Whether `p` is by permutations, as few rows are expected somewhere.
    w : Interval
        Cohen's: 0 where all groups have the same shares.
    cramers_v : float
        From 0 to 1.
    p, p_holm : float
        Of "all groups have the same shares", and adjusted over the `Report.family`; NaN where nothing is
        tested.
    margin : float
        Of w: up to it is allowed.
    verdict : {"pass", "fail", "undecided"}
    shown_outside : bool
        Of a failure: whether w is above the margin by more than chance.
    reason : {"no rows", "chance", "clusters", "wide", ""}
        Why it is not decided.
    rows_needed : float
        About how many rows would decide it; NaN where it is decided, or no number of rows would.
    deciding : bool
        Whether the verdict on the attribute depends on it.
    """

    metric: str
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    counts: Floats
    rows: int
    statistic: float
    degrees: int
    is_permuted: bool
    w: Interval
    cramers_v: float
    p: float
    p_holm: float
    margin: float
    verdict: Verdict
    shown_outside: bool
    reason: Reason
    rows_needed: float
    deciding: bool

    @property
    def difference(self) -> Interval:
        """How far apart groups are: `w`."""
        return self.w


Comparison = Disparity | NumberComparison | WholeTable


@dataclass(frozen=True)
class AttributeVerdict(Place):
    """The roll-up of one attribute: fail if a group fails, else undecided if one is, else pass."""

    by_metric: dict[str, Verdict]  # and by roll-up
    verdict: Verdict  # over what decides


@dataclass(frozen=True)
class Gate:
    """Whether to stop, and why; for exit codes.

    Parameters
    ----------
    stops : bool
    reason : str
        Why it stops; empty where it does not.
    warning : str
        What it warns of, without stopping; empty where nothing.
    accepted : int
        How many failing comparisons neither stop nor warn because a baseline has them.
    undecided : tuple of str
        What it looks at that is not decided: "race" or "race:fpr".
    """

    stops: bool
    reason: str = ""
    warning: str = ""
    accepted: int = 0
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class AcceptedGap:
    """The distance of a rate from its reference's in an earlier audit, and its standard error, if known."""

    gap: float
    error: float


@dataclass(frozen=True)
class AcceptedFailures:
    """The failing comparisons of an earlier audit, by its ci.json.

    Parameters
    ----------
    file : str
        Its name, without folders.
    gaps : mapping
        The gap of each comparison, by model, by `compare.baseline.key_of`.
    """

    file: str
    gaps: Mapping[tuple[str, ...], Mapping[str, AcceptedGap]]


@dataclass(frozen=True)
class StreamLook(Pair):
    """What the slices up to one, its `model`, show of a comparison, however often they were looked at.

    Parameters
    ----------
    metric : str
        The rate.
    looks : int
        How many slices there are up to this one.
    evidence : float
        E of these slices: 1 on average at equal rates, whenever one stops.
    most_evidence : float
        The largest so far, by which the p-value goes.
    alarm_at : float
        About the evidence that rejects equal rates in the family of this look.
    p, p_holm : float
        1 / the largest evidence by which it is judged, and adjusted over the comparisons of this look.
    p_same : float
        Of "the gap is the same in all slices"; NaN where rows share clusters, as the next two.
    months_evidence, most_months_evidence : float
        Evidence beyond the scatter of slices, and the largest so far.
    by_months : bool
        Whether it is judged by that: before the seventh slice, and from the first look with p_same < .2 on.
    month_spread : float or None
        How far differences of the rates scatter from slice to slice, a standard deviation; None up to then.
    since : str
        The slice from which on the evidence by which it is judged is largest.
    ratio_since : float
        The ratio of the slices from `since` on.
    ratio : Interval
        That of all slices so far, with limits that hold at all looks: of the rates as means over slices, with
        the same weights for both. Where slices scatter limits are of this look, of a mean of slices.
    difference_since, difference : float and Interval, or None
        The same of the difference; None in an audit without margins.
    """

    metric: str
    looks: int
    evidence: float
    most_evidence: float
    alarm_at: float
    p: float
    p_holm: float
    p_same: float
    months_evidence: float
    most_months_evidence: float
    by_months: bool
    month_spread: float | None
    since: str
    ratio_since: float
    ratio: Interval
    difference_since: float | None
    difference: Interval | None


@dataclass(frozen=True, eq=False)
class Streams:
    """Slices as looks at a stream: the audit of all of them together, and what each look shows.

    `together` is judged by the evidence of the last look, as the last slice is.
    """

    together: "Report"
    looks: tuple[StreamLook, ...]


@dataclass(frozen=True, eq=False)
class Report:
    """A finished audit; parts are judged with one that has no verdicts yet.

    Parameters
    ----------
    config : AuditConfig
        How it was audited.
    source, rows, weighted
        The file as given, its rows, and whether counts are sums of weights.
    slices : tuple of Slice
        The counts themselves, with the groups that are left out.
    decided_by : tuple of str
        The metrics and roll-ups that the verdict is over.
    overall, groups : tuple of GroupRow
        Everybody, once per model and decision, under the attribute and group "(all)"; and every group.
    disparities : tuple of Disparity
        Every rate of every group against its reference.
    whole_tables : tuple of WholeTable
        Of each attribute, where several classes are audited.
    family : int
        How many comparisons the p-values are adjusted for; of models that are compared, of the last.
    n_named : int
        How many of these a gate named beforehand, which have the larger share of the level; 0: all are alike.
    last : str
        Of models or slices that are compared, the one that the verdict goes by; empty where none are, and of
        slices without an order, of which any decides.
    notes : tuple of str
        What a reader should know, each once, that of the data first.
    found : mapping of str to anything
        What the parts of the audit found that it has, by their keys; see `parts`.
    verdicts : tuple of AttributeVerdict
        Of each attribute, under each model and decision.
    verdict : {"pass", "fail", "undecided"}
        Over `decided_by`: fail if one comparison fails, pass if all pass. Of models or slices that are
        compared, of the last; of slices without an order over all.
    gate : Gate
        Whether a gate of the configuration stops, and why.
    uncut : tuple of str
        Columns of numbers that are called like protected attributes and are not audited.
    birth_dates : tuple of str
        Columns of birth dates, of which no ages are audited.
    unused : tuple of str
        Columns of groups and amounts that are not audited nor called like protected attributes.
    ones : Ones
    baseline : AcceptedFailures or None
        What an earlier audit found, where a gate accepts it.
    streams : Streams or None
        Where slices have an order.
    judged_numbers : tuple of NumberComparison
        Of an audit of numbers those that the verdict and the gate go by: of models or slices that are
        compared the last, of slices that have an order all of them, under the name of the last.
    is_of_run : bool
        Whether the rows are those of a run's cell, which no file has.
    """

    config: AuditConfig
    source: str
    rows: int
    weighted: bool
    slices: tuple[Slice, ...]
    decided_by: tuple[str, ...]
    overall: tuple[GroupRow, ...]
    groups: tuple[GroupRow, ...]
    disparities: tuple[Disparity, ...]
    family: int
    n_named: int = 0
    last: str = ""
    notes: tuple[str, ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict)
    verdicts: tuple[AttributeVerdict, ...] = ()
    verdict: Verdict = "undecided"
    gate: Gate = Gate(stops=False)
    uncut: tuple[str, ...] = ()
    birth_dates: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    ones: Ones = field(default_factory=Ones)
    baseline: AcceptedFailures | None = None
    streams: Streams | None = None
    judged_numbers: tuple[NumberComparison, ...] = ()
    whole_tables: tuple[WholeTable, ...] = ()
    is_of_run: bool = False

    @cached_property
    def judged(self) -> tuple[AttributeVerdict, ...]:
        """The verdicts that the one over all, and the gate, go by: of models or slices compared, the last."""
        decides = dict.fromkeys((row.decision for row in self.verdicts), True)
        if self.whole_tables:
            decides = dict.fromkeys(decides, bool({*self.decided_by} - {RIGHT, WHOLE_TABLE}))
            decides |= {ALL_CLASSES: RIGHT in self.decided_by, WHOLE_DECISION: WHOLE_TABLE in self.decided_by}
        return tuple(row for row in self.verdicts if decides[row.decision] and self.last in ("", row.model))

    def whole_table_at(self, place: Place) -> WholeTable | None:
        """Return the whole table that a verdict is of; None of another."""
        return next((table for table in self.whole_tables if table.place == place.place), None)

    def comparisons_at(self, place: tuple[str, str, str]) -> list[Disparity]:
        """Return the comparisons that a verdict is of: at the last look at a stream those of all slices."""
        if self.streams is not None and place[0] == self.last:
            return [row for row in self.streams.together.disparities if row.attribute == place[2]]
        return self.by_audit[place][0]

    @cached_property
    def judged_comparisons(self) -> tuple[Disparity, ...]:
        """The comparisons that the verdict over all, and the gate, go by."""
        if self.streams is not None:
            return self.streams.together.disparities
        return tuple(row for row in self.disparities if self.last in ("", row.model))

    @property
    def deciding_comparisons(self) -> list["Comparison"]:
        """The comparisons, of rates or of numbers, of what decides, that the verdict over all goes by."""
        comparisons: Iterable[Comparison] = chain(
            self.judged_comparisons, self.whole_tables, self.judged_numbers
        )
        return [row for row in comparisons if row.deciding]

    @cached_property
    def direction(self) -> Direction:
        """Whether being selected helps or harms, where that is known."""
        return find_direction(self.config, self.ones.values)

    @property
    def of_strata(self) -> bool:
        """Whether slices have no order, so that all of them are judged and none is the last."""
        return self.config.sliced_by is not None and not self.last

    @property
    def leads_with_selection(self) -> bool:
        """Whether an attribute is spoken of by its selection rate first: nobody says which rates matter."""
        return not (self.config.measures or self.whole_tables)

    @property
    def without_verdict(self) -> bool:
        """Whether the rule at hand has no pass mark, so that nothing passes or fails."""
        return self.config.preset in WITHOUT_VERDICT

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        """The rates that decide, with roll-ups spelled out, in the order in which they are computed."""
        deciding: set[str] = set()
        for name in self.decided_by:
            deciding.update(ROLL_UPS.get(name, (name,)))
        return tuple(name for name in COMPARED if name in deciding)

    @property
    def deciding_metrics(self) -> tuple[str, ...]:
        """All that decides: `deciding`, and measures of numbers or the whole table."""
        others = (name for name in self.decided_by if name not in COMPARED and name not in ROLL_UPS)
        return self.deciding + tuple(others)

    @cached_property
    def by_audit(self) -> dict[tuple[str, str, str], tuple[list[Disparity], list[GroupRow]]]:
        """Comparisons and groups by model, decision and attribute."""
        rows_by_place: dict[tuple[str, str, str], tuple[list[Disparity], list[GroupRow]]] = {
            group_counts.place: ([], []) for group_counts in self.slices
        }
        for row in self.disparities:
            rows_by_place[row.place][0].append(row)
        for group in self.groups:
            rows_by_place[group.place][1].append(group)
        return rows_by_place

    @cached_property
    def several(self) -> bool:
        """Whether there is more than one pair of model and decision."""
        return len({group_counts.place[:2] for group_counts in self.slices}) > 1
