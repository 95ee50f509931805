"""The mean ranks of techniques over data sets, with their intervals."""

from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairbench_cli.base.safe_text import make_slugs
from fairbench_cli.report.ledger.data_set_ranks import RankedGroup, ranked_groups
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.show.figures.canvas import INK, Panel, dot_look, facet, plot_dots, text_width

ROW_HEIGHT = 0.22
NAME_SIZE = 7.5


def draw_ranks(run: RunResults) -> dict[str, Figure]:
    """Draw the mean ranks of techniques, a panel per metric; a figure for each world and classifier."""
    groups = ranked_groups(run)
    labels = []
    for group in groups:
        case = group.cases[0]
        labels.append([case.classifier_label, case.world, case.representation.replace("original", "")])
    return {slug: _draw_group(group) for slug, group in zip(make_slugs(labels), groups, strict=True)}


def _draw_group(group: RankedGroup) -> Figure:
    names = [finding.technique for finding in group.techniques]
    room_for_names = max(text_width(name, NAME_SIZE) for name in names) + 0.15
    panels = []
    for metric in group.ranks:
        panels.append(Panel(partial(_draw_panel, group, metric), metric, "mean rank, 1 is best"))
    return facet(
        f"Mean ranks over {len(group.cases)} data sets: {group.cases[0].classifier_label}",
        "Two techniques whose intervals do not overlap differ at 5 % over all pairs (Nemenyi's test, by "
        "ranks dealt at random).",
        panels,
        len(panels),
        (2.6, ROW_HEIGHT * len(names)),
        margins=(0.0, 0.0, room_for_names, 0.42),
    )


def _draw_panel(group: RankedGroup, metric: str, ax: Axes) -> None:
    """Draw a row per technique, the best on top."""
    ranks = group.ranks[metric]
    low, high = ranks.limits
    order = ranks.mean.argsort(kind="stable")
    for height, i in enumerate(reversed(order.tolist())):
        mean = {"mean": ranks.mean[i], "low": low[i], "high": high[i]}
        row = {"mean": height, "low": height, "high": height}
        plot_dots(ax, mean, row, f"rank-{group.techniques[i].technique}", dot_look(INK, "o", 5.0))
    names = [group.techniques[i].technique for i in reversed(order.tolist())]
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(0.9, len(names) + 0.1), ylim=(-0.6, len(names) - 0.4))
