"""An audit in a few lines of JSON, for programs that decide what comes next: verdict, counts, what fails."""

from collections import Counter
from typing import Any

from fairbench_cli.audit.compare.report import Report
from fairbench_cli.audit.parts.writing import flat
from fairbench_cli.audit.show.document import source_name
from fairbench_cli.audit.show.headline import headline
from fairbench_cli.audit.show.tables import json_text

FORMAT = 1
"""Keys may be added without a new number; none goes, and none changes its meaning."""

COLUMNS = (
    *("model", "decision", "attribute", "group", "reference", "metric", "value", "reference_value"),
    *("ratio", "ratio_low", "ratio_high", "difference", "tau", "p_holm", "shown_outside"),
)
"""Of a comparison that fails."""


def to_ci(report: Report) -> str:
    """Return a small JSON document; the same audit gives the same bytes.

    Of models or slices that are compared it is about the last, as the verdict and the gate are.
    """
    deciding = [row for row in report.disparities if row.deciding and report.last in ("", row.model)]
    deciding = [] if report.without_verdict else deciding
    counts = Counter(row.verdict for row in deciding)
    comparisons = {verdict: counts[verdict] for verdict in ("fail", "pass", "undecided")}
    judged = () if report.without_verdict else report.judged
    found: dict[str, Any] = {
        "format": FORMAT,
        "verdict": None if report.without_verdict else report.verdict,
        "headline": headline(report).sentence,
        "title": report.config.title,
        "source": source_name(report),
        "rows": report.rows,
        "gate": {"stops": report.gate.stops, "reason": report.gate.reason},
        "exit_code": int(report.gate.stops),
        "comparisons": None if report.without_verdict else comparisons,
        "attributes": [
            {
                "model": row.model,
                "decision": row.decision,
                "attribute": row.attribute,
                "verdict": row.verdict,
                "failing": [name for name in report.deciding if row.by_metric.get(name) == "fail"],
            }
            for row in judged
        ],
        "failing": [
            {name: cells[name] for name in COLUMNS}
            for cells in (flat(row) for row in deciding if row.verdict == "fail")
        ],
    }
    return json_text(found)
