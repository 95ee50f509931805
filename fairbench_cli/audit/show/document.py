"""An audit as one JSON document."""

import json
import math
from dataclasses import asdict
from typing import Any

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.judge.result import ByName, Disparity, GroupRow, Interval
from fairbench_cli.audit.show import words

FORMAT = 1


def document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    explained = {"explanations": [_finite(asdict(each)) for each in report.explanations]}
    named = {"by_name": [_by_name(row) for row in report.audit.by_name]} if report.audit.by_name else {}
    return {
        "format": FORMAT,
        "verdict": report.audit.verdict,
        "summary": words.headline(report),
        "source": words.source_name(report),
        "rows": report.audit.tally.rows,
        "weighted": report.audit.tally.weighted,
        "spec": report.audit.spec.resolved(),
        "measures": list(report.measures),
        "overall": [_group(row) for row in report.audit.overall],
        "groups": [_group(row) for row in report.audit.groups],
        "disparities": [_disparity(row) for row in report.audit.disparities],
        "verdicts": [_finite(asdict(row)) for row in report.audit.verdicts],
        "notes": [*report.audit.tally.notes, *report.audit.notes],
        **named,
        **(explained if report.ask else {}),
    }


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _group(row: GroupRow) -> dict[str, Any]:
    return {
        **_place(row),
        "rows": row.rows,
        "small": row.small,
        "counts": _finite(row.counts),
        "metrics": {name: _interval(of) for name, of in row.metrics.items()},
    }


def _disparity(row: Disparity) -> dict[str, Any]:
    return {
        **_place(row),
        "reference": row.reference,
        "measure": row.measure,
        "value": _finite(row.value),
        "reference_value": _finite(row.reference_value),
        "ratio": _interval(row.ratio),
        "difference": _interval(row.difference),
        "p": _finite(row.p),
        "p_holm": _finite(row.p_holm),
        "tau": row.tau,
        "parity": row.parity,
        "evidence": row.evidence,
        "is_reference": row.is_reference,
    }


def _by_name(row: ByName) -> dict[str, Any]:
    values = {name: _interval(of) for name, of in row.values.items()}
    return {**_place(row), "reference": row.reference, "values": values}


def _place(row: GroupRow | Disparity | ByName) -> dict[str, str]:
    return {"model": row.model, "decision": row.decision, "attribute": row.attribute, "group": row.group}


def _interval(of: Interval) -> dict[str, Any]:
    return {"value": _finite(of.value), "low": _finite(of.low), "high": _finite(of.high)}


def _finite(value: Any) -> Any:
    """Return a value without NaN and infinity, and tuples as lists."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return float(value) if isinstance(value, float) else value
