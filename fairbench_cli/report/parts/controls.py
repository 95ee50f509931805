"""A run's own error: models that differ by chance alone, and a planted change."""

from collections.abc import Iterator

from fairbench_cli.document.model import Section
from fairbench_cli.report.ledger.controls import run_controls_frame
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.controls_text import controls_section
from fairbench_cli.report.show.page_slots import PagePanels


def control_sections(run: RunResults, _page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section of the page on controls."""
    yield controls_section(run)


CONTROLS = RunPart(
    "controls",
    applies=lambda plan: bool(plan.config.controls),
    frames={"controls": run_controls_frame},
    sections=control_sections,
)
