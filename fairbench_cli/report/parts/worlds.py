"""What is known of the worlds of a run, and of its β, without training anything."""

from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.worlds import worlds_frame, worlds_table

WORLDS = RunPart("worlds", frames={"worlds": worlds_frame}, tables={"worlds": worlds_table})
