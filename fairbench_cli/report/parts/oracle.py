"""What somebody who knows the labels could reach."""

from fairbench_cli.report.parts.part import RunPart

ORACLE = RunPart("oracle", figures={"oracle": "report.show.figures.acceptance:draw_oracle"})
