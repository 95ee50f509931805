"""What Friedler et al. (2019) look at, as parts of the report of any run whose config asks for it."""

from fairbench_cli.papers.friedler_analyses import (
    clusters_frame,
    combined_table,
    correlations_frame,
    metric_pairs_frame,
    overview_table,
    pairs_frame,
    representations_frame,
    stability_frame,
)
from fairbench_cli.report.parts.part import RunPart

PARTS = (
    RunPart(
        "correlations",
        applies=lambda plan: "correlations" in plan.config.figures,
        frames={
            "correlations": correlations_frame,
            "correlation_pairs": pairs_frame,
            "correlation_clusters": clusters_frame,
        },
        figures={"correlations": "papers.friedler_figures:draw_correlations"},
    ),
    RunPart(
        "metric-pairs",
        applies=lambda plan: "metric-pairs" in plan.config.figures,
        frames={"metric_pairs": metric_pairs_frame},
        figures={"metric-pairs": "papers.friedler_figures:draw_metric_pairs"},
    ),
    RunPart(
        "stability",
        applies=lambda plan: "stability" in plan.config.figures,
        frames={"stability": stability_frame},
        figures={"stability": "papers.friedler_figures:draw_stability"},
    ),
    RunPart(
        "representations",
        applies=lambda plan: "representations" in plan.config.figures,
        frames={"representations": representations_frame},
        figures={"representations": "papers.friedler_figures:draw_representations"},
    ),
    RunPart(
        "combined-attributes",
        tables={"combined-attributes": combined_table},
        figures={"combined-attributes": "papers.friedler_figures:draw_combined"},
    ),
    RunPart(
        "overview",
        tables={"overview": overview_table},
        figures={"overview": "papers.friedler_figures:draw_overview"},
    ),
)
