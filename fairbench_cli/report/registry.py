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
        "discrimination-accuracy": "tables:paper_table",
        "over-underestimation": "tables:paper_table",
        "group-rates": "tables:group_rates_table",
        "combined-attributes": "combined:combined_table",
        "difference-to-none": "paired:paired_table",
        "pareto": "pareto:pareto_table",
        "frontier": "thresholds:frontier_table",
        "tuning": "tuning:tuning_table",
    },
)
"""Functions of a table's name and the `RunResults` that return a `Document`."""

FIGURES = Registry(
    "figure",
    f"{_HERE}.figures",
    {
        "discrimination-accuracy": "discrimination_accuracy:draw",
        "network": "network:draw",
        "curves": "curves:draw",
        "pareto": "pareto:draw",
        "sweep": "sweep:draw",
        "frontier": "thresholds:draw",
        "oracle": "oracle:draw",
        "tuning": "tuning:draw",
        "correlations": "correlations:draw",
        "stability": "stability:draw",
        "representations": "representations:draw",
        "combined-attributes": "combined:draw",
    },
)
"""Functions of the `RunResults` that return figures by file name."""

FORMATS = Registry(
    "format",
    "fairbench_cli.document",
    {"md": "markdown:markdown", "tex": "latex:latex", "csv": "csv:comma_separated"},
)
"""By the ending of the file: functions of a `Document` that return text."""

FRAMES = {
    "correlations": Registry(
        "file",
        _HERE,
        {
            "correlations": "correlations:correlations_frame",
            "correlation_pairs": "correlations:pairs_frame",
            "correlation_clusters": "correlations:clusters_frame",
        },
    ),
    "stability": Registry("file", _HERE, {"stability": "stability:stability_frame"}),
    "representations": Registry("file", _HERE, {"representations": "representations:representations_frame"}),
}
"""The CSV files, by name, that a table or a figure brings with it: functions of the `RunResults`."""
