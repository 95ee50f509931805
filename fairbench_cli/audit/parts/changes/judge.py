"""What became of each disparity from one model, or slice of the rows, to the next.

A disparity is smaller when its ratio is closer to 1 on a log scale: 0.5 and 2 are equally far. It is better,
or worse, where "the ratios are equally far from 1" is rejected after Holm over all changes that decide.
`measures.change` has the variances, docs/audit.md how often this is wrong.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from fairbench_cli.audit.compare.family import Family
from fairbench_cli.audit.compare.kernel import Compared, shown_names, with_limits
from fairbench_cli.audit.compare.references import (
    REST,
    Bools,
    Ints,
    common_references,
    kept,
    references,
)
from fairbench_cli.audit.compare.report import ALL, Interval, Report
from fairbench_cli.audit.compare.verdict import tau_of
from fairbench_cli.audit.config import WORSE, AuditConfig
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.scan.tally import BeforeAfter, Slice
from fairbench_cli.measures.change import RateChanges, TwoSides, rate_changes, same_size_p
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.significance import normal_p

# What became of a disparity, and why it is not decided: a rate has no rows, or is 0; few rows are counted
# differently; not a single one is; the ratio was turned around 1; chance may be why.
Word = Literal["better", "worse", "undecided"]
NoWord = Literal["no rows", "few", "same", "turned", "chance", ""]

FEW_OVER = 5  # rows over the bar of a rate: with fewer the normal approximation is not to be relied on
FEW_MOVED = 10  # rows of the group and its reference that are counted differently


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
class Changes:
    """What became of each disparity; and of the rates of everybody and of each group."""

    changes: tuple[Change, ...] = ()
    rate_changes: tuple[RateChange, ...] = ()


@dataclass(frozen=True, eq=False)
class _Both:
    """The comparisons of one attribute before and after; arrays of shape (groups, rates)."""

    joint: BeforeAfter
    names: tuple[str, ...]
    at: Ints
    own: RateChanges
    sides: tuple[Compared, Compared]  # for the limits before and after
    ratios: tuple[Floats, Floats]
    differences: tuple[Floats, Floats]
    variances: tuple[Floats, Floats]  # of log ratio after − before, of difference after − before
    p: Floats
    reasons: list[list[NoWord]]


def find_changes(joints: Sequence[BeforeAfter], base: Report) -> Changes:
    """Return what became of each disparity; and of the rates of everybody and of each group.

    Parameters
    ----------
    joints : sequence of BeforeAfter
        What is compared with each other.
    base : Report
        Groups without a disparity are left out; disparities say which metrics decide.
    """
    config = common_references([kept(part, base.config) for part in base.slices], base.config)
    known: dict[tuple[str, str], set[str]] = {}
    deciding = set()
    for row in base.disparities:
        known.setdefault((row.model, row.attribute), set()).add(row.group)
        if row.deciding:
            deciding.add((row.attribute, row.metric))
    both = []
    for joint in joints:
        models = (joint.before, joint.after)
        groups = set().union(*(known.get((model, joint.attribute), ()) for model in models))
        both.append(_both(_only(joint, groups), config))
    decide = [
        np.array([(one.joint.attribute, name) in deciding for name in one.names], dtype=bool) for one in both
    ]
    changes = [
        _change(one, p_holm, g, m, bool(decides[m]), config)
        for one, decides, p_holm in zip(both, decide, _adjusted(both, decide), strict=True)
        for g in range(len(one.joint.groups))
        for m in range(len(one.names))
        if g != one.at[m]
    ]
    rates: list[RateChange] = []
    for models in dict.fromkeys((one.joint.before, one.joint.after) for one in both):
        of_pair = [one for one in both if (one.joint.before, one.joint.after) == models]
        for one in (_everybody(of_pair[0]), *of_pair):
            rates += _rate_changes(one, config)
    return Changes(tuple(changes), tuple(rates))


def worse(found: Changes, report: Report) -> str:
    """Return what became worse at last, where a gate asks for it; empty where nothing did."""
    rows = [row for row in found.changes if row.after == report.last and row.deciding and row.word == "worse"]
    if WORSE not in report.config.failing_metrics or not rows:
        return ""
    first = ", ".join(f"{row.attribute}:{row.metric} of {row.group}" for row in rows[:3])
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"worse than {rows[0].before}: {first}{more}"


def _only(joint: BeforeAfter, groups: set[str]) -> BeforeAfter:
    """Return some groups of a joint."""
    places = [g for g, group in enumerate(joint.groups) if group in groups]
    sides = joint.sides.of(np.eye(len(joint.groups))[places])
    return replace(joint, groups=tuple(joint.groups[g] for g in places), sides=sides)


def _slices(joint: BeforeAfter) -> tuple[Slice, Slice, Slice]:
    """Return the groups before, after, and both together."""
    sides = joint.sides
    cells = [sides.halves(each) for each in (sides.n, sides.rows, sides.squares)]
    cells_of = [[each[s] for each in cells] for s in (0, 1)]
    cells_of.append([first + second for first, second in zip(*cells_of, strict=True)])
    before, after, together = (
        Slice(
            model="",
            decision="",
            attribute=joint.attribute,
            counts=Counts(joint.groups, n),
            cell_rows=np.rint(rows).astype(np.int64),
            squares=squares,
            labelled=joint.labelled,
            intersection=joint.intersection,
        )
        for n, rows, squares in cells_of
    )
    return before, after, together


def _both(joint: BeforeAfter, config: AuditConfig) -> _Both:
    before, after, together = _slices(joint)
    names = tuple(name for name in shown_names(together) if name in COMPARED)
    at = references(together, names, config)
    own = rate_changes(joint.sides, names)
    ref = _of_reference(joint.sides, names, at)
    ratios = divide(own.before, ref.before), divide(own.after, ref.after)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(each) for each in ratios]
        change, total = logs[1] - logs[0], logs[1] + logs[0]
    spread = own.change + ref.change
    p = same_size_p(change, spread, total, own.total + ref.total)
    moved, fewest = own.moved + ref.moved, np.minimum(own.fewest, ref.fewest)
    alpha = 1 - config.confidence
    turned = normal_p(divide(change, np.sqrt(spread))) < alpha
    reasons = np.where(p < alpha, "", np.where(turned, "turned", "chance"))
    reasons = np.where((fewest < FEW_OVER) | (moved < FEW_MOVED), "few", reasons)
    reasons = np.where(moved == 0, "same", reasons)
    undefined = ~np.isfinite(change)
    reasons = np.where(undefined, "no rows", reasons)
    p = np.where(np.isin(reasons, ("few", "same", "no rows")), np.nan, p)
    return _Both(
        joint=joint,
        names=names,
        at=at,
        own=own,
        sides=(Compared(before, names, at, config), Compared(after, names, at, config)),
        ratios=ratios,
        differences=(own.before - ref.before, own.after - ref.after),
        variances=(np.where(undefined, np.nan, spread), own.points + ref.points),
        p=p,
        reasons=reasons.tolist(),
    )


def _of_reference(sides: TwoSides, names: Sequence[str], at: Ints) -> RateChanges:
    """Return the same of each group's reference."""
    members = np.eye(len(sides.n))
    if (at == REST).all():
        return rate_changes(sides.of(1 - members), names)
    found = rate_changes(sides, names)
    columns = np.arange(len(names))
    return RateChanges(*(np.broadcast_to(each[at, columns], each.shape) for each in vars(found).values()))


