"""From a tally to a report: what every audit compares, then what its parts find. No file is read."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fairbench_cli.audit.compare import references
from fairbench_cli.audit.compare.compare_rates import compare_slices
from fairbench_cli.audit.compare.gate import decide_gate
from fairbench_cli.audit.compare.report import (
    AcceptedFailures,
    ClusteredDisparity,
    Gate,
    NumberComparison,
    Place,
    Report,
)
from fairbench_cli.audit.compare.verdict import (
    check_names,
    combine_verdicts,
    decide_attributes,
    deciding_names,
    requested_names,
)
from fairbench_cli.audit.config import AuditConfig, asks_for_change
from fairbench_cli.audit.parts import parts_of, requested_parts
from fairbench_cli.audit.parts.formatting import FEW_CLUSTERS, MARKED, format_degrees
from fairbench_cli.audit.scan.direction import check_direction
from fairbench_cli.audit.scan.scan import Scan
from fairbench_cli.audit.scan.slices import ALL_CLASSES, Slice, Tally, are_classes
from fairbench_cli.base.errors import Flag, user_error
from fairbench_cli.base.safe_text import format_count, join_names
from fairbench_cli.document.model import Verdict

MOST_FEW = 3  # tests that are as if of few clusters are named
EMPTY: Mapping[str, Any] = MappingProxyType({})


def read_parts(scan: Scan) -> dict[str, Any]:
    """Return the data that the parts of an audit need of the rows, by the keys of the parts."""
    return {audit_part.key: audit_part.read(scan) for audit_part in requested_parts(scan.config)}


def judge(
    tally: Tally,
    config: AuditConfig,
    seen: Mapping[str, Any] = EMPTY,
    baseline: AcceptedFailures | None = None,
) -> Report:
    """Audit counts.

    Parameters
    ----------
    tally : Tally
        What was counted.
    config : AuditConfig
        References, tau, limits, what decides; its columns and decisions are those of the tally already.
    seen : mapping
        What the parts have read, by their keys.
    baseline : AcceptedFailures, optional
        What failed in an earlier audit, which a gate accepts.

    Raises
    ------
    UserError
        For an unknown reference, a metric that needs labels or cannot decide, what cannot be explained, and
        slices in an order with two columns of clusters.
    """
    check_direction(config, tally.ones.values)
    config = references.name_groups(tally, config)
    references.check_references(tally, config)
    check_names(tally, config)
    config = references.with_chosen(seen.get("numbers", ()), tally, config)
    base = _compare_groups(tally, config)
    findings = {
        audit_part.key: audit_part.judge(seen.get(audit_part.key, ()), base)
        for audit_part in requested_parts(config)
    }
    return _add_verdicts(replace(base, found=findings, baseline=baseline))


def _compare_groups(tally: Tally, config: AuditConfig) -> Report:
    """Return the report before any part is judged."""
    deciding = deciding_names(tally, config)
    slices = [references.without_excluded_groups(group_counts, config) for group_counts in tally.slices]
    compared_by = config
    if tally.last:
        compared_by = references.common_references(slices, config)
    report = _select_comparison(tally, config)(
        tally.slices,
        deciding,
        config,
        compared_by,
        source=tally.source,
        rows=tally.rows,
        weighted=tally.weighted,
        last=_find_last(tally, config),
        ones=tally.ones,
    )
    notes = list(tally.notes)
    notes += _describe_rows(tally, config)
    notes += _describe_decisions(report)
    notes += _describe_groups(tally, config)
    notes += _describe_few_clusters(report)
    notes += _describe_balanced(tally, config)
    return replace(
        report,
        notes=tuple(dict.fromkeys(notes)),
        uncut=tally.uncut,
        birth_dates=tally.birth_dates,
        unused=tally.unused,
    )


def _find_last(tally: Tally, config: AuditConfig) -> str:
    """Return the model or slice that the verdict goes by; none of slices without an order.

    Raises
    ------
    UserError
        For a gate that asks what is worse than before, where nothing was before.
    """
    if config.sliced_by is None:
        return tally.last
    from fairbench_cli.audit.compare.slice_order import are_strata

    if not are_strata(tally.slices, config):
        return tally.last
    if any(map(asks_for_change, config.failing_metrics + config.warning_metrics)):
        problem = f"what is worse is worse than before, and the values of {config.slice_name} have no order"
        fix = "leave out worse, or name numbers or dates, such as 2024 or 2024-01"
        raise user_error(problem, fix, Flag("fail-on"))
    return ""


def _select_comparison(tally: Tally, config: AuditConfig) -> Callable[..., Report]:
    """Return the comparison of slices: of their rates, as looks at a stream where they have an order.

    Raises
    ------
    UserError
        For slices in an order and two columns of clusters, or in none and months.
    """
    compare: Callable[..., Report] = compare_slices
    is_stream = False
    if config.sliced_by is not None:
        from fairbench_cli.audit.compare.streams import are_stream, compare_stream

        is_stream = are_stream(tally.slices, config)
    if is_stream:
        compare = compare_stream
    if config.months and config.sliced_by is not None and not is_stream:
        problem = f"months has no effect: the values of {config.sliced_by} are in no order"
        raise user_error(problem, f"leave it out, or the cluster {config.sliced_by}", Flag("months"))
    if is_stream and config.cluster and len(config.cluster) > 1:
        problem = (
            "how often slices in an order raise false alarms is known of one column of clusters, not of two"
        )
        fix = ("name the one that matters most: ", Flag("cluster", config.cluster[0]))
        raise user_error(problem, fix, Flag("cluster"))
    if config.of_numbers:
        return _leave_to_parts
    return compare


def _leave_to_parts(
    slices: Sequence[Slice], deciding: Sequence[str], config: AuditConfig, _: AuditConfig, **extra: Any
) -> Report:
    """Return the report of numbers, which have no rates: parts compare them."""
    return Report(
        config=config,
        slices=tuple(slices),
        decided_by=tuple(deciding),
        overall=(),
        groups=(),
        disparities=(),
        family=0,
        **extra,
    )


def _add_verdicts(report: Report) -> Report:
    """Return a report with its verdicts and its gate, given what the parts found."""
    verdicts_of_parts: dict[Place, list[tuple[str, Verdict]]] = {}
    for audit_part, finding in parts_of(report):
        for key, name, verdict in audit_part.verdicts(finding):
            verdicts_of_parts.setdefault(key, []).append((name, verdict))
    numbers = find_judged_numbers(report)
    family = report.family or sum(row.deciding and not math.isnan(row.p_holm) for row in numbers)
    verdicts = decide_attributes(report, verdicts_of_parts)
    report = replace(report, verdicts=verdicts, judged_numbers=numbers, family=family)
    judged = () if report.without_verdict else report.judged
    verdict = combine_verdicts(row.verdict for row in judged)
    return replace(report, verdict=verdict, gate=judge_gate(report))


def find_judged_numbers(report: Report) -> tuple[NumberComparison, ...]:
    """Return the comparisons of numbers that the verdict and the gate go by, as the report has them."""
    all_slices = report.found.get("number_slices")
    if all_slices is not None and all_slices.is_stream:
        rows = [row for part in all_slices.together for row in part.comparisons]
        rows = [replace(row, model=all_slices.last_slice) for row in rows]
    else:
        rows = [row for part in report.found.get("numbers", ()) for row in part.comparisons]
    return tuple(row for row in rows if row.verdict is not None and report.last in ("", row.model))


def judge_gate(report: Report) -> Gate:
    """Return the decision of the gate of a report's configuration, given its verdicts."""
    changes = (audit_part.changes(finding) for audit_part, finding in parts_of(report))
    return decide_gate(report, next(filter(None, changes), ()))


