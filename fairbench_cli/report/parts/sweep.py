"""Every acceptance rate: what moving the thresholds of groups reaches, and which techniques are above."""

from fairbench_cli.report.ledger.frontier import distance_frame, frontier_frame, frontier_table
from fairbench_cli.report.ledger.results import sweep_frame
from fairbench_cli.report.parts.part import RunPart

SWEEP = RunPart(
    "sweep",
    wanted=lambda plan: plan.config.sweep is not None,
    frames={"sweep": sweep_frame, "frontier": frontier_frame, "frontier_distance": distance_frame},
    tables={"frontier": frontier_table},
    figures={
        "sweep": "report.show.figures.acceptance:draw_sweep",
        "frontier": "report.show.figures.fronts:draw_frontier",
    },
)
