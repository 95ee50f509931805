"""The networks that a run drew from, and those of its worlds."""

from fairbench_cli.report.parts.part import RunPart

NETWORKS = RunPart("networks", figures={"network": "report.show.figures.network:draw"})
