"""What an audit finds: one plain report, which every output is made from.

A difference is always group − reference, a ratio group / reference.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from fairbench_cli.audit.config import WITHOUT_VERDICT, AuditConfig
from fairbench_cli.audit.metrics import COMPARED, ROLL_UPS
from fairbench_cli.audit.scan.tally import Slice
from fairbench_cli.document.model import Verdict

ALL = "(all)"  # the attribute and the group of everybody

# Why a comparison is not decided: a rate has no rows; the ratio is outside τ, and chance may be why; it is
# outside τ, and weights leave too few rows to test it; or it is within τ, and its interval is not.
Reason = Literal["no rows", "chance", "few", "wide", ""]
Test = Literal["score", "fisher", ""]

# What became of a disparity, and why it is not decided: a rate has no rows, or is 0; few rows are counted
# differently; not a single one is; the ratio was turned around 1; chance may be why.
Word = Literal["better", "worse", "undecided"]
NoWord = Literal["no rows", "few", "same", "turned", "chance", ""]


@dataclass(frozen=True)
class Interval:
    """A number with its interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupRow:
    """Counts and rates of one group."""

    model: str
    decision: str
    attribute: str
    group: str
    rows: int
    small: bool  # fewer rows than min_group
    counts: dict[str, float]  # tp fp fn tn pp pn size label_pos label_neg (tp … only with labels)
    metrics: dict[str, Interval]  # by name of the rate
    behind: dict[str, tuple[float, float]]  # over and under the bar of each rate


@dataclass(frozen=True)
class Disparity:
    """One rate of one group against its reference.

    Parameters
    ----------
    model, decision, attribute, group, reference, metric : str
        What is compared; `reference` is the name of a group.
    value, reference_value : float
        The rates, in [0, 1].
    ratio, difference : Interval
        value / reference_value (Miettinen and Nurminen's interval), value − reference_value (Newcombe's).
    p, p_holm : float
        Of the hypothesis that the rates are equal, two-sided; and adjusted over the `Report.family`. NaN
        where nothing is tested.
    test : {"score", "fisher", ""}
        Which test that is.
    tau : float
        The ratio passes from tau to 1/tau.
    point : {"pass", "fail", "undecided"}
        Whether the ratio itself lies within τ, whatever chance does.
    verdict : {"pass", "fail", "undecided"}
        See `judge.evidence.decide`; under ``rule="point"`` the same as `point`.
    shown_outside : bool
        Of a failure: whether the ratio is outside τ by more than chance, not only different from 1.
    reason : {"no rows", "chance", "few", "wide", ""}
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

    model: str
    decision: str
    attribute: str
    group: str
    reference: str
    metric: str
    value: float
    reference_value: float
    ratio: Interval
    difference: Interval
    p: float
    p_holm: float
    test: Test
    tau: float
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
class RequestedRow:
    """The metrics asked for by name, of one group against its reference."""

    model: str
    decision: str
    attribute: str
    group: str  # taken for the deprived one
    reference: str
    values: dict[str, Interval]
    verdicts: dict[str, Verdict]  # of those that can decide


@dataclass(frozen=True)
class AttributeVerdict:
    """The roll-up of one attribute: fail if a group fails, else undecided if one is, else pass."""

    model: str
    decision: str
    attribute: str
    by_metric: dict[str, Verdict]  # and by roll-up
    verdict: Verdict  # over what decides


@dataclass(frozen=True)
class Gate:
    """Whether to stop, and a sentence that says why; for exit codes."""

    stops: bool
    reason: str = ""


@dataclass(frozen=True)
class Stratum:
    """Both groups within one stratum; weights summed."""

    name: str
    rows: float
    reference_rows: float
    rate: float
    reference_rate: float
    difference: Interval
    belift: float  # rate / rate of all


@dataclass(frozen=True)
class Stratified:
    """A difference of selection rates, taken apart by strata."""

    by: str  # "education", "education × hours", "propensity", "clusters"
    explained: Interval
    unexplained: Interval
    compared: float  # share of the rows in strata with both groups
    cmh: float  # Cochran, Mantel and Haenszel's χ²
    cmh_p: float
    strata: tuple[Stratum, ...]
    least_belift: int | None  # place of the stratum that has it, of those with rows enough


@dataclass(frozen=True)
class Explanation:
    """What is behind the difference of selection rates between one group and its reference.

    Parameters
    ----------
    attribute, group, reference : str
        The group is taken for the deprived one.
    rows, reference_rows : int
        How many rows each has.
    difference : Interval
        Of the selection rates.
    parts : tuple of Stratified
        By each explanation asked for, by propensity, and by clusters; none where there are too few rows.
    metrics : dict of str to Interval
        By name, of those that need rows.
    features : tuple of str
        The columns that describe a person: X.
    notes : tuple of str
        What a reader should know.
    """

    attribute: str
    group: str
    reference: str
    rows: int
    reference_rows: int
    difference: Interval
    parts: tuple[Stratified, ...] = ()
    metrics: dict[str, Interval] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One disparity of one group under two models, or in two slices of the rows.

    Parameters
    ----------
    before, after : str
        The baseline, and the model or slice that is compared with it, as in `Disparity.model`.
    attribute, group, reference, metric : str
        What is compared; the reference is the same before and after.
    value_before, value_after : float
        The group's rate.
    value_change : Interval
        value_after − value_before.
    ratio_before, ratio_after : Interval
        To the reference.
    ratio_change : Interval
        ratio_after / ratio_before.
    difference_before, difference_after : Interval
        From the reference.
    difference_change : Interval
        difference_after − difference_before.
    p, p_holm : float
        Of the hypothesis that the ratios are equally far from 1, see `measures.change.same_size_p`; and
        adjusted over all changes that decide. NaN where nothing is tested.
    tau : float
    word : {"better", "worse", "undecided"}
        Whether the ratio is closer to 1 than before, by more than chance, or farther away.
    reason : {"no rows", "few", "same", "turned", "chance", ""}
        Why it is not decided.
    deciding : bool
        Whether the metric is one that decides verdicts.
    """

    before: str
    after: str
    attribute: str
    group: str
    reference: str
    metric: str
    value_before: float
    value_after: float
    value_change: Interval
    ratio_before: Interval
    ratio_after: Interval
    ratio_change: Interval
    difference_before: Interval
    difference_after: Interval
    difference_change: Interval
    p: float
    p_holm: float
    tau: float
    word: Word
    reason: NoWord
    deciding: bool