def _describe_rows(tally: Tally, config: AuditConfig) -> Iterator[str]:
    """Yield what a reader should know of the rows: weights, models without any, one group."""
    if tally.weighted:
        yield "Counts are sums of weights; intervals and tests go by the rows that these are worth."
    for group_counts in tally.slices:
        of_model = _name_model(group_counts.model, config)
        if not group_counts.counts.total:
            yield f"All weights{of_model} are 0: there is nothing to compare."
        elif len(group_counts.counts.groups) == 1:
            yield f'Attribute "{group_counts.attribute}"{of_model} has one group only: nothing to compare.'


def _name_model(model: str, config: AuditConfig) -> str:
    """Return which model or slice a note is on, after a blank; empty where there is one."""
    if not model:
        return ""
    return f' of {config.slice_name or "model"} "{model}"'


def _describe_decisions(report: Report) -> Iterator[str]:
    """Yield what a reader should know of decisions and labels that are alike for everybody."""
    for row in report.overall:
        counts = row.counts
        rows = counts["size"]
        if row.decision == ALL_CLASSES or not rows:
            continue
        of_model = _name_model(row.model, report.config)
        if "tp" in counts:
            yield from _describe_labels(counts, of_model, report.config)
        if math.isclose(counts["pp"], 0) or math.isclose(counts["pp"], rows):
            who, why = "Everybody", "; a file of those selected cannot show who was not"
            if math.isclose(counts["pp"], 0):
                who, why = "Nobody", ""
            yield f"{who} is selected by decision {row.decision}{of_model}: there is nothing to compare{why}."


