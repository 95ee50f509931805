"""What is known of the worlds of a run, and of its β, without training anything."""

from fairbench_cli.report.ledger.exact_worlds import worlds_frame, worlds_table
from fairbench_cli.report.parts.part import RunPart

WORLDS = RunPart("worlds", frames={"worlds": worlds_frame}, tables={"worlds": worlds_table})
