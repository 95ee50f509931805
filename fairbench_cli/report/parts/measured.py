"""What every run has: its counts, its metrics repeat by repeat, and their means."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from fairbench_cli.base.grouping import group_by
from fairbench_cli.document.model import Section, TableCell, TextTable
from fairbench_cli.report.ledger.journal_arrays import groups_frame
from fairbench_cli.report.ledger.results import RunResults, results_frame, summary_frame
from fairbench_cli.report.parts.part import RunPart
from fairbench_cli.report.show.metric_wording import points
from fairbench_cli.report.show.page_slots import PagePanels, PageSlot
from fairbench_cli.report.show.paper_table import paper_table
from fairbench_cli.report.show.tables import group_rates_table

GROUPS_CAPTION = "How many of each group get the favourable decision, in per cent of its test rows."


def groups_on_all_labels(run: RunResults) -> pd.DataFrame:
    """Return groups.csv: the counts of each group, on true labels and on recorded ones."""
    return _on_all_labels(run, lambda on_labels: groups_frame(on_labels.datasets))


def results_on_all_labels(run: RunResults) -> pd.DataFrame:
    """Return results.csv: the metrics of the config in each repeat, on true labels and on recorded ones."""
    metrics = run.plan.config.at_hand
    return _on_all_labels(run, lambda on_labels: results_frame(on_labels.select(metrics)))


def summary_of_metrics(run: RunResults) -> pd.DataFrame:
    """Return summary.csv: means, deviations and intervals of the metrics of the config."""
    config = run.plan.config
    return summary_frame(run.select(config.at_hand), config.repeats)


def _on_all_labels(run: RunResults, frame_of: Callable[[RunResults], pd.DataFrame]) -> pd.DataFrame:
    """Return a frame of the true labels and one of the recorded ones, one below the other."""
    frames = [frame_of(on_labels).assign(labels=on_labels.labels) for on_labels in run.on_all_labels]
    return pd.concat(frames, ignore_index=True)


def group_rates_section(_run: RunResults, page_panels: PagePanels) -> Iterator[Section]:
    """Yield the section on how many of each group get the favourable decision."""
    sections = []
    same_groups = group_by(page_panels.slots, lambda slot: slot.shown_panel.key_without("compared", "world"))
    for slots in same_groups.values():
        sections.append(_slot_groups(slots[0], page_panels))
    yield Section("Groups", (GROUPS_CAPTION,), sections=tuple(sections), anchor="groups")


def _slot_groups(slot: PageSlot, page_panels: PagePanels) -> Section:
    """Return the rates by group of a data set, attribute and classifier, whatever is compared."""
    panel = slot.shown_panel
    # 1. A row for each group; the page's script fills it again for another β or world.
    groups = panel.group_rates
    has_attributes = len(set(groups.attributes)) > 1
    rows = []
    for g, name in enumerate(groups.group_names):
        n_rows = groups.n_rows[slot.beta_index, g]
        cells = [TableCell(name, groups.attributes[g] if has_attributes else "")]
        if np.isfinite(n_rows):
            cells.append(TableCell(f"{round(n_rows):,}", value=n_rows))
        else:
            cells.append(TableCell("-"))
        cells.append(_rate_cell(groups.label_rates[slot.beta_index, g]))
        cells += [_rate_cell(rate) for rate in groups.selection_rates[:, slot.beta_index, g]]
        rows.append(tuple(cells))
    title = "Favourable decisions, %"
    if panel.labels:
        title += f": {panel.world_label_at(slot.beta_index)}"
    elif len(panel.betas) > 1:
        title += ", at the β that is chosen"
    heads = ["group", "test rows", "labels"]
    heads += panel.technique_names
    table = TextTable(title, tuple(heads), tuple(rows), words=1, key=f"groups-{slot.number}")
    # 2. What the section is about.
    attributes = set()
    for page_slot in page_panels.slots:
        if page_slot.shown_panel.dataset_name == panel.dataset_name:
            attributes.add(page_slot.shown_panel.block["attribute"])
    subtitle = [panel.classifier_name]
    if len(attributes) > 1:
        subtitle.append(f"techniques work on {panel.block['attribute']}")
    if panel.block["representation"] != "original":
        subtitle.append(panel.block["representation"])
    switch_values = tuple(pair for pair in slot.switch_values if pair[0] != "compared")
    return Section(panel.dataset_name, tables=(table,), about=switch_values, fine=" · ".join(subtitle))


def _rate_cell(rate: float) -> TableCell:
    """Return the cell of a rate, in per cent; a dash for NaN."""
    if np.isfinite(rate):
        return TableCell(points(rate), value=rate)
    return TableCell("-")


MEASURED = RunPart(
    "measured",
    frames={"groups": groups_on_all_labels, "results": results_on_all_labels, "summary": summary_of_metrics},
    tables={
        "discrimination-accuracy": paper_table,
        "over-underestimation": paper_table,
        "group-rates": group_rates_table,
    },
    sections=group_rates_section,
)
