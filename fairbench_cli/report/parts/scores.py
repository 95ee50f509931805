"""The calibration of the models' scores by group, where a metric of the config is one of scores."""

from collections.abc import Iterator
from dataclasses import replace

from fairbench_cli.document.charts import ChartLine
from fairbench_cli.document.model import Chart, Section
from fairbench_cli.report.ledger.calibration import (
    LEAST_ROWS,
    Calibration,
    calibration_frame,
    compute_calibration,
)
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE
from fairbench_cli.report.ledger.results import RunResults
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.page_charts import draw_calibration
from fairbench_cli.report.show.page_panels import PagePanel
from fairbench_cli.report.show.page_slots import PagePanels, PageSlot, nearest_beta_index
from fairbench_cli.report.show.scores_text import describe_scores

MOST_CHARTS = 8
MOST_LINES = 6
"""Techniques of a panel, and groups of a chart, that the page draws; calibration.csv has all."""
CALIBRATION_CAPTION = (
    "Of rows with about the same score, the share with label 1 against their mean score, all repeats "
    f"together; ranges with {LEAST_ROWS} rows and more. Dotted: as many as the scores say. Above it scores "
    "are too low, below it too high."
)


def calibration_sections(run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section on the calibration of scores, a chart for each technique."""
    sections = []
    is_cut = False
    for slot in page_panels.slots:
        for panel in slot.panels:
            charts = _panel_charts(slot, panel)
            is_cut = is_cut or len(charts) > MOST_CHARTS
            if charts:
                section = slot.make_section(charts[:MOST_CHARTS])
                sections.append(replace(section, about=_switch_values(panel)))
    caption = CALIBRATION_CAPTION
    if is_cut:
        caption += f" The first {MOST_CHARTS} techniques; calibration.csv has all."
    captions = (caption, *describe_scores(run))
    yield Section(
        "Calibration of scores", captions, sections=tuple(sections), tiled=True, anchor="calibration"
    )


def _switch_values(panel: PagePanel) -> tuple[tuple[str, str], ...]:
    """Return by which values of the page's switches a panel's charts are shown, which no script draws."""
    if panel.labels:
        return (*panel.switch_values, ("world", panel.world_name), ("labels", panel.labels))
    return panel.switch_values


def _panel_charts(slot: PageSlot, panel: PagePanel) -> list[Chart]:
    """Return a chart for each technique of a panel that has probabilities, at the β that is shown first."""
    data = panel.dataset_repeats
    beta = panel.betas[nearest_beta_index(panel.betas, slot.shown_panel.betas[slot.beta_index])]
    calibration = compute_calibration(data, panel.block["compared"])
    charts = []
    for i in panel.cell_positions:
        if data.cells[i]["beta"] != beta:
            continue
        lines = _group_lines(calibration.of_cell(i))
        if lines:
            technique = panel.names.technique(*(data.cells[i][name] for name in TECHNIQUE))
            if panel.strength_name:
                technique += f" at {panel.strength_name} = {beta:g}"
            title = f"{panel.title}: calibration of {technique}"
            charts.append(Chart(technique, draw_calibration(title, lines)))
    return charts


def _group_lines(calibration: Calibration) -> list[ChartLine]:
    """Return the lines of a cell's largest groups, in their order; none without ranges that are drawn."""
    sizes = calibration.rows.sum(axis=-1)
    largest = sorted((-sizes).argsort(kind="stable")[:MOST_LINES].tolist())
    lines = []
    for g in largest:
        points = []
        for b in calibration.has_rows[g].nonzero()[0].tolist():
            score = float(calibration.mean_score[g, b])
            share = float(calibration.base_rate[g, b])
            tooltip = f"{100 * share:.1f} % have label 1 at a mean score of {score:.2f}"
            points.append((score, share, f"{calibration.groups[g]}: {tooltip}"))
        if points:
            lines.append(ChartLine(calibration.groups[g], points))
    return lines


SCORES = RunPart(
    "scores",
    applies=lambda plan: plan.config.keeps_scores,
    frames={"calibration": calibration_frame},
    figures={"calibration": "report.show.figures.calibration:draw_calibration"},
    sections=calibration_sections,
)