def _describe_labels(counts: Mapping[str, float], of_model: str, config: AuditConfig) -> Iterator[str]:
    """Yield that all labels are alike, and that no decision differs from its label."""
    if not (counts["label_pos"] and counts["label_neg"]):
        label = int(counts["label_pos"] > 0)
        yield f"Everybody{of_model} has the label {label}: rates of those with {1 - label} have no rows."
    if not counts["fp"] + counts["fn"]:
        note = f"Nobody{of_model} is wrongly decided on: each decision is its label."
        if not config.margin:
            note += (
                " How rates of 0 compare as a ratio is not known, however many rows there are; how they "
                f"differ is, with {Flag('margin', 0.05).spell()}."
            )
        yield note


def _describe_balanced(tally: Tally, config: AuditConfig) -> list[str]:
    """Return a note on balanced accuracies, where several classes are audited."""
    names = [name for name in requested_names(config) if name.startswith("bcr")]
    if not names or not are_classes(tally.slices):
        return []
    return [
        f"{join_names(names)}: of each class against the rest, the mean of its true positive and negative "
        "rate; of all classes together it would be the mean of their true positive rates, which tpr shows."
    ]


def _describe_few_clusters(report: Report) -> list[str]:
    """Return a note on the tests that are as if of few clusters, though there may be many."""
    rows = [row for row in report.disparities if isinstance(row, ClusteredDisparity) and row.deciding]
    few = [row for row in rows if row.degrees < FEW_CLUSTERS]
    if not few:
        return []
    names = " and ".join(report.config.cluster or ())
    tests = [f"{row.metric} of {row.group} ({format_degrees(row.degrees)})" for row in few]
    return [
        f"Tests as if of fewer than {FEW_CLUSTERS} independent values of {names}: "
        f"{join_names(list(dict.fromkeys(tests)), MOST_FEW)}."
    ]


def _describe_groups(tally: Tally, config: AuditConfig) -> list[str]:
    """Return notes on groups that are left out, not compared, or small."""
    out = []
    not_compared = []
    weak = []
    small = []
    for group_counts in tally.slices:
        gone = references.excluded(group_counts, config)
        may = references.comparable(group_counts, config)
        reference = references.usual_reference(group_counts, config)
        for g, group in enumerate(group_counts.counts.groups):
            called = f"{group} ({group_counts.attribute})"
            rows = int(group_counts.rows[g])
            if gone[g]:
                out.append(f"{called}, {format_count(rows, 'row')}")
                continue
            if rows < config.min_group:
                small.append(called)
            if not may[g]:
                not_compared.append(called)
            elif g == reference and rows < config.min_group and len(may) > 1:
                weak.append(called)
    notes = {
        "Left out": out,
        f"Under {100 * config.min_share:g} % of the rows, shown and not compared": not_compared,
        f"The reference has fewer than {config.min_group} rows": weak,
        f"{MARKED}: fewer than {config.min_group} rows, read with care": small,
    }
    return [f"{text}: {join_names(list(dict.fromkeys(names)))}." for text, names in notes.items() if names]