@dataclass(frozen=True)
class RateChange:
    """A rate of everybody, or of one group that may be the reference, before and after."""

    before: str
    after: str
    attribute: str
    group: str
    metric: str
    value_before: float
    value_after: float
    change: Interval  # value_after − value_before
    p: float  # of "no change", not adjusted; NaN where too few rows are counted differently


@dataclass(frozen=True)
class Chance:
    """What a test says of the selection rate of a group against the highest.

    Parameters
    ----------
    ratio : Interval
        Miettinen and Nurminen's.
    z : float
        The difference in standard deviations (pooled); below 0 for the lower rate.
    p, p_holm : float
        Two-sided p-value, and adjusted over all pairs of all categories of the audit.
    test : {"score", "fisher"}
    """

    ratio: Interval
    z: float
    p: float
    p_holm: float
    test: Test


@dataclass(frozen=True)
class FourFifths:
    """What the rule of four fifths makes of a group.

    Parameters
    ----------
    below : bool
        Whether its rate is below 4/5 of the highest, exactly.
    to_reach : int
        How many more of the group would have to be selected for 4/5.
    one_person : bool
        Whether one more of the group, and one fewer of the other, would turn the difference round.
    shortfall : float
        How many more of the group would be selected at the rate of both groups together; below 0: fewer.
    """

    below: bool
    to_reach: int
    one_person: bool
    shortfall: float


@dataclass(frozen=True)
class ImpactRow:
    """A category, by the rules of a preset.

    Parameters
    ----------
    group : str
    rows, selected : int
        People, and those of them who were selected.
    share : float
        Of the rows whose category is known.
    rate : float
        selected / rows.
    ratio : float
        The rate over the highest; NaN where there is none, and for a category that is left out.
    left_out : bool
        Whether the category is smaller than `min_share`: neither compared nor the one compared with.
    highest : bool
        Whether its rate is the highest.
    chance : Chance, or None
        None for the highest, and where nothing is compared.
    four_fifths : FourFifths, or None
        The same, and of the preset eeoc alone.
    """

    group: str
    rows: int
    selected: int
    share: float
    rate: float
    ratio: float
    left_out: bool
    highest: bool
    chance: Chance | None = None
    four_fifths: FourFifths | None = None


@dataclass(frozen=True)
class ImpactTable:
    """The categories of one attribute, or of two crossed.

    Parameters
    ----------
    model, decision, attribute : str
        As of a `Slice`.
    highest : str
        The category with the highest rate; empty where there is none.
    unknown : int
        Rows that are not in it, because their category is not known.
    family : int
        How many pairs of categories p-values are adjusted for, in the whole audit.
    rows : tuple of ImpactRow
    """

    model: str
    decision: str
    attribute: str
    highest: str
    unknown: int
    family: int
    rows: tuple[ImpactRow, ...]


@dataclass(frozen=True)
class CalibrationBin:
    """The rows of one group with scores from low to high, and how many of them have the label 1."""

    low: float
    high: float
    rows: int
    mean_score: float
    rate: Interval


