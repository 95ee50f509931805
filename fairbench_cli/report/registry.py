"""The functions that make the tables, files and figures of a report. A new one is a file and a line here.

What a config needs to know of tables and figures, their metrics and what they need, is in
`experiment/config/outputs.py`.
"""

from fairbench_cli.base.registry import Registry

_HERE = "fairbench_cli.report"

TABLES = Registry(
    "table",
    _HERE,
    {
        "discrimination-accuracy": "paper:paper_table",
        "over-underestimation": "paper:paper_table",
        "group-rates": "tables:group_rates_table",
        "combined-attributes": "analyses:combined_table",
        "overview": "analyses:overview_table",
        "difference-to-none": "paired:paired_table",
        "pareto": "paired:pareto_table",
        "frontier": "frontier:frontier_table",
        "tuning": "tuning:tuning_table",
        "worlds": "worlds:worlds_table",
    },
)
"""Functions of a table's name and the `RunResults` that return a `Document`."""

FIGURES = Registry(
    "figure",
    f"{_HERE}.figures",
    {
        "discrimination-accuracy": "curves:draw_clouds",
        "network": "network:draw",
        "curves": "curves:draw_curves",
        "pareto": "fronts:draw_pareto",
        "sweep": "acceptance:draw_sweep",
        "frontier": "fronts:draw_frontier",
        "oracle": "acceptance:draw_oracle",
        "tuning": "curves:draw_tuning",
        "correlations": "analyses:draw_correlations",
        "stability": "analyses:draw_stability",
        "representations": "analyses:draw_representations",
        "combined-attributes": "analyses:draw_combined",
        "overview": "analyses:draw_overview",
        "metric-pairs": "analyses:draw_metric_pairs",
        "remedies": "worlds:draw_remedies",
        "recorded-true": "worlds:draw_recorded_true",
        "strength": "worlds:draw_strength",
    },
)
"""Functions of the `RunResults` that return figures by file name."""

FORMATS = Registry(
    "format",
    "fairbench_cli.document",
    {
        "md": "markdown:markdown",
        "tex": "latex:latex",
        "csv": "csv:comma_separated",
    },
)
"""By the ending of the file: functions of a `Document` that return text."""

FRAMES = {
    "correlations": Registry(
        "file",
        _HERE,
        {
            "correlations": "analyses:correlations_frame",
            "correlation_pairs": "analyses:pairs_frame",
            "correlation_clusters": "analyses:clusters_frame",
        },
    ),
    "metric-pairs": Registry("file", _HERE, {"metric_pairs": "analyses:metric_pairs_frame"}),
    "stability": Registry("file", _HERE, {"stability": "analyses:stability_frame"}),
    "representations": Registry("file", _HERE, {"representations": "analyses:representations_frame"}),
}
"""The CSV files, by name, that a table or a figure brings with it: functions of the `RunResults`."""
