"""What Friedler et al. (2019) look at, as parts of the report of any run whose config asks for it."""

from fairbench_cli.papers import friedler_analyses
from fairbench_cli.report.parts.part import RunPart

PARTS = (
    RunPart(
        "correlations",
        applies=lambda plan: "correlations" in plan.config.figures,
        frames={
            "correlations": friedler_analyses.correlations_frame,
            "correlation_pairs": friedler_analyses.pairs_frame,
            "correlation_clusters": friedler_analyses.clusters_frame,
        },
        figures={"correlations": "papers.friedler_figures:draw_correlations"},
    ),
    RunPart(
        "metric-pairs",
        applies=lambda plan: "metric-pairs" in plan.config.figures,
        frames={"metric_pairs": friedler_analyses.metric_pairs_frame},
        figures={"metric-pairs": "papers.friedler_figures:draw_metric_pairs"},
    ),
    RunPart(
        "stability",
        applies=lambda plan: "stability" in plan.config.figures,
        frames={"stability": friedler_analyses.stability_frame},
        figures={"stability": "papers.friedler_figures:draw_stability"},
    ),
    RunPart(
        "representations",
        applies=lambda plan: "representations" in plan.config.figures,
        frames={"representations": friedler_analyses.representations_frame},
        figures={"representations": "papers.friedler_figures:draw_representations"},
    ),
    RunPart(
        "combined-attributes",
        tables={"combined-attributes": friedler_analyses.combined_table},
        figures={"combined-attributes": "papers.friedler_figures:draw_combined"},
    ),
    RunPart(
        "overview",
        tables={"overview": friedler_analyses.overview_table},
        figures={"overview": "papers.friedler_figures:draw_overview"},
    ),
)
