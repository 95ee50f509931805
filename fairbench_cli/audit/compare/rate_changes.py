"""What became of the disparities of rates from one model, or slice of the rows, to the next.

`measures.paired_change` has the variances, docs/audit.md how often a word is wrong.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.compare import clustered_changes, references
from fairbench_cli.audit.compare.changes import (
    OPEN,
    UNTESTED,
    Change,
    Changes,
    ValueChange,
    decide_changes,
    find_reasons,
    value_changes,
)
from fairbench_cli.audit.compare.compare_rates import Compared
from fairbench_cli.audit.compare.report import ALL, Intervals, Report, intervals
from fairbench_cli.audit.compare.slice_order import are_strata
from fairbench_cli.audit.compare.verdict import TOLERANCE, margin_of, tau_of
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.metrics import COMPARED, defined
from fairbench_cli.audit.scan.pairing import read_sides
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.slices import BeforeAfter, Slice
from fairbench_cli.base.grouping import group_by
from fairbench_cli.measures.counts import Counts, Floats, divide
from fairbench_cli.measures.paired_change import RateChanges, TwoSides, rate_changes, same_size_p

PAIR = 2  # slices, of which one is compared with the other whatever their order
FEW_OVER = 5  # rows over the bar of a rate: with fewer the normal approximation is not to be relied on
FEW_MOVED = 10  # rows of the group and its reference that are counted differently


def find_changes(joints: Sequence[BeforeAfter], base: Report) -> Changes:
    """Return the change of each disparity, and of the rates of everybody and of each group.

    Parameters
    ----------
    joints : sequence of BeforeAfter
        What is compared with each other.
    base : Report
        Groups without a disparity are left out; disparities say which metrics decide.
    """
    config = references.common_references(
        [references.without_excluded_groups(group_counts, base.config) for group_counts in base.slices],
        base.config,
    )
    groups = {(row.model, row.attribute, row.group) for row in base.disparities}
    deciding = {(row.attribute, row.metric) for row in base.disparities if row.deciding}
    joints = [_select_groups(joint, groups) for joint in joints]
    rates: list[ValueChange] = []
    for of_pair in group_by(joints, lambda joint: (joint.before, joint.after)).values():
        for joint in (_merge_groups(of_pair[0]), *of_pair):
            rates += _rate_changes(joint, config)
    changes: list[Change] = []
    for joint in joints:
        changes += _compute_changes(joint, deciding, config)
    least_change = lambda row: config.least_change(row.metric) - TOLERANCE  # noqa: E731
    return Changes(tuple(decide_changes(changes, least_change, config.alpha)), tuple(rates))


def read_pairs(scan: Scan) -> tuple[BeforeAfter, ...]:
    """Return the pairs of models or slices; of more than two slices without an order there are none."""
    n_slices = len({group_counts.model for group_counts in scan.tally.slices})
    if n_slices > PAIR and are_strata(scan.tally.slices, scan.config):
        return ()
    return read_sides(scan)


def _select_groups(joint: BeforeAfter, groups: set[tuple[str, str, str]]) -> BeforeAfter:
    """Return a joint with those of its groups that are among `groups`, before or after."""
    kept_indices = []
    for g, group in enumerate(joint.groups):
        before = (joint.before, joint.attribute, group)
        after = (joint.after, joint.attribute, group)
        if before in groups or after in groups:
            kept_indices.append(g)
    sides = joint.sides.merge_groups(np.eye(len(joint.groups))[kept_indices])
    new_indices = np.full(len(joint.groups), -1)
    new_indices[kept_indices] = np.arange(len(kept_indices))
    clusters = tuple(kinds.map_groups(new_indices) for kinds in joint.clusters)
    return replace(joint, groups=tuple(joint.groups[g] for g in kept_indices), sides=sides, clusters=clusters)


def _merge_groups(joint: BeforeAfter) -> BeforeAfter:
    """Return everybody as one group."""
    sides = joint.sides.merge_groups(np.ones((1, len(joint.groups))))
    one_group = np.zeros(len(joint.groups), dtype=np.int64)
    clusters = tuple(kinds.map_groups(one_group) for kinds in joint.clusters)
    return replace(joint, attribute=ALL, groups=(ALL,), sides=sides, clusters=clusters)


def _slices(joint: BeforeAfter) -> list[Slice]:
    """Return the groups before, after, and both together."""
    sides = joint.sides
    cells = (sides.halves(group_cells) for group_cells in (sides.n, sides.rows, sides.squares))
    before, after = map(np.stack, zip(*cells, strict=True))
    n, rows, squares = before
    group_counts = Slice(
        model="",
        decision="",
        attribute=joint.attribute,
        counts=Counts(joint.groups, n),
        cell_rows=rows,
        squares=squares,
        labelled=joint.labelled,
        intersection=joint.intersection,
    )
    ways = []
    for is_after in (False, True):
        ways.append([kinds.side(after=is_after, paired=sides.paired) for kinds in joint.clusters])
    return [
        group_counts.with_cells(before).with_clusters(ways[0]),
        group_counts.with_cells(after).with_clusters(ways[1]),
        group_counts.with_cells(before + after),
    ]


def _compute_changes(
    joint: BeforeAfter, deciding: set[tuple[str, str]], config: AuditConfig
) -> Iterator[Change]:
    """Yield the changes of each group and rate, each tested alone: nothing is decided yet."""
    before_counts, after_counts, together = _slices(joint)
    names = defined(COMPARED, joint.labelled)
    reference_indices = references.find_references(together, names, config)
    sides = [Compared(counts, names, reference_indices, config) for counts in (before_counts, after_counts)]
    group_changes = rate_changes(joint.sides, names)
    ref = _reference_changes(joint.sides, names, reference_indices, group_changes)
    values = divide(group_changes.before, ref.before), divide(group_changes.after, ref.after)
    apart = group_changes.before - ref.before, group_changes.after - ref.after
    ratios = [intervals(ratio, *side.ratio_limits) for ratio, side in zip(values, sides, strict=True)]
    differences = [intervals(gap, *side.difference_limits) for gap, side in zip(apart, sides, strict=True)]
    if joint.shares_clusters:
        variances = clustered_changes.ratio_variances(joint, names, reference_indices)
    else:
        sums = {
            name: getattr(group_changes, name) + getattr(ref, name) for name in clustered_changes.OF_CHANGES
        }
        variances = clustered_changes.ChangeVariances(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_before, log_after = map(np.log, values)
        change = log_after - log_before
        total = log_after + log_before
    moved_by = apart[1] - apart[0]
    spread, total_spread, points = (variances.variance[name] for name in clustered_changes.OF_CHANGES)
    p = same_size_p(change, spread, total, total_spread, variances.degrees_of("change", "total"))
    change_p = variances.p("change", change)
    by_margin = sides[0].allowed.by_margin
    if by_margin.any():
        p = np.where(by_margin, _same_difference_p(sides, apart, variances), p)
        change_p = np.where(by_margin, variances.p("points", moved_by), change_p)
    moved = group_changes.moved + ref.moved
    fewest = np.minimum(group_changes.fewest, ref.fewest)
    is_few = (fewest < FEW_OVER) | (moved < FEW_MOVED) | ~np.isfinite(np.where(by_margin, points, spread))
    undefined = ~np.isfinite(np.where(by_margin, moved_by, change))
    reasons = find_reasons(undefined, moved == 0, is_few, p, change_p, config.alpha)
    times = np.where(np.isfinite(change), change, np.nan)
    with np.errstate(over="ignore"):
        limits = map(np.exp, (times, *variances.limits("change", times, config.confidence)))
    ratio_changes = intervals(*limits)
    difference_changes = intervals(moved_by, *variances.limits("points", moved_by, config.confidence))
    of_values, _ = _intervals_of_rates(joint, names, group_changes, config)
    for g, m in np.argwhere(~sides[0].itself).tolist():
        pair = sides[0].pair(g, m)
        name = names[m]
        reason = reasons[g][m]
        yield Change(
            before=joint.before,
            after=joint.after,
            attribute=joint.attribute,
            group=pair.group,
            reference=pair.reference,
            metric=name,
            value_before=float(group_changes.before[g, m]),
            value_after=float(group_changes.after[g, m]),
            value_change=of_values[g, m],
            ratio_before=ratios[0][g, m],
            ratio_after=ratios[1][g, m],
            ratio_change=ratio_changes[g, m],
            difference_before=differences[0][g, m],
            difference_after=differences[1][g, m],
            difference_change=difference_changes[g, m],
            p=math.nan if reason in UNTESTED else float(p[g, m]),
            change_p=math.nan if reason in UNTESTED else float(change_p[g, m]),
            tau=tau_of(name, config),
            margin=margin_of(name, config) if config.margin else None,
            least_change=None,
            reason=reason,
            deciding=(joint.attribute, name) in deciding,
            **OPEN,
        )


def _same_difference_p(
    sides: Sequence[Compared], apart: tuple[Floats, Floats], variances: clustered_changes.ChangeVariances
) -> Floats:
    """Return p-values of "the differences before and after are equally far from 0".

    As `same_size_p` has it of ratios. The variance of after + before is what twice those of both leave of
    that of after − before.
    """
    before, after = (_variance_of_difference(side) for side in sides)
    variance = variances.variance["points"]
    total_variance = np.maximum(2 * before + 2 * after - variance, 0.0)
    change, total = apart[1] - apart[0], apart[1] + apart[0]
    return same_size_p(change, variance, total, total_variance, variances.degrees_of("points", "points"))


def _variance_of_difference(side: Compared) -> Floats:
    """Return the variances of differences from the references' rates; by clusters where rows share some."""
    variance = np.zeros(side.value.shape)
    for rows in side.rows:
        rate = divide(rows.numerator, rows.denominator)
        variance = variance + divide(rate * (1 - rate), rows.denominator)
    if side.clustered is None:
        return variance
    return np.where(side.clustered.is_tested, side.clustered.variance, variance)


