"""All that the report of a run can be made of: its own parts, and those of papers. A new one is a line."""

from fairbench_cli.papers import friedler_parts
from fairbench_cli.report import parts
from fairbench_cli.report.parts.part import figure_registry, table_makers

PARTS = parts.PARTS + friedler_parts.PARTS
TABLES = table_makers(PARTS)
FIGURES = figure_registry(PARTS)
