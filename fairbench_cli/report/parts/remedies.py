"""In a run with worlds: what each bias costs and each technique gives back, by truth and record."""

from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.remedies import contrasts_of, remedies_of

REMEDIES = RunPart(
    "remedies",
    wanted=lambda plan: plan.has_worlds,
    frames={"remedies": remedies_of, "recorded_true": contrasts_of},
    figures={
        "remedies": "report.figures.worlds:draw_remedies",
        "recorded-true": "report.figures.worlds:draw_recorded_true",
        "strength": "report.figures.worlds:draw_strength",
    },
)
