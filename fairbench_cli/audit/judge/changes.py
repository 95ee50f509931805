"""What became of each disparity from one model, or slice of the rows, to the next.

A disparity is smaller when its ratio is closer to 1 on a log scale: 0.5 and 2 are equally far. It is better,
or worse, where "the ratios are equally far from 1" is rejected after Holm over all changes that decide.
`measures.change` has the variances, docs/audit.md how often this is wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fairbench_cli.audit.config import WORSE, AuditConfig
from fairbench_cli.audit.judge.compare import shown_names
from fairbench_cli.audit.judge.effective import rate_rows
from fairbench_cli.audit.judge.references import REST, REST_NAME, Ints, references
from fairbench_cli.audit.judge.report import (
    ALL,
    AttributeVerdict,
    Change,
    Disparity,
    Gate,
    Interval,
    NoWord,
    RateChange,
)
from fairbench_cli.audit.judge.uncertainty import Uncertainty, uncertainty, with_limits
from fairbench_cli.audit.judge.verdict import gate, tau_of
from fairbench_cli.audit.metrics import COMPARED
from fairbench_cli.audit.scan.tally import BeforeAfter, Slice, Tally
from fairbench_cli.measures.change import RateChanges, TwoSides, rate_changes, same_size_p
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.significance import holm, normal_p

FEW_OVER = 5  # rows over the bar of a rate: with fewer the normal approximation is not to be relied on
FEW_MOVED = 10  # rows of the group and its reference that are counted differently


@dataclass(frozen=True, eq=False)
class _Both:
    """The comparisons of one attribute before and after; arrays of shape (groups, rates)."""

    joint: BeforeAfter
    names: tuple[str, ...]
    at: Ints
    own: RateChanges
    ratios: tuple[Floats, Floats]
    limits: tuple[Uncertainty, Uncertainty]
    differences: tuple[Floats, Floats]
    variances: tuple[Floats, Floats]  # of log ratio after − before, of difference after − before
    p: Floats
    reasons: list[list[NoWord]]


def find_changes(
    tally: Tally, disparities: Sequence[Disparity], config: AuditConfig
) -> tuple[tuple[Change, ...], tuple[RateChange, ...]]:
    """Return what became of each disparity; and of the rates of everybody and of each group.

    Parameters
    ----------
    tally : Tally
        Its joints are compared; none, nothing to return.
    disparities : sequence of Disparity
        Groups that are not in them are left out, and so say which metrics decide.
    config : AuditConfig
        Confidence, taus, references.
    """
    known: dict[tuple[str, str], set[str]] = {}
    deciding = set()
    for row in disparities:
        known.setdefault((row.model, row.attribute), set()).add(row.group)
        if row.deciding:
            deciding.add((row.attribute, row.metric))
    both = []
    for joint in tally.joints:
        groups = set().union(
            *(known.get((side, joint.attribute), ()) for side in (joint.before, joint.after))
        )
        both.append(_both(_only(joint, groups), config))
    adjusted = _adjusted(both, deciding)
    changes = [
        _change(one, p_holm, g, m, (one.joint.attribute, one.names[m]) in deciding, config)
        for one, p_holm in zip(both, adjusted, strict=True)
        for g in range(len(one.joint.groups))
        for m in range(len(one.names))
        if g != one.at[m]
    ]
    rates = []
    for before, after in dict.fromkeys((one.joint.before, one.joint.after) for one in both):
        of_pair = [one for one in both if (one.joint.before, one.joint.after) == (before, after)]
        rates += _rate_changes(_everybody(of_pair[0]), config)
        rates += [row for one in of_pair for row in _rate_changes(one, config)]
    return tuple(changes), tuple(rates)


def last_side(tally: Tally) -> str:
    """Return the model or slice that the verdict goes by; empty where none are compared, and all count.

    Of two files it is the audited one, which is compared with the baseline.
    """
    return tally.joints[-1].after if tally.joints else ""


def gate_of(
    last: str,
    verdicts: Sequence[AttributeVerdict],
    disparities: Sequence[Disparity],
    changes: Sequence[Change],
    config: AuditConfig,
) -> Gate:
    """Return whether to stop: by the verdicts on one model or slice ("": all), and where it became worse."""
    found = gate(
        [row for row in verdicts if last in ("", row.model)],
        [row for row in disparities if last in ("", row.model)],
        config,
    )
    worse = [row for row in changes if row.after == last and row.deciding and row.word == "worse"]
    if found.stops or WORSE not in config.failing_metrics or not worse:
        return found
    first = ", ".join(f"{row.attribute}:{row.metric} of {row.group}" for row in worse[:3])
    more = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
    return Gate(stops=True, reason=f"worse than {worse[0].before}: {first}{more}")


def _only(joint: BeforeAfter, groups: set[str]) -> BeforeAfter:
    """Return some groups of a joint."""
    kept = [g for g, group in enumerate(joint.groups) if group in groups]
    sides = joint.sides.of(np.eye(len(joint.groups))[kept])
    return replace(joint, groups=tuple(joint.groups[g] for g in kept), sides=sides)


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
    limits = tuple(uncertainty(names, *rate_rows(s, names, at), config.confidence) for s in (before, after))
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
        ratios=ratios,
        limits=(limits[0], limits[1]),
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


def _adjusted(both: Sequence[_Both], deciding: set[tuple[str, str]]) -> list[Floats]:
    """Adjust by Holm over all changes that decide, and the others over all.

    One that cannot be tested counts with a p-value of 1.
    """
    itself = [np.arange(len(one.p))[:, None] == one.at for one in both]
    decide = [
        np.broadcast_to([(one.joint.attribute, name) in deciding for name in one.names], one.p.shape)
        for one in both
    ]

    def adjust(chosen: Sequence[Floats]) -> Floats:
        return holm(np.concatenate([*(each.ravel() for each in chosen), np.empty(0)]))

    p = [
        np.where(own, np.nan, np.where(np.isnan(one.p), 1.0, one.p))
        for one, own in zip(both, itself, strict=True)
    ]
    family = adjust([np.where(d, values, np.nan) for d, values in zip(decide, p, strict=True)])
    every = adjust(p)
    flat = np.where(np.isnan(family), every, family)
    found = []
    for one in both:
        found.append(np.where(np.isnan(one.p), np.nan, flat[: one.p.size].reshape(one.p.shape)))
        flat = flat[one.p.size :]
    return found


def _change(one: _Both, p_holm: Floats, g: int, m: int, deciding: bool, config: AuditConfig) -> Change:
    """Return the change of one group and rate."""
    joint, name, at = one.joint, one.names[m], int(one.at[m])
    ratios = [
        with_limits(values, limits.ratio, g, m, known=False)
        for values, limits in zip(one.ratios, one.limits, strict=True)
    ]
    differences = [
        with_limits(values, limits.difference, g, m, known=False)
        for values, limits in zip(one.differences, one.limits, strict=True)
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
        group=joint.groups[g],
        reference=REST_NAME if at == REST else joint.groups[at],
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


def _rate_changes(one: _Both, config: AuditConfig) -> list[RateChange]:
    """Return how each rate of each group changed."""
    joint, found = one.joint, []
    for g, group in enumerate(joint.groups):
        for m, name in enumerate(one.names):
            of = _rate_interval(one.own, g, m, config.confidence)
            enough = one.own.moved[g, m] >= FEW_MOVED and one.own.points[g, m] > 0
            p = float(normal_p(of.value / math.sqrt(one.own.points[g, m]))) if enough else math.nan
            place = (joint.before, joint.after, joint.attribute, group, name)
            values = float(one.own.before[g, m]), float(one.own.after[g, m])
            found.append(RateChange(*place, *values, of, p))
    return found
