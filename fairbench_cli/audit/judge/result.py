"""What an audit finds: group metrics, disparities with intervals, and verdicts."""

from dataclasses import dataclass, field
from typing import Literal

from fairbench_cli.audit.config import AuditConfig as Spec
from fairbench_cli.audit.read.tally import Tally

Parity = Literal["pass", "fail", "undecidable"]

# What chance has to say: "beyond chance" (Holm-adjusted p below 1 - confidence), "within chance", "too few to
# tell" (a group below min_group, or no test possible).
Evidence = Literal["beyond chance", "within chance", "too few to tell", ""]


@dataclass(frozen=True)
class Interval:
    """A number with its interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupRow:
    """One group of one slice: counts and rates."""

    model: str
    decision: str
    attribute: str
    group: str
    rows: int
    counts: dict[str, float]  # tp fp fn tn pp pn label_pos label_neg size (tp … only when labelled)
    metrics: dict[str, Interval]  # by measure name, see `fairbench_cli.audit.judge.metrics.AUDIT_METRICS`
    small: bool  # fewer rows than min_group


@dataclass(frozen=True)
class Disparity:
    """One measure of one group beside its reference."""

    model: str
    decision: str
    attribute: str
    group: str
    reference: str
    measure: str
    value: float
    reference_value: float
    ratio: Interval
    difference: Interval
    p: float  # two-proportion test, NaN where there is none
    p_holm: float  # adjusted over the family of this model and decision
    tau: float
    parity: Parity
    evidence: Evidence
    is_reference: bool


@dataclass(frozen=True)
class Contrast:
    """The survey's absolute measures of one group beside its reference; decision 1 is the favourable one."""

    model: str
    decision: str
    attribute: str
    group: str  # taken for the deprived one
    reference: str
    values: dict[str, float]  # by name in `fairbench_cli.measures.registry.MEASURES`


@dataclass(frozen=True)
class ByName:
    """The measures asked for by name of one group beside its reference; see `audit.by_name`."""

    model: str
    decision: str
    attribute: str
    group: str  # taken for the deprived one
    reference: str
    values: dict[str, Interval]  # by name in `audit.by_name.NAMES`


@dataclass(frozen=True)
class AttributeVerdict:
    """The roll-up of one attribute: fail if a group fails, else undecidable if one is, else pass."""

    model: str
    decision: str
    attribute: str
    parity: dict[str, Parity]  # by measure and by roll-up name (type-i, type-ii, equalised-odds, …)


@dataclass(frozen=True, eq=False)
class Audit:
    """A finished audit."""

    spec: Spec
    tally: Tally
    overall: tuple[GroupRow, ...]  # one per model and decision, attribute and group "(all)"
    groups: tuple[GroupRow, ...]
    disparities: tuple[Disparity, ...]
    verdicts: tuple[AttributeVerdict, ...]
    verdict: Parity  # over the chosen measures of all models and decisions
    notes: tuple[str, ...] = field(default=())
    contrasts: tuple[Contrast, ...] = field(default=())
    by_name: tuple[ByName, ...] = field(default=())
