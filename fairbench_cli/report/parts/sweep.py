"""Every acceptance rate: what moving the thresholds of groups reaches, and which techniques are above."""

import math
from collections.abc import Iterator
from dataclasses import replace

from fairbench_cli.document.model import Chart, Document, Section
from fairbench_cli.measures.counts import Floats
from fairbench_cli.measures.thresholds import RATES
from fairbench_cli.report.ledger.frontier import (
    ABOVE,
    BELOW,
    frontier_distance_frame,
    frontier_frame,
    moved_thresholds_of_run,
)
from fairbench_cli.report.ledger.journal_arrays import TECHNIQUE, cell_key, mean_and_interval
from fairbench_cli.report.ledger.paired_differences import format_number
from fairbench_cli.report.ledger.results import RunResults, sweep_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show import tables
from fairbench_cli.report.show.page_charts import FrontierPoint, draw_frontier
from fairbench_cli.report.show.page_panels import PagePanel
from fairbench_cli.report.show.page_slots import PagePanels, PageSlot, nearest_beta_index

THRESHOLDS_CAPTION = (
    "The line: the best that a threshold for each group reaches with the model of none, chosen with the "
    "labels of the test rows. Below it a technique does less than moved thresholds would; the tests are in "
    "frontier_distance.csv."
)


def frontier_table(name: str, run: RunResults) -> Document:
    """Return the table of `frontier_distance_frame`: rows of a technique, β across.

    Empty without a sweep or without ``none``.
    """
    texts: tables.TableCells = {}
    for row in frontier_distance_frame(run).to_dict("records"):
        block_key, technique, beta = tables.block_technique_beta(row)
        verdict = row["verdict"] if row["verdict"] in (ABOVE, BELOW) else ""
        difference = format_number(row["difference"], word=verdict)
        lines = {_DIFFERENCE_LINES[row["constraint"]]: difference}
        if row["constraint"] == "demographic-parity":
            statuses = run.cell_counts(cell_key(row)).statuses
            lines = {
                "accuracy": tables.format_mean(row["accuracy"], row["n"], run.plan.config.repeats, statuses),
                "|discrimination|": format_number(row["gap"], ".3f"),
                "moved thresholds": format_number(row["frontier_accuracy"], ".3f"),
                "difference": difference,
                "chosen on other rows": format_number(row["chosen_accuracy"], ".3f"),
                "|discrimination| of these": format_number(row["chosen_gap"], ".3f"),
                "own thresholds, any gap": format_number(row["unprocessed_accuracy"], ".3f"),
            }
        for line, text in lines.items():
            texts[block_key, (technique, line), beta] = text
    return Document(name, facts=_frontier_captions(run), sections=tables.lay_out_blocks(run, texts, "-"))


_DIFFERENCE_LINES = {
    "demographic-parity": "difference",
    "tpr-parity": "difference at its TPR gap",
    "equalised-odds": "difference at its odds gap",
}


def _frontier_captions(run: RunResults) -> tuple[str, ...]:
    """Return the captions of `frontier_table`, with those that hold for this run's test rows."""
    captions = [
        "moved thresholds: the best accuracy that a threshold for each group, drawn at random where that "
        "helps, gets from the model of none in the same repeat, at the technique's own |discrimination|. "
        "difference: the technique's accuracy less that; also at its gaps in TPR and in equalised odds.",
        "chosen on other rows: the same, with thresholds that are the best on one half of the test rows and "
        "are judged on the other half.",
        "above: more accurate than the best thresholds, though these are chosen with the labels of the test "
        "rows. below: less accurate, at the same gap, than thresholds chosen on other rows. Both are about "
        f"the population, at 5 % after Holm's adjustment over {tables.tests_in_words(run.plan)}; a number "
        "alone: not shown. none is not tested: its difference is what hindsight gains.",
        f"Thresholds are tried at {len(RATES)} acceptance rates and where the classifier itself decides; "
        "those between them may be better by some thousandths.",
    ]
    if run.datasets and run.datasets[0].design.kind == "shared":
        captions.append(
            "At the odds gap nothing is said of the population: all repeats share their test rows."
        )
    if run.plan.has_betas:
        captions.append(
            "Test labels are without the bias β of the training labels, which helps both choices."
        )
    captions.append(
        "Own thresholds, any gap: the best of the technique's own model (unprocessed; Cruz and Hardt 2024)."
    )
    return tuple(captions)


