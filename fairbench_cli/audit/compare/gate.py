"""Whether an audit stops what it is a step of: what a gate looks at, and what it does.

A gate looks at the verdict on each attribute (``--fail``), or at what it names: a metric, one of an
attribute, or an attribute, which is everything that decides on it. It stops where something fails, and where
nothing could be compared; what is not decided it names. What a baseline has neither stops nor warns. What is
worse than before goes by the metrics that are named, or by the one that leads the answer: where the gaps of
some rates close, those of others open by arithmetic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from fairbench_cli.audit import metrics
from fairbench_cli.audit.compare.report import WHOLE_DECISION, AttributeVerdict, Comparison, Gate, Report
from fairbench_cli.audit.config import UNDECIDED, find_verdict_names, split_gate_names, split_worse
from fairbench_cli.audit.options import DEFAULTS
from fairbench_cli.audit.scan.slices import ALL_CLASSES
from fairbench_cli.base.safe_text import join_names
from fairbench_cli.document.model import Verdict

Severity = Literal["error", "warning", "note"]
MOST_NAMES = 3  # of comparisons that a baseline does not have, or that are worse
NO_COMPARISON = {"no rows": "a rate is 0 or has no rows", "constant": "everybody has the same value"}
"""Why a comparison cannot be made, however many rows there were of the kind that there are."""


@dataclass(frozen=True)
class Watched:
    """A verdict that a gate looks at.

    Parameters
    ----------
    name : str
        "race", "race:fpr" or, of slices without an order, "race in region north".
    verdict : {"pass", "fail", "undecided"}
        Without the failures that a baseline has.
    failing, accepted : tuple of Comparison
        The comparisons that fail and are not in the baseline, and those that are. Metrics that are no rates
        have none.
    obstacle : str
        Why no comparison could be made; empty where one could.
    """

    name: str
    verdict: Verdict
    failing: tuple[Comparison, ...] = ()
    accepted: tuple[Comparison, ...] = ()
    obstacle: str = ""


def decide_gate(report: Report, changes: Sequence[Any]) -> Gate:
    """Return whether to stop, and what to warn of: where something fails, or nothing could be compared.

    With "undecided" among what a gate names, whatever does not pass stops, or is warned of; with "worse" what
    is worse by `changes`, each a `Change`.
    """
    config = report.config
    stopping = find_watched(report, config.failing_metrics, all_attributes=config.fail)
    warning = find_watched(report, config.warning_metrics)
    accepted: set[tuple[object, ...]] = set()
    for watched in stopping + warning:
        accepted.update((row.place, row.group, row.metric) for row in watched.accepted)
    reason = _find_reason(stopping, config.failing_metrics, report, changes)
    return Gate(
        stops=bool(reason),
        reason=reason,
        warning=_find_reason(warning, config.warning_metrics, report, changes),
        accepted=len(accepted),
        undecided=_undecided_names(stopping),
    )


def find_watched(report: Report, texts: Sequence[str], *, all_attributes: bool = False) -> list[Watched]:
    """Return the verdicts that a gate looks at, given what it names; empty where it looks at none."""
    pairs = _pairs_of_verdicts(texts, all_attributes)
    verdicts = []
    for attribute, name in pairs:
        metric = name and metrics.canonical(name)
        for row in _looked_at(metric, report):
            if attribute in ("", row.attribute):
                verdicts.append(_watch(row, metric, report))
    if pairs and not verdicts:
        return [Watched("the file", "undecided", obstacle="no groups")]
    return verdicts


def _pairs_of_verdicts(texts: Sequence[str], all_attributes: bool) -> Sequence[tuple[str, str]]:
    """Return the attributes and metrics whose verdicts a gate looks at, ("", "") for all."""
    names = find_verdict_names(texts)
    if not (all_attributes or names):
        return ()
    return split_gate_names(names) or (("", ""),)


def _looked_at(metric: str, report: Report) -> Iterator[AttributeVerdict]:
    """Yield the verdicts that a gate looks at: those that decide, or those which a metric is of."""
    if not metric:
        yield from report.judged
        return
    rows = [row for row in report.verdicts if report.last in ("", row.model)]
    together = [row for row in rows if row.decision in (WHOLE_DECISION, ALL_CLASSES)]  # of all classes
    of_metric = [row for row in together if metric in row.by_metric]
    yield from of_metric or (row for row in rows if row not in together)


def find_severity(row: Comparison, report: Report) -> Severity:
    """Return whether a comparison that does not pass stops, is warned of, or neither.

    Where there is no gate, what fails is an error. What a gate looks at and lets pass undecided is a warning.
    """
    config = report.config
    fails = row.verdict == "fail"
    if not (config.has_gate or config.warning_metrics):
        return "error" if fails else "note"
    if row.verdict == "pass" or (fails and _is_accepted(row, report)):
        return "note"
    is_looked_at = _concerns(row, report, config.failing_metrics, all_attributes=config.fail)
    if is_looked_at and (fails or UNDECIDED in config.failing_metrics):
        return "error"
    is_enough = fails or UNDECIDED in config.warning_metrics
    is_warned_of = is_enough and _concerns(row, report, config.warning_metrics)
    return "warning" if is_looked_at or is_warned_of else "note"


def _concerns(row: Comparison, report: Report, texts: Sequence[str], *, all_attributes: bool = False) -> bool:
    """Return whether a gate that names these looks at a comparison."""
    return any(
        attribute in ("", row.attribute) and row.metric in _metrics_behind(name, report)
        for attribute, name in _pairs_of_verdicts(texts, all_attributes)
    )


def _metrics_behind(name: str, report: Report) -> tuple[str, ...]:
    """Return the rates, or measures of numbers, that a verdict is of; of an attribute all that decide."""
    if not name:
        return report.deciding_metrics
    metric = metrics.canonical(name)
    return metrics.ROLL_UPS.get(metric, (metric,))


def _watch(row: AttributeVerdict, metric: str, report: Report) -> Watched:
    """Return the verdict on an attribute, or on a metric of it."""
    name = f"{row.attribute}:{metric}".removesuffix(":")
    if report.of_strata:
        name += f" in {report.config.slice_name} {row.model}"
    verdict = row.by_metric.get(metric, "undecided") if metric else row.verdict
    names = _metrics_behind(metric, report)
    compared = [pair for pair in _comparisons_at(row, report) if pair.metric in names]
    failing = [pair for pair in compared if pair.verdict == "fail"]
    accepted = [pair for pair in failing if _is_accepted(pair, report)]
    if failing and len(accepted) == len(failing):
        verdict = "undecided" if any(pair.verdict == "undecided" for pair in compared) else "pass"
    obstacle = ""
    if verdict == "undecided":
        obstacle = _find_obstacle(compared or _comparisons_at(row, report))
    not_accepted = tuple(pair for pair in failing if pair not in accepted)
    return Watched(name, verdict, not_accepted, tuple(accepted), obstacle)


def _find_obstacle(compared: Sequence[Any]) -> str:
    """Return why none of these could be compared; empty where one could."""
    reasons = {row.reason for row in compared}
    if reasons - set(NO_COMPARISON):
        return ""
    return next((text for reason, text in NO_COMPARISON.items() if reason in reasons), "no two groups")


def _is_accepted(row: Comparison, report: Report) -> bool:
    """Return whether a baseline has a failing comparison."""
    if report.baseline is None:
        return False
    from fairbench_cli.audit.compare.baseline import is_accepted

    return is_accepted(row, report)


def _comparisons_at(verdict: AttributeVerdict, report: Report) -> list[Comparison]:
    """Return the comparisons that a verdict is of, of rates or of numbers, without the reference itself."""
    table = report.whole_table_at(verdict)
    if table is not None:
        return [table]
    rates = (pair for pair in report.comparisons_at(verdict.place) if not pair.is_reference)
    return list(chain(rates, (pair for pair in report.judged_numbers if pair.place == verdict.place)))


def _find_reason(
    watched: Sequence[Watched], texts: Sequence[str], report: Report, changes: Sequence[Any]
) -> str:
    """Return why to stop, or to warn, given what is looked at: all reasons; empty where there is none."""
    reasons = []
    failing = [row for row in watched if row.verdict == "fail"]
    if failing:
        reasons.append(_describe_failing(failing, report))
    undecided = _undecided_names(watched)
    if watched and all(row.obstacle for row in watched):
        places = dict.fromkeys(f"{row.name} ({row.obstacle})" for row in watched)
        reasons.append(f"nothing to compare in {join_names(list(places), MOST_NAMES)}")
    elif undecided and UNDECIDED in texts:
        reasons.append(describe_undecided(undecided))
    return "; ".join(filter(None, (*reasons, _describe_worse(texts, report, changes))))


def _undecided_names(watched: Sequence[Watched]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for row in watched if row.verdict == "undecided"))


def describe_undecided(names: Sequence[str]) -> str:
    """Return a clause that names these.

    >>> describe_undecided(["race"]), describe_undecided(["race", "sex:fpr"])
    ('race is not decided', 'race, sex:fpr are not decided')
    """
    verb = "is" if len(names) == 1 else "are"
    return f"{join_names(names, MOST_NAMES)} {verb} not decided"


def metrics_of_worse(name: str, report: Report) -> tuple[str, ...]:
    """Return the metrics that "worse" goes by: the one named beside it, those named, or what leads."""
    config = report.config
    names = [metric for metric in config.metrics if metrics.kind(metric) != "counts"]
    if name:
        names = [name]
    elif not names or list(config.metrics) == DEFAULTS.get(config.preset or "", {}).get("metric"):
        # Of numbers with labels that of errors: means differ where the truth does.
        errors = [name for name in report.decided_by if name in metrics.DEFAULT_OF_NUMBERS[1:]]
        return tuple(errors or report.deciding_metrics)[:1]
    return tuple(chain.from_iterable(_metrics_behind(metric, report) for metric in names))


def names_of_worse(report: Report) -> tuple[str, ...]:
    """Return the names of the gaps of which a gate asks whether they are worse: "fnr", "race:fnr"."""
    names = []
    for attribute, name in split_worse(report.config.failing_metrics):
        names += [f"{attribute}:{metric}".lstrip(":") for metric in metrics_of_worse(name, report)]
    return tuple(dict.fromkeys(names))


def _describe_worse(texts: Sequence[str], report: Report, changes: Sequence[Any]) -> str:
    """Return the gaps asked for that are worse at last, and how many are better; empty if none is worse."""
    pairs = [(attribute, metrics_of_worse(name, report)) for attribute, name in split_worse(texts)]
    rows = []
    for row in changes:
        is_asked = any(attribute in ("", row.attribute) and row.metric in names for attribute, names in pairs)
        if is_asked and row.after == report.last:
            rows.append(row)
    if pairs and all(row.reason == "no rows" for row in rows):
        obstacle = NO_COMPARISON["no rows"] if rows else "no two groups, or nothing before"
        return f"nothing to compare of what became worse ({obstacle})"
    worse = [f"{row.attribute}:{row.metric} of {row.group}" for row in rows if row.word == "worse"]
    n_better = sum(row.word == "better" for row in rows)
    if not worse:
        return ""
    tally = f"better in {n_better}, worse in {len(worse)}: " if n_better else ""
    return f"worse than {rows[0].before}: {tally}{join_names(worse, MOST_NAMES)}"


def _describe_failing(failing: Sequence[Watched], report: Report) -> str:
    """Return the names of failures: "race:fpr, sex fail"; by its comparisons where a baseline has others."""
    names = dict.fromkeys(row.name for row in failing)
    if report.baseline is not None:
        rows = chain.from_iterable(watched.failing for watched in failing)
        names = dict.fromkeys(f"{row.attribute}:{row.metric} of {row.group}" for row in rows)
    verb = "fails" if len(names) == 1 else "fail"
    if report.baseline is None:
        return f"{', '.join(names)} {verb}"
    return f"{join_names(list(names), MOST_NAMES)} {verb}, and worse than in {report.baseline.file}"
