"""The formats that tables of a report are written in. A new one is a file and a line here."""

from fairbench_cli.base.registry import Registry

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
