"""The networks that a run drew from, and those of its worlds."""

from collections.abc import Iterator

from fairbench_cli.document.model import Section
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.networks import network_charts, world_networks
from fairbench_cli.report.show.page_slots import PagePanels


def network_sections(run: RunResults, _page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section with pictures of the networks that are still where the run left them."""
    yield Section(
        "Networks",
        charts=tuple(network_charts(run)),
        sections=tuple(world_networks(run)),
        tiled=True,
        anchor="networks",
    )


NETWORKS = RunPart(
    "networks", figures={"network": "report.show.figures.network:draw"}, sections=network_sections
)
