"""What became of the differences of groups' numbers from one model to the next, on the same rows.

Each row is compared with itself, so that what both models get wrong alike cancels out. A gap hardly changed
where its size moved by less than `LEAST_SHARE` of the margin.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.compare.changes import (
    NO_RATIOS,
    OPEN,
    UNTESTED,
    Change,
    Changes,
    NoWord,
    ValueChange,
    decide_changes,
    find_reasons,
    value_changes,
)
from fairbench_cli.audit.compare.number_estimates import (
    ABSOLUTE_ERROR,
    OUTCOME,
    RESIDUAL,
    NumbersOfGroups,
    compare_mean,
    find_reference,
    mean_by_group,
    variables_of,
)
from fairbench_cli.audit.compare.numbers import margin_of
from fairbench_cli.audit.compare.references import Bools
from fairbench_cli.audit.compare.report import ALL, Intervals, intervals
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.numbers import PairedNumbers
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.means import FEW_ROWS, FEWEST_UNSPLIT_ROWS, MeanInterval, row_shortage
from fairbench_cli.measures.paired_change import same_size_p

MEASURES = (OUTCOME, RESIDUAL, ABSOLUTE_ERROR)
LEAST_SHARE = 0.1  # of the margin: a gap whose size changed by less hardly changed


def estimate_changes(pair: PairedNumbers, config: AuditConfig) -> Changes:
    """Return the changes of the differences of an attribute, each tested alone: nothing is decided yet.

    Groups that are left out, or not compared, have no change.
    """
    numbers = _pair_variables(pair, config)
    is_compared = numbers.are_compared(config)
    changes: list[Change] = []
    means: list[ValueChange] = []
    everybody = _merge_groups(numbers)
    for name in MEASURES:
        if name not in numbers.variables:
            continue
        changes += _compute_changes(pair, numbers, name, is_compared, config)
        means += _mean_changes(pair, everybody, name, config)
        means += _mean_changes(pair, numbers, name, config)
    return Changes(tuple(changes), mean_changes=tuple(means))


def find_changes(estimates: Sequence[Changes], deciding: Sequence[str], config: AuditConfig) -> Changes:
    """Return all changes with what is decided, adjusted for each other.

    Those of everybody are there once, by the rows of the first attribute.
    """
    changes: list[Change] = []
    means: dict[tuple[str, ...], ValueChange] = {}
    for of_attribute in estimates:
        changes += of_attribute.changes
        for row in of_attribute.value_changes:
            means.setdefault((row.before, row.after, row.attribute, row.group, row.metric), row)
    changes = [replace(row, deciding=row.metric in deciding) for row in changes]
    decided = decide_changes(changes, lambda row: row.least_change or 0.0, config.alpha)
    return Changes(tuple(decided), mean_changes=tuple(means.values()))


def _name(kind: str, measure: str) -> str:
    """Return the name of a variable of pairs among those of the second model."""
    return f"{measure} {kind}"


def _pair_variables(pair: PairedNumbers, config: AuditConfig) -> NumbersOfGroups:
    """Return the rows under the second model, with what they were under the first, and how they changed."""
    stays = ~references.excluded(pair.after.part, config)
    group_counts = references.without_groups(pair.after.part, ~stays)
    after = pair.after.cells.select_groups(stays)
    is_probability = config.outcome == "probability"
    before_variables = variables_of(pair.before.cells.select_groups(stays), is_probability)
    after_variables = variables_of(after, is_probability)
    variables = {}
    for name in MEASURES:
        if name not in after_variables:
            continue
        before_values = before_variables[name]
        after_values = after_variables[name]
        variables[_name("before", name)] = before_values
        variables[_name("change", name)] = after_values - before_values
        variables[_name("total", name)] = before_values + after_values
    reference, _ = find_reference(group_counts, after, config)
    return NumbersOfGroups(group_counts, after, reference, variables, is_probability)


def _merge_groups(numbers: NumbersOfGroups) -> NumbersOfGroups:
    """Return everybody as one group."""
    group_counts = numbers.part
    one_group = replace(
        group_counts.with_cells(group_counts.cells.sum(1, keepdims=True), (ALL,), attribute=ALL),
        clusters=None,
        other_clusters=(),
    )
    cells = replace(numbers.cells, group=np.zeros_like(numbers.cells.group))
    return replace(numbers, part=one_group, cells=cells, reference=0)


def _compute_changes(
    pair: PairedNumbers, numbers: NumbersOfGroups, name: str, is_compared: Bools, config: AuditConfig
) -> Iterator[Change]:
    """Yield the change of one measure for each group that is compared."""
    group_counts = numbers.part
    groups = group_counts.counts.groups
    margins = margin_of(name, numbers, config).in_units(numbers.of_reference(numbers.moments[name]))
    difference = {"after": compare_mean(numbers, name, config.confidence).difference}
    for kind in ("before", "change", "total"):
        difference[kind] = compare_mean(numbers, _name(kind, name), config.confidence).difference
    change = difference["change"]
    p = _test_sizes(change, difference["total"])
    reasons = _find_reasons(numbers, name, change, p, config)
    of_values = _to_intervals(mean_by_group(numbers, _name("change", name), config.confidence))
    by_kind = {kind: _to_intervals(estimate) for kind, estimate in difference.items()}
    before_means = numbers.moments[_name("before", name)].mean
    after_means = numbers.moments[name].mean
    for g in np.flatnonzero(is_compared).tolist():
        reason = reasons[g]
        yield Change(
            before=pair.before.part.model,
            after=group_counts.model,
            attribute=group_counts.attribute,
            group=groups[g],
            reference=numbers.reference_name,
            metric=name,
            value_before=float(before_means[g]),
            value_after=float(after_means[g]),
            value_change=of_values[g],
            difference_before=by_kind["before"][g],
            difference_after=by_kind["after"][g],
            difference_change=by_kind["change"][g],
            p=math.nan if reason in UNTESTED else float(p[g]),
            change_p=math.nan if reason in UNTESTED else float(change.p[g]),
            margin=float(margins[g]),
            least_change=LEAST_SHARE * float(margins[g]),
            reason=reason,
            deciding=False,
            **OPEN,
            **NO_RATIOS,
        )


def _to_intervals(estimate: MeanInterval) -> Intervals:
    return intervals(estimate.value, estimate.low, estimate.high)


def _test_sizes(change: MeanInterval, total: MeanInterval) -> Floats:
    """Return p-values of "both differences are equally far from 0".

    They are where after − before is 0, and where after + before is. By Student's t, or Hall's transformation
    of it where that says less.
    """
    by_t = same_size_p(
        change.value, change.error**2, total.value, total.error**2, (change.degrees, total.degrees)
    )
    return np.asarray(np.fmax(by_t, np.maximum(change.p, total.p)))


def _find_reasons(
    numbers: NumbersOfGroups, name: str, change: MeanInterval, p: Floats, config: AuditConfig
) -> list[NoWord]:
    """Return why each group's change is not decided, so far as it is known without the others."""
    moments = numbers.moments[_name("change", name)]
    reference_moments = numbers.of_reference(moments)
    shortage = row_shortage(moments, reference_moments, change.skewness, FEWEST_UNSPLIT_ROWS)
    is_few = shortage == FEW_ROWS
    nothing_moved = (moments.power_sum(1, 2) == 0) & (reference_moments.power_sum(1, 2) == 0)
    return find_reasons(~np.isfinite(change.value), nothing_moved, is_few, p, change.p, config.alpha)


def _mean_changes(
    pair: PairedNumbers, numbers: NumbersOfGroups, name: str, config: AuditConfig
) -> Iterator[ValueChange]:
    """Return how the mean of a measure changed in each group."""
    estimate = mean_by_group(numbers, _name("change", name), config.confidence)
    before = numbers.moments[_name("before", name)].mean[:, None]
    after = numbers.moments[name].mean[:, None]
    changes = _to_intervals(estimate)[:, None]
    place = pair.before.part.model, pair.after.part.model, numbers.part.attribute
    groups = numbers.part.counts.groups
    return value_changes(place, groups, [name], before, after, changes, estimate.p[:, None])
