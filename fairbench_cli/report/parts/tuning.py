"""Where parameters are tuned: what every candidate reached, and what choosing gained."""

from fairbench_cli.report.ledger.tuning import curves_frame, gains_frame, tuning_table
from fairbench_cli.report.parts.part import RunPart

TUNING = RunPart(
    "tuning",
    wanted=lambda plan: bool(plan.config.tuned_for),
    frames={"tuning": curves_frame, "tuning_gain": gains_frame},
    tables={"tuning": tuning_table},
    figures={"tuning": "report.show.figures.curves:draw_tuning"},
)
