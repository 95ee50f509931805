"""Bayesian networks that a run drew from, and its worlds: Cardoso et al. (2019), Figure 2. As SVG alone."""

from typing import Any

from fairbench_cli.document.charts import Drawing
from fairbench_cli.network.world import World
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show import networks
from fairbench_cli.report.show.figures import pages
from fairbench_cli.report.show.networks import Marks


def draw(run: RunResults) -> dict[str, Drawing]:
    """Draw one figure per data set and protected attribute of which there are results, and one per world.

    Raises
    ------
    UserError
        When a network is not where the run left it.
    """
    sources = {}
    for source in run.plan.datasets:
        names = (source["dataset"], source["attribute"])
        if names in run.datasets_with_results:
            sources[names] = source
    figures = pages.plot_pages(run, ("dataset", "attribute"), sources, _draw_of_plan)
    worlds = {}
    for source, name, world, marks in networks.stored_worlds(run):
        worlds[source["dataset"], source["attribute"], name] = (world, marks)
    return figures | pages.plot_pages(run, ("dataset", "attribute", "world"), worlds, _draw_world)


def _draw_world(_run: RunResults, title: str, world_and_marks: tuple[World, Marks]) -> Drawing:
    world, marks = world_and_marks
    return Drawing(networks.draw_network(world.network, marks, title))


def _draw_of_plan(run: RunResults, title: str, source: dict[str, Any]) -> Drawing:
    network = networks.read_network(run.folder, source)
    return Drawing(networks.draw_network(network, networks.network_marks(source), title))
