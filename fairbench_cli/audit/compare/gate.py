"""Whether an audit stops what it is a step of: what a gate looks at, and what it does.

A gate looks at the verdict on each attribute (``--fail``), or at what it names: a metric, one of an
attribute, or an attribute, which is everything that decides on it. What a baseline has neither stops nor
warns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairbench_cli.audit import metrics
from fairbench_cli.audit.compare.report import WHOLE_DECISION, AttributeVerdict, Comparison, Gate, Report
from fairbench_cli.audit.compare.verdict import combine_verdicts
from fairbench_cli.audit.config import UNDECIDED, WORSE, split_gate_names
from fairbench_cli.audit.scan.slices import ALL_CLASSES
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import Verdict

Severity = Literal["error", "warning", "note"]
MOST_NAMES = 3  # of comparisons that a baseline does not have


@dataclass(frozen=True)
class Watched:
    """A verdict that a gate looks at.

    Parameters
    ----------
    name : str
        "race" or "race:fpr".
    verdict : {"pass", "fail", "undecided"}
        Without the failures that a baseline has.
    failing, accepted : tuple of Comparison
        The comparisons that fail and are not in the baseline, and those that are. Metrics that are no rates
        have none.
    """

    name: str
    verdict: Verdict
    failing: tuple[Comparison, ...] = ()
    accepted: tuple[Comparison, ...] = ()


def decide_gate(report: Report, worse: str) -> Gate:
    """Return whether to stop, and what to warn of: where something fails, or nothing at all could be decided.

    With "undecided" among what a gate names, whatever does not pass stops, or is warned of. `worse` says what
    is worse than it was; empty where nothing is.
    """
    config = report.config
    stopping = find_watched(report, config.failing_metrics, all_attributes=config.fail)
    warning = find_watched(report, config.warning_metrics)
    reason = _find_reason(stopping, config.failing_metrics, report, worse)
    accepted: set[tuple[object, ...]] = set()
    for watched in stopping + warning:
        accepted.update((row.place, row.group, row.metric) for row in watched.accepted)
    return Gate(
        stops=bool(reason),
        reason=reason,
        warning=_find_reason(warning, config.warning_metrics, report, worse),
        accepted=len(accepted),
    )


def find_watched(report: Report, texts: Sequence[str], *, all_attributes: bool = False) -> list[Watched]:
    """Return the verdicts that a gate looks at, given what it names; empty where it looks at none."""
    if not (all_attributes or set(texts) - {WORSE}):
        return []
    pairs = split_gate_names(texts) or (("", ""),)
    verdicts = []
    for attribute, name in pairs:
        metric = name and metrics.canonical(name)
        for row in _looked_at(metric, report):
            if attribute in ("", row.attribute):
                verdicts.append(_watch(row, metric, report))
    return verdicts


def _looked_at(metric: str, report: Report) -> Iterator[AttributeVerdict]:
    """Yield the verdicts that a gate looks at: those that decide, or those which a metric is of."""
    if not metric:
        yield from report.judged
        return
    rows = [row for row in report.verdicts if report.last in ("", row.model)]
    together = [row for row in rows if row.decision in (WHOLE_DECISION, ALL_CLASSES)]  # of all classes
    of_metric = [row for row in together if metric in row.by_metric]
    yield from of_metric or (row for row in rows if row not in together)


def find_undecided(report: Report) -> list[str]:
    """Return the names that a gate looks at, lets pass undecided, and would stop for if asked to."""
    config = report.config
    if UNDECIDED in config.failing_metrics:
        return []
    watched = find_watched(report, config.failing_metrics, all_attributes=config.fail)
    return list(dict.fromkeys(row.name for row in watched if row.verdict == "undecided"))


def find_severity(row: Comparison, report: Report) -> Severity:
    """Return whether a comparison that does not pass stops, is warned of, or neither.

    Where there is no gate, what fails is an error.
    """
    config = report.config
    if not (config.has_gate or config.warning_metrics):
        return "error" if row.verdict == "fail" else "note"
    if _is_accepted(row, report):
        return "note"
    if _concerns(row, report, config.failing_metrics, all_attributes=config.fail):
        return "error"
    if _concerns(row, report, config.warning_metrics):
        return "warning"
    return "note"


def _concerns(
    row: Comparison,
    report: Report,
    texts: Sequence[str],
    *,
    all_attributes: bool = False,
) -> bool:
    """Return whether a gate that names these stops, or warns, because a comparison does not pass."""
    if row.verdict == "pass" or (row.verdict == "undecided" and UNDECIDED not in texts):
        return False
    if not (all_attributes or set(texts) - {WORSE}):
        return False
    for attribute, name in split_gate_names(texts) or (("", ""),):
        if attribute in ("", row.attribute) and row.metric in _metrics_behind(name, report):
            return True
    return False


def _metrics_behind(name: str, report: Report) -> tuple[str, ...]:
    """Return the rates, or measures of numbers, that a verdict is of; of an attribute all that decide."""
    if not name:
        return report.decided_by if report.of_numbers else (*report.deciding, metrics.WHOLE_TABLE)
    metric = metrics.canonical(name)
    return metrics.ROLL_UPS.get(metric, (metric,))


def _watch(row: AttributeVerdict, metric: str, report: Report) -> Watched:
    """Return the verdict on an attribute, or on a metric of it."""
    if metric:
        name = f"{row.attribute}:{metric}"
        verdict = row.by_metric.get(metric, "undecided")
    else:
        name = row.attribute
        verdict = row.verdict
    names = _metrics_behind(metric, report)
    compared = [pair for pair in _comparisons_at(row, report) if pair.metric in names]
    failing = [pair for pair in compared if pair.verdict == "fail"]
    accepted = [pair for pair in failing if _is_accepted(pair, report)]
    if failing and len(accepted) == len(failing):
        verdict = combine_verdicts(_accept(pair) for pair in compared)
    return Watched(name, verdict, tuple(pair for pair in failing if pair not in accepted), tuple(accepted))


def _is_accepted(row: Comparison, report: Report) -> bool:
    """Return whether a baseline has a failing comparison."""
    if report.baseline is None:
        return False
    from fairbench_cli.audit.compare.baseline import is_accepted

    return is_accepted(row, report)


def _accept(row: Comparison) -> Verdict:
    """Return a verdict as if no failure were one."""
    if row.verdict in (None, "fail"):
        return "pass"
    return row.verdict


def _comparisons_at(verdict: AttributeVerdict, report: Report) -> list[Comparison]:
    """Return the comparisons that a verdict is of, of rates or of numbers, without the reference itself."""
    table = report.whole_table_at(verdict)
    if table is not None:
        return [table]
    if not report.of_numbers:
        return [pair for pair in report.comparisons_at(verdict.place) if not pair.is_reference]
    return [pair for pair in report.judged_numbers if pair.place == verdict.place]


def _find_reason(watched: Sequence[Watched], texts: Sequence[str], report: Report, worse: str) -> str:
    """Return why to stop, or to warn, given the verdicts that are looked at; empty where there is no why."""
    if watched:
        combined = combine_verdicts(row.verdict for row in watched)
        if combined == "fail":
            return _describe_failing([row for row in watched if row.verdict == "fail"], report)
        if combined == "undecided" and UNDECIDED in texts:
            return "not everything passes"
        is_decided = any(row.verdict != "undecided" for row in report.deciding_comparisons)
        passes = any(row.verdict == "pass" for row in watched)
        if combined == "undecided" and not is_decided and not passes:
            return "nothing could be decided"
    if WORSE in texts:
        return worse
    return ""


def _describe_failing(failing: Sequence[Watched], report: Report) -> str:
    """Return the names of failures: "race:fpr, sex fail"; by its comparisons where a baseline has others."""
    names = list(dict.fromkeys(row.name for row in failing))
    verb = "fails" if len(names) == 1 else "fail"
    if report.baseline is None:
        return f"{', '.join(names)} {verb}"
    comparisons: dict[str, None] = {}
    for watched in failing:
        for row in watched.failing:
            comparisons[f"{row.attribute}:{row.metric} of {row.group}"] = None
    verb = "fails" if len(comparisons) == 1 else "fail"
    return f"{join_names(list(comparisons), MOST_NAMES)} {verb}, and worse than in {report.baseline.file}"
