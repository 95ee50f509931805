"""What an audit finds: one plain report, which every output is made from.

A difference is always group − reference, a ratio group / reference.
"""

from dataclasses import dataclass, field
from typing import Literal

from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.judge.metrics import COMPARED, ROLL_UPS
from fairbench_cli.audit.read.tally import Slice

Parity = Literal["pass", "fail", "undecidable"]

ALL = "(all)"  # the attribute and the group of everybody

# What chance has to say: "beyond chance" (Holm-adjusted p below 1 - confidence), "within chance", "too few to
# tell" (a group below min_group, or no test possible); empty for a reference and for shares of a whole list.
Evidence = Literal["beyond chance", "within chance", "too few to tell", ""]


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
    """One rate of one group against its reference."""

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
    p: float  # two-proportions test, NaN where there is none
    p_holm: float  # adjusted over the family of this model and decision
    tau: float
    parity: Parity
    evidence: Evidence
    is_reference: bool
    behind: tuple[float, float]  # over and under the bar of the value
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
    parity: dict[str, Parity]  # of those that can decide


@dataclass(frozen=True)
class AttributeVerdict:
    """The roll-up of one attribute: fail if a group fails, else undecidable if one is, else pass."""

    model: str
    decision: str
    attribute: str
    parity: dict[str, Parity]  # by metric and by roll-up
    verdict: Parity  # over what decides


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
    verdict, gate : {"pass", "fail", "undecidable"}
        Over `decided_by`; and over what the configuration's `fail_on` names (nothing: the verdict).
    explanations : tuple of Explanation
        What is behind the differences; empty unless asked for.
    notes : tuple of str
        What a reader should know, each once, that of the data first.
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
    verdict: Parity
    gate: Parity
    explanations: tuple[Explanation, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def deciding(self) -> tuple[str, ...]:
        """The rates that decide, with roll-ups spelled out, in the order in which they are computed."""
        wanted = {part for name in self.decided_by for part in ROLL_UPS.get(name, (name,))}
        return tuple(name for name in COMPARED if name in wanted)

    @property
    def several(self) -> bool:
        """Whether there is more than one pair of model and decision."""
        return len({(row.model, row.decision) for row in self.verdicts}) > 1
