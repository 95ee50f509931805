"""Every number of every technique that the answer and the page have."""

from fairbench_cli.report.ledger.findings import findings_frame
from fairbench_cli.report.parts.part import RunPart

FINDINGS = RunPart("findings", frames={"findings": findings_frame})
