"""What needs no training, and which techniques are below it."""

from fairbench_cli.report.ledger.baselines import baselines_frame, distances_of
from fairbench_cli.report.parts.part import RunPart

BASELINES = RunPart("baselines", frames={"baselines": baselines_frame, "baselines_distance": distances_of})
