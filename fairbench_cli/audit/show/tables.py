"""An audit as data: one JSON document, and tidy tables of groups, comparisons and verdicts."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from fairbench_cli.audit.judge.report import ALL, Chance, FourFifths, Interval, Report
from fairbench_cli.audit.show.layout import source_name
from fairbench_cli.audit.show.words import headline
from fairbench_cli.base.text import escaped, inert, printable

FORMAT = 3
Value = str | float | int | bool | None
Row = dict[str, Value]


def group_rows(report: Report) -> Iterable[Row]:
    """Yield counts and metrics of every group, the overall rows first; counts have no interval."""
    for row in (*report.overall, *report.groups):
        place: Row = {"model": row.model, "decision": row.decision, "attribute": row.attribute}
        place |= {"group": row.group, "rows": row.rows, "small": row.small}
        counts = {name: Interval(value, math.nan, math.nan) for name, value in row.counts.items()}
        for name, of in (counts | row.metrics).items():
            yield {**place, "metric": name, **vars(of)}


def disparity_rows(report: Report) -> Iterable[Row]:
    """Yield every comparison; an interval takes three columns."""
    for row in report.disparities:
        yield _flat(vars(row))


def _flat(values: dict[str, Any]) -> Row:
    """Return fields with three for each interval, and none for pairs of counts."""
    found: Row = {}
    for name, value in values.items():
        if isinstance(value, Interval):
            found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif not isinstance(value, tuple):
            found[name] = value
    return found


def verdict_rows(report: Report) -> Iterable[Row]:
    """Yield the verdict of every attribute by metric and roll-up, then the one over all."""
    for row in report.verdicts:
        place: Row = {"model": row.model, "decision": row.decision, "attribute": row.attribute}
        for metric, verdict in row.by_metric.items():
            yield {**place, "metric": metric, "verdict": verdict}
    yield {"model": "", "decision": "", "attribute": ALL, "metric": ALL, "verdict": report.verdict}


def score_rows(report: Report) -> Iterable[Row]:
    """Yield each measure of the scores of every group, with its difference from the reference's."""
    for curves in report.curves:
        for row in curves.groups:
            place: Row = {"model": curves.model, "attribute": curves.attribute, "group": row.group}
            place |= {"reference": curves.reference, "rows": row.rows, "small": row.small}
            for measure, of in row.values.items():
                off = row.differences.get(measure, Interval(math.nan, math.nan, math.nan))
                ends: Row = {"difference_low": off.low, "difference_high": off.high}
                yield {**place, "measure": measure, **vars(of), "difference": off.value, **ends}


def calibration_rows(report: Report) -> Iterable[Row]:
    """Yield the share of label 1 in each range of scores, by group."""
    for curves in report.curves:
        for row in curves.groups:
            place: Row = {"model": curves.model, "attribute": curves.attribute, "group": row.group}
            for each in row.bins:
                ends: Row = {"lowest": each.low, "highest": each.high, "rows": each.rows}
                yield {**place, **ends, "mean_score": each.mean_score, **vars(each.rate)}


def threshold_rows(report: Report) -> Iterable[Row]:
    """Yield the verdict on every attribute at every threshold, a row a group with its selection rate."""
    for curves in report.curves:
        for row in curves.thresholds:
            place: Row = {"model": curves.model, "attribute": curves.attribute, "threshold": row.threshold}
            place |= {"decision": row.decision, "selected": row.selected, "verdict": row.verdict}
            failing = " ".join(row.failing)
            for group, rate in row.rates.items():
                yield {**place, "failing": failing, "group": group, "selection_rate": rate}


TABLES: dict[str, Callable[[Report], Iterable[Row]]] = {
    "groups": group_rows,
    "disparities": disparity_rows,
    "verdicts": verdict_rows,
}


def change_rows(report: Report) -> Iterable[Row]:
    """Yield what became of every disparity; an interval takes three columns."""
    for row in report.changes:
        yield _flat(vars(row))


def impact_rows(report: Report) -> Iterable[Row]:
    """Yield the impact ratio of every category, statistics, and what the rule of four fifths says."""
    nothing = Chance(Interval(math.nan, math.nan, math.nan), math.nan, math.nan, math.nan, "")
    for table in report.impact:
        for row in table.rows:
            chance, rule = row.chance or nothing, row.four_fifths
            found: Row = {"model": table.model, "decision": table.decision, "attribute": table.attribute}
            found |= {"category": row.group, "rows": row.rows, "selected": row.selected, "rate": row.rate}
            found |= {"impact_ratio": row.ratio, "highest": row.highest, "share": row.share}
            found |= {"left_out": row.left_out, "unknown": table.unknown}
            found |= {"ratio_low": chance.ratio.low, "ratio_high": chance.ratio.high, "z": chance.z}
            found |= {"p": chance.p, "p_holm": chance.p_holm, "test": chance.test}
            if report.config.preset == "eeoc":
                found |= {one.name: getattr(rule, one.name, None) for one in fields(FourFifths)}
            yield found


OPTIONAL: dict[str, Callable[[Report], Iterable[Row]]] = {  # where there are any
    "impact": impact_rows,
    "changes": change_rows,
    "scores": score_rows,
    "calibration": calibration_rows,
    "thresholds": threshold_rows,
}


def tables_of(report: Report) -> dict[str, Callable[[Report], Iterable[Row]]]:
    """Return the tables that a report has: where nothing passes or fails, those that say so are left out."""
    found = {name: make for name, make in TABLES.items() if name == "groups" or not report.without_verdict}
    return found | {name: make for name, make in OPTIONAL.items() if any(make(report))}


def to_csv(report: Report, table: str) -> str:
    """Write a table of `tables_of` as CSV."""
    rows = list((TABLES | OPTIONAL)[table](report))
    return csv_text(rows, rows[0], ("false", "true"))


def csv_text(rows: Iterable[Row], columns: Iterable[str], truth: tuple[str, str] = ("False", "True")) -> str:
    """Write columns of rows as CSV: shortest floats, `truth` for false and true, nothing for undefined.

    Texts that a spreadsheet would run get an apostrophe in front; control characters are replaced.
    """

    def text(cell: Value) -> Value:
        if isinstance(cell, bool):
            return truth[cell]
        if isinstance(cell, str):
            return inert(printable(cell, keep="\t\n"))
        return None if isinstance(cell, float) and math.isnan(cell) else cell

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([text(row[column]) for column in columns] for row in rows)
    return file.getvalue()


def document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "verdict": None if report.without_verdict else report.verdict,
        "headline": headline(report),
        "gate": report.gate,
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": report.config.resolved(),
        "metrics": report.decided_by,
        "family": report.family,
    }
    found |= {
        name: getattr(report, name) for name in ("overall", "groups", "disparities", "verdicts", "notes")
    }
    if report.without_verdict:
        del found["disparities"], found["verdicts"], found["metrics"]
    if report.impact:
        found["impact"] = report.impact
    if report.changes:
        found |= {"changes": report.changes, "rate_changes": report.rate_changes}
    if report.requested:
        found["requested"] = report.requested
    if report.curves:
        found["curves"] = report.curves
    if report.config.explained_by:
        found["explanations"] = report.explanations
    return {key: _plain(value) for key, value in found.items()}


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return escaped(json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def _plain(value: Any) -> Any:
    """Return a value without NaN and infinity; tuples become lists, data classes mappings."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return float(value) if isinstance(value, float) else value
