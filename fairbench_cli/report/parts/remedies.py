"""In a run with worlds: what each bias costs and each technique gives back, by truth and record."""

from fairbench_cli.report.ledger.bias_cost import bias_cost_frame, contrast_frame
from fairbench_cli.report.parts.part import RunPart

REMEDIES = RunPart(
    "remedies",
    applies=lambda plan: plan.has_worlds,
    frames={"remedies": bias_cost_frame, "recorded_true": contrast_frame},
)
