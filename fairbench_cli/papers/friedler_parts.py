"""What Friedler et al. (2019) look at, as parts of the report of any run whose config asks for it."""

from fairbench_cli.papers import friedler_analyses as analyses
from fairbench_cli.report.parts.part import MakeFrame, RunPart


def _part_of_figure(name: str, function: str, **frames: MakeFrame) -> RunPart:
    """Return the part of a figure that a config may ask for, with its CSV files."""
    return RunPart(
        name,
        applies=lambda plan: name in plan.config.figures,
        frames=frames,
        figures={name: f"papers.friedler_figures:{function}"},
    )


PARTS = (
    _part_of_figure(
        "correlations",
        "draw_correlations",
        correlations=analyses.correlations_frame,
        correlation_pairs=analyses.pairs_frame,
        correlation_clusters=analyses.clusters_frame,
    ),
    _part_of_figure("metric-pairs", "draw_metric_pairs", metric_pairs=analyses.metric_pairs_frame),
    _part_of_figure("stability", "draw_stability", stability=analyses.stability_frame),
    _part_of_figure(
        "representations", "draw_representations", representations=analyses.representations_frame
    ),
    RunPart(
        "combined-attributes",
        tables={"combined-attributes": analyses.combined_table},
        figures={"combined-attributes": "papers.friedler_figures:draw_combined"},
    ),
    RunPart(
        "overview",
        tables={"overview": analyses.overview_table},
        figures={"overview": "papers.friedler_figures:draw_overview"},
    ),
)
