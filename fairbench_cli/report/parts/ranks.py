"""Techniques over several data sets: wins, ties and losses, and mean ranks."""

from fairbench_cli.report.ledger.data_set_ranks import has_many_cases, ranks_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.data_set_ranks import rank_sections, ranks_table

RANKS = RunPart(
    "ranks",
    applies=has_many_cases,
    frames={"ranks": ranks_frame},
    tables={"ranks": ranks_table},
    figures={"ranks": "report.show.figures.ranks:draw_ranks"},
    sections=rank_sections,
)
