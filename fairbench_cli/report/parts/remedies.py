"""In a run with worlds: what each bias costs and each technique gives back, by truth and record."""

from fairbench_cli.report.ledger.bias_cost import contrasts_of, remedies_of
from fairbench_cli.report.parts.part import RunPart

REMEDIES = RunPart(
    "remedies",
    wanted=lambda plan: plan.has_worlds,
    frames={"remedies": remedies_of, "recorded_true": contrasts_of},
    figures={
        "remedies": "report.show.figures.worlds:draw_remedies",
        "recorded-true": "report.show.figures.worlds:draw_recorded_true",
        "strength": "report.show.figures.worlds:draw_strength",
    },
)