def _adjusted(both: Sequence[_Both], decide: Sequence[Bools]) -> list[Floats]:
    """Adjust by Holm over all changes that decide, and the others over all.

    One that cannot be tested counts with a p-value of 1.
    """
    itself = [np.arange(len(one.p))[:, None] == one.at for one in both]
    p = [
        np.where(own, np.nan, np.where(np.isnan(one.p), 1.0, one.p))
        for one, own in zip(both, itself, strict=True)
    ]
    adjusted = zip(both, Family(p, decide).adjusted(), strict=True)
    return [np.where(np.isnan(one.p), np.nan, values) for one, values in adjusted]


def _change(one: _Both, p_holm: Floats, g: int, m: int, deciding: bool, config: AuditConfig) -> Change:
    """Return the change of one group and rate."""
    joint, name, pair = one.joint, one.names[m], one.sides[0].pair(g, m)
    ratios = [
        with_limits(values, side.limits.ratio, g, m, known=False)
        for values, side in zip(one.ratios, one.sides, strict=True)
    ]
    differences = [
        with_limits(values, side.limits.difference, g, m, known=False)
        for values, side in zip(one.differences, one.sides, strict=True)
    ]
    adjusted = float(p_holm[g, m])
    reason = one.reasons[g][m]
    sure = adjusted < 1 - config.confidence
    closer = abs(math.log(ratios[1].value)) < abs(math.log(ratios[0].value)) if sure else False
    log = _interval(
        math.log(ratios[1].value / ratios[0].value) if reason != "no rows" else math.nan,
        float(one.variances[0][g, m]),
        config.confidence,
    )
    return Change(
        before=joint.before,
        after=joint.after,
        attribute=joint.attribute,
        group=pair.group,
        reference=pair.reference,
        metric=name,
        value_before=float(one.own.before[g, m]),
        value_after=float(one.own.after[g, m]),
        value_change=_rate_interval(one.own, g, m, config.confidence),
        ratio_before=ratios[0],
        ratio_after=ratios[1],
        ratio_change=Interval(*(math.exp(end) for end in (log.value, log.low, log.high))),
        difference_before=differences[0],
        difference_after=differences[1],
        difference_change=_interval(
            differences[1].value - differences[0].value, float(one.variances[1][g, m]), config.confidence
        ),
        p=float(one.p[g, m]),
        p_holm=adjusted,
        tau=tau_of(name, config),
        word=("better" if closer else "worse") if sure else "undecided",
        reason="" if sure else reason or "chance",
        deciding=deciding,
    )


def _interval(value: float, variance: float, confidence: float) -> Interval:
    """Return a value with the normal interval; a variance of 0, of nothing that moved, says nothing."""
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance) if variance > 0 else math.nan
    return Interval(value, value - half, value + half)


def _rate_interval(own: RateChanges, g: int, m: int, confidence: float) -> Interval:
    return _interval(float(own.after[g, m] - own.before[g, m]), float(own.points[g, m]), confidence)


def _everybody(one: _Both) -> _Both:
    """Return everybody as one group, without comparisons."""
    sides = one.joint.sides.of(np.ones((1, len(one.joint.groups))))
    joint = replace(one.joint, attribute=ALL, groups=(ALL,), sides=sides)
    return replace(one, joint=joint, own=rate_changes(sides, one.names))


def _rate_changes(one: _Both, config: AuditConfig) -> Iterator[RateChange]:
    """Yield how each rate of each group changed."""
    joint, own = one.joint, one.own
    for g, group in enumerate(joint.groups):
        for m, name in enumerate(one.names):
            change = _rate_interval(own, g, m, config.confidence)
            enough = own.moved[g, m] >= FEW_MOVED and own.points[g, m] > 0
            p = float(normal_p(change.value / math.sqrt(own.points[g, m]))) if enough else math.nan
            values = float(own.before[g, m]), float(own.after[g, m])
            yield RateChange(joint.before, joint.after, joint.attribute, group, name, *values, change, p)
