"""An audit as one JSON document."""

import json
import math
from dataclasses import is_dataclass
from typing import Any

from fairbench_cli.audit.judge.report import Report
from fairbench_cli.audit.show.layout import headline, source_name

FORMAT = 2


def document(report: Report) -> dict[str, Any]:
    """Return the audit as plain data: NaN becomes None, an infinite ratio the text "inf"."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "verdict": report.verdict,
        "summary": headline(report),
        "source": source_name(report),
        "rows": report.rows,
        "weighted": report.weighted,
        "config": report.config.resolved(),
        "metrics": report.decided_by,
    }
    found |= {
        name: getattr(report, name) for name in ("overall", "groups", "disparities", "verdicts", "notes")
    }
    if report.requested:
        found["requested"] = report.requested
    if report.config.explained_by:
        found["explanations"] = report.explanations
    return {key: _plain(value) for key, value in found.items()}


def to_json(report: Report) -> str:
    """Write the document; the same audit gives the same bytes."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
