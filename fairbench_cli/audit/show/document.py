"""An audit as one JSON document."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.layout import headline, source_name

FORMAT = 2


def document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    config = report.config

    def plain(rows: Sequence[Any]) -> list[Any]:
        return [_finite(asdict(row)) for row in rows]

    return {
        "format": FORMAT,
        "verdict": report.verdict,
        "summary": headline(report),
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": _finite(config.resolved()),
        "metrics": list(report.decided_by),
        "overall": plain(report.overall),
        "groups": plain(report.groups),
        "disparities": plain(report.disparities),
        "verdicts": plain(report.verdicts),
        "notes": list(report.notes),
        **({"requested": plain(report.requested)} if report.requested else {}),
        **({"explanations": plain(report.explanations)} if config.explained_by else {}),
    }


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Return a value without NaN and infinity, and tuples as lists."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return float(value) if isinstance(value, float) else value
