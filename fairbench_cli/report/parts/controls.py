"""A run's own error: models that differ by chance alone, and a planted change."""

from fairbench_cli.report.ledger.controls import run_controls_frame
from fairbench_cli.report.parts.part import RunPart

CONTROLS = RunPart(
    "controls",
    applies=lambda plan: bool(plan.config.controls),
    frames={"controls": run_controls_frame},
)