def threshold_sections(run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section on moved thresholds, next to the techniques."""
    sections = []
    for slot in page_panels.slots:
        for panel in slot.panels:
            section = _panel_thresholds(run, slot, panel)
            if section is not None:
                sections.append(section)
    yield Section(
        "Moved thresholds", (THRESHOLDS_CAPTION,), sections=tuple(sections), tiled=True, anchor="thresholds"
    )


def _panel_thresholds(run: RunResults, slot: PageSlot, panel: PagePanel) -> Section | None:
    """Return the section on moved thresholds in a panel. None where the model of none has no value."""
    # 1. What thresholds reach that hold the rates of the panel's groups alike.
    for moved in moved_thresholds_of_run(run):
        is_of_panel = moved.data is panel.dataset_repeats and moved.compared == panel.block["compared"]
        if is_of_panel and moved.constraint == "demographic-parity":
            break
    else:
        return None
    # 2. The cells at the β that is shown first, among them the model of none, whose thresholds are moved.
    beta = panel.betas[nearest_beta_index(panel.betas, slot.shown_panel.betas[slot.beta_index])]
    cells = [i for i in panel.cell_positions if moved.data.cells[i]["beta"] == beta]
    baseline = next((i for i in cells if moved.baseline[i] == i), None)
    if baseline is None:
        return None
    frontier_points = _mean_points(moved.gap[baseline].T, moved.accuracy[baseline].T)
    frontier = [point for point in frontier_points if point is not None]
    if not frontier:
        return None
    # 3. The techniques as they decide.
    techniques = []
    technique_points = _mean_points(moved.technique_gap[cells], moved.technique_accuracy[cells])
    for i, point in zip(cells, technique_points, strict=True):
        if point is not None:
            technique = [moved.data.cells[i][name] for name in TECHNIQUE]
            techniques.append((panel.names.technique(*technique), point))
    title = f"{panel.title}: moved thresholds"
    if panel.strength_name:
        title += f" at {panel.strength_name} = {beta:g}"
    section = slot.make_section([Chart(panel.world_label, draw_frontier(title, frontier, techniques))])
    # 4. No script draws it: it is shown for its own world and labels alone.
    switch_values = panel.switch_values
    if panel.labels:
        switch_values += (("world", panel.world_name), ("labels", panel.labels))
    return replace(section, about=switch_values)


def _mean_points(gaps: Floats, accuracies: Floats) -> list[FrontierPoint | None]:
    """Return means over the repeats, the last axis, in per cent; None for one that is not known."""
    mean_gaps = mean_and_interval(gaps)["mean"].tolist()
    mean_accuracies = mean_and_interval(accuracies)["mean"].tolist()
    points: list[FrontierPoint | None] = []
    for gap, accuracy in zip(mean_gaps, mean_accuracies, strict=True):
        if math.isfinite(gap + accuracy):
            points.append(FrontierPoint(100 * gap, 100 * accuracy))
        else:
            points.append(None)
    return points


SWEEP = RunPart(
    "sweep",
    applies=lambda plan: plan.config.sweep is not None,
    frames={"sweep": sweep_frame, "frontier": frontier_frame, "frontier_distance": frontier_distance_frame},
    tables={"frontier": frontier_table},
    figures={
        "sweep": "report.show.figures.acceptance:draw_sweep",
        "frontier": "report.show.figures.fronts:draw_frontier",
    },
    sections=threshold_sections,
)