def _reference_changes(
    sides: TwoSides, names: Sequence[str], reference_indices: references.Ints, group_changes: RateChanges
) -> RateChanges:
    """Return the same of each group's reference."""
    if (reference_indices == references.REST).all():
        return rate_changes(sides.merge_groups(1 - np.eye(len(sides.n))), names)
    columns = np.arange(len(names))
    of_references = {}
    for name, array in vars(group_changes).items():
        of_references[name] = np.broadcast_to(array[reference_indices, columns], array.shape)
    return RateChanges(**of_references)


def _intervals_of_rates(
    joint: BeforeAfter, names: Sequence[str], changes: RateChanges, config: AuditConfig
) -> tuple[Intervals, Floats]:
    """Return how each group's rates changed, and p-values of "no change"; NaN where few rows moved."""
    variances = clustered_changes.ChangeVariances({"points": changes.points})
    if joint.shares_clusters:
        variances = clustered_changes.rate_variances(joint, names)
    change = changes.after - changes.before
    is_tested = (changes.moved >= FEW_MOVED) & (variances.variance["points"] > 0)
    p = np.where(is_tested, variances.p("points", change), np.nan)
    return intervals(change, *variances.limits("points", change, config.confidence)), p


def _rate_changes(joint: BeforeAfter, config: AuditConfig) -> Iterator[ValueChange]:
    """Return how each rate of each group changed."""
    names = defined(COMPARED, joint.labelled)
    changes = rate_changes(joint.sides, names)
    rate_intervals, p = _intervals_of_rates(joint, names, changes, config)
    place = joint.before, joint.after, joint.attribute
    return value_changes(place, joint.groups, names, changes.before, changes.after, rate_intervals, p)
