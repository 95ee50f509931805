"""The metrics of each technique over β, and one metric against another."""

from collections.abc import Iterator

from fairbench_cli.document.model import Chart, Section
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_panels import DEFAULT_METRICS
from fairbench_cli.report.show.page_slots import PagePanels, PageSlot
from fairbench_cli.report.show.tables import means_in_words

PLANES_CAPTION = "Means over the repeats. Dashed: no difference."
PLANES = ((DEFAULT_METRICS[0], DEFAULT_METRICS[1]), (DEFAULT_METRICS[2], DEFAULT_METRICS[3]))
"""The metrics that are drawn against each other, the horizontal one first."""


def curve_sections(run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield the sections with planes and with curves, which the page's script draws."""
    slots_with_curves = []
    for slot in page_panels.slots:
        if any(len(panel.betas) > 1 for panel in slot.panels):
            slots_with_curves.append(slot)
    strength = page_panels.strength_name
    if strength != "β":
        strength = f"the {strength}"
    planes_caption = PLANES_CAPTION
    if slots_with_curves:
        planes_caption += f" From light to dark: each technique over {strength}."
    planes = [_planes_section(slot, page_panels.metrics) for slot in page_panels.slots]
    curves = [_curves_section(slot) for slot in slots_with_curves]
    yield Section(
        "Fairness and accuracy", (planes_caption,), sections=tuple(planes), tiled=True, anchor="planes"
    )
    yield Section(
        f"Over {strength}", (means_in_words(run),), sections=tuple(curves), tiled=True, anchor="curves"
    )


def _planes_section(slot: PageSlot, metrics: list[str]) -> Section:
    """Return the planes of a slot: a chart for each two metrics and group of techniques."""
    charts = []
    for across, up in PLANES:
        axes = f"{metrics.index(across)}-{metrics.index(up)}"
        for i in range(len(slot.shown_panel.technique_groups)):
            charts.append(Chart("", "", key=f"planes-{slot.number}-{i}-{axes}"))
    return slot.make_section(charts)


def _curves_section(slot: PageSlot) -> Section:
    """Return the curves of a slot: a chart for each group of techniques."""
    n_groups = len(slot.shown_panel.technique_groups)
    return slot.make_section(Chart("", "", key=f"curves-{slot.number}-{i}") for i in range(n_groups))


CURVES = RunPart(
    "curves",
    figures={
        "discrimination-accuracy": "report.show.figures.curves:draw_clouds",
        "curves": "report.show.figures.curves:draw_curves",
    },
    sections=curve_sections,
)