@dataclass(frozen=True)
class ScoreRow:
    """What the scores of one group are worth, by name of the measure.

    Parameters
    ----------
    group : str
    rows : int
    small : bool
        Whether it has fewer rows than `min_group`.
    is_reference : bool
    values : dict of str to Interval
        ``auc``, ``ks-of-labels``, ``ks-to-reference``, ``brier``, ``calibration-slope``,
        ``calibration-intercept``, ``mean-score`` and ``base-rate``, as far as they are defined.
    differences : dict of str to Interval
        From the reference's, of all but the second distance; empty for the reference itself.
    bins : tuple of CalibrationBin
        Those with rows, lowest scores first; empty without labels.
    """

    group: str
    rows: int
    small: bool
    is_reference: bool
    values: dict[str, Interval]
    differences: dict[str, Interval]
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class ThresholdRow:
    """What a single audit at one threshold finds: scores at or above it are selected.

    Parameters
    ----------
    threshold : float
    decision : str
        The decision of the configuration that it is; empty for others.
    selected : float
        Share of all rows that are selected.
    rates : dict of str to float
        Selection rate by group.
    verdict : {"pass", "fail", "undecided"}
        On the attribute.
    failing : tuple of str
        The rates that decide and fail.
    """

    threshold: float
    decision: str
    selected: float
    rates: dict[str, float]
    verdict: Verdict
    failing: tuple[str, ...]


@dataclass(frozen=True)
class ScoreCurves:
    """The scores of one attribute's groups under one model, whatever the decision.

    `reference` is the name of a group, `REST_NAME`, or empty where there is none; `family` says how many
    comparisons the verdict at each threshold is adjusted for.
    """

    model: str
    attribute: str
    reference: str
    groups: tuple[ScoreRow, ...]
    thresholds: tuple[ThresholdRow, ...]
    family: int


@dataclass(frozen=True, eq=False)
class Report:
    """A finished audit.

    Parameters
    ----------
    config : AuditConfig
        How it was audited.
    source, rows, weighted
        The file as given, its rows, and whether counts are sums of weights.
    slices : tuple of Slice
        The counts themselves.
    decided_by : tuple of str
        The metrics and roll-ups that the verdict is over.
    overall, groups : tuple of GroupRow
        Everybody, once per model and decision, under the attribute and group "(all)"; and every group.
    disparities : tuple of Disparity
        Every rate of every group against its reference.
    requested : tuple of RequestedRow
        Metrics asked for by name; empty unless there are some.
    verdicts : tuple of AttributeVerdict
        Of each attribute, under each model and decision.
    verdict : {"pass", "fail", "undecided"}
        Over `decided_by`: fail if one comparison fails, pass if all pass. Of models or slices that are
        compared, of the last.
    last : str
        That one; empty where none are compared.
    gate : Gate
        Whether a gate of the configuration stops, and why.
    family : int
        How many comparisons the p-values are adjusted for.
    explanations : tuple of Explanation
        What is behind the differences; empty unless asked for.
    notes : tuple of str
        What a reader should know, each once, that of the data first.
    changes : tuple of Change
        From a baseline to the model or slice compared with it; empty unless there are such.
    rate_changes : tuple of RateChange
        Of everybody, under the attribute and group "(all)", and of each group; empty as well.
    impact : tuple of ImpactTable
        Impact ratios; of the presets eeoc and ll144 alone.
    curves : tuple of ScoreCurves
        What the scores are worth, and verdicts along thresholds; empty unless asked for.
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
    requested: tuple[RequestedRow, ...]
    verdicts: tuple[AttributeVerdict, ...]
    verdict: Verdict
    gate: "Gate"
    family: int
    explanations: tuple[Explanation, ...] = ()
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    rate_changes: tuple[RateChange, ...] = ()
    impact: tuple[ImpactTable, ...] = ()
    last: str = ""
    curves: tuple[ScoreCurves, ...] = ()

    @cached_property
    def judged(self) -> tuple[AttributeVerdict, ...]:
        """The verdicts that the one over all, and the gate, go by: of models or slices compared, the last."""
        return tuple(row for row in self.verdicts if self.last in ("", row.model))

    @property
    def without_verdict(self) -> bool:
        """Whether the rule at hand has no pass mark, so that nothing passes or fails."""
        return self.config.preset in WITHOUT_VERDICT

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        """The rates that decide, with roll-ups spelled out, in the order in which they are computed."""
        wanted = {part for name in self.decided_by for part in ROLL_UPS.get(name, (name,))}
        return tuple(name for name in COMPARED if name in wanted)

    @cached_property
    def by_audit(self) -> dict[tuple[str, str, str], tuple[list[Disparity], list[GroupRow]]]:
        """Comparisons and groups by model, decision and attribute."""
        found: dict[tuple[str, str, str], tuple[list[Disparity], list[GroupRow]]] = {
            (row.model, row.decision, row.attribute): ([], []) for row in self.verdicts
        }
        for row in self.disparities:
            found[row.model, row.decision, row.attribute][0].append(row)
        for group in self.groups:
            found[group.model, group.decision, group.attribute][1].append(group)
        return found

    @cached_property
    def several(self) -> bool:
        """Whether there is more than one pair of model and decision."""
        return len({(row.model, row.decision) for row in self.verdicts}) > 1
