"""What needs no training, and which techniques are below it."""

from fairbench_cli.report.ledger.baselines import baseline_distance_frame, baselines_frame
from fairbench_cli.report.parts.part import RunPart

BASELINES = RunPart(
    "baselines", frames={"baselines": baselines_frame, "baselines_distance": baseline_distance_frame}
)
